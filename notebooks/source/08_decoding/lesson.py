# %% [markdown]
# # Decoding
#
# Our translator reads *Des gens attendent le train dans une grande gare*. If we decode in the obvious way and
# always take the likeliest next token, it writes:
#
# > People wait for the train in a large **train**.
#
# But a *gare* is a station. The model wasn't far off: after *a large train*, it gave 49% to the full stop and
# 34% to *station*. We took the token with the larger number, so the sentence ended there.
#
# None of the layers that you built in lesson 07 chooses a word. They return one vector per position, and we
# have to decide how to turn vectors into words. Today you'll get a better sentence out of the same model
# without changing a single weight.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

from IPython.display import display
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from helpers import exercises, plots
from helpers.training import metrics
from helpers.transformer import decoding
from helpers.data.captions import CAPTIONS
from helpers.data.corpus import toy_corpus
from helpers.transformer.losses import smooth_targets
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS, PAD
from helpers.widgets.decoding_explorer import DecodingExplorer
from helpers.widgets.model_map import model_map

translator = load_translator()
model, tokenizer = translator.model, translator.tokenizer
french, references = (list(side) for side in zip(*CAPTIONS, strict=True))
batch = translator.encode(french)

# %% [markdown] tags=["notes"]
# **50 minutes.** Hook and warm-up 4 · 1 logits 7 · 2 one pass or many 10 · 3 greedy and beam 13 · 4 sampling
# 12 · 5 cache and map 4. Everything under *Practice* is homework.
#
# **Say first**: the model is finished and its weights stay as they are. Today we only decide how to turn its
# output into words.
#
# **Show**: after the pencil task, have somebody draw the tree with A and B on the board, and leave it there for
# the beam.
#
# **Ask**: "With the mask in place, why shift?" (two minutes in pairs, before the dice) · "Which settings
# would you choose for a chatbot, and which for a contract?" (before the explorer) · "Why does the cache keep
# keys and values, but no queries?" (a query is used once, by its own position).
#
# **If you're running late**: skip the twenty captions in section 3, and set the explorer as homework.
#
# **Mistakes to expect**: a softmax outputs log-probabilities · top-p drops the token that reaches p · the cache
# keeps queries too. For the predictions, see the reveals.

# %%
exercises.warm_up(8)

# %% [markdown]
# ## 1. What comes out of the last layer?
#
# The decoder ends with one vector per position, and we need one number per token of the vocabulary. So
# the last layer is a matrix with one row per token. The dot product of a token's row with the vector is
# that token's score, called its **logit**.

# %% tags=["hide-input"]
notebook.picture("final_linear_softmax")

# %% [markdown]
# Here's the translator just before the full stop.

# %%
sentence = "Des gens attendent le train dans une grande gare."
written = "People wait for the train in a large train"
src_ids = translator.encode([sentence])  # (1, S)
prefix = torch.tensor([[BOS, *tokenizer.encode(written)]])  # (1, T)

with torch.inference_mode():
    logits = model(src_ids, prefix)[0, -1]  # (V,): one score per token that could come next

# %% tags=["hide-input"]
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
torch.testing.assert_close(columns[2].sum(), torch.tensor(1.0))
assert (columns[2] >= 0).all() and (columns[1] <= 0).all() and (logits > 0).any()
assert abs(columns[2][best[0]] - 0.49) < 0.01 and abs(columns[2][best[1]] - 0.34) < 0.01

# %% [markdown]
# Logits can be any numbers. A **softmax** turns them into **probabilities**, which are positive and sum to 1.
# The logarithms of the probabilities are called **log-probabilities**, and they are never positive.
#
# ### Your turn (3 min)

# %% tags=["hide-input"]
exercises.heading("next_token_probabilities")


# %%
def next_token_probabilities(hidden, table):
    """(B, T, D), (V, D) -> (B, T, V)"""
    logits = hidden @ ...
    return logits.softmax(...)  # ← fill the gaps


# %% tags=["hide-input"]
exercises.check("next_token_probabilities", next_token_probabilities)

# %% [markdown]
# The same token has the highest logit, the highest probability and the highest log-probability. So if you
# only check which token wins, you won't notice which of the three you've got. But PyTorch's functions expect
# different ones: `F.cross_entropy` takes logits, `F.nll_loss` takes log-probabilities, and
# `torch.multinomial`, which draws tokens at random, takes probabilities. What happens if you mix them up?

