"""Turn ``notebooks/source/NN_name/lesson.py`` into executed ``notebooks/NN_name.ipynb``.

``make notebooks`` rebuilds what changed, a lesson or a file that it uses (see `freshness.py`),
``make notebooks ONLY=03`` one lesson, ``make notebooks FORCE=1`` all of them, and
``make notebooks ADDRESS=https://github.com/NAME/COURSE`` writes the address of a published copy
into them. Where only text has changed, nothing is run again.
For maintainers only: learners write in copies, see `copies.py`.

A source is Python text in jupytext's percent format. Behind its title the build puts the set-up
cell, ``notebooks/set_up_cell.py``, which imports `helpers.notebook`. Its cells carry tags; besides
nbval's own (``nbval-ignore-output``, ``nbval-skip``, ``raises-exception``) this script knows:

- ``notes``, ``answer``: a Markdown cell that is folded away until it is clicked;
- ``hide-input``: a code cell whose source is folded away, for a picture or a long drawing;
- ``exercise``: a code cell with the function that learners write. Before it comes a folded cell
  with the exercise's heading, and after it one that checks the answer;
- ``checked-exercise``: the same, but the heading isn't folded, and the check is the cell's end;
- ``trial``: a code cell behind an exercise's, which stays before the check;
- ``prediction``: a code cell with ``exercises.reveal("name", …)``. Before it comes a cell that asks
  for the prediction.

Behind any cell with ``quiz="one another"`` in its head comes a cell that asks these questions, and
behind one with ``predict="name"`` a cell that asks for that prediction. Before a cell with
``warm_up=3`` comes the warm-up of lesson 03, and before one with ``my_parts=true`` what the
learner's own file has so far.

After ``exercises.predict("name")`` the stored outputs are folded too, up to the cell that holds
``exercises.reveal("name", …)``, so that nobody reads the answer by scrolling. JupyterLab unfolds
an output when its cell is run. VS Code ignores this mark, so only a copy without outputs keeps
the secret there. Under a heading that says *find the bug*, what the check found in the given code
is folded in the same way.

Folded code is stored in one line, for those who read where no fold works: see `reading.py`.

What a learner waits for is kept in the notebook's metadata, for `minutes.py`: the seconds that each
slow cell took, by its id.
"""

import argparse
import copy
import functools
import os
import platform
import re
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint
from notebooks import reading
from notebooks.freshness import modules_mark

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
SOURCES = NOTEBOOKS / "source"
README = ROOT / "README.md"
START = "00_start_here"
LINKS = re.compile(r"(<!-- links -->\n).*?(<!-- /links -->)", re.DOTALL)
PLACEHOLDER = "/your-name/"  # in the address, until somebody publishes the course
CELL_TIMEOUT = 900  # seconds
FOLDED = {"notes": "Notes for teachers", "answer": "A model answer"}
PREDICT = re.compile(r"""^\s*exercises\.predict\(\s*["'](\w+)["']""", re.MULTILINE)
REVEAL = re.compile(r"""\bexercises\.reveal\(\s*["'](\w+)["']""")
CHECK = re.compile(r"\bexercises\.check\(")
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LIVE_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python"},
}
# What JupyterLab writes on opening a notebook, as its kernel says it. Where all this stands there
# already, opening changes nothing, and nothing is saved two minutes later.
OPENED = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    },
}


def lessons(start="", folder: Path | None = None) -> list[Path]:
    """List the lessons' sources whose names `start` so, for instance with "03".

    They are in `folder`, or in ``notebooks/source``.
    """
    return sorted((folder or SOURCES).glob(f"{start}*/lesson.py"))


def source_of(name):
    """Find the source of the lesson called `name`, for instance "03_self_attention_vectors"."""
    return SOURCES / name / "lesson.py"


def name_of(source):
    """Name the lesson that a source describes: its folder's name."""
    return source.parent.name


def read_cells(source):
    """Read the cells of a source, a file in ``notebooks/source``; nobody may change them."""
    return _cells_in(source.read_text(encoding="utf-8"))


