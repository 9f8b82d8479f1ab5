"""Answer a question from a text: MiniLM with an adapter that points at the answer."""

import math
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from helpers.models.bert import SpanReader, best_span
from helpers.models.lora import add_lora
from helpers.pretrained.adapters import load_adapted
from helpers.pretrained.attentions import Attention
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.loaded import Loaded
from helpers.transformer import fast
from helpers.transformer.layers import inference

READER = WEIGHTS / "reader.safetensors"
RANK, ALPHA = 16, 32.0
WINDOW, STRIDE = 384, 128
LONGEST = 20  # tokens of an answer, chosen on validation


@dataclass(frozen=True)
class Answer:
    """A part of a text: ``text[start:end]``, as the reader was given it; in characters.

    The `score` goes from 0 to 1: a softmax over this answer and "the text has none", so 0.5 is
    undecided.
    """

    text: str
    start: int
    end: int
    score: float

    def __str__(self):
        place = f"characters {self.start} to {self.end}"
        return f"“{self.text}” ({place}, score {self.score:.2f})"


@dataclass(frozen=True)
class Window:
    """What the reader computed for one question and one window of its text.

    Parameters
    ----------
    tokens : list of str
        Those of the text alone, T of them.
    offsets : list of (int, int)
        Where each token begins and ends in the text, in characters.
    start, end : Tensor of shape (T,)
        Logits of being the answer's first and last token.
    no_answer : float
        The same two logits at [CLS], added: where a question without answer is pointed to.
    """

    tokens: list
    offsets: list
    start: torch.Tensor
    end: torch.Tensor
    no_answer: float


class Reader(Loaded):
    """A span model with its tokenizer: question and text in, a part of the text out.

    Parameters
    ----------
    model : SpanReader
    minilm : MiniLM
        For its tokenizer.
    card : dict, default=None
        What is known of the training.
    quick : bool, default=False
        Read in bf16, with a copy of the weights as they are now.
    """

    def __init__(self, model, minilm, card=None, quick=False):
        super().__init__(model, card)
        self.minilm, self._reads = minilm, fast.InSixteenBits(model) if quick else model
        # A text that is too long is cut into windows that overlap; a question never is.
        minilm.tokenizer.enable_truncation(WINDOW, stride=STRIDE, strategy="only_second")

    def answer(self, question, text, threshold=0.0, batch_size=8):
        """Point at the answer to a question in a text.

        Parameters
        ----------
        question, text : str or list of str
            Two lists of one length, or a list and one string that goes with each of its items.
        threshold : float, default=0.0
            Answers with a lower score become None. 0 always gives an answer.
        batch_size : int, default=8
            Windows read together.

        Returns
        -------
        answer : Answer or None; a list of them if a list was given

        Raises
        ------
        ValueError
            If a question or text is empty, the lists differ in length, or a question alone
            nearly fills a window.
        """
        if isinstance(question, str) and isinstance(text, str):
            return self.answer([question], [text], threshold, batch_size)[0]
        questions, texts = _paired(question, text)
        answers = []
        for windows, whole in zip(self.read(questions, texts, batch_size), texts, strict=True):
            found = best_answer(windows, whole)
            answers.append(found if found.score >= threshold else None)
        return answers

    def read(self, questions, texts, batch_size=8):
        """Compute the logits behind `answer`, for questions and texts, two lists of one length.

        Per question a list of one Window, or of several where the text is long; `batch_size` of
        them are read together.
        """
        encodings = self._encode(questions, texts)
        found = [[None] * len(windows) for windows in encodings]
        flat = [(i, j, e) for i, windows in enumerate(encodings) for j, e in enumerate(windows)]
        flat.sort(key=lambda one: len(one[2].ids))  # one length side by side: less padding
        for at in range(0, len(flat), batch_size):
            some = flat[at : at + batch_size]
            with inference(self.model):
                logits = self._reads(*self._batch([encoding for _, _, encoding in some]))
            for (i, j, encoding), start, end in zip(some, *logits, strict=True):
                found[i][j] = _window(encoding, start.cpu(), end.cpu())
        return found

    def attend(self, question, text):
        """Show where every head looked while reading a `question` and a `text`; an `Attention`.

        Of a long text only the first window is read.
        """
        encoding = self._encode([question], [text])[0][0]
        ids, segments = self._batch([encoding])
        weights = self.model.encoder.attention_maps(ids, segments)[0].cpu()
        return Attention(
            {"encoder": (weights, encoding.tokens, encoding.tokens)}, encoding.tokens, []
        )

    def _batch(self, encodings):
        """Pad ids and segments to the longest, (B, S) each, where the model is."""
        for kind in ("ids", "type_ids"):
            rows = [torch.tensor(getattr(encoding, kind)) for encoding in encodings]
            yield pad_sequence(rows, batch_first=True).to(self.device)

    def _encode(self, questions, texts):
        """Tokenise pairs; per pair the list of its windows."""
        for what, given in (("question", questions), ("text", texts)):
            for one in given:
                if not isinstance(one, str) or not one.strip():
                    raise ValueError(f"expected a {what} that is not empty; got {one!r}.")
        tokenizer = self.minilm.tokenizer
        for question in questions:
            length = len(tokenizer.encode(question, add_special_tokens=False).ids)
            if length > WINDOW - STRIDE - 8:
                raise ValueError(
                    f"the question has {length} tokens and leaves too little room for the text in "
                    f"a window of {WINDOW}; ask in at most {WINDOW - STRIDE - 8}."
                )
        encodings = tokenizer.encode_batch(list(zip(questions, texts, strict=True)))
        return [[encoding, *encoding.overflowing] for encoding in encodings]


