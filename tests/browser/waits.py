"""What the tests in a browser wait for, and how long."""

PATIENCE = 60_000  # milliseconds; the machine may be busy training something
# Whether every map and attention view that needs no kernel has taken its picture's place.
ALIVE = """() => [...document.querySelectorAll('.course-still:has(> script)')]
    .every(still => still.querySelector('[data-painted]'))"""
READY = """() => jupyterapp.shell.currentWidget?.sessionContext?.isReady
    && jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"""
