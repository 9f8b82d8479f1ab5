"""Lesson 14, GPT."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake
from helpers.training import language_modelling
from helpers.transformer.attention import scaled_dot_product_attention
from helpers.transformer.masks import causal_mask


def causal_average(x):
    """Average every position's vector with all vectors before it, (B, T, D) -> (B, T, D)."""
    return x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]


def causal_head(x, w_q, w_k, w_v):
    """One attention head under a causal mask, (B, T, D) -> (B, T, K)."""
    allowed = causal_mask(x.shape[1])
    return scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, allowed)[0]


def continue_story(model, ids, n_tokens, max_len):
    """Append the likeliest next token n times; the model reads at most max_len tokens."""
    ids = list(ids)
    while n_tokens > 0:
        ids.append(int(model(torch.tensor([ids])[:, -max_len:])[0, -1].argmax()))
        n_tokens -= 1
    return ids


def count_gpt_parameters(vocab_size, d_model, n_layers, max_len):
    """Count the parameters of a GPT-2 of this size."""
    per_layer = 12 * d_model**2 + 13 * d_model  # matrices; biases and norms
    return (vocab_size + max_len) * d_model + n_layers * per_layer + 2 * d_model


def bits_per_byte(log_probs, text):
    """Turn the log-probabilities (T,) of a text's tokens into bits per byte of the text."""
    return language_modelling.bits_per_byte(-log_probs.sum(), text)


def induction_score(weights, period):
    """How much of its weight each head gives to the token after the last occurrence, (H,)."""
    # Below the main diagonal by period − 1.
    return weights.diagonal(1 - period, dim1=-2, dim2=-1)[:, 1:].mean(-1)


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _causal_average(x):
    length = x.shape[1]
    allowed = torch.ones(length, length).tril()
    weights = allowed / allowed.sum(-1, keepdim=True)
    return weights @ x


def _causal_head(x, w_q, w_k, w_v):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    allowed = torch.ones(x.shape[1], x.shape[1]).tril() == 1
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    return weights @ value


def _continue_story(model, ids, n_tokens, max_len):
    ids = list(ids)
    for _ in range(n_tokens):
        window = ids[-max_len:]
        logits = model(torch.tensor([window]))[0, -1]
        ids.append(int(logits.argmax()))
    return ids


def _count(vocab_size, d_model, n_layers, max_len):
    tables = (vocab_size + max_len) * d_model
    attention = 4 * (d_model * d_model + d_model)
    widen = d_model * 4 * d_model + 4 * d_model
    narrow = 4 * d_model * d_model + d_model
    norms = 2 * 2 * d_model
    last_norm = 2 * d_model
    return tables + n_layers * (attention + widen + narrow + norms) + last_norm


def _bits(log_probs, text):
    nats = -log_probs.sum()
    bits = nats / math.log(2)
    return bits / len(text.encode("utf-8"))


def _induction(weights, period):
    length = weights.shape[-1]
    queries = torch.arange(period, length)
    keys = queries - period + 1
    return weights[:, queries, keys].mean(-1)


def _draw_average(generator):
    shapes = [(1, 3, 2), (2, 4, 3), (3, 6, 4), (2, 5, 5)]
    return [(torch.randn(shape, generator=generator),) for shape in shapes]


def _draw_head(generator):
    shapes = [(1, 3, 4, 2), (2, 4, 3, 5), (2, 6, 5, 3)]
    return [
        (
            torch.randn(b, t, d, generator=generator),
            *(torch.randn(d, k, generator=generator) for _ in range(3)),
        )
        for b, t, d, k in shapes
    ]


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
    settings = [(0, 3, 3, 8), (1, 5, 4, 3), (2, 2, 6, 4), (3, 6, 5, 6), (4, 4, 7, 2)]
    return [
        (
            _story_model(seed),
            torch.randint(1, 11, (n,), generator=generator).tolist(),
            more,
            longest,
        )
        for seed, n, more, longest in settings
    ]


def _draw_count(generator):
    return [(7, 2, 1, 3), (11, 4, 2, 5), (50, 8, 3, 20), (300, 6, 5, 16)]


def _draw_bits(generator):
    texts = ["the cat", "Once upon a time", "über die Brücke", "“No,” she said."]
    return [
        (-3 * torch.rand(n, generator=generator) - 0.1, text)
        for n, text in zip((3, 4, 7, 6), texts, strict=True)
    ]