@functools.cache  # jupytext takes a tenth of a second for a lesson, and each is read many times
def _cells_in(text):
    later, framed = jupytext.reads(text, fmt="py:percent").cells, []
    while later:
        cell = later.pop(0)
        framed += _calls(cell, "warm_up", "my_parts")
        cells = _framed(cell, later)
        framed += [*cells, *(call for one in cells for call in _calls(one, "quiz", "predict"))]
    return [*framed[:1], nbformat.v4.new_code_cell(metadata={"tags": ["set-up"]}), *framed[1:]]


def _calls(cell, *asks):
    """Make a cell of each call that a head asks for: ``my_parts=true, warm_up=3, quiz="a b"``."""
    for ask in asks:
        given = cell.metadata.pop(ask, False)
        if given is False:
            continue
        names = [f'"{name}"' for name in given.split()] if isinstance(given, str) else [str(given)]
        call = f"exercises.{ask}({'' if given is True else ', '.join(names)})"
        if len(call) > 100:  # as ruff breaks it
            call = "\n".join([f"exercises.{ask}(", *(f"    {name}," for name in names), ")"])
        tags = {"tags": ["nbval-ignore-output"]} if ask == "my_parts" else {}
        yield nbformat.v4.new_code_cell(call, metadata=tags)


def _framed(cell, later):
    """Put before and behind a cell what its tag stands for; `later` cells may belong to it."""
    if _untag(cell, "prediction"):
        asks = f'exercises.predict("{REVEAL.search(cell.source)[1]}")'
        return [nbformat.v4.new_code_cell(asks), cell]
    in_one = _untag(cell, "checked-exercise")
    if not (in_one or _untag(cell, "exercise")):
        return [cell]
    name = DEFINED.search(cell.source)[1]
    heading, check = f'exercises.heading("{name}")', f'exercises.check("{name}", {name})'
    if in_one:
        cell.source += f"\n\n\n{check}"
        return [nbformat.v4.new_code_cell(heading), cell]
    before, after = (
        nbformat.v4.new_code_cell(source, metadata={"tags": ["hide-input"]})
        for source in (heading, check)
    )
    trial = [later.pop(0)] if later and _untag(later[0], "trial") else []
    return [before, cell, *trial, after]


def _untag(cell, tag):
    tags = cell.metadata.get("tags", [])
    if tag not in tags:
        return False
    tags.remove(tag)
    return True


def assemble(source: Path):
    """Make the notebook that a file in ``notebooks/source`` describes, not yet executed.

    It has stable cell ids, and in its metadata the hash by which a stale build is known.
    """
    cells = [_assemble_cell(cell) for cell in read_cells(source)]
    if cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        raise ValueError(
            f"{name_of(source)}: the first cell has to be Markdown that starts '# Title'."
        )
    title, _, rest = cells[0].source.partition("\n")
    if is_published() and on_github():
        link = f"[Open in Colab]({colab_address(name_of(source))})"
        cells[0].source = f"{title}\n\n{link}\n{rest}"
    _name_cells(cells)
    _fold_answers(cells)
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=dict(METADATA))
    # The hash is over what doesn't depend on this machine's Python.
    notebook.metadata["course"] = {"source_hash": fingerprint(nbformat.writes(notebook))}
    notebook.metadata.update(copy.deepcopy(OPENED))
    return notebook


def address() -> str:
    """Read where the course is published.

    ``[project.urls] Repository`` in pyproject.toml is the only place that knows it.
    """
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["urls"]["Repository"].removesuffix("/")


def set_address(new: str):
    """Write down where the course is published: a repository, as a browser shows it.

    Something else is a ValueError.
    """
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+){2,}", new.removesuffix("/")):
        raise ValueError(f"expected https://github.com/NAME/REPOSITORY or the like; got {new!r}")
    old = address()
    for place in (ROOT / "CITATION.cff", ROOT / "pyproject.toml"):
        text = place.read_text(encoding="utf-8").replace(old, new.removesuffix("/"))
        with atomic_write(place) as partial:
            partial.write_text(text, encoding="utf-8")


def is_published():
    """Tell whether the address is one of its own, so that links to it lead somewhere."""
    return PLACEHOLDER not in address()


def on_github():
    """Tell whether the address is GitHub's: Colab opens notebooks from nowhere else."""
    return address().startswith("https://github.com/")


