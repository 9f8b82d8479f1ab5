"""What a learner has done is kept, whoever else is writing and whatever the disk says."""

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from samples import once_a_week, raising, refuses

from helpers import exercises
from helpers.exercises.model import catalogue

# The function of this name hides the module from an ordinary import.
progress = sys.modules["helpers.exercises.progress"]
DONE = {"state": "done", "tries": 1}
pytestmark = pytest.mark.usefixtures("own_folder")


def solve(name="causal_mask"):
    return exercises.check(name, exercises.reference(name))


def test_progress_that_cannot_be_read_now_is_not_overwritten(monkeypatch):
    solve()
    kept = progress._path().read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", raising(PermissionError("in use by another program")))
        progress.record("exercises", "padding_mask", True)
        assert progress.load()["exercises"] == {"padding_mask": DONE}, "known, though not saved"
        assert progress._path().read_bytes() == kept
    progress.record("questions", "later", True)
    assert set(progress.load()["exercises"]) == {"causal_mask", "padding_mask"}


def test_progress_counts_and_knows_the_minutes_left():
    before = {row[0]: row for row in exercises.progress().rows}["04"]
    solve()
    exercises.check("padding_mask", lambda ids, pad: ids)
    after = {row[0]: row for row in exercises.progress().rows}["04"]
    minutes = catalogue()[0]["causal_mask"].minutes
    assert after[1:] == (before[1] + 1, before[2] + 1, before[3] - 2, before[4] - minutes)
    assert "04" in repr(exercises.progress())
    assert "<table>" in exercises.progress()._repr_html_()


