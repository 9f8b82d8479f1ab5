"""The small adder: a GPT of 0.1 million weights that gets about three sums in five right."""

from helpers.data.two_digits import LONGEST, SYMBOLS
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.weight_files import checked, read_weights

ADDER = WEIGHTS / "adder.safetensors"
RECIPE = "python -m recipes.reward"


def build_adder():
    """Make an adder with random weights."""
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_len": 6 + LONGEST}
    return GPT(GPTConfig(vocab_size=len(SYMBOLS), **sizes, dropout=0.0))


def load_adder():
    """Load the adder as it is before it learns from rewards; raises as `weight_files.checked`."""
    model = build_adder()
    model.load_state_dict(read_weights(checked(ADDER, RECIPE))[0])
    return model
