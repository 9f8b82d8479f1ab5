"""Decoding one token at a time: candidates, dials, the beam's tree, and where the model looks."""

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers import decoding
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.readable import readable
from helpers.widgets.sentence_explorer import MOST_PIECES, TranslatedSentence
from helpers.widgets.svg import RULE, Sheet, number

SHOWN = 8  # candidates
COLUMNS = 7  # steps of the beam's tree that are drawn
TREE, NODE = 210, 44  # pixels: top of the tree, and from one node to the next
METHODS = ("greedy", "sample", "beam")


def dialled(logits, temperature, top_k, top_p):
    """Compute the probabilities that sampling draws from.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    temperature : float
    top_k : int
        0 leaves all.
    top_p : float
        1 leaves all.

    Returns
    -------
    probabilities : Tensor of shape (..., V)
    """
    logits = logits / temperature
    if top_k:
        logits = decoding.top_k_filter(logits, top_k)
    return decoding.top_p_filter(logits, top_p).softmax(-1)


class DecodingExplorer(TranslatedSentence):
    """Watch the bundled translator choose its tokens, and change how it chooses.

    Parameters
    ----------
    translator : Translator
    sentence : str, default="Un homme âgé vend des fleurs au marché."
        French, at most 24 pieces.
    **state : traits
        `method`: "greedy", "sample" or "beam". `step`, from 1. For samples `temperature`, `top_k`
        (0: all), `top_p` (1: all) and `seed`; for beams `beam_size` and `length_penalty`.

    Raises
    ------
    ValueError
        If the sentence cannot be translated or is too long to draw.
    """

    method = traitlets.Enum(METHODS, "greedy").tag(state=True)
    step = traitlets.Int(1, min=1, max=MOST_PIECES).tag(state=True)
    temperature = traitlets.Float(1.0, min=0.1, max=3.0).tag(state=True)
    top_k = traitlets.Int(0, min=0, max=20).tag(state=True)
    top_p = traitlets.Float(1.0, min=0.1, max=1.0).tag(state=True)
    seed = traitlets.Int(1, min=1, max=50).tag(state=True)
    beam_size = traitlets.Int(4, min=1, max=6).tag(state=True)
    length_penalty = traitlets.Float(1.4, min=0.0, max=3.0).tag(state=True)

    def __init__(self, translator, sentence="Un homme âgé vend des fleurs au marché.", **state):
        self._bos_id, self._eos_id = translator.tokenizer.encode("", bos=True, eos=True)
        super().__init__(translator, sentence, **state)

    def build(self):
        """Make the controls; those of another method are hidden."""
        self.words("sentence", "Sentence", wide=True)
        self.play("step", "Step", interval=1500)
        self.button("Start again", self.reset)
        self.choice("method", "Method", [(m, m) for m in METHODS])
        self._dials = {
            "sample": [
                self.slider("temperature", "Temperature", 0.1, digits=1),
                self.slider("top_k", "Top-k (0: all)"),
                self.slider("top_p", "Top-p (1: all)"),
                self.slider("seed", "Seed"),
            ],
            "beam": [
                self.slider("beam_size", "Beams"),
                self.slider("length_penalty", "Length penalty", 0.1, digits=1),
            ],
        }
        self.observe(self._show_dials, names="method")
        self._show_dials()

    def _show_dials(self, change=None):
        for method, dials in self._dials.items():
            for dial in dials:
                dial.layout.display = None if method == self.method else "none"

    def compute(self):
        """Translate with this method, and find what it could choose from at this step."""
        dials = (self.sentence, self.method)
        if self.method == "sample":
            dials += (self.temperature, self.top_k, self.top_p, self.seed)
        elif self.method == "beam":
            dials += (self.beam_size, self.length_penalty)
        known, found = self._known
        if known != dials:
            found = self._decode()
            self._known = dials, found
        self.limit("step", len(found["columns"]) if self.method == "beam" else len(found["ids"]))
        t = min(self.step, len(found["ids"])) - 1
        chances = found["logits"][t].softmax(-1)
        dialled_to = chances
        if self.method == "sample":
            dialled_to = dialled(found["logits"][t], self.temperature, self.top_k, self.top_p)
        shown = chances.topk(SHOWN).indices.tolist()
        if found["ids"][t] not in shown:  # a sample may be an unlikely one
            shown[-1] = found["ids"][t]
        found["candidates"] = [
            (i, self._piece(i), chances[i].item(), dialled_to[i].item()) for i in shown
        ]
        return {**found, "t": t, "kept": int((dialled_to > 0).sum())}

    @torch.no_grad()
    def _decode(self):
        """Translate; then read the whole translation once more for logits and attention."""
        model, tokenizer = self._translator.model, self._translator.tokenizer
        src_ids = self._translator.encode([self.sentence])
        request = (model.decoder_step(src_ids), 1, self._bos_id, self._eos_id, MOST_PIECES)
        columns, finished = [], []
        if self.method == "beam":
            trace = decoding.BeamTrace()
            finished = decoding.beam(
                *request, self.beam_size, length_penalty=self.length_penalty, trace=trace
            )[0]
            columns, ids = trace.steps, finished[0].ids
        elif self.method == "sample":
            generator = torch.Generator().manual_seed(self.seed)
            ids = decoding.sample(
                *request, self.temperature, self.top_k or None, self.top_p, generator
            )[0]
        else:
            ids = decoding.greedy(*request)[0]
        prefix = torch.tensor([[self._bos_id, *ids[:-1]]])
        cross = model.attention_maps(src_ids, prefix).cross[0, -1]  # the last layer's
        return {
            "ids": ids,
            "logits": model(src_ids, prefix)[0],
            "cross": cross.mean(0),  # (T, S), over the heads
            "source": readable(tokenizer.tokens(src_ids[0].tolist())),
            "target": readable(tokenizer.tokens(ids)),
            "translation": tokenizer.decode(ids),
            "columns": columns,
            "finished": finished,
        }

    def _piece(self, token_id):
        # After another word, so that what goes on with a word is marked as such.
        tokens = self._translator.tokenizer.tokens([token_id])
        return readable(["▁a", *tokens])[1]

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        best = ", ".join(f"{piece} {number(p)}" for _, piece, p, _ in found["candidates"][:3])
        return (
            f"“{self.sentence}” decoded by {self.method}: “{found['translation']}”. Step "
            f"{self.step}: likeliest are {best}. The model looks most at "
            f"“{found['source'][found['cross'][found['t']].argmax()]}”."
        )

    def draw(self):
        """Draw source and translation, and below the candidates or the beam's tree."""
        rows = max(map(len, self.numbers["columns"]), default=0)
        tall = TREE + NODE * rows + 190 if rows else 530
        sheet = Sheet(920, tall)
        self._draw_source(sheet)
        self._draw_written(sheet)
        sheet.line(24, 164, 896, 164, RULE)
        if rows:
            self._draw_tree(sheet)
            self._draw_finished(sheet, TREE + NODE * rows + 44)
        else:
            self._draw_candidates(sheet)
        self.draw_message(sheet, tall - 14)
        return sheet

    def _draw_source(self, sheet):
        """Write the source, each word as dark as the weight it gets at this step."""
        found = self.numbers
        weights = found["cross"][found["t"]].tolist()
        sheet.text(24, 30, "Looks at (cross-attention, last layer, mean of the heads)", GREY)
        for x, wide, word, weight in _flow(found["source"], weights):
            sheet.rect(x, 42, wide, 34, to_hex(WEIGHTS(weight)), RULE, round=4)
            colour = "white" if weight > 0.45 else INK
            sheet.text(x + wide / 2, 65, word, colour, anchor="middle")

    def _draw_written(self, sheet):
        """Write the translation as far as the step has come."""
        found = self.numbers
        sheet.text(24, 108, "Writes", GREY)
        places = list(_flow(found["target"], found["ids"]))
        for i, (x, wide, word, _) in enumerate(places[: found["t"] + 1]):
            now = i == found["t"]
            sheet.rect(x, 116, wide, 34, PURPLE if now else "white", PURPLE, round=4)
            sheet.text(x + wide / 2, 139, word, "white" if now else INK, anchor="middle")

    def _draw_candidates(self, sheet):
        """Draw bars for the likeliest tokens, before and after the dials."""
        found, sampling = self.numbers, self.method == "sample"
        chosen = found["ids"][found["t"]]
        sheet.text(24, 194, f"Candidates at step {self.step}", INK, bold=True)
        words = "probability" + (", and after the dials" if sampling else "")
        sheet.text(250, 194, words, GREY)
        if sampling:
            left = found["kept"]
            sheet.text(896, 194, f"{left:,} of {found['logits'].shape[1]:,} pieces can be drawn",
                       GREY, anchor="end")  # fmt: skip
        for i, (token_id, piece, chance, after) in enumerate(found["candidates"]):
            y, now = 216 + 33 * i, token_id == chosen
            sheet.text(188, y + 17, piece, PURPLE if now else INK, anchor="end", bold=now)
            if sampling:
                sheet.rect(200, y, 480 * chance, 11, GREY, opacity=0.55)
                sheet.rect(200, y + 12, 480 * after, 13, PURPLE if now else BLUE)
                words = f"{number(chance, 3)} → {number(after, 3)}"
            else:
                sheet.rect(200, y + 1, 480 * chance, 23, PURPLE if now else BLUE)
                words = number(chance, 3)
            sheet.text(208 + 480 * max(chance, after), y + 17, words, GREY)
            if now:
                sheet.text(896, y + 17, "chosen", PURPLE, anchor="end", bold=True)

    def _draw_tree(self, sheet):
        """Draw what the beam kept at the last few steps; the winner's path stands out."""
        found = self.numbers
        last = self.step
        first = max(0, last - COLUMNS)
        best = self._winner()
        sheet.text(24, 190, f"Kept at steps {first + 1} to {last}, best on top; below each the sum "
                   "of its log-probabilities", GREY)  # fmt: skip
        for t in range(first, last):
            x = 24 + 126 * (t - first)
            for row, (parent, token_id, log_prob) in enumerate(found["columns"][t]):
                y = TREE + NODE * row
                wins, ends = best.get(t) == row, token_id == self._eos_id
                if t > first:
                    before = self._standing(found["columns"][t - 1])[parent]
                    sheet.line(x - 18, TREE + NODE * before + 18, x, y + 18,
                               PURPLE if wins else GREY, 3 if wins else 1.2)  # fmt: skip
                colour = PURPLE if wins else ORANGE if ends else INK
                fill, frame = ("#efe9f5", 2.5) if wins else ("white", 1.0)
                sheet.rect(x, y, 108, 38, fill, colour, frame, round=4)
                sheet.text(x + 54, y + 17, self._piece(token_id)[:10], colour, anchor="middle",
                           bold=wins)  # fmt: skip
                sheet.text(x + 54, y + 34, number(log_prob), GREY, anchor="middle")

    def _winner(self):
        """Find where the winning sentence stands at each step: {step: row}."""
        found, rows, prefixes = self.numbers, {}, [()]
        for t, column in enumerate(found["columns"]):
            beginnings = [(*prefixes[parent], token_id) for parent, token_id, _ in column]
            for row, beginning in enumerate(beginnings):
                if list(beginning) == found["ids"][: t + 1]:
                    rows[t] = row
            prefixes = [beginnings[row] for row in self._standing(column)]
        return rows

    def _standing(self, column):
        """List the rows of a column that go on: what ends is finished and has no children."""
        return [row for row, (_, token_id, _) in enumerate(column) if token_id != self._eos_id]

    def _draw_finished(self, sheet, y):
        """Write the finished sentences with their scores."""
        sheet.text(24, y, "Finished, best first", INK, bold=True)
        sheet.text(896, y, "log-probability / penalty = score", GREY, anchor="end")
        for i, one in enumerate(self.numbers["finished"][:3]):
            words = self._translator.tokenizer.decode(one.ids)
            words = words if len(words) <= 62 else words[:61] + "…"
            at, colour = y + 30 + 28 * i, PURPLE if i == 0 else INK
            sheet.text(24, at, words, colour, bold=i == 0)
            norm = decoding.length_norm(len(one.ids), self.length_penalty)
            sums = f"{number(one.log_prob)} / {number(norm)} = {number(one.score)}"
            sheet.text(896, at, sums, colour, anchor="end")


def _flow(words, values):
    """Give each word its place on one line: as wide as it is, narrower when they are many."""
    wide = [max(11 * len(word) + 16, 26) for word in words]
    squeeze = min(1.0, 872 / sum(wide))
    x = 24
    for word, room, value in zip(words, wide, values, strict=True):
        room *= squeeze
        yield x, room - 4, word, value
        x += room
