# %% [markdown]
# # BERT: one encoder, many tasks
#
# You now know where a model's ids come from. This lesson gives them to an encoder, first as whole words of the toy
# corpus and then as MiniLM's pieces.
#
# Fill the gap: *the ___ behind the house sings*. Now this one: *the ___ behind the house sing*. To choose between
# *woman* and *women* you needed the verb, and the verb comes *after* the gap. A decoder can't use it, because its
# causal mask hides everything on the right.
#
# The encoder has no such mask. In 2018 a team at Google dropped the decoder, trained the encoder alone to fill
# gaps, and called it BERT. Although BERT can't write you a letter, it turned out to be very good at reading. With
# one small layer on top it classified texts, compared them, and found answers in them, and it did so better than
# the models built for those tasks. How can you train a model that only reads, and what can you do with it?

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import json
from dataclasses import replace
from pathlib import Path

from IPython.display import display
import torch
import torch.nn.functional as F
from matplotlib import pyplot
from tqdm.auto import tqdm

import helpers
from helpers import exercises, plots
from helpers.models import bert, lora
from helpers.data.corpus import toy_corpus
from helpers.data.reviews import film_reviews, product_reviews
from helpers.data.toy_lexicon import ANIMALS, PEOPLE
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.sentiment import load_sentiment
from helpers.widgets.model_map import model_map
from helpers.widgets.word_flipper import WordFlipper

compared = Path(helpers.__file__).parent / "pretrained" / "ways_to_fine_tune.json"
compared = json.loads(compared.read_text(encoding="utf-8"))


def average(numbers):
    return sum(numbers) / len(numbers)


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook and warm-up 5 · 1 filling gaps 15 · 2 one vector per review 12 · 3 how many labels 5 ·
# 4 LoRA 11 · try it, the map and the summary 2. So section 2 begins at minute 20 and section 4 at minute 37.
# *Practice* and *Going deeper* can be done at home.
#
# **Say first**: everything in this model has been built in lessons 03 to 07. Only the training and the layer on top
# are new.
#
# **Show**: the hook's two sentences on the board, with the verb covered by your hand. Take your hand away
# once people have guessed.
#
# **While it computes**: the small BERT in section 1 trains for about a quarter of a minute, and section 3 reads its
# 500 reviews in about five seconds. Use the first wait to collect reasons for the votes. The comparisons in sections 2
# to 4 were measured beforehand and appear at once.
#
# **Ask**
#
# - After `mask_tokens`: "Why doesn't BERT see the word it has to guess?" (mostly it was replaced in the input; if
#   somebody objects that 10% stay: the model can't tell which ones) · "How often does the model see [MASK] when we
#   use its vectors?" (never, hence the 20% that are something else)
# - In section 2: "Has [CLS] read the review?" (it has attended to every word, but only training makes its vector a
#   summary)
# - In section 4, after the merge: "How large is the correction $BA$?" (as large as $W$, but of rank 16)
#
# **Mistakes to expect, and what to say**
#
# - The loss is taken over all positions. Ask what a model has to do to predict a token that's still in its input.
# - *Frozen* is taken for *random*. The weights are trained, they just stay as they are.
# - The mean counts the padding. Ask what happens to a short review in a batch with a long one.
# - LoRA is taken for compression. The model stays as large as it was; what's small is the part that is trained
#   and stored per task.
#
# For the answers to the predictions, see the reveals.
#
# **If you're running late**: set `pair_input` in section 2 as homework (five minutes; lesson 13 joins two texts in
# this way, so say what it returns), then `masked_lm_loss` in section 1 (four). In section 3, skip the vote on 50
# labels, but keep the one on 5,000. Don't skip `lora_forward`, because it holds section 4's one idea.

# %%
exercises.warm_up(12)

# %% [markdown]
# ## 1. How do you train a model that only reads?
#
# A decoder learns by predicting the next token. That doesn't work for an encoder: it sees the next token already,
# so it would only have to copy it. BERT's trick is to **hide some tokens and let the model predict them**, which is
# called *masked language modelling*. We'll do it right here, with a small BERT and short sentences from our toy
# corpus.

# %%
pairs = toy_corpus(4000, seed=12, lengths=(4, 9))
sentences = [pair.target for pair in pairs]  # English, split into words
vocabulary = ["[PAD]", "[MASK]", *sorted({word for words in sentences for word in words})]
place = {word: i for i, word in enumerate(vocabulary)}
print(" ".join(sentences[0]), "|", len(vocabulary), "words")

# %% tags=["hide-input"]
PAD, MASK = 0, 1


def encode(sentences):
    longest = max(map(len, sentences))
    rows = [[place[word] for word in words] + [PAD] * (longest - len(words)) for words in sentences]
    return torch.tensor(rows)


all_ids = encode(sentences)
unseen, train_ids = all_ids[:500], all_ids[500:]

# %% [markdown]
# Which tokens do we hide? BERT chooses 15% of the tokens at random, and the model has to predict every one of them.
# Of the chosen tokens, 80% are replaced by the special token [MASK] and 10% by a random token, while the other 10%
# stay as they are. Why not replace them all by [MASK]? You'll test that in *Going deeper*.
#
# ### Your turn (5 min)

# %% tags=["hide-input"]
exercises.heading("mask_tokens")


