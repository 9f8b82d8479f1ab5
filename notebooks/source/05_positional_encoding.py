# %% [markdown]
# # Positional encoding
#
# **How does it know the order?** So far it does not. Self-attention treats a sentence as a bag of
# words. This lesson tells it where each word stands.
#
# At the end of these **60 minutes**, and half an hour more for the whole breakout, you can
#
# - show that self-attention without positions cannot tell *dog bites man* from *man bites dog*,
# - compute sinusoidal positions and say what each column of the table does,
# - show that moving by $k$ positions is a rotation, the same wherever you stand,
# - say how positions enter the model, and along which axis,
# - name two other ways in use today: learned and rotary positions.
#
# You need lessons 03 and 04.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math

import torch
from torch import nn

from helpers import attention, exercises, plots
from helpers.layers import EncoderLayer
from helpers.positions import LearnedPositions, rotate_positions, sinusoidal_positions
from helpers.widgets.positions_explorer import PositionExplorer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 bag of words 8 · 2 and 3 waves 15 · 4 added 12 · 5 two other ways 5 · 6 experiment 8 ·
# breakout 12: `sinusoidal_positions` and three questions; the rest is for home, about 30 minutes.
#
# **When late**: leave out the table of section 4, and learned positions.
#
# **What people get wrong**: they take i for the column, not for the pair; they take positions along the
# batch; they think that adding is free.

# %% [markdown]
# ## 1. A bag of words
#
# Here are two sentences with the same three words, and one attention layer with random weights. The
# layer turns each word's vector into a new one that has seen the other words.
#
# **Predict:** the two sentences mean different things. Will *dog* get a different vector in the
# second?

# %%
notebook.set_seed(0)
vector = dict(zip(["dog", "bites", "man"], torch.randn(3, 8), strict=True))
layer = attention.MultiHeadAttention(d_model=8, n_heads=2).eval()  # two heads: lesson 06


def read(sentence):
    x = torch.stack([vector[word] for word in sentence.split()])[None]  # (1, 3, 8)
    y, _ = layer(x, x, x)
    return dict(zip(sentence.split(), y[0].detach(), strict=True))


first, second = read("dog bites man"), read("man bites dog")
print("dog in 'dog bites man':", first["dog"][:3])
print("dog in 'man bites dog':", second["dog"][:3])
for word in vector:
    torch.testing.assert_close(first[word], second[word])

# %% [markdown]
# Not a digit changes. Who bites whom is lost. A score depends on two vectors, not on where they
# stand, and a sum does not care in which order it is added up. Lesson 03 called this **permutation
# equivariance**; in symbols, for any reordering $P$ of the rows, $f(PX) = P f(X)$. (It holds
# without a causal mask. With one, a word sees only what stands before it, and some of the order
# leaks in.)

# %%
notebook.set_seed(1)
x = torch.randn(1, 6, 8)
order = torch.randperm(6)
shuffled_before = layer(x[:, order], x[:, order], x[:, order])[0]
shuffled_after = layer(x, x, x)[0][:, order]
torch.testing.assert_close(shuffled_before, shuffled_after)
print("shuffle, then attend  =  attend, then shuffle")

# %% [markdown]
# A recurrent network knows the order because it reads in order. We gave that up for speed. So the
# order must be written *into the vectors*.

# %% [markdown] tags=["notes"]
# **8 minutes.** Ask for ideas before showing any: "You may change only the input vectors. How do you
# tell the model that *dog* is word 1?" The usual answers: append the number; add the number; one-hot
# positions. Keep them on the board. Each gets its answer later: unbounded numbers swamp the word
# (section 2), appending costs width (section 4), one-hot is what learned positions are (section 5).

