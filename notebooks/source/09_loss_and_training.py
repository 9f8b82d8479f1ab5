# %% [markdown]
# # Loss and training
#
# **How does it learn?** We have a model that turns sentences into logits. This lesson says what is
# wrong with them in one number, and lets that number fall.
#
# At the end of these **60 minutes** you can
#
# - compare a target distribution with a predicted one, by cross-entropy, KL and perplexity,
# - read a loss curve by its landmarks,
# - keep padding out of the loss, and say what happens if you don't,
# - smooth labels, and draw the learning rate of the paper,
# - train a Transformer, and compare it fairly with the models of lessons 01 and 02.
#
# You need lesson 07 (the model) and lesson 08 (logits, softmax, shift).

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math
from collections import Counter

import torch
import torch.nn.functional as F
from matplotlib import pyplot

from helpers import exercises, losses, metrics, plots, toy_models, training
from helpers.captions import CAPTIONS
from helpers.pretrained import load_translator
from helpers.tokenization import PAD
from helpers.transformer import Transformer, TransformerConfig
from helpers.widgets.loss_explorer import LossExplorer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 six words 10 · 2 three numbers 8 · 3 padding 7 · 4 smoothing 6 · 5 learning rate 6 ·
# 6 training and table 13 · breakout 10.
#
# **When late**: section 5 is one picture; section 4 can be left to the questions.
#
# **Ask**: "What is the loss before training?" (log V; let them derive it) · "Why does a loss of 0 not
# mean a BLEU of 100, nor the reverse?"
#
# **What people get wrong**: softmax before `F.cross_entropy`; averaging over padding; averaging means
# of batches that differ in size; taking warm-up for a trick of Adam alone.

# %% [markdown]
# ## 1. Six words
#
# The whole vocabulary has six words. *je suis étudiant* is to become *i am a student*. At each place
# the **target** is a distribution, too: all of it on one word.

# %%
vocabulary = ["a", "am", "i", "thanks", "student", "<eos>"]
wanted = ["i", "am", "a", "student", "<eos>"]
targets = torch.tensor([vocabulary.index(word) for word in wanted])  # (T=5,)
target_rows = F.one_hot(targets, len(vocabulary)).float()  # (T, V)

# %%
notebook.picture("target_and_predicted_distributions")

# %% [markdown]
# Here is a Transformer so small that it trains while you read: width 16, one layer. The three French
# words are ids 4, 5, 6; the English ones come after the four special tokens.

# %%
notebook.set_seed(0)
tiny = Transformer(
    TransformerConfig(
        src_vocab_size=7, tgt_vocab_size=10, d_model=16, n_heads=2, n_layers=1, d_ff=32, dropout=0.0,
        norm_first=True,
    )
)  # fmt: skip
src_ids = torch.tensor([[4, 5, 6]])  # (B=1, S=3)
tgt_ids = torch.cat([torch.tensor([1]), targets + 4])[None]  # (1, T+1): begin of sentence first
given, answers = tgt_ids[:, :-1], tgt_ids[:, 1:]  # shifted by one, lesson 08


def predict():
    with torch.no_grad():
        return tiny(src_ids, given)[0, :, 4:].softmax(-1)  # (T, V=6), without the special tokens


before = predict()
optimiser = torch.optim.Adam(tiny.parameters(), lr=0.01)
curve = []
for _ in range(60):
    loss = F.cross_entropy(tiny(src_ids, given).flatten(0, 1), answers.flatten())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    curve.append(loss.item())
after = predict()

# %% [markdown]
# **Predict:** what do the rows look like before training? And after 60 steps?

# %%
figure, panels = pyplot.subplots(1, 3, figsize=(11, 4))
for panel, rows, title in zip(
    panels, [target_rows, before, after], ["wanted", "before training", "after"], strict=True
):
    plots.attention_heatmap(rows, wanted, vocabulary, ax=panel)
    panel.set_title(title)
    panel.set_xlabel("predicted word")
    panel.set_ylabel("place")
notebook.figure(
    figure,
    alt="Three maps of places by words. Wanted: one dark cell in each row. Before training: no "
    "pattern. After: nearly the same as wanted.",
    width=980,
)

# %%
assert (after.argmax(-1) == targets).all() and after.max(-1).values.min() > 0.9
assert (before.argmax(-1) == targets).float().mean() < 1

