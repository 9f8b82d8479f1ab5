# Set-up, the same in every lesson: find the course's folder, or fetch it where there is none.
import subprocess
import sys
from pathlib import Path

COURSE = "ADDRESS"  # where the course is published
places = [Path.cwd(), *Path.cwd().parents, Path.cwd() / "attention-course"]
root = next((place for place in places if (place / "helpers" / "notebook.py").exists()), None)
if root is None:
    root = places[-1]
    print(f"Fetching the course (about 30 MB) from {COURSE} into {root}")
    subprocess.run(["git", "clone", "--quiet", "--depth=1", COURSE, str(root)], check=True)
sys.path.insert(0, str(root))

from helpers import notebook

notebook.set_up()
