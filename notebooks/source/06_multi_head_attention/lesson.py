# %% [markdown]
# # Multi-head attention
#
# *The animal didn't cross the street because **it** was too tired.*
#
# To understand the word *it*, you need two others. *Animal* tells you what *it* refers to, and *tired* tells
# you what's wrong with the animal. Let's see how a trained model deals with that. MiniLM is a small BERT, an
# encoder that reads English. It has 6 layers with 12 attention maps each. So there are 72 maps, and each gives
# the word *it* a row of weights over the same sentence. We name a map by its layer and its *head*: *layer 5,
# head 3* is the third map of the fifth layer.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import itertools
import math
from contextlib import ExitStack

from IPython.display import display
import torch
from torch import nn

from helpers import exercises, plots
from helpers.transformer.attention import (
    MultiHeadAttention,
    heads_off,
    scaled_dot_product_attention,
)
from helpers.data.captions import CAPTIONS
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator
from helpers.training.training import evaluate
from helpers.widgets.attention_view import attention_view
from helpers.widgets.head_switches import HeadSwitches
from helpers.widgets.model_map import model_map

# %% [markdown] tags=["notes"]
# **50 minutes.** Hook, warm-up and first prediction 5 · 1 why not one row 7 · 2 several heads in one layer 17 ·
# 3 what the output matrix is for 8 · 4 trained heads 5 · 5 switching off and the map 8. So section 3 begins at
# minute 29 and section 5 at minute 42. Everything under *Practice* is homework.
#
# **Say first**: nothing about attention itself changes today. We run lesson 04's attention several times
# side by side, and most of the hour goes into bookkeeping that people get wrong and into what the
# trained heads turn out to do.
#
# **Show** in section 2, on the board: six rows of eight numbers, with a vertical line after the fourth column.
# Point at the two halves whenever somebody says "head". Say before sections 3 and 4 which model comes next: the
# numbers in sections 3 and 5 are the translator's, those at the start and in section 4 are MiniLM's, and the
# heads of other models do different things.
#
# **Ask**
#
# - After section 1: "Could a deeper network do it with one head per layer?" (Yes, one question after the other;
#   heads let one layer ask several at once.)
# - After the quiz on $W_O$ in section 2: "16 heads of width 64 in a model of width 512: what is the shape of
#   $W_O$?" (1024 × 512; only with $K = D/H$ does the parameter count stay the same.)
# - Before section 5: "What would convince you that a head matters?" ("A sharp map" is the usual answer. Ask
#   what you'd have to *do* with the head to be sure, and leave the question open, because section 5 answers
#   it.)
#
# **Mistakes to expect, and what to say**
#
# - People cut up the embedding instead of the projection. Ask which of a word's eight numbers enter its
#   query in the first head. (All of them.)
# - They reshape without transposing, or forget the transpose on the way back. Either way the shape is still
#   right, so ask what is in the second head, and let them count on the board.
# - They divide by the root of the model's width. Each head has keys of width $K$, so it's $\sqrt K$.
#
# The answers to the predictions are discussed in the cells that reveal them.
#
# **If you're running late** at the end of section 1 (minute 12), set section 2's find-the-bug exercise as
# homework, which saves about five minutes. In section 4, skip the part that sorts the heads by distance, and in
# section 5 the search with the buttons, about two minutes each. Nothing later in the lesson needs them.

# %%
exercises.warm_up(6)

# %% tags=["hide-input"]
minilm = load_minilm()
tired = "The animal didn't cross the street because it was too tired."
wide = "The animal didn't cross the street because it was too wide."


def weights_and_tokens(text):
    weights, tokens, _ = minilm.attend(text).maps["encoder"]  # (layers, heads, T, T)
    return weights, tokens


def link(text, word):
    weights, tokens = weights_and_tokens(text)
    return weights[:, :, tokens.index("it"), tokens.index(word)]  # (layers, heads)


def in_words(index):
    return f"layer {index // 12 + 1}, head {index % 12 + 1}"


# %%
exercises.predict("both_at_once")

# %% tags=["hide-input"]
to_animal, to_tired = link(tired, "animal"), link(tired, "tired")
both = torch.minimum(to_animal, to_tired)  # what a row gives to each of the two, at least
found = (both >= 1 / 3).sum().item()
exercises.reveal(
    "both_at_once", measured="none" if found == 0 else "one" if found == 1 else "several"
)
print(f"at best, one row gives {both.max():.0%} to each of the two words")
# the layer in which one head attends to animal and another one to tired
layer = torch.minimum(to_animal.amax(1), to_tired.amax(1)).argmax().item()
pair = [to_animal[layer].argmax().item(), to_tired[layer].argmax().item()]
weights, tokens = weights_and_tokens(tired)
it = tokens.index("it")
shown = weights[layer, pair, it]
axes = plots.attention_heatmap(
    shown, ["layer 6, head 12", "layer 6, head 10"], tokens, title="two rows of the word it"
)
assert both.max() < 0.2 and layer == 5 and pair == [11, 9]
assert abs(shown[0, tokens.index("animal")] - 0.67) < 0.01
assert abs(shown[1, tokens.index("tired")] - 0.30) < 0.01
assert [tokens[i] for i in shown.argmax(-1)] == ["animal", "tired"]
assert (
    abs(shown[0, tokens.index("tired")] - 0.04) < 0.01 and shown[1, tokens.index("animal")] < 0.01
)
display(
    notebook.figure(
        axes,
        alt="Two rows of attention weights of the word it, both from layer 6. In head 12 most of the weight is "
        "on animal; head 10 gives tired more than any other word.",
        width=760,
    )
)
notebook.tell(
    """Two heads of the same layer share the job. In layer 6, head 12 gives 67% of its weight to *animal* and
    4% to *tired*. Head 10 gives *tired* 30%, more than any other word gets, and *animal* less than 1%."""
)

# %% [markdown]
# ## 1. One row, two words
#
# To attend to both words, a single row would need a high score for each.

# %%
scores = torch.tensor([0.0, 6.0, 0.0, 6.0])  # the, animal, was, tired
print(scores.softmax(-1))

# %% [markdown]
# You can raise both scores as high as you like, but as long as they're equal, each word gets at most half.
# Every row of a softmax sums to 1, so any weight that *tired* gets is weight that *animal* can't have. And
# the result is a single vector, a blend of both values.
#
# ### Your turn (2 min)
#
# Now use two rows of scores. Each row has its own weights, which sum to 1, so we get two separate answers.

# %% tags=["hide-input"]
exercises.heading("one_unit_each")


