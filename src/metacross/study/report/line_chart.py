"""Draws lines as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_HEIGHT = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 460, 14, 44  # where the lines may lie; names stand at the right
_LABEL_GAP = 15.0
_LETTER_WIDTH = 7.6
N_COLORS = 8

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places of the picture: ``low`` lies at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where a value lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def line_chart(
    title: str,
    description: str,
    lines: Mapping[str, Points],
    value_name: str,
    colors: Mapping[str, int],
) -> str:
    """A picture of values by step, a line for each name; lines have at least one point."""
    steps = [step for points in lines.values() for step, _ in points]
    values = [value for points in lines.values() for _, value in points]
    across = _axis(min(0.0, *steps), max(steps), _LEFT, _RIGHT)
    up = _axis(min(values), max(values), _HEIGHT - _BOTTOM, _TOP)
    ends = {name: up.place(points[-1][1]) for name, points in lines.items()}
    label_places = apart(ends, _LABEL_GAP)
    drawn = [
        _line(colors[name], name, points, (across, up), label_places[name])
        for name, points in lines.items()
    ]
    width = _RIGHT + 20 + _LETTER_WIDTH * max(map(len, lines))
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:.0f} {_HEIGHT}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f"{_grid(across, up, value_name)}{''.join(drawn)}</svg>"
    )


def apart(places: Mapping[str, float], gap: float) -> dict[str, float]:
    """The places in their order, moved down where they would be nearer than ``gap``, and all of
    them up again where that would leave the picture.

    >>> apart({"a": 10.0, "b": 12.0, "c": 90.0}, 15.0)
    {'a': 10.0, 'b': 25.0, 'c': 90.0}
    """
    moved: dict[str, float] = {}
    lowest = -math.inf
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        lowest = max(place, lowest + gap)
        moved[name] = lowest
    limit = float(_HEIGHT - _BOTTOM)
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


def _axis(low: float, high: float, start: float, end: float) -> Axis:
    """Equal values lie in the middle."""
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    return Axis(low, high, start, end)


def _grid(across: Axis, up: Axis, value_name: str) -> str:
    parts = []
    for value in ticks(up.low, up.high):
        y = up.place(value)
        parts.append(
            f'<line class="rule" x1="{_LEFT}" x2="{across.end:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    for step in ticks(across.low, across.high):
        parts.append(
            f'<text x="{across.place(step):.1f}" y="{_HEIGHT - _BOTTOM + 18}" '
            f'text-anchor="middle">{step:g}</text>'
        )
    middle = (across.start + across.end) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">step</text>')
    parts.append(
        f'<text transform="translate(11 {(up.start + up.end) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(value_name)}</text>'
    )
    return "".join(parts)


def _line(
    number: int, name: str, points: Points, axes: tuple[Axis, Axis], label_place: float
) -> str:
    across, up = axes
    places = [(across.place(step), up.place(value)) for step, value in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    side = across.end + 12
    return (
        f'<g class="line color-{number % N_COLORS}"><polyline points="{path}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        f'<path class="lead" d="M{x:.1f} {y:.1f}L{side:.0f} {label_place:.1f}"/>'
        f'<text x="{side + 3:.0f}" y="{label_place + 4:.1f}">{escape(name)}</text></g>'
    )
