"""Trainings that several processes share, started by torchrun."""

import json
from pathlib import Path

import pytest

import tiny
import train_under_torchrun as program
from metacross.text.writing import write_corpus
from torchrun_launcher import said, torchrun

pytestmark = pytest.mark.slow


def outcome(folder) -> dict:
    """What must not depend on the number of processes."""
    log = [json.loads(line) for line in (folder / "training/log.jsonl").read_text().splitlines()]
    for line in log:
        del line["time"]
    weights = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*.safetensors")
        if path.name != "checkpoint.safetensors"  # it has seconds
    }
    return {"log": log, **weights}


@pytest.fixture(scope="module")
def one_process(encoders, tmp_path_factory):
    """The outcomes of all methods in this process, with as many blocks as under torchrun."""
    folder = tmp_path_factory.mktemp("one")
    for method in program.METHODS:
        program.train(str(folder), encoders["bert"], method, blocks=8)
    return {method: outcome(folder / method) for method in program.METHODS}


@pytest.mark.parametrize("n_processes", [2, 4])
def test_several_processes_give_the_bits_of_one(n_processes, one_process, encoders, tmp_path):
    script = Path(program.__file__)
    arguments = (script, tmp_path, encoders["bert"], *program.METHODS)
    done = torchrun(n_processes, *arguments, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    for method, expected in one_process.items():
        found = outcome(tmp_path / method)
        assert len(expected) > 3
        assert found["log"] == expected["log"]
        assert found == expected


def test_when_a_process_is_killed_the_same_command_resumes(one_process, encoders, tmp_path):
    write_corpus(tiny.corpus(40), tmp_path / "source.jsonl")
    write_corpus(tiny.corpus(20, seed=1), tmp_path / "dev.jsonl")
    (tmp_path / "recipe.yaml").write_text(program.settings("adam").as_yaml())
    command = ["train", tmp_path / "recipe.yaml", "--encoder", encoders["bert"]]
    command += ["--source", tmp_path / "source.jsonl", "--dev", tmp_path / "dev.jsonl"]
    command += ["--output", tmp_path / "model"]
    script = [program.__file__, "--kill", "0", "3"]
    done = torchrun(2, *script, *command, cache=tmp_path)
    assert done.returncode == 1
    (line,) = said(done)  # by the lost connection or by the signal of torchrun, whichever is first
    assert line in (
        "metacross: torchrun: another process has ended. Run the same command again to resume.",
        "metacross: Stopped. Run the same command again to resume.",
    )
    training = tmp_path / "model" / "training"
    assert (training / "checkpoint.safetensors").exists()
    assert [path.name for path in tmp_path.rglob("*.part")] == []
    resumed = torchrun(2, "-m", "metacross", *command, cache=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "Resuming after step 3 of 4." in resumed.stderr
    assert resumed.stdout.count("Saved model") == 1
    assert outcome(tmp_path / "model") == one_process["adam"]


def test_three_processes_are_refused_in_one_line(tmp_path):
    files = ["--source", tmp_path / "none", "--dev", tmp_path / "none"]
    command = ["train", "mini", *files, "--output", tmp_path / "model"]
    done = torchrun(3, "-m", "metacross", *command, cache=tmp_path)
    assert done.returncode == 1
    assert said(done) == [
        "metacross: torchrun: expected 1, 2, 4 or 8 processes to share a training, found 3; "
        "set --nproc-per-node"
    ]
    assert [*tmp_path.iterdir()] == []
