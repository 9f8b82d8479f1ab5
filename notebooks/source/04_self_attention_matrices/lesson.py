# %% [markdown]
# # Self-attention with matrices
#
# Eight cards lie on a table, each with a letter and a digit. *Which digit is on the card with the K?* For lesson 03's
# attention that ought to be an easy exam. The query asks for a letter, and every card can have its letter as the key
# and its digit as the value.
#
# Two models take this exam, three times each. They're built alike, start from the same random weights and see the
# same cards.

# %% tags=["hide-input"]
import math

from matplotlib import pyplot
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from helpers import exercises, plots
from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import PAD
from helpers.training.optimizers import Adam
from helpers.transformer import attention, masks
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.model_map import model_map
from helpers.widgets.softmax_scale import ScaleExplorer

torch.set_num_threads(1)  # tensors this small gain nothing from a second one


# %% [markdown] tags=["notes"]
# **41 minutes.** Hook and warm-up 5 · 1 matrices 8 · 2 the square root 11 · 3 masks and the translator 17.
# The map and the rest of the exercises are for home, `padding_mask` among them.
#
# **Show** the two curves of the hook and collect explanations on the board before anybody reads on. Come back to
# them at the end of section 2, when the learners' own scores mend model B.
#
# **If you're running late**: write `causal_mask` on the board together (two minutes). Keep nine minutes for
# `scaled_dot_product_attention`, because everything before it leads up to it.
#
# **Ask**: "What's in the denominator of a softmax?" (every allowed word, so a word that is only zeroed afterwards has already changed all weights; ask after the vote on which outputs change) · "Why not divide by $d_k$
# itself?" (that shrinks the standard deviation too far, to $1/\sqrt{d_k}$, and all weights start nearly equal; ask at the three curves that end section 2) · "A text twice as long: how much more time, how much more
# memory?" (four times each, as far as scores and weights go)
#
# **Mistakes to expect**: softmax along columns · $K Q^\top$ for $Q K^\top$ (in self-attention both have the
# right shape, so there's no error message, but the checks point it out) · $\sqrt{d_{model}}$ for $\sqrt{d_k}$
# · zeroing the weights after the softmax, which sounds harmless until you change the last word.

# %% tags=["hide-input", "nbval-ignore-output"]
# the exam: click to see it
WIDTH, N_CARDS = 512, 8  # of a query and a key; per exam


def exam(score, n_steps, n_runs=3, n_letters=20, d_model=64):
    """Train models side by side to read the digit beside a letter; the loss of each, (steps, runs)."""
    generators = [torch.Generator().manual_seed(run) for run in range(n_runs)]

    def draw(function, *size):
        return torch.stack([function(*size, generator=g) for g in generators])

    letter, digit = draw(torch.randn, n_letters, d_model), draw(torch.randn, 10, d_model)
    w_q, w_k, w_v, answer = parameters = [
        nn.Parameter(draw(torch.randn, *shape) / math.sqrt(shape[0]))
        for shape in ((d_model, WIDTH), (d_model, WIDTH), (d_model, 64), (64, 10))
    ]
    optimiser, losses = Adam(parameters, lr=1e-3), []
    run = torch.arange(n_runs)[:, None, None]
    for _ in range(n_steps):
        letters = draw(torch.rand, 32, n_letters).argsort(-1)[..., :N_CARDS]  # (runs, 32, 8)
        digits = draw(torch.rand, 32, N_CARDS).mul(10).long()
        cards = letter[run, letters] + digit[run, digits]  # (runs, 32, 8, D)
        query = letter[run, letters[..., :1]] @ w_q[:, None]  # asks for the first card's letter
        key, value = cards @ w_k[:, None], cards @ w_v[:, None]
        context = score(query, key).softmax(-1) @ value  # (runs, 32, 1, 64)
        said = (context @ answer[:, None]).flatten(0, 2)
        loss = F.cross_entropy(said, digits[..., 0].flatten(), reduction="none")
        loss = loss.view(n_runs, -1).mean(1)
        optimiser.zero_grad()
        loss.sum().backward()  # no run changes another one's gradient
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def divided_by(divisor):
    return lambda query, key: query @ key.mT / divisor


