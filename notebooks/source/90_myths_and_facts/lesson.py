# %% [markdown]
# # Myths and facts
#
# *"The context is the sum of the weights." "Heads are concatenated, and that's it." "With a causal mask you don't
# need the shift."* You'll meet such sentences in lecture notes, talks and posts, and they sound right. Every one on
# this page is wrong, or at best half right. Many come with a short experiment that shows why, others with a link to a
# lesson that runs one.
#
# You can look something up here, or play the page as a game. One of you reads a sentence aloud, and the others have
# to think of an *experiment* that would decide whether it's true. The game takes about **45 minutes**.

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from helpers import exercises
from helpers.transformer import attention
from helpers.training.batches import pad_batch
from helpers.data.captions import CAPTIONS
from helpers.transformer.layers import DecoderLayer, EncoderLayer, FeedForward
from helpers.models.patterns import window_attention, window_mask
from helpers.transformer.positions import sinusoidal_positions
from helpers.pretrained import toy_models
from helpers.pretrained.measured import measured
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator

notebook.set_seed(0)
translator = load_translator()
model = translator.model
src_ids = translator.encode([CAPTIONS[0][0]])  # a French caption
english = torch.tensor([translator.tokenizer.encode(CAPTIONS[0][1], bos=True, eos=True)])

# %% [markdown] tags=["notes"]
# **With a class**: pick five of the sentences, about eight minutes each. Numbers 10, 17, 19, 30 and 36 start
# the best arguments. Read them aloud with the projector off, because the verdict is right beside each sentence.
# **If you're running late**, three sentences are enough.

# %% [markdown]
# ## Lessons 00 and 01
#
# **1 · "The paper translated from French to English."** It translated from English, once to German and once to French
# (Vaswani et al. 2017, section 5.1). It's the translator in this course that goes from French to English.
#
# **2 · "A Transformer is a CNN plus attention."** A Transformer has no convolution over positions. The paper does say
# that its feed-forward network can be *described* as two convolutions of kernel size 1. But a kernel of size 1 covers
# a single position:

# %%
layer = FeedForward(8, 32)
x = torch.randn(1, 5, 8)
changed = x.clone()
changed[0, 2] += 1
moved = (layer(x) - layer(changed)).abs().sum(-1)[0] > 1e-6
print("positions that change when position 2 does:", moved.nonzero().flatten().tolist())

# %% tags=["hide-input"]
assert moved.tolist() == [False, False, True, False, False]
assert not any("Conv" in type(part).__name__ for part in model.modules())

# %% [markdown]
# **3 · "Attention reduces the distance to a logarithm."** Dilated convolutions do that. With attention, any two words
# are one step apart, however long the sentence is. [Lesson
# 01](01_sequence_to_sequence.ipynb#An-alternative-to-the-loop:-convolutions) measures both.
#
# **4 · "A model writes one word for each word it reads."** It writes one token per *output* position, and the
# two sentences often differ in length. [Lesson 08](08_decoding.ipynb#Myth-or-fact?) counts how often.
#
# ## Lesson 02: Bahdanau attention
#
# **5 · "Bahdanau's score depends on the decoder alone."** It depends on the decoder's state *and* on an encoder
# state. [Lesson 02](02_bahdanau_attention.ipynb#1.-Which-word-do-I-need-now?) leaves out one and then the other to
# show what breaks.
#
# **6 · "All encoder states are fed into the score network together."** The score network takes one pair at a time,
# the decoder's state and one encoder state, so the score of one state doesn't depend on the others. Only the softmax
# sees all the scores.

# %%
score = exercises.reference("additive_scores")
state, states = torch.randn(1, 4), torch.randn(1, 6, 4)  # six source words
w, u, v = torch.randn(4, 3), torch.randn(4, 3), torch.randn(3)
together, alone = score(state, states, w, u, v), score(state, states[:, 2:3], w, u, v)
print(f"score of the third word: {together[0, 2]:.3f} among six, {alone[0, 0]:.3f} alone")

# %% tags=["hide-input"]
torch.testing.assert_close(together[0, 2], alone[0, 0])

# %% [markdown]
# **7 · "The softmaxed weights are called scores."** Scores go *into* the softmax and can be any numbers. What comes
# out are weights, which are positive and sum to 1.

