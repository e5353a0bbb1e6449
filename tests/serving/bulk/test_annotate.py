"""Annotating files in parts: what is written, what is resumed and what is refused."""

import json
import os
import resource
import shutil
import socketserver
import threading
from pathlib import Path

import pyarrow.parquet
import pytest

import metacross
from bulk_runs import contents, made_lines, records
from metacross.adaptation.gradient_recorder import GradientRecorder
from metacross.adaptation.prediction_records import prediction_record
from metacross.errors import DataError, RunError, SettingsError
from metacross.model.model_digest import model_digest
from metacross.serving.bulk.annotate import AnnotateOptions, annotate
from metacross.serving.bulk.output_folder import OutputFolder
from metacross.text.formats import BulkOutput
from metacross.text.input_parts import InputOptions
from metacross.text.sentence import Sentence
from metacross.text.writing import conll_lines

pytestmark = pytest.mark.usefixtures("in_this_process")

SMALL = AnnotateOptions(part=20, device="cpu")


def rows_of(folder):
    return [
        row
        for path in sorted(folder.glob("part-*.parquet"))
        for row in pyarrow.parquet.read_table(path).to_pylist()
    ]


def test_a_part_has_the_records_of_predict_in_the_order_of_the_input(
    trained_folder, text_file, tmp_path
):
    annotated = annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)
    assert (annotated.parts, annotated.resumed, annotated.sentences) == (3, 0, 60)
    found = records(tmp_path / "out")
    assert [record.pop("source") for record in found] == [
        f"{text_file}:{number}" for number in range(1, 61)
    ]
    sentences = list(metacross.read_corpus(text_file))
    expected = []
    for start in (0, 20, 40):
        model = metacross.load(trained_folder, device="cpu")
        expected += map(prediction_record, model.predict_stream(sentences[start : start + 20]))
    assert found == json.loads(json.dumps(expected))
    assert any(record["spans"] for record in found)
    assert all(record["neighbors"] for record in found)


def test_a_part_has_the_same_bytes_whatever_was_labeled_before(trained_folder, text_file, tmp_path):
    annotate(str(trained_folder), [str(text_file)], tmp_path / "all", options=SMALL)
    shutil.copytree(tmp_path / "all", tmp_path / "last")
    (tmp_path / "last" / "part-00002.jsonl").unlink()
    annotated = annotate(str(trained_folder), [str(text_file)], tmp_path / "last", options=SMALL)
    assert annotated.resumed == 2
    assert contents(tmp_path / "last") == contents(tmp_path / "all")


def test_cleared_recordings_give_the_bits_of_a_new_model(trained_folder, monkeypatch):
    """Bits depend on which sentences are recorded together, on some processors."""
    recorded: list[list[int]] = []
    record = GradientRecorder.record

    def recording(self, examples, **options):
        if len(examples) > 1:  # a new model records one sentence first, to know its layers
            recorded.append([example.n_pieces for example in examples])
        return record(self, examples, **options)

    def labeled(lines):
        recorded.clear()
        predictions = model.predict_stream(lines, adapt=True)
        return [prediction.probabilities.tobytes() for prediction in predictions], [*recorded]

    monkeypatch.setattr(GradientRecorder, "record", recording)
    model = metacross.load(trained_folder, device="cpu")
    lines = made_lines(40)
    first = labeled(lines[:20])
    labeled(lines[20:23])
    model.clear_gradient_cache()
    assert labeled(lines[:20]) == first
    model.clear_gradient_cache()
    labeled(lines[20:23])
    assert labeled(lines[:20])[1] != first[1]  # what the cache would do


