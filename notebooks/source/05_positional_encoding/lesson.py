# %% [markdown]
# # Positional encoding
#
# A child can read eight letters and say them backwards. A model with two attention layers, of the kind you know from
# lessons 03 and 04, can't learn this trick, however long it trains. Something is missing from everything we've built so
# far.
#
# Before we look for it, a guess. How often will the model name the right letter?

# %% tags=["hide-input"]
import math

from matplotlib import pyplot
import torch
import torch.nn.functional as F
from torch import nn

from helpers import exercises, plots
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator
from helpers.training.optimizers import Adam
from helpers.transformer import attention, masks
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.positions import LearnedPositions, rotate_positions
from helpers.widgets.model_map import model_map
from helpers.widgets.positions_explorer import PositionExplorer


class Reverser(nn.Module):
    """Two encoder layers (lesson 07) that say eight letters backwards."""

    def __init__(self, positions, n_letters=20, d_model=64):
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(n_letters, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads=4, d_ff=128, dropout=0.0, norm_first=True)
            for _ in range(2)
        )
        self.output = nn.Linear(d_model, n_letters)

    def forward(self, letters):  # (B, T) -> (B, T, n_letters)
        x = self.embedding(letters)  # starts at size 1, so no √D here
        if self.positions is not None:
            x = x + self.positions[: letters.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.output(x)


def some_letters(n):
    return torch.rand(n, 20).argsort(dim=1)[:, :8]  # eight different letters out of twenty


def train_reverser(positions, steps=200):
    """Percent of letters right after training with this table of positions (T, 64), or with None."""
    notebook.set_seed(0)
    model = Reverser(positions)
    optimiser = Adam(model.parameters(), lr=4e-3, fused=True)
    for _ in range(steps):
        x = some_letters(32)
        loss = F.cross_entropy(model(x).flatten(0, 1), x.flip(1).flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    x = some_letters(1000)
    with torch.no_grad():
        return 100 * (model(x).argmax(-1) == x.flip(1)).float().mean().item()


# %% [markdown] tags=["notes"]
# **48 minutes.** Hook, training and warm-up 7 · 1 a bag of words 2 · 2 from numbers to waves 17 ·
# 3 moving is rotating 7 · 4 added 8 · 5 two other ways and the map 7.
#
# **Ask before showing anything**: "You're allowed to change only the input vectors. How do you tell the
# model that *dog* is the first word?" The usual answers are: append the number, add the number, use
# one-hot positions. Keep them on the board. Section 2 tries numbers and one-hot rows, and section 4 asks whether to
# add or append. A learned table (section 5) is a one-hot position times a matrix.
#
# **If you're running late**: set `sinusoidal_positions` in section 2 as homework (six minutes; the lesson goes on with
# the tested version), and leave out section 5 (six).
#
# **Mistakes to expect**: $i$ counts columns (it counts *pairs* of columns) · positions run along the batch ·
# adding costs nothing. Somebody will ask: "Why 10000?" (so that the slowest wave is longer than any sentence;
# it's a choice, and models for long texts use larger numbers).

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# the training: click to see it
without_positions = train_reverser(None)
exercises.reveal("reverse_without_positions", measured=without_positions)
notebook.claim(abs(without_positions - 100 / 7) < 3)
notebook.tell(
    """One time in seven. In the reversed word no letter is where it was before, so the model can rule out one of the
    eight. To choose among the other seven, it would have to know where each of them is."""
)

# %% [markdown] warm_up=5
# ## 1. A bag of words
#
# Let one attention layer with random weights read two sentences that mean rather different things.


# %% tags=["hide-input"]
notebook.set_seed(0)
vector = dict(zip(["dog", "bites", "man"], torch.randn(3, 8), strict=True))
layer = attention.MultiHeadAttention(d_model=8, n_heads=2).eval()  # two heads: lesson 06


def read(sentence):
    x = torch.stack([vector[word] for word in sentence.split()])[None]  # (1, 3, 8)
    return layer(x, x, x)[0][0].detach()  # (3, 8), one new vector per word


# %%
print("dog in 'dog bites man':", read("dog bites man")[0, :3])
print("dog in 'man bites dog':", read("man bites dog")[2, :3])

# %% tags=["hide-input"]
assert torch.allclose(read("dog bites man")[0], read("man bites dog")[2], atol=1e-5)
notebook.set_seed(1)
x = torch.randn(1, 6, 8)
order = torch.randperm(6)
shuffled = x[:, order]
assert torch.allclose(
    layer(shuffled, shuffled, shuffled)[0], layer(x, x, x)[0][:, order], atol=1e-5
)
hidden = masks.causal_mask(6)
assert not torch.allclose(layer(*[shuffled] * 3, hidden)[0], layer(*[x] * 3, hidden)[0][:, order])

# %% [markdown]
# Not a single digit changes, so the layer can't tell who bites whom. Without a causal mask, attention is
# **permutation equivariant**: shuffle the words, and the outputs are shuffled along with them. A recurrent network
# knew the order for free, because it read the words one by one. We gave that up for speed. Now the order has to go
# into the vectors themselves.
#
# ## 2. From numbers to waves
#
# The obvious thing to add is the position's number: 0 to every entry of the first word, 1 to the second, and so on.
# It's one line of code.
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def add_position_number(x):
    """x (T, D) -> (T, D): every entry of row p becomes p larger"""
    positions = ...  # ← fill the gap: 0, 1, 2, … as a column
    return x + positions


# %%
dog, cat = torch.randn(2, 64)  # entries of size 1
place = exercises.mine("add_position_number")
dogs, cats = place(dog.expand(301, 64)), place(cat.expand(301, 64))  # at positions 0 to 300
print(f"dog at 300, dog at 3:   {F.cosine_similarity(dogs[300], dogs[3], dim=0):.4f}")
print(f"dog at 300, cat at 300: {F.cosine_similarity(dogs[300], cats[300], dim=0):.6f}")

# %% tags=["hide-input"]
assert F.cosine_similarity(dogs[300], cats[300], dim=0) > 0.9999
assert F.cosine_similarity(dogs[300], dogs[3], dim=0) < 0.99

# %% [markdown]
# At position 300 a cat is practically a dog, because the position has become so large that it drowns out the word.
# To keep it small, we could divide the position by the length of the sentence. We'll try that fraction, $p/T$, in a
# moment.
#
# The Transformer paper does something less obvious, but you know the idea from counting in binary. As you count 0,
# 1, 2, 3, …, the last digit flips at every step, the one before it at every second step, the next at every fourth.
# No digit ever exceeds 1, yet no two numbers look alike. **Sinusoidal positions** do this with waves instead of
# digits. Columns come in pairs, a sine and a cosine of one frequency, and each pair is slower than the pair before.
#
# $$PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/D}} \qquad PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/D}}$$
#
# Here $p$ is the position, and $i = 0, 1, …, D/2 - 1$ counts the **pairs** of columns. The frequency
# $10000^{-2i/D}$ is the angle, in radians, by which the wave of pair $i$ advances per position.
#
# ### Your turn (6 min)


# %% tags=["exercise"]
def sinusoidal_positions(max_len, d_model):
    """-> (max_len, d_model), interleaved sine and cosine"""
    position = torch.arange(max_len)[:, None]  # (max_len, 1)
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    angle = position * frequency  # (max_len, D/2), by broadcasting
    table = angle.new_zeros(max_len, d_model)
    table[:, 0::2] = ...  # ← fill the two gaps
    table[:, 1::2] = ...
    return table


# %% [markdown]
# The next two cells take the model that couldn't reverse eight letters, add your table to its inputs and train it
# again. Afterwards, uncomment the last line of the first cell and run both cells again. Your table then makes way for
# the fractions $p/8$, in a column of their own.

# %%
sinusoidal_positions = exercises.mine("sinusoidal_positions")  # yours, once it has passed
table = sinusoidal_positions(8, 64)
# table = torch.cat([torch.arange(8)[:, None] / 8, torch.zeros(8, 63)], dim=1)

# %% tags=["hide-input", "nbval-ignore-output"]
fractions = torch.cat([torch.arange(8)[:, None] / 8, torch.zeros(8, 63)], dim=1)
with_positions = train_reverser(table)
print(f"letters right: {with_positions:.0f}%, without positions {without_positions:.0f}%")
if not torch.equal(table, fractions):
    print(exercises.whose("sinusoidal_positions", did="fed"))
if torch.allclose(table.float(), exercises.reference("sinusoidal_positions")(8, 64)):
    notebook.claim(with_positions > 95 and train_reverser(fractions) < 25)
notebook.tell(
    """One table, added once, and practically every letter ends up where it belongs. Given fractions and just as many
    training steps, the model is hardly better off than without positions."""
)

# %% [markdown]
# Why do waves succeed where fractions fail? Attention finds things by dot products, and the simplest question about
# a position is *are you number 7?* To ask it, we need a vector and a threshold. The vector's dot product with the
# encoding of 7 has to be above the threshold, and its dot product with every other encoding below. We look for the
# best vector three times, with 64 positions encoded as $p/T$, as rows of sinusoids, and as one-hot vectors.


# %% tags=["prediction", "hide-input"]
# the measurement: click to see it
def best_question(encoding, wanted=7):
    """Fit one vector and threshold for "is p = 7?"; return the score of every position."""
    target = (torch.arange(len(encoding)) == wanted).float()
    w = torch.zeros(encoding.shape[1] + 1, requires_grad=True)
    optimiser = torch.optim.LBFGS([w], max_iter=2000, line_search_fn="strong_wolfe")
    rarely = torch.tensor(len(encoding) - 1.0)  # one yes weighs as much as all noes

    def loss():
        optimiser.zero_grad()
        score = encoding @ w[:-1] + w[-1]
        error = F.binary_cross_entropy_with_logits(score, target, pos_weight=rarely)
        error.backward()
        return error

    optimiser.step(loss)
    return (encoding @ w[:-1] + w[-1]).detach()


encodings = {
    "p/T": torch.arange(64)[:, None] / 64,
    "sinusoids": sinusoidal_positions(64, 64),
    "one-hot": torch.eye(64),
}
scores = {name: best_question(encoding) for name, encoding in encodings.items()}
found = {name for name, s in scores.items() if (s > 0).nonzero().flatten().tolist() == [7]}
exercises.reveal(
    "is_it_position_seven",
    measured="all" if len(found) == 3 else "two" if "sinusoids" in found else "alone",
)
_, grid = pyplot.subplots(1, 3, figsize=(10.5, 2.8), sharex=True)
for ax, (name, s) in zip(grid, scores.items(), strict=True):
    colours = [plots.ORANGE if p == 7 else plots.BLUE for p in range(64)]
    ax.bar(range(64), s / s.abs().max(), color=colours, width=1.0)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(title=name, xlabel="position (orange: 7)", yticks=[0], yticklabels=["threshold"])
notebook.claim(found == {"sinusoids", "one-hot"})
notebook.show(
    ax,
    alt="Scores of 64 positions for the question whether p is 7. With p/T the scores lie on a straight line, and "
    "all positions on one side say yes. With sinusoids and with one-hot vectors only position 7 does.",
    width=860,
)
notebook.tell(
    """A multiple of $p/T$ only ever goes up, or only ever down, so a yes to 7 is also a yes to everything on one
    side of 7. A one-hot vector keeps a column just for 7, and needs another one for every other position. The
    sinusoids need no such column, because a row's largest dot product is the one with itself."""
)

# %% [markdown]
# Here is your table as a picture. The fast columns on the left tell neighbours apart, and those in the middle tell
# the beginning from the end. The slow columns on the right seem to do nothing, because 64 positions are too few for
# them to change. They pay off in longer texts, where even among 5,000 rows no two come close.

# %% tags=["hide-input"]
table = sinusoidal_positions(64, 64)  # (max_len, D)
axes = plots.signed_heatmap(table, x_label="column (of D = 64)", y_label="position")
long_table = sinusoidal_positions(5000, 64)
nearest = torch.cdist(long_table, long_table).fill_diagonal_(math.inf).min()
assert nearest > 0.5
notebook.figure(
    axes,
    alt="The table of sinusoidal positions. Columns on the left change from row to row, columns on "
    "the right hardly change over 64 positions.",
    width=620,
)

# %% [markdown]
# ## 3. Moving is rotating
#
# Attention compares vectors by their dot product, and now the vectors contain positions. What does the dot product
# of two rows of the table depend on?

# %% tags=["prediction", "hide-input"]
# the measurement: click to see it
exact = sinusoidal_positions(64, 64).double()
products = exact @ exact.T  # (64, 64)
spread = max(
    (products.diagonal(k).max() - products.diagonal(k).min()).item() for k in (0, 1, 7, 30)
)
exercises.reveal("dot_product_of_positions", measured="distance" if spread < 1e-4 else "both")
assert spread < 1e-4 and products.min() > 0
axes = plots.signed_heatmap(products, x_label="position p′", y_label="position p")
notebook.show(
    axes,
    alt="Dot products of all pairs of 64 positions: a dark diagonal; every line parallel to it has one "
    "colour, paler further off, in ripples.",
    width=560,
)
notebook.tell(
    """Every line parallel to the diagonal has a single colour, so only the **distance** counts. The product is
    largest at distance zero and fades in ripples, to the left just as to the right. To tell left from right, a model
    needs $W_Q$ and $W_K$."""
)

# %% [markdown]
# Picture each pair of columns as a clock hand that turns by a fixed angle per position. If two positions move on
# together, the angle between their hands stays as it was. That's why only the distance counts.
#
# A move by $k$ positions turns every hand by $k$ of its own steps, wherever it pointed before. One matrix of
# rotations therefore moves *any* position by $k$. A model that has learned this matrix can attend to "the word
# before" from anywhere in the text.
#
# **Try:** set the shift to the pair's wavelength. By what angle does the hand turn? Then choose the last
# pair, 31. How far does its hand move?

# %% quiz="why_sine_and_cosine"
PositionExplorer()

# %% [markdown]
# ## 4. How positions enter the model
#
# The table is simply **added** to the word vectors, row by row, and every sentence of the batch uses the same rows.
# Before the addition, the paper multiplies the embeddings by $\sqrt D$:
#
# $$x_p = \sqrt{D}\, e_{w_p} + PE_p, \qquad (B, T, D) + (T, D)$$
#
# The paper gives no reason for the factor. If the embeddings start with entries of size about $1/\sqrt D$, as is
# common, the factor brings them up to the size of the sines.
#
# ### Your turn: find the bug (4 min)
#
# The function below has two mistakes. It runs without an error, but every sentence stays a bag of words.


# %% tags=["exercise"]
def add_positions(embeddings, table):
    """embeddings (B, T, D), table (max_len, D) -> (B, T, D), the embeddings scaled by √D"""
    n_sentences, length, d_model = embeddings.shape
    return embeddings + math.sqrt(d_model) * table[:n_sentences, None]


# %% [markdown]
# Adding looks reckless, because nobody can take two numbers apart once they've been added. Long *vectors* can be
# another matter, since random directions in many dimensions are almost at right angles. To test this, your function
# adds each of 600 random words to each of 40 positions. We then fit a *linear* map on half of these sums and see how
# well it reads the position back from the other half.

# %%
add = exercises.mine("add_positions")  # yours, once it has passed
words = torch.randn(600, 512) / math.sqrt(512)
sums = add(words[:, None].expand(600, 40, 512), sinusoidal_positions(40, 512))  # (600, 40, 512)


# %% tags=["prediction", "hide-input"]
# the measurement: click to see it
def read_back(x, labels, train):
    """Fit a linear map from vectors to one-hot labels; return its accuracy on the rest."""
    targets = torch.eye(int(labels.max()) + 1)[labels]
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    ridge = 1e-3 * torch.eye(x.shape[1])  # least squares; the tiny ridge keeps it solvable
    fit = torch.linalg.solve(x[train].T @ x[train] + ridge, x[train].T @ targets[train])
    return 100 * ((x[~train] @ fit).argmax(1) == labels[~train]).float().mean().item()


def nearest_sum(sums, size=0.1, n_tried=4000):
    """Blur some sums a little; return the percentage for which the true sum is still the nearest."""
    tried = torch.randperm(len(sums))[:n_tried]
    blurred = sums[tried] + size * torch.randn(n_tried, sums.shape[1])
    return 100 * (torch.cdist(blurred, sums).argmin(1) == tried).float().mean().item()


notebook.claim(add(words[:1, None], sinusoidal_positions(1, 512)).shape == (1, 1, 512))
notebook.set_seed(0)
n_words, n_positions = 600, 40
word, position = torch.cartesian_prod(torch.arange(n_words), torch.arange(n_positions)).T
train = torch.rand(len(word)) < 0.5
accuracy, by_nearest = {}, {}
for width in (64, 256, 512):
    vectors = torch.randn(n_words, width) / math.sqrt(width)
    each = vectors[:, None].expand(n_words, n_positions, width)
    added = add(each, sinusoidal_positions(n_positions, width)).flatten(0, 1)
    halves = [torch.randn(n_words, width // 2)[word]]
    halves.append(sinusoidal_positions(n_positions, width // 2)[position])
    beside = torch.cat(halves, dim=1)
    accuracy[width] = [read_back(x, y, train) for x in (added, beside) for y in (position, word)]
    by_nearest[width] = nearest_sum(added) if width == 64 else 100
exercises.reveal("reading_the_position_back", measured=accuracy[512][0])
for width, (where, which, _, _) in accuracy.items():
    print(f"D = {width:>3}: position read back {where:3.0f}%, word read back {which:3.0f}%")
print(f"D =  64: word and position from the nearest of all 24,000 sums {by_nearest[64]:.0f}%")
notebook.claim(accuracy[512][1] > 95 and accuracy[512][0] > 50 and by_nearest[64] == 100)
notebook.claim(accuracy[64][0] < accuracy[256][0] < accuracy[512][0])  # the wider, the better
notebook.claim(all(beside[2] > beside[0] for beside in accuracy.values()))
notebook.tell(
    """At the paper's width the linear map recovers practically every word and most of the positions. The narrower
    the model, the harder its sums are to read.

    But nothing is *lost* in them. Take a sum of the smallest width, blur it a little, and ask which of all 24,000
    sums is the nearest. Every word and every position comes back."""
)

# %% [markdown]
# ## 5. Two other ways
#
# **Learned positions** are a table like any embedding, trained with everything else. BERT, GPT-2 and the Vision
# Transformer have one. The trouble with such a table is that it has a last row:

# %%
learned = LearnedPositions(max_len=512, d_model=64)
try:
    learned(513)  # positions 0 to 512
except ValueError as error:
    print(error)

# %% [markdown]
# **Rotary positions** (RoPE, Su et al. 2021) use the rotation of section 3 directly. They turn each pair of entries of
# a query and of a key by an angle that grows with the position. Nothing is added, and the values stay as they are.
# Below, we put one query and one key at each of 50 positions.

# %%
notebook.set_seed(0)
query, key = torch.randn(2, 64)
turned_queries = rotate_positions(query.expand(50, 64))  # the same query at 50 positions
turned_keys = rotate_positions(key.expand(50, 64))
scores = turned_queries @ turned_keys.T  # (50, 50)

# %% tags=["prediction", "hide-input"]
# the measurement: click to see it
equal = abs(scores[10, 7] - scores[40, 37]) < 1e-3
mirrored = abs(scores[10, 7] - scores[7, 10]) < 1e-3
exercises.reveal(
    "rotary_scores", measured="first" if equal and not mirrored else "both" if equal else "neither"
)
for t, s in ((10, 7), (40, 37), (7, 10)):
    print(f"query at {t:>2}, key at {s:>2}: score {scores[t, s]:.2f}")
assert equal and not mirrored
notebook.tell(
    """For a given query and key, what counts is how far apart they are and which comes first. The Transformer of
    2017, BERT and GPT-2 add their positions. Most of today's large language models rotate instead."""
)

# %% [markdown]
# ### You are here
#
# The striped block beside the embeddings is the table of this lesson. Open it and press a token, which then swaps
# places with the next. Which of the three columns change?

# %% tags=["nbval-ignore-output"]
model_map(load_translator().trace("Un chien noir court."), here="positions", tour="05")

# %% [markdown] my_parts=true
# <details><summary><b>Fine print</b></summary>
#
# - Each reversing model was trained once, for 200 steps. Longer training can't help the one without positions, but it
#   might help the one with fractions.
# - Under a causal mask, a word can at least find out *how many* words it's allowed to attend to.
# - The words of section 4 are random and use every direction there is. A trained model can keep some directions free
#   for positions.
# - A table of sinusoids has no last row. But a model that never met position 1,000 in training might not know what to
#   do with it.
#
# </details>
#
# ### What to take away
#
# - Without positions and without a causal mask, self-attention is permutation equivariant: shuffle the words, and
#   the outputs are shuffled along with them.
# - A row of the sinusoidal table samples waves, from fast to slow. One dot product can single out a position.
# - Moving by $k$ positions is a rotation that doesn't depend on where you start, and the dot product of
#   two positions depends only on how far apart they are.
# - Positions are **added** to the embeddings, along the sequence: $\sqrt{D}\,e + PE$.
# - Learned tables have a last position. Rotary positions turn queries and keys instead of adding anything.
#
# $$PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/D}} \qquad PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/D}}$$
#
# A word can now attend to others by what they are and by where they are. But it has a single row of weights, and
# whatever one word gains in that row, the others lose. **Lesson 06** begins with a small word that needs two others
# at once.

# %% [markdown] quiz="fast_and_slow_columns what_equivariance_means which_axis who_uses_what position_beyond_the_table"
# ## Practice
#
# About 25 minutes, the easiest first.


# %% tags=["exercise"]
def shift_matrix(k, d_model):
    """-> (D, D), such that table[p] @ matrix equals table[p + k] for every p"""
    ...


# %% [markdown]
# Take this matrix for $k = -1$ as $W_Q$, scaled up so that one weight clearly wins. Every word then attends to the
# word before it:

# %%
back = exercises.mine("shift_matrix")(-1, 64).double()  # yours, once it has passed
one_back = (4 * exact @ back @ exact.T).softmax(-1)  # (T, T)
print(f"weight on the word before: at least {one_back[1:].diagonal().min():.2f}")

# %% tags=["hide-input"]
for k in (1, 5, 50):
    by_k = exercises.reference("shift_matrix")(k, 64).double()
    assert (exact[: 64 - k] @ by_k - exact[k:]).abs().max() < 1e-4
assert one_back[1:].diagonal().min() > 0.95


# %% tags=["exercise"]
def rotate_pairs(x, angles):
    """x (T, K), angles (T, K/2): turn features 2i and 2i+1 of row t by angles[t, i] -> (T, K)"""
    ...


# %% [markdown] quiz="when_order_does_not_matter add_or_concatenate"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about 25 minutes. Nothing later depends on it.
#
# ### Bits and waves
#
# You can take the comparison with binary numbers literally. The cell below prints each position twice. The first
# list holds its four bits. The second has a digit for each of four sines, which is 0 while the sine is in the first
# *half* of its wave and 1 in the second. Each sine is half as fast as the next. In the real table, only the factor
# from one sine to the next is different.

# %%
for position in range(8):
    bits = [position >> bit & 1 for bit in (3, 2, 1, 0)]
    halves = [int(math.sin(math.pi * (position + 0.5) / 2**bit) < 0) for bit in (3, 2, 1, 0)]
    print(position, bits, halves)
assert bits == halves == [0, 1, 1, 1]

# %% [markdown]
# ### Is it added or concatenated?
#
# Suppose we reserved half of the width for the word and half for the position. Would a linear map read the two more
# easily?

# %% tags=["hide-input"]
for width, (a, b, c, d) in accuracy.items():
    print(
        f"D = {width:>3}   added: position {a:3.0f}%, word {b:3.0f}%"
        f"   concatenated: position {c:3.0f}%, word {d:3.0f}%"
    )

# %% [markdown]
# The position would be easier to read at every width, although at $D = 64$ the map now misses a few words. Adding, on
# the other hand, reserves no columns, so training can decide how many directions go to words and how many to
# positions.
#
# ### A figure that contradicts its formula
#
# One of the most copied figures of positional encoding (Alammar 2018) shows four columns with the rows 0, 0, 1, 1 and
# 0.84, 0.0001, 0.54, 1. Here is what the formula beside it says for $D = 4$:

# %%
print(sinusoidal_positions(2, 4))
print(
    [round(math.sin(1 * w), 4) for w in (1, 1 / 10000)],
    [round(math.cos(1 * w), 4) for w in (1, 1 / 10000)],
)

# %% tags=["hide-input"]
assert [round(n, 2) for n in sinusoidal_positions(2, 4)[1].tolist()] == [0.84, 0.54, 0.01, 1.0]
interleaved = sinusoidal_positions(8, 64)
halves = torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1)
assert torch.allclose(halves @ halves.T, interleaved @ interleaved.T, atol=1e-5)

# %% [markdown]
# The figure puts all sines before all cosines, and its last frequency is 1/10000, where the formula has 1/100. It was
# drawn with a program (Tensor2Tensor) that does both. Neither change harms a model, because dot products don't depend on the
# order of the columns and the choice of frequencies is free. But don't debug your table against that picture.

# %% [markdown]
# ### Myth or fact?
#
# **"BERT uses sinusoids."** All rows of a sinusoidal table are equally long. The position vectors of MiniLM, a small
# BERT, aren't:

# %%
lengths = load_minilm().model.positions.table.detach().norm(dim=1)
print(f"lengths of MiniLM's position vectors: {lengths.min():.2f} to {lengths.max():.2f}")

# %% tags=["hide-input"]
sinusoid_lengths = sinusoidal_positions(512, 384).norm(dim=1)
assert (sinusoid_lengths - sinusoid_lengths[0]).abs().max() < 1e-3
assert lengths.max() > 1.2 * lengths.min()

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.5.
# - Alammar (2018), "The Illustrated Transformer", which has since added a note on its figure.
# - Gehring, Auli, Grangier, Yarats, Dauphin (2017), "Convolutional Sequence to Sequence Learning",
#   arXiv:1705.03122 (learned positions).
# - Devlin, Chang, Lee, Toutanova (2019), "BERT: Pre-training of Deep Bidirectional Transformers for
#   Language Understanding", arXiv:1810.04805.
# - Su, Lu, Pan, Murtadha, Wen, Liu (2021), "RoFormer: Enhanced Transformer with Rotary Position
#   Embedding", arXiv:2104.09864.
