"""A predicted distribution against its target: cross-entropy, KL, smoothing."""

import torch
import torch.nn.functional as F
import traitlets

from helpers.losses import smooth_targets
from helpers.metrics import perplexity
from helpers.plots import GREEN, GREY, INK, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Sheet, number

WORDS = ("i", "am", "a", "student", "<eos>")


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
        """Make the controls."""
        self.choice("target", "Right word", WORDS)
        self.slider("epsilon", "Label smoothing ε", step=0.01)
        for name, word in zip(("i", "am", "a", "student", "eos"), WORDS, strict=True):
            self.slider(name, f"Logit of {word}", step=0.1, digits=1)
        self.button("Start again", self.reset)

    def compute(self):
        """Compare the two distributions; all numbers in nats."""
        logits = torch.tensor([[self.i, self.am, self.a, self.student, self.eos]]).double()
        right = torch.tensor([WORDS.index(self.target)])
        target = smooth_targets(right, len(WORDS), self.epsilon).double()
        cross = F.cross_entropy(logits, right, label_smoothing=self.epsilon).item()
        own = -torch.xlogy(target, target).sum().item()
        return {
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
        """Draw a pair of bars for each word, and the numbers."""
        sheet = Sheet(920, 310)
        found = self.numbers
        for n, word in enumerate(WORDS):
            x = 30 + 118 * n
            sheet.rect(x, 40, 100, 200, "white", RULE)
            bars = ((found["target"][n], GREEN, x + 6), (found["predicted"][n], PURPLE, x + 52))
            for share, colour, at in bars:
                height = 196 * float(share)
                sheet.rect(at, 238 - height, 42, height, colour)
                sheet.text(at + 21, 30, number(share), colour, anchor="middle")
            sheet.text(x + 50, 266, word, INK, anchor="middle", bold=word == self.target)
        sheet.text(30, 298, "■ target", GREEN, bold=True)
        sheet.text(130, 298, "■ predicted", PURPLE, bold=True)
        lines = (
            ("cross-entropy", found["cross_entropy"], "nats"),
            ("entropy of the target", found["entropy"], "nats"),
            ("KL divergence", found["kl"], "nats"),
            ("perplexity, e to the cross-entropy", found["perplexity"], "words"),
        )
        for n, (name, value, unit) in enumerate(lines):
            sheet.text(650, 70 + 52 * n, name, GREY)
            sheet.text(650, 93 + 52 * n, f"{number(value)} {unit}", INK, 18, bold=True)
        return sheet
