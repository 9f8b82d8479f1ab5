# %% [markdown]
# # Decoding
#
# Our translator reads *Des gens attendent le train dans une grande gare*. At every step we take the likeliest next
# token, which is the obvious thing to do, and it writes:
#
# > People wait for the train in a large **train**.
#
# A *gare* is a station, and the translation has none. It was a close thing. After *a large train*, the token
# *station* was the second likeliest, beaten only by the full stop. We took the full stop, and that ended the
# sentence.
#
# The model only says how likely each token is. The choice is ours, and in this lesson you'll get a better sentence
# out of this very model without changing a single weight.

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from helpers import exercises, plots
from helpers.transformer import decoding
from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS, PAD
from helpers.training.optimizers import Adam
from helpers.widgets.decoding_explorer import DecodingExplorer
from helpers.widgets.model_map import model_map

translator = load_translator()
model, tokenizer = translator.model, translator.tokenizer
french, references = (list(side) for side in zip(*CAPTIONS, strict=True))
batch = translator.encode(french)

# %% [markdown] tags=["notes"]
# **50 minutes.** Hook and warm-up 4 · 1 logits and your greedy decoder 12 · 2 what learning costs 14 · 3 beam 9 ·
# 4 sampling 8 · 5 cache and map 5. Part of that is waiting, and everything under *Practice* is homework.
#
# **Show**: after the pencil task, have somebody draw the tree with A and B on the board, and leave it there for
# the beam.
#
# **Ask**: "With the mask in place, why shift?" (A position is allowed to attend to itself, and without the shift its own
# input is the answer. Two minutes in pairs, before the dice.) · "Which settings would you choose for a chatbot, and
# which for a contract?" (Some randomness for the chatbot, greedy decoding or a beam for the contract. After section 4.) ·
# "Why does the cache keep keys and values, but no queries?" (A query is used once, by its own position.)
#
# **If you're running late**: show the cache's figure without the vote.
#
# **Mistakes to expect**: a softmax outputs log-probabilities · top-k changes the likeliest token · the cache
# keeps queries too.

# %% [markdown] warm_up=8
# ## 1. What comes out of the last layer?
#
# The decoder ends with one vector per position, but to choose a token we need one number per token of the
# vocabulary. The last layer is therefore a matrix with one row per token. The dot product of a token's row with the
# vector is that token's score, its **logit**.
#
# The embedding at the input has one row per token as well. Our translator uses the same rows at both ends, which
# saves a million parameters and is called **weight tying** (Press and Wolf 2017).

# %% tags=["hide-input"]
assert model.output_proj.weight is model.tgt_embedding.weight is model.src_embedding.weight
assert model.tgt_embedding.weight.numel() > 1_000_000

# %% [markdown]
# Let's stop the translator after *a large train* and look at its scores for the next token.

# %%
sentence = "Des gens attendent le train dans une grande gare."
written = "People wait for the train in a large train"
src_ids = translator.encode([sentence])  # (1, S)
prefix = torch.tensor([[BOS, *tokenizer.encode(written)]])  # (1, T)

with torch.inference_mode():
    logits = model(src_ids, prefix)[0, -1]  # (V,): one score per token that could come next

# %% tags=["hide-input"]
# The four likeliest tokens.
best = logits.topk(4).indices
columns = [logits, logits.log_softmax(-1), logits.softmax(-1)]
print(f"V = {len(logits):,} tokens; the best four:\n")
print(f"{'':>10}{'logit':>10}{'log-probability':>18}{'probability':>14}")
for name, *numbers in zip(
    tokenizer.tokens(best), *(c[best].tolist() for c in columns), strict=True
):
    print(f"{name.replace('▁', ''):>10}{numbers[0]:>10.2f}{numbers[1]:>18.2f}{numbers[2]:>14.2f}")
for column in columns:
    assert column.argmax() == logits.argmax()
assert torch.allclose(columns[2].sum(), torch.tensor(1.0), atol=1e-5)
assert (columns[2] >= 0).all() and (columns[1] <= 0).all() and (logits > 0).any()
assert abs(columns[2][best[0]] - 0.49) < 0.01 and abs(columns[2][best[1]] - 0.34) < 0.01

# %% [markdown]
# Logits can be any numbers. A softmax turns them into **probabilities**, which are positive and sum to 1, and the
# logarithms of those are **log-probabilities**, which are never positive. All three columns rank the tokens alike, so
# the winner doesn't tell you which of the three you have.
#
# Taking the winner is called **greedy decoding**: append the likeliest token, ask again, and stop at
# `<eos>`.
#
# ### Your turn (6 min)


