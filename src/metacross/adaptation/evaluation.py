"""Scores a model on a labeled corpus, adapted and not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import Prediction
from metacross.errors import DataError
from metacross.metrics.scoring import ScoreReport, counts_by_sentence, score
from metacross.metrics.significance import Comparison, compare
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How good a model is without adaptation and, where it can adapt, with it.

    ``adapted`` and ``comparison`` (adapted against plain) are None where it cannot.
    """

    corpus: Corpus
    plain: ScoreReport
    adapted: ScoreReport | None
    comparison: Comparison | None


def evaluate(
    model: NerModel,
    corpus: Corpus,
    *,
    adapt: bool = True,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> Evaluation:
    """Label a corpus and compare with its own entities; ``adapt`` False leaves adaptation out."""
    _check_types(model, corpus)
    plain = predicted_corpus(model, corpus, adapt=False)
    report = score(corpus, plain)
    if not adapt or model.parts.datastore is None:
        return Evaluation(corpus, report, None, None)
    adapted = predicted_corpus(model, corpus, adapt=True, progress=progress)
    comparison = compare(counts_by_sentence(corpus, adapted), counts_by_sentence(corpus, plain))
    return Evaluation(corpus, report, score(corpus, adapted), comparison)


def predicted_corpus(
    model: NerModel,
    corpus: Corpus,
    *,
    adapt: bool,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> Corpus:
    """The corpus with the model's entities in place of its own."""
    predictions = model.predict_all(corpus, adapt=adapt, progress=progress)
    return Corpus(tuple(own.labeled for own in predictions), source=corpus.source)


def f1_on(dev: Corpus) -> Callable[[Sequence[Prediction]], float]:
    """A function that gives the F1 of predictions for this corpus."""

    def f1(predictions: Sequence[Prediction]) -> float:
        predicted = Corpus(tuple(prediction.labeled for prediction in predictions))
        return score(dev, predicted).overall.f1

    return f1


def _check_types(model: NerModel, corpus: Corpus) -> None:
    odd = [label for label in corpus.entities_by_label if label not in model.labels]
    if odd:
        raise DataError(
            f"{corpus.name}: expected entities of the model's types {', '.join(model.labels)}, "
            f"found {', '.join(odd)} too; use --map or --drop"
        )
