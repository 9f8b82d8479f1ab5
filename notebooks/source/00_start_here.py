# %% [markdown]
# # Start here
#
# **What are we going to build?** A Transformer: a model that reads one sequence and writes another.
# You will see ours at work first, and look at where it looks. Then you learn how to use this course.
#
# At the end of these **10 minutes** you can
#
# - translate a French sentence with the course's own Transformer,
# - read an attention map: what its rows, its columns and its colours mean,
# - find your way through the lessons, run an exercise and get a hint,
# - check that your installation is complete.
#
# You need to know a little Python. No graphics card, and after the installation no network.
#
# To run a cell, click on it and press <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one; it
# is the same in every lesson.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% [markdown]
# ## The finished thing first
#
# This model was trained on 29,000 French captions of photographs and their English translations.
# Its code is in `helpers/`, a few hundred lines of Python. By lesson 10 you will have written each
# part of it yourself.

# %%
from helpers.pretrained.translator import load_translator
from helpers.widgets.attention_view import attention_view

translator = load_translator()
sentence = "Une petite fille en manteau rouge joue avec un chien noir."
translation = translator.translate(sentence)
print(translation)

# %%
assert "red coat" in translation and "black dog" in translation

# %% tags=["hide-input"]
notebook.picture("black_box")

# %% [markdown]
# French says *manteau rouge*, coat red; English says *red coat*. So word number seven of the
# translation, *coat*, cannot simply come from word number seven of the source, *joue* (plays).
#
# **Predict.** When the model writes *red*, which French word should it look at? And when it writes
# *coat*? Decide, then run the next cell and point at those two words.

# %%
from helpers import plots

weights, written, read = translator.attend(sentence).maps["cross"]  # (layers, heads, T, S)
axes = plots.attention_heatmap(weights[-1].mean(0), written, read)
notebook.figure(
    axes,
    alt="Cross-attention of the last layer: rows are the English tokens that were written, columns "
    "the French tokens. Most rows are darkest at their translation; red and coat cross over.",
    width=640,
)

# %% [markdown]
# A **token** is a word or a piece of a rare word; `▁` marks where a word begins. A *tokenizer* cuts
# the text into tokens. Each **row** is a token that the model wrote. Each **column** is a token
# that it read. The darker a cell, the more of that row's *attention* went to that column, and every
# row sums to one. This is the last layer, averaged over its heads.
#
# A model has many such maps: one for each *head* of each *layer*. They differ. Some heads go straight
# to the word that is being translated. Others look at a neighbour, or at the end of the sentence.
# There are also maps of the French words looking at each other, and of the English words looking back
# at what is already written. Lesson 06 is about what such maps tell you and what they do not.

# %% [markdown]
# Every head of every layer is in here. Hover over a word, change the layer and the head, or click one
# of the small maps. It opens at a head that looks straight at the word being translated. **Find** one
# that does something else, and say what it looks at.

# %%
# Python counts from 0, so layer=2 is the third and last layer. The view itself counts from 1.
attention_view(translator.attend(sentence), tab="cross", layer=2)

# %% [markdown]
# The next cell finds, for each English token, the French token that got most of its attention,
# averaged over the heads of the last layer. Compare it with what you predicted.

# %%
strongest = weights[-1].mean(0).argmax(-1)
for token, column in zip(written, strongest, strict=True):
    print(f"{token:>10}  ←  {read[column]}")

# %% [markdown]
# Two rows do not point at a translation. *A* divides its attention between *Une* and *petite*; the
# average hides the head above, which looks at *Une* alone. And the first *a* has no French word to look
# at: *en manteau* has no article.
#
# Now your own sentence. The model knows what people, dogs and bicycles do in photographs, and
# little else: ask it about politics and it will make a photograph of it. Change the text and run
# the cell again.

# %%
yours = "Deux hommes mangent une pizza dans la rue."
print(translator.translate(yours))

# %% [markdown] tags=["notes"]
# **10 minutes**: 4 for the translation and the map, 3 for the course map, 3 for the installation.
#
# Ask before anyone runs the map: *where will it look when it writes "red"?* Take two answers.
# Then let someone from the room dictate a French sentence. Choose one about things that can be
# photographed. A sentence the model gets wrong is a good start too: "What does it do when it has
# never seen a word?" It spells it in pieces.
#
# People tend to read rows and columns the wrong way round. Say it once now, in these words: rows
# ask, columns answer.

