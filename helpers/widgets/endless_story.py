"""A story without end: what the bundled GPT could write next, what it writes, what that costs."""

from textwrap import wrap

import torch
import traitlets

from helpers.models.gpt import GPTCache
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE
from helpers.transformer.layers import inference
from helpers.widgets.decoding_explorer import dialled
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import readable
from helpers.widgets.svg import Sheet, share

BEGINNING = "Once upon a time there was a king who"
SHOWN = 7  # candidates
LINES, LETTERS = 13, 42  # of the story's end; letters per line
HEIGHT, STORY, NEXT = 384, 360, 350  # pixels: of both sheets, the story's width, and the next's
RUN, LAST = 4, 60  # pieces in a row that count as said before, and the last ones looked at
SEEDS = 10_000  # place i of a story is drawn with the seed times this, plus i


class EndlessStory(Explorer):
    """Let the story model write, piece by piece, and interfere while it does.

    The dials hold from the next piece on. A click on a candidate writes that one.

    Parameters
    ----------
    storyteller : Storyteller
    **state : traits
        `prompt`: how the story begins. `length`: pieces written so far. `temperature` (0: always
        the likeliest), `top_k` (0: all), `top_p` (1: all), `seed`. `chosen`: place, from 1, and id
        of the piece that was clicked last.

    Raises
    ------
    ValueError
        If the prompt is empty.
    """

    prompt = traitlets.Unicode(BEGINNING).tag(state=True)
    length = traitlets.Int(120, min=0, max=2000).tag(state=True)
    temperature = traitlets.Float(0.8, min=0.0, max=2.0).tag(state=True)
    top_k = traitlets.Int(0, min=0, max=100).tag(state=True)
    top_p = traitlets.Float(0.95, min=0.1, max=1.0).tag(state=True)
    seed = traitlets.Int(1, min=1, max=50).tag(state=True)
    chosen = traitlets.Tuple().tag(state=True)
    _folded = "More dials"

    def __init__(self, storyteller, **state):
        self._teller, self._beginning, self._written = storyteller, None, []
        self._reader = _Reader(storyteller.model)
        super().__init__(**state)

    def build(self):
        self.words("prompt", "Beginning", wide=True)
        self.play("length", "Pieces", interval=120)
        self.slider("temperature", "Temperature", 0.1, digits=1)
        more = {"top_k": "Top-k (0: all)", "top_p": "Top-p (1: all)", "seed": "Seed"}
        for trait, label in more.items():
            self.slider(trait, label).second = True

    def reset(self, *_):
        self._beginning = None  # the story is written anew
        super().reset()

    @traitlets.validate("prompt")
    def _valid_prompt(self, proposal):
        return self.checked(proposal, "" if proposal.value else "The story needs a beginning.")

    def compute(self):
        """Write as many pieces as are asked for, and weigh what could come next."""
        teller, beginning = self._teller, (self.prompt, self.seed)
        if self._beginning != beginning:
            self._beginning, self._written = beginning, []
            self._prompt_ids = teller.encode(self.prompt).tolist()
        place, token_id = self.chosen or (0, -1)
        reached = 0 < place <= min(self.length, len(self._written) + 1)
        if reached and self._written[place - 1 : place] != [token_id]:
            self._written[place - 1 :] = [token_id]  # what a click replaced, and all after it
        del self._written[self.length :]
        while len(self._written) < self.length:
            generator = torch.Generator().manual_seed(self.seed * SEEDS + len(self._written))
            drawn = torch.multinomial(self._chances()[1], 1, generator=generator)
            self._written.append(int(drawn))
        plain, chances = self._chances()
        best = plain.topk(SHOWN).indices.tolist()
        names = [readable(["a", one])[1] for one in teller.tokens(best)]
        n_prompt, n_written = len(self._prompt_ids), len(self._written)
        windows = [self._reader.window(n_prompt + i) for i in range(n_written + 1)]
        return {
            "story": teller.decode(self._prompt_ids + self._written),
            "candidates": [
                (i, name, plain[i].item(), chances[i].item())
                for i, name in zip(best, names, strict=True)
            ],
            "drawable": int((chances > 0).sum()),
            "vocabulary": len(chances),
            "read": windows[-1],
            "repeated": _repeated(self._prompt_ids + self._written),
            "forgotten": teller.decode((self._prompt_ids + self._written)[: -windows[-1]]),
            "without cache": sum(windows),
            # A new piece alone, but for the times when the model goes on from its last half.
            "with cache": windows[0]
            + sum(1 if b > a else b for a, b in zip(windows, windows[1:], strict=False)),
        }

    def _chances(self):
        """Return the distribution of the next piece before and after the dials, (V,) each."""
        logits = self._reader.logits(self._prompt_ids + self._written)
        plain = logits.softmax(-1)
        if self.temperature == 0:
            return plain, torch.zeros_like(plain).index_fill(0, plain.argmax(), 1.0)
        return plain, dialled(logits, self.temperature, self.top_k, self.top_p)

    def describe(self):
        found = self.numbers
        best = ", ".join(f"{name} {share(p)}" for _, name, p, _ in found["candidates"][:3])
        return (
            f"A story of {self.length} pieces after “{self.prompt}”. Likeliest next: {best}. So "
            f"far {found['with cache']:,} positions were computed; without the cache it would "
            f"have been {found['without cache']:,}."
        )

    def tell(self):
        """Say what the window has forgotten and how much of the story was said before."""
        found, most = self.numbers, self._reader.model.config.max_len
        n = len(self._prompt_ids) + len(self._written)
        if gone := n - found["read"]:
            rest = found["story"][len(found["forgotten"]) :].strip(" .,;:!?'")
            first = " ".join(rest.split()[:3])
            headline = f"The first {gone} pieces are forgotten: the window begins at “{first} …”."
        else:
            headline = f"The model still reads all {n} pieces; its window holds {most}."
        share = f"{found['repeated']:.0%} of its last {min(n, LAST)} pieces repeat earlier ones."
        if found["repeated"] > 0.5:
            headline = f"It goes round in circles: {share}"
            return headline, "Move the temperature and press Play. At which one does the loop end?"
        asked = "Does Play end in a loop?"
        if self.temperature > 0:
            asked = "Set the temperature to 0 and press Play."
        return headline, f"{share} {asked}"

    def draw(self):
        return [self._draw_story(), self._draw_candidates()]

    def _draw_story(self):
        sheet, found = Sheet(STORY, HEIGHT), self.numbers
        sheet.text(0, 18, "The story", INK, bold=True)
        sheet.text(STORY, 18, "grey: forgotten" if found["forgotten"] else "", GREY, anchor="end")
        lines, out_of_sight = [], len(found["forgotten"])
        for paragraph in found["story"].splitlines(keepends=True):
            for line in wrap(paragraph, LETTERS, drop_whitespace=False):
                lines.append((line, out_of_sight > 0))
                out_of_sight -= len(line)
        for i, (line, forgotten) in enumerate(lines[-LINES:]):
            newest = i == len(lines[-LINES:]) - 1
            ink = GREY if forgotten else INK
            sheet.text(0, 50 + 24 * i, line.strip() + (" ▌" if newest else ""), ink)
        n = len(self._prompt_ids) + len(self._written)
        left = STORY * (1 - found["read"] / n)
        sheet.text(0, HEIGHT - 20, f"■ the model still reads {found['read']} of {n}", BLUE)
        sheet.rect(0, HEIGHT - 12, STORY, 12, GREY, opacity=0.4)
        sheet.rect(left, HEIGHT - 12, STORY - left, 12, BLUE)
        return sheet

    def _draw_candidates(self):
        sheet, found = Sheet(NEXT, HEIGHT, least=24 / 34), self.numbers
        sheet.text(0, 18, "Next? Press one", bold=True)
        sheet.text(NEXT, 18, "model → dials", GREY, anchor="end")
        for i, (token_id, name, plain, chance) in enumerate(found["candidates"]):
            y = 30 + 34 * i
            sheet.text(92, y + 20, name[:9], PURPLE, anchor="end")
            sheet.rect(102, y + 1, 136 * plain, 12, GREY, opacity=0.55)
            sheet.rect(102, y + 14, 136 * chance, 13, BLUE)
            sheet.text(NEXT, y + 20, f"{share(plain)} → {share(chance)}", GREY, anchor="end")
            if (place := self.length + 1) <= self.traits()["length"].max:
                sheet.target(0, y - 2, NEXT, 34, f"{i + 1}: write {name} as piece {place}",
                             chosen=[place, token_id], length=place)  # fmt: skip
        y = 30 + 34 * SHOWN + 18
        drawable, of_all = found["drawable"], found["vocabulary"]
        sheet.text(0, y, f"{drawable:,} of {of_all:,} pieces can be drawn", GREY)
        sheet.text(0, y + 32, "Positions computed so far", INK, bold=True)
        widest = max(found["without cache"], 1)
        for i, (name, colour) in enumerate((("with cache", PURPLE), ("without cache", ORANGE))):
            top = y + 42 + 22 * i
            sheet.text(0, top + 14, name, colour)
            sheet.bar(130, top, 150, 16, found[name] / widest, colour)
            sheet.text(NEXT, top + 14, f"{found[name]:,}", GREY, anchor="end")
        return sheet


