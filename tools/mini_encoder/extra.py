"""Fetches the packages that only distillation needs."""

from __future__ import annotations

import importlib
from typing import Any

from metacross.errors import MetacrossError


def package(name: str) -> Any:  # noqa: ANN401 - a module
    """Import a package of the extra ``distill``."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MetacrossError(
            f"distillation needs {name.partition('.')[0]}, which comes with the 'distill' extra: "
            f"pip install 'metacross[distill]'"
        ) from None
