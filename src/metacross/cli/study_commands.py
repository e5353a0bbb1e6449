"""The commands around a study: run one, compare two results.

What needs torch is imported inside the commands, so that the other ones start at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.cli.options import JsonOption
from metacross.cli.score import score_command
from metacross.errors import RunError, SettingsError

if TYPE_CHECKING:
    from metacross.study.plan import Study, SystemRun
    from metacross.study.results import StudyFolder
    from metacross.study.run_study import PlannedResult


def experiment_command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study's name, or a YAML file.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder folder, hub name or mini.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe that the systems change.")] = None,
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train on.")] = None,
    dev: Annotated[str | None, typer.Option(help="Corpus to choose the best weights by.")] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="LANG=FILE: corpus to score on. Repeatable.")
    ] = None,
    train: Annotated[
        list[str] | None, typer.Option(help="LANG=FILE: corpus to take fractions of. Repeatable.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds with commas: 1,2,3.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a fraction of all systems.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the study.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few steps, one seed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and the time.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that fraction the work.")] = 1,
    fraction: Annotated[str | None, typer.Option("--fraction", hidden=True)] = None,
) -> None:
    """Train and score the systems of a study, and write its report.

    The same command goes on after a stop; what is done is not done again.
    """
    from metacross.study import plan
    from metacross.study.results import StudyFolder
    from metacross.study.run_study import plan_results

    data = {
        "source": source,
        "dev": dev,
        "targets": _files("--target", target),
        "target_train": _files("--train", train),
    }
    changes: dict[str, Any] = {"encoder": encoder, "recipe": recipe}
    changes["seeds"] = None if seeds is None else _numbers(seeds)
    wanted = plan.load_study(
        study,
        {key: value for key, value in changes.items() if value is not None},
        data={key: value for key, value in data.items() if value},
        settings=set_ or (),
    )
    if quick:
        wanted = plan.quick(wanted)
    system_runs = plan.plan_system_runs(wanted)
    folder = StudyFolder(output or Path(f"{Path(study).stem}-study"))
    planned_results = plan_results(system_runs)
    if dry_run:
        _show_plan(wanted, planned_results, folder)
        return
    if fraction is None:
        folder.keep_study(wanted)
    if jobs > 1:
        _share_out(jobs, planned_results, folder)
    elif fraction is not None:
        number, n_shares = (int(part) for part in fraction.split("/"))
        trainings = [*dict.fromkeys(system_run.folder for system_run in system_runs)][
            number::n_shares
        ]
        _run(
            [system_run for system_run in system_runs if system_run.folder in trainings],
            planned_results,
            folder,
            wanted,
        )
        return
    else:
        _run(system_runs, planned_results, folder, wanted)
    _finish(wanted, planned_results, folder)


def _files(option: str, given: Sequence[str] | None) -> dict[str, str]:
    files: dict[str, str] = {}
    for pair in given or ():
        name, sign, file = pair.partition("=")
        if not name or not sign or not file:
            raise SettingsError(
                f"{option}: expected LANG=FILE, as in es=es/dev.conll, found {pair!r}"
            )
        if name in files:
            raise SettingsError(
                f"{option}: expected a file for each language, found {files[name]} and {file} "
                f"for {name}"
            )
        files[name] = file
    return files


def _numbers(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise SettingsError(f"--seeds: expected numbers with commas, found {given!r}") from None


def _run(
    system_runs: Sequence[SystemRun],
    planned_results: Sequence[PlannedResult],
    folder: StudyFolder,
    study: Study,
) -> None:
    from metacross.cli.study_progress import StudyView
    from metacross.study.run_study import run_system

    own = [
        planned
        for planned in planned_results
        if any(planned.system_run is system_run for system_run in system_runs)
    ]
    done = folder.done()
    with StudyView(len(own), sum(planned.key in done for planned in own)) as view:
        for system_run in system_runs:
            parts = [planned for planned in own if planned.system_run is system_run]
            run_system(system_run, parts, folder, view, curve_sentences=study.curve_sentences)


def _share_out(jobs: int, planned_results: Sequence[PlannedResult], folder: StudyFolder) -> None:
    """Run the same command several times, each with its fraction of the trainings, and tell what they
    tell. Stopped itself, it stops them.
    """
    from metacross.cli.study_progress import SharedView

    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-m", "metacross", *sys.argv[1:]]
    processes = [
        subprocess.Popen(
            [*command, "--jobs", "1", "--fraction", f"{i}/{jobs}"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(jobs)
    ]

    def stop(number: int, _frame: object) -> None:
        if number == signal.SIGTERM:  # Ctrl-C reaches them by itself
            for process in processes:
                process.terminate()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    keys = {planned.key for planned in planned_results}
    try:
        with SharedView(len(planned_results)) as view:
            for process in processes:
                view.follow(process)
            while any(process.poll() is None for process in processes):
                view.show(len(keys & folder.done()))
                time.sleep(1)
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for number, handler in before.items():
            signal.signal(number, handler)
    if any(process.returncode for process in processes):
        raise RunError("a part of the study did not end; the same command goes on from there")


def _finish(study: Study, planned_results: Sequence[PlannedResult], folder: StudyFolder) -> None:
    from metacross.study.report import write_report

    folder.arrange([planned.key for planned in planned_results])
    report = write_report(folder, study.title)
    console.show_plain(f"{folder.results_file}: {len(folder.results())} results")
    console.show_plain(f"{report}: the report; {report.with_suffix('.md').name} has its tables")


def _show_plan(study: Study, planned_results: Sequence[PlannedResult], folder: StudyFolder) -> None:
    from metacross.study.time_estimate import seconds_of

    done = folder.done()
    missing = [planned for planned in planned_results if planned.key not in done]
    trainings = {planned.system_run.folder for planned in planned_results}
    table = Table(title=study.title, title_justify="left")
    for heading in ("system", "seeds", "labels", "targets", "settings", "results", "done"):
        table.add_column(heading)
    rows: dict[tuple[str, tuple[str, ...]], list[PlannedResult]] = {}
    for planned in planned_results:
        rows.setdefault((planned.system_run.system, planned.system_run.labels), []).append(planned)
    for (system, labels), own in rows.items():
        table.add_row(
            system,
            _listed(planned.system_run.seed for planned in own),
            " ".join(labels),
            _listed(planned.target.name for planned in own),
            _listed(planned.fraction for planned in own),
            str(len(own)),
            str(sum(planned not in missing for planned in own)),
        )
    console.show(table)
    minutes = seconds_of(missing, folder.runs, study.curve_sentences) / 60
    console.show_plain(
        f"{len(trainings)} trainings, {len(planned_results)} results, {len(planned_results) - len(missing)} of them "
        f"there; the others take about {minutes:.0f} minutes here, fine-tuning not counted"
    )


def _listed(values: Any) -> str:  # noqa: ANN401 - anything that can be printed
    return " ".join(dict.fromkeys(str(value) for value in values))


def compare_command(
    first: Annotated[str, typer.Argument(metavar="A", help="Predictions, or a study's folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The same of another system.")],
    gold: Annotated[
        str | None, typer.Option(help="The right entities, where A and B are predictions.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether B is better than A, or by chance: predictions of two systems, or two studies."""
    folders = [Path(name) for name in (first, second)]
    if all(folder.is_dir() for folder in folders):
        _compare_studies(*folders, as_json=as_json)
        return
    for folder in folders:
        if not folder.exists():
            raise SettingsError(
                f"{folder}: expected predictions or a study's folder, found nothing"
            )
    if first == second:
        raise SettingsError(f"{first}: expected two files to compare, found the same twice")
    if gold is None:
        raise SettingsError(
            "--gold: expected the file with the right entities, beside two files of predictions"
        )
    score_command(gold, second, against=first, as_json=as_json)


