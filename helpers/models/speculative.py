"""Speculative decoding: a cheap draft guesses some tokens, the model checks all of them at once.

T tokens so far, V vocabulary.
"""

from dataclasses import dataclass

import torch

from helpers.models.gpt import GPTCache
from helpers.transformer.layers import inference


@dataclass(frozen=True)
class Speculation:
    """What speculative decoding wrote, and how.

    Parameters
    ----------
    ids : list of int
        The new tokens.
    passes : int
        How often the model ran; plain decoding takes one pass per token.
    guessed, accepted : int
        Tokens that the draft proposed, and how many of them the model chose, too.
    """

    ids: list
    passes: int
    guessed: int
    accepted: int


def speculate(model, prompt, draft, n_tokens, n_guesses=4, choose=torch.argmax) -> Speculation:
    """Write what plain decoding writes, in fewer passes through the model.

    In one pass the model reads all guessed tokens and computes the logits after each. It then
    chooses token by token as usual, for as long as its choice is what the draft guessed. The first
    choice that differs is kept, and the guesses after it are thrown away.

    With a random `choose` the model draws exactly as in plain decoding. For a draft that proposes
    one token without probabilities this accepts as often as the rule of the papers below.

    Parameters
    ----------
    model : GPT
        The prompt and the new tokens have to fit into its `max_len`.
    prompt : integer Tensor of shape (T,)
    draft : function (ids, n) -> list of at most n int
        Guesses the next tokens from a list of all ids so far.
    n_tokens : int
        How many to write.
    n_guesses : int, default=4
        How many to guess per pass; 0 is plain decoding.
    choose : function (logits of shape (V,)) -> Tensor, default=torch.argmax

    Raises
    ------
    ValueError
        If prompt and new tokens don't fit into the model.

    Source
    ------
    Leviathan et al. (2023), "Fast Inference from Transformers via Speculative Decoding",
    arXiv:2211.17192, section 2.3; Chen et al. (2023), arXiv:2302.01318.
    """
    ids, end = prompt.tolist(), len(prompt) + n_tokens
    if end > model.config.max_len:
        raise ValueError(
            f"{len(prompt)} tokens and {n_tokens} new ones don't fit into max_len="
            f"{model.config.max_len}. Ask for fewer."
        )
    cache, passes, guessed, accepted = GPTCache(len(model.layers)), 0, 0, 0
    with inference(model):
        while len(ids) < end:
            guesses = draft(ids, min(n_guesses, end - len(ids) - 1)) if n_guesses else []
            hidden = model.decode(torch.tensor([ids + guesses]), cache)[0]
            logits = model.output_proj(hidden[-len(guesses) - 1 :])  # (guesses + 1, V)
            passes, guessed = passes + 1, guessed + len(guesses)
            for row, guess in zip(logits, [*guesses, None], strict=True):
                ids.append(int(choose(row)))
                if ids[-1] != guess:
                    break
                accepted += 1
            cache.shorten(len(ids) - 1)  # the newest token hasn't been read yet
    return Speculation(ids[len(prompt) :], passes, guessed, accepted)


class CountedDraft:
    """Guess the next token by looking it up: in the text so far, else in a table of counts.

    If the last three tokens, or two, occurred before, the guess is what followed them then. If
    not, it is what most often follows the last two tokens in a training text, or the last one.

    Parameters
    ----------
    ids : integer Tensor of shape (N,)
        The training text.
    vocab_size : int

    Source
    ------
    Saxena (2023), "Prompt Lookup Decoding", for guessing from the text so far.
    """

    def __init__(self, ids, vocab_size):
        self.vocab_size = vocab_size
        pairs = ids[:-2] * vocab_size + ids[1:-1]
        self.after_two = _most_frequent(pairs, ids[2:], vocab_size)
        self.after_one = _most_frequent(ids[:-1], ids[1:], vocab_size)

    def __call__(self, ids, n):
        """Guess the `n` tokens that follow the list `ids`."""
        text = list(ids)
        for _ in range(n):
            text.append(self.next_token(text))
        return text[len(ids) :]

    def next_token(self, ids):
        """Guess the token that follows the list `ids`."""
        for length in (3, 2):
            for end in range(len(ids) - 1, length - 1, -1):
                if ids[end - 1] == ids[-1] and ids[end - length : end] == ids[-length:]:
                    return ids[end]
        counted = self.after_one.get(ids[-1], 0)
        two = ids[-2] * self.vocab_size + ids[-1] if len(ids) > 1 else None
        return self.after_two.get(two, counted)


def _most_frequent(contexts, followers, vocab_size):
    """Map each context to the token that follows it most often."""
    pairs, counts = (contexts * vocab_size + followers).unique(return_counts=True)
    order = counts.argsort(stable=True)  # of one context, the most frequent pair comes last
    contexts, followers = pairs[order] // vocab_size, pairs[order] % vocab_size
    return dict(zip(contexts.tolist(), followers.tolist(), strict=True))
