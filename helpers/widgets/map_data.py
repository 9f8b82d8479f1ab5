"""How a trace travels to the browser: whole numbers of 16 bits, and only what the map draws."""

import numpy
import torch

from helpers.pretrained.recurrent_trace import RecurrentTrace
from helpers.widgets.map_tours import STRIP
from helpers.widgets.readable import readable, readable_next

WIDE_STRIP = 64  # the same inside a feed-forward network
MOST_TOKENS = 64
MOST_ROWS = 24  # of a recurrent pair's source: each has a name of its own
STEPS = 2047  # of a number, either side of zero: few enough to compress well


class Packer:
    """Gather arrays as whole numbers, one behind the other."""

    def __init__(self):
        self.codes, self.length = [], 0

    def add(self, tensor):
        """Keep a tensor; return where it lies, its shape and what one step is worth."""
        values = tensor.detach().float().cpu().numpy()
        # Rounded before it is used, or the browser would multiply by another number.
        scale = float(f"{float(numpy.abs(values).max()) / STEPS or 1.0:.6g}")
        self.codes.append(numpy.rint(values.ravel() / scale).astype("<i2"))
        place = {"at": self.length, "shape": list(values.shape), "scale": scale}
        self.length += values.size
        return place

    def bytes(self):
        """Return all of them, lowest byte first."""
        return numpy.concatenate(self.codes).tobytes()


def problem_with(trace) -> str:
    """Say in a sentence why a `trace` cannot be drawn; nothing if it can."""
    if isinstance(trace, RecurrentTrace):
        lengths = [(len(trace.source), MOST_ROWS), (len(trace.tokens), MOST_TOKENS)]
    else:
        lengths = [(len(stack.tokens), MOST_TOKENS) for stack in trace.stacks]
    for n_tokens, most in lengths:
        if not n_tokens:
            return "There is nothing to draw: this trace has no tokens. Trace a sentence of words."
        if n_tokens > most:
            return (
                f"This text has {n_tokens} tokens, and the map draws up to {most}, "
                f"because more rows would be too thin to see. Type a shorter text."
            )
    where = _not_a_number(trace)
    return where and (
        f"The map can't be drawn: there are NaN or infinite numbers, and the first ones appear in "
        f"{where}. Look there for a division by zero or for weights that grew without limit."
    )


def _not_a_number(trace):
    """Name the first part with a number that is none, in the order of computation."""
    if isinstance(trace, RecurrentTrace):
        parts = {"the encoder's states": trace.states, "the scores": trace.scores}
        parts["the decoder's states"] = trace.after
        return next((name for name, tensor in parts.items() if not _finite(tensor)), "")
    for name in ("encoder", "decoder"):
        stack = getattr(trace, name)
        if stack is None:
            continue
        if not _finite(stack.embeddings) or not _finite(stack.entered):
            return f"the {name}'s embeddings"
        for i, layer in enumerate(stack.layers):
            for part in layer:
                if not (_finite(part.found) and _finite(part.after)):
                    return f"{name} layer {i + 1}, {part.kind.replace('-', ' ')}"
        if not _finite(stack.output):
            return f"the {name}'s last norm"
    return ""


def _finite(tensor):
    return bool(torch.isfinite(tensor).all())


def pack_trace(trace) -> tuple[dict, bytes]:
    """Turn a `trace` into what the browser gets.

    That is tokens, sizes, candidates, and for every array its place in the bytes.
    """
    packer = Packer()
    first = trace.stacks[0]
    added = first.embeddings + first.positions
    described = {
        "model": trace.model,
        "kind": trace.kind,
        "given": trace.given,
        "normFirst": trace.norm_first,
        "width": first.embeddings.shape[-1],
        "normalised": not torch.allclose(added, first.entered, rtol=0, atol=1e-3),
        "scaled": len(trace.stacks) == 2,  # by √D before positions are added; BERT doesn't
        "positions": trace.adds_positions,
        "activation": "ReLU" if first.layers[0][-1].hidden.min() >= 0 else "GELU",
        "encoder": _stack(trace.encoder, packer),
        "decoder": _stack(trace.decoder, packer),
        "written": readable(trace.written),
        "pieces": [*trace.decoder.tokens, trace.written[-1]] if trace.kind == "GPT" else None,
        "candidates": _candidates(trace, [] if trace.kind == "ViT" else trace.stacks[-1].tokens),
        "drawn": [
            next((i for i, one in enumerate(found) if one.token == token), -1)
            for found, token in zip(trace.candidates, trace.written, strict=False)
        ],
        "image": None if trace.image is None else packer.add(trace.image),
        "guesses": [_guess(found, trace.right) for found in trace.guesses],
        "right": trace.right,
        "aim": trace.aim,
        "choices": [[packer.add(image), *more] for image, *more in trace.choices],
        "reads": int(trace.text) if trace.choices else -1,
    }
    if trace.drawn_at:
        described |= {"drawnAt": trace.drawn_at, "goesOn": trace.goes_on}
    return described, packer.bytes()