# %% tags=["exercise"]
def greedy_decode(step, bos_id, eos_id, max_len):
    """step(ids) -> logits (V,) of the next token; ids is a list that begins with bos"""
    ids = [bos_id]
    for _ in range(max_len):
        token = ...  # ← fill the gap: the likeliest next token
        ids.append(token)
        ...  # ← fill the gap: stop where the sentence ends
    return ids[1:]


# %% [markdown]
# Your loop works with any function that turns the ids so far into the next token's logits. The next cell makes such a
# function out of our translator.

# %%
write = exercises.mine("greedy_decode")


def next_logits(text):
    """A French text -> a function from a list of ids to the logits (V,) of the next token"""
    step = model.decoder_step(translator.encode([text]))
    return lambda ids: step(torch.tensor([ids]))[0]


with torch.inference_mode():
    for text in [sentence, *french[:2]]:
        print(tokenizer.decode(write(next_logits(text), BOS, EOS, 40)))

# %% tags=["hide-input", "nbval-ignore-output"]
# Whose loop wrote this?
with torch.inference_mode():
    notebook.claim(tokenizer.decode(write(next_logits(sentence), BOS, EOS, 40)) == written + ".")
print(exercises.whose("greedy_decode", did="written"))

# %% [markdown]
# ## 2. Does the model also learn one token at a time?
#
# Writing takes one pass per token, because each chosen token is the next input. In training the whole translation is
# known. Even so, the recurrent decoder of lesson 01 went through it step by step, because it computed each state from
# the one before.
#
# A Transformer's decoder has no such state, so in training we can feed in the whole target at once. Two precautions
# keep the answers hidden. The target is **shifted right** by one, so that each position reads the tokens *before* the
# one it should predict. And lesson 04's **causal mask** keeps every position from attending to what comes after it.
# The inputs are the true tokens even where the model would have chosen others, which is lesson 01's **teacher
# forcing**.
#
# The film shows our translator with *Un chien monte*, first learning, then writing.

# %% tags=["hide-input"]
assert translator.translate("Un chien monte") == "A dog is climbing"
notebook.picture("training_and_inference_decoder")

# %% [markdown]
# Both times the model predicts *is* after *A dog*. In training, that mistake raises the loss at one position only,
# because the next one reads the true word, *climbs*. When the model writes, *is* becomes part of the prefix, and every
# later token has to live with it. Here that goes well: the model continues with *climbing*.
#
# Every token of a sentence is an exercise for the model. Here are the first four of twelve:

# %%
english = tokenizer.encode("People are waiting for the train in a large station.", eos=True)
pieces = [piece.replace("▁", "") for piece in tokenizer.tokens([BOS, *english])]
for t in range(1, 5):
    print(" ".join(pieces[:t]), "→", pieces[t])

# %% [markdown] predict="one_pass_or_many"
# A single pass for all twelve is far cheaper than twelve passes. But are the predictions the same?

# %%
inputs = torch.tensor([[BOS, *english[:-1]]])  # shifted right by one

with torch.inference_mode():
    one_pass = model(src_ids, inputs)[0]  # (T, V)
    step = model.decoder_step(src_ids, cached=False)  # from a prefix to the next token's logits
    many = torch.cat([step(inputs[:, : t + 1]) for t in range(len(english))])  # (T, V), T passes

# %% tags=["hide-input"]
# Twelve passes against one.
off = (one_pass - many).abs().amax(-1)  # (T,)
third = len(off) // 3
exercises.reveal(
    "one_pass_or_many",
    measured="same" if off.max() < 1e-3 else "early" if off[:third].max() > 1e-3 else "late",
)
print(f"{len(english)} passes against one: the largest difference of two logits is {off.max():.0e}")
assert len(english) == 12
assert torch.allclose(one_pass, many, atol=1e-4, rtol=1e-4)
notebook.tell(
    """That's why a Transformer can learn from all positions at once. Writing is another matter. The next input
    doesn't exist until it has been chosen, so every token still takes a pass."""
)

# %% [markdown]
# In that single pass, nearly every answer is also an input somewhere, so a model could learn to look it up. Do we
# need both precautions, or would one do?
#
# To find out, we train three tiny models to predict the throws of a 20-sided *die*. One model has mask and shift, one
# lacks the mask, and one lacks the shift.


