"""The model of ``metacross serve`` without MODEL: trained on the bundled corpus, then kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import metacross
from metacross.adaptation.vector_cache import cache_folder
from metacross.model.encoder_digest import encoder_digest
from metacross.settings import Settings, load_settings
from metacross.text.bundled_corpus import bundled_corpus
from metacross.training.callbacks import Callback
from metacross.training.run_folder import corpus_digest
from metacross.training.train import train

DEMO_NAME = "demo"
_SETTINGS = ("meta.steps=180", "run.validate_every=30", "run.checkpoint_every=30")


def demo_settings() -> Settings:
    """The settings of ``metacross demo`` for its adapted system."""
    return load_settings("mini", _SETTINGS)


def demo_model_folder() -> Path:
    """Where the demo model is kept: its name covers everything that the model depends on."""
    corpora = [bundled_corpus("en", split) for split in ("train", "dev")]
    parts = [
        metacross.__version__,
        demo_settings().as_yaml(),
        encoder_digest("mini"),
        *map(corpus_digest, corpora),
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return cache_folder() / "models" / f"{DEMO_NAME}-{digest[:12]}"


def train_demo_model(folder: Path, callbacks: Sequence[Callback]) -> None:
    """Train the demo model; a training that was stopped goes on."""
    train(
        bundled_corpus("en", "train"),
        dev=bundled_corpus("en", "dev"),
        recipe=demo_settings(),
        output=folder,
        callbacks=callbacks,
    )