def pack_recurrent(trace: RecurrentTrace, first=None) -> tuple[dict, bytes]:
    """Turn a recurrent trace into what the browser gets; see `pack_trace`.

    `first` is the trace of the same sentence in which no step was told where to look.
    """
    packer = Packer()
    whole = ("projected_states", "projected_queries", "vector", "scores", "weights")
    described = {name: packer.add(getattr(trace, name)) for name in whole}
    strips = ("states", "before", "after", "context")
    described |= {name: _strip(getattr(trace, name), packer) for name in strips}
    described |= {
        "recurrent": True,
        "chooses": trace.again is not None,
        "source": readable(trace.source),
        "tokens": readable(trace.tokens),
        "written": readable(trace.written),
        "own": readable((first or trace).written),
        "alone": [readable(row) for row in trace.alone],
        "candidates": _candidates(trace, trace.tokens),
    }
    return described, packer.bytes()


def entries(width: int, most: int) -> list[int]:
    """Choose which entries of a vector its strip shows: pairs, closer together at the start.

    A pair is a sine and a cosine of a position. They turn fast at a vector's start and hardly at
    its end, so this is where the positions of a sentence differ. Of `width` entries the strip shows
    at `most` so many; an even number.
    """
    if width <= most:
        return list(range(width))
    pairs, last = most // 2, width // 2 - 1
    square = (pairs - 1) ** 2
    chosen = [max(k, (2 * last * k * k + square) // (2 * square)) for k in range(pairs)]
    return [2 * pair + odd for pair in chosen for odd in (0, 1)]


def _strip(tensor, packer, most=STRIP):
    width = tensor.shape[-1]
    return packer.add(tensor[..., entries(width, most)]) | {"width": width}


def _stack(stack, packer):
    if stack is None:
        return None
    parts = ("embeddings", "positions", "entered", "output")
    return {
        "tokens": readable(stack.tokens),
        "layers": [[_sublayer(part, packer) for part in layer] for layer in stack.layers],
        **{name: _strip(getattr(stack, name), packer) for name in parts},
    }


def _sublayer(part, packer):
    described = {"kind": part.kind}
    described |= {name: _strip(getattr(part, name), packer) for name in ("read", "found", "after")}
    if part.heads:
        names = ("query", "key", "value", "weights")
        heads = {name: packer.add(getattr(part.heads, name)) for name in names}
        masks = [_mask(one) for one in part.heads.mask]
        alike = all(one == masks[0] for one in masks)  # then one stands for all
        return described | heads | {"mask": masks[:1] if alike else masks}
    return described | {"hidden": _strip(part.hidden, packer, WIDE_STRIP)}


def _mask(mask):
    """Describe who may attend to whom: "all", "causal", or a row of 0 and 1 per query."""
    if mask.all():
        return "all"
    if torch.equal(mask, torch.ones_like(mask).tril()):
        return "causal"
    return ["".join("01"[allowed] for allowed in row) for row in mask.tolist()]


def _guess(found, right):
    """Name the likeliest class, and how likely the right one is."""
    return [found[0].token, round(next(x.probability for x in found if x.token == right), 5)]


def read_whole(trace) -> dict:
    """Describe what a ViT said in a `trace`, and where its class token looked in the last layer."""
    weights = trace.encoder.layers[-1][0].heads.weights.mean(0)[0].tolist()
    guesses = [_guess(found, trace.right) for found in trace.guesses]
    answer = round(trace.candidates[0][0].probability, 5)
    return {"guesses": guesses, "weights": [round(one, 4) for one in weights], "answer": answer}


def _candidates(trace, tokens):
    """Describe what may follow each of the tokens; without them, the names of classes."""
    rows = []
    for row, found in enumerate(trace.candidates):
        names = [one.token for one in found]
        names = readable_next(tokens[: row + 1], names) if tokens else names
        # A softmax over many tokens never reaches 1; the loss of an unlikely one needs its digits.
        shares = [min(float(f"{one.probability:.4g}"), 0.99998) for one in found]
        known = [[round(one.logit, 6), one.rank, *[0] * (not one.kept)] for one in found]
        parts = zip(names, shares, known, strict=True)
        rows.append([[name, logit, share, *more] for name, share, (logit, *more) in parts])
    return rows
