# %% [markdown]
# # Build a Transformer
#
# In this lesson you write a whole Transformer, and it will translate French. You already know every part. Now
# you put the parts together, from the embedding to the last word, in ten short functions on plain tensors.
# Then you give them the trained weights of the course's translator, and read what your own code writes.
#
# One thing makes this harder than it sounds: a Transformer with a mistake in it usually runs without an error
# message. So at the end you'll also learn how to find the part that's wrong.
#
# By the end of these **120 minutes** you'll be able to
#
# - write every part of a Transformer yourself, and give the shapes of its inputs and outputs,
# - put the parts together so that trained weights work in your model,
# - find the wrong part in a model that runs without an error,
# - use the encoder alone, for something that isn't text.
#
# You need lessons 03 to 08. The extension at the end, a classifier of tones, also needs lesson 09. The
# warm-up and the plan take 6 minutes, the ten parts 76, the comparison 14, the tones 12 and the questions 12.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import exercises
from helpers.data.captions import CAPTIONS
from helpers.exercises import lessons
from helpers.exercises.checking import own_or_tested
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.masks import causal_mask, padding_mask
from helpers.transformer.positions import sinusoidal_positions
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS, PAD
from helpers.transformer.transformer import Transformer

layer_norm = exercises.reference("layer_norm")  # lesson 07's
own_transformer = lessons.module(10, "own_transformer")
layers_of, under = own_transformer.layers_of, own_transformer.under

# %%
exercises.warm_up(10)

# %% [markdown]
# ## The plan
#
# | Part | What it does | Lesson | Minutes to write |
# |---|---|---|---|
# | 1 `build_embedding` | turns ids into vectors and adds positions | 03, 05 | 4 |
# | 2 `build_attention` | scores, scale, mask, softmax, mix | 04 | 6 |
# | 3 `build_multi_head` | several attention heads side by side | 06 | 12 |
# | 4 `build_feed_forward` | works on each position by itself | 07 | 3 |
# | 5 `build_sublayer` | the residual path and its norm | 07 | 3 |
# | 6 `build_encoder_layer` | parts 3 and 4, each in part 5 | 07 | 7 |
# | 7 `build_encoder` | part 1, then part 6 once per layer | 07 | 7 |
# | 8 `build_decoder_layer` | masked self-attention, cross-attention, feed-forward | 07 | 8 |
# | 9 `build_decoder` | parts 1 and 8, then logits | 07, 08 | 8 |
# | 10 `build_greedy` | writes one token at a time | 08 | 8 |
#
# That's 66 minutes of writing, and 10 more for reading and predicting in between.
#
# Your functions need trained weights. PyTorch gives them to us as a dictionary from names to tensors, and two
# small helpers pick out the entries that belong to one part.

# %%
notebook.show_source(under)

# %%
notebook.show_source(layers_of)

# %%
translator = load_translator()
tokenizer, weights = translator.tokenizer, translator.model.state_dict()
n_heads = translator.model.config.n_heads
D = weights["src_embedding.weight"].shape[1]
positions = sinusoidal_positions(translator.model.config.max_len, D)
french = ["Trois enfants courent sur la plage.", "Un homme dort."]
src_ids = translator.encode(french)  # the second is padded
different = len({weight.data_ptr() for weight in weights.values()})
print(f"{len(weights)} names for {different} tensors, D = {D}, {n_heads} heads")
for name, weight in under(weights, "encoder_layers.0.").items():
    print(f"{name:>32}  {tuple(weight.shape)}")

# %% [markdown]
# There are two more names than tensors, because the source embedding, the target embedding and the output
# matrix are the same tensor (lesson 08).
#
# You can skip a part. Until yours passes its check, the tested version takes its place, so that you can go on
# to the next part. The function that does this is `own_or_tested`:

# %%
notebook.show_source(own_or_tested)

# %% [markdown]
# A tested part calls only tested parts. So the model is entirely yours only if all ten parts are. Always run
# a part's two cells together, because the second one puts in the tested part if yours doesn't pass.

