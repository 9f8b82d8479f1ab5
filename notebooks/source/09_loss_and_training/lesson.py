# %% [markdown]
# # Loss and training
#
# This training run looks splendid. After its first twenty training steps on French–English sentences, a small
# Transformer has halved its loss. On sentences that it has never seen, it already predicts the right token at two
# positions out of three.
#
# Then we ask it for a translation, and it writes *the the the the*. Nobody expects much after twenty steps, and
# there's no slip in the arithmetic. But how can numbers look so good when the model is so bad?

# %% tags=["hide-input"]
import math
import zlib
from collections import Counter

import torch
import torch.nn.functional as F
from matplotlib import pyplot

from helpers import exercises, plots
from helpers.training import training
from helpers.transformer import losses
from helpers.training.batches import pad_batch
from helpers.data.corpus import Splits
from helpers.pretrained import toy_models
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, PAD
from helpers.training.optimizers import Adam
from helpers.transformer.transformer import Transformer, TransformerConfig
from helpers.widgets.loss_explorer import LossExplorer
from helpers.widgets.model_map import model_map

splits = toy_models.toy_data()
transformer = toy_models.load_toy("transformer")
train_pairs = transformer.encode(splits.train)
unseen = transformer.encode(splits.validation[:200])
translator = load_translator()


def padded(pairs, length=48):
    source, target = pad_batch(pairs, PAD)
    return source, F.pad(target, (0, length + 1 - target.shape[1]), value=PAD)


def train_briefly(measure, steps=20, seed=0, rate=lambda step: 3e-3, norm_first=True):
    """Train a small Transformer on a given loss; return its logits for unseen sentences."""
    notebook.set_seed(seed)
    model = Transformer(
        TransformerConfig(
            src_vocab_size=len(transformer.source), tgt_vocab_size=len(transformer.target),
            d_model=64, n_heads=2, n_layers=1, d_ff=128, dropout=0.0, norm_first=norm_first, max_len=64,
        )
    )  # fmt: skip
    optimiser = Adam(model.parameters(), lr=3e-3, fused=True)
    draw, curve = torch.Generator().manual_seed(seed), []
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = rate(step)
        chosen = torch.randint(len(train_pairs), (12,), generator=draw).tolist()
        source, target = padded([train_pairs[i] for i in chosen])
        loss = measure(model(source, target[:, :-1]), target[:, 1:])
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        curve.append(loss.item())
    source, target = padded(unseen)
    with torch.no_grad():
        return model(source, target[:, :-1]), target[:, 1:], curve, model


# %% [markdown] tags=["notes"]
# **48 minutes.** Hook, first prediction and warm-up 8 · 1 one number 9 · 2 landmarks 5 · 3 padding 13 ·
# 4 one step 6 · 5 the paper's two additions and the map 9.
#
# **Show** the hook on the projector, and collect explanations for the splendid numbers on the board before
# anybody runs the next cell. Come back to the list in section 3.
#
# **If you're running late**: hand out `warmup_rate` as homework (four minutes); its figure then runs on the
# course's function.
#
# **Ask**: "What's the loss of a model that has learned nothing?" (let them derive it) · "Can BLEU be 100
# while the loss isn't 0?" (yes: BLEU only sees which word is the likeliest, not by how much) · "What would be in
# your training log on the first line?" (a loss near log V, and a note of what the loss counts, which shouldn't include padding)
#
# **Mistakes to expect**: averages of batch averages · "warm-up is a trick for Adam only".


# %%
def mean_of_all_positions(logits, targets):
    """(B, T, V), (B, T) -> one number"""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


logits, targets, curve, model = train_briefly(mean_of_all_positions)
right = logits.argmax(-1) == targets  # (B, T)
print(f"loss {mean_of_all_positions(logits, targets):.1f}, right at {right.float().mean():.0%}")

