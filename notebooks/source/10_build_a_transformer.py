# %% [markdown]
# # Build a Transformer
#
# **Can you build one?** You have met every part. Now you put them together, from an embedding to a
# translation, in plain functions on plain tensors. At the end your model takes the weights of the
# course's translator, and translates. Whether it is *right* is a stricter question; we ask it too.
#
# At the end of these **120 minutes** you can
#
# - write every part of a Transformer yourself, and say what goes in and what comes out,
# - put them together so that real, trained weights work in them,
# - find the part that is wrong in a model that runs, whatever it writes,
# - use the encoder alone, for something that is not text.
#
# You need lessons 03 to 08. Ten parts take 66 minutes, the comparison 10, the tones 24, the questions 20.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import exercises
from helpers.data.captions import CAPTIONS
from helpers.exercises import own_transformer
from helpers.exercises.lesson_10 import own_or_tested
from helpers.exercises.own_transformer import layers_of, under
from helpers.layers import EncoderLayer
from helpers.masks import causal_mask, padding_mask
from helpers.positions import sinusoidal_positions
from helpers.pretrained.translator import load_translator
from helpers.tokenization import BOS, EOS, PAD

layer_norm = exercises.reference("layer_norm")  # lesson 07's

# %% [markdown]
# ## The plan
#
# | Part | What it does | Lesson | Minutes |
# |---|---|---|---|
# | 1 `build_embedding` | ids to vectors, with positions | 03, 05 | 4 |
# | 2 `build_attention` | scores, scale, mask, softmax, mix | 04 | 6 |
# | 3 `build_multi_head` | several attentions side by side | 06 | 12 |
# | 4 `build_feed_forward` | think at every position | 07 | 3 |
# | 5 `build_sublayer` | the residual path and its norm | 07 | 3 |
# | 6 `build_encoder_layer` | parts 3 and 4, each in part 5 | 07 | 7 |
# | 7 `build_encoder` | part 1, then part 6 again and again | 07 | 7 |
# | 8 `build_decoder_layer` | look back, look across, think | 07 | 8 |
# | 9 `build_decoder` | parts 1 and 8, then logits | 07, 08 | 8 |
# | 10 `build_greedy` | one token after the other | 08 | 8 |
#
# The weights are a dictionary: names to tensors. Two small helpers find what belongs to a part.

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
src_ids = translator.encode(
    ["Trois enfants courent sur la plage.", "Un homme dort."]
)  # the second is padded

different = len({weight.data_ptr() for weight in weights.values()})
print(f"{len(weights)} names for {different} tensors, D = {D}, {n_heads} heads")
for name, weight in under(weights, "encoder_layers.0.").items():
    print(f"{name:>32}  {tuple(weight.shape)}")

# %% [markdown]
# Two names more than tensors: source table, target table and output matrix are one (lesson 08).
#
# You may leave a part out. If yours does not pass its check yet, the tested one takes its place, and
# the next part can be built. This is all that does it:

# %%
notebook.show_source(own_or_tested)

# %% [markdown]
# A tested part calls tested parts only. So for a model that is wholly yours, all ten have to be.
# Always run a part's two cells together: the second one puts the tested part in its place.

# %% [markdown] tags=["notes"]
# **How to run this lesson.** Two hours in one go, or as homework with a deadline. Pairs work well: one
# writes, the other says the shapes; they change places after each part. Nobody has to finish all ten.
# `exercises.hint("build_attention")` gives hints one at a time, `exercises.solution("build_attention")`
# the tested source.
#
# **Rubric**, 20 points.
#
# | | 0 | 1 | 2 |
# |---|---|---|---|
# | Embedding and attention (1, 2) | neither passes | one passes | both pass |
# | Several heads (3) | does not pass | passes with the solution seen | passes, and the shapes can be told line by line |
# | Sublayers (4, 5) | neither passes | one passes | both pass |
# | Encoder (6, 7) | neither passes | the layer passes | both pass |
# | Decoder (8, 9) | neither passes | the layer passes | both pass, and each mask can be justified |
# | Writing (10) | does not pass | passes for one sentence | passes |
# | The whole | does not run | runs with tested parts | all ten are the learner's own, logits agree |
# | Finding a mistake | cannot say where to look | finds it with the comparison's help | explains why the order of the parts matters |
# | The tones | not run | runs, accuracy above 95 % | and one change of their own, measured |
# | Reading it | no names, no shapes | mostly readable | a colleague could go on with it |
#
# From 16 points on somebody can be trusted with a real code base; below 10, lessons 06 and 07 once
# more. Whether a solution was looked at costs a point only in part 3: to read good code and to explain
# it is a skill as well.