DAMAGES = ["", "{", "[]", '{"exercises": 3, "questions": {}}', "\x00"]
DAMAGES += [
    json.dumps({"exercises": {"causal_mask": DONE | wrong}, "questions": {}})
    for wrong in ({"state": "?"}, {"tries": "1"})
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_set_aside(damage, tmp_path, capsys):
    (tmp_path / progress.HOME).mkdir()
    (tmp_path / progress.HOME / progress.FILE).write_text(damage)
    solve()
    assert progress.load()["exercises"] == {"causal_mask": DONE}
    (aside,) = tmp_path.rglob(f"{progress.FILE}.damaged-*")
    assert aside.read_text() == damage
    assert "damaged" in capsys.readouterr().out


@pytest.fixture
def full_disk(monkeypatch):
    """Refuse every write until it is given back."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", raising(OSError(28, "No space left on device")))
        yield patched


def test_a_full_disk_is_said_once_and_nothing_is_lost(full_disk, capsys):
    assert solve().passed
    assert solve("padding_mask").passed
    assert capsys.readouterr().out.count("No space left on device") == 1
    assert set(progress.load()["exercises"]) == {"causal_mask", "padding_mask"}
    full_disk.undo()
    assert progress.record("questions", "a", True) == ""
    kept = json.loads(progress._path().read_text())
    assert set(kept["exercises"]) == {"causal_mask", "padding_mask"}
    assert set(kept["questions"]) == {"a"}


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path, monkeypatch, capsys):
    # Not by its mode, which an administrator need not mind: by a path through a file.
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "folder"))
    quiz = exercises.quiz("how_many_scores")
    quiz.field.value = "80000"
    quiz.button.click()
    assert "be saved at the moment" in quiz.said.value
    quiz.button.click()
    assert "be saved at the moment" not in quiz.said.value
    assert solve().passed
    assert capsys.readouterr().out.count("be saved at the moment") == 0
    assert exercises.progress().rows
    assert "how_many_scores" in exercises.export_progress()


def test_the_folder_can_be_chosen(tmp_path, monkeypatch):
    (tmp_path / "chosen").mkdir()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "chosen"))
    solve()
    assert (tmp_path / "chosen" / progress.FILE).exists()
    assert not (tmp_path / progress.FILE).exists()


# What is kept.


def test_tries_and_the_last_named_mistake_are_kept():
    exercises.check("causal_mask", lambda length: None or length)
    first = progress.load()["exercises"]["causal_mask"]
    assert (first["state"], first["tries"]) == ("attempted", 1)
    assert first["mistake"]
    solve()
    assert progress.load()["exercises"]["causal_mask"] == {**first, "state": "done", "tries": 2}
    solve()
    exercises.check("causal_mask", lambda length: None or length)
    now = progress.load()["exercises"]["causal_mask"]
    assert (now["state"], now["tries"]) == ("done", 2), "what is done stays done, and tried no more"


def test_no_code_and_no_time_is_kept(tmp_path):
    solve()
    exercises.check("padding_mask", lambda ids, pad: ids)
    kept = json.loads(progress._path().read_text())
    fields = {field for kind in kept.values() for entry in kind.values() for field in entry}
    assert fields <= {"state", "tries", "mistake"}


def test_export_and_import_carry_everything(tmp_path, monkeypatch):
    solve()
    exercises.check("attend", lambda query, keys, values: query)
    progress.update("predictions", "p", lambda _: {"guess": "a", "confidence": "sure"})
    before, text = progress.load(), exercises.export_progress()
    assert "\n" not in text
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    exercises.check("causal_mask", lambda length: length)
    exercises.import_progress(text)
    state = progress.load()
    assert state["exercises"]["causal_mask"]["state"] == "done"
    assert state["predictions"] == before["predictions"]
    assert state["exercises"]["attend"] == before["exercises"]["attend"]
    exercises.import_progress(json.dumps({"exercises": {"attend": DONE}, "questions": {}}))
    assert progress.load()["exercises"]["attend"]["state"] == "done"
    for nonsense in ("nonsense", "[]", '{"exercises": {"a": 3}, "questions": {}}'):
        refuses("export_progress", exercises.import_progress, nonsense)


# Many at once.


def record_a_hundred(n):
    for i in range(100):
        progress.record("exercises", f"{n}_{i}", True)


@pytest.mark.slow
@pytest.mark.parametrize("notebooks", once_a_week([4, 10], [4]))
def test_notebooks_that_write_at_once_lose_nothing(notebooks):
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    running = [context.Process(target=record_a_hundred, args=(n,)) for n in range(notebooks)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * notebooks
    wanted = {f"{n}_{i}" for n in range(notebooks) for i in range(100)}
    assert set(progress.load()["exercises"]) == wanted


@pytest.mark.slow
def test_eight_threads_lose_nothing():
    def work(n):
        for i in range(30):
            progress.record("questions", f"{n}_{i}", False)

    with ThreadPoolExecutor(8) as pool:
        assert len([*pool.map(work, range(8))]) == 8
    assert len(progress.load()["questions"]) == 240


def test_what_a_held_lock_kept_out_is_saved_with_the_next_record(monkeypatch):
    held = TimeoutError(110, "another notebook has been saving for too long")
    with monkeypatch.context() as patched:
        patched.setattr(progress, "locked", raising(held))
        assert "too long" in progress.record("questions", "first", True)
    assert progress.record("questions", "second", True) == ""
    assert set(json.loads(progress._path().read_text())["questions"]) == {"first", "second"}


def test_what_could_not_be_saved_is_tried_once_more_at_the_end(full_disk):
    progress.record("questions", "a", True)
    assert not progress._path().exists()
    full_disk.undo()
    progress._save_the_rest()
    assert set(json.loads(progress._path().read_text())["questions"]) == {"a"}


def test_a_drive_without_locks_is_written_all_the_same(monkeypatch):
    no_locks = raising(NotImplementedError("no locks here"))
    monkeypatch.setattr(progress.filelock.FileLock, "acquire", no_locks)
    solve()
    assert progress.load()["exercises"]["causal_mask"] == DONE


def test_an_import_overwrites_nothing_of_ones_own():
    mine = {"guess": "left", "confidence": "sure"}
    progress.update("predictions", "a", lambda _: dict(mine))
    progress.record("exercises", "attend", True, "")
    progress.record("exercises", "attend", True, "")
    theirs = json.loads(exercises.export_progress())
    theirs["predictions"] = {
        "a": {"guess": "right", "confidence": "guess", "right": True},
        "b": {"guess": 3, "confidence": "think"},
    }
    theirs["exercises"]["attend"] = {"state": "attempted", "tries": 5, "mistake": "no scaling"}
    theirs["exercises"]["causal_mask"] = {"state": "done", "tries": 2}
    exercises.import_progress(json.dumps(theirs))
    state = progress.load()
    assert state["predictions"]["a"] == mine, "their guess was right, mine isn't known to be"
    assert state["predictions"]["b"]["guess"] == 3
    assert state["exercises"]["attend"]["state"] == "done"
    assert state["exercises"]["attend"]["tries"] == 5
    assert state["exercises"]["causal_mask"] == {"state": "done", "tries": 2}
