"""What can be chosen about the systems to compare with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from metacross.settings_group import SettingsGroup


class TranslationSettings(SettingsGroup):
    """Word-by-word translation of the source corpus with a lexicon (baselines)."""

    max_phrase_length: int = Field(4, ge=1, description="words of the longest phrase looked up")
    language_model_weight: float = Field(
        0.25, ge=0, description="weight of the language model's log-probability; 0: lexicon only"
    )
    capitalize_above: float = Field(
        0.6,
        ge=0,
        le=1,
        description="a translated word gets a capital if this share of it has one in the target's "
        "raw text",
    )
    copied_labels: tuple[str, ...] = Field(
        ("PER",), description="entity types whose words are copied where both scripts are the same"
    )


class ProjectionSettings(SettingsGroup):
    """Projection of labels through parallel text (baselines)."""

    aligner: Literal["ibm1", "encoder"] = Field(
        "ibm1", description="aligns words: IBM model 1 with a diagonal prior, or encoder states"
    )
    encoder_layers: int | None = Field(
        None, ge=1, description="bottom layers read by the encoder aligner; null: all"
    )
    min_quality: float = Field(
        0.7, ge=0, le=1, description="lowest mean agreement of a sentence's entities with others"
    )
    min_entities: int = Field(1, ge=0, description="fewest entities of a sentence that is kept")
    max_stretch: int = Field(
        2, ge=0, description="words by which a projected entity may be longer than its source"
    )
    without_entities: float = Field(
        0.5, ge=0, description="entity-free sentences kept for each kept sentence with entities"
    )


class DistillationSettings(SettingsGroup):
    """A student that learns a teacher's probabilities on raw target text (baselines)."""

    sentences: int = Field(
        10_000, ge=1, description="most sentences of raw text; more are left out at random"
    )
    epochs: int = Field(3, ge=1, description="passes over the raw text")
    batch_size: int = Field(32, ge=1, description="sentences in a mini-batch")
    learning_rate: float = Field(1e-4, gt=0, description="learning rate")
    hard_weight: float = Field(
        1.0, ge=0, description="weight of the cross-entropy on words with hard labels"
    )
    adapt: bool | None = Field(None, description="the teacher adapts; null: if it was meta-trained")


class KnnSettings(SettingsGroup):
    """Labels mixed with those of the most similar words of the source (baselines)."""

    neighbors: int = Field(64, ge=1, description="nearest words that vote")
    temperature: float = Field(0.1, gt=0, description="divides the cosines before they are weights")
    weight: float = Field(0.25, ge=0, le=1, description="weight of the votes")
    outside_fraction: float = Field(
        0.1, gt=0, le=1, description="fraction of the words outside entities that is kept"
    )


class AdversarySettings(SettingsGroup):
    """A discriminator that tells the languages apart while the tagger is trained (baselines)."""

    states: int = Field(500, ge=1, description="hidden states of the discriminator")
    learning_rate: float = Field(1e-3, gt=0, description="learning rate of the discriminator")
    encoder_rate: float = Field(
        0.01, ge=0, description="learning rate of the encoder against it, as a part of direct's"
    )
    keep: float = Field(
        0.8, gt=0, le=1, description="fraction of raw sentences kept, least like one language"
    )


class ConsistencySettings(SettingsGroup):
    """Weights of words by how far similar words have the same label (baselines)."""

    neighbors: int = Field(100, ge=1, description="nearest words that are compared")
    steepness: float = Field(6.0, gt=0, description="of the step from low to high weight")
    outside_fraction: float = Field(
        0.1, gt=0, le=1, description="fraction of the words outside entities that is kept"
    )
    rounds: int = Field(2, ge=1, description="rounds of both models")
    hard_weights: tuple[float, ...] = Field(
        (0.5, 0.1),
        min_length=1,
        description="weights of the translated labels, by round; the rest is predicted",
    )


class CrfSettings(SettingsGroup):
    """A linear CRF over features of words (baselines)."""

    iterations: int = Field(100, ge=1, description="most iterations of L-BFGS")
    l1: float = Field(0.1, ge=0, description="weight of the L1 norm")
    l2: float = Field(0.1, ge=0, description="weight of the squared L2 norm")
    min_count: int = Field(2, ge=1, description="rarer features are left out")
    words: bool = Field(True, description="the word itself is a feature")
    affixes: bool = Field(True, description="first and last letters are features")


class BilstmCrfSettings(SettingsGroup):
    """A BiLSTM with characters and a CRF (baselines)."""

    character_width: int = Field(25, ge=1, description="width of character vectors")
    character_states: int = Field(50, ge=1, description="character LSTM states per direction")
    states: int = Field(200, ge=1, description="word LSTM states per direction")
    attention: bool = Field(True, description="self-attention between the LSTM and the CRF")
    dropout: float = Field(0.5, ge=0, lt=1, description="on input, output and context")
    epochs: int = Field(10, ge=1, description="passes over the text")
    batch_size: int = Field(32, ge=1, description="sentences in a mini-batch")
    learning_rate: float = Field(2e-3, gt=0, description="learning rate")


class TwoLanguageSettings(SettingsGroup):
    """BiLSTM-CRFs of source and target together, as in ``bilstm_crf`` otherwise (baselines)."""

    steps: int = Field(3_000, ge=1, description="number of mini-batches")
    character_filters: int = Field(
        25, ge=1, description="character filters of each width, 2 to 4 (lin-ml, lin-mlmt)"
    )
    language_weight: float = Field(
        0.1,
        gt=0,
        description="weight of the source language in a mini-batch, beside the target (lin-ml, "
        "lin-mlmt)",
    )
    task_weight: float = Field(
        0.1,
        gt=0,
        description="weight of parts of speech in a mini-batch, beside entities (lin-mlmt)",
    )


BASELINE_GROUPS = (
    "translation",
    "projection",
    "distillation",
    "knn",
    "adversary",
    "consistency",
    "crf",
    "bilstm_crf",
    "two_languages",
)
"""Groups of settings that only baselines use."""
