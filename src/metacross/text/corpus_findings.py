"""Finds what is probably wrong in labeled corpora, by looking at the text and its labels."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from metacross.text.main_script import main_script
from metacross.text.sentence import Corpus, Sentence, Span

_LONGEST_ENTITY = 10  # words
_RARE_TYPE = 20  # entities
_MANY, _FEW = 0.9, 5  # smallest share and number of times that a name is labeled
_SCRIPT_SHARE, _SCRIPT_LETTERS = 0.9, 8
_OPENING = frozenset("([{«“„‘‚\"'")
_WORDS_ONLY = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


class Level(str, Enum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at: ``kind`` is the same for findings of one sort."""

    level: Level
    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.place}: {self.message}"


def find_problems(corpora: Sequence[Corpus]) -> list[Finding]:
    """All findings in some corpora, errors first, then by kind and in the order of the files."""
    findings = [
        finding
        for corpus in corpora
        for finding in (
            *_control_characters(corpus),
            *_reading_problems(corpus),
            *_odd_entities(corpus),
            *_conflicts(corpus),
            *_contradictions(corpus),
            *_rare_types(corpus),
            *_other_scripts(corpus),
        )
    ]
    findings += _copies_between(corpora)
    levels = list(Level)
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    return sorted(findings, key=lambda f: (levels.index(f.level), kinds.index(f.kind)))


def surface_of(sentence: Sentence, span: Span) -> str:
    """The text of an entity."""
    layout = sentence.laid_out()
    return layout.text[layout.offsets[span.start][0] : layout.offsets[span.end - 1][1]]


def _control_characters(corpus: Corpus) -> Iterator[Finding]:
    for sentence in corpus:
        for word in sentence.words:
            found = next((c for c in word if unicodedata.category(c) == "Cc"), None)
            if found is not None:
                yield Finding(
                    Level.ERROR,
                    "control character",
                    sentence.place,
                    f"the word {word[:40]!r} has the control character U+{ord(found):04X}",
                )
                break


def _reading_problems(corpus: Corpus) -> Iterator[Finding]:
    for repair in corpus.notes.repair_examples:
        message = f"{repair.found} is not allowed here, read as {repair.read_as}"
        yield Finding(Level.WARNING, "repaired tag", repair.place, message)
    for omission in corpus.notes.omissions:
        yield Finding(Level.WARNING, "left out", omission.place, omission.reason)


def _odd_entities(corpus: Corpus) -> Iterator[Finding]:
    """Entities with punctuation at an edge, and very long ones."""
    for sentence in corpus:
        for span in sentence.spans or ():
            words = sentence.words_of(span)
            shown = f"{span.label} {surface_of(sentence, span)[:80]!r}"
            if _is_punctuation(words[0]) and len(words) > 1 and words[0] not in _OPENING:
                message = f"{shown} starts with punctuation"
                yield Finding(Level.WARNING, "edge", sentence.place, message)
            elif _ends_oddly(words):
                message = f"{shown} ends with punctuation"
                yield Finding(Level.WARNING, "edge", sentence.place, message)
            elif len(words) == 1 and _is_punctuation(words[0]):
                message = f"{shown} is punctuation"
                yield Finding(Level.WARNING, "edge", sentence.place, message)
            if any(word != word.strip() for word in (words[0], words[-1])):
                message = f"{shown} has a blank at its edge"
                yield Finding(Level.WARNING, "edge", sentence.place, message)
            if len(words) > _LONGEST_ENTITY and not _is_unspaced(words):
                message = f"{shown} has {len(words)} words"
                yield Finding(Level.WARNING, "long entity", sentence.place, message)


def _ends_oddly(words: Sequence[str]) -> bool:
    """Whether the last word is a mark that ends or separates, not a quote, bracket or period."""
    return len(words) > 1 and words[-1] in {",", ";", ":", "!", "?", "،", "。", "、", "，", "-"}


def _is_punctuation(word: str) -> bool:
    return bool(word) and all(unicodedata.category(c)[0] == "P" for c in word)


def _is_unspaced(words: Sequence[str]) -> bool:
    return all(len(word) == 1 for word in words)


