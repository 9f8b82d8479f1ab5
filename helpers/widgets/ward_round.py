"""The ward round: look at what a broken model's parts depend on, and name the fault."""

import functools
import itertools
import random
import re
from difflib import unified_diff
from pathlib import Path
from textwrap import dedent, wrap

import torch
import traitlets

from helpers.clinic import examine
from helpers.machine.tables import table_beside
from helpers.models import ward
from helpers.models.patients import ALL, admit, source_of
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import odd_ones
from helpers.widgets.svg import PALE, Sheet

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
# Those whose fault moves what it mustn't.
WARD = table_beside(__file__)
LETTERS = [letter for letter in WARD if "name" in WARD[letter]]  # the rest only sound likely
LAST = 20  # no patient has more modules: each opens on its last, the whole model
MOVED = 1e-5  # relative to the largest output
# Pixels: a row's height; widths. List and faults side by side shrink to a phone's 286 pixels.
ROW, LIST, MAPS, FAULTS = 34, 177, 385, 212
TOKEN = re.compile(r'\s+|"[^"]*"|\.?\w+\(*|\W')
HOW = {"-": ("−", "line-through", ORANGE), "+": ("+", "underline", GREEN), " ": ("", "", GREY)}
CODE, PITCH = 700, 22  # pixels: how wide the longest line of code is, and from line to line
VERDICT = 48  # letters of a line below both lists


