# %% [markdown]
# # Positional encoding
#
# Here's a task that a child can do: read eight letters and say them backwards. Let's give it to a model with
# two attention layers of the kind you know from lessons 03 and 04.
#
# However long this model trains, it will never learn the task, because something is missing from everything
# we've built so far. Before we look for the missing part, how often will the model name the right letter?

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

from IPython.display import display
import torch
import torch.nn.functional as F
from torch import nn

from helpers import exercises, plots
from helpers.transformer import attention
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.positions import LearnedPositions, rotate_positions, sinusoidal_positions
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator
from helpers.widgets.model_map import model_map
from helpers.widgets.positions_explorer import PositionExplorer


class Reverser(nn.Module):
    """Two encoder layers (lesson 07) that say eight letters backwards."""

    def __init__(self, with_positions, n_letters=20, d_model=64):
        super().__init__()
        self.with_positions = with_positions
        self.embedding = nn.Embedding(n_letters, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads=4, d_ff=128, dropout=0.0, norm_first=True)
            for _ in range(2)
        )
        self.output = nn.Linear(d_model, n_letters)

    def forward(self, letters):  # (B, T) -> (B, T, n_letters)
        x = self.embedding(letters)  # starts at size 1, so no √D here
        if self.with_positions:
            x = x + sinusoidal_positions(letters.shape[1], x.shape[-1])
        for layer in self.layers:
            x = layer(x)
        return self.output(x)


def some_letters(n):
    return torch.rand(n, 20).argsort(dim=1)[:, :8]  # eight different letters out of twenty


def train_reverser(with_positions, steps=200):
    notebook.set_seed(0)
    model = Reverser(with_positions)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3, fused=True)
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
# **46 minutes.** Hook, training and warm-up 5 · 1 a bag of words 3 · 2 from numbers to waves 19 ·
# 3 moving is rotating 5 · 4 added 9 · 5 two other ways and the map 5.
#
# **Say first**: we gave up reading in order because it was slow. So now the model doesn't know the order of
# the words. We can give it the order with a single table, added once.
#
# **Ask before showing anything**: "You're allowed to change only the input vectors. How do you tell the
# model that *dog* is the first word?" The usual answers are: append the number, add the number, use
# one-hot positions. Keep them on the board. Section 2 answers the second, section 4 the first, and
# section 5 the third, because a learned table is a one-hot position times a matrix.
#
# **If you're running late**: set `sinusoidal_positions` in section 2 as homework (eight minutes; the lesson goes on with
# the tested version), and leave out section 5 (four).
#
# **Mistakes to expect**: $i$ counts columns (it counts *pairs* of columns) · positions run along the batch ·
# adding costs nothing. Somebody will ask: "Why 10000?" (so that the slowest wave is longer than any sentence;
# it's a choice, and models for long texts use larger numbers).

# %%
exercises.predict("reverse_without_positions")

# %% tags=["hide-input", "nbval-ignore-output"]
without_positions = train_reverser(False)
exercises.reveal("reverse_without_positions", measured=without_positions)
assert abs(without_positions - 100 / 7) < 3
notebook.tell(
    """The model is right about one time in seven. In the reversed word, no letter is where it was before, so
    the right answer is one of the other seven letters. The model can't find out more than that, because
    *which* of the seven is right depends on where they are."""
)

# %%
exercises.warm_up(5)

# %% [markdown]
# ## 1. A bag of words
#
# One attention layer with random weights reads two sentences that mean rather different things.


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
torch.testing.assert_close(read("dog bites man")[0], read("man bites dog")[2])
notebook.set_seed(1)
x = torch.randn(1, 6, 8)
order = torch.randperm(6)
shuffled = x[:, order]
torch.testing.assert_close(layer(shuffled, shuffled, shuffled)[0], layer(x, x, x)[0][:, order])