def _conflicts(corpus: Corpus) -> Iterator[Finding]:
    """Names with several types, and names that are sometimes not labeled."""
    if not corpus.labeled:
        return
    uses: dict[tuple[str, ...], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for sentence in corpus:
        for span in sentence.spans or ():
            uses[sentence.words_of(span)][span.label].append(sentence.place)
    for words, places in _unlabeled_uses(corpus, uses).items():
        uses[words][""] = places
    for words, by_label in uses.items():
        if len(by_label) > 1:
            yield from _conflict(words, by_label)


def _conflict(words: tuple[str, ...], by_label: dict[str, list[str]]) -> Iterator[Finding]:
    """A finding for each rare use of a name, and one for a name without a usual type."""
    counts = Counter({label: len(places) for label, places in by_label.items()})
    usual, n_usual = max(counts.items(), key=lambda item: (item[1], item[0]))
    name = " ".join(words)
    if not usual:
        return  # mostly no entity: an ordinary word that is sometimes a name
    if n_usual < _FEW or n_usual < _MANY * counts.total():
        shown = ", ".join(f"{label or 'not labeled'} {n}" for label, n in counts.most_common())
        place = next(iter(by_label.values()))[0]
        yield Finding(Level.NOTE, "several types", place, f"{name!r} is {shown} times")
        return
    for label, places in by_label.items():
        for place in places if label != usual else ():
            message = (
                f"{name!r} is {label} here and {usual} {n_usual} times"
                if label
                else f"{name!r} is not labeled here and {usual} {n_usual} times"
            )
            kind = "other type" if label else "not labeled"
            yield Finding(Level.WARNING, kind, place, message)


def _unlabeled_uses(
    corpus: Corpus, names: dict[tuple[str, ...], dict[str, list[str]]]
) -> dict[tuple[str, ...], list[str]]:
    """Where names are outside of all entities; single letters and punctuation are left out."""
    lengths: dict[str, set[int]] = defaultdict(set)
    for words in names:
        if len("".join(words)) > 1 and not all(map(_is_punctuation, words)):
            lengths[words[0]].add(len(words))
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for sentence in corpus:
        labeled = {i for span in sentence.spans or () for i in range(span.start, span.end)}
        for start, word in enumerate(sentence.words):
            for length in lengths.get(word, ()):
                words = sentence.words[start : start + length]  # shorter at the end of a sentence
                inside = range(start, start + length)
                if len(words) == length and words in names and labeled.isdisjoint(inside):
                    found[words].append(sentence.place)
    return found


def _contradictions(corpus: Corpus) -> Iterator[Finding]:
    """Sentences with the same words and other labels."""
    first_of: dict[tuple[str, ...], Sentence] = {}
    for sentence in corpus:
        first = first_of.setdefault(sentence.words, sentence)
        if first.spans is not None and sentence.spans is not None and first.spans != sentence.spans:
            message = f"the same words as {first.place}, with other labels"
            yield Finding(Level.WARNING, "contradiction", sentence.place, message)


def _rare_types(corpus: Corpus) -> Iterator[Finding]:
    for label, n in corpus.entities_by_label.items():
        if n < _RARE_TYPE:
            message = f"{label} is there {n} times: too few to learn or to score"
            yield Finding(Level.NOTE, "rare type", corpus.name, message)


def _other_scripts(corpus: Corpus) -> Iterator[Finding]:
    """Sentences in another script than the corpus."""
    usual = main_script(word for sentence in corpus for word in sentence.words)
    if usual is None or usual.share < _SCRIPT_SHARE:
        return
    for sentence in corpus:
        n_letters = sum(character.isalpha() for word in sentence.words for character in word)
        script = main_script(sentence.words)
        if script is not None and script.name != usual.name and n_letters >= _SCRIPT_LETTERS:
            message = f"{script.name} script in a corpus in {usual.name} script"
            yield Finding(Level.WARNING, "other script", sentence.place, message)


def _copies_between(corpora: Sequence[Corpus]) -> Iterator[Finding]:
    """Sentences of a corpus that an earlier one has too, exactly or nearly."""
    seen: dict[tuple[str, ...] | str, Sentence] = {}
    for corpus in corpora:
        new: dict[tuple[str, ...] | str, Sentence] = {}
        for sentence in corpus:
            key = _copy_key(sentence)
            if not key:
                continue
            for kind, found in (("copy", sentence.words), ("near-copy", key)):
                if found in seen:
                    message = f"a {kind} of {seen[found].place}"
                    yield Finding(Level.WARNING, f"{kind} in two files", sentence.place, message)
                    break
            new.setdefault(sentence.words, sentence)
            new.setdefault(key, sentence)
        for found, sentence in new.items():
            seen.setdefault(found, sentence)


def _copy_key(sentence: Sentence) -> str:
    """What near-copies have in common: letters, without case, numbers and punctuation."""
    letters = _WORDS_ONLY.sub(" ", " ".join(sentence.words).casefold())
    key = " ".join(_DIGITS.sub("0", letters).split())
    return key if sum(character.isalpha() for character in key) >= _SCRIPT_LETTERS else ""
