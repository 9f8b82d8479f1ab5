"""Positional encodings: sinusoids, a learned table, rotations."""

import torch
from torch import nn


def sinusoidal_positions(max_len, d_model):
    """Compute the sinusoidal positional encoding.

    Every column is a wave along the positions, fast on the left, slow on the right.

    Parameters
    ----------
    max_len : int
        Number of positions.
    d_model : int
        Width of the encoding; even, since each frequency gives a sine and a cosine.

    Returns
    -------
    table : Tensor of shape (max_len, d_model)
        Column 2i holds sin(pos / 10000^(2i/d_model)), column 2i+1 the cosine of the same angle.

    Raises
    ------
    ValueError
        If `d_model` is odd or not positive.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.5.
    """
    if d_model <= 0 or d_model % 2:
        raise ValueError(
            f"sinusoidal_positions expects an even, positive width (a sine and a cosine for each "
            f"frequency); got d_model={d_model}."
        )
    position = torch.arange(max_len, dtype=torch.float64)[:, None]
    # Float64 here, because a float32 angle at position 5000 is off in the fourth digit.
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).to(torch.get_default_dtype())


class LearnedPositions(nn.Module):
    """Learn one vector per position, as BERT, GPT-2 and ViT do.

    Parameters
    ----------
    max_len : int
        Number of positions; longer inputs are refused.
    d_model : int

    Source
    ------
    Devlin et al. (2019), "BERT", section 3; Gehring et al. (2017), "Convolutional Sequence to
    Sequence Learning", section 3.1.
    """

    def __init__(self, max_len, d_model):
        super().__init__()
        # 0.02 is the standard deviation that BERT starts from.
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.02)

    def forward(self, length, start=0):
        """Return the vectors of positions start … start+length-1, shape (length, d_model)."""
        if start + length > len(self.table):
            raise ValueError(
                f"LearnedPositions holds {len(self.table)} positions; position "
                f"{start + length - 1} was asked for. Shorten the input or build with a larger "
                f"max_len."
            )
        return self.table[start : start + length]


def rotate_positions(x, start=0, base=10000.0):
    """Rotate each pair of features by an angle that grows with the position.

    After this, the dot product of a query and a key depends on their positions only through the
    difference of the two.

    Parameters
    ----------
    x : Tensor of shape (..., T, K)
        Queries or keys of one head; K is even. Features 2i and 2i+1 make a pair.
    start : int, default=0
        Position of the first row.
    base : float, default=10000.0
        Pair i turns by position / base^(2i/K) radians.

    Returns
    -------
    rotated : Tensor of shape (..., T, K)

    Raises
    ------
    ValueError
        If the width is odd.

    Source
    ------
    Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section
    3.4.2, eq. (34).
    """
    length, width = x.shape[-2:]
    if width % 2:
        raise ValueError(f"rotate_positions pairs features and needs an even width; got {width}.")
    frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=x.device) / width)
    angle = torch.arange(start, start + length, device=x.device)[:, None] * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
