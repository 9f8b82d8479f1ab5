"""SmolLM as lesson 18's second student: instruction tuning with LoRA from a few dozen pairs."""

import math
import random

import torch
import torch.nn.functional as F

from helpers.models.assistant import IGNORE, Marks, pad_pairs, supervised_pair
from helpers.models.lora import add_lora
from helpers.pretrained.smollm import END, END_OF_TEXT, START, load_smollm
from helpers.training.optimizers import AdamW, take_step
from helpers.transformer import decoding

LINEARS = ("query_proj", "key_proj", "value_proj", "out_proj", "gate", "linear_1", "linear_2")
TRAINED_LAYERS = 12  # the last ones; no gradient has to pass through the others
MARKS = Marks(end=END, user=START, assistant=START, pad=END_OF_TEXT)


def load():
    """Load SmolLM with fresh adapters of rank 16 in its last layers.

    Raises as `load_smollm` does.
    """
    patient = load_smollm()
    for layer in patient.model.requires_grad_(False).layers[-TRAINED_LAYERS:]:
        add_lora(layer, 16, 32.0, LINEARS)
    return patient


def prompt_of(patient, text):
    """Put a request `text` into the `patient`'s template, no system message; a list of ids."""
    line_break = patient.encode("\n").tolist()
    user, assistant = (patient.encode(words).tolist() for words in (f"user\n{text}", "assistant\n"))
    return [START, *user, END, *line_break, START, *assistant]


def train(patient, taught, rate=4e-4, seed=1, size=4, progress=iter):
    """Learn each of `taught` instructions once, with the loss on the answers only.

    Parameters
    ----------
    patient : SmolLM
        As `load` gives it; its adapters are changed.
    taught : list of Instruction
    rate : float, default=4e-4
        Peak learning rate of AdamW, after four steps of warm-up; then a straight line down.
    seed : int, default=1
        Of the order. The adapters' random start is `torch.manual_seed`'s.
    size : int, default=4
        Pairs per step, of similar length.
    progress : function, default=iter
        Wraps the steps, such as ``tqdm``.
    """
    said = [(prompt_of(patient, one.prompt), patient.encode(one.answer)) for one in taught]
    pairs = [supervised_pair(asked, answer.tolist(), marks=MARKS) for asked, answer in said]
    pairs.sort(key=lambda pair: len(pair[0]))
    batches = [pad_pairs(pairs[i : i + size], MARKS) for i in range(0, len(pairs), size)]
    random.Random(seed).shuffle(batches)
    adapters = [p for p in patient.model.parameters() if p.requires_grad]
    optimiser = AdamW(adapters, rate, weight_decay=0.0)
    for step, (ids, targets) in enumerate(progress(batches)):
        left = (len(batches) - step) / len(batches)
        now = rate * min((step + 1) / 4, 1, 1.5 * left)
        scored = targets != IGNORE
        logits = patient.model.output_proj(patient.model.decode(ids)[scored])
        loss = F.cross_entropy(logits, targets[scored])
        take_step(loss, [optimiser], now, step + 1, clip_norm=math.inf)


def replies(patient, asked, most=24):
    """Let the `patient` answer each of `asked` with at most `most` tokens; a list of str."""
    prompts = [prompt_of(patient, one.prompt) for one in asked]
    texts = [None] * len(prompts)
    for length in {len(ids) for ids in prompts}:  # those of one length together
        rows = [i for i, ids in enumerate(prompts) if len(ids) == length]
        step = patient.model.decoder_step(torch.tensor([prompts[i] for i in rows]))
        found = decoding.greedy(step, len(rows), END_OF_TEXT, END, most)
        for i, ids in zip(rows, found, strict=True):
            texts[i] = patient.decode([token for token in ids if token != END]).strip()
    return texts
