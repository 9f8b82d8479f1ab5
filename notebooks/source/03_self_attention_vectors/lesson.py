# %% [markdown]
# # Self-attention with vectors
#
# *She sat on the **bank** of the river. She paid the money into the **bank**.*
#
# You read *bank* as two different words. A language model starts from one vector for both. Six layers later the two
# point in different directions: their cosine similarity has fallen from 1 to 0.82.
#
# What drove them apart? Let's hide a word of the first sentence from *bank*. Do the two vectors move closer together?

# %% tags=["hide-input"]
# The lesson's tools, and MiniLM, the model that reads the two sentences.
import math
import random

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from helpers import exercises, plots
from helpers.transformer import attention
from helpers.data import corpus
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.toy_models import load_toy
from helpers.pretrained.translator import load_translator
from helpers.training.optimizers import Adam
from helpers.widgets.dot_products import DotProducts
from helpers.widgets.kernel_regression import KernelRegression
from helpers.widgets.model_map import model_map
from helpers.widgets.six_steps import SixSteps
from helpers.widgets.softmax_scale import SoftmaxTemperature

minilm = load_minilm()
river, money = "She sat on the bank of the river.", "She paid the money into the bank."


@torch.no_grad()
def vector_of(word, text, hidden=None, attend=True):
    """A word's vector after the last layer; the word isn't allowed to attend to `hidden`."""
    tokens, ids = minilm.tokens(text), minilm.encode([text])
    allowed = torch.full((1, 1, len(tokens), len(tokens)), attend)
    allowed[..., tokens.index(word), :] &= torch.tensor([token != hidden for token in tokens])
    model = minilm.model
    x = model.embedding(ids) + model.segments(torch.zeros_like(ids))
    x = model.norm(x + model.positions(ids.shape[1]))
    for layer in model.layers:
        x = layer(x, allowed)
    return x[0, tokens.index(word)]


def similarity_of_banks(hidden=None, attend=True):
    left = vector_of("bank", river, hidden, attend)
    right = vector_of("bank", money, attend=attend)
    return F.cosine_similarity(left, right, dim=0).item()


def plane(ax, arrows, colour, names=(), offset=(6, 4)):
    """Draw vectors (N, 2) as arrows from the middle, with their names at the ends."""
    for (across, up), name in zip(arrows.tolist(), names or [""] * len(arrows), strict=True):
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (across, up), (0, 0), arrowprops=arrow)
        ax.annotate(name, (across, up), xytext=offset, textcoords="offset points", color=colour)


def empty_plane(ax, title, across, up, x_name="", y_name=""):
    """Two axes through the middle, each named at its end."""
    ax.axhline(0, color=plots.GREY, linewidth=0.8)
    ax.axvline(0, color=plots.GREY, linewidth=0.8)
    ax.set(xlim=across, ylim=up, aspect="equal", title=title, xticks=[], yticks=[])
    ax.annotate(x_name, (across[1], 0), xytext=(0, -16), textcoords="offset points", ha="right",
                color=plots.GREY)  # fmt: skip
    ax.annotate(y_name, (0, up[1]), xytext=(6, -12), textcoords="offset points", color=plots.GREY)
    ax.spines[["left", "bottom"]].set_visible(False)


# %% [markdown] tags=["notes"]
# **43 minutes.** Hook, first vote and warm-up 7 · 1 films and viewers 3 · 2 every word looks at every word 10 · 3 a
# question of its own 14 · 4 learned arrows 5 · 5 the pencil 4. *Practice* is for home.
#
# **The first vote** is the one to argue about. Few people expect that the word that matters most has less than an even
# share of the weight. Ask what else a vector needs to make a difference (it has to differ between the two sentences).
#
# **Draw one picture and leave it up**: the plane of section 3, nouns to the right, adjectives upwards. In section 2
# *car* and *red* stand at right angles on it. In section 3 one matrix turns *car* upwards. In section 4 the model
# draws the same picture by itself.
#
# **Votes**: two minutes each, discuss in pairs, vote again.
#
# **Ask**
#
# - In section 1: "Two minuses multiply to a plus. What does that mean for a viewer?" (a viewer who avoids horror
#   gains from a film that is the opposite of frightening)
# - After section 2: "This attention has nothing to train. What would you train?" (what a word looks for)
# - In section 3: "Which of the three vectors would you change so that *stops* passes on its tense?" (its value; its
#   key only decides which words find it)
# - In section 4: "Why can no even mixture answer the question?" (it's the same mixture whichever noun you ask about)
#
# **Mistakes to expect, and what to say**
#
# - *Queries, keys and values are the input vectors.* Only in section 2, and there it failed.
# - *The weights multiply the keys.* They multiply the values. The key says that *red* is an adjective, which is
#   no use to *car*. The value holds the colour.
# - *A word always attends to itself most.* With matrices nothing guarantees that. Show the weight of *the* on itself in
#   section 5.
# - *The score in section 5 is 1.* The vector of *cat* was used as it is, without $W_K$. If the answer has
#   decimals, it has already been divided by $\sqrt 3$.
#
# **If you're running late**: work out section 5's score together on the board, and tell the shiny car instead of voting,
# which saves four minutes. Don't skip `attend`: every lesson up to 10 calls it by another name.

