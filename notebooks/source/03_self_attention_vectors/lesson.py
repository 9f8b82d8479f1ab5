# %% [markdown]
# # Self-attention with vectors
#
# *She sat on the **bank** of the river. She paid the money into the **bank**.*
#
# You read *bank* as two different words without noticing. For a language model that's harder, because it
# looks *bank* up in a table and gets the same 384 numbers both times. Six layers later the two vectors are no
# longer equal: their cosine similarity (1 means the same direction) has dropped from 1 to 0.82. Somewhere on
# the way, *bank* must have picked up information from the words around it.
#
# Which words? Hide one of them, and see whether the two vectors of *bank* become more alike again.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
from IPython.display import display
import torch
import torch.nn.functional as F

from helpers import exercises, plots
from helpers.transformer import attention
from helpers.data import corpus
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.toy_models import load_toy
from helpers.pretrained.translator import load_translator
from helpers.widgets.kernel_regression import KernelRegression
from helpers.widgets.model_map import model_map
from helpers.widgets.six_steps import SixSteps
from helpers.widgets.softmax_scale import SoftmaxTemperature

minilm = load_minilm()
river, money = "She sat on the bank of the river.", "She paid the money into the bank."


@torch.no_grad()
def vector_of(word, text, hidden=None, attend=True):
    """A word's vector after the last layer; no word is allowed to attend to `hidden`."""
    tokens, ids = minilm.tokens(text), minilm.encode([text])
    allowed = torch.tensor([attend and token != hidden for token in tokens])[None, None, None]
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


def bars(names, heights, title):
    """Bars, each with its number."""
    fig, ax = plt.subplots(figsize=(6.4, 2.9))
    drawn = ax.bar(range(len(names)), heights, color=plots.BLUE, width=0.62)
    ax.bar_label(drawn, [f"{h:.2f}" for h in heights], padding=2)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(y=0.15)  # room between the highest number and the title
    ax.set_title(title)
    return ax


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook, first prediction and warm-up 6 · 1 comparing 7 · 2 passing on 8 · 3 learned matrices 7 ·
# 4 every word asks at once 10 · 5 the six steps and the map 12. So section 3 begins at minute 21 and section 5 at
# minute 38. *Practice* is for home, and *Going deeper* is for people who ask about kernels or hard
# look-ups.
#
# **Say first**: attention answers one question, namely what a word should take from its neighbours.
#
# **Votes**: take every prediction by a show of hands before you run the cell below it. For three of the predictions there's time for half a minute of discussion and a second vote: the hidden word at the start, the shiny car in
# section 2, and the shuffled words in section 4. The cells that reveal the results also explain every wrong answer.
#
# **Ask**
#
# - In section 1: "What could *car* be looking for?" (its adjectives; another head might look for its verb)
# - After section 1's figure: "Why can't a softmax give exactly zero?" (because e to any finite number is positive)
# - In section 2: "Which of the three vectors would you change so that *stops* passes on its tense?" (its value;
#   its key only decides which words find it)
# - In section 4: "This attention has nothing to train. What would you train?" (three matrices, as in section 3)
#
# **Mistakes to expect, and what to say**
#
# - *Queries, keys and values are the input vectors.* Only in section 4's version, which has no matrices. Stop
#   section 3's film when all three tables are filled: `x` on the left, three other tables beside it.
# - *The weights multiply the keys.* They multiply the values. The key says that *red* is an adjective, which is
#   no use to *car*. The value holds the colour.
# - *A word always attends to itself most.* With matrices nothing guarantees that. Show the weights of *the* in
#   section 5.
# - *The score in section 5 is 1.* The vector of *cat* was used as it is, without $W_K$. If the answer has
#   decimals, it has already been divided by $\sqrt 3$.
#
# **If you're running late**: at the second noun in section 3, skip the vote, but run the cell and read its last
# lines aloud, because the end of section 4 refers back to the result. In section 5, work out only the score of *cat*, together
# on the board, and set `attend` as homework, which saves about eight minutes. Don't skip the find-the-bug
# exercise in section 2, because it makes the difference between keys and values clear.

# %%
exercises.predict("which_word_made_the_difference")

