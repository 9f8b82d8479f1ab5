"""The ward round: change a word at a time, and find the module at which an illness begins."""

import functools
import re
from pathlib import Path
from textwrap import dedent, wrap

import torch
import traitlets

from helpers.clinic import examine
from helpers.models import ward
from helpers.models.patients import ELSEWHERE, PATIENTS, admit, source_of
from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, lines_of_text

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
ALL = PATIENTS | ELSEWHERE
# Those whose fault moves what it mustn't, by letters and words that don't give it away; and why.
WARD = {
    "A": ("no mask", "falls too fast", "every position attends to later words, too."),
    "B": ("its own keys", "always the same", "its keys and values don’t come from the source."),
    "C": ("down the sentence", "fine maps", "each mean is over all words, later ones, too."),
    "D": ("flipped", "cheats and forgets", "the mask hides the past and shows the future."),
    "E": ("heads", "only copies", "each vector is put together from heads of several words."),
    "F": ("too late", "too good", "later words are already in the softmax’s sum."),
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
        hidden = re.compile(r"feed\.|norm|^encoder\.")  # the encoder counts as one module
        paths = [p for p in paths if not hidden.search(p) and well[side][p].any()]
        modules = [(p, ill[side][p] > MOVED, well[side][p] > MOVED) for p in [*paths, ""]]
        odd = [i for i, (_, moved, may) in enumerate(modules) if not moved.equal(may)]
        if odd:
            break
    return modules, odd[0] if odd else None


def _plain(path):
    """Say in words where a module is: "layers.0.self_attention" is "layer 1, self-attention"."""
    path = path.replace("layers", "layer").replace("_", "-")
    return re.sub(r"\.(\d)", lambda found: f" {int(found[1]) + 1}", path).replace(".", ", ")


@functools.cache
def _lines_at_fault(name):
    """Return a patient's lines that differ from the healthy text's, and the healthy ones."""
    texts = Path(ward.__file__).read_text(encoding="utf-8"), source_of(ALL[name])
    healthy, ill = (text.splitlines() for text in texts)
    sides = ("Broken", ill, healthy), ("Mended", healthy, ill)
    return [
        [head, *dedent("\n".join(line for line in these if line not in those)).splitlines()]
        for head, these, those in sides
    ]


class WardRound(Explorer):
    """Where does it begin? Press the module that you suspect in an ill Transformer.

    State: `patient`, a letter of `WARD`; `module`, numbered from the input; `word`, 0 for all.
    """

    patient = traitlets.Enum(tuple(WARD), "A").tag(state=True)
    module = traitlets.Int(20, min=0, max=20).tag(state=True)
    word = traitlets.Int(0, min=0, max=13).tag(state=True)

    def build(self):
        patients = [(f"{letter}: “{said}”", letter) for letter, (_, said, _) in WARD.items()]
        self.choice("patient", "Patient", patients)
        self.observe(lambda _: self.take({"module": 20, "word": 0}), names="patient")

    def compute(self):
        modules, first = chart(WARD[self.patient][0])
        self.module = min(self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        self.word = min(self.word, moved.shape[1])
        return {"modules": modules, "path": path or "the whole model", "moved": moved, "may": may,
                "odd": moved != may, "first": first}  # fmt: skip

    def tell(self):
        """Say what changes that mustn't and what doesn't that should, and judge the suspicion."""
        moved, odd, first = (self.numbers[name] for name in ("moved", "odd", "first"))
        name = WARD[self.patient][0]
        early, missed = (int(cells.sum()) for cells in (odd & moved, odd & ~moved))
        told = [f"{early} outputs change too early"] * bool(early)
        told += [f"{missed} {'' if early else 'outputs '}ignore a word"] * bool(missed)
        said = f"{', '.join(told) or 'Every output changes as it should'}."
        if self.word:
            now, due = (int(cells[:, self.word - 1].sum()) for cells in (moved, moved ^ odd))
            said = f"Word {self.word} changes {now} outputs (healthy: {due})."
        if self.module == first:
            asked = f"Yes, it begins here: “{ALL[name].finding}”."
            if name in ALIKE:
                asked = "Yes: no mask, or a late one. We can’t tell them apart."
        elif not told:
            asked = "No: up to here all is well. Look further down."
        elif self.numbers["path"] == "the whole model":
            asked = "Where does it begin? Press a part, or a word’s column."
        else:
            asked = "No: something further up is already wrong."
        return said, asked

    def describe(self):
        return f"“{ALL[WARD[self.patient][0]].complaint}” {' '.join(self.tell())}"

    def draw(self):
        """Draw the modules and what they depend on; once it's found, also its lines, and why."""
        if self.module != self.numbers["first"]:
            return [self._draw_modules(), self._draw_grids()]
        name, _, why = WARD[self.patient]
        parts = _lines_at_fault(name)
        code = [sheet for part in parts for sheet in lines_of_text(part, 270, 27, pitch=20)]
        told = lines_of_text((f"Why: {why}",), 254, 26, pitch=20)
        return [self._draw_modules(), self._draw_grids(), *code, *told]

    def _draw_modules(self):
        modules = self.numbers["modules"]
        names = Sheet(232, 26 + 26 * len(modules), 24 / 26)
        names.text(0, 16, "Press what you suspect", INK, bold=True)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 27.5 + 26 * i
            names.rect(0, y, 230, 23, BLUE if chosen else PALE, round=4)
            label = _plain(path) or "the whole model"
            names.text(8, y + 17, label, "white" if chosen else INK)
            found = chosen and i == self.numbers["first"]
            names.rect(208, y, 22 * found, 23, ORANGE, round=4)
            names.text(219, y + 17, "✓" * found, "white", anchor="middle", bold=True)
            names.target(0, y - 1.5, 230, 26, f"Suspect {label}", module=i)
        return names

    def _draw_grids(self):
        """Draw which outputs move with which word, in a healthy model and here; and a complaint."""
        moved, may = self.numbers["moved"], self.numbers["may"]
        size = 130 // max(moved.shape)
        top, (high, wide) = 52, may.shape
        said = wrap(f"“{ALL[WARD[self.patient][0]].complaint}”", 31)
        below, line = top + size * high + 20, 20
        grids = Sheet(300, below + line * len(said) + 10)
        for x, words, seen in ((20, "healthy", may), (168, "this patient", moved)):
            grids.text(x, 16, words, INK)
            grids.text(x, top - 8, f"word 1 → {wide}", GREY)
            for i in range(high):
                for j in range(wide):
                    odd = x > 20 and self.numbers["odd"][i, j]
                    fill = (ORANGE if odd else BLUE) if seen[i, j] else PALE
                    grids.rect(x + size * j, top + size * i, size - 1, size - 1, fill)
                    if odd and not seen[i, j]:
                        place = x + size * j + 2, top + 2 + size * i, size - 5, size - 5
                        grids.rect(*place, stroke=ORANGE, line=1.5, round=size)
            at, framed = x + size * (self.word - 1) - 1.5, (size + 2) * bool(self.word)
            grids.rect(at, top - 1.5, framed, size * high + 2, stroke=INK, line=2.5)
        for j in range(1, wide + 1):
            place = 168 + size * (j - 1), top - 24, size, size * high + 24
            grids.target(*place, f"Change word {j}", word=0 if j == self.word else j)
        grids.text(3, top, f"output 1 → {high}", GREY, turn=-90)
        grids.text(20, below, "■ too early · ○ ignores a word", ORANGE)
        for i, part in enumerate(said, 1):
            grids.text(20, below + 4 + line * i, part)
        return grids
