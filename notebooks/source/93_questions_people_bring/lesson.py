# %% [markdown]
# # Questions people bring
#
# *Eight heads are eight ideas about the same word, right?* Not quite, and this page says why. It collects the
# questions that people ask, some during the first lecture and some long after the last. Read a question, say your
# answer aloud in a sentence or two, and only then read ours.
#
# Each answer links to the section that shows it. If a link opens a lesson at its beginning, click the link once more.
# JupyterLab finds the section only when the lesson is already open. Credits and further reading are at the end of the
# page.
#

# %%
import math

import torch

from helpers.transformer.attention import MultiHeadAttention
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.positions import sinusoidal_positions

notebook.set_seed(0)

# %% [markdown] tags=["notes"]
# Use one or two of these as the closing question of a lesson. Pairs answer in three sentences, then compare with the
# page. Three are good for a debate: *Why √d and not d?* (04), *Is it concatenated or added?* (05), *Why does the
# decoder need the shift if it has the mask?* (08). Reading the whole page takes about **45 minutes**.

# %% [markdown]
# ## Lesson 01: Sequence to sequence
#
# ### Which of the three problems does attention solve, and which remain?
#
# Lesson 01 names three problems: the computation is sequential, no term relates two particular words, and distant
# words are many steps apart. *Between* source and target, attention solves the last two. Every target word now has a
# score for every source word, so near and far words are modelled alike. The distance is gone as well, because any
# target word reaches any source word in a single step. The first problem remains. Each weight has to wait for the
# decoder's previous state, so the computation is still sequential.
#
# *Within* the source and within the target, nothing is solved yet. Recurrent networks still read the one and write the
# other, until lesson 03 drops the recurrence.
#
# **Shown in** [lesson 02, What does it cost, and what is left?](02_bahdanau_attention.ipynb#3.-What-does-it-cost,-and-what-is-left?).
#
# ### Why not simply make the context vector bigger?
#
# You can, and it might help. Lesson 01 can't tell whether 128 numbers are too few, or whether the network wasn't
# trained enough to use them well. But whatever the size, a sentence of forty words has to fit into exactly as many
# numbers as a sentence of four. Attention removes that constraint. In lesson 02 it costs 14% more parameters, and
# after equally many epochs nearly all long sentences come out right.
#
# **Shown in** [lesson 01, How much of the fall is bad luck?](01_sequence_to_sequence.ipynb#How-much-of-the-fall-is-bad-luck?).
#
# ### Can sentiment, or a missing word, really be "predict the next token"?
#
# Yes, once you write the task as text. The line *the film was really silly . verdict :* has a next word, which a model
# can predict if it was trained on such lines. Lesson 01 trains one small network on missing words and on film reviews
# at once. Such lines do have to be in the training data, because writing a task as text doesn't teach the model the
# answer.
#
# **Shown in** [lesson 01, One network, two tasks](01_sequence_to_sequence.ipynb#One-network,-two-tasks).

# %% [markdown]
# ## Lesson 02: Bahdanau attention
#
# ### Is attention the same thing as alignment?
#
# Not quite. An alignment says which word translates which. A weight says how much of an encoder state goes into the
# mixture. The two often agree, because the word you need is usually the one you're translating. But the model of
# lesson 02 gets about a quarter of the alignment links wrong and still translates almost every sentence without a
# mistake. One reason is that an encoder state also contains information about its neighbours, so a model that
# attends to the neighbouring word can still find what it needs.
#
# **Shown in** [lesson 02, The whole decoder, and where it looked](02_bahdanau_attention.ipynb#2.-The-whole-decoder,-and-where-it-looked).
#
# ### What's the real difference between Bahdanau's attention and Luong's?
#
# Most summaries mention the score. Bahdanau uses a small network with a tanh, while Luong compares three scores, one
# of which is the plain dot product. The other difference is *when* the decoder attends. Bahdanau's decoder attends
# before its recurrent step, with a query that doesn't yet include the word it has just written. Luong's decoder takes
# the step first. Lesson 02 tries a cross between the two. With almost Bahdanau's score but Luong's order, the model
# makes less than half as many alignment errors (one training run each).
#
# **Shown in** [lesson 02, Luong's three scores](02_bahdanau_attention.ipynb#Luong's-three-scores).
#
# ### Why mix all the words, instead of picking the best one?
#
# Because picking has no gradient. Change the scores a little, and the winner usually stays the winner, whereas the
# weights of a softmax move with every score. A mixture is also useful in itself, since a noun with two adjectives
# needs both of them. Hard attention, which does pick, has to be trained in other ways. Xu et al. (2015) used
# REINFORCE, which tries picks at random and makes the successful ones more likely.