# %%
weights = together.softmax(dim=-1)
print("scores: ", [round(s, 2) for s in together[0].tolist()])
print("weights:", [round(x, 2) for x in weights[0].tolist()])

# %% tags=["hide-input"]
assert together.min() < 0 < weights.min() and math.isclose(weights.sum(), 1, abs_tol=1e-6)
assert not math.isclose(together.sum(), 1, abs_tol=1e-3)

# %% [markdown]
# **8 · "The context is the sum of the weights."** The sum of the weights is always 1, a number. The context is a
# vector, because it's the sum of the *weighted states*.

# %%
context = (weights[0, :, None] * states[0]).sum(dim=0)
print(f"sum of the weights {weights.sum():.2f}, shape of the context {tuple(context.shape)}")

# %% tags=["hide-input"]
torch.testing.assert_close(context, weights[0] @ states[0])

# %% [markdown]
# **9 · "Hard attention can't be learned."** Backpropagation alone can't do it, because a choice has no gradient
# ([lesson 02](02_bahdanau_attention.ipynb#Hard-attention)). But hard attention can be learned by trial and reward.
# Here REINFORCE, a method of this kind, learns to pick one of four words. Its only feedback is how good the pick was.

# %%
logits = torch.zeros(4, requires_grad=True)  # one score per word
reward = torch.tensor([0.0, 0.2, 1.0, 0.4])  # the third word is the useful one
optimiser = torch.optim.Adam([logits], lr=0.05)
for _ in range(400):
    choice = torch.distributions.Categorical(logits=logits)
    picked = choice.sample()  # hard: one word, no mixture
    loss = -choice.log_prob(picked) * (reward[picked] - 0.4)  # 0.4 is the average reward
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

# %% tags=["hide-input"]
print(f"it now picks the useful word with a probability above 0.9: {bool(choice.probs[2] > 0.9)}")
assert choice.probs[2] > 0.9

# %% [markdown]
# **10 · "Attention solved the parallelism problem of recurrent networks."** Dropping the recurrence solved it. To see
# this, block all attention to other words and check whether the last step still depends on the first word. In the
# recurrent decoder it does, because each step needs the one before. In a Transformer layer it doesn't.

# %%
rnn = toy_models.load_toy("additive").model
words = rnn.decoder.embedding(torch.tensor([[4, 5, 6, 7]])).detach().requires_grad_()
no_context = torch.zeros(1, 4, rnn.config.d_hidden)
rnn.decoder.rnn(torch.cat([words, no_context], -1))[0][0, -1].sum().backward()
x = torch.randn(1, 4, 16, requires_grad=True)
only_itself = torch.eye(4, dtype=torch.bool)
EncoderLayer(16, 4, 32, 0.0, True)(x, only_itself)[0, -1].sum().backward()
for name, gradient in (("recurrent", words.grad), ("Transformer", x.grad)):
    print(f"{name}: the last step depends on the first word:", bool(gradient[0, 0].any()))

# %% tags=["hide-input"]
assert words.grad[0, 0].any() and not x.grad[0, 0].any()

# %% [markdown]
# ## Lesson 03: Self-attention with vectors
#
# **11 · "The softmax weights multiply the keys."** The weights multiply the values, which can even have a
# different width from the keys.

# %%
query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 7)
context, weights = attention.scaled_dot_product_attention(query, key, value)
print("keys", tuple(key.shape), "values", tuple(value.shape), "context", tuple(context.shape))

# %% tags=["hide-input"]
torch.testing.assert_close(context, weights @ value)

# %% [markdown]
# **12 · "Query, key and value are the input vectors, and V is the initial representation."** They're three learned
# projections of the input. The input itself plays all three parts only in the version without parameters. [Lesson
# 03](03_self_attention_vectors.ipynb#Why-three-projections,-and-why-small-ones?) says what you lose if two of the
# three share a matrix.
#
# **13 · "A word's own score is always the highest."** Without matrices that's nearly true. With trained ones it
# isn't. In MiniLM a token assigns itself about a twentieth of its weight, about as much as the other words on
# average. [Lesson 03](03_self_attention_vectors.ipynb#Without-matrices,-a-word-looks-at-itself) measures both.
#
# **14 · "Input embeddings come from word2vec."** They're trained together with the rest of the model, like any other
# parameter. You *can* start from word2vec's vectors, but the paper doesn't. Here every embedding matrix of our
# translator receives a gradient:

