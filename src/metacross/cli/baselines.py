"""``metacross baselines``: list the systems to compare with."""

from __future__ import annotations

from rich.table import Table

from metacross.cli import output
from metacross.cli.options import JsonOption


def baselines_command(as_json: JsonOption = False) -> None:
    """List the systems to compare with: what they need, what they are made of, whom to cite.

    Train one: metacross train baseline:NAME --target LANG.
    """
    from metacross.baselines.systems import BASELINES

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
    table = Table("name", "needs", "also uses", "made of", "cites")
    for baseline in BASELINES.values():
        needs, uses = ", ".join(baseline.needs) or "-", ", ".join(baseline.uses) or "-"
        table.add_row(baseline.name, needs, uses, baseline.made_of, baseline.cites)
    output.show(table)
