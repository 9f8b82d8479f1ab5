# %% [markdown]
# # GPT
#
# *Once upon a time there was a king who …*
#
# Run the next cells, and a model continues this sentence, one piece of a word after another. It would never stop if we
# didn't cut it off. Seven megabytes of fairy tales are all it has ever read. Nobody told it what a king is, or even
# what a sentence is.
#
# You can make such a model from the Transformer of lesson 07. Remove the encoder, and the cross-attention with it,
# since there is nothing left to translate from. What remains is a **GPT**, a *generative pretrained Transformer*.
#
# This lesson follows lesson 13. You also need the file you wrote in lesson 10 and the word pieces of lesson 11. Today
# you'll start with a model that can do nothing but average, and turn it into a GPT step by step. At each step, you'll
# measure what the new part is worth.

# %% tags=["hide-input"]
import math
from itertools import islice, product

import numpy
import torch
import torch.nn.functional as F
from matplotlib import pyplot
from torch import nn

from helpers import exercises, plots
from helpers.clinic import examine
from helpers.exercises import lessons
from helpers.transformer.attention import heads_off
from helpers.transformer.positions import rotate_positions
from helpers.training.copying import repeated, train_copier
from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig, GPTLayer, gpt2_state
from helpers.training.letter_models import (
    CausalHeads,
    LetterModel,
    nats_per_letter,
    story_letters,
    train_letters,
    train_rung,
    write,
)
from helpers.pretrained.detective import holmes_pages, load_detective
from helpers.pretrained.measured import measured
from helpers.pretrained.storyteller import load_storyteller
from helpers.widgets.endless_story import EndlessStory
from helpers.widgets.model_map import model_map

story = load_storyteller()
letters, train, validation = story_letters()
frequency = torch.bincount(train, minlength=len(letters)) / len(train)
pairs = torch.bincount(train[:-1] * len(letters) + train[1:], minlength=len(letters) ** 2) + 0.1
after = pairs.view(len(letters), -1) / pairs.view(len(letters), -1).sum(-1, keepdim=True)
by_frequency = -frequency.clamp(min=1e-7)[validation[1:]].log().mean().item()
by_last_letter = -after[validation[:-1], validation[1:]].log().mean().item()


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook and warm-up 5 · 1 average 12 · 2 one head, many heads 11 · 3 the rest of a layer, and the
# learner's own file 8 · 4 GPT-2 and GPT-3 2 · 5 writing and tasks 10 · map and summary 2. Counting GPT-3 by pencil is
# for home.
#
# **Say first**: there's no new mathematics today, because every part was built before lesson 10. What's new is how
# few of them are enough.
#
# **Show**: write the ladder on the board (average, one head, four heads, residuals and feed-forward, three layers).
# Add the loss beside each rung as it comes in. Read the samples aloud, so that the class hears the difference before
# it sees the numbers.
#
# **Ask**: "Why does one training text contain as many exercises as it has letters?" (each position predicts its
# own next letter, and the mask hides that letter) · "What would an encoder be for?" (to read a source, and here there
# is none) · "Who decides when the story ends?" (we do; this model has no `<eos>`).
#
# **If there is time left**, *Going deeper* has three experiments of seven to ten minutes each, and a short one with
# the learner's own file. The detective needs the least explaining.
#
# **If you're running late**: set the widget as homework.
#
# **Answers to expect**: "GPT is an encoder, since it has no cross-attention" (it is an encoder *layer* under a
# causal mask) · "the cache lets it read further back" (it only saves time). The answers to the predictions
# are discussed where they're revealed.

# %% tags=["nbval-ignore-output"]
for piece in islice(story.stream("Once upon a time there was a king who", seed=4), 60):
    print(piece, end="")

# %% [markdown] warm_up=14
# ## 1. What can you predict from an average?
#
# A language model predicts each token from the tokens before it. To keep things small, our tokens are single letters,
# 50 different ones if you count spaces and punctuation. Our text is 1.2 million letters of fairy tales.
#
# The loss is lesson 09's cross-entropy, where lower is better. We measure it per letter, in nats, the unit of surprise
# that comes with natural logarithms. Before we train anything, here are two yardsticks that need nothing but counting.

# %%
print(f"letter frequencies alone: {by_frequency:.2f} nats per letter")
print(f"the last letter alone:    {by_last_letter:.2f} nats per letter")

# %% [markdown]
# A model that reads more than one letter should do better. At position $t$ it needs a summary of the letters 0 to $t$.
# It mustn't see any later ones, because the next letter is what it has to predict. BERT saw both sides of its gap
# (lesson 12), but here everything on the right stays hidden. The simplest summary is the mean of
# the letters' embeddings. A mean is a weighted sum with equal weights, so one matrix product computes the means at all
# positions. The weights for position $t$ are in row $t$ of the matrix on the left of this product.
#
# ### Your turn (4 min)
#
# Start with a pencil. Three positions hold the numbers 4, 0 and 2. What is the mean of everything so far at each
# position, and which 3 × 3 matrix produces the three means? Then fill the gaps in the code.


# %% tags=["exercise"]
def causal_average(x):
    """(B, T, D) -> (B, T, D), the mean of each vector and all before it"""
    allowed = ...  # ← fill the gap: (T, T), 1 where attending is allowed, 0 elsewhere
    weights = allowed / ...  # ← and make each row sum to 1
    return weights @ x


