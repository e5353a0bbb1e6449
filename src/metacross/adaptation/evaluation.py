"""Scores a model on a labeled corpus, with and without adaptation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metacross.adaptation.prediction import SentencePrediction
from metacross.errors import DataError
from metacross.metrics.scoring import ScoreReport, counts_by_sentence, score
from metacross.metrics.significance import Comparison, compare
from metacross.text.sentence import Corpus

if TYPE_CHECKING:
    from metacross.adaptation.ner_model import NerModel


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of a model on a corpus, without adaptation and with it.

    ``adapted`` and ``comparison`` (adapted against plain) are None where adaptation was left out.
    """

    corpus: Corpus
    plain: ScoreReport
    adapted: ScoreReport | None
    comparison: Comparison | None

    @property
    def f1(self) -> float:
        """The F1 of the model as it is used: adapted where it adapts."""
        return (self.adapted or self.plain).overall.f1


def evaluate(
    model: NerModel,
    corpus: Corpus,
    *,
    adapt: bool | None = None,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> Evaluation:
    """Label a corpus and compare with its own entities.

    It is scored without adaptation and, if ``adapt`` is True, with it as well. ``adapt=None``
    does what the model was trained for: a meta-trained one is scored with adaptation too.
    """
    check_labels(corpus, model.labels)
    plain = predicted_corpus(model, corpus, adapt=False)
    plain_report = score(corpus, plain)
    if not (model.adapts if adapt is None else adapt):
        return Evaluation(corpus, plain_report, None, None)
    adapted = predicted_corpus(model, corpus, adapt=True, progress=progress)
    comparison = compare(counts_by_sentence(corpus, adapted), counts_by_sentence(corpus, plain))
    return Evaluation(corpus, plain_report, score(corpus, adapted), comparison)


def f1_of(predictions: Iterable[SentencePrediction], gold: Corpus) -> float:
    """The F1 of predictions for the sentences of a labeled corpus."""
    return score(gold, Corpus(tuple(p.labeled for p in predictions))).overall.f1


def predicted_corpus(
    model: NerModel,
    corpus: Corpus,
    *,
    adapt: bool,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> Corpus:
    """The corpus with the model's entities instead of its own."""
    predictions = model.predict_stream(corpus, adapt=adapt, progress=progress)
    return Corpus(tuple(prediction.labeled for prediction in predictions), source=corpus.source)


def check_labels(corpus: Corpus, labels: tuple[str, ...]) -> None:
    """Refuse a corpus with entity types that are not among ``labels``."""
    unknown = [label for label in corpus.entities_by_label if label not in labels]
    if unknown:
        raise DataError(
            f"{corpus.name}: expected the entity types {', '.join(labels)}, "
            f"found {', '.join(unknown)} too; use --map or --drop"
        )
