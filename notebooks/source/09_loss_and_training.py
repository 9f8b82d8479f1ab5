# %% [markdown]
# # Loss and training
#
# **How does it learn?** We have a model that turns sentences into logits. This lesson says what is
# wrong with them in one number, and lets that number fall.
#
# At the end of these **60 minutes**, and half an hour more for the whole breakout, you can
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

from helpers import exercises, losses, metrics, plots, training
from helpers.pretrained import toy_models
from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.tokenization import PAD
from helpers.transformer import Transformer, TransformerConfig
from helpers.widgets.loss_explorer import LossExplorer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 six words 10 · 2 three numbers 8 · 3 padding 7 · 4 smoothing 6 · 5 learning rate 6 ·
# 6 training and table 13 · breakout 10: `cross_entropy` and four questions; the rest is for home.
#
# **When late**: section 5 is one picture; section 4 can be left to the questions.
#
# **Ask**: "What is the loss before training?" (log V; let them derive it) · "Why can BLEU be 100
# while the loss is not 0?" (BLEU sees only which word is the likeliest, not how sure the model is;
# the other way round it holds: loss 0 on these very sentences makes greedy write the references) ·
# "How can padding make a loss look good?" · "What would be the floor with ε = 0?" (0) · "Who has
# the highest rate, a narrow model or a wide one?" · "What of the table would another seed change?"
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
    # It wants the vocabulary on axis 1, so batch and places are flattened: (B, T, V) -> (B·T, V).
    loss = F.cross_entropy(tiny(src_ids, given).flatten(0, 1), answers.flatten())
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    curve.append(loss.item())
after = predict()
print(f"loss {curve[0]:.2f} at first, {curve[-1]:.2f} at the end")

# %% [markdown]
# **Predict:** what do the rows look like before training? And after 60 steps?

# %%
figure, panels = pyplot.subplots(1, 3, figsize=(11, 4))
for panel, rows, title in zip(
    panels, [target_rows, before, after], ["wanted", "before training", "after"], strict=True
):
    plots.attention_heatmap(rows, wanted, vocabulary, ax=panel)
    panel.set_title(title)
    panel.set_xlabel("word")
    panel.set_ylabel("right word")
notebook.figure(
    figure,
    alt="Three maps of places by words. Wanted: one dark cell in each row. Before training: rows two to "
    "five are darkest at the word before. After: nearly the same as wanted.",
    width=980,
)

# %% [markdown]
# Before training the rows are not even. From row two on, each is darkest at the word *before*: the model
# repeats what it was just given. Section 2 says why. After 60 steps each row has its word.

# %%
assert (after.argmax(-1) == targets).all() and after.max(-1).values.min() > 0.9
assert (before[1:].argmax(-1) == targets[:-1]).all()  # the word before

# %% [markdown]
# ## 2. One number for all of it
#
# **Cross-entropy** asks at each place: how probable was the right word? Its negative logarithm, in
# **nats** (with the natural logarithm; base 2 would give bits), averaged over the places:
#
# $$L = -\frac{1}{T} \sum_t \log p_t(\text{target}_t)$$

# %%
by_hand = -sum(math.log(after[t, target]) for t, target in enumerate(targets.tolist())) / len(
    targets
)
log_probs = after.log()
logits = log_probs + 7  # logits whose softmax is `after`; any shift would do
pytorchs = F.cross_entropy(logits, targets).item()
print(f"by hand {by_hand:.4f}, PyTorch {pytorchs:.4f}")
assert math.isclose(by_hand, pytorchs, abs_tol=1e-5)

# %% [markdown]
# `F.cross_entropy` wants **logits**; lesson 08 warned of probabilities here. It takes a softmax of a
# softmax, does not complain, and never gets near zero. With six words:

# %%
perfect = F.one_hot(targets, 6).float()  # a perfect prediction, as probabilities
print(f"a perfect prediction, given as probabilities: {F.cross_entropy(perfect, targets):.2f} nats")
assert F.cross_entropy(perfect, targets) > 1

# %% [markdown]
# In general the target is a distribution $q$, and the cross-entropy is $-\sum_w q_w \log p_w$; the
# **entropy** of the target is the same with $q$ in both places. Two relatives:
#
# - the **KL divergence** $KL(q\,\|\,p)$ is cross-entropy minus the target's own entropy. A target with
#   all weight on one word has entropy 0, so then the two agree.
# - **perplexity** is $e^L$: among how many equally likely words the model is choosing.

