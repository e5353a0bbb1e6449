"""The fast engine against the textbook loop."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import metacross
import tiny
from metacross.adaptation.adapted_part import adapting
from metacross.adaptation.fast import FastEngine, _groups, unsupported_reason
from metacross.adaptation.gradient_recorder import GradientRecorder, UnsupportedLayer
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted
from metacross.model.encoder import layers_of, weights_digest
from metacross.settings import load_settings
from metacross.text.sentence import Sentence
from tiny import tagger_on

TESTS = tiny.corpus(9, seed=21)
SOURCE = tiny.corpus(12, seed=22)


def textbook_logits(tagger, settings, example, support):
    adaptation = settings.adaptation
    with adapted(
        tagger,
        support,
        steps=adaptation.steps,
        learning_rate=adaptation.learning_rate,
        max_weight=adaptation.max_weight,
        optimizer=settings.optimizer,
        optimizer_name=adaptation.optimizer,
    ):
        return label_logits(tagger, [example])[0]


def both(folder, k, *overrides, memory_bytes=10**9, tests=TESTS, source=SOURCE):
    """The logits of the engine and of the textbook loop, sentence by sentence."""
    settings = load_settings("paper", ["adaptation.learning_rate=1e-2", *overrides])
    shape = [o for o in overrides if o.startswith("encoder.")]
    tagger = adapting(tagger_on(folder, *shape), settings.adaptation)
    source_examples = tagger.examples(source)
    supports = [
        {(3 * i + n) % len(source): source_examples[(3 * i + n) % len(source)] for n in range(k)}
        for i in range(len(tests))
    ]
    engine = FastEngine(tagger, settings, memory_bytes=memory_bytes)
    before = weights_digest(tagger.network)
    examples = tagger.examples(tests)
    ours = engine.logits(examples, supports)
    assert weights_digest(tagger.network) == before
    theirs = [
        textbook_logits(tagger, settings, example, list(support.values()))
        for example, support in zip(examples, supports, strict=True)
    ]
    plain = label_logits(tagger, examples)
    return ours, theirs, plain


def worst(ours, theirs):
    return max((a - b).abs().max().item() for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("family", [*tiny.FAMILIES, "mini"])
@pytest.mark.parametrize("k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 5))])
def test_logits_equal_the_textbook_loop_s(encoders, family, k):
    folder = "mini" if family == "mini" else encoders[family]
    learning_rate = (
        "adaptation.learning_rate=1e-4" if family == "mini" else "adaptation.learning_rate=1e-3"
    )
    ours, theirs, plain = both(folder, k, learning_rate)
    assert worst(ours, theirs) < 1e-5
    assert worst(ours, plain) > 1e-3  # or adapting would be nothing


LOW_RANK = {
    "normalized": ("adaptation.optimizer=normalized",),
    "sgd": ("adaptation.optimizer=sgd", "adaptation.learning_rate=1e-2"),
    "three steps": ("adaptation.optimizer=normalized", "adaptation.steps=3"),
    "decay": (
        "adaptation.optimizer=normalized",
        "adaptation.steps=2",
        "optimizer.weight_decay=0.1",
    ),
    "clipping": ("adaptation.optimizer=sgd", "optimizer.clip_norm=0.1", "adaptation.steps=2"),
    "max loss": ("adaptation.optimizer=normalized", "adaptation.max_weight=2"),
}


@pytest.mark.parametrize("family", [*(f for f in tiny.FAMILIES if f != "albert"), "mini"])
@pytest.mark.parametrize("k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 5))])
def test_normalized_steps_have_the_textbook_loop_s_logits(encoders, family, k):
    folder = "mini" if family == "mini" else encoders[family]
    ours, theirs, plain = both(
        folder, k, "adaptation.learning_rate=1e-3", "adaptation.optimizer=normalized"
    )
    assert worst(ours, theirs) < 1e-5
    assert worst(ours, plain) > 1e-3  # or adapting would be nothing


@pytest.mark.parametrize("overrides", LOW_RANK.values(), ids=LOW_RANK)
@pytest.mark.parametrize(
    "family", ["bert", *(pytest.param(f, marks=pytest.mark.slow) for f in ("gemma3", "mdeberta"))]
)
def test_low_rank_steps_of_every_kind_have_the_textbook_loop_s_logits(encoders, family, overrides):
    ours, theirs, _ = both(encoders[family], 2, "adaptation.learning_rate=1e-3", *overrides)
    assert worst(ours, theirs) < 1e-5


PARTS = {
    "classifier": "adaptation.layers=0",
    "top layer": "adaptation.layers=1",
    "vectors": "adaptation.weights=vectors",
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("optimizer", ["adam", "normalized"])
@pytest.mark.parametrize(
    "family",
    ["bert", *(pytest.param(f, marks=pytest.mark.slow) for f in ("mini", "gemma3", "mdeberta"))],
)
def test_a_part_of_the_weights_adapts_as_in_the_textbook_loop(encoders, family, optimizer, part):
    folder = "mini" if family == "mini" else encoders[family]
    if (family, part) == ("mdeberta", PARTS["vectors"]):
        pytest.skip("the textbook loop does this")
    all_layers = ("adaptation.learning_rate=1e-3", "encoder.frozen_layers=0")
    choice = (f"adaptation.optimizer={optimizer}", *all_layers)
    ours, theirs, plain = both(folder, 2, *choice, part)
    assert worst(ours, theirs) < 1e-5
    assert worst(ours, plain) > 1e-4  # or adapting would be nothing
    everything = both(folder, 2, *choice)[0]
    assert worst(ours, everything) > 1e-4


def test_vectors_of_layers_that_sentences_share_are_left_to_the_textbook_loop(encoders):
    with pytest.raises(UnsupportedLayer):
        both(encoders["mdeberta"], 2, PARTS["vectors"])


def test_low_rank_steps_with_sentences_of_several_windows(encoders):
    tests = [
        Sentence(s.words * n, language=s.language)
        for s, n in zip(TESTS, (1, 30, 1, 1, 60, 1, 25, 1, 2), strict=True)
    ]
    source = [
        Sentence(s.words * n, s.spans, language=s.language)
        for s, n in zip(SOURCE, (1, 30, 1, 1, 1, 40, 25, 1, 2, 1, 1, 1), strict=True)
    ]
    for steps in ("1", "2"):
        ours, theirs, _ = both(
            encoders["bert"],
            2,
            "adaptation.learning_rate=1e-3",
            "adaptation.optimizer=normalized",
            f"adaptation.steps={steps}",
            tests=tests,
            source=source,
        )
        assert worst(ours, theirs) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("frozen", ["0", "1", "3", "4"])
@pytest.mark.parametrize("family", ["bert", "mdeberta", "mt5", "gemma3"])
def test_whatever_is_frozen(encoders, family, frozen):
    ours, theirs, _ = both(
        encoders[family], 2, "adaptation.learning_rate=1e-3", f"encoder.frozen_layers={frozen}"
    )
    assert worst(ours, theirs) < 1e-5


@pytest.mark.parametrize("family", ["bert", "mdeberta", "gemma3", "qwen3"])
def test_sentences_longer_than_a_window(encoders, family):
    long = tiny.corpus(4, seed=3, longest=80)
    sizes = ("encoder.max_length=16", "encoder.overlap=6")
    ours, theirs, _ = both(
        encoders[family],
        2,
        "adaptation.learning_rate=1e-3",
        *sizes,
        tests=long,
        source=tiny.corpus(5, seed=4, longest=80),
    )
    assert worst(ours, theirs) < 1e-5


@pytest.mark.parametrize(
    "overrides",
    [
        ("optimizer.bias_correction=false", "optimizer.epsilon=1e-6"),
        ("optimizer.weight_decay=0.1",),
        ("optimizer.clip_norm=0.05", "optimizer.epsilon=1e-3"),
        ("adaptation.max_weight=2.0",),
    ],
    ids=["no bias correction", "weight decay", "clipping", "max loss"],
)
@pytest.mark.parametrize("family", ["bert", "mdeberta", "gemma3"])
def test_every_kind_of_adam_and_loss(encoders, family, overrides):
    ours, theirs, _ = both(encoders[family], 2, "adaptation.learning_rate=1e-3", *overrides)
    assert worst(ours, theirs) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "mdeberta"])
def test_little_memory_changes_no_result(encoders, family):
    much = both(encoders[family], 2)[0]
    little = both(encoders[family], 2, memory_bytes=1)[0]
    assert worst(much, little) < 1e-5


def test_records_are_kept_and_used_again(encoders):
    settings = load_settings("paper")
    tagger = tagger_on(encoders["bert"])
    engine = FastEngine(tagger, settings, memory_bytes=10**9)
    examples, source = tagger.examples(TESTS), tagger.examples(SOURCE)
    supports = [{0: source[0], 1: source[1]} for _ in examples]
    engine.logits(examples, supports)
    engine.logits(examples, supports)
    assert engine.gradient_cache.n_recorded == 2


def test_memory_for_records_is_bounded(encoders):
    settings = load_settings("paper")
    tagger = tagger_on(encoders["bert"])
    engine = FastEngine(tagger, settings, memory_bytes=60_000)
    examples, source = tagger.examples(TESTS), tagger.examples(SOURCE)
    supports = [{i: source[i]} for i in range(len(examples))]
    n_recorded = []
    for _ in range(3):
        engine.logits(examples, supports)
        n_recorded.append(engine.gradient_cache.n_recorded)
        assert 0 < engine.gradient_cache.n_bytes <= 60_000
    assert n_recorded[0] == len(examples)
    assert n_recorded[2] > n_recorded[1] > n_recorded[0]  # some had to go and come again


@given(st.lists(st.integers(1, 60), min_size=1, max_size=90), st.integers(1, 4))
def test_groups_hold_every_sentence_once_and_cost_about_the_same(lengths, n_workers):
    examples = [SimpleNamespace(n_pieces=n) for n in lengths]
    supports = [{0: SimpleNamespace(n_pieces=20)} for _ in lengths]
    groups = _groups(range(len(lengths)), examples, supports, n_workers, 16)
    costs = [sum(20 + lengths[i] for i in group) for group in groups]
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    assert max(costs) <= sum(costs) / len(costs) + 2 * (20 + max(lengths))


def test_memory_is_as_before_when_a_recording_raises(encoders, monkeypatch):
    settings = load_settings("paper")
    tagger = tagger_on(encoders["bert"])
    engine = FastEngine(tagger, settings, memory_bytes=60_000)
    examples, source = tagger.examples(TESTS), tagger.examples(SOURCE)
    supports = [{i: source[i]} for i in range(len(examples))]
    with monkeypatch.context() as patch:
        patch.setattr(GradientRecorder, "record", interrupted_after(2, GradientRecorder.record))
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):
                engine.logits(examples, supports)
    again = engine.logits(examples, supports)
    undisturbed = FastEngine(tagger, settings, memory_bytes=10**9).logits(examples, supports)
    assert worst(again, undisturbed) < 1e-5


def interrupted_after(n_calls, record):
    """``record``, which from some call on is stopped by the user."""
    calls = itertools.count()

    def interrupted(*args, **options):
        if next(calls) >= n_calls:
            raise KeyboardInterrupt
        return record(*args, **options)

    return interrupted


def test_the_network_is_as_before_when_a_pass_raises(encoders, monkeypatch):
    settings = load_settings("paper")
    tagger = tagger_on(encoders["bert"])
    examples, source = tagger.examples(TESTS), tagger.examples(SOURCE)
    engine = FastEngine(tagger, settings, memory_bytes=10**9)
    wanted = label_logits(tagger, examples)
    monkeypatch.setattr(engine._groups, "_multiplied", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.logits(examples, [{0: source[0]} for _ in examples])
    assert worst(label_logits(tagger, examples), wanted) == 0
    assert all(weight.grad is None for weight in tagger.trainable.values())


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("adaptation.steps=2", "adaptation.steps is more than 1 and adaptation.optimizer is adam"),
        ("adaptation.dropout=true", "adaptation.dropout is on"),
    ],
)
def test_what_it_cannot_do_it_says(encoders, override, reason):
    tagger = tagger_on(encoders["bert"])
    assert unsupported_reason(tagger, load_settings("paper")) is None
    assert unsupported_reason(tagger, load_settings("paper", [override])) == reason


def test_a_trainable_embedding_needs_the_textbook_loop(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=null")
    assert "embeddings" in unsupported_reason(tagger, load_settings("paper"))


def share_a_layer(network):
    """Let the third layer run twice, also in place of the fourth."""
    layers = layers_of(network)
    layers[3] = layers[2]


def test_a_layer_that_reads_the_sentences_twice_is_noticed(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=0")
    share_a_layer(tagger.network)
    settings = load_settings("paper")
    engine = FastEngine(tagger, settings, memory_bytes=10**9)
    examples = tagger.examples(TESTS)
    source = tagger.examples(SOURCE)
    with pytest.raises(UnsupportedLayer):
        engine.logits(examples, [{i: source[i] for i in range(3)} for _ in examples])


def test_a_sentence_s_result_does_not_depend_on_its_company(encoders):
    tagger = tagger_on(encoders["bert"])
    settings = load_settings("paper", ["adaptation.learning_rate=1e-3"])
    examples, source = tagger.examples(TESTS), tagger.examples(SOURCE)
    supports = [{i: source[i], 11 - i: source[11 - i]} for i in range(len(examples))]
    together = FastEngine(tagger, settings, memory_bytes=10**9).logits(examples, supports)
    alone = [
        FastEngine(tagger, settings, memory_bytes=10**9).logits([e], [s])[0]
        for e, s in zip(examples, supports, strict=True)
    ]
    assert worst(together, alone) < 1e-5
    assert torch.isfinite(together[0]).all()


@pytest.mark.slow
def test_a_model_predicts_the_same_with_either_engine(trained_folder):
    sentences = tiny.corpus(70, seed=31)
    fast, textbook = (
        metacross.load(trained_folder, device="cpu", engine=engine)
        for engine in ("fast", "textbook")
    )
    assert fast.fallback_reason is None
    assert textbook.fallback_reason == "it was requested"
    ours, theirs = (list(m.predict_stream(sentences, adapt=True)) for m in (fast, textbook))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.spans, a.neighbors) == (b.spans, b.neighbors)
        assert a.scores == pytest.approx(b.scores, abs=1e-5)


def test_a_model_falls_back_visibly_where_the_engine_cannot(encoders):
    recipe = load_settings("direct", [*tiny.FAST, "direct.steps=2", "encoder.frozen_layers=0"])
    model = metacross.train(SOURCE, dev=SOURCE, encoder=encoders["bert"], recipe=recipe)
    assert model.fallback_reason is None
    share_a_layer(model.tagger.network)
    found = list(model.predict_stream(TESTS, adapt=True))
    assert len(found) == len(TESTS)
    assert "reads more than the sentences" in model.fallback_reason


@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_progress_is_told_within_a_chunk_and_across(trained_folder, engine):
    model = metacross.load(trained_folder, device="cpu", engine=engine)
    told = []
    list(
        model.predict_stream(
            tiny.corpus(20, seed=8), adapt=True, chunk_size=12, progress=told.append
        )
    )
    assert told == sorted(told)
    assert {12, 20} <= {*told}
    assert len({*told}) > 3