# %%
def mask_tokens(token_ids, chosen, lot, random_ids, mask_id):
    """(B, S) ids, chosen, random numbers 0 to 1, random ids -> input ids (B, S)"""
    input_ids = token_ids.clone()
    input_ids[chosen & (lot < 0.8)] = ...  # ← fill the gap
    swapped = ...  # ← which tokens become random?
    input_ids[swapped] = random_ids[swapped]
    return input_ids


# %% tags=["hide-input"]
exercises.check("mask_tokens", mask_tokens)

# %% [markdown]
# The loss is the cross-entropy of lesson 09, with one difference: it's computed over the chosen positions only,
# because everywhere else the answer is simply there in the input.
#
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("masked_lm_loss")


# %%
def masked_lm_loss(logits, token_ids, chosen):
    """(B, S, V), (B, S), (B, S) bool -> scalar, in nats"""
    ...


# %% tags=["hide-input"]
exercises.check("masked_lm_loss", masked_lm_loss)

# %% [markdown]
# Here's the model. As in BERT, its layers are post-norm (lesson 07). It has two encoder layers and 64 numbers
# per token, and a layer on top turns each vector into one logit per word. Next we'll train it for 700 steps
# and then give it the two gaps from the beginning.

# %%
config = bert.BertConfig(
    vocab_size=len(vocabulary), d_model=64, n_heads=4, n_layers=2, d_ff=128, max_len=20, dropout=0.0
)
small_bert = bert.MaskedLanguageModel(bert.BertEncoder(config))

# %% tags=["hide-input"]
PLURAL = [place[noun.en_plural] for noun in PEOPLE + ANIMALS]
SINGULAR = [place[noun.en] for noun in PEOPLE + ANIMALS]


def fresh_bert(seed=0):
    notebook.set_seed(seed)
    return bert.MaskedLanguageModel(bert.BertEncoder(config))


def learn_to_fill(model, steps=700, always_mask=False, peak=4e-3):
    draw, losses = torch.Generator().manual_seed(0), []
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    for step in tqdm(range(steps), desc="filling gaps"):
        ids = train_ids[torch.randint(len(train_ids), (128,), generator=draw)]
        chosen = (torch.rand(ids.shape, generator=draw) < 0.15) & (ids != PAD)
        lot = torch.rand(ids.shape, generator=draw) * (0.8 if always_mask else 1.0)
        random_ids = torch.randint(2, len(vocabulary), ids.shape, generator=draw)
        input_ids = bert.mask_tokens(ids, chosen, lot, random_ids, MASK)
        loss = bert.masked_lm_loss(model(input_ids), ids, chosen)
        for group in optimiser.param_groups:
            group["lr"] = peak * min((step + 1) / 40, (steps - step) / steps + 0.02)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    model.eval()
    return losses


@torch.no_grad()
def fill(model, sentence):
    words = sentence.split()
    ids = torch.tensor([[MASK if word == "___" else place[word] for word in words]])
    return model(ids)[0, words.index("___")].softmax(-1)


def plural_share(probabilities):
    return probabilities[PLURAL].sum().item()


gaps = "the ___ behind the house sings .", "the ___ behind the house sing ."
before = [fill(fresh_bert().eval(), gap) for gap in gaps]

# %%
exercises.predict("gap_needs_the_right")

# %% tags=["hide-input", "nbval-ignore-output"]
small_bert = fresh_bert()
losses = learn_to_fill(small_bert)
after = [fill(small_bert, gap) for gap in gaps]
exercises.reveal("gap_needs_the_right", measured=100 * plural_share(after[1]))
figure, axes = pyplot.subplots(2, 2, figsize=(9, 5.4), layout="constrained")
for row, (when, found) in enumerate((("before training", before), ("after training", after))):
    for column, (gap, probabilities) in enumerate(zip(gaps, found, strict=True)):
        best = probabilities.topk(6)
        plots.probability_bars(
            [vocabulary[i] for i in best.indices.tolist()],
            best.values,
            ax=axes[row, column],
            title=f"{gap.removesuffix(' .')}\n{when}",
        )
for ax in axes.flat:  # one scale for all four
    ax.set_xlim(0, 1.2 * max(probabilities.max().item() for probabilities in after))
print(
    f"plural nouns before sing: {plural_share(after[1]):.0%}, before sings: {plural_share(after[0]):.0%}"
)
assert plural_share(after[1]) > 0.6 and plural_share(after[0]) < 0.2
assert after[0][SINGULAR].sum() > 0.6 and losses[0] > 4
notebook.figure(
    figure,
    alt="The six most probable words for the gap in both sentences. Before training they are "
    "arbitrary and all improbable. After training they are singular nouns before sings and plural "
    "nouns before sing.",
    width=760,
)

# %% [markdown]
# The two sentences differ in nothing but the verb, so a model that reads from left to right would have to fill both
# gaps in the same way. Ours doesn't, because the gap's position can attend to the verb.
#
# The real BERT was pretrained in just this way, only on a much larger scale. It read 3.3 billion words of books
# and Wikipedia, and the smaller of its two versions has 110 million parameters. Its authors also had it predict
# whether one text follows another, but later models dropped this second task (Liu et al. 2019).

