"""The ward round: look at what a broken model's parts depend on, and name the fault."""

import functools
import random
import re
import tomllib
from difflib import unified_diff
from pathlib import Path
from textwrap import dedent, wrap

import torch
import traitlets

from helpers.clinic import examine
from helpers.models import ward
from helpers.models.patients import ALL, admit, source_of
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import odd_ones
from helpers.widgets.svg import PALE, Sheet, lines_of_text

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
# Those whose fault moves what it mustn't.
WARD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
UNSEEN = 20  # no module: a patient's opening view
MOVED = 1e-5  # relative to the largest output
ROW, LIST, MAP, FAULTS = 34, 238, 264, 272  # pixels: a module's height, and widths side by side
TOKEN = re.compile(r'\s+|"[^"]*"|\.?\w+\(*|\W')
HOW = {"-": ("−", "line-through", ORANGE), "+": ("+", "underline", GREEN), " ": ("", "", GREY)}
CODE, PITCH = 640, 22  # pixels: how wide the longest line of code is, and from line to line


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
    path = (path or "the whole model").replace("layers", "layer").replace("_", "-")
    return re.sub(r"\.(\d)", lambda found: f" {int(found[1]) + 1}", path).replace(".", ", ")


@functools.cache
def _difference(name):
    """List the lines that differ once a patient is mended: a sign, and (token, changed) pairs."""
    texts = source_of(ALL[name]), Path(ward.__file__).read_text(encoding="utf-8")
    lines = [*unified_diff(*(text.splitlines() for text in texts), n=1, lineterm="")][3:]
    places = [i for i, line in enumerate(lines) if line[0] != " "]
    lines = lines[places[0] : places[-1] + 1]
    code = dedent("\n".join(line[1:] for line in lines)).splitlines()
    pieces = [(line[0], TOKEN.findall(words)) for line, words in zip(lines, code, strict=True)]
    sides = ([token for own, each in pieces if own == sign for token in each] for sign in "-+")
    odd = dict(zip("-+", map(iter, odd_ones(*map(list, sides))), strict=True))
    return [(own, [(one, own != " " and next(odd[own])) for one in each]) for own, each in pieces]