# %% tags=["hide-input"]
# The measurement: one word hidden at a time.
without = {word: similarity_of_banks(hidden=word) for word in ("she", "sat", "on", "of", "river")}
nothing_hidden, no_attention = similarity_of_banks(), similarity_of_banks(attend=False)
assert abs(nothing_hidden - 0.82) < 0.01 and max(without, key=without.get) == "river"
assert without["river"] > 0.9 and no_attention > 0.99
shown = [f"{s:.2f}" for s in (nothing_hidden, *without.values())]
notebook.table([["similarity of the banks", *shown]], ["hidden from *bank*", "nothing", *without])
notebook.tell(
    """Hide *river* and half of the gap closes. With attention switched off, the two vectors are practically
    identical (0.996)."""
)


# %% tags=["prediction", "hide-input"]
# The weights of bank, averaged over layers and heads.
def weights_of_bank(text):
    """The tokens, and the mean share of bank's attention that each gets, in percent."""
    tokens = minilm.tokens(text)
    maps = minilm.attend(text).maps["encoder"][0]  # (layers, heads, T, T)
    return tokens, 100 * maps[:, :, tokens.index("bank")].mean((0, 1))


(tokens, by_river), (_, by_money) = weights_of_bank(river), weights_of_bank(money)
on_river = by_river[tokens.index("river")].item()
exercises.reveal("weight_on_river", measured=on_river)
assert on_river < 100 / len(tokens) and by_river.argmax() == by_money.argmax() == 0
assert abs(by_river[0] - by_money[0]) < 3
fig, axes = plt.subplots(figsize=(7.2, 2.6))
drawn = axes.bar(range(len(tokens)), by_river.tolist(), color=plots.PURPLE, width=0.62)
axes.bar_label(drawn, [f"{share:.0f}" for share in by_river.tolist()], padding=2)
axes.set_xticks(range(len(tokens)), tokens)
axes.set(yticks=[], title="where bank looks, % of its weight")
axes.spines["left"].set_visible(False)
axes.margins(y=0.15)
plots.mark_guess(axes, tokens.index("river"), exercises.guess("weight_on_river"))
notebook.show(
    fig,
    alt="Bars: the mean share of bank's weight on each of eleven tokens. [CLS] has 62%, river 6%, and "
    "no other token has more than 5%.",
    width=600,
)
notebook.tell(
    f"""*river* makes half of the difference with {on_river:.0f}% of the weight, less than an even share among
    {len(tokens)} tokens. Most weight is on [CLS], no word but a marker that MiniLM puts in front of every text. But the
    other *bank* looks there just as much ({by_money[0]:.0f}%), so [CLS] doesn't set the two apart. A weight says how much
    is taken, not what difference it makes."""
)

# %% [markdown] warm_up=3
# ## 1. A number for how well two things match
#
# A film service stores two numbers per film, how funny it is and how frightening. It stores two per viewer, how much
# they enjoy a laugh and a fright (negative if they avoid it). Will this viewer like that film? Multiply the two
# numbers for laughs and those for frights, and add the products. This is the **dot product**. Minus times minus is
# plus: a viewer with −2 for frights gains 4 from a cosy film with −2.
#
# Below, the viewer is an arrow called *query*, and two films are *keys*. *Funny* is to the right and *frightening* is
# up. Long arrows that point the same way score high. At right angles the score is 0, and beyond that it's negative.
#
# **Try it.** Find a viewer who scores 0 or less with both films.

# %%
DotProducts(q_x=1.5, q_y=-2.0, a_x=1.0, a_y=2.0, b_x=0.8, b_y=-2.0)

# %% [markdown]
# ## 2. Every word looks at every word
#
# Here are five words, with five made-up features each. We'd like *car*'s vector to say that this car is small and red.

# %%
words = ["the", "small", "red", "car", "stops"]
x = torch.tensor(
    [  # noun, adjective, verb, size, redness
        [0.0, 0, 0, 0, 0],  # the
        [0, 1, 0, -1, 0],  # small
        [0, 1, 0, 0, 1],  # red
        [1, 0, 0, 0, 0],  # car
        [0, 0, 1, 0, 0],  # stops
    ]
)  # (T=5, D=5)

# %% [markdown]
# The simplest thing is to score every word against every word, itself included, by a dot product. A softmax turns each
# row of scores into weights, and a word's new vector is the weighted sum of all words:
#
# $$w_{ij} = \mathrm{softmax}_j(x_i \cdot x_j), \qquad y_i = \sum_j w_{ij}\, x_j$$
#
# This is **self-attention**: a sequence attends to itself.
#
# ### Your turn


# %% tags=["exercise"]
def simple_self_attention(x):
    """(T, D) -> (T, D), no parameters, no scaling"""
    ...


# %% [markdown] predict="what_zeros_take"
# Before you run your function on the five words, think about *the*, whose vector is all zeros.

# %%
y = exercises.mine("simple_self_attention")(x)  # (T, D): row 0 is the new vector of the

