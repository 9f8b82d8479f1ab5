# %% [markdown]
# # Who pays for long context?
#
# Paste a whole novel into a chat window and ask who the murderer is. The novel comes to about 130,000 tokens, any of
# which might hold the clue, so the model has to attend to all of them while it answers. Computing their keys and values
# afresh for every word of the answer would take forever. That's why they're kept in the cache of lesson 08.
#
# GPT-3 had a *window* of 2,048 tokens, which is as far back as it could attend. Stretch that window to the novel's
# length and change nothing else. The model has 96 layers of 96 heads, with keys and values of 128 numbers.
#
# This lesson follows lesson 14. You also need lesson 08's cache.

# %% tags=["hide-input"]
import math

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
from tqdm.auto import tqdm

from helpers import exercises, plots
from helpers.models import efficient, patterns
from helpers.transformer import attention
from helpers.transformer.layers import EncoderLayer
from helpers.widgets.attention_patterns import AttentionPatterns

torch.set_num_threads(1)  # timings below compare ways of computing, not numbers of cores


def multiplications(function, *inputs):
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    return counter.get_total_flops() / 2  # a multiplication and an addition count as two


class LargestTensor(TorchDispatchMode):
    """Remembers the size in bytes of the largest tensor that is made inside a `with` block."""

    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.size = max(self.size, tensor.numel() * tensor.element_size())
        return result


def largest_tensor(function, *inputs):
    with LargestTensor() as memory:
        function(*inputs)
    return memory.size


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook, warm-up and section 1 14 · 2 patterns 14 · 3 tiles 5 · 4 linear attention 14 · 5 today's models
# and summary 3. The cache of a hybrid, the buggy tiles, the reach of any pattern, the other masks and the discussion
# are for home.
#
# **Say first**: there are three ways out, each with its own price. Patterns give up direct links, tiles cost nothing
# but effort, and linear attention gives up exact look-up. Write the three on the board and complete the list together
# at the end, because section 5 adds a fourth, which selects keys by content.
#
# **Show**: the widget on the projector, pattern by pattern, and let the room call out the number of layers
# before you move the slider.
#
# **If you're running late**: work through the pencil task of section 3 and the loop below it on the board.
#
# **Ask**: "Which of the three changes what the model computes?" (windows and linear attention do, tiling doesn't) ·
# "Who pays: the one who trains, the one who serves, or the one who asks?" (all three: training grows with the square,
# serving with the cache, and the bill is by the token) · "You have a cheaper model read a 300-page contract. What
# would you expect it to miss first?" (links between distant places, for instance between a definition and its use)
#
# **Answers to expect**: a mask makes it faster · windows multiply from layer to layer · tiling is an approximation ·
# linear attention is the same thing with the brackets moved (it isn't, because the softmax is gone). The answers to
# the predictions are discussed in the cells that reveal them.

# %% tags=["prediction", "hide-input"]
# Keys and values, tokens, layers, width, bytes.
novel = 2 * 130_000 * 96 * 12_288 * 2
exercises.reveal("novel_in_the_cache", measured="large" if novel > 350e9 else "middle")
print(f"{novel / 1e9:.0f} GB for the novel, {novel / 130_000 / 1e6:.1f} MB per token")
assert 550e9 < novel < 650e9

# %% [markdown] warm_up=16
# ## 1. What does a long text cost?
#
# A long text comes with two bills. The first, for the memory of the **cache**, grows in proportion to the length.
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def cache_size(n_tokens, n_layers, n_heads, d_head, bytes_per_number=2):
    """-> bytes of all keys and values"""
    numbers = n_tokens * ...
    return ... * numbers * bytes_per_number


# %% [markdown]
# Each factor of this product is a place to save memory. In **grouped-query attention**, for example, several query
# heads share one key head and one value head. If GPT-3 had 12 key and value heads instead of 96, the novel's cache
# would shrink to an eighth.
#
# The second bill is for **time**. To read $n$ tokens, a head computes $n^2$ dot products of $d$ numbers each. Mixing
# the values takes as many multiplications again, which makes $2n^2d$ in all. Let's time that on your machine, alongside
# a feed-forward layer, which processes every token by itself.


# %% tags=["hide-input", "nbval-ignore-output"]
def full_attention(query, key, value):
    return attention.scaled_dot_product_attention(query, key, value)[0]


notebook.set_seed(0)
lengths = [128, 256, 512, 1024, 2048]
inputs = {n: torch.randn(3, 1, 1, n, 64).unbind(0) for n in lengths}
widen, narrow = torch.randn(64, 256), torch.randn(256, 64)
with torch.inference_mode():
    full_times = [notebook.seconds(full_attention, *inputs[n]) for n in lengths]
    forward_times = [
        notebook.seconds(lambda q, k, v: (q @ widen).relu() @ narrow, *inputs[n]) for n in lengths
    ]
    full_memory = {n: largest_tensor(full_attention, *inputs[n]) for n in lengths}
