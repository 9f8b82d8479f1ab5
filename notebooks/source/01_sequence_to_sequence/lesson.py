# %% [markdown]
# # Sequence to sequence
#
# *le chat touche le lapin .*
#
# A small network reads this sentence word by word and keeps nothing of it but a single **vector**, a list of 128
# numbers. From the vector alone it writes *the cat touches the rabbit .* It was trained on 20,000 French sentences
# with their translations. You won't catch it out with a new word, because its vocabulary contains every word that can
# occur.
#
# Let it translate the sentence. Then we'll add a clause at the end and let it translate again.

# %%
import torch
from torch import nn

from helpers import exercises
from helpers.pretrained import toy_models
from helpers.widgets.rnn_stepper import RNNStepper

gru = toy_models.load_toy("gru")
print(gru.translate("le chat touche le lapin ."))

# %% tags=["hide-input"]
# The lesson's tools and data.
import random
from collections import Counter

from matplotlib import pyplot

from helpers import plots
from helpers.training import metrics
from helpers.training.batches import pad_batch
from helpers.training.optimizers import Adam

splits = toy_models.toy_data()
test = splits.test


# %% [markdown] tags=["notes"]
# **Minute by minute** (42 minutes; every prediction: alone, then in pairs, then reveal)
#
# | minute | what | say, show, ask |
# |---|---|---|
# | 0 | hook | Read the French aloud, vote by show of hands. Leave the reveal as a puzzle. |
# | 4 | 1, reading | Draw the loop on the board. Ask: "Which of these numbers are learned?" (the two matrices and the bias; not the states). Then `rnn_step` and the pencil. |
# | 13 | 2, writing | Point at the context vector in the picture and ask: "Where is the meaning of the sentence now?" Two minutes with the stepper, then the vote on the length. |
# | 20 | 3, training | `teacher_forcing` is the *find the bug* of this lesson. |
# | 30 | 4, problem 1 | Ask: "What would a thousand cores change?" (for one sentence nothing: each step waits for the one before) |
# | 34 | 4, problem 2 | The most important figure of the lesson: come back to it in lesson 02. |
# | 38 | 4, problem 3 | Do $0.5^{25}$ with a calculator. Then the summary and the map. |
#
# **If you're running late**: skip the stepper (two minutes) and tell problem 1 instead of voting (three). Do not skip
# problem 2.
#
# **Answers to expect.** Pencil: (0.76, 0), then (0.36, 0.96). "Where is the meaning now?": in 128 numbers. Looking back (lesson 02) solves problems 2 and 3 between the two
# sentences, but neither of them within a sentence.
#
# **What people get wrong.** They blame the *size* of the context vector alone (the gradient also has to pass
# through it). They think that teacher forcing is part of the loss. They believe that attention makes an RNN
# parallel.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# Longer and longer sentences, and what becomes of their beginnings.
growing = [
    ("le chat touche le lapin .", "the cat touches the rabbit ."),
    (
        "le chat touche le lapin pendant que les grandes vaches attendent .",
        "the cat touches the rabbit while the big cows wait .",
    ),
    (
        "le chat touche le lapin pendant que les grandes vaches attendent et les tortues grises qui "
        "voient une fleur courent .",
        "the cat touches the rabbit while the big cows wait and the grey turtles that see a flower run .",
    ),
]
first, second, third = gru.translate([french for french, _ in growing])
notebook.claim(first == growing[0][1])
first_ok = second.startswith("the cat touches the rabbit")
second_ok = second.endswith("while the big cows wait .")
outcome = {
    (True, True): "both_right",
    (True, False): "new_part_wrong",
    (False, True): "first_part_wrong",
}
exercises.reveal("a_clause_is_added", outcome.get((first_ok, second_ok), "not_english"))
rows = [
    (f"{len(f.split())}", right, got)
    for (f, right), got in zip(growing, (first, second, third), strict=True)
]
notebook.table(rows, ["French words", "right", "what the network writes"])

short = [p for p in test if len(p.source) <= 8]


def translated_right(toy, pairs=short):
    """Return the sentences, here the short ones, that a model translates without a mistake."""
    found = zip(pairs, toy.translate([p.source for p in pairs]), strict=True)
    return [p for p, got in found if got == " ".join(p.target)]


def beginning_survives(toy, more):
    """Return how many of the short sentences stay right when `more` others follow, and of how many."""
    rng, longer, known = random.Random(0), [], translated_right(toy)
    for pair in known:
        words = list(pair.source[:-1])
        for _ in range(more):
            words += ["et", *rng.choice(short).source[:-1]]
        longer.append((*words, "."))
    kept = sum(
        got.split()[: len(pair.target) - 1] == list(pair.target[:-1])
        for pair, got in zip(known, toy.translate(longer), strict=True)
    )
    return kept, len(known)


survived = {more: beginning_survives(gru, more)[0] for more in (1, 2, 3)}
n_known = len(translated_right(gru))
lost = 1 - survived[1] / n_known
notebook.tell(
    f"""The *rabbit* has turned into *cows*, in a part of the sentence that nobody touched. Make the sentence longer
    still, and the network writes about curious doctors and a grey table, in perfect English. And it isn't just bad
    luck with one sentence. When we appended three more sentences to each of {n_known} short ones that the network
    translates perfectly, only {survived[3]} beginnings survived. What gets lost on the way into the vector? To find
    out, we'll build such a network, starting with a single step."""
)
notebook.claim(0.3 < lost < 0.45 and survived[3] < 0.35 * n_known)

