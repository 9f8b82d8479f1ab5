"""Bahdanau's look back at one output step; the learner can make it look elsewhere."""

from itertools import pairwise

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.rnn_stepper import MOST, PITCH, TOP, SentenceStepper, draw_cells
from helpers.widgets.svg import PALE, Sheet, number, shade

HEIGHT = 452  # pixels
COLUMN, ROW = 32, 24  # of the alignment map
OWN = -1  # nobody told the model where to look


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
    """Watch the decoder look back before it writes a token, or make it look elsewhere.

    It opens where the largest weight is about to go back: at an adjective, in French.

    Parameters
    ----------
    model : Seq2Seq
        With attention="additive".
    source_vocabulary, target_vocabulary : WordVocabulary
    sentence : str
        Words with spaces between them, the full stop included.
    **state : traits
        `output_step`: which token is being written, from 1. `forced`: the source position that
        gets all weight at this step, from 0, or −1 for the model's own weights.

    Source
    ------
    Bahdanau et al. (2015), section 3.1.
    """

    attention = "additive"
    output_step = traitlets.Int(1, min=1, max=MOST).tag(state=True)
    forced = traitlets.Int(OWN, min=OWN, max=MOST - 1).tag(state=True)

    def __init__(self, model, source_vocabulary, target_vocabulary, sentence: str, **state):
        super().__init__(model, source_vocabulary, target_vocabulary, sentence, **state)
        if "output_step" not in state:
            self.output_step = self.telling()

    def telling(self) -> int:
        """Find the step, from 1, after which the largest weight goes back furthest."""
        most = self.trace()["weights"].argmax(dim=1).tolist()
        back = [here - after for here, after in pairwise(most)]
        return back.index(max(back)) + 1 if back and max(back) > 0 else 1

    def build(self):
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        self.play("output_step", "Output step", interval=1500)
        self.button("Start again", self.reset)

    def reset(self, *_):
        """Go back to the first sentence, to its telling step, and to the model's own weights."""
        with self.together():
            super().reset()
            self.output_step = self.telling()

    def compute(self):
        """Look once from the state before this step; find the three likeliest tokens."""
        whole = self.trace()
        self.limit("output_step", len(whole["target"]))
        t = self.output_step - 1
        there = self.forced < len(whole["source"])
        told = {"look": {t: self.forced}} if there and self.forced != OWN else {}
        found = dict(self.trace(**told))
        found["told"], found["whole"] = bool(told), whole
        found["state"] = found["states"][t]
        found["energies"], found["alpha"], _ = look(
            self._model.decoder.attention, found["state"], found["encoder"]
        )
        if told:
            found["alpha"] = found["weights"][t]
        found["context"] = found["alpha"] @ found["encoder"]
        chances, ids = found["probabilities"][t].topk(min(3, len(self._target)))
        found["candidates"] = list(zip(self._target.tokens(ids), chances.tolist(), strict=True))
        return found

    def describe(self):
        found = self.numbers
        weights = ", ".join(
            f"{word} {number(weight)}"
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
        at, most = found["source"][found["alpha"].argmax()], number(found["alpha"].max())
        if not found["told"]:
            return (
                f"Before it writes “{word}” ({number(chance)}), the decoder looks mainly at "
                f"“{at}” ({most}).",
                "Press another French word: all weight goes there. What does it write then?",
            )
        own = found["whole"]["target"][self.output_step - 1]
        then = "it still writes" if word == own else f"instead of “{own}” it writes"
        return (
            f"Told to look at “{at}” alone, {then} “{word}” ({number(chance)}).",
            "Press the same word again to let the model look for itself.",
        )

    def draw(self):
        """Draw how the weights of this step mix the context, and all steps beside it."""
        return [self._draw_look(), self._draw_outcome()]

    def _draw_look(self):
        """Draw a band from every source word to the context, as wide as its weight."""
        sheet, found = Sheet(400, HEIGHT), self.numbers
        middle = TOP + PITCH * len(found["source"]) / 2
        for x, words in ((0, "1 energy"), (168, "2 weight"), (318, "3 context")):
            sheet.text(x if x else 142, 48, words, GREY, anchor="start" if x else "end")
        sheet.text(0, 18, f"Where to look before token {self.output_step}", BLUE, bold=True)
        for i, word in enumerate(found["source"]):
            y, weight = TOP + PITCH * i + 10, found["alpha"][i].item()
            chosen = self.forced == i
            sheet.text(86, y + 6, word, BLUE, anchor="end", bold=chosen)
            energy = "" if found["told"] else number(found["energies"][i])
            sheet.text(142, y + 6, energy, GREY, anchor="end")
            label = "Let the model look for itself" if chosen else f"Look at {word} alone"
            sheet.target(0, y - 13, 210, 26, label, forced=OWN if chosen else i)
            sheet.text(168, y + 6, number(weight) if weight >= 0.005 else "", INK)
            if weight < 0.005:
                continue
            bend = [(3 * s * s - 2 * s**3, s) for s in (k / 12 for k in range(13))]
            points = [(212 + 106 * s, y + (middle - y) * up) for up, s in bend]
            sheet.path(points, BLUE, max(1, 20 * weight))
        draw_cells(sheet, 318, middle - 22, _ends(found["context"], 8), PURPLE, (18, 22), 4)
        y = TOP + PITCH * MOST + 34
        sheet.text(0, y - 10, "4 next token", GREY)
        for i, (word, chance) in enumerate(found["candidates"]):
            at = y + 26 * i
            sheet.text(86, at + 16, word, PURPLE if i == 0 else INK, anchor="end", bold=i == 0)
            sheet.rect(98, at, 220, 20, PALE)
            sheet.rect(98, at, 220 * chance, 20, PURPLE)
            sheet.text(326, at + 16, number(chance) if chance >= 0.005 else "", GREY)
        return sheet

    def _draw_outcome(self):
        """Draw the alignment map, a row per token, and the sentence that comes of it."""
        sheet, found = Sheet(400, HEIGHT), self.numbers
        sheet.text(0, 18, "All steps: press a row to go there", INK, bold=True)
        for i, word in enumerate(found["source"]):
            sheet.text(112 + COLUMN * (i + 0.4), 92, word.strip("<>")[:8], BLUE, turn=50)
        for t, word in enumerate(found["target"]):
            self._draw_row(sheet, t, word, 98 + ROW * t)
        y = 98 + ROW * MOST + 30
        for line in (" ".join(found["target"]), self.cut(found["target"])):
            sheet.text(0, y, line.removesuffix(" <eos>"), ORANGE if found["told"] else INK)
            y += 26
        return sheet

    def _draw_row(self, sheet, t, word, y):
        whole, now = self.numbers["whole"]["target"], t + 1 == self.output_step
        other = t >= len(whole) or whole[t] != word
        sheet.text(100, y + 17, word, ORANGE if other else INK, anchor="end", bold=now or other)
        weights = self.numbers["weights"][t].tolist()
        for i, weight in enumerate(weights):
            sheet.rect(110 + COLUMN * i, y, COLUMN - 1, ROW - 1, shade(WEIGHTS, weight))
        if now:
            sheet.rect(109, y - 1, COLUMN * len(weights) + 1, ROW + 1, "none", ORANGE, 2.5)
        if t < len(whole):
            label = f"Go to output step {t + 1}"
            sheet.target(0, y, 400, ROW, label, output_step=t + 1, forced=OWN)


def _ends(state, n):
    """Take n numbers of a state, half of them from each direction."""
    return torch.cat([half[: n // 2] for half in state.chunk(2)])