# %% tags=["hide-input"]
hideable = ["she", "sat", "on", "of", "river"]
without = {word: similarity_of_banks(hidden=word) for word in hideable}
nothing_hidden, no_attention = similarity_of_banks(), similarity_of_banks(attend=False)
most = max(without, key=without.get)
exercises.reveal(
    "which_word_made_the_difference", measured=most if most in ("sat", "of", "river") else "several"
)
assert abs(nothing_hidden - 0.82) < 0.01 and most == "river" and without["river"] > 0.9
assert abs(without["sat"] - nothing_hidden) < 0.005 and no_attention > 0.99
fig, axes = plt.subplots(figsize=(6.4, 2.9))
axes.axhline(nothing_hidden, color=plots.GREY, linestyle="--", linewidth=1)
axes.annotate("nothing hidden", (4.5, nothing_hidden), xytext=(0, 4), textcoords="offset points",
              ha="right")  # fmt: skip
axes.plot(range(len(hideable)), list(without.values()), "o", color=plots.BLUE, markersize=10)
for place, height in enumerate(without.values()):
    axes.annotate(f"{height:.2f}", (place, height), xytext=(0, 9), textcoords="offset points",
                  ha="center")  # fmt: skip
axes.set_xticks(range(len(hideable)), hideable)
axes.set(xlim=(-0.5, len(hideable) - 0.4), ylim=(0.78, 0.94), title="similarity, one word hidden")
display(
    notebook.figure(
        fig,
        alt="Similarity of the two vectors of bank with one word hidden. The dashed line is the value "
        "with nothing hidden, 0.82. Hiding sat changes nothing; hiding river raises it to 0.91.",
        width=560,
    )
)
notebook.tell(
    """Without *river*, the similarity rises from 0.82 to 0.91, while hiding *sat* changes nothing. If we
    switch attention off altogether, the similarity is 0.996. So practically all of the difference comes
    from attention, and the largest part of it from a single word."""
)

# %% [markdown]
# This lesson builds attention from scratch. We need three things: a way to compare two words, a way to turn
# comparisons into weights, and something for each word to pass on.

# %%
exercises.warm_up(3)

# %% [markdown]
# ## 1. Does this word have what I'm looking for?
#
# Let's begin with a sentence of five words, *"the small red car stops"*. Suppose we want *car* to collect its
# adjectives. We give each word a vector of five numbers, which we simply make up for now.

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
)  # (S=5, D=5)
wanted = torch.tensor([0.0, 3, 0, 0, 0])  # (D=5,): "car" looks for adjectives, strength 3

# %% [markdown]
# We compare what *car* is looking for with the vector of *red* by multiplying matching entries and
# adding up the products. That's the **dot product**. It's large when both vectors are large in the
# same places, zero when they have nothing in common, and negative when they point in opposite
# directions.
#
# $$\text{wanted} \cdot \text{red} = 0\cdot 0 + 3\cdot 1 + 0\cdot 0 + 0\cdot 0 + 0\cdot 1 = 3$$
#
# Lesson 02 had names for this: the decoder's state was the **query**, and the encoder states it was compared with
# were the **keys**. Now `wanted` is the query of *car*, and the five rows of `x` are the keys.
#
# ### Your turn (3 min)

# %% tags=["hide-input"]
exercises.heading("compare_with_all")


# %%
def compare_with_all(query, keys):
    """(K,), (S, K) -> scores (S,): the dot product of the query with every key"""
    scores = [... for key in keys]  # ← fill the gap
    return torch.stack(scores)


# %% tags=["hide-input"]
exercises.check("compare_with_all", compare_with_all)

# %% [markdown]
# In practice nobody writes that loop, because one matrix product makes all five comparisons at once.

# %%
scores = x @ wanted  # (S, D) @ (D,) -> (S,)
print(dict(zip(words, scores.tolist(), strict=True)))

# %% [markdown]
# *small* and *red* score 3 and everything else scores 0. But scores aren't weights yet. To mix some of
# *small* with some of *red* we need numbers that are positive and sum to 1, which is what the softmax from the
# last two lessons gives us. It raises e to every score and divides the results by their sum.

# %%
exercises.predict("share_of_the_rest")

# %%
weights = scores.softmax(dim=-1)  # (S,), sums to 1

# %% tags=["hide-input"]
rest = 100 * weights[[0, 3, 4]].sum().item()
exercises.reveal("share_of_the_rest", measured=rest)
assert 6 < rest < 8
display(
    notebook.figure(
        bars(words, weights.tolist(), "weights of car"),
        alt="The weights of car: 0.47 on small, 0.47 on red, and 0.02 on each of the other three words.",
        width=560,
    )
)
notebook.tell(
    r"""Together, *the*, *car* and *stops* get 7%. That's not much, but it isn't zero, because a score of 0 still
    becomes $e^0 = 1$ before the softmax divides. Only a score of $-\infty$ gives a weight of exactly zero,
    and lesson 04 uses it to hide words on purpose."""
)

