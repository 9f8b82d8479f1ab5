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
    same = [row.count(word) for row, word in zip(trace.alone, trace.written, strict=False)]
    decides = torch.tensor(same or [0]) < len(trace.source)
    return int((own * (most + elsewhere + 2 * decides)).argmax())


def recurrent_tour(trace) -> list[dict]:
    """Write the tour for a recurrent `trace`, as `map_tours.tour_of` does for the others.

    It shows the step of `telling_step`, compares it with the one before, and asks for a guess.
    """
    row = telling_step(trace)
    most, keys = trace.weights.max(-1)
    source, words = readable(trace.source), readable(trace.written)
    token, written = source[keys[row]], words[row]
    asks = "".join(chr(ord("₀") + int(digit)) for digit in str(row))
    since = f"after step {row}" if row else "at the start, made from the encoder's last states"
    steps = [
        f"Two recurrent networks read the sentence, one from each end. The encoder keeps a state "
        f"per token, {len(source)} in all, so that the decoder can look back at any of them.",
        f"At step {row + 1} the query is s{asks}, the decoder's state "
        f"{since}. It gets a score with each encoder "
        f"state, and a softmax turns the scores into weights: "
        f"{percent(most[row].item())} for “{token}”.",
        "For that score, W times the query is added to U times the state, tanh squashes every sum "
        "into the range −1 to 1, and a dot product with v, a learned vector, makes one number.",
        f"The states, mixed by their weights, form the context. The decoder combines it with its "
        f"last state and the token it reads, and writes “{written}”.",
    ]
    looks = ["encoder", "query", "scores", "weights"]
    shown = [{"parts": ["encoder"]}, {"parts": looks}, {"place": f"score/{row},{keys[row]}"}]
    shown += [{"parts": [*looks, "mix", "context", "write", "output"]}]
    other = row - 1 if row else min(1, len(words) - 1)
    if (keys[other] - keys[row]) * (other - row) < 0:
        steps.append(
            f"Compare “{written}” with “{words[other]}”: in step {other + 1}, "
            f"“{source[keys[other]]}” gets {percent(most[other].item())}. In the translation the "
            f"two words change places, and the weights follow."
        )
        shown.append({"parts": [*looks, "write", "output"], "written": other})
    differ = [at for at, word in enumerate(trace.alone and trace.alone[row]) if word != written]
    if differ and trace.again:
        told = source[max(differ, key=lambda at: len(source[at]) * source[at].isalpha())]
        steps.append(
            f"What if step {row + 1} gave all its weight to “{told}”? Guess which word it would "
            f"write instead of “{written}”, then press that weight."
        )
        shown.append({"leaves": True})
    return [{"written": row, "text": text, **one} for text, one in zip(steps, shown, strict=True)]
