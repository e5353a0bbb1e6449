"""Reads and writes CoNLL-U with named entities in the column MISC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from metacross.errors import DataError
from metacross.text.annotation_formats.proposal import Item, sentence_of
from metacross.text.lines import NumberedLine
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Layout, Origin, Sentence, Span

_COLUMNS = 10  # ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
_NUMBERED, _TAGGED = "NE", ("ner", "name")
_NESTED = re.compile(r".+?_\d+(-.+?_\d+)+")
_NUMBERED_ENTITY = re.compile(r"(.+)_(\d+)")
_ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}
_UNESCAPES = {escape[1]: character for character, escape in _ESCAPES.items()}


@dataclass(slots=True)
class _Rows:
    """The lines of a sentence while it is read. ``names`` has the entity of each word, if it has
    one: a label with its number, or a tag.
    """

    line: int = 0
    comments: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    names: list[tuple[str, str] | None] = field(default_factory=list)
    spaces: list[str] = field(default_factory=list)
    before: str = ""
    joined: dict[int, tuple[str, str] | None] = field(default_factory=dict)
    has_joined: bool = False

    @property
    def says_labeled(self) -> bool:
        """Whether a comment says that the sentence is annotated, even without entities."""
        return "entities" in self.comments

    @property
    def has_names(self) -> bool:
        """Whether a word is in an entity."""
        return any(name is not None for name in self.names)


def is_conllu(line: str) -> bool:
    """Whether a line is the first word of a sentence in CoNLL-U."""
    columns = line.split("\t")
    return len(columns) == _COLUMNS and re.fullmatch(r"1(-\d+)?|0\.1", columns[0]) is not None


def sentences_from_conllu(
    lines: Iterable[NumberedLine], source: str, log: ReadingLog, *, language: str | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file.

    Entities are ``NE=LOC_2`` (NameTag: one number for each entity), ``ner=B-LOC`` (Stanza) or
    ``name=B-LOC`` (NorNE). A file without any of them is not annotated. If a comment says how many
    ``entities`` a sentence has, sentences without it and without entities are not annotated.
    """
    sentences = [
        (rows, _sentence(rows, source, log, language)) for rows in _all_rows(lines, source)
    ]
    marked = any(rows.says_labeled for rows, _ in sentences)
    annotated = any(rows.has_names for rows, _ in sentences)
    for rows, sentence in sentences:
        labeled = rows.says_labeled or rows.has_names if marked else annotated
        yield sentence if labeled else sentence.with_spans(None)


def _all_rows(lines: Iterable[NumberedLine], source: str) -> Iterator[_Rows]:
    rows = _Rows()
    for number, line in lines:
        if not line.strip():
            if rows.words:
                yield rows
            rows = _Rows()
        elif line.startswith("#") and not rows.words:
            key, sign, value = line[1:].partition("=")
            if sign:
                rows.comments[key.strip()] = value.strip() if key.strip() != "text" else value[1:]
        else:
            _add_row(rows, line, number, f"{source}:{number}")
    if rows.words:
        yield rows


def _add_row(rows: _Rows, line: str, number: int, place: str) -> None:
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise DataError(f"{place}: expected {_COLUMNS} columns with tabs, found {len(columns)}")
    misc = dict(part.partition("=")[::2] for part in columns[9].split("|"))
    name = _name(misc)
    if columns[0].isdecimal():
        position = len(rows.words)
        rows.line = rows.line or number
        if not columns[1]:
            raise DataError(f"{place}: expected a word, found an empty column")
        rows.words.append(columns[1])
        rows.lines.append(number)
        rows.names.append(name or rows.joined.get(position))
        if not position:
            rows.before = _unescaped(misc.get("SpacesBefore", ""))
        rows.spaces.append(_space_after(misc))
        return
    joined = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", columns[0])
    if joined is None and not re.fullmatch(r"\d+\.\d+", columns[0]):
        raise DataError(f"{place}: expected the number of a word, found {columns[0][:80]!r}")
    if joined is not None:
        rows.has_joined = True
        for position in range(int(joined[1]) - 1, int(joined[2])):
            rows.joined[position] = name


def _name(misc: dict[str, str]) -> tuple[str, str] | None:
    """The kind and value of a word's entity."""
    for key in (_NUMBERED, *_TAGGED):
        value = misc.get(key, "")
        if value and value not in ("O", "_"):
            return key, value
    return None


def _space_after(misc: dict[str, str]) -> str:
    if "SpacesAfter" in misc:
        return _unescaped(misc["SpacesAfter"])
    return "" if misc.get("SpaceAfter") == "No" else " "


def _sentence(rows: _Rows, source: str, log: ReadingLog, language: str | None) -> Sentence:
    origin = Origin(source, rows.line)
    spans = _spans(rows, source, log)
    language = rows.comments.get("language", language)
    return Sentence(tuple(rows.words), spans, language, origin, _layout(rows))


