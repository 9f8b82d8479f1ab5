"""The small translators of lessons 01, 02 and 09, trained and ready.

They share one set of data and one set of training settings, so that their curves compare.
"""

import json
import time
from dataclasses import dataclass, replace

import torch
from torch import nn

from helpers.data import corpus
from helpers.models.seq2seq import Seq2Seq, Seq2SeqConfig
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.recurrent_trace import LONGEST, trace_recurrent
from helpers.pretrained.trace import trace_translation
from helpers.pretrained.weight_files import checked, read_weights
from helpers.text.tokenization import BOS, EOS, WordVocabulary
from helpers.training.batches import pad_batch
from helpers.training.training import TrainingSettings, train
from helpers.transformer.decoding import greedy
from helpers.transformer.transformer import Transformer, TransformerConfig

SCORES = ("additive", "dot", "general", "concat")
RECURRENT = {"rnn": {"cell": "rnn"}, "lstm": {"cell": "lstm"}, "gru": {}}
RECURRENT |= {score: {"attention": score} for score in SCORES}
TRANSFORMER = {"d_model": 128, "n_heads": 4, "n_layers": 2, "d_ff": 256, "dropout": 0.1}
NAMES = (*RECURRENT, "transformer")
N_TRAIN, N_VALIDATION, N_TEST = 20_000, 500, 1_500
EPOCHS = 8


@dataclass
class ToyTranslator:
    """A model with its two vocabularies, and how it was trained.

    Parameters
    ----------
    model : Seq2Seq or Transformer
        In evaluation mode.
    source, target : WordVocabulary
    card : dict
        "seconds", "threads", "epochs", "losses" (nats per token, one for each step) and
        "validation_losses" (one for each epoch). Empty if it was never trained.
    """

    model: nn.Module
    source: WordVocabulary
    target: WordVocabulary
    card: dict

    def __repr__(self):
        """Name the model and its size: nothing that differs from run to run."""
        return f"ToyTranslator({type(self.model).__name__}, {self.n_parameters:,} parameters)"

    @property
    def n_parameters(self):
        """How many numbers the model learned."""
        return sum(p.numel() for p in self.model.parameters())

    def encode(self, pairs) -> list:
        """Turn each ToyPair into (source ids, target ids), as `training.train` wants them."""
        return [
            (self.source.encode(p.source, eos=True), self.target.encode(p.target, True, True))
            for p in pairs
        ]

    def translate(self, sentences, batch_size=250):
        """Translate greedily.

        Parameters
        ----------
        sentences : str, or list of (str or sequence of str)
            Words with spaces between them, or tuples of words.
        batch_size : int, default=250

        Returns
        -------
        translations : list of str, or str if one was given
        """
        if isinstance(sentences, str):
            return self.translate([sentences])[0]
        found = []
        for i in range(0, len(sentences), batch_size):
            part = [self.source.encode(s, eos=True) for s in sentences[i : i + batch_size]]
            with torch.inference_mode():
                step = self.model.decoder_step(pad_batch([(ids, [BOS, EOS]) for ids in part])[0])
                ids = greedy(step, len(part), BOS, EOS, LONGEST)
            found += [self.target.decode(one) for one in ids]
        return found

    def trace(self, sentence):
        """Translate one sentence and keep every number on its way, for ``model_map(trace)``.

        Parameters
        ----------
        sentence : str
            Words with spaces between them.

        Returns
        -------
        trace : Trace or RecurrentTrace

        Raises
        ------
        ValueError
            If the model is recurrent and has no additive attention.
        """
        if not isinstance(self.model, Transformer):
            return trace_recurrent(self.model, self.source, self.target, sentence)
        source = torch.tensor(self.source.encode(sentence, eos=True))
        with torch.inference_mode():
            step = self.model.decoder_step(source[None])
            target = torch.tensor([BOS, *greedy(step, 1, BOS, EOS, LONGEST)[0]])
        # Two vocabularies: the source's tokens are named by its own.
        found = trace_translation(self.model, source, target, self.target.tokens, "a toy model")
        encoder = replace(found.encoder, tokens=self.source.tokens(source.tolist()))
        return replace(found, encoder=encoder)


def toy_data() -> corpus.Splits:
    """Return the splits that all toy translators share: 20,000 training pairs, seed 1."""
    return corpus.toy_splits(N_TRAIN, N_VALIDATION, N_TEST, seed=1)


def settings(epochs: int = EPOCHS) -> TrainingSettings:
    """Return the training settings that all toy translators share."""
    return TrainingSettings(
        epochs=epochs, peak_rate=4e-3, warmup_steps=50, decay="linear", batch_tokens=2048
    )


def new_toy(name, splits, seed=0) -> ToyTranslator:
    """Make an untrained toy translator, with a `seed` for its first weights.

    The `name` is "rnn", "lstm", "gru", "additive", "dot", "general", "concat" or "transformer"; the
    training part of the `splits` gives the vocabularies.
    """
    source = WordVocabulary.build(p.source for p in splits.train)
    target = WordVocabulary.build(p.target for p in splits.train)
    torch.manual_seed(seed)
    return ToyTranslator(_model(name, len(source), len(target)), source, target, {})


def _model(name, n_source, n_target):
    if name not in NAMES:
        raise ValueError(f"there is no toy translator {name!r}; there are: {', '.join(NAMES)}.")
    sizes = {"src_vocab_size": n_source, "tgt_vocab_size": n_target}
    if name == "transformer":
        config = TransformerConfig(**sizes, **TRANSFORMER, norm_first=True, max_len=64)
        return Transformer(config).eval()
    return Seq2Seq(Seq2SeqConfig(**sizes, **RECURRENT[name])).eval()


def train_toy(name, splits, epochs=EPOCHS, progress=True) -> ToyTranslator:
    """Train a toy translator, a name as in `new_toy`, from the start on `splits`.

    With `progress`, a bar shows the loss and the time left.
    """
    toy = new_toy(name, splits)
    start = time.perf_counter()
    pairs = toy.encode(splits.train), toy.encode(splits.validation)
    history = train(toy.model, *pairs, settings(epochs), progress=progress)
    toy.card = {
        "seconds": time.perf_counter() - start,
        "threads": torch.get_num_threads(),
        "epochs": epochs,
        "losses": history.losses,
        "validation_losses": history.validation_losses,
    }
    toy.model.eval()
    return toy


def load_toy(name) -> ToyTranslator:
    """Load a trained toy translator from the course's files.

    Parameters
    ----------
    name : str
        See `new_toy`.

    Raises
    ------
    ValueError
        If there is no model of that name, or its file is damaged.
    FileNotFoundError
        If its file is missing.
    """
    path = toy_path(name)
    state, about = read_weights(checked(path, f"python -m recipes.toy_models {name}"))
    about = json.loads(about["toy"])
    source, target = WordVocabulary(about["source"]), WordVocabulary(about["target"])
    model = _model(name, len(source), len(target))
    model.load_state_dict(state)
    return ToyTranslator(model, source, target, about["card"])


def toy_path(name):
    """Say where the weights of the toy translator `name` are kept."""
    if name not in NAMES:
        raise ValueError(f"there is no toy translator {name!r}; there are: {', '.join(NAMES)}.")
    return WEIGHTS / f"toy_{name}.safetensors"
