"""Nearest words, the adversary, label consistency and teachers of several languages."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

import metacross
import tiny
from metacross.adaptation.nearest_words import NearestWordsModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.adaptation.textbook import dropout
from metacross.baseline_settings import ConsistencySettings
from metacross.baselines.label_consistency import consistency_weights, word_weights
from metacross.baselines.pseudo_labels import PseudoLabels
from metacross.baselines.resources import ResourceFiles, Resources
from metacross.baselines.selection_systems import one_hot
from metacross.baselines.source_similarity import source_weights
from metacross.baselines.successors import averaged
from metacross.baselines.train_baseline import train_baseline
from metacross.baselines.workshop import Workshop
from metacross.errors import DataError, RunError, SettingsError
from metacross.model.word_states import WordStore, kept_words, states_and_logits
from metacross.settings import load_settings, settings_with
from metacross.text.sentence import Corpus, Sentence
from metacross.training.adversarial import least_telling, train_adversarial
from metacross.training.callbacks import Callback
from metacross.training.distillation import SoftSentence, distill

SOURCE, DEV = tiny.corpus(40), tiny.corpus(15, seed=1)
RAW = Corpus(tuple(s.with_spans(None) for s in tiny.corpus(30, seed=7)), source="raw")
SMALL = [
    *tiny.FAST,
    "direct.steps=6",
    "distillation.epochs=1",
    "distillation.batch_size=8",
    "adversary.states=8",
]


@pytest.fixture
def settings(encoders):
    return load_settings(["paper", "direct"], [*SMALL, f"encoder.name={encoders['bert']}"])


@pytest.fixture
def model(settings):
    return metacross.train(SOURCE, dev=DEV, recipe=settings)


# Words and their states


def test_the_linear_layer_makes_the_logits_of_the_states(model):
    tagger = model.tagger
    with dropout(tagger, enabled=False), torch.no_grad():
        batch = tagger.batch(tagger.examples(SOURCE.sentences[:5]))
        states, logits = states_and_logits(tagger, batch)
        torch.testing.assert_close(tagger.network.classifier(states), logits)
        torch.testing.assert_close(tagger.logits(batch), logits)


def test_the_nearest_words_are_those_of_a_search_one_by_one(monkeypatch):
    monkeypatch.setattr("metacross.model.word_states._SCORES_AT_ONCE", 50)
    generator = torch.Generator().manual_seed(0)
    stored, asked = (normalize(torch.randn(n, 6, generator=generator)) for n in (20, 7))
    cosines, places = WordStore(stored, torch.zeros(20, dtype=torch.long), 1.0).nearest(asked, 3)
    for row, state in enumerate(asked):
        by_hand = sorted(range(20), key=lambda i: -float(stored[i] @ state))[:3]
        assert places[row].tolist() == by_hand
        torch.testing.assert_close(cosines[row], torch.stack([stored[i] @ state for i in by_hand]))


def test_votes_are_weighted_by_similarity_and_by_the_share_of_other_words():
    store = WordStore(torch.eye(3), torch.tensor([0, 1, 2]), other_weight=4.0)
    state = normalize(torch.tensor([[1.0, 2.0, 0.0]]))
    voted = store.tag_probabilities(state, k=2, temperature=0.5, n_tags=3)
    cosines = 1 / 5**0.5, 2 / 5**0.5
    votes = np.array([4 * np.exp(cosines[0] / 0.5), np.exp(cosines[1] / 0.5), 0.0])
    np.testing.assert_allclose(voted[0].numpy(), votes / votes.sum(), rtol=1e-5)


def test_all_entity_words_are_kept_and_a_share_of_the_others():
    tag_ids = torch.tensor([0, 1, 0, 2] * 1_000)
    kept = kept_words(tag_ids, outside_fraction=0.25, seed=0)
    assert set(range(1, 4_000, 2)) <= set(kept.tolist())
    n_other = len(kept) - 2_000
    assert 400 < n_other < 600
    assert kept.tolist() == sorted(kept.tolist())


def test_words_of_the_datastore_get_their_own_label_back(model, tmp_path):
    votes_only = settings_with(
        model.settings, {"knn": {"neighbors": 1, "weight": 1.0, "outside_fraction": 1.0}}
    )
    nearest = NearestWordsModel.of(model, SOURCE, votes_only)
    assert nearest.evaluate(SOURCE).f1 == 1.0
    nearest.save(tmp_path / "knn")
    loaded = metacross.load(tmp_path / "knn")
    for before, after in zip(nearest.predict_stream(DEV), loaded.predict_stream(DEV), strict=True):
        np.testing.assert_array_equal(before.probabilities, after.probabilities)


def test_without_weight_the_nearest_words_change_nothing(model):
    nothing = settings_with(model.settings, {"knn": {"weight": 0.0}})
    nearest = NearestWordsModel.of(model, SOURCE, nothing)
    for before, after in zip(
        model.predict_stream(DEV, adapt=False), nearest.predict_stream(DEV), strict=True
    ):
        np.testing.assert_allclose(before.probabilities, after.probabilities, atol=1e-6)


def test_words_without_labels_are_refused(model):
    with pytest.raises(DataError, match="expected labeled sentences"):
        NearestWordsModel.of(model, RAW, model.settings)


# Label consistency


def test_a_word_whose_neighbors_have_another_label_weighs_less():
    generator = torch.Generator().manual_seed(0)
    centers = torch.eye(2, 8).repeat_interleave(20, dim=0)  # two groups of twenty words
    states = normalize(centers + 0.1 * torch.randn(40, 8, generator=generator))
    type_ids = torch.tensor([1] * 20 + [2] * 20)
    type_ids[0] = 2  # labeled like the other group
    everything = ConsistencySettings(neighbors=10, outside_fraction=1.0)
    weights = consistency_weights(states, type_ids, everything, seed=0)
    assert weights[0] < 0.1
    assert weights[1:].min() > 0.5
    assert weights[type_ids == 1].max() == weights[type_ids == 2].max() == 1.0


def test_copies_of_a_word_do_not_make_it_consistent():
    states = normalize(torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.2], [1.0, 0.3], [0.0, 1.0]]))
    type_ids = torch.tensor([1, 1, 2, 2, 1])
    settings = ConsistencySettings(neighbors=3, outside_fraction=1.0)
    weights = consistency_weights(states, type_ids, settings, seed=0)
    # By hand: words 0 and 1 see 2, 2 (and each other as a copy); word 4 sees 2, 2 and 0 or 1.
    assert weights[4] == 1.0
    assert weights[0] == weights[1] < 1.0


def test_every_word_of_a_sentence_has_a_weight(model):
    weights = word_weights(model, SOURCE.sentences, model.settings)
    assert [len(rows) for rows in weights] == [len(s.words) for s in SOURCE]
    assert all(((rows > 0) & (rows <= 1)).all() for rows in weights)


# The adversary


def test_a_sentence_is_kept_if_its_language_is_hard_to_tell():
    probabilities = torch.tensor([0.9, 0.5, 0.45, 0.1, 0.8])
    assert least_telling(probabilities, 0.6) == [1, 2, 4]
    assert least_telling(probabilities, 0.01) == [1]


def _told_apart(trained, source, target):
    """The loss of the discriminator on sentences of both languages."""
    tagger, losses = trained.model.tagger, []
    with dropout(tagger, enabled=False), torch.no_grad():
        for number, sentences in enumerate((source, target)):
            states, _ = states_and_logits(tagger, tagger.batch(tagger.inputs(sentences)))
            scores = trained.discriminator(states)
            losses.append(
                binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(number)))
            )
    return float(sum(losses))


def test_the_encoder_hides_the_language_from_the_discriminator(settings, tmp_path):
    foreign = Corpus(tuple(Sentence(("zqx",) * 5) for _ in RAW), source="raw")
    loss = {}
    for rate in (0.0, 1.0):
        changed = settings_with(
            settings,
            {
                "direct": {"steps": 60},
                "adversary": {"encoder_rate": rate, "learning_rate": 1e-2},
                "schedule": {"decay": "constant", "warmup_ratio": 0.0},
            },
        )
        trained = train_adversarial(SOURCE, foreign, changed, tmp_path / str(rate))
        loss[rate] = _told_apart(trained, SOURCE.sentences, foreign.sentences)
    assert loss[0.0] < 0.5 * loss[1.0]


def test_an_adversarial_training_resumes_to_the_same_weights(settings, tmp_path):
    class Stop(Callback):
        def on_step_end(self, step, result):
            if step == 4:
                raise RunError("stopped")

    often = settings_with(settings, {"run": {"checkpoint_every": 2}})
    with pytest.raises(RunError, match="stopped"):
        train_adversarial(SOURCE, RAW, often, tmp_path / "a", [Stop()])
    resumed = train_adversarial(SOURCE, RAW, often, tmp_path / "a")
    whole = train_adversarial(SOURCE, RAW, often, tmp_path / "b")
    again = train_adversarial(SOURCE, RAW, often, tmp_path / "b")
    expected = whole.target_probabilities(RAW.sentences)
    torch.testing.assert_close(resumed.target_probabilities(RAW.sentences), expected)
    torch.testing.assert_close(again.target_probabilities(RAW.sentences), expected)
    (tmp_path / "b" / "training" / "checkpoint.safetensors").unlink()
    with pytest.raises(RunError, match="expected the discriminator"):
        train_adversarial(SOURCE, RAW, often, tmp_path / "b")


# Teachers


def test_a_student_can_start_from_a_model(model, settings):
    sentences = [
        SoftSentence(p.sentence, p.probabilities) for p in model.predict_stream(RAW, adapt=False)
    ]
    still = settings_with(settings, {"distillation": {"learning_rate": 1e-12}})
    same = distill(sentences, model.labels, still, start=model)
    fresh = distill(sentences, model.labels, still)
    expected = [p.probabilities for p in model.predict_stream(DEV, adapt=False)]
    for rows, row in zip(expected, same.predict_stream(DEV), strict=True):
        np.testing.assert_allclose(rows, row.probabilities, atol=1e-5)
    assert any(
        np.abs(rows - row.probabilities).max() > 1e-3
        for rows, row in zip(expected, fresh.predict_stream(DEV), strict=True)
    )


def test_a_student_that_starts_from_a_model_takes_as_many_steps_as_direct_training(
    model, settings, tmp_path
):
    many = settings_with(
        settings, {"distillation": {"epochs": 5}, "direct": {"steps": 8, "batch_size": 8}}
    )
    resources = Resources(ResourceFiles(), source_language="en", target_language="es")
    shop = Workshop(SOURCE, SOURCE, DEV, resources, many, tmp_path)
    labels = [SoftSentence(p.sentence, p.probabilities) for p in model.predict_stream(RAW)]
    steps = {}
    for name, start in (("new", None), ("further", model)):
        shop.student(labels, tmp_path / name, start=start)
        log = (tmp_path / name / "training" / "log.jsonl").read_text().splitlines()
        steps[name] = sum("loss" in json.loads(line) for line in log)
    assert steps == {"new": round(5 * 30 / 8), "further": round(2 * 30 / 8)}


def test_teachers_are_averaged_by_their_weights():
    sentence = Sentence(("Ana",))
    teachers = [
        PseudoLabels(
            (SentencePrediction(sentence, (), (), tags=("O", "B"), probabilities=one_hot([i], 2)),),
            "raw",
        )
        for i in (0, 1)
    ]
    (mean,) = averaged(teachers, [0.75, 0.25])
    np.testing.assert_allclose(mean.probabilities, [[0.75, 0.25]])


def test_the_source_language_that_is_like_the_target_counts_most():
    rng = np.random.default_rng(0)
    centers = {"de": 3.0, "es": -3.0}

    def vectors(language, n):
        rows = rng.normal(size=(n, 8)).astype(np.float32)
        rows[:, 0] += centers[language]
        return rows

    sources = {"de": vectors("de", 200), "es": vectors("es", 50)}
    for language in sources:
        weights = source_weights(sources, vectors(language, 40), seed=0)
        assert weights[language] > 0.6
        assert sum(weights.values()) == pytest.approx(1.0)


def test_teachers_of_two_languages_teach_one_student(settings, tmp_path, groups_read):
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(" ".join(s.words) + "\n" for s in RAW))
    in_two = Corpus(
        tuple(replace(s, language=("de", "en")[i % 2]) for i, s in enumerate(SOURCE)),
        source="two",
    )
    options = {"dev": DEV, "target": "es", "resources": {"raw_text": raw}, "recipe": settings}
    output = tmp_path / "model"
    model = train_baseline("tsl-multi", in_two, output=output, **options)
    assert groups_read == {"distillation"}
    assert sorted(p.name for p in (output / "stages").iterdir()) == ["direct-de", "direct-en"]
    assert model.labels == ("LOC", "PER")
    with pytest.raises(SettingsError, match="give --source LANGUAGE=FILE for each"):
        train_baseline("tsl-multi", SOURCE, **options)
    only_loc = in_two.sentences[0].with_spans(
        tuple(s for s in in_two.sentences[0].spans if s.label == "LOC")
    )
    lacking = Corpus((replace(only_loc, language="fr"), *in_two.sentences), source="three")
    with pytest.raises(DataError, match=r"source fr: .* found no"):
        train_baseline("tsl-multi", lacking, **options)
