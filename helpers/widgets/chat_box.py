"""One message in the chat template, right or wrong: what an assistant reads and answers."""

from itertools import zip_longest
from os.path import commonprefix
from textwrap import wrap

import traitlets

from helpers.models.assistant import MARKS, chat_prompt
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.readable import changes
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import BAD, PALE, RULE, Sheet
from helpers.widgets.tokenizers_side_by_side import draw_labels, visible

LONGEST, QUOTED = 160, 60  # characters of a message, and of a reply that is told
LEFT, CELL, TOP, ROW = 140, 52, 30, 44  # pixels of the table: its names, columns, head, rows
OWN = "Own"
WHOLE = "the whole template"
TEMPLATES = {
    WHOLE: lambda ids: ids,
    "no end token": lambda ids: [i for i in ids if i != MARKS.end],
    "the reply isn't opened": lambda ids: ids[:-1],
    "the roles swapped": lambda ids: [MARKS.assistant, *ids[1:-1], MARKS.user],
    "no template": lambda ids: ids[1:-2],
}
MEANS = {  # how the model reads then, and what that means
    "no end token": ("Without <|end|>", "No token says that the message is over."),
    "the reply isn't opened": ("Without <|assistant|>", "No token says whose turn it is now."),
    "the roles swapped": ("With the roles swapped",
                          "Your words now come after <|assistant|>, the answer after <|user|>."),
    "no template": ("Without the template", "The model reads it like a line from a story."),
}  # fmt: skip
# A message and its right answer, which our assistant gives with the whole template. What else it
# writes with a broken one is wrong, and each way to break it spoils other messages.
EXAMPLES = {
    "Copy": ("Say: least crowns cloak waggoner.", "least crowns cloak waggoner"),
    "3 ×": ("Write the word rabbit three times.", "rabbit rabbit rabbit"),
    "Pick": ("Choose two of these: merchant, raven, stone, ox, servant.", "merchant and raven"),
    "Who": (
        "In Thornford live the ogre Ultin and the bride Eltin. Who is the bride of Thornford?",
        "The bride Eltin.",
    ),
}
ROLES = {MARKS.user: BLUE, MARKS.assistant: GREEN, MARKS.end: ORANGE, MARKS.pad: GREY}


def _changes(before, now):
    """List the tokens of both as `changes` does, by their ids; of equal ones, the last are new."""
    same = len(commonprefix([before, now]))
    rest = changes(*([*map(str, ids[same:])] for ids in (before, now)))
    return [(i, " ") for i in before[:same]] + [(int(one), mark) for one, mark in rest]