def draw_losses(runs, every=10, scale="linear"):
    """The mean loss of each model against steps, with a band from the best to the worst run."""
    _, ax = pyplot.subplots(figsize=(7.2, 3.8))
    longest = max(len(losses) for losses in runs.values()) // every
    steps = [every * (i + 0.5) for i in range(longest)]
    means = {name: l.unflatten(0, (-1, every)).mean(1) for name, l in runs.items()}
    curves = {n: m.mean(1).tolist() + [math.nan] * (longest - len(m)) for n, m in means.items()}
    ax.axhline(math.log(10), color="0.6", linestyle=":")
    ax.set_ylim(-0.15, 3.2)
    ax.set_xscale(scale)
    plots.labelled_lines(steps, curves, ax=ax, x_label="training steps", y_label="loss")
    if scale == "log":  # the curves end in each other's way, so their names stand in a legend
        for name in list(ax.texts):
            name.remove()
        ax.legend(ax.get_lines()[1:], curves, loc="lower left")
    ax.annotate(
        "guessing", (steps[-1], math.log(10)), (0, 4), textcoords="offset points", ha="right"
    )
    for mean, line in zip(means.values(), ax.get_lines()[1:], strict=False):
        low, high = mean.amin(1), mean.amax(1)
        ax.fill_between(steps[: len(mean)], low, high, color=line.get_color(), alpha=0.2)
    return ax


model_a, model_b = exam(divided_by(math.sqrt(WIDTH)), 80), exam(divided_by(1), 80)
notebook.claim(model_a[-10:].mean() < 0.25 and model_b[-10:].mean() > 1.8)
notebook.show(
    draw_losses({"model A": model_a, "model B": model_b}),
    alt="Loss against training steps, three runs each. Model A falls to almost nothing within 80 steps. "
    "Model B stays near the dotted line that marks guessing.",
    width=640,
)

# %% [markdown]
# After 80 training steps, model A reads nearly every card, while model B is hardly better than guessing. Only one
# thing sets them apart. A divides each score by 22.6, which is √512, before the softmax, and B doesn't. How can one
# division decide whether a model learns? We'll find out in section 2, which also explains the number, and your own
# code will mend model B.

# %% [markdown] warm_up=4
# ## 1. All words at once
#
# In lesson 03 one word attended at a time. A paragraph of 128 words has 16,384 pairs to compare, and nobody wants to
# go through them in a Python loop. A single matrix product compares them all.
#
# Here are lesson 03's *the cat sleeps* and the three small matrices again. The word vectors are the **rows** of a
# matrix $X$, and multiplying $X$ by a matrix transforms each row separately. One row times $W_Q$ is one query, and all
# of $X$ times $W_Q$ is all queries.

# %%
tokens = ["the", "cat", "sleeps"]
x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # (T=3, D=3): one row per word
w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])  # (D=3, K=3)
w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
w_v = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
query, key, value = x @ w_q, x @ w_k, x @ w_v  # three times (T, D) @ (D, K) -> (T, K)

# %% [markdown]
# A score is the dot product of a query with a key. A matrix product takes the dot product of every row with every
# *column*, which is why the keys are transposed.

# %%
scores = query @ key.T  # (T, K) @ (K, T) -> (T, T)
print(scores)

# %% [markdown]
# The first row holds the scores of *the*. Its 4 is the score that you worked out with a pencil in lesson 03. Scaling,
# softmax and mixing work on every row at once, too.

# %%
weights = (scores / math.sqrt(3)).softmax(dim=-1)  # (T, T), every row sums to 1
context = weights @ value  # (T, T) @ (T, D_v) -> (T, D_v)

# %% tags=["hide-input"]
assert scores[0].tolist() == [1, 4, 3]
assert torch.allclose(context[0], torch.tensor([1.10, 4.42, 0.85]), atol=0.005, rtol=0)
theirs = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
assert torch.allclose(context, theirs, atol=1e-5)
slipped = (scores / math.sqrt(3)).softmax(dim=0).sum(-1)
assert slipped.min() < 0.9 and slipped.max() > 1.2
print("row 0 is lesson 03's context, and all rows agree with PyTorch's operator: yes")
notebook.picture("self_attention_filling")

