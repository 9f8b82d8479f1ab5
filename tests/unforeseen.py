# ruff: noqa  # written as learners write
# fmt: off
"""Wrong answers as students write them, by readers who had not seen the known mistakes.

About each of them something untrue was once said, or may easily be.
``ANSWERS`` maps "exercise: what goes wrong" to a function, and to what is said of it.
"""

import math

import torch
import torch.nn.functional as F

ANSWERS = {}

def called(label, said=""):
    """Keep an answer under its exercise and what is special about it."""
    return lambda function: ANSWERS.setdefault(label, (function, said))[0]

@called("attention_context: masks the context only")
def attention_context_1(scores, values, mask=None):
    weights = scores.softmax(dim=-1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1)[:, None] @ values)[:, 0], weights

@called("mask_tokens: random tokens for masked ones, too")
def mask_tokens_1(token_ids, chosen, uniform, random_ids, mask_id):
    input_ids = token_ids.clone()
    input_ids[chosen & (uniform < 0.8)] = mask_id
    swapped = chosen & (uniform < 0.9)
    input_ids[swapped] = random_ids[swapped]
    return input_ids

@called("stroke_tokens: levels of a whole size")
def stroke_tokens_1(strokes, n_levels):
    level = strokes[:, 2] // (128 // n_levels)
    return strokes[:, 1] * n_levels + level

@called("top_k_filter: only what is larger than the k-th stays", "With `logits < kth`")
def top_k_filter_1(logits, k):
    kth = logits.topk(k).values[..., -1:]
    return logits.masked_fill(logits <= kth, -math.inf)

@called("unpatchify: rows and columns of a patch exchanged", "With `grid.permute(0, 3, 1, 4, 2, 5)`")
def unpatchify_1(patches, patch_size, n_rows):
    pixels = patches.unflatten(2, (-1, patch_size, patch_size))
    grid = pixels.unflatten(1, (n_rows, -1))
    image = grid.permute(0, 3, 1, 5, 2, 4)
    return image.flatten(4).flatten(2, 3)

@called("multi_head_attention: root of d_model, all at once", "the split query.")
def multi_head_attention_1(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, T, n_heads, D // n_heads).transpose(1, 2) for w in (w_q, w_k, w_v))
    s = q @ k.mT / math.sqrt(D)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D) @ w_o

@called("simple_self_attention: weights transposed", "With `weights` in place of `weights.T`")
def simple_self_attention_1(x):
    weights = torch.softmax(x @ x.T, dim=1)
    return weights.T @ x

@called("feed_forward: absolute values for a ReLU", "All is right but `(x @ w_1 + b_1).abs()`")
def feed_forward_1(x, w_1, b_1, w_2, b_2):
    return (x @ w_1 + b_1).abs() @ w_2 + b_2

@called("cross_entropy: pad id taken to be 0", "the second `0`")
def cross_entropy_1(logits, targets, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)

@called("residual_pre_norm: the normalised x is added", "the first `h`")
def residual_pre_norm_1(x, sublayer, norm):
    h = norm(x)
    return h + sublayer(h)
