# %% [markdown]
# # Self-attention with matrices
#
# **How does the same thing run fast?** In lesson 03 one word looked at all the others: six steps,
# one query. Here all words look at once, and it takes three lines.
#
# At the end of these **60 minutes**, and half an hour more for the whole breakout, you can
#
# - write self-attention for a whole sentence as matrix products, with the shape of every tensor,
# - explain by measurement why scores are divided by $\sqrt{d_k}$,
# - build a padding mask and a causal mask, and put them where they belong,
# - test that no position can see its future,
# - say when attention is cheaper than a recurrent layer, and when it is not.
#
# You need lesson 03: queries, keys, values and the six steps.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math
import time

import torch
import torch.nn.functional as F

from helpers import attention, exercises, masks, plots
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.softmax_scale import ScaleExplorer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 all at once 12 · 2 and 3 three ways, the root 10 · 4 masks 18 · 5 cost 8 · breakout 12:
# `scaled_scores`, `causal_mask` and three questions; the rest is for home, about 30 minutes.
#
# **When late**: the paper's shapes in section 1, and "Two meanings of True".

# %% [markdown]
# ## 1. All words at once
#
# This is the sentence of lesson 03, *the cat sleeps*, and its three small projections. As there,
# the word vectors are the **rows of a matrix** $X$. The one new thing: we multiply the whole matrix
# at once.

# %%
tokens = ["the", "cat", "sleeps"]
x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): a row for each word
w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
w_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])

# %% [markdown]
# In lesson 03 you multiplied one row by $W_Q$ and got one query. **Predict:** what do you get when
# you multiply the whole of $X$ by $W_Q$, and what is its second row?

# %%
query, key, value = x @ w_q, x @ w_k, x @ w_v  # (3, 3) @ (3, 3) -> (3, 3)
print(query)
assert torch.equal(query[1], x[1] @ w_q)  # row 1 of the product is the query of word 1

# %% [markdown]
# A matrix product works on every row by itself. So $Q = X W_Q$ holds a query for each word, and
# nothing has been mixed between words yet.
#
# Now the scores. Query $i$ meets key $j$ in a dot product. All pairs together are again one product:
# row $i$ of $Q$ times column $j$ of $K^\top$.

# %%
scores = query @ key.T  # (T, K) @ (K, T) -> (T, T)
print(scores)
assert scores[0, 1] == query[0] @ key[1]

# %% [markdown]
# The first row, 1, 4, 3, is what you found for *the* in lesson 03. Divide by $\sqrt{d_k}$, take a
# softmax **along each row**, and mix the values.

# %%
weights = (scores / math.sqrt(3)).softmax(dim=-1)  # (T, T), every row sums to 1
context = weights @ value  # (T, T) @ (T, D_v) -> (T, D_v)
print(weights[0], context[0])
torch.testing.assert_close(context[0], torch.tensor([1.10, 4.42, 0.85]), atol=0.005, rtol=0)

# %% tags=["hide-input"]
notebook.picture("self_attention_filling")

# %%
axes = plots.attention_heatmap(weights, tokens, tokens)
notebook.figure(
    axes,
    alt="Attention of the cat sleeps, rows are queries: the looks mostly at cat, "
    "cat about equally at the and cat, sleeps equally at all three.",
    width=420,
)

# %% [markdown]
# That is the whole layer:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# It is equation (1) of Vaswani et al. (2017).

# %% tags=["hide-input"]
notebook.picture("matrix_form")

# %% [markdown]
# ### The shapes in the paper
#
# With two words, a width of 512 and a head of 64 the shapes are these. (A *head* is one set of $W_Q$,
# $W_K$, $W_V$. Here there is one; lesson 06 puts several side by side.) Before you run the cell, write
# down all five.

# %%
words = torch.randn(2, 512)
to_query, to_key, to_value = (torch.randn(512, 64) / math.sqrt(512) for _ in range(3))
q, k, v = words @ to_query, words @ to_key, words @ to_value
q_k = q @ k.T
result = (q_k / math.sqrt(64)).softmax(-1) @ v
for name, tensor in [("X", words), ("W_Q", to_query), ("Q", q), ("Q Kᵀ", q_k), ("output", result)]:
    print(f"{name:>7} {tuple(tensor.shape)}")
