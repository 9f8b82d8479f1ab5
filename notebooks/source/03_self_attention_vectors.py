# %% [markdown]
# # Self-attention with vectors
#
# **Can a sequence attend to itself?** In lesson 02 a decoder looked back at an encoder. Here we throw
# both loops away. What is left is a sentence whose words look at each other.
#
# At the end of these **60 minutes**, and 40 minutes more for the whole breakout, you can
#
# - say what the sign and the size of a dot product mean,
# - run self-attention without any parameters, and say what is wrong with it,
# - explain queries, keys and values as a look-up in a soft dictionary,
# - do the six steps for one word with a pencil, and as code,
# - say why there are three projections, and why they are small.
#
# You need lesson 02: scores, a softmax, weights, a context.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math

import torch
import torch.nn.functional as F

from helpers import attention, exercises, plots
from helpers.data import corpus
from helpers.tokenization import WordVocabulary
from helpers.widgets.kernel_regression import KernelRegression
from helpers.widgets.six_steps import SixSteps
from helpers.widgets.softmax_scale import SoftmaxTemperature

# %% [markdown] tags=["notes"]
# **Minutes**: 1 dot products 10 · 2 no parameters 12 · 3 soft dictionary 12 · 4 six steps 12 ·
# 5 three projections 4 · breakout 10: `attend` and two questions; the rest is for home.
#
# **When late**: run the skip-gram's cells without talking about them (section 2 needs their vectors), and
# leave out the second half of section 3. Never skip the pencil: let people do the six steps on paper
# before the cell runs.
#
# **Ask**: "Which person would you change so that *farce* suits best?" · "Nobody trained anything in
# section 2. What would you train?" · "Why not always take the best key?" · "Who decides what *the*
# looks for?" · "What could one matrix for all three not say?"
#
# **What people get wrong**: they multiply the weights with the keys; they take the softmax to be
# part of the score; they think a word's query and key are the same vector.

# %% [markdown]
# ## 1. What a dot product measures
#
# Three people and four films. Each has three features between −1 and 1: *action, romance, humour*.
# For a person a feature says "I like it", for a film "there is much of it". We made the numbers up.

# %%
people = ["Ada", "Ben", "Chloé"]
likes = torch.tensor([[0.9, -0.6, 0.3], [-0.5, 0.8, 0.6], [0.0, 0.1, 0.0]])  # (3, 3)
films = ["chase", "wedding", "war", "farce"]
holds = torch.tensor([[0.9, -0.2, 0.1], [-0.8, 0.9, 0.4], [0.7, 0.0, -0.9], [0.1, 0.2, 0.9]])

# %% [markdown]
# **Predict:** which film suits Ada best, which worst? What will Chloé's row look like?

# %%
match = likes @ holds.T  # (3, 3) @ (3, 4) -> (3, 4): a dot product for each pair
axes = plots.signed_heatmap(match, x_label="films", y_label="people")
axes.set_xticks(range(4), films)
axes.set_yticks(range(3), people)
notebook.figure(
    axes,
    alt="Dot products of three people and four films. Ada: chase far above zero, wedding far below. "
    "Ben the other way round. Chloé's row is close to zero everywhere.",
    width=520,
)

# %% [markdown]
# - **Sign**: plus when both agree (both high, or both low), minus when they disagree.
# - **Size**: large when features are strong on both sides. Chloé hardly cares about anything, so
#   nothing matches her strongly, and nothing repels her.
# - As arrows: $a \cdot b = |a|\,|b|\cos\theta$. Plus below a right angle, zero at it, minus above; the
#   longer the arrows, the larger.

# %%
assert films[match[0].argmax()] == "chase" and films[match[0].argmin()] == "wedding"
assert match[2].abs().max() < 0.15

# %% [markdown]
# ### Where features come from
#
# Nobody makes features by hand. Give every word a vector of random numbers, set a task, and let
# training move the vectors: an **embedding**. Word2vec's task (Mikolov et al. 2013) is to guess the
# neighbours of a word (**skip-gram**), or the word from its neighbours. GloVe (Pennington et al.
# 2014) fits vectors to counts of neighbours. In a Transformer there is no such task: the vectors
# are learned with everything else.
#
# Here is a skip-gram in a few lines. From a word's vector it guesses the words up to two places
# away. It reads 4,000 English sentences of lesson 01's corpus.