# %% [markdown]
# Written in one line, these steps are equation (1) of Vaswani et al. (2017):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# Mind the `dim=-1`. With `dim=0` the softmax would run down the columns, and PyTorch wouldn't complain.

# %% [markdown]
# ### Your turn


# %% tags=["exercise"]
def scaled_scores(query, key):
    """(..., T, K), (..., S, K) -> (..., T, S)"""
    return query @ ... / math.sqrt(...)  # ← fill the gaps


# %% [markdown]
# ## 2. Why divide by $\sqrt{d_k}$?
#
# Back to model B. Before training, its queries and keys are random, and random vectors are easy to make. Draw a query
# and sixteen keys, compute the scores, apply a softmax. With 4 entries per vector the weights come out nicely spread,
# with 43% on the strongest key, on average. What if the vectors have 512 entries, as many as model B's?


# %% tags=["prediction", "hide-input"]
# the measurement: click to see it
def strongest(d_k, scale, draws=2000, n_keys=16):
    """Average share of the strongest key, and how much it can still be moved."""
    notebook.set_seed(1)
    query, keys = torch.randn(draws, 1, d_k), torch.randn(draws, n_keys, d_k)
    scores = ((query * keys).sum(-1) / scale).requires_grad_()  # (draws, n_keys)
    top = scores.softmax(-1).amax(-1)
    top.sum().backward()
    return top.mean().item(), scores.grad.abs().sum(-1).mean().item()


widths = [4, 16, 64, 256, 512]
raw = {d: strongest(d, scale=1) for d in widths}
scaled = {d: strongest(d, scale=math.sqrt(d)) for d in widths}
exercises.reveal("share_of_the_strongest", measured=100 * raw[512][0])
axes = plots.labelled_lines(
    widths,
    {
        "not scaled": [100 * raw[d][0] for d in widths],
        "divided by √d": [100 * scaled[d][0] for d in widths],
    },
    x_label="entries per vector, d",
    y_label="share of the strongest key, %",
    marker="o",
)
axes.set_xscale("log", base=2)
axes.set_ylim(0, 100)
plots.mark_guess(axes, 512, exercises.guess("share_of_the_strongest"), side="left")
assert abs(raw[4][0] - 0.43) < 0.02 and raw[512][0] > 0.85
assert max(s[0] for s in scaled.values()) - min(s[0] for s in scaled.values()) < 0.06
assert raw[512][1] < 0.35 * scaled[512][1]
variances = {d: (lambda p: (p[0] * p[1]).sum(-1).var())(torch.randn(2, 20_000, d)) for d in widths}
assert all(abs(v / d - 1) < 0.1 for d, v in variances.items())
notebook.show(
    axes,
    alt="Average share of the strongest of sixteen keys against the number of entries. Not scaled, "
    "it climbs from 43 to 95 percent. Divided by the square root of d, it stays near 24.",
    width=560,
)
notebook.tell(
    """That's how model B starts out, with nearly all its weight on one card, which is usually the wrong one."""
)

# %% [markdown]
# Longer vectors have larger scores, because a score is a sum of $d$ products. If the entries are independent, with
# mean 0 and variance 1, each product has variance 1 as well, and the variances of independent terms add up:

# %%
for d_k in (4, 64, 512):
    q, k = torch.randn(2, 1_000, d_k)
    print(f"d = {d_k:>3}   variance of q·k: {(q * k).sum(-1).var():.3g}")

# %% [markdown]
# A typical score therefore lies about $\sqrt d$ away from zero. That is 22.6 for $d = 512$, and a softmax over
# numbers like 23 and −18 puts practically all the weight on the 23. You can't argue with such a **saturated**
# softmax. Nudge a losing score, and its weight stays near 0. Nudge the winning score, and its weight stays near 1. If
# a nudge changes nothing, there's no gradient, and model B has next to nothing to learn from. Dividing by $\sqrt d$
# brings the variance back to 1, whatever the width.
#
# You can mend model B yourself, with your own scores.

