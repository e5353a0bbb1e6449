"""Describes the served model, without naming files of its machine."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import metacross
from metacross.adaptation.ner_model import NerModel
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel
from metacross.text.bundled_corpus import TARGETS

_SHOWN = 12  # digits of a digest


def model_json(model: NerModel, served: ServedModel, options: ServerOptions) -> dict[str, Any]:
    """What ``GET /v1/model`` answers."""
    datastore, limits = model.parts.datastore, options.limits
    return {
        **served.identity,
        "labels": list(model.labels),
        "adapts": model.adapts if options.adapt is None else options.adapt,
        "can_adapt": datastore is not None,
        "neighbors": 0 if datastore is None else model.settings.retrieval.neighbors,
        "source_sentences": 0 if datastore is None else len(datastore.source),
        "remembered_sentences": len(model.remembered),
        "learns": options.learn,
        "source_hidden": options.hide_source,
        "languages": ["en", *TARGETS],
        "default_language": options.language,
        "encoder": _encoder_name(model.settings.encoder.name),
        "recipe_digest": hashlib.sha256(model.settings.as_yaml().encode()).hexdigest()[:_SHOWN],
        "metacross": metacross.__version__,
        "limits": {
            "max_bytes": limits.max_bytes,
            "max_stream_bytes": limits.max_stream_bytes,
            "max_texts": limits.max_texts,
            "max_characters": limits.max_characters,
            "queue_pieces": limits.queue_pieces,
            "seconds": limits.seconds,
        },
    }


def _encoder_name(name: str) -> str:
    """A hub name as it is, a folder without the folders above it.

    >>> _encoder_name("FacebookAI/xlm-roberta-base"), _encoder_name("/home/ana/encoders/own")
    ('FacebookAI/xlm-roberta-base', 'own')
    """
    path = Path(name)
    is_hub_name = len(path.parts) <= 2 and not path.is_absolute() and path.parts[:1] != ("..",)
    return name if is_hub_name and not path.is_dir() else path.name
