# %% [markdown]
# # The clinic
#
# A Transformer with a mistake in it doesn't crash. It trains, its loss falls, and then it writes rubbish. In six public
# implementations, the heads were merged without a transpose, and the authors' own test still passed. How do you find
# such a line in your own model, for which nobody has an answer key?
#
# You experiment on the model. Change one word and see which outputs move. If an earlier output does, the model reads
# the future, whatever its code looks like. On this page you write three such experiments, called *probes*. Then you
# examine twelve *patients*, which are faulty models rebuilt from public bug reports, and finally your own model.
#
# Allow **50 minutes**. You need lessons 04 to 09, and the bug hunt in lesson 10 is good preparation.

# %% tags=["hide-input"]
import torch

from helpers import exercises
from helpers.clinic import examine
from helpers.exercises import lessons
from helpers.models.patients import admit
from helpers.models.ward import Reader, Writer
from helpers.pretrained.measured import measured
from helpers.widgets.ward_round import WardRound

ORGAN_OF = lessons.module(96, "questions").ORGAN_OF

# %% [markdown] tags=["notes"]
# **50 minutes**: probes 14, ward round 6, patients 20, your own model 5, the table 5. **Say**: nobody in the room has
# an answer key for their own model, and nobody ever will. **Ask** before section 1: "What could you change in the input
# that must not change this output?" **Play** section 3 by show of hands: read the complaint aloud, vote for the part of
# the model that's at fault, and then run the cell. **If you're running late**, take only patients 5, 8 and 11.

# %% [markdown]
# ## 1. Three probes
#
# Here is a small decoder with random weights. We give it a sentence, replace the last word, and see which outputs have
# moved.

# %%
writer = Writer().eval()
sentence = torch.tensor([[7, 12, 3, 31, 8, 20]])
changed = sentence.clone()
changed[:, -1] = 9
with torch.no_grad():
    moved = (writer(changed) - writer(sentence)).abs().amax(-1)
print([f"{m:.0e}" if m else "0" for m in moved[0].tolist()])

# %% [markdown]
# Only the last output moves. The others aren't merely close to what they were. They agree to the last bit, because a
# masked weight is exactly 0. That's what makes the test so sharp. In a healthy model the difference is 0, and in a
# faulty one it's usually a thousandth or more, so nobody has to argue about a threshold. The model doesn't even have to
# be trained.
#
# Your first probe returns the largest of the differences that should be 0.


# %% tags=["exercise"]
def future_leak(model, ids, new_token):
    """model maps ids (B, T) to outputs (B, T, D) -> a scalar tensor"""
    ...


# %% [markdown]
# Now run your probe on the healthy decoder, and on a patient whose owner forgot the mask.

# %%
probe = exercises.mine("future_leak")
leaky = admit("no mask")[0].eval()
with torch.no_grad():
    for name, model in (("healthy", writer), ("patient", leaky)):
        print(f"{name}: an earlier output moves by {probe(model, sentence, 9):.2f}")

# %% [markdown]
# The second probe is for encoders. A short sentence is padded to the length of the longest one in its batch, and the
# padding must not change any real word's output.


# %% tags=["exercise"]
def padding_leak(model, ids, pad_id, n_pads):
    """model maps ids (B, T) to outputs (B, T, D) -> a scalar tensor"""
    ...


# %%
probe = exercises.mine("padding_leak")
with torch.no_grad():
    for name, model in (
        ("healthy", Reader().eval()),
        ("patient", admit("short sentences")[0].eval()),
    ):
        print(f"{name}: a real word's output moves by {probe(model, sentence, 0, 4):.1g}")

# %% [markdown]
# Here a healthy model needn't score exactly 0. With padding, each sum has more terms. The extra ones are 0, but the
# computer may now add up the others in a different order, and that can change the seventh digit.
#
# The third probe asks whether the sentences of a batch are kept apart. If you forget `batch_first=True`, attention runs
# from one sentence to another, and nothing in the training gives it away.


# %% tags=["exercise"]
def batch_leak(model, ids, new_row):
    """model maps ids (B, T) to outputs (B, T, D); new_row (T,) -> a scalar tensor"""
    ...


# %%
probe = exercises.mine("batch_leak")
layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0)  # batch_first is missing
three_sentences = torch.randint(1, 50, (3, 6))
table = torch.nn.Embedding(50, 32)
with torch.no_grad():
    print(
        f"another sentence's output moves by {probe(lambda ids: layer(table(ids)), three_sentences, sentence[0]):.2f}"
    )

