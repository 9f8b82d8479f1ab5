"""Two parts that today's models have in place of the paper's: RMSNorm and SwiGLU.

Rotary positions are in `helpers.transformer.positions`, grouped heads and everything else in
`helpers.models.gpt`.
D model width, F feed-forward width.
"""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer.one_row import products


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square; a LayerNorm without the mean and the bias.

    The numbers are those of ``nn.RMSNorm``.

    Parameters
    ----------
    d_model : int
    eps : float, default=1e-5
        Added to the mean square inside the root.

    Source
    ------
    Zhang and Sennrich (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467, eq. (4).
    """

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        mean_square = x.square().mean(-1, keepdim=True)  # (..., D) -> (..., 1)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


class SwiGLU(nn.Module):
    """A feed-forward network with a gate: the hidden layer is multiplied by a second one.

    Three matrices, so at 2/3 of the width it has as many parameters as the paper's two.

    Parameters
    ----------
    d_model, d_ff : int
        Width of the input and output, and of the hidden layer.

    Source
    ------
    Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202, eq. (6).
    """

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)  # W in the paper
        self.linear_1 = nn.Linear(d_model, d_ff, bias=False)  # V
        self.linear_2 = nn.Linear(d_ff, d_model, bias=False)  # W_2

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        gate, hidden = products((self.gate, self.linear_1), x)  # (..., D) -> (..., F) each
        return self.linear_2(F.silu(gate) * hidden)