# %% [markdown]
# ## 2. What does *red* pass on?
#
# The weights tell us how much *car* takes from each word, but not what it takes. *red* matched
# because it's an adjective, but what *car* can use is the colour. So let's say that each word passes on only
# a part of its vector, here size and redness. We call that part its **value**.

# %%
values = x * torch.tensor([0.0, 0, 0, 1, 1])  # (S, D): only size and redness
context = weights @ values  # (S,) @ (S, D) -> (D,)
print("context:      ", [round(c, 2) for c in context.tolist()])
print("car + context:", [round(c, 2) for c in (x[words.index("car")] + context).tolist()])

# %% [markdown]
# The mixture of values that *car* received is called its **context**. Why do we add the context to *car*'s vector
# instead of replacing the vector? The context contains only what *car* asked for, a size and a redness, and
# nothing in it says *noun*. With the sum, the word keeps what it was and gains what it asked for: *car* is still a
# noun, and now it's smallish (−0.47) and reddish (0.47) too. A Transformer adds every context to its word in this
# way, and lesson 07 builds that **residual connection**.
#
# So attention scores every key against the query, turns the scores into weights with a softmax, and uses the
# weights to mix the values. In the film, *car*'s query meets the keys one after another, and then the values move
# *car* in the plane of size and redness.

# %% tags=["hide-input"]
notebook.picture("noun_and_adjectives")

# %%
exercises.predict("a_third_adjective")

# %% tags=["hide-input"]
shiny = torch.tensor([0.0, 1, 0, 0, 0])  # an adjective, nothing about size or redness
longer = torch.cat([x[:3], shiny[None], x[3:]])
redness = ((longer @ wanted).softmax(-1) @ longer)[4].item()
exercises.reveal(
    "a_third_adjective",
    measured="falls" if 0.25 < redness < 0.4 else "zero" if redness < 0.05 else "stays",
)
print(f"redness of car, with shiny in the sentence: {redness:.2f}")
assert abs(redness - 0.32) < 0.01
notebook.tell(
    """The redness falls from 0.47 to 0.32, although *shiny* says nothing about colour. The weights have to sum
    to 1, so the third adjective takes its share from the other two. You'll need this in lesson 06, where
    one set of weights turns out not to be enough."""
)

# %% [markdown]
# ### Your turn: find the bug (4 min)
#
# The function below runs without an error, but for some queries it gives negative weights. It has two
# mistakes, and the negative weights come from one of them. Find and fix both.

# %% tags=["hide-input"]
exercises.heading("soft_lookup")


# %%
def soft_lookup(query, keys, values):
    """(K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)"""
    scores = keys @ query
    weights = scores / scores.sum()
    return weights @ keys, weights


# %% tags=["hide-input"]
exercises.check("soft_lookup", soft_lookup)

# %%
exercises.quiz("what_the_weights_multiply")

# %% [markdown]
# ## 3. Nobody makes these vectors up
#
# So far we've made up one query, for *car*. A model needs a query, a key and a value for every word. It makes them from the words' own vectors, using three matrices. A model learns the numbers in these matrices, but for our sentence one or two entries other than zero are enough in each. So let's fill them in by hand before we train any.
#
# Every matrix has one row per entry of `x` and one column per entry of the result. In $W_Q$ we put a 3 in the *noun* row and the *adjective* column. That turns every noun into a query for adjectives.

# %%
w_q, w_k, w_v = torch.zeros(3, 5, 5)  # (D=5, D=5) each
w_q[0, 1] = 3  # query: nouns (entry 0) look for adjectives (entry 1)
w_k[1, 1] = 1  # key: an adjective (entry 1) matches that query
w_v[3, 3] = w_v[4, 4] = 1  # value: words pass on size (entry 3) and redness (entry 4)
queries, keys, values = x @ w_q, x @ w_k, x @ w_v  # (S, D) @ (D, D) -> (S, D): one of each per word
weights = (queries @ keys.T).softmax(-1)  # (S, S): row 3 holds the weights of car
contexts = weights @ values  # (S, S) @ (S, D) -> (S, D): one per word
print("query of car:  ", queries[3].tolist(), "- wanted was", wanted.tolist())
print("key of small:  ", keys[1].tolist(), "- small is", x[1].tolist())
print("value of small:", values[1].tolist())
print("context of car:", [round(c, 2) for c in contexts[3].tolist()])

# %% [markdown]
# The film shows these products happening. *car* has a 1 under *noun*, so the row *noun* of $W_Q$ becomes its query.
# The other words follow, and then the keys and the values. Finally, *car*'s query is compared with every key,
# and the values of *small* and *red* flow into *car*.

