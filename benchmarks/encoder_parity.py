"""Compares the fast engine with the textbook loop for a tiny encoder of every family.

python -m benchmarks.encoder_parity            # prints the table, in a minute
python -m benchmarks.encoder_parity --write    # and writes it to docs/encoders.md
python -m benchmarks.encoder_parity --encoder FOLDER --layers 10 --frozen-layers 5
                                               # a real encoder, on sentences of the bundled corpus
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor
from torch.nn import functional

from metacross.adaptation.fast import FastEngine, unsupported_reason
from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted
from metacross.model.encoder import new_tagger_network, tag_logits
from metacross.model.tagger import Example, Tagger, TaggerBatch
from metacross.model.tokenizer import load_tokenizer
from metacross.settings import Settings, load_settings, settings_with
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.tags import TagSet
from metacross.text.writing import write_atomically

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "encoders.md"
BEGIN, END = "<!-- python -m benchmarks.encoder_parity --write -->\n", "<!-- end -->\n"
EXAMPLES = {
    "bert": ("BERT", "`bert-base-multilingual-cased`"),
    "distilbert": ("DistilBERT", "`distilbert-base-multilingual-cased`"),
    "xlm-r": ("XLM-RoBERTa", "`FacebookAI/xlm-roberta-base`, `intfloat/multilingual-e5-base`"),
    "xlm": ("XLM", "`FacebookAI/xlm-mlm-100-1280`, with a `tokenizer.json` of your own"),
    "mdeberta": ("DeBERTa-v3", "`microsoft/mdeberta-v3-base`"),
    "deberta": ("DeBERTa-v2 with separate position projections", "own checkpoints"),
    "modernbert": ("ModernBERT", "`jhu-clsp/mmBERT-base`, `answerdotai/ModernBERT-base`"),
    "eurobert": ("EuroBERT", "`EuroBERT/EuroBERT-210m`"),
    "t5": ("T5 (encoder)", "`google-t5/t5-base`"),
    "mt5": ("mT5 (encoder)", "`google/mt5-base`"),
    "gemma3": ("Gemma 3 (text)", "`google/gemma-3-270m`"),
    "embedding-gemma": ("EmbeddingGemma", "`google/embeddinggemma-300m`"),
    "qwen3": ("Qwen3", "`Qwen/Qwen3-0.6B-Base`"),
    "llama": ("Llama", "`meta-llama/Llama-3.2-1B`"),
    "mini": ("bundled encoder", "`mini`"),
}
"""The name of each family and encoders that belong to it, by the names of their tiny twins."""


def max_difference(encoder: str, tiny: ModuleType, *, learning_rate: float) -> float | None:
    """The largest difference of a logit between the engine and the textbook loop; None if the
    engine does not support the encoder.
    """
    settings = load_settings("paper", {"adaptation": {"learning_rate": learning_rate}})
    tagger = tiny.tagger_on(encoder, "encoder.frozen_layers=0")
    if unsupported_reason(tagger, settings) is not None:
        return None
    examples = tagger.examples(tiny.corpus(9, seed=21))
    source = tagger.examples(tiny.corpus(12, seed=22))
    supports = [{n: source[n] for n in (i, (i + 5) % 12)} for i in range(len(examples))]
    try:
        fast = FastEngine(tagger, settings, memory_bytes=10**9).logits(examples, supports)
    except UnsupportedLayer:
        return None
    return _max_difference(fast, _textbook_logits(tagger, examples, supports, settings))


def _textbook_logits(
    tagger: Tagger,
    examples: Sequence[Example],
    supports: Sequence[Mapping[int, Example]],
    settings: Settings,
) -> list[Tensor]:
    all_logits = []
    for example, support in zip(examples, supports, strict=True):
        with adapted(
            tagger,
            list(support.values()),
            steps=1,
            learning_rate=settings.adaptation.learning_rate,
            max_weight=settings.adaptation.max_weight,
            optimizer=settings.optimizer,
        ):
            all_logits += label_logits(tagger, [example])
    return all_logits


def _max_difference(some: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    return max((a - b).abs().max().item() for a, b in zip(some, others, strict=True))


def real_encoder_table(encoder: str, *, layers: int | None, frozen_layers: int) -> str:
    """How far engine and textbook loop are from each other, and both from the textbook loop in
    float64, for several learning rates, as Markdown.

    The first step of Adam is nearly the sign of the gradient. Where a gradient is near zero its
    sign depends on rounding, so two ways of adding the same numbers in float32 differ, and more
    with a higher learning rate.
    """
    corpus = bundled_corpus("en", "train")
    overrides = {"encoder": {"layers": layers, "frozen_layers": frozen_layers}}
    settings = load_settings("paper", overrides | {"run": {"device": "cpu"}})
    tag_set = TagSet(tuple(corpus.entities_by_label))
    network = new_tagger_network(encoder, tag_set.tags, seed=0, layers=layers)
    tokenizer = load_tokenizer(encoder)
    tagger = Tagger(network, tokenizer, tag_set, settings.encoder, settings.run)
    examples = tagger.examples(corpus.sentences[:24])
    supports = [{n: examples[n] for n in (8 + i, 16 + i)} for i in range(8)]
    lines = [
        "| learning rate | largest logit | engine - textbook | engine - float64 "
        "| textbook - float64 |",
        "|---|---|---|---|---|",
    ]
    for learning_rate in (1e-5, 1e-4, 1e-3):
        changed = settings_with(settings, {"adaptation": {"learning_rate": learning_rate}})
        fast = FastEngine(tagger, changed, memory_bytes=10**9).logits(examples[:8], supports)
        textbook = _textbook_logits(tagger, examples[:8], supports, changed)
        exact = _float64_logits(tagger, examples[:8], supports, learning_rate)
        pairs = ((fast, textbook), (fast, exact), (textbook, exact))
        numbers = " | ".join(f"{_max_difference(*pair):.1e}" for pair in pairs)
        largest = max(logits.abs().max().item() for logits in exact)
        lines.append(f"| {learning_rate:.0e} | {largest:.1f} | {numbers} |")
    return "\n".join(lines) + "\n"


def _float64_logits(
    tagger: Tagger,
    examples: Sequence[Example],
    supports: Sequence[Mapping[int, Example]],
    learning_rate: float,
) -> list[Tensor]:
    """Adapted logits with everything in float64; by the first step of Adam as a formula."""
    network = copy.deepcopy(tagger.network).double()
    weights = [network.get_parameter(name) for name in tagger.trainable]
    originals = [weight.detach().clone() for weight in weights]

    def logits(batch: TaggerBatch) -> Tensor:
        scores = tag_logits(network, batch.piece_ids, batch.attention)
        return scores[batch.window_of_word, batch.piece_of_word]

    all_logits = []
    for example, support in zip(examples, supports, strict=True):
        batch = tagger.batch(list(support.values()))
        assert batch.tag_ids is not None
        of_words = functional.cross_entropy(logits(batch), batch.tag_ids, reduction="none")
        of_sentences = [
            of_words[batch.sentence_of_word == i].mean() for i in range(batch.n_sentences)
        ]
        gradients = torch.autograd.grad(
            torch.stack(of_sentences).mean(), weights, allow_unused=True, materialize_grads=True
        )
        with torch.no_grad():
            for weight, original, gradient in zip(weights, originals, gradients, strict=True):
                weight.copy_(original - learning_rate * gradient / (gradient.abs() + 1e-8))
            all_logits.append(logits(tagger.batch([example])))
            for weight, original in zip(weights, originals, strict=True):
                weight.copy_(original)
    return all_logits


def table() -> str:
    """A row for every family, as Markdown."""
    tiny = _tiny()
    lines = [
        "| family | example | fast engine | maximum logit difference |",
        "|---|---|---|---|",
    ]
    for family, (name, examples) in EXAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            is_mini = family == "mini"
            encoder = "mini" if is_mini else tiny.make_encoder(family, Path(folder))
            difference = max_difference(encoder, tiny, learning_rate=1e-4 if is_mini else 1e-3)
        engine, number = ("no", "") if difference is None else ("yes", f"{difference:.1e}")
        lines.append(f"| {name} | {examples} | {engine} | {number} |")
    return "\n".join(lines) + "\n"


def _tiny() -> ModuleType:
    """The tiny encoders of the tests."""
    spec = importlib.util.spec_from_file_location("tiny", ROOT / "tests" / "tiny.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError("expected tests/tiny.py, found none")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder_parity")
    parser.add_argument("--write", action="store_true", help="write the table to docs/encoders.md")
    parser.add_argument("--encoder", help="folder or hub name of a real encoder")
    parser.add_argument("--layers", type=int, help="layers to read of it; all if not given")
    parser.add_argument("--frozen-layers", type=int, default=0, help="layers that do not adapt")
    options = parser.parse_args(arguments)
    if options.encoder:
        sys.stdout.write(
            real_encoder_table(
                options.encoder, layers=options.layers, frozen_layers=options.frozen_layers
            )
        )
        return
    write = options.write
    rows = table()
    sys.stdout.write(rows)
    if write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        write_atomically(PAGE, [f"{before}{BEGIN}\n{rows}\n{END}{after}"])


if __name__ == "__main__":
    main()
