"""One message in the chat template, right or wrong: what two models read, and what they answer."""

from itertools import zip_longest
from textwrap import shorten

import traitlets

from helpers.models.assistant import MARKS, chat_prompt
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.readable import odd_ones
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import BAD, PALE, Sheet
from helpers.widgets.tokenizers_side_by_side import draw_labels, visible

LONGEST, QUOTED = 160, 60  # characters of a message, and of a reply that is told
MOST = 8  # messages with a mark in the tally
WHOLE = "the whole template"
TEMPLATES = {
    WHOLE: lambda ids: ids,
    "no end token": lambda ids: [i for i in ids if i != MARKS.end],
    "the reply isn't opened": lambda ids: ids[:-1],
    "the roles swapped": lambda ids: [MARKS.assistant, *ids[1:-1], MARKS.user],
    "no template": lambda ids: ids[1:-2],
}
MEANS = {
    "no end token": "No token says that the message is over.",
    "the reply isn't opened": "No token says whose turn it is now.",
    "the roles swapped": "Your words now come after <|assistant|>, and the answer after <|user|>.",
    "no template": "It reads a bare line, like one from a story.",
}
# Of what our assistant has learned to do: it answers these rightly, and no broken template does.
EXAMPLES = {
    "Repeat": "Say wear four times.",
    "Copy": "Say: least crowns cloak waggoner.",
    "Choose": "Choose four of these: raven, feather, monkey, harp, robber, merchant.",
    "Who?": "In Thornford live the ogre Ultin and the bride Eltin. Who is the bride of Thornford?",
}
ROLES = {MARKS.user: BLUE, MARKS.assistant: GREEN, MARKS.end: ORANGE, MARKS.pad: GREY}


def _plain(answer):
    """Leave out what no one would call another answer."""
    return answer.casefold().strip(".!?")


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

    template = traitlets.Enum(list(TEMPLATES), WHOLE).tag(state=True)

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
        self.words("sentence", "Message", wide=True)
        self.examples("sentence", EXAMPLES)
        self.button("Start again", self.reset)

    def forget(self):
        self._tried = {template: {} for template in MEANS}  # messages: whether they were answered

    def compute(self):
        """Let every model go on after the message in this template, and in the whole one."""
        now, whole = self._read(self.template), self._read(WHOLE)
        name = next(iter(self._writers))
        said = [self._said(one["replies"][name]) for one in (now, whole)]
        if self.template != WHOLE:
            self._tried[self.template][self.sentence] = _plain(said[0]) == _plain(said[1])
        return {**now, "whole": whole, "said": said}

    def _read(self, template):
        known, kept = self._known
        if known != self.sentence:
            self._known = self.sentence, (kept := {})
        if template not in kept:
            ids = TEMPLATES[template](chat_prompt(self.sentence, self._encode))
            replies = {name: list(writer(ids)) for name, writer in self._writers.items()}
            kept[template] = {"prompt": ids, "replies": replies}
        return kept[template]

    def describe(self):
        replies = "; ".join(
            f"{name} writes “{self._decode(ids)}”" for name, ids in self.numbers["replies"].items()
        )
        return f"The models read “{self._decode(self.numbers['prompt'])}”. Then {replies}."

    def tell(self):
        """Say what the first model read, what was cut, and what that changed in its answer."""
        found, whole = self.numbers, self.numbers["whole"]
        name, ids = next(iter(found["replies"].items()))
        if self.template == WHOLE:
            special = sum(i in ROLES for i in found["prompt"])
            ends = "" if ids and ids[-1] == MARKS.end else ", and hasn’t stopped by then"
            return (
                f"Of the {len(found['prompt'])} tokens that {name} reads, {special} belong "
                f"to the template. It answers in {len(ids)} more{ends}.",
                "Take something away from the template. Does the answer survive?",
            )
        cut = [
            self._decode([i]) for i in whole["prompt"] if i in ROLES and i not in found["prompt"]
        ]
        how = f"Without {' '.join(cut)}" if cut else f"With {self.template}"
        now, before = found["said"]
        quoted = [shorten(answer, QUOTED, placeholder="…") for answer in (now, before)]
        did = f"writes “{quoted[0]}”, not “{quoted[1]}”"
        if now == before:
            did = "still gives the same answer"
        elif not now:
            did = "answers nothing"
        elif _plain(now) == _plain(before):
            did = "changes only capitals or the full stop"
        return f"{how}, {name} {did}.", f"{MEANS[self.template]} Does another answer survive?"

    def _said(self, ids):
        return self._decode([i for i in ids if i not in ROLES]).strip()

    def draw(self):
        found = {WHOLE: self.numbers["whole"], self.template: self.numbers}
        columns = [self._draw_blocks(one) for one in found.values()]
        if self.template == WHOLE:  # a single column would leave half of the room empty
            columns = [columns[0][:2], columns[0][2:]]
        rows = zip_longest(*([block.height for block in each] for each in columns), fillvalue=0)
        heights = [*map(max, rows)]
        sheets = [Sheet(400, 34 + sum(heights)) for _ in columns]
        for sheet, how, blocks in zip_longest(sheets, found, columns, fillvalue=""):
            sheet.text(0, 18, how, BLUE if how == WHOLE else ORANGE, bold=True)
            for i, block in enumerate(blocks):
                sheet.put(block, 0, 34 + sum(heights[:i]))
        return [*self._draw_tally(), *sheets]

    def _draw_tally(self):
        """Draw what to break, and mark which of the messages tried got the same answer."""
        sheets = Sheet(400, 104), Sheet(400, 104)
        sheets[0].text(0, 18, "Press a line to break the template", bold=True)
        sheets[1].text(0, 18, "✓ the answer survives, ✗ it doesn’t", GREY)
        for i, (template, tried) in enumerate(self._tried.items()):
            sheet, y, on = sheets[i // 2], 30 + 36 * (i % 2), template == self.template
            sheet.rect(0, y, 400, 34, ORANGE if on else PALE, round=4)
            sheet.text(8, y + 23, template, "white" if on else INK, bold=on)
            for j, kept in enumerate([*tried.values()][-MOST:]):
                colour = "white" if on else GREEN if kept else ORANGE
                sheet.text(236 + 20 * j, y + 23, "✓" if kept else "✗", colour, bold=True)
            then = WHOLE if on else template
            label = f"Take {then}; {template}: {sum(tried.values())} of {len(tried)} survive"
            sheet.target(0, y - 1, 400, 36, label, template=then)
        return sheets

    def _draw_blocks(self, one):
        blocks = [self._draw_pieces("The models read (template in colour)", one["prompt"], GREY)]
        for name, ids in one["replies"].items():
            whole = self.numbers["whole"]["replies"][name]
            _, odd = odd_ones([*map(str, whole)], [*map(str, ids)])
            title = f"{name} writes{' (changes in bold)' * any(odd)}"
            blocks.append(self._draw_pieces(title, ids, PURPLE, "…", odd))
        return blocks

    def _draw_pieces(self, title, ids, colour, more="", odd=()):
        labels, held = [], []
        for n, i in enumerate(ids, 1):
            held.append(i)
            text = self._decode(held)
            part = text.endswith("\ufffd") and len(held) < 4 and n < len(ids)
            if part and ids[n] not in ROLES:
                continue  # a byte or three of a longer character
            name = f"{visible(text)} ({len(held)} tokens)" if held[1:] else visible(text)
            new = any(odd[n - len(held) : n])
            labels.append((name, ROLES.get(i, BAD if new else colour), new or i in ROLES))
            held = []
        return draw_labels(title, labels, "" if ids and ids[-1] == MARKS.end else more)