# %%
scores = torch.tensor([2.0, 1.5, 1.0], requires_grad=True)
values = torch.tensor([1.0, 5.0, 3.0])
(scores.softmax(dim=-1) @ values).backward()
print("mixing, gradient per score:", [round(g, 2) for g in scores.grad.tolist()])
print("picking, any gradient at all:", values[scores.argmax()].requires_grad)

# %% tags=["hide-input"]
assert (scores.grad.abs() > 0.01).all() and not values[scores.argmax()].requires_grad

# %% [markdown]
# **Shown in** [lesson 02, Hard attention](02_bahdanau_attention.ipynb#Hard-attention).

# %% [markdown]
# ## Lesson 03: Self-attention with vectors
#
# ### Why three vectors per word? Wouldn't one do?
#
# One vector works after a fashion, as lesson 03 shows by trying it. But then a word mostly matches itself, and
# matching is mutual: if *car* matches *red*, then *red* matches *car* just as well. With a query and a key of its own,
# a noun can look for its adjectives without the adjectives looking back. The value is there for another reason. The
# word *red* matches because it's an adjective, but what it should pass on is its colour.
#
# **Shown in** [lesson 03, Why three projections, and why small ones?](03_self_attention_vectors.ipynb#Why-three-projections,-and-why-small-ones?).
#
# ### Who tells *car* to look for adjectives?
#
# Nobody does. The three matrices start as random numbers, and training changes them in whatever way lowers the loss.
# Lesson 03 trains a single head to name the size and the colour of one of two French nouns. Nothing in that training
# says where to look. Yet in five runs out of five, nearly all of the noun's weight ends up on the two adjectives of
# its own gender. "Looking for" is our way of describing the result.
#
# **Shown in** [lesson 03, Nobody draws these arrows](03_self_attention_vectors.ipynb#4.-Nobody-draws-these-arrows).
#
# ### Does the layer have to know how long the sentence is?
#
# No. The parameters are matrices whose sizes depend on the width of the vectors and on nothing else. The length
# affects only the attention weights, which are computed afresh for every sentence. A single layer can read three words
# or three hundred. Whether it does *well* on lengths that it has never seen is another question, which only a
# measurement can answer.

# %%
layer = MultiHeadAttention(d_model=16, n_heads=2)
for length in (3, 300):
    x = torch.randn(1, length, 16)
    print(length, "words in, output", tuple(layer(x, x, x)[0].shape))

# %% tags=["hide-input"]
assert layer(x, x, x)[0].shape == (1, 300, 16)
assert all(max(p.shape) == 16 for p in layer.parameters())

# %% [markdown]
# **Shown in** [lesson 03, Every word looks at every word](03_self_attention_vectors.ipynb#2.-Every-word-looks-at-every-word).

# %% [markdown]
# ## Lesson 04: Self-attention with matrices
#
# ### Why √d, and not d?
#
# The typical score shouldn't depend on the width of the vectors. A score is a sum of $d$ products. With independent
# entries of variance 1, as at the start of training, the *variance* of this sum is $d$, so a score's typical size is
# $\sqrt d$. Dividing by $\sqrt d$ brings it back to 1. Dividing by $d$ goes too far, because it makes the scores so
# small that all keys have nearly equal weights.

# %%
q, k = torch.randn(2, 10_000, 512)
scores = (q * k).sum(dim=-1)
for name, divisor in [("1", 1), ("√512", 512**0.5), ("512", 512)]:
    print(f"divided by {name:>4}: typical size {(scores / divisor).std():.2g}")

# %% tags=["hide-input"]
assert 21 < scores.std() < 24 and 0.9 < (scores / 512**0.5).std() < 1.1

# %% [markdown]
# **Shown in** [lesson 04](04_self_attention_matrices.ipynb), section 2.
#
# ### Why does a mask use −∞ and not 0?
#
# A score of 0 doesn't mean "nothing". The softmax turns it into $e^0 = 1$ before it divides, so a word with the score 0
# gets more weight than any word with a negative score. Only $e^{-\infty}$ is zero. Setting the *weights* to zero
# afterwards doesn't help either, because the hidden words have already been counted in the denominator.

