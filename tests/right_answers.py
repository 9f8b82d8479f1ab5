# ruff: noqa  # written as learners write
# fmt: off
"""Right answers, written differently from the course's own."""

import math

import torch
import torch.nn.functional as F


ANSWERS = {}  # "exercise: how it is written"

def called(label):
    """Keep an answer under its exercise and what is special about it."""
    return lambda function: ANSWERS.setdefault(label, function)

@called("rnn_step: with F.linear and tanh from exponentials")
def rnn_step_1(x, hidden, w_x, w_h, bias):
    a = F.linear(x, w_x.T, bias) + F.linear(hidden, w_h.T)
    return 2 * torch.sigmoid(2 * a) - 1

@called("teacher_forcing: rolled, then the first column set")
def teacher_forcing_1(target_ids, bos_id):
    out = target_ids.roll(1, dims=1)
    out[:, 0] = bos_id
    return out

@called("receptive_field: walks back through the layers")
def receptive_field_1(kernel_size, dilations):
    first, last = 0, 0
    for dilation in reversed(dilations):
        first -= (kernel_size - 1) * dilation
    return last - first + 1

@called("layers_needed: whole-number ceiling")
def layers_needed_1(distance, kernel_size):
    return -(-distance // (kernel_size - 1))

@called("layers_needed: counts layer by layer")
def layers_needed_2(distance, kernel_size):
    layers, reach = 0, 0
    while reach < distance:
        reach += kernel_size - 1
        layers += 1
    return layers

@called("additive_scores: einsum")
def additive_scores_1(query, keys, w_query, w_key, v):
    q = torch.einsum("bq,qa->ba", query, w_query).unsqueeze(1)
    k = torch.einsum("bsk,ka->bsa", keys, w_key)
    return torch.einsum("bsa,a->bs", (q + k).tanh(), v)

@called("attention_context: -1e9 and bmm")
def attention_context_1(scores, values, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=1)
    return torch.bmm(weights.unsqueeze(1), values).squeeze(1), weights

@called("general_scores: einsum over all three")
def general_scores_1(query, keys, w):
    return torch.einsum("bq,qk,bsk->bs", query, w, keys)

@called("general_scores: the matrix goes to the keys")
def general_scores_2(query, keys, w):
    return ((keys @ w.T) * query[:, None, :]).sum(dim=2)

@called("alignment_from_weights: sorted, last place")
def alignment_from_weights_1(weights):
    return weights.argsort(dim=-1)[..., -1]

@called("simple_self_attention: row by row")
def simple_self_attention_1(x):
    rows = []
    for word in x:
        weights = torch.softmax(x @ word, dim=0)
        rows.append((weights[:, None] * x).sum(0))
    return torch.stack(rows)

@called("simple_self_attention: F.scaled_dot_product_attention with scale 1")
def simple_self_attention_2(x):
    return F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0]

@called("attend: products and sums by hand")
def attend_1(query, keys, values):
    scores = (keys * query).sum(dim=1) / len(query) ** 0.5
    e = torch.exp(scores - scores.max())
    weights = e / e.sum()
    return (weights[:, None] * values).sum(dim=0), weights

@called("one_word: the whole matrix, then row i")
def one_word_1(x, i, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = torch.softmax(q @ k.T / math.sqrt(k.shape[1]), dim=1)
    return (weights @ v)[i]

@called("one_word: projects the values last")
def one_word_2(x, i, w_q, w_k, w_v):
    scores = x[i] @ w_q @ w_k.T @ x.T / math.sqrt(w_k.shape[1])
    return (scores.softmax(-1) @ x) @ w_v

@called("kernel_regression: exp, sum, divide")
def kernel_regression_1(x, known_x, known_y, width):
    k = torch.exp(-0.5 * ((x[:, None] - known_x) / width) ** 2)
    return (k @ known_y) / k.sum(dim=1)

@called("kernel_regression: loop with true Gaussians")
def kernel_regression_2(x, known_x, known_y, width):
    out = []
    for point in x:
        g = torch.distributions.Normal(point, width).log_prob(known_x).exp()
        out.append((g * known_y).sum() / g.sum())
    return torch.stack(out)

@called("scaled_scores: einsum")
def scaled_scores_1(query, key):
    return torch.einsum("...tk,...sk->...ts", query, key) * key.size(-1) ** -0.5

@called("scaled_dot_product_attention: torch's own, and the weights from the identity")
def scaled_dot_product_attention_1(query, key, value, mask=None):
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    eye = torch.eye(key.shape[-2]).expand(*key.shape[:-2], -1, -1)
    return context, F.scaled_dot_product_attention(query, key, eye, attn_mask=mask)

@called("scaled_dot_product_attention: -inf added where hidden")
def scaled_dot_product_attention_2(query, key, value, mask=None):
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -1e9)
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = e / e.sum(-1, keepdim=True)
    return weights @ value, weights