# %%
exercises.quiz("who_can_write")

# %% [markdown]
# ## 2. How does a review become one vector?
#
# Nobody needs the gaps filled, but the vectors that BERT learns on the way are useful. Here's a task that people
# pay for: find out from a review whether its author liked the film. We take MiniLM, the small BERT that you know
# from lesson 03, and 7,720 one-line reviews. Each has a label from a person, 1 if the review is positive and 0 if
# it's negative.

# %%
minilm = load_minilm()
train, validation, test = (film_reviews(split) for split in ("train", "validation", "test"))
for review in train[3:6]:
    print(review.label, review.text)

# %% [markdown]
# The encoder gives one vector per token, but we need one per review. You met a candidate in lesson 11: **[CLS]** comes
# first in every text, and its output vector is meant for classification. BERT can also read two texts together, as
# [CLS] first [SEP] second [SEP], and the **segments** of lesson 11 show which text a token belongs to. Each segment
# has a learned vector, which is added to the token's.

# %% [markdown]
# ### Your turn: find the bug (4 min)
#
# Somebody wrote a function that joins two texts, and then wondered why the model was so bad at comparing them. The
# function has two mistakes. The last line prints the ids and the segments for a first text of two words and a
# second text of one word.

# %% tags=["hide-input"]
exercises.heading("pair_input")


# %%
def pair_input(first, second, cls_id, sep_id):
    """two lists of ids -> ids (S,), segments (S,)"""
    ids = [cls_id, *first, sep_id, *second]
    segments = [0] * (len(first) + 1) + [1] * (len(second) + 1)
    return torch.tensor(ids), torch.tensor(segments)


print(pair_input([7, 8], [9], cls_id=101, sep_id=102))

# %% tags=["hide-input"]
exercises.check("pair_input", pair_input)

# %%
texts = [review.text for review in train[3:6]]
ids = minilm.encode(texts)  # (B=3, S), padded with 0
with torch.no_grad():
    hidden = minilm.model(ids)  # (B, S, D=384)
    cls = hidden[:, 0]  # (B, D)
    pooled = minilm.pooler(hidden)  # (B, D), tanh of a linear layer over cls

# %% tags=["hide-input"]
dense = minilm.pooler.dense
torch.testing.assert_close(pooled, torch.tanh(cls @ dense.weight.T + dense.bias))
assert not torch.allclose(pooled, cls, atol=0.1)
print("tokens:", minilm.tokens(texts[0])[:8], "…")
print("hidden", tuple(hidden.shape), " [CLS]", tuple(cls.shape), " pooled", tuple(pooled.shape))
print(
    f"entries of [CLS] from {cls.min():.2g} to {cls.max():.2g}, pooled from {pooled.min():.2g} to {pooled.max():.2g}"
)

# %% [markdown]
# So we already have two candidates. One is the [CLS] vector itself. The other is what many libraries call the
# *pooled output*, which is the [CLS] vector after a linear layer and tanh. A third candidate needs no special token
# at all: the mean of the vectors of all tokens, with the padding left out.
#
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("mean_pool")


# %%
def mean_pool(hidden, token_ids, pad_id):
    """(B, S, D), (B, S) -> (B, D)"""
    ...


# %% tags=["hide-input"]
exercises.check("mean_pool", mean_pool)

# %% [markdown]
# Which of the three works best? To find out, we keep MiniLM **frozen**, which means that none of its weights
# change. Then we have to compute the vectors of the reviews only once, and all that we train is a logistic
# regression on top, a single linear layer with a softmax. We do this eight times, each time with a new random
# draw of reviews for training.
# %%
exercises.predict("which_pooling")

# %% tags=["hide-input"]
frozen = compared["frozen"]
at_5000 = {name: average(frozen[name]["5000"]) for name in frozen}
exercises.reveal(
    "which_pooling", measured=max(("cls", "pooler", "mean"), key=lambda name: at_5000[name])
)
for name, label in (("pooler", "pooler"), ("cls", "[CLS]"), ("mean", "mean")):
    scores = frozen[name]["5000"]
    print(
        f"{label:>12}  {100 * at_5000[name]:.1f}%   eight draws: {100 * min(scores):.1f} to {100 * max(scores):.1f}"
    )
print(
    "\nMiniLM was trained so that the mean of its vectors represents a sentence (Reimers and Gurevych\n"
    "2019). This result is about MiniLM, then, and says nothing about BERT's own [CLS]."
)
assert at_5000["mean"] > max(at_5000["cls"], at_5000["pooler"]) + 0.03

# %% [markdown]
# ## 3. How many labels do you need?
#
# Labels cost money, because somebody has to read every review. Suppose you can afford only 50 of them.

# %%
exercises.predict("accuracy_from_fifty")

# %% tags=["hide-input"]
at_50 = frozen["mean"]["50"]
exercises.reveal("accuracy_from_fifty", measured=100 * average(at_50))
print(
    f"frozen mean, 50 labels: {100 * min(at_50):.0f}% to {100 * max(at_50):.0f}%, depending on which 50 reviews were drawn"
)

# %% [markdown]
# Is that good or bad? Let's compare it with a classic that needs no Transformer, the **bag of words**. It describes
# a review by one number per word of the vocabulary, 1 if the review contains the word and 0 if it doesn't. On top
# we put a logistic regression, as before. With 50 labels the bag of words gets 55%, hardly better than guessing.
# Now we give both methods 5,000 labels.