assert q_k.shape == (2, 2) and result.shape == (2, 64)

# %% [markdown]
# The width 512 disappears in the first product. The 2 × 2 in the middle has nothing to do with 512
# or 64: it is *words by words*.

# %% [markdown] tags=["notes"]
# **12 minutes.** Let two people come to the board and write the shapes of section 1 from memory.
#
# What people get wrong: softmax over columns ("dim=0"), and $K Q^\top$ instead of $Q K^\top$. In
# self-attention both give a matrix of the right shape, which is why the exercises name them. If you
# are late, skip the paper's shapes; the quiz asks for them again.

# %% [markdown]
# ## 2. Loop, matrix, fused operator
#
# Here is the same computation three ways: a loop over queries as in lesson 03, the three lines from
# above as they stand in our `helpers`, and PyTorch's own operator, which can do all three lines in one
# pass (*fused*).


# %%
def attend_in_a_loop(query, key, value):
    rows = []
    for q in query:  # one query at a time
        scores = torch.stack([q @ k for k in key]) / math.sqrt(len(q))
        rows.append(sum(w * v for w, v in zip(scores.softmax(0), value, strict=True)))
    return torch.stack(rows)


by_loop = attend_in_a_loop(query, key, value)
by_matrix, _ = attention.scaled_dot_product_attention(query, key, value)
by_pytorch = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]

torch.testing.assert_close(by_loop, context)
torch.testing.assert_close(by_matrix, context)
torch.testing.assert_close(by_pytorch, context)

# %% [markdown]
# The same numbers. **Predict:** for 128 words, how many times faster is the matrix form than the
# loop? Ten times? A thousand times?


# %% tags=["nbval-ignore-output"]
torch.set_num_threads(1)  # one core for all: this compares the ways, not the number of cores


def seconds(function, *inputs, repeats=5):
    function(*inputs)  # the first call is always slower
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)


def by_three_lines(query, key, value):
    return attention.scaled_dot_product_attention(query, key, value)[0]


lengths = [8, 16, 32, 64, 128]
times = {"loop": [], "matrix": [], "fused operator": []}
for length in lengths:
    inputs = torch.randn(3, 1, 1, length, 64).unbind(0)  # (B, H, T, K): what fused kernels want
    flat = [tensor[0, 0] for tensor in inputs]
    times["loop"].append(seconds(attend_in_a_loop, *flat, repeats=2))
    times["matrix"].append(seconds(by_three_lines, *inputs))
    times["fused operator"].append(seconds(F.scaled_dot_product_attention, *inputs))

print(
    f"at length 128 the matrix form is {times['loop'][-1] / times['matrix'][-1]:.0f} times as fast"
)
assert times["loop"][-1] > 20 * times["matrix"][-1]

