# %% [markdown]
# # Look inside
#
# *The capital of France is* **Berlin**.
#
# SmolLM knows better. Left alone, it ends this sentence with *Paris*. This time we interfered while it was reading, and
# changed 64 numbers, the output of one of its 270 heads at the last word. In their place, we gave the model what the
# same head outputs in the sentence about Germany.
#
# An attention map shows where the weight went, but not whether that mattered. To find out, you have to change something
# and watch the answer. Today you'll find this head yourself, and then you'll ask what your discovery proves.
#
# This lesson follows lesson 19. You also need heads (lesson 06) and the induction score from lesson 14's *Going
# deeper*. If you skipped that exercise, the lesson uses the course's own version.

# %% tags=["hide-input"]
import copy
import random
import statistics
from contextlib import nullcontext
from functools import partial

import torch
import torch.nn.functional as F
from matplotlib import pyplot

from helpers import exercises, plots
from helpers.models.interventions import (
    heads_kept,
    heads_patched,
    heads_replaced,
    keys_hidden,
    read_out,
    residual_stream,
    run_on,
)
from helpers.models.score_parts import split_scores, weights_without
from helpers.pretrained.measured import LiveOrStored, measured
from helpers.pretrained.smollm import load_smollm
from helpers.pretrained.translator import load_translator
from helpers.transformer.attention import scaled_dot_product_attention
from helpers.transformer.masks import causal_mask
from helpers.widgets.patching import PatchingGrid

live = LiveOrStored("look_inside", load_smollm)  # live(name, measure): measured now, or stored
smol = live.model
model = smol and smol.model

# %% [markdown] tags=["notes"]
# **45 minutes.** Hook and warm-up 5 · 1 who copies 9 · 2 the first token 5 · 3 the lens 9 · 4 patching 12 · 5 why did
# it look there 3 · summary 2. Section 3 begins at minute 19. Maps and silenced heads come from lesson 06, and the
# induction score from lesson 14.
#
# **Say first**: today nothing is trained. Every experiment can be put into a sentence of the form "if I change this
# and nothing else, that happens". Each one comes with a control, in which something else is changed.
#
# **Show**: the widget of section 4 on the projector. Let the class call out cells before you press them.
#
# **Ask**
#
# - After section 1: "What would you say if eight random heads had done the same damage?" (That heads matter, not that
#   these copy.)
# - After section 2: "When we hid the first token from all others, why did that hardly matter?" (The second one took
#   its place.)
# - After section 4: "Head 4 of layer 23 knows capitals. True?" (It carries what was already in the country's vector.
#   With it silenced, eight of ten answers are still right in one of the three sentences.)
#
# **Mistakes to expect**: the lens without the model's last norm, a patch after the layer, zero instead of the mean.
#
# **If you're running late** at minute 40, leave out section 5. It uses another model and nothing depends on it.
#
# The page runs with stored figures where SmolLM isn't installed.

# %% tags=["hide-input"]
CAPITALS = dict(
    France="Paris", Germany="Berlin", Italy="Rome", Japan="Tokyo", Spain="Madrid", Russia="Moscow",
    China="Beijing", Greece="Athens", Austria="Vienna", Portugal="Lisbon",
)  # fmt: skip
OTHERS = dict(  # kept for a test in section 4
    Norway="Oslo", Sweden="Stockholm", Hungary="Budapest", Ireland="Dublin", Kenya="Nairobi",
    Cuba="Havana", Denmark="Copenhagen", Chile="Santiago", Bulgaria="Sofia", Scotland="Edinburgh",
)  # fmt: skip


def about(countries, form="The capital of {} is"):
    """One sentence per country, (countries, T)."""
    return torch.stack([smol.encode(form.format(country)) for country in countries])


def first_token(asked, ends=CAPITALS | OTHERS):
    return smol.encode(" " + ends[asked])[0].item()


def hook():
    """Replace what head 4 of layer 23 outputs at the last word."""
    ids = about(["France", "Germany"])
    with heads_kept(model) as outputs, torch.no_grad():
        model(ids)
    exchanged = outputs[23][0, 4].clone()
    exchanged[-1] = outputs[23][1, 4, -1]  # 64 numbers
    with heads_replaced(model, {(23, 4): exchanged}):
        changed = smol.next_tokens("The capital of France is", 1)[0]
    return [smol.next_tokens("The capital of France is", 1)[0], changed]


for who, (word, probability) in zip(("left alone", "64 numbers replaced"), live("hook", hook)):
    print(f"{who:>20}: The capital of France is{word} ({probability:.0%})")

# %% [markdown] warm_up=20
# ## 1. Who copies?
#
# Take 25 random tokens and write them down twice in a row. Nobody could predict the first copy, but a model that looks
# back could recite the second.


# %%
def twice(seed, n=25, texts=2):
    """Random tokens and then the same ones again, (texts, 2 n)."""
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(200, 49_000, (texts, n), generator=draw)
    return torch.cat([tokens, tokens], dim=1)


def loss_of_copies(ids):
    """Nats per token in the first copy and in the second."""
    with torch.no_grad():
        nats = F.cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:], reduction="none")
    n = ids.shape[1] // 2
    return nats[:, : n - 1].mean(), nats[:, n:].mean()


# %% tags=["nbval-ignore-output"]
first, second = live("copies", lambda: loss_of_copies(twice(seed=0)))
print(f"{first:.1f} nats per token in the first copy, {second:.1f} in the second")
print(f"guessing at random: {torch.tensor(49_152).log():.1f}")

# %% [markdown]
# The first copy costs even more than guessing would, because SmolLM expects English and not random tokens. The second
# copy costs far less, which means that SmolLM looks back. Only attention can do that, so let's find the heads that do
# it. An **induction head** attends from a token to whatever came *after* the earlier copy of it, because the same token
# should come next. The head's induction score (lesson 14, *Going deeper*) is the weight that it puts there. We compute
# the score for all 270 heads of SmolLM.


# %%
def induction_scores(seed, n=25):
    maps = model.attention_maps(twice(seed))  # (texts, 30, 9, 2 n, 2 n)
    score = exercises.mine("induction_score")
    return torch.stack([torch.stack([score(layer, n) for layer in text]) for text in maps]).mean(0)


scores = torch.tensor(live("scores", lambda: induction_scores(seed=0)))  # (30, 9)
copiers = [divmod(i, 9) for i in scores.flatten().topk(8).indices.tolist()]  # (layer, head)

# %% tags=["hide-input", "nbval-ignore-output"]
figure, axes = pyplot.subplots(figsize=(8.4, 3.2))
image = axes.imshow(scores.T, cmap=plots.WEIGHTS, vmin=0, vmax=1, aspect="auto")
for layer, head in copiers:
    axes.plot(layer, head, "o", mfc="none", mec=plots.ORANGE, mew=2, ms=13)
axes.set(xlabel="layer", ylabel="head", yticks=range(9), xticks=range(0, 30, 5))
figure.colorbar(image, label="induction score")
notebook.show(
    axes,
    alt="Induction scores of 270 heads as a map of layers by heads. Eight heads between layers 17 and 23 are "
    "circled; a few others beside them are pale, and nearly all are close to zero.",
    width=680,
)
print("the eight highest:", ", ".join(f"{layer}.{head}" for layer, head in copiers))
print(exercises.whose("induction_score", did="scored"))

# %% [markdown]
# Layers and heads are counted from 0, so 18.6 means head 6 of layer 18. We keep the eight highest, all of them in
# layers 17 to 23. But so far we've only looked. A head could attend to the right place and still write nothing that
# later layers use. To test whether its output matters, we take the output away.
#
# ### Your turn (3 min)
#
# In lesson 06, a silenced head produced zeros. But a head's output may never have been near zero in training, in which
# case zeros are something that later layers have never had to read. It's gentler to replace a head's output with its
# average.


# %% tags=["exercise"] predict="without_eight_heads"
def mean_ablate(outputs, head):
    """(B, T, H, K) -> (B, T, H, K)"""
    changed = outputs.clone()
    changed[:, :, head] = ...  # ← fill the gap
    return changed


