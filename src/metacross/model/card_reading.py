"""Reads a model card back: licenses, results and the user's notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from metacross.errors import ModelError
from metacross.model.model_card import (
    CARD,
    MARK,
    NOTES,
    UNKNOWN_LICENSE,
    CardContent,
    LanguageResult,
    MeanScore,
)


def content_of_card(text: str) -> CardContent:
    """What a card says besides the model's own facts; examples are not read. A card that metacross
    did not write says nothing.
    """
    if not written_by_metacross(text):
        return CardContent()
    values = front_matter_of(text)
    license_ = _text(values.get("license"))
    datasets = values.get("datasets")
    return CardContent(
        license=None if license_ == UNKNOWN_LICENSE else license_,
        source_license=_text(values.get("source_license")),
        datasets=tuple(map(str, datasets)) if isinstance(datasets, list) else (),
        results=_results(values),
        notes=text.partition(NOTES)[2].strip("\n"),
    )


def front_matter_of(text: str) -> dict[str, Any]:
    """The values between the first two lines of three dashes; empty if there are none."""
    start, _, rest = text.partition("---\n")
    if start.strip():
        return {}
    try:
        values = yaml.safe_load(rest.partition("\n---")[0])
    except yaml.YAMLError as problem:
        reason = " ".join(str(problem).split())[:200]
        raise ModelError(f"{CARD}: the front matter cannot be parsed: {reason}") from None
    return values if isinstance(values, dict) else {}


def written_by_metacross(text: str) -> bool:
    """Whether a card was written by metacross, so that it may be written again."""
    return MARK in text


def card_of_folder(folder: str | Path) -> str | None:
    """The text of a folder's card; None if it has none."""
    path = Path(folder) / CARD
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as problem:
        raise ModelError(f"{path}: cannot be read: {problem}") from None


def _results(values: dict[str, Any]) -> tuple[LanguageResult, ...]:
    try:
        return tuple(_target_results(values))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ModelError(
            f"{CARD}: expected the results in model-index as metacross writes them, found others; "
            "remove model-index and write the card again with --results"
        ) from None


def _target_results(values: dict[str, Any]) -> Iterator[LanguageResult]:
    """The results on targets; those that a user added for other data are left out."""
    for entry in values.get("model-index") or ():
        for result in entry.get("results") or ():
            if ((result.get("dataset") or {}).get("args") or {}).get("role") != "target":
                continue
            metrics = {metric["args"]["mode"]: metric for metric in result["metrics"]}
            plain, adapted = metrics["plain"], metrics.get("adapted")
            yield LanguageResult(
                target=result["dataset"]["name"],
                digest=result["dataset"]["args"]["digest"],
                seeds=tuple(plain["args"]["seeds"]),
                plain=_score(plain),
                adapted=_score(adapted) if adapted else None,
                p_value=adapted["args"].get("p_value") if adapted else None,
            )


def _score(metric: dict[str, Any]) -> MeanScore:
    return MeanScore(float(metric["value"]), metric["args"].get("deviation"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
