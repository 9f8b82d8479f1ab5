"""Genres of drumming: the tables, the splits, the classifier, the rival, and what was measured."""

import re

import pytest
import torch
import torch.nn.functional as F
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks

from helpers import exercises
from helpers.training import genre_training, genres
from helpers.transformer.layers import EncoderLayer
from helpers.widgets.drum_roll import DrumRoll

WAYS = [(way, seed) for way in ("windows", "performances", "drummers") for seed in range(3)]


@pytest.fixture(scope="module")
def windows():
    return genres.genre_windows()


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return genres.GenreClassifier().eval()


def test_the_windows_are_those_of_the_four_largest_genres(windows):
    assert windows.genres.bincount().tolist() == [3293, 1803, 1242, 1141]
    assert min(map(len, windows.strokes)) >= 4
    few = windows.at([5, 7000])
    assert torch.equal(few.strokes[1], windows.strokes[7000])
    assert few.genres[1] == windows.genres[7000]
    assert few.bpm.tolist() == windows.bpm[[5, 7000]].tolist()


def test_tables_hold_every_stroke_with_its_step(windows):
    some = windows.at(range(0, 7000, 500))
    ids, steps, real = genres.tokenized(some)
    for i, strokes in enumerate(some.strokes):
        n = min(len(strokes), genres.LONGEST)
        assert real[i].sum() == n
        assert (ids[i, :n] // genres.N_LEVELS).tolist() == strokes[:n, 1].tolist()
        assert steps[i, :n].tolist() == strokes[:n, 0].tolist()
    assert ids.max() < genres.N_TOKENS


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, real, w: (x, F.pad(real, (1, 0), value=True), w),
        lambda x, real, w: (x[0], real[0], w),
        lambda x, real, w: (x, real[:2], w),
        lambda x, real, w: (x, real, w.T),
    ],
)
def test_sizes_that_do_not_fit_are_told_all_together(wrong):
    x, real, w = torch.randn(3, 6, 8), torch.ones(3, 5, dtype=torch.bool), torch.randn(8, 4)
    assert genres.read_genre(x, real, [], w).shape == (3, 4)
    x, real, w = wrong(x, real, w)
    with pytest.raises(ValueError, match=re.escape(f"got {tuple(x.shape)}, {tuple(real.shape)} ")):
        genres.read_genre(x, real, [], w)


def test_a_mask_of_the_wrong_shape_is_told_with_the_shape_that_a_layer_expects(own_folder):
    def answer(x, real, layers, w):
        for layer in layers:
            x = layer(x, F.pad(real, (1, 0), value=True))
        return x[:, 0] @ w

    verdict = exercises.check("read_genre", answer)
    assert "expects a boolean mask (N, 1, 1, 1 + T), here (2, 1, 1, 4); got bool (2, 4)" in (
        verdict.message
    )


@pytest.mark.parametrize(("way", "seed"), WAYS)
def test_a_split_keeps_apart_what_it_says(windows, way, seed):
    train, test = genres.split(windows, way, seed)
    assert torch.cat([train, test]).sort().values.tolist() == list(range(len(windows)))
    shared = genres.seen_share(windows.performances[train], windows.performances[test])
    assert shared > 0.9 if way == "windows" else shared == 0
    if way == "drummers":
        assert not torch.isin(windows.drummers[test], windows.drummers[train]).any()
    for rows in (train, test):  # nothing can be said of a genre that is missing
        assert windows.genres[rows].unique().tolist() == [0, 1, 2, 3]


def test_padding_and_the_order_of_the_list_change_nothing(windows, model):
    ids, steps, real = genres.tokenized(windows.at([52]))
    n = int(real.sum())

    def logits_of(*tables):
        return genre_training.logits_of(model, tables, torch.arange(1))

    alone, padded = logits_of(ids[:, :n], steps[:, :n], real[:, :n]), logits_of(ids, steps, real)
    torch.testing.assert_close(alone, padded)
    order = torch.randperm(n)
    mixed = logits_of(ids[:, order], steps[:, order], real[:, order])
    torch.testing.assert_close(alone, mixed)
    later = logits_of(ids, (steps + 1) % 32, real)
    assert (later - padded).abs().max() > 1e-3


