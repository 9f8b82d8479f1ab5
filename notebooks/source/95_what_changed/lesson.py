# %% [markdown]
# # What changed since 2017
#
# Open the description of almost any of today's language models. It will mention RMSNorm, SwiGLU, rotary positions and
# grouped-query attention. None of these is in *Attention Is All You Need*. Is what you've learned out of date?
#
# To find out, you'll write the four parts yourself, and lesson 19 puts yours into a real model. You'll also see what
# each change brings. Where a model as small as ours can't show it, we report what others have measured.
#
# This page follows lesson 16. You also need lesson 07's block and lesson 14's GPT. If you're short of time, go on with
# lesson 18, because lesson 19 asks you for these four parts again.

# %% tags=["hide-input"]
import copy
import math
import statistics
import time
from textwrap import fill

import torch
import torch.nn.functional as F
from matplotlib import pyplot

from helpers import exercises, plots
from helpers.transformer import decoding
from helpers.data.stories import stories
from helpers.models.efficient import MixtureOfExperts, cache_size, importance_loss
from helpers.models.eight_bits import in_int8, n_bytes
from helpers.models.gpt import GPT, GPTCache, GPTConfig
from helpers.notebook import tell
from helpers.pretrained.measured import measured
from helpers.pretrained.storyteller import load_storyteller
from helpers.models.speculative import CountedDraft, speculate

story, validation = load_storyteller(), stories("validation")

# %% [markdown] tags=["notes"]
# **35 minutes**: 1 the block 9 · 2 what each change brings 10 · 3 positions and keys 9 · 4 what came since 7. The rest
# is for home. **Say**: all of these are changes to a block that everybody in the room can already write down. **Show**
# the two columns of the figure, then cover the right one and let the class list what they remember. **Ask** before
# section 2: "Which change would you make first, and how would you find out that it helps?" (Train both blocks with
# several seeds and the same number of parameters.) **If you're running late**: solve `swiglu` on the board.

# %% [markdown]
# ## 1. Which parts are still the same?
#
# The figure below shows two layers. The left one is from the 2017 decoder, without its cross-attention. The right one
# is from a model like Llama 3, with the changed parts in orange. The plan hasn't changed: attention still moves
# information between positions, a feed-forward network still works on each position, and both still add their output
# to the residual path.


# %% tags=["hide-input"]
def draw_block(axes, title, boxes, additions):
    """Draw boxes from the bottom to the top, and a residual path around each of two spans."""
    for y, (text, changed) in enumerate(boxes):
        colour = plots.ORANGE if changed else plots.BLUE
        style = {"boxstyle": "round,pad=0.35", "facecolor": plots.tint(colour), "edgecolor": colour}
        axes.text(0, y, text, ha="center", va="center", fontsize=12, bbox=style)
        if y + 1 < len(boxes):
            low, high = (0.28 + 0.21 * boxes[y + up][0].count("\n") for up in (0, 1))
            arrow = {"arrowstyle": "->", "color": plots.INK, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (0, y + 1 - high), (0, y + low), arrowprops=arrow)
    for start, end in additions:  # from the arrow above the first box to the right of the last
        axes.plot([0, 1.35, 1.35], [start + 0.42, start + 0.42, end], color=plots.INK, linewidth=1)
        path = {"arrowstyle": "->", "color": plots.INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (0.24, end), (1.36, end), arrowprops=path)
    axes.set(xlim=(-1.6, 1.6), ylim=(-0.6, 8.6))
    axes.set_title(title, loc="center", fontsize=16)
    axes.axis("off")