# %%
sentences = [pair.target for pair in corpus.toy_corpus(4000, seed=0)]
vocabulary = WordVocabulary.build(sentences)
centre, neighbour = [], []
for sentence in sentences:
    ids = vocabulary.encode(sentence)
    for i, word in enumerate(ids):
        for other in ids[max(0, i - 2) : i] + ids[i + 1 : i + 3]:
            centre.append(word)
            neighbour.append(other)
centre, neighbour = torch.tensor(centre), torch.tensor(neighbour)
print(f"{len(centre):,} pairs of neighbours, {len(vocabulary)} words")

# %%
notebook.set_seed(0)
embedding = torch.nn.Embedding(len(vocabulary), 16)
guess = torch.nn.Linear(16, len(vocabulary), bias=False)
optimiser = torch.optim.Adam([*embedding.parameters(), *guess.parameters()], lr=0.02)
for _ in range(400):
    batch = torch.randint(0, len(centre), (4096,))
    loss = F.cross_entropy(guess(embedding(centre[batch])), neighbour[batch])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print(f"loss {loss:.2f} nats; guessing evenly costs {math.log(len(vocabulary)):.2f}")

# %% [markdown]
# **Predict:** nobody told the model what an animal or a colour is. Which words will be nearest to
# *cat*, to *red*, to *sees*?

# %% tags=["nbval-ignore-output"]
vectors = F.normalize(embedding.weight.detach(), dim=-1)  # all one long: only direction counts


def nearest(word, n=4):
    similarity = vectors @ vectors[vocabulary.ids[word]]
    return [
        vocabulary.words[i] for i in similarity.topk(n + 1).indices if vocabulary.words[i] != word
    ][:n]


for word in ["cat", "red", "sees", "in"]:
    print(f"{word:>5}: {', '.join(nearest(word))}")

# %% [markdown]
# Words that stand in the same places get similar vectors: that is the whole trick. One number to
# check it: how many of the four nearest words of each colour are colours again? (It is not perfect: a
# colour and its noun stand side by side and so share neighbours, which may be why *flowers* comes up
# near *red*.)

# %%
colours = [
    c for c in ["red", "green", "blue", "black", "white", "yellow", "grey"] if c in vocabulary.ids
]
share = sum(w in colours for c in colours for w in nearest(c)) / (4 * len(colours))
chance = (len(colours) - 1) / (len(vocabulary) - 1)
print(f"colours among the neighbours of colours: {share:.0%}; by chance {chance:.0%}")
assert share > 4 * chance

# %% [markdown]
# ## 2. Self-attention with nothing to learn
#
# Take a sentence as rows $x_1 \dots x_T$. Every word is compared with every word, the scores go
# through a softmax, and each word becomes a mixture of all (the weights, $\alpha_{t,i}$ in lesson
# 02, are $w_{ij}$ here):
#
# $$w_{ij} = \mathrm{softmax}_j(x_i \cdot x_j), \qquad y_i = \sum_j w_{ij}\, x_j$$
#
# By hand first, for one word, then for all.

# %%
words = ["the", "black", "cat", "sees", "a", "little", "dog", "."]
assert all(word in vocabulary.ids for word in words)
x = embedding.weight.detach()[vocabulary.encode(words)]  # (T=8, D=16)

i = words.index("cat")
powers = [math.exp(float(x[i] @ x_j)) for x_j in x]
weights_of_cat = torch.tensor([p / sum(powers) for p in powers])  # (T,)
y_cat = sum(w * x_j for w, x_j in zip(weights_of_cat, x, strict=True))  # (D,)

# %%
scores = x @ x.T  # (T, D) @ (D, T) -> (T, T)
weights = scores.softmax(dim=-1)  # every row sums to 1
y = weights @ x  # (T, T) @ (T, D) -> (T, D)
torch.testing.assert_close(weights[i], weights_of_cat)
torch.testing.assert_close(y[i], y_cat)