def test_the_last_layer_computes_only_what_is_read_and_loses_nothing(windows):
    tables = [part[:6] for part in genres.tokenized(windows.at(range(0, 600, 100)))]
    short, whole = genres.GenreClassifier().double(), genres.GenreClassifier().double()
    whole.load_state_dict(short.state_dict())
    whole.layers[-1].__class__ = EncoderLayer
    shapes = []
    short.norm.register_forward_hook(lambda *call: shapes.append(call[-1].shape[1]))
    for training in (True, False):
        logits = [model.train(training)(*tables) for model in (short, whole)]
        torch.testing.assert_close(*logits)
        grads = [torch.autograd.grad(out[:, 1].sum(), list(m.parameters()))
                 for out, m in zip(logits, (short, whole), strict=True)]  # fmt: skip
        torch.testing.assert_close(*grads)
    assert shapes == [1, 1 + genres.LONGEST]


def test_attention_adds_up_over_class_token_and_beats(windows, model):
    ids, steps, real = genres.tokenized(windows.at([52]))
    row = model.attention_maps(ids, steps, real)[0, 1, 2, 0]
    beats = genres.weight_per_beat(row, steps[0], 8)
    assert beats.sum() + row[0] == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_training_lowers_the_loss_and_repeats_exactly(windows):
    tables, rows = genres.tokenized(windows), torch.arange(0, 7400, 37)
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        small = genres.GenreClassifier(d_model=16, d_ff=16)
        how = {"epochs": 6, "batch_size": 20, "progress": False}
        runs.append(genre_training.train_genres(small, tables, windows, rows, **how))
    assert runs[0] == runs[1]
    assert runs[0][-1] < runs[0][0] - 0.1


@pytest.fixture
def roll(windows, model):
    return DrumRoll(model, windows, [52, 1469, 399])


def test_every_part_of_the_roll_changes_the_picture_and_reset_brings_it_back(roll):
    assert check_the_still_picture(roll) <= 480
    changes = {"window": 1, "layer": 2, "head": 3, "token": 4, "muted": 2}
    check_that_every_change_shows(roll, changes)


def test_a_click_asks_from_a_stroke_and_muting_is_heard(roll):
    asked = [one["token"] for one in clicks(roll) if "token" in one]
    assert asked == list(range(1, len(roll.numbers["strokes"]) + 1))
    played = roll.numbers["strokes"][:, 1].unique().tolist()
    assert [one["muted"] for one in clicks(roll) if "muted" in one] == played
    assert "data-heard" in roll.svg
    before, everything = roll.numbers["chances"], roll.sound()
    voice = roll.numbers["strokes"][0, 1].item()
    roll.muted = voice
    assert voice not in roll.numbers["strokes"][:, 1]
    assert roll.sound() != everything
    assert not torch.equal(roll.numbers["chances"], before)
    assert roll._shown["sound"]
    assert sorted(roll.numbers["without"]) == [-1, *played]
    roll.window = 1
    assert "Without" not in roll.tell()[0]


def test_leaving_a_drum_out_keeps_the_chosen_stroke_or_goes_back_to_the_class_token(roll):
    strokes = roll.numbers["strokes"]
    later = (strokes[:, 1] != strokes[0, 1]).nonzero()[0].item()
    roll.take({"token": later + 1})
    chosen = roll._where()
    roll.muted = strokes[0, 1].item()
    assert roll._where() == chosen
    assert torch.equal(roll.numbers["strokes"][roll.numbers["asked"] - 1], strokes[later])
    roll.muted = strokes[later, 1].item()
    assert roll._where() == ["the class token"]


def test_the_roll_names_a_stroke_by_the_beats_that_stand_above_it(roll):
    steps = roll.numbers["strokes"][:, 0]
    for off, word in ((False, "on"), (True, "in")):  # of the second bar, on a beat and after it
        late = ((steps >= 16) & ((steps % 4 > 0) == off)).nonzero()[0].item()
        roll.take({"token": late + 1})
        beat = steps[late].item() // 4 - 3
        assert f"{word} beat {beat} of bar 2" in roll.describe()
        assert f"{word} beat {beat} of bar 2" in roll.svg
