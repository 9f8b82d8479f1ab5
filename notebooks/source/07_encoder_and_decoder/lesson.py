# %% [markdown]
# # Encoder and decoder
#
# The paper is called *Attention Is All You Need*. Let's take the title at its word and stack attention layers, each
# reading what the one before it returned, with nothing in between.
#
# What becomes of a sentence on its way through the stack? Split every word's vector in two: the average over the
# sentence, which all of its words share, and the rest, which is the word's **own**. At first nearly all of a vector
# is its own. But attention mixes words, so every layer takes some of that away. How fast?

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F
from matplotlib import pyplot
from torch import nn

from helpers import exercises, plots
from helpers.training import metrics
from helpers.transformer import decoding, masks
from helpers.transformer.attention import MultiHeadAttention, recorded_weights
from helpers.data import corpus
from helpers.data.captions import CAPTIONS
from helpers.training.interruption import StopBetweenSteps
from helpers.transformer.layers import DecoderLayer, Dropout, EncoderLayer, FeedForward
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS, PAD, WordVocabulary
from helpers.training.training import TrainingSettings, train
from helpers.transformer.transformer import Transformer, TransformerConfig
from helpers.widgets.model_map import model_map
from helpers.widgets.shape_tracer import ShapeTracer

# %% [markdown] tags=["notes"]
# **43 minutes.** Hook, the picture 5 · 1 paths 4 · 2 norm 9 · warm-up 3 · 3 feed-forward, one whole layer 8 ·
# 4 depth 6 · 5 decoder and the map 8.
#
# **Show** the picture of the whole architecture, and come back to it at the start of every section. Ask
# people to point: "Which box are we building now?"
#
# **While the models of section 4 train** (about ten seconds): ask for a vote on the careful start, let
# neighbours argue, vote again. One press of the stop button ends all of them. The cells after it then say that
# the training was cut short, and carry on.
#
# **If you're running late**: hand out `feed_forward` as homework. The layer of section 3 then runs on the
# course's function, and says so.
#
# **Ask**: "What would happen without the ReLU?" (two matrices in a row are one matrix) · "Why does
# cross-attention need no causal mask?" (the whole source is known from the start) · "Which tensor has both S
# and T in its shape?" (only the cross-attention's weights)
#
# **What people get wrong**: they divide the variance by n − 1; they put the norm on the skip path; they let
# decoder layer *i* read encoder layer *i*; they put cross-attention last.

# %%
words = torch.randn(8, 10, 64)  # (B=8, S=10, D=64): 8 sentences of 10 random words
layers = [MultiHeadAttention(64, n_heads=4) for _ in range(12)]  # untrained


# %%
def own_share(x):
    own = x - x.mean(dim=1, keepdim=True)  # take away what all words of a sentence share
    return (own.norm() / x.norm()).item()


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# Twelve layers of attention, measured after each.
@torch.no_grad()
def through(layers, x, path):
    """Send x through attention layers: -> share of its own and typical size, after each of them"""
    shares, sizes = [own_share(x)], [x.std().item()]
    for layer in layers:
        mixed = layer(x, x, x)[0]
        x = x + mixed if path else mixed
        shares.append(own_share(x))
        sizes.append(x.std().item())
    return shares, sizes


shares_alone, _ = through(layers, words, path=False)
exercises.reveal("attention_alone", measured=round(100 * shares_alone[4], 2))
for n in (0, 1, 2, 3):
    print(
        f"after {n} layer{'s' if n != 1 else ''}: {100 * shares_alone[n]:.2g}% of each vector is its own"
    )
axes = plots.labelled_lines(
    range(7),
    {"attention alone": [100 * s for s in shares_alone[:7]]},
    x_label="layers",
    y_label="own part of a vector, %",
    marker="o",
)
axes.set_ylim(0, 100)
plots.mark_guess(axes, 4, exercises.guess("attention_alone"))
notebook.claim(0.9 < shares_alone[0] < 0.98 and shares_alone[2] < 0.15 and shares_alone[4] < 1e-4)
notebook.show(
    axes,
    alt="Share of each vector that is its own against the number of attention layers: from 95 percent "
    "it falls to about 65 after one layer, a few percent after two, and zero from the third on.",
    width=520,
)
notebook.tell(
    """After two layers a few percent are left, and after four nothing but rounding errors. Ten words have become ten
    copies of one vector, so no later layer can tell them apart. Dong et al. (2021) prove that attention on its own
    loses the differences this fast."""
)

# %% [markdown]
# Attention isn't all you need, then. The picture shows the paper's whole model. You've already built its embeddings,
# positions and attention. Today we add the rest, one box at a time.

# %% tags=["hide-input"]
notebook.picture("whole_architecture")

