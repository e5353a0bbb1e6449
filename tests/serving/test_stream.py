"""``/v1/stream``: JSON lines in, JSON lines out."""

import json

import pytest

import tiny
from live_server import running
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions

LINES = {"Content-Type": "application/jsonl"}
TEXTS = [" ".join(sentence.words) for sentence in tiny.corpus(150, seed=6)]


def stream(client, lines, query: str = "") -> list[dict]:
    body = b"".join(line + b"\n" for line in lines)
    answer = client.send("POST", f"/v1/stream{query}", body, LINES)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/jsonl")
    assert answer.body == b"" or answer.body.endswith(b"\n")
    return [json.loads(line) for line in answer.body.splitlines()]


def as_lines(texts) -> list[bytes]:
    return [json.dumps({"text": text, "id": i}).encode() for i, text in enumerate(texts)]


@pytest.mark.parametrize("adapt", [True, False])
def test_answers_come_in_order_and_equal_those_of_predict(client, model, adapt):
    answers = stream(client, as_lines(TEXTS), f"?adapt={str(adapt).lower()}")
    assert [answer["id"] for answer in answers] == list(range(len(TEXTS)))
    for answer, prediction in zip(answers, model.predict(TEXTS, adapt=adapt), strict=True):
        assert answer["text"] == prediction.text
        assert [(e["start"], e["end"], e["label"]) for e in answer["entities"]] == [
            (e.start, e.end, e.label) for e in prediction.entities
        ]


def test_a_bad_line_gives_an_error_line_and_the_others_are_answered(client):
    answers = stream(
        client,
        [
            b'{"text": "ana"}',
            b"nonsense",
            b"",
            b'{"text": "ana", "top_k": 1, "id": "x"}',
            b'{"words": ["ana", ""]}',
            b'{"text": "\\ud800", "id": 5}',
            b"\xff",
            b'{"words": ["tom"]}',
        ],
    )
    assert [answer.get("error") for answer in answers] == [
        None,
        {
            "code": "not_json",
            "message": "expected JSON, found something else at line 1, column 1: expecting value",
            "where": "line 2",
        },
        {
            "code": "unknown_field",
            "message": "unknown field; expected only text, words, language, id",
            "where": "line 3: top_k",
        },
        {
            "code": "invalid_value",
            "message": "expected at least one character, found ''",
            "where": "line 4: words.1",
        },
        {
            "code": "invalid_value",
            "message": "expected Unicode text, found half of a surrogate pair (U+D800) at "
            "character 0; send the text as UTF-8",
            "where": "line 5: text",
        },
        {
            "code": "not_utf8",
            "message": "expected UTF-8, found the byte 0xFF at position 0; "
            "encode the request as UTF-8",
            "where": "line 6",
        },
        None,
    ]


def test_options_of_the_query_hold_for_all_lines(client):
    answers = stream(client, as_lines(TEXTS[:2]), "?compare=true&neighbors=1&language=es")
    for answer in answers:
        assert "plain_entities" in answer
        assert len(answer["sentences"][0]["neighbors"]) == 1


def test_lines_wait_while_the_queue_is_full(served, model):
    limits = Limits(queue_pieces=40)
    with running(served, ServerOptions(limits=limits)) as client:
        answers = stream(client, as_lines(TEXTS[:60]))
    assert [answer["text"] for answer in answers] == TEXTS[:60]


def test_a_line_above_the_limit_is_refused_alone(served):
    with running(served, ServerOptions(limits=Limits(max_bytes=100))) as client:
        lines = [b'{"text": "ana"}', b'{"text": "' + b"a" * 1_000 + b'"}', b'{"text": "tom"}']
        first, second, third = stream(client, lines)
        too_long = client.send("POST", "/v1/stream", b"x" * 7_000, LINES)
    assert (first["text"], third["text"]) == ("ana", "tom")
    assert second["error"] == {
        "code": "too_many_bytes",
        "message": "expected at most 100 bytes, found more; send the text in parts",
        "where": "line 2",
    }
    assert too_long.json["error"]["message"] == (
        "expected at most 6,400 bytes, found 7,000; send fewer lines"
    )


def test_no_line_gives_no_line(client):
    assert stream(client, []) == []
