"""Lesson 14, GPT."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal


def causal_average(x):
    """Average every position's vector with all vectors before it, (B, T, D) -> (B, T, D)."""
    length = x.shape[1]
    allowed = torch.ones(length, length).tril()
    weights = allowed / allowed.sum(-1, keepdim=True)
    return weights @ x


def causal_head(x, w_q, w_k, w_v):
    """One attention head under a causal mask, (B, T, D) -> (B, T, K)."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    allowed = torch.ones(x.shape[1], x.shape[1]).tril() == 1
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    return weights @ value


def continue_story(model, ids, n_tokens, max_len):
    """Append the likeliest next token n times; the model reads at most max_len tokens."""
    ids = list(ids)
    for _ in range(n_tokens):
        window = ids[-max_len:]
        logits = model(torch.tensor([window]))[0, -1]
        ids.append(int(logits.argmax()))
    return ids


def count_gpt_parameters(vocab_size, d_model, n_layers, max_len):
    """Count the parameters of a GPT-2 of this size."""
    tables = (vocab_size + max_len) * d_model
    attention = 4 * (d_model * d_model + d_model)
    widen = d_model * 4 * d_model + 4 * d_model
    narrow = 4 * d_model * d_model + d_model
    norms = 2 * 2 * d_model
    last_norm = 2 * d_model
    return tables + n_layers * (attention + widen + narrow + norms) + last_norm


def bits_per_byte(log_probs, text):
    """Turn the log-probabilities (T,) of a text's tokens into bits per byte of the text."""
    nats = -log_probs.sum()
    bits = nats / math.log(2)
    return bits / len(text.encode("utf-8"))


def induction_score(weights, period):
    """How much of its weight each head gives to the token after the last occurrence, (H,)."""
    length = weights.shape[-1]
    queries = torch.arange(period, length)
    keys = queries - period + 1
    return weights[:, queries, keys].mean(-1)


def _story_model(seed, vocab_size=11):
    """A model whose logits at each place depend on all that it reads up to there."""
    table = torch.randn(13, vocab_size, generator=torch.Generator().manual_seed(seed))

    def model(ids):
        if not torch.is_tensor(ids) or ids.dim() != 2:
            raise ValueError("the model expects a tensor of ids of shape (1, T)")
        if not ids.shape[1]:
            raise ValueError("the model got no tokens")
        places = torch.arange(1, ids.shape[1] + 1)
        return 1.5 * table[(ids * places).cumsum(1) % 13]

    return model


def _draw_story(generator):
    sizes = [(3, 3, 8), (5, 4, 3), (2, 6, 4), (6, 5, 6), (4, 7, 2)]
    for seed, (n, more, longest) in enumerate(sizes):
        ids = torch.randint(1, 11, (n,), generator=generator).tolist()
        yield _story_model(seed), ids, more, longest


def _average_by_softmax(x):
    allowed = torch.ones(x.shape[1], x.shape[1]).tril()
    return torch.zeros_like(allowed).masked_fill(allowed == 0, -math.inf).softmax(-1) @ x


def _head_by_loop(x, w_q, w_k, w_v):
    rows = []
    for t in range(x.shape[1]):
        scores = (x[:, : t + 1] @ w_k) @ (x[:, t] @ w_q)[..., None] / w_q.shape[1] ** 0.5
        rows.append((scores.softmax(1) * (x[:, : t + 1] @ w_v)).sum(1))
    return torch.stack(rows, 1)


def _story_by_recursion(model, ids, n_tokens, max_len):
    if n_tokens == 0:
        return list(ids)
    best = model(torch.tensor(ids[-max_len:])[None]).softmax(-1)[:, -1].argmax(-1)
    return _story_by_recursion(model, [*ids, best.item()], n_tokens - 1, max_len)