# %% [markdown]
# ## 2. From "something is wrong" to a place
#
# A leak at the output doesn't tell you which of a hundred modules is at fault. To find out, change one word and follow
# the change upwards from module to module. Stop at the first one that's given what it should be given, and returns
# something that it shouldn't.
#
# The widget below changes every word of a sentence in turn, and shows which positions of each module's output move. Each
# row stands for an output position, and each column for the word that was changed. Orange marks what a
# healthy model would do differently: in a decoder, a word is allowed to move only its own position and later ones. Four of this page's
# twelve patients give themselves away like this, and two newcomers, whose faults lie elsewhere, wait beside them. Each
# patient opens with a symptom. Look at other modules until you know where the trouble begins, then name the fault. Each look pays
# for one guess, and the fewer of both you need, the better. In the other eight patients, only the right positions move.

# %%
WardRound()

# %% [markdown]
# `examine` does this for you. It follows the change, finds the module, and then runs that module alone on inputs made
# for the purpose. It makes each query attend to a single key, for instance, which shows whether heads are scrambled.
# Its report says what's wrong and where, gives the evidence, and names the line to look at.

# %%
model, options = admit("no mask")
print(options)
examine(model, **options)

# %% [markdown]
# ## 3. Twelve patients
#
# Each of these models was rebuilt from a public bug report. The facts come from the report, but the code is ours. A
# model's *organs* are its masks, the inside of attention, the stack of layers, and what training sees. Read what the
# owner says, guess which organ is ill, and then examine the patient. The first patients show symptoms in their loss or
# in what they write. With the last ones, the loss looks fine.

# %% [markdown]
# You've already met two of the twelve: the decoder without a mask, examined above, and the encoder that reads padding.
# Here is the clinic's report on that encoder.

# %%
model, options = admit("short sentences")
examine(model, **options)

# %% [markdown] predict="organ_output"
# ### Patient 3

# %%
model, options = admit("output")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_output", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_flipped"
# ### Patient 4

# %%
model, options = admit("flipped")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_flipped", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_evaluation"
# ### Patient 5

# %%
model, options = admit("evaluation")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_evaluation", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_bag_of_words"
# ### Patient 6

# %%
model, options = admit("bag of words")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_bag_of_words", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_one_layer"
# ### Patient 7

# %%
model, options = admit("one layer")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_one_layer", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_copying"
# ### Patient 8

# %%
model, options = admit("copying")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_copying", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_columns"
# ### Patient 9

# %%
model, options = admit("columns")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_columns", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_too_late"
# ### Patient 10

# %%
model, options = admit("too late")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_too_late", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_heads"
# ### Patient 11

# %%
model, options = admit("heads")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_heads", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown] predict="organ_too_soft"
# ### Patient 12

# %%
model, options = admit("too soft")
report = examine(model, **options)
report

# %% tags=["hide-input"]
exercises.reveal("organ_too_soft", measured=ORGAN_OF[report.findings[0].name])

# %% [markdown]
# ## 4. Your own model
#
# Now it's your model's turn. Import it in the first line of the next cell, say what kind it is, and run the cell.
# Until you do, the cell examines a healthy decoder.

# %%
my_model = Writer()  # from my_transformer import Transformer, for instance
report = examine(my_model, kind="decoder", vocab_size=50, pad_id=0, max_len=64)
report

