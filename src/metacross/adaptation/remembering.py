"""Lets a model remember labeled sentences, which it then adapts to like source sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from metacross.adaptation.evaluation import check_labels
from metacross.errors import DataError, ModelError
from metacross.model.datastore import Datastore
from metacross.model.model_folder import ModelParts
from metacross.model.model_mark import is_model_folder
from metacross.model.remembered import (
    Remembered,
    joined,
    sentence_id,
    update_remembered,
    vectors_digest,
)
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence

_BATCH = 512  # sentences whose vectors are made at once


def sentences_to_remember(
    parts: ModelParts, sentences: Corpus | str | Path | Iterable[Sentence]
) -> list[Remembered]:
    """Labeled sentences with their vectors, made by the encoder of the datastore."""
    corpus = _corpus(sentences)
    if not corpus.sentences:
        return []
    for sentence in corpus:
        if not sentence.labeled:
            raise DataError(
                f"{sentence.place}: expected a labeled sentence to remember, found one without "
                "labels"
            )
    check_labels(corpus, parts.tagger.tag_set.labels)
    encoder = datastore_of(parts).sentence_encoder
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    remembered: list[Remembered] = []
    for start in range(0, len(corpus), _BATCH):
        batch = corpus.sentences[start : start + _BATCH]
        remembered += [
            Remembered(sentence, vector, now, str(sentence.origin) if sentence.origin else None)
            for sentence, vector in zip(batch, encoder.vectors(batch), strict=True)
        ]
    return remembered


def _corpus(sentences: Corpus | str | Path | Iterable[Sentence]) -> Corpus:
    if isinstance(sentences, Corpus):
        return sentences
    if isinstance(sentences, str | Path):
        return read_corpus(sentences)
    return Corpus(tuple(sentences))


def datastore_of(parts: ModelParts) -> Datastore:
    """The datastore of a model that can remember."""
    if parts.datastore is None:
        raise ModelError(
            "the model has no datastore to remember sentences in: it is fine-tuned, or was shared "
            "without its source sentences; use the model that was meta-trained"
        )
    return parts.datastore


def with_remembered(parts: ModelParts, remembered: Sequence[Remembered]) -> ModelParts:
    """The model with other remembered sentences."""
    datastore = replace(datastore_of(parts), remembered=tuple(remembered))
    return replace(parts, datastore=datastore)


def with_datastore_of(parts: ModelParts, other: ModelParts) -> ModelParts:
    """A fine-tuned model that adapts to the sentences of the model it was made from.

    The vectors are made by the encoder from before training, so they are the same for both.
    """
    return replace(parts, datastore=datastore_of(other), adapts=True)


def saved_with(
    folder: str | None, parts: ModelParts, new: Sequence[Remembered]
) -> tuple[Remembered, ...]:
    """Remember sentences in a model folder; gives all that are in it then."""
    digest = vectors_digest(datastore_of(parts).vectors)
    return update_remembered(
        checked_folder(folder), lambda before: joined(before, new), digest=digest
    )


def saved_without(folder: str | Path | None, ids: Iterable[str]) -> tuple[Remembered, ...]:
    """Forget sentences in a model folder; gives those that are left."""
    forgotten = frozenset(ids)
    return update_remembered(
        checked_folder(folder), lambda before: [r for r in before if r.id not in forgotten]
    )


def checked_folder(folder: str | Path | None) -> Path:
    """The folder of a model on this machine, where its memory is kept."""
    if folder is None or not is_model_folder(folder):
        found = "a model that was not loaded from a folder" if folder is None else str(folder)
        raise ModelError(
            f"expected a model folder on this machine to keep the memory in, found {found}; save "
            "the model to a folder and load it from there"
        )
    return Path(folder)


def ids_of(sentences: Iterable[str | Sentence]) -> list[str]:
    """The ids of sentences that are given as ids or as sentences."""
    return [item if isinstance(item, str) else sentence_id(item) for item in sentences]
