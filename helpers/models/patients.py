"""Twelve ill Transformers, each rebuilt from a public report by changing a line of `ward`.

from helpers.models.patients import PATIENTS, admit

model, options = admit("heads")
report = examine(model, **options)
"""

import linecache
from dataclasses import dataclass, field
from pathlib import Path

WARD = Path(__file__).with_name("ward.py")
KINDS = {"Reader": "encoder", "Writer": "decoder", "Translator": "encoder-decoder"}


@dataclass(frozen=True)
class Patient:
    """One bug: what changes in the healthy text, and what is known of it.

    Parameters
    ----------
    name : str
    model : str
        Which class of the text is built: "Reader", "Writer" or "Translator".
    finding : str
        What `examine` is to call it.
    where : str
        The module at fault, as in ``named_modules``; "" is the model itself.
    complaint : str
        What its owner noticed, in a sentence.
    report : str
        Address of a public report of such a bug.
    edits : tuple of (str, str)
        Text that stands in the healthy file exactly once, and what it becomes.
    options : dict
        More arguments for `examine`.
    """

    name: str
    model: str
    finding: str
    where: str
    complaint: str
    report: str
    edits: tuple
    options: dict = field(default_factory=dict)


GITHUB = "https://github.com/"
MASKED = '            scores = scores.masked_fill(~mask, float("-inf"))\n'
WEIGHTS = "        weights = torch.softmax(scores, dim=-1)\n"


def by_name(*patients):
    """Put patients into a dict, by their names."""
    return {patient.name: patient for patient in patients}


PATIENTS = by_name(
    Patient(
        "no mask", "Writer", "sees the future", "layers.0.self_attention",
        "The loss is nearly zero after a minute. What it writes is gibberish.",
        GITHUB + "pytorch/tutorials/issues/2478",
        (("            x = layer(x, causal)\n        "
          "logits", "            x = layer(x, None)\n        logits"),),
    ),
    Patient(
        "output", "Writer", "probabilities instead of logits", "",
        "It learns, but ten times as slowly as the tutorial's model.",
        GITHUB + "bowang-lab/Transformer-GCN-QA/pull/32",
        (("        return logits\n", "        return logits.softmax(-1)\n"),),
    ),
    Patient(
        "short sentences", "Reader", "padding counts", "layers.0.self_attention",
        "The vector of a short sentence depends on which sentences share its batch.",
        GITHUB + "AI4Bharat/IndicBERT/issues/20",
        (("            x = layer(x, mask)\n        "
          "return x", "            x = layer(x, None)\n        return x"),),
    ),
    Patient(
        "flipped", "Writer", "mask inverted", "layers.0.self_attention",
        "It cheats while training and knows nothing of what it has already written.",
        GITHUB + "pytorch/examples/issues/649",
        (("masked_fill(~mask,", "masked_fill(mask & ~torch.eye(mask.shape[-1]).bool(),"),),
    ),
    Patient(
        "evaluation", "Writer", "dropout in evaluation", "layers.0.self_attention",
        "In evaluation mode, the same prompt gives other numbers every time.",
        GITHUB + "pytorch/pytorch/issues/124464",
        (("        weights = self.dropout(weights)\n",
          "        weights = F.dropout(weights, self.dropout.p)\n"),),
    ),
    Patient(
        "bag of words", "Reader", "order unseen", "embedding",
        "Dog bites man, man bites dog, and not one digit differs.",
        GITHUB + "songyangco/GETNext/issues/2",
        (("        return x + self.positions[: x.shape[1]]\n",
          "        return x + self.positions[: x.shape[0]].unsqueeze(1)\n"),),
    ),
    Patient(
        "one layer", "Translator", "layers shared", "layers.0",
        "Six layers or two, it makes no difference to the number of parameters.",
        GITHUB + "espnet/espnet/issues/1278",
        (("            [Layer(d_model, n_heads, dropout, cross=True) for _ in range(n_layers)]\n",
          "            [Layer(d_model, n_heads, dropout, cross=True)] * n_layers\n"),),
    ),
    Patient(
        "copying", "Writer", "targets not shifted", "training function",
        "The loss falls to 0.0000. But all it ever writes is the last word again.",
        GITHUB + "KempnerInstitute/KempnerForge/issues/154",
        (("    targets = ids[:, 1:]\n", "    targets = ids[:, :-1]\n"),),
    ),
    Patient(
        "columns", "Reader", "softmax over queries", "layers.0.self_attention",
        "It trains about as well as before, and nobody can say why the maps look odd.",
        GITHUB + "labmlai/annotated_deep_learning_paper_implementations/issues/146",
        (("dim=-1)", "dim=-2)"), ('float("-inf")', "-1e9")),
    ),
    Patient(
        "too late", "Writer", "mask after softmax", "layers.0.self_attention",
        "We looked: the weights on the future are exactly zero. The loss is still too good.",
        GITHUB + "huggingface/pytorch-image-models/pull/2236",
        (("        if mask is not None:\n" + MASKED, ""),
         (WEIGHTS, WEIGHTS + "        if mask is not None:\n            weights = weights * "
                             "mask\n")),
    ),
    Patient(
        "heads", "Translator", "heads scrambled", "encoder.layers.0.self_attention",
        "The copy task passes, but translation never quite works.",
        GITHUB + "jsbaan/transformer-from-scratch/pull/6",
        (("x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)",
          "x.reshape(x.shape[0], x.shape[2], -1)"),),
    ),
    Patient(
        "too soft", "Writer", "not scaled", "layers.0.self_attention",
        "The loss looks fine. It's only a little worse than the paper's.",
        GITHUB + "karpathy/ng-video-lecture/pull/6",
        (("math.sqrt(q.shape[-1])", "math.sqrt(q.shape[-1] * self.n_heads)"),),
    ),
)  # fmt: skip
# Their fault lies elsewhere than in self-attention: for those who look for it by hand.
ELSEWHERE = by_name(
    Patient(
        "down the sentence", "Writer", "norm over the wrong axis", "layers.0",
        "I drew every attention map, and the mask is right. The loss is still too good.",
        GITHUB + "jadore801120/attention-is-all-you-need-pytorch/pull/17",
        (("        return self.norm_3(x + self.dropout(self.feed(x)))\n",
          "        x = x + self.dropout(self.feed(x))\n"
          "        return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)\n"),),
    ),
    Patient(
        "its own keys", "Translator", "source ignored", "layers.0.cross_attention",
        "Whatever it's given to translate, it writes the same sentence.",
        GITHUB + "keitakurita/Practical_NLP_in_PyTorch/issues/1",
        (("self.cross_attention(x, memory, memory, memory_mask)",
          "self.cross_attention(x, x, x, mask)"),),
    ),
)  # fmt: skip


