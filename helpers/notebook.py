"""What every lesson uses around its own subject: set-up, pictures with alt text, source on show.

Pictures are stored in the notebook as an ``<img>`` with its alt text. JupyterLab, Colab, VS Code
and exported HTML all show that, with no path to resolve and nothing to fetch, and a screen
reader reads it; an ``image/png`` output has no alt text in JupyterLab.

Everything from outside the standard library is imported where it is used: a course that is not
fully installed can then still say what is missing.
"""

import ast
import base64
import html
import inspect
import io
import json
import linecache
import os
import random
import re
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from helpers.machine import installation
from helpers.machine.installation import (
    check_installation as check_installation,  # lesson 00 calls it here
)

ROOT = installation.ROOT
IMAGES = ROOT / "images"

# White paper turns into JupyterLab's own dark, #111; hues stay what they are. Where no style is
# allowed (GitHub), and in print, the paper stays white.
ON_DARK = (
    "@media screen { :is(body[data-jp-theme-light=false], body.vscode-dark, html[theme=dark]) "
    ".course-drawing { filter: invert(0.933) hue-rotate(180deg); mix-blend-mode: screen; } }"
)

# The lessons' tensors are small: past a few threads, waking them costs more than they compute.
MOST_THREADS = 4

# For short measurements: the seconds that this thread itself worked, which other programs do not
# disturb. On Windows that clock ticks too coarsely.
clock = time.perf_counter if sys.platform == "win32" else time.thread_time


def set_up(seed=0):
    """Make the notebook ready: same random numbers every time, house style, few threads.

    In Colab it also installs the few packages that are missing there, and says which.

    Parameters
    ----------
    seed : int, default=0
        Start of the random numbers of Python, NumPy and PyTorch.

    Raises
    ------
    ImportError
        If a package is missing, with the way to get it.
    """
    if installation.in_colab():
        _prepare_colab()
    installation.demand_packages()
    from helpers.machine import memory

    with memory.collector_paused():
        import torch

        from helpers import plots
    memory.give_back_after_cells()
    set_seed(seed)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:  # IPython's own hook: below the error of a cell that lacks another
        shell.set_custom_exc(tuple(SKIPPED), _show_and_explain)
    if "OMP_NUM_THREADS" not in os.environ and torch.get_num_threads() > MOST_THREADS:
        torch.set_num_threads(MOST_THREADS)
    plots.style()


SKIPPED = {
    NameError: "If {name} is the lesson's, the cell further up that makes it hasn't run since the "
    "kernel started.",
    AssertionError: "The lesson checks its own numbers here, and they aren't the ones it was "
    "written with: a cell further up was skipped or changed.",
}
STOPPED = (
    "You stopped a training further up, so this cell's check of its numbers doesn't hold, and the "
    "cell ends here. The text speaks of the whole run. Go on, or run the training's cell again."
)
RUN_ABOVE = "In the Run menu, choose “Run All Above Selected Cell”, then run this cell again."


def _show_and_explain(shell, kind, error, trace, tb_offset=None):
    from helpers.training.interruption import StopBetweenSteps

    last = trace
    while last.tb_next:
        last = last.tb_next
    at = last.tb_frame.f_globals
    bare = at is shell.user_ns and not str(error)
    if issubclass(kind, AssertionError) and bare and StopBetweenSteps.met():
        return print(STOPPED)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    compared = at.get("__name__", "").startswith("torch.testing")
    if issubclass(kind, NameError) or bare or compared:
        why = SKIPPED[NameError if issubclass(kind, NameError) else AssertionError]
        print(why.format(name=getattr(error, "name", None) or "the name"), RUN_ABOVE)


def set_seed(seed: int):
    """Start the random numbers of Python, NumPy and PyTorch anew; a `seed` has its own."""
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed)  # noqa: NPY002 - libraries that a lesson calls may read the old state
    torch.manual_seed(seed)


