"""The commands check, convert and score, as a user runs them."""

import json
import subprocess
import sys

import pytest

from metacross.text.known_datasets import known_dataset
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence

GOLD = "Ginebra B-LOC\n, O\n23 O\nmay O\n\nAna B-PER\nRuiz I-PER\nhabló O\n\n"
RIGHT = GOLD
WRONG = GOLD.replace("I-PER", "O")


def test_check_tells_what_is_in_a_file(run, write):
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


def test_check_as_json_holds_the_same(run, write):
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


def test_check_finds_overlap_and_types_that_disagree(run, write):
    first = write("a.conll", GOLD)
    second = write("b.conll", GOLD.replace("PER", "person"))
    outcome = run("check", first, second)
    assert "2 sentences of the second stand in the first" in outcome.out
    assert "only the first has PER; only the second has person" in outcome.out
    mapped = run("check", first, second, "--map", "person=PER", "--json")
    assert json.loads(mapped.out)["pairs"][0]["types_only_in_second"] == []


def test_check_shows_the_good_files_and_says_what_is_wrong_with_the_bad(run, write):
    outcome = run("check", write("a.conll", GOLD), write("b.conll", "x y z\n"))
    assert outcome.code == 1
    assert "a.conll" in outcome.out
    assert "b.conll:1" in outcome.err


@pytest.mark.parametrize(
    ("name", "sentences", "entities"),
    [
        ("eng.train", 14_987, 23_499),
        ("conll2003/de/test.txt", 3_160, 3_673),
        ("esp.testa", 1_915, 4_351),
        ("CoNLL-2002/nl/dev.txt", 2_895, 2_616),
        ("data/europeana/fr/train.txt", 9_527, 7_899),
        ("msra/test.txt", 4_361, 5_478),
    ],
)
def test_known_data_sets_are_known_by_name(name, sentences, entities):
    published = known_dataset(Corpus((Sentence(("x",), ()),), source=f"/home/me/{name}"))
    assert (published.sentences, published.entities) == (sentences, entities)


@pytest.mark.parametrize("name", ["train.txt", "en/dev.conll", "wikiann/es/test.txt"])
def test_other_files_are_not_taken_for_known_ones(name):
    assert known_dataset(Corpus((Sentence(("x",), ()),), source=name)) is None


def test_published_counts_are_shown_beside_and_document_starts_count(run, write):
    text = "-DOCSTART- O\n\n" + GOLD
    outcome = run("check", write("eng.train", text))
    assert "14,987 sentences (here -14,984), 23,499 entities (here -23,497)" in outcome.out
    assert "CoNLL-2003 en train" in " ".join(outcome.out.split())


def test_convert_changes_format_scheme_and_types(run, write, tmp_path):
    source = write("x.conll", GOLD)
    outcome = run("convert", source, tmp_path / "y.txt", "--scheme", "BIOES", "--drop", "PER")
    assert outcome.code == 0
    assert "2 sentences, 7 words, 1 entities" in outcome.out
    assert (tmp_path / "y.txt").read_text().startswith("Ginebra\tS-LOC\n,\tO\n")
    assert run("convert", tmp_path / "y.txt", tmp_path / "z.jsonl", "--json").code == 0
    assert read_corpus(tmp_path / "z.jsonl") == read_corpus(source).relabeled({"PER": None})


def test_score_prints_the_table_and_the_interval(run, write):
    outcome = run("score", write("gold.conll", GOLD), write("wrong.conll", WRONG))
    assert outcome.code == 0
    assert "all (micro)" in outcome.out
    assert "50.00" in outcome.out
    assert "95% confidence" in outcome.out


def test_score_against_another_system_tells_the_significance(run, write):
    gold, right, wrong = write("g", GOLD), write("r", RIGHT), write("w", WRONG)
    result = json.loads(run("score", gold, right, "--against", wrong, "--json").out)
    assert result["systems"][str(right)]["overall"]["f1"] == 1.0
    assert result["comparison"]["difference"] == 0.5
    assert result["comparison"]["significant"] is False
    assert "not significant" in run("score", gold, right, "--against", wrong).out


def test_score_can_speak_as_conlleval(run, write):
    outcome = run("score", write("g", GOLD), write("w", WRONG), "--conlleval")
    assert outcome.out.startswith(
        "processed 7 tokens with 2 phrases; found: 2 phrases; correct: 1."
    )


def test_score_refuses_files_that_do_not_line_up(run, write):
    other = write("other.conll", GOLD.replace("habló", "calló"))
    outcome = run("score", write("gold.conll", GOLD), other)
    assert outcome.code == 1
    assert "other.conll:6: sentence 2 differs from" in outcome.err
    assert "expected word 3 to be 'habló', found 'calló'" in outcome.err


def test_the_command_runs_as_a_program(write):
    command = [sys.executable, "-m", "metacross", "check", str(write("x.conll", GOLD))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "sentences" in done.stdout


def test_help_and_version(run):
    assert "check" in run("--help").out
    assert run("--version").out.startswith("metacross ")
