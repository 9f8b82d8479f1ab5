"""One message in the chat template, right or wrong: what two models read, and what they answer."""

import traitlets

from helpers.models.assistant import MARKS, chat_prompt
from helpers.plots import BLUE, GREEN, GREY, ORANGE, PURPLE
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.tokenizers_side_by_side import draw_labels, visible

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

    def tell(self):
        """Say what the first model makes of this template, and what to try."""
        name, ids = next(iter(self.numbers["replies"].items()))
        ends = "and stops by itself" if ids and ids[-1] == MARKS.end else "and doesn't stop"
        return (
            f"With “{self.template}”, {name} writes {len(ids)} tokens {ends}.",
            "Take something away from the template. Who still answers, and who just goes on?",
        )

    def draw(self):
        """Draw the prompt's pieces in the colour of their role, and each reply beside it."""
        replies = self.numbers["replies"].items()
        return [
            self._draw_pieces("all of them read", self.numbers["prompt"], GREY),
            *(self._draw_pieces(f"{name} writes", ids, PURPLE, "…") for name, ids in replies),
        ]

    def _draw_pieces(self, title, ids, colour, more=""):
        labels = [(visible(self._decode([i])), ROLES.get(i, colour), i in ROLES) for i in ids]
        return draw_labels(title, labels, "" if ids and ids[-1] == MARKS.end else more)