# %%
score = exercises.mine("scaled_scores")  # yours, once it has passed
# score = divided_by(1)  # the switch: take away the "#", and the square root is gone

# %% tags=["hide-input", "nbval-ignore-output"]
mended = exam(score, 80)
notebook.show(
    draw_losses({"with these scores": mended, "model B": model_b}),
    alt="Loss against training steps: model B as before, and a model whose scores the function above computes.",
    width=640,
)
if score.__name__ != "<lambda>":  # not the switch
    print(exercises.whose("scaled_scores", did="scored"))

# %% [markdown]
# So far every model has trained for 80 steps. Let's leave model B to train for 400, still without the division.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
# the training: click to see it
patient = exam(divided_by(1), 400)
too_small = exam(divided_by(WIDTH), 160)
last = patient[-50:].mean().item()
exercises.reveal(
    "model_b_after_400_steps", measured="late" if last < 0.5 else "stuck" if last > 2 else "half"
)
runs = {"model A": model_a, "model B": patient, "divided by 512": too_small}
notebook.claim(last < 0.5 and patient[100:120].mean() > 1 and 0.3 < too_small[90:110].mean() < 1.5)
notebook.show(
    draw_losses(runs, scale="log"),
    alt="Loss against training steps, on a logarithmic axis. Model A is near zero after 80 "
    "steps, with scores divided by 512 soon after. Model B gets there only after about 400.",
    width=640,
)
notebook.tell(
    """Model B learns after all, though it takes several times as many steps as A. I overstated it above: a nudge
    changes *next* to nothing, and here and there two scores are close enough to let some gradient through. The
    third curve belongs to a model that divides by 512 instead of its square root. That overdoes it, and all cards start out with almost equal weights.

    The trouble can return later. In some large models, queries and keys grow during training until the scores are
    huge again. One remedy is to normalise both (*QK-norm*: Henry et al. 2020, Dehghani et al. 2023)."""
)

# %% [markdown]
# ## 3. Who is allowed to attend to whom?
#
# A model that writes is trained on whole sentences, to predict each word from the words before it. If attention
# reached the later words, the model could simply copy the answer. That is why a word is **allowed to attend** only to
# itself and to earlier words. Attending to itself gives nothing away, because the answer is the *next* word. At *cat*
# the model has read *the cat* and must predict *sleeps*.
#
# Written as a matrix of booleans, with a row per query and a column per key, this rule is the **causal mask**. `True`
# means allowed.

# %%
causal = masks.causal_mask(4)
print(causal.int())

# %% [markdown]
# ### Your turn


# %% tags=["exercise"]
def causal_mask(length):
    """-> (T, T) bool, True = allowed to attend"""
    ...


# %% [markdown]
# There are two places in the formula where the mask could act. The first version below sets every forbidden *weight*
# to 0. The second sets every forbidden *score* to $-\infty$, whose exponential is 0. In neither version does a word
# pass anything on to the words before it.


# %%
causal = exercises.mine("causal_mask")(4)


def after_softmax(x):
    weights = (x @ x.T).softmax(-1)
    return (weights * causal) @ x


def before_softmax(x):
    scores = (x @ x.T).masked_fill(~causal, -math.inf)
    return scores.softmax(-1) @ x


# %% [markdown]
# To test both versions, we change the *last* of four words. The first three outputs shouldn't notice.


# %% tags=["prediction", "hide-input"]
# the test: click to see it
def moved(attend):
    notebook.set_seed(0)
    x = torch.randn(4, 8)
    changed = x.clone()
    changed[3] = torch.randn(8)
    return (attend(x) - attend(changed)).abs().sum(-1) > 0


leaks = [moved(version)[:3].any().item() for version in (after_softmax, before_softmax)]
exercises.reveal(
    "which_mask_leaks",
    measured={(True, False): "after", (False, True): "before", (True, True): "both"}.get(
        tuple(leaks), "neither"
    ),
)
for version in (after_softmax, before_softmax):
    print(f"{version.__name__:>14}: outputs that moved", moved(version).tolist())
