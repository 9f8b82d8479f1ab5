"""The ward round: pick an ill Transformer, press a module, and see what its output depends on."""

import functools

import torch
import traitlets

from helpers.clinic import examine
from helpers.models import ward
from helpers.models.patients import PATIENTS, admit
from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
VISIBLE = ("no mask", "flipped", "too late", "heads")  # whose fault moves what it mustn't
MOVED = 1e-5  # relative to the largest output


@functools.cache
def chart(patient):
    """List a patient's modules, and say which is the first that isn't as in a healthy model.

    Each has a path, which outputs (rows) move with each word, and which do in a healthy model. The
    words are the target's, or an encoder's.
    """
    ill, options = admit(patient)
    torch.manual_seed(0)
    well = getattr(ward, PATIENTS[patient].model)()
    reports = (examine(model, **options).dependence for model in (ill, well))
    ill, well = (report.get("target", report.get("source")) for report in reports)
    keep = [p for p in ill if p.rpartition(".")[2] in SHOWN or p.rpartition(".")[2].isdigit()]
    keep = [p for p in keep if "feed." not in p and well[p].any()]
    modules = [(path, ill[path] > MOVED, well[path] > MOVED) for path in [*keep, ""]]
    odd = (i for i, (_, moved, may) in enumerate(modules) if not moved.equal(may))
    return modules, next(odd, None)


class WardRound(Explorer):
    """What each module of an ill Transformer depends on, beside what a healthy one's does.

    State: `patient`, one of `VISIBLE`; `module`, its number in the list, from the input upwards.
    """

    patient = traitlets.Enum(VISIBLE, "heads").tag(state=True)
    module = traitlets.Int(1, min=0, max=20).tag(state=True)

    def build(self):
        self.choice("patient", "Patient", VISIBLE)
        self.observe(lambda _: self.set_trait("module", chart(self.patient)[1]), names="patient")

    def compute(self):
        modules, first = chart(self.patient)
        self.module = min(self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        return {"modules": modules, "path": path or "the whole model", "moved": moved, "may": may,
                "odd": moved != may, "first": first}  # fmt: skip

    def tell(self):
        """Say what an output should depend on, and what it does depend on in the chosen module."""
        moved, may, odd, first = (self.numbers[name] for name in ("moved", "may", "odd", "first"))
        should = "words 1 to k" if may.tril(-1).any() else "word k alone"
        said, told = f"Output k should depend on {should}", []
        for cells, many, one in (
            (odd & moved, "s see the future", " sees the future"),
            (odd & ~moved, "s miss the past", " misses the past"),
        ):
            if n := int(cells.sum()):
                told.append(f"{n} cell{many if n > 1 else one}")
        if not told:
            return f"{said}, and it does.", "As in a healthy model. Press the next module down."
        asked = "What this module is given is already wrong. The orange mark is where it begins."
        if self.module == first:
            asked = f"Its owner: “{PATIENTS[self.patient].complaint}”"
        return f"{said}. Here {' and '.join(told)}.", asked

    def describe(self):
        return f"Patient {self.patient}, {self.numbers['path']}: {' '.join(self.tell())}"

    def draw(self):
        moved, may, modules = (self.numbers[name] for name in ("moved", "may", "modules"))
        size = min(17, 154 // max(moved.shape))
        below = 30 + size * may.shape[0] + 24
        names, grids = Sheet(266, 26 * len(modules), 24 / 26), Sheet(316, below + 30)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 1.5 + 26 * i
            names.rect(0, y, 262, 23, BLUE if chosen else PALE, round=4)
            label = path or "the whole model"
            names.text(8, y + 17, label, "white" if chosen else INK)
            names.rect(252, y, 10 * (i == self.numbers["first"]), 23, ORANGE, round=4)
            names.target(0, y - 1.5, 262, 26, f"Show {label}", module=i)
        for x, words, seen in ((0, "in a healthy model", may), (162, "in this patient", moved)):
            grids.text(x, 16, words, INK)
            for i in range(may.shape[0]):
                for j in range(may.shape[1]):
                    odd = x and self.numbers["odd"][i, j]
                    fill = (ORANGE if odd else BLUE) if seen[i, j] else PALE
                    grids.rect(x + size * j, 30 + size * i, size - 1, size - 1, fill)
                    if odd and not seen[i, j]:
                        grids.text(x + size * j, 30 + size * i + 12, "○", ORANGE)
        grids.text(0, below, "row: an output · column: a word", GREY)
        grids.text(0, below + 22, "■ sees the future · ○ misses the past", ORANGE)
        return [names, grids]
