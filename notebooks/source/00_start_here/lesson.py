# %% [markdown]
# # Start here
#
# *Un chien noir court dans la neige avec un bâton.* In a moment you'll watch a model put this sentence into English.
# You can open any part of the model to see how it's done. It is a **Transformer**, like those behind today's chatbots
# and translators, but small enough to fit on this page. Nothing in the picture that you'll see is made up. Every
# colour stands for a number that the model has learned or has just computed for this sentence. The page takes about
# 25 minutes.
#
# Run the next two cells (click on a cell, then <kbd>Shift</kbd> + <kbd>Enter</kbd>) and press **Take the tour**. You
# can leave the tour whenever you like and click on anything that looks interesting. To see a sentence of your own,
# type it in French into the field above the picture and press <kbd>Enter</kbd>.

# %% tags=["nbval-ignore-output"]
from helpers.pretrained.translator import load_translator
from helpers.widgets.model_map import model_map

translator = load_translator()
model_map(translator.trace("Un chien noir court dans la neige avec un bâton."), tour="00")

# %% tags=["hide-input"]
# What the rest of the page needs.
from collections import Counter

import torch

from helpers import exercises, plots
from helpers.text.tokenization import BOS
from helpers.widgets.attention_view import attention_view

# %% [markdown] tags=["notes"]
# **About 25 minutes**: 6 for the map and its tour, 9 for where it looks, with the first exercise, 8 for the three odd
# sentences, 2 for how a lesson works and the installation.
#
# Show the tour once, without comment. Then ask somebody to dictate a French sentence about something that can be
# photographed. A sentence that the model gets wrong is a good start, too. Ask "What does the model do with a word
# that it has never seen?" (it breaks the word into pieces that it knows).
#
# Take a vote on each prediction. People tend to read the rows and columns of the attention map the wrong way round, so
# say aloud which are which. The odd sentences work best as a game, with a point for every right vote. Save a sentence
# from the class for the last round.

# %% [markdown]
# ## What did you just see?
#
# The model is a stack of layers, and each layer has two main parts. In **attention**, every token (a word or a piece
# of one) collects information from other tokens. The *queries*, *keys* and *values* on the map do that, and you'll
# build them in lesson 03. A small **feed-forward** network then works on what each token has collected. Neither part
# throws away what was there before. Each token has a **vector**, the list of numbers that stands for it, and at every
# ⊕ on the map the part's result is added to that vector.
#
# The upper half of the map is the **encoder**, which reads French, and the lower half is the **decoder**, which writes
# English. Either half can also work alone. Lesson 12's model is an encoder, and lesson 14's is a decoder that writes
# stories. Transformers were invented for translation, but tokens don't have to be words. Stacks of such layers have
# since been trained on program code, pictures, speech and proteins.
#
# The paper that introduced the Transformer in 2017 was called *Attention Is All You Need*. Do you believe the title?
# Let's count how many of our model's learned numbers belong to attention:

# %% tags=["hide-input"]
# Count the learned numbers by kind.
numbers = Counter()
for name, parameter in translator.model.named_parameters():
    kinds = ("attention", "feed_forward", "embedding")
    numbers[next((kind for kind in kinds if kind in name), "norms")] += parameter.numel()
share = {kind: f"{n / numbers.total():.0%}" for kind, n in numbers.items()}
assert [round(100 * n / numbers.total()) for _, n in numbers.most_common(3)] == [48, 32, 21]
notebook.tell(
    f"""About half of the numbers do, {share["attention"]} of {numbers.total() / 1e6:.0f} million. Nearly all the others are
    in the feed-forward networks ({share["feed_forward"]}) and in the table that holds one vector per token
    ({share["embedding"]}). In most larger Transformers the feed-forward networks outweigh attention."""
)

# %% [markdown]
# ## Where does it look?
#
# Here is a sentence whose words have to change places in English.

# %%
sentence = "Une petite fille en manteau rouge joue avec un chien noir."
print(translator.translate(sentence))

