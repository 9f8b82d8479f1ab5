"""Lesson 20, look inside."""

from itertools import accumulate

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal


def lens(stream, gain, embedding):
    """Turn residual streams into logits as if the model ended there, (L, D) -> (L, V)."""
    root = (stream**2).mean(-1, keepdim=True).add(1e-5).sqrt()
    normed = stream / root * gain
    return normed @ embedding.T


def patch(layers, x, source, layer, position):
    """Run all layers, with one vector taken from another run, (T, D) -> (T, D)."""
    for number, run in enumerate(layers):
        if number == layer:
            x = x.clone()
            x[position] = source[layer][position]
        x = run(x)
    return x


def mean_ablate(outputs, head):
    """Give a head its mean output everywhere, (B, T, H, K) -> (B, T, H, K)."""
    changed = outputs.clone()
    changed[:, :, head] = outputs[:, :, head].mean((0, 1))
    return changed


def head_share(heads, w_o, head):
    """Compute what one head adds to the residual stream, (H, T, K) -> (T, D)."""
    width = heads.shape[-1]
    columns = w_o[:, head * width : (head + 1) * width]
    return heads[head] @ columns.T


def patch_path(parts, x, change, receivers):
    """Let only some parts see a change, (T, D) -> (T, D)."""
    was, x = x, x + change
    for number, part in enumerate(parts):
        seen = x if number in receivers else was
        x, was = x + part(seen), was + part(was)
    return x


def _layer(generator, length, width):
    """Make a layer that mixes positions and isn't linear."""
    mix = torch.rand(length, length, generator=generator).tril()
    turn = torch.randn(width, width, generator=generator)

    def run(x):
        return x + torch.tanh(mix @ x @ turn)

    return run


def _draw_runs(generator):
    for n, length, width, layer, position in ((2, 2, 2, 0, 1), (3, 3, 2, 1, 1), (3, 4, 3, 2, 2)):
        layers = [_layer(generator, length, width) for _ in range(n)]
        source, x = torch.randn(2, length, width, generator=generator)
        rows = list(accumulate(layers, lambda x, run: run(x), initial=source))
        yield layers, x, rows, layer, position


def _patched_by_copies(layers, x, source, layer, position):
    rows = torch.arange(len(x))[:, None] == position
    for number, run in enumerate(layers):
        x = run(torch.where(rows, source[number], x) if number == layer else x)
    return x


def _draw_paths(generator):
    for n, receivers in ((2, {1}), (3, {0, 2}), (4, {1, 2}), (3, set())):
        layers = [_layer(generator, n, 2) for _ in range(n)]
        parts = [lambda x, run=run: run(x) - x for run in layers]
        yield parts, *torch.randn(2, n, 2, generator=generator), receivers


def _paths_by_difference(parts, x, change, receivers):
    for number, part in enumerate(parts):
        added = part(x)
        if number in receivers:
            change = change + part(x + change) - added
        x = x + added
    return x + change


def _after_the_layer(layers, x, source, layer, position):
    for number, run in enumerate(layers):
        x = run(x)
        if number == layer:
            x = x.clone()
            x[position] = source[layer][position]
    return x


