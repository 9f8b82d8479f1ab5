"""Page 96, the clinic: three probes that need no answer key."""

import torch

from helpers.exercises.model import Exercise, Mistake


def future_leak(model, ids, new_token):
    """Change the last token; return by how much an earlier output moves at most."""
    before = model(ids)
    changed = ids.clone()
    changed[:, -1] = new_token
    after = model(changed)
    return (after - before)[:, :-1].abs().max()


def padding_leak(model, ids, pad_id, n_pads):
    """Append padding; return by how much the output of a real token moves at most."""
    before = model(ids)
    padding = torch.full((ids.shape[0], n_pads), pad_id)
    after = model(torch.cat([ids, padding], dim=1))
    return (after[:, : ids.shape[1]] - before).abs().max()


def batch_leak(model, ids, new_row):
    """Replace the first sentence; return by how much another one's output moves at most."""
    before = model(ids)
    changed = ids.clone()
    changed[0] = new_row
    after = model(changed)
    return (after - before)[1:].abs().max()


def _toy(generator, weights):
    """Make a model from a matrix of weights that ids decide about: (B, T) -> (B, T, 4)."""
    table = torch.randn(12, 4, generator=generator)
    return lambda ids: weights(ids) @ table[ids]


def _draw_future(generator):
    for length, batch, above in ((3, 1, 0.4), (4, 2, 0.0), (5, 2, 0.3), (6, 2, 0.2)):
        mask = torch.rand(length, length, generator=generator)
        mask = mask.tril() + above * torch.rand(length, length, generator=generator).triu(1)
        ids = torch.randint(1, 9, (batch, length), generator=generator)
        yield _toy(generator, lambda _, mask=mask: mask), ids, 9 + length % 3


def _draw_padding(generator):
    for length, n_pads, counts, pad_id in (
        (3, 2, 0.2, 0),
        (4, 3, 0.3, 11),
        (4, 1, 0.0, 0),
        (5, 2, 0.4, 11),
    ):

        def weights(ids, counts=counts, pad_id=pad_id):
            share = (ids != pad_id).float() + counts * (ids == pad_id)
            return share[:, None, :].expand(-1, ids.shape[1], -1) + torch.eye(ids.shape[1])

        ids = torch.randint(1, 11, (2, length), generator=generator)
        yield _toy(generator, weights), ids, pad_id, n_pads


def _draw_batch(generator):
    for batch, length, mixes in ((2, 3, 0.5), (3, 3, 0.0), (3, 4, 0.5), (4, 3, 0.25), (4, 4, 0.4)):
        one = _toy(generator, lambda ids: torch.eye(ids.shape[1]) + 0.5)

        def model(ids, one=one, mixes=mixes):
            out = one(ids)
            return out + mixes * out.mean(0)

        ids = torch.randint(0, 6, (batch, length), generator=generator)
        new_row = torch.randint(6, 12, (length,), generator=generator)
        yield model, ids, new_row


def _future_in_one_line(model, ids, new_token):
    changed = torch.cat([ids[:, :-1], torch.full_like(ids[:, :1], new_token)], 1)
    return (model(changed) - model(ids))[:, :-1].abs().max()


def _padding_in_one_line(model, ids, pad_id, n_pads):
    padded = torch.nn.functional.pad(ids, (0, n_pads), value=pad_id)
    return (model(padded)[:, : ids.shape[1]] - model(ids)).abs().amax()


def _batch_stacked(model, ids, new_row):
    changed = torch.cat([new_row[None], ids[1:]])
    return (model(changed)[1:] - model(ids)[1:]).abs().max()