# %% tags=["hide-input"]
# What each word takes from each, and the new vector of car.
plain_weights = (x @ x.T).softmax(-1)
exercises.reveal(
    "what_zeros_take",
    measured="mean" if torch.allclose(y[0], x.mean(0)) else "zeros" if not y[0].any() else "sum",
)
assert torch.allclose(y[3], plain_weights[3] @ x, atol=1e-5)
assert abs(plain_weights[3, 3] - 0.40) < 0.01 and plain_weights[3, 0] == plain_weights[3, 2]
assert plain_weights[1, 2] > plain_weights[1, 0] and y[2, 3] < -0.2
features = ["noun", "adjective", "verb", "size", "redness"]
rows = [
    [name, *(f"{number:.2f}" for number in y[i])]
    for i, name in ((0, "the"), (3, "car"), (2, "red"))
]
print(exercises.whose("simple_self_attention", did="made"))
notebook.table(rows, ["new vector of", *features])
notebook.show(
    plots.attention_heatmap(plain_weights, words, words, title="weights without any matrix"),
    alt="Weights of five words. The puts 0.20 on every word. Car puts 0.40 on itself and 0.15 on each "
    "other word. Small and red put more than an even share on each other.",
    width=430,
)
notebook.tell(
    """*the* asked for nothing and was given a fifth of everything. *car* keeps 0.40 of its weight and spreads the rest
    evenly, so its adjectives count no more than *the*. *small* and *red* did find each other, because both are
    adjectives. A dot product between the words' own vectors rewards similarity, and no word is more similar to *car*
    than *car* itself. But *car* needs its adjectives, which aren't similar to it at all."""
)

# %% [markdown]
# ## 3. A question of its own
#
# On the left below, the words are drawn by their first two features, *noun* and *adjective*. *car* is at right angles
# to *small* and *red*, which is why it scored 0 with both. To find them it needs a second arrow, one that points up
# to the adjectives.
#
# A matrix can turn the word's own arrow into this second one. $W_Q$ has one row per feature, and the row *noun*
# decides what nouns look for. Put a 4 into that row, in the column *adjective*, and the product of *car* and $W_Q$ is
# an arrow of length 4 that points upwards, the word's **query**. A second matrix, $W_K$, makes the arrow that a word
# can be found by, its **key**.

# %%
w_q = torch.zeros(5, 2)  # (D=5, K=2): a query is an arrow in the plane of noun and adjective
w_q[0] = torch.tensor([0.0, 4])  # nouns ask for adjectives, with strength 4
w_k = torch.zeros(5, 2)
w_k[0] = torch.tensor([1.0, 0])  # nouns are found as nouns
w_k[1] = torch.tensor([0.0, 1])  # adjectives are found as adjectives
queries, keys = x @ w_q, x @ w_k  # (T, D) @ (D, K) -> (T, K), one of each per word

# %% tags=["hide-input"]
# The plane before and after the two matrices.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4))
for ax, title in (left, "the words themselves"), (right, "queries and keys"):
    empty_plane(ax, title, (-0.5, 3.6), (-0.5, 4.6), "noun", "adjective")
plane(left, x[3:4, :2], plots.BLUE, ["car"])
plane(left, x[1:2, :2], plots.ORANGE, ["small, red"])
plane(right, queries[3:4], plots.BLUE, ["query of car"], (8, -14))
plane(right, keys[1:2], plots.ORANGE, ["keys of small and red"])
plane(right, keys[3:4], plots.ORANGE, ["key of car"])
right.annotate("", (0.15, 3.3), (3.0, 0.45), arrowprops={
    "arrowstyle": "->", "color": plots.GREY, "connectionstyle": "arc3,rad=0.35"})  # fmt: skip
right.annotate("$W_Q$ turns nouns", (2.3, 3.0), color=plots.GREY)
assert (queries[[0, 1, 2, 4]] == 0).all() and (keys @ queries[3]).tolist() == [0, 4, 4, 0, 0]
notebook.figure(
    fig,
    alt="Two planes, noun to the right and adjective upwards. Left, the words themselves: car points right, "
    "small and red point up, at right angles. Right, after the matrices: the query of car points up, four "
    "long, along the keys of small and red; the key of car still points right.",
    width=760,
)

# %% [markdown]
# *car* now has two arrows, and only its query points at the adjectives. Matching has become one-sided, too. *car*
# looks for *red*, but the query of *red* is zero, so *red* looks for nothing in particular.
#
# What should *red* pass on to *car*? It matched because it's an adjective, but *car* needs its colour. A third
# matrix, $W_V$, picks out what a word passes on, its **value**.

# %%
w_v = torch.zeros(5, 5)  # (D, D): as wide as a word, so that it can be added to one
w_v[3, 3] = w_v[4, 4] = 1  # size and redness pass, the rest doesn't
values = x @ w_v  # (T, D)

# %% [markdown]
# That is all a word needs to attend. Score its query against every key, turn the scores into weights, and mix the
# values by these weights. There's one more step, which lesson 04 explains. Before the softmax, divide the scores by
# $\sqrt{d_k}$, where $d_k$ is the number of entries in a key, here 2.
#
# ### Your turn


# %% tags=["exercise"]
def attend(query, keys, values):
    """(K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)"""
    ...


# %%
context, weights = exercises.mine("attend")(queries[3], keys, values)
new_car = x[3] + context  # what it was, and what it asked for