class ChatBox(SentenceExplorer):
    """Type a message, break its template, and compare what our assistant answers.

    Parameters
    ----------
    writer : function (ids) -> ids
        What the assistant writes after a list of ids. An end token at the end says that it stopped
        by itself.
    encode : function (str) -> sequence of int
    decode : function (sequence of int) -> str
    sentence : str
        The message, at most 160 characters.
    **state : traits
        `template`: how the message is put to the assistant.
    """

    template = traitlets.Enum(list(TEMPLATES), WHOLE).tag(state=True)

    def __init__(self, writer, encode, decode, sentence, **state):
        self._writer, self._encode, self._decode = writer, encode, decode
        super().__init__(sentence, **state)

    def problem(self, sentence):
        """Say why a `sentence` cannot be used; an empty str if it can."""
        if not sentence.strip():
            return "Type at least one word."
        n = len(sentence)
        return f"At most {LONGEST} characters fit; got {n}." if n > LONGEST else ""

    def build(self):
        self.words("sentence", "Message, then Enter", wide=True)

    def forget(self):
        self._own = ""  # the last message that is no example
        # By the message and the template: what was read and written, and the mark that it earned.
        self._read_before, self._tried = {}, {}

    def compute(self):
        """Let the assistant go on after the message in this template, and in the whole one."""
        now, whole = self._read(self.template), self._read(WHOLE)
        said = [self._said(one["reply"]) for one in (now, whole)]
        name = next((name for name, one in EXAMPLES.items() if one[0] == self.sentence), OWN)
        self._own = self.sentence if name == OWN else self._own
        right, same = (EXAMPLES[name][1], "✗✓") if name in EXAMPLES else (said[1], "≠=")
        for template, answer in zip((WHOLE, self.template), said[::-1], strict=True):
            self._tried[self.sentence, template] = mark = same[answer == right]
        return {**now, "whole": whole, "said": said, "name": name, "mark": mark}

    def _read(self, template):
        if (asked := (self.sentence, template)) not in self._read_before:
            ids = TEMPLATES[template](chat_prompt(self.sentence, self._encode))
            self._read_before[asked] = {"prompt": ids, "reply": list(self._writer(ids))}
        return self._read_before[asked]

    def _said(self, ids):
        text = self._decode(ids[:-1] if ids[-1:] == [MARKS.end] else ids)
        for mark in ROLES.keys() & {*ids}:  # apart, as words are
            text = text.replace(self._decode([mark]), f" {self._decode([mark])} ")
        return text.strip()

    def describe(self):
        read, reply = map(self._decode, (self.numbers["prompt"], self.numbers["reply"]))
        return f"Our assistant reads “{read}” and writes “{reply}”. {self.tell()[0]}"

    def tell(self):
        """Say what the assistant read, what was cut, and what that changed in its answer."""
        found, ids = self.numbers, self.numbers["reply"]
        if self.template == WHOLE:
            special, ends = sum(i in ROLES for i in found["prompt"]), ids[-1:] == [MARKS.end]
            return (
                f"Of the {len(found['prompt'])} tokens that our assistant reads, {special} belong "
                f"to the template. It answers in {len(ids) - ends} "
                f"more{', followed by an end token' if ends else ' and hasn’t stopped by then'}.",
                self._left() or "Press a “?” to break the template. Does the answer survive?",
            )
        # A long word is broken, too.
        lines = [wrap(" ".join(answer.split()), QUOTED) for answer in found["said"]]
        now, before = (f"“{one[0]}{'…' * (len(one) > 1)}”" if one else "nothing" for one in lines)
        did = f"writes {now}, not {before}"
        if found["mark"] in "=✓":
            did = f"still writes {now}"
        elif not lines[0]:
            did = f"ends its answer at once instead of writing {before}"
        n, asked = self._survived(self.template), "Press this row’s other “?”: how many survive?"
        if n is not None:
            asked = f"Of our {len(EXAMPLES)} examples, {n} survive{'s' * (n == 1)}. {self._left()}"
        how, means = MEANS[self.template]
        told = f"{how}, our assistant {did}.".replace(".”.", ".”")
        return told, f"{means} {asked}".strip()

    def _survived(self, template):
        """Count the examples that are answered right in a `template`; None if one isn't tried."""
        marks = [self._tried.get((one, template)) for one, _ in EXAMPLES.values()]
        return marks.count("✓") if all(marks) else None

    def _left(self):
        """Say what there is to do when no example is left to try."""
        broken = {name: self._survived(name) for name in MEANS}
        if None in broken.values():
            return ""
        best = max(broken, key=broken.get)
        asked = "" if self._own else " Type a message of your own."
        name = best.replace("'", "’")
        return f"Most answers survive “{name}”: {broken[best]} of {len(EXAMPLES)}.{asked}"

    def draw(self):
        found, whole = self.numbers, self.numbers["whole"]
        read = _changes(whole["prompt"], found["prompt"])
        both = _changes(whole["reply"], found["reply"])
        before = [(i, " ") for i in whole["reply"]]
        now = [(i, mark) for i, mark in both if mark != "-"]  # nothing that isn't written
        answers = {"With the whole template it writes": before, "Now it writes": now}
        answers = {"and writes": now} if self.template == WHOLE else answers
        sheet = Sheet(400, 0)
        for title, pieces in {"Our assistant reads": read, **answers}.items():
            block = self._draw_pieces(title, pieces, PURPLE if title in answers else GREY)
            sheet.put(block, 0, sheet.height)
            sheet.height += block.height
        if any(mark == "+" for _, mark in now):
            sheet.text(0, sheet.height + 10, "red: differs from the answer above", GREY)
            sheet.height += 18
        return [self._draw_table(), sheet]

    def _draw_table(self):
        """Draw the messages and what breaks, to be pressed: each place has the mark it earned."""
        sheet = Sheet(400, TOP + ROW * len(TEMPLATES) + 48)
        sheet.text(0, 18, "message:", GREY)
        for row, template in enumerate(TEMPLATES):
            name = template.removeprefix("the ").replace("'", "’")
            for i, line in enumerate(name.rsplit(" ", 1)):
                y = TOP + ROW * row + 15 + 20 * i
                sheet.text(44, y, line, BLUE if template == WHOLE else INK)
            self._draw_sketch(sheet, TOP + ROW * row + 9, TEMPLATES[template])
        messages = {name: message for name, (message, _) in EXAMPLES.items()}
        for column, (name, message) in enumerate({**messages, OWN: self._own}.items()):
            x, here = LEFT + CELL * column, name == self.numbers["name"]
            ink = INK if message else GREY
            sheet.text(x + CELL / 2 - 2, 18, name, ink, anchor="middle", bold=here)
            if message:
                sheet.target(x, 0, CELL - 4, TOP - 2, f"{name}: {message}", sentence=message)
            for row, template in enumerate(TEMPLATES if message else ()):
                self._draw_place(sheet, x, TOP + ROW * row, name, message, template)
        sheet.text(0, sheet.height - 28, "✓ right answer, ✗ wrong answer", GREY)
        told = "= answer unchanged, ≠ changed" if self._own else "type a message above"
        sheet.text(0, sheet.height - 6, f"{OWN}: {told}", GREY)
        return sheet

    def _draw_sketch(self, sheet, y, broken):
        """Draw a block per part of the template, in the colours of what is read; cut ones empty."""
        whole = [MARKS.user, None, MARKS.end, MARKS.assistant]  # None: the message
        left = broken(whole)
        for i, part in enumerate(left if len(left) == len(whole) else whole):
            fill = ROLES.get(part, GREY) if part in left else "none"
            sheet.rect(9.5 * i, y, 8, 22, fill, RULE if fill == "none" else None, 1.5, 3, 0.5)

    def _draw_place(self, sheet, x, y, name, message, template):
        on = name == self.numbers["name"] and template == self.template
        mark = self._tried.get((message, template), "?")
        # An answer of one's own is neither right nor wrong.
        colour = {"✓": GREEN, "✗": BAD, "?": GREY}.get(mark, PURPLE)
        tried = mark != "?"
        sheet.rect(x, y, CELL - 4, ROW - 4, colour if tried else PALE, round=4, opacity=0.25**tried)
        sheet.rect(x, y, CELL - 4, ROW - 4, stroke=INK if on else None, line=3, round=4)
        sheet.text(x + CELL / 2 - 2, y + 25, mark, colour, anchor="middle", bold=tried)
        words = {"✓": "right", "✗": "wrong", "=": "the same", "≠": "different", "?": "not tried"}
        label = f"{name}, {template}: {words[mark]}"
        sheet.target(x, y - 1, CELL - 4, ROW - 2, label, sentence=message, template=template)

    def _draw_pieces(self, title, pieces, colour):
        labels, held = [], []
        for (i, mark), after in zip_longest(pieces, pieces[1:]):
            held.append(i)
            text = self._decode(held)
            part = text.endswith("\ufffd") and len(held) < 4
            if part and after and after[0] not in ROLES and after[1] == mark:
                continue  # a byte or three of a longer character
            name = f"{visible(text)} ({len(held)} tokens)" if held[1:] else visible(text)
            odd = mark == "+" and colour == PURPLE  # in an answer
            fill = BAD if odd else ROLES.get(i, colour)
            labels.append((name, fill, mark == "+" or i in ROLES, mark == "-"))
            held = []
        ended = not pieces or colour == GREY or pieces[-1][0] == MARKS.end
        return draw_labels(title, labels, "" if ended else "…")