# %%
scores = torch.tensor([1.0, -2.0, 3.0])  # the third word is to be hidden
for hidden in (0.0, -math.inf):
    weights = torch.tensor([*scores[:2].tolist(), hidden]).softmax(dim=-1)
    print(f"hidden with {hidden:>4}:", [round(w, 2) for w in weights.tolist()])

# %% tags=["hide-input"]
assert weights[2] == 0 and torch.tensor([1.0, -2.0, 0.0]).softmax(-1)[2] > 0.2

# %% [markdown]
# **Shown in** [lesson 04, Who is allowed to attend to whom?](04_self_attention_matrices.ipynb#3.-Who-is-allowed-to-attend-to-whom?).
#
# ### If attention costs n², why is it called fast?
#
# Because fast and cheap are two different things. If you count all multiplications, including the projections to
# queries, keys and values, attention never needs fewer than a plain recurrent layer. But it consists of a few large
# matrix products in which no position waits for another, while a recurrent layer has to take its $n$ steps one after
# the other. For long enough sequences the n² dominates, and then attention is neither cheap nor fast.
#
# **Shown in** [lesson 04, Attention against recurrence](04_self_attention_matrices.ipynb#Attention-against-recurrence).

# %% [markdown]
# ## Lesson 05: Positional encoding
#
# ### Why not one number for the position?
#
# Because the number would drown out the word. Add 300 to every entry, and *dog* and *cat* at position 300 have
# practically equal vectors. You could divide the position by the length of the sentence to keep it small, but then one
# step to the right would mean a different amount in every sentence. Sinusoids avoid both problems. Their entries stay
# between −1 and 1, and one step to the right is always the same rotation, wherever you start.
#
# **Shown in** [lesson 05, From numbers to waves](05_positional_encoding.ipynb#2.-From-numbers-to-waves).
#
# ### Why a sine *and* a cosine?
#
# A sine alone takes every value twice per turn, once on the way up and once on the way down, so the value doesn't tell
# you where on the wave you are. A sine and a cosine together are a point on a circle, like the tip of a clock's hand.
# Moving on by $k$ positions turns the hand by a fixed angle wherever you start, which a single matrix can do. With the
# sine alone there's no such matrix, because $\sin(a + b)$ depends on $\cos a$ as well.
#
# **Shown in** [lesson 05, Moving is rotating](05_positional_encoding.ipynb#3.-Moving-is-rotating).
#
# ### Is it concatenated or added?
#
# It's added, so the width doesn't change. But adding and concatenating are closer than they look. The next step
# multiplies the vector by a matrix. Applied to a concatenation, that matrix computes a sum as well, because its upper
# rows act on the word and its lower rows on the position. The one difference is that the position then has rows of its
# own. Lesson 05 measures how much they help, and how much width they cost.

# %%
word, position = torch.randn(1, 6), torch.randn(1, 2)
w = torch.randn(8, 3)
concatenated = torch.cat([word, position], dim=-1) @ w
added = word @ w[:6] + position @ w[6:]
print("the same result:", torch.allclose(concatenated, added, atol=1e-5))

# %% tags=["hide-input"]
torch.testing.assert_close(concatenated, added, atol=1e-5, rtol=1e-5)

# %% [markdown]
# **Shown in** [lesson 05, Is it added or concatenated?](05_positional_encoding.ipynb#Is-it-added-or-concatenated?).
#
# ### Doesn't adding the position destroy the word?
#
# It would if vectors had only a few entries. In wide vectors, random directions are almost at right angles, so a
# linear map can separate word and position again. At width 512 it nearly always finds the word. At width 64 a *linear*
# map often fails, but nothing is lost even there. If you compare a sum with every possible sum of a word and a
# position, the nearest one tells you both.

# %%
words, places = torch.randn(600, 64), sinusoidal_positions(40, 64)
sums = (words[:, None] + places).flatten(0, 1)  # all 24,000 of them, width 64
distances = torch.cdist(sums[::7], sums)
others = distances.scatter(1, torch.arange(0, len(sums), 7)[:, None], math.inf).amin(1)
print(f"the nearest wrong sum is at least {others.min():.1f} away")

# %% tags=["hide-input"]
assert others.min() > 0.3

# %% [markdown]
# **Shown in** [lesson 05, How positions enter the model](05_positional_encoding.ipynb#4.-How-positions-enter-the-model).