# %% [markdown]
# ## 2. One number for all of it
#
# **Cross-entropy** asks at each place: how probable was the right word? Its negative logarithm, in
# **nats**, averaged over the places:
#
# $$L = -\frac{1}{T} \sum_t \log p_t(\text{target}_t)$$

# %%
by_hand = -sum(math.log(after[t, target]) for t, target in enumerate(targets.tolist())) / len(
    targets
)
logits = after.log()  # one choice of logits whose softmax is `after`; any shift of them is another
pytorchs = F.cross_entropy(logits + 7, targets).item()
print(f"by hand {by_hand:.4f}, PyTorch {pytorchs:.4f}")
assert math.isclose(by_hand, pytorchs, abs_tol=1e-5)

# %% [markdown]
# `F.cross_entropy` wants **logits**. Give it probabilities and it takes a softmax of a softmax, does
# not complain, and never gets near zero:

# %%
perfect = F.one_hot(targets, 6).float()  # a perfect prediction, as probabilities
print(f"a perfect prediction, given as probabilities: {F.cross_entropy(perfect, targets):.2f} nats")
assert F.cross_entropy(perfect, targets) > 1

# %% [markdown]
# Two relatives:
#
# - the **KL divergence** from prediction to target is cross-entropy minus the target's own entropy.
#   A target with all weight on one word has entropy 0, so then the two agree.
# - **perplexity** is $e^L$: among how many equally likely words the model is choosing.

# %%
soft = losses.smooth_targets(targets, 6, 0.1)  # (T, V), see section 4
cross = -(soft * after.log()).sum(-1).mean()
own = -(soft * soft.log()).sum(-1).mean()
kl = F.kl_div(after.log(), soft, reduction="batchmean")
print(f"cross-entropy {cross:.3f} − entropy {own:.3f} = KL {kl:.3f}")
torch.testing.assert_close(cross - own, kl)
assert math.isclose(metrics.perplexity(math.log(6)), 6, rel_tol=1e-6)

# %% [markdown]
# Move the prediction and watch the numbers. **Find:** a prediction whose most probable word is right
# and whose loss is still above 1.

# %%
LossExplorer()

# %% [markdown]
# ### Landmarks of a curve
#
# Before training, a model of V words knows nothing: it should cost **log V**. A model that has only
# learned how *frequent* each word is costs the **unigram entropy**. What it gains below that, it
# gained by reading. **Predict:** in which order does a curve pass them?

# %%
splits = toy_models.toy_data()
transformer = toy_models.load_toy("transformer")
counts = Counter(word for pair in splits.train for word in [*pair.target, "<eos>"])
frequencies = torch.tensor(list(counts.values()), dtype=torch.float64)
frequencies /= frequencies.sum()
unigram = -(frequencies * frequencies.log()).sum().item()
log_v = math.log(len(transformer.target))
print(f"log V = {log_v:.2f}, unigram entropy {unigram:.2f}")

# %%
curves = {
    name: toy_models.load_toy(name).card["losses"][:1900] for name in ("additive", "transformer")
}
_, axes = pyplot.subplots()
axes.set_xscale("log")
plots.labelled_lines(
    range(1, 1901),
    {"GRU + attention": curves["additive"], "Transformer": curves["transformer"]},
    ax=axes,
    x_label="step",
    y_label="loss (nats per word)",
)
landmarks = [(log_v, "log V"), (unigram, "unigram entropy")]
for height, name in landmarks:
    axes.axhline(height, color=plots.GREY, linestyle="--")
    axes.text(1900, height + 0.08, name, color=plots.GREY, ha="right")
notebook.figure(
    axes,
    alt="Training losses of two toy models, steps on a logarithmic scale. The GRU with attention starts at "
    "log V, the Transformer above it; both pass the unigram entropy within some ten steps and end near "
    "zero.",
    width=640,
)

# %%
assert abs(curves["additive"][0] - log_v) < 0.1  # starts where ignorance starts
assert curves["transformer"][0] > log_v + 1  # starts worse
assert all(min(curve[:20]) < log_v and curve[-1] < 0.1 < unigram for curve in curves.values())

# %% [markdown]
# The GRU starts at log V, as it should. The Transformer starts *above*: its first logits are large and
# random, so it is sure of the wrong words, and that costs more than knowing nothing. A start far above
# log V is worth a look in your own code. This one is over within ten steps.