# %%
def one_unit_each(scores, values):
    """scores (H, S): one row per question; values (S, K) -> one answer per row, (H, K)"""
    weights = scores.softmax(...)  # ← fill the gap
    return weights @ ...  # ← and this one


# %% tags=["hide-input"]
exercises.check("one_unit_each", one_unit_each)

# %% [markdown]
# A blend isn't always a loss. In lesson 03, a single row mixed a size and a colour, and the model could still
# read off both. A blend does lose something when it matters *which value came from where*: *mary gave susan
# roses* doesn't mean *susan gave mary roses*. Suppose that *gave* attends to the two people. In the code below,
# the first row of `values` is the giver's and the second the receiver's.

# %%
people = {"mary": torch.tensor([1.0, 0.0]), "susan": torch.tensor([0.0, 1.0])}
one_row = torch.tensor([[0.5, 0.5]])
two_rows = torch.tensor([[0.98, 0.02], [0.02, 0.98]])  # who gives? who receives?

for giver, receiver in [("mary", "susan"), ("susan", "mary")]:
    values = torch.stack([people[giver], people[receiver]])  # (2, 2)
    print(f"{giver} gave {receiver} roses")
    print("   one row: ", (one_row @ values).flatten())
    print("   two rows:", (two_rows @ values).flatten())  # side by side

# %% tags=["hide-input"]
swapped_values = values.flip(0)
assert torch.equal(one_row @ values, one_row @ swapped_values)
assert (two_rows @ values - two_rows @ swapped_values).abs().min() > 0.9

# %% [markdown]
# A row that weights both people equally gives the same mixture for both sentences, but two rows side by side
# tell them apart. Could a model with a single row find a way round this, perhaps with uneven weights? Let's
# train one model with a single row and another with two rows, each of half the width. Both read sentences like
# these, made from 24 names, with a position vector added to each word. From the context of *gave* alone they
# have to work out who gives and who receives.

# %%
exercises.predict("one_row_or_two")


# %% tags=["hide-input", "nbval-ignore-output"]
N_NAMES, ROLES = 24, [0, 2]  # a sentence: giver, gave, receiver, roses


def sentences(n, generator):
    """Sentences (n, 4) as ids; the two names differ."""
    giver = torch.randint(N_NAMES, (n,), generator=generator)
    receiver = (giver + torch.randint(1, N_NAMES, (n,), generator=generator)) % N_NAMES
    gave, roses = torch.full((2, n), N_NAMES)
    return torch.stack([giver, gave, receiver, roses + 1], dim=1)


