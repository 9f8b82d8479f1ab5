# %% [markdown]
# # Decoding
#
# **How do vectors become words?** The decoder ends in a vector for each position. Now we choose
# words: one at a time, each choice changing what comes next.
#
# At the end of these **60 minutes**, and 40 minutes more for the whole breakout, you can
#
# - tell logits, log-probabilities and probabilities apart, and say which of them who wants,
# - explain why training sees all positions at once and writing does not, and why both the mask and
#   the shift are needed,
# - decode greedily, with a beam, and by sampling with temperature, top-k and top-p,
# - say what a key–value cache keeps and measure what it saves.
#
# You need lessons 06 and 07.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math
import time

import torch
import torch.nn.functional as F

from helpers import decoding, exercises, metrics, plots
from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.tokenization import BOS, EOS
from helpers.widgets.decoding_explorer import DecodingExplorer

translator = load_translator()
model, tokenizer = translator.model, translator.tokenizer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 logits 10 · 2 shift 10 · 3 and 4 greedy, beam 15 · 5 sampling 15 · 6 cache 10. The
# breakout, 40 minutes, is for home.
#
# **When late**: leave out the second caption table of section 4 and the timing of section 6.
#
# **What people get wrong**: they think that the mask replaces the shift, that top-p drops the token that
# reaches p, that likelier is better.

# %% [markdown]
# ## 1. From a vector to a word
#
# The last layer of the model is a matrix with one row for each token of the vocabulary. Its product
# with the decoder's vector gives one number for each token, the **logits**. A softmax makes
# **probabilities** of them, its logarithm **log-probabilities**.

# %% tags=["hide-input"]
notebook.picture("final_linear_softmax")

# %%
# ▁ marks the beginning of a word; ▁r is a piece with which other words begin.
sentence = "Une petite fille en manteau rouge joue avec un chien noir."
src_ids = translator.encode([sentence])  # (1, S)
prefix = torch.tensor([[BOS, *tokenizer.encode("A little girl in a")]])  # (1, T)

with torch.inference_mode():
    logits = model(src_ids, prefix)[0, -1]  # (V,): scores of the token after "in a"
probabilities = logits.softmax(-1)
log_probabilities = logits.log_softmax(-1)
print(f"V = {len(logits):,} logits")

best = probabilities.topk(5).indices
for name, numbers in [
    ("logit", logits), ("log-probability", log_probabilities), ("probability", probabilities)
]:  # fmt: skip
    row = "  ".join(
        f"{t} {n:.4f}" for t, n in zip(tokenizer.tokens(best), numbers[best], strict=True)
    )
    print(f"{name:>15}:  {row}")

# %% [markdown]
# The three lists have the same order. So a test that looks only at the winner, the *argmax*, cannot
# tell which of the three it was given. The next cell also computes the loss of lesson 01, $-\log p$
# of the right token, with PyTorch's `F.cross_entropy`. **Predict:** which property tells the three
# apart?

# %%
for numbers in (logits, log_probabilities, probabilities):
    assert numbers.argmax() == logits.argmax()  # useless as a test

torch.testing.assert_close(probabilities.sum(), torch.tensor(1.0))
assert (probabilities >= 0).all()
torch.testing.assert_close(log_probabilities.exp().sum(), torch.tensor(1.0))
assert (log_probabilities <= 0).all()
assert (logits > 0).any() and not torch.isclose(logits.exp().sum(), torch.tensor(1.0))

target = torch.tensor([best[0]])
right = F.cross_entropy(logits[None], target)
perfect = F.one_hot(target, len(logits)).float()
print(f"cross_entropy given logits: {right:.3f}   given probabilities: "
      f"{F.cross_entropy(probabilities[None], target):.3f}")  # fmt: skip
print(f"log V = {math.log(len(logits)):.3f}   a perfect prediction, given as probabilities: "
      f"{F.cross_entropy(perfect, target):.3f}")  # fmt: skip
torch.testing.assert_close(right, -log_probabilities[best[0]])

