"""Reads parallel text, and alignments of its words in Pharaoh form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from metacross.errors import DataError
from metacross.text.lines import NumberedLine, numbered_lines
from metacross.text.reading import unlabeled
from metacross.text.resource_files import opened, table_rows
from metacross.text.sentence import Layout, Origin, Sentence
from metacross.text.word_splitting import split_text

Links: TypeAlias = frozenset[tuple[int, int]]
"""Positions of words that belong together: (source, target)."""

_LINK = re.compile(r"(\d+)[-p](\d+)")  # Pharaoh writes possible links with p


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation."""

    source: Sentence
    target: Sentence


@dataclass(frozen=True, slots=True)
class ParallelLanguages:
    """The languages of parallel text; None: unknown."""

    source: str | None = None
    target: str | None = None


def read_parallel(
    path: str | Path,
    languages: ParallelLanguages | None = None,
    *,
    pretokenized: bool = False,
) -> list[SentencePair]:
    """Read ``source TAB target`` lines, or two files with a sentence per line: ``SOURCE,TARGET``.

    Sentences are split into words; ``pretokenized`` ones only at blanks, so that an alignment made
    elsewhere still counts the same words. Of two files, pairs with an empty side are left out.
    """
    languages = languages or ParallelLanguages()
    pairs: list[SentencePair] = []
    for source, target, origin in _text_pairs(path):
        layouts = [
            _at_blanks(text) if pretokenized else split_text(text, language)
            for text, language in ((source, languages.source), (target, languages.target))
        ]
        if all(layout.offsets for layout in layouts):
            pairs.append(
                SentencePair(
                    unlabeled(layouts[0], languages.source, origin),
                    unlabeled(layouts[1], languages.target, origin),
                )
            )
    if not pairs:
        raise DataError(f"{path}: expected pairs of sentences, found none")
    return pairs


def read_alignments(path: str | Path, pairs: Sequence[SentencePair]) -> list[Links]:
    """Read links such as ``0-0 1-2``: the line of a pair has the number that the pair has in its
    file; a blank line means no links.
    """
    with opened(path) as stream:
        lines = dict(numbered_lines(stream, str(path), "utf-8"))
    numbers = [
        position if pair.source.origin is None else pair.source.origin.line
        for position, pair in enumerate(pairs, start=1)
    ]
    n_lines = max((number for number, line in lines.items() if line.strip()), default=0)
    if numbers[-1] > len(lines) or n_lines > numbers[-1]:
        raise DataError(
            f"{path}: expected a line of links for each of {numbers[-1]:,} lines of parallel text, "
            f"found {len(lines):,}"
        )
    return [
        _links(lines[number], pair, f"{path}:{number}")
        for number, pair in zip(numbers, pairs, strict=True)
    ]


def _links(line: str, pair: SentencePair, place: str) -> Links:
    links = set()
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise DataError(f"{place}: expected links such as 0-0 1-2, found {text[:40]!r}")
        source, target = int(match[1]), int(match[2])
        sizes = len(pair.source.words), len(pair.target.words)
        if source >= sizes[0] or target >= sizes[1]:
            raise DataError(
                f"{place}: expected links between {sizes[0]} and {sizes[1]} words, counted from 0 "
                f"and split at blanks, found {text}"
            )
        links.add((source, target))
    return frozenset(links)


def _at_blanks(text: str) -> Layout:
    return Layout(text, tuple(match.span() for match in re.finditer(r"\S+", text)))


def _text_pairs(path: str | Path) -> Iterator[tuple[str, str, Origin]]:
    first, comma, second = str(path).partition(",")
    if comma and not Path(path).exists():
        yield from _pairs_of_files(first, second)
        return
    for row in table_rows(path, ("source sentence", "target sentence"), n_required=2):
        name, _, number = row.place.rpartition(":")
        yield row.fields[0], row.fields[1], Origin(name, int(number))


def _pairs_of_files(first: str, second: str) -> Iterator[tuple[str, str, Origin]]:
    lines, other_lines = _all_lines(first), _all_lines(second)
    if len(lines) != len(other_lines):
        raise DataError(
            f"{first}: expected as many lines as {second}, which has {len(other_lines):,}, "
            f"found {len(lines):,}"
        )
    for (number, source), (_, target) in zip(lines, other_lines, strict=True):
        if source.strip() and target.strip():
            yield source, target, Origin(first, number)


def _all_lines(path: str) -> list[NumberedLine]:
    with opened(path) as stream:
        return list(numbered_lines(stream, path, "utf-8"))
