"""Run JavaScript in node, where it's on this machine."""

import json
import shutil
import subprocess

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="node is not on this machine (Debian and Ubuntu: apt install nodejs)"
)
MODULE = ("--input-type=module", "--eval")  # and then the text of one


def answered(*arguments, feed):
    """Run node; it reads `feed` and writes what is returned, both as JSON."""
    done = subprocess.run(
        [NODE, *arguments], input=json.dumps(feed), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
