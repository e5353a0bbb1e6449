"""Trains as a program that torchrun starts; one process can be made to end itself.

torchrun ... train_under_torchrun.py FOLDER ENCODER METHOD...
torchrun ... train_under_torchrun.py --kill RANK STEP command of metacross
"""

import os
import signal
import sys

import metacross
import tiny
from metacross.adaptation.optimizers import Adam
from metacross.cli.main import main
from metacross.model.launch import torchrun_launch
from metacross.settings import Settings, load_settings

METHODS = {
    "adam": ["run.method=meta", "encoder.dropout=0.3", "optimizer.clip_norm=0.5"],
    "normalized": ["meta.inner_optimizer=normalized", "masking.ratio=0"],
    "direct": ["run.method=direct", "optimizer.clip_norm=0.5"],
}
"""Overrides by method; between them dropout, masks, clipping and all meta-steps."""


def settings(method: str) -> Settings:
    """Steps of ten items, which eight blocks cannot share evenly."""
    sizes = ["meta.tasks_per_step=10", "direct.batch_size=10", "direct.steps=4"]
    return load_settings("paper", [*tiny.FAST, *sizes, *METHODS[method]])


def train(folder: str, encoder: str, method: str, **changes: int) -> None:
    """Train on a tiny corpus, into a folder named after the method."""
    metacross.train(
        tiny.corpus(40),
        dev=tiny.corpus(20, seed=1),
        encoder=encoder,
        recipe=metacross.settings.settings_with(settings(method), {"run": changes}),
        output=f"{folder}/{method}",
    )


def end_at(rank: int, step: int) -> None:
    """Let the process with this rank end without a word instead of taking a step."""
    original, launch = Adam.step, torchrun_launch()

    def killed_step(self: Adam, *arguments: object) -> None:
        if self.steps == step:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, *arguments)

    if launch is not None and launch.rank == rank:
        Adam.step = killed_step


if __name__ == "__main__":
    if sys.argv[1] == "--kill":
        end_at(int(sys.argv[2]), int(sys.argv[3]))
        main(sys.argv[4:])
    else:
        for method in sys.argv[3:]:
            train(sys.argv[1], sys.argv[2], method)