# %% [markdown]
# *En manteau rouge* is literally "in coat red", without an article. Before the model writes a word, it divides its
# attention among the French words. Each of them has a **weight**, its share of the attention, and the weights sum to 1.

# %% tags=["prediction", "hide-input"]
# The weights of the last layer.
attended = translator.attend(sentence)
weights, _, read = attended.maps["cross"]  # (layers, heads, T, S)
written = attended.target_tokens
last = weights[-1].mean(0)  # (T, S): the last layer, averaged over its heads
words = {token.strip("▁"): i for i, token in enumerate(written)}
source = {token.strip("▁"): i for i, token in enumerate(read)}
before_red = words["red"] - 1  # the row of the "a" in "a red coat"
exercises.reveal("where_an_article_looks", measured=read[last[before_red].argmax()].strip("▁"))
on_words = {word: round(100 * float(last[before_red, i])) for word, i in source.items()}
assert [on_words[word] for word in ("Une", "rouge", "en")] == [36, 30, 21]
assert on_words["manteau"] < 2 and last[words["red"], source["rouge"]] > 0.9
cut_into = [len(translator.tokenizer.encode(word)) for word in ("chien", "framboise")]
assert cut_into == [1, 4] and len(translator.tokenizer) == 4000
assert read[last[words["coat"]].argmax()].strip("▁") == "manteau"
notebook.show(
    plots.attention_heatmap(last, written, read),
    alt="Cross-attention of the last layer: rows are the English tokens that were written, columns "
    "the French tokens. Most rows are darkest at their translation; red and coat cross over.",
    width=620,
)
notebook.tell(
    """This is an **attention map**. Each **row** is named after the token that the model wrote with its help
    (the tour used the token read just before), and each **column** is a French token. A `▁` marks
    where a word begins. The darker a cell, the larger the weight. You can see *red* and
    *coat* cross over, because *rouge* comes after *manteau*. The *a* before *red* has nothing to translate. Its
    weight is spread over *Une* (36%), *rouge* (30%) and *en* (21%), while most other rows have one clear favourite."""
)

# %% [markdown]
# ### Your turn: find the bug
#
# Which French token does each English token look at most? `argmax` finds the *position* of the largest number along
# one dimension of a table. The function below searches along the wrong dimension. Run its cell, read what the check
# says, and mend the function.

# %% tags=["hide-input"]
exercises.heading("alignment_from_weights")


# %%
def alignment_from_weights(weights):
    """weights (T, S), a row per written token -> (T,), a position in the source for each row"""
    return weights.argmax(dim=0)


exercises.check("alignment_from_weights", alignment_from_weights)

# %%
looked_at = exercises.mine("alignment_from_weights")(last)  # (T,)
print("  ".join(f"{token} → {read[i]}" for token, i in zip(written, looked_at, strict=True)))
print(exercises.whose("alignment_from_weights", did="linked"))

# %% tags=["hide-input"]
# red looks at rouge, coat at manteau.
assert read[looked_at[words["red"]]] == "▁rouge" and read[looked_at[words["coat"]]] == "▁manteau"

# %% [markdown]
# Nobody ever told the model which word translates which.
#
# The map above is an average. The layer has four **heads**, each with learned numbers and a map of its own. Change
# the layer and the head below, and find a head in which most words *don't* look at their translation. A row is named
# after both tokens now, the one just read and the one then written.
#
# <details><summary>Where do the pieces come from? (optional)</summary>
#
# Nobody chose the pieces. Before the translator was trained, a small program cut its training text into pieces of one
# letter each. The program joined the two pieces that occurred side by side most often, counted again, and went on
# until it had 4,000 different pieces. A frequent word like *chien* is one piece now, while *framboise* (raspberry)
# still comes in four. This is **byte-pair encoding**, and [section 2 of lesson
# 11](11_tokenizers.ipynb#2.-Which-pieces-do-we-need?) lets you do it yourself in ten minutes.
#
# </details>

