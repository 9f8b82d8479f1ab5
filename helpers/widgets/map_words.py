"""What the map's tours say of a trace: its tokens, its numbers, its clearest places."""

import math

import torch

from helpers.widgets.readable import percent, readable, readable_next

LONGEST = 18  # characters of a token inside a sentence
CLEARLY = 0.12  # the difference between two heads' shares that can be seen


def words_of(trace, off=()) -> dict:
    """Gather what the sentences name: a trace's tokens and numbers, leaving out heads in `off`."""
    stack = trace.stacks[0]
    name = "decoder" if stack is trace.decoder else "encoder"
    first = stack.layers[0]
    source = _tokens(stack.tokens)
    followed, collects = _shift(source, stack.layers)
    near, beside = _neighbour(first[0].heads.weights, source)
    words = {
        "follows": source[followed],
        "collects": collects,
        "n_source": len(source),
        "n_given": trace.given,
        "n_patches": len(source) - 1,
        "width": stack.embeddings.shape[-1],
        "hidden": first[-1].hidden.shape[-1],
        "n_heads": len(first[0].heads.query),
        **near,
        "join": f"{name}/0/{first[0].kind}/join/{beside}",
        "d_head": first[0].heads.query.shape[-1],
        "follow_source": f"{name}:{followed}",
        "layer": f"{name}/0",
        "output": "decoder/output",
        **_pair_words(stack, name, source),
        "aim": trace.aim,
        "right": trace.right,
        "n_pictures": len(trace.choices),
        "n_misread": sum(label != said for _, label, said, _ in trace.choices),
    }
    if len(trace.stacks) == 2:
        return words | _target_words(trace, source, off)
    return words | (_drawn_words(trace) if trace.candidates else {})


def _pair_words(stack, name, source):
    """Choose one head, and the token in it that is surest of another."""
    place, query, key = _sharpest(stack, name)
    _, layer, _, head = place.split("/")
    heads, head = stack.layers[int(layer)][0].heads, int(head)
    dot = heads.query[head, query] @ heads.key[head, key]
    return {
        "head": place,
        "number": f"{place}/{query},{key}",
        "asks": source[query],
        "offers": source[key],
        "pair": [query, key],
        "dot": f"{dot:.{0 if abs(dot) >= 100 else 1}f}".replace("-", "−"),
        "score": f"{heads.scores[head, query, key]:.2f}".replace("-", "−"),
        "share": percent(heads.weights[head, query, key].item()),
        **{w: f"{place}/{w}/{at}" for w, at in {"q": query, "k": key, "v": key}.items()},
    }


def _drawn_words(trace):
    """Choose, of what a GPT wrote, the token that was likeliest; a ViT has its likeliest class."""
    if trace.kind == "ViT":
        best = trace.candidates[0][0]
        return {"next": best.token, "next_share": percent(best.probability)}
    written, shares = _tokens(trace.written), _shares(trace)
    rows = [i for i in range(trace.given - 1, len(written)) if _is_word(written[i])]
    row = max(rows or [len(written) - 1], key=lambda i: shares[i])
    return _next_words(trace, row, written[row], shares[row])


def _shares(trace):
    """Tell how likely each written token was, 0 where it isn't among the likeliest."""
    return [
        next((one.probability for one in found if one.token == token), 0)
        for found, token in zip(trace.candidates, trace.written, strict=True)
    ]


def _next_words(trace, row, token, share):
    two = [one.token for one in trace.candidates[row][:2]]
    best, second = readable_next(trace.decoder.tokens[: row + 1], two)
    ahead = trace.candidates[row][0].logit - trace.candidates[row][1].logit
    return {
        "best": best,
        "second": second,
        "ahead": f"{ahead:.2f}",
        "times": f"{math.exp(ahead):.1f}",
        "read": _tokens(trace.decoder.tokens)[row],
        "next": token,
        "next_share": percent(share),
        "n_ten": len(trace.candidates[row]),
        "ten_share": percent(share / sum(one.probability for one in trace.candidates[row])),
        "written": row,
        "last": len(trace.written) - 1,
    }


