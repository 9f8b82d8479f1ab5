"""What every lesson uses around its own subject: set-up, pictures with alt text, source on show.

Pictures are stored in the notebook as an ``<img>`` with its alt text. JupyterLab, Colab, VS Code
and exported HTML all show that, with no path to resolve and nothing to fetch, and a screen
reader reads it; an ``image/png`` output has no alt text in JupyterLab.

Everything from outside the standard library is imported where it is used: a course that is not
fully installed can then still say what is missing. ``python -m helpers.notebook`` says it too.
"""

import ast
import base64
import html
import importlib.metadata
import inspect
import io
import os
import random
import re
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "images"
IMAGE_TYPES = {".svg": "image/svg+xml", ".gif": "image/gif", ".png": "image/png"}

# The lessons' tensors are small: past a few threads, waking them costs more than they compute.
MOST_THREADS = 4

# For short measurements: the seconds that this thread itself worked, which other programs do not
# disturb. On Windows that clock ticks too coarsely.
clock = time.perf_counter if sys.platform == "win32" else time.thread_time

# Lessons need the notebook's own front end least of all: in VS Code and Colab it is another.
NOT_NEEDED = {"jupyterlab"}


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
    if in_colab():
        _prepare_colab()
    _demand_packages()
    import torch

    from helpers import memory, plots

    memory.leave_the_compiler_out()
    memory.give_back_after_cells()
    set_seed(seed)
    if "OMP_NUM_THREADS" not in os.environ and torch.get_num_threads() > MOST_THREADS:
        torch.set_num_threads(MOST_THREADS)
    plots.style()


def set_seed(seed):
    """Start the random numbers of Python, NumPy and PyTorch anew.

    Parameters
    ----------
    seed : int
        The same seed gives the same numbers.
    """
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
    """

    data: bytes
    mime_type: str
    alt: str
    width: int | None = None

    def __repr__(self):
        """Say in words what the picture shows, where only text can be shown."""
        return f"[Picture: {self.alt}]"

    def _repr_html_(self):
        encoded = base64.b64encode(self.data).decode("ascii")
        size = f' width="{self.width}"' if self.width else ""
        return (
            f'<img alt="{html.escape(self.alt)}"{size} style="max-width: 100%" '
            f'src="data:{self.mime_type};base64,{encoded}">'
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
        Last in a cell, it shows itself; elsewhere, give it to ``display``.

    Raises
    ------
    ValueError
        If the alt text is missing.
    """
    from matplotlib import pyplot

    _demand_alt(alt, "figure(fig, alt=…)")
    fig = getattr(fig, "figure", fig)
    buffer = io.BytesIO()
    # Without the version in the file, the same drawing gives the same bytes for longer.
    fig.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    pyplot.close(fig)  # or Jupyter would show it once more, without alt text
    return Picture(buffer.getvalue(), "image/png", " ".join(alt.split()), width)


def picture(name, alt=None, width=None):
    """Show one of the course's own pictures from the folder ``images``.

    Parameters
    ----------
    name : str
        The picture's name, with or without its ending: ``"encoder_layer"``.
    alt : str or None, default=None
        What the picture shows. By default what the picture says of itself: an SVG in its
        ``<desc>`` or ``<title>``, any other file in a text file beside it (``NAME.txt``).
    width : int or None, default=None
        Width on the page in pixels.

    Returns
    -------
    picture : Picture
        Last in a cell, it shows itself; elsewhere, give it to ``display``.

    Raises
    ------
    FileNotFoundError
        If there is no such picture; the message lists those there are.
    ValueError
        If neither the call nor the picture has alt text.
    """
    path = _find_picture(name)
    if alt is None:
        alt = _own_alt(path)
    _demand_alt(alt, f"picture({name!r}, alt=…)")
    return Picture(path.read_bytes(), IMAGE_TYPES[path.suffix], " ".join(alt.split()), width)


def _find_picture(name):
    paths = [IMAGES / name] if Path(name).suffix in IMAGE_TYPES else []
    paths += [IMAGES / f"{name}{suffix}" for suffix in IMAGE_TYPES]
    for path in paths:
        if path.is_file():
            return path
    known = sorted({p.stem for p in IMAGES.glob("*") if p.suffix in IMAGE_TYPES})
    raise FileNotFoundError(
        f"There is no picture called {name!r} in {IMAGES}. There are: {', '.join(known) or 'none'}."
    )


def _own_alt(path):
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        for tag in ("desc", "title"):
            found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, flags=re.DOTALL)
            if found:
                return html.unescape(found[1])
    beside = path.with_suffix(".txt")
    return beside.read_text(encoding="utf-8") if beside.is_file() else None


def _demand_alt(alt, call):
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            f"A picture needs alt text that says what it shows: {call}. Those who cannot see the "
            f"picture read this sentence instead."
        )


def tell(text):
    """Show what a measurement means, in the cell that makes it, so that nobody reads it before.

    Parameters
    ----------
    text : str
        Markdown; the indentation that it has in the code is taken off.
    """
    from IPython.display import Markdown, display

    display(Markdown(inspect.cleandoc(text)))


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


def seconds(function, *inputs, repeats=3):
    """Time a function: the shortest of several calls, by `clock`, after one that does not count.

    Parameters
    ----------
    function : callable
        Called with `inputs`.
    repeats : int, default=3

    Returns
    -------
    seconds : float
    """
    function(*inputs)  # the first call is always slower
    times = []
    for _ in range(repeats):
        start = clock()
        function(*inputs)
        times.append(clock() - start)
    return min(times)


