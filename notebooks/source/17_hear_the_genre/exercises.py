"""Lesson 17, hear the genre: nine steps of the assignment. Most tested ones stand in `genres`."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake
from helpers.training import genres


def stroke_grid(strokes, n_voices):
    """Lay a window out as loudness per step and voice: (n, 4) -> (32 · n_voices,)."""
    grid = torch.zeros(32, n_voices)
    for step, voice, velocity, _ in strokes.tolist():
        grid[step, voice] = max(grid[step, voice], velocity / 127)
    return grid.flatten()


def read_genre(x, real, layers, w):
    """Run tokens through layers and turn the class token into logits."""
    mask = F.pad(real, (1, 0), value=True)  # the class token is real, too
    for layer in layers:
        x = layer(x, mask[:, None, None])
    return x[:, 0] @ w


# Small inputs; every size differs from every other where it can.


def _strokes(generator, n, n_voices=9, last=32):
    """Draw n strokes in the order of their steps, some of them twice on the same place."""
    step = torch.randint(last, (n,), generator=generator).sort().values
    voice = torch.randint(n_voices, (n,), generator=generator)
    velocity = torch.randint(8, 120, (n,), generator=generator)
    for first, second in ((1, 2), (3, 4)):  # on the same place: louder first, louder last
        step[second], voice[second] = step[first], voice[first]
    velocity[[1, 4, -1]] = torch.tensor([126, 125, 127])
    late = torch.randint(1, 6, (n,), generator=generator)
    return torch.stack([step, voice, velocity, late], dim=1)


def _draw_strokes(generator):
    found = [(_strokes(generator, n), levels) for n, levels in [(6, 4), (8, 3), (9, 5)]]
    # Of 127 parts instead of 128, these two would be one level higher.
    found[1][0][0, 2], found[2][0][0, 2] = 85, 51
    return found


def _draw_windows(generator):
    for sizes, longest in [((3, 2), 4), ((2, 6, 4), 5), ((5, 3, 1), 4)]:
        windows = [torch.randint(32, (n, 2), generator=generator) for n in sizes]
        for window in windows:
            window[:, 1] = window[:, 1].sort().values
            # The softest stroke of the bass drum is a token, too, and it may come at once.
            window[0] = 0
        yield windows, longest


def _draw_timed(generator):
    for n, length, width in [(2, 3, 4), (3, 4, 5), (2, 6, 4)]:
        ids = torch.randint(1, 7, (n, length), generator=generator)
        steps = torch.randint(2, 32, (n, length), generator=generator).sort(dim=1).values
        tables = (torch.randn(size, width, generator=generator) for size in (7, 32))
        yield ids, steps, *tables, torch.randn(width, generator=generator)


def _layer(gain):
    """Make a small encoder layer: every token attends where it's allowed to, and adds the result."""

    def layer(x, mask):
        n, length = x.shape[:2]
        if mask is None:  # as for a real layer: all is allowed
            mask = torch.ones(n, 1, 1, length, dtype=torch.bool)
        shapes = (n, 1, 1, length), (n, 1, length, length)
        if mask.dtype != torch.bool or tuple(mask.shape) not in shapes:
            raise ValueError(
                f"each layer expects a boolean mask (N, 1, 1, 1 + T), here {(n, 1, 1, length)}; "
                f"got {str(mask.dtype).removeprefix('torch.')} {tuple(mask.shape)}."
            )
        scores = x @ x.mT / math.sqrt(x.shape[-1])
        weights = scores.masked_fill(~mask[:, 0], -1e9).softmax(-1)
        return x + gain * weights @ x

    return layer


def _draw_read(generator):
    for lengths, width, n_genres in [((3, 2), 4, 3), ((2, 5, 3), 5, 4), ((1, 6), 3, 2)]:
        longest = max(lengths)
        real = torch.arange(longest) < torch.tensor(lengths)[:, None]
        x = torch.randn(len(lengths), 1 + longest, width, generator=generator)
        w = torch.randn(width, n_genres, generator=generator)
        yield x, real, [_layer(0.5), _layer(-0.8), _layer(1.1)], w