assert moved(after_softmax).all() and moved(before_softmax).tolist() == [False] * 3 + [True]
notebook.tell(
    """If the weights are set to 0, the future leaks into *every* output, even the first. It leaks through the
    **denominator** of the softmax, which still sums over all words. That is also why the remaining weights no longer
    sum to 1. A score of $-\\infty$ adds nothing to the denominator, so the mask has to act *before* the softmax."""
)

# %% [markdown]
# There's a second reason to hide words. Sentences in a batch rarely have the same length, so the shorter ones are
# filled up with `<pad>`, which no word should attend to. A **padding mask** hides these tokens. A logical *and* joins
# it with the causal mask.

# %%
token_ids = torch.tensor([[5, 8, 6, 7], [9, 4, 0, 0]])  # (B=2, S=4), the id of <pad> is 0
padding = masks.padding_mask(token_ids, pad_id=0)  # (B, 1, 1, S)
both = padding & causal  # (B, 1, 1, S) & (T, S) -> (B, 1, T, S)
print(both[1, 0].int())

# %% [markdown]
# The padding mask is the same for all heads (lesson 06) and all queries, so it has size 1 in those two dimensions.
#
# ### Your turn
#
# Time to put everything together, starting from an empty function: scores, square root, mask, softmax, mixture.


# %% tags=["exercise"]
def scaled_dot_product_attention(query, key, value, mask=None):
    """(..., T, K), (..., S, K), (..., S, D_v) -> context (..., T, D_v), weights (..., T, S)"""
    ...


# %% [markdown]
# A trained model is a stricter examiner. We'll put your functions into all nine attention layers of the course's
# translator and let it read twenty captions of different lengths. Then we'll break the attention in two ways. The
# first leaves out the square root, and the second lets the mask act after the softmax.


# %% tags=["prediction", "hide-input"]
# two broken versions, and the translator on these functions
def undivided(query, key, value, mask=None):
    return attention.scaled_dot_product_attention(
        query * math.sqrt(query.shape[-1]), key, value, mask
    )


def zeroed(query, key, value, mask=None):
    weights = attention.scaled_dot_product_attention(query, key, value)[1] * mask
    return weights @ value, weights


translator = load_translator()
model, tokenizer = translator.model, translator.tokenizer
hide_padding, hide_future = exercises.mine("padding_mask"), exercises.mine("causal_mask")
src = translator.encode([french for french, _ in CAPTIONS])  # (B, S), padded
rows = [tokenizer.encode(english, bos=True, eos=True) for _, english in CAPTIONS]
tgt = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
given, wanted = tgt[:, :-1], tgt[:, 1:]
mask_of = {layer.self_attention: hide_padding(src, PAD) for layer in model.encoder_layers}
for layer in model.decoder_layers:
    mask_of[layer.self_attention] = hide_padding(given, PAD) & hide_future(given.shape[1])
    mask_of[layer.cross_attention] = hide_padding(src, PAD)


@torch.inference_mode()
def read_by(attend):
    """Logits, loss per token and the decoder's weights, with this attention in every layer."""

    def forward(layer, query, key, value, mask=None, need_weights=False, cache=None):
        q, (k, v) = layer.project_query(query), layer.project_key_value(key, value)
        mixed, weights = attend(q, k, v, mask_of[layer])
        return layer.out_proj(layer.merge_heads(mixed)), weights

    with attention.running(model, forward):
        logits, maps = model(src, given), model.attention_maps(src, given)[1]
    return logits, F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD), maps


with torch.inference_mode():
    expected = model(src, given)
