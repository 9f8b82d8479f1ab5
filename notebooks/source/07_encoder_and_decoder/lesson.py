# %% [markdown]
# # Encoder and decoder
#
# The title of the paper says *Attention Is All You Need*. Let's take it literally and stack attention layers
# with nothing else in between, so each layer reads the output of the layer before.
#
# To see what happens to the words, we split every vector into two parts. One part is the average over the
# sentence, which all of its words share. The rest is the word's **own** part. At the start, a word's own part
# makes up about 95% of its vector's length. Attention mixes the words, so this share will shrink. How fast?

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import warnings

import torch
import torch.nn.functional as F
from IPython.display import display
from matplotlib import pyplot
from torch import nn

from helpers import exercises, plots
from helpers.transformer import masks
from helpers.transformer.attention import MultiHeadAttention, recorded_weights
from helpers.data import corpus
from helpers.training.interruption import StopBetweenSteps
from helpers.transformer.layers import DecoderLayer, Dropout, EncoderLayer, FeedForward, Residual
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import WordVocabulary
from helpers.training.training import TrainingSettings, train
from helpers.transformer.transformer import Transformer, TransformerConfig
from helpers.widgets.model_map import model_map
from helpers.widgets.shape_tracer import ShapeTracer

# %% [markdown] tags=["notes"]
# **48 minutes.** Hook, the picture, warm-up 7 · 1 paths 5 · 2 norm 14 · 3 feed-forward 5 ·
# 4 depth and width 6 · 5 decoder and the map 11.
#
# **Say first**: today is about everything around attention, and about why a stack of six such layers can be
# trained at all.
#
# **Show** the picture of the whole architecture, and come back to it at the start of every section. Ask
# people to point: "Which box are we building now?"
#
# **While the six small models train** (five to fifteen seconds): ask for a vote on both predictions, let
# neighbours argue, vote again. One press of the stop button ends all six. The cells after it then say that
# the training was cut short, and carry on.
#
# **If you're running late**: skip the pencil in section 2, and solve section 5's find-the-bug exercise together,
# aloud.
#
# **Ask**: "What would happen without the ReLU?" (two matrices in a row are one matrix) · "Why does
# cross-attention need no causal mask?" (the whole source is known from the start) · "Which tensor has both S
# and T in its shape?" (only the cross-attention's weights)
#
# **What people get wrong**: they divide the variance by n − 1; they put the norm on the skip path; they let
# decoder layer *i* read encoder layer *i*; they put cross-attention last. For the answers to the predictions,
# see the reveals.

# %%
words = torch.randn(8, 10, 64)  # (B=8, S=10, D=64): 8 sentences of 10 random words
layers = [MultiHeadAttention(64, n_heads=4) for _ in range(12)]  # untrained


# %%
def own_share(x):
    own = x - x.mean(dim=1, keepdim=True)  # take away what all words of a sentence share
    return (own.norm() / x.norm()).item()


# %%
exercises.predict("attention_alone")


# %% tags=["hide-input", "nbval-ignore-output"]
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
    y_label="share of its own, %",
    marker="o",
)
axes.set_ylim(0, 100)
plots.mark_guess(axes, 4, exercises.guess("attention_alone"))
assert 0.9 < shares_alone[0] < 0.98 and shares_alone[2] < 0.15 and shares_alone[4] < 1e-4
display(
    notebook.figure(
        axes,
        alt="Share of each vector that is its own against the number of attention layers: from 95 percent "
        "it falls to about 65 after one layer, a few percent after two, and zero from the third on.",
        width=520,
    )
)
notebook.tell(
    """After two layers, only a twentieth of each vector is the word's own, and after four layers only rounding
    errors are left. All ten words of a sentence now have the *same* vector, so no later layer can tell them
    apart. Dong et al. (2021) prove that pure attention loses the differences this fast."""
)

# %% [markdown]
# So attention isn't all you need. This is the paper's whole model, with everything that surrounds the
# attention:

# %% tags=["hide-input"]
notebook.picture("whole_architecture")

# %% [markdown]
# You've already built the embeddings, the positions and the attention itself. Today we add the rest, box by
# box.

# %%
exercises.quiz("name_the_parts")

# %%
exercises.warm_up(7)

# %% [markdown]
# ## 1. How does a word keep its own information?
#
# A single plus sign repairs our stack. In place of $\mathrm{Sublayer}(x)$ we pass on
#
# $$x + \mathrm{Sublayer}(x)$$
#
# so that $x$ itself bypasses the sublayer, along the blue lines of the picture. This bypass is called a
# **residual path** or *skip path* (He et al. 2016). A sublayer no longer has to reproduce everything that a
# word's vector already contained. It only has to compute what to *add*.
#
# ### Your turn (2 min)