# %% [markdown]
# Probabilities are positive and sum to one. Log-probabilities are never positive, and their exponentials
# sum to one. Logits do neither. Who wants which? `F.cross_entropy` wants **logits** and does the
# log-softmax itself; `F.nll_loss` wants log-probabilities, and a beam adds them up; `torch.multinomial`,
# which draws, wants probabilities.
#
# Given probabilities, `F.cross_entropy` raises no error. It takes a softmax of a softmax, so the loss
# cannot come near zero: even a perfect prediction costs about $\log V - 1$.
#
# Our model has no separate matrix for this layer. It uses the target embedding again: a token's
# row, dotted with the decoder's vector, is the token's logit (Press and Wolf 2017). In our
# translator, as in the paper, the source reads from this table too: one table, used three times.

# %%
assert model.output_proj.weight is model.tgt_embedding.weight is model.src_embedding.weight
table = model.tgt_embedding.weight.numel()
total = sum(p.numel() for p in model.parameters())
print(f"one table of {table:,} numbers, not three: {2 * table:,} saved; the model has {total:,}")

# %% [markdown] tags=["notes"]
# **10 minutes.** Ask for the definition of a logit before showing any; the honest answer is "a score
# before the softmax". Somebody will say that a softmax outputs log-probabilities. It does not.

# %% [markdown]
# ## 2. All at once, or one at a time
#
# In training the whole target is known. We feed it in, **shifted right** by one, and get the
# predictions for all positions in one pass. When writing, the next input is known only after the last
# output: one pass for each token.

# %% tags=["hide-input"]
notebook.picture("training_and_inference_decoder")

# %% tags=["hide-input"]
notebook.picture("decoding_token_by_token")

# %% [markdown]
# `model.decoder_step(src_ids)` runs the encoder once and returns a function: the tokens so far go in,
# the logits of the next token come out. **Predict:** the same model, the same prefix: do the two ways
# give the same logits?

# %%
english = tokenizer.encode("A little girl in a red coat is playing with a black dog.", eos=True)
inputs, targets = torch.tensor([[BOS, *english[:-1]]]), torch.tensor([english])  # shifted by one

with torch.inference_mode():
    all_at_once = model(src_ids, inputs)[0]  # (T, V), one pass
    step = model.decoder_step(src_ids)
    one_by_one = torch.cat([step(inputs[:, : t + 1]) for t in range(len(english))])  # T passes

torch.testing.assert_close(all_at_once, one_by_one, atol=1e-4, rtol=1e-4)
print(f"{len(english)} passes or one: the same logits")

# %% [markdown]
# They must be: with the causal mask, position $t$ never saw what came after it. That is what the mask
# is for. And the shift? Without it, input $t$ *is* target $t$: the mask lets a position see itself, and
# the answer lies in front of it. Take both away, one at a time, in a toy that copies what it may see:


# %%
def best_guess_without_learning(inputs, targets, mask):
    """Share of targets a model could simply look up among the inputs it may see."""
    visible = [[inputs[s] for s in range(len(inputs)) if mask[t, s]] for t in range(len(targets))]
    return sum(t in v for t, v in zip(targets, visible, strict=True)) / len(targets)


sequence = list(range(100, 112))  # twelve different tokens
causal = torch.ones(12, 12).tril().bool()
everything = torch.ones(12, 12).bool()
shifted = [BOS, *sequence[:-1]]
for name, inputs_, mask in [
    ("mask and shift", shifted, causal),
    ("no shift", sequence, causal),
    ("no mask", shifted, everything),
]:
    share = best_guess_without_learning(inputs_, sequence, mask)
    print(f"{name:>15}: {share:.0%} of the targets can be read off the inputs")

assert best_guess_without_learning(shifted, sequence, causal) == 0
assert best_guess_without_learning(sequence, sequence, causal) == 1

# %% [markdown]
# (Without the mask it is not quite all: the last target is never an input.)

# %% [markdown] tags=["notes"]
# **10 minutes.** The question that separates: *with the mask in place, why shift?* Let pairs argue for
# two minutes. Without a shift the loss falls to zero within minutes and the model has learned to copy
# its input. Even a mask that hid a position from itself would not replace the shift: the residual path
# carries input $t$ to output $t$.

# %% [markdown]
# ## 3. Greedy
#
# Take the likeliest token, append it, go on until `<eos>`. In one line it is a loop around `argmax`;
# here it is with the probability of each choice.

