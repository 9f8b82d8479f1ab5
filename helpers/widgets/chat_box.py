"""One message in the chat template, right or wrong: what two models read, and what they answer."""

import traitlets

from helpers.models.assistant import MARKS, chat_prompt
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.readable import width_of
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import Sheet
from helpers.widgets.tokenizers_side_by_side import visible

WIDTH, LEFT, ROW = 780, 130, 34  # pixels; where the pieces begin; from line to line
LONGEST = 160  # characters of a message

TEMPLATES = {
    "the whole template": lambda ids: ids,
    "no end token": lambda ids: [i for i in ids if i != MARKS.end],
    "the reply isn't opened": lambda ids: ids[:-1],
    "the roles swapped": lambda ids: [MARKS.assistant, *ids[1:-1], MARKS.user],
    "no template": lambda ids: ids[1:-2],
}
ROLES = {MARKS.user: BLUE, MARKS.assistant: GREEN, MARKS.end: ORANGE, MARKS.pad: GREY}


class ChatBox(SentenceExplorer):
    """Type a message, choose a template, and compare what the models write.

    Parameters
    ----------
    writers : dict of str to function (ids) -> ids
        By the name that is shown: what each writes after a list of ids. An end token at the end
        says that it stopped by itself.
    encode : function (str) -> sequence of int
    decode : function (sequence of int) -> str
    sentence : str
        The message, at most 160 characters.
    **state : traits
        `template`: how the message is put to the models.
    """

    template = traitlets.Enum(list(TEMPLATES), "the whole template").tag(state=True)

    def __init__(self, writers, encode, decode, sentence, **state):
        self._writers, self._encode, self._decode = writers, encode, decode
        super().__init__(sentence, **state)

    def problem(self, sentence):
        """Say why a `sentence` cannot be used; an empty str if it can."""
        if not sentence.strip():
            return "Type at least one word."
        n = len(sentence)
        return f"At most {LONGEST} characters fit; got {n}." if n > LONGEST else ""

    def build(self):
        """Make the controls."""
        self.words("sentence", "Message", wide=True)
        self.choice("template", "Template", list(TEMPLATES))
        self.button("Start again", self.reset)

    def compute(self):
        """Put the message into the template and let every model go on."""
        asked = self._good, self.template
        known, found = self._known
        if known != asked:
            ids = TEMPLATES[self.template](chat_prompt(self._good, self._encode))
            found = {"prompt": ids, "replies": {n: list(w(ids)) for n, w in self._writers.items()}}
            self._known = asked, found
        return found

    def describe(self):
        """Say in words what the picture shows."""
        replies = "; ".join(
            f"{name} writes “{self._decode(ids)}”" for name, ids in self.numbers["replies"].items()
        )
        return f"The models read “{self._decode(self.numbers['prompt'])}”. Then {replies}."

    def draw(self):
        """Draw the prompt's pieces in the colour of their role, and each reply below."""
        sheet = Sheet(WIDTH, 0)
        top = self._draw_pieces(sheet, 0, "both read", self.numbers["prompt"], GREY)
        for name, ids in self.numbers["replies"].items():
            top = self._draw_pieces(sheet, top + 16, name, ids, PURPLE)
        sheet.height = top + 4
        return sheet

    def _draw_pieces(self, sheet, top, name, ids, colour):
        """Draw one row of pieces, in several lines if need be, and return where it ends."""
        sheet.text(0, top + 20, name, INK, bold=True)
        x = LEFT
        for token_id in ids:
            label = visible(self._decode([token_id]))
            width = width_of(label) + 10
            if x + width > WIDTH and x > LEFT:
                x, top = LEFT, top + ROW
            role = ROLES.get(token_id)
            sheet.rect(x, top, width, 28, role or colour, round=6, opacity=0.5 if role else 0.16)
            sheet.text(x + width / 2, top + 20, label, anchor="middle", bold=role is not None)
            x += width + 2
        if ids is not self.numbers["prompt"] and (not ids or ids[-1] != MARKS.end):
            sheet.text(x + 4, top + 20, "…", GREY, bold=True)
        return top + ROW
