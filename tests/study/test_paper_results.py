"""The values that the paper reports."""

import pytest

from metacross.study.paper_results import paper_row


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("system", ["base", "ours"])
def test_the_paper_s_printed_averages_are_those_of_its_targets(fraction, system):
    row = paper_row(fraction, system)
    assert sum(row.f1s.values()) / 5 == pytest.approx(row.average, abs=0.0051)
    assert row.average_over(["zh", "fr", "de", "nl", "es"]) == row.average
    assert row.average_over(["es", "xx"]) is None


def test_a_system_that_is_not_in_the_paper_has_no_row():
    assert paper_row(0.0, "mine") is None
    assert paper_row(0.05, "without-masking") is None
