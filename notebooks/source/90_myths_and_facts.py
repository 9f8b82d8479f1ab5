# %% [markdown]
# # Myths and facts
#
# Twenty-four sentences of the kind one meets in books, talks and posts about attention. Each is a
# myth, or half of one, and each has a **counter-example that you can run**. Use the page to look
# something up, or as a game: one reads the sentence aloud from their own screen, the others say which
# *experiment* would decide. Allow about **45 minutes** for the game.
#
# The number in brackets is the lesson.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention, masks, training
from helpers.pretrained import toy_models
from helpers.data.captions import CAPTIONS
from helpers.layers import Dropout, EncoderLayer, FeedForward
from helpers.positions import sinusoidal_positions
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator
from helpers.tokenization import PAD

notebook.set_seed(0)
translator = load_translator()
model = translator.model

# %% [markdown] tags=["notes"]
# **With a class**: pick five rows, about eight minutes each; 6, 8, 10, 15 and 23 start the best
# arguments. Read them aloud with the projector dark and the outputs cleared: the verdict stands beside
# each sentence. **When late**: three rows.

# %% [markdown]
# **1 · "A Transformer is a CNN plus attention." (01, 07)** It has no recurrence and no convolution over
# positions. Its feed-forward layer can be *described* as convolutions of kernel size 1: it treats each
# position alone.

# %%
layer = FeedForward(8, 32)
x = torch.randn(1, 5, 8)
changed = x.clone()
changed[0, 2] += 1
moved = (layer(x) - layer(changed)).abs().sum(-1)[0] > 1e-6
print("positions that change when position 2 does:", moved.nonzero().flatten().tolist())
assert moved.tolist() == [False, False, True, False, False]
assert not any("Conv" in type(part).__name__ for part in model.modules())

# %% [markdown]
# **2 · "The softmax weights multiply the keys." (03)** They multiply the values. The values may even have
# another width.

# %%
query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 7)
context, weights = attention.scaled_dot_product_attention(query, key, value)
torch.testing.assert_close(context, weights @ value)
print("keys", tuple(key.shape), "values", tuple(value.shape), "context", tuple(context.shape))

# %% [markdown]
# **3 · "$W_O$ is 512 × 64, so the layer's output is $T$ × 64." (06)** $W_O$ is 512 × 512 and the output
# $T$ × 512. 512 × 64 are the $W_Q$, $W_K$, $W_V$ of *one head*.

# %%
heads = attention.MultiHeadAttention(512, 8)
output, _ = heads(*[torch.randn(1, 2, 512)] * 3)
print("W_O", tuple(heads.out_proj.weight.shape), "output", tuple(output.shape))
assert heads.out_proj.weight.shape == (512, 512) and output.shape == (1, 2, 512)

# %% [markdown]
# **4 · "Each head sees a slice of the embedding." (06)** Each head projects the whole vector; the
# *projections* are split. So the query of head 1 changes with every one of the inputs:

# %%
heads = attention.MultiHeadAttention(8, 2)
x = torch.randn(1, 1, 8, requires_grad=True)
heads.project_query(x)[0, 0].sum().backward()  # the query of the first head
print("inputs that matter to head 1:", int((x.grad != 0).sum()), "of 8")
assert (x.grad != 0).all()

# %% [markdown]
# **5 · "Scores are divided by $\sqrt{d_{model}}$." (04)** By $\sqrt{d_k}$, the width of one head's key.

# %%
x = torch.randn(1, 3, 8)
with torch.no_grad():
    q, (k, _) = heads.project_query(x), heads.project_key_value(x, x)  # (B, H=2, T=3, K=4)
    weights = heads(x, x, x, need_weights=True)[1]
torch.testing.assert_close(weights, (q @ k.mT / math.sqrt(4)).softmax(-1))
assert not torch.allclose(weights, (q @ k.mT / math.sqrt(8)).softmax(-1))
print("with 2 heads of 4, the divisor is √4, not √8")

# %% [markdown]
# **6 · "The softmax gradient never vanishes." (04)** It does when scores are large. That is why they are
# scaled.

# %%
scores = torch.tensor([2.0, 1.0, 0.5])
for factor in (1, 5, 20):
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), factor * scores)
    print(f"scores × {factor:>2}: largest derivative {jacobian.abs().max():.1g}")
assert jacobian.abs().max() < 1e-6

