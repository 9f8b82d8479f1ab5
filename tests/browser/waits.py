"""What the tests in a browser do and wait for again and again, and how long."""

PATIENCE = 60_000  # milliseconds; the machine may be busy training something
# Whether every map and attention view that needs no kernel has taken its picture's place.
ALIVE = """() => [...document.querySelectorAll('.course-still:has(> script)')]
    .every(still => still.querySelector('[data-painted]'))"""
READY = """() => jupyterapp.shell.currentWidget?.sessionContext?.isReady
    && jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"""
REPORT = """
from ipywidgets import Label
told = Label()
def tell(_=None):
    values = [getattr(view, name) for name in {names}]
    told.value = " ".join(["PY", *("none" if value == "" else str(value) for value in values)])
view.observe(tell, {names})
tell()
told
"""


def report(names):
    """Write a cell that tells what these traits of the widget `view` are in Python."""
    return REPORT.format(names=names.split())


def expect_told(page, text):
    page.locator(f".widget-label:has-text('PY {text}')").wait_for()


def run_in_kernel(page, code):
    page.evaluate(
        """code => jupyterapp.shell.currentWidget.sessionContext.session.kernel
                 .requestExecute({ code }).done""",
        code,
    )


def change_theme(page, theme):
    change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    page.evaluate(change, f"JupyterLab {theme}")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def enter(field, text):
    field.fill(text)
    field.press("Enter")
