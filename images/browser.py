"""The browser that records the moving picture, and in which the tests look at pages."""

import shutil

# The first that is there. Debian's shell paints the same without a browser's own windows, for
# which it needs a fifth less of a processor.
NAMES = ["chromium-headless-shell", "chromium", "chromium-browser"]
FLAGS = ["--disable-gpu", "--disable-quic"]


def launch(playwright):
    """Start the system's Chromium, or else Playwright's own; its Error if there is none here."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    return playwright.chromium.launch(executable_path=path, args=FLAGS)
