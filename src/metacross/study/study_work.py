"""The missing results of a study, grouped by the training run they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metacross.study.callbacks import StudyCallback
from metacross.study.results import StudyFolder
from metacross.study.run_system import run_system
from metacross.study.system_runs import PlannedResult, SystemRun


@dataclass(frozen=True, slots=True)
class Job:
    """A system run with its missing results."""

    system_run: SystemRun
    planned_results: tuple[PlannedResult, ...]


@dataclass(frozen=True, slots=True)
class StudyWork:
    """Jobs, where to save their results, and how many target sentences to score while training.

    A part of the work holds the jobs that share a training run. ``with_baselines``: the study has
    baselines, which may need the models of its other systems.
    """

    parts: tuple[tuple[Job, ...], ...]
    folder: StudyFolder
    curve_sentences: int
    with_baselines: bool

    @classmethod
    def of(
        cls,
        missing: Iterable[PlannedResult],
        folder: StudyFolder,
        *,
        curve_sentences: int,
        with_baselines: bool,
    ) -> StudyWork:
        """The work for the missing results of a study."""
        by_run: dict[int, list[PlannedResult]] = {}
        for planned in missing:
            by_run.setdefault(id(planned.system_run), []).append(planned)
        parts: dict[str, list[Job]] = {}
        for planned_results in by_run.values():
            run = planned_results[0].system_run
            parts.setdefault(run.folder, []).append(Job(run, tuple(planned_results)))
        jobs_of_parts = tuple(tuple(jobs) for jobs in parts.values())
        return cls(jobs_of_parts, folder, curve_sentences, with_baselines)

    @property
    def n_parts(self) -> int:
        """The number of training runs."""
        return len(self.parts)

    def run(self, part: int, callback: StudyCallback) -> None:
        """Do the jobs of a part."""
        for job in self.parts[part]:
            run_system(
                job.system_run,
                job.planned_results,
                self.folder,
                callback,
                curve_sentences=self.curve_sentences,
                with_baselines=self.with_baselines,
            )

    def system_run(self, part: int, number: int) -> SystemRun:
        """A system run of a part."""
        return self.parts[part][number].system_run

    def number(self, part: int, system_run: SystemRun) -> int:
        """The number of a system run in a part."""
        return next(
            number for number, job in enumerate(self.parts[part]) if job.system_run is system_run
        )