# %% tags=["hide-input"]
# Where your weights moved car.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.1, 1))
drawn = left.bar(words, weights.tolist(), color=plots.PURPLE, width=0.62)
left.bar_label(drawn, [f"{w:.2f}" for w in weights.tolist()], padding=2)
left.set(yticks=[], title="weights of car")
left.spines["left"].set_visible(False)
left.margins(y=0.15)
fig.suptitle(exercises.whose("attend", did="moved"), fontsize=12, color=plots.GREY)
empty_plane(right, "what car takes", (-1.4, 0.9), (-0.35, 1.35), "size", "redness")
plane(right, values[1:2, 3:], plots.GREEN, ["value of small"], (-14, -18))
plane(right, values[2:3, 3:], plots.GREEN, ["value of red"])
plane(right, new_car[None, 3:], plots.BLUE, ["car"], (-30, 4))
assert torch.allclose(context, weights @ values, atol=1e-5)
assert abs(weights[1] - 0.46) < 0.005 and abs(new_car[3] + 0.46) < 0.005 and new_car[0] == 1
notebook.show(
    fig,
    alt="Left, the weights of car: 0.46 on small and on red, 0.03 on each other word. Right, the plane of "
    "size and redness: the value of small points left, the value of red up, and car's new arrow lies "
    "between them at (-0.46, 0.46).",
    width=760,
)
notebook.tell(
    """*car* takes nearly half of the value of *small* and nearly half of that of *red*. This mixture is called the
    word's **context**. It holds a size and a colour but nothing that says *noun*, which is why we *add* it to the
    word's own vector. Lesson 07 builds that addition, the residual connection."""
)

# %% tags=["prediction", "hide-input"]
# The same car, with one more adjective in its sentence.
shiny = torch.tensor([0.0, 1, 0, 0, 0])  # an adjective, nothing about size or redness
longer = torch.cat([x[:3], shiny[None], x[3:]])
mixed, _ = attention.scaled_dot_product_attention((x[3] @ w_q)[None], longer @ w_k, longer @ w_v)
redness = mixed[0, 4].item()
exercises.reveal(
    "a_shiny_car",
    measured="falls" if 0.25 < redness < 0.4 else "zero" if redness < 0.05 else "stays",
)
assert abs(redness - 0.31) < 0.01
notebook.tell(
    f"""The redness falls to {redness:.2f}, though *shiny* says nothing about colour. The weights of a row sum to 1,
    so *shiny* takes its share mainly from *small* and *red*. Lesson 06 starts from this problem."""
)

# %% [markdown]
# ## 4. Nobody draws these arrows
#
# We chose three matrices by hand, but a model has to find its own by training. It finds useful ones only if its task
# can't be solved without them. French offers such a task, because its adjectives agree with their nouns. In *la petite
# voiture verte cache le grand arbre noir* (the small green car hides the big black tree), the feminine forms *petite*
# and *verte* belong to *voiture*, the masculine *grand* and *noir* to *arbre*.
#
# We point at one of the two nouns and ask for its size and colour. The model has to answer from that noun's context
# alone. Its embeddings and matrices start out random, all of them are trained, and nothing tells it where to look.
# Queries and keys have two entries again, so that we can draw them. Here they are after 300 training steps.

# %% tags=["hide-input", "nbval-ignore-output"]
# The sentences, the training, and the arrows that it found.
SIZES = {"small": ("petit", "petite"), "big": ("grand", "grande")}
COLOURS = {"green": ("vert", "verte"), "black": ("noir", "noire"),
           "blue": ("bleu", "bleue"), "white": ("blanc", "blanche")}  # fmt: skip
NOUNS = {"dog": "chien", "tree": "arbre", "wall": "mur", "boat": "bateau"}, {
    "car": "voiture", "house": "maison", "street": "rue", "door": "porte"}  # fmt: skip
FRENCH = [form for forms in [*SIZES.values(), *COLOURS.values()] for form in forms]
ENGLISH = [*SIZES, *COLOURS, *NOUNS[0], *NOUNS[1], "the", "hides"]
VOCABULARY = [*FRENCH, *NOUNS[0].values(), *NOUNS[1].values(), "le", "la", "cache", *ENGLISH]
NUMBER = {word: i for i, word in enumerate(VOCABULARY)}


def one_head(x, noun, w_q, w_k, w_v):
    """Attend with one noun per sentence: (B, T, D), (B,) -> context (B, D_v), weights (B, T)"""
    query = x[torch.arange(len(x)), noun] @ w_q  # (B, K)
    keys, values = x @ w_k, x @ w_v
    scores = (keys @ query[:, :, None])[..., 0]  # (B, T): a row per sentence
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return (weights[:, None] @ values)[:, 0], weights


def noun_phrase(gender, pick, french):
    """Four words, and which size and which colour they name."""
    size, colour, noun = pick(SIZES), pick(COLOURS), pick(NOUNS[gender])
    if not french:
        return ["the", size, colour, noun], size, colour
    small, green = SIZES[size][gender], COLOURS[colour][gender]
    return [("le", "la")[gender], small, NOUNS[gender][noun], green], size, colour


def made_up(n, seed, french=True):
    """Sentences (n, T=9), which noun is asked about (n,), its size (n,) and its colour (n,)."""
    rng = random.Random(seed)

    def pick(choices):
        return rng.choice(list(choices))

    rows = []
    for _ in range(n):
        gender, asked = pick([0, 1]), pick([0, 1])
        two = [noun_phrase(g, pick, french) for g in (gender, 1 - gender)]
        sentence = two[0][0] + ["cache" if french else "hides"] + two[1][0]
        _, size, colour = two[asked]
        place = 5 * asked + (2 if french else 3)
        answer = [place, list(SIZES).index(size), list(COLOURS).index(colour)]
        rows.append([NUMBER[word] for word in sentence] + answer)
    columns = torch.tensor(rows)
    return columns[:, :9], columns[:, 9], columns[:, 10], columns[:, 11]


