# %% [markdown]
# # Self-attention with matrices
#
# In lesson 03 you compared one word's query with all the keys, in a loop. In a paragraph of 128 words, each
# of the 128 queries is compared with 128 keys, so that's 16,384 dot products. GPT-3 would compute that many
# in each of 96 heads in each of 96 layers, for every paragraph.
#
# But attention became popular because it's *fast*. We don't leave out a single one of those dot products. We
# just compute them in a different way. How much faster do you think it can get?

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

from IPython.display import display
from matplotlib import pyplot
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from helpers import exercises, plots
from helpers.transformer import attention, masks
from helpers.pretrained.translator import load_translator
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.model_map import model_map
from helpers.widgets.softmax_scale import ScaleExplorer

torch.set_num_threads(1)  # timings below compare ways of computing, not numbers of cores


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook, first prediction and warm-up 5 · 1 matrices 9 · 2 the square root 7 ·
# 3 masks 25 · 4 cost and the map 4. The rest of the exercises are for home.
#
# **Say first**: today we compute what we computed in lesson 03, but for all words together. Most of the hour
# goes into two details that people get wrong: the square root and the mask.
#
# **If you're running late**: solve section 3's find-the-bug exercise together, aloud (three minutes saved), and leave
# "Two interfaces in PyTorch" for home (two). People will meet the difference anyway the first time they use `nn.MultiheadAttention`. Keep ten
# minutes for `scaled_dot_product_attention`, because everything before it leads up to it.
#
# **Ask**: "What's in the denominator of a softmax?" (after the vote on which outputs change) · "Why not divide by $d_k$
# itself?" (at the six bar charts, before anybody reads on) · "A text twice as long: how much more time, how much more
# memory?"
#
# **Mistakes to expect**: softmax along columns · $K Q^\top$ for $Q K^\top$ (in self-attention both have the
# right shape, so there's no error message, but the checks point it out) · $\sqrt{d_{model}}$ for $\sqrt{d_k}$
# · zeroing the weights after the softmax, which sounds harmless until you change the last word.

# %%
exercises.predict("loop_against_matrix")


# %% tags=["hide-input", "nbval-ignore-output"]
def attend_in_a_loop(query, key, value):
    rows = []
    for q in query:  # one query at a time
        scores = torch.stack([q @ k for k in key]) / math.sqrt(len(q))
        rows.append(sum(w * v for w, v in zip(scores.softmax(0), value, strict=True)))
    return torch.stack(rows)


def by_three_lines(query, key, value):
    return attention.scaled_dot_product_attention(query, key, value)[0]


lengths = [8, 16, 32, 64, 128]
times = {"loop": [], "matrix": [], "fused operator": []}
for length in lengths:
    inputs = torch.randn(3, 1, 1, length, 64).unbind(0)  # (B, H, T, K): what fused kernels want
    flat = [tensor[0, 0] for tensor in inputs]
    times["loop"].append(notebook.seconds(attend_in_a_loop, *flat, repeats=2))
    times["matrix"].append(notebook.seconds(by_three_lines, *inputs, repeats=5))
    times["fused operator"].append(
        notebook.seconds(F.scaled_dot_product_attention, *inputs, repeats=5)
    )
