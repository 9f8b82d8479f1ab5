"""Try the hub for real on this machine: ``make class-test``.

A hub on the loopback, learners who open a lesson by its link, run its first cells, answer an
exercise and save; a class view that counts them; a lesson that changes while they work. Every step
asserts what a teacher counts on. At the end stands a table of seconds. Nothing stays behind: all
processes end, and all files are in a temporary folder.

The learners here are processes of one user, so isolation is the one thing that this can't try.
"""

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import requests
import websocket
from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from jupyter_server.services.kernels.connection.base import deserialize_binary_message
from jupyterhub.utils import random_port

from notebooks.build import assemble, source_of
from notebooks.copies import learners_copy
from teaching.hub.link import BRANCH, link

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What a hub's installer would set up: who gets in, where servers run, and the proxy, which outlives
# the hub so that learners work on while it restarts.
CONFIG = """
import os
c = get_config()
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {secret!r}
c.Authenticator.allow_all = True
c.Authenticator.admin_users = {{"teacher"}}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{state}/homes/{{username}}"
c.Spawner.environment = {{
    "COURSE_PROGRESS": lambda spawner: spawner.home_dir,
    "COURSE_TRIAL": {secret!r},
}}
c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.JupyterHub.db_url = "sqlite:///{state}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{state}/cookie_secret"
c.JupyterHub.cleanup_servers = c.JupyterHub.cleanup_proxy = False
c.JupyterHub.services, c.JupyterHub.load_roles = [], []
load_subconfig(os.environ["COURSE_FOLDER"] + "/teaching/hub/course_config.py")
"""
LESSON = "04_self_attention_matrices"
EXERCISE = "scaled_scores"
RIGHT = "def scaled_scores(query, key):\n    return query @ key.mT / math.sqrt(query.shape[-1])"
WRONG = RIGHT.replace(" / math.sqrt(query.shape[-1])", "")
FIRST_CELLS = 9
NEW_TEXT = "We have mended this lesson since this morning."
PATIENCE = 900  # seconds for a step; a busy machine is slow, and a trial no race


class Machine:
    """The processes of a hub, and the `folder` that they work in.

    `proxy` is the proxy's command; absolute, because it is started in another folder.
    """

    def __init__(self, folder, proxy):
        self.folder, self.state = folder, folder / "state"
        self.state.mkdir()
        ports = [random_port() for _ in range(4)]
        self.address = f"http://127.0.0.1:{ports[0]}"
        self.hub_api = f"http://127.0.0.1:{ports[2]}"
        # Everybody's password here, and the mark of its processes.
        self.secret = secrets.token_hex()
        config = folder / "jupyterhub_config.py"
        config.write_text(CONFIG.format(state=self.state, secret=self.secret, api=ports[1]))
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(),
            "COURSE_TRIAL": self.secret,
            "COURSE_TEACHERS": "teacher",
            "COURSE_FOLDER": str(ROOT),
            "COURSE_SHARED": str(self.state / "shared"),
            "COURSE_PYTHON": sys.executable,
            "COURSE_VIEW": f"http://127.0.0.1:{ports[3]}",
            "HOME": str(folder),
            "TMPDIR": str(self.state),  # where kernels' sockets are
        }
        self.proxy_command = [
            *(proxy, "--ip=127.0.0.1", f"--port={ports[0]}"),
            *("--api-ip=127.0.0.1", f"--api-port={ports[1]}"),
            *(f"--default-target={self.hub_api}", f"--error-target={self.hub_api}/hub/error"),
        ]
        self.hub_command = [
            *(sys.executable, "-m", "jupyterhub", f"--config={config}"),
            *(f"--JupyterHub.bind_url={self.address}", f"--JupyterHub.hub_port={ports[2]}"),
        ]

    def start_hub(self):
        """Start the proxy and the hub; wait until the hub and its class view answer."""
        self._start(self.proxy_command, "proxy.log")
        self._start(self.hub_command, "hub.log")
        for path in ("/hub/health", "/services/class-view/data"):
            address = f"{self.address}{path}"  # the class view sends strangers to the login
            wait_for(lambda address=address: requests.get(address, timeout=5).ok, address)

    def _start(self, command, log):
        place = {"env": self.environment, "cwd": self.state, "start_new_session": True}
        with open(self.folder / log, "ab") as file:
            subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **place)

    def stop(self):
        """End everything that this trial has started."""
        mark = self.secret.encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                # The hub gives its services a short environment, but they work in its folder.
                works_here = os.readlink(folder / "cwd").startswith(str(self.state))
                mine = works_here or mark in (folder / "environ").read_bytes()
                if mine and int(folder.name) != os.getpid():
                    os.kill(int(folder.name), signal.SIGKILL)


