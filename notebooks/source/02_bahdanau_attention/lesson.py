# %% [markdown]
# # Bahdanau attention
#
# Somebody shows you a French sentence of 25 words, takes the paper away, and asks for the English. That's
# what we asked the network in lesson 01 to do, and it failed as you would: it remembered the gist and lost
# the details. When you really translate, you keep the paper in front of you, and before you write a word, you
# look back at the part you need.
#
# In 2014 Bahdanau, Cho and Bengio let a network do the same. Below are lesson 01's model and one that's
# allowed to look back, trained on the same sentences for the same number of epochs from the same seed.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
from functools import cache

from IPython.display import display
import torch

from helpers import exercises, plots
from helpers.training import metrics
from helpers.transformer import attention
from helpers.pretrained import toy_models
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.model_map import model_map

splits = toy_models.toy_data()
test = splits.test[:600]
groups = [(4, 8), (9, 12), (13, 16), (17, 20), (21, 30), (31, 40)]


@cache
def exact_by_length(name):
    """For each group of lengths, the share translated without a mistake, in percent."""
    written = toy_models.load_toy(name).translate([pair.source for pair in test])
    shares = []
    for shortest, longest in groups:
        chosen = [i for i, p in enumerate(test) if shortest <= len(p.source) <= longest]
        wanted = [" ".join(test[i].target) for i in chosen]
        shares.append(100 * metrics.exact_match([written[i] for i in chosen], wanted))
    return shares


# %% [markdown] tags=["notes"]
# **41 minutes.** Hook, curve and warm-up 5 · 1 the score 24 · 2 the map 9 · 3 cost and what's left 3.
#
# **Say first**: there's one idea today. The decoder compares its state with every source word, turns the
# scores into weights, and mixes the words' vectors. Every lesson up to 10 uses this idea again.
#
# **Analogies that work**: listening to a recording that you can rewind to any part · following a recipe with
# a finger on the current line.
#
# **If you're running late**: skip the stepper, leave the second prediction of section 2 for home, and solve
# section 1's find-the-bug exercise together, aloud. Don't skip the curve.
#
# **Ask**: "Which two vectors does the score compare?" (the decoder's state and one encoder state) · after the
# first reveal of section 2: "The map is nearly a diagonal. Where isn't it, and why?" (where the two languages
# order their words differently) · "What would the decoder look at if the source were a picture?" (its regions,
# one vector each)
#
# **Mistakes to expect**: the score depends on the decoder's state alone · all source words go into the score
# network at once (it's one pair at a time) · the context is the sum of the weights (that sum is always 1) ·
# attention removed the loop.

# %%
fixed, looking = toy_models.load_toy("gru"), toy_models.load_toy("additive")
print(f"lesson 01's model {fixed.n_parameters:,} parameters, with looking back "
      f"{looking.n_parameters:,}")  # fmt: skip

# %%
exercises.predict("long_sentences_with_attention")

# %% tags=["hide-input", "nbval-ignore-output"]
curves = {"looking back": exact_by_length("additive"), "fixed context": exact_by_length("gru")}
exercises.reveal("long_sentences_with_attention", measured=sum(curves["looking back"][-2:]) / 2)
axes = plots.labelled_lines(
    range(len(groups)),
    curves,
    x_label="words in the French sentence",
    y_label="exact match (%)",
    marker="o",
)
axes.set_xticks(range(len(groups)), [f"{shortest}–{longest}" for shortest, longest in groups])
axes.set_ylim(0, 105)
plots.mark_guess(axes, 4.5, exercises.guess("long_sentences_with_attention"), side="left")
assert min(curves["looking back"]) > 85 and max(curves["fixed context"][-2:]) < 40
assert round(looking.n_parameters / fixed.n_parameters, 2) == 1.14
display(
    notebook.figure(
        axes,
        alt="Exact match against sentence length. With attention the curve stays near 100 %; with a fixed "
        "context vector it falls to almost nothing.",
        width=600,
    )
)
notebook.tell(
    """With attention, the curve hardly falls. The model has only 14% more parameters, but the bottleneck of
    lesson 01 is gone, because the decoder can look up each word when it needs it."""
)

# %% [markdown]
# How does a network look something up?

