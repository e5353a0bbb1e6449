"""The encoder that comes with metacross."""

from pathlib import Path

import pytest
import torch
from torch import nn

import metacross
from metacross.model.encoder import (
    first_states,
    layers_of,
    load_encoder,
    new_tagger_network,
    save_network,
)
from metacross.model.mini_encoder import SentencePooling
from metacross.model.tagger import Tagger, freeze
from metacross.model.tokenizer import load_tokenizer
from metacross.settings import load_settings
from metacross.text.tags import TagSet

TAGS = TagSet(("LOC", "PER"))
TEXTS = ["Ana went to Rome.", "我爱北京。", "Der Bürgermeister von Köln sprach gestern in Zürich."]
ASSETS = Path(metacross.__file__).parent / "assets"


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("mini")


def states_of(encoder, texts):
    inputs = encoder.tokenizer.fast(texts, padding=True, return_tensors="pt")
    pieces, attention = inputs["input_ids"], inputs["attention_mask"]
    with torch.no_grad():
        return encoder.network(pieces, attention_mask=attention).last_hidden_state, attention


def test_it_opens_by_its_name(encoder):
    assert encoder.network.config.model_type == "metacross-mini"
    assert len(encoder.tokenizer.fast) == encoder.network.config.vocab_size
    assert next(encoder.network.parameters()).dtype == torch.float32


def test_its_states_outlive_saving(encoder, tmp_path):
    save_network(encoder.network, encoder.tokenizer, tmp_path)
    states, _ = states_of(encoder, TEXTS)
    again, _ = states_of(load_encoder(str(tmp_path)), TEXTS)
    assert torch.allclose(states, again, atol=1e-3)


def test_padding_changes_nothing(encoder):
    together, attention = states_of(encoder, TEXTS)
    for row, text in enumerate(TEXTS):
        alone, _ = states_of(encoder, [text])
        length = int(attention[row].sum())
        assert torch.allclose(alone[0], together[row, :length], atol=1e-5)


def test_position_0_holds_the_sentence_vector(encoder):
    seen = []
    (pooling,) = (m for m in encoder.network.modules() if isinstance(m, SentencePooling))
    hook = pooling.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    states, _ = states_of(encoder, TEXTS)
    hook.remove()
    width = encoder.network.config.state_size
    assert torch.equal(states[:, 0, :width], seen[0])
    assert not states[:, 0, width:].any()


def test_sentence_vectors_alone_are_those_at_position_0(encoder):
    states, _ = states_of(encoder, TEXTS)
    inputs = encoder.tokenizer.fast(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        first = first_states(encoder.network, inputs["input_ids"], inputs["attention_mask"])
    assert first.shape == states[:, 0].shape
    assert (first - states[:, 0]).abs().max() < 1e-5


def test_every_trainable_weight_of_a_tagger_is_in_a_linear_map_or_a_layer_norm():
    settings = load_settings("paper", ["encoder.frozen_layers=null", "run.device=cpu"])
    network = new_tagger_network("mini", TAGS.tags, seed=0)
    tagger = Tagger(network, load_tokenizer("mini"), TAGS, settings.encoder, settings.run)
    known = {
        f"{home}.{name}"
        for home, module in network.named_modules()
        if isinstance(module, nn.Linear | nn.LayerNorm)
        for name, _ in module.named_parameters()
    }
    assert tagger.trainable
    assert set(tagger.trainable) <= known


@pytest.mark.parametrize("n_frozen", range(5))
def test_any_number_of_layers_can_be_frozen(n_frozen):
    network = new_tagger_network("mini", TAGS.tags, seed=0)
    freeze(network, n_frozen)
    for number, layer in enumerate(layers_of(network)):
        trains = {
            weight.requires_grad
            for name, weight in layer.named_parameters()
            if "pool" not in name  # stands beside the way to the tags
        }
        assert trains == {number >= n_frozen}
    assert network.classifier.weight.requires_grad


def test_a_chinese_character_as_a_word_is_one_bare_piece(encoder):
    encoding = encoder.tokenizer.fast(list("我爱北京"), is_split_into_words=True)
    tokens = encoder.tokenizer.fast.convert_ids_to_tokens(encoding["input_ids"])
    assert tokens == ["[CLS]", *"我爱北京", "[SEP]"]


def test_translations_lie_nearer_than_other_sentences(encoder):
    pairs = ["The cat sleeps.", "Die Katze schläft.", "We bought a new car.", "Compramos un coche."]
    states, _ = states_of(encoder, pairs)
    vectors = nn.functional.normalize(states[:, 0], dim=-1)
    likeness = vectors @ vectors.T
    assert likeness.fill_diagonal_(0).argmax(1).tolist() == [1, 0, 3, 2]


def test_what_comes_with_the_package_is_small():
    sizes = [file.stat().st_size for file in ASSETS.rglob("*") if file.is_file()]
    assert sum(sizes) < 30_000_000
