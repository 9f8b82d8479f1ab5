"""What keeps a kernel small: nothing is imported in vain, and freed memory goes back."""

import gc
import sys
import types

import pytest
import torch
from samples import python

from helpers.machine import memory
from helpers.training import optimizers


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


STEP = """
import sys, torch
from helpers.training.optimizers import Adam
from helpers.transformer.attention import MultiHeadAttention
layer, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
optimiser = Adam(layer.parameters())
layer(x, x, x, torch.ones(3, 3).tril() > 0)[0].sum().backward()
optimiser.step()
optimiser.zero_grad()
print({"torch._dynamo", "sympy"} & set(sys.modules))
"""


@pytest.mark.slow
def test_masked_attention_and_a_training_step_import_no_compiler():
    done = python("-c", STEP)
    assert done.stdout == "set()\n", done.stdout + done.stderr


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Muon"])
def test_the_lean_optimisers_take_pytorchs_steps(name):
    found = []
    for kind in (getattr(torch.optim, name), getattr(optimizers, name)):
        weights = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
        optimiser = kind([weights], lr=0.1, weight_decay=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            weights.square().sum().backward()
            optimiser.step()
            optimiser.load_state_dict(optimiser.state_dict())
        found.append(weights)
    assert torch.equal(*found)
