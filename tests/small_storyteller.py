"""A story model of random weights, small enough for a test."""

import torch

from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.storyteller import Storyteller
from recipes.storyteller import train_tokenizer


def small_storyteller():
    """Make one that reads 24 pieces at once."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(stories("validation")[:20_000], 400)
    config = GPTConfig(
        vocab_size=400, d_model=32, n_heads=4, n_layers=2, max_len=24, positions="rotary"
    )
    model = GPT(config)
    with torch.no_grad():
        model.embedding.weight.mul_(6)  # so that some pieces are clearly likelier than others
    return Storyteller(model, tokenizer)
