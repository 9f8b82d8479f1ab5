"""JupyterHub for a class: one server per learner, each in a container of its own.

For one machine (`compose.yaml`) and for the trial (`trial.py`); Kubernetes has `values.yaml`. What
differs comes from the environment:

- ``COURSE_SECRET``: a long random text; the codes to log in with are made from it
- ``COURSE_TEACHERS``: names of those who see the class view, with commas between
- ``COURSE_STATE``: the folder with the hub's database, which has to outlive the hub
- ``COURSE_SPAWNER``: "docker", or "local" for the trial, which isolates nobody
"""

import hmac
import os
import sys
from pathlib import Path

from jupyterhub.auth import Authenticator

COURSE = os.environ.get("COURSE_FOLDER", "/srv/course")
HERE = Path(COURSE) / "teaching" / "hub"
sys.path.insert(0, str(HERE))
from invite import code, login_name  # noqa: E402

c = get_config()  # noqa: F821 - JupyterHub provides it
SECRET = os.environ["COURSE_SECRET"]
TEACHERS = {login_name(name) for name in os.environ.get("COURSE_TEACHERS", "").split(",")} - {""}
STATE = Path(os.environ.get("COURSE_STATE", "/srv/state"))
SPAWNER = os.environ.get("COURSE_SPAWNER", "docker")
PROXY = os.environ.get("COURSE_PROXY", "http://proxy:8000")
MB = 2**20


class ByCode(Authenticator):
    """Let in whoever knows the code that belongs to their name."""

    def normalize_username(self, username):
        """Let "Ada Lovelace" and "ada-lovelace" be one learner."""
        return login_name(username)

    async def authenticate(self, handler, data):
        """Compare without telling by the time it takes how much was right."""
        name = login_name(data["username"])
        right = hmac.compare_digest(code(SECRET, name), data["password"].strip())
        return name if name and right else None


c.JupyterHub.authenticator_class = ByCode
c.Authenticator.allow_all = True  # the code is the permission
c.Authenticator.admin_users = TEACHERS

# After lesson 04 a kernel holds about 240 MB, and the server beside it 60. One thread each:
# thirty learners share a few cores.
c.Spawner.mem_guarantee = 400 * MB
c.Spawner.mem_limit = 2048 * MB
c.Spawner.cpu_limit = 2
c.Spawner.cmd = [sys.executable, str(HERE / "singleuser.py")]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 300  # a hundred who begin at once wait for each other's processors
c.Spawner.http_timeout = 300
c.Spawner.environment = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # fewer places where freed memory lies about
    "MEM_LIMIT": str(c.Spawner.mem_limit),  # for the display of what is left
    "PYTHONPATH": COURSE,
    "JUPYTER_CONFIG_PATH": str(HERE / "server"),  # what a learner's server leaves out
    "JUPYTER_PATH": str(HERE / "server"),  # how a learner's kernel starts
    "NBFORMAT_VALIDATOR": "jsonschema",  # the other one compiles itself at the first notebook
}

if SPAWNER == "docker":
    c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
    c.DockerSpawner.image = os.environ.get("COURSE_IMAGE", "attention-course")
    c.DockerSpawner.network_name = "course"
    c.DockerSpawner.remove = True  # the container goes, the home stays
    c.DockerSpawner.volumes = {"course-home-{username}": "/home/learner"}
    c.DockerSpawner.notebook_dir = "/home/learner"
    c.DockerSpawner.extra_host_config = {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": 256,
    }
    c.Spawner.environment["COURSE_PROGRESS"] = "/home/learner"
    c.JupyterHub.hub_ip = "0.0.0.0"
    c.JupyterHub.hub_connect_ip = "hub"
elif SPAWNER == "local":
    c.JupyterHub.spawner_class = "simple"
    c.SimpleLocalProcessSpawner.home_dir_template = str(STATE / "homes" / "{username}")
    c.Spawner.environment["COURSE_PROGRESS"] = lambda spawner: spawner.home_dir
    c.Spawner.environment["COURSE_SHARED"] = str(STATE / "shared")  # the image has its own
    if os.geteuid() == 0:
        c.Spawner.args = ["--allow-root"]
else:
    raise ValueError(f"COURSE_SPAWNER is docker or local; got {SPAWNER!r}")

# The proxy is a process of its own and outlives the hub: learners work on while the hub restarts.
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = os.environ.get("COURSE_PROXY_API", "http://proxy:8001")
c.JupyterHub.db_url = f"sqlite:///{STATE / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False

c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=3600"],
    },
    {
        "name": "class-view",
        "url": os.environ.get("COURSE_VIEW", "http://127.0.0.1:8070"),
        "oauth_no_confirm": True,
        "command": [sys.executable, str(HERE / "service.py")],
        "environment": {"COURSE_PROXY": PROXY, "COURSE_TEACHERS": ",".join(sorted(TEACHERS))},
    },
]
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    },
    {
        # May make a key for each server, so that no server sees the service's own token, and reads
        # one file with it: progress.json.
        "name": "class-view",
        "services": ["class-view"],
        "scopes": ["list:users", "read:users:name", "read:servers", "access:servers", "tokens"],
    },
    {
        "name": "teachers",
        "users": sorted(TEACHERS),
        "scopes": ["self", "access:services!service=class-view", "admin-ui", "list:users"],
    },
]