# %% [markdown]
# ## 1. How does a word keep its own information?
#
# A single plus sign rescues the stack. Call each box that computes something, attention for instance, a **sublayer**.
# Instead of $\mathrm{Sublayer}(x)$ we pass on
#
# $$x + \mathrm{Sublayer}(x)$$
#
# so that $x$ itself goes around the sublayer, along the blue lines of the picture. This is called a **residual
# path** or *skip path* (He et al. 2016). The sublayer no longer has to reproduce what a word's vector already
# contained. It only computes what to *add*.
#
# Put such a path around each of twelve layers, and the words stay different for far longer. But what happens to the
# size of their vectors?

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# The same twelve layers, each with a path around it.
shares_with, sizes_with = through(layers, words, path=True)
largest = sizes_with[12]
exercises.reveal(
    "size_after_twelve",
    measured="same" if largest < 2 else "few" if largest < 10 else "many",
)
print(f"typical size of an entry: {sizes_with[0]:.1f} at first, {largest:.1f} after twelve layers")
print(f"own part of a vector after twelve layers: {100 * shares_with[12]:.0f}%")
figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.2), constrained_layout=True)
plots.labelled_lines(
    range(13),
    {"with paths": [100 * s for s in shares_with], "alone": [100 * s for s in shares_alone]},
    ax=left,
    x_label="layers",
    y_label="own part of a vector, %",
)
plots.labelled_lines(
    range(13), {"with paths": sizes_with}, ax=right, x_label="layers", y_label="typical size"
)
for panel in (left, right):
    panel.set_xticks(range(0, 13, 4))
notebook.claim(largest > 10 and shares_with[4] > 0.5 and shares_with[12] > 0.05)
notebook.claim(
    all(later > earlier for earlier, later in zip(sizes_with, sizes_with[1:], strict=False))
)
notebook.claim(sizes_with[12] / sizes_with[11] > 1.2 > sizes_with[1])
notebook.claim(sizes_with[12] * (sizes_with[12] / sizes_with[11]) ** 18 > 1000)
notebook.show(
    figure,
    alt="Two panels. Left: with paths, the share that is a word's own falls slowly over twelve layers "
    "and is still well above zero; attention alone is at zero after three. Right: the typical size of "
    "an entry with paths climbs from 1, faster and faster, to more than 20.",
)
notebook.tell(
    """The words survive, because $x$ is never lost. But each layer adds in proportion to what it reads, which has
    grown with every layer below. At this rate a stack of thirty layers would return numbers in the thousands."""
)

# %% [markdown]
# ## 2. How do we keep the size in check?
#
# Numbers in the thousands saturate every softmax (lesson 04). **Layer normalisation** brings the vectors back to one
# size (Ba et al. 2016). It takes *one* word's vector, subtracts the mean of its entries and divides by their standard
# deviation. However large the entries were before, they now have mean 0 and a typical size of 1. Two learned vectors,
# a *gain* and a *bias*, then set each entry to the scale and centre that suit the next sublayer:
#
# $$\mathrm{LayerNorm}(x) = \text{gain} \cdot \frac{x - \text{mean}}{\sqrt{\text{variance} + \varepsilon}} + \text{bias}$$
#
# The tiny $\varepsilon$ prevents a division by zero.
#
# ### Your turn (5 min)


# %% tags=["exercise"]
def layer_norm(x, gain, bias, eps=1e-5):
    """x (..., D), gain (D,), bias (D,) -> (..., D)"""
    mean = x.mean(-1, keepdim=True)
    variance = ...  # ← fill the gaps
    return gain * (x - mean) / (variance + ...).sqrt() + bias


# %% [markdown]
# Where should the norm go? The paper normalises the sum, an order called **post-norm**. Most models since then, our
# translator among them, normalise only what the sublayer reads. In this order, **pre-norm**, the path carries $x$
# past every norm, from the bottom of the stack to the top.

# %% tags=["hide-input"]
notebook.picture("residual_and_norm")

# %% [markdown]
# ### Your turn (2 min)
#
# Write pre-norm, the order on the right of the picture. You'll meet the paper's order in *Practice*.