# %% tags=["prediction", "hide-input"]
# Three tiny models, two seeds each.
def train_on_dice(shift, mask, seed, sides=20, length=8, width=32, n_steps=70):
    """Train a one-layer decoder to predict dice; return its loss in the last ten steps."""
    torch.manual_seed(seed)
    embedding, output = nn.Embedding(sides + 1, width), nn.Linear(width, sides)
    layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True)
    places = nn.Parameter(0.5 * torch.randn(length, width))
    parameters = [places, *(p for m in (embedding, output, layer) for p in m.parameters())]
    optimizer = Adam(parameters, lr=1e-2, fused=True)
    not_allowed = ~torch.ones(length, length).tril().bool() if mask else None
    losses = []
    for _ in range(n_steps):
        targets = torch.randint(sides, (64, length))
        before = torch.full((64, 1), sides)  # <bos>
        inputs = torch.cat([before, targets[:, :-1]], 1) if shift else targets
        hidden = layer(embedding(inputs) + places, src_mask=not_allowed)
        loss = F.cross_entropy(output(hidden).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-10:]) / 10


variants = {"mask and shift": (True, True), "no mask": (True, False), "no shift": (False, True)}
dice = {n: [train_on_dice(*v, seed) for seed in (0, 1)] for n, v in variants.items()}
low = {name: max(losses) < 1.0 for name, losses in dice.items()}
outcome = {(0, 0): "neither", (1, 0): "no_mask", (0, 1): "no_shift", (1, 1): "both"}
exercises.reveal("loss_on_dice", measured=outcome[low["no mask"], low["no shift"]])
for name, losses in dice.items():
    print(f"{name:>15}: loss " + " and ".join(f"{loss:.2f}" for loss in losses) + " (two seeds)")
notebook.set_seed(0)
notebook.claim(min(dice["mask and shift"]) > 2.9 and max(dice["no shift"]) < 0.1)
notebook.claim(max(dice["no mask"]) < 0.8)
notebook.tell(
    """Without the shift, input $t$ *is* target $t$, and every position is allowed to attend to itself. Without the
    mask, a position can attend to the next one, where target $t$ is the input. Only the last target is never an
    input, which keeps the loss without the mask above 0.

    Both losses look wonderful, but all that these two models have learned is to copy. When they have to write,
    there's nothing to copy from."""
)

# %% [markdown]
# ### Your turn: find the bug (3 min)
#
# The loss below trains a masked decoder to do the wrong thing. The cell underneath tries it on two decoders, one that
# only repeats its inputs and one that predicts every next token perfectly.


# %% tags=["exercise"]
def next_token_loss(decode, ids):
    """decode: inputs (B, T) -> logits (B, T, V); ids (B, T + 1) -> mean loss"""
    inputs, targets = ids[:, :-1], ids[:, :-1]
    logits = decode(inputs)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# %% tags=["trial", "hide-input"]
some_ids = torch.tensor([[1, 5, 3, 8, 4, 2]])
for name, says in ("repeats its inputs", some_ids[:, :-1]), ("predicts perfectly", some_ids[:, 1:]):
    try:
        loss = next_token_loss(lambda inputs, says=says: 50.0 * F.one_hot(says, 20), some_ids)
        print(f"a decoder that {name}: loss {loss:.2f}")
    except Exception as error:  # a function half mended
        print(f"a decoder that {name}: {error}")

# %%
with torch.inference_mode():
    ids = torch.tensor([[BOS, *english]])
    loss = exercises.mine("next_token_loss")(lambda inputs: model(src_ids, inputs), ids)
print(f"our translator, on the twelve tokens: {loss:.2f} per token")

# %% tags=["hide-input"]
notebook.claim(0.2 < loss < 1)

# %% [markdown] quiz="likeliest_sentence"
# ## 3. Can we take back a choice?
#
# Greedy decoding can't. If the likeliest sentence begins with the second-best token, greedy decoding never sees that
# sentence. To watch this happen, take a model small enough for pencil and paper. Its only tokens are A, B and
# `<eos>`, and the table says how probable each of them is next, depending on what has been written so far:
#
# | written so far | A | B | `<eos>` |
# |---|---|---|---|
# | (nothing) | 0.6 | 0.4 | 0 |
# | A | 0.36 | 0.34 | 0.3 |
# | B | 0.1 | 0 | 0.9 |
# | anything longer | 0 | 0 | 1 |
#
# **Pencil (2 min).** Draw the tree. The probability of a sentence is the product along its path, with `<eos>`
# included. Which sentence does greedy decoding write, and which one is the likeliest?

