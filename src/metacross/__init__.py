"""Named-entity recognition for languages without labeled data."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from metacross.errors import MetacrossError
from metacross.settings import Settings, load_settings
from metacross.text.reading import read_corpus
from metacross.text.writing import write_corpus

if TYPE_CHECKING:
    from metacross.adaptation.evaluation import evaluate
    from metacross.adaptation.ner_model import load
    from metacross.api import train
    from metacross.model.encoder import load_encoder

__version__ = "0.1.0.dev0"

__all__ = [
    "MetacrossError",
    "Settings",
    "__version__",
    "evaluate",
    "load",
    "load_encoder",
    "load_settings",
    "read_corpus",
    "train",
    "write_corpus",
]

# What needs torch is fetched when it is first asked for: torch takes seconds to import, and
# reading, checking and scoring files do without.
_NEEDS_TORCH = {
    "evaluate": "metacross.adaptation.evaluation",
    "load": "metacross.adaptation.ner_model",
    "load_encoder": "metacross.model.encoder",
    "train": "metacross.api",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the above
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module 'metacross' has no attribute {name!r}")
    return getattr(importlib.import_module(_NEEDS_TORCH[name]), name)
