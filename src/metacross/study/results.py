"""Stores the results of a study: one line of JSON for each result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from metacross.errors import DataError
from metacross.metrics.scoring import Score, ScoreReport
from metacross.study.plan import Study
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Span
from metacross.text.writing import write_atomically, write_corpus

Mode = Literal["plain", "adapted"]


class JsonRecord(BaseModel):
    """Part of a line of results; cannot be changed.

    Fields that a later version adds must have a default, so that it still reads older lines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainingSummary(JsonRecord):
    """How the model of a result was trained.

    ``validations`` are steps with the F1 on the source language's dev corpus,
    ``target_validations`` the same for each target, not adapted (training did not use them).
    ``losses`` are last steps and mean losses of consecutive parts of the training. ``seconds`` of a
    baseline include those of a model that it shares with others. ``megabytes`` is the peak memory
    of the process that trained; None if it is not known.
    """

    folder: str
    seconds: float
    best_step: int
    validations: tuple[tuple[int, float], ...] = ()
    target_validations: dict[str, tuple[tuple[int, float], ...]] = {}
    losses: tuple[tuple[int, float], ...] = ()
    megabytes: int | None = None


class LabelCounts(JsonRecord):
    """Entities of one label: correctly predicted, predicted, and in the corpus."""

    correct: int
    predicted: int
    gold: int


class Result(JsonRecord):
    """The score of a system with a seed on a target, with a fraction of its labeled sentences.

    ``fraction`` is 0.0 for zero-shot. ``counts`` are entity counts by mode and label: plain and,
    where the system adapts, adapted; the tables show the ``reported_mode``. ``sentence_counts``
    are those of each sentence by mode, packed, so that results can be tested for significance
    where the predictions are not at hand; older lines have none. ``digests`` (source
    corpus, dev corpus, target corpus, encoder) and ``recipe`` say what the result depends on;
    ``key`` identifies all of it.
    """

    key: str
    system: str
    seed: int
    target: str
    fraction: float
    labels: tuple[str, ...]
    reported_mode: Mode
    counts: dict[Mode, dict[str, LabelCounts]]
    sentence_counts: dict[Mode, str] = {}
    training: TrainingSummary
    seconds: float
    digests: dict[str, str] = {}
    versions: dict[str, str] = {}
    machine: str = ""
    recipe: dict[str, Any] = {}

    def score(self, mode: Mode | None = None) -> Score:
        """The score over all labels; ``mode`` None: the reported mode."""
        label_counts = self.counts[mode or self.reported_mode].values()
        return Score(
            sum(counts.correct for counts in label_counts),
            sum(counts.predicted for counts in label_counts),
            sum(counts.gold for counts in label_counts),
        )

    @property
    def f1(self) -> float:
        """F1 in the reported mode, between 0 and 1."""
        return self.score().f1


def counts_of(report: ScoreReport) -> dict[str, LabelCounts]:
    """The counts of a score report, by label."""
    return {
        label: LabelCounts(correct=score.correct, predicted=score.predicted, gold=score.gold)
        for label, score in report.by_label.items()
    }


@dataclass(frozen=True, slots=True)
class StoredSentence:
    """The spans that a model predicted in a sentence, by mode, and the neighbors it adapted to:
    positions in the source corpus with similarities.
    """

    spans: dict[Mode, tuple[Span, ...]]
    neighbors: tuple[tuple[int, float], ...]


