"""A recurrent translator that squeezes a sentence through one vector; the learner sets how wide."""

import math
import re

import traitlets
from matplotlib.colors import ListedColormap

from helpers.data.toy_reference import follows_grammar, reference
from helpers.plots import BLUE, GREY, INK, PURPLE, SIGNED
from helpers.pretrained.recurrent_trace import greedy_traces, word_shares
from helpers.widgets.colours import LIGHT
from helpers.widgets.readable import odd_ones, percent
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import BAD, PALE, RULE, Sheet, shade, share, track

MOST, MANY = 9, 20  # tokens on one side, the end included: of an alignment map, of two networks
LAST = 3 * MANY  # a step beyond the last: English verbs can have two words
WIDE, TOP, PITCH = 418, 62, 34  # pixels: the network, its first row, and to the next at most
TALL = 420  # pixels: all rows
# Where both directions' states, the context, and the decoder's states and words begin: so close
# that a phone shows all of it at once.
DOWN, UP, NECK, BUS, OUT, WRITTEN = 92, 140, 190, 263, 276, 322
BOX, STATE = (56, 128), (36, 20)  # the context's size, and a state's
LEFT, RIGHT = 104, 308  # pixels: where numbers are let through
ENDS = ".", "<eos>"
FATE = ListedColormap([BAD, BLUE, LIGHT["hatch"]], "fate")  # lost, written, lost for good


def draw_cells(sheet, x, y, values, frame, size, rows=4):
    """Draw `values` as cells in so many `rows`, (x, y, *size) of a `sheet`, in a `frame`."""
    values = values.reshape(math.gcd(len(values), rows), -1)
    sheet.pixels(x, y, *size, values, SIGNED, -1, 1)
    sheet.rect(x, y, *size, "none", frame, 2)


class SentenceStepper(SentenceExplorer):
    """What both steppers share: a trained Seq2Seq model and a sentence that the learner types.

    The sentence has spaces between its words, and each word is in the `source_vocabulary`; the
    model writes words of the `target_vocabulary`. It is a ValueError if
    the sentence cannot be used, or if the model has not the attention that is shown. If no state is
    given, it opens with that of a subclass's `opening`: a moment worth seeing.
    """

    attention = "none"  # what the model's configuration must say
    most = MOST  # tokens that the sentence may have, the end included

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
        special = self._source.ids["<unk>"]  # the special tokens come first
        return sorted(word for word, i in self._source.ids.items() if i > special)

    def tidy(self, sentence):
        return super().tidy(re.sub(r"(?=\.)|(?<=['’])", " ", sentence).replace("’", "'"))

    def problem(self, sentence: str) -> str:
        words = sentence.lower().split()
        if not words:
            return "Type a sentence: words with spaces between them."
        unknown = sorted({*words} - {*self.known_words()}, key=words.index)
        if unknown:
            return f"Not in “Known words”: {', '.join(unknown):.60}."
        if len(words) >= self.most:
            return f"At most {self.most - 1} words fit, the full stop included; got {len(words)}."
        return ""

    def traces(self, most=MOST, **changes) -> list[dict]:
        """Return the `greedy_traces` of the sentence, `most` tokens at most, `in_words`.

        The `changes` are `kept` or `look`, see `greedy_traces`.
        """
        kept = self.once(self.sentence, dict)
        if (key := str(changes)) not in kept:
            ids = self._source.encode(self.sentence.lower(), eos=True)
            ends = self._target.ids["<bos>"], self._target.ids["<eos>"]
            made = greedy_traces(self._model, ids, *ends, most, **changes)
            source = self._source.tokens(ids)
            kept[key] = [self.in_words({**each, "source": source}) for each in made]
        return kept[key]

    def in_words(self, found: dict) -> dict:
        """Add to a trace what it wrote, `target`, and read, `input`: tokens."""
        found["probabilities"].clamp_(max=0.9999)  # no token is certain: >0.99, never 1.00
        tokens = self._target.tokens
        return {**found, "target": tokens(found["written"]), "input": tokens(found["read"])}


