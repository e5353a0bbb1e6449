"""How long adapting to a sentence and labeling it takes."""

from __future__ import annotations

import random
from typing import Any

import torch

from benchmarks import released
from benchmarks.measuring import in_turns, summary
from benchmarks.sizes import Work, work
from metacross.adaptation import fast as engine_module
from metacross.adaptation.fast import FastEngine
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted

_SAMPLES = {"mini": 40, "mbert": 12}  # sentences of the slow ways in each repeat


def new_engine(own: Work) -> FastEngine:
    """An engine that has seen nothing yet."""
    megabytes = own.settings.run.gradient_cache_mb
    return FastEngine(own.tagger, own.settings, memory_bytes=2**20 * megabytes)


def textbook(own: Work, i: int) -> torch.Tensor:
    """Adapt, label, restore. *Shape:* (words, tags)."""
    settings = own.settings.adaptation
    with adapted(
        own.tagger,
        list(own.supports[i].values()),
        steps=1,
        learning_rate=settings.learning_rate,
        max_weight=settings.max_weight,
        optimizer=own.settings.optimizer,
    ):
        return label_logits(own.tagger, [own.tests[i]])[0]


def measure(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Seconds for a sentence in four ways, with the supports known, in turns."""
    own = work(size)
    slow = own.spread(min(n_tests, _SAMPLES[size]))
    n_recorded: list[int] = []

    def by_released(_repeat: int) -> int:
        for i in slow:
            support = list(own.supports[i].values())
            released.label(own.tagger, own.tests[i], support, own.settings.adaptation.learning_rate)
        return len(slow)

    def by_textbook(_repeat: int) -> int:
        for i in slow:
            textbook(own, i)
        return len(slow)

    def by_engine(repeat: int) -> int:
        chosen = random.Random(repeat).sample(range(len(own.tests)), n_tests if repeat else 8)
        engine = new_engine(own)
        engine.logits([own.tests[i] for i in chosen], [own.supports[i] for i in chosen])
        n_recorded.append(engine.gradient_cache.n_recorded)
        return len(chosen)

    def by_plain(_repeat: int) -> int:
        for i in slow:
            label_logits(own.tagger, [own.tests[i]])
        return len(slow)

    ways = {
        "released": by_released,
        "textbook": by_textbook,
        "engine": by_engine,
        "plain": by_plain,
    }
    return {
        "ways": summary(in_turns(ways, repeats=repeats), "engine"),
        "sentences": n_tests,
        "recorded_for_each_sentence": sum(n_recorded[1:]) / len(n_recorded[1:]) / n_tests,
        "pieces_of_a_sentence": _mean([example.n_pieces for example in own.tests]),
        "pieces_of_a_support": _mean(
            [sum(e.n_pieces for e in support.values()) for support in own.supports]
        ),
        "largest_difference_of_logits": _difference(own, slow[:4]),
    }


def _difference(own: Work, chosen: list[int]) -> float:
    """Between the engine and the textbook loop."""
    ours = new_engine(own).logits([own.tests[i] for i in chosen], [own.supports[i] for i in chosen])
    theirs = [textbook(own, i) for i in chosen]
    return max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))


def _mean(values: list[int]) -> float:
    return sum(values) / len(values)


def growth(*, repeats: int, n_tests: int) -> dict[str, Any]:
    """Milliseconds for a sentence with the bundled encoder, as one thing grows."""
    found: dict[str, Any] = {"k": {}, "length": {}, "together": {}}
    for k in (1, 2, 4, 8):
        own = work("mini", neighbors=k)
        found["k"][k] = _times(own, own.spread(n_tests), repeats)
    own = work("mini")
    for quarter in range(4):
        order = own.spread(len(own.tests))
        order.sort(key=lambda i: own.tests[i].n_pieces)
        part = order[quarter * len(order) // 4 : (quarter + 1) * len(order) // 4]
        chosen = part[:: max(1, len(part) // n_tests)]
        length = round(_mean([own.tests[i].n_pieces for i in chosen]))
        found["length"][length] = _times(own, chosen, repeats)
    before = engine_module._GROUP_SIZE
    try:
        for together in (1, 2, 4, 6, 8, 16):
            engine_module._GROUP_SIZE = together
            found["together"][together] = _times(own, own.spread(n_tests), repeats)
    finally:
        engine_module._GROUP_SIZE = before
    return found


def _times(own: Work, chosen: list[int], repeats: int) -> dict[str, float]:
    def by_engine(_repeat: int) -> int:
        new_engine(own).logits([own.tests[i] for i in chosen], [own.supports[i] for i in chosen])
        return len(chosen)

    def by_textbook(_repeat: int) -> int:
        for i in chosen[::4]:
            textbook(own, i)
        return len(chosen[::4])

    ways = {"engine": by_engine, "textbook": by_textbook}
    return {
        name: way["milliseconds"]
        for name, way in summary(in_turns(ways, repeats=repeats), "engine").items()
    }
