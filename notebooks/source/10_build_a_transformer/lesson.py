# %% [markdown]
# # Build a Transformer
#
# Beside your lessons there's a file that you've been writing all along. `my_transformer.py` holds every function of
# yours that has passed its check since lesson 02, from attention and masks to decoding and the loss. It doesn't do
# anything yet, because nothing calls these functions in the right order, and nothing holds the numbers that a model
# learns.
#
# Today you write what's missing, about sixty lines. Then your file trains a Transformer from scratch, runs the course's
# translator, gets broken on purpose and goes home with you. All it needs is PyTorch.
#
# By the end of these **120 minutes** you'll be able to
#
# - turn functions into modules that hold learned weights, and modules into a Transformer,
# - train it, write with it, and load weights that somebody else trained,
# - say what each part is for, because you've seen the model without it.
#
# This lesson builds on lessons 03 to 09. The six exercises take 54 minutes. Training, using and breaking what
# you've built takes about 45.

# %% tags=["hide-input"]
import math
import subprocess
import sys
import time

from IPython.display import display
from matplotlib import pyplot
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel

from helpers import exercises, plots
from helpers.clinic import examine
from helpers.data.captions import CAPTIONS
from helpers.exercises import lessons
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS, PAD
from helpers.widgets.model_map import model_map

at_work = lessons.module(10, "at_work")  # data, weights and pictures for the learner's file

# %% [markdown] warm_up=10
# ## Your file so far

# %%
exercises.my_parts()

# %% [markdown]
# A few parts might still be missing, perhaps because you skipped an exercise or changed machines. The next cell
# leaves whatever you wrote alone and fills the gaps with the course's versions, each under a comment that says so.
# Once your own version passes its check, it replaces ours.

# %% tags=["nbval-ignore-output"]
filled = exercises.fill_in()
print(f"{len(filled)} parts are the course's for now:", ", ".join(filled))
own = exercises.my_transformer()

# %% [markdown]
# The cell counts a few parts that the picture leaves out. They were never exercises, so they're written already and
# aren't yours to replace. One of them, `LayerNorm`, shows how a function becomes a **module**. Its `__init__` makes the
# tensors that will be learned, and its `forward` passes them to your `layer_norm`. Because those tensors are wrapped in
# `nn.Parameter`, PyTorch can list them for an optimiser.

# %%
print(exercises.my_source("LayerNorm"))

# %% [markdown]
# `FeedForward` does the same for your `feed_forward`, and `Embedding` looks up a row per id, multiplies it by
# $\sqrt{D}$ and adds your `sinusoidal_positions`.

# %% [markdown] tags=["notes"]
# **How to run this lesson.** Two hours in one session, or homework with a deadline. Opening 6 · six exercises
# 54, with 6 for what runs between them · training 10 · the translator's weights 8 · breaking it 10 ·
# the hunt 10 · taking it home 6 · questions 10. Pairs work well: one person types, the other calls out the shapes, and they swap
# after each exercise. Keep `my_transformer.py` open in a second tab.
#
# **Say first**: from here on nothing is thrown away. What passes is in your file, and the file is the model.
#
# **If you're running late**, skip the cache: `forward` without it passes no check, but
# `exercises.reference("MultiHeadAttention")` steps in. Section 10 and the questions can be homework.
#
# **Rubric**, 20 points.
#
# | | 0 | 1 | 2 |
# |---|---|---|---|
# | Parts of earlier lessons | fewer than half are theirs | most are | all are |
# | Several heads, without a cache | doesn't pass | with the solution's help | passes |
# | The cache | left out | works, can't say why | can say what it holds |
# | Encoder layer | doesn't pass | with help | passes |
# | Decoder layer | doesn't pass | with help | passes, and they can justify each mask |
# | The whole | doesn't pass | with help | passes |
# | Training loop | doesn't pass | with help | passes, and they can say what's shifted |
# | Writing | doesn't pass | with help | passes |
# | The file on the command line | doesn't run | translates | also trains |
# | Breaking it | not run | can name the effects | explains one that surprised them |

