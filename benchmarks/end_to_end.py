"""Measures prediction from words to entities: tokenization, retrieval, adaptation, labeling."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measuring import summary, time_in_turns
from benchmarks.sizes import new_model
from benchmarks.synthetic_source import varied_sentences
from metacross.adaptation.ner_model import NerModel
from metacross.model.datastore import Datastore
from metacross.model.model_folder import ModelParts
from metacross.settings import settings_with
from metacross.text.bundled_corpus import TARGETS
from metacross.text.sentence import Corpus, Sentence

WAYS: dict[str, dict[str, Any]] = {
    "adam": {"optimizer": "adam"},
    "normalized": {"optimizer": "normalized"},
    "to files": {"optimizer": "normalized"},
    "from files": {"optimizer": "normalized"},
    "one layer": {"optimizer": "normalized", "layers": 1},
}
"""Adaptation settings by name."""
_WARM_UP = 8  # sentences


def measure(size: str, *, repeats: int, n_tests: int, n_adam: int) -> dict[str, Any]:
    """Time per sentence of plain prediction, and of adapted prediction by what adapts and how, with
    nothing recorded before and with gradients in files: at first use and later. The bundled encoder
    makes the sentence vectors.
    """
    model = new_model(size, "pretrained" if size == "mini" else "bundled")
    sentences = foreign_sentences(n_tests)
    n_recorded: dict[str, int] = {}

    def adapted(way: str, n: int, folder: Path | None = None) -> Callable[[int], int]:
        def predict(repeat: int) -> int:
            run = {"gradient_folder": str(folder / str(repeat))} if folder else {}
            parts = adapting(model, WAYS[way], **run)
            n_recorded[way] = _n_recorded(
                predict_adapted(parts, sentences[: n if repeat else _WARM_UP])
            )
            return n

        return predict

    def plain(repeat: int) -> int:
        predict_plain(model, sentences[: n_tests if repeat else _WARM_UP])
        return n_tests

    with tempfile.TemporaryDirectory(prefix="metacross-") as temporary:
        folder = Path(temporary)
        variants: dict[str, Callable[[int], int]] = {
            "plain": plain,
            "adam": adapted("adam", n_adam),
            "normalized": adapted("normalized", n_tests),
            "to files": adapted("to files", n_tests, folder),
            "from files": adapted("from files", n_tests, folder),
            "one layer": adapted("one layer", n_tests),
        }
        seconds = time_in_turns(variants, repeats=repeats)
    if n_recorded["from files"]:
        raise RuntimeError("the gradients do not fit in the folder")
    return {
        "variants": summary(seconds, "plain"),
        "sentences": n_tests,
        "adam_sentences": n_adam,
        "source_sentences": len(model.datastore.source) if model.datastore else 0,
        "recorded_per_sentence": {
            way: n / (n_adam if way == "adam" else n_tests) for way, n in n_recorded.items()
        },
    }


def growth(*, repeats: int, n_tests: int, source_sizes: Sequence[int]) -> dict[str, Any]:
    """Cost relative to plain prediction as the source grows, with the bundled encoder, normalized
    steps and nothing recorded before.
    """
    model = new_model("mini", "pretrained")
    sentences = foreign_sentences(n_tests)
    results: dict[str, Any] = {}
    for n_source in source_sizes:
        normalized = adapting(_with_source(model, n_source), WAYS["normalized"])
        n_recorded: list[int] = []

        def adapted(_repeat: int, parts: ModelParts = normalized) -> int:
            n_recorded.append(_n_recorded(predict_adapted(parts, sentences)))  # noqa: B023
            return n_tests

        def plain(_repeat: int) -> int:
            return len(predict_plain(model, sentences))

        variants = {"plain": plain, "normalized": adapted}
        seconds = time_in_turns(variants, repeats=repeats)
        results[str(n_source)] = {
            "variants": summary(seconds, "plain"),
            "recorded_per_sentence": n_recorded[-1] / n_tests,
        }
    return results


def foreign_sentences(n: int) -> list[Sentence]:
    """Sentences of all target languages in random order: bundled ones with other entities and some
    other words.
    """
    per_language = -(-n // len(TARGETS))
    sentences = [
        sentence.with_spans(None)
        for language in TARGETS
        for sentence in varied_sentences(per_language, seed=1, language=language, split="test")
    ]
    random.Random(0).shuffle(sentences)
    return sentences[:n]


def adapting(model: ModelParts, adaptation: Mapping[str, object], **run: object) -> ModelParts:
    """A model with other settings of adaptation and of the run."""
    groups = {"adaptation": adaptation, "run": run}
    return replace(model, settings=settings_with(model.settings, groups))


def _with_source(model: ModelParts, n_source: int) -> ModelParts:
    if model.datastore is None:
        raise ValueError("expected a model with a datastore")
    datastore = model.datastore
    source = Corpus(tuple(varied_sentences(n_source, seed=2)))
    vectors = datastore.sentence_encoder.vectors(source.sentences)
    changed = Datastore(
        source, vectors, datastore.sentence_encoder, datastore.pretrained, datastore.outside
    )
    return replace(model, datastore=changed)


def predict_adapted(model: ModelParts, sentences: Sequence[Sentence]) -> NerModel:
    """Label sentences with a model that was just loaded."""
    ner_model = NerModel(model)
    for _ in ner_model.predict_stream(sentences, adapt=True):
        pass
    return ner_model


def predict_plain(model: ModelParts, sentences: Sequence[Sentence]) -> list[object]:
    """Likewise without adaptation; returns the predictions."""
    return list(NerModel(model).predict_stream(sentences, adapt=False))


def _n_recorded(model: NerModel) -> int:
    return model._adapter.n_recorded