real = given != PAD
versions = {
    "yours": exercises.mine("scaled_dot_product_attention"),
    "without the square root": undivided,
    "mask after the softmax": zeroed,
}
read = {name: read_by(attend) for name, attend in versions.items()}
found, _, maps = read["yours"]
losses = {name: loss.item() for name, (_, loss, _) in read.items()}
no_root, late = losses["without the square root"], losses["mask after the softmax"]
exercises.reveal(
    "which_break_costs_more",
    measured="equal" if abs(no_root / late - 1) < 0.05 else "root" if no_root > late else "mask",
)
notebook.table([[name, f"{loss:.2f}"] for name, loss in losses.items()], ["attention", "loss"])
print(f"your logits: at most {(found - expected)[real].abs().max():.0e} from the translator's own")
print(exercises.whose("scaled_dot_product_attention", "causal_mask", "padding_mask", did="run"))
english = [piece.strip("▁") for piece in tokenizer.tokens(given[2][real[2]].tolist())]
n = len(english)
notebook.show(
    plots.attention_heatmap(
        maps[2, 0, 0, :n, :n], english, english, title="decoder, layer 1, head 1"
    ),
    alt="Attention weights of a head of the translator's decoder, computed by the functions above.",
    width=480,
)
tested = read_by(attention.scaled_dot_product_attention)
assert torch.allclose(tested[0][real], expected[real], atol=1e-4, rtol=1e-4)
assert no_root > 1.4 * tested[1] and 1.1 * tested[1] < late
assert (tested[2][:, 0].triu(1) == 0).all()
notebook.tell(
    f"""With your functions the translator computes what it did before, up to rounding. Neither break raises an error,
    but both raise the loss. Without the square root all scores are eight times as large, and the loss goes from
    {losses["yours"]:.2f} to {no_root:.2f}. A mask after the softmax costs less ({late:.2f}). It lets the future leak
    only through the denominator, and the weights that remain keep their proportions."""
)

# %% [markdown] my_parts=true
# <details><summary><b>Fine print</b></summary>
#
# You'll also see $V\,\mathrm{softmax}(K^\top Q)$, with a softmax that runs down each column. Authors who write this
# store words as *columns*, so everything is transposed.
#
# The exam is one task, at one width and one learning rate. The bands in its figures run from the best to the worst of
# three runs. The heads of Vaswani et al. are only 64 wide, and at that width the effect is milder.
#
# </details>
#
# ### What to take away
#
# - Words are rows: $Q = X W_Q$, $K = X W_K$, $V = X W_V$. Row $i$ of every result belongs to word $i$.
# - The softmax runs along each row, over the keys.
# - At the start of training, dividing by $\sqrt{d_k}$ makes the size of the scores independent of the width, so the
#   softmax isn't saturated.
# - A mask sets **scores** to $-\infty$ **before** the softmax. In this course `True` means allowed.
# - To find a leak, change a word and see which outputs change.
# - Comparing every word with every word takes $n^2$ scores. *Going deeper* counts what that costs.
#
# $$\mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right) V, \qquad
# \text{mask} = 0 \text{ where allowed, } -\infty \text{ elsewhere}$$
#
# One thing is still missing. Compare *the dog bites the man* with *the man bites the dog*. Without a causal mask,
# every word comes out of this layer with exactly the same vector in both, whoever does the biting. **Lesson 05** adds
# the order.

# %% [markdown]
# ## Practice
#
# About half an hour, easiest first.
#
# ### You are here
#
# Open the highlighted head, and you'll find this lesson's steps with the numbers of a trained model.

# %% tags=["nbval-ignore-output"] quiz="shapes_in_the_paper"
model_map(translator.trace("Un chien noir court."), here="head", tour="04")

# %% [markdown]
# Pull the ends of the query and the keys below to make them longer, and watch the scores spread while the gradient
# shrinks. Drag the dot of one score. Does its weight follow, and what happens to this draw's gradient, the purple dot?
# Then divide by $\sqrt{d_k}$ and drag it again.

# %% quiz="why_root_d_k where_the_mask_goes"
ScaleExplorer()

# %% [markdown]
# ### The other mask
#
# The padding mask is yours to write, too. Once it passes the check, run section 3's translator again. It will then use
# your mask.


# %% tags=["exercise"]
def padding_mask(token_ids, pad_id):
    """(B, S) -> (B, 1, 1, S) bool, True = allowed to attend"""
    ...


# %% [markdown]
# Choose a mask, pick a query, and watch its row.

# %% quiz="how_many_scores"
MaskBuilder()

