"""Shows the sentences that the base and the method read differently."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.blocks import (
    Entry,
    Markup,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.cases import KINDS, Case, TargetCases, target_cases
from metacross.study.report.html_pages import marked
from metacross.study.statistics import ResultsGrid
from metacross.text.sentence import Sentence, Span

_HEADING = "Case study"
_KIND_KEYS = tuple((kind.replace(" ", "-"), kind) for kind in KINDS)


def case_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """The base against the method, in the first fraction."""
    fraction, system, base = grid.fractions[0], grid.challenger, grid.reference
    if base not in grid.systems(fraction) or system is None or system == base:
        needed = Paragraph(f"It needs {base} and another system, which adapts.")
        return Section("cases", _HEADING, (needed,))
    found = [
        target_cases(stored, grid.at(fraction, base, target), grid.at(fraction, system, target))
        for target in grid.targets_in(fraction)
    ]
    kept = [cases for cases in found if cases is not None]
    if not kept:
        nothing = Paragraph(f"No predictions of {base} and {system} with the same seed were kept.")
        return Section("cases", _HEADING, (nothing,))
    words = Paragraph(
        f"Sentences that {base} and {system} read differently, {fraction_name(fraction)}. Fixed: {base} is wrong "
        f"and {system} right; broken: the other way round; still wrong: both are wrong, in "
        "different ways. A sentence is right when all of its entities are, and no others."
    )
    blocks = (words, _counts_table(kept), Markup(_filtered(kept, base, system)))
    return Section("cases", _HEADING, blocks, style=_filter_style(len(kept)))


def _counts_table(targets: Sequence[TargetCases]) -> Table:
    rows = []
    for cases in targets:
        entries = [Entry(str(cases.seed))]
        for kind in KINDS:
            shown = sum(case.kind == kind for case in cases.shown)
            there = cases.n_cases[kind]
            entries.append(Entry(f"{there:,}" if shown == there else f"{there:,} ({shown} shown)"))
        rows.append(Row(cases.target, tuple(entries)))
    return Table(
        "How many sentences there are. Where there are many, the page shows some of them, drawn at "
        "random.",
        ("target", "seed", *KINDS),
        tuple(rows),
    )


def _filtered(targets: Sequence[TargetCases], base: str, system: str) -> str:
    """The sentences, with two groups of radio buttons to choose among them."""
    languages = [(_key(number), cases.target) for number, cases in enumerate(targets)]
    articles = [
        _article(case, cases.target, key, base, system)
        for (key, _), cases in zip(languages, targets, strict=True)
        for case in cases.shown
    ]
    return (
        '<div id="all-cases"><div class="filters">'
        f"{_choice('language', 'Language', languages, checked=_key(0))}"
        f"{_choice('kind', 'Kind', _KIND_KEYS, checked='all')}</div>"
        f"{''.join(articles)}</div>"
    )


def _filter_style(n_targets: int) -> str:
    """Rules that hide what is not chosen: a page without scripts can choose so, and a browser that
    does not know them shows all.
    """
    keys = {
        "language": [_key(number) for number in range(n_targets)],
        "kind": [key for key, _ in _KIND_KEYS],
    }
    return "".join(
        f'#all-cases:has(#{group}-{key}:checked) article:not([data-{group}="{key}"])'
        " { display: none; }\n"
        for group, own in keys.items()
        for key in own
    )


def _key(number: int) -> str:
    """A target's name in the page, whatever its name is."""
    return f"target-{number}"


def _choice(group: str, legend: str, options: Sequence[tuple[str, str]], *, checked: str) -> str:
    buttons = []
    for key, name in [("all", "all"), *options]:
        mark = " checked" if key == checked else ""
        buttons.append(
            f'<label for="{group}-{key}"><input type="radio" name="{group}" id="{group}-{key}" '
            f'value="{key}"{mark}> {escape(name)}</label>'
        )
    return f"<fieldset><legend>{legend}</legend>{''.join(buttons)}</fieldset>"


def _article(case: Case, target: str, key: str, base: str, system: str) -> str:
    language = case.gold.language or target
    verdicts = {
        "fixed": ("wrong", "right"),
        "broken": ("right", "wrong"),
        "still wrong": ("wrong", "wrong"),
    }
    theirs, ours = verdicts[case.kind]
    rows = [
        _row("gold", case.gold, case.gold.spans or (), language),
        _row(f"{base} ({theirs})", case.gold, case.theirs, language),
        _row(f"{system} ({ours})", case.gold, case.ours, language),
    ]
    for source, similarity in case.neighbors:
        name = f"learned from ({similarity:.2f})"
        rows.append(_row(name, source, source.spans or (), source.language))
    kind = case.kind.replace(" ", "-")
    return (
        f'<article data-language="{key}" data-kind="{kind}">'
        f'<h3>{escape(target)}, sentence {case.number:,}: <span class="{kind}">{case.kind}</span>'
        f"</h3><dl>{''.join(rows)}</dl></article>"
    )


def _row(name: str, sentence: Sentence, spans: Sequence[Span], language: str | None) -> str:
    """``language`` is None where nobody said it."""
    of = f' lang="{escape(language)}"' if language else ""
    return f"<dt>{escape(name)}</dt><dd{of}>{marked(sentence, spans)}</dd>"
