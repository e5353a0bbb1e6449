"""``metacross baselines``: list the systems to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from metacross.baselines.resources import option_of
from metacross.cli import output
from metacross.cli.options import JsonOption

if TYPE_CHECKING:
    from metacross.baselines.baseline import Baseline


def baselines_command(as_json: JsonOption = False) -> None:
    """List the systems to compare with: what they need, what they are made of, whom to cite.

    Train one: metacross train baseline:NAME --target LANG.
    """
    from metacross.baselines.catalog import BASELINES

    if as_json:
        output.show_json(
            [
                {
                    "name": baseline.name,
                    "needs": list(baseline.needs),
                    "uses": list(baseline.uses),
                    "settings": list(baseline.reads),
                    "made_of": baseline.made_of,
                    "cites": baseline.cites,
                    "published": dict(baseline.published),
                }
                for baseline in BASELINES.values()
            ]
        )
        return
    table = Table(
        Column("name", no_wrap=True),
        Column("needs", max_width=17),
        "made of",
        box=SIMPLE_HEAD,
        pad_edge=False,
        leading=1,
    )
    for baseline in BASELINES.values():
        table.add_row(baseline.name, _options(baseline.needs), _description(baseline))
    output.show(table)


def _description(baseline: Baseline) -> Text:
    lines = [baseline.made_of]
    if baseline.uses:
        lines.append(f"also uses {_options(baseline.uses)}")
    if baseline.cites != "-":
        lines.append(baseline.cites)
    first, *others = lines
    return Text.assemble(first, *((f"\n{line}", "dim") for line in others))


def _options(resources: Sequence[str]) -> str:
    """The options that give resources.

    >>> _options(["lexicon or vectors", "raw_text"])
    '--lexicon or --vectors, --raw-text'
    """
    return ", ".join(
        " or ".join(option_of(name) for name in resource.split(" or ")) for resource in resources
    )
