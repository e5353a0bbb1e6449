"""Counts entities and tags line by line, as the conlleval script does. For tests only."""

from dataclasses import dataclass

OUTSIDE = ("O", "")


@dataclass
class ConllevalCounts:
    """The numbers that conlleval prints, as counts."""

    words: int = 0
    correct_tags: int = 0
    gold: int = 0
    predicted: int = 0
    correct: int = 0

    @property
    def accuracy(self) -> float:
        return self.correct_tags / self.words


def conlleval_counts(gold_sentences, predicted_sentences) -> ConllevalCounts:
    """The counts for the IOB tags of the same sentences.

    Whether an entity starts or ends at a line is decided by the tags of this line and the line
    before. A blank line is an ``O`` that does not count as a word.
    """
    counts = ConllevalCounts()
    last_gold, last_predicted, in_correct_entity = OUTSIDE, OUTSIDE, False
    for gold, predicted, is_word in _lines(gold_sentences, predicted_sentences):
        ends = (_ends(last_gold, gold), _ends(last_predicted, predicted))
        starts = (_starts(last_gold, gold), _starts(last_predicted, predicted))
        if in_correct_entity and all(ends):
            counts.correct += 1
            in_correct_entity = False
        if ends[0] != ends[1] or gold[1] != predicted[1]:
            in_correct_entity = False
        if all(starts) and gold[1] == predicted[1]:
            in_correct_entity = True
        counts.gold += starts[0]
        counts.predicted += starts[1]
        counts.words += is_word
        counts.correct_tags += is_word and gold == predicted
        last_gold, last_predicted = gold, predicted
    return counts


def _lines(gold_sentences, predicted_sentences):
    """Each line as (prefix, label) of both tags and whether it is a word."""
    for gold_tags, predicted_tags in zip(gold_sentences, predicted_sentences, strict=True):
        for gold_tag, predicted_tag in zip(gold_tags, predicted_tags, strict=True):
            yield (gold_tag[0], gold_tag[2:]), (predicted_tag[0], predicted_tag[2:]), True
        yield OUTSIDE, OUTSIDE, False


def _starts(last, current) -> bool:
    prefix, label = current
    return prefix != "O" and (prefix == "B" or last[0] == "O" or last[1] != label)


def _ends(last, current) -> bool:
    prefix, label = current
    return last[0] != "O" and (prefix in "BO" or last[1] != label)
