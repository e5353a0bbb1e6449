"""What comes of a part, as a worker reports it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metacross.errors import MetacrossError
from metacross.serving.bulk.output_folder import Receipt
from metacross.serving.bulk.part_labeling import PartLabeler
from metacross.text.input_parts import InputPart


@dataclass(frozen=True, slots=True)
class PartResult:
    """The outcome of a part: one of ``receipt``, ``refusal`` and ``failure`` is given.

    ``refusal`` is an error that the user has to correct. ``failure`` is one that may not come
    again, such as a lack of memory. ``fallback`` says why the textbook loop adapted; None: it did
    not.
    """

    part: int
    receipt: Receipt | None = None
    refusal: str | None = None
    failure: str | None = None
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The fraction of a part that is labeled."""

    part: int
    fraction: float


def labeled_part(
    labeler: PartLabeler, part: InputPart, progress: Callable[[float], None]
) -> PartResult:
    """Label a part."""
    try:
        receipt = labeler.label(part, progress)
    except MetacrossError as error:
        return PartResult(part.number, refusal=f"part {part.number}: {error}")
    except (RuntimeError, MemoryError) as error:  # of torch: no memory, a device that is gone
        reason = (str(error).strip().splitlines() or [""])[0]
        return PartResult(part.number, failure=f"{type(error).__name__}: {reason}")
    return PartResult(part.number, receipt, fallback=labeler.fallback_reason)