def learn_to_look(seed, french=True, even=False, steps=300, d_model=16):
    """Train one head; return the share of test sentences it gets right, and its parameters."""
    notebook.set_seed(seed)
    train, test = made_up(1000, seed, french), made_up(500, 100 + seed, french)
    sizes = ((len(NUMBER), d_model), (d_model, 2), (d_model, 2), (d_model, 8), (8, 6))
    spread = (0.5, 0.25, 0.25, 0.25, 0.33)
    parameters = [
        torch.nn.Parameter(s * torch.randn(shape)) for shape, s in zip(sizes, spread, strict=True)
    ]
    optimiser = Adam(parameters, lr=0.02)

    def answers(ids, noun):
        embedding, w_q, w_k, w_v, answer = parameters
        context, _ = one_head(embedding[ids], noun, w_q * (not even), w_k, w_v)
        return (context @ answer).split([2, 4], dim=-1)

    for _ in range(steps):
        some = torch.randint(0, len(train[0]), (64,))
        ids, noun, size, colour = (column[some] for column in train)
        of_size, of_colour = answers(ids, noun)
        loss = F.cross_entropy(of_size, size) + F.cross_entropy(of_colour, colour)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        of_size, of_colour = answers(*test[:2])
        right = (of_size.argmax(-1) == test[2]) & (of_colour.argmax(-1) == test[3])
    return right.float().mean().item(), [p.detach() for p in parameters]


def weights_of_first_noun(seed, parameters):
    """Mean weights (T,) of the first noun, where it's feminine and asked about."""
    embedding, *matrices = parameters[:4]
    ids, noun, *_ = made_up(500, 100 + seed)
    asked = (noun == 2) & (ids[:, 0] == NUMBER["la"])
    return one_head(embedding[ids[asked]], noun[asked], *matrices)[1].mean(0)


runs = [learn_to_look(seed) for seed in range(5)]
learned = torch.stack(
    [weights_of_first_noun(s, parameters) for s, (_, parameters) in enumerate(runs)]
)
sentence = ["la", "petite", "voiture", "verte", "cache", "le", "grand", "arbre", "noir"]
embedding, learned_q, learned_k = runs[0][1][:3]
noun_queries = F.normalize(embedding[[NUMBER[n] for g in NOUNS for n in g.values()]] @ learned_q)
alike = noun_queries @ noun_queries.T  # cosines
same_gender = torch.arange(8)[:, None] // 4 == torch.arange(8) // 4
notebook.claim(alike[same_gender].min() > 0.8 and alike[~same_gender].max() < 0.5)
notebook.claim(min(share for share, _ in runs) > 0.97 and (learned[:, [1, 3]].sum(-1) > 0.85).all())
fig, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5), width_ratios=(1, 1.15))
edge = (
    1.25 * (embedding @ learned_q)[NUMBER["chien"] : NUMBER["porte"] + 1].norm(dim=-1).max().item()
)
empty_plane(left, "run 1: queries of nouns (arrows), keys of words", (-edge, edge), (-edge, edge))
for gender, mark in enumerate("os"):
    nouns = embedding[[NUMBER[n] for n in NOUNS[gender].values()]] @ learned_q
    forms = embedding[[NUMBER[f[gender]] for f in [*SIZES.values(), *COLOURS.values()]]] @ learned_k
    plane(left, nouns, plots.BLUE)
    kind = ["masculine", "feminine"][gender]
    left.plot(*forms.T, mark, color=plots.ORANGE, markersize=8, label=f"{kind} adjectives")
    left.annotate(f"{kind} nouns", (nouns.mean(0) * 0.5).tolist(), xytext=((10, 18), (30, 22))[gender],
                  textcoords="offset points", color=plots.BLUE)  # fmt: skip
rest = ["le", "la", "cache", *NOUNS[0].values(), *NOUNS[1].values()]
left.plot(
    *(embedding[[NUMBER[w] for w in rest]] @ learned_k).T,
    "x",
    color=plots.GREY,
    markersize=6,
    label="other words",
)
left.legend(
    loc="lower center", bbox_to_anchor=(0.5, -0.12), ncols=3, handletextpad=0.1, columnspacing=0.8
)
plots.attention_heatmap(
    learned,
    [f"run {s + 1}" for s in range(5)],
    sentence,
    ax=right,
    title="mean weights of a feminine noun",
)
right.set_ylabel("")
notebook.show(
    fig,
    alt="Left: in the head's plane, the query arrows of the four masculine nouns lie in one bundle and point to "
    "the keys of the masculine adjectives; those of the four feminine nouns lie in another and point to the "
    "keys of the feminine adjectives. Crosses, the other words' keys, are in neither place. Right: in five runs, "
    "voiture puts nearly all its weight on petite and verte.",
    width=920,
)
notebook.tell(
    """On the left, the eight arrows form two bundles, one per gender, and each bundle points at the adjectives that
    agree with its nouns. The keys of all other words, the crosses, are well out of the way. This is section 3's
    picture again, except that nobody chose these matrices. On the right, a feminine noun puts nearly all its weight
    on its own two adjectives, in each of five runs."""
)

