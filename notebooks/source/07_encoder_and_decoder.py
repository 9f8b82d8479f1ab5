# %% [markdown]
# # Encoder and decoder
#
# **What is around the attention?** Attention mixes words. A Transformer also has to *think* about each
# word, keep what it knew, and stay trainable through many layers. And it needs a second half that
# writes.
#
# At the end of these **60 minutes**, and half an hour more for the whole breakout, you can
#
# - write layer normalisation and the feed-forward network, and say what they work on,
# - draw post-norm and pre-norm and measure what the difference does to the gradient,
# - name the three uses of attention with their queries, keys, values and masks,
# - follow one sentence through the whole model, shape by shape,
# - count every parameter of the paper's base model (it says 65 million).
#
# You need lessons 04 to 06.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import dataclasses

import torch
import torch.nn.functional as F
from matplotlib import pyplot
from torch import nn

from helpers.data import corpus
from helpers import exercises, masks, plots
from helpers.attention import recorded_weights
from helpers.layers import DecoderLayer, EncoderLayer, FeedForward
from helpers.pretrained.translator import load_translator
from helpers.tokenization import WordVocabulary
from helpers.training import TrainingSettings, train
from helpers.transformer import Transformer, TransformerConfig
from helpers.widgets.shape_tracer import ShapeTracer

# %% [markdown] tags=["notes"]
# **Minutes**: 1 and 2 norm and feed-forward 12 · 3 residual paths 22 · 4 and 5 dropout, decoder 12 ·
# 6 and 7 trace, parameters 14. The breakout, half an hour, is for home.
#
# **When late**: skip the training in section 3 and the count in section 7.
#
# **What people get wrong**: they divide the variance by n − 1; they put the norm on the skip path; they
# let decoder layer *i* read encoder layer *i*.

# %% tags=["hide-input"]
notebook.picture("encoder_decoder_stacks")

# %% [markdown]
# ## 1. Layer normalisation
#
# Through many layers, vectors may grow or shrink. **Layer normalisation** brings each of them back to
# one size, so that the next layer always meets numbers it can work with (Ba et al. 2016).
#
# Take one word's vector. Subtract its mean, divide by its standard deviation, then let two learned
# vectors, a *gain* and a *bias*, choose a new scale and a new centre for each component. By hand, for
# a vector of four:

# %%
x = torch.tensor([2.0, 4.0, 4.0, 6.0])
mean = (2 + 4 + 4 + 6) / 4
variance = ((2 - 4) ** 2 + 0 + 0 + (6 - 4) ** 2) / 4  # divided by 4, not by 3
by_hand = torch.tensor([(number - mean) / (variance + 1e-5) ** 0.5 for number in (2, 4, 4, 6)])
print(by_hand)
torch.testing.assert_close(by_hand, F.layer_norm(x, [4]))


# %%
def layer_norm(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, correction=0, keepdim=True)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


notebook.set_seed(0)
x, gain, bias = torch.randn(2, 5, 4), torch.rand(4) + 0.5, torch.randn(4)
reference = F.layer_norm(x, [4], gain, bias)
torch.testing.assert_close(layer_norm(x, gain, bias), reference)
alone = torch.stack([layer_norm(word, gain, bias) for word in x.flatten(0, 1)])  # word by word
torch.testing.assert_close(alone.view_as(x), reference)

# %% [markdown]
# Two variants are popular and wrong: the *unbiased* variance, divided by $n-1$, and $\varepsilon$
# added to the standard deviation instead of to the variance. **Predict:** at a width of 4, by how much
# can they be off? And which of the two matters more?


