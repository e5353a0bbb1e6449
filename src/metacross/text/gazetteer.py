"""Reads lists of names with their types, and finds the names in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metacross.errors import DataError
from metacross.text.language_codes import primary_language
from metacross.text.resource_files import table_rows
from metacross.text.sentence import Span
from metacross.text.word_splitting import split_text
from metacross.text.writing import write_atomically

_COLUMNS = ("name", "type", "language")
_MIN_LETTERS = 3  # a shorter name is found in too many words


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Names, as their words, with the types that each has.

    >>> gazetteer = Gazetteer.of([("New York", "LOC"), ("York", "ORG")])
    >>> gazetteer.matches(("to", "New", "York"))
    [Span(start=1, end=3, label='LOC'), Span(start=2, end=3, label='ORG')]
    """

    types_of: Mapping[tuple[str, ...], tuple[str, ...]]
    longest: int = field(default=0)

    @classmethod
    def of(cls, names: Sequence[tuple[str, str]]) -> Gazetteer:
        """Collect (name, type)."""
        types: dict[tuple[str, ...], dict[str, None]] = {}
        for name, type_ in names:
            layout = split_text(name)
            words = tuple(layout.text[start:end] for start, end in layout.offsets)
            if sum(map(str.isalpha, name)) >= _MIN_LETTERS and any(map(str.isalpha, words[0])):
                types.setdefault(words, {})[type_] = None
        longest = max(map(len, types), default=0)
        return cls({words: tuple(found) for words, found in types.items()}, longest)

    def __len__(self) -> int:
        return len(self.types_of)

    @property
    def types(self) -> tuple[str, ...]:
        """All types, in alphabetical order."""
        return tuple(sorted({type_ for types in self.types_of.values() for type_ in types}))

    def matches(self, words: Sequence[str]) -> list[Span]:
        """All names in a sentence, spelled as in the list, with overlaps, in order."""
        return list(self._matches(words))

    def _matches(self, words: Sequence[str]) -> Iterator[Span]:
        for start in range(len(words)):
            for end in range(min(len(words), start + self.longest), start, -1):
                for type_ in self.types_of.get(tuple(words[start:end]), ()):
                    yield Span(start, end, type_)

    def write(self, path: Path) -> None:
        """Write a file that :func:`read_gazetteer` reads back equal."""
        rows = (
            f"{' '.join(words)}\t{type_}\n"
            for words, types in self.types_of.items()
            for type_ in types
        )
        write_atomically(path, rows)


def read_gazetteer(path: str | Path, *languages: str | None) -> Gazetteer:
    """Read ``name TAB type [TAB language]``. With ``languages`` names of others are left out,
    unless one of them is not known (None); a name without a language belongs to all.
    """
    known = all(language is not None for language in languages)
    wanted = {primary_language(language) for language in languages} if known else set()
    names = []
    for row in table_rows(path, _COLUMNS, n_required=2):
        language = row.fields[2] if len(row.fields) > 2 else ""
        if not language or not wanted or primary_language(language) in wanted:
            names.append((row.fields[0], row.fields[1]))
    gazetteer = Gazetteer.of(names)
    if not gazetteer:
        of_languages = f" of {', '.join(sorted(filter(None, wanted)))}" if wanted else ""
        raise DataError(f"{path}: expected names with their types{of_languages}, found none")
    return gazetteer
