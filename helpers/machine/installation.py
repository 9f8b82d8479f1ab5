"""Is everything there that the lessons need? Said in words that help.

``python -m helpers.machine.installation`` says it, too. Like `notebook`, this file imports
everything from outside the standard library where it is used.
"""

import importlib.metadata
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# In VS Code and Colab the front end is another, and nobody makes copies.
NOT_NEEDED = {"jupyterlab", "jupytext", "nbclient"}


def in_colab() -> bool:
    """Tell whether this notebook runs in Google Colab."""
    return "google.colab" in sys.modules


def pinned_versions() -> dict[str, str]:
    """Read which packages the course was tested with, name to version, in ``requirements.txt``."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w-]+)==(\S+)", text, flags=re.MULTILINE))


def _version(package):
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Finding:
    """One thing that the installation check looked at: `what` was found, and a `fix` for it.

    The `level` is ``"ok"``, ``"note"`` (works, but differs from what was tested) or ``"problem"``.
    """

    level: str
    what: str
    fix: str = ""


def check_installation():
    """Print whether everything the lessons need is there, and how to mend what is not."""
    findings = [
        _check_python(sys.version_info),
        *_check_packages(pinned_versions(), _version),
        _check_arithmetic(),
        _check_folder(ROOT),
        _check_models(ROOT),
    ]
    signs = {"ok": "✓", "note": "·", "problem": "✗"}
    for finding in findings:
        print(signs[finding.level], finding.what)
        if finding.fix:
            print("    →", finding.fix)
    problems = sum(finding.level == "problem" for finding in findings)
    if problems:
        print(f"\n{problems} to mend; then restart the kernel and run this cell again.")
    else:
        print("\nEverything is there. Enjoy the course!")


def _way_in():
    if in_colab():
        return "restart the session (menu Runtime) and run the set-up cell again"
    return (
        f"this is {sys.executable}; start the course with `make lab`, or choose the Python in the "
        f"course's folder .venv as the kernel, or run `pip install -r requirements.txt` there"
    )


def missing_packages():
    """List the names of the packages that lessons need and this Python lacks."""
    names = pinned_versions().keys() - NOT_NEEDED
    return sorted(name for name in names if _version(name) is None)


def demand_packages():
    """Raise an ImportError that names what is missing and the way out, if anything is."""
    missing = missing_packages()
    if missing:
        raise ImportError(f"Not installed: {', '.join(missing)}. The way out: {_way_in()}.")


def _check_python(version):
    name = ".".join(str(part) for part in version[:3])
    if (3, 11) <= tuple(version[:2]) <= (3, 14):
        return Finding("ok", f"Python {name}")
    return Finding("problem", f"Python {name}: the course needs 3.11 to 3.14", _way_in())


def _check_packages(pins, find_version):
    as_tested = []
    for name, tested in pins.items():
        found = find_version(name)
        if found == tested:
            as_tested.append(f"{name} {found}")
        elif found:
            yield Finding("note", f"{name} {found} (tested with {tested}; most likely fine)")
        elif name in NOT_NEEDED:
            yield Finding("note", f"{name} is not in this Python (needed only for `make lab`)")
        else:
            yield Finding("problem", f"{name} is missing (tested with {tested})", _way_in())
    if as_tested:
        yield Finding("ok", ", ".join(as_tested))


def _check_arithmetic():
    try:
        import torch

        right = torch.allclose(torch.ones(2, 3) @ torch.ones(3, 2), torch.full((2, 2), 3.0))
    except Exception as error:
        return Finding("problem", f"PyTorch does not run: {error}", _way_in())
    if right:
        return Finding("ok", f"PyTorch computes (threads: {torch.get_num_threads()})")
    return Finding("problem", "PyTorch computes wrongly", "install it anew: delete .venv, make lab")


def _check_folder(root):
    lacking = [name for name in ("helpers", "images", "notebooks") if not (root / name).is_dir()]
    if lacking:
        fix = "download the whole course again, not single files"
        return Finding("problem", f"The course's folder {root} lacks {', '.join(lacking)}", fix)
    return Finding("ok", "The course's folder is complete")


def _check_models(root):
    from helpers.pretrained.checksums import check_file

    damaged = []
    files = sorted((root / "helpers" / "pretrained" / "weights").glob("*.safetensors"))
    for file in files:
        try:
            check_file(file)
        except ValueError:
            damaged.append(file.stem)
    if damaged:
        fix = "download the whole course again, or train them anew with their recipes"
        return Finding("problem", f"Damaged trained models: {', '.join(damaged)}", fix)
    names = ", ".join(file.stem for file in files if not file.stem.startswith("toy_"))
    return Finding("ok", f"The trained models are whole: {names}")


if __name__ == "__main__":
    check_installation()
