"""The browser that records the moving picture, and in which the tests look at pages."""

import shutil

# The first that is there. Debian's shell paints the same without a browser's own windows, for
# which it needs a fifth less of a processor.
NAMES = ["chromium-headless-shell", "chromium", "chromium-browser"]
FLAGS = ["--disable-gpu", "--disable-quic"]


def launch(playwright):
    """Start the system's Chromium, or else Playwright's own.

    Parameters
    ----------
    playwright : playwright Playwright

    Returns
    -------
    browser : playwright Browser

    Raises
    ------
    playwright.sync_api.Error
        If there is no Chromium on this machine.
    """
    path = next(filter(None, map(shutil.which, NAMES)), None)
    return playwright.chromium.launch(executable_path=path, args=FLAGS)
