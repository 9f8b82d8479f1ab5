"""Bahdanau's attention, one decoding step at a time: energies, weights, context, next token."""

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.rnn_stepper import MOST, SHOWN, SentenceStepper, draw_column, draw_scale
from helpers.widgets.svg import RULE, Sheet, number

STAGES = ("energies", "weights", "context", "next token")
LEFT, PITCH = 130, 86  # pixels: middle of the first source word, and to the next


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

    def build(self):
        """Make the controls."""
        self.words("sentence", "Sentence", wide=True)
        self.play("output_step", "Output step t", interval=1500)
        self.choice("stage", "Stage", [(f"{i}  {s}", i) for i, s in enumerate(STAGES, 1)])
        self.button("Next stage", self.forward)
        self.button("Start again", self.reset)

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
            f"stage {self.stage}, {STAGES[self.stage - 1]}. {' '.join(self._tell())}"
        )

    def _tell(self):
        """Say what happens at this stage, in two lines."""
        found, t = self.numbers, self.output_step
        most = found["alpha"].argmax().item()
        word, chance = found["candidates"][0]
        return (
            (
                f"1  Energies: the state before step {t} is compared with every source state.",
                f"e = v · tanh(W s + U h). The largest is at “{found['source'][most]}”.",
            ),
            (
                "2  Weights: a softmax turns the energies into parts that sum to 1.",
                f"“{found['source'][most]}” gets {number(found['alpha'][most])}.",
            ),
            (
                "3  Context: the source states, each times its weight, added up.",
                "It is another vector at every step; that is what a fixed context cannot be.",
            ),
            (
                f"4  Next token: the context and “{found['input'][t - 1]}” make the next state.",
                f"The likeliest token is “{word}”, probability {number(chance)}.",
            ),
        )[self.stage - 1]

    def draw(self):
        """Draw the step as far as its stage, and the map below."""
        rows = len(self.numbers["target"])
        sheet = Sheet(920, 520 + 26 * rows)
        for y, line in zip((34, 60), self._tell(), strict=True):
            sheet.text(24, y, line, bold=y == 34)
        sheet.line(24, 76, 896, 76, RULE)
        self._draw_source(sheet)
        self._draw_energies(sheet)
        if self.stage > 1:
            self._draw_weights(sheet)
        self._draw_outcome(sheet)
        self._draw_map(sheet, 470)
        self.draw_message(sheet, 505 + 26 * rows)
        return sheet

    def _draw_source(self, sheet):
        """Draw the source words and their states, strong where the weight is."""
        found = self.numbers
        sheet.text(24, 106, "h", BLUE, bold=True)
        for i, word in enumerate(found["source"]):
            x = LEFT + PITCH * i
            sheet.text(x, 106, word, BLUE, anchor="middle")
            # Eight numbers of each direction would be too high here; four of each show the idea.
            draw_column(sheet, x, 116, _ends(found["encoder"][i], SHOWN // 2), cell=8)
            if self.stage == 3 and found["alpha"][i] > 0.02:
                width = 1 + 5 * found["alpha"][i].item()
                sheet.line(x, 182, x, 198, PURPLE, round(width, 1))

    def _draw_energies(self, sheet):
        """Write the energy of every source word."""
        sheet.text(24, 220, "e", ORANGE, bold=True)
        for i, energy in enumerate(self.numbers["energies"]):
            sheet.text(LEFT + PITCH * i, 220, number(energy), ORANGE, anchor="middle")

    def _draw_weights(self, sheet):
        """Draw a bar for the weight of every source word."""
        sheet.text(24, 292, "α", INK, bold=True)
        for i, weight in enumerate(self.numbers["alpha"].tolist()):
            x, height = LEFT + PITCH * i, 52 * weight
            sheet.rect(x - 22, 238, 44, 54, "#f3f5f7")
            sheet.rect(x - 22, 292 - height, 44, height, to_hex(WEIGHTS(0.25 + 0.7 * weight)))
            sheet.text(x, 312, number(weight), INK, anchor="middle")

    def _draw_outcome(self, sheet):
        """Draw the state that asks, the context and the likeliest tokens."""
        found = self.numbers
        sheet.line(24, 326, 896, 326, RULE)
        sheet.text(24, 350, "State before the step, s", ORANGE)
        _draw_row(sheet, 24, 360, found["state"])
        if self.stage >= 3:
            sheet.text(300, 350, "Context, Σ α h", PURPLE)
            _draw_row(sheet, 300, 360, found["context"])
        draw_scale(sheet, 16, 396)
        if self.stage < 4:
            return
        for i, (word, chance) in enumerate(found["candidates"]):
            y = 350 + 27 * i
            sheet.text(690, y, word, PURPLE if i == 0 else INK, anchor="end", bold=i == 0)
            sheet.rect(702, y - 14, 130 * chance, 18, PURPLE, opacity=1 if i == 0 else 0.5)
            sheet.text(710 + 130 * chance, y, number(chance), GREY)

    def _draw_map(self, sheet, y):
        """Draw the alignment map: one row for each token written so far."""
        found = self.numbers
        sheet.text(24, y - 20, "Alignment map: a row for every token written." + self.cut(), GREY)
        sheet.line(24, y - 42, 896, y - 42, RULE)
        for t, word in enumerate(found["target"]):
            top = y + 26 * t - 8
            done = t + 1 < self.output_step or (t + 1 == self.output_step and self.stage >= 2)
            written = t + 1 < self.output_step or (t + 1 == self.output_step and self.stage == 4)
            if written:
                sheet.text(LEFT - 50, top + 18, word, INK, anchor="end")
            for i, weight in enumerate(found["weights"][t].tolist()):
                fill = to_hex(WEIGHTS(weight)) if done else "white"
                sheet.rect(LEFT - PITCH / 2 + PITCH * i, top, PITCH, 26, fill, RULE)
            if t + 1 == self.output_step:
                whole = PITCH * len(found["source"])
                sheet.rect(LEFT - PITCH / 2, top, whole, 26, "none", ORANGE, 2.5)


def _ends(state, n):
    """Take n numbers of a state, half of them from each direction."""
    return torch.cat([half[: n // 2] for half in state.chunk(2)])


def _draw_row(sheet, x, y, values):
    """Draw numbers between −1 and 1 as a row of cells."""
    for i, value in enumerate(values[:SHOWN]):
        draw_column(sheet, x + 7 + 14 * i, y, value[None], cell=22, width=14)
