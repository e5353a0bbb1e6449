"""Training the student to reproduce the teacher."""

import json
import os
import signal
from statistics import median

import pytest
import torch
from safetensors.torch import load_file

import tiny_teacher
from metacross.errors import RunError
from metacross.model.encoder import load_encoder
from metacross.training.callbacks import Callback
from tools.mini_encoder.distillation import distill_encoder
from tools.mini_encoder.distillation_step import losses
from tools.mini_encoder.settings import TargetSettings, distillation_settings
from tools.mini_encoder.targets import OutputStatistics, TargetBuilder, Targets
from tools.mini_encoder.text_stream import PAD, TextBatch, TextStream


class Interrupt(Callback):
    """Presses Ctrl-C after a step."""

    def __init__(self, after_step: int) -> None:
        self.after_step = after_step

    def on_step_end(self, step, result):
        if step == self.after_step:
            os.kill(os.getpid(), signal.SIGINT)


def test_the_targets_of_a_translation_move_towards_the_english_ones(parts):
    settings = distillation_settings([*tiny_teacher.SMALL, "stream.parallel_ratio=1"])
    batch = TextStream(parts.text, parts.tokenizer, settings).batch(0)
    assert batch.is_parallel
    without_pull, full_pull = (
        TargetBuilder(
            parts.teacher, parts.vocabulary.teacher_ids, TargetSettings(translation_pull=pull)
        )
        for pull in (0.0, 1.0)
    )
    outputs = without_pull.outputs(batch)
    statistics = without_pull.statistics([batch])
    assert torch.allclose(without_pull.targets(batch, statistics).states, outputs.states)
    targets = full_pull.targets(batch, statistics)
    assert torch.equal(targets.states[0::2], outputs.states[0::2])  # English is unchanged
    assert not torch.equal(targets.states[1::2], outputs.states[1::2])
    assert torch.allclose(targets.vectors[1::2], outputs.vectors[0::2])
    padding = batch.plain == PAD
    assert torch.equal(targets.states[padding], outputs.states[padding])


@pytest.mark.slow
def test_an_interrupted_distillation_resumes_to_bit_identical_weights(parts, tmp_path):
    complete, interrupted = tmp_path / "complete", tmp_path / "interrupted"
    inputs = parts.text_folder, parts.onnx_file
    distill_encoder(*inputs, complete, parts.settings)
    with pytest.raises(RunError, match="topped after step 1 of 3"):
        distill_encoder(*inputs, interrupted, parts.settings, callbacks=[Interrupt(1)])
    assert not (interrupted / "config.json").exists()
    distill_encoder(*inputs, interrupted, parts.settings)
    for name in ("model.safetensors", "training/checkpoint.safetensors"):
        expected, resumed = load_file(complete / name), load_file(interrupted / name)
        assert expected.keys() == resumed.keys()
        assert all(torch.equal(expected[key], resumed[key]) for key in expected)


def test_distillation_trains_every_weight_and_saves_an_encoder(parts, tmp_path):
    distill_encoder(parts.text_folder, parts.onnx_file, tmp_path, parts.settings)
    start = load_file(tmp_path / "training/start.safetensors")
    end = load_file(tmp_path / "training/best.safetensors")
    assert end
    assert all(not torch.equal(start[f"student.{name}"], weight) for name, weight in end.items())
    encoder = load_encoder(str(tmp_path))
    assert encoder.tokenizer.fast("ana saw")["input_ids"] == parts.tokenizer.encode("ana saw").ids


def test_a_finished_distillation_is_not_repeated(parts, tmp_path):
    distill_encoder(parts.text_folder, parts.onnx_file, tmp_path, parts.settings)
    written = (tmp_path / "model.safetensors").stat().st_mtime_ns
    distill_encoder(parts.text_folder, parts.onnx_file, tmp_path, parts.settings)
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == written


def test_a_distillation_does_not_resume_with_other_text_or_settings(parts, tmp_path):
    folder = tmp_path / "out"
    distill_encoder(parts.text_folder, parts.onnx_file, folder, parts.settings)
    other_text = tiny_teacher.make_text(tmp_path / "data")
    (other_text / "text" / "zh.tsv").unlink()
    with pytest.raises(RunError, match="another text"):
        distill_encoder(other_text, parts.onnx_file, folder, parts.settings)
    settings = distillation_settings([*tiny_teacher.SMALL, "run.seed=2"])
    with pytest.raises(RunError, match=r"run\.seed = 1, now 2"):
        distill_encoder(parts.text_folder, parts.onnx_file, folder, settings)


@pytest.mark.slow
def test_the_loss_of_the_student_falls(parts, tmp_path):
    easy = ("masking.sentences=0", "stream.parallel_ratio=0", "target.statistics_batches=30")
    longer = ("run.steps=100", "run.learning_rate=2e-3")
    settings = distillation_settings([*tiny_teacher.SMALL, *easy, *longer])
    distill_encoder(parts.text_folder, parts.onnx_file, tmp_path, settings)
    log = (tmp_path / "training/log.jsonl").read_text("utf-8").splitlines()
    losses = [json.loads(line)["loss"] for line in log]
    assert len(losses) == 100
    assert median(losses[-20:]) < 0.8 * median(losses[:20])


def test_the_losses_are_squared_errors_in_standard_deviations():
    batch = TextBatch(
        plain=torch.tensor([[2, 7, 8, 3]]),
        augmented=torch.tensor([[2, 9, 3, PAD]]),
        alignment=torch.tensor([[0, 2, 3, 0]]),
        is_parallel=False,
    )
    targets = Targets(
        states=torch.tensor([[[9.0], [9.0], [1.0], [2.0]]]), vectors=torch.tensor([[5.0]])
    )
    statistics = OutputStatistics(
        state_mean=torch.zeros(1), state_std=torch.tensor([2.0]), vector_std=torch.tensor([4.0])
    )
    states = torch.tensor([[[7.0], [5.0], [4.0], [100.0]]])  # the last is padding
    piece_weights = torch.tensor([[1.0, 0.5, 1.0, 1.0]])
    state_loss, vector_loss = losses(states, targets, batch, statistics, piece_weights)
    # errors in standard deviations: (5 - 1) / 2 = 2 with weight 0.5, (4 - 2) / 2 = 1 with weight 1
    assert state_loss.item() == pytest.approx((0.5 * 4 + 1 * 1) / 1.5)
    assert vector_loss.item() == pytest.approx(((7 - 5) / 4) ** 2)
