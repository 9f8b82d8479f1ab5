"""Thirteen bugs from public reports that the clinic wasn't developed on.

They were written before the clinic was run for the first time, as changes of `unseen_ward`.
"""

from pathlib import Path

import torch

from helpers.machine.tables import table_beside
from helpers.models.patients import Patient, run_source, source_of

WARD = Path(__file__).with_name("unseen_ward.py").read_text(encoding="utf-8")
KINDS = {"TinyBert": "encoder", "TinyGPT": "decoder", "Seq2Seq": "encoder-decoder"}
ROWS = table_beside(__file__)
PATIENTS = {name: Patient(name, complaint="", **row) for name, row in ROWS.items()}


def admit(name):
    """Build one of them and say with which arguments `examine` is to be called."""
    patient = PATIENTS[name]
    names = run_source(source_of(patient, WARD), f"unseen_{name.replace(' ', '_')}.py")
    torch.manual_seed(0)
    options = {"kind": KINDS[patient.model], "vocab_size": 61, "pad_id": 1, "max_len": 40}
    if patient.finding == "cache disagrees":
        options["cached"] = names["step_by_step"]
    return names[patient.model](), options
