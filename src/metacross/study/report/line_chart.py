"""Computes where the lines, ticks and names of a chart are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from metacross.study.report.blocks import Chart

N_COLORS = 8
"""How many colors the style sheet defines for lines."""

_HEIGHT = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = (
    48,
    460,
    14,
    256,
)  # the area of the lines; their names are to its right
_NAME_GAP = 15.0
_LETTER_WIDTH = 7.6


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to coordinates: ``low`` to ``start`` and ``high`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Tick:
    """A labeled place on an axis."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line of a chart as (x, y) coordinates; ``name_place`` is the y of its name."""

    name: str
    color: int
    places: tuple[tuple[float, float], ...]
    name_place: float


@dataclass(frozen=True, slots=True)
class ChartLayout:
    """All coordinates of a chart; y grows downwards, as in SVG."""

    height: ClassVar[int] = _HEIGHT
    left: ClassVar[int] = _LEFT
    right: ClassVar[int] = _RIGHT
    top: ClassVar[int] = _TOP
    bottom: ClassVar[int] = _BOTTOM

    width: float
    value_ticks: tuple[Tick, ...]
    step_ticks: tuple[Tick, ...]
    lines: tuple[DrawnLine, ...]


def layout(chart: Chart) -> ChartLayout:
    """Place the lines of a chart; it has at least one line."""
    steps = [step for line in chart.lines for step, _ in line.points]
    values = [value for line in chart.lines for _, value in line.points]
    x_axis = _axis(min(0, *steps), max(steps), _LEFT, _RIGHT)
    y_axis = _axis(min(values), max(values), _BOTTOM, _TOP)
    line_ends = {line.name: y_axis.place(line.points[-1][1]) for line in chart.lines}
    name_places = spread_out(line_ends, gap=_NAME_GAP, limit=_BOTTOM)
    lines = [
        DrawnLine(
            name=line.name,
            color=line.color % N_COLORS,
            places=tuple((x_axis.place(step), y_axis.place(value)) for step, value in line.points),
            name_place=name_places[line.name],
        )
        for line in chart.lines
    ]
    return ChartLayout(
        width=_RIGHT + 20 + _LETTER_WIDTH * max(len(line.name) for line in chart.lines),
        value_ticks=_ticks_of(y_axis),
        step_ticks=_ticks_of(x_axis),
        lines=tuple(lines),
    )


def spread_out(places: Mapping[str, float], *, gap: float, limit: float) -> dict[str, float]:
    """Move places down until neighbors are at least ``gap`` apart, in the same order. Places that
    would pass ``limit`` are moved up again.

    >>> spread_out({"a": 10.0, "b": 12.0, "c": 90.0}, gap=15.0, limit=256.0)
    {'a': 10.0, 'b': 25.0, 'c': 90.0}
    """
    moved: dict[str, float] = {}
    lowest = -math.inf
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        lowest = max(place, lowest + gap)
        moved[name] = lowest
    for name, place in reversed(list(moved.items())):
        moved[name] = min(place, limit)
        limit = moved[name] - gap
    return moved


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round values from ``low`` to ``high``.

    >>> ticks(0.0, 600.0)
    [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0]
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    distance = min((power * n for n in (1, 2, 5, 10)), key=lambda step: abs(step - rough))
    first, last = math.ceil(low / distance - 1e-9), math.floor(high / distance + 1e-9)
    return [round(distance * number, 10) for number in range(first, last + 1)]


def _ticks_of(axis: Axis) -> tuple[Tick, ...]:
    return tuple(Tick(axis.place(value), f"{value:g}") for value in ticks(axis.low, axis.high))


def _axis(low: float, high: float, start: float, end: float) -> Axis:
    """Equal values are placed in the middle."""
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    return Axis(low, high, start, end)