# %%
def unbiased(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt()


def eps_outside(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps)


off = {}
for width in (4, 512):
    wide = torch.randn(1000, width)
    for variant in (unbiased, eps_outside):
        found = (variant(wide) - F.layer_norm(wide, [width])).abs()
        off[variant.__name__, width] = found.mean().item()
        print(
            f"width {width:>3}, {variant.__name__:>11}: off by {found.mean():.1g}, at most {found.max():.1g}"
        )
assert off["unbiased", 4] > 0.1 and off["unbiased", 512] > 5e-4
assert off["eps_outside", 4] < 0.01 * off["unbiased", 4]

# %% [markdown]
# Nearly all of it is the $n-1$: a factor $\sqrt{3/4}$ at width 4, so every number is 13 % too small.
# Where $\varepsilon$ stands matters only for vectors that are nearly constant.
#
# Layer normalisation works on **each word by itself**: nothing of another word, nothing of another
# sentence. `alone`, in the cell that defines `layer_norm`, has checked it.
#
# ## 2. The feed-forward network
#
# Two linear layers with a **ReLU** between (it makes every negative number 0), from 512 to 2048 and
# back, applied **to each position alone** with the same weights. Attention moves information
# between words; this network works on what has arrived.
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$

# %%
notebook.set_seed(0)
ffn = FeedForward(d_model=8, d_ff=32)
x = torch.randn(2, 5, 8)
w_1, b_1, w_2, b_2 = (
    ffn.linear_1.weight.T,
    ffn.linear_1.bias,
    ffn.linear_2.weight.T,
    ffn.linear_2.bias,
)
by_hand = (x @ w_1 + b_1).clamp(min=0) @ w_2 + b_2  # (2, 5, 8) -> (2, 5, 32) -> (2, 5, 8)
torch.testing.assert_close(ffn(x), by_hand)

alone = torch.stack([ffn(x[:, t]) for t in range(5)], dim=1)  # word by word
torch.testing.assert_close(alone, ffn(x))
print("word by word  =  all at once")

# %% [markdown]
# The paper remarks that this can be described as two convolutions of kernel size 1. A kernel of size
# 1 sees one position: there is no convolution *over* positions here, and none anywhere else.

# %%
convolution = nn.Conv1d(8, 32, kernel_size=1)
convolution.weight.data, convolution.bias.data = ffn.linear_1.weight[:, :, None], ffn.linear_1.bias
torch.testing.assert_close(convolution(x.transpose(1, 2)).transpose(1, 2), ffn.linear_1(x))

# %% [markdown] tags=["notes"]
# **12 minutes** for sections 1 and 2. *What would happen without the ReLU?* Two matrices in a row are
# one matrix; the layer would be linear. *Where are most of an encoder layer's parameters?* Here: two
# thirds.

# %% [markdown]
# ## 3. Residual paths, and where the norm stands
#
# Attention and the feed-forward network are a layer's two **sublayers**. Around each runs a path that
# carries $x$ **itself**, the **residual path** or *skip path* (He et al. 2016). The sublayer only adds to
# it. There are
# two places for the norm:
#
# - **post-norm**, the paper's: $\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))$,
# - **pre-norm**, most models since: $x + \mathrm{Sublayer}(\mathrm{LayerNorm}(x))$.

# %% tags=["hide-input"]
notebook.picture("residual_and_norm")

# %% [markdown]
# In pre-norm the sum is never normalised on its way, only added to; so one more norm stands after the
# last layer. In post-norm the sum is normalised after every sublayer, and nothing is needed at the end.
# Here is the paper's encoder layer, drawn as it was, post-norm:

# %% tags=["hide-input"]
notebook.picture("encoder_layer")

# %% [markdown]
# Both orders are equal to PyTorch's layers, once the weights are copied:


# %%
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
    """Give nn.TransformerEncoderLayer the weights of our EncoderLayer; the norms start equal."""
    pairs = attention_pairs(ours.self_attention, theirs.self_attn)
    for part, module in [("1", ours.feed_forward.linear_1), ("2", ours.feed_forward.linear_2)]:
        pairs += [(getattr(theirs, f"linear{part}").weight, module.weight)]
        pairs += [(getattr(theirs, f"linear{part}").bias, module.bias)]
    with torch.no_grad():
        for their_tensor, our_tensor in pairs:
            their_tensor.copy_(our_tensor)


notebook.set_seed(0)
x = torch.randn(2, 5, 16, dtype=torch.float64)
for norm_first in (False, True):
    ours = EncoderLayer(16, n_heads=4, d_ff=32, dropout=0.0, norm_first=norm_first).double()
    theirs = nn.TransformerEncoderLayer(
        16, 4, 32, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    copy_layer(ours, theirs)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-10, rtol=0)
print("post-norm and pre-norm: equal to nn.TransformerEncoderLayer")

# %% [markdown]
# ### Why it matters: the gradient
#
# A stack of twelve layers, fresh from its initialisation. We push a batch through, take a loss, and
# measure the length of the gradient that arrives **at one matrix of each layer**, the feed-forward
# network's first. **Predict:** of post-norm and pre-norm, which gives the *last* layers the larger
# gradient? And what happens without the residual paths?


# %%
class Bare(nn.Module):
    """An encoder layer without the path around: Sublayer(LayerNorm(x)), or LayerNorm(Sublayer(x))."""

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
    "post-norm, no residuals": run_stack(False, False),
    "pre-norm, no residuals": run_stack(True, False),
}
gradients = {
    name: [layer.feed_forward.linear_1.weight.grad.norm().item() for layer in layers]
    for name, (layers, _) in fresh.items()
}
for name, found in gradients.items():
    print(f"{name:>24}: first layer {found[0]:.2g}, last layer {found[-1]:.2g}, "
          f"ratio {found[-1] / found[0]:.2g}")  # fmt: skip