# %% tags=["exercise"]
def residual_pre_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)"""
    ...


# %% [markdown] warm_up=7
# ## 3. What happens after attention?
#
# Attention carries information *between* words. But once the vector of *bank* contains something of *river*, the
# model still has to work out what the two mean together, and for that a weighted average isn't enough. The job falls
# to the **feed-forward network**: a linear layer, a ReLU that sets negative numbers to zero, and another linear
# layer.
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# The network works on **each position by itself**, with the same weights at every position, so no word affects
# another here. In the drawing it looks like a small extra. But the paper's network widens 512 numbers to 2,048 before
# it narrows them again, and for that it needs two thirds of an encoder layer's parameters.
#
# ### Your turn (3 min)

# %% tags=["hide-input"]
with torch.device("meta"):  # shapes only; nothing is allocated
    papers_layer = EncoderLayer(512, n_heads=8, d_ff=2048, dropout=0.1, norm_first=False)


def count(module):
    return sum(p.numel() for p in module.parameters())


assert 0.66 < count(papers_layer.feed_forward) / count(papers_layer) < 0.67
exercises.heading("feed_forward")


# %%
def feed_forward(x, w_1, b_1, w_2, b_2):
    """x (..., D), weights (D, F) and (F, D), biases (F,) and (D,) -> (..., D)"""
    ...


# %% tags=["hide-input"]
exercises.check("feed_forward", feed_forward)

# %% [markdown]
# ### A layer of your own
#
# An encoder layer consists of attention and a feed-forward network, each with a path and a norm. You wrote the
# attention in lesson 06 and the rest today. The next cells put today's three functions together and run them with the
# trained weights of our translator.

# %%
norm, residual, ffn = map(exercises.mine, ("layer_norm", "residual_pre_norm", "feed_forward"))


def encoder_layer(x, attend, norm_1, norm_2, weights):
    """x (1, S, D), a function, two pairs of gain and bias, (w_1, b_1, w_2, b_2) -> (1, S, D)"""
    x = residual(x, attend, lambda h: norm(h, *norm_1))
    return residual(x, lambda h: ffn(h, *weights), lambda h: norm(h, *norm_2))


# %% tags=["hide-input", "nbval-ignore-output"]
# All three encoder layers of the translator, computed by the function above.
translator = load_translator()
model = translator.model.eval()


@torch.no_grad()
def encode_with(layer_function, src_ids):
    """Run the translator's encoder, its layers computed by a function: (1, S) -> (1, S, D)"""
    x = model.embed(src_ids, model.src_embedding)
    for layer in model.encoder_layers:
        norms = [(r.norm.weight, r.norm.bias) for r in (layer.residual_1, layer.residual_2)]
        first, second = layer.feed_forward.linear_1, layer.feed_forward.linear_2
        weights = first.weight.T, first.bias, second.weight.T, second.bias
        attend = lambda h, layer=layer: layer.self_attention(h, h, h)[0]
        x = layer_function(x, attend, *norms, weights)
    return model.encoder_norm(x)


@torch.no_grad()
def translate_from(memory):
    """Let the translator's decoder write, given the encoder's output."""
    step = lambda ids, rows=None: model.output_proj(model.decode(ids, memory))[:, -1]
    return translator.tokenizer.decode(decoding.greedy(step, 1, BOS, EOS, 30)[0])


src_ids = translator.encode([CAPTIONS[0][0]])
memory = encode_with(encoder_layer, src_ids)
with torch.no_grad():
    apart = (memory - model.encode(src_ids)).abs().max().item()
print(CAPTIONS[0][0], "→", translate_from(memory))
print(f"largest difference from the translator's own encoder: {apart:.0e}")
print(exercises.whose("layer_norm", "residual_pre_norm", "feed_forward", did="translated"))
notebook.claim(apart < 1e-4 and translate_from(memory) == translator.translate(CAPTIONS[0][0]))

# %% [markdown]
# Now break it. We take one thing away from every layer of this trained encoder and leave everything else alone.

# %% tags=["prediction", "hide-input"]
# Four broken encoders, each with something missing from every layer.
plain = exercises.reference("residual_pre_norm")
ffn, layer_norm_of = exercises.reference("feed_forward"), exercises.reference("layer_norm")


def broken(missing):
    """Return an encoder layer with one thing left out."""

    def layer(x, attend, norm_1, norm_2, weights):
        for sublayer, (gain, bias) in [(attend, norm_1), (lambda h: thought(h, weights), norm_2)]:
            h = x if missing == "norms" else layer_norm_of(x, gain, bias)
            x = sublayer(h) if missing == "paths" else x + sublayer(h)
        return x

    def thought(h, weights):
        w_1, b_1, w_2, b_2 = weights
        linear = (h @ w_1 + b_1) @ w_2 + b_2
        return {"ffn": 0 * h, "relu": linear}.get(missing, ffn(h, *weights))

    return layer


names = {"ffn": "the network", "relu": "the ReLU", "paths": "the paths", "norms": "the norms"}
french, english = zip(*CAPTIONS[:5], strict=True)
written = {
    missing: [translate_from(encode_with(broken(missing), translator.encode([f]))) for f in french]
    for missing in (None, *names)
}
bleu = {missing: metrics.bleu(texts, english) for missing, texts in written.items()}
exercises.reveal("what_it_survives", measured=max(names, key=bleu.get))
for missing, name in names.items():
    print(f"without {name}:", *(f"   {text[:90]}" for text in written[missing][:2]), sep="\n")
whole = [layer.feed_forward.forward for layer in model.decoder_layers]
for layer in model.decoder_layers:
    layer.feed_forward.forward = torch.zeros_like
mute = translate_from(model.encode(translator.encode([french[1]])))
for layer in model.decoder_layers:
    del layer.feed_forward.forward