# %%
exercises.predict("perfect_as_probabilities")

# %% tags=["hide-input"]
right_token = torch.tensor([7])
perfect = F.one_hot(right_token, len(logits)).float()
mixed_up = F.cross_entropy(perfect, right_token).item()
exercises.reveal(
    "perfect_as_probabilities",
    measured="zero" if mixed_up < 0.01 else "small" if mixed_up < 2 else "large",
)
print(f"a perfect prediction, passed as probabilities: {mixed_up:.2f}")
print(f"guessing at random, log V:                     {math.log(len(logits)):.2f}")
assert mixed_up > 7
torch.testing.assert_close(F.cross_entropy(logits[None], best[:1]), -columns[1][best[0]])
notebook.tell(
    r"""`F.cross_entropy` applies a softmax to whatever it gets. Passing probabilities raises no error, but even
    a perfect prediction then has a loss of about $\log V - 1$. If your training loss never falls below
    that, check what you pass in."""
)

# %% [markdown]
# The output matrix in your exercise has one row per token, and so does the embedding. Our translator uses the
# same matrix for both: its rows turn tokens into vectors at the input, and vectors back into scores for
# tokens at the output. This is called **weight tying** (Press and Wolf 2017), and here it saves a million
# parameters.

# %% tags=["hide-input"]
assert model.output_proj.weight is model.tgt_embedding.weight is model.src_embedding.weight
assert model.tgt_embedding.weight.numel() > 1_000_000

# %% [markdown]
# ## 2. Training sees the whole sentence
#
# When the model writes, it needs one pass per token, because each output token is the next input. Does it
# also need that many passes to *learn* from a sentence?
#
# The recurrent decoder of lesson 01 had to take one step after another even in training, although we knew the
# whole translation, because each state is computed from the state before it. A Transformer's decoder has no such
# state. All that a position needs from the past is the tokens before it, and in training those are known. So
# we feed in the whole target at once, **shifted right** by one position. This is lesson 01's **teacher
# forcing**: even where the model predicts the wrong token, the true token is the next input. Here our translator
# reads *Une grande gare*. The left half shows training, the right half shows it writing:

# %% tags=["hide-input"]
gare = translator.encode(["Une grande gare"])
a_large_station = tokenizer.encode("A large station", eos=True)
with torch.inference_mode():
    predicted = model(gare, torch.tensor([[BOS, *a_large_station[:-1]]]))[0].argmax(-1)
assert tokenizer.decode(predicted.tolist()) == "A large train" and predicted[-1] == EOS
assert translator.translate("Une grande gare") == "A large train station"
notebook.picture("training_and_inference_decoder")

# %% [markdown]
# The same mistake has different consequences. On the left, *train* raises the loss at its own position, and the
# next prediction again has a true prefix. When the model writes, *train* becomes part of the prefix, and everything
# after it depends on it. Here the model is lucky and continues with *station*. In the translation at the top of this
# lesson, *train* became an input too, but there the full stop won.
#
# After one pass, we have a prediction at every position. So every position is an exercise: predict the next
# token from the tokens so far. Here are the first four of one sentence.

# %%
english = tokenizer.encode("People are waiting for the train in a large station.", eos=True)
pieces = [piece.replace("▁", "") for piece in tokenizer.tokens([BOS, *english])]
for t in range(1, 5):
    print(" ".join(pieces[:t]), "→", pieces[t])

# %% [markdown]
# One sentence of twelve tokens, with `<eos>` as the last, gives us twelve exercises in a single pass. Eleven
# of the answers are also inputs to that pass: is that a problem?
#
# One pass is far cheaper than twelve, but are the predictions the same? `model.decoder_step` runs the encoder
# once and returns a function from a prefix to the logits of the next token.

# %%
exercises.predict("one_pass_or_many")

# %%
inputs = torch.tensor([[BOS, *english[:-1]]])  # shifted right by one

with torch.inference_mode():
    one_pass = model(src_ids, inputs)[0]  # (T, V)
    step = model.decoder_step(src_ids, cached=False)
    many = torch.cat([step(inputs[:, : t + 1]) for t in range(len(english))])  # (T, V), T passes

