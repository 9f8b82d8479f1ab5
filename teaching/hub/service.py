"""The class view as a service of a JupyterHub: learners' notebooks send their progress to it.

Teachers get in by the hub's own roles; a learner is refused. A notebook says who it is by the
token that the hub gave its server, so nobody can send for somebody else, and the service needs no
right to look into anybody's server. Nothing is stored.
"""

import asyncio
import os
from urllib.parse import urlsplit

import tornado.web
from jupyterhub.services.auth import HubAuthenticated, HubOAuthCallbackHandler, HubOAuthenticated
from jupyterhub.utils import url_path_join

from teaching import view, votes


class Page(HubOAuthenticated, view.Page):
    """The page, for whoever the hub lets in."""

    @tornado.web.authenticated
    def get(self):
        super().get()


class Data(HubOAuthenticated, view.Data):
    """The counts, for whoever the hub lets in."""

    can_paste = False

    @tornado.web.authenticated
    def get(self):
        super().get()


class Progress(HubAuthenticated, votes.Progress):
    """Where a learner's notebooks leave their progress; a name in `teachers` isn't counted."""

    hub_scopes = None  # every user of this hub

    @tornado.web.authenticated
    def post(self):
        """Take the state of whoever the token belongs to."""
        name = self.current_user["name"]
        if name not in self.teachers:
            self.take(name)


def make_app(prefix, teachers=()) -> tornado.web.Application:
    """Make the service's web application under the `prefix` where the hub has put it."""
    source = view.Pasted()
    app = view.make_app(source, prefix, Page, Data)
    app.settings["cookie_secret"] = os.urandom(32)
    given = {"source": source, "teachers": set(teachers)}
    back = url_path_join(prefix, "oauth_callback")
    app.add_handlers(
        ".*", [(f"{prefix}progress", Progress, given), (back, HubOAuthCallbackHandler)]
    )
    return app


async def serve():
    """Serve where the hub expects it."""
    where = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    teachers = filter(None, os.environ.get("COURSE_TEACHERS", "").split(","))
    app = make_app(os.environ["JUPYTERHUB_SERVICE_PREFIX"], teachers)
    app.listen(where.port, os.environ.get("COURSE_VIEW_LISTEN", where.hostname))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
