"""Make learner's and teacher's copies of the lessons from the same cells.

``make class`` writes both kinds into ``teaching/copies``: ``learners`` without outputs and without
teacher's notes, ``teachers`` with outputs, the notes open and a button for slides. ``make lab``
opens learner's copies too, in ``my_lessons``, which git ignores: a clone stays clean, and no stored
output tells an answer. When a lesson changes, the next ``make lab`` brings the change into the copy
and leaves alone what the learner has written.
"""

import argparse
import copy
import shutil
import sys
import uuid
from itertools import chain, count, pairwise
from pathlib import Path

import nbformat

from helpers.machine.atomic_writes import atomic_write
from notebooks import build
from notebooks.build import CHECK, FOLDED, NOTEBOOKS, ROOT, SOURCES

MY_LESSONS = ROOT / "my_lessons"
ORIGINALS = ".as_they_came"  # beside the copies: what each looked like when it was made
PROGRESS = ".course/progress.json"
SLIDES = "from teaching.deck import Deck\n\nDeck()"


def learners_copy(notebook, commit="HEAD"):
    """Leave out the teacher's notes, and everything that was ever computed.

    `notebook` is as `build.assemble` made it; `commit` the version of the course that its first
    cell fetches where there is none, as in Colab.
    """
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if "notes" not in _tags(cell)]
    for cell in made.cells:
        cell.metadata.pop("collapsed", None)  # there is no output to fold
        cell.metadata.get("jupyter", {}).pop("outputs_hidden", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if "set-up" in _tags(cell):
            cell.source = cell.source.replace('COMMIT = "HEAD"', f'COMMIT = "{commit}"')
    return made


def teachers_copy(built):
    """Open the notes, fold the answers, and add the button that starts the slides."""
    made = copy.deepcopy(built)
    for cell in made.cells:
        if "notes" in _tags(cell):
            folded = f"<details>\n<summary>{FOLDED['notes']}"
            cell.source = cell.source.replace(folded, folded.replace(">", " open>", 1), 1)
    for stub, cell in pairwise(made.cells):
        for folded in (stub, cell) if CHECK.search(cell.source) else ():
            if folded.cell_type == "code":
                folded.metadata.setdefault("jupyter", {})["source_hidden"] = True
    at = next(i for i, cell in enumerate(made.cells) if "set-up" in _tags(cell))
    made.cells.insert(at + 1, nbformat.v4.new_code_cell(SLIDES, id="slides"))
    return made


def _tags(cell):
    return cell.metadata.get("tags", [])


def merged(mine, original, new):
    """Bring a changed lesson into a learner's copy.

    A cell that the learner has not touched follows the lesson. One that they changed, ran or added
    stays as it is, next to the cells that it stood beside; but one that was only run goes with the
    lesson's, because what it asks for may be gone.

    `mine` is the learner's copy, `original` what it looked like when it was made, and `new` what it
    would be today.
    """
    _name_cells(mine, original)
    before = {cell.id: cell for cell in original.cells}
    own = {cell.id: cell for cell in mine.cells}
    cells = [own[c.id] if c.id in own and _touched(own[c.id], c) else c for c in new.cells]
    coming = {cell.id for cell in new.cells}
    previous = None  # the cell of the result after which the learner's next own cell belongs
    for cell in mine.cells:
        if cell.id not in coming:
            if cell.id in before and cell.source == before[cell.id].source:
                continue  # the lesson has dropped it; that it was run leaves nothing to keep
            cells.insert([None, *(c.id for c in cells)].index(previous), cell)
        previous = cell.id
    made = copy.deepcopy(new)
    made.cells = cells
    return made


def _name_cells(mine, original):
    """Give cells without an id, as some editors write them, that of their twin in the original."""
    nameless = [cell for cell in mine.cells if not cell.get("id")]
    taken = {cell.get("id") for cell in mine.cells}
    for is_twin in (
        lambda cell, other: cell.source == other.source,
        lambda cell, other: mine.cells.index(cell) == original.cells.index(other),
    ):
        for cell in (cell for cell in nameless if not cell.get("id")):
            twins = (o for o in original.cells if o.id not in taken and is_twin(cell, o))
            if twin := next(twins, None):
                cell["id"] = twin.id
                taken.add(twin.id)
    for cell in (cell for cell in nameless if not cell.get("id")):
        cell["id"] = uuid.uuid4().hex[:8]


def _touched(cell, other):
    return cell.source != other.source or bool(cell.get("outputs"))


def bring_up_to_date(folder: Path = MY_LESSONS, sources: Path = SOURCES):
    """Make a learner's folder, or bring the lessons' changes into it.

    Names of the lessons that are new in the folder, and of those that were brought up to date.
    """
    originals = folder / ORIGINALS
    originals.mkdir(parents=True, exist_ok=True)
    # Whoever worked in ``notebooks`` before finds their progress in the new folder.
    for name in (PROGRESS, "my_transformer.py"):
        if (NOTEBOOKS / name).exists() and not (folder / name).exists():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy2(NOTEBOOKS / name, folder / name)
    made, changed = [], []
    for source in build.lessons(folder=sources):
        name = f"{build.name_of(source)}.ipynb"
        new = learners_copy(build.assemble(source))
        original = _read(originals / name)
        same = original is not None and original.metadata == new.metadata
        if same and (folder / name).exists():
            continue
        mine = _read(folder / name)
        known = mine is not None and original is not None
        write(merged(mine, original, new) if known else new, folder / name, keep=mine and not known)
        write(new, originals / name)
        (changed if known else made).append(build.name_of(source))
    return made, changed


def _read(path):
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        return None
    except Exception as error:  # whatever the JSON or the format lacks: nothing is overwritten
        raise ValueError(
            f"{path} can't be read as a notebook ({error}). Move it away, and a fresh copy comes."
        ) from error


def write(notebook, path: Path, keep=False):
    """Write a notebook, whole or not at all; `keep` sets aside the file that is there."""
    if keep:  # a file of the learner's own that happens to have this name
        names = (f"{path.stem} (mine{n}).ipynb" for n in chain([""], (f" {i}" for i in count(2))))
        path.replace(next(p for p in map(path.with_name, names) if not p.exists()))
    with atomic_write(path) as partial:
        nbformat.write(notebook, partial)


def write_class(out: Path, commit="HEAD"):
    """Write the learner's and the teacher's copies of all lessons: two folders in `out`.

    `commit` is as in `learners_copy`. A notebook that isn't built from today's source is a
    ValueError.
    """
    for kind in ("learners", "teachers"):
        (out / kind).mkdir(parents=True, exist_ok=True)
    for source in build.lessons():
        notebook, built = build.assemble(source), NOTEBOOKS / f"{build.name_of(source)}.ipynb"
        if not build.is_fresh(notebook, built):
            raise ValueError(f"{built.name} is older than its source: run `make notebooks` first.")
        write(learners_copy(notebook, commit), out / "learners" / built.name)
        write(teachers_copy(build.read(built.stem)), out / "teachers" / built.name)


def main(arguments: list[str] | None = None):
    """Make copies: ``lab`` for this machine's learner, ``class`` for a whole class."""
    parser = argparse.ArgumentParser(prog="python -m notebooks.copies", description=__doc__)
    parser.add_argument("kind", choices=("lab", "class"))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--commit", default="HEAD", help="which version learners' copies fetch")
    options = parser.parse_args(arguments)
    if options.kind == "class":
        out = options.out or ROOT / "teaching" / "copies"
        write_class(out, options.commit)
        print(f"Learner's and teacher's copies are in {out}")
        return
    folder = options.out or MY_LESSONS
    try:
        made, changed = bring_up_to_date(folder)
    except PermissionError as error:
        sys.exit(
            f"Can't write {error.filename}. The lessons need a folder of yours: copy the course to "
            f"one, or say where with `python -m notebooks.copies lab --out FOLDER`."
        )
    except ValueError as error:
        sys.exit(str(error))
    if made:
        print(f"{len(made)} lessons copied to {folder.name}/, which is yours to write in.")
    if changed:
        print(f"Brought up to date, with everything you wrote: {', '.join(changed)}.")


if __name__ == "__main__":
    main()
