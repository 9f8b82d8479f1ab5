"""What the clinic tells: findings, and pictures of what depends on what."""

import html
from dataclasses import dataclass, field

import torch

FINDINGS = (
    "sees the future", "past ignored", "padding counts", "sentences mixed", "source ignored",
    "source misaligned", "order unseen", "heads scrambled", "softmax over queries",
    "mask inverted", "mask after softmax", "norm over the wrong axis", "dropout in evaluation",
    "layers shared", "no gradient", "loss at the start", "probabilities instead of logits",
    "not scaled", "targets not shifted", "cache disagrees", "training differs from inference",
)  # fmt: skip

LEGEND = """how to read a grid: change what a column stands for, and see which rows move
    ■ moves   · doesn't   × moves and mustn't   ○ doesn't and should"""

MOVED = 1e-5  # a change, relative to the largest output; what may not move, moves by exactly 0


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Parameters
    ----------
    name : str
        One of `FINDINGS`.
    where : str
        Path of the module, as in ``model.get_submodule``; "" is the model's own forward.
    what : str
        One sentence.
    evidence : str
        The numbers, and a small picture where there is one.
    likely : tuple of str
        Causes and what mends them, the likeliest first.
    line : str
        File, line number and text of the line to look at, if one is known.
    trail : tuple of str
        The lines that called the module, the innermost first: where its mask comes from.
    """

    name: str
    where: str
    what: str
    evidence: str
    likely: tuple
    line: str = ""
    trail: tuple = ()

    def __str__(self):
        place = self.where or "the model's own forward"
        parts = [f"{self.name}: {place}", self.what, self.evidence]
        parts += [f"look at   {self.line}"] if self.line else []
        parts += [f"called at {line}" for line in self.trail if line != self.line]
        parts += [f"likely    {cause}" for cause in self.likely]
        return "\n    ".join("\n    ".join(part.splitlines()) for part in parts)


@dataclass
class Report:
    """What the clinic found.

    Parameters
    ----------
    findings : list of Finding
        The most telling one first; empty if the model is healthy.
    undecided : list of str
        What couldn't be examined, and what would help.
    dependence : dict
        For each side, "source" or "target", and each module's path: how much each output position
        (rows) moves when each input token (columns) changes, relative to its largest output.
    expected : dict
        For each side the bool matrix of what may move in the model's output.
    seconds : float
        How long it took.
    """

    findings: list = field(default_factory=list)
    undecided: list = field(default_factory=list)
    dependence: dict = field(default_factory=dict)
    expected: dict = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def healthy(self):
        """True if nothing was found."""
        return not self.findings

    def assert_healthy(self):
        """Raise an AssertionError that tells the whole report if anything was found."""
        if self.findings:
            raise AssertionError(f"the model isn't healthy\n{self!r}")

    def __repr__(self):
        n = len(self.findings)
        head = "Nothing found" if not n else f"{n} finding{'s' * (n > 1)}"
        told = [str(finding) for finding in self.findings]
        told += [LEGEND] if any("\n" in finding.evidence for finding in self.findings) else []
        told += [f"not decided: {sentence}" for sentence in self.undecided]
        return "\n".join([head, *told])

    def _repr_html_(self):
        grids = [
            f"<div><b>{title}</b><br>{grid_html(moved, self.expected.get(side), seen, title)}</div>"
            for side, paths in self.dependence.items()
            if (moved := paths.get("")) is not None
            for title, seen in ((f"{side}: expected", False), (f"{side}: what is", True))
        ]
        row = '<div style="display:flex;gap:24px;flex-wrap:wrap;margin-top:8px">'
        text = f'<pre style="white-space:pre-wrap">{html.escape(repr(self))}</pre>'
        return f"{text}{row}{''.join(grids)}</div>" if grids else text


def cell(moved, may):
    """Return the sign of a cell that `moved` and `may`: ■ and · as expected, × or ○ if not."""
    return ("■" if may else "×") if moved else ("○" if may else "·")


def picture(moved, may=None):
    """Draw what has `moved`, (outputs, inputs), in letters; bool `may` says what may."""
    may = torch.ones(moved.shape, dtype=torch.bool) if may is None else may
    return "\n".join(
        " ".join(cell(*pair) for pair in zip(*rows, strict=True))
        for rows in zip((moved > MOVED).tolist(), may.tolist(), strict=True)
    )


def drawn(moved, may=None, by="token"):
    """Draw what `moved`, beside what `may` move, under a line that says what is drawn."""
    return f"outputs (rows) that move with each {by} (columns):\n{picture(moved, may)}"


def grid_html(moved, may, seen, name):
    """Draw one matrix as SVG: what `may` be, or if `seen`, what `moved`, with faults in orange.

    Its `name` is for those who cannot see it.
    """
    may = torch.ones(moved.shape, dtype=torch.bool) if may is None else may
    colours = {"■": "#4a7ebb", "·": "#e6e6e6", "×": "#d9601a", "○": "#f5c9a3"}
    squares = []
    for i, j in ((i, j) for i in range(moved.shape[0]) for j in range(moved.shape[1])):
        did = bool(moved[i, j] > MOVED) if seen else bool(may[i, j])
        sign = cell(did, bool(may[i, j]))
        squares.append(
            f'<rect x="{14 * j}" y="{14 * i}" width="13" height="13" fill="{colours[sign]}">'
            f"<title>output {i}, input {j}</title></rect>"
        )
        if sign in "×○":
            squares.append(
                f'<text x="{14 * j + 6.5}" y="{14 * i + 11}" text-anchor="middle" '
                f'font-size="12">{sign}</text>'
            )
    size = f'width="{14 * moved.shape[1]}" height="{14 * moved.shape[0]}"'
    return f'<svg {size} role="img" aria-label="{name}">{"".join(squares)}</svg>'