# %%
_, axes = pyplot.subplots()
axes.set_yscale("log")
plots.labelled_lines(
    range(1, 13), gradients, ax=axes, x_label="layer", y_label="length of the gradient", marker="o"
)
notebook.figure(
    axes,
    alt="Length of the gradient at each of twelve layers, logarithmic. Post-norm is nearly level, pre-norm "
    "falls towards the last layer; both curves without residual paths lie above them with this seed.",
)

# %%
post, pre = gradients["post-norm"], gradients["pre-norm"]
print(f"last layer: post-norm gets {post[-1] / pre[-1]:.1f} times the gradient of pre-norm")
assert post[-1] > 2 * pre[-1]
assert pre[0] > 2 * pre[-1]

# %% [markdown]
# In pre-norm the sum grows from layer to layer (a cell below shows it), so each later layer changes it
# less, and its gradient is smaller. In post-norm every layer's output is brought back to size one:
# the last layers keep a large gradient while the whole stack is still random. Xiong et al. (2020) see
# in this the reason why the paper's model needs a *warm-up*, small steps at first; Liu et al. (2020)
# dispute that unequal gradients are the cause.
#
# And without the paths? At this matrix the gradient is *not* small; the norms see to that. With this
# seed it is even larger than with the paths. At the last layer's queries and keys it is tiny:

# %% tags=["nbval-ignore-output"]
for name, (layers, _) in fresh.items():
    attention = layers[-1].self_attention
    gradient = attention.query_proj.weight.grad.norm() + attention.key_proj.weight.grad.norm()
    print(f"{name:>24}: {gradient:.0e}")
    assert (gradient < 1e-5) == ("no residuals" in name)

# %% [markdown]
# Why there? **Predict:** take away from each word's vector what all words of its sentence share. Which
# part of its length is left after two layers, with the paths and without? After four? When all words are
# alike, it does not matter who looks at whom.

# %% tags=["nbval-ignore-output"]
print(" " * 24, "  size after layers 1, 12    own share after layers 2, 4, 12")
for name, (_, outputs) in fresh.items():
    # what is left without that which all words of the sentence share
    own = [((x - x.mean(1, keepdim=True)).norm() / x.norm()).item() for x in outputs]
    print(f"{name:>24}: {outputs[0].std():12.2f} {outputs[11].std():6.2f} "
          f"{own[1]:21.2g} {own[3]:8.2g} {own[11]:8.2g}")  # fmt: skip
    if "no residuals" in name:
        assert own[1] < 0.25 and own[3] < 1e-5
    else:
        assert own[1] > 0.5 and own[11] > 0.02

# %% [markdown]
# **Without the paths a tenth is left after two layers, and after four no more than rounding errors:** all
# words of a sentence have the same vector, and which word stood where is forgotten. (Dong et al. 2021
# prove it of attention alone.) With the paths each word keeps something of its own. After twelve fresh
# layers it is almost half in pre-norm and a twentieth in post-norm: the path slows the mixing, it does
# not stop it.
#
# ### And in training
#
# Now train them: a small translator on the toy corpus, six layers deep, for as long as a coffee
# takes to pour: the four together take half a minute to a minute. Post-norm and pre-norm, each with
# warm-up and without. The *validation loss* is that on sentences it was not trained on.

# %%
toy = corpus.toy_splits(n_train=2000, n_validation=200, n_test=200, seed=0, lengths=(4, 10))
src_vocabulary = WordVocabulary.build(pair.source for pair in toy.train)
tgt_vocabulary = WordVocabulary.build(pair.target for pair in toy.train)


def encode(pairs):
    return [
        (
            src_vocabulary.encode(p.source, eos=True),
            tgt_vocabulary.encode(p.target, bos=True, eos=True),
        )
        for p in pairs
    ]