def _compare_studies(first: Path, second: Path, *, as_json: bool) -> None:
    from metacross.cli.output import comparison_json
    from metacross.study.compare_studies import paired
    from metacross.study.plan import fraction_name
    from metacross.study.results import StudyFolder

    for folder in (first, second):
        if not StudyFolder(folder).results_file.exists():
            raise SettingsError(f"{folder}: expected a study with results.jsonl, found none")
    pairs = paired(StudyFolder(first), StudyFolder(second))
    if as_json:
        values = [
            {
                **{key: getattr(pair, key) for key in ("system", "target", "fraction", "n_seeds")},
                "a": pair.ours,
                "b": pair.theirs,
                "comparison": pair.comparison and comparison_json(pair.comparison),
            }
            for pair in pairs
        ]
        console.show_json(values)
        return
    table = Table(title=f"{second} against {first}", title_justify="left")
    for heading in ("system", "target", "fraction", "seeds", "A", "B", "B - A", "p"):
        table.add_column(heading, justify="left" if heading in ("system", "target") else "right")
    for pair in pairs:
        p = "" if pair.comparison is None else f"{pair.comparison.p_value:.4f}"
        if pair.comparison is not None and not pair.comparison.significant:
            p += " n.s."
        difference = f"{100 * (pair.theirs - pair.ours):+.2f}"
        f1s = (f"{100 * f1:.2f}" for f1 in (pair.ours, pair.theirs))
        table.add_row(
            pair.system,
            pair.target,
            fraction_name(pair.fraction),
            str(pair.n_seeds),
            *f1s,
            difference,
            p,
        )
    console.show(table)
