"""Writes reports as web pages that need nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from metacross.text.sentence import Sentence, Span

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #d5dae0;
  --soft: #f4f6f8; --quiet: #57606a; --good: #116329; --bad: #a40e26;
  --per: #c7f0d0; --loc: #c5e6f7; --org: #fbe7b2; --misc: #ecd4f5; --other: #dde1e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14181d; --line: #363d46;
  --soft: #1d232a; --quiet: #9aa4af; --good: #6fdd8b; --bad: #ff8f9c;
  --per: #1f5a33; --loc: #17506b; --org: #6a5212; --misc: #5b2f6e; --other: #414a55; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { margin: .5rem 0; max-width: 46rem; }
.quiet { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
caption { text-align: left; color: var(--quiet); padding-bottom: .3rem; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--ink); }
tr.total td, tr.total th { font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
article { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; margin: 1rem 0;
  background: var(--soft); break-inside: avoid; }
article h3 { margin: 0 0 .4rem; font-size: 1rem; }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .35rem .8rem; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } }
mark { color: inherit; padding: .05rem .3rem; border-radius: .3rem; background: var(--other); }
mark b { font-size: .7em; letter-spacing: .04em; opacity: .8; margin-left: .35em; }
mark.PER { background: var(--per); } mark.LOC { background: var(--loc); }
mark.ORG { background: var(--org); } mark.MISC { background: var(--misc); }
code { background: var(--soft); padding: .1rem .3rem; border-radius: .3rem; }
@media print { body { max-width: none; } article { background: none; } }
"""


def page(title: str, body: Iterable[str], *, style: str = "") -> str:
    """A whole page: no scripts, nothing loaded from elsewhere. ``style`` is CSS of its own."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            *body,
            "</main></body></html>\n",
        ]
    )


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    total: Sequence[str] | None = None,
) -> str:
    """A table whose first column names the rows. Cells are HTML already; ``total`` is a last row
    that stands out, None where there is none.
    """
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    lines = [_row(results, "") for results in rows]
    if total is not None:
        lines.append(_row(total, ' class="total"'))
    return scrolling(
        caption,
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>",
    )


def scrolling(name: str, content: str) -> str:
    """Something wide that scrolls on its own, also with the keyboard."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
        f"{content}</div>"
    )


def _row(results: Sequence[str], attributes: str) -> str:
    name, *others = results
    columns = "".join(f"<td>{result}</td>" for result in others)
    return f'<tr{attributes}><th scope="row">{name}</th>{columns}</tr>'


def difference(points: float) -> str:
    """A difference in points, colored and signed; what rounds to nothing is nothing."""
    points = round(points, 1) + 0.0
    kind = "good" if points > 0 else "bad" if points < 0 else "quiet"
    return f'<span class="{kind}">{points:+.1f}</span>'


def marked(sentence: Sentence, spans: Sequence[Span]) -> str:
    """A sentence with its entities highlighted and named.

    >>> marked(Sentence(("Ana", "habló")), [Span(0, 1, "PER")])
    '<mark class="PER">Ana<b>PER</b></mark> habló'
    """
    blank = "" if sentence.language in ("zh", "ja") else " "
    parts, position = [], 0
    for span in spans:
        parts += [escape(word) for word in sentence.words[position : span.start]]
        words, label = escape(blank.join(sentence.words_of(span))), escape(span.label)
        parts.append(f'<mark class="{label}">{words}<b>{label}</b></mark>')
        position = span.end
    parts += [escape(word) for word in sentence.words[position:]]
    return blank.join(parts)
