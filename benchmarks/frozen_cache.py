"""Measures training with and without the cache of frozen layers' outputs.

python -m benchmarks.frozen_cache    # 10 layers of the shape of Gemma 3 270M, 5 of them frozen

The weights are random, which does not change the time. The sentences are those of the bundled
English corpus; they are in the cache already, as they are after the first epoch.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator

import torch
from transformers import Gemma3TextConfig

from benchmarks.measuring import Variant, machine, summary, time_in_turns
from benchmarks.memory import peak_megabytes
from benchmarks.sizes import TAG_SET
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.plain import label_logits
from metacross.model.reading_direction import Gemma3TextForTokenClassification
from metacross.model.tagger import Example, Tagger
from metacross.model.tokenizer import load_tokenizer
from metacross.settings import Settings, load_settings
from metacross.text.bundled_corpus import bundled_corpus
from metacross.training.batch_training import mini_batch_step
from metacross.training.loop import Step
from metacross.training.meta_training import maml_step
from metacross.training.tasks import Task

_SETTINGS = (
    "run.device=cpu",
    "masking.ratio=0",
    "encoder.frozen_layers=5",
    "direct.batch_size=16",
    "meta.tasks_per_step=4",
)
METHODS = ("direct", "meta")
_N_SENTENCES = 200


def new_tagger() -> tuple[Tagger, Settings]:
    """A tagger on ten random layers, of which the lower five are frozen."""
    settings = load_settings("paper", _SETTINGS)
    tokenizer = load_tokenizer("mini")
    config = Gemma3TextConfig(
        vocab_size=len(tokenizer.fast),
        num_hidden_layers=10,
        hidden_size=640,
        intermediate_size=2_048,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=256,
        use_bidirectional_attention=True,
    )
    config.num_labels = len(TAG_SET.tags)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Gemma3TextForTokenClassification(config)  # type: ignore[no-untyped-call]
    network.train(False)
    return Tagger(network, tokenizer, TAG_SET, settings.encoder, settings.run), settings


def steps_of(method: str, tagger: Tagger, examples: list[Example], settings: Settings) -> Step:
    """Training steps; the support of a task are the next two sentences."""
    adam = Adam(tagger.trainable, settings.optimizer)
    if method == "direct":
        return mini_batch_step(tagger, examples, settings, adam)
    n = len(examples)
    tasks = [Task(i, ((i + 1) % n, (i + 2) % n)) for i in range(n)]
    return maml_step(tagger, examples, tasks, settings, adam)


def measure(method: str, *, repeats: int) -> dict[str, dict[str, float]]:
    """Times per step with and without the cache, in turns."""
    with contextlib.ExitStack() as stack:
        steps = {
            name: stack.enter_context(_training(method, with_cache=name == "with"))
            for name in ("without", "with")
        }

        def variant(step: Step) -> Variant:
            return lambda repeat: step(repeat).n_items

        variants = {name: variant(step) for name, step in steps.items()}
        return summary(time_in_turns(variants, repeats=repeats), "with")


@contextlib.contextmanager
def _training(method: str, *, with_cache: bool) -> Iterator[Step]:
    """The steps of a training; the cache holds all sentences."""
    tagger, settings = new_tagger()
    examples = tagger.examples(bundled_corpus("en", "train").sentences[:_N_SENTENCES])
    memory_bytes = 2**20 * settings.run.frozen_cache_mb if with_cache else 0
    with tagger.frozen_cache(examples, memory_bytes=memory_bytes):
        if with_cache:
            for example in examples:
                label_logits(tagger, [example])
        yield steps_of(method, tagger, examples, settings)


def _peak(method: str, kind: str) -> float:
    """The peak memory of a new process that takes two steps, in MB."""
    command = [sys.executable, "-m", "benchmarks.frozen_cache", "--memory", method, kind]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    megabytes: float = json.loads(process.stdout.splitlines()[-1])
    return megabytes


def main() -> None:
    """Print a table of both methods as Markdown."""
    if sys.argv[1:2] == ["--memory"]:
        method, kind = sys.argv[2:]
        with _training(method, with_cache=kind == "with") as step:
            step(0), step(1)
        sys.stdout.write(f"{peak_megabytes()}\n")
        return
    lines = [
        "| | without | with the cache | ratio | peak without | peak with |",
        "|---|" + "---|" * 5,
    ]
    for method in METHODS:
        times = measure(method, repeats=5)
        without, with_cache = times["without"], times["with"]
        peaks = " | ".join(f"{_peak(method, kind):,.0f} MB" for kind in ("without", "with"))
        lines.append(
            f"| {method}, milliseconds per item | {without['milliseconds']:.0f} "
            f"| {with_cache['milliseconds']:.0f} | {without['ratio']:.2f} "
            f"({without['lowest_ratio']:.2f} to {without['highest_ratio']:.2f}) | {peaks} |"
        )
    sys.stdout.write("\n".join(lines) + f"\n\n{machine()}\n")


if __name__ == "__main__":
    main()