# %%
exercises.warm_up(2)

# %% [markdown]
# ## 1. Which word do I need now?
#
# In lesson 01 the decoder had to manage with a single vector. Now the encoder keeps all its states, one per
# source word: $h_1, \dots, h_S$. Before each word that it writes, the decoder gives every one of them a weight.
# Here's the model that we're about to build, already trained. The thicker a line, the larger the weight:

# %% tags=["hide-input"]
search = looking.source.encode("un médecin cherche la lettre .", eos=True)
found = looking.target.encode("a doctor looks for the letter .", bos=True)
by_word = looking.model.attention_maps(torch.tensor([search]), torch.tensor([found]))[0]
assert min(by_word[1, 1], by_word[2, 2], by_word[5, 4]) > 0.95
assert by_word[3, 2] > 0.5 and by_word[3, 3] > 0.35
notebook.picture("decoder_looking_back")

# %% [markdown]
# Nearly all the weight of *doctor* is on *médecin*. But *for* has no French word of its own, so it gives 57% to
# *cherche* and 42% to *la*. Where do these weights come from?
#
# The decoder has a state as well, $s$, and it needs one number per source word that says how useful that word is
# *right now*. So we build a small network that takes **one pair** at a time, the decoder's state and one encoder
# state, and returns one number, the **energy** or **score**. Here's a single step of the same model on another
# sentence. It has written *the* and shares its weight between two words. The matrices $W$ and $U$ and the vector $v$
# are the parameters of the small network, and for *noir* you can see what it computes:

# %% tags=["hide-input"]
notebook.picture("bahdanau_step")

# %% [markdown]
# Now the same step in symbols. Before word $t$ is written, the decoder's state is $s_{t-1}$, and source word $i$
# gets the score
#
# $$e_{t,i} = v^\top \tanh(W s_{t-1} + U h_i).$$
#
# The two states come from two different networks, so we can't expect their entries to mean the same thing. $W$ and
# $U$ turn both into vectors of the same kind, which can be added, and $v$ turns the result into one number. A softmax
# over the source words turns the scores into **weights** $\alpha_{t,i}$, and the weighted sum of the encoder states
# is the **context**, $c_t = \sum_i \alpha_{t,i} h_i$.
#
# You'll need three names for the rest of the course. The decoder's state, which is compared with all source
# words, is the **query**. The vectors that it's compared with are the **keys**. The vectors that are mixed
# are the **values**. Here the keys and the values are the same encoder states.
#
# ### Your turn
#
# $W$, $U$ and $v$ are trained with everything else. Papers write vectors as columns, $W s$. In code they're
# rows, so we write `state @ w`.

# %% tags=["hide-input"]
exercises.heading("additive_scores")


# %%
def additive_scores(query, keys, w_query, w_key, v):
    """(B, D_q), (B, S, D_k), (D_q, A), (D_k, A), (A,) -> (B, S)"""
    from_query = (query @ w_query)[:, None]  # (B, 1, A): the same for every source word
    from_keys = ...  # ← fill the two gaps: (B, S, A)
    return torch.tanh(from_query + from_keys) @ ...


# %% tags=["hide-input"]
exercises.check("additive_scores", additive_scores)

# %% [markdown]
# Here's an example that's small enough for pencil and paper, with three source words and states of two
# numbers.

# %%
state = torch.tensor([1.0, 0.0])  # s: (D_h=2,)
encoder_states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # h: (S=3, D_h=2)
w = torch.tensor([[1.0, 0.5], [0.0, 1.0]])  # (D_h, A=2)
u = torch.tensor([[1.0, 0.0], [1.0, -1.0]])
v = torch.tensor([2.0, 1.0])  # (A,)

# %% [markdown]
# **Pencil (3 min).** Compute what goes *into* the tanh, `s @ w + h @ u`, for each of the three words. Then
# tanh is applied to both entries, and the dot product with $v$ gives the score. You don't need a calculator
# to see which word wins.

# %%
exercises.predict("winner_by_pencil")

# %%
energies = torch.tanh(state @ w + encoder_states @ u) @ v  # (S,)
weights = energies.softmax(dim=-1)  # (S,)
context = weights @ encoder_states  # (S,) @ (S, D_h) -> (D_h,)