# %% [markdown] tags=["notes"]
# **How to run this lesson.** Allow two hours in one session, or set it as homework with a deadline. The
# warm-up and *The plan* take six minutes. Pairs work well: one person writes, the other calls out the shapes, and
# they swap after each part. Nobody has to finish all
# ten. `exercises.hint("build_attention")` gives hints one at a time, and
# `exercises.solution("build_attention")` shows the tested source.
#
# **Rubric**, 20 points.
#
# | | 0 | 1 | 2 |
# |---|---|---|---|
# | Embedding and attention (1, 2) | neither passes | one passes | both pass |
# | Several heads (3) | doesn't pass | passes after looking at the solution | passes, and they can give the shapes line by line |
# | Sublayers (4, 5) | neither passes | one passes | both pass |
# | Encoder (6, 7) | neither passes | the layer passes | both pass |
# | Decoder (8, 9) | neither passes | the layer passes | both pass, and they can justify each mask |
# | Writing (10) | doesn't pass | passes for one sentence | passes |
# | The whole | doesn't run | runs with tested parts | all ten are the learner's own, logits agree |
# | Finding a mistake | can't say where to look | finds it with the help of the comparison | explains why the order of the parts matters |
# | The tones | not run | runs, accuracy above 95% | also one change of their own, measured |
# | Readability | no names, no shapes | mostly readable | a colleague could take over the work |
#
# Anybody with 16 points or more is ready to work on a real code base. Anybody with fewer than 10 should do
# lessons 06 and 07 again. Except in part 3, looking at a solution costs nothing, because reading good code and explaining it is a skill too.

# %% [markdown]
# ## 1. The embedding
#
# Without an embedding the model has only token ids, and without positions it can't tell the order of the
# words. So the first part looks up a vector per id and adds a vector per position. The numbers in the
# embedding table start at about $1/\sqrt{D}$ and stay small, so multiply them by $\sqrt{D}$ to make them
# about as large as the positions, or larger (lesson 05). The table of sinusoids already exists: `positions`
# has one row per position.

# %%
exercises.heading("build_embedding")


# %%
def build_embedding(ids, table, positions):
    """(B, T), (V, D), (max_len, D) -> (B, T, D)"""
    ...


exercises.check("build_embedding", build_embedding)

# %%
build_embedding = own_or_tested("build_embedding", build_embedding)

x = build_embedding(src_ids, weights["src_embedding.weight"], positions)
print("ids", tuple(src_ids.shape), "-> vectors", tuple(x.shape), f"  factor {math.sqrt(D):.0f}")
print(f"size of the numbers: in the table {weights['src_embedding.weight'].std():.2f}, of the positions "
      f"{positions.std():.2f}")  # fmt: skip

# %% [markdown]
# ## 2. Attention
#
# Now let the positions exchange information, with the attention of lesson 04: compute the scores, scale them,
# apply the mask, take the softmax, and mix the values. The projections to queries, keys and values come
# later, in part 3. There can be extra dimensions in front, one for sentences and one for heads. In our masks,
# `True` means *allowed to attend*.

# %%
exercises.heading("build_attention")


# %%
def build_attention(query, key, value, mask):
    """(..., T, K), (..., S, K), (..., S, K), bool -> (..., T, K)"""
    ...


exercises.check("build_attention", build_attention)

# %%
build_attention = own_or_tested("build_attention", build_attention)

may_look = padding_mask(src_ids, PAD)[:, 0]  # (B, 1, S); no heads yet
context = build_attention(x, x, x, may_look)
print("vectors", tuple(x.shape), "-> contexts", tuple(context.shape))

# %% [markdown] tags=["notes"]
# **12 minutes** for parts 1 and 2. People who solved the exercise in lesson 04 can copy their answer, because
# what matters here is the mask. Ask: *what if a row of the mask is all False?* (0/0 gives NaN. Lesson 04
# returns zeros instead, and we leave that out here, because every sentence has at least its `<eos>`.)

# %% [markdown]
# ## 3. Several heads
#
# A single softmax can't give its full weight to two things (lesson 06), so we need several heads: project, split,
# attend, merge, project. The same function has to serve all three uses of attention. The queries come from
# `x`, and the keys and values come from `source`. In self-attention, `x` and `source` are the same.
#
# PyTorch stores the weights of a linear layer as (out, in), so `F.linear(x, weight, bias)` computes `x @
# weight.T + bias`.

# %%
exercises.heading("build_multi_head")


# %%
def build_multi_head(x, source, mask, weights, n_heads):
    """(B, T, D), (B, S, D), bool, dict, int -> (B, T, D)"""
    ...


exercises.check("build_multi_head", build_multi_head)

# %%
build_multi_head = own_or_tested("build_multi_head", build_multi_head)