# %% [markdown]
# ## 2. Waves
#
# The position itself, 0, 1, 2, … is a poor signal: word 300 would drown in its own number. Bits are
# better. Count in binary and each digit flips at its own pace: the last at every step, the one
# before at every second step, and so on. A few bounded digits tell all numbers apart.
#
# Sinusoidal positions do this with waves in place of digits. Columns come in pairs, a sine and a
# cosine of one frequency, and every pair is slower than the one before:
#
# $$PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/D}} \qquad PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/D}}$$
#
# Here $p$ is the position, and $i = 0, 1, …, D/2 - 1$ numbers the **pairs**, not the columns. The
# frequency is the angle, in radians, that one step adds.
#
# By hand, for position 3 and width 4. There are two frequencies: $10000^{0} = 1$ and
# $10000^{-2/4} = 0.01$.

# %%
by_hand = [math.sin(3 * 1), math.cos(3 * 1), math.sin(3 * 0.01), math.cos(3 * 0.01)]
print([f"{number:.3f}" for number in by_hand])
torch.testing.assert_close(sinusoidal_positions(10, 4)[3], torch.tensor(by_hand))

# %% [markdown]
# Now the whole table for 64 positions and width 64. **Predict:** on which side are the fast waves?

# %%
table = sinusoidal_positions(64, 64)  # (max_len, D)
axes = plots.signed_heatmap(table, x_label="column (of D = 64)", y_label="position")
notebook.figure(
    axes,
    alt="The table of sinusoidal positions. Columns on the left change from row to row, columns on "
    "the right hardly change over 64 positions.",
)

# %% [markdown]
# The left columns tell neighbours apart, the middle ones tell the beginning from the end. The right ones
# are so slow that 64 positions hardly move them: the sines stay near 0, the cosines near 1, hence the
# stripes. Beside the binary counter the likeness is plain: here is which *half* of its wave each of four
# sines is in, next to the bits of the same number. (These four are made for the comparison, each twice
# as slow as the next. The table's slow down by another factor, and run from fast, left, to slow.)

# %%
paces = [2.0**bit for bit in (3, 2, 1, 0)]
for position in range(16):
    bits = [position >> bit & 1 for bit in (3, 2, 1, 0)]
    halves = [int(math.sin(math.pi * (position + 0.5) / pace) < 0) for pace in paces]
    print(position, bits, halves)
    assert bits == halves

# %% [markdown]
# Three columns of such a table as curves:

# %% tags=["hide-input"]
notebook.picture("sinusoids")

# %% [markdown]
# No two positions share a row, even far out:

# %%
long_table = sinusoidal_positions(5000, 64)
nearest = torch.cdist(long_table, long_table).fill_diagonal_(math.inf).min()
print(f"smallest distance between any two of 5000 positions: {nearest:.2f}")
assert nearest > 0.5

# %% [markdown]
# ## 3. Moving is rotating
#
# Why both a sine and a cosine? Look at one pair as a point on a circle. The angle is the position
# times the frequency, so going $k$ positions further turns the point by a fixed angle, $k$ times
# the frequency. **The turn does not depend on where you start.** From school:
# $\sin(a+b) = \sin a \cos b + \cos a \sin b$ and $\cos(a+b) = \cos a \cos b - \sin a \sin b$. One
# matrix therefore moves *every* position by $k$:


# %%
def shift_matrix(k, d_model):
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = k * frequency
    turns = [
        torch.stack([torch.stack([c, -s]), torch.stack([s, c])])
        for s, c in zip(angle.sin(), angle.cos(), strict=True)
    ]
    return torch.block_diag(*turns)  # (D, D): a 2×2 turn for each pair of columns


torch.set_printoptions(precision=2, sci_mode=False)
print(shift_matrix(1, 4))
torch.set_printoptions(profile="default")

# %%
torch.set_default_dtype(torch.float64)  # so that only rounding is left
exact = sinusoidal_positions(200, 64)
torch.set_default_dtype(torch.float32)

for k in (1, 5, 50):
    matrix = shift_matrix(k, 64)
    moved = exact[: 200 - k] @ matrix
    error = (moved - exact[k:]).abs().max().item()
    assert error < 1e-6
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(64, dtype=torch.float64))
print("moved by 1, 5 and 50 positions: error below 1e-6 at every position")