# %% tags=["hide-input"]
off = (one_pass - many).abs().amax(-1)  # (T,)
third = len(off) // 3
exercises.reveal(
    "one_pass_or_many",
    measured="same" if off.max() < 1e-3 else "early" if off[:third].max() > 1e-3 else "late",
)
print(f"{len(english)} passes against one: the largest difference of two logits is {off.max():.0e}")
assert len(english) == 12
torch.testing.assert_close(one_pass, many, atol=1e-4, rtol=1e-4)
notebook.tell(
    """A single pass gives the same predictions because of the causal mask: no position was allowed to attend
    to the positions after it. When the model writes, it gets these logits too if its prefix is the same. But
    then the next input doesn't exist until it has been chosen, so twelve tokens take twelve passes."""
)

# %% [markdown]
# In training we use both a mask and a shift. Wouldn't one of them be enough?
#
# Here's a test. We train three tiny models on *dice*: each token is one throw of a 20-sided die. Nobody can
# predict a fair die, so a model that doesn't cheat can't get a loss below $\log 20 = 3.0$. One model has both
# mask and shift, one has no mask, and one has no shift.

# %%
exercises.predict("loss_on_dice")


# %% tags=["hide-input"]
def train_on_dice(shift, mask, seed, sides=20, length=8, width=32, n_steps=70):
    """Train a one-layer decoder to predict dice; return its loss in the last ten steps."""
    torch.manual_seed(seed)
    embedding, output = nn.Embedding(sides + 1, width), nn.Linear(width, sides)
    layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True)
    places = nn.Parameter(0.5 * torch.randn(length, width))
    parameters = [places, *(p for m in (embedding, output, layer) for p in m.parameters())]
    optimizer = torch.optim.Adam(parameters, lr=1e-2, fused=True)
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
assert min(dice["mask and shift"]) > 2.9 and max(dice["no shift"]) < 0.1
assert max(dice["no mask"]) < 0.8
notebook.tell(
    """Without the shift, input $t$ *is* target $t$, and a position is allowed to attend to itself. So the
    model learns to copy, and the loss falls to 0. Without the mask, the model finds target $t$ one position
    to the right. Only the last of the eight targets is never an input, so the loss ends near $3.0/8$
    instead of 0.

    In both cases the training loss looks wonderful. But the model has only learned to copy the answer from
    its input, and when it has to write, the answer isn't in the input."""
)

# %% [markdown]
# ### Your turn: find the bug (4 min)
#
# The function below is meant to compute the training loss, and it has two mistakes. The print-out compares a
# decoder that only repeats its inputs with one that predicts every next token perfectly.

# %% tags=["hide-input"]
exercises.heading("next_token_loss")


# %%
def next_token_loss(decode, ids):
    """decode: inputs (B, T) -> logits (B, T, V); ids (B, T + 1) -> mean loss"""
    inputs, targets = ids[:, :-1], ids[:, :-1]
    logits = decode(inputs).softmax(-1)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# %% tags=["hide-input"]
some_ids = torch.tensor([[1, 5, 3, 8, 4, 2]])
for name, says in [
    ("repeats its inputs", some_ids[:, :-1]),
    ("predicts perfectly", some_ids[:, 1:]),
]:
    loss = next_token_loss(lambda inputs, says=says: 50.0 * F.one_hot(says, 20), some_ids)
    print(f"a decoder that {name}: loss {loss:.2f}")

# %% tags=["hide-input"]
exercises.check("next_token_loss", next_token_loss)

# %% [markdown]
# ## 3. Always take the best token?
#
# The simplest way to write is **greedy decoding**: take the likeliest token, append it, and repeat until
# `<eos>`. You already have everything you need for this short loop.
#
# ### Your turn (6 min)

# %% tags=["hide-input"]
exercises.heading("greedy_decode")


# %%
def greedy_decode(step, bos_id, eos_id, max_len):
    """step(ids) -> logits (V,) of the next token; ids is a list that begins with bos"""
    ids = [bos_id]
    for _ in range(max_len):
        token = ...  # ← fill the gap: the likeliest next token
        ids.append(token)
        ...  # ← fill the gap: stop where the sentence ends
    return ids[1:]


# %% tags=["hide-input"]
exercises.check("greedy_decode", greedy_decode)

