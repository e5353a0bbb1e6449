"""Matrix products without padding."""

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from metacross.model.packing import packed_linear_layers


def a_batch():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 6, 4, generator=generator)
    attention = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]])
    return x, attention


def test_pieces_have_the_same_products_and_padding_has_zeros():
    x, attention = a_batch()
    layer = nn.Linear(4, 5)
    with packed_linear_layers(attention):
        packed = layer(x)
    torch.testing.assert_close(packed, layer(x) * attention[:, :, None])
    assert not packed[1, 2:].any()


def test_gradients_of_inputs_weights_and_biases_are_the_same():
    x, attention = a_batch()
    layer = nn.Linear(4, 5)

    def gradients(*, packed):
        inputs = x.clone().requires_grad_()
        if packed:
            with packed_linear_layers(attention):
                outputs = layer(inputs)
        else:
            outputs = layer(inputs)
        loss = (outputs * attention[:, :, None]).pow(3).sum()
        return torch.autograd.grad(loss, [inputs, layer.weight, layer.bias])

    for packed, plain in zip(gradients(packed=True), gradients(packed=False), strict=True):
        assert plain.any()
        torch.testing.assert_close(packed, plain)


def test_only_the_rows_of_pieces_are_multiplied():
    x, attention = a_batch()
    layer = nn.Linear(4, 5, bias=False)
    n_rows = []

    class CountRows(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is functional.linear:
                n_rows.append(args[0][..., 0].numel())
            return func(*args, **(kwargs or {}))

    with CountRows(), packed_linear_layers(attention):
        layer(x)
    assert n_rows == [11]


def test_a_batch_with_little_padding_is_left_alone():
    x, attention = a_batch()
    attention[:] = 1
    attention[0, 5] = 0
    layer = nn.Linear(4, 5)
    with packed_linear_layers(attention):
        assert torch.equal(layer(x), layer(x.clone()))
        assert layer(x)[0, 5].any()


def test_inputs_of_another_shape_are_left_alone():
    _, attention = a_batch()
    positions = torch.randn(1, 9, 4)
    layer = nn.Linear(4, 5)
    expected = layer(positions)
    with packed_linear_layers(attention):
        assert torch.equal(layer(positions), expected)
