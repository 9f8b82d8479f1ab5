"""A class on one server: what can be tested without the server, and the trial where it can run."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import tornado.web
import yaml
from jupyter_client.manager import start_new_kernel
from tornado.testing import AsyncHTTPTestCase

ROOT = Path(__file__).resolve().parent.parent
HUB = ROOT / "teaching" / "hub"
sys.path.append(str(HUB))

import collect  # noqa: E402
import invite  # noqa: E402
import users  # noqa: E402

from helpers.exercises import model  # noqa: E402

MISTAKE = model.find("causal_mask").mistakes[0].name


def test_a_link_opens_the_lesson_in_the_learners_branch():
    made = invite.link("https://hub.example.org/", "https://github.com/me/course.git", "04_x")
    asked = parse_qs(urlsplit(made).query)
    assert made.startswith("https://hub.example.org/hub/user-redirect/git-pull?")
    assert asked["repo"] == ["https://github.com/me/course.git"]
    assert asked["branch"] == ["learners"]
    assert asked["urlpath"] == ["lab/tree/course/04_x.ipynb"]


def test_a_code_belongs_to_one_name_and_one_hub():
    codes = {invite.code(secret, name) for secret in ("a", "b") for name in ("ada", "bo")}
    assert len(codes) == 4
    assert invite.code("a", "Ada") == invite.code("a", "ada")
    assert re.fullmatch(r"[0-9a-f]{10}", invite.code("a", "ada"))


@pytest.mark.parametrize(
    ("line", "name"), [(" Ada Lovelace\n", "ada-lovelace"), ("bo@x.org", "bo@x.org"), ("", "")]
)
def test_a_line_of_a_list_becomes_a_name_to_log_in_with(line, name):
    assert invite.login_name(line) == name


def test_the_invitation_has_a_line_per_learner(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_SECRET", "long")
    people = tmp_path / "people.txt"
    people.write_text("Ada Lovelace\n\nBo\n", encoding="utf-8")
    arguments = ["https://hub.example.org", "04", str(people), "--repository", "file:///lessons"]
    invite.main(arguments)
    address, *lines = capsys.readouterr().out.splitlines()
    assert "04_self_attention_matrices.ipynb" in address
    assert lines == [
        f"ada-lovelace,{invite.code('long', 'ada-lovelace')}",
        f"bo,{invite.code('long', 'bo')}",
    ]


def pinned(path):
    lines = [line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    return dict(line.split("==") for line in lines if line)


def test_learners_at_home_install_nothing_of_a_hub():
    hub, course = pinned(HUB / "requirements.txt"), pinned(ROOT / "requirements.txt")
    assert {"jupyterhub", "nbgitpuller", "jupyterhub-idle-culler", "dockerspawner"} <= set(hub)
    assert not set(hub) & set(course)


def test_the_image_takes_folders_that_exist_and_leaves_the_maintainers_part_out():
    text = (HUB / "Dockerfile").read_text(encoding="utf-8")
    sources = [
        word for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for word in line.split()
    ]
    assert {"helpers", "notebooks", "teaching"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
    assert "tests/requirements.txt" not in text


def test_both_ways_to_run_it_agree_with_each_other():
    values = yaml.safe_load((HUB / "values.yaml").read_text("utf-8"))
    compose = yaml.safe_load((HUB / "compose.yaml").read_text("utf-8"))
    view, service = yaml.safe_load_all((HUB / "class_view.yaml").read_text("utf-8"))
    config = (HUB / "jupyterhub_config.py").read_text("utf-8")
    roles = values["hub"]["loadRoles"]
    for scope in roles["class-view"]["scopes"] + roles["teachers"]["scopes"]:
        assert f'"{scope}"' in config, scope
    assert values["singleuser"]["memory"] == {"guarantee": "400M", "limit": "2G"}
    assert "mem_guarantee = 400 * MB" in config
    server = config.partition('"JUPYTER_CONFIG_PATH": str(HERE / "')[2].partition('"')[0]
    assert (HUB / server / "jupyter_server_config.json").exists()
    environment = values["singleuser"]["extraEnv"]
    for path in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"):
        assert environment[path] == f"/srv/course/teaching/hub/{server}"
        assert f'"{path}": str(HERE / "{server}")' in config
    assert f'"NBFORMAT_VALIDATOR": "{environment["NBFORMAT_VALIDATOR"]}"' in config
    command = values["singleuser"]["cmd"]
    assert json.dumps(command) in (HUB / "Dockerfile").read_text("utf-8")
    assert (ROOT / Path(command[-1]).relative_to("/srv/course")).exists()
    assert f'HERE / "{Path(command[-1]).name}"' in config
    port = service["spec"]["ports"][0]["port"]
    assert values["hub"]["services"]["class-view"]["url"] == f"http://class-view:{port}"
    assert compose["services"]["hub"]["environment"]["COURSE_VIEW"] == f"http://hub:{port}"
    image = view["spec"]["template"]["spec"]["containers"][0]["image"]
    singleuser = values["singleuser"]["image"]
    assert image == f"{singleuser['name']}:{singleuser['tag']}"


# In a process of its own, because what is left out stays out.
LEAVE_OUT = """
import sys
import singleuser
sys.meta_path.insert(0, singleuser.LeaveOut())
{work}
for name in singleuser.ABSENT:
    assert name not in sys.modules, name