def _draw_numbers(generator):
    first = torch.randint(6, (4,), generator=generator)
    yield first, first[[2, 0, 2]]  # all of them seen
    for n_train, n_test, n in [(7, 5, 6), (9, 6, 8), (8, 11, 9)]:
        train = torch.randint(n, (n_train,), generator=generator)
        test = torch.randint(n, (n_test,), generator=generator)
        train[0], test[0], test[1], test[2] = test[3], test[3], n + 2, n + 2
        yield train, test


def _draw_split(generator):
    for n_windows, n, share in [(9, 4, 0.4), (15, 7, 0.3), (10, 6, 0.05), (11, 5, 0.95)]:
        more = torch.randint(n, (n_windows - n,), generator=generator)
        numbers = torch.cat([torch.arange(n), more]).sort().values * 3 + 1
        known = numbers.unique()
        order = known[torch.randperm(len(known), generator=generator)]
        if order[0] == known[0]:  # else the first of the order is the smallest, too
            order = order.flip(0)
        yield numbers, order, share


def _draw_answers(generator):
    for counts, n_genres in [((5, 2, 1), 3), ((6, 3, 2, 1), 4), ((5, 0, 4), 3)]:
        labels = torch.cat([torch.full((n,), genre) for genre, n in enumerate(counts)])
        logits = torch.randn(len(labels), n_genres, generator=generator)
        logits[torch.arange(n_genres), torch.arange(n_genres)] += 4  # every genre is an answer
        logits[-1, labels[-1]] += 4
        yield logits, labels


def _draw_weights(generator):
    for n, n_beats in [(7, 8), (9, 6), (12, 8)]:
        weights = torch.randn(1 + n, generator=generator).softmax(-1)
        steps = torch.randint(4 * n_beats, (n,), generator=generator).sort().values
        yield weights, steps, n_beats


# The same written differently.


def _padded_by_pytorch(windows, longest):
    real = [torch.ones(min(len(window), longest), dtype=torch.bool) for window in windows]
    columns = [*([window[:longest, i] for window in windows] for i in range(2)), real]
    padded = (torch.nn.utils.rnn.pad_sequence(column, batch_first=True) for column in columns)
    return tuple(F.pad(part, (0, longest - part.shape[1])) for part in padded)


def _read_with_cat(x, real, layers, w):
    mask = torch.cat([torch.ones_like(real[:, :1]), real], dim=1)
    for layer in layers:
        x = layer(x, mask.unsqueeze(1).unsqueeze(1))
    return torch.einsum("bd,dg->bg", x[:, 0], w)


def _split_by_where(numbers, order, share):
    chosen = order[: round(share * len(order))]
    held_out = (numbers[:, None] == chosen).any(1)
    return torch.where(~held_out)[0], torch.where(held_out)[0]


def _balanced_by_weights(logits, labels):
    weight = 1 / labels.bincount()[labels]
    right = logits.argmax(-1) == labels
    return weight[right].sum() / weight.sum()


