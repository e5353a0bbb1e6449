"""Everything that can be chosen about a distillation."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from metacross.settings import (
    OptimizerSettings,
    ScheduleSettings,
    SettingsGroup,
    settings_with,
)


class StudentSettings(SettingsGroup):
    """The size of the small encoder."""

    embedding_size: int = Field(480, ge=2, multiple_of=2, description="columns of its table")
    frequent_pieces: int = Field(
        60_000,
        ge=0,
        description="Latin pieces up to this rank are kept, seen or not",
    )


class StreamSettings(SettingsGroup):
    """How the text is drawn."""

    chunk: int = Field(2_048, ge=2, description="sentences drawn at a time, to go by length")
    batches: int = Field(13, ge=1, description="steps that a chunk is enough for")
    longest: int = Field(96, ge=8, description="pieces of a sentence that are read")
    pair_share: float = Field(0.5, ge=0, le=1, description="share of chunks made of translations")


class ViewSettings(SettingsGroup):
    """How often a sentence is shown to the student in each way."""

    split: float = Field(0.5, ge=0, le=1, description="words and signs apart, as in corpora")
    characters: float = Field(0.6, ge=0, le=1, description="Chinese character by character")
    all_capitals: float = Field(0.1, ge=0, le=1, description="whole sentence in capitals")
    some_capitals: float = Field(0.05, ge=0, le=1, description="some words in capitals")
    title: float = Field(0.03, ge=0, le=1, description="every word with a capital")


class WordMaskingSettings(SettingsGroup):
    """How often the student does not see a word whose state it must find."""

    sentences: float = Field(0.5, ge=0, le=1, description="share of sentences with masked words")
    words: float = Field(0.15, ge=0, le=1, description="share of words masked in them")
    weight: float = Field(0.2, ge=0, description="of a masked piece in the loss")


class TargetSettings(SettingsGroup):
    """What the student is to reach."""

    sentence_weight: float = Field(1.0, ge=0, description="of sentence vectors beside states")
    pair_pull: float = Field(
        0.7, ge=0, le=1, description="how far a translated word's target moves to the English one"
    )
    pair_likeness: float = Field(
        0.5, ge=-1, le=1, description="least cosine of words that answer each other"
    )
    measured_batches: int = Field(40, ge=1, description="batches that scale the distances")


class DistillationRunSettings(SettingsGroup):
    """How a distillation runs."""

    steps: int = Field(840, ge=1, description="batches learned from")
    seed: int = Field(1, ge=0, description="of everything random")
    rate: float = Field(4e-4, gt=0, description="highest learning rate")
    checkpoint_every: int = Field(100, ge=1, description="steps between checkpoints")


class DistillationSettings(SettingsGroup):
    """A distillation, whole; with the text and the teacher it fixes what comes out."""

    student: StudentSettings = StudentSettings()
    stream: StreamSettings = StreamSettings()
    views: ViewSettings = ViewSettings()
    masking: WordMaskingSettings = WordMaskingSettings()
    target: TargetSettings = TargetSettings()
    optimizer: OptimizerSettings = OptimizerSettings(clip_norm=1.0)
    schedule: ScheduleSettings = ScheduleSettings(decay="linear", warmup_ratio=0.2)
    run: DistillationRunSettings = DistillationRunSettings()


def distillation_settings(overrides: Iterable[str] = ()) -> DistillationSettings:
    """The settings with ``section.key=value`` overrides.

    >>> distillation_settings(["run.steps=5"]).run.steps
    5
    """
    return settings_with(DistillationSettings(), overrides)
