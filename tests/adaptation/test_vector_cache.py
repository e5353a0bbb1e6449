"""Sentence vectors and the cache of them."""

import numpy as np
import pytest
import torch

import tiny
from metacross.adaptation import vector_cache
from metacross.adaptation.vector_cache import cached_vectors
from metacross.model.encoder import last_states, load_encoder
from metacross.model.sentence_encoder import SentenceEncoder, pretrained_twin
from tiny import tagger_on

SENTENCES = tiny.corpus(12).sentences


def sentence_encoder(folder, pooling="cls", longest=128, network=None):
    encoder = load_encoder(folder)
    pieces = encoder.tokenizer.window_cutter(max_length=longest, overlap=2)
    return SentenceEncoder(network or encoder.network, pieces, pooling, torch.device("cpu"))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_vector_is_the_pre_trained_encoder_s_last_state(encoders, pooling):
    vectors = sentence_encoder(encoders["bert"], pooling).vectors(SENTENCES)
    encoder = load_encoder(encoders["bert"])
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        text = encoder.tokenizer.fast(
            list(sentence.words), is_split_into_words=True, return_tensors="pt"
        )
        with torch.no_grad():
            states = last_states(encoder.network, text["input_ids"], text["attention_mask"])[0]
        wanted = states[0] if pooling == "cls" else states[1:-1].mean(dim=0)
        assert np.allclose(vector, wanted.numpy(), atol=1e-5)


def test_the_twin_stays_as_it_was_when_the_tagger_learns(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=2")
    pretrained = {name: weight.detach().clone() for name, weight in tagger.trainable.items()}
    twin = pretrained_twin(tagger.network, pretrained)
    encoder = SentenceEncoder(twin, tagger.window_cutter, "cls", tagger.device)
    before = encoder.vectors(SENTENCES)
    with torch.no_grad():
        for weight in tagger.trainable.values():
            weight.add_(1.0)
    assert np.array_equal(encoder.vectors(SENTENCES), before)
    shared = {id(p) for p in tagger.network.parameters()} & {id(p) for p in twin.parameters()}
    assert len(shared) == len(list(tagger.network.parameters())) - len(tagger.trainable)


def test_the_cache_is_used_and_keyed_by_all_the_vectors_depend_on(encoders, tmp_path, monkeypatch):
    monkeypatch.setenv("METACROSS_CACHE", str(tmp_path))
    other_weights = load_encoder(encoders["bert"]).network
    with torch.no_grad():
        next(iter(other_weights.parameters())).add_(1.0)
    keys = {
        sentence_encoder(encoders["bert"]).key(SENTENCES),
        sentence_encoder(encoders["bert"], "mean").key(SENTENCES),
        sentence_encoder(encoders["bert"], longest=8).key(SENTENCES),
        sentence_encoder(encoders["bert"]).key(SENTENCES[:-1]),
        sentence_encoder(encoders["bert"]).key(SENTENCES[::-1]),
        sentence_encoder(encoders["xlm-r"]).key(SENTENCES),
        sentence_encoder(encoders["bert"], network=other_weights).key(SENTENCES),
    }
    assert len(keys) == 7
    first = cached_vectors(sentence_encoder(encoders["bert"]), SENTENCES)
    broken = sentence_encoder(encoders["bert"])
    monkeypatch.setattr(broken, "vectors", None)  # would raise if it were called
    assert np.array_equal(cached_vectors(broken, SENTENCES), first)


def test_a_broken_or_unwritable_cache_is_done_without(encoders, tmp_path, monkeypatch):
    encoder = sentence_encoder(encoders["bert"])
    wanted = encoder.vectors(SENTENCES)
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / f"{encoder.key(SENTENCES)}.safetensors").write_bytes(b"junk")
    monkeypatch.setenv("METACROSS_CACHE", str(tmp_path))
    assert np.array_equal(cached_vectors(encoder, SENTENCES), wanted)
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("METACROSS_CACHE", str(file))
    assert np.array_equal(cached_vectors(encoder, SENTENCES), wanted)


def test_the_cache_folder_is_the_user_s(monkeypatch, tmp_path):
    monkeypatch.delenv("METACROSS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert vector_cache.cache_folder() == tmp_path / "metacross"
