"""Fairy tales and Sherlock Holmes: the running text on which the story model was trained.

What the files are, where they come from and what was changed: ``real/NOTICES.md``.
"""

import bz2
import functools
from pathlib import Path

FILES = {
    "train": "fairy_tales_train.txt.bz2",
    "validation": "fairy_tales_validation.txt.bz2",
    "holmes": "sherlock_holmes.txt.bz2",
}


@functools.lru_cache(maxsize=1)  # several functions read the same text one after the other
def stories(part, n_letters=None) -> str:
    """Read one of the bundled texts, one paragraph a line.

    Parameters
    ----------
    part : {"train", "validation", "holmes"}
        Fairy tales to train on (7.1 MB), their last pages for validation (0.1 MB), or Sherlock
        Holmes (0.6 MB).
    n_letters : int, default=None
        Read no further than this, which is quicker; None reads all of it.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    if part not in FILES:
        raise ValueError(f"the parts are {', '.join(FILES)}; got {part!r}.")
    path = Path(__file__).parent / "real" / FILES[part]
    with bz2.open(path, "rt", encoding="utf-8", newline="") as file:
        return file.read(n_letters)