# %% [markdown]
# ## Lesson 06: Multi-head attention
#
# ### Eight heads are eight ideas about the same word, right?
#
# Not quite, because heads belong to a layer and not to a word. Each head is a complete attention over the whole
# sentence, with its own three matrices. Every word has a query in every head, so a layer of eight heads computes eight
# maps. Nothing forces these maps to differ. In lesson 06 we switch off the 36 heads of a trained translator one at a
# time, and for most of them the loss hardly changes.

# %%
layer = MultiHeadAttention(d_model=512, n_heads=8)
x = torch.randn(1, 5, 512)  # one sentence of five words
_, weights = layer(x, x, x, need_weights=True)
print("weights (batch, heads, queries, keys):", tuple(weights.shape))

# %% tags=["hide-input"]
assert weights.shape == (1, 8, 5, 5)

# %% [markdown]
# **Shown in** [lesson 06, Does a head matter? Switch it off](06_multi_head_attention.ipynb#5.-Does-a-head-matter?-Switch-it-off).
#
# ### Who decides what a head does?
#
# Training and chance decide. No head is assigned a job. All heads start with different random matrices, and each
# training step changes these in the direction in which the loss falls. The random start matters. Two heads that began
# with equal matrices, including their parts of $W_O$, would see equal gradients at every step and stay identical for
# ever. Here are two such heads:

# %%
twins = MultiHeadAttention(d_model=8, n_heads=2)
with torch.no_grad():
    for projection in (twins.query_proj, twins.key_proj, twins.value_proj):
        projection.weight[4:] = projection.weight[:4]  # the second head becomes a copy
    twins.out_proj.weight[:, 4:] = twins.out_proj.weight[:, :4]

# %% tags=["hide-input"]
optimiser = torch.optim.SGD(twins.parameters(), lr=0.1)
start = twins.query_proj.weight.detach().clone()
for _ in range(20):
    x = torch.randn(4, 5, 8)
    optimiser.zero_grad()
    (twins(x, x, x)[0] - x.flip(1)).pow(2).mean().backward()
    optimiser.step()
assert not torch.allclose(start, twins.query_proj.weight)
same = torch.allclose(*twins.query_proj.weight.chunk(2), atol=1e-6)
print("after 20 training steps the twins are still equal:", same)
assert same

# %% [markdown]
# **Shown in** [lesson 06, What do trained heads do?](06_multi_head_attention.ipynb#4.-What-do-trained-heads-do?).
#
# ### Does the attention map show why the model said that?
#
# Not by itself. The map shows where the weight went, which is only a hypothesis about what the model used. To test it,
# switch the head off and see what changes. Lesson 06 does that with a head whose map reads like a dictionary, and
# finds that the translator does just as well without it. On the other hand, switching off the sharpest head of all
# raises the loss most. Jain and Wallace (2019) and Wiegreffe and Pinter (2019) are worth reading as a pair, because
# their titles contradict each other. Both papers studied attention on top of recurrent encoders.
#
# **Shown in** [lesson 06, Does a head matter? Switch it off](06_multi_head_attention.ipynb#5.-Does-a-head-matter?-Switch-it-off).

# %% [markdown]
# ## Lesson 07: Encoder and decoder
#
# ### What's left for the feed-forward network, once attention has mixed everything?
#
# Attention moves information between positions, but it can only mix values, each with its weight. The feed-forward
# network then works on each position by itself. Thanks to its ReLU, it can compute things that no weighted sum can.
# It's also the larger part, with two thirds of an encoder layer's parameters.

# %%
layer = EncoderLayer(d_model=512, n_heads=8, d_ff=2048, dropout=0.0, norm_first=False)
for part in ("self_attention", "feed_forward"):
    size = sum(p.numel() for p in getattr(layer, part).parameters())
    print(f"{part:>14}: {size:>9,} parameters")

# %% tags=["hide-input"]
total = sum(p.numel() for p in layer.parameters())
assert 0.6 < size / total < 0.7