# Scores made four times as large: with positions alone, no words, where does each position look?
one_back = (4 * exact[:64] @ shift_matrix(-1, 64) @ exact[:64].T).softmax(-1)
print(f"weight on the word before: at least {one_back[1:].diagonal().min():.2f}")
assert one_back[1:].diagonal().min() > 0.95

# %% [markdown]
# A model can learn such a matrix: with the one for $k = -1$ in its $W_Q$, made large enough,
# attention looks one word back everywhere (but at the first word, which has none). In lesson 06 you
# meet a head with this job. (Its model has learned positions, and found its own way.)
#
# A second consequence: the dot product of two positions depends on their **distance** alone. It is the
# same before and after; to tell the sides apart a model needs its $W_Q$ and $W_K$.

# %%
products = exact[:64] @ exact[:64].T  # (64, 64)
for distance in (0, 1, 7, 30):
    along_diagonal = products.diagonal(distance)
    assert along_diagonal.max() - along_diagonal.min() < 1e-9
assert products.min() > 0
axes = plots.signed_heatmap(products, x_label="position p′", y_label="position p")
notebook.figure(
    axes,
    alt="Dot products of all pairs of 64 positions: a dark diagonal; every line parallel to it has one "
    "colour, paler further off, in ripples.",
    width=480,
)

# %% [markdown]
# Every line parallel to the diagonal has one colour. None is orange: no product is below zero, since the
# slow cosines are all near 1.

# %% [markdown]
# Move the sliders. **Try:** set the shift to the wavelength; what does the turn become? Then take
# pair 15: how far does the point move?

# %%
PositionExplorer()

# %% [markdown]
# Pair 4: with a shift of 20 the turn is nearly the identity, once round. Pair 15 has a wavelength of 471
# positions: 20 steps are 20/471 of a circle, some 15 degrees.

# %% [markdown] tags=["notes"]
# **15 minutes** for sections 2 and 3. The circle helps everybody: draw the hand of a clock for each
# pair. The second hand, the minute hand and the hour hand together tell the time.
#
# Frequent question: *why 10000?* So that the slowest wave is longer than any sentence: its length
# is nearly 2π · 10000 positions, at large widths. It is a choice; rotary models for long texts use
# larger numbers.

# %% [markdown]
# ## 4. How it enters: added
#
# The table is **added** to the word vectors. The word vectors are multiplied by $\sqrt{D}$ first,
# since they are initialised small and would otherwise be drowned:
#
# $$x_p = \sqrt{D}\, e_{w_p} + PE_p$$
#
# Here $w_p$ is the word at position $p$, and $e_{w_p}$ its embedding. The same row is added to word
# $p$ of *every* sentence of the batch. In shapes: $(B, T, D) + (T, D)$, and broadcasting does the
# rest.

# %%
notebook.set_seed(0)
batch = torch.randn(2, 5, 64) * 64**-0.5  # B=2 sentences, T=5 words, D=64
entered = batch * math.sqrt(64) + table[:5]  # (2, 5, 64) + (5, 64)
torch.testing.assert_close(entered[0, 3] - entered[1, 3], (batch[0, 3] - batch[1, 3]) * 8)

# %% [markdown]
# Does this repair *dog bites man*?


# %%
def read_with_positions(sentence):
    words = sentence.split()
    x = torch.stack([vector[word] for word in words])[None]  # of size 1 already: no √D
    x = x + sinusoidal_positions(3, 8)
    y, _ = layer(x, x, x)
    return dict(zip(words, y[0].detach(), strict=True))


first, second = read_with_positions("dog bites man"), read_with_positions("man bites dog")
difference = (first["dog"] - second["dog"]).abs().max()
print(f"the two vectors of dog now differ by up to {difference:.2f}")
assert difference > 0.1

# %% [markdown]
# **Why does adding not mix things up?** Two numbers added cannot be taken apart again. Two
# *vectors* of many dimensions nearly can: random directions are almost at right angles to each
# other. Let us measure. We take 600 words with random vectors, put them at 40 positions, and ask a
# *linear* map to read back the position, and another to read back the word. Half of the pairs are
# used to fit the maps, the other half to test them. Beside it stands the alternative: half the
# width for the word, half for the position, side by side (*concatenated*). **Predict:** at
# $D = 64$, which is read back better from the sum, the word or the position?


