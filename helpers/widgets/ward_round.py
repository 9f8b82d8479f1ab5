"""The ward round: change a word at a time, and find the module at which an illness begins."""

import functools

import torch
import traitlets

from helpers.clinic import examine
from helpers.models import ward
from helpers.models.patients import ELSEWHERE, PATIENTS, admit
from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
ALL = PATIENTS | ELSEWHERE
# Those whose fault moves what it mustn't, by letters that don't give it away.
WARD = {
    "A": ("no mask", "the loss falls too fast"),
    "B": ("its own keys", "always the same sentence"),
    "C": ("down the sentence", "the maps look right"),
    "D": ("flipped", "it cheats and forgets"),
    "E": ("heads", "it copies, but can’t translate"),
    "F": ("too late", "no weight on the future"),
}
ALIKE = ("no mask", "too late")  # a change of a word can't tell them apart
MOVED = 1e-5  # relative to the largest output


@functools.cache
def chart(name):
    """List the modules of patient `name`, and say which is the first unlike a healthy model's.

    Each has a path, which outputs (rows) move with each word of the side, target or source, on
    which something is wrong, and which do in a healthy model.
    """
    ill, options = admit(name)
    torch.manual_seed(0)
    well = getattr(ward, ALL[name].model)()
    ill, well = (examine(model, **options).dependence for model in (ill, well))
    for side in sorted(ill, reverse=True):  # the target first
        paths = [p for p in ill[side] if p.rpartition(".")[2] in SHOWN or p[-1:].isdigit()]
        paths = [p for p in paths if "feed." not in p and "norm" not in p and well[side][p].any()]
        modules = [(p, ill[side][p] > MOVED, well[side][p] > MOVED) for p in [*paths, ""]]
        odd = [i for i, (_, moved, may) in enumerate(modules) if not moved.equal(may)]
        if odd:
            break
    return modules, odd[0] if odd else None


class WardRound(Explorer):
    """Where does it begin? Press the module that you suspect in an ill Transformer.

    State: `patient`, a letter of `WARD`; `module`, its number in the list, from the input upwards.
    """

    patient = traitlets.Enum(tuple(WARD), "A").tag(state=True)
    module = traitlets.Int(20, min=0, max=20).tag(state=True)

    def build(self):
        patients = [(f"{letter}: “{said}”", letter) for letter, (_, said) in WARD.items()]
        self.choice("patient", "Patient", patients)
        self.observe(lambda _: self.set_trait("module", 20), names="patient")  # the whole model

    def compute(self):
        modules, first = chart(WARD[self.patient][0])
        self.module = min(self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        return {"modules": modules, "path": path or "the whole model", "moved": moved, "may": may,
                "odd": moved != may, "first": first}  # fmt: skip

    def tell(self):
        """Say what changes that mustn't and what doesn't that should, and judge the suspicion."""
        moved, odd, first = (self.numbers[name] for name in ("moved", "odd", "first"))
        name = WARD[self.patient][0]
        early, missed = (int(cells.sum()) for cells in (odd & moved, odd & ~moved))
        told = [f"{early} outputs change before the word has come"] * bool(early)
        told += [f"{missed} {'' if early else 'outputs '}ignore a word they need"] * bool(missed)
        said = ", ".join(told) or "every output changes as in a healthy model"
        if self.module == first:
            why = f"The clinic calls it “{ALL[name].finding}”."
            if name in ALIKE:
                why = "No mask, or one applied too late? This test can’t tell them apart."
            asked = f"Yes, it begins here. {why}"
        elif not told:
            asked = "No: up to here all is as it should be. Look further down."
        elif self.numbers["path"] == "the whole model":
            asked = f"“{ALL[name].complaint}” Where does it begin?"
        else:
            asked = "No: something further up is already wrong."
        return f"Changing one word at a time: {said}.", asked

    def describe(self):
        return f"Patient {self.patient}, {self.numbers['path']}: {' '.join(self.tell())}"

    def draw(self):
        moved, may, modules = (self.numbers[name] for name in ("moved", "may", "modules"))
        size = min(17, 154 // max(moved.shape))
        below = 30 + size * may.shape[0] + 24
        names, grids = Sheet(266, 26 + 26 * len(modules), 24 / 26), Sheet(316, below + 30)
        names.text(0, 16, "Press what you suspect", INK, bold=True)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 27.5 + 26 * i
            names.rect(0, y, 262, 23, BLUE if chosen else PALE, round=4)
            label = path or "the whole model"
            names.text(8, y + 17, label, "white" if chosen else INK)
            found = chosen and i == self.numbers["first"]
            names.rect(240, y, 22 * found, 23, ORANGE, round=4)
            names.text(251, y + 17, "✓" * found, "white", anchor="middle", bold=True)
            names.target(0, y - 1.5, 262, 26, f"Suspect {label}", module=i)
        for x, words, seen in ((0, "in a healthy model", may), (162, "in this patient", moved)):
            grids.text(x, 16, words, INK)
            for i in range(may.shape[0]):
                for j in range(may.shape[1]):
                    odd = x and self.numbers["odd"][i, j]
                    fill = (ORANGE if odd else BLUE) if seen[i, j] else PALE
                    grids.rect(x + size * j, 30 + size * i, size - 1, size - 1, fill)
                    if odd and not seen[i, j]:
                        place = x + size * j + 2, 32 + size * i, size - 5, size - 5
                        grids.rect(*place, stroke=ORANGE, line=1.5, round=size)
        grids.text(0, below, "row: output · column: word changed", GREY)
        grids.text(0, below + 22, "■ changes too early · ○ ignores a word", ORANGE)
        return [names, grids]
