"""Joins our JavaScript modules into one, as a widget needs it, without a bundler.

What is asked of a module is little, and checked: it imports only by name (``import { a, b } from
"./file.js"``), exports where it declares, and no two modules use the same name at the top.
"""

import collections
import re
from functools import cache

from helpers.widgets.colours import STATIC, coloured

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";\n', re.MULTILINE)
DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)|^let (\w+);", re.MULTILINE
)
# An exported function of several lines, or a constant of one.
EXPORTED = re.compile(
    r"^export (?:(?:async )?function (\w+)\(.*\{\n(?:.*\n)*?\}|const (\w+) = .*;)\n", re.MULTILINE
)


@cache
def module(name: str) -> str:
    """Join a module of `static` with all that it imports, each once, what is imported first.

    What comes is one module without imports, comments, indentation and exports that nobody uses: it
    travels with every view. If two modules declare the same name at the top, or a line imports in
    another way, it is a ValueError.
    """
    names = _in_order(name)
    owner = {}
    for each in names:
        for declared in top_level_names(each):
            if declared in owner:
                raise ValueError(f"{each} and {owner[declared]} both declare {declared}")
            owner[declared] = each
    sources = _used({each: _without_imports(each) for each in names}, name)
    return "\n".join(_bare(each, sources[each], keep_default=each == name) for each in names)


def styles(*names: str) -> str:
    """Join style sheets of `static`, after what a page needs once a widget of ours is in it."""
    joined = "\n".join(_read(name) for name in ("page.css", *names))
    return coloured(re.sub(r"/\*.*?\*/\n?", "", joined, flags=re.DOTALL))  # comments don't travel


def top_level_names(name: str) -> list[str]:
    """List what a module declares at its top."""
    return [a or b for a, b in DECLARED.findall(_read(name))]


def _in_order(name, found=()):
    """List a module after everything it imports."""
    for _, imported in IMPORT.findall(_read(name)):
        if imported not in found:
            found = _in_order(imported, found)
    return (*found, name)


def _without_imports(name):
    source = IMPORT.sub("", _read(name))
    if re.search(r"^import\b", source, re.MULTILINE):
        raise ValueError(f'{name}: write imports as import {{ a, b }} from "./file.js";')
    return re.sub(r"^\s*//.*\n| // .*$", "", source, flags=re.MULTILINE)


def _used(sources, root):
    """Leave out what modules other than the root export and nobody names, as often as needed."""
    counts = collections.Counter(re.findall(r"\w+", "\n".join(sources.values())))

    def left(match):
        return "" if counts[match[1] or match[2]] == 1 else match[0]

    used = {
        name: source if name == root else EXPORTED.sub(left, source)
        for name, source in sources.items()
    }
    return used if used == sources else _used(used, root)


def _bare(name, source, keep_default):
    source = re.sub(r"^export (?!default)", "", source, flags=re.MULTILINE)
    if not keep_default and re.search(r"^export default", source, re.MULTILINE):
        raise ValueError(f"{name} exports a default: only the module a widget asks for may")
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line)


def _read(name):
    return (STATIC / name).read_text(encoding="utf-8")
