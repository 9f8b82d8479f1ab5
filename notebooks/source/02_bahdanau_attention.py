# %% [markdown]
# # Bahdanau attention
#
# **What if the decoder could look back?** In lesson 01 one vector had to carry the whole sentence,
# and long sentences broke it. Here the encoder keeps all its states, and the decoder looks at them
# before every word it writes.
#
# At the end of these **60 minutes**, and half an hour more for the whole breakout, you can
#
# - write Bahdanau's score, its weights and its context, with the shape of every tensor,
# - show that the curve of lesson 01 stays up, with the same data, seed and rounds,
# - read an alignment map, and score it instead of admiring it,
# - say where Luong's dot, general and concat differ, and what they cost,
# - say which of the three problems of lesson 01 is still there.
#
# You need lesson 01: encoder, decoder, context vector.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%

import torch

from helpers import attention, exercises, metrics, plots
from helpers.pretrained import toy_models
from helpers.widgets.bahdanau_stepper import BahdanauStepper

# %% [markdown] tags=["notes"]
# **Minutes**: 1 the step by hand 15 · 2 does it help 10 · 3 the map 10 · 4 Luong 8 · 5 cost 5 ·
# breakout 12: `additive_scores` and the first four questions; the rest is for home, about 30 minutes.
#
# **When late**: section 4's table without its discussion. Keep the curve of section 2: it is the
# lesson.
#
# **Ask**: "Which two vectors meet in the score?" · "Where will the new curve fall?" · "*dot* has fewer
# parameters than the model without attention. How?" · "The map is nearly a diagonal. Where is it not, and
# why?" · "What would you look at if the source were a picture?"
#
# **What people get wrong**: they let the score depend on the decoder's state alone; they use the new
# state where Bahdanau uses the old one; they believe that attention removed the loop.

# %% [markdown]
# ## 1. One step by hand
#
# The decoder is about to write word $t$. It has its state $s_{t-1}$. The encoder has left a state
# for every source word, $h_1 \dots h_S$. Four things happen (Bahdanau et al. 2015):
#
# 1. an **energy**, also called **score**, for each source word:
#    $e_{t,i} = v^\top \tanh(W s_{t-1} + U h_i)$,
# 2. a softmax over the source words makes **weights** $\alpha_{t,i}$ of them,
# 3. the **context** is the mixture $c_t = \sum_i \alpha_{t,i} h_i$,
# 4. the recurrent step takes $c_t$ and the previous word, and a new state comes out.
#
# **Softmax** means: $\exp(e_{t,i})$ divided by the sum of $\exp(e_{t,j})$ over all source words
# $j$. The results are positive and sum to 1.
#
# Three names for what meets here, which stay to the end of the course: the state that asks is the
# **query**; the vectors it is compared with are the **keys**; the vectors that are mixed are the
# **values**. Here keys and values are the same encoder states.

# %%
notebook.picture("bahdanau_step")

# %% [markdown]
# The energy is a small neural network with one hidden layer (its width is called `A` in this
# lesson's shapes), trained with the rest. Small enough for a pencil. (Papers write columns, $W s$;
# code has rows, `state @ w`, so that `w` is $W^\top$.)

# %%
state = torch.tensor([1.0, 0.0])  # s: (D_h=2,)
encoder_states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # h: (S=3, D_h=2)
w = torch.tensor([[1.0, 0.5], [0.0, 1.0]])  # (D_h, A=2)
u = torch.tensor([[1.0, 0.0], [1.0, -1.0]])
v = torch.tensor([2.0, 1.0])  # (A,)

energies = []
for h in encoder_states:
    hidden = torch.tanh(state @ w + h @ u)  # (A,)
    energies.append(hidden @ v)
energies = torch.stack(energies)  # (S,)
print(energies)

# %% [markdown]
# **Predict:** which source word gets the largest weight? Is its weight nearer to 0.4 or to 0.7?

# %%
weights = energies.softmax(dim=-1)  # (S,)
context = weights @ encoder_states  # (S,) @ (S, D_h) -> (D_h,)
print("weights:", weights, "\ncontext:", context)
assert weights.argmax() == 0

# %% [markdown]
# As tensors, for a whole batch: the loop over source words goes, an axis comes. The tested version
# of the course does the same, as the next cell checks. The cell after it shows its lines (`_mix` is
# the softmax and the weighted sum; `mask` hides words, as the breakout explains; `projected_keys`
# is $U h$, the same at every step, so it can be handed in):

