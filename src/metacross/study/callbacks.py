"""Observes the progress of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacross.training.callbacks import Callback

if TYPE_CHECKING:
    from metacross.study.results import Result
    from metacross.study.system_runs import SystemRun


class StudyCallback(Callback):
    """Base class of callbacks of a study. Every method does nothing; override the ones you need.

    It is a callback of every training run too. With several processes all methods but ``on_model``
    are called in the calling process, for some of the steps only.
    """

    def of_worker(self, worker: int) -> StudyCallback:
        """The callback for one of several processes, counted from 0: by default this one. Results
        are not among what it is called for.
        """
        return self

    def on_study_begin(self, n_done: int, n_total: int) -> None:
        """The study starts or resumes; ``n_done`` of ``n_total`` results exist already."""

    def on_system_begin(self, system_run: SystemRun) -> None:
        """A system is trained, if needed, and scored next."""

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        """``n_done`` sentences of a target are labeled."""

    def on_result(self, result: Result) -> None:
        """A result was saved."""
