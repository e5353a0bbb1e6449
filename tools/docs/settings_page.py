"""Describes every setting with its default and its value in each recipe, as Markdown."""

from __future__ import annotations

import json
import typing
from importlib import resources

import yaml
from pydantic.fields import FieldInfo

from metacross.settings import Settings, recipe_names
from metacross.settings_group import SettingsGroup
from metacross.study.plan import Study

HEAD = """# Settings

This page is made from the code by `make docs`. Change a setting on the command line with
`--set meta.steps=1000`, in Python with `load_settings("paper", {"meta": {"steps": 1000}})`, or in a
YAML file of your own:

```yaml
recipe: paper
encoder: {name: FacebookAI/xlm-roberta-base}
data: {source: en/train.conll, dev: en/dev.conll, drop: [MISC]}
meta: {steps: 1000}
```

A recipe holds values for some settings; the others keep their default. Recipes can be combined, and
a later one overrides an earlier one: `metacross train mini,direct`, or `recipe: [mini, direct]`.
"""


def settings_page() -> str:
    """The page: recipes, then a table for each group, then the keys of a study file."""
    recipes = {name: _recipe(name) for name in recipe_names()}
    parts = [HEAD, "## Recipes\n", _recipe_table(recipes)]
    for group, field in Settings.model_fields.items():
        model = typing.cast(type[SettingsGroup], field.annotation)
        parts.append(_group_section(group, model, recipes))
    parts += ["## A study file\n", _study_table()]
    return "\n".join(parts)


def _recipe(name: str) -> dict[str, dict[str, object]]:
    text = _recipe_text(name)
    return yaml.safe_load(text) or {}


def _recipe_text(name: str) -> str:
    return (resources.files("metacross") / "recipes" / f"{name}.yaml").read_text("utf-8")


def _recipe_table(recipes: dict[str, dict[str, dict[str, object]]]) -> str:
    rows = ["| recipe | what it is |", "|---|---|"]
    for name in recipes:
        comment = [line for line in _recipe_text(name).splitlines() if line.startswith("#")]
        rows.append(f"| `{name}` | {' '.join(line.lstrip('# ') for line in comment)} |")
    return "\n".join(rows) + "\n"


def _group_section(
    group: str, model: type[SettingsGroup], recipes: dict[str, dict[str, dict[str, object]]]
) -> str:
    rows = ["| setting | meaning | default | in recipes |", "|---|---|---|---|"]
    for key, field in model.model_fields.items():
        changed = [
            f"{name}: `{_written(values[group][key])}`"
            for name, values in recipes.items()
            if key in values.get(group, {}) and values[group][key] != field.default
        ]
        rows.append(
            f"| `{group}.{key}` | {_meaning(field)} | `{_written(field.default)}` "
            f"| {', '.join(changed)} |"
        )
    return "\n".join([f"## {group}", "", model.__doc__ or "", "", *rows, ""])


def _study_table() -> str:
    rows = ["| key | meaning |", "|---|---|"]
    for key, field in Study.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, SettingsGroup):
            rows += [
                f"| `{key}.{name}` | {_meaning(nested)} |"
                for name, nested in inner.model_fields.items()
            ]
        else:
            rows.append(f"| `{key}` | {_meaning(field)} |")
    return "\n".join(rows) + "\n"


def _meaning(field: FieldInfo) -> str:
    choices = typing.get_args(field.annotation)
    named = typing.get_origin(field.annotation) is typing.Literal
    suffix = f" ({', '.join(f'`{choice}`' for choice in choices)})" if named else ""
    return f"{field.description or ''}{suffix}".replace("|", r"\|")


def _written(value: object) -> str:
    """As in YAML, in one line."""
    if isinstance(value, float) and 0 < value < 0.001:
        mantissa, exponent = f"{value:e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return json.dumps(list(value) if isinstance(value, tuple) else value)
