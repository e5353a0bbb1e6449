"""The loop: kept through kills, stops and full disks."""

import json
import os
import random
import resource
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import metacross
import tiny
from metacross.errors import DataError, MetacrossError, ModelError, RunError
from metacross.model.model_mark import is_model_folder
from metacross.settings import load_settings
from metacross.training.callbacks import Callback
from metacross.training.run_folder import RunFolder

SHORT = ("meta.steps=10", "run.validate_every=4", "run.checkpoint_every=1", "encoder.dropout=0.3")


def train(folder, encoder, recipe="paper", *overrides, callbacks=()):
    return metacross.train(
        tiny.corpus(30),
        dev=tiny.corpus(15, seed=1),
        encoder=encoder,
        recipe=load_settings(recipe, [*tiny.FAST, *SHORT, *overrides]),
        output=folder,
        callbacks=callbacks,
    )


def in_a_process(function) -> int:
    """Start a function in a process of its own."""
    child = os.fork()
    if child:
        return child
    try:
        function()
        os._exit(0)
    except MetacrossError as error:
        os.write(2, f"{error}\n".encode())
        os._exit(1)
    finally:
        os._exit(99)


def same_tensors(first: Path, second: Path) -> bool:
    ours, theirs = load_file(first), load_file(second)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


@pytest.mark.slow
def test_after_ten_kills_the_weights_are_those_of_an_uninterrupted_run(encoders, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    began = time.monotonic()
    train(whole, encoders["bert"])
    lasted = time.monotonic() - began
    rng = random.Random(0)
    n_kills = 0
    while n_kills < 10:
        child = in_a_process(partial(train, killed, encoders["bert"]))
        time.sleep(rng.uniform(0.1, 0.8) * lasted)
        if os.waitpid(child, os.WNOHANG)[0]:  # it came to its end: kill another one, sooner
            assert same_tensors(whole / "model.safetensors", killed / "model.safetensors")
            killed = tmp_path / f"killed-{n_kills}-{lasted}"
            lasted *= 0.6
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        n_kills += 1
    train(killed, encoders["bert"])
    for file in ("model", "training/checkpoint", "training/best"):
        ours, theirs = (folder / f"{file}.safetensors" for folder in (whole, killed))
        assert same_tensors(ours, theirs), file
    steps = [json.loads(line).get("loss") for line in (killed / "training/log.jsonl").open()]
    wanted = [json.loads(line).get("loss") for line in (whole / "training/log.jsonl").open()]
    assert steps == wanted


class Interrupt(Callback):
    """Presses Ctrl-C in the middle of training."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.done = []

    def on_train_begin(self, steps_done, steps):
        self.done.append(steps_done)

    def on_step_end(self, step, result):
        if step == self.at:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_ctrl_c_writes_a_checkpoint_and_says_how_to_resume(encoders, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(whole, encoders["bert"])
    often = "run.checkpoint_every=100"
    with pytest.raises(
        RunError, match=r"Stopped after step 3 of 10\. Run the same command again to resume\."
    ):
        train(stopped, encoders["bert"], "paper", often, callbacks=[Interrupt(3)])
    assert not is_model_folder(stopped)
    callback = Interrupt(0)
    train(stopped, encoders["bert"], "paper", often, callbacks=[callback])
    assert callback.done == [3]
    assert same_tensors(whole / "model.safetensors", stopped / "model.safetensors")


@pytest.mark.slow
def test_ctrl_c_in_the_last_step_stops_too(encoders, tmp_path):
    """So that a study does not go on with its next training."""
    with pytest.raises(RunError, match="Stopped after step 10 of 10"):
        train(tmp_path / "m", encoders["bert"], callbacks=[Interrupt(10)])
    callback = Interrupt(0)
    model = train(tmp_path / "m", encoders["bert"], callbacks=[callback])
    assert callback.done == [10]
    assert model.labels == ("LOC", "PER")


@pytest.mark.slow
def test_a_finished_training_is_only_opened(encoders, tmp_path):
    train(tmp_path / "m", encoders["bert"])
    callback = Interrupt(0)
    model = train(tmp_path / "m", encoders["bert"], callbacks=[callback])
    assert callback.done == []
    assert model.labels == ("LOC", "PER")


@pytest.mark.slow
def test_two_trainings_in_one_folder_are_refused(encoders, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.training.mkdir(parents=True)
    with folder.locked(), pytest.raises(RunError, match="another process is training here"):
        train(folder.folder, encoders["bert"])
    train(folder.folder, encoders["bert"])
    assert is_model_folder(folder.folder)


@pytest.mark.slow
def test_what_comes_after_training_can_be_changed_without_training_anew(encoders, tmp_path):
    folder = tmp_path / "m"
    before = train(folder, encoders["bert"])
    weights = (folder / "model.safetensors").read_bytes()
    callback = Interrupt(0)
    after = ("adaptation.learning_rate=0.5", "fine_tuning.epochs=3")
    returned = train(folder, encoders["bert"], "paper", *after, callbacks=[callback])
    assert callback.done == []
    assert (folder / "model.safetensors").read_bytes() == weights
    for model in (returned, metacross.load(folder, device="cpu")):
        assert (model.settings.adaptation.learning_rate, model.settings.fine_tuning.epochs) == (
            0.5,
            3,
        )
        assert model.settings.meta == before.settings.meta


@pytest.mark.slow
def test_another_recipe_or_corpus_in_the_same_folder_is_refused(encoders, tmp_path):
    train(tmp_path / "m", encoders["bert"])
    with pytest.raises(RunError, match=r"with meta\.inner_steps = 2, now 1"):
        train(tmp_path / "m", encoders["bert"], "paper", "meta.inner_steps=1")
    with pytest.raises(RunError, match="another source corpus"):
        metacross.train(
            tiny.corpus(31),
            dev=tiny.corpus(15, seed=1),
            encoder=encoders["bert"],
            recipe=load_settings("paper", [*tiny.FAST, *SHORT]),
            output=tmp_path / "m",
        )


@pytest.mark.slow
def test_a_full_disk_says_so_and_loses_no_earlier_checkpoint(encoders, tmp_path, capfd):
    whole, folder = tmp_path / "whole", tmp_path / "m"
    train(whole, encoders["bert"])
    size = (whole / "training" / "checkpoint.safetensors").stat().st_size

    class FillDisk(Interrupt):
        def on_step_end(self, step, result):
            if step == 5:  # from now on no file can grow beyond half a checkpoint
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

    child = in_a_process(lambda: train(folder, encoders["bert"], callbacks=[FillDisk(0)]))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    said = capfd.readouterr().err
    assert "checkpoint.safetensors: cannot be written" in said
    assert "File too large" in said
    train(folder, encoders["bert"])
    assert same_tensors(whole / "model.safetensors", folder / "model.safetensors")


def test_a_folder_that_cannot_be_written_is_said_before_training(encoders, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ModelError, match="cannot be written"):
        train(file / "m", encoders["bert"])


def test_a_broken_checkpoint_is_said(encoders, tmp_path):
    with pytest.raises(RunError):
        train(tmp_path / "m", encoders["bert"], callbacks=[Interrupt(3)])
    path = tmp_path / "m" / "training" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(RunError, match=r"checkpoint\.safetensors: cannot be read as safetensors"):
        train(tmp_path / "m", encoders["bert"])


@pytest.mark.slow
def test_the_best_weights_by_dev_are_the_model_and_the_last_are_kept(encoders, tmp_path):
    model = train(tmp_path / "m", encoders["bert"], "direct", "run.validate_every=3")
    record = json.loads((tmp_path / "m/training/run.json").read_text())
    scores = dict(record["validations"])
    assert record["best_dev_f1"] == max(scores.values())
    assert scores[record["best_step"]] == max(scores.values())
    assert record["best_step"] == min(s for s, f1 in scores.items() if f1 == max(scores.values()))
    evaluation = metacross.evaluate(model, tiny.corpus(15, seed=1), adapt=False)
    assert evaluation.plain.overall.f1 == record["best_dev_f1"]
    last = load_file(tmp_path / "m/training/checkpoint.safetensors")
    best = load_file(tmp_path / "m/training/best.safetensors")
    assert {f"weight.{name}" for name in best} <= last.keys()


def test_the_run_folder_records_versions_seed_data_and_recipe(trained_folder):
    record = json.loads((trained_folder / "training/run.json").read_text())
    assert record["versions"]["torch"] == torch.__version__
    assert record["recipe"]["run"]["seed"] == 0
    assert len(record["ingredients"]["source corpus"]) == 64
    assert {"begun", "ended", "python", "machine"} <= record.keys()
    assert record["seconds"] > 0
    assert load_settings(trained_folder / "recipe.yaml").meta.steps == 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_and_another_another(encoders, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tmp_path / name, encoders["bert"], "paper", f"run.seed={seed}")
    a, b, c = (tmp_path / name / "model.safetensors" for name in "abc")
    assert same_tensors(a, b)
    assert not same_tensors(a, c)


@pytest.mark.slow
def test_training_leaves_torch_s_own_random_numbers_alone(encoders, tmp_path):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(tmp_path / "m", encoders["bert"])
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize(
    ("source", "dev", "says"),
    [
        (tiny.Corpus((tiny.Sentence(("a",)),)), tiny.corpus(3), "expected labeled entities"),
        (tiny.Corpus((tiny.Sentence(("a",), ()),)), tiny.corpus(3), "expected labeled entities"),
        (
            tiny.corpus(9),
            tiny.corpus(9, 1).relabeled({"PER": "ORG"}),
            "found ORG too",
        ),
    ],
)
def test_corpora_that_cannot_be_learned_from_are_refused(encoders, source, dev, says):
    with pytest.raises(DataError, match=says):
        metacross.train(source, dev=dev, encoder=encoders["bert"])