# %% [markdown]
# Greedy decoding never takes back a choice. If the second-best first token leads to a likelier sentence,
# greedy won't find it. Here's a model small enough to work through with a pencil. It writes A, B and `<eos>`,
# and the probabilities of its next token depend on what's been written so far:
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

# %%
exercises.quiz("likeliest_sentence")

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
# Greedy starts with A and writes *A A*, which has a probability of 0.6 · 0.36 = 0.22. If you start with B
# instead, you get a sentence of probability 0.36.
#
# **Beam search** hedges its bets. Instead of one prefix, it keeps the best few, here two. At every step it
# tries every continuation of both prefixes and keeps the best two *overall*. A prefix that reaches `<eos>` is
# set aside, and at the end the finished sentences are compared. The numbers in the picture are logarithms, so
# instead of multiplying probabilities we add log-probabilities:

# %% tags=["hide-input"]
notebook.picture("beam_tree")

# %% [markdown]
# Back to the "large train". At the decisive step, *station* was second-best, so a beam of 4 has room for it.
# At the end, the search compares the finished sentences by the sum of their log-probabilities.

# %%
exercises.predict("does_the_beam_find_it")

# %%
with torch.inference_mode():
    step = model.decoder_step(src_ids)
    hypotheses = decoding.beam(step, 1, BOS, EOS, 30, beam_size=4, length_penalty=0.0)[0]

# %% tags=["hide-input"]
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
    """The beam did consider the sentence with *station*. But the model gives that sentence a lower
    probability, so even a beam of 100 returns the same result. The search does its job here: the likeliest
    sentence just isn't the best one."""
)

# %% [markdown]
# But the comparison isn't quite fair. Every additional token adds a negative number to the sum, so short
# sentences have an advantage. A **length penalty** makes up for this: we divide the sum for a sentence of $n$
# tokens by $((5 + n)/6)^{\alpha}$ (Wu et al. 2016). For our translator, $\alpha = 1.4$ was chosen on
# validation data.

# %%
print(translator.translate(sentence, beam_size=4, length_penalty=1.4))

# %% tags=["hide-input"]
assert "train station" in translator.translate(sentence, beam_size=4, length_penalty=1.4)

# %% [markdown]
# With the length penalty, the translator writes *station*. How often does the decoding method change the translation?

# %%
exercises.predict("captions_that_change")

# %% tags=["hide-input"]
greedy_texts = translator.translate(french)
beam_texts = translator.translate(french, beam_size=4)
differ = [i for i in range(len(french)) if greedy_texts[i] != beam_texts[i]]
exercises.reveal("captions_that_change", measured=len(differ))
for i in differ:
    print(f"greedy: {greedy_texts[i]}\n  beam: {beam_texts[i]}\n")
assert len(differ) < len(french) / 4
notebook.tell(
    """Two of the three changes are a matter of taste, and the third is our train station. On a thousand test
    captions, the beam raises BLEU by less than one point, from 52.8 to 53.5. When a model puts most of its
    probability on one token, greedy decoding is hard to beat."""
)

# %% tags=["hide-input"]
assert len(differ) == 3
assert (
    translator.card["test_bleu_greedy"] == 52.8
    and abs(translator.card["test_bleu_beam_4"] - 53.5) < 0.05
)

# %% [markdown]
# ## 4. Can we let chance decide?
#
# A translation should be right. A story or a chat reply shouldn't be the same every time, so instead of
# choosing the best token, we can **draw** a token from the model's distribution. Before we do, let's look at
# how that distribution is spread over the vocabulary.

# %%
exercises.predict("outside_the_top_twenty")


# %% tags=["hide-input"]
@torch.inference_mode()
def next_token_distributions():
    """Probabilities at every position of our own translations of the captions, (N, V)."""
    rows = []
    for source, reference in CAPTIONS:
        ids = tokenizer.encode(reference, eos=True)
        rows.append(model(translator.encode([source]), torch.tensor([[BOS, *ids[:-1]]]))[0])
    return torch.cat(rows).softmax(-1)


