"""Make the second environment, ``.venv-colab``: the few packages that Colab has older than ours.

It looks into the environment that runs this for everything else, so that nothing is there twice.
"""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-colab"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make():
    """Make it, or bring it up to date."""
    venv.create(FOLDER, with_pip=True)
    requirements = Path(__file__).with_name("requirements.txt")
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements]
    subprocess.run(install, check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.check_output([PYTHON, "-c", where], text=True).strip()
    ours = sysconfig.get_path("purelib")
    Path(packages, "course.pth").write_text(f"{ours}\n", encoding="utf-8")


if __name__ == "__main__":
    make()