def learn_who_gives(n_rows, n_runs=5, width=16, n_steps=300):
    """Train runs side by side; of each the share with both names right, of the others the share
    swapped, the mean weights of gave, and those of the giver by its name."""
    shapes = [(N_NAMES + 2, width), (4, width), *[(width, width)] * 3, (width, 2 * N_NAMES)]
    generators = [torch.Generator().manual_seed(run) for run in range(n_runs)]
    parameters = [  # the first dimension is that of the runs, which share nothing
        nn.Parameter(torch.stack([torch.randn(shape, generator=g) / 4 for g in generators]))
        for shape in shapes
    ]
    words, places, w_q, w_k, w_v, answer = parameters
    runs = torch.arange(n_runs)[:, None, None]

    def draw(n):
        """Sentences (runs, n, 4), other ones for every run."""
        return torch.stack([sentences(n, g) for g in generators])

    def read(ids):
        """Answers (runs, n, 2, names) of gave, and its weights (runs, n, n_rows, 4)."""
        x = words[runs, ids] + places[:, None]
        q, k, v = (
            (y.flatten(1, 2) @ w).view(*y.shape[:3], n_rows, -1).transpose(2, 3)
            for y, w in [(x[:, :, 1:2], w_q), (x, w_k), (x, w_v)]
        )
        context, weights = scaled_dot_product_attention(q, k, v)
        answers = context[..., 0, :].flatten(2) @ answer
        return answers.unflatten(-1, (2, -1)), weights[..., 0, :]

    optimizer = torch.optim.Adam(parameters, lr=0.02)
    for _ in range(n_steps):
        ids = draw(64)
        answers = read(ids)[0].flatten(0, 2)
        # the mean of each run's loss, and the sum of those: no run changes another one's gradient
        loss = n_runs * nn.functional.cross_entropy(answers, ids[..., ROLES].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ids = draw(2000)
    with torch.no_grad():
        answers, weights = read(ids)
    said, right = answers.argmax(-1), ids[..., ROLES]
    good, swapped = (said == right).all(-1), (said == right.flip(-1)).any(-1)
    by_name = [
        torch.stack([weights[run, ids[run, :, 0] == name, 0, 0].mean() for name in range(N_NAMES)])
        for run in range(n_runs)
    ]
    share_swapped = (swapped & ~good).sum(-1) / (~good).sum(-1).clamp(min=1)
    shares = good.float().mean(-1).tolist(), share_swapped.tolist()
    return list(zip(*shares, weights.mean(1), by_name))


def middle_run(n_rows):
    found = sorted(learn_who_gives(n_rows), key=lambda run: run[0])
    print(f"both names right, rows: {n_rows}:", *[f"{run[0]:.0%}" for run in found])
    return found[2]


one, two = middle_run(1), middle_run(2)
exercises.reveal("one_row_or_two", measured=100 * one[0])
by_role = two[2][two[2][:, 0].argsort(descending=True)]  # the row of the giver first
assert two[0] > 0.97 and 0.7 < one[0] < 0.95 and one[1] > 0.75
assert by_role[0, 0] > 0.7 and by_role[1, 2] > 0.7 and abs(one[2][0, 0] - one[2][0, 2]) < 0.15
assert one[3].max() > 2 * one[3].min()
axes = plots.attention_heatmap(
    torch.cat([one[2], by_role]),
    ["one row", "two rows: first", "two rows: second"],
    ["(giver)", "gave", "(receiver)", "roses"],
    title="mean weights of gave, middle run",
)
display(
    notebook.figure(
        axes,
        alt="Mean weights of the word gave. A single row gives about the same weight to giver and receiver. "
        "Of two rows, one gives nearly all of its weight to the giver, the other to the receiver.",
        width=560,
    )
)
notebook.tell(
    """A single row gets about six sentences in seven right, and when it's wrong, it nearly always swaps the
    two people. On average it splits its weight evenly between giver and receiver. But some names get far more
    weight than others, and every value also contains its word's position. So the mixture gives away where the
    name with more weight stands, and most of the time that's enough. Two rows don't need this trick. Each has
    taken on one question, *who gives?* or *who receives?*, although nobody told the model to share out the work
    like this."""
)

# %% [markdown]
# A row comes from one query, so it can really ask only one question. That's why a Transformer layer runs
# several small attentions side by side, called **heads**, and so asks several questions at once.
#
# ## 2. How do several heads fit into one layer?
#
# Here's the whole layer in one picture, with eight heads as in the paper. Follow the first two, which are coloured.

# %% tags=["hide-input"]
notebook.picture("heads_concatenated")

# %% [markdown]
# Each head has its own $W_Q$, $W_K$ and $W_V$, which project from the model's width $D$ down to a smaller
# width $K = D/H$. The paper has $D = 512$ and $H = 8$ heads of width 64. We'll use $D = 8$ and $H = 2$.

# %%
D, H, K = 8, 2, 4
x = torch.randn(1, 6, D)  # one sentence of six words
heads = [{name: torch.randn(D, K) for name in "qkv"} for _ in range(H)]
w_o = torch.randn(H * K, D)

contexts = []
for head in heads:
    query, key, value = (x @ head[name] for name in "qkv")  # (1, 6, 8) @ (8, 4) -> (1, 6, 4)
    contexts.append(scaled_dot_product_attention(query, key, value)[0])
by_list = torch.cat(contexts, dim=-1) @ w_o  # (1, 6, 8) @ (8, 8) -> (1, 6, 8)

# %% [markdown]
# That's multi-head attention, written as a loop over a list of heads. The loop is slow, though, for the same
# reason as a loop over words. If we put the $W_Q$ of all heads next to each other, a single product computes
# all the queries. Then we only have to split its columns into heads.

# %%
w_q, w_k, w_v = (torch.cat([head[name] for head in heads], dim=1) for name in "qkv")  # (D, H·K)
all_queries = x @ w_q  # (1, 6, 8): columns 0 to 3 belong to the first head, 4 to 7 to the second

# %% [markdown]
# ### Your turn (5 min)
#
# Attention works on the last two dimensions, which have to be words and features. So we move the heads to the
# front, next to the batch dimension.

# %% tags=["hide-input"]
exercises.heading("split_heads")


# %%
def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, K)"""
    x = x.unflatten(-1, (n_heads, ...))  # (B, T, H, K)   ← fill the gap
    return x.transpose(..., ...)  # (B, H, T, K)   ← and these two


# %% tags=["hide-input"]
exercises.check("split_heads", split_heads)

# %% [markdown]
# Why do we first split and then transpose? The result should have the shape (1, 2, 6, 4), and a single
# `all_queries.reshape(1, 2, 6, 4)` gives that shape too.

# %%
exercises.predict("torn_split")

# %% tags=["hide-input"]
labelled = (10 * torch.arange(1, 7)[:, None] + torch.arange(1, 9))[None]  # 34: word 3, column 4
second = labelled.reshape(1, 2, 6, 4)[0, 1]
words = sorted({n // 10 for n in second.flatten().tolist()})
columns = sorted({n % 10 for n in second.flatten().tolist()})
exercises.reveal(
    "torn_split",
    measured="words"
    if words == [4, 5, 6]
    else "columns"
    if columns == [5, 6, 7, 8]
    else "alternate",
)
print("The second head. 34 would be word 3, column 4.\nreshape:\n", second)
right_way = labelled.unflatten(-1, (2, 4)).transpose(1, 2)[0, 1]
print("unflatten, then transpose:\n", right_way)
assert words == [4, 5, 6] and len(columns) == 8
assert (right_way % 10 > 4).all() and (right_way // 10 == torch.arange(1, 7)[:, None]).all()

# %% [markdown]
# So we split the last dimension first and swap dimensions second. On the way back we swap first and flatten
# second. In between, lesson 04's attention runs unchanged, because it treats the heads as one more batch
# dimension.


# %%
def split(x):
    return x.unflatten(-1, (H, K)).transpose(1, 2)  # (B, T, H·K) -> (B, H, T, K)


context, weights = scaled_dot_product_attention(split(x @ w_q), split(x @ w_k), split(x @ w_v))
by_split = context.transpose(1, 2).flatten(-2) @ w_o  # (B, H, T, K) -> (B, T, H·K) -> (B, T, D)
print(torch.allclose(by_split, by_list, atol=1e-4), "  weights:", tuple(weights.shape))

# %% tags=["hide-input"]
torch.testing.assert_close(by_split, by_list, atol=1e-4, rtol=1e-4)
assert scores.softmax(-1).max() < 0.5  # section 1
wide_x, wide_o = x.double(), w_o.double()
q, k, v = (
    torch.einsum("btd,dhk->bhtk", wide_x, w.double().unflatten(1, (H, K))) for w in (w_q, w_k, w_v)
)
a = (torch.einsum("bhtk,bhsk->bhts", q, k) / math.sqrt(K)).softmax(-1)
by_einsum = torch.einsum("bhts,bhsk,hkd->btd", a, v, wide_o.unflatten(0, (H, K)))
ours = MultiHeadAttention(D, H).double()
theirs = nn.MultiheadAttention(D, H, batch_first=True).double()
with torch.no_grad():  # nn.Linear stores its matrices transposed, hence the .T
    ours.query_proj.weight.copy_(w_q.T)
    ours.key_proj.weight.copy_(w_k.T)
    ours.value_proj.weight.copy_(w_v.T)
    ours.out_proj.weight.copy_(w_o.T)
    theirs.in_proj_weight.copy_(torch.cat([w_q, w_k, w_v], dim=1).T)  # (3D, D)
    theirs.out_proj.weight.copy_(w_o.T)
    from_ours, our_weights = ours(wide_x, wide_x, wide_x, need_weights=True)
    from_theirs, their_weights = theirs(wide_x, wide_x, wide_x, average_attn_weights=False)
torch.testing.assert_close(by_einsum, by_list.double(), atol=1e-4, rtol=1e-4)
torch.testing.assert_close(from_ours, by_einsum)
torch.testing.assert_close(from_theirs, by_einsum)
torch.testing.assert_close(our_weights, their_weights)
print(
    "list = split = einsum = helpers.transformer.attention.MultiHeadAttention = nn.MultiheadAttention: yes"
)

# %% [markdown]
# With the same matrices, PyTorch's `nn.MultiheadAttention` gives the same numbers, and so does the course's
# own class.
#
# ### Your turn: find the bug (4 min)
#
# Somebody wrote the layer below. To test it, they set $W_Q$ and $W_K$ to zero, which makes all scores equal.
# Every word should then get the average of the sentence, so all rows of the output should be 1, 2, 3, 4.

# %% tags=["hide-input"]
exercises.heading("mixed_up_heads")


# %%
def mixed_up_heads(x, w_q, w_k, w_v, n_heads):
    """x (B, T, D), weights (D, D) -> the heads' contexts side by side (B, T, D)"""
    query, key, value = (
        (x @ w).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v)
    )
    scores = query @ key.transpose(-2, -1) / math.sqrt(x.shape[-1])
    context = scores.softmax(-1) @ value  # (B, H, T, K)
    return context.reshape(x.shape)


