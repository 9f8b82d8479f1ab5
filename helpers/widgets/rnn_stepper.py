"""A recurrent translator that squeezes a sentence through one vector; the learner sets how wide."""

import torch
import traitlets

from helpers.plots import GREY, INK, ORANGE, PURPLE, SIGNED, WEIGHTS
from helpers.pretrained.recurrent_trace import greedy_trace
from helpers.transformer.layers import inference
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import BAD, PALE, Sheet, shade, share, track

MOST = 9  # tokens on one side, the end included; more would not be legible side by side
LAST = 2 * MOST + 1  # step
WIDE, TOP, PITCH = 322, 62, 34  # pixels: the encoder's drawing, its first row, and to the next
NECK, BOX, WRITTEN = 96, (64, 128), 372  # a bottleneck, its vector, all that fits on a phone
LEAST = 24 / PITCH  # how far it may shrink: until that's the height of a target
EACH = 8  # numbers of each direction's state that are drawn


def draw_cells(sheet, x, y, values, frame, size, columns=EACH):
    """Draw `values` as cells of a `size` in `columns`, at (`x`, `y`) of a `sheet`, in a `frame`."""
    across, down = size
    for i, value in enumerate(values.tolist()):
        place = x + i % columns * across, y + i // columns * down
        sheet.rect(*place, across, down, shade(SIGNED, (value + 1) / 2), "white", 0.7)
    rows = -(-len(values) // columns)
    sheet.rect(x, y, across * min(columns, len(values)), down * rows, "none", frame, 2)


class SentenceStepper(SentenceExplorer):
    """What both steppers share: a trained Seq2Seq model and a sentence that the learner types.

    The sentence has spaces between its words, the full stop included, and each word is in the
    `source_vocabulary`; the model writes words of the `target_vocabulary`. It is a ValueError if
    the sentence cannot be used, or if the model has not the attention that is shown. If no state is
    given, it opens with that of a subclass's `opening`: a moment worth seeing.
    """

    attention = "none"  # what the model's configuration must say

    def __init__(self, model, source_vocabulary, target_vocabulary, sentence: str, **state):
        if model.config.attention != self.attention:
            raise ValueError(
                f'{type(self).__name__} shows a model with attention="{self.attention}"; '
                f'this one has "{model.config.attention}".'
            )
        self._model = model
        self._source, self._target = source_vocabulary, target_vocabulary
        super().__init__(sentence, **state)
        if not state:
            self._start.update(self.opening())
            self.reset()

    def known_words(self) -> list[str]:
        """List the words that the model knows, in the order of the alphabet."""
        special = self._source.ids["<unk>"]
        return sorted(word for word, i in self._source.ids.items() if i > special)

    def problem(self, sentence: str) -> str:
        words = sentence.lower().split()
        if not words:
            return "Type a sentence: words with spaces between them."
        special = self._source.ids["<unk>"]  # the special tokens come first
        unknown = [w for w in words if self._source.ids.get(w, special) <= special]
        if unknown:
            shown = ", ".join(w if len(w) <= 12 else w[:12] + "…" for w in unknown[:3])
            more = "…" if len(unknown) > 3 else ""
            return f"Not in “Known words”: {shown}{more}."
        if len(words) >= MOST:
            return f"At most {MOST - 1} words fit, the full stop included; got {len(words)}."
        return ""

    def trace(self, **changes) -> dict:
        """Return the `greedy_trace` of the sentence, with `source` and `target` tokens.

        The `changes` are `kept` or `look`, see `greedy_trace`.
        """
        sentence, kept = self._known
        if sentence != self.sentence:
            self._known = self.sentence, (kept := {})
        if (key := str(changes)) not in kept:
            ids = self._source.encode(self.sentence.lower(), eos=True)
            ends = self._target.ids["<bos>"], self._target.ids["<eos>"]
            found = greedy_trace(self._model, ids, *ends, MOST, **changes)
            found["probabilities"].clamp_(max=0.9999)  # no token is certain: >0.99, never 1.00
            found["source"] = self._source.tokens(ids)
            found["target"] = self._target.tokens(found["written"])
            found["input"] = self._target.tokens(found["read"])
            kept[key] = found
        return kept[key]

    def cut(self, tokens: list[str]) -> str:
        """Say that a translation is longer than what is shown; an empty str if it is not."""
        return "" if tokens[-1] == "<eos>" else f"Only the first {MOST} tokens fit."


class RNNStepper(SentenceStepper):
    """Squeeze a sentence through the one vector of an encoder–decoder without attention.

    It opens where the decoder begins to write, with half of the context vector, if that is enough
    for the same translation. Moving `kept` lets fewer of its numbers through, or more, the largest
    first; playing goes through the sentence word by word.

    State: `step` (1 to S reads a source token, S + 1 hands over the context vector, each later one
    writes a token) and `kept` (how many numbers of the context vector get through).

    Source
    ------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", section 2.
    """

    step = traitlets.Int(LAST, min=1, max=LAST).tag(state=True)
    kept = traitlets.Int(1024, min=0, max=1024).tag(state=True)

    def opening(self):
        """Go where the decoder begins; let half of the numbers through, if they are enough."""
        half = self.kept // 2
        same = self.trace(kept=half)["written"] == self.trace()["written"]
        return {"kept": half if same else self.kept, "step": len(self.trace()["source"]) + 1}

    def build(self):
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        self.observe(lambda _: self.set_trait("step", LAST), names=["sentence", "kept"])
        self.play("step", "Step", interval=1100)
        self.slider("kept", "Numbers let through")
        self.button("Start again", self.reset)

    def reset(self, *_):
        super().reset()
        self.step = self._start["step"]  # another sentence or `kept` has led to the end

    def compute(self):
        """Follow the sentence through the model, once whole and once squeezed."""
        whole = self.trace()
        self.limit("kept", len(whole["last"]))
        found = dict(self.trace(kept=self.kept))
        n_source = len(found["source"])
        self.limit("step", n_source + 1 + len(found["target"]))
        found["whole"] = whole["target"]
        found["title"] = f"{self.kept} number{'s' * (self.kept != 1)}"
        there = {*found["target"], ".", "<eos>"}  # whatever the end, it's words that are lost
        found["lost"] = [i for i, word in enumerate(whole["target"]) if word not in there]
        found["new"] = [t for t, word in enumerate(found["target"]) if word not in whole["target"]]
        found["n_written"] = max(self.step - n_source - 1, 0)
        found["chances"] = self._chances(whole)
        return found

    def _chances(self, whole):
        """Return each right token's probability after the right ones, (numbers let through, T)."""
        kept, last, written = self._known[1], whole["last"], whole["written"]
        if "chances" not in kept:
            rank = last.abs().argsort(descending=True).argsort()
            contexts = last * (rank < torch.arange(len(last) + 1)[:, None])
            read, decoder = torch.tensor([whole["read"]] * len(contexts)), self._model.decoder
            with inference(self._model):
                output, *_ = decoder(read, None, contexts, None, decoder.begin(contexts))
                logits = self._model.output_proj(output)
            kept["chances"] = logits.softmax(-1)[:, range(len(written)), written]
        return kept["chances"]

    def describe(self):
        written = " ".join(self.numbers["target"][: self.numbers["n_written"]])
        return (
            f"An encoder reads “{self.sentence}”. Step {self.step}: {' '.join(self.tell())} "
            f"Written so far: {written or 'nothing'}."
        )

    def tell(self):
        said, asked = self._told()
        if not self.sentence.endswith("."):
            asked = "The model has read only sentences that end in “ .”: add one, then judge it."
        return said, asked

    def _told(self):
        found, step = self.numbers, self.step
        n, size, target = len(found["source"]), len(found["last"]), found["target"]
        if step <= n:
            return (
                f"One network reads “{found['source'][step - 1]}”, going down; the other reads "
                f"“{found['source'][n - step]}”, going up.",
                "Each new state depends on this word and on the state before it.",
            )
        if step == n + 1:
            return (
                f"Read in steps 1 to {n}: the two last states are now the context vector.",
                f"The decoder gets {self.kept} of its {size} numbers. Press Play: is it enough?",
            )
        if found["n_written"] < len(target):
            t = found["n_written"] - 1
            chance, read = share(found["probabilities"][t].max()), found["input"][t]
            said = f"The decoder reads “{read}” and the context, and updates its state."
            return said, f"The likeliest next token is “{target[t]}”, probability {chance}."
        if self.kept == size:
            said = f"All that the decoder knows of the sentence are these {size} numbers."
            return said, "Let fewer of them through. Which word is lost first?"
        return self._told_of_loss(found, size)

    def _told_of_loss(self, found, size):
        words = [word for word in found["whole"] if word not in (".", "<eos>")]
        lost = [found["whole"][i] for i in found["lost"]]
        red = "In red: lost, or new. All words share these numbers, so one can come back."
        if not self.kept:
            said = "Nothing comes through: the decoder writes these words on its own."
            return said, red if lost else "Type another sentence: it writes the same."
        through = f"With {self.kept} of {size} numbers"
        if not lost:
            return (
                f"{through}, the decoder still writes all {len(words)} words.",
                "The smallest numbers are zero now. Let fewer through: which word is lost first?",
            )
        *most, last = [f"“{word}”" for word in lost]
        names = f"{', '.join(most)} and {last} are" if most else f"{last} is"
        left = f"{len(words) - len(lost)} of {len(words)} words remain"
        return f"{through}, {names} lost; {left}.", red

    def draw(self):
        return [self._draw_encoder(), self._draw_decoder()]

    def _draw_encoder(self):
        """Draw the two directions, one going down and one going up."""
        found, step = self.numbers, self.step
        n = len(found["source"])
        sheet = Sheet(WIDE, TOP + PITCH * n + 30, LEAST)
        sheet.text(0, 18, "The encoder reads", bold=True)
        sheet.text(WIDE - 2, 18, f"{EACH} of {len(found['last']) // 2} numbers", GREY, anchor="end")
        sheet.text(92, 48, "downwards ↓", GREY)
        sheet.text(208, 48, "upwards ↑", GREY)
        halves = found["encoder"].chunk(2, dim=1)
        for i, word in enumerate(found["source"]):
            y, met = TOP + PITCH * i, step <= n and i in (step - 1, n - step)
            sheet.text(84, y + 16, word, anchor="end", bold=met)
            for x, states, place, last in (
                (92, halves[0], i, i == n - 1),
                (208, halves[1], n - 1 - i, i == 0),
            ):
                now = place == step - 1 or (last and step == n + 1)
                if place < step:
                    draw_cells(sheet, x, y, states[i, :EACH], PURPLE if last else
                               INK if now else GREY, (13.5, 20))  # fmt: skip
                else:
                    sheet.line(x, y + 10, x + 108, y + 10, PALE, 3)
            sheet.target(0, y - 7, WIDE, PITCH, f"Go to step {i + 1}, {word}", step=i + 1)
        sheet.text(92, TOP + PITCH * n + 16, "orange < 0 < blue", GREY)
        return sheet

    def _draw_neck(self, sheet):
        """Draw what remains of both directions, a bottleneck, at the left of a `sheet`."""
        found, (wide, high), size = self.numbers, BOX, len(self.numbers["last"])
        n = len(found["source"])
        room = max(PITCH * n, high + 4)
        x, y, out = (NECK - wide) / 2, TOP + (room - high) / 2, (high - PITCH * n) / 2
        for edge, inner in (0, x - 2), (NECK, NECK - x + 2):  # wide at a network, then narrow
            ends = (inner, y), (edge, y + out), (edge, y + high - out), (inner, y + high)
            sheet.path(ends, PURPLE, 0, fill=PURPLE, opacity=0.15)
        sheet.text(NECK / 2, 18, "Context", PURPLE, anchor="middle", bold=True)
        if self.step > n:
            draw_cells(sheet, x, y, found["last"], PURPLE, (wide / EACH, EACH * high / size))
        sheet.rect(x, y, wide, high, "none", PURPLE, 2)
        words = f"{self.kept} of {size}" if self.step > n else "not yet"
        sheet.text(NECK / 2, TOP + room + 16, words, PURPLE, anchor="middle")
        sheet.target(0, 0, NECK, TOP + room, "Go to the context vector", step=n + 1)
        # The slider once more: on a phone, the other one is far from the words that it changes.
        drag, y = track("x", "kept", (8, NECK - 8), (0, size), self.kept, 1), TOP + room + 38
        sheet.line(8, y, NECK - 8, y, PALE, 6)
        sheet.dot(8 + (NECK - 16) * self.kept / size, y, 8, PURPLE)
        sheet.handle(0, y - 16, NECK, 32, "Numbers let through", words, drag)

    def _draw_decoder(self):
        """Draw the context, what is written, how sure the decoder is, and what it wrote of all."""
        found, done = self.numbers, self.numbers["n_written"]
        n, ends = len(found["source"]), done == len(found["target"])
        rows = max(n + 1, 5, len(found["whole"]), len(found["target"]))
        sheet = Sheet(WRITTEN, TOP + PITCH * rows + 30, LEAST)
        sheet.text(NECK + 16, 18, "The decoder writes", bold=True)
        sheet.text(286, 48, "how sure", GREY, anchor="end")
        size = len(found["last"])
        sheet.text(202, 48, found["title"] * (self.kept < size), GREY, anchor="end")
        sheet.text(300, 48, f"all {size}", GREY)
        for t, word in enumerate(found["whole"]):
            reached, colour = t < done or ends, BAD if t in found["lost"] else GREY
            sheet.text(300, TOP + PITCH * t + 14, word if reached else "·", colour)
            y, at = TOP + PITCH * t + 19, 300 + 70 * self.kept / size
            sheet.pixels(300, y, 70, 7 * reached, found["chances"][None, :, t], WEIGHTS, 0, 1)
            sheet.rect(at, y - 2, 3 * reached, 11, ORANGE)
        for t, word in enumerate(found["target"]):
            y, step = TOP + PITCH * t, n + 2 + t
            there, other = t < done, t in found["new"]
            chance = float(found["probabilities"][t].max())
            colour = (BAD if other else INK) if there else GREY
            sheet.text(180, y + 16, word if there else "·", colour, anchor="end",
                       bold=there and (other or step == self.step))  # fmt: skip
            sheet.rect(188, y, 44, 20, PALE)
            sheet.rect(188, y, 44 * chance if there else 0, 20, PURPLE)
            sheet.text(238, y + 16, share(chance) if there else "", GREY)
            sheet.target(NECK, y - 7, WRITTEN - NECK, PITCH, f"Go to token {t + 1}", step=step)
        cut = ends and self.cut(found["target"]) or f"▬ chance with 0 … {size} numbers"
        sheet.text(NECK + 8, TOP + PITCH * rows + 20, cut * bool(done), GREY)
        self._draw_neck(sheet)
        return sheet