ordered = next_token_distributions().sort(-1, descending=True).values  # (N, V), best first
outside = 100 * (1 - ordered.cumsum(-1).mean(0))  # (V,): outside the best 1, 2, 3, …
measured = outside[19].item()
exercises.reveal("outside_the_top_twenty", measured=measured)
V = ordered.shape[-1]
smoothed = smooth_targets(torch.tensor(0), V, 0.1).sort(descending=True).values
asked = 100 * (1 - smoothed.cumsum(-1))
ranks = torch.arange(1, V + 1)
axes = plots.labelled_lines(
    ranks[:1000],
    {"the model": outside[:1000], "what smoothing asks for": asked[:1000]},
    x_label="best tokens left out",
    y_label="probability of all others, %",
)
axes.set_xscale("log")
axes.set_ylim(0, 20)
plots.mark_guess(axes, 20, exercises.guess("outside_the_top_twenty"))
assert 4.5 < measured < 6.5 and abs(asked[19] - 9.95) < 0.01
assert ordered[:, 0].median() >= 0.9 and ordered.max() < 0.99
display(
    notebook.figure(
        axes,
        alt="Probability of all tokens outside the best k, against k on a logarithmic axis. For the model "
        "it falls from 16 percent to 7 at k = 5, and then hardly any more: 5 percent are left at k = 20. "
        "The target of label smoothing is a nearly level line at 10 percent.",
        width=620,
    )
)
notebook.tell(
    """The first few tokens have nearly all of the probability, and then the curve hardly falls any more. About
    5% is spread over almost four thousand tokens that make no sense at that position. The other curve
    helps to explain why."""
)

# %% [markdown]
# This tail of unlikely tokens comes partly from training with **label smoothing** (Szegedy et al. 2016). Its target doesn't give 100% to the right token. It gives 90%, and
# spreads 10% evenly over the whole vocabulary. With six tokens and $\varepsilon = 0.1$, the target looks like
# this:

# %%
print(smooth_targets(torch.tensor([2]), vocab_size=6, epsilon=0.1))  # the right token is number 2

# %% [markdown]
# A smoothed target keeps the model from becoming overconfident, and in the Transformer paper it improved
# BLEU. But it also asks for a flat tail, and that's the other curve in the figure. The target puts 9.95% outside
# the best twenty tokens. Compare that with what you just measured. *Going deeper* trains two small models, one with
# smoothing and one without, and compares their tails.
#
# Greedy decoding and beam search never choose from the tail, so it doesn't affect them. But when we draw, any
# token can come up.

# %%
exercises.predict("captions_with_a_rare_token")


# %% tags=["hide-input", "nbval-ignore-output"]
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
assert 35 < share < 62
notebook.tell(
    """About half of the captions contain a rare token. At each step, only one draw in twenty lands in the
    tail. But a caption has about twelve steps, and a single strange token is enough to derail a sentence."""
)

# %% [markdown]
# So before drawing, people usually reshape the distribution. There are three settings, applied in this order:
#
# - **temperature**: divide the logits by $\tau$, as in lesson 03. Below 1 the distribution gets sharper,
#   above 1 flatter.
# - **top-k**: keep the $k$ likeliest tokens.
# - **top-p**, or nucleus sampling: keep the fewest tokens whose probabilities add up to $p$.
#
# A token that a filter drops gets a logit of $-\infty$, just as with a mask.

# %%
logits = torch.tensor([3.0, 2.0, 1.0, 0.0, -1.0])
for name, changed in [
    ("as they are", logits),
    ("temperature 0.5", logits / 0.5),
    ("temperature 2", logits / 2),
    ("top-k 2", decoding.top_k_filter(logits, 2)),
    ("top-p 0.8", decoding.top_p_filter(logits, 0.8)),
]:
    print(f"{name:>16}:", " ".join(f"{p:.2f}" for p in changed.softmax(-1)))

# %% tags=["hide-input"]
assert torch.isinf(decoding.top_p_filter(logits, 0.8)).sum() == 3

# %% [markdown]
# ### Your turn (5 min)

# %% tags=["hide-input"]
exercises.heading("top_k_filter")


# %%
def top_k_filter(logits, k):
    """(..., V) -> (..., V), all but the k largest at −∞"""
    ...


# %% tags=["hide-input"]
exercises.check("top_k_filter", top_k_filter)

# %% [markdown]
# Top-k always keeps $k$ tokens, whether the model is sure or not. With top-p, the number of tokens depends on
# the distribution. In *A little girl in a red coat is playing with a black dog.*, the model is equally sure of
# *red* and of the full stop: it gives each of them 92%.

# %%
exercises.predict("kept_at_the_full_stop")