# %% [markdown]
# ## 1. How does a network read a sentence of any length?
#
# A layer expects a fixed number of inputs, but a sentence can have four words or forty. A **recurrent network** gets
# around this as you would at a long lecture, by taking notes. The notes are a vector, the **hidden state** $h$. The
# network reads one word at a time, combines the word with the notes so far and rewrites the notes, using one set of
# weights for all steps:
#
# $$h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$$
#
# $x_t$ is the **embedding** of word $t$, a row of a learned table with one row per word. The first product is what
# the new word contributes, the second is what's left of the old notes, and $\tanh$ squashes every entry of the sum
# into the range −1 to 1. The matrices $W_x$ and $W_h$ and the bias $b$ are learned. The whole step is called a
# **cell**.

# %% tags=["hide-input"]
notebook.picture("unrolled_rnn")

# %% [markdown]
# ### Your turn
#
# Write one step. It works on a **batch** of B sentences at once, so words and states have B rows.


# %% tags=["checked-exercise"]
def rnn_step(x, hidden, w_x, w_h, bias):
    """(B, D_in), (B, D_h), (D_in, D_h), (D_h, D_h), (D_h,) -> (B, D_h)"""
    return torch.tanh(x @ w_x + ...)  # two things are missing


# %% [markdown]
# Now run it in a loop over four words, with notes of only two numbers. Words 3 and 4 are all zeros, so you can watch
# what becomes of words 1 and 2.

# %%
w_x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])  # (D_in=2, D_h=2)
w_h = torch.tensor([[0.5, 0.0], [0.0, -1.0]])  # (D_h, D_h)
words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])  # (S=4, D_in)

# %% [markdown]
# **Pencil.** The notes start as two zeros. Work out the state after word 1 and after word 2, using tanh(1) = 0.76,
# tanh(0.38) = 0.36 and tanh(2) = 0.96. Then run the cell.

# %%
step, notes = exercises.mine("rnn_step"), torch.zeros(1, 2)  # (B=1, D_h)
for number, word in enumerate(words, start=1):
    notes = step(word[None], notes, w_x, w_h, torch.zeros(2))
    print(f"after word {number}: {notes[0, 0]:.2f}, {notes[0, 1]:.2f}")

# %% tags=["hide-input"]
# PyTorch's own layer, with our matrices, computes the same.
rnn = nn.RNN(2, 2, batch_first=True, bias=False)
with torch.no_grad():
    rnn.weight_ih_l0.copy_(w_x.T)  # PyTorch stores each matrix transposed
    rnn.weight_hh_l0.copy_(w_h.T)
assert torch.allclose(rnn(words[None])[1][0], notes, atol=1e-5)
print(exercises.whose("rnn_step", did="computed"))

# %% [markdown]
# The first number is the trace of word 1, and it loses at least half of its size at every step. The second number
# keeps word 2 better, though its sign flips each time. After the last word, these two numbers are all that's left of
# the sentence.
#
# ## 2. How does it write a sentence of another length?
#
# French and English words don't come in pairs. *des vaches* is just *cows*, and *un chapeau noir* is *a black hat*.
# In 2014 two groups solved this with a pair of recurrent networks (Cho et al. 2014a; Sutskever et al. 2014). The
# **encoder** reads the whole French sentence, and its last state is called the **context vector**. The **decoder**
# starts from this vector and writes one English word per step. At each step it reads the previous word and, in Cho's
# version and ours, the context vector again.
#
# How does a state become a word? A learned matrix turns the state into one number per word of the **vocabulary**. That
# number is the word's **logit**, and the decoder writes the word whose logit is largest. Two entries of the vocabulary
# aren't words. The decoder reads `<bos>`, beginning of sequence, at its first step. It writes `<eos>`, end of
# sequence, when it's done.

# %% tags=["hide-input"]
notebook.picture("context_vector")

# %% [markdown]
# Our encoder and decoder are **GRUs** (gated recurrent units), whose step is more elaborate than your `rnn_step`. The
# encoder reads the sentence twice, once forwards and once backwards, and each direction supplies 64 of the 128
# numbers. Read backwards, the beginning comes last, and yet you've seen it get lost. In either direction, a word has
# to share 64 numbers with all the others.
#
# Here are both networks in motion. A state is drawn as a jar, with one layer per word. The thicker a layer, the
# more its word matters to the state. We measured that on our trained model. Put another word in a word's place, and
# the state moves. The further it moves, on average over all other words, the thicker the layer.

# %% tags=["hide-input"]
notebook.picture("hidden_state_travelling")

# %% [markdown]
# Now squeeze the context vector yourself, by letting fewer of the 128 numbers through. Here 32 get through, and *a*
# becomes *the*. Drag the dot. How few numbers keep every word, and does taking one away always cost the decoder
# something?

# %%
RNNStepper(gru.model, gru.source, gru.target, "le petit chat voit un chien noir .", kept=32)

# %% [markdown] predict="where_half_goes_wrong"
# The film counted only nouns. How long can a sentence get before any word of its translation is wrong?

# %%
written = gru.translate([pair.source for pair in test])
right = [got == " ".join(pair.target) for got, pair in zip(written, test, strict=True)]

# %% tags=["hide-input", "nbval-ignore-output"]
# Translations without a mistake, by length.
lengths = list(range(5, 39))


def share_right(length):
    """Return the percentage right of the sentences at most two words off this length."""
    near = [ok for ok, pair in zip(right, test, strict=True) if abs(len(pair.source) - length) <= 2]
    return 100 * sum(near) / len(near)