print("without the network in the decoder's layers:", f"   {mute[:90]}", sep="\n")
assert bleu["ffn"] > 30 > 10 > max(bleu["relu"], bleu["paths"], bleu["norms"])
assert mute != translator.translate(french[1])
notebook.tell(
    """The feed-forward network is the largest of the four, and yet this encoder misses it least. Don't write it off,
    though. Take it out of the *decoder's* layers, which choose the words, and the second caption stutters."""
)

# %% [markdown]
# ## 4. How deep can a stack be?
#
# The encoder is a stack of $N$ such layers, each reading what the one below returned. The paper calls the layers
# *identical*, but it means only their structure, because each layer has weights of its own. The depth of the paper's
# model, $N = 6$, and its width, $d_{model} = 512$, are **hyperparameters**, numbers that people choose by trying.
#
# Does a deep stack need its norms? We build a small translator for our toy corpus, with four layers on each side. One
# version has norms and the other has none, and we train both for 34 steps, with three seeds each.

# %%
versions = {"norms": (True, 1.0), "no norms": (False, 1.0)}  # name: norms?, scale at the start

# %% tags=["hide-input"]
# The data, a small translator, and one training run.
toy = corpus.toy_splits(n_train=1400, n_validation=200, n_test=200, seed=0, lengths=(4, 10))
src_vocabulary = WordVocabulary.build(pair.source for pair in toy.train)
tgt_vocabulary = WordVocabulary.build(pair.target for pair in toy.train)


def encode(pairs):
    return [
        (
            src_vocabulary.encode(pair.source, eos=True),
            tgt_vocabulary.encode(pair.target, bos=True, eos=True),
        )
        for pair in pairs
    ]


train_pairs, validation_pairs = encode(toy.train), encode(toy.validation)
vocabularies = dict(src_vocab_size=len(src_vocabulary), tgt_vocab_size=len(tgt_vocabulary))
SEEDS = range(3)


def small_translator(seed, norms=True, scale=1.0, n_layers=4, width=32):
    """Make an untrained translator; `scale` multiplies the last matrix of every sublayer."""
    notebook.set_seed(seed)
    sizes = dict(d_model=width, n_layers=n_layers, d_ff=2 * width, n_heads=4, max_len=64)
    small = Transformer(TransformerConfig(**vocabularies, **sizes, dropout=0.0, norm_first=True))
    if not norms:
        for module in list(small.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.LayerNorm):
                    setattr(module, name, nn.Identity())
    with torch.no_grad():
        for name, parameter in small.named_parameters():
            if name.endswith(("out_proj.weight", "linear_2.weight")):
                parameter *= scale
    return small


def run(seed, norms=True, scale=1.0, rate=3e-3, **sizes):
    """Train one small translator for 34 steps; return its history, or None if it blew up."""
    settings = TrainingSettings(
        epochs=1, peak_rate=rate, warmup_steps=20, batch_tokens=432, decay="linear", seed=seed
    )
    small = small_translator(seed, norms, scale, **sizes)
    try:
        return train(small, train_pairs, validation_pairs, settings, progress=False)
    except FloatingPointError:
        return None


def train_all(versions, histories):
    """Train each version with each seed; one press of the stop button ends all of them."""
    with StopBetweenSteps() as stop:
        for name, (norms, scale) in versions.items():
            histories[name] = [run(s, norms, scale) for s in SEEDS if not stop.asked]


def complete(histories, wanted):
    """Whether all trainings have run to their end; if not, say what to do."""
    whole = [h for runs in histories.values() for h in runs if h is None or not h.stopped_early]
    if len(whole) < wanted:
        print(
            f"{len(whole)} of {wanted} trainings are complete. Run the training cell again to train "
            "them all, or go on: nothing after this section needs them."
        )
    return len(whole) == wanted


# %% tags=["nbval-ignore-output"]
histories = {}
train_all(versions, histories)

# %% tags=["hide-input", "nbval-ignore-output"]
# How the six runs began, and how they ended.
if complete(histories, 6):
    for name, runs in histories.items():
        first, last = ([f"{x:.1f}" for x in of] for of in zip(
            *((h.losses[0], h.validation_losses[-1]) for h in runs), strict=True))  # fmt: skip
        print(f"{name:>8}: loss {', '.join(first)} at the first step, {', '.join(last)} at the end")
    notebook.claim(min(h.losses[0] for h in histories["no norms"]) > 50)
    notebook.claim(min(h.validation_losses[-1] for h in histories["no norms"]) > 10)
    notebook.claim(max(h.validation_losses[-1] for h in histories["norms"]) < 4)

# %% [markdown] predict="careful_start"
# Without norms the very first loss is absurd, because the sums grow layer by layer, as in section 1. None of the
# runs recovers.
#
# That looks like proof that a deep stack needs norms. But perhaps the start was just too reckless. Let's leave the
# norms out again and multiply the last matrix of every sublayer by 0.1, so that each layer adds little at first.

