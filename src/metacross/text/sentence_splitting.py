"""Splits running text into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from metacross.text.abbreviations import PeriodRules, period_rules
from metacross.text.line_breaks import segments_of_lines
from metacross.text.word_splitting import is_character_script

# End a sentence whatever follows: marks of Chinese, Japanese, Indic scripts, Armenian, Urdu,
# Syriac, Ethiopic, Khmer, Burmese, Tibetan, Mongolian and others (Sentence_Terminal in Unicode).
_FULL_STOPS = (
    "。｡︒﹒।॥։۔܀܁܂߹࠷࠹࠽࠾။།༎༑።፧፨។៕᙮᠃᠉᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᰻᰼᱾᱿꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
)
_QUESTION_MARKS = "!?！？︕︖﹖﹗؟\u037e‼‽⁇⁈⁉⸮"  # U+037E is the Greek question mark
_ELLIPSES = "…⋯"
_PERIODS = ".．"
_NO_BLANK_AFTER = _FULL_STOPS + "！？︕︖﹖﹗؟．"

_CLOSERS = "\"'”’»›」』）〉》】〕〗)]}｝］＂＇“‘«"
_SPACED_CLOSERS = "”»›"  # close even after a blank, as in French
_OPENERS = "\"'“‘„‚«»‹›「『（〈《【〔([{｛［-–—―•*"
_CONTINUATIONS = ",;:，、；：،؛)]}）］｝」』》〉】〕%"

_BLANKS = "[ \u00a0\u202f\u2009]"
_MARKS = re.escape(_FULL_STOPS + _QUESTION_MARKS + _ELLIPSES + _PERIODS)
_END = re.compile(
    rf"(?P<marks>[{_MARKS}](?:{_BLANKS}?[{_MARKS}\u0300-\u036f\ufe00-\ufe0f])*)"
    rf"(?P<closers>[{re.escape(_CLOSERS)}]*(?:{_BLANKS}+[{_SPACED_CLOSERS}]+)*)"
)
_NEXT = re.compile(rf"(?P<openers>[{re.escape(_OPENERS)}\s]*)(?P<word>[^\W_]*)")
_CLITIC_THEN_CAPITAL = re.compile(r"['’‘`](?:s|t|k|n|m|r)\s+[A-Z]")  # Dutch: 's Avonds
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.-?)+[^\W\d_]{1,3}")  # U.S  z.B  J.-C
_ROMAN = re.compile(r"[IVXLC]+")
_NO_VOWELS = re.compile(r"[A-Z]?[bcdfghjklmnpqrstvwxz]{1,4}")
_EDGES = frozenset("\"“”„‚«»‹›()[]{}（）「」『』/—–")
_LONGEST_TOKEN = 30
_LONG_WORD = 5  # letters; a word of this length before a period is hardly an abbreviation


def split_sentences(text: str, language: str | None = None) -> tuple[tuple[int, int], ...]:
    """The half-open character ranges of the sentences of a text.

    The ranges follow each other and cover the text: blanks between two sentences belong to the
    first one. ``language`` is a code such as ``"de"``; it decides which words with a period are
    abbreviations and whether ``3.`` is an ordinal. Without it general rules apply.

    >>> text = "Dr. Ruiz lives in St. Paul. Her firm made $3.5 million!"
    >>> [text[start:end] for start, end in split_sentences(text, language="en")]
    ['Dr. Ruiz lives in St. Paul. ', 'Her firm made $3.5 million!']
    """
    starts = list(_starts(text, period_rules(language)))
    return tuple(pairwise([*starts, len(text)]))


@dataclass(frozen=True, slots=True)
class _Mark:
    """Marks that may end a sentence, such as ``?!``, and what is around them.

    Args:
        token: What precedes them without a blank: the last word, or ``U.S``.
        opens_sentence: Whether nothing but the token is between the start of the sentence and them.
        marks: The marks themselves.
        closers: Closing quotes and brackets after them.
        blank: Whether a blank or the end of the text follows.
        next_character: The first character after blanks; empty at the end.
        openers: Opening quotes, brackets and dashes before the next word.
        next_word: The next word; empty if something else follows.
    """

    token: str
    opens_sentence: bool
    marks: str
    closers: str
    blank: bool
    next_character: str
    openers: str
    next_word: str


def _starts(text: str, rules: PeriodRules) -> Iterator[int]:
    """Where sentences start, in order."""
    has_capitals = text != text.lower()
    for segment_start, segment_end in segments_of_lines(text):
        sentence_start = segment_start
        yield sentence_start
        for match in _END.finditer(text, segment_start, segment_end):
            next_start = _after_blanks(text, match.end(), segment_end)
            if next_start == segment_end:
                break
            mark = _mark(text, sentence_start, match, next_start)
            if _ends_sentence(mark, rules, has_capitals=has_capitals):
                sentence_start = next_start
                yield sentence_start


def _after_blanks(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _mark(text: str, sentence_start: int, match: re.Match[str], next_start: int) -> _Mark:
    token = _token_before(text, sentence_start, match.start())
    following = _NEXT.match(text, next_start)
    assert following is not None
    return _Mark(
        token=token,
        opens_sentence=not text[sentence_start : match.start() - len(token)].strip("( \t\n"),
        marks=match["marks"],
        closers=match["closers"],
        blank=next_start > match.end(),
        next_character=text[next_start],
        openers=following["openers"],
        next_word=following["word"],
    )


def _token_before(text: str, start: int, end: int) -> str:
    first = max(start, end - _LONGEST_TOKEN)
    position = end
    while position > first and not text[position - 1].isspace() and text[position - 1] not in _EDGES:
        position -= 1
    return text[position:end]


def _ends_sentence(mark: _Mark, rules: PeriodRules, *, has_capitals: bool) -> bool:
    if mark.next_character in _CONTINUATIONS:
        return False
    if not mark.blank:
        return _ends_without_blank(mark)
    if mark.marks[-1] in _NO_BLANK_AFTER:
        return True
    if mark.marks == "." and mark.token and not _period_may_end(mark, rules):
        return False
    return _may_start(mark, has_capitals=has_capitals)


def _ends_without_blank(mark: _Mark) -> bool:
    """Full-width marks end a sentence, and other marks between Chinese characters do."""
    if mark.marks[-1] in "．." :
        return is_character_script(mark.next_character) and is_character_script(mark.token[-1:] or "x")
    if mark.marks[-1] in _NO_BLANK_AFTER:
        return True
    return mark.marks[-1] in _QUESTION_MARKS and is_character_script(mark.next_character)


def _may_start(mark: _Mark, *, has_capitals: bool) -> bool:
    """Whether what follows looks like the start of a sentence."""
    first = mark.next_word[:1]
    if not first.islower() or mark.next_word != mark.next_word.lower():  # iPhone
        return True
    if not has_capitals:
        return True
    return mark.marks == "." and not mark.closers and len(mark.token) >= _LONG_WORD and mark.token.isalpha() and mark.token.islower()


def _period_may_end(mark: _Mark, rules: PeriodRules) -> bool:
    """Whether a period after a word can be a full stop."""
    token = re.split("['’]", mark.token)[-1]
    opener_follows = mark.next_word in rules.openers
    if _is_listed(token, rules.titles):
        return False
    if _is_number(mark.next_word) and _is_listed(token, rules.before_numbers):
        return False
    if mark.opens_sentence and len(token) <= 3 and (token.isdigit() or len(token) == 1):
        return False  # a list: "1. First"
    if len(token) == 1 and token.isalpha() and token.lower() != token.upper():
        return opener_follows and len(mark.next_word) > 1
    if _DOTTED.fullmatch(token) or _is_listed(token, rules.abbreviations) or _NO_VOWELS.fullmatch(token):
        return opener_follows
    if token.isdigit() and mark.next_word.lower() in rules.months:
        return False
    if rules.ordinals and (token.isdigit() and len(token) <= 2 or _ROMAN.fullmatch(token)):
        return opener_follows
    return True


def _is_listed(token: str, words: frozenset[str]) -> bool:
    return token in words or token[:1].lower() + token[1:] in words


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or _ROMAN.fullmatch(word) is not None
