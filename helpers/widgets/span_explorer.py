"""Where a reader sees the answer: every token's start and end, every span, and the best one."""

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS, tint
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number

MOST_TOKENS = 60  # of the text; more could not be told apart
MAP, WIDE, LEFT, UP = 272, 400, 90, 102  # pixels; the map's corner
ROW = 38  # pixels of a candidate's line
LETTER = 10.6  # pixels, roughly, of a letter of the text
LONGEST = 20  # tokens of an answer
CANDIDATES = 4
LOWEST = 12.0  # a span this far below the best is as pale as can be
SPANS = WEIGHTS.with_extremes(bad=tint(GREY, 0.25))


class SpanExplorer(Explorer):
    """Type a text and a question, and see which span the reader points at.

    Parameters
    ----------
    reader : Reader
    question, text : str
        The text with at most 60 tokens.
    **state : traits
        `rank` (1 to 4): which of the best spans is marked; `apart` (bool): start and end are each
        chosen alone.

    Raises
    ------
    ValueError
        If question or text is empty, or the text is too long to draw.
    """

    question = traitlets.Unicode().tag(state=True)
    text = traitlets.Unicode().tag(state=True)
    rank = traitlets.Int(1, min=1, max=CANDIDATES).tag(state=True)
    apart = traitlets.Bool(False).tag(state=True)

    def __init__(self, reader, question, text, **state):
        self._reader, self._known = reader, {}
        if problem := self._problem(question, text):
            raise ValueError(problem)
        self._first = {"question": question, "text": text}
        super().__init__(question=question, text=text, **state)

    def _window(self, question, text):
        """Read, and remember what was read last: a click asks for the same again."""
        if (question, text) not in self._known:
            self._known = {(question, text): self._reader.read([question], [text])[0]}
        return self._known[question, text]

    def _problem(self, question, text):
        try:
            windows = self._window(question, text)
        except ValueError as error:
            return str(error)
        n = sum(len(window.tokens) for window in windows)
        return f"At most {MOST_TOKENS} tokens fit; got {n}." if n > MOST_TOKENS else ""

    @traitlets.validate("question", "text")
    def _check(self, proposal):
        if not self.controls:  # not built yet, and looked at before
            return proposal.value
        name = proposal.trait.name
        problem = self._problem(
            **{"question": self.question, "text": self.text, name: proposal.value}
        )
        self.controls[name].error = problem
        if problem:
            self._show()  # nothing changes, so nothing else would show what is wrong
        return getattr(self, name) if problem else proposal.value

    def reset(self, *_):
        """Go back to the first question and text."""
        with self.together():
            for field in ("question", "text"):
                self.controls[field].error = ""
            self.question, self.text = self._first["question"], self._first["text"]
            self.rank, self.apart = 1, False

    def build(self):
        """Make the controls; candidates are clicked in the picture."""
        self.words("question", "Question", wide=True)
        self.words("text", "Text", wide=True)
        self.switch("apart", "Choose start and end independently")
        self.button("Start again", self.reset)

    def compute(self):
        """Score every span and choose one."""
        window = self._window(self.question, self.text)[0]
        scores = window.start[:, None] + window.end[None, :]  # (T, T): start by end
        length = torch.arange(len(scores))[None, :] - torch.arange(len(scores))[:, None] + 1
        valid = (length >= 1) & (length <= LONGEST)
        scores = scores.masked_fill(~valid, -torch.inf)
        best = scores.flatten().topk(min(CANDIDATES, int(valid.sum())))
        spans = [divmod(place, len(scores)) for place in best.indices.tolist()]
        chosen = spans[min(self.rank, len(spans)) - 1]
        if self.apart:
            chosen = window.start.argmax().item(), window.end.argmax().item()
        return {
            "window": window,
            "scores": scores,
            "spans": spans,
            "shares": scores.flatten().softmax(0)[best.indices],
            "chosen": chosen,
            "start": window.start.softmax(-1),
            "end": window.end.softmax(-1),
        }

    def words_of(self, span):
        """Cut the words of a span out of the text; none if it ends before it starts."""
        offsets = self.numbers["window"].offsets
        return self.text[offsets[span[0]][0] : offsets[span[1]][1]]

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        start, end = (found["window"].tokens[place] for place in found["chosen"])
        words = self.words_of(found["chosen"])
        answer = f"the span is “{words}”" if words else "the end comes before the start: no span"
        return (
            f"All spans of the text, rows by start and columns by end, coloured by their score. "
            f"Start “{start}”, end “{end}”: {answer}."
        )

    def tell(self):
        """Say which span is marked, and what to try."""
        found = self.numbers
        words = self.words_of(found["chosen"]).rstrip(".")
        best, shares = self.words_of(found["spans"][0]).rstrip("."), found["shares"].tolist()
        if self.apart:
            said = f"point at “{words}”" if words else "make no span: the end comes first"
            same = found["chosen"] == found["spans"][0]
            return (
                f"Start and end, chosen independently, {said}.",
                f"Chosen together, they point at “{best}”{' too' if same else ''}. "
                "Ask something else about the text.",
            )
        asked = "Tick the box: do start and end, chosen independently, agree with it?"
        if found["chosen"] == found["spans"][0]:
            return f"The model's choice is “{best}”: {number(shares[0])}.", asked
        rank = found["spans"].index(found["chosen"])
        marked = f"You marked “{words}”: {number(shares[rank])}"
        return f"{marked}; the model's choice is “{best}”: {number(shares[0])}.", asked

    def draw(self):
        """Draw the map of spans, and beside it the text with the best spans below."""
        return [self._draw_map(), self._draw_text()]

    def _draw_map(self):
        sheet, found = Sheet(400, MAP + UP + 26), self.numbers
        scores, n = found["scores"], len(found["scores"])
        sheet.text(0, 18, "Every span", INK, bold=True)
        sheet.text(LEFT - 8, UP - 8, "start ↓", BLUE, anchor="end")
        sheet.text(LEFT, 44, "end →", ORANGE)
        gaps = (scores - scores.max()).masked_fill(~scores.isfinite(), torch.nan)
        sheet.pixels(LEFT, UP, MAP, MAP, gaps.clamp(min=-LOWEST), SPANS, -LOWEST, 0)
        cell = MAP / n
        start, end = found["chosen"]
        for i, token in enumerate(found["window"].tokens):  # all names, if there is room for them
            x, y = LEFT + cell * (i + 0.5), UP + cell * (i + 0.5) + 6
            sheet.text(LEFT - 8, y, token[:8] if cell >= 20 or i == start else "", BLUE,
                       anchor="end")  # fmt: skip
            sheet.text(x, UP - 6, token[:6] if cell >= 20 or i == end else "", ORANGE, turn=50)
        side = max(cell + 8, ROW)
        for rank, (first, last) in reversed(list(enumerate(found["spans"], 1))):  # the best on top
            label = f"Span {rank}: {self.words_of((first, last))}"
            x, y = LEFT + cell * (last + 0.5) - side / 2, UP + cell * (first + 0.5) - side / 2
            sheet.target(x, y, side, side, label, rank=rank, apart=False)
        x, y = LEFT + cell * end, UP + cell * start
        sheet.rect(x - 3, y - 3, cell + 6, cell + 6, stroke=PURPLE, line=3)
        words = f"strong: best score, faint: −{LOWEST:.0f}, grey: no span"
        sheet.text(0, MAP + UP + 22, words, GREY)
        return sheet

    def _draw_text(self):
        found, x, y = self.numbers, 0.0, 44.0
        sheet = Sheet(WIDE, 0, least=24 / ROW)
        sheet.text(0, 18, "Start and end, token by token", INK, bold=True)
        first, last = found["chosen"]
        rows = zip(found["window"].tokens, found["start"], found["end"], strict=True)
        for place, (token, start, end) in enumerate(rows):
            width = LETTER * (len(token) + 0.4 * token.count("#") + 0.5 * token.count("m")) + 8
            if x + width > WIDE:
                x, y = 0.0, y + 50
            inside = first <= place <= last
            sheet.rect(x, y, width - 2, 24, PALE, round=3)
            if inside:
                sheet.rect(x, y, width - 2, 24, PURPLE, round=3, opacity=0.35)
            sheet.text(x + (width - 2) / 2, y + 18, token, INK, anchor="middle")
            sheet.rect(x, y + 26, (width - 2) * float(start), 7, BLUE)
            sheet.rect(x, y + 34, (width - 2) * float(end), 7, ORANGE)
            x += width
        y += 72
        sheet.text(0, y, "▬ starts here", BLUE)
        sheet.text(150, y, "▬ ends here", ORANGE)
        self._draw_spans(sheet, y + 20)
        sheet.height = y + 34 + ROW * len(found["spans"])
        return sheet

    def _draw_spans(self, sheet, y):
        found = self.numbers
        for rank, (span, share) in enumerate(
            zip(found["spans"], found["shares"].tolist(), strict=True), 1
        ):
            marked = rank == self.rank and not self.apart
            words, top = self.words_of(span), y + ROW * (rank - 1)
            shown = words if len(words) <= 28 else f"{words[:27]}…"
            sheet.rect(0, top, WIDE * share, 28, PURPLE, round=3, opacity=0.35)
            sheet.text(6, top + 20, f"{rank}  {shown}", INK, bold=marked)
            sheet.text(WIDE - 6, top + 20, number(share), PURPLE, anchor="end")
            sheet.target(
                0, top - 5, WIDE, ROW, f"Mark span {rank}: {words}", rank=rank, apart=False
            )
