"""The scorer agrees with conlleval, seqeval and nervaluate, and rejects what it cannot score."""

import random
from dataclasses import replace

import pytest
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from conlleval_oracle import conlleval_counts
from metacross.errors import DataError
from metacross.metrics.scoring import Score, counts_by_sentence, score
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.tags import Scheme, spans_from_tags, tags_from_spans
from metacross.text.writing import write_corpus

IOB_TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
ALL_TAGS = [*IOB_TAGS, "E-PER", "S-PER", "E-LOC", "S-LOC"]


def corpus_of(tag_sequences) -> Corpus:
    return Corpus(
        tuple(Sentence(tuple("w" for _ in tags), spans_from_tags(tags)) for tags in tag_sequences)
    )


def random_pairs(n_sequences, tags, seed):
    """Gold and predicted tags, well-formed or not, that often agree."""
    rng = random.Random(seed)
    gold = [rng.choices(tags, k=rng.randint(1, 12)) for _ in range(n_sequences)]
    predicted = [[t if rng.random() < 0.7 else rng.choice(tags) for t in seq] for seq in gold]
    return gold, predicted


@pytest.mark.slow
def test_entities_equal_seqeval_s_on_10_000_random_tag_sequences():
    gold, _ = random_pairs(10_000, ALL_TAGS, seed=1)
    for tags in gold:
        ours = [(span.label, span.start, span.end - 1) for span in spans_from_tags(tags)]
        assert ours == get_entities(tags)


@pytest.mark.slow
def test_the_scorer_equals_seqeval_on_10_000_random_tag_sequences():
    gold, predicted = random_pairs(10_000, IOB_TAGS, seed=2)
    report = score(corpus_of(gold), corpus_of(predicted))
    assert report.overall.precision == pytest.approx(precision_score(gold, predicted))
    assert report.overall.recall == pytest.approx(recall_score(gold, predicted))
    assert report.overall.f1 == pytest.approx(f1_score(gold, predicted))
    assert report.macro_f1 == pytest.approx(f1_score(gold, predicted, average="macro"))


@pytest.mark.slow
def test_the_scorer_equals_nervaluate_on_10_000_random_tag_sequences():
    nervaluate = pytest.importorskip("nervaluate")  # not available for Python 3.10
    gold, predicted = random_pairs(10_000, IOB_TAGS, seed=2)
    report = score(corpus_of(gold), corpus_of(predicted))
    strict = nervaluate.Evaluator(
        gold, predicted, tags=["PER", "LOC", "ORG"], loader="list"
    ).evaluate()
    overall = strict["overall"]["strict"]
    assert report.overall == Score(overall.correct, overall.actual, overall.possible)
    assert report.by_label.keys() == strict["entities"].keys()
    for label, results in strict["entities"].items():
        counts = results["strict"]
        assert report.by_label[label] == Score(counts.correct, counts.actual, counts.possible)


def test_each_of_2_000_sentences_scores_alone_as_seqeval_scores_it():
    gold, predicted = random_pairs(2_000, IOB_TAGS, seed=3)
    n_scored = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        if any(tag != "O" for tag in gold_tags):
            n_scored += 1
            ours = score(corpus_of([gold_tags]), corpus_of([predicted_tags])).overall.f1
            entities, guesses = set(get_entities(gold_tags)), set(get_entities(predicted_tags))
            assert ours == 2 * len(entities & guesses) / (len(entities) + len(guesses))
    assert n_scored > 1_500


def test_accuracy_is_the_fraction_of_correct_tags():
    gold = [["B-PER", "I-PER", "O"], ["O", "B-LOC"]]
    predicted = [["B-PER", "O", "O"], ["O", "B-LOC"]]
    assert score(corpus_of(gold), corpus_of(predicted)).accuracy == accuracy_score(gold, predicted)


def test_entities_do_not_cross_sentences():
    gold = corpus_of([["B-PER"], ["I-PER"]])
    predicted = corpus_of([["B-PER"], ["B-PER"]])
    assert score(gold, predicted).overall == Score(correct=2, predicted=2, gold=2)


def test_undefined_ratios_are_zero():
    empty = Score(0, 0, 0)
    assert (empty.precision, empty.recall, empty.f1) == (0.0, 0.0, 0.0)


def test_counts_by_sentence_add_up_to_the_score():
    gold, predicted = (corpus_of(tags) for tags in random_pairs(50, IOB_TAGS, seed=4))
    counts = counts_by_sentence(gold, predicted)
    assert Score(*counts.sum(axis=0).tolist()) == score(gold, predicted).overall


def test_gold_without_entities_is_rejected():
    with pytest.raises(DataError, match="expected entities to score against, found none"):
        score(corpus_of([["O"]]), corpus_of([["B-PER"]]))


def test_unlabeled_sentences_are_rejected():
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
def test_corpora_with_different_sentences_are_rejected_with_the_first_difference(words, message):
    gold = Corpus((Sentence(("a", "b"), (Span(0, 1, "PER"),)), Sentence(("c", "d"), ())))
    with pytest.raises(DataError, match=message):
        score(gold, Corpus(tuple(Sentence(w, ()) for w in words)))