# %% [markdown]
# ## 1. Several heads, with a memory of their own
#
# Left to itself, a decoder computes the keys and values of all earlier words again for every new word. Yet those
# can't have changed, because the causal mask keeps later words from reaching earlier ones. The **cache** of lesson 08
# stores them and saves that work. Its place is in the attention module, where keys and values are made.

# %% tags=["checked-exercise"]
split_heads, merge_heads, scaled_dot_product_attention = (
    exercises.mine("split_heads"),
    exercises.mine("merge_heads"),
    exercises.mine("scaled_dot_product_attention"),
)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(
        self, x, source, mask=None, cache=None
    ): ...  # (B, T, D), (B, S, D), bool -> (B, T, D)


# %%
attention = exercises.mine("MultiHeadAttention")(d_model=8, n_heads=2)
x, source = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
print("3 tokens ask 5:", tuple(attention(x, source).shape))
weights = [name for name, _ in attention.named_parameters()]
print(len(weights), "tensors to learn:", ", ".join(weights))

# %% [markdown]
# ## 2. Two layers
#
# Both kinds of layer are built from sublayers, with a residual path around each. In lesson 07 you wrote that path as
# a function of `sublayer` and `norm`, which were functions themselves. Modules will do just as well:
# `self.network(x)` looks like a function call and runs the module's `forward`.

# %% tags=["checked-exercise"]
residual_pre_norm, MultiHeadAttention = (
    exercises.mine("residual_pre_norm"),
    exercises.mine("MultiHeadAttention"),
)
LayerNorm, FeedForward = exercises.mine("LayerNorm"), exercises.mine("FeedForward")


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        ...

    def forward(self, x, mask=None): ...  # (B, S, D), bool -> (B, S, D)


# %% tags=["checked-exercise"]
class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        ...

    def forward(
        self, x, memory, mask=None, memory_mask=None, cache=None
    ): ...  # (B, T, D), (B, S, D), bool, bool -> (B, T, D)


# %%
layers = {name: exercises.mine(name)(256, 4, 512) for name in ("EncoderLayer", "DecoderLayer")}
for name, layer in layers.items():
    print(f"{name}: {sum(p.numel() for p in layer.parameters()):,} numbers to learn")

# %% [markdown] tags=["notes"]
# **25 minutes** for sections 1 and 2. Most mistakes are in what the lambda uses: its own `h`, or the `x` around it. Ask:
# *what would change if it used x?* (The norm would be computed and ignored, and every shape would still fit.)

# %% [markdown]
# ## 3. The whole Transformer
#
# One embedding table serves the source, the target and the logits, as in section 3.4 of the paper. We've written
# `__init__` for you, because it only makes the parts.

# %% tags=["checked-exercise"]
padding_mask, decoder_mask = exercises.mine("padding_mask"), exercises.mine("decoder_mask")
EncoderLayer, DecoderLayer = exercises.mine("EncoderLayer"), exercises.mine("DecoderLayer")
Embedding = exercises.mine("Embedding")


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, pad_id=0):
        super().__init__()
        self.d_model, self.pad_id, sizes = d_model, pad_id, (d_model, n_heads, d_ff)
        self.embedding = Embedding(vocab_size, d_model)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.encoder_norm, self.decoder_norm = LayerNorm(d_model), LayerNorm(d_model)

    def encode(self, src_ids): ...  # (B, S) -> (B, S, D)

    def decode(
        self, tgt_ids, memory, memory_mask, cache=None
    ): ...  # (B, T) -> (B, T, V), or (B, 1, V) with a cache

    def forward(self, src_ids, tgt_ids): ...  # (B, S), (B, T) -> (B, T, V)


# %%
tiny = exercises.mine("Transformer")(vocab_size=10, d_model=8, n_heads=2, n_layers=2, d_ff=16)
logits = tiny(torch.tensor([[5, 6, 7, EOS]]), torch.tensor([[BOS, 8]]))
print("4 source ids, 2 target ids -> logits", tuple(logits.shape))

# %% [markdown]
# ## 4. The training loop
#
# A batch holds source ids and target ids. Your functions already contain everything that lesson 09 taught us about
# the loss. What's left is to feed the model. Which target tokens does the decoder read, and which tokens should its
# logits predict?