def source_of(patient, healthy=None):
    """Return a patient's whole text.

    Parameters
    ----------
    patient : Patient
    healthy : str, default=None
        The text to change; that of `ward` if None.

    Raises
    ------
    ValueError
        If an edit's text doesn't stand there exactly once.
    """
    text = WARD.read_text(encoding="utf-8") if healthy is None else healthy
    for old, new in patient.edits:
        if text.count(old) != 1:
            raise ValueError(
                f"{patient.name}: {old!r} stands there {text.count(old)} times, not once."
            )
        text = text.replace(old, new)
    return text


def run_source(text, filename):
    """Execute a module's text and return its names; tracebacks and the clinic can quote its lines.

    Parameters
    ----------
    text, filename : str
    """
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"__name__": filename}
    exec(compile(text, filename, "exec"), names)  # our own text, changed by our own edits
    return names


def admit(name):
    """Build a patient.

    Parameters
    ----------
    name : str
        One of `PATIENTS` or `ELSEWHERE`.

    Returns
    -------
    model : nn.Module
    options : dict
        The arguments with which `examine` is to be called.
    """
    import torch  # here, so that questions about patients need no torch

    patient = (PATIENTS | ELSEWHERE)[name]
    names = run_source(source_of(patient), f"{name.replace(' ', '_')}.py")
    torch.manual_seed(0)
    options = {"kind": KINDS[patient.model], "vocab_size": 50, "pad_id": 0, "max_len": 64}
    if patient.finding == "targets not shifted":
        options["loss"] = names["training_loss"]
    return names[patient.model](), options | patient.options
