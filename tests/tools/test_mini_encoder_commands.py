"""The commands around encoders."""

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
    (folder / "only.conll").write_text("rome B-LOC\nrain O\n\n")
    (folder / "odd.conll").write_text("rome B-GPE\nrain O\n\n")
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


def test_distill_makes_an_encoder_and_a_second_time_nothing(run, files, encoder):
    assert {file.name for file in encoder.iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "recipe.yaml",
    }
    again = run(*_distill(files, encoder))
    assert again.code == 0
    assert "an encoder; use it with --encoder" in again.out
    other = run(*_distill(files, encoder), "--steps", 4)
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "run.steps = 3, now 4" in other.err


def test_test_gives_f1_and_the_share_of_translations_found(run, files, encoder):
    result = run(
        *("test", encoder, "--source", files / "train.conll"),
        *("--dev", f"en={files / 'dev.conll'}", "--dev", f"es={files / 'only.conll'}"),
        *("--pairs", f"de={files / 'pairs.tsv'}", "--pairs-from", "x", "--json"),
    )
    found = json.loads(result.out)
    assert list(found["entities"]) == ["en", "es"]
    assert all(0 <= share <= 1 for share in found["entities"].values())
    assert found["retrieval"]["de"] in (0.0, 0.5, 1.0)
    assert found["random"] is False


def test_the_random_control_knows_nothing_of_the_folders_weights(run, files, encoder, tmp_path):
    from safetensors.torch import load_file, save_file

    other = shutil.copytree(encoder, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    for name, weight in weights.items():
        if weight.is_floating_point() and "row_scale" not in name:
            weight.zero_()
    save_file(weights, other / "model.safetensors", {"format": "pt"})
    command = ("--pairs", f"de={files / 'pairs.tsv'}", "--random", "--json")
    results = [run("test", folder, *command) for folder in (encoder, other)]
    shares = [json.loads(result.out)["retrieval"] for result in results]
    assert shares[0] == shares[1]


def test_a_table_shows_both_tests(run, files, encoder):
    pairs = ("--pairs", f"de={files / 'pairs.tsv'}")
    result = run("test", encoder, *pairs)
    assert "translations found (%)" in result.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["test", "mini"], "expected --source FILE with --dev LANG=FILE, or --pairs"),
        (["test", "mini", "--source", "{files}/train.conll"], "expected --source FILE with --dev"),
        (["test", "mini", "--pairs", "pairs.tsv"], "--pairs: expected LANG=FILE"),
        (["test", "mini", "--pairs", "de={files}/none.tsv"], "none.tsv: cannot be read"),
        (["test", "mini", "--pairs", "de={files}/dev.conll"], "at least two pairs|found no tab"),
        (
            ["test", "mini", "--pairs", "de={files}/pairs.tsv", "--pairs-from", "z"],
            "at least two pairs of sentences, found 0",
        ),
        (
            ["test", "mini", "--source", "{files}/train.conll", "--dev", "de={files}/odd.conll"],
            "expected the types LOC, PER of .*found GPE too",
        ),
        (["test", "./none", "--pairs", "de={files}/pairs.tsv"], "expected an encoder folder"),
        (
            ["distill", "--text", "{files}/data", "--teacher", "none.whl", "--output", "{out}"],
            "none.whl: expected the teacher's wheel or ONNX file: No such file",
        ),
        (
            [
                "distill",
                "--text",
                "{files}",
                "--teacher",
                "{files}/teacher.whl",
                "--output",
                "{out}",
            ],
            "expected sentences of open sources",
        ),
        (
            ["distill", "--text", "none", "--teacher", "{files}/teacher.whl", "--output", "{out}"],
            "none: expected a folder of text, found nothing there",
        ),
        (
            [
                "distill",
                "--text",
                "{files}/data",
                "--teacher",
                "{files}/pairs.tsv",
                "--output",
                "{out}",
            ],
            "pairs.tsv: expected ",
        ),
        (
            ["distill", "--text", "{files}", "--teacher", "x", "--output", "{out}", "--steps", "0"],
            r"run\.steps: input should be greater than",
        ),
    ],
)
def test_bad_input_ends_in_one_line(run, files, tmp_path, arguments, says):
    filled = [part.format(files=files, out=tmp_path / "out") for part in arguments]
    result = run(*filled)
    assert result.code == 1
    assert result.err.startswith("metacross: ")
    assert result.err.count("\n") == 1
    assert re.search(says, result.err), result.err