# %%
layer = attention.AdditiveAttention(2, 2, 2)
with torch.no_grad():
    layer.query_proj.weight.copy_(w.T)
    layer.key_proj.weight.copy_(u.T)
    layer.energy.weight.copy_(v[None])
theirs, their_weights = layer(state[None], encoder_states[None])  # (1, D_h), (1, S, D_h)
torch.testing.assert_close(their_weights[0], weights)
torch.testing.assert_close(theirs[0], context)

# %%
notebook.show_source(attention.AdditiveAttention.forward)

# %% [markdown]
# ### The score needs both
#
# $W s$ is the same for all source words, $U h_i$ differs. **Predict:** what happens to the weights if
# you leave out $U h_i$? And if you leave out $W s$, what can the decoder no longer do?

# %%
without_keys = torch.stack([v @ torch.tanh(state @ w) for _ in encoder_states]).softmax(-1)
print("without the encoder's states:", without_keys)
torch.testing.assert_close(without_keys, torch.full((3,), 1 / 3))

other_state = torch.tensor([-1.0, 0.5])
ignoring = [(torch.tanh(encoder_states @ u) @ v).softmax(-1) for s in (state, other_state)]
both = [layer(s[None], encoder_states[None])[1][0] for s in (state, other_state)]
print("without the decoder's state: ", ignoring[0], "at every step")
print("with both:                   ", both[0].detach(), both[1].detach())
assert torch.equal(*ignoring) and not torch.allclose(*both)

# %% [markdown]
# Without $U h_i$ all words weigh the same. Without $W s$ the weights never change from step to step.
# A test must try both: change the state, and change the states. The exercise below does.

# %% [markdown]
# ## 2. Does it help?
#
# Two loaded models: lesson 01's, and one that looks back. Same data, same seed, same eight rounds. The
# only difference: the context vector is new at each step. **To train it yourself**, set
# `train_here = True` (about five minutes on two cores).

# %%
splits = toy_models.toy_data()
train_here = False
looking = (
    toy_models.train_toy("additive", splits) if train_here else toy_models.load_toy("additive")
)
fixed = toy_models.load_toy("gru")
print(f"fixed context {fixed.n_parameters:,} parameters, with attention {looking.n_parameters:,}")
assert round(looking.n_parameters / fixed.n_parameters, 2) == 1.14

# %% [markdown]
# Bahdanau's attention costs 14 % more parameters. **Predict:** draw the new curve before you run
# the cell.

# %% tags=["nbval-ignore-output"]
test = splits.test[:600]
groups = [(4, 8), (9, 12), (13, 16), (17, 20), (21, 30), (31, 40)]
names = [f"{shortest}–{longest}" for shortest, longest in groups]


def exact_by_length(toy):
    """-> for each group of lengths, the share translated without a mistake, in %"""
    written = toy.translate([p.source for p in test])
    shares = []
    for shortest, longest in groups:
        chosen = [i for i, p in enumerate(test) if shortest <= len(p.source) <= longest]
        wanted = [" ".join(test[i].target) for i in chosen]
        shares.append(100 * metrics.exact_match([written[i] for i in chosen], wanted))
    return shares


curves = {"with attention": exact_by_length(looking), "fixed context": exact_by_length(fixed)}
for name, curve in curves.items():
    print(f"{name:>14}:", ", ".join(f"{share:.0f}" for share in curve))
assert min(curves["with attention"]) > 85
assert max(curves["fixed context"][-2:]) < 40

# %% tags=["nbval-ignore-output"]
axes = plots.labelled_lines(
    range(len(groups)),
    curves,
    x_label="words in the French sentence",
    y_label="exact match (%)",
    marker="o",
)
axes.set_xticks(range(len(groups)), names)
axes.set_ylim(0, 105)
notebook.figure(
    axes,
    alt="Exact match against sentence length. With attention the curve stays near 100 %; with a fixed "
    "context vector it falls to almost nothing.",
    width=620,
)

# %% [markdown]
# The bottleneck is gone: nothing has to be carried that can be looked up.

# %% [markdown]
# ## 3. Where it looked
#
# Each step leaves a row of weights. Together they are an **alignment map**: rows are the words
# written (the queries), columns the words read (the keys). In the film, which is of another model
# (section 4's *dot*), the thicker the line, the larger the weight.

# %%
notebook.picture("decoder_looking_back")

# %% [markdown]
# Now as a map, with *la voiture rouge*, the red car. **Predict:** most of the
# map will be a diagonal. What must it do at *red* and at the noun?

