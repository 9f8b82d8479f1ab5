"""Ill Transformers, each rebuilt from a public report by changing a line of `ward`.

from helpers.models.patients import PATIENTS, admit

model, options = admit("heads")
report = examine(model, **options)
"""

import linecache
import tomllib
from dataclasses import dataclass
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
    elsewhere : bool
        Whether the fault lies elsewhere than in self-attention: for those who look for it by hand.
    """

    name: str
    model: str
    finding: str
    where: str
    complaint: str
    report: str
    edits: tuple
    elsewhere: bool = False


ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ALL = {name: Patient(name, **row) for name, row in ROWS.items()}
PATIENTS = {name: patient for name, patient in ALL.items() if not patient.elsewhere}


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
        One of `ALL`.

    Returns
    -------
    model : nn.Module
    options : dict
        The arguments with which `examine` is to be called.
    """
    import torch  # here, so that questions about patients need no torch

    patient = ALL[name]
    names = run_source(source_of(patient), f"{name.replace(' ', '_')}.py")
    torch.manual_seed(0)
    options = {"kind": KINDS[patient.model], "vocab_size": 50, "pad_id": 0, "max_len": 64}
    if patient.finding == "targets not shifted":
        options["loss"] = names["training_loss"]
    return names[patient.model](), options
