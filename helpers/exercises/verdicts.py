"""What a check found, and how much of it is said: more at every failure."""

from dataclasses import dataclass, replace

from helpers.exercises import panels


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Parameters
    ----------
    passed : bool
    mistake : str
        "" if it passed; else the name of a known mistake, or one of "not attempted", "raised",
        "too long", "too large", "wrong type", "wrong shape", "changed its input", "differs".
    message : str
        What to tell the learner.
    picture : str, default=""
        HTML: expected and got, side by side.
    kept : str, default=""
        Where in the learner's file a right answer went, and what runs on it next.
    stages : tuple of str, default=()
        What to say at the first failure of this kind, at the second, at the third.
    named : bool, default=True
        Whether the panel's title names the mistake, which would tell the cause at once.
    """

    passed: bool
    mistake: str
    message: str
    picture: str = ""
    kept: str = ""
    stages: tuple = ()
    named: bool = True

    def __repr__(self):
        sign = "✓ right" if self.passed else "○" if self.mistake == "not attempted" else "✗"
        kept = f"\n{self.kept}" if self.kept else ""
        named = "" if self.passed else f" {self.mistake if self.named else 'not yet'}"
        return f"{sign}{named}: {self.message}{kept}"

    def _repr_html_(self):
        return panels.verdict(self)


@dataclass
class Failed(Exception):
    """Carries a verdict out of the steps of a check."""

    verdict: Verdict


def fail(mistake, message):
    """Leave the check with a verdict of this `mistake` and `message`."""
    raise Failed(Verdict(False, mistake, message))


_failures = {}  # exercise -> the last failing verdict as it was judged, how often in a row


def at_its_stage(name: str, verdict: Verdict, mend):
    """Say at the first failure what happens and where, at the second the cause, then the repair.

    At the third failure, `mend` is called for what mends an answer that raises.
    """
    if verdict.mistake in ("not attempted", "unknown exercise"):
        return verdict
    before, times = _failures.pop(name, (None, 0))
    times = times + 1 if before and before.mistake == verdict.mistake else 0
    if not verdict.passed:
        _failures[name] = verdict, times
    if verdict.mistake == "raised" and times >= 2:
        return replace(verdict, message=verdict.message + mend())
    if not verdict.stages:
        return verdict
    said = verdict.stages[min(times, len(verdict.stages) - 1)]
    if times == 0 and len(verdict.stages) > 1:
        said += " If you're stuck, the next check says more."
    return replace(verdict, message=said, named=times > 0)


def about_the_last_attempt(name: str):
    """Return what the next failure of the same kind would say; "" if the last attempt didn't fail."""
    verdict, times = _failures.get(name, (None, 0))
    if verdict is None:
        return ""
    _failures[name] = verdict, times + 1
    stages = verdict.stages or (verdict.message,)
    return stages[min(times + 1, len(stages) - 1)]