# %%
exercises.predict("words_or_vectors")

# %% tags=["hide-input"]
sizes = [50, 500, 5000]
lead = 100 * (average(frozen["mean"]["5000"]) - average(frozen["words"]["5000"]))
exercises.reveal(
    "words_or_vectors", measured="frozen" if lead > 2 else "words" if lead < -2 else "level"
)
METHODS = {
    "words": ("bag of words", plots.GREY, 8),
    "mean": ("frozen, mean", plots.BLUE, -14),
    "lora": ("LoRA, rank 16", plots.ORANGE, 0),
}  # a label, and how far it's moved from the end of its curve


def learning_curves(scores):
    """Draw a method's accuracy against the number of labels, with a band over its draws."""
    _, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, found in scores.items():
        label, colour, lift = METHODS[name]
        draws = [[100 * score for score in found[str(n)]] for n in sizes]
        axes.plot(sizes, [average(d) for d in draws], color=colour, marker="o")
        axes.fill_between(
            sizes, [min(d) for d in draws], [max(d) for d in draws], color=colour, alpha=0.2, lw=0
        )
        end = 5000, average(draws[-1])
        axes.annotate(label, end, xytext=(10, lift), textcoords="offset points", color=colour)
    axes.set_xscale("log")
    axes.set_xlim(40, 25_000)
    axes.set_ylim(45, 85)
    axes.set_xlabel("labelled reviews")
    axes.set_ylabel("accuracy on 1,000 other reviews, %")
    return axes


axes = learning_curves({name: frozen[name] for name in ("words", "mean")})
plots.mark_guess(axes, 50, exercises.guess("accuracy_from_fifty"))
gaps = {n: average(frozen["mean"][str(n)]) - average(frozen["words"][str(n)]) for n in sizes}
spread = {n: max(frozen["mean"][str(n)]) - min(frozen["mean"][str(n)]) for n in sizes}
leads = ", ".join(f"{100 * gap:.1f} with {n} labels" for n, gap in gaps.items())
print("lead of the frozen mean, in points:", leads)
assert min(gaps[50], gaps[500]) > 0.04 and abs(gaps[5000]) < 0.02
assert abs(average(frozen["words"]["50"]) - 0.55) < 0.01
assert spread[50] > 0.04 and spread[50] > 2 * spread[5000]
notebook.figure(
    axes,
    alt="Accuracy against the number of labelled reviews, with bands over eight draws. The frozen mean "
    "starts well above the bag of words at 50 labels and is still above it at 500. At 5,000 both are "
    "at about 75 percent. The bands are widest at 50 labels.",
    width=600,
)

# %% [markdown]
# Look at the width of the bands, which cover the eight draws of labelled reviews. With 50 labels, two people who
# try the same method can end up many points apart, just because they drew different reviews. So a single run on few
# labels tells you very little.
#
# A frozen encoder is also quick, as you can see for yourself. The first cell below reads 500 reviews with the
# frozen model, and the second fits a classifier on their vectors. The last term of the loss keeps the weights small. Without it, 384
# numbers per review are enough to fit all 500 labels perfectly, and the classifier gets worse on new reviews.


# %% tags=["nbval-ignore-output"]
def features(reviews):
    with torch.no_grad():
        ids = minilm.encode([review.text for review in reviews])
        return bert.mean_pool(minilm.model(ids), ids)  # (B, D)


labelled = sorted(train[:500], key=lambda review: len(review.text))  # so less padding
known = torch.cat([features(labelled[i : i + 25]) for i in range(0, 500, 25)])
labels = torch.tensor([review.label for review in labelled])

# %% tags=["nbval-ignore-output"]
head = torch.nn.Linear(384, 2)
optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
for _ in tqdm(range(300), desc="fitting"):
    optimiser.zero_grad()
    (F.cross_entropy(head(known), labels) + 0.03 * head.weight.square().sum()).backward()
    optimiser.step()

# %% tags=["hide-input", "nbval-ignore-output"]
by_length = sorted(test[:200], key=lambda review: len(review.text))
answers = torch.tensor([review.label for review in by_length])
new = torch.cat([features(by_length[i : i + 25]) for i in range(0, 200, 25)])
live = (head(new).argmax(-1) == answers).float().mean().item()
print(f"500 labels, 200 new reviews: {live:.0%} right")
assert live > 0.62

# %% [markdown]
# ## 4. Can we train the rest as well, cheaply?
#
# MiniLM's vectors were made for comparing sentences by topic, but we're interested in opinions. So let's train the
# encoder too, which is called **fine-tuning**. The trouble is that all 22.6 million parameters change, so we'd have
# to store a whole new model per task.
#
# **LoRA** (Hu et al. 2021) leaves every matrix $W$ frozen and learns a correction to it. The correction has the
# shape of $W$, but it's the product of two thin matrices, $B$ of shape $(D_{out}, r)$ and $A$ of shape
# $(r, D_{in})$. The rank $r$ is small, 16 for example, and the fixed number $\alpha$ sets how strongly the
# correction counts:
#
# $$W' = W + \frac{\alpha}{r}\, B A$$
#
# The letters are those of the LoRA paper. Here $A$ isn't an attention map, and $B$ isn't a batch.