# %% [markdown]
# English adjectives have no gender. Translate the sentences, change nothing else, and train again. Can the model
# still tell what size and colour the *car* is in *the small green car hides the big black tree*?

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# English sentences; and French ones for a head that weighs all nine words alike.
share_of_english = 100 * sum(learn_to_look(seed, french=False)[0] for seed in range(5)) / 5
share_of_even = 100 * sum(learn_to_look(seed, even=True)[0] for seed in range(5)) / 5
exercises.reveal("with_a_second_noun", measured=share_of_english)
notebook.claim(38 < share_of_english < 56 and abs(share_of_english - share_of_even) < 8)
print(f"French: {100 * sum(share for share, _ in runs) / 5:.0f}%, in five runs")
print(f"French, all nine words weighed alike: {share_of_even:.0f}%")
print(f"English: {share_of_english:.0f}%")
notebook.tell(
    """In English the model does no better than one that weighs all nine words alike. Nothing in the vector of *green*
    says that *car* is the next word, because no vector contains its word's *position*. You could shuffle the
    sentence, and every word would still have exactly the same context. Lesson 05 adds positions."""
)

# %% [markdown]
# ## 5. The six steps, with a pencil
#
# Work through attention once on paper, and you won't have to take the formula on trust. We'll do it for the word *the*
# in *the cat sleeps*, in six steps: **project** to query, keys and values, **score**, **scale**, **softmax**,
# **weight** the values, **sum**.

# %%
tokens = ["the", "cat", "sleeps"]
tiny = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): one row per word
tiny_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
tiny_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
tiny_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])

# %% [markdown] quiz="score_of_the_cat"
# **Pencil.** Work out the first two steps, with *the* as the query and *cat* as the key.

# %%
tiny_query, tiny_keys, tiny_values = tiny[0] @ tiny_q, tiny @ tiny_k, tiny @ tiny_v
tiny_context, tiny_weights = exercises.mine("attend")(tiny_query, tiny_keys, tiny_values)
print("weights of the:", [round(w, 2) for w in tiny_weights.tolist()])
print("context of the:", [round(c, 2) for c in tiny_context.tolist()])

# %% tags=["hide-input"]
# PyTorch's own operator, on the same numbers ([None]: a batch of one sentence).
inputs = ((tiny @ tiny_q)[None], tiny_keys[None], tiny_values[None])
theirs = F.scaled_dot_product_attention(*inputs)[0]
assert torch.allclose(theirs[0], tiny_context, atol=1e-5)
assert (tiny_keys @ tiny_query).tolist() == [1, 4, 3] and abs(tiny_weights[0] - 0.1) < 0.005
mixed = [2, 0, 1]
shuffled = F.scaled_dot_product_attention(
    (tiny[mixed] @ tiny_q)[None], tiny_keys[None, mixed], tiny_values[None, mixed]
)[0]
assert torch.allclose(shuffled, theirs[mixed], atol=1e-5)  # the order changes nothing else
print("PyTorch's operator agrees: yes")

# %% [markdown]
# *the* puts only 0.10 of its weight on itself, because nothing makes its query match its own key.

# %% [markdown] my_parts=true
# ### What to take away
#
# - A dot product compares a query with a key, and a softmax turns the scores into weights that sum to 1.
# - The weights mix the **values** into the word's context, which is added to its own vector. What a word is matched
#   on and what it passes on can differ.
# - Query, key and value are three *projections* of a word's vector, by three learned matrices.
# - Until positions or a mask are added, the order of the words makes no difference.
#
# $$\mathrm{context} = \sum_j \mathrm{softmax}_j\!\left(\frac{q \cdot k_j}{\sqrt{d_k}}\right) v_j$$
#
# So far one word has attended at a time. In **lesson 04** all words attend at once, without a loop. You'll also see
# how much depends on that $\sqrt{d_k}$.
#
# <details><summary>Fine print</summary>
#
# *Bank* is an unusually clear case. Of the six other nouns in *Going deeper*, most hardly split. Our French model
# manages with queries of two entries because there are only two genders. The queries of Vaswani et al. (2017) have 64
# (lesson 06).
# </details>

# %% [markdown]
# ## Practice
#
# About half an hour, easiest first.
#
# ### You are here
#
# Here's a whole model. Press one of the lit squares, and then a score to see its dot product, entry by entry.

# %% tags=["nbval-ignore-output"] quiz="what_the_weights_multiply"
model_map(load_translator().trace("Un chien noir court."), here="self-attention", tour="03")

# %% [markdown]
# Here is section 3 in motion. The film's vectors have only two entries each, so that one plane holds everything.

# %% tags=["hide-input"]
notebook.picture("queries_in_one_plane")

# %% [markdown]
# Step through the pencil example. Then give *sleeps* the vector of *cat*. What happens to the weights, and why?

# %% quiz="six_steps"
SixSteps(step=1)

# %% [markdown]
# ### Find the bug
#
# This look-up is meant to work like the one in section 3, but for a noun that should avoid adjectives. The cell prints
# the noun's weights and then its context. Neither can be right. Where does the function go wrong?


# %% tags=["exercise"] quiz="shape_of_one_context"
def soft_lookup(query, keys, values):
    """(K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)"""
    scores = keys @ query
    weights = scores / scores.sum()
    return weights @ keys, weights


for result in soft_lookup(torch.tensor([1.0, -3]), keys, values)[::-1]:
    print(result)


