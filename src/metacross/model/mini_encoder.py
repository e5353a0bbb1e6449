"""A small multilingual n-gram convolutional encoder as a Hugging Face model.

The piece embeddings are a frozen table of 4-bit codes. Four layers follow: the first projects the
embeddings into one branch for each n-gram order, two apply a residual convolution to every branch,
the last fuses the branches into token states and pools them into a sentence vector. Every trainable
weight belongs to an ``nn.Linear`` or an ``nn.LayerNorm``; a convolution is a linear layer over
concatenated neighboring positions.

``last_hidden_state`` holds ``[token state; embedding]`` for each piece and, at position 0 (the
``[CLS]`` token), ``[sentence vector; zeros]``.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForTokenClassification,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import BaseModelOutput, TokenClassifierOutput

CODE_CENTER = 7.5
"""A 4-bit code ``c`` represents ``(c - 7.5)`` times the scale of its row."""


class MiniConfig(PretrainedConfig):
    """Shape of the encoder."""

    model_type = "metacross-mini"

    def __init__(
        self,
        vocab_size: int = 78_000,
        embedding_size: int = 448,
        branch_size: int = 256,
        ngram_orders: tuple[int, ...] = (2, 3, 5),
        num_convolutions: int = 2,
        state_size: int = 512,
        sentence_inner_size: int = 320,
        layer_norm_eps: float = 1e-12,
        hidden_dropout_prob: float = 0.0,
        classifier_dropout: float | None = None,
        initializer_range: float = 0.02,
        pad_token_id: int = 0,
        **others: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.branch_size = branch_size
        self.ngram_orders = list(ngram_orders)
        self.num_convolutions = num_convolutions
        self.state_size = state_size
        self.sentence_inner_size = sentence_inner_size
        self.layer_norm_eps = layer_norm_eps
        self.hidden_dropout_prob = hidden_dropout_prob
        self.classifier_dropout = classifier_dropout
        self.initializer_range = initializer_range
        self.pad_token_id = pad_token_id
        super().__init__(**others)

    @property
    def hidden_size(self) -> int:
        """Width of ``last_hidden_state``."""
        return self.state_size + self.embedding_size

    @property
    def num_hidden_layers(self) -> int:
        """Length of ``encoder.layer``."""
        return self.num_convolutions + 2

    @property
    def stream_size(self) -> int:
        """Width of the hidden states between the first and the last layer."""
        return self.embedding_size + self.branch_size * len(self.ngram_orders)


def left_context(order: int) -> int:
    """Number of positions before the current one in a window of this order."""
    return (order - 1) // 2


def ngram_windows(hidden: Tensor, order: int) -> Tensor:
    """Concatenate each position with its neighbors; outside the sequence are zeros.

    Padding must be zero.

    *Shape:* hidden (rows, pieces, width), result (rows, pieces, order * width).
    """
    before = left_context(order)
    padded = nn.functional.pad(hidden, (0, 0, before, order - 1 - before))
    length = hidden.shape[1]
    return torch.cat([padded[:, shift : shift + length] for shift in range(order)], dim=-1)


class PackedEmbeddings(nn.Module):
    """A frozen table of 4-bit codes, two in a byte, converted to floats at lookup."""

    codes: Tensor
    row_scale: Tensor

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        rows, columns = config.vocab_size, config.embedding_size
        self.register_buffer("codes", torch.zeros(rows, columns // 2, dtype=torch.uint8))
        self.register_buffer("row_scale", torch.zeros(rows))

    @torch.no_grad()
    def pack(self, table: Tensor, clip: float = 2.6) -> None:
        """Store ``table`` in 4 bits; the largest value is ``clip`` times a row's root mean square.

        *Shape:* table (vocabulary, embedding).
        """
        row_scale = table.square().mean(1).sqrt() * clip / CODE_CENTER
        steps = table / row_scale.clamp_min(1e-12).unsqueeze(1) + CODE_CENTER
        codes = steps.round().clamp(0, 15).to(torch.uint8)
        self.codes.copy_(codes[:, 0::2] * 16 + codes[:, 1::2])
        self.row_scale.copy_(row_scale)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Embeddings of piece ids, without gradient. *Shape:* (rows, pieces), result (rows, pieces,
        embedding).
        """
        packed = self.codes[input_ids]
        codes = torch.stack((packed >> 4, packed & 15), dim=-1).flatten(-2)
        centered = codes.to(self.row_scale.dtype) - CODE_CENTER
        return centered * self.row_scale[input_ids].unsqueeze(-1)


class BranchProjection(nn.Module):
    """Project the embeddings into one normalized branch for each n-gram order."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.projections = nn.ModuleList(
            nn.Linear(config.embedding_size, config.branch_size) for _ in config.ngram_orders
        )
        self.norms = nn.ModuleList(
            nn.LayerNorm(config.branch_size, eps=config.layer_norm_eps) for _ in config.ngram_orders
        )

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """``[embedding; one branch for each order]``."""
        branches = [
            norm(project(hidden)) * attention_mask
            for project, norm in zip(self.projections, self.norms, strict=True)
        ]
        return torch.cat([hidden, *branches], dim=-1)


class BranchConvolution(nn.Module):
    """Apply a residual n-gram convolution to every branch; the embedding is unchanged."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.orders = tuple(config.ngram_orders)
        self.sizes = [config.embedding_size, *(config.branch_size for _ in self.orders)]
        self.convolutions = nn.ModuleList(
            nn.Linear(order * config.branch_size, config.branch_size) for order in self.orders
        )
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """The hidden states with every branch updated."""
        embedded, *branches = hidden.split(self.sizes, dim=-1)
        updated = []
        for branch, convolve, order in zip(branches, self.convolutions, self.orders, strict=True):
            change = self.dropout(torch.relu(convolve(ngram_windows(branch, order))))
            updated.append(branch + change * attention_mask)
        return torch.cat([embedded, *updated], dim=-1)


