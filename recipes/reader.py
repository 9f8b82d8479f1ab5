"""The recipe of the reader.

``python -m recipes.reader`` trains it anew, first on questions about single
sentences (QAMR), then on paragraphs (SQuAD), and writes its adapter over the bundled one.
"""

import argparse
import random
from pathlib import Path

import torch
import torch.nn.functional as F

from helpers.data.questions import qamr, squad, xquad
from helpers.models.lora import merge_lora
from helpers.pretrained.adapters import load_adapter, save_adapter
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.reader import READER, Reader, build_reader
from helpers.training.metrics import answer_exact_match, answer_f1
from helpers.training.training import TrainingSettings
from recipes.fine_tune import Example, batches, fine_tune

LONGEST = 192  # tokens of question and text together, in training
CLS, SEP = 101, 102
SEED, PASSES = 1, 5  # over SQuAD


class Tokenised:
    """A question and its text as ids without special tokens, from which training windows are cut.

    `span` holds the answer's first and last token in the text, or is None.
    """

    def __init__(self, question, text, span):
        self.question, self.text, self.span = question, text, span

    def window(self, draw):
        """Cut a window at random that holds the whole answer; `draw` is a random.Random."""
        room = max(LONGEST - len(self.question) - 3, 16)
        first, last = self.span or (0, 0)
        earliest, latest = 0, max(len(self.text) - room, 0)
        if self.span:
            latest = min(latest, first)
            earliest = min(max(last + 1 - room, 0), latest)
        start = draw.randint(earliest, latest)
        text = self.text[start : start + room]
        ids = [CLS, *self.question, SEP, *text, SEP]
        shift = len(self.question) + 2 - start
        target = (first + shift, last + shift) if self.span else (0, 0)
        segments = [0] * (len(self.question) + 2) + [1] * (len(text) + 1)
        return Example(ids=ids, segments=segments, target=target)


def tokenise(questions, minilm):
    """Turn `questions` into `Tokenised` with the tokenizer of `minilm`; first answers only."""
    tokenizer = minilm.tokenizer
    tokenizer.no_truncation()
    texts = {}
    found = []
    for q in questions:
        if q.text not in texts:
            texts[q.text] = tokenizer.encode(q.text, add_special_tokens=False)
        text = texts[q.text]
        span = None
        if q.answers:
            start, end = q.starts[0], q.starts[0] + len(q.answers[0])
            inside = [k for k, (a, b) in enumerate(text.offsets) if a < end and b > start]
            span = inside[0], inside[-1]
            if span[1] - span[0] >= 60:
                continue
        found.append(
            Tokenised(tokenizer.encode(q.question, add_special_tokens=False).ids, text.ids, span)
        )
    return found


def loss_of(model, ids, segments, targets):
    """Average the `model`'s losses of start and end; ids, segments (B, S), targets (B, 2)."""
    padding = ids == model.encoder.config.pad_id
    logits = [x.float().masked_fill(padding, -torch.inf) for x in model(ids, segments)]
    return sum(F.cross_entropy(x, t) for x, t in zip(logits, targets.T, strict=True)) / 2


def scores(reader, questions):
    """Compute F1 and exact match of a `reader` on `questions`, from 0 to 1 each."""
    found = reader.answer([q.question for q in questions], [q.text for q in questions])
    pairs = [(a.text, q.answers) for a, q in zip(found, questions, strict=True)]
    f1, exact = (
        sum(score(*pair) for pair in pairs) / len(pairs)
        for score in (answer_f1, answer_exact_match)
    )
    return f1, exact


def main(arguments: list[str] | None = None):
    """Train the adapter and write its file."""
    parser = argparse.ArgumentParser(prog="python -m recipes.reader", description=__doc__)
    parser.add_argument("--out", type=Path, default=READER)
    parser.add_argument("--checkpoint", type=Path, default=Path("reader.checkpoint"))
    chosen = parser.parse_args(arguments)
    torch.manual_seed(SEED)
    minilm = load_minilm()
    model = build_reader(minilm)
    epochs = _epochs(minilm)
    settings = TrainingSettings(
        epochs=len(epochs), peak_rate=1e-3, warmup_steps=60, decay="linear",
        weight_decay=0.01, precision="bf16", seed=SEED,
    )  # fmt: skip
    reader = Reader(model, minilm)
    validation = [q for q in squad("validation") if q.answers]

    def score(_):
        f1, exact = scores(reader, validation)
        print(f"validation: F1 {f1:.3f}, exact match {exact:.3f}", flush=True)
        return f1

    card = fine_tune(model, loss_of, epochs, score, settings, chosen.checkpoint)
    save_adapter(model, chosen.out, card)
    load_adapter(model, chosen.out)  # what is scored is what is in the file: 16-bit numbers
    f1, exact = scores(Reader(merge_lora(model), minilm), xquad())
    print(f"XQuAD: F1 {f1:.3f}, exact match {exact:.3f}")


def _epochs(minilm):
    """List the epochs: parts of QAMR, then passes over SQuAD with a third of what has no answer."""
    draw = random.Random(SEED)
    sentences = tokenise(qamr(), minilm)
    draw.shuffle(sentences)
    paragraphs = tokenise(squad("train"), minilm)
    answered = [one for one in paragraphs if one.span]
    without = [one for one in paragraphs if not one.span]

    def of_sentences(part):
        return lambda: batches(_windows(sentences[part::2], part), 3072, SEED + part)

    def of_paragraphs(number):
        seed = 1000 * SEED + number
        some = random.Random(seed).sample(without, len(without) // 3)
        return lambda: batches(_windows(answered + some, seed), 3072, seed)

    return [of_sentences(part) for part in range(2)] + [of_paragraphs(i) for i in range(PASSES)]


def _windows(tokenised, seed):
    draw = random.Random(seed)
    return [one.window(draw) for one in tokenised]


if __name__ == "__main__":
    main()
