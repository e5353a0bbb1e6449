"""Shows in which operations plain and adapted prediction spend their time, with one thread.

python -m benchmarks.where_time_goes mini 1000
python -m benchmarks.where_time_goes mbert 150

Adapted prediction has normalized steps and reads gradients from files.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.end_to_end import WAYS, adapting, foreign_sentences, predict_adapted, predict_plain
from benchmarks.measuring import machine_line
from benchmarks.sizes import SIZES, new_model


def main() -> None:
    """Print the time per sentence and a table of operations for both."""
    if len(sys.argv) != 3 or sys.argv[1] not in SIZES:
        raise SystemExit(__doc__)
    size, sentences = sys.argv[1], foreign_sentences(int(sys.argv[2]))
    torch.set_num_threads(1)
    model = new_model(size, "pretrained" if size == "mini" else "bundled")
    with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
        adapted = adapting(model, WAYS["from files"], gradient_folder=folder, threads=1)
        plain = adapting(model, {}, threads=1)
        predict_adapted(adapted, sentences)  # fills the folder
        sys.stdout.write(f"{machine_line()}\n")
        _show("plain", lambda: predict_plain(plain, sentences), len(sentences))
        _show("adapted", lambda: predict_adapted(adapted, sentences), len(sentences))


def _show(name: str, work: Callable[[], object], n_sentences: int) -> None:
    work()
    start = time.perf_counter()
    work()
    milliseconds = 1000 * (time.perf_counter() - start) / n_sentences
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work()
    sys.stdout.write(f"\n{name}: {milliseconds:.1f} ms per sentence\n")
    averages = profiler.key_averages()
    sys.stdout.write(averages.table(sort_by="self_cpu_time_total", row_limit=18))


if __name__ == "__main__":
    main()
