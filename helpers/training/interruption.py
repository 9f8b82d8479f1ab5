"""Ctrl-C and the stop button, met at a good moment."""

import contextlib
import signal
import sys
import threading


class StopBetweenSteps:
    """Turn Ctrl-C, or the notebook's stop button, into a request that is met after the step.

    An exception in the middle of an update would leave half the weights new and half old. So the
    first press is only noted: look at ``stop.asked`` after each step. A second press raises
    KeyboardInterrupt, unless `protect` encloses what runs.

    One press ends everything inside the block, because whatever uses this class inside shares the
    outermost one. In a notebook it ends every training of its cell: those that the cell begins
    later stop after their first step, and nothing is left unassigned for the cells below.
    """

    _outermost = None
    _cell = None  # the cell in which somebody asked to stop, if it was one

    def __init__(self):
        self.presses, self.protected = 0, False

    @staticmethod
    def met() -> bool:
        """Whether a training of this session was stopped, so that its numbers are others."""
        return StopBetweenSteps._cell is not None

    @property
    def asked(self):
        """Whether somebody asked to stop."""
        return self.presses > 0

    def __enter__(self):
        # Only the main thread may set signal handlers; elsewhere an interrupt stays an exception.
        if threading.current_thread() is not threading.main_thread():
            return self
        if StopBetweenSteps._outermost is not None:
            return StopBetweenSteps._outermost
        StopBetweenSteps._outermost = self
        here = _cell_now()
        self.presses = int(here is not None and here == StopBetweenSteps._cell)
        self.previous = signal.signal(signal.SIGINT, self.press)
        return self

    def press(self, *_):
        """Note that a stop is wanted; be told twice and raise, where that does no harm."""
        self.presses += 1
        StopBetweenSteps._cell = _cell_now()
        self._raise_if_impatient()

    def _raise_if_impatient(self):
        if self.presses > 1 and not self.protected:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def protect(self, protected: bool = True):
        """Let no second press break into the block; with `protected` false, let it break in again.

        If it may be broken into, the second press raises KeyboardInterrupt; at once if there were
        two.
        """
        before, self.protected = self.protected, protected
        try:
            self._raise_if_impatient()
            yield
        finally:
            self.protected = before

    def __exit__(self, kind, *_):
        if StopBetweenSteps._outermost is self:
            StopBetweenSteps._outermost = None
            signal.signal(signal.SIGINT, self.previous)


def _cell_now():
    """Number the cell that runs, from the kernel's start; None outside a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell and shell.execution_count