# %% tags=["hide-input"]
averages = torch.tensor([1.0, 2.0, 3.0, 4.0])
offsets = torch.tensor([-3.0, -1.0, 1.0, 3.0])[:, None]
zero = torch.zeros(4, 4)
print(mixed_up_heads((averages + offsets)[None], zero, zero, torch.eye(4), 2)[0].round(decimals=2))

# %% tags=["hide-input"]
exercises.check("mixed_up_heads", mixed_up_heads)

# %% [markdown]
# Does the layer get larger with more heads?

# %%
exercises.predict("eight_heads_or_one")


# %% tags=["hide-input"]
def count(module):
    return sum(p.numel() for p in module.parameters())


eight, single = count(MultiHeadAttention(512, 8)), count(MultiHeadAttention(512, 1))
exercises.reveal(
    "eight_heads_or_one",
    measured="equal" if eight == single else "eight" if eight > single else "single",
)
print(f"8 heads of 64: {eight:,} parameters   1 head of 512: {single:,}")
assert eight == single == 4 * (512 * 512 + 512)
assert 3 * 8 * 512 * 64 == 3 * 512 * 512
notebook.tell(
    """The number of parameters doesn't change, and neither does the number of multiplications in the
    projections. You just get eight attention maps instead of one. So in section 1, the model with two rows
    wasn't the larger one either."""
)

# %% [markdown]
# **Pencil (1 min).** With the paper's numbers, write down the shapes of one head's $W_Q$, of the eight
# results side by side, and of $W_O$.

# %%
exercises.quiz("shape_of_w_o")

# %%
exercises.quiz("what_a_head_sees")

# %% [markdown]
# ## 3. What is $W_O$ for?
#
# Why not stop once the heads are side by side? The result already has the right shape. To see what would be
# missing, let's change the output of the *first* head and look at which of the eight numbers in a word's
# vector change.

# %%
side_by_side = context.transpose(1, 2).flatten(-2)  # (1, 6, 8)
changed = side_by_side.clone()
changed[..., :K] += 1  # the first head found something else
print("without W_O:", (changed != side_by_side)[0, 0].int().tolist())
print("with W_O:   ", (changed @ w_o != side_by_side @ w_o)[0, 0].int().tolist())

# %% tags=["hide-input"]
assert (changed != side_by_side)[0, 0].tolist() == [True] * K + [False] * K
assert (changed @ w_o != side_by_side @ w_o).all()

# %% [markdown]
# Without $W_O$, the first head's output stays in its own four coordinates. With $W_O$, it can reach every
# coordinate of the word's vector. To see how, cut $W_O$ into blocks of rows: the first $K$ rows belong to the
# first head, the next $K$ rows to the second. So the product with $W_O$ is a *sum over the heads*, and each
# head adds its own contribution:
#
# $$\mathrm{Concat}(Z_1, …, Z_H)\, W_O = Z_1 W_O^{(1)} + … + Z_H W_O^{(H)}$$
#
# Here are two heads and one word, with small whole numbers so that you can check a few of them. Each head's four
# numbers become eight, and the two rows of eight are added.

# %% tags=["hide-input"]
notebook.picture("heads_added")

# %% [markdown]
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("head_contributions")


# %%
def head_contributions(context, w_o):
    """context (B, H, T, K), w_o (D, D) -> what each head adds, (B, H, T, D)"""
    return context @ w_o.unflatten(0, (..., ...))  # (H, K, D)   ← fill the gaps


# %% tags=["hide-input"]
exercises.check("head_contributions", head_contributions)

# %% [markdown]
# So a head *can* write to every coordinate. Does a trained head do so, or does it stick to its own columns?
# The course's translator has width 256 and four heads per layer.

# %%
exercises.predict("where_a_head_writes")

# %% tags=["hide-input"]
translator = load_translator()
model, tokenizer = translator.model, translator.tokenizer
layers = (
    [("encoder", layer.self_attention) for layer in model.encoder_layers]
    + [("decoder", layer.self_attention) for layer in model.decoder_layers]
    + [("cross", layer.cross_attention) for layer in model.decoder_layers]
)


def share_elsewhere(layer):
    rows = layer.out_proj.weight.detach().T.unflatten(0, (layer.n_heads, -1)).square()  # (H, K, D)
    by_block = rows.unflatten(-1, (layer.n_heads, -1)).sum((1, 3))  # (H, H): head by columns
    return 1 - by_block.diagonal() / by_block.sum(1)


elsewhere = torch.stack([share_elsewhere(layer) for _, layer in layers])  # (9 layers, 4 heads)
exercises.reveal("where_a_head_writes", measured=100 * elsewhere.mean().item())
print(f"the 36 heads one by one: from {elsewhere.min():.0%} to {elsewhere.max():.0%}")
assert 0.72 < elsewhere.mean() < 0.78 and elsewhere.min() > 0.65
notebook.tell(
    """About three quarters of what a head writes goes to the other heads' columns. That's just what you'd get
    if a head had no preference, because its own columns are a quarter of the 256. So "head 2 owns
    coordinates 65 to 128" isn't true once $W_O$ has been applied."""
)

# %% [markdown]
# Do the heads overwrite each other, then? Mostly not. A head can only write along $K$ directions of the
# $D$-dimensional space. Those directions span a **subspace**, and lesson 05 showed that random directions in
# a large space are nearly at right angles. So although the contributions are added up, they largely stay out
# of each other's way. *Going deeper* measures how much they overlap.
#
# ## 4. What do trained heads do?
#
# Let's go back to MiniLM. It was fine-tuned as a *sentence-embedding* model, to turn a sentence into one
# vector, and nobody trained it on pronouns in particular. Now change the last word of our sentence:
#
# *The animal didn't cross the street because it was too **wide**.*
#
# In the sentence with *tired*, layer 4, head 2 gave *animal* the most weight of all 72 maps, 68%.

# %%
exercises.predict("when_the_street_is_too_wide")

# %% tags=["hide-input"]
animal_head = divmod(to_animal.argmax().item(), 12)
tired_head = divmod(to_tired.argmax().item(), 12)
rows = {t: {w: link(t, w)[animal_head].item() for w in ("animal", "street")} for t in (tired, wide)}
now, before = rows[wide], rows[tired]
if now["street"] > now["animal"]:
    turned_out = "street"
