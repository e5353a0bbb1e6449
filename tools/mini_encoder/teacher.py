"""The teacher as a torch module: the Multilingual Universal Sentence Encoder (CNN, version 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from metacross.model.devices import seeded
from metacross.model.mini_encoder import ngram_windows
from tools.mini_encoder.teacher_graph import TeacherGraph

N_CONVOLUTIONS = 2
_EPSILON = 1e-12


@dataclass(frozen=True)
class TeacherShape:
    """Sizes of the layers; the defaults are those of the published weights."""

    pieces: int = 128_010
    embedding: int = 512
    branch: int = 256
    state: int = 512
    inner: int = 320
    orders: tuple[int, ...] = (2, 3, 5)

    @property
    def stream(self) -> int:
        """Width of the embedding and all branches together."""
        return self.embedding + self.branch * len(self.orders)


class TeacherBranch(nn.Module):
    """The layers of one n-gram order: projection, LayerNorm, two residual convolutions."""

    def __init__(self, shape: TeacherShape, order: int) -> None:
        super().__init__()
        self.order = order
        self.project = nn.Linear(shape.embedding, shape.branch)
        self.norm = nn.LayerNorm(shape.branch, eps=_EPSILON)
        self.convolutions = nn.ModuleList(
            nn.Linear(order * shape.branch, shape.branch) for _ in range(N_CONVOLUTIONS)
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """*Shape:* embedded (rows, pieces, width), mask (rows, pieces, 1), 0 at padding,
        result (rows, pieces, branch).
        """
        hidden: Tensor = self.norm(self.project(embedded)) * mask
        for convolve in self.convolutions:
            hidden = hidden + torch.relu(convolve(ngram_windows(hidden, self.order))) * mask
        return hidden


class Teacher(nn.Module):
    """Computes piece states and sentence vectors from the teacher's piece ids."""

    def __init__(self, shape: TeacherShape) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = nn.Embedding(shape.pieces, shape.embedding)
        self.branches = nn.ModuleList(TeacherBranch(shape, order) for order in shape.orders)
        self.norm = nn.LayerNorm(shape.stream, eps=_EPSILON)
        self.dense = nn.Linear(shape.stream, shape.state)
        self.hidden_0 = nn.Linear(shape.state, shape.inner, bias=False)
        self.skip_1 = nn.Linear(shape.state, shape.inner, bias=False)
        self.hidden_1 = nn.Linear(shape.inner, shape.inner, bias=False)
        self.hidden_2 = nn.Linear(shape.inner, shape.state, bias=False)
        self.skip_3 = nn.Linear(shape.inner, shape.state, bias=False)
        self.hidden_3 = nn.Linear(shape.state, shape.state, bias=False)

    def forward(self, piece_ids: Tensor, attention: Tensor) -> tuple[Tensor, Tensor]:
        """States of the pieces and vectors of the sentences.

        *Shape:* piece_ids and attention (rows, pieces), results (rows, pieces, state) and (rows,
        state).
        """
        mask = attention.unsqueeze(-1).float()  # (rows, pieces, 1)
        embedded = self.embeddings(piece_ids) * mask  # (rows, pieces, embedding)
        parts = [embedded, *(branch(embedded, mask) for branch in self.branches)]
        states = self.dense(self.norm(torch.cat(parts, dim=-1))) * mask
        return states, self._sentence_vectors(states, mask)

    def _sentence_vectors(self, states: Tensor, mask: Tensor) -> Tensor:
        """The sum divided by the square root of the length, then a residual network."""
        pooled = states.sum(1) / mask.sum(1).clamp_min(1.0).sqrt()  # (rows, state)
        first = torch.relu(self.hidden_0(pooled))
        second = torch.relu(self.hidden_1(first) + self.skip_1(pooled))
        third = torch.relu(self.hidden_2(second))
        return torch.tanh(self.hidden_3(third) + self.skip_3(second))


@torch.no_grad()
def load_teacher(graph: TeacherGraph) -> Teacher:
    """The teacher with the weights of the graph, frozen."""
    table = torch.from_numpy(graph.embedding_table())  # (pieces, embedding)
    shape = TeacherShape(
        pieces=table.shape[0],
        embedding=table.shape[1],
        branch=len(graph.vector("CNN_layers/ngram_order_2/LayerNorm/gamma")),
        state=len(graph.vector("CNN_layers/dense/bias")),
        inner=graph.matrix("DNN/ResidualHidden_0/dense/kernel").shape[1],
    )
    with seeded(0):  # every weight is overwritten below
        teacher = Teacher(shape)
    teacher.embeddings.weight.copy_(table)
    for branch in teacher.branches:
        _load_branch(cast(TeacherBranch, branch), graph)
    _load_norm(teacher.norm, graph, "CNN_layers/LayerNorm")
    _load_linear(teacher.dense, graph, "CNN_layers/dense/kernel", "CNN_layers/dense/bias")
    hidden = (teacher.hidden_0, teacher.hidden_1, teacher.hidden_2, teacher.hidden_3)
    for number, linear in enumerate(hidden):
        _load_linear(linear, graph, f"DNN/ResidualHidden_{number}/dense/kernel", None)
    for number, linear in ((1, teacher.skip_1), (3, teacher.skip_3)):
        _load_linear(
            linear, graph, f"DNN/ResidualHidden_{number}/AdjustDepth/projection/kernel", None
        )
    return teacher.requires_grad_(False).eval()


def _load_branch(branch: TeacherBranch, graph: TeacherGraph) -> None:
    prefix = f"CNN_layers/ngram_order_{branch.order}"
    projection = f"{prefix}/input_size_projection/dense"
    _load_linear(branch.project, graph, f"{projection}/kernel", f"{projection}/bias")
    _load_norm(branch.norm, graph, f"{prefix}/LayerNorm")
    for convolve, suffix in zip(branch.convolutions, ("", "_1"), strict=True):
        name = f"{prefix}/Ngram-{branch.order}-Conv{suffix}"
        _load_linear(cast(nn.Linear, convolve), graph, f"{name}/weights", f"{name}/bias")


def _load_linear(linear: nn.Linear, graph: TeacherGraph, kernel: str, bias: str | None) -> None:
    linear.weight.copy_(torch.from_numpy(graph.matrix(kernel).T.copy()))
    if bias is not None:
        linear.bias.copy_(torch.from_numpy(graph.vector(bias)))


def _load_norm(norm: nn.LayerNorm, graph: TeacherGraph, prefix: str) -> None:
    norm.weight.copy_(torch.from_numpy(graph.vector(f"{prefix}/gamma")))
    norm.bias.copy_(torch.from_numpy(graph.vector(f"{prefix}/beta")))