# %% [markdown]
# Around the average we put an embedding for the letters, another for the positions, and a linear layer that turns
# each vector into 50 logits. A vector has 64 numbers (`WIDTH`), and the model reads up to 64 letters (`WINDOW`).
# Whatever comes between the embeddings and the last layer is called `mix`. As we climb from an average to a GPT, rung
# by rung, only `mix` changes.

# %% tags=["hide-input"]
notebook.show_source(LetterModel)

# %% [markdown] predict="what_an_average_knows"
# On the first rung, `mix` is your average. We train this model for 250 steps to predict every next letter. Where will
# its loss end up, compared with the two yardsticks?

# %% tags=["nbval-ignore-output"]
notebook.set_seed(0)
averaging = train_letters(LetterModel(len(letters), exercises.mine("causal_average")), train)
print(write(averaging, letters, "once upon a time "))

# %% tags=["hide-input", "nbval-ignore-output"]
live = {"average": nats_per_letter(averaging, validation)}
got = live["average"]
knows = (
    "frequencies" if got > by_frequency - 0.2 else "between" if got > by_last_letter else "below"
)
exercises.reveal("what_an_average_knows", measured=knows)
print(f"the average of all letters so far: {live['average']:.2f} nats per letter")
notebook.tell(
    """The average reads every letter but makes hardly any use of what it reads. The last letter says most about the
    next one, but after 40 letters it's just one of 40 equal parts, and an average of 40 letters of English
    looks much the same everywhere. In a better model, some letters have to count more than others."""
)
notebook.claim(abs(live["average"] - by_frequency) < 0.2)
notebook.claim(by_last_letter + 0.3 < live["average"])

# %% [markdown]
# ## 2. Which letters should count more?
#
# So far a triangle of ones decides where each position is allowed to attend, and all allowed positions have equal
# weight. Attention keeps the triangle but computes the weights from queries and keys, as in lesson 04. The next rung
# is a single head under a causal mask.
#
# ### Your turn (5 min)


# %% tags=["exercise"]
def causal_head(x, w_q, w_k, w_v):
    """(B, T, D), three times (D, K) -> (B, T, K)"""
    ...


# %% [markdown]
# Now your head takes the place of your average. `CausalHeads` supplies the matrices, their biases and an output
# matrix. Everything else stays as it was, and the model has to learn from scratch which letters to attend to.

# %% tags=["nbval-ignore-output"]
notebook.set_seed(0)
mix = CausalHeads(1, exercises.mine("causal_head"))
one_head = train_letters(LetterModel(len(letters), mix), train)
live["one head"] = nats_per_letter(one_head, validation)
print(f"one head: {live['one head']:.2f} nats per letter")
print(exercises.whose("causal_head", did="trained"), "\n")
print(write(one_head, letters, "once upon a time "))

# %% tags=["hide-input"]
ladder = measured("story_ladder")
stored, long = ladder["losses"], ladder["long"]
notebook.claim(abs(live["one head"] - by_last_letter) < 0.15)
notebook.claim(live["one head"] < live["average"] - 0.4)
assert sum(loss < by_last_letter - 0.1 for loss in long["losses"]["one head"]) == 2
assert max(long["losses"]["one head"]) < by_last_letter + 0.03

# %% [markdown]
# One head does far better than the average, and yet all this machinery is only about as good as a table that counts
# which letter follows which. Longer training doesn't always help either. When we trained the model for eight times as
# many steps, with three seeds, two of the runs beat the table and came down to 2.12 nats. The third never did.
#
# What if we split this head into four? The number of parameters doesn't change, because each head is only a quarter as
# wide. But each head then has to tell 50 letters apart with 16 numbers instead of 64.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
four_heads = train_rung("four heads", train, len(letters))
live["four heads"] = nats_per_letter(four_heads, validation)
seeds = list(zip(stored["one head"], stored["four heads"], strict=True))
gains = [one - four for one, four in seeds]
exercises.reveal(
    "four_narrow_heads",
    measured="better" if min(gains) > 0.01 else "worse" if max(gains) < -0.01 else "same",
)
print("loss of one head → loss of four, in earlier runs with three seeds:")
for steps, losses in ((250, stored), (long["steps"], long["losses"])):
    both = zip(losses["one head"], losses["four heads"], strict=True)
    print(f"  {steps:>5,} steps:", "   ".join(f"{one:.3f} → {four:.3f}" for one, four in both))
print(f"and in the run just now: {live['one head']:.3f} → {live['four heads']:.3f}\n")
print(write(four_heads, letters, "once upon a time "))
one_long, four_long = long["losses"]["one head"], long["losses"]["four heads"]
assert max(four_long) < min(one_long)
assert max(ladder["added"]["one head"]) < min(ladder["added"]["four heads"])
assert sum(p.numel() for p in one_head.parameters()) == sum(
    p.numel() for p in four_heads.parameters()
)

# %% [markdown]
# A single head has a single budget. Its weights sum to 1, so any weight on the letter just read is weight that the
# earlier letters can't have. Four heads have four such budgets.
#
# ## 3. What does attention leave undone?
#
# So far the output layer sees only what the heads have moved from one position to another. Even the letter at the
# position itself has to be fetched by a head, which spends weight on it. The **residual path** of lesson 07 makes
# that unnecessary, because it keeps the vector that was already there and adds whatever the heads have collected. The
# **feed-forward network** then makes something of the combination, since *t* and *h* together say more than either of
# them alone.
#
# In the code, `residual_1` and `residual_2` normalise `x`, call the function that is passed to them, and add the
# result to `x`. You can ignore `cache`.

# %% tags=["hide-input"]
notebook.show_source(GPTLayer.forward)