else:
    turned_out = "less" if now["animal"] < before["animal"] - 0.1 else "same"
exercises.reveal("when_the_street_is_too_wide", measured=turned_out)
print("layer 4, head 2      it → animal   it → street")
for ending, row in (("too tired", before), ("too wide", now)):
    print(f"{ending:>15} {row['animal']:>14.0%} {row['street']:>13.0%}")
on_wide = link(wide, "wide")[tired_head].item()
print(f"layer 3, head 2, too wide: it → wide {on_wide:.0%}")
assert animal_head == (3, 1) and tired_head == (2, 1) and to_tired[tired_head] > 0.7
assert abs(before["animal"] - 0.68) < 0.01 and now["animal"] < 0.35
assert now["animal"] > now["street"] > before["street"]
assert on_wide > 0.8 and link(wide, "[CLS]")[animal_head] > 0.3
notebook.tell(
    """Changing one word at the end of the sentence takes more than half of the weight away from *animal*. Most
    of that weight doesn't go to *street*, though. It goes to [CLS], the special token in front of every
    text. Layer 3, head 2 is the head that gave *tired* the most weight, 71%. It now gives 87% to *wide*."""
)

# %% [markdown]
# Click *it*, then step through the heads. Can you find another head that gives most of its weight to *tired*?

# %% tags=["nbval-ignore-output"]
attention_view(minilm.attend(tired), layer=3, head=1, selected=10)  # counted from 0, as in Python

# %% [markdown]
# We can also sort heads by *how far* they look. For each head, we average the distance between a word and the
# words it attends to, over twenty captions. A head that spread its weight evenly would have an average of 3.5
# words.

# %%
exercises.predict("the_far_layer")

# %% tags=["hide-input"]
distances, even = torch.zeros(6, 12), 0.0
for _, english in CAPTIONS:
    weights, tokens = weights_and_tokens(english)
    among = weights[:, :, 1:-1, 1:-1]  # without [CLS] and [SEP]
    among = among / among.sum(-1, keepdim=True)
    place = torch.arange(among.shape[-1]).float()
    apart = (place[:, None] - place).abs()
    distances += (among * apart).sum(-1).mean(-1) / len(CAPTIONS)
    even += apart.mean().item() / len(CAPTIONS)
nearest = distances.amin(1)  # of each layer
far = [i for i in range(6) if nearest[i] >= 2.5]
exercises.reveal("the_far_layer", measured={0: "first", 3: "fourth", 5: "last"}[far[0]])
axes = plots.signed_heatmap(
    distances - even,
    x_label="head",
    y_label="layer",
    title=f"average distance in words, minus {even:.1f} (orange: nearer)",
)
axes.set_xticks(range(12), range(1, 13))
axes.set_yticks(range(6), range(1, 7))
assert far == [5] and distances.argmin() == 2 and distances.min() < 1.05 and 3.4 < even < 3.6
assert distances[0].max() > 3.3
display(
    notebook.figure(
        axes,
        alt="Layers by heads, coloured by average distance minus that of an even spread. Strongly near heads "
        "are in layers 1 to 3; layer 6 has none; far heads are in all layers.",
        width=520,
    )
)
notebook.tell(
    """The head with the shortest distance is layer 1, head 3, which gives practically all of its weight to the
    *previous word*. Near-sighted heads like this one are all in the first three layers. Far-sighted heads
    are in every layer, so even layer 1 links words across the whole sentence."""
)

# %% [markdown]
# ## 5. Does a head matter? Switch it off
#
# So far we've only looked at maps. To find out what a head contributes to the result, we have to intervene, so
# we silence the head and measure how much worse the model gets.
#
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("silence_head")


# %%
def silence_head(w_o, head, n_heads):
    """w_o (D, D), rows times matrices -> a copy in which this head adds nothing"""
    ...


# %% tags=["hide-input"]
exercises.check("silence_head", silence_head)

# %% [markdown]
# The translator attends in three places: French words to each other (*encoder*), English words to the English
# words so far (*decoder*), and English to French (*cross*), as in lesson 02. With three layers of four heads
# each, that makes 36 heads. The decoder sees the French sentence only through its cross-attention, and here's
# one of those heads. On average, its rows give 84% of their weight to a single token.

# %% tags=["nbval-ignore-output", "hide-input"]
pairs = [
    (tokenizer.encode(french, eos=True), tokenizer.encode(english, bos=True, eos=True))
    for french, english in CAPTIONS
]
whole = evaluate(model, pairs)
change = torch.zeros(len(layers), 4)
for i, (_, layer) in enumerate(layers):
    for head in range(4):
        with heads_off(layer, [head]):
            change[i, head] = evaluate(model, pairs) - whole
attentions = [translator.attend(french) for french, _ in CAPTIONS]
sharpness = torch.cat(
    [
        sum(a.maps[kind][0].amax(-1).mean(-1) for a in attentions) / len(attentions)
        for kind in ("encoder", "decoder", "cross")
    ]
)  # (9 layers, 4 heads): mean of the largest weight of each row
row, head = divmod(
    (sharpness * (change.abs() < 0.006))[6:].argmax().item(), 4
)  # rows 6 to 8: cross
attention_view(attentions[0], tab="cross", layer=row, head=head)

# %% [markdown]
# The map reads like a dictionary. We now measure the loss on twenty captions of our own, once with this head
# and once without it.

# %%
exercises.predict("a_sharp_head")

# %% tags=["nbval-ignore-output", "hide-input"]
moved = change[6 + row, head].item()
size = "nothing" if abs(moved) < 0.01 else "some" if moved < 0.1 * whole else "much"
exercises.reveal("a_sharp_head", measured=size)
print(f"cross {row + 1}, head {head + 1}: the loss changes by {moved:+.3f} nats from {whole:.3f}")
assert abs(sharpness[6 + row, head] - 0.84) < 0.01 and size == "nothing"
notebook.tell(
    """The translator does just as well without this head. So a map is only a *hypothesis* about what a model
    uses, and switching the head off is how to test it."""
)

# %% [markdown]
# Is this head an exception? Let's test all 36 in the same way, one at a time.

# %%
exercises.predict("cheap_heads")

