"""Measure whether the right answer of a prediction shows in its form, and list where it does.

    python -m notebooks.giveaways          # the whole course, then each lesson's giveaways
    python -m notebooks.giveaways 07 08    # these lessons alone

Which option turned out right is read from what the notebooks store, so build a lesson first. A form
picks some of a prediction's options ("the longest"); a guesser who knows nothing would find the
right one among them as often as chance says. `z` is how far from chance the course is, in standard
errors: within 2, the form tells nothing. A form that picks all options, or none, picks nothing.
"""

import argparse
import math
import re

from helpers.exercises.content import find
from notebooks import build

MEASURED = re.compile(r"^Measured: (.+)$", re.MULTILINE)
REASON = re.compile(
    r"\b(because|since|although|even though|whose|after all|thanks to|due to)\b"
    r"|[:;(]|, (so|as|which|and so|for|or)\b|, (and|but) (it|they|the|each|only)\b"
)
HEDGE = re.compile(
    r"\b(about|almost|hardly|mostly|nearly|somewhat|a little|a bit|roughly|usually|often|may|"
    r"might|some|partly|fairly|rather)\b"
)
ABSOLUTE = re.compile(
    r"\b(all|always|any|both|every|exactly|just|never|no|none|nothing|only|completely|same|zero)\b"
)


def _extreme(options, size, pick=max):
    sizes = [size(option) for option in options]
    return {i for i, found in enumerate(sizes) if found == pick(sizes)}


def _hedging(option):
    return len(HEDGE.findall(option.lower())) - len(ABSOLUTE.findall(option.lower()))


FORMS = {
    "bare": lambda options: {i for i, text in enumerate(options) if not REASON.search(text)},
    "longest": lambda options: _extreme(options, len),
    "shortest": lambda options: _extreme(options, len, min),
    "first": lambda options: {0},
    "last": lambda options: {len(options) - 1},
    "most hedged": lambda options: _extreme(options, _hedging),
}


def measured(cell, name: str) -> list[str]:
    """Read from a cell's stored outputs what was measured for a prediction that it reveals.

    The answers are as the learner sees them; none if nothing is stored.
    """
    names = build.REVEAL.findall(cell.source)
    shown = [
        MEASURED.match(output.get("data", {}).get("text/plain", ""))
        for output in cell.get("outputs", [])
    ]
    shown = [found[1] for found in shown if found]
    return [answer for known, answer in zip(names, shown, strict=False) if known == name]


def answered(only=()) -> list[tuple[str, str, list[str], int]]:
    """List the predictions with options that the notebooks ask, and which option is right.

    The lesson's number, the prediction's name, its options, the right one's index; of the lessons
    whose names start with one of `only`, or of all.
    """
    found = []
    for path in sorted(build.NOTEBOOKS.glob("*.ipynb")):
        if only and not path.name.startswith(only):
            continue
        cells = build.read(path.stem).cells
        for name, _, reveal in build.predictions(cells):
            options = [text for text, _ in find(name, "prediction").options.values()]
            found += [
                (path.name[:2], name, options, options.index(answer))
                for answer in measured(cells[reveal], name)
                if answer in options
            ]
    return found


def score(predictions, form):
    """Count how often a form picks the right option, beside chance.

    `predictions` are from `answered`; `form` takes the options and returns the indices that it
    picks. How often the right option was among those, of how many predictions; what chance would
    hit, and how far off that is in standard errors.
    """
    hits = asked = 0
    expected = variance = 0.0
    for _, _, options, right in predictions:
        picked = form(options)
        if 0 < len(picked) < len(options):
            chance = len(picked) / len(options)
            hits, asked = hits + (right in picked), asked + 1
            expected, variance = expected + chance, variance + chance * (1 - chance)
    return hits, asked, expected, (hits - expected) / math.sqrt(variance or 1)


def main(arguments: list[str] | None = None):
    """Print the table of forms, and for each prediction the forms that pick the right option."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", help="how a lesson's name starts, for instance 07")
    predictions = answered(tuple(parser.parse_args(arguments).only))
    print(f"{'right option is':16}{'found':>8}{'of':>5}{'chance':>8}{'z':>7}")
    for name, form in FORMS.items():
        hits, asked, expected, z = score(predictions, form)
        print(f"{name:16}{hits:8}{asked:5}{expected:8.1f}{z:7.1f}")
    for lesson, name, options, right in predictions:
        told = [form for form, picks in FORMS.items() if picks(options) == {right}]
        print(f"\n{lesson} {name}: {', '.join(told) or 'nothing tells'}")
        for i, option in enumerate(options):
            reason = "" if REASON.search(option) else " [bare]"
            print(f"   {'*' if i == right else ' '} {option}{reason}")


if __name__ == "__main__":
    main()
