"""The course's translator: text in, text out, with every attention map."""

import copy
import json
import math
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from helpers.pretrained.attentions import Attention
from helpers.pretrained.checksums import WEIGHTS, write_checksums
from helpers.pretrained.loaded import Loaded
from helpers.pretrained.shared import share
from helpers.pretrained.trace import trace_translation
from helpers.pretrained.weight_files import checked, read_weights, save_weights, tokenizer_path
from helpers.text.tokenization import BOS, EOS, PAD, BytePairTokenizer, clean
from helpers.transformer import decoding
from helpers.transformer.transformer import Transformer, TransformerConfig

TRANSLATOR = WEIGHTS / "translator.safetensors"
RECIPE = "python -m recipes.translator --help"
# Tied matrices are one matrix, and the file holds it once.
TIED = {"src_embedding.weight": "share_vocabulary", "output_proj.weight": "tie_embeddings"}


class Unreadable(ValueError):
    """A text that the model can't read. In a notebook its words stand there without a traceback."""

    def _render_traceback_(self):
        return [f"Try another sentence: {self}"]


def with_beginning(given, step):
    """Let a step function write the `given` ids first, each with a log-probability of 0."""

    def next_logits(prefix, rows=None):
        logits, at = step(prefix, rows), prefix.shape[1] - 1
        if at < len(given):
            logits = torch.full_like(logits, -math.inf)
            logits[:, given[at]] = 0
        return logits

    return next_logits


