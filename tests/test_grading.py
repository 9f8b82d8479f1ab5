"""Grading: what the answers earn, whatever a submission does."""

import copy
import csv
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from samples import once_a_week

from helpers.exercises import compare, model
from helpers.exercises.edits import source_of
from notebooks import build
from teaching import grade, sandbox
from teaching.needed import needed

LESSON = "04_self_attention_matrices"
PARTS = [
    "scaled_scores", "causal_mask", "suspiciously_good", "scaled_dot_product_attention",
    "padding_mask",
]  # fmt: skip
WALLS = shutil.which("bwrap") is not None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the grader needs Linux or macOS"),
]


def template():
    return copy.deepcopy(grade._template(LESSON))


def solved(names):
    """Write the solutions into a learner's copy, as a learner would."""
    notebook = template()
    for name in names:
        solution = source_of(model.find(name).solution)
        put(notebook, name, re.sub(r"^def \w+", f"def {name}", solution))
    return notebook


def put(notebook, name, answer):
    """Replace the stub of an exercise."""
    cell = next(c for c in notebook.cells if f"def {name}(" in c.source)
    imports = "import math\nimport torch\nimport torch.nn.functional as F"
    cell.source = f"{imports}\n\n\n{answer}"
    return notebook


def hand_in(folder, name, notebook):
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")
    return grade.read_submission(folder / f"{name}.ipynb")


def with_cell(notebook, source):
    """Add a cell of the learner's own, before everything."""
    notebook.cells.insert(1, nbformat.v4.new_code_cell(source))
    return notebook


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def points(rows):
    return {row["part"]: row["passed"] for row in rows}


def test_full_half_and_empty_score_what_they_earned_and_a_mistake_is_named(tmp_path):
    folder = tmp_path / "handed in"
    hand_in(folder, "full", solved(PARTS))
    half = ["scaled_scores", "padding_mask"]
    wrong = "def causal_mask(length):\n    return torch.ones(length, length).triu().bool()"
    hand_in(folder, "half", put(solved(half), "causal_mask", wrong))
    hand_in(folder, "empty", template())
    (folder / "letter.ipynb").write_text("no notebook", encoding="utf-8")
    said = []
    rows = grade.grade_folder(folder, tmp_path / "grades.csv", not WALLS, said.append)
    kept = rows_of(tmp_path / "grades.csv")
    assert len(kept) == len(rows) == 3 * len(PARTS) + 1
    by = {name: [r for r in rows if r["submission"] == name] for name in ("full", "half", "empty")}
    assert points(by["full"]) == dict.fromkeys(PARTS, 1)
    assert not any(row["remark"] for row in by["full"])
    assert points(by["half"]) == {name: int(name in half) for name in PARTS}
    (named,) = [row for row in by["half"] if row["part"] == "causal_mask"]
    assert named["mistake"] not in ("differs", "raised", "not attempted")
    assert named["message"]
    assert points(by["empty"]) == dict.fromkeys(PARTS, 0)
    # A stub that is to be mended says something, and it is wrong.
    stubs = {r["part"]: r["mistake"] for r in by["empty"]}
    assert stubs.pop("suspiciously_good") == "still as it was"
    assert set(stubs.values()) == {"not attempted"}
    assert any("can't be read" in line for line in said)


FAKED = """
open("progress.json", "w").write("{}")
from helpers.exercises import checking
right = lambda *anything: checking.Verdict(True, "", "")
checking.judge = checking.check = checking._check = right
"""
LOOKS_FOR_A_WAY_OUT = """
import socket
found = []
for place in PLACES:
    try:
        open(place, "w")
        found.append(place)
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", 22), 1)
    found.append("net")
except OSError as error:
    pass
if found:
    raise RuntimeError(str(found))
"""


@pytest.mark.skipif(not WALLS, reason="no bubblewrap")
def test_fakes_earn_nothing_nothing_outside_can_be_written_and_no_network_is_there(tmp_path):
    target = Path(__file__).parent / "written_by_a_submission"
    places = [str(target), "/etc/x", str(tmp_path / "y")]
    notebook = with_cell(solved(PARTS[:1]), FAKED)
    with_cell(notebook, LOOKS_FOR_A_WAY_OUT.replace("PLACES", str(places)))
    rows = grade.grade(hand_in(tmp_path, "hostile", notebook))
    assert not target.exists()
    assert points(rows) == {name: int(name == PARTS[0]) for name in PARTS}
    assert {row["remark"] for row in rows} == {"calls the reference"}  # and nothing was found


# After these, nobody is left to answer.
DEADLY = {
    "endless": "import time\nwhile True:\n    time.sleep(1)",
    "fork bomb": """
import os
for _ in range(2_000):
    try:
        os.fork()
    except OSError:
        break
""",
    # Asked for and never touched, so that the machine needn't fill gigabytes with zeros.
    "too much memory": "import numpy\nhoard = [numpy.empty(10**9, 'u1') for _ in range(50)]",
    "leaves": "import os\nos._exit(0)",
    "talks": "import os\nos.write(3, b'[\"result\", [1]]\\n' * 100)\nprint('x' * 1000)",
}