# %%
exercises.predict("share_of_lora")

# %% tags=["hide-input"]
sentiment_parts = lora.add_lora(load_minilm().model, rank=16, alpha=32.0)
trainable = sum(p.numel() for p in lora.trainable_state(sentiment_parts).values())
everything = sum(p.numel() for p in minilm.model.parameters())
exercises.reveal("share_of_lora", measured=100 * trainable / everything)
print(f"{trainable:,} of {everything:,} parameters: {trainable / everything:.1%}")
assert trainable == 6 * 16 * (4 * 2 * 384 + 2 * (384 + 1536))

# %% [markdown]
# **Pencil (1 min).** Check the number of trainable parameters by hand, from the sizes in the prediction.
#
# <details><summary>Compare</summary>
#
# A 384 × 384 matrix gets 16 × (384 + 384) = 12,288 new parameters, and a 384 × 1,536 matrix gets 16 × (384 + 1,536)
# = 30,720. One layer has 4 × 12,288 + 2 × 30,720 = 110,592 of them, and six layers have 663,552.
#
# </details>
#
# At the start of training $B$ is zero, so the model computes exactly what it did before. From then on only $A$ and
# $B$ change.
#
# ### Your turn (5 min)

# %% tags=["hide-input"]
exercises.heading("lora_forward")


# %%
def lora_forward(x, w, a, b, alpha):
    """(..., D_in), (D_out, D_in), (r, D_in), (D_out, r) -> (..., D_out)"""
    ...


# %% tags=["hide-input"]
exercises.check("lora_forward", lora_forward)

# %% [markdown]
# Here's the course's own version in full. It calls $A$ `down` and $B$ `up`:

# %%
notebook.show_source(lora.LoRALinear)

# %% [markdown]
# Two extra matrix multiplications per linear layer cost time, but after training they aren't needed any more. We can
# add $\frac{\alpha}{r} B A$ to $W$ once, and the model has its old shape and its old speed again. Let's check that
# nothing else changes. The course comes with an **adapter**, which consists of the trained $A$ and $B$ of every
# linear layer and a classifier. It was trained on all 7,720 film reviews. We put 24 reviews through the model with
# this adapter, before and after merging.

# %% tags=["hide-input"]
from helpers.pretrained.adapters import load_adapter
from helpers.pretrained.sentiment import SENTIMENT, build_sentiment

separate = build_sentiment(load_minilm()).eval()
card = load_adapter(separate, SENTIMENT)

# %% tags=["nbval-ignore-output"]
ids = minilm.encode([review.text for review in test[:24]])
with torch.no_grad():
    with_adapters = separate(ids)
    merged = lora.merge_lora(separate)(ids)
print(f"largest difference of a logit: {(with_adapters - merged).abs().max():.0e}")

# %% tags=["hide-input"]
assert (with_adapters - merged).abs().max() < 1e-4
double = torch.nn.Linear(6, 4).double()
layer = lora.LoRALinear(double, rank=2, alpha=4.0)
torch.nn.init.normal_(layer.up)
some = torch.randn(5, 6, dtype=torch.float64)
torch.testing.assert_close(layer(some), layer.merged()(some), atol=1e-12, rtol=0)

# %% [markdown]
# What do we gain from training more than the classifier? We took 1,000 labelled reviews and trained in five ways,
# with two passes over the reviews each time. The first way trains only the classifier on top, the second also the
# last layer, and the third all layers. The other two are LoRA with rank 4 and with rank 16.

# %%
exercises.predict("best_way_to_tune")

# %% tags=["hide-input"]
WAYS = {
    "head": "classifier alone", "last": "last layer", "all": "all layers",
    "lora4": "LoRA, rank 4", "lora16": "LoRA, rank 16",
}  # fmt: skip
ways = {way: compared["trained"][way] for way in WAYS}
score = {way: 100 * run["accuracy"] for way, run in ways.items()}
best_lora = max(score["lora4"], score["lora16"])
if abs(best_lora - score["all"]) <= 1 and score["last"] < max(best_lora, score["all"]):
    winner = "tie"
else:
    winner = max(
        {"last": score["last"], "all": score["all"], "lora": best_lora}.items(), key=lambda s: s[1]
    )[0]
exercises.reveal("best_way_to_tune", measured=winner)
figure, axes = pyplot.subplots(figsize=(7.6, 4.2), layout="constrained")
for way, run in ways.items():
    colour = plots.ORANGE if "lora" in way else plots.BLUE
    axes.plot(run["trainable"], 100 * run["accuracy"], "o", color=colour, markersize=9)
    axes.annotate(
        f"{WAYS[way]}\n{run['seconds'] / ways['all']['seconds']:.2f} of the time",
        (run["trainable"], 100 * run["accuracy"]), ha="center", color=colour,
        xytext=(0, 10 if way in ("all", "lora16") else -40), textcoords="offset points",
    )  # fmt: skip