# %%
logits = model(src_ids, english[:, :-1])
F.cross_entropy(logits[0], english[0, 1:]).backward()
embeddings = [p for name, p in model.named_parameters() if "embedding" in name]
print("every embedding matrix gets a gradient:", all(p.grad.any() for p in embeddings))

# %% tags=["hide-input"]
assert embeddings and all(p.grad.any() for p in embeddings)
model.zero_grad()

# %% [markdown]
# ## Lesson 04: Self-attention with matrices
#
# **15 · "Scores are divided by $\sqrt{d_{model}}$."** They're divided by $\sqrt{d_k}$, where $d_k$ is the
# width of one head's keys.

# %%
heads, x = attention.MultiHeadAttention(8, 2), torch.randn(1, 3, 8)  # 2 heads, each 4 wide
with torch.no_grad():
    q, (k, _) = heads.project_query(x), heads.project_key_value(x, x)
    weights = heads(x, x, x, need_weights=True)[1]
for divisor in (4, 8):
    equal = torch.allclose(weights, (q @ k.mT / math.sqrt(divisor)).softmax(-1), atol=1e-6)
    print(f"the layer's weights are those with √{divisor}:", equal)

# %% tags=["hide-input"]
torch.testing.assert_close(weights, (q @ k.mT / math.sqrt(4)).softmax(-1))
assert not equal

# %% [markdown]
# **16 · "The softmax gradient never vanishes."** It nearly does in any row where one score is far above the others,
# and large scores make such rows common. Scaling prevents that at the start of training. Later a model can make its
# scores large by itself, which is why some newer ones normalise queries and keys as well.
# [Lesson 04](04_self_attention_matrices.ipynb#Which-part-saturates?) prints the gradient.
#
# **17 · "Masking sets weights to minus infinity, or to zero afterwards."** *Scores* are set to −∞ *before* the
# softmax. If you set weights to zero afterwards, the future leaks in through the denominator, as
# [lesson 04](04_self_attention_matrices.ipynb#3.-Who-is-allowed-to-attend-to-whom?) shows.
#
# **18 · "A mask's `True` means the same everywhere."** PyTorch's own two attention functions disagree. [Lesson
# 04](04_self_attention_matrices.ipynb#Two-interfaces-in-PyTorch) passes one of them the mask of the other.
#
# **19 · "A fully masked row does no harm."** If all its scores are −∞, the softmax computes 0/0, and a single `nan`
# spoils every weight of the model at the next training step. With −1e9 instead, the row silently becomes uniform.
# [Lesson 04](04_self_attention_matrices.ipynb#A-word-that-isn't-allowed-to-attend-to-anything) runs three versions.
#
# **20 · "Attention is cheaper than recurrence."** Cheaper than which recurrent layer? If you count all matrix
# products, attention needs fewer multiplications than a GRU below $n = d$ words, and fewer than an LSTM below
# $n = 2d$. A plain recurrent layer always needs fewer than attention. What makes attention *faster* is that no
# position has to wait for another. [Lesson 04](04_self_attention_matrices.ipynb#Attention-against-recurrence) counts.
#
# **21 · "The softmax runs over columns", "the formula is softmax($Q^\top K$) V".** The softmax runs over the *keys*,
# once per query. Authors who write words as columns transpose everything, so their softmax runs down a column and
# their result is right. It's wrong only if you mix the two conventions:

# %%
q, k, v = torch.randn(3, 5, 4).unbind(0)  # five words as rows
rows = (q @ k.T).softmax(dim=-1) @ v
columns = v.T @ (k @ q.T).softmax(dim=0)  # the same with words as columns
mixed = (q @ k.T).softmax(dim=0) @ v
print("columns, transposed, equal rows:", torch.allclose(columns.T, rows, atol=1e-5))
print("words as rows, softmax over columns, equals rows:", torch.allclose(mixed, rows, atol=1e-5))