# %% tags=["hide-input"]
A, B = 3, 4
TABLE = {(): {A: 0.6, B: 0.4}, (A,): {A: 0.36, B: 0.34, EOS: 0.3}, (B,): {A: 0.1, EOS: 0.9}}


def tiny_model(prefix, rows=None):
    """Logits of a model that is a table. (`rows` is for a cache; a table needs none.)"""
    logits = torch.full((len(prefix), 5), -math.inf)
    for row, ids in enumerate(prefix[:, 1:].tolist()):
        for token, p in TABLE.get(tuple(ids), {EOS: 1.0}).items():
            logits[row, token] = math.log(p)
    return logits


def probability_of(ids):
    steps = [TABLE.get(tuple(ids[:i]), {EOS: 1.0})[token] for i, token in enumerate(ids)]
    return math.prod(steps)


by_greedy = decoding.greedy(tiny_model, 1, BOS, EOS, max_len=5)[0]
by_beam = decoding.beam(tiny_model, 1, BOS, EOS, 5, beam_size=2, length_penalty=0.0)[0][0].ids
assert probability_of(by_beam) > probability_of(by_greedy)
assert abs(probability_of(by_greedy) - 0.216) < 1e-9 and abs(probability_of(by_beam) - 0.36) < 1e-9

# %% [markdown]
# Greedy decoding starts with A, the likelier first token, and never finds out that B leads to a likelier sentence.
# **Beam search** hedges its bets by keeping several prefixes, here two. At every step it tries every continuation of
# both and keeps the best two *overall*. A prefix that reaches `<eos>` is set aside until the end, when the finished
# sentences are compared. The picture adds log-probabilities where you multiplied probabilities.

# %% tags=["hide-input"]
notebook.picture("beam_tree")

# %% [markdown] predict="does_the_beam_find_it"
# Back to the large train. At the decisive step *station* came second, and a beam of four has room for second choices.
# Of the sentences it finishes, the search returns the one with the highest sum of log-probabilities.

# %%
with torch.inference_mode():
    step = model.decoder_step(src_ids)
    hypotheses = decoding.beam(step, 1, BOS, EOS, 30, beam_size=4, length_penalty=0.0)[0]

# %% tags=["hide-input"]
# What the beam kept, best first.
texts = [tokenizer.decode(h.ids) for h in hypotheses]
greedy_text = translator.translate(sentence)
exercises.reveal(
    "does_the_beam_find_it",
    measured="same" if texts[0] == greedy_text else "station" if "station" in texts[0] else "other",
)
for h, text in zip(hypotheses, texts, strict=True):
    print(f"log-probability {h.log_prob:.2f}: {text}")
with torch.inference_mode():
    wide = decoding.beam(model.decoder_step(src_ids), 1, BOS, EOS, 30, 100, 0.0)[0][0]
assert texts[0] == greedy_text == written + "." and tokenizer.decode(wide.ids) == greedy_text
assert any("station" in text for text in texts)
notebook.tell(
    """Even a beam of 100 returns the sentence that greedy decoding wrote. Don't blame the search. The sentence that
    this model finds likeliest just isn't the best one."""
)

# %% [markdown]
# The comparison isn't even fair, because every token adds a negative number to the sum, which puts long sentences at
# a disadvantage. A **length penalty** makes up for this by dividing the sum for a sentence of $n$ tokens by $((5 +
# n)/6)^{\alpha}$ (Wu et al. 2016). We chose $\alpha = 1.4$ for our translator on **validation data**, which are
# sentences kept out of training for choices like this one.

# %%
print(translator.translate(sentence, beam_size=4, length_penalty=1.4))

# %% tags=["hide-input"]
assert "train station" in translator.translate(sentence, beam_size=4, length_penalty=1.4)
greedy_texts = translator.translate(french)
beam_texts = translator.translate(french, beam_size=4)
assert sum(g != b for g, b in zip(greedy_texts, beam_texts, strict=True)) == 3
assert translator.card["test_bleu_greedy"] == 52.8
assert abs(translator.card["test_bleu_beam_4"] - 53.5) < 0.05

