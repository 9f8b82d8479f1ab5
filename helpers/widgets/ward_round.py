"""The ward round: pick an ill Transformer, press a module, and see what its output depends on."""

import functools

import torch
import traitlets

from helpers.clinic import examine
from helpers.models.patients import PATIENTS, admit
from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
MOVED = 1e-5  # relative to the largest output


@functools.cache
def chart(patient, side):
    """Return what the modules' outputs depend on: a list of (path, matrix), and what is expected.

    The `patient` is one of `PATIENTS`. `side`, "source" or "target", says whose tokens are changed;
    the only one there is, if the model has but one. The sides that it has come last.
    """
    model, options = admit(patient)
    report = examine(model, **options)
    sides = list(report.dependence)
    side = side if side in sides else sides[0]
    paths = report.dependence[side]
    last = {path: path.rpartition(".")[2] for path in paths if "feed." not in path}
    keep = [path for path in last if last[path] in SHOWN or last[path].isdigit()]
    return [(path, paths[path]) for path in [*keep, ""]], report.expected[side], side, sides


class WardRound(Explorer):
    """What each module of an ill Transformer depends on, beside what it may depend on.

    State: `patient`, a name from `helpers.models.patients`; `side`, "source" or "target": whose
    words are changed; `module`, the number of the module in the list, from the input upwards.
    """

    patient = traitlets.Enum(list(PATIENTS), "heads").tag(state=True)
    side = traitlets.Enum(["source", "target"], "target").tag(state=True)
    module = traitlets.Int(7, min=0, max=20).tag(state=True)

    def build(self):
        self.choice("patient", "Patient", list(PATIENTS))
        self.choice("side", "Change words of the", ["source", "target"])

    def compute(self):
        """Examine the patient, once."""
        modules, expected, side, sides = chart(self.patient, self.side)
        self.controls["side"].hidden = len(sides) == 1
        path, matrix = modules[min(self.module, len(modules) - 1)]
        may = expected if matrix.shape == expected.shape else torch.ones(matrix.shape).bool()
        moved = matrix > MOVED
        odd = moved != may if path in ("", "output") else moved & ~may  # a part may do less
        return {"modules": modules, "path": path, "moved": moved, "may": may, "side": side,
                "odd": odd, "moves": int(moved.sum()), "wrong": int((odd & moved).sum()),
                "missing": int((odd & may).sum())}  # fmt: skip

    def tell(self):
        """Say what was changed, and what moves in the chosen module that mustn't."""
        place = self.numbers["path"] or "the whole model"
        moves, wrong, missing = (self.numbers[name] for name in ("moves", "wrong", "missing"))
        told = [f"{wrong} mustn’t"] * (wrong > 0) + [f"{missing} more should"] * (missing > 0)
        return [
            f"Change each {self.numbers['side']} word, and {moves} places move in "
            f"{place}{'; ' * bool(told)}{', '.join(told)}.",
            "Press the modules from the top: which is the first with orange?"
            if told  # not every illness shows in what depends on what
            else "Nothing odd here. Another module? Or ask examine().",
        ]

    def describe(self):
        """Say in words how many pairs the chosen module joins, and how many it mustn't."""
        n = self.numbers
        return (
            f"{n['path'] or 'The whole model'} of patient {self.patient}: {n['moves']} of "
            f"{n['moved'].numel()} pairs of output and word depend on each other; in the model's "
            f"output {n['wrong']} of those would be forbidden and {n['missing']} missing."
        )

    def draw(self):
        """Draw the list of modules, and two matrices side by side."""
        moved, may = self.numbers["moved"], self.numbers["may"]
        size = min(17, 154 // max(moved.shape))
        below = 30 + size * may.shape[0] + 24
        modules = self.numbers["modules"]
        names, grids = Sheet(266, 26 * len(modules), 24 / 26), Sheet(316, below + 30)
        for i, (path, _) in enumerate(modules):
            chosen, y = path == self.numbers["path"], 1.5 + 26 * i
            names.rect(0, y, 262, 23, BLUE if chosen else PALE, round=4)
            label = path or "the whole model"
            names.text(8, y + 17, label, "white" if chosen else INK)
            names.target(0, y - 1.5, 262, 26, f"Show {label}", module=i)
        for x, words, seen in ((0, "the output may", may), (162, "this module does", moved)):
            grids.text(x, 16, words, INK)
            for i in range(may.shape[0]):
                for j in range(may.shape[1]):
                    odd = x and self.numbers["odd"][i, j]
                    fill = (ORANGE if odd else BLUE) if seen[i, j] else PALE
                    grids.rect(x + size * j, 30 + size * i, size - 1, size - 1, fill)
                    if odd and not seen[i, j]:
                        grids.text(x + size * j, 30 + size * i + 12, "○", ORANGE)
        grids.text(0, below, "row: an output · column: a word", GREY)
        grids.text(0, below + 22, "orange: more than it may · ○: missing", GREY)
        return [names, grids]