EXERCISES = [
    Exercise(
        name="future_leak", title="does it see the future?",
        task="model maps ids (B, T) to outputs (B, T, D). Change every sentence's last token to "
             "new_token. Return the largest amount by which any output before the last one moves. "
             "Leave ids itself as it is.",
        minutes=4, difficulty=2, importance=5,
        reference=future_leak, draw=_draw_future,
        mistakes=[
            Mistake("the last output counts too", "[:, :-1].abs()", ".abs()",
                    "You also compare the last output. Is that one allowed to depend on the last token?"),
            Mistake("one sentence only", "changed[:, -1]", "changed[0, -1]",
                    "You change the first sentence only. The task asks for every sentence's last token."),
            Mistake("the first token changed", "changed[:, -1]", "changed[:, 0]",
                    "You change the first token. Every output is allowed to depend on that one."),
            Mistake("signs kept", ".abs().max()", ".max()",
                    "A move downwards counts as well, so the sign has to go."),
            Mistake("mean instead of the largest", ".abs().max()", ".abs().mean()",
                    "The task asks for the largest move. In a mean, one leaking position hides among many."),
        ],
        also_right=[_future_in_one_line],
        hints=["Run the model twice, on ids and on a changed copy. Which outputs have to agree?",
               "ids.clone() makes the copy, and changed[:, -1] is its last token.",
               "(model(changed) - model(ids))[:, :-1].abs().max()"],
        look_at="The probe needs no answer key, because it compares the model with itself.",
        then="A healthy model scores exactly 0. The cell below runs your probe on two models.",
    ),
    Exercise(
        name="padding_leak", title="does padding count?",
        task="Append n_pads tokens pad_id to every sentence of ids (B, T). Return the largest amount "
             "by which the output of any real token moves.",
        minutes=4, difficulty=2, importance=5,
        reference=padding_leak, draw=_draw_padding,
        mistakes=[
            Mistake("padding in front", "[ids, padding]", "[padding, ids]",
                    "You put the padding in front of the words. Where are the real tokens' outputs now?"),
            Mistake("the last outputs compared", "after[:, : ids.shape[1]]", "after[:, -ids.shape[1] :]",
                    "You compare the last outputs, and some of those belong to padding."),
            Mistake("a word instead of padding", "pad_id)", "1)",
                    "You appended token 1. Is that what stands for padding here?"),
            Mistake("signs kept", ".abs().max()", ".max()",
                    "A move downwards counts as well, so the sign has to go."),
            Mistake("mean instead of the largest", ".abs().max()", ".abs().mean()",
                    "The task asks for the largest move, and the mean hides it."),
        ],
        also_right=[_padding_in_one_line],
        hints=["torch.full makes the padding, torch.cat appends it. Which outputs belong to real tokens?",
               "The real tokens' outputs are the first T: after[:, :T].",
               "(model(torch.cat([ids, padding], 1))[:, :T] - model(ids)).abs().max()"],
        look_at="Two runs of different length can differ in the seventh digit. A leak is far larger.",
        then="This is how you find out whether the longest sentence of a batch changes what comes out for the others.",
    ),
    Exercise(
        name="batch_leak", title="do sentences mix?",
        task="Replace the first sentence of ids (B, T) with new_row (T,). Return the largest amount by "
             "which the output of any other sentence moves. Leave ids itself as it is.",
        minutes=3, difficulty=2, importance=4,
        reference=batch_leak, draw=_draw_batch,
        mistakes=[
            Mistake("the new sentence counts too", "[1:].abs()", ".abs()",
                    "You also compare the sentence that you replaced. That one is allowed to move."),
            Mistake("a token of all sentences replaced", "changed[0] = new_row", "changed[:, 0] = new_row[0]",
                    "changed[:, 0] is the first token of every sentence. Which axis holds the sentences?"),
            Mistake("mean instead of the largest", ".abs().max()", ".abs().mean()",
                    "The task asks for the largest move, and the mean hides it."),
            Mistake("the last sentence replaced", "changed[0] = new_row", "changed[-1] = new_row",
                    "You replaced the last sentence, and that one is among those you compare."),
            Mistake("signs kept", ".abs().max()", ".max()",
                    "A move downwards counts as well, so the sign has to go."),
        ],
        also_right=[_batch_stacked],
        hints=["Axis 0 holds the sentences. Which of them have to stay as they were?",
               "Copy ids, set changed[0] = new_row, run both, and leave out row 0.",
               "(model(changed) - model(ids))[1:].abs().max()"],
        look_at="One comparison is enough to find a missing batch_first=True.",
        then="The same three probes are the first ones that the clinic runs.",
    ),
]  # fmt: skip
