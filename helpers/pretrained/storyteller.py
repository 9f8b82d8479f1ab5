"""The course's story model: a small GPT that has read fairy tales."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer

from helpers import decoding
from helpers.atomic_writes import whole_file
from helpers.gpt import GPT, GPTConfig
from helpers.language_modelling import bits_per_byte, nats_of_text
from helpers.pretrained.checksums import WEIGHTS, check_file, write_checksums

STORYTELLER = WEIGHTS / "storyteller.safetensors"
RECIPE = "python -m helpers.pretrained.recipes.storyteller"
# Kept free for models that are trained further on conversations.
SPECIALS = ["<|end|>", "<|user|>", "<|assistant|>", "<|pad|>"]
NEVER = -1  # no token has this id, so nothing ends a story but its length


class Storyteller:
    """A GPT and its byte-level tokenizer: a beginning in, a story out.

    Parameters
    ----------
    model : GPT
    tokenizer : tokenizers.Tokenizer
    card : dict, default=None
        What is known of the training.
    """

    def __init__(self, model, tokenizer, card=None):
        self.model, self.tokenizer, self.card = model.eval(), tokenizer, card or {}
        # Whoever types <|end|> means seven characters, not the end of a conversation.
        tokenizer.encode_special_tokens = True

    def __repr__(self):
        n_parameters = sum(p.numel() for p in self.model.parameters())
        return f"Storyteller({n_parameters:,} parameters, {self.model.config.vocab_size:,} pieces)"

    def encode(self, text):
        """Turn a text into ids of shape (T,).

        Raises
        ------
        ValueError
            If `text` is empty or no string.
        """
        if not isinstance(text, str) or not text:
            raise ValueError(
                f"a story needs a beginning: a text of at least one letter, not {text!r}."
            )
        return torch.tensor(self.tokenizer.encode(text).ids)

    def decode(self, ids):
        """Turn ids of shape (T,) back into text."""
        return self.tokenizer.decode([int(i) for i in ids], skip_special_tokens=False)

    def tokens(self, ids):
        """Show each piece of ids (T,) as text; what is half a character shows as ``�``."""
        return [self.decode([i]) for i in ids]

    def generate(
        self, prompt, n_tokens=100, temperature=0.8, top_k=None, top_p=0.95, seed=None, cached=True
    ):
        """Continue a text.

        Parameters
        ----------
        prompt : str
        n_tokens : int, default=100
            Pieces to append; the text may outgrow the model's context.
        temperature : float, default=0.8
            0 chooses the likeliest piece every time; see `decoding.sample`.
        top_k, top_p : int and float, default=None and 0.95
            See `decoding.top_k_filter` and `decoding.top_p_filter`.
        seed : int, default=None
            The same seed gives the same story.
        cached : bool, default=True
            Keep keys and values, which changes nothing but the time.

        Returns
        -------
        text : str
            Prompt and continuation.

        Raises
        ------
        ValueError
            If the prompt is empty or a setting is out of range.
        """
        ids = self.encode(prompt)
        step = self.model.decoder_step(ids[None, -self.model.config.max_len :], cached)
        if temperature == 0:
            (new,) = decoding.greedy(step, 1, 0, NEVER, n_tokens)
        else:
            generator = None if seed is None else torch.Generator().manual_seed(seed)
            choice = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
            (new,) = decoding.sample(step, 1, 0, NEVER, n_tokens, **choice, generator=generator)
        return self.decode(ids.tolist() + new)

    def bits_per_byte(self, text):
        """Measure how surprising a text is to the model, in bits per byte; lower is better.

        Parameters
        ----------
        text : str

        Returns
        -------
        bits : float
            About 8 for a model that knows nothing.
        """
        # The text stands at the beginning of a paragraph, so a line break comes before it.
        ids = torch.cat([self.encode("\n"), self.encode(text)])
        return bits_per_byte(nats_of_text(self.model, ids, self.model.config.max_len), text)

    def save(self, path):
        """Write weights (16-bit floats), tokenizer and card beside each other, with checksums.

        Parameters
        ----------
        path : path
            Ends in ``.safetensors``.
        """
        path = Path(path)
        weights = {k: v.half().contiguous() for k, v in self.model.state_dict().items()}
        if self.model.config.tie_embeddings:
            del weights["output_proj.weight"]  # the embedding, once more
        about = {"config": json.dumps(asdict(self.model.config)), "card": json.dumps(self.card)}
        with whole_file(path) as partial:
            save_file(weights, partial, about)
        with whole_file(_tokenizer_path(path)) as partial:
            self.tokenizer.save(str(partial), pretty=False)
        write_checksums(path, _tokenizer_path(path))


def _tokenizer_path(path):
    return path.with_suffix(".tokenizer.json")


def load_storyteller(path=STORYTELLER):
    """Load the bundled story model, or one that the recipe wrote.

    Parameters
    ----------
    path : path, default: the bundled model

    Returns
    -------
    storyteller : Storyteller

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is not the one whose checksum was noted.
    """
    path = Path(path)
    for file in (path, _tokenizer_path(path)):
        if not file.exists():
            raise FileNotFoundError(
                f"no story model at {file}. The course brings one: load_storyteller(). To train "
                f"your own: {RECIPE}"
            )
        check_file(file)
    with safe_open(path, "pt") as file:
        about = file.metadata()
        weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    config = GPTConfig(**json.loads(about["config"]))
    if config.tie_embeddings:
        weights["output_proj.weight"] = weights["embedding.weight"]
    model = GPT(config)
    model.load_state_dict(weights)
    tokenizer = Tokenizer.from_file(str(_tokenizer_path(path)))
    return Storyteller(model, tokenizer, json.loads(about["card"]))