class Learner:
    """Somebody with a browser, as far as a hub can tell."""

    def __init__(self, machine: Machine, name: str):
        self.machine, self.name = machine, name
        self.web = requests.Session()
        self.kernel, self.socket = None, None
        self.saved = None

    def log_in(self):
        """Type the name and the code into the hub's form."""
        page = f"{self.machine.address}/hub/login"
        self.web.get(page, timeout=PATIENCE)
        form = {"username": self.name, "password": self.machine.secret}
        form["_xsrf"] = self.web.cookies.get("_xsrf", path="/hub/")
        answer = self.web.post(page, data=form, timeout=PATIENCE)
        assert answer.status_code == 200, f"{self.name} can't log in: {answer.status_code}"

    def open(self, address):
        """Follow the link: a server starts, and the lesson is fetched or brought up to date."""
        home = f"/user/{self.name}/git-pull"
        wait_for(
            lambda: home in self.web.get(address, timeout=PATIENCE).url, f"{self.name}'s server"
        )
        query = {"repo": self.machine.lessons, "branch": BRANCH, "targetPath": "lessons"}
        query["_xsrf"] = self._token()
        headers = {"X-XSRFToken": self._token(), "Accept": "text/event-stream"}
        pull = {"params": query, "headers": headers, "timeout": PATIENCE}
        with self.web.get(self.at("git-pull/api"), **pull) as answer:
            assert '"phase": "finished"' in answer.text, answer.text[-2000:]

    def at(self, path):
        return f"{self.machine.address}/user/{self.name}/{path}"

    def _token(self):
        return self.web.cookies.get("_xsrf", path=f"/user/{self.name}/")

    def ask(self, method, path, **what):
        """Call an interface of the own server."""
        headers = {"X-XSRFToken": self._token()}
        answer = self.web.request(method, self.at(path), headers=headers, timeout=PATIENCE, **what)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def read(self):
        """Open the lesson."""
        model = self.ask("GET", f"api/contents/lessons/{LESSON}.ipynb")
        return nbformat.from_dict(model["content"])

    def save(self, notebook):
        """Save the lesson."""
        body = {"type": "notebook", "content": notebook}
        self.ask("PUT", f"api/contents/lessons/{LESSON}.ipynb", json=body)

    def start_kernel(self):
        """Start a kernel for the lesson."""
        body = {"name": "python3", "path": f"lessons/{LESSON}.ipynb"}
        self.kernel = self.ask("POST", "api/kernels", json=body)["id"]
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.web.cookies)
        channels = self.at(f"api/kernels/{self.kernel}/channels").replace("http", "ws", 1)
        self.socket = websocket.create_connection(channels, cookie=cookies, timeout=PATIENCE)

    def run(self, source):
        """Run a cell; raise what it raises, return what it shows."""
        message = Session().msg("execute_request", {"code": source, "silent": False})
        sent = message | {"channel": "shell"}
        self.socket.send(json.dumps(sent, default=json_default))
        shown = []
        while True:
            received = self.socket.recv()
            binary = isinstance(received, bytes)  # as what a widget says
            said = deserialize_binary_message(received) if binary else json.loads(received)
            if said["parent_header"].get("msg_id") != message["msg_id"]:
                continue
            content = said["content"]
            if said["msg_type"] == "error":
                raise AssertionError(f"{self.name}: {content['ename']}: {content['evalue']}")
            shown += [str(content.get("text", "")) + str(content.get("data", ""))]
            if said["msg_type"] == "status" and content["execution_state"] == "idle":
                return "".join(shown)

    def work(self, answer):
        """Run the first cells, then answer the exercise, check it and save."""
        notebook = self.read()
        seconds = self.begin(notebook)
        gap = gap_of(notebook)
        gap.source = f"# {self.name}\n{answer}"  # nobody else's answer is equal to it
        self.run(gap.source)
        self.run(f'exercises.check("{EXERCISE}", {EXERCISE})')
        self.save(notebook)
        self.saved = gap.source
        return seconds

    def begin(self, notebook):
        """Start a kernel and run the first cells; say after how many seconds each had run."""
        start, seconds = time.monotonic(), []
        self.start_kernel()
        for cell in code_cells(notebook)[:FIRST_CELLS]:
            self.run(cell.source)
            seconds.append(time.monotonic() - start)
        return seconds


def code_cells(notebook):
    """Find a notebook's code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def gap_of(notebook):
    """Find the cell with the exercise; there is one, however often the lesson was merged."""
    (gap,) = (cell for cell in code_cells(notebook) if f"def {EXERCISE}(" in cell.source)
    return gap


def wait_for(condition, what):
    """Ask until something holds, or say what didn't come."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(requests.RequestException):
            if condition():
                return
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.5)


def git(folder, *arguments):
    """Run git as nobody in particular."""
    name = ["-c", "user.name=course", "-c", "user.email=course@localhost"]
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def publish(folder, notebook):
    """Commit a learner's copy to the branch that learners pull."""
    if not (folder / ".git").exists():
        folder.mkdir()
        git(folder, "init", "--quiet", f"--initial-branch={BRANCH}")
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=a version of the lesson")


def seen(teacher, **query):
    """Ask the class view."""
    answer = teacher.web.get(
        f"{teacher.machine.address}/services/class-view/data", params=query, timeout=PATIENCE
    )
    answer.raise_for_status()
    return answer.json()


