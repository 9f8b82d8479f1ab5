# %% [markdown]
# # Bahdanau attention
#
# Read a French sentence of 25 words, hand back the paper, and write down the English. That's what we asked of the
# network in lesson 01. It failed much as you would have, in fluent English with the wrong animals. A real translator
# keeps the paper on the desk and glances at the part that comes next.
#
# In 2014 Bahdanau, Cho and Bengio let a network glance back. We've trained their model for as long as lesson 01's, on the
# same sentences and from the same **seed**, which fixes the random numbers.

# %% tags=["hide-input"]
# The lesson's tools, and a count of faultless translations by length.
from functools import cache

import torch
from torch import nn

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
# **48 minutes.** Hook, curve and warm-up 7 · 1 one glance back 25 · 2 the whole decoder and its map 10 · 3 cost and
# what's left, with the map of the model 6.
#
# **Draw and leave up**: the four lines of section 1 (score, weights, context, next state). They're today's one idea, and
# every lesson up to 10 uses it again.
#
# **If you're running late**: find the bug in `attention_context` together, aloud. Don't skip the curve, and don't skip
# the loop in section 2.
#
# **Ask**: "Which two vectors does the score compare?" (the decoder's state and one encoder state) · after the
# first reveal of section 2: "The map is nearly a diagonal. Where isn't it, and why?" (where the two languages
# order their words differently) · "What would the decoder look at if the source were a picture?" (its regions,
# one vector each)
#
# **Mistakes to expect**: the score depends on the decoder's state alone · all source words go into the score
# network at once (it's one pair at a time) · the context is the sum of the weights (that sum is always 1) ·
# attention removed the loop.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# Both models on 600 sentences that they haven't seen.
fixed, looking = toy_models.load_toy("gru"), toy_models.load_toy("additive")
curves = {"looking back": exact_by_length("additive"), "fixed context": exact_by_length("gru")}
exercises.reveal("long_sentences_with_attention", measured=sum(curves["looking back"][-2:]) / 2)
axes = plots.labelled_lines(
    range(len(groups)),
    curves,
    x_label="words in the French sentence",
    y_label="without a mistake (%)",
    marker="o",
)
axes.set_xticks(range(len(groups)), [f"{shortest}–{longest}" for shortest, longest in groups])
axes.set_ylim(0, 105)
plots.mark_guess(axes, 4.5, exercises.guess("long_sentences_with_attention"), side="left")
more = looking.n_parameters / fixed.n_parameters - 1
notebook.claim(min(curves["looking back"]) > 85 and max(curves["fixed context"][-2:]) < 40)
notebook.claim(round(more, 2) == 0.14)
notebook.show(
    axes,
    alt="Translations without a mistake against sentence length. With attention the curve stays near 100%; "
    "with a fixed context vector it falls to almost nothing.",
    width=600,
)
notebook.tell(
    f"""The upper curve hardly falls. To look back, the model needed {more:.0%} more parameters. The rest of this
    lesson is about what they do."""
)

# %% [markdown] warm_up=2
# ## 1. Which word do I need now?
#
# In lesson 01 the decoder had a single vector to write from. Now the encoder keeps one state per source word, $h_1,
# \dots, h_S$. It reads in both directions, so each $h_i$ depends on the words on *both* sides.

# %% tags=["hide-input"]
notebook.picture("bidirectional_encoder")

# %% [markdown]
# Before it writes a word, the decoder weighs all these states. Here is the model that we'll build, already trained.

# %% tags=["hide-input"]
# The weights behind the lines.
search = looking.source.encode("un médecin cherche la lettre .", eos=True)
found = looking.target.encode("a doctor looks for the letter .", bos=True)
by_word = looking.model.attention_maps(torch.tensor([search]), torch.tensor([found]))[0]
assert min(by_word[1, 1], by_word[2, 2], by_word[5, 4]) > 0.95
assert by_word[3, 2] > 0.5 and by_word[3, 3] > 0.35
notebook.picture("decoder_looking_back")

