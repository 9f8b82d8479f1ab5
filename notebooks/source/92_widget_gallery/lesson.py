# %% [markdown]
# # Every widget of the course
#
# On this page you can try all the widgets, show them to a class, or copy the call into your own notebook.
# Each widget takes one line of Python. If you give it a name, as with `view` below, you can read and set its
# state from the next cell. Allow **10 minutes** to play.

# %%
import torch

from helpers.models import assistant
from helpers.transformer import decoding
from helpers.data.captions import CAPTIONS
from helpers.data.clothes import clothes
from helpers.training.genre_training import train_genres
from helpers.training.genres import GenreClassifier, genre_windows, tokenized
from helpers.pretrained import toy_models
from helpers.pretrained.assistant import load_assistant
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.reader import load_reader
from helpers.pretrained.sentiment import load_sentiment
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.translator import load_translator
from helpers.pretrained.wardrobe import load_wardrobe
from helpers.widgets.attention_patterns import AttentionPatterns
from helpers.widgets.attention_view import attention_view
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.chat_box import ChatBox
from helpers.widgets.decoding_explorer import DecodingExplorer
from helpers.widgets.dot_products import DotProducts
from helpers.widgets.drum_roll import DrumRoll
from helpers.widgets.endless_story import EndlessStory
from helpers.widgets.head_switches import HeadSwitches
from helpers.widgets.kernel_regression import KernelRegression
from helpers.widgets.loss_explorer import LossExplorer
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.merge_stepper import MergeStepper
from helpers.widgets.model_map import model_map
from helpers.widgets.patches import PatchAttention, PatchCutter
from helpers.widgets.patching import PatchingGrid
from helpers.widgets.positions_explorer import PositionExplorer
from helpers.widgets.rnn_stepper import RNNStepper
from helpers.widgets.shape_tracer import ShapeTracer
from helpers.widgets.six_steps import SixSteps
from helpers.widgets.softmax_scale import ScaleExplorer, SoftmaxTemperature
from helpers.widgets.span_explorer import SpanExplorer
from helpers.widgets.tokenizers_side_by_side import TokenizersSideBySide
from helpers.widgets.ward_round import WardRound
from helpers.widgets.word_flipper import WordFlipper

translator = load_translator()
sentence = CAPTIONS[0][0]

# %% [markdown]
# ## The map of the whole model
#
# Click on a layer, then on a head, then on a score. There are four levels, and <kbd>Esc</kbd> takes you back.
# Click on a token to follow it, press *play*, or take the tour. A layer's norms and neurons open as well, and in the
# logits of the next token you can change the temperature. Run the cell, and you can also type a sentence of your own,
# make the model write another token, see a head's matrices, and, in this translator, switch a head off or ask "Why
# this weight?".

# %% tags=["nbval-ignore-output"]
whole = model_map(translator.trace("Un chien court."))
whole

# %% [markdown]
# From Python, `whole.follow` follows a token, as a click does: here the row of *dog*, which writes *is*. Look at
# the map above. `whole.place` and `whole.stop` open a place and go to a step of the tour. With
# `model_map(trace, here="…")`, a lesson highlights the part that it builds and dims the rest.

# %% tags=["nbval-ignore-output"]
whole.follow = "decoder:2"

# %% [markdown]
# The same map shows an encoder alone (`minilm.trace("…")`), a GPT that draws one token after the other
# (`storyteller.trace("…")`), a Vision Transformer (`wardrobe.trace(picture)`) and the recurrent pair of lesson 02.

# %% tags=["nbval-ignore-output"]
model_map(toy_models.load_toy("additive").trace("le chat noir dort ."), written=1)

# %% [markdown]
# ## The attention view
#
# It shows any weights of shape (layers, heads, queries, keys), from any model.

# %%
view = attention_view(translator.attend(sentence), tab="cross", layer=2)
view

# %% [markdown]
# You can change the view above from Python. Python counts layers and heads from 0, but the view counts them
# from 1.

# %%
view.head = 1
print("layer", view.layer, "head", view.head, "weights", view.weights.shape)

# %% [markdown]
# ## An RNN translator, step by step (lesson 01)

# %%
gru = toy_models.load_toy("gru")
RNNStepper(gru.model, gru.source, gru.target, "le chat noir dort .")

# %% [markdown]
# ## Bahdanau's look back (lesson 02)

# %%
looking = toy_models.load_toy("additive")
BahdanauStepper(looking.model, looking.source, looking.target, "le chat noir voit le chien .")

# %% [markdown]
# ## Dot products in a plane (lesson 03)

# %%
DotProducts()

# %% [markdown]
# ## A softmax and its temperature (lesson 03)

