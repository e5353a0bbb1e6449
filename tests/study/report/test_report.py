"""The complete report: its Markdown, and what it says when results are missing."""

import random
import re

import pytest

from made_up_study import (
    digest_of,
    gold_corpus,
    made_up_predictions,
    made_up_study,
    result_of,
)
from metacross.errors import DataError
from metacross.study.report import write_report
from metacross.study.report.score_tables import score_table
from metacross.study.results import StudyFolder
from metacross.study.statistics import ResultsGrid


def test_the_markdown_has_the_tables(tmp_path):
    study = made_up_study(tmp_path)
    write_report(study, "A study")
    text = (tmp_path / "report.md").read_text()
    assert text.startswith("# A study\n")
    row = next(
        r for r in score_table(ResultsGrid.of(study.results()), 0.02).rows if r.name == "ours"
    )
    assert "| ours | " + " | ".join(entry.full_text for entry in row.entries) + " |" in text
    assert "<td" not in text
    tables = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
        assert len(widths) == 1


def test_without_predictions_the_report_says_what_it_lacks(tmp_path):
    page = write_report(made_up_study(tmp_path, store_predictions=False), "t").read_text()
    assert page.count("No predictions are stored") == 1
    assert 'id="cases"' not in page
    assert 'id="neighbors"' not in page
    assert "n.s." not in page


def test_missing_results_are_counted_and_shown_as_dashes(tmp_path):
    missing = [(0.0, "ours", "es", seed) for seed in (0, 1)]
    missing += [(0.02, "base", target, seed) for target in ("es", "zh") for seed in (0, 1)]
    study = made_up_study(tmp_path, exclude=missing)
    page = write_report(study, "t").read_text()
    assert "Missing: 2 of 20 results" in page
    assert "Difference to base in points of F1, zero-shot" in page
    assert "Difference to base in points of F1, 2%" not in page
    assert "<td>–</td>" in page


def test_without_base_the_first_system_is_the_baseline(tmp_path):
    missing = [(f, "base", t, s) for f in (0.0, 0.02) for t in ("es", "zh") for s in (0, 1)]
    page = write_report(made_up_study(tmp_path, exclude=missing), "t").read_text()
    assert "Difference to ours in points of F1" in page
    assert "Difference to base" not in page


def test_systems_that_share_a_training_run_are_named(tmp_path):
    gold = gold_corpus("es")
    study = StudyFolder(tmp_path)
    for system, qualities in {
        "base": {"plain": 0.5},
        "ours": {"plain": 0.5, "adapted": 0.6},
    }.items():
        predictions = made_up_predictions(gold, qualities, random.Random(0))
        study.add(result_of(gold, predictions, system=system), predictions)
    assert "base and ours share one training run." in write_report(study, "t").read_text()


def test_base_alone_makes_a_report(tmp_path):
    gold = gold_corpus("es")
    predictions = made_up_predictions(gold, {"plain": 0.5}, random.Random(0))
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    study.add(result_of(gold, predictions, system="base"), predictions)
    page = write_report(study, "t").read_text()
    assert "No system was evaluated both with and without adaptation." in page
    assert "No system adapts." in page
    assert "The case study needs base and another system that adapts." in page


def test_the_study_is_shown_where_it_is_stored(tmp_path):
    study = made_up_study(tmp_path)
    assert "metacross experiment study.yaml" not in write_report(study, "t").read_text()
    study.study.write_text("title: A & B\n")
    page = write_report(study, "t").read_text()
    assert "metacross experiment study.yaml" in page
    assert "title: A &amp; B" in page


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(DataError, match="expected results of a study, found none"):
        write_report(StudyFolder(tmp_path), "t")
    assert list(tmp_path.iterdir()) == []


def test_the_same_results_make_the_same_report(tmp_path):
    study = made_up_study(tmp_path)
    assert write_report(study, "t").read_bytes() == write_report(study, "t").read_bytes()
    assert not list(tmp_path.glob(".*"))
