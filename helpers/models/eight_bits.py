"""Weights as 8-bit integers with one scale per row."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def to_int8(weight):
    """Round a matrix to whole numbers from -127 to 127 times one scale per row.

    Parameters
    ----------
    weight : Tensor of shape (rows, columns)

    Returns
    -------
    whole : int8 Tensor of shape (rows, columns)
    scale : Tensor of shape (rows, 1)
        In the weight's type; ``whole * scale`` is at most half a scale away from the weight, but
        for that type's rounding.

    Source
    ------
    Dettmers et al. (2022), "LLM.int8()", arXiv:2208.07339, section 2.1.
    """
    scale = weight.abs().amax(-1, keepdim=True) / 127
    scale = scale.where(scale > 0, 1.0)  # a row of zeros stays zero
    # In 16 bits the largest quotient can be 127.5, which would round to 128 and turn negative.
    precise = torch.promote_types(weight.dtype, torch.float32)
    whole = (weight.to(precise) / scale.to(precise)).round().clamp(-127, 127)
    return whole.to(torch.int8), scale


class Int8Layer(nn.Module):
    """A layer whose matrix is stored in 8 bits and made float again wherever it is used."""

    def __init__(self, layer: nn.Linear | nn.Embedding):
        super().__init__()
        whole, scale = to_int8(layer.weight.detach())
        self.register_buffer("whole", whole)
        self.register_buffer("scale", scale)

    @property
    def weight(self):
        """The matrix as floats; an output layer can share an embedding's."""
        return self.whole * self.scale


class Int8Linear(Int8Layer):
    """A linear layer in 8 bits; its bias is stored as it is."""

    def __init__(self, linear: nn.Linear):
        super().__init__(linear)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, x):
        """Map (..., columns) to (..., rows)."""
        return F.linear(x, self.weight, self.bias)


class Int8Embedding(Int8Layer):
    """An embedding in 8 bits; only the rows looked up become floats."""

    def forward(self, ids):
        """Map integers (...) to vectors (..., D)."""
        return self.whole[ids] * self.scale[ids]


def in_int8(model: nn.Module):
    """Copy a model with every linear layer and embedding in 8 bits.

    Returns
    -------
    model : nn.Module
        For inference only; a matrix that two layers share is still stored once.
    """
    kinds, made = {nn.Linear: Int8Linear, nn.Embedding: Int8Embedding}, {}
    model = copy.deepcopy(model).eval()
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            kind = next((kind for kind in kinds if isinstance(child, kind)), None)
            if kind:
                smaller = kinds[kind](child)
                first = made.setdefault(child.weight, smaller)
                smaller.whole, smaller.scale = first.whole, first.scale
                setattr(parent, name, smaller)
    return model


def n_bytes(model: nn.Module) -> int:
    """Count the bytes of a model's weights, those that are shared once."""
    tensors = {t.data_ptr(): t for t in [*model.parameters(), *model.buffers()]}
    return sum(t.numel() * t.itemsize for t in tensors.values())
