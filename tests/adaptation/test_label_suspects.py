"""Labels that a model doubts, and source sentences that harm."""

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.explanation import Counterfactual, Explanation
from metacross.adaptation.label_suspects import find_suspects
from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.adaptation.source_effects import _Effects, source_effects
from metacross.text.sentence import Sentence, Span
from metacross.text.tags import tags_from_spans


@pytest.fixture(scope="module")
def model(encoders):
    """A model that has learned the names of the tiny corpus."""
    recipe = metacross.load_settings(
        ["paper", "direct"],
        [
            *tiny.FAST,
            "direct.steps=60",
            "direct.learning_rate=5e-3",
            "direct.batch_size=16",
            "run.validate_every=60",
            "encoder.frozen_layers=null",
        ],
    )
    return metacross.train(
        tiny.corpus(60), dev=tiny.corpus(10, seed=1), encoder=encoders["bert"], recipe=recipe
    )


def wrong(sentence: Sentence) -> Sentence:
    """The sentence with the label of its first entity exchanged."""
    first, *others = sentence.spans
    other = "LOC" if first.label == "PER" else "PER"
    return sentence.with_spans((Span(first.start, first.end, other), *others))


def test_wrong_labels_come_before_right_ones(model):
    clean = [s for s in tiny.corpus(80, seed=41) if s.spans]
    seeded = {7, 19, 23}
    corpus = [wrong(s) if i in seeded else s for i, s in enumerate(clean)]
    suspects = find_suspects(model, corpus)
    first = [suspect.sentence for suspect in suspects[:3]]
    assert {corpus.index(sentence) for sentence in first} == seeded
    doubts = [suspect.doubt for suspect in suspects]
    assert doubts == sorted(doubts, reverse=True)
    assert suspects[0].gold
    assert suspects[0].predicted
    assert suspects[0].gold != suspects[0].predicted


def test_the_doubt_is_that_of_self_confidence(model):
    """As in confident learning: 1 minus the model's probability of the given tag."""
    sentence = wrong(next(s for s in tiny.corpus(10, seed=42) if s.spans))
    (suspect, *_) = find_suspects(model, [sentence])
    (prediction,) = model.predict_stream([sentence])
    tags = tags_from_spans(sentence.spans, len(sentence.words))
    span = suspect.gold[0]
    given = [
        prediction.probabilities[i, prediction.tags.index(tags[i])]
        for i in range(span.start, span.end)
    ]
    assert suspect.doubt == pytest.approx(1 - min(given), abs=1e-4)


def test_sentences_of_the_model_itself_are_labeled_without_adaptation(model):
    source = model.parts.datastore.source
    adapting = metacross.NerModel(metacross_replace(model.parts, adapts=True))
    labels = [wrong(sentence) for sentence in source if sentence.spans][:5]
    suspects = find_suspects(adapting, labels)
    assert suspects
    assert all(suspect.neighbors == () for suspect in suspects)
    new = [
        wrong(s)
        for s in tiny.corpus(10, seed=43)
        if s.spans and s.words not in {sentence.words for sentence in source}
    ]
    assert all(suspect.neighbors for suspect in find_suspects(adapting, new))


def metacross_replace(parts, **changes):
    from dataclasses import replace

    return replace(parts, **changes)


def test_labels_that_the_model_does_not_know_are_not_looked_at(model):
    sentence = Sentence(("mayo", "ana"), (Span(0, 1, "DATE"),))
    assert find_suspects(model, [sentence, sentence.with_spans(None)]) == []


def prediction(sentence: Sentence, *spans: Span) -> SentencePrediction:
    return SentencePrediction(sentence, spans, (1.0,) * len(spans))


def test_a_source_sentence_is_blamed_for_what_it_alone_changes():
    """Worked out by hand: neighbor 1 turns PER into LOC, neighbor 0 changes nothing."""
    gold = Span(0, 1, "PER")
    sentence = Sentence(("ana", "spoke"), (gold,))
    neighbors = tuple(Neighbor(p, 0.5, Sentence((f"source{p}",), ())) for p in (4, 9))
    bad = Span(0, 1, "LOC")
    readings = {
        frozenset(): prediction(sentence, gold),
        frozenset({0}): prediction(sentence, gold),
        frozenset({1}): prediction(sentence, bad),
        frozenset({0, 1}): prediction(sentence, bad),
    }
    explanation = Explanation(
        sentence, neighbors, tuple(Counterfactual(used, p) for used, p in readings.items())
    )
    effects = _Effects()
    for neighbor in neighbors:
        effects.used[neighbor.position] += 1
        effects.neighbors[neighbor.position] = neighbor
    effects.add(sentence, explanation)
    (effect,) = effects.harmful()
    assert effect.neighbor.position == 9
    assert (effect.harmed, effect.helped, effect.used) == (1, 0, 1)
    assert effect.examples == (sentence.place,)


def test_a_wrong_source_sentence_is_found_by_its_effect(model):
    """A remembered sentence with wrong labels, and large steps, so that it does harm."""
    parts = metacross_replace(
        model.parts,
        adapts=True,
        settings=model.settings.model_copy(
            update={
                "adaptation": model.settings.adaptation.model_copy(
                    update={"learning_rate": 0.02, "steps": 1}
                ),
                "retrieval": model.settings.retrieval.model_copy(update={"neighbors": 1}),
            }
        ),
    )
    harmed = metacross.NerModel(parts)
    gold = [s for s in tiny.corpus(40, seed=44) if len(s.spans) >= 2][:6]
    right = [
        p.spans == s.spans
        for p, s in zip(harmed.predict_stream(gold, adapt=False), gold, strict=True)
    ]
    assert any(right)
    taught = [
        Sentence(
            (*sentence.words, "rain"),
            tuple(
                Span(s.start, s.end, "LOC" if s.label == "PER" else "PER") for s in sentence.spans
            ),
        )
        for sentence in gold
    ]
    harmed.remember(taught)
    effects = source_effects(harmed, gold)
    assert effects
    assert effects[0].harmed > effects[0].helped
    assert effects[0].neighbor.remembered is not None
    assert np.sign(effects[0].used) == 1


def test_a_model_that_cannot_adapt_has_no_harmful_sources(model):
    plain = metacross.NerModel(metacross_replace(model.parts, datastore=None, adapts=False))
    assert source_effects(plain, list(tiny.corpus(5))) == []