# fmt: off
EXERCISES = [
    Exercise(
        name="causal_average", title="the average of everything so far",
        task="At every position, return the mean of its own vector and all vectors before it, computed as the product of a matrix of weights and x.",
        minutes=4, difficulty=2, importance=5,
        reference=causal_average, draw=normal("b t d", (1, 3, 2), (2, 4, 3), (3, 6, 4), (2, 5, 5)),
        mistakes=[
            Mistake("looks ahead", ".tril()", ".triu()",
                    "Each row averages its own vector and those *after* it. The past is the lower triangle: tril."),
            Mistake("no mask", ".tril()", "",
                    "Every row averages the whole sequence, so a position sees its future. Keep the lower triangle."),
            Mistake("sums, not means", "allowed / allowed.sum(-1, keepdim=True)", "allowed",
                    "These are sums. Divide each row of weights by its sum to get means."),
            Mistake("divided by the whole length", "allowed.sum(-1, keepdim=True)", "length",
                    "Every row is divided by T. Row t has only t + 1 vectors to average, so divide each row by its own sum."),
            Mistake("divided by columns", "allowed.sum(-1, keepdim=True)", "allowed.sum(0)",
                    "Each column of weights sums to 1. The weights of one position stand in a row, so which dimension should the sum run over?"),
            Mistake("counts along the row", "allowed.sum(-1, keepdim=True)", "torch.arange(1, length + 1)",
                    "The divisors 1 to T run along each row, so column s is divided by s + 1. All entries of row t share one divisor. Which shape must the divisors have to stand in a column?"),
            Mistake("softmax of zeros and ones", "allowed / allowed.sum(-1, keepdim=True)", "allowed.softmax(-1)",
                    "After a softmax of zeros and ones, the zeros still have weight, because exp(0) is 1. Divide by the row's sum, or set the zeros to −∞ first."),
            Mistake("the largest so far", "return", "x.cummax(1).values",
                    "These are the largest entries so far. You want their mean."),
        ],
        also_right=[
            lambda x: torch.stack([x[:, : t + 1].mean(1) for t in range(x.shape[1])], dim=1),
            _average_by_softmax,
        ],
        hints=["torch.ones(length, length).tril() has ones where a position is allowed to attend.",
               "Row t has t + 1 ones. Divide each row by its sum, with keepdim=True.",
               "weights = allowed / allowed.sum(-1, keepdim=True); return weights @ x"],
        look_at="One matrix product does the work of a loop over positions, and the triangle keeps the future out.",
    ),
    Exercise(
        name="causal_head", title="one head that can't see the future",
        task="x is (B, T, D), each matrix (D, K). Return one head's causal self-attention, (B, T, K).",
        minutes=5, difficulty=3, importance=5,
        reference=causal_head,
        draw=normal("b t d, d k, d k, d k", (1, 3, 4, 2), (2, 4, 3, 5), (2, 6, 5, 3)),
        mistakes=[
            Mistake("not scaled", " / math.sqrt(key.shape[-1])", "",
                    "The scores aren't divided by √K."),
            Mistake("no mask", "scores.masked_fill(~allowed, -math.inf)", "scores",
                    "Every position attends to its future too. Set those scores to −∞ before the softmax."),
            Mistake("looks ahead", ".tril()", ".triu()",
                    "Each position attends to itself and to the *future*. Keep the lower triangle: tril."),
            Mistake("masked with zero", "-math.inf", "0.0",
                    "The future's scores are set to 0, and exp(0) is 1, so it still gets weight. Use −∞."),
            Mistake("masked after the softmax", "scores.masked_fill(~allowed, -math.inf).softmax(-1)",
                    "scores.softmax(-1).masked_fill(~allowed, 0.0)",
                    "The weights are masked after the softmax, so the rows no longer sum to 1. Mask the scores."),
            Mistake("keys mixed, not values", "weights @ value", "weights @ key",
                    "The weights mix the keys. They should mix the values, because those are what is passed on."),
        ],
        also_right=[
            _head_by_loop,
            lambda x, w_q, w_k, w_v: F.scaled_dot_product_attention(
                x @ w_q, x @ w_k, x @ w_v, is_causal=True
            ),
        ],
        hints=["It's the attention of lesson 04: query, key and value are x times w_q, w_k and w_v.",
               "allowed = torch.ones(T, T).tril() == 1, and scores.masked_fill(~allowed, -math.inf) before the softmax.",
               "Divide the scores by math.sqrt(K), softmax over the last dimension, then weights @ value."],
        look_at="Compare it with causal_average. The triangle is still there, but the weights under it are no longer equal, because the head computes them.",
    ),
    Exercise(
        name="continue_story", title="keep writing, in a limited window",
        task="model(ids of shape (1, T)) gives logits (1, T, V) and reads at most max_len tokens. Repeat n_tokens times: append the likeliest next token. Then return all ids, as a list.",
        minutes=4, difficulty=2, importance=4,
        reference=continue_story, draw=_draw_story,
        mistakes=[
            Mistake("still as it was", "ids[-max_len:]", "ids[:max_len]",
                    "After 1, 2, 3 it appends 2 again and again. Which token is 2 the right prediction for? And what does the window hold once the list is longer than max_len?", also=(("[0, -1]", "[0, 0]"),)),
            Mistake("reads the beginning", "ids[-max_len:]", "ids[:max_len]",
                    "The window holds the *first* max_len tokens, so once the story is longer, the model never sees what it has just written. Take the last ones."),
            Mistake("window not cut", "ids[-max_len:]", "ids",
                    "You pass all ids to the model, however many there are. It reads at most max_len of them, so cut the window."),
            Mistake("only the newest token", "ids[-max_len:]", "ids[-1:]",
                    "The model reads the newest token alone. It needs everything that fits into the window."),
            Mistake("prompt left out", "return", "result[-n_tokens:]",
                    "Only the new tokens are returned. Return all ids, the given ones first."),
            Mistake("put in front", "ids.append(int(logits.argmax()))", "ids.insert(0, int(logits.argmax()))",
                    "New tokens are put in front. They belong at the end."),
        ],
        also_right=[_story_by_recursion],
        hints=["When the story is longer than max_len, which tokens does the next one depend on most?",
               "The logits have one row per position. Which row has read everything?",
               "window = ids[-max_len:] and logits = model(torch.tensor([window]))[0, -1]"],
        look_at="The list of ids grows without limit, but the model only ever reads the end of the list. Whatever has dropped out of the window is forgotten.",
    ),
    Exercise(
        name="count_gpt_parameters", title="count a GPT's parameters",
        task="Count all parameters of a GPT-2: token table, position table, n_layers layers (four attention matrices, d_ff = 4 · d_model, two layer norms), a last layer norm; every linear layer has a bias, and the output reuses the token table.",
        minutes=6, difficulty=3, importance=3,
        reference=count_gpt_parameters, draw=lambda generator: [(7, 2, 1, 3), (11, 4, 2, 5), (50, 8, 3, 20), (300, 6, 5, 16)],
        mistakes=[
            Mistake("output counted again", "(vocab_size + max_len)", "(2 * vocab_size + max_len)",
                    "The output layer is counted as a table of its own. GPT-2 reuses the token table, so it costs nothing."),
            Mistake("positions forgotten", "(vocab_size + max_len)", "vocab_size",
                    "The position table is missing: max_len vectors of width d_model."),
            Mistake("W_O forgotten", "4 * (d_model * d_model + d_model)", "3 * (d_model * d_model + d_model)",
                    "Three attention matrices are counted. W_O is the fourth."),
            Mistake("no biases", "4 * (d_model * d_model + d_model)", "4 * d_model * d_model",
                    "The biases of the linear layers are missing: 4 · d_model in the attention, 5 · d_model in the feed-forward network.",
                    also=((" + 4 * d_model\n", "\n"), ("narrow = 4 * d_model * d_model + d_model", "narrow = 4 * d_model * d_model"))),
            Mistake("norms forgotten", "norms = 2 * 2 * d_model", "norms = 0",
                    "The layer norms are missing: two per layer and one at the end, each with a gain and a bias.",
                    also=(("last_norm = 2 * d_model", "last_norm = 0"),)),
            Mistake("last norm forgotten", " + last_norm", "",
                    "The last layer norm, after all layers, is missing: a gain and a bias."),
        ],
        also_right=[lambda v, d, n, t: d * (v + t + 2 + n * (12 * d + 13))],
        hints=["Attention has four matrices of d_model × d_model, each with a bias of d_model numbers.",
               "The feed-forward network has d_model × 4·d_model and 4·d_model × d_model, with biases of 4·d_model and d_model.",
               "Per layer 12·d² + 13·d, and in all (vocab_size + max_len)·d + n_layers·(12·d² + 13·d) + 2·d."],
        look_at="Each layer has 12·d² + 13·d parameters. For large models only the 12·d² matters.",
    ),
    Exercise(
        name="bits_per_byte", title="bits per byte",
        task="log_probs (T,) are the natural log-probabilities that a model gave to the tokens of a text. Return the text's surprise in bits per byte of its UTF-8 encoding.",
        minutes=4, difficulty=2, importance=4,
        reference=bits_per_byte, draw=normal(
            "t", (3, "the cat"), (4, "Once upon a time"), (7, "über die Brücke"),
            (6, "“No,” she said."),
            then=lambda found, text: (-2 * found.abs() - 0.1, text)),
        mistakes=[
            Mistake("negative", "-log_probs.sum()", "log_probs.sum()",
                    "The surprise is negative, because log-probabilities are. Change the sign."),
            Mistake("still in nats", "nats / math.log(2)", "nats",
                    "The result is in nats. A bit is log 2 nats, so divide by math.log(2)."),
            Mistake("per character", 'len(text.encode("utf-8"))', "len(text)",
                    "This is per character. A letter such as ü or a curly quotation mark takes two or three bytes."),
            Mistake("per token", 'len(text.encode("utf-8"))', "len(log_probs)",
                    "This is per token, so it depends on the tokenizer. Divide by the bytes of the text."),
            Mistake("mean instead of sum", "log_probs.sum()", "log_probs.mean()",
                    "Taking the mean already divides by the number of tokens. Sum over the tokens, then divide by the bytes alone."),
            Mistake("not divided", ' / len(text.encode("utf-8"))', "",
                    "These are the bits of the whole text. Divide by its number of bytes."),
        ],
        also_right=[
            lambda log_probs, text: -(log_probs / math.log(2)).sum() / len(text.encode()),
            lambda log_probs, text: -log_probs.exp().log2().sum() / len(bytes(text, "utf-8")),
        ],
        hints=["Add up the surprise −log p over all tokens.",
               "One bit is math.log(2) nats.",
               'Divide by len(text.encode("utf-8")), the number of bytes.'],
        look_at="The number of tokens doesn't appear, which is why two models with different tokenizers can be compared.",
    ),
    Exercise(
        name="induction_score", title="score a head for copying",
        task="weights (H, T, T) are the maps of one layer on a sequence that repeats after `period` tokens. How much weight does each position t ≥ period put on position t − period + 1? Return the average over these positions per head, (H,).",
        minutes=5, difficulty=3, importance=3,
        reference=induction_score, draw=normal(
            "h t t", (1, 5, 2), (2, 8, 4), (3, 9, 3), (2, 12, 5), then=lambda x, n: (x.softmax(-1), n)),
        mistakes=[
            Mistake("the same token", "queries - period + 1", "queries - period",
                    "This is the earlier copy of the *same* token. The head needs the token after it, one position further on."),
            Mistake("the previous token", "queries - period + 1", "queries - 1",
                    "This is the token just before, whatever the period. Go back by period − 1."),
            Mistake("transposed", "[:, queries, keys]", "[:, keys, queries]",
                    "Rows and columns are swapped. Rows are queries, columns are keys."),
            Mistake("divided by the whole length", ".mean(-1)", ".sum(-1) / length",
                    "The sum is divided by T, though only T − period positions count."),
            Mistake("only the last position", ".mean(-1)", "[:, -1]",
                    "Only the last position is looked at. Average over all of them."),
        ],
        also_right=[lambda weights, period: torch.stack(
            [weights[:, t, t - period + 1] for t in range(period, weights.shape[-1])]).mean(0)],
        hints=["Position t holds the same token as position t − period. What came next there is at t − period + 1.",
               "queries = torch.arange(period, length), keys = queries - period + 1",
               "weights[:, queries, keys] picks one weight per head and query; average over the last dimension."],
        look_at="The cells that count form a diagonal, so `weights.diagonal(…)` finds them too.",
    ),
]