class RNNStepper(SentenceStepper):
    """Squeeze a sentence through the one vector of an encoder–decoder without attention.

    A sentence is first seen translated, and broken, because half of the context vector's numbers,
    or a quarter, and so on, don't suffice; playing follows it there from state to state. Moving
    `kept` lets more numbers through, the largest first. A word is kept if it stands in the toy
    corpus's own translation, in that order: what is out of order is not.

    State: `step` (1 to S reads a source token, S + 1 hands over the context vector, each later one
    writes a token) and `kept` (how many numbers of the context vector get through).

    Source
    ------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", section 2.
    """

    most = MANY
    step = traitlets.Int(LAST, min=1, max=LAST).tag(state=True)
    kept = traitlets.Int(1024, min=0, max=1024).tag(state=True)

    def opening(self):
        """Halve the numbers until the translation breaks."""
        kept, written = self._model.config.d_hidden, [each["target"] for each in self.squeezed()]
        while kept and written[kept] == written[-1]:
            kept //= 2
        return {"kept": kept}

    def build(self):
        self.words("sentence", "Sentence", wide=True, known=self.known_words())
        most = self._model.config.d_hidden
        self.kept = min(self.kept, most)
        self.observe(lambda _: self.set_trait("step", LAST), "kept")
        self.observe(lambda _: self.take({**self.opening(), "step": LAST}), "sentence")
        self.play("step", "Step", interval=1100)

    def reset(self, *_):
        super().reset()
        for name in "kept", "step":  # another sentence or `kept` has led to the end
            setattr(self, name, self._start[name])

    def squeezed(self) -> list[dict]:
        """Translate with none of the context's numbers getting through, with one, … with all."""
        words = self.sentence.lower().split()
        most = max(MOST, *(len(side) + 1 for side in (words, reference(words))))
        return self.traces(most, kept=range(self._model.config.d_hidden + 1))

    def in_words(self, found):
        """Add which words of the right translation, `whole`, are `lost`, and which are `new`."""
        found = super().in_words(found)
        sides = reference(self.sentence.lower().split()), found["target"]
        lost, new = (
            [i for i, is_odd in enumerate(odd) if is_odd and tokens[i] not in ENDS]
            for odd, tokens in zip(odd_ones(*sides), sides, strict=True)
        )
        return {**found, "whole": sides[0], "lost": lost, "new": new}

    def compute(self):
        """Follow the sentence through the model, squeezed; see what each number of them keeps."""
        traces = self.squeezed()
        self.kept = min(self.kept, len(traces) - 1)
        found = dict(traces[self.kept])
        n_source, whole = len(found["source"]), found["whole"]
        self.limit("step", n_source + 1 + len(found["target"]))
        words = [i for i, word in enumerate(whole) if word not in ENDS]
        found["stays"] = {i: [i not in each["lost"] for each in traces] for i in words}
        found["right"] = [not each["lost"] and not each["new"] for each in traces]
        found["rows"] = max(len(each["target"]) for each in traces)
        found["row"] = min(PITCH, TALL / max(n_source, found["rows"]))  # to the next that's written
        found["pitch"] = min(48, found["row"] * max(1, found["rows"] / n_source))  # that is read
        found["high"] = min(STATE[1], found["row"] - 8)  # of a state
        if "shares" not in (kept := self.once(self.sentence, dict)):
            ids = self._source.encode(self.sentence.lower(), eos=True)
            words = [self._source.ids[word] for word in self.known_words()]
            kept["shares"] = word_shares(self._model, ids, words).tolist()
        found["shares"] = kept["shares"]
        found["n_written"] = max(self.step - n_source - 1, 0)
        return found

    def describe(self):
        written = " ".join(self.numbers["target"][: self.numbers["n_written"]])
        return (
            f"An encoder reads “{self.sentence}”. Step {self.step}: {' '.join(self.tell())} "
            f"Written so far: {written or 'nothing'}."
        )

    def tell(self):
        found, step = self.numbers, self.step
        n, size, target = len(found["source"]), len(found["last"]), found["target"]
        if step <= n:
            words, shares = found["source"], found["shares"][0][step - 1]
            said = f"“{words[step - 1]}” takes {percent(shares[step - 1])} of the downward state"
            kept = f", and the first, “{words[0]}”, keeps {percent(shares[0])}."
            said += kept if step > 1 else ", as no word comes before it."
            asked = "A word’s share says how far another word would move the state."
            return said, asked
        if step == n + 1:
            return (
                f"The two last states, {size // 2} numbers each, form the context: {self.kept} of "
                f"{size} get through.",
                "Those furthest from 0 come first. Nothing else reaches the decoder.",
            )
        if found["n_written"] < len(target):
            t = found["n_written"] - 1
            chance, read = share(found["probabilities"][t].max()), found["input"][t]
            said = f"The decoder reads “{read}” and the context, and updates its state."
            return said, f"The likeliest next token is “{target[t]}”, with probability {chance}."
        words, numbers = len(found["stays"]), "number keeps" if self.kept == 1 else "numbers keep"
        n = words - len(found["lost"])
        return f"{self.kept} {numbers} {n} of {words} words in order.", self._asked()

    def _asked(self):
        """Say what is lost, and how few numbers suffice."""
        found, right, stays = self.numbers, self.numbers["right"], self.numbers["stays"]
        if not follows_grammar(found["source"][:-1]):
            return "The model doesn’t know sentences of this form. Try one like “le chat dort.”"
        if not self.kept:
            return "Nothing gets through, so any right word is right by chance."
        never = ", ".join(f"“{found['whole'][i]}”" for i, stay in stays.items() if not stay[-1])
        if never and (not any(right) or self.kept == len(right) - 1):
            return f"Even all {len(right) - 1} get {never} wrong, so it’s the model’s own mistake."
        if found["new"] and not found["lost"]:
            return "Every word is there, but so are others, in red."
        if not right[self.kept]:
            return "Drag the dot to where all words are blue. Is it the leftmost?"
        again = ((k, i) for k in range(self.kept, len(right)) for i in stays if not stays[i][k])
        told = " More can be worse: with {}, “{}” is wrong again."
        more = next((told.format(k, found["whole"][i]) for k, i in again), "")
        return f"Every word is kept, which takes at least {right.index(True)}.{more}"

    def draw(self):
        found, n = self.numbers, len(self.numbers["source"])
        high = max(found["pitch"] * n, BOX[1] + 40)  # of the encoder
        low = TOP + max(found["row"] * found["rows"], high + 14)  # whatever gets through
        sheet, size = Sheet(WIDE, low), len(found["last"])
        for y, number, words in (18, 0.2, "< 0"), (42, 0.8, "> 0"):
            sheet.rect(24, y - 13, 16, 15, shade(SIGNED, number))
            sheet.text(48, y, words, GREY)
        sheet.text(NECK + BOX[0] / 2, 42, "Context", PURPLE, anchor="middle", bold=True)
        sheet.text(DOWN, 18, "Encoder", bold=True)
        sheet.text(DOWN, 42, f"2 × {size // 2}", GREY)
        sheet.text(OUT, 18, "Decoder", bold=True)
        sheet.text(OUT, 42, f"{size} numbers", GREY)
        self._draw_encoder(sheet)
        self._draw_decoder(sheet)
        self._draw_context(sheet, TOP + (high - BOX[1]) / 2)
        return [sheet, self._draw_choice(low) if self.step > n else self._draw_reading(n)]

    def _link(self, sheet, when, *places):
        """Draw an arrow through `places`, (x, y) each: bold in the step (`when`) that uses it."""
        now = when == self.step
        colour, line = (PURPLE, 4) if now else (GREY if when < self.step else RULE, 1.5)
        sheet.path(places[:-1], colour, line)
        room = math.dist(*places[-2:])
        sheet.arrow(*places[-2], *places[-1], colour, line, min(9 if now else 7, room))

    def _draw_encoder(self, sheet):
        """Draw a state per token and direction, one going down and one going up."""
        found, step = self.numbers, self.step
        halves, pitch, high = found["encoder"].chunk(2, dim=1), found["pitch"], found["high"]
        n = len(found["source"])
        for i, word in enumerate(found["source"]):
            y, met = TOP + pitch * i, step <= n and i in (step - 1, n - step)
            sheet.text(DOWN - 8, y + high / 2 + 6, word, anchor="end", bold=met)
            for x, states, when in (DOWN, halves[0], i + 1), (UP, halves[1], n - i):
                self._draw_state(sheet, x, y, states[i], when)
            if i + 1 < n:
                middle, ends = STATE[0] / 2, (y + high + 1, y + pitch - 1)
                self._link(sheet, i + 2, *((DOWN + middle, end) for end in ends))
                self._link(sheet, n - i, *((UP + middle, end) for end in ends[::-1]))
            top, label = y + (high - pitch) / 2, f"Go to step {i + 1}, {word}"
            sheet.target(0, top, NECK - 8, pitch, label, step=i + 1)

    def _draw_state(self, sheet, x, y, state, when):
        """Draw the first numbers of a `state`, or where it will be before the step `when`."""
        size = STATE[0], self.numbers["high"]
        if when <= self.step:
            draw_cells(sheet, x, y, state, PURPLE if when == self.step else GREY, size)
        else:
            sheet.rect(x, y, *size, PALE)

    def _draw_context(self, sheet, y):
        """Draw the two last states' way into the context vector, and its way to every step."""
        (wide, high), n, state = BOX, len(self.numbers["source"]), self.numbers["high"]
        end = TOP + self.numbers["pitch"] * (n - 1) + state
        middle, low = NECK + wide / 2, max(end + 10, y + high + 16)
        up, last = (UP + STATE[0], TOP + state / 2), (DOWN + STATE[0] / 2, end + 1)
        self._link(sheet, n + 1, up, (middle, up[1]), (middle, y - 2))
        self._link(sheet, n + 1, last, (last[0], low), (middle, low), (middle, y + high + 2))
        sheet.rect(NECK, y, wide, high, PALE)
        if self.step > n:
            draw_cells(sheet, NECK, y, self.numbers["last"], PURPLE, BOX, 16)
        sheet.target(NECK, y, wide, high, "Go to the context vector", step=n + 1)
        steps = range(len(self.numbers["target"]))
        for t in sorted(steps, key=lambda t: n + 2 + t == self.step):  # what is bold on top
            row, out = TOP + self.numbers["row"] * t + state / 2, y + high / 2
            way = (NECK + wide, out), (BUS, out), (BUS, row), (OUT - 2, row)
            self._link(sheet, n + 2 + t, *way)

    def _draw_decoder(self, sheet):
        """Draw a state and a token per step; each step reads the token before it."""
        found, done, n = self.numbers, self.numbers["n_written"], len(self.numbers["source"])
        row, high = found["row"], found["high"]
        for t, word in enumerate(found["target"]):
            y, step, new = TOP + row * t, n + 2 + t, t in found["new"]
            self._draw_state(sheet, OUT, y, found["states"][t + 1], step)
            if t:
                x = OUT + STATE[0] / 2
                self._link(sheet, step, (x, y - row + high + 1), (x, y - 1))
                before = WRITTEN + row - 20, y - row + high + 2
                self._link(sheet, step, before, (OUT + STATE[0], y + high / 5))
            colour = GREY if t >= done else BAD if new else INK
            bold = t < done and (new or step == self.step)
            sheet.text(WRITTEN, y + high / 2 + 6, word if t < done else "·", colour, bold=bold)
            left, top = BUS + 6, y + (high - row) / 2
            sheet.target(left, top, WIDE - left, row, f"Go to token {t + 1}", step=step)

    def _draw_reading(self, n):
        """Draw what each word that was read still counts for in both states of this step."""
        found, met, high = self.numbers, (self.step - 1, n - self.step), self.numbers["high"]
        sheet = Sheet(322, TOP + found["pitch"] * n)
        sheet.text(0, 18, "Each word’s share of a state", bold=True)
        sheet.text(LEFT, 42, "going down", GREY)
        sheet.text(LEFT + 116, 42, "going up", GREY)
        for i, word in enumerate(found["source"]):
            y = TOP + found["pitch"] * i
            sheet.text(LEFT - 12, y + high / 2 + 6, word, anchor="end", bold=i in met)
            for x, read, now, shares in (
                (LEFT, i <= met[0], met[0], found["shares"][0]),
                (LEFT + 116, i >= met[1], met[1], found["shares"][1]),
            ):
                sheet.bar(x, y, 64, high, shares[now][i] * read, PURPLE if i == now else BLUE)
                sheet.text(x + 69, y + high / 2 + 6, percent(shares[now][i]) * read, GREY)
        return sheet

    def _draw_choice(self, height):
        """Draw which words are kept, whatever gets through: there it's chosen."""
        found, size = self.numbers, len(self.numbers["last"])
        top, rows = 52, max(len(found["stays"]), 1)
        strip = min(42, (height - top - 84) / rows)  # with room for the notes
        low = top + strip * rows
        sheet, x = Sheet(322, low + 32), LEFT + (RIGHT - LEFT) * self.kept / size
        sheet.text(0, 18, f"Let through: {self.kept} of {size}", PURPLE, bold=True)
        sheet.text(LEFT - 18, 42, "should be", GREY, anchor="end")
        sheet.text(LEFT, 42, "■ kept, in order", BLUE)
        sheet.text(LEFT + 152, 42, "■ not", BAD)
        # Behind the strips, so that it hides none of their columns.
        sheet.line(x, top - 4, x, low, PURPLE, 3)
        half = (RIGHT - LEFT) / size / 2  # a column's middle is where the dot stands
        told, own_mistake = found["n_written"] == len(found["target"]), False
        for row, (i, stay) in enumerate(found["stays"].items()):
            y, lost = top + strip * row, told and i in found["lost"]
            own = len(stay) - [*stay[::-1], True].index(True)  # from there on it's the model's
            colour = (GREY if self.kept >= own else BAD) if lost else INK
            at = LEFT - 18, y + strip / 2 + 3
            sheet.text(*at, found["whole"][i], colour, anchor="end", bold=lost)
            fates = [*stay[:own], *[2] * (len(stay) - own)]
            wide = RIGHT - LEFT + 2 * half
            sheet.pixels(LEFT - half, y, wide, strip - 5, [fates], FATE, 0, 2)
            own_mistake |= 2 in fates
        notes = ["grey: the model’s own mistake"] * own_mistake
        notes += ["il, elle: these texts only say “it”"] * ("it" in found["whole"])
        for note in notes:
            sheet.text(322, sheet.height + 22, note, GREY, anchor="end")
            sheet.height += 26
        for at, words in (LEFT, "0"), ((LEFT + RIGHT) / 2, "largest (±) first"), (RIGHT, size):
            sheet.text(at, low + 28, words, GREY, anchor="middle")
        sheet.dot(x, low, 9, PURPLE)
        drag = track("x", "kept", (LEFT, RIGHT), (0, size), self.kept, 1)
        sheet.handle(LEFT - 10, top - 4, RIGHT - LEFT + 20, low - top + 14, "Let through",
                     f"{self.kept} of {size} numbers", drag)  # fmt: skip
        return sheet
