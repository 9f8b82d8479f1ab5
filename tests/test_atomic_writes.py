"""Files appear whole or not at all, whoever writes, whatever goes wrong."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from samples import python

from helpers.machine import atomic_writes
from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

needs_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")


def write(path, text):
    with atomic_write(path) as partial:
        partial.write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path):
    path = tmp_path / "file"
    write(path, "old")
    with atomic_write(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write(path, "old")

    def fail():
        with atomic_write(path) as partial:
            partial.write_text("ne")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_threads_do_not_write_into_each_others_partial_file(tmp_path):
    path, together = tmp_path / "file", threading.Barrier(8, timeout=60)

    def write_slowly(letter):
        with atomic_write(path) as partial:
            together.wait()
            partial.write_text(letter * 1000)
            together.wait()

    with ThreadPoolExecutor(8) as pool:
        assert len([*pool.map(write_slowly, "abcdefgh")]) == 8
    assert len(path.read_text()) == 1000
    assert len(set(path.read_text())) == 1
    assert names(tmp_path) == ["file"]


KILLED = """
import os, signal, sys
from pathlib import Path
from helpers.machine.atomic_writes import atomic_write
with atomic_write(Path(sys.argv[1])) as partial:
    partial.write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_posix
def test_what_a_killed_process_left_behind_is_removed_later(tmp_path):
    path = tmp_path / "a[0]"  # its name is no pattern
    write(path, "old")
    assert python("-c", KILLED, str(path)).returncode < 0
    assert path.read_text() == "old"
    (left,) = [name for name in names(tmp_path) if name.endswith(".partial")]
    write(path, "new")  # it might still be written by another process: it stays
    assert names(tmp_path) == ["a[0]", left]
    long_ago = time.time() - 2 * atomic_writes.ABANDONED
    os.utime(tmp_path / left, (long_ago, long_ago))
    (tmp_path / "a0.1.partial").touch()
    os.utime(tmp_path / "a0.1.partial", (long_ago, long_ago))
    write(path, "newer")
    assert names(tmp_path) == ["a0.1.partial", "a[0]"]  # another file's is none of its business


@needs_posix
def test_links_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    write(real, "old")
    real.chmod(0o600)
    link.symlink_to(real)
    write(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_fingerprint_is_the_published_sha_256():
    # FIPS 180-2, appendix B.1
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert fingerprint("abc") == fingerprint(b"abc") == abc
    assert fingerprint("é") == fingerprint("é".encode())