# %% tags=["prediction", "hide-input"]
# The real tokens alone, and a translation.
real = targets != PAD
of_the_real = right[real].float().mean().item()
exercises.reveal("share_of_real_words", measured=100 * of_the_real)
print(
    f"{1 - real.float().mean():.0%} of all positions are padding; right there: {right[~real].float().mean():.0%}"
)
true_loss = losses.cross_entropy(logits, targets, PAD).item()
print(f"the loss on real tokens: {true_loss:.1f}")
notebook.claim(1.7 < mean_of_all_positions(logits, targets) < 1.9 and 3.6 < true_loss < 3.8)
same_model = toy_models.ToyTranslator(model.eval(), transformer.source, transformer.target, {})
written = same_model.translate("le facteur cache la voiture rouge .").split()
print("its translation:", " ".join(written[:12]))
notebook.claim(Counter(written).most_common(1)[0][0] == "the" and right.float().mean() > 0.6)
notebook.claim(Counter(written).most_common(1)[0][1] > 0.7 * len(written) and 3.5 < curve[0] < 3.7)
notebook.claim(of_the_real < 0.4 and right[~real].float().mean() > 0.95)
notebook.tell(
    """About half of the positions are **padding**, the `<pad>` tokens that fill up short sentences to a common
    length, and the model predicts those perfectly. Padding isn't to blame for the bad translation, since twenty steps
    of training are simply too few. What padding did was hide how bad the model still is. On real words, the loss is
    twice what the log said."""
)

# %% [markdown]
# You'll repair this loss in section 3. But first, what does a loss measure, and which values should make you
# suspicious?

# %% [markdown] warm_up=9
# ## 1. How do you put a number on a prediction?
#
# A model has to turn *je suis étudiant* into *i am a student*. At every position it assigns a probability to each
# word of its vocabulary, and we know which word is right. We could count how often the likeliest word is right. But
# change a weight a little, and the count usually stays put, so gradient descent has nothing to go by. The
# probability of the right word moves with every change.
#
# The probability of a sentence is the product of its tokens' probabilities. In a long sentence that's forty small
# numbers to multiply, so we add their logarithms instead. The loss of a token is $-\log p$, where $p$ is the
# probability of the right word. A word that the model was certain of costs nothing, and a word with an even chance
# costs 0.69 nats. As $p$ approaches 0, the loss grows without limit. The mean over the positions is the
# **cross-entropy**:
#
# $$L = -\frac{1}{T} \sum_t \log p_t(\text{target}_t)$$
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def token_losses(logits, targets):
    """(T, V), (T,) -> (T,)"""
    log_probs = ...  # ← fill the gap: (T, V)
    return ... * log_probs.gather(-1, targets[:, None]).squeeze(-1)  # ← and the factor


# %% [markdown]
# Your function can show where our translator hesitates. The model reads *Des gens attendent le train dans une grande
# gare*, and we charge it for every token of a good translation.

# %%
source = translator.encode(["Des gens attendent le train dans une grande gare."])
good = translator.tokenizer.encode("People are waiting for the train in a large station.", eos=True)
with torch.inference_mode():
    its_logits = translator.model(source, torch.tensor([[BOS, *good[:-1]]]))[0]  # (T, V)
nats = exercises.mine("token_losses")(its_logits, torch.tensor(good))  # (T,)

# %% tags=["hide-input", "nbval-ignore-output"]
# A bar per token.
names = [name.replace("▁", "") for name in translator.tokenizer.tokens(good)]
_, axes = pyplot.subplots(figsize=(8, 2.4))
axes.bar(range(len(names)), nats.tolist(), color=plots.BLUE)
axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
axes.set_ylabel("nats")
notebook.claim(names[nats.argmax()] == "station" and nats.max() > 1)
notebook.show(
    axes,
    alt="The loss of each of twelve tokens as bars. Most cost less than half a nat; are and station cost "
    "about one nat or more.",
    width=620,
)
print(exercises.whose("token_losses", did="computed"))

# %% [markdown]
# The most expensive token is *station*, the very word that was missing in lesson 08. Now for two other models, on the
# five tokens of *i am a student* `<eos>`. Model A is careful and assigns 0.6 to the right token every time. Model B
# is bold. It assigns 0.9 to the right token four times, and 0.01 once.

# %% tags=["prediction", "hide-input"]
# The two sums, token by token.
careful = torch.tensor([0.6] * 5)
bold = torch.tensor([0.9, 0.9, 0.9, 0.9, 0.01])
costs = {name: -p.log().mean().item() for name, p in (("careful", careful), ("bold", bold))}
exercises.reveal("bold_or_careful", measured=min(costs, key=costs.get))
for name, p in (("A", careful), ("B", bold)):
    each = "  ".join(f"{nats:.2f}" for nats in -p.log())
    print(f"nats per token, {name}: {each}   mean {-p.log().mean():.2f}")
assert costs["careful"] < costs["bold"] and bold.mean() > careful.mean()
assert 54 < math.exp(0.1 * 40) < 55
notebook.tell(
    """On average, the right tokens are *more* probable under B. It loses all the same, because cross-entropy punishes
    confident mistakes hardest."""
)