def _paired(question, text):
    """Make two lists of one length of a list and a list, or of a list and a string."""
    if isinstance(question, str):
        question = [question] * len(text)
    if isinstance(text, str):
        text = [text] * len(question)
    if len(question) != len(text):
        raise ValueError(
            f"each question goes with one text; got {len(question)} questions and "
            f"{len(text)} texts."
        )
    return list(question), list(text)


def _window(encoding, start, end):
    """Keep of one window's logits, (S,) each, those of the text and those of [CLS]."""
    of_text = [k for k, sequence in enumerate(encoding.sequence_ids) if sequence == 1]
    tokens, offsets = encoding.tokens, encoding.offsets  # the tokenizer makes these lists anew
    return Window(
        tokens=[tokens[k] for k in of_text],
        offsets=[offsets[k] for k in of_text],
        start=start[of_text],
        end=end[of_text],
        no_answer=(start[0] + end[0]).item(),
    )


def best_answer(windows: list[Window], text: str) -> Answer:
    """Choose the best span of all windows; the least sure window speaks for "no answer".

    The windows are what `Reader.read` computed for one question on the `text`.
    """
    spans = [(*best_span(window.start, window.end, LONGEST), window) for window in windows]
    first, last, logit, window = max(spans, key=lambda span: span[2])
    start, end = window.offsets[first][0], window.offsets[last][1]
    margin = logit - min(w.no_answer for w in windows)
    return Answer(text[start:end], start, end, 1 / (1 + math.exp(-max(min(margin, 500), -500))))


def build_reader(minilm):
    """Put a new span head and fresh LoRA layers around a `minilm`'s encoder."""
    return SpanReader(add_lora(minilm.model, RANK, ALPHA))


def load_reader(quick=None) -> Reader:
    """Load the bundled reader.

    Parameters
    ----------
    quick : bool, default: where it pays
        Read in bf16. Scores then differ in the third decimal or so.

    Raises
    ------
    ValueError
        If the file is damaged, or trained on another base than MiniLM.
    """
    minilm, model, card = load_adapted(build_reader, READER)
    pays = fast.bf16_pays(torch.device("cpu")) if quick is None else quick
    return Reader(model, minilm, card, pays)
