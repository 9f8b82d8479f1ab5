"""The users of a JupyterHub, and the files in their servers."""

import asyncio
import json
from urllib.parse import quote, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError

PAGE_OF_USERS = 200  # the most that a hub gives at once
AT_ONCE = 40
KEY_SECONDS = 24 * 3600


class Users:
    """What somebody with a hub's token can ask about its users.

    A user's server is in that user's hands, so it never sees the token. It is asked with a key of
    its own, which the hub makes: it opens this one server, and its user may enter there anyway.

    Parameters
    ----------
    api, proxy : str
        Where the hub's interface and its users' servers are.
    token : str
        It needs the scopes `list:users`, `read:servers`, `access:servers` and `tokens`.
    """

    def __init__(self, api, proxy, token):
        self.api, self.proxy = api.rstrip("/"), "{0.scheme}://{0.netloc}".format(urlsplit(proxy))
        self.token, self.keys = token, {}
        self.client = AsyncHTTPClient(max_clients=AT_ONCE, force_instance=True)

    async def ask(self, path, **options):
        """Ask the hub itself.

        Raises
        ------
        HTTPClientError
            If it refuses.
        """
        answer = await self._fetch(f"{self.api}/users{path}", self.token, 60, **options)
        return json.loads(answer.body) if answer.body else None

    async def all(self):
        """List all users, as the hub describes them."""
        users = []
        while True:
            page = await self.ask(f"?limit={PAGE_OF_USERS}&offset={len(users)}")
            users += page
            if len(page) < PAGE_OF_USERS:
                return users

    async def read(self, user, path):
        """Read a text file in somebody's home.

        Parameters
        ----------
        user : dict
            As the hub describes somebody whose server runs.
        path : str

        Returns
        -------
        text : str

        Raises
        ------
        FileNotFoundError
            If there is none.
        ConnectionError
            If the server doesn't answer, or says something else.
        """
        try:
            try:
                return await self._read(user, path)
            except HTTPClientError as error:
                if error.code != 403:
                    raise
                self.keys.pop(user["name"], None)  # it was too old
                return await self._read(user, path)
        except HTTPClientError as error:
            if error.code == 404:
                raise FileNotFoundError(path) from None
            raise ConnectionError(str(error)) from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ConnectionError(str(error)) from None

    async def _read(self, user, path):
        name = user["name"]
        if name not in self.keys:
            wanted = {"note": "lets the teachers' tools read a file", "expires_in": KEY_SECONDS}
            wanted["scopes"] = [f"access:servers!user={name}"]
            made = await self.ask(f"/{quote(name)}/tokens", method="POST", body=json.dumps(wanted))
            self.keys[name] = made["token"]
        server = f"{self.proxy}{user['servers']['']['url']}"
        address = f"{server}api/contents/{quote(path)}?type=file&format=text"
        answer = await self._fetch(address, self.keys[name], 20)
        return str(json.loads(answer.body)["content"])

    async def wake(self, name):
        """Start somebody's server and wait until it runs.

        Returns
        -------
        user : dict

        Raises
        ------
        ConnectionError
            If it doesn't start.
        """
        try:
            await self.ask(f"/{quote(name)}/server", method="POST", body="")
            while True:
                user = await self.ask(f"/{quote(name)}")
                if is_awake(user):
                    return user
                if "" not in user.get("servers", {}):
                    raise ConnectionError(f"{name}'s server doesn't start")
                await asyncio.sleep(1)
        except HTTPClientError as error:
            raise ConnectionError(str(error)) from None

    async def _fetch(self, address, token, seconds, **options):
        headers = {"Authorization": f"token {token}"}
        return await self.client.fetch(
            address, headers=headers, connect_timeout=seconds, request_timeout=seconds, **options
        )


def is_awake(user):
    """Say whether somebody's server runs."""
    return bool(user.get("servers", {}).get("", {}).get("ready"))