axes.set_xscale("log")
axes.set_xlim(100, 3e8)
axes.set_ylim(min(score.values()) - 3, max(score.values()) + 2.5)
axes.set_xlabel("trainable parameters")
axes.set_ylabel("accuracy on 1,000 new reviews, %")
for way, run in ways.items():
    print(
        f"{WAYS[way]:>16}: {score[way]:.1f}%   {run['trainable']:>10,} parameters   {run['seconds']:.0f} s on one core"
    )
notebook.figure(
    axes,
    alt="Accuracy against the number of trainable parameters for five ways of training: "
    + ", ".join(f"{WAYS[way]} {score[way]:.1f} percent" for way in WAYS),
    width=680,
)

# %% [markdown]
# Each point is a single run, and with 1,000 test reviews a difference of less than two or three points can be chance.
# *Going deeper* trains LoRA on eight draws each of 50, 500 and 5,000 reviews.

# %%
exercises.quiz("why_b_starts_at_zero")

# %% [markdown]
# ## Try it
#
# Here's the course's adapter at work. Type a review of your own. Each bar shows what the model would say if that
# word were left out.

# %% tags=["nbval-ignore-output"]
sentiment = load_sentiment()
WordFlipper(sentiment, "the plot barely works")

# %% [markdown]
# ### You are here
#
# Here's the whole model with a sentence in it. There's no decoder and no causal mask, so in every head each
# position can attend to both sides.

# %% tags=["nbval-ignore-output"]
model_map(minilm.trace("never dull"))

# %% [markdown]
# ### What to take away
#
# - BERT is an encoder alone. It's trained to fill gaps, so every position can use both sides.
# - BERT predicts 15% of the tokens. Of these, 80% become [MASK], 10% become a random token, and 10% stay.
# - The pooler applies a linear layer and tanh to the [CLS] vector. Mean pooling has to leave the padding out.
# - With a frozen encoder you compute each vector once. With few labels these vectors beat a bag of words; with
#   5,000 the bag has caught up.
# - LoRA trains two thin matrices per linear layer, about 3% of the parameters at rank 16, and they can be merged
#   into the model afterwards.
#
# $$W' = W + \frac{\alpha}{r}\, B A$$
#
# A classifier gives one answer per text. In **lesson 13** the answer is *in* the text, and the model
# points at it.

# %% [markdown]
# # Practice
#
# About 30 minutes, easiest first.

# %%
exercises.quiz("positions_of_bert")

# %% tags=["hide-input"]
exercises.heading("pooled_output")


# %%
def pooled_output(hidden, weight, bias):
    """(B, S, D), (D, D), (D,) -> (B, D)"""
    ...


# %% tags=["hide-input"]
exercises.check("pooled_output", pooled_output)

# %%
exercises.quiz("shape_of_pooled_base")

# %%
exercises.quiz("lora_trainable")

# %% tags=["hide-input"]
exercises.heading("lora_merge")


# %%
def lora_merge(w, a, b, alpha):
    """(D_out, D_in), (r, D_in), (D_out, r) -> (D_out, D_in)"""
    ...


# %% tags=["hide-input"]
exercises.check("lora_merge", lora_merge)

# %%
exercises.quiz("why_some_masked_tokens_stay")

# %%
exercises.quiz("what_a_frozen_encoder_learns")

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("mean_or_cls")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## Why not always [MASK]?
#
# Of the tokens that BERT has to predict, a fifth aren't replaced by [MASK]. Is that worth the trouble? We train a
# second small BERT in which every chosen token becomes [MASK]. Then we give both models whole sentences with
# nothing hidden, and at every position we ask which word belongs there.

# %%
exercises.predict("nothing_is_hidden")

# %% tags=["hide-input", "nbval-ignore-output"]
always = fresh_bert()
learn_to_fill(always, always_mask=True)


@torch.no_grad()
def recognised(model):
    """At how many visible words the model's best guess is the word that is there."""
    guesses, real = model(unseen).argmax(-1), unseen != PAD
    return (guesses == unseen)[real].float().mean().item()


rates = {"mixed": recognised(small_bert), "always": recognised(always)}
exercises.reveal(
    "nothing_is_hidden",
    measured="equal" if abs(rates["mixed"] - rates["always"]) < 0.05 else max(rates, key=rates.get),
)
print(
    f"visible words recognised: trained with 80/10/10 {rates['mixed']:.0%}, always [MASK] {rates['always']:.0%}"
)

# %% [markdown]
# The reason lies in what each model had to predict during training. When BERT is used, there's no [MASK], and
# every vector that we take belongs to a visible word. A model whose training only ever asked about [MASK] has
# never had to predict anything at a visible word.
#
# ## How many labels does LoRA need?
#
# Section 4 compared the ways of training on a single draw of 1,000 reviews. Is LoRA worth it with only 50 labels? And
# what does it gain from 5,000? We trained it on the same eight draws per size as the frozen mean and the bag of words
# in section 3, and scored it on the same 1,000 reviews. The fewer labels there are, the more often LoRA goes through
# them: 20 passes over 50 reviews, 4 over 500 and 2 over 5,000.

# %%
exercises.predict("lora_from_fifty")

