"""New lines of a study of systems to compare with go into the files they belong to."""

import json

import pytest

from tools.docs.add_results import RESULTS, add_results

LINE = json.loads((RESULTS / "mini-baselines.jsonl").read_text("utf-8").splitlines()[0])


def line(key, *, fraction=0.0, sentences=4_000, baseline=True):
    digests = {k: v for k, v in LINE["digests"].items() if baseline or k != "baseline"}
    recipe = {**LINE["recipe"], "distillation": {"sentences": sentences}}
    changed = {"key": key, "fraction": fraction, "digests": digests, "recipe": recipe}
    return json.dumps({**LINE, **changed}) + "\n"


@pytest.mark.parametrize(
    ("new", "file"),
    [
        (line("a"), "mini-baselines.jsonl"),
        (line("a", sentences=10_000), "mini-all-raw-text.jsonl"),
        (line("a", fraction=0.01), "mini-low-resource-baselines.jsonl"),
        (line("a", fraction=0.01, baseline=False), "mini-low-resource-baselines.jsonl"),
    ],
)
def test_a_new_line_goes_into_the_file_of_its_study(new, file, tmp_path):
    study_lines = tmp_path / "study" / "results.jsonl"
    study_lines.parent.mkdir()
    study_lines.write_text(new + new, "utf-8")
    assert add_results(study_lines, tmp_path) == {file: 1}
    assert (tmp_path / file).read_text("utf-8") == new


def test_lines_that_are_known_or_of_other_studies_are_left_out(tmp_path):
    study_lines = tmp_path / "study" / "results.jsonl"
    study_lines.parent.mkdir()
    study_lines.write_text(line("a") + line("b", baseline=False) + line("c"), "utf-8")
    known = line("a", sentences=10_000)
    (tmp_path / "mini-all-raw-text.jsonl").write_text(known, "utf-8")
    assert add_results(study_lines, tmp_path) == {"mini-baselines.jsonl": 1}
    assert (tmp_path / "mini-all-raw-text.jsonl").read_text("utf-8") == known
    assert (tmp_path / "mini-baselines.jsonl").read_text("utf-8") == line("c")
