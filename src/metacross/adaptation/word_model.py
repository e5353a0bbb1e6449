"""Models without an encoder: they predict, save and load like any other, and do not adapt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from metacross.adaptation.nearest_words import (
    NEAREST_WORDS,
    NearestWordsModel,
    model_folder_of,
    read_word_store,
)
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.other_model import OtherModel
from metacross.adaptation.prediction import SentencePrediction, scores_of_spans
from metacross.errors import ModelError
from metacross.model.bilstm_crf import BilstmCrf
from metacross.model.decoding import best_tags
from metacross.model.linear_crf import LinearCrf
from metacross.model.model_mark import describe_model, saved_settings, tagger_kind
from metacross.model.training_facts import TrainingFacts
from metacross.model.word_tagger import (
    WordTagger,
    WordWindows,
    read_description,
    tag_sentences,
)
from metacross.settings import Settings
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet

_KINDS: dict[str, type[LinearCrf] | type[BilstmCrf]] = {
    LinearCrf.kind: LinearCrf,
    BilstmCrf.kind: BilstmCrf,
}
CombiningRule: TypeAlias = Literal["co-decoding", "mean"]
_COMBINED = "combined"
_COMBINATION = "combined.json"


class WordModel(OtherModel):
    """A CRF over words."""

    def __init__(
        self,
        word_tagger: WordTagger,
        settings: Settings,
        *,
        facts: TrainingFacts | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(word_tagger, settings, facts=facts, location=location)
        self.word_tagger = word_tagger

    @property
    def kind(self) -> str:
        """The name of the kind in a model folder."""
        return self.word_tagger.kind

    def _plain(self, sentences: Sequence[Sentence]) -> Iterator[SentencePrediction]:
        tagged = tag_sentences(self.word_tagger, sentences)
        for sentence, words in zip(sentences, tagged, strict=True):
            yield _prediction(
                sentence, words.tag_ids, words.probabilities, self.word_tagger.tag_set
            )

    def _write(self, folder: Path) -> None:
        self.word_tagger.write(folder)


class _CombinedTags:
    """What the other parts of a combined model's :class:`NerModel` ask a tagger for."""

    def __init__(self, tag_set: TagSet) -> None:
        self.tag_set = tag_set
        self.window_cutter = WordWindows()
        self.device = torch.device("cpu")

    @property
    def network(self) -> object:
        raise ModelError("expected a model with one encoder, found several models combined")


class CombinedModel(OtherModel):
    """Several models that label together, by the mean of their probabilities or by co-decoding."""

    def __init__(
        self,
        models: Sequence[NerModel],
        settings: Settings,
        *,
        rule: CombiningRule = "co-decoding",
        facts: TrainingFacts | None = None,
        location: str | None = None,
    ) -> None:
        labels = models[0].labels
        for model in models:
            if model.labels != labels:
                raise ModelError(
                    f"expected models with the entity types {', '.join(labels)}, found "
                    f"{', '.join(model.labels)}"
                )
        super().__init__(_CombinedTags(TagSet(labels)), settings, facts=facts, location=location)
        self.models = tuple(models)
        self.rule = rule

    @property
    def kind(self) -> str:
        """The name of the kind in a model folder."""
        return _COMBINED

    @property
    def gradient_cache_bytes(self) -> int:
        """Memory that the recorded gradients of its models take, in bytes."""
        return sum(model.gradient_cache_bytes for model in self.models)

    def clear_gradient_cache(self) -> None:
        """Forget the recorded gradients of its models."""
        for model in self.models:
            model.clear_gradient_cache()

    def _plain(self, sentences: Sequence[Sentence]) -> Iterator[SentencePrediction]:
        streams = [model.predict_stream(sentences) for model in self.models]
        combine = _RULES[self.rule]
        for sentence, *predictions in zip(sentences, *streams, strict=True):
            together = combine([torch.from_numpy(p.probabilities) for p in predictions])
            tag_ids = best_tags(together, decoding=self.settings.prediction.decoding)
            yield _prediction(sentence, tag_ids, together, self.tagger.tag_set)

    def _write(self, folder: Path) -> None:
        for number, model in enumerate(self.models):
            model.save(folder / str(number))
        text = json.dumps({"models": len(self.models), "rule": self.rule}) + "\n"
        (folder / _COMBINATION).write_text(text, encoding="utf-8")


def co_decoded(probabilities: Sequence[Tensor]) -> Tensor:
    """For each word the probabilities of the model with the most probable tag; models that say O
    count only if all do (after Ni et al. 2017). Earlier models win ties. *Shape:* each (words,
    tags).
    """
    together = torch.stack(list(probabilities))  # (models, words, tags)
    confidence, tag_ids = together.max(dim=2)  # both (models, words)
    confidence = torch.where(tag_ids == 0, confidence - 1, confidence)  # below all entities
    best = confidence.argmax(dim=0)  # (words,)
    return together[best, torch.arange(together.shape[1])]


def mean(probabilities: Sequence[Tensor]) -> Tensor:
    """The mean of the models' probabilities. *Shape:* each (words, tags)."""
    return torch.stack(list(probabilities)).mean(dim=0)


_RULES: dict[str, Callable[[Sequence[Tensor]], Tensor]] = {"co-decoding": co_decoded, "mean": mean}


def _prediction(
    sentence: Sentence, tag_ids: Sequence[int], probabilities: Tensor, tag_set: TagSet
) -> SentencePrediction:
    spans = tag_set.spans(tag_ids)
    return SentencePrediction(
        sentence=sentence,
        spans=spans,
        scores=scores_of_spans(spans, tag_ids, probabilities),
        tags=tag_set.tags,
        probabilities=probabilities.numpy().astype(np.float32, copy=False),
    )


def load_word_model(
    folder: Path,
    load_part: Callable[[Path], NerModel],
    *,
    location: str | None = None,
    change: Callable[[Settings], Settings] = lambda saved: saved,
) -> OtherModel:
    """Load a model without an encoder, or one that is made of others, which ``load_part`` loads."""
    kind, description = tagger_kind(folder), describe_model(folder)
    settings = change(saved_settings(folder))
    facts, tag_set = description.facts, TagSet(description.labels)
    if kind == _COMBINED:
        combination = read_description(folder / _COMBINATION, ("models",))
        models = [load_part(folder / str(number)) for number in range(int(combination["models"]))]
        rule = combination.get("rule", "co-decoding")  # models of earlier versions have none
        if rule not in _RULES:
            known = " or ".join(_RULES)
            raise ModelError(f"{folder / _COMBINATION}: expected the rule {known}, found {rule!r}")
        return CombinedModel(models, settings, rule=rule, facts=facts, location=location)
    if kind == NEAREST_WORDS:
        model, store = load_part(model_folder_of(folder)), read_word_store(folder)
        return NearestWordsModel(model, store, settings, facts=facts, location=location)
    if kind not in _KINDS:
        known = ", ".join([*_KINDS, _COMBINED, NEAREST_WORDS])
        raise ModelError(f"{folder}: expected a tagger of {known}, found {kind!r}")
    tagger = _KINDS[kind].read(folder, tag_set)
    return WordModel(tagger, settings, facts=facts, location=location)