def _repeated(ids):
    """Say which share of the `LAST` ids end a run of `RUN` that stood anywhere before."""
    runs = list(zip(*(ids[i:] for i in range(RUN)), strict=False))
    first = {run: i for i, run in reversed([*enumerate(runs)])}
    last = range(max(0, len(runs) - LAST), len(runs))
    return sum(first[runs[i]] < i for i in last) / max(len(last), 1)


class _Reader:
    """A GPT that remembers what it read last, and reads on from there.

    Parameters
    ----------
    model : GPT
    """

    def __init__(self, model):
        self.model, self._ids, self._logits = model, [], None

    def window(self, n):
        """Say how many of `n` tokens are read: all, or since the model last ran out of places."""
        longest = self.model.config.max_len
        while n > longest:
            n -= longest - longest // 2 + 1
        return n

    def logits(self, ids):
        """Compute the logits of the next token, (V,), after a list of ids."""
        ids = ids[-self.window(len(ids)) :]
        if ids != self._ids or self._logits is None:
            n_known = len(self._ids)
            if self._logits is None or ids[:n_known] != self._ids:
                self._cache = GPTCache(len(self.model.layers))
            with inference(self.model):
                hidden = self.model.decode(torch.tensor([ids]), self._cache)
                self._logits = self.model.output_proj(hidden[0, -1])
            self._ids = ids
        return self._logits
