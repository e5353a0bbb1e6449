"""``metacross experiment active``: which sentences to label, and how to learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacross.cli import output as console
from metacross.errors import SettingsError

if TYPE_CHECKING:
    from metacross.study.active_results import ActiveResult
    from metacross.study.active_study import ActiveStudy

NAME = "active"
TITLE = "Which sentences to label, and how to learn from them"


def run_active(
    study_options: dict[str, Any],
    *,
    output: Path | None,
    sizes: str | None,
    ways: str | None,
    learn_by: str | None,
    pool: int | None,
    models: dict[str, str],
) -> None:
    """Run the study with the options of the command, and write its report."""
    from metacross.study.active_results import ActiveFolder
    from metacross.study.active_study import run_active_study
    from metacross.study.report.active_report import write_active_report

    active = _active_study(study_options, sizes, ways, learn_by, pool, models)
    folder = ActiveFolder(output or "active-study")
    results = run_active_study(active, folder, on_result=_show)
    report = write_active_report(folder, TITLE)
    console.show_plain(f"Saved {len(results)} results to {folder.results_file}")
    console.show_plain(f"Saved report to {report} (tables only: report.md)")


def _show(result: ActiveResult) -> None:
    console.show_note(
        f"{result.target}, seed {result.seed}, {result.way}, {result.learning}, "
        f"{result.size} sentences: F1 {100 * result.f1:.2f} ({result.seconds:.1f} s to learn)"
    )


def _active_study(
    study_options: dict[str, Any],
    sizes: str | None,
    ways: str | None,
    learn_by: str | None,
    pool: int | None,
    models: dict[str, str],
) -> ActiveStudy:
    from metacross.adaptation.selection import SelectBy
    from metacross.study.active_study import LEARNINGS, POOL_SENTENCES, SIZES, ActiveStudy
    from metacross.study.plan import Study, changed_study, quick_study

    options = dict(study_options)
    quick, changes = options.pop("quick"), options.pop("set")
    data = {key: options.pop(key) for key in ("source", "dev", "targets", "target_train")}
    study = changed_study(
        Study(title=TITLE, systems={"ours": []}, seeds=[1, 2, 3, 4, 5]),
        {key: value for key, value in options.items() if value is not None},
        data={key: value for key, value in data.items() if value},
        settings=changes,
    )
    folders = {_numbers("--model", seed)[0]: Path(folder) for seed, folder in models.items()}
    if folders.keys() >= {*study.seeds}:
        _refuse_training_settings(changes)
    return ActiveStudy(
        quick_study(study) if quick else study,
        sizes=SIZES if sizes is None else _numbers("--sizes", sizes),
        ways=tuple(SelectBy) if ways is None else tuple(map(_way, ways.split(","))),
        learnings=LEARNINGS if learn_by is None else tuple(learn_by.split(",")),
        pool_sentences=pool or POOL_SENTENCES,
        models=folders,
    )


def _refuse_training_settings(changes: Sequence[str]) -> None:
    """Refuse settings that nothing uses where no model is trained."""
    from metacross.training.run_folder import AFTER_TRAINING

    used = (*AFTER_TRAINING, "data", "run")
    for change in changes:
        name = change.partition("=")[0]
        if name.partition(".")[0] not in used:
            raise SettingsError(
                f"--set {name}: expected a setting of {', '.join(used)}, because all models are "
                "given with --model and none is trained"
            )


def _way(name: str) -> Any:  # noqa: ANN401 - SelectBy, which needs torch to import
    from metacross.adaptation.selection import SelectBy

    try:
        return SelectBy(name)
    except ValueError:
        ways = ", ".join(map(str, SelectBy))
        raise SettingsError(f"--ways: expected some of {ways}, found {name!r}") from None


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"{option}: expected numbers with commas, found {text!r}") from None


def refuse_active_options(options: Sequence[object]) -> None:
    """Refuse the options of this study for others."""
    if any(option is not None and option != [] for option in options):
        raise SettingsError(
            "--sizes, --ways, --learn-by, --pool, --model: expected only with the study active"
        )