# %% tags=["nbval-ignore-output", "hide-input"]
axes = plots.labelled_lines(
    lengths,
    {name: [1000 * t for t in ts] for name, ts in times.items()},
    x_label="words",
    y_label="milliseconds",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_yscale("log")
notebook.figure(
    axes,
    alt="Milliseconds against the number of words, both axes logarithmic: the loop climbs steeply, "
    "the matrix form and the fused operator stay far below it and nearly flat.",
)

# %% [markdown]
# The loop does the same multiplications, but in thousands of tiny calls from Python, and each call costs
# far more than the few multiplications in it. A matrix product is one call and lets the hardware choose
# the order.

# %% [markdown]
# ## 3. Why divide by $\sqrt{d_k}$?
#
# Take queries and keys whose components are independent, with mean 0 and variance 1. **Predict:**
# what is the variance of $q \cdot k$ when the vectors have 4 components, and when they have 256?

# %%
notebook.set_seed(0)
widths = [4, 16, 64, 256]
for d_k in widths:
    q, k = torch.randn(2, 20_000, d_k)
    variance = (q * k).sum(-1).var().item()
    print(f"d_k = {d_k:>3}   variance of q·k = {variance:.3g}")
    assert abs(variance / d_k - 1) < 0.1

# %% [markdown]
# Each product has mean 0 and variance 1, and the variance of a sum of $d_k$ such products is $d_k$.
# So the scores' usual size is $\sqrt{d_k}$, and it grows with the width for no good reason.
# Dividing by $\sqrt{d_k}$ takes exactly that out.
#
# Why does size matter? Because of what a softmax does with large scores. The next cell lets a query
# meet ten keys, takes the softmax, and measures two things: the **entropy** of lesson 03 (log 10 ≈ 2.3
# nats when they are spread evenly, 0 when one key gets everything) and the **size of the gradient** of
# the strongest weight with respect to the scores.


# %%
def entropy_and_gradient(d_k, scale, draws=2000):
    notebook.set_seed(1)
    query, keys = torch.randn(draws, 1, d_k), torch.randn(draws, 10, d_k)
    scores = ((query * keys).sum(-1) / scale).requires_grad_()  # (draws, 10)
    weights = scores.softmax(-1)
    entropy = -(weights * weights.clamp(min=1e-30).log()).sum(-1).mean()
    # How much can the strongest weight still be moved?
    weights.amax(-1).sum().backward()
    return entropy.item(), scores.grad.abs().sum(-1).mean().item()


for d_k in widths:
    raw = entropy_and_gradient(d_k, scale=1)
    scaled = entropy_and_gradient(d_k, scale=math.sqrt(d_k))
    print(
        f"d_k = {d_k:>3}   not scaled: entropy {raw[0]:.2f}, gradient {raw[1]:.3f}"
        f"   scaled: entropy {scaled[0]:.2f}, gradient {scaled[1]:.3f}"
    )

assert entropy_and_gradient(256, 1)[0] < 0.2 and entropy_and_gradient(4, 1)[0] > 0.6
assert entropy_and_gradient(256, 1)[1] < 0.3 * entropy_and_gradient(256, 16)[1]

# %% [markdown]
# Without the division a wide head sees almost nothing but its single best key, and at width 256 less
# than a quarter of the gradient comes back to tell it that another key would have been better. Such a
# softmax is called *saturated*. With the division hardly anything depends on the width any more. (At
# $d_k = 4$ the entropy is lower already, the gradient not yet.)
#
# Change `widths` above to other numbers, larger and smaller, and run the two cells again.

# %% [markdown]
# Move the slider and watch variance, entropy and gradient together, with the division and without.
# (Here the query meets sixteen keys, not ten, so the entropies come out differently; and the gradient
# is that of each weight with respect to its own score, on average.)

# %%
ScaleExplorer()

# %% [markdown] tags=["notes"]
# **10 minutes.** Ask: *why not divide by $d_k$?* Then scores would shrink towards 0 as the width
# grows and every key would get the same weight; the variance of $q \cdot k / d_k$ is $1/d_k$.
#
# Somebody will say $\sqrt{d_{model}}$. The vectors that meet have the width of one head, so it is
# $\sqrt{d_k}$; the check of `one_word` in lesson 03 names this mistake already, and that of
# `multi_head_attention` in lesson 06 names it again.

# %% [markdown]
# ## 4. Masks: who may look where
#
# Two sentences in one batch rarely have the same length, so the shorter one is filled up with
# `<pad>`. Nobody should look there: a **padding mask** hides it. And a decoder that learns to predict
# the next word must not see it: a **causal mask** hides all that comes later. Both are a **mask**: a
# matrix of booleans, query by key. In this course `True` means *may look*.

# %%
causal = masks.causal_mask(4)
print(causal.int())

# %%
token_ids = torch.tensor([[5, 8, 6, 7], [9, 4, 0, 0]])  # the second sentence has two pads, id 0
padding = masks.padding_mask(token_ids, pad_id=0)
print(padding.shape, padding[1, 0, 0].int())

# %% [markdown]
# The shape `(B, 1, 1, S)` looks odd. The two ones stand for heads and queries: broadcasting repeats
# the mask along them, since every head and every query of a sentence may look at the same keys. For
# both masks together, *and* them:

# %%
both = padding & causal  # (B, 1, 1, S) & (T, S) -> (B, 1, T, S)
print(both.shape)
print(both[1, 0].int())

# %% tags=["hide-input"]
notebook.picture("masks")

# %% [markdown]
# ### Wrong first
#
# Where does the mask go? An idea that comes to everyone: compute the weights as always and set the
# forbidden ones to zero. **Predict** what is wrong with it, then run.

# %%
notebook.set_seed(0)
q_4, k_4 = torch.randn(2, 4, 8)  # T = 4, K = 8
scores = q_4 @ k_4.T / math.sqrt(8)

wrong = scores.softmax(-1) * causal
print("row sums, zeroed after the softmax:", wrong.sum(-1))
assert wrong.sum(-1).min() < 0.5

# %% [markdown]
# The rows do not sum to one any more: the first word keeps only the share it happened to give
# itself. Worse, that share depends on the *scores of the forbidden words*, through the softmax's
# denominator. The future leaks in by the back door.
#
# So the mask must act **before** the softmax. A score of $-\infty$ becomes $e^{-\infty} = 0$, and
# the denominator counts only who is left.

# %%
right = scores.masked_fill(~causal, -math.inf).softmax(-1)
print("row sums, −∞ before the softmax:", right.sum(-1))
print(right)
torch.testing.assert_close(right.sum(-1), torch.ones(4))
assert (right[~causal] == 0).all()

# %% [markdown]
# ### The future-leak test
#
# Such mistakes are found by a test. Change word 3 and see which outputs move. With a causal mask,
# outputs 0, 1 and 2 must not move **at all**. (A thorough test changes each word in turn.)


# %%
def moved(attend):
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    changed = x.clone()
    changed[3] = torch.randn(8)
    return (attend(x) - attend(changed)).abs().sum(-1) > 0


def zeroed_after(x):
    return ((x @ x.T).softmax(-1) * causal) @ x


def minus_infinity_before(x):
    return (x @ x.T).masked_fill(~causal, -math.inf).softmax(-1) @ x


print("zeroed after the softmax:", moved(zeroed_after).tolist())
print("−∞ before the softmax:   ", moved(minus_infinity_before).tolist())
assert moved(zeroed_after)[:3].any()
assert moved(minus_infinity_before).tolist() == [False, False, False, True]

# %% [markdown]
# ### Two meanings of `True`
#
# PyTorch has two attention interfaces, and they read a boolean mask in opposite ways. **Predict**
# what happens when you give both the same mask.

# %%
notebook.set_seed(0)
x = torch.randn(1, 4, 8)
layer = torch.nn.MultiheadAttention(8, 1, batch_first=True)
_, by_layer = layer(x, x, x, attn_mask=causal)  # True = may NOT look
print(by_layer[0].detach())

# %%
_, with_not = layer(x, x, x, attn_mask=~causal)
print(with_not[0].detach())
assert (with_not[0][~causal] == 0).all()  # now the future is hidden
assert (by_layer[0].nan_to_num()[causal] == 0).all()  # before, the past and the present were

# %% [markdown]
# `F.scaled_dot_product_attention` reads `True` as *takes part*, as we do. `nn.MultiheadAttention`
# reads it as *is left out*. Handing over the wrong one raises no error. `nn.MultiheadAttention` at least
# answers with `nan` here; `F.scaled_dot_product_attention` fills the empty row with zeros, and the model
# trains happily on the answers it should predict. So our code has one place, `helpers/masks.py`, that
# says what `True` means.
#
# ### A row with nothing to see
#
# The last row of the *first* of the two matrices is `nan`. With the wrong polarity the last word
# was left with no key at all, and $0/0$ is not a number. It happens for honest reasons too: a batch
# may hold a sentence of padding only. Two popular answers are bad. `-1e9` instead of $-\infty$
# hides it: the row becomes *uniform*, and the word takes the average of what it must not see.
# Leaving the `nan` in poisons every weight of the model at the next step.

# %%
nothing = torch.zeros(1, 4, dtype=torch.bool)
row = torch.randn(1, 4, requires_grad=True)
print("with −∞:  ", row.masked_fill(~nothing, -math.inf).softmax(-1).detach())
print("with −1e9:", row.masked_fill(~nothing, -1e9).softmax(-1).detach())

ours = attention.masked_softmax(row, nothing)
ours.sum().backward()
print("ours:     ", ours.detach(), "   gradient:", row.grad)
assert (ours == 0).all() and (row.grad == 0).all()

q_1, k_1 = q_4[None, None, :1], k_4[None, None]  # (B=1, H=1, T=1, K=8), (1, 1, S=4, 8)
fused = F.scaled_dot_product_attention(q_1, k_1, k_1, attn_mask=nothing)
print("PyTorch's fused operator, context:", fused.flatten())
assert (fused == 0).all()

# %% [markdown]
# Ours gives zeros, and so does PyTorch's fused operator: who may look at nothing takes nothing. The
# gradient of ours is zero too, not `nan`. This is how:

# %%
notebook.show_source(attention.masked_softmax)

# %% [markdown]
# ### With masks, equal to PyTorch's

# %%
notebook.set_seed(0)
many = torch.randn(3, 2, 2, 4, 8, dtype=torch.float64)  # q, k, v of B=2, H=2, T=S=4, K=8
for mask in (None, causal, padding, both):
    ours, weights = attention.scaled_dot_product_attention(*many, mask)
    theirs = F.scaled_dot_product_attention(*many, attn_mask=mask)
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 4, dtype=torch.float64))
print("equal: no mask, causal, padding, both")

