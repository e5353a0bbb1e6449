"""The command ``convert``, as a user runs it."""

import json

from metacross.text.reading import read_corpus

TEXT = "Ginebra B-LOC\n, O\n23 O\nmay O\n\nAna B-PER\nRuiz I-PER\nhabló O\n\n"


def test_convert_changes_format_scheme_and_labels(run, write, tmp_path):
    source = write("x.conll", TEXT)
    outcome = run("convert", source, tmp_path / "y.txt", "--scheme", "BIOES", "--drop", "PER")
    assert outcome.code == 0
    assert "2 sentences, 7 words, 1 entities" in outcome.out
    assert (tmp_path / "y.txt").read_text().startswith("Ginebra\tS-LOC\n,\tO\n")
    assert run("convert", tmp_path / "y.txt", tmp_path / "z.jsonl").code == 0
    assert read_corpus(tmp_path / "z.jsonl") == read_corpus(source).relabeled({"PER": None})


def test_convert_uses_every_read_option(run, write, tmp_path):
    text = "# id 1\n1 Málaga B-place x\n2 mayo B-date x\n"
    source = write("x.data", text.encode("latin-1"))
    outcome = run(
        "convert", source, tmp_path / "y.conll", "--format", "conll", "--encoding", "latin-1",
        "--word-column", "1", "--tag-column", "-2", "--comments", "--map", "place=LOC",
        "--drop", "date",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "y.conll").read_text() == "Málaga\tB-LOC\nmayo\tO\n\n"


def test_convert_names_numbered_tags(run, write, tmp_path):
    source = write("x.jsonl", json.dumps({"tokens": ["Ana", "Ruiz"], "ner_tags": [1, 2]}))
    target = tmp_path / "y.conll"
    assert run("convert", source, target, "--tag-names", "O, B-PER, I-PER").code == 0
    assert target.read_text() == "Ana\tB-PER\nRuiz\tI-PER\n\n"


def test_convert_counts_repaired_tags(run, write, tmp_path):
    source = write("x.conll", TEXT + "Odd I-ORG\n")
    assert "3 entities, 1 tags repaired" in run("convert", source, tmp_path / "y.conll").out
    outcome = run("convert", source, tmp_path / "y.conll", "--json")
    assert json.loads(outcome.out) == {
        "file": str(tmp_path / "y.conll"),
        "sentences": 3,
        "words": 8,
        "entities": 3,
        "repairs": 1,
    }


def test_convert_writes_the_language(run, write, tmp_path):
    run("convert", write("x.conll", TEXT), tmp_path / "y.jsonl", "--language", "es")
    assert {sentence.language for sentence in read_corpus(tmp_path / "y.jsonl")} == {"es"}