# %%
mean_ablate = exercises.mine("mean_ablate")


def copies_without(heads, silence=mean_ablate):
    """Loss of the second copy in fresh texts, with some heads silenced."""
    with heads_replaced(model, dict.fromkeys(heads, silence)):
        return [loss_of_copies(twice(seed))[1] for seed in (10, 11)]


# %% tags=["hide-input", "nbval-ignore-output"]
def as_many_others(seed):
    """Eight heads of layers 17 to 24 that don't copy."""
    others = [(i, h) for i in range(17, 25) for h in range(9) if (i, h) not in copiers]
    return random.Random(seed).sample(others, 8)


copying = live(
    "silenced",
    lambda: {
        "all heads": copies_without([]),
        "8 others": [x for seed in range(3) for x in copies_without(as_many_others(seed))],
        "8 copiers": copies_without(copiers),
        "8 copiers, zero": copies_without(copiers, 0.0),
    },
)
mean = {name: statistics.mean(values) for name, values in copying.items()}
exercises.reveal(
    "without_eight_heads",
    measured="four" if mean["8 copiers"] < 5 else "seven" if mean["8 copiers"] < 9 else "eleven",
)
_, axes = pyplot.subplots(figsize=(7, 2.8))
for i, (name, colour) in enumerate(
    [("all heads", plots.GREY), ("8 others", plots.BLUE), ("8 copiers", plots.ORANGE)]
):
    axes.barh(i, mean[name], color=plots.tint(colour, 0.35))
    axes.plot(copying[name], [i] * len(copying[name]), "o", color=colour, alpha=0.7)
    axes.text(max(copying[name]) + 0.3, i, f"{mean[name]:.1f}", va="center")
axes.set_yticks(range(3), ["nothing silenced", "8 other heads silenced", "8 copiers silenced"])
axes.set(xlabel="nats per token in the second copy", xlim=(0, 15))
axes.invert_yaxis()
notebook.show(
    axes,
    alt="Loss of the second copy: about 3 nats with nothing silenced, about 4 with eight other heads "
    "silenced, about 11 with the eight copiers silenced. Dots are single measurements.",
    width=620,
)
notebook.tell(
    f"""Without eight of its 270 heads, SmolLM can hardly recite random tokens. The loss of the second copy rises from
    {mean["all heads"]:.1f} to {mean["8 copiers"]:.1f} nats per token, or to {mean["8 copiers, zero"]:.1f} if we
    use zero in place of the mean. By itself, that might only show that breaking a model makes it worse. The
    control says otherwise. With eight other heads of layers 17 to 24 silenced, in three different draws, the loss
    is only {mean["8 others"]:.1f}."""
)
assert mean["8 copiers"] > mean["all heads"] + 6 and max(copying["8 others"]) < 6

# %% [markdown]
# ## 2. Why do so many heads look at the first word?
#
# In lesson 19 you saw many heads that attend to the first token, whatever it is. How much of the total weight goes
# there? We take a few lines of ordinary English about the moon.

# %% tags=["hide-input"]
TEXTS = [
    "The moon is about 384,000 kilometres away from the Earth. It takes the light a little more than one second to "
    "travel that far, and it took the first astronauts three days. They landed on the moon in July 1969.",
    "Tea is made from the leaves of a plant that grows in Asia. The leaves are dried, and hot water draws out their "
    "taste. In Britain, people drink it with milk, and in Morocco with mint.",
    "My grandmother kept bees behind her house. Every summer she put on a white coat, lit a small fire in a tin can "
    "and took the honey out of the boxes. She was stung only twice in forty years.",
]

# %% tags=["nbval-ignore-output"]


def weight_on_first(text):
    """Weight that tokens from the tenth on give to the first, (30,), mean over heads."""
    return model.attention_maps(smol.encode(text)[None])[0, :, :, 10:, 0].mean((1, 2))


first = torch.tensor(live("first", lambda: weight_on_first(TEXTS[0])))
print(f"the first token has {first.mean():.0%} of all weight,")
print(f"and {first.max():.0%} in layer {first.argmax()}")

# %% [markdown] predict="the_first_token_hidden"
# A token with this much weight ought to be important. To see how important, we hide it from all other tokens, in every
# head of every layer. Then we measure the loss from the tenth token on, in this text and in two more.


# %%
def loss_from_10(text, queries=None, key=0):
    """Nats per token from position 10 on, with one key hidden from some queries."""
    ids = smol.encode(text)[None]
    hidden = nullcontext() if queries is None else keys_hidden(model, queries, key)
    with hidden, torch.no_grad():
        return F.cross_entropy(model(ids)[0, 10:-1], ids[0, 11:])


# %% tags=["hide-input", "nbval-ignore-output"]
def hidden_from(start, key=0):
    return [loss_from_10(text, slice(start, None), key) for text in TEXTS]


def size_of_values():
    """Length of the first token's values as a share of the others', from layer 12 on, median."""
    stream, shares = residual_stream(model, smol.encode(TEXTS[0])[None]), []
    for block, x in list(zip(model.layers, stream))[12:]:
        h = block.residual_1.norm(x)
        lengths = block.self_attention.project_key_value(h, h)[1][0].norm(dim=-1).mean(0)  # (T,)
        shares.append((lengths[0] / lengths[1:].mean()).item())
    return statistics.median(shares)


def where_it_went(text):
    """Weight that tokens from the tenth on give to the first three, before and after."""
    ids = smol.encode(text)[None]
    before = model.attention_maps(ids)[0, :, :, 10:, :3].mean((0, 1, 2))
    with keys_hidden(model, slice(1, None), 0):
        return before, model.attention_maps(ids)[0, :, :, 10:, :3].mean((0, 1, 2))


sink = live(
    "sink",
    lambda: {
        "whole": [loss_from_10(text) for text in TEXTS],
        "from the second token on": hidden_from(1),
        "from the tenth on": hidden_from(10),
        "another, from the tenth on": [x for key in (1, 2, 5) for x in hidden_from(10, key)],
        "weights": [where_it_went(text) for text in TEXTS],
        "values": size_of_values(),
    },
)
whole = statistics.mean(sink["whole"])
rise = {
    k: statistics.mean(v) - whole
    for k, v in sink.items()
    if k not in ("whole", "weights", "values")
}
early, late = rise["from the second token on"], rise["from the tenth on"]
exercises.reveal(
    "the_first_token_hidden",
    measured="much" if early > 1 else "hardly" if early < 0.4 else "some",
)
(before, _, _), (_, after, _) = sink["weights"][0]
elsewhere = [now[1] for _, now in sink["weights"][1:]]
print(f"loss {whole:.2f}, with the first token hidden {whole + early:.2f}")
print(f"weight on the first token before: {before:.0%}; on the second one now: {after:.0%}")
notebook.tell(
    f"""Almost nothing happens, because the second token takes over. In the text about the moon, {after:.0%} of all
    weight now goes to it, and in the other two texts {min(elsewhere):.0%} and {max(elsewhere):.0%}."""
)
assert early < 0.5 and min(after, *elsewhere) > 0.25

# %% [markdown]
# Hiding the first token only passed its role on to the second. To keep any other token from stepping in, we let the
# next few tokens see the first one as usual, and hide it only from the tenth token on. As a control, we hide the
# second, third or sixth token in the same way.

# %% tags=["hide-input", "nbval-ignore-output"]
other = rise["another, from the tenth on"]
print(f"first token hidden from the tenth on:   {late:+.2f} nats per token")
print(f"another token hidden from the tenth on: {other:+.2f}")
notebook.tell(
    f"""Now the model breaks. Its loss rises by {late:.1f} nats per token. The reason is that a head's weights sum to
    1, so a head that finds nothing to attend to still has to put its weight somewhere. Here it goes to the first
    token, which is called an **attention sink** (Xiao et al. 2023). From layer 12 on, the sink's values are only
    {sink["values"]:.0%} as long as those of other tokens, so attending to it adds little. Without the sink, an
    idle head puts its weight on other tokens and adds their values, whether they're of use or not. That's why
    methods that discard old keys keep the first few."""
)
assert late > 1 > 0.3 > abs(other) and sink["values"] < 0.4