# %% [markdown]
# This is the tested version that all later lessons import:

# %%
notebook.show_source(attention.scaled_dot_product_attention)

# %% [markdown] tags=["notes"]
# **18 minutes**, the heart of the lesson. Let the room find the leak in "zero afterwards" before you
# show the test: *what is in the denominator?*
#
# If you are late, skip "Two meanings of True" and hand it out as homework; people will meet it the
# first time they use `nn.MultiheadAttention`.

# %% [markdown]
# Choose a mask, pick a query, and see what it may look at and what becomes of its row. (In
# **cross-attention** queries come from one sentence and keys from another, as in lesson 02.)

# %%
MaskBuilder()

# %% [markdown]
# ### Play
#
# Take the # from one of the lines, and see what becomes of each row.

# %%
chosen = masks.causal_mask(5)
# chosen = masks.padding_mask(torch.tensor([[5, 8, 6, 0, 0]]), 0)[0, 0].expand(5, 5).clone()
# chosen[:, 2] = False  # hides key c from everybody
# chosen[3] = False  # hides all keys from query d

notebook.set_seed(2)
scores = torch.randn(5, 5)
axes = plots.attention_heatmap(
    attention.masked_softmax(scores, chosen), list("abcde"), list("abcde")
)
notebook.figure(
    axes,
    alt="Weights under the chosen mask: what is hidden is white, every row sums to one, or to zero "
    "where nothing may be seen.",
    width=420,
)