mask = padding_mask(src_ids, PAD)  # (B, 1, 1, S)
first = under(weights, "encoder_layers.0.")
found = build_multi_head(x, x, mask, under(first, "self_attention."), n_heads)
print("asks", tuple(x.shape), "-> found", tuple(found.shape))

# %% [markdown] tags=["notes"]
# **13 minutes.** This is the longest part. Ask pairs to write down the shape after every line before they
# write code. Nearly all mistakes are a missing transpose, and the check says which one.

# %% [markdown]
# ## 4. The feed-forward network
#
# Attention only mixes values, so a network still has to work on each position's result by itself (lesson
# 07): linear, ReLU, linear.

# %%
exercises.heading("build_feed_forward")


# %%
def build_feed_forward(x, weights):
    """(..., D), dict -> (..., D)"""
    ...


exercises.check("build_feed_forward", build_feed_forward)

# %%
build_feed_forward = own_or_tested("build_feed_forward", build_feed_forward)

print(f"D = {D} -> F = {len(first['feed_forward.linear_1.weight'])} -> D = {D}")
assert build_feed_forward(x, under(first, "feed_forward.")).shape == x.shape

# %%
exercises.predict("zeros_after_relu")


# %% tags=["hide-input"]
def share_of_zeros(model):
    """Count what ReLU sets to 0 in the encoder, at the real tokens of our twenty captions."""
    found = []
    hooks = [
        layer.feed_forward.linear_1.register_forward_hook(lambda *call: found.append(call[-1] <= 0))
        for layer in model.encoder_layers
    ]
    ids = translator.encode([source for source, _ in CAPTIONS])
    with torch.inference_mode():
        model.encode(ids)
    for hook in hooks:
        hook.remove()
    return torch.stack([zero[ids != PAD] for zero in found]).float().mean().item()


notebook.set_seed(0)
zeros = share_of_zeros(translator.model)
untrained = share_of_zeros(Transformer(translator.model.config).eval())
exercises.reveal("zeros_after_relu", measured=round(100 * zeros, 1))
print(f"the same model before training: {untrained:.0%}")
assert zeros > 0.94 and 0.45 < untrained < 0.55

# %% [markdown]
# ## 5. The residual path
#
# Without a path around each sublayer, a stack of layers makes all words alike. The translator is
# **pre-norm**: the sublayer reads the normalised $x$, and its output is added to the original $x$.
#
# You can use `layer_norm(x, gain, bias)` from lesson 07.

# %%
exercises.heading("build_sublayer")


# %%
def build_sublayer(x, sublayer, weights):
    """(..., D), function, dict -> (..., D)"""
    ...


exercises.check("build_sublayer", build_sublayer)

# %%
build_sublayer = own_or_tested("build_sublayer", build_sublayer)

norm = under(first, "residual_2.norm.")
nothing_found = build_sublayer(x, torch.zeros_like, norm)
assert torch.equal(nothing_found, x)  # a sublayer that finds nothing changes nothing

# %% [markdown]
# ## 6. An encoder layer
#
# An encoder layer is self-attention followed by the feed-forward network, each inside a sublayer from part 5
# with its own norm. The function that you pass to `build_sublayer` takes a single argument. Use `lambda h: …`
# to make one that already has the other arguments.

# %%
exercises.heading("build_encoder_layer")


# %%
def build_encoder_layer(x, mask, weights, n_heads):
    """(B, S, D), bool, dict, int -> (B, S, D)"""
    ...


exercises.check("build_encoder_layer", build_encoder_layer)

# %%
build_encoder_layer = own_or_tested("build_encoder_layer", build_encoder_layer)

after_one = build_encoder_layer(x, mask, first, n_heads)
print("in", tuple(x.shape), "-> out", tuple(after_one.shape))

# %% [markdown]
# ## 7. The encoder
#
# The encoder embeds the tokens, sends them through all layers in order, and normalises once more at the end.
# Its output is the *memory*, which every decoder layer reads.

# %%
exercises.heading("build_encoder")


# %%
def build_encoder(src_ids, weights, positions, n_heads, pad_id):
    """(B, S), dict, (max_len, D), int, int -> (B, S, D)"""
    ...


exercises.check("build_encoder", build_encoder)

# %%
build_encoder = own_or_tested("build_encoder", build_encoder)

