"""What keeps a kernel small: nothing is imported in vain, and freed memory goes back."""

import gc
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.machine import memory

ROOT = Path(__file__).resolve().parent.parent
# In a process of its own: what another test has imported stays imported.
WORK = """
import json, sys, torch
from torch.utils.flop_counter import FlopCounterMode
from helpers.machine import memory
if {lean}:
    memory.leave_the_compiler_out()
x = torch.ones(3, 3)
torch.testing.assert_close(x, x.clone())
with FlopCounterMode(display=False) as counter:
    x @ x
imported = sorted({{"sympy", "torch._dynamo"}} & set(sys.modules))
print(json.dumps([counter.get_total_flops(), imported]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("lean", "imported"), [(True, []), (False, ["sympy", "torch._dynamo"])])
def test_comparing_and_counting_do_without_the_compiler(lean, imported):
    done = subprocess.run(
        [sys.executable, "-c", WORK.format(lean=lean)], cwd=ROOT, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == [54, imported]


def test_comparing_and_counting_still_tell_what_differs():
    memory.leave_the_compiler_out()
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(torch.ones(2), torch.zeros(2))
    layer = torch.nn.Linear(4, 5)
    with FlopCounterMode(display=False) as counter:
        layer(torch.ones(2, 4)).sum().backward()
    assert counter.get_total_flops() == 2 * (2 * 2 * 4 * 5)  # forward, and the weight's gradient


def test_a_version_with_other_names_is_left_alone(monkeypatch):
    monkeypatch.delattr(torch.testing, "_comparison")
    monkeypatch.delattr("torch.utils.flop_counter._FlopCounterMode")
    memory.leave_the_compiler_out()
    assert not hasattr(torch.testing, "_comparison")


@pytest.fixture
def before_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("before_torch")
def test_no_garbage_is_looked_for_while_pytorch_is_imported():
    n_before = gc.get_freeze_count()
    with memory.nothing_collected():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > n_before


def test_afterwards_garbage_is_looked_for_as_ever():
    n_before = gc.get_freeze_count()
    with memory.nothing_collected():
        assert gc.isenabled()
    assert gc.get_freeze_count() == n_before


@pytest.mark.usefixtures("before_torch")
def test_whoever_has_turned_collecting_off_keeps_it_off():
    gc.disable()
    try:
        with memory.nothing_collected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def shell():
    registered = []
    events = types.SimpleNamespace(register=lambda *pair: registered.append(pair))
    return types.SimpleNamespace(events=events), registered


def test_memory_goes_back_after_every_cell_and_is_asked_for_once(monkeypatch):
    mine, registered = shell()
    given_back = []
    monkeypatch.setattr("IPython.get_ipython", lambda: mine)
    monkeypatch.setattr(memory, "_trim", lambda: given_back.append)
    memory.give_back_after_cells()
    memory.give_back_after_cells()
    ((event, function),) = registered
    assert event == "post_run_cell"
    function(None)
    assert given_back == [0]


def test_without_a_notebook_or_that_library_nothing_happens(monkeypatch):
    mine, registered = shell()
    monkeypatch.setattr(memory, "_trim", lambda: None)
    monkeypatch.setattr("IPython.get_ipython", lambda: mine)
    memory.give_back_after_cells()
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    memory.give_back_after_cells()
    assert not registered


@pytest.mark.skipif(sys.platform != "linux", reason="the GNU C library")
def test_the_library_gives_back():
    assert memory._trim() is None or memory._trim()(0) in (0, 1)