# %%
soft = losses.smooth_targets(targets, 6, 0.1)  # (T, V): 0.92 for the right word, 0.017 for others
cross = -(soft * log_probs).sum(-1).mean()
own = -(soft * soft.log()).sum(-1).mean()
kl = F.kl_div(log_probs, soft, reduction="batchmean")
print(f"cross-entropy {cross:.3f} − entropy {own:.3f} = KL {kl:.3f}")
torch.testing.assert_close(cross - own, kl)
assert math.isclose(metrics.perplexity(math.log(6)), 6, rel_tol=1e-6)

# %% [markdown]
# Move the prediction and watch the numbers. **Find:** a prediction whose most probable word is right
# and whose loss is still above 1.

# %%
LossExplorer()

# %% [markdown]
# For example student at 1.5 and the other four at 1 (there are five words here, without *thanks*):
# student leads with 0.29, and −log 0.29 = 1.23.

# %% [markdown]
# ### Landmarks of a curve
#
# Before training, a model of V words knows nothing: it should cost **log V**. A model that has only
# learned how *frequent* each word is costs the **unigram entropy**. What it gains below that, it
# gained by reading. **Predict:** of 1,900 steps, at about which does a curve pass the second?

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
    "log V, the Transformer above it; both pass the unigram entropy within twenty steps and end near "
    "zero.",
    width=640,
)

# %%
assert abs(curves["additive"][0] - log_v) < 0.1  # starts where ignorance starts
assert curves["transformer"][0] > log_v + 1  # starts worse
passed = {n: next(i for i, v in enumerate(c, 1) if v < unigram) for n, c in curves.items()}
print("first below the unigram entropy at step", passed)
assert max(passed.values()) <= 20 and all(c[-1] < 0.1 for c in curves.values())

# %% [markdown]
# Both pass the unigram entropy before step 20, in the first hundredth of the training. The GRU starts
# at log V, as it should. The Transformer starts *above*. Its output matrix is its
# embedding (lesson 08), and the residual path carries the word just read to the very end: so before
# any training it mostly **repeats the word it was given**, rather surely, and that is hardly ever
# the right next word.

# %%
untrained = toy_models.new_toy("transformer", splits).model.eval()
source_ids, target_ids = zip(*transformer.encode(splits.test[:50]), strict=True)
repeats, sure = [], []
with torch.inference_mode():
    for src, tgt in zip(source_ids, target_ids, strict=True):
        chances = untrained(torch.tensor([src]), torch.tensor([tgt[:-1]]))[0].softmax(-1)
        repeats += (chances.argmax(-1) == torch.tensor(tgt[:-1])).tolist()
        sure += chances.max(-1).values.tolist()
share, mean = sum(repeats) / len(repeats), sum(sure) / len(sure)
print(f"untrained, it repeats its input at {share:.0%} of the places, with probability {mean:.2f}")
assert share > 0.9

# %% [markdown]
# A start far above log V is worth a look in your own code. This one is over within ten steps.

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
# Your prediction: (2 + 0) / 2 = 1. Here a quarter of the places is padding: 3.07 · 9/12 ≈ 2.30, and the
# padding itself costs a little: 2.31. The
# wrong loss flatters, the same sentence costs less in a batch with a longer neighbour, and padding,
# the commonest target, is what such a model learns first. The same error hides in averages of
# averages: a batch of 3 words must not weigh as much as one of 300. Sum the nats, sum the words,
# divide once.

# %%
longer = F.pad(ids, (0, 4), value=PAD)
longer_scores = F.pad(scores, (0, 0, 0, 4))
longer_scores[:, 6:, PAD] = 8  # written nearly for sure
torch.testing.assert_close(losses.cross_entropy(longer_scores, longer, PAD), right)
print(f"with four more columns of padding, wrong: "
      f"{F.cross_entropy(longer_scores.flatten(0, 1), longer.flatten()):.2f}, right: {right:.2f}")  # fmt: skip

# %% [markdown]
# ## 4. Label smoothing
#
# A target of exactly 1 can only be met by infinite logits. The paper takes a share ε = 0.1 of it and
# spreads it evenly over all words (Szegedy et al. 2016). The model is asked to give the right word about
# 0.9, not 1. The paper found that this makes the perplexity worse and the BLEU better.

# %%
smooth = losses.smooth_targets(torch.tensor([4]), 6, 0.1)[0]
axes = plots.probability_bars(vocabulary, smooth, title="target for student, ε = 0.1", highlight=4)
notebook.figure(
    axes,
    alt="The smoothed target for student: a bar of 0.92 for student and 0.017 for each of the other five.",
    width=520,
)