# %% tags=["hide-input"]
winner = ["first", "second", "third"][int(weights.argmax())]
exercises.reveal("winner_by_pencil", measured=winner)
print("into the tanh:", (state @ w + encoder_states @ u).tolist())
print("energies:", [round(e, 2) for e in energies.tolist()])
print("weights: ", [round(x, 2) for x in weights.tolist()])
parts = [
    f"{x:.3f}·({a:.0f}, {b:.0f})"
    for x, (a, b) in zip(weights.tolist(), encoder_states.tolist(), strict=True)
]
total = ", ".join(f"{x:.3f}" for x in context.tolist())
print("context: ", " + ".join(parts).replace("-", "−"), f"= ({total})")
assert winner == "first"
layer = attention.AdditiveAttention(2, 2, 2)
with torch.no_grad():
    layer.query_proj.weight.copy_(w.T)
    layer.key_proj.weight.copy_(u.T)
    layer.energy.weight.copy_(v[None])
theirs, their_weights = layer(state[None], encoder_states[None])  # (1, D_h), (1, S, D_h)
torch.testing.assert_close(their_weights[0], weights)
torch.testing.assert_close(theirs[0], context)

# %% [markdown]
# The score has two ingredients, $W s$ from the decoder and $U h_i$ from the encoder. Suppose you forgot
# one of them. The code would still run, so would you notice?

# %%
exercises.predict("without_the_decoder_state")

# %% tags=["hide-input"]
without_keys = (torch.tanh(state @ w).expand(3, 2) @ v).softmax(-1)
other = torch.tensor([-1.0, 0.5])
ignoring = [(torch.tanh(encoder_states @ u) @ v).softmax(-1) for s in (state, other)]
both = [layer(s[None], encoder_states[None])[1][0].detach() for s in (state, other)]
without_tanh = [((s @ w + encoder_states @ u) @ v).softmax(-1) for s in (state, other)]
exercises.reveal(
    "without_the_decoder_state", measured="frozen" if torch.equal(*ignoring) else "uniform"
)
print("without U h (the encoder's part):", [round(x, 2) for x in without_keys.tolist()])
print("without W s (the decoder's part):", [round(x, 2) for x in ignoring[0].tolist()], "always")
print("with both, at two steps:", *[[round(x, 2) for x in b.tolist()] for b in both])
print("without tanh, at two steps:", *[[round(x, 2) for x in b.tolist()] for b in without_tanh])
torch.testing.assert_close(*without_tanh)
torch.testing.assert_close(without_keys, torch.full((3,), 1 / 3))
assert torch.equal(*ignoring) and not torch.allclose(*both)
notebook.tell(
    """Without $U h_i$ every source word gets the same weight, and without $W s$ the weights never change from
    step to step. So a score has to depend on both, and you can test that: change the decoder's state, then
    change the encoder's states, and see whether the weights change each time.

    The same test shows what the tanh is for. Without it, $W s$ adds the same number to every score, and a softmax
    doesn't change when all scores grow by the same amount. So the weights never change either."""
)

# %% [markdown]
# ### Your turn: find the bug
#
# Sentences in a batch have different lengths, so the shorter ones are filled with padding, which must not get
# any weight. The `mask` is False at the padding. The function below has two mistakes, and you met one of them
# in lesson 00.

# %% tags=["hide-input"]
exercises.heading("attention_context")


# %%
def attention_context(scores, values, mask=None):
    """(B, S), (B, S, D_v), (B, S) bool -> context (B, D_v), weights (B, S)"""
    if mask is not None:
        scores = scores.masked_fill(~mask, 0.0)
    weights = scores.softmax(dim=0)
    return (weights[:, None] @ values)[:, 0], weights


# %% tags=["hide-input"]
exercises.check("attention_context", attention_context)

# %% [markdown]
# ## 2. Where did it look?
#
# Every step of the decoder computes one row of weights. Together the rows form an **alignment map**, with a
# row per written word (the queries) and a column per word of the source (the keys). The row labelled *red* was
# computed before *red* was written, because its query is the decoder's state at that moment. Here's a sentence
# and its translation.

# %%
pair = next(p for p in splits.test if "rouge" in p.source and 7 <= len(p.source) <= 9)
print(" ".join(pair.source), "→", " ".join(pair.target))