class StudyFolder:
    """A folder with the study, its results, the predictions of each result, and the corpora.

    Every result has its own file, so that several processes can work on a study, and a line in
    ``results.jsonl``.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def results_file(self) -> Path:
        """The file with a line for each result."""
        return self.folder / "results.jsonl"

    @property
    def runs(self) -> Path:
        """The folder of the training runs."""
        return self.folder / "runs"

    @property
    def study(self) -> Path:
        """The file of the study as it was run last."""
        return self.folder / "study.yaml"

    def save_study(self, study: Study) -> None:
        """Write the study, so that it can be run again."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataError(
                f"{self.folder}: expected a folder for the study, but {problem.strerror}; choose "
                "another with --output"
            ) from None
        write_atomically(self.study, [study.as_yaml()])

    def results(self) -> list[Result]:
        """All results so far, in the order of their lines; results without a line come last."""
        results = {result.key: result for result in self._lines()}
        for path in self._result_files():
            if path.stem not in results:
                results[path.stem] = _parsed_result(path.read_text(encoding="utf-8"), str(path))
        return list(results.values())

    def done(self) -> set[str]:
        """The keys of all results so far."""
        return {path.stem for path in self._result_files()} | {
            result.key for result in self._lines()
        }

    def add(self, result: Result, sentences: Sequence[StoredSentence]) -> None:
        """Save a result and the predictions that it counts."""
        predictions, path = self._predictions(result), self._result_file(result.key)
        for folder in (predictions.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        line = result.model_dump_json() + "\n"
        write_atomically(predictions, (_sentence_line(sentence) for sentence in sentences))
        write_atomically(path, [line])
        with self._lock():
            self._repair_last_line()
            with self.results_file.open("a", encoding="utf-8", newline="\n") as file:
                file.write(line)

    def arrange(self, order: Sequence[str]) -> None:
        """Rewrite ``results.jsonl``: results of other studies first, then those with the keys of
        ``order``. Of two results of the same system, seed, target and fraction the later counts.
        """
        with self._lock():
            results = {result.key: result for result in self.results()}
            last = [key for key in dict.fromkeys(order) if key in results]
            first = [key for key in results if key not in set(last)]
            lines = (results[key].model_dump_json() + "\n" for key in (*first, *last))
            write_atomically(self.results_file, lines)

    def sentences(self, result: Result) -> list[StoredSentence] | None:
        """The predictions of a result; None: only its counts were stored."""
        path = self._predictions(result)
        if not path.exists():
            return None
        return [
            _parsed_sentence(line, f"{path}:{number}")
            for number, line in enumerate(_read_lines(path), start=1)
        ]

    def add_corpus(self, digest: str, corpus: Corpus) -> None:
        """Store a corpus for the report."""
        path = self._corpus(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_corpus(corpus, path)

    def corpus(self, digest: str) -> Corpus | None:
        """A stored corpus; None: it was not stored."""
        path = self._corpus(digest)
        return read_corpus(path) if path.exists() else None

    def _lines(self) -> list[Result]:
        lines = _read_lines(self.results_file)
        if _is_cut_off(self.results_file, lines):
            lines.pop()  # the result has its own file
        return [
            _parsed_result(line, f"{self.results_file}:{number}")
            for number, line in enumerate(lines, start=1)
        ]

    def _repair_last_line(self) -> None:
        """Remove a last line that a kill cut off; end the last line where it is complete."""
        if not _ends_with_line_break(self.results_file):
            lines = _read_lines(self.results_file)
            if _is_cut_off(self.results_file, lines):
                lines.pop()
            write_atomically(self.results_file, (f"{line}\n" for line in lines))

    def _result_files(self) -> list[Path]:
        return sorted((self.folder / "results").glob("*.json"))

    def _lock(self) -> FileLock:
        return FileLock(self.folder / "results.lock")

    def _predictions(self, result: Result) -> Path:
        return self.folder / "predictions" / f"{result.key}.jsonl"

    def _result_file(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"

    def _corpus(self, digest: str) -> Path:
        return self.folder / "corpora" / f"{digest[:16]}.jsonl"


def results_in_file(path: Path) -> list[Result]:
    """The results in a file with a line of JSON for each, such as ``results.jsonl``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeError as problem:
        raise DataError(f"{path}: cannot be read: {problem}") from None
    if not lines:
        raise DataError(f"{path}: expected results of a study, found an empty file")
    return [_parsed_result(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def _parsed_result(line: str, place: str) -> Result:
    try:
        return Result.model_validate_json(line)
    except ValidationError as problem:
        reason = problem.errors()[0]
        where = ".".join(map(str, reason["loc"])) or "the line"
        raise DataError(
            f"{place}: expected a result of a study, found {where}: {reason['msg']}"
        ) from None


def _is_cut_off(path: Path, lines: Sequence[str]) -> bool:
    if not lines or _ends_with_line_break(path):
        return False
    try:
        json.loads(lines[-1])
    except ValueError:
        return True
    return False


def _ends_with_line_break(path: Path) -> bool:
    """Whether a file ends with a line break, is empty, or does not exist; reads its last byte."""
    if not path.exists() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"


def _read_lines(path: Path) -> list[str]:
    """The lines of a file; none where it does not exist."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from None


def _sentence_line(sentence: StoredSentence) -> str:
    spans = {
        mode: [[span.start, span.end, span.label] for span in mode_spans]
        for mode, mode_spans in sentence.spans.items()
    }
    neighbors = [[position, round(similarity, 4)] for position, similarity in sentence.neighbors]
    return json.dumps({"spans": spans, "neighbors": neighbors}, ensure_ascii=False) + "\n"


def _parsed_sentence(line: str, place: str) -> StoredSentence:
    try:
        values = json.loads(line)
        return StoredSentence(
            spans={
                mode: tuple(Span(start, end, label) for start, end, label in mode_spans)
                for mode, mode_spans in values["spans"].items()
            },
            neighbors=tuple((position, similarity) for position, similarity in values["neighbors"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{place}: expected the predictions of a sentence, found {line[:40]!r}; "
            "remove the file to do without them"
        ) from None
