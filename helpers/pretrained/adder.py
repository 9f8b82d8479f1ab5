"""The small adder: a GPT of 0.1 million weights that gets about three sums in five right."""

from safetensors.torch import load_file

from helpers.data.two_digits import LONGEST, SYMBOLS
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.checksums import WEIGHTS, check_file

ADDER = WEIGHTS / "adder.safetensors"


def build_adder():
    """Make an adder with random weights."""
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_len": 6 + LONGEST}
    return GPT(GPTConfig(vocab_size=len(SYMBOLS), **sizes, dropout=0.0))


def load_adder():
    """Load the adder as it is before any learning from rewards; see `weights/adder.md`.

    Returns
    -------
    model : GPT

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    check_file(ADDER)
    model = build_adder()
    model.load_state_dict({name: weight.float() for name, weight in load_file(ADDER).items()})
    return model
