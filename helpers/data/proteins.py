"""Proteins: chains of amino acids, and whether each is part of a helix, a strand or neither.

Where they come from and what was changed: ``real/NOTICES.md``.
"""

import bz2
from pathlib import Path

RESIDUES = "ACDEFGHIKLMNPQRSTVWXY"  # X stands for all others
STRUCTURES = "CEH"  # coil, strand, helix
UNKNOWN = "-"  # not resolved in the experiment


def proteins(part):
    """Read the bundled proteins.

    Parameters
    ----------
    part : {"train", "test"}

    Returns
    -------
    pairs : list of (str, str)
        A chain, letters of RESIDUES, and its structure, equally many letters of STRUCTURES or
        UNKNOWN.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    if part not in ("train", "test"):
        raise ValueError(f"the parts are train and test; got {part!r}.")
    path = Path(__file__).parent / "real" / "proteins.tsv.bz2"
    rows = [line.split("\t") for line in bz2.decompress(path.read_bytes()).decode().splitlines()]
    return [(chain, structure) for name, chain, structure in rows if name == part]
