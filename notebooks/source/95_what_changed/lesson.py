# %% [markdown]
# # What changed since 2017
#
# Open the description of almost any language model released since 2023. It will mention RMSNorm, SwiGLU, rotary
# positions and grouped-query attention, and none of these is in *Attention Is All You Need*. Is what you've learned
# out of date?
#
# On this page we turn lesson 07's block into a modern one, one switch at a time, and measure what each switch
# does to a small story model. Then we look at what changed around the block: the size of the cache, weights in 8
# bits, and a way to write the same text in fewer steps. Before each measurement, lock in what you expect. Where a
# result isn't what the papers would lead you to expect, the page says why.
#
# Allow **30 minutes**. Lessons 07 and 14 come first.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import copy
import statistics
import time
from functools import partial
from textwrap import fill

from IPython.display import display
import torch
from matplotlib import pyplot
from torch import nn

from helpers import exercises, plots
from helpers.transformer import decoding
from helpers.data.stories import stories
from helpers.models.efficient import cache_size
from helpers.models.eight_bits import in_int8, n_bytes
from helpers.models.gpt import GPT, GPTCache, GPTConfig
from helpers.models.modern import RMSNorm, SwiGLU
from helpers.notebook import tell
from helpers.pretrained.measured import measured
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.storyteller import load_storyteller
from helpers.models.speculative import CountedDraft, speculate

story, validation = load_storyteller(), stories("validation")

# %% [markdown] tags=["notes"]
# **30 minutes**, or ten minutes for sections 1, 2 and 5 alone. **Say**: all of these are changes to a block that
# everybody in the room can already write down. **Show** the two columns of the figure, then cover the right one and
# let the class list what they remember. **Ask** before section 2: "Which change would you make first, and how would
# you find out that it helps?" (train both blocks with several seeds, the same number of parameters and the same
# amount of time). **Ask** before section 5: "How can a worse model make a better one faster without making it worse?"
# **If you're running late**: skip sections 4 and 6.

# %% [markdown]
# ## 1. Which parts are still the same?
#
# On the left is a layer of the 2017 decoder without its cross-attention, and on the right a layer of a model like
# Llama 3. The plan is the same: attention moves information between positions, a feed-forward network works on each
# position, and both add their output to the residual path. Changed parts are drawn in orange.


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
    ("multi-head attention\n8 heads of queries, 8 of keys", False),
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
    ("attention, rotary positions\n8 heads of queries, 2 of keys", True),
    ("add", False),
    ("RMSNorm", True),
    ("SwiGLU", True),
    ("add", False),
    ("RMSNorm after the last layer", True),
    ("a matrix of its own as output", True),
]
draw_block(left, "2017", then_boxes, [(0, 2), (3, 5)])
draw_block(right, "today", now_boxes, [(0, 3), (3, 6)])
notebook.figure(
    left,
    alt="Two columns of boxes. 2017: token and position vectors, multi-head attention, add, LayerNorm, feed-forward "
    "with ReLU, add, LayerNorm, tied output. Today: token vectors, RMSNorm, attention with rotary positions and fewer "
    "heads of keys, add, RMSNorm, SwiGLU, add, a last RMSNorm, an output matrix of its own. Arrows lead around attention and "
    "around the feed-forward network; today they lead around the norms as well.",
    width=760,
)

# %% [markdown]
# Two of the orange parts are new layers, and each of them is a few lines long. **RMSNorm** divides a vector by its root
# mean square. Unlike LayerNorm it doesn't subtract the mean and has no bias.

# %% tags=["hide-input"]
notebook.show_source(RMSNorm.forward)

# %% [markdown]
# **SwiGLU** is a feed-forward network with a *gate*: a second linear layer that decides, entry by entry, how much of the
# hidden layer gets through. That makes three matrices instead of two. To keep the parameter count the same, the hidden layer is made a third narrower.

# %% tags=["hide-input"]
notebook.show_source(SwiGLU.forward)

# %% [markdown]
# Our `GPT` has a switch for each of the other changes. Lesson 07 explained pre-norm, lesson 05 rotary positions and
# lesson 16 grouped heads. The **output layer** was tied in 2017, which means that the matrix of the embedding was used
# a second time to compute the logits. Most large models have two separate matrices.
#
# In one respect, our 2017 block is really from a year later. It learns a table of positions, as the first GPT did
# (2018), whereas the paper used sines and cosines. So below, rotary positions are compared with a learned table.