# %% [markdown]
# **Shown in** [lesson 07, What happens after attention?](07_encoder_and_decoder.ipynb#3.-What-happens-after-attention?).
#
# ### Why is x added back after every sublayer?
#
# With the residual path, a layer only has to compute a *change*, and everything else in the vector survives. Lesson 07
# shows a stack of attention layers without these paths. After four layers, all words of a sentence have practically
# the same vector. The paths also let the gradient flow back without passing through any sublayer.
#
# **Shown in** [lesson 07, How does a word keep its own information?](07_encoder_and_decoder.ipynb#1.-How-does-a-word-keep-its-own-information?).
#
# ### Why six layers? Why 512?
#
# Because the authors of the paper chose those numbers. No formula tells you the depth, the width and the number of
# heads. They're **hyperparameters**, which people choose by experiment. The paper itself also trains other sizes, and
# the translator in this course has three layers on each side, with four heads in each.
#
# **Shown in** [lesson 07, How deep can a stack be?](07_encoder_and_decoder.ipynb#4.-How-deep-can-a-stack-be?).
#
# ### Does a deep model need layer norm?
#
# It needs vectors of a sensible size, and a norm is one way to get them. In lesson 07 a model of four layers without
# norms is hopeless, unless its output matrices start at a tenth of their usual size. At the same learning rate, the
# model with this careful start learns faster than the model with norms. But norms are more forgiving, because a model
# that has them survives training steps so large that the careful model blows up.
#
# **Shown in** [lesson 07, How deep can a stack be?](07_encoder_and_decoder.ipynb#4.-How-deep-can-a-stack-be?).

# %% [markdown]
# ## Lesson 08: Decoding
#
# ### Why does the decoder need the shift if it has the mask?
#
# Because the mask lets a position attend to *itself*. If input $t$ were the same word as target $t$, the model would
# simply learn to copy it. Lesson 08 tests this with throws of a die, which nobody can predict. Without the shift, the
# loss still falls to 0. A stricter mask wouldn't help, because the residual path carries input $t$ straight to output
# $t$. The shift does help: it makes input $t$ the word *before* target $t$.

# %%
target = ["the", "red", "car", "<eos>"]
inputs = ["<bos>", *target[:-1]]  # shifted right by one
for t in range(4):
    print("allowed to attend to", inputs[: t + 1], "→ predict", target[t])

# %% tags=["hide-input"]
assert all(target[t] not in inputs[: t + 1] for t in range(4))

# %% [markdown]
# **Shown in** [lesson 08, Does the model also learn one token at a time?](08_decoding.ipynb#2.-Does-the-model-also-learn-one-token-at-a-time?).
#
# ### If training handles all positions at once, why does writing take one step per word?
#
# In training you know the whole target, so you have every input from the start. When the model writes, its next input
# is the word it has just chosen, which doesn't exist before the step is done. Otherwise nothing differs: equal
# prefixes lead to equal logits in training and in writing.
#
# A cache of keys and values saves the model from recomputing the prefix at every step. When it writes 128 tokens with
# a cache, the decoder processes 128 positions instead of 8,256. It still takes 128 steps.
#
# **Shown in** [lesson 08, Isn't one pass per token terribly slow?](08_decoding.ipynb#5.-Isn't-one-pass-per-token-terribly-slow?).
#
# ### Is the likeliest sentence the best one?
#
# Not necessarily. In lesson 08 our translator assigns a higher probability to people who wait "in a large train" than
# to people who wait "in a large train station". One reason is that every additional token multiplies the probability
# by a number below 1, so short sentences have an advantage that has nothing to do with quality. That's why beam search
# uses a length penalty. For a translation you'd still stay close to the likeliest sentence. For a story you'd rather
# sample, because the likeliest continuation is the same every time.
#
# **Shown in** [lesson 08, Can we take back a choice?](08_decoding.ipynb#3.-Can-we-take-back-a-choice?).

# %% [markdown]
# ## Lesson 09: Loss and training
#
# ### My loss is 2.3. Is that good?
#
# It depends on what you compare it with. A model that assigns every token the same probability has a loss of $\log V$.
# One that has learned only how frequent each token is has a loss equal to the unigram entropy. If 2.3 is below both,
# the model has learned to use the words it reads. As a perplexity, 2.3 is about 10, so the model is as unsure as if it
# chose among ten equally likely tokens.
#
# But first make sure that padding isn't counted. In lesson 09, a loss of 1.8 looks good until you leave the padding
# out. On the real words it's 3.7.
#
# **Shown in** [lesson 09, Is 1.8 a good loss?](09_loss_and_training.ipynb#2.-Is-1.8-a-good-loss?).
#
# ### Label smoothing teaches wrong answers. Why would anyone want that?
#
# Because it stops the model from becoming overconfident. No finite logits make a probability exactly 1, so without
# smoothing the model is rewarded for becoming ever more certain. A smoothed target asks for about 0.9 and spreads
# the rest evenly. Smoothing also changes what counts as a good loss. With 37,000 tokens and a smoothing of 0.1, even
# a perfect model has a loss of 1.38. The paper reports that smoothing makes the perplexity worse and BLEU better.
#
# **Shown in** [lesson 09, What did the paper add?](09_loss_and_training.ipynb#5.-What-did-the-paper-add?).
#
# ### Why does the learning rate start low?
#
# In some models it has to. Lesson 09 trains a small post-norm model at the paper's rate. If the rate rises slowly, the
# model learns. Without that slow rise, none of three runs learns more than the frequencies of the words. *Why* is
# still debated. One suspect is Adam, whose estimate of a gradient's size rests on few batches at first. Another is the
# last layers of a fresh post-norm model, whose gradients are large (Xiong et al. 2020), although Liu et al. (2020)
# dispute that these are the cause.
#
# **Shown in** [lesson 09, What did the paper add?](09_loss_and_training.ipynb#5.-What-did-the-paper-add?) and [lesson
# 07, The gradient, layer by layer](07_encoder_and_decoder.ipynb#The-gradient,-layer-by-layer).

