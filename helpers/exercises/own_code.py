"""The learner's own code in later cells: theirs where it passes its check, else the tested one."""

import functools
import types

from helpers.exercises import own_file, panels
from helpers.exercises.model import catalogue, find
from helpers.exercises.own_file import FILE, Own, path
from helpers.exercises.own_text import TESTED, tested, untouched


@functools.lru_cache(maxsize=9)
def run(text, place):
    """Run the text of the file as a module; returns it, and what went wrong."""
    from helpers.exercises import compare

    module = types.ModuleType("my_transformer")
    module.__file__ = place
    try:
        with compare.time_limit():
            exec(compile(text, place, "exec"), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return module, f"{FILE} stops with {type(error).__name__}: {error}."
    return module, ""


def my_transformer():
    """Run the learner's file, and return it as a module.

    Returns
    -------
    module : module
        Of the file, or of the course's copy of it where the file can't run; then it says why.
    """
    own = Own.read()
    module, trouble = run(own.text, str(path())) if not own.trouble else (None, own.trouble)
    if not trouble and own.text:
        return module
    print(trouble or f"There's no {FILE} yet.", "This cell goes on with the course's.")
    return run(TESTED.read_text(encoding="utf-8"), str(TESTED))[0]


def _find(name):
    """Return the answer to an exercise that later cells use, and whether the learner wrote it."""
    from helpers.exercises.checking import judge

    reference = find(name, "exercise").tested
    own = Own.read()
    part = own.parts.get(name)
    candidates = []
    if part and not untouched(name, part):
        module, trouble = run(own.text, str(path()))
        candidates += [] if trouble else [getattr(module, name, None)]
    if own_file.answers.get(name) is not reference:
        candidates.append(own_file.answers.get(name))
    if name not in tested() and (kept := own_file.earlier(name)):
        module, _ = run(kept.read_text(encoding="utf-8"), str(kept))
        candidates.append(getattr(module, name, None))
    for answer in candidates:
        if answer is not None and judge(name, answer).passed:
            return answer, True
    return reference, False


def mine(name: str):
    """Return the learner's answer to an exercise if it passes, else the tested one.

    A part of my_transformer.py that is no exercise comes from there.

    Returns
    -------
    answer : function or class
        From my_transformer.py, or from this notebook. Never one that fails its check.
    """
    if name not in tested() or name in catalogue()[0]:
        return _find(name)[0]
    module, trouble = run(Own.read().text, str(path()))
    if trouble or not hasattr(module, name):
        module = run(TESTED.read_text(encoding="utf-8"), str(TESTED))[0]
    return getattr(module, name)


def is_mine(name):
    """Say whether `mine` gives the learner's own code."""
    return _find(name)[1]


def whose(*names, did="drawn") -> str:
    """Say whose code made a figure, for its caption.

    Parameters
    ----------
    *names : str
        The exercises whose functions ran.
    did : str, default="drawn"
        What they did: "drawn", "translated", "trained".
    """
    own = [name for name in names if is_mine(name)]
    rest = [name for name in names if name not in own]
    if not rest:
        return f"{did} by your code ({', '.join(own)})"
    if not own:
        return f"{did} by the course's code, until yours passes ({', '.join(rest)})"
    return f"{did} by your {', '.join(own)}, and the course's {', '.join(rest)} until yours passes"


def my_parts():
    """Show the Transformer with the parts lit that are the learner's own, and what comes next.

    Returns
    -------
    parts : object that shows itself
    """
    from helpers.widgets import own_parts  # and with it matplotlib

    known = catalogue()[0]
    names = sorted((name for name in tested() if name in known), key=lambda n: known[n].lesson)
    drawn = {name: is_mine(name) for name in names}
    left = [name for name, is_own in drawn.items() if not is_own]
    said = f"{len(drawn) - len(left)} of {len(drawn)} parts of the Transformer are yours."
    if left:
        said += f" Next: {left[0]}, lesson {known[left[0]].lesson:02}."
    return panels.Shown(said, f"{own_parts.draw(drawn)}<p>{said}</p>")
