"""A recurrent translator step by step: the encoder's states, the context vector, the decoder."""

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, SIGNED
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import RULE, Sheet, number

MOST = 9  # tokens on one side, the end included; more would not be legible side by side
LEFT, PITCH = 172, 86  # pixels: middle of the first column, and to the next
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


def draw_column(sheet, x, y, values, cell=9, width=30, frame=None):
    """Draw numbers between −1 and 1 as a column of coloured cells.

    Parameters
    ----------
    sheet : Sheet
    x, y : float
        Middle of its upper edge.
    values : Tensor of shape (N,)
    cell, width : float
        Height and width of one cell.
    frame : str, default=None
        Colour of a thick frame around the column.
    """
    left = x - width / 2
    for i, value in enumerate(values.tolist()):
        colour = to_hex(SIGNED((value + 1) / 2))
        sheet.rect(left, y + i * cell, width, cell, colour, "white", 0.7)
    strong = 3 if frame else 1
    sheet.rect(left, y, width, cell * len(values), "none", frame or GREY, strong)


def draw_scale(sheet, x, y):
    """Draw what the colours of `draw_column` mean, at (x, y); 220 pixels wide.

    Parameters
    ----------
    sheet : Sheet
    x, y : float
    """
    sheet.text(x + 26, y + 13, "−1", GREY, anchor="end")
    for i in range(15):
        sheet.rect(x + 34 + 10 * i, y, 10.5, 16, to_hex(SIGNED(i / 14)))
    sheet.text(x + 192, y + 13, "+1", GREY)


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

    def problem(self, sentence):
        """Say why a sentence cannot be used; an empty str if it can.

        Parameters
        ----------
        sentence : str

        Returns
        -------
        words : str
        """
        words = sentence.split()
        if not words:
            return "Type a sentence: words with spaces between them."
        special = self._source.ids["<unk>"]  # the special tokens come first
        unknown = [w for w in words if self._source.ids.get(w, special) <= special]
        if unknown:
            shown = ", ".join(w if len(w) <= 12 else w[:12] + "…" for w in unknown[:3])
            more = "…" if len(unknown) > 3 else ""
            return f"The model does not know: {shown}{more}. The sentence before stays."
        if len(words) >= MOST:
            return f"At most {MOST - 1} words fit, the full stop included; got {len(words)}."
        return ""

    def trace(self):
        """Return the `greedy_trace` of the sentence, with `source` and `target` tokens.

        Returns
        -------
        trace : dict
        """
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

    def cut(self):
        """Say that the translation is longer than what is shown; an empty str if it is not.

        Returns
        -------
        words : str
        """
        whole = self.numbers["target"][-1] == "<eos>"
        return "" if whole else f" The translation goes on; only its first {MOST} tokens fit."


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

    def build(self):
        """Make the controls."""
        self.words("sentence", "Sentence", wide=True)
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
        return f"An encoder reads “{self.sentence}”. Step {self.step}: {' '.join(self._tell())}"

    def _tell(self):
        """Say what happens at this step, in two lines."""
        found, step = self.numbers, self.step
        n_source = len(found["source"])
        if step <= n_source:
            return (
                f"The encoder reads “{found['source'][step - 1]}” on the way forwards,",
                f"and “{found['source'][n_source - step]}” on the way backwards. "
                "Each time the state is made anew.",
            )
        if step == n_source + 1:
            return (
                f"The context vector: the two last states, {len(found['last'])} numbers.",
                "All that the decoder will ever know of the sentence is in them.",
            )
        t = found["n_written"] - 1
        chance = found["probabilities"][t].max()
        return (
            f"The decoder reads “{found['input'][t]}” and the context, and changes its state.",
            f"The likeliest next token is “{found['target'][t]}”, probability {number(chance)}.",
        )

    def draw(self):
        """Draw encoder, context vector and decoder as far as the step has come."""
        sheet = Sheet(920, 672)
        for y, line in zip((34, 60), self._tell(), strict=True):
            sheet.text(24, y, line, bold=y == 34)
        sheet.line(24, 76, 896, 76, RULE)
        self._draw_encoder(sheet)
        self._draw_context(sheet)
        self._draw_decoder(sheet)
        drawn, whole = SHOWN, self.numbers["states"].shape[1]
        sheet.text(24, 636, f"Drawn: {drawn} of the {whole} numbers of a state.{self.cut()}", GREY)
        self.draw_message(sheet, 657)
        return sheet

    def _draw_encoder(self, sheet):
        """Draw the two directions: one fills from the left, the other from the right."""
        found = self.numbers
        n, read = len(found["source"]), found["n_read"]
        sheet.text(24, 102, "Encoder", BLUE, bold=True)
        draw_scale(sheet, 676, 90)
        places = [LEFT + PITCH * i for i in range(n)]
        for i, (x, word) in enumerate(zip(places, found["source"], strict=True)):
            now = self.step <= n and i in (self.step - 1, n - self.step)
            sheet.text(x, 134, word, BLUE if now else INK, anchor="middle")
        rows = [
            (144, "forwards →", found["forward"], range(n)),
            (232, "← backwards", found["backward"], range(n - 1, -1, -1)),
        ]
        for y, label, states, order in rows:
            sheet.text(130, y + 41, label, GREY, anchor="end")
            for place, i in enumerate(order):
                if place >= read:
                    sheet.rect(places[i] - 15, y, 30, 72, "none", RULE)
                    continue
                now = BLUE if place == self.step - 1 else None
                draw_column(sheet, places[i], y, states[i, : SHOWN // 2], frame=now)
                if place:
                    side = 1 if order[1] > order[0] else -1
                    start = places[order[place - 1]] + 19 * side
                    sheet.arrow(start, y + 36, places[i] - 19 * side, y + 36, BLUE)

    def _draw_context(self, sheet):
        """Draw the context vector: the ends of both directions, one on top of the other."""
        sheet.text(24, 346, "Context", PURPLE, bold=True)
        if self.step <= len(self.numbers["source"]):
            sheet.rect(43, 388, 30, 9 * SHOWN, "none", RULE)
            return
        halves = self.numbers["last"].chunk(2)
        values = torch.cat([half[: SHOWN // 2] for half in halves])
        now = PURPLE if self.step == len(self.numbers["source"]) + 1 else None
        draw_column(sheet, 58, 388, values, frame=now)

    def _draw_decoder(self, sheet):
        """Draw the decoder's states; the token read above each, the token written below."""
        found, done = self.numbers, self.numbers["n_written"]
        sheet.text(146, 346, "Decoder", ORANGE, bold=True)
        for t in range(len(found["target"])):
            x = LEFT + PITCH * t
            if t >= done:
                sheet.rect(x - 15, 388, 30, 9 * SHOWN, "none", RULE)
                continue
            now = t == done - 1
            start = x - PITCH + 19 if t else 78
            sheet.arrow(start, 460, x - 19, 460, ORANGE if t else PURPLE)
            draw_column(
                sheet, x, 388, found["states"][t + 1, :SHOWN], frame=ORANGE if now else None
            )
            sheet.text(x, 376, found["input"][t], ORANGE if now else GREY, anchor="middle")
            sheet.arrow(x, 536, x, 558, ORANGE)
            colour = ORANGE if now else INK
            sheet.text(x, 578, found["target"][t], colour, anchor="middle")
            chance = number(found["probabilities"][t].max())
            sheet.text(x, 602, chance, GREY, anchor="middle")