# %% tags=["hide-input"]
curve = compared["curve"]["runs"]
scores = {name: frozen[name] for name in ("words", "mean")}
scores["lora"] = {n: [run["accuracy"] for run in runs] for n, runs in curve.items()}
ahead = {n: 100 * (average(scores["lora"][n]) - average(scores["mean"][n])) for n in curve}
exercises.reveal(
    "lora_from_fifty",
    measured="lora" if ahead["50"] > 2 else "frozen" if ahead["50"] < -2 else "level",
)
for name, (label, *_) in METHODS.items():
    found = [
        f"{100 * average(d):.1f}% ({100 * min(d):.1f} to {100 * max(d):.1f})"
        for d in scores[name].values()
    ]
    print(f"{label:>14}:", "   ".join(found))
axes = learning_curves(scores)
wins = {
    n: sum(a > b for a, b in zip(scores["lora"][n], scores["mean"][n], strict=True)) for n in curve
}
minutes = sum(run["seconds"] for runs in curve.values() for run in runs) / 60
assert ahead["5000"] > ahead["500"] > 2 > abs(ahead["50"]) and wins["5000"] == 8
display(
    notebook.figure(
        axes,
        alt="Accuracy against the number of labelled reviews for LoRA, the frozen mean and the bag of words, with bands "
        "over eight draws. At 50 labels the bands of LoRA and of the frozen mean overlap. At 500 LoRA is above "
        "the other two, and at 5,000 its band is far above both.",
        width=600,
    )
)
notebook.tell(
    f"""
    With 50 labels, LoRA is ahead of the frozen mean in {wins["50"]} of the eight draws, and by {ahead["50"]:.1f} points on
    average. That's too little to tell the two apart. With 500 labels it leads by {ahead["500"]:.1f} points, and with 5,000
    by {ahead["5000"]:.1f}. The frozen vectors describe topics better than opinions, and no number of labels changes that.
    LoRA can change the vectors themselves, but it needs labels to learn in which direction.

    So try the frozen encoder first, and LoRA once you have a few hundred labels. The price is time. These 24 trainings
    took {minutes:.0f} minutes of one core, while the frozen model has to read every review only once.

    <details><summary>Fine print</summary>

    We set the numbers of passes after a few trials with other draws, scored on validation reviews. The learning rate and
    the rank are those of section 4, and none of them was tuned per draw. The logistic regression, however, chose its
    penalty for each draw on 1,000 validation reviews, which nobody has who can afford only 50 labels. That favours the
    frozen mean and the bag of words. Each band goes from the worst draw to the best.

    </details>
    """
)

# %% [markdown]
# ## Can it judge anything but films?
#
# The course's adapter has been trained on film reviews only. How well does it judge reviews of mobile phones?

# %% tags=["nbval-ignore-output"]
products = product_reviews()[:200]
found = sentiment.classify([review.text for review in products])
transfer = average(
    [label == review.label for (label, _), review in zip(found, products, strict=True)]
)
print(f"product reviews, never trained on: {transfer:.0%} right")

# %% tags=["hide-input"]
assert transfer > 0.75

# %% [markdown]
# Phones and films have few nouns in common, but people praise and complain in similar words.
#
# ## One word
#
# The sentences of each pair differ in one word. In which pairs should the label change, and in which does it?

# %% tags=["nbval-ignore-output"]
pairs = [
    ("a film that is dull", "a film that is never dull"),
    ("the plot works", "the plot barely works"),
    ("not a single good scene", "many a single good scene"),
    ("you will laugh", "you will not laugh"),
]
for pair in pairs:
    (one, p), (two, q) = sentiment.classify(list(pair))
    print(
        f"{pair[0]:<26} {'+' if one else '−'} {p:.2f}    {pair[1]:<28} {'+' if two else '−'} {q:.2f}"
    )

# %% tags=["hide-input"]
labels_of = [[label for label, _ in sentiment.classify(list(pair))] for pair in pairs]
assert labels_of == [[0, 0], [1, 0], [0, 1], [1, 0]]

# %% [markdown]
# Three of the four labels change. *Never dull* stays negative, if only just. So the adapter has learned that
# a small word can reverse the meaning of a sentence, but it hasn't learned this for every such word.
#
# ## Four common mistakes
#
# Many first notebooks on BERT share four mistakes, and all of them run without an error.
#
# **No attention mask.** The reviews are padded, but the model isn't told which tokens are padding. Our own model
# finds the padding by its id, so we switch that off. Then we pad to 512 tokens, the most that BERT can read.

# %%
exercises.predict("labels_without_a_mask")

# %% tags=["hide-input", "nbval-ignore-output"]
chosen = [review.text for review in test[:20]]
ids = minilm.encode(chosen)
padded = F.pad(ids, (0, 512 - ids.shape[1]))
classifier = sentiment.model


@torch.no_grad()
def judged(ids, masked=True):
    encoder = classifier.encoder
    kept = encoder.config
    encoder.config = kept if masked else replace(kept, pad_id=-1)  # no id is -1: nothing is hidden
    start = notebook.clock()
    hidden = encoder(ids)
    seconds = notebook.clock() - start
    encoder.config = kept
    return classifier.classifier(bert.mean_pool(hidden, ids)), seconds