# %% [markdown]
# **7 · "The final softmax outputs log-probabilities." (08, 09)** Probabilities. `log_softmax` gives their
# logarithms, and `F.cross_entropy` wants logits. All three have the same argmax, so a test on the
# argmax sees no difference.

# %%
logits = torch.randn(10)
forms = [logits, logits.softmax(-1), logits.log_softmax(-1)]
print(
    "sums:",
    [f"{form.sum():.2f}" for form in forms],
    "argmax:",
    {form.argmax().item() for form in forms},
)
assert (
    math.isclose(forms[1].sum(), 1, abs_tol=1e-5)
    and len({form.argmax().item() for form in forms}) == 1
)
losses = [F.cross_entropy(form[None], torch.tensor([3])).item() for form in forms]
assert math.isclose(losses[0], losses[2], abs_tol=1e-5) and not math.isclose(
    losses[0], losses[1], abs_tol=1e-2
)

# %% [markdown]
# **8 · "Masking sets weights to minus infinity, or to zero afterwards." (04)** *Scores* are set to −∞
# *before* the softmax. Zeroed afterwards, rows no longer sum to one.

# %%
scores, may_look = torch.randn(4, 4), masks.causal_mask(4)
afterwards = scores.softmax(-1) * may_look
before = attention.masked_softmax(scores, may_look)
print(
    "zeroed afterwards:",
    [f"{s:.2f}" for s in afterwards.sum(-1)],
    " before:",
    [f"{s:.2f}" for s in before.sum(-1)],
)
assert not torch.allclose(afterwards.sum(-1), torch.ones(4)) and torch.allclose(
    before.sum(-1), torch.ones(4)
)

# %% [markdown]
# **9 · "A mask's `True` means the same everywhere." (04)** In PyTorch's own two functions it means
# opposite things.

# %%
x = torch.randn(1, 4, 8)
torchs = nn.MultiheadAttention(8, 2, batch_first=True)
_, hidden = torchs(x, x, x, attn_mask=may_look)  # here True = may NOT look
_, shown = torchs(x, x, x, attn_mask=~may_look)
print(
    f"weight of the first word on the last, its future: {hidden[0, 0, 3]:.2f} and {shown[0, 0, 3]:.2f}"
)
fused = F.scaled_dot_product_attention(x, x, x, attn_mask=may_look)  # here True = takes part
ours = attention.scaled_dot_product_attention(x, x, x, may_look)[0]
torch.testing.assert_close(fused, ours)
assert shown[0, 0, 3] == 0 < hidden[0, 0, 3]

# %% [markdown]
# **10 · "A fully masked row does no harm." (04)** 0/0 is NaN, and in training one NaN spoils all
# weights at the next step. With −1e9 instead of −∞ it is a silent uniform row. Ours
# gives zeros.

# %%
nothing = torch.zeros(1, 3, dtype=torch.bool)
scores = torch.randn(1, 3)
naive = scores.masked_fill(~nothing, -math.inf).softmax(-1)
silent = scores.masked_fill(~nothing, -1e9).softmax(-1)
print("−∞:", naive, "\n−1e9:", silent, "\nours:", attention.masked_softmax(scores, nothing))
assert naive.isnan().all() and torch.allclose(silent, torch.full((1, 3), 1 / 3))

# %% [markdown]
# **11 · "Positions are concatenated, or read off the batch axis." (05)** Added, along the time axis: the
# width stays, and every sentence of a batch gets the same positions.

# %%
embedded = torch.zeros(2, 5, 16)  # (B, T, D)
placed = embedded + sinusoidal_positions(5, 16)
assert placed.shape == embedded.shape and torch.equal(placed[0], placed[1])
assert not torch.equal(placed[0, 0], placed[0, 1])
print(tuple(embedded.shape), "->", tuple(placed.shape))

# %% [markdown]
# **12 · "BERT uses sinusoids." (05)** Its positions are a learned table. Rows of sinusoids all have one
# length; these do not.

# %%
lengths = load_minilm().model.positions.table.detach().norm(dim=1)
of_sinusoids = sinusoidal_positions(512, 384).norm(dim=1)
print(
    f"rows of MiniLM, a small BERT: {lengths.min():.2f} to {lengths.max():.2f}; sinusoids: {of_sinusoids.min():.2f} to {of_sinusoids.max():.2f}"
)
assert lengths.max() > 1.2 * lengths.min() and of_sinusoids.max() < 1.001 * of_sinusoids.min()