# %% [markdown]
# ## 1. The embedding
#
# Ids become vectors, and vectors get a place. The table's numbers begin at about $1/\sqrt{D}$ and stay
# small; the factor $\sqrt{D}$ makes them as large as the positions, or larger (lesson 05). The
# table of sinusoids is made already: `positions`, one row for each place.

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
# Lesson 03's steps without the first, which is part 3's, in the matrices of lesson 04: scores, scale,
# softmax, mix; and before the softmax the mask. There may
# be further axes in front, one for sentences and one for heads. In our masks `True` means *may look*.

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
# **10 minutes** for parts 1 and 2. Whoever has done lesson 04 may copy it; the point here is the mask.
# Ask: *what if a row of the mask is all False?* 0/0 gives NaN; lesson 04 gives zeros, and we leave that
# out here. No row is empty: each sentence has its `<eos>`.

# %% [markdown]
# ## 3. Several heads
#
# Project, split, attend, merge, project (lesson 06). One function for all three uses of attention: `x`
# asks, `source` answers. In self-attention both are the same.
#
# The weights of a linear layer are stored as (out, in), as PyTorch does it. So `F.linear(x, weight,
# bias)` is `x @ weight.T + bias`.

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
# **12 minutes.** The longest part. Let pairs write the shape after every line before they write code.
# Nearly all mistakes are a missing transpose, and the check names which.

# %% [markdown]
# ## 4. The feed-forward network
#
# Widen, bend, narrow, at every position alone (lesson 07).

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

# %% [markdown]
# ## 5. The residual path
#
# Around each sublayer runs a path that carries $x$ itself. The translator is **pre-norm**: the
# sublayer reads the normalised $x$, and what it finds is added to $x$ as it was.
#
# `layer_norm(x, gain, bias)` is the one of lesson 07.

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
# Look around, then think: self-attention and feed-forward, each in its path with a norm of its own. A
# sublayer takes one argument; `lambda h: …` makes one that knows the rest.

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
# Embed, let every layer work on what the one before wrote, and normalise once more at the end. What
# comes out is the *memory*; all decoder layers read it.

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
# **20 minutes** for parts 4 to 7. Groups that are late may leave 4 out: it has been done in lesson 07.
# Ask after part 6: *what would change if the lambda used x instead of its h?* The norm would be computed
# and thrown away; every shape would still fit.

# %% [markdown]
# ## 8. A decoder layer
#
# Look back, look across, think. The first attention may not see the future, the second not the padding
# of the source. Both masks come from outside.

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
# Here the decoder's mask is made: real tokens only, and none that comes later. At the end each vector
# is compared with every word: the target's table, transposed, gives the **logits** (lesson 08).

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

# %% [markdown]
# ## 10. Writing
#
# Take the likeliest token, append it, go on. In lesson 08 it was one sentence; here it is a batch, and
# some sentences are complete before others.

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
# **24 minutes** for parts 8 to 10. *Why does the decoder need the padding mask, if padding stands on
# the right and the causal mask hides it?* For real positions it does not: it changes only what stands at
# padding, and the course's model has it. With padding on the left neither our mask nor our positions
# would do: the first rows would see nothing (NaN), and counting would begin at the padding.

# %% [markdown]
# ## Your model and ours
#
# Now the whole. `own_transformer.translate` only calls `build_encoder`, `build_decoder` and
# `build_greedy`, and gives them the trained weights.

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
# The same words are not yet proof: an argmax does not notice a logit that is a little off. So each
# part is compared with the course's model as well, on the real weights, in every layer, to $10^{-4}$.
# Each part is given what *our* model computed up to there. If something differs, the message names the
# first part and the first layer where it does.