# %% [markdown]
# Not a single digit changes, so the layer can't tell who bites whom. As you saw in lesson 03, attention is
# **permutation equivariant**. A recurrent network can use the order, because it reads the words in order. We
# gave that up for the sake of speed, so we have to write the order *into the vectors* instead.
#
# ## 2. From numbers to waves
#
# The obvious idea is to write the number of the position into the vector: add 0 to every entry of the
# first word, 1 to the second, and so on. That's one line of code, so try it.
#
# ### Your turn (3 min)

# %% tags=["hide-input"]
exercises.heading("add_position_number")


# %%
def add_position_number(x):
    """x (T, D) -> (T, D): every entry of row p becomes p larger"""
    positions = ...  # ← fill the gap: 0, 1, 2, … as a column
    return x + positions


# %% tags=["hide-input"]
exercises.check("add_position_number", add_position_number)

# %% [markdown]
# Does it work? Let's take words with vectors of 64 random numbers and put them far apart.

# %%
notebook.set_seed(0)
dog, cat = torch.randn(2, 64)  # entries of size 1
dog_at_3, dog_at_300, cat_at_300 = dog + 3, dog + 300, cat + 300

# %%
exercises.predict("which_is_more_alike")

# %% tags=["hide-input"]
same_word = F.cosine_similarity(dog_at_3, dog_at_300, dim=0).item()
same_place = F.cosine_similarity(cat_at_300, dog_at_300, dim=0).item()
exercises.reveal("which_is_more_alike", measured="word" if same_word > same_place else "place")
print(f"dog at 300 and dog at 3:   cosine {same_word:.4f}")
print(f"dog at 300 and cat at 300: cosine {same_place:.6f}")
assert same_place > 0.9999 > same_word
notebook.tell(
    """At position 300 all words look the same, because 300 is so much larger than their own entries."""
)

# %% [markdown]
# So we need numbers that stay small but are different for every position. Binary digits have both properties.
# Count 0, 1, 2, 3, … in bits: the last digit flips at every step, the last but one at every second step, and
# the one before that at every fourth. No digit ever exceeds 1, but no two numbers look the same. **Sinusoidal
# positions** do this with waves instead of digits. Columns come in pairs, a sine and a cosine of the same
# frequency, and every pair is slower than the one before it.
#
# $$PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/D}} \qquad PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/D}}$$
#
# Here $p$ is the position, and $i = 0, 1, …, D/2 - 1$ counts the **pairs** of columns. The frequency
# $10000^{-2i/D}$ is the angle, in radians, by which the wave of pair $i$ advances per position.
#
# **Pencil (3 min).** Work out the row for position 3 at width $D = 4$. There are two pairs, with the
# frequencies $10000^0$ and $10000^{-2/4}$. You can use a calculator for the sines.

# %%
exercises.predict("third_entry_by_hand")

# %% tags=["hide-input"]
by_hand = [math.sin(3 * 1), math.cos(3 * 1), math.sin(3 * 0.01), math.cos(3 * 0.01)]
exercises.reveal("third_entry_by_hand", measured=round(by_hand[2], 3))
print([f"{number:.3f}" for number in by_hand])
torch.testing.assert_close(sinusoidal_positions(10, 4)[3], torch.tensor(by_hand))

# %% [markdown]
# ### Your turn

# %% tags=["hide-input"]
exercises.heading("sinusoidal_positions")


# %%
def my_positions(max_len, d_model):
    """-> (max_len, d_model), interleaved sine and cosine"""
    position = torch.arange(max_len)[:, None]  # (max_len, 1)
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    angle = position * frequency  # (max_len, D/2), by broadcasting
    table = angle.new_zeros(max_len, d_model)
    table[:, 0::2] = ...  # ← fill the two gaps
    table[:, 1::2] = ...
    return table


# %% tags=["hide-input"]
exercises.check("sinusoidal_positions", my_positions)

