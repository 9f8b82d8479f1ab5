"""What the README promises is there: files, folders and commands."""

import re

from PIL import Image
from stages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_that_the_readme_names_exists():
    named = re.findall(r"`((?:[\w.]+/)+[\w.*]*)`|\]\(([\w./-]+)\)", README)
    paths = {path for pair in named for path in pair if path and "NAME" not in path}
    assert len(paths) > 20
    for path in paths:
        pattern = path.replace("NN_name", "[0-9]*").replace("lesson_NN", "lesson_01")
        assert list(ROOT.glob(pattern.rstrip("/"))), path


def test_the_first_picture_moves_says_what_it_shows_and_is_small():
    still, path, alt = re.search(
        r'<picture><source media="\(prefers-reduced-motion: reduce\)" srcset="(\S+)">'
        r'<img src="(\S+)" alt="([^"]+)"></picture>',
        README,
    ).groups()
    assert len(alt) > 100
    assert (ROOT / path).stat().st_size <= 2_000_000
    with Image.open(ROOT / path) as film, Image.open(ROOT / still) as frame:
        assert film.n_frames > 10
        assert film.info["loop"] in (1, 2)  # and not 0, which is without end
        assert frame.n_frames == 1
        assert frame.size == film.size


def test_every_topic_file_named_without_its_folder_is_in_helpers():
    alone = set(re.findall(r"`(\w+\.py)`", README))
    assert {"attention.py", "masks.py"} <= alone
    for name in alone:
        assert list((ROOT / "helpers").rglob(name)), name


def test_every_command_that_the_readme_names_is_a_target_or_a_module():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())
    commands = set(re.findall(r"`make ([\w-]+)", README))
    assert {"quick", "test", "notebooks"} <= commands <= targets
    modules = re.findall(r"`python -m ((?:helpers|recipes)[\w.]+)", README)
    assert modules
    for module in modules:
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module


def test_every_lesson_is_in_the_table_and_in_lesson_00s():
    row = r"^\| (\d\d) \| \[(.+)\]\(notebooks/(\w+)\.ipynb\) \| (.+) \|$"
    listed = re.findall(row, README, re.MULTILINE)
    folder = ROOT / "notebooks" / "source"
    assert [name for *_, name, _ in listed] == sorted(path.name for path in folder.glob("*_*"))
    told = (folder / "00_start_here" / "lesson.py").read_text(encoding="utf-8")
    row = r"^# \| (\d\d) \| (.+?)(?: \(assignment, 2 hours\))? \| (.+) \|$"
    assert re.findall(row, told, re.MULTILINE) == [(n, t, asked) for n, t, _, asked in listed[1:]]
