# %% [markdown]
# # Vision Transformer
#
# Cut a small grey picture of a shirt into 49 squares, and lay them side by side in one long line, the top row
# first. Would you still see a shirt?
#
# The model below sees nothing but such lines. It reads each square as a word and the line as a sentence, sends them
# through the encoder layers of lesson 07, which haven't changed, and names the garment. That sounds silly, but nothing
# you built in lessons 03 to 10 was specific to words. An encoder layer takes a list of vectors and returns another
# list, and it has no way of telling where the vectors came from.
#
# The layers are already in the file that you finished in lesson 10, so today you'll only build what goes around them.
# This lesson is a branch of the course. Of the later lessons, only lesson 17 needs something from it, the class token.
#
# Here are the model's answers for twelve pictures that it never saw in training. Each has 28 × 28 pixels and belongs
# to one of ten classes of clothes.

# %% tags=["hide-input"]

import torch
import torch.nn.functional as F
from matplotlib import pyplot
from torch import nn

from helpers import exercises, plots
from helpers.clinic import examine
from helpers.exercises import lessons
from helpers.data.clothes import CLASSES, Pictures, as_input, clothes
from helpers.transformer.layers import EncoderLayer
from helpers.training.picture_training import accuracy, train_pictures
from helpers.pretrained.wardrobe import comparison, load_wardrobe, untrained_pair
from helpers.models.bert import mean_pool
from helpers.models.vit import VisionTransformer, VitConfig
from helpers.widgets.model_map import model_map
from helpers.widgets.patches import PatchAttention, PatchCutter