# %% [markdown]
# Here's the whole table for 64 positions and 64 columns. Every row is the signature of one position.

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
# The columns on the left differ between neighbouring positions, and those in the middle differ between the
# beginning and the end. The columns on the right are so slow that they hardly change over 64 positions, which
# is why you see stripes. They become useful in longer texts: even among 5,000 positions, no two rows are
# closer than 0.5 to each other.

# %%
exercises.quiz("fast_and_slow_columns")

# %% [markdown]
# ## 3. Moving is rotating
#
# Why does every frequency need a sine *and* a cosine? Think of one pair of columns as a point on a circle,
# like the tip of a clock hand. Each step turns the hand by the same angle. So moving on by $k$ positions
# turns it by $k$ times that angle, **wherever you start**. This means that a single matrix, which rotates
# every pair, moves any position by $k$. A model that has learned this matrix can attend to "the word before",
# whatever the position.
#
# If that's true, something should follow for the dot product of two positions, which is what attention
# computes.

# %%
exercises.predict("dot_product_of_positions")

# %% tags=["hide-input"]
exact = sinusoidal_positions(64, 64).double()
products = exact @ exact.T  # (64, 64)
spread = max(
    (products.diagonal(k).max() - products.diagonal(k).min()).item() for k in (0, 1, 7, 30)
)
exercises.reveal("dot_product_of_positions", measured="distance" if spread < 1e-4 else "both")
assert spread < 1e-4 and products.min() > 0
axes = plots.signed_heatmap(products, x_label="position p′", y_label="position p")
display(
    notebook.figure(
        axes,
        alt="Dot products of all pairs of 64 positions: a dark diagonal; every line parallel to it has one "
        "colour, paler further off, in ripples.",
        width=560,
    )
)
notebook.tell(
    """Every line parallel to the diagonal has a single colour, so the dot product depends only on the
    **distance** between the two positions. It's largest at distance zero and fades in ripples. The dot
    product alone can't distinguish left from right, but a model can learn to do that with its $W_Q$ and
    $W_K$."""
)

# %% [markdown]
# Move the sliders below. **Try:** set the shift to the wavelength. By what angle does the hand turn? Then choose
# pair 15. How far does its hand move?

# %%
PositionExplorer()

# %%
exercises.quiz("why_sine_and_cosine")

# %% [markdown]
# ## 4. How it enters: added
#
# The table is simply **added** to the word vectors, row by row, with the same rows for every sentence of the
# batch. Before that, the paper multiplies the embeddings by $\sqrt D$:
#
# $$x_p = \sqrt{D}\, e_{w_p} + PE_p, \qquad (B, T, D) + (T, D)$$
#
# The paper gives no reason for the factor. But embeddings are often initialised with entries of size about
# $1/\sqrt D$, and then the factor brings them up to the size of the sines.
#
# ### Your turn: find the bug (4 min)
#
# This version runs without an error, and a model that uses it fails at reversing just like the one
# without positions. There are two mistakes.

# %% tags=["hide-input"]
exercises.heading("add_positions")


# %%
def add_positions(embeddings, table):
    """embeddings (B, T, D), table (max_len, D) -> (B, T, D), the embeddings scaled by √D"""
    n_sentences, length, d_model = embeddings.shape
    return embeddings + math.sqrt(d_model) * table[:n_sentences, None]


# %% tags=["hide-input"]
exercises.check("add_positions", add_positions)

# %% [markdown]
# Adding looks risky, because once two numbers are added, you can't separate them again. But with two
# *vectors* of many entries you often can, because random directions in many dimensions are almost at right
# angles. Let's measure how well it works. We add each of 600 random word vectors to each of 40 positions,
# which makes 24,000 sums. We fit a *linear* map on half of the sums, and use it to read the position back
# from the other half.

# %%
exercises.predict("reading_the_position_back")