# %% tags=["hide-input"]
torch.testing.assert_close(columns.T, rows, atol=1e-5, rtol=1e-5)
assert not torch.allclose(mixed, rows, atol=1e-2)

# %% [markdown]
# ## Lesson 05: Positional encoding
#
# **22 · "Positions are concatenated, or read off the batch axis."** In the Transformer of 2017, in BERT and in GPT-2
# they're added, along the sequence. The width doesn't change, and every sentence of a batch has the same positions.
# Most newer models add nothing and rotate queries and keys instead. Lesson 05 tries
# [concatenation](05_positional_encoding.ipynb#Is-it-added-or-concatenated?), and its
# [bug](05_positional_encoding.ipynb#4.-How-positions-enter-the-model) adds along the wrong axis.
#
# **23 · "BERT uses sinusoids."** Its positions are a learned table, and
# [lesson 05](05_positional_encoding.ipynb#Myth-or-fact?) shows how you can tell.
#
# **24 · "The frequencies of the sinusoids increase, like overtones."** They *fall*, from fast waves to slow ones, and
# each frequency is a fixed multiple of the one before. Overtones would be 1, 2, 3, 4 times a base frequency. Don't
# trust every picture of the table, either. [Lesson
# 05](05_positional_encoding.ipynb#A-figure-that-contradicts-its-formula) checks a famous one against the formula
# beside it.

# %%
d_model = 512
wavelengths = 2 * math.pi * 10000.0 ** (torch.arange(0, d_model, 2) / d_model)
print(f"first {wavelengths[0]:.2f}, last {wavelengths[-1]:,.0f} positions per turn")
print("the same factor all the way:", bool((wavelengths[1:] / wavelengths[:-1]).std() < 1e-4))

# %% tags=["hide-input"]
table = sinusoidal_positions(8, d_model)
for i in (0, 1, 255):
    assert torch.allclose(
        table[:, 2 * i], (2 * math.pi * torch.arange(8.0) / wavelengths[i]).sin(), atol=1e-5
    )
assert (wavelengths[1:] / wavelengths[:-1]).std() < 1e-4
assert wavelengths[-1] < 10000 * 2 * math.pi < 1.05 * wavelengths[-1]

# %% [markdown]
# **25 · "Every input is as long as the longest sentence of the training set."** A batch is padded only to *its own*
# longest sentence. If there's a limit to the length, it comes from a learned table of positions or from the machine's
# memory.

# %%
short_batch = [([5, 8], [1, 7, 2]), ([5, 8, 6], [1, 7, 9, 2])]
long_batch = [([5] * 40, [1] + [7] * 30), ([5, 8], [1, 7, 2])]
for batch in (short_batch, long_batch):
    print("sources", tuple(pad_batch(batch)[0].shape))

# %% tags=["hide-input"]
assert [pad_batch(batch)[0].shape[1] for batch in (short_batch, long_batch)] == [3, 40]

# %% [markdown]
# ## Lesson 06: Multi-head attention
#
# **26 · "$W_O$ is 512 × 64, so the layer's output is $T$ × 64."** $W_O$ is 512 × 512, and the output is $T$ × 512.
# The matrices of 512 × 64 are the $W_Q$, $W_K$ and $W_V$ of *one head*.

# %%
heads = attention.MultiHeadAttention(512, 8)
output, _ = heads(*[torch.randn(1, 2, 512)] * 3)
print("W_O", tuple(heads.out_proj.weight.shape), "output", tuple(output.shape))

# %% tags=["hide-input"]
assert heads.out_proj.weight.shape == (512, 512) and output.shape == (1, 2, 512)

# %% [markdown]
# **27 · "Each head sees a slice of the embedding."** We split the *projections*, not the embedding, and each head projects
# the whole vector. The first head's query depends on every entry:

# %%
heads = attention.MultiHeadAttention(8, 2)
x = torch.randn(1, 1, 8, requires_grad=True)
heads.project_query(x)[0, 0].sum().backward()  # the query of the first head
print("entries that matter to the first head:", int((x.grad != 0).sum()), "of 8")

# %% tags=["hide-input"]
assert (x.grad != 0).all()

