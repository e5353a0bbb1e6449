"""What ``import metacross`` offers for training and measuring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from metacross.adaptation.evaluation import f1_on
from metacross.adaptation.ner_model import NerModel
from metacross.settings import Settings, load_settings
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.training.loop import Callback
from metacross.training.train import train_model


def train(
    source: Corpus | str | Path,
    *,
    dev: Corpus | str | Path,
    encoder: str | None = None,
    recipe: str | Path | Settings = "paper",
    output: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """Train a model on a labeled language, choosing its best weights by ``dev``.

    ``recipe`` is a name, a YAML file or settings; ``encoder`` overrides the recipe's. With
    ``output`` the training can be stopped and taken up, and the model is saved there.
    """
    settings = recipe if isinstance(recipe, Settings) else load_settings(recipe)
    if encoder is not None:
        named = settings.encoder.model_copy(update={"name": encoder})
        settings = settings.model_copy(update={"encoder": named})
    labels = {**settings.data.map, **dict.fromkeys(settings.data.drop)}
    corpora = [
        (
            given
            if isinstance(given, Corpus)
            else read_corpus(given, language=settings.data.language)
        )
        for given in (source, dev)
    ]
    source_corpus, dev_corpus = (corpus.relabeled(labels) for corpus in corpora)
    with tempfile.TemporaryDirectory(prefix="metacross-") as temporary:
        return train_model(
            source_corpus,
            dev_corpus,
            settings,
            temporary if output is None else output,
            dev_score=f1_on(dev_corpus),
            callbacks=callbacks,
        )