train_pairs, validation_pairs = encode(toy.train), encode(toy.validation)
print(" ".join(toy.train[0].source), "→", " ".join(toy.train[0].target))
print(
    len(src_vocabulary),
    "French and",
    len(tgt_vocabulary),
    "English word types, special tokens included",
)

# What it costs to know nothing but how frequent each token is: the mark to beat.
counts = torch.ones(len(tgt_vocabulary))
for _, ids in train_pairs:
    counts += torch.bincount(torch.tensor(ids[1:]), minlength=len(counts))
told = torch.cat([torch.tensor(ids[1:]) for _, ids in validation_pairs])
by_frequency = -(counts / counts.sum()).log()[told].mean().item()
print(f"guessing by frequency alone: {by_frequency:.2f} nats a token")

# %% tags=["nbval-ignore-output"]
sizes = dict(
    src_vocab_size=len(src_vocabulary), tgt_vocab_size=len(tgt_vocabulary), d_model=64, n_heads=4,
    n_layers=6, d_ff=128, dropout=0.0, max_len=64,
)  # fmt: skip
runs = {}
for norm_first in (False, True):
    for warmup_steps in (1, 40):
        notebook.set_seed(0)
        model = Transformer(TransformerConfig(**sizes, norm_first=norm_first))
        settings = TrainingSettings(
            epochs=2, peak_rate=3e-3, warmup_steps=warmup_steps, batch_tokens=512, decay="linear"
        )
        history = train(model, train_pairs, validation_pairs, settings)
        name = f"{'pre' if norm_first else 'post'}-norm, {'with' if warmup_steps > 1 else 'no'} warm-up"
        runs[name] = history
        print(f"{name:>24}: validation loss {history.validation_losses[-1]:.2f}")


# %% tags=["nbval-ignore-output", "hide-input"]
def smooth(losses, width=10):
    return torch.tensor(losses).unfold(0, width, width).mean(-1).tolist()


curves = {name: smooth(history.losses) for name, history in runs.items()}
n_points = min(len(curve) for curve in curves.values())
axes = plots.labelled_lines(
    [10 * i for i in range(1, n_points + 1)],
    {name: curve[:n_points] for name, curve in curves.items()},
    x_label="step",
    y_label="loss, nats a token",
)
notebook.figure(
    axes,
    alt="Training loss against step for four runs. Both pre-norm curves fall far below both post-norm "
    "curves; post-norm without warm-up is the slowest.",
)

# %% tags=["nbval-ignore-output"]
final = {name: history.validation_losses[-1] for name, history in runs.items()}
assert (
    max(final[f"pre-norm, {w} warm-up"] for w in ("with", "no")) < final["post-norm, with warm-up"]
)
assert final["post-norm, with warm-up"] < final["post-norm, no warm-up"]
assert final["post-norm, no warm-up"] > by_frequency - 0.4

# %% [markdown]
# Both post-norm runs lag behind both pre-norm runs. Post-norm without warm-up has learned hardly
# anything but how frequent each word is; warm-up gets it moving. It is a short run with one seed,
# at a rate chosen to show the difference; the paper trained post-norm very well. Our bundled
# translator is pre-norm; the paper's figure is post-norm. Both are called *the Transformer*, so
# `norm_first` has no default in our code: you have to say which you mean.

# %% [markdown] tags=["notes"]
# **22 minutes.** The four trainings take half a minute to a minute; talk about the gradient plot while
# they run. *Which curve would you bet on?* If you are late, skip the training and believe the gradients.
#
# A frequent wrong picture: the skip path drawn *through* the norm in pre-norm. The path carries $x$
# itself; only what enters the sublayer is normalised.

# %% [markdown]
# ## 4. Dropout
#
# While training, dropout sets a random share of **activations** (the numbers that flow through, not
# the weights) to zero and divides the rest by $1 - p$, so that the expected sum stays. It is off
# after `model.eval()`, which tells a model that it is no longer being trained. Weights are never
# removed. In the paper it stands in two places: on each sublayer's output before it is added, and
# on embeddings plus positions. It keeps the network from relying on any single number, a guard
# against learning by heart.

# %%
from helpers.layers import Dropout

notebook.set_seed(0)
dropout = Dropout(0.25)
ones = torch.ones(100_000)
dropped = dropout(ones)
print(
    f"zero: {(dropped == 0).float().mean():.1%}   the others: {dropped.max():.3f}   mean: {dropped.mean():.2f}"
)
assert abs((dropped == 0).float().mean() - 0.25) < 0.01 and abs(dropped.mean() - 1) < 0.02
assert torch.equal(dropout.eval()(ones), ones)