memory = build_encoder(src_ids, weights, positions, n_heads, PAD)
n = int((src_ids[1] != PAD).sum())  # real tokens of the second sentence
shorter = build_encoder(src_ids[1:, :n], weights, positions, n_heads, PAD)
torch.testing.assert_close(memory[1:, :n], shorter, atol=1e-4, rtol=1e-4)
print("a sentence gives the same memory alone and beside a longer one")

# %% [markdown] tags=["notes"]
# **23 minutes** for parts 4 to 7. Groups that are running late can skip part 4, which they know from lesson
# 07. After part 6, ask: *what would change if the lambda used x instead of its h?* (The norm would be
# computed and then ignored, and every shape would still fit.)

# %% [markdown]
# ## 8. A decoder layer
#
# A decoder layer has one more sublayer than an encoder layer: masked self-attention, cross-attention,
# feed-forward. Self-attention isn't allowed to attend to later positions, and cross-attention isn't allowed
# to attend to the source's padding. Your function is given both masks.

# %%
exercises.heading("build_decoder_layer")


# %%
def build_decoder_layer(x, memory, mask, memory_mask, weights, n_heads):
    """(B, T, D), (B, S, D), bool, bool, dict, int -> (B, T, D)"""
    ...


exercises.check("build_decoder_layer", build_decoder_layer)

# %%
build_decoder_layer = own_or_tested("build_decoder_layer", build_decoder_layer)

y = build_embedding(
    torch.tensor([[BOS, 9, 5], [BOS, 7, 6]]), weights["tgt_embedding.weight"], positions
)
layer = under(weights, "decoder_layers.0.")
y = build_decoder_layer(y, memory, causal_mask(3), mask, layer, n_heads)
print("two beginnings of three tokens:", tuple(y.shape))

# %% [markdown]
# ## 9. The decoder and its logits
#
# The decoder makes its own mask, which hides both padding and later positions. At the end we need a score per
# word of the vocabulary. The dot products of each vector with all rows of the target's embedding table are
# the **logits** (lesson 08).

# %%
exercises.heading("build_decoder")


# %%
def build_decoder(tgt_ids, memory, memory_mask, weights, positions, n_heads, pad_id):
    """(B, T), (B, S, D), bool, dict, (max_len, D), int, int -> (B, T, V)"""
    ...


exercises.check("build_decoder", build_decoder)

# %%
build_decoder = own_or_tested("build_decoder", build_decoder)

start = torch.full((2, 1), BOS)
logits = build_decoder(start, memory, mask, weights, positions, n_heads, PAD)
print(
    "logits",
    tuple(logits.shape),
    "first words:",
    tokenizer.tokens(logits[:, -1].argmax(-1).tolist()),
)

# %%
exercises.predict("memory_last_first")

# %% tags=["hide-input"]
tested_decoder = own_transformer.build_decoder


def last_first(tgt_ids, memory, memory_mask, *rest):
    """Read the memory from its last row to its first, and its mask likewise."""
    return tested_decoder(tgt_ids, memory.flip(1), memory_mask.flip(-1), *rest)


with torch.inference_mode():
    usual, flipped = (
        [
            tokenizer.decode(row)
            for row in own_transformer.translate_with(wrong, translator, french).tolist()
        ]
        for wrong in ({}, {"build_decoder": last_first})
    )
same_words = [sorted(a.split()) for a in usual] == [sorted(b.split()) for b in flipped]
exercises.reveal(
    "memory_last_first",
    measured="same" if flipped == usual else "order" if same_words else "nonsense",
)
print("as usual:  ", *usual)
print("last first:", *flipped)
assert flipped == usual

# %% [markdown]
# ## 10. Writing
#
# Your decoder predicts one token. To get a sentence, take the likeliest token, append it and repeat. In
# lesson 08 you did this for one sentence. Here you do it for a batch, so some sentences end before others.

# %%
exercises.heading("build_greedy")


# %%
def build_greedy(logits_of, n, bos_id, eos_id, pad_id, max_len):
    """n rows at once -> (n, T): without bos, with eos, pad_id after it"""
    ...


exercises.check("build_greedy", build_greedy)

# %%
build_greedy = own_or_tested("build_greedy", build_greedy)

written = build_greedy(
    lambda ids: build_decoder(ids, memory, mask, weights, positions, n_heads, PAD),
    2,
    BOS,
    EOS,
    PAD,
    30,
)
for row in written.tolist():
    print(tokenizer.decode(row))

