"""Turn the executed notebooks into pages: what the site shows otherwise than JupyterLab does."""

import ast
import copy
import html
import json
import re
import tomllib

from helpers.exercises import predictions as asking
from helpers.exercises.content import catalogue
from helpers.widgets.fallback import TO_PLAY
from notebooks import build
from notebooks.build import NOTEBOOKS, PREDICT, REVEAL, ROOT
from web import questions

OF_THE_TRANSLATOR = 'data-model="the translator"'  # around a map
OWN_SENTENCE = (
    '<p class="course-elsewhere"><a href="index.html#try-it">Type a sentence of your own</a> '
    "and see its map.</p>"
)
# Code that only shows a question or a verdict, which the page shows anyway.
LIVE = {  # by how each is written
    "Quiz(": questions.question,
    "Quizzes(": lambda names: "".join(map(questions.question, names)),
    "WarmUp(": questions.warm_up_of,
}
NOTHING_TO_READ = re.compile(r"exercises\.(predict|heading|check|quiz|warm_up)\([^()]*\)")
LINK = re.compile(r"\]\((\d\d_\w+)\.ipynb(?:#([^)\s]*(?:\([^)]*\))?[^)\s]*))?\)")
# What the notebooks ask for and a page can't do, and what is said instead.
HERE = tomllib.loads((ROOT / "web" / "instead.toml").read_text(encoding="utf-8"))
# Blocks that touch would be one word to the search, which takes the tags away.
TOUCHING = re.compile(r"(</(?:div|p|li|t[dhr]|h\d|summary|details|text|title)>)(?=<)")
LESSON = re.compile(r"\(notebooks/(\w+)\.ipynb\)")


def page_of(notebook, stem):
    """Make a lesson's page of its `notebook`, outputs included; `stem` is its name, ``07_…``."""
    page = copy.deepcopy(notebook)
    _mark_predictions(page.cells)
    _one_title(page.cells)
    page.cells = [part for cell in page.cells for part in _shown(cell, stem)]
    return page


def _one_title(cells):
    """Make parts of a lesson (practice, going deeper) sections of its page, not pages of their own.

    Their sections go one level down with them.
    """
    part = 0
    for cell in (cell for cell in cells if cell.cell_type == "markdown"):
        lines = cell.source.split("\n")
        fenced = False
        for i, line in enumerate(lines):
            fenced ^= line.startswith("```")
            if re.match(r"#+ ", line) and not fenced:
                part += line.startswith("# ")
                lines[i] = f"#{line}" if part > 1 else line
        cell.source = "\n".join(lines)


def _mark_predictions(cells):
    """Tag what a prediction's answer opens, and put the question where its card was."""
    for name, ask, reveal in build.predictions(cells):
        for cell in cells[ask + 1 : reveal + 1]:
            if _is_folded(cell):
                _tag(cell, f"answers-{name}")
    for cell in (cell for cell in cells if cell.cell_type == "code"):
        cards = _outputs(cell, "Prediction(")
        for name, data in zip(PREDICT.findall(cell.source), cards, strict=True):
            data["text/html"] = card(name)
        panels = _outputs(cell, "Measured: ")
        for name, data in zip(REVEAL.findall(cell.source), panels, strict=True):
            shown = data["text/html"]
            data["text/html"] = f'<div class="course-reveal" data-name="{name}">{shown}</div>'
        for kind, live in LIVE.items():
            for data in _outputs(cell, kind):
                about = ast.literal_eval(data["text/plain"].removeprefix(kind[:-1]))
                data["text/html"] = live(about)


def _outputs(cell, start):
    """List the outputs of a kind, which is how their text begins."""
    found = [output.get("data", {}) for output in cell.outputs]
    return [data for data in found if data.get("text/plain", "").startswith(start)]


def card(name: str) -> str:
    """Write a prediction as the page's script wants it; without scripts it is a plain question."""
    made = asking.Card(catalogue("prediction")[name])
    asked = {**made._asked, "name": name}
    if not made.prediction.options:
        asked |= {"can_be": asking._kind_of_number(made.prediction)}
        asked |= {"low": made.prediction.low, "high": made.prediction.high}
    told = html.escape(json.dumps(asked, ensure_ascii=False))
    return f'<div class="course-predict" data-asked="{told}">{made.static_html()}</div>'