@dataclass(frozen=True)
class Picture:
    """A picture that shows itself in a notebook, together with its alt text.

    Parameters
    ----------
    data : bytes
        The file's content.
    mime_type : str
        For instance ``"image/svg+xml"``.
    alt : str
        What the picture shows, for those who cannot see it.
    width : int or None, default=None
        Width on the page in pixels; by default the picture's own, at most the page's.
    photo : bool, default=False
        It keeps its colours on a dark page, where a drawing on white paper is turned over.
    """

    data: bytes
    mime_type: str
    alt: str
    width: int | None = None
    photo: bool = False

    def __repr__(self):
        """Say in words what the picture shows, where only text can be shown."""
        return f"[Picture: {self.alt}]"

    def _repr_html_(self):
        encoded = base64.b64encode(self.data).decode("ascii")
        size = f' width="{self.width}"' if self.width else ""
        return (
            f'<img alt="{html.escape(self.alt)}"{size} style="max-width: 100%" '
            f'src="data:{self.mime_type};base64,{encoded}"'
            + ("" if self.photo else f' class="course-drawing"><style>{ON_DARK}</style')
            + ">"
        )


def figure(fig, alt, width=None):
    """Show a matplotlib figure with alt text, and close it.

    Parameters
    ----------
    fig : matplotlib Figure or Axes
        The drawing; for Axes, the whole figure they stand in.
    alt : str
        What the picture shows and what to see in it: a sentence or two, not the title again.
    width : int or None, default=None
        Width on the page in pixels.

    Returns
    -------
    picture : Picture
        Last in a cell, it shows itself; elsewhere, call `show`.

    Raises
    ------
    ValueError
        If the alt text is missing.
    """
    from matplotlib import pyplot
    from PIL import Image

    from helpers import plots

    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            "A picture needs alt text that says what it shows: figure(fig, alt=…). Those who "
            "cannot see the picture read this sentence instead."
        )
    fig = getattr(fig, "figure", fig)
    plots.fit(fig, width)
    drawn, stored = io.BytesIO(), io.BytesIO()
    fig.savefig(drawn, format="png", dpi=2 * plots.PAGE, bbox_inches="tight")
    pyplot.close(fig)  # or Jupyter would show it once more, without alt text
    image = Image.open(drawn).convert("RGB")
    # A third of the size, and no colour moves far.
    few = image.quantize(256, Image.Quantize.MAXCOVERAGE)
    few.save(stored, "PNG", optimize=True)
    # Two pixels for each of the page's: sharp on every screen.
    wide, photo = image.width // 2, plots.shows_photos(fig)
    return Picture(stored.getvalue(), "image/png", " ".join(alt.split()), wide, photo)


def show(fig, alt, width=None):
    """Show a `figure` of `fig` where more follows in its cell; `alt` and `width` are the same."""
    from IPython.display import display

    display(figure(fig, alt, width))