# %% [markdown] tags=["notes"]
# **28 minutes** for parts 8 to 10. Ask: *why does the decoder need the padding mask, if all padding is on the
# right and the causal mask hides it?* (Real positions don't need the padding mask. It only changes the outputs at
# the padding, and we keep it because the course's model has one.) With padding on the left, neither our mask nor
# our positions would work: the first rows would have nothing to attend to (NaN), and the positions would be
# counted from the padding.

# %% [markdown]
# ## Your model and ours
#
# Now run the whole model. `own_transformer.translate` only calls your `build_encoder`, `build_decoder` and
# `build_greedy` with the trained weights.

# %%
parts = {name: globals()[name] for name in own_transformer.PARTS}
notebook.show_source(own_transformer.translate)

# %%
french = [source for source, _ in CAPTIONS]
with torch.inference_mode():
    your_ids = own_transformer.translate(parts, translator, french)
yours, ours = [tokenizer.decode(row) for row in your_ids.tolist()], translator.translate(french)

for source, translation in list(zip(french, yours))[:4]:
    print(source, "\n   ", translation)
print(f"\nthe same sentence as ours: {sum(a == b for a, b in zip(yours, ours))} of {len(french)}")

# %% [markdown]
# Writing the same words doesn't prove that your model is right, because a logit can be a little off without
# changing the argmax. So we also compare every part with the course's model, on the trained weights, in every
# layer, to within $10^{-4}$. Each part gets as its input what *our* model computed up to that point. If
# something differs, the message names the first part and the first layer where it does.

# %%
comparison = own_transformer.compare_with_course(parts, translator, french)
comparison

# %%
assert comparison.same, comparison.message
assert yours == ours

# %% [markdown]
# ### Break it
#
# In part 9 you made a mask that hides later positions. Training depends on it (lesson 08). But these weights
# are already trained, and now the model only has to write. So suppose somebody leaves the causal mask out.

# %%
exercises.predict("writing_without_the_mask")


# %% tags=["hide-input"]
def same_as_ours(wrong):
    """Translate with something replaced; return how many sentences are as ours, and all of them."""
    with torch.inference_mode():
        # Nonsense may never end; what is longer than all of ours is different already.
        rows = own_transformer.translate_with(wrong, translator, french, your_ids.shape[1] + 1)
    texts = [tokenizer.decode(row) for row in rows.tolist()]
    return sum(text == our for text, our in zip(texts, ours)), texts


def nothing_hidden(length):
    return torch.ones(length, length, dtype=torch.bool)


kept, texts = same_as_ours({"causal_mask": nothing_hidden})
exercises.reveal("writing_without_the_mask", measured=kept)
changed = next((our, text) for our, text in zip(ours, texts) if our != text)
print("one that changed:", *changed, sep="\n   ")
assert 12 <= kept < 20

# %% [markdown]
# Your encoder and your decoder call `layers_of`, which returns the three layers in order, from the first to
# the last. Suppose it returned them in reverse order, but only to the encoder or only to the decoder.

# %%
exercises.predict("layers_last_first")


# %% tags=["hide-input"]
def in_order(stack, order):
    """Make a `layers_of` that gives one stack, "encoder" or "decoder", its layers in this order."""

    def ordered(weights, prefix):
        layers = layers_of(weights, prefix)
        return [layers[i] for i in order] if prefix.startswith(stack) else layers

    return ordered


kept, lines = {}, []
for stack, order in (("encoder", (2, 1, 0)), ("decoder", (2, 1, 0)), ("decoder", (0, 2, 1))):
    kept[stack, order], texts = same_as_ours({"layers_of": in_order(stack, order)})
    numbers = ", ".join(str(i + 1) for i in order)
    lines += [f"{stack} layers {numbers}: {kept[stack, order]} of {len(french)} sentences as ours; "
              f"the first: {texts[0][:50]}"]  # fmt: skip
encoder, decoder, last_two = kept.values()
exercises.reveal(
    "layers_last_first",
    measured={(True, True): "both", (True, False): "encoder", (False, True): "decoder"}.get(
        (encoder > 10, decoder > 10), "neither"
    ),
)
print("\n".join(lines))
assert encoder > 12 and decoder < 3 and last_two > 10

# %% [markdown]
# Here are four models, each with a common mistake. The first model has post-norm sublayers, although
# the weights were trained with pre-norm. The second forgets the factor $\sqrt{D}$. The third has a feed-forward
# network with GELU, a smoother ReLU. The fourth counts the positions from one. In all four, every shape fits, and
# there's no error message.


