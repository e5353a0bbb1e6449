"""The command ``check``, as a user runs it."""

import json
import shutil

import pytest

import metacross
import tiny
from metacross.model.model_card import CardContent, LanguageResult, MeanScore, card_text
from metacross.model.model_mark import describe_model
from metacross.study.results import StudyFolder
from metacross.text.writing import write_corpus

GOLD = "Ginebra B-LOC\n, O\n23 O\nmay O\n\nAna B-PER\nRuiz I-PER\nhabló O\n\n"


def test_check_shows_the_statistics_of_a_file(run, write):
    text = "-DOCSTART- O\n\n" + GOLD + "Ginebra B-LOC\n, O\n23 O\nmay O\n\nOdd I-ORG\n"
    outcome = run("check", write("x.conll", text))
    assert outcome.code == 0
    for line in (
        "sentences    4 in 1 documents",
        "words        12",
        "entities     4   LOC 2  ORG 1  PER 1",
        "tag scheme   IOB2, 1 tags repaired",
        "duplicates   1 sentences",
        "x.conll:17: I-ORG is not allowed here, read as B-ORG",
    ):
        assert line in outcome.out


def test_check_prints_the_same_statistics_as_json(run, write):
    path = write("x.conll", GOLD)
    files = json.loads(run("check", path, "--json").out)["files"]
    assert files == [
        {
            "file": str(path),
            "sentences": 2,
            "documents": 0,
            "words": 7,
            "labeled": True,
            "entities": 2,
            "entities_by_label": {"LOC": 1, "PER": 1},
            "scheme": "IOB2",
            "repairs": 0,
            "empty_sentences": 0,
            "longest_sentence": {"words": 4, "place": f"{path}:1"},
            "sentences_without_entities": 0,
            "duplicates": 0,
            "problems": [],
            "published": None,
        }
    ]


def test_check_shows_that_a_file_is_not_annotated(run, write):
    assert "entities    not annotated" in run("check", write("x.txt", "Hola .\n")).out


def test_check_shows_shared_sentences_and_different_labels(run, write):
    first = write("a.conll", GOLD)
    second = write("b.conll", GOLD.replace("PER", "person"))
    outcome = run("check", first, second)
    assert "2 sentences of the second are in the first" in outcome.out
    assert "only the first has PER; only the second has person" in outcome.out
    mapped = run("check", first, second, "--map", "person=PER", "--json")
    assert json.loads(mapped.out)["overlaps"] == [
        {
            "files": [str(first), str(second)],
            "shared_sentences": 2,
            "labels_only_in_first": [],
            "labels_only_in_second": [],
        }
    ]


def test_check_shows_the_good_files_and_the_error_of_the_bad_one(run, write):
    outcome = run("check", write("a.conll", GOLD), write("b.conll", "x y z\n"))
    assert outcome.code == 1
    assert "a.conll" in outcome.out
    assert "b.conll:1" in outcome.err


def test_check_compares_with_the_published_size_and_counts_document_starts(run, write):
    text = "-DOCSTART- O\n\n" + GOLD
    outcome = run("check", write("eng.train", text))
    assert "14,987 sentences (here -14,984), 23,499 entities (here -23,497)" in outcome.out
    assert "CoNLL-2003 en train" in " ".join(outcome.out.split())
    published = json.loads(run("check", write("eng.train", text), "--json").out)["files"][0]
    assert published["published"]["entities"] == 23_499


def test_check_with_a_model_shows_how_it_sees_raw_text(run, write, trained_folder):
    path = write("x.txt", "ana went to rome .\nbob saw oslo .\n")
    outcome = run("check", path, "--model", trained_folder)
    assert outcome.code == 0
    assert "entities    not annotated" in outcome.out
    (row,) = [
        line.split() for line in outcome.out.splitlines() if line.strip().startswith("x.txt ")
    ]
    assert row[:5] == ["x.txt", "2", "Latin", "1.00", "0.0"]
    assert "promise no F1" in outcome.out


def test_check_with_a_model_prints_json(run, write, trained_folder):
    raw = write("x.txt", "ana went to rome .\n" * 9)
    labeled = write("y.conll", "ana B-PER\nwent O\nto O\nrome B-LOC\n\n")
    outcome = run("check", raw, labeled, "--model", trained_folder, "--sentences", "4", "--json")
    languages = json.loads(outcome.out)["languages"]
    first, second = languages["texts"]
    assert (first["text"], first["sentences"], first["sentences_of_text"]) == (str(raw), 4, 9)
    assert first["f1"] is None
    assert 0 <= second["f1"] <= 1
    assert first["script"] == {"name": "Latin", "share": 1.0}
    assert languages["known_f1_only"] == {}
    assert json.loads(run("check", raw, "--json").out).keys() == {
        "files",
        "overlaps",
        "findings",
        "errors",
    }