_, (left, right) = pyplot.subplots(1, 2, figsize=(9, 6.4))
then_boxes = [
    ("token + position vectors", False),
    ("multi-head attention\n8 query heads, 8 key heads", False),
    ("add", False),
    ("LayerNorm", False),
    ("linear, ReLU, linear", False),
    ("add", False),
    ("LayerNorm", False),
    ("output tied to the embedding", False),
]
now_boxes = [
    ("token vectors", True),
    ("RMSNorm", True),
    ("attention, rotary positions\n8 query heads, 2 key heads", True),
    ("add", False),
    ("RMSNorm", True),
    ("SwiGLU", True),
    ("add", False),
    ("RMSNorm after the last layer", True),
    ("a separate output matrix", True),
]
draw_block(left, "2017", then_boxes, [(0, 2), (3, 5)])
draw_block(right, "today", now_boxes, [(0, 3), (3, 6)])
notebook.figure(
    left,
    alt="Two columns of boxes. 2017: token and position vectors, multi-head attention, add, LayerNorm, feed-forward "
    "with ReLU, add, LayerNorm, tied output. Today: token vectors, RMSNorm, attention with rotary positions and fewer "
    "key heads, add, RMSNorm, SwiGLU, add, a last RMSNorm, a separate output matrix. Arrows lead around attention and "
    "around the feed-forward network; today they lead around the norms as well.",
    width=760,
)

# %% [markdown]
# Two of the orange parts are new layers of a few lines each. The first is a shorter LayerNorm. LayerNorm subtracts a
# vector's mean and divides by its standard deviation. **RMSNorm** subtracts nothing. It divides by the root of the
# mean square, and it has no bias.
#
# ### Your turn (3 min)


# %% tags=["exercise"]
def rms_norm(x, gain, eps=1e-5):
    """(..., D), (D,) -> (..., D)"""
    ...


# %% [markdown]
# **SwiGLU** is a feed-forward network with a *gate*, a second linear layer that decides, entry by entry, how much of
# the hidden layer gets through. That makes three matrices instead of two. To keep the number of parameters unchanged,
# the hidden layer is made a third narrower.
#
# ### Your turn (3 min)


# %% tags=["exercise"]
def swiglu(x, w_gate, w_up, w_down):
    """(..., D), (F, D), (F, D), (D, F) -> (..., D); matrices stored as nn.Linear does"""
    ...


# %% [markdown]
# Our `GPT` has a switch for each of the four parts and for three more changes. One is pre-norm, which you know from
# lesson 07. Another is lesson 14's GELU in place of ReLU. The third concerns the **output layer**. In 2017 it was
# *tied* to the embedding, which means that the embedding's matrix was used a second time to compute the logits. Most
# large models have two separate matrices.

