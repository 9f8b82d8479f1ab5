"""Compare the clinic with `torchtest` and `neural_net_checklist` on the same ill models.

    python -m recipes.clinic        # in an environment that has both packages beside ours

For each rebuilt bug, the packages' own checks run on the ill model and on the healthy one that it
was made from. A check counts if it fails on the ill model and passes on the healthy one.
"""

import contextlib
import io
import sys
from pathlib import Path

import torch
from neural_net_checklist import torch_diagnostics
from torch import nn
from torch.nn import functional as F
from torchtest import torchtest

from helpers.clinic import examine
from helpers.models import patients
from helpers.pretrained.measured import store

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import unseen_patients as unseen


class OneInput(nn.Module):
    """A model of two inputs as one of one, since the packages know no other: the source stays."""

    def __init__(self, model: nn.Module, two: bool):
        super().__init__()
        self.model, self.two = model, two

    def forward(self, ids):
        """Run the model on target ids (B, T)."""
        source = torch.arange(2, 2 + ids.shape[1]).expand(len(ids), -1)
        return self.model(source, ids) if self.two else self.model(ids)


def checks(build, kind: str, vocab_size: int) -> set[str]:
    """Name the checks of both packages that fail on what `build` makes, as "package: check"."""
    ids = torch.randint(2, vocab_size, (8, 10), generator=torch.Generator().manual_seed(0))
    classes = OneInput(build(), kind == "encoder-decoder")(ids).shape[-1]
    targets = ids % classes

    def make():
        return OneInput(build(), kind == "encoder-decoder")

    def loss(out, wanted):
        return F.cross_entropy(out.flatten(0, -2), wanted.flatten())

    d = torch_diagnostics
    tries = {
        "independent sentences": lambda: d.assert_forward_batch_independence(make, (ids, targets)),
        "non-zero gradients": lambda: d.assert_non_zero_gradients(make(), (ids, targets)),
    }
    if kind != "encoder":
        tries["causal"] = lambda: d.assert_forward_causal_property(make, (ids, targets))
        tries["loss at the start"] = lambda: (
            d.assert_balanced_classification_cross_entropy_loss_at_init(
                make(), (ids, targets), loss_fn=loss, num_classes=classes
            )
        )

    def suite():
        model = make()
        optimiser = torch.optim.Adam(model.parameters())
        torchtest.test_suite(
            model, loss, optimiser, [ids, targets],
            test_vars_change=True, test_nan_vals=True, test_inf_vals=True,
        )  # fmt: skip

    failed = set()
    for name, check in {"torchtest": suite, **tries}.items():
        torch.manual_seed(0)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check()
        except Exception as error:  # whatever the packages raise
            failed.add(f"{name}: {type(error).__name__}")
    return failed


def compare(house, kinds: dict, healthy_text: str, vocab_size: int) -> list[dict]:
    """Compare on all patients of one house, a module with `PATIENTS` and `admit`."""
    rows = []
    for name, patient in house.PATIENTS.items():
        kind = kinds[patient.model]
        names = patients.run_source(healthy_text, "healthy.py")
        well = checks(names[patient.model], kind, vocab_size)
        ill = checks(lambda name=name: house.admit(name)[0], kind, vocab_size)
        model, options = house.admit(name)
        first = examine(model, **options).findings[0]
        told = sorted(check.split(":")[0] for check in ill - well)
        row = {
            "patient": name, "finding": patient.finding, "report": patient.report,
            "named": first.name == patient.finding, "place": first.where,
            "torchtest": "torchtest" in told, "checklist": [t for t in told if t != "torchtest"],
            "unusable": sorted(ill & well),
        }  # fmt: skip
        print(row)
        rows.append(row)
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    dev = compare(patients, patients.KINDS, patients.WARD.read_text(encoding="utf-8"), 50)
    kept = compare(unseen, unseen.KINDS, unseen.WARD, 61)
    store("clinic", {"developed on": dev, "put aside": kept})
