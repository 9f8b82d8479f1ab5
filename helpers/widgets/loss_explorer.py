"""A predicted distribution against its target: cross-entropy, KL, smoothing."""

import torch
import torch.nn.functional as F
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, PURPLE
from helpers.training.metrics import perplexity
from helpers.transformer.losses import smooth_targets
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, track

WORDS = ("i", "am", "a", "student", "<eos>")
LOGITS = ("i", "am", "a", "student", "eos")


class LossExplorer(Explorer):
    """Move five logits against a target and watch the loss; smooth the target.

    Parameters
    ----------
    **state : traits
        `target` (a word), `epsilon` (0 to 0.5) and `i`, `am`, `a`, `student`, `eos`: the logits
        (−6 to 6).
    """

    target = traitlets.Enum(WORDS, "student").tag(state=True)
    epsilon = traitlets.Float(0.0, min=0.0, max=0.5).tag(state=True)
    i = traitlets.Float(0.0, min=-6.0, max=6.0).tag(state=True)
    am = traitlets.Float(0.0, min=-6.0, max=6.0).tag(state=True)
    a = traitlets.Float(1.0, min=-6.0, max=6.0).tag(state=True)
    student = traitlets.Float(1.5, min=-6.0, max=6.0).tag(state=True)
    eos = traitlets.Float(0.0, min=-6.0, max=6.0).tag(state=True)

    def build(self):
        """Make the controls; the logits are dragged in the picture."""
        self.choice("target", "Right word", WORDS)
        self.slider("epsilon", "Label smoothing ε", step=0.01)
        self.button("Start again", self.reset)

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
            "perplexity": perplexity(cross),
        }

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        return (
            f"Bars of target and prediction for five words; {self.target} is right and gets "
            f"{number(found['predicted'][WORDS.index(self.target)])}. Cross-entropy "
            f"{number(found['cross_entropy'])} nats, KL {number(found['kl'])}."
        )

    def draw(self):
        """Draw the logits, to be dragged, and what becomes of them."""
        return [self._draw_logits(), self._draw_shares()]

    def _draw_logits(self):
        sheet = Sheet(400, 340)
        sheet.text(0, 18, "Logits: drag them up and down", BLUE, bold=True)
        sheet.line(0, 160, 400, 160, GREY)
        columns = zip(LOGITS, WORDS, self.numbers["logits"].tolist(), strict=True)
        for n, (name, word, logit) in enumerate(columns):
            x, y = 81 * n, 160 - 20 * logit
            sheet.rect(x, 40, 72, 240, PALE, round=4)
            sheet.rect(x, min(y, 160), 72, abs(y - 160), BLUE)
            sheet.rect(x + 16, y - 4, 40, 8, "white", BLUE, 2.5, round=4)
            sheet.text(x + 36, 302, number(logit, 1), BLUE, anchor="middle")
            sheet.text(x + 36, 328, word, INK, anchor="middle", bold=word == self.target)
            drag = track("y", name, (280, 40), (-6, 6), logit, step=0.1)
            sheet.handle(x, 40, 72, 240, f"Logit of {word}", number(logit, 1), drag)
        return sheet

    def _draw_shares(self):
        sheet, found = Sheet(400, 340), self.numbers
        sheet.text(0, 18, "■ predicted", PURPLE, bold=True)
        sheet.text(130, 18, "■ target", GREEN, bold=True)
        for n, word in enumerate(WORDS):
            y = 36 + 40 * n
            sheet.text(80, y + 22, word, INK, anchor="end", bold=word == self.target)
            bars = ((found["predicted"][n], PURPLE, y), (found["target"][n], GREEN, y + 17))
            for share, colour, top in bars:
                sheet.rect(90, top, 254, 15, PALE)
                sheet.rect(90, top, 254 * float(share), 15, colour)
                if share >= 0.005:
                    sheet.text(352, top + 14, number(share), colour)
            sheet.target(0, y - 2, 400, 36, f"Make {word} the right word", target=word)
        lines = (
            ("cross-entropy", f"{number(found['cross_entropy'])} nats"),
            ("entropy of the target", f"{number(found['entropy'])} nats"),
            ("KL divergence", f"{number(found['kl'])} nats"),
            ("perplexity", f"{number(found['perplexity'])} words"),
        )
        for n, (name, value) in enumerate(lines):
            y = 262 + 25 * n
            sheet.text(0, y, name, GREY)
            sheet.text(200, y, value, INK, bold=True)
        return sheet
