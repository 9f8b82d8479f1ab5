"""A recurrent translator step by step: the encoder's states, the context vector, the decoder."""

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, SIGNED
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import PALE, Sheet, number

MOST = 9  # tokens on one side, the end included; more would not be legible side by side
TOP, PITCH, CELL = 62, 30, 12  # pixels: the first row, to the next, width of a number
SHOWN = 16  # numbers of a state that are drawn


def greedy_trace(model, src_ids, bos_id, eos_id, most=MOST):
    """Translate one sentence greedily and keep what every step saw and made.

    Parameters
    ----------
    model : Seq2Seq
    src_ids : list of int
        One sentence, ending with the end token.
    bos_id, eos_id : int
        Begin and end of a sentence.
    most : int, default=9
        Most tokens to write.

    Returns
    -------
    trace : dict
        `encoder` (S, D_h), forward half first; `last` (D_h,); `read` and `written`, lists of T
        ids; `states` (T + 1, D_h), the decoder's state before each step and after the last;
        `probabilities` (T, V); `weights` (T, S), or None without attention.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _trace(model, torch.tensor([src_ids]), bos_id, eos_id, most)
    finally:
        model.train(was_training)


def _trace(model, src_ids, bos_id, eos_id, most):
    states, last, mask = model.encode(src_ids)
    hidden = model.decoder.begin(last)
    ids, kept, chances, rows = [bos_id], [_state(hidden)], [], []
    while len(ids) <= most and (len(ids) == 1 or ids[-1] != eos_id):
        word = torch.tensor([ids[-1:]])
        output, hidden, weights = model.decoder(word, states, last, mask, hidden)
        chances.append(model.output_proj(output[:, -1])[0].softmax(-1))
        kept.append(_state(hidden))
        rows.append(weights)
        ids.append(chances[-1].argmax().item())
    return {
        "encoder": states[0],
        "last": last[0],
        "read": ids[:-1],
        "written": ids[1:],
        "states": torch.stack(kept),
        "probabilities": torch.stack(chances),
        "weights": None if rows[0] is None else torch.cat(rows, dim=1)[0],
    }


def _state(hidden):
    """Take the state (D_h,) from what the recurrent layer hands on; an LSTM hands on a pair."""
    return (hidden[0] if isinstance(hidden, tuple) else hidden)[-1, 0]


def draw_state(sheet, x, y, values, frame=None, cell=CELL):
    """Draw numbers between −1 and 1 as a row of coloured cells.

    Parameters
    ----------
    sheet : Sheet
    x, y : float
        Its upper left corner.
    values : Tensor of shape (N,)
    frame : str, default=None
        Colour of a thick frame around the row.
    cell : float
        Width of one cell; all are 20 high.
    """
    for i, value in enumerate(values.tolist()):
        colour = to_hex(SIGNED((value + 1) / 2))
        sheet.rect(x + i * cell, y, cell, 20, colour, "white", 0.7)
    sheet.rect(x, y, cell * len(values), 20, "none", frame or GREY, 3 if frame else 1)


def draw_scale(sheet: Sheet, x: float, y: float):
    """Draw what the colours of `draw_state` mean, at (x, y); 190 pixels wide."""
    sheet.text(x + 22, y + 13, "−1", GREY, anchor="end")
    for i in range(13):
        sheet.rect(x + 28 + 10 * i, y, 10.5, 16, to_hex(SIGNED(i / 12)))
    sheet.text(x + 164, y + 13, "+1", GREY)


class SentenceStepper(SentenceExplorer):
    """What both steppers share: a trained model and a sentence that the learner types.

    Parameters
    ----------
    model : Seq2Seq
    source_vocabulary, target_vocabulary : WordVocabulary
    sentence : str
        Words with spaces between them, the full stop included.
    **state : initial values of the other traits

    Raises
    ------
    ValueError
        If the sentence cannot be used, or the model has not the attention that is shown.
    """

    attention = "none"  # what the model's configuration must say

    def __init__(self, model, source_vocabulary, target_vocabulary, sentence, **state):
        if model.config.attention != self.attention:
            raise ValueError(
                f'{type(self).__name__} shows a model with attention="{self.attention}"; '
                f'this one has "{model.config.attention}".'
            )
        self._model = model
        self._source, self._target = source_vocabulary, target_vocabulary
        super().__init__(sentence, **state)

    def known_words(self):
        """List the words that the model knows, in the order of the alphabet."""
        special = self._source.ids["<unk>"]
        return sorted(word for word, i in self._source.ids.items() if i > special)

    def problem(self, sentence: str) -> str:
        """Say why a sentence cannot be used; an empty str if it can."""
        words = sentence.split()
        if not words:
            return "Type a sentence: words with spaces between them."
        special = self._source.ids["<unk>"]  # the special tokens come first
        unknown = [w for w in words if self._source.ids.get(w, special) <= special]
        if unknown:
            shown = ", ".join(w if len(w) <= 12 else w[:12] + "…" for w in unknown[:3])
            more = "…" if len(unknown) > 3 else ""
            return f"The model does not know {shown}{more}. See “Known words” beside the field."
        if len(words) >= MOST:
            return f"At most {MOST - 1} words fit, the full stop included; got {len(words)}."
        return ""

    def trace(self) -> dict:
        """Return the `greedy_trace` of the sentence, with `source` and `target` tokens."""
        sentence, found = self._known
        if sentence != self.sentence:
            ids = self._source.encode(self.sentence, eos=True)
            ends = self._target.ids["<bos>"], self._target.ids["<eos>"]
            found = greedy_trace(self._model, ids, *ends)
            found["source"] = self._source.tokens(ids)
            found["target"] = self._target.tokens(found["written"])
            found["input"] = self._target.tokens(found["read"])
            self._known = self.sentence, found
        return found

    def cut(self) -> str:
        """Say that the translation is longer than what is shown; an empty str if it is not."""
        whole = self.numbers["target"][-1] == "<eos>"
        return "" if whole else f" Only the first {MOST} tokens of the translation fit."


class RNNStepper(SentenceStepper):
    """Follow an encoder–decoder without attention, one token after the other.

    Parameters
    ----------
    model : Seq2Seq
        With attention="none".
    source_vocabulary, target_vocabulary : WordVocabulary
    sentence : str
        Words with spaces between them, the full stop included.
    **state : traits
        `step`: 1 to S reads a source token, S + 1 hands over the context vector, each later one
        writes a token.

    Source
    ------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", section 2.
    """

    step = traitlets.Int(1, min=1, max=2 * MOST + 1).tag(state=True)
    still = {"step": 13}

    def build(self):
        """Make the controls."""
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        self.play("step", "Step", interval=1100)
        self.button("Start again", self.reset)

    def compute(self):
        """Follow the sentence through the model; say how far the step has come."""
        found = dict(self.trace())
        n_source, n_target = len(found["source"]), len(found["target"])
        self.limit("step", n_source + 1 + n_target)
        half = found["encoder"].shape[1] // 2
        found["forward"], found["backward"] = found["encoder"].split(half, dim=1)
        found["n_read"] = min(self.step, n_source)
        found["n_written"] = max(self.step - n_source - 1, 0)
        return found

    def describe(self):
        """Say in words what the picture shows."""
        return f"An encoder reads “{self.sentence}”. Step {self.step}: {' '.join(self.tell())}"

    def tell(self):
        """Say what happens at this step, in two lines."""
        found, step = self.numbers, self.step
        n_source = len(found["source"])
        if step <= n_source:
            return (
                f"The encoder reads “{found['source'][step - 1]}” going forwards and "
                f"“{found['source'][n_source - step]}” going backwards.",
                "Each new state depends on this word and on the state before it.",
            )
        if step == n_source + 1:
            return (
                f"The two last states become the context vector: {len(found['last'])} numbers.",
                "Everything the decoder learns about the sentence is in them.",
            )
        t = found["n_written"] - 1
        chance = found["probabilities"][t].max()
        return (
            f"The decoder reads “{found['input'][t]}” and the context, and updates its state.",
            f"The likeliest next token is “{found['target'][t]}”, probability {number(chance)}.",
        )

    def draw(self):
        """Draw the encoder with the context vector, and the decoder, as far as the step is."""
        return [self._draw_encoder(), self._draw_decoder()]

    def _draw_encoder(self):
        """Draw the two directions: one fills from the top, the other from the bottom."""
        sheet, found = Sheet(370, 396), self.numbers
        n, read, most = len(found["source"]), found["n_read"], CELL * SHOWN // 2
        sheet.text(0, 18, "Encoder", BLUE, bold=True)
        sheet.text(110, 46, "forwards ↓", GREY)
        sheet.text(240, 46, "backwards ↑", GREY)
        for i, word in enumerate(found["source"]):
            y, now = TOP + PITCH * i, self.step <= n and i in (self.step - 1, n - self.step)
            sheet.text(90, y + 16, word, BLUE if now else INK, anchor="end", bold=now)
            sides = ((110, found["forward"], i), (240, found["backward"], n - 1 - i))
            for x, states, place in sides:
                if place >= read:
                    sheet.rect(x, y, most, 20, PALE)
                    continue
                now = BLUE if place == self.step - 1 else None
                draw_state(sheet, x, y, states[i, : SHOWN // 2], now)
            sheet.target(0, y - 4, 370, 28, f"Go to step {i + 1}, {word}", step=i + 1)
        self._draw_context(sheet, TOP + PITCH * MOST + 18)
        return sheet

    def _draw_context(self, sheet, y):
        """Draw the context vector: the ends of both directions, one after the other."""
        sheet.text(90, y + 16, "context", PURPLE, anchor="end", bold=True)
        n = len(self.numbers["source"])
        if self.step <= n:
            sheet.rect(110, y, CELL * SHOWN, 20, PALE)
        else:
            halves = self.numbers["last"].chunk(2)
            values = torch.cat([half[: SHOWN // 2] for half in halves])
            draw_state(sheet, 110, y, values, PURPLE if self.step == n + 1 else None)
        sheet.target(0, y - 4, 370, 28, "Go to the context vector", step=n + 1)
        draw_scale(sheet, 96, y + 30)

    def _draw_decoder(self):
        """Draw the decoder's states; the token read before each, the token written after."""
        sheet, found = Sheet(430, 396), self.numbers
        n, done = len(found["source"]), found["n_written"]
        sheet.text(0, 18, "Decoder", ORANGE, bold=True)
        heads = ((80, "reads", "end"), (98, "state ↓", "start"), (300, "writes", "start"))
        for x, words, anchor in (*heads, (386, "p", "start")):  # fmt: skip
            sheet.text(x, 46, words, GREY, anchor=anchor)
        for t, word in enumerate(found["target"]):
            y, now = TOP + PITCH * t, t == done - 1
            if t < done:
                colour = ORANGE if now else INK
                chance = number(found["probabilities"][t].max())
                sheet.text(80, y + 16, found["input"][t], GREY, anchor="end")
                draw_state(sheet, 98, y, found["states"][t + 1, :SHOWN], ORANGE if now else None)
                sheet.text(300, y + 16, word, colour, bold=now)
                sheet.text(386, y + 16, chance, GREY)
            else:
                sheet.rect(98, y, CELL * SHOWN, 20, PALE)
            step = n + 2 + t
            sheet.target(0, y - 4, 430, 28, f"Go to step {step}: token {t + 1}", step=step)
        whole = found["states"].shape[1]
        y = TOP + PITCH * MOST + 34
        sheet.text(0, y, f"Drawn: {SHOWN} of the {whole} numbers of a state.", GREY)
        sheet.text(0, y + 26, self.cut().strip(), GREY)
        return sheet