def show_source(thing, docstring=False):
    """Show the course's own code where the lesson talks about it.

    Parameters
    ----------
    thing : function, class or module
        What to show, for instance ``attention.scaled_dot_product_attention``.
    docstring : bool, default=False
        Show the docstrings too. By default they are left out: the lesson has just said it.

    Returns
    -------
    source : IPython Markdown
        Shows itself, coloured as the reader's theme does it.
    """
    from IPython.display import Markdown

    source = textwrap.dedent(inspect.getsource(thing))
    if not docstring:
        source = _without_docstrings(source)
    path = Path(inspect.getsourcefile(thing)).resolve()
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return Markdown(f"From `{place}`:\n\n```python\n{source.strip()}\n```")


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


def in_colab():
    """Tell whether this notebook runs in Google Colab.

    Returns
    -------
    yes : bool
    """
    return "google.colab" in sys.modules


def _prepare_colab():
    pins = pinned_versions()
    # Only what is missing, so that nothing of Colab's own is replaced; PyTorch is always there.
    missing = [f"{name}=={pins[name]}" for name in _missing() if name != "torch"]
    if missing:
        print(f"Installing with pip (a few MB, a few seconds): {', '.join(missing)}")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", *missing], check=True)
    from google.colab import output  # third-party widgets come through Colab's own manager

    output.enable_custom_widget_manager()


def pinned_versions():
    """Read which packages the course was tested with.

    Returns
    -------
    versions : dict of str to str
        Package name to version, from ``requirements.txt``: those that learners need.
    """
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    learners = text.split("# Maintainers")[0]
    return dict(re.findall(r"^([\w-]+)==(\S+)", learners, flags=re.MULTILINE))


def _version(package):
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Finding:
    """One thing that the installation check looked at.

    Parameters
    ----------
    level : str
        ``"ok"``, ``"note"`` (works, but differs from what was tested) or ``"problem"``.
    what : str
        What was found.
    fix : str, default=""
        What to do about it.
    """

    level: str
    what: str
    fix: str = ""


def check_installation():
    """Print whether everything the lessons need is there, and how to mend what is not."""
    findings = [
        _check_python(sys.version_info),
        *_check_packages(pinned_versions(), _version),
        _check_arithmetic(),
        _check_folder(ROOT),
        _check_models(ROOT),
    ]
    signs = {"ok": "✓", "note": "·", "problem": "✗"}
    for finding in findings:
        print(signs[finding.level], finding.what)
        if finding.fix:
            print("    →", finding.fix)
    problems = sum(finding.level == "problem" for finding in findings)
    if problems:
        print(f"\n{problems} to mend; then restart the kernel and run this cell again.")
    else:
        print("\nEverything is there. Enjoy the course!")


def _way_in():
    if in_colab():
        return "restart the session (menu Runtime) and run the set-up cell again"
    return (
        f"this is {sys.executable}; start the course with `make lab`, or choose the Python in the "
        f"course's folder .venv as the kernel, or run `pip install -r requirements.txt` there"
    )


def _missing():
    names = pinned_versions().keys() - NOT_NEEDED
    return sorted(name for name in names if _version(name) is None)


def _demand_packages():
    missing = _missing()
    if missing:
        raise ImportError(f"Not installed: {', '.join(missing)}. The way out: {_way_in()}.")


def _check_python(version):
    name = ".".join(str(part) for part in version[:3])
    if (3, 11) <= tuple(version[:2]) <= (3, 13):
        return Finding("ok", f"Python {name}")
    return Finding("problem", f"Python {name}: the course needs 3.11, 3.12 or 3.13", _way_in())


def _check_packages(pins, find_version):
    for name, tested in pins.items():
        found = find_version(name)
        if found == tested:
            yield Finding("ok", f"{name} {found}")
        elif found:
            yield Finding("note", f"{name} {found} (tested with {tested}; most likely fine)")
        elif name == "jupyterlab":
            yield Finding("note", "jupyterlab is not in this Python (needed only for `make lab`)")
        else:
            yield Finding("problem", f"{name} is missing (tested with {tested})", _way_in())


def _check_arithmetic():
    try:
        import torch

        right = torch.allclose(torch.ones(2, 3) @ torch.ones(3, 2), torch.full((2, 2), 3.0))
    except Exception as error:
        return Finding("problem", f"PyTorch does not run: {error}", _way_in())
    if right:
        return Finding("ok", f"PyTorch computes (threads: {torch.get_num_threads()})")
    return Finding("problem", "PyTorch computes wrongly", "install it anew: delete .venv, make lab")


def _check_folder(root):
    lacking = [name for name in ("helpers", "images", "notebooks") if not (root / name).is_dir()]
    if lacking:
        fix = "download the whole course again, not single files"
        return Finding("problem", f"The course's folder {root} lacks {', '.join(lacking)}", fix)
    return Finding("ok", "The course's folder is complete")


def _check_models(root):
    from helpers.pretrained.checksums import check_file

    damaged = []
    files = sorted((root / "helpers" / "pretrained" / "weights").glob("*.safetensors"))
    for file in files:
        try:
            check_file(file)
        except ValueError:
            damaged.append(file.stem)
    if damaged:
        fix = "download the whole course again, or train them anew with their recipes"
        return Finding("problem", f"Damaged trained models: {', '.join(damaged)}", fix)
    names = ", ".join(file.stem for file in files if not file.stem.startswith("toy_"))
    return Finding("ok", f"The trained models are whole: {names}")


if __name__ == "__main__":
    check_installation()