# %% tags=["checked-exercise"]
cross_entropy, warmup_rate = exercises.mine("cross_entropy"), exercises.mine("warmup_rate")


def train(model, batches, warmup_steps=150, show=print):
    """Take one step per batch (src_ids, tgt_ids), and return the losses."""
    ...


# %% [markdown]
# ## 5. Writing
#
# Your model returns logits, and your `greedy_decode` turns logits into ids. One more function joins the two.

# %% tags=["checked-exercise"]
greedy_decode = exercises.mine("greedy_decode")


def translate(model, src_ids, bos_id, eos_id, max_len, cache=None):
    """Write one translation: (1, S) -> list of ids."""
    ...


# %% [markdown] tags=["notes"]
# **29 minutes** for sections 3 to 5. Ask after section 4: *what would the loss do if the inputs weren't shifted?*
# (Fall to zero in a few dozen steps: each position reads its own answer. Let somebody try it.)

# %% [markdown]
# ## 6. Train it
#
# From here on, your file does everything. The sentences are in lesson 09's toy language. The model learns from 20,000
# of them and never sees the 100 that it will be tested on.

# %%
exercises.fill_in()
own = exercises.my_transformer()
lines, test_lines = at_work.toy_sentences(20_000, 100)
words = sorted({word for line in lines for side in line for word in own.words_of(side)})
pieces = ["<pad>", "<bos>", "<eos>", *words]
pairs = [(own.to_ids(a, pieces), [BOS, *own.to_ids(b, pieces)]) for a, b in lines]
print(f"{len(pieces)} pieces. The first pair: {lines[0][0]}  ->  {lines[0][1]}")
print(
    exercises.whose(
        "MultiHeadAttention", "EncoderLayer", "DecoderLayer", "Transformer", "train", did="trained"
    )
)

# %% [markdown] predict="after_a_minute"
# Training on 600 batches of 64 sentences takes a minute or two. Every hundred steps, the picture below shows where the
# last decoder layer looks while it writes an unseen sentence.
#
# Even at the end the steps are still large, and a single one can spoil sentences that the model already had right. To
# smooth that out, the cell takes the mean of six states of the model, 25 steps apart, as the paper did with its last
# five checkpoints (section 6.1). On some runs the newest state is just as good, and the mean changes nothing.


# %% tags=["hide-input"]
def looks(model, french, english):
    """Give the last cross-attention's weights, averaged over heads: (target, source)."""
    ids = torch.tensor([own.to_ids(french, pieces)])
    named = lambda ids: [own.to_text([i], pieces) or pieces[i] for i in ids]
    found = at_work.trace(own, model, ids, own.to_ids(english, pieces), named)
    if found is None:
        return None
    return found.decoder.layers[-1][1].heads.weights.mean(0), found.written, found.encoder.tokens


def drawn(model, step):
    """Draw where the model looks after so many steps."""
    seen = looks(model, *test_lines[0])
    figure, axes = pyplot.subplots(figsize=(6, 4.4), layout="constrained")
    if seen:
        plots.attention_heatmap(*seen, axes, f"after {step} steps", darkest=1.0, numbers=False)
    return notebook.figure(
        figure,
        alt=f"Cross-attention of the last layer after {step} steps: a row per English word, a column per French word.",
        width=520,
    )


def exact(model):
    """Tell for each unseen sentence whether it is translated exactly, word for word."""
    write = at_work.translator_of(own, model, pieces)
    return [write(french) == english for french, english in test_lines]


# %% tags=["nbval-ignore-output"]
notebook.set_seed(0)
model = own.Transformer(len(pieces), d_model=128, n_heads=4, n_layers=2, d_ff=256)
last_states = AveragedModel(model)
picture, start = display(drawn(model, 0), display_id=True), time.perf_counter()


def show(step, loss):
    if step >= 475 and step % 25 == 0:
        last_states.update_parameters(model)
    if step % 100 == 0:
        print(f"step {step:4}  loss {loss:.3f}  {time.perf_counter() - start:3.0f} s")
        picture.update(drawn(model, step))