# %% tags=["hide-input"]
exercises.heading("skip_paths")


# %%
def skip_paths(x, sublayers):
    """x (B, S, D), a list of functions from (B, S, D) to (B, S, D) -> (B, S, D)"""
    for sublayer in sublayers:
        x = sublayer(x)  # ← something is missing here
    return x


# %% tags=["hide-input"]
exercises.check("skip_paths", skip_paths)

# %% [markdown]
# Let's put such a path around each of twelve attention layers and feed in the same words. The words will stay
# different for longer, but something happens to the size of their vectors.

# %%
exercises.predict("size_after_twelve")

# %% tags=["hide-input", "nbval-ignore-output"]
shares_with, sizes_with = through(layers, words, path=True)
largest = sizes_with[12]
exercises.reveal(
    "size_after_twelve",
    measured="same" if largest < 2 else "few" if largest < 10 else "many",
)
print(f"typical size of an entry: {sizes_with[0]:.1f} at first, {largest:.1f} after twelve layers")
print(f"of its own after twelve layers: {100 * shares_with[12]:.0f}%")
figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.2), constrained_layout=True)
plots.labelled_lines(
    range(13),
    {"with paths": [100 * s for s in shares_with], "alone": [100 * s for s in shares_alone]},
    ax=left,
    x_label="layers",
    y_label="share of its own, %",
)
plots.labelled_lines(
    range(13), {"with paths": sizes_with}, ax=right, x_label="layers", y_label="typical size"
)
for panel in (left, right):
    panel.set_xticks(range(0, 13, 4))
assert largest > 10 and shares_with[4] > 0.5 and shares_with[12] > 0.05
assert all(later > earlier for earlier, later in zip(sizes_with, sizes_with[1:], strict=False))
assert sizes_with[12] / sizes_with[11] > 1.2 > sizes_with[1]
assert sizes_with[12] * (sizes_with[12] / sizes_with[11]) ** 18 > 1000
display(
    notebook.figure(
        figure,
        alt="Two panels. Left: with paths, the share that is a word's own falls slowly over twelve layers "
        "and is still well above zero; attention alone is at zero after three. Right: the typical size of "
        "an entry with paths climbs from 1, faster and faster, to more than 20.",
    )
)
notebook.tell(
    """The words stay different, because $x$ itself is never lost. But each layer adds something in proportion
    to its input, so the vectors grow faster and faster. At this rate, a stack of thirty layers would return
    numbers in the thousands."""
)

# %% [markdown]
# ## 2. How do we keep the size in check?
#
# With a residual path around every sublayer, the vectors grow from layer to layer. We could divide every
# vector by its size before a sublayer reads it, and **layer normalisation** does nearly that (Ba et al.
# 2016). It takes *one* word's vector, subtracts the mean of its entries, and divides by their standard
# deviation. Now the entries have mean 0 and typical size 1, however large they were before. Then two learned
# vectors, a *gain* and a *bias*, give each entry a scale and a centre that suit the next sublayer.
#
# $$\mathrm{LayerNorm}(x) = \text{gain} \cdot \frac{x - \text{mean}}{\sqrt{\text{variance} + \varepsilon}} + \text{bias}$$
#
# The tiny $\varepsilon$ prevents a division by zero.
#
# **Pencil (2 min).**

# %%
exercises.quiz("pencil_norm")

# %% [markdown]
# ### Your turn (5 min)

# %% tags=["hide-input"]
exercises.heading("layer_norm")


# %%
def layer_norm(x, gain, bias, eps=1e-5):
    """x (..., D), gain (D,), bias (D,) -> (..., D)"""
    mean = x.mean(-1, keepdim=True)
    variance = ...  # ← fill the gaps
    return gain * (x - mean) / (variance + ...).sqrt() + bias


# %% tags=["hide-input"]
exercises.check("layer_norm", layer_norm)

# %%
exercises.quiz("what_layer_norm_sees")

# %% [markdown]
# Where should the norm go? There are two common places. The paper normalises the sum, which is called
# **post-norm**. Most models since then, including our translator, normalise only the sublayer's input, which
# is called **pre-norm**. In pre-norm, nothing interrupts the path of $x$.

# %% tags=["hide-input"]
notebook.picture("residual_and_norm")

# %% [markdown]
# ### Your turn (4 min)
#
# Write both versions, the paper's first.

# %% tags=["hide-input"]
exercises.heading("residual_post_norm")


