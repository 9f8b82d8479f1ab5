"""The course's story model: a small GPT that has read fairy tales."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer

from helpers.machine.atomic_writes import atomic_write
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.checksums import WEIGHTS, check_file, write_checksums
from helpers.pretrained.shared import share
from helpers.pretrained.trace import MOST_CANDIDATES, trace_gpt
from helpers.pretrained.writer import Writer

STORYTELLER = WEIGHTS / "storyteller.safetensors"
RECIPE = "python -m recipes.storyteller"
# Kept free for models that are trained further on conversations.
SPECIALS = ["<|end|>", "<|user|>", "<|assistant|>", "<|pad|>"]


class Storyteller(Writer):
    """A GPT that has read fairy tales: a beginning in, a story out; see `Writer`."""

    def trace(self, text, n_tokens=6, seed=0):
        """Read a text, go on with it, and keep every number on the way, for ``model_map(trace)``.

        Parameters
        ----------
        text : str
        n_tokens : int, default=6
            How many pieces the model writes. Each is drawn from the ten likeliest, which are the
            candidates that the map shows.
        seed : int, default=0

        Returns
        -------
        trace : Trace
        """
        ids = self.encode(text)
        drawn = self.choose(ids, temperature=1, top_k=MOST_CANDIDATES, top_p=None, seed=seed)
        written = torch.tensor(list(itertools.islice(drawn, n_tokens)))
        return trace_gpt(
            self.model, torch.cat([ids, written]), len(ids), self.tokens, "the story model"
        )

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
        with atomic_write(path) as partial:
            save_file(weights, partial, about)
        with atomic_write(_tokenizer_path(path)) as partial:
            self.tokenizer.save(str(partial), pretty=False)
        write_checksums(path, _tokenizer_path(path))


def _tokenizer_path(path):
    return path.with_suffix(".tokenizer.json")


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
    share(model, path)
    tokenizer = Tokenizer.from_file(str(_tokenizer_path(path)))
    return Storyteller(model, tokenizer, json.loads(about["card"]))
