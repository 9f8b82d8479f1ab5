"""What you send to a class: the link that opens a lesson, and a code per learner.

    python teaching/hub/invite.py https://hub.example.org 04 people.txt

prints the link for everybody, then a line per learner with the name and the code to log in with. A
code is made from the name and the hub's own secret (``COURSE_SECRET``), so nothing has to be stored
and nobody can log in as somebody else.
"""

import argparse
import hashlib
import hmac
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
BRANCH = "learners"  # the branch with the learner's copies


def code(secret, name):
    """Make the code with which somebody logs in.

    Parameters
    ----------
    secret : str
        The hub's own.
    name : str

    Returns
    -------
    code : str
        Ten letters and digits.
    """
    return hmac.new(secret.encode(), name.lower().encode(), hashlib.sha256).hexdigest()[:10]


def login_name(line):
    """Turn what stands in a list into a name to log in with: "Ada Lovelace" is ada-lovelace."""
    return re.sub(r"[^\w.@]+", "-", line.strip().lower()).strip("-")


def link(hub, repository, lesson, branch=BRANCH):
    """Make the link that opens a lesson, in its newest version, in the learner's own folder.

    Parameters
    ----------
    hub : str
        The hub's address.
    repository : str
        Where the learner's copies are, as git would clone it.
    lesson : str
        The notebook's name without its ending.
    branch : str, default="learners"

    Returns
    -------
    link : str
    """
    path = f"lab/tree/{folder_of(repository)}/{lesson}.ipynb"
    query = {"repo": repository, "branch": branch, "urlpath": path}
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urlencode(query)}"


def folder_of(repository):
    """Find the folder of a learner's home in which the link puts the lessons."""
    return repository.rstrip("/").rpartition("/")[2].removesuffix(".git")


def read(parser, arguments):
    """Read a command line with a lesson's number, and the address of the learner's copies.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        It has an argument `lesson`.
    arguments : list of str or None

    Returns
    -------
    options : argparse.Namespace
    lesson : str
        The notebook's name without its ending.
    """
    from notebooks.build import address, is_published, lessons, name_of

    parser.add_argument("--repository", default=address(), help="where your copy is published")
    options = parser.parse_args(arguments)
    if options.repository == address() and not is_published():
        parser.error("say where your copy is published: README, Publishing a copy")
    found = lessons(options.lesson)
    if len(found) != 1:
        parser.error(f"there is no lesson {options.lesson!r}")
    return options, name_of(found[0])


def main(arguments=None):
    """Print the link and the codes.

    Parameters
    ----------
    arguments : list of str, default=None
    """
    parser = argparse.ArgumentParser(prog="python teaching/hub/invite.py", description=__doc__)
    parser.add_argument("hub", help="the hub's address")
    parser.add_argument("lesson", help="its number, for instance 04")
    parser.add_argument("people", nargs="?", type=Path, help="a file with a name per line")
    options, lesson = read(parser, arguments)
    print(link(options.hub, options.repository, lesson))
    if options.people is None:
        return
    secret = os.environ.get("COURSE_SECRET")
    if not secret:
        parser.error("COURSE_SECRET has to be the hub's own, or the codes won't open it")
    for name in map(login_name, options.people.read_text(encoding="utf-8").splitlines()):
        if name:
            print(f"{name},{code(secret, name)}")


if __name__ == "__main__":
    main()