# %% [markdown]
# ## The course
#
# | | Lesson | The question it answers | Minutes |
# |---|---|---|---|
# | 00 | Start here | What are we going to build? | 10 |
# | 01 | Sequence to sequence | How do you map one sequence to another of a different length? | 60 |
# | 02 | Bahdanau attention | What if the decoder could look back? | 60 |
# | 03 | Self-attention with vectors | Can a sequence attend to itself? | 60 |
# | 04 | Self-attention with matrices | How does the same thing run fast? | 60 |
# | 05 | Positional encoding | How does it know the order? | 60 |
# | 06 | Multi-head attention | Why is one attention map not enough? | 60 |
# | 07 | Encoder and decoder | What is around the attention? | 60 |
# | 08 | Decoding | How do vectors become words? | 60 |
# | 09 | Loss and training | How does it learn? | 60 |
# | 10 | Build a Transformer (assignment) | Can you put it together yourself? | 120 |
# | 90 | Myths and facts | Which of these sentences are wrong, and what shows it? | 45 |
# | 91 | Review | What has stuck? | 30 |
# | 92 | Widget gallery | Where is that thing I could move? | as you like |
#
# The minutes are for reading and running. The exercises of a whole breakout take about half an hour
# more, in class or at home. Each lesson needs the ones before it. If you know recurrent networks well,
# skim lesson 01 and begin with its three measurements.

# %% [markdown]
# ## How a lesson works
#
# **Predict, run, look.** Before a cell that matters, the text asks what you expect. Answer before
# you run it, even with a guess: being wrong for a moment is how it sticks. The outputs are stored: clear
# them first (*Edit → Clear Outputs of All Cells*), or the answer is there before your guess.
#
# **Breakouts.** Exercises have a heading with their minutes, their difficulty and their importance
# from 1 to 5. Write your answer into the cell, run it, and the check tells you whether it is right.
# If it is not, the check tries to say *what* went wrong. Here is a very small one: turn scores into
# weights that are positive and sum to one.

# %%
import torch

from helpers import exercises


def attention_context(scores, values, mask=None):
    """Scores (B, S), values (B, S, D_v) -> context (B, D_v), weights (B, S)."""
    # This answer makes two mistakes. Run the cell and read what the check says.
    weights = scores.exp()
    weights = weights / weights.sum(dim=0)
    return torch.einsum("bs,bsd->bd", weights, values), weights


exercises.check("attention_context", attention_context)

# %% [markdown]
# That is how a mistake looks. You do not need to understand this one yet; it is an exercise of
# lesson 02. If you are stuck, `exercises.hint("attention_context")` gives one hint at a time, and
# `exercises.solution("attention_context")` shows the tested code, after asking whether you really
# want to see it.
#
# Nothing stops when you leave an exercise out: the check says "not attempted yet" and the lesson
# goes on with the course's own version. `exercises.progress()` shows what you have done.

# %% [markdown]
# ## Notation
#
# The same letters mean the same thing in every lesson. Rows are tokens.
#
# | Letter | Meaning | In code |
# |---|---|---|
# | $B$ | sentences in a batch | |
# | $T$ | length of the target, or of the queries | `tgt_len` |
# | $S$ | length of the source, or of the keys | `src_len` |
# | $D$ | width of the model, the length of each token's vector | `d_model` |
# | $H$ | number of heads | `n_heads` |
# | $K$ or $d_k$ | width of one head's queries and keys | |
# | $F$ | width inside the feed-forward network | `d_ff` |
# | $V$ | number of tokens in the vocabulary | `vocab_size` |
# | $D_h$ | width of a recurrent network's state (lessons 01 and 02) | `d_hidden` |
# | $D_q, D_k, D_v$ | widths of queries, keys and values; $D_q = D_k = K$ from lesson 03 on | |
# | $Q, K, V$ | matrices of queries, keys and values, in formulas | `query`, `key`, `value` |
# | $A$ | the attention weights, queries by keys; in the shapes of lesson 02 the width of the score's hidden layer | `weights` |
#
# These capital letters keep their meaning. $K$ and $V$ also name matrices; which is meant, the formula
# shows. Small letters are explained where they stand.
#
# Shapes are written `(B, T, D)`. In a mask, `True` means *may look*. In a heatmap, rows are queries
# and columns are keys.

# %% [markdown]
# ## Is everything installed?

# %% tags=["nbval-ignore-output"]
notebook.check_installation()

# %% [markdown]
# ## Summary
#
# You have translated with a Transformer and looked at where it looked. Rows ask, columns answer,
# and every row sums to one.
#
# Before there were Transformers, sequences were read word by word by recurrent networks. Lesson 01
# builds one, lets it translate, and measures the three places where it fails. The rest of the course
# is the answer to those three.
#
# **References**
#
# - Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin (2017), "Attention Is All
#   You Need", arXiv:1706.03762.
# - Elliott, Frank, Sima'an, Specia (2016), "Multi30K: Multilingual English-German Image
#   Descriptions", arXiv:1605.00459: the captions the translator learned from.
# - Elliott, Frank, Barrault, Bougares, Specia (2017), "Findings of the Second Shared Task on
#   Multimodal Machine Translation and Multilingual Image Description", arXiv:1710.07177: their
#   French translations.
