"""Measures the time to adapt to a sentence and label it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks import released
from benchmarks.measuring import summary, time_in_turns
from benchmarks.sizes import Workload, workload
from metacross.adaptation.adam_weights import AdamGroups
from metacross.adaptation.adapted_part import adapting
from metacross.adaptation.fast import FastEngine
from metacross.adaptation.low_rank_groups import LowRankGroups
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted
from metacross.model.batching import length_batches
from metacross.model.tagger import Example
from metacross.settings import settings_with

ADAPTED_PARTS: dict[str, dict[str, Any]] = {
    "all weights, adam": {"optimizer": "adam"},
    "all weights": {"optimizer": "normalized"},
    "two layers": {"optimizer": "normalized", "layers": 2},
    "one layer": {"optimizer": "normalized", "layers": 1},
    "vectors": {"optimizer": "normalized", "weights": "vectors"},
    "classifier": {"optimizer": "normalized", "layers": 0},
}
"""Adaptation settings by name."""
_WARM_BYTES = 8 * 2**30  # room for all gradients
_SLOW_SENTENCES = {"mini": 40, "mbert": 12}  # sentences per repeat, except for the fast engine


def measure(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Time per sentence of four implementations; the neighbors are already retrieved."""
    work = workload(size)
    slow_positions = work.evenly_spread(min(n_tests, _SLOW_SENTENCES[size]))
    n_recorded: list[int] = []

    def with_released(_repeat: int) -> int:
        learning_rate = work.settings.adaptation.learning_rate
        for i in slow_positions:
            support = list(work.supports[i].values())
            released.label(work.tagger, work.tests[i], support, learning_rate)
        return len(slow_positions)

    def with_textbook(_repeat: int) -> int:
        for i in slow_positions:
            textbook_logits(work, i)
        return len(slow_positions)

    def with_engine(repeat: int) -> int:
        positions = random.Random(repeat).sample(range(len(work.tests)), n_tests if repeat else 8)
        engine = new_engine(work)
        _engine_logits(engine, work, positions)
        n_recorded.append(engine.gradient_cache.n_recorded)
        return len(positions)

    def without_adaptation(_repeat: int) -> int:
        for i in slow_positions:
            label_logits(work.tagger, [work.tests[i]])
        return len(slow_positions)

    variants = {
        "released": with_released,
        "textbook": with_textbook,
        "fast": with_engine,
        "plain": without_adaptation,
    }
    return {
        "variants": summary(time_in_turns(variants, repeats=repeats), "fast"),
        "sentences": n_tests,
        "recorded_per_sentence": sum(n_recorded[1:]) / len(n_recorded[1:]) / n_tests,
        "mean_sentence_pieces": _mean([example.n_pieces for example in work.tests]),
        "mean_support_pieces": _mean(
            [sum(e.n_pieces for e in support.values()) for support in work.supports]
        ),
        "max_logit_difference": _max_difference(work, slow_positions[:4]),
    }