# %% [markdown]
# There's our station. Most sentences don't need the effort, though. The beam changes only three of our twenty
# captions. Over a thousand test captions it lifts BLEU, lesson 01's score, by less than a point.
#
# ## 4. Can we let chance decide?
#
# A translation should be right, but a story or a chat reply should be new every time. For those we **draw** the next
# token at random, with the probabilities that the model assigns. Suppose our translator draws its tokens, too. It's
# often sure of itself: at half of the positions, its best token has a probability of 90% or more. What could go
# wrong?


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# Ten runs over the twenty captions, drawing every token.
@torch.inference_mode()
def sampled(seed, **options):
    """Let the model write all captions by drawing; return lists of ids."""
    generator = torch.Generator().manual_seed(seed)
    step = model.decoder_step(batch)
    return decoding.sample(step, len(french), BOS, EOS, 40, generator=generator, **options)


@torch.inference_mode()
def scored(written):
    """Score translations of all captions: logits (N, T, V) and the ids that were written, (N, T)."""
    target = pad_sequence([torch.tensor([BOS, *ids]) for ids in written], True, PAD)
    return model(batch, target[:, :-1]), target[:, 1:]


def has_rare_token(written, k=20):
    logits, ids = scored(written)
    likelier = (logits > logits.gather(-1, ids[..., None])).sum(-1)  # (N, T)
    return ((likelier >= k) & (ids != PAD)).any(-1).tolist()


ten_runs = [sampled(seed) for seed in range(10)]
drawn = [ids for run in ten_runs for ids in run]
rare = [found for run in ten_runs for found in has_rare_token(run)]
share = 100 * sum(rare) / len(rare)
exercises.reveal("captions_with_a_rare_token", measured=share)
print("six of those with a rare token:\n")
for ids in [ids for ids, is_rare in zip(drawn, rare, strict=True) if is_rare][8:14]:
    print(" ", tokenizer.decode(ids))
own = [tokenizer.encode(text, eos=True) for text in references]
own_logits, own_ids = scored(own)
ordered = own_logits[own_ids != PAD].softmax(-1).sort(-1, descending=True).values
notebook.claim(35 < share < 62 and ordered[:, 0].median() >= 0.9)
notebook.claim(0.045 < 1 - ordered[:, :20].sum(-1).mean() < 0.065)
notebook.claim(9 < sum(map(len, own)) / 20 < 15)
notebook.tell(
    """About half of the captions contain a rare token. A single draw seldom lands that far out, but a caption takes
    a dozen draws. Not every rare token is wrong, of course, but a single strange word is enough to derail a
    sentence."""
)

# %% [markdown]
# That's why people reshape the distribution before they draw. They have three settings for it, applied in this order:
#
# - **temperature**: divide the logits by $\tau$, as in lesson 03. A $\tau$ below 1 makes the distribution sharper,
#   one above 1 flatter.
# - **top-k**: keep the $k$ likeliest tokens.
# - **top-p**, or nucleus sampling: keep the fewest tokens whose probabilities add up to $p$.
#
# Top-k and top-p set the logits of all other tokens to $-\infty$, as a mask does.
#
# ### Your turn (5 min)


# %% tags=["exercise"]
def top_k_filter(logits, k):
    """(..., V) -> (..., V), all but the k largest at −∞"""
    ...


# %%
keep = exercises.mine("top_k_filter")


@torch.inference_mode()
def draw(text, k, seed):
    generator, step, ids = torch.Generator().manual_seed(seed), next_logits(text), [BOS]
    while ids[-1] != EOS and len(ids) < 40:
        probabilities = keep(step(ids), k).softmax(-1)
        ids.append(torch.multinomial(probabilities, 1, generator=generator).item())
    return tokenizer.decode(ids[1:])


# %% tags=["nbval-ignore-output"]
for k in (4000, 20, 2):
    print(f"the best {k}:", *(draw(french[0], k, seed) for seed in (0, 1, 2)), sep="\n   ")
print(exercises.whose("top_k_filter", did="filtered"))

# %% [markdown]
# Top-k always keeps $k$ tokens, whereas top-p is meant to keep few where the model is sure and many where it isn't.
# In *Practice* you'll write top-p yourself and meet a surprise.

