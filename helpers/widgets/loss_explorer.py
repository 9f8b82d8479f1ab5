"""A predicted distribution against its target: cross-entropy, KL, smoothing."""

import math

import torch
import torch.nn.functional as F
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, PURPLE
from helpers.training.metrics import perplexity
from helpers.transformer.losses import smooth_targets
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import BAD, PALE, Plot, Sheet, number, share, track

WORDS = ("i", "am", "a", "student", "<eos>")
LOGITS = ("i", "am", "a", "student", "eos")


class LossExplorer(Explorer):
    """Move five logits against a target and watch the loss; smooth the target.

    State: `target` (a word), `epsilon` (0 to 0.5) and `i`, `am`, `a`, `student`, `eos`: the logits
    (−6 to 6).
    """

    target = traitlets.Enum(WORDS, "student").tag(state=True)
    epsilon = traitlets.Float(0.0, min=0.0, max=0.5).tag(state=True)
    i, am, a, student, eos = (
        traitlets.Float(start, min=-6.0, max=6.0).tag(state=True)
        for start in (0.0, 0.0, 1.0, 1.5, 0.0)
    )

    def build(self):
        self.slider("epsilon", "Label smoothing ε", step=0.01)
        self.button("Training step", self._step, "Move each logit by target minus prediction")

    def forget(self):
        self._trail, self._stepped = [], None  # where training steps began; the state after them

    def _step(self, *_):
        found, right = self.numbers, WORDS.index(self.target)
        here = found["predicted"][right].item(), found["cross_entropy"]
        moved = found["logits"] + found["target"] - found["predicted"]
        with self.together():
            self.take(dict(zip(LOGITS, moved.tolist(), strict=True)))
            self._trail, self._stepped = [*found["trail"], here], self.state

    def compute(self):
        """Compare the two distributions; all numbers in nats."""
        logits = torch.tensor([[getattr(self, name) for name in LOGITS]]).double()
        right = torch.tensor([WORDS.index(self.target)])
        target = smooth_targets(right, len(WORDS), self.epsilon).double()
        cross = F.cross_entropy(logits, right, label_smoothing=self.epsilon).item()
        own = -torch.xlogy(target, target).sum().item()
        return {
            "logits": logits[0],
            "predicted": logits.softmax(-1)[0],
            "target": target[0],
            "cross_entropy": cross,
            "entropy": own,
            "kl": cross - own,
            "trail": self._trail if self.state == self._stepped else [],
            "perplexity": perplexity(F.cross_entropy(logits, right).item()),  # never smoothed
        }

    def tell(self):
        """Say where the loss comes from, and what to press."""
        found, right = self.numbers, WORDS.index(self.target)
        loss, chance = number(found["cross_entropy"]), found["predicted"][right].item()
        chance = number(chance, max(3, 1 - math.floor(math.log10(chance))))
        said = f"“{self.target}” is right and gets {chance}: the loss is −log {chance} = {loss}."
        if self.epsilon:
            said = f"Loss {loss}; the smoothed target itself would lose {number(found['entropy'])}."
        asked = "Each arrow is minus the gradient: target − prediction. Press “Training step”."
        if found["trail"]:
            before = number(found["trail"][-1][1])
            asked = f"Loss {before} → {loss}; all in all, the arrows shrank. Press it again."
        if found["kl"] < 0.01:
            asked = "Prediction and target nearly agree, so arrows and gradient are gone."
        return said, asked

    def draw(self):
        return [self._draw_logits(), self._draw_shares(), self._draw_curve(), self._draw_numbers()]

    def _draw_logits(self):
        sheet, found = Sheet(400, 218), self.numbers
        sheet.text(0, 18, "Logits: drag them up and down", BLUE, bold=True)
        sheet.line(0, 100, 400, 100, GREY)
        pulls = (found["target"] - found["predicted"]).tolist()
        columns = zip(LOGITS, WORDS, found["logits"].tolist(), pulls, strict=True)
        for n, (name, word, logit, pull) in enumerate(columns):
            x, y = 81 * n, 100 - 11 * logit
            sheet.rect(x, 28, 72, 144, PALE, round=4)
            sheet.rect(x + 22, min(y, 100), 50, abs(y - 100), BLUE)
            sheet.rect(x + 27, y - 4, 40, 8, "white", BLUE, 2.5, round=4)
            if abs(pull) > 0.02:
                sheet.arrow(x + 11, y, x + 11, y - 60 * pull, GREEN if pull > 0 else BAD, 3)
            sheet.text(x + 36, 192, number(logit, 1), BLUE, anchor="middle")
            sheet.text(x + 36, 214, word, INK, anchor="middle", bold=word == self.target)
            drag = track("y", name, (166, 34), (-6, 6), logit, step=0.1)
            sheet.handle(x, 28, 72, 144, f"Logit of {word}", number(logit, 1), drag)
        return sheet

    def _draw_shares(self):
        sheet, found = Sheet(400, 218), self.numbers
        sheet.text(0, 18, "■ predicted", PURPLE, bold=True)
        sheet.text(144, 18, "■ target: press a word", GREEN, bold=True)
        for n, word in enumerate(WORDS):
            y = 28 + 38 * n
            sheet.text(80, y + 22, word, INK, anchor="end", bold=word == self.target)
            bars = ((found["predicted"][n], PURPLE, y), (found["target"][n], GREEN, y + 17))
            for part, colour, top in bars:
                sheet.bar(90, top, 254, 15, part, colour)
                if part > 0:
                    sheet.text(350, top + 14, share(part), colour)
            sheet.target(0, y - 2, 400, 36, f"Make {word} the right word", target=word)
        return sheet

    def _draw_curve(self):
        """Draw the loss over what the right word gets, the others sharing the rest as now."""
        sheet, found, right = Sheet(400, 172), self.numbers, WORDS.index(self.target)
        sheet.text(0, 18, "Loss by what the right word gets", PURPLE, bold=True)
        top = next(top for top in (5, 10, 15) if top >= found["cross_entropy"])
        plot = Plot(sheet, 30, 34, 360, 112, (0, 1), (0, top))
        plot.ticks(across=(0, 0.5, 1), up=(0, top))
        own = torch.cat([torch.logspace(-7, -0.3, 60), 1 - torch.logspace(-0.31, -3, 30)]).double()
        rest = found["logits"].clone()
        rest[right] = -torch.inf
        others = torch.log1p(-own)[:, None] + rest.log_softmax(-1)  # log-probabilities
        others[:, right] = own.log()
        losses = -(others * found["target"]).where(found["target"] > 0, 0).sum(-1)
        shown = losses <= top
        plot.curve(own[shown].tolist(), losses[shown].tolist(), PURPLE)
        for own, loss in found["trail"]:
            plot.dot(own, loss, 5, GREY)
        plot.dot(found["predicted"][right].item(), found["cross_entropy"], 8, PURPLE)
        return sheet

    def _draw_numbers(self):
        sheet, found = Sheet(400, 172), self.numbers
        words = found["perplexity"]
        lines = (
            ("cross-entropy, the loss", f"{number(found['cross_entropy'])} nats"),
            ("− entropy of the target", f"{number(found['entropy'])} nats"),
            ("= KL divergence", f"{number(found['kl'])} nats"),
            ("perplexity, 1 / p(right)", f"{words:,.{0 if words > 99 else 2}f} words"),
        )
        for n, (name, value) in enumerate(lines):
            y = 44 + 30 * n
            sheet.text(0, y, name, GREY)
            sheet.text(396, y, value, INK, anchor="end", bold=True)
        sheet.line(0, 82, 396, 82, GREY, 1)
        return sheet