# %% tags=["nbval-ignore-output"]
attention_view(translator.attend(sentence), tab="cross", layer=2)

# %% [markdown]
# ## Can you trick it?
#
# Put your own French sentence between the quotes, and run the cell. All that the model has ever read is 29,000 photo
# captions, mostly about people, dogs and bicycles. Give it a sentence about politics, and you'll probably get nonsense.

# %%
yours = "Deux hommes mangent une pizza dans la rue."
print(translator.translate(yours))

# %% [markdown]
# Here are three odd sentences. Can you guess what the model will make of them?

# %% tags=["prediction", "hide-input"]
# The sentence without its dog.
odd = "Un court dans la neige avec un bâton."
found = translator.translate(odd)
people = {"man", "woman", "person", "boy", "girl", "child", "skier"}
who = set(found.split()) & {"dog", *people}
exercises.reveal(
    "a_word_is_missing", measured="dog" if "dog" in who else "man" if who else "literal"
)
print(odd, "->", found)
likeliest = translator.trace(odd).candidates[1][:4]  # after "A"
print("after A:", "  ".join(f"{c.token.strip('▁')} {c.probability:.0%}" for c in likeliest))
assert likeliest[0].token == "▁dog" and likeliest[0].probability < 0.25

# %% tags=["prediction", "hide-input"]
# A pizza that eats.
odd = "La pizza mange le chien."
found = translator.translate(odd)
eats, _, eaten = found.partition("eating")
exercises.reveal(
    "a_pizza_that_eats",
    measured="pizza" if "pizza" in eats else "dog" if "pizza" in eaten else "neither",
)
print(odd, "->", found)
assert found == "The pizza is eating the dog."

# %% tags=["prediction", "hide-input"]
# A man who doesn't eat.
odd = "L'homme ne mange pas de pizza."
found = translator.translate(odd)
negated = any(word in found for word in ("not", "n't", "no "))
exercises.reveal(
    "a_man_who_does_not_eat",
    measured="not" if negated else "pizza" if "pizza" in found else "other",
)
print(odd, "->", found)
given = torch.tensor([[BOS, *translator.tokenizer.encode("The man is")]])
with torch.inference_mode():
    shares = translator.model(translator.encode([odd]), given)[0, -1].softmax(-1)
words = {word: shares[translator.tokenizer.encode(word)[0]] for word in ("eating", "not")}
print("after The man is:", "  ".join(f"{word} {share:.2%}" for word, share in words.items()))
assert found == "The man is eating pizza." and words["eating"] > 0.9 and words["not"] < 0.001
notebook.tell(
    """Twice the captions won, once where the sentence left a gap and once where it asked for a word that captions
    hardly ever use. The hungry pizza was translated as it stood. You'll see why in lessons 05 (positions), 08
    (choosing the next word) and 09 (learning from data)."""
)

# %% [markdown]
# ## How a lesson works
#
# **Predict.** Before a result that matters, the lesson asks what you expect. Lock in an answer, even if it's a guess,
# because you'll remember a result better once you've committed yourself.
#
# **Your turn.** A few times in each lesson you write some code. The check below it tells you not only *whether* it's
# right but *what* went wrong. If you're stuck, `exercises.hint("alignment_from_weights")` shows one hint at a time,
# and `exercises.solution("alignment_from_weights")` the tested code. Skip an exercise, and the lesson goes on with
# the course's version.
#
# **Yours.** From lesson 02 on, each part of a Transformer that you write goes into a file, `my_transformer.py`, as
# soon as it passes its check. By lesson 10 that file is a whole Transformer. Each part lights up below once it's
# yours, and `exercises.progress()` lists everything you've done:

# %% [markdown] my_parts=true
# Each lesson has a **core** of at most 50 minutes, a **practice** part for home, and a part called **Going
# deeper** that nothing later depends on.
#
# ## The course
#
# The main path starts with lessons 00 to 10, and at the end of lesson 10 your own Transformer translates. The path
# goes on through 11 to 14, 16, 95, 18, 19 and 20. Lesson 15 (pictures) branches off after 10, and 17
# (music) after 15. You can read pages 90 to 94 at any time, and 96 when a model of your own writes rubbish.
#
# <details><summary>The lessons and the question that each one answers</summary>
#
# | | Lesson | The question it answers |
# |---|---|---|
# | 01 | Sequence to sequence | How do you map one sequence to another of a different length? |
# | 02 | Bahdanau attention | What if the decoder could look back? |
# | 03 | Self-attention with vectors | Can a sequence attend to itself? |
# | 04 | Self-attention with matrices | How can we make it run fast? |
# | 05 | Positional encoding | How does it know the order? |
# | 06 | Multi-head attention | Why is one attention map not enough? |
# | 07 | Encoder and decoder | What surrounds the attention? |
# | 08 | Decoding | How do vectors become words? |
# | 09 | Loss and training | How does it learn? |
# | 10 | Build a Transformer (assignment, 2 hours) | Can you put it together yourself? |
# | 11 | Tokenizers | What is a token, and who decides? |
# | 12 | BERT: one encoder, many tasks | What can a model do if it only reads? |
# | 13 | Find it, then point at it | How does a model answer from a text? |
# | 14 | GPT | What if we keep only the decoder? |
# | 15 | Vision Transformer | Is a picture a sentence? |
# | 16 | Who pays for long context? | What does attention cost, and what can be done about it? |
# | 17 | Hear the genre (assignment, 2 hours) | Has your model learned the music, or just the recordings? |
# | 18 | From GPT to assistant | What does it take to turn a story model into a chat assistant? |
# | 19 | A real model | Can your own code run a language model that people use? |
# | 20 | Look inside | Which change inside a model changes what it says? |
# | 90 | Myths and facts | Which of these sentences are wrong, and how can you tell? |
# | 91 | Review | What has stuck? |
# | 92 | Every widget | What can I try out, and show on a projector? |
# | 93 | Questions people bring | What does everybody ask, and where can I read more? |
# | 94 | Elsewhere | What does a Transformer do with sounds and proteins, and what beats it? |
# | 95 | What changed since 2017 | Is it still built this way, and what does each change bring? |
# | 96 | The clinic | What is wrong with a model that runs, trains and writes rubbish? |
#
# </details>
#
# You need to know some Python and to have met matrices and gradients. You don't need a graphics card or, after the
# installation, an internet connection. If you know recurrent networks well, you can skim lesson 01.
#
# ## Notation
#
# Each lesson explains its letters, so come back to this table only when you've forgotten one.
#
# <details><summary>The letters</summary>
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
# | $A$ | the attention weights (in lesson 02's shapes, $A$ is the width of the score network's hidden layer instead) | `weights` |
#
# $K$ and $V$ also name matrices, and the formula shows which is meant.
#
# </details>
#
# Shapes are written `(B, T, D)`. In a mask, `True` means *allowed to attend*. In an attention map, rows are
# queries and columns are keys.
#
# ## Is everything installed?

# %% tags=["nbval-ignore-output"]
notebook.check_installation()

# %% [markdown]
# ## What comes next
#
# Before there were Transformers, recurrent networks read sentences one word at a time. In **lesson 01** you'll watch
# one translate a short sentence perfectly. Then you'll make the sentence longer.
#
# **References**
#
# - Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin (2017), "Attention Is All
#   You Need", arXiv:1706.03762. Its models translated English into German and French.
# - Elliott, Frank, Sima'an, Specia (2016), "Multi30K: Multilingual English-German Image
#   Descriptions", arXiv:1605.00459: the captions the translator learned from.
# - Elliott, Frank, Barrault, Bougares, Specia (2017), "Findings of the Second Shared Task on
#   Multimodal Machine Translation and Multilingual Image Description", arXiv:1710.07177: the
#   French translations of those captions.