# %%
def post_norm(x, sublayer, weights):
    return layer_norm(x + sublayer(x), weights["weight"], weights["bias"])


def unscaled(ids, table, positions):
    return table[ids] + positions[: ids.shape[1]]


def with_gelu(x, weights):
    inner = F.gelu(F.linear(x, weights["linear_1.weight"], weights["linear_1.bias"]))
    return F.linear(inner, weights["linear_2.weight"], weights["linear_2.bias"])


def from_one(ids, table, positions):
    return table[ids] * math.sqrt(table.shape[1]) + positions[1 : ids.shape[1] + 1]


# %%
exercises.predict("mistakes_that_show")

# %% tags=["hide-input"]
equal, lines = {}, []
for name, wrong in [
    ("build_sublayer", post_norm), ("build_embedding", unscaled),
    ("build_feed_forward", with_gelu), ("build_embedding", from_one),
]:  # fmt: skip
    equal[wrong], texts = same_as_ours({name: wrong})
    found = own_transformer.compare_with_course({**parts, name: wrong}, translator, french[:3])
    assert found.part == name
    lines += [f"{wrong.__name__}: {equal[wrong]} of {len(french)} sentences as ours; "
              f"the first: {texts[0][:56]}",
              f"   comparison: {found.message.split('. ')[0]}"]  # fmt: skip
shows = [wrong for wrong in equal if equal[wrong] < 10]  # half of the sentences are wrong, or more
exercises.reveal(
    "mistakes_that_show",
    measured={1: "norm", 2: "norm_and_scale", 4: "all"}.get(len(shows), "three"),
)
print("\n".join(lines))
assert equal[post_norm] == equal[unscaled] == 0 and equal[with_gelu] > 10 and equal[from_one] > 15
notebook.tell(
    r"""With post-norm or without $\sqrt{D}$, the model writes nothing or nonsense, so a glance is enough. With
    GELU or with positions from one, it writes the same twenty sentences as ours. You wouldn't notice
    anything until another sentence came out wrong. Only the comparison of numbers finds these two mistakes."""
)

# %% [markdown]
# You can do the same with a part of your own that doesn't pass its check. The tested version has since replaced yours under the same name, so define your function again, this time as `mine`, and call `own_transformer.compare_with_course({**parts,
# "build_encoder": mine}, translator, french[:3])`.

# %% [markdown] tags=["notes"]
# **14 minutes.** What people should remember: *compare stage by stage with something that's known to be
# right, and give each stage correct inputs.* Reading the translations only tells you that something is wrong,
# and sometimes not even that. Let each pair plant one mistake, swap places with another pair, and find the
# other pair's mistake.

# %% [markdown]
# ## Extension: what is this tone doing?
#
# Nothing in an encoder depends on its vectors being words. So let's give it sound, as Gong et al. (2021) did.
# A clip is a sequence of **frames**, and each frame gives the energy in each of 16 pitch bands, as in a
# spectrogram. Each clip has between 16 and 40 frames. It contains noise and a single tone that rises, falls,
# warbles or stays the same. Which of the four is it?

# %% tags=["hide-input"]
KINDS = ("rising", "falling", "warble", "steady")
BANDS, LONGEST = 16, 40


def clip(kind, random):
    """One clip of random length, pitch, span and noise: (frames, BANDS)."""
    time = np.linspace(0, 1, random.integers(16, LONGEST + 1))
    low, span, turns, start = random.uniform((3, 4, 2, 0), (6, 6, 4, 1))
    pitch = low + span * {
        "rising": time,
        "falling": 1 - time,
        "warble": 0.5 + 0.5 * np.sin(2 * np.pi * (turns * time + start)),
        "steady": np.full_like(time, start),
    }[kind]  # fmt: skip
    energy = np.exp(-0.5 * (np.arange(BANDS) - pitch[:, None]) ** 2)
    return energy + random.normal(0, 0.4, energy.shape)


def clips(n, seed):
    """Padded frames (n, LONGEST, BANDS), which of them are real (n, LONGEST), kinds (n,)."""
    random = np.random.default_rng(seed)
    kinds = random.integers(0, len(KINDS), n)
    frames, real = torch.zeros(n, LONGEST, BANDS), torch.zeros(n, LONGEST, dtype=torch.bool)
    for i, kind in enumerate(kinds):
        one = torch.from_numpy(clip(KINDS[kind], random))
        frames[i, : len(one)], real[i, : len(one)] = one, True
    return frames, real, torch.from_numpy(kinds)