# %% tags=["hide-input"]
girl, girl_english = CAPTIONS[0]
girl_ids = tokenizer.encode(girl_english, eos=True)
with torch.inference_mode():
    girl_logits = model(translator.encode([girl]), torch.tensor([[BOS, *girl_ids[:-1]]]))[0]
counts = torch.isfinite(decoding.top_p_filter(girl_logits, 0.95)).sum(-1).tolist()
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
assert at_the_stop > 200 and min(counts) < 20
assert abs(girl_logits[-2].softmax(-1).max() - 0.92) < 0.01
notebook.tell(
    """The model was trained to leave some probability for every token, so a $p$ above 0.9 lets the tail in."""
)

# %% [markdown]
# Try the settings yourself. Below, the model draws at temperature 1.1 with seed 3. Find the largest top-p at
# which no strange word gets into the sentence.

# %%
DecodingExplorer(translator, method="sample", temperature=1.1, seed=3)

# %% [markdown]
# <details><summary>What we found</summary>
#
# At top-p 0.95, one strange token is still drawn, and at 0.9 none. Now try temperature 1.3 with seed 1. A
# top-p of 0.9 no longer helps there. The temperature is applied first, so by the time top-p begins to count,
# probability has already moved into the tail.
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
assert "finishing" in found[0] and found[1] == "An older man is selling flowers in the market."

# %%
exercises.quiz("top_p_keeps")

# %% [markdown]
# ## 5. Isn't one pass per token terribly slow?
#
# To write token 128, the decoder needs the keys and values of all 127 positions before it. If you simply call
# the model on the whole prefix, it recomputes all of them at every step. Over 128 steps, that's 1 + 2 + … +
# 128 = 8,256 positions instead of 128.
#
# But because of the mask, an old position never attends to a new one. So the keys and values of old positions
# can't change, and we can store them in a **key–value cache**. We also store the keys and values computed from the encoder's output.

# %%
exercises.predict("what_the_cache_saves")


# %% tags=["hide-input", "nbval-ignore-output"]
@torch.inference_mode()
def write(n_tokens, cached):
    step = model.decoder_step(batch[:2], cached=cached)
    start = notebook.clock()
    ids = decoding.greedy(step, 2, BOS, -1, n_tokens)  # no end: write them all
    return ids, notebook.clock() - start


assert write(20, cached=True)[0] == write(20, cached=False)[0]
lengths = [8, 32, 64, 128]
times = {
    name: [write(n, cached)[1] for n in lengths]
    for name, cached in [("cache", True), ("no cache", False)]
}
faster = times["no cache"][-1] / times["cache"][-1]
assert faster > 1.3
exercises.reveal(
    "what_the_cache_saves",
    measured="hardly" if faster < 2 else "several" if faster < 30 else "all",
)
print(f"the same tokens; at 128 tokens the cache is {faster:.1f} times as fast on this machine")
axes = plots.labelled_lines(lengths, times, x_label="tokens written", y_label="seconds", marker="o")
notebook.figure(
    axes,
    alt="Seconds against tokens written: without a cache the curve bends upwards, with a cache it "
    "stays far below and nearly straight.",
    width=560,
)

# %%
exercises.quiz("what_the_cache_keeps")

# %% [markdown]
# The map shows where all of this happens in the whole model. After the tour, press *play* to watch the model
# write the caption.

# %%
model_map(translator.trace(sentence), here="decoding", tour="08")

# %% [markdown]
# ### What to take away
#
# - Logits can be any numbers, probabilities sum to 1, and log-probabilities are never positive.
#   `F.cross_entropy` expects logits.
# - Training needs only one pass per sentence. To stop the model from copying the answer, it needs the mask
#   *and* the shift.
# - Greedy decoding takes the best token, beam search keeps the best few prefixes, and sampling draws a token
#   at random.
# - The likeliest sentence isn't always the best one. A length penalty makes up for the advantage of short
#   sentences.
# - Label smoothing leaves a flat tail, so shape the distribution before you draw from it.
# - The cache keeps keys and values, so each position goes through the decoder once.
#
# $$\log p(y_1 \dots y_n \mid x) = \sum_{t=1}^{n} \log p(y_t \mid y_1 \dots y_{t-1}, x)$$
#
# Our translator came with trained weights. In **lesson 09** you'll train a model yourself.