# %% [markdown]
# ### Find the bug
#
# The function below runs without an error, and its author is pleased with a very low training loss. The print-out
# shows the weights of four words.


# %% tags=["exercise"]
def suspiciously_good(query, key, value):
    """(T, K), (T, K), (T, D_v) -> context (T, D_v), weights (T, T)"""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    allowed = torch.ones_like(scores).triu().bool()
    weights = scores.softmax(dim=-1) * allowed
    return weights @ value, weights


# %% tags=["trial", "hide-input"] quiz="cheaper_than_recurrence empty_row"
notebook.set_seed(3)
exercises_input = torch.randn(3, 4, 8).unbind(0)
print(suspiciously_good(*exercises_input)[1].round(decimals=2))

# %% [markdown]
# For comparison, here's the course's own version, which all later lessons import:

# %%
notebook.show_source(attention.scaled_dot_product_attention)

# %% [markdown] quiz="who_may_see_padding why_not_zero_afterwards"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ### Two interfaces in PyTorch
#
# PyTorch offers attention twice, as `F.scaled_dot_product_attention` and as `nn.MultiheadAttention`. Here we give our
# causal mask to the second one, and then the mask's opposite.

# %%
layer = nn.MultiheadAttention(8, 1, batch_first=True)
four_words = torch.randn(1, 4, 8)
with torch.no_grad():
    _, by_layer = layer(four_words, four_words, four_words, attn_mask=causal)
    _, with_not = layer(four_words, four_words, four_words, attn_mask=~causal)
print("weights with our mask:\n", by_layer[0].round(decimals=2))
print("weights with its opposite:\n", with_not[0].round(decimals=2))

# %% tags=["hide-input"]
assert (with_not[0][~causal] == 0).all() and by_layer[0, 3].isnan().all()
assert (by_layer[0].nan_to_num()[causal] == 0).all()

# %% [markdown]
# `nn.MultiheadAttention` reads `True` as *not allowed*, the opposite of `F.scaled_dot_product_attention` and of this
# course. Given our mask, it lets every word attend only to the words *after* it. The last word has none, and its
# weights are `nan`.
#
# ### A word that isn't allowed to attend to anything
#
# A fully masked row needn't be a bug. If a sentence is nothing but padding, all its rows are like that. Every score
# in such a row is $-\infty$, and the softmax divides 0 by 0. Here are three ways of dealing with it.

# %%
nothing = torch.zeros(1, 4, dtype=torch.bool)
row = torch.randn(1, 4, requires_grad=True)
print("with −∞:  ", row.masked_fill(~nothing, -math.inf).softmax(-1).detach())
print("with −1e9:", row.masked_fill(~nothing, -1e9).softmax(-1).detach())
ours = attention.masked_softmax(row, nothing)
ours.sum().backward()
print("ours:     ", ours.detach(), "  gradient:", row.grad)

# %% tags=["hide-input"]
assert (ours == 0).all() and (row.grad == 0).all()
assert row.masked_fill(~nothing, -math.inf).softmax(-1).isnan().all()
assert (row.masked_fill(~nothing, -1e9).softmax(-1) == 0.25).all()
q_1, k_1 = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 4, 8)
assert (F.scaled_dot_product_attention(q_1, k_1, k_1, attn_mask=nothing) == 0).all()

# %% [markdown]
# With a plain $-\infty$ the row becomes `nan`, and in the next training step so does every weight of the model. The
# popular $-10^9$ hides the problem. The row becomes uniform, so the word takes the average of everything that it isn't
# allowed to see. The course's function returns zeros with a zero gradient. So does PyTorch's **fused** operator, which
# runs all the steps in a single pass.
#
# The fused operator never has to *store* the matrix of weights. It works through the keys in blocks and keeps three
# things: the largest score so far, the sum of exponentials, and the weighted sum of values. Whenever the largest
# score changes, it rescales the two sums (Milakov and Gimelshein 2018). That's the core of FlashAttention (Dao et al.
# 2022).

# %% [markdown]
# ### What does it cost?
#
# PyTorch can count the multiplications in the formula's two matrix products. How does their number grow with the length
# of the text?