# %%
def read_back(x, labels, train):
    """Fit a linear map from vectors to one-hot labels; return its accuracy on the rest."""
    targets = torch.eye(int(labels.max()) + 1)[labels]
    ones = torch.ones(len(x), 1)
    x = torch.cat([x, ones], dim=1)
    ridge = 1e-3 * torch.eye(x.shape[1])
    # Least squares; the tiny ridge keeps it solvable.
    fit = torch.linalg.solve(x[train].T @ x[train] + ridge, x[train].T @ targets[train])
    return ((x[~train] @ fit).argmax(1) == labels[~train]).float().mean().item()


notebook.set_seed(0)
n_words, n_positions = 600, 40
word, position = torch.cartesian_prod(torch.arange(n_words), torch.arange(n_positions)).T
train = torch.rand(len(word)) < 0.5

accuracy = {}
for width in (64, 256, 512):
    words = torch.randn(n_words, width)  # already scaled: components of size 1
    added = words[word] + sinusoidal_positions(n_positions, width)[position]
    halves = [torch.randn(n_words, width // 2)[word]]
    halves.append(sinusoidal_positions(n_positions, width // 2)[position])
    beside = torch.cat(halves, dim=1)
    accuracy[width] = [read_back(x, y, train) for x in (added, beside) for y in (position, word)]
    print(f"D = {width:>3}   added: position {accuracy[width][0]:4.0%}, word {accuracy[width][1]:4.0%}"
          f"   concatenated: position {accuracy[width][2]:4.0%}, word {accuracy[width][3]:4.0%}")  # fmt: skip

# %%
chance = 1 / n_positions
assert accuracy[512][1] > 0.95 and accuracy[512][0] > 20 * chance  # both can be read from the sum
assert accuracy[64][0] < accuracy[256][0] < accuracy[512][0]  # the wider, the better
assert all(beside[2] > beside[0] for beside in accuracy.values())  # but adding is not free

# %% [markdown]
# From the *sum* at the paper's width, a linear map names the word practically always, and the exact
# position most of the time, where guessing would be right once in 40. The wider the vectors, the
# better. But look at the other columns: with a half of the width for each, the position is read
# better still. So adding is not free. These words were random, and 600 of them fill every direction
# there is; a trained model can keep some directions clear. That is the real argument for adding: it
# spends no width, and leaves it to training how much room each of the two deserves. It is the usual
# choice, not a law.
#
# ### Along which axis?
#
# A mistake that raises no error: the position is taken from the **batch** axis. Then every word of
# a sentence gets the same *position* vector added, and we are back at the bag of words.

# %%
notebook.set_seed(0)
x = torch.randn(6, 6, 8)  # six sentences of six words
order = torch.randperm(6)


def equivariant(x, with_positions):
    shuffled = with_positions(x[:, order])
    return torch.allclose(
        layer(shuffled, shuffled, shuffled)[0],
        layer(*[with_positions(x)] * 3)[0][:, order],
        atol=1e-6,
    )


ways = {
    "along time": lambda x: x + sinusoidal_positions(6, 8),
    "along batch": lambda x: x + sinusoidal_positions(6, 8)[:, None],  # (6, 1, 8)
}
for name, with_positions in ways.items():
    print(f"{name}, still a bag of words: {equivariant(x, with_positions)}")
assert not equivariant(x, ways["along time"]) and equivariant(x, ways["along batch"])

# %% [markdown] tags=["notes"]
# **12 minutes.** The accuracy table is worth a discussion: *what would you have bet?* The point to
# take home is that adding is cheap, not that it is free: at width 64 it costs a lot.

# %% [markdown]
# ## 5. Two other ways
#
# **Learned positions.** A table like any embedding, trained with the rest. BERT (an encoder alone),
# GPT-2 (a decoder alone) and the Vision Transformer (for pictures) do this. It has no row for a
# position beyond its end.

# %%
learned = LearnedPositions(max_len=512, d_model=64)
print(learned(5).shape)
try:
    learned(513)  # rows 0 to 512
except ValueError as error:
    print(error)

# %% [markdown]
# **Rotary positions (RoPE).** Section 3 said that moving is rotating. So rotate: turn each pair of
# features of a query and of a key by an angle that grows with its position, and leave the values
# alone. The dot product of a turned query and a turned key depends only on how far, and on which
# side, the key stands from the query. Most large language models of recent years do this (Su et al.
# 2021).

# %%
notebook.set_seed(0)
query, key = torch.randn(2, 64)
rotated_queries = rotate_positions(query.expand(50, 64))  # the same query at 50 positions
rotated_keys = rotate_positions(key.expand(50, 64))
scores = rotated_queries @ rotated_keys.T
print("query at 10, key at 7:", f"{scores[10, 7]:.3f}", "   query at 40, key at 37:",
      f"{scores[40, 37]:.3f}")  # fmt: skip
print(f"query at 7, key at 10: {scores[7, 10]:.3f}")
torch.testing.assert_close(scores[10, 7], scores[40, 37], atol=1e-4, rtol=0)

# %% [markdown] tags=["notes"]
# **5 minutes** for section 5. Ask: *what does BERT do with word 513?* (There is no row for
# it.) *Why are the values not turned?* (Only scores need to know distances; a turned value would put the
# position into what is mixed.)

# %% [markdown]
# ## 6. The experiment: can it turn a sequence round?
#
# The task: eight different letters in, the same letters in reverse order out. At each place the model
# must say which letter stands at the mirrored place. It needs to know where things stand; nothing
# else is hard about it.
#
# We train the same small encoder twice, about ten seconds in all, once with positions and once
# without. **Predict** both accuracies. What is the best anyone could do *without* knowing the
# order?


# %%
class Reverser(nn.Module):
    def __init__(self, with_positions, n_letters=20, d_model=64):
        super().__init__()
        self.with_positions = with_positions
        self.embedding = nn.Embedding(n_letters, d_model)
        self.layers = nn.ModuleList(
            # Attention and a small network for each word: lesson 07 opens it, norm_first too.
            EncoderLayer(d_model, n_heads=4, d_ff=128, dropout=0.0, norm_first=True)
            for _ in range(2)
        )
        self.output = nn.Linear(d_model, n_letters)

    def forward(self, letters):  # (B, T) -> (B, T, n_letters)
        x = self.embedding(letters)  # starts at size 1, so no √D here; the paper's starts near 1/√D
        if self.with_positions:
            x = x + sinusoidal_positions(letters.shape[1], x.shape[-1])
        for layer in self.layers:
            x = layer(x)
        return self.output(x)


def letters(n):
    return torch.rand(n, 20).argsort(dim=1)[:, :8]  # eight different letters out of twenty


def train_reverser(with_positions, steps=400):
    notebook.set_seed(0)
    model = Reverser(with_positions)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        x = letters(64)
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flip(1).flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    x = letters(1000)
    with torch.no_grad():
        return (model(x).argmax(-1) == x.flip(1)).float().mean().item()


# %% tags=["nbval-ignore-output"]
with_positions = train_reverser(True)
without_positions = train_reverser(False)
print(
    f"with positions: {with_positions:.1%}   without: {without_positions:.1%}   chance: {1 / 7:.1%}"
)
assert with_positions > 0.95
assert abs(without_positions - 1 / 7) < 0.03

# %% [markdown]
# With positions it is solved. Without them the letter to name is one of the seven others. The model
# learns the one thing that can be learned, *name one of the other letters*, and stays at one in
# seven, however long you train it. (What is above 1/7 is the luck of this draw.)

# %% [markdown] tags=["notes"]
# **8 minutes**, of which the two trainings take about ten seconds. While they run: *what exactly can
# the model without positions know?* The set of letters and its own letter. *Would a deeper model do
# better?* No: every layer is equivariant, so the stack is.

# %% [markdown]
# ## Breakout

# %%
exercises.heading("sinusoidal_positions")


# %%
def sinusoidal_positions_(max_len, d_model):
    """-> (max_len, d_model), interleaved sine and cosine"""
    ...


exercises.check("sinusoidal_positions", sinusoidal_positions_)

# %%
exercises.heading("add_positions")


# %%
def add_positions(embeddings, table):
    """embeddings (B, T, D), table (max_len, D) -> (B, T, D), the embeddings scaled by √D"""
    ...


exercises.check("add_positions", add_positions)

# %%
exercises.heading("shift_matrix")


# %%
def my_shift_matrix(k, d_model):
    """-> (D, D), such that table[p] @ matrix equals table[p + k] for every p"""
    ...


exercises.check("shift_matrix", my_shift_matrix)

# %%
exercises.heading("rotate_pairs")


# %%
def rotate_pairs(x, angles):
    """x (T, K), angles (T, K/2): turn features 2i and 2i+1 of row t by angles[t, i] -> (T, K)"""
    ...


exercises.check("rotate_pairs", rotate_pairs)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("what_equivariance_means")

# %%
exercises.quiz("fast_and_slow_columns")

# %%
exercises.quiz("why_sine_and_cosine")

# %%
exercises.quiz("which_axis")

# %%
exercises.quiz("who_uses_what")

# %%
exercises.quiz("position_beyond_the_table")

# %%
exercises.quiz("angle_after_two_steps")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("when_order_does_not_matter")

# %%
exercises.quiz("add_or_concatenate")

# %% [markdown]
# ### Going further
#
# Train the reverser on sequences of eight letters and test it on sequences of twelve, once with
# sinusoids, once with learned positions for twelve places, once with rotary positions in every layer.
# Which of them fails least? Do any of them do well, and why?

# %% [markdown]
# ## Myth or fact?
#
# **"Positions are appended to the word vector."** A myth for the Transformer of 2017, BERT and
# GPT-2: they are added. The width stays what it was.

# %%
assert (torch.zeros(2, 5, 64) + sinusoidal_positions(5, 64)).shape == (2, 5, 64)

# %% [markdown]
# **"BERT uses sinusoids."** A myth: its positions are a learned table, as the weights of MiniLM, a
# small BERT, show. A table of sinusoids would have rows of one length; this one has not.

# %%
from helpers.pretrained.minilm import load_minilm

bert_positions = load_minilm().model.positions.table.detach()
lengths = bert_positions.norm(dim=1)
print(f"{tuple(bert_positions.shape)}, row lengths from {lengths.min():.2f} to {lengths.max():.2f}")
sinusoid_lengths = sinusoidal_positions(512, 384).norm(dim=1)
assert (sinusoid_lengths - sinusoid_lengths[0]).abs().max() < 1e-3
assert lengths.max() > 1.2 * lengths.min()

# %% [markdown]
# ## Summary
#
# - Self-attention alone (no causal mask) is permutation equivariant: shuffle in, shuffle out.
# - Sinusoids: $PE_{(p,2i)} = \sin(p / 10000^{2i/D})$, $PE_{(p,2i+1)} = \cos$ of the same angle.
#   Moving by $k$ is a rotation; the dot product depends on the distance.
# - They are *added*, $\sqrt{D}\,e + PE$, shapes $(B, T, D) + (T, D)$, along time.
# - Learned tables end somewhere; rotary positions turn queries and keys instead.
#
# A word can now look at others and knows where they stand. But one softmax row has one unit of
# weight to give. **Lesson 06** gives it several.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.5.
# - Gehring, Auli, Grangier, Yarats, Dauphin (2017), "Convolutional Sequence to Sequence Learning",
#   arXiv:1705.03122: learned positions.
# - Devlin, Chang, Lee, Toutanova (2019), "BERT: Pre-training of Deep Bidirectional Transformers for
#   Language Understanding", arXiv:1810.04805.
# - Su, Lu, Pan, Murtadha, Wen, Liu (2021), "RoFormer: Enhanced Transformer with Rotary Position
#   Embedding", arXiv:2104.09864.