# %% [markdown]
# # Practice
#
# About 30 minutes, the easiest first.

# %%
exercises.quiz("shape_of_the_logits")

# %%
exercises.quiz("logits_or_probabilities")

# %%
exercises.quiz("mask_and_shift")

# %%
exercises.quiz("what_temperature_does")

# %%
exercises.quiz("what_smoothing_asks_for")

# %%
exercises.quiz("beam_without_penalty")

# %% tags=["hide-input"]
exercises.heading("beam_step")


# %%
def beam_step(log_probs, beam_scores, beam_size):
    """log_probs (beams, V), beam_scores (beams,) -> scores, beam_index, token_id, best first"""
    ...


# %% tags=["hide-input"]
exercises.check("beam_step", beam_step)

# %% tags=["hide-input"]
exercises.heading("top_p_filter")


# %%
def top_p_filter(logits, p):
    """(..., V) -> (..., V), all but the fewest likeliest that reach p at −∞"""
    ...


# %% tags=["hide-input"]
exercises.check("top_p_filter", top_p_filter)

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("likelier_is_not_better")

# %%
exercises.quiz("when_to_sample")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## All ways of decoding in one table
#
# Here are our twenty captions again, decoded in seven ways. The columns are BLEU, the mean log-probability that
# the model gives to its own output, the mean length in words, and the share of distinct texts in three runs. A method that writes the same text in all three runs scores a third, because only one of its three texts is distinct.

# %% tags=["hide-input", "nbval-ignore-output"]


@torch.inference_mode()
def log_probability(translations):
    """Mean log-probability of these sentences.

    The text is cut into tokens again; for odd samples not always into those that were drawn.
    """
    logits, ids = scored([tokenizer.encode(text, eos=True) for text in translations])
    each = logits.log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)  # (N, T)
    return each[ids != PAD].sum().item() / len(translations)


def in_words(runs):
    return [[tokenizer.decode(ids) for ids in run] for run in runs]


def three_runs(**options):
    return in_words(sampled(seed, **options) for seed in range(3))


ways = {
    "greedy": [greedy_texts],  # every run gives the same, so one is enough
    "beam 4": [beam_texts],
    "beam 4, no length penalty": [translator.translate(french, beam_size=4, length_penalty=0.0)],
    "samples": in_words(ten_runs[:3]),  # of section 4
    "samples, temperature 0.5": three_runs(temperature=0.5),
    "samples, top-k 5": three_runs(top_k=5),
    "samples, top-p 0.8": three_runs(top_p=0.8),
}
table = {}
print(f"{'':>27}  BLEU   log p  words  different")
for name, runs in ways.items():
    bleu = sum(metrics.bleu(run, references) for run in runs) / len(runs)
    likely = sum(log_probability(run) for run in runs) / len(runs)
    words = sum(len(s.split()) for run in runs for s in run) / len(runs) / len(french)
    different = len({(i, s) for run in runs for i, s in enumerate(run)}) / len(french) / 3
    table[name] = bleu, likely, words, different
    print(f"{name:>27}  {bleu:4.1f}  {likely:6.2f}  {words:5.1f}  {different:8.0%}")
assert table["beam 4, no length penalty"][1] >= table["greedy"][1] - 1e-3
assert table["samples"][1] < table["samples, temperature 0.5"][1] < table["greedy"][1]
assert table["beam 4, no length penalty"][2] <= table["beam 4"][2]
assert table["beam 4"][1] < table["beam 4, no length penalty"][1]

# %% [markdown]
# The beam with the length penalty writes longer sentences than greedy decoding does, with a slightly lower
# probability. Samples from the whole distribution are much less likely than any other output, and each of the
# three settings makes them likelier.
#
# Don't rank the methods by this table, because twenty captions are far too few. Here the beam is several BLEU
# points above greedy decoding, but on a thousand captions the difference was less than one point.
#
# ## Does the tail come from the smoothing?
#
# To find out, we train two small networks to predict the next word of the toy corpus from the three words
# before it. They start from the same weights and see the same batches. One is trained with label smoothing
# and one without.