torch.testing.assert_close(attend_in_a_loop(*flat), by_three_lines(*flat))
faster = times["loop"][-1] / times["matrix"][-1]
assert faster > 20
exercises.reveal(
    "loop_against_matrix",
    measured="ten" if faster < 30 else "hundred" if faster < 300 else "thousand",
)
print(f"at 128 words, the matrix form is {faster:.0f} times as fast as the loop on this machine")
axes = plots.labelled_lines(
    lengths,
    {name: [1000 * t for t in ts] for name, ts in times.items()},
    x_label="words",
    y_label="milliseconds",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_yscale("log")
display(
    notebook.figure(
        axes,
        alt="Milliseconds against the number of words, both axes logarithmic: the loop climbs steeply, "
        "the matrix form and the fused operator stay far below it and nearly flat.",
        width=560,
    )
)
notebook.tell(
    """The loop does exactly the same multiplications. But it does them in thousands of tiny calls from Python,
    and each call costs far more than the few multiplications inside it. A matrix product is a single call."""
)

# %%
exercises.warm_up(4)

# %% [markdown]
# ## 1. All words at once
#
# So let's turn the six steps of lesson 03 into matrix products. Here are *the cat sleeps* and the three small
# matrices again. The word vectors are the **rows** of a matrix $X$. In lesson 03 you multiplied one row by
# $W_Q$ and got one query. A matrix product treats each row separately, so multiplying the whole of $X$ gives
# one query per row.

# %%
tokens = ["the", "cat", "sleeps"]
x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): one row per word
w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
w_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
query, key, value = x @ w_q, x @ w_k, x @ w_v  # three times (T, D) @ (D, K) -> (T, K)

# %% [markdown]
# Next come the scores. We need the dot product of every query with every key. A matrix product multiplies
# every row by every column, so we only have to turn the keys into columns, which is a transpose.

# %%
scores = query @ key.T  # (T, K) @ (K, T) -> (T, T)
print(scores)

# %% [markdown]
# Look at the first row: 1, 4, 3 are the scores that you found with a pencil for *the*. The other two rows
# belong to *cat* and *sleeps*. Scaling, softmax and mixing also work on all rows at once.

# %%
weights = (scores / math.sqrt(3)).softmax(dim=-1)  # (T, T), every row sums to 1
context = weights @ value  # (T, T) @ (T, D_v) -> (T, D_v)

# %% tags=["hide-input"]
assert scores[0].tolist() == [1, 4, 3]
torch.testing.assert_close(context[0], torch.tensor([1.10, 4.42, 0.85]), atol=0.005, rtol=0)
theirs = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
torch.testing.assert_close(context, theirs)
print("row 0 is lesson 03's context, and all rows agree with PyTorch's operator: yes")
notebook.picture("self_attention_filling")

# %% [markdown]
# That's the whole layer, and it is equation (1) of Vaswani et al. (2017):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("scaled_scores")


# %%
def scaled_scores(query, key):
    """(..., T, K), (..., S, K) -> (..., T, S)"""
    return query @ ... / math.sqrt(...)  # ← fill the gaps


# %% tags=["hide-input"]
exercises.check("scaled_scores", scaled_scores)

# %% [markdown]
# Here's an easy mistake to make. A softmax needs to be told which dimension to run along. We wrote `dim=-1`,
# which means along each row. What if you write `dim=0` by mistake?

# %%
exercises.predict("softmax_along_columns")

# %% tags=["hide-input"]
try:
    slipped = (scores / math.sqrt(3)).softmax(dim=0)
    row_sums = [round(s, 2) for s in slipped.sum(-1).tolist()]
    happened = "same" if torch.allclose(slipped, weights) else "silent"
except RuntimeError:
    happened = "error"
exercises.reveal("softmax_along_columns", measured=happened)
print("row sums with dim=0:", row_sums)
assert happened == "silent" and min(row_sums) < 0.9 and max(row_sums) > 1.2
notebook.tell(
    """There's no error message. Now each *column* sums to 1, so the weights of some words add up to more than
    1 and those of others to less. A model with this mistake still trains, only worse, so you might never
    notice. That's why the checks in this lesson tell you when the softmax runs along the wrong dimension."""
)

# %% [markdown]
# You'll also see $\mathrm{softmax}(Q^\top K)$ with a softmax over columns. Authors who write this store words
# as *columns*, so everything is transposed. With words as rows, as here and in PyTorch, it's $Q K^\top$ with
# a softmax over rows.