# %% tags=["hide-input"]
assert torch.equal(queries[3], wanted)
torch.testing.assert_close(contexts[3], context)  # the one from section 2
torch.testing.assert_close(contexts[[0, 1, 2, 4]], values.mean(0).expand(4, 5))  # even rows
notebook.picture("query_key_value")

# %% [markdown]
# *car*'s row holds the weights you've already seen, and its context is the same too. The other four rows are uniform, because those queries are all zeros. Our $W_Q$ gives only nouns something to look for, so every other word takes
# a fifth of each value, and even *the* becomes a little small and a little red. Put another noun in place of
# *car*, and the same matrices will find that noun's adjectives.
#
# None of the three tables is a copy of `x`. The key of *small* says only that it's an adjective; the size is in the value. And with a single matrix for queries and keys, a word's query and key would be the same vector, so
# *red* would score *car* exactly as *car* scores *red*.
#
# So all we have to find is three matrices. Each word's embedding $x$ is multiplied by $W_Q$ to get its query,
# by $W_K$ to get its key, and by $W_V$ to get its value. A model starts with random matrices and trains them
# like any other weights.
#
# Let's watch that happen. We make up sentences like ours from sixteen words, which start with random embeddings,
# and ask the model for the size and colour of the noun. The function below is all the attention it has. The model
# has to answer from the context of the noun alone, and nothing tells it where to look.


# %%
def one_head(x, w_q, w_k, w_v, i=3):
    """Word i attends to its sentence: (B, T, D) -> context (B, K), weights (B, T)"""
    query, keys, values = x[:, i] @ w_q, x @ w_k, x @ w_v
    scores = torch.einsum("bk,btk->bt", query, keys)  # a row per sentence: query · every key
    scores = scores / math.sqrt(w_q.shape[1])  # lesson 04 says why
    weights = scores.softmax(dim=-1)
    return torch.einsum("bt,btk->bk", weights, values), weights


# %%
exercises.predict("where_will_it_look")

# %% tags=["hide-input", "nbval-ignore-output"]
SIZES, COLOURS = ["small", "tiny", "big", "huge"], ["red", "green", "blue", "black"]
NOUNS, VERBS = ["car", "tree", "dog", "house"], ["stops", "waits", "appears"]
LEXICON = {word: i for i, word in enumerate(["the", *SIZES, *COLOURS, *NOUNS, *VERBS])}


def made_up(n, generator, second_noun=False):
    """Sentences (n, T), whether the first noun is big (n,), and its colour (n,)."""

    def pick(words, but=None):
        words = [word for word in words if word != but]
        return words[torch.randint(len(words), (1,), generator=generator).item()]

    rows, big, colour = [], [], []
    for _ in range(n):
        sentence = ["the", pick(SIZES), pick(COLOURS), pick(NOUNS), pick(VERBS)]
        if second_noun:
            sentence += ["the", pick(SIZES), pick(COLOURS), pick(NOUNS, but=sentence[3])]
        rows.append([LEXICON[word] for word in sentence])
        big.append(int(sentence[1] in ("big", "huge")))
        colour.append(COLOURS.index(sentence[2]))
    return torch.tensor(rows), torch.tensor(big), torch.tensor(colour)


def learn_to_look(seed, second_noun=False, steps=300, d_model=16, d_head=8):
    """Train one head; the share of test sentences it gets right, and its mean weights."""
    notebook.set_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    train, test = (made_up(n, generator, second_noun) for n in (600, 400))
    embedding = torch.nn.Parameter(0.5 * torch.randn(len(LEXICON), d_model))
    matrices = [torch.nn.Parameter(torch.randn(d_model, d_head) / 4) for _ in range(3)]
    answer = torch.nn.Parameter(torch.randn(d_head, 2 + len(COLOURS)) / 3)
    optimiser = torch.optim.Adam([embedding, *matrices, answer], lr=0.02)
    for _ in range(steps):
        some = torch.randint(0, len(train[0]), (64,), generator=generator)
        ids, big, colour = (column[some] for column in train)
        logits = one_head(embedding[ids], *matrices)[0] @ answer
        loss = F.cross_entropy(logits[:, :2], big) + F.cross_entropy(logits[:, 2:], colour)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    ids, big, colour = test
    context, weights = one_head(embedding[ids], *matrices)
    logits = (context @ answer).detach()
    right = (logits[:, :2].argmax(-1) == big) & (logits[:, 2:].argmax(-1) == colour)
    return right.float().mean().item(), weights.mean(0).detach()


