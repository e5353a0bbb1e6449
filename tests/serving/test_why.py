"""``/v1/why``: counterfactuals, and a sentence about each entity."""

import pytest

import metacross
import tiny
from live_server import running
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel
from metacross.serving.why import entity_reasons, reason

ONE, TWO, THREE = "neighbor 1", "neighbor 2", "neighbor 3"


def use(*used: int) -> frozenset[int]:
    return frozenset(used)


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ({use(): "LOC", use(0): "LOC"}, [ONE], "LOC with and without its neighbors."),
        ({use(): "LOC", use(0): "ORG"}, [ONE], "ORG only with neighbor 1; without it LOC."),
        ({use(): None, use(0): "ORG"}, [ONE], "ORG only with neighbor 1; without it no entity."),
        ({use(): "ORG", use(0): None}, [ONE], "No entity only with neighbor 1; without it ORG."),
        (
            {use(): "LOC", use(0): "LOC", use(1): "ORG", use(0, 1): "ORG"},
            [ONE, TWO],
            "ORG only with neighbor 2; without it LOC.",
        ),
        (
            {use(): "LOC", use(0): "ORG", use(1): "ORG", use(0, 1): "ORG"},
            [ONE, TWO],
            "ORG with neighbor 1 or neighbor 2; without neighbors LOC.",
        ),
        (
            {use(): None, use(0): "ORG", use(1): "LOC", use(0, 1): "ORG"},
            [ONE, TWO],
            "ORG only with neighbor 1; without it LOC, without any no entity.",
        ),
        (
            {use(): "LOC", use(0): "LOC", use(1): "LOC", use(0, 1): "ORG"},
            [ONE, TWO],
            "ORG only with neighbor 1 and neighbor 2 together; without neighbors LOC.",
        ),
        (
            {use(): "LOC", use(0): "ORG", use(1): "LOC", use(0, 1): "LOC"},
            [ONE, TWO],
            "LOC with none and with all of its neighbors; ORG with only neighbor 1.",
        ),
        (
            {
                use(): None,
                use(0): None,
                use(1): None,
                use(2): None,
                use(0, 1): "PER",
                use(0, 2): "PER",
                use(1, 2): None,
                use(0, 1, 2): "PER",
            },
            [ONE, TWO, THREE],
            "PER only with neighbor 1 and one of the others; without it no entity.",
        ),
        (
            {
                use(): None,
                use(0): None,
                use(1): None,
                use(2): None,
                use(0, 1): "PER",
                use(0, 2): "PER",
                use(1, 2): "PER",
                use(0, 1, 2): "PER",
            },
            [ONE, TWO, THREE],
            "PER only with several neighbors together; without neighbors no entity.",
        ),
    ],
)
def test_a_sentence_says_what_the_neighbors_do(labels, names, expected):
    assert reason(labels, names) == expected


def test_only_and_without_are_true_of_the_counterfactuals(trained_folder):
    """A large step changes many entities; each sentence is checked against the model itself."""
    model = metacross.load(trained_folder, device="cpu", adaptation={"learning_rate": 3e-2})
    n_checked = 0
    for sentence in tiny.corpus(30, seed=41):
        explanation = model.explain(sentence)
        for found in entity_reasons(explanation, hide_source=True):
            for number in range(len(explanation.neighbors)):
                if f"only with neighbor {number + 1}; without it" in found.why:
                    others = set(range(len(explanation.neighbors))) - {number}
                    with_ = explanation.with_neighbors(number)
                    without = explanation.with_neighbors(*others)
                    assert label_at(with_, found) == found.label
                    assert f"without it {label_at(without, found) or 'no entity'}" in found.why
                    n_checked += 1
    assert n_checked


def label_at(prediction, found) -> str | None:
    labels = {(e.start, e.end): e.label for e in prediction.entities}
    return labels.get((found.start, found.end))


def test_the_answer_has_every_counterfactual_of_the_model(client, model):
    texts = [" ".join(sentence.words) for sentence in tiny.corpus(20, seed=4)]
    text = next(text for text in texts if model.predict(text).entities)
    answer = client.post("/v1/why", {"text": text, "language": "es"}).json
    explanation = model.explain(text, language="es")
    assert [tuple(c["used"]) for c in answer["counterfactuals"]] == [(), (0,), (1,), (0, 1)]
    for shown, counterfactual in zip(
        answer["counterfactuals"], explanation.counterfactuals, strict=True
    ):
        assert [(e["start"], e["end"], e["label"]) for e in shown["entities"]] == [
            (e.start, e.end, e.label) for e in counterfactual.prediction.entities
        ]
    assert [n["position"] for n in answer["neighbors"]] == [
        neighbor.position for neighbor in explanation.neighbors
    ]
    assert [(e["text"], e["why"]) for e in answer["entities"]] == [
        (found.text, found.why) for found in entity_reasons(explanation, hide_source=False)
    ]
    assert answer["entities"]


def test_neighbors_are_quoted_in_short(model):
    large_step = metacross.NerModel(
        model.parts.__class__(
            model.parts.tagger,
            metacross.load_settings("paper", [*tiny.FAST, "adaptation.learning_rate=0.03"]),
            model.parts.datastore,
            model.parts.adapts,
        )
    )
    reasons = [
        found.why
        for sentence in tiny.corpus(20, seed=41)
        for found in entity_reasons(large_step.explain(sentence), hide_source=False)
        if found.changed
    ]
    source = [" ".join(sentence.words) for sentence in model.parts.datastore.source]
    assert reasons
    assert all("(“" in why for why in reasons)
    assert any(f"neighbor 1 (“{text}”)" in why for text in source for why in reasons)


def test_words_can_be_explained(client):
    by_words = client.post("/v1/why", {"words": ["ana", "saw", "rome"]}).json
    assert by_words["entities"] == client.post("/v1/why", {"text": "ana saw rome"}).json["entities"]


def test_a_model_without_source_sentences_has_nothing_to_explain(model):
    tuned = model.fine_tune(tiny.corpus(4, seed=3))
    with running(ServedModel("tuned", "0", lambda: tuned), ServerOptions()) as client:
        answer = client.post("/v1/why", {"text": "ana"})
    assert (answer.status, answer.json["error"]["code"]) == (422, "cannot_adapt")
