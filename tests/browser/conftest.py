"""A JupyterLab that runs for the tests, and pages of a real Chromium in it.

Nothing may leave the machine: a page that asks for an address elsewhere fails its test.
"""

import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from tornado.testing import bind_unused_port
from waits import PATIENCE, READY, change_theme

from images import browser

ROOT = Path(__file__).resolve().parents[2]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Start JupyterLab in an empty folder; give its address, token and folder."""
    folder = tmp_path_factory.mktemp("lab")
    for part in ("helpers", "images"):  # a lesson's set-up cell looks for the course around it
        (folder / part).symlink_to(ROOT / part)
    token, (probe, port) = secrets.token_hex(8), bind_unused_port()
    probe.close()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(folder / ".config")}
    env.update(JUPYTER_DATA_DIR=str(folder / ".data"), IPYTHONDIR=str(folder / ".ipython"))
    env.update(JUPYTERLAB_SETTINGS_DIR=str(folder / ".s"), JUPYTERLAB_WORKSPACES_DIR=f"{folder}/.w")
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"]
    command += [f"--port={port}", f"--IdentityProvider.token={token}", "--expose-app-in-browser"]
    command += [f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    log = (folder / "lab.log").open("w")
    server = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api?token={token}", server)
        yield f"http://127.0.0.1:{port}", token, folder
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def _wait_for(address, server):
    end = time.monotonic() + 90
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended at once, with {server.returncode}")
        try:
            return urllib.request.urlopen(address, timeout=5).read()
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise TimeoutError("JupyterLab did not answer within 90 s")


@pytest.fixture(scope="session")
def chromium():
    """Start a Chromium, once for all tests; where there is none, they are left out."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            started = browser.launch(playwright)
        except Error as error:
            if "Executable doesn't exist" in error.message:
                pytest.skip("no Chromium on this machine")
            raise
        yield started
        started.close()


class Desk:
    """One page of JupyterLab on which one notebook after the other is opened.

    JupyterLab itself takes several seconds to load, a further notebook hardly any.
    """

    def __init__(self, chromium, lab):
        self.chromium, (self.address, self.token, self.folder) = chromium, lab
        self.page, self.asked = None, []

    def open(self, name):
        if self.page is None:
            self.page = self.chromium.new_page()
            self.page.set_default_timeout(PATIENCE)
            self.page.on("request", lambda request: _note(request.url, self.address, self.asked))
            self.page.goto(f"{self.address}/doc/tree/{name}?token={self.token}")
        else:
            self.page.evaluate(OPEN, name)
        self.page.wait_for_function(
            """path => window.jupyterapp?.shell.currentWidget?.context?.path === path
                    && document.querySelector('.jp-Notebook')""",
            arg=name,
        )
        return self.page

    def tidy(self):
        """Close all notebooks with their kernels; a page on which that fails is left."""
        try:
            self.page.mouse.move(0, 0)
            self.page.emulate_media(reduced_motion="null")
            self.page.evaluate(CLOSE_ALL)
        except Exception:  # whatever a failed test has made of the page
            self.page.close()
            self.page = None


# In braces: what the command returns, the whole widget, would be sent over here.
OPEN = "path => { jupyterapp.commands.execute('docmanager:open', { path }); }"
# Disposed of rather than closed: nobody is there to say whether to save.
CLOSE_ALL = """async () => {
  for (const widget of [...jupyterapp.shell.widgets('main')]) {
    await widget.sessionContext?.shutdown();
    widget.dispose();
  }
}"""


@pytest.fixture(scope="session")
def desk(lab, chromium):
    """Keep one page for all notebooks of a run."""
    return Desk(chromium, lab)


@pytest.fixture
def open_notebook(desk):
    """Give a function that runs cells in JupyterLab and returns the page.

    ``open_notebook(["code", …], dark=False, size=(1280, 720))`` writes a notebook, opens it, runs
    it and waits until the kernel rests. The test fails if the page asked another machine.
    """

    def open_(cells, dark=False, size=(1280, 720)):
        name = f"test_{secrets.token_hex(4)}.ipynb"
        new = nbformat.v4.new_code_cell
        written = [new(cell) if isinstance(cell, str) else cell for cell in cells]
        written = nbformat.v4.new_notebook(cells=written, metadata={"kernelspec": KERNEL})
        nbformat.write(written, desk.folder / name)
        page = desk.open(name)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        theme = "Dark" if dark else "Light"
        change_theme(page, theme)
        page.wait_for_selector(f"body[data-jp-theme-name='JupyterLab {theme}']", state="attached")
        _run_all(page)
        return page

    yield open_
    desk.tidy()
    asked, desk.asked[:] = list(desk.asked), []
    assert not asked, f"the page asked other machines for {asked}"


def _note(url, address, asked):
    own = (address, address.replace("http", "ws"), "data:", "blob:", "about:", "chrome")
    if not url.startswith(own):
        asked.append(url)


FAILED = """() => jupyterapp.shell.currentWidget.content.widgets
    .flatMap(cell => cell.model.type === 'code' ? cell.model.outputs.toJSON() : [])
    .filter(output => output.output_type === 'error')
    .map(output => output.ename + ': ' + output.evalue)"""


def _run_all(page):
    """Run every cell, once the kernel is there, and wait for the last one's number.

    Asked to run before its kernel answers, JupyterLab shows a dialog and runs nothing.
    """
    page.wait_for_function(READY)
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    # Asked of the notebook itself: cells far down a long page are not drawn. An error ends a run.
    page.wait_for_function(
        f"""() => ({FAILED})().length || jupyterapp.shell.currentWidget.content.widgets
              .filter(cell => cell.model.type === 'code')
              .every(cell => cell.model.executionCount)"""
    )
    failed = page.evaluate(FAILED)
    assert not failed, failed