curve = [share_right(length) for length in lengths]
half = next(length for length, share in zip(lengths, curve, strict=True) if share < 50)
exercises.reveal("where_half_goes_wrong", half)
axes = plots.labelled_lines(
    lengths,
    {"one vector": curve},
    x_label="words in the French sentence (averaged over ±2)",
    y_label="without a mistake, %",
)
axes.axhline(50, color=plots.GREY, linewidth=1, linestyle=":")
axes.set_ylim(0, 114)
mine = exercises.guess("where_half_goes_wrong")
if mine is not None:
    axes.axvline(mine, color=plots.PURPLE, linewidth=2, linestyle="--")
    axes.annotate(
        "your guess", (mine, 108), xytext=(6, 0), textcoords="offset points", color=plots.PURPLE
    )
notebook.show(
    axes,
    alt=f"Share of sentences translated without a mistake against their length: nearly 100% up to 8 words, "
    f"below one half from {half} words on, close to zero beyond 30.",
    width=720,
)
groups = [(4, 8), (9, 12), (13, 16), (17, 20), (21, 30), (31, 40)]
rows = []
for shortest, longest in groups:
    chosen = [i for i, p in enumerate(test) if shortest <= len(p.source) <= longest]
    bleu = metrics.bleu(
        [written[i].replace(" .", ".") for i in chosen],
        [" ".join(test[i].target).replace(" .", ".") for i in chosen],
    )
    exact = 100 * sum(right[i] for i in chosen) / len(chosen)
    rows.append((f"{shortest}–{longest}", len(chosen), f"{exact:.0f}%", f"{bleu:.0f}"))
notebook.table(rows, ["French words", "sentences", "without a mistake", "BLEU"])
notebook.claim(curve[0] > 95 and curve[-1] < 5 and 10 < half < 22)
notebook.claim(n_known / len(short) > 0.97)
notebook.tell(
    """Hardly any of the shortest sentences go wrong, and hardly any of the longest come out right. The table's last
    column falls more slowly, because many words of a ruined translation are still right. It shows **BLEU**, a score
    from 0 to 100 that counts matching words and short phrases."""
)

# %% [markdown]
# This is the **bottleneck**. Everything that the decoder learns about a sentence has to pass through one vector of
# fixed size. Remember the right-hand end of the curve. Lesson 02 changes one thing and draws it again.
#
# ## 3. What is it trained to do?
#
# A **token** is what the network reads or writes in one step, here a word or a full stop. The decoder's task is always
# to predict **the next token**, given the French sentence and the English words so far.
#
# Its mistakes are measured by the **loss**. Take one position, and let $p$ be the probability that the decoder gave to
# the true next word (lesson 02 shows how logits become probabilities). The loss at this position is $-\log p$. A
# decoder that is certain and right pays nothing, and the less it expected the word, the more it pays. We average over
# all positions. Because the logarithm is the natural one, the unit is the **nat**.
#
# When the model translates, the English words so far are its own. In training we know the true ones, so the decoder
# reads the *true* previous word even where it would have written another. That's **teacher forcing**, and it keeps an
# early mistake from spoiling the rest of the sentence.
#
# A colleague wrote the function that prepares the decoder's input, and trained a translator with it for 60 steps. By
# then the loss is usually about 1.


# %%
def colleagues_version(target_ids, bos_id):
    """the words to predict (B, T) -> what the decoder is given (B, T)"""
    bos = torch.full_like(target_ids[:, :1], bos_id)  # (B, 1)
    with_bos = torch.cat([bos, target_ids], dim=1)  # (B, T + 1)
    return with_bos[:, 1:]  # back to length T


# %% tags=["hide-input", "nbval-ignore-output"]
# The training: 60 steps on short sentences.
few = gru.encode([p for p in splits.train if len(p.source) <= 8][:1500])
BOS, N_STEPS = gru.target.ids["<bos>"], 60


def train_briefly(prepare):
    """Train for some steps on short sentences; return the translator and its last loss."""
    toy = toy_models.new_toy("gru", splits)
    optimizer = Adam(toy.model.train().parameters(), 8e-3, fused=True)
    for number in range(N_STEPS):
        start = 32 * number % 1472
        source, target = pad_batch(few[start : start + 32])
        wanted = target[:, 1:]  # without <bos>
        logits = toy.model(source, prepare(wanted, BOS))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    toy.model.eval()
    return toy, loss.item()


theirs, their_loss = train_briefly(colleagues_version)
print(f"the colleague's loss after {N_STEPS} steps: {their_loss:.2f}")
notebook.claim(their_loss < 0.02)

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# What the colleague's model writes by itself.
unseen = [p for p in test if len(p.source) <= 6][:20]
by_them = theirs.translate([p.source for p in unseen])
repeats = sum(len(set(text.split())) == 1 for text in by_them) / len(unseen)
exercises.reveal("too_good_a_loss", "repeats" if repeats > 0.8 else "unrelated")
notebook.table(
    [
        (p.source_text, " ".join(them.split()[:8]) + " …")
        for p, them in zip(unseen[:3], by_them, strict=False)
    ],
    ["French", "what it writes"],
)
notebook.tell(
    """A loss near zero after 60 steps should make you suspicious. The colleague's model had found an easier task
    than translation. It's helpless as soon as it has to read its own words instead of the true ones."""
)
notebook.claim(repeats > 0.8)

# %% [markdown]
# ### Your turn: find the bug
#
# What was that easier task? Take the target `[the, cat, sleeps]` and write down what `colleagues_version` returns.
# Then write the function as it should be. The cell after the check trains a translator with your version.


# %% tags=["checked-exercise"]
def teacher_forcing(target_ids, bos_id):
    """(B, T) -> (B, T), what the decoder is given"""
    ...


# %% tags=["nbval-ignore-output"]
ours, our_loss = train_briefly(exercises.mine("teacher_forcing"))
print(f"loss {our_loss:.1f}, {exercises.whose('teacher_forcing', did='trained')}")
for p in unseen[:3]:
    print(p.source_text, "→", *ours.translate([p.source]))