# %% [markdown]
# ## 3. When does it know?
#
# Let's return to France. At the last word, *is*, 30 layers add something to the residual stream, one after the other.
# By which layer is the answer settled? After any layer, we can take the unfinished vector out of the stream and send it
# straight through the model's last two steps, the final norm and the output layer. That shows what the model would say
# if it ended there. This is called the **logit lens**.
#
# ### Your turn (3 min)


# %% tags=["exercise"] predict="when_it_knows"
def lens(stream, gain, embedding):
    """(L, D), (D,), (V, D) -> (L, V)"""
    ...


# %%
lens = exercises.mine("lens")


def ranks_by_layer(country, read=lens):
    """How many tokens come before the capital, after each layer."""
    stream = residual_stream(model, about([country]))[:, 0, -1]  # (31, 576), at "is"
    logits = read(stream, model.norm.weight, model.embedding.weight)
    return (logits > logits[:, [first_token(country)]]).sum(-1)


# %% tags=["hide-input", "nbval-ignore-output"]
SIX = ["France", "Germany", "Japan", "Spain", "Greece", "Austria"]
ranks = live("lens", lambda: {country: ranks_by_layer(country) for country in SIX})
bare = live("bare lens", lambda: ranks_by_layer("France", lambda x, gain, e: x @ e.T))
known = {country: max(i for i, r in enumerate(row) if r > 0) + 1 for country, row in ranks.items()}
middle = statistics.median(known.values())
exercises.reveal(
    "when_it_knows", measured="ten" if middle < 15 else "twenty" if middle < 25 else "end"
)
_, axes = pyplot.subplots(figsize=(7.4, 3.6))
for i, row in enumerate(ranks.values()):
    label = None if i else "six capitals"
    axes.plot([r + 1 for r in row], color=plots.PURPLE, alpha=0.45, label=label)
axes.plot([r + 1 for r in bare], color=plots.GREY, linestyle="--", label="France, without the norm")
axes.set(yscale="log", xlabel="layers run so far", ylabel="rank of the capital")
axes.set_yticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
axes.invert_yaxis()
axes.legend(frameon=False, loc="upper left")
notebook.show(
    axes,
    alt="Rank of the capital among 49,152 tokens by layer, six countries. Up to layer 23 it stays in the "
    "thousands or tens of thousands, and it climbs to first place in the last layers. Without the norm, France's "
    "stays far down.",
    width=640,
)
notebook.tell(
    f"""For 23 layers, thousands of tokens rank above the capital, and in most of the six sentences more than ten
    thousand at a typical layer. Then the capital climbs, but in all six it reaches first place only after the last
    layer. The dashed line shows France without the final norm. It still ends at rank {bare[-1] + 1:,}, although the
    model says *Paris*, so leaving out the norm gives a wrong picture.

    Does the model not know the answer in the first 23 layers, or does it keep the answer somewhere else? The lens
    can't tell, because it reads a single position, and reads it as the output layer would."""
)
assert min(known.values()) == 30 and min(min(row[:24]) for row in ranks.values()) > 1000
assert sum(statistics.median(row[:24]) > 10_000 for row in ranks.values()) > 3  # of six

# %% [markdown]
# ## 4. Where is Paris until then?
#
# To search the other positions as well, we transplant a vector from one run into another. The model reads "The capital
# of France is" in the first run and "The capital of Germany is" in the second. Just before some layer, we stop the
# second run, replace the vector at one position with the one from the first run, and let the model continue. If it then
# says *Paris*, this one vector carried what distinguishes the two sentences. Replacing a vector in this way is called
# **patching**.
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def patch(layers, x, source, layer, position):
    """Run x (T, D) through all layers, with x[position] taken from source[layer] -> (T, D)"""
    ...


# %%
patch = exercises.mine("patch")


def says(layer, position):
    """What SmolLM says about Germany with one vector of France."""
    layers = [lambda x, b=block: b(x[None], causal_mask(len(x)))[0] for block in model.layers]
    france, germany = residual_stream(model, about(["France", "Germany"])).unbind(1)
    with torch.no_grad():
        x = patch(layers, germany[0], france, layer, position)
    return smol.decode([read_out(model, x[-1]).argmax()])


# %% tags=["nbval-ignore-output"]
places = [(10, 3, "France"), (20, 3, "France"), (26, 3, "France"), (20, 4, "is"), (26, 4, "is")]
said = live("patched", lambda: [says(layer, position) for layer, position, _ in places])
for (layer, _, word), answer in zip(places, said):
    print(f"“{word}” patched before layer {layer}: The capital of Germany is{answer}")
print(exercises.whose("patch", did="patched"))

# %% [markdown]
# The country's vector decides the answer when we replace it before layer 10 or 20. That doesn't mean that it holds
# *Paris*, because early on it may hold no more than the country's name. When we patch before layer 26, it's the vector
# at *is* that decides.
#
# Click on cells to find out at which layer *is* takes over from the country. The menus also offer sentences about who
# is given a drink, and about which verb follows *the keys*. With SmolLM installed, `PatchingGrid(smol, own=(…, …))`
# takes two sentences of your own with the same number of tokens.

# %% tags=["nbval-ignore-output"]
PatchingGrid(smol)

# %% [markdown]
# Somewhere in between, the difference moves from the country to the last word. Only attention moves anything between
# positions, so some heads must carry it. To find them, we patch the output of each of the 270 heads at the last word,
# one head at a time. Each time we measure Paris's lead over Berlin in logits. If the head carries none of the
# difference between the sentences, the lead stays as it was. If it carries all of it, the lead becomes as large as in
# the sentence about France.


# %% tags=["hide-input", "nbval-ignore-output"]
table = measured("capital_heads")  # stored: python -m recipes.patching_grids heads
PAIRS = [("France", "Germany"), ("Italy", "Japan"), ("Spain", "Greece"), ("Russia", "China")]
share = torch.tensor(table["patched"])  # (30, 9), mean of the four pairs
carrier = divmod(share.argmax().item(), 9)  # (layer, head)
drawn = [divmod(i, 9) for i in random.Random(1).sample(range(270), 4)]


def carried_by(heads, pairs=PAIRS, ends=CAPITALS | OTHERS, form="The capital of {} is"):
    """Share of the difference that each head carries alone, measured now, (heads, pairs)."""
    answers, rivals = (torch.tensor([first_token(x, ends) for x in side]) for side in zip(*pairs))
    each = torch.arange(len(pairs))
    return heads_patched(
        model,
        *(about(side, form) for side in zip(*pairs)),
        lambda logits: logits[each, answers] - logits[each, rivals],
        heads,
    )


def head_table(values, label, alt):
    """Draw one number per head, layers from left to right."""
    _, axes = pyplot.subplots(figsize=(8.4, 2.9))
    plots.signed_heatmap(values.T, axes, x_label="layer", y_label="head", title=label)
    axes.set_yticks(range(9))
    axes.set_xticks(range(0, 30, 5))
    notebook.show(axes, alt=alt, width=680)


again = torch.tensor(live("heads", lambda: carried_by([carrier, *drawn])))  # (5, 4)
ELSEWHERE = {  # each with the next; in every sentence SmolLM says the right word
    "The capital of {} is": OTHERS,
    "The official language of {} is": dict(France="French", Germany="German", Italy="Italian",
        Spain="Spanish", Russia="Russian", Turkey="Turkish"),
    "The opposite of {} is": dict(hot="cold", big="small", up="down", rich="poor"),
}  # fmt: skip
new_pairs, languages, opposites = live("elsewhere", lambda: [
    carried_by([carrier], list(zip(ends, [*ends][1:])), ends, form)[0]
    for form, ends in ELSEWHERE.items()
])  # fmt: skip
head_table(
    share,
    "share of the difference that a head carries alone",
    "Share of the difference that each of 270 heads carries alone at the last word, mean of four pairs. One cell, "
    "layer 23 head 4, is dark; a few in later layers have a tenth or so, and some are negative.",
)
notebook.tell(
    f"""One head is far ahead. Head {carrier[1]} of layer {carrier[0]} carries {share.max():.0%} of the difference on
    average, and {again[0].min():.0%} to {again[0].max():.0%} in the four pairs of countries that we patched. The
    runner-up carries {share.flatten().topk(2).values[1]:.0%}. A few heads push the other way, which is why a single
    head can carry more than the whole difference. With nine new pairs of countries, this head carries
    {statistics.mean(new_pairs):.0%}. In *The official language of … is*, it carries {statistics.mean(languages):.0%} of
    the difference between two languages, but in *The opposite of … is* it carries {max(map(abs, opposites)):.0%}."""
)
print("the share of each head, measured just now and as stored:")
for (layer, head), now in zip([carrier, *drawn], again.mean(1)):
    print(f"{layer:>4}.{head}   {now:6.1%}   {share[layer, head]:6.1%}")