# %%
def residual_post_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)"""
    ...


# %% tags=["hide-input"]
exercises.check("residual_post_norm", residual_post_norm)

# %% tags=["hide-input"]
exercises.heading("residual_pre_norm")


# %%
def residual_pre_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)"""
    ...


# %% tags=["hide-input"]
exercises.check("residual_pre_norm", residual_pre_norm)

# %% [markdown]
# The course's own "add & norm" box can be either. During training it also applies **dropout**, which sets a
# random share of the numbers to zero so that the model doesn't rely on any single number.

# %%
notebook.show_source(Residual.forward)

# %% [markdown]
# ## 3. What happens after attention?
#
# Attention moves information *between* words. But once the vector of *bank* contains something of *river*,
# the model still has to work out what the two mean together, and a weighted average can't do that. That's the
# job of the **feed-forward network**. It has two linear layers with a ReLU in between, which sets negative
# numbers to zero:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# It works on **each position by itself**, with the same weights at every position, so no word affects another
# here. In the picture, the feed-forward network looks like a small extra.

# %%
exercises.predict("share_of_feed_forward")

# %% tags=["hide-input"]
with torch.device("meta"):  # shapes only; nothing is allocated
    papers_layer = EncoderLayer(512, n_heads=8, d_ff=2048, dropout=0.1, norm_first=False)


def count(module):
    return sum(p.numel() for p in module.parameters())


share = 100 * count(papers_layer.feed_forward) / count(papers_layer)
exercises.reveal("share_of_feed_forward", measured=round(share, 1))
parts = {
    "attention": papers_layer.self_attention,
    "feed-forward": papers_layer.feed_forward,
    "both norms": nn.ModuleList([papers_layer.residual_1, papers_layer.residual_2]),
}
for name, module in parts.items():
    print(f"{name:>12}: {count(module):>9,} parameters")
assert 66 < share < 67
notebook.tell(
    """Two thirds of the layer's parameters are in the feed-forward network, which works on what attention has
    collected."""
)

# %% [markdown]
# ### Your turn (3 min)

# %% tags=["hide-input"]
exercises.heading("feed_forward")


# %%
def feed_forward(x, w_1, b_1, w_2, b_2):
    """x (..., D), weights (D, F) and (F, D), biases (F,) and (D,) -> (..., D)"""
    ...


# %% tags=["hide-input"]
exercises.check("feed_forward", feed_forward)

# %% [markdown]
# That completes an encoder layer. In code it's two lines, one per sublayer:

# %%
notebook.show_source(EncoderLayer.forward)

# %% [markdown]
# ## 4. How many layers, and how wide?
#
# The encoder is a stack of $N$ such layers, and each layer reads the output of the layer below. The paper
# chose $N = 6$ and a width $d_{model}$ of 512. It calls the layers *identical*.

# %%
exercises.quiz("identical_layers")

# %% tags=["hide-input"]
translator = load_translator()
queries = [layer.self_attention.query_proj.weight for layer in translator.model.encoder_layers]
apart = [round((queries[0] - w).norm().item() / queries[0].norm().item(), 2) for w in queries]
print("W_Q of encoder layers 1, 2, 3: relative distance from that of layer 1:", apart)
assert min(apart[1:]) > 0.5

# %% [markdown]
# No formula tells you $N$ and $d_{model}$. They are **hyperparameters**, which people choose by experiment.
# Let's do the same with six small translators on our French–English toy corpus. All six get the same 48
# training steps. Four have norms, and two don't.

# %%
variants = {  # name: layers, width, with layer norm?
    "1 layer": (1, 32, True),
    "2 layers": (2, 32, True),
    "4 layers": (4, 32, True),
    "2 layers, width 64": (2, 64, True),
    "2 layers, no norm": (2, 32, False),
    "4 layers, no norm": (4, 32, False),
}

# %%
exercises.predict("deeper_or_wider")

# %%
exercises.predict("without_norm")

# %% tags=["hide-input"]
seed = 0
toy = corpus.toy_splits(n_train=2000, n_validation=200, n_test=200, seed=0, lengths=(4, 10))
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
settings = TrainingSettings(
    epochs=1, peak_rate=3e-3, warmup_steps=20, batch_tokens=432, decay="linear", seed=seed
)

# What it costs to know nothing but how frequent each token is.
counts = torch.ones(len(tgt_vocabulary))
for _, ids in train_pairs:
    counts += torch.bincount(torch.tensor(ids[1:]), minlength=len(counts))
told = torch.cat([torch.tensor(ids[1:]) for _, ids in validation_pairs])
by_frequency = -(counts / counts.sum()).log()[told].mean().item()