# %% [markdown] predict="parts_or_depth"
# Two rungs are left. The first is one such layer, again with four heads, and the second is a stack of three layers.

# %% tags=["nbval-ignore-output"]
one_layer = train_rung("residuals and feed-forward", train, len(letters))

# %% tags=["hide-input", "nbval-ignore-output"]
live["residuals and feed-forward"] = nats_per_letter(one_layer, validation)
means = {rung: sum(losses) / len(losses) for rung, losses in stored.items()}
rungs = list(means)
by_parts = means["four heads"] - means["residuals and feed-forward"]
by_depth = means["residuals and feed-forward"] - means["three layers"]
more = "parts" if by_parts > 1.25 * by_depth else "depth" if by_depth > 1.25 * by_parts else "equal"
exercises.reveal("parts_or_depth", measured=more)
_, axes = pyplot.subplots(figsize=(7, 3.6))
for height, name in [(by_frequency, "letter frequencies"), (by_last_letter, "the last letter")]:
    axes.axhline(height, color=plots.GREY, linestyle="--", linewidth=1)
    axes.text(4.45, height + 0.02, name, color=plots.GREY, ha="right")
for i, rung in enumerate(rungs):
    label = None if i else "three earlier runs"
    axes.plot([i] * 3, stored[rung], "o", color=plots.PURPLE, alpha=0.6, label=label)
now = [i + 0.12 for i, rung in enumerate(rungs) if rung in live]
axes.plot(range(5), means.values(), color=plots.PURPLE, linewidth=1, label="their mean")
axes.plot(now, [live[r] for r in rungs if r in live], "D", color=plots.ORANGE, label="just trained")
axes.legend(loc="lower left")
axes.set_xticks(range(5), [rung.replace(" and ", "\nand ") for rung in rungs])
axes.set_ylabel("nats per letter")
for rung in rungs:
    now = f", {live[rung]:.2f} (just trained)" if rung in live else ""
    print(f"{rung:>27}: {means[rung]:.2f} (mean of three seeds){now}")
for before, then in zip(rungs, rungs[1:], strict=False):
    assert max(stored[then]) < min(stored[before]), (before, then)
    notebook.claim(then not in live or live[then] < live[before])
notebook.show(
    axes,
    alt="Loss on unseen text for the five rungs, with three stored seeds each and the one just trained. "
    "It falls at every rung. The average ends near the line for letter frequencies, and three layers end well "
    "below the line for the last letter.",
    width=640,
)
print(write(one_layer, letters, "once upon a time "))
notebook.tell(
    """With every seed, each rung predicts unseen text better than the rung before. You can also hear the
    difference in the samples. The average writes letters, the heads write syllables. The top rung has no diamond,
    because you'll train a model of that size yourself in a moment."""
)

# %% [markdown]
# ### Your own file, as a GPT
#
# Your `my_transformer.py` from lesson 10 learned to translate. Leave out everything that reads a source, put your
# causal mask on its encoder layers, and it becomes a GPT.

# %% tags=["hide-input", "nbval-ignore-output"]
exercises.fill_in()  # what you skipped is the course's for now
own, at_work = exercises.my_transformer(), lessons.module(10, "at_work")
notebook.set_seed(0)