assert carrier == (23, 4) and (share > 0.5).sum() == 1 and min(new_pairs + languages) > 0.5
assert all(abs(x - share[i]) < 0.02 for i, x in zip([carrier, *drawn], again.mean(1)))

# %% [markdown]
# Is it *the* head for capitals? Patching has shown that replacing its output is *enough* to change the answer. Whether
# the head is also *needed* is another question, and only silencing can answer it. The next figure shows how much the
# right capital's lead over nine others shrinks when we silence one head at a time. In this section, a silenced head
# outputs zeros instead of its mean, which is harsher.

# %% tags=["hide-input", "nbval-ignore-output"]
lost = torch.tensor(table["silenced"])  # (30, 9), in logits, mean of ten countries
(largest, second), (first_one, _) = lost.flatten().topk(2)
both_alike = lost[(lost > 0.5) & (share.abs() < 0.02)]
head_table(
    lost,
    "logits that are lost when a head is silenced",
    "How many logits of its lead the right capital loses when each of 270 heads is silenced. Layer 23 head 4 is dark; "
    "all others are pale, some of them below zero.",
)
notebook.tell(
    f"""No other head is missed as much. Silencing this one shrinks the lead by {largest:.1f} logits, and none of the
    others costs more than {second:.1f}. Otherwise the two figures differ. When silenced, {len(both_alike)} other
    heads cost between half a logit and one, yet patching their outputs changes next to nothing. Whatever these heads
    do, they do it for both countries alike, so patching can't show it."""
)
assert divmod(first_one.item(), 9) == carrier and largest > 3 * second and len(both_alike) >= 3
assert both_alike.max() <= 1.05

# %% [markdown]
# We found this head with a few countries and one sentence. Does it matter elsewhere? We silence it, alone and together
# with others, for ten new countries, in this sentence and in two more.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
FORMS = {
    "The capital of … is": "The capital of {} is",
    "The capital city of … is called": "The capital city of {} is called",
    "Q: …? A: The capital is": "Q: What is the capital of {}?\nA: The capital is",
}
HELPERS = [(23, 0), (23, 1), (23, 5)]
SILENCED = {
    "nothing": [],
    "23.4": [(23, 4)],
    "23.0, 23.1, 23.5": HELPERS,
    "all four": [(23, 4), *HELPERS],
    "four others": random.Random(0).sample(
        [(i, h) for i in (22, 23, 24) for h in range(9) if (i, h) not in {(23, 4), *HELPERS}], 4
    ),
}


def capitals_without(heads, before):
    """The capital's lead over the other nine, in logits, and how many of ten are said."""
    answers = torch.tensor([first_token(c) for c in OTHERS])
    with heads_replaced(model, dict.fromkeys(heads, 0.0)):
        logits = read_out(model, run_on(model, before, 22)[:, -1])
    among = logits[:, answers]
    own = among.diagonal()
    return (own - (among.sum(1) - own) / 9).mean(), (logits.argmax(-1) == answers).sum()


def without_each():
    """Run all layers once per sentence, and for each set of heads only those from 22 on."""
    before = [residual_stream(model, about(OTHERS, form))[22] for form in FORMS.values()]
    return {name: [capitals_without(heads, x) for x in before] for name, heads in SILENCED.items()}


without = live("capitals", without_each)
lead = {name: found[0][0] for name, found in without.items()}
alone, then = lead["nothing"] - lead["23.0, 23.1, 23.5"], lead["23.4"] - lead["all four"]
exercises.reveal(
    "one_head_gone",
    measured="less" if then < 0.75 * alone else "same" if then < 1.5 * alone else "more",
)
print(f"{'silenced':>17}   " + "   ".join(f"{form:>31}" for form in FORMS))
for name, found in without.items():
    cells = (f"lead {lead:5.1f}, {right:2} of 10 right" for lead, right in found)
    print(f"{name:>17}   " + "   ".join(f"{cell:>31}" for cell in cells))
notebook.tell(
    f"""In the first sentence, silencing head 4 shrinks the right capital's lead from {lead["nothing"]:.1f} to
    {lead["23.4"]:.1f} logits, and {without["23.4"][0][1]} of 10 answers are still right. In the second sentence
    {without["23.4"][1][1]} are, so the model can do without this head in part. Three other heads of the
    same layer seem to matter little, because silencing them costs only {alone:.1f}. But with head 4 gone,
    silencing these three costs {then:.1f} more, and no right answer is left. Heads of one layer can't notice that
    another is gone. What the four bring seems to overlap, which you can't see as long as you silence them one at a
    time. The control, four other heads, costs next to nothing. The other two sentences show the same pattern."""
)
assert lead["23.4"] < 0.6 * lead["nothing"] and then > 2 * alone > 0
assert all(found[1] <= 1 for found in without["all four"])
assert all(x[0] > y[0] - 1.5 for x, y in zip(without["four others"], without["nothing"]))

# %% [markdown]
# ## 5. Why did it look there?
#
# Lesson 06 showed where words look, but it couldn't say why. In the third layer of the course's translator, for
# instance, the first head attends from *femme* to *noire*, because that pair of words has a high score. What made the
# score so high?
#
# A score is a query times a key, and each is made from a vector in the residual stream. Such a vector is a *sum* of
# the token, its position, and whatever the earlier heads and networks have added. Multiply two sums, and you get one
# product per pair of terms. The score is therefore a sum, too, with one term per pair of a query part and a key part.
#
# The translator is small enough for us to compute every pair. The input of its third encoder layer has 14 parts. They
# are called `token`, `position`, `1.1` for the first layer's first head, `1.b` for the bias that the first layer's
# heads share, `1.ff` for that layer's network and so on. A fifteenth part is what the norm and the projections add by
# themselves, which makes 15 times 15 pairs, or 225.

# %%
translator = load_translator()
double = copy.deepcopy(translator.model).double()
sentence = "une femme noire promène un chien noir."
ids = translator.encode([sentence])
names, parts = split_scores(double, ids, layer=2, head=0)  # (15, 15, T, T)
theirs = double.attention_maps(ids, ids[:, :1]).encoder[0, 2, 0]
difference = (parts.sum((0, 1)).softmax(-1) - theirs).abs().max()
print(f"largest difference from the model's own weights: {difference:.0e}")

# %% tags=["hide-input", "nbval-ignore-output"]
query, key = 1, 2  # femme looks at noire
# What is added to the scores of all keys alike changes no weight, so compare with the mean key.
pairs = parts[:, :, query, key] - parts[:, :, query].mean(-1)
total, largest = pairs.sum().item(), pairs.abs().max().item()
plots.signed_heatmap(pairs, x_label="the key's part", y_label="the query's part")
axes = pyplot.gca()
axes.set_xticks(range(15), names, rotation=90)
axes.set_yticks(range(15), names)
notebook.show(
    axes,
    alt="What each pair of parts adds to the score of femme for noire. The four cells of the two feed-forward "
    "networks are the largest, and the rest is spread over many small cells of both signs.",
    width=560,
)
n_needed = (
    pairs.flatten().abs().sort(descending=True).values.cumsum(0) < 0.8 * pairs.abs().sum()
).sum() + 1
notebook.tell(
    f"""*femme* puts {theirs[query, key]:.0%} of its weight on *noire*, whose score is {total:.1f} above that of an
    average key. The largest of the 225 pairs contributes only {largest:.1f} of that. Some pairs raise the score
    and others lower it, and it takes the {n_needed} largest to account for four fifths of all these
    contributions. "Because it's an adjective" would be a nicer answer, but no single pair is the cause."""
)
assert 0.08 * total < largest < 0.4 * total