@called("causal_mask: comparison of positions")
def causal_mask_1(length):
    i = torch.arange(length)
    return i[:, None] >= i[None, :]

@called("causal_mask: not above the diagonal")
def causal_mask_2(length):
    return ~torch.triu(torch.ones(length, length), diagonal=1).bool()

@called("padding_mask: reshape")
def padding_mask_1(token_ids, pad_id):
    B, S = token_ids.shape
    return token_ids.ne(pad_id).reshape(B, 1, 1, S)

@called("sinusoidal_positions: two loops")
def sinusoidal_positions_1(max_len, d_model):
    table = torch.zeros(max_len, d_model)
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            table[pos, i] = math.sin(angle)
            table[pos, i + 1] = math.cos(angle)
    return table

@called("sinusoidal_positions: cosine as a shifted sine")
def sinusoidal_positions_2(max_len, d_model):
    j = torch.arange(d_model)
    angle = torch.arange(max_len)[:, None] / 10000 ** ((j - j % 2) / d_model)
    return torch.sin(angle + (j % 2) * math.pi / 2)

@called("add_positions: embedding of the positions")
def add_positions_1(embeddings, table):
    positions = torch.arange(embeddings.shape[1])
    return F.embedding(positions, table) + embeddings * embeddings.shape[2] ** 0.5

@called("shift_matrix: entry by entry")
def shift_matrix_1(k, d_model):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k * 10000 ** (-i / d_model)
        m[i, i] = m[i + 1, i + 1] = math.cos(angle)
        m[i, i + 1] = -math.sin(angle)
        m[i + 1, i] = math.sin(angle)
    return m

@called("rotate_pairs: complex numbers")
def rotate_pairs_1(x, angles):
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    z = z * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(z).flatten(-2)

@called("rotate_pairs: swapped pairs with signs")
def rotate_pairs_2(x, angles):
    cos = angles.cos().repeat_interleave(2, dim=-1)
    sin = angles.sin().repeat_interleave(2, dim=-1)
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * cos + turned * sin

@called("split_heads: chunks stacked")
def split_heads_1(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)

@called("split_heads: view and permute")
def split_heads_2(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)

@called("merge_heads: concatenation")
def merge_heads_1(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)