# %% [markdown]
# **Pencil (2 min).** In the paper an embedding has 512 numbers and a head's query has 64. Write down all the
# shapes for a sentence of two words, from $X$ to the output, before you answer.

# %%
exercises.quiz("shapes_in_the_paper")

# %% [markdown]
# ## 2. Why divide by $\sqrt{d_k}$?
#
# We haven't explained the square root yet. Let's leave it out and see what goes wrong. We draw random queries
# and keys, compute the scores, and apply a softmax. With 4 entries per vector nothing strange happens: among
# sixteen keys, the strongest one gets 43% of the weight on average. Now do the same with 512 entries, drawn
# from exactly the same distribution.

# %%
exercises.predict("share_of_the_strongest")


# %% tags=["hide-input"]
def strongest(d_k, scale, draws=2000, n_keys=16):
    """Average share of the strongest key, and how much it can still be moved."""
    notebook.set_seed(1)
    query, keys = torch.randn(draws, 1, d_k), torch.randn(draws, n_keys, d_k)
    scores = ((query * keys).sum(-1) / scale).requires_grad_()  # (draws, n_keys)
    top = scores.softmax(-1).amax(-1)
    top.sum().backward()
    return top.mean().item(), scores.grad.abs().sum(-1).mean().item()


widths = [4, 16, 64, 256, 512]
raw = {d: strongest(d, scale=1) for d in widths}
scaled = {d: strongest(d, scale=math.sqrt(d)) for d in widths}
exercises.reveal("share_of_the_strongest", measured=100 * raw[512][0])
axes = plots.labelled_lines(
    widths,
    {
        "not scaled": [100 * raw[d][0] for d in widths],
        "divided by √d": [100 * scaled[d][0] for d in widths],
    },
    x_label="entries per vector, d",
    y_label="share of the strongest key, %",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_ylim(0, 100)
plots.mark_guess(axes, 512, exercises.guess("share_of_the_strongest"), side="left")
assert abs(raw[4][0] - 0.43) < 0.02 and raw[512][0] > 0.85
assert max(s[0] for s in scaled.values()) - min(s[0] for s in scaled.values()) < 0.06
assert raw[512][1] < 0.35 * scaled[512][1]
display(
    notebook.figure(
        axes,
        alt="Average share of the strongest of sixteen keys against the number of entries. Not scaled, "
        "it climbs from 43 to 95 percent. Divided by the square root of d, it stays near 24.",
        width=560,
    )
)
notebook.tell("""Without the division, one key takes practically all the weight.""")

# %% [markdown]
# The reason is the size of the scores. Each score is a sum of $d$ products. If the entries are independent
# with mean 0 and variance 1, then each product has mean 0 too, and its variance is the mean of $q^2 k^2$, which is
# $1 \cdot 1 = 1$. Variances of independent terms add up, because a product that's above average says nothing
# about the next one. So the score has variance $d$ and is typically about $\sqrt d$ away from zero, which we can
# measure:

# %%
for d_k in (4, 64, 512):
    q, k = torch.randn(2, 1_000, d_k)
    print(f"d = {d_k:>3}   variance of q·k: {(q * k).sum(-1).var():.3g}")

# %% [markdown]
# At $d = 512$ a typical score is about 23 away from zero, and a softmax over numbers like 23 and −18 gives
# practically nothing to the second. Dividing by $\sqrt d$ brings the variance back to 1, whatever the width.
#
# Why is it a problem if one key takes all the weight? Because then the model can hardly learn. Once a weight
# is nearly 1, nudging the scores changes almost nothing, which is another way of saying that the gradient
# through the softmax is nearly zero. Such a softmax is called **saturated**.
#
# You can watch it happen in a single draw: one query and sixteen keys per width. Each bar is the weight of one key.
# Below the bars is the gradient of the strongest weight, that is, how much it changes when we nudge its score.

# %% tags=["hide-input"]
notebook.set_seed(0)
draws = {d: (torch.randn(d) @ torch.randn(16, d).T).double() for d in (4, 64, 512)}  # q·k
powers = {"not divided": 0, "divided by √d": 0.5}
tops, gradients = {}, {}
_, grid = pyplot.subplots(2, 3, figsize=(9.6, 5.4), sharey=True)
for row, (how, power) in zip(grid, powers.items(), strict=True):
    for ax, (d, drawn) in zip(row, draws.items(), strict=True):
        shares = (drawn / d**power).softmax(-1)
        best = shares.argmax().item()
        tops[how, d] = top = shares[best].item()
        gradients[how, d] = gradient = top * (1 - top)
        ax.bar(range(16), shares, color=plots.PURPLE)
        ax.set(xticks=[], yticks=[0, 0.5, 1], ylim=(0, 1.2), title=f"d = {d}, {how}")
        ax.text(best, top + 0.03, f"{top:.2f}", ha="center", fontsize=plots.SMALLEST_TEXT)
        ax.set_xlabel(f"gradient {gradient:.{2 if gradient > 0.005 else 9}f}")
    row[0].set_ylabel("weight")
by_width = (draws[512] / 512).softmax(-1).max()
assert tops["not divided", 512] > 0.999 and round(100 * tops["divided by √d", 512]) == 27
assert 0 < gradients["not divided", 512] < 1e-7 and gradients["divided by √d", 512] > 0.15
assert round(100 * by_width.item()) == 7
notebook.figure(
    ax,
    alt="Six bar charts of sixteen weights. Not divided, the strongest of them is 0.60 at d = 4, 0.63 at 64 and "
    "1.00 at 512, where no other bar can be seen and the gradient is 0.000000005. Divided by the square "
    "root of d, the same scores give 0.34, 0.18 and 0.27, all keys keep some weight, and the gradient at 512 is 0.20.",
    width=860,
)

# %% [markdown]
# In the last column, both charts start from the same scores. Undivided, they leave practically no gradient to learn
# from. Divided by $\sqrt{512}$, they still prefer the same key, but it gets 27% of the weight and the gradient is 0.20.
#
# Why not divide by $d$ itself? That would be too much, because the variance would shrink to $1/d$. At $d = 512$ all
# scores would be close to zero, so the softmax could hardly tell the keys apart. In this draw the strongest key would
# get 7%, where an even share is 6%.
#
# With the paper's heads, which are 64 wide, saturation would be less severe than at 512. And it's a problem only at the start of training, when the entries are still independent. Later, training can make the weights as sharp as it needs
# them to be. Try it on random vectors below. Pull their ends to make them longer, and watch the scores spread and the gradient shrink. Then drag a dot: does its weight follow? Divide by $\sqrt{d_k}$ and drag the dot again.

# %% tags=["hide-input"]
notebook.set_seed(0)
variances = {d: (lambda p: (p[0] * p[1]).sum(-1).var())(torch.randn(2, 20_000, d)) for d in widths}
assert all(abs(v / d - 1) < 0.1 for d, v in variances.items())
ScaleExplorer()

# %%
exercises.quiz("why_root_d_k")

# %% [markdown]
# ## 3. Who is allowed to attend to whom?
#
# A model that learns to write is trained to predict each next word. During training it's given the whole
# sentence, so it could simply look at the word it's supposed to predict. To prevent that, a
# word is **allowed to attend** only to itself and to earlier words. It may look at itself because what it has to
# predict is the *next* word: at *cat* the model has read *the cat* and must say *sleeps*. We write this down as a
# matrix of booleans, query by key, where `True` means allowed. It's called a **causal mask**.

# %%
causal = masks.causal_mask(4)
print(causal.int())

# %% [markdown]
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("causal_mask")


# %%
def causal_mask(length):
    """-> (T, T) bool, True = allowed to attend"""
    ...


# %% tags=["hide-input"]
exercises.check("causal_mask", causal_mask)

# %% [markdown]
# Where does the mask go? One idea is to compute the weights as always and set the forbidden ones to zero
# afterwards, so that no word gets the value of a later word. Let's test it: we change the *last* of four words
# and look at which of the outputs change. If the future is hidden, the first three outputs stay the same.


# %%
def zeroed_after(x):
    weights = (x @ x.T).softmax(-1)
    return (weights * causal) @ x  # forbidden weights become 0


# %%
exercises.predict("which_outputs_move")


# %% tags=["hide-input"]
def moved(attend):
    notebook.set_seed(0)
    x = torch.randn(4, 8)
    changed = x.clone()
    changed[3] = torch.randn(8)
    return (attend(x) - attend(changed)).abs().sum(-1) > 0


leaking = moved(zeroed_after)
exercises.reveal(
    "which_outputs_move",
    measured="all" if leaking[:3].all() else "none" if not leaking[:3].any() else "third",
)
print("outputs that moved:", leaking.tolist())
assert leaking.all()
notebook.tell(
    """All of them change, so information leaks from the future although every forbidden weight is zero. It
    leaks through the softmax's **denominator**, which still sums over all words. That's also why the
    remaining weights no longer sum to 1."""
)

# %% [markdown]
# So what should we do instead? The mask has to act *before* the softmax. If we set a forbidden score to
# $-\infty$, it becomes $e^{-\infty} = 0$, so it adds nothing to the denominator either.


# %%
def hidden_before(x):
    scores = (x @ x.T).masked_fill(~causal, -math.inf)
    return scores.softmax(-1) @ x


# %% tags=["hide-input"]
print("outputs that moved:", moved(hidden_before).tolist())
assert moved(hidden_before).tolist() == [False, False, False, True]

# %% [markdown]
# You can run this little test on any model: change a word, and see which outputs change.
#
# ### Your turn: find the bug (4 min)
#
# Somebody wrote the function below and is pleased that the training loss is so low. It has two mistakes.
# The print-out shows the weights of four words.

# %% tags=["hide-input"]
exercises.heading("suspiciously_good")


# %%
def suspiciously_good(query, key, value):
    """(T, K), (T, K), (T, D_v) -> context (T, D_v), weights (T, T)"""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    allowed = torch.ones_like(scores).triu().bool()
    weights = scores.softmax(dim=-1) * allowed
    return weights @ value, weights


# %% tags=["hide-input"]
notebook.set_seed(3)
exercises_input = torch.randn(3, 4, 8).unbind(0)
print(suspiciously_good(*exercises_input)[1].round(decimals=2))

# %% tags=["hide-input"]
exercises.check("suspiciously_good", suspiciously_good)

# %% [markdown]
# There's a second reason to hide words. Sentences in a batch rarely have the same length, so the shorter ones
# are filled up with `<pad>`, and no word should attend to padding. A **padding mask** prevents that. We
# combine the two masks with a logical *and*.

# %%
token_ids = torch.tensor([[5, 8, 6, 7], [9, 4, 0, 0]])  # (B=2, S=4), the id of <pad> is 0
padding = masks.padding_mask(token_ids, pad_id=0)  # (B, 1, 1, S)
both = padding & causal  # (B, 1, 1, S) & (T, S) -> (B, 1, T, S)
print(both[1, 0].int())

# %% [markdown]
# The two dimensions of size 1 are for heads and queries. Every head and every query has to skip the same padded
# keys, so broadcasting can repeat the mask. Choose a mask below, pick a query, and see what happens to its row.

# %%
MaskBuilder()

# %% [markdown]
# ### Your turn (10 min)
#
# Now put everything together, starting from an empty function: scores, square root, mask, softmax, mixture.

# %% tags=["hide-input"]
exercises.heading("scaled_dot_product_attention")


# %%
def scaled_dot_product_attention(query, key, value, mask=None):
    """(..., T, K), (..., S, K), (..., S, D_v) -> context (..., T, D_v), weights (..., T, S)"""
    ...


# %% tags=["hide-input"]
exercises.check("scaled_dot_product_attention", scaled_dot_product_attention)

# %% [markdown]
# The course's own version, which all later lessons import, is short enough to read:

# %%
notebook.show_source(attention.scaled_dot_product_attention)

# %% tags=["hide-input"]
notebook.set_seed(0)
many = torch.randn(3, 2, 2, 4, 8, dtype=torch.float64)  # q, k, v of B=2, H=2, T=S=4, K=8
for mask in (None, causal, padding, both):
    ours, own_weights = attention.scaled_dot_product_attention(*many, mask)
    torch.testing.assert_close(
        ours, F.scaled_dot_product_attention(*many, attn_mask=mask), atol=1e-12, rtol=0
    )
    torch.testing.assert_close(own_weights.sum(-1), torch.ones(2, 2, 4, dtype=torch.float64))
print("equal to PyTorch's without a mask, with a causal one, a padding one, and both")

# %% [markdown]
# ### Two interfaces in PyTorch
#
# PyTorch offers attention in two forms, `F.scaled_dot_product_attention` and `nn.MultiheadAttention`. Let's give
# our causal mask to the second one.

# %%
layer = torch.nn.MultiheadAttention(8, 1, batch_first=True)
four_words = torch.randn(1, 4, 8)

# %%
exercises.predict("the_other_interface")

# %% tags=["hide-input"]
with torch.no_grad():
    _, by_layer = layer(four_words, four_words, four_words, attn_mask=causal)
    _, with_not = layer(four_words, four_words, four_words, attn_mask=~causal)
exercises.reveal(
    "the_other_interface",
    measured="reversed" if by_layer.isnan().any() and not with_not.isnan().any() else "same",
)
print("weights with our mask:\n", by_layer[0].round(decimals=2))
print("weights with its opposite:\n", with_not[0].round(decimals=2))
assert (with_not[0][~causal] == 0).all() and by_layer[0, 3].isnan().all()
assert (by_layer[0].nan_to_num()[causal] == 0).all()
notebook.tell(
    """`nn.MultiheadAttention` reads `True` as *not allowed*, the opposite of `F.scaled_dot_product_attention`
    and of this course. So here every word attends only to later words, and the last word, which has none,
    gets `nan`. The `nan` at least shows that something is wrong. To avoid such mistakes, this course
    defines in a single file, `helpers/transformer/masks.py`, what `True` means."""
)

# %% [markdown]
# ## 4. What does it cost?
#
# There are two matrix products in the formula, one for the scores and one for the mixture. What do they cost if we
# give the same layer a longer text? PyTorch can count the multiplications for us.

# %%
exercises.predict("twice_the_length")


# %% tags=["hide-input"]
def multiplications(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops() / 2  # a multiplication and an addition count as two


def attention_products(n, d=64):
    x = torch.randn(n, d)
    return multiplications(lambda: (x @ x.T) @ x)


growth = attention_products(2048) / attention_products(1024)
exercises.reveal("twice_the_length", measured={2: "two", 4: "four", 8: "eight"}[round(growth)])
for n in (1024, 2048):
    print(f"{n} words: {attention_products(n):,.0f} multiplications, {n * n:,} weights to store")
assert growth == 4
notebook.tell(
    """Twice the length costs four times the multiplications, and four times the memory for the weights."""
)

# %% [markdown]
# Each of the $n$ words is compared with all $n$ words. That's $n^2$ dot products of $d$ multiplications each, and
# mixing the values costs the same again, so $2 n^2 d$ in total. For single sentences nobody notices this cost, but for whole books it becomes the main problem. *Going
# deeper* below compares attention with a recurrent layer, on paper and on your machine.

# %%
exercises.quiz("how_many_scores")

# %% [markdown]
# ### You are here
#
# This time a single head is highlighted. Open it, and you'll find the three products of this lesson with the
# numbers of a trained model: $Q K^\top$, the softmax, and the mixture of the values.

# %% tags=["nbval-ignore-output"]
model_map(load_translator().trace("Un chien noir court."), here="head", tour="04")

# %% [markdown]
# ### What to take away
#
# - Words are rows: $Q = X W_Q$, $K = X W_K$, $V = X W_V$. Row $i$ of every result belongs to word $i$.
# - The softmax runs along each row, over the keys.
# - Dividing by $\sqrt{d_k}$ keeps the size of the scores, and so the gradient, independent of the width.
# - A mask sets **scores** to $-\infty$ **before** the softmax. In this course `True` means allowed.
# - To find a leak, change a word and see which outputs change.
# - Attention costs about $2 n^2 d$ multiplications and $n^2$ weights.
#
# $$\mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right) V, \qquad
# \text{mask} = 0 \text{ where allowed, } -\infty \text{ elsewhere}$$
#
# One thing is still missing. If you shuffle the words, the outputs are shuffled in the same way and otherwise
# unchanged. **Lesson 05** adds the order.

# %% [markdown]
# # Practice
#
# About 35 minutes, the easiest first.

# %%
exercises.quiz("where_the_mask_goes")

# %%
exercises.quiz("order_of_the_steps")

# %% tags=["hide-input"]
exercises.heading("padding_mask")


# %%
def padding_mask(token_ids, pad_id):
    """(B, S) -> (B, 1, 1, S) bool, True = allowed to attend"""
    ...


# %% tags=["hide-input"]
exercises.check("padding_mask", padding_mask)

# %%
exercises.quiz("cheaper_than_recurrence")

# %%
exercises.quiz("empty_row")

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("who_may_see_padding")

# %%
exercises.quiz("why_not_zero_afterwards")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## A word that isn't allowed to attend to anything
#
# This can happen without any bug, for instance when a batch contains a sentence that is nothing but padding.
# Then every score in a row is $-\infty$, and the softmax divides 0 by 0. There are three common ways of
# handling it.

# %%
nothing = torch.zeros(1, 4, dtype=torch.bool)
row = torch.randn(1, 4, requires_grad=True)
print("with −∞:  ", row.masked_fill(~nothing, -math.inf).softmax(-1).detach())
print("with −1e9:", row.masked_fill(~nothing, -1e9).softmax(-1).detach())
ours = attention.masked_softmax(row, nothing)
ours.sum().backward()
print("ours:     ", ours.detach(), "  gradient:", row.grad)

# %% tags=["hide-input"]
assert (ours == 0).all() and (row.grad == 0).all()
assert row.masked_fill(~nothing, -math.inf).softmax(-1).isnan().all()
assert (row.masked_fill(~nothing, -1e9).softmax(-1) == 0.25).all()
q_1, k_1 = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 4, 8)
assert (F.scaled_dot_product_attention(q_1, k_1, k_1, attn_mask=nothing) == 0).all()

# %% [markdown]
# A plain $-\infty$ gives `nan`, which spoils every weight of the model at the next training step. The popular
# $-10^9$ hides the problem: the row becomes uniform, so the word gets the average of all the words it isn't
# allowed to attend to. The course's function gives a row of zeros, and so does PyTorch's fused operator. A
# position that isn't allowed to attend to anything gets a zero vector, and a zero gradient.
#
# ## Attention against recurrence
#
# A recurrent layer takes $n$ steps with a product of about $d^2$ multiplications each, $n d^2$ in all.
# Attention's $2 n^2 d$ is smaller only as long as $n < d/2$.

# %%
d = 64
for n in (16, 64, 256, 1024):
    ratio = attention_products(n, d) / (n * d * d)
    print(f"n = {n:>4}, d = {d}: attention needs {ratio:.3g} times the multiplications")

# %% [markdown]
# This leaves out the products with the input: one $n d^2$ for the recurrent layer, three for attention's $Q$,
# $K$ and $V$. If you count those, attention never needs fewer multiplications than a plain recurrent layer.
# But attention is still faster, because a recurrent layer has to wait for its previous step, while attention
# is a few large products. Here are the times on this machine.


# %% tags=["hide-input", "nbval-ignore-output"]
def recurrent_layer(x, w):
    hidden = torch.zeros(1, x.shape[-1])
    for row in x:
        hidden = torch.tanh(row + hidden @ w)
    return hidden


long_lengths = [32, 128, 512, 2048, 4096]
w = torch.randn(d, d) / 8
with torch.inference_mode():
    attention_times = [
        notebook.seconds(
            lambda x: attention.scaled_dot_product_attention(x, x, x)[0], torch.randn(n, d)
        )
        for n in long_lengths
    ]
    recurrent_times = [
        notebook.seconds(recurrent_layer, torch.randn(n, d), w, repeats=3) for n in long_lengths
    ]
slower = [
    n for n, a, r in zip(long_lengths, attention_times, recurrent_times, strict=True) if a > r
]
print("attention is slower than the recurrent loop at:", slower or "no length up to 4096")
assert attention_times[0] < recurrent_times[0] and attention_times[-1] > 2 * attention_times[-2]
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
    width=560,
)

