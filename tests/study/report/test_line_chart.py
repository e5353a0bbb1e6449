"""Where the lines of a chart are drawn."""

import itertools

import pytest

from metacross.study.report.blocks import Chart, Line
from metacross.study.report.line_chart import N_COLORS, layout, spread_out, ticks


def chart(*lines):
    return Chart("title", "caption", "description", "loss", lines)


def test_larger_values_are_drawn_higher():
    (line,) = layout(chart(Line("a", 0, ((0, 1.0), (10, 3.0))))).lines
    (first_x, first_y), (last_x, last_y) = line.places
    assert first_x < last_x
    assert first_y > last_y  # y grows downwards


def test_lines_keep_their_names_and_colors():
    lines = layout(chart(Line("a", 0, ((0, 1.0),)), Line("c", N_COLORS + 2, ((0, 2.0),)))).lines
    assert [(line.name, line.color) for line in lines] == [("a", 0), ("c", 2)]


def test_one_value_is_drawn_in_the_middle():
    drawing = layout(chart(Line("a", 0, ((5, 1.0),))))
    ((_, y),) = drawing.lines[0].places
    assert y == (drawing.top + drawing.bottom) / 2


def test_names_of_lines_stay_apart_and_in_the_picture():
    ends = {str(number): 250.0 + number for number in range(6)}
    places = sorted(spread_out(ends, gap=15.0, limit=256.0).values())
    assert all(b - a >= 15.0 - 1e-9 for a, b in itertools.pairwise(places))
    assert places[-1] <= 256.0


def test_ticks_are_round_and_within_the_range():
    assert ticks(0.13, 0.92) == pytest.approx([0.2, 0.4, 0.6, 0.8])
