# ruff: noqa  # written as learners write
# fmt: off
"""Wrong answers as students write them, by readers who had not seen the known mistakes.

An answer that its exercise names as a mistake by now has left the list.
``ANSWERS`` maps "exercise: what goes wrong" to a function; " + " where two things go wrong at once.
"""

import math

import torch
import torch.nn.functional as F

ANSWERS = {}

def called(label):
    """Keep an answer under its exercise and what is special about it."""
    return lambda function: ANSWERS.setdefault(label, function)

@called("teacher_forcing: drops the first token instead of the last")
def teacher_forcing_1(target_ids, bos_id):
    bos = torch.full((target_ids.shape[0], 1), bos_id)
    return torch.cat([bos, target_ids[:, 1:]], dim=1)

@called("receptive_field: dilations multiplied")
def receptive_field_1(kernel_size, dilations):
    return 1 + (kernel_size - 1) * math.prod(dilations)

@called("additive_scores: softmax at the end + no tanh")
def additive_scores_1(query, keys, w_query, w_key, v):
    hidden = (query @ w_query).unsqueeze(1) + keys @ w_key
    scores = hidden @ v
    return F.softmax(scores, dim=-1)

@called("attention_context: hidden words get -1 for a score")
def attention_context_1(scores, values, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -torch.ones_like(scores))
    weights = F.softmax(scores, dim=1)
    context = torch.einsum("bs,bsd->bd", weights, values)
    return context, weights

@called("simple_self_attention: softmax down the columns + divides by D")
def simple_self_attention_1(x):
    T, D = x.shape
    weights = torch.softmax(x @ x.T / D, dim=0)
    return weights @ x

@called("attend: mean of the weighed values for their sum")
def attend_1(query, keys, values):
    d_k = query.shape[-1]
    scores = (keys * query).sum(-1) / d_k**0.5
    weights = torch.exp(scores) / torch.exp(scores).sum()
    context = (weights.unsqueeze(1) * values).mean(dim=0)
    return context, weights

@called("one_word: looks only at words up to i")
def one_word_1(x, i, w_q, w_k, w_v):
    seen = x[: i + 1]
    q, k, v = x[i] @ w_q, seen @ w_k, seen @ w_v
    weights = torch.softmax(k @ q / math.sqrt(len(q)), dim=-1)
    return weights @ v

@called("kernel_regression: distance not squared + divides over the wrong axis")
def kernel_regression_1(x, known_x, known_y, width):
    distance = (x[:, None] - known_x[None, :]).abs()
    k = torch.exp(-distance / (2 * width**2))
    weights = k / k.sum(dim=0)
    return weights @ known_y

@called("add_positions: root of the length")
def add_positions_1(embeddings, table):
    T = embeddings.size(1)
    return embeddings * math.sqrt(T) + table[:T].unsqueeze(0)

@called("rotate_pairs: turned backwards + degrees taken for radians")
def rotate_pairs_1(x, angles):
    angles = torch.deg2rad(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., 0::2] = a * angles.cos() + b * angles.sin()
    out[..., 1::2] = b * angles.cos() - a * angles.sin()
    return out

@called("split_heads: features before words, then viewed as heads")
def split_heads_1(x, n_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, n_heads, T, D // n_heads)

@called("multi_head_attention: values from the keys' matrix + weights of nn.Linear for w_o")
def multi_head_attention_1(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    B, T, D = x.shape
    q = (x @ w_q).view(B, T, n_heads, -1).transpose(1, 2)
    k = (x @ w_k).view(B, T, n_heads, -1).transpose(1, 2)
    v = (x @ w_k).view(B, T, n_heads, -1).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    out = out.transpose(1, 2).reshape(B, T, D)
    return out @ w_o.T

@called("layer_norm: eps added to the standard deviation")
def layer_norm_1(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True, unbiased=False)
    return gain * (x - mean) / (std + eps) + bias

@called("greedy_decode: one token too many + bos kept")
def greedy_decode_1(step, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len + 1):
        next_id = int(torch.argmax(step(ids)))
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids

@called("top_k_filter: only what is larger than the k-th stays")
def top_k_filter_1(logits, k):
    kth = torch.topk(logits, k, dim=-1).values[..., -1:]
    return torch.where(logits > kth, logits, torch.tensor(float("-inf")))

@called("beam_step: likeliest token of each beam, then sorted")
def beam_step_1(log_probs, beam_scores, beam_size):
    best, token = log_probs.max(dim=-1)
    total = best + beam_scores
    scores, beam = total.sort(descending=True)
    return scores[:beam_size], beam[:beam_size], token[beam[:beam_size]]

@called("warmup_rate: two branches that do not meet")
def warmup_rate_1(step, d_model, warmup_steps):
    if step < warmup_steps:
        return d_model**-0.5 * step / warmup_steps
    return d_model**-0.5 * step**-0.5

@called("perplexity: losses not multiplied by their counts")
def perplexity_1(mean_losses, counts):
    total = mean_losses.sum()
    return torch.exp(total / counts.sum())

@called("next_token_loss: nll_loss of probabilities")
def next_token_loss_nll(decode, ids):
    inputs, targets = ids[:, :-1], ids[:, 1:]
    probabilities = decode(inputs).softmax(-1)
    return F.nll_loss(probabilities.flatten(0, 1), targets.flatten())

@called("flattering_loss: every target at every position")
def flattering_loss_indexed(log_probs, targets, pad_id):
    picked = log_probs[..., targets]
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()
