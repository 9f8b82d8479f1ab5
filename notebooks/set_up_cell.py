# Set-up, the same in every lesson: find the course's folder, or fetch it where there is none.
import os
import subprocess
import sys
from pathlib import Path

COURSE = "ADDRESS"  # where the course is published
COMMIT = "HEAD"  # the version of it that belongs to this notebook
try:
    from helpers import notebook  # installed, or in the folder that the kernel started in
except ImportError:
    places = [Path.cwd(), *Path.cwd().parents, Path.cwd() / "attention-course"]
    root = next((p for p in places if (p / "helpers" / "notebook.py").exists()), None)
    if root is None:
        root = places[-1]
        print(f"Fetching the course (about 40 MB, less than a minute) from {COURSE} into {root}")
        quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # ask for no password
        try:
            root.mkdir(exist_ok=True)
            for step in ("init", f"fetch --depth=1 {COURSE} {COMMIT}", "checkout FETCH_HEAD"):
                git = ["git", *step.split(), "--quiet"]
                subprocess.run(git, cwd=root, check=True, capture_output=True, env=quiet)
        except (OSError, subprocess.CalledProcessError):
            raise SystemExit(
                "The course isn't on this machine and couldn't be fetched. Connect to the network "
                "and run this cell again, or download the whole course and open the lesson there."
            ) from None
    sys.path.insert(0, str(root))
    from helpers import notebook

notebook.set_up()
