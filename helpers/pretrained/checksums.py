"""Checksums of trained weights, in a file ``SHA256SUMS`` beside them.

After changing weights by anything but the recipes, write the checksums anew:
``python -m helpers.pretrained.checksums`` does it for the bundled files. The file has the format
of ``sha256sum``, so ``sha256sum --check SHA256SUMS`` works too.
"""

import argparse
from pathlib import Path

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

WEIGHTS = Path(__file__).parent / "weights"
CHECKSUMS = "SHA256SUMS"
COMMAND = "python -m helpers.pretrained.checksums"


def write_checksums(*paths: Path):
    """Note the checksums of files of one folder in its ``SHA256SUMS``.

    What is noted of the folder's other files stays.
    """
    folder = paths[0].parent
    known = _read(folder) | {path.name: fingerprint(path.read_bytes()) for path in paths}
    lines = [f"{known[name]}  {name}\n" for name in sorted(known) if (folder / name).exists()]
    with atomic_write(folder / CHECKSUMS) as partial:
        partial.write_text("".join(lines), encoding="utf-8", newline="\n")


def check_file(path: Path):
    """Compare a file with its checksum; another one, or none that was noted, is a ValueError."""
    noted = _read(path.parent).get(path.name)
    if noted is None:
        raise ValueError(
            f"{path.parent / CHECKSUMS} has no checksum of {path.name}. If you trust the file: "
            f"{COMMAND} {path.parent}"
        )
    if fingerprint(path.read_bytes()) != noted:
        raise ValueError(
            f"the SHA-256 of {path.name} is not the one in {CHECKSUMS}: damaged, or "
            f"changed. Restore it from the repository (git checkout -- {path.name}), or, if you "
            f"changed it yourself: {COMMAND} {path.parent}"
        )


def _read(folder):
    path = folder / CHECKSUMS
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: noted for noted, _, name in (line.partition("  ") for line in lines)}


def main(arguments: list[str] | None = None):
    """Write the checksums of a folder's weights and tokenizers anew."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=WEIGHTS)
    folder = parser.parse_args(arguments).folder
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("*.tokenizer.json")])
    if not files:
        parser.error(f"{folder} holds neither weights (*.safetensors) nor tokenizers.")
    write_checksums(*files)
    print(f"{len(files)} checksums in {folder / CHECKSUMS}")


if __name__ == "__main__":
    main()