def perturbed(tags, rng):
    """Tags of a careless tagger: other prefixes, other labels, missing and invented tags."""
    result = []
    for tag in tags:
        change = rng.random()
        if tag != "O" and change < 0.15:
            tag = rng.choice("BI") + tag[1:]
        elif tag != "O" and change < 0.25:
            tag = tag[:2] + rng.choice(["PER", "LOC", "ORG", "MISC"])
        elif change < 0.30:
            tag = rng.choice(["O", "I-PER", "I-LOC", "B-ORG"])
        result.append(tag)
    return result


def conll_text(words_and_tags):
    return "".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"
        for words, tags in words_and_tags
    )


@pytest.fixture
def perturbed_german(write):
    """The German test file and a perturbed copy, as tags and as corpora read from files."""
    rng = random.Random(12)
    corpus = bundled_corpus("de", "test")
    gold_tags = [tags_from_spans(s.spans, len(s.words)) for s in corpus]
    predicted_tags = [perturbed(tags, rng) for tags in gold_tags]
    words = [sentence.words for sentence in corpus]
    gold = read_corpus(write("gold.conll", conll_text(zip(words, gold_tags, strict=True))))
    predicted = read_corpus(write("p.conll", conll_text(zip(words, predicted_tags, strict=True))))
    return gold_tags, predicted_tags, gold, predicted


def test_all_counts_equal_conlleval_s_on_a_perturbed_german_file(perturbed_german):
    gold_tags, predicted_tags, gold, predicted = perturbed_german
    assert predicted.notes.repairs > 20
    report, conlleval = score(gold, predicted), conlleval_counts(gold_tags, predicted_tags)
    assert report.overall == Score(conlleval.correct, conlleval.predicted, conlleval.gold)
    assert (report.n_words, report.n_correct_tags) == (conlleval.words, conlleval.correct_tags)
    well_formed = [tags_from_spans(spans_from_tags(tags), len(tags)) for tags in predicted_tags]
    assert conlleval_counts(gold_tags, well_formed).correct_tags != conlleval.correct_tags


@pytest.mark.slow
def test_all_counts_equal_conlleval_s_on_2_000_random_corpora():
    for seed in range(2_000):
        gold_tags, predicted_tags = random_pairs(3, IOB_TAGS, seed=seed)
        gold, predicted = (with_tags(tags) for tags in (gold_tags, predicted_tags))
        if gold.n_entities:
            report, conlleval = score(gold, predicted), conlleval_counts(gold_tags, predicted_tags)
            assert report.overall == Score(conlleval.correct, conlleval.predicted, conlleval.gold)
            assert report.accuracy == conlleval.accuracy


def with_tags(tag_sequences) -> Corpus:
    """A corpus with the tags as read, of an unknown scheme."""
    return Corpus(
        tuple(
            Sentence(tuple("w" for _ in tags), spans_from_tags(tags), tags=tuple(tags))
            for tags in tag_sequences
        )
    )


def test_the_scheme_of_a_file_does_not_change_the_accuracy(tmp_path):
    gold_tags, predicted_tags = random_pairs(100, IOB_TAGS, seed=6)
    for name, tags in (("gold.conll", gold_tags), ("IOB2.conll", predicted_tags)):
        write_corpus(corpus_of(tags), tmp_path / name)
    gold, predicted = read_corpus(tmp_path / "gold.conll"), read_corpus(tmp_path / "IOB2.conll")
    expected = score(gold, predicted).accuracy
    for scheme in (Scheme.IOB1, Scheme.BIOES, Scheme.BILOU):
        write_corpus(predicted, tmp_path / "other.conll", scheme=scheme)
        in_other_scheme = read_corpus(tmp_path / "other.conll")
        assert in_other_scheme.notes.scheme == scheme
        assert score(gold, in_other_scheme).accuracy == expected


def test_io_tags_are_compared_with_iob1_tags_as_they_are(write):
    gold = read_corpus(write("io.conll", "a I-PER\nb O\nc I-LOC\nd I-LOC\n"))
    predicted = read_corpus(write("iob1.conll", "a I-PER\nb O\nc I-LOC\nd B-LOC\n"))
    assert (gold.notes.scheme, predicted.notes.scheme) == ("IO", "IOB1")
    assert score(gold, predicted).n_correct_tags == 3


def test_relabeled_corpora_are_compared_by_the_tags_of_their_entities(perturbed_german):
    _, _, gold, predicted = perturbed_german
    relabeled = [corpus.relabeled({"MISC": None, "PER": "person"}) for corpus in (gold, predicted)]
    tags = [[tags_from_spans(s.spans, len(s.words)) for s in corpus] for corpus in relabeled]
    assert score(*relabeled).accuracy == accuracy_score(*[list(map(list, part)) for part in tags])


def test_tags_that_no_longer_describe_the_entities_are_not_compared(perturbed_german):
    _, _, gold, _ = perturbed_german
    no_entities = Corpus(tuple(replace(sentence, spans=()) for sentence in gold), notes=gold.notes)
    assert no_entities[0].tags is not None
    n_outside = sum(tag == "O" for sentence in gold for tag in sentence.tags)
    assert score(gold, no_entities).n_correct_tags == n_outside