# %%
sizes = {"vocab_size": 512, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_len": 128}
then = GPTConfig(**sizes, norm_first=False, norm="layer", activation="relu", positions="learned")
now = GPTConfig(**sizes, norm_first=True, norm="rms", activation="swiglu", positions="rotary",
                n_kv_heads=2, tie_embeddings=False)  # fmt: skip
for name, config in (("2017", then), ("today", now)):
    print(f"{name:>5}: {sum(p.numel() for p in GPT(config).parameters()):,} parameters")

# %% tags=["hide-input"]
x = torch.randn(4, 7, 96)
torch.testing.assert_close(RMSNorm(96)(x), nn.RMSNorm(96, 1e-5)(x))
gated, plain = SwiGLU(96, 256), nn.Sequential(nn.Linear(96, 384), nn.Linear(384, 96))
assert sum(p.numel() for p in gated.parameters()) == sum(
    p.numel() for p in plain.parameters() if p.dim() == 2
)

# %% [markdown]
# The second model is larger only because of its second matrix for the output. In section 2 we make up for that.
#
# <details><summary>How do we know that this is Llama's block?</summary>
#
# A test of this course copies random weights of our model with all switches on into `LlamaForCausalLM` of the
# Transformers library. The logits agree to ten decimal places, with and without a cache. We had to take care of two
# things. Llama rotates features $i$ and $i + d/2$ as a pair, while RoFormer's paper and our code rotate neighbours,
# so the rows of $W_Q$ and $W_K$ are reordered on the way. And Llama computes its norms and angles in 32 bits, whatever the precision of its weights, so we replaced both for the comparison, which is in 64 bits. With all switches off, the weights fit into the
# library's version of the first GPT (2018). Llama's attention also has no biases. Ours has them, so the test switches
# them on in the library's model.
#
# </details>
#
# ## 2. What does each change bring?
#
# To find out, we train small models on fairy tales: the 2017 block, the same block with one change at a time, and
# all changes together. We try to be fair in three ways. All models have the same number of parameters, because we
# widen or narrow the feed-forward network to make up for what a change saves or adds. All of them use the same
# learning rate, the best of five that we tried with *the 2017 block* in shorter runs, with one seed. The best two tied,
# so the choice is a rough one. And every model is trained with three seeds, because with one seed you can't tell an
# effect from luck. The optimiser is Muon for the matrices inside the layers and AdamW elsewhere, as it was for the
# story model.
#
# It's harder to give every block the same time, because the machine has other work to do as well. So we measured the
# processor time of a training step, taking the blocks in turn, and worked out how many steps each block gets in the
# same time. In the figure, open circles show equal steps and filled circles equal time. The grey band spans the three
# seeds of the 2017 block.

# %%
exercises.predict("most_helpful_change")

# %%
exercises.predict("changes_that_help")


# %% tags=["hide-input"]
def verdict(key):
    """Sort the changes by whether all their seeds beat, or lose to, all seeds of 2017."""
    low, high, sorted_out = min(old[key]), max(old[key]), {"better": [], "worse": [], "between": []}
    for name, row in blocks.items():
        if name != "2017":
            kind = (
                "better" if max(row[key]) < low else "worse" if min(row[key]) > high else "between"
            )
            sorted_out[kind].append(name)
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
    colour = (
        plots.GREY if name == "2017" else plots.PURPLE if name == "all together" else plots.BLUE
    )
    axes.plot(row["equal_steps"], [y - 0.14] * 3, "o", color=colour, fillstyle="none", markersize=7)
    axes.plot(row["equal_seconds"], [y + 0.14] * 3, "o", color=colour, markersize=7)
axes.set_yticks(range(len(blocks)), list(blocks))
axes.invert_yaxis()
axes.set_xlabel("bits per byte on unseen stories (lower is better)")
notebook.figure(
    axes,
    alt="Bits per byte of nine blocks with three seeds each, as open circles for equal steps and filled ones for "
    "equal time. The numbers are in the table below.",
    width=720,
)

# %% tags=["hide-input"]
print(f"{'':>17}   time per step   equal steps   equal time   three seeds at equal time")
for name, row in blocks.items():
    slowness = row["milliseconds_per_step"] / old["milliseconds_per_step"]
    seeds = "  ".join(f"{bits:.3f}" for bits in row["equal_seconds"])
    equal_steps, equal_time = mean[name].values()
    print(f"{name:>17}   {slowness:12.2f}×   {equal_steps:11.3f}   {equal_time:10.3f}   {seeds}")
shown = {
    key: {kind: ", ".join(names) or "nothing" for kind, names in found.items()}
    for key, found in (("steps", steps), ("seconds", seconds))
}
tell(
    f"""An effect counts here if all three seeds are on the same side of all three seeds of 2017.

    | | equal steps | equal time |
    |---|---|---|
    | better | {shown["steps"]["better"]} | {shown["seconds"]["better"]} |
    | can't be told from luck | {shown["steps"]["between"]} | {shown["seconds"]["between"]} |
    | worse | {shown["steps"]["worse"]} | {shown["seconds"]["worse"]} |

    Even if no change did anything, one in ten would pass this test by chance. So don't make much of a change that
    passes it in only one of the two columns."""
)

# %% tags=["hide-input"]
distance = mean["2017"]["equal_seconds"] - mean["all together"]["equal_seconds"]
share = (mean["2017"]["equal_seconds"] - mean["rotary positions"]["equal_seconds"]) / distance
assert "rotary positions" in seconds["better"]
assert "all together" in seconds["better"]
assert 0.5 < share < 1
lead = results["longer"]["2017"] - results["longer"]["rotary positions"]
assert 0.8 < lead / (old["equal_steps"][0] - blocks["rotary positions"]["equal_steps"][0]) < 1.25
assert "untied output" in seconds["better"]
tell(
    f"""**Rotary positions** alone save {distance * share:.2f} bits per byte, and all changes together save
    {distance:.2f}, although the single gains don't add up exactly. The nearest tokens say most about the next one, so
    the first thing that a model has to learn is where its neighbours are. With a table of positions it must learn
    that separately for each position. With rotation the distance is in the scores from the beginning. With one seed
    and six times as many steps, the lead was {lead:.2f}, about as large as before. But that's still a very short
    training run.

    **An untied output layer** helps as well, although it takes half of the feed-forward network's parameters. Don't
    carry that over to other sizes. In this model the output matrix is a quarter of all parameters; in Llama 3
    8B it's a fifteenth. Models with about a billion parameters often still tie the two, to save memory.

    **Pre-norm, RMSNorm, GELU, SwiGLU and grouped heads** change hardly anything. That's no reason to doubt them,
    because they were introduced for other reasons or measured at other sizes. Pre-norm is for deep models, RMSNorm
    saves time, grouped heads save memory, and Shazeer reports a small gain from SwiGLU, after far longer training. At
    equal time SwiGLU even loses here, because a step with it takes longer on our processor. RMSNorm isn't faster here
    either, since PyTorch runs LayerNorm as one operation on a CPU, and RMSNorm as several."""
)

# %% [markdown]
# ## 3. How large is the cache?
#
# Lesson 16 computed the size of the cache, in which a decoder keeps the keys and values of all tokens so far. Here is that size for the two small models after 100 tokens, this time counted in the cache itself. In the second model, four
# query heads share two heads of keys and values.

# %%
exercises.predict("cache_of_today")


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
# Only keys and values are cached, so fewer query heads would have changed nothing. In a model of this size, you
# needn't worry about the cache in either case. So let's put the published sizes of real models into the same formula,
# for a text of 8,192 tokens in 16-bit numbers. The middle column shows how large the cache would be if every query
# head had keys of its own.

# %% tags=["hide-input"]
# layers, heads of queries, heads of keys, width of a head, parameters in billions
published = {
    "GPT-3 (2020)": (96, 96, 96, 128, 175),
    "Llama 2 7B (2023)": (32, 32, 32, 128, 6.74),
    "Llama 2 70B (2023)": (80, 64, 8, 128, 69.0),
    "Llama 3 8B (2024)": (32, 32, 8, 128, 8.03),
}
print(f"{'':>19}  cache for 8,192 tokens   one head of keys per query head   weights")
for name, (layers, queries, keys, width, billions) in published.items():
    size, full = (cache_size(8192, layers, heads, width) / 1e9 for heads in (keys, queries))
    print(f"{name:>19}  {size:19.2f} GB   {full:28.2f} GB   {2 * billions:5.1f} GB")

# %% [markdown]
# For the same number of tokens, Llama 3 8B needs 1 GB and Llama 2 7B needs four. A server that answers many people at
# a time holds the weights in memory only once, but it needs one cache per person. That's why grouped heads are so
# common, although they don't make the predictions better. Ainslie et al. (2023) found the quality close to that of
# full attention. In section 2, where the saved parameters went into the feed-forward network, grouped and full
# attention differ by less than the seeds do. The sizes come from the papers. GPT-3 was built for 2,048 tokens and
# Llama 2 for 4,096, so their rows are hypothetical.
#
# ## 4. How many bits does a weight need?
#
# Our story model computes with 32-bit floats. Its file stores 16 bits per weight. We can go further and round every
# weight to a whole number from −127 to 127 times a scale, with one scale per row of the matrix. Then a weight takes 8
# bits. How much worse does the model then predict an unseen story? And what if we go down to 4 bits, where only the
# numbers from −7 to 7 are left? Only the weights are rounded, and everything that the model computes with them is
# still in floats.

# %%
exercises.predict("four_bits")


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
print(f"as it is: {exact:.4f} bits per byte, and with this many bits per weight:")
for bits in worse:
    print(f"{bits:>8}: {worse[bits]:+.2%}")
story.model, small = full_model, in_int8(full_model)
page = story.encode(unseen[:400])[None]  # really stored in 8 bits, the same logits
with torch.no_grad():
    torch.testing.assert_close(small(page), rounded(full_model, 8)(page), atol=1e-3, rtol=0)
assert abs(worse[8]) < 0.003
assert worse[3] > worse[4] > 10 * abs(worse[8])
tell(
    f"""Eight bits cost {100 * worse[8]:.2f}% here, which no reader would notice, and the weights shrink from
    {n_bytes(full_model) / 1e6:.1f} MB in 32-bit floats, or half of that in the 16-bit file, to
    {n_bytes(small) / 1e6:.1f} MB. With 4 bits the model predicts {100 * worse[4]:.1f}% worse, and with 3 bits
    {100 * worse[3]:.0f}%. In large models one scale per row is often too coarse at 4 bits, because a single large
    weight makes the steps coarse for the whole row. So people who use 4 bits give every small group of weights a
    scale of its own, or round more cleverly than to the nearest number (GPTQ, Frantar et al. 2022)."""
)

# %% [markdown]
# Is it faster as well? Our `Int8Linear` turns its whole matrix back into floats every time, so it can only be slower.
# PyTorch has an operator that reads the weights as 8 bits and turns them into floats only inside the processor. Its
# input vector has to be in 16-bit floats, so we also time a matrix of 16-bit floats. We time all of these on one
# large matrix, because the matrices of our small model fit into the processor's own fast memory, where reading is
# quick anyway.


# %% tags=["hide-input", "nbval-ignore-output"]
def one_step(model):
    """Make a function that takes the same decoding step, after 100 tokens, at every call."""
    cache, ids = GPTCache(len(model.layers)), torch.arange(101)[None]
    with torch.no_grad():
        model.decode(ids[:, :100], cache)

    def step():
        cache.shorten(100)
        with torch.no_grad():
            model.output_proj(model.decode(ids, cache))

    return step


def in_turns(contenders, rounds):
    """Time functions by turns, and give their medians as multiples of the first one's."""
    seconds = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            seconds[name].append(contender())
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    first = next(iter(medians.values()))
    return {name: median / first for name, median in medians.items()}


def seconds_of(function):
    started = time.process_time()
    function()
    return time.process_time() - started


steps_of = {"float": one_step(full_model), "8 bits": one_step(small)}
step = in_turns({name: partial(seconds_of, take) for name, take in steps_of.items()}, 15)
print(f"one step of the story model, back to floats each time: {step['8 bits']:.2f} times as long")
large, vector = torch.randn(4096, 4096), torch.randn(1, 4096)
scale = large.abs().amax(-1, keepdim=True) / 127
whole = (large / scale).round().to(torch.int8)
large_16, vector_16, scale_16 = large.bfloat16(), vector.bfloat16(), scale[:, 0].bfloat16()
contenders = {
    "32-bit floats": lambda: seconds_of(lambda: vector @ large.T),
    "16-bit floats": lambda: seconds_of(lambda: vector_16 @ large_16.T),
    "8 bits, back to floats each time": lambda: seconds_of(lambda: vector @ (whole * scale).T),
}
if hasattr(torch, "_weight_int8pack_mm"):  # not a public function of PyTorch
    contenders["8 bits, read as they are"] = lambda: seconds_of(
        lambda: torch._weight_int8pack_mm(vector_16, whole, scale_16)
    )
print("one row times a matrix of 4096 × 4096:")
for name, share in in_turns(contenders, 9).items():
    print(f"  {name}: {share:.2f} times as long as with 32-bit floats")

# %% [markdown]
# With the right operator, 8 bits are faster than 32. The reason isn't the arithmetic. To multiply one row by a
# matrix, the processor has to fetch every weight from memory once, and a weight of 8 bits is fetched four times as
# fast as one of 32. For the same reason 8 bits gain little where many rows share the fetched weights, as in training.
# Our own version first writes the whole matrix of floats to memory and reads it again, which costs far more than it
# saves.
#
# ## 5. Can the same text be written in fewer steps?
#
# A decoder writes one token per step, and in each step it reads all its weights. In a large model, reading five tokens
# takes barely longer than reading one, since the weights are read only once. Training makes use of that, but a decoder
# can't, because it doesn't know the second token until it has chosen the first.
#
# It could guess, though. In **speculative decoding** a cheap *draft* proposes the next few tokens. The model reads all of them in a single pass, which shows what it would have chosen itself after each one. Whenever that choice equals the guess, we gain a token. At the first difference we take the model's own choice and throw the remaining
# guesses away. So the text is always the model's, whatever the draft proposes.

# %% tags=["hide-input"]
notebook.show_source(speculate)

# %% [markdown]
# The draft is usually a small language model. Ours is even simpler, and costs next to nothing. If the last three
# tokens have occurred before in this story, or at least the last two, it guesses what followed them. Otherwise it
# looks up what most often follows the last two tokens in one megabyte of fairy tales.

# %%
text = stories("train", 1_000_000)
draft = CountedDraft(torch.tensor(story.tokenizer.encode(text).ids), vocab_size=4096)
ids = story.encode("Once upon a time there was a")
print(story.tokens(draft(ids.tolist(), 5)))

# %% [markdown]
# Let's write the same stories with and without the draft, first greedily and then with tokens drawn at a temperature
# of 0.8. Each time the random numbers are the same, and the draft makes two guesses per pass.

# %%
exercises.predict("guesses_accepted")


# %% tags=["hide-input", "nbval-ignore-output"]
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
assert races["greedy"][1] > 1.5 * races["drawn at 0.8"][1]
assert races["greedy"][2] > 1.6
assert 1.1 < races["drawn at 0.8"][2] < 2

# %% [markdown]
# The text is the same with and without the draft, token for token, as the cell above has checked. Greedy decoding gains
# a lot. But read the story before you celebrate: greedy text repeats itself, and repetitions are easy to guess. At a
# temperature of 0.8 we gain next to nothing, for two reasons. Our draft is seldom right, and in a small model a pass
# over three tokens takes about a fifth longer than a pass over one, because reading the weights isn't what takes the time. In a model with billions of parameters the longer pass is practically free, as long as few texts are written at
# a time, and a small language model guesses its large sibling's tokens far more often than our table does. With such
# drafts, Leviathan et al. (2023) report two to three times the speed.
#
# If the draft gives probabilities, there's a better rule for sampling than "equal or not". The model accepts a guess
# with probability $\min(1, p/q)$, where $p$ is the model's probability of the token and $q$ the draft's, and
# otherwise it draws from what is left of $p$. The distribution of the text is again exactly the model's. Our draft is
# always certain of its guess, so $q = 1$ and the rule accepts with probability $p$. A token drawn from the model
# equals the guess just as often, so our simpler method loses nothing.
#
# ## 6. Where does attention go when there's nothing to find?
#
# A row of attention weights sums to 1, even if no token is worth attending to. Where does the weight go then? In
# trained models, much of it often goes to the first token or to a separator, whatever those tokens happen to mean.
# Xiao et al. (2023) call such a token an **attention sink**. Sinks matter in practice: a large model that keeps only
# the latest tokens in its cache (lesson 16's sliding window) breaks down as soon as the first tokens leave that
# window, unless a few of them are kept.
#
# Let's look for sinks in the two models we have, the story model and MiniLM.

# %%
exercises.predict("where_are_sinks")

# %% tags=["hide-input"]
passage = validation[:400].replace("\n", " ")
minilm = load_minilm()
maps = minilm.attend(passage).maps["encoder"][0][:, :, 1:-1]  # (layers, heads, words, keys)
n_bert = maps.shape[-1]
ids = story.encode(validation[:1500])[:160]
own = story.model.attention_maps(ids[None])[0][:, :, 32:, 0]  # (layers, heads, later positions)
shares = {
    "MiniLM: [CLS]": maps[..., 0].mean((1, 2)) * 100,
    "MiniLM: [SEP]": maps[..., -1].mean((1, 2)) * 100,
    "story model: first token": own.mean((1, 2)) * 100,
}
even_story = 100 * (1 / torch.arange(33, 161)).mean().item()
in_minilm = max(shares["MiniLM: [CLS]"].max(), shares["MiniLM: [SEP]"].max()) > 10 * 100 / n_bert
in_story = shares["story model: first token"].max() > 10 * even_story
sinks = [name for name, found in (("MiniLM", in_minilm), ("story model", in_story)) if found]
exercises.reveal("where_are_sinks", measured="both" if len(sinks) == 2 else (*sinks, "neither")[0])
axes = plots.labelled_lines(
    range(1, 7),
    {name: share.tolist() for name, share in shares.items()},
    x_label="layer",
    y_label="% of the attention of later tokens",
    marker="o",
)
print(
    f"An even share would be {100 / n_bert:.1f}% in MiniLM and {even_story:.1f}% in the story model."
)
assert shares["MiniLM: [CLS]"][1:].min() > 10 * 100 / n_bert
assert shares["MiniLM: [SEP]"].max() < 5
assert shares["story model: first token"].max() < even_story
display(
    notebook.figure(
        axes,
        alt="Share of attention by layer. For [CLS] in MiniLM it's near zero in the first layer and between 15 and 35% "
        "in the others. For [SEP], and for the first token of the story model, it stays near zero.",
        width=640,
    )
)
tell(
    """MiniLM has a sink, and it's [CLS]. From its second layer on, this one token takes many times an even share. In
    the original BERT the sink is [SEP], as Clark et al. found. In our story model the first token gets less than an
    even share on average over the heads, so it's no sink. Gu et al. (2024) find that sinks appear in language models
    only after enough training on enough text, and our model has read ten million tokens. That's a likely reason, but
    we haven't tested it."""
)

# %% [markdown]
# ## What this page can't show
#
# - **Everything but the block.** The largest model of the 2017 paper had 213 million parameters and was trained on
#   36 million pairs of sentences. Llama 3 has up to 405 billion parameters and was trained on 15,000 billion tokens.
#   Compared with that, the block has hardly changed.
# - **Stability.** Pre-norm is used because deep post-norm models are hard to train. Ours have only two layers.
# - **Long texts.** Rotary positions and small caches pay off at thousands of tokens. Our windows have 128.
# - **Small effects.** Our models have 141,000 parameters and train on 256,000 tokens, so a gain of a quarter of a
#   percent is lost in the differences between three seeds. In a very large training run, such a gain can be worth
#   having.
# - **Mixtures of experts.** The largest change to many of today's largest models isn't one of our switches. Lesson 16
#   shows it in fifteen lines.
# - **Speed.** All times here are those of one CPU core. Graphics processors have fused operations for RMSNorm and
#   rotary positions, so the ranking of the blocks at equal time can be different there.
# - **The best settings of each block.** All blocks train at the 2017 block's learning rate and with one optimiser.
#   With a rate of their own, or another optimiser, some might do better.
#
# What you can take away is the method: one switch at a time, equal parameters, a learning rate that favours the old
# block, several seeds, and a band that says how much is luck.
#
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
#   (2023), "Prompt Lookup Decoding".
# - Xiao et al. (2023), "Efficient Streaming Language Models with Attention Sinks", arXiv:2309.17453. Gu et al. (2024),
#   "When Attention Sink Emerges in Language Models", arXiv:2410.10781. Clark et al. (2019), "What Does BERT Look At?",
#   arXiv:1906.04341, for the weight on [SEP].