@functools.cache
def chart(name):
    """List the modules of patient `name`, the first unlike a healthy model's, and on which side.

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
    return modules, odd[0] if odd else None, side


@functools.cache
def later(name):
    """Measure which share of its weight each self-attention of a decoder gives to later words.

    The decoder is the patient of that `name`. What comes is a dict of float, from 0 to 1, by the
    path of the module.
    """
    model, options = admit(name)
    weights = {}
    for path, module in model.eval().named_modules():
        if path.startswith("layers.") and path.endswith("self_attention"):
            keep = functools.partial(weights.__setitem__, path)
            module.dropout.register_forward_pre_hook(lambda _, given, keep=keep: keep(given[0]))
    ids = torch.arange(1, 12)[None]
    with torch.no_grad():
        model(*[ids] * (1 + (options["kind"] == "encoder-decoder")))
    return {path: (each.triu(1).sum() / each.sum()).item() for path, each in weights.items()}


def _plain(path):
    """Say in words where a module is: "layers.0.self_attention" is "self-attention 1"."""
    path = (path or "the whole model").replace("_", "-")
    return re.sub(r"layers\.(\d)\.?(.*)", lambda m: f"{m[2] or 'layer'} {int(m[1]) + 1}", path)


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

    Each look pays for one guess.

    State: `patient`, one of `LETTERS`; `module`, numbered from the input; `guess`, a letter of
    `WARD`, whose fault it's said to be.
    """

    patient = traitlets.Enum(LETTERS, "A").tag(state=True)
    module = traitlets.Int(LAST, min=0, max=LAST).tag(state=True)
    guess = traitlets.Enum(("", *WARD), "").tag(state=True)

    def build(self):
        self.observe(self._open, names="patient")
        self.choice("patient", "Patient", ())

    def forget(self):
        self._notes = {letter: (set(), []) for letter in LETTERS}  # views and guesses

    def _open(self, _):
        found = self.patient in self._notes[self.patient][1]
        self.take({"module": LAST, "guess": self.patient * found})

    def compute(self):
        """Count what was looked at and guessed before the fault was found; the opening is free."""
        modules, first, side = chart(WARD[self.patient]["name"])
        self.module = min(self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        looks, guesses = self._notes[self.patient]
        if self.patient not in guesses:
            looks |= {self.module} - {len(modules) - 1}
            guesses += [self.guess] * (self.guess not in ("", *guesses))
        ticks = {letter: " ✓" * (letter in self._notes[letter][1]) for letter in LETTERS}
        patients = [(f"{one}: “{WARD[one]['noticed']}”{tick}", one) for one, tick in ticks.items()]
        self.choice("patient", "Patient", patients)
        seen, said = len(looks), len(guesses)
        counted = f"{seen} look{'s' * (seen != 1)}", f"{said} guess{'es' * (said != 1)}"
        return {"modules": modules, "path": path, "moved": moved, "may": may, "odd": moved != may,
                "first": first, "side": side, "counted": counted,
                "traced": {first - 1, first} <= looks, "paid": seen > said,
                "found": self.guess == self.patient}  # fmt: skip

    def describe(self):
        return " ".join((*self.tell(), *self._judged()))

    def tell(self):
        """Repeat the complaint, say what changes that mustn't or doesn't, and what to do next."""
        moved, odd, found = (self.numbers[name] for name in ("moved", "odd", "found"))
        modules, first = self.numbers["modules"], self.numbers["first"]
        wrong = min((i for i in self._notes[self.patient][0] if i >= first), default=self.module)
        early, missed = (int(cells.any(1).sum()) for cells in (odd & moved, odd & ~moved))
        told = [f"{early} of {len(odd)} outputs see later words"] * bool(early)
        told += [f"{missed} {'' if early else 'outputs '}ignore a word"] * bool(missed)
        if not moved.any():
            told = [f"no output changes with any {self.numbers['side']} word"]
        said = " and ".join(told * (not found)) or "every output changes as it should"
        asked = "Is the part above it right? Then the fault begins here."
        if found:
            asked = f"Found with {', '.join(self.numbers['counted'])}."
        elif self._notes[self.patient][1] and not self.numbers["paid"]:
            asked = "Each guess costs a look. First look at another part."
        elif self.numbers["traced"]:
            asked = f"The fault begins at {_plain(modules[first][0])}. Name it."
        elif wrong < self.module:
            asked = f"{_plain(modules[wrong][0])} is already wrong: look further up.".capitalize()
        elif not told:
            asked = "All is well so far. Does the fault begin further down?"
        elif not self.numbers["path"]:
            asked = "Where does the fault begin? Look at a part."
        said = f"{'after the repair, ' * found}{said}."
        return f"“{ALL[WARD[self.patient]['name']].complaint}”", said[0].upper() + said[1:], asked

    def _judged(self):
        """Say why a guess is right, or what rules it out, if that was looked at, or where to."""
        if not self.guess:
            return ()
        guess = WARD[self.guess]
        if self.numbers["found"]:
            return "Yes.", guess["why"]
        here, looks = WARD[self.patient]["here"][self.guess], self._notes[self.patient][0]
        paths = [path for path, *_ in self.numbers["modules"]]
        if guess.get("at") in paths and paths.index(guess["at"]) not in looks:
            here = "Look there."
        return f"No. With “{guess['fault']}”,", guess["would"], here

    def draw(self):
        """Draw the parts, what the chosen one depends on, the faults, and the mended lines."""
        faults, verdict = self._draw_faults(), wrap(" ".join(self._judged()), VERDICT)
        beside = Sheet(LIST + 16 + FAULTS, faults.height, 24 / ROW)
        self._draw_modules(beside)
        beside.put(faults, LIST + 16, 0)
        for line in verdict:
            beside.text(0, beside.height + 20, line)
            beside.height += PITCH
        return [self._draw_maps(), beside, *[self._draw_code()] * self.numbers["found"]]

    def _draw_modules(self, names):
        modules, found = self.numbers["modules"], self.numbers["found"]
        names.height = max(names.height, 26 + ROW * len(modules))
        names.text(0, 16, "✓ it begins here" if found else "Look at a part", bold=True)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 27.5 + ROW * i
            label, begins = _plain(path), found and i == self.numbers["first"]
            how = (BLUE, "white") if chosen else (PALE, INK)
            self._draw_place(names, y, LIST, label, *how, f"Look at {label}", module=i)
            names.rect(LIST - 24, y, 24 * begins, ROW - 3, GREEN, round=4)
            names.text(LIST - 12, y + 21, "✓" * begins, "white", anchor="middle", bold=True)

    def _draw_place(self, sheet, y, wide, words, fill, ink, label="", **changes):
        """Draw a part or a fault, to be pressed if it has a label."""
        sheet.rect(0, y, wide, ROW - 3, fill, round=4)
        sheet.text(8, y + 21, words, ink)
        if label:
            sheet.target(0, y - 1.5, wide, ROW, label, **changes)

    def _draw_faults(self):
        """Draw the faults, in another order for each patient."""
        found = self.numbers["found"]
        others = () if found else WARD[self.patient]["here"]  # or the mended lines are far away
        guesses, faults = self._notes[self.patient][1], [self.patient, *others]
        open_ = self.numbers["paid"] and not found
        order = random.Random(f"ward {self.patient}").sample(faults, len(faults))
        waiting = [one for one in LETTERS if one not in self._notes[one][1]] if found else []
        sheet = Sheet(FAULTS, 30 + ROW * (len(order) + bool(waiting)))
        sheet.text(0, 16, "Which fault?", bold=True)
        y = 27.5
        for letter in order:
            chosen, fault = letter == self.guess, WARD[letter]["fault"]
            tried = (" ✓" if found and chosen else " ✗") * (letter in guesses)
            fill = (GREEN if found else BLUE) if chosen else PALE
            ink = "white" if chosen else INK if open_ or found else GREY
            label = f"The fault: {fault}" * (open_ or letter in guesses and not found)
            self._draw_place(sheet, y, FAULTS, fault + tried, fill, ink, label, guess=letter)
            y += ROW
        for letter in waiting[:1]:
            words = f"Next patient: {letter}"
            self._draw_place(sheet, y + 3, FAULTS, words, BLUE, "white", words, patient=letter)
        return sheet

    def _draw_maps(self):
        """Draw which outputs move with which word, in this patient and in a healthy model."""
        ill, well, path = (self.numbers[name] for name in ("moved", "may", "path"))
        (high, wide), top, left = ill.shape, 94, 24
        step = (MAPS - left + 10) // 2  # from one grid to the other
        size = (step - 10) // wide
        low = top + size * high
        sheet = Sheet(MAPS, low + 76)
        sheet.text(0, 16, "What changes?", bold=True)
        sheet.text(MAPS, 16, ", ".join(self.numbers["counted"]), GREY, anchor="end")
        sheet.text(0, 40, f"after {_plain(path)}", GREY)
        word = "source word" if self.numbers["side"] == "source" else "word changed"
        sheet.text(0, 62, f"column: {word}, row: output", GREY)
        share = later(WARD[self.patient]["name"]).get(path)
        if share is not None:
            sheet.text(left, low + 68, f"weight on later words: {share:.0%}")
        titles = ("before", "mended") if self.numbers["found"] else ("patient", "healthy")
        for k, (title, seen) in enumerate(zip(titles, (ill, well), strict=True)):
            x = left + step * k
            sheet.text(x, top - 8, title, bold=True)
            for i, j in itertools.product(range(high), range(wide)):
                over, down, odd = x + size * j, top + size * i, seen[i, j] != well[i, j]
                fill = (ORANGE if odd else BLUE) if seen[i, j] else PALE
                sheet.rect(over, down, size - 1, size - 1, fill)
                if odd and not seen[i, j]:
                    half = (size - 1) / 2
                    sheet.dot(over + half, down + half, size / 3.6, "none", ORANGE, 2)
        for place, row in ((1, 0), (high, high - 1)):
            sheet.text(left - 4, top + size * (row + 1) - 1, place, GREY, anchor="end")
        keys = (("■ changes", BLUE), ("□ doesn’t", GREY), ("■ later word", ORANGE),
                ("○ ignores it", ORANGE))  # fmt: skip
        for i, (words, colour) in enumerate(keys):
            sheet.text(left + step * (i % 2), low + 22 + 22 * (i // 2), words, colour)
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
