"""Numbers as learners type them, and as we write them back."""

import re

MINUS = "\u2212"  # the course writes −5 with this sign, so learners do too
SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u202f_]")  # hard and narrow ones as well
APOSTROPHES = "'\u2019\u02bc"  # 80'000, as the Swiss write it
# 0,92, 12,5 or 1.024,5, but not 1,024, which is a thousand.
DECIMAL_COMMA = re.compile(r"[+-]?(0,\d+|\d+,(?!\d{3}$)\d+|\d{1,3}(\.\d{3})+,\d+)")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
THREE_DIGITS = re.compile(r"[+-]?\d+,\d{3}")  # 1,024, or what was meant to be 1.024
SEPARATED = re.compile(r"(?<=\d)[" + APOSTROPHES + r"](?=\d{3}(?!\d))")


def plain(text: str) -> str:
    """Return a typed number without spaces, thousands' apostrophes, typographic minus signs and %.

    Commas are still in it: they may separate thousands or decimals.
    """
    text = SPACES.sub("", text).replace(MINUS, "-").replace("\u2013", "-").removesuffix("%")
    return SEPARATED.sub("", text)


def comma_for_point(text):
    """Say whether a plain number certainly has a comma where we write a point."""
    return bool(DECIMAL_COMMA.fullmatch(text))


def pointed(text):
    """Write a number that has a decimal comma the way we do: 1.024,5 as 1024.5."""
    whole, _, decimals = text.rpartition(",")
    return f"{whole.replace('.', '')}.{decimals}"


def read(text):
    """Read a plain number; its commas separate thousands.

    If it isn't finite, or its commas don't stand every three digits, it is a ValueError.
    """
    if "," in text and not THOUSANDS.fullmatch(text):
        raise ValueError("commas in other places than between thousands")
    value = float(text.replace(",", ""))
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("not a finite number")
    return value


def write(value: float, unit="", digits=3) -> str:
    """Write a number for reading: thousands separated, its unit, so many `digits` if not whole."""
    value = float(value)
    if value == round(value) and abs(value) < 1e15:
        text = f"{int(value):,}"
    elif abs(value) >= 10 ** (digits - 1):
        text = f"{round(value):,}"
    else:
        text = f"{value:.{digits}g}"
    text = text.replace("-", MINUS)
    return f"{text}{unit}" if unit == "%" else f"{text} {unit}".rstrip()