def measure_normalized(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Time per sentence of normalized steps, with gradients that are recorded already and without,
    and of plain prediction in batches.
    """
    work = workload(size)
    normalized = settings_with(work.settings, {"adaptation": {"optimizer": "normalized"}})
    positions = work.evenly_spread(n_tests)
    tests = [work.tests[i] for i in positions]
    supports = [work.supports[i] for i in positions]
    warm_engine = FastEngine(work.tagger, normalized, memory_bytes=_WARM_BYTES)
    warm_engine.logits(tests, supports)

    def warm(_repeat: int) -> int:
        warm_engine.logits(tests, supports)
        return n_tests

    def cold(_repeat: int) -> int:
        new_engine(work, "normalized").logits(tests, supports)
        return n_tests

    n_recorded = warm_engine.gradient_cache.n_recorded
    variants = {"plain": _plain(work, tests), "warm": warm, "cold": cold}
    times = time_in_turns(variants, repeats=repeats)
    if warm_engine.gradient_cache.n_recorded != n_recorded:
        raise RuntimeError("the gradients do not fit in the memory of the warm engine")
    return {
        "variants": summary(times, "plain"),
        "sentences": n_tests,
        "recorded_per_sentence": n_recorded / n_tests,
    }


def measure_parts(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Time per sentence if only a part of the weights adapts, with nothing recorded before, and of
    plain prediction in batches.
    """
    work = workload(size)
    positions = work.evenly_spread(n_tests)
    tests = [work.tests[i] for i in positions]
    supports = [work.supports[i] for i in positions]

    def with_part(values: dict[str, Any]) -> Callable[[int], int]:
        settings = settings_with(work.settings, {"adaptation": values})
        tagger = adapting(work.tagger, settings.adaptation)

        def run(_repeat: int) -> int:
            memory_bytes = 2**20 * settings.run.gradient_cache_mb
            FastEngine(tagger, settings, memory_bytes=memory_bytes).logits(tests, supports)
            return n_tests

        return run

    variants = {name: with_part(values) for name, values in ADAPTED_PARTS.items()}
    variants["plain"] = _plain(work, tests)
    return {"variants": summary(time_in_turns(variants, repeats=repeats), "plain")}


def _plain(work: Workload, tests: Sequence[Example]) -> Callable[[int], int]:
    def run(_repeat: int) -> int:
        windows = [example.windows for example in tests]
        for batch in length_batches(windows, max_pieces=work.settings.run.batch_pieces):
            label_logits(work.tagger, [tests[i] for i in batch])
        return len(tests)

    return run


def growth(*, repeats: int, n_tests: int) -> dict[str, Any]:
    """Milliseconds per sentence with the bundled encoder as one quantity grows."""
    times: dict[str, Any] = {"neighbors": {}, "length": {}, "support": {}, "batch_size": {}}
    for k in (1, 2, 4, 8):
        work = workload("mini", neighbors=k)
        times["neighbors"][k] = _milliseconds(work, work.evenly_spread(n_tests), repeats)
    work = workload("mini")

    def support_pieces(i: int) -> int:
        return sum(example.n_pieces for example in work.supports[i].values())

    def sentence_pieces(i: int) -> int:
        return work.tests[i].n_pieces

    for quantity, n_pieces in (("length", sentence_pieces), ("support", support_pieces)):
        ordered = sorted(range(len(work.tests)), key=n_pieces)
        n = len(ordered)
        for quarter in range(4):
            in_quarter = ordered[quarter * n // 4 : (quarter + 1) * n // 4]
            positions = in_quarter[:: max(1, len(in_quarter) // n_tests)]
            mean = round(_mean([n_pieces(i) for i in positions]))
            times[quantity][mean] = _milliseconds(work, positions, repeats)
    defaults = {groups: groups.group_size for groups in (AdamGroups, LowRankGroups)}
    try:
        for batch_size in (1, 2, 4, 8, 16, 32):
            for groups in defaults:
                groups.group_size = batch_size
            positions = work.evenly_spread(n_tests)
            times["batch_size"][batch_size] = _milliseconds(work, positions, repeats)
    finally:
        for groups, default in defaults.items():
            groups.group_size = default
    return times


def new_engine(work: Workload, optimizer: str = "adam") -> FastEngine:
    """An engine with an empty gradient cache."""
    settings = settings_with(work.settings, {"adaptation": {"optimizer": optimizer}})
    return FastEngine(work.tagger, settings, memory_bytes=2**20 * settings.run.gradient_cache_mb)


def textbook_logits(work: Workload, i: int) -> torch.Tensor:
    """Adapt, label, restore the weights. *Shape:* (words, tags)."""
    settings = work.settings.adaptation
    with adapted(
        work.tagger,
        list(work.supports[i].values()),
        steps=1,
        learning_rate=settings.learning_rate,
        max_weight=settings.max_weight,
        optimizer=work.settings.optimizer,
    ):
        return label_logits(work.tagger, [work.tests[i]])[0]


def _engine_logits(engine: FastEngine, work: Workload, positions: list[int]) -> list[torch.Tensor]:
    tests = [work.tests[i] for i in positions]
    return engine.logits(tests, [work.supports[i] for i in positions])


def _max_difference(work: Workload, positions: list[int]) -> float:
    """The largest difference between logits of the engine and of the textbook loop."""
    fast = _engine_logits(new_engine(work), work, positions)
    textbook = [textbook_logits(work, i) for i in positions]
    return max(float((a - b).abs().max()) for a, b in zip(fast, textbook, strict=True))


def _mean(values: list[int]) -> float:
    return sum(values) / len(values)


def _milliseconds(work: Workload, positions: list[int], repeats: int) -> dict[str, float]:
    def with_engine(optimizer: str) -> Callable[[int], int]:
        def run(_repeat: int) -> int:
            _engine_logits(new_engine(work, optimizer), work, positions)
            return len(positions)

        return run

    def with_textbook(_repeat: int) -> int:
        for i in positions[::4]:
            textbook_logits(work, i)
        return len(positions[::4])

    variants = {
        "fast": with_engine("adam"),
        "normalized": with_engine("normalized"),
        "textbook": with_textbook,
        "plain": _plain(work, [work.tests[i] for i in positions]),
    }
    summaries = summary(time_in_turns(variants, repeats=repeats), "fast")
    return {name: variant["milliseconds"] for name, variant in summaries.items()}