# %% tags=["hide-input"]
def read_back(x, labels, train):
    """Fit a linear map from vectors to one-hot labels; return its accuracy on the rest."""
    targets = torch.eye(int(labels.max()) + 1)[labels]
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    ridge = 1e-3 * torch.eye(x.shape[1])  # least squares; the tiny ridge keeps it solvable
    fit = torch.linalg.solve(x[train].T @ x[train] + ridge, x[train].T @ targets[train])
    return 100 * ((x[~train] @ fit).argmax(1) == labels[~train]).float().mean().item()


notebook.set_seed(0)
n_words, n_positions = 600, 40
word, position = torch.cartesian_prod(torch.arange(n_words), torch.arange(n_positions)).T
train = torch.rand(len(word)) < 0.5
accuracy = {}
for width in (64, 256, 512):
    vectors = torch.randn(n_words, width)
    added = vectors[word] + sinusoidal_positions(n_positions, width)[position]
    halves = [torch.randn(n_words, width // 2)[word]]
    halves.append(sinusoidal_positions(n_positions, width // 2)[position])
    beside = torch.cat(halves, dim=1)
    accuracy[width] = [read_back(x, y, train) for x in (added, beside) for y in (position, word)]
exercises.reveal("reading_the_position_back", measured=accuracy[512][0])
for width, (where, which, _, _) in accuracy.items():
    print(f"D = {width:>3}: position read back {where:3.0f}%, word read back {which:3.0f}%")
assert accuracy[512][1] > 95 and accuracy[512][0] > 50
assert accuracy[64][0] < accuracy[256][0] < accuracy[512][0]  # the wider, the better
assert all(beside[2] > beside[0] for beside in accuracy.values())  # but adding is not free
notebook.tell(
    """At the paper's width, the linear map practically always recovers the *word*, and most of the time the
    exact position, where guessing would be right once in 40. At width 64, adding loses much more. So adding
    does lose something, and less the wider the vectors are. *Going deeper* compares it with concatenation."""
)

# %% [markdown]
# Now back to the eight letters. Can the model reverse them if we add positions?

# %%
exercises.predict("reverse_with_positions")

# %% tags=["hide-input", "nbval-ignore-output"]
with_positions = train_reverser(True)
exercises.reveal("reverse_with_positions", measured=with_positions)
assert with_positions > 95
notebook.tell(
    """The model and the training are the same as before. All we did was add one table to the embeddings."""
)

# %% [markdown]
# ## 5. Two other ways
#
# **Learned positions** are a table like any embedding, trained with everything else. BERT, GPT-2 and the
# Vision Transformer use one. But a learned table has only as many rows as it was trained with.

# %%
learned = LearnedPositions(max_len=512, d_model=64)
try:
    learned(513)  # positions 0 to 512
except ValueError as error:
    print(error)

# %% [markdown]
# **Rotary positions** (RoPE, Su et al. 2021) use the rotation of section 3 directly. They turn each pair of
# entries of a query and of a key by an angle that grows with the position. Nothing is added, and the values
# stay as they are. Below, we put the same query and the same key at each of 50 positions.

# %%
notebook.set_seed(0)
query, key = torch.randn(2, 64)
turned_queries = rotate_positions(query.expand(50, 64))  # the same query at 50 positions
turned_keys = rotate_positions(key.expand(50, 64))
scores = turned_queries @ turned_keys.T  # (50, 50)

# %%
exercises.predict("rotary_scores")

# %% tags=["hide-input"]
equal = abs(scores[10, 7] - scores[40, 37]) < 1e-3
mirrored = abs(scores[10, 7] - scores[7, 10]) < 1e-3
exercises.reveal(
    "rotary_scores", measured="first" if equal and not mirrored else "both" if equal else "neither"
)
for t, s in ((10, 7), (40, 37), (7, 10)):
    print(f"query at {t:>2}, key at {s:>2}: score {scores[t, s]:.2f}")
assert equal and not mirrored
notebook.tell(
    """For a given query and a given key, the score depends only on how far apart the two are and on which
    comes first. Most of today's large language models use rotary positions."""
)

# %%
exercises.quiz("who_uses_what")

# %% [markdown]
# ### You are here
#
# Positions enter once, at the very bottom: the striped block beside the embeddings is the table of this
# lesson, added row by row.

# %% tags=["nbval-ignore-output"]
model_map(load_translator().trace("Un chien noir court."), here="positions", tour="05")

# %% [markdown]
# ### What to take away
#
# - Without positions, self-attention is permutation equivariant: if you shuffle the words, the outputs are
#   shuffled in the same way.
# - Sinusoids give every position a row of bounded numbers, from fast waves to slow ones.
# - Moving by $k$ positions is a rotation that doesn't depend on where you start, so the dot product of
#   two positions depends on their distance.
# - Positions are **added** to the embeddings, along the sequence: $\sqrt{D}\,e + PE$.
# - Learned tables have a last position. Rotary positions turn queries and keys instead of adding anything.
#
# $$PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/D}} \qquad PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/D}}$$
#
# A word can now attend to the other words and depend on where they are. But the weights in its row sum to 1,
# so it can't attend fully to two words at once. **Lesson 06** gives each word several rows.

# %% [markdown]
# # Practice
#
# About half an hour, the easiest first.

# %%
exercises.quiz("what_equivariance_means")

# %%
exercises.quiz("which_axis")

# %%
exercises.quiz("angle_after_two_steps")

# %%
exercises.quiz("position_beyond_the_table")

# %% tags=["hide-input"]
exercises.heading("shift_matrix")


# %%
def my_shift_matrix(k, d_model):
    """-> (D, D), such that table[p] @ matrix equals table[p + k] for every p"""
    ...


# %% tags=["hide-input"]
exercises.check("shift_matrix", my_shift_matrix)

# %% tags=["hide-input"]
exercises.heading("rotate_pairs")


# %%
def rotate_pairs(x, angles):
    """x (T, K), angles (T, K/2): turn features 2i and 2i+1 of row t by angles[t, i] -> (T, K)"""
    ...


# %% tags=["hide-input"]
exercises.check("rotate_pairs", rotate_pairs)

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("when_order_does_not_matter")

# %%
exercises.quiz("add_or_concatenate")

# %% [markdown]
# # Going deeper
#
# Optional, about 25 minutes. Nothing later depends on it.
#
# ## A head that attends to the previous word
#
# The matrix that moves a position by $k$ has a 2 × 2 rotation per pair of columns. Put the matrix for
# $k = -1$ into a head's $W_Q$, scaled up so that one weight clearly wins, and the head attends to the word
# before, at every position.


# %%
def shift_matrix(k, d_model):
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    sines, cosines = (k * frequency).sin(), (k * frequency).cos()
    turns = [torch.tensor([[c, -s], [s, c]]) for s, c in zip(sines, cosines, strict=True)]
    return torch.block_diag(*turns).double()  # (D, D)


one_back = (4 * exact @ shift_matrix(-1, 64) @ exact.T).softmax(-1)  # (T, T)
print(f"weight on the word before: at least {one_back[1:].diagonal().min():.2f}")

# %% tags=["hide-input"]
for k in (1, 5, 50):
    assert (exact[: 64 - k] @ shift_matrix(k, 64) - exact[k:]).abs().max() < 1e-4
assert one_back[1:].diagonal().min() > 0.95

# %% [markdown]
# In lesson 06 you'll meet a trained head that attends to the previous word. Its model has learned positions,
# so it does this in a different way.
#
# ## Bits and waves
#
# You can take the comparison with binary numbers literally. The cell below prints the bits of each position
# next to four sines, each reduced to 1 or 0, depending on which *half* of its wave it's in. We made these
# four sines for the comparison, each half as fast as the next. In the real table the factor from one
# frequency to the next is different.

# %%
for position in range(8):
    bits = [position >> bit & 1 for bit in (3, 2, 1, 0)]
    halves = [int(math.sin(math.pi * (position + 0.5) / 2**bit) < 0) for bit in (3, 2, 1, 0)]
    print(position, bits, halves)

# %% tags=["hide-input"]
assert bits == halves == [0, 1, 1, 1]
notebook.picture("sinusoids")

# %% [markdown]
# ## Is it added or concatenated?
#
# The table is added. Here's what would happen with concatenation, with half of the width for the word and
# half for the position.

# %% tags=["hide-input"]
for width, (a, b, c, d) in accuracy.items():
    print(
        f"D = {width:>3}   added: position {a:3.0f}%, word {b:3.0f}%"
        f"   concatenated: position {c:3.0f}%, word {d:3.0f}%"
    )

# %% [markdown]
# With concatenation, the position can be read back better at every width. So why does almost everybody add?
# Adding reserves no columns for positions, so training can decide how many directions the words and
# the positions use. Our 600 words were random, so they use every direction there is. A trained model can keep
# some directions free.
#
# ## Along which dimension?
#
# The buggy function in section 4 added positions along the batch. Then the *same* position vector is added to
# all words of a sentence, and the sentence is a bag of words again.

# %%
notebook.set_seed(0)
x = torch.randn(6, 6, 8)  # six sentences of six words
along_time = x + sinusoidal_positions(6, 8)
along_batch = x + sinusoidal_positions(6, 8)[:, None]  # (6, 1, 8)


# %% tags=["hide-input"]
def still_a_bag(x, add):
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled = add(x[:, order])
    after = layer(*[add(x)] * 3)[0][:, order]
    return torch.allclose(layer(shuffled, shuffled, shuffled)[0], after, atol=1e-6)


bag_time = still_a_bag(x, lambda x: x + sinusoidal_positions(6, 8))
bag_batch = still_a_bag(x, lambda x: x + sinusoidal_positions(6, 8)[:, None])
print(f"still a bag of words: along time {bag_time}, along the batch {bag_batch}")
assert bag_batch and not bag_time

# %% [markdown]
# ## Myth or fact?
#
# **"Positions are appended to the word vector."** A myth, at least for the Transformer of 2017, BERT and
# GPT-2. There, positions are added, and the width doesn't change.
#
# **"BERT uses sinusoids."** A myth. All rows of a sinusoidal table have the same length, but the position
# vectors of MiniLM, a small BERT, don't:

# %%
lengths = load_minilm().model.positions.table.detach().norm(dim=1)
print(f"lengths of MiniLM's position vectors: {lengths.min():.2f} to {lengths.max():.2f}")

# %% tags=["hide-input"]
sinusoid_lengths = sinusoidal_positions(512, 384).norm(dim=1)
assert (sinusoid_lengths - sinusoid_lengths[0]).abs().max() < 1e-3
assert lengths.max() > 1.2 * lengths.min()

# %% [markdown]
# **"The frequencies increase, like overtones."** A myth. They form a geometric series from fast to slow, with
# wavelengths from 2π to nearly 10000 · 2π positions.
#
# **"The table is as long as the longest sentence of the training set."** A myth. Batches are padded to
# their own longest sentence. The only limits are the size of a learned table, if there is one, and the computer's memory.
#
# ## Try it yourself
#
# Train the reverser on eight letters and test it on twelve, once with sinusoids and once with rotary
# positions in every layer. Does either of them generalise to twelve letters? Why, or why not?

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.5.
# - Gehring, Auli, Grangier, Yarats, Dauphin (2017), "Convolutional Sequence to Sequence Learning",
#   arXiv:1705.03122 (learned positions).
# - Devlin, Chang, Lee, Toutanova (2019), "BERT: Pre-training of Deep Bidirectional Transformers for
#   Language Understanding", arXiv:1810.04805.
# - Su, Lu, Pan, Murtadha, Wen, Liu (2021), "RoFormer: Enhanced Transformer with Rotary Position
#   Embedding", arXiv:2104.09864.
