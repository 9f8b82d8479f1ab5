"""Run a submission's own cells and let the grader call its answers. Started by `grade.py`.

Everything here happens inside the sandbox, with what the learner wrote. It decides nothing: which
answer is right, the grader finds out on its own side.
"""

import contextlib
import io
import json
import linecache
import os
import sys

from teaching.needed import without_magics


def main():
    """Run the cells in the first argument's file; serve calls until the pipe closes."""
    # The answers may print: their output goes nowhere, and the wire gets a channel of its own.
    outgoing = os.fdopen(os.dup(1), "wb")
    incoming = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for channel in (0, 1, 2):
        os.dup2(nothing, channel)

    from helpers.machine import memory

    with memory.collector_paused():
        from helpers import exercises, notebook
        from teaching.wire import Wire

    notebook.set_seed(0)
    wire = Wire(incoming, outgoing)
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = json.load(file)
    answers, troubles = {}, []
    namespace = {"__name__": "__main__", "notebook": notebook, "exercises": exercises}
    for cell in cells:
        if cell["check"]:
            answers |= {name: namespace.get(variable) for name, variable in cell["check"].items()}
        elif (trouble := run(cell["source"], namespace)) and cell["own"]:
            troubles.append(trouble)
    wire.send("ready", {name: is_open(answer) for name, answer in answers.items()}, troubles)
    while True:
        try:
            _, (name, arguments) = wire.receive()
        except EOFError:
            return

        def call(name=name, arguments=arguments):
            result = called(name, answers[name])(*arguments)
            return [result, list(arguments)]  # what it was given too, in case it changed that

        wire.answer(call, [])


def run(source, namespace):
    """Run one cell; return what went wrong, or None."""
    name = f"<cell {len(linecache.cache)}>"
    source = without_magics(source)
    # So that an answer's source can be read: an open gap shows only there.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, name, "exec"), namespace)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]


def called(name, answer):
    """Return what to call with a case; a class of the learner's is no such thing yet."""
    from helpers.exercises import model

    return model.find(name).as_function(answer) if name in model.catalogue()[0] else answer


def is_open(answer):
    """Say whether an answer was not attempted; one that is no function says so itself."""
    from helpers.exercises import checking

    return answer is None or checking.is_stub(answer)


if __name__ == "__main__":
    main()
