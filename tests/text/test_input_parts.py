"""Files of any size are divided into parts and read part by part."""

import json
import tracemalloc

import pyarrow.parquet
import pytest

from metacross.errors import DataError, SettingsError
from metacross.text.formats import BulkFormat
from metacross.text.input_parts import InputOptions, plan_parts
from metacross.text.part_reading import read_part
from metacross.text.reading import read_corpus


def sentences_of(sources, *, size, **options):
    plan = plan_parts(list(map(str, sources)), InputOptions(**options), size=size)
    return plan, [list(read_part(part)) for part in plan.parts]


def test_parts_of_a_text_are_its_lines_in_order(write):
    path = write("a.txt", "\ufeffAna slept. Tom ran.\n\nBern\r\nEva")
    plan, parts = sentences_of([path], size=2)
    words = [[sentence.words for sentence in part] for part in parts]
    assert words == [[("Ana", "slept", "."), ("Tom", "ran", ".")], [("Bern",), ("Eva",)]]
    origins = [(s.origin.line, s.origin.start) for part in parts for s in part]
    assert origins == [(1, 0), (1, 11), (3, 0), (4, 0)]
    assert [part.place for part in plan.parts] == [
        f"part 0 ({path}:1 to {path}:2)",
        f"part 1 ({path}:3 to {path}:4)",
    ]
    assert plan.inputs[0].lines == 4


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.conll", "-DOCSTART- O\n\nAna B-PER\nran O\n\n\nBern B-LOC\n\nTom B-PER"),
        ("a.conll", "Ana\tB-PER\r\nran\tO\r\n\r\nBern\tB-LOC\r\n"),
        ("a.iob2", "# id = 1\n1\tAna\tB-PER\n2\tran\tO\n\n1\tBern\tB-LOC\n\n1\tTom\tB-PER\n\n"),
        (
            "a.conllu",
            "# text = Ana ran\n1\tAna\t_\t_\t_\t_\t_\t_\t_\tNE=PER_1\n"
            "2\tran\t_\t_\t_\t_\t_\t_\t_\t_\n\n# text = Bern\n1\tBern\t_\t_\t_\t_\t_\t_\t_\t_\n",
        ),
        ("a.txt", "Ana ran. She fell.\nBern\n"),
        ("a.jsonl", '{"tokens": ["Ana"], "tags": ["B-PER"]}\n\n{"tokens": ["Bern", "."]}\n'),
    ],
)
def test_the_parts_together_are_what_read_corpus_reads(write, name, content, size):
    path = write(name, content)
    _, parts = sentences_of([path], size=size, language="en")
    found = [(s.words, s.origin.line, s.layout) for part in parts for s in part]
    expected = read_corpus(path, language="en")
    assert found == [(s.words, s.origin.line, s.layout) for s in expected]


def test_a_part_can_have_lines_of_several_files_of_a_folder(write, tmp_path):
    write("in/b.txt", "Tom\nEva\nIvo\n")
    write("in/sub/c.jsonl", '{"text": "Lea"}\n')
    write("in/a.txt", "Ana\n")
    write("in/.hidden", "nothing")
    plan, parts = sentences_of([tmp_path / "in"], size=2)
    assert [[s.words[0] for s in part] for part in parts] == [
        ["Ana", "Tom"],
        ["Eva", "Ivo"],
        ["Lea"],
    ]
    assert [source.format for source in plan.inputs] == [
        BulkFormat.TEXT,
        BulkFormat.TEXT,
        BulkFormat.JSONL,
    ]


def test_a_document_in_json_is_split_into_sentences_and_keeps_its_language(write):
    record = {"id": 7, "body": "Ana slept. Tom ran.", "language": "en", "label": [[0, 3, "PER"]]}
    path = write("a.jsonl", json.dumps(record) + "\n" + json.dumps({"body": None}) + "\n")
    _, (sentences,) = sentences_of([path], size=10, column="body")
    assert [(s.words[0], s.origin.start, s.language, s.spans) for s in sentences] == [
        ("Ana", 0, "en", None),
        ("Tom", 11, "en", None),
    ]


def test_rows_of_parquet_are_read_from_any_row_on(tmp_path):
    rows = [{"tokens": [f"w{n}", "."]} for n in range(50)]
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=9)
    plan, parts = sentences_of([tmp_path / "a.parquet"], size=7)
    assert len(parts) == 8
    assert [s.words[0] for part in parts for s in part] == [f"w{n}" for n in range(50)]
    assert [s.origin.line for s in parts[7]] == [50]
    assert plan.inputs[0].lines == 50


@pytest.mark.parametrize("changed", ["Tom\nEvo\nAna\n", "Tom\n", ""])
def test_lines_that_changed_after_planning_are_refused(write, changed):
    path = write("a.txt", "Tom\nEva\nAna\n")
    plan = plan_parts([str(path)], InputOptions(), size=2)
    path.write_text(changed)
    with pytest.raises(DataError, match=r"a\.txt:\d: expected the lines that were there"):
        [sentence for part in plan.parts for sentence in read_part(part)]


def test_rows_that_changed_after_planning_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["Ana", "Tom"]}), path)
    plan = plan_parts([str(path)], InputOptions(), size=2)
    pyarrow.parquet.write_table(pyarrow.table({"text": ["Ana", "Eva"]}), path)
    with pytest.raises(DataError, match=r"a\.parquet:1: expected the lines that were there"):
        list(read_part(plan.parts[0]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '[{"text": "Ana"}]', "expected one JSON object per line, found a list"),
        ("a.ann", "T1\tPER 0 3\tAna", "expected text, JSON lines, CoNLL or Parquet, found brat"),
        ("a.parquet", "PAR?", "cannot be read as Parquet"),
        ("a.txt", b"Ana\n\x00\x01\n", "found a NUL byte"),
        ("a.txt", b"x" * 4_000_001, "found a line of over 4,000,000 bytes"),
        ("a.conll", b"Ana B-PER\n" * 400_001, "found a sentence of over 4,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_divided_is_named(write, name, content, message):
    path = write(name, content)
    with pytest.raises(DataError, match=message) as refused:
        sentences_of([path], size=10)
    assert str(refused.value).startswith(str(path))


def test_a_column_that_is_not_there_is_named(write, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"body": ["Ana"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"found body; name the column of the text: --column NAME"):
        sentences_of([tmp_path / "a.parquet"], size=10)
    path = write("a.jsonl", '{"body": "Ana"}\n')
    with pytest.raises(DataError, match=r"found 'body'; name the key of the text: --column NAME"):
        sentences_of([path], size=10)


def test_the_standard_input_is_refused():
    with pytest.raises(SettingsError, match="to read a stream, use predict"):
        plan_parts(["-"], InputOptions(), size=10)


def test_long_lines_make_smaller_parts(write):
    path = write("a.txt", ("x" * 999_999 + "\n") * 10)
    plan = plan_parts([str(path)], InputOptions(), size=1_000)
    assert [part.n_units for part in plan.parts] == [4, 4, 2]


def test_a_large_file_is_never_in_memory(write):
    line = "Ana went from Rome to Oslo, and Tom saw the rain in the old town of Bern. " * 5 + "\n"
    path = write("a.txt", line * 16_000)
    n_bytes = path.stat().st_size
    assert n_bytes > 5_000_000
    tracemalloc.start()
    try:
        plan = plan_parts([str(path)], InputOptions(), size=500)
        assert sum(1 for _ in read_part(plan.parts[-1])) > 500
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(plan.parts) == 32
    assert peak < n_bytes / 2