def picture(name):
    """Show one of the course's own pictures or films from the folder ``images``.

    Parameters
    ----------
    name : str
        ``"lstm_cell"``. What it shows for those who cannot see it, it says itself.

    Returns
    -------
    picture : Picture or Film
        Last in a cell, it shows itself; elsewhere, give it to ``display``.

    Raises
    ------
    FileNotFoundError
        If there is no such picture; the message lists those there are.
    """
    still, film = IMAGES / f"{name}.svg", IMAGES / f"{name}.json"
    if film.is_file():
        from helpers.widgets.film import Film

        return Film(json.loads(film.read_text(encoding="utf-8")))
    if not still.is_file():
        known = sorted(p.stem for p in IMAGES.glob("*") if p.suffix in {".svg", ".json"})
        raise FileNotFoundError(
            f"There is no picture called {name!r} in {IMAGES}. There are: "
            f"{', '.join(known) or 'none'}."
        )
    data = still.read_bytes()
    wide = int(re.search(r'width="(\d+)"', data.decode())[1])
    alt = html.unescape(re.search(r"<desc>(.*?)</desc>", data.decode(), re.DOTALL)[1])
    # Letters of 17 pixels get the 13 that they have in every figure.
    return Picture(data, "image/svg+xml", " ".join(alt.split()), wide * 13 // 17)


def tell(text):
    """Show what a measurement means, in the cell that makes it, so that nobody reads it before.

    Parameters
    ----------
    text : str
        Markdown; the indentation that it has in the code is taken off.
    """
    from IPython.display import Markdown, display

    display(Markdown(inspect.cleandoc(text)))


def claim(holds):
    """Compare what a lesson says with a run that is live: trained, drawn or timed in its cell.

    Another machine can come out otherwise. There the lesson says so and goes on; where the course
    is built and tested, nothing may contradict its text.

    Parameters
    ----------
    holds : bool

    Raises
    ------
    AssertionError
        If it doesn't hold in the checks.
    """
    from helpers.training.interruption import StopBetweenSteps

    if not holds and "COURSE_STRICT" in os.environ:
        raise AssertionError("this run contradicts what the lesson says about it.")
    if not holds and StopBetweenSteps.met():
        tell("*You stopped a training, so its model has hardly learned. The text and the stored "
             "runs are of complete trainings; for one of yours, run its cell again.*")  # fmt: skip
    elif not holds:
        tell("*This run came out otherwise than the text describes it. Read on with the numbers "
             "that you see here, or run the cell again.*")  # fmt: skip


def table(rows, columns):
    """Show rows as a table.

    Parameters
    ----------
    rows : list of lists
        Of anything that can be printed.
    columns : list of str
        Their heads.
    """
    lines = [columns, ["---"] * len(columns), *rows]
    tell("\n".join("| " + " | ".join(map(str, row)) + " |" for row in lines))


def seconds(function, *inputs, repeats=3) -> float:
    """Time a function: the shortest of several calls, by `clock`, after one that does not count.

    Parameters
    ----------
    function : callable
        Called with `inputs`.
    repeats : int, default=3
    """
    function(*inputs)  # the first call is always slower
    times = []
    for _ in range(repeats):
        start = clock()
        function(*inputs)
        times.append(clock() - start)
    return min(times)


def show_source(thing):
    """Show the course's own code where the lesson talks about it, without its docstrings.

    Parameters
    ----------
    thing : function, class or module
        What to show, for instance ``attention.scaled_dot_product_attention``.

    Returns
    -------
    source : IPython Markdown
        Shows itself, coloured as the reader's theme does it.
    """
    from IPython.display import Markdown

    source = _without_docstrings(textwrap.dedent(inspect.getsource(thing)))
    path = Path(inspect.getsourcefile(thing)).resolve()
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return Markdown(f"From `{place}`:\n\n```python\n{source.strip()}\n```")


def folded(lesson, number):
    """Run a long folded cell of a lesson here, as if its code stood in the cell that calls.

    Parameters
    ----------
    lesson : str
        The folder in ``notebooks/source`` whose ``lesson.py`` holds the code.
    number : int
        Which of its folded code cells, from 1.
    """
    import IPython

    text = (ROOT / "notebooks" / "source" / lesson / "lesson.py").read_text(encoding="utf-8")
    parts = re.split(r"^# %%(.*)$", text, flags=re.MULTILINE)
    cells = []
    for head, code in zip(parts[1::2], parts[2::2], strict=True):
        if '"exercise"' in head:  # its heading and its check, which the build makes, are folded
            cells += ["", ""]
        elif '"trial"' in head:  # it stands between the two
            cells.insert(-1, code.strip())
        elif "hide-input" in head and "[markdown]" not in head:
            cells.append(code.strip())
    code, name = cells[number - 1], f"<{lesson}, folded cell {number}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    *before, last = ast.parse(code).body
    space = IPython.get_ipython().user_ns
    exec(compile(ast.Module(before, []), name, "exec"), space)
    # The last line's value shows itself, as that of any cell does.
    exec(compile(ast.Interactive([last]), name, "single"), space)


def _without_docstrings(source):
    lines = source.splitlines()
    owners = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, owners) and len(node.body) > 1 and ast.get_docstring(node) is not None:
            string = node.body[0]
            after = node.body[1].lineno - 1
            blank = string.end_lineno < after and not lines[string.end_lineno].strip()
            # The blank line after a docstring goes with it.
            for number in range(string.lineno - 1, string.end_lineno + blank):
                lines[number] = None
    return "\n".join(line for line in lines if line is not None)


def _prepare_colab():
    pins = installation.pinned_versions()
    # Only what is missing, so that nothing of Colab's own is replaced; PyTorch is always there.
    names = [name for name in installation.missing_packages() if name != "torch"]
    missing = [f"{name}=={pins[name]}" for name in names]
    if missing:
        print(f"Installing with pip (a few MB, a few seconds): {', '.join(missing)}")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", *missing], check=True)
    from google.colab import output  # third-party widgets come through Colab's own manager

    output.enable_custom_widget_manager()