@called("multi_head_attention: a loop over the heads, W_O in slices")
def multi_head_attention_1(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    K = x.shape[-1] // n_heads
    out = 0
    for h in range(n_heads):
        part = slice(h * K, (h + 1) * K)
        q, k, v = x @ w_q[:, part], x @ w_k[:, part], x @ w_v[:, part]
        scores = q @ k.transpose(1, 2) / math.sqrt(K)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        out = out + scores.softmax(-1) @ v @ w_o[part]
    return out

@called("multi_head_attention: einsum throughout")
def multi_head_attention_2(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    D = x.shape[-1]
    q, k, v = (torch.einsum("btd,dhk->bhtk", x, w.view(D, n_heads, -1)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * (D / n_heads) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    found = torch.einsum("bhts,bhsk->bthk", scores.softmax(-1), v)
    return found.reshape(x.shape) @ w_o

@called("silence_head: times zeros and ones")
def silence_head_1(w_o, head, n_heads):
    keep = (torch.arange(n_heads) != head).float().repeat_interleave(len(w_o) // n_heads)
    return w_o * keep[:, None]

@called("layer_norm: F.layer_norm")
def layer_norm_1(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), gain, bias, eps)

@called("layer_norm: mean of squares minus square of the mean")
def layer_norm_2(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = (x**2).mean(-1, keepdim=True) - mean**2
    return (x - mean) * torch.rsqrt(var + eps) * gain + bias

@called("feed_forward: clamp, einsum")
def feed_forward_1(x, w_1, b_1, w_2, b_2):
    h = (torch.einsum("...d,df->...f", x, w_1) + b_1).clamp(min=0)
    return torch.einsum("...f,fd->...d", h, w_2) + b_2

@called("residual_post_norm: in three steps")
def residual_post_norm_1(x, sublayer, norm):
    found = sublayer(x)
    total = torch.add(found, x)
    return norm(total)

@called("residual_pre_norm: in three steps")
def residual_pre_norm_1(x, sublayer, norm):
    seen = norm(x)
    found = sublayer(seen)
    return found + x

@called("decoder_mask: loop")
def decoder_mask_1(target_ids, pad_id):
    B, T = target_ids.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for t in range(T):
            for s in range(t + 1):
                mask[b, 0, t, s] = bool(target_ids[b, s] != pad_id)
    return mask

@called("greedy_decode: for with break")
def greedy_decode_1(step, bos_id, eos_id, max_len):
    written = []
    for _ in range(max_len):
        token = step([bos_id] + written).topk(1).indices.item()
        written.append(token)
        if token == eos_id:
            break
    return written

@called("top_k_filter: scatter into -inf")
def top_k_filter_1(logits, k):
    values, places = logits.topk(k, dim=-1)
    return torch.full_like(logits, -math.inf).scatter(-1, places, values)

@called("top_p_filter: a loop over rows and tokens")
def top_p_filter_1(logits, p):
    out = torch.full_like(logits, float("-inf"))
    for row, new in zip(logits.reshape(-1, logits.shape[-1]), out.view(-1, logits.shape[-1])):
        probs, total = row.softmax(0), 0.0
        for i in probs.argsort(descending=True).tolist():
            new[i] = row[i]
            total += probs[i].item()
            if total >= p:
                break
    return out

@called("beam_step: all pairs sorted")
def beam_step_1(log_probs, beam_scores, beam_size):
    V = log_probs.shape[-1]
    everything = [
        ((beam_scores[b] + log_probs[b, t]).item(), b, t)
        for b in range(len(beam_scores))
        for t in range(V)
    ]
    best = sorted(everything, reverse=True)[:beam_size]
    scores, beams, tokens = zip(*best)
    return torch.tensor(scores), torch.tensor(beams), torch.tensor(tokens)

@called("cross_entropy: torch's own with ignore_index")
def cross_entropy_1(logits, targets, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)

@called("cross_entropy: log of the sum of exponentials minus the target's logit")
def cross_entropy_2(logits, targets, pad_id):
    real = targets != pad_id
    z, t = logits[real], targets[real]
    return (z.logsumexp(-1) - z[range(len(t)), t]).mean()

@called("smooth_targets: lerp between one-hot and even")
def smooth_targets_1(targets, vocab_size, epsilon):
    one_hot = torch.eye(vocab_size)[targets]
    return torch.lerp(one_hot, torch.full_like(one_hot, 1 / vocab_size), epsilon)

@called("warmup_rate: two branches")
def warmup_rate_1(step, d_model, warmup_steps):
    if step < warmup_steps:
        return step / (warmup_steps * math.sqrt(warmup_steps * d_model))
    return 1 / math.sqrt(d_model * step)

@called("perplexity: product of powers")
def perplexity_1(mean_losses, counts):
    return (mean_losses.exp().double() ** (counts / counts.sum())).prod()


@called("head_contributions: chunk and stack")
def head_contributions_by_chunks(context, w_o):
    return context @ torch.stack(w_o.chunk(context.shape[1]))

@called("mixed_up_heads: einsum without a transpose")
def mixed_up_heads_by_einsum(x, w_q, w_k, w_v, n_heads):
    q, k, v = ((x @ w).unflatten(-1, (n_heads, -1)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bhts,bshk->bthk", scores.softmax(-1), v).flatten(2)

@called("layer_norm: mean of the squares minus square of the mean")
def layer_norm_by_squares(x, gain, bias, eps=1e-5):
    mean = x.mean(-1)[..., None]
    variance = (x**2).mean(-1)[..., None] - mean**2
    return gain * (x - mean) * (variance + eps) ** -0.5 + bias

@called("greedy_decode: lists and max")
def greedy_decode_by_lists(step, bos_id, eos_id, max_len):
    written = []
    for _ in range(max_len):
        logits = step([bos_id] + written).tolist()
        written = written + [logits.index(max(logits))]
        if written[-1] == eos_id:
            return written
    return written

@called("top_k_filter: by rank")
def top_k_filter_by_rank(logits, k):
    logits = logits.clone()
    rank = logits.argsort(-1, descending=True).argsort(-1)
    logits[rank >= k] = -math.inf
    return logits

@called("top_p_filter: shifted by one, gathered back")
def top_p_filter_shifted(logits, p):
    probabilities, order = logits.softmax(-1).sort(-1, descending=True)
    enough = probabilities.cumsum(-1) >= p
    dropped = torch.cat([torch.zeros_like(enough[..., :1]), enough[..., :-1]], -1)
    return logits.masked_fill(dropped.gather(-1, order.argsort(-1)), -math.inf)

@called("flattering_loss: nll_loss")
def flattering_loss_by_nll(log_probs, targets, pad_id):
    return F.nll_loss(log_probs.flatten(0, 1), targets.flatten(), ignore_index=pad_id)

@called("cross_entropy: classes in dimension 1")
def cross_entropy_transposed(logits, targets, pad_id):
    real = targets != pad_id
    return (F.cross_entropy(logits.mT, targets, reduction="none") * real).sum() / real.sum()

@called("unigram_entropy: of a Categorical")
def unigram_entropy_by_distribution(counts):
    return torch.distributions.Categorical(probs=counts / counts.sum()).entropy()

@called("perplexity: every token repeated")
def perplexity_by_repeating(mean_losses, counts):
    return torch.repeat_interleave(mean_losses, counts).mean().exp()