# %% [markdown]
# ## 5. The decoder, and three uses of attention
#
# The decoder layer has one sublayer more. It looks back at what is already written, looks **across** at
# the encoder's *final* output, called the **memory**, then thinks.

# %% tags=["hide-input"]
notebook.picture("three_uses_of_attention")

# %% tags=["hide-input"]
notebook.picture("decoder_layer")

# %% [markdown]
# | | queries from | keys and values from | mask | weights |
# |---|---|---|---|---|
# | encoder self-attention | source | source | padding of the source | $(B, H, S, S)$ |
# | decoder self-attention | target | target | causal **and** padding | $(B, H, T, T)$ |
# | cross-attention | target | the memory | padding of the source | $(B, H, T, S)$ |

# %%
notebook.set_seed(0)
layer = DecoderLayer(16, n_heads=4, d_ff=32, dropout=0.0, norm_first=False)
target, memory = torch.randn(1, 4, 16), torch.randn(1, 6, 16)  # T = 4, S = 6
with recorded_weights(layer) as maps:
    layer(target, memory, masks.causal_mask(4))
self_weights, cross_weights = maps
print(
    "decoder self-attention",
    tuple(self_weights.shape),
    "  cross-attention",
    tuple(cross_weights.shape),
)
assert (self_weights.triu(1) == 0).all()

# %% [markdown]
# **Predict:** with six decoder layers, how many times are keys and values made from the encoder's
# output? Once for all? Once for each layer? And does decoder layer 2 read encoder layer 2?

# %%
small = Transformer(TransformerConfig(**sizes, norm_first=True)).eval()
src_ids = torch.tensor([train_pairs[6][0]])  # this pair differs in length: S = 11, T = 12
tgt_ids = torch.tensor([train_pairs[6][1][:-1]])
memory = small.encode(src_ids)
keys = [
    layer.cross_attention.project_key_value(memory, memory)[0] for layer in small.decoder_layers
]
differences = [(keys[0] - key).abs().mean().item() for key in keys[1:]]
print("mean difference of the keys to those of layer 1:", [f"{d:.2f}" for d in differences])
assert min(differences) > 0.05

# %% [markdown]
# Every decoder layer makes its own keys and values, all from the **final** output of the encoder. To
# be sure that nothing of an inner encoder layer is used, hand the decoder that final output and
# nothing else:

# %%
from_parts = small.output_proj(small.decode(tgt_ids, memory, masks.padding_mask(src_ids, 0)))
torch.testing.assert_close(from_parts, small(src_ids, tgt_ids))

# %% [markdown]
# In section 3 one encoder layer was equal to PyTorch's. Now you have met every part, so compare the
# whole: copy the weights of all twelve layers into `nn.Transformer`. That has neither embeddings nor an
# output layer and borrows ours. (One sentence, so there is no padding to hide.)

# %%
import warnings


def copy_decoder_layer(ours, theirs):
    """Give nn.TransformerDecoderLayer the weights of our DecoderLayer; the norms start equal."""
    copy_layer(ours, theirs)
    mine, other = ours.cross_attention, theirs.multihead_attn
    with torch.no_grad():
        for their_tensor, our_tensor in attention_pairs(mine, other):
            their_tensor.copy_(our_tensor)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about a faster path that pre-norm does not have
    pytorchs = nn.Transformer(64, 4, 6, 6, 128, dropout=0.0, batch_first=True, norm_first=True)
for mine, other in zip(small.encoder_layers, pytorchs.encoder.layers, strict=True):
    copy_layer(mine, other)
for mine, other in zip(small.decoder_layers, pytorchs.decoder.layers, strict=True):
    copy_decoder_layer(mine, other)
hidden = pytorchs(
    small.embed(src_ids, small.src_embedding),
    small.embed(tgt_ids, small.tgt_embedding),
    tgt_mask=~masks.causal_mask(tgt_ids.shape[1]),  # there True means: may not look
)
torch.testing.assert_close(small.output_proj(hidden), small(src_ids, tgt_ids), atol=1e-4, rtol=0)
print("the whole model: equal to nn.Transformer")

