"""LoRA: train a small correction to each weight matrix and leave the matrix itself alone."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# Every linear layer of an encoder layer of ours.
ENCODER_LINEARS = (
    "query_proj", "key_proj", "value_proj", "out_proj", "linear_1", "linear_2",
)  # fmt: skip


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trainable product of two thin matrices: W x + (α/r) B A x.

    B starts at zero, so at first the layer computes what it did before.

    Parameters
    ----------
    base : nn.Linear
        Frozen from now on.
    rank : int
        Rows of A and columns of B, r in the paper.
    alpha : float
        The correction is multiplied by alpha / rank, so that another rank needs no other learning
        rate.

    Raises
    ------
    ValueError
        If `rank` is below 1 or above the smaller side of the matrix.

    Source
    ------
    Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models", arXiv:2106.09685,
    section 4.1, eq. (3).
    """

    def __init__(self, base, rank, alpha):
        super().__init__()
        if not 1 <= rank <= min(base.in_features, base.out_features):
            raise ValueError(
                f"the rank lies between 1 and the smaller side of the matrix, here "
                f"{min(base.in_features, base.out_features)}; got {rank}."
            )
        self.base = base.requires_grad_(False)
        like = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.down = nn.Parameter(torch.empty(rank, base.in_features, **like))  # A
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, **like))  # B
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))  # as nn.Linear starts
        self.scale = alpha / rank

    def forward(self, x):
        """Map (..., d_in) to (..., d_out)."""
        return self.base(x) + F.linear(F.linear(x, self.down), self.up) * self.scale

    @property
    def weight(self):
        """The matrix that it computes with, (d_out, d_in), added up whenever it's asked for."""
        return self.base.weight + self.scale * self.up @ self.down

    @property
    def bias(self):
        """The bias of the layer below, (d_out,) or None."""
        return self.base.bias

    @torch.no_grad()
    def merged(self):
        """Build the plain nn.Linear that computes the same: its matrix is W + (α/r) B A."""
        sizes = self.base.in_features, self.base.out_features
        linear = nn.Linear(*sizes, bias=self.base.bias is not None, device="meta")  # only shapes
        linear.weight = nn.Parameter(self.weight)
        if self.base.bias is not None:
            linear.bias = nn.Parameter(self.base.bias.clone())
        return linear


def add_lora(model, rank=8, alpha=16.0, names=ENCODER_LINEARS):
    """Freeze a model and put a LoRA layer in the place of each chosen linear layer.

    Parameters
    ----------
    model : nn.Module
        Changed in place. Only the new matrices are trainable afterwards.
    rank : int, default=8
    alpha : float, default=16.0
    names : tuple of str, default=all linear layers of an encoder layer
        Last parts of the names of the layers that get one, such as ``"query_proj"``.

    Returns
    -------
    model : nn.Module
        The same one.

    Raises
    ------
    ValueError
        If no linear layer has such a name.
    """
    chosen = [
        (parent, name, layer)
        for parent in model.modules()
        for name, layer in parent.named_children()
        if isinstance(layer, nn.Linear) and name in names
    ]
    if not chosen:
        raise ValueError(f"the model has no linear layer named {' or '.join(names)}.")
    model.requires_grad_(False)
    for parent, name, layer in chosen:
        setattr(parent, name, LoRALinear(layer, rank, alpha))
    return model


def merge_lora(model):
    """Replace each LoRA layer of a `model`, in place, by the plain layer that computes the same."""
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, LoRALinear):
                setattr(parent, name, layer.merged())
    return model


def trainable_state(model):
    """Collect what training a `model` changes: a dict of str to Tensor, adapters and new head."""
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