# %% [markdown]
# Where do the weights come from? First, every source word is assigned a **score**, a number of any size that should be
# large for the words needed now. Then a **softmax** turns the scores into positive weights that sum to 1. It takes $e$
# to the power of each score and divides by the sum of these powers, so scores of 2, 1 and 0 become weights of 0.67,
# 0.24 and 0.09. Only the differences between scores matter: add 5 to all three, and the weights stay.
#
# The score comes from a small network that sees **one pair** of vectors at a time, the decoder's state $s$ and one
# encoder state $h_i$. Because their entries mean different things, two learned matrices, $W$ and $U$, first turn them
# into vectors that can be added. Here is one step, just after the decoder has written *the*:

# %% tags=["hide-input"]
notebook.picture("bahdanau_step")

# %% [markdown]
# Now in symbols, for the step that writes word $t$: $e$ is a score, $\alpha$ a weight and $c$ the mixture, and $[\,;\,]$
# puts two vectors end to end.
#
# $$\begin{aligned}
# e_{t,i} &= v^\top \tanh(W s_{t-1} + U h_i) && \text{score every source word} \\
# \alpha_{t,i} &= \mathrm{softmax}_i(e_{t,i}) && \text{turn the scores into weights} \\
# c_t &= \textstyle\sum_i \alpha_{t,i}\, h_i && \text{mix the states: the context} \\
# s_t &= \mathrm{GRU}(s_{t-1}, [y_{t-1}; c_t]) && \text{take the step, with the previous word } y_{t-1}
# \end{aligned}$$
#
# You'll meet three names from these lines throughout the course. Think of a search. The **query** is the decoder's
# state, the **keys** are the vectors that it's compared with, and the **values** are what gets mixed. A search would
# return one hit, but attention returns a mixture. Here each encoder state is both a key and a value.
#
# ### Your turn
#
# Write the first of the four lines. Papers write vectors as columns and put the matrix first, $W s$. In code vectors
# are rows, and the matrix comes second, `query @ w_query`.


# %% tags=["exercise"]
def additive_scores(query, keys, w_query, w_key, v):
    """(B, D_q), (B, S, D_k), (D_q, A), (D_k, A), (A,) -> (B, S)"""
    from_query = (query @ w_query)[:, None]  # (B, 1, A): the same for every source word
    from_keys = ...  # ← fill the two gaps: (B, S, A)
    return torch.tanh(from_query + from_keys) @ ...


# %% [markdown]
# A score can be wrong without anybody noticing. The code runs, and the weights still sum to 1. Let's make
# such a mistake on purpose, on three source words with two numbers per state.

# %% tags=["prediction", "hide-input"]
# Leave out each part of the score in turn, at two steps of the decoder.
state = torch.tensor([1.0, 0.0])  # s: (D_h=2,)
encoder_states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # h: (S=3, D_h=2)
w = torch.tensor([[1.0, 0.5], [0.0, 1.0]])  # (D_h, A=2)
u = torch.tensor([[1.0, 0.0], [1.0, -1.0]])
v = torch.tensor([2.0, 1.0])  # (A,)
layer = attention.AdditiveAttention(2, 2, 2)
with torch.no_grad():
    layer.query_proj.weight.copy_(w.T)
    layer.key_proj.weight.copy_(u.T)
    layer.energy.weight.copy_(v[None])
scores = exercises.mine("additive_scores")(state[None], encoder_states[None], w, u, v)[0]
weights_of_layer = layer(state[None], encoder_states[None])[1]  # (1, S)
assert torch.allclose(weights_of_layer[0], scores.softmax(dim=-1), atol=1e-5)
assert scores.argmax() == 0
without_keys = (torch.tanh(state @ w).expand(3, 2) @ v).softmax(-1)
other = torch.tensor([-1.0, 0.5])
ignoring = [(torch.tanh(encoder_states @ u) @ v).softmax(-1) for s in (state, other)]
both = [layer(s[None], encoder_states[None])[1][0].detach() for s in (state, other)]
without_tanh = [((s @ w + encoder_states @ u) @ v).softmax(-1) for s in (state, other)]
exercises.reveal(
    "without_the_decoder_state", measured="frozen" if torch.equal(*ignoring) else "uniform"
)