# %% [markdown]
# | `kind` | what the model is given | what it returns |
# |---|---|---|
# | `"encoder-decoder"` | `(src_ids, tgt_ids)` | logits (B, T, V) |
# | `"decoder"` | `(ids)` | logits (B, T, V) |
# | `"encoder"` | `(ids)` or `(ids, mask)` | (B, T, D), or one vector per sentence |
# | `"vision"` | `(pictures)`, with `image_size` and `patch_size` set | (B, patches, D), or classes |
# | `"attention"` | `(query, key, value, mask)`, with `d_model` set | (B, T, D) |
#
# If your model takes other arguments, pass `call=lambda model, ids: …`. Hugging Face's models are recognised. The
# clinic can examine more if you tell it more:
#
# - With `loss=`, a function of `(model, ids)`, the clinic also examines your training loss. To do so, it replaces the
#   model's logits with some of its own, whose gradient shows which target the loss expects at each position.
# - With `cached=`, a function of `(model, ids)`, the clinic checks that decoding one token at a time with a cache gives
#   the same numbers as a single pass.
# - If your design is unusual on purpose, say so with `window=`, `prefix=`, `causal=False`, `positions=False`,
#   `scaled=False`, `shared_layers=True` or `batch_first=False`.
#
# The clinic leaves the model as it found it, including its weights, its mode and the random state. The folder
# `helpers/clinic` needs nothing but PyTorch and is meant to be copied into your project, where a test takes a single
# line:
#
# ```python
# def test_my_model_is_healthy():
#     examine(MyModel(), kind="decoder", vocab_size=97, max_len=64).assert_healthy()
# ```
#
# ## 5. How far can you trust it?
#
# We rebuilt 25 bugs from public reports. Twelve are the patients above, on which the clinic was developed. The other
# thirteen were written before the clinic ran for the first time, in another style of code, and then set aside. For
# comparison, we ran two packages that check PyTorch models on the same 25: `torchtest`, and those checks of
# `neural_net_checklist` that apply to the model. We say that a package notices a bug if one of its checks fails on the
# faulty model and passes on the healthy one from which that model was made.

# %% tags=["hide-input"]
compared = measured("clinic")
for group, rows in compared.items():
    notebook.tell(f"**{group}**")
    notebook.table(
        [
            [
                f"[{row['finding']} ({row['report'].split('/')[3]})]({row['report']})",
                "named" if row["named"] else "missed",
                f"`{row['place'] or 'forward'}`",
                "a check fails" if row["torchtest"] else "",
                ", ".join(row["checklist"]),
            ]
            for row in rows
        ],
        ["what was reported", "clinic", "place", "torchtest", "neural_net_checklist"],
    )
everybody = [row for rows in compared.values() for row in rows]
assert all(row["named"] for row in everybody)
assert (len(everybody), sum(bool(row["checklist"]) for row in everybody)) == (25, 10)

# %% [markdown]
# The clinic names all 25 bugs. The checklist notices ten of them, mostly because it tests causality and whether
# sentences are independent, but it doesn't say where the fault is. `torchtest` looks for weights that don't change and
# for NaN, which catches the decoder that never reads its source.
#
# A clean report isn't proof of health. The clinic examines which outputs depend on which inputs, and what happens
# inside attention. It doesn't know whether your tokeniser, your data or your learning rate is right, and
# it doesn't notice a missing residual path, or a layer that is never called.

# %% [markdown]
# <details><summary>Fine print</summary>
#
# We chose the reports and rebuilt all 25 bugs ourselves, and a model that someone else wrote may hide its bug better.
# For one of the thirteen, our own note said that the bug was in the attention layer. The clinic named the model's own
# `forward`, which is indeed where we had made the edit, and we corrected our note. A few of our healthy models fail the
# checklist's test of the loss at the start, so we left that test out for them. In a trained model, a missing 1/√K can't
# be detected, because the weights can make up for it, as T5's do from the start. The report then says so.
#
# </details>

# %% [markdown]
# ## What the names mean
#
# | Finding | What it means |
# |---|---|
# | sees the future | an output moves when a later token changes |
# | past ignored | an output doesn't move when an earlier token changes |
# | padding counts | a real word's output depends on padding |
# | sentences mixed | one sentence of a batch moves another |
# | source ignored | no output depends on the source |
# | source misaligned | outputs depend on only part of the source, or on another sentence's |
# | order unseen | swapping words makes no difference |
# | heads scrambled | splitting or merging heads mixes positions |
# | softmax over queries | a query's weights don't sum to 1 |
# | mask inverted | a position attends where it mustn't |
# | mask after softmax | the softmax's denominator includes hidden keys |
# | norm over the wrong axis | a norm averages over positions instead of features |
# | not scaled | no 1/√K, or another factor |
# | dropout in evaluation | in evaluation mode, two runs on the same input give different outputs |
# | training differs from inference | training mode computes something else, even without dropout |
# | layers shared | one layer's weights are used in two places |
# | no gradient | some weights never learn |
# | loss at the start | before any training, the model is confident and wrong |
# | probabilities instead of logits, targets not shifted | what training sees is wrong |
# | cache disagrees | decoding one token at a time gives different numbers from a single pass |