# %% [markdown]
# Compare two neighbouring rows of its map, the row of *red* and the row of the noun that comes after it.

# %%
exercises.predict("where_the_noun_looks")

# %% tags=["hide-input"]
((src_ids, tgt_ids),) = looking.encode([pair])
maps = looking.model.attention_maps(torch.tensor([src_ids]), torch.tensor([tgt_ids[:-1]]))
looked_at = maps[0].argmax(-1)
adjective = pair.target.index("red")
noun = adjective + 1
back = int(looked_at[noun]) - int(looked_at[adjective])
exercises.reveal(
    "where_the_noun_looks", measured="back" if back < 0 else "on" if back > 0 else "same"
)
assert pair.source[looked_at[adjective]] == "rouge" and back == -1
display(
    notebook.figure(
        plots.attention_heatmap(maps[0], [*pair.target, "<eos>"], [*pair.source, "<eos>"]),
        alt=f"Alignment map of {' '.join(pair.target)}: nearly a diagonal, but red looks at rouge, which "
        "comes after the noun, and the noun looks one place back.",
        width=500,
    )
)
notebook.tell(
    """*red* attends to *rouge*, and the noun attends one place further *back*. Nobody told the model about
    French adjectives. It learned where to look only because looking there made the next word easier to
    predict."""
)

# %%
BahdanauStepper(looking.model, looking.source, looking.target, " ".join(pair.source))

# %% [markdown]
# Play it step by step, from energies to weights, context and next word. Or type a sentence of your own.
#
# A convincing map doesn't prove much, though. Fortunately we know which word translates which in our toy
# corpus, so instead of just looking at the maps we can score them. We link every English word to the French
# word it gives the most weight, and count the wrong links. That's the **alignment error rate** (Och and Ney
# 2003): 0 is perfect.
#
# ### Your turn (3 min)

# %% tags=["hide-input"]
exercises.heading("alignment_from_weights")


# %%
def alignment_from_weights(weights):
    """(..., T, S) -> (..., T), for each target word the position with the largest weight"""
    ...


# %% tags=["hide-input"]
exercises.check("alignment_from_weights", alignment_from_weights)

# %% [markdown]
# If we simply linked the words in order, along the diagonal, the error rate would be 0.55. The model itself
# translates almost every test sentence without a mistake.

# %%
exercises.predict("alignment_error_of_the_model")


# %% tags=["hide-input", "nbval-ignore-output"]
marked = splits.test[:200]


@cache
def maps_of(name):
    """A map (target_len, source_len) per marked pair, without the end of the sentence."""
    toy, found = toy_models.load_toy(name), []
    for pair in marked:
        ((src_ids, tgt_ids),) = toy.encode([pair])
        weights = toy.model.attention_maps(torch.tensor([src_ids]), torch.tensor([tgt_ids[:-1]]))
        found.append(weights[0, :-1, :-1])
    return found


alignments = [p.alignment for p in marked]
error = metrics.alignment_error_rate(maps_of("additive"), alignments)
diagonal = metrics.alignment_error_rate(
    [torch.eye(len(p.target), len(p.source)) for p in marked], alignments
)
concat_error = metrics.alignment_error_rate(maps_of("concat"), alignments)
exercises.reveal("alignment_error_of_the_model", measured=error)
print(
    f"diagonal {diagonal:.2f}, this model {error:.2f}, a model that looks later {concat_error:.2f}"
)
assert abs(diagonal - 0.55) < 0.005
assert concat_error < 0.5 * error < 0.5 * diagonal
notebook.tell(
    """About a quarter of the links are wrong, although the translations are right. How can that be? Look at
    the formula again: the score of step $t$ uses the state $s_{t-1}$, which has *not yet read* the word
    that was just written. The query is always one word behind, so the model often attends to a neighbour of
    the word it needs. An encoder state also contains information about the words next to it, so a neighbour
    can be good enough.

    Other models support this explanation. Luong et al. (2015) proposed to attend **after** the decoder's
    state has read the last written word. *Going deeper* has three models that do so, and all three make
    fewer wrong links: 0.10, 0.12 and 0.16 instead of 0.27. They differ in other ways too, and each was
    trained only once, with one seed."""
)