# %% [markdown]
# **13 · "Each decoder layer reads its matching encoder layer", or "keys and values are made once for all
# decoder layers". (07)** Every decoder layer projects the *final* encoder output with matrices of its
# own.

# %%
with torch.inference_mode():
    memory = model.encode(translator.encode([CAPTIONS[0][0]]))
    keys = [
        layer.cross_attention.project_key_value(memory, memory)[0] for layer in model.decoder_layers
    ]
print("one memory", tuple(memory.shape), "and", len(keys), "different sets of keys")
assert not torch.allclose(keys[0], keys[1]) and not torch.allclose(keys[1], keys[2])

# %% [markdown]
# **14 · "The paper is pre-norm", or "in pre-norm the skip path is normalised". (07)** The paper is
# post-norm: LayerNorm(x + Sublayer(x)). Pre-norm is x + Sublayer(LayerNorm(x)); its skip path
# carries x itself, as a layer whose sublayers are silenced shows:

# %%
for norm_first in (False, True):
    silenced = EncoderLayer(16, 4, 32, 0.0, norm_first)
    for name, p in silenced.named_parameters():
        if "norm" not in name:
            nn.init.zeros_(p)
    x = 3 * torch.randn(1, 5, 16)
    y = silenced(x)
    same = torch.allclose(y, x, atol=1e-5)
    print(
        "pre-norm: " if norm_first else "post-norm:",
        "x comes out as it went in" if same else "x comes out normalised",
    )
    assert same is norm_first

# %% [markdown]
# **15 · "With a causal mask the targets need no shift." (08)** The mask lets position t see inputs
# ≤ t. If input t *is* target t, the answer stands in the question: a model that only copies has no loss.

# %%
english = torch.tensor([translator.tokenizer.encode(CAPTIONS[0][1], bos=True, eos=True)])
src_ids = translator.encode([CAPTIONS[0][0]])
with torch.inference_mode():
    vocabulary = model(src_ids, english).shape[-1]
copier = 20.0 * F.one_hot(english, vocabulary)  # at t it names token t: the mask allows that
unshifted = F.cross_entropy(copier[0], english[0])
shifted = F.cross_entropy(copier[0, :-1], english[0, 1:])
print(f"a model that only copies: loss {unshifted:.2f} without the shift, {shifted:.2f} with it")
assert unshifted < 0.01 < 5 < shifted

# %% [markdown]
# **16 · "Bahdanau's score depends on the decoder alone." (02)** On the decoder's state *and* each encoder
# state.

# %%
state, states = torch.randn(1, 6, requires_grad=True), torch.randn(1, 4, 6, requires_grad=True)
_, weights = attention.AdditiveAttention(6, 6, 5)(state, states)
weights[0, 0].backward()
print("gradient with respect to both:", bool(state.grad.any()), bool(states.grad.any()))
assert state.grad.abs().sum() > 0 and states.grad.abs().sum() > 0

# %% [markdown]
# **17 · "Attention solved the parallelism problem of RNNs." (02, 03)** On top of an RNN it is still
# sequential. Dropping the recurrence solved it. Cut every attention, and ask whether the last step still
# depends on the first word, by a gradient. In the RNN decoder it does: each step waits for the one
# before. In a Transformer layer, where each word may now look only at itself, it does not.

# %%
rnn = toy_models.load_toy("additive")
embedded = rnn.model.decoder.embedding(torch.tensor([[4, 5, 6, 7]])).detach().requires_grad_()
no_context = torch.zeros(1, 4, rnn.model.config.d_hidden)
outputs, _ = rnn.model.decoder.rnn(torch.cat([embedded, no_context], -1))
outputs[0, -1].sum().backward()
print(
    "RNN, attention cut: the last step still feels word 1:", bool((embedded.grad[0, 0] != 0).any())
)
x = torch.randn(1, 4, 16, requires_grad=True)
EncoderLayer(16, 4, 32, 0.0, True)(x, torch.eye(4, dtype=torch.bool))[0, -1].sum().backward()
print("Transformer layer, attention cut:", bool((x.grad[0, 0] != 0).any()))
assert (embedded.grad[0, 0] != 0).any() and not (x.grad[0, 0] != 0).any()

# %% [markdown]
# **18 · "Attention is cheaper than recurrence." (04)** For n tokens of width d (the
# course's $T$ and $D$) about $2n^2 d$ against $n d^2$ multiplications: cheaper only for n < d/2 (the paper
# leaves the 2 out and says n < d). The gain is no waiting and a path of length 1. (Both leave out the
# products with the input matrices; with them attention never needs fewer than a plain recurrent layer.)

