"""The form in which ``notebooks/`` are stored: what one reads on GitHub, where no fold works.

There the set-up is one line, and so is each long folded cell, which its lesson's source holds and
`helpers.notebook.folded` runs; what was measured for a prediction folds itself. Everything else
(copies, the site, the grader) works with the whole code, which `whole` puts back.
"""

SET_UP = "# Finds the course's folder, and gives us `notebook`.\n%run set_up_cell.py"
# JupyterLab shows a folded cell's first line; of a long one that should say what is in it. The line
# that takes its place in the reading form has words of its own.
FIRST_LINE = {
    True: "# The measurement: click to see its code",
    False: "# Folded: click to see the code",
}
WORDS = {FIRST_LINE[True]: "# The measurement", FIRST_LINE[False]: "# From the lesson's source"}
CALL = 'notebook.folded("{}", {})'
OPENS = '<details class="measured"><summary>{}</summary>\n\n'
SUMMARY = "What was measured (guess first)", "… and more"  # the first output, the others
CLOSES = "\n\n</details><!-- measured -->"  # tests/nbval.cfg takes both off before it compares


def for_reading(notebook, name: str):
    """Shorten folded code to a line, and fold what nobody should read by scrolling.

    `notebook` is as `build.assemble` made it, with or without outputs; it is changed in place. The
    `name` is the lesson's, ``03_self_attention_vectors``.
    """
    number = 0
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        if "set-up" in cell.metadata.get("tags", []):
            cell.source = SET_UP
        elif "hide-input" in cell.metadata.get("tags", []):
            number += 1
            first, _, rest = cell.source.partition("\n")
            if first in WORDS:
                told = rest.partition("\n")[0]
                told = told if told.startswith("# ") and "click" not in told else WORDS[first]
                cell.source = f"{told}\n{CALL.format(name, number)}"
        if cell.metadata.get("jupyter", {}).get("outputs_hidden"):
            for i, (data, kind) in enumerate(_texts(cell)):
                data[kind] = f"{OPENS.format(SUMMARY[i > 0])}{data[kind]}{CLOSES}"
    return notebook


def whole(notebook, full):
    """Put back what `for_reading` shortened and folded, wherever it still stands.

    `notebook` may be of any origin; it is changed in place. `full` is the same lesson as
    `build.assemble` made it, or a copy of that.
    """
    code = {cell.id: cell.source for cell in full.cells}
    (set_up,) = (c.source for c in full.cells if "set-up" in c.metadata.get("tags", []))
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        if cell.source == SET_UP:
            cell.source = set_up
        elif cell.source.split("\n")[-1].startswith(CALL[:16]):
            cell.source = code.get(cell.id, cell.source)
        for data, kind in _texts(cell):
            for words in SUMMARY:
                data[kind] = data[kind].removeprefix(OPENS.format(words)).removesuffix(CLOSES)
    return notebook


def _texts(cell):
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        yield from ((data, kind) for kind in ("text/html", "text/markdown") if data.get(kind))
