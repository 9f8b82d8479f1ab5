"""Bahdanau's attention, one decoding step at a time: energies, weights, context, next token."""

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.rnn_stepper import (
    CELL,
    MOST,
    SHOWN,
    SentenceStepper,
    draw_scale,
    draw_state,
)
from helpers.widgets.svg import PALE, Sheet, number

STAGES = ("energies", "weights", "context", "next token")
HEIGHT = 426  # pixels
TOP, PITCH = 62, 30  # the first row, and to the next
COLUMN, ROW = 32, 22  # of the alignment map


@torch.no_grad()
def look(attention, state, states):
    """Look once at the encoder's states, and keep the energies too.

    Parameters
    ----------
    attention : AdditiveAttention
    state : Tensor of shape (D_h,)
        The decoder's state before the step.
    states : Tensor of shape (S, D_h)

    Returns
    -------
    energies, weights : Tensor of shape (S,)
    context : Tensor of shape (D_h,)

    Source
    ------
    Bahdanau et al. (2015), section 3.1, eq. (5) and (6).
    """
    hidden = torch.tanh(attention.query_proj(state) + attention.key_proj(states))
    context, weights = attention(state[None], states[None])
    return attention.energy(hidden)[:, 0], weights[0], context[0]


class BahdanauStepper(SentenceStepper):
    """Watch the decoder look back at the source before it writes each token.

    Parameters
    ----------
    model : Seq2Seq
        With attention="additive".
    source_vocabulary, target_vocabulary : WordVocabulary
    sentence : str
        Words with spaces between them, the full stop included.
    **state : traits
        `output_step`: which token is being written, from 1. `stage`: 1 energies, 2 weights,
        3 context, 4 next token.

    Source
    ------
    Bahdanau et al. (2015), section 3.1.
    """

    attention = "additive"
    output_step = traitlets.Int(1, min=1, max=MOST).tag(state=True)
    stage = traitlets.Int(1, min=1, max=len(STAGES)).tag(state=True)

    still = {"output_step": 3, "stage": 4}

    def build(self):
        """Make the controls."""
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        self.play("output_step", "Output step t", interval=1100)
        self.choice("stage", "Stage", [(f"{i}  {s}", i) for i, s in enumerate(STAGES, 1)])
        self.button("Next stage", self.forward)
        self.button("Start again", self.reset)

    def advance(self, trait):
        """Playing goes through the stages of every step."""
        self.forward()

    def forward(self, *_):
        """Go to the next stage; after the last, to the first of the next output step."""
        if self.stage < len(STAGES):
            self.stage += 1
        elif self.output_step < len(self.numbers["target"]):
            with self.together():
                self.stage, self.output_step = 1, self.output_step + 1

    def compute(self):
        """Look once from the state before this step; find the three likeliest tokens."""
        found = dict(self.trace())
        self.limit("output_step", len(found["target"]))
        t = self.output_step - 1
        found["state"] = found["states"][t]
        layer = self._model.decoder.attention
        found["energies"], found["alpha"], found["context"] = look(
            layer, found["state"], found["encoder"]
        )
        chances, ids = found["probabilities"][t].topk(min(3, len(self._target)))
        found["candidates"] = list(zip(self._target.tokens(ids), chances.tolist(), strict=True))
        return found

    def describe(self):
        """Say in words what the picture shows."""
        return (
            f"Translation of “{self.sentence}”, output step {self.output_step}, "
            f"stage {self.stage}, {STAGES[self.stage - 1]}. {' '.join(self.tell())}"
        )

    def tell(self):
        """Say what happens at this stage, in two lines."""
        found, t = self.numbers, self.output_step
        most = found["alpha"].argmax().item()
        word, chance = found["candidates"][0]
        return (
            (
                f"1  Energies: score every source state against the state before step {t}.",
                f"e = v · tanh(W s + U h). The largest is at “{found['source'][most]}”.",
            ),
            (
                "2  Weights: a softmax turns the energies into weights that sum to 1.",
                f"“{found['source'][most]}” gets {number(found['alpha'][most])}.",
            ),
            (
                "3  Context: multiply each source state by its weight and add them up.",
                "Every step gets its own context. Without attention there is only one for all.",
            ),
            (
                f"4  Next token: the context and “{found['input'][t - 1]}” give the next state.",
                f"The likeliest token is “{word}”, probability {number(chance)}.",
            ),
        )[self.stage - 1]

    def draw(self):
        """Draw the step as far as its stage, and the map of all steps beside it."""
        return [self._draw_source(), self._draw_outcome()]

    def _draw_source(self):
        """Draw a row for every source word: its state, its energy, its weight."""
        sheet, found, stage = Sheet(400, HEIGHT), self.numbers, self.stage
        heads = ((110, "state h", BLUE, 1), (276, "energy e", ORANGE, 1), (290, "weight α", INK, 2))
        for x, words, colour, first in heads:
            anchor = "end" if x == 276 else "start"
            sheet.text(x, 46, words, colour if stage >= first else GREY, anchor=anchor)
        sheet.text(0, 18, f"Source, seen at output step {self.output_step}", BLUE, bold=True)
        for i, word in enumerate(found["source"]):
            y, weight = TOP + PITCH * i, found["alpha"][i].item()
            sheet.text(90, y + 16, word, BLUE, anchor="end")
            # Half of each direction's first numbers: enough to tell the states apart.
            draw_state(sheet, 110, y, _ends(found["encoder"][i], SHOWN // 2),
                       PURPLE if stage == 3 and weight > 0.1 else None)  # fmt: skip
            sheet.text(276, y + 16, number(found["energies"][i]), ORANGE, anchor="end")
            sheet.rect(290, y, 60, 20, PALE)
            sheet.rect(290, y, 60 * weight if stage > 1 else 0, 20, BLUE)
            shown = stage > 1 and weight >= 0.005
            sheet.text(356, y + 16, number(weight) if shown else "", INK)
        y = TOP + PITCH * MOST + 14
        rows = (("s", "state before the step", found["state"], ORANGE, True),
                ("c", "context, Σ α h", found["context"], PURPLE, stage >= 3))  # fmt: skip
        for i, (letter, words, values, colour, there) in enumerate(rows):
            at = y + 28 * i
            sheet.text(90, at + 16, letter, colour, anchor="end", bold=True)
            if there:
                draw_state(sheet, 110, at, values[: SHOWN // 2])
            else:
                sheet.rect(110, at, 8 * CELL, 20, PALE)
            sheet.text(216, at + 16, words, colour if there else GREY)
        return sheet

    def _draw_outcome(self):
        """Draw the likeliest tokens, and the alignment map: one row per token written."""
        sheet, found = Sheet(400, HEIGHT), self.numbers
        sheet.text(0, 18, "Next token", PURPLE, bold=True)
        for i, (word, chance) in enumerate(found["candidates"]):
            y, there = 26 + 26 * i, self.stage == 4
            colour = PURPLE if i == 0 else INK
            sheet.text(90, y + 16, word if there else "", colour, anchor="end", bold=i == 0)
            sheet.rect(110, y, 220, 20, PALE)
            sheet.rect(110, y, 220 * chance if there else 0, 20, PURPLE)
            sheet.text(340, y + 16, number(chance) if there and chance >= 0.005 else "", GREY)
        sheet.text(0, 120, "Alignment map: click a row to go there", INK, bold=True)
        for i, word in enumerate(found["source"]):
            sheet.text(112 + COLUMN * (i + 0.4), 190, word.strip("<>")[:8], BLUE, turn=50)
        for t, word in enumerate(found["target"]):
            self._draw_row(sheet, t, word, 196 + ROW * t)
        draw_scale(sheet, 96, 404)
        sheet.text(300, 417, self.cut().strip()[:16], GREY)
        return sheet

    def _draw_row(self, sheet, t, word, y):
        now = t + 1 == self.output_step
        done = t + 1 < self.output_step or (now and self.stage >= 2)
        written = t + 1 < self.output_step or (now and self.stage == 4)
        sheet.text(100, y + 16, word if written else "", INK, anchor="end", bold=now)
        weights = self.numbers["weights"][t].tolist()
        for i, weight in enumerate(weights):
            fill = to_hex(WEIGHTS(weight)) if done else PALE
            sheet.rect(110 + COLUMN * i, y, COLUMN - 1, ROW - 1, fill)
        if now:
            sheet.rect(109, y - 1, COLUMN * len(weights) + 1, ROW + 1, "none", ORANGE, 2.5)
        label = f"Go to output step {t + 1}"
        sheet.target(20, y, 380, ROW, label, output_step=t + 1, stage=4)


def _ends(state, n):
    """Take n numbers of a state, half of them from each direction."""
    return torch.cat([half[: n // 2] for half in state.chunk(2)])