# %%
ours = -(losses.smooth_targets(targets, 6, 0.1) * log_probs).sum(-1).mean()
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
# Adam (Kingma and Ba 2015) with β₂ = 0.98 (how long it remembers the gradients' size; usually
# 0.999), and a rate that first rises in a straight line for 4,000 steps, then falls with the
# inverse square root of the step:
#
# $$\mathrm{rate} = d_{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot
# \mathrm{warmup}^{-1.5})$$
#
# where $d_{model}$ is our $D$.

# %%
steps = range(50, 20_001, 50)
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
# Why rise at all? Two reasons are given. Adam divides by a running estimate of the gradients' size,
# and at first that estimate rests on a handful of batches. And in a post-norm model the last layers
# get large gradients while the stack is still random: lesson 07 trained with and without, and says
# who disputes this reason.
#
# Our own models warm up too, then fall in a straight line to zero: for a short training that ends at a
# known step this is simpler. And gradients longer than 1 are shortened to length 1 before the step
# (**clipping**), so that one odd batch cannot throw the model far.

# %% [markdown]
# ## 6. Train the Transformer
#
# The same data, rounds, batches and optimiser as the models of lessons 01 and 02. **To train it
# yourself**, set `train_here = True`: five rounds take two to three minutes on two cores, and Stop keeps
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
if not train_here:  # yours may have been stopped early
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
notebook.figure(axes, alt="The loss of the first round falls from about 6.5 to below 3.", width=560)

# %% [markdown]
# ### The closing table
#
# BLEU (lesson 01), from 0 to 100, counts words and short phrases that agree with the reference.
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
    toy = transformer if name == "transformer" else toy_models.load_toy(name)
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
    print(f"{label:>18} {toy.n_parameters:>11,} {toy.card['seconds'] / len(toy.card['validation_losses']):>12.0f}",
          *(f"{b:>11.1f}" for b in by_length), f"{found[name]:>6.1f}")  # fmt: skip
assert found["additive"] > 95 > found["gru"]
if not train_here:  # yours may have been stopped early
    assert found["transformer"] > 95 and transformer.card["validation_losses"][-1] < 0.05

# %% [markdown]
# Fair in data, rounds and optimiser, not in size: the Transformer has 2.7 times the parameters of the
# GRU with attention, and that is part of why its round takes longest. The seconds were recorded on
# one core when the models were trained (if you trained here, that row is from your machine). On
# sentences of 40 words and a core or two the Transformer's lack of a loop buys little. It pays on
# hardware that computes many positions at once, which we did not measure here. On a corpus this
# regular, both models with attention are as good as perfect. To separate them one would need real
# data.
#
# ### The bundled translator
#
# The translator you met in lesson 00 is the same class, `Transformer`, trained on 29,000 captions with
# this command:
#
# ```
# python -m helpers.pretrained.recipes.translator
# ```
#
# It takes more than three hours on two cores. It trains twice: first on the pairs as they are, then
# with some of their sentences rewritten by trained models. What it reached, and how the training
# really went, is written beside its weights, in `helpers/pretrained/weights/README.md`. Here it translates
# twenty captions of our own, which it has never seen. (The last lines name BLEU's settings, so that
# others can repeat it, and the scores stored with the weights.)

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
# Twenty sentences are few, and one reference each is strict. The next cell repeats the stored greedy
# score on the 1,000 test captions: set `fetch = True`, which allows it to fetch them once (about 45 kB).

# %% tags=["nbval-ignore-output"]
fetch = False
if fetch:
    from helpers.data import corpus

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
# Average the weights of the last rounds and see whether the validation loss of the toy Transformer
# falls: `import dataclasses`, `toy = toy_models.new_toy("transformer", splits)`, then `history =
# training.train(toy.model, toy.encode(splits.train), toy.encode(splits.validation),
# dataclasses.replace(toy_models.settings(), average_decay=0.998))`. Compare
# `history.validation_losses[-1]` with `transformer.card["validation_losses"][-1]`. Then cut the
# training data to 2,000 pairs: which of the three models of the table suffers least?

# %% [markdown]
# ## Myth or fact?
#
# **"The final softmax outputs log-probabilities."** A myth: probabilities, and they sum to one. The
# logarithms come from `log_softmax`. `F.cross_entropy` wants logits. (Log-probabilities do no harm there:
# their softmax is the distribution again. Probabilities do.)

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
# - Label smoothing asks for about 0.9, not 1: the loss then has a floor.
# - The rate: warm-up, then $\text{step}^{-0.5}$.
#
# | | shape |
# |---|---|
# | logits | $(B, T, V)$ |
# | targets | $(B, T)$ |
# | loss | one number |
#
# $$L = -\frac{1}{N} \sum_{\text{real } t} \log p_t(\text{target}_t)$$
#
# with $N$ the number of real places in the batch; without padding it is section 2's $T$, for one
# sentence.
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