# %%
class MyGPT(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        self.embedding, self.norm = own.Embedding(vocab_size, d_model), own.LayerNorm(d_model)
        made = (own.EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.layers = nn.ModuleList(made)

    def forward(self, ids):  # (B, T) -> (B, T, V)
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, own.causal_mask(ids.shape[1]))
        return self.norm(x) @ self.embedding.table.T


# %% [markdown]
# Your GPT is as wide and as deep as the top rung. We train it like the others and examine it as in lesson 10. The two
# triangles that the clinic draws show which outputs (rows) move when an input token (columns) changes, first as
# expected and then as measured. Both are headed *target*, because a GPT's only text is the one that it writes.

# %% tags=["nbval-ignore-output"]
my_gpt = train_letters(MyGPT(len(letters), 64, 4, 3, 256), train)
print(f"{nats_per_letter(my_gpt, validation):.2f} nats per letter")
print(write(my_gpt, letters, "once upon a time "))
print(exercises.whose("EncoderLayer", "MultiHeadAttention", "causal_mask", did="trained"))
examine(my_gpt, kind="decoder", vocab_size=len(letters), max_len=64)

# %% [markdown]
# Your GPT's loss should come out slightly below that of the top rung, although the two are the same size. The
# difference lies in the positions. The models on the ladder have to learn a vector for each position, whereas your file
# adds fixed sines and cosines. When we tried learned vectors in the file, its lead was gone. In *Going deeper*, your
# file runs the story model.

# %% [markdown]
# ## 4. Is that all there is to GPT-2?
#
# The library `transformers` contains GPT-2 as `GPT2LMHeadModel`. We build a GPT out of our own layers, with random
# weights, copy these weights into the library's model, and let both read the same ids.

# %% tags=["nbval-ignore-output"]
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
ours = GPT(GPTConfig(vocab_size=300, d_model=48, n_heads=4, n_layers=3, max_len=32)).double()
no_specials = {"bos_token_id": None, "eos_token_id": None}
theirs = GPT2LMHeadModel(
    GPT2Config(vocab_size=300, n_embd=48, n_head=4, n_layer=3, n_positions=32, **no_specials)
).double()
theirs.load_state_dict(gpt2_state(ours))

ids = torch.randint(300, (2, 20))
with torch.no_grad():
    difference = ours.eval()(ids) - theirs.eval()(ids).logits  # (B, T, V)
print(f"largest difference between two logits: {difference.abs().max():.0e}")

# %% tags=["hide-input"]
assert difference.abs().max() < 1e-10

# %% [markdown]
# The logits are equal up to rounding. GPT-2 is the top of our ladder, made wider and deeper. Its successor GPT-3 is
# far larger still, with 96 layers of width 12,288 and a vocabulary of 50,257 tokens.
#
# How many parameters is that? GPT-3 wouldn't fit into our memory, but we can build it on PyTorch's `meta` device,
# where tensors have a shape but no numbers.

# %%
sizes = {"d_model": 12_288, "n_heads": 96, "n_layers": 96, "max_len": 2048}
with torch.device("meta"):
    gpt3 = GPT(GPTConfig(vocab_size=50_257, **sizes))
total = sum(p.numel() for p in gpt3.parameters())
in_networks = sum(p.numel() for name, p in gpt3.named_parameters() if "feed_forward" in name)
print(f"{total / 1e9:.1f} billion parameters, {in_networks / total:.0%} in feed-forward networks")

# %% tags=["hide-input"]
with torch.device("meta"):
    gpt2 = GPT(GPTConfig())
assert abs(total / 175e9 - 1) < 0.01 and abs(in_networks / total - 2 / 3) < 0.01
assert sum(p.numel() for p in gpt2.parameters()) == 124_439_808

# %% [markdown]
# ## 5. How does a GPT write, and what can it do?
#
# The story model that opened this lesson has six layers of the same kind as ours, of width 192, and 3.5 million
# parameters in all. Its tokens are pieces of words (lesson 11). At each step it reads everything so far and assigns a
# probability to each of the 4,096 pieces that it knows.

# %% tags=["nbval-ignore-output"]
for text, probability in story.next_tokens("The princess took the golden", 6):
    print(f"{text!r:>12} {probability:.2f}")

# %% [markdown]
# To write a story, we sample one of these pieces as in lesson 08, append it, let the model read it, and sample again.
# A cache keeps the keys and values of all earlier pieces.
#
# Press play. You can change the settings while the model is writing, or click on a candidate to make it the next
# piece. The model was built for 512 tokens. Once the story is longer than that, its beginning drops out of the window.
# Is the king still in the story by then?

# %% tags=["nbval-ignore-output"]
EndlessStory(story)

# %% [markdown]
# ### Everything is next-token prediction
#
# How can a model that only continues texts translate one? You write *French: le chien dort. English:* and let the model
# continue. After an article and the words *In short:* the likely continuation is a summary, and after *Q: Who wrote
# Hamlet? A:* it's an answer. GPT-2 was tested in this way, without a layer added or a weight changed. For summaries,
# the article was followed only by *TL;DR:*. For translations and questions, a few solved examples came first.
#
# The authors of GPT-3 tried such examples on dozens of tasks and showed how much better a large model answers once it
# has read a few. This is called **in-context learning**, although nothing is trained and the model only reads the
# examples. Our story model is too small for it. In lesson 19 you'll try it with a model that's large enough.
#
# What has the story model picked up? We give it a beginning and two possible endings and check which of the endings it
# finds more probable. Does the queen put on *her crown* or *his crown*? A fox met a goose: is *'I will eat you'* said
# by the *fox* or by the *goose*? There are 20 such questions about grammar and 20 about meaning.

# %% tags=["hide-input", "nbval-ignore-output"]
TASKS = {
    "his or her": [
        ("The queen put on", " her crown", " his crown"),
        ("The old king called", " his sons", " her sons"),
        ("The princess said to", " her father", " his father"),
        ("The huntsman took", " his gun", " her gun"),
        ("The little girl lost", " her way", " his way"),
        ("The witch rode on", " her broom", " his broom"),
        ("The prince drew", " his sword", " her sword"),
        ("The old woman went into", " her garden", " his garden"),
        ("The giant took off", " his boots", " her boots"),
        ("The fisherman came home to", " his wife", " her wife"),
    ],
    "one or many": [
        ("The king was old, and his three sons", " were", " was"),
        ("The girl and her brother", " were", " was"),
        ("In the house there", " was a", " were a"),
        ("The seven dwarfs", " were", " was"),
        ("The old woman's daughters", " were", " was"),
        ("The youngest of the brothers", " was", " were"),
        ("The birds in the tree", " were", " was"),
        ("The king's only daughter", " was", " were"),
        ("All the doors", " were", " was"),
        ("The key of the rooms", " was", " were"),
    ],
    "who is who": [
        ("A fox met a goose. 'I will eat you,' said the", " fox", " goose"),
        ("A wolf met a lamb. 'Please don't eat me,' said the", " lamb", " wolf"),
        ("A king had a cook. 'Your dinner is ready,' said the", " cook", " king"),
        ("The witch locked Hans up. 'Let me out,' cried", " Hans", " the witch"),
        ("A cat caught a mouse. 'Spare my life,' said the", " mouse", " cat"),
        ("A giant met a dwarf. 'How small you are,' said the", " giant", " dwarf"),
        ("A boy asked his mother for bread. 'There is none left,' said the", " mother", " boy"),
        ("A king met a beggar. 'Give me a penny,' said the", " beggar", " king"),
        ("A dragon guarded a princess. 'Save me,' cried the", " princess", " dragon"),
        ("A tailor made a coat for the king. 'It fits me well,' said the", " king", " tailor"),
    ],
    "good or bad": [
        ("He shared his bread with the poor. He was very", " kind", " wicked"),
        ("She stole the child and beat it. She was very", " wicked", " kind"),
        ("He helped everybody he met. Everyone said that he was", " good", " bad"),
        ("The giant ate all the children. Everyone said that he was", " bad", " good"),
        ("She wept all day and all night. She was very", " sad", " happy"),
        ("He had lost his gold and his house. He was very", " poor", " rich"),
        ("She had found her children again. She was very", " happy", " sad"),
        ("He had eaten nothing for three days. He was very", " hungry", " merry"),
        ("He ran away when he saw a mouse. Everyone said that he was", " afraid", " brave"),
        ("He lied and stole all his life. Everyone called him", " wicked", " honest"),
    ],
}
right = {
    task: sum(
        story.log_probability(given, yes) > story.log_probability(given, no)
        for given, yes, no in tries
    )
    for task, tries in TASKS.items()
}

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
grammar = right["his or her"] + right["one or many"]
meaning = right["who is who"] + right["good or bad"]
lead = grammar - meaning
learned = "grammar" if lead >= 5 else "meaning" if lead <= -5 else "equal"
exercises.reveal("which_task_it_learned", measured=learned)
for task, tries in TASKS.items():
    given, yes, no = tries[0]
    print(f"{task:>11}: {right[task]} of {len(tries)} right, for instance: {given} …{yes} /{no}")
notebook.tell(
    """Nobody set the story model these tasks. It was trained to predict the next piece, and what it learned is what it
    needed most often. Every page asks for *his* or *her*, while the question of who is wicked comes up only now and
    then. Larger models, having read more, pick up more such tasks, which explains the title of the GPT-2 paper,
    *Language Models are Unsupervised Multitask Learners*."""
)
assert grammar >= 17 and grammar >= meaning + 5

# %% [markdown]
# Here's the whole story model as it reads six tokens and writes six more. Open one of the layers, and you'll see that
# every head's weights stop at the diagonal. You can also type a beginning of your own.

# %% tags=["nbval-ignore-output"]
model_map(story.trace("The king said to his daughter"), tour="14")

# %% [markdown]
# <details><summary>Fine print</summary>
#
# All rungs were trained alike, for 250 steps with 16 windows of 64 letters per step, at a learning rate that was chosen
# for the top of the ladder. The matrices inside `mix` were trained with **Muon** (Jordan et al. 2024), an optimiser that
# makes every update of a matrix equally large in all directions. Everything else was trained with **AdamW**, which is
# Adam plus a small pull on every weight towards zero. The loss is measured on 20,000 letters that no model was trained
# on.
#
# Section 2 explains the lead of four heads by the letter just read, which competes for weight. As a check, we put a
# residual path around the heads, so that no head has to fetch that letter. One head then did as well as four.
#
# The models of six sizes in *Going deeper* were trained in this way too, for 500 steps. Their learning rates were
# chosen on 40,000 unseen letters and their losses measured on 40,000 others.
#
# With 20 questions of each kind, a difference of six right answers could arise by chance about one time in 20. The
# copier and the detective of *Going deeper* are trained once each. We picked the copier's seed, because switching heads
# off says little about a model that has hardly begun to copy. Of three models with other seeds, only one copied equally
# well after so few steps.
#
# </details>

# %% [markdown] my_parts=true
# ### What to take away
#
# - A GPT layer is a decoder layer without cross-attention, or in other words an encoder layer under a causal mask.
# - An average of everything so far predicts hardly better than letter frequencies do. Attention keeps the triangle of
#   the average but computes the weights from queries and keys.
# - Each rung lowered the loss: several heads, then the residual path together with the feed-forward network, then
#   depth.
# - Given equal weights, our GPT and GPT-2 compute equal logits. GPT-3 scales this up to 175 billion parameters.
# - A GPT writes by sampling a token, appending it and reading it. With a cache, it doesn't have to read the earlier
#   tokens again.
# - If you can write a task as a text with its end missing, a model can learn it as next-token prediction.
#
# $$p(x_1 \dots x_T) = \prod_{t=1}^{T} p(x_t \mid x_1 \dots x_{t-1})$$
#
# The story model forgets its king after 512 tokens. What would it cost to read a whole book instead? **Lesson 16**
# takes up that question. Lesson 15 is a branch that leaves text behind and asks whether a picture is a sentence.

# %% [markdown] quiz="weight_of_the_last_letter why_many_heads_here order_in_a_gpt_layer lessons_from_one_text"
# ## Practice
#
# About 40 minutes, easiest first.

# %% [markdown]
# ### Bits per byte (4 min)
#
# The story model's loss is per piece, and our letter models' loss is per letter. To compare the two, we need a loss per
# byte of the text. Add up the surprise $-\log p$ of every piece in the text, divide the sum by the number of bytes in
# the text, and convert it from nats to bits. A bit is the surprise of a fair coin toss, log 2 ≈ 0.69 nats. A byte has
# 256 = 2⁸ values, so a model that knows nothing needs 8 **bits per byte**.


# %% tags=["exercise"] quiz="compare_two_tokenizers"
def bits_per_byte(log_probs, text):
    """log_probs (T,), natural, one per token of the text -> one number"""
    ...


# %% [markdown]
# ### Find the bug (4 min)
#
# The function below should continue a story of any length, using a model that can read only `max_len` tokens at once.
# It contains two mistakes. To make them visible, we use a toy model that counts. After every token, the toy predicts
# that token plus one, so the function should continue 1, 2, 3 with 4, 5, 6, 7, 8.


# %% tags=["exercise"]
def continue_story(model, ids, n_tokens, max_len):
    """model: ids (1, T) -> logits (1, T, V); ids: a list. Returns a longer list."""
    ids = list(ids)
    for _ in range(n_tokens):
        window = ids[:max_len]
        logits = model(torch.tensor([window]))[0, 0]
        ids.append(int(logits.argmax()))
    return ids


# %% tags=["trial", "hide-input"] quiz="when_the_window_is_full"
print("1, 2, 3 continued:", continue_story(lambda ids: F.one_hot(ids + 1, 20), [1, 2, 3], 5, 4)[3:])

# %% [markdown] quiz="gpt3_by_pencil"
# **Pencil (2 min).** One layer of GPT-3 has four attention matrices of size $D \times D$, and its feed-forward network
# has one matrix of size $D \times 4D$ and one of size $4D \times D$. How many parameters do the 96 layers have, if you
# count only these matrices? Use a calculator for the last step.


# %% tags=["exercise"]
def count_gpt_parameters(vocab_size, d_model, n_layers, max_len):
    """Four whole numbers -> one"""
    ...


# %% [markdown] quiz="did_it_copy"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about 25 minutes. You'll meet heads that copy, and lesson 20 finds such heads again in a model that people
# use.
#
# ### Can your file run the story model?
#
# Your file is a Transformer of 2017, and the story model is newer. Instead of adding positions to the embeddings, it
# rotates its queries and keys (lesson 05), and its feed-forward networks use a GELU. Replace three of your functions,
# and the story model's weights fit into your GPT.

# %%
rotate, attend = rotate_positions, own.scaled_dot_product_attention
since_2017 = {
    "sinusoidal_positions": torch.zeros,
    "scaled_dot_product_attention": lambda q, k, v, mask: attend(rotate(q), rotate(k), v, mask),
    "feed_forward": lambda x, w, b, v, c: F.gelu(x @ w + b, approximate="tanh") @ v + c,
}

# %% tags=["nbval-ignore-output"]
sizes, weights = at_work.gpt_weights_of(story.model)
ids = story.encode("Once upon a time there was a king who")[None]
with at_work.switched(own, **since_2017), torch.no_grad():
    my_story = MyGPT(*sizes)
    my_story.load_state_dict(weights)
    apart = (my_story(ids) - story.model(ids)).abs().max().item()
    for _ in range(40):
        likely = own.top_k_filter(my_story(ids)[:, -1], 20)
        ids = torch.cat([ids, likely.softmax(-1).multinomial(1)], dim=1)
print(f"largest difference between two logits: {apart:.0e}\n\n{story.decode(ids[0])}")

# %% [markdown]
# ### How can a model copy what it has just read?
#
# *Mr Utterson met Mr Hyde, and then Mr* … To continue this sentence, you can look back for the previous *Mr* and copy
# what came after it. A head that does this is called an **induction head** (Olsson et al. 2022).
#
# An induction head can't work alone. To find *Hyde*, it needs a key at *Hyde* that says "I come after *Mr*", and only
# a head in an earlier layer can have brought that information there. That's why models with induction heads have at
# least two layers.
#
# Let's train a small model that has nothing to learn except copying. The text that it reads is random, but each
# passage of 8 to 18 tokens is repeated. The first time, nothing in the passage can be predicted. From then on,
# everything can. We picked a seed with which the model learns this within 300 steps, because not every seed is so
# lucky.

# %% tags=["nbval-ignore-output"]
copier = train_copier(seed=1)  # two layers of four heads

# %% [markdown]
# We test this copier on passages of 13 tokens, each of them twice in a row. The loss should be high the first time and
# low the second time. To find the heads that copy, we score each head by how much of its weight goes to the position
# just after the previous occurrence of the current token.


# %% tags=["exercise"]
def induction_score(weights, period):
    """(H, T, T), a number of tokens -> (H,)"""
    ...


# %% tags=["hide-input", "nbval-ignore-output"]
PERIOD = 13


def two_losses(model, ids):
    """Return the loss in the passage and in its repetition."""
    with torch.no_grad():
        logits = model(ids[:, :-1])
    losses = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return losses[:, : PERIOD - 1].mean().item(), losses[:, PERIOD:].mean().item()


def scores_of(model, ids):
    """Return the induction score of every head, (layers, H)."""
    maps = model.attention_maps(ids).mean(0)  # (layers, H, T, T)
    score = exercises.mine("induction_score")  # yours, once it has passed
    return torch.stack([score(layer, PERIOD) for layer in maps])


ids = repeated(64, PERIOD, torch.Generator().manual_seed(5), 2 * PERIOD)
first, again = two_losses(copier, ids)
scores = scores_of(copier, ids)
print(f"loss in the first passage {first:.2f} (log 40 = 3.69), in its repetition {again:.2f}\n")
print("induction score per head")
for i, row in enumerate(scores, 1):
    print(f"  layer {i}:", "  ".join(f"{score:.2f}" for score in row.tolist()))
notebook.claim(first > 3.5 and again < 1.0)
notebook.claim(scores[1].max().item() > max(0.4, 2 * scores[0].max().item()))

# %% [markdown]
# A high score doesn't prove that anything depends on a head, as you saw in lesson 06. A better test is to switch heads
# off. We silence those heads of the second layer whose score is at least half the highest score, and measure the loss
# again.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
copying = (scores[1] > scores[1].max() / 2).nonzero().flatten().tolist()
others = [head for head in range(4) if head not in copying][: len(copying)]
layer = copier.layers[1].self_attention
with heads_off(layer, copying):
    first_off, again_off = two_losses(copier, ids)
with heads_off(layer, others):
    _, again_control = two_losses(copier, ids)
back = (again_off - again) / (first - again)
exercises.reveal(
    "without_the_copying_heads",
    measured="all" if back > 0.75 else "some" if back > 0.15 else "nothing",
)
print(f"switched off: {len(copying)} of the 4 heads of layer 2")
print(
    f"  first passage: {first:.2f} → {first_off:.2f}    repetition: {again:.2f} → {again_off:.2f}"
)
print(f"switched off: the rest of layer 2    repetition: {again:.2f} → {again_control:.2f}")
notebook.tell(
    """It's the copying that suffers. In the first passage the loss can't get much worse, since nothing there could be
    predicted anyway. The rest of the layer is our control. Switch that off instead, and the loss changes far less.

    The control is weak if fewer heads are left than we silenced. Besides, a head's output is hardly ever zero, so
    forcing it to zero might do harm of its own. Lesson 20 tests a larger model more fairly."""
)
notebook.claim(abs(first_off - first) < 0.5 and again_off - again > 0.3)
notebook.claim(not others or again_control - again < 0.6 * (again_off - again))

# %% [markdown]
# Does the story model have such heads? It could use them, because names and phrases come back in every tale. We take
# twelve passages of 60 pieces that weren't in its training text and let the model read each of them twice in a row.
# Then we measure both losses and the induction scores of its 36 heads.

# %% tags=["hide-input", "nbval-ignore-output"]
pieces = story.encode(stories("validation"))
PERIOD = 60
twice = torch.stack([pieces[300 * i : 300 * i + PERIOD] for i in range(12)]).repeat(1, 2)
first, again = two_losses(story.model, twice)
found = scores_of(story.model, twice)
print(f"loss in the first reading {first:.2f}, in the second {again:.2f} nats per piece")
print(f"highest induction score of {found.numel()} heads: {found.max():.2f}")
notebook.tell(
    """The story model has no induction head. Although it has just read the passage, it predicts hardly any better the
    second time. That fits what you saw in the widget, where it forgets its king even while he's still in its window.
    Olsson et al. looked at many models of two layers or more. In every one of them, such heads formed after a few
    billion tokens, early in training, and the loss suddenly dropped as they formed. The story model has read far
    less than that."""
    if again > 0.7 * first
    else """It does copy: the second reading costs far less than the first."""
)
assert again < first

# %% [markdown]
# ### Can you know a model's loss before you train it?
#
# Training the largest models costs millions, and nobody wants to find out afterwards that the money was badly spent.
# Could a few small models tell us in advance? We trained GPTs of two layers at six widths, from 16 to 96, with three
# seeds each. No single learning rate suits all sizes, so each width has its own, found by trying several. Each model
# reads half a million letters.
#
# We'll fit a law to five of the sizes and see whether it can predict the sixth. Write $N$ for the number of parameters
# in a model's layers and $L(N)$ for its loss. The usual form of the law is
#
# $$L(N) = E + \frac{A}{N^\alpha}$$
#
# No model gets below the floor $E$, whatever its size, because part of every text is chance and because half a million
# letters can teach only so much. If we knew $\alpha$, the loss plotted against $N^{-\alpha}$ would be a straight line,
# and `polyfit` would find $A$ and $E$. That's why we try many values of $\alpha$ and keep the one whose line fits best.


# %%
def law_of(n, losses):
    """(sizes,), (sizes,) -> α, A and E"""
    tries = []
    for alpha in numpy.arange(0.1, 1.5, 0.02):
        (a, e), (error, *_), *_ = numpy.polyfit(n**-alpha, losses, 1, full=True)
        tries.append((error, alpha, a, e))
    return min(tries)[1:]


# %%
*smaller, largest = measured("scaling")["sizes"]
n = numpy.array([float(size["parameters"]) for size in smaller])
losses = numpy.array([size["losses"] for size in smaller])  # (5 sizes, 3 seeds)
alpha, a, e = law_of(n, losses.mean(1))
print(f"L(N) = {e:.2f} + {a:.1f} / N^{alpha:.2f}")

# %% [markdown]
# A law without a floor would be simpler. On logarithmic axes it's a straight line. We fit one to the same five sizes.
# Which of the two laws comes closer to the loss of the largest size?

# %% tags=["prediction", "hide-input"]
wide = largest["parameters"]
grid = numpy.geomspace(n[0], wide)
straight = numpy.polyfit(numpy.log(n), numpy.log(losses.mean(1)), 1)
dashed = numpy.exp(numpy.polyval(straight, numpy.log(grid)))
curve = e + a / grid**alpha
laws = [law_of(n, numpy.array(one)) for one in product(*losses)]  # one seed per size
band = numpy.array([e + a / grid**alpha for alpha, a, e in laws])
# A fit's last digits differ between processors, and a picture of them would, too.
curve, dashed, low, high = (each.round(6) for each in (curve, dashed, band.min(0), band.max(0)))
came = numpy.mean(largest["losses"])
off, off_dashed = abs(came - curve[-1]), abs(came - dashed[-1])
exercises.reveal(
    "with_or_without_a_floor",
    measured="floor" if off < off_dashed / 2 else "straight" if off_dashed < off / 2 else "equal",
)
print(f"predicted without a floor: {dashed[-1]:.3f}")
print(f"predicted with a floor:    {curve[-1]:.3f} (band: {low[-1]:.3f} to {high[-1]:.3f})")
print("three seeds of that size: ", ", ".join(f"{loss:.3f}" for loss in largest["losses"]))
_, axes = pyplot.subplots(figsize=(6.5, 3.6))
axes.fill_between(grid, low, high, color=plots.PURPLE, alpha=0.2, linewidth=0)
axes.plot(grid, curve, color=plots.PURPLE, label="fitted, with a floor")
axes.plot(grid, dashed, "--", color=plots.GREY, label="fitted, without a floor")
axes.plot(n, losses, "o", color=plots.PURPLE, alpha=0.6, markersize=4)
unseen = {"color": plots.ORANGE, "markersize": 5, "label": "not used in the fit"}
axes.plot([wide] * 3, largest["losses"], "D", **unseen)
axes.set(xscale="log", yscale="log", xlabel="parameters in the layers", ylabel="nats per letter")
axes.set_xticks([10_000, 100_000], ["10,000", "100,000"])
axes.set_yticks([1.5, 1.6, 1.7, 1.8], ["1.5", "1.6", "1.7", "1.8"])
axes.minorticks_off()
axes.legend()
notebook.show(
    axes,
    alt="Loss against parameters on logarithmic axes. The points of five sizes bend away from a dashed straight "
    "line; a curve with a floor follows them and meets the points of the sixth size, which it never saw, "
    "inside its narrow band.",
    width=600,
)
notebook.tell(
    """The law with a floor predicts the loss at a size that it never saw, more than twice the largest in the fit. The
    straight line promises too much, because it can't level off. The band shows how much luck there is in such a
    prediction. It spans 243 laws, one for every way to pick a single seed per size."""
)
assert low[-1] < came < high[-1] and off < off_dashed / 2

# %% [markdown]
# Kaplan et al. (2020) found such laws for language models, across up to seven orders of magnitude. Hoffmann et al.
# (2022) trained more than 400 models and varied size and text together. Their law said that at equal cost, a model of
# 70 billion parameters that reads 1.4 trillion tokens should beat one of 280 billion that reads 300 billion. They
# trained the smaller one, Chinchilla, and it won. Our law can't say anything about that choice, because all our models
# read the same amount of text. Nor has it been tested on anything but letters and models of two layers.
#
# ### Can the story model become a detective?
#
# *The door opened, and* … In a fairy tale a king might come in now, and in Baker Street a client with a secret. To
# teach the story model this other style, we don't have to train it again from the start. LoRA (lesson 12) leaves all
# its matrices as they are and trains a small correction to each. The course comes with such an adapter, trained on
# Sherlock Holmes for 150 steps, which took about two minutes. Its file is a twentieth the size of the model's.

# %% tags=["nbval-ignore-output"]
detective = load_detective()  # the story model with its adapter
for seed in (0, 2):
    for name, teller in (("before", story), ("after", detective)):
        print(f"{name}: {teller.generate('The door opened, and', 40, seed=seed)}\n")

# %% [markdown]
# How much did the story model learn from Holmes, and how much did it forget? We compare the model with and without the
# adapter on 6,000 letters of Holmes and 6,000 of fairy tales, none of them used in training.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
pages = {"Holmes": holmes_pages()[1][:6000], "fairy tales": stories("validation")[:6000]}
both = {name: [t.bits_per_byte(text) for t in (story, detective)] for name, text in pages.items()}
gain = both["Holmes"][0] - both["Holmes"][1]
cost = both["fairy tales"][1] - both["fairy tales"][0]
exercises.reveal(
    "what_the_detective_forgets",
    measured="nothing" if cost < 0.1 * gain else "less" if cost < gain else "more",
)
for name, (before, after) in both.items():
    print(f"{name:>11}: {before:.3f} → {after:.3f} bits per byte")
card = detective.card
notebook.tell(
    """The frozen matrices are all still there, but the model never uses them alone, because the adapter adds a
    correction to each of them. Losing an old skill while learning a new one is called *catastrophic forgetting*.
    With LoRA it can be undone at any time. Take the adapter away, and you have the old model again."""
)
assert gain > 0.08 and 0 < cost < gain
assert card["after"]["holmes"] < card["before"]["holmes"] - 0.1

# %% [markdown]
# **References**
#
# - Radford, Narasimhan, Salimans, Sutskever (2018), "Improving Language Understanding by Generative
#   Pre-Training": GPT.
# - Radford, Wu, Child, Luan, Amodei, Sutskever (2019), "Language Models are Unsupervised Multitask
#   Learners": GPT-2.
# - Brown et al. (2020), "Language Models are Few-Shot Learners", arXiv:2005.14165: GPT-3, sizes in table 2.1.
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762.
# - Su et al. (2021), "RoFormer", arXiv:2104.09864: rotary positions.
# - Olsson et al. (2022), "In-context Learning and Induction Heads", arXiv:2209.11895; Elhage et al. (2021),
#   "A Mathematical Framework for Transformer Circuits".
# - Kaplan et al. (2020), "Scaling Laws for Neural Language Models", arXiv:2001.08361; Hoffmann et al. (2022),
#   "Training Compute-Optimal Large Language Models", arXiv:2203.15556.
# - Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models", arXiv:2106.09685.
# - Jordan et al. (2024), "Muon: An optimizer for hidden layers in neural networks".
# - The path from an average over `tril` to attention is Andrej Karpathy's, in the video "Let's build GPT: from
#   scratch, in code, spelled out" (2023).
# - The texts are from Project Gutenberg; their authors and translators are named in
#   `helpers/data/real/NOTICES.md`.