# %% [markdown]
# Perhaps the cause is a group of pairs. The two feed-forward networks stand out together in the figure. To test whether
# they matter, we take the vector behind the query, subtract what the two networks added to it, compute the norm again,
# and look at the weight that is left. We do the same with three other groups.

# %% tags=["hide-input"]
GROUPS = {
    "both networks": ["1.ff", "2.ff"],
    "all heads": [f"{i}.{h}" for i in (1, 2) for h in "1234"],
    "positions": ["position"],
    "tokens": ["token"],
}
print(f"{'removed from the query':>23}   added to the score   weight on noire without it")
dropped = {}
for name, group in GROUPS.items():
    added = pairs[[names.index(one) for one in group]].sum().item()
    now = weights_without(double, ids, 2, 0, {"query": group})[query, key].item()
    dropped[name] = added, now
    print(f"{name:>23}   {added:18.1f}   {now:25.0%}")
assert max(dropped, key=lambda name: dropped[name][0]) == min(
    dropped, key=lambda name: dropped[name][1]
)
assert dropped["both networks"][1] < 0.5

# %% [markdown]
# What the two networks add to the query makes up nearly all of the score's lead over an average key, and without it
# most of the weight is gone. No other group matters much. What the networks made of *femme* matches what they made of
# *noire*, and for this score that's the best *why* we can give.
#
# ## What you can take with you
#
# - A score can point to a head, but only a change shows what the head does. Every change needs a control, which is the
#   same change made somewhere else.
# - Eight of 270 heads do most of the work when SmolLM recites random tokens, though less than half when it recites
#   English. An earlier head tells them where to look. *Practice* shows both.
# - Heads that find nothing put their weight on the first token. When we hid that token, the next one took over.
# - Patching shows where the difference between two sentences is held: at the country until layer 23, where one head
#   brings most of it to the last word.
# - Other heads of layer 23 bring part of the difference, too. Silenced one at a time, each looks less important.
# - An attention score can be written as a long sum, without any approximation. In the score that we took apart, no
#   single pair explained much, but one group of pairs made up nearly all of it.
#
# This was the last lesson. You began with a sentence squeezed into a single vector. Since then you've built a whole
# Transformer, run a real language model in your own code, and moved Paris to Germany by replacing one vector. From here
# on, nobody has written down the answers. Pick a head that nobody has looked at, and find out what it does.
#
# <details><summary>Fine print</summary>
#
# The head that carries the capital was found on four pairs of countries and tested on ten others, in three sentences.
# We chose only countries and sentences that SmolLM gets right. Patching only shows differences, so it's still open
# which part of the model recognises that a capital is wanted at all. The eight copiers were chosen on one draw of
# random tokens and silenced on others.
#
# When a score is taken apart, each norm keeps the divisor that it had. The parts therefore say how the score was added
# up, not what would happen without one of them, which is why the last table removes parts for real.
#
# A *tuned lens* learns a translation into the output's terms for each layer, and is more reliable than ours (Belrose et
# al. 2023).
#
# </details>
#
# ## Practice
#
# ### What does head 4 of layer 23 write?
#
# Silencing shows that a head matters, but not what it contributes. To see that, multiply the head's 64 numbers by its
# own columns of $W_O$. The result is what the head adds to the residual stream, where the lens can read it.


# %% tags=["exercise"]
def head_share(heads, w_o, head):
    """(H, T, K), (D, H * K) -> (T, D)"""
    ...


# %% tags=["nbval-ignore-output"]
head_share = exercises.mine("head_share")


def written(country, layer, head, n=3):
    """Tokens that a head's share at the last word points to."""
    with heads_kept(model) as outputs, torch.no_grad():
        model.decode(about([country]))
    share = head_share(outputs[layer][0], model.layers[layer].self_attention.out_proj.weight, head)
    return smol.tokens(read_out(model, share[-1]).topk(n).indices)


wrote = live("written", lambda: {country: written(country, 23, 4) for country in CAPITALS})
for country, tokens in wrote.items():
    print(f"{country:>9}: head 4 writes {' ·'.join(tokens)}")
n_capitals = sum(" " + CAPITALS[country] == tokens[0] for country, tokens in wrote.items())
print(f"in {n_capitals} of 10, the capital comes first")

# %% [markdown]
# Head 4 hardly ever writes a capital. It writes the *country* or its people, and sometimes a city. It seems that the
# head doesn't answer the question itself. It brings what the country's vector holds to the place where an answer is
# due, and later layers turn that into *Paris*. After section 4 you might have claimed that head 4 writes the capital,
# and no result there would have contradicted you.
#
# Lesson 06 identified a head with its map, but a map is only half of what a head does. $W_Q W_K^T$ decides where to
# look (the **QK circuit**). $W_V W_O$ decides what to write once the head has looked (the **OV circuit**). Both
# matrices are D by D and have rank K, and both can be studied without any text (Elhage et al. 2021). In SmolLM, the QK
# circuit also depends on how far apart the two tokens are, because a rotation comes between its two factors.
#
# Do the copiers' OV circuits copy? We take 500 random tokens, one at a time and without a text, as they leave the first
# layer's network. For how many of them does a head write the token itself, rather than one of the other 499?

# %% tags=["hide-input", "nbval-ignore-output"]


@torch.no_grad()
def copied(n=500):
    """Share of random tokens that each head's values and output turn into themselves, (30, 9)."""
    tokens = torch.randint(200, 49_000, (n,), generator=torch.Generator().manual_seed(0))
    rows, found = model.embedding.weight[tokens], []  # (n, 576)
    first = model.layers[0]
    x = rows + first.feed_forward(first.residual_2.norm(rows))
    for block in model.layers:
        h, attention = block.residual_1.norm(x)[None], block.self_attention
        values = attention.project_key_value(h, h)[1][0].repeat_interleave(3, 0)  # (9, n, 64)
        for v, w in zip(values, attention.out_proj.weight.unflatten(1, (9, -1)).unbind(1)):
            logits = (v @ w.T * model.norm.weight) @ rows.T  # the norm's divisor changes no rank
            found.append((logits.argmax(-1) == torch.arange(n)).float().mean())
    return torch.stack(found).view(30, 9)


copy_share = torch.tensor(live("ov", copied))
best = [divmod(i, 9) for i in copy_share.flatten().topk(5).indices.tolist()]
for name, heads in (("the five highest", best), ("the eight copiers", copiers)):
    print(f"{name:>17}: " + "  ".join(f"{i}.{h} {copy_share[i, h]:.0%}" for i, h in heads))
print(f"the median of all heads: {copy_share.median():.1%}, by chance {1 / 500:.1%}")
assert {(23, 0), (23, 1), (23, 5)} < {*best} and copy_share.median() < 0.01
assert [one for one in copiers if copy_share[one] > 0.2] == [(23, 7), (23, 2)]

# %% [markdown]
# All eight attend alike, but only 23.2 and 23.7 often write the token that they attend to, and no map shows that. To
# the output layer, what the other six write doesn't look like that token. Later layers may read it differently, and a
# vector in layer 17 is no longer the bare token. Section 4's 23.0, 23.1 and 23.5 are among the heads that copy best.
#
# ### Which path does the change take?
#
# When you patch a head, every later part of the model reads the change. In **path patching** (Wang et al. 2022), only
# some parts, the *receivers*, read the change, while all others read what they would have read without it. That takes
# two streams side by side, one without the change and one that starts with it. What a part adds to the second depends
# on which of the two it has read.
#
# **Your turn (5 min)**


# %% tags=["exercise"]
def patch_path(parts, x, change, receivers):
    """(T, D) -> (T, D)"""
    ...


# %% [markdown]
# Let's apply this to head 4 of layer 23 in the sentence about Germany. The head reads the stream three times, to make
# queries, keys and values. Which of the three carries the difference? And which later parts read what the head has
# written?