@pytest.mark.slow
def test_text_json_lines_conll_and_parquet_give_the_same_entities(
    trained_folder, write, text_file, tmp_path
):
    lines = made_lines(60)
    table = pyarrow.table({"id": range(60), "body": lines})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    sentences = [Sentence(tuple(line.split())) for line in lines]
    sources = {
        "text": (text_file, None),
        "jsonl": (write("in.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in lines)), None),
        "conll": (write("in.conll", "".join(map(conll_lines, sentences))), None),
        "parquet": (tmp_path / "in.parquet", "body"),
    }
    found = {}
    for name, (source, column) in sources.items():
        output = tmp_path / name
        inputs = InputOptions(column=column)
        annotate(str(trained_folder), [str(source)], output, options=SMALL, inputs=inputs)
        found[name] = [
            (r["tokens"], r["spans"], r["neighbors"], r["source"].rpartition(":")[2])
            for r in records(output)
        ]
    by_line = {name: [entry[:3] for entry in entries] for name, entries in found.items()}
    assert len(found["text"]) == 60
    assert by_line["jsonl"] == by_line["text"]
    assert by_line["conll"] == by_line["text"]
    assert found["parquet"] == found["jsonl"] == found["text"]


def test_parquet_parts_hold_what_json_lines_hold(trained_folder, text_file, tmp_path):
    to_parquet = AnnotateOptions(part=20, device="cpu", to=BulkOutput.PARQUET)
    annotate(str(trained_folder), [str(text_file)], tmp_path / "lines", options=SMALL)
    annotate(str(trained_folder), [str(text_file)], tmp_path / "tables", options=to_parquet)
    assert len(contents(tmp_path / "tables")) == 3
    rows = rows_of(tmp_path / "tables")

    def without_nulls(value):
        if isinstance(value, dict):
            return {k: without_nulls(v) for k, v in value.items() if v is not None}
        return list(map(without_nulls, value)) if isinstance(value, list) else value

    assert without_nulls(rows) == records(tmp_path / "lines")


@pytest.mark.slow
def test_annotated_parquet_can_be_annotated_again(trained_folder, text_file, tmp_path):
    to_parquet = AnnotateOptions(part=20, device="cpu", to=BulkOutput.PARQUET)
    annotate(str(trained_folder), [str(text_file)], tmp_path / "first", options=to_parquet)
    parts = [str(path) for path in sorted((tmp_path / "first").glob("*.parquet"))]
    annotate(str(trained_folder), parts, tmp_path / "again", options=to_parquet)
    columns = ("tokens", "offsets", "spans", "neighbors")
    once, twice = (
        [[row[column] for column in columns] for row in rows_of(tmp_path / name)]
        for name in ("first", "again")
    )
    assert once == twice
    assert len(once) == 60


def test_neighbors_can_be_written_without_source_text(trained_folder, text_file, tmp_path):
    hidden = AnnotateOptions(part=60, device="cpu", hide_source=True)
    annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=hidden)
    neighbors = [
        neighbor for record in records(tmp_path / "out") for neighbor in record["neighbors"]
    ]
    assert neighbors
    assert {frozenset(neighbor) for neighbor in neighbors} == {
        frozenset({"position", "similarity"})
    }


def test_a_finished_part_is_not_labeled_again_and_a_damaged_one_is(
    trained_folder, text_file, tmp_path
):
    output = tmp_path / "out"
    annotate(str(trained_folder), [str(text_file)], output, options=SMALL)
    before = contents(output)
    times = {path.name: path.stat().st_mtime_ns for path in output.glob("*.jsonl")}
    damaged = output / "part-00001.jsonl"
    damaged.write_bytes(damaged.read_bytes()[:-30])
    annotated = annotate(str(trained_folder), [str(text_file)], output, options=SMALL)
    assert annotated.resumed == 2
    assert contents(output) == before
    again = {path.name: path.stat().st_mtime_ns for path in output.glob("*.jsonl")}
    assert [name for name in times if times[name] != again[name]] == ["part-00001.jsonl"]


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (
            AnnotateOptions(part=10, device="cpu"),
            "expected part 20, as when it was begun, found",
        ),
        (AnnotateOptions(part=20, device="cpu", adapt=False), "expected adapt true"),
        (
            AnnotateOptions(part=20, device="cpu", overrides={"adaptation": {"steps": 2}}),
            "expected settings {}",
        ),
        (AnnotateOptions(part=20, device="cpu", threads=2), "expected threads 1"),
        (AnnotateOptions(part=20, device="cpu", to=BulkOutput.PARQUET), 'expected to "jsonl"'),
    ],
)
def test_a_folder_of_other_options_is_refused_and_stays_as_it_is(
    trained_folder, text_file, tmp_path, options, difference
):
    output = tmp_path / "out"
    annotate(str(trained_folder), [str(text_file)], output, options=SMALL)
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    with pytest.raises(RunError, match="choose another --output") as refused:
        annotate(str(trained_folder), [str(text_file)], output, options=options)
    assert difference in str(refused.value)
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


def test_a_changed_input_file_is_refused(run, trained_folder, text_file, tmp_path):
    output = tmp_path / "out"
    arguments = ("annotate", trained_folder, text_file, "--output", output, "--part", "20")
    assert run(*arguments, "--device", "cpu").code == 0
    text_file.write_text(text_file.read_text() + "tom\n")
    outcome = run(*arguments, "--device", "cpu")
    assert outcome.code == 1
    assert outcome.err == (
        f"metacross: {text_file}: expected the file that {output} was begun with, found it "
        "changed; restore it, or choose another --output\n"
    )


def test_other_files_and_other_models_are_refused(trained_folder, text_file, write, tmp_path):
    output = tmp_path / "out"
    annotate(str(trained_folder), [str(text_file)], output, options=SMALL)
    other = write("other.txt", "ana\n")
    with pytest.raises(RunError, match="was begun with other files"):
        annotate(str(trained_folder), [str(text_file), str(other)], output, options=SMALL)
    shutil.copytree(trained_folder, tmp_path / "model")
    recipe = tmp_path / "model" / "recipe.yaml"
    recipe.write_text(recipe.read_text() + "\n")
    assert model_digest(tmp_path / "model") != model_digest(trained_folder)
    with pytest.raises(RunError, match="expected model "):
        annotate(str(tmp_path / "model"), [str(text_file)], output, options=SMALL)