# %% [markdown]
# In practice attention stays faster than the loop until sequences are far longer than $n = d/2$. The last
# part of attention's curve can be steeper than $n^2$, because a matrix of $n \times n$ numbers no longer fits
# into the processor's cache.
#
# Fused kernels avoid *storing* that matrix. If you'd like to know how, write a version that works through
# the keys in blocks of 16 and keeps three things per query: the largest score so far, the sum of
# exponentials and the weighted sum of values. Whenever the largest score changes, rescale the two sums
# (Milakov and Gimelshein 2018). That's the core of FlashAttention (Dao et al. 2022).
#
# ## Which part saturates?
#
# The output is *linear* in the values: double them, and it doubles. So gradients that arrive through the
# values never vanish. Only the path through the scores passes through the softmax, so only that path can
# saturate.

# %%
scores = torch.tensor([2.0, 1.0, 0.5])
for factor in (1, 10):
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), factor * scores)
    print(f"scores × {factor:>2}: largest derivative of a weight {jacobian.abs().max():.2g}")

# %% tags=["hide-input"]
assert jacobian.abs().max() < 1e-3
v = torch.randn(3, 4, requires_grad=True)
((factor * scores).softmax(-1) @ v).sum().backward()
torch.testing.assert_close(v.grad.sum(0), torch.ones(4))  # the weights sum to 1, saturated or not

# %% [markdown]
# ## Myth or fact?
#
# **"Scores are divided by $\sqrt{d_{model}}$."** A myth. They're divided by $\sqrt{d_k}$, where $d_k$ is the
# width of the vectors that are compared. In the paper that's $\sqrt{64}$, in a model of width 512.
#
# **"A softmax never has a vanishing gradient."** A myth, as the cell above shows.
#
# **"Masking sets weights to minus infinity, or to zero afterwards."** A myth. Masking sets the *scores* to
# $-\infty$. Section 3 shows what leaks otherwise.
#
# **"Attention is cheaper than recurrence."** Not in multiplications, as we just counted. Its advantages
# are a path of length one between any two words, and no waiting for the previous step in training.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.2.1 and 4.
# - Brown et al. (2020), "Language Models are Few-Shot Learners", arXiv:2005.14165, table 2.1 (GPT-3).
# - Dao, Fu, Ermon, Rudra, Ré (2022), "FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness", arXiv:2205.14135.
# - Milakov, Gimelshein (2018), "Online normalizer calculation for softmax", arXiv:1805.02867.