# %% [markdown]
# ## Lesson 10: Build a Transformer
#
# ### The shapes fit and it runs. Is it right?
#
# You don't know yet. If you forget the square root, count positions from 1, or split the heads without a transpose,
# every shape still fits and the model even learns something. To find out, compare each part with one you trust, on the
# same weights and the same input. Then test properties, such as "an output doesn't change when a later word changes".

# %%
x = torch.arange(12.0).view(1, 3, 4)  # (B=1, T=3, D=4), to be split into H=2 heads
right = x.unflatten(-1, (2, 2)).transpose(1, 2)
wrong = x.view(1, 2, 3, 2)
print(tuple(right.shape), tuple(wrong.shape), "equal:", torch.equal(right, wrong))

# %% tags=["hide-input"]
assert right.shape == wrong.shape and not torch.equal(right, wrong)

# %% [markdown]
# **Shown in** [lesson 10, Break it](10_build_a_transformer.ipynb#8.-Break-it).
#
# ### Is GPT still a Transformer if it has no encoder?
#
# Yes. A Transformer is a stack of attention and feed-forward layers with residual connections over a sequence of
# vectors. It can be an encoder, a decoder or both. BERT is only an encoder, and GPT only a decoder. With no source to
# read, GPT has no use for cross-attention, so each of its layers is masked self-attention and a feed-forward network.
#
# **Shown in** [lesson 00, What did you just see?](00_start_here.ipynb#What-did-you-just-see?).

