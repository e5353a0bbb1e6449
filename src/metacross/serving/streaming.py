"""Answers ``/v1/stream``: JSON lines in, JSON lines out, in the same order."""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

from fastapi import Request
from pydantic import ValidationError

from metacross.serving.json_body import limited_chunks, read_in_time, strict_json
from metacross.serving.limits import Limits
from metacross.serving.predicting import Predictor, encoded_json
from metacross.serving.problems import (
    RequestProblem,
    internal_error,
    out_of_time,
    stopping,
)
from metacross.serving.schemas import PredictRequest, StreamLine, StreamQuery
from metacross.serving.validation import validation_problem

CONTENT_TYPES = ("application/jsonl", "application/x-ndjson", "application/x-jsonlines")
_LINES_AT_ONCE = 64  # of one client; they are batched together
_IN_MEMORY = 1_048_576  # bytes of a body; a longer one waits in a temporary file


async def spooled_body(request: Request, limits: Limits) -> IO[bytes]:
    """The whole body. It is read before the first answer, because many clients read nothing until
    they have sent everything.
    """
    return await read_in_time(_spooled(request, limits), limits)


async def _spooled(request: Request, limits: Limits) -> IO[bytes]:
    spool = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by its reader
    try:
        async for chunk in limited_chunks(request, limits.max_stream_bytes, "lines"):
            spool.write(chunk)
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return spool


async def answer_lines(
    body: IO[bytes], query: StreamQuery, predictor: Predictor, limits: Limits
) -> AsyncIterator[bytes]:
    """A line for each line of the body; the one for a bad line says what is wrong with it."""
    numbered = enumerate(_lines(body, limits.max_bytes), start=1)
    answers: deque[asyncio.Task[dict[str, Any]]] = deque()
    try:
        while True:
            while len(answers) < _LINES_AT_ONCE and (item := next(numbered, None)) is not None:
                answers.append(asyncio.create_task(_answer(*item, query, predictor, limits)))
            if not answers:
                return
            await asyncio.wait({answers[0]}, timeout=limits.seconds)
            yield encoded_json(_finished(answers.popleft(), limits)) + b"\n"
    finally:
        for answer in answers:
            answer.cancel()
        body.close()


def _finished(answer: asyncio.Task[dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """The answer to a line, or the reason why there is none."""
    if not answer.done():
        answer.cancel()
        return out_of_time(limits.seconds).content
    if answer.cancelled():  # the model thread ended
        return stopping().content
    return answer.result() if answer.exception() is None else internal_error().content


def _lines(body: IO[bytes], max_bytes: int) -> Iterator[bytes | None]:
    """The lines of a body; None for one that is too long. Blank lines are left out."""
    while line := body.readline(max_bytes + 1):
        if len(line) > max_bytes and not line.endswith(b"\n"):
            while (rest := body.readline(max_bytes)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


async def _answer(
    number: int, line: bytes | None, query: StreamQuery, predictor: Predictor, limits: Limits
) -> dict[str, Any]:
    parsed: StreamLine | None = None
    try:
        if line is None:
            raise _too_long(limits)
        parsed = _parsed(line)
        (answer,) = (await predictor.results(_request(parsed, query), waits=True))()
    except RequestProblem as problem:
        where = f"line {number}" + ("" if problem.where == "body" else f": {problem.where}")
        answer = {"error": {**problem.content["error"], "where": where}}
    if parsed is not None and parsed.id is not None:
        answer = {"id": parsed.id, **answer}
    return answer


def _too_long(limits: Limits) -> RequestProblem:
    message = f"expected at most {limits.max_bytes:,} bytes, found more; send the text in parts"
    return RequestProblem(413, "too_many_bytes", message)


def _parsed(line: bytes) -> StreamLine:
    try:
        return StreamLine.model_validate(strict_json(line))
    except ValidationError as error:
        raise validation_problem(error.errors(), StreamLine) from None


def _request(line: StreamLine, query: StreamQuery) -> PredictRequest:
    return PredictRequest(
        texts=None if line.text is None else [line.text],
        words=None if line.words is None else [line.words],
        language=line.language or query.language,
        adapt=query.adapt,
        compare=query.compare,
        neighbors=query.neighbors,
    )