@pytest.mark.skipif(not WALLS, reason="no bubblewrap")
@pytest.mark.parametrize("kind", once_a_week(DEADLY, ["fork bomb"]))
def test_a_deadly_submission_harms_nothing_and_earns_only_its_answers(tmp_path, kind):
    notebook = with_cell(solved(PARTS[:1]), DEADLY[kind])
    seconds = 2 if kind == "endless" else 40
    rows = grade.grade(hand_in(tmp_path, "hostile", notebook), seconds=seconds)
    found = points(rows)
    assert found.keys() == set(PARTS)
    assert sum(found.values()) <= 1
    assert all(found[name] == 0 for name in PARTS[1:])


@pytest.mark.weekly
def test_an_answer_without_end_costs_only_its_own_part(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "SECONDS", 4)
    notebook = solved(PARTS)
    put(notebook, "causal_mask", "def causal_mask(length):\n    while True:\n        pass")
    rows = grade.grade(hand_in(tmp_path, "slow", notebook), not WALLS)
    assert points(rows) == {name: int(name != "causal_mask") for name in PARTS}
    assert [r["mistake"] for r in rows if r["part"] == "causal_mask"] == ["too long"]


def lesson_s_cell(source):
    return {"source": source, "check": {}, "own": False}


def test_of_the_lesson_s_cells_only_what_is_used_runs():
    cells = [
        lesson_s_cell("import math\nimport turtle\nN = 3\nn = 0\nwords = []\nprint(words)"),
        lesson_s_cell("for i in range(N):\n    words.append(i)\n    n += i\nmodel = train(words)"),
        lesson_s_cell("assert words\n@cached\ndef half(x):\n    words = x\n    return twice(x)"),
        lesson_s_cell("def twice(x):\n    return math.floor(x) * 2\nmodel.eval()\ntwice(4)"),
        {"source": "%time\ndef mine(model):\n    return half(words[0])", "check": {}, "own": True},
        lesson_s_cell("mine = exercises.mine('mine')\nother = mine(1)"),
        {"source": "", "check": {"mine": "mine"}, "own": False},
    ]
    assert [cell["source"] for cell in needed(cells)] == [
        "import math\nN = 3\nn = 0\nwords = []",
        "for i in range(N):\n    words.append(i)\n    n += i",
        "@cached\ndef half(x):\n    words = x\n    return twice(x)",
        "def twice(x):\n    return math.floor(x) * 2",
        cells[4]["source"],
        "mine = exercises.mine('mine')",
        "",
    ]


def test_what_is_written_into_is_data_that_is_used():
    cells = [
        lesson_s_cell("table = {}\nothers = {}\ntable['a'], b = 1, 2\nothers['a'] = 1\nb += 1"),
        {"source": "table['a']", "check": {}, "own": True},
    ]
    assert needed(cells)[0]["source"] == "table = {}\ntable['a'], b = (1, 2)"


@pytest.mark.parametrize(
    ("bwrap", "said"),
    [
        (None, "bubblewrap is not installed"),
        ("echo no permission >&2; exit 1", "bubblewrap doesn't work here (no permission)"),
    ],
)
def test_without_walls_the_grader_refuses_and_says_why(tmp_path, monkeypatch, capsys, bwrap, said):
    if bwrap:
        command = tmp_path / "bwrap"
        command.write_text(f"#!/bin/sh\n{bwrap}\n", encoding="utf-8")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        grade.main([str(tmp_path)])
    assert said in capsys.readouterr().err
    assert not (tmp_path / "grades.csv").exists()


def test_windows_is_told_to_use_wsl(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "resource", None)
    spec = importlib.util.spec_from_file_location("sandbox_on_windows", sandbox.__file__)
    on_windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(on_windows)  # it can be imported
    monkeypatch.setattr(grade, "resource", on_windows.resource)
    with pytest.raises(SystemExit) as stopped:
        grade.main([str(tmp_path), "--trusted"])
    assert stopped.value.code == 2
    assert "Run the grader in WSL" in capsys.readouterr().err


@pytest.mark.weekly
def test_one_bad_file_costs_nobody_else_a_row(tmp_path):
    folder = tmp_path / "handed in"
    (folder / "ada").mkdir(parents=True)
    (folder / "bo").mkdir()
    right = solved(["causal_mask"])
    nbformat.write(right, folder / "ada" / "work.ipynb")
    nbformat.write(right, folder / "bo" / "work.ipynb")
    deep = with_cell(solved(["causal_mask"]), "x = " + "1 + " * 20_000 + "1")
    nbformat.write(deep, folder / "deep.ipynb")
    nbformat.write(with_cell(template(), "=cmd()"), folder / "=formula.ipynb")
    (folder / "link.ipynb").symlink_to(folder / "ada" / "work.ipynb")
    rows = grade.grade_folder(folder, tmp_path / "grades.csv", not WALLS, lambda line: None)
    names = {row["submission"] for row in rows}
    assert names == {"ada/work", "bo/work", "deep", "link", "=formula"}
    passed = {(r["submission"], r["part"]) for r in rows if r["passed"] == 1}
    assert passed == {(name, "causal_mask") for name in ("ada/work", "bo/work", "deep")}
    kept = rows_of(tmp_path / "grades.csv")
    assert len(kept) == len(rows)
    assert not any(value.startswith(("=", "+", "@")) for row in kept for value in row.values())