# %% tags=["nbval-ignore-output"]
careful = {"no norms, careful start": (False, 0.1)}
train_all(careful, histories)

# %% tags=["hide-input", "nbval-ignore-output"]
# The end of all nine runs, a dot per seed.
if complete(histories, 9):
    ends = {name: [h.validation_losses[-1] for h in runs] for name, runs in histories.items()}
    gap = sum(ends["norms"]) / 3 - sum(ends["no norms, careful start"]) / 3
    exercises.reveal(
        "careful_start", measured="same" if abs(gap) < 0.2 else "lower" if gap > 0 else "higher"
    )
    _, axes = pyplot.subplots(figsize=(7.5, 2.2))
    axes.set_xscale("log")
    for row, losses in enumerate(ends.values()):
        axes.plot(losses, [row] * 3, "o", color=plots.BLUE, alpha=0.6)
        middle = sum(losses) / 3
        axes.annotate(f"{middle:.1f}", (max(losses), row), (8, 0), textcoords="offset points",
                      va="center")  # fmt: skip
    axes.set_yticks(range(3), list(ends))
    axes.set(xlim=(2, 60), ylim=(2.5, -0.5))
    axes.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlabel("validation loss after 34 steps, nats per token (logarithmic)")
    notebook.claim(max(ends["no norms, careful start"]) < min(ends["norms"]))
    notebook.show(
        axes,
        alt="A dot per seed for three kinds of model. Without norms the loss ends near 30; "
        "with norms a little above 3; without norms but with a careful start below 3 and below all of those.",
        width=620,
    )
notebook.tell(
    """Every careful run ends below every run with norms. What these stacks needed was vectors of a sensible size to
    start from, and norms are only one way to provide them. Zhang et al. (2019) trained residual networks of up to
    10,000 layers with a careful start and not a single norm.

    Why, then, does nearly every model have norms? Because norms forgive. With training steps twenty times as large,
    all our models with norms still learn, while none of the careful ones does. *Going deeper* tries it."""
)

# %% [markdown]
# ## 5. What does a decoder layer add?
#
# Each word that the decoder writes depends on the words written so far and on the source sentence. A decoder layer
# therefore has two kinds of attention. Self-attention reads the target, under a causal mask. **Cross-attention**
# reads the source, with queries from the target and with keys and values from the encoder's output, which is called
# the **memory**. Together with the encoder's self-attention, that makes three uses of one piece of code. Only the
# inputs and the mask differ.

# %% tags=["hide-input"]
notebook.picture("three_uses_of_attention")

# %% [markdown] quiz="memory_shape"
# **Pencil (2 min).** For the sentence in the next question, write down the shapes of $Q$, $K$ and the scores in
# cross-attention. Then answer the question.

# %% tags=["prediction", "hide-input"]
# The keys of each cross-attention, computed from the memory.
tgt_ids = torch.tensor([[1, 20, 21, 22]])
with torch.no_grad():
    keys = [
        layer.cross_attention.project_key_value(memory, memory)[0] for layer in model.decoder_layers
    ]
    differences = [(keys[0] - k).abs().mean().item() for k in keys[1:]]
    # Given the last layer's output and nothing else of the encoder, the decoder returns the same.
    from_memory = model.output_proj(model.decode(tgt_ids, memory))
    same_logits = torch.allclose(from_memory, model(src_ids, tgt_ids), atol=1e-4)
exercises.reveal(
    "keys_from_memory",
    measured="matching" if not same_logits else "each" if min(differences) > 0.05 else "once",
)
print("mean difference from the keys of decoder layer 1:", [round(d, 2) for d in differences])
print("same logits from the last encoder layer's output alone:", same_logits)
notebook.picture("encoder_decoder_stacks")

# %% [markdown]
# ### The map
#
# The tour opens an encoder layer, follows the memory to the decoder, and then traces one word of the translation. It
# ends with a question: why did the decoder look there?

# %% tags=["hide-input"]
model_map(
    translator.trace("Un chien noir court dans la neige avec un bâton."),
    here="cross-attention",
    tour="07",
)

# %% [markdown]
# <details><summary>Fine print</summary>
#
# - In the opening, the words are random and the layers untrained. Trained layers mix less evenly.
# - The experiment that breaks the encoder used one trained model and five captions, too few to show a small drop in
#   quality.
# - Section 4 trains for 34 steps, with three seeds, on a toy corpus. It shows that a norm isn't necessary for
#   depth, not that a careful start is better in general.
#
# </details>
#
# ### What to take away
#
# - Attention alone makes all words alike. A residual path, $x + \mathrm{Sublayer}(x)$, keeps them different.
# - Layer norm brings each vector, by itself, to mean 0 and size 1. Then it applies a learned gain and bias.
# - A deep stack needs vectors of a sensible size. Norms provide them, and so does a careful start.
# - The feed-forward network works on each position alone. In the paper's model it has two thirds of an encoder
#   layer's parameters.
# - An encoder layer is self-attention, then feed-forward. A decoder layer is masked self-attention,
#   cross-attention, feed-forward. Each sublayer has its own path and norm.
# - Every decoder layer computes its own keys and values from the encoder's *final* output.
#
# $$\text{post-norm: } \mathrm{LN}(x + f(x)) \qquad \text{pre-norm: } x + f(\mathrm{LN}(x))$$
#
# The model is complete, but it doesn't write yet, because its decoder returns vectors instead of words. **Lesson 08**
# makes it write. In its first translation, people wait for the train in a large train.