class WardRound(Explorer):
    """What is broken? Look at the parts of an ill Transformer, and name the fault.

    State: `patient`, a letter of `WARD`; `module`, numbered from the input; `guess`, the patient
    whose fault it's said to be.
    """

    patient = traitlets.Enum(tuple(WARD), "A").tag(state=True)
    module = traitlets.Int(UNSEEN, min=0, max=UNSEEN).tag(state=True)
    guess = traitlets.Enum(("", *WARD), "").tag(state=True)

    def build(self):
        self.observe(self._open, names="patient")
        self.choice("patient", "Patient", ())
        self.button("Start again", self.reset)

    def forget(self):
        self._notes = {letter: (set(), []) for letter in WARD}  # views and guesses

    def _open(self, _):
        found = self.patient in self._notes[self.patient][1]
        self.take({"module": UNSEEN, "guess": self.patient * found})

    def compute(self):
        """Count what was looked at and guessed before the fault was found; the opening is free."""
        opening = WARD[self.patient]["opens"]
        modules, first = chart(WARD[self.patient]["name"])
        self.module = min(opening if self.module == UNSEEN else self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        looks, guesses = self._notes[self.patient]
        if self.patient not in guesses:
            looks |= {self.module} - {opening}
            guesses += [self.guess] * (self.guess not in ("", *guesses))
        ticks = {letter: " ✓" * (letter in self._notes[letter][1]) for letter in WARD}
        patients = [(f"{one}: “{WARD[one]['noticed']}”{tick}", one) for one, tick in ticks.items()]
        self.choice("patient", "Patient", patients)
        seen, said = len(looks), len(guesses)
        counted = f"{seen} look{'s' * (seen != 1)}, {said} guess{'es' * (said != 1)}"
        return {"modules": modules, "path": path, "moved": moved, "may": may, "odd": moved != may,
                "first": first, "counted": counted,
                "found": self.guess == self.patient}  # fmt: skip

    def describe(self):
        return " ".join((*self.tell(), *self._judged()))

    def tell(self):
        """Repeat the complaint, say what changes that mustn't or doesn't, and what to do next."""
        moved, odd, found = (self.numbers[name] for name in ("moved", "odd", "found"))
        early, missed = (int(cells.any(1).sum()) for cells in (odd & moved, odd & ~moved))
        told = [f"{early} of {len(odd)} outputs change too early"] * bool(early)
        told += [f"{missed} {'' if early else 'outputs '}ignore a word"] * bool(missed)
        said = " and ".join(told * (not found)) or "every output changes as it should"
        asked = "Is the part above it right? Then the fault begins here."
        if found:
            asked = f"Found with {self.numbers['counted']}."
        elif not told:
            asked = "All is well so far. Does the fault begin further down?"
        elif not self.numbers["path"]:
            asked = "Where does the fault begin? Look at a part."
        said = f"{'Mended, ' * found}{said}."
        return f"“{ALL[WARD[self.patient]['name']].complaint}”", said[0].upper() + said[1:], asked

    def _judged(self):
        """Say what the grid would be if the guess were right, or why it is; nothing without one."""
        if not self.guess:
            return ()
        guess = WARD[self.guess]
        if self.numbers["found"]:
            return f"Yes, “{guess['fault']}”. Why?", guess["why"]
        return f"No. With “{guess['fault']}”,", guess["would"]

    def draw(self):
        """Draw the parts, what the chosen one depends on, and the faults or the mended lines."""
        ill, well = self.numbers["moved"], self.numbers["may"]
        if not self.numbers["found"]:
            return [self._draw_map("this patient", ill), self._draw_modules(), self._draw_faults()]
        maps = self._draw_map("mended", well), self._draw_map("before", ill)
        why = lines_of_text(self._judged(), CODE, 68, PITCH)
        return [maps[0], self._draw_modules(), maps[1], self._draw_code(), *why]

    def _draw_modules(self):
        modules = self.numbers["modules"]
        names = Sheet(LIST, 26 + ROW * len(modules), 24 / ROW)
        names.text(0, 16, "Look at a part", bold=True)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 27.5 + ROW * i
            names.rect(0, y, LIST, ROW - 3, BLUE if chosen else PALE, round=4)
            label = _plain(path)
            names.text(8, y + 21, label, "white" if chosen else INK)
            found = self.numbers["found"] and i == self.numbers["first"]
            names.rect(LIST - 24, y, 24 * found, ROW - 3, GREEN, round=4)
            names.text(LIST - 12, y + 21, "✓" * found, "white", anchor="middle", bold=True)
            names.target(0, y - 1.5, LIST, ROW, f"Look at {label}", module=i)
        return names

    def _draw_faults(self):
        """Draw the faults to choose from, for each patient in another order, and the verdict."""
        sheet = Sheet(FAULTS, 30 + ROW * len(WARD) + PITCH * 5, 24 / ROW)
        sheet.text(0, 16, "Which fault?", bold=True)
        sheet.text(FAULTS, 16, self.numbers["counted"], GREY, anchor="end")
        order = random.Random(f"ward {self.patient}").sample(list(WARD), len(WARD))
        for i, letter in enumerate(order):
            y, chosen, fault = 27.5 + ROW * i, letter == self.guess, WARD[letter]["fault"]
            tried = " ✗" * (letter in self._notes[self.patient][1])
            sheet.rect(0, y, FAULTS, ROW - 3, BLUE if chosen else PALE, round=4)
            sheet.text(8, y + 21, fault + tried, "white" if chosen else INK)
            sheet.target(0, y - 1.5, FAULTS, ROW, f"The fault: {fault}", guess=letter)
        for i, line in enumerate(wrap(" ".join(self._judged()), 31)):
            sheet.text(0, 48 + ROW * len(WARD) + PITCH * i, line)
        return sheet

    def _draw_map(self, title, seen):
        """Draw which outputs move with which word."""
        top, (high, wide), size = 74, seen.shape, (MAP - 24) // max(seen.shape)
        odd = seen != self.numbers["may"]
        sheet = Sheet(MAP, top + size * high + 50)
        sheet.text(24, 16, title, bold=True)
        sheet.text(24, 40, f"after {_plain(self.numbers['path'])}", GREY)
        sheet.text(24, top - 8, f"we change word 1 → {wide}", GREY)
        sheet.text(8, top, f"mark output 1 → {high}", GREY, turn=-90)
        for i in range(high):
            for j in range(wide):
                x, y = 24 + size * j, top + size * i
                fill = (ORANGE if odd[i, j] else BLUE) if seen[i, j] else PALE
                sheet.rect(x, y, size - 1, size - 1, fill)
                if odd[i, j] and not seen[i, j]:
                    sheet.rect(x + 3, y + 3, size - 7, size - 7, stroke=ORANGE, line=2, round=size)
        keys = (("■ changes", BLUE), ("□ doesn’t", GREY), ("■ too early", ORANGE),
                ("○ ignores it", ORANGE))  # fmt: skip
        for i, (words, colour) in enumerate(keys):
            sheet.text(24 + 124 * (i % 2), top + size * high + 22 + 22 * (i // 2), words, colour)
        return sheet

    def _draw_code(self):
        """Draw what mending changes in the patient's text."""
        lines = _difference(WARD[self.patient]["name"])
        sheet = Sheet(CODE, PITCH * len(lines) + 4)
        for i, (sign, tokens) in enumerate(lines):
            shown, line, colour = HOW[sign]
            sheet.text(0, 18 + PITCH * i, shown, colour, bold=True)
            sheet.marked(20, 18 + PITCH * i, tokens, line, colour, mono=True)
        return sheet