print(
    "weights to store:",
    ", ".join(f"{n} tokens {full_memory[n] / 1e6:.3g} MB" for n in lengths[::2]),
)
print(f"time at 2048 tokens: {full_times[-1] / full_times[-3]:.0f} times that at 512")
axes = plots.labelled_lines(
    lengths,
    {
        "attention, one head": [1000 * t for t in full_times],
        "feed-forward": [1000 * t for t in forward_times],
    },
    x_label="tokens",
    y_label="milliseconds",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_xticks(lengths, lengths)
axes.set_yscale("log")
short, long = inputs[512], inputs[2048]
notebook.claim(
    multiplications(full_attention, *long) == 16 * multiplications(full_attention, *short)
)
notebook.claim(full_memory[2048] == 16 * full_memory[512])
notebook.figure(
    axes,
    alt="Milliseconds against tokens, both axes logarithmic: attention climbs far more steeply than "
    "the feed-forward layer and ends far above it.",
    width=560,
)

# %% [markdown]
# Make the text four times as long, and attention needs sixteen times the multiplications, and sixteen times the memory
# for its weights. The measured times follow this pattern less exactly.

# %% [markdown]
# ## 2. Which pairs can we leave out?
#
# Look at the word you're reading now. Most of what you need to understand it is in the few words around it. A model
# could save work, then, by letting each token attend only to the last few tokens, itself included. These tokens form a
# **sliding window**, so called because it moves along from token to token.
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def window_mask(length, window):
    """-> (T, T) bool, True = allowed to attend"""
    place = torch.arange(length)
    back = place[:, None] - place  # (T, T): how far behind its query each key is
    return (back >= ...) & (back < ...)  # ← fill the gaps


# %% [markdown]
# Take a text of 2,048 tokens and a window of 64. The last token attends to 64 keys, while the other 1,984 are masked
# out. Let's pass such a mask to the attention function of lesson 04 and time it.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# The three lines with and without the mask, then only the blocks on the diagonal.
narrow_mask = patterns.window_mask(2048, 64)
contenders = (
    full_attention,
    lambda *qkv: attention.scaled_dot_product_attention(*qkv, narrow_mask)[0],
    lambda *qkv: patterns.window_attention(*qkv, 64),
)
with torch.inference_mode():
    rounds = [[notebook.seconds(f, *inputs[2048], repeats=1) for f in contenders] for _ in range(5)]
    plain_time, masked_time, block_time = numpy.median(rounds, axis=0)
    counted = [multiplications(f, *inputs[2048]) for f in contenders]
    small = [x[..., :256, :] for x in inputs[2048]]
    torch.testing.assert_close(
        patterns.window_attention(*small, 64),
        attention.scaled_dot_product_attention(*small, patterns.window_mask(256, 64))[0],
    )
ratio = masked_time / plain_time
exercises.reveal(
    "what_a_mask_saves", measured="little" if ratio < 0.2 else "half" if ratio < 0.7 else "more"
)
print(f"with the mask, attention takes {ratio:.1f} times as long as without it")
notebook.tell(
    f"""
    We save work only if the hidden scores aren't computed at all. `patterns.window_attention` returns what masked
    attention returns, but it cuts the text into blocks of 64 and multiplies each block of queries only with its own
    block of keys and the one before. On this machine it's {plain_time / block_time:.0f} times as fast as full
    attention.
    """
)
notebook.claim(counted[0] == counted[1] == 16 * counted[2])

# %% [markdown]
# ### Does the first word still reach the last one?
#
# Within one layer, nothing gets further than the window. But in the second layer, a token attends to neighbours that
# have themselves attended to *their* neighbours, so news could travel on from layer to layer.
#
# With a window of 8, a text of 4,096 tokens needs hundreds of layers. Two other patterns need far fewer. In the **strided**
# pattern (Child et al. 2019), each token also attends to every 8th token further back. In the **global** pattern of
# Longformer and BigBird, a few tokens attend to all others, and all others attend to them.
#
# Move the sliders to see how many layers each pattern needs (*Window* sets the stride, too), and press a cell to see
# how many layers it takes for news of its key to reach its query, and by way of which positions. As long as *Causal
# mask* is ticked, a global token helps very little. Can you see why? A question in *Practice* comes back to this.

# %%
AttentionPatterns(width=8)

# %% [markdown]
# Counting layers tells you which positions are connected. What does a trained model make of them? A small encoder reads
# 40 random symbols, one of them marked. Its last position has to report which one. We train four such encoders of two
# layers, each with a different pattern. The first has full attention and the second a window of 8, which in an encoder
# means 7 positions to each side. The third is strided, and the fourth has a window and one global token.


# %% tags=["hide-input"]
class Reader(nn.Module):
    def __init__(self, mask, length=40, n_symbols=8, width=32):
        super().__init__()
        self.embedding = nn.Embedding(2 * n_symbols + 1, width)  # plain, marked, and a question
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.layers = nn.ModuleList(EncoderLayer(width, 2, 64, 0.0, True) for _ in range(2))
        self.output, self.mask = nn.Linear(width, n_symbols), mask

    def forward(self, ids):
        x = self.embedding(ids) + self.positions
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.output(x[:, -1])  # only the last position answers


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
def far_copy(n, generator, back=None):
    """Texts of 40 symbols, one marked `back` positions before the end; and which one."""
    ids = torch.randint(8, (n, 40), generator=generator)
    ids[:, [0, -1]] = 16  # a global position at the beginning, the question at the end
    back = (
        torch.randint(1, 39, (n,), generator=generator) if back is None else torch.full((n,), back)
    )
    row = torch.arange(n)
    target = ids[row, 39 - back].clone()
    ids[row, 39 - back] += 8
    return ids, target


def train_reader(mask, bar, steps=140, seed=0):
    notebook.set_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Reader(mask)
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 8e-3 * min(1, (step + 1) / 20) * (1 - step / steps)
        ids, target = far_copy(32, generator)
        optimiser.zero_grad()
        F.cross_entropy(model(ids), target).backward()
        optimiser.step()
        bar.update()
    with torch.no_grad():
        tests = [far_copy(100, generator, back) for back in distances]
        return [100 * (model(i).argmax(-1) == t).float().mean().item() for i, t in tests]


distances = list(range(1, 39, 3))
masks_of_readers = {
    "full": None,
    "window": patterns.window_mask(40, 8, causal=False),
    "strided": patterns.strided_mask(40, 7, causal=False),
    "window + global": patterns.global_mask(40, 8, 1),
}
with tqdm(total=4 * 140, desc="four readers") as bar:
    accuracy = {name: train_reader(mask, bar) for name, mask in masks_of_readers.items()}
inside = [a for a, back in zip(accuracy["window"], distances) if back <= 10]
outside = [a for a, back in zip(accuracy["window"], distances) if back > 14]
shape = (
    "flat" if min(outside) > 60 else "cliff" if min(inside) > 75 and max(outside) < 30 else "slope"
)
exercises.reveal("how_far_it_reads", measured=shape)
axes = plots.labelled_lines(
    distances,
    accuracy,
    x_label="positions from the mark to the end",
    y_label="right, %",
    marker="o",
)
axes.set_ylim(0, 105)
axes.lines[-1].set_linestyle("--")  # it hides that of full attention
axes.axhline(12.5, color=plots.GREY, linewidth=1, linestyle=":")
axes.text(1, 14.5, "chance, 1 in 8", color=plots.GREY)
allowed = {k: 40 * 40 if m is None else int(m.sum()) for k, m in masks_of_readers.items()}
print("pairs allowed:", ", ".join(f"{name} {n:,}" for name, n in allowed.items()))
notebook.claim(shape == "cliff")
notebook.claim(all(min(accuracy[name]) > 70 for name in ("full", "strided", "window + global")))
notebook.show(
    axes,
    alt="Share of right answers against the distance of the mark. Full, strided and global attention stay "
    "near 100 percent. The window alone falls to about chance beyond 14 positions. A dotted line marks chance, "
    "12.5 percent.",
    width=620,
)
notebook.tell(
    """
    A window of 8 includes the query itself, so each layer reaches 7 positions further and two layers reach 14. Beyond
    that distance the accuracy drops to chance, which is one in eight here. Each point is measured on only 100 texts, so
    it can lie some percent above or below that line. The strided and the global patterns allow somewhat more pairs than
    the window does, but far fewer than full attention. Even so, they connect any two positions within two layers.
    """
)

# %% [markdown]
# ## 3. Do we have to store the weights?
#
# Suppose you need every pair, but you run out of memory for the $n \times n$ weights. Attention needs each row of
# weights only until the values have been mixed. If we worked through the keys a few at a time, the weights would never
# all have to exist at once.
#
# The softmax stands in the way, because it needs a whole row of scores twice. First it looks for the largest score,
# which it subtracts so that nothing overflows. Then it adds up the exponentials for the denominator. How could it do
# either before it has seen the whole row?
#
# **Pencil (2 min).** Scores arrive in two blocks, (1, 2) and then (4). After the first block, the largest score is 2,
# so you subtract 2 from each score, and your sum is $e^{1-2} + e^{0}$. Then the 4 arrives, and you should have
# subtracted 4 all along. By what single number do you multiply the old sum to correct it? Write the number down before
# you read the loop below, which takes in five scores.

# %%
scores, block = numpy.array([1.0, 2.0, 4.0, 0.5, 3.0]), 2
largest, total = -numpy.inf, 0.0
for start in range(0, len(scores), block):
    part = scores[start : start + block]
    new = max(largest, part.max())
    total = total * numpy.exp(largest - new) + numpy.exp(part - new).sum()
    largest = new
    print(f"after {start + len(part)} scores: largest {largest}, sum {total:.3f}")

# %% tags=["hide-input"]
by_blocks = numpy.exp(scores - largest) / total
assert numpy.allclose(by_blocks, torch.tensor(scores).softmax(-1).numpy())
print("equal to a softmax over all five scores: yes")

# %% [markdown]
# The number is $e^{2-4}$, because $e^{s-2} \cdot e^{2-4} = e^{s-4}$ for every old score $s$. This trick is the **online
# softmax** (Milakov and Gimelshein 2018). The mixture of values so far is corrected by the same factor, so attention
# can read its keys and values in blocks, called **tiles**. FlashAttention does that on GPUs (Dao et al. 2022).
#
# What do tiles save? We count the multiplications of both versions and look for the largest tensor that each creates.


# %% tags=["hide-input"]
def in_tiles(query, key, value):
    return efficient.tiled_attention(query, key, value, block=128)


with torch.inference_mode():
    plain, tiled = (multiplications(f, *inputs[2048]) for f in (full_attention, in_tiles))
    tile_memory = largest_tensor(in_tiles, *inputs[2048])
    torch.testing.assert_close(in_tiles(*inputs[1024]), full_attention(*inputs[1024]))
print(
    f"multiplications at 2048 tokens: {plain / 1e6:.0f} million at once, {tiled / 1e6:.0f} million in tiles"
)
print(f"largest tensor: {full_memory[2048] / tile_memory:.0f} times smaller in tiles of 128")
assert plain == tiled and full_memory[2048] / tile_memory == 16

# %% [markdown]
# Tiling is no approximation. It does all the multiplications and only avoids storing the weights. On a GPU that alone
# makes attention several times as fast, because a GPU spends more time writing and reading the weights than computing
# them. In PyTorch, `F.scaled_dot_product_attention` has tiles built in, and `flex_attention` also skips every tile that
# a mask hides completely (Dong et al. 2024).

# %% [markdown]
# ## 4. What if we moved the brackets?
#
# Tiles save memory but no multiplications, because $(QK^\top)V$ still begins with all $n \times n$ scores. Matrix
# products are associative, though. If we moved the brackets, $Q(K^\top V)$ would begin with a matrix that's only $d
# \times d$, however long the text. Unfortunately the softmax comes between the two products, and it needs the scores.
#
# Let's replace the softmax, then. It makes the weights proportional to $e^{q \cdot k}$. We make them proportional to a
# dot product instead, $\phi(q) \cdot \phi(k)$, where the function $\phi$ makes every entry positive. Katharopoulos et
# al. (2020) take $\phi(x) = \mathrm{elu}(x) + 1$, which is $x + 1$ for positive $x$ and $e^x$ otherwise.
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def linear_attention(query, key, value):
    """(..., T, K), (..., S, K), (..., S, D_v) -> (..., T, D_v)"""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state = ... @ ...  # (..., K, D_v)
    total = key.sum(-2).unsqueeze(-1)  # (..., K, 1)
    return query @ state / (... @ total)  # ← fill the gaps


# %% tags=["hide-input", "nbval-ignore-output"]
with torch.inference_mode():
    q, k, v = inputs[1024]
    phi_q, phi_k = efficient.feature_map(q), efficient.feature_map(k)
    weights = phi_q @ phi_k.mT
    quadratic = weights / weights.sum(-1, keepdim=True) @ v
    causal_weights = weights.tril()
    causal = causal_weights / causal_weights.sum(-1, keepdim=True) @ v
    torch.testing.assert_close(efficient.linear_attention(q, k, v), quadratic, atol=1e-6, rtol=0)
    torch.testing.assert_close(
        efficient.causal_linear_attention(q, k, v), causal, atol=1e-6, rtol=0
    )
    fused_times = [notebook.seconds(F.scaled_dot_product_attention, *inputs[n]) for n in lengths]
    chunk_times = [notebook.seconds(efficient.causal_linear_attention, *inputs[n]) for n in lengths]
    few = torch.randn(3, 1, 1, 32, 64).unbind(0)
    small_ratio, large_ratio = (
        multiplications(efficient.linear_attention, *some) / multiplications(full_attention, *some)
        for some in (few, inputs[1024])
    )
    linear_memory = largest_tensor(efficient.linear_attention, *inputs[2048])
notebook.claim(small_ratio > 1 > 10 * large_ratio)
print("linear attention agrees to a millionth with a version that writes out its weights: yes")
print(
    f"multiplications, linear divided by softmax: {small_ratio:.2f} at 32 tokens, {large_ratio:.3f} at 1,024"
)
print(f"largest tensor at 2048 tokens: {full_memory[2048] / linear_memory:.0f} times smaller")
sooner = [n for n, a, b in zip(lengths, chunk_times, fused_times, strict=True) if a < b]
where = ", ".join(f"{n:,}" for n in sooner) or "none of these"
print(
    "lengths at which linear attention under a causal mask is faster here than PyTorch's tiles:",
    where,
)

# %% [markdown]
# Linear attention takes $2nd^2$ multiplications instead of $2n^2d$, which is fewer as soon as $n$ is larger than $d$,
# 64 here. Fewer multiplications don't always mean less time, so the last line above compares linear attention with the
# tiles that PyTorch has built in.
#
# ### What does a decoder have to remember?
#
# A causal model reads token by token. The `state` in your function is a sum of $\phi(k)v^\top$ over the tokens, so
# each new token simply adds one term.
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def linear_attention_step(query, key, value, state, total):
    """(K,), (K,), (D_v,), (K, D_v), (K,) -> context (D_v,), state, total"""
    ...


# %% tags=["hide-input"]
q, k, v = (x[0, 0, :100] for x in inputs[256])
state, total, rows = torch.zeros(64, 64), torch.zeros(64), []
one_step = exercises.mine("linear_attention_step")  # yours, once it has passed
for t in range(100):
    row, state, total = one_step(q[t], k[t], v[t], state, total)
    rows.append(row)
torch.testing.assert_close(
    torch.stack(rows), efficient.causal_linear_attention(q, k, v), atol=1e-6, rtol=0
)
print("100 single steps and one pass over all 100 tokens agree: yes")

# %% [markdown]
# Your function takes the old state and a new token and returns the new state, as `rnn_step` did in lesson 01. **Linear
# attention is a recurrent network whose state is a matrix.** In training it's computed for all tokens at once, and in
# decoding it needs no cache that grows. But with recurrence, lesson 01's question is back: how much fits into a state
# of fixed size?
#
# To find out, we fill such a state with random keys and values of norm 1. At first we leave out $\phi$, so that the
# state is simply the sum of all $k v^\top$.


# %%
def share_read_back(n_pairs, width=64, phi=lambda x: x):
    key, value = (F.normalize(torch.randn(n_pairs, width), dim=-1) for _ in range(2))
    state = phi(key).T @ value  # (width, width): the sum of all pairs
    read = phi(key) @ state  # read with each key
    return share_closest(read, value)


# %% tags=["prediction", "hide-input"]
notebook.set_seed(0)
counts = [16, 32, 64, 128, 256, 512, 1024]


def share_closest(read, value):
    """Return the share of keys for which the value closest to the result is the key's own."""
    return ((read @ value.T).argmax(-1) == torch.arange(len(read))).float().mean().item()


def mean_share(n_pairs, **how):
    return 100 * numpy.mean([share_read_back(n_pairs, **how) for _ in range(5)])


shares = {
    "sum, 64 wide": [mean_share(n) for n in counts],
    "sum, 16 wide": [mean_share(n, width=16) for n in counts],
    "with φ": [mean_share(n, phi=efficient.feature_map) for n in counts],
}
at_512 = shares["sum, 64 wide"][counts.index(512)]
exercises.reveal(
    "pairs_from_a_matrix", measured="most" if at_512 > 70 else "third" if at_512 > 15 else "few"
)
axes = plots.labelled_lines(
    counts, shares, x_label="pairs in the state", y_label="read back, %", marker="o"
)
axes.set_xscale("log", base=2)
axes.set_xticks(counts, counts)
axes.set_ylim(0, 105)
for name, curve, at in zip(axes.texts, shares.values(), (4, 1, 0)):  # where they're apart
    name.xy = counts[at], curve[at]
    name.set(position=(8, 6), gid="")
sharp_key, sharp_value = (F.normalize(torch.randn(512, 64), dim=-1) for _ in range(2))
sharp = (20 * sharp_key @ sharp_key.T).softmax(-1) @ sharp_value
assert ((sharp @ sharp_value.T).argmax(-1) == torch.arange(512)).all()
wide, narrow, with_phi = shares.values()
longer = numpy.mean(
    [mean_share(16, phi=lambda x: efficient.feature_map(16 * x)) for _ in range(20)]
)
assert longer > 2 * with_phi[0]
assert wide[2] > 97 and 20 < at_512 < 45 and narrow[4] < wide[4] / 2
assert with_phi[0] < 8 and max(with_phi[2:]) < 8
notebook.show(
    axes,
    alt="Share of pairs read back against the number of pairs in the state. The sum reads back nearly all at "
    "first and then falls steeply, and the wider state falls later. With φ, hardly any pair comes back, "
    "however few are stored.",
    width=560,
)
notebook.tell(
    f"""
    Softmax attention with sharp scores reads back all 512, because it keeps each pair separately. A sum of fixed size
    can't.

    With the φ you've just written, even 16 pairs are too many: {with_phi[0]:.0f}% of them come back, which is no more
    than chance (1 in 16). The keys are short here, so elu + 1 turns every entry into a number not far from 1, and all φ(k)
    point in nearly the same direction. Longer keys point in more different directions, so with keys 16 times
    as long, {longer:.0f}% of 16 pairs come back.
    """
)

# %% [markdown]
# The price of linear attention, then, is exact look-up among many things. Newer models with such a state therefore do
# more than add. With the **delta rule**, a new value replaces the old one that was stored under its key. *Going
# deeper* measures how much that helps.
#
# ## 5. What do models do today?
#
# Many models still pay for full attention in every layer and save only by sharing key and value heads. Others keep a
# few full layers for exact look-up and make the rest cheap. Jamba (2024) and MiniMax-01 (2025) tried a fixed-size state
# in seven of eight layers. MiniMax-01's was that of linear attention, and Jamba's that of **Mamba**, a recurrent layer
# whose input decides how quickly its state fades. Gemma 3 (2025) chose windows of 1,024 tokens in five of six, and
# gpt-oss (2025) windows of 128 in every second one. Then Qwen3-Next and Kimi Linear (both 2025) returned to the state,
# with a gated delta rule, in three of four.
#
# All six kept some full attention, and MiniMax's next model, M2, went back to it throughout (MiniMax 2025b).
# DeepSeek-V3.2 (2025) selects keys by content, using a small learned scorer that picks 2,048 tokens per query. No
# approach has won yet.
#
# Who pays, then? With full attention, whoever runs the model pays, in memory and time. With a window or a fixed state,
# whoever asks may end up paying, because the detail that the answer depends on might be missing.
#
# <details><summary>Fine print</summary>
#
# The four readers in section 2 are trained once each here. With three other seeds we saw the same cliff, and the other
# patterns were right 100% of the time at nearly every distance. The vectors in section 4 are random, whereas a trained
# model can choose keys that overlap less. For the novel's cache we counted all layers of GPT-3 alike. In fact every
# second one was sparse, so some of its keys could have been dropped. `F.scaled_dot_product_attention` accepts any mask,
# but it still computes the hidden scores, and on a GPU such a mask rules out the function's fastest kernel. All times
# were measured with one thread of this machine.
#
# </details>
#
# ### What to take away
#
# - The multiplications for reading a text grow with $n^2$, the square of its length. The cache grows only with $n$.
# - A mask alone saves nothing. A pattern saves time only if the hidden pairs aren't computed at all.
# - A window of $w$ reaches $w - 1$ positions further per layer. With strides, two layers reach everything. So do two
#   layers with a global token, but only in an encoder.
# - Tiles with an online softmax give exactly the result of attention without storing its weights.
# - Linear attention is a recurrent network whose state is a matrix. It gives up exact look-up among many keys.
#
# $$\phi(Q)\,\bigl(\phi(K)^\top V\bigr) \quad\text{in place of}\quad \mathrm{softmax}(QK^\top)\,V$$
#
# The left-hand side is still divided by each query's sum of weights.
#
# You've seen what was changed to make attention cheap. [What changed since 2017](95_what_changed.ipynb) goes through
# the other parts of the model. If you'd like a change from text first, lesson 17 is a branch about drumming. It takes
# two hours and builds on lesson 15.

# %% [markdown] quiz="what_grows_with_the_square state_shape what_tiling_saves order_of_linear_attention layers_for_a_window"
# ## Practice
#
# About 35 minutes, easiest first.


# %% tags=["exercise"] quiz="a_causal_global_token"
def global_mask(length, window, n_global):
    """-> (T, T) bool, both directions, True = allowed to attend"""
    ...


# %% [markdown]
# ### What can reach what?
#
# You can find the reach of *any* pattern by following the paths. If $t$ attends to $u$ in a layer, then everything
# that has reached $u$ so far now reaches $t$.


# %% tags=["exercise"]
def reach(mask, n_layers):
    """(T, T) bool, int -> (T, T) bool: which inputs (columns) can influence which outputs (rows)"""
    ...


# %% tags=["exercise"]
def strided_mask(length, stride):
    """-> (T, T) bool, causal, True = allowed to attend"""
    ...


# %% tags=["exercise"]
def online_softmax_step(largest, total, scores):
    """(T,), (T,), (T, block) -> largest (T,), total (T,)"""
    ...


# %% [markdown]
# ### Find the bug (4 min)
#
# The attention below reads keys and values in tiles of two, as in section 3, and something is wrong with it. The
# print-out shows how far its results are from those of ordinary attention.


# %% tags=["exercise"]
def forgetful_tiles(query, keys, values):
    """(K,), (S, K), (S, D_v) -> (D_v,)"""
    largest, total, mixed = torch.tensor(-math.inf), 0.0, 0.0
    for k, v in zip(keys.split(2), values.split(2)):  # two keys at a time
        scores = k @ query / math.sqrt(len(query))
        new = torch.maximum(largest, scores.max())
        shrink, powers = (largest - new).exp(), (scores - new).exp()
        total = total * shrink + powers.sum()
        mixed = mixed + powers @ v
        largest = scores.max()
    return mixed / total


# %% tags=["trial", "hide-input", "nbval-ignore-output"]
notebook.set_seed(3)
for n in (2, 4, 6, 8):
    q, k, v = 2 * torch.randn(4), torch.randn(n, 4), torch.randn(n, 3)
    error = (forgetful_tiles(q, k, v) - full_attention(q[None], k, v)[0]).abs().max()
    print(f"{n} keys: off by {error:.4f}")

# %% [markdown]
# ### How much does a window in most layers save?

# %% tags=["prediction", "hide-input"] quiz="which_for_which"
tokens, shape = 131_072, {"n_heads": 16, "d_head": 128}
all_full = efficient.cache_size(tokens, 60, **shape)
mixed = efficient.cache_size(tokens, 10, **shape) + efficient.cache_size(
    tokens, 50, window=1024, **shape
)
exercises.reveal("cache_of_a_hybrid", measured=100 * mixed / all_full)
print(
    f"cache with 60 full layers: {all_full / 1e9:.1f} GB, with 10 full and 50 with a window: {mixed / 1e9:.1f} GB"
)
assert 0.16 < mixed / all_full < 0.19

# %% [markdown] quiz="what_linear_gives_up"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about ten minutes. Nothing later depends on it.
#
# ### Can a state of fixed size change its mind?
#
# Suppose a story says *the treasure is in the cave*, and later, *now it's in the mill*. A sum keeps both, so if you
# ask where the treasure is, the answer is a mixture of cave and mill. The delta rule first reads what the state
# already says about the key, then writes only the difference (Schlag et al. 2021; Yang et al. 2024).
#
# To compare the two, the next cell writes every key twice, the second time with a different value. What we read back
# counts as right if it's closest to the second value.

# %% tags=["hide-input"]
notebook.set_seed(0)


def share_updated(n_pairs, delta, width=64):
    key, old, new = (F.normalize(torch.randn(n_pairs, width), dim=-1) for _ in range(3))
    state = torch.zeros(width, width)
    for k, v in [*zip(key, old), *zip(key, new)]:
        state = state + torch.outer(k, v - k @ state if delta else v)
    return share_closest(key @ state, torch.cat([new, old]))


few = [8, 16, 32, 64, 128]
updated = {
    "delta rule": [100 * numpy.mean([share_updated(n, True) for _ in range(5)]) for n in few],
    "sum": [100 * numpy.mean([share_updated(n, False) for _ in range(5)]) for n in few],
}
axes = plots.labelled_lines(
    few, updated, x_label="keys, each written twice", y_label="newest value read, %", marker="o"
)
axes.set_xscale("log", base=2)
axes.set_xticks(few, few)
axes.set_ylim(0, 105)
assert min(updated["delta rule"][:3]) > 98 and max(updated["sum"]) < 65
assert updated["delta rule"][-1] < 70
notebook.figure(
    axes,
    alt="Share of keys whose newest value is read, against the number of keys. The delta rule reads all of them up to "
    "32 keys and then falls. The sum stays near a half throughout.",
    width=560,
)

# %% [markdown]
# The sum might as well toss a coin between the old value and the new one. The delta rule makes hardly any mistakes
# with up to 32 keys, and fails only as the state fills up. Many newer models add a gate, which lets the distant past
# fade (Yang et al. 2025).
#
# ### Can a rotary model read past its training length?
#
# A learned table of positions ends with its last row. Rotary positions (lesson 05) have no table. They turn each pair
# of features by its own angle per position, so the formula works for any position. Does the model work at positions
# that it has never seen?
#
# That depends on which angles it has met. Over a training text of 2,048 tokens, some pairs go round hundreds of times
# and pass through every angle. Others never finish their first turn.


# %%
def unfinished(window, base, width=128):
    """How many of the width / 2 pairs turn less than once within the window?"""
    speeds = base ** (-torch.arange(0, width, 2) / width)  # radians per position
    return int((window * speeds < 2 * math.pi).sum())


for window, base in [(2_048, 10_000), (8_192, 10_000), (8_192, 500_000), (131_072, 500_000)]:
    print(
        f"window {window:>7,}, base {base:>7,}: {unfinished(window, base)} of 64 pairs unfinished"
    )

# %% tags=["hide-input"]
assert unfinished(8_192, 10_000) < unfinished(2_048, 10_000) < unfinished(8_192, 500_000)

# %% [markdown]
# At position 3,000, these slow pairs are turned to angles that the model has never seen, and the loss jumps. Three
# repairs are in use. *Position interpolation* divides all positions by a factor, so that a long text gets by with the
# angles seen in training. The price is that neighbours look closer together than before (Chen et al. 2023). *YaRN*
# divides the positions only for the slow pairs, with a gradual transition to the fast ones, and sharpens the softmax a
# little (Peng et al. 2023). A *larger base*, such as Llama 3's 500,000 in place of 10,000, slows down every pair but
# the first.
#
# All three work better if the model is then trained further on long texts. YaRN and a changed base are also used
# without further training, at some cost on short texts. Qwen3, for instance, was trained on up to 32,768 tokens, and
# reads 131,072 once YaRN is switched on in its configuration (Qwen Team 2025).
#
# Not every model makes good *use* of a long window. Models have missed facts in the middle of a long prompt more often
# than facts at its ends (Liu et al. 2023). In lesson 19 you'll take a real model beyond its window.
#
# ### More parameters for the same work: a mixture of experts
#
# Long texts aren't the only expense. Most parameters of a large model are in its feed-forward layers, and each token
# passes through all of them. In a **mixture of experts**, each such layer is replaced by many, with a small router
# that sends each token to the best $k$ of them (Shazeer et al. 2017). DeepSeek-V3, for instance, has 671 billion
# parameters, but a token uses only 37 billion of them.

# %%
notebook.show_source(efficient.MixtureOfExperts)

# %%
notebook.set_seed(0)
layer = efficient.MixtureOfExperts(d_model=32, d_ff=64, n_experts=8, k=2)
x = torch.randn(4, 100, 32)
output, gates = layer(x)
print("experts used per token:", (gates > 0).sum(-1).unique().tolist())
print("tokens per expert:", (gates > 0).flatten(0, 1).sum(0).tolist())

# %% tags=["hide-input"]
dense = efficient.MixtureOfExperts(32, 64, n_experts=8, k=8)
share = multiplications(layer, x) / multiplications(dense, x)
print(f"multiplications compared with all eight experts: {share:.0%}")
assert 0.2 < share < 0.35 and ((gates > 0).sum(-1) == 2).all()

# %% [markdown]
# A mixture saves time but no memory, because all experts have to be loaded, even the idle ones. [What changed
# since 2017](95_what_changed.ipynb) trains small mixtures and looks at how evenly their experts are used.

# %% [markdown]
# **References**
#
# - Schlag, Irie, Schmidhuber (2021), "Linear Transformers Are Secretly Fast Weight Programmers", arXiv:2102.11174;
#   Yang et al. (2024), "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", arXiv:2406.06484;
#   Yang, Kautz, Hatamizadeh (2025), "Gated Delta Networks", arXiv:2412.06464.
# - Child et al. (2019), "Generating Long Sequences with Sparse Transformers", arXiv:1904.10509.
# - Beltagy et al. (2020), "Longformer", arXiv:2004.05150; Zaheer et al. (2020), "Big Bird", arXiv:2007.14062.
# - Dao et al. (2022), "FlashAttention", arXiv:2205.14135; Milakov, Gimelshein (2018), arXiv:1805.02867; Dong et al.
#   (2024), "Flex Attention", arXiv:2412.05496.
# - Katharopoulos et al. (2020), "Transformers are RNNs", arXiv:2006.16236.
# - Arora et al. (2023), "Zoology", arXiv:2312.04927; Jelassi et al. (2024), "Repeat After Me", arXiv:2402.01032,
#   both on what a fixed state cannot look up.
# - Ainslie et al. (2023), "GQA", arXiv:2305.13245; Brown et al. (2020), arXiv:2005.14165, table 2.1 (GPT-3).
# - Gemma Team (2025), "Gemma 3", arXiv:2503.19786; OpenAI (2025), "gpt-oss-120b & gpt-oss-20b Model Card",
#   arXiv:2508.10925; Lieber et al. (2024), "Jamba", arXiv:2403.19887; Gu, Dao (2023), "Mamba", arXiv:2312.00752; Peng
#   et al. (2023), "RWKV", arXiv:2305.13048.
# - MiniMax (2025a), "MiniMax-01", arXiv:2501.08313; MiniMax (2025b), "Why Did MiniMax M2 End Up as a Full Attention
#   Model?", on its blog; Qwen Team (2025), "Qwen3-Next", model card; Kimi Team (2025), "Kimi Linear",
#   arXiv:2510.26692; DeepSeek-AI (2025), "DeepSeek-V3.2", arXiv:2512.02556.
# - Chen et al. (2023), "Extending Context Window of Large Language Models via Positional Interpolation",
#   arXiv:2306.15595; Peng et al. (2023), "YaRN", arXiv:2309.00071, which also describes the changed base; Qwen Team
#   (2025), "Qwen3 Technical Report", arXiv:2505.09388.
# - Shazeer et al. (2017), "Outrageously Large Neural Networks", arXiv:1701.06538; DeepSeek-AI (2024),
#   "DeepSeek-V3", arXiv:2412.19437.
# - Liu et al. (2023), "Lost in the Middle", arXiv:2307.03172.
