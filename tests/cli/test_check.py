"""The command ``check``, as a user runs it."""

import json

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