# %% [markdown]
# Nats are hard to picture, so people often report $e^L$, the **perplexity**. A model with perplexity 8 is as unsure
# as if it had to choose between 8 equally likely words. In either unit, small differences add up. Save a tenth of a
# nat per token, and a sentence of forty tokens becomes 55 times as probable.
#
# ## 2. Is 1.8 a good loss?
#
# The number alone won't tell you, because it depends on how many words there are to choose from and how evenly
# they're used. Two landmarks help, and you can compute both before any training. A model that has learned *nothing*
# assigns $1/V$ to each of the $V$ words and pays $\log V$ per token. A model that knows how *frequent* each word is,
# and nothing else, pays $-\sum_w f_w \log f_w$, where $f_w$ is the word's share of the text. This second landmark is
# the text's **unigram entropy**.

# %%
words = [word for pair in splits.train for word in [*pair.target, "<eos>"]]
frequencies = torch.tensor(list(Counter(words).values())) / len(words)  # sums to 1
unigram = -(frequencies * frequencies.log()).sum().item()
log_v = math.log(len(transformer.target))
print(f"log V = {log_v:.2f}, unigram entropy = {unigram:.2f}")

# %% [markdown]
# Our splendid run *began* below both landmarks, at 3.6, before it had learned a thing. An untrained model can't do
# that with words, so the first line of the log already told us that something else was being counted. The course's
# toy Transformer was trained with an honest log. Where does that log begin?

# %% tags=["prediction", "hide-input"]
logs = {one: toy_models.load_toy(one).card["losses"][:1900] for one in ("additive", "transformer")}
first = logs["transformer"][0]
exercises.reveal(
    "first_loss_of_a_transformer",
    measured="above" if first > log_v + 0.5 else "at" if first > log_v - 0.5 else "below",
)
passed = {n: next(i for i, v in enumerate(c, 1) if v < unigram) for n, c in logs.items()}
_, axes = pyplot.subplots()
axes.set_xscale("log")
plots.labelled_lines(
    range(1, 1901),
    {"GRU + attention": logs["additive"], "Transformer": logs["transformer"]},
    ax=axes, x_label="step (logarithmic)", y_label="loss (nats per token)",
)  # fmt: skip
for height, name in [(log_v, "log V"), (unigram, "unigram entropy")]:
    axes.axhline(height, color=plots.GREY, linestyle="--")
    axes.text(1900, height + 0.15, name, color=plots.GREY, ha="right")
print(f"first below the unigram entropy: GRU + attention at step {passed['additive']}, "
      f"Transformer at step {passed['transformer']}")  # fmt: skip
assert abs(logs["additive"][0] - log_v) < 0.1 and first > log_v + 1
assert max(passed.values()) <= 20 and all(c[-1] < 0.1 for c in logs.values())
notebook.show(
    axes,
    alt="Training losses of two toy models, steps on a logarithmic scale. The GRU with attention starts at "
    "log V, the Transformer above it; both pass the unigram entropy within twenty steps and end near "
    "zero.",
    width=600,
)
notebook.tell(
    r"""For comparison, the figure has lesson 02's GRU with attention, which starts at $\log V$, like a model that
    knows nothing. The Transformer starts *above* $\log V$, because at first it's sure that the next word is the
    one it has just read. Its output matrix is its embedding (lesson 08), and the residual path carries the input
    word all the way up. In real text a word hardly ever follows itself, so this confidence is expensive. In our
    splendid run it paid, because there a `<pad>` follows a `<pad>`.

    Neither model stays at its first loss for long. Within twenty steps, both curves are below the second
    landmark."""
)

# %% [markdown]
# ## 3. What should a mean leave out?
#
# Our first loss was an average over real words, which are hard to predict, and padding, which is easy. Want a better
# number? Add more padding:

# %% tags=["hide-input"]
wider = [F.pad(logits, (0, 0, 0, n), value=0.0) for n in (0, 48)]
wider[1][:, 48:, PAD] = 12  # surely padding
wider_targets = [targets, F.pad(targets, (0, 48), value=PAD)]
flattered = [mean_of_all_positions(*pair).item() for pair in zip(wider, wider_targets, strict=True)]
honest = [losses.cross_entropy(*one, PAD).item() for one in zip(wider, wider_targets, strict=True)]
print(f"padded to 48: {flattered[0]:.1f}   padded to 96: {flattered[1]:.1f}")
notebook.claim(flattered[1] < 0.6 * flattered[0] and math.isclose(*honest, rel_tol=1e-4))

