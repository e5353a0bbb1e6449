"""The meta-gradient against arithmetic done by hand."""

import copy
import os
import resource
from dataclasses import replace

import numpy as np
import pytest
import torch

import tiny
from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.optimizers import Adam
from metacross.errors import DataError
from metacross.model.encoder import last_states
from metacross.settings import load_settings
from metacross.text.sentence import Sentence
from metacross.training import meta_training
from metacross.training.low_rank_learner import LowRankLearner, can_learn_side_by_side
from metacross.training.meta_training import TextbookLearner, maml_step, task_gradient
from metacross.training.sampling import Sampler
from metacross.training.tasks import Task, TaskExamples
from tiny import tagger_on

RATE, LAMBDA = 1e-2, 2.0


def hand_gradient(weight, bias, states, tags, sentence_of_word):
    """Gradient of mean + lambda max cross-entropy of softmax regression, in double precision."""
    logits = states @ weight.T + bias
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    errors = probabilities - np.eye(weight.shape[0])[tags]  # d loss of a word / d its logits
    losses = -np.log(probabilities[np.arange(len(tags)), tags])
    n_sentences = sentence_of_word.max() + 1
    shares = np.zeros(len(tags))
    for sentence in range(n_sentences):
        words = np.flatnonzero(sentence_of_word == sentence)
        shares[words] += 1 / len(words)
        shares[words[losses[words].argmax()]] += LAMBDA
    deltas = errors * shares[:, None] / n_sentences
    return deltas.T @ states, deltas.sum(axis=0)


def hand_adam(values, gradients, moments, step):
    """The textbook's formulas, one number at a time in spirit."""
    updated = []
    for i, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
        mean, square = moments.get(i, (0.0, 0.0))
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        moments[i] = (mean, square)
        corrected, spread = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        updated.append(value - RATE * corrected / (np.sqrt(spread) + 1e-8))
    return updated


def states_of(tagger, examples):
    """What the linear layer sees for every word, the tags, and the sentences of the words."""
    batch = tagger.batch(examples)
    with torch.no_grad():
        states = last_states(tagger.network.bert, batch.piece_ids, batch.attention)
    chosen = states[batch.window_of_word, batch.piece_of_word].double().numpy()
    return chosen, batch.tag_ids.numpy(), batch.sentence_of_word.numpy()


@pytest.mark.parametrize("inner_steps", [1, 2])
def test_first_order_gradient_is_the_query_gradient_at_the_adapted_weights(encoders, inner_steps):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=4")
    assert sorted(tagger.trainable) == ["classifier.bias", "classifier.weight"]
    query, *support = tagger.examples(tiny.corpus(3, seed=2))
    recipe = load_settings("paper", [f"meta.inner_steps={inner_steps}"])
    _, gradients = task_gradient(tagger, support, query, recipe, inner_learning_rate=RATE)

    values = [
        tagger.trainable[f"classifier.{n}"].detach().double().numpy() for n in ("weight", "bias")
    ]
    moments = {}
    for step in range(1, inner_steps + 1):
        values = hand_adam(
            values, hand_gradient(*values, *states_of(tagger, support)), moments, step
        )
    wanted = hand_gradient(*values, *states_of(tagger, [query]))
    found = dict(zip(tagger.trainable, gradients, strict=True))
    assert np.abs(found["classifier.weight"].numpy() - wanted[0]).max() < 1e-6
    assert np.abs(found["classifier.bias"].numpy() - wanted[1]).max() < 1e-6


