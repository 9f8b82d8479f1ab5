"""A film among the pictures, as HTML: with a pause, and still where no motion is wanted."""

import base64

from helpers.widgets import modules

FRAME, LAST = '<g visibility="hidden"><animate ', '<g visibility="visible"><animate '


def is_film(svg: bytes) -> bool:
    """Tell whether a picture moves."""
    return LAST.encode() in svg


def last_frame(svg) -> bytes:
    """Cut everything out of a film but its last frame, which is all that print sees of it too.

    Parameters
    ----------
    svg : bytes
        As `images.kit.film` writes it.
    """
    text = svg.decode()
    before, _, _ = text.partition(FRAME)
    _, _, frame = text.partition(LAST)
    return f"{before}<g>{frame.partition('/>')[2]}".encode()


def film_html(image, svg) -> str:
    """Put a button under a film, and a still picture in its place for who wants no motion.

    Parameters
    ----------
    image : str
        The film's ``<img>``.
    svg : bytes
        The film.
    """
    still = base64.b64encode(last_frame(svg)).decode("ascii")
    script = modules.module("film.js")
    return (
        f'<div><picture><source media="(prefers-reduced-motion: reduce)" '
        f'srcset="data:image/svg+xml;base64,{still}">{image}</picture></div>'
        f"<script>{{const place = document.currentScript.previousElementSibling;"
        f"\n{script}\nstoppable(place);}}</script>"
    )