# %% [markdown]
# The model and the sentences haven't changed, only the padding has. Padding has to be left out twice, once from the
# sum of the losses and once from the number that you divide the sum by.
#
# ### Your turn (6 min)


# %% tags=["exercise"]
def cross_entropy(logits, targets, pad_id):
    """(B, T, V), (B, T), an id -> one number, the mean over what is not padding"""
    ...


# %%
cross_entropy_of = exercises.mine("cross_entropy")
theirs = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
print(f"this loss {cross_entropy_of(logits, targets, PAD):.4f}, PyTorch's {theirs:.4f}")

# %% tags=["hide-input"]
assert torch.allclose(cross_entropy_of(logits, targets, PAD), theirs, atol=1e-5)
perfect = F.one_hot(torch.tensor([7]), 4000).float()
assert abs(F.cross_entropy(perfect, torch.tensor([7])) - (math.log(4000) - 1)) < 0.01

# %% [markdown]
# PyTorch's function and yours share a trap. Both take **logits**, because the softmax is inside. Pass them
# probabilities, and a second softmax silently flattens the first. Even a perfect prediction then costs about
# $\log V - 1$, which no training can lower.
#
# How much harm did the wrong loss do to our model? We train it twice from the same start on the same batches, once on
# the loss that counts padding and once on yours.
#
# The optimiser is **Adam** (Kingma and Ba 2015). Like other optimisers, it moves the weights against their gradients,
# by an amount that the **learning rate** sets. But where plain gradient descent uses each gradient as it is, Adam
# averages the recent ones and divides by a running estimate of their size.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# Two losses, three seeds, measured on real words.
measures = {
    "counted": mean_of_all_positions,
    "left out": lambda logits, targets: cross_entropy_of(logits, targets, PAD),
}
reached, shown = ({name: [] for name in measures} for _ in range(2))
for seed in range(3):
    for name, measure in measures.items():
        by_now, answers, log, _ = train_briefly(measure, steps=30, seed=seed)
        reached[name].append(losses.cross_entropy(by_now, answers, PAD).item())
        shown[name].append(log[-1])
means = {name: sum(values) / 3 for name, values in reached.items()}
gap = means["counted"] - means["left out"]
exercises.reveal(
    "harm_of_counting_padding",
    measured="worse" if gap > 0.5 else "a bit" if gap > 0.15 else "same",
)
for name, values in reached.items():
    print(f"padding {name:>8}: loss on real words {[round(v, 2) for v in values]} for three seeds")
in_log = [round(v, 2) for v in shown["counted"]]
print("last loss in the log of the runs that count padding:", in_log)
print(exercises.whose("cross_entropy", did="trained"))
notebook.claim(abs(gap) < 0.15)
notebook.claim(max(shown["counted"]) < 0.75 * means["counted"])
notebook.tell(
    """The wrong loss hardly harmed the *model*. It harmed the *report*, which shows about half of the true loss.
    Worse, if two runs pad their batches differently, their reports can't be compared at all."""
)

# %% [markdown]
# There's a second way to average wrongly. In a mean of batch means, a batch of three tokens counts as much as a
# batch of three hundred. Add up the nats, count the tokens, and divide once.
#
# ## 4. What does one training step do?
#
# With a model, the shifted target of lesson 08, a loss and an optimiser, a training step fits into one function:


# %%
def training_step(model, optimiser, src_ids, tgt_ids):
    logits = model(src_ids, tgt_ids[:, :-1])  # reads everything but the last token
    loss = cross_entropy_of(logits, tgt_ids[:, 1:], PAD)  # the targets: everything but the first
    loss.backward()  # adds this batch's gradients to .grad
    optimiser.step()
    optimiser.zero_grad()  # sets .grad to nothing, for the next step
    return loss.item()


# %% [markdown]
# Larger runs add one line before `optimiser.step()` to shorten a gradient that is too long. This **clipping** stops a
# single unusual batch from changing the weights too much.
#
# `backward` *adds* its gradients to those of earlier steps, so a loop has to clear them, either at the end of a step,
# as above, or at the beginning of the next. What if it forgets? We let a tiny Transformer learn *je suis étudiant* by
# heart, with and without clearing.

# %% tags=["prediction", "hide-input"]
# Cleared or not, three seeds each.
vocabulary = ["a", "am", "i", "thanks", "student", "<eos>"]
wanted = ["i", "am", "a", "student", "<eos>"]
wanted_ids = torch.tensor([vocabulary.index(word) for word in wanted])  # (T=5,)
src_ids = torch.tensor([[4, 5, 6]])  # (B=1, S=3)
tgt_ids = torch.cat([torch.tensor([1]), wanted_ids + 4])[None]  # after the four special tokens


