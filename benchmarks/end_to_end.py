"""Sentences a second with everything in it: pieces, neighbors, adaptation, labels."""

from __future__ import annotations

from typing import Any

from benchmarks.measuring import in_turns, summary
from benchmarks.sizes import foreign_sentences, new_model
from metacross.adaptation.ner_model import NerModel


def measure(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Milliseconds for a sentence, adapted and plain, in turns."""
    model = new_model(size, "bundled")
    sentences = foreign_sentences()[:n_tests]

    def by(adapt: bool, repeat: int) -> int:
        chosen = sentences if repeat else sentences[:8]
        return len(list(NerModel(model).predict_stream(chosen, adapt=adapt)))

    ways = {
        "adapted": lambda repeat: by(True, repeat),
        "plain": lambda repeat: by(False, repeat),
    }
    return {"ways": summary(in_turns(ways, repeats=repeats), "plain"), "sentences": n_tests}
