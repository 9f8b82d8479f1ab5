"""A drum roll: a window's strokes over its beats, where a classifier attends, and the sound."""

import torch
import traitlets
from IPython.display import Audio

from helpers.data import drum_kit
from helpers.data.drums import VOICES
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.training.genre_training import logits_of
from helpers.training.genres import GENRES, LONGEST, N_STEPS, tokenized, weight_per_beat
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, shade

LEFT, STEP, TALL = 108, 10.9, 206  # pixels: where the roll begins, of a step, of all voices
BEATS = N_STEPS // 4
MEAN, NOTHING = -1, -1
NAMES = [voice.replace("hi-hat", "hat") for voice in VOICES]  # short enough for a phone's margin
RATE = 11_025  # samples a second


def _beat(i):
    """Name a beat as it is numbered above the roll, where every bar begins with 1."""
    return f"beat {i % 4 + 1} of bar {i // 4 + 1}"


def _when(step):
    """Say on which beat a stroke falls, or in which, if it comes after the beat."""
    return f"{'in' if step % 4 else 'on'} {_beat(step // 4)}"


class DrumRoll(Explorer):
    """See where a genre classifier attends, leave out a drum, and listen.

    Parameters
    ----------
    model : GenreClassifier
    windows : Windows
    rows : list of int
        The windows to choose from.
    **state : traits
        `window` (int, which of the rows), `layer` (int, from 1), `head` (int; −1 is the mean),
        `token` (int; 0 is the class token, then all strokes of the window) and `muted` (int, a
        voice that is left out; −1 for none).
    """

    window = traitlets.Int(0, min=0).tag(state=True)
    layer = traitlets.Int(1, min=1, max=12).tag(state=True)
    head = traitlets.Int(MEAN, min=MEAN).tag(state=True)
    token = traitlets.Int(0, min=0, max=LONGEST).tag(state=True)
    muted = traitlets.Int(NOTHING, min=NOTHING, max=len(VOICES) - 1).tag(state=True)

    def __init__(self, model, windows, rows, **state):
        self._model, self._windows = model, windows.at(rows)
        self._n_heads = model.layers[0].self_attention.n_heads
        super().__init__(**state)

    @traitlets.validate("window", "layer", "head")
    def _within(self, proposal):
        last = {"window": len(self._windows) - 1, "layer": len(self._model.layers)}
        return min(proposal.value, last.get(proposal.trait.name, self._n_heads - 1))

    def build(self):
        names = [GENRES[genre] for genre in self._windows.genres.tolist()]
        self.choice("window", "Window", [(f"{i + 1}: {name}", i) for i, name in enumerate(names)])
        layers = [(str(i + 1), i + 1) for i in range(len(self._model.layers))]
        self.choice("layer", "Layer", layers)
        heads = [(str(i + 1), i) for i in range(self._n_heads)]
        self.choice("head", "Head", [("mean", MEAN), *heads])
        ask = "Ask from the class token"
        self.button("Class token", lambda _: self.take({"token": 0}), ask, lambda: not self.token)
        self.slider("token", "Stroke")
        # Another window is asked about with all its drums, from the class token.
        self.observe(lambda _: self.take({"token": 0, "muted": NOTHING}), names="window")

    def _strokes(self, muted):
        """Return what is left of the window, and the number of each stroke in the whole window."""
        strokes = self._windows.strokes[self.window][:LONGEST]
        kept = (strokes[:, 1] != muted).nonzero()[:, 0]
        if not len(kept):
            kept = torch.tensor([0])  # a window of nothing has no genre
        return strokes[kept], kept + 1

    def compute(self):
        """Ask the model, and take the chosen token's row out of the chosen map."""
        played = self._windows.strokes[self.window][:LONGEST, 1].unique().tolist()
        strokes, names = self._strokes(self.muted)
        n = len(strokes)
        self.controls["token"].max = n
        ids, steps, real = self._tables(self.muted)
        maps = self._model.attention_maps(ids[:, :n], steps[:, :n], real[:, :n])[0, self.layer - 1]
        chosen = maps.mean(0) if self.head == MEAN else maps[self.head]
        asked = (names == self.token).nonzero()  # a stroke that is left out can't be asked
        place = asked.item() + 1 if len(asked) else 0
        row = chosen[place]
        ways = {NOTHING, self.muted, *(played if self.muted != NOTHING else ())}
        return {
            "strokes": strokes,
            "names": names,
            "asked": place,
            "weights": row,
            "played": played,
            "beats": weight_per_beat(row, strokes[:, 0], BEATS),
            "counts": (strokes[:, 0] // 4).bincount(minlength=BEATS) / n,
            "without": (without := {voice: self._answer(voice) for voice in sorted(ways)}),
            "chances": without[self.muted],
            "whole": without[NOTHING],
        }

    def _tables(self, muted):
        """Tokenize the window without one of its voices."""
        one = self._windows.at([self.window])
        one.strokes[0] = self._strokes(muted)[0]
        return tokenized(one)

    def _answer(self, muted):
        """Return the genres' probabilities without one of the voices."""
        return logits_of(self._model, self._tables(muted), torch.arange(1))[0].softmax(-1)

    def sound(self):
        bpm = self._windows.bpm[self.window].item()
        samples = drum_kit.listen(self.numbers["strokes"].numpy(), bpm, RATE)
        return Audio(samples, rate=RATE, normalize=False).data  # a WAV file

    def _where(self):
        """Name the chosen token, and where it sounds."""
        if not self.numbers["asked"]:
            return ["the class token"]
        step, voice = self.numbers["strokes"][self.numbers["asked"] - 1, :2].tolist()
        return [f"the {NAMES[voice]}", _when(step)]

    def describe(self):
        found = self.numbers
        head = "mean of heads" if self.head == MEAN else f"head {self.head + 1}"
        best = found["chances"].argmax().item()
        return (
            f"{len(found['strokes'])} strokes over {BEATS} beats, and where "
            f"{' '.join(self._where())} attends in layer {self.layer}, {head}: most to "
            f"{_beat(found['beats'].argmax().item())}. The model's answer is {GENRES[best]}, with "
            f"{number(100 * found['chances'][best].item(), 0)}%."
        )

    def tell(self):
        """Say where most of the weight goes, or what the drum that is left out was worth."""
        found = self.numbers
        if self.muted != NOTHING:
            best = found["whole"].argmax().item()
            before, after = (f"{100 * found[n][best].item():.0f}%" for n in ("whole", "chances"))
            now = found["chances"].argmax().item()
            share = 100 * found["chances"][now].item()
            turned = f": the answer is now {GENRES[now]} ({share:.0f}%)" if now != best else ""
            went = f"stays at {after}" if after == before else f"goes from {before} to {after}"
            headline = f"Without the {NAMES[self.muted]}, {GENRES[best]} {went}{turned}."
            most = min(found["without"], key=lambda voice: found["without"][voice][best])
            if most in (NOTHING, self.muted):
                return headline, "The answer hangs on no other drum as much. Listen below."
            worst = f"falls to {100 * found['without'][most][best].item():.0f}%."
            return headline, f"Without the {NAMES[most]}, {GENRES[best]} {worst} Listen below."
        strokes = found["weights"][1:]
        step, voice = found["strokes"][strokes.argmax(), :2].tolist()
        return (
            f"T{' '.join(self._where())[1:]} gives {100 * strokes.max():.0f}% to one of "
            f"{len(strokes)} strokes: the {NAMES[voice]} {_when(step)}.",
            f"Does the answer hang on the {NAMES[voice]}? Press a drum’s name to leave it out.",
        )

    def draw(self):
        return [self._draw_roll(), self._draw_answer()]

    def _draw_roll(self):
        sheet, found = Sheet(458, TALL + 142), self.numbers
        played, bottom, right = found["played"], 30 + TALL, LEFT + STEP * N_STEPS
        high = TALL / len(played)  # of a voice; one that this window doesn't play has none
        sheet.text(LEFT - 8, 18, "beat", GREY, anchor="end")
        for place, i in enumerate(played):
            name, y, out = NAMES[i], 30 + high * place, i == self.muted
            sheet.text(LEFT - 8, y + high / 2 + 6, name, ORANGE if out else INK, anchor="end")
            sheet.line(LEFT, y + high, right, y + high, PALE, 1)
            label = f"{'Put back' if out else 'Leave out'} the {name}"
            sheet.target(0, y, LEFT - 4, high, label, muted=NOTHING if out else i)
        for beat in range(BEATS + 1):
            x = LEFT + 4 * STEP * beat
            sheet.line(x, 26, x, bottom, GREY, 2 if beat % 4 == 0 else 0.7)
            if beat < BEATS:
                sheet.text(x + 2 * STEP, 18, f"{beat % 4 + 1}", GREY, anchor="middle")
        top = max(found["weights"][1:].max().item(), 1e-9)
        strokes = found["strokes"].tolist()
        for i, (step, voice, velocity, _) in enumerate(strokes, 1):
            height, top_of = 6 + (high - 8) * velocity / 127, 30 + high * played.index(voice)
            x, y = LEFT + STEP * step + 1, top_of + high - 1 - height
            share = found["weights"][i].item() / top
            colour = shade(WEIGHTS, 0.15 + 0.85 * share)
            edge = ORANGE if i == found["asked"] else GREY
            sheet.rect(x, y, STEP - 2, height, colour, edge, 3 if edge == ORANGE else 0.8)
            stroke = found["names"][i - 1].item()
            words = f"{NAMES[voice]}, step {step + 1}, stroke {stroke}"
            near = min(
                [abs(at - step) for at, own, *_ in strokes if own == voice and at != step] or [9]
            )
            wide = min(STEP * near, 26)  # as far as halfway to the next stroke
            sheet.target(x + STEP / 2 - 1 - wide / 2, top_of, wide, high, words, token=stroke)
        seconds = 60 / self._windows.bpm[self.window].item() / 4 * N_STEPS
        sheet.playhead(LEFT, right, 26, bottom, seconds)
        self._draw_beats(sheet, bottom)
        return sheet

    def _draw_beats(self, sheet, bottom):
        beats, counts = self.numbers["beats"].tolist(), self.numbers["counts"].tolist()
        tallest, foot = max(*beats, *counts, 1e-9), bottom + 82
        sheet.text(0, foot + 24, "% per beat · a taller stroke is louder", GREY)
        sheet.text(LEFT - 8, bottom + 24, f"{100 * tallest:.0f}%", GREY, anchor="end")
        sheet.line(LEFT, foot - 64, LEFT + STEP * N_STEPS, foot - 64, PALE, 1)
        sheet.text(LEFT - 8, bottom + 48, "attention", BLUE, anchor="end", bold=True)
        sheet.text(LEFT - 8, bottom + 70, "strokes", GREY, anchor="end")
        for i, (weight, count) in enumerate(zip(beats, counts, strict=True)):
            x = LEFT + 4 * STEP * i
            for offset, share, colour in ((5, weight, BLUE), (22, count, GREY)):
                height = 64 * share / tallest
                sheet.rect(x + offset, foot - height, 16, height, colour)

    def _draw_answer(self):
        sheet, chances = Sheet(254, 350), self.numbers["chances"].tolist()
        sheet.text(0, 18, "The model's answer", INK, bold=True)
        right = self._windows.genres[self.window].item()
        for i, (name, chance) in enumerate(zip(GENRES, chances, strict=True)):
            y = 34 + 30 * i
            sheet.text(0, y + 16, name, PURPLE if i == right else INK, bold=i == right)
            sheet.bar(56, y, 140, 22, chance, PURPLE if i == right else GREY)
            whole = 56 + 140 * self.numbers["whole"][i].item()
            sheet.line(whole, y - 2, whole, y + 24, INK, 2)
            sheet.text(250, y + 16, f"{100 * chance:.0f}%", anchor="end")
        sheet.text(0, 174, "purple: the true genre", PURPLE)
        sheet.text(0, 196, "│ with all drums", INK)
        own = self.numbers["weights"][0].item()
        sheet.text(0, 234, "The attention comes from", INK, bold=True)
        for i, words in enumerate(self._where()):
            sheet.text(0, 256 + 22 * i, words, ORANGE, bold=True)
        sheet.text(0, 308, f"{100 * own:.0f}% to the class token", INK)
        sheet.text(0, 330, f"{100 * (1 - own):.0f}% to the strokes", BLUE)
        return sheet
