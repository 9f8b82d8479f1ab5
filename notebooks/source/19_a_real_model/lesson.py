# %% [markdown]
# # A real model
#
# *What is the capital of France?*
#
# The story model of lesson 14 would have gone on about a king. The model below answers. It's SmolLM2, published by
# Hugging Face in 2024. Its 135 million weights were trained on two trillion tokens, more than you could read aloud in
# ten thousand years, and they come with this course as a file of 98 megabytes.
#
# Inside, it's the decoder of lesson 14 with four parts replaced by RMSNorm, SwiGLU, rotary positions and grouped
# queries. Today you write the code that turns the published weights into a model again, one part after another. The
# loss tells you when something is still missing.
#
# This lesson follows lesson 18. You also need lesson 14's GPT and lesson 05's rotation, and for *Practice* lesson 16's
# cache. The four parts are those of lesson 95. If you wrote them there, you can leave their cells as they are, because
# this lesson then goes on with your answers. If you skipped that lesson, you've missed nothing, because you write them
# today.

# %% tags=["hide-input"]
import math
import statistics
import time

import torch
import torch.nn.functional as F
from matplotlib import pyplot

from helpers import exercises, plots
from helpers.exercises import lessons
from helpers.models.efficient import cache_size
from helpers.models.eight_bits import n_bytes
from helpers.models.gpt import GPTCache
from helpers.pretrained.gguf import GGUF
from helpers.pretrained.measured import measured
from helpers.pretrained.smollm import gguf_path, load_smollm, published_weights, weights_file
from helpers.widgets.attention_view import attention_view

at_work = lessons.module(19, "at_work")  # a file that answers on the command line
smol, weights = load_smollm(), published_weights()
file = GGUF(gguf_path())
layers = [
    {name.split(".")[2]: weight for name, weight in weights.items() if name.startswith(f"blk.{i}.")}
    for i in range(30)
]
embedding, last_gain = weights["token_embd.weight"], weights["output_norm.weight"]

# %% [markdown] tags=["notes"]
# **50 minutes.** Hook and warm-up 5 · 1 bytes 7 · 2 the network 11 · 3 shared heads 4 · 4 the last two parts 11 ·
# 5 it answers 5 · 6 examples in the input 7. Section 4 begins at minute 27.
#
# **Say first**: today's four parts are small. What's new is that you can see when one of them is wrong, because the
# loss rises by an amount that you can read off.
#
# **Show**: a table on the board with the four parts, then and now, and the loss beside it as it comes in.
#
# **Ask**
#
# - After section 1: "How does the file know which bytes are which matrix?" (A header lists names, shapes and places.)
# - After section 2: "How can a model be worse than guessing at random?" (By being sure of wrong tokens.)
# - After section 4: "Would you have found the LayerNorm by reading what the model writes?" (Hardly, which is why
#   people compare logits.)
#
# **Mistakes to expect**: halves of a byte taken in turn, gate and up exchanged, `repeat` for `repeat_interleave`,
# pairs made of feature i and i + K/2. For the last three, a control in the lesson shows what the mistake costs.
#
# **If you're running late** at minute 27, solve `rms_norm` on the board. It's lesson 07's layer norm without its first
# line. If the class has written the four parts in lesson 95, skip their exercises here. Section 6 can be homework.
#
# The first run unpacks the weights, which takes some seconds.

# %% tags=["nbval-ignore-output"]
question = [{"role": "user", "content": "What is the capital of France?"}]
for piece in smol.stream(question, max_tokens=40):
    print(piece, end="")

# %% [markdown] warm_up=19
# ## 1. From bytes to weights
#
# As 32-bit floats, 135 million weights would take more than 500 megabytes. The file manages with 98, because it stores
# most of them in **blocks** of 32 neighbouring weights. Each block has a smallest value and a scale, which is the size
# of one step. A weight is then stored as a whole number from 0 to 15, which says how many steps it is above the
# smallest value. Here are the 20 bytes of the first block of the first layer's $W_Q$.

# %%
blocks = torch.from_numpy(file.raw("blk.0.attn_q.weight").copy())  # (10368, 20) uint8
print(blocks[0].tolist())

# %% [markdown]
# The first two bytes hold the scale as a 16-bit float, and the next two hold the minimum. Each of the remaining 16
# bytes holds two of the block's 32 numbers. The low half of byte $i$ is number $i$, and its high half is number
# $i + 16$, both counted from 0.
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def unpack_q4_1(blocks):
    """(N, 20) bytes -> (N, 32) weights"""
    scale = blocks[:, 0:2].view(torch.float16).float()  # (N, 1)
    minimum = blocks[:, 2:4].view(torch.float16).float()  # (N, 1)
    low = ...  # ← fill the gap: (N, 16), numbers 0 to 15 of each block
    high = ...  # ← and this one
    return scale * torch.cat([low, high], dim=1) + minimum


