"""Labels raw target text with a model, to train another one on: hard or soft labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.text.sentence import Corpus


@dataclass(frozen=True)
class PseudoLabels:
    """What a model predicts for raw text. The probabilities of its predictions are soft labels."""

    predictions: tuple[SentencePrediction, ...]
    source: str

    @cached_property
    def hard(self) -> Corpus:
        """The sentences with the entities that were found."""
        sentences = tuple(prediction.labeled for prediction in self.predictions)
        return Corpus(sentences, source=self.source)

    @property
    def entity_rate(self) -> float:
        """The share of words in entities: of text that is poor in them little can be learned."""
        n_entity_words = sum(
            span.end - span.start for prediction in self.predictions for span in prediction.spans
        )
        return n_entity_words / self.hard.n_words


def pseudo_label(
    model: NerModel,
    raw_text: Corpus,
    *,
    adapt: bool | None = None,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> PseudoLabels:
    """Label raw text. ``adapt=None`` does what the model was trained for."""
    predictions = model.predict_stream(raw_text, adapt=adapt, progress=progress)
    return PseudoLabels(tuple(predictions), f"{raw_text.name}, labeled by a model")


def agreed_tags(teachers: Sequence[PseudoLabels]) -> list[list[int | None]]:
    """For each sentence the tag number of each word on which all models agree; None where they
    disagree.
    """
    agreed = []
    for predictions in zip(*(teacher.predictions for teacher in teachers), strict=True):
        best = [prediction.probabilities.argmax(axis=1).tolist() for prediction in predictions]
        agreed.append(
            [tags[0] if len(set(tags)) == 1 else None for tags in zip(*best, strict=True)]
        )
    return agreed