runs = [learn_to_look(seed) for seed in range(5)]
share, learned = zip(*runs, strict=True)
learned = torch.stack(learned)  # (seeds, T)
on_adjectives = learned[:, 1:3].sum(-1)
assert min(share) > 0.95 and on_adjectives.min() > 0.75 and learned[:, 1:3].min() > 0.15
assert (learned[:, 2] > 1.2 * learned[:, 1]).all()
mean = learned.mean(0)
exercises.reveal(
    "where_will_it_look",
    measured="colour" if mean[2] > 1.3 * mean[1] else "size" if mean[1] > 1.3 * mean[2] else "half",
)
axes = plots.attention_heatmap(
    learned,
    [f"seed {s}" for s in range(5)],
    ["the", "(size)", "(colour)", "(noun)", "(verb)"],
    title="mean weights of the noun after training",
)
axes.set_ylabel("training run")
display(
    notebook.figure(
        axes,
        alt="Mean weights of the noun for five seeds. In every row almost all of the weight is on the "
        "two adjectives, nearly twice as much on the colour as on the size.",
        width=520,
    )
)
notebook.tell(
    """In all five runs the weight ends up on the two adjectives, because that's the only way to answer both
    questions. The colour gets more of it, because there are four colours to tell apart and only two sizes.
    The query of *car*, the key of *red* and the value of *red* were all learned from the correct answers
    alone."""
)

# %% [markdown]
# Now let's make the sentence slightly more interesting: *"the small red car stops the big green tree"*.
# The model, the training and the question about the first noun stay exactly the same.

# %%
exercises.predict("with_a_second_noun")

# %% tags=["hide-input", "nbval-ignore-output"]
harder = [learn_to_look(seed, second_noun=True) for seed in range(5)]
share_of_two = 100 * sum(run[0] for run in harder) / len(harder)
spread = torch.stack([run[1] for run in harder]).mean(0)
assert 35 < share_of_two < 60
assert abs(spread[1:3].sum() - spread[6:8].sum()) < 0.1  # both pairs of adjectives alike
exercises.reveal("with_a_second_noun", measured=share_of_two)
axes = bars(
    ["the", "(size)", "(colour)", "car", "stops", "the", "(size)", "(colour)", "tree"],
    spread.tolist(),
    "mean weights of the first noun",
)
axes.tick_params(axis="x", labelsize=9)
display(
    notebook.figure(
        axes,
        alt="Mean weights of the first noun in a sentence with two nouns: the two pairs of adjectives "
        "get the same weight.",
        width=640,
    )
)
notebook.tell(
    """The model is right less than half the time, and the picture shows why. *car* gives the distant colour as
    much weight as the nearby one, and the same goes for the sizes, because nothing in the vector of *red* says
    that it's next to *car*. No vector says where in the sentence its word is. Lesson 05 will add that."""
)

# %% [markdown]
# ## 4. Every word asks at once
#
# The model we've just trained computed only one row of weights, the noun's. In **self-attention** every row counts,
# because the query of every word is compared with the keys of all the words in the same sentence, including its own.
# We'll need the three matrices again in section 5. For now let's leave them out, so that each embedding serves as
# query, key and value, and see how far self-attention gets without them.
#
# $$w_{ij} = \mathrm{softmax}_j(x_i \cdot x_j), \qquad y_i = \sum_j w_{ij}\, x_j$$
#
# Here $y_i$ is the mixture alone, the context of word $i$. A Transformer would then add it to $x_i$, as we did
# for *car*.
#
# ### Your turn

# %% tags=["hide-input"]
exercises.heading("simple_self_attention")


# %%
def simple_self_attention(x):
    """(T, D) -> (T, D), no parameters, no scaling"""
    ...


# %% tags=["hide-input"]
exercises.check("simple_self_attention", simple_self_attention)

# %% [markdown]
# Let's run it on real embeddings. Lesson 01's toy corpus has a small trained Transformer, and its embedding
# table has one vector of 128 numbers per word.

# %%
toy = load_toy("transformer")
table = toy.model.tgt_embedding.weight.detach()  # (V, D=128)


def embed(sentence):
    return table[torch.tensor(toy.target.encode(sentence))]  # (T, D)


# %%
exercises.predict("weight_on_itself")

# %% tags=["hide-input"]
own, even, with_itself, with_others = [], [], [], []
for pair in corpus.toy_corpus(1000, seed=0):
    rows = embed(pair.target)
    same = torch.tensor([[a == b for b in pair.target] for a in pair.target])
    products = rows @ rows.T
    with_itself.append(products.diagonal().mean().item())
    with_others.append(products[~same].mean().item())
    own.append((((rows @ rows.T).softmax(-1) * same).sum(-1).mean()).item())
    even.append(same.float().mean().item())