# %% [markdown]
# **28 · "The heads' outputs are concatenated, and that's it."** They're concatenated and *then* mixed by $W_O$. You
# can also multiply each head by its own rows of $W_O$ and add up the results, which comes to the same thing. "The
# heads are added" is therefore right, too, if you add *after* that projection. Without $W_O$, a head's output could
# reach only its own entries of the vector. To see this, we change the output of the first of two heads. Which of the
# eight entries of the layer's output change?

# %%
x, moves = torch.randn(1, 3, 8), {}
for name, w_o in (("without W_O", nn.Identity()), ("with W_O", heads.out_proj)):
    heads.out_proj = w_o
    before = heads(x, x, x)[0]
    with torch.no_grad():
        heads.value_proj.weight[:4] += 1  # the value projection of the first head
    moved = (heads(x, x, x)[0] - before).abs().sum(dim=(0, 1)) > 1e-6
    moves[name] = moved.nonzero().flatten().tolist()
print(moves)

# %% tags=["hide-input"]
assert moves == {"without W_O": [0, 1, 2, 3], "with W_O": list(range(8))}

# %% [markdown]
# **29 · "More heads, more parameters."** With $d_k = D / H$, more heads are narrower heads, and the total doesn't
# change. A layer has three projections of $D \times D$ and a $W_O$ of $D \times D$, whether it has one head or
# sixteen.
#
# **30 · "An attention map explains the prediction."** It describes where the weight went. To test what the model
# uses, you have to intervene. Here we silence the head with the sharpest map in each layer's cross-attention, one
# layer at a time, to see how far the loss moves.


# %%
def loss():
    with torch.inference_mode():
        return F.cross_entropy(model(src_ids, english[:, :-1])[0], english[0, 1:]).item()


costs = []
for layer, per_head in zip(
    model.decoder_layers, translator.attend(CAPTIONS[0][0]).maps["cross"][0]
):
    sharpest = per_head.amax(-1).mean(-1).argmax().item()  # largest weight per row, on average
    with attention.heads_off(layer.cross_attention, [sharpest]):
        costs.append(loss())

# %% tags=["nbval-ignore-output", "hide-input"]
whole = loss()
for number, cost in enumerate(costs, start=1):
    print(f"layer {number}: without its sharpest head the loss moves by {abs(cost - whole):.2f}")
assert min(abs(cost - whole) for cost in costs) < 0.1

# %% [markdown]
# At least one of the three hardly matters to the loss, although its map is sharp.
#
# ## Lesson 07: Encoder and decoder
#
# **31 · "Each decoder layer reads its matching encoder layer", "keys and values are made once for all decoder
# layers".** Every decoder layer projects the *final* encoder output with its own matrices.
# [Lesson 07](07_encoder_and_decoder.ipynb#5.-What-does-a-decoder-layer-add?) compares the keys.
#
# **32 · "Cross-attention is the decoder layer's third sublayer."** It's the second: masked self-attention,
# cross-attention, feed-forward. Here a layer reports what it runs, in order.

# %%
layer, order = DecoderLayer(16, 4, 32, 0.0, norm_first=False), []
for name, part in layer.named_children():
    part.register_forward_hook(lambda *_, name=name: order.append(name))
layer(torch.randn(1, 3, 16), torch.randn(1, 5, 16))
print([name for name in order if "residual" not in name])

# %% tags=["hide-input"]
assert [name for name in order if "residual" not in name] == [
    "self_attention",
    "cross_attention",
    "feed_forward",
]

# %% [markdown]
# **33 · "Encoder layers share their weights."** They share their structure, but each layer has weights of its own.
# You could share the weights, too, as ALBERT does (Lan et al. 2020).

# %%
first, second = (layer.feed_forward.linear_1.weight for layer in model.encoder_layers[:2])
print("same shape:", first.shape == second.shape, "· same weights:", torch.equal(first, second))

# %% tags=["hide-input"]
assert first.shape == second.shape and not torch.equal(first, second)

# %% [markdown]
# **34 · "The paper is pre-norm", "in pre-norm the skip path is normalised".** The paper is post-norm: LayerNorm(x +
# Sublayer(x)). Pre-norm is x + Sublayer(LayerNorm(x)), and its skip path carries x itself. If you silence the
# sublayers, a pre-norm layer returns x unchanged:

# %%
x = 3 * torch.randn(1, 5, 16)
for norm_first in (False, True):
    layer = EncoderLayer(16, 4, 32, 0.0, norm_first)
    for name, parameter in layer.named_parameters():
        if "norm" not in name:
            nn.init.zeros_(parameter)
    print("pre-norm: " if norm_first else "post-norm:", "x unchanged:", torch.equal(layer(x), x))

# %% tags=["hide-input"]
assert torch.equal(layer(x), x)

# %% [markdown]
# **35 · "Dropout removes weights."** It sets *activations* to zero, divides the others by $1 - p$, and does
# nothing at all after `eval()`. [Lesson 07](07_encoder_and_decoder.ipynb#Dropout) tries it.
#
# ## Lessons 08 and 09
#
# **36 · "With a causal mask the targets need no shift."** The mask lets position t attend to inputs up to and
# including t. If input t *is* target t, a model that merely copies has a loss of 0.
# [Lesson 08](08_decoding.ipynb#2.-Does-the-model-also-learn-one-token-at-a-time?) trains one, on throws of a die.
#
# **37 · "The final softmax outputs log-probabilities."** It outputs probabilities, and `log_softmax` computes their
# logarithms. The argmax can't tell you which of them you have, because logits, probabilities and log-probabilities
# all have their maximum in one place. The sum can, because only probabilities are bound to sum to 1.
#
# **38 · "The original schedule decays exponentially."** After a linear warm-up, the learning rate falls with the
# inverse square root of the step, so it takes four times as many steps to halve it. [Lesson
# 09](09_loss_and_training.ipynb#The-paper's-schedule) draws it to the end.
#
# ## Lesson 11
#
# **39 · "Byte-pair encoding starts from 256 ASCII characters."** ASCII has only 128. Byte-level BPE starts from
# the 256 *bytes*, so it can write every script.
# [Lesson 11](11_tokenizers.ipynb#2.-Which-pieces-do-we-need?) trains it, and checks that nothing is unknown.

# %% [markdown]
# ## Lesson 12: BERT
#
# **40 · "The pooled output is the [CLS] vector."** A linear layer and a tanh come in between. You can tell by the
# tanh alone, which keeps every entry of the pooled output between −1 and 1. [Lesson
# 12](12_bert.ipynb#2.-How-does-a-review-become-one-vector?) compares both with a third candidate.
#
# **41 · "Write [CLS] in front of your text and [SEP] behind it."** Many people do so in their first notebook. But the
# tokenizer adds both by itself, so the model reads them twice without any complaint.

# %%
minilm = load_minilm()
for text in ("a good film", "[CLS] a good film [SEP]"):
    print(minilm.tokens(text))

# %% tags=["hide-input"]
assert minilm.tokens("[CLS] a good film [SEP]")[:2] == ["[CLS]", "[CLS]"]
with torch.no_grad():
    hidden = minilm.model(minilm.encode(["a good film"]))
    pooled = minilm.pooler(hidden)
assert pooled.abs().max() <= 1 < hidden[:, 0].abs().max()

# %% [markdown]
# ## Lesson 13
#
# **42 · "To find an answer, take the argmax of the starts and of the ends, and cut out what's between."** The two are
# chosen independently, so the end can come before the start. Search for the best valid pair instead. [Lesson
# 13](13_find_and_point.ipynb#2.-Where-in-the-paragraph?) counts how often the argmaxes fail on real questions.
#
# ## Lesson 14
#
# **43 · "GPT is the right half of the paper's figure."** The right half has cross-attention in every layer. A GPT has
# none, because there's no encoder to attend to. Take it away, and what remains has the parts of a *left*-half layer,
# under a causal mask. That's how [lesson 14](14_gpt.ipynb) builds a GPT before comparing it with GPT-2.