# %% tags=["hide-input", "nbval-ignore-output"]
def along_paths():
    """Share of the difference that goes along single paths into head 23.4 and out of it, (7, 4)."""
    (number, head), n = carrier, len(PAIRS)
    ids = torch.cat([about(side) for side in zip(*PAIRS)])
    stream, mask = residual_stream(model, ids), causal_mask(ids.shape[1])
    answers, rivals = (torch.tensor([first_token(c) for c in side]) for side in zip(*PAIRS))

    def lead(x):
        logits = read_out(model, x[:, -1])
        return (logits.gather(1, answers[:, None]) - logits.gather(1, rivals[:, None]))[:, 0]

    there, here = lead(stream[-1, :n]), lead(stream[-1, n:])
    block = model.layers[number]
    attention, h = block.self_attention, block.residual_1.norm(stream[number])
    key, value = (
        x.repeat_interleave(3, 1)[:, head] for x in attention.project_key_value(h, h)
    )  # three heads of queries share one
    new, old = zip(*(x.split(n) for x in (attention.project_query(h)[:, head], key, value)))

    def put_out(*qkv):
        """What the head puts out at the last word, times its columns of W_O, (4, T, D)."""
        context = scaled_dot_product_attention(*qkv, mask)[0]
        context[:, :-1] = 0
        return context @ attention.out_proj.weight.unflatten(1, (9, -1))[:, head].T

    def attend(block, x):
        return block.self_attention(*3 * [block.residual_1.norm(x)], mask)[0]

    def compute(block, x):
        return block.feed_forward(block.residual_2.norm(x))

    parts = [partial(f, block) for block in model.layers[number:] for f in (attend, compute)]
    heads, networks = range(2, len(parts), 2), range(1, len(parts), 2)  # behind layer 23's heads

    def carried(change, receivers):
        """Share of the difference that reaches the output if only the receivers see a change."""
        x = exercises.mine("patch_path")(parts, stream[number, n:], change, receivers)
        return (lead(x) - here) / (there - here)

    with torch.no_grad():
        before = put_out(*old)
        exchanged = [put_out(*(new[i] if i == j else old[i] for i in range(3))) for j in range(3)]
        shares = [carried(changed - before, [*heads, *networks]) for changed in exchanged]
        ways = [], heads, networks, [*heads, *networks]
        return torch.stack(shares + [carried(put_out(*new) - before, some) for some in ways])


paths = torch.tensor(live("paths", along_paths)).mean(1).tolist()
names = ["through the queries", "through the keys", "through the values"]
names += ["straight to the output", "… or by later heads"]
names += ["… or by later networks", "along all paths"]
for name, carried in zip(names, paths):
    print(f"{name:>24}: {carried:5.0%} of the difference")
print(exercises.whose("patch_path", did="followed"))
notebook.tell(
    f"""The values carry it. Queries and keys carry next to nothing, because the head attends to the country whichever
    country it is. On the way out, {paths[3]:.0%} of the difference goes straight to the output. If the later
    networks read the change as well, {paths[5]:.0%} arrives. If the later heads read it instead,
    {paths[4]:.0%} does. The networks, then, do a good part of the work of turning what the head has brought into
    *Paris*, which agrees with what you saw head 4 write."""
)
assert max(paths[:2]) < 0.1 and paths[2] > 0.7 and paths[5] > paths[3] + 0.2 > paths[4]
assert paths[3] < 0.5 * paths[6]

# %% [markdown]
# The shares on the way out can't be added up, because the change can also pass through a later head first and then
# through a network. *Direct logit attribution* multiplies what a head writes by the output's rows for *Paris* and
# *Berlin*, which measures roughly the direct path alone. For this head it would miss more than half.
#
# In the version of Wang et al., every network reads the change, and only the heads are divided into receivers and
# others. Their question was why the small GPT-2 continues *When Mary and John went to the store, John gave a drink to*
# with *Mary*. Following such paths backwards from the output, they found a circuit of 26 heads. With all other heads of
# the model set to their means, the right name kept 87% of its lead.
#
# ### Do the eight recite English, too?
#
# Random tokens aren't language, so let's repeat the experiment of section 1 with three ordinary English texts, each of
# them read twice.

# %% tags=["nbval-ignore-output"]


def read_twice(heads):
    """Nats per token at the first reading and at the second, per text."""
    with heads_replaced(model, dict.fromkeys(heads, mean_ablate)):
        return [loss_of_copies(smol.encode(text).repeat(1, 2)) for text in TEXTS]


english = live("english", lambda: [read_twice([]), read_twice(copiers)])
for name, pairs in zip(("all heads", "8 copiers silenced"), english):
    print(f"{name:>18}: {' · '.join(f'{a:.1f} then {b:.1f}' for a, b in pairs)}")

# %% tags=["hide-input", "nbval-ignore-output"]
once = [statistics.mean(a for a, _ in pairs) for pairs in english]
again = [statistics.mean(b for _, b in pairs) for pairs in english]
saved = [a - b for a, b in zip(once, again)]
notebook.tell(
    f"""The first reading hardly needs the eight heads. Reading a text again saves SmolLM {saved[0]:.1f} nats per token,
    and still saves {saved[1]:.1f} without the eight. In English, then, they account for
    {1 - saved[1] / saved[0]:.0%} of the saving. Other heads must do the rest."""
)
assert abs(once[0] - once[1]) < 0.5 and again[0] + 0.5 < again[1] < once[1]
assert 0.3 < 1 - saved[1] / saved[0] < 0.5

# %% [markdown]
# ### Who tells the copiers where to look?
#
# Suppose a text contains *fox runs*, and later *fox* again. A copier attends from the second *fox* to *runs*. It can
# find *runs* only if the key of *runs* says that *fox* came before it, but a token's embedding doesn't say what came
# before. As lesson 14 argued, an earlier head has to supply this information by attending to the **previous token**.
# In the layers below the copiers, one head stands out:

# %% tags=["nbval-ignore-output"]


def previous_scores(seed):
    """Weight that each head of layers 0 to 16 gives to the previous token, (17, 9)."""
    maps = model.attention_maps(twice(seed))[:, :17]
    return maps.diagonal(-1, dim1=-2, dim2=-1).mean((0, 3))


previous = torch.tensor(live("previous", lambda: previous_scores(0)))
teller = divmod(previous.argmax().item(), 9)  # (layer, head)
print(f"{teller[0]}.{teller[1]} gives {previous.max():.0%} of its weight to the previous token")


# %%
def place_of_copies(silenced):
    """The eight copiers' induction score, and the loss of the second copy."""
    with heads_replaced(model, dict.fromkeys(silenced, mean_ablate)):
        score = induction_scores(10)[tuple(zip(*copiers))]
        return score.mean(), loss_of_copies(twice(10))[1]


# %% tags=["hide-input", "nbval-ignore-output"]
others = [(teller[0], head) for head in range(9) if head != teller[1]]
at_copies = live("places", lambda: [place_of_copies(heads) for heads in ([], [teller], others)])
told = "{}.{}".format(*teller)
for name, found in zip(("nothing", told, "the other 8"), at_copies):
    print(f"silenced: {name:>17}   induction score {found[0]:.2f}   {found[1]:.1f} nats per token")
assert at_copies[1][0] < 0.4 * at_copies[0][0] and at_copies[1][1] > at_copies[0][1] + 2
assert at_copies[2][0] > 0.9 * at_copies[0][0] and at_copies[2][1] < at_copies[0][1] + 1

# %% [markdown]
# With this one head silenced, the copiers attend mostly to other tokens, although nothing in the copiers themselves was
# changed. With the eight other heads of its layer silenced, the copiers' score hardly moves.
#
# A head makes queries, keys and values. Which of the three failed? To find out, we need two runs. In the first one, the
# earlier head is silenced, and we keep the queries of all heads in the copiers' four layers. In the second one nothing
# is silenced, but the run's own queries are replaced by these. Then we do the same with the keys, and with the values.

# %% tags=["hide-input", "nbval-ignore-output"]


