"""Scores predicted entities against gold entities, as conlleval does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import spans_from_tags, tags_from_spans


@dataclass(frozen=True, slots=True)
class Score:
    """Entity counts, and the ratios that follow from them.

    A ratio is 0.0 where it is undefined.

    Args:
        correct: Number of predicted entities that are gold entities.
        predicted: Number of predicted entities.
        gold: Number of gold entities.

    >>> score = Score(correct=3, predicted=4, gold=6)
    >>> score.precision, score.recall, score.f1
    (0.75, 0.5, 0.6)
    """

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Fraction of the predicted entities that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Fraction of the gold entities that were predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """The scores of a corpus: overall (micro-averaged), by label, and the accuracy of the tags.

    ``score`` makes one.

    Args:
        by_label: The score of each label.
        n_words: Number of words.
        n_correct_tags: Number of words with the correct tag.

    >>> report = ScoreReport({"LOC": Score(1, 1, 2), "PER": Score(3, 4, 4)}, 50, 47)
    >>> report.overall
    Score(correct=4, predicted=5, gold=6)
    >>> report.by_label["PER"].f1
    0.75
    >>> report.accuracy
    0.94
    """

    by_label: Mapping[str, Score]
    n_words: int
    n_correct_tags: int

    @property
    def overall(self) -> Score:
        """The score of all labels together (micro average)."""
        scores = self.by_label.values()
        return Score(
            sum(score.correct for score in scores),
            sum(score.predicted for score in scores),
            sum(score.gold for score in scores),
        )

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels."""
        return sum(score.f1 for score in self.by_label.values()) / len(self.by_label)

    @property
    def accuracy(self) -> float:
        """Fraction of the words with the correct tag, equal to conlleval's.

        If both corpora were read from tags of the same scheme, the tags are compared as they are
        in the files, well-formed or not. Otherwise, for example after relabeling, the IOB2 tags
        of the entities are compared.
        """
        return self.n_correct_tags / self.n_words


def score(gold: Corpus, predicted: Corpus) -> ScoreReport:
    """Score predicted entities against gold entities.

    An entity is correct if its words and its label are. Entities never cross sentences.

    Args:
        gold: The correct entities.
        predicted: The same sentences in the same order, with predicted entities.

    Raises:
        DataError: The corpora have different sentences, or there is nothing to score.

    >>> from metacross.text.sentence import Sentence, Span
    >>> words = ("Ana", "Ruiz", "left", "Paris")
    >>> gold = Corpus((Sentence(words, (Span(0, 2, "PER"), Span(3, 4, "LOC"))),))
    >>> predicted = Corpus((Sentence(words, (Span(0, 1, "PER"), Span(3, 4, "LOC"))),))
    >>> score(gold, predicted).overall
    Score(correct=1, predicted=2, gold=2)
    """
    check_aligned(gold, predicted)
    if not gold.n_entities:
        raise DataError(f"{gold.name}: expected entities to score against, found none")
    n_correct, n_predicted, n_gold = Counter[str](), Counter[str](), Counter[str]()
    for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = gold_sentence.spans or (), predicted_sentence.spans or ()
        n_gold.update(span.label for span in gold_spans)
        n_predicted.update(span.label for span in predicted_spans)
        n_correct.update(span.label for span in {*gold_spans} & {*predicted_spans})
    by_label = {
        label: Score(n_correct[label], n_predicted[label], n_gold[label])
        for label in sorted({*n_gold, *n_predicted})
    }
    return ScoreReport(by_label, gold.n_words, _n_correct_tags(gold, predicted))


def counts_by_sentence(gold: Corpus, predicted: Corpus) -> NDArray[np.int64]:
    """The entity counts of each sentence, for significance tests.

    *Shape:* (sentences, 3): correct, predicted and gold entities of each sentence.
    """
    check_aligned(gold, predicted)
    rows = []
    for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True):
        gold_spans = {*(gold_sentence.spans or ())}
        predicted_spans = {*(predicted_sentence.spans or ())}
        rows.append((len(gold_spans & predicted_spans), len(predicted_spans), len(gold_spans)))
    return np.array(rows, dtype=np.int64)


def _n_correct_tags(gold: Corpus, predicted: Corpus) -> int:
    tags_of = _tags_as_read if _have_comparable_tags(gold, predicted) else _iob2_tags
    return sum(
        gold_tag == predicted_tag
        for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True)
        for gold_tag, predicted_tag in zip(
            tags_of(gold_sentence), tags_of(predicted_sentence), strict=True
        )
    )


def _have_comparable_tags(gold: Corpus, predicted: Corpus) -> bool:
    """Whether all sentences of both corpora have the tags of a file, in one scheme.

    A corpus without adjacent entities of one label looks like IO if it is IOB1.
    """
    schemes = {gold.notes.scheme, predicted.notes.scheme}
    if len(schemes) > 1 and schemes != {"IO", "IOB1"}:
        return False
    return all(_tags_are_current(s) for corpus in (predicted, gold) for s in corpus)


def _tags_are_current(sentence: Sentence) -> bool:
    """Whether the tags of a sentence, if it has any, still describe its entities."""
    return sentence.tags is not None and spans_from_tags(sentence.tags) == sentence.spans


def _tags_as_read(sentence: Sentence) -> Sequence[str]:
    return sentence.tags or ()


def _iob2_tags(sentence: Sentence) -> Sequence[str]:
    return tags_from_spans(sentence.spans or (), len(sentence.words))


def check_aligned(gold: Corpus, predicted: Corpus) -> None:
    """Raise an error if the corpora are not labeled or do not have the same sentences."""
    for corpus in (gold, predicted):
        unlabeled = next((sentence for sentence in corpus if not sentence.labeled), None)
        if unlabeled is not None:
            raise DataError(f"{unlabeled.place}: expected tags to score, found none")
    aligned = zip(gold, predicted, strict=False)
    for number, (gold_sentence, predicted_sentence) in enumerate(aligned, start=1):
        if gold_sentence.words != predicted_sentence.words:
            difference = _first_difference(gold_sentence.words, predicted_sentence.words)
            raise DataError(
                f"{predicted_sentence.place}: sentence {number} differs from "
                f"{gold_sentence.place}: {difference}"
            )
    if len(gold) != len(predicted):
        raise DataError(
            f"{predicted.name}: expected {len(gold):,} sentences as in {gold.name}, "
            f"found {len(predicted):,}"
        )


def _first_difference(gold_words: Sequence[str], predicted_words: Sequence[str]) -> str:
    aligned = enumerate(zip(gold_words, predicted_words, strict=False), start=1)
    for number, (gold_word, predicted_word) in aligned:
        if gold_word != predicted_word:
            return f"expected word {number} to be {gold_word!r}, found {predicted_word!r}"
    return f"expected {len(gold_words)} words, found {len(predicted_words)}"