# %% [markdown]
# ## 3. Padding must not count
#
# Sentences of a batch differ in length, and the short ones are filled up. **Predict:** the model's
# loss on real words is 2. It has learned to write padding after the end perfectly. What does a mean
# over *all* places say if half of them are padding?

# %%
notebook.set_seed(1)
ids = torch.tensor([[5, 7, 2, PAD, PAD, PAD], [6, 4, 8, 9, 3, 2]])  # (B=2, T=6)
scores = torch.randn(2, 6, 10)
scores[0, 3:, PAD] += 8  # writes padding after the end, nearly for sure
wrong = F.cross_entropy(scores.flatten(0, 1), ids.flatten())
right = losses.cross_entropy(scores, ids, PAD)
print(f"over all places {wrong:.2f}, over real words {right:.2f}")
torch.testing.assert_close(
    right, F.cross_entropy(scores.flatten(0, 1), ids.flatten(), ignore_index=PAD)
)
assert wrong < right

# %% [markdown]
# The wrong loss flatters, and the same sentence costs less in a batch with a longer neighbour. The
# same error hides in averages of averages: a batch of 3 words must not weigh as much as one of 300.
# Sum the nats, sum the words, divide once.

# %%
longer = F.pad(ids, (0, 4), value=PAD)
longer_scores = F.pad(scores, (0, 0, 0, 4))
torch.testing.assert_close(losses.cross_entropy(longer_scores, longer, PAD), right)
print(f"with four more columns of padding, wrong: "
      f"{F.cross_entropy(longer_scores.flatten(0, 1), longer.flatten()):.2f}, right: {right:.2f}")  # fmt: skip

# %% [markdown]
# ## 4. Label smoothing
#
# A target of exactly 1 can only be met by infinite logits. The paper takes a share ε = 0.1 of it and
# spreads it evenly over all words (Szegedy et al. 2016). The model is asked to be sure, not certain.

# %%
smooth = losses.smooth_targets(torch.tensor([4]), 6, 0.1)[0]
axes = plots.probability_bars(vocabulary, smooth, title="target for student, ε = 0.1", highlight=4)
notebook.figure(
    axes,
    alt="The smoothed target for student: a bar of 0.92 for student and 0.017 for each of the other five.",
    width=520,
)

# %%
ours = -(losses.smooth_targets(targets, 6, 0.1) * logits).sum(-1).mean()
theirs = F.cross_entropy(logits, targets, label_smoothing=0.1)
torch.testing.assert_close(ours, theirs)
print(f"ours {ours:.4f}, PyTorch's {theirs:.4f}")

# %% [markdown]
# **Predict:** with smoothing, can the loss reach zero? The lowest it can get is the entropy of the
# smoothed target:

# %%
floor = -(smooth * smooth.log()).sum().item()
print(f"lowest possible loss with ε = 0.1 and six words: {floor:.2f} nats")
assert floor > 0.4

# %% [markdown]
# ## 5. The learning rate of the paper
#
# Adam with β₂ = 0.98, and a rate that first rises in a straight line for some thousand steps, then
# falls with the inverse square root of the step:
#
# $$\mathrm{rate} = d_{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot
# \mathrm{warmup}^{-1.5})$$

# %%
steps = range(1, 20_001, 50)
widths = {
    f"D = {d}": [1000 * training.warmup_rate(s, d, 4000) for s in steps] for d in (128, 512, 1024)
}
axes = plots.labelled_lines(list(steps), widths, x_label="step", y_label="learning rate × 1000")
notebook.figure(
    axes,
    alt="Learning rate against step for three widths: a straight rise until step 4,000, then a slow "
    "fall. Wider models get smaller rates.",
    width=620,
)

# %%
peak = max(steps, key=lambda s: training.warmup_rate(s, 512, 4000))
print(f"highest near step {peak}; four times as late the rate has halved:",
      f"{training.warmup_rate(16_000, 512, 4000) / training.warmup_rate(4000, 512, 4000):.2f}")  # fmt: skip
assert math.isclose(
    training.warmup_rate(16_000, 512, 4000), training.warmup_rate(4000, 512, 4000) / 2
)

# %% [markdown]
# Why rise at all? Adam divides by a running estimate of the gradients' size, and at first that
# estimate rests on a handful of batches. Lesson 07 trained with and without: post-norm needs it.

