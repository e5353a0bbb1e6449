"""Runs a study: trains and scores what is missing, and writes the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from metacross.errors import SettingsError
from metacross.model.launch import Launch, torchrun_launch
from metacross.model.ranks import Counter
from metacross.study.callbacks import StudyCallback
from metacross.study.plan import Study, changed_study, load_study, quick_study
from metacross.study.report import REPORT, write_report
from metacross.study.results import Result, StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.study.study_work import StudyWork
from metacross.study.system_runs import PlannedResult, plan_results, plan_system_runs
from metacross.study.worker_pool import run_in_processes


@dataclass(frozen=True)
class StudyResults:
    """The results of a study, in the order of the plan; ``report`` is the HTML file."""

    folder: Path
    results: tuple[Result, ...]
    report: Path

    @property
    def results_file(self) -> Path:
        """The file with a line for each result."""
        return StudyFolder(self.folder).results_file

    @cached_property
    def grid(self) -> ResultsGrid:
        """The results by fraction, system, target and seed."""
        return ResultsGrid.of(self.results)

    @property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(dict.fromkeys(result.system for result in self.results))

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        return list(dict.fromkeys(result.target for result in self.results))

    def f1(self, system: str, target: str, *, fraction: float = 0.0) -> float:
        """The mean F1 over seeds, between 0 and 1, in the mode that the report shows."""
        results = self.grid.at(fraction, system, target)
        if not results:
            raise SettingsError(
                f"expected a system of {', '.join(self.systems)} and a target of "
                f"{', '.join(self.targets)} with a result, found {system!r} and {target!r}"
            )
        return sum(result.f1 for result in results.values()) / len(results)


@dataclass(frozen=True)
class StudyPlan:
    """A study with its folder and its results; ``missing`` are those that do not exist yet."""

    study: Study
    folder: StudyFolder
    results: tuple[PlannedResult, ...]
    missing: tuple[PlannedResult, ...]


def plan_study(
    study: str | Path | Study,
    *,
    output: str | Path | None = None,
    encoder: str | None = None,
    recipe: str | Sequence[str] | None = None,
    source: str | Path | None = None,
    dev: str | Path | None = None,
    targets: Mapping[str, str | Path] | None = None,
    target_train: Mapping[str, str | Path] | None = None,
    resources: Mapping[str, Mapping[str, str | Path]] | None = None,
    seeds: Sequence[int] | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the name of the option
    quick: bool = False,
) -> StudyPlan:
    """Plan a study without running it; the arguments are those of ``run_study``."""
    changes: dict[str, object] = {
        "encoder": encoder,
        "recipe": recipe if recipe is None or isinstance(recipe, str) else list(recipe),
        "seeds": None if seeds is None else list(seeds),
    }
    data: dict[str, object] = {
        "source": None if source is None else str(source),
        "dev": None if dev is None else str(dev),
        "targets": _file_names(targets),
        "target_train": _file_names(target_train),
        "resources": resources and {name: _file_names(files) for name, files in resources.items()},
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    data = {name: value for name, value in data.items() if value is not None}
    if isinstance(study, Study):
        planned_study, name = changed_study(study, changes, data=data, settings=set), "metacross"
    else:
        planned_study, name = load_study(study, changes, data=data, settings=set), Path(study).stem
    if quick:
        planned_study = quick_study(planned_study)
    folder = StudyFolder(output or f"{name}-study")
    results = plan_results(plan_system_runs(planned_study))
    done = folder.done()
    missing = [planned for planned in results if planned.key not in done]
    return StudyPlan(planned_study, folder, tuple(results), tuple(missing))


def run_study(
    study: str | Path | Study,
    *,
    output: str | Path | None = None,
    encoder: str | None = None,
    recipe: str | Sequence[str] | None = None,
    source: str | Path | None = None,
    dev: str | Path | None = None,
    targets: Mapping[str, str | Path] | None = None,
    target_train: Mapping[str, str | Path] | None = None,
    resources: Mapping[str, Mapping[str, str | Path]] | None = None,
    seeds: Sequence[int] | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the name of the option
    quick: bool = False,
    jobs: int = 1,
    callback: StudyCallback | None = None,
) -> StudyResults:
    """Train and score the systems of a study, and write its report.

    ``study`` is a built-in study (``zero-shot``, ...), a YAML file or a ``Study``; other arguments
    replace what it says. ``targets`` maps languages to labeled corpora to score on,
    ``target_train`` to corpora that fractions are drawn from. ``resources`` has the files of each
    target that baselines need: ``{"es": {"lexicon": "en-es.tsv"}}``. ``set`` holds recipe names and
    ``group.key=value`` for all systems. ``quick`` trains few steps with one seed. ``jobs`` is the
    number of processes. ``output`` is the folder of the study, by default named after the study.

    Results that exist in ``output`` are not made again, and a stopped study resumes. In a script,
    ``jobs`` above 1 needs the usual ``if __name__ == "__main__":``. Under torchrun its processes
    share out the training runs.
    """
    plan = plan_study(
        study,
        output=output,
        encoder=encoder,
        recipe=recipe,
        source=source,
        dev=dev,
        targets=targets,
        target_train=target_train,
        resources=resources,
        seeds=seeds,
        set=set,
        quick=quick,
    )
    launch = torchrun_launch()
    if launch is not None and launch.size > 1:
        return _run_shared(plan, launch, jobs, callback or StudyCallback())
    plan.folder.save_study(plan.study)
    _run(plan, jobs, callback or StudyCallback())
    return _finished(plan)


def _file_names(files: Mapping[str, str | Path] | None) -> dict[str, str] | None:
    return {name: str(file) for name, file in files.items()} if files else None


def _run(plan: StudyPlan, jobs: int, callback: StudyCallback) -> None:
    callback.on_study_begin(len(plan.results) - len(plan.missing), len(plan.results))
    work = _work(plan)
    if jobs > 1 and work.n_parts > 1:
        run_in_processes(work, jobs, callback)
    else:
        for part in range(work.n_parts):
            work.run(part, callback)


def _run_shared(
    plan: StudyPlan, launch: Launch, jobs: int, callback: StudyCallback
) -> StudyResults:
    """Run the study in the processes of torchrun: each takes the next training run when it has
    finished one. The first one calls ``callback`` and writes the report.
    """
    if jobs > 1:
        raise SettingsError("--jobs: not under torchrun, whose processes share the study")
    planned, taken, ended, reported = (Counter() for _ in range(4))
    planned.raised()
    planned.wait_for(launch.size)  # a plan depends on the results that exist
    if launch.is_first:
        plan.folder.save_study(plan.study)
        callback.on_study_begin(len(plan.results) - len(plan.missing), len(plan.results))
    work = _work(plan)
    while (part := taken.raised() - 1) < work.n_parts:
        work.run(part, callback if launch.is_first else StudyCallback())
    ended.raised()
    if launch.is_first:
        ended.wait_for(launch.size)
        results = _finished(plan)
        reported.raised()
        return results
    reported.wait_for(1)
    return _results(plan)


def _work(plan: StudyPlan) -> StudyWork:
    return StudyWork.of(
        plan.missing,
        plan.folder,
        curve_sentences=plan.study.curve_sentences,
        with_baselines=any(planned.system_run.baseline for planned in plan.results),
    )


def _finished(plan: StudyPlan) -> StudyResults:
    plan.folder.arrange([planned.key for planned in plan.results])
    write_report(plan.folder, plan.study.title)
    return _results(plan)


def _results(plan: StudyPlan) -> StudyResults:
    results = {result.key: result for result in plan.folder.results()}
    in_order = tuple(results[planned.key] for planned in plan.results)
    return StudyResults(plan.folder.folder, in_order, plan.folder.folder / REPORT)