def tiny_run(clear, seed, steps=60):
    notebook.set_seed(seed)
    model = Transformer(
        TransformerConfig(
            src_vocab_size=7, tgt_vocab_size=10, d_model=16, n_heads=2, n_layers=1, d_ff=32,
            dropout=0.0, norm_first=True,
        )
    )  # fmt: skip
    optimiser = Adam(model.parameters(), lr=0.01, fused=True)
    found = []
    for _ in range(steps):
        if clear == "first":
            optimiser.zero_grad()
        loss = losses.cross_entropy(model(src_ids, tgt_ids[:, :-1]), tgt_ids[:, 1:], PAD)
        loss.backward()
        optimiser.step()
        if clear == "last":
            optimiser.zero_grad()
        found.append(loss.item())
    return found


runs = {clear: [tiny_run(clear, seed) for seed in range(3)] for clear in ("last", "never")}
ends = {clear: [run[-1] for run in of] for clear, of in runs.items()}
never = max(ends["never"])
is_stuck = min(ends["never"]) > 10 * max(ends["last"])
happened = "nan" if math.isnan(never) else "stuck" if is_stuck else "same"
exercises.reveal("gradients_never_cleared", measured=happened)
axes = plots.labelled_lines(
    range(1, 61),
    {"cleared": runs["last"][0], "never cleared": runs["never"][0]},
    x_label="step", y_label="loss (nats per token)",
)  # fmt: skip
print("last loss for three seeds, cleared:", [round(v, 3) for v in ends["last"]],
      "never:", [round(v, 2) for v in ends["never"]])  # fmt: skip
notebook.claim(tiny_run("first", 0) == runs["last"][0] and happened == "stuck")
notebook.show(
    axes,
    alt="Loss against step for one seed. Cleared, it falls to nearly zero. Never cleared, it falls at "
    "first, then swings between about half a nat and more than two.",
    width=560,
)
notebook.tell(
    """At first everything looks fine. Then the weights overshoot, like a ball that rolls without friction, and the curve
    never settles."""
)

# %%
exercises.quiz("order_of_training_step")

# %% [markdown]
# ## 5. What did the paper add?
#
# Vaswani et al. changed two things about this recipe, the target and the size of the steps.
#
# **Label smoothing.** A target of 1 drives the model to ever more confidence, because no finite logits reach a
# probability of exactly 1. The paper takes a share of ε = 0.1 away from the right word and spreads it evenly over the
# vocabulary. That keeps the model modest, at the price of a little probability on every word. Our translator was
# trained in this way, which is probably one reason for the rare tokens in lesson 08.

# %% tags=["hide-input"]
smooth = losses.smooth_targets(torch.tensor([4]), 6, 0.1)[0]
notebook.figure(
    plots.probability_bars(vocabulary, smooth, title="target for student, ε = 0.1", highlight=4),
    alt="The smoothed target for student: a bar of 0.92 for student and 0.017 for each of the other five.",
    width=460,
)

# %% [markdown]
# **Warm-up.** The learning rate rises in a straight line for the first steps, 4,000 of them in the paper, and then
# falls:
#
# $$\mathrm{rate} = d_{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot
# \mathrm{warmup}^{-1.5})$$
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def warmup_rate(step, d_model, warmup_steps):
    """three numbers -> a number; steps are counted from 1"""
    ...


# %% [markdown]
# Does the rise matter? The next cells train a small model of the paper's kind, with post-norm, at your rate. A second
# group of runs skips the rise and takes the highest rate from the very first step. A third group skips it as well,
# but starts at only 0.3 times that rate.

# %%
rate_at = exercises.mine("warmup_rate")


def with_rise(step):
    return rate_at(step, d_model=64, warmup_steps=16)


def without_rise(step):
    return rate_at(max(step, 16), d_model=64, warmup_steps=16)