def _draw_maps(generator):
    sizes = [(1, 5, 2), (2, 8, 4), (3, 9, 3), (2, 12, 5)]
    return [
        (torch.randn(h, t, t, generator=generator).softmax(-1), period) for h, t, period in sizes
    ]


def _average_by_loop(x):
    return torch.stack([x[:, : t + 1].mean(1) for t in range(x.shape[1])], dim=1)


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


def _induction_by_loop(weights, period):
    length = weights.shape[-1]
    total = sum(weights[:, t, t - period + 1] for t in range(period, length))
    return total / (length - period)


# fmt: off
EXERCISES = [
    Exercise(
        name="causal_average",
        title="the average of everything so far",
        task="At every position return the mean of its own vector and all vectors before it, as a matrix of weights times x.",
        minutes=4, difficulty=2, importance=5,
        reference=causal_average,
        plain=_causal_average,
        draw=_draw_average,
        mistakes=[
            Mistake("looks ahead", ".tril()", ".triu()",
                    "Each row averages its own vector and those *after* it. The past is the lower triangle: tril."),
            Mistake("no mask", ".tril()", "",
                    "Every row averages the whole sequence, so a position sees its future. Keep the lower triangle."),
            Mistake("one position too far", ".tril()", ".tril(1)",
                    "Each row takes in one vector from its future, the very token it's meant to predict. Use tril() without an offset."),
            Mistake("sums, not means", "allowed / allowed.sum(-1, keepdim=True)", "allowed",
                    "These are sums. Divide each row of weights by its sum, so that it's a mean."),
            Mistake("divided by the whole length", "allowed.sum(-1, keepdim=True)", "length",
                    "Every row is divided by T. Row t has only t + 1 vectors to average, so divide each row by its own sum."),
            Mistake("columns sum to 1", "allowed.sum(-1", "allowed.sum(-2",
                    "The columns of the weights sum to 1. Each *row* belongs to one position, so the rows have to: sum over the last dimension."),
            Mistake("divided along the wrong dimension", "allowed.sum(-1, keepdim=True)", "allowed.sum(-1)",
                    "Without keepdim=True the sums line up with the columns. Each row needs its own."),
            Mistake("transposed", "weights @ x", "weights.T @ x",
                    "The matrix of weights is transposed, so information flows backwards in time. Row t holds the weights of position t."),
            Mistake("softmax of zeros and ones", "allowed / allowed.sum(-1, keepdim=True)", "allowed.softmax(-1)",
                    "A softmax of zeros and ones still gives weight to the zeros, because exp(0) is 1. Divide by the row's sum, or set the zeros to −∞ first."),
            Mistake("forgets itself", "allowed / allowed.sum(-1, keepdim=True)",
                    "allowed.tril(-1) / allowed.tril(-1).sum(-1, keepdim=True).clamp(min=1)",
                    "Each position averages only what came before it and leaves itself out. The current token counts too."),
            Mistake("forgets itself, with nothing to start from", ".tril()", ".tril(-1)",
                    "Each position averages only what came before it, and the first position has nothing to average: 0 divided by 0. The current token counts too, so use tril() without an offset."),
            Mistake("divided by all the ones", "allowed.sum(-1, keepdim=True)", "allowed.sum()",
                    "Every row is divided by the sum of the whole matrix. Divide each row by its own sum: sum over the last dimension, with keepdim=True."),
            Mistake("counted from zero", "allowed.sum(-1, keepdim=True)",
                    "(allowed.sum(-1, keepdim=True) - 1).clamp(min=1)",
                    "Each sum is divided by one too few. Row t, counted from 0, holds t + 1 vectors."),
            Mistake("only the last two", ".tril()", ".tril().triu(-1)",
                    "Only the current vector and the one before it are averaged. Take everything so far."),
            Mistake("the square root", "allowed.sum(-1, keepdim=True)", "allowed.sum(-1, keepdim=True).sqrt()",
                    "Each sum is divided by the square root of the count. A mean divides by the count."),
            Mistake("the largest so far", "return", "x.cummax(1).values",
                    "These are the largest entries so far. The exercise asks for the mean."),
        ],
        also_right=[_average_by_loop, _average_by_softmax],
        hints=[
            "torch.ones(length, length).tril() has ones where a position is allowed to attend.",
            "Row t has t + 1 ones. Divide each row by its sum, with keepdim=True.",
            "weights = allowed / allowed.sum(-1, keepdim=True); return weights @ x",
        ],
        look_at="One matrix product does the work of a loop over positions, and the triangle keeps the future out.",
    ),
    Exercise(
        name="causal_head",
        title="one head that can't see the future",
        task="x is (B, T, D), each matrix (D, K). Return one head's causal self-attention, (B, T, K).",
        minutes=5, difficulty=3, importance=5,
        reference=causal_head,
        plain=_causal_head,
        draw=_draw_head,
        mistakes=[
            Mistake("not scaled", " / math.sqrt(key.shape[-1])", "",
                    "The scores aren't divided by √K."),
            Mistake("divided by K", "math.sqrt(key.shape[-1])", "key.shape[-1]",
                    "The scores are divided by K. Divide by its square root."),
            Mistake("scaled by the wrong width", "key.shape[-1]", "x.shape[-1]",
                    "The scores are divided by √D, the width of x. The dot product runs over the K entries of a key."),
            Mistake("scaled by the length", "math.sqrt(key.shape[-1])", "math.sqrt(key.shape[-2])",
                    "The scores are divided by √T. The dot product runs over the K entries of a key."),
            Mistake("no mask", "scores.masked_fill(~allowed, -math.inf)", "scores",
                    "Every position attends to its future too. Set those scores to −∞ before the softmax."),
            Mistake("looks ahead", ".tril()", ".triu()",
                    "Each position attends to itself and to the *future*. Keep the lower triangle: tril."),
            Mistake("one position too far", ".tril()", ".tril(1)",
                    "Each position also attends to the token after it, which is the one it has to predict."),
            Mistake("mask inverted", "~allowed", "allowed",
                    "The past is hidden and the future kept, and the last position is allowed to attend to nothing at all. masked_fill fills where its mask is True, so give it ~allowed."),
            Mistake("masked with zero", "-math.inf", "0.0",
                    "The future's scores are set to 0, and exp(0) is 1, so it still gets weight. Use −∞."),
            Mistake("masked with −1", "-math.inf", "-1.0",
                    "The future's scores are set to −1, which still leaves it some weight. Use −∞."),
            Mistake("masked after the softmax", "scores.masked_fill(~allowed, -math.inf).softmax(-1)",
                    "scores.softmax(-1).masked_fill(~allowed, 0.0)",
                    "The weights are masked after the softmax, so the rows no longer sum to 1. Mask the scores."),
            Mistake("softmax over queries", ".softmax(-1)", ".softmax(-2)",
                    "The softmax runs over the queries. Each query shares its weight among the keys, the last dimension."),
            Mistake("query and key swapped", "query @ key.transpose(-2, -1)", "key @ query.transpose(-2, -1)",
                    "Queries and keys are swapped: rows belong to queries, columns to keys."),
            Mistake("keys mixed, not values", "weights @ value", "weights @ key",
                    "The weights mix the keys. What is passed on are the values."),
            Mistake("one matrix for both", "x @ w_q, x @ w_k", "x @ w_q, x @ w_q",
                    "Queries and keys come from the same matrix. The keys have their own, w_k."),
            Mistake("without a softmax", ".softmax(-1)", ".nan_to_num(neginf=0.0)",
                    "The scores are used as weights. A softmax makes them positive, and each row then sums to 1."),
        ],
        also_right=[
            _head_by_loop,
            lambda x, w_q, w_k, w_v: F.scaled_dot_product_attention(
                x @ w_q, x @ w_k, x @ w_v, is_causal=True
            ),
        ],
        hints=[
            "It's the attention of lesson 04: query, key and value are x times w_q, w_k and w_v.",
            "allowed = torch.ones(T, T).tril() == 1, and scores.masked_fill(~allowed, -math.inf) before the softmax.",
            "Divide the scores by math.sqrt(K), softmax over the last dimension, then weights @ value.",
        ],
        look_at="Compare it with causal_average: where that had equal weights under the triangle, this one computes them.",
    ),
    Exercise(
        name="continue_story",
        title="keep writing, in a limited window",
        task="model(ids of shape (1, T)) gives logits (1, T, V) and reads at most max_len tokens. Append the likeliest next token n_tokens times and return all ids, as a list.",
        minutes=4, difficulty=2, importance=4,
        reference=continue_story,
        plain=_continue_story,
        draw=_draw_story,
        mistakes=[
            Mistake("still as it was", "ids[-max_len:]", "ids[:max_len]",
                    "After 1, 2, 3 it appends 2 again and again. Which token is 2 the right prediction for? And what does the window hold once the list is longer than max_len?", also=(("[0, -1]", "[0, 0]"),)),
            Mistake("reads the beginning", "ids[-max_len:]", "ids[:max_len]",
                    "The window holds the *first* max_len tokens, so once the story is longer the model never sees what it has just written. Take the last ones."),
            Mistake("predicts after the first token", "[0, -1]", "[0, 0]",
                    "These logits belong to the first position. The next token is predicted at the last one."),
            Mistake("window not cut", "ids[-max_len:]", "ids",
                    "The model gets all ids, however many there are. It reads at most max_len: cut the window."),
            Mistake("window one short", "ids[-max_len:]", "ids[-max(max_len - 1, 1):]",
                    "The window has one token fewer than the model could read."),
            Mistake("window one long", "ids[-max_len:]", "ids[-max_len - 1:]",
                    "The window has one token more than the model can read."),
            Mistake("only the newest token", "ids[-max_len:]", "ids[-1:]",
                    "The model reads the newest token alone. It needs everything that fits into the window."),
            Mistake("without the newest token", "ids[-max_len:]", "ids[-max_len - 1:-1] or ids",
                    "The window ends one token too early, so the model doesn't read what it wrote last."),
            Mistake("least likely", "argmax", "argmin",
                    "This is the smallest logit. Take the largest: argmax."),
            Mistake("all positions at once", "[0, -1]", "[-1]",
                    "The first dimension is the batch, so [-1] takes the logits of all positions, and argmax counts through all of them. Take the last position of the first sequence: [0, -1]."),
            Mistake("average of all positions", "[0, -1]", "[0].mean(0)",
                    "The logits of all positions are averaged. Only the last position predicts the next token."),
            Mistake("one too few", "range(n_tokens)", "range(n_tokens - 1)",
                    "One token fewer than n_tokens is appended."),
            Mistake("one too many", "range(n_tokens)", "range(n_tokens + 1)",
                    "One token more than n_tokens is appended."),
            Mistake("prompt left out", "return", "result[-n_tokens:]",
                    "Only the new tokens are returned. Return all ids, the given ones first."),
            Mistake("put in front", "ids.append(int(logits.argmax()))", "ids.insert(0, int(logits.argmax()))",
                    "New tokens are put in front. They belong at the end."),
            Mistake("second-best", "logits.argmax()", "logits.topk(2).indices[1]",
                    "This is the second-best token. Take the likeliest."),
        ],
        also_right=[_continue_story, _story_by_recursion],
        hints=[
            "When the story is longer than max_len, which tokens does the next one depend on most?",
            "The logits have one row per position. Which row has read everything?",
            "window = ids[-max_len:] and logits = model(torch.tensor([window]))[0, -1]",
        ],
        look_at="The list of ids grows without limit, while the model only ever reads its end. Whatever has dropped out of the window is forgotten.",
    ),
    Exercise(
        name="count_gpt_parameters",
        title="count a GPT's parameters",
        task="Count all parameters of a GPT-2: token table, position table, n_layers layers (four attention matrices, d_ff = 4 · d_model, two layer norms), a last layer norm; every linear layer has a bias, and the output reuses the token table.",
        minutes=6, difficulty=3, importance=3,
        reference=count_gpt_parameters,
        plain=_count,
        draw=_draw_count,
        mistakes=[
            Mistake("output counted again", "(vocab_size + max_len)", "(2 * vocab_size + max_len)",
                    "The output layer is counted as a table of its own. GPT-2 reuses the token table, so it costs nothing."),
            Mistake("positions forgotten", "(vocab_size + max_len)", "vocab_size",
                    "The position table is missing: max_len vectors of width d_model."),
            Mistake("tokens forgotten", "(vocab_size + max_len)", "max_len",
                    "The token table is missing: vocab_size vectors of width d_model."),
            Mistake("W_O forgotten", "4 * (d_model * d_model + d_model)", "3 * (d_model * d_model + d_model)",
                    "Three attention matrices are counted. W_O is the fourth."),
            Mistake("4 · d_model missing per layer", "4 * (d_model * d_model + d_model)", "4 * d_model * d_model",
                    "In every layer 4 · d_model numbers are missing. That is what the four biases of the attention come to, or the first bias of the feed-forward network, or the two norms."),
            Mistake("no biases", "4 * (d_model * d_model + d_model)", "4 * d_model * d_model",
                    "The biases of the linear layers are missing: 4 · d_model in the attention, 5 · d_model in the feed-forward network.",
                    also=((" + 4 * d_model\n", "\n"), ("narrow = 4 * d_model * d_model + d_model", "narrow = 4 * d_model * d_model"))),
            Mistake("feed-forward not widened", "d_model * 4 * d_model + 4 * d_model", "d_model * d_model + d_model",
                    "The feed-forward network is four times as wide inside: d_ff = 4 · d_model.",
                    also=(("4 * d_model * d_model + d_model\n", "d_model * d_model + d_model\n"),)),
            Mistake("second bias of the feed-forward forgotten", "narrow = 4 * d_model * d_model + d_model", "narrow = 4 * d_model * d_model",
                    "The bias of the second feed-forward matrix is missing: d_model numbers."),
            Mistake("one feed-forward matrix", " + narrow", "",
                    "Only the matrix that widens is counted. The one that narrows again is missing."),
            Mistake("one norm per layer", "2 * 2 * d_model", "2 * d_model",
                    "Only one norm per layer is counted. There are two, one before each sublayer."),
            Mistake("norms forgotten", "norms = 2 * 2 * d_model", "norms = 0",
                    "The layer norms are missing: two per layer and one at the end, each with a gain and a bias.",
                    also=(("last_norm = 2 * d_model", "last_norm = 0"),)),
            Mistake("last norm forgotten", " + last_norm", "",
                    "The last layer norm, after all layers, is missing: a gain and a bias."),
            Mistake("norms without a bias", "2 * 2 * d_model", "2 * d_model",
                    "A layer norm has a gain *and* a bias, 2 · d_model numbers. Here each has only one of them.",
                    also=(("last_norm = 2 * d_model", "last_norm = d_model"),)),
            Mistake("one layer only", "n_layers * (attention", "(attention",
                    "Only one layer is counted. Multiply by n_layers."),
            Mistake("tables in every layer", "tables + n_layers * (attention", "n_layers * (tables + attention",
                    "The tables are counted once per layer. Each is there only once, before the first layer."),
        ],
        also_right=[
            _count,
            lambda v, d, n, t: d * (v + t + 2 + n * (12 * d + 13)),
        ],
        hints=[
            "Attention has four matrices of d_model × d_model, each with a bias of d_model numbers.",
            "The feed-forward network has d_model × 4·d_model and 4·d_model × d_model, with biases of 4·d_model and d_model.",
            "Per layer 12·d² + 13·d, and in all (vocab_size + max_len)·d + n_layers·(12·d² + 13·d) + 2·d.",
        ],
        look_at="Per layer it is 12·d² + 13·d. For large models only the 12·d² matters.",
    ),
    Exercise(
        name="bits_per_byte",
        title="bits per byte",
        task="log_probs (T,) are the natural log-probabilities that a model gave to the tokens of a text. Return the text's surprise in bits per byte of its UTF-8 encoding.",
        minutes=4, difficulty=2, importance=4,
        reference=bits_per_byte,
        plain=_bits,
        draw=_draw_bits,
        mistakes=[
            Mistake("negative", "-log_probs.sum()", "log_probs.sum()",
                    "The surprise is negative, because log-probabilities are. Change the sign."),
            Mistake("still in nats", "nats / math.log(2)", "nats",
                    "The result is in nats. A bit is log 2 nats, so divide by math.log(2)."),
            Mistake("converted the wrong way", "nats / math.log(2)", "nats * math.log(2)",
                    "Nats are multiplied by log 2. There are more bits than nats, so divide."),
            Mistake("divided by two", "nats / math.log(2)", "nats / 2",
                    "The surprise is divided by 2. A bit is log 2 = 0.69 nats."),
            Mistake("per character", 'len(text.encode("utf-8"))', "len(text)",
                    "This is per character. A letter such as ü or a curly quotation mark takes two or three bytes."),
            Mistake("per token", 'len(text.encode("utf-8"))', "len(log_probs)",
                    "This is per token, so it depends on the tokenizer. Divide by the bytes of the text."),
            Mistake("per word", 'len(text.encode("utf-8"))', "len(text.split())",
                    "This is per word. Divide by the bytes of the text."),
            Mistake("mean instead of sum", "log_probs.sum()", "log_probs.mean()",
                    "The mean over the tokens is divided by the bytes once more. Sum over the tokens."),
            Mistake("not divided", ' / len(text.encode("utf-8"))', "",
                    "These are the bits of the whole text. Divide by its number of bytes."),
            Mistake("two bytes per letter", 'text.encode("utf-8")', 'text.encode("utf-16-le")',
                    "Every letter is counted as two bytes. In UTF-8 most take one."),
            Mistake("decimal digits", "math.log(2)", "math.log(10)",
                    "This is the logarithm to base 10. Bits are base 2."),
            Mistake("perplexity", "return", "result.exp()",
                    "This is the exponential. Return the bits per byte themselves."),
            Mistake("bytes per bit", 'bits / len(text.encode("utf-8"))', 'len(text.encode("utf-8")) / bits',
                    "The fraction is upside down: bits over bytes."),
        ],
        also_right=[
            lambda log_probs, text: -(log_probs / math.log(2)).sum() / len(text.encode()),
            lambda log_probs, text: -log_probs.exp().log2().sum() / len(bytes(text, "utf-8")),
        ],
        hints=[
            "Add up the surprise −log p over all tokens.",
            "One bit is math.log(2) nats.",
            'Divide by len(text.encode("utf-8")), the number of bytes.',
        ],
        look_at="The number of tokens doesn't appear, which is why two models with different tokenizers can be compared.",
    ),
    Exercise(
        name="induction_score",
        title="score a head for copying",
        task="weights (H, T, T) are the maps of one layer on a sequence that repeats after `period` tokens. For each head, average over all positions t ≥ period the weight on position t − period + 1. Return (H,).",
        minutes=5, difficulty=3, importance=3,
        reference=induction_score,
        plain=_induction,
        draw=_draw_maps,
        mistakes=[
            Mistake("the same token", "queries - period + 1", "queries - period",
                    "This is the earlier copy of the *same* token. The head needs the token after it, one position further on."),
            Mistake("one too far", "queries - period + 1", "queries - period + 2",
                    "This is two tokens after the earlier copy. It has to be the one right after it."),
            Mistake("the previous token", "queries - period + 1", "queries - 1",
                    "This is the token just before, whatever the period. Go back by period − 1."),
            Mistake("itself", "queries - period + 1", "queries",
                    "This is the weight that each position gives to itself. Go back by period − 1."),
            Mistake("transposed", "[:, queries, keys]", "[:, keys, queries]",
                    "Rows and columns are swapped. Rows are queries, columns are keys."),
            Mistake("summed", ".mean(-1)", ".sum(-1)",
                    "The weights are added up. Average them, so that the score lies between 0 and 1."),
            Mistake("the largest", ".mean(-1)", ".amax(-1)",
                    "This is the largest of the weights. Average over all positions."),
            Mistake("divided by the whole length", ".mean(-1)", ".sum(-1) / length",
                    "The sum is divided by T, though only T − period positions count."),
            Mistake("begins one early", "torch.arange(period, length)", "torch.arange(period - 1, length)",
                    "Position period − 1 has no earlier copy yet. Begin at period."),
            Mistake("begins one late", "torch.arange(period, length)", "torch.arange(period + 1, length)",
                    "The first position with an earlier copy is left out. Begin at period."),
            Mistake("ends one early", "torch.arange(period, length)", "torch.arange(period, length - 1)",
                    "The last position is left out."),
            Mistake("only the last position", ".mean(-1)", "[:, -1]",
                    "Only the last position is looked at. Average over all of them."),
            Mistake("the median", ".mean(-1)", ".median(-1).values",
                    "This is the median. Average the weights."),
            Mistake("all heads averaged", ".mean(-1)", ".mean().expand(len(weights))",
                    "All heads get the same score, their average. Average over positions only."),
        ],
        also_right=[_induction, _induction_by_loop],
        hints=[
            "Position t holds the same token as position t − period. What came next there is at t − period + 1.",
            "queries = torch.arange(period, length), keys = queries - period + 1",
            "weights[:, queries, keys] picks one weight per head and query; average over the last dimension.",
        ],
        look_at="The cells that count form a diagonal, so `weights.diagonal(…)` finds them too.",
    ),
]
# fmt: on