# %%
with torch.inference_mode():
    step = model.decoder_step(src_ids)
    prefix = torch.tensor([[BOS]])
    for _ in range(30):
        probabilities = step(prefix).softmax(-1)  # (1, V)
        probability, token = probabilities.max(-1)
        print(f"{tokenizer.tokens(token.tolist())[0]:>10}  {probability.item():.2f}")
        prefix = torch.cat([prefix, token[:, None]], dim=1)
        if token == EOS:
            break

written = tokenizer.decode(prefix[0].tolist())
assert written == translator.translate(sentence)

# %% [markdown]
# ## 4. Beam search
#
# Greedy never goes back. A beginning that looks second-best may lead to the likelier sentence. **Beam
# search** keeps the best few beginnings. At every step each of them proposes all its continuations,
# and the best few *of all* stay. A beginning that reaches `<eos>` is set aside as finished; at the end
# the finished ones are compared.

# %% tags=["hide-input"]
notebook.picture("beam_tree")

# %% [markdown]
# A small tree first, with a made-up model that writes three tokens, A, B and `<eos>`, to see greedy
# lose. **Predict** with the numbers in the cell: which sentence does greedy find, and which is
# likelier?

# %%
A, B, END = 3, 4, EOS
next_probabilities = {
    (): {A: 0.6, B: 0.4},
    (A,): {A: 0.36, B: 0.34, END: 0.3},
    (B,): {END: 0.9, A: 0.1},
}


def tiny_model(prefix, rows=None):
    """Logits of a model that is a table. (`rows` is for a cache; a table needs none.)"""
    logits = torch.full((len(prefix), 5), -math.inf)
    for row, ids in enumerate(prefix[:, 1:].tolist()):
        for token, p in next_probabilities.get(tuple(ids), {END: 1.0}).items():
            logits[row, token] = math.log(p)
    return logits


def probability_of(ids):
    return math.prod(
        next_probabilities.get(tuple(ids[:i]), {END: 1.0})[token] for i, token in enumerate(ids)
    )


by_greedy = decoding.greedy(tiny_model, 1, BOS, EOS, max_len=5)[0]
by_beam = decoding.beam(tiny_model, 1, BOS, EOS, 5, beam_size=2, length_penalty=0.0)[0][0].ids
letter = {A: "A", B: "B", END: "<eos>"}
for name, ids in [("greedy", by_greedy), ("beam", by_beam)]:
    print(
        f"{name:>6}: {' '.join(letter[i] for i in ids):<10} probability {probability_of(ids):.2f}"
    )
assert probability_of(by_beam) > probability_of(by_greedy)

# %% [markdown]
# A sum of log-probabilities falls with every token, so among sentences of different length it favours
# the short. Dividing by a power of the length evens this out: the **length penalty**, here
# $((5 + n)/6)^{\alpha}$ for $n$ tokens with `<eos>`, the form of Wu et al. (2016). $\alpha = 0$ is no
# penalty; our translator takes 1.4, chosen on validation data.
#
# Now the real model on our twenty captions. For each way of decoding: BLEU, how likely the model finds
# its own output, its length in words, and which share of three runs' sentences are different (a third:
# every run gives the same). This takes about ten seconds.

# %% tags=["nbval-ignore-output"]
french, references = (list(side) for side in zip(*CAPTIONS, strict=True))
batch = translator.encode(french)


@torch.inference_mode()
def log_probability(translations):
    """Mean log-probability the model gives to these sentences.

    The text is cut into tokens again; for odd samples not always into those that were drawn.
    """
    total = 0.0
    for source, translation in zip(french, translations, strict=True):
        ids = tokenizer.encode(translation, eos=True)
        logits = model(translator.encode([source]), torch.tensor([[BOS, *ids[:-1]]]))[0]
        total += logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).sum().item()
    return total / len(translations)


@torch.inference_mode()
def sampled(seed, **options):
    generator = torch.Generator().manual_seed(seed)
    ids = decoding.sample(
        model.decoder_step(batch), len(french), BOS, EOS, 40, generator=generator, **options
    )
    return [tokenizer.decode(sentence) for sentence in ids]