# %% tags=["nbval-ignore-output", "hide-input"]
cheap = (change < 0.1 * whole).sum().item()
exercises.reveal("cheap_heads", measured=cheap)
axes = plots.signed_heatmap(
    change, x_label="head", y_label="layer", title="change in loss, nats (blue: it rises)"
)
axes.set_xticks(range(4), range(1, 5))
axes.set_yticks(range(9), [f"{kind} {i % 3 + 1}" for i, (kind, _) in enumerate(layers)])
assert evaluate(model, pairs) == whole  # every head is on again
assert cheap > 0.7 * 36 and sharpness.argmax() == change.argmax() >= 6 * 4
display(
    notebook.figure(
        axes,
        alt="Change in loss when one head is silent, nine layers by four heads. Most cells are near "
        "zero; the largest changes are in the cross-attention.",
        width=520,
    )
)
notebook.tell(
    """Switched off one at a time, most heads make hardly any difference, and Michel et al. (2019) found the
    same in far larger models. The heads that matter most are in the cross-attention, because the decoder
    sees the French sentence only through it. By the way, some sharp heads do matter: switching off the
    sharpest of all 36 raises the loss most."""
)

# %% [markdown]
# Try it yourself. Each button is a head. Find the smallest set of heads that changes the translation when you
# switch them off. Then switch off the whole cross-attention.

# %% tags=["nbval-ignore-output"]
HeadSwitches(translator, CAPTIONS[:4])

# %% tags=["hide-input", "nbval-ignore-output"]
switches = HeadSwitches(translator, CAPTIONS[:4])
switches.silent = tuple(name for name in switches.names() if name.startswith("cross"))
assert len(set(switches.numbers["translations"])) == 1

# %%
exercises.quiz("what_a_map_shows")

# %% [markdown]
# ### What to take away
#
# - A row of weights asks one question and returns one blend. Several heads ask several questions in the same
#   layer and keep the answers apart.
# - Each head projects the *whole* vector. We split the projections, not the embedding.
# - Split, then transpose; on the way back transpose, then flatten.
# - $W_O$ adds up the heads' contributions, and each contribution can reach every coordinate.
# - Eight narrow heads have as many parameters as one wide head.
# - A map is a hypothesis about what the model uses. Switch the head off to test it.
#
# $$\mathrm{MultiHead}(X) = \mathrm{Concat}(Z_1, …, Z_H)\, W_O, \qquad
# Z_h = \mathrm{Attention}(X W_Q^{(h)}, X W_K^{(h)}, X W_V^{(h)})$$

# %% tags=["nbval-ignore-output"]
model_map(translator.trace("Un chien noir court dans la neige."), here="self-attention", tour="06")

# %% [markdown]
# **Lesson 07** builds the rest of the Transformer around attention: residual connections, normalisation, the
# feed-forward network and the decoder.

# %% [markdown]
# # Practice
#
# About 30 minutes, the easiest first.

# %%
exercises.quiz("parameters_of_heads")

# %%
exercises.quiz("which_root")

# %%
exercises.quiz("order_of_split_and_transpose")

# %% tags=["hide-input"]
exercises.heading("merge_heads")


# %%
def merge_heads(x):
    """(B, H, T, K) -> (B, T, D)"""
    ...


# %% tags=["hide-input"]
exercises.check("merge_heads", merge_heads)

# %% tags=["hide-input"]
exercises.heading("multi_head_attention")


# %%
def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """x (B, T, D), weights (D, D), rows times matrices -> (B, T, D)"""
    ...


# %% tags=["hide-input"]
exercises.check("multi_head_attention", multi_head_attention)

# %% [markdown]
# For comparison, here's the course's own class. It has four matrices, one per projection. (`Linear` is
# `nn.Linear`, only quicker to train on some processors.) It returns the weights only if you ask for them
# with `need_weights`, because lesson 04's fused operator never stores them.

# %%
notebook.show_source(MultiHeadAttention)

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("is_attention_explanation")

# %%
exercises.quiz("how_many_heads")

# %% [markdown]
# # Going deeper
#
# Optional, about half an hour. Nothing later depends on it.
#
# ## The same with `einsum`
#
# `einsum` needs one letter per dimension: b for the batch, t for the queries' words, s for the keys' words, d
# for $D$, h for the heads, k for $K$. It sums over every letter that is missing after the arrow, and no
# transpose is needed.

# %%
q, k, v = (torch.einsum("btd,dhk->bhtk", x, w.unflatten(1, (H, K))) for w in (w_q, w_k, w_v))
a = (torch.einsum("bhtk,bhsk->bhts", q, k) / math.sqrt(K)).softmax(-1)
einsum_output = torch.einsum("bhts,bhsk,hkd->btd", a, v, w_o.unflatten(0, (H, K)))
print(torch.allclose(einsum_output, by_list, atol=1e-4))

# %% [markdown]
# ## Subspaces
#
# Each of MiniLM's heads writes into 32 of 384 dimensions. How much do the subspaces of two heads in a layer
# overlap? We take a random vector from one subspace and measure how much of its squared length lies in the
# other. Two random subspaces would share $K/D$, which is 8%.

# %% tags=["hide-input"]
overlaps = []
for layer in minilm.model.layers:
    rows = layer.self_attention.out_proj.weight.detach().T.unflatten(0, (12, 32))  # (H, K, D)
    basis = torch.linalg.qr(rows.mT)[0]  # (H, D, K): an orthonormal basis of each head's subspace
    shared = torch.einsum("gdk,hdl->ghkl", basis, basis).square().sum((-2, -1)) / 32  # (H, H)
    overlaps.append((shared.sum() - shared.trace()) / (12 * 11))
print("mean overlap, layer by layer:", ", ".join(f"{o:.0%}" for o in overlaps))
assert max(overlaps) < 0.25 and min(overlaps) > 0.05

# %% [markdown]
# In every layer the overlap is far below 100%, and at most two and a half times the 8% of random subspaces.
# So the subspaces aren't at right angles, but most of what one head adds stays out of the other heads' way.
#
# ## Antecedents, counted
#
# The noun that a pronoun refers to is called its **antecedent**. One pair of sentences proves little, so we
# make 288 sentences of the same form, with other animals, places and reasons. The reason decides which noun is
# meant, because an animal can be *hungry* and a road can't. For each head we count how often *it* gives more
# weight to the right noun than to the wrong one. By chance, that would be half the time.

# %%
animals = ["animal", "dog", "cat", "horse", "bird", "child"]
places = ["street", "river", "bridge", "road", "field", "garden"]
reasons = {"tired": 0, "hungry": 0, "scared": 0, "sleepy": 0}  # 0: the animal is meant
reasons |= {"wide": 1, "long": 1, "narrow": 1, "flooded": 1}  # 1: the place