training_set, test_set = clips(2000, seed=0), clips(1000, seed=1)
print("frames", tuple(training_set[0].shape), " kinds", torch.bincount(training_set[2]).tolist())

# %% tags=["hide-input"]
from matplotlib import pyplot as plt

figure, all_axes = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True, layout="constrained")
for axes, kind, number in zip(all_axes, KINDS, range(4)):
    example = clip(kind, np.random.default_rng(number))
    axes.imshow(example.T, origin="lower", aspect="auto", cmap="cividis", vmin=-0.5, vmax=1.3)
    axes.set_title(kind)
    axes.set_xlabel("frame")
all_axes[0].set_ylabel("band of pitch")
notebook.figure(
    figure,
    alt="Four spectrograms with noise. In the first a bright band climbs, in the second it falls, in "
    "the third it goes up and down like a wave, in the fourth it stays level.",
)

# %% [markdown]
# The classifier is an encoder with a different input and a different output. A frame has no id, so a linear
# layer replaces the embedding table. At the end we take the **mean over the real frames**, which is one
# vector per clip, and turn it into four logits. There's no decoder, because there's nothing to write.


# %%
class ToneClassifier(nn.Module):
    """Frames (B, S, BANDS) and real (B, S) to logits (B, 4)."""

    def __init__(self, d_model=32, n_heads=4, n_layers=2, with_positions=True):
        super().__init__()
        self.enter = nn.Linear(BANDS, d_model)
        self.positions = sinusoidal_positions(LONGEST, d_model) * with_positions
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, 2 * d_model, dropout=0.0, norm_first=True)
            for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.leave = nn.Linear(d_model, len(KINDS))

    def forward(self, frames, real):
        x = self.enter(frames) + self.positions[: frames.shape[1]]
        for layer in self.layers:
            x = layer(x, real[:, None, None])  # (B, 1, 1, S): True = allowed to attend
        x = self.norm(x) * real[..., None]  # padding adds nothing to the sum …
        return self.leave(x.sum(1) / real.sum(1, keepdim=True))  # … and is not counted


# %% [markdown]
# A clip on its own and the same clip padded to 40 frames should give the same logits.

# %%
exercises.predict("padding_taken_for_sound")

# %% tags=["hide-input"]
notebook.set_seed(0)
model = ToneClassifier().eval()
frames, real, _ = (part[:1] for part in test_set)
n = int(real.sum())
with torch.inference_mode():
    padded, alone = model(frames, real), model(frames[:, :n], real[:, :n])
    unmasked = model(frames, torch.ones_like(real))  # padding taken for sound
moved = (unmasked - alone).abs().max().item()
exercises.reveal("padding_taken_for_sound", measured="change" if moved > 1e-3 else "same")
torch.testing.assert_close(padded, alone, atol=1e-5, rtol=1e-5)
assert moved > 1e-3
print(f"{n} real frames of {LONGEST}: with the mask, padded and alone agree")

# %% [markdown]
# So the classifier needs both: the mask in every layer, and the mean over the real frames only. Now train it.
# Four epochs (passes through the 2,000 clips) take a few seconds on one core.