def _layout(rows: _Rows) -> Layout | None:
    """The text as the spaces say, if the file has it; None where words differ from the text."""
    text = rows.comments.get("text")
    if text is None or rows.has_joined:
        return None
    offsets, made = [], rows.before
    for word, space in zip(rows.words, rows.spaces, strict=True):
        offsets.append((len(made), len(made) + len(word)))
        made += word + space
    if rows.comments.get("spaces") != "exact":  # elsewhere the last word may say what it likes
        made = made.rstrip(" ")
    if " ".join(made.split()) != " ".join(text.split()):
        return None
    return Layout(made, tuple(offsets))


def _spans(rows: _Rows, source: str, log: ReadingLog) -> tuple[Span, ...]:
    kinds = {name[0] for name in rows.names if name is not None}
    if len(kinds) > 1:
        raise DataError(
            f"{source}:{rows.line}: expected one way to mark entities, found {', '.join(kinds)}"
        )
    if kinds == {_NUMBERED}:
        return tuple(_numbered_spans(rows, source, log))
    tags = ["O" if name is None else name[1] for name in rows.names]
    places = zip(tags, rows.lines, strict=True)
    checked = [log.checked_tag(tag, f"{source}:{number}") for tag, number in places]
    return log.spans(checked, source, rows.lines)


def _numbered_spans(rows: _Rows, source: str, log: ReadingLog) -> Iterator[Span]:
    """Words with the same number are an entity; one number at two places is discontinuous."""
    seen: dict[str, int] = {}
    start, current = 0, ""
    names = [None if name is None else name[1] for name in rows.names]
    for position, name in enumerate([*names, None]):
        if name == current:
            continue
        if current:
            label = _numbered_label(current, f"{source}:{rows.lines[start]}", log)
            if current in seen:
                log.lose(
                    f"{source}:{rows.lines[start]}",
                    f"expected an entity in one piece, found {current} again after line "
                    f"{rows.lines[seen[current]]}",
                )
            elif label is not None:
                yield Span(start, position, label)
            seen.setdefault(current, position - 1)
        start, current = position, name or ""


def _numbered_label(value: str, place: str, log: ReadingLog) -> str | None:
    if _NESTED.fullmatch(value):
        log.lose(place, f"expected entities that do not overlap, found the nested ones {value}")
        return None
    found = _NUMBERED_ENTITY.fullmatch(value)
    if not found:
        raise DataError(f"{place}: expected a label and a number as in NE=LOC_2, found {value!r}")
    return found[1]


def conllu_lines(item: Item) -> str:
    """A sentence as CoNLL-U, with NameTag's numbering of its entities."""
    sentence = sentence_of(item)
    comments = []
    if sentence.language is not None:
        comments.append(f"# language = {sentence.language}")
    if sentence.layout is not None:
        comments += [f"# text = {' '.join(sentence.layout.text.split())}", "# spaces = exact"]
    if sentence.spans is not None:
        comments.append(f"# entities = {len(sentence.spans)}")
    names: dict[int, str] = {}
    for number, span in enumerate(sentence.spans or (), start=1):
        _check_label(span.label, sentence)
        for position in range(span.start, span.end):
            names[position] = f"{_NUMBERED}={span.label}_{number}"
    rows = []
    for position, word in enumerate(sentence.words):
        if not word or any(character in word for character in "\t\n"):
            raise DataError(
                f"{sentence.place}: the word {word[:40]!r} cannot be written as CoNLL-U; "
                "write JSON lines instead, to a file with the suffix .jsonl"
            )
        misc = [names[position]] if position in names else []
        misc += _spaces_misc(sentence.layout, position)
        columns = [str(position + 1), word, *"_" * 7, "|".join(misc) or "_"]
        rows.append("\t".join(columns))
    return "\n".join([*comments, *rows]) + "\n\n"


def _check_label(label: str, sentence: Sentence) -> None:
    if re.search(r"[\s|]", label) or re.search(r"_\d+-", label):
        raise DataError(
            f"{sentence.place}: the label {label[:40]!r} cannot be written as CoNLL-U; "
            "rename it with --map"
        )


def _spaces_misc(layout: Layout | None, position: int) -> list[str]:
    """How the word is followed, and the first one preceded, by white space."""
    if layout is None:
        return []
    start, end = layout.offsets[position]
    is_last = position + 1 == len(layout.offsets)
    after = layout.text[end : None if is_last else layout.offsets[position + 1][0]]
    misc = []
    if position == 0 and start > 0:
        misc.append(f"SpacesBefore={_escaped(layout.text[:start])}")
    if after == "":
        misc.append("SpaceAfter=No")
    elif after != " ":
        misc.append(f"SpacesAfter={_escaped(after)}")
    return misc


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _UNESCAPES.get(escape[1], escape[0]), text)