own, even = (100 * sum(numbers) / len(numbers) for numbers in (own, even))
exercises.reveal("weight_on_itself", measured=own)
print(f"spread evenly, a word (with its repetitions) would get {even:.0f}%")
with_itself, with_others = (sum(numbers) / 1000 for numbers in (with_itself, with_others))
assert 40 < own < 55 and 8 < even < 10
assert 2.2 < with_itself < 2.8 and abs(with_others) < 0.1
notebook.tell(
    """A word gives nearly half of its weight to itself, five times as much as an even spread would. That's no
    accident, because the dot product of a vector with itself is its squared length, and no other vector of
    the same length can score more. If you multiply these embeddings by √128, as the trained model does
    before its first layer, the share becomes 100%. So without matrices, a word mostly attends to itself."""
)

# %% [markdown]
# With matrices, a word no longer has to favour itself, because its query and its key are two different vectors.
# Where does a word's weight go then? Let's measure it in MiniLM, the model that read our two sentences. It puts a
# special token, [CLS], before every sentence.

# %% tags=["hide-input"]
scaled_rows = [embed(pair.target) * math.sqrt(128) for pair in corpus.toy_corpus(200, seed=0)]
own_scaled = [(r @ r.T).softmax(-1) for r in scaled_rows]
pairs = zip(own_scaled, corpus.toy_corpus(200, seed=0), strict=True)
kept = []
for weights_of, pair in pairs:
    same = torch.tensor([[a == b for b in pair.target] for a in pair.target])
    kept.append((weights_of * same).sum(-1).mean().item())
print(f"embeddings times √128: {sum(kept) / len(kept):.1%} on itself")
assert sum(kept) / len(kept) > 0.99
maps = minilm.attend(river).maps["encoder"][0]  # (layers, 12 sets of weights each, T, T)
of_words = maps[..., 1:-1, :]  # the rows of the words, without those of [CLS] and [SEP]
on_cls = of_words[..., 0].mean().item()
on_itself = of_words[..., 1:-1].diagonal(dim1=-2, dim2=-1).mean().item()
on_others = (1 - on_cls - on_itself) / (maps.shape[-1] - 2)
print(f"MiniLM: {on_cls:.0%} on [CLS], {on_itself:.0%} on itself, {on_others:.0%} per other token")
assert 0.45 < on_cls < 0.55 and abs(on_itself - on_others) < 0.01
notebook.tell(
    """On average over all layers, half of a word's weight goes to [CLS], which lesson 06 explains. The other ten
    tokens share the rest. A word gives 5% of its weight to itself, and the nine tokens besides it and [CLS] get
    5% each on average. So almost nothing is left of the strong preference for itself."""
)

# %%
exercises.predict("shuffle_the_words")

# %%
sentence = ["the", "black", "cat", "sees", "a", "little", "dog", "."]
order = [6, 0, 3, 5, 1, 7, 2, 4]
y = attention.scaled_dot_product_attention(*[embed(sentence)] * 3)[0]
y_shuffled = attention.scaled_dot_product_attention(*[embed(sentence)[order]] * 3)[0]

# %% tags=["hide-input"]
moved = torch.allclose(y_shuffled, y[order], atol=1e-5)
exercises.reveal("shuffle_the_words", measured="moved" if moved else "different")
assert moved and not torch.allclose(y_shuffled, y, atol=1e-5)
notebook.tell(
    """Each word gets exactly the vector it had before, only in another row. This is called **permutation
    equivariance**. It means that *the dog sees the cat* and *the cat sees the dog* give *cat* the same
    vector, and it's the same weakness that made our model fail in section 3."""
)

# %% [markdown]
# ## 5. The six steps, with a pencil
#
# Here's the whole computation for one word, with three matrices and numbers that are small enough for pencil
# and paper. The sentence is *the cat sleeps*, and we compute the context of *the*.

# %%
tokens = ["the", "cat", "sleeps"]
x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): one row per word
w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
w_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])

# %% [markdown]
# Take a pencil and work out the context of *the*: **project** its row to a query and every row to a key and a
# value, **score** the query against each key, **scale** by $\sqrt{d_k}$ (the square root of a key's width,
# here $\sqrt 3$; lesson 04 shows why), apply a **softmax**, **weight** the values and **sum** them.

# %%
exercises.predict("score_of_the_cat")

