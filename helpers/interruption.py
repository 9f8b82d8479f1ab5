"""Ctrl-C and the stop button, met at a good moment."""

import signal
import threading


class StopBetweenSteps:
    """Turn Ctrl-C, or the notebook's stop button, into a request that is met after the step.

    An exception in the middle of an update would leave half the weights new and half old.

    Use it as ``with StopBetweenSteps() as stop:`` and look at ``stop.asked`` after each step.
    """

    asked = False

    def __enter__(self):
        # Only the main thread may set signal handlers; elsewhere an interrupt stays an exception.
        self.in_main_thread = threading.current_thread() is threading.main_thread()
        if self.in_main_thread:
            self.previous = signal.signal(signal.SIGINT, self.ask)
        return self

    def ask(self, *_):
        """Note that a stop is wanted."""
        self.asked = True

    def __exit__(self, kind, *_):
        if self.in_main_thread:
            signal.signal(signal.SIGINT, self.previous)