# %% [markdown] quiz="name_the_parts sublayers_in_order pencil_norm what_layer_norm_sees" my_parts=true
# ## Practice
#
# About 25 minutes, the easiest first.

# %% [markdown]
# ### The paper's order


# %% tags=["exercise"]
def residual_post_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)"""
    ...


# %% [markdown]
# Some well-known code for the paper's model uses pre-norm, but the paper's section 3.1 has $\mathrm{LayerNorm}(x +
# \mathrm{Sublayer}(x))$. In the next cell, both of your functions read vectors that are three times too large. You
# can tell the two orders apart by the size of what they return.

# %%
too_large, unit = 3 * torch.randn(1, 5, 16), lambda h: F.layer_norm(h, [16])
for order in ("residual_post_norm", "residual_pre_norm"):
    y = exercises.mine(order)(too_large, torch.tanh, unit)
    print(f"{order:>18}:", [f"{size:.1f}" for size in y.std(-1, correction=0)[0]])

# %% tags=["hide-input"]
assert not torch.allclose(y.std(-1, correction=0), torch.ones(1, 5), atol=0.01)

# %% [markdown]
# ### The decoder's mask
#
# Targets are padded too, so in training the decoder's self-attention needs both masks of lesson 04.

# %% tags=["exercise"]
causal_mask, padding_mask = exercises.mine("causal_mask"), exercises.mine("padding_mask")


def decoder_mask(target_ids, pad_id):
    """(B, T) -> (B, 1, T, T) bool, True = allowed to attend"""
    ...


# %% [markdown]
# Here is your mask for four words, *a* to *d*, with padding in front of them. Each row shows what one token is
# allowed to attend to:

# %%
ids = torch.tensor([[PAD, PAD, 20, 21, 22, 23]])
mask = exercises.mine("decoder_mask")(ids, PAD)

# %% tags=["hide-input"]
# The mask as a picture.
labels = ["pad", "pad", "a", "b", "c", "d"]
notebook.show(
    plots.attention_heatmap(mask[0, 0].float(), labels, labels),
    alt="The decoder's mask for two tokens of padding and four words: the columns of the padding are empty, and "
    "each word is allowed to attend to itself and to the words before it.",
    width=300,
)
print(exercises.whose("decoder_mask"))

# %% [markdown]
# ### Find the bug
#
# This decoder layer has no norms, which makes its wiring easier to see. It has two mistakes, and each shows in one of
# the two tests underneath. The first test changes the *last* of four target words and prints which outputs move. The
# second replaces the memory with zeros and asks whether different targets still lead to different outputs.


# %% tags=["exercise"]
def leaky_decoder(x, memory, self_attention, cross_attention, feed_forward):
    """x (B, T, D), memory (B, S, D), three functions -> (B, T, D)"""
    x = x + self_attention(x, x, x, None)
    x = cross_attention(x, memory, memory, None)
    return x + feed_forward(x)


# %% tags=["trial", "hide-input"]
notebook.set_seed(0)
own_attention, cross_attention = MultiHeadAttention(16, 4), MultiHeadAttention(16, 4)
sublayers = (
    lambda *inputs: own_attention(*inputs)[0],
    lambda *inputs: cross_attention(*inputs)[0],
    FeedForward(16, 32),
)
target, source = torch.randn(1, 4, 16), torch.randn(1, 6, 16)
changed = target.clone()
changed[:, 3] = torch.randn(16)
try:
    with torch.no_grad():
        before, after = (leaky_decoder(x, source, *sublayers) for x in (target, changed))
        empty = [leaky_decoder(x, 0 * source, *sublayers) for x in (target, torch.randn(1, 4, 16))]
    print("outputs that move with the last word:", ((before - after).abs().sum(-1) > 0)[0].tolist())
    print("with an empty memory, targets differ:", not torch.allclose(*empty))
except Exception as error:  # a function half mended
    print(f"the two tests can't run yet: {error}")

# %% [markdown]
# ### Every shape on the way
#
# Press play or drag the slider to follow a sentence through our translator. Which kind of tensor has both $S$ and $T$ in its
# shape, and what do its rows and columns stand for? Then press *Break it* at a few steps, and say which two dimensions
# don't fit before you read PyTorch's message.

# %% tags=["hide-input"]
notebook.set_seed(0)
layer = DecoderLayer(16, n_heads=4, d_ff=32, dropout=0.0, norm_first=False)
with recorded_weights(layer) as maps:
    layer(torch.randn(1, 4, 16), torch.randn(1, 6, 16), masks.causal_mask(4))
self_weights, cross_weights = maps
assert self_weights.shape == (1, 4, 4, 4) and cross_weights.shape == (1, 4, 4, 6)
assert (self_weights.triu(1) == 0).all()
ShapeTracer(load_translator())

# %% [markdown]
# ### How large is the paper's model?
#
# The paper's base model has $D = 512$, six layers on each side, 8 heads and $F = 2048$. One vocabulary of about
# 37,000 tokens serves both languages, and one embedding matrix serves the source, the target and the output.

# %% tags=["prediction", "hide-input"]
config = TransformerConfig(
    src_vocab_size=37_000, tgt_vocab_size=37_000, share_vocabulary=True, norm_first=False
)
with torch.device("meta"):
    base = Transformer(config)
attention_parameters = 4 * (512 * 512 + 512)  # W_Q, W_K, W_V, W_O and their biases
feed_forward_parameters = (512 * 2048 + 2048) + (2048 * 512 + 512)
norm_parameters = 2 * 512  # gain and bias
encoder_parameters = attention_parameters + feed_forward_parameters + 2 * norm_parameters
decoder_parameters = 2 * attention_parameters + feed_forward_parameters + 3 * norm_parameters
embedding_parameters = 37_000 * 512
total = 6 * encoder_parameters + 6 * decoder_parameters + embedding_parameters
exercises.reveal("parameters_of_base", measured=round(count(base) / 1e6, 1))
for name, number in [
    ("attention", attention_parameters), ("feed-forward", feed_forward_parameters),
    ("encoder layer", encoder_parameters), ("decoder layer", decoder_parameters),
    ("embedding, used three times", embedding_parameters), ("all", total),
]:  # fmt: skip
    print(f"{name:>28}: {number:>12,}")
assert count(base) == total and abs(total / 65e6 - 1) < 0.05
assert 39_500 < (64.5e6 - (total - embedding_parameters)) / 512 < 40_300
assert round(12 * feed_forward_parameters / total, 1) == 0.4
assert 0.28 < embedding_parameters / total < 0.32
notebook.tell(
    """The paper's table says 65 million and we count 63. Rounding doesn't explain the difference, and the paper
    doesn't say how it counted. About two fifths of the parameters are in the feed-forward networks and almost a third
    in the embedding."""
)

# %% [markdown] quiz="why_residual"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about twenty minutes. Nothing later depends on it.
#
# ### What a norm forgives
#
# Layer norm is often said to make training *faster*. Section 4 says otherwise: step for step, the careful models
# without norms were ahead. Now make the steps twenty times as large.

# %% tags=["hide-input", "nbval-ignore-output"]
# Both kinds of model with large steps, two seeds each.
with StopBetweenSteps() as stop:
    large_steps = {
        name: [run(s, norms, scale, rate=0.06) for s in SEEDS[:2] if not stop.asked]
        for name, (norms, scale) in {"norms": (True, 1.0), **careful}.items()
    }
if complete(large_steps, 4):
    for name, runs in large_steps.items():
        losses = [h.validation_losses[-1] if h else math.inf for h in runs]
        print(f"{name:>23}: {', '.join(f'{loss:.2f}' for loss in losses)}")
        notebook.claim(max(losses) < 3 if name == "norms" else min(losses) > 5)

# %% [markdown]
# With norms, the larger steps even help. Without norms every run blows up, because nothing brings the vectors back
# once a step has made them large. In this model, then, a norm doesn't make a single step more effective. It lets you
# take larger steps from a careless start, which is what many people mean by *faster*.
#
# ### The gradient, layer by layer
#
# How large is the gradient in the early layers of a stack, and how large in the late ones? We send one batch through
# twelve fresh layers and back, and measure the gradient's length at the first feed-forward matrix of every layer.


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
class Bare(nn.Module):
    """An encoder layer without its paths: Sublayer(LayerNorm(x)), or LayerNorm(Sublayer(x))."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        layer = self.layer
        for residual, sublayer in [
            (layer.residual_1, lambda h: layer.self_attention(h, h, h)[0]),
            (layer.residual_2, layer.feed_forward),
        ]:
            norm = residual.norm
            x = sublayer(norm(x)) if residual.norm_first else norm(sublayer(x))
        return x