# %% [markdown]
# ## 5. Isn't one pass per token terribly slow?
#
# To write token 128, the decoder needs the keys and values of all positions before it. A loop that calls the model
# on the whole prefix computes them anew at every step, for 1 + 2 + … + 128 positions in all. That's 64 times as many
# as the text has.
#
# The mask comes to the rescue. An old position never attends to a new one, so its keys and values can't change. We
# keep them in a **key–value cache**, where the keys and values of the encoder's output are stored as well.


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
@torch.inference_mode()
def timed(n_tokens, cached):
    step = model.decoder_step(batch[:2], cached=cached)
    start = notebook.clock()
    ids = decoding.greedy(step, 2, BOS, -1, n_tokens)  # no end: write them all
    return ids, notebook.clock() - start


notebook.claim(timed(20, cached=True)[0] == timed(20, cached=False)[0])
lengths = [8, 32, 64, 128]
times = {
    name: [timed(n, cached)[1] for n in lengths]
    for name, cached in [("cache", True), ("no cache", False)]
}
faster = times["no cache"][-1] / times["cache"][-1]
notebook.claim(faster > 1.3)
exercises.reveal(
    "what_the_cache_saves",
    measured="hardly" if faster < 2 else "several" if faster < 30 else "all",
)
print(f"on this machine, writing 128 tokens is {faster:.1f} times as fast with the cache")
axes = plots.labelled_lines(lengths, times, x_label="tokens written", y_label="seconds", marker="o")
notebook.figure(
    axes,
    alt="Seconds against tokens written: without a cache the curve bends upwards, with a cache it "
    "stays far below and nearly straight.",
    width=560,
)

# %% [markdown]
# After the map's tour, press *play* to watch the model write the caption. At the logits, change the temperature, or
# press a less likely token. How does the model go on from there?

# %%
model_map(translator.trace(sentence), here="decoding", tour="08")

# %% [markdown]
# <details><summary>Fine print</summary>
#
# - Each model of the dice was trained with two seeds. Of its eight throws, the model without a mask has to guess
#   only one, so its loss ends near $3.0/8$.
# - Our translator spreads some probability over every token, and label smoothing (lesson 09) is one reason. Another
#   model might write fewer rare tokens.
# - The cache's factor depends on the machine, and on how many sentences are written at once.
#
# </details>
#
# ### What to take away
#
# - Logits can be any numbers, probabilities sum to 1, and log-probabilities are never positive.
# - Training needs only one pass per sentence. It takes the mask *and* the shift to stop the model from copying the
#   answers.
# - Greedy decoding takes the best token, beam search keeps the best few prefixes, and sampling draws a token
#   at random.
# - The likeliest sentence isn't always the best one. A length penalty makes up for the advantage of short
#   sentences.
# - One strange token can derail a sentence, so shape the distribution before you draw.
# - The cache keeps keys and values, so each position goes through the decoder once.
#
# $$\log p(y_1 \dots y_n \mid x) = \sum_{t=1}^{n} \log p(y_t \mid y_1 \dots y_{t-1}, x)$$
#
# The weights in this lesson came ready-made. In **lesson 09** you train a model yourself. Its first training log
# looks far too good.

# %% [markdown] my_parts=true quiz="shape_of_the_logits mask_and_shift what_temperature_does top_p_keeps what_the_cache_keeps"
# ## Practice
#
# About 35 minutes, the easiest first.


# %% tags=["exercise"]
def next_token_probabilities(hidden, table):
    """(B, T, D), (V, D) -> (B, T, V)"""
    logits = hidden @ ...
    return logits.softmax(...)  # ← fill the gaps


# %% [markdown]
# ### Your own beam


# %% tags=["exercise"]
def beam_step(log_probs, beam_scores, beam_size):
    """log_probs (beams, V), beam_scores (beams,) -> scores, beam_index, token_id, best first"""
    ...


# %% [markdown]
# The loop below calls your step until no prefix is left, and sets finished sentences aside. Once it works, add the
# length penalty to the line that sorts them. Does *station* win?

# %%
choose = exercises.mine("beam_step")


@torch.inference_mode()
def beam_search(text, beam_size, max_len=30):  # -> finished (log-probability, ids), likeliest first
    source, ids, scores, done = translator.encode([text]), [[BOS]], torch.zeros(1), []
    while ids and len(ids[0]) < max_len:
        logits = model(source.expand(len(ids), -1), torch.tensor(ids))[:, -1]  # (beams, V)
        scores, beams, tokens = choose(logits.log_softmax(-1), scores, beam_size - len(done))
        ids = [ids[b] + [t] for b, t in zip(beams.tolist(), tokens.tolist(), strict=True)]
        done += [(s.item(), i) for s, i in zip(scores, ids, strict=True) if i[-1] == EOS]
        going = [i[-1] != EOS for i in ids]
        scores, ids = scores[going], [i for i, on in zip(ids, going, strict=True) if on]
    return sorted(done, reverse=True)