# %%
sizes = {"vocab_size": 512, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_len": 128}
then = GPTConfig(**sizes, norm_first=False, norm="layer", activation="relu", positions="learned")
now = GPTConfig(**sizes, norm_first=True, norm="rms", activation="swiglu", positions="rotary",
                n_kv_heads=2, tie_embeddings=False)  # fmt: skip
for name, config in (("2017", then), ("today", now)):
    print(f"{name:>5}: {sum(p.numel() for p in GPT(config).parameters()):,} parameters")

# %% [markdown] predict="most_helpful_change"
# ## 2. What does each change bring?
#
# We trained small models on fairy tales. One has the 2017 block. Seven have that block with a single change each, and
# the last has all the changes together (with SwiGLU in place of GELU). Each was trained with three seeds. All of them
# have 141,000 parameters, because we adjusted the width of the feed-forward network to make up for what a change saves
# or adds.
#
# The figure below the predictions compares the models twice, after the same number of steps (open circles) and after
# the same time on a processor (filled circles). The grey band spans the three seeds of the 2017 block.

# %%
exercises.predict("changes_that_help")


# %% tags=["hide-input"]
def verdict(key):
    """Sort the changes by whether all their seeds beat, or lose to, all seeds of 2017."""
    low, high, sorted_out = min(old[key]), max(old[key]), {"better": [], "worse": [], "between": []}
    for name, row in blocks.items():
        if name != "2017":
            wins, loses = max(row[key]) < low, min(row[key]) > high
            sorted_out["better" if wins else "worse" if loses else "between"].append(name)
    return sorted_out


results = measured("what_changed")
blocks = results["blocks"]
old = blocks["2017"]
mean = {
    name: {key: statistics.mean(row[key]) for key in ("equal_steps", "equal_seconds")}
    for name, row in blocks.items()
}
steps, seconds = verdict("equal_steps"), verdict("equal_seconds")
single = [name for name in blocks if name not in ("2017", "all together")]
exercises.reveal(
    "most_helpful_change", measured=min(single, key=lambda name: mean[name]["equal_seconds"])
)
exercises.reveal("changes_that_help", measured=len(set(single) & set(seconds["better"])))
_, axes = pyplot.subplots(figsize=(8.4, 4.6))
base = old["equal_steps"]
axes.axvspan(min(base), max(base), color=plots.GREY, alpha=0.18, linewidth=0)
for y, (name, row) in enumerate(blocks.items()):
    colour = {"2017": plots.GREY, "all together": plots.PURPLE}.get(name, plots.BLUE)
    axes.plot(row["equal_steps"], [y - 0.14] * 3, "o", color=colour, fillstyle="none", markersize=7)
    axes.plot(row["equal_seconds"], [y + 0.14] * 3, "o", color=colour, markersize=7)
axes.set_yticks(range(len(blocks)), list(blocks))
axes.invert_yaxis()
axes.set_xlabel("bits per byte on unseen stories (lower is better)")
notebook.figure(
    axes,
    alt="Bits per byte of nine blocks with three seeds each, as open circles for equal steps and filled ones for "
    "equal time. Means in equal time: "
    + ", ".join(f"{name}: {mean[name]['equal_seconds']:.2f}" for name in blocks),
    width=720,
)

# %% tags=["hide-input"]
distance = mean["2017"]["equal_seconds"] - mean["all together"]["equal_seconds"]
share = (mean["2017"]["equal_seconds"] - mean["rotary positions"]["equal_seconds"]) / distance
assert 0.5 < share < 1
lead = results["longer"]["2017"] - results["longer"]["rotary positions"]
assert 0.8 < lead / (old["equal_steps"][0] - blocks["rotary positions"]["equal_steps"][0]) < 1.25
slower = blocks["SwiGLU"]["milliseconds_per_step"] / old["milliseconds_per_step"] - 1
assert set(seconds["better"]) == {"rotary positions", "untied output", "all together"}
assert seconds["worse"] == ["SwiGLU"]
tell(
    f"""**Rotary positions** alone save {distance * share:.2f} bits per byte, most of the {distance:.2f} that all
    changes save together. The nearest tokens say most about the next one, and with rotation the model doesn't have to
    learn first which ones are near. It's more than a head start, because in a run of six times as many steps, with one
    seed, rotation was still ahead by {lead:.2f}.

    An **untied output** helps, too, but here it's expensive, because its extra matrix holds a quarter of the
    parameters of a model this small. In Llama 3 8B the output matrix holds a fifteenth, and models of about a billion
    parameters often keep output and embedding tied.

    The other five stay in the band or close to it. In equal time, SwiGLU is just outside, on the wrong side, probably
    because each of its steps takes {slower:.0%} longer on our processor. Three others had little chance to show
    anything here. *Grouped heads* save memory, *RMSNorm* saves time on a GPU, and *pre-norm* is for deeper models. For
    SwiGLU there are figures from far longer training. After 524,288 steps, Shazeer (2020, table 1) measured a loss of
    1.677 with ReLU and 1.636 with SwiGLU, 2.4% less. GELU, at 1.679, didn't help at all."""
)

# %% [markdown]
# ### Where might pre-norm matter?
#
# If pre-norm helps anywhere, it should be in a deeper model. We therefore trained models of 2 and of 24 layers, 32
# wide, without warm-up and at a single learning rate. They had 300 steps to learn to predict the next letter of a
# fairy tale.

# %% tags=["prediction", "hide-input"]
deep = results["depth"]["losses"]
stuck = {name: min(losses) > 2.85 for name, losses in deep["24"].items()}
exercises.reveal(
    "norm_and_depth",
    measured="neither" if all(stuck.values()) else "post" if stuck["post-norm"] else "both",
)
notebook.table(
    [[n, *(" ".join(f"{loss:.2f}" for loss in row[name]) for name in ("post-norm", "pre-norm"))]
     for n, row in deep.items()],
    ["layers", "nats per letter, post-norm, three seeds", "pre-norm"],
)  # fmt: skip
tell(
    """A model that knows only the letters' frequencies has a loss of 2.95. After 300 steps, 24 layers with
    post-norm have got no further than that. With pre-norm they have learned something, though less than two layers
    did. Xiong et al. (2020) report that post-norm needs a warm-up, and that pre-norm works without one (lesson 07
    plots the gradients).

    Since then the norm has moved again. OLMo 2 normalises a sublayer's output before adding it to the residual path.
    Gemma 2 and 3 normalise both the input and the output."""
)
assert stuck["post-norm"]
assert not stuck["pre-norm"]

# %% [markdown]
# ## 3. Positions and keys
#
# Rotary positions were the change that mattered most, so let's write them. Features 0 and 1 are a pair, features 2 and
# 3 the next one, and so on. In each query and key, every pair is turned by an angle that grows with the token's
# position. As a result, the score of two tokens depends on the distance between them (lesson 05).
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def rotate(x, base=10000.0):
    """(..., T, K) -> (..., T, K)"""
    ...


# %% [markdown]
# **Grouped queries** make the cache smaller. There are fewer heads of keys and values than of queries, and several
# neighbouring query heads share one head of keys and one of values.
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def share_heads(x, n_heads):
    """(B, G, T, K) -> (B, H, T, K): heads of keys or values, one per query head"""
    ...


# %% [markdown] predict="cache_of_today"
# How much does that save? In today's model of section 1, four query heads share two heads of keys and values.


# %%
def cache_bytes(config, n_tokens=100):
    cache = GPTCache(config.n_layers)
    with torch.no_grad():
        GPT(config).eval().decode(torch.zeros(1, n_tokens, dtype=torch.long), cache)
    return sum(t.all().nbytes for layer in cache.layers for t in (layer.key, layer.value))


for name, config in (("2017", then), ("today", now)):
    print(f"{name:>5}: {cache_bytes(config):,} bytes for 100 tokens")

# %% tags=["hide-input"]
share = 100 * cache_bytes(now) / cache_bytes(then)
exercises.reveal("cache_of_today", measured=share)
for config, heads in ((then, 4), (now, 2)):
    assert cache_bytes(config) == cache_size(100, 2, heads, 16, bytes_per_number=4)

# %% [markdown]
# Only keys and values are cached, so fewer query heads would have changed nothing.
#
# Here are the cache sizes of real models, computed from their published dimensions, for one text of 8,192 tokens in
# 16-bit numbers. The middle column shows how large the cache would be if every query head had keys of its own.
# DeepSeek-V2 caches something else, which section 4 explains.

# %% tags=["hide-input"]
# layers, query heads, key heads, width of a head, parameters in billions
published = {
    "GPT-3 (2020)": (96, 96, 96, 128, 175),
    "Llama 2 7B (2023)": (32, 32, 32, 128, 6.74),
    "Llama 2 70B (2023)": (80, 64, 8, 128, 69.0),
    "Llama 3 8B (2024)": (32, 32, 8, 128, 8.03),
}
print(f"{'':>19}  cache for 8,192 tokens       one key head per query head   weights")
for name, (layers, queries, keys, width, billions) in published.items():
    size, full = (cache_size(8192, layers, heads, width) / 1e9 for heads in (keys, queries))
    print(f"{name:>19}  {size:19.2f} GB   {full:28.2f} GB   {2 * billions:5.1f} GB")

size = 60 * 8192 * (512 + 64) * 2 / 1e9  # one short vector per token, and one rotated key
full = cache_size(8192, 60, 128, 128) / 1e9
print(f"{'DeepSeek-V2 (2024)':>19}  {size:19.2f} GB   {full:28.2f} GB   {2 * 236:5.1f} GB")

# %% [markdown]
# A server that answers many people needs only one copy of the weights, but a cache for each person. That's why grouped
# heads are so common, although they don't make the predictions better. Nor do they make them much worse. Ainslie et al.
# (2023) found the quality close to that of attention with one key head per query head.
#
# ## 4. What came since?
#
# **Latent attention** (DeepSeek-AI 2024) caches neither keys nor values. It caches one short vector $c$ per token,
# from which every head makes its own key, $k = W c$, and with another matrix its own value. Making these for every old
# token at every step would be a lot of work, but it isn't necessary. Since $q \cdot (W c) = (W^\top q) \cdot c$, we
# can multiply the new query by $W^\top$ once and compare it with the cached vectors themselves.

# %%
c, w_key, q = torch.randn(100, 16), torch.randn(64, 16), torch.randn(64)  # 100 tokens, c 16 wide
scores = (c @ w_key.T) @ q  # make 100 keys, then compare
print("same scores:", torch.allclose(scores, c @ (w_key.T @ q), rtol=1e-3, atol=1e-3))

# %% [markdown]
# Rotation spoils this trick. It turns each key by an angle of its own, so one product $W^\top q$ would no longer work
# for all keys. DeepSeek-V2 therefore caches a second key, which is rotated. It's small, with 64 numbers, compared with
# 512 in $c$.
#
# **QK-norm** normalises every query and key before they are multiplied (Dehghani et al. 2023; used in OLMo 2, Gemma 3
# and Qwen 3). Without it, little but weight decay keeps queries and keys from growing. Once they have grown, the softmax
# saturates, as in lesson 04. There are other remedies. Gemma 2 caps the scores with a tanh. In Kimi K2's training,
# $W_Q$ and $W_K$ are scaled down whenever a score becomes too large.
#
# In the table below, random queries attend to 50 keys. We multiply queries and keys by a growing factor and count the
# keys over which a query still spreads its weight.

# %% tags=["hide-input"]
notebook.set_seed(0)
query, key = torch.randn(200, 64), torch.randn(50, 64)


def perplexity_of_weights(normalised, factor):
    """On how many keys does a query spread its weight? (The exponential of the entropy.)"""
    q, k = factor * query, factor * key
    if normalised:
        q, k = (F.rms_norm(x, (64,)) for x in (q, k))
    weights = (q @ k.T / math.sqrt(64)).softmax(-1)
    return (-(weights * weights.clamp(min=1e-30).log()).sum(-1)).exp().mean().item()


rows = [
    [factor, *(f"{perplexity_of_weights(norm, factor):.1f}" for norm in (False, True))]
    for factor in (1, 2, 4, 8)
]
notebook.table(rows, ["factor on queries and keys", "keys in use", "keys in use, QK-norm"])
assert perplexity_of_weights(False, 8) < 1.5 < 10 < perplexity_of_weights(True, 8)

# %% [markdown]
# **Experts.** The largest change of all isn't one of our switches. A *mixture of experts* has many feed-forward
# networks and a router that sends each token to $k$ of them (lesson 16, *Going deeper*). Left alone, might the router
# send everything to the few experts that had a good start?
#
# We train a mixture of eight experts, two per token. Its inputs come from eight clusters, each with a task of its own.
# To most of the runs we add `importance_loss`, which penalises uneven use, with a weight of 0.1 or 1.


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
def shares_of_experts(seed, weight, steps=150):
    """Train a mixture and return each expert's share of the weight, largest first."""
    torch.manual_seed(seed)
    centres, tasks = 3 * torch.randn(8, 16), torch.randn(8, 16, 16) / 4
    layer = MixtureOfExperts(16, 16, n_experts=8, k=2)
    optimiser = torch.optim.Adam(layer.parameters(), 3e-3)
    for _ in range(steps):
        cluster = torch.randint(8, (128,))
        x = centres[cluster] + torch.randn(128, 16)
        output, gates = layer(x)
        wanted = torch.einsum("bd,bde->be", x, tasks[cluster])
        loss = F.mse_loss(output, wanted) + weight * importance_loss(gates)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return (100 * gates.detach().mean(0)).sort(descending=True).values.tolist()


used = {weight: [shares_of_experts(seed, weight) for seed in range(3)] for weight in (0, 0.1, 1)}
largest, smallest = (max(run[0] for run in used[0]), min(run[-1] for run in used[0]))
exercises.reveal(
    "do_experts_collapse",
    measured="collapse" if largest > 40 else "uneven" if largest > 15 else "even",
)
rows = [
    [weight, " ".join(f"{share:.0f}" for share in run)] for weight in used for run in used[weight]
]
notebook.table(
    rows, ["weight of the importance loss", "share of each expert in percent, largest first"]
)
most = max(run[0] for run in used[1])
tell(
    f"""An even share would be 12.5%. Without the extra loss, the busiest expert of a run has up to {largest:.0f}%, and
    the idlest as little as {smallest:.0f}%. That's uneven, but it's no collapse. A weight of 0.1 makes the shares only
    a little more even, but with a weight of 1 no expert has more than {most:.0f}%. Shazeer et al. (2017) did see a
    collapse in language models, and most mixtures since then have had some protection against it. DeepSeek-V3, for
    instance, adds a number to the scores of idle experts."""
)

# %% [markdown]
# **Attention sinks** began as a habit of trained models. A row of weights sums to 1 even if no token is worth
# attending to, and many models then put the weight on the first token (Xiao et al. 2023). The story model doesn't do
# that, but SmolLM does, and lesson 20 hides this token to see what breaks.
#
# In 2025 this habit led to changes in the block itself. In gpt-oss, each head learns one more score that competes in
# the softmax but has no value behind it, so a head can put unneeded weight there (OpenAI 2025). Qwen3-Next multiplies
# each head's output by a gate and hardly needs a sink (Qiu et al. 2025).
#
# ### What to take away
#
# - The plan of 2017 still holds. The usual parts inside it are now RMSNorm, SwiGLU, rotary positions and shared keys,
#   and you wrote all four.
# - Each change shows its effect in a different place: rotation in the loss, grouped heads and latent attention in the
#   cache, pre-norm in deep models, QK-norm where scores grow.
# - Compare with several seeds and equal parameters, and say where an effect couldn't have shown.
#
# $$\mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\frac1D \sum_i x_i^2 + \varepsilon}} \odot g$$
#
# <details><summary>Fine print</summary>
#
# The 2017 block learns a table of positions, as the first GPT did (2018), whereas the paper had sines and cosines. All
# blocks use the learning rate that was best for the 2017 block among five in a shorter run. With a rate of their own,
# some might do better. The matrices inside the layers are trained with Muon, an optimiser that makes each matrix's
# update orthogonal. Even if nothing helped, one change in ten would be outside the band by chance. A gain of a quarter
# of a percent would be lost among our seeds, yet it can be worth having in a very large run. In section 3, the sizes of
# the published models come from their papers. GPT-3 was built for 2,048 tokens, so its row is hypothetical. A test of
# this course copies a model with all switches on into the Transformers library's `LlamaForCausalLM`, and the logits
# agree to ten decimal places.
#
# </details>
#
# [Lesson 18](18_from_gpt_to_assistant.ipynb) comes next. It turns a model that continues texts into one that answers.
# After that, lesson 19 puts your four parts into a model that people use.

# %% [markdown] predict="four_bits"
# ## Practice
#
# About 20 minutes. Here are two more ways to make a model cheaper.
#
# ### How many bits does a weight need?
#
# Our story model computes with 32-bit floats, and its file stores 16 bits per weight. We can go further and give every
# row of a matrix one scale. Each weight is divided by its row's scale and rounded to a whole number from −127 to 127. A
# weight then takes 8 bits. How much worse does the model predict an unseen story? And what if we go down to 4 bits,
# where only the numbers from −7 to 7 are left? Only the weights are rounded here. Everything that the model computes
# with them stays in floats.


# %%
def rounded(model, bits):
    model, largest = copy.deepcopy(model), 2 ** (bits - 1) - 1
    for weight in model.parameters():
        if weight.dim() == 2:
            scale = weight.data.abs().amax(-1, keepdim=True) / largest
            weight.data = (weight.data / scale).round() * scale
    return model


# %% tags=["hide-input", "nbval-ignore-output"]
unseen, full_model, worse = validation[:3000], story.model, {}
exact = story.bits_per_byte(unseen)
for bits in (8, 6, 5, 4, 3):
    story.model = rounded(full_model, bits)
    worse[bits] = story.bits_per_byte(unseen) / exact - 1
exercises.reveal("four_bits", measured=100 * worse[4])
print(f"not rounded: {exact:.4f} bits per byte. The rise, by bits per weight:")
for bits in worse:
    print(f"{bits:>8}: {worse[bits]:+.2%}")
story.model, small = full_model, in_int8(full_model)
page = story.encode(unseen[:400])[None]  # really stored in 8 bits, the same logits
with torch.no_grad():
    torch.testing.assert_close(small(page), rounded(full_model, 8)(page), atol=1e-3, rtol=0)
notebook.claim(abs(worse[8]) < 0.003)
notebook.claim(worse[3] > worse[4] > 10 * abs(worse[8]))
tell(
    f"""Eight bits cost {100 * worse[8]:.2f}% here, which no reader would notice. In return, the weights shrink from
    {n_bytes(full_model) / 1e6:.1f} MB in 32-bit floats to {n_bytes(small) / 1e6:.1f} MB. With 4 bits the model
    predicts {100 * worse[4]:.1f}% worse, with 3 bits {100 * worse[3]:.0f}%.

    In large models one scale per row is often too coarse at 4 bits, because a single large weight makes the steps
    coarse for the whole row. People who use 4 bits therefore give every small group of weights a scale of its own, or
    round more cleverly than to the nearest number (GPTQ, Frantar et al. 2022)."""
)

# %% [markdown]
# Is the rounded model faster as well? It could be. The processor has to fetch every weight from memory, and 8 bits
# arrive four times as fast as 32 bits. But that helps only if the weights are turned into floats inside the processor.
# Our code writes a whole matrix of floats to memory first, so here 8 bits would save space but no time.
#
# ### Can the same text be written in fewer steps?
#
# A decoder writes one token per step, and in each step it reads all its weights. In a large model, reading five tokens
# takes barely longer than reading one, because all five share one pass over the weights. Training makes use of that,
# because the whole text is known beforehand. A decoder doesn't know the second token until it has chosen the first.
#
# But it could guess. In **speculative decoding** a cheap *draft* proposes the next few tokens. The model reads all of
# them in a single pass, which shows what it would have chosen itself after each one. As long as its choices equal the
# guesses, we gain one token per guess. At the first difference we take the model's own choice and throw the remaining
# guesses away. A bad draft costs time, but it can't change the text, which is always the model's own.

# %% tags=["hide-input"]
notebook.show_source(speculate)

# %% [markdown]
# The draft can be a small language model. Today it's often a layer or two on top of the large model itself, trained to
# guess further ahead (Li et al. 2024; DeepSeek-V3). Ours is simpler and costs next to nothing. It checks whether the
# last three tokens, or at least the last two, have occurred before in this story. If they have, it guesses what
# followed them there. If not, it looks up what most often follows the last two tokens in one megabyte of fairy tales.

# %%
text = stories("train", 1_000_000)
draft = CountedDraft(torch.tensor(story.tokenizer.encode(text).ids), vocab_size=4096)
ids = story.encode("Once upon a time there was a")
print(story.tokens(draft(ids.tolist(), 5)))

# %% [markdown]
# Let's write some stories with and without the draft, first greedily, then with tokens drawn at a temperature of 0.8
# (from the same random numbers both times). The draft makes two guesses per pass.


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
def chooser(temperature):
    """Choose as `story.generate` does, with the seed 1."""
    if temperature == 0:
        return torch.argmax
    generator = torch.Generator().manual_seed(1)

    def draw(logits):
        likely = decoding.top_p_filter(logits[None] / temperature, 0.95)
        return torch.multinomial(likely.softmax(-1), 1, generator=generator)

    return draw


def race(temperature, n_guesses, beginnings=("Once upon a time", "The old king"), n_tokens=80):
    """Write by turns with and without the draft: speed-up, share accepted, tokens per pass, text."""
    seconds, drafts = {0: 0.0, n_guesses: 0.0}, []
    for beginning in beginnings:
        prompt, runs = story.encode(beginning), {}
        for guesses in seconds:
            choose, started = chooser(temperature), time.process_time()
            runs[guesses] = speculate(story.model, prompt, draft, n_tokens, guesses, choose)
            seconds[guesses] += time.process_time() - started
        assert runs[0].ids == runs[n_guesses].ids  # the same text, token for token
        assert runs[0].passes == n_tokens
        drafts.append(runs[n_guesses])
    text = story.decode([*prompt.tolist(), *drafts[-1].ids])
    assert text.startswith(story.generate("The old king", n_tokens // 3, temperature, seed=1))
    accepted = sum(run.accepted for run in drafts) / sum(run.guessed for run in drafts)
    per_pass = n_tokens * len(drafts) / sum(run.passes for run in drafts)
    return seconds[0] / seconds[n_guesses], accepted, per_pass, text


races = {"greedy": race(0, n_guesses=2), "drawn at 0.8": race(0.8, n_guesses=2)}
exercises.reveal("guesses_accepted", measured=100 * races["drawn at 0.8"][1])
print("                     accepted   tokens per pass   times as fast")
for name, (speed, accepted, per_pass, _) in races.items():
    print(f"{name:>13}, 2 guesses  {accepted:6.0%}  {per_pass:13.1f}  {speed:14.1f}")
print("\nThe greedy story:")
for line in races["greedy"][3].splitlines():
    print(fill(line, 100))
notebook.claim(races["greedy"][1] > 1.5 * races["drawn at 0.8"][1])
notebook.claim(races["greedy"][2] > 1.6)
notebook.claim(1.1 < races["drawn at 0.8"][2] < 2)

# %% [markdown]
# The draft hasn't changed a single token of the text. Greedy decoding needs far fewer passes with it, but read the
# story before you celebrate. Greedy text repeats itself, and repetitions are easy to guess. At a temperature of 0.8
# our draft is seldom right. The few passes that it saves don't make up for its cost, because in a small model a pass
# over three tokens takes longer than a pass over one.
#
# A model with billions of parameters gains more. There the longer pass is practically free, as long as few texts are
# written at a time. Its draft is better, too, because a small language model guesses its large sibling's tokens far
# more often than our table does. With such drafts, Leviathan et al. (2023) report two to three times the speed.
#
# They also have a better rule for drafts that come with probabilities. Accept a guess with probability $\min(1, p/q)$,
# where $p$ is the model's probability of the token and $q$ the draft's. After a rejection, draw from $\max(0, p - q)$,
# scaled to sum to 1. Only the two steps together draw tokens exactly as the model alone would.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762. Grattafiori et al. (2024), "The Llama 3 Herd of
#   Models", arXiv:2407.21783, table 3, for a present-day block. Touvron et al. (2023), arXiv:2307.09288, and Brown et al.
#   (2020), arXiv:2005.14165, table 2.1, for the other sizes in section 3.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745. Zhang and Sennrich
#   (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467. Su et al. (2021), "RoFormer", arXiv:2104.09864.
#   Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202. Ainslie et al. (2023), "GQA", arXiv:2305.13245.
#   Press and Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859, for tied outputs.
# - Narang et al. (2021), "Do Transformer Modifications Transfer Across Implementations and Applications?",
#   arXiv:2102.11972, which tried many changes. Few helped, but RMSNorm and gated networks were among them.
# - Dettmers et al. (2022), "LLM.int8()", arXiv:2208.07339. Frantar et al. (2022), "GPTQ", arXiv:2210.17323.
# - Leviathan et al. (2023), "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192. Chen et
#   al. (2023), "Accelerating Large Language Model Decoding with Speculative Sampling", arXiv:2302.01318. Saxena
#   (2023), "Prompt Lookup Decoding". Li et al. (2024), "EAGLE", arXiv:2401.15077.
# - DeepSeek-AI (2024), "DeepSeek-V2", arXiv:2405.04434, section 2.1 and table 1, for latent attention, and
#   "DeepSeek-V3", arXiv:2412.19437. Dehghani et al. (2023), "Scaling Vision Transformers to 22 Billion Parameters",
#   arXiv:2302.05442, for QK-norm. Team OLMo (2025), "2 OLMo 2 Furious", arXiv:2501.00656, and Gemma Team (2024),
#   "Gemma 2", arXiv:2408.00118, for the place of the norm. Kimi Team (2025), "Kimi K2", arXiv:2507.20534, for clipped
#   queries and keys. Shazeer et al. (2017), arXiv:1701.06538; Fedus et al. (2021), "Switch Transformers",
#   arXiv:2101.03961.
# - Xiao et al. (2023), "Efficient Streaming Language Models with Attention Sinks", arXiv:2309.17453. Gu et al. (2024),
#   "When Attention Sink Emerges in Language Models", arXiv:2410.10781. OpenAI (2025), "gpt-oss-120b & gpt-oss-20b Model
#   Card", arXiv:2508.10925. Qiu et al. (2025), "Gated Attention for Large Language Models", arXiv:2505.06708.
