"""The documentation names what exists and shows what runs."""

import importlib
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from metacross.model.encoder_digest import encoder_digest
from metacross.settings import Settings, load_settings
from metacross.study.plan import load_study
from metacross.study.results import Result
from metacross.training.run_folder import relevant_settings

ROOT = Path(__file__).parent.parent
METHOD = (ROOT / "docs" / "method.md").read_text()
NAMES = sorted(set(re.findall(r"`(metacross(?:\.\w+)+)`", METHOD)))


def found(name: str) -> object:
    """Import as much of a dotted name as is a module, and look up the rest."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


def test_the_page_links_many_names():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_the_method_page_exists(name):
    assert callable(found(name))


def test_every_line_of_algorithm_1_is_mapped():
    algorithm = METHOD.split("## Algorithm 1")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\d, ]+) \|", algorithm, flags=re.MULTILINE)
    assert [int(n) for row in rows for n in row.split(",")] == list(range(1, 21))


def test_every_equation_is_mapped():
    equations = METHOD.split("## Equations")[1].split("\n## ")[0]
    rows = re.findall(r"^\| Eq\. ([\d, ]+) \|", equations, flags=re.MULTILINE)
    assert [int(n) for row in rows for n in row.split(",")] == list(range(1, 14))


@pytest.mark.parametrize("fraction", sorted(set(re.findall(r"`(\w+\.(?:\w+|\*))`", METHOD))))
def test_a_setting_in_the_method_page_exists(fraction):
    section, key = fraction.split(".")
    if section in Settings.model_fields:
        fields = type(getattr(Settings(), section)).model_fields
        assert key == "*" or key in fields


def test_the_study_of_the_page_on_studies_is_one(write):
    text = (ROOT / "docs" / "studies.md").read_text().split("significance.\n\n")[1]
    study = load_study(write("x.yaml", textwrap.dedent(text.split("\n\n")[0])), {})
    assert [*study.systems] == ["base", "ours", "larger-steps", "four-neighbors"]
    for system in study.systems:
        study.settings(system, seed=1)


@pytest.mark.parametrize(
    ("study", "lines"),
    [
        ("docs/studies/mini-zero-shot.yaml", "mini-zero-shot"),
        ("docs/studies/mini-search.yaml", "mini-search"),
        ("low-resource", "mini-low-resource"),
    ],
)
def test_the_results_are_of_the_bundled_encoder_and_its_recipe_as_they_are(study, lines):
    study = load_study(ROOT / study if "/" in study else study, {"recipe": "mini"})
    results = [
        Result.model_validate_json(line)
        for line in (ROOT / "docs" / "results" / f"{lines}.jsonl").read_text().splitlines()
    ]
    assert results
    for result in results:
        unused = "fine_tuning" if result.fraction == 0 else "adaptation"
        of_study = relevant_settings(study.settings(result.system, result.seed))
        of_result = relevant_settings(Settings.model_validate(result.recipe))
        assert {**of_study, unused: None} == {**of_result, unused: None}
        assert result.digests["encoder"] == encoder_digest("mini")


def test_the_recipe_of_the_method_page_is_one(write):
    text = METHOD.split("what differs:\n\n")[1].split("\n\n")[0]
    recipe = yaml.safe_load(text)
    assert recipe["recipe"] == "paper"
    assert load_settings(write("x.yaml", text)).meta.steps == 1000