# %% tags=["hide-input", "nbval-ignore-output"]
# Three schedules, three seeds each, 40 steps.
schedules = {
    "with the rise": with_rise,
    "without it": without_rise,
    "without it, at 0.3 of the rate": lambda step: 0.3 * without_rise(step),
}
logs = {
    name: [
        train_briefly(
            lambda logits, targets: losses.cross_entropy(logits, targets, PAD),
            steps=40, seed=seed, rate=schedule, norm_first=False,
        )[2]
        for seed in range(3)
    ]
    for name, schedule in schedules.items()
}  # fmt: skip
_, axes = pyplot.subplots(figsize=(7.5, 3))
for (name, of), colour in zip(logs.items(), (plots.BLUE, plots.ORANGE, plots.GREEN), strict=True):
    for log in of:
        axes.plot(range(1, 41), log, color=colour, alpha=0.6)
    axes.annotate(name, (40, sum(log[-1] for log in of) / 3), (6, 0), textcoords="offset points",
                  color=colour, va="center")  # fmt: skip
axes.plot([0, 40], [unigram] * 2, color=plots.GREY, linestyle="--")
axes.text(25, unigram + 0.3, "unigram entropy", color=plots.GREY)
axes.set(xlabel="step", ylabel="loss (nats per token)", ylim=(2, 6.5))
ends = {name: [sum(log[-5:]) / 5 for log in of] for name, of in logs.items()}
print({name: [round(end, 1) for end in of] for name, of in ends.items()})
print(exercises.whose("warmup_rate", did="trained"))
notebook.claim(max(ends["with the rise"]) < 3.6 < 4 < min(ends["without it"]))
notebook.claim(max(ends["without it, at 0.3 of the rate"]) < 3)
notebook.show(
    axes,
    alt="Loss against step for three learning-rate schedules, three seeds each. With the rise, the loss "
    "falls well below the unigram entropy, a dashed line. Without it all three runs stay on that line, "
    "and at 0.3 of the rate they fall below it, lowest of all.",
    width=620,
)

# %% [markdown]
# Without the rise, the runs at the full rate get stuck at the dashed line, where a model knows which words are
# frequent and nothing else. The rise makes this high rate usable. It isn't the only remedy, though. At a much lower
# rate the runs need no rise at all, and here they even end with the lowest loss.
#
# Why large first steps do such damage is still debated. One suspect is Adam, whose estimate of a gradient's size
# rests on only a few batches at first. The other is post-norm, because a fresh model of that kind has large gradients
# in its last layers (lesson 07, *Going deeper*).
#
# On the map, the loss comes where the decoder's rows end, with a bar for each token of the reference and their mean
# below. This reference is a good translation, and yet one of its words is expensive, because the model expected
# another. Change a word and press its row: what did the model expect there? The gradient of the loss reaches back to
# every weight of the model, and a training step moves them all. Which bars will shrink when a copy of the model takes
# a few steps on this one pair? Does that copy then translate *Un chien dort.* as the model did before?

# %% tags=["hide-input"]
model_map(
    translator.trace("Un chien noir court dans la neige."),
    here="loss",
    tour="09",
    reference="A black dog is running across the snow.",
)

# %% [markdown]
# <details><summary>Fine print</summary>
#
# - The numbers of the opening come from a single run of 20 steps. Another seed would lead to others.
# - Adam hides part of the harm done by counting padding. With plain gradient descent, dividing by a larger number
#   would act like a smaller learning rate.
# - The warm-up of section 5 was tried on one small model for 40 steps. Its high rate is the paper's formula for this
#   width and 16 steps of warm-up.
#
# </details>
#
# ### What to take away
#
# - The loss of a token is $-\log p$, where $p$ is the probability of the right word. Confident mistakes cost
#   most.
# - Compare every loss curve with two landmarks: $\log V$ (the model has learned nothing) and the unigram
#   entropy (it has learned only the words' frequencies).
# - Leave padding out of the mean: sum the nats over the real tokens, and divide once by their number.
# - Pass logits to a cross-entropy. The softmax is inside.
# - One step is forward, loss, backward, clip, optimiser. Clear the gradients at the beginning or at the end,
#   but don't forget to.
# - With warm-up, the learning rate first rises linearly, then falls as $\text{step}^{-0.5}$.
#
# $$L = -\frac{1}{N} \sum_{\text{real } t} \log p_t(\text{target}_t), \qquad N = \text{number of real tokens}$$
#
# You now have every part of a Transformer, and a loss that you can trust. In **lesson 10** you put them together and
# train the result. This time the translation won't be *the the the*.

# %% [markdown] quiz="perplexity_and_loss landmark_log_v what_cross_entropy_wants" my_parts=true
# ## Practice
#
# About 35 minutes, the easiest first.

# %% [markdown]
# Drag the logits and watch the loss. Can you make the right word the most probable one and still have a loss above
# 1?

# %%
LossExplorer()

