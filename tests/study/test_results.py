"""Results on disk."""

import shutil
from pathlib import Path

import pytest

from metacross.errors import DataError
from metacross.settings import Settings
from metacross.study.report import write_report
from metacross.study.results import Result, StoredSentence, StudyFolder

LINES = (Path(__file__).parent.parent / "fixtures" / "results-0.1.jsonl").read_text().splitlines()


@pytest.fixture
def folder(tmp_path):
    """A study folder with the results of version 0.1."""
    (tmp_path / "results.jsonl").write_text("".join(f"{line}\n" for line in LINES))
    return StudyFolder(tmp_path)


def result_like(line, key):
    return Result.model_validate_json(line).model_copy(update={"key": key})


def test_results_of_version_0_1_are_read(folder):
    base, fine_tuned, ours = folder.results()
    assert (base.system, base.target, base.seed, base.fraction) == ("base", "es", 1, 0.0)
    assert fine_tuned.fraction == 0.01
    assert ours.reported_mode == "adapted"
    assert {*ours.counts} == {"plain", "adapted"}
    assert 0 < ours.f1 < 1
    assert Settings.model_validate(ours.recipe).encoder.name == "mini"
    assert write_report(folder, "Old results").exists()


def test_a_result_can_lack_optional_fields():
    minimal = Result.model_validate_json(LINES[0]).model_dump(
        exclude={"versions": True, "machine": True, "training": {"losses", "target_validations"}}
    )
    result = Result.model_validate(minimal)
    assert (result.versions, result.machine, result.training.losses) == ({}, "", ())


def test_adding_a_result_only_appends_to_the_results_file(folder, monkeypatch):
    before = folder.results_file.read_bytes()
    inode = folder.results_file.stat().st_ino
    monkeypatch.setattr(StudyFolder, "results", None)  # not even read
    folder.add(result_like(LINES[0], "new"), [])
    assert folder.results_file.read_bytes().startswith(before)
    assert folder.results_file.read_bytes().count(b"\n") == len(LINES) + 1
    assert folder.results_file.stat().st_ino == inode


def test_a_cut_off_last_line_is_ignored_and_its_own_file_has_the_result(folder):
    folder.add(result_like(LINES[0], "killed"), [])
    text = folder.results_file.read_text()
    folder.results_file.write_text(text[:-40])
    assert [result.key for result in folder.results()][-1] == "killed"
    folder.add(result_like(LINES[0], "next"), [])
    assert {result.key for result in folder.results()} >= {"killed", "next"}
    folder.arrange(["next", "killed"])
    assert [result.key for result in folder.results()][-2:] == ["next", "killed"]
    assert folder.results_file.read_text().count("\n") == len(LINES) + 2


def test_a_last_line_without_a_line_break_is_kept(folder):
    folder.results_file.write_text(folder.results_file.read_text().rstrip("\n"))
    folder.add(result_like(LINES[0], "new"), [])
    assert len(folder.results()) == len(LINES) + 1


def test_a_damaged_line_is_an_error_with_its_place(folder):
    with folder.results_file.open("a") as file:
        file.write('{"key": 1}\n')
    with pytest.raises(DataError, match=r"results\.jsonl:4: expected a result of a study"):
        folder.results()


def test_a_result_file_alone_is_done(folder):
    folder.add(result_like(LINES[0], "new"), [StoredSentence({"plain": ()}, ())])
    folder.results_file.unlink()
    assert folder.done() == {"new"}
    shutil.rmtree(folder.folder / "results")
    assert folder.done() == set()
