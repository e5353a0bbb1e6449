"""Keeps the results of a study: a line of JSON for each result of its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from metacross.errors import DataError
from metacross.metrics.scoring import Score, ScoreReport
from metacross.study.plan import Study
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Span
from metacross.text.writing import write_atomically, write_corpus

Mode = Literal["plain", "adapted"]


class Record(BaseModel):
    """A part of a line; cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainingSummary(Record):
    """How the model of a result was trained.

    ``validations`` are steps with the F1 on the source language's dev corpus, and
    ``target_validations`` the same on each target, not adapted; they were not used for anything.
    ``losses`` are means over stretches of steps that end at the given ones.
    """

    folder: str
    seconds: float
    best_step: int
    validations: tuple[tuple[int, float], ...]
    target_validations: dict[str, tuple[tuple[int, float], ...]]
    losses: tuple[tuple[int, float], ...]


class TypeCounts(Record):
    """Entities of a type: right, found, and there."""

    correct: int
    predicted: int
    gold: int


class Result(Record):
    """A system with a seed on a target in a fraction.

    ``fraction`` is ``zero-shot`` or the fraction of labeled target sentences, such as ``2%``.
    ``modes`` has the counts by type without and, where the system adapts, with adaptation;
    ``reported_mode`` tells which of them the tables show. ``digests`` (source corpus, dev corpus, target
    corpus, encoder) and ``recipe`` tell what it was made of, ``key`` stands for all of that.
    """

    key: str
    system: str
    seed: int
    target: str
    fraction: float
    labels: tuple[str, ...]
    reported_mode: Mode
    modes: dict[Mode, dict[str, TypeCounts]]
    training: TrainingSummary
    seconds: float
    digests: dict[str, str]
    versions: dict[str, str]
    machine: str
    recipe: dict[str, Any]

    def score(self, mode: Mode | None = None) -> Score:
        """All labels together; None: the mode that the tables show."""
        counts = self.modes[mode or self.reported_mode].values()
        return Score(
            sum(own.correct for own in counts),
            sum(own.predicted for own in counts),
            sum(own.gold for own in counts),
        )

    @property
    def f1(self) -> float:
        """What the tables show."""
        return self.score().f1


def counts_of(report: ScoreReport) -> dict[str, TypeCounts]:
    """A report's counts as they are kept."""
    return {
        label: TypeCounts(correct=own.correct, predicted=own.predicted, gold=own.gold)
        for label, own in report.by_label.items()
    }


@dataclass(frozen=True, slots=True)
class SentencePredictions:
    """What a model found in a sentence, in each mode, and the source sentences it learned from,
    by position, with their similarity.
    """

    spans: dict[Mode, tuple[Span, ...]]
    neighbors: tuple[tuple[int, float], ...]


class StudyFolder:
    """A folder with ``results.jsonl``, the study, the predictions of each result and the corpora."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def results_file(self) -> Path:
        """The lines."""
        return self.folder / "results.jsonl"

    @property
    def runs(self) -> Path:
        """The trainings."""
        return self.folder / "runs"

    @property
    def study(self) -> Path:
        """The study as it was run last, whole."""
        return self.folder / "study.yaml"

    def keep_study(self, study: Study) -> None:
        """Keep the study, for whoever wants to make it again."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataError(
                f"{self.folder}: expected a folder for the study, but {problem.strerror}; choose "
                "another with --output"
            ) from None
        write_atomically(self.study, [study.as_yaml()])

    def results(self) -> list[Result]:
        """All results so far; none where nothing was done yet."""
        return [
            _cell_of(line, f"{self.results_file}:{number}")
            for number, line in enumerate(_lines_of(self.results_file), start=1)
        ]

    def done(self) -> set[str]:
        """The keys of the results that are done."""
        return {path.stem for path in self._cell_files()} | {
            result.key for result in self.results()
        }

    def add(self, result: Result, sentences: Sequence[SentencePredictions]) -> None:
        """Keep a result and what the model found.

        Each result has a file of its own, so that several processes can work on one study.
        """
        path = self._predictions(result)
        for folder in (path.parent, self._cell(result.key).parent):
            folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (_sentence_line(sentence) for sentence in sentences))
        write_atomically(self._cell(result.key), [result.model_dump_json() + "\n"])
        self.arrange([*(own.key for own in self.results()), result.key])

    def arrange(self, order: Sequence[str]) -> None:
        """Write the lines: those of other studies first, then the results with these keys, in this
        order, since of two results for the same place the later counts.
        """
        lines = {result.key: result.model_dump_json() + "\n" for result in self.results()}
        for path in self._cell_files():
            lines[path.stem] = path.read_text(encoding="utf-8")
        last = [key for key in dict.fromkeys(order) if key in lines]
        first = [key for key in lines if key not in set(last)]
        write_atomically(self.results_file, (lines[key] for key in (*first, *last)))

    def _cell_files(self) -> list[Path]:
        return sorted((self.folder / "results").glob("*.json"))

    def sentences(self, result: Result) -> list[SentencePredictions] | None:
        """What the model of a result found; None where only the results were kept."""
        path = self._predictions(result)
        if not path.exists():
            return None
        return [
            _sentence_of(line, f"{path}:{number}")
            for number, line in enumerate(_lines_of(path), start=1)
        ]

    def add_corpus(self, digest: str, corpus: Corpus) -> None:
        """Keep a corpus, for the report."""
        path = self._corpus(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_corpus(corpus, path)

    def corpus(self, digest: str) -> Corpus | None:
        """A corpus that was kept."""
        path = self._corpus(digest)
        return read_corpus(path) if path.exists() else None

    def _predictions(self, result: Result) -> Path:
        return self.folder / "predictions" / f"{result.key}.jsonl"

    def _cell(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"

    def _corpus(self, digest: str) -> Path:
        return self.folder / "corpora" / f"{digest[:16]}.jsonl"


def _cell_of(line: str, place: str) -> Result:
    try:
        return Result.model_validate_json(line)
    except ValidationError as problem:
        reason = problem.errors()[0]
        where = ".".join(map(str, reason["loc"])) or "the line"
        raise DataError(
            f"{place}: expected a result of a study, found {where}: {reason['msg']}"
        ) from None


def _sentence_line(sentence: SentencePredictions) -> str:
    spans = {
        mode: [[span.start, span.end, span.label] for span in own]
        for mode, own in sentence.spans.items()
    }
    neighbors = [[position, round(similarity, 4)] for position, similarity in sentence.neighbors]
    return json.dumps({"spans": spans, "neighbors": neighbors}, ensure_ascii=False) + "\n"


def _lines_of(path: Path) -> list[str]:
    """No lines where there is no such file."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{path}: expected lines of a study, but {problem}; remove it") from None


def _sentence_of(line: str, place: str) -> SentencePredictions:
    try:
        return _sentence_from(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{place}: expected what a model found in a sentence, found {line[:40]!r}; "
            "remove the file to do without it"
        ) from None


def _sentence_from(values: dict[str, Any]) -> SentencePredictions:
    return SentencePredictions(
        spans={
            mode: tuple(Span(start, end, label) for start, end, label in own)
            for mode, own in values["spans"].items()
        },
        neighbors=tuple((position, similarity) for position, similarity in values["neighbors"]),
    )