# %%
unpack_q4_1 = exercises.mine("unpack_q4_1")
w_q = unpack_q4_1(blocks).view(576, 576)
print(w_q[0, :6])

# %% tags=["hide-input"]
# all 210 matrices, one after the other, against those that the rest of this lesson uses
n_same = 0
for name in file.names():
    raw = torch.from_numpy(file.raw(name).copy())
    if raw.shape[1] == 20:
        n_same += torch.equal(unpack_q4_1(raw).view_as(weights[name]), weights[name])
print(f"{n_same} of 210 matrices unpacked, {exercises.whose('unpack_q4_1', did='done')}")
assert n_same == 210

# %% [markdown]
# ## 2. Today's weights, yesterday's parts
#
# Matrices alone can't read a text. They need a decoder around them, and you've already built most of one. Attention
# comes from lessons 04 and 06, and each layer has two residual paths with a norm before each sublayer, as in lesson
# 14. We leave open the four parts that changed between GPT-2 and today. They're passed in as functions, in the
# dictionary `parts`.

# %%
split_heads, merge_heads = exercises.mine("split_heads"), exercises.mine("merge_heads")
attend, causal_mask = exercises.mine("scaled_dot_product_attention"), exercises.mine("causal_mask")


def attention(h, layer, parts):
    q = parts["rotate"](split_heads(h @ layer["attn_q"].T, 9))  # (1, 9, T, 64)
    k = parts["rotate"](split_heads(h @ layer["attn_k"].T, 3))  # (1, 3, T, 64)
    v = split_heads(h @ layer["attn_v"].T, 3)
    k, v = parts["share"](k, 9), parts["share"](v, 9)  # (1, 9, T, 64)
    context, _ = attend(q, k, v, causal_mask(h.shape[1]))
    return merge_heads(context) @ layer["attn_output"].T


# %%
def read(ids, parts, layers=layers):
    """ids (1, T) -> logits (1, T, V)"""
    norm, network = parts["norm"], parts["network"]
    x = embedding[ids]  # (1, T, 576)
    for layer in layers:
        x = x + attention(norm(x, layer["attn_norm"]), layer, parts)
        h = norm(x, layer["ffn_norm"])
        x = x + network(h, layer["ffn_gate"], layer["ffn_up"], layer["ffn_down"])
    return norm(x, last_gain) @ embedding.T  # the embedding once more: a tied output


# %% [markdown]
# That's the whole model. Let's start by filling the four gaps with what you know from lesson 14. The feed-forward
# network has a GELU and no gate, and the norm is a LayerNorm. GPT-2 looked its positions up in a table, but this file
# has no such table, so for now nothing marks the positions. And because there are nine query heads but only three key
# heads, we let the query heads take the key heads in turn.

