"""The class view as a service of a JupyterHub: it pulls the progress of the hub's users.

Only teachers get in, by the hub's own roles; a learner is refused. Counts by default, names on
request, and nothing is stored: whose server sleeps is counted as they were last seen, as long as
this process runs.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import tornado.web
from jupyterhub.services.auth import HubOAuthCallbackHandler, HubOAuthenticated
from jupyterhub.utils import url_path_join
from users import Users, is_awake

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from helpers.exercises.progress import FILE, understood  # noqa: E402
from teaching import view  # noqa: E402

FRESH = 2.0  # seconds for which an answer serves everybody who asks


class Hub:
    """The progress of a hub's users.

    Parameters
    ----------
    api, proxy : str
        Where the hub's interface and its users' servers are.
    token : str
        The service's own.
    teachers : set of str
        Who isn't counted.
    """

    def __init__(self, api, proxy, token, teachers=()):
        self.users, self.teachers = Users(api, proxy, token), set(teachers)
        self.states, self.note, self.pulled = {}, "", -FRESH
        self.lock = asyncio.Lock()

    async def pull(self):
        """Ask every server for its learner's progress.

        Returns
        -------
        states : dict of str to dict
            By user.
        note : str
            What is missing or may be old.
        """
        async with self.lock:
            if time.monotonic() - self.pulled > FRESH:
                await self._pull()
                self.pulled = time.monotonic()
        return self.states, self.note

    async def _pull(self):
        users = {
            user["name"]: user
            for user in await self.users.all()
            if user["name"] not in self.teachers
        }
        running = {name: user for name, user in users.items() if is_awake(user)}
        found = await asyncio.gather(*(self._progress(user) for user in running.values()))
        answers = dict(zip(running, found, strict=True))
        silent = sorted(name for name, state in answers.items() if state is None)
        known = {name: state for name, state in self.states.items() if name in users}
        asleep = [name for name in known if name not in running]
        self.states = known | {name: state for name, state in answers.items() if state is not None}
        notes = [f"{len(asleep)} have left and are counted as last seen"] if asleep else []
        notes += [f"{len(silent)} servers don't answer"] if silent else []
        self.note = ", ".join(notes)

    async def _progress(self, user):
        """Read one learner's file; nothing in it yet is an answer too, and None is none."""
        try:
            return understood(json.loads(await self.users.read(user, FILE)))
        except FileNotFoundError:
            return understood({"exercises": {}, "questions": {}})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


class Page(HubOAuthenticated, view.Page):
    """The page, for whoever the hub lets in."""

    @tornado.web.authenticated
    def get(self):
        """Send it."""
        super().get()


class Data(HubOAuthenticated, view.Data):
    """The counts, for whoever the hub lets in."""

    @tornado.web.authenticated
    async def get(self):
        """Send them."""
        await super().get()

    @tornado.web.authenticated
    def post(self):
        """Refuse: here nothing is pasted."""
        super().post()


def make_app(source, prefix):
    """Make the service's web application.

    Parameters
    ----------
    source : Hub
    prefix : str
        Where the hub has put it.

    Returns
    -------
    app : tornado.web.Application
    """
    app = view.make_app(source, prefix, Page, Data)
    app.settings["cookie_secret"] = os.urandom(32)
    back = url_path_join(prefix, "oauth_callback")
    app.add_handlers(".*", [(back, HubOAuthCallbackHandler)])
    return app


async def serve():
    """Serve where the hub expects it."""
    environment = os.environ
    source = Hub(
        environment["JUPYTERHUB_API_URL"],
        environment["COURSE_PROXY"],
        environment["JUPYTERHUB_API_TOKEN"],
        filter(None, environment.get("COURSE_TEACHERS", "").split(",")),
    )
    host, _, port = environment["JUPYTERHUB_SERVICE_URL"].partition("//")[2].partition(":")
    app = make_app(source, environment["JUPYTERHUB_SERVICE_PREFIX"])
    app.listen(int(port.strip("/")), environment.get("COURSE_VIEW_LISTEN", host))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