def written(weights):
    return ", ".join(f"{x:.2f}" for x in weights.tolist())


rows = [
    ["both parts and tanh", *map(written, both)],
    ["without $W s$", *map(written, ignoring)],
    ["without $U h_i$", *[written(without_keys)] * 2],
    ["without tanh", *map(written, without_tanh)],
]
notebook.table(rows, ["the score", "weights at one step", "weights at another"])
assert torch.allclose(*without_tanh, atol=1e-5)
assert torch.allclose(without_keys, torch.full((3,), 1 / 3), atol=1e-5)
assert torch.equal(*ignoring) and not torch.allclose(*both)
notebook.tell(
    """Without $W s$ the weights are stuck, whichever word comes next. Without $U h_i$ every source word counts alike.
    Without tanh, $W s$ adds one number to *all* the scores, which doesn't change a single weight. One test finds all
    three bugs: change an input, and see whether the weights follow."""
)

# %% [markdown]
# ### Your turn: find the bug
#
# The next function covers lines two and three, for a batch of sentences. Short sentences are filled up with padding,
# where `mask` is False. The version below has bugs. Its cell runs it on two sentences, the second only two words long,
# and prints the weights. Look at these weights before you read the code. What's wrong with them?


# %% tags=["exercise"]
def attention_context(scores, values, mask=None):
    """(B, S), (B, S, D_v), (B, S) bool -> context (B, D_v), weights (B, S)"""
    if mask is not None:
        scores = scores.masked_fill(~mask, 0.0)
    weights = scores.softmax(dim=0)
    return (weights[:, None] @ values)[:, 0], weights


two_sentences = torch.tensor([[2.0, 1, 0, 1], [1.0, 3, 9, 9]]), torch.randn(2, 4, 3)
print(attention_context(*two_sentences, torch.tensor([[True] * 4, [True, True, False, False]]))[1])

# %% [markdown]
# ## 2. The whole decoder, and where it looked
#
# Your first function computes the scores, your second the weights and the context, and PyTorch's `GRUCell` takes the
# step to the next $s$. This is the whole decoder, one turn of the loop per word:

# %%
score, mix = exercises.mine("additive_scores"), exercises.mine("attention_context")


class LookingDecoder(nn.Module):
    def forward(self, words, states, mask, s):
        """(B, T), (B, S, D_h), (B, S), (B, D_h) -> states (B, T, D_h), weights (B, T, S)"""
        written, rows = [], []
        for y in self.embedding(words).unbind(1):  # the previous word, (B, E)
            e = score(s, states, self.w, self.u, self.v)  # score every source word, (B, S)
            c, alpha = mix(e, states, mask)  # weigh and mix: (B, D_h), (B, S)
            s = self.gru(torch.cat([y, c], dim=-1), s)  # step on, (B, D_h)
            written.append(s)
            rows.append(alpha)
        return torch.stack(written, dim=1), torch.stack(rows, dim=1)


# %% [markdown]
# We'll load trained parameters into your decoder and let it read a test sentence and its translation. Its attention
# weights make an **alignment map**, with one row per English word (the queries) and one column per French word (the
# keys). The row labelled *red* was computed just before *red* was written.

# %%
pair = next(p for p in splits.test if "rouge" in p.source and 7 <= len(p.source) <= 9)
print(" ".join(pair.source), "→", " ".join(pair.target))


# %% tags=["prediction", "hide-input"]
# The trained weights go into the decoder above.
def with_trained_weights():
    """A `LookingDecoder` with what the course's model has learned."""
    theirs, mine = looking.model.decoder, LookingDecoder()
    mine.embedding = theirs.embedding
    mine.w, mine.u = theirs.attention.query_proj.weight.T, theirs.attention.key_proj.weight.T
    mine.v = theirs.attention.energy.weight[0]
    mine.gru = nn.GRUCell(theirs.rnn.input_size, theirs.rnn.hidden_size)
    mine.gru.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in theirs.rnn.state_dict().items()}
    )
    return mine