# %%
comparison = own_transformer.compare_with_course(parts, translator, french)
comparison

# %%
assert comparison.same, comparison.message
assert yours == ours

# %% [markdown]
# ### Break it
#
# Somebody writes post-norm where the weights want pre-norm. Another forgets the factor $\sqrt{D}$. A
# third writes a feed-forward network with GELU, a smoother ReLU. A fourth counts the positions from one.
# Every shape fits, nothing raises. **Predict:** which of these would you notice by reading the
# translations?


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


equal = {}
for name, wrong in [
    ("build_sublayer", post_norm), ("build_embedding", unscaled),
    ("build_feed_forward", with_gelu), ("build_embedding", from_one),
]:  # fmt: skip
    with torch.inference_mode():
        rows = own_transformer.translate_with({name: wrong}, translator, french).tolist()
    equal[wrong] = sum(tokenizer.decode(row) == o for row, o in zip(rows, ours))
    print(f"{wrong.__name__}: {equal[wrong]} of {len(french)} sentences as ours; "
          f"the first: {tokenizer.decode(rows[0])[:56]}")  # fmt: skip
    found = own_transformer.compare_with_course({**parts, name: wrong}, translator, french[:3])
    assert found.part == name
    print("   comparison:", found.message.split(". ")[0])
assert equal[post_norm] == equal[unscaled] == 0 and equal[with_gelu] > 10 and equal[from_one] > 15

# %% [markdown]
# The first two write nothing or nonsense; one look is enough. The other two write the same
# twenty sentences as ours. You would ship them. Only the comparison of numbers finds them. On another
# sentence the difference may decide a word.
#
# You can do the same with a part of your own that does not pass. The tested one has taken its name, so
# write yours again as `mine`, and call
# `own_transformer.compare_with_course({**parts, "build_encoder": mine}, translator, french[:3])`.

# %% [markdown] tags=["notes"]
# **10 minutes.** The lesson behind the lesson: *compare stage by stage with something that is known to
# be right, and give each stage good inputs.* Looking at the translations only tells that something is
# wrong. Let each pair plant one mistake, swap places, and find the other's.

# %% [markdown]
# ## Extension: what is this tone doing?
#
# An encoder does not know that its vectors were words. Here, as in the work of Gong et al. (2021), they
# are sound: a clip is a row of
# **frames**, and each frame says how much energy there is in each of 16 bands of pitch, as in a
# spectrogram. Each clip has one tone that rises, falls, warbles or stays, between 16 and 40 frames
# long, under noise. Which of the four is it?

# %%
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
# The classifier is an encoder with another beginning and another end. At the beginning a linear layer
# instead of a table, since a frame has no id. At the end the **mean over the real frames**, one vector
# for the clip, and four logits. No decoder: there is nothing to write.


# %%
class ToneClassifier(nn.Module):
    """Frames (B, S, BANDS) and real (B, S) to logits (B, 4)."""

    def __init__(self, d_model=32, n_heads=4, n_layers=2, with_positions=True):
        super().__init__()
        self.enter = nn.Linear(BANDS, d_model)
        self.positions = sinusoidal_positions(LONGEST, d_model) * with_positions
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, 2 * d_model, dropout=0.1, norm_first=True)
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
# Does padding leave any trace? A clip alone and the same clip padded to 40 frames must give the same
# logits. **Predict:** and if the padding is taken for sound?

# %%
notebook.set_seed(0)
model = ToneClassifier().eval()
frames, real, _ = (part[:1] for part in test_set)
n = int(real.sum())
with torch.inference_mode():
    padded, alone = model(frames, real), model(frames[:, :n], real[:, :n])
    unmasked = model(frames, torch.ones_like(real))  # padding taken for sound
torch.testing.assert_close(padded, alone, atol=1e-5, rtol=1e-5)
assert (unmasked - alone).abs().max() > 1e-3
print(f"{n} real frames of {LONGEST}: padded and alone agree; without the mask they do not")


