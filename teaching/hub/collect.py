"""Collect one lesson's notebooks from a hub into a folder, for ``make grade``.

    python teaching/hub/collect.py https://hub.example.org 10 handed_in

It only reads. Each notebook gets its learner's name, and a later call replaces it. Who has none is
listed, and so is whoever's server sleeps: ``--wake`` starts those. The token is a teacher's, from
the hub's page ``/hub/token``; it is asked for, or comes from ``COURSE_TOKEN``.
"""

import argparse
import asyncio
import getpass
import os
from pathlib import Path
from urllib.parse import quote

from invite import folder_of, read
from tornado.httpclient import HTTPClientError
from users import Users, is_awake

WAKE_AT_ONCE = 10
COLLECTED, MISSING, ASLEEP, SILENT = "collected", "missing", "asleep", "silent"


async def collect(users, path, folder, wake=False):
    """Write everybody's notebook into a folder.

    Parameters
    ----------
    users : Users
    path : str
        Where it is in a learner's home.
    folder : Path
    wake : bool, default=False
        Start the servers that sleep; they stop by themselves, as always.

    Returns
    -------
    found : dict of str to list of str
        Names of those whose notebook was collected, is missing, or whose server is asleep or
        silent. Teachers are left out.
    """
    found = {word: [] for word in (COLLECTED, MISSING, ASLEEP, SILENT)}
    few = asyncio.Semaphore(WAKE_AT_ONCE)

    async def one(user):
        name = user["name"]
        if not (is_awake(user) or wake):
            return ASLEEP
        try:
            if not is_awake(user):
                async with few:
                    user = await users.wake(name)
            text = await users.read(user, path)
        except FileNotFoundError:
            return MISSING
        except ConnectionError:
            return SILENT
        target = folder / f"{quote(name, safe='@')}.ipynb"
        target.write_text(text, encoding="utf-8", newline="")
        return COLLECTED

    learners = [user for user in await users.all() if not user.get("admin")]
    folder.mkdir(parents=True, exist_ok=True)
    words = await asyncio.gather(*map(one, learners))
    for user, word in zip(learners, words, strict=True):
        found[word].append(user["name"])
    return found


def main(arguments=None):
    """Read the command line and collect.

    Parameters
    ----------
    arguments : list of str, default=None
    """
    parser = argparse.ArgumentParser(prog="python teaching/hub/collect.py", description=__doc__)
    parser.add_argument("hub", help="the hub's address")
    parser.add_argument("lesson", help="its number, for instance 10")
    parser.add_argument("folder", type=Path, help="where the notebooks go")
    parser.add_argument("--wake", action="store_true", help="start the servers that sleep")
    options, lesson = read(parser, arguments)
    path = f"{folder_of(options.repository)}/{lesson}.ipynb"
    hub = options.hub.rstrip("/")
    token = os.environ.get("COURSE_TOKEN") or getpass.getpass(f"Your token from {hub}/hub/token: ")
    users = Users(f"{hub}/hub/api", hub, token.strip())
    try:
        found = asyncio.run(collect(users, path, options.folder, options.wake))
    except HTTPClientError as error:
        if error.code != 403:
            raise SystemExit(f"{hub} doesn't answer as a hub does: {error}") from None
        raise SystemExit("The hub refuses this token. It has to be a teacher's.") from None
    except OSError as error:
        raise SystemExit(f"{hub} can't be reached: {error}") from None
    print(f"{len(found[COLLECTED])} notebooks are in {options.folder}")
    for word, says in (
        (MISSING, f"have no {path}"),
        (ASLEEP, "are asleep (--wake starts their servers)"),
        (SILENT, "have a server that doesn't answer"),
    ):
        if found[word]:
            print(f"{len(found[word])} {says}: {', '.join(found[word])}")


if __name__ == "__main__":
    main()
