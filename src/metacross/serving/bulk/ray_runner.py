"""Labels parts on a Ray cluster, with Ray Data (extra ``ray``)."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from metacross.errors import MetacrossError, RunError
from metacross.serving.bulk.output_folder import Receipt
from metacross.serving.bulk.part_labeling import BulkModel, BulkTarget, PartLabeler
from metacross.serving.bulk.part_results import PartProgress, PartResult, labeled_part
from metacross.serving.bulk.ray_address import check_ray, no_cluster
from metacross.text.input_parts import InputPart

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # as in coming versions of Ray
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A cluster that this process is connected to."""

    ray: ModuleType

    @property
    def n_gpus(self) -> int:
        """The GPUs of all its machines."""
        return int(self.ray.cluster_resources().get("GPU", 0))

    @property
    def n_cpus(self) -> int:
        """The cores that its machines offer at this moment."""
        return int(self.ray.cluster_resources().get("CPU", 0))


@contextlib.contextmanager
def connected(address: str) -> Iterator[RayCluster]:
    """Connect to a cluster, and leave it after the block. An empty address means the cluster of
    this machine, or a new one on it.
    """
    check_ray(address)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray
    import ray.data

    try:
        ray.init(address=address or None, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, TimeoutError, RuntimeError, ValueError) as error:
        raise RunError(no_cluster(address or "auto", error)) from None
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


@dataclass(frozen=True, slots=True)
class RayRunner:
    """Hands out parts to actors that load the model once. Every part is a task of its own, so that
    a slow machine gets fewer of them, and one that is lost loses only what it was working on.
    """

    cluster: RayCluster
    model: BulkModel
    target: BulkTarget
    workers: int | None

    def run(
        self,
        parts: Sequence[InputPart],
        on_result: Callable[[PartResult], None],
        on_progress: Callable[[PartProgress], None],
    ) -> None:
        """Label the parts; parts of machines that were lost have no result."""
        ray = self.cluster.ray
        uses_gpu = self.model.device.startswith("cuda")
        available = self.cluster.n_gpus if uses_gpu else self.cluster.n_cpus // self.model.threads
        if not available:
            what = "a GPU" if uses_gpu else f"{self.model.threads} cores on a machine"
            raise RunError(f"--ray: expected a cluster with {what}, found none")
        self._configure(ray.data.DataContext.get_current())
        results = self._results(parts, min(self.workers or available, len(parts)), uses_gpu)
        try:
            for batch in results.iter_batches(batch_size=1, prefetch_batches=0):
                on_result(_parsed(str(batch["result"][0])))
        except ray.exceptions.RayError:
            if not ray.is_initialized():
                raise RunError("--ray: lost the connection to the cluster") from None

    def _results(self, parts: Sequence[InputPart], n_actors: int, uses_gpu: bool) -> Any:  # noqa: ANN401 - ray is optional
        """A data set of results, in the order in which they come."""
        data = self.cluster.ray.data
        rows = [{"part": pickle.dumps(part)} for part in parts]
        with warnings.catch_warnings():  # max_task_retries has no other name until Ray 2.64
            warnings.simplefilter("ignore", DeprecationWarning)
            return data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                _Annotator,
                batch_size=1,
                compute=data.ActorPoolStrategy(size=n_actors, max_tasks_in_flight_per_actor=1),
                fn_constructor_args=(self.model, self.target),
                num_cpus=0 if uses_gpu else self.model.threads,
                num_gpus=1 if uses_gpu else 0,
                runtime_env={"env_vars": {"OMP_NUM_THREADS": str(self.model.threads)}},
                max_restarts=-1,
                max_task_retries=0,  # the task of a lost actor would wait for its machine
            )

    def _configure(self, context: Any) -> None:  # noqa: ANN401 - ray is optional
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.max_errored_blocks = -1
        context.execution_options.preserve_order = False
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


class _Annotator:
    """An actor: loads the model once, then labels parts."""

    def __init__(self, model: BulkModel, target: BulkTarget) -> None:
        self._labeler: PartLabeler | None = None
        self._refusal: str | None = None
        try:
            self._labeler = PartLabeler(model, target)
        except MetacrossError as error:  # reported with the first part
            self._refusal = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        part: InputPart = pickle.loads(batch["part"][0])
        if self._labeler is None:
            result = PartResult(part.number, refusal=self._refusal)
        else:
            result = labeled_part(self._labeler, part, lambda _fraction: None)
        return {"result": [json.dumps(asdict(result))]}


def _parsed(text: str) -> PartResult:
    values = json.loads(text)
    if values["receipt"] is not None:
        values["receipt"] = Receipt(**values["receipt"])
    return PartResult(**values)