# %% [markdown]
# ## 6. Train the Transformer
#
# The same data, rounds, batches and optimiser as the models of lessons 01 and 02. **To train it
# yourself**, set `train_here = True`: five rounds take about two minutes on two cores, and Stop keeps
# what has been learned. The model that is loaded had eight rounds, like the others.

# %%
train_here = False
if train_here:
    transformer = toy_models.train_toy("transformer", splits, epochs=5)
mine = [
    words.replace(" .", ".")
    for words in transformer.translate([p.source for p in splits.test[:200]])
]
score = metrics.bleu(mine, [" ".join(p.target).replace(" .", ".") for p in splits.test[:200]])
print(f"{transformer}: BLEU {score:.1f} after {len(transformer.card['validation_losses'])} rounds")
assert score > 95

# %% [markdown]
# One round on a fifth of the data, live, to see the bar:

# %% tags=["nbval-ignore-output"]
few = splits._replace(train=splits.train[:4000])
pupil = toy_models.train_toy("transformer", few, epochs=1)
axes = plots.labelled_lines(
    range(1, len(pupil.card["losses"]) + 1),
    {"one round": pupil.card["losses"]},
    x_label="step",
    y_label="loss (nats per word)",
)
assert pupil.card["losses"][-1] < 0.7 * pupil.card["losses"][0]
notebook.figure(axes, alt="The loss of the first round falls from about 5 to below 3.", width=560)

# %% [markdown]
# ### The closing table
#
# **Predict:** which model is best beyond 20 words? Which takes longest for a round, and why?

# %% tags=["nbval-ignore-output"]
test = splits.test[:500]
groups = [(4, 8), (9, 20), (21, 40)]
found = {}
print(
    f"{'model':>18} {'parameters':>11} {'s per round':>12}",
    *(f"BLEU {a}–{b}".rjust(11) for a, b in groups),
    "   all",
)
for name, label in [
    ("gru", "GRU"),
    ("additive", "GRU + attention"),
    ("transformer", "Transformer"),
]:
    toy = toy_models.load_toy(name)
    written = [w.replace(" .", ".") for w in toy.translate([p.source for p in test])]
    wanted_texts = [" ".join(p.target).replace(" .", ".") for p in test]
    by_length = [
        metrics.bleu(
            *zip(
                *[
                    (w, r)
                    for w, r, p in zip(written, wanted_texts, test, strict=True)
                    if a <= len(p.source) <= b
                ],
                strict=True,
            )
        )
        for a, b in groups
    ]
    found[name] = metrics.bleu(written, wanted_texts)
    print(f"{label:>18} {toy.n_parameters:>11,} {toy.card['seconds'] / toy.card['epochs']:>12.0f}",
          *(f"{b:>11.1f}" for b in by_length), f"{found[name]:>6.1f}")  # fmt: skip
assert found["transformer"] > 95 and found["additive"] > 95 > found["gru"]
assert transformer.card["validation_losses"][-1] < 0.05

# %% [markdown]
# The seconds were recorded on one core when the models were trained. On sentences of 40 words and two
# cores the Transformer's lack of a loop buys little; it buys everything on hardware that does
# thousands of things at once. On a corpus this regular, both models with attention are as good as
# perfect. What separates them takes real data.
#
# ### The bundled translator
#
# The translator you met in lesson 00 is the same class, `Transformer`, trained on 29,000 captions by
# one command:
#
# ```
# python -m helpers.training
# ```
#
# A few minutes on a graphics processor, about two hours on two cores. What it reached is written
# beside its weights, in `helpers/weights/README.md`. Here it translates twenty captions of our own,
# which it has never seen:

# %% tags=["nbval-ignore-output"]
translator = load_translator()
sources, references = zip(*CAPTIONS, strict=True)
greedy = metrics.bleu(translator.translate(list(sources)), references)
beam = metrics.bleu(translator.translate(list(sources), beam_size=4), references)
print(f"BLEU on our twenty captions: greedy {greedy:.1f}, beam of 4 {beam:.1f}")
print(metrics.bleu_signature())
assert greedy > 30
print({k: v for k, v in translator.card.items() if "bleu" in k})

# %% [markdown]
# Twenty sentences are few, and one reference each is strict. With the data on this machine (about
# 2 MB are fetched if you allow it), the next cell repeats the card's greedy score on the 1,000 test
# captions; set `fetch = True`.

