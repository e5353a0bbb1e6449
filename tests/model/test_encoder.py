"""Encoders of every family."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import transformers

import tiny
from benchmarks import encoder_parity
from metacross.errors import ModelError
from metacross.model.encoder import (
    encoder_of,
    layers_of,
    load_encoder,
    new_tagger_network,
    save_network,
    sentence_pooling,
    tag_logits,
    weights_digest,
)
from metacross.model.tagger import freeze
from metacross.model.tokenizer import load_tokenizer
from metacross.text.sentence import Sentence
from tiny import TAGS, tagger_on

FAMILIES = tiny.FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_frozen", [0, 1, 3])
def test_the_embeddings_and_the_bottom_layers_are_frozen_and_nothing_else(
    encoders, family, n_frozen
):
    network = new_tagger_network(encoders[family], TAGS.tags, seed=0)
    freeze(network, n_frozen)
    layers = list(layers_of(network))
    for number, layer in enumerate(layers):
        trains = {
            parameter.requires_grad
            for name, parameter in layer.named_parameters()
            if "relative_attention_bias" not in name  # T5's position embeddings
        }
        assert trains == {number >= n_frozen}
    in_layers = {id(parameter) for layer in layers for parameter in layer.parameters()}
    for name, parameter in network.named_parameters():
        if id(parameter) not in in_layers:
            parts = ("emb", "shared.weight", "deberta.encoder.LayerNorm")
            is_embedding = any(part in name for part in parts)
            assert parameter.requires_grad != is_embedding, name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_trainable_weight_gets_a_gradient_and_no_frozen_one(encoders, family):
    tagger = tagger_on(encoders[family], "encoder.frozen_layers=2")
    examples = tagger.examples(tiny.corpus(4))
    tagger.loss(tagger.batch(examples), max_weight=1.0).backward()
    for name, parameter in tagger.network.named_parameters():
        assert (parameter.grad is not None) == (name in tagger.trainable), name


def test_nothing_is_frozen_with_null(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=null")
    assert len(tagger.trainable) == len(list(tagger.network.named_parameters()))


def test_a_model_whose_layers_cannot_be_found_is_refused_with_the_mend(encoders):
    with pytest.raises(ModelError, match=r"list of 4 layers.*encoder\.frozen_layers=null"):
        tagger_on(encoders["albert"])
    assert tagger_on(encoders["albert"], "encoder.frozen_layers=null").trainable


def test_more_frozen_layers_than_there_are_is_refused(encoders):
    with pytest.raises(ModelError, match="at most the encoder's 4 layers, found 5"):
        tagger_on(encoders["bert"], "encoder.frozen_layers=5")


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("bert", ["[CLS]", "[SEP]", "[PAD]", "[MASK]"]),
        ("xlm-r", ["<s>", "</s>", "<pad>", "<mask>"]),
        ("t5", [None, "</s>", "<pad>", None]),
        ("gemma3", ["<bos>", None, "<pad>", "<mask>"]),
        ("qwen3", [None, None, "<|endoftext|>", None]),
        ("llama", ["<|begin_of_text|>", None, "<|endoftext|>", None]),
    ],
)
def test_special_pieces_come_from_the_tokenizer(encoders, family, names):
    tokenizer = load_tokenizer(encoders[family])
    special = tokenizer.special
    ids = [special.start, special.end, special.pad, special.mask]
    pieces = [None if i is None else tokenizer.fast.convert_ids_to_tokens(i) for i in ids]
    assert pieces == names


def first_word_logits(tagger, words):
    (example,) = tagger.examples([Sentence(words)])
    with torch.no_grad():
        return tagger.logits(tagger.batch([example]))[0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("attention", ["null", "bidirectional"])
def test_a_later_word_changes_the_scores_of_an_earlier_one(encoders, family, attention):
    tagger = tagger_on(encoders[family], f"encoder.attention={attention}")
    one, other = (first_word_logits(tagger, ("ana", "saw", last)) for last in ("eva", "tom"))
    assert not torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("family", tiny.DECODERS)
def test_a_later_word_changes_no_earlier_one_with_causal_attention(encoders, family):
    tagger = tagger_on(encoders[family], "encoder.attention=causal")
    one, other = (first_word_logits(tagger, ("ana", "saw", last)) for last in ("eva", "tom"))
    assert torch.equal(one, other)


def test_an_encoder_is_not_read_causally(encoders):
    with pytest.raises(ModelError, match=r"encoder\.attention to be bidirectional or null"):
        tagger_on(encoders["bert"], "encoder.attention=causal")


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_bottom_layers_are_read(encoders, family):
    tagger = tagger_on(encoders[family], "encoder.layers=2", "encoder.frozen_layers=1")
    everything = new_tagger_network(encoders[family], TAGS.tags, seed=0)
    layers = layers_of(tagger.network)
    assert len(layers) == 2
    for layer, same in zip(layers, layers_of(everything)[:2], strict=True):
        weights = zip(layer.parameters(), same.parameters(), strict=True)
        assert all(torch.equal(weight, other) for weight, other in weights)
    assert first_word_logits(tagger, ("ana", "saw", "eva")).isfinite().all()


def test_more_layers_than_there_are_is_refused(encoders):
    with pytest.raises(ModelError, match=r"encoder\.layers: expected at most .* 4 layers, found 5"):
        tagger_on(encoders["bert"], "encoder.layers=5")


def test_the_bundled_encoder_needs_all_its_layers():
    with pytest.raises(ModelError, match=r"needs all 4; set encoder\.layers=null"):
        tagger_on("mini", "encoder.layers=2", "encoder.frozen_layers=0")


@pytest.mark.parametrize(
    ("family", "attention"),
    [*((family, "null") for family in FAMILIES), *((family, "causal") for family in tiny.DECODERS)],
)
def test_transformers_reads_a_saved_network_as_it_was(encoders, family, attention, tmp_path):
    tagger = tagger_on(
        encoders[family],
        f"encoder.attention={attention}",
        "encoder.layers=3",
    )
    save_network(tagger.network, tagger.tokenizer, tmp_path)
    loaded = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path).eval()
    batch = tagger.batch(tagger.examples(tiny.corpus(4)))
    with torch.no_grad():
        logits, same = (
            tag_logits(network, batch.piece_ids, batch.attention)
            for network in (tagger.network, loaded)
        )
    is_text = batch.attention.bool()
    assert torch.equal(logits[is_text], same[is_text])


@pytest.mark.parametrize(
    ("family", "attention", "pooling"),
    [
        ("bert", None, "cls"),
        ("xlm-r", None, "cls"),
        ("t5", None, "mean"),
        ("gemma3", None, "mean"),
        ("embedding-gemma", None, "mean"),
        ("llama", "causal", "last"),
    ],
)
def test_sentence_vectors_come_from_the_pieces_that_the_family_suggests(
    encoders, family, attention, pooling
):
    encoder = load_encoder(encoders[family], attention=attention)
    assert sentence_pooling(encoder.network, encoder.tokenizer.special, None) == pooling
    assert sentence_pooling(encoder.network, encoder.tokenizer.special, "mean") == "mean"


def test_there_is_no_first_piece_to_take_without_a_start_piece(encoders):
    encoder = load_encoder(encoders["qwen3"])
    with pytest.raises(ModelError, match=r"retrieval\.pooling: expected mean, last or null"):
        sentence_pooling(encoder.network, encoder.tokenizer.special, "cls")


def test_dropout_is_added_where_a_family_has_none(encoders):
    tagger = tagger_on(encoders["eurobert"], "encoder.dropout=0.5")
    batch = tagger.batch(tagger.examples(tiny.corpus(3)))
    still = tagger.logits(batch)
    assert torch.equal(still, tagger.logits(batch))
    tagger.network.train()
    assert not torch.equal(tagger.logits(batch), tagger.logits(batch))


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_changes_no_score(encoders, family):
    tagger = tagger_on(encoders[family])
    short, long = tagger.examples([tiny.corpus(1)[0], tiny.corpus(1, longest=60, seed=5)[0]])
    with torch.no_grad():
        alone = tagger.logits(tagger.batch([short]))
        padded = tagger.logits(tagger.batch([short, long]))[: len(alone)]
    assert torch.allclose(alone, padded, atol=1e-5)


def test_a_sentence_of_several_windows_has_one_score_a_word(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.max_length=16", "encoder.overlap=6")
    sentence = tiny.corpus(1, seed=3, longest=80)[0]
    (example,) = tagger.examples([sentence])
    assert len(example.windows) > 1
    assert tagger.logits(tagger.batch([example])).shape == (len(sentence.words), len(TAGS))


def test_the_same_seed_gives_the_same_new_weights(encoders):
    prints = [
        weights_digest(new_tagger_network(encoders["bert"], TAGS.tags, seed)) for seed in (1, 1, 2)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_encoders_can_be_loaded_in_several_threads(encoders):
    tie_weights = transformers.PreTrainedModel.tie_weights
    with ThreadPoolExecutor(8) as threads:
        names = [encoders[family] for family in ("bert", "xlm-r", "t5", "bert") * 4]
        networks = list(threads.map(lambda name: new_tagger_network(name, TAGS.tags, 0), names))
    assert len(networks) == 16
    assert transformers.PreTrainedModel.tie_weights is tie_weights


def test_bfloat16_is_a_setting(encoders):
    sentences = tiny.corpus(3)
    scores = {}
    for precision in ("float32", "bfloat16"):
        tagger = tagger_on(encoders["bert"], f"run.precision={precision}")
        with torch.no_grad():
            scores[precision] = tagger.logits(tagger.batch(tagger.examples(sentences)))
        assert scores[precision].dtype == torch.float32
    difference = (scores["float32"] - scores["bfloat16"]).abs().max()
    assert 0 < difference < 0.1


def test_a_device_that_is_not_there_is_said(encoders):
    with pytest.raises(Exception, match=r"run\.device: expected .*'cuda:7'"):
        tagger_on(encoders["bert"], "run.device=cuda:7")


def broken(encoders, tmp_path: Path, **changes: object) -> Path:
    folder = tmp_path / "broken"
    shutil.copytree(encoders["bert"], folder)
    for name, content in changes.items():
        path = folder / name.replace("__", ".")
        if content is None:
            path.unlink()
        elif callable(content):
            path.write_bytes(content(path.read_bytes()))
        else:
            path.write_text(str(content))
    return folder


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"config__json": None}, "expected config.json in the folder, found none"),
        ({"model__safetensors": None}, "expected model.safetensors in the folder, found none"),
        ({"model__safetensors": lambda raw: raw[: len(raw) // 2]}, "the weights cannot be read"),
        ({"model__safetensors": lambda raw: b"junk"}, "the weights cannot be read"),
        ({"config__json": "{"}, "cannot be opened"),
        ({"config__json": '{"model_type": "martian"}'}, "cannot be opened"),
        (
            {"tokenizer__json": None, "tokenizer_config__json": None},
            "expected tokenizer.json in the folder",
        ),
    ],
)
def test_a_broken_folder_is_one_clear_line(encoders, tmp_path, changes, says):
    folder = broken(encoders, tmp_path, **changes)
    with pytest.raises(ModelError) as error:
        load_encoder(str(folder))
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)


def test_pickled_weights_are_refused(encoders, tmp_path):
    folder = broken(encoders, tmp_path, model__safetensors=None, pytorch_model__bin="x")
    with pytest.raises(ModelError, match=r"safetensors, found only pytorch_model\.bin, a pickle"):
        load_encoder(str(folder))


def test_a_vocabulary_larger_than_the_embeddings_is_refused(encoders, tmp_path):
    def more_pieces(raw: bytes) -> bytes:
        plan = json.loads(raw)
        plan["model"]["vocab"] |= {f"extra{i}": len(plan["model"]["vocab"]) + i for i in range(5)}
        return json.dumps(plan).encode()

    folder = broken(encoders, tmp_path, tokenizer__json=more_pieces)
    with pytest.raises(ModelError, match="vocabulary of at most"):
        load_encoder(str(folder))


def test_remote_code_never_runs(encoders, tmp_path):
    def remote(raw: bytes) -> bytes:
        plan = json.loads(raw) | {
            "model_type": "own",
            "auto_map": {"AutoConfig": "own.C", "AutoModel": "own.M"},
        }
        return json.dumps(plan).encode()

    folder = broken(encoders, tmp_path, config__json=remote, own__py="raise SystemExit(99)")
    with pytest.raises(ModelError):
        load_encoder(str(folder))


@pytest.mark.parametrize("name", ["nobody/nothing", "./no/such/folder", "/no/such/folder"])
def test_a_name_that_leads_nowhere_is_one_line(name):
    with pytest.raises(ModelError) as error:
        load_encoder(name)
    assert "\n" not in str(error.value)


def test_load_encoder_gives_states_as_transformers_does(encoders):
    encoder = load_encoder(encoders["bert"])
    assert encoder_of(encoder.network) is encoder.network
    assert encoder.tokenizer.fast.is_fast


@pytest.mark.slow
def test_a_tokenizer_without_fast_form_is_one_clear_line(encoders, monkeypatch):
    slow = transformers.CanineTokenizer()
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: slow)
    with pytest.raises(ModelError, match=r"expected a fast tokenizer .*, found only CanineTok"):
        load_tokenizer(encoders["bert"])


def test_a_tokenizer_without_fast_form_that_needs_a_package_is_one_clear_line(encoders, tmp_path):
    folder = shutil.copytree(encoders["xlm"], tmp_path / "xlm")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMTokenizer"}')
    (folder / "vocab.json").write_text('{"<s>": 0, "</s>": 1, "<pad>": 2, "<unk>": 3}')
    (folder / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(ModelError, match="expected a fast tokenizer") as error:
        load_tokenizer(str(folder))
    assert "\n" not in str(error.value)


def test_the_page_on_encoders_lists_every_tested_family_with_its_parity():
    page = encoder_parity.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (yes|no) \| ([\d.e-]*) \|$", page, re.MULTILINE)
    assert {*encoder_parity.EXAMPLES} == {*FAMILIES, "mini"}
    assert [(name, examples) for name, examples, _, _ in rows] == [
        *encoder_parity.EXAMPLES.values()
    ]
    assert all(engine == "yes" and float(number) < 1e-5 for _, _, engine, number in rows)


def test_the_parity_of_the_page_is_measured(encoders):
    assert encoder_parity.max_difference(encoders["gemma3"], tiny, learning_rate=1e-3) < 1e-5
    assert encoder_parity.max_difference(encoders["bert"], tiny, learning_rate=1e-3) < 1e-5