# %% [markdown]
# ## 3. What does it cost, and what is left?
#
# Every target word is compared with every source word, so there are $T \times S$ scores. That's the cost.
# What do we gain?

# %%
exercises.predict("what_attention_solved")

# %% tags=["hide-input", "nbval-ignore-output"]
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
growing = seconds[160] > 2 * seconds[40] > 2 * seconds[10]
exercises.reveal("what_attention_solved", measured="waiting" if growing else "none")
for n, least in seconds.items():
    print(f"{n:>3} words written: {1000 * least:.1f} ms")
assert growing
notebook.tell(
    r"""The time still grows with the number of words. Follow the formula backwards: $\alpha_t$ needs $s_{t-1}$,
    which needs $c_{t-1}$, which needs $\alpha_{t-1}$. So no step can begin before the previous one has
    ended, however many cores you have. **The loop is still there.** From a target word to a source word
    it's now a single step, whatever the distance. But within each sentence the recurrence remains."""
)

# %% [markdown]
# ### You are here
#
# Here's the whole model of this lesson as it translates one sentence. Press play, and open the attention at
# any word. You now know how to compute every score you see.

# %% tags=["nbval-ignore-output"]
model_map(looking.trace("le chat noir voit le chien ."), written=2)

# %% [markdown]
# ### What to take away
#
# - The encoder keeps all its states. Before every word, the decoder attends to all of them.
# - A score compares one query (the decoder's state) with one key (an encoder state) and depends on both.
# - A softmax turns scores into weights, and the context is the sum of the *weighted values*.
# - The bottleneck is gone, so nearly all long sentences are translated without a mistake.
# - You can score an attention map against the true alignment, and a model can translate well even if its maps
#   are poor alignments.
# - Attention computes $T \times S$ scores, and the loop over words remains.
#
# $$c_t = \sum_i \mathrm{softmax}_i\big(v^\top \tanh(W s_{t-1} + U h_i)\big)\, h_i$$
#
# **Lesson 03** asks whether a sentence can attend to *itself*. If it can, we no longer need the loop.

# %% [markdown]
# # Practice
#
# About half an hour, the easiest first.

# %%
exercises.quiz("what_the_score_needs")

# %%
exercises.quiz("still_sequential")

# %%
exercises.quiz("bahdanau_shape")

# %%
exercises.quiz("order_of_a_step")

# %%
exercises.quiz("cost_of_attention")

# %% tags=["hide-input"]
exercises.heading("general_scores")


# %%
def general_scores(query, keys, w):
    """(B, D_q), (B, S, D_k), (D_q, D_k) -> (B, S)"""
    ...


# %% tags=["hide-input"]
exercises.check("general_scores", general_scores)

# %%
exercises.quiz("where_luong_attends")

# %%
exercises.quiz("what_attention_changed")

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("alignment_or_attention")

# %%
exercises.quiz("beyond_text")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## The course's version of the whole layer
#
# `projected_keys` is $U h$. It stays the same for every step of a sentence, so it can be computed once and
# passed in.

# %%
notebook.show_source(attention.AdditiveAttention.forward)

# %% [markdown]
# To train the model yourself, run `toy_models.train_toy("additive", splits)`, which takes a few minutes.
#
# ## Luong's three scores
#
# In the models of Luong et al. (2015), the decoder takes its recurrent step first and attends *afterwards*,
# with the new state $s_t$. It predicts the word from the context and the state together, $\tilde h_t =
# \tanh(W_c [c_t; s_t])$. The authors compared three scores.
#
# | score | formula | needs |
# |---|---|---|
# | additive (Bahdanau) | $v^\top \tanh(W s_{t-1} + U h_i)$ | two matrices, one vector |
# | dot | $s_t^\top h_i$ | no parameters, but equal widths |
# | general | $s_t^\top W h_i$ | one matrix |
# | concat | $v^\top \tanh(W [s_t; h_i])$ | one matrix twice as wide, one vector |