# %% tags=["hide-input"]
# The same 60 steps, without the shortcut.
notebook.claim(0.4 < our_loss < 2)
notebook.claim(
    all(len(set(text.split())) > 1 for text in ours.translate([p.source for p in unseen]))
)

# %% [markdown] predict="loop_against_product"
# Sixty steps are far too few for good translations. Still, this model writes sentences that come to an end, and its
# loss no longer hides how much it has left to learn.
#
# ## 4. Three problems of recurrent networks
#
# ### Problem 1: sequential computation
#
# $h_t$ needs $h_{t-1}$, so step 512 waits for the 511 steps before it, however many cores you have. A layer
# without recurrence can process all the words in one matrix product. What does the waiting cost?

# %% tags=["nbval-ignore-output"]
layer, loop = nn.Linear(128, 128), nn.RNN(128, 128, batch_first=True)
text = torch.randn(1, 512, 128)  # (B, S, D)
fast, slow = layer(text), loop(text)[0]  # both (B, S, D)

# %% tags=["hide-input", "nbval-ignore-output"]
# Both, timed on one core.
many = [32, 64, 128, 256, 512]
threads = torch.get_num_threads()
torch.set_num_threads(1)  # one core does everything, so the work can be compared
with torch.inference_mode():
    loops, products = (
        [1e6 * notebook.seconds(run, text[:, :n], repeats=10) for n in many]
        for run in (loop, layer)
    )
torch.set_num_threads(threads)
exercises.reveal("loop_against_product", round(loops[-1] / products[-1], 1))
_, axes = pyplot.subplots()
axes.set_xscale("log", base=2)
axes.set_yscale("log")
curves = {"nn.RNN": loops, "one product": products}
plots.labelled_lines(
    many, curves, ax=axes, x_label="words", y_label="microseconds, this machine", marker="o"
)
axes.set_xticks(many, many)
notebook.claim(loops[-1] > 4 * products[-1] and loops[-1] > 6 * loops[0])
notebook.show(
    axes,
    alt="Time against length, both axes logarithmic. The recurrent layer's line is far above the line of the single product at every length.",
    width=560,
)
notebook.tell(
    """One large product keeps the processor busy. The loop's many small ones don't, because each has to wait for the
    one before. With more cores the gap would widen, since cores can share the rows of the product but not the steps
    of the loop."""
)

# %% [markdown]
# ### Problem 2: no explicit modelling of long- and short-range dependencies
#
# In *la fleur que la femme regarde est rouge* ("the flower that the woman watches is red"), *rouge* depends on
# *fleur*, six words back, and *la* on the word right after it. Yet no term in the formula for $h_t$ relates two
# particular words. Every relation, near or far, has to be packed into the same notes. Suppose we change exactly one
# word. What happens to the translation of the others?

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# One colour changes; which other words change with it?
OTHER = {"rouge": "jaune", "jaune": "rouge", "rouges": "jaunes", "jaunes": "rouges"}
NEW = {"rouge": "yellow", "rouges": "yellow", "jaune": "red", "jaunes": "red"}
changed = []
for pair in test:
    places = [i for i, word in enumerate(pair.source) if word in OTHER]
    if len(places) == 1:  # exactly one red or yellow thing
        words_after = list(pair.source)
        words_after[places[0]] = OTHER[pair.source[places[0]]]
        changed.append((pair.source, tuple(words_after), NEW[pair.source[places[0]]]))