# %% tags=["hide-input"]
def small_model_tails(label_smoothing, seed, n_steps=300):
    """Return the probability outside the best twenty, and how much of it smoothing asks for."""
    torch.manual_seed(seed)
    n_words = len(vocabulary)
    network = nn.Sequential(
        nn.Embedding(n_words, 32),
        nn.Flatten(),
        nn.Linear(96, 64),
        nn.ReLU(),
        nn.Linear(64, n_words),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3, fused=True)
    for _ in range(n_steps):
        rows = torch.randint(len(contexts), (256,))
        loss = F.cross_entropy(
            network(contexts[rows]), following[rows], label_smoothing=label_smoothing
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        ordered = network(contexts[:4000]).softmax(-1).sort(-1, descending=True).values
    return (1 - ordered[:, :20].sum(-1)).mean().item(), label_smoothing * (1 - 20 / n_words)


toy_sentences = [["<bos>"] * 3 + list(pair.target) + ["<eos>"] for pair in toy_corpus(1000)]
vocabulary = sorted({word for words in toy_sentences for word in words})
numbers = {word: i for i, word in enumerate(vocabulary)}
coded = [[numbers[word] for word in words] for words in toy_sentences]
contexts = torch.tensor([ids[i : i + 3] for ids in coded for i in range(len(ids) - 3)])
following = torch.tensor([ids[i + 3] for ids in coded for i in range(len(ids) - 3)])
tails = {s: [small_model_tails(s, seed) for seed in range(3)] for s in (0.0, 0.1)}
print(f"{len(vocabulary)} words; outside the best twenty, for three seeds:")
for smoothing, runs in tails.items():
    found = ", ".join(f"{100 * tail:.1f}%" for tail, _ in runs)
    print(f"  smoothing {smoothing}: {found}   (smoothing asks for {100 * runs[0][1]:.1f}%)")
notebook.set_seed(0)
for (plain, _), (smoothed_tail, wanted) in zip(tails[0.0], tails[0.1], strict=True):
    assert 0.5 * wanted < smoothed_tail - plain < 1.5 * wanted

# %% [markdown]
# With every seed, smoothing adds about as much probability to the tail as the smoothed target asks for. But
# smoothing isn't the only cause of a tail, because even without it about 5% is outside the best twenty tokens.
# And a model doesn't always match its target: the tail of our translator has only about half of the probability
# that its target asks for.
#
# ## Does a sampler draw what it should?
#
# We can count. Here are 20,000 draws from five tokens, compared with the tokens' probabilities:


# %%
def constant_model(prefix, rows=None):
    return logits.expand(len(prefix), -1)


generator = torch.Generator().manual_seed(0)
many_draws = decoding.sample(constant_model, 20_000, 0, -1, max_len=1, generator=generator)
frequency = torch.bincount(torch.tensor(many_draws).flatten(), minlength=5) / 20_000
print("drawn:", [f"{f:.3f}" for f in frequency.tolist()])
print("asked:", [f"{p:.3f}" for p in logits.softmax(-1).tolist()])

# %% tags=["hide-input"]
torch.testing.assert_close(frequency, logits.softmax(-1), atol=0.015, rtol=0)

# %% [markdown]
# ## A filter of your own
#
# *Min-p* keeps every token whose probability is at least a given fraction of the likeliest token's
# probability. Write it as a filter. Then compare it with top-p, token by token through the caption of
# section 4: how many tokens does each filter keep at the full stop?
#
# ## Myth or fact?
#
# **"The final softmax outputs log-probabilities."** A myth. Its outputs are positive and sum to 1, while
# log-probabilities are never positive. The first table in section 1 shows both.
#
# **"With a causal mask the targets need no shift."** A myth. Without the shift, the dice were
# "predicted" with a loss of 0.
#
# **"A model writes one word for each input word."** A myth. It writes until `<eos>`, one token per
# *output* position:

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
# - Szegedy, Vanhoucke, Ioffe, Shlens, Wojna (2016), "Rethinking the Inception Architecture for Computer
#   Vision", arXiv:1512.00567: label smoothing.
# - Wu et al. (2016), "Google's Neural Machine Translation System", arXiv:1609.08144: length penalty.
# - Fan, Lewis, Dauphin (2018), "Hierarchical Neural Story Generation", arXiv:1805.04833: top-k.
# - Holtzman, Buys, Du, Forbes, Choi (2020), "The Curious Case of Neural Text Degeneration",
#   arXiv:1904.09751: top-p.
