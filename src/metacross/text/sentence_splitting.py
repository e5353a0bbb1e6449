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
_FULL_STOPS = "。｡︒﹒।॥։۔܀܁܂߹࠷࠹࠽࠾။།༎༑።፧፨។៕᙮᠃᠉᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᰻᰼᱾᱿꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
_QUESTION_MARKS = "!?！？︕︖﹖﹗؟\u037e‼‽⁇⁈⁉⸮"  # U+037E is the Greek question mark
_ELLIPSES = "…⋯"
_PERIODS = ".．"
_NO_BLANK_AFTER = _FULL_STOPS + "！？︕︖﹖﹗؟"

_CLOSERS = "\"'”’»›」』）〉》】〕〗)]}｝］＂＇"
_GERMAN_CLOSERS = "“‘«"  # they close if no word follows at once
_SPACED_CLOSERS = "”»›)]}"  # they close even after a blank if no word follows at once
_OPENERS = "\"'“‘„‚«»‹›「『（〈《【〔([{｛［-–—―•*¿¡"
_CONTINUATIONS = ",;:，、；：،؛)]}）］｝」』》〉】〕%"

_BLANKS = "[ \u00a0\u202f\u2009]"
_MARKS = re.escape(_FULL_STOPS + _QUESTION_MARKS + _ELLIPSES + _PERIODS)
_END = re.compile(
    rf"(?P<marks>[{_MARKS}](?:{_BLANKS}?[{_MARKS}\u0300-\u036f\ufe00-\ufe0f])*)"
    rf"(?P<closers>(?:[{re.escape(_CLOSERS)}]|[{_GERMAN_CLOSERS}](?!\w)"
    rf"|{_BLANKS}+[{re.escape(_SPACED_CLOSERS)}](?!\w))*)"
)
_NEXT = re.compile(
    rf"(?P<openers>(?:[{re.escape(_OPENERS)}\s]|(?<=['’‘])[stknmr]\s+(?=[A-Z]))*)"  # 's Avonds
    r"(?P<word>[^\W_]*)(?P<period>\.?)"
)
# After a closing quote: "he said", "と", as in “好！”他说。
_QUOTE_GOES_ON = re.compile(r"と|って|[^。！？，“「『]{0,4}?[说說道问問答喊叫]")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.-?)+[^\W\d_]{1,3}")  # U.S  z.B  J.-C
_APOSTROPHE_PREFIX = re.compile(r"^[^\W\d_]{0,4}['’](?=..)")  # l'art
_ROMAN = re.compile(r"[IVXLC]+")
_NO_VOWELS = re.compile(r"[^\W\d_aeiouyAEIOUYà-åè-öù-ýÀ-ÅÈ-ÖÙ-Ý]?[bcdfghjklmnpqrstvwxz]{1,4}")
_EDGES = frozenset('"“”„‚«»‹›()[]{}（）「」『』/—–')
_LONGEST_TOKEN = 30
_LONGEST_QUOTE = 2_000
_LONG_WORD = 4  # letters
_MAX_LIST_DIGITS = 3
_MAX_ORDINAL_DIGITS = 2  # more digits are a year


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
        bracketed: Whether they are alone in brackets: ``(!)``.
        closers: Closing quotes and brackets after them.
        blank: Whether a blank or the end of the text follows.
        following: What follows after blanks.
        next_word: The next word; empty if something else follows.
        next_period: Whether a period follows the next word.
    """

    token: str
    opens_sentence: bool
    marks: str
    bracketed: bool
    closers: str
    blank: bool
    following: str
    next_word: str
    next_period: bool


def _starts(text: str, rules: PeriodRules) -> Iterator[int]:
    """Where sentences start, in order."""
    has_capitals = text != text.lower()
    for segment_start, segment_end in segments_of_lines(text):
        sentence_start = segment_start
        yield sentence_start
        for match in _END.finditer(text, segment_start, segment_end):
            next_start = _after_closers(text, sentence_start, match, segment_end)
            if next_start == segment_end:
                break
            mark = _mark(text, sentence_start, match, next_start)
            if _ends_sentence(mark, rules, has_capitals=has_capitals):
                sentence_start = next_start
                yield sentence_start


def _after_closers(text: str, start: int, match: re.Match[str], end: int) -> int:
    """Skip blanks, and a quote between blanks if it closes: ``He said : " Yes . " Then``.

    It does if a quote is open in the sentence, or if there is a blank before the mark too.
    """
    position = _after_blanks(text, match.end(), end)
    quote = next((quote for quote in ('"', "''", "'") if text.startswith(quote, position)), None)
    if quote is None or position == end or not text[position - 1].isspace():
        return position
    after_quote = _after_blanks(text, position + len(quote), end)
    is_spaced = after_quote == end or text[after_quote - 1].isspace() or text[after_quote] in ",.;)"
    is_tokenized = text[match.start() - 1 : match.start()].isspace()
    n_quotes = text.count(quote, max(start, position - _LONGEST_QUOTE), position)
    closes = is_tokenized or after_quote == end or n_quotes % 2 == 1
    return after_quote if is_spaced and closes else position


def _after_blanks(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _mark(text: str, sentence_start: int, match: re.Match[str], next_start: int) -> _Mark:
    token = _token_before(text, sentence_start, match.start())
    next_match = _NEXT.match(text, next_start)
    next_word, next_period = next_match.group("word", "period") if next_match else ("", "")
    return _Mark(
        token=token,
        opens_sentence=_after_blanks(text, sentence_start, match.start()) + len(token)
        == match.start(),
        marks=match["marks"],
        bracketed=text[match.start() - 1 : match.start()] in tuple("([（［")
        and match["closers"].startswith(tuple(")]）］")),
        closers=match["closers"],
        blank=next_start > match.end(),
        following=text[next_start : next_start + _LONGEST_TOKEN],
        next_word=next_word,
        next_period=bool(next_period),
    )


def _token_before(text: str, start: int, end: int) -> str:
    first = max(start, end - _LONGEST_TOKEN)
    position = end
    while (
        position > first and not text[position - 1].isspace() and text[position - 1] not in _EDGES
    ):
        position -= 1
    return text[position:end]


def _ends_sentence(mark: _Mark, rules: PeriodRules, *, has_capitals: bool) -> bool:
    if mark.bracketed or mark.following[0] in _CONTINUATIONS:
        return False
    if mark.marks[-1] in _NO_BLANK_AFTER:
        return not (mark.closers and _QUOTE_GOES_ON.match(mark.following))
    if not mark.blank:
        return _is_between_characters(mark)
    if mark.marks == "." and mark.token and not _period_may_end(mark, rules):
        return False
    if mark.next_word != mark.next_word.lower() or not mark.next_word[:1].islower():
        return True
    # A small letter follows. It can start a sentence in lowercased text, and after a period that
    # does not belong to an abbreviation: a blank or a long word is before it.
    is_long_word = len(mark.token) >= _LONG_WORD and mark.token.isalpha()
    is_full_stop = mark.marks == "." and not mark.closers and (not mark.token or is_long_word)
    return not has_capitals or is_full_stop


def _is_between_characters(mark: _Mark) -> bool:
    """Whether an ASCII mark is used in Chinese or Japanese: ``是吗?我``."""
    before, after = mark.token[-1:], mark.following[0]
    if not is_character_script(after):
        return False
    if mark.marks[-1] in _PERIODS:
        return before != "" and is_character_script(before)
    return mark.marks[-1] in _QUESTION_MARKS


def _period_may_end(mark: _Mark, rules: PeriodRules) -> bool:
    """Whether a period after a word can be a full stop."""
    token = _APOSTROPHE_PREFIX.sub("", mark.token)
    is_letter = len(token) == 1 and token.lower() != token.upper()
    if _is_listed(token, rules.titles):
        return False
    if _is_number(mark.next_word) and _is_listed(token, rules.before_numbers):
        return False
    if mark.opens_sentence and (is_letter or token.isdigit()) and len(token) <= _MAX_LIST_DIGITS:
        return False  # an item of a list: "1. First"
    if is_letter and token.islower():
        return len(mark.next_word) > 2  # not "z. B."
    if token.isdigit() and mark.next_word.lower() in rules.months:
        return False
    if is_letter or _is_abbreviation(token, rules) or _is_ordinal(token, rules):
        return mark.next_word in rules.openers and not mark.next_period
    return True


def _is_abbreviation(token: str, rules: PeriodRules) -> bool:
    return (
        _is_listed(token, rules.abbreviations)
        or _DOTTED.fullmatch(token) is not None
        or _NO_VOWELS.fullmatch(token) is not None
    )


def _is_ordinal(token: str, rules: PeriodRules) -> bool:
    """Whether a number with a period can be an ordinal: ``19. Jahrhundert``, ``Ludwig XIV.``."""
    is_short_number = token.isdigit() and len(token) <= _MAX_ORDINAL_DIGITS
    return rules.ordinals and (is_short_number or _ROMAN.fullmatch(token) is not None)


def _is_listed(token: str, words: frozenset[str]) -> bool:
    return token in words or token[:1].lower() + token[1:] in words


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or _ROMAN.fullmatch(word) is not None
