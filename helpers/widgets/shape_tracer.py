"""Every tensor of a sentence on its way through the Transformer, and the line that makes it."""

import math
from textwrap import wrap

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, SIGNED, WEIGHTS
from helpers.widgets.readable import readable
from helpers.widgets.sentence_explorer import TranslatedSentence
from helpers.widgets.shape_steps import N_STAGES, stages, try_line
from helpers.widgets.svg import BAD, PALE, Sheet, number, shade

# Pixels from one line of the lists to the next, lines of the first list, pixels of a list's width.
ROW, HALF, LIST = 28, 13, 194
LETTER = 12  # pixels from one letter of a shape to the next
SENTENCE = "Une femme en robe bleue danse sur une scène."  # English needs two pieces more
COLOURS = {"encoder": BLUE, "decoder": ORANGE, "output": PURPLE}
LETTERS = {
    "B": "sentences in the batch",
    "S": "tokens of the source",
    "T": "tokens of the target",
    "D": "width of the model",
    "H": "heads",
    "K": "width of a head, dₖ",
    "F": "width inside the FFN",
    "V": "vocabulary",
}

SHORT = {
    "embeddings × √D": "embeddings",
    "contexts of the heads": "head contexts",
    "joined, through W_O": "through W_O",
    "feed-forward, inside": "FFN, inside",
    "target ids, shifted": "shifted ids",
    "after the last layer": "last layer",
}