# %% [markdown]
# ## Lessons 11 to 13: tokenizers, BERT, reading
#
# ### Why not simply use words, or letters?
#
# There are too many words. Any list misses names, typing errors and half of the German language. Letters are few, but
# they make every text several times as long, which makes attention more expensive. Pieces are the compromise. Frequent
# words stay whole, rare ones are cut, and with bytes as the last resort nothing is unknown.
#
# **Shown in** [lesson 11, Words or letters?](11_tokenizers.ipynb#1.-Words-or-letters?).
#
# ### Why can't BERT write?
#
# Because it was trained to fill gaps by looking at both sides, while a writer has only the left side. You could append
# a [MASK] and ask for the last word, but BERT has hardly ever seen a sentence that breaks off in the middle. Gap filling
# as such doesn't rule out writing. LLaDA (Nie et al. 2025) was trained with any share of the tokens hidden, up to all
# of them. It writes by starting from a row of masks and filling in a few at a time.
#
# **Shown in** [lesson 12, How do you train a model that only reads?](12_bert.ipynb#1.-How-do-you-train-a-model-that-only-reads?).
#
# ### Is retrieval just attention over documents?
#
# In outline, yes. The question is a query, each paragraph has a key, and the paragraph's text is the value that comes
# back. But retrieval picks the best few paragraphs and drops the rest, while attention mixes everything. No gradient
# passes through such a choice, which is why lesson 13 trains its finder and its reader separately.
#
# **Shown in** [lesson 13, Which of 110 paragraphs?](13_find_and_point.ipynb#1.-Which-of-110-paragraphs?).
#
# ## Lessons 14 to 16: GPT, pictures, long context
#
# ### How can predicting the next token answer questions?
#
# Write the task as a text whose continuation is the answer. To predict such texts well, a model has to get the task
# right. How much of that it learns depends on what it has read. Lesson 14 measures it on a model that has read nothing
# but stories.
#
# **Shown in** [lesson 14, How does a GPT write, and what can it do?](14_gpt.ipynb#5.-How-does-a-GPT-write,-and-what-can-it-do?).
#
# ### What's the token of a picture?
#
# It's a square patch, flattened and multiplied by one matrix. From there on the encoder is that of lesson 07. Nothing
# in that encoder says that a picture has two dimensions. The model learns this along with its positions.
#
# **Shown in** [lesson 15, What are the words of a picture?](15_vision_transformer.ipynb#1.-What-are-the-words-of-a-picture?).
#
# ### Does FlashAttention approximate attention?
#
# No, it computes attention exactly, only in another order. It goes through the keys tile by tile and never stores the
# whole matrix of weights, which saves memory and the time to move it. Windows and linear attention are different,
# because they compute something else.
#
# **Shown in** [lesson 16, Do we have to store the weights?](16_long_context.ipynb#3.-Do-we-have-to-store-the-weights?).
#
# ## Lessons 17 and 18: music, assistants
#
# ### The test accuracy is high. Why is the model useless?
#
# Look at what the test asks. If pieces of one performance are on both sides of the split, the test asks in part
# whether the model has heard the performance before. Split by whatever will be new when the model is used.
#
# **Shown in** [lesson 17, What is the test asking?](17_hear_the_genre.ipynb#5.-What-is-the-test-asking?).
#
# ### Does a chat model know who is speaking?
#
# Only because the text says so. The model reads one long text in which special marks say whose turn it is, and it was
# trained on texts with just these marks. Leave them out, and it goes back to what it did before that training, which
# is to continue your text.
#
# **Shown in** [lesson 18, Whose turn is it?](18_from_gpt_to_assistant.ipynb#1.-Whose-turn-is-it?).
#
# ## Lessons 19 and 20, and what comes after
#
# ### Is a language model of today still the Transformer of 2017?
#
# In outline, yes. It still has embeddings, then layers of attention and feed-forward networks with residual paths and
# norms. What has changed is inside these parts. The norms subtract no mean, the feed-forward network has a gate,
# queries and keys are rotated, and several heads share their keys and values. Lesson 19 puts these changes into your
# own file one after the other. The loss tells you when something is still missing.
#
# **Shown in** [lesson 19, Today's weights, yesterday's parts](19_a_real_model.ipynb#2.-Today's-weights,-yesterday's-parts).
#
# ### How can a model answer without having been trained on my task?
#
# Through examples in its input. A model that has learned to continue texts also continues a list of examples, without
# changing a single weight. How well that works depends on the model. Lesson 14's story writer can hardly do it, while
# lesson 19's model can.
#
# **Shown in** [lesson 19, Examples in the input](19_a_real_model.ipynb#6.-Examples-in-the-input).
#
# ### How can I find out where a model keeps a fact?
#
# Run the model on two sentences that differ in one word. Then copy a single vector from one run into the other and see
# whether the answer changes. In lesson 20 the capital depends on the country's vector until layer 23, where one head
# brings most of it to the last word. Even that head isn't *the* place of the fact, because other heads cover for it.
#
# **Shown in** [lesson 20, Where is Paris until then?](20_look_inside.ipynb#4.-Where-is-Paris-until-then?).
#
# ### My model runs, trains and writes rubbish. Where do I look?
#
# Not at the loss. Ask what each output depends on: change one token and see which outputs change. A leak, an unused
# mask and a mixed-up batch all show in that one experiment. The first module whose output changes when it shouldn't is
# the place to look.
#
# **Shown in** [page 96, Three probes](96_the_clinic.ipynb#1.-Three-probes).

