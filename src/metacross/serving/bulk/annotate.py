"""Annotates files in parts, and goes on after any interruption."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from metacross.adaptation.sentence_adapter import EngineName
from metacross.errors import DataError, RunError, SettingsError
from metacross.model.cores import available_cores
from metacross.model.devices import resolve_device
from metacross.model.hub_models import find_model
from metacross.model.launch import RESUME
from metacross.model.model_card import HUB
from metacross.model.model_digest import model_digest
from metacross.model.model_mark import describe_model
from metacross.serving.bulk.local_runner import LocalRunner
from metacross.serving.bulk.output_folder import OutputFolder, Receipt
from metacross.serving.bulk.part_labeling import BulkModel, BulkTarget, versions
from metacross.serving.bulk.part_results import PartProgress, PartResult
from metacross.text.formats import BulkOutput
from metacross.text.input_parts import InputOptions, InputPart, InputPlan, plan_parts
from metacross.text.parquet import pyarrow

if TYPE_CHECKING:
    from metacross.serving.bulk.ray_runner import RayCluster

FORMAT = 1
_ATTEMPTS = 3  # at a part that fails


@dataclass(frozen=True, slots=True)
class AnnotateOptions:
    """How to annotate.

    Args:
        part: Lines of text, JSON objects, sentences of CoNLL or rows of Parquet in a part.
        to: Format of the parts.
        adapt: None: if the model was meta-trained.
        hide_source: Leave the sentences of neighbors out of the records.
        device: As in :func:`metacross.load`.
        engine: As in :func:`metacross.load`.
        overrides: Groups of settings, as in :func:`metacross.load`.
        workers: Processes; None: one for every core, or for every GPU.
        threads: Threads of torch in each process. Their number changes the last bits.
        ray: None: processes of this machine. Else the address of a Ray cluster; empty: the one
            that this machine belongs to, or a new one on this machine.
    """

    part: int = 2_000
    to: BulkOutput = BulkOutput.JSONL
    adapt: bool | None = None
    hide_source: bool = False
    device: str = "auto"
    engine: EngineName = "fast"
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int | None = None
    threads: int = 1
    ray: str | None = None


class AnnotateCallback:
    """Hears what happens; its methods do nothing."""

    def on_read(self, n_bytes: int) -> None:
        """Inputs are read to divide them into parts; ``n_bytes`` are read."""

    def on_begin(self, n_done: int, n_units: int) -> None:
        """Labeling begins; of all units, ``n_done`` were done before."""

    def on_progress(self, n_done: float) -> None:
        """Units that are done, also in unfinished parts."""

    def on_note(self, text: str) -> None:
        """Something that a user should know."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """What is in the output folder; ``resumed`` of its parts were there before."""

    parts: int
    resumed: int
    sentences: int


class Runner(Protocol):
    """Has parts labeled somewhere."""

    def run(
        self,
        parts: Sequence[InputPart],
        on_result: Callable[[PartResult], None],
        on_progress: Callable[[PartProgress], None],
    ) -> None:
        """Label parts; one without a result is tried again."""


def annotate(
    model: str,
    sources: Sequence[str],
    output: str | Path,
    *,
    options: AnnotateOptions | None = None,
    inputs: InputOptions | None = None,
    callback: AnnotateCallback | None = None,
) -> Annotated:
    """Annotate files and the files of folders; write ordered parts with receipts to a folder.

    Called again after an interruption, it labels what is missing. The parts have the same bytes
    for any number of workers, with Ray and without.

    Raises:
        RunError: The folder was begun with other files or options, or another process works in it;
            a part fails again and again; the Ray cluster does not answer.
        DataError: An input cannot be read, or a part cannot be written.
    """
    options, inputs = options or AnnotateOptions(), inputs or InputOptions()
    callback = callback or AnnotateCallback()
    _check(options, sources, Path(output))
    with _cluster(options) as cluster:
        bulk_model = _bulk_model(model, options, cluster)
        plan = plan_parts(sources, inputs, size=options.part, progress=callback.on_read)
        if not plan.parts:
            raise DataError(f"{', '.join(sources)}: expected sentences, found none")
        folder = str(Path(output).absolute())
        target = BulkTarget(folder, len(plan.parts), options.to, options.hide_source)
        runner = _runner(bulk_model, target, options, cluster)
        output_folder = OutputFolder(output, str(options.to), n_parts=len(plan.parts))
        with output_folder.locked():
            output_folder.start(_manifest(plan, bulk_model, options, inputs))
            return _Annotation(output_folder, plan, callback).run(runner)


class _Annotation:
    """Labels the parts that have no receipt yet."""

    def __init__(self, folder: OutputFolder, plan: InputPlan, callback: AnnotateCallback) -> None:
        self._folder = folder
        self._plan = plan
        self._callback = callback
        self._receipts: dict[int, Receipt] = {}
        self._n_finished = 0
        self._fractions: dict[int, float] = {}
        self._failures: dict[int, str] = {}
        self._notes: set[str] = set()

    def run(self, runner: Runner) -> Annotated:
        for part in self._plan.parts:
            receipt = self._folder.receipt(part)
            if receipt is not None:
                self._finish(part.number, receipt)
        n_resumed = len(self._receipts)
        self._callback.on_begin(round(self._n_done()), self._plan.n_units)
        attempts: Counter[int] = Counter()
        while missing := [p for p in self._plan.parts if p.number not in self._receipts]:
            for part in missing:
                if attempts[part.number] == _ATTEMPTS:
                    reason = self._failures.get(part.number, "its worker was lost")
                    raise RunError(f"{part.place}: tried {_ATTEMPTS} times: {reason}. {RESUME}")
            n_before = len(self._receipts)
            runner.run(missing, self._on_result, self._on_progress)
            if len(self._receipts) == n_before:
                attempts.update(part.number for part in missing)
            else:
                attempts.update(number for number in self._failures if number not in self._receipts)
        n_sentences = sum(receipt.sentences for receipt in self._receipts.values())
        return Annotated(len(self._plan.parts), n_resumed, n_sentences)

    def _on_result(self, result: PartResult) -> None:
        if result.refusal is not None:
            raise RunError(result.refusal)
        if result.failure is not None:
            self._failures[result.part] = result.failure
        if result.fallback is not None and result.fallback not in self._notes:
            self._notes.add(result.fallback)
            self._callback.on_note(f"Adapted by the textbook loop, because {result.fallback}.")
        if result.receipt is not None:
            self._check_arrived(result.part)
            self._finish(result.part, result.receipt)
        self._fractions.pop(result.part, None)
        self._callback.on_progress(self._n_done())

    def _on_progress(self, progress: PartProgress) -> None:
        self._fractions[progress.part] = progress.fraction
        self._callback.on_progress(self._n_done())

    def _n_done(self) -> float:
        parts = self._plan.parts
        return self._n_finished + sum(
            parts[number].n_units * fraction for number, fraction in self._fractions.items()
        )

    def _finish(self, number: int, receipt: Receipt) -> None:
        self._receipts[number] = receipt
        self._n_finished += self._plan.parts[number].n_units

    def _check_arrived(self, number: int) -> None:
        path = self._folder.part(number)
        if not path.exists():
            raise RunError(
                f"{path}: expected the file that a worker wrote, found none; --output must be a "
                "folder that all machines share"
            )


def _check(options: AnnotateOptions, sources: Sequence[str], output: Path) -> None:
    """Refuse what cannot work before anything is read."""
    for name, value in (("part", options.part), ("threads", options.threads)):
        if value < 1:
            raise SettingsError(f"--{name}: expected 1 or more, found {value}")
    if options.workers is not None and options.workers < 1:
        raise SettingsError(f"--workers: expected 1 or more, found {options.workers}")
    if options.to is BulkOutput.PARQUET:
        pyarrow("--to parquet")
    for source in sources:
        if Path(source).is_dir() and output.absolute().is_relative_to(Path(source).absolute()):
            raise SettingsError(
                f"--output: expected a folder outside of the input {source}, found {output}"
            )


def _cluster(
    options: AnnotateOptions,
) -> contextlib.AbstractContextManager[RayCluster | None]:
    if options.ray is None:
        return contextlib.nullcontext(None)
    from metacross.serving.bulk.ray_runner import connected

    return connected(options.ray)


def _bulk_model(model: str, options: AnnotateOptions, cluster: RayCluster | None) -> BulkModel:
    found = find_model(model)
    is_folder = not found.location.startswith(HUB)
    description = describe_model(found.folder)
    if options.device == "auto" and cluster is not None:
        device = "cuda" if cluster.n_gpus else "cpu"
    elif options.device == "auto" or cluster is None:
        device = str(resolve_device(options.device))
    else:
        device = options.device
    return BulkModel(
        location=str(found.folder.absolute()) if is_folder else found.location,
        digest=model_digest(found.folder),
        device=device,
        engine=options.engine,
        overrides=options.overrides,
        adapt=description.adapts if options.adapt is None else options.adapt,
        threads=options.threads,
        versions=versions(),
    )


def _runner(
    model: BulkModel, target: BulkTarget, options: AnnotateOptions, cluster: RayCluster | None
) -> Runner:
    if cluster is not None:
        from metacross.serving.bulk.ray_runner import RayRunner

        return RayRunner(cluster, model, target, options.workers)
    return LocalRunner(model, target, options.workers or _default_workers(model))


def _default_workers(model: BulkModel) -> int:
    if model.device.startswith("cuda"):
        return torch.cuda.device_count() if model.device == "cuda" else 1
    if model.device != "cpu":
        return 1
    return max(1, available_cores() // model.threads)


def _manifest(
    plan: InputPlan, model: BulkModel, options: AnnotateOptions, inputs: InputOptions
) -> dict[str, Any]:
    """Everything that the bytes of the parts depend on."""
    used = dict(model.versions)
    if options.to is BulkOutput.PARQUET:
        used["pyarrow"] = version("pyarrow")
    return {
        "format": FORMAT,
        "model": model.digest,
        "inputs": [
            {
                "file": source.name,
                "sha256": source.sha256,
                "lines": source.lines,
                "format": str(source.format),
            }
            for source in plan.inputs
        ],
        "part": options.part,
        "to": str(options.to),
        "adapt": model.adapt,
        "language": inputs.language,
        "encoding": inputs.encoding,
        "column": inputs.column,
        "hide_source": options.hide_source,
        "settings": {group: dict(values) for group, values in options.overrides.items()},
        "engine": model.engine,
        "device": model.device.partition(":")[0],
        "threads": model.threads,
        "versions": used,
    }
