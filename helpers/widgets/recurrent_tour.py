"""The tour of a recurrent pair: the encoder's states, one step's scores, a score, the context."""

import torch

from helpers.widgets.readable import percent, readable


def telling_step(trace) -> int:
    """Find the step of a `trace` whose weights tell most.

    Of those where it matters where it looks, it is the one that is surest of a token other than
    the one at its own place.
    """
    # Weights that the learner has set come from no softmax.
    own = (trace.weights - trace.scores.softmax(-1)).abs().amax(-1) < 1e-3
    most, keys = trace.weights.max(-1)
    elsewhere = keys != torch.arange(len(keys))
    decides = torch.tensor(trace.alone or [0]) < len(trace.source)
    return int((own * (most + elsewhere + 2 * decides)).argmax())


def recurrent_tour(trace) -> list[dict]:
    """Write the tour for a recurrent `trace`, as `map_tours.tour_of` does for the others.

    It shows the step of `telling_step`.
    """
    row = telling_step(trace)
    most, keys = trace.weights.max(-1)
    token, written = readable(trace.source)[keys[row]], readable(trace.written)[row]
    asks = "".join(chr(ord("₀") + int(digit)) for digit in str(row))
    steps = [
        f"Two recurrent networks read the sentence, one from each end. The encoder keeps a state "
        f"per token, {len(trace.source)} in all, so that the decoder can look back at any of them.",
        f"At step {row + 1} the query is s{asks}, the decoder's state before "
        f"it. It gets a score with each encoder state, and a softmax turns them into weights: "
        f"{percent(most[row].item())} for “{token}”.",
        "For that score, W times the query is added to U times the state, tanh squashes every sum "
        "into the range −1 to 1, and a dot product with v, a learned vector, makes it one number.",
        f"The states, mixed by their weights, form the context. The decoder combines that with its "
        f"last state and the token it reads, and writes “{written}”. Press play to see every step.",
    ]
    shown = [{"parts": ["encoder"]}, {"parts": ["encoder", "query", "scores", "weights"]}]
    shown += [{"place": f"score/{row},{keys[row]}"}]
    shown += [{"parts": ["query", "mix", "encoder", "weights", "context", "write", "output"]}]
    return [{"text": text, "written": row, **one} for text, one in zip(steps, shown, strict=True)]