# %% tags=["hide-input"]
def antecedents(reasons):
    """How often each head is right, by reason; and its weight on both nouns together."""
    right, on_both = {}, []
    for reason, meant in reasons.items():
        nouns = list(itertools.product(animals, places))
        texts = [f"The {a} didn't cross the {p} because it was too {reason}." for a, p in nouns]
        weights = minilm.model.attention_maps(minilm.encode(texts))  # (36, layers, heads, T, T)
        tokens = [minilm.tokens(text) for text in texts]
        to_animal, to_place = (
            torch.stack([
                w[:, :, t.index("it"), t.index(pair[i])]
                for w, t, pair in zip(weights, tokens, nouns, strict=True)
            ])
            for i in (0, 1)
        )  # fmt: skip
        right[reason] = ((to_place > to_animal) == bool(meant)).float().mean(0)
        on_both.append((to_animal + to_place).mean(0))
    return right, torch.stack(on_both).mean(0)  # (layers, heads) each


by_reason, both_nouns = antecedents(reasons)
by_kind = [
    torch.stack([by_reason[r] for r, m in reasons.items() if m == meant]).mean(0)
    for meant in (0, 1)
]
accuracy = (by_kind[0] + by_kind[1]) / 2  # both kinds are equally many
print("                   right   animal meant   place meant   weight on the two nouns")
for index in accuracy.flatten().topk(5).indices.tolist():
    place = divmod(index, 12)
    print(f"{in_words(index):>17}: {accuracy[place]:5.0%} {by_kind[0][place]:14.0%}"
          f" {by_kind[1][place]:13.0%} {both_nouns[place]:25.1%}")  # fmt: skip
best = divmod(accuracy.argmax().item(), 12)
assert accuracy[best] > 0.9 and both_nouns[best] < 0.05
assert accuracy[animal_head] < 0.75 and both_nouns[animal_head] > 0.5

# %% [markdown]
# The head that comes first in this list isn't the one that looked best on the first pair. But the last column
# shows that this head gives hardly any weight to either noun, so the right noun wins by very little. Layer 4,
# head 2, which we met in section 4, gives most of its weight to the two nouns and is right less often. So our
# score tells us which noun gets more weight, but not whether the model makes any use of that weight.
#
# We also have to be careful because we picked the best of 72 heads. So let's test that head on eight other
# reasons: *thirsty, lazy, sick, shy* for the animal, and *icy, steep, crowded, slippery* for the place.

# %%
exercises.predict("other_reasons")

# %% tags=["hide-input"]
others = {"thirsty": 0, "lazy": 0, "sick": 0, "shy": 0}
others |= {"icy": 1, "steep": 1, "crowded": 1, "slippery": 1}
again_by_reason, _ = antecedents(others)
again = sum(again_by_reason.values()) / len(others)
drop = (accuracy[best] - again[best]).item()
exercises.reveal(
    "other_reasons",
    measured="same" if drop < 0.02 else "falls" if again[best] > 0.55 else "chance",
)
print(f"the best head: {accuracy[best]:.0%} on the first reasons, {again[best]:.0%} on the others")
print("by reason:", ", ".join(f"{r} {right[best]:.0%}" for r, right in again_by_reason.items()))
assert 0.6 < again[best] < accuracy[best] - 0.1 and again[best] == again.max()
assert again_by_reason["lazy"][best] < 0.5 and again_by_reason["icy"][best] < 0.5
notebook.tell(
    """Overall the head is still better than chance, but with *lazy* and *icy* it's right less than half the
    time. If you choose a head on some data, you have to test it on other data."""
)

# %% [markdown]
# ## Is there a head for gender?
#
# In lesson 01's toy corpus we know the antecedent of every pronoun, and the French pronouns show the gender:
# a *vache* is *elle* and a *chien* is *il*. Does the toy translator have a head in which *il* or *elle*
# attends to its noun? And if we swap the two pronouns in a sentence, does the weight move?

# %% tags=["hide-input"]
from helpers.transformer.attention import recorded_weights
from helpers.pretrained.toy_models import load_toy, toy_data

toy = load_toy("transformer")
swapped = {"il": "elle", "elle": "il"}


def toy_maps(sentences):
    """The encoder's weights, (sentences, layers, heads, S, S)."""
    ids = torch.tensor([toy.source.encode(words, eos=True) for words in sentences])
    with torch.inference_mode(), recorded_weights(toy.model) as maps:
        toy.model.encode(ids)
    return torch.stack(maps, dim=1)


found, moved, total, by_chance = torch.zeros(2, 4), torch.zeros(2, 4), 0, 0.0
for pair in toy_data().test[:600]:
    nouns = [i for side, i in pair.nouns if side == "source"]
    for side, pronoun, noun in pair.antecedents:
        if side == "source":
            other = list(pair.source)
            other[pronoun] = swapped[other[pronoun]]
            row, other_row = toy_maps([pair.source, other])[:, :, :, pronoun]
            found += row[..., nouns].argmax(-1) == nouns.index(noun)
            moved += (row - other_row)[..., noun]
            total, by_chance = total + 1, by_chance + 1 / len(nouns)
print(f"{total} pronouns; a noun picked at random is right in {by_chance / total:.0%}")
print(f"the best of the 8 encoder heads: {(found / total).max():.0%}")
print(f"weight that moves when il and elle are swapped: at most {(moved / total).abs().max():.1%}")
assert (moved / total).abs().max() < 0.01 and (found / total).max() < 0.65

# %% [markdown]
# One head picks the right noun in half of the cases. But it doesn't use gender, because swapping *il* and
# *elle* moves almost no weight. Why should it? Both pronouns become *it* in English, so the gender never
# affects this translator's loss.
#
# ## Jobs that can be scored
#
# Three simple jobs can be scored on any text: attending to the **previous** word, to the **next** word, or to
# a **special token**, [CLS] or [SEP]. Clark et al. (2019) suggest that a head gives its weight to a special
# token when it has nothing else to attend to.

# %% tags=["hide-input"]
jobs = {name: torch.zeros(6, 12) for name in ("previous word", "next word", "special tokens")}
texts = [
    tired,
    "A young woman reads a book in the garden of her old house.",
    "When the rain stopped, the children ran out to play football again.",
]
for text in texts:
    weights, tokens = weights_and_tokens(text)
    jobs["previous word"] += weights.diagonal(-1, 2, 3).mean(-1) / len(texts)
    jobs["next word"] += weights.diagonal(1, 2, 3).mean(-1) / len(texts)
    jobs["special tokens"] += weights[:, :, 1:-1, [0, -1]].sum(-1).mean(-1) / len(texts)
for job, score in jobs.items():
    print(f"{job:>14}: {in_words(score.argmax().item())} gives it {score.max():.0%} of its weight")