# %%
query, keys, values = x[0] @ w_q, x @ w_k, x @ w_v  # (K,), (T, K), (T, D_v)
scores = keys @ query  # (T, K) @ (K,) -> (T,)
weights = (scores / math.sqrt(3)).softmax(-1)  # (T,)
context = weights @ values  # (T,) @ (T, D_v) -> (D_v,)

# %% tags=["hide-input"]
exercises.reveal("score_of_the_cat", measured=scores[1].item())
print("scores: ", scores.tolist())
print("weights:", [round(w, 2) for w in weights.tolist()])
print("context:", [round(c, 2) for c in context.tolist()])
ours = attention.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)[0]
# [None]: a batch of one sentence, which PyTorch expects.
theirs = F.scaled_dot_product_attention((x @ w_q)[None], (x @ w_k)[None], (x @ w_v)[None])[0]
torch.testing.assert_close(ours[0], context)
torch.testing.assert_close(theirs[0], context)
print("the same numbers as the course's function and as PyTorch's: yes")
assert scores.tolist() == [1, 4, 3] and abs(weights[0] - 0.1) < 0.005

# %% [markdown]
# Notice that *the* gives itself a weight of only 0.10. Its query and its key come from different matrices, so
# there's no reason why a word should match itself best.
#
# Step through the same numbers below, choose another word, or change its vector. **Try:** give *sleeps*
# the vector of *cat*. What happens to the weights, and why?

# %%
SixSteps(step=1)

# %% [markdown]
# ### Your turn
#
# Now write all of it yourself, starting from an empty function.

# %% tags=["hide-input"]
exercises.heading("attend")


# %%
def attend(query, keys, values):
    """(K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)"""
    ...


# %% tags=["hide-input"]
exercises.check("attend", attend)

# %% [markdown]
# ### You are here
#
# The highlighted part is what you've just built: self-attention, once per layer in the encoder. Every small square
# is one table of weights. Click on one, then on a score to see the dot product behind it, entry by entry.

# %% tags=["nbval-ignore-output"]
model_map(load_translator().trace("Un chien noir court."), here="self-attention", tour="03")

# %% [markdown]
# ### What to take away
#
# - A dot product compares a query with a key, and a softmax turns the scores into weights that sum to 1.
# - The weights mix the **values**. What a word is matched on and what it passes on can differ.
# - The mixture is the word's context. It's added to the word's vector, so the word keeps what it was.
# - In self-attention every word's query is compared with the keys of all the words in its own sentence.
# - Query, key and value are three *projections* of the embedding, made by three learned matrices.
# - Nothing so far depends on the order of the words.
#
# $$\mathrm{context} = \sum_j \mathrm{softmax}_j\!\left(\frac{q \cdot k_j}{\sqrt{d_k}}\right) v_j$$
#
# **Lesson 04** does this for all words at once, with three matrix products.

# %% [markdown]
# # Practice
#
# About half an hour, the easiest first.

# %%
exercises.quiz("sign_of_a_dot_product")

# %%
exercises.quiz("by_pencil")

# %%
exercises.quiz("what_permuting_does")

# %%
exercises.quiz("shape_of_one_context")

# %%
exercises.quiz("six_steps")

# %% tags=["hide-input"]
exercises.heading("one_word")


# %%
def one_word(x, i, w_q, w_k, w_v):
    """(T, D), the row's number, (D, K), (D, K), (D, D_v) -> context (D_v,)"""
    ...


# %% tags=["hide-input"]
exercises.check("one_word", one_word)

# %%
exercises.quiz("roles")

# %%
exercises.quiz("why_three_projections")

# %%
exercises.quiz("where_embeddings_come_from")

# %%
exercises.quiz("does_a_map_explain")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## Does every ambiguous noun split like *bank*?
#
# A single example proves little, so here are seven sentences for each sense of *bank*. There are also six
# other nouns with two senses, and two sentences for each of those. For *bank* we count how often the nearest
# neighbour has the right sense. For the other nouns we compare the similarity within a sense with the
# similarity between senses.

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
# For each of the fourteen sentences with *bank*, the nearest neighbour has the right sense. *Seal* splits as clearly as *bank*, but the other five
# nouns hardly split at all. This model was trained to represent whole *sentences*, so whether a noun's senses separate clearly depends on the noun and on the sentences we chose. *Bank* is an unusually clear case.
#
# ## A soft dictionary, and a hard one
#
# A Python dictionary returns the value of the key that *equals* the query. Attention compares the query with
# all keys and returns a mixture of all values. A **temperature** sets how close that mixture comes to a
# single value: we divide the scores by the temperature before the softmax.

