"""What a model says of its training: data with digests, dev F1, versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from metacross.model.encoder_files import MINI
from metacross.text.hub_datasets import PREFIX
from metacross.text.sentence import Corpus

EncoderOrigin = Literal["bundled", "folder", "hub"]


class Facts(BaseModel):
    """Part of the facts; cannot be changed. Facts that a later version adds are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class CorpusFacts(Facts):
    """Sizes and digest of a corpus. ``name`` has no folders: they belong to one machine only.

    ``language`` is None if the corpus does not say it.
    """

    name: str
    language: str | None
    sentences: int
    words: int
    entities_by_label: dict[str, int]
    digest: str

    @classmethod
    def of(cls, corpus: Corpus, digest: str) -> CorpusFacts:
        """The facts of a corpus with this digest."""
        languages = corpus.languages
        return cls(
            name=shown_name(corpus.name),
            language=next(iter(languages)) if len(languages) == 1 else None,
            sentences=len(corpus),
            words=corpus.n_words,
            entities_by_label=corpus.entities_by_label,
            digest=digest,
        )

    @property
    def hub_dataset(self) -> str | None:
        """The name on the Hugging Face hub; None if it was read from a file."""
        if not self.name.startswith(PREFIX):
            return None
        return self.name.removeprefix(PREFIX).partition("@")[0].partition(":")[0]


class TrainingFacts(Facts):
    """What went into a training and what was measured in it.

    ``source`` and ``dev`` are None where a model of an earlier version did not say them.
    ``dev_f1`` is without adaptation, by the weights that were chosen; None if nothing was
    measured, as in fine-tuning. ``fine_tuned_on`` is the target text of a fine-tuned model.
    """

    encoder: str
    encoder_origin: EncoderOrigin
    source: CorpusFacts | None = None
    dev: CorpusFacts | None = None
    dev_f1: float | None = None
    fine_tuned_on: CorpusFacts | None = None
    seconds: float | None = None
    versions: dict[str, str] = {}
    machine: str = ""


def facts_from_json(values: Any) -> TrainingFacts | None:  # noqa: ANN401 - JSON
    """The facts that a model folder says; None if it says none."""
    try:
        return None if values is None else TrainingFacts.model_validate(values)
    except ValidationError:
        return None


def facts_of_training(
    encoder: str, *, source: CorpusFacts | None = None, dev: CorpusFacts | None = None
) -> TrainingFacts:
    """The facts before the first step. ``encoder`` is its name on this machine.

    >>> facts_of_training("FacebookAI/xlm-roberta-base").encoder_origin
    'hub'
    """
    origin: EncoderOrigin = "folder" if Path(encoder).exists() else "hub"
    if encoder == MINI:
        origin = "bundled"
    name = Path(encoder).name if origin == "folder" else encoder
    return TrainingFacts(encoder=name, encoder_origin=origin, source=source, dev=dev)


def shown_name(name: str) -> str:
    """The name of a corpus without the folders that it is in; hub names are whole.

    >>> shown_name("/home/ana/en/train.conll"), shown_name("hub:conll2003@train")
    ('train.conll', 'hub:conll2003@train')
    """
    is_hub_name = name.startswith(PREFIX) and not Path(name.removeprefix(PREFIX)).is_absolute()
    return name if is_hub_name else Path(name).name