# %% [markdown] tags=["notes"]
# **12 minutes** for sections 4 and 5. *Dropout sets a quarter to zero and divides the others by
# 0.75: why?* So that the next layer meets the same sum, on average, in training and in use. Let
# people fill in the table with the first column given. The misconception to find: decoder layer *i*
# reads encoder layer *i*. It comes from drawings with parallel arrows.

# %% [markdown]
# ## 6. The whole model, traced
#
# One sentence through the whole model. Six of the tensors on the way, with their shapes.

# %%
names = {
    "src_embedding": "source tokens become vectors", "encoder_layers.0": "encoder layer 1",
    "encoder_norm": "the memory", "tgt_embedding": "target tokens become vectors",
    "decoder_layers.0": "decoder layer 1", "output_proj": "logits",
}  # fmt: skip
modules = dict(small.named_modules())
trace = []
hooks = [
    modules[name].register_forward_hook(
        lambda module, inputs, output, name=name: trace.append(
            (name, tuple((output[0] if isinstance(output, tuple) else output).shape))
        )
    )
    for name in names
]
small(src_ids, tgt_ids)
for hook in hooks:
    hook.remove()
for name, shape in trace:
    print(f"{name:>18} {shape!s:>14}  {names[name]}")
assert trace[-1][1] == (1, tgt_ids.shape[1], len(tgt_vocabulary))

# %% [markdown]
# The same for the bundled translator, inside its layers too, with the numbers painted. Press play, or
# drag the slider. **Watch** for the one kind of tensor that has both $S$ and $T$ in its shape. What are
# its rows, what its columns?

# %%
ShapeTracer(load_translator())

# %% [markdown]
# ## 7. Sixty-five million parameters
#
# The paper's base model: $D = 512$, 6 + 6 layers, 8 heads, $F = 2048$, one vocabulary of about 37,000
# tokens shared by source, target and output. Its table says 65 million. **Count before you run:** one
# attention layer, one feed-forward network, one encoder layer, one decoder layer, the embedding.

# %%
config = TransformerConfig(
    src_vocab_size=37_000, tgt_vocab_size=37_000, share_vocabulary=True, norm_first=False
)
print({field.name: getattr(config, field.name) for field in dataclasses.fields(config)})

attention_parameters = 4 * (512 * 512 + 512)  # W_Q, W_K, W_V, W_O and their biases
feed_forward = (512 * 2048 + 2048) + (2048 * 512 + 512)
norm = 2 * 512  # gain and bias
encoder_layer = attention_parameters + feed_forward + 2 * norm
decoder_layer = 2 * attention_parameters + feed_forward + 3 * norm
embedding = 37_000 * 512
total = 6 * encoder_layer + 6 * decoder_layer + embedding
for name, number in [
    ("attention", attention_parameters), ("feed-forward", feed_forward),
    ("encoder layer", encoder_layer), ("decoder layer", decoder_layer),
    ("embedding, used three times", embedding), ("all", total),
]:  # fmt: skip
    print(f"{name:>28}: {number:>12,}")

# %%
with torch.device("meta"):  # shapes only; nothing is allocated
    base = Transformer(config)
counted = sum(p.numel() for p in base.parameters())
assert counted == total
print(f"{counted:,}: the model has what we counted")
assert abs(counted / 65e6 - 1) < 0.05

# %% [markdown]
# The paper says 65 million and we find 63. Rounding alone does not explain it: even 64.5
# million, the smallest number that rounds to 65, would need a vocabulary of about 40,000, not 37,000.
# The paper does not say how it counted.
#
# Two thirds of an encoder layer is feed-forward, half of a decoder layer; two fifths of the model.
# Almost a third is the embedding: had it not been shared, there would be 38 million more.

# %%
print(f"feed-forward: {feed_forward / encoder_layer:.0%} of an encoder layer, "
      f"{feed_forward / decoder_layer:.0%} of a decoder layer, {12 * feed_forward / total:.0%} of the model")  # fmt: skip
print(f"embedding: {embedding / total:.0%} of the model; not shared, {2 * embedding:,} more")
print(f"64.5 million would need a vocabulary of {(64.5e6 - (total - embedding)) / 512:,.0f}; "
      f"we are {1 - total / 65e6:.0%} off")  # fmt: skip

# %% [markdown] tags=["notes"]
# **14 minutes** for sections 6 and 7; the breakout is for home. *In the tracer, which tensor has both S
# and T?* The cross weights: T down, S across; each row is one target position looking at the source.
# A good pair exercise: one counts the encoder layer, one the decoder layer, then they
# compare. The usual slip is to forget that cross-attention has a $W_Q$ and a $W_O$ too.

