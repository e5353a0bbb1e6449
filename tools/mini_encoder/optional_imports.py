"""Imports the packages that only distillation needs."""

from __future__ import annotations

import importlib
from typing import Any

from metacross.errors import MetacrossError


def import_optional(name: str) -> Any:  # noqa: ANN401 - a module
    """Import a module of a package in the dependency group ``mini-encoder``."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MetacrossError(
            f"{package} is not installed: pip install --group mini-encoder"
        ) from None