# %%
pair = next(p for p in splits.test if "rouge" in p.source and 7 <= len(p.source) <= 9)
((src_ids, tgt_ids),) = looking.encode([pair])
maps = looking.model.attention_maps(
    torch.tensor([src_ids]), torch.tensor([tgt_ids[:-1]])
)  # (1, T, S)
rows = [*pair.target, "<eos>"]
axes = plots.attention_heatmap(maps[0], rows, [*pair.source, "<eos>"])
notebook.figure(
    axes,
    alt=f"Alignment map of {' '.join(pair.target)}: nearly a diagonal, but red looks at rouge, which "
    "stands after the noun, and the noun looks one place back.",
    width=520,
)

# %% [markdown]
# The two rows cross over. Two others may surprise you: the first *the* looks at the noun, and `<eos>` at
# the full stop. Section 4 says why that does no harm. The largest weight in each of the two rows that
# cross:

# %%
adjective = pair.target.index("red")
noun = adjective + 1
looked_at = maps[0].argmax(-1)
print("red looks at:", pair.source[looked_at[adjective]])
print(pair.target[noun], "looks at:", pair.source[looked_at[noun]])
assert pair.source[looked_at[adjective]] == "rouge"
assert looked_at[noun] < looked_at[adjective]  # the order is inverted

# %% [markdown]
# One step at a time: energies, weights, context, next word. Press play, or type a sentence of your
# own with the words of the corpus.

# %%
BahdanauStepper(looking.model, looking.source, looking.target, " ".join(pair.source))

# %% [markdown]
# ### Score it
#
# Our corpus knows which word translates which. So a map need not be admired, it can be **marked**:
# link every target word to the source word it looks at most, and compare these links with the true
# ones. The **alignment error rate** (Och and Ney 2003) is roughly the share of wrong links: 0 is
# perfect. (Where one English word comes from two French ones, as *does* comes from *ne* and
# *pas*, either counts as right.)


# %%
def maps_of(toy, pairs):
    """-> a map (target_len, source_len) for each pair, without the end of the sentence"""
    found = []
    for pair in pairs:
        ((src_ids, tgt_ids),) = toy.encode([pair])
        weights = toy.model.attention_maps(torch.tensor([src_ids]), torch.tensor([tgt_ids[:-1]]))
        found.append(weights[0, :-1, :-1])
    return found


marked = splits.test[:200]
alignments = [p.alignment for p in marked]
error = metrics.alignment_error_rate(maps_of(looking, marked), alignments)
guess = metrics.alignment_error_rate(
    [torch.eye(len(p.target), len(p.source)) for p in marked], alignments
)
print(f"alignment error: the model's maps {error:.2f}, a plain diagonal {guess:.2f}")

# %% [markdown]
# ## 4. Luong's three
#
# Luong et al. (2015) tried other scores, and another place in the step: they let the recurrent
# network step first and look *then*, with the **new** state $s_t$. Context and state together,
# $\tilde h_t = \tanh(W_c [c_t; s_t])$, predict the word.
#
# | score | formula | needs |
# |---|---|---|
# | additive (Bahdanau) | $v^\top \tanh(W s_{t-1} + U h_i)$ | two matrices, one vector |
# | dot | $s_t^\top h_i$ | nothing, but equal widths |
# | general | $s_t^\top W h_i$ | one matrix |
# | concat | $v^\top \tanh(W [s_t; h_i])$ | one matrix twice as wide, one vector: additive's $W$ and $U$ side by side |
#
# In our models it is one switch. It changes the score, and between additive and the other three the
# place as well; so only the last three rows compare scores alone. All four were trained with the same
# data, seed and number of rounds. The next cell translates with all of them; it takes about ten seconds.

# %% tags=["nbval-ignore-output"]
table = {}
print(f"{'score':>9} {'parameters':>11} {'seconds':>8} {'exact > 20':>11} {'alignment error':>16}")
for name in ["additive", "dot", "general", "concat"]:
    toy = toy_models.load_toy(name)
    long = exact_by_length(toy)[-2:]
    table[name] = metrics.alignment_error_rate(maps_of(toy, marked), alignments)
    print(f"{name:>9} {toy.n_parameters:>11,} {toy.card['seconds']:>8.0f} "
          f"{sum(long) / 2:>9.0f} % {table[name]:>16.2f}")  # fmt: skip
assert toy_models.load_toy("dot").n_parameters < fixed.n_parameters