def _is_folded(cell):
    return cell.cell_type == "code" and cell.metadata.get("jupyter", {}).get("outputs_hidden")


def _tag(cell, *tags):
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), *tags]


def _shown(cell, stem):
    """Return what the page has in a cell's place: nothing, the cell, or its code and its output."""
    tags = cell.metadata.get("tags", [])
    if {"notes", "set-up"} & set(tags):
        return []
    if cell.cell_type == "markdown":
        cell.source = here(linked(cell.source))
        return [cell]
    for output in cell.outputs:
        data = output.get("data", {})
        if "text/html" in data:
            shown = data["text/html"].replace(TO_PLAY, alive_where(stem))
            data["text/html"] = TOUCHING.sub(r"\1\n", shown)
            if OF_THE_TRANSLATOR in data["text/html"]:
                data["text/html"] += OWN_SENTENCE
        if "text/markdown" in data:
            data["text/markdown"] = linked(data["text/markdown"])
    cell.outputs = [out for out in cell.outputs if out.get("data", {}).get("text/html", "-")]
    if NOTHING_TO_READ.fullmatch(cell.source):
        _tag(cell, "remove-input")
    if not _is_folded(cell) or not cell.outputs:
        return [cell]
    # The result folds under words of its own.
    result = copy.deepcopy(cell)
    cell.outputs = []
    result.id, result.source = f"{cell.id}-out", "..."  # a cell without source would be left out
    opens = [tag for tag in tags if tag.startswith("answers-")]
    result.metadata = {"tags": ["remove-input", "hide-output", "course-result", *opens]}
    words = "Show what was measured" if opens else "Show what the check says"
    result.metadata["mystnb"] = {
        "code_prompt_show": words, "code_prompt_hide": words.replace("Show", "Hide", 1),
    }  # fmt: skip
    return [cell, result]


def here(text: str) -> str:
    """Say what one can do on a page where the notebook says what to run."""
    for asked, instead in HERE.items():
        pattern = r"\s+".join(map(re.escape, asked.split()))
        text = re.sub(pattern, lambda _, instead=instead: instead, text)
    return text


def alive_where(stem: str) -> str:
    """Say below a widget's picture where it can be moved."""
    told = "This works when you run the lesson on your computer."
    if build.is_published() and build.on_github():
        link = f'<a class="course-open" href="{build.colab_address(stem)}">'
        told = f"{link}Open this lesson in Colab</a>, where this works."
    return f'<p class="course-elsewhere">{told}</p>'


def linked(text) -> str:
    """Turn links to other lessons' headings in a `text` of Markdown into the site's."""

    def written(found):
        stem, heading = found.groups()
        slug = re.sub(r"[^\w-]", "", heading or "").lower()
        return f"]({stem}.ipynb#{slug})" if slug else f"]({stem}.ipynb)"

    return LINK.sub(written, text)


def front_page(first_map, weights):
    """Write the home page out of the README and the first lesson's map.

    Parameters
    ----------
    first_map : str
        HTML of a map that is alive.
    weights : dict of str to str
        What the translator in the page is made of: files in the static folder, and their bytes.

    Returns
    -------
    text : str
        Markdown.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    about = readme.partition("\n<picture>")[0].partition("\n")[2].strip()
    table = re.search(r"^\| \| Lesson .*?\n\n", readme, re.M | re.S).group()
    table = LESSON.sub(r"(\1.ipynb)", table).strip()
    stems = sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
    entries = "\n".join(f"{stem[:2]} {title_of(stem)} <{stem}>" for stem in stems)
    named = html.escape(json.dumps(weights))
    block = re.sub(r"\n\s*\n", "\n", first_map)  # Markdown ends HTML at an empty line
    where = f"\n\n[Get the course]({build.address()})" if build.is_published() else ""
    return (
        f"# Attention and Transformers, by hand\n\n{about}{where}\n\n## Try it\n\n"
        f'<div id="course-translator" data-weights="{named}"></div>\n'
        f'<div id="course-map">\n{block}\n</div>\n\n'
        f"## Lessons\n\n{table}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
    )


def title_of(stem: str) -> str:
    """Read a lesson's title."""
    cells = json.loads((NOTEBOOKS / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).partition("\n")[0].removeprefix("# ").strip()
