"""SmolLM learns a few instructions: what it reads, what is trained, what is stored."""

import importlib.util

import pytest

from helpers.data.instructions import instructions
from helpers.pretrained.measured import measured
from helpers.pretrained.smollm import END, PACKAGE, START
from helpers.training import second_patient
from recipes import second_patient as recipe


@pytest.mark.weekly
@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="SmolLM isn't installed")
def test_the_last_layers_learn_and_the_others_stay():
    patient = second_patient.load()
    first, last = patient.model.layers[0], patient.model.layers[-1]
    assert not any(p.requires_grad for p in first.parameters())
    ids = second_patient.prompt_of(patient, "Say: fox wolf.")
    assert ids.count(START) == 2
    assert ids.count(END) == 1
    second_patient.train(patient, instructions("train", 4, recipe.KINDS), rate=1e-2)
    assert last.self_attention.query_proj.up.any()
    assert len(second_patient.replies(patient, instructions("unseen", 2, recipe.KINDS), 3)) == 2


def test_what_is_stored_is_what_the_lesson_tells():
    stored = measured("second_patient")
    assert stored["kinds"] == list(recipe.KINDS)
    assert stored["n"] == recipe.N_ASKED
    assert [len(row["followed"]) for row in stored["runs"]] == [1, 3, 3]