# %% [markdown]
# ## Credits
#
# Several examples in this course come from other people.
#
# - *je suis étudiant*, the six steps for one word and the six-word vocabulary with its target distributions
#   are Jay Alammar's.
# - A noun that collects its adjectives is the motivating example of 3Blue1Brown's video on attention.
# - The animal that didn't cross the street is from the blog post with which Google announced the Transformer
#   (Uszkoreit 2017). Pairs of sentences in which one word decides what *it* means are called Winograd schemas
#   (Levesque, Davis and Morgenstern 2012).
# - Lesson 03 introduces self-attention without any parameters before queries and keys, as Peter Bloem does in
#   "Transformers from scratch". Mary, Susan and the roses in lesson 06 follow an example there.
# - The end of each lesson lists the papers that its experiments follow.
#
# ## Further reading
#
# - Jay Alammar, [The Illustrated Transformer](https://jalammar.github.io/illustrated-transformer/): has the
#   pictures that most people remember, and is the quickest way to *see* how data flows through the model.
# - Sasha Rush and others, [The Annotated Transformer](https://nlp.seas.harvard.edu/annotated-transformer/): the
#   paper's own text with running code beside it, best for reading the paper line by line.
# - Peter Bloem, [Transformers from scratch](https://peterbloem.nl/blog/transformers): the clearest path from
#   a dot product to a working model in plain steps, with reasons for each.
# - Elena Voita, [NLP Course For You](https://lena-voita.github.io/nlp_course.html): interactive and beautifully drawn,
#   best for seeing what a trained model has learned.
# - Andrej Karpathy, "Let's build GPT: from scratch, in code, spelled out" (video, 2023): a two-hour video in
#   which he types a GPT into an empty file, best for seeing how an expert works.
# - Stanford's [CS224n](https://web.stanford.edu/class/cs224n/): a whole university course with assignments,
#   best for the language processing around the model.
# - Zhang, Lipton, Li and Smola, [Dive into Deep Learning](https://d2l.ai): a book in which every chapter is a
#   notebook you can run, best as a reference that also covers everything before attention.
# - Sebastian Raschka, *Build a Large Language Model (From Scratch)* (2024): best for what comes after this
#   course, from pretraining to fine-tuning on instructions.
# - Stanford's [CS336](https://cs336.stanford.edu/) by Tatsunori Hashimoto and Percy Liang, "Language Modeling from
#   Scratch" (2026): far more code to write than here, best when you want to train one at scale.
# - Jurafsky and Martin, [Speech and Language Processing](https://web.stanford.edu/~jurafsky/slp3/) (third edition, a
#   draft that is still being revised): the textbook of the field, best for definitions, history and sources.
# - Mary Phuong and Marcus Hutter, [Formal Algorithms for Transformers](https://arxiv.org/abs/2207.09238) (2022): every
#   part as precise pseudocode, best for settling an argument.
# - 3Blue1Brown, the videos on attention and Transformers (2024): the best half hour for somebody who has
#   never heard of any of this.
# - Lilian Weng, [Lil'Log](https://lilianweng.github.io/), "The Transformer Family Version 2.0" (2023): best for an
#   overview of everything that people have changed since 2017.
# - Simon Prince, [Understanding Deep Learning](https://udlbook.github.io/udlbook/) (2023): a textbook with beautiful
#   figures, best for the mathematics around this course.
# - Nelson Elhage and others, [A Mathematical Framework for Transformer
#   Circuits](https://transformer-circuits.pub/2021/framework/index.html) (2021): the residual stream and its heads,
#   best before you look inside a model of your own.
# - Sebastian Raschka, [The Big LLM Architecture
#   Comparison](https://magazine.sebastianraschka.com/p/the-big-llm-architecture-comparison) (2025): the open models of
#   the day side by side, best after lesson 16.
# - Catherine Olsson and others, [In-context Learning and Induction
#   Heads](https://transformer-circuits.pub/2022/in-context-learning-and-induction-heads/index.html) (2022): how examples
#   in the input come to work, best after lessons 14 and 19.
# - Hugging Face, "The Smol Training Playbook" (2025): how the makers of lesson 19's family of models decide what to
#   train on and what to change, failures included.
# - Andrej Karpathy, [nanochat](https://github.com/karpathy/nanochat) (2025): everything from a tokenizer to a chat
#   in a few thousand lines, best as a next project.
# - Nathan Lambert, [Reinforcement Learning from Human Feedback](https://rlhfbook.com/) (2026): preferences, rewards and
#   what goes wrong with them, best after lesson 18.
#
# Models change faster than this page does. To keep up, read the technical report of an open model that was released
# this year, with lesson 95 beside it.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762.
# - Bahdanau, Cho, Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and Translate",
#   arXiv:1409.0473.
# - Luong, Pham, Manning (2015), arXiv:1508.04025. Xu et al. (2015), arXiv:1502.03044.
# - Jain, Wallace (2019), arXiv:1902.10186. Wiegreffe, Pinter (2019), arXiv:1908.04626.
# - Xiong et al. (2020), arXiv:2002.04745. Liu et al. (2020), arXiv:2004.08249.
# - Nie et al. (2025), "Large Language Diffusion Models", arXiv:2502.09992.
# - Levesque, Davis, Morgenstern (2012), "The Winograd Schema Challenge", KR.