def run_stack(norm_first, with_residuals, n_layers=12):
    """Send a batch through a fresh stack, and a loss back: -> layers, what each of them returned"""
    notebook.set_seed(0)
    layers = [EncoderLayer(64, 4, 256, 0.0, norm_first) for _ in range(n_layers)]
    x, target = torch.randn(8, 10, 64), torch.randn(8, 10, 64)
    outputs = []
    for layer in layers:
        x = (layer if with_residuals else Bare(layer))(x)
        outputs.append(x.detach())
    x = F.layer_norm(x, [64]) if norm_first else x
    F.mse_loss(x, target).backward()
    return layers, outputs


fresh = {
    "post-norm": run_stack(False, True),
    "pre-norm": run_stack(True, True),
    "post-norm, no paths": run_stack(False, False),
    "pre-norm, no paths": run_stack(True, False),
}
gradients = {
    name: [layer.feed_forward.linear_1.weight.grad.norm().item() for layer in stack]
    for name, (stack, _) in fresh.items()
}
post, pre = gradients["post-norm"], gradients["pre-norm"]
ratio = post[-1] / pre[-1]
exercises.reveal(
    "larger_gradient", measured="post" if ratio > 1.5 else "pre" if ratio < 0.67 else "same"
)
print(f"last layer: the gradient is {ratio:.1f} times as large in post-norm as in pre-norm")
_, axes = pyplot.subplots()
axes.set_yscale("log")
plots.labelled_lines(
    range(1, 13), gradients, ax=axes, x_label="layer", y_label="length of the gradient", marker="o"
)
notebook.claim(post[-1] > 2 * pre[-1] and pre[0] > 2 * pre[-1])
notebook.show(
    axes,
    alt="Length of the gradient at each of twelve layers, logarithmic. Post-norm is nearly level, pre-norm "
    "falls towards the last layer; both curves without residual paths lie above them with this seed.",
    width=560,
)
notebook.tell(
    """In pre-norm the sum grows from layer to layer, so a late layer changes it only a little and has a small
    gradient. Post-norm brings every layer's output back to size 1, which leaves its last layers with a large gradient
    while the whole stack is still random. According to Xiong et al. (2020), that's why the paper's model needs a
    *warm-up*, small steps at first (lesson 09). Liu et al. (2020) dispute that unequal gradients are the cause."""
)

