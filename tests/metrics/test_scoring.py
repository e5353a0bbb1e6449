"""The scorer against two others, and what it refuses."""

import random

import pytest
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from metacross.cli.score_output import conlleval_text, report_json, report_table
from metacross.errors import DataError
from metacross.metrics.scoring import Score, counts_by_sentence, score
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.tags import spans_from_tags

IOB_TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
ALL_TAGS = [*IOB_TAGS, "E-PER", "S-PER", "E-LOC", "S-LOC"]


def corpus_of(tag_sequences) -> Corpus:
    return Corpus(
        tuple(Sentence(tuple("w" for _ in tags), spans_from_tags(tags)) for tags in tag_sequences)
    )


def random_pairs(n_sequences, tags, seed):
    """Gold and predicted tags, well formed or not, that often agree."""
    rng = random.Random(seed)
    gold = [rng.choices(tags, k=rng.randint(1, 12)) for _ in range(n_sequences)]
    predicted = [[t if rng.random() < 0.7 else rng.choice(tags) for t in seq] for seq in gold]
    return gold, predicted


def test_entities_equal_seqeval_s_on_10_000_random_tag_sequences():
    gold, _ = random_pairs(10_000, ALL_TAGS, seed=1)
    for tags in gold:
        ours = [(span.label, span.start, span.end - 1) for span in spans_from_tags(tags)]
        assert ours == get_entities(tags)


def test_the_scorer_equals_seqeval_on_10_000_random_tag_sequences():
    gold, predicted = random_pairs(10_000, IOB_TAGS, seed=2)
    report = score(corpus_of(gold), corpus_of(predicted))
    assert report.overall.precision == pytest.approx(precision_score(gold, predicted))
    assert report.overall.recall == pytest.approx(recall_score(gold, predicted))
    assert report.overall.f1 == pytest.approx(f1_score(gold, predicted))
    assert report.macro_f1 == pytest.approx(f1_score(gold, predicted, average="macro"))


def test_the_scorer_equals_nervaluate_on_10_000_random_tag_sequences():
    nervaluate = pytest.importorskip("nervaluate")  # not to be had for Python 3.10
    gold, predicted = random_pairs(10_000, IOB_TAGS, seed=2)
    report = score(corpus_of(gold), corpus_of(predicted))
    strict = nervaluate.Evaluator(
        gold, predicted, tags=["PER", "LOC", "ORG"], loader="list"
    ).evaluate()
    overall = strict["overall"]["strict"]
    assert report.overall == Score(overall.correct, overall.actual, overall.possible)
    for label, of_type in strict["entities"].items():
        counted = of_type["strict"]
        assert report.by_label[label] == Score(counted.correct, counted.actual, counted.possible)


def test_each_of_2_000_sentences_scores_alone_as_seqeval_scores_it():
    gold, predicted = random_pairs(2_000, IOB_TAGS, seed=3)
    for wanted, found in zip(gold, predicted, strict=True):
        if any(tag != "O" for tag in wanted):
            ours = score(corpus_of([wanted]), corpus_of([found])).overall.f1
            entities, guesses = set(get_entities(wanted)), set(get_entities(found))
            assert ours == 2 * len(entities & guesses) / (len(entities) + len(guesses))


def test_accuracy_is_the_share_of_right_tags():
    gold = [["B-PER", "I-PER", "O"], ["O", "B-LOC"]]
    predicted = [["B-PER", "O", "O"], ["O", "B-LOC"]]
    assert score(corpus_of(gold), corpus_of(predicted)).accuracy == accuracy_score(gold, predicted)


def test_sentences_are_scored_apart():
    gold = corpus_of([["B-PER"], ["I-PER"]])
    predicted = corpus_of([["B-PER"], ["B-PER"]])
    assert score(gold, predicted).overall == Score(correct=2, predicted=2, gold=2)


def test_ratios_without_ground_are_zero():
    nothing = Score(0, 0, 0)
    assert (nothing.precision, nothing.recall, nothing.f1) == (0.0, 0.0, 0.0)


def test_counts_by_sentence_add_up_to_the_score():
    gold, predicted = (corpus_of(tags) for tags in random_pairs(50, IOB_TAGS, seed=4))
    counts = counts_by_sentence(gold, predicted)
    assert Score(*counts.sum(axis=0).tolist()) == score(gold, predicted).overall


def test_gold_without_entities_is_refused():
    with pytest.raises(DataError, match="expected entities to score against, found none"):
        score(corpus_of([["O"]]), corpus_of([["B-PER"]]))


def test_unmarked_sentences_are_refused():
    with pytest.raises(DataError, match="expected tags to score"):
        score(corpus_of([["B-PER"]]), Corpus((Sentence(("w",)),)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([("a", "b"), ("c", "x")], r"sentence 2 differs .*word 2 to be 'd', found 'x'"),
        ([("a", "b"), ("c",)], r"sentence 2 differs .*expected 2 words, found 1"),
        ([("a", "b")], r"expected 2 sentences as in corpus, found 1"),
    ],
)
def test_corpora_that_do_not_line_up_are_refused_with_the_place(words, message):
    gold = Corpus((Sentence(("a", "b"), (Span(0, 1, "PER"),)), Sentence(("c", "d"), ())))
    with pytest.raises(DataError, match=message):
        score(gold, Corpus(tuple(Sentence(w, ()) for w in words)))


def test_the_report_reads_as_conlleval_s():
    gold = corpus_of([["B-PER", "I-PER", "O", "B-LOC"]])
    predicted = corpus_of([["B-PER", "I-PER", "O", "B-PER"]])
    assert conlleval_text(score(gold, predicted)).splitlines() == [
        "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.",
        "accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00",
        "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
    ]


def test_the_report_as_json_and_table_hold_every_type():
    gold, predicted = (corpus_of(tags) for tags in random_pairs(50, IOB_TAGS, seed=5))
    report = score(gold, predicted)
    assert list(report_json(report)["by_label"]) == ["LOC", "ORG", "PER"]
    assert report_table(report, "x").row_count == 5
