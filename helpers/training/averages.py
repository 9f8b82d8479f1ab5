"""An exponential moving average of a model's weights, as it trains."""

import contextlib

import torch


def copy_of(model):
    """Copy a model's weights and buffers, detached.

    Parameters
    ----------
    model : nn.Module

    Returns
    -------
    weights : dict of str to Tensor
    """
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


class MovingAverage:
    """Follow a model's weights slowly: average ← decay · average + (1 − decay) · weights.

    Parameters
    ----------
    model : nn.Module
    decay : float
        0.999 remembers about a thousand steps.
    """

    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.weights = copy_of(model)

    def update(self, step):
        """Take in the weights after training step `step`, counted from 1."""
        # Early on the average would be mostly the random start; let it forget faster then.
        decay = min(self.decay, (1 + step) / (10 + step))
        with torch.no_grad():
            state = self.model.state_dict()
            names = [name for name, tensor in state.items() if tensor.is_floating_point()]
            averages = [self.weights[name] for name in names]
            torch._foreach_lerp_(averages, [state[name] for name in names], 1 - decay)

    @contextlib.contextmanager
    def in_place(self):
        """Let the model hold the average inside the block, and its own weights after it."""
        live = copy_of(self.model)
        self.model.load_state_dict(self.weights)
        try:
            yield
        finally:
            self.model.load_state_dict(live)
