"""Print the link that opens a lesson on your hub, in its newest version.

    python -m teaching.hub.link https://hub.example.org 04

It is an nbgitpuller link: it fetches the learner's copies into the learner's own folder the first
time, and brings their changes later. Where learner and lesson have both changed a cell, the
learner's stays.
"""

import argparse
from urllib.parse import urlencode

from notebooks.build import address, is_published, lessons, name_of

BRANCH = "learners"  # the branch with the learner's copies


def link(hub: str, repository: str, lesson: str) -> str:
    """Make the link to a `lesson`, by its notebook's name without its ending.

    `hub` is the hub's address, `repository` where the learner's copies are, as git would clone it.
    """
    folder = repository.rstrip("/").rpartition("/")[2].removesuffix(".git")
    query = {"repo": repository, "branch": BRANCH, "urlpath": f"lab/tree/{folder}/{lesson}.ipynb"}
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urlencode(query)}"


def main(arguments: list[str] | None = None):
    """Read the command line and print."""
    parser = argparse.ArgumentParser(prog="python -m teaching.hub.link", description=__doc__)
    parser.add_argument("hub", help="the hub's address")
    parser.add_argument("lesson", help="its number, for instance 04")
    parser.add_argument("--repository", default=address(), help="where your copy is published")
    options = parser.parse_args(arguments)
    if options.repository == address() and not is_published():
        parser.error("say where your copy is published: README, Publishing a copy")
    found = lessons(options.lesson)
    if len(found) != 1:
        parser.error(f"there is no lesson {options.lesson!r}")
    print(link(options.hub, options.repository, name_of(found[0])))


if __name__ == "__main__":
    main()
