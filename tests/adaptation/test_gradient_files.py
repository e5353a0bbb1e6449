"""Recorded gradients in files."""

import os

import pytest
import torch

import metacross
import tiny
from metacross.adaptation.adapted_part import adapting
from metacross.adaptation.fast import FastEngine
from metacross.adaptation.gradient_files import GradientFiles
from metacross.adaptation.ner_model import NerModel
from metacross.errors import RunError
from metacross.model.model_folder import ModelParts
from metacross.settings import load_settings
from tiny import tagger_on

TESTS = tiny.corpus(9, seed=21)
SOURCE = tiny.corpus(12, seed=22)
N_NEIGHBORS = 9  # different ones of all test sentences


def engine_and_logits(tagger, settings, *, memory_bytes=10**9):
    """A new engine, and what it gives for test sentences with three neighbors each."""
    engine = FastEngine(tagger, settings, memory_bytes=memory_bytes)
    source = tagger.examples(SOURCE)
    supports = [
        {p: source[p] for p in ((3 * i) % 12, (3 * i + 1) % 12, 5)} for i in range(len(TESTS))
    ]
    return engine, engine.logits(tagger.examples(TESTS), supports)


def settings_in(folder, *overrides):
    return load_settings("paper", [f"run.gradient_folder={folder}", *overrides])


def equal(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("optimizer", ["adam", "normalized"])
@pytest.mark.parametrize("family", ["bert", "deberta", "gemma3"])
def test_a_later_run_records_nothing_and_has_the_same_logits(encoders, family, optimizer, tmp_path):
    tagger = tagger_on(encoders[family])
    settings = settings_in(tmp_path, f"adaptation.optimizer={optimizer}")
    first, logits = engine_and_logits(tagger, settings)
    assert first.gradient_cache.n_recorded == N_NEIGHBORS
    later, again = engine_and_logits(tagger, settings)
    assert later.gradient_cache.n_recorded == 0
    assert equal(logits, again)


def test_little_memory_takes_from_the_files_what_it_had_to_evict(encoders, tmp_path):
    tagger = tagger_on(encoders["bert"])
    engine, _ = engine_and_logits(tagger, settings_in(tmp_path), memory_bytes=60_000)
    assert engine.gradient_cache.n_recorded == N_NEIGHBORS


@pytest.mark.parametrize(
    "override",
    ["adaptation.max_weight=1", "adaptation.optimizer=normalized", "adaptation.layers=0"],
)
def test_gradients_of_other_settings_are_not_taken(encoders, override, tmp_path):
    tagger = tagger_on(encoders["bert"])
    engine_and_logits(tagger, settings_in(tmp_path))
    settings = settings_in(tmp_path, override)
    engine, _ = engine_and_logits(adapting(tagger, settings.adaptation), settings)
    assert engine.gradient_cache.n_recorded == N_NEIGHBORS


def test_gradients_of_other_weights_are_not_taken(encoders, tmp_path):
    tagger = tagger_on(encoders["bert"])
    engine_and_logits(tagger, settings_in(tmp_path))
    with torch.no_grad():
        next(iter(tagger.trainable.values())).add_(0.01)
    engine, _ = engine_and_logits(tagger, settings_in(tmp_path))
    assert engine.gradient_cache.n_recorded == N_NEIGHBORS


def test_a_damaged_file_is_recorded_again(encoders, tmp_path):
    tagger = tagger_on(encoders["bert"])
    _, logits = engine_and_logits(tagger, settings_in(tmp_path))
    files = sorted(tmp_path.glob("*/*.safetensors"))
    assert len(files) == N_NEIGHBORS
    files[0].write_bytes(files[0].read_bytes()[:100])
    engine, again = engine_and_logits(tagger, settings_in(tmp_path))
    assert engine.gradient_cache.n_recorded == 1
    assert max((a - b).abs().max() for a, b in zip(logits, again, strict=True)) < 1e-5
    assert len(sorted(tmp_path.glob("*/*"))) == N_NEIGHBORS  # nothing half-written is left


def test_the_folder_stays_below_its_limit_and_loses_the_oldest(encoders, tmp_path):
    example = tagger_on(encoders["bert"]).examples(SOURCE)
    files = GradientFiles(tmp_path, "model", max_bytes=5_000)
    rows = {"rows": torch.zeros(1_000 // 4)}
    for position in range(4):
        files.write(example[position], rows)
        (path,) = [p for p in tmp_path.glob("*/*") if p.stat().st_mtime > 10**9]
        os.utime(path, (position + 1, position + 1))
    assert files.read(example[0]) is not None  # now the newest
    files.write(example[4], rows)
    kept = [position for position in range(5) if files.read(example[position]) is not None]
    assert kept == [0, 2, 3, 4]
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 5_000


def test_a_sentence_above_the_limit_is_not_kept(encoders, tmp_path):
    (example, *_) = tagger_on(encoders["bert"]).examples(SOURCE)
    files = GradientFiles(tmp_path, "model", max_bytes=100)
    files.write(example, {"rows": torch.zeros(1_000)})
    assert files.read(example) is None
    assert not list(tmp_path.glob("*/*"))


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"run\.gradient_folder: expected a folder that can be"):
        GradientFiles(tmp_path / "file", "model", max_bytes=100)


def test_a_saved_model_does_not_take_the_folder_along(encoders, tmp_path):
    tagger = tagger_on(encoders["bert"])
    settings = settings_in(tmp_path / "gradients")
    parts = ModelParts(tagger, settings, None, adapts=False)
    NerModel(parts).save(tmp_path / "model")
    assert metacross.load(tmp_path / "model").settings.run.gradient_folder is None
