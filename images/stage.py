"""What films are made of: scenes of named shapes. A shape that keeps its name moves.

The stage is narrow; on a phone its letters become larger, so that none is under 12 pixels. The
player (`helpers.widgets.film`) lets every shape go from its place in one scene to the next one's;
a new one fades in, or comes from its `start`; `when` says in which part of the movement it goes.
"""

from helpers.widgets.svg import number

STAGE = 480  # pixels: the width of every film
TEXT = 17  # of them: the smallest letters, 12 pixels where the stage is 340 wide
PER_WORD = 60 / 200  # seconds that a reader needs for one word
REST = 0.4  # seconds after the movement, or after the last word, at least


class Scene:
    """One scene: what stands where when its movement is over, and what is said meanwhile.

    The `move`ment from the scene before takes so many seconds, at least: with many words it is
    slower. In a film's first scene, what has a `start` moves. A scene with a `key` stands in the
    still strip too. What has more to be read than its caption gets so many seconds of `rest`.
    """

    def __init__(self, caption, move=1.5, key=True, rest=REST):
        self.caption, self.move, self.key, self.shapes = caption, move, key, {}
        self.seconds = rest  # `film` adds to it what the caption and the movement take

    def _add(self, name, kind, how, **shape):
        if "start" in how:
            how = {**how, "start": _rounded(how["start"])}
        if "when" in how:
            how = {**how, "when": [round(at, 2) for at in how["when"]]}
        if name in self.shapes:
            raise ValueError(f"{self.caption!r} has two shapes called {name!r}; give each its own.")
        self.shapes[name] = {"kind": kind, **_rounded(shape), **how}

    def text(self, name, x, y, words, fill="ink", size=TEXT, anchor="middle", bold=False, **how):
        """Write words on the base line y; `how`: opacity, start, when, turn, room to grow in."""
        self._add(name, "text", how, x=x, y=y, text=str(words), fill=fill, size=size,
                  anchor=anchor, bold=bold)  # fmt: skip

    def rect(self, name, x, y, width, height, fill="none", stroke="none", tint=1.0, **how):
        """Draw a box; `tint` is the opacity of its filling."""
        self._add(name, "rect", {"tint": round(tint, 3), **how}, x=x, y=y, width=width,
                  height=height, fill=fill, stroke=stroke, line=2, round=5)  # fmt: skip

    def line(self, name, points, stroke="muted", line=2.0, **how):
        """Draw a line through points."""
        flat = [round(float(value), 1) for point in points for value in point]
        self._add(name, "line", how, points=flat, fill="none", stroke=stroke, line=line)

    def arrow(self, name, x1, y1, x2, y2, fill="muted", width=3.0, head=11, **how):
        """Draw an arrow; its foot and its tip move, and a new one grows from its foot."""
        how = {"start": {"dx": 0, "dy": 0}, **how}
        self._add(name, "arrow", how, x=x1, y=y1, dx=float(x2 - x1), dy=float(y2 - y1), width=width,
                  head=head, fill=fill)  # fmt: skip

    def card(self, name, x, y, words, colour="muted", width=80, full=False, height=34, **how):
        """Draw a word on a card whose middle is (x, y); a full card is filled."""
        start, bold = how.pop("start", None), how.pop("bold", True)
        box, ink = {}, {}
        if start:  # where its middle comes from; what fades out at the end is there at first
            dx, dy, seen = start[0] - x, start[1] - y, float(how.get("opacity") == 0)
            box = {"start": {"x": x - width / 2 + dx, "y": y - height / 2 + dy, "opacity": seen}}
            ink = {"start": {"x": x + dx, "y": y + 6 + dy, "opacity": seen}}
        self.rect(name, x - width / 2, y - height / 2, width, height, colour if full else "paper",
                  colour, **{**how, **box})  # fmt: skip
        self.text(f"{name}.text", x, y + 6, words, "paper" if full else "ink", bold=bold,
                  room=width - 6, **{**how, **ink})  # fmt: skip


def as_vector(entries, digits=None):
    """Write a vector for people; without `digits`, what is whole has none after the point."""
    places = [int(one % 1 > 0) if digits is None else digits for one in entries]
    return f"({', '.join(map(number, entries, places))})"


def _rounded(shape):
    return {k: round(v, 1) if isinstance(v, float) else v for k, v in (shape or {}).items()}


def film(scenes: list, height: int) -> dict:
    """Put scenes together; the first moves at once.

    Each lasts as long as its caption takes to read at 200 words a minute, and its movement, which
    begins while the caption is read.
    """
    way = {"start": None, "when": None}
    for before, after in zip(scenes, scenes[1:], strict=False):
        for name in before.shapes.keys() & after.shapes.keys():
            old, new = before.shapes[name], after.shapes[name]
            new.pop("start", None)  # it comes from where it was
            if old | way == new | way:  # and stays there
                new.pop("when", None)
    timed = [_timed(scene, i == 0) for i, scene in enumerate(scenes)]
    return {"width": STAGE, "height": height, "scenes": timed}


def _timed(scene, first):
    reading = PER_WORD * len(scene.caption.split())
    lead, move = 0 if first else 0.4, round(max(scene.move, min(reading - 1, 2.4)), 2)
    seconds = round(max(reading, lead + move) + scene.seconds, 2)
    return vars(scene) | {"seconds": seconds, "lead": lead, "move": move}
