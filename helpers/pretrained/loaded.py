"""What every trained model that is loaded has: its size in words, its card, and a place."""


class Loaded:
    """A trained `model`, and as its `card` what is known of it; `also` is a size to be told."""

    def __init__(self, model, card=None, also=""):
        self.model, self.card, self._also = model.eval(), card or {}, also

    def __repr__(self):
        n_parameters = sum(p.numel() for p in self.model.parameters())
        return f"{type(self).__name__}({n_parameters:,} parameters{self._also})"

    @property
    def device(self):
        """Where the model's weights are: on the CPU, or wherever ``model.to(…)`` moved them."""
        return next(self.model.parameters()).device
