"""The student before training: its vocabulary, its tokenizer, its weights and its folder."""

import pytest
import torch

import tiny_teacher
from metacross.errors import ModelError
from metacross.model.encoder import load_encoder
from tools.mini_encoder.distillation import distill_encoder
from tools.mini_encoder.encoder_folder import save_encoder
from tools.mini_encoder.settings import distillation_settings
from tools.mini_encoder.student_initialization import (
    balanced_basis,
    initial_student,
    principal_directions,
)
from tools.mini_encoder.teacher import load_teacher
from tools.mini_encoder.vocabulary import SPECIALS, select_vocabulary


def kept_texts(vocabulary) -> set[str]:
    return {vocabulary.pieces.texts[piece_id] for piece_id in vocabulary.kept_ids}


def test_pieces_of_the_text_single_characters_and_frequent_latin_pieces_are_kept(parts):
    kept = kept_texts(parts.vocabulary)
    assert {"▁rome", "北", "z", "▁Unseen"} <= kept
    assert tiny_teacher.CLOSED_PIECE not in kept  # occurs only in text of a closed source
    assert not kept & {"<unk>", "<s>", "<a>"}


def test_without_frequent_pieces_only_the_text_and_single_characters_are_kept(parts):
    kept = kept_texts(select_vocabulary(parts.graph.sentencepiece, ["ana"], frequent_pieces=0))
    assert "▁ana" in kept
    assert not {"▁rome", "▁Unseen"} & kept


def test_every_piece_of_the_student_is_mapped_to_the_same_piece_of_the_teacher(parts):
    teacher_ids = parts.vocabulary.teacher_ids.tolist()
    texts = parts.vocabulary.pieces.texts
    assert teacher_ids[: len(SPECIALS)] == [0, 0, 1, 2, 0]
    assert len(teacher_ids) > len(SPECIALS)
    for piece_id, teacher_id in list(enumerate(teacher_ids))[len(SPECIALS) :]:
        assert parts.tokenizer.id_to_token(piece_id) == texts[teacher_id]


def test_a_chinese_character_passed_as_a_word_has_no_marker(parts):
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
def test_words_passed_one_by_one_have_the_pieces_of_running_text(parts, words, text):
    one_by_one = parts.tokenizer.encode(words, is_pretokenized=True)
    assert one_by_one.tokens == parts.tokenizer.encode(text).tokens
    assert one_by_one.tokens[1] == f"▁{words[0]}"


def test_a_saved_encoder_loads_with_the_same_pieces_and_states(parts, tmp_path):
    student = initial_student(parts.teacher, parts.vocabulary, 16).eval()
    save_encoder(student, parts.tokenizer, tmp_path)
    loaded = load_encoder(str(tmp_path))
    text = "ana saw 北京 , bob."
    piece_ids = parts.tokenizer.encode(text).ids
    assert loaded.tokenizer.fast(text)["input_ids"] == piece_ids
    assert loaded.tokenizer.special.mask == SPECIALS.index("[MASK]")
    with torch.no_grad():
        states = student(torch.tensor([piece_ids])).last_hidden_state
        loaded_states = loaded.network(torch.tensor([piece_ids])).last_hidden_state
    assert loaded_states.dtype == torch.float32
    assert torch.allclose(states, loaded_states, atol=1e-2)  # saved in half precision


def test_a_saved_encoder_is_half_precision_and_has_no_pickles(parts, tmp_path):
    from safetensors.torch import load_file

    save_encoder(initial_student(parts.teacher, parts.vocabulary, 16), parts.tokenizer, tmp_path)
    dtypes = {weight.dtype for weight in load_file(tmp_path / "model.safetensors").values()}
    assert dtypes == {torch.float16, torch.uint8}
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".safetensors"}


def test_at_full_width_the_student_differs_from_the_teacher_only_by_the_4_bit_codes(parts):
    vocabulary, width = parts.vocabulary, tiny_teacher.WIDTH
    student = initial_student(parts.teacher, vocabulary, width).eval()
    table = parts.teacher.embeddings.weight[vocabulary.teacher_ids].clone()
    for special in ("[PAD]", "[MASK]"):
        table[SPECIALS.index(special)] = 0.0
    weights = (vocabulary.frequencies + 1.0).sqrt()
    basis = balanced_basis(principal_directions(table, weights, width))
    assert torch.allclose(basis.T @ basis, torch.eye(width), atol=1e-5)
    rounded_table = student.embeddings(torch.arange(len(table))) @ basis.T
    rounded_teacher = load_teacher(parts.graph)
    rounded_teacher.embeddings.weight[vocabulary.teacher_ids[1:4]] = rounded_table[1:4]
    kept_ids = torch.tensor(vocabulary.kept_ids)
    rounded_teacher.embeddings.weight[kept_ids] = rounded_table[len(SPECIALS) :]
    piece_ids = torch.tensor([parts.tokenizer.encode("ana saw the old rome .").ids])
    attention = torch.ones_like(piece_ids)
    states, vectors = rounded_teacher(vocabulary.teacher_ids[piece_ids], attention)
    with torch.no_grad():
        student_states = student(piece_ids, attention_mask=attention).last_hidden_state
    assert torch.allclose(student_states[:, 1:, : tiny_teacher.STATE], states[:, 1:], atol=1e-4)
    assert torch.allclose(student_states[:, 0, : tiny_teacher.STATE], vectors, atol=1e-4)


def test_more_columns_than_the_teacher_has_are_refused(parts, tmp_path):
    settings = distillation_settings([*tiny_teacher.SMALL, "student.embedding_size=64"])
    with pytest.raises(ModelError, match="at most the teacher's 16 columns, found 64"):
        distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", settings)
