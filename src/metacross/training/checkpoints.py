"""Saves the state of a training; the files on disk are complete at any moment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from metacross.adaptation.optimizers import Adam
from metacross.errors import RunError
from metacross.text.atomic_files import atomic_path


@dataclass(frozen=True, slots=True)
class History:
    """Progress of a training. ``best_f1`` is None before the first validation."""

    steps: int = 0
    best_f1: float | None = None
    best_step: int | None = None
    validations: tuple[tuple[int, float], ...] = ()
    seconds: float = 0.0

    def after_step(self, steps: int) -> History:
        """The history after ``steps`` steps."""
        return replace(self, steps=steps)

    def after_validation(self, f1: float) -> History:
        """The history after a validation; of equal scores the earlier one stays the best."""
        validations = (*self.validations, (self.steps, f1))
        if self.best_f1 is not None and f1 <= self.best_f1:
            return replace(self, validations=validations)
        return replace(self, validations=validations, best_f1=f1, best_step=self.steps)

    def with_time(self, seconds: float) -> History:
        """The history with the seconds of this session added."""
        return replace(self, seconds=self.seconds + seconds)


@dataclass(frozen=True, slots=True)
class TrainingState:
    """Everything that changes in a training: trainable weights and the optimizer's moments."""

    trainable: Mapping[str, nn.Parameter]
    adam: Adam

    def weights(self) -> dict[str, Tensor]:
        """The trainable weights."""
        return {name: weight.detach() for name, weight in self.trainable.items()}

    def tensors(self) -> dict[str, Tensor]:
        """Everything, by name."""
        weights = {f"weight.{name}": weight for name, weight in self.weights().items()}
        return weights | {f"adam.{name}": tensor for name, tensor in self.adam.state().items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore everything."""
        load_weights(self.trainable, under("weight.", tensors))
        self.adam.load_state(under("adam.", tensors))


class Checkpoints:
    """The checkpoint files of a training. A new file replaces the old one only when complete.

    Of the processes that share a training only the first writes; the others have ``writes`` False.
    """

    def __init__(self, folder: Path, *, writes: bool = True) -> None:
        self._folder = folder
        self._writes = writes

    @property
    def checkpoint(self) -> Path:
        """State and history after the last saved step."""
        return self._folder / "checkpoint.safetensors"

    @property
    def best(self) -> Path:
        """The weights with the best dev F1."""
        return self._folder / "best.safetensors"

    def resume(self, state: TrainingState) -> History:
        """Restore the last checkpoint into ``state``; an empty history if there is none."""
        if not self.checkpoint.exists():
            return History()
        tensors, history = read_checkpoint(self.checkpoint)
        state.load(tensors)
        return history

    def save(self, state: TrainingState, history: History) -> None:
        """Save the state after a step."""
        metadata = {"history": json.dumps(asdict(history))}
        if self._writes:
            write_tensors(state.tensors(), self.checkpoint, metadata)

    def save_best(self, state: TrainingState) -> None:
        """Save the weights as the best so far."""
        if self._writes:
            write_tensors(state.weights(), self.best)


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], History]:
    """The tensors and the history of a checkpoint."""
    tensors = read_tensors(path)
    with safe_open(path, framework="pt") as file:
        values = json.loads((file.metadata() or {})["history"])
    validations = tuple((int(step), float(f1)) for step, f1 in values.pop("validations"))
    return tensors, History(**values, validations=validations)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as problem:
        raise RunError(f"{path}: cannot be read as safetensors: {problem}") from problem


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write a file atomically, so that it survives a crash or power failure."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            save_file(contiguous, temporary, metadata)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
    except (OSError, SafetensorError) as problem:
        raise RunError(
            f"{path}: cannot be written ({problem}); earlier checkpoints are intact"
        ) from problem


@torch.no_grad()
def load_weights(trainable: Mapping[str, nn.Parameter], weights: Mapping[str, Tensor]) -> None:
    """Copy values into trainable weights."""
    if weights.keys() != trainable.keys():
        name = sorted(weights.keys() ^ trainable.keys())[0]
        raise RunError(f"expected the weights of this network, found others, such as {name}")
    for name, weight in trainable.items():
        weight.copy_(weights[name])


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
