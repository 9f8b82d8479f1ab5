"""Say what is left to do until a copy of the course is published: ``make publish-check``.

Nothing is changed here. What is asked of the network is asked as anybody could: whether the
repository, the learner's branch, the site and Colab's notebook can be had without logging in.
"""

import argparse
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass

from notebooks import build

SECONDS = 15  # of patience with one address
DONE, LEFT, UNKNOWN = "done", "left", "?"


@dataclass
class Step:
    """One thing that a published copy needs: whether it's there, and how to get it."""

    what: str
    state: str
    advice: str = ""


def steps(can_open=None, git=None) -> list[Step]:
    """Look at everything, in the order in which it's done.

    `can_open` takes an address: True, False, or None without a network. `git` takes git's
    arguments: what it printed, or None if it failed.
    """
    can_open, git = can_open or _can_open, git or _git
    where, published, github = build.address(), build.is_published(), build.on_github()
    found = [
        _step("The address is your own", published, "make notebooks ADDRESS=https://…"),
        _step("Every notebook knows it", _all_know(), "make notebooks"),
        _step(
            "Everything is committed", git("status", "--porcelain") == "", "git add -A, git commit"
        ),
    ]
    if not published:
        return found
    main, learners = (git("ls-remote", where, f"refs/heads/{one}") for one in ("main", "learners"))
    mine = git("rev-parse", "HEAD")
    pushed = None if main is None else bool(mine) and main.startswith(mine.strip())
    found += [
        _step("The last commit is pushed", pushed, f"git push {where} HEAD:main"),
        _step("Anybody can open the repository", can_open(where), "make it public in its settings"),
        _step(
            "The learner's copies are a branch",
            None if learners is None else bool(learners.strip()),
            "it appears when the checks have passed: open Actions and switch the workflows on"
            if github
            else "python -m notebooks.copies class --commit $(git rev-parse HEAD), and push the "
            "copies as the branch learners",
        ),
        _step(
            "The site is there",
            can_open(build.site_address()),
            "Settings, Pages, Source: GitHub Actions; then run the workflow check once more"
            if github
            else "the job pages of .gitlab-ci.yml publishes it, or copy web/build/html to a server",
        ),
    ]
    if github:
        raw = where.replace("github.com", "raw.githubusercontent.com")
        first = can_open(f"{raw}/learners/{build.START}.ipynb")
        found.append(_step("Colab finds the lessons", first, "see the learner's copies above"))
    return found


def _step(what, there, advice):
    return Step(what, UNKNOWN if there is None else DONE if there else LEFT, advice)


def _all_know():  # what a notebook is assembled from says where the course is
    built = ((s, build.NOTEBOOKS / f"{build.name_of(s)}.ipynb") for s in build.lessons())
    return all(build.is_fresh(build.assemble(source), path) for source, path in built)


def _git(*arguments):
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # ask for no password
    done = subprocess.run(
        ["git", *arguments], cwd=build.ROOT, env=env, capture_output=True, encoding="utf-8"
    )
    return done.stdout if done.returncode == 0 else None


def _can_open(address):
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            return answer.status < 400
    except urllib.error.HTTPError:
        return False
    except OSError:
        return None


def main(argv=None) -> int:
    """Print the steps; the exit status says whether one is left."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args(argv)
    found = steps()
    for step in found:
        print(f"{step.state:>4}  {step.what}" + ("" if step.state == DONE else f": {step.advice}"))
    if any(step.state == UNKNOWN for step in found):
        print("What has a question mark couldn't be asked: there's no network, or no such address.")
    return int(any(step.state != DONE for step in found))


if __name__ == "__main__":
    raise SystemExit(main())