# %%
SoftmaxTemperature()

# %% [markdown]
# ## Attention as kernel regression (lesson 03)

# %%
KernelRegression(width=1.0)

# %% [markdown]
# ## Six steps for one word (lesson 03)

# %%
SixSteps()

# %% [markdown]
# ## Width and scale (lesson 04)

# %%
ScaleExplorer()

# %% [markdown]
# ## Masks (lesson 04)

# %%
MaskBuilder()

# %% [markdown]
# ## Positions (lesson 05)

# %%
PositionExplorer()

# %% [markdown]
# ## Heads on and off (lesson 06)

# %%
HeadSwitches(translator, CAPTIONS[:4], alone=True)

# %% [markdown]
# ## Every tensor's shape (lesson 07)

# %%
ShapeTracer(translator)

# %% [markdown]
# ## Decoding (lesson 08)

# %%
station = "Des gens attendent le train dans une grande gare."
DecodingExplorer(translator, station, step=10)

# %% [markdown]
# ## Loss (lesson 09)

# %%
LossExplorer()

# %% [markdown]
# ## Byte-pair encoding, merge by merge (lesson 11)

# %%
MergeStepper(step=1)

# %% [markdown]
# ## One text, several tokenizers (lesson 11)

# %%
minilm = load_minilm()
cutters = {
    "characters": list,
    "translator": lambda text: translator.tokenizer.tokens(translator.tokenizer.encode(text)),
    "MiniLM": lambda text: minilm.tokenizer.encode(text, add_special_tokens=False).tokens,
}
TokenizersSideBySide(cutters)

# %% [markdown]
# ## What one word changes (lesson 12)

# %% tags=["nbval-ignore-output"]
WordFlipper(load_sentiment(), "the plot barely works")

# %% [markdown]
# ## Start and end of an answer (lesson 13)

# %% tags=["nbval-ignore-output"]
made = "Jim Henson made puppets in London, and Frank Oz made his in New York."
asked = {
    "Which people?": "Which people made puppets?",
    "Where?": "Where were puppets made?",
    "When?": "When did they make puppets?",
}
SpanExplorer(load_reader(), asked["Which people?"], made, asked)

# %% [markdown]
# ## An endless story (lesson 14)

# %% tags=["nbval-ignore-output"]
EndlessStory(load_storyteller(), length=250, temperature=0.0)

# %% [markdown]
# ## A picture as a row of patches (lesson 15)

# %%
PatchCutter()

# %% [markdown]
# ## Where a patch attends, and where random weights do (lesson 15)

# %% tags=["nbval-ignore-output"]
wardrobe = load_wardrobe()
PatchAttention(wardrobe, clothes("test", 12), picture=9, layer=2, head=3)

# %% [markdown]
# ## Patterns of attention (lesson 16)

# %%
AttentionPatterns()

# %% [markdown]
# ## Drums and a classifier's attention (lesson 17)
#
# The classifier here has trained on a third of the windows, in one pass, and on none of the performances shown.
# Lesson 17 trains one for longer and measures how far its answers can be trusted.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
windows, shown = genre_windows(), [52, 1469, 926, 399]
others = ~torch.isin(windows.performances, windows.performances[shown])
classifier = GenreClassifier()
train_genres(classifier, tokenized(windows), windows, others.nonzero()[::3, 0], 1, progress=False)
DrumRoll(classifier, windows, shown, layer=2)

# %% [markdown]
# ## A message in the chat template (lesson 18)
#
# You give the box a function for each model, which takes a list of ids and returns the ids that come next.

# %% tags=["hide-input"]
story, helper = load_storyteller(), load_assistant()
marks = assistant.MARKS


def write(ids):
    """Let our assistant go on greedily after a list of ids."""
    step = helper.model.decoder_step(torch.tensor([ids]))
    return decoding.greedy(step, 1, marks.assistant, marks.end, 16)[0]


# %% tags=["nbval-ignore-output"]
choose = "Choose two of these: merchant, raven, stone, ox, servant."
ChatBox(write, helper.encode, story.decode, choose, template="no template")

# %% [markdown]
# ## One vector exchanged between two sentences (lesson 20)
#
# Choose two sentences and press a cell. These grids are stored; with SmolLM installed, `PatchingGrid(load_smollm(),
# own=(…, …))` measures two sentences of your own.

# %% tags=["nbval-ignore-output"]
about = [f"My {who} is tired, so I told" for who in ("uncle", "aunt")]
PatchingGrid(source=about[0], target=about[1], layer=26, position=1)

# %% [markdown]
# ## What a broken model depends on (page 96)

# %%
WardRound()
