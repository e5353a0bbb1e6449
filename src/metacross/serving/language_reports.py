"""Reports how a model sees texts without gold labels, beside languages with a known F1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from metacross.adaptation.language_report import (
    LanguageReport,
    correlations_with_f1,
    report_language,
)
from metacross.adaptation.ner_model import NerModel
from metacross.errors import DataError
from metacross.model.card_reading import card_of_folder, content_of_card
from metacross.model.hub_models import find_model
from metacross.model.model_card import LanguageResult
from metacross.study.card_results import results_of_model
from metacross.study.results import StudyFolder
from metacross.text.sentence import Corpus

MakeProgress: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Makes the context of a progress bar from the name of a text and its number of sentences."""


@dataclass(frozen=True, slots=True)
class LanguageReports:
    """How a model sees texts, and languages with a known F1 to compare with.

    ``known`` are reports of target corpora that a study stored. ``unmeasured`` are results whose
    corpora are not there: only their F1 is known. ``correlations`` are rank correlations of the
    measures with F1, over all reports with a known F1; empty if there are fewer than four.
    """

    texts: tuple[LanguageReport, ...]
    known: tuple[LanguageReport, ...]
    unmeasured: tuple[LanguageResult, ...]
    correlations: dict[str, float]

    @property
    def n_known(self) -> int:
        """Number of texts and languages that are described and have a known F1."""
        return sum(report.f1 is not None for report in (*self.texts, *self.known))


def report_languages(
    model: NerModel,
    texts: Sequence[Corpus],
    *,
    results: str | Path | None = None,
    max_sentences: int = 200,
    progress: MakeProgress = lambda _name, _n_sentences: nullcontext(lambda _n_done: None),
) -> LanguageReports:
    """Describe how a model sees each text: script, pieces, neighbors, changed words, confidence.

    This predicts no F1. Labeled texts have their F1 beside them. Languages with a known F1 are
    those of the model's card, or of ``results``, the ``results.jsonl`` of a study with the model's
    recipe; if the study stored their corpora, they are described too. At most ``max_sentences``
    of each text are looked at.
    """

    def report(corpus: Corpus, f1: float | None = None) -> LanguageReport:
        with progress(Path(corpus.name).name, min(max_sentences, len(corpus))) as count:
            return report_language(
                model, corpus, max_sentences=max_sentences, f1=f1, progress=count
            )

    text_reports = tuple(report(corpus) for corpus in texts)
    known: list[LanguageReport] = []
    unmeasured: list[LanguageResult] = []
    for result in _known_results(model, results):
        corpus = None if results is None else _stored_corpus(Path(results), result)
        if corpus is None:
            unmeasured.append(result)
        else:
            known.append(report(corpus, result.f1))
    correlations = correlations_with_f1([*text_reports, *known])
    return LanguageReports(text_reports, tuple(known), tuple(unmeasured), correlations)


def _known_results(model: NerModel, results: str | Path | None) -> Sequence[LanguageResult]:
    if results is not None:
        return results_of_model(model.parts.description, [Path(results)])
    if model.location is None:
        return ()
    card = card_of_folder(find_model(model.location).folder)
    return content_of_card(card).results if card else ()


def _stored_corpus(results: Path, result: LanguageResult) -> Corpus | None:
    try:
        corpus = StudyFolder(results.parent).corpus(result.digest) if result.digest else None
    except DataError:
        return None  # a study can be without corpora
    return None if corpus is None else replace(corpus, source=result.target)