# %% [markdown]
# **Predict:** where will the darkest cells be?

# %%
axes = plots.attention_heatmap(weights, words, words)
notebook.figure(
    axes,
    alt="Attention without parameters over the black cat sees a little dog, rows are queries. The "
    "diagonal is darkest: nearly every word looks mostly at itself.",
    width=520,
)

# %% [markdown]
# ### The diagonal wins
#
# A vector's dot product with itself is its squared length. No other vector of that length can beat
# it, and a softmax turns a lead of a few points into nearly everything. How much weight stays at
# home, over a thousand sentences?

# %%
kept = []
for sentence in sentences[:1000]:
    rows = embedding.weight.detach()[vocabulary.encode(sentence)]
    map_ = (rows @ rows.T).softmax(-1)
    at_home = torch.tensor([[a == b for b in sentence] for a in sentence])
    kept.append(((map_ * at_home).sum(-1).mean().item(), at_home.float().mean().item()))
home, even = torch.tensor(kept).mean(0)
print(
    f"weight on the word itself (or its double): {home:.0%}; spread evenly it would be {even:.0%}"
)
assert home > 0.5 > 2 * even

# %% [markdown]
# Is it the word, or the *length* of its vector? Make all vectors one long and measure again.

# %%
kept_short = []
for sentence in sentences[:1000]:
    rows = F.normalize(embedding.weight.detach()[vocabulary.encode(sentence)], dim=-1)
    map_ = (rows @ rows.T).softmax(-1)
    at_home = torch.tensor([[a == b for b in sentence] for a in sentence])
    kept_short.append((map_ * at_home).sum(-1).mean().item())
home_short = sum(kept_short) / len(kept_short)
length = embedding.weight.detach().norm(dim=-1).mean()
print(f"vectors are {length:.1f} long on average; made one long, {home_short:.0%} stays at home")
assert even < home_short < 0.5 * home

# %% [markdown]
# Length does most of it. Of equal, short vectors the word itself still gets the largest weight, but no
# longer nearly everything.

# %% [markdown]
# ### There is nothing to train
#
# Count the parameters of the formulas of this section: none. What a word looks for, what it is
# found by, and what it hands over is all the same vector. Section 4 tells them apart.
#
# ### Order does not matter
#
# **Predict:** shuffle the words. What happens to the outputs?

# %%
order = torch.randperm(len(words), generator=torch.Generator().manual_seed(1))
shuffled = x[order]
y_shuffled = (shuffled @ shuffled.T).softmax(-1) @ shuffled
torch.testing.assert_close(y_shuffled, y[order])
print("the outputs are shuffled in the same way, and otherwise the same")

# %% [markdown]
# In *the dog sees the cat* and in *the cat sees the dog*, *cat* gets the same vector. That shuffled
# words give the same outputs, shuffled in the same way, is called **permutation equivariance**. It
# stays true with projections, as long as nothing says where a word stands. Lesson 05 gives words
# their places.

# %% [markdown]
# ## 3. A soft dictionary
#
# A Python dictionary looks up a **key** that equals the **query** and returns its **value**. A query
# that equals no key is an error.

# %%
prices = {"apple": 2.0, "pear": 3.0, "plum": 5.0}
print(prices["pear"])

# %% [markdown]
# A *soft* dictionary never fails. It compares the query with **all** keys, turns the scores into
# weights and returns the mixture of **all** values. Keys and queries are now vectors. How hard it
# chooses is set by a **temperature**: the scores are divided by it before the softmax. **Predict:** what
# comes out at a very high temperature, and what near zero?

# %%
keys = torch.tensor([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]])  # (S=3, K=2): how crisp, how sweet
values = torch.tensor([[2.0], [3.0], [5.0]])  # (S=3, D_v=1): prices of apple, pear, plum
query = torch.tensor([0.8, 0.5])  # (K=2,): rather crisp, half sweet

