"""Measures prediction from words to entities: tokenization, retrieval, adaptation, labeling."""

from __future__ import annotations

from typing import Any

from benchmarks.measuring import summary, time_in_turns
from benchmarks.sizes import foreign_sentences, new_model
from metacross.adaptation.ner_model import NerModel


def measure(size: str, *, repeats: int, n_tests: int) -> dict[str, Any]:
    """Time per sentence of adapted and plain prediction."""
    model = new_model(size, "bundled")
    sentences = foreign_sentences()[:n_tests]

    def predict(adapt: bool, repeat: int) -> int:
        predicted = sentences if repeat else sentences[:8]
        return len(list(NerModel(model).predict_stream(predicted, adapt=adapt)))

    variants = {
        "adapted": lambda repeat: predict(True, repeat),
        "plain": lambda repeat: predict(False, repeat),
    }
    seconds = time_in_turns(variants, repeats=repeats)
    return {"variants": summary(seconds, "plain"), "sentences": n_tests}
