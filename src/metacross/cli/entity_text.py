"""Marks the entities of a sentence in color."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from metacross.text.sentence import Sentence, Span

_STYLES = {
    "PER": "bold black on bright_green",
    "LOC": "bold black on bright_cyan",
    "ORG": "bold black on bright_yellow",
    "MISC": "bold black on bright_magenta",
}
_OTHER = "bold black on white"


def marked(sentence: Sentence, spans: Sequence[Span] | None = None) -> Text:
    """The words with entities in brackets and color; its own where no spans are given.

    >>> marked(Sentence(("Ana", "habló"), (Span(0, 1, "PER"),))).plain
    '[Ana PER] habló'
    """
    blank = "" if sentence.language in ("zh", "ja") else " "
    text, position = Text(), 0
    for span in sentence.spans or () if spans is None else spans:
        _append(text, blank.join(sentence.words[position : span.start]), blank)
        words = blank.join(sentence.words_of(span))
        _append(text, f"[{words} {span.label}]", blank, _STYLES.get(span.label, _OTHER))
        position = span.end
    _append(text, blank.join(sentence.words[position:]), blank)
    return text


def _append(text: Text, words: str, blank: str, style: str = "") -> None:
    if words:
        text.append(blank if text.plain else "")
        text.append(words, style)