def trial(machine: Machine, n_learners: int, say) -> dict[str, str]:
    """Play the class, and `say` how it goes; what took how long."""
    figures = {}
    lesson = learners_copy(assemble(source_of(LESSON)))
    machine.lessons = str(machine.folder / "lessons")
    publish(Path(machine.lessons), lesson)
    address = link(machine.address, machine.lessons, LESSON)
    # What the image brings: the larger models, for all kernels to share.
    command = [sys.executable, "-m", "helpers.pretrained", machine.environment["COURSE_SHARED"]]
    subprocess.run(command, env={**machine.environment, "PYTHONPATH": str(ROOT)}, check=True)
    machine.start_hub()
    say("the hub answers")

    learners = [Learner(machine, f"learner-{i}") for i in range(n_learners)]
    stuck, others = learners[0], learners[1:]
    teacher = Learner(machine, "teacher")
    teacher.log_in()
    with ThreadPoolExecutor(n_learners) as pool:

        def together(function):
            return list(pool.map(function, learners))

        start = time.monotonic()
        together(Learner.log_in)
        together(lambda learner: learner.open(address))
        figures["from the link to the lesson, all at once"] = f"{time.monotonic() - start:.0f} s"
        shown = stuck.ask("GET", "lab/api/settings/@jupyterlab/apputils-extension:notification")
        news = shown["schema"]["properties"]["fetchNews"]["default"]
        assert news == "false", "JupyterLab asks about news before a lesson"
        say("everybody has opened the lesson by its link")
        seconds = together(lambda one: one.work(WRONG if one is stuck else RIGHT))
        first, last = (max(learner[i] for learner in seconds) for i in (0, -1))
        figures["kernel and the first cell, all at once"] = f"{first:.0f} s"
        figures[f"kernel and {FIRST_CELLS} first cells, all at once"] = f"{last:.0f} s"
        say("everybody has answered")

        refused = stuck.web.get(f"{machine.address}/services/class-view/data", timeout=PATIENCE)
        assert refused.status_code == 403, f"a learner sees the class view: {refused.status_code}"
        another = f"{machine.address}/user/{others[0].name}/api/contents"
        refused = stuck.web.get(another, timeout=PATIENCE)
        assert refused.status_code == 403, f"a learner is in another's: {refused.status_code}"
        assert others[0].web.get(another, timeout=PATIENCE).status_code == 200
        wait_for(lambda: seen(teacher)["learners"] == n_learners, "everybody's progress")
        part = counted(seen(teacher))
        assert (part["passed"], part["trying"]) == (len(others), 1), part
        assert part["mistake"], part
        assert part["with_it"] == 1, part
        assert not part["who"], "names without being asked"
        assert counted(seen(teacher, names=1))["who"]["trying"] == [f"{stuck.name} (try 1)"]
        say(f"the class view counts them: {part['mistake']!r} is the mistake")

        changed = learners_copy(assemble(source_of(LESSON)))
        changed.cells[-1].source += f"\n\n{NEW_TEXT}"
        publish(Path(machine.lessons), changed)
        together(lambda learner: learner.open(address))
        check_notebooks(learners)
        say("the lesson has changed, and every answer is still there")

        stuck.work(RIGHT)
        wait_for(lambda: counted(seen(teacher))["passed"] == n_learners, "the last answer")
        say("everybody is right, with every answer")
    return figures


def counted(data):
    """Find the exercise in what the class view says."""
    return next(part for part in data["parts"] if part["name"] == EXERCISE)


def check_notebooks(learners):
    """Assert that each learner has their own answer, to the letter, and the lesson's new text."""
    for learner in learners:
        notebook = learner.read()
        found = gap_of(notebook).source
        assert found == learner.saved, f"{learner.name} saved {learner.saved!r}, found {found!r}"
        new = any(NEW_TEXT in cell.source for cell in notebook.cells)
        assert new, f"{learner.name} has the old lesson"


def main(arguments: list[str] | None = None):
    """Run the trial and print its table."""
    parser = argparse.ArgumentParser(prog="make class-test", description=__doc__)
    parser.add_argument("--learners", type=int, default=4)
    parser.add_argument("--proxy", default="configurable-http-proxy")
    options = parser.parse_args(arguments)
    proxy = shutil.which(options.proxy)
    if proxy is None:
        parser.error("the proxy is missing: npm install configurable-http-proxy")
    if options.learners < 2:
        parser.error("it takes two: one who is stuck, and one who isn't")
    start = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - start:5.0f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory(prefix="class-", ignore_cleanup_errors=True) as folder:
        machine = Machine(Path(folder), Path(proxy).absolute())
        try:
            figures = trial(machine, options.learners, say)
        except BaseException:
            for log in sorted(Path(folder).glob("*.log")):
                print(f"{log.name}:", log.read_text(errors="replace")[-6000:], sep="\n")
            raise
        finally:
            machine.stop()
    for what, figure in figures.items():
        print(f"{what:46} {figure}")


if __name__ == "__main__":
    main()
