"""Drumming by people, as strokes on a grid of sixteenth notes, with its genre and its drummer.

What the file is, where it comes from and what was changed: ``real/NOTICES.md``.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy

FILE = Path(__file__).parent / "real" / "drums.npz"
VOICES = (
    "kick", "snare", "closed hi-hat", "open hi-hat", "low tom", "middle tom", "high tom", "crash",
    "ride",
)  # fmt: skip
STEPS_PER_BAR = 16


@dataclass(frozen=True)
class Performance:
    """One recording of one drummer.

    Parameters
    ----------
    number : int
        Counted from 0; windows of one performance share it.
    genre : str
    drummer, bpm : int
        Who plays, and how many beats a minute.
    split : str
        "train", "validation" or "test", as the dataset's authors divided it.
    strokes : integer array of shape (n, 4)
        Step (in sixteenth notes from the beginning), voice (index into `VOICES`), velocity (0 to
        127) and lateness (in tenths of a sixteenth; negative is early).
    """

    number: int
    genre: str
    drummer: int
    bpm: int
    split: str
    strokes: numpy.ndarray

    def __repr__(self):
        """Say what it is, without its numbers."""
        return f"Performance({self.genre}, drummer {self.drummer}, {len(self.strokes)} strokes)"


@cache
def performances() -> tuple[Performance, ...]:
    """Read all performances in 4/4 that are on board."""
    with numpy.load(FILE) as file:
        columns = {name: file[name] for name in file.files}
    names = ("wait", "voice", "velocity", "late")
    every = numpy.stack([columns[name].astype(numpy.int64) for name in names], axis=1)
    made = []
    for i, strokes in enumerate(numpy.split(every, numpy.cumsum(columns["length"])[:-1])):
        strokes[:, 0] = strokes[:, 0].cumsum()
        about = {name: columns[name][i].item() for name in ("genre", "drummer", "bpm", "split")}
        made.append(Performance(number=i, strokes=strokes, **about))
    return tuple(made)


def windows(performance: Performance, bars: int = 2):
    """Cut a performance into windows of whole bars, one after the other.

    Returns
    -------
    windows : list of integer arrays of shape (n, 4)
        As `Performance.strokes`, but the steps count from the window's beginning. Windows with
        fewer than four strokes are left out.
    """
    length = bars * STEPS_PER_BAR
    strokes = performance.strokes
    found = []
    for start in range(0, int(strokes[-1, 0]) + 1, length):
        inside = strokes[(strokes[:, 0] >= start) & (strokes[:, 0] < start + length)]
        if len(inside) >= 4:
            found.append(inside - numpy.array([start, 0, 0, 0]))
    return found