class SentencePooling(nn.Module):
    """Pool token states into a sentence vector: a scaled sum, then two residual blocks."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        outer, inner = config.state_size, config.sentence_inner_size
        self.first = nn.Linear(outer, inner, bias=False)
        self.second = nn.Linear(inner, inner, bias=False)
        self.second_skip = nn.Linear(outer, inner, bias=False)
        self.third = nn.Linear(inner, outer, bias=False)
        self.fourth = nn.Linear(outer, outer, bias=False)
        self.fourth_skip = nn.Linear(inner, outer, bias=False)

    def forward(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """Sentence vectors of summed states; a sum is divided by the square root of the length.

        *Shape:* sums (rows, state), lengths (rows, 1), result (rows, state).
        """
        pooled = sums / lengths.clamp_min(1.0).sqrt()
        middle = torch.relu(self.second(torch.relu(self.first(pooled))) + self.second_skip(pooled))
        top = self.fourth(torch.relu(self.third(middle))) + self.fourth_skip(middle)
        return torch.tanh(top)


class BranchFusion(nn.Module):
    """Fuse the branches into token states and put the sentence vector at position 0."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.embedding_size = config.embedding_size
        self.norm = nn.LayerNorm(config.stream_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.dense = nn.Linear(config.stream_size, config.state_size)
        self.pooling = SentencePooling(config)

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """``[token state; embedding]``, and ``[sentence vector; zeros]`` at position 0."""
        states = self.dense(self.dropout(self.norm(hidden))) * attention_mask
        sentence = self.pooling(states.sum(1), attention_mask.sum(1)).unsqueeze(1)
        embedded = hidden[..., : self.embedding_size]
        first = torch.cat([sentence, torch.zeros_like(embedded[:, :1])], dim=-1)
        others = torch.cat([states[:, 1:], embedded[:, 1:]], dim=-1)
        return torch.cat([first, others], dim=1)

    def first_states(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """What :meth:`forward` gives at position 0, for less: pieces are summed before the linear
        layer, not after it. *Shape:* result (rows, state + embedding).
        """
        lengths = attention_mask.sum(1)  # (rows, 1)
        summed = (self.norm(hidden) * attention_mask).sum(1)  # (rows, stream)
        sums = nn.functional.linear(summed, self.dense.weight) + lengths * self.dense.bias
        return nn.functional.pad(self.pooling(sums, lengths), (0, self.embedding_size))


class MiniEncoder(nn.Module):
    """The layers in order; ``layer[0]`` is the lowest."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        convolutions = [BranchConvolution(config) for _ in range(config.num_convolutions)]
        self.layer = nn.ModuleList([BranchProjection(config), *convolutions, BranchFusion(config)])

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """Run all layers; ``attention_mask`` is 0 at padding.

        *Shape:* hidden (rows, pieces, embedding), attention_mask (rows, pieces, 1), result (rows,
        pieces, state + embedding).
        """
        for layer in self.layer:
            hidden = layer(hidden, attention_mask)
        return hidden


class MiniPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialization shared by the models."""

    config_class = MiniConfig
    base_model_prefix = "encoder_model"

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


class MiniModel(MiniPreTrainedModel):
    """The encoder without a classifier."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__(config)
        self.embeddings = PackedEmbeddings(config)
        self.encoder = MiniEncoder(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The frozen embedding table."""
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the frozen embedding table."""
        self.embeddings = cast(PackedEmbeddings, value)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **_: Any,
    ) -> BaseModelOutput:
        """Encode piece ids or, where given, embeddings; other arguments are ignored."""
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("expected input_ids or inputs_embeds, found neither")
            inputs_embeds = self.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = torch.ones(inputs_embeds.shape[:2], device=inputs_embeds.device)
        mask = attention_mask.to(inputs_embeds.dtype).unsqueeze(-1)
        return BaseModelOutput(last_hidden_state=self.encoder(inputs_embeds * mask, mask))

    def first_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The states at position 0, which are the sentence vectors, without those of the pieces.

        *Shape:* both (rows, pieces), result (rows, state + embedding).
        """
        embedded = self.embeddings(input_ids)
        mask = attention_mask.to(embedded.dtype).unsqueeze(-1)
        hidden = embedded * mask
        *lower, fusion = self.encoder.layer
        for layer in lower:
            hidden = layer(hidden, mask)
        return cast(BranchFusion, fusion).first_states(hidden, mask)


class MiniForTokenClassification(MiniPreTrainedModel):
    """The encoder with dropout and a linear classifier over every position."""

    def __init__(self, config: MiniConfig) -> None:
        super().__init__(config)
        rate = config.classifier_dropout
        labels = cast(int, config.num_labels)
        self.num_labels = labels
        self.encoder_model = MiniModel(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob if rate is None else rate)
        self.classifier = nn.Linear(config.hidden_size, labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> TokenClassifierOutput:
        """Logits of every position, and the mean cross-entropy if labels are passed."""
        output = self.encoder_model(input_ids, attention_mask, inputs_embeds)
        logits = self.classifier(self.dropout(output.last_hidden_state))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return TokenClassifierOutput(loss=cast(torch.FloatTensor | None, loss), logits=logits)


AutoConfig.register(MiniConfig.model_type, MiniConfig)
AutoModel.register(MiniConfig, MiniModel)
AutoModelForTokenClassification.register(MiniConfig, MiniForTokenClassification)