def side_effects(toy):
    """Return for each group of lengths: other words lost, share with the new colour."""
    before = toy.translate([old for old, _, _ in changed])
    after = toy.translate([new for _, new, _ in changed])
    found = {"up to 8": [], "9 to 20": [], "more than 20": []}
    for (old, _, colour), was, now in zip(changed, before, after, strict=True):
        group = "up to 8" if len(old) <= 8 else "9 to 20" if len(old) <= 20 else "more than 20"
        was, now = Counter(was.split()), Counter(now.split())
        lost = (was - now) - Counter({"red": 1, "yellow": 1})
        found[group].append((lost.total(), (now - was)[colour] > 0))
    return {
        group: [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        for group, rows in found.items()
    }


effects = side_effects(gru)
exercises.reveal("one_colour_changes", round(effects["more than 20"][0], 1))
names = list(effects)
heights = [effects[name][0] for name in names]
_, axes = pyplot.subplots(figsize=(6.4, 3.2))
axes.bar_label(axes.barh(names, heights, color=plots.BLUE, height=0.6), fmt="%.1f", padding=6)
axes.invert_yaxis()
axes.set(xlim=(0, 10), xlabel="other words that the translation loses", ylabel="French words")
mine = exercises.guess("one_colour_changes")
if mine is not None:
    axes.plot([mine, mine], [1.6, 2.4], color=plots.PURPLE, linewidth=3)
    axes.annotate("your guess", (mine, 1.55), ha="center", color=plots.PURPLE)
notebook.show(
    axes,
    alt="Bars: other words lost when one colour changes. None in sentences of up to 8 words, "
    f"{heights[1]:.1f} in sentences of 9 to 20 words, {heights[2]:.1f} in longer ones.",
    width=560,
)
words_of = lambda french: Counter(gru.translate(" ".join(french)).split())
example = next(
    (old, new)
    for old, new, _ in changed
    if 21 <= len(old) <= 26 and (words_of(old) - words_of(new)).total() >= 4
)
notebook.table(
    [(" ".join(french), gru.translate(" ".join(french))) for french in example],
    ["French", "what the network writes"],
)
notebook.claim(heights[0] == 0 and heights[2] > 3)
notebook.tell(
    f"""In a short sentence nothing else changes. In a long one, an average of {heights[2]:.1f} other words disappear
    along with the colour, and the new colour turns up in only {effects["more than 20"][1]:.0%} of the translations.
    All the words share those 128 numbers, so a change to one of them disturbs the others."""
)

# %% [markdown]
# ### Problem 3: the distance between positions
#
# Suppose the last state ought to depend on word 1. The network can learn that only from a gradient that travels back
# through every step in between. Each step multiplies the gradient by $W_h$ and by the slope of $\tanh$, which is at
# most 1. If each step halves it, only $0.5^{25} \approx 0.00000003$ of the gradient is left after 25 steps. This is
# called the **vanishing gradient**.
#
# The GRU and the **LSTM** (Hochreiter and Schmidhuber 1997) were designed to prevent it. At each step they compute
# **gates**, numbers between 0 and 1 that set how much of the old notes to keep. The weights behind the gates are
# learned. Do gates help?

# %% tags=["hide-input", "nbval-ignore-output"]
# How much of the last state's gradient arrives how far back.
long_ones = [p.source for p in test if len(p.source) >= 30][:60]


def gradient_by_distance(toy, reach=26):
    """Return the mean size of the gradient, by distance from the last word, relative to it."""
    encoder, rows = toy.model.encoder, torch.arange(len(long_ones))
    notebook.set_seed(0)
    ids = [torch.tensor(toy.source.encode(sentence, eos=True)) for sentence in long_ones]
    last = torch.tensor([len(one) - 1 for one in ids])  # padding comes after it
    embedded = encoder.embedding(nn.utils.rnn.pad_sequence(ids, batch_first=True)).detach()
    states, _ = encoder.rnn(embedded.requires_grad_())  # (B, S, D_h)
    forward = states[rows, last, : states.shape[-1] // 2]  # the half that was read forwards
    (forward * torch.randn(forward.shape)).sum().backward()  # a random direction stands for all
    # From 2: every sentence ends with a full stop and <eos>, which tell nothing.
    back = last[:, None] - torch.arange(2, reach + 3)
    sizes = embedded.grad.norm(dim=-1)[rows[:, None], back].mean(0)
    return sizes / sizes[0]


def fresh(name, seed=0, forget_bias=None):
    """Make an untrained translator, with the forget gates' bias set if it's given."""
    toy = toy_models.new_toy(name, splits, seed)
    if forget_bias is not None:
        layer = toy.model.encoder.rnn
        d_hidden = layer.hidden_size
        with torch.no_grad():
            layer.bias_ih_l0[d_hidden : 2 * d_hidden] = forget_bias
            layer.bias_hh_l0[d_hidden : 2 * d_hidden] = 0
    return toy


untrained = {name.upper(): gradient_by_distance(fresh(name)) for name in ("rnn", "gru", "lstm")}
encoders = {name: toy_models.load_toy(name) for name in ("rnn", "gru", "lstm")}
trained = {name.upper(): gradient_by_distance(toy) for name, toy in encoders.items()}
_, panels = pyplot.subplots(1, 2, figsize=(10.4, 4), sharey=True)
for axes, title, curves in zip(
    panels, ["not trained", "trained"], [untrained, trained], strict=True
):
    axes.set(yscale="log", ylim=(1e-9, 5), title=title)
    heights = {name: sizes.tolist() for name, sizes in curves.items()}
    plots.labelled_lines(range(27), heights, ax=axes, x_label="words back from the last word")
panels[0].set_ylabel("gradient, relative to the last word")
notebook.claim(untrained["RNN"][25] < 1e-6 and untrained["LSTM"][25] < 1e-3)
notebook.claim(trained["RNN"][20] < min(trained["GRU"][20], trained["LSTM"][20]))
notebook.show(
    panels[0],
    alt="Two panels, gradient against distance, logarithmic. Not trained: RNN, GRU and LSTM fall in straight "
    "lines by many powers of ten. Trained: all three stay between 0.1 and 1, the RNN lowest.",
    width=880,
)
notebook.tell(
    """Before training (left), next to nothing reaches a word 25 places back, with gates or without. After training
    (right), the gradient travels far back in all three networks, furthest in the two with gates. Two things
    remain wrong. A network has to learn that reach from a gradient that hardly arrives at first. And the path is no
    shorter than before: 25 words are still 25 steps."""
)

# %% [markdown] quiz="which_problems_attention_solves"
# What if the decoder could look at the whole French sentence again?

# %% [markdown] my_parts=true
# ## What to take away
#
# - A recurrent network reads one word at a time into a hidden state: $h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$.
# - The encoder's last state is the context vector. The decoder starts from it and writes until it predicts
#   `<eos>`.
# - In training the decoder predicts the next token at every position. Teacher forcing gives it the true
#   previous word.
# - Problem 1, **sequential computation**: step t waits for step t − 1.
# - Problem 2, **no explicit modelling of long- and short-range dependencies**: everything shares one vector of
#   fixed size. In a translator this is the bottleneck.
# - Problem 3, **the distance between positions**: a gradient has to pass through every step in between.
#
# One vector was too little for a long sentence. Lesson 02 keeps *all* the encoder's states and lets the decoder look
# back at them. How many of the long sentences will come out right then?
#
# Below you can see where the course is going. A Transformer still has an encoder and a decoder, but it reads without
# a loop over the words, and no single vector stands between the two halves.

# %% tags=["nbval-ignore-output", "hide-input"]
# The whole model; press play.
from helpers.pretrained.translator import load_translator
from helpers.widgets.model_map import model_map

model_map(load_translator().trace("Un chien noir court."), tour="")

# %% [markdown]
# <details><summary>Fine print</summary>
#
# Each of the trained networks in this lesson was trained only once. Models also differ in how long a sentence they can
# take. Cho et al. (2014b) saw their translations get worse quickly, while Sutskever et al. (2014), with four layers of
# 1,000 units and the source reversed, reported no trouble with long sentences.
# </details>

# %% [markdown]
# ## Practice
#
# About 15 minutes, at home or in pairs. Say each answer aloud before you type it.

# %%
exercises.quiz(
    "shape_of_states",
    "what_teacher_forcing_is",
    "why_recurrence_is_slow",
    "three_problems_in_your_words",
    "steps_of_translation",
    "one_word_for_one_word",
    "bidirectional_decoder",
    "everything_is_next_word",
)

# %% [markdown]
# ### Watch a model learn
#
# Here the model is trained on a tenth of the data, for one **epoch** (a single pass through it). Guessing at
# random among the 146 entries of the vocabulary would cost $\log 146 \approx 5$ nats. Watch how soon the loss gets below
# that. The full training, `toy_models.train_toy("gru", splits)`, takes a few minutes, and you can interrupt it
# whenever you like.

# %% tags=["nbval-ignore-output"]
small = splits._replace(train=splits.train[:2000])
pupil = toy_models.train_toy("gru", small, epochs=1)

# %% tags=["hide-input", "nbval-ignore-output"]
losses = pupil.card["losses"]
print(
    f"nats per word: {losses[0]:.1f} at first, {sum(losses[-10:]) / 10:.1f} in the last ten steps"
)
notebook.claim(sum(losses[-10:]) / 10 < 0.8 * losses[0] and len(gru.target) == 146)

# %% [markdown]
# ## Going deeper
#
# Optional, about 40 minutes. No later lesson depends on it.
#
# ### Gates: what an LSTM adds
#
# The LSTM reduces problem 3 by *adding*. Beside the hidden state it keeps a second vector, the **cell state** $c$,
# which passes from step to step without any matrix or $\tanh$:
#
# $$c_t = f_t \odot c_{t-1} + i_t \odot g_t \qquad h_t = o_t \odot \tanh(c_t)$$
#
# $g$ is the new content, computed as in a plain network. $f$, $i$ and $o$ are gates, computed from the word and the
# old state, each with learned weights and a sigmoid. The forget gate $f$ sets how much of the old cell to keep, the
# input gate $i$ how much new content to add, and the output gate $o$ how much of the cell to show. The symbol $\odot$
# multiplies entry by entry.

# %% tags=["hide-input"]
notebook.picture("lstm_cell")

# %% [markdown]
# On its way back along the cell state, the gradient is multiplied by $f$ at each step and by nothing else. If
# $f$ is near 1, most of the gradient reaches the early words. The **GRU** (Cho et al. 2014a), which our
# translator uses, is a simpler relative with two gates and no separate cell.

# %% tags=["hide-input", "nbval-ignore-output"]
# Three fresh LSTMs as PyTorch makes them, and one whose forget gates start open.
arriving = [gradient_by_distance(fresh("lstm", seed))[25].item() for seed in range(3)]
opened = gradient_by_distance(fresh("lstm", forget_bias=3))[25].item()
notebook.claim(max(arriving) < 1e-3 and opened > 0.5)
print("fresh, three seeds:", ", ".join(f"{share:.0e}" for share in arriving))
print(f"with forget gates that start at 0.95: {opened:.2f}")
notebook.tell(
    r"""Why, then, did so little arrive in the untrained LSTM? Its gates are sigmoids of something near 0, so $f
    \approx 0.5$, and nearly half of the gradient is lost at every step. With a bias of 3, the forget gates start at
    0.95 instead, and most of the gradient arrives before any training. Jozefowicz et al. (2015) recommend such a
    start, with a bias of 1."""
)


# %% tags=["checked-exercise"]
def lstm_step(x, hidden, cell, w_x, w_h, bias):
    """(B, D_in), (B, D_h), (B, D_h), (D_in, 4 D_h), (D_h, 4 D_h), (4 D_h,) -> hidden, cell"""
    i, f, g, o = (x @ w_x + hidden @ w_h + bias).chunk(4, dim=-1)  # each (B, D_h)
    cell = ...
    hidden = ...
    return hidden, cell


# %% [markdown]
# ### One network, two tasks
#
# A task that turns one sequence into another is called **sequence transduction**. Write the task into the sequence
# itself, as in *le chat dort . English :*, and a network that only predicts the next token can be trained for it. A
# chat is no different: it reads your question, and the answer comes next. Here a single GRU learns two tasks at once.
# Its texts are 2,400 sentences with a gap and 1,200 tiny film reviews.

# %% tags=["hide-input"]
rng = random.Random(0)
GOOD, BAD = ["great", "funny", "moving", "clever"], ["dull", "silly", "weak", "awful"]
THINGS, STRENGTH = ["film", "plot", "acting", "music", "ending", "story"], ["", "very", "really"]
sentences = [p.target for p in splits.train if len(p.target) <= 7]


def review():
    good, negated = rng.random() < 0.5, rng.random() < 0.5
    adjective = rng.choice(GOOD if good != negated else BAD)
    was = "was not" if negated else "was"
    verdict = "good" if good else "bad"
    return f"the {rng.choice(THINGS)} {was} {rng.choice(STRENGTH)} {adjective} . verdict : {verdict}".split()


def with_a_gap():
    words = rng.choice(sentences)
    i = rng.randrange(len(words) - 1)
    return [*words[:i], "___", *words[i + 1 :], "missing", ":", words[i]]


reviews = []
while len(reviews) < 1200:
    if "not dull" not in " ".join(new := review()):
        reviews.append(new)
texts = reviews + [with_a_gap() for _ in range(2400)]
vocabulary = ["<pad>", *sorted({word for text in texts for word in text})]
index = {word: i for i, word in enumerate(vocabulary)}


def batches(epochs, size=32):
    """Give the texts as padded tensors of ids (B, T), shuffled anew in every epoch."""
    rows = [torch.tensor([index[word] for word in text]) for text in texts]
    for _ in range(epochs):
        rng.shuffle(rows)
        for i in range(0, len(rows), size):
            yield nn.utils.rnn.pad_sequence(rows[i : i + size], batch_first=True)


print(" ".join(texts[0]), " ".join(texts[-1]), sep="\n")
assert not any("not dull" in " ".join(text) for text in texts)
notebook.set_seed(0)


# %%
class NextToken(nn.Module):
    def __init__(self, n_words, d_embedding=32, d_hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(n_words, d_embedding)
        self.rnn = nn.GRU(d_embedding, d_hidden, batch_first=True)
        self.output = nn.Linear(d_hidden, n_words)

    def forward(self, ids):  # (B, T) -> logits (B, T, V)
        states, _ = self.rnn(self.embedding(ids))
        return self.output(states)


# %%
model = NextToken(len(vocabulary))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for ids in batches(epochs=6):  # some seconds
    given, wanted = ids[:, :-1], ids[:, 1:]  # the next token, at every position
    loss = nn.functional.cross_entropy(model(given).flatten(0, 1), wanted.flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
@torch.no_grad()
def next_token(text):
    """Return the probability of every word after the text."""
    unknown = [word for word in text.split() if word not in index]
    if unknown:
        raise ValueError(f"the network has never seen: {', '.join(unknown)}")
    ids = torch.tensor([[index[word] for word in text.split()]])
    probabilities = model(ids)[0, -1].softmax(-1)
    return dict(
        sorted(zip(vocabulary, probabilities.tolist(), strict=True), key=lambda pair: -pair[1])
    )


chances = next_token("the film was not dull . verdict :")
good, bad = chances["good"], chances["bad"]
verdict = "good" if good > 0.75 else "bad" if bad > 0.75 else "undecided"
exercises.reveal("never_seen_not_dull", verdict if good + bad > 0.5 else "neither")
questions = [
    "the film was not dull . verdict :",
    "the film was dull . verdict :",
    "the music was not really clever . verdict :",
    "the cats ___ . missing :",
    "the cat ___ . missing :",
]
rows = []
for text in questions:
    best = list(next_token(text).items())[:3]
    rows.append((text, ", ".join(f"{word} {chance:.0%}" for word, chance in best)))
notebook.table(rows, ["what it reads", "its next token"])
plural, singular = (list(next_token(text))[0] for text in questions[3:])
notebook.claim(verdict == "good" and not plural.endswith("s") and singular.endswith("s"))

notebook.tell(
    """The network has put *not dull* together from *not very dull* and *not silly*. Nothing in its loss mentions two
    tasks, yet the network also fills gaps, with a plural verb after *the cats* and a singular one after *the cat*."""
)

# %% [markdown]
# ### How much of the fall is bad luck?
#
# A longer sentence offers more chances for a mistake. Suppose that every word carries the same risk, wherever it
# occurs. The short sentences tell us how large the risk is. How many of the long ones would then come out right?

# %% tags=["hide-input"]
longest_ones = [p for p in test if len(p.source) > 20]


def expected(n_wrong):
    """Return the share of long sentences right, at the rate per word of so many short ones wrong."""
    per_word = (1 - n_wrong / len(short)) ** (len(short) / sum(len(p.source) for p in short))
    return sum(per_word ** len(p.source) for p in longest_ones) / len(longest_ones)


n_wrong = len(short) - n_known
measured = len(translated_right(gru, longest_ones)) / len(longest_ones)
print(f"short sentences wrong: {n_wrong} of {len(short)}")
print(
    f"long ones right: expected {expected(n_wrong):.0%}, with four times the errors {expected(4 * n_wrong):.0%}, measured {measured:.0%}"
)
assert expected(4 * n_wrong) > 2 * measured

# %% [markdown]
# Bad luck explains little of the fall. So few short sentences go wrong that we don't know the risk per word very well.
# Yet even at four times the risk, far more long sentences should come out right than do. Something else makes them
# hard. Perhaps 128 numbers are too few, or perhaps the network was trained too little to use them well. This
# experiment can't tell which.
#
# ### Lost beginnings and changed colours in other models
#
# The lost beginnings and the changed colours above are those of a single model. Three others saw the same data for the
# same number of steps: one with an LSTM, one with a plain recurrent cell, and the model of lesson 02, whose decoder can
# look back at every state of the encoder.

# %%
looking_back = toy_models.load_toy("additive")
print(looking_back.translate(growing[2][0]))

# %% tags=["hide-input", "nbval-ignore-output"]
rows, lost = [], {}
models = [
    ("GRU", gru),
    ("LSTM", encoders["lstm"]),
    ("plain RNN", encoders["rnn"]),
    ("GRU, looking back", looking_back),
]
for name, toy in models:
    kept, of = beginning_survives(toy, 3)
    share = len(translated_right(toy, longest_ones)) / len(longest_ones)
    lost[name] = (effects if toy is gru else side_effects(toy))["more than 20"][0]
    rows.append((name, f"{share:.0%}", f"{kept} of {of}", f"{lost[name]:.1f}"))
notebook.table(
    rows,
    [
        "model",
        "right beyond 20 words",
        "beginning survives three more sentences",
        "other words lost per changed colour",
    ],
)
notebook.claim(lost["GRU, looking back"] == 0 and min(lost[name] for name, _ in models[:3]) > 2)

# %% [markdown]
# With a fixed context vector, beginnings get lost and a change of colour costs other words, whichever kind of cell
# computes the vector. In the model that looks back, neither happens.

# %% [markdown]
# ### An alternative to the loop: convolutions
#
# A convolution combines each position with a few of its neighbours, at all positions at once, so nothing has to wait.
# The number of positions that it combines is the **kernel** size. ConvS2S (Gehring et al. 2017), ByteNet
# (Kalchbrenner et al. 2016) and WaveNet (van den Oord et al. 2016) are built this way. One layer covers only a few
# positions, but every further layer widens the view. **Dilated** convolutions skip positions (1, 2, 4, 8 …), and
# their view widens faster.

# %% tags=["hide-input"]
notebook.picture("dilated_convolutions")

# %% [markdown]
# The gradient of the last output shows which inputs it depends on.


# %%
def sees(kernel_size, dilations, length=64):
    """-> how many of the inputs the last output depends on"""
    x = torch.ones(1, 1, length, requires_grad=True)
    y = x
    for dilation in dilations:
        layer = nn.Conv1d(1, 1, kernel_size, dilation=dilation, bias=False)
        nn.init.ones_(layer.weight)
        y = layer(nn.functional.pad(y, ((kernel_size - 1) * dilation, 0)))  # only the past
    y[0, 0, -1].backward()
    return int((x.grad != 0).sum())


# %%
print("kernel 3, dilations 1, 1, 1, 1:", sees(3, [1, 1, 1, 1]), "positions")
print("kernel 3, dilations 1, 2, 4, 8:", sees(3, [1, 2, 4, 8]), "positions")


# %% tags=["checked-exercise"]
def receptive_field(kernel_size, dilations):
    """a number, a list of numbers -> a number of positions"""
    ...


# %% tags=["checked-exercise"]
def layers_needed(distance, kernel_size):
    """two numbers -> a number of layers"""
    ...


# %% tags=["prediction", "hide-input"]
def layers_to_reach(distance, kernel_size, dilated):
    dilations = []
    while not dilations or sees(kernel_size, dilations, length=2 * distance + 2) <= distance:
        dilations.append(kernel_size ** len(dilations) if dilated else 1)
    return len(dilations)


def attention_sees(length):
    """Return how many of the words the last output of one attention layer depends on."""
    x = torch.randn(1, length, 4, requires_grad=True)
    nn.functional.scaled_dot_product_attention(x, x, x)[0, -1].sum().backward()
    return int((x.grad[0] != 0).any(-1).sum())


distances = [2, 4, 8, 16, 32, 64]
assert all(attention_sees(n + 1) == n + 1 for n in distances)  # one layer sees them all
paths = {
    "recurrent": distances,
    "convolution": [layers_to_reach(n, 3, dilated=False) for n in distances],
    "dilated": [layers_to_reach(n, 3, dilated=True) for n in distances],
    "attention": [1 for _ in distances],
}
exercises.reveal("layers_to_32", paths["dilated"][distances.index(32)])
_, axes = pyplot.subplots()
axes.set_xscale("log", base=2)
axes.set_yscale("log", base=2)
plots.labelled_lines(
    distances, paths, ax=axes, x_label="distance in words", y_label="steps between them", marker="o"
)
for axis, ticks in ((axes.set_xticks, distances), (axes.set_yticks, [1, 2, 4, 8, 16, 32, 64])):
    axis(ticks, ticks)
assert paths["convolution"][-1] == 32 and paths["dilated"] == [1, 2, 2, 3, 4, 4]
notebook.figure(
    axes,
    alt="Path length against distance, both doubling. Recurrent and plain convolutions rise in proportion, "
    "dilated convolutions like a logarithm; attention stays at one.",
    width=600,
)

# %% tags=["hide-input"]
notebook.picture("path_lengths")

# %% [markdown] quiz="path_lengths is_a_transformer_a_cnn"
# Here is the comparison of Vaswani et al. (2017, table 1), as orders of growth for sentences of n words, vectors
# of d numbers and a kernel of k:
#
# | layer | work | steps in sequence | longest path |
# |---|---|---|---|
# | recurrent | n · d² | n | n |
# | convolution | k · n · d² | 1 | n / (k − 1) (n / k in the paper); if dilated, log n |
# | self-attention | n² · d | 1 | 1 |

# %% [markdown]
# ## References
#
# - Hochreiter, Schmidhuber (1997), "Long Short-Term Memory", Neural Computation 9.
# - Cho et al. (2014a), "Learning Phrase Representations using RNN Encoder–Decoder", arXiv:1406.1078.
# - Cho, van Merriënboer, Bahdanau, Bengio (2014b), "On the Properties of Neural Machine Translation:
#   Encoder–Decoder Approaches", arXiv:1409.1259.
# - Sutskever, Vinyals, Le (2014), "Sequence to Sequence Learning with Neural Networks",
#   arXiv:1409.3215.
# - Jozefowicz, Zaremba, Sutskever (2015), "An Empirical Exploration of Recurrent Network Architectures",
#   ICML (the forget gate's first bias).
# - Papineni, Roukos, Ward, Zhu (2002), "BLEU: a Method for Automatic Evaluation of Machine
#   Translation", ACL.
# - Kalchbrenner et al. (2016), "Neural Machine Translation in Linear Time", arXiv:1610.10099.
# - van den Oord et al. (2016), "WaveNet", arXiv:1609.03499.
# - Gehring et al. (2017), "Convolutional Sequence to Sequence Learning", arXiv:1705.03122.
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, table 1.