def site_address() -> str:
    """Say where the pages of GitHub or GitLab are: at NAME.github.io/COURSE, or .gitlab.io."""
    host, owner, *rest = address().removeprefix("https://").split("/")
    return f"https://{owner}.{host.partition('.')[0]}.io/{'/'.join(rest)}/"


def with_links(readme: str) -> str:
    """Put links to the published course into the README, or none while there is no address."""
    links = ""
    if is_published():
        links = f"[Read it as a site]({site_address()})"
        links += f" · [Start in Colab]({colab_address(START)})\n" if on_github() else "\n"
    return LINKS.sub(lambda found: f"{found[1]}{links}{found[2]}", readme)


def set_up_cell() -> str:
    """Make the set-up cell that every notebook shares."""
    template = (NOTEBOOKS / "set_up_cell.py").read_text(encoding="utf-8").strip()
    return template.replace('"ADDRESS"', f'"{address()}"')


def colab_address(stem: str) -> str:
    """Say where Colab opens a lesson's learner's copy, once the course is published.

    Its `stem` is the name, ``03_self_attention_vectors``.
    """
    path = address().removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{path}/blob/learners/{stem}.ipynb"


def _assemble_cell(cell):
    tags = cell.metadata.get("tags", [])
    source = set_up_cell() if "set-up" in tags else cell.source.strip()
    if cell.cell_type == "markdown":
        for tag in FOLDED.keys() & set(tags):
            summary = FOLDED[tag]
            source = f"<details>\n<summary>{summary}</summary>\n\n{source}\n\n</details>"
        made = nbformat.v4.new_markdown_cell(source)
    else:
        made = nbformat.v4.new_code_cell(source)
    if tags:
        made.metadata["tags"] = list(tags)
    if "hide-input" in tags and source.count("\n") > 1:
        made.source = f"{reading.FIRST_LINE['exercises.reveal(' in source]}\n{source}"
    if {"hide-input", "set-up"} & set(tags):
        made.metadata["jupyter"] = {"source_hidden": True}
    return made


def predictions(cells: list) -> list[tuple[str, int, int]]:
    """Find where a notebook asks for predictions and where it reveals the results.

    A prediction's name, the index of the cell that asks and of the one that reveals. A prediction
    that is not revealed in a later cell, or was never asked, is a ValueError.
    """
    found, asked = [], {}
    for i, cell in enumerate(cells):
        if cell.cell_type == "code":
            for name in REVEAL.findall(cell.source):
                if name not in asked:
                    raise ValueError(f"{name!r} is revealed, but no cell before asks for it.")
                found.append((name, asked[name], i))
            asked |= dict.fromkeys(PREDICT.findall(cell.source), i)
    revealed = {name for name, _, _ in found}
    if asked.keys() - revealed:
        raise ValueError(f"Never revealed: {', '.join(sorted(asked.keys() - revealed))}.")
    return sorted(found, key=lambda one: one[1:])


def _fold_answers(cells):
    for _, ask, reveal in predictions(cells):
        for cell in cells[ask + 1 : reveal + 1]:
            # What asks for another prediction in between tells nothing, and has to be seen.
            if cell.cell_type == "code" and not PREDICT.search(cell.source):
                _fold_output(cell)
    heading = ""
    for cell in cells:
        if cell.cell_type == "markdown":
            heading = (HEADING.findall(cell.source) or [heading])[-1]
        elif "find the bug" in heading.lower() and CHECK.search(cell.source):
            _fold_output(cell)


def _fold_output(cell):
    cell.metadata["collapsed"] = True  # the older of two names for the same mark
    cell.metadata.setdefault("jupyter", {})["outputs_hidden"] = True


def _name_cells(cells):
    # An id made from the content stays the same when other cells come and go.
    seen = {}
    for cell in cells:
        name = fingerprint(cell.cell_type + cell.source)[:12]
        seen[name] = seen.get(name, 0) + 1
        cell["id"] = name if seen[name] == 1 else f"{name}-{seen[name]}"


def read(name):
    """Read the notebook called `name` as it is stored, with its whole code."""
    stored = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return reading.whole(stored, assemble(source_of(name)))


def is_fresh(notebook, target: Path) -> bool:
    """Tell whether the built file, if there is one, holds this notebook as `assemble` made it."""
    return course_of(target).get("source_hash") == notebook.metadata["course"]["source_hash"]


