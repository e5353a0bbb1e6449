"""A model whose labels are mixed with those of the most similar words of a corpus (kNN-NER)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.other_model import OtherModel
from metacross.adaptation.prediction import SentencePrediction, prediction_from_logits
from metacross.adaptation.textbook import dropout
from metacross.errors import DataError
from metacross.model.batching import length_batches
from metacross.model.training_facts import TrainingFacts
from metacross.model.word_states import (
    WordStore,
    kept_words,
    states_and_logits,
    states_of_sentences,
)
from metacross.model.word_tagger import read_weights
from metacross.settings import Settings
from metacross.text.sentence import Corpus, Sentence

NEAREST_WORDS = "nearest-words"
_MODEL, _WORDS = "0", "words.safetensors"
_SMALLEST = 1e-8  # of a probability, before its logarithm


class NearestWordsModel(OtherModel):
    """Mixes the probabilities of a model with the votes of the nearest words of a labeled corpus,
    by the states of its last layer (after Wang et al. 2022). Nothing is trained; ``settings.knn``
    says how it mixes.
    """

    def __init__(
        self,
        model: NerModel,
        store: WordStore,
        settings: Settings,
        *,
        facts: TrainingFacts | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(model.tagger, settings, facts=facts, location=location)
        self.model = model
        self.store = store

    @classmethod
    def of(cls, model: NerModel, corpus: Corpus, settings: Settings) -> NearestWordsModel:
        """A model with the words of a labeled corpus."""
        return cls(model, word_store(model, corpus, settings), settings, facts=model.parts.facts)

    @property
    def kind(self) -> str:
        """The name of the kind in a model folder."""
        return NEAREST_WORDS

    @torch.no_grad()
    def _plain(self, sentences: Sequence[Sentence]) -> Iterator[SentencePrediction]:
        tagger, knn = self.tagger, self.settings.knn
        examples = tagger.inputs(sentences)
        predictions: dict[int, SentencePrediction] = {}
        batches = length_batches(
            [example.windows for example in examples], max_pieces=self.settings.run.batch_pieces
        )
        with dropout(tagger, enabled=False):
            for positions in batches:
                batch = tagger.batch([examples[i] for i in positions])
                states, logits = states_and_logits(tagger, batch)
                voted = self.store.tag_probabilities(
                    torch.nn.functional.normalize(states).cpu(),
                    k=knn.neighbors,
                    temperature=knn.temperature,
                    n_tags=len(tagger.tag_set),
                )
                mixed = knn.weight * voted + (1 - knn.weight) * logits.cpu().softmax(dim=1)
                n_words = torch.bincount(batch.sentence_of_word, minlength=batch.n_sentences)
                scores = mixed.clamp(min=_SMALLEST).log()  # their softmax is the mixture again
                for i, rows in zip(positions, torch.split(scores, n_words.tolist()), strict=True):
                    predictions[i] = prediction_from_logits(
                        sentences[i],
                        rows,
                        tagger.tag_set,
                        groups=examples[i].groups,
                        decoding=self.settings.prediction.decoding,
                    )
        yield from (predictions[i] for i in range(len(sentences)))

    def _write(self, folder: Path) -> None:
        self.model.save(folder / _MODEL)
        tensors = {
            "states": self.store.states.half(),
            "tag_ids": self.store.tag_ids.to(torch.int16),
            "other_weight": torch.tensor(self.store.other_weight),
        }
        save_file(tensors, folder / _WORDS)


def word_store(model: NerModel, corpus: Corpus, settings: Settings) -> WordStore:
    """The words of a labeled corpus with their states in a model."""
    tagger, knn = model.tagger, settings.knn
    examples = tagger.examples(corpus)
    if any(example.tag_ids is None for example in examples):
        raise DataError(f"{corpus.name}: expected labeled sentences, found unlabeled ones")
    tag_ids = torch.tensor([tag_id for e in examples for tag_id in e.tag_ids or ()])
    kept = kept_words(tag_ids, outside_fraction=knn.outside_fraction, seed=settings.run.seed)
    with dropout(tagger, enabled=False):
        states = states_of_sentences(tagger, examples, batch_pieces=settings.run.batch_pieces)
    rows = torch.cat(states)[kept].half().float()  # as they are stored
    return WordStore(rows, tag_ids[kept], 1 / knn.outside_fraction)


def read_word_store(folder: Path) -> WordStore:
    """The words that :class:`NearestWordsModel` wrote."""
    tensors = read_weights(folder / _WORDS, ("states", "tag_ids", "other_weight"))
    return WordStore(
        tensors["states"].float(), tensors["tag_ids"].long(), tensors["other_weight"].item()
    )


def model_folder_of(folder: Path) -> Path:
    """The folder of the model that is mixed with the words."""
    return folder / _MODEL
