"""Stopping an answer that does not end.

What is stopped: loops, recursion, `sleep`, waiting for input, a result that grows without end.
What is not: one single long call into C, such as one enormous matrix product or ``sum`` over an
endless iterator. Python gets no word in until such a call returns; only the kernel's own
"interrupt" or "restart" helps then. This is the same in JupyterLab, VS Code and Colab, which all
run cells in the main thread.
"""

import contextlib
import ctypes
import signal
import threading

SECONDS = 5.0
AGAIN = 0.1  # seconds; a bare ``except:`` inside an endless loop swallows the first exception


class TooLong(BaseException):
    """Raised inside an answer that does not end; no ``except Exception`` of its own catches it."""


@contextlib.contextmanager
def time_limit(seconds=SECONDS):
    """Stop the block after so many seconds by raising `TooLong` inside it.

    In the main thread of Linux and macOS, and so in Colab, a timer signal does it, even in the
    middle of a `sleep`. On Windows, and outside the main thread, a second thread asks Python to
    raise the exception, which happens before the next line of Python.

    Parameters
    ----------
    seconds : float
    """
    main = threading.current_thread() is threading.main_thread()
    way = _by_signal if main and hasattr(signal, "setitimer") else _by_thread
    with way(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds):
    running = True

    def stop(*_):
        if running:
            raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            yield
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _by_thread(seconds):
    thread_id = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    over = threading.Event()
    turn = threading.Lock()

    def watch():
        wait = seconds
        while not over.wait(wait):
            with turn:
                if not over.is_set():
                    raise_in(thread_id, ctypes.py_object(TooLong))
            wait = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        with turn:
            raise_in(thread_id, None)  # take back what was asked for and has not happened yet