losses = own.train(model, own.batches_of(pairs, 600, size=64), show=show)
model, newest = last_states.module, model

# %% tags=["hide-input", "nbval-ignore-output"]
# the measurement: click to see it
right, even = exact(model), math.log(len(pieces))
exercises.reveal("after_a_minute", measured=sum(right))
notebook.tell(
    f"""Guessing at random would cost {even:.1f}, but the first loss was {losses[0]:.1f}. The table that turns ids into
    vectors also turns vectors into logits, so an untrained model's highest logit belongs to the piece that it has just
    read. The model is sure that every word comes twice, and pays for it."""
)
print(
    f"the newest state translates {sum(exact(newest))} of 100, the mean of six states {sum(right)}"
)
write = at_work.translator_of(own, model, pieces)
for french, _ in test_lines[:3]:
    print(f"{french}\n   {write(french)}")
print(exercises.whose("translate", "greedy_decode", did="written"))

# %% [markdown]
# That model began as random numbers, and every line that changed them is in your file. Put a sentence of your own
# between the quotation marks, and find out which words the model knows.

# %% tags=["nbval-ignore-output"]
print(write("le chat noir dort ."))

# %% [markdown] tags=["notes"]
# **10 minutes.** The map starts grey and finds the diagonal after about two hundred steps. Then let pairs type a
# sentence in which the adjective follows its noun, such as *le chat noir dort .*, and say which rows leave the diagonal.

# %% [markdown]
# ## 7. The translator's weights in your code
#
# The course's translator and your model share one design, so you should be able to load its weights into yours. If
# your code is right, both then compute the same logits, except for rounding. A mistake in any part would show.

# %%
translator = load_translator()
sizes, weights = at_work.weights_of(translator)
mine = own.Transformer(*sizes)
mine.load_state_dict(weights)

src_ids = translator.encode([french for french, _ in CAPTIONS[:4]])
tgt_ids = torch.tensor([[BOS, 9, 5], [BOS, 7, 6], [BOS, 40, 300], [BOS, 8, PAD]])
with torch.inference_mode():
    difference = (mine(src_ids, tgt_ids) - translator.model(src_ids, tgt_ids)).abs().max().item()
print(
    "largest difference between your logits and the course's: below 1e-4"
    if difference < 1e-4
    else f"the logits differ by {difference:.2g}: which part isn't right yet?"
)

# %%
say = at_work.translator_of(own, mine, at_work.pieces_of(translator.tokenizer))
for french, _ in CAPTIONS[:3]:
    print(f"{french}\n   {say(french)}")

# %% [markdown]
# Try a sentence of your own. The translator was trained on captions only, so describe something that you could
# photograph.

# %%
my_sentence = "Un chien noir court dans la neige."
english = say(my_sentence)
print(english)

# %% [markdown]
# The map below is the one from lesson 00. This time, every number in it was computed by your functions, inside your
# model.

# %% tags=["hide-input"]
mine_traced = at_work.trace(
    own, mine, translator.encode([my_sentence]), translator.tokenizer.encode(english, eos=True),
    translator.tokenizer.tokens,
)  # fmt: skip
print(exercises.whose("MultiHeadAttention", "EncoderLayer", "DecoderLayer", "Transformer"))
model_map(mine_traced or translator.trace(my_sentence), tour="07")

# %% [markdown]
# ## 8. Break it
#
# The next cell has six ways to change your file, a line or two each. Each leaves out or replaces something that
# lessons 04 to 08 gave the model. The GELU in the list is a smoother curve than ReLU that many later models use. We
# make one change at a time and let the model translate twenty captions.

# %%
switches = {
    "04 no √d": {
        "scaled_dot_product_attention": lambda q, k, v, mask=None: scaled_dot_product_attention(
            q * math.sqrt(q.shape[-1]), k, v, mask
        )
    },
    "05 no positions": {"sinusoidal_positions": torch.zeros},
    "06 heads merged without turning back": {
        "merge_heads": lambda x: x.reshape(len(x), x.shape[2], -1)
    },
    "07 post-norm": {"residual_pre_norm": exercises.mine("residual_post_norm")},
    "08 no causal mask": {"causal_mask": lambda length: torch.ones(length, length).bool()},
    "GELU for ReLU": {
        "feed_forward": lambda x, w_1, b_1, w_2, b_2: F.gelu(x @ w_1 + b_1) @ w_2 + b_2
    },
}