def _target_words(trace, source, off):
    layer = len(trace.decoder.layers) - 1
    cross = next(part for part in trace.decoder.layers[-1] if part.kind == "cross-attention")
    home = f"decoder/{layer}/cross-attention"
    heads = range(len(cross.heads.weights))
    heads = [head for head in heads if f"{home}/{head}" not in off] or heads
    mean = cross.heads.weights[heads].mean(0)
    written = _tokens(trace.written)
    rows = [i for i, token in enumerate(written) if _is_word(token)] or [0]
    words = [i for i, token in enumerate(source) if _is_word(token)] or [0]
    shares = _shares(trace)
    # The word that the map begins with, unless its row looks at nothing in particular.
    clear = [i for i in rows[-1:] if mean[i, words].max() > 0.5]
    row = max(clear or rows, key=lambda i: mean[i, words].max().item())
    key = mean[row].argmax().item()
    head = heads[cross.heads.weights[heads, row, key].argmax().item()]
    # In nearly the same place, so that the two differ in little but their words.
    beside = key - 1 if key else min(1, len(source) - 1)
    return _next_words(trace, row, written[row], shares[row]) | {
        "masked_head": _sharpest(trace.decoder, "decoder")[0],
        "looked_at": source[key],
        "looked_share": percent(mean[row].max().item()),
        "cross_head": head + 1,
        "cross_number": f"{home}/{head}/{row},{key}",
        "why": f"{home}/{head}/{row},{key}/why,{beside}",
        "beside": source[beside],
        "follow_target": f"decoder:{row}",
    }


def _tokens(tokens):
    return [t if len(t) <= LONGEST else t[: LONGEST - 1] + "…" for t in readable(tokens)]


def _is_word(token):
    return any(letter.isalpha() for letter in token) and not token.startswith("<")


def _shift(tokens, layers):
    """Choose the word whose attention moves most clearly to another word from layer to layer.

    With its position comes what the tour says of it. Where the shares differ by less than ten
    percentage points, that is of the last layer alone.
    """
    first, last = (parts[0].heads.weights.mean(0).clone() for parts in (layers[0], layers[-1]))
    for shares in (first, last):
        shares.fill_diagonal_(0)
    words = [i for i, token in enumerate(tokens) if _is_word(token)] or [0]

    def clear(row):
        one, two = int(first[row].argmax()), int(last[row].argmax())
        apart = min(first[row, one] - first[row, two], last[row, two] - last[row, one]).item()
        return one in words and two in words, apart, one, two

    row = max(words, key=clear)
    known, apart, one, two = clear(row)
    says = f"in the last layer most from “{tokens[two]}” ({percent(last[row, two].item())})"
    if known and apart > 0.1:
        before = f"in the first layer most from “{tokens[one]}” ({percent(first[row, one].item())})"
        says = f"{before}, {says.replace('layer most ', '')}"
    return row, says


def _neighbour(weights, tokens):
    """Ask which head looks one token ahead or back, if that can be seen, and say how far each does.

    Asked is what tells one head from the others most clearly. A head's share is the weight that
    a token gives to its neighbour, averaged over the tokens that have one.
    """
    sides = {"before": -1, "after": 1}
    near = {side: weights.diagonal(d, 1, 2).mean(1).tolist() for side, d in sides.items()}
    top = {side: sorted([0, *shares])[-2:] for side, shares in near.items()}
    side = max(top, key=lambda one: top[one][1] - top[one][0])
    clear = top[side][1] - top[side][0] > CLEARLY
    if not clear:
        side = max(top, key=lambda one: top[one][1])
    shares, most, d = near[side], percent(top[side][1]), sides[side]
    head = shares.index(top[side][1])
    inside = [i for i in range(len(tokens)) if 0 <= i + d < len(tokens)] or [0]
    words = [i for i in inside if _is_word(tokens[i])] or inside
    row = max(words, key=lambda i: weights[head, i, (i + d) % len(tokens)].item())
    beside = (row + d) % len(tokens)
    best = "No other head of this layer gives it as much."
    other = f"Another head gives it {most}. Press “Layer” to look for that head."
    where = {"before": "back, just left", "after": "ahead, just right"}[side]
    asks = f"Which one looks one token {where} of the diagonal? Guess, then press its square."
    alike = "No head stands out for looking at a neighbour. Press one."
    answers = [
        f"Head {i + 1} gives {percent(share)} of a token’s weight to the one {side} it, on "
        f"average. {(best if i == head else other) if clear else alike[:-11]}"
        for i, share in enumerate(shares)
    ]
    return {
        "near": answers,
        "near_guess": asks if clear else alike,
        "near_head": head + 1,
        "near_side": side,
        "near_share": percent(weights[head, row, beside].item()),
        "joins": tokens[row],
        "beside_it": tokens[beside],
    }, row


def _sharpest(stack, name):
    """Choose a head whose weights are clear but not all on the diagonal, and its clearest cell."""
    weights = torch.stack([parts[0].heads.weights for parts in stack.layers])
    weights.diagonal(dim1=-2, dim2=-1).zero_()
    layer, head = divmod(int(weights.max(-1).values.mean(-1).argmax()), weights.shape[1])
    place = f"{name}/{layer}/{stack.layers[0][0].kind}/{head}"
    return place, *divmod(int(weights[layer, head].argmax()), weights.shape[-1])