# fmt: off
EXERCISES = [
    Exercise(
        name="stroke_tokens", title="name every stroke",
        task="Turn strokes (n, 4), whose columns are step, voice, velocity (0 to 127) and lateness, into token ids (n,). Divide the velocities into n_levels equal ranges, so that level 0 is the softest. The id is voice · n_levels + level.",
        minutes=5, difficulty=2, importance=4,
        reference=genres.stroke_tokens, draw=_draw_strokes,
        mistakes=[
            Mistake("voice alone", "return", "voice",
                    "These are the voices. A loud stroke and a soft one of the same drum should get different ids."),
            Mistake("ids shared", "voice * n_levels + level", "voice + level",
                    "Different strokes share an id: voice 1 at level 0 and voice 0 at level 1 are both 1. Multiply the voice by the number of levels first."),
            Mistake("the top level for 127 alone", "velocity * n_levels // 128", "velocity * (n_levels - 1) // 127",
                    "Only a velocity of 127 gets the highest level, so the ranges aren't equal. Divide 128 values into n_levels ranges."),
            Mistake("one level too many", "// 128", "// 127",
                    "A velocity of 127 ends up at level n_levels, which is one too high, so its id belongs to the next voice. The velocities 0 to 127 are 128 values, so divide by 128."),
            Mistake("rounded to the nearest", "velocity * n_levels // 128", "(velocity * n_levels / 128).round().long()",
                    "Rounding to the nearest gives n_levels + 1 levels, from 0 to n_levels. Round down."),
        ],
        also_right=[lambda strokes, n: strokes[:, 1] * n + (strokes[:, 2] / 128 * n).floor().long()],
        hints=["velocity / 128 lies between 0 and 1. How do you turn it into a whole number from 0 to n_levels − 1?",
               "level = velocity * n_levels // 128",
               "voice * n_levels + level gives every pair its own id."],
        look_at="With one level, the token is just the drum. With 16 levels there are 144 tokens, and each is seen a quarter as often as with four.",
    ),
    Exercise(
        name="pad_windows", title="put windows into one table",
        task="From a list of windows, each (n, 2) with token id and step in its columns, make ids, steps and real, each (N, longest). If a window has more than longest strokes, keep the first ones. Fill the rest with zeros, and let real be True where there is a stroke.",
        minutes=6, difficulty=3, importance=4,
        reference=genres.pad_windows, draw=_draw_windows,
        mistakes=[
            Mistake("the mask inverted", "return", "(result[0], result[1], ~result[2])",
                    "`real` is True at the padding. In our masks, True means that there is something to attend to."),
            Mistake("padding on the left", "ids[i, : len(kept)] = kept[:, 0]", "ids[i, longest - len(kept) :] = kept[:, 0]",
                    "The strokes are at the end of each row. They should start at column 0, with the padding after them.",
                    also=(("steps[i, : len(kept)]", "steps[i, longest - len(kept) :]"), ("real[i, : len(kept)]", "real[i, longest - len(kept) :]"))),
            Mistake("the last strokes kept", "window[:longest]", "window[-longest:]",
                    "You kept the last strokes of a long window. Keep the first ones."),
            Mistake("token and step exchanged", "= kept[:, 0]", "= kept[:, 1]",
                    "Ids and steps are exchanged. The token is in column 0, the step in column 1.",
                    also=(("steps[i, : len(kept)] = kept[:, 1]", "steps[i, : len(kept)] = kept[:, 0]"),)),
            Mistake("padding told by its id", "return", "(result[0], result[1], result[0] != 0)",
                    "A soft stroke of the bass drum has id 0, too, and you've called it padding. Fill `real` from the number of strokes."),
        ],
        also_right=[_padded_by_pytorch],
        hints=["Make three tables of zeros of shape (len(windows), longest), one of them with dtype=torch.bool.",
               "In a loop over enumerate(windows): kept = window[:longest], then fill the first len(kept) columns of row i.",
               "ids[i, : len(kept)] = kept[:, 0]; steps[i, : len(kept)] = kept[:, 1]; real[i, : len(kept)] = True"],
        look_at="A padded place has id 0 and step 0, but so can a real stroke. Only the mask tells them apart.",
    ),
    Exercise(
        name="timed_tokens", title="find the bug: the drummer without a clock",
        task="Repair the function. It should add to each stroke's vector the vector of the step at which it sounds, and put the class token in front, without a step: (N, 1 + T, D). One line is wrong.",
        minutes=4, difficulty=2, importance=5,
        reference=genres.timed_tokens, draw=_draw_timed,
        mistakes=[
            Mistake("still as it was", "step_table[steps]", "step_table[: ids.shape[1]]",
                    "Compare the two printed lines: the windows differ in their steps, and yet their vectors are the same. Which part of the function depends on when a stroke sounds?"),
            Mistake("no time at all", " + step_table[steps]", "",
                    "The steps are missing altogether. Without them the encoder sees a bag of strokes."),
            Mistake("class token at the end", "[first, tokens]", "[tokens, first]",
                    "You've moved the class token to the end. That line was right as it was."),
            Mistake("without the class token", "return", "tokens",
                    "The class token is missing."),
            Mistake("step within the bar", "step_table[steps]", "step_table[steps % 16]",
                    "The steps were counted from each bar's beginning. The table has a row for each of the 32 steps."),
            Mistake("looked up by the token", "step_table[steps]", "step_table[ids]",
                    "The table of steps was read at the token's id. Read it at the steps."),
        ],
        also_right=[
            lambda ids, steps, table, times, token: torch.cat(
                [token.repeat(len(ids), 1)[:, None], table[ids] + times[steps]], dim=1
            ),
        ],
        hints=["Compare what happens to `steps` with what happens to `ids`.",
               "The function never uses its argument `steps`.",
               "tokens = table[ids] + step_table[steps]"],
        look_at="Run the cell above this one again: now the two windows differ, and only in the stroke that was moved.",
    ),
    Exercise(
        name="read_genre", title="from tokens to logits",
        task="Run x (N, 1 + T, D) through all layers, each called as layer(x, mask) with a mask (N, 1, 1, 1 + T) that hides the padding, and return the class token's vector @ w. The mask real (N, T) says which strokes are real; the class token isn't in it.",
        minutes=6, difficulty=3, importance=5,
        reference=genres.read_genre, plain=read_genre, draw=_draw_read,
        mistakes=[
            Mistake("padding attended", "F.pad(real, (1, 0), value=True)", "F.pad(torch.ones_like(real), (1, 0), value=True)",
                    "The padding isn't masked out. Then a window's genre would depend on how much padding follows it."),
            Mistake("class token masked out", "value=True", "value=False",
                    "The class token is masked out, so no token is allowed to attend to it, not even the class token itself. Its place in the mask should be True."),
            Mistake("read before the layers", "x = layer(x", "layer(x",
                    "The layers' results were thrown away, so the class token is the same for every window. Assign them: x = layer(x, …)."),
            Mistake("mean of all tokens", "x[:, 0]", "x.mean(1)",
                    "This averages all tokens, padding included. Read the class token."),
            Mistake("mean of the strokes", "x[:, 0]", "x[:, 1:].mean(1)",
                    "This averages the strokes, padding included. Read the class token."),
            Mistake("class token at the mask's end", "(1, 0), value=True", "(0, 1), value=True",
                    "The extra True is at the end of the mask. The class token comes first, so its True does, too."),
        ],
        also_right=[_read_with_cat],
        hints=["The mask has one more column than real: torch.nn.functional.pad(real, (1, 0), value=True) puts a True in front.",
               "Give it two dimensions for heads and queries: mask[:, None, None].",
               "for layer in layers: x = layer(x, mask[:, None, None]); then x[:, 0] @ w."],
        look_at="Only the input is new. From here on it's lesson 15's classifier, with strokes for patches.",
    ),
    Exercise(
        name="stroke_grid", title="the rival's input",
        task="Lay a window out as a grid of 32 steps × n_voices. Each entry is the velocity / 127 of the loudest stroke there, or 0. Return it flat, step by step: (32 · n_voices,).",
        minutes=5, difficulty=2, importance=3,
        reference=genres.stroke_grid, plain=stroke_grid, draw=lambda generator: [
            (_strokes(generator, n, v), v) for n, v in [(6, 3), (9, 4), (12, 9)]],
        mistakes=[
            Mistake("the last stroke wins", "max(grid[step, voice], velocity / 127)", "velocity / 127",
                    "If two strokes fall in the same place, the last one wins. Take the louder one."),
            Mistake("added up", "max(grid[step, voice], velocity / 127)", "grid[step, voice] + velocity / 127",
                    "Strokes in the same place were added up. Take the louder one."),
            Mistake("there or not", "max(grid[step, voice], velocity / 127)", "1",
                    "The grid says only whether there is a stroke. It should say how loud the stroke is."),
            Mistake("not flat", "grid.flatten()", "grid",
                    "This is still a table. Write it out as one row of 32 · n_voices numbers: flatten."),
            Mistake("not divided", "velocity / 127)", "velocity)",
                    "The velocities weren't divided by 127."),
        ],
        also_right=[
            lambda strokes, n: (strokes[:, 2, None] / 127 * F.one_hot(
                strokes[:, 0] * n + strokes[:, 1], 32 * n
            )).amax(0),
        ],
        hints=["Start with torch.zeros(32, n_voices), and loop over strokes.tolist().",
               "grid[step, voice] = max(grid[step, voice], velocity / 127)",
               "grid.flatten() writes it out step by step."],
        look_at="A linear model on this grid has one weight per step, voice and genre, 1,152 in all, and no attention.",
    ),
    Exercise(
        name="seen_share", title="how many test windows have been seen?",
        task="For each window, train (N,) and test (M,) hold the number of the performance that it was cut from. Return the share of test windows whose performance also has windows in train.",
        minutes=4, difficulty=2, importance=5,
        reference=genres.seen_share, draw=_draw_numbers,
        mistakes=[
            Mistake("the other way round", "torch.isin(test, train)", "torch.isin(train, test)",
                    "This is the share of *training* windows whose performance is tested. torch.isin(a, b) asks for each entry of a whether it's in b."),
            Mistake("a count", ".float().mean()", ".float().sum()",
                    "You've counted windows. To make it a share, divide by the number of test windows."),
            Mistake("performances counted once", "torch.isin(test, train)", "torch.isin(test.unique(), train)",
                    "You counted performances, and a long one counts as much as a short one. Count windows."),
            Mistake("any at all", ".float().mean()", ".any().float()",
                    "This says only whether any test window has been seen. Return the share."),
            Mistake("all of them", ".float().mean()", ".all().float()",
                    "This says only whether all test windows have been seen. Return the share."),
        ],
        also_right=[lambda train, test: (test[:, None] == train).any(1).float().mean()],
        hints=["For one test window: is its number among the numbers in train?",
               "torch.isin(test, train) asks that for all test windows at once.",
               "torch.isin(test, train).float().mean()"],
        look_at="If this isn't 0, the test asks in part whether the model has heard the recording before.",
    ),
    Exercise(
        name="split_by_performance", title="split by performance",
        task="numbers (N,) says which performance each window comes from, and order (P,) lists all performances in random order. Take the first round(share · P) performances for testing, and return two tensors of rows: the windows to train on and the windows to test, both in ascending order.",
        minutes=6, difficulty=3, importance=5,
        reference=genres.split_by_performance, draw=_draw_split,
        mistakes=[
            Mistake("windows instead of performances", "torch.isin(numbers, order[:n_test])", "torch.arange(len(numbers)) < round(share * len(numbers))",
                    "You took a share of the windows, so the performance at the border is on both sides. Choose performances, then take all of their windows."),
            Mistake("sides exchanged", "return", "result[::-1]",
                    "The two sides are exchanged. The windows to train on come first."),
            Mistake("the last ones tested", "order[:n_test]", "order[len(order) - n_test :]",
                    "You tested on the last performances of the order. Take the first ones, order[:n_test]."),
            Mistake("share for training", "round(share * len(order))", "round((1 - share) * len(order))",
                    "The share was kept for training. It's the share of performances to test."),
            Mistake("share of the windows", "share * len(order)", "share * len(numbers)",
                    "You took a share of the windows. It should be a share of the performances, len(order)."),
            Mistake("rounded down", "round(share * len(order))", "int(share * len(order))",
                    "int rounds down. Use round."),
            Mistake("numbers instead of rows", "return", "tuple(numbers[part] for part in result)",
                    "These are the performances' numbers. Return the rows, which say where the windows are."),
        ],
        also_right=[_split_by_where],
        hints=["First choose the performances: order[:round(share * len(order))].",
               "torch.isin(numbers, chosen) is True for each window of a chosen performance.",
               "held_out.nonzero()[:, 0] gives the rows where the mask is True, and (~held_out).nonzero()[:, 0] gives the others."],
        look_at="Only the performances are drawn at random. Each window follows its performance.",
    ),
    Exercise(
        name="balanced_accuracy", title="a measure that is fair to rare genres",
        task="From logits (N, n_genres) and labels (N,), find the share of right answers within each genre that occurs in the labels. Return the mean of these shares.",
        minutes=5, difficulty=2, importance=4,
        reference=genres.balanced_accuracy, draw=_draw_answers,
        mistakes=[
            Mistake("plain accuracy", "return", "right.mean()",
                    "That's the plain accuracy, in which a frequent genre counts more. Average within each genre first, then over the genres."),
            Mistake("by the answer", "right[labels == genre]", "right[logits.argmax(-1) == genre]",
                    "You grouped by the model's answer, which gives the precision. Group by the true genre."),
            Mistake("sum of the shares", "torch.stack(recalls).mean()", "torch.stack(recalls).sum()",
                    "The shares were added up. Take their mean."),
            Mistake("divided by all genres", "torch.stack(recalls).mean()", "torch.stack(recalls).sum() / logits.shape[-1]",
                    "A genre without a window was counted as 0. Average over the genres that occur in the labels."),
            Mistake("right refusals counted", "right[labels == genre].mean()", "((logits.argmax(-1) == genre) == (labels == genre)).float().mean()",
                    "Windows of other genres count here, too, whenever the answer isn't this genre. For each genre, look only at its own windows."),
        ],
        also_right=[_balanced_by_weights],
        hints=["right = (logits.argmax(-1) == labels).float() has one entry per window.",
               "right[labels == genre].mean() is the share for one genre; labels.unique() lists those that occur.",
               "torch.stack([right[labels == g].mean() for g in labels.unique()]).mean()"],
        look_at="Now jazz counts as much as rock, although there's far more rock.",
    ),
    Exercise(
        name="weight_per_beat", title="attention per beat",
        task="weights (1 + T,) is the class token's row of one attention map: its own weight first, then one per stroke. steps (T,) says when the strokes sound. Add up the strokes' weights per beat of four steps: (n_beats,).",
        minutes=4, difficulty=2, importance=3,
        reference=genres.weight_per_beat, draw=_draw_weights,
        mistakes=[
            Mistake("off by one", "weights[1:]", "weights[:-1]",
                    "The weights are off by one, because the class token's own weight comes first. The strokes' weights are weights[1:]."),
            Mistake("one stroke per beat", "index_add(0, beat, weights[1:])", "index_put((beat,), weights[1:])",
                    "Each beat has the weight of only one of its strokes. sums[beat] += … doesn't add up where a beat occurs twice; index_add does."),
            Mistake("place within the beat", "steps // 4", "steps % 4",
                    "steps % 4 is the place *within* a beat. The beat is steps // 4."),
            Mistake("step modulo beats", "steps // 4", "steps % n_beats",
                    "The step was taken modulo the number of beats. The beat is steps // 4."),
            Mistake("average per stroke", "return", "result / torch.zeros(n_beats).index_add(0, beat, torch.ones(len(steps))).clamp(min=1)",
                    "You averaged over the strokes of a beat. Add them up, so that all beats and the class token together have weight 1."),
        ],
        also_right=[lambda weights, steps, n: F.one_hot(steps // 4, n).float().T @ weights[1:]],
        hints=["Leave out the class token's own weight: weights[1:].",
               "steps // 4 says to which beat a stroke belongs.",
               "torch.zeros(n_beats).index_add(0, steps // 4, weights[1:])"],
        look_at="A beat with more strokes gets more weight even if attention is spread evenly, so compare with the share of strokes.",
    ),
]