for name in singleuser.EMPTY:
    assert isinstance(sys.modules.get(name), singleuser.Empty), name
"""
ANYBODY = """
import jupyterhub.handlers.pages, jupyterhub.orm
from sqlalchemy.exc import SQLAlchemyError
try:
    raise ValueError
except (SQLAlchemyError, ValueError):
    pass
try:
    import IPython
except ModuleNotFoundError:
    pass
"""
THE_SERVER = """
import jupyterhub.singleuser.extension, jupyterlab.labapp, nbgitpuller.handlers
from jupyter_client.kernelspec import KernelSpecManager
assert KernelSpecManager().find_kernel_specs()
"""

WHO_MAY_OPEN = """
import jupyterhub.handlers
from jupyterhub.services.auth import check_scopes
def may(scope):
    return bool(check_scopes({"access:servers!server=ada/"}, {scope}))
for scope in ("access:servers!server=ada/", "access:servers!user=ada", "access:servers"):
    assert may(scope), scope
for scope in ("access:servers!server=bo/", "access:servers!user=bo", "access:services"):
    assert not may(scope), scope
"""


def leave_out(work):
    return subprocess.run(
        [sys.executable, "-c", LEAVE_OUT.format(work=work)],
        env={**os.environ, "PYTHONPATH": str(HUB), "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1"},
        capture_output=True,
        encoding="utf-8",
    )


has_hub = importlib.util.find_spec("jupyterhub") is not None
needs_hub = pytest.mark.skipif(not has_hub, reason="jupyterhub isn't installed (teaching/hub)")


@needs_hub
@pytest.mark.slow
def test_a_learners_server_does_without_the_hubs_database():
    done = leave_out(THE_SERVER)
    assert done.returncode == 0, done.stderr


@needs_hub
def test_without_the_database_nobody_gets_into_anothers_server():
    done = leave_out(WHO_MAY_OPEN)
    assert done.returncode == 0, done.stderr


@needs_hub
def test_what_is_left_out_can_be_imported_in_vain_or_is_absent():
    done = leave_out(ANYBODY)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_learners_kernel_has_pytorch_before_the_first_cell_and_no_debugger(monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(HUB / "server"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    manager, client = start_new_kernel(startup_timeout=300, kernel_name="python3")
    try:
        asked = "import sys; [bool(sys.modules.get(name)) for name in ('torch', 'debugpy')]"
        said = []
        client.execute_interactive(asked, output_hook=said.append, timeout=300)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    (result,) = (one["content"]["data"] for one in said if one["msg_type"] == "execute_result")
    assert result["text/plain"] == "[True, False]"


class FakeHub(AsyncHTTPTestCase):
    """A hub with 230 users: one has passed, one is stuck, one sleeps, one sends rubbish.

    It knows the methods that are used and no others: whoever writes on a learner's side gets 405.
    """

    N = 230

    def get_app(self):
        self.files = {
            "u1/progress.json": state("done"),
            "u2/progress.json": state("attempted", MISTAKE),
            "u4/progress.json": "{rubbish",
            "u1/course/10_x.ipynb": "Ada's\n",
            "u3/course/10_x.ipynb": "Bo's",
        }
        self.asleep, self.broken, self.keys, self.woken = {"u3"}, set(), {}, []
        self.names = ["teacher", *(f"u{i}" for i in range(1, self.N))]
        return tornado.web.Application(
            [
                ("/hub/api/users", FakeUsers, {"hub": self}),
                ("/hub/api/users/([^/]+)", FakeUser, {"hub": self}),
                ("/hub/api/users/(.+)/tokens", FakeTokens, {"hub": self}),
                ("/hub/api/users/(.+)/server", FakeStart, {"hub": self}),
                ("/user/([^/]+)/api/contents/(.+)", FakeFile, {"hub": self}),
            ]
        )

    def describe(self, name):
        servers = {} if name in self.asleep else {"": {"ready": True, "url": f"/user/{name}/"}}
        return {"name": name, "admin": name == "teacher", "servers": servers}

    def pull(self, hub):
        hub.pulled = -1e9
        return self.io_loop.run_sync(hub.pull)

    def collect(self, folder, **options):
        asking = users.Users(self.get_url("/hub/api"), self.get_url(""), "secret")
        path = "course/10_x.ipynb"
        return self.io_loop.run_sync(lambda: collect.collect(asking, path, folder, **options))

    def test_notebooks_are_collected_and_whoever_has_none_is_listed(self):
        self.names = self.names[:5]  # the teacher, and four learners
        self.broken.add("u4")
        with tempfile.TemporaryDirectory() as folder:
            found = self.collect(Path(folder) / "handed_in")
            (file,) = Path(folder).rglob("*.*")
            assert (file.name, file.read_bytes()) == ("u1.ipynb", b"Ada's\n")
        assert found == {
            "collected": ["u1"],
            "missing": ["u2"],
            "asleep": ["u3"],
            "silent": ["u4"],
        }
        assert not self.woken

    def test_whoever_sleeps_can_be_woken_for_it(self):
        self.names = self.names[:4]
        with tempfile.TemporaryDirectory() as folder:
            found = self.collect(Path(folder), wake=True)
            assert (Path(folder) / "u3.ipynb").read_text(encoding="utf-8") == "Bo's"
        assert found["collected"] == ["u1", "u3"]
        assert self.woken == ["u3"]

    def test_a_learners_server_gets_a_key_to_itself_and_a_new_one_when_it_is_too_old(self):
        self.names = self.names[:2]
        asking = users.Users(self.get_url("/hub/api"), self.get_url(""), "secret")
        user = self.describe("u1")

        def read():
            return self.io_loop.run_sync(lambda: asking.read(user, "progress.json"))

        first = read()
        (key,) = self.keys
        assert read() == first
        assert list(self.keys) == [key]  # made once
        self.keys.clear()
        assert read() == first
        assert key not in self.keys

    @pytest.mark.slow
    def test_without_a_teachers_token_nothing_is_collected(self):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setenv("COURSE_TOKEN", "a learner's")
            done = subprocess.Popen(
                [
                    *(sys.executable, HUB / "collect.py", self.get_url(""), "10"),
                    *(f"{folder}/handed_in", "--repository=https://example.org/me/course"),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            wait = self.io_loop.run_in_executor
            _, said = self.io_loop.run_sync(lambda: wait(None, done.communicate))
            assert not list(Path(folder).rglob("*"))
        assert done.returncode == 1
        assert said == "The hub refuses this token. It has to be a teacher's.\n"

    @needs_hub
    def test_everybody_is_asked_and_the_sleeping_are_counted_as_last_seen(self):
        import service

        hub = service.Hub(self.get_url("/hub/api"), self.get_url(""), "secret", {"teacher"})
        states, note = self.pull(hub)
        assert len(states) == self.N - 1 - 2  # without the teacher, the sleeper and the rubbish
        assert note == "1 servers don't answer"
        assert states["u2"]["exercises"]["causal_mask"]["mistake"] == MISTAKE
        self.asleep.add("u1")
        states, note = self.pull(hub)
        assert states["u1"]["exercises"]["causal_mask"]["state"] == "done"
        assert "1 have left and are counted as last seen" in note


class Fake(tornado.web.RequestHandler):
    def initialize(self, hub):
        self.hub = hub

    def prepare(self):
        asks_the_hub = self.request.path.startswith("/hub/")
        if asks_the_hub and self.request.headers["Authorization"] != "token secret":
            raise tornado.web.HTTPError(403)


class FakeUsers(Fake):
    def get(self):
        offset, limit = (int(self.get_argument(a)) for a in ("offset", "limit"))
        everybody = list(map(self.hub.describe, self.hub.names))
        self.write(json.dumps(everybody[offset : offset + limit]))


class FakeUser(Fake):
    def get(self, name):
        self.write(self.hub.describe(name))


class FakeTokens(Fake):
    def post(self, name):
        wanted = json.loads(self.request.body)
        assert wanted["scopes"] == [f"access:servers!user={name}"]
        assert wanted["expires_in"] > 0
        key = f"key {uuid.uuid4()}"
        self.hub.keys[key] = name
        self.write({"token": key})


class FakeStart(Fake):
    def post(self, name):
        self.hub.asleep.remove(name)
        self.hub.woken.append(name)
        self.set_status(201)


class FakeFile(Fake):
    def get(self, name, path):
        key = self.request.headers["Authorization"].removeprefix("token ")
        if self.hub.keys.get(key) != name:
            raise tornado.web.HTTPError(403)
        if name in self.hub.broken:
            raise tornado.web.HTTPError(500)
        if f"{name}/{path}" not in self.hub.files:
            raise tornado.web.HTTPError(404)
        self.write({"content": self.hub.files[f"{name}/{path}"]})


def state(word, mistake=""):
    entry = {"state": word, "tries": 1, "mistake": mistake}
    return json.dumps({"exercises": {"causal_mask": entry}, "questions": {}})


def environment_with_a_hub():
    """Find the Python of `make class-test`, and its proxy."""
    python = ROOT / ".venv-hub" / "bin" / "python"
    local = ROOT / ".venv-hub" / "node_modules" / ".bin" / "configurable-http-proxy"
    proxy = local if local.exists() else shutil.which("configurable-http-proxy")
    return (python, proxy) if python.exists() and proxy else None


@pytest.mark.slow
@pytest.mark.skipif(
    environment_with_a_hub() is None, reason="no hub here: make class-test makes one"
)
def test_two_learners_play_the_class():
    python, proxy = environment_with_a_hub()
    command = [python, HUB / "trial.py", "--learners=2", f"--proxy={proxy}"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "everybody is back, with every answer" in done.stdout


def test_no_secret_name_or_work_is_published_or_copied_into_an_image():
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    kept_out = (HUB / "Dockerfile.dockerignore").read_text("utf-8").split()
    for name in (".env", "people.txt", "backup", "handed_in"):
        assert {name, f"/{name}/"} & set(ignored), name
        assert {name, f"**/{name}"} & set(kept_out), name
