"""The documentation names what exists and shows what runs."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

import metacross
from metacross.cli.main import app
from metacross.settings import Settings, load_settings
from metacross.study.plan import StudyData, load_study
from tools.docs.command_page import command_page, command_parameters, option_names
from tools.docs.settings_page import settings_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")]
METHOD = (DOCS / "method.md").read_text()
NAMES = sorted(set(re.findall(r"`(metacross(?:\.\w+)+)`", METHOD)))


def imported(name: str) -> object:
    """Import as much of a dotted name as is a module, and look up the rest."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


def commands_shown(page: Path) -> list[str]:
    """The metacross commands of a page's code, also those that torchrun starts; those that are cut
    off with ... are left out.
    """
    text = page.read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4,}(metacross .*)$", text, flags=re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()] + indented
    lines = [re.sub(r"^.*torchrun .*-m (?=metacross )", "", line) for line in lines]
    return [line for line in lines if line.startswith("metacross ") and "[OPTIONS]" not in line]


def test_the_method_page_names_many_functions():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_method_page_exists(name):
    assert callable(imported(name))


def test_every_line_of_algorithm_1_is_mapped():
    algorithm = METHOD.split("## Algorithm 1")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\d, ]+) \|", algorithm, flags=re.MULTILINE)
    assert [int(n) for row in rows for n in row.split(",")] == list(range(1, 21))


def test_every_equation_is_mapped():
    equations = METHOD.split("## Equations")[1].split("\n## ")[0]
    rows = re.findall(r"^\| Eq\. ([\d, ]+) \|", equations, flags=re.MULTILINE)
    assert [int(n) for row in rows for n in row.split(",")] == list(range(1, 14))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_setting_on_a_page_exists(page):
    for group, key in re.findall(r"[ `]([a-z_]+)\.([a-z_]+|\*)(?:=|`)", page.read_text()):
        is_module = (ROOT / "src" / "metacross" / group / f"{key}.py").exists()
        if group not in Settings.model_fields or key in ("*", "py") or is_module:
            continue
        fields = {**type(getattr(Settings(), group)).model_fields}
        if group == "data":
            fields |= StudyData.model_fields
        assert key in fields, f"{page.name}: {group}.{key}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_file_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_on_a_page_has_options_that_exist(page):
    functions = {command.name: command.callback for command in app.registered_commands}
    for line in commands_shown(page):
        words = shlex.split(line, comments=True)
        assert words[1] in functions, line
        known = {
            name
            for parameter in command_parameters(functions[words[1]])
            for name in option_names(parameter)
        }
        used = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
        assert used <= known, f"{line}: {used - known}"


def test_many_commands_are_checked():
    assert sum(len(commands_shown(page)) for page in PAGES) > 15


@pytest.mark.parametrize(
    ("page", "made"), [("commands.md", command_page), ("settings.md", settings_page)]
)
def test_a_reference_page_is_what_the_code_gives(page, made):
    """``python -m tools.docs`` writes these pages."""
    assert (DOCS / "reference" / page).read_text() == made()


def test_the_api_page_has_every_public_name():
    page = (DOCS / "reference" / "api.md").read_text()
    documented = re.findall(r"^::: metacross\.(\w+)$", page, flags=re.MULTILINE)
    assert sorted(documented) == sorted(set(metacross.__all__) - {"__version__"})


def test_the_site_has_every_page():
    def pages(entries: list[dict]) -> list[str]:
        values = [value for entry in entries for value in entry.values()]
        return [
            page
            for value in values
            for page in (pages(value) if isinstance(value, list) else [value])
        ]

    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    existing = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    assert sorted(pages(site["nav"])) == sorted(existing)


def test_the_study_of_the_page_on_studies_is_one(write):
    text = (DOCS / "studies.md").read_text().split("```yaml\n")[1].split("```")[0]
    study = load_study(write("x.yaml", text), {})
    assert [*study.systems] == ["base", "ours", "larger-steps", "four-neighbors"]
    for system in study.systems:
        study.settings(system, seed=1)


@pytest.mark.parametrize("page", ["method.md", "reference/settings.md"])
def test_the_recipe_on_a_page_is_one(page, write):
    text = (DOCS / page).read_text().split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(text)["recipe"] == "paper"
    assert load_settings(write("x.yaml", text)).meta.steps == 1000