# %% [markdown]
# ## Breakout

# %%
exercises.heading("layer_norm")


# %%
def layer_norm_(x, gain, bias, eps=1e-5):
    """Normalise over the last axis, then scale and shift."""
    ...


exercises.check("layer_norm", layer_norm_)

# %%
exercises.heading("feed_forward")


# %%
def feed_forward_(x, w_1, b_1, w_2, b_2):
    """ReLU between; weights are (D, F) and (F, D), rows times matrices."""
    ...


exercises.check("feed_forward", feed_forward_)

# %%
exercises.heading("residual_post_norm")


# %%
def residual_post_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)."""
    ...


exercises.check("residual_post_norm", residual_post_norm)

# %%
exercises.heading("residual_pre_norm")


# %%
def residual_pre_norm(x, sublayer, norm):
    """x (..., D) -> (..., D); sublayer and norm are functions from (..., D) to (..., D)."""
    ...


exercises.check("residual_pre_norm", residual_pre_norm)

# %%
exercises.heading("decoder_mask")


# %%
def decoder_mask(target_ids, pad_id):
    """(B, T) -> (B, 1, T, T) bool, causal and padding together, True = may look"""
    ...


exercises.check("decoder_mask", decoder_mask)

# %% [markdown]
# ### Questions

# %%
exercises.quiz("what_layer_norm_sees")

# %%
exercises.quiz("where_the_norm_stands")

# %%
exercises.quiz("three_uses")

# %%
exercises.quiz("memory_of_each_layer")

# %%
exercises.quiz("parameters_of_feed_forward")

# %%
exercises.quiz("what_dropout_does")

# %%
exercises.quiz("memory_shape")

# %% [markdown]
# ### To talk about

# %%
exercises.quiz("why_residual")

# %%
exercises.quiz("is_it_a_cnn")

# %% [markdown]
# ### Going further
#
# *RMSNorm* (Zhang and Sennrich 2019) leaves out the mean and the bias. Write it, put it into an
# `EncoderLayer` in place of both norms, and repeat the gradient plot. What changes, and how many
# parameters does the base model save?

# %% [markdown]
# ## Myth or fact?
#
# **"The paper is pre-norm."** A myth: section 3.1 of the paper has
# $\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))$. You can see it in the output: a post-norm layer
# returns normalised vectors, a pre-norm layer does not.

# %%
notebook.set_seed(0)
x = torch.randn(1, 5, 16) * 3
for norm_first in (False, True):
    y = EncoderLayer(16, 4, 32, 0.0, norm_first)(x)
    name = "pre-norm" if norm_first else "post-norm"
    print(
        f"{name:>9}: standard deviation of each output vector",
        [f"{s:.2f}" for s in y.std(-1, correction=0)[0]],
    )
    assert torch.allclose(y.std(-1, correction=0), torch.ones(1, 5), atol=0.01) is not norm_first

# %% [markdown]
# **"Dropout removes weights."** A myth: section 4. It zeroes activations, in training only.
#
# **"A Transformer is a CNN plus attention."** A myth: section 2 found kernel size 1 and nothing wider.

# %% [markdown]
# ## Summary
#
# - Encoder layer: self-attention, feed-forward, each in a residual with a norm. $(B, S, D) \to (B, S, D)$.
# - Decoder layer: self-attention (causal), cross-attention (memory), feed-forward. $(B, T, D) \to (B, T, D)$.
# - Post-norm $\mathrm{LN}(x + f(x))$ wants a warm-up; pre-norm $x + f(\mathrm{LN}(x))$ is more patient.
# - Every decoder layer projects the final encoder output with matrices of its own.
#
# The decoder ends in vectors. **Lesson 08** turns them into logits, and these into words.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.1, 3.3, 5.4.
# - Dong, Cordonnier, Loukas (2021), "Attention is not all you need: Pure attention loses rank doubly
#   exponentially with depth", arXiv:2103.03404.
# - Liu, Liu, Gao, Chen, Han (2020), "Understanding the Difficulty of Training Transformers",
#   arXiv:2004.08249.
# - Ba, Kiros, Hinton (2016), "Layer Normalization", arXiv:1607.06450.
# - He, Zhang, Ren, Sun (2016), "Deep Residual Learning for Image Recognition", arXiv:1512.03385.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
# - Zhang, Sennrich (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467.