# %% tags=["hide-input", "nbval-ignore-output"]
table = {}
print(f"{'score':>9} {'parameters':>11} {'exact > 20':>11} {'alignment error':>16}")
for name in ["additive", "dot", "general", "concat"]:
    toy = toy_models.load_toy(name)
    long = exact_by_length(name)[-2:]
    table[name] = metrics.alignment_error_rate(maps_of(name), alignments)
    print(f"{name:>9} {toy.n_parameters:>11,} {sum(long) / 2:>9.0f} % {table[name]:>16.2f}")
assert max(table.values()) < diagonal
assert toy_models.load_toy("dot").n_parameters < fixed.n_parameters

# %% [markdown]
# All four translate long sentences almost without a mistake, but their maps agree with the true alignment to
# different degrees. Each model was trained only once, with one seed, so the order of the four could be
# different next time. That includes the order of *additive* and *concat*, whose formulas are practically the
# same, although one attends before the recurrent step and the other after it. *dot* has fewer parameters than even
# lesson 01's model, because in Luong's decoder no context enters the GRU, so its matrices are narrower.
#
# Where do the wrong links come from? Some point to a neighbour of the right word, for the reason given in
# section 2. Others belong to words that need nothing from the source. In this corpus *it* is always followed
# by *is too*, so when the model writes *is* or *too*, it doesn't matter where its weight goes.


# %% tags=["hide-input"]
def wrong_links(name):
    """Of the wrong links, the shares one place off and of "is" and "too"."""
    one_off, settled, wrong = 0, 0, 0
    for pair, found in zip(marked, maps_of(name), strict=True):
        for t, looked in enumerate(found.argmax(-1).tolist()):
            true = [s for s, u in pair.alignment if u == t]
            if true and looked not in true:
                wrong += 1
                one_off += min(abs(looked - s) for s in true) == 1
                settled += pair.target[t] in ("is", "too")
    return one_off / wrong, settled / wrong


shares = {name: wrong_links(name) for name in ("additive", "dot")}
for name, (beside, settled) in shares.items():
    print(
        f"{name:>9}: {beside:.0%} of the wrong links are one place off, {settled:.0%} are is and too"
    )
assert shares["additive"][0] > shares["dot"][0] and shares["additive"][1] < shares["dot"][1]

# %% [markdown]
# ## Hard attention
#
# Why mix all states instead of picking the best one? Because a small change of the scores usually doesn't
# change which state is picked, so the gradient is zero. Hard attention can't be trained by backpropagation
# alone. It can be trained with reinforcement learning (REINFORCE), and Xu et al. (2015) did so for image
# captions, where the source isn't a text but the regions of a picture. Our layer works for pictures without
# any change:

# %%
notebook.set_seed(0)
regions = torch.randn(1, 14 * 14, 512)  # (B, S, D): a grid of 14 × 14 regions
writer_state = torch.randn(1, 128)
context, weights = attention.AdditiveAttention(128, 512, 64)(writer_state, regions)
print("context", tuple(context.shape), "weights", tuple(weights.shape))

# %% tags=["hide-input"]
assert weights.shape == (1, 196) and context.shape == (1, 512)

# %% [markdown]
# ## Myth or fact?
#
# **"Bahdanau's score depends on the decoder alone."** A myth, as section 1 showed by leaving out each part in
# turn.
#
# **"The context is the sum of the weights."** A myth. The sum of the weights is always 1. The context is the
# sum of the *weighted states*.
#
# **"All encoder states go into the score network together."** A myth. The score network gets one pair at a
# time, the decoder's state and one $h_i$. Only the softmax gets all the scores.
#
# **"Attention solved the parallelism problem of recurrent networks."** A myth. Dropping the recurrence solved
# it, which is what lesson 03 does.
#
# ## Try it yourself
#
# Luong et al. also tried a *window* of source words ("local attention"). Keep only the five positions around
# the largest weight, set the others to zero and renormalise. Does the model get fewer sentences exactly
# right? What about three positions, or only one?

# %% [markdown]
# **References**
#
# - Bahdanau, Cho, Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and
#   Translate", arXiv:1409.0473.
# - Luong, Pham, Manning (2015), "Effective Approaches to Attention-based Neural Machine Translation",
#   arXiv:1508.04025.
# - Xu et al. (2015), "Show, Attend and Tell", arXiv:1502.03044.
# - Och, Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", Computational
#   Linguistics 29.