# %%
layer_norm = exercises.mine("layer_norm")
parts = {
    "network": lambda x, gate, up, down: F.gelu(x @ up.T) @ down.T,
    "share": lambda x, n_heads: x.repeat(1, n_heads // x.shape[1], 1, 1),
    "rotate": lambda x: x,
    "norm": lambda x, gain: layer_norm(x, gain, torch.zeros(576)),
}

# %% [markdown]
# How far does that take us? We let the model read a short text about the moon and measure the loss per token. Guessing
# at random among 49,152 tokens would cost log 49,152 = 10.8 nats. How well will the trained matrices work with parts
# that they weren't trained for?

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
MOON = """The moon is about 384,000 kilometres away from the Earth. It takes the light a little more than one second \
to travel that far, and it took the first astronauts three days. They landed on the moon in July 1969, collected 21 \
kilograms of stones and came back to the Earth."""
moon = smol.encode(MOON)[None]
guess = math.log(len(embedding))


def loss(parts, layers=layers):
    """Nats per token on the text about the moon."""
    with torch.no_grad():
        return F.cross_entropy(read(moon, parts, layers)[0, :-1], moon[0, 1:]).item()


def writes(parts, prompt="The capital of France is", n=8):
    """What the model puts next, always the likeliest token."""
    ids = smol.encode(prompt)
    with torch.no_grad():
        for _ in range(n):
            ids = torch.cat([ids, read(ids[None], parts)[0, -1].argmax()[None]])
    return smol.decode(ids)


ladder = {"parts of 2018": (old := loss(parts))}
turned_out = "above" if old > guess + 1 else "below" if old < guess - 1 else "about"
exercises.reveal("todays_weights_in_yesterdays_parts", measured=turned_out)
print(f"{ladder['parts of 2018']:.1f} nats per token; guessing at random: {guess:.1f}")
notebook.tell(
    f"""That's twice as bad as guessing at random. A guess would be right one time in {len(embedding):,}. This model
    typically gives the right token a chance of one in {math.exp(ladder["parts of 2018"]) / 1e9:.0f} billion. And
    yet nothing raised an error, because every shape is right."""
)
assert ladder["parts of 2018"] > 15

# %% [markdown]
# The first suspect is the feed-forward network, which holds most of the weights. In the file it has three matrices per
# layer instead of two. The additional one, $W_{gate}$, computes a **gate**, which multiplies the output of $W_{up}$
# entry by entry: $\big(\mathrm{SiLU}(x W_{gate}) \odot x W_{up}\big)\, W_{down}$. For a number $z$, SiLU is $z$ times
# the sigmoid of $z$, a smooth version of ReLU.
#
# ### Your turn (3 min)


# %% tags=["exercise"]
def swiglu(x, w_gate, w_up, w_down):
    """(..., D), (F, D), (F, D), (D, F) -> (..., D)"""
    ...


# %% tags=["nbval-ignore-output"]
swiglu = exercises.mine("swiglu")
parts["network"] = swiglu
with_gate = loss(parts)
print(f"{with_gate:.2f} nats per token")

# %% tags=["hide-input", "nbval-ignore-output"]
ladder["a gate"] = with_gate
wrong = loss({**parts, "network": lambda x, gate, up, down: swiglu(x, up, gate, down)})
print(f"control, with gate and up exchanged: {wrong:.2f}")
assert ladder["a gate"] < ladder["parts of 2018"] - 5 and ladder["a gate"] < wrong - 0.5

# %% [markdown]
# ## 3. Three key heads for nine query heads
#
# The next suspect is the way in which the heads are shared. In SmolLM, three query heads share one head of keys and
# values, so its cache is only a third as large as it would be otherwise. Lesson 16 called this **grouped-query
# attention**. But which query heads share a key head? Ours took the three key heads in turn, 0 1 2 0 1 2 0 1 2. In the
# published model, neighbours share: 0 0 0 1 1 1 2 2 2.
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def share_heads(x, n_heads):
    """(B, G, T, K) -> (B, n_heads, T, K)"""
    ...


# %% tags=["nbval-ignore-output"]
parts["share"] = exercises.mine("share_heads")
with_neighbours = loss(parts)
print(f"{with_neighbours:.2f} nats per token")

# %% tags=["hide-input", "nbval-ignore-output"]
ladder["neighbours share"] = with_neighbours
first = loss({**parts, "share": lambda x, n: x[:, :1].expand(-1, n, -1, -1)})
print(f"control, with the first key head for all: {first:.2f}\n")
print(writes(parts))
assert ladder["neighbours share"] < 0.5 * ladder["a gate"]
assert first > ladder["neighbours share"] + 2

# %% [markdown] predict="which_part_costs_more"
# ## 4. Two parts are left
#
# For the first time the model beats guessing, and by a lot. Two of its four parts are still those that we started with.
# Its queries and keys aren't rotated, and each of its 61 norms is a LayerNorm, which subtracts a vector's mean and then
# divides by the standard deviation. SmolLM was trained with **RMSNorm**, which leaves out the subtraction.

# %% [markdown]
# ### Your turn (4 min)
#
# In lesson 05 you turned each pair of features by an angle that grows with the position, which makes scores depend on
# distances. Fill in the two lines of the rotation.


# %% tags=["exercise"]
def rotate(x, base=10000.0):
    """(..., T, K) -> (..., T, K)"""
    length, width = x.shape[-2:]
    speeds = base ** (-torch.arange(0, width, 2) / width)  # (K/2,)
    angles = torch.arange(length)[:, None] * speeds  # (T, K/2)
    cos, sin, even, odd = angles.cos(), angles.sin(), x[..., 0::2], x[..., 1::2]
    turned_even = ...  # ← fill the gap
    turned_odd = ...  # ← and this one
    return torch.stack([turned_even, turned_odd], dim=-1).flatten(-2)


# %% tags=["nbval-ignore-output"]
rotate = exercises.mine("rotate")
parts["rotate"] = lambda x: rotate(x, base=100_000.0)  # SmolLM's base
before_norm = loss(parts)
print(f"{before_norm:.2f} nats per token")

# %% [markdown]
# ### Your turn (3 min)


# %% tags=["exercise"]
def rms_norm(x, gain, eps=1e-5):
    """(..., D), (D,) -> (..., D)"""
    ...


# %% tags=["nbval-ignore-output"]
parts["norm"] = exercises.mine("rms_norm")
complete = loss(parts)
print(f"{complete:.2f} nats per token")

# %% tags=["hide-input", "nbval-ignore-output"]


def halves_paired(x):
    """Turn feature i with i + K/2, as Hugging Face's code does, with rows in another order."""
    order = torch.arange(64).view(2, 32).T.flatten()
    turned = torch.empty_like(x)
    turned[..., order] = rotate(x[..., order], base=100_000.0)
    return turned


rotations = {
    "no rotation": lambda x: x,
    "i paired with i + 32": halves_paired,
    "positions reversed": lambda x: rotate(x.flip(-2), base=100_000.0).flip(-2),
    "base 10,000": rotate,
}
controls = {name: loss({**parts, "rotate": wrong}) for name, wrong in rotations.items()}
ladder |= {"rotation": before_norm, "RMSNorm": complete}
costs = {"rotary": controls["no rotation"] - complete, "norm": before_norm - complete}
turned_out = max(costs, key=costs.get) if max(costs.values()) > 2 * min(costs.values()) else "equal"
exercises.reveal("which_part_costs_more", measured=turned_out)
for name, nats in controls.items():
    print(f"control, {name:>20}: {nats:.2f}")
_, axes = pyplot.subplots(figsize=(7, 3.4))
axes.axhline(guess, color=plots.GREY, linestyle="--", linewidth=1)
axes.text(4.4, guess + 0.4, "guessing at random", color=plots.GREY, ha="right")
axes.plot(range(5), ladder.values(), "o-", color=plots.PURPLE)
for i, value in enumerate(ladder.values()):
    axes.annotate(f"{value:.1f}", (i, value), (6, 5), textcoords="offset points")
axes.set_xticks(range(5), [name.replace(" ", "\n", 1) for name in ladder])
axes.set(ylabel="nats per token", ylim=(0, 26), xlim=(-0.4, 4.5))
notebook.show(
    axes,
    alt="Loss on the text about the moon as the four parts come in: far above guessing at random with the parts of "
    "2018, a little above with the gate, far below it once neighbours share keys, and a little less "
    "with rotation and RMSNorm.",
    width=640,
)
notebook.tell(
    f"""Positions are worth {costs["rotary"]:.1f} nats per token, the right norm {costs["norm"]:.1f}. The loss alone
    would never have told you that the norm was wrong, because {before_norm:.2f} nats look perfectly healthy.

    The controls rotate wrongly. Pairing i with i + 32 costs {controls["i paired with i + 32"] - complete:.1f} nats and
    counting positions from the end {controls["positions reversed"] - complete:.1f}, but a base of 10,000 only
    {controls["base 10,000"] - complete:.2f}."""
)
assert list(ladder.values()) == sorted(ladder.values(), reverse=True) and complete < 3
assert costs["rotary"] > 5 * costs["norm"] > 0

# %% [markdown]
# How can you be sure that nothing is wrong now? Compare logits. Yours should equal the published model's, number by
# number. We compute the published logits with the course's own decoder, `smol`, and a test checks that decoder against
# Hugging Face's code.

# %% tags=["hide-input", "nbval-ignore-output"]
with torch.no_grad():
    yours = read(moon, parts)[0]
    almost = read(moon, {**parts, "norm": lambda x, gain: layer_norm(x, gain, torch.zeros(576))})[0]
published = smol.logits(MOON)
print("largest difference from the published logits")
print(f"your model:       {(yours - published).abs().max():.5f}")
print(f"with a LayerNorm: {(almost - published).abs().max():.2f}")
torch.testing.assert_close(yours, published, rtol=0, atol=1e-3)
assert (almost - published).abs().max() > 0.1
print(
    writes(parts),
    "\n" + exercises.whose("swiglu", "share_heads", "rotate", "rms_norm", did="written"),
)

# %% [markdown]
# ## 5. How does a model that continues texts answer?
#
# At the top of this page the model answered a question, but your code only ever continues a text. In a **chat
# template** (lesson 18), answering and continuing are one and the same. Special tokens mark where each message begins
# and ends, and the last message, which is the model's, is left open:

# %%
print(smol.decode(smol.chat_ids(question)))

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
bare = smol.generate("What is the capital of France?", 40)
exercises.reveal(
    "without_the_template",
    measured="nothing" if not bare.strip() else "answer" if "Paris" in bare else "more",
)
answer = smol.generate(question, 40)
print("with the template:   ", answer)
print("without:             ", repr(bare))
likeliest, probability = smol.next_tokens("What is the capital of France?", 1)[0]
print(f"likeliest next token: {likeliest} ({probability:.0%})")
assert bare.strip() == "" and "Paris" in answer

# %% [markdown]
# Now ask something of your own. Don't trust the answer, though. A model this small calculates badly and invents
# freely, and it never tells you when.

# %% tags=["nbval-ignore-output"]
mine = [{"role": "user", "content": "Write one sentence about a dog."}]
for piece in smol.stream(mine, max_tokens=60):
    print(piece, end="")

# %% [markdown]
# ## 6. Examples in the input
#
# According to lesson 14, the story model is too small to learn a task from examples in its input. SmolLM is larger, so
# we set it two such tasks. One of them asks for a country's capital, as below. The other asks for a word's opposite
# (`hot -> cold`). There is no instruction, just a text to continue:

# %% predict="four_examples"
prompt = "Italy -> Rome\nJapan -> Tokyo\nSpain -> Madrid\nEgypt -> Cairo\nFrance ->"
print(prompt)

# %%
exercises.predict("wrong_examples")

# %% tags=["hide-input", "nbval-ignore-output"]
print("with the four lines:   ", repr(smol.next_tokens(prompt, 1)[0][0]))
print("without the four lines:", repr(smol.next_tokens("France ->", 1)[0][0]))

# 24 items per task and three draws of the examples: measured by python -m recipes.smollm
found = measured("smollm")["examples"]
scores = {tuple(key.split()): [round(24 * x) for x in draws] for key, draws in found.items()}
mean = {key: statistics.mean(draws) for key, draws in scores.items()}
harm = {of: mean[of, "right", "4"] - mean[of, "mixed", "4"] for of in ("opposites", "capitals")}
exercises.reveal("four_examples", measured=mean["capitals", "right", "4"])
lead = harm["opposites"] - harm["capitals"]
turned_out = "antonyms" if lead > 4 else "capitals" if lead < -4 else "equal"
exercises.reveal("wrong_examples", measured=turned_out)
_, both = pyplot.subplots(1, 2, figsize=(8.4, 3.2), sharey=True)
for axes, task in zip(both, ("opposites", "capitals")):
    for kind, colour, counts in (
        ("right", plots.PURPLE, (0, 2, 4, 8)),
        ("mixed", plots.ORANGE, (4, 8)),
    ):
        draws = [scores[task, kind, str(n)] for n in counts]
        axes.fill_between(
            counts, [min(d) for d in draws], [max(d) for d in draws], color=colour, alpha=0.25
        )
        axes.plot(counts, [statistics.mean(d) for d in draws], "o-", color=colour)
        if task == "opposites":
            label = "right answers" if kind == "right" else "mixed-up answers"
            axes.text(8.3, mean[task, kind, "8"], label, color=colour, va="center")
    axes.set(title=task, xlabel="examples in the input", xticks=(0, 2, 4, 8), ylim=(-1, 25))
    axes.set(yticks=(0, 6, 12, 18, 24), xlim=(-0.3, 15 if task == "opposites" else 9))
both[0].set_ylabel("right of 24")
notebook.show(
    both[0],
    alt="Right answers of 24 by the number of examples, with the span of three draws. In both tasks none without "
    "examples and most with eight. With the examples' answers mixed up, the opposites fall to a few, and the "
    "capitals stay where they were.",
    width=720,
)
notebook.tell(
    f"""Without examples SmolLM gets none of the 24 right. Four examples bring it to
    {mean["opposites", "right", "4"]:.0f} opposites and {mean["capitals", "right", "4"]:.0f} capitals, although
    not one weight has changed. For the opposites, part of the gain is a matter of form. Put a single line with
    the title *Words* before the question, and SmolLM finds {mean["opposites", "titled", "0"]:.0f} opposites without
    any example. Under the same title it still finds no capital.

    With mixed-up answers in the examples, it finds only {mean["opposites", "mixed", "4"]:.0f} opposites, but still
    {mean["capitals", "mixed", "4"]:.0f} capitals. Smaller countries suffer a little more from the mix-up. For 24
    countries in Europe, SmolLM names {mean["states", "right", "4"]:.0f} capitals after right examples and
    {mean["states", "mixed", "4"]:.0f} after mixed-up ones.

    It seems that examples show two things: what the list is about, and which relation is meant. For capitals, knowing
    what the list is about is nearly enough, though not for every such list. With 24 countries and their languages,
    SmolLM finds {mean["languages", "right", "4"]:.0f} answers after right examples and only
    {mean["languages", "mixed", "4"]:.0f} after mixed-up ones. Min et al. (2022) likewise found that wrong answers often
    do little harm. Much larger models are different. Give them examples with every label flipped, and they begin to
    answer with flipped labels themselves (Wei et al. 2023)."""
)
assert mean["opposites", "right", "0"] == mean["capitals", "right", "0"] == 0
assert mean["opposites", "titled", "0"] > 8 and mean["capitals", "titled", "0"] == 0
assert min(mean["opposites", "right", "4"], mean["capitals", "right", "4"]) >= 14
assert harm["opposites"] > harm["capitals"] + 4
assert mean["languages", "mixed", "4"] < 0.75 * mean["languages", "right", "4"]

# %% [markdown] my_parts=true
# ## What you can take with you
#
# - A small dense language model of 2024 is the decoder of lesson 14 with four parts replaced: the feed-forward network
#   has a gate, query heads share keys and values, a rotation marks positions, and the norm is an RMSNorm. You wrote
#   all four.
# - A model with a wrong part raises no error. A high loss tells you that something is missing, but only equal logits
#   tell you that nothing is.
# - A chat model also just continues a text. The template turns your question into a text in which an answer comes
#   next.
# - Examples in the input change what the model does without changing a weight, sometimes even if their answers are
#   wrong.
#
# <details><summary>Fine print</summary>
#
# All losses are measured on one text of 69 tokens, so compare the steps and ignore the second decimal. The order in
# which we put in the parts is our choice, and in another order the steps have different sizes. The weights in the file
# had been rounded to 4 bits before we got them, and everything here is measured with these rounded weights. Section
# 6's results were measured in advance, on 24 items per task. The band in its figure spans three draws of the examples.
# It says nothing about other items.
#
# </details>
#
# The view below shows where each word looks, in all 270 heads. Choose a layer and a head, and see how much of the
# weight goes to the first token. A token that collects so much weight is called an attention sink. In [lesson
# 20](20_look_inside.ipynb) you take it away to see what breaks.

# %%
attention_view(smol.attend("The animal didn't cross the street because it was too tired."))

# %% [markdown]
# ## Practice
#
# ### Take it home
#
# The next cell writes *my_language_model.py* beside your *my_transformer.py*. The new file imports attention from
# yours and adds today's four parts and the chat template. Then the cell asks the new file a question, as you would in
# a terminal, in a process that knows nothing of this course.

# %% tags=["nbval-ignore-output"]
folder = at_work.write(weights_file())
print(exercises.in_terminal('my_language_model.py "What is the capital of Japan?"'))
print(at_work.ask(folder, "What is the capital of Japan?"))

# %% [markdown] quiz="what_low_loss_proves"
# To ask it something else, open a terminal in the folder of your lessons and run the line above with your own question.
# In JupyterLab, *File, New, Terminal* opens one, and `cd my_lessons` leads to the folder if you aren't there already.
#
# The new file has no cache, so for every token it reads the whole conversation again. A cache would make it several
# times faster, and if you'd like to add one, the file is yours to change.

# %% [markdown]
# ### Where is the model wrong, and how sure is it?
#
# In some countries, the largest city isn't the capital. That makes for a good test. We let the model continue "The
# capital of … is the city of".

# %% tags=["nbval-ignore-output"]
for country in ("France", "Japan", "Canada", "Australia", "New Zealand", "Turkey", "Nigeria"):
    city, probability = smol.next_tokens(f"The capital of {country} is the city of", 1)[0]
    print(f"{country:>12}:{city:<10} {probability:.0%}")

# %% [markdown] quiz="what_is_cached_today"
# Four of seven are wrong ("Lag" is the first piece of Lagos). The model is even surer of Sydney, which is wrong, than
# of Ottawa, which is right. The model's probability estimates how often such a token comes next in texts like this one,
# not how often the statement is true. A wrong capital sounds just as convincing as a right one, so if you had ten
# thousand such sentences, nothing would tell you which ones to check.
#
# ### How large is its cache?

# %% tags=["hide-input"]
cache = GPTCache(30)
with torch.no_grad():
    smol.model.decode(moon, cache)
counted = sum(t.all().nbytes for layer in cache.layers for t in (layer.key, layer.value))
assert counted == cache_size(moon.shape[1], 30, 3, 64, bytes_per_number=4)
print(f"{'tokens':>8}      3 key heads   9 heads")
for n in (100, 1000, 8192):
    three, nine = (cache_size(n, 30, heads, 64) / 1e6 for heads in (3, 9))  # in 16 bits
    print(f"{n:>8}  {three:12.1f} MB  {nine:6.1f} MB")

# %% [markdown]
# For the longest text that the model was trained on, the cache in 16 bits takes 189 MB, compared with 269 MB for the
# weights. With nine key heads, the cache of a single text would be more than twice as large as the whole model.
#
# ### Can it read further than it was trained to?
#
# SmolLM was trained on texts of up to 8,192 tokens. To see what happens after that, we let it read the first 10,240
# tokens of Sherlock Holmes and took its mean loss over each stretch of 1,024.

# %% tags=["hide-input"]
by_thousand = measured("smollm")["context"]  # stored: python -m recipes.smollm context
print(" ".join(f"{loss_there:.2f}" for loss_there in by_thousand))
inside, beyond = statistics.mean(by_thousand[4:8]), statistics.mean(by_thousand[8:])
print(f"from 4,096 to 8,192: {inside:.2f} nats per token, from 8,192 to 10,240: {beyond:.2f}")
assert abs(beyond - inside) < 0.3

# %% [markdown] quiz="bits_of_a_block"
# Nothing happens at token 8,192, where a learned table of positions would simply have ended. But we read only a
# quarter further than that, and a low loss depends mostly on the last few hundred tokens. Whether the model can still
# find a name that it read 9,000 tokens ago is another question.
#
# ### How many bits does a weight need?


# %% tags=["hide-input", "nbval-ignore-output"]
def rounded(weight, bits, block=None):
    """Round a matrix to steps between the smallest and largest weight of a block, or of a row."""
    rows = weight.reshape(-1, block or weight.shape[1])
    low, high = rows.amin(-1, keepdim=True), rows.amax(-1, keepdim=True)
    step = (high - low) / (2**bits - 1)
    return ((rows - low) / step).round().mul(step).add(low).view_as(weight)


def loss_of(change):
    """The loss with every matrix of the layers changed."""

    class Changed(dict):
        def __getitem__(self, name):
            weight = super().__getitem__(name)
            return change(weight) if weight.dim() == 2 else weight

    return loss(parts, [Changed(layer) for layer in layers])


bits_and_blocks = [(8, None), (4, None), (4, 32), (3, 32)]
by_bits = {key: loss_of(lambda w: rounded(w, *key)) for key in bits_and_blocks}
for (bits, block), value in by_bits.items():
    print(
        f"{bits} bits, one scale per {f'{block} weights' if block else 'row':>10}: {value:.2f} nats per token"
    )
print(f"as stored in the file: {complete:.2f}")
assert by_bits[4, None] > complete + 0.3 and abs(by_bits[4, 32] - complete) < 0.05 < by_bits[3, 32]

# %% [markdown]
# With one scale per row, 4 bits cost about 0.7 nats, because a single large weight makes the steps coarse for hundreds
# of others. With one scale per 32 weights, 4 bits cost nothing. But that test was too easy, because the file's weights
# had already been rounded in just this way. What that first rounding cost can't be measured from the file. For larger
# models, 4 bits in blocks are reported to lose little (Dettmers and Zettlemoyer 2023).
#
# Three bits ruin the model. But this model is a hard case, because it's tiny and its weights had been rounded once
# before. Besides, we only round to the nearest step. Models with billions of weights tolerate 3 bits far better if the
# rounding is cleverer (GPTQ, Frantar et al. 2022).
#
# ### What does it cost in time?

# %% tags=["hide-input", "nbval-ignore-output"]
# one token after 100: the parameters are read once per token, whatever the arithmetic
ids, cache = torch.arange(1000, 1101)[None], GPTCache(30)
with torch.inference_mode():
    smol.model.decode(ids[:, :100], cache)
    seconds, reading = [], []
    for _ in range(9):
        cache.shorten(100)
        start = time.perf_counter()
        smol.model.output_proj(smol.model.decode(ids, cache)[:, -1])
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        sum(w.view(torch.int64).sum() for w in weights.values())  # nothing but reading them
        reading.append(time.perf_counter() - start)
token, limit = statistics.median(seconds), statistics.median(reading)
print(f"{n_bytes(smol.model) / 1e6:.0f} MB of weights in 32 bits")
print(f"just reading them:     {1000 * limit:4.0f} ms")
print(f"writing one token:     {1000 * token:4.0f} ms, {1 / token:.0f} tokens per second")

# %% [markdown] quiz="what_sets_the_pace what_rms_norm_leaves_out"
# To write one token, the processor reads every weight once and uses it for one multiplication. The time goes into
# reading, which is why people want fewer bits. With 16 bits instead of 32, half as much has to be read, so at best the
# time is halved. A processor that is slow at products in 16 bits gains less, or nothing.
#
# Many people run such models with llama.cpp, a program that multiplies directly by the file's 4-bit numbers and
# therefore has less than a fifth as much to read. It writes far faster than our decoder, though not five times as
# fast, because turning 4 bits back into numbers takes time, too. It's slower than ours at reading a long prompt. There
# each weight is read once for many tokens, so fewer bits hardly help. The figures are in SmolLM's card,
# `helpers/pretrained/weights/smollm.md`.

# %% [markdown]
# ## Going deeper
#
# ### What was it trained on?
#
# The story model was trained on 10.6 million tokens. The SmolLM of this lesson, the smallest of the SmolLM2 models, was
# trained on 2 trillion (Ben Allal et al. 2025), about 15,000 tokens per weight. Most of this text comes from web pages.
# The pages of a huge crawl were sorted by language, and near copies were removed. Then a small classifier, which had
# learned from a larger model's grades, kept the pages that looked educational (FineWeb-Edu, Penedo et al. 2024). The
# rest is code, mathematics and textbooks, some of them written by other models.
#
# After that came training on conversations, and on pairs of a better and a worse answer, as in lesson 18. We know all
# this because the model's makers published it. For most models that people use, nobody outside the company knows.
#
# ### How do you know how good it is?
#
# Multiple-choice questions are scored by comparing the log-probabilities of the answers. Here is a small benchmark of
# that kind: is each of lesson 12's 150 film reviews *positive* or *negative*? We ask the model in two ways. Because
# the reviews are only a sample, a score has a **standard error**, $\sqrt{p(1-p)/n}$. The true score lies within two of
# these errors of the measured one about 19 times out of 20.

# %% tags=["hide-input"]
benchmark = dict(measured("smollm")["benchmark"])  # stored: python -m recipes.smollm
labels = benchmark.pop("labels")
print(f"always positive: {sum(labels) / len(labels):.0%}")
right = {}
for form, judged in benchmark.items():
    right[form] = share = sum(a == b for a, b in zip(judged, labels)) / len(labels)
    error = math.sqrt(share * (1 - share) / len(labels))
    shown = form.format("…").replace("\n", " / ")
    print(f"{share:.0%} ± {2 * error:.0%} ({sum(judged)} called positive): {shown}")
assert max(right.values()) - min(right.values()) > 0.15

# %% [markdown] quiz="is_the_benchmark_clean"
# Only the wording of the question differs, and yet one score is well above chance and the other at chance. With the
# second wording, the model calls nearly every review negative. Whenever you read a score, ask for its prompt.
#
# Scores can also be spoilt by **contamination**. Test questions that are on the web end up in the training text, so a
# model of 2024 may have read the answers to a test of 2021. Our reviews are from 2005, and nobody has checked whether
# they were in the training text.
#
# Long answers can't be checked against a list of right ones at all. Instead, people or larger models judge which of
# two answers is better. A model that judges tends to prefer the first answer and the longer one (Zheng et al. 2023),
# and often one that it wrote itself (Panickssery et al. 2024). Asking again with the two answers exchanged helps
# against the first of these preferences.

# %% [markdown]
# ### What has changed since?
#
# Open the configuration of a model of 2025, and you'll recognise nearly everything in it. Qwen3 and OLMo 2 normalise
# queries and keys before the rotation (QK-norm). DeepSeek-V3 and some of Qwen3's models split the feed-forward network
# into experts, of which a few run per token (lesson 16). DeepSeek-V2 keeps keys and values in a smaller common vector
# (latent attention, lesson 95). Gemma 3 has windows in most layers and full attention in the others. SmolLM3 leaves
# out the rotation in every fourth layer.
#
# None of these models gave up the residual path, the causal mask or the softmax. Others, such as Jamba and MiniMax-01
# in lesson 16, did without the softmax in seven of every eight layers.
#
# **Read on**: Ben Allal et al. (2025), "SmolLM2", arXiv:2502.02737; Penedo et al. (2024), "FineWeb", arXiv:2406.17557;
# Touvron et al. (2023), "LLaMA", arXiv:2302.13971; Ainslie et al. (2023), "GQA", arXiv:2305.13245; Shazeer (2020), "GLU
# Variants", arXiv:2002.05202; Min et al. (2022), "Rethinking the Role of Demonstrations", arXiv:2202.12837; Dettmers and
# Zettlemoyer (2023), "The case for 4-bit precision", arXiv:2212.09720; Zheng et al. (2023), "Judging LLM-as-a-Judge",
# arXiv:2306.05685; Panickssery et al. (2024), "LLM Evaluators Recognize and Favor Their Own Generations",
# arXiv:2404.13076; Wei et al. (2023), "Larger language models do in-context learning differently", arXiv:2303.03846;
# Frantar et al. (2022), "GPTQ", arXiv:2210.17323.

# %%
exercises.quiz("why_a_template")
