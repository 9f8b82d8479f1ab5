"""The course's story model: a small GPT that has read fairy tales."""

import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path

import torch
from tokenizers import Tokenizer

from helpers.machine.atomic_writes import atomic_write
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.checksums import WEIGHTS, write_checksums
from helpers.pretrained.shared import share
from helpers.pretrained.trace import MOST_CANDIDATES, trace_gpt
from helpers.pretrained.weight_files import checked, read_weights, save_weights, tokenizer_path
from helpers.pretrained.writer import Writer

STORYTELLER = WEIGHTS / "storyteller.safetensors"
RECIPE = "python -m recipes.storyteller"
# Kept free for models that are trained further on conversations.
SPECIALS = ["<|end|>", "<|user|>", "<|assistant|>", "<|pad|>"]


class Storyteller(Writer):
    """A GPT that has read fairy tales: a beginning in, a story out; see `Writer`."""

    def trace(self, text, n_tokens=6, seed=0, temperature=1.0):
        """Read a text, go on with it, and keep every number on the way, for ``model_map(trace)``.

        Parameters
        ----------
        text : str
        n_tokens : int, default=6
            How many pieces the model writes. Each is drawn from the ten likeliest, which are the
            candidates that the map shows.
        seed : int, default=0
        temperature : float, default=1.0

        Returns
        -------
        trace : Trace
        """
        ids = self.encode(text)
        more = {"text": text, "again": lambda other, t=1.0: self.trace(other, n_tokens, seed, t)}
        drawn_at = [temperature] * len(ids)
        return self._traced(ids, len(ids), len(ids) + n_tokens, seed, drawn_at, more)

    def _traced(self, ids, n_given, n_all, seed, drawn_at, more):
        """Go on from `ids`; `drawn_at` has a temperature per next token, last that of new ones."""
        heat = drawn_at[-1]
        drawn = self.choose(ids, temperature=heat, top_k=MOST_CANDIDATES, top_p=None, seed=seed)
        written = list(itertools.islice(drawn, n_all - len(ids)))
        all_ids = torch.cat([ids, ids.new_tensor(written)])
        found = trace_gpt(self.model, all_ids, n_given, self.tokens, "the story model")

        drawn_at = drawn_at + [heat] * (len(written) - 1)
        more = more | {"goes_on": self.decode(all_ids)}

        def onward(row, token_id, heat=1.0):
            begun = torch.cat([all_ids[: row + 1], ids.new_tensor([token_id])])
            most = max(n_all, len(begun) + 3)  # something follows the last one, too
            return self._traced(begun, n_given, most, seed, [*drawn_at[: row + 1], heat], more)

        return replace(found, onward=onward, drawn_at=drawn_at, **more)

    def save(self, path):
        """Write weights (16-bit floats), tokenizer and card beside each other, with checksums.

        The `path` ends in ``.safetensors``.
        """
        path = Path(path)
        weights = self.model.state_dict()
        if self.model.config.tie_embeddings:
            del weights["output_proj.weight"]  # the embedding, once more
        save_weights(path, weights, config=asdict(self.model.config), card=self.card)
        with atomic_write(tokenizer_path(path)) as partial:
            self.tokenizer.save(str(partial), pretty=False)
        write_checksums(tokenizer_path(path))


def load_storyteller(path=STORYTELLER) -> Storyteller:
    """Load the bundled story model, or one that the recipe wrote.

    Parameters
    ----------
    path : path, default: the bundled model

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is not the one whose checksum was noted.
    """
    path = Path(path)
    pieces = checked(tokenizer_path(path), RECIPE)
    weights, about = read_weights(checked(path, RECIPE))
    config = GPTConfig(**json.loads(about["config"]))
    if config.tie_embeddings:
        weights["output_proj.weight"] = weights["embedding.weight"]
    model = GPT(config)
    model.load_state_dict(weights)
    share(model, path)
    tokenizer = Tokenizer.from_file(str(pieces))
    return Storyteller(model, tokenizer, json.loads(about["card"]))
