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
        "left_out": 0,
    }


def test_convert_writes_the_language(run, write, tmp_path):
    run("convert", write("x.conll", TEXT), tmp_path / "y.jsonl", "--language", "es")
    assert {sentence.language for sentence in read_corpus(tmp_path / "y.jsonl")} == {"es"}


def test_convert_writes_for_a_tool_and_reads_it_back(run, write, tmp_path):
    source = write("x.conll", TEXT)
    tasks, config = tmp_path / "tasks.json", tmp_path / "config.xml"
    outcome = run("convert", source, tasks, "--to", "label-studio", "--label-config", config)
    assert outcome.code == 0, outcome.err
    first = json.loads(tasks.read_text())[0]
    assert first["annotations"][0]["result"][0]["value"] == {
        "start": 0, "end": 7, "text": "Ginebra", "labels": ["LOC"],
    }  # fmt: skip
    assert '<Label value="PER"' in config.read_text()
    assert run("convert", tasks, tmp_path / "y.conll").code == 0
    assert read_corpus(tmp_path / "y.conll") == read_corpus(source)


def test_convert_says_what_it_left_out(run, write, tmp_path):
    write("doc.txt", "Ana vive en Lima")
    source = write("doc.ann", "T1\tPER 0 3\tAna\nT2\tLOC 0 3;12 16\tAna Lima\n")
    target = tmp_path / "y.conll"
    refused = run("convert", source, target)
    assert refused.code == 1
    assert "doc.ann:2: expected an entity in one piece" in refused.err
    outcome = run("convert", source, target, "--lossy")
    assert outcome.code == 0
    assert "1 annotations left out" in outcome.out
    assert "left out: " in outcome.err
    assert "doc.ann:2" in outcome.err


def test_convert_chooses_an_annotator(run, write, tmp_path):
    def annotation(person, label):
        value = {"start": 0, "end": 3, "text": "Ana", "labels": [label]}
        return {"completed_by": person, "result": [{"type": "labels", "value": value}]}

    task = {
        "id": 1,
        "data": {"text": "Ana"},
        "annotations": [annotation(1, "PER"), annotation(2, "LOC")],
    }
    source, target = write("x.json", json.dumps([task])), tmp_path / "y.conll"
    assert run("convert", source, target).code == 1
    assert run("convert", source, target, "--annotator", "2").code == 0
    assert target.read_text() == "Ana\tB-LOC\n\n"


def test_convert_to_conll_leaves_out_what_nobody_labeled_if_asked(run, write, tmp_path):
    texts = [{"text": "Ana ran .", "spans": [[0, 3, "PER"]]}, {"text": "Nobody looked ."}]
    source = write("x.jsonl", "\n".join(map(json.dumps, texts)))
    target = tmp_path / "y.conll"
    refused = run("convert", source, target)
    assert refused.code == 1
    (line,) = refused.err.splitlines()
    assert "x.jsonl:2: expected labels as in other sentences, found none" in line
    outcome = run("convert", source, target, "--lossy")
    assert outcome.code == 0, outcome.err
    assert "left out 1 sentences without labels" in outcome.err
    assert "1 sentences, 3 words, 1 entities" in outcome.out
    assert target.read_text() == "Ana\tB-PER\nran\tO\n.\tO\n\n"


def test_a_corpus_that_nobody_labeled_is_converted_to_words(run, write, tmp_path):
    source, target = write("x.txt", "Ana ran.\n"), tmp_path / "y.conll"
    assert run("convert", source, target, "--lossy").code == 0
    assert target.read_text() == "Ana\nran\n.\n\n"


def test_convert_writes_no_file_that_is_called_a_hyphen(run, write):
    outcome = run("convert", write("x.conll", TEXT), "-")
    assert outcome.code == 1
    assert outcome.err == "metacross: OUT: expected a file, found '-'\n"


def test_convert_says_which_encodings_have_to_be_converted_first(run, write, tmp_path):
    source = write("x.conll", TEXT.encode("utf-16"))
    for encoding, says in (("utf-16", "iconv -f utf-16 -t utf-8 FILE"), ("hex", "found 'hex'")):
        outcome = run("convert", source, tmp_path / "y.conll", "--encoding", encoding)
        assert outcome.code == 1
        assert says in outcome.err