# %% [markdown]
# The seconds are those of the training, on one core of the machine that did it. In our version of
# Luong's models (without what the paper calls input feeding) all recurrent steps run first and the
# attention after, in one go. Concat is slow all the same: its tanh runs over every pair of words. *dot*
# has fewer parameters than even the model of lesson 01: with Luong no context goes into the GRU, so its
# matrices are narrower, and that saves more than $W_c$ costs.
#
# All four translate long sentences almost without a mistake, and yet their maps do not agree with the
# truth equally well. There are two reasons. An encoder state also knows its neighbours, so a model may
# look beside the word and find what it needs. And some words need nothing from the source: in this
# corpus *it* is always followed by *is too*, and the full stop by `<eos>`, so their weight may lie
# anywhere. How often is a wrong link one place off, how often is it one of *is* and *too*, and what
# about the word *the*?


# %%
def wrong_links(toy):
    """-> of the wrong links, the shares one place off and of "is" and "too"; share wrong of "the" """
    one_off, settled, wrong, the_wrong, the_all = 0, 0, 0, 0, 0
    for pair, found in zip(marked, maps_of(toy, marked), strict=True):
        for t, looked in enumerate(found.argmax(-1).tolist()):
            true = [s for s, u in pair.alignment if u == t]
            if not true:
                continue
            missed = looked not in true
            wrong += missed
            one_off += missed and min(abs(looked - s) for s in true) == 1
            settled += missed and pair.target[t] in ("is", "too")
            the_all += pair.target[t] == "the"
            the_wrong += missed and pair.target[t] == "the"
    return one_off / wrong, settled / wrong, the_wrong / the_all


for name in ["additive", "dot"]:
    beside, settled, the = wrong_links(toy_models.load_toy(name))
    print(f"{name:>9}: of the wrong links {beside:.0%} are one place off, {settled:.0%} are *is* and *too*; "
          f"{the:.0%} of the links of *the* are wrong")  # fmt: skip
after_it = {
    words[1:]
    for p in splits.train
    for words in zip(p.target, p.target[1:], p.target[2:], strict=False)
    if words[0] == "it"
}
print("what follows *it* in the training data:", after_it)
assert wrong_links(looking)[2] > 0.5 and after_it == {("is", "too")}

# %% [markdown]
# With *additive* it is mostly the neighbours, with *dot* more often the words that need nothing. A
# map can be wrong as an alignment while the translation is right. Keep that in mind for lesson 06.

# %% tags=["nbval-ignore-output"]
assert max(table.values()) < guess  # better than a plain diagonal, all of them

# %% [markdown]
# ## 5. What it costs, and what is left
#
# Every written word looks at every word read: $T \times S$ scores. **Predict:** both
# sentences get twice as long. How many more scores?

# %%
for source_length, target_length in [(10, 10), (20, 20), (40, 40)]:
    print(f"{source_length} × {target_length} = {source_length * target_length} scores")

# %% [markdown]
# The thing looked at need not be text. Xu et al. (2015) let a decoder that writes a caption look at
# the regions of a picture: $h_i$ is then a region's vector. Nothing else changes. Our layer cannot
# even tell:

# %%
notebook.set_seed(0)
regions = torch.randn(1, 14 * 14, 512)  # (B, S, D): a grid of 14 × 14 regions
writer_state = torch.randn(1, 128)
context, weights = attention.AdditiveAttention(128, 512, 64)(writer_state, regions)
print("context", tuple(context.shape), "weights", tuple(weights.shape))
assert weights.shape == (1, 196)

# %% [markdown]
# And **waiting**, the first problem of lesson 01? Look at the formula: $\alpha_t$ needs $s_{t-1}$, which
# needs $c_{t-1}$, which needs $\alpha_{t-1}$. **Predict:** four times as many words to write: how many
# times as long does it take?

# %% tags=["nbval-ignore-output"]
source = torch.tensor([src_ids])
seconds = {10: [], 40: [], 160: []}
with torch.inference_mode():
    for _ in range(8):  # the lengths take turns: a machine may be slow for a moment
        for n, times in seconds.items():
            written = torch.tensor([(tgt_ids[:-1] * n)[:n]])
            start = notebook.clock()
            looking.model(source, written)
            times.append(notebook.clock() - start)
seconds = {n: min(times) for n, times in seconds.items()}
for n, least in seconds.items():
    print(f"{n:>3} words: {1000 * least:.1f} ms")
assert seconds[160] > 2 * seconds[40] > 2 * seconds[10]

