"""Tokens as people read them: without a tokenizer's marks, and with what is invisible shown."""

import html
import re
import unicodedata
from difflib import ndiff

from helpers.text.byte_alphabet import BYTE_OF

SPECIAL = re.compile(r"<[^<>]*>|\[[A-Z]+\d*\]")
JOINED = "‿"  # before a label that continues a word; tokens have hyphens of their own
STARTS = ("Ġ", "▁", " ")  # GPT-2's, SentencePiece's and a plain space before a word
VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "": "∅"}
JOINERS = "\u200c\u200d"  # inside Persian words and emoji they are part of the spelling


# What XML cannot hold, not even escaped.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Escape text for SVG and HTML: never markup, never what XML cannot hold."""
    return html.escape(FORBIDDEN.sub("\ufffd", text))


def lowered(words: str, pattern: str = r"_(\w)") -> str:
    """Write words as SVG, W_Q with a lowered Q, or what else a `pattern` finds."""
    tspan = r'<tspan font-size="92%" baseline-shift="-20%">\1</tspan>'
    return re.sub(pattern, tspan, xml_text(words))


def width_of(text: str) -> int:
    """Guess how wide a label is at 16 pixels: the font is not known here."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" or c == "#" for c in text)
    marks = 2 * len(text) * (text[:1] == "<")  # a mark's letters are wider
    return int(9.2 * len(text) + 7 * wide) + marks + 4


def readable(tokens) -> list[str]:
    """Turn the tokens of one text into labels: word beginnings plain, continuations marked ‿.

    Understands the marks of byte-level encodings (Ġ), SentencePiece (▁), WordPiece (##) and of the
    first byte-pair encoding (</w>). Special tokens such as `<eos>` and `[CLS]` stay. No label is
    empty, and none holds what can't be seen.
    """
    tokens = [str(token) for token in tokens]
    if any("Ġ" in token or "Ċ" in token for token in tokens):
        tokens = [_from_bytes(token) for token in tokens]
    starts = any(len(t) > 1 and t.startswith(STARTS) for t in tokens)
    ends = any(t.endswith("</w>") for t in tokens)
    return [
        _label(token, i > 0 and _continues(token, tokens[i - 1], starts, ends))
        for i, token in enumerate(tokens)
    ]


def readable_next(tokens, candidates) -> list[str]:
    """Turn `candidates` for the token after `tokens` into the labels they would have there."""
    pairs = [piece for one in candidates for piece in (tokens[-1], one)]
    return readable([*tokens, *pairs])[len(tokens) + 1 :: 2]


def changes(before, now):
    """List the pieces of both, each with "-", "+" or " ": only `before` has it, `now`, or both."""
    return [(one[2:], one[0]) for one in ndiff(before, now) if one[0] != "?"]


def odd_ones(before, now):
    """Say of each piece of `before` and of `now` whether the other lacks it: two lists."""
    marks = [mark for _, mark in changes(before, now)]
    return [[mark == own for mark in marks if mark in (own, " ")] for own in "-+"]


def percent(share: float) -> str:
    """Write a share of 1 in percent; what isn't quite all of it never reads 100%."""
    if 0.995 <= share < 0.99999:
        return f"{100 * share:.1f}%" if share < 0.9995 else ">99.9%"
    return f"{100 * share:.0f}%" if share >= 0.005 else "<1%"


def _continues(token, before, starts, ends):
    if SPECIAL.fullmatch(token) or not any(c.isalnum() for c in token):
        return False
    if starts:
        return not token.startswith(STARTS) and not _separates(before)
    return ends and not before.endswith("</w>") and not SPECIAL.fullmatch(before)


def _separates(before):
    """Tell whether the next token begins a word even without a mark: after `<bos>` or a line."""
    return bool(SPECIAL.fullmatch(before)) or before.isspace() or before in ("Ġ", "▁")


def _label(token, continues):
    if token.startswith("##") and len(token) > 2:
        token, continues = token[2:], True
    elif len(token) > 1 and token.startswith(STARTS):
        token = token[1:]
    if token.endswith("</w>") and token != "</w>":
        token = token.removesuffix("</w>")
    token = "␣" if token in ("Ġ", "▁") else token
    if token in VISIBLE or token.isspace():
        return "".join(VISIBLE.get(c, "␣") for c in token) or VISIBLE[""]
    shown = "".join(c if _has_shape(c, token) else f"U+{ord(c):04X}" for c in token)
    return JOINED + shown if continues else shown


def _has_shape(character, token):
    if character in JOINERS:
        return len(token) > 1
    return character.isprintable() or character == "\u00a0"


def _from_bytes(token):
    """Read a byte-level token back as text where its bytes make whole characters."""
    if SPECIAL.fullmatch(token) or any(c not in BYTE_OF for c in token):
        return token
    raw = bytes(BYTE_OF[c] for c in token)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{raw.hex().upper()}"  # a piece of a character
    return unicodedata.normalize("NFC", text)