# %% [markdown]
# <details><summary>One way</summary>
#
# Set *student* to 1.5 and the other four to 1. Then *student* is the most probable word, but with a probability of
# only 0.29, and $-\log 0.29 = 1.23$. </details>


# %% tags=["exercise"]
def unigram_entropy(counts):
    """(V,), how often each word occurs -> one number, in nats"""
    ...


# %% [markdown]
# Use your function to compare French with English. Which language of our toy corpus has the higher landmark, and is
# therefore harder to guess from word frequencies alone?

# %%
entropy = exercises.mine("unigram_entropy")
for side in ("source", "target"):
    counts = Counter(word for pair in splits.train for word in getattr(pair, side))
    print(side, f"{entropy(torch.tensor(list(counts.values())).float()):.2f} nats")

# %% [markdown]
# ### Find the bug
#
# The loss below was meant to ignore padding, but its value is far too low. The cell underneath tries it on a model
# that puts nearly all of its probability on a *wrong* word. The print-out holds a clue to each of the two mistakes.


# %% tags=["exercise"]
def flattering_loss(log_probs, targets, pad_id):
    """(B, T, V), (B, T), an id -> one number, the mean over real tokens"""
    picked = log_probs.amax(-1)  # (B, T)
    real = targets != pad_id
    return -(picked * real).mean()


# %% tags=["trial", "hide-input"]
sure = torch.full((1, 3, 6), -4.0)
sure[..., 5] = 2.0
for extra in (0, 6):
    found = flattering_loss(
        F.pad(sure, (0, 0, 0, extra)).log_softmax(-1),
        F.pad(torch.tensor([[1, 2, 3]]), (0, extra)),
        0,
    )
    print(f"sure of a wrong word, {extra} columns of padding: {found:.3f} nats")


# %% tags=["exercise"]
def smooth_targets(targets, vocab_size, epsilon):
    """(...) -> (..., V)"""
    ...


# %% [markdown]
# The paper's vocabulary had about 37,000 entries. How low can a loss get with smoothed targets?

# %% tags=["prediction", "hide-input"]
# The entropy of your smoothed target.
target = exercises.mine("smooth_targets")(torch.tensor([0]), 37_000, 0.1)[0].double()
floor = -(target * target.log()).sum().item()
height = "zero" if floor < 0.05 else "tenth" if floor < 0.2 else "third" if floor < 0.6 else "high"
exercises.reveal("floor_of_smoothing", measured=height)
print(f"{-(smooth * smooth.log()).sum():.2f} nats with 6 words, {floor:.2f} with 37,000")
assert 1.3 < floor < 1.45

# %%
exercises.quiz("smoothed_target")

# %% [markdown]
# ### The paper's schedule
#
# The paper's training ended at step 100,000.

# %% tags=["prediction", "hide-input"]
# Your schedule with the paper's numbers.
steps = range(100, 100_001, 100)
rates = [exercises.reference("warmup_rate")(s, 512, 4000) for s in steps]
left = 100 * rates[-1] / max(rates)
exercises.reveal("rate_at_the_end", measured=left)
axes = plots.labelled_lines(
    list(steps), {"rate": [100 * r / max(rates) for r in rates]},
    x_label="step", y_label="learning rate, % of its peak",
)  # fmt: skip
plots.mark_guess(axes, 100_000, exercises.guess("rate_at_the_end"), side="left")
assert math.isclose(left, 20, abs_tol=0.5)
notebook.show(
    axes,
    alt="Learning rate as a share of its peak against step: a straight rise until step 4,000, then a "
    "fall that gets ever slower, to 20 percent at step 100,000.",
    width=560,
)
notebook.tell(
    r"""A fifth of the peak is left, because $\sqrt{4000 / 100000} = 0.2$. People often call this schedule
    exponential. But an exponential would halve again and again in equal times, whereas the inverse square root takes
    longer for each halving."""
)

# %%
exercises.quiz("shape_of_the_rate")


# %% tags=["exercise"] quiz="padding_in_the_loss"
def perplexity(mean_losses, counts):
    """(N,), (N,) -> one number"""
    ...


# %% [markdown] quiz="when_to_stop which_number_to_trust"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ### What an untrained Transformer predicts
#
# Section 2 claimed that an untrained Transformer repeats the word it has just read. How often?

# %% tags=["hide-input"]
untrained = toy_models.new_toy("transformer", splits).model.eval()
repeats, certain = [], []
with torch.inference_mode():
    for src, tgt in transformer.encode(splits.test[:50]):
        chances = untrained(torch.tensor([src]), torch.tensor([tgt[:-1]]))[0].softmax(-1)
        repeats += (chances.argmax(-1) == torch.tensor(tgt[:-1])).tolist()
        certain += chances.max(-1).values.tolist()