for temperature in (10, 1, 0.1, 0.001):
    weights = (keys @ query / temperature).softmax(dim=-1)  # (S,)
    shares = ", ".join(f"{w:.2f}" for w in weights)
    print(f"temperature {temperature:>6}: weights {shares}; price {(weights @ values).item():.2f}")
assert (weights @ values).item() == values[(keys @ query).argmax()].item()

# %% [markdown]
# At a high temperature all values count alike. Towards zero, the best key takes everything, and the
# soft dictionary becomes a hard one. Why not always hard? Because a hard one cannot be learned: a small
# change of the query changes nothing, so there is no gradient. The soft one has one, unless the
# temperature is so low that it has become a hard one:

# %%
for temperature in (1, 0.001):
    asked = query.clone().requires_grad_()
    ((keys @ asked / temperature).softmax(dim=-1) @ values).sum().backward()
    gradient = ", ".join(f"{g:.2f}" for g in asked.grad)
    print(f"temperature {temperature:>6}: gradient of the price ({gradient})")
assert asked.grad.abs().max() < 1e-6

# %% [markdown]
# Move the slider and find the temperature at which the largest weight passes 0.9. (It is just below 0.4.)
# **Entropy** says how
# spread the weights are: 0 when one word has all, log 5 ≈ 1.61 when five share evenly.

# %%
SoftmaxTemperature()

# %% [markdown]
# ### The same thing, fifty years older
#
# Statisticians have averaged values by the nearness of their keys since 1964 (Nadaraya; Watson).
# The query is a place $x$, keys are known places $x_j$, values are known heights $y_j$:
#
# $$\hat y(x) = \sum_j \mathrm{softmax}_j\!\left(-\frac{(x - x_j)^2}{2 h^2}\right) y_j$$
#
# Only the score differs from ours. The kernel's width $h$ plays the temperature: $2h^2$.

# %% [markdown]
# Make the kernel narrow, then wide. Watch *Off the true curve by*: which width makes it smallest?

# %%
KernelRegression(width=1.0)

# %% [markdown]
# Anything from 0.25 to 0.4 shows 0.34, the smallest. A narrower kernel follows the noise of single
# points, a wider one flattens the waves.

# %% [markdown]
# ## 4. Six steps for one word
#
# Now each word gets three vectors. They are made by three matrices, and these are learned:
#
# | vector | needed of | the question it answers |
# |---|---|---|
# | **query** $q = x W_Q$ | the word that looks (each in its turn) | what am I looking for? |
# | **key** $k = x W_K$ | every word | what can I be found by? |
# | **value** $v = x W_V$ | every word | what do I hand over? |
#
# For the word *cat*:

# %% tags=["hide-input"]
notebook.picture("query_key_value")

# %% [markdown]
# Take a pencil. The sentence is *the cat sleeps*, the numbers are small.

# %%
tokens = ["the", "cat", "sleeps"]
x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): a row for each word
w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
w_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])

# %% [markdown]
# **Step 1, project.** The word *the* looks, so it needs a query. Everybody needs a key and a value.
# Work out $q$ and the first key on paper before you run the cell.

# %%
query = x[0] @ w_q  # (D,) @ (D, K) -> (K,)
keys = torch.stack([row @ w_k for row in x])  # (T, K)
values = torch.stack([row @ w_v for row in x])  # (T, D_v)
print("q of the:", query.tolist())
print("keys:    ", keys.tolist())
print("values:  ", values.tolist())

# %% [markdown]
# **Step 2, score.** One dot product for each word. **Step 3, scale:** divide by $\sqrt{d_k}$, where
# $d_k$ is the width of a key (K in the code), here $\sqrt 3$ (lesson 04 shows why). **Step 4,
# softmax:** the weights are positive and sum to one.

# %%
scores = torch.stack([query @ key for key in keys])  # (T,)
scaled = scores / math.sqrt(3)
weights = scaled.exp() / scaled.exp().sum()
print("scores: ", scores.tolist())
print("weights:", [round(w, 2) for w in weights.tolist()])
assert scores.tolist() == [1, 4, 3]