# %%
d = 512
for n in (128, 512, 2048):
    print(f"n = {n:>4}: attention / recurrence = {2 * n * n * d / (n * d * d):.2g}")

# %% [markdown]
# **19 · "More heads, more parameters." (06)** With $d_k = D / H$ the size stays the same.

# %%
sizes = {
    h: sum(p.numel() for p in attention.MultiHeadAttention(512, h).parameters()) for h in (1, 8, 16)
}
print(sizes)
assert len(set(sizes.values())) == 1

# %% [markdown]
# **20 · "The original schedule decays exponentially." (09)** A straight warm-up, then the inverse square
# root of the step: four times the steps, half the rate.

# %%
rates = [training.warmup_rate(s, 512, 4000) for s in (2000, 4000, 16_000, 64_000)]
print([f"{rate / rates[1]:.2f}" for rate in rates])
assert all(math.isclose(a / b, r) for a, b, r in zip(rates, rates[1:], (0.5, 2, 2), strict=False))

# %% [markdown]
# **21 · "Dropout removes weights." (07)** It zeroes *activations* and rescales the rest; in
# `eval()` it does nothing.

# %%
dropout = Dropout(0.25)
ones = torch.ones(10_000)
dropped = dropout.train()(ones)
print(
    f"zero: {(dropped == 0).float().mean():.0%}, the others {dropped.max():.2f}, mean {dropped.mean():.2f}"
)
assert not list(dropout.parameters()) and torch.equal(dropout.eval()(ones), ones)
assert abs(dropped.mean() - 1) < 0.05

# %% [markdown]
# **22 · "Input embeddings come from word2vec." (03)** They are learned with the model: the loss
# sends them a gradient like any other weight. (Word2vec's vectors *can* be put in at the start.)

# %%
loss = F.cross_entropy(model(src_ids, english[:, :-1]).flatten(0, 1), english[:, 1:].flatten())
loss.backward()
gradients = [p.grad for name, p in model.named_parameters() if "embedding" in name]
print("embedding matrices with a gradient:", len(gradients))
assert gradients and all(g is not None and g.abs().sum() > 0 for g in gradients)
model.zero_grad()

# %% [markdown]
# **23 · "An attention map explains the prediction." (06)** It describes where weight went. Test a
# claim by intervening: in each cross-attention layer we silence the head with the sharpest map, and
# the loss hardly moves for at least one of them.


# %%
def loss_without(layer=None, head=None):
    with torch.inference_mode():
        if layer is None:
            logits = model(src_ids, english[:, :-1])
        else:
            with attention.heads_off(model.decoder_layers[layer].cross_attention, [head]):
                logits = model(src_ids, english[:, :-1])
        return F.cross_entropy(
            logits.flatten(0, 1), english[:, 1:].flatten(), ignore_index=PAD
        ).item()


maps = translator.attend(CAPTIONS[0][0]).maps["cross"][0]
whole, costs = loss_without(), []
for layer, per_head in enumerate(maps):
    sharp = per_head.max(-1).values.mean(-1)  # (H,)
    costs.append(loss_without(layer, sharp.argmax().item()) - whole)
    print(
        f"layer {layer + 1}: sharpest head has {sharp.max():.2f} on its best word; without it the loss moves {costs[-1]:+.2f}"
    )
assert min(abs(cost) for cost in costs) < 0.1

# %% [markdown]
# **24 · "Attention reduces distance to logarithmic." (01)** Dilated convolutions do. Attention makes it
# constant: in *one* layer the last of 64 words feels the first.

# %%
x = torch.randn(1, 64, 16, requires_grad=True)
EncoderLayer(16, 4, 32, 0.0, True)(x)[0, -1].sum().backward()
print(
    "one layer, 64 words: the first word's gradient is",
    "not zero" if (x.grad[0, 0] != 0).any() else "zero",
)
assert (x.grad[0, 0] != 0).any()

# %% [markdown]
# **References** stand in the lessons named. The sources asked most often: Vaswani et al. (2017),
# arXiv:1706.03762; Bahdanau et al. (2015), arXiv:1409.0473; Jain and Wallace (2019), arXiv:1902.10186;
# Wiegreffe and Pinter (2019), arXiv:1908.04626; Michel et al. (2019), arXiv:1905.10650.