share = sum(repeats) / len(repeats)
print(
    f"it repeats its input at {share:.0%} of the positions, with probability {sum(certain) / len(certain):.2f}"
)
notebook.claim(share > 0.9)

# %% [markdown]
# ### A loss is a file size
#
# With logarithms to base 2, the loss is measured in **bits**. Shannon showed that a word with probability $p$ can be
# stored in about $-\log_2 p$ bits, if sender and receiver share a model. That makes every language model a
# compressor, and its loss is the size of the compressed file. If both sides know the French sentence, how many bits
# does an English word of our corpus take?

# %% tags=["hide-input"]
sample = splits.test[:400]
text = "\n".join(" ".join(p.target) for p in sample)
n_tokens = sum(len(p.target) + 1 for p in sample)
bits = {
    "plain text": 8 * len(text.encode()) / n_tokens,
    "zip, without the French": 8 * len(zlib.compress(text.encode(), 9)) / n_tokens,
    "every word equally likely": math.log2(len(transformer.target)),
    "frequencies only": unigram / math.log(2),
}
for name, label in [("gru", "GRU"), ("transformer", "Transformer")]:
    toy = toy_models.load_toy(name)
    bits[label] = training.evaluate(toy.model, toy.encode(sample)) / math.log(2)
for name, value in bits.items():
    print(f"{name:>26}: {value:8.4f} bits per word")
assert bits["Transformer"] < 0.05 < bits["GRU"] < 1
assert (
    bits["frequencies only"] < bits["zip, without the French"] < bits["every word equally likely"]
)

# %% [markdown]
# The Transformer needs next to nothing, because in this corpus the French sentence determines the English one. The
# GRU forgets part of a long sentence, which costs it another half a bit per word. `zip` never sees the French and has
# to learn words from their letters, so even plain word frequencies beat it.
#
# ### Entropy and KL
#
# In general the target is a distribution $q$, and the cross-entropy is $-\sum_w q_w \log p_w$. It can't fall below
# the entropy of $q$ itself, and what lies above that entropy is the **KL divergence** of $p$ from $q$. A target that
# puts everything on one word has entropy 0, so its cross-entropy equals its KL divergence.

# %%
soft = losses.smooth_targets(wanted_ids, 6, 0.1)  # (T, V)
after = (3 * torch.randn(5, 6)).softmax(-1)  # any predictions
cross = -(soft * after.log()).sum(-1).mean()
own = -(soft * soft.log()).sum(-1).mean()
kl = F.kl_div(after.log(), soft, reduction="batchmean")
print(f"cross-entropy {cross:.3f} − entropy {own:.3f} = KL {kl:.3f}")

# %% tags=["hide-input"]
assert torch.allclose(cross - own, kl, atol=1e-5)
assert torch.allclose(
    cross, F.cross_entropy(after.log(), wanted_ids, label_smoothing=0.1), atol=1e-5
)

# %% [markdown]
# ### Train it yourself
#
# The cell below trains for one **epoch** (one pass) on a twentieth of the data. For a better model, set `epochs_here` to 5
# and wait a few minutes. If you press *Stop*, the model keeps what it has learned.

# %% tags=["nbval-ignore-output"]
epochs_here = 1
data = splits if epochs_here > 1 else Splits(splits.train[:1000], splits.validation[:100], [])
pupil = toy_models.train_toy("transformer", data, epochs=epochs_here)
print(pupil.translate("le facteur cache la voiture rouge ."))

# %% tags=["hide-input", "nbval-ignore-output"]
log = pupil.card["losses"]
print(f"loss {log[0]:.2f} at the first step, {log[-1]:.2f} at the last, step {len(log)}")
notebook.claim(log[-1] < 0.8 * log[0])

# %% [markdown]
# Our translator was made by `python -m recipes.translator`, in more than three hours on two cores.
# `helpers/pretrained/weights/README.md` describes that run.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 5.
# - Szegedy et al. (2016), "Rethinking the Inception Architecture for Computer Vision",
#   arXiv:1512.00567.
# - Kingma, Ba (2015), "Adam: A Method for Stochastic Optimization", arXiv:1412.6980.
# - Shannon (1948), "A Mathematical Theory of Communication".
# - *je suis étudiant* and its six-word vocabulary: Jay Alammar, "The Illustrated Transformer" (2018).