ways = {
    "greedy": [translator.translate(french)],  # every run gives the same, so one is enough
    "beam 4": [translator.translate(french, beam_size=4)],
    "beam 4, no length penalty": [translator.translate(french, beam_size=4, length_penalty=0.0)],
    "samples": [sampled(seed) for seed in range(3)],
    "samples, temperature 0.5": [sampled(seed, temperature=0.5) for seed in range(3)],
    "samples, top-k 5": [sampled(seed, top_k=5) for seed in range(3)],
    "samples, top-p 0.8": [sampled(seed, top_p=0.8) for seed in range(3)],
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

# %% [markdown]
# Without a penalty the beam looks for a sentence that the model likes better than greedy's; compare the
# two in the column *log p*. With the penalty the beam prefers longer sentences, even if the model likes
# them a little less; likelier is not always better. **Predict:** in how many of the
# twenty captions does each beam write something else than greedy? Is it then nearer to ours, or farther?

# %% tags=["nbval-ignore-output"]
for way in ["beam 4, no length penalty", "beam 4"]:
    pairs = zip(references, ways["greedy"][0], ways[way][0], strict=True)
    others = [
        (ours, by_greedy, by_beam) for ours, by_greedy, by_beam in pairs if by_greedy != by_beam
    ]
    gains = [metrics.bleu([b], [ours]) - metrics.bleu([g], [ours]) for ours, g, b in others]
    print(f"{way}: another translation of {len(others)} of {len(french)} captions; "
          f"nearer to ours {sum(gain > 0 for gain in gains)}, farther {sum(gain < 0 for gain in gains)}")  # fmt: skip
    assert len(others) < len(french) / 2
for texts in others:
    print()
    for name, text in zip(["ours", "greedy", "beam 4"], texts, strict=True):
        print(f"  {name:>6}: {text}")

# %% [markdown]
# In most captions beam and greedy agree. Where they do not, "nearer to ours" is often a matter of taste:
# *run* is as good as *are running*. Once it is not: greedy has its people wait for a train in a large
# train. The beam without a penalty keeps that sentence: it found none that the model likes better, though
# a beam does not look at all of them. Only with the penalty does the *station* come.
#
# Twenty captions are too few to rank the ways. In the table the beam is six points above greedy, and so
# are samples at temperature 0.5. On a thousand captions the beam is ahead of greedy by less than one point
# (`helpers/pretrained/weights/README.md`); samples we did not measure there.

# %% [markdown] tags=["notes"]
# **15 minutes** for sections 3 and 4. Draw the tiny tree on the board before the cell runs. Ask:
# *what does beam size V guarantee?* Nothing after the second step: the tree grows as $V^T$.

# %% [markdown]
# ## 5. Sampling
#
# A translation should be right; a story should not be the same every time. **Sampling** draws the next
# token from the distribution. Three dials shape what it draws from, applied in this order:
#
# - **temperature** $\tau$, as in lesson 03: divide the logits by it. Below 1 sharper, above 1 flatter.
# - **top-k**: only the $k$ likeliest tokens.
# - **top-p** (nucleus): the fewest tokens whose probabilities add up to $p$.

# %%
logits = torch.tensor([3.0, 2.0, 1.0, 0.0, -1.0])
for name, changed in [
    ("as it is", logits),
    ("temperature 0.5", logits / 0.5),
    ("temperature 2", logits / 2),
    ("top-k 2", decoding.top_k_filter(logits, 2)),
    ("top-p 0.8", decoding.top_p_filter(logits, 0.8)),
]:
    print(f"{name:>16}:", " ".join(f"{p:.2f}" for p in changed.softmax(-1)))
assert torch.isinf(decoding.top_p_filter(logits, 0.8)).sum() == 3

# %% [markdown]
# Top-p keeps two tokens here, though the first alone has 0.64: the one that *reaches* 0.8 stays. Here
# top-k 2 does the same. **Predict:** along our English sentence of section 2, how many tokens does top-p
# keep at each place?

# %%
kept = {p: torch.isfinite(decoding.top_p_filter(all_at_once, p)).sum(-1) for p in (0.8, 0.95)}
for p, counts in kept.items():
    print(f"top-p {p}: {counts.tolist()} tokens kept")
print(f"the best token's share at the full stop: {all_at_once[-2].softmax(-1).max():.2f}")
assert kept[0.8].min() == 1 and kept[0.95].max() > 100

# %% [markdown]
# Top-k would keep $k$ at every place. Top-p keeps one where the best token alone reaches $p$, and more
# elsewhere. It is not harmless: at the full stop the best has 0.92 and $p$ is 0.95, and the missing 0.03
# is collected from 574 very unlikely tokens.
#
# Does a sampler draw what it should? Count.


# %%
def constant_model(prefix, rows=None):
    return logits.expand(len(prefix), -1)


drawn = decoding.sample(
    constant_model, 20_000, 0, -1, max_len=1, generator=torch.Generator().manual_seed(0)
)
frequency = torch.bincount(torch.tensor(drawn).flatten(), minlength=5) / 20_000
torch.testing.assert_close(frequency, logits.softmax(-1), atol=0.01, rtol=0)
print("drawn:", [f"{f:.3f}" for f in frequency.tolist()])

# %% [markdown]
# Step through all of it: greedy, samples with their dials, and the tree of a beam. The upper line shows
# where the model looks at this step. **Try** samples at temperature 1.1 with seed 3: wrong words are
# drawn. Does a top-p of 0.95 forbid them all? 0.9? Now temperature 1.3 with seed 1: does 0.9
# help there?

# %%
DecodingExplorer(translator)

# %% [markdown]
# Compare with what you found:

# %% tags=["nbval-ignore-output"]
for temperature, seed, top_p in [(1.1, 3, 1.0), (1.1, 3, 0.95), (1.1, 3, 0.9), (1.3, 1, 0.9)]:
    dials = {"temperature": temperature, "seed": seed, "top_p": top_p}
    sampled = DecodingExplorer(translator, method="sample", **dials)
    print(f"{dials}\n    {sampled.numbers['translation']}")

# %% [markdown]
# At temperature 1.3 top-p 0.9 no longer helps: the temperature comes first, and top-p counts what it
# left.
#
# The same in code: type a sentence of your own and turn the dials.

# %% tags=["nbval-ignore-output"]
yours, temperature, top_p = "Deux enfants jouent dans la neige.", 1.0, 0.9  # change them

for seed in range(4):
    with torch.inference_mode():
        ids = decoding.sample(
            model.decoder_step(translator.encode([yours])), 1, BOS, EOS, 40,
            temperature=temperature, top_p=top_p, generator=torch.Generator().manual_seed(seed),
        )  # fmt: skip
    print(tokenizer.decode(ids[0]))

# %% [markdown] tags=["notes"]
# **15 minutes.** Ask before the explorer: *which dial for a chat partner, which for a contract?* Then:
# *top-k 5 or top-p 0.8: where do they differ most?* Where the model is sure: top-p keeps one token,
# top-k still five. In the explorer let pairs find the largest top-p that is free of wrong words.

# %% [markdown]
# ## 6. The cache
#
# Step $t$ needs the keys and values of all positions before $t$. Without a cache they are computed
# anew at every step: $1 + 2 + … + T$ positions through the whole decoder. With a cache, each position
# goes through once, and its keys and values are kept. Queries of old positions are never needed again.
# The cross-attention's keys and values never change: each layer makes its own from the memory once, and
# they are kept too.
#
# **Predict:** for 64 tokens, how many positions go through the decoder with and without?


# %%
def positions_computed(n_tokens, cached):
    return n_tokens if cached else sum(range(1, n_tokens + 1))


print("with:", positions_computed(64, True), "  without:", positions_computed(64, False))


# %%
@torch.inference_mode()
def write(n_tokens, cached):
    step = model.decoder_step(batch[:5], cached=cached)
    start = time.perf_counter()
    ids = decoding.greedy(step, 5, BOS, -1, n_tokens)  # no end: write them all
    return ids, time.perf_counter() - start


assert write(20, cached=True)[0] == write(20, cached=False)[0]
print("with and without cache: the same tokens")

# %% tags=["nbval-ignore-output"]
lengths = [8, 16, 32, 64, 128]
times = {
    name: [write(n, cached)[1] for n in lengths]
    for name, cached in [("cache", True), ("no cache", False)]
}
print(f"at 128 tokens the cache is {times['no cache'][-1] / times['cache'][-1]:.1f} times as fast")
assert times["no cache"][-1] > 2 * times["cache"][-1]

# %% tags=["nbval-ignore-output", "hide-input"]
axes = plots.labelled_lines(lengths, times, x_label="tokens written", y_label="seconds", marker="o")
notebook.figure(
    axes,
    alt="Seconds against tokens written: without a cache the curve bends upwards, with a cache it "
    "stays far below and nearly straight.",
)

# %% [markdown]
# At 128 tokens 64 times as many positions go through, but the time does not grow as much: many positions
# in one matrix product cost less each than one alone, and with the cache too every new query meets all
# keys so far. The factor depends on your machine.

# %% [markdown] tags=["notes"]
# **10 minutes.** *Why are only keys and values kept, and not queries?* A query is used once, by its own
# position. *What does the cache cost?* Memory: two vectors for each token and layer; lesson 06 counted
# them for grouped heads.

# %% [markdown]
# ## Breakout

# %%
exercises.heading("greedy_decode")


# %%
def greedy_decode(step, bos_id, eos_id, max_len):
    """step(ids), ids a list that begins with bos -> logits (V,) of the next token.

    Return the list of ids, without bos, with eos if it was reached.
    """
    ...


exercises.check("greedy_decode", greedy_decode)

# %%
exercises.heading("top_k_filter")


# %%
def top_k_filter(logits, k):
    """(..., V) -> (..., V), all but the k largest at −∞"""
    ...


exercises.check("top_k_filter", top_k_filter)

# %%
exercises.heading("top_p_filter")


# %%
def top_p_filter(logits, p):
    """(..., V) -> (..., V), all but the fewest likeliest that reach p at −∞"""
    ...


exercises.check("top_p_filter", top_p_filter)

# %%
exercises.heading("beam_step")


# %%
def beam_step(log_probs, beam_scores, beam_size):
    """log_probs (beams, V), beam_scores (beams,) -> scores, beam_index, token_id, best first"""
    ...


exercises.check("beam_step", beam_step)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("logits_or_probabilities")

# %%
exercises.quiz("mask_and_shift")

# %%
exercises.quiz("what_temperature_does")

# %%
exercises.quiz("top_p_keeps")

# %%
exercises.quiz("what_the_cache_keeps")

# %%
exercises.quiz("beam_without_penalty")

# %%
exercises.quiz("shape_of_the_logits")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("likelier_is_not_better")

# %%
exercises.quiz("when_to_sample")

# %% [markdown]
# ### Going further
#
# *Min-p* keeps every token whose probability is at least a fraction of the likeliest one's. Write it
# as a filter, compare how many tokens it and top-p keep along a sentence where the model is sure and
# one where it is not, and say when they differ.

# %% [markdown]
# ## Myth or fact?
#
# **"The final softmax outputs log-probabilities."** A myth. Its outputs are positive and sum to one;
# log-probabilities are never positive. Section 1 asserted both.
#
# **"With a causal mask the targets need no shift."** A myth. Section 2: without the shift, every
# single target could be read off the inputs.

# %% [markdown]
# ## Summary
#
# - $(B, T, D) \to (B, T, V)$: logits; softmax: probabilities; log-softmax: their logarithms.
# - Training: one pass, mask *and* shift. Writing: one pass for each token.
# - Greedy takes the best token, a beam the best few beginnings, sampling draws; temperature, top-k and
#   top-p shape what it draws from.
# - The cache keeps keys and values, of the tokens written and of the source; every position is computed once.
#
# The translator came trained. **Lesson 09** trains one.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.4 and 6.1.
# - Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
# - Wu et al. (2016), "Google's Neural Machine Translation System", arXiv:1609.08144.
# - Fan, Lewis, Dauphin (2018), "Hierarchical Neural Story Generation", arXiv:1805.04833: top-k.
# - Holtzman, Buys, Du, Forbes, Choi (2020), "The Curious Case of Neural Text Degeneration",
#   arXiv:1904.09751: top-p.
