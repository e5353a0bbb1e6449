"""Makes labeled target text from labeled source text, word by word (after Mayhew et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metacross.baseline_settings import TranslationSettings
from metacross.baselines.language_model import START, BigramModel
from metacross.errors import DataError
from metacross.text.casing import CapitalShares, capitalized, is_capitalized
from metacross.text.language_codes import primary_language
from metacross.text.lexicon import Lexicon, Translation
from metacross.text.main_script import main_script
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.word_splitting import split_text

_MIN_COVERAGE = 0.3  # of the source's words; less means a lexicon of other languages
_MIN_KNOWN = 0.5  # of translated words in the raw text; less means a lexicon to another language
_ENOUGH_RAW_TEXT = 20_000  # words; in less of it many words are missing
_SMALLEST = 1e-7  # added to probabilities before the logarithm
_ENDINGS = ("s", "es", "ed", "d", "ing")
_UNSPACED = ("zh", "ja", "th")


@dataclass(frozen=True, slots=True)
class TranslationReport:
    """How a corpus was translated: the share of its words that the lexicon has, and of words that
    were translated; the rest is copied.
    """

    coverage: float
    translated: float


@dataclass(frozen=True, slots=True)
class TranslatedCorpus:
    """A translated corpus and how it was made."""

    corpus: Corpus
    report: TranslationReport


@dataclass(frozen=True, slots=True)
class _Piece:
    """Target words, and the end of the source words that they translate."""

    words: tuple[str, ...]
    end: int
    is_translated: bool


class Translator:
    """Translates sentences with a lexicon, left to right, longest phrase first.

    Of several translations the one with the largest sum of log-probabilities, of the lexicon and
    of a language model of the target's raw text, is taken. Words that the lexicon does not have
    are copied. Without raw text the lexicon alone decides, and words keep the source's capitals.
    ``gaps`` is a second lexicon, such as one learned from parallel text, for words that the first
    does not have; capitalized words of entities stay as they are.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        settings: TranslationSettings,
        *,
        language: str | None,
        raw_text: Corpus | None = None,
        gaps: Lexicon | None = None,
    ) -> None:
        self._lexicon = lexicon
        self._filled = lexicon if gaps is None else lexicon.with_gaps_filled(gaps)
        self._settings = settings
        self._language = language
        self._model = None if raw_text is None else BigramModel(raw_text)
        self._capitals = None if raw_text is None else CapitalShares.of(raw_text)
        self._longest = min(settings.max_phrase_length, self._filled.longest)
        self._is_unspaced = primary_language(language) in _UNSPACED

    def translated(self, corpus: Corpus) -> TranslatedCorpus:
        """The corpus in the target language, with the entities of the source's words."""
        coverage = self._lexicon.coverage(corpus)
        if coverage < _MIN_COVERAGE:
            raise DataError(
                f"{self._lexicon.source}: expected a lexicon from the language of {corpus.name}, "
                f"found {100 * coverage:.0f} % of its words in it; the source word comes first"
            )
        copied = self._settings.copied_labels if self._has_same_script(corpus) else ()
        n_words = n_translated = n_known = n_made = 0
        sentences = []
        for sentence in corpus:
            pieces = self._pieces(sentence, copied)
            n_words += len(sentence.words)
            start = 0
            for piece in pieces:
                n_translated += (piece.end - start) * piece.is_translated
                start = piece.end
            sentences.append(_assembled(sentence, pieces, self._language))
            n_known += sum(self._n_known(piece) for piece in pieces)
            n_made += sum(len(piece.words) for piece in pieces if piece.is_translated)
        self._check_known(n_known, n_made)
        report = TranslationReport(coverage, n_translated / n_words)
        name = f"{corpus.name}, translated"
        return TranslatedCorpus(Corpus(tuple(sentences), source=name), report)

    def _n_known(self, piece: _Piece) -> int:
        """How many words of a translation the raw text has."""
        if self._model is None or not piece.is_translated:
            return 0
        return sum(word in self._model for word in piece.words)

    def _check_known(self, n_known: int, n_made: int) -> None:
        """Refuse a lexicon to another language than that of the raw text."""
        if self._model is None or self._model.n_words < _ENOUGH_RAW_TEXT or not n_made:
            return
        if n_known < _MIN_KNOWN * n_made:
            raise DataError(
                f"{self._lexicon.source}: expected translations to the language of the raw text, "
                f"{self._language or 'unknown'}, found {100 * n_known / n_made:.0f} % of the "
                "translated words in it"
            )

    def _has_same_script(self, corpus: Corpus) -> bool:
        translations = (t for options in self._lexicon.entries.values() for t in options)
        ours = main_script(word for sentence in corpus for word in sentence.words)
        theirs = main_script(word for translation in translations for word in translation.words)
        return ours is None or theirs is None or ours.name == theirs.name

    def _pieces(self, sentence: Sentence, copied: Sequence[str]) -> list[_Piece]:
        ends, labels = _segment_ends(sentence), _labels(sentence)
        pieces: list[_Piece] = []
        position, before = 0, START
        while position < len(sentence.words):
            if labels[position] in copied:
                piece = _Piece((sentence.words[position],), position + 1, False)
            else:
                piece = self._piece(sentence.words, position, ends[position], before, labels)
            pieces.append(self._in_units(piece))
            position, before = piece.end, piece.words[-1]
        return pieces

    def _in_units(self, piece: _Piece) -> _Piece:
        """The piece in the units that text of a language without spaces is read in."""
        if not self._is_unspaced:
            return piece
        layouts = [split_text(word, self._language) for word in piece.words]
        units = tuple(layout.text[a:b] for layout in layouts for a, b in layout.offsets)
        return replace(piece, words=units or piece.words)

    def _piece(
        self,
        words: Sequence[str],
        start: int,
        segment_end: int,
        before: str,
        labels: Sequence[str | None],
    ) -> _Piece:
        for end in range(min(segment_end, start + self._longest), start, -1):
            phrase = words[start:end]
            in_entity = labels[start] is not None
            is_name = in_entity and not phrase[0].islower()
            options = _options(self._lexicon if is_name else self._filled, phrase)
            if not options:
                continue
            if in_entity and _has_same_form(options, phrase):
                return _Piece(tuple(phrase), end, True)
            best = max(options, key=lambda option: self._score(option, before))
            return _Piece(self._cased(best.words, phrase, at_start=start == 0), end, True)
        return _Piece((words[start],), start + 1, False)

    def _score(self, option: Translation, before: str) -> float:
        score = math.log(option.probability + _SMALLEST)
        if self._model is not None:
            for word in option.words:
                score += self._settings.language_model_weight * self._model.log_probability(
                    word, before
                )
                before = word
        return score

    def _cased(
        self, words: tuple[str, ...], phrase: Sequence[str], *, at_start: bool
    ) -> tuple[str, ...]:
        """Target words with the capitals of the source words, and with those of the target."""
        if len(phrase[0]) > 1 and all(word.isupper() for word in phrase):
            return tuple(word.upper() for word in words)
        if is_capitalized(phrase[0]) or (len(phrase[0]) == 1 and phrase[0].isupper()):
            if at_start or len(words) == 1 or len(phrase) == 1:
                return (capitalized(words[0]), *map(self._own_case, words[1:]))
            return tuple(map(capitalized, words))
        return tuple(map(self._own_case, words))

    def _own_case(self, word: str) -> str:
        share = self._settings.capitalize_above
        if self._capitals is None or not word.islower():
            return word
        usual = self._capitals.usually_capitalized(word, at_least=share)
        return capitalized(word) if usual else word


