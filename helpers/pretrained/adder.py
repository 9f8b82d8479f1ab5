"""The small adder: a GPT of 0.1 million weights that gets about three sums in five right."""

import json

from helpers.data.two_digits import LONGEST, SYMBOLS
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.weight_files import checked, read_weights

ADDER = WEIGHTS / "adder.safetensors"
UNDER_WAY = WEIGHTS / "adder_under_way.safetensors"
STEPS_DONE = 5
RECIPE = "python -m recipes.reward"


def build_adder():
    """Make an adder with random weights."""
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_len": 6 + LONGEST}
    return GPT(GPTConfig(vocab_size=len(SYMBOLS), **sizes, dropout=0.0))


def load_adder():
    """Load the adder as it is before it learns from rewards; raises as `weight_files.checked`."""
    return _load(ADDER)[0]


def load_under_way():
    """Load the adder after the first `STEPS_DONE` steps of a stored run with GRPO.

    With it comes a list of that run's shares of right answers, step by step, to its end.
    """
    model, about = _load(UNDER_WAY)
    return model, json.loads(about["rewards"])


def _load(path):
    model = build_adder()
    weights, about = read_weights(checked(path, RECIPE))
    model.load_state_dict(weights)
    return model, about