def small_translator(n_layers, width, norm):
    notebook.set_seed(seed)
    sizes = dict(d_model=width, n_layers=n_layers, d_ff=2 * width, n_heads=4, max_len=64)
    model = Transformer(TransformerConfig(**vocabularies, **sizes, dropout=0.0, norm_first=True))
    if not norm:
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.LayerNorm):
                    setattr(module, name, nn.Identity())
    return model


def complete(histories, wanted):
    """Whether all trainings have run to their end; if not, say what to do."""
    whole = [h for h in histories.values() if not h.stopped_early]
    if len(whole) < len(wanted):
        print(
            f"{len(whole)} of {len(wanted)} trainings are complete. Run the training cell again to "
            "train them all, or go on: nothing after this section needs them."
        )
    return len(whole) == len(wanted)


# %% tags=["nbval-ignore-output"]
histories = {}
with StopBetweenSteps() as stop:  # the stop button ends all six at once
    for name, variant in variants.items():
        model = small_translator(*variant)
        histories[name] = train(model, train_pairs, validation_pairs, settings, progress=False)
        print(f"{name}: {count(model):,} parameters")
        if stop.asked:
            break


# %% tags=["hide-input", "nbval-ignore-output"]
def bars(losses, title):
    """Draw a bar per model."""
    _, axes = pyplot.subplots(figsize=(7.5, 0.55 * len(losses) + 1.1))
    axes.barh(list(losses), list(losses.values()), color=plots.BLUE)
    axes.invert_yaxis()
    axes.set_xlabel(title)
    for row, loss in enumerate(losses.values()):
        axes.annotate(
            f"{loss:.2f}", (loss, row), xytext=(4, 0), textcoords="offset points", va="center"
        )
    return axes


if complete(histories, variants):
    final = {name: h.validation_losses[-1] for name, h in histories.items()}
    gap = final["4 layers"] - final["2 layers, width 64"]
    exercises.reveal(
        "deeper_or_wider",
        measured="same" if abs(gap) < 0.1 else "wider" if gap > 0 else "deeper",
    )
    with_norm = {name: loss for name, loss in final.items() if "no norm" not in name}
    axes = bars(with_norm, "validation loss after 48 steps, nats per token")
    assert len(histories["1 layer"].losses) == 48 and gap > 0.1
    assert final["1 layer"] > final["2 layers"] > final["4 layers"]
    display(
        notebook.figure(
            axes,
            alt="Validation losses as bars: one layer has the highest, two layers a lower one, four "
            "layers a still lower one, and two layers of twice the width the lowest of all.",
            width=560,
        )
    )
notebook.tell(
    """Each doubling of the depth helps a little, and doubling the width helps more. That's only the result for
    48 steps of these tiny models with one seed, and the wider model has twice as many parameters as the
    deeper one. But such experiments are how people choose these numbers."""
)

# %% [markdown]
# And what do the norms do?

# %% tags=["hide-input", "nbval-ignore-output"]
if complete(histories, variants):
    ruined, with_it = final["4 layers, no norm"], final["4 layers"]
    exercises.reveal(
        "without_norm",
        measured="ruined"
        if ruined > by_frequency
        else "slower"
        if ruined > with_it + 0.3
        else "hardly",
    )
    for name in ("2 layers", "2 layers, no norm", "4 layers", "4 layers, no norm"):
        first = histories[name].losses[0]
        print(f"{name:>18}: loss {first:6.1f} at the first step, {final[name]:5.2f} at the end")
    print(f"guessing each word by its frequency: {by_frequency:.2f}")
    assert ruined > 2 * by_frequency and final["2 layers, no norm"] < final["2 layers"]
    assert histories["4 layers, no norm"].losses[0] > 50 > histories["2 layers, no norm"].losses[0]
notebook.tell(
    """Two layers don't need a norm at all, and here they even learn faster without one. Four layers without a
    norm start with a loss above 100 and never recover, because the sums have grown too large by the time
    they reach the output. So a stack needs norms if it is to be deep."""
)

# %% [markdown]
# ## 5. What does a decoder layer add?
#
# The decoder writes one word at a time, and each word depends on two things: the words written so far and the
# source sentence. So a decoder layer has two kinds of attention. The first is self-attention to the target
# words so far, with a causal mask that hides the future. The second is **cross-attention** to the source. Its
# queries come from the target, and its keys and values come from the encoder's output, which is called the
# **memory**. All three uses of attention in the model share the same code, and only the inputs and the mask
# differ.

# %% tags=["hide-input"]
notebook.picture("three_uses_of_attention")

