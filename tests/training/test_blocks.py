"""Steps in blocks: how items are cut, and that the order of additions is always the same."""

import random

import pytest
import torch

import metacross
import tiny
from metacross.errors import RunError, SettingsError
from metacross.model.ranks import ALONE, Ranks
from metacross.settings import load_settings
from metacross.training.batch_training import mini_batch_step
from metacross.training.blocks import LossSum, blocks_of, own_sum, total, with_blocks
from metacross.training.meta_training import maml_step
from metacross.training.tasks import Task

SOURCE, DEV = tiny.corpus(30), tiny.corpus(15, seed=1)


@pytest.mark.parametrize("n_blocks", [2, 4, 8])
def test_blocks_hold_every_item_once_and_about_the_same_number_of_pieces(n_blocks):
    rng = random.Random(0)
    lengths = [rng.randint(3, 60) for _ in range(100)]
    blocks = blocks_of(range(100), lengths, n_blocks)
    assert sorted(item for block in blocks for item in block) == [*range(100)]
    sizes = [sum(lengths[item] for item in block) for block in blocks]
    assert max(sizes) - min(sizes) <= 2 * max(lengths)
    in_order = [lengths[item] for block in blocks for item in block]
    assert in_order == sorted(in_order)


def test_a_single_block_has_the_items_in_their_order():
    assert blocks_of([3, 1, 2], [9, 5, 7], 1) == [[3, 1, 2]]


def test_with_fewer_items_than_blocks_some_blocks_are_empty():
    blocks = blocks_of([0, 1], [4, 4], 8)
    assert sorted(map(len, blocks)) == [0] * 6 + [1] * 2


def sums_of_processes(n_processes, blocks, of_block, weights):
    """What each process has after the exchanges, which are done here by hand."""
    sums = [
        own_sum(blocks, of_block, weights, Ranks(rank, n_processes)) for rank in range(n_processes)
    ]
    distance = 1
    while distance < n_processes:
        sums = [
            LossSum(
                mine.loss + sums[rank ^ distance].loss,
                [
                    a + b
                    for a, b in zip(mine.gradients, sums[rank ^ distance].gradients, strict=True)
                ],
            )
            for rank, mine in enumerate(sums)
        ]
        distance *= 2
    return sums


@pytest.mark.parametrize("n_items", [3, 8, 37])
def test_the_sum_has_the_same_bits_for_1_2_4_and_8_processes(n_items):
    generator = torch.Generator().manual_seed(0)
    values = [torch.randn(50, generator=generator) * 10.0 ** (i % 5) for i in range(n_items)]
    weights = [torch.zeros(50)]

    def of_block(_number, block):
        return LossSum(sum(float(values[i][0]) for i in block), [sum(values[i] for i in block)])

    blocks = blocks_of(range(n_items), [5 + i % 7 for i in range(n_items)], 8)
    alone = total(own_sum(blocks, of_block, weights, ALONE), ALONE)
    assert torch.allclose(alone.gradients[0], sum(values), rtol=1e-4, atol=1e-2)
    for n_processes in (2, 4, 8):
        for shared in sums_of_processes(n_processes, blocks, of_block, weights):
            assert shared.loss == alone.loss
            assert torch.equal(shared.gradients[0], alone.gradients[0])


class Recorder:
    """In the place of an optimizer; keeps the gradients."""

    def step(self, gradients, _learning_rate):
        self.gradients = [gradient.clone() for gradient in gradients]


@pytest.mark.parametrize("method", ["adam", "normalized", "direct"])
def test_blocks_change_nothing_but_rounding_without_dropout(method, encoders):
    tagger = tiny.tagger_on(encoders["llama"], "encoder.dropout=0")
    examples = tagger.examples(SOURCE)
    tasks = [Task(i, ((i + 1) % 30, (i + 2) % 30)) for i in range(30)]
    found = {}
    for blocks in (1, 4, 8):
        overrides = ["masking.ratio=0", "direct.batch_size=12", "meta.tasks_per_step=12"]
        if method != "direct":
            overrides.append(f"meta.inner_optimizer={method}")
        settings = load_settings("paper", [*tiny.FAST, *overrides, f"run.blocks={blocks}"])
        adam = Recorder()
        if method == "direct":
            result = mini_batch_step(tagger, examples, settings, adam)(0)
        else:
            result = maml_step(tagger, examples, tasks, settings, adam)(0)
        found[blocks] = (result.loss, adam.gradients)
    for blocks in (4, 8):
        assert found[blocks][0] == pytest.approx(found[1][0], rel=1e-5)
        assert all(g.abs().sum() > 0 for g in found[blocks][1])
        for ours, one_block in zip(found[blocks][1], found[1][1], strict=True):
            assert torch.allclose(ours, one_block, rtol=1e-3, atol=1e-4)


def test_the_number_of_blocks_is_as_set_then_as_recorded_then_of_torchrun():
    settings, eight = load_settings("paper"), load_settings("paper", ["run.blocks=8"])
    launched = Ranks(0, 2, launched=True)
    assert with_blocks(settings, None, ALONE).run.blocks is None
    assert with_blocks(settings, None, launched).run.blocks == 8
    assert with_blocks(settings, None, Ranks(launched=True)).run.blocks == 8
    assert with_blocks(settings, 4, ALONE).run.blocks == 4
    assert with_blocks(eight, 4, ALONE).run.blocks == 8
    assert with_blocks(load_settings("paper", ["run.blocks=1"]), None, ALONE) == settings
    with pytest.raises(SettingsError, match=r"expected 2 or more.*use fewer processes"):
        with_blocks(settings, 1, launched)
    with pytest.raises(SettingsError, match=r"expected 2 or more.*found 1$"):
        with_blocks(load_settings("paper", ["run.blocks=1"]), None, launched)


def test_a_training_in_blocks_resumes_in_as_many_without_being_told(encoders, tmp_path):
    def train(*overrides):
        recipe = load_settings("direct", [*tiny.FAST, "direct.steps=2", *overrides])
        metacross.train(
            SOURCE, dev=DEV, encoder=encoders["bert"], recipe=recipe, output=tmp_path / "model"
        )

    train("run.blocks=4")
    train()
    with pytest.raises(RunError, match=r"holds a training with run\.blocks = 4, now 2"):
        train("run.blocks=2")