def _options(lexicon: Lexicon, phrase: Sequence[str]) -> tuple[Translation, ...]:
    """The translations of a phrase as it is spelled, in lower case, or without an ending."""
    spelled = " ".join(phrase)
    for form in (spelled, spelled.lower()):
        if options := lexicon.translations(form):
            return options
    stems = [
        spelled.lower().removesuffix(ending)
        for ending in _ENDINGS
        if len(phrase) == 1 and spelled.isalpha() and spelled.lower().endswith(ending)
    ]
    known = (lexicon.translations(stem) for stem in stems if len(stem) > 2)
    return next(filter(None, known), ())


def _has_same_form(options: Sequence[Translation], phrase: Sequence[str]) -> bool:
    """Whether a phrase can stay as it is: one of its translations is the same word."""
    lowered = tuple(word.lower() for word in phrase)
    return any(tuple(word.lower() for word in option.words) == lowered for option in options)


def _labels(sentence: Sentence) -> list[str | None]:
    labels: list[str | None] = [None] * len(sentence.words)
    for span in sentence.spans or ():
        labels[span.start : span.end] = [span.label] * (span.end - span.start)
    return labels


def _segment_ends(sentence: Sentence) -> list[int]:
    """For each word, where its entity ends, or the words before the next entity: no phrase may
    cross this.
    """
    ends = [len(sentence.words)] * len(sentence.words)
    position = 0
    for span in sentence.spans or ():
        ends[position : span.start] = [span.start] * (span.start - position)
        ends[span.start : span.end] = [span.end] * (span.end - span.start)
        position = span.end
    return ends


def _assembled(sentence: Sentence, pieces: Sequence[_Piece], language: str | None) -> Sentence:
    """The target sentence; an entity has the words that its source words were translated to."""
    words: list[str] = []
    new_position = {0: 0}
    for piece in pieces:
        words.extend(piece.words)
        new_position[piece.end] = len(words)
    spans = tuple(
        Span(new_position[span.start], new_position[span.end], span.label)
        for span in sentence.spans or ()
    )
    return replace(
        sentence,
        words=tuple(words),
        spans=None if sentence.spans is None else spans,
        language=language,
        layout=None,
        tags=None,
    )