def place_with(name):
    """The same two numbers, if only the queries, keys or values come from the run without the teller."""
    parts = [getattr(model.layers[i].self_attention, name) for i in {layer for layer, _ in copiers}]
    kept = {}
    hooks = [
        part.register_forward_hook(lambda part, _, out: kept.update({part: out.clone()}))
        for part in parts
    ]
    with heads_replaced(model, {teller: mean_ablate}), torch.no_grad():
        model.decode(twice(10))
    for hook in hooks:
        hook.remove()
    hooks = [part.register_forward_hook(lambda part, *_: kept[part]) for part in parts]
    found = place_of_copies([])
    for hook in hooks:
        hook.remove()
    return found


exchanged = live(
    "composition",
    lambda: {kind: place_with(f"{kind}_proj") for kind in ("query", "key", "value")},
)
for kind, (score, nats) in exchanged.items():
    print(f"replaced:  {kind:>6}   induction score {score:.2f}   {nats:.1f} nats per token")
assert exchanged["key"][0] < 0.4 * at_copies[0][0] and exchanged["key"][1] > at_copies[0][1] + 3
assert all(exchanged[kind][0] > 0.8 * at_copies[0][0] for kind in ("query", "value"))

# %% [markdown]
# It was the keys. With the queries or the values replaced, the loss rises by about a nat, and the copiers put nearly as
# much weight on the right token as before. With the keys replaced, the copiers lose that token, because the keys no
# longer say which token came before. The copiers and the earlier head can only do this job together, and such a team of
# heads is called a **circuit**. Reading another head's output through the keys, as the copiers do, is called
# **K-composition** (Elhage et al. 2021).
#
# ### Do examples in the input need the copiers?
#
# Olsson et al. (2022) suspect that induction heads are behind most of what models learn from their input. In lesson 19,
# SmolLM picked up opposites from four examples. Can it still do so if the eight heads output zeros?

# %% tags=["hide-input", "nbval-ignore-output"]
OPPOSITES = """hot cold  big small  fast slow  up down  open closed  rich poor  happy sad  dark light
    early late  strong weak  full empty  wet dry"""


def opposites_without(silenced, seed):
    """Of 12 words, those whose opposite is said after four examples, for each set of heads."""
    words, draw, prompts = OPPOSITES.split(), random.Random(seed), []
    pairs = list(zip(words[::2], words[1::2]))
    for i, (word, _) in enumerate(pairs):
        examples = draw.sample(pairs[:i] + pairs[i + 1 :], 4)
        lines = "".join(f"{a} -> {b}\n" for a, b in examples)
        prompts.append(smol.encode(f"{lines}{word} ->"))
    # No token sees what stands behind it, so the padding changes nothing.
    ids = torch.nn.utils.rnn.pad_sequence(prompts, batch_first=True)
    ends = torch.tensor([len(prompt) - 1 for prompt in prompts])
    answers = torch.tensor([smol.encode(" " + opposite)[0] for _, opposite in pairs])
    n_right, each = [], torch.arange(len(ids))
    for heads in silenced:
        with heads_replaced(model, dict.fromkeys(heads, 0.0)), torch.no_grad():
            x = model.decode(ids)[each, ends]
        n_right.append((model.output_proj(x).argmax(-1) == answers).sum())
    return n_right


examples = live(
    "examples",
    lambda: [opposites_without([[], copiers, as_many_others(0)], seed) for seed in range(2)],
)
for name, counts in zip(("all heads", "without the 8", "without 8 others"), zip(*examples)):
    print(f"{name:>17}: {' and '.join(map(str, counts))} of 12 right, in two draws of the examples")
assert abs(sum(with_8 - without_8 for with_8, without_8, _ in examples)) <= 6

# %% [markdown]
# Hardly anything changes. The heads that recite aren't the ones that pick up a task, at least not this one. Yin and
# Steinhardt (2025) found in twelve models that other heads, which represent the task itself, matter more. We chose our
# eight by their score on random tokens, and that score doesn't say what else they do.

# %%
exercises.quiz(
    "what_patching_showed",
    "why_as_many_others",
    "what_the_lens_missed",
    "zero_or_mean",
    "cells_that_can_differ",
    "what_qk_and_ov_say",
)

# %% [markdown]
# ## Going deeper
#
# ### All heads at once
#
# For each of the 270 heads that we patched, all later layers had to run once more. With thousands of heads and long
# texts, that takes too long. A shortcut is to ask a smaller question. If a head's output moved a tiny step towards its
# output in the other sentence, how fast would the lead grow? Backpropagation answers that for all heads in a single
# pass. Such a rate is a slope. Multiply each head's slope by the full difference between its outputs in the two
# sentences, and you have an estimate of what patching would find (**attribution patching**, Nanda 2023).

# %% tags=["hide-input", "nbval-ignore-output"]


def estimated():
    """Share of the difference that each head carries, by one pass and its gradient, (30, 9)."""
    kept, n = [], len(PAIRS)

    def keep(outputs, head):
        kept.append(outputs.requires_grad_())  # (2 n, T, 9, 64)
        return outputs

    ids = torch.cat([about(side) for side in zip(*PAIRS)])
    with heads_replaced(model, {(layer, 0): keep for layer in range(30)}):
        logits = model(ids)[:, -1]
    answers, rivals = (torch.tensor([first_token(c) for c in side] * 2) for side in zip(*PAIRS))
    each = torch.arange(2 * n)
    lead = logits[each, answers] - logits[each, rivals]
    there, here = lead.detach().split(n)
    moved = []
    for outputs, slopes in zip(kept, torch.autograd.grad(lead[n:].sum(), kept)):
        way = outputs[:n, -1] - outputs[n:, -1]  # (n, 9, 64)
        moved.append((way * slopes[n:, -1]).sum(-1).detach())
    return (torch.stack(moved, dim=1) / (there - here)[:, None, None]).mean(0)


estimate = torch.tensor(live("estimate", estimated))  # (30, 9)
errors = (estimate - share).abs().flatten().sort(descending=True).values
tops = [set(x.abs().flatten().topk(10).indices.tolist()) for x in (share, estimate)]
notebook.tell(
    f"""Of the 270 estimates, 269 are off by at most {100 * errors[1]:.0f} points, and that of head {carrier[1]} of
    layer {carrier[0]} by {100 * errors[0]:.0f}. It comes out at {estimate[carrier]:.0%} instead of {share[carrier]:.0%}.
    A slope only holds for small changes, and this head makes the largest change of all. As a measurement, then, the
    shortcut fails where it matters most. It's still good for deciding what to patch, because it picks the same ten
    heads as patching does. Kramár et al. (2024) describe where such estimates miss heads."""
)
assert errors[1] < 0.05 < 0.3 < errors[0] and tops[0] == tops[1]
assert abs(estimate[carrier] - share[carrier]) == errors[0]

# %% [markdown]
# ### What is a feature?
#
# Heads and positions only tell you *where* in a model something happens. What people would really like to find are
# meanings, for instance a direction in the residual stream that stands for "is a capital". A stream of 576 numbers
# seems to hold far more meanings than it has dimensions. That works if their directions hardly disturb each other and
# few of them are active at once (**superposition**, Elhage et al. 2022).
#
# A **sparse autoencoder** tries to undo the superposition. It writes each vector as a sum of a few directions from a
# large, learned dictionary. The amount of each direction is called its **code**. Let's try it on an example in which we
# know the truth, because we made it: 24 features in 12 dimensions.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
truth = F.normalize(torch.randn(24, 12), dim=-1)  # each feature's direction


def vectors(n, share_active=0.05):
    sizes = (torch.rand(n, 24) < share_active) * (0.5 + 0.5 * torch.rand(n, 24))
    return sizes @ truth  # (n, 12)


# %% tags=["nbval-ignore-output"]
encoder = torch.nn.Linear(12, 48)
dictionary = torch.nn.Parameter(F.normalize(torch.randn(48, 12), dim=-1))
encoder.weight.data = dictionary.data.clone()  # each begins by reading what it writes
optimiser = torch.optim.Adam([*encoder.parameters(), dictionary], lr=3e-3)
for _ in range(1500):
    x = vectors(512)
    codes = encoder(x).relu()  # (512, 48), most of them zero in the end
    rebuilt = codes @ F.normalize(dictionary, dim=-1)
    loss = (rebuilt - x).square().sum(-1).mean() + 0.3 * codes.sum(-1).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