@pytest.mark.parametrize("family", ["bert", "xlm-r", "distilbert"])
@pytest.mark.parametrize("inner_steps", [1, 2])
def test_through_all_layers_it_is_what_torch_s_adam_on_a_copy_gives(encoders, family, inner_steps):
    tagger = tagger_on(encoders[family], "encoder.frozen_layers=1")
    query, *support = tagger.examples(tiny.corpus(3, seed=2))
    recipe = load_settings("paper", [f"meta.inner_steps={inner_steps}"])
    _, gradients = task_gradient(tagger, support, query, recipe, inner_learning_rate=1e-3)

    other = copy.copy(tagger)
    other.network = copy.deepcopy(tagger.network)
    weights = {n: p for n, p in other.network.named_parameters() if p.requires_grad}
    adam = torch.optim.Adam(weights.values(), lr=1e-3)
    for _ in range(inner_steps):
        adam.zero_grad()
        other.loss(other.batch(support), max_weight=2.0).backward()
        adam.step()
    adam.zero_grad()
    other.loss(other.batch([query]), max_weight=2.0).backward()
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        assert torch.allclose(weight.grad, gradient, atol=1e-6), name


def one_meta_update(folder, order, *overrides):
    """The weights after one meta-step over tasks taken in a given order."""
    recipe = load_settings("paper", [*tiny.FAST, "meta.tasks_per_step=6", *overrides])
    tagger = tagger_on(folder)
    corpus = tiny.corpus(6)
    tasks = [Task(i, ((i + 1) % 6, (i + 2) % 6)) for i in range(6)]
    adam = Adam(tagger.trainable, recipe.optimizer)
    step = maml_step(tagger, tagger.examples(corpus), [tasks[i] for i in order], recipe, adam)
    step(0)
    return {name: weight.detach().clone() for name, weight in tagger.trainable.items()}


def test_the_meta_update_does_not_depend_on_the_order_of_tasks_beyond_rounding(encoders):
    first = one_meta_update(encoders["bert"], [0, 1, 2, 3, 4, 5], "optimizer.epsilon=1e-3")
    second = one_meta_update(encoders["bert"], [3, 5, 1, 0, 4, 2], "optimizer.epsilon=1e-3")
    for name in first:
        assert torch.allclose(first[name], second[name], atol=1e-5), name


def without_dropout(tagger):
    """So that training draws nothing at random."""
    for module in tagger.network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    tagger.network.config.attention_probs_dropout_prob = 0.0
    return tagger


def test_the_meta_update_is_one_adam_step_against_the_sum_of_the_tasks_gradients(encoders):
    recipe = load_settings("paper", [*tiny.FAST, "masking.ratio=0", "meta.tasks_per_step=3"])
    tagger = without_dropout(tagger_on(encoders["bert"]))
    examples = tagger.examples(tiny.corpus(5))
    tasks = [Task(0, (1, 2)), Task(1, (3, 4)), Task(2, (0, 4))]
    sums = None
    for task in tasks:
        support = [examples[p] for p in task.support]
        _, own = task_gradient(
            tagger,
            support,
            examples[task.query],
            recipe,
            inner_learning_rate=recipe.meta.inner_learning_rate,
        )
        sums = own if sums is None else [a + b for a, b in zip(sums, own, strict=True)]
    before = [weight.detach().clone() for weight in tagger.trainable.values()]
    adam = Adam(tagger.trainable, recipe.optimizer)
    maml_step(tagger, examples, tasks, recipe, adam)(0)
    for old, weight, total in zip(before, tagger.trainable.values(), sums, strict=True):
        wanted = old - recipe.meta.outer_learning_rate * total / (total.abs() + 1e-8)
        clear = total.abs() > 1e-5  # elsewhere the sign is rounding
        assert torch.allclose(weight[clear], wanted[clear], atol=1e-4)


@pytest.mark.parametrize("inner", [True, False])
def test_the_inner_rate_keeps_to_the_schedule_if_it_is_told_to(encoders, inner):
    """The first step of a warm-up has a learning_rate of 0, at which adapting changes nothing."""
    schedule = ["schedule.warmup_ratio=0.5", f"schedule.inner={str(inner).lower()}"]
    still = ["masking.ratio=0", "meta.tasks_per_step=1", "encoder.dropout=0"]
    recipe = load_settings("paper", [*tiny.FAST, *still, *schedule])
    tagger = without_dropout(tagger_on(encoders["bert"]))
    examples = tagger.examples(tiny.corpus(3))
    plain = tagger.loss(tagger.batch(examples[:1]), max_weight=recipe.loss.max_weight).item()
    adam = Adam(tagger.trainable, recipe.optimizer)
    told = maml_step(tagger, examples, [Task(0, (1, 2))], recipe, adam)(0)
    assert (abs(told.loss - plain) < 1e-5) == inner