# %%
exercises.predict("the_silent_switch")

# %%
exercises.predict("writing_without_the_mask")


# %% tags=["hide-input"]
# the measurement: click to see it
def captions_with(switch, most=30):
    """Translate twenty captions with a switch thrown, without a cache; stop where it never ends."""
    with at_work.switched(own, **switch), torch.inference_mode():
        broken = own.Transformer(*sizes)
        broken.load_state_dict(weights)
        ids = [translator.encode([french]) for french, _ in CAPTIONS]
        return [
            translator.tokenizer.decode(own.translate(broken, one, BOS, EOS, most)) for one in ids
        ]


whole = captions_with({})
written = {name: captions_with(switch) for name, switch in switches.items()}
same = {name: sum(map(str.__eq__, found, whole)) for name, found in written.items()}
silent = [name for name, n in same.items() if n == len(whole)]
exercises.reveal(
    "the_silent_switch",
    measured={"04": "scale", "05": "positions", "08": "mask", "GE": "gelu"}.get(
        silent[0][:2] if len(silent) == 1 else "", "gelu"
    ),
)
exercises.reveal("writing_without_the_mask", measured=same["08 no causal mask"])
notebook.table(
    [
        [name, f"{n} of {len(whole)}", written[name][0][:60] or "(nothing)"]
        for name, n in same.items()
    ],
    ["switch", "as before", "the first caption"],
)
scale, positions, heads, post_norm, _, gelu, *_ = same.values()
notebook.claim(heads == post_norm == 0 and positions < scale < 17 < gelu)

# %% [markdown]
# Two of the changes leave no caption intact, and you'd spot those at a glance. The dangerous ones are quiet. A model
# that attends to what it shouldn't, or that has the wrong curve in its feed-forward network, still writes good
# English, so you won't find the mistake by reading its translations. You'll find it by comparing its logits with
# those of a correct model, as in section 7.
#
# **Your turn.** Change one of the six, or add a seventh. You could silence a head, drop the residual path, or count
# the positions from one. What do you expect, before you run it?

# %% [markdown] tags=["notes"]
# **10 minutes.** What people should remember: *compare with something that's known to be right, part by part*. Let each
# pair plant a switch, swap places with another pair, and find theirs.

# %% [markdown]
# ## 9. Find it without an answer key
#
# The course's logits were an answer key, and your next model won't have one. You can still question the model
# itself: change a token, and see which outputs move. The model below has two layers and random weights, and one of
# your functions has been swapped for a faulty one.

# %% predict="what_is_planted"
probed = own.Transformer(len(pieces), d_model=128, n_heads=4, n_layers=2, d_ff=256)
src_ids = torch.tensor([[9, 30, 12, 41, 7, EOS]])
tgt_ids = torch.tensor([[BOS, 22, 35, 8, 50, 17]])
with at_work.switched(own, **at_work.PLANTED), torch.no_grad():
    before = probed(src_ids, tgt_ids)
    for place in range(6):
        changed = tgt_ids.clone()
        changed[0, place] = 10
        moved = (probed(src_ids, changed) - before).abs().amax(-1)[0] > 1e-6
        print(f"target token {place} changed, these outputs move:", *moved.nonzero()[:, 0].tolist())

# %% [markdown]
# The **clinic** asks such questions for you. When an output moves although it shouldn't, the clinic follows the
# change through the modules to the first one at fault, and examines that module on its own. Like your file, the
# clinic needs nothing but PyTorch, and it works on Transformers from outside this course, too.

# %% tags=["nbval-ignore-output"]
size = {"kind": "encoder-decoder", "vocab_size": len(pieces), "pad_id": PAD, "max_len": 20}
with at_work.switched(own, **at_work.PLANTED):
    report = examine(probed, **size)
report