itself = sum(weights_and_tokens(t)[0].diagonal(0, 2, 3)[..., 1:-1].mean() for t in texts) / 3
print(f"{'the word itself':>14}: {itself:.0%}, averaged over all 72 heads")
assert jobs["previous word"].max() > 0.9 and itself < 0.1

# %% [markdown]
# The last line confirms a claim from lesson 03: in a trained model, a word gives only a small share of its weight to itself.
#
# ## Eighteen heads at once

# %%
exercises.predict("eighteen_heads")

# %% tags=["nbval-ignore-output", "hide-input"]
cheapest = change.flatten().argsort()[:18].tolist()
with ExitStack() as stack:
    for i, (_, layer) in enumerate(layers):
        stack.enter_context(heads_off(layer, [n % 4 for n in cheapest if n // 4 == i]))
    together = evaluate(model, pairs) - whole
exercises.reveal(
    "eighteen_heads",
    measured="much" if together > 0.5 * whole else "little" if together > 0.01 else "nothing",
)
singles = change.flatten()[cheapest]
print(f"most expensive of them alone: {singles.max():+.3f}   the 18 changes added up: "
      f"{singles.sum():+.3f}   all 18 together: {together:+.3f}")  # fmt: skip
assert singles.max() < 0.01 and singles.sum() < 0 and together > 0.5 * whole
ranks = torch.stack([sharpness[6:].flatten(), change[6:].flatten()]).argsort(-1).argsort(-1)
rank_correlation = torch.corrcoef(ranks.float())[0, 1]
print(f"rank correlation of sharpness and loss, 12 cross heads: {rank_correlation:+.2f}")
assert 0.3 < rank_correlation < 0.8
notebook.tell(
    """All eighteen together make a difference, because as long as only one head is silent, others can do its
    work. The last line ranks the 12 cross-attention heads twice: by how sharp they are, and by how much the
    loss rises without them. The rank correlation is 1 when both rankings agree and 0 when they are
    unrelated. So a sharp map is a hint that a head matters, but the head in section 5 shows that it's no
    proof."""
)

# %% [markdown]
# Whole layers of cross-attention can stand in for one another in the same way:

# %% tags=["nbval-ignore-output", "hide-input"]
print("      whole:", translator.translate(CAPTIONS[0][0]))
for silent in ([1], [2], [3], [1, 2], [1, 3], [2, 3]):
    with ExitStack() as stack:
        for number in silent:
            cross = model.decoder_layers[number - 1].cross_attention
            stack.enter_context(heads_off(cross, range(4)))
        print(f"without {silent}:", translator.translate(CAPTIONS[0][0]))

# %% [markdown]
# The translator copes when any one layer of cross-attention is switched off. When layers 2 and 3 are both
# off, almost nothing of the French sentence reaches the decoder, so the decoder writes some other
# caption instead.
#
# **To try**: silence heads *greedily*, always choosing the head whose absence raises the loss least, and plot
# the loss against the number of silent heads. Voita et al. (2019) learn which ones to prune.
#
# ## Is attention explanation?
#
# Two papers are often quoted on this question: "Attention is not Explanation" (Jain and Wallace 2019) and
# "Attention is not not Explanation" (Wiegreffe and Pinter 2019). Both studied *recurrent* encoders (mostly
# BiLSTMs) with a single attention layer on top, mainly as text classifiers. The first found other weights
# that give nearly the same prediction. The second answered that such weights only count as a rival
# explanation if a whole model can learn them. Neither paper is about the heads of a Transformer, so cite them
# for their method, not for a result about BERT.
#
# ## Fewer keys and values
#
# When a model writes a long text, it keeps the keys and values of all words so far. To save memory,
# **multi-query** attention shares one key and one value between all heads, and **grouped-query** attention
# shares them within each group of heads. Every head still has its own query.

# %%
for name, kv_heads in [("multi-head", 8), ("grouped-query", 2), ("multi-query", 1)]:
    print(f"{name:>13}: {2 * kv_heads * 64:>5} numbers to keep per word and layer")

# %% [markdown]
# ## Myth or fact?
#
# **"Each head sees its own slice of the embedding."** A myth. Each head has a slice of the *projection
# matrix*, and that slice is applied to the whole vector. If you change any component of the input, every
# head's query changes.

# %%
layer = MultiHeadAttention(8, 2)
jacobian = torch.autograd.functional.jacobian(
    lambda v: layer.project_query(v[None, None])[0, :, 0], torch.randn(8)
)
print("queries of the first head by input components:", tuple(jacobian[0].shape))
print(f"smallest derivative: {jacobian.abs().min():.4f}, so none is zero")

# %% tags=["hide-input"]
assert (jacobian.abs() > 0).all()

# %% [markdown]
# **"$W_O$ is 512 × 64, so the output has width 64."** A myth. The heads' results side by side have width $8 ×
# 64 = 512$ again, so $W_O$ is 512 × 512. It's the per-head $W_Q$, $W_K$ and $W_V$ that are 512 × 64.
#
# **"Heads are concatenated, and that's all."** A myth. $W_O$ comes after the concatenation, as section 3
# shows.
#
# **"More heads, more parameters."** A myth. Section 2 counts them.
#
# **"An attention map explains the prediction."** Not by itself. Section 5 shows a sharp map that hardly
# matters.
#
# **References**
#
# - The animal and the street: Uszkoreit (2017), "Transformer: A Novel Neural Network Architecture for
#   Language Understanding", Google Research blog, after Winograd's pairs of sentences.
# - Mary, Susan and the roses follow an example in Peter Bloem's "Transformers from scratch" (2019).
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.2. The diagram in
#   section 2 follows one in Alammar (2018), "The Illustrated Transformer".
# - Clark, Khandelwal, Levy, Manning (2019), "What Does BERT Look At?", arXiv:1906.04341.
# - Michel, Levy, Neubig (2019), "Are Sixteen Heads Really Better than One?", arXiv:1905.10650.
# - Voita, Talbot, Moiseev, Sennrich, Titov (2019), "Analyzing Multi-Head Self-Attention",
#   arXiv:1905.09418.
# - Jain, Wallace (2019), "Attention is not Explanation", arXiv:1902.10186; Wiegreffe, Pinter (2019),
#   "Attention is not not Explanation", arXiv:1908.04626.
# - Shazeer (2019), "Fast Transformer Decoding", arXiv:1911.02150; Ainslie et al. (2023), "GQA",
#   arXiv:2305.13245.
# - Wang et al. (2020), "MiniLM", arXiv:2002.10957.