# %% [markdown]
# Eight times through 2,000 clips, about ten seconds on one core.


# %%
def accuracy(model):
    frames, real, kinds = test_set
    with torch.inference_mode():
        right = model.eval()(frames, real).argmax(-1) == kinds
    return right.float().mean().item(), [right[kinds == k].float().mean().item() for k in range(4)]


def fit(model, epochs=8, batch_size=50):
    frames, real, kinds = training_set
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        model.train()
        for batch in torch.randperm(len(kinds)).split(batch_size):
            loss = F.cross_entropy(model(frames[batch], real[batch]), kinds[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


# %% tags=["nbval-ignore-output"]
notebook.set_seed(0)
heard, each = accuracy(fit(ToneClassifier()))
print(f"right on clips never heard: {heard:.1%}  (chance 25 %)")
print("  ".join(f"{kind} {share:.0%}" for kind, share in zip(KINDS, each)))
assert heard > 0.95

# %% [markdown]
# Now without positions. **Predict:** which kinds will it still tell apart, and which never?

# %% tags=["nbval-ignore-output"]
notebook.set_seed(0)
without, each = accuracy(fit(ToneClassifier(with_positions=False)))
print(f"without positions: {without:.1%}")
print("  ".join(f"{kind} {share:.0%}" for kind, share in zip(KINDS, each)))
assert without < 0.8 < heard
assert each[KINDS.index("rising")] + each[KINDS.index("falling")] < 1.3  # no better than a coin

# %% [markdown]
# A rising tone and a falling one have the same frames in another order. Without positions an
# encoder sees a *set* of frames: whatever share of the rising clips it calls "rising", it calls
# about the same share of the falling ones so. The two shares together cannot come to much more than
# 100 %, as with a coin. Some it takes for warbles (a fifth to a third in our runs), so the sum may
# even stay below: both visit many bands, and a warble only lingers at the two ends. A steady tone
# it knows all the same, because all its frames are alike.
#
# **Your turn.** Change one thing, predict, and measure: more noise in `clip`, one layer, the first
# frame's vector instead of the mean, or a fifth kind of tone.

# %% [markdown] tags=["notes"]
# **24 minutes.** The clips are made by a formula, so 99 % says little about real sound. It says that
# an encoder needs no words. Let each pair make another change and report it in one sentence.

# %% [markdown] tags=["notes"]
# **20 minutes** for the questions. The two open ones in pairs, five minutes each. Ask of every wrong
# answer: *which cell of this lesson contradicts it?*

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
# ### To talk about

# %%
exercises.quiz("why_check_each_part")

# %%
exercises.quiz("what_the_decoder_would_lack")

# %% [markdown]
# ### Going further
#
# Your decoder computes every earlier position again at each step. Give `build_decoder_layer` a cache of
# keys and values (lesson 08), so that only the newest position goes through. Then show three things:
# the tokens are the same, the logits agree to $10^{-4}$, and how the time grows with the length, with
# the cache and without.

# %% [markdown]
# ## Myth or fact?
#
# **"If it runs and all shapes fit, it is right."** A myth. Four wrong models above ran without a
# word, and two of them wrote good English; only the numbers gave them away.
#
# **"Transformers are for text."** A myth. The tones never were words. What an encoder needs is a row of
# vectors, and positions if their order means something.

# %% [markdown]
# ## Summary
#
# - $(B, S)$ ids $\to (B, S, D)$ memory; $(B, T)$ ids and the memory $\to (B, T, V)$ logits; a loop
#   makes a sentence of them.
# - Ten small functions, with layer norm, masks and sinusoids from before, are a whole Transformer. None
#   is longer than ten lines.
# - Weights carry the design with them: pre-norm weights work in a pre-norm model only.
# - To find a mistake, compare part by part with something known to be right.
# - An encoder alone, with a mean over real positions, classifies any sequence of vectors.
#
# That is the Transformer of 2017 with its norms moved to the front, as most have had it since, and you
# have built it.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
# - Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
# - Gong, Chung, Glass (2021), "AST: Audio Spectrogram Transformer", arXiv:2104.01778.