((src_ids, tgt_ids),) = looking.encode([pair])
source, given = torch.tensor([src_ids]), torch.tensor([tgt_ids[:-1]])
with torch.inference_mode():
    states, last, real = looking.model.encode(source)
    begin = looking.model.decoder.begin(last)[0]
    steps, maps = with_trained_weights()(given, states, real, begin)
    logits = looking.model.output_proj(steps)
difference = (logits - looking.model(source, given)).abs().max().item()
assert torch.allclose(maps, looking.model.attention_maps(source, given), atol=1e-5)
looked_at = maps[0].argmax(-1)
adjective = pair.target.index("red")
back = int(looked_at[adjective + 1]) - int(looked_at[adjective])
exercises.reveal(
    "where_the_noun_looks", measured="back" if back < 0 else "on" if back > 0 else "same"
)
assert pair.source[looked_at[adjective]] == "rouge" and back == -1 and difference < 1e-3
print(exercises.whose("additive_scores", "attention_context"))
notebook.show(
    plots.attention_heatmap(maps[0], [*pair.target, "<eos>"], [*pair.source, "<eos>"]),
    alt=f"Alignment map of {' '.join(pair.target)}: nearly a diagonal, but red looks at rouge, which "
    "comes after the noun, and the noun looks one place back.",
    width=500,
)
notebook.tell(
    """*red* looks at *rouge*, and the noun after it looks one word *back*. Nobody told the model where French puts
    its adjectives. Looking there made the next word easier to predict, and the loss asks for nothing else."""
)

# %% [markdown]
# A pretty map proves little. In our toy corpus, however, we know which word translates which, so we can mark the map
# like an exam. Link every English word to the French word with the most weight, and count the wrong links. The measure
# is called the **alignment error rate** (Och and Ney 2003). Remember that this model translates nearly every sentence
# without a mistake.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# The maps of 200 test sentences against the true links.
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
notebook.claim(abs(diagonal - 0.55) < 0.005)
notebook.claim(concat_error < 0.5 * error < 0.5 * diagonal)
notebook.tell(
    f"""About one link in four is wrong, although the translations are right. Look at the score again,
    $e_{{t,i}} = v^\\top \\tanh(W s_{{t-1}} + U h_i)$. It uses $s_{{t-1}}$, a state that has *not
    yet read* the word just written. So the query can't tell quite how far
    the sentence has come, and often finds a neighbour of the word it needs. The translation survives, because an encoder state also
    carries information about the words around its own.

    A model that attends **after** its step, in the order of Luong et al. (2015), makes fewer than half as many wrong
    links ({concat_error:.2f} against {error:.2f}). *Going deeper* compares three such models."""
)

# %% [markdown]
# ## 3. What does it cost, and what is left?
#
# Every target word is compared with every source word, which costs $T \times S$ scores. What do these scores buy? Here
# are lesson 01's three problems again.
#
# | problem of recurrent networks | between the two sentences | within each sentence |
# |---|---|---|
# | 1 sequential computation | remains: $\alpha_t$ waits for $s_{t-1}$, which waits for $\alpha_{t-1}$ | remains |
# | 2 everything has to fit into one state (the bottleneck) | solved: one score per pair of words | remains |
# | 3 the distance between positions | solved: one step from any target word to any source word | remains |
#
# Within each sentence a recurrent network is still at work, and **the loop is still there.**

# %% [markdown]
# ### You are here
#
# Here's the whole model at work. Press play, and open the attention at any word. You can now compute every score that
# it shows. While the kernel runs, a press on a weight makes the decoder look there alone. Which word does it write then?

# %% tags=["nbval-ignore-output"]
model_map(looking.trace("le chat noir voit le chien ."), written=2)

# %% [markdown] my_parts=true
# ### What to take away
#
# - The encoder reads in both directions and keeps all its states. Before every word, the decoder attends to all of them.
# - A score compares one query (the decoder's state) with one key (an encoder state) and depends on both.
# - A softmax turns scores into weights; the context is the sum of the *weighted values*.
# - A map can be marked, if we know which word translates which. Good translations can come with poor alignments.
# - Between the sentences, the bottleneck and the distance are gone. The loop over words remains.
#
# $$c_t = \sum_i \mathrm{softmax}_i\big(v^\top \tanh(W s_{t-1} + U h_i)\big)\, h_i$$
#
# English words can now look at French words. Why shouldn't the words of *one* sentence look at each other? **Lesson
# 03** lets a sentence attend to *itself*, and then the loop can go.
#
# <details><summary>Fine print</summary>
#
# Every model here was trained once, with one seed. The two models whose alignment errors we compared differ in more
# than the order of attention and step, so their numbers support the explanation of the lag but don't prove it.
# </details>