# %%
keys = torch.tensor([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]])  # (S=3, K=2)
values = torch.tensor([[2.0], [3.0], [5.0]])  # (S=3, D_v=1)
query = torch.tensor([0.8, 0.5], requires_grad=True)  # (K=2,)
for temperature in (10, 1, 0.1, 0.001):
    weights = (keys @ query / temperature).softmax(dim=-1)
    (gradient,) = torch.autograd.grad((weights @ values).sum(), query)
    rounded = [round(w, 2) for w in weights.tolist()]
    print(f"temperature {temperature:>6}: weights {rounded}, gradient {gradient.norm():.2f}")

# %% tags=["hide-input"]
assert gradient.norm() < 1e-6  # at a temperature of 0.001

# %% [markdown]
# At a temperature near zero, the soft look-up becomes a hard one. Then changing the query a little changes
# nothing, so the gradient is zero. That's why hard attention can't be learned by backpropagation alone. There
# are other ways to train it, such as REINFORCE (Xu et al. 2015).

# %%
SoftmaxTemperature()

# %%
exercises.quiz("temperature_to_zero")

# %% [markdown]
# ## The same idea in 1964
#
# In 1964 Nadaraya and Watson, independently of each other, found a way to estimate the height of a curve at a
# new point $x$. They averaged the heights $y_j$ at the known points $x_j$, with more weight on the points near
# $x$. Here $x$ is the query:
#
# $$\hat y(x) = \sum_j \mathrm{softmax}_j\!\left(-\frac{(x - x_j)^2}{2 h^2}\right) y_j$$
#
# Only the score differs from ours. The weight as a function of distance is called a **kernel**, and its width
# $h$ does what the temperature did. Make the kernel narrow, then wide. At which width is the estimate closest to
# the true curve? The last number on the right measures the distance.

# %%
KernelRegression(width=1.0)

# %% tags=["hide-input"]
exercises.heading("kernel_regression")


# %%
def kernel_regression(x, known_x, known_y, width):
    """(T,), (S,), (S,), a number -> y (T,)"""
    ...


# %% tags=["hide-input"]
exercises.check("kernel_regression", kernel_regression)

# %% [markdown]
# ## Why three projections, and why small ones?
#
# With a single matrix for queries and keys the scores would be symmetric: if *car* matched *red*, then
# *red* would match *car* just as well. Two matrices allow a noun to look for its adjectives without the
# adjectives looking back. The third matrix separates what a word is matched on from what it passes on.

# %%
notebook.set_seed(0)
some, other = torch.randn(2, 3, 3)
one_matrix, two_matrices = (x @ some) @ (x @ some).T, (x @ some) @ (x @ other).T
print("symmetric with one matrix: ", torch.allclose(one_matrix, one_matrix.T))
print("symmetric with two:        ", torch.allclose(two_matrices, two_matrices.T))

# %% [markdown]
# In the paper an embedding has 512 numbers and a query only 64. Nothing about attention requires the smaller
# width. But lesson 06 runs attention eight times side by side, and eight small heads have exactly as many
# parameters as a single head of full width.

# %% tags=["hide-input"]
assert torch.allclose(one_matrix, one_matrix.T) and not torch.allclose(two_matrices, two_matrices.T)
one_full, eight_small = 3 * 512 * 512, 8 * 3 * 512 * 64
print(f"one of full width: {one_full:,} parameters; eight small ones: {eight_small:,}")
assert one_full == eight_small

# %% [markdown]
# ## Myth or fact?
#
# **"Query, key and value are the input vectors."** A myth, and a common line in lecture notes. They are three
# learned projections of the input. Only the version in section 4, which has no parameters, uses the input
# itself.
#
# **"A word's own score is always the highest."** A myth. In section 4, without matrices and with scaled
# embeddings, practically all the weight stayed on the word itself. With matrices it doesn't have to. In the
# pencil example *the* gave itself 0.10, and in MiniLM, leaving [CLS] aside, a word in our sentence gives itself about the same weight as any other token on average.
#
# **"The input embeddings of a Transformer come from word2vec."** A myth. They start as random numbers and are
# trained with everything else. Embeddings from word2vec *can* be used to initialise them.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.
# - Xu et al. (2015), "Show, Attend and Tell", arXiv:1502.03044 (hard attention and REINFORCE).
# - Mikolov, Chen, Corrado, Dean (2013), "Efficient Estimation of Word Representations in Vector
#   Space", arXiv:1301.3781.
# - Nadaraya (1964), "On Estimating Regression", Theory of Probability and Its Applications 9.
# - The six steps follow Jay Alammar's "The Illustrated Transformer". A noun that collects its adjectives
#   is the motivating example of 3Blue1Brown's video on attention.
