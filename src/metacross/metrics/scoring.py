"""Counts right and wrong entities as conlleval does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import tags_from_spans


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of entities; the ratios follow from them and are 0.0 where they are undefined."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of the predicted entities that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold entities that were found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """How well some entities were found, overall (micro) and by type."""

    by_label: Mapping[str, Score]
    n_words: int
    n_correct_tags: int

    @property
    def overall(self) -> Score:
        """All types together."""
        scores = self.by_label.values()
        return Score(
            sum(score.correct for score in scores),
            sum(score.predicted for score in scores),
            sum(score.gold for score in scores),
        )

    @property
    def macro_f1(self) -> float:
        """The mean of the types' F1."""
        return sum(score.f1 for score in self.by_label.values()) / len(self.by_label)

    @property
    def accuracy(self) -> float:
        """The share of words with the right tag."""
        return self.n_correct_tags / self.n_words


def score(gold: Corpus, predicted: Corpus) -> ScoreReport:
    """Compare the entities of two corpora with the same sentences: an entity is right when its
    words and its type are. Sentences are scored apart, each once.
    """
    check_lined_up(gold, predicted)
    if not gold.n_entities:
        raise DataError(f"{gold.name}: expected entities to score against, found none")
    correct, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    n_correct_tags = 0
    for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = gold_sentence.spans or (), predicted_sentence.spans or ()
        wanted.update(span.label for span in gold_spans)
        found.update(span.label for span in predicted_spans)
        correct.update(span.label for span in {*gold_spans} & {*predicted_spans})
        n_correct_tags += _n_equal_tags(gold_sentence, predicted_sentence)
    labels = sorted({*wanted, *found})
    by_label = {label: Score(correct[label], found[label], wanted[label]) for label in labels}
    return ScoreReport(by_label, gold.n_words, n_correct_tags)


def counts_by_sentence(gold: Corpus, predicted: Corpus) -> NDArray[np.int64]:
    """What the significance of a difference is computed from.

    *Shape:* (sentences, 3): correct, predicted and gold entities of each sentence.
    """
    check_lined_up(gold, predicted)
    rows = []
    for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = (
            {*(gold_sentence.spans or ())},
            {*(predicted_sentence.spans or ())},
        )
        rows.append((len(gold_spans & predicted_spans), len(predicted_spans), len(gold_spans)))
    return np.array(rows, dtype=np.int64)


def _n_equal_tags(gold: Sentence, predicted: Sentence) -> int:
    if gold.spans == predicted.spans:
        return len(gold.words)
    pairs = zip(
        tags_from_spans(gold.spans or (), len(gold.words)),
        tags_from_spans(predicted.spans or (), len(predicted.words)),
        strict=True,
    )
    return sum(gold_tag == predicted_tag for gold_tag, predicted_tag in pairs)


def check_lined_up(gold: Corpus, predicted: Corpus) -> None:
    """Refuse corpora that are not marked or are not of the same sentences, saying where."""
    for corpus in (gold, predicted):
        unmarked = next((sentence for sentence in corpus if not sentence.labeled), None)
        if unmarked is not None:
            raise DataError(f"{unmarked.place}: expected tags to score, found none")
    for number, (wanted, found) in enumerate(zip(gold, predicted, strict=False), start=1):
        if wanted.words != found.words:
            raise DataError(
                f"{found.place}: sentence {number} differs from {wanted.place}: "
                f"{_first_difference(wanted.words, found.words)}"
            )
    if len(gold) != len(predicted):
        raise DataError(
            f"{predicted.name}: expected {len(gold):,} sentences as in {gold.name}, "
            f"found {len(predicted):,}"
        )


def _first_difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    pairs = enumerate(zip(wanted, found, strict=False), start=1)
    for number, (wanted_word, found_word) in pairs:
        if wanted_word != found_word:
            return f"expected word {number} to be {wanted_word!r}, found {found_word!r}"
    return f"expected {len(wanted)} words, found {len(found)}"
