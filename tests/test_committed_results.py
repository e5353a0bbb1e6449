"""The results in ``docs/results`` belong to the recipe and the encoder as they are."""

import re
from pathlib import Path

import numpy as np
import pytest

from metacross.baselines.catalog import find_baseline
from metacross.model.encoder_digest import encoder_digest
from metacross.settings import Settings, load_settings
from metacross.study.plan import load_study
from metacross.study.results import Result
from metacross.training.run_folder import relevant_settings
from tools.docs import systems_table
from tools.docs.system_differences import system_differences

ROOT = Path(__file__).parent.parent
OF_ARGMAX = ("mini-low-resource",)  # run with --set prediction.decoding=argmax


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "lines"),
    [
        ("docs/studies/mini-zero-shot.yaml", "mini-zero-shot"),
        ("docs/studies/mini-three-types.yaml", "mini-three-types"),
        ("docs/studies/mini-ablation.yaml", "mini-ablation"),
        ("docs/studies/mini-search.yaml", "mini-search"),
        ("docs/studies/mini-normalized-search.yaml", "mini-normalized-search"),
        ("docs/studies/mini-normalized.yaml", "mini-normalized"),
        ("docs/studies/mini-parts-search.yaml", "mini-parts-search"),
        ("docs/studies/mini-parts.yaml", "mini-parts"),
        ("docs/studies/mini-casing.yaml", "mini-casing"),
        ("low-resource", "mini-low-resource"),
    ],
)
def test_the_results_are_of_the_bundled_encoder_and_its_recipe_as_they_are(study, lines):
    changes = {"set": ["prediction.decoding=argmax"]} if lines in OF_ARGMAX else {}
    study = load_study(ROOT / study if "/" in study else study, {"recipe": "mini", **changes})
    for result in committed(lines):
        check_settings(result, study)
        assert result.digests["encoder"] == encoder_digest("mini")


@pytest.mark.parametrize(
    ("lines", "sentences"), [("mini-baselines", 4_000), ("mini-all-raw-text", 10_000)]
)
def test_the_results_of_baselines_are_of_the_bundled_encoder_and_its_recipe(lines, sentences):
    check_baselines(lines, ["baselines", "beyond"], ["data.language=en"], sentences)
    assert all(result.fraction == 0 for result in committed(lines))


def test_the_low_resource_results_of_baselines_are_of_the_settings_that_the_page_names():
    page = systems_table.PAGE.read_text("utf-8")
    (command,) = (line for line in page.splitlines() if "experiment low-resource-bas" in line)
    changes = re.findall(r"--set (\S+)", command)
    check_baselines("mini-low-resource-baselines", ["low-resource-baselines"], changes, 4_000)


def check_baselines(lines, names, changes, sentences):
    changes = [*changes, f"distillation.sentences={sentences}"]
    studies = [load_study(name, {"recipe": "mini", "set": changes}) for name in names]
    study_of = {system: study for study in studies for system in study.systems}
    results = committed(lines)
    for result in results:
        study = study_of[result.system]
        settings = study.settings(result.system, result.seed)
        assert result.digests.get("baseline") == study.baseline(result.system)
        assert result.digests["encoder"] == encoder_digest("mini")
        assert result.recipe["prediction"]["decoding"] == "viterbi"
        if study.baseline(result.system) is None:
            check_settings(result, study)
            continue
        baseline = find_baseline(study.baseline(result.system))
        of_result = Settings.model_validate(result.recipe)
        assert baseline.settings_read(of_result) == baseline.settings_read(settings)
        assert of_result.meta == settings.meta
        assert of_result.direct == settings.direct
        assert of_result.fine_tuning == settings.fine_tuning
    places = [(result.system, result.target, result.seed, result.fraction) for result in results]
    assert len(set(places)) == len(places)


def test_the_table_of_systems_is_what_the_lines_say():
    page = systems_table.PAGE.read_text("utf-8")
    assert systems_table.written(page) == page
    rows = [line.split(" | ") for line in systems_table.systems_table().splitlines()[2:]]
    ours = next(row for row in rows if row[0].startswith("| ours:"))
    in_spanish = [r for r in committed("mini-zero-shot") if (r.system, r.target) == ("ours", "es")]
    scores = [result.score("adapted") for result in in_spanish]
    f1s = [200 * s.correct / (s.predicted + s.gold) for s in scores]
    assert len(f1s) == 3
    assert ours[2] == f"{np.mean(f1s):.1f} ± {np.std(f1s, ddof=1):.1f}"
    assert ours[6] == "3"
    assert next(row for row in rows if row[0].startswith("| mayhew:"))[6] == "-"


def test_a_difference_of_systems_is_that_of_their_lines():
    f1s = {
        (result.system, result.seed): 100 * result.f1
        for result in committed("mini-low-resource-baselines")
        if (result.target, result.fraction) == ("nl", 0.05)
    }
    seeds = [s for name, s in f1s if name == "mayhew" and ("crf", s) in f1s]
    difference = np.mean([f1s["mayhew", seed] - f1s["crf", seed] for seed in seeds])
    printed = list(system_differences(0.05, "mayhew", "crf"))
    assert printed[1] == f"mayhew - crf, nl: {difference:+.1f}, p = 0.0001"
    assert len(printed) == 2
    assert not list(system_differences(0.05, "mayhew", "nothing"))


def test_a_system_without_randomness_is_compared_with_all_seeds():
    in_spanish = [result for result in committed("mini-baselines") if result.target == "es"]
    xie = [100 * result.f1 for result in in_spanish if result.system == "xie"]
    (mayhew,) = (100 * result.f1 for result in in_spanish if result.system == "mayhew")
    assert len(xie) == 3
    printed = list(system_differences(0, "xie", "mayhew"))
    assert f"xie - mayhew, es: {np.mean(xie) - mayhew:+.1f}, p = 0.0001" in printed


@pytest.mark.parametrize(
    "name", ["gemma-zero-shot", "gemma-search", "gemma-analysis", "gemma-inner", "gemma-beyond"]
)
def test_the_results_of_gemma_are_of_the_study_as_it_is(name):
    study = load_study(ROOT / f"docs/studies/{name}.yaml")
    for result in committed(name):
        check_settings(result, study)


def test_the_recipe_gemma_is_that_of_its_study():
    of_study = load_study(ROOT / "docs/studies/gemma-zero-shot.yaml").settings("ours", 0)
    recipe = load_settings("gemma", {"encoder": {"name": "gemma-3-270m"}, "run": {"seed": 0}})
    unused = {"direct": None, "fine_tuning": None}
    assert relevant_settings(of_study) | unused == relevant_settings(recipe) | unused


def committed(lines):
    text = (ROOT / "docs" / "results" / f"{lines}.jsonl").read_text()
    results = [Result.model_validate_json(line) for line in text.splitlines()]
    assert results
    return results


def check_settings(result, study):
    unused = "fine_tuning" if result.fraction == 0 else "adaptation"
    of_study = relevant_settings(study.settings(result.system, result.seed))
    of_result = relevant_settings(Settings.model_validate(result.recipe))
    assert {**of_study, unused: None} == {**of_result, unused: None}
    decoding = result.recipe.get("prediction", {}).get("decoding", "argmax")  # of earlier versions
    assert study.settings(result.system, result.seed).prediction.decoding == decoding