# %% [markdown]
# Without the residual paths, the gradient at the feed-forward matrix is *not* small, because the norms keep the
# vectors at size 1. The damage shows at the queries and keys of the last layer, where next to no gradient arrives. By
# then the words all share one vector, so it makes no difference which of them a query attends to.

# %% tags=["hide-input", "nbval-ignore-output"]
print(" " * 20, "gradient at W_Q, W_K    own share after layers 2, 4, 12")
for name, (stack, outputs) in fresh.items():
    attention = stack[-1].self_attention
    gradient = attention.query_proj.weight.grad.norm() + attention.key_proj.weight.grad.norm()
    own = [own_share(x) for x in outputs]
    print(f"{name:>20}  {gradient:18.0e} {own[1]:20.2g} {own[3]:8.2g} {own[11]:8.2g}")
    notebook.claim((gradient < 1e-5) == ("no paths" in name))
    if "no paths" in name:
        notebook.claim(own[1] < 0.25 and own[3] < 1e-5)
    else:
        notebook.claim(own[1] > 0.5 and own[11] > 0.02)

# %% [markdown]
# The path slows the mixing down without stopping it. After twelve fresh layers, almost half of a vector is the word's
# own in pre-norm, and a twentieth in post-norm.
#
# ### Dropout
#
# **Activations** are the numbers that flow through the model, as opposed to its weights. In training, dropout sets a
# random share $p$ of them to zero and divides the rest by $1 - p$, which keeps the expected sum where it was. After
# `model.eval()` it does nothing. The paper applies dropout to each sublayer's output before the addition, and to the
# sum of embeddings and positions.

# %%
dropout = Dropout(0.25)
dropped = dropout(torch.ones(100_000))
print(f"zero: {(dropped == 0).float().mean():.1%}   the others: {dropped.max():.3f}")

# %% tags=["hide-input"] quiz="what_dropout_does"
assert abs((dropped == 0).float().mean() - 0.25) < 0.01 and abs(dropped.mean() - 1) < 0.02
assert torch.equal(dropout.eval()(torch.ones(100)), torch.ones(100))

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.1, 3.3, 5.4.
# - Ba, Kiros, Hinton (2016), "Layer Normalization", arXiv:1607.06450.
# - Dong, Cordonnier, Loukas (2021), "Attention is not all you need: Pure attention loses rank doubly
#   exponentially with depth", arXiv:2103.03404.
# - He, Zhang, Ren, Sun (2016), "Deep Residual Learning for Image Recognition", arXiv:1512.03385.
# - Liu, Liu, Gao, Chen, Han (2020), "Understanding the Difficulty of Training Transformers",
#   arXiv:2004.08249.
# - Zhang, Dauphin, Ma (2019), "Fixup Initialization: Residual Learning Without Normalization",
#   arXiv:1901.09321.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
