"""The published tables are those of the published results."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"


def test_the_tables_are_made_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.tables import as_markdown

    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8") == as_markdown(results)


def test_ratios_are_taken_within_repeats(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.measuring import summary

    found = summary({"ours": [1.0, 2.0, 4.0], "other": [3.0, 4.0, 4.0]}, "ours")
    assert found["other"]["milliseconds"] == 4000
    assert found["other"]["times_ours"] == 2
    assert found["other"]["lowest_times_ours"] == 1
    assert found["other"]["highest_times_ours"] == pytest.approx(3)
