"""Initializes the student with the teacher's weights, reduced to its smaller size."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from metacross.model.devices import seeded
from metacross.model.mini_encoder import (
    BranchConvolution,
    BranchFusion,
    BranchProjection,
    MiniConfig,
    MiniModel,
    SentencePooling,
)
from tools.mini_encoder.teacher import N_CONVOLUTIONS, Teacher, TeacherBranch
from tools.mini_encoder.vocabulary import SPECIALS, TEACHER_SPECIALS, Vocabulary


def empty_student(teacher: Teacher, vocabulary: Vocabulary, embedding_size: int) -> MiniModel:
    """A student of the right shape with random weights."""
    shape = teacher.shape
    config = MiniConfig(
        vocab_size=len(vocabulary.teacher_ids),
        embedding_size=embedding_size,
        branch_size=shape.branch,
        ngram_orders=shape.orders,
        num_convolutions=N_CONVOLUTIONS,
        state_size=shape.state,
        sentence_inner_size=shape.inner,
    )
    with seeded(0):
        return MiniModel(config)


@torch.no_grad()
def initial_student(teacher: Teacher, vocabulary: Vocabulary, embedding_size: int) -> MiniModel:
    """A student that computes nearly the same as the teacher, with fewer pieces and columns."""
    table = teacher.embeddings.weight[vocabulary.teacher_ids].clone()  # (pieces, columns)
    for special in set(SPECIALS) - set(TEACHER_SPECIALS):
        table[SPECIALS.index(special)] = 0.0
    weights = (vocabulary.frequencies + 1.0).sqrt()  # (pieces,)
    basis = balanced_basis(principal_directions(table, weights, embedding_size))
    student = empty_student(teacher, vocabulary, embedding_size)
    student.embeddings.pack(table @ basis)
    projection, *convolutions, fusion = student.encoder.layer
    for number, branch in enumerate(teacher.branches):
        branch = cast(TeacherBranch, branch)
        _copy_projection(cast(BranchProjection, projection), number, branch, basis)
        for layer, convolve in zip(convolutions, branch.convolutions, strict=True):
            convolution = cast(BranchConvolution, layer).convolutions[number]
            convolution.load_state_dict(convolve.state_dict())
    _copy_fusion(cast(BranchFusion, fusion), teacher, basis)
    _copy_pooling(cast(BranchFusion, fusion).pooling, teacher)
    return student


def principal_directions(table: Tensor, weights: Tensor, width: int) -> Tensor:
    """The ``width`` principal directions of a table with weighted rows, as an orthonormal basis.

    *Shape:* table (rows, columns), weights (rows,), result (columns, width).
    """
    moment = (table * weights.unsqueeze(1)).T @ table  # (columns, columns)
    _, vectors = torch.linalg.eigh(moment.double())
    largest_first: Tensor = vectors.flip(1)
    return largest_first[:, :width]


def balanced_basis(basis: Tensor, seed: int = 0) -> Tensor:
    """Another basis of the same subspace, for 4-bit codes and for the LayerNorm over the branches.

    A random rotation gives all columns similar variance, as 4-bit codes need. A reflection then
    maps the direction of the old columns' mean to that of the new columns' mean, so that the
    LayerNorm subtracts the same.

    *Shape:* basis and result (columns, width).
    """
    width = basis.shape[1]
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(width, width, generator=generator, dtype=basis.dtype)
    basis = basis @ torch.linalg.qr(noise).Q  # (columns, width)
    mean_before = nn.functional.normalize(basis.sum(0), dim=0)  # (width,)
    mean_after = torch.full_like(mean_before, width**-0.5)
    mirror = nn.functional.normalize(mean_before - mean_after, dim=0)
    return (basis - 2.0 * torch.outer(basis @ mirror, mirror)).float()


def _copy_projection(
    projection: BranchProjection, number: int, branch: TeacherBranch, basis: Tensor
) -> None:
    linear = cast(nn.Linear, projection.projections[number])
    linear.weight.copy_(branch.project.weight @ basis)
    linear.bias.copy_(branch.project.bias)
    projection.norms[number].load_state_dict(branch.norm.state_dict())


def _copy_fusion(fusion: BranchFusion, teacher: Teacher, basis: Tensor) -> None:
    """Copy the last layer. The LayerNorm weights of the embedding columns move into the linear
    layer, where they can be rotated with the basis.
    """
    n_columns, width = basis.shape
    gain, shift = teacher.norm.weight, teacher.norm.bias
    scale = math.sqrt(fusion.norm.normalized_shape[0] / gain.numel())
    dense = teacher.dense.weight  # (state, stream)
    embedded = (dense[:, :n_columns] * gain[:n_columns]) @ basis * scale  # (state, width)
    fusion.dense.weight.copy_(torch.cat([embedded, dense[:, n_columns:]], dim=1))
    fusion.dense.bias.copy_(teacher.dense.bias + dense[:, :n_columns] @ shift[:n_columns])
    fusion.norm.weight.copy_(torch.cat([torch.ones(width), gain[n_columns:] * scale]))
    fusion.norm.bias.copy_(torch.cat([torch.zeros(width), shift[n_columns:]]))


def _copy_pooling(pooling: SentencePooling, teacher: Teacher) -> None:
    pooling.first.load_state_dict(teacher.hidden_0.state_dict())
    pooling.second.load_state_dict(teacher.hidden_1.state_dict())
    pooling.second_skip.load_state_dict(teacher.skip_1.state_dict())
    pooling.third.load_state_dict(teacher.hidden_2.state_dict())
    pooling.fourth.load_state_dict(teacher.hidden_3.state_dict())
    pooling.fourth_skip.load_state_dict(teacher.skip_3.state_dict())