def test_a_folder_with_other_files_is_refused(trained_folder, text_file, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"expected an empty folder .* found notes\.txt"):
        annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)
    assert [path.name for path in (tmp_path / "out").glob("[!.]*")] == ["notes.txt"]


def test_the_manifest_of_something_else_is_refused(trained_folder, text_file, write, tmp_path):
    manifest = write("out/manifest.json", '{"name": "a web page"}')
    with pytest.raises(RunError, match="expected the manifest of an annotation"):
        annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)
    assert manifest.read_text() == '{"name": "a web page"}'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_one_line_and_loses_nothing(run, trained_folder, text_file, tmp_path):
    output = tmp_path / "out"
    arguments = ("annotate", trained_folder, text_file, "--output", output, "--part", "20")
    output.mkdir()
    full = output / f".part-00001.jsonl.{os.getpid()}.part"  # where the part is written first
    full.symlink_to("/dev/full")
    outcome = run(*arguments, "--device", "cpu")
    assert outcome.code == 1
    assert outcome.err == (
        f"metacross: part 1: {output.absolute()}/part-00001.jsonl: cannot be written: No space "
        "left on device; finished parts are kept, run the same command again to resume\n"
    )
    assert [*contents(output)] == ["part-00000.jsonl"]
    assert run(*arguments, "--device", "cpu").code == 0
    annotate(str(trained_folder), [str(text_file)], tmp_path / "undisturbed", options=SMALL)
    assert contents(output) == contents(tmp_path / "undisturbed")


def test_a_part_that_the_system_cuts_off_does_not_count(trained_folder, text_file, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, limits[1]))
    try:
        with pytest.raises(RunError, match="cannot be written: File too large"):
            annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not contents(tmp_path / "out")
    assert not [*(tmp_path / "out").glob(".part-*")]
    assert (
        annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL).sentences
        == 60
    )


def test_a_malformed_line_is_named_with_its_part(trained_folder, write, tmp_path):
    good = "".join(json.dumps({"text": line}) + "\n" for line in made_lines(25))
    source = write("in.jsonl", good + "{broken\n")
    with pytest.raises(RunError, match=r"^part 1: .*in\.jsonl:26: expected a JSON object"):
        annotate(str(trained_folder), [str(source)], tmp_path / "out", options=SMALL)
    assert [*contents(tmp_path / "out")] == ["part-00000.jsonl"]


def test_a_folder_without_a_finished_part_is_begun_anew(trained_folder, text_file, tmp_path):
    wrong = AnnotateOptions(part=20, device="cpu", overrides={"adaptation": {"steps": 0}})
    with pytest.raises(SettingsError):
        annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=wrong)
    (tmp_path / "out" / "part-00000.parquet").write_text("never finished")
    annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)
    assert [*contents(tmp_path / "out")] == [f"part-0000{n}.jsonl" for n in range(3)]


def test_two_processes_do_not_write_to_one_folder(trained_folder, text_file, tmp_path):
    with (
        OutputFolder(tmp_path / "out", "jsonl", n_parts=3).locked(),
        pytest.raises(RunError, match="another process is annotating here"),
    ):
        annotate(str(trained_folder), [str(text_file)], tmp_path / "out", options=SMALL)


def test_an_output_folder_inside_an_input_folder_is_refused(trained_folder, text_file):
    with pytest.raises(SettingsError, match="expected a folder outside of the input"):
        annotate(str(trained_folder), [str(text_file.parent)], text_file.parent / "out")


def test_a_file_without_lines_is_refused(trained_folder, write, tmp_path):
    with pytest.raises(DataError, match="expected sentences, found none"):
        annotate(str(trained_folder), [str(write("no.txt", ""))], tmp_path / "out", options=SMALL)
    assert not (tmp_path / "out").exists()


def test_a_ray_address_that_does_not_answer_is_one_line(run, trained_folder, text_file, tmp_path):
    output = tmp_path / "out"
    outcome = run("annotate", trained_folder, text_file, "--output", output, "--ray", "127.0.0.1:1")
    assert outcome.code == 1
    assert outcome.err == (
        "metacross: --ray 127.0.0.1:1: expected a Ray cluster, found none that answers "
        "(Connection refused)\n"
    )
    assert not output.exists()


def test_an_address_without_ray_is_one_line(run, trained_folder, text_file, tmp_path):
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        outcome = run(
            "annotate", trained_folder, text_file, "--output", tmp_path / "out", "--ray", address
        )
        server.shutdown()
    assert outcome.code == 1
    assert outcome.err.startswith(f"metacross: --ray {address}: expected a Ray cluster, found none")
    assert outcome.err.count("\n") == 1