# %% [markdown]
# **Step 5, weigh the values. Step 6, add them up.** The sum is the word's new vector: its context.

# %%
weighed = [w * v for w, v in zip(weights, values, strict=True)]  # three vectors (D_v,)
context = sum(weighed)  # (D_v,)
print("weighed values:", [[round(n, 2) for n in v.tolist()] for v in weighed])
print("context of the:", [round(c, 2) for c in context.tolist()])
torch.testing.assert_close(context, torch.tensor([1.10, 4.42, 0.85]), atol=0.005, rtol=0)

# %% [markdown]
# All six on one sheet. Compare with your paper:

# %% tags=["hide-input"]
notebook.picture("six_steps")

# %% [markdown]
# The same as the course's tested function and as PyTorch's:

# %%
ours, _ = attention.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
# [None]: a batch of one sentence, which PyTorch expects.
theirs = F.scaled_dot_product_attention((x @ w_q)[None], (x @ w_k)[None], (x @ w_v)[None])[0]
torch.testing.assert_close(ours[0], context)
torch.testing.assert_close(theirs[0], context)
print("by hand = ours = PyTorch's")

# %% [markdown]
# Step through it, choose another word, or type other vectors. **Try:** give *sleeps* the vector of
# *cat*. What happens to the weights, and why?

# %%
SixSteps(step=1)

# %% [markdown]
# Equal vectors have equal keys, and equal keys get equal weights: 0.08, 0.46 and 0.46.

# %%
twice = SixSteps(sleeps="0 2 1").numbers["weights"]
print([round(w, 2) for w in twice.tolist()])
assert twice[1] == twice[2]

# %% [markdown]
# ## 5. Why three projections, and why small ones
#
# With one vector for all three roles, a word looks for what it is itself. Section 2 showed where
# that leads: to the diagonal. Two different matrices allow *verbs look for subjects* without
# subjects looking back: the **scores** need not be symmetric. The third lets a word hand over
# something else than what it is found by.

# %%
notebook.set_seed(0)
some, other = torch.randn(2, 3, 3)
same = (x @ some) @ (x @ some).T
different = (x @ some) @ (x @ other).T
print("scores with one matrix, symmetric:  ", torch.allclose(same, same.T))
print("scores with two matrices, symmetric:", torch.allclose(different, different.T))
assert torch.allclose(same, same.T) and not torch.allclose(different, different.T)

# %% [markdown]
# In the paper words have 512 numbers, queries and keys only 64. Nothing forces that. It is a choice
# about cost: with 8 such attentions side by side (lesson 06), 8 × 64 = 512, and eight small ones cost
# about as much as one of full width.

# %%
one_full = 3 * 512 * 512
eight_small = 8 * 3 * 512 * 64
print(f"one of full width: {one_full:,} parameters; eight small ones: {eight_small:,}")
assert one_full == eight_small

# %% [markdown]
# ## Breakout
#
# Write the functions. The check says what is wrong, not only that it is.

# %%
exercises.heading("simple_self_attention")


# %%
def simple_self_attention(x):
    """(T, D) -> (T, D), no parameters, no scaling"""
    ...


exercises.check("simple_self_attention", simple_self_attention)

# %%
exercises.heading("attend")


# %%
def attend(query, keys, values):
    """(K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)"""
    ...


exercises.check("attend", attend)

# %%
exercises.heading("one_word")


# %%
def one_word(x, i, w_q, w_k, w_v):
    """(T, D), a row's number, (D, K), (D, K), (D, D_v) -> context (D_v,)"""
    ...


exercises.check("one_word", one_word)

# %%
exercises.heading("kernel_regression")


# %%
def kernel_regression(x, known_x, known_y, width):
    """(T,), (S,), (S,), a number -> y (T,)"""
    ...


exercises.check("kernel_regression", kernel_regression)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("sign_of_a_dot_product")

# %%
exercises.quiz("what_the_weights_multiply")

# %%
exercises.quiz("by_pencil")

# %%
exercises.quiz("what_permuting_does")

# %%
exercises.quiz("shape_of_one_context")

