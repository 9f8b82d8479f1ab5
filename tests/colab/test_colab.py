"""Runs notebooks in a second environment that has Colab's IPython and ipywidgets.

``make colab`` and ``make test`` build it, as ``.venv-colab``.
"""

import os
import subprocess
import sys

import nbformat
import pytest
from colab import environment
from samples import once_a_week

from notebooks import build

COLAB_PYTHON = environment.PYTHON
# The second is where most goes on in the widgets; the lessons use the same ones.
NAMES = [
    name
    for name in map(build.name_of, build.lessons())
    if name.startswith("00") or "widget" in name
]

pytestmark = pytest.mark.skipif(not COLAB_PYTHON.exists(), reason="no .venv-colab: make colab")


def run(*arguments):
    """Run Colab's Python; its environment variables say nothing of the one around it."""
    away = {"PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS", "PYTHONPATH"}
    away.add("JUPYTER_PATH")  # or a kernel of ours would be found there
    env = {name: value for name, value in os.environ.items() if name not in away}
    return subprocess.run(
        [COLAB_PYTHON, *arguments], cwd=build.ROOT, capture_output=True, text=True, env=env
    )


VERSIONS = """\
import IPython, anywidget, ipywidgets
versions = IPython.__version__, ipywidgets.__version__, anywidget.__version__
assert versions == ("7.34.0", "7.7.1", "0.9.21"), versions
"""


def test_the_notebooks_kernel_is_colabs(tmp_path):
    cells = [nbformat.v4.new_code_cell(VERSIONS)]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=build.METADATA)
    nbformat.write(notebook, tmp_path / "versions.ipynb")
    done = run("-m", "pytest", "-q", "--nbval-lax", tmp_path / "versions.ipynb")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_torch_is_not_installed_twice():
    done = run("-c", "import torch; print(torch.__file__)")
    assert done.stdout.startswith(sys.prefix), done.stderr


@pytest.mark.parametrize("name", once_a_week(NAMES, NAMES[:1]))
def test_notebook_runs_as_in_colab(name):
    notebook = f"notebooks/{name}.ipynb"
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", notebook)
    assert done.returncode == 0, done.stdout[-6000:]