@pytest.mark.parametrize("kept", [True, False])
def test_ids_as_colab_writes_them_are_found_and_needn_t_be_there(tmp_path, kept):
    notebook = solved(["causal_mask"])
    for cell in notebook.cells:
        name = cell.pop("id")
        cell.metadata |= {"id": name} if kept else {}
    notebook.nbformat_minor = 4
    (tmp_path / "colab.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    assert grade.read_submission(tmp_path / "colab.ipynb").lesson == LESSON


@pytest.mark.parametrize(
    "source",
    [
        'causal_mask = exercises.reference("causal_mask")',
        'from helpers import exercises as e\ncausal_mask = e.reference("causal_mask")',
        'import importlib as i\ncausal_mask = i.import_module("x").causal_mask',
        "from helpers.transformer.masks import causal_mask",
        'causal_mask = exercises.mine("causal_mask")',
    ],
)
def test_the_courses_own_functions_are_flagged_by_any_name(tmp_path, source):
    cheat = template()
    next(c for c in cheat.cells if "def causal_mask(" in c.source).source = source
    assert hand_in(tmp_path, "cheat", cheat).remarks == ["calls the reference"]
    cheat.metadata["course"]["source_hash"] = "yesterday's"
    old = hand_in(tmp_path, "old", cheat).remarks
    assert "may call the reference" in old
    assert any("another version" in remark for remark in old)


@pytest.mark.skipif(not WALLS, reason="no bubblewrap")
def test_a_sandbox_that_does_not_work_stops_grading_and_says_so(tmp_path, monkeypatch):
    hand_in(tmp_path / "in", "right", solved(PARTS))
    monkeypatch.setattr(sandbox, "_environment", lambda folder: {})  # the course isn't found
    with pytest.raises(grade.SandboxTrouble, match="can't run an empty notebook"):
        grade.grade_folder(tmp_path / "in", tmp_path / "out.csv", say=lambda line: None)


@pytest.mark.skipif(not WALLS, reason="no bubblewrap")
def test_neither_neighbours_nor_the_home_folder_can_be_read(tmp_path):
    secret = tmp_path / "neighbour.ipynb"
    secret.write_text("the answer", encoding="utf-8")
    looks = "import os\nfound = [p for p in {places} if os.path.exists(p)]\nassert not found, found"
    places = [str(secret), str(Path.home() / ".ssh"), str(build.ROOT / ".git"), "/etc/passwd"]
    notebook = with_cell(solved(["causal_mask"]), looks.format(places=places))
    rows = grade.grade(hand_in(tmp_path, "nosy", notebook))
    assert not any(row["remark"] for row in rows)
    assert points(rows)["causal_mask"] == 1


def test_one_row_a_learner_files_to_import_and_a_page_each(tmp_path):
    folder = tmp_path / "handed in"
    moodle = "Ada Lovelace_123456_assignsubmission_file"
    names = {f"{moodle}/work": PARTS, "hopperg_LATE_4711_98765_work": PARTS[:2]}
    for name, right in names.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(solved(right), folder / f"{name}.ipynb")
    said = []
    rows = grade.grade_folder(folder, folder / "grades.csv", not WALLS, said.append, jobs=2)
    assert len(said) == 2
    totals = {row["name"]: row for row in rows_of(folder / "totals.csv")}
    ada, grace = totals["Ada Lovelace"], totals["hopperg"]
    assert (ada["id"], ada["total"], ada["maximum"]) == ("123456", "5", "5")
    assert (grace["id"], grace["total"], grace["causal_mask"]) == ("4711", "2", "1")
    assert len(ada["version"]) == 8
    assert rows_of(folder / "moodle.csv")[0]["Identifier"] == "Participant 123456"
    assert {row[LESSON] for row in rows_of(folder / "canvas.csv")} == {"5", "2"}
    assert rows_of(folder / "nbgrader.csv")[0]["max_score"] == "5"
    pages = {path.name: path.read_text("utf-8") for path in (folder / "feedback").iterdir()}
    assert "5 of 5 parts are right" in pages[f"{moodle} work.html"]
    assert "padding_mask</b>: not attempted yet" in pages["hopperg_LATE_4711_98765_work.html"]
    again = []
    kept = grade.grade_folder(folder, folder / "grades.csv", not WALLS, again.append, resume=True)
    assert again == []
    assert len(kept) == len(rows)
