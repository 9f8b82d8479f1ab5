"""What keeps a kernel small: nothing is imported in vain, and freed memory goes back."""

import gc
import sys
import types

import pytest

from helpers.machine import memory


@pytest.fixture
def before_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("before_torch")
def test_no_garbage_is_looked_for_while_pytorch_is_imported():
    n_before = gc.get_freeze_count()
    with memory.collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > n_before


@pytest.mark.usefixtures("before_torch")
def test_whoever_has_turned_collecting_off_keeps_it_off():
    gc.disable()
    try:
        with memory.collector_paused():
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