# %% [markdown]
# ## 5. What it costs
#
# Attention over $n$ words of width $d$ compares $n^2$ pairs, each with $d$ multiplications: about
# $n^2 d$. A recurrent layer takes $n$ steps, each with products of about $d^2$: about $n d^2$. Which
# is cheaper depends on whether $n$ or $d$ is larger. PyTorch can count for us.

# %%
from torch.utils.flop_counter import FlopCounterMode


def multiplications(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops() / 2  # a multiplication and an addition count as two


d = 64
counts = {}
for n in (16, 64, 256, 1024):
    x, hidden = torch.randn(n, d), torch.zeros(1, d)
    w = torch.randn(d, d)
    attention_count = multiplications(lambda x=x: (x @ x.T) @ x)
    recurrent_count = multiplications(lambda n=n, h=hidden, w=w: [h @ w for _ in range(n)])
    counts[n] = attention_count / recurrent_count
    print(f"n = {n:>4}, d = {d}:  attention {attention_count:>11,.0f}   recurrent "
          f"{recurrent_count:>11,.0f}   ratio {counts[n]:.3g}")  # fmt: skip
assert counts[16] < 1 < counts[256]
assert counts[64] == 2

# %% [markdown]
# The ratio is $2n/d$, since attention needs two products, $QK^\top$ and weights times values. In
# *multiplications* the two cross at $n = d/2$; the paper's table says $n < d$, leaving factors away.
# (Both counts leave out the products with the input: one $n d^2$ for this recurrent layer, three for
# attention's Q, K and V. With them attention never needs fewer than so plain a layer. A GRU needs three
# times as much, $6 n d^2$; with $W_O$ of lesson 06 counted as well, the two then cross at $n = d$.)
#
# In *seconds* they cross somewhere else. A recurrent layer must wait for itself: step 10 cannot begin
# before step 9 is done. So it cannot be one large product, and each small step pays for its calls anew.
# Here is this machine.


# %% tags=["nbval-ignore-output"]
def recurrent_layer(x, w):
    hidden = torch.zeros(1, x.shape[-1])
    for row in x:
        hidden = torch.tanh(row + hidden @ w)
    return hidden


def attention_layer(x):
    return attention.scaled_dot_product_attention(x, x, x)[0]


long_lengths = [32, 128, 512, 2048, 4096]
w = torch.randn(d, d) / 8
with torch.inference_mode():
    attention_times = [seconds(attention_layer, torch.randn(n, d), repeats=5) for n in long_lengths]
    recurrent_times = [
        seconds(recurrent_layer, torch.randn(n, d), w, repeats=3) for n in long_lengths
    ]

weights_megabytes = [n * n * 4 / 1e6 for n in long_lengths]
growth = math.log2(attention_times[-1] / attention_times[-2])
print(
    f"from 2048 to 4096 words, attention's time grows {2**growth:.1f}-fold; doubling an n² gives 4"
)
crossing = [
    n for n, a, r in zip(long_lengths, attention_times, recurrent_times, strict=True) if a > r
]
print(
    "attention slower than the recurrent loop at:",
    crossing or f"no length up to {long_lengths[-1]}",
)
assert attention_times[0] < recurrent_times[0] and growth > 1

# %% tags=["nbval-ignore-output", "hide-input"]
axes = plots.labelled_lines(
    long_lengths,
    {
        "attention": [1000 * t for t in attention_times],
        "recurrent": [1000 * t for t in recurrent_times],
    },
    x_label="words",
    y_label="milliseconds",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_yscale("log")
notebook.figure(
    axes,
    alt="Milliseconds against words, both axes logarithmic. The recurrent layer climbs in "
    "proportion to the length; attention starts far below it, climbs more steeply, and comes near or "
    "crosses it.",
)

# %% [markdown]
# Attention becomes dearer than the loop only at a far greater length than $n = d/2$. Its last step may
# be steeper than n²: a matrix of n × n numbers no longer fits into the processor's cache, and time goes
# into moving it. Your numbers will differ.

# %% [markdown]
# And memory: the weights are a matrix of $n \times n$ numbers, whatever the width.

# %%
for n, megabytes in zip(long_lengths, weights_megabytes, strict=True):
    weights = torch.empty(n, n)
    assert weights.numel() * weights.element_size() == round(megabytes * 1e6)
    print(f"n = {n:>4}: {megabytes:>7.3f} MB for each head, each layer, each sentence")

# %% [markdown]
# Four times the memory for twice the length is why long texts are hard for Transformers. Fused
# kernels avoid *storing* the matrix by working through it block by block; they still compute it.

# %% [markdown] tags=["notes"]
# **8 minutes** for section 5 (the 10 above are for sections 2 and 3), **12** for the breakout:
# `scaled_scores`, `causal_mask` and three questions; the rest is for home. Ask: *a text twice as long:
# how much more time, how much more memory?* (About four times both, once n is well above d.) *Who has to
# wait for whom in a recurrent layer?*

# %% [markdown]
# ## Breakout
#
# Work in pairs. Write into the cells, run them, read what the check says.

# %%
exercises.heading("scaled_scores")


# %%
def scaled_scores(query, key):
    """(..., T, K), (..., S, K) -> (..., T, S)"""
    ...


exercises.check("scaled_scores", scaled_scores)

# %%
exercises.heading("scaled_dot_product_attention")


# %%
def scaled_dot_product_attention(query, key, value, mask=None):
    """(..., T, K), (..., S, K), (..., S, D_v) -> context (..., T, D_v), weights (..., T, S)"""
    ...


exercises.check("scaled_dot_product_attention", scaled_dot_product_attention)

# %%
exercises.heading("causal_mask")


# %%
def causal_mask(length):
    """-> (T, T) bool, True = may look"""
    ...


exercises.check("causal_mask", causal_mask)

# %%
exercises.heading("padding_mask")


# %%
def padding_mask(token_ids, pad_id):
    """(B, S) -> (B, 1, 1, S) bool, True = may look"""
    ...


exercises.check("padding_mask", padding_mask)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("shapes_in_the_paper")

# %%
exercises.quiz("why_root_d_k")

# %%
exercises.quiz("where_the_mask_goes")

# %%
exercises.quiz("order_of_the_steps")

# %%
exercises.quiz("cheaper_than_recurrence")

# %%
exercises.quiz("empty_row")

# %%
exercises.quiz("how_many_scores")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("who_may_see_padding")

# %%
exercises.quiz("why_not_zero_afterwards")

# %% [markdown]
# ### Going further
#
# Where it can use a fused kernel, `F.scaled_dot_product_attention` does not store the $n \times n$
# matrix. Write a version that works through the keys in blocks of 16 and keeps, for each query, the
# largest score so far, the sum of exponentials and the weighted sum of values, rescaling the two
# sums whenever the largest score changes (Milakov and Gimelshein 2018). Assert that it equals the
# one-shot version. You will have written the core of FlashAttention (Dao et al. 2022).

# %% [markdown]
# ## Myth or fact?
#
# Each of these sentences has been written somewhere. Say *myth* or *fact* before you run the cell.
#
# **"Scores are divided by $\sqrt{d_{model}}$."** A myth: by $\sqrt{d_k}$, the width of the vectors
# that meet. If a single head keeps the full width, the two are the same; with 8 heads of 64 in a model of
# 512 they are not.

# %%
notebook.set_seed(0)
q, k = torch.randn(2, 20_000, 64)
products = (q * k).sum(-1)
print(f"standard deviation of q·k / √64: {(products / math.sqrt(64)).std():.2f}")
print(f"standard deviation of q·k / √512: {(products / math.sqrt(512)).std():.2f}")
assert abs((products / math.sqrt(64)).std() - 1) < 0.05

# %% [markdown]
# **"A softmax never has a vanishing gradient."** A myth. Multiply the scores by ten and look.

# %%
scores = torch.tensor([2.0, 1.0, 0.5])
for factor in (1, 10):
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), factor * scores)
    print(f"scores × {factor:>2}: largest derivative {jacobian.abs().max():.2g}")
