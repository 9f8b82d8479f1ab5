"""The layers that a Transformer is stacked from, as in Figure 1 of the paper.

Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762. Section numbers below are the
paper's. B batch, T target length, S source length, D model width, H heads, K head width.
"""

from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer import fast
from helpers.transformer.attention import MultiHeadAttention


class Dropout(nn.Module):
    """Set a share p of the activations to zero while training, and divide the rest by 1 - p.

    Like ``nn.Dropout``, but several times faster on a CPU, because `fast.dropout` draws fewer
    random numbers there and rounds p.

    Parameters
    ----------
    p : float
        Share to set to zero.

    Raises
    ------
    ValueError
        If `p` is not a share from 0 up to but not including 1.

    Source
    ------
    Section 5.4.
    """

    def __init__(self, p):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout is a share from 0 up to but not including 1; got {p}.")
        self.p = p

    def forward(self, x):
        """Map (...) to (...); in evaluation mode, `x` itself."""
        return fast.dropout(x, self.p) if self.training else x

    def extra_repr(self):
        """Show the share in ``print(model)``."""
        return f"p={self.p}"


ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh")}


class FeedForward(nn.Module):
    """Linear, ReLU, linear, at every position separately and identically (section 3.3, eq. (2)).

    Parameters
    ----------
    d_model, d_ff : int
        Width of the input and output, and of the hidden layer.
    activation : {"relu", "gelu", "gelu_tanh"}, default="relu"
        The last one is GPT-2's approximation of the GELU (Hendrycks and Gimpel 2016, section 2).
    """

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]
        # The paper gives no initialisation; Xavier is what nn.Transformer uses.
        for linear in (self.linear_1, self.linear_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        return self.linear_2(self.activation(self.linear_1(x)))


class Residual(nn.Module):
    """Add & Norm: a sublayer with a residual connection and a LayerNorm around it (section 3.1).

    Parameters
    ----------
    d_model : int
    dropout : float
        Share of the sublayer's output set to zero while training.
    norm_first : bool
        False, as in the paper (post-norm): LayerNorm(x + Sublayer(x)).
        True (pre-norm): x + Sublayer(LayerNorm(x)).
    norm_eps : float
        Added to the variance inside LayerNorm's root.
    norm : type, default=nn.LayerNorm
        Another kind of norm, called as ``norm(d_model, eps)``.

    Source
    ------
    He et al. (2016), "Deep Residual Learning for Image Recognition"; Xiong et al. (2020), "On
    Layer Normalization in the Transformer Architecture", for pre-norm.
    """

    def __init__(self, d_model, dropout, norm_first, norm_eps, norm=nn.LayerNorm):
        super().__init__()
        self.norm = norm(d_model, norm_eps)
        self.dropout = Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, sublayer):
        """Apply a function `sublayer` from (B, T, D) to (B, T, D), with Add & Norm around it."""
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, feed-forward; Add & Norm around each (section 3.1, Figure 1, left).

    Parameters
    ----------
    d_model, n_heads, d_ff : int
    dropout : float
    norm_first : bool
        See `Residual`.
    activation : {"relu", "gelu"}, default="relu"
    norm_eps : float, default=1e-5
    """

    def __init__(
        self, d_model, n_heads, d_ff, dropout, norm_first, activation="relu", norm_eps=1e-5
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residual_1 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_2 = Residual(d_model, dropout, norm_first, norm_eps)

    def forward(self, x, mask=None):
        """Map (B, S, D) to (B, S, D); the mask broadcasts to (B, H, S, S)."""
        x = self.residual_1(x, lambda h: self.self_attention(h, h, h, mask)[0])
        return self.residual_2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward; Add & Norm around each (Figure 1).

    Parameters
    ----------
    d_model, n_heads, d_ff, dropout, norm_first, activation, norm_eps
        As in `EncoderLayer`.
    """

    def __init__(
        self, d_model, n_heads, d_ff, dropout, norm_first, activation="relu", norm_eps=1e-5
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residual_1 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_2 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_3 = Residual(d_model, dropout, norm_first, norm_eps)

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None):
        """Compute the layer's output at the target positions.

        Parameters
        ----------
        x : Tensor of shape (B, T, D)
            With a cache, only the new positions.
        memory : Tensor of shape (B, S, D)
            The encoder's output, the same for every decoder layer.
        mask : bool Tensor broadcastable to (B, H, T, T), default=None
            True where a target position is allowed to attend to a target position. With a cache,
            broadcastable to (B, H, T, all positions so far).
        memory_mask : bool Tensor broadcastable to (B, H, T, S), default=None
            True where it is allowed to attend to a source position.
        cache : LayerCache, default=None
            Keys and values of earlier positions.

        Returns
        -------
        x : Tensor of shape (B, T, D)
        """
        own = cross = None
        if cache is not None:
            own, cross = cache.self_attention, cache.cross_attention
        x = self.residual_1(x, lambda h: self.self_attention(h, h, h, mask, cache=own)[0])
        x = self.residual_2(
            x, lambda h: self.cross_attention(h, memory, memory, memory_mask, cache=cross)[0]
        )
        return self.residual_3(x, self.feed_forward)


@contextmanager
def inference(model: nn.Module):
    """Turn dropout and gradients off inside a ``with`` block, then restore each layer's mode."""
    # Every layer is visited only if the model trains: too slow to repeat at each decoding step.
    training = [m for m in model.modules() if m.training] if model.training else []
    if training:
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True