right_way, _ = judged(ids)
no_mask, _ = judged(padded, masked=False)
_, short = judged(ids[:4])  # four of the twenty, to compare with the mask
to_512, long = judged(padded[:4])
flipped = (right_way.argmax(-1) != no_mask.argmax(-1)).sum().item()
exercises.reveal("labels_without_a_mask", measured=flipped)
print(
    f"with the mask, padding to 512 moves a logit by at most {(right_way[:4] - to_512).abs().max():.0e}"
)
print(
    f"without it, by {(right_way - no_mask).abs().mean():.1f} on average, and {flipped} of 20 labels change"
)
print(f"padding to 512 in place of {ids.shape[1]} takes {long / short:.0f} times as long")
assert (right_way[:4] - to_512).abs().max() < 1e-3 < (right_way - no_mask).abs().mean()
assert long > 3 * short

# %% [markdown]
# **Everything padded to 512.** As you just saw, that wastes time even with the mask. Pad to the longest text of the
# batch instead.
#
# **A sigmoid, then `BCELoss`.** Mathematically these two steps are the same as `BCEWithLogitsLoss`, but in 32-bit
# numbers they aren't. Let's compare their gradients for a model that is confidently wrong.

# %%
for logit in (5.0, 20.0, 100.0):
    gradients = []
    for loss in (
        lambda x, y: F.binary_cross_entropy(torch.sigmoid(x), y),
        F.binary_cross_entropy_with_logits,
    ):
        x = torch.tensor([logit], requires_grad=True)
        loss(x, torch.zeros(1)).backward()
        gradients.append(x.grad.item())
    print(
        f"logit {logit:>5}, target 0:  sigmoid + BCELoss {gradients[0]:.2f}   with logits {gradients[1]:.2f}"
    )

# %% tags=["hide-input"]
assert gradients[0] == 0 and gradients[1] == 1

# %% [markdown]
# At a logit of 20 the sigmoid is rounded to 1 and its gradient to 0, so the model learns nothing from its worst
# mistakes.
#
# **An old interface.** In the library's early years a model returned a tuple, and you'll still find
# `_, pooled = model(ids)` in tutorials. Today it returns an object with named parts. Here are our weights
# in the library's own class, built from a configuration, so nothing is downloaded.

# %% tags=["hide-input"]
from transformers import BertConfig, BertModel
from transformers import DistilBertConfig, DistilBertForSequenceClassification

from helpers.pretrained.minilm import minilm_file

library_config = BertConfig(
    vocab_size=30522,
    hidden_size=384,
    num_hidden_layers=6,
    num_attention_heads=12,
    intermediate_size=1536,
)
their_model = BertModel(library_config).eval()
from safetensors.torch import load_file

their_model.load_state_dict(load_file(minilm_file("model.safetensors", 90.9)), strict=False)
their_distilbert = DistilBertForSequenceClassification(
    DistilBertConfig(dim=384, hidden_dim=1536, n_layers=1, n_heads=12, num_labels=2)
).eval()

# %%
ids = minilm.encode(texts)
with torch.no_grad():
    output = their_model(input_ids=ids, attention_mask=(ids != 0).long())
    ours = minilm.model(ids)
    logits = their_distilbert(input_ids=ids, attention_mask=(ids != 0).long()).logits
print("last_hidden_state", tuple(output.last_hidden_state.shape))
print(
    "pooler_output    ",
    tuple(output.pooler_output.shape),
    "  DistilBERT's logits",
    tuple(logits.shape),
)

# %% tags=["hide-input"]
real = ids != 0
torch.testing.assert_close(output.last_hidden_state[real], ours[real], atol=1e-5, rtol=1e-4)
torch.testing.assert_close(output.pooler_output, minilm.pooler(ours), atol=1e-5, rtol=1e-4)
a, b = output[:2]
assert a is output.last_hidden_state and b is output.pooler_output
try:
    _, names = output
except ValueError:
    names = None
print(
    "two parts, and unpacking the object gives their names, not the tensors:", list(output.keys())
)

# %% [markdown]
# The numbers agree with ours. In BERT-base, with texts padded to 512, the shapes would be (3, 512) for the ids,
# (3, 512, 768) for the hidden states and (3, 768) for the pooled output.
#
# ## Myth or fact?
#
# **"BERT uses sinusoids."** A myth. BERT learns a table of 512 position vectors, so it has none for a 513th token.
# The sinusoids belong to the model of 2017.
#
# **"The pooled output is the [CLS] vector."** A myth, as section 2 shows: a linear layer and tanh come in between.

# %% tags=["hide-input"]
assert minilm.model.positions.table.shape == (512, 384)
try:
    minilm.model(torch.ones(1, 513, dtype=torch.long))
    refused = False
except ValueError as error:
    refused = "512 positions" in str(error)
assert refused

# %% [markdown]
# **References**
#
# - Devlin, Chang, Lee, Toutanova (2019), "BERT: Pre-training of Deep Bidirectional Transformers for
#   Language Understanding", arXiv:1810.04805.
# - Liu et al. (2019), "RoBERTa: A Robustly Optimized BERT Pretraining Approach", arXiv:1907.11692.
# - Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models", arXiv:2106.09685.
# - Reimers, Gurevych (2019), "Sentence-BERT", arXiv:1908.10084; Wang et al. (2020), "MiniLM",
#   arXiv:2002.10957.
# - Reviews: Pang, Lee (2005), "Seeing Stars"; Kotzias et al. (2015), "From Group to Individual Labels
#   Using Deep Features". Both CC BY 4.0.
