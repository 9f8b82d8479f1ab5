"""The Vision Transformer: a picture cut into patches, and our encoder layers over them.

Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words", arXiv:2010.11929; section numbers are
that paper's. B pictures in a batch, C channels, P pixels along a patch's side, N patches per
picture, D model width, H heads. Beside it a small convolutional network to compare it with.
"""

from dataclasses import dataclass

import torch
from torch import nn

from helpers.models.attending import Attending
from helpers.transformer.layers import Dropout, EncoderLayer
from helpers.transformer.positions import LearnedPositions


@dataclass(frozen=True, kw_only=True)
class VitConfig:
    """The sizes of a Vision Transformer; the defaults are those of ViT-Base/16 (table 1).

    Parameters
    ----------
    image_size : int, default=224
        Pixels along a picture's side; pictures are square.
    patch_size : int, default=16
        Pixels along a patch's side; must divide `image_size`.
    n_channels : int, default=3
        3 for colour, 1 for grey.
    n_classes : int, default=1000
    d_model, n_heads, n_layers, d_ff : int, default=768, 12, 12, 3072
    dropout : float, default=0.1
    norm_eps : float, default=1e-6

    Raises
    ------
    ValueError
        If the patches don't fill the picture exactly.
    """

    image_size: int = 224
    patch_size: int = 16
    n_channels: int = 3
    n_classes: int = 1000
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    dropout: float = 0.1
    norm_eps: float = 1e-6

    def __post_init__(self):
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size must divide image_size, so that the patches fill the picture; got "
                f"patch_size={self.patch_size}, image_size={self.image_size}."
            )

    @property
    def grid(self):
        """How many patches there are along a side."""
        return self.image_size // self.patch_size


def patchify(images, patch_size):
    """Cut pictures into square patches, row by row, and flatten every patch.

    Parameters
    ----------
    images : Tensor of shape (B, C, height, width)
    patch_size : int
        Pixels along a patch's side, P.

    Returns
    -------
    patches : Tensor of shape (B, N, C·P·P)
        The numbers of a patch are ordered by channel, then row, then column.

    Raises
    ------
    ValueError
        If the patches don't fill the picture exactly.

    Source
    ------
    Section 3.1.
    """
    height, width = images.shape[-2:]
    if height % patch_size or width % patch_size:
        raise ValueError(
            f"patches of {patch_size} × {patch_size} pixels don't fill a picture of {height} × "
            f"{width}. Choose a patch_size that divides both."
        )
    patches = images.unflatten(-1, (-1, patch_size)).unflatten(-3, (-1, patch_size))
    return patches.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (B, rows, columns, C, P, P)


def unpatchify(patches, patch_size, n_rows):
    """Put patches back together into pictures: the inverse of `patchify`.

    Parameters
    ----------
    patches : Tensor of shape (B, N, C·P·P)
    patch_size : int
    n_rows : int
        Rows of patches in a picture.

    Returns
    -------
    images : Tensor of shape (B, C, height, width)
    """
    grid = patches.unflatten(-1, (-1, patch_size, patch_size)).unflatten(1, (n_rows, -1))
    return grid.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


class VisionTransformer(Attending):
    """Classify pictures: patches, a class token, positions, pre-norm encoder layers, a linear head.

    Source
    ------
    Section 3.1, eqs. (1) to (4).
    """

    runs = "encode"

    def __init__(self, config: VitConfig):
        super().__init__()
        self.config = c = config
        self.patch_proj = nn.Linear(c.n_channels * c.patch_size**2, c.d_model)
        self.class_token = nn.Parameter(torch.randn(c.d_model) * 0.02)
        self.positions = LearnedPositions(c.grid**2 + 1, c.d_model)
        self.dropout = Dropout(c.dropout)
        sizes = (c.d_model, c.n_heads, c.d_ff, c.dropout, True, "gelu", c.norm_eps)
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(c.n_layers))
        self.norm = nn.LayerNorm(c.d_model, c.norm_eps)
        self.head = nn.Linear(c.d_model, c.n_classes)

    def forward(self, images):
        """Compute logits (B, n_classes) for pictures (B, C, height, width)."""
        return self.head(self.encode(images)[:, 0])

    def embed(self, images):
        """Turn pictures into tokens: the class token first, then the patches row by row.

        Parameters
        ----------
        images : Tensor of shape (B, C, height, width)

        Returns
        -------
        tokens : Tensor of shape (B, 1 + N, D)

        Raises
        ------
        ValueError
            If the pictures are not of the size that the model was built for.
        """
        c = self.config
        if images.shape[1:] != (c.n_channels, c.image_size, c.image_size):
            raise ValueError(
                f"expected pictures of shape (B, {c.n_channels}, {c.image_size}, {c.image_size}); "
                f"got {tuple(images.shape)}."
            )
        patches = self.patch_proj(patchify(images, c.patch_size))
        first = self.class_token.expand(len(images), 1, -1)  # (D,) -> (B, 1, D)
        tokens = torch.cat([first, patches], dim=1)
        return self.dropout(tokens + self.positions(tokens.shape[1]))

    def encode(self, images):
        """Compute one vector per token, class token first, (B, 1 + N, D), after the last norm."""
        x = self.embed(images)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def attention_rollout(weights):
    """Multiply the attention maps of all layers, the residual connections counted as half.

    Per layer the heads are averaged, and the identity is mixed in at equal parts for the residual
    connection. The product says how far each input token could have reached each output token
    along attention weights alone; values, feed-forward networks and norms are left out.

    Parameters
    ----------
    weights : Tensor of shape (..., layers, H, T, T)

    Returns
    -------
    rollout : Tensor of shape (..., T, T)
        Row t: the shares of the input tokens in output t. Every row sums to 1.

    Source
    ------
    Abnar and Zuidema (2020), "Quantifying Attention Flow in Transformers", arXiv:2005.00928,
    section 3.
    """
    layers = weights.mean(-3)  # (..., layers, H, T, T) -> (..., layers, T, T)
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype, device=layers.device)
    rollout = identity
    for layer in ((layers + identity) / 2).unbind(-3):
        rollout = layer @ rollout  # the first layer ends up on the right
    return rollout


class SmallCNN(nn.Module):
    """Classify pictures with convolutions of 3 × 3 pixels: what a ViT is compared with.

    Three stages, each two convolutions with batch norm and ReLU. Between the stages the side is
    halved. At the end every channel is averaged over the picture.

    Parameters
    ----------
    widths : tuple of int
        Channels of the three stages.
    """

    def __init__(self, widths):
        super().__init__()
        blocks, before = [], 1
        for i, width in enumerate(widths):
            blocks += [nn.MaxPool2d(2)] if i else []
            for n_in in (before, width):
                # No bias, because the batch norm has one.
                blocks += [nn.Conv2d(n_in, width, 3, padding=1, bias=False)]
                blocks += [nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.features = nn.Sequential(*blocks)
        self.head = nn.Linear(before, 10)

    def forward(self, images):
        """Compute logits (B, 10) for pictures (B, 1, height, width)."""
        return self.head(self.features(images).mean((-2, -1)))