class ShapeTracer(TranslatedSentence):
    """Step through every tensor that a sentence becomes, and break the line that makes it.

    Parameters
    ----------
    translator : Translator
    sentence : str, default="Une femme en robe bleue danse sur une scène."
        French, at most 24 pieces.
    **state : traits
        `step`: which tensor, from 1 to 28; `lit`: a letter, to mark all tensors that have it;
        `line`: the line of code that makes the tensor, as the learner has changed it.

    Raises
    ------
    ValueError
        If the sentence cannot be translated or is too long to draw.
    """

    step = traitlets.Int(7, min=1, max=N_STAGES).tag(state=True)
    lit = traitlets.Enum(["", *LETTERS], default_value="").tag(state=True)
    line = traitlets.Unicode().tag(state=True)

    def __init__(self, translator, sentence=SENTENCE, **state):
        super().__init__(translator, sentence, **state)

    def build(self):
        self.words("sentence", "Sentence", wide=True)
        self.play("step", "Tensor", interval=1800)
        self.button(
            "Break it",
            lambda _: self.take({"line": self._stage.slip}),
            "Put a typical mistake into the line",
        )
        self.button("Mend it", self._mend, "Put the line back as it was")
        self.words("line", "Line", wide=True)
        self.controls["line"].second = True
        self.line = self.line or self._stage.line

    @property
    def _stage(self):
        return self.once(self.sentence, self._follow)["stages"][self.step - 1]

    def _mend(self, _=None):
        self.line = self._stage.line

    @traitlets.observe("step", "sentence")
    def _follow_line(self, change):
        if self.controls:
            self._mend()

    @traitlets.validate("line")
    def _never_empty(self, proposal):
        return " ".join(proposal.value.split()) or self._stage.line

    def _follow(self):
        """Follow the sentence."""
        tokenizer, model = self._translator.tokenizer, self._translator.model
        src_ids = self._translator.encode([self.sentence])
        translation = self._translator.translate(self.sentence)
        tgt_ids = torch.tensor([tokenizer.encode(translation, bos=True)])
        return {
            "translation": translation,
            "S": readable(tokenizer.tokens(src_ids[0].tolist())),
            "T": readable(tokenizer.tokens(tgt_ids[0].tolist())),
            "stages": stages(model, src_ids, tgt_ids),
        }

    def compute(self):
        """Choose the tensor, and run its line if that was changed."""
        found, stage = self.once(self.sentence, self._follow), self._stage
        changed = self.line not in {one.line for one in found["stages"]}
        self.controls["Break it"].hidden, self.controls["Mend it"].hidden = changed, not changed
        return {
            **found,
            "stage": stage,
            "sizes": {
                letter: size
                for one in found["stages"]
                for letter, size in zip(one.letters.split(), one.tensor.shape, strict=True)
            },
            "trial": try_line(self.line, stage.names, stage.tensor.shape) if changed else None,
        }

    def describe(self):
        stage = self.numbers["stage"]
        return (
            f"“{self.sentence}” on its way to “{self.numbers['translation']}”. Tensor {self.step} "
            f"of {N_STAGES}, {stage.part}: {stage.name}, shape {stage.letters}, "
            f"{tuple(stage.tensor.shape)}. {' '.join(self._words())} "
            f"{self._letter() * bool(self.lit)}"
        )

    def _words(self):
        """Say what the tensor is, or what became of the changed line."""
        stage, trial = self.numbers["stage"], self.numbers["trial"]
        if trial and trial.tensor is None:
            return [part for part in (trial.why, trial.said) if part]
        if trial:
            if trial.tensor.equal(stage.tensor):
                return ["The same tensor, entry by entry.", "Your line is right as well."]
            return ["The shape is right, but the numbers differ.", "PyTorch can't notice that."]
        return stage.meaning

    def _letter(self):
        """Say what the lit letter is, and how many tensors have it."""
        if not self.lit:
            return "Light up a size:"
        count = sum(self.lit in one.letters for one in self.numbers["stages"])
        size = self.numbers["sizes"][self.lit]
        return f"{self.lit} = {size}: {LETTERS[self.lit]}, in {count} of {N_STAGES}"

    def tell(self):
        """Say which tensor it is, and what to try."""
        stage, trial = self.numbers["stage"], self.numbers["trial"]
        shape, asked = f"{tuple(stage.tensor.shape)}.", "Mend it yourself, or press “Mend it”."
        if not trial:
            asked = "Press “Break it”: the line gets a typical mistake. Will PyTorch notice?"
        elif trial.tensor is None:
            clash = "Which letters clash? " if trial.operands else ""
            shape, asked = "this line fails.", clash + asked
        elif not trial.tensor.equal(stage.tensor):
            asked = f"What does your line do otherwise? {asked}"
        return f"Tensor {self.step} of {N_STAGES}, {stage.name}: {shape}", asked

    def draw(self):
        chosen, trial = Sheet(390, 446), self.numbers["trial"]
        stage = self.numbers["stage"]
        if trial and trial.tensor is None:
            self._draw_clash(chosen, trial)
        else:
            tensor = trial.tensor if trial else stage.tensor
            self._draw_shape(chosen, 2, tensor.shape, COLOURS[stage.part], stage.letters.split())
            for i, line in enumerate(self._words()):
                chosen.text(0, 84 + 22 * i, line, BAD if trial else INK)
            self._draw_tensor(chosen, 0, 146, stage, tensor[0])
        self._draw_letters(chosen, 410)
        halves = (((0, "encoder"),), 0, HALF), (((0, "decoder"), (101, "output")), HALF, N_STAGES)
        return [chosen, *(self._draw_list(*half) for half in halves)]

    def _draw_list(self, titles, first, last):
        """Draw some tensors' names; a phone shows the list that the chosen one stands in."""
        spare = not first < self.step <= last
        sheet = Sheet(LIST, 26 + ROW * (last - first), least=24 / ROW, spare=spare)
        for x, words in titles:
            sheet.text(x, 18, words, COLOURS[words], bold=True)
        for i, stage in enumerate(self.numbers["stages"][first:last], first):
            y, now, colour = 26 + ROW * (i - first), i == self.step - 1, COLOURS[stage.part]
            letters = stage.letters.split()
            off = self.lit and self.lit not in letters
            sheet.rect(0, y, LIST, ROW - 2, colour if now else "none", opacity=0.18, round=4)
            sheet.rect(0, y, 5, ROW - 2, colour)
            name = SHORT.get(stage.name, stage.name.removesuffix(", layer 1"))
            sheet.text(11, y + 19, name, GREY if off else INK)
            for place, letter in enumerate(reversed(letters)):
                at, on = LIST - 8 - LETTER * place, letter == self.lit
                sheet.rect(at - 6, y + 3, LETTER, 20, colour if on else "none", round=3)
                sheet.text(at, y + 19, letter, "white" if on else GREY if off else colour,
                           anchor="middle", bold=now or on)  # fmt: skip
            label = f"Tensor {i + 1}, {stage.part}: {stage.name}, {stage.letters}"
            sheet.target(0, y - 1, LIST, ROW, label, step=i + 1)
        return sheet

    def _draw_letters(self, sheet, y):
        """Draw the letters, to be lit."""
        sheet.text(0, y - 8, self._letter(), BLUE if self.lit else GREY)
        for i, (letter, words) in enumerate(LETTERS.items()):
            x, on = 42 * i, letter == self.lit
            sheet.rect(x, y, 36, 34, BLUE if on else PALE, GREY, 1, round=4)
            sheet.text(x + 18, y + 23, letter, "white" if on else INK, anchor="middle", bold=True)
            label = f"Light up {letter}: {words}"
            sheet.target(x - 1, y - 1, 38, 36, label, lit="" if on else letter)

    def _draw_shape(self, sheet, y, shape, colour, letters=None, bad=()):
        """Draw a shape as boxes with the size and, if it can be told, the letter of each."""
        sizes = self.numbers["sizes"].items()
        width = min(84, 382 / max(len(shape), 1) - 8)
        for i, n in enumerate(shape):
            left, fits = (width + 8) * i, [letter for letter, size in sizes if size == n]
            letter = letters[i] if letters else fits[0] if len(fits) == 1 else ""
            shade = BAD if i in bad else colour
            frame = shade if i in bad or (letter and letter == self.lit) else None
            sheet.rect(left, y, width, 58, shade, frame, 3, 6, 0.14)
            sheet.text(left + width / 2, y + 28, n, INK, 24, "middle", bold=True)
            sheet.text(left + width / 2, y + 50, letter, shade, 16, "middle", bold=True)
            if letter:
                label = f"Light up {letter}, {n} in dimension {i + 1} here"
                lit = "" if letter == self.lit else letter
                sheet.target(left, y, width, 58, label, lit=lit)

    def _draw_clash(self, sheet, trial):
        """Draw what the failing operation was given, the clash marked, and the reason."""
        y = 0
        for words, shape, bad in trial.operands:
            sheet.text(0, y + 14, words if len(words) < 42 else f"{words[:40]}…", INK, bold=True)
            self._draw_shape(sheet, y + 22, shape, GREY, bad=bad)
            y += 92
        said = [(line, GREY) for line in wrap(f"PyTorch: {trial.said}", 42)[:4] if trial.said]
        for line, colour in [(line, BAD) for line in wrap(trial.why, 39)] + said:
            y += 22
            sheet.text(0, y, line, colour, bold=colour == BAD)

    def _draw_tensor(self, sheet, x, y, stage, tensor):
        """Draw the numbers of the last two axes, with the tokens beside the rows."""
        letters = stage.letters.split()[1:]
        if tensor.dim() == 1:
            return self._draw_ids(sheet, x, y, tensor, letters[0])
        values = tensor[0] if tensor.dim() == 3 else tensor
        row_letter, column_letter = letters[-2:]
        tokens = self.numbers[row_letter]
        width, left = 290, x + 96
        named = self.numbers[column_letter] if column_letter in "ST" else []
        row = min(20, (170 if named else 200) / len(tokens))
        parts = bool(named) or stage.name == "probabilities"
        span = 1.0 if parts else max(values.abs().max().item(), 1e-6)
        picture = values[:, :512]
        sheet.pixels(left, y + 6, width, row * len(tokens), picture, WEIGHTS if parts else SIGNED,
                     0 if parts else -span, span)  # fmt: skip
        sheet.rect(left, y + 6, width, row * len(tokens), stroke=GREY, line=1)
        every = math.ceil(12 / row)
        for i, token in enumerate(tokens):
            at = y + 6 + row * (i + 0.5)
            sheet.line(left - 8, at, left - 2, at)
            if i % every == 0:
                sheet.text(left - 12, at + 6, token[:9], GREY, anchor="end")
        shown = f"{row_letter} down, {column_letter} across"
        shown += f" (the first {picture.shape[1]})" if picture.shape[1] < values.shape[1] else ""
        shown += "; head 1" if tensor.dim() == 3 else ""
        sheet.text(left, y - 6, shown, GREY)
        bottom = y + row * len(tokens) + 11
        if not named:
            return self._draw_key(sheet, left, bottom + 10, span, parts)
        for i in range(0, len(named), math.ceil(12 * len(named) / width)):
            at = left + width * (i + 0.5) / len(named) + 6
            sheet.text(at, bottom, named[i][:6], GREY, anchor="end", turn=90)
        self._draw_key(sheet, 6, bottom, span, parts, 4)

    def _draw_ids(self, sheet, x, y, ids, letter):
        """Write the ids and their pieces."""
        pieces = readable(self._translator.tokenizer.tokens(ids.tolist()))
        sheet.text(x, y - 6, f"{letter} down", GREY)
        for i, piece in enumerate(pieces):
            column, place = divmod(i, 9)
            at = y + 18 + 22 * place
            sheet.text(x + 44 + 130 * column, at, ids[i].item(), GREY, anchor="end")
            sheet.text(x + 52 + 130 * column, at, piece[:8], INK)

    def _draw_key(self, sheet, x, y, span, parts, cells=12):
        low = 0 if parts else -span
        colours = WEIGHTS if parts else SIGNED
        sheet.text(x, y + 14, number(low, 1 - parts), GREY)
        start = x + (16 if parts else 52)
        for i in range(cells):
            sheet.rect(start + 12 * i, y, 12.5, 16, shade(colours, i / (cells - 1)))
        sheet.text(start + 12 * cells + 6, y + 14, number(span, 1 - parts), GREY)
