"""The command line of tools.mini_encoder."""

import json
import re
import shutil

import pytest

import tiny
import tiny_teacher
from metacross.text.writing import write_corpus

SETS = [part for override in tiny_teacher.SMALL for part in ("--set", override)]


@pytest.fixture
def run(run_main):
    """Run ``python -m tools.mini_encoder`` in this process."""
    from tools.mini_encoder.commands import main

    return run_main(main)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    tiny_teacher.make_text(folder / "data")
    tiny_teacher.make_wheel(folder / "teacher.whl")
    write_corpus(tiny.corpus(60), folder / "train.conll")
    write_corpus(tiny.corpus(20, seed=1), folder / "dev.conll")
    (folder / "loc.conll").write_text("rome B-LOC\nrain O\n\n")
    (folder / "gpe.conll").write_text("rome B-GPE\nrain O\n\n")
    pairs = ["ana saw rome\tAna saw rome\tx", "the old rain\tthe old Rain\tx", "tom\ttom\ty"]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    return folder


@pytest.fixture(scope="module")
def encoder(files):
    from tools.mini_encoder.commands import main

    folder = files / "encoder"
    with pytest.raises(SystemExit) as ended:
        main([str(part) for part in _distill(files, folder)])
    assert ended.value.code == 0
    return folder


def _distill(files, output):
    options = ("--text", files / "data", "--teacher", files / "teacher.whl", "--output", output)
    return ["distill", *options, *SETS]


def test_distill_writes_an_encoder_folder(encoder):
    assert {file.name for file in encoder.iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "recipe.yaml",
    }


def test_a_finished_distill_command_can_be_repeated_but_not_with_other_settings(
    run, files, encoder
):
    again = run(*_distill(files, encoder))
    assert again.code == 0
    assert f"Saved encoder to {encoder}" in again.out
    other = run(*_distill(files, encoder), "--set", "run.steps=4")
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "run.steps = 3, now 4" in other.err


def test_the_test_command_gives_entity_f1_and_retrieval_accuracy(run, files, encoder):
    result = run(
        *("test", encoder, "--source", files / "train.conll"),
        *("--dev", f"en={files / 'dev.conll'}", "--dev", f"es={files / 'loc.conll'}"),
        *("--pairs", f"de={files / 'pairs.tsv'}", "--pairs-source", "x", "--json"),
    )
    results = json.loads(result.out)
    assert list(results["entities"]) == ["en", "es"]
    assert all(0 <= f1 <= 1 for f1 in results["entities"].values())
    assert results["retrieval"]["de"] in (0.0, 0.5, 1.0)
    assert results["random"] is False


def test_the_random_control_does_not_use_the_weights_of_the_folder(run, files, encoder, tmp_path):
    from safetensors.torch import load_file, save_file

    other = shutil.copytree(encoder, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    for name, weight in weights.items():
        if weight.is_floating_point() and "row_scale" not in name:
            weight.zero_()
    save_file(weights, other / "model.safetensors", {"format": "pt"})
    command = ("--pairs", f"de={files / 'pairs.tsv'}", "--random", "--json")
    results = [run("test", folder, *command) for folder in (encoder, other)]
    accuracies = [json.loads(result.out)["retrieval"] for result in results]
    assert accuracies[0] == accuracies[1]


def test_without_json_the_results_are_a_table(run, files, encoder):
    pairs = ("--pairs", f"de={files / 'pairs.tsv'}")
    result = run("test", encoder, *pairs)
    assert "retrieval accuracy (%)" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test", "mini"], "expected --source FILE with --dev LANG=FILE, or --pairs"),
        (["test", "mini", "--source", "{files}/train.conll"], "expected --source FILE with --dev"),
        (["test", "mini", "--pairs", "pairs.tsv"], "--pairs: expected LANG=FILE"),
        (["test", "mini", "--pairs", "de={files}/none.tsv"], "none.tsv: cannot be read"),
        (["test", "mini", "--pairs", "de={files}/dev.conll"], "at least two pairs|found no tab"),
        (
            ["test", "mini", "--pairs", "de={files}/pairs.tsv", "--pairs-source", "z"],
            "at least two pairs of sentences, found 0",
        ),
        (
            ["test", "mini", "--source", "{files}/train.conll", "--dev", "de={files}/gpe.conll"],
            r"expected only the labels of .* \(LOC, PER\), found GPE",
        ),
        (["test", "./none", "--pairs", "de={files}/pairs.tsv"], "expected an encoder folder"),
        (
            ["distill", "--text", "{files}/data", "--teacher", "none.whl", "--output", "{out}"],
            "none.whl: expected the teacher's wheel or ONNX file: No such file",
        ),
        (
            [
                "distill",
                *("--text", "{files}", "--teacher", "{files}/teacher.whl", "--output", "{out}"),
            ],
            "expected sentences of open sources",
        ),
        (
            ["distill", "--text", "none", "--teacher", "{files}/teacher.whl", "--output", "{out}"],
            "none: expected a folder with text/ and parallel/, found nothing",
        ),
        (
            [
                "distill",
                *("--text", "{files}/data", "--teacher", "{files}/pairs.tsv", "--output", "{out}"),
            ],
            "pairs.tsv: expected ",
        ),
        (
            [
                "distill",
                *("--text", "{files}", "--teacher", "x", "--output", "{out}"),
                *("--set", "run.steps=0"),
            ],
            r"run\.steps: input should be greater than",
        ),
    ],
)
def test_bad_input_is_a_one_line_error(run, files, tmp_path, arguments, message):
    filled = [part.format(files=files, out=tmp_path / "out") for part in arguments]
    result = run(*filled)
    assert result.code == 1
    assert result.err.startswith("metacross: ")
    assert result.err.count("\n") == 1
    assert re.search(message, result.err), result.err