assert jacobian.abs().max() < 1e-3

# %% [markdown]
# **"Attention is cheaper than recurrence."** At best for short sequences, and with Q, K and V counted
# not even there against a plain recurrent layer (section 5). What it
# always has is a path of length one between any two words, and in training no waiting.

# %% [markdown]
# ## Summary
#
# - Words are rows: $Q = X W_Q$, $K = X W_K$, $V = X W_V$.
# - $\mathrm{softmax}(Q K^\top / \sqrt{d_k})\, V$ has the shapes $(T, d_k)(d_k, S) \to (T, S)$ and
#   $(T, S)(S, D_v) \to (T, D_v)$.
# - $\sqrt{d_k}$ keeps the scores' size, and with it the gradient, independent of the width.
# - A mask sets *scores* to $-\infty$ *before* the softmax. `True` means *may look*. A row with
#   nothing to see gives zeros.
# - Cost: about $2 n^2 d$ multiplications and $n^2$ memory, with no waiting in training.
#
# One thing is still missing. Shuffle the words and every output is shuffled with them, and is
# otherwise the same: nothing here knows the order. **Lesson 05** adds it.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.2.1 and 4.
# - Dao, Fu, Ermon, Rudra, Ré (2022), "FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness", arXiv:2205.14135.
# - Milakov, Gimelshein (2018), "Online normalizer calculation for softmax", arXiv:1805.02867.
