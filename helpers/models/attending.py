"""What models of one stack share: their attention can be looked at."""

import torch
from torch import nn

from helpers.transformer.attention import recorded_weights
from helpers.transformer.layers import inference


class Attending(nn.Module):
    """A model of one stack of layers, which its method named `runs` sends the inputs through."""

    runs = "forward"

    def attention_maps(self, *inputs):
        """Return the attention weights of every head of every layer, with dropout off.

        Parameters
        ----------
        *inputs : Tensors
            What the model's `runs` takes: B texts' ids, with a BERT's segments if need be; B
            pictures; or B windows' tables.

        Returns
        -------
        weights : Tensor of shape (B, layers, H, T, T)
            T counts a class token, too.
        """
        with inference(self), recorded_weights(self) as maps:
            getattr(self, self.runs)(*inputs)
        return torch.stack(maps, dim=1)
