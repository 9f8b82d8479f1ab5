"""Where a reader sees the answer: every token's start and end, every span, and the best one."""

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, RULE, Sheet, flow, number, shade, share, track

MOST_TOKENS = 60  # of the text; more could not be told apart
MAP, WIDE, LEFT, UP = 230, 400, 136, 120  # pixels; the map's corner
BAR = 30  # pixels of a bar beside the map that is sure
ROW = 36  # pixels of a candidate's line
ROOM = 18  # pixels that a cell's name takes, on a phone too
LONGEST = 20  # tokens of an answer
CANDIDATES = 4
NOWHERE = "not in the text"


class SpanExplorer(Explorer):
    """Type a text and a question, and see which span the reader points at.

    Parameters
    ----------
    reader : Reader
    question, text : str
        The text with at most 60 tokens.
    questions : dict of str to str, default={}
        More of them, a button each, by what stands on it.
    **state : traits
        `start` and `end` (int): the tokens that are marked; −1 is the model's choice. `apart`
        (bool): start and end are each chosen alone.

    Raises
    ------
    ValueError
        If question or text is empty, or the text is too long to draw.
    """

    question = traitlets.Unicode().tag(state=True)
    text = traitlets.Unicode().tag(state=True)
    start = traitlets.Int(-1, min=-1, max=MOST_TOKENS).tag(state=True)
    end = traitlets.Int(-1, min=-1, max=MOST_TOKENS).tag(state=True)
    apart = traitlets.Bool(False).tag(state=True)

    def __init__(self, reader, question, text, questions=None, **state):
        self._reader, self._questions = reader, questions or {}
        super().__init__(question=question, text=text, **state)

    def _window(self, question, text):
        """Read, and remember what was read last: a click asks for the same again."""
        return self.once((question, text), lambda: self._reader.read([question], [text])[0])

    def _problem(self, name, typed):
        both = {"question": self.question, "text": self.text, name: typed}
        if empty := [field for field, words in both.items() if not words.strip()]:
            return f"Type a {empty[0]} first: at least one word."
        try:
            n = sum(len(window.tokens) for window in self._window(**both))
        except ValueError as error:
            return str(error)
        return f"At most {MOST_TOKENS} tokens fit; got {n}." if n > MOST_TOKENS else ""

    @traitlets.validate("question", "text")
    def _check(self, proposal):
        return self.checked(proposal, self._problem(proposal.trait.name, proposal.value))

    def build(self):
        self.words("question", "Question", wide=True)
        self.words("text", "Text", wide=True)
        self.examples("question", self._questions)
        self.switch("apart", "Choose start and end independently")
        self.observe(lambda _: self.take({"start": -1, "end": -1}), names=["question", "text"])

    def compute(self):
        window = self._window(self.question, self.text)[0]
        scores = window.start[:, None] + window.end[None, :]  # (T, T): start by end
        length = torch.arange(len(scores))[None, :] - torch.arange(len(scores))[:, None] + 1
        valid = (length >= 1) & (length <= LONGEST)
        scores = scores.masked_fill(~valid, -torch.inf)
        best = scores.flatten().topk(min(CANDIDATES, int(valid.sum())))
        spans = [divmod(place, len(scores)) for place in best.indices.tolist()]
        hand = zip((self.start, self.end), spans[0], strict=True)
        chosen = tuple(min(mine, len(scores) - 1) if mine >= 0 else its for mine, its in hand)
        if self.apart:
            chosen = window.start.argmax().item(), window.end.argmax().item()
        every = torch.cat([scores.flatten(), torch.tensor([window.no_answer])]).softmax(0)
        shares = every[:-1].view_as(scores)
        start, end = window.start.softmax(0), window.end.softmax(0)
        names = [one if len(one) < 10 else f"{one[:8]}…" for one in window.tokens]
        by_hand, none = max(self.start, self.end) >= 0, every[-1].item()
        framed = self.apart or by_hand or none <= shares[spans[0]]  # or else it's an answer's
        return {"window": window, "names": names, "scores": scores, "spans": spans,
                "shares": shares, "none": none, "valid": bool(valid[chosen]), "framed": framed,
                "chosen": chosen, "start": start, "end": end}  # fmt: skip

    def words_of(self, span):
        """Cut the words of a span out of the text; none if it ends before it starts."""
        offsets = self.numbers["window"].offsets
        return self.text[offsets[span[0]][0] : offsets[span[1]][1]]

    def _no_span(self):
        start, end = self.numbers["chosen"]
        return f"no span: {'the end comes first' if end < start else f'over {LONGEST} tokens'}"

    def describe(self):
        return f"All spans, rows by start, columns by end, by probability. {' '.join(self.tell())}"

    def tell(self):
        """Say what the model answers, which span is marked, and what to try."""
        found = self.numbers
        words = self.words_of(found["chosen"]).rstrip(".")
        best = self.words_of(found["spans"][0]).rstrip(".")
        sure, none = found["shares"][found["spans"][0]].item(), found["none"]
        if self.apart:
            ends = (f"“{found['window'].tokens[place]}”" for place in found["chosen"])
            said = f"point at “{words}”" if words else "are {} and {}: no span".format(*ends)
            too = " too" * (found["chosen"] == found["spans"][0])
            together = f"they point at “{best}”{too}"
            if none > sure:
                together = f"the answer is “{NOWHERE}”: {share(none)}"
            asked = f"Chosen together, {together}. Untick the box, or ask something else."
            return f"Start and end, each chosen alone, {said}.", asked
        asked = "Ask something else, or press two tokens."
        alone = found["start"].argmax().item(), found["end"].argmax().item()
        if alone != found["spans"][0]:
            asked = "Tick the box: what do start and end point at, each chosen alone?"
        others = [(found["shares"][span].item(), self.words_of(span)) for span in found["spans"]]
        (sure, best), (next_sure, next_best) = sorted([*others, (none, NOWHERE)])[:-3:-1]
        answer, other = f"“{best}”: {share(sure)}", f"“{next_best}” gets {share(next_sure)}"
        if best == NOWHERE:
            other = f"Its best span, {other}".replace("” gets", "”, gets")
        if found["chosen"] == found["spans"][0]:
            return f"The model answers {answer}.", f"{other}. {asked}"
        marked = f"You marked “{words}”: {share(found['shares'][found['chosen']])}."
        if not found["valid"]:
            marked = f"You marked {self._no_span()}."
        return marked, f"The model answers {answer}. {asked}"

    def draw(self):
        return [self._draw_map(), self._draw_text()]

    def _draw_map(self):
        found = self.numbers
        n = len(found["scores"])
        sheet = Sheet(WIDE, MAP + UP + (50 if n > LONGEST else 26))
        sheet.text(0, 18, "Every span", INK, bold=True)
        for y, words in (40, "bars: each"), (60, "end alone"):
            sheet.text(0, y, words, GREY)
        sheet.text(LEFT - BAR - 6, UP - 30, "end →", ORANGE, anchor="end")
        sheet.text(LEFT - BAR - 6, UP - 8, "start ↓", BLUE, anchor="end")
        cell, (start, end) = MAP / n, found["chosen"]
        self._draw_sides(sheet, cell)
        # By the root of the probability: a second answer is seen as well.
        sheet.pixels(LEFT, UP, MAP, MAP, found["shares"].sqrt(), WEIGHTS, 0, 1)
        steps = [(LEFT + cell * i, UP + cell * (i + down)) for i in range(n) for down in (0, 1)]
        sheet.path([*steps, (LEFT, UP + MAP)], width=0, fill=GREY, opacity=0.5)
        sheet.text(LEFT + 8, UP + MAP - 8, "end first" * (n > 1))
        for i in range(n - LONGEST):
            at = UP + cell * (i + 0.5)
            sheet.line(LEFT + cell * (i + LONGEST), at, LEFT + MAP, at, GREY, cell / 3)
        x, y = LEFT + cell * end, UP + cell * start
        if found["framed"]:
            sheet.line(LEFT, y + cell / 2, x, y + cell / 2, PURPLE, 1.5, "3 3")
            sheet.line(x + cell / 2, UP, x + cell / 2, y, PURPLE, 1.5, "3 3")
            sheet.rect(x - 3, y - 3, cell + 6, cell + 6, stroke=PURPLE, line=3)
        near, far = cell / 2, MAP - cell / 2
        down = track("y", "start", (UP + near, UP + far), (0, n - 1), start, step=1)
        across = track("x", "end", (LEFT + near, LEFT + far), (0, n - 1), end, step=1)
        value = self.words_of((start, end)) or "no span"
        if not self.apart:  # no hand unticks the box without touching it
            sheet.handle(LEFT, UP, MAP, MAP, "The marked span", value, across, down)
        self._draw_scale(sheet, UP + MAP + 6, n)
        return sheet

    def _draw_sides(self, sheet, cell):
        """Draw each token's bars beside the map, with its name as start and as end."""
        found, (start, end) = self.numbers, self.numbers["chosen"]
        sheet.rect(LEFT - BAR, UP, BAR - 2, MAP, PALE)
        sheet.rect(LEFT, UP - BAR, MAP, BAR - 2, PALE)
        for i, (down, across) in enumerate(zip(found["start"], found["end"], strict=True)):
            down, across = (BAR - 2) * down.item(), (BAR - 2) * across.item()
            sheet.rect(LEFT - 2 - down, UP + cell * i + 1, down, cell - 2, BLUE)
            sheet.rect(LEFT + cell * i + 1, UP - 2 - across, cell - 2, across, ORANGE)
        for name, mine, ink, turn in ("start", start, BLUE, 0), ("end", end, ORANGE, 90):
            for i in self._with_room(found[name], mine, cell):
                along, marked = cell * (i + 0.5) + 6, i == mine and found["framed"]
                place = (LEFT + along, UP - BAR - 4) if turn else (LEFT - BAR - 6, UP + along)
                how = {"anchor": "start" if turn else "end", "bold": marked, "turn": turn}
                sheet.text(*place, found["names"][i], ink if marked else GREY, **how)

    def _with_room(self, shares, marked, cell):
        """List the tokens whose names have room: the marked one's first, then the likeliest."""
        named = []
        for i in (marked, *shares.argsort(descending=True).tolist()):
            if all(abs(i - other) * cell >= ROOM for other in named):
                named.append(i)
        return named

    def _draw_scale(self, sheet, y, n):
        """Say what the colours mean: how likely a span is, or why it is none."""
        x = LEFT - BAR
        sheet.text(x - 6, y + 14, "P(span) 0", GREY, anchor="end")
        for low, words in (0, "¼"), (0.5, "1"):
            half = torch.linspace(low, low + 0.5, 30)[None]
            sheet.pixels(x + 124 * low, y, 40, 18, half, WEIGHTS, 0, 1)
            sheet.text(x + 124 * low + 44, y + 14, words, GREY)
        sheet.rect(x + 128, y, 18, 18, shade(WEIGHTS, self.numbers["none"] ** 0.5), GREY, 1)
        sheet.text(x + 152, y + 14, NOWHERE, GREY)
        if n > LONGEST:
            for down in (27, 33, 39):
                sheet.line(x + 128, y + down, x + 146, y + down, GREY, 2)
            sheet.text(x + 152, y + 38, f"over {LONGEST} tokens", GREY)

    def _draw_text(self):
        found, sheet = self.numbers, Sheet(WIDE, 0, least=24 / ROW)
        first, last = found["chosen"]
        self._draw_sum(sheet)
        tokens, y = found["window"].tokens, 0
        for place, (x, y, wide) in enumerate(flow(tokens, 58, WIDE, ROW)):
            within = first <= place <= last and found["framed"]
            sheet.rect(
                x, y, wide, 26, PURPLE if within else PALE, round=3, opacity=1 - 0.65 * within
            )
            for mine, ink, inside in (first, BLUE, 1), (last, ORANGE, 3 * (first == last) + 1):
                if place == mine and found["framed"]:
                    size = wide - 2 * inside, 26 - 2 * inside
                    sheet.rect(x + inside, y + inside, *size, stroke=ink, line=3)
            sheet.text(x + wide / 2, y + 19, tokens[place], INK, anchor="middle")
            if not self.apart:  # the second press ends what the first has begun
                begun = self.start if self.start == self.end and 0 <= self.start < place else place
                label = f"Mark from {tokens[begun]} to {tokens[place]}"
                sheet.target(x, y - 5, wide, ROW, label, start=begun, end=place)
        sheet.text(0, y + 54, "Chosen together", INK, bold=True)
        self._draw_spans(sheet, y + 68)
        sheet.height = y + 68 + ROW * (len(found["spans"]) + 1)
        return sheet

    def _draw_sum(self, sheet):
        """Write how the marked span's score comes from its two ends, and what it makes of it."""
        found, (first, last) = self.numbers, self.numbers["chosen"]
        start, end = found["window"].start[first].item(), found["window"].end[last].item()
        for x, words, ink in (
            (0, f"start {number(start)}", BLUE if found["framed"] else GREY),
            (120, f"+ end {number(end)}", ORANGE if found["framed"] else GREY),
            (240, f"= score {number(start + end)}", INK),
        ):
            sheet.text(x, 18, words, ink, bold=True)
        made = self._no_span()
        if found["valid"]:
            made = f"P, a softmax over all scores: {share(found['shares'][first, last])}"
        sheet.text(0, 42, made, GREY)

    def _draw_spans(self, sheet, y):
        """Draw the best spans and “not in the text”, a bar each, the likeliest first."""
        found, right = self.numbers, WIDE - 72  # where the bars end
        every = [(*(found[one][span].item() for one in ("shares", "scores")), span)
                 for span in found["spans"]]  # fmt: skip
        every = sorted(
            [*every, (found["none"], found["window"].no_answer, None)], key=lambda one: -one[0]
        )
        sheet.text(right, y - 14, "score", GREY, anchor="end")
        sheet.text(WIDE - 6, y - 14, "P", GREY, anchor="end")
        for i, (part, score, span) in enumerate(every):
            top = y + ROW * i
            words = self.words_of(span) if span else NOWHERE
            head, tail = words[:13].rpartition(" ")[0], words[-13:].partition(" ")[2]
            shown = words if len(words) <= 24 else f"{head or words[:11]} … {tail or words[-11:]}"
            ink = PURPLE if span else GREY
            bold = span == (found["chosen"] if found["framed"] else None)
            sheet.text(6, top + 14, shown, INK if span else GREY, bold=bold)
            sheet.text(WIDE - 6, top + 20, share(part), ink, anchor="end")
            sheet.text(right, top + 14, number(score), GREY, anchor="end")
            sheet.bar(6, top + 21, right - 6, 6, part, ink)
            if span:
                sheet.rect(0, top - 3, WIDE, ROW - 4, stroke=RULE, round=4)
            if span and not self.apart:
                ends = {"start": span[0], "end": span[1]}
                sheet.target(0, top - 4, WIDE, ROW, f"Mark a span: {words}", **ends)