# %%
def fit(model, epochs=4, batch_size=25):
    frames, real, kinds = training_set
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    for _ in range(epochs):
        model.train()
        for batch in torch.randperm(len(kinds)).split(batch_size):
            loss = F.cross_entropy(model(frames[batch], real[batch]), kinds[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


# %% tags=["hide-input", "nbval-ignore-output"]
def answers(model):
    """Count what the classifier calls each kind of test clip, as shares: (kind, answer)."""
    frames, real, kinds = test_set
    with torch.inference_mode():
        answer = model.eval()(frames, real).argmax(-1)
    table = torch.zeros(4, 4).index_put((kinds, answer), torch.tensor(1.0), accumulate=True)
    return table / table.sum(1, keepdim=True)


notebook.set_seed(0)
heard = answers(fit(ToneClassifier())).diagonal()
print(f"right on clips never heard: {heard.mean():.1%}  (chance 25%)")
print("  ".join(f"{kind} {share:.0%}" for kind, share in zip(KINDS, heard)))
assert heard.mean() > 0.95

# %% [markdown]
# Now train the same classifier without positions.

# %%
exercises.predict("tones_without_positions")

# %% tags=["hide-input", "nbval-ignore-output"]
notebook.set_seed(0)
without = answers(fit(ToneClassifier(with_positions=False)))
mixed_up = without + without.T  # how often two kinds are taken for each other
mixed_up.fill_diagonal_(0)
pair = {divmod(mixed_up.argmax().item(), 4), divmod(mixed_up.argmax().item(), 4)[::-1]}
exercises.reveal(
    "tones_without_positions",
    measured="direction"
    if (0, 1) in pair
    else "all"
    if without.diagonal().max() < 0.5
    else "steady"
    if any(3 in two for two in pair)
    else "warble",
)
print(f"without positions: {without.diagonal().mean():.1%}")
print("  ".join(f"{kind} {share:.0%}" for kind, share in zip(KINDS, without.diagonal())))
assert without.diagonal().mean() < 0.8 < heard.mean()
assert without[0, 0] + without[1, 1] < 1.3  # no better than a coin
notebook.tell(
    """A rising tone and a falling tone contain the same frames in a different order, and without positions an
    encoder sees only a *set* of frames. So it calls about the same share of both kinds "rising", and it
    can't do better than a coin. It also takes some of them for warbles, up to a quarter in our runs,
    because all three visit many bands of pitch. But it still recognises a steady tone, because all frames
    of a steady tone are alike."""
)

# %% [markdown]
# **Your turn.** Change one thing, predict what will happen, and measure it. You could try more noise in
# `clip`, a single layer, the first frame's vector instead of the mean, or a fifth kind of tone.

# %% [markdown] tags=["notes"]
# **12 minutes.** The clips are made by a formula, so 99% says little about real sound. It only shows that an
# encoder doesn't need words. Let each pair make a different change and report the result in one sentence.

# %% [markdown] tags=["notes"]
# **12 minutes** for the questions. Do the two open ones in pairs, five minutes each, and leave the others for
# homework. For every wrong answer, ask: *which cell of this lesson contradicts it?*

# %% [markdown]
# ## Questions

# %%
exercises.quiz("order_of_an_encoder_layer")

# %%
exercises.quiz("qkv_below_each_other")

# %%
exercises.quiz("scores_of_cross_attention")

# %%
exercises.quiz("weights_that_do_not_fit")

# %%
exercises.quiz("same_tokens_other_logits")

# %%
exercises.quiz("where_a_bug_hides")

# %%
exercises.quiz("mean_over_padding")

# %% [markdown]
# ### To discuss in pairs

# %%
exercises.quiz("why_check_each_part")

# %%
exercises.quiz("what_the_decoder_would_lack")

# %% [markdown]
# ### Going further
#
# Your decoder recomputes every earlier position at each step. Give `build_decoder_layer` a cache of keys and
# values (lesson 08), so that it has to compute only the newest position. Then show that the tokens are the
# same and that the logits agree to within $10^{-4}$, and measure how the time grows with the length, with the
# cache and without.

# %% [markdown]
# ## Myth or fact?
#
# **"If it runs and all shapes fit, it's right."** A myth. The four wrong models above ran without any error
# message, and only a comparison of the numbers found all of them.
#
# **"Transformers are for text."** A myth. An encoder needs a sequence of vectors, and positions if their
# order matters. Our tones were never words.

# %% [markdown]
# ## What to take away
#
# - The encoder turns $(B, S)$ ids into a $(B, S, D)$ memory. The decoder turns $(B, T)$ ids and the memory
#   into $(B, T, V)$ logits. A loop turns logits into sentences.
# - A whole Transformer is ten small functions, plus the layer norm, masks and sinusoids of earlier lessons.
#   None of the ten is longer than ten lines.
# - Weights only work in the design that they were trained in: pre-norm weights need a pre-norm model.
# - To find a mistake, compare part by part with a model that you know is right.
# - An encoder alone, with a mean over real positions, classifies any sequence of vectors.
#
# You've built the Transformer of 2017, with one change: yours puts the norms first, as most models since have done.
#
# Your model started from token ids, and somebody else had cut the text into tokens. **Lesson 11** shows who decides
# where to cut.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
# - Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
# - Li et al. (2022), "The Lazy Neuron Phenomenon: On Emergence of Activation Sparsity in Transformers",
#   arXiv:2210.06313.
# - Gong, Chung, Glass (2021), "AST: Audio Spectrogram Transformer", arXiv:2104.01778.