# %% tags=["prediction", "hide-input"]
# the count: click to see it
def multiplications(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops() / 2  # a multiplication and an addition count as two


def attention_products(n, d=64):
    x = torch.randn(n, d)
    return multiplications(lambda: (x @ x.T) @ x)


growth = attention_products(2048) / attention_products(1024)
exercises.reveal("twice_the_length", measured={2: "two", 4: "four", 8: "eight"}[round(growth)])
for n in (1024, 2048):
    print(f"{n} words: {attention_products(n):,.0f} multiplications, {n * n:,} weights to store")
assert growth == 4 and attention_products(1024) == 2 * 1024**2 * 64
notebook.tell(
    """Each of $n$ words is compared with all $n$ words, in $n^2$ dot products of $d$ multiplications each. Mixing the
    values takes as many again, so the total is $2 n^2 d$. You won't notice the $n^2$ in a sentence, but in a whole
    book it becomes the main problem. Lesson 16 is about what can be done."""
)

# %% [markdown]
# ### Attention against recurrence
#
# Per step, a plain recurrent layer multiplies its input by one $d \times d$ matrix and its state by another. A GRU
# does so three times and an LSTM four. Attention multiplies $X$ by three matrices and its result by a fourth, on top
# of the two products above. Which of these layers needs the fewest multiplications?

# %%
d, step = 64, torch.randn(1, 64)
one_step = multiplications(lambda: step @ torch.randn(64, 64)) * 2  # input and state
for n in (16, 64, 128, 1024):
    attending = 4 * multiplications(lambda n=n: torch.randn(n, d) @ torch.randn(d, d))
    attending += attention_products(n, d)
    gates = {"plain": 1, "GRU": 3, "LSTM": 4}
    times = ", ".join(f"{attending / (n * one_step * g):.2g} ({name})" for name, g in gates.items())
    print(
        f"n = {n:>4}: attention's multiplications as a multiple of the recurrent layer's: {times}"
    )

# %% tags=["hide-input"]
for n, gates in ((64, 3), (128, 4)):  # the lengths at which they are equal, n = d and n = 2d
    assert 4 * n * d * d + attention_products(n, d) == n * one_step * gates
assert 4 * 16 * d * d > 16 * one_step  # the plain one is always cheaper

# %% [markdown]
# Attention needs fewer multiplications than a GRU below $n = d$ words, and fewer than an LSTM below $n = 2d$. A plain
# recurrent layer always needs fewer than attention. Vaswani et al. compare $n^2 d$ with $n d^2$ in their table, which
# leaves out constants and projections. However the count comes out, attention's real advantage is that no word has to
# wait for the word before it (lesson 01).
#
# ### Which part saturates?
#
# Gradients pass back through attention on two paths. One leads through the softmax to the scores, and it's the one
# that dries up. The other leads straight to the values. Because the output is *linear* in the values, the gradient of
# each value is just scaled by its weight:

# %%
scores = torch.tensor([2.0, 1.0, 0.5])
for factor in (1, 10):
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), factor * scores)
    print(f"scores × {factor:>2}: largest derivative of a weight {jacobian.abs().max():.2g}")
    v = torch.ones(3, 1, requires_grad=True)
    ((factor * scores).softmax(-1) @ v).sum().backward()
    print("             what reaches the three values:", v.grad.flatten())

# %% tags=["hide-input"]
assert jacobian.abs().max() < 1e-3
assert v.grad[0] > 0.999 and v.grad[1:].max() < 1e-3

# %% [markdown]
# A saturated softmax doesn't starve the values altogether, but it feeds only one of them, the winner.

# %% [markdown]
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.2.1 and 4.
# - Henry, Dachapally, Pawar, Chen (2020), "Query-Key Normalization for Transformers", arXiv:2010.04245.
# - Dehghani et al. (2023), "Scaling Vision Transformers to 22 Billion Parameters", arXiv:2302.05442, section 2.
# - Dao, Fu, Ermon, Rudra, Ré (2022), "FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness", arXiv:2205.14135.
# - Milakov, Gimelshein (2018), "Online normalizer calculation for softmax", arXiv:1805.02867.
