"""The settings of a distillation."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from metacross.settings import OptimizerSettings, ScheduleSettings, settings_with
from metacross.settings_group import SettingsGroup


class StudentSettings(SettingsGroup):
    """The size of the student."""

    embedding_size: int = Field(
        480, ge=2, multiple_of=2, description="columns of the embedding table"
    )
    frequent_pieces: int = Field(
        60_000,
        ge=0,
        description="Latin pieces up to this rank are kept even if the text does not contain them",
    )


class StreamSettings(SettingsGroup):
    """How sentences are sampled and batched."""

    chunk_size: int = Field(
        2_048, ge=2, description="sentences sampled at a time, then sorted by length into batches"
    )
    batches_per_chunk: int = Field(13, ge=1, description="batches made of a chunk")
    max_length: int = Field(96, ge=8, description="longest sentence in pieces; the rest is cut off")
    parallel_ratio: float = Field(
        0.5, ge=0, le=1, description="fraction of chunks made of sentences with translations"
    )


class AugmentationSettings(SettingsGroup):
    """How often the student reads a sentence in another form."""

    split: float = Field(0.5, ge=0, le=1, description="words and punctuation split, as in corpora")
    characters: float = Field(0.6, ge=0, le=1, description="Chinese character by character")
    all_capitals: float = Field(0.1, ge=0, le=1, description="all words in capitals")
    some_capitals: float = Field(0.05, ge=0, le=1, description="some words in capitals")
    title: float = Field(0.03, ge=0, le=1, description="every word capitalized")


class WordMaskingSettings(SettingsGroup):
    """How often words are masked in what the student reads."""

    sentences: float = Field(0.5, ge=0, le=1, description="fraction of sentences with masked words")
    words: float = Field(0.15, ge=0, le=1, description="fraction of words masked in them")
    weight: float = Field(0.2, ge=0, description="weight of a masked piece in the loss")


class TargetSettings(SettingsGroup):
    """The outputs that the student learns to reproduce."""

    sentence_weight: float = Field(
        1.0, ge=0, description="weight of the sentence vector loss; that of the states is 1"
    )
    translation_pull: float = Field(
        0.7,
        ge=0,
        le=1,
        description="how far the target of a translated word moves to that of the English word",
    )
    min_similarity: float = Field(
        0.5, ge=-1, le=1, description="lowest cosine of a word and its translation"
    )
    statistics_batches: int = Field(
        40, ge=1, description="batches from which the scale of the loss is computed"
    )


class DistillationRunSettings(SettingsGroup):
    """How a distillation runs."""

    steps: int = Field(840, ge=1, description="number of batches")
    seed: int = Field(1, ge=0, description="seed of everything random")
    learning_rate: float = Field(4e-4, gt=0, description="highest learning rate")
    checkpoint_every: int = Field(100, ge=1, description="steps between checkpoints")


class DistillationSettings(SettingsGroup):
    """All settings; with the text and the teacher they determine the student."""

    student: StudentSettings = StudentSettings()
    stream: StreamSettings = StreamSettings()
    augmentation: AugmentationSettings = AugmentationSettings()
    masking: WordMaskingSettings = WordMaskingSettings()
    target: TargetSettings = TargetSettings()
    optimizer: OptimizerSettings = OptimizerSettings(clip_norm=1.0)
    schedule: ScheduleSettings = ScheduleSettings(decay="linear", warmup_ratio=0.2)
    run: DistillationRunSettings = DistillationRunSettings()


def distillation_settings(overrides: Iterable[str] = ()) -> DistillationSettings:
    """The default settings with ``group.key=value`` overrides.

    >>> distillation_settings(["run.steps=5"]).run.steps
    5
    """
    return settings_with(DistillationSettings(), overrides)
