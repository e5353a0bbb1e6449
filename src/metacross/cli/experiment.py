"""``metacross experiment``: runs a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.cli.active_experiment import NAME, refuse_active_options, run_active
from metacross.errors import SettingsError
from metacross.model.launch import torchrun_launch

if TYPE_CHECKING:
    from metacross.study.run_study import StudyPlan
    from metacross.study.system_runs import PlannedResult


def experiment_command(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="Name of a built-in study, or a YAML file.")
    ],
    encoder: Annotated[str | None, typer.Option(help="Encoder folder, hub name, or mini.")] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Recipe of the study, or several: mini,direct.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train on.")] = None,
    dev: Annotated[str | None, typer.Option(help="Corpus to choose the best weights by.")] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="LANG=FILE: corpus to score on. Repeatable.")
    ] = None,
    train: Annotated[
        list[str] | None, typer.Option(help="LANG=FILE: corpus to draw fractions from. Repeatable.")
    ] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(help="LANG.NAME=FILE: es.lexicon=en-es.tsv, for baselines. Repeatable."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds with commas: 1,2,3.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="group.key=value or a recipe, for all systems. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the study. Default: STUDY-study.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few steps, one seed.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan and estimate the time.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    sizes: Annotated[
        str | None, typer.Option(help="active: numbers of labeled sentences: 25,50,100,200.")
    ] = None,
    ways: Annotated[
        str | None, typer.Option(help="active: ways of choosing, as in select --by: random,far.")
    ] = None,
    learn_by: Annotated[
        str | None, typer.Option(help="active: some of remember,fine-tune,both.")
    ] = None,
    pool: Annotated[
        int | None, typer.Option(min=1, help="active: sentences of --train to choose from (2000).")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="active: SEED=FOLDER, a model that is trained already. Repeatable."),
    ] = None,
) -> None:
    """Train and score the systems of a study, and write its report.

    The study active measures F1 by the number of labeled target sentences: for each way of
    choosing them, and for remembering, fine-tuning and both.

    Results that exist in the folder are not made again. Run the same command again to resume.
    Under torchrun its processes share out the training runs.
    """
    from metacross.cli.study_progress import StudyProgress
    from metacross.study.run_study import plan_study, run_study

    options: dict[str, Any] = {
        "output": output,
        "encoder": encoder,
        "recipe": recipe.split(",") if recipe and "," in recipe else recipe,
        "source": source,
        "dev": dev,
        "targets": _files("--target", target),
        "target_train": _files("--train", train),
        "resources": _resources(resource) or None,
        "seeds": _seeds(seeds),
        "set": set_ or (),
        "quick": quick,
    }
    launch = torchrun_launch()
    if launch is not None and launch.size > 1 and (study == NAME or dry_run or jobs > 1):
        raise SettingsError(f"the study {NAME}, --dry-run, --jobs: not under torchrun")
    if study == NAME:
        if dry_run or jobs > 1 or resource:
            raise SettingsError("--dry-run, --jobs, --resource: not with the study active")
        run_active(
            {key: value for key, value in options.items() if key not in ("output", "resources")},
            output=output,
            sizes=sizes,
            ways=ways,
            learn_by=learn_by,
            pool=pool,
            models=_files("--model", model),
        )
        return
    refuse_active_options([sizes, ways, learn_by, pool, model])
    if dry_run:
        _show_plan(plan_study(study, **options))
        return
    with StudyProgress() as progress:
        results = run_study(study, **options, jobs=jobs, callback=progress)
    console.show_plain(f"Saved {len(results.results)} results to {results.results_file}")
    console.show_plain(f"Saved report to {results.report} (tables only: report.md)")


def _files(option: str, pairs: Sequence[str] | None) -> dict[str, str]:
    files: dict[str, str] = {}
    for pair in pairs or ():
        name, sign, file = pair.partition("=")
        if not name or not sign or not file:
            raise SettingsError(
                f"{option}: expected LANG=FILE, as in es=es/dev.conll, found {pair!r}"
            )
        if name in files:
            raise SettingsError(
                f"{option}: expected one file for each language, found {files[name]} and {file} "
                f"for {name}"
            )
        files[name] = file
    return files


def _resources(pairs: Sequence[str] | None) -> dict[str, dict[str, str]]:
    """The files of ``LANG.NAME=FILE``, by language and resource.

    >>> _resources(["es.lexicon=a.tsv"])
    {'es': {'lexicon': 'a.tsv'}}
    """
    resources: dict[str, dict[str, str]] = {}
    for pair in pairs or ():
        path, sign, file = pair.partition("=")
        language, dot, name = path.rpartition(".")
        if not all((language, dot, name, sign, file)):
            raise SettingsError(
                f"--resource: expected LANG.NAME=FILE, as in es.lexicon=en-es.tsv, found {pair!r}"
            )
        resources.setdefault(language, {})[name] = file
    return resources


def _seeds(text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"--seeds: expected numbers with commas, found {text!r}") from None


def _show_plan(plan: StudyPlan) -> None:
    from metacross.study.time_estimate import estimate_seconds

    console.show(_plan_table(plan))
    trainings = {planned.system_run.folder for planned in plan.results}
    n_done = len(plan.results) - len(plan.missing)
    seconds = estimate_seconds(plan.missing, plan.folder.runs, plan.study.curve_sentences)
    console.show_plain(
        f"{len(trainings)} training runs, {len(plan.results)} results, {n_done} of them done. "
        f"The others take about {seconds / 60:.0f} minutes on this machine, without fine-tuning"
        + (" and baselines." if any(plan.study.baseline(s) for s in plan.study.systems) else ".")
    )


def _plan_table(plan: StudyPlan) -> Table:
    from metacross.study.plan import fraction_name

    table = Table(title=plan.study.title, title_justify="left")
    for heading in ("system", "seeds", "labels", "targets", "fractions", "results", "done"):
        table.add_column(heading)
    rows: dict[tuple[str, tuple[str, ...]], list[PlannedResult]] = {}
    for planned in plan.results:
        run = planned.system_run
        rows.setdefault((run.system, run.labels), []).append(planned)
    missing = {planned.key for planned in plan.missing}
    for (system, labels), results in rows.items():
        table.add_row(
            system,
            _distinct(str(planned.system_run.seed) for planned in results),
            " ".join(labels),
            _distinct(planned.target.name for planned in results),
            _distinct(fraction_name(planned.fraction) for planned in results),
            str(len(results)),
            str(sum(planned.key not in missing for planned in results)),
        )
    return table


def _distinct(values: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(values))