# %% [markdown] quiz="winner_by_pencil"
# ## Practice
#
# About half an hour, easiest first.
#
# **Pencil.** The three source words of section 1 have the states (1, 0), (0, 1) and (−1, 0), the decoder's state is
# (1, 0), and `v` is (2, 1). The rows of `w` are (1, 0.5) and (0, 1), those of `u` (1, 0) and (1, −1). Compute what goes
# *into* the tanh, `s @ w + h @ u`, for each word. You needn't compute the tanh itself, because a larger number always
# has a larger tanh. Which word wins?

# %%
scores = exercises.mine("additive_scores")(state[None], encoder_states[None], w, u, v)[0]
print("scores: ", [round(e, 2) for e in scores.tolist()])
print("weights:", [round(a, 2) for a in scores.softmax(dim=-1).tolist()])

# %% [markdown]
# Here is section 2's sentence again. Click on another French word to make the decoder look there, or type a sentence
# of your own.

# %% quiz="what_the_score_needs still_sequential bahdanau_shape order_of_a_step"
BahdanauStepper(looking.model, looking.source, looking.target, " ".join(pair.source))


# %% tags=["exercise"] quiz="where_luong_attends what_attention_changed"
def general_scores(query, keys, w):
    """(B, D_q), (B, S, D_k), (D_q, D_k) -> (B, S)"""
    ...


# %% [markdown] quiz="alignment_or_attention beyond_text"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ### The course's version of the whole layer
#
# $U h$ doesn't change while a sentence is translated, so it's computed once and passed in as `projected_keys`.

# %%
notebook.show_source(attention.AdditiveAttention.forward)

# %% [markdown]
# To train the model yourself, run `toy_models.train_toy("additive", splits)`, which takes a few minutes.
#
# ### Luong's three scores
#
# Bahdanau's decoder looks and then steps. Luong et al. (2015) turned this round. Their decoder steps first, then
# attends with the new state $s_t$, and predicts the word from context and state together, $\tilde h_t = \tanh(W_c
# [c_t; s_t])$. In their best models the next step also reads $\tilde h_t$, which tells it where the decoder has
# already looked. They call this **input feeding**. Our models leave it out, so that all recurrent steps can run
# before any attention. Here are the paper's three scores, and Bahdanau's for comparison:
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
notebook.claim(max(table.values()) < diagonal)
notebook.claim(toy_models.load_toy("dot").n_parameters < fixed.n_parameters)

# %% [markdown]
# All four models translate long sentences almost without a mistake, so what they write doesn't tell them apart. Look at
# their maps and their parameters. In the last three models no context enters the GRU, which makes its matrices narrower.
# *dot* has even fewer parameters than lesson 01's model, which had no attention at all.

# %% [markdown]
# ### Hard attention
#
# Picking the single best state sounds simpler than mixing them all. But nudge a score a little, and the pick doesn't
# change, so there's no gradient. Such **hard attention** can't be trained by backpropagation alone. Xu et al. (2015)
# used REINFORCE, a method of reinforcement learning that tries picks at random and favours those that turned out well.
#
# Their model wrote captions and attended to the regions of a picture, laid out in a grid. Our layer can attend to such
# a grid, too:

# %%
notebook.set_seed(0)
regions = torch.randn(1, 14 * 14, 512)  # (B, S, D): a grid of 14 × 14 regions
writer_state = torch.randn(1, 128)
context, weights = attention.AdditiveAttention(128, 512, 64)(writer_state, regions)
print("context", tuple(context.shape), "weights", tuple(weights.shape))

# %% tags=["hide-input"]
assert weights.shape == (1, 196) and context.shape == (1, 512)

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
