"""Compares the fast engine with the textbook loop for a tiny encoder of every family.

python -m benchmarks.encoder_parity            # prints the table, in a minute
python -m benchmarks.encoder_parity --write    # and writes it to docs/encoders.md
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from metacross.adaptation.fast import FastEngine, unsupported_reason
from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted
from metacross.settings import load_settings
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
    differences = []
    for example, support, logits in zip(examples, supports, fast, strict=True):
        with adapted(
            tagger,
            list(support.values()),
            steps=1,
            learning_rate=learning_rate,
            max_weight=settings.adaptation.max_weight,
            optimizer=settings.optimizer,
        ):
            (textbook,) = label_logits(tagger, [example])
        differences.append((logits - textbook).abs().max().item())
    return max(differences)


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
    write = parser.parse_args(arguments).write
    rows = table()
    sys.stdout.write(rows)
    if write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        write_atomically(PAGE, [f"{before}{BEGIN}\n{rows}\n{END}{after}"])


if __name__ == "__main__":
    main()
