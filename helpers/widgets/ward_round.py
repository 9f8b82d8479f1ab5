"""The ward round: change a word at a time, and find the module at which an illness begins."""

import functools
import re
from difflib import ndiff, unified_diff
from pathlib import Path
from textwrap import dedent

import torch
import traitlets

from helpers.clinic import examine
from helpers.models import ward
from helpers.models.patients import ELSEWHERE, PATIENTS, admit, source_of
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, lines_of_text

SHOWN = ("embedding", "self_attention", "cross_attention", "encoder", "output")
ALL = PATIENTS | ELSEWHERE
# Those whose fault moves what it mustn't, by letters and words that don't give it away; and why.
WARD = {
    "A": ("no mask", "falls too fast",
          "Nothing is masked, so the next word can be copied. After a late mask its weight is 0, "
          "and the loss would only be “too good”."),
    "B": ("its own keys", "always the same", "Its keys and values don’t come from the source."),
    "C": ("down the sentence", "fine maps", "Each mean is over all words, later ones, too."),
    "D": ("flipped", "cheats and forgets", "The mask hides the past and shows the future."),
    "E": ("heads", "only copies", "Each vector is put together from heads of several words."),
    "F": ("too late", "too good",
          "Later words have the weight 0, so there’s a mask. It comes too late: they are already "
          "in the softmax’s sum."),
}  # fmt: skip
ALIKE = ("no mask", "too late")  # a change of a word can't tell them apart
MOVED = 1e-5  # relative to the largest output
ROW, LIST, MAP = 34, 238, 264  # pixels: a module's height, and widths; two maps beside the list
TOKEN = re.compile(r'\s+|"[^"]*"|\.?\w+\(*|\W')
LETTER, COLUMNS, PITCH = 10.2, 36, 22  # of code: pixels, and how many letters fit on a phone


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
def _difference(name):
    """List the lines that differ once a patient is mended: a sign, and (token, changed) pairs."""
    texts = source_of(ALL[name]), Path(ward.__file__).read_text(encoding="utf-8")
    lines = [*unified_diff(*(text.splitlines() for text in texts), n=1, lineterm="")][3:]
    places = [i for i, line in enumerate(lines) if line[0] != " "]
    lines = lines[places[0] : places[-1] + 1]
    code = dedent("\n".join(line[1:] for line in lines)).splitlines()
    pieces = [(line[0], TOKEN.findall(words)) for line, words in zip(lines, code, strict=True)]
    sides = ([token for own, each in pieces if own == sign for token in each] for sign in "-+")
    marks = [one[0] for one in ndiff(*sides)]
    odd = {own: iter([mark == own for mark in marks if mark in (own, " ")]) for own in "-+"}
    return [(own, [(one, own != " " and next(odd[own])) for one in each]) for own, each in pieces]