# %% tags=["exercise"] quiz="why_three_projections where_embeddings_come_from does_a_map_explain"
def one_word(x, i, w_q, w_k, w_v):
    """(T, D), the row's number, (D, K), (D, K), (D, D_v) -> context (D_v,)"""
    ...


# %% [markdown]
# ## Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ### Where a word's vector comes from
#
# A Transformer's embeddings are a table with one row per word. The table starts out random, as ours did, and is
# trained with everything else. Here are the nearest neighbours of four words in a random table and in the trained one
# of MiniLM, the model that read our two banks.

# %% tags=["hide-input"]
# Nearest neighbours by cosine, in a random table and in MiniLM's.
trained_table = minilm.model.embedding.weight.detach()
notebook.set_seed(0)
rows = []
for word in ["bank", "red", "small", "monday"]:
    number = minilm.tokenizer.token_to_id(word)
    near = []
    for one in (torch.randn_like(trained_table), trained_table):
        cosines = F.cosine_similarity(one[number], one, dim=-1)
        cosines[number] = -1
        near.append(", ".join(minilm.tokenizer.id_to_token(i) for i in cosines.topk(3).indices))
    rows.append([f"*{word}*", *near])
assert "banks" in rows[0][2] and "blue" in rows[1][2] and "tuesday" in rows[3][2]
notebook.table(rows, ["nearest to", "random table", "trained table"])

# %% [markdown]
# A table can also be trained on its own. **word2vec** (2013) learns vectors that predict a word's neighbours in a
# text, and **GloVe** (2014) fits vectors to counts of which words occur together. Either way a word has one vector,
# whatever the sentence. MiniLM's table is no different. Its *bank* is closest to *banks* and *banking*, even in a
# sentence about a river, and only attention can move it.
#
# ### Does every ambiguous noun split like *bank*?
#
# One example proves little, so here are fourteen sentences with *bank*, seven about rivers and seven about money.
# Does the nearest neighbour of each *bank* have the same sense? For six other nouns with two senses, we compare the
# similarity within a sense with the similarity between senses.

# %% tags=["hide-input"]
rivers = [
    river,
    "They fished from the bank of the stream.",
    "The boat reached the far bank of the lake.",
    "Trees grow along the bank of the canal.",
    "The children played on the muddy bank.",
    "We walked along the bank of the Thames.",
    "The grassy bank was wet after the flood.",
]
moneys = [
    money,
    "The bank lent him a thousand pounds.",
    "He opened an account at the bank.",
    "The bank raised its interest rates.",
    "My salary goes straight to the bank.",
    "The robbers escaped from the bank with cash.",
    "She works as a clerk at the bank.",
]


def similarities(word, sentences):
    vectors = torch.stack([vector_of(word, sentence) for sentence in sentences])
    return F.cosine_similarity(vectors[:, None], vectors[None], dim=-1)


table_of_banks = similarities("bank", rivers + moneys)
sense = torch.arange(14) // 7
alike = sense[:, None] == sense
apart = table_of_banks[~alike].mean()
table_of_banks.fill_diagonal_(math.nan)
gaps = {"bank": (table_of_banks[alike].nanmean() - apart).item()}
table_of_banks.fill_diagonal_(-1)
nearest = int((sense[table_of_banks.argmax(-1)] == sense).sum())
others = {
    "bat": ["A bat flew out of the cave.", "The bat sleeps by day.",
            "He hit the ball with his bat.", "Her cricket bat is new."],
    "spring": ["Flowers bloom in spring.", "It was a warm spring.",
               "The spring of the watch broke.", "A metal spring bent."],
    "seal": ["A seal swam near the boat.", "The seal ate a fish.",
             "The letter had a wax seal.", "He broke the seal of the jar."],
    "match": ["They won the match.", "The match ended in a draw.",
              "He lit a match.", "The match burned his finger."],
    "crane": ["A crane caught a frog.", "The crane spread its wings.",
              "The crane lifted the steel beam.", "A crane stood at the building site."],
    "note": ["She sang a high note.", "The last note was flat.",
             "He left a note on the table.", "I wrote her a short note."],
}  # fmt: skip
for word, sentences in others.items():
    s = similarities(word, sentences)
    gaps[word] = ((s[0, 1] + s[2, 3]) / 2 - s[:2, 2:].mean()).item()
print(f"banks whose nearest neighbour has the right sense: {nearest} of 14")
gap_of_each = ", ".join(f"{word} {gap:.2f}" for word, gap in gaps.items())
print("within a sense minus between senses:", gap_of_each)
assert nearest >= 12 and gaps["bank"] > 2 * sorted(gaps.values())[-3] > 0

# %% [markdown]
# *Bank* splits clearly, and so does *seal*. The other five hardly split at all. That may be because MiniLM was
# trained to represent whole *sentences*, and the other words are usually enough to tell two sentences apart.
#
# ### Without matrices, a word looks at itself
#
# In section 2 *car* favoured itself, but we had made up its vector. Do words with learned embeddings favour
# themselves, too? We take the embeddings of a small Transformer, trained on lesson 01's toy corpus, and average over a
# thousand sentences. The last line shows MiniLM, which has matrices, for comparison.