def course_of(target: Path) -> dict:
    """Read what the build wrote of itself into a built file's metadata; {} if there is no file."""
    if not target.exists():
        return {}
    return nbformat.read(target, as_version=4).metadata.get("course", {})


def keep_outputs(notebook, built) -> bool:
    """Take over the outputs `built` earlier, if no code has changed but the set-up cell's.

    `notebook`, as `assemble` made it, is changed in place; False if the code is not the same, and
    then nothing is changed.
    """
    ours, theirs = (
        [cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, built)
    )
    if [_code(cell) for cell in ours] != [_code(cell) for cell in theirs]:
        return False
    seconds = built.metadata.get("course", {}).get("seconds", {})
    renamed = {old.id: new.id for old, new in zip(theirs, ours, strict=True)}
    notebook.metadata["course"]["seconds"] = {
        renamed[name]: s for name, s in seconds.items() if name in renamed
    }
    for new, old in zip(ours, theirs, strict=True):
        new.outputs, new.execution_count = old.outputs, old.execution_count
    return True


def _code(cell):
    tags = cell.metadata.get("tags", [])
    return "set-up" if "set-up" in tags else (cell.source, tags)


def execute(notebook):
    """Run every cell of a `notebook`; keep what learners see before they run any themselves."""
    started, seconds = {}, {}

    def start(cell, cell_index):
        started[cell.id] = time.perf_counter()

    def stop(cell, cell_index, execute_reply):
        seconds[cell.id] = round(time.perf_counter() - started[cell.id])

    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(NOTEBOOKS)}},
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        on_cell_execute=start,
        on_cell_executed=stop,
    )
    with tempfile.TemporaryDirectory() as folder:
        # What a maintainer has answered is no part of the lesson. One thread, as in the tests:
        # on several, sums come out with other last digits.
        own = {"COURSE_PROGRESS": folder, "COURSE_STRICT": "1", "OMP_NUM_THREADS": "1"}
        client.execute(env={**os.environ, **own})
    notebook.metadata.update(copy.deepcopy(OPENED))
    # Whole seconds: what is quicker is no wait, and a rebuild changes little in the file.
    notebook.metadata["course"]["seconds"] = {name: s for name, s in seconds.items() if s}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # No kernel, no live view: without it every front end shows the picture beside it.
            # The view's id is random too, and would change with every build.
            output.get("data", {}).pop(LIVE_VIEW, None)


def build(source: Path, force=False):
    """Build one notebook from its `source`, unless nothing changed; with `force` even then."""
    target = NOTEBOOKS / f"{name_of(source)}.ipynb"
    notebook, mark = assemble(source), modules_mark(source)
    keeps = not force and course_of(target).get("modules") == mark
    if keeps and is_fresh(notebook, target):
        print(f"{target.name}: unchanged", flush=True)
        return
    start = time.perf_counter()
    if keeps and keep_outputs(notebook, reading.whole(nbformat.read(target, 4), notebook)):
        print(f"{target.name}: the code is the same, so its outputs stay", end=", ", flush=True)
    else:
        print(f"{target.name}: running ...", end=" ", flush=True)
        execute(notebook)
    notebook.metadata["course"]["modules"] = mark
    nbformat.validate(notebook)
    with atomic_write(target) as partial:
        nbformat.write(reading.for_reading(notebook, target.stem), partial)
    size = target.stat().st_size / 1000
    print(f"{time.perf_counter() - start:.0f} s, {size:.0f} kB", flush=True)


def main(arguments: list[str] | None = None):
    """Build the notebooks that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", help="how a lesson's name starts, for instance 03")
    parser.add_argument("--force", action="store_true", help="build unchanged notebooks too")
    parser.add_argument("--address", help="where you publish the course; every notebook gets it")
    options = parser.parse_args(arguments)
    if options.address:
        set_address(options.address)
    chosen = [source for start in options.only or [""] for source in lessons(start)]
    if not chosen:
        sys.exit(f"No lesson in {SOURCES} starts with {' or '.join(options.only)}.")
    for source in chosen:
        build(source, options.force)
    readme = README.read_text(encoding="utf-8")
    if with_links(readme) != readme:
        README.write_text(with_links(readme), encoding="utf-8")


if __name__ == "__main__":
    main()
