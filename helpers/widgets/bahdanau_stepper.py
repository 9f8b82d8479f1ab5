"""Bahdanau's look back at one output step; the learner can make it look elsewhere."""

from itertools import pairwise
from textwrap import wrap

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.rnn_stepper import ENDS, MOST, TOP, SentenceStepper, draw_cells
from helpers.widgets.svg import Sheet, number, shade, share

WIDE, HEIGHT, PITCH, COLUMN = 308, 406, 28, 24  # pixels: a drawing, and a cell of the map
LEAST = 24 / PITCH
OWN = -1  # nobody told the model where to look


class BahdanauStepper(SentenceStepper):
    """Watch the decoder look back before it writes a token, or make it look elsewhere.

    It opens where the largest weight is about to go back: at an adjective, in French. Arguments are
    as in `SentenceStepper`.

    State: `output_step` (which token is being written, from 1) and `forced` (the source position
    that gets all weight at this step, from 0, or −1 for the model's own weights).

    Source
    ------
    Bahdanau et al. (2015), section 3.1.
    """

    attention = "additive"
    output_step = traitlets.Int(1, min=1, max=MOST).tag(state=True)
    forced = traitlets.Int(OWN, min=OWN, max=MOST - 1).tag(state=True)

    def opening(self):
        """Find the step, from 1, after which the largest weight goes back furthest."""
        most = self.traces()[0]["weights"].argmax(dim=1).tolist()
        back = [here - after for here, after in pairwise(most)]
        return {"output_step": back.index(max(back)) + 1 if back and max(back) > 0 else 1}

    def build(self):
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        self.play("output_step", "Output step", interval=1500)
        self.observe(lambda _: self.set_trait("forced", OWN), names="output_step")

    def compute(self):
        """Look once from the state before this step; find the three likeliest tokens."""
        (whole,) = self.traces()
        self.limit("output_step", len(whole["target"]))
        t = self.output_step - 1
        there = self.forced < len(whole["source"])
        told = {"look": {t: self.forced}} if there and self.forced != OWN else {}
        found = dict(*self.traces(**told))
        found["told"], found["whole"] = bool(told), whole
        found["state"] = found["states"][t]
        found["alpha"], layer = found["weights"][t], self._model.decoder.attention
        hidden = torch.tanh(layer.query_proj(found["state"]) + layer.key_proj(found["encoder"]))
        found["scores"] = layer.energy(hidden)[:, 0].detach()  # eq. (6) of the paper
        found["context"] = found["alpha"] @ found["encoder"]
        chances, ids = found["probabilities"][t].topk(min(3, len(self._target)))
        found["candidates"] = list(zip(self._target.tokens(ids), chances.tolist(), strict=True))
        return found

    def describe(self):
        found = self.numbers
        weights = ", ".join(
            f"{word} {share(weight)}"
            for word, weight in zip(found["source"], found["alpha"].tolist(), strict=True)
        )
        return (
            f"Translation of “{self.sentence}”, output step {self.output_step}. "
            f"{' '.join(self.tell())} Weights: {weights}."
        )

    def tell(self):
        """Say where the model looks and what it writes, and what to try."""
        found = self.numbers
        word, chance = found["candidates"][0]
        at, most = found["source"][found["alpha"].argmax()], share(found["alpha"].max())
        if not found["told"]:
            return (
                f"Before “{word}” (probability {share(chance)}), the decoder looks mainly at "
                f"“{at}” (weight {most}).",
                "Press another French word: all weight goes there. What does it write then?",
            )
        own = found["whole"]["target"][self.output_step - 1]
        then = "it still writes" if word == own else f"instead of “{own}” it writes"
        return (
            f"Told to look at “{at}” alone, {then} “{word}” (probability {share(chance)}).",
            "Press the same word again to let the model look for itself.",
        )

    def draw(self):
        return [self._draw_look(), self._draw_outcome()]

    def _draw_look(self):
        """Draw a band from every source word to the context, as wide as its weight."""
        sheet, found = Sheet(WIDE, HEIGHT, LEAST), self.numbers
        middle = TOP + PITCH * len(found["source"]) / 2
        for x, words in ((138, "1 score"), (218, "2 weight"), (WIDE, "3 context")):
            sheet.text(x, 48, words, GREY, anchor="end")
        sheet.text(0, 18, f"Where to look before token {self.output_step}", BLUE, bold=True)
        for i, word in enumerate(found["source"]):
            y, weight = TOP + PITCH * i + 10, found["alpha"][i].item()
            chosen = self.forced == i
            sheet.text(80, y + 6, word, BLUE, anchor="end", bold=chosen)
            score = "" if found["told"] else number(found["scores"][i])
            sheet.text(138, y + 6, score, GREY, anchor="end")
            label = "Let the model look for itself" if chosen else f"Look at {word} ({i + 1}) alone"
            sheet.target(0, y - 14, 200, PITCH, label, forced=OWN if chosen else i)
            sheet.text(150, y + 6, share(weight) if weight >= 0.005 else "", INK)
            bend = [(3 * s * s - 2 * s**3, s) for s in (k / 12 for k in range(13))]
            points = [(200 + 40 * s, y + (middle - y) * up) for up, s in bend]
            sheet.path(points, BLUE, max(1, 20 * weight) if weight >= 0.005 else 0)
        ends = torch.cat([half[:4] for half in found["context"].chunk(2)])  # of both directions
        draw_cells(sheet, 240, middle - 22, ends, PURPLE, (68, 44), 2)
        sheet.text(0, HEIGHT - 82, "4 next token", GREY)
        for i, (word, chance) in enumerate(found["candidates"]):
            at = HEIGHT - 72 + 25 * i
            sheet.text(86, at + 16, word, PURPLE if i == 0 else INK, anchor="end", bold=i == 0)
            sheet.bar(98, at, 150, 20, chance, PURPLE)
            sheet.text(256, at + 16, share(chance) if chance >= 0.005 else "", GREY)
        return sheet

    def _draw_outcome(self):
        """Draw the alignment map, a row per token, and the sentence that comes of it."""
        sheet, found = Sheet(WIDE, HEIGHT, LEAST), self.numbers
        sheet.text(0, 18, "All steps: press one to see it", INK, bold=True)
        for i, word in enumerate(found["source"]):
            sheet.text(94 + COLUMN * (i + 0.4), 92, word[:8], BLUE, turn=50)
        whole = found["whole"]["target"]
        for t, word in enumerate(found["target"]):
            y, now = 98 + PITCH * t, t + 1 == self.output_step
            other = t >= len(whole) or whole[t] != word
            sheet.text(84, y + 20, word, ORANGE if other else INK, anchor="end", bold=now or other)
            for i, weight in enumerate(found["weights"][t].tolist()):
                sheet.rect(92 + COLUMN * i, y, COLUMN - 1, PITCH - 1, shade(WEIGHTS, weight))
            if t < len(whole):
                sheet.target(0, y, WIDE, PITCH, f"See step {t + 1}", output_step=t + 1, forced=OWN)
        y, wide = 97 + PITCH * (self.output_step - 1), COLUMN * len(found["source"]) + 1
        sheet.rect(91, y, wide, PITCH + 1, "none", ORANGE, 2.5)
        words = " ".join(token for token in found["target"] if token != "<eos>")
        more = "" if found["target"][-1] in ENDS else " …"
        for i, line in enumerate(wrap(f"“{words}{more}”", 36)):
            sheet.text(0, HEIGHT - 34 + 24 * i, line, ORANGE if found["told"] else INK)
        return sheet