def show(rows, titles, size=1.35, columns=6):
    """Show little grey pictures in rows, a title above each."""
    n_rows = -(-len(rows) // columns)
    figure, axes = pyplot.subplots(
        n_rows, columns, figsize=(columns * size, n_rows * (size + 0.35)), squeeze=False
    )
    for ax in axes.flat:
        ax.axis("off")
    for i, (picture, title) in enumerate(zip(rows, titles, strict=True)):
        axes.flat[i].imshow(picture, cmap="gray", vmin=0, vmax=255)
        axes.flat[i].set_title(title, fontsize=12, loc="center", pad=4)
    return figure


# %% [markdown] tags=["notes"]
# **50 minutes.** Hook, warm-up and first prediction 8 · 1 patches 7 · 2 the class token and the learner's own file 8 ·
# 3 positions 6 · 4 against a convolution 8 · 5 where it looks and the map 13. Everything else can be done at home.
#
# **Say first**: there's no new mechanism today, because the encoder is lesson 07's. What's new is the way
# in (patches), the way out (a class token), and a comparison with the convolutional networks that
# classified pictures before.
#
# **If you're running late**: show section 5's widget without its exercise.
#
# **Ask**: "Which parts of this model know that a picture has two dimensions?" (Only the cutting. After
# that it's a list.) · "What would you have to change for colour?" (The width of a patch, C·P·P.) ·
# before section 4: "What does a convolution assume?" (that neighbours belong together, and that a pattern means the
# same wherever it is)
#
# **Answers to expect**: people reshape the picture straight into patches, which tears it into strips. They read
# the class token's vector before it has been through the layers, and they take a map as proof. The myth of
# section 4 tends to start a debate, so keep people to the terms of the comparison.

# %% tags=["hide-input", "nbval-ignore-output"] warm_up=15
wardrobe = load_wardrobe()
test = clothes("test")  # 1,000 pictures that it was not trained on
found = wardrobe.classify(test.images)
figure = show(test.images[:12], [CLASSES[label] for label in found[:12]])
whole = (found == test.labels).float().mean().item()
print(f"{wardrobe}: right on {whole:.0%} of {len(found):,} test pictures")
assert whole > 0.8
notebook.figure(
    figure, alt="Twelve grey pictures of clothes, the model's answer above each.", width=760
)

# %% [markdown]
# Now let's make it hard. We shuffle the 49 squares of every picture, using the same random order for all pictures.
# Here are the first six:

# %% tags=["hide-input"]
from helpers.models.vit import patchify as cut
from helpers.models.vit import unpatchify as join

order = torch.randperm(49, generator=torch.Generator().manual_seed(0))


def in_order(images, order):
    return join(cut(images[:, None], 4)[:, order], 4, 7)[:, 0]


shuffled = in_order(test.images, order)
notebook.figure(
    show(shuffled[:6], ["?"] * 6),
    alt="Six pictures of clothes whose 49 squares are in a random order. Nothing can be recognised.",
    width=560,
)

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
shuffled_share = accuracy(wardrobe.model, shuffled, test.labels)
exercises.reveal("shuffled_patches", measured=100 * shuffled_share)
print(f"in order: {whole:.0%}   shuffled: {shuffled_share:.0%}   guessing: 10%")
notebook.tell("""The order matters to the model, although nothing in an encoder layer depends on it. Something else
must tell the model where a square came from. In section 3 you'll see what.""")
assert 0.12 < shuffled_share < whole - 0.2

# %% [markdown]
# ## 1. What are the words of a picture?
#
# The obvious answer is the pixels. But then a photo of 224 × 224 pixels would be a sentence of 50,176 words, and
# attention compares every word with every other. The Vision Transformer of Dosovitskiy et al. (2021), **ViT** for
# short, uses square **patches** instead. A patch becomes a token in two steps. We write out its pixels one after the
# other, and a linear layer turns these numbers into a vector of the model's width.
#
# ### Your turn (4 min)
#
# Cutting works like `split_heads` in lesson 06, where you split a dimension in two and then reordered the dimensions.
# Here both height and width are split. At the end, `flatten` makes one list of patches, with all the numbers of a
# patch in one row.


# %% tags=["exercise"]
def patchify(images, patch_size):
    """(B, C, height, width) -> (B, N, C·P·P)"""
    rows = images.unflatten(2, (-1, patch_size))  # (B, C, rows, P, width)
    grid = rows.unflatten(4, (-1, ...))  # (B, C, rows, P, columns, P)   ← fill the gap
    patches = grid.permute(0, 2, ..., 1, ..., 5)  # (B, rows, columns, C, P, P)   ← and these two
    return patches.flatten(3).flatten(1, 2)


# %% [markdown]
# You'll often see both steps, cutting and projecting, written in one line, as a **convolution**. A convolution slides
# a small window over the picture. At every stop it takes weighted sums of the pixels inside, always with the same
# weights, its *kernel*. The *stride* is how far the window moves each time. If the stride equals the width of the
# window, the window stops exactly once at every patch.

# %%
pictures = as_input(test.images[:5])  # (5, 1, 28, 28): one channel, because they're grey
convolution = torch.nn.Conv2d(1, 96, kernel_size=4, stride=4)
by_convolution = convolution(pictures).flatten(2).transpose(1, 2)  # (5, 96, 7, 7) -> (5, 49, 96)

weight, bias = convolution.weight.flatten(1), convolution.bias  # (96, 1, 4, 4) -> (96, 16)
by_patches = F.linear(cut(pictures, 4), weight, bias)  # (5, 49, 16) -> (5, 49, 96)
print("the same numbers:", torch.allclose(by_convolution, by_patches, atol=1e-5))

# %% tags=["hide-input"]
torch.testing.assert_close(by_convolution, by_patches, atol=1e-5, rtol=0)

# %% [markdown]
# ## 2. Which vector gives the answer?
#
# The encoder returns 49 vectors, one per patch, but we want a single answer for the whole picture. No patch is
# special, so a ViT adds a token that belongs to no patch, just as BERT puts [CLS] before every text (lesson 12). The
# vector of this **class token** is learned.
#
# ### Your turn (3 min)


# %% tags=["exercise"]
def add_class_token(patches, class_token):
    """patches (B, N, D), class_token (D,) -> (B, 1 + N, D)"""
    ...


# %% [markdown]
# After the last layer, a linear layer turns the class token's vector into one logit per class. That's the whole
# model. Its layers are the encoder layers of your own `my_transformer.py`, without a line changed.

# %% tags=["hide-input", "nbval-ignore-output"]
exercises.fill_in()  # what you skipped is the course's for now
own, at_work = exercises.my_transformer(), lessons.module(10, "at_work")
patchify, add_class_token = exercises.mine("patchify"), exercises.mine("add_class_token")


# %%
class MyViT(nn.Module):
    def __init__(self, d_model=64, n_heads=4, n_layers=4, d_ff=128):
        super().__init__()
        self.patch_proj, self.head = nn.Linear(4 * 4, d_model), nn.Linear(d_model, 10)
        self.class_token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(1 + 49, d_model))
        layers = (own.EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.layers, self.norm = nn.Sequential(*layers), own.LayerNorm(d_model)

    def forward(self, images):  # (B, 1, 28, 28) -> (B, 10)
        x = add_class_token(self.patch_proj(patchify(images, 4)), self.class_token)  # (B, 50, D)
        return self.head(self.norm(self.layers(x + self.positions))[:, 0])


# %% [markdown]
# The trained weights of the model you met at the start fit into yours, once your feed-forward network uses a GELU
# instead of a ReLU.

# %% tags=["nbval-ignore-output"]
my_vit = MyViT()
my_vit.load_state_dict(at_work.renamed(wardrobe.model.state_dict()))
gelu = lambda x, w, b, v, c: F.gelu(x @ w + b) @ v + c
with at_work.switched(own, feed_forward=gelu), torch.no_grad():
    answers = my_vit(as_input(test.images)).argmax(-1)
print(f"your file: right on {(answers == test.labels).float().mean():.0%} of the test pictures")
print(f"the same answers as the course's model: {(answers == found).float().mean():.1%}")
print(exercises.whose("patchify", "add_class_token", "EncoderLayer", did="answered"))

# %% [markdown]
# The clinic of lesson 10 can examine this model, too. It changes one patch and checks which outputs change with it.

# %% tags=["nbval-ignore-output"]
examine(my_vit, kind="vision", image_size=28, patch_size=4, n_channels=1)

# %% [markdown]
# ## 3. How does it know where a patch was?
#
# Shuffling the patches misled the model, and only one part of it can be responsible. Like BERT, the model adds a
# learned vector per position to its tokens, and nothing else in the model depends on where a patch was. Let's take
# these vectors away by setting their whole table to zero.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
table = wardrobe.model.positions.table.data
trained_table = table.clone()
table.zero_()
logits = [wardrobe.probabilities(images) for images in (test.images, shuffled)]
table.copy_(trained_table)
without = (logits[0].argmax(-1) == test.labels).float().mean().item()
exercises.reveal("no_positions", measured=100 * without)
print(f"with the table: {whole:.0%}   with zeros: {without:.0%}")
print(f"shuffled, with zeros: {(logits[1].argmax(-1) == test.labels).float().mean():.0%}")
print("with zeros, shuffling changes no probability by more than 0.001")
assert without < whole - 0.2
torch.testing.assert_close(*logits, atol=1e-3, rtol=0)
torch.testing.assert_close(table, trained_table)

# %% [markdown]
# Without positions, the model can't tell a shuffled picture from the original and always classifies the two alike.
# You saw this with sentences in lesson 05, where the reason was the same. Attention treats its input as a *set*.
#
# The table has one row for the class token and 49 for the patches, numbered 0 to 48. To the model these 49 positions
# are a plain list. Has training taught it that they form a grid? Each little map below belongs to one position. It
# shows how similar that position's row is to all 49 rows, blue for similar and orange for opposite.

# %% tags=["hide-input", "nbval-ignore-output"]
unit = F.normalize(trained_table[1:], dim=-1)
similarity = unit @ unit.T  # (49, 49), cosines
nearest = similarity.clone().fill_diagonal_(-2).argmax(-1)
place = torch.arange(49)
steps = ((place // 7 - nearest // 7).abs() + (place % 7 - nearest % 7).abs()).float()
on_grid = (steps == 1).float().mean()
print(f"the most similar row belongs to a neighbour in the grid: {on_grid:.0%}   by chance: 7%")
figure, axes = pyplot.subplots(7, 7, figsize=(5.4, 5.4))
for i, ax in enumerate(axes.flat):
    ax.imshow(similarity[i].reshape(7, 7), cmap=plots.SIGNED, vmin=-1, vmax=1)
    ax.set(xticks=[], yticks=[])
assert on_grid > 0.5
assert similarity[place, place // 7 * 7 + 6 - place % 7].mean() > 0.6  # the mirrored place
notebook.figure(
    figure,
    alt="Seven by seven little maps, one per place; each shows how similar its position vector is "
    "to all others. Neighbouring places are more similar than distant ones.",
    width=440,
)

# %% [markdown]
# Training has taught the model that there's a grid, although nobody ever mentioned one. Many maps have a second blue
# spot in the mirrored place, probably because clothes look much the same on the left and on the right.
#
# ## 4. Is it better than a convolution?
#
# Before 2020, classifying pictures was mostly a job for convolutional networks, **CNNs**. A convolution looks through
# a small window and applies one set of weights wherever the window is. That builds in two assumptions: neighbouring
# pixels belong together, and a pattern means the same everywhere. A ViT has to learn most of this. In return, every
# patch can attend to every other from the first layer on.
#
# Let's race a ViT against a CNN. They have nearly equal numbers of parameters, and each sees 1,500 pictures once. We
# **augment** the pictures, which means that each one is shifted by up to two pixels, sometimes mirrored, and sometimes
# partly painted black.

# %% predict="vit_or_cnn"
torch.manual_seed(0)
vit, cnn = untrained_pair()
for name, model in (("ViT", vit), ("CNN", cnn)):
    print(name, f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% tags=["nbval-ignore-output"]
few, scores = clothes("train", 1500), {}
for name, model in (("ViT", vit), ("CNN", cnn)):
    train_pictures(model, few, epochs=1, peak_rate=3e-3, batch_size=25)
    scores[name] = accuracy(model, *test)

# %% tags=["hide-input", "nbval-ignore-output"]
lead = scores["CNN"] - scores["ViT"]
exercises.reveal(
    "vit_or_cnn", measured="equal" if abs(lead) < 0.02 else "cnn" if lead > 0 else "vit"
)
for name, score in scores.items():
    print(f"{name}: {score:.0%} of the test pictures")
runs = comparison()
numbers = sorted({run["pictures"] for run in runs})


def of(model, n):
    return torch.tensor([r["accuracy"] for r in runs if (r["model"], r["pictures"]) == (model, n)])


leads = [(of("cnn", n).mean() - of("vit", n).mean()).item() for n in numbers]
figure, ax = pyplot.subplots(figsize=(7, 4))
for model, colour, label in (("cnn", plots.ORANGE, "CNN"), ("vit", plots.BLUE, "ViT")):
    several = [100 * of(model, n) for n in numbers]
    low, high = [s.min() for s in several], [s.max() for s in several]
    ax.fill_between(numbers, low, high, color=colour, alpha=0.25, linewidth=0)
    means = [s.mean() for s in several]
    ax.plot(numbers, means, color=colour, marker="o")
    ax.annotate(label, (numbers[-1], means[-1]), (8, 0), textcoords="offset points", color=colour,
                va="center", fontweight="bold")  # fmt: skip
ax.set_xscale("log")
ax.set_xticks(numbers, [f"{n:,}" for n in numbers])
ax.minorticks_off()
ax.set(xlabel="pictures to train on", title="test accuracy in %, 12 s of computing per run")
for n, gap in zip(numbers, leads, strict=True):
    passes = sorted({run["epochs"] for run in runs if run["pictures"] == n})
    seen = " to ".join(str(n) for n in dict.fromkeys((passes[0], passes[-1])))
    print(f"{n:>6,} pictures: the CNN is ahead by {100 * gap:.1f} points, after "
          f"{seen} {'pass' if seen == '1' else 'passes'}")  # fmt: skip
notebook.claim(lead > 0.02)
assert all(0.135 < gap < 0.185 for gap in leads) and len(runs) == 18
notebook.show(
    figure,
    alt="Test accuracy against the number of training pictures, for a CNN and a ViT, with bands for "
    "three seeds. The CNN's curve is above the ViT's everywhere.",
    width=620,
)
notebook.tell("""Would more pictures help the ViT? The figure shows 18 other runs, three seeds per model and number
of pictures, and the CNN is ahead by 14 to 18 points however many pictures there are. All these runs had twelve seconds of
*computing time*, though, which is only enough to see 20,000 pictures about once. The ViT needs more training steps
than that, because it first has to learn what a neighbour is.""")

# %% [markdown]
# Does the ViT catch up when it's trained for longer? The ViT from the opening went through 18,000 pictures 45 times.
# The CNN that we trained for comparison went through them six times.

# %% tags=["hide-input", "nbval-ignore-output"]
card = wardrobe.card
print(f"ViT, {card['parameters']:,} parameters, {card['epochs']} passes: "
      f"{card['test_accuracy']:.1%} of 5,000 test pictures")  # fmt: skip
print(f"CNN, {card['cnn']['parameters']:,} parameters, {card['cnn']['epochs']} passes: "
      f"{card['cnn']['test_accuracy']:.1%}")  # fmt: skip
assert abs(card["test_accuracy"] - card["cnn"]["test_accuracy"]) < 0.01
assert card["epochs"] >= 7 * card["cnn"]["epochs"]

# %% [markdown]
# The ViT does catch up, and the small gap that's left could be chance. A ViT can learn what a CNN has built in. But
# its training took 14 minutes instead of the CNN's four, more than seven times as many passes, and another optimiser.
# Would a CNN pull ahead again if it were trained for as long? We haven't tested that.
#
# On photos, catching up also took more pictures. Dosovitskiy et al. (2021) pretrained both kinds of network on larger
# and larger sets. Their CNNs were ahead after a million photos. At 14 million the two were close, and at 300 million
# the ViT was ahead.
#
# > **Myth:** *A ViT needs hundreds of millions of pictures to match a CNN.* That was the recipe of 2020. A year later
# > **DeiT** (Touvron et al. 2021), a ViT trained on only a million photos, was about as accurate as a CNN, mainly
# > thanks to heavy augmentation. Having a CNN as its teacher helped further but wasn't necessary. Even labels can wait.
# > In **MAE** (He et al. 2022) a ViT first fills gaps without any labels, as BERT does, with three quarters of the
# > patches hidden. CNNs haven't been left behind, though. Trained with equal care, they keep up (Liu et al. 2022).

# %% [markdown]
# ## 5. Where does it look?
#
# An attention map can be drawn right over the picture, so it's tempting to read it as an explanation. But a single
# layer's map isn't the whole story, because the second layer mixes vectors that the first has already mixed.
# **Attention rollout** therefore multiplies the maps of all layers. Before that, each map is averaged with the
# identity matrix, because the residual connection lets every token keep its own vector.
#
# ### Your turn (5 min)


# %% tags=["exercise"]
def attention_rollout(weights):
    """(layers, H, T, T) -> (T, T)"""
    identity = torch.eye(weights.shape[-1])
    rollout = identity
    for layer in weights.mean(1):  # the heads' average, (T, T)
        mixed = (layer + ...) / 2  # ← fill the gap
        rollout = torch.matmul(mixed, ...)  # ← and this one
    return rollout


# %% tags=["hide-input", "nbval-ignore-output"]
from helpers.models.vit import attention_rollout as rolled
from helpers.pretrained.wardrobe import Wardrobe

some = slice(0, 200)
images, labels = test.images[some], test.labels[some]
bright = cut(images[:, None].float(), 4).mean(-1)  # (200, 49)


def follows(scores):
    """How closely do maps (200, 49) follow the brightness? Correlation per picture, either sign."""
    a, b = (x - x.mean(-1, keepdim=True) for x in (scores, bright))
    return ((a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))).abs().mean().item()


trained = rolled(wardrobe.attend(images))[:, 0, 1:]  # (200, 49): from the class token
random = []
for seed in range(3):
    torch.manual_seed(seed)
    another = Wardrobe(VisionTransformer(wardrobe.model.config))
    random.append(rolled(another.attend(images))[:, 0, 1:])
noise = torch.rand(200, 49, generator=torch.Generator().manual_seed(0))
chosen = [0, 3, 9, 17, 19, 22, 28, 31, 36, 40]


def two_rows(upper, lower, names, maps):
    """Draw ten small pictures above ten others."""
    figure, axes = pyplot.subplots(2, 10, figsize=(9.8, 2.3))
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    for row, (several, name, is_map) in enumerate(zip((upper, lower), names, maps, strict=True)):
        axes[row, 0].set_ylabel(name, fontsize=12)
        for column, i in enumerate(chosen):
            picture = several[i].reshape(7, 7) if is_map else several[i]
            axes[row, column].imshow(picture, cmap=plots.WEIGHTS if is_map else "gray")
    return figure


print(f"correlation with the brightness, trained model: {follows(trained):.2f}   "
      f"random numbers: {follows(noise):.2f}")  # fmt: skip
notebook.figure(
    two_rows(images, trained, ["picture", "trained"], [False, True]),
    alt="Ten pictures, and below each the class token's rollout in the trained model.",
    width=980,
)

# %% [markdown]
# In some of these maps you can make out the garment. To measure how closely a map follows the picture, we correlate
# it with the brightness of the patches. A negative correlation counts as much as a positive one, because a map can
# draw the garment light on dark or dark on light. The trained model's maps do far better than random numbers. But one
# comparison is missing.

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
by_random = [follows(one) for one in random]
middle, reached = sum(by_random) / 3, follows(trained)
exercises.reveal(
    "random_rollout",
    measured="less" if middle < reached - 0.1 else "more" if middle > reached + 0.1 else "same",
)
print(f"trained: {reached:.2f}   three draws of random weights:",
      ", ".join(f"{one:.2f}" for one in by_random))  # fmt: skip
assert min(by_random) > reached
notebook.show(
    two_rows(trained, random[1], ["trained", "random"], [True, True]),
    alt="Rollouts of ten pictures: the trained model above, random weights below. Both show "
    "outlines of garments.",
    width=980,
)
notebook.tell("""A model that has learned nothing draws the garments, too. Bright patches differ from black ones
whatever the matrices are, so the picture gets into the map by itself. A map with the shape of a boot doesn't show
that the model has learned anything about boots.""")

# %% [markdown]
# Are individual heads any different? Here is one of them. Each map shows how much weight every patch gets from the token
# with the orange frame. The dots are 20 models with random weights, and the second map is their median. Press other heads
# in the table. Where does training make a difference?

# %% tags=["hide-input", "nbval-ignore-output"]
PatchAttention(wardrobe, clothes("test", 12), picture=9, layer=2, head=3)

# %% [markdown]
# Does the trained model's map at least show which patches its answer depends on? As in lesson 06, we find out by
# intervening. We leave out 12 of the 49 patches, so that the model reads only 38 tokens, and each token keeps its
# position. Then we count how many pictures it still classifies correctly.


# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
@torch.no_grad()
def right_without(score, images, labels, k=12):
    """Share of right answers without the k patches that score highest."""
    kept = (-score).topk(49 - k, dim=-1).indices + 1
    kept = torch.cat(
        [torch.zeros(len(kept), 1, dtype=torch.long), kept], dim=1
    )  # the class token stays
    model = wardrobe.model
    x = model.embed(as_input(images))
    x = x.gather(1, kept[..., None].expand(-1, -1, x.shape[-1]))
    for layer in model.layers:
        x = layer(x)
    return (model.head(model.norm(x)[:, 0]).argmax(-1) == labels).float().mean().item()


def right_in_black(score, images, labels, k=12):
    """Share of right answers with the k patches that score highest painted black."""
    hidden = score.topk(k, dim=-1).indices
    patches = cut(images[:, None], 4).clone()
    patches.scatter_(1, hidden[..., None].expand(-1, -1, 16), 0)
    return accuracy(wardrobe.model, join(patches, 4, 7)[:, 0], labels)


def by_each_map(share_right):
    """The share of right answers for each way to choose the patches."""
    some_noise = torch.rand(5, 200, 49, generator=torch.Generator().manual_seed(0))
    return {
        "chance": sum(share_right(one, images, labels) for one in some_noise) / 5,
        "trained": share_right(trained, images, labels),
        "random": sum(share_right(one, images, labels) for one in random) / 3,
        "bright": share_right(bright, images, labels),
    }


left_out, in_black = by_each_map(right_without), by_each_map(right_in_black)
chosen_by = {name: share for name, share in left_out.items() if name != "chance"}
exercises.reveal("take_patches_away", measured=min(chosen_by, key=chosen_by.get))
print(
    f"right with all patches: {accuracy(wardrobe.model, images, labels):.0%} of these 200 pictures\n"
)
print(f"{'which 12 patches':38} {'left out':>9}   painted black")
for name, told in (("chance", "drawn at random"), ("trained", "chosen by the trained model's rollout"),
                   ("random", "chosen by random models' rollouts"), ("bright", "the brightest")):  # fmt: skip
    print(f"{told:38} {left_out[name]:9.0%} {in_black[name]:15.0%}")
notebook.tell("""The trained model's map does point at what the model needs. Without the patches that this map picks,
nearly half of the right answers are lost, far more than in any other row. Random maps show the garment
even better, and only the experiment tells you that the trained map also shows what the answer depends on.

Then look at the last column, where the patches were painted black instead of left out. Here the story is reversed,
because the model now misses the brightest patches most. But black isn't *nothing*. It's the background of every
picture and the gap between two trouser legs. Painting a bright patch black changes the picture far more than painting
a dark one, so this column mostly measures how much was repainted.""")
assert left_out["trained"] + 0.1 < min(left_out["random"], left_out["bright"]) < left_out["chance"]
assert in_black["bright"] < in_black["trained"]

# %%
exercises.quiz("what_rollout_shows")

# %% [markdown]
# <details><summary>Fine print</summary>
#
# In section 4, the ViT and the CNN of the longer comparison were trained once each, on one core, the ViT with Muon
# (lesson 14) and batches of 64, the CNN with AdamW and batches of 50. Our first ViT, with 25 passes, reached 84.7% on
# the same 5,000 test pictures. Because these pictures helped us to choose a model, the ViT's score might be a little
# too good. The order of the four ways to choose patches in section 5 was the same on the other 800 test pictures,
# with twelve other random models.
#
# </details>

# %% [markdown] my_parts=true
# ### What to take away
#
# - A patch plays the part of a word. It's cut out, flattened and sent through a linear layer. A convolution whose
#   kernel and stride are as wide as a patch does all that at once.
# - The class token starts as one learned vector, whatever the picture, and collects what it needs by attention.
# - Only the table of positions tells the model where a patch was. From the pictures, the model learns that the
#   positions form a grid.
# - With little training, a CNN of the same size does better. With more than seven times as many passes as a CNN, our
#   ViT reached the CNN's accuracy.
# - A map over a picture is a hypothesis. Compare it with the map of an untrained model, then leave patches out and
#   see what changes.
#
# $$z_0 = [\,x_\text{class};\; x_1 E;\; …;\; x_N E\,] + E_\text{pos}, \qquad
# \hat y = \mathrm{LN}(z_L)_0\, W$$
#
# Here $x_i$ is a flattened patch, $E$ the linear layer, $z_L$ the output of the last layer and $W$ the
# classifier.

# %% tags=["nbval-ignore-output"]
eight = [0, 1, 2, 13, 18, 22, 23, 40]
pictures = Pictures(test.images[eight], test.labels[eight])
model_map(wardrobe.trace(pictures.images[0], among=pictures), tour="15")

# %% [markdown]
# Press a patch to follow it through the model ("4,3" means row 4, column 3), or one of the eight small pictures to see
# that one read instead. The model misreads two of them. After which layer does its answer go astray?
#
# With *Leave out*, pressing a patch hides it from all tokens, so you can repeat section 5's experiment by hand. How many
# of the bluest patches can go before the ankle boot is called something else? And how many of the trousers' patches?
#
# This branch ends here. The main line goes on from lesson 14 to **lesson 16**, which asks what attention costs once a
# sequence is far longer than our 50 tokens.

# %% [markdown]
# ## Practice
#
# About 35 minutes, easiest first. Begin by cutting a picture. What do you gain from smaller patches, and what do they
# cost?

# %% quiz="tokens_of_a_picture convolution_as_patches what_the_class_token_holds"
PatchCutter()

# %% [markdown]
# ### Find the bug (3 min)
#
# The classifier below runs and can even be trained, but its loss soon stops falling. Look at the logits that it
# computes for three different pictures.


# %% tags=["exercise"]
def stuck_answer(patches, class_token, positions, encode, w):
    """patches (B, N, D), class_token (D,), positions (1 + N, D), w (D, n_classes) -> (B, n_classes)"""
    first = class_token.expand(len(patches), 1, -1)
    tokens = torch.cat([first, patches], dim=1) + positions
    answer = tokens[:, 0]  # the class token's vector
    tokens = encode(tokens)  # a stack of encoder layers
    return answer @ w


# %% tags=["trial", "hide-input"]
torch.manual_seed(0)
three, layer = torch.randn(3, 4, 8), EncoderLayer(8, 2, 16, 0.0, True).eval()
with torch.no_grad():
    print(stuck_answer(three, torch.randn(8), torch.randn(5, 8), layer, torch.randn(8, 3)))


# %% tags=["exercise"]
def grid_score(table, n_columns):
    """table (N, D) -> the share of rows whose most similar other row is a direct neighbour in the grid"""
    unit = table / table.norm(dim=-1, keepdim=True)
    similarity = (unit @ unit.T).fill_diagonal_(-2)  # no position is its own neighbour
    nearest = similarity.argmax(...)  # (N,)   ← fill the gap
    place = torch.arange(len(table))
    rows = (place // n_columns - nearest // n_columns).abs()
    columns = ...  # ← the same for columns
    return (rows + columns == ...).float().mean()  # ← and a number


# %% tags=["hide-input", "nbval-ignore-output"] quiz="patches_in_another_order"
grid_score = exercises.reference("grid_score")
random_tables = torch.stack([grid_score(torch.randn(49, 96), 7) for _ in range(200)])
print(f"trained table: {grid_score(trained_table[1:], 7):.2f}")
print(
    f"random tables: {random_tables.mean():.2f} on average, the best of 200 {random_tables.max():.2f}"
)
assert grid_score(trained_table[1:], 7) > random_tables.max()


# %% tags=["exercise"]
def unpatchify(patches, patch_size, n_rows):
    """(B, N, C·P·P) -> (B, C, height, width)"""
    ...


# %% tags=["exercise"]
def vit_parameters(image_size, patch_size, n_channels, n_classes, d_model, n_layers, d_ff):
    """-> how many numbers the model learns"""
    ...


# %% [markdown]
# According to table 1 of Dosovitskiy et al. (2021), ViT-Base has 86 million parameters. The course's `vit_parameters`
# agrees, and so does our own model when it's built at that size.

# %%
count = exercises.reference("vit_parameters")
print(f"{count(224, 16, 3, 1000, 768, 12, 3072):,}")

# %% tags=["hide-input"] quiz="five_hundred_leaves"
with torch.device("meta"):
    base = VisionTransformer(VitConfig())
assert sum(p.numel() for p in base.parameters()) == count(224, 16, 3, 1000, 768, 12, 3072)
assert round(sum(p.numel() for p in base.parameters()) / 1e6) in (86, 87)

# %% [markdown] quiz="why_not_pixels which_assumptions"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about ten minutes. Nothing later depends on it.
#
# ### A picture and a sentence in one space
#
# Our ten classes were fixed before training began. What if you'd like to search for *a bright dress* instead?
# **CLIP** (Radford et al. 2021) has no classes. It has two encoders instead, one for pictures and one for texts,
# whose vectors have equal width. The two are trained on batches of pictures with their captions, so that each
# picture's vector becomes most similar to that of its own caption, and each caption's vector to that of its own
# picture. To put this into a loss, CLIP makes a table of all the similarities in a batch and applies lesson 09's
# cross-entropy to it, once along the rows and once along the columns.
#
# Our captions name a picture's class and brightness, for instance *dark ankle boot*, and a small Transformer reads
# them. CLIP's pictures went through a ViT. Ours go through two linear layers, which train in seconds.

# %% tags=["hide-input"]
SHADES = ("dark", "grey", "bright")


def brightness(images):
    """The mean of a picture's pixels that aren't black, (N,)."""
    x = images.float().flatten(1)
    lit = x > 20
    return (x * lit).sum(1) / lit.sum(1).clamp(min=1)


train = clothes("train")
limits = brightness(train.images).quantile(torch.tensor([1 / 3, 2 / 3]))


def captions(pictures):
    shades = torch.bucketize(brightness(pictures.images), limits)
    return [f"{SHADES[s]} {CLASSES[c]}" for s, c in zip(shades, pictures.labels)]


every = sorted(f"{shade} {one}" for shade in SHADES for one in CLASSES)
words = {word: i for i, word in enumerate(sorted({w for text in every for w in text.split()}), 1)}


def ids_of(texts):
    rows = [torch.tensor([words[word] for word in text.split()]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)  # 0 is padding


# %%
class TwoEncoders(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        pixels = nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, d)
        self.of_picture = nn.Sequential(nn.Flatten(), *pixels)
        self.embedding, self.layer = nn.Embedding(20, d), EncoderLayer(d, 4, 2 * d, 0.0, True)
        self.sharpness = nn.Parameter(torch.tensor(2.0))  # its exponential multiplies the cosines

    def forward(self, pictures, ids):  # (P, 1, 28, 28), (C, S) -> similarities (P, C)
        x = self.layer(self.embedding(ids), (ids != 0)[:, None, None])
        captions = F.normalize(mean_pool(x, ids), dim=-1)
        return F.normalize(self.of_picture(pictures), dim=-1) @ captions.T * self.sharpness.exp()


# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
clip, inputs, texts = TwoEncoders(), as_input(train.images), ids_of(captions(train))
optimiser, own_one = torch.optim.AdamW(clip.parameters(), lr=2e-3), torch.arange(96)
for _ in range(300):
    rows = torch.randint(len(inputs), (96,))
    table = clip(inputs[rows], texts[rows])  # (96, 96), the right pairs on the diagonal
    loss = (F.cross_entropy(table, own_one) + F.cross_entropy(table.T, own_one)) / 2
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()

# %% tags=["hide-input", "nbval-ignore-output"]
with torch.no_grad():
    similar = clip.eval()(as_input(test.images), ids_of(every))  # (1000, 30)
said, true = [every[i] for i in similar.argmax(-1)], captions(test)
class_of = lambda text: text.split(" ", 1)[1]
same_class = sum(class_of(a) == class_of(b) for a, b in zip(said, true)) / len(true)
exactly = sum(a == b for a, b in zip(said, true)) / len(true)
print(
    f"the right one of 30 captions for {exactly:.0%} of the pictures, the right class for {same_class:.0%}"
)
wanted = ["bright dress", "dark ankle boot"]
best = [similar[:, every.index(text)].topk(6).indices for text in wanted]
notebook.claim(exactly > 0.5 and same_class > 0.7)
notebook.figure(
    show(test.images[torch.cat(best)], [t for text in wanted for t in (text, *[""] * 5)]),
    alt="The six test pictures closest to the caption bright dress, and the six closest to dark ankle boot.",
    width=620,
)

# %% [markdown]
# Our small CLIP works in both directions, and other seeds do about as well. You can pick the caption for a picture,
# or fetch the pictures for a caption. The real CLIP learned from 400 million pairs from the web, without any list of
# classes. If you want to sort pictures into classes of your own, write the class names as captions and take the
# nearest one for each picture. Many models that describe photos in a chat begin with an encoder of this kind.

# %% [markdown]
# **References.** Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words", arXiv:2010.11929 · Abnar and
# Zuidema (2020), "Quantifying Attention Flow in Transformers", arXiv:2005.00928 · Adebayo et al. (2018),
# "Sanity Checks for Saliency Maps", arXiv:1810.03292, for the control with random weights · Xiao et al.
# (2017), "Fashion-MNIST", arXiv:1708.07747; the pictures are Zalando's, MIT licence · Zhong et al. (2020),
# "Random Erasing Data Augmentation", arXiv:1708.04896 · Touvron et al. (2021), DeiT, arXiv:2012.12877 · He et al.
# (2022), "Masked Autoencoders Are Scalable Vision Learners", arXiv:2111.06377 · Liu et al. (2022), "A ConvNet for the
# 2020s", arXiv:2201.03545 · Radford et al. (2021), CLIP, arXiv:2103.00020.