# %%
for score, ids in beam_search(sentence, beam_size=4):
    print(f"{score:.2f}  {tokenizer.decode(ids[1:])}")

# %% tags=["hide-input"]
assert tokenizer.decode(beam_search(sentence, 4)[0][1][1:]) == texts[0]
print(exercises.whose("beam_step", did="searched"))

# %% [markdown]
# ### Top-p


# %% tags=["exercise"]
def top_p_filter(logits, p):
    """(..., V) -> (..., V), all but the fewest likeliest that reach p at −∞"""
    ...


# %% [markdown]
# Your filter now meets *A little girl in a red coat is playing with a black dog.* The model is about as sure of
# *red* as it is of the full stop at the end, which has 92% of the probability.

# %% tags=["prediction", "hide-input"]
# Your filter at every position of the caption.
girl, girl_english = CAPTIONS[0]
girl_ids = tokenizer.encode(girl_english, eos=True)
with torch.inference_mode():
    girl_logits = model(translator.encode([girl]), torch.tensor([[BOS, *girl_ids[:-1]]]))[0]
counts = torch.isfinite(exercises.mine("top_p_filter")(girl_logits, 0.95)).sum(-1).tolist()
at_the_stop = counts[-2]
exercises.reveal(
    "kept_at_the_full_stop",
    measured="few" if at_the_stop < 10 else "some" if at_the_stop < 100 else "many",
)
print(f"{'next token':>12}  its probability  kept by top-p 0.95")
for name, row, count in zip(
    tokenizer.tokens(girl_ids), girl_logits.softmax(-1), counts, strict=True
):
    print(f"{name.replace('▁', ''):>12}  {row.max():15.2f}  {count:18}")
print(exercises.whose("top_p_filter", did="filtered"))
assert at_the_stop > 200 and min(counts) < 20
assert abs(girl_logits[-2].softmax(-1).max() - 0.92) < 0.01

# %% [markdown]
# ### Turn the dials
#
# Below, the model draws at temperature 1.1 with seed 3. How large can top-p get before a strange word appears in the
# sentence?

# %%
DecodingExplorer(translator, method="sample", temperature=1.1, seed=3)

# %% [markdown]
# <details><summary>What we found</summary>
#
# At top-p 0.95, one strange token is still drawn, and at 0.9 none. Now try temperature 1.3 with seed 1, where 0.9 no
# longer helps. Because the temperature is applied first, probability has already moved to the unlikely tokens by the
# time top-p begins to count.
#
# </details>

# %% tags=["hide-input", "nbval-ignore-output"]
# What the details say, in the explorer itself.
dials = [(1.1, 3, 0.95), (1.1, 3, 0.9), (1.3, 1, 0.9)]
found = [
    DecodingExplorer(translator, method="sample", temperature=t, seed=s, top_p=p).numbers[
        "translation"
    ]
    for t, s, p in dials
]
notebook.claim(
    "finishing" in found[0] and found[1] == "An older man is selling flowers in the market."
)

# %% [markdown] quiz="likelier_is_not_better when_to_sample"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional. Nothing later depends on it.
#
# ### Myth or fact?
#
# **"A model writes one word for each input word."** It writes until `<eos>`, however many tokens that takes. Here we
# count the captions with exactly as many tokens in English as in French:

# %%
n_source = [len(tokenizer.encode(text)) for text in french]
n_written = [len(tokenizer.encode(text)) for text in greedy_texts]
same = sum(s == w for s, w in zip(n_source, n_written, strict=True))
print(f"as many tokens written as read: {same} of {len(french)} captions")

# %% tags=["hide-input"]
assert same < len(french) / 2

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.4, 5.4 and 6.1.
# - Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
# - Wu et al. (2016), "Google's Neural Machine Translation System", arXiv:1609.08144: length penalty.
# - Fan, Lewis, Dauphin (2018), "Hierarchical Neural Story Generation", arXiv:1805.04833: top-k.
# - Holtzman, Buys, Du, Forbes, Choi (2020), "The Curious Case of Neural Text Degeneration",
#   arXiv:1904.09751: top-p.
