"""What the course asks of a JupyterHub on one machine, beside what the hub's installer sets up.

With The Littlest JupyterHub, this file goes to ``/opt/tljh/config/jupyterhub_config.d/course.py``
(README.md says when). On Kubernetes, ``values.yaml`` says the same. The trial loads it as it is.

- ``COURSE_FOLDER``: where the course is; ``/srv/course`` by default
- ``COURSE_PYTHON``: the learners' Python; ``/opt/tljh/user/bin/python`` by default
- ``COURSE_SHARED``: where the larger models are, for all kernels to share; ``/srv/shared``
- ``COURSE_TEACHERS``: names of those who see the class view, with commas between
"""

import os
from pathlib import Path
from tempfile import gettempdir

COURSE = Path(os.environ.get("COURSE_FOLDER", "/srv/course"))
PYTHON = os.environ.get("COURSE_PYTHON", "/opt/tljh/user/bin/python")
TEACHERS = sorted(filter(None, os.environ.get("COURSE_TEACHERS", "").split(",")))
VIEW = os.environ.get("COURSE_VIEW", "http://127.0.0.1:8070")

c = get_config()  # noqa: F821 - JupyterHub provides it

# After nine cells of lesson 04 a kernel and its server hold about 310 MB together.
c.Spawner.mem_limit = "2G"
c.Spawner.cpu_limit = 1
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 300  # a hundred who begin at once wait for each other's processors
c.Spawner.http_timeout = 300
c.SystemdSpawner.isolate_tmp = True
c.Spawner.environment.update(
    {
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",  # fewer places where freed memory lies about
        "PYTHONPATH": str(COURSE),
        "COURSE_SHARED": os.environ.get("COURSE_SHARED", "/srv/shared"),
        "JUPYTER_CONFIG_PATH": str(COURSE / "teaching" / "hub" / "server"),
        "NBFORMAT_VALIDATOR": "jsonschema",  # the other one compiles itself at the first notebook
        # Kernels talk through files, because kernels that start at once take each other's ports. A
        # socket's path has at most 107 letters, so it can't be in a home; /tmp is everybody's own.
        "JUPYTER_RUNTIME_DIR": lambda spawner: f"{gettempdir()}/jupyter-{spawner.user.id}",
        # Notebooks send their learner's progress there by themselves, so nobody polls them.
        "COURSE_CLASS_VIEW": f"{VIEW}/services/class-view",
    }
)
c.JupyterHub.services.append(
    {
        "name": "class-view",
        "url": VIEW,
        "oauth_no_confirm": True,
        "command": [PYTHON, "-m", "teaching.hub.service"],
        "cwd": str(COURSE),
        "environment": {"COURSE_TEACHERS": ",".join(TEACHERS), "PYTHONPATH": str(COURSE)},
        # It needs nothing of the machine's, so it gets nothing where the hub runs as root.
        **({"user": "nobody"} if os.geteuid() == 0 and "COURSE_TRIAL" not in os.environ else {}),
    }
)
SCOPES = ["self", "access:services!service=class-view"]
c.JupyterHub.load_roles.append({"name": "course-teachers", "users": TEACHERS, "scopes": SCOPES})
