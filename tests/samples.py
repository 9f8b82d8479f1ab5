"""What several tests need: variants run once a week, failures, a Python, a server."""

import contextlib
import functools
import http.server
import subprocess
import sys
import threading

import pytest
from stages import ROOT


def once_a_week(variants, often):
    """Leave a test's `variants` to `make test-all`, but for those run `often`, in `make test`.

    The list of parameters is for ``pytest.mark.parametrize``.
    """
    variants = list(variants)
    unknown = set(often) - set(variants)
    if unknown:
        raise ValueError(f"no such variants: {sorted(unknown)}. There are {variants}.")
    weekly = pytest.mark.weekly
    return [pytest.param(one, marks=() if one in often else weekly) for one in variants]


def raising(error):
    """Give a function that raises an `error`, whatever it is called with."""

    def fail(*_, **__):
        raise error

    return fail


def refuses(said, call, *given, error=ValueError, **named):
    """Demand that a call is refused: by an error whose message has the pattern `said` in it."""
    with pytest.raises(error, match=said):
        call(*given, **named)


def python(*arguments, **how):
    """Run this Python in the course's folder, or as `how` says, and keep what it prints."""
    how = {"cwd": ROOT, "capture_output": True, "encoding": "utf-8"} | how
    return subprocess.run([sys.executable, *arguments], **how)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextlib.contextmanager
def served(folder):
    """Serve a folder's files on this machine; give the address."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