# fmt: off
EXERCISES = [
    Exercise(
        name="lens", title="what would it say here?",
        task="stream holds the residual stream after each layer, at one position. Return logits as if the model ended there: its last RMSNorm (gain, eps 1e-5), then the transposed embedding. (L, D) to (L, V).",
        minutes=3, difficulty=1, importance=4,
        pytorch="`F.rms_norm(x, x.shape[-1:], gain, 1e-5)` is the RMSNorm of lesson 19. `embedding.T` turns (V, D) into (D, V).",
        reference=lens, draw=normal(
            "n d, d, v d", (1, 2, 3, 2.0), (3, 4, 5, 0.5), (4, 3, 6, 3.0),
            then=lambda stream, gain, table, size: (size * stream, gain.abs() + 0.5, table)),
        then="The next cell uses it to follow six capitals through all 30 layers.",
        mistakes=[
            Mistake("no final norm", "normed @ embedding.T", "stream @ embedding.T",
                    "The stream went into the output as it is. The model normalises it first, with a gain that stretches some features far more than others."),
            Mistake("no gain", "stream / root * gain", "stream / root",
                    "The gain is missing. The model scales some features down before the output, and here they stay too large."),
            Mistake("layer norm", "root = (stream**2)", "stream = stream - stream.mean(-1, keepdim=True)\n    root = (stream**2)",
                    "The mean was subtracted: that's LayerNorm. SmolLM's last norm is an RMSNorm."),
            Mistake("gain without the norm", "stream / root * gain", "stream * gain",
                    "The gain is there, but nothing has been normalised. An RMSNorm divides each vector by the root of its mean square first."),
            Mistake("no mean", ".mean(-1, keepdim=True)", ".sum(-1, keepdim=True)",
                    "The squares were added up, not averaged, so the logits come out too small."),
            Mistake("gain first", "root = (stream**2)", "stream = stream * gain\n    root = (stream**2)",
                    "The gain came before the norm, so it changes the root as well. In which order does an RMSNorm do the two?", also=(("stream / root * gain", "stream / root"),)),
            Mistake("no root", ".add(1e-5).sqrt()", ".add(1e-5)",
                    "The stream was divided by its mean square. It should be divided by the root of that."),
        ],
        also_right=[
            lambda s, g, e: torch.stack([F.rms_norm(x, x.shape, g, 1e-5) @ e.T for x in s]),
            lambda s, g, e: F.linear(s * torch.rsqrt(s.square().mean(-1, keepdim=True) + 1e-5), e * g),
        ],
        hints=["What comes between the last layer and the logits in lesson 19's read(...)?",
               "The norm has a gain, and the output is the embedding once more.",
               "F.rms_norm(stream, stream.shape[-1:], gain, 1e-5) @ embedding.T"],
        look_at="A lens has no weights of its own. It lets the model's last two steps read an unfinished vector.",
    ),
    Exercise(
        name="patch", title="replace one vector",
        task="layers is a list of functions, and x goes into the first. Run them all, but just before layer `layer`, replace x[position] by source[layer][position]. source[i] is what went into layer i in the other run. Return what the last layer returns.",
        minutes=4, difficulty=2, importance=5,
        pytorch="`enumerate(layers)` counts from 0. `x = x.clone()` makes a copy, so that `x[2] = v` leaves the original as it was.",
        reference=patch, draw=_draw_runs,
        then="The next cell runs SmolLM on the sentence about Germany, with one vector from the sentence about France.",
        mistakes=[
            Mistake("after the layer", _after_the_layer,
                    "The vector was put in after the layer had run. source[layer] went *into* that layer, so it belongs in front of it."),
            Mistake("the last position", "x[position] = source[layer][position]", "x[-1] = source[layer][-1]",
                    "You always replace the last position. Which one was asked for?"),
            Mistake("another layer's vector", "source[layer]", "source[layer + 1]",
                    "That vector belongs to the next layer. source[layer] is what went into layer `layer`."),
            Mistake("added", "x[position] = source[layer][position]", "x[position] = x[position] + source[layer][position]",
                    "The vector was added to the old one. Replace it."),
            Mistake("early layers skipped", "x = run(x)", "x = run(x) if number >= layer else x",
                    "The layers before layer `layer` haven't run, so the other positions still hold what goes into layer 0."),
            Mistake("all positions", "x[position] = source[layer][position]", "x[:] = source[layer]",
                    "You replaced all positions, so what you get is just the other run. Replace one."),
        ],
        also_right=[_patched_by_copies],
        hints=["Loop over the layers with their numbers. At what point should x change?",
               "if number == layer: change x[position], and then let the layer run as usual.",
               "if number == layer:\n    x = x.clone()\n    x[position] = source[layer][position]\nx = run(x)"],
        look_at="Everything before the patch and everything after it is the model as it was. Any change in the answer must have come through this one vector.",
    ),
    Exercise(
        name="mean_ablate", title="silence a head gently",
        task="outputs (B, T, H, K) is the output of all heads for a batch of texts. Return a copy in which one head always outputs its mean over all texts and positions, a vector of K numbers.",
        minutes=3, difficulty=2, importance=4,
        pytorch="`x.mean((0, 1))` averages over the first two dimensions: (B, T, K) becomes (K,).",
        reference=mean_ablate,
        draw=normal("b t h k", (2, 2, 2, 2, 0), (2, 3, 3, 2, 1), (3, 2, 4, 3, 2)),
        then="The next cell uses it to silence the eight heads.",
        mistakes=[
            Mistake("zero", "outputs[:, :, head].mean((0, 1))", "0.0",
                    "This sets the head to zero, but its output may never be zero. The mean keeps what the head always adds."),
            Mistake("mean over positions only", ".mean((0, 1))", ".mean(1, keepdim=True)",
                    "Each text got a mean of its own, so the head can still say something about its text."),
            Mistake("mean over texts only", ".mean((0, 1))", ".mean(0)",
                    "Each position got a mean of its own. Average over positions as well."),
            Mistake("one number", ".mean((0, 1))", ".mean()",
                    "The K numbers were averaged too. The mean is a vector with K entries."),
            Mistake("only over the K numbers", ".mean((0, 1))", ".mean(-1, keepdim=True)",
                    "The K numbers were averaged, and texts and positions were not. It should be the other way round."),
            Mistake("all heads", "changed[:, :, head] = outputs[:, :, head].mean((0, 1))", "changed[:] = outputs.mean((0, 1))",
                    "All heads were silenced. The others should stay as they are."),
        ],
        also_right=[lambda o, h: torch.where(torch.arange(o.shape[2])[:, None] == h, o.mean((0, 1)), o)],
        hints=["Which two of the four dimensions are texts and positions?",
               "outputs[:, :, head] is (B, T, K), and its mean over the first two is (K,).",
               "changed[:, :, head] = outputs[:, :, head].mean((0, 1))"],
        look_at="The mean keeps what the head outputs for every text. Whatever depends on the text is gone.",
    ),
    Exercise(
        name="head_share", title="what does one head write?",
        task="heads (H, T, K) is the output of the heads, w_o (D, H·K) is W_O as nn.Linear stores it. Return what one head alone adds to the residual stream, (T, D).",
        minutes=3, difficulty=3, importance=4,
        pytorch="`w[:, 4:8]` takes columns 4 to 7. nn.Linear multiplies by the transpose: `x @ w.T`.",
        reference=head_share,
        draw=normal("h t k, d d", (2, 1, 2, 4, 0), (3, 2, 2, 6, 1), (2, 3, 3, 6, 1)),
        then="The next cell uses it to read what head 4 of layer 23 writes for ten countries.",
        mistakes=[
            Mistake("rows for columns", "w_o[:, head * width : (head + 1) * width]", "w_o[head * width : (head + 1) * width].T",
                    "You took rows of w_o. It's stored as (out, in), so each head has K columns of its own."),
            Mistake("counted from 1", "w_o[:, head * width : (head + 1) * width]", "w_o[:, (head - 1) * width : head * width or None]",
                    "These are the previous head's columns. Heads count from 0."),
            Mistake("columns in turn", "w_o[:, head * width : (head + 1) * width]", "w_o[:, head :: len(heads)]",
                    "You took every H-th column. The heads are side by side, K columns each."),
            Mistake("another head's output", "heads[head]", "heads[head - 1]",
                    "The columns are right, but the output is another head's."),
            Mistake("all heads", "return", "heads.transpose(0, 1).flatten(1) @ w_o.T",
                    "This is the contribution of all heads together."),
        ],
        also_right=[lambda h, w, i: torch.einsum("tk,dk->td", h[i], w.unflatten(1, (len(h), -1))[:, i])],
        hints=["heads.transpose(0, 1).flatten(1) @ w_o.T is what all heads add. Which part of that sum belongs to one of them?",
               "The head's own columns of w_o are head · K to (head + 1) · K.",
               "heads[head] @ w_o[:, head * K : (head + 1) * K].T"],
        look_at="The shares of all heads add up to what the layer adds. That's why one head's share can be read, compared or taken away by itself.",
    ),
    Exercise(
        name="patch_path", title="who sees the change?",
        task="Each part is a function that reads the stream and returns what it adds to it. The change is added to x before the first part. Parts whose numbers are in `receivers` read x with the change and everything that follows from it. All others read the stream as it would be without the change. Return x.",
        minutes=5, difficulty=3, importance=4,
        pytorch="`number in receivers` is True or False. A tuple changes two streams at once: `x, was = x + …, was + …`.",
        reference=patch_path, draw=_draw_paths,
        then="The next cell uses it to send head 23.4's change straight to the output, to later heads and to later networks.",
        mistakes=[
            Mistake("all see it", "x if number in receivers else was", "x",
                    "Every part has read the change. That's ordinary patching."),
            Mistake("nobody sees it", "x if number in receivers else was", "was",
                    "No part has read the change, so only the direct path to the end is left."),
            Mistake("the others silenced", "x + part(seen)", "x + part(seen) * (number in receivers)",
                    "Parts that aren't receivers have added nothing to x. They should add the output that they have in the run without the change."),
            Mistake("a stream that stands still", "was + part(was)", "was",
                    "`was` is still the stream before the first part. What did the parts add to it in the run without the change?"),
            Mistake("replaced", "x, x + change", "x, change",
                    "The stream was replaced by the change. Add it to what is there."),
            Mistake("the change alone", "x if number in receivers", "x - was if number in receivers",
                    "The receivers have read what differs between the streams. They should read a whole stream, the one with the change."),
        ],
        also_right=[_paths_by_difference],
        hints=["Two streams go through the same loop. Which of them does part `number` read?",
               "Add to x what the part returns for the stream that it reads, and to `was` what it returns for `was`.",
               "was, x = x, x + change\nfor number, part in enumerate(parts):\n    seen = x if number in receivers else was\n    x, was = x + part(seen), was + part(was)\nreturn x"],
        look_at="If every part is a receiver, this is ordinary patching. If none is, only the direct path is left. Every other choice of receivers is something in between.",
    ),
]