# %% tags=["hide-input"]
told = " ".join(cause for finding in report.findings for cause in finding.likely)
exercises.reveal(
    "what_is_planted",
    measured="none" if "no causal mask" in told else "two" if "2 too wide" in told else "one",
)

# %% [markdown]
# What does the clinic say about your own file, with nothing swapped?

# %% tags=["nbval-ignore-output"]
examine(probed, **size)

# %% [markdown]
# Unless you've changed the `Embedding` in your file, the clinic reports one finding, the cause of that surprising first
# loss in section 6. No translation ever showed this fault, because training repairs it within a hundred steps. Smaller
# embeddings repair it from the start, in one line:

# %% tags=["nbval-ignore-output"]
nn.init.normal_(probed.embedding.table, std=0.02)
examine(probed, **size)

# %% [markdown]
# Page 96, *The clinic*, has twelve more patients, and you can copy the folder `helpers/clinic` into any project.

# %% [markdown] tags=["notes"]
# **10 minutes.** Let people read the lines aloud before they look at the options. Ask: *why do two more outputs
# move, when each layer looks one too far?* (The second layer reads vectors that have already read one too far.)

# %% [markdown]
# ## 10. Take it home
#
# The first cell below writes two files beside yours. One holds the translator's weights and its vocabulary of pieces,
# the other holds sentence pairs to train on. The second cell calls Python as you would in a terminal, without any of
# the course's code.

# %%
folder = exercises.my_folder()
at_work.export(folder, translator, lines)
print(sorted(path.name for path in folder.iterdir() if path.suffix in (".pt", ".tsv")))

# %% tags=["nbval-ignore-output"]
alone = [sys.executable, "-I", "-X", "utf8"]  # a Python that finds installed packages only
command = [*alone, "my_transformer.py", "un chien noir court"]
found = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
print(exercises.in_terminal('my_transformer.py "un chien noir court"'))
print("  ", found.stdout.strip() or found.stderr[-500:])

# %% [markdown]
# The line above works in a terminal, too, in the folder of your lessons (in JupyterLab, *File, New, Terminal*, then
# `cd my_lessons`). With `--train pairs.tsv` in place of the sentence, the file trains a model from scratch and writes it
# to `trained.pt`. Each line of `pairs.tsv` holds a sentence, a tab and its translation. A number after `pairs.tsv` sets
# how many batches it trains on. Once the training is done, `"le chat dort ." trained.pt` translates with the result.
# You can copy the folder to any machine with Python and PyTorch.

# %%
exercises.my_parts()

# %% [markdown]
# ## Questions

# %%
exercises.quiz(
    "order_of_an_encoder_layer",
    "scores_of_cross_attention",
    "scores_with_a_cache",
    "weights_that_do_not_fit",
    "same_tokens_other_logits",
    "where_a_bug_hides",
)

# %% [markdown] quiz="why_check_each_part"
# ### To discuss in pairs

# %% [markdown]
# ## Myth or fact?
#
# **"If it runs and all shapes fit, it's right."** You've just seen six models that weren't right, and all six ran
# without complaint. One even wrote every caption as before.

# %% [markdown]
# ## What to take away
#
# - A module holds what's learned and passes it to a function. The functions were the hard part, and you already had
#   those.
# - The encoder turns $(B, S)$ ids into a $(B, S, D)$ memory. The decoder turns $(B, T)$ ids and the memory into
#   $(B, T, V)$ logits. A loop turns logits into sentences.
# - With a cache, each step computes only the newest position, and the model still writes the same tokens.
# - Weights work only in the design that they were trained in.
# - To find a mistake, compare numbers with a model that you know is right. Without one, change a token and see which
#   outputs move.
#
# You've built the Transformer of 2017. Only the norms have moved to the front of their sublayers, as in most models
# since. In lesson 14, a few changed lines turn your file into a GPT.
#
# One decision was made before your model saw its first sentence. Its text came in pieces, and somebody else had
# chosen where to cut. In **lesson 11** you do the cutting.
#
# **References**
#
# - Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762.
# - Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745.
# - Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
# - Hendrycks, Gimpel (2016), "Gaussian Error Linear Units (GELUs)", arXiv:1606.08415.