# %% [markdown]
# **Pencil (2 min).** Before you answer, write down the shapes of $Q$, $K$ and the scores of one
# cross-attention.

# %%
exercises.quiz("memory_shape")

# %%
exercises.predict("keys_from_memory")

# %% tags=["hide-input"]
model = translator.model.eval()
src_ids = translator.encode(["Un chien noir court dans la neige."])
tgt_ids = torch.tensor([[1, 20, 21, 22]])
with torch.no_grad():
    memory = model.encode(src_ids)
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

# %%
exercises.quiz("sublayers_in_order")

# %% [markdown]
# ### Your turn: find the bug (4 min)
#
# This decoder layer leaves out the norms so that you can see how the parts are connected. Two tests show that
# something is wrong with it. The first changes the *last* of four target words and prints which outputs
# change. The second replaces the memory with zeros and checks whether different targets still give different
# outputs.

# %% tags=["hide-input"]
exercises.heading("leaky_decoder")


# %%
def leaky_decoder(x, memory, attend, look_across, think):
    """x (B, T, D), memory (B, S, D), three functions -> (B, T, D)"""
    x = x + attend(x, x, x, None)
    x = look_across(x, memory, memory, None)
    return x + think(x)


# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
exercises.check("leaky_decoder", leaky_decoder)

# %% [markdown]
# ### The map
#
# Here's the whole model at work. The tour opens an encoder layer, follows the memory to the decoder, and then
# traces one word of the translation.

# %% tags=["hide-input"]
model_map(
    translator.trace("Un chien noir court dans la neige avec un bâton."),
    here="cross-attention",
    tour="07",
)

# %% [markdown]
# ### What to take away
#
# - Attention alone makes all words alike. A residual path, $x + \mathrm{Sublayer}(x)$, keeps them different.
# - Layer norm gives each vector, by itself, mean 0 and size 1. Then it applies a learned gain and bias.
# - The feed-forward network works on each position alone and holds most of the parameters.
# - An encoder layer is self-attention, then feed-forward. A decoder layer is masked self-attention,
#   cross-attention, feed-forward. Each sublayer has its own path and norm.
# - Layers are identical in structure, not in weights. $N$ and $d_{model}$ are hyperparameters.
# - Every decoder layer computes its own keys and values from the encoder's *final* output.
#
# $$\text{post-norm: } \mathrm{LN}(x + f(x)) \qquad \text{pre-norm: } x + f(\mathrm{LN}(x))$$
#
# The decoder returns one vector per position. **Lesson 08** turns these vectors into words.

# %% [markdown]
# # Practice
#
# About 25 minutes, the easiest first.

# %%
exercises.quiz("where_the_norm_stands")

# %%
exercises.quiz("what_dropout_does")

# %%
exercises.quiz("three_uses")

# %%
exercises.quiz("memory_of_each_layer")

# %% [markdown]
# ### The decoder's mask
#
# In training, a batch of targets has padding too. So the decoder's self-attention needs both masks of lesson
# 04.

# %% tags=["hide-input"]
exercises.heading("decoder_mask")


# %%
def decoder_mask(target_ids, pad_id):
    """(B, T) -> (B, 1, T, T) bool, True = allowed to attend"""
    ...


# %% tags=["hide-input"]
exercises.check("decoder_mask", decoder_mask)

# %% [markdown]
# ### Every shape on the way
#
# Press play or drag the slider to follow a sentence through our translator. Look for the one kind of tensor
# that has both $S$ and $T$ in its shape. Lighting up one of the two letters helps. What do its rows stand for, and
# what do its columns stand for? Then press *Break it* at a few steps. Before you read PyTorch's message, say which
# two dimensions don't fit.

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
# The base model of the paper has $D = 512$, six layers on each side, 8 heads and $F = 2048$. It has one
# vocabulary of about 37,000 tokens and uses the same embedding matrix three times: for the source, the target
# and the output.

# %%
exercises.predict("parameters_of_base")

# %% tags=["hide-input"]
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
    """The paper's table says 65 million and we count 63. Rounding doesn't explain the difference, because even
    64.5 million would need a vocabulary of about 40,000, and the paper doesn't say how it counted. Two
    fifths of the parameters are in the feed-forward networks, and almost a third are in the embedding."""
)

# %%
exercises.quiz("parameters_of_feed_forward")

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("why_residual")

# %%
exercises.quiz("is_it_a_cnn")