# %% tags=["hide-input"]
toy = load_toy("transformer")
table = toy.model.tgt_embedding.weight.detach()  # (V, D=128)
own, even, own_scaled = [], [], []
for pair in corpus.toy_corpus(1000, seed=0):
    rows = table[torch.tensor(toy.target.encode(pair.target))]  # (T, D)
    same = torch.tensor([[a == b for b in pair.target] for a in pair.target])
    own.append(((rows @ rows.T).softmax(-1) * same).sum(-1).mean().item())
    own_scaled.append(
        ((math.sqrt(128) * rows @ rows.T * math.sqrt(128)).softmax(-1) * same).sum(-1).mean().item()
    )
    even.append(same.float().mean().item())
own, even, own_scaled = (sum(numbers) / len(numbers) for numbers in (own, even, own_scaled))
maps = minilm.attend(river).maps["encoder"][0]  # (layers, 12 sets of weights each, T, T)
of_words = maps[..., 1:-1, :]  # the rows of the words, without those of [CLS] and [SEP]
on_cls = of_words[..., 0].mean().item()
on_itself = of_words[..., 1:-1].diagonal(dim1=-2, dim2=-1).mean().item()
on_others = (1 - on_cls - on_itself) / (maps.shape[-1] - 2)
print(f"toy embeddings: {own:.0%} on itself and its repetitions; spread evenly, {even:.0%}")
print(f"the same, times √128 as the trained model has them: {own_scaled:.1%}")
print(f"MiniLM: {on_cls:.0%} on [CLS], {on_itself:.0%} on itself, {on_others:.0%} per other token")
assert 0.4 < own < 0.55 and even < 0.1 and own_scaled > 0.99
assert 0.45 < on_cls < 0.55 and abs(on_itself - on_others) < 0.01

# %% [markdown]
# Without matrices a word puts about half of its weight on itself and its repetitions. A vector's dot product with
# itself is its squared length, and no other vector of that length can score more. The trained model multiplies its
# embeddings by √128 before it uses them. With scores that much larger, the word and its repetitions take everything.
#
# In MiniLM, words don't favour themselves. Half of their weight goes to the special token [CLS] (lesson 06 explains
# why). Of the rest, a word puts about as much on itself as on any other token, on average.
#
# ### A soft dictionary, and a hard one
#
# A Python dictionary returns the value of the key that *equals* the query, while attention compares the query with
# all keys and mixes all values. To turn attention into a dictionary, divide the scores by a smaller and smaller
# **temperature** before the softmax:

# %%
hard_keys = torch.tensor([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]])  # (S=3, K=2)
hard_values = torch.tensor([[2.0], [3.0], [5.0]])  # (S=3, D_v=1)
hard_query = torch.tensor([0.8, 0.5], requires_grad=True)  # (K=2,)
for temperature in (10, 1, 0.1, 0.001):
    shares = (hard_keys @ hard_query / temperature).softmax(dim=-1)
    (gradient,) = torch.autograd.grad((shares @ hard_values).sum(), hard_query)
    rounded = [round(w, 2) for w in shares.tolist()]
    print(f"temperature {temperature:>6}: weights {rounded}, gradient {gradient.norm():.2f}")

# %% tags=["hide-input"]
assert gradient.norm() < 1e-6  # at a temperature of 0.001

# %% [markdown]
# Near a temperature of zero, the best key takes everything and the gradient vanishes. That's the hard attention of
# lesson 02.

# %% quiz="temperature_to_zero"
SoftmaxTemperature()

# %% [markdown]
# ### The same idea in 1964
#
# In 1964 Nadaraya and Watson each found a way to estimate the height of a curve at a new point $x$. They averaged the
# heights $y_j$ at the known points $x_j$, and let the points near $x$ count more. In our words, $x$ is a query, the
# known points are keys, and their heights are values.
#
# $$\hat y(x) = \sum_j \mathrm{softmax}_j\!\left(-\frac{(x - x_j)^2}{2 h^2}\right) y_j$$
#
# Only the score differs from ours. The width $h$ of this **kernel** does what the temperature did. Make it narrow,
# then wide, and watch the number at the end of the bold line, which measures how far the estimate is from the true
# curve. Every width that you try leaves a dot in the plot of errors. At what width is the error smallest?

# %%
KernelRegression(width=1.0)


# %% tags=["exercise"]
def kernel_regression(x, known_x, known_y, width):
    """(T,), (S,), (S,), a number -> y (T,)"""
    ...


# %% [markdown]
# ### Why three projections, and why small ones?
#
# If queries and keys came from one matrix, the scores would be symmetric, and whenever *car* matched *red*, *red*
# would match *car*. Two matrices let a noun look for its adjectives while the adjectives look elsewhere, and the
# third lets a word pass on something other than what it's matched on.
#
# The paper's embeddings have 512 numbers, but its queries only 64, because eight heads run side by side (lesson 06).
# Eight small heads have exactly as many parameters as one of full width.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.
# - Xu et al. (2015), "Show, Attend and Tell", arXiv:1502.03044 (hard attention and REINFORCE).
# - Mikolov, Chen, Corrado, Dean (2013), "Efficient Estimation of Word Representations in Vector
#   Space", arXiv:1301.3781 (word2vec). Pennington, Socher, Manning (2014), "GloVe: Global Vectors for Word
#   Representation", EMNLP.
# - Nadaraya (1964), "On Estimating Regression", Theory of Probability and Its Applications 9.
# - The six steps follow Jay Alammar's "The Illustrated Transformer". A noun that collects its adjectives
#   is the motivating example of 3Blue1Brown's video on attention. Viewers and films are Peter Bloem's
#   ("Transformers from scratch", 2019).