# %% [markdown]
# Time grows with the number of words. On one core it would do so without any waiting, too. That the
# steps cannot be shared out among many cores is what the formula above says: no step can begin until
# the one before it has ended. **The loop is still there.**
#
# The bottleneck is gone. From a written word to a read word there is now one step, whatever the
# distance; inside each sentence the recurrence, and with it the distance, remains.

# %% [markdown]
# ## Breakout

# %%
exercises.heading("additive_scores")


# %%
def additive_scores(query, keys, w_query, w_key, v):
    """(B, D_q), (B, S, D_k), (D_q, A), (D_k, A), (A,) -> (B, S)"""
    ...


exercises.check("additive_scores", additive_scores)

# %% [markdown]
# Shorter sentences in a batch are filled up with **padding**. A **mask** is False there; those scores
# become −∞, so that their weight is 0.

# %%
exercises.heading("attention_context")


# %%
def attention_context(scores, values, mask=None):
    """(B, S), (B, S, D_v), (B, S) bool -> context (B, D_v), weights (B, S)"""
    ...


exercises.check("attention_context", attention_context)

# %%
exercises.heading("general_scores")


# %%
def general_scores(query, keys, w):
    """(B, D_q), (B, S, D_k), (D_q, D_k) -> (B, S)"""
    ...


exercises.check("general_scores", general_scores)

# %%
exercises.heading("alignment_from_weights")


# %%
def alignment_from_weights(weights):
    """(..., T, S) -> (..., T), for each target word the position it looked at most"""
    ...


exercises.check("alignment_from_weights", alignment_from_weights)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("what_the_score_needs")

# %%
exercises.quiz("where_luong_attends")

# %%
exercises.quiz("cost_of_attention")

# %%
exercises.quiz("bahdanau_shape")

# %%
exercises.quiz("order_of_a_step")

# %%
exercises.quiz("still_sequential")

# %%
exercises.quiz("what_attention_changed")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("alignment_or_attention")

# %%
exercises.quiz("beyond_text")

# %% [markdown]
# ### Going further
#
# Luong et al. also looked at a **window** of source words ("local attention"). Keep only the five places
# around the largest weight, set the others to zero and renormalise: wrap
# `looking.model.decoder.attention.forward`. Does the exact match suffer? With three places? With one?

# %% [markdown]
# ## Myth or fact?
#
# **"Bahdanau's score depends on the decoder alone."** A myth: on the decoder's state *and* on each
# encoder state. Section 1 took each away and lost something. Here is the gradient of one energy with
# respect to both:

# %%
s = state.clone().requires_grad_()
h = encoder_states.clone().requires_grad_()
(torch.tanh(s @ w + h @ u) @ v)[0].backward()
print("with respect to the decoder's state:", s.grad, "\nto the encoder's states:", h.grad[0])
assert s.grad.abs().sum() > 0 and h.grad[0].abs().sum() > 0

# %% [markdown]
# **"Attention solved the parallelism problem of recurrent networks."** A myth: section 5 followed the
# chain, $\alpha_t$ needs $s_{t-1}$, which needs $c_{t-1}$, which needs $\alpha_{t-1}$. Each state waits for
# the one before. What solved it was to drop the recurrence: lesson 03.

# %% [markdown]
# ## Summary
#
# - Keep every encoder state, look at all of them before every word.
# - Energies depend on the decoder's state and on each encoder state; softmax makes weights; the
#   context is the weighted sum.
# - With the same data and rounds the curve against length stays up.
# - A map can be scored against the true alignment.
# - $T \times S$ scores, and still a loop.
#
# | | shape |
# |---|---|
# | decoder state, the query | $(B, D_h)$ |
# | encoder states, the keys and values | $(B, S, D_h)$ |
# | energies, weights | $(B, S)$, over all steps $(B, T, S)$ |
# | context | $(B, D_h)$ |
# | hidden layer of the score | $(B, S, A)$ |
#
# $$c_t = \sum_i \mathrm{softmax}_i\big(v^\top \tanh(W s_{t-1} + U h_i)\big)\, h_i$$
#
# **Lesson 03** lets a sentence look at itself.
#
# **References**
#
# - Bahdanau, Cho, Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and
#   Translate", arXiv:1409.0473.
# - Luong, Pham, Manning (2015), "Effective Approaches to Attention-based Neural Machine Translation",
#   arXiv:1508.04025.
# - Xu et al. (2015), "Show, Attend and Tell", arXiv:1502.03044.
# - Och, Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", Computational
#   Linguistics 29.