# %% [markdown]
# ## Lesson 15
#
# **44 · "A Vision Transformer trained from scratch on few images beats a CNN."** It usually doesn't, unless something
# makes up for the missing data, such as pretraining or heavy augmentation. [Lesson
# 15](15_vision_transformer.ipynb#4.-Is-it-better-than-a-convolution?) trains both on 300, 3,000 and 20,000 pictures,
# with equal numbers of parameters and equal training time.
#
# **45 · "Transformers outperform everything in vision."** It depends on the data and on the recipe. When both were
# trained on a million photos in the ordinary way, Transformers fell behind CNNs. After 300 million photos they were
# ahead (Dosovitskiy et al. 2021, arXiv:2010.11929). Better training recipes later closed the gap with a million
# photos (Touvron et al. 2021, arXiv:2012.12877), and CNNs built with the lessons of Transformers caught up in turn
# (Liu et al. 2022, arXiv:2201.03545).

# %% [markdown]
# ## Lesson 16: Long context
#
# **46 · "All language models are Transformers, and Transformers win everywhere."** Recurrent models and state-space
# models such as Mamba are in use, alone or mixed with attention layers, and causal linear attention *is* a recurrent
# network ([lesson 16](16_long_context.ipynb#4.-What-if-we-moved-the-brackets?)). On the first hundred tokens of a text, LSTMs
# kept up with Transformers (Kaplan et al. 2020, arXiv:2001.08361, figure 7).
#
# **47 · "With a window mask, attention becomes cheaper."** A mask hides scores that have already been computed.
# You only save work if those scores are never computed.

# %%
mask = window_mask(512, 32)
x = torch.randn(1, 1, 512, 16)
calls = {
    "no mask": lambda: attention.scaled_dot_product_attention(x, x, x),
    "window mask": lambda: attention.scaled_dot_product_attention(x, x, x, mask),
    "window attention": lambda: window_attention(x, x, x, 32),
}
counts = {}
for name, call in calls.items():
    with FlopCounterMode(display=False) as counter:
        call()
    counts[name] = counter.get_total_flops() // 2
    print(f"{name:>16}: {counts[name]:>9,} multiplications")

# %% tags=["hide-input"]
assert counts["no mask"] == counts["window mask"] == 8 * counts["window attention"]

# %% [markdown]
# ## Lesson 17
#
# **48 · "A random split tests how well a model generalises."** It does if the examples are independent of each other.
# Windows cut from one performance aren't, so a random split of windows asks in part whether the model has heard the
# performance before. [Lesson 17](17_hear_the_genre.ipynb#5.-What-is-the-test-asking?) measures how much of the
# accuracy remains when whole performances are kept for the test, and then when the test has only drummers that the
# model has never heard.

# %%
scores = measured("genres")["ways"]
for way in ("windows", "performances", "drummers"):
    accuracies = [accuracy for accuracy, _ in scores[way]["encoder"]]
    print(f"{way:>12} drawn: {sum(accuracies) / len(accuracies):.0%} right")

# %% [markdown]
# ## Lesson 18: Assistants
#
# **49 · "DPO makes the better answers likelier."** The loss only asks that the better answer gain more than the worse
# one. Gains of −1 and −3 satisfy it just as well as gains of +3 and +1, and in practice both answers often become
# less likely. In the short training of [lesson 18](18_from_gpt_to_assistant.ipynb#From-a-pair-to-a-loss) you can
# watch both gains.
#
# **50 · "A chat model remembers the conversation."** Its weights don't change while you chat. The whole conversation
# is part of every prompt. A cache only spares the model the work of reading it anew.

# %% [markdown]
# ## Lesson 20: Look inside
#
# **51 · "Heavy attention to the first token means that it's important."** More often it means that a head has nothing
# else to attend to, and that its weight has to go somewhere. If you hide the first token, the second one takes over.
# [Lesson 20](20_look_inside.ipynb#2.-Why-do-so-many-heads-look-at-the-first-word?) shows both.
#
# **52 · "Silence a head, and what gets worse is what the head is for."** Only if silencing other heads does less
# harm, so silence equally many others for comparison. Silence several at once, too, because heads can cover for each
# other.

# %% [markdown]
# **References** are in the lessons. These sources settle most of the arguments: Vaswani et al. (2017),
# arXiv:1706.03762; Bahdanau et al. (2015), arXiv:1409.0473; Xu et al. (2015), arXiv:1502.03044; Jain and
# Wallace (2019), arXiv:1902.10186; Wiegreffe and Pinter (2019), arXiv:1908.04626; Lan et al. (2020),
# "ALBERT", arXiv:1909.11942.
