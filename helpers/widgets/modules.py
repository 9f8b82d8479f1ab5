"""Joins our JavaScript modules into one, as a widget needs it, without a bundler.

What is asked of a module is little, and checked: it imports only by name (``import { a, b } from
"./file.js"``), exports where it declares, and no two modules use the same name at the top.
"""

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).resolve().parent / "static"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";\n', re.MULTILINE)
DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)|^let (\w+);", re.MULTILINE
)


@cache
def module(name):
    """Join a module with all that it imports, each once, what is imported first.

    Parameters
    ----------
    name : str
        A file of `static`, for instance ``"attention_view.js"``.

    Returns
    -------
    source : str
        One module without imports, comments and indentation: it travels with every view.

    Raises
    ------
    ValueError
        If two modules declare the same name at the top, or a line imports in another way.
    """
    names = _in_order(name)
    owner = {}
    for each in names:
        for declared in top_level_names(each):
            if declared in owner:
                raise ValueError(f"{each} and {owner[declared]} both declare {declared}")
            owner[declared] = each
    return "\n".join(_bare(each, keep_default=each == name) for each in names)


def styles(*names):
    """Join style sheets of `static`, after what a page needs as soon as a widget of ours is in it.

    Parameters
    ----------
    *names : str

    Returns
    -------
    source : str
    """
    return "\n".join(_read(name) for name in ("page.css", *names))


def top_level_names(name):
    """List what a module declares at its top.

    Parameters
    ----------
    name : str

    Returns
    -------
    names : list of str
    """
    return [a or b for a, b in DECLARED.findall(_read(name))]


def _in_order(name, found=()):
    """List a module after everything it imports."""
    for _, imported in IMPORT.findall(_read(name)):
        if imported not in found:
            found = _in_order(imported, found)
    return (*found, name)


def _bare(name, keep_default):
    source = IMPORT.sub("", _read(name))
    if re.search(r"^import\b", source, re.MULTILINE):
        raise ValueError(f'{name}: write imports as import {{ a, b }} from "./file.js";')
    source = re.sub(r"^export (?!default)", "", source, flags=re.MULTILINE)
    if not keep_default and re.search(r"^export default", source, re.MULTILINE):
        raise ValueError(f"{name} exports a default: only the module a widget asks for may")
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _read(name):
    return (STATIC / name).read_text(encoding="utf-8")