# %% [markdown]
# # Going deeper
#
# Optional, about a quarter of an hour. Nothing later depends on it.
#
# ## Two layer norms that are nearly right
#
# Two wrong variants of layer norm are common. One divides the sum of squares by $n - 1$. The other adds
# $\varepsilon$ to the standard deviation instead of the variance.

# %%
exercises.predict("off_by_one")


# %% tags=["hide-input"]
def unbiased(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt()


def eps_outside(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps)


notebook.set_seed(0)
too_small, off = 0, {}
for width in (4, 512):
    wide = torch.randn(1000, width)
    right_one = F.layer_norm(wide, [width])
    for variant in (unbiased, eps_outside):
        off[variant.__name__, width] = (variant(wide) - right_one).abs().mean().item()
        print(
            f"width {width:>3}, {variant.__name__:>11}: off by {off[variant.__name__, width]:.1g}"
        )
    if width == 4:
        too_small = 100 * (1 - (unbiased(wide).norm() / right_one.norm()).item())
exercises.reveal("off_by_one", measured=round(too_small, 1))
assert off["unbiased", 4] > 0.1 and off["unbiased", 512] > 5e-4
assert off["eps_outside", 4] < 0.01 * off["unbiased", 4] and abs(too_small - 13.4) < 0.2
notebook.tell(
    r"""At width 4 the factor is $\sqrt{3/4}$, so every number is 13% too small. At width 512 it's a tenth of a
    percent. The position of $\varepsilon$ matters only for vectors that are nearly constant."""
)

# %% [markdown]
# ## The gradient, layer by layer
#
# How much of the loss's gradient reaches the early layers? We take twelve fresh layers, send one batch
# through, compute a loss and run one backward pass. Then we measure the length of the gradient at one matrix
# per layer, namely the first matrix of the feed-forward network.

# %%
exercises.predict("larger_gradient")


# %% tags=["hide-input", "nbval-ignore-output"]
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
print(f"last layer: post-norm gets {ratio:.1f} times the gradient of pre-norm")
_, axes = pyplot.subplots()
axes.set_yscale("log")
plots.labelled_lines(
    range(1, 13), gradients, ax=axes, x_label="layer", y_label="length of the gradient", marker="o"
)
assert post[-1] > 2 * pre[-1] and pre[0] > 2 * pre[-1]
display(
    notebook.figure(
        axes,
        alt="Length of the gradient at each of twelve layers, logarithmic. Post-norm is nearly level, pre-norm "
        "falls towards the last layer; both curves without residual paths lie above them with this seed.",
        width=560,
    )
)
notebook.tell(
    """In pre-norm, the sum grows from layer to layer, so a late layer changes the sum less and gets a smaller
    gradient. In post-norm, every layer's output is brought back to size 1, so the last layers get a large
    gradient while the whole stack is still random. Xiong et al. (2020) say that this is why the paper's
    model needs a *warm-up*, which means small steps at first. Liu et al. (2020) dispute that unequal
    gradients are the cause."""
)

# %% [markdown]
# Without the paths, the gradient at this matrix is *not* small, because the norms keep the vectors at size 1.
# But the gradient is tiny at the matrices for the queries and keys of the last layer. The next table shows
# why: by then all words have nearly the same vector, so changing the weights changes nothing.

# %% tags=["hide-input", "nbval-ignore-output"]
print(" " * 20, "gradient at W_Q, W_K    own share after layers 2, 4, 12")
for name, (stack, outputs) in fresh.items():
    attention = stack[-1].self_attention
    gradient = attention.query_proj.weight.grad.norm() + attention.key_proj.weight.grad.norm()
    own = [own_share(x) for x in outputs]
    print(f"{name:>20}  {gradient:18.0e} {own[1]:20.2g} {own[3]:8.2g} {own[11]:8.2g}")
    assert (gradient < 1e-5) == ("no paths" in name)
    if "no paths" in name:
        assert own[1] < 0.25 and own[3] < 1e-5
    else:
        assert own[1] > 0.5 and own[11] > 0.02

# %% [markdown]
# With residual paths, each word's vector keeps a part of its own. After twelve fresh layers, that part is
# almost half of the vector in pre-norm and a twentieth in post-norm. So the path slows the mixing down but
# doesn't stop it.
#
# ## Post-norm, pre-norm and the warm-up
#
# We train four translators, each with an encoder and a decoder of four layers, for two epochs on 1,000 pairs.
# That takes five to ten seconds. One press of the stop button ends all four.

# %%
orders = {
    "post-norm, no warm-up": (False, 1),
    "post-norm, with warm-up": (False, 20),
    "pre-norm, no warm-up": (True, 1),
    "pre-norm, with warm-up": (True, 20),
}

# %% tags=["hide-input", "nbval-ignore-output"]
four_layers = dict(d_model=64, n_heads=4, n_layers=4, d_ff=128, dropout=0.0, max_len=64)
runs = {}
with StopBetweenSteps() as stop:
    for name, (norm_first, warmup_steps) in orders.items():
        notebook.set_seed(0)
        model = Transformer(TransformerConfig(**vocabularies, **four_layers, norm_first=norm_first))
        rate = TrainingSettings(
            epochs=2, peak_rate=5e-3, warmup_steps=warmup_steps, batch_tokens=352, decay="linear"
        )
        runs[name] = train(model, train_pairs[:1000], validation_pairs, rate, progress=False)
        if stop.asked:
            break
if complete(runs, orders):
    smooth = {
        name: torch.tensor(run.losses).unfold(0, 6, 6).mean(-1).tolist()
        for name, run in runs.items()
    }
    n_points = min(len(curve) for curve in smooth.values())
    axes = plots.labelled_lines(
        [6 * i for i in range(1, n_points + 1)],
        {name: curve[:n_points] for name, curve in smooth.items()},
        x_label="step",
        y_label="loss, nats per token",
    )
    last = {name: run.validation_losses[-1] for name, run in runs.items()}
    slowest, warmed = last["post-norm, no warm-up"], last["post-norm, with warm-up"]
    assert max(last["pre-norm, no warm-up"], last["pre-norm, with warm-up"]) < warmed < slowest
    assert slowest > by_frequency - 0.4
    display(
        notebook.figure(
            axes,
            alt="Training loss against step for four runs. Both pre-norm curves fall far below both "
            "post-norm curves; post-norm without warm-up is the slowest.",
            width=620,
        )
    )

# %% [markdown]
# Both post-norm runs lag behind both pre-norm runs. Post-norm without warm-up has learned little more than
# how frequent each word is, and with warm-up it does better. These are short runs with one seed, at a
# learning rate chosen to show the difference, and the paper itself trained a post-norm model with great
# success. Because both versions are called *the Transformer*, `norm_first` has no default in our code.
#
# ## Dropout
#
# **Activations** are the numbers that flow through the model, as opposed to its weights. During training,
# dropout sets a random share $p$ of the activations to zero. It divides the rest by $1 - p$, so
# that the expected sum stays the same. After `model.eval()`, dropout is switched off. In the paper, dropout
# is applied to each sublayer's output before the addition, and to the sum of embeddings and positions.

# %%
dropout = Dropout(0.25)
dropped = dropout(torch.ones(100_000))
print(f"zero: {(dropped == 0).float().mean():.1%}   the others: {dropped.max():.3f}")

# %% tags=["hide-input"]
assert abs((dropped == 0).float().mean() - 0.25) < 0.01 and abs(dropped.mean() - 1) < 0.02
assert torch.equal(dropout.eval()(torch.ones(100)), torch.ones(100))

# %% [markdown]
# ## Does PyTorch get the same numbers?
#
# Does our model compute what `nn.Transformer` computes? We copy the weights of all eight layers of a fresh
# model into PyTorch's model and compare the outputs. `nn.Transformer` has no embeddings and no output layer,
# so we use ours for both.


# %% tags=["hide-input"]
def attention_pairs(ours, theirs):
    """List the tensors of nn.MultiheadAttention, whose W_Q, W_K, W_V are one matrix, beside ours."""
    projections = [ours.query_proj, ours.key_proj, ours.value_proj]
    return [
        (theirs.in_proj_weight, torch.cat([p.weight for p in projections])),
        (theirs.in_proj_bias, torch.cat([p.bias for p in projections])),
        (theirs.out_proj.weight, ours.out_proj.weight),
        (theirs.out_proj.bias, ours.out_proj.bias),
    ]


def copy_layer(ours, theirs):
    """Give PyTorch's layer the weights of ours; the norms start equal."""
    pairs = attention_pairs(ours.self_attention, theirs.self_attn)
    if hasattr(ours, "cross_attention"):
        pairs += attention_pairs(ours.cross_attention, theirs.multihead_attn)
    for part, module in [("1", ours.feed_forward.linear_1), ("2", ours.feed_forward.linear_2)]:
        pairs += [(getattr(theirs, f"linear{part}").weight, module.weight)]
        pairs += [(getattr(theirs, f"linear{part}").bias, module.bias)]
    with torch.no_grad():
        for their_tensor, our_tensor in pairs:
            their_tensor.copy_(our_tensor)


notebook.set_seed(0)
src_ids = torch.tensor([train_pairs[6][0]])  # one sentence, so there is no padding to hide
tgt_ids = torch.tensor([train_pairs[6][1][:-1]])
for norm_first in (False, True):
    small = Transformer(TransformerConfig(**vocabularies, **four_layers, norm_first=norm_first))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a faster path that pre-norm doesn't have
        theirs = nn.Transformer(
            64, 4, 4, 4, 128, dropout=0.0, batch_first=True, norm_first=norm_first
        )
    if not norm_first:  # PyTorch puts a norm after the last layer even in post-norm; ours doesn't
        theirs.encoder.norm = theirs.decoder.norm = None
    for stack, part in ((small.encoder_layers, "encoder"), (small.decoder_layers, "decoder")):
        for mine, other in zip(stack, getattr(theirs, part).layers, strict=True):
            copy_layer(mine, other)
    hidden = theirs(
        small.embed(src_ids, small.src_embedding),
        small.embed(tgt_ids, small.tgt_embedding),
        tgt_mask=~masks.causal_mask(tgt_ids.shape[1]),  # there True means: not allowed
    )
    torch.testing.assert_close(
        small.output_proj(hidden), small(src_ids, tgt_ids), atol=1e-4, rtol=0
    )
    print("pre-norm" if norm_first else "post-norm", "model: equal to nn.Transformer")

# %% [markdown]
# ## Myth or fact?
#
# **"The paper is pre-norm."** A myth. Section 3.1 of the paper has $\mathrm{LayerNorm}(x +
# \mathrm{Sublayer}(x))$. You can tell from a layer's output which kind it is, because a post-norm layer
# returns normalised vectors.

# %%
three_times_as_large = 3 * torch.randn(1, 5, 16)
for norm_first in (False, True):
    y = EncoderLayer(16, 4, 32, dropout=0.0, norm_first=norm_first)(three_times_as_large)
    print("pre-norm " if norm_first else "post-norm", y.std(-1, correction=0).detach())

# %% tags=["hide-input"]
assert not torch.allclose(y.std(-1, correction=0), torch.ones(1, 5), atol=0.01)
y = EncoderLayer(16, 4, 32, dropout=0.0, norm_first=False)(three_times_as_large)
assert torch.allclose(y.std(-1, correction=0), torch.ones(1, 5), atol=0.01)

# %% [markdown]
# **"The six encoder layers share their weights."** A myth. Section 4 measured how far apart they are.
#
# **"Cross-attention is the third sublayer."** A myth. Cross-attention is the second sublayer, and the
# feed-forward network is the third.
#
# **"Dropout removes weights."** A myth. Dropout sets activations to zero, and only during training.
#
# **"A Transformer is a CNN plus attention."** A myth. The paper remarks that the feed-forward network can be
# described as two convolutions of kernel size 1. But a kernel of size 1 covers a single position, so nothing
# is convolved *over* positions.

# %%
ffn, x = FeedForward(d_model=8, d_ff=32), torch.randn(2, 5, 8)
convolution = nn.Conv1d(8, 32, kernel_size=1)
convolution.weight.data, convolution.bias.data = ffn.linear_1.weight[:, :, None], ffn.linear_1.bias
as_convolution = convolution(x.transpose(1, 2)).transpose(1, 2)
print("largest difference:", (as_convolution - ffn.linear_1(x)).abs().max().item())

# %% tags=["hide-input"]
torch.testing.assert_close(as_convolution, ffn.linear_1(x))
alone = torch.stack([ffn(x[:, t]) for t in range(5)], dim=1)  # one position after the other
torch.testing.assert_close(alone, ffn(x))

# %% [markdown]
# **To try.** *RMSNorm* (Zhang and Sennrich 2019) leaves out the mean and the bias. Write it, use it in an
# `EncoderLayer` in place of both norms, and repeat the gradient plot. What changes, and how many
# parameters does the base model save?

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.1, 3.3, 5.4.
# - Ba, Kiros, Hinton (2016), "Layer Normalization", arXiv:1607.06450.
# - Dong, Cordonnier, Loukas (2021), "Attention is not all you need: Pure attention loses rank doubly
#   exponentially with depth", arXiv:2103.03404.
# - He, Zhang, Ren, Sun (2016), "Deep Residual Learning for Image Recognition", arXiv:1512.03385.
# - Lan et al. (2019), "ALBERT: A Lite BERT for Self-supervised Learning of Language Representations",
#   arXiv:1909.11942.
# - Liu, Liu, Gao, Chen, Han (2020), "Understanding the Difficulty of Training Transformers",
#   arXiv:2004.08249.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
# - Zhang, Sennrich (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467.