# %% tags=["nbval-ignore-output"]
fetch = False
if fetch:
    from helpers import corpus

    captions = corpus.multi30k("test_2016_flickr")
    written = translator.translate([p.source for p in captions])
    print(f"BLEU {metrics.bleu(written, [p.target for p in captions]):.1f}")

# %% [markdown]
# ## Breakout

# %%
exercises.heading("cross_entropy")


# %%
def cross_entropy(logits, targets, pad_id):
    """(B, T, V), (B, T), an id -> one number, the mean over what is not padding"""
    ...


exercises.check("cross_entropy", cross_entropy)

# %%
exercises.heading("smooth_targets")


# %%
def smooth_targets(targets, vocab_size, epsilon):
    """(...) -> (..., V)"""
    ...


exercises.check("smooth_targets", smooth_targets)

# %%
exercises.heading("warmup_rate")


# %%
def warmup_rate(step, d_model, warmup_steps):
    """three numbers -> a number; steps are counted from 1"""
    ...


exercises.check("warmup_rate", warmup_rate)

# %%
exercises.heading("perplexity")


# %%
def perplexity(mean_losses, counts):
    """(N,), (N,) -> one number"""
    ...


exercises.check("perplexity", perplexity)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("what_cross_entropy_wants")

# %%
exercises.quiz("landmark_log_v")

# %%
exercises.quiz("padding_in_the_loss")

# %%
exercises.quiz("smoothed_target")

# %%
exercises.quiz("shape_of_the_rate")

# %%
exercises.quiz("order_of_training_step")

# %%
exercises.quiz("perplexity_and_loss")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("when_to_stop")

# %%
exercises.quiz("which_number_to_trust")

# %% [markdown]
# ### Going further
#
# Average the weights of the last rounds (`average_decay=0.998` in `TrainingSettings`) and see whether
# the validation loss of the toy Transformer falls. Then cut the training data to 2,000 pairs: which
# of the three models of the table suffers least?

# %% [markdown]
# ## Myth or fact?
#
# **"The final softmax outputs log-probabilities."** A myth: probabilities, and they sum to one. The
# logarithms come from `log_softmax`; `F.cross_entropy` wants neither, but logits.

# %%
row = torch.tensor([2.0, 1.0, 0.0])
print(
    f"softmax sums to {row.softmax(-1).sum():.2f}, log_softmax to {row.log_softmax(-1).sum():.2f}"
)
right_way = F.cross_entropy(row[None], torch.tensor([0]))
torch.testing.assert_close(right_way, -row.log_softmax(-1)[0])
assert not torch.isclose(F.cross_entropy(row.softmax(-1)[None], torch.tensor([0])), right_way)

# %% [markdown]
# **"The original schedule decays exponentially."** A myth: with the inverse square root of the step.
# An exponential loses the same *factor* in each equal stretch; this one does not:

# %%
rates = [training.warmup_rate(s, 512, 4000) for s in (8000, 16_000, 24_000, 32_000)]
factors = [later / earlier for earlier, later in zip(rates, rates[1:], strict=False)]
print("factor from one 8,000 steps to the next:", [round(f, 2) for f in factors])
assert factors[0] < factors[1] < factors[2]

# %% [markdown]
# ## Summary
#
# - Target and prediction are distributions; cross-entropy compares them, in nats.
# - Landmarks: log V, then the unigram entropy.
# - Padding counts nowhere. Sum first, divide once.
# - Label smoothing asks to be sure, not certain: the loss then has a floor.
# - Warm-up, then step^−0.5.
#
# | | shape |
# |---|---|
# | logits | $(B, T, V)$ |
# | targets | $(B, T)$ |
# | loss | one number |
#
# $$L = -\frac{1}{N} \sum_{\text{real } t} \log p_t(\text{target}_t)$$
#
# **Lesson 10** hands you the tools: build a Transformer.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 5.
# - Szegedy et al. (2016), "Rethinking the Inception Architecture for Computer Vision",
#   arXiv:1512.00567.
# - Kingma, Ba (2015), "Adam: A Method for Stochastic Optimization", arXiv:1412.6980.
# - Elliott, Frank, Sima'an, Specia (2016), "Multi30K", arXiv:1605.00459.
# - Post (2018), "A Call for Clarity in Reporting BLEU Scores", arXiv:1804.08771.