def test_every_task_comes_once_an_epoch_in_an_order_that_depends_on_the_seed():
    sampler = Sampler(10, 3, seed=1)
    draws = [draw for step in range(10) for draw in sampler.draws(step)]
    for epoch in range(3):
        assert sorted(d.position for d in draws if d.epoch == epoch) == list(range(10))
    assert [d.position for d in draws[:10]] != [d.position for d in draws[10:20]]
    assert Sampler(10, 3, seed=1).draws(5) == draws[15:18]
    assert Sampler(10, 3, seed=2).draws(0) != draws[:3]


def peak_memory(function) -> int:
    """Bytes at the peak of a function, run in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            function()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            os.write(writer, str(peak).encode())
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return int(pipe.read())


@pytest.mark.slow
def test_peak_memory_does_not_grow_with_the_number_of_tasks(tmp_path):
    import transformers

    config = transformers.BertConfig(
        vocab_size=len(tiny.wordpiece_tokenizer()),
        hidden_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1536,
    )
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    tiny.wordpiece_tokenizer().save_pretrained(tmp_path)
    tagger = tagger_on(str(tmp_path), "encoder.frozen_layers=0")
    gradient_bytes = sum(4 * weight.numel() for weight in tagger.trainable.values())
    examples = tagger.examples(tiny.corpus(40))
    tasks = [Task(i, ((i + 1) % 40, (i + 2) % 40)) for i in range(40)]

    def one_step(n_tasks: int) -> None:
        recipe = load_settings("paper", [f"meta.tasks_per_step={n_tasks}"])
        maml_step(tagger, examples, tasks, recipe, Adam(tagger.trainable, recipe.optimizer))(0)

    growth = peak_memory(lambda: one_step(32)) - peak_memory(lambda: one_step(4))
    assert growth < gradient_bytes  # 28 more tasks must not hold even one more gradient


FAMILIES = [*tiny.FAMILIES, "mini"]
# float32 rounds differently from processor to processor, and a near tie of the max loss then has
# another gradient: families are compared in float64, as far as they compute in it
IN_FLOAT32 = ("gemma3", "embedding-gemma")
PARTLY_IN_FLOAT32 = ("eurobert", "llama", "modernbert", "mt5", "qwen3", "t5", "xlm")
STEPS = {
    "normalized": (),
    "sgd": ("meta.inner_optimizer=sgd",),
    "one step": ("meta.inner_steps=1",),
    "three steps": ("meta.inner_steps=3",),
    "decay": ("optimizer.weight_decay=0.1", "meta.inner_steps=3"),
    "clipping": ("optimizer.clip_norm=0.05", "meta.inner_optimizer=sgd"),
    "no max loss": ("loss.max_weight=0",),
}


def largest_error(family):
    """Of an element of the gradient, relative to the largest one; a wrong term is off by more."""
    if family in IN_FLOAT32:
        return 5e-5
    return 1e-5 if family in PARTLY_IN_FLOAT32 else 1e-12


def both_learners(encoders, family, overrides=(), *, corpus=None):
    """The meta-gradients of tasks side by side, and of the textbook loop."""
    values = ["meta.inner_optimizer=normalized", "optimizer.epsilon=1e-3", *overrides]
    recipe = load_settings("paper", values)
    folder = "mini" if family == "mini" else encoders[family]
    tagger = tagger_on(folder, "encoder.frozen_layers=1")
    tagger.network.to(torch.float32 if family in IN_FLOAT32 else torch.float64)
    assert can_learn_side_by_side(tagger, recipe)
    tagger.network.eval()
    examples = tagger.examples(corpus or tiny.corpus(15, seed=5))
    tasks = [
        TaskExamples(i, tuple(examples[i + 1 : i + 3]), examples[i])
        for i in range(0, len(examples) - 2, 3)
    ]
    before = {name: weight.detach().clone() for name, weight in tagger.trainable.items()}
    meta_gradients = []
    for learner in (LowRankLearner(tagger, recipe), TextbookLearner(tagger, recipe)):
        meta_gradients.append(learner.meta_gradient(tasks, learning_rate=1e-2, seeds=(0,)))
        for name, weight in tagger.trainable.items():
            assert torch.equal(weight, before[name])
    return meta_gradients


def assert_equal(ours, textbook, limit):
    assert ours.loss == pytest.approx(textbook.loss, abs=1e-5, rel=1e-5)
    for gradient, expected in zip(ours.gradients, textbook.gradients, strict=True):
        assert (gradient - expected).abs().max() <= limit * max(1, expected.abs().max())
    largest = max(gradient.abs().max().item() for gradient in ours.gradients)
    assert largest > 1e-2  # or zeros would pass


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "albert"])
def test_tasks_side_by_side_have_the_textbook_s_meta_gradient(encoders, family):
    ours, textbook = both_learners(encoders, family)
    assert_equal(ours, textbook, largest_error(family))


@pytest.mark.parametrize("overrides", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize(
    "family", ["bert", *(pytest.param(f, marks=pytest.mark.slow) for f in ("gemma3", "mdeberta"))]
)
def test_it_is_so_with_every_kind_of_step(encoders, family, overrides):
    ours, textbook = both_learners(encoders, family, overrides)
    assert_equal(ours, textbook, largest_error(family))


def test_the_inner_steps_matter(encoders):
    one, _ = both_learners(encoders, "bert", ["meta.inner_steps=1"])
    three, _ = both_learners(encoders, "bert", ["meta.inner_steps=3"])
    assert abs(one.loss - three.loss) > 1e-2


def test_sentences_of_several_windows_have_the_textbook_s_meta_gradient(encoders):
    sentences = [
        Sentence(words=s.words * n, spans=s.spans, language=s.language)
        for s, n in zip(tiny.corpus(9, seed=5), (1, 30, 1, 1, 1, 40, 25, 1, 2), strict=True)
    ]
    ours, textbook = both_learners(encoders, "bert", corpus=sentences)
    assert_equal(ours, textbook, largest_error("bert"))


def test_weights_come_back_when_a_task_raises(encoders):
    recipe = load_settings("paper", ["meta.inner_optimizer=normalized"])
    tagger = tagger_on(encoders["bert"])
    before = {name: weight.detach().clone() for name, weight in tagger.trainable.items()}
    query, *support = tagger.examples(tiny.corpus(3, seed=2))
    task = TaskExamples(0, tuple(support), replace(query, tag_ids=None))
    for learner in (LowRankLearner(tagger, recipe), TextbookLearner(tagger, recipe)):
        with pytest.raises(DataError, match="labeled"):
            learner.meta_gradient([task], learning_rate=1e-2, seeds=(0,))
        for name, weight in tagger.trainable.items():
            assert torch.equal(weight, before[name])
            assert weight.requires_grad


def test_what_cannot_be_learned_side_by_side_is_learned_by_the_textbook(encoders, monkeypatch):
    normalized = "meta.inner_optimizer=normalized"
    recipe = load_settings("paper", [normalized])
    assert not can_learn_side_by_side(
        tagger_on(encoders["bert"], "encoder.frozen_layers=null"), recipe
    )
    assert not can_learn_side_by_side(tagger_on(encoders["bert"]), load_settings("paper"))

    def unsupported(*_arguments, **_options):
        raise UnsupportedLayer

    monkeypatch.setattr(LowRankLearner, "meta_gradient", unsupported)
    fallback = one_meta_update(encoders["bert"], [0, 1, 2, 3, 4, 5], normalized)
    monkeypatch.setattr(meta_training, "can_learn_side_by_side", lambda *_arguments: False)
    textbook = one_meta_update(encoders["bert"], [0, 1, 2, 3, 4, 5], normalized)
    for name, weight in textbook.items():
        assert torch.equal(fallback[name], weight)