class Translator(Loaded):
    """A Transformer and its tokenizer: text in, text out.

    Parameters
    ----------
    model : Transformer
    tokenizer : BytePairTokenizer
    alphabet : str, default=""
        The characters that occurred in training; empty means any.
    card : dict, default=None
        What is known of the training.
    """

    def __init__(self, model, tokenizer, alphabet="", card=None):
        super().__init__(model, card, f", {len(tokenizer):,} pieces")
        self.tokenizer, self.alphabet = tokenizer, set(alphabet)

    def encode(self, texts):
        """Turn texts into one padded batch of ids, (B, S), each ending with `<eos>`.

        Parameters
        ----------
        texts : list of str
            At least one.

        Raises
        ------
        ValueError
            If there is no text, or one is empty, too long, or holds characters the model has
            never seen.
        """
        self._demand_list(texts)
        if not texts:
            raise ValueError("expected at least one sentence to encode; got an empty list.")
        rows = [self.tokenizer.encode(self._checked(text), eos=True) for text in texts]
        longest = max(len(row) for row in rows)
        if longest > self.model.config.max_len:
            raise Unreadable(
                f"This text has {longest} pieces, and the model reads up to "
                f"{self.model.config.max_len}. Split it into sentences."
            )
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])

    @staticmethod
    def _demand_list(texts):
        if not isinstance(texts, list | tuple):
            raise ValueError(f"expected a list of sentences; got {texts!r}.")

    def _checked(self, text):
        if not isinstance(text, str):
            raise Unreadable(f"expected a sentence to translate; got {text!r}.")
        if not text.strip():
            raise Unreadable("An empty text has no translation: expected a sentence in French.")
        unknown = sorted(set(clean(text)) - self.alphabet) if self.alphabet else []
        if unknown:
            raise Unreadable(
                f"The model has never seen {' '.join(unknown)} and would only guess. Write the "
                f"sentence without {'them' if unknown[1:] else 'it'}."
            )
        return text

    @torch.inference_mode()
    def translate(self, text, beam_size=1, length_penalty=1.4, batch_size=64):
        """Translate a text, or a list of texts.

        Parameters
        ----------
        text : str or list of str
        beam_size : int, default=1
            1 decodes greedily.
        length_penalty : float, default=1.4
            For beams: 0 compares sums of log-probabilities, which favours short outputs.
        batch_size : int, default=64
            Sentences decoded together.

        Returns
        -------
        translation : str, or list of str if a list was given

        Raises
        ------
        ValueError
            If a text is empty, holds characters the model has never seen, or is too long.
        """
        if isinstance(text, str):
            return self.translate([text], beam_size, length_penalty)[0]
        if not isinstance(text, list | tuple):
            raise ValueError(f"expected a sentence or a list of sentences; got {text!r}.")
        return [found[0] for found in self.candidates(text, beam_size, length_penalty, batch_size)]

    @torch.inference_mode()
    def candidates(self, texts, beam_size=4, length_penalty=1.4, batch_size=64):
        """Find for every text all translations that its beam ends with, as in `translate`.

        For each text a list, best first; of one only if decoded greedily.
        """
        self._demand_list(texts)
        for text in texts:
            self._checked(text)
        outputs = [None] * len(texts)
        # Sentences of one length side by side: less padding, and a batch ends sooner.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            found = self._decode(self.encode([texts[i] for i in rows]), beam_size, length_penalty)
            for i, sentences in zip(rows, found, strict=True):
                outputs[i] = [self.tokenizer.decode(ids) for ids in sentences]
        return outputs

    def _decode(self, src_ids, beam_size, length_penalty, given=()):
        """Return for each sentence the ids of what was found, best first; `given` come first."""
        step = with_beginning(given, self.model.decoder_step(src_ids.to(self.device)))
        max_len = min(2 * src_ids.shape[1] + 10, self.model.config.max_len)  # then it's cut off
        if beam_size == 1:
            return [[ids] for ids in decoding.greedy(step, len(src_ids), BOS, EOS, max_len)]
        beams = decoding.beam(step, len(src_ids), BOS, EOS, max_len, beam_size, length_penalty)
        return [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in beams]

    @torch.inference_mode()
    def attend(self, text, translation=None) -> Attention:
        """Translate a `text` and show where every head of every layer looked.

        A given `translation` is looked at instead of the model's own.
        """
        src_ids, tgt_ids = self._pair(text, translation)
        given = torch.tensor([[BOS, *tgt_ids[:-1]]], device=self.device)
        src_ids = src_ids.to(self.device)
        encoder, decoder, cross = (x[0].cpu() for x in self.model.attention_maps(src_ids, given))
        source = self.tokenizer.tokens(src_ids[0].tolist())
        written = self.tokenizer.tokens(tgt_ids)
        read = ["<bos>", *written[:-1]]
        maps = {"encoder": (encoder, source, source), "decoder": (decoder, read, read)}
        maps["cross"] = cross, read, source
        return Attention(maps, source_tokens=source, target_tokens=written)

    def _pair(self, text, translation=None):
        """Return source ids (1, S), and as a list those of the given or the model's own output."""
        src_ids = self.encode([text])
        if translation is None:
            return src_ids, self._decode(src_ids, 1, 1.0)[0][0]
        return src_ids, self.tokenizer.encode(self._checked(translation), eos=True)

    @torch.inference_mode()
    def trace(self, text, translation=None):
        """Translate one sentence and keep every number on its way through the model.

        Parameters
        ----------
        text : str
        translation : str, default=None
            Follow this translation instead of the model's own.

        Returns
        -------
        trace : Trace
            For ``model_map(trace)``.

        Raises
        ------
        ValueError
            If a text is empty, holds characters the model has never seen, or is too long.
        """
        found = self._traced(*self._pair(text, translation))
        return replace(found, again=None if translation else self.trace)

    def _through(self, src_ids, tgt_ids, model):
        other = copy.copy(self)
        other.model = model
        return replace(other._traced(src_ids, tgt_ids), again=other.trace)

    def _traced(self, src_ids, tgt_ids):
        ids = src_ids[0].to(self.device), torch.tensor([BOS, *tgt_ids], device=self.device)
        found = trace_translation(self.model, *ids, self.tokenizer.tokens, "the translator")

        def onward(row, token_id):
            given = [*tgt_ids[:row], token_id]
            return self._traced(src_ids, self._decode(src_ids, 1, 1.0, given)[0][0])

        def kept(row, one):
            ids = [*tgt_ids[:row], one.id, *(tgt_ids[row + 1 :] or [EOS] * (one.id != EOS))]
            same = self.tokenizer.encode(self.tokenizer.decode(ids), eos=True) == ids
            return replace(one, kept=same)

        candidates = [[kept(row, one) for one in best] for row, best in enumerate(found.candidates)]
        through = partial(self._through, src_ids, tgt_ids)
        return replace(found, onward=onward, candidates=candidates, through=through)

    def save(self, path):
        """Write weights (as 16-bit floats), configuration and card to `path`, the merges beside.

        The path ends in ``.safetensors``; its folder is made if it isn't there. The checksums of
        both files go into the folder's ``SHA256SUMS``.
        """
        path = Path(path)
        tied, state = _tied(self.model.config), self.model.state_dict()
        tensors = {name: tensor for name, tensor in state.items() if name not in tied}
        alphabet = "".join(sorted(self.alphabet))
        config = asdict(self.model.config)
        save_weights(path, tensors, config=config, alphabet=alphabet, card=self.card)
        self.tokenizer.save(tokenizer_path(path))
        write_checksums(tokenizer_path(path))


def _tied(config):
    """Name the tensors that this configuration shares with another one."""
    return {name for name, flag in TIED.items() if getattr(config, flag)}


def load_translator(path=TRANSLATOR) -> Translator:
    """Load the bundled French-to-English translator.

    Parameters
    ----------
    path : path, default=the bundled one
        A file that `Translator.save` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is damaged, holds another model, or is not the one whose checksum was noted.
    """
    path = Path(path)
    files = [checked(file, RECIPE) for file in (path, tokenizer_path(path))]
    try:
        return _read(*files)
    except Exception as error:  # the tokenizers library raises no narrower class
        raise ValueError(
            f"{path} is damaged or holds no translator of this course ({error}). Restore it from "
            f"the repository, or train your own: {RECIPE}"
        ) from error


def _read(path, pieces):
    tensors, metadata = read_weights(path)
    config = TransformerConfig(**json.loads(metadata["config"]))
    model = Transformer(config)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    if unexpected or set(missing) - _tied(config):
        raise ValueError(f"missing {missing}, unexpected {unexpected}")
    share(model, path)
    tokenizer = BytePairTokenizer.load(pieces)
    if len(tokenizer) != config.src_vocab_size:
        raise ValueError(
            f"its tokenizer has {len(tokenizer)} pieces, its embedding {config.src_vocab_size}"
        )
    return Translator(model, tokenizer, metadata["alphabet"], json.loads(metadata["card"]))