# %% tags=["hide-input", "nbval-ignore-output"]


def n_found(directions):
    """Of 24 features, those that one of the directions points along (cosine above 0.95)."""
    return (truth @ F.normalize(directions, dim=-1).T).amax(1).gt(0.95).sum().item()


sample = vectors(4000)
components = torch.linalg.svd(sample - sample.mean(0), full_matrices=False)[2]
sparse, chance = n_found(dictionary.detach()), n_found(torch.randn(48, 12))
principal = n_found(torch.cat([components, -components]))
print("directions recovered (cosine above 0.95)")
print(f"by the sparse autoencoder:         {sparse} of 24")
print(f"by the 12 principal components:    {principal}")
print(f"by 48 random directions:           {chance}")
with torch.no_grad():
    codes = encoder(0.75 * truth).relu()  # each feature alone, at its mean size
size = (codes.amax(1) / 0.75).median()
print(f"\na lone feature, in the autoencoder's code: {size:.0%} of its true size")
assert sparse >= 12 and max(principal, chance) <= 4 and size < 0.8

# %% [markdown]
# The dictionary has the right directions, but it underrates every feature. Large codes cost something in the loss, so
# the autoencoder makes them smaller than they should be (**shrinkage**). In later variants the size of a code costs
# nothing, and only the number of active codes is held down (Gao et al. 2024; Rajamanoharan et al. 2024).
#
# Here we could check the result, because we had made the features ourselves. For a language model, nobody has such a
# list, so a dictionary is judged by how well it rebuilds the vectors, and by whether changing a direction changes what
# the model says. In Claude 3 Sonnet, dictionaries of up to 34 million directions contained some that passed this second
# test (Templeton et al. 2024).
#
# How many of a model's features such a dictionary finds is an open question. Two dictionaries trained on one model
# share only part of their directions (Paulo and Belrose 2025). To tell whether a text has some property, a plain
# linear probe usually does as well as a dictionary, or better (Kantamneni et al. 2025).
#
# A **transcoder** is a dictionary that imitates a feed-forward network instead of rebuilding its input (Dunefsky et al.
# 2024). Once every network has been replaced by such a dictionary, you can draw, for one prompt at a time, how much
# each direction contributes to each later one. Such an **attribution graph** shows that Claude 3.5 Haiku completes "the
# capital of the state containing Dallas is" by way of *Texas* (Ameisen et al. 2025; Lindsey et al. 2025).
#
# ### Does the model repair itself?
#
# If a head is silenced, later parts read a changed stream and may change what they add. In larger models they've been
# seen to make up for part of the damage (**self-repair**, McGrath et al. 2023), and a smaller divisor in the last norm
# explains some of that (Rushing and Nanda 2024). Below you see how much of the right capital's lead over nine others is
# lost through each part of SmolLM when head 4 of layer 23 outputs zeros. Repair would show as a negative number.

# %% tags=["hide-input", "nbval-ignore-output"]


def lost_through():
    """Logits of its lead that the right capital loses through each part, mean of ten countries."""
    ids, answers = about(OTHERS), torch.tensor([first_token(c) for c in OTHERS])
    w_o = [b.self_attention.out_proj.weight.unflatten(1, (9, -1)) for b in model.layers]

    def at_last_word(silenced):
        with heads_replaced(model, dict.fromkeys(silenced, 0.0)), heads_kept(model) as heads:
            x = residual_stream(model, ids)[-1, :, -1]  # (10, D)
        return x, torch.einsum("lbhk,ldhk->lhbd", torch.stack(heads)[..., -1, :], torch.stack(w_o))

    def lead(x, like):
        """The lead that x adds, with the norm's divisor for `like`."""
        x = x / like.square().mean(-1, keepdim=True).add(1e-5).sqrt() * model.norm.weight
        among = x @ model.embedding.weight[answers].T
        return ((10 * among.diagonal(dim1=-2, dim2=-1) - among.sum(-1)) / 9).mean(-1)

    (x, heads), (y, changed) = at_last_word([]), at_last_word([carrier])
    by_head, frozen, total = lead(heads - changed, x), lead(x - y, x), lead(x, x) - lead(y, y)
    alone = {f"{i}.{h}": by_head[i, h] for i, h in (carrier, (29, 1), (29, 0))}
    rest = {"other heads": by_head.sum() - sum(alone.values()), "networks": frozen - by_head.sum()}
    return alone | rest | {"the last norm": total - frozen, "together": total}


through = live("repair", lost_through)
for name, logits in through.items():
    print(f"{name:>13}: {logits:+.1f} logits")
notebook.tell(
    f"""On balance, nothing is repaired. The head's own output is worth {through["23.4"]:.1f} logits. The networks lose
    another {through["networks"]:.1f}, because they worked on what it had brought. Two heads of the last layer react
    most and nearly cancel out. Head 29.0 returns {-through["29.0"]:.1f} logits, 29.1 costs {through["29.1"]:.1f} more."""
)
assert through["together"] > through["23.4"] + 1 and through["29.0"] < -0.5 < 0.5 < through["29.1"]

# %% [markdown]
# ### What such evidence doesn't show
#
# - *That a component is for something.* Head 4 of layer 23 brings the difference between two capitals to the last
#   word, and that between two languages. We haven't asked what it does in most other sentences.
# - *That nothing else is needed.* The heads beside it do part of the work.
# - *That the model has no other way to do it.* Patching compares two sentences, and a third can use another path.
# - *That there is a simple reason.* The sum in section 5 is exact, and it points to two networks. It doesn't say what
#   these networks computed.
#
# **Read on**: Elhage et al. (2021), "A Mathematical Framework for Transformer Circuits"; Olsson et al. (2022),
# "In-context Learning and Induction Heads", arXiv:2209.11895; Xiao et al. (2023), "Efficient Streaming Language Models
# with Attention Sinks", arXiv:2309.17453; nostalgebraist (2020), "interpreting GPT: the logit lens"; Meng et al.
# (2022), "Locating and Editing Factual Associations in GPT", arXiv:2202.05262; Wang et al. (2022), "Interpretability in
# the Wild", arXiv:2211.00593; Zhang and Nanda (2023), "Towards Best Practices of Activation Patching",
# arXiv:2309.16042; McGrath et al. (2023), "The Hydra Effect", arXiv:2307.15771; Rushing and Nanda (2024), "Explorations
# of Self-Repair in Language Models", arXiv:2402.15390; Elhage et al. (2022), "Toy Models of Superposition",
# arXiv:2209.10652; Templeton et al. (2024), "Scaling Monosemanticity"; Yin and Steinhardt (2025), "Which Attention
# Heads Matter for In-Context Learning?", arXiv:2502.14010; Paulo and Belrose (2025), "Sparse Autoencoders Trained on
# the Same Data Learn Different Features", arXiv:2501.16615; Belrose et al. (2023), "Eliciting Latent Predictions from
# Transformers with the Tuned Lens", arXiv:2303.08112; Kantamneni et al. (2025), "Are Sparse Autoencoders Useful?",
# arXiv:2502.16681; Nanda (2023), "Attribution Patching: Activation Patching At Industrial Scale"; Kramár et al.
# (2024), "AtP*", arXiv:2403.00745; Gao et al. (2024), "Scaling and Evaluating Sparse Autoencoders", arXiv:2406.04093;
# Rajamanoharan et al. (2024), "Jumping Ahead", arXiv:2407.14435; Dunefsky et al. (2024), "Transcoders Find
# Interpretable LLM Feature Circuits", arXiv:2406.11944; Ameisen et al. (2025), "Circuit Tracing"; Lindsey et al.
# (2025), "On the Biology of a Large Language Model".
#
# If you'd like exercises at a larger scale, go on with the interpretability chapter of ARENA, a free online course.
# You'll know most of its tools.