# %%
exercises.quiz("six_steps")

# %%
exercises.quiz("roles")

# %%
exercises.quiz("why_three_projections")

# %%
exercises.quiz("where_embeddings_come_from")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("temperature_to_zero")

# %%
exercises.quiz("does_a_map_explain")

# %% [markdown]
# ### Going further
#
# Train $W_Q$ and $W_K$ (16 × 8 each) on the skip-gram's vectors so that every noun of the toy corpus
# looks at **adjectives**. `pair.nouns` tells where the nouns are, `helpers/data/toy_lexicon.py` which words
# are adjectives (`COLOURS`, `SIZES`, …). Does the diagonal lose? And when a sentence has two adjectives,
# why can a noun not find its own? (Lesson 05.)

# %% [markdown]
# ## Myth or fact?
#
# **"The softmax weights multiply the keys."** A myth: they multiply the values. The two need not even
# have the same width.

# %%
wide_values = torch.randn(3, 7)  # keys have 3 numbers, values 7
weights = (x @ w_k @ query / math.sqrt(3)).softmax(-1)
print((weights @ wide_values).shape)
assert not torch.allclose(weights @ values, weights @ keys)

# %% [markdown]
# **"The input embeddings of a Transformer come from word2vec."** A myth. They start as random numbers
# and get a gradient like every other weight. (Word2vec's vectors *can* be put in at the start.)

# %% tags=["hide-input"]
from helpers.transformer import Transformer, TransformerConfig

notebook.set_seed(0)
model = Transformer(
    TransformerConfig(
        src_vocab_size=10,
        tgt_vocab_size=10,
        d_model=8,
        n_heads=2,
        n_layers=1,
        d_ff=16,
        norm_first=True,  # lesson 07
    )
)
ids = torch.tensor([[4, 5, 6]])
loss = F.cross_entropy(model(ids, ids).flatten(0, 1), ids.flatten())
loss.backward()
embeddings = next(p for name, p in model.named_parameters() if "embed" in name)
print("size of the gradient at the embeddings of words 4, 5, 6:", embeddings.grad[4:7].norm(dim=-1))
assert (embeddings.grad[4:7].norm(dim=-1) > 0).all()

# %% [markdown]
# **"Attention solved the parallelism problem of recurrent networks."** Lesson 02 called it a myth,
# and it is: attention on top of a recurrent network still waits for every state. What solved it is
# what we did here: to drop the recurrence. No step of section 4 needs another word's result.

# %%
all_at_once = attention.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)[0]
last_first = [
    attention.scaled_dot_product_attention(row[None] @ w_q, x @ w_k, x @ w_v)[0][0]
    for row in x.flip(0)
]
torch.testing.assert_close(torch.stack(last_first).flip(0), all_at_once)
print("the words in any order, one by one or all at once: the same contexts")

# %% [markdown]
# ## Summary
#
# - A dot product is large and positive when two vectors are long and agree.
# - Self-attention: every word is a query to all words of its own sentence.
# - Without parameters a word with a long vector looks mostly at itself, and there is nothing to learn.
# - Six steps: project, score, divide by $\sqrt{d_k}$, softmax, weigh the **values**, sum.
#
# | | shape for one word |
# |---|---|
# | query | $(d_k)$ |
# | keys, values | $(T, d_k)$, $(T, D_v)$ |
# | scores, weights | $(T)$ |
# | context | $(D_v)$ |
#
# $$\mathrm{context} = \sum_j \mathrm{softmax}_j\!\left(\frac{q \cdot k_j}{\sqrt{d_k}}\right) v_j$$
#
# **Lesson 04** runs all words at once.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.
# - Mikolov, Chen, Corrado, Dean (2013), "Efficient Estimation of Word Representations in Vector
#   Space", arXiv:1301.3781.
# - Pennington, Socher, Manning (2014), "GloVe: Global Vectors for Word Representation", EMNLP.
# - Nadaraya (1964), "On Estimating Regression", Theory of Probability and Its Applications 9.
# - Watson (1964), "Smooth Regression Analysis", Sankhyā A 26.