def test_check_shows_the_known_f1_of_the_card(run, write, trained_folder, tmp_path):
    folder = tmp_path / "tiny"
    shutil.copytree(trained_folder, folder)
    result = LanguageResult("es", "", (1,), MeanScore(0.4, None), MeanScore(0.45, None), None)
    text = card_text(describe_model(folder), CardContent(results=(result,)), location="tiny")
    (folder / "README.md").write_text(text)
    path = write("x.txt", "ana went to rome .\n")
    outcome = run("check", path, "--model", folder)
    assert any(line.split() == ["es", "45.0"] for line in outcome.out.splitlines())
    assert json.loads(run("check", path, "--model", folder, "--json").out)["languages"][
        "known_f1_only"
    ] == {"es": 0.45}


def test_check_describes_the_corpora_of_a_study_beside_their_f1(run, write, encoders, tmp_path):
    for name, n_sentences, seed in (("en", 30, 0), ("dev", 12, 1), ("es", 20, 2)):
        write_corpus(tiny.corpus(n_sentences, seed), tmp_path / f"{name}.conll")
    study = tmp_path / "study"
    metacross.run_study(
        write("x.yaml", "title: One\nsystems: {ours: []}\nseeds: [1]\n"),
        encoder=encoders["bert"],
        set=tiny.FAST,
        source=tmp_path / "en.conll",
        dev=tmp_path / "dev.conll",
        targets={"es": tmp_path / "es.conll"},
        output=study,
    )
    (model,) = (study / "runs").iterdir()
    (result,) = StudyFolder(study).results()
    arguments = ["--model", model, "--results", study / "results.jsonl", "--json"]
    outcome = run("check", write("x.txt", "ana went to rome .\n"), *arguments)
    (known,) = json.loads(outcome.out)["languages"]["known"]
    assert known["text"] == "es"
    assert known["sentences"] == 20
    assert known["f1"] == pytest.approx(result.f1)
    assert 0 < known["similarity"] <= 1


def test_check_needs_a_model_for_results(run, write):
    outcome = run("check", write("x.txt", "ana .\n"), "--results", "x.jsonl")
    assert outcome.code == 1
    assert "--results: expected --model MODEL too" in outcome.err


def test_findings_have_levels_and_strict_turns_warnings_into_a_failure(run, write):
    names = "".join(f"Lima B-LOC\nsube O\nw{n} O\n\n" for n in range(25))
    path = write("x.conll", names + "Lima B-ORG\nbaja O\n")
    outcome = run("check", path)
    assert outcome.code == 0
    assert "warning: other type (1)" in outcome.out
    assert f"{path}:101: 'Lima' is ORG here and LOC 25 times" in outcome.out
    assert run("check", path, "--strict").code == 1
    findings = json.loads(run("check", path, "--json").out)["findings"]
    assert [(f["level"], f["kind"]) for f in findings] == [
        ("warning", "other type"),
        ("note", "rare type"),
    ]
    assert run("check", write("y.conll", names), "--strict").code == 0


def test_an_error_fails_without_strict(run, write):
    path = write("x.conll", "Li\x07ma B-LOC\n" * 20)
    outcome = run("check", path)
    assert outcome.code == 1
    assert "error: control character" in outcome.out


def test_check_with_a_model_lists_doubtful_labels(run, write, trained_folder):
    path = write("y.conll", "ana B-LOC\nwent O\nto O\nrome B-PER\n\n" * 3)
    outcome = run("check", path, "--model", trained_folder, "--json")
    assert outcome.code == 0, outcome.err
    doubtful = [f for f in json.loads(outcome.out)["findings"] if f["kind"] == "doubtful label"]
    assert doubtful
    assert doubtful[0]["place"].startswith(str(path))
    assert "the model finds" in doubtful[0]["message"]


def test_files_that_cannot_be_read_are_in_the_json_too(run, write):
    outcome = run("check", write("x.conll", GOLD), "nowhere.conll", "--json")
    assert outcome.code == 1
    (error,) = json.loads(outcome.out)["errors"]
    assert error.startswith("nowhere.conll: cannot be read")
