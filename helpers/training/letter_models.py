"""The ladder from an average to a GPT: tiny models of the next letter that differ in one place."""

from functools import partial

import torch
from torch import nn

from helpers.data.stories import stories
from helpers.models.gpt import GPTConfig, GPTLayer
from helpers.training.language_modelling import TextTraining, nats_of_text, train_on_text
from helpers.transformer import decoding
from helpers.transformer.attention import MultiHeadAttention
from helpers.transformer.layers import inference
from helpers.transformer.masks import causal_mask

WIDTH, WINDOW = 64, 64
STEPS = 250
N_TRAIN, N_VALIDATION = 1_200_000, 20_000  # letters of the stories


class Letters:
    """The letters of a text, numbered; capitals count as small letters.

    Parameters
    ----------
    text : str
        Holds every letter that will be needed.
    """

    def __init__(self, text):
        self.alphabet = sorted(set(text.lower()))
        self._ids = {letter: i for i, letter in enumerate(self.alphabet)}

    def __len__(self):
        return len(self.alphabet)

    def encode(self, text):
        """Turn a text into ids of shape (T,).

        Raises
        ------
        ValueError
            If a letter is unknown.
        """
        unknown = sorted(set(text.lower()) - set(self.alphabet))
        if unknown:
            raise ValueError(f"these letters were never seen: {' '.join(map(repr, unknown))}.")
        return torch.tensor([self._ids[letter] for letter in text.lower()])

    def decode(self, ids):
        """Turn ids back into text."""
        return "".join(self.alphabet[int(i)] for i in ids)


def story_letters():
    """Return the text that the ladder is trained and measured on.

    Returns
    -------
    letters : Letters
    train, validation : integer Tensors of shape (N,)
    """
    train, validation = stories("train", N_TRAIN), stories("validation", N_VALIDATION)
    letters = Letters(train + validation)
    return letters, letters.encode(train), letters.encode(validation)


class LetterModel(nn.Module):
    """Predict every next letter; `mix` is how positions learn of each other.

    Parameters
    ----------
    n_letters : int
    mix : function or nn.Module, (B, T, D) -> (B, T, D)
        It must not let a position see a later one.
    """

    def __init__(self, n_letters, mix):
        super().__init__()
        self.embedding = nn.Embedding(n_letters, WIDTH)
        self.positions = nn.Embedding(WINDOW, WIDTH)
        self.mix = mix
        self.output = nn.Linear(WIDTH, n_letters)

    def forward(self, ids):
        """Map ids (B, T) to logits (B, T, V)."""
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        return self.output(self.mix(x))


def average(x):
    """Replace every vector of x, (B, T, D), by the mean of itself and all before it."""
    allowed = causal_mask(x.shape[1])
    return (allowed / allowed.sum(-1, keepdim=True)) @ x


class CausalHeads(nn.Module):
    """Causal self-attention alone: no residual, no feed-forward network.

    Parameters
    ----------
    n_heads : int
    head : function, default=None
        Computes a single head in place of ours: x (B, T, D) and three matrices (D, K) ->
        (B, T, K), as lesson 14's `causal_head`.
    """

    def __init__(self, n_heads: int, head=None):
        super().__init__()
        self.layers, self.head = nn.ModuleList([MultiHeadAttention(WIDTH, n_heads)]), head

    def forward(self, x):
        """Map (B, T, D) to (B, T, D)."""
        layer = self.layers[0]
        if self.head is None:
            return layer(x, x, x, causal_mask(x.shape[1]))[0]
        x = torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)  # a bias is a 1's weight
        projections = (layer.query_proj, layer.key_proj, layer.value_proj)
        matrices = (torch.cat([one.weight.T, one.bias[None]]) for one in projections)
        return layer.out_proj(self.head(x, *matrices))


class Layers(nn.Module):
    """Whole layers of a GPT, and its last norm."""

    def __init__(self, n_layers: int):
        super().__init__()
        config = GPTConfig(d_model=WIDTH, n_heads=4, n_layers=n_layers, dropout=0.0)
        self.layers = nn.ModuleList(GPTLayer(config) for _ in range(n_layers))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        """Map (B, T, D) to (B, T, D)."""
        for layer in self.layers:
            x = layer(x, causal_mask(x.shape[1]))
        return self.norm(x)


# Each rung adds one thing to the rung before it.
RUNGS = {
    "average": lambda: average,
    "one head": partial(CausalHeads, 1),
    "four heads": partial(CausalHeads, 4),
    "residuals and feed-forward": partial(Layers, 1),
    "three layers": partial(Layers, 3),
}


def train_rung(rung, ids, n_letters, seed=0, progress=True, steps=STEPS) -> LetterModel:
    """Train one rung of the ladder.

    Parameters
    ----------
    rung : str
        One of `RUNGS`.
    ids : integer Tensor of shape (N,)
        The text.
    n_letters : int
    seed : int, default=0
    progress : bool, default=True
    steps : int, default=250
    """
    torch.manual_seed(seed)
    return train_letters(LetterModel(n_letters, RUNGS[rung]()), ids, seed, progress, steps)


def train_letters(model, ids, seed=0, progress=True, steps=STEPS, rate=2e-2):
    """Train a model of the next letter as every rung is trained, and return it.

    Parameters
    ----------
    model : nn.Module
        Maps ids (B, T) to logits (B, T, V).
    ids, seed, progress, steps
        As in `train_rung`.
    rate : float, default=2e-2
        The highest learning rate.
    """
    settings = TextTraining(
        steps=steps, length=WINDOW, peak_rate=rate, warmup_steps=20, optimizer="muon", seed=seed
    )
    train_on_text(model, ids, settings, progress)
    return model


def nats_per_letter(model, ids):
    """Measure the loss of a model on a text of ids (N,), every letter but the first."""
    return nats_of_text(model, ids, WINDOW) / (len(ids) - 1)


def write(
    model: LetterModel, letters: Letters, beginning: str, n_letters: int = 120, seed: int = 0
):
    """Let a model go on with a text, letter by letter, drawn from its distribution.

    Returns
    -------
    text : str
        The beginning and what was written.
    """
    start = letters.encode(beginning)

    def step(prefix, rows=None):
        ids = torch.cat([start, prefix[0, 1:]])[-WINDOW:]
        with inference(model):
            return model(ids[None])[:, -1]

    generator = torch.Generator().manual_seed(seed)
    (new,) = decoding.sample(step, 1, -1, -1, n_letters, temperature=0.8, generator=generator)
    return letters.decode([*start.tolist(), *new])