class WardRound(Explorer):
    """Where does it begin? Press the module that you suspect in an ill Transformer.

    State: `patient`, a letter of `WARD`; `module`, numbered from the input; `word`, 0 for all.
    """

    patient = traitlets.Enum(tuple(WARD), "A").tag(state=True)
    module = traitlets.Int(20, min=0, max=20).tag(state=True)
    word = traitlets.Int(0, min=0, max=13).tag(state=True)

    def build(self):
        self._mended = set()
        self.observe(lambda _: self.take({"module": 20, "word": 0}), names="patient")

    def compute(self):
        modules, first = chart(WARD[self.patient][0])
        self.module = min(self.module, len(modules) - 1)
        path, moved, may = modules[self.module]
        self.word = min(self.word, moved.shape[1])
        self._mended |= {self.patient} if self.module == first else set()
        ticks = {letter: " ✓" * (letter in self._mended) for letter in WARD}
        patients = [(f"{one}: “{WARD[one][1]}”{tick}", one) for one, tick in ticks.items()]
        self.choice("patient", "Patient", patients)
        return {"modules": modules, "path": path or "the whole model", "moved": moved, "may": may,
                "odd": moved != may, "first": first}  # fmt: skip

    def tell(self):
        """Repeat the complaint, say what changes that mustn't or doesn't, and judge a suspicion."""
        moved, odd, first = (self.numbers[name] for name in ("moved", "odd", "first"))
        name, found = WARD[self.patient][0], self.module == first
        early, missed = (int(cells.any(1).sum()) for cells in (odd & moved, odd & ~moved))
        told = [f"{early} of {len(odd)} outputs change too early"] * bool(early)
        told += [f"{missed} {'' if early else 'outputs '}ignore a word"] * bool(missed)
        well = "every output changes as it should"
        said = f"Mended, {well}." if found else f"{', '.join(told) or well.capitalize()}."
        if self.word:
            now, due = (int(cells[:, self.word - 1].sum()) for cells in (moved, moved ^ odd))
            shown, other = (due, f"before: {now}") if found else (now, f"healthy: {due}")
            said = f"Word {self.word} changes {shown} output{'s' * (shown != 1)} ({other})."
        if found:
            asked = f"Yes, it begins here: “{ALL[name].finding}”."
            if name in ALIKE:
                asked = "Yes: no mask, or a late one. The complaint says which."
        elif not told:
            asked = "No: up to here all is well. Look further down."
        elif self.numbers["path"] == "the whole model":
            asked = "Where does it begin? Press a part, or a word’s column."
        else:
            asked = "No: something further up is already wrong."
        return f"“{ALL[name].complaint}”", said, asked

    def draw(self):
        """Draw the modules and what they depend on; once it's found, also its lines, and why."""
        ill, well = self.numbers["moved"], self.numbers["may"]
        if self.module != self.numbers["first"]:
            maps = self._draw_map("this patient", ill), self._draw_map("healthy", well, spare=True)
            return [self._draw_modules(), *maps]
        maps = self._draw_map("mended", well), self._draw_map("before", ill, spare=True)
        why = lines_of_text(("Why?", WARD[self.patient][2]), 326, 33, PITCH)
        return [self._draw_modules(), *maps, self._draw_code(), *why]

    def _draw_modules(self):
        modules = self.numbers["modules"]
        names = Sheet(LIST, 26 + ROW * len(modules), 24 / ROW)
        names.text(0, 16, "Press what you suspect", INK, bold=True)
        for i, (path, *_) in enumerate(modules):
            chosen, y = i == self.module, 27.5 + ROW * i
            names.rect(0, y, LIST, ROW - 3, BLUE if chosen else PALE, round=4)
            label = _plain(path) or "the whole model"
            names.text(8, y + 21, label, "white" if chosen else INK)
            found = self.patient in self._mended and i == self.numbers["first"]
            names.rect(LIST - 24, y, 24 * found, ROW - 3, GREEN, round=4)
            names.text(LIST - 12, y + 21, "✓" * found, "white", anchor="middle", bold=True)
            names.target(0, y - 1.5, LIST, ROW, f"Suspect {label}", module=i)
        return names

    def _draw_map(self, title, seen, spare=False):
        """Draw which outputs move with which word; one map can be pressed, the other is `spare`."""
        top, (high, wide), size = 74, seen.shape, (MAP - 24) // max(seen.shape)
        odd = seen != self.numbers["may"]
        sheet = Sheet(MAP, top + size * high + (48 if odd.any() else 4), spare=spare)
        sheet.text(24, 16, title, bold=True)
        sheet.text(24, 40, f"after {_plain(self.numbers['path'])}", GREY)
        sheet.text(24, top - 8, f"word 1 → {wide}", GREY)
        sheet.text(16, top + size * high, f"output 1 → {high}", GREY, turn=90)
        for i in range(high):
            for j in range(wide):
                x, y = 24 + size * j, top + size * i
                fill = (ORANGE if odd[i, j] else BLUE) if seen[i, j] else PALE
                sheet.rect(x, y, size - 1, size - 1, fill)
                if odd[i, j] and not seen[i, j]:
                    sheet.rect(x + 3, y + 3, size - 7, size - 7, stroke=ORANGE, line=2, round=size)
        at, framed = 24 + size * (self.word - 1) - 1.5, (size + 2) * bool(self.word)
        sheet.rect(at, top - 1.5, framed, size * high + 2, stroke=INK, line=2.5)
        for j in range(0 if spare else wide):
            place, word = (24 + size * j, top - 24, size, size * high + 24), j + 1
            sheet.target(*place, f"Change word {word}", word=0 if word == self.word else word)
        keys = ("■ too early", odd & seen), ("○ ignores a word", odd & ~seen)
        for i, words in enumerate(words for words, cells in keys if cells.any()):
            sheet.text(24, top + size * high + 20 + 22 * i, words, ORANGE)
        return sheet

    def _draw_code(self):
        """Draw what mending changes in the patient's text; lines are broken between tokens."""
        sheet, y = Sheet(LETTER * COLUMNS + 4, 0), 0
        for sign, tokens in _difference(WARD[self.patient][0]):
            x, y, colour = 2, y + PITCH, {"-": ORANGE, "+": GREEN, " ": GREY}[sign]
            sheet.text(0, y - 6, sign.replace("-", "−"), colour, 17, bold=True, mono=True)
            for token, changed in tokens:
                if x + len(token) > COLUMNS:
                    x, y = 6, y + PITCH
                wide = LETTER * len(token) * (changed and token != " ")
                sheet.rect(LETTER * x, y - 21, wide, PITCH - 2, colour, opacity=0.25)
                sheet.text(LETTER * x, y - 6, token, INK if sign != " " else GREY, 17, mono=True)
                x += len(token)
        sheet.height = y + 4
        return sheet
