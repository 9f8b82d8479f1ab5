"""One sentence through the whole Transformer: every tensor's name, shape and meaning."""

import math
from typing import NamedTuple

import torch
import traitlets
from matplotlib.colors import to_hex

from helpers.attention import scaled_dot_product_attention
from helpers.masks import causal_mask, padding_mask
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, SIGNED, WEIGHTS
from helpers.widgets.readable import readable
from helpers.widgets.sentence_explorer import TranslatedSentence
from helpers.widgets.svg import Sheet, number

ROW, HALF = 24, 13  # pixels from one line of the list to the next; lines of its first column
N_STAGES = 28
SENTENCE = "Une femme en robe bleue danse sur une scène."  # English needs two pieces more
COLOURS = {"encoder": BLUE, "decoder": ORANGE, "output": PURPLE}

SHORT = {
    "contexts of the heads": "head contexts",
    "joined, through W_O": "through W_O",
    "feed-forward, inside": "FFN, inside",
    "target ids, shifted": "shifted ids",
    "after the last layer": "last layer",
}


class Stage(NamedTuple):
    """One tensor on its way: `part` of the model, `name`, `letters` of its shape, and what it is.

    `tensor` is the tensor itself, `meaning` one or two lines of words.
    """

    part: str
    name: str
    letters: str
    tensor: torch.Tensor
    meaning: tuple


@torch.no_grad()
def stages(model, src_ids, tgt_ids):
    """Follow one sentence and its shifted translation through a pre-norm Transformer.

    Parameters
    ----------
    model : Transformer
        With ``norm_first=True``.
    src_ids : integer Tensor of shape (1, S)
    tgt_ids : integer Tensor of shape (1, T)
        Shifted right: it begins with the begin-of-sentence token.

    Returns
    -------
    stages : list of Stage
        The first layer of each stack in full, the others in one step. The last two hold the
        probabilities and the likeliest tokens.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", figure 1.
    """
    mask = padding_mask(src_ids, model.config.pad_id)
    found = _encoder_stages(model, src_ids, mask)
    memory = found[-1].tensor
    found += _decoder_stages(model, tgt_ids, memory, mask)
    hidden = found[-1].tensor
    logits = model.output_proj(hidden)
    chances = logits.softmax(-1)
    return found + [
        Stage("output", "logits", "B T V", logits,
              ("A score for every token of the vocabulary,", "at every position.")),
        Stage("output", "probabilities", "B T V", chances,
              ("The softmax over the vocabulary:", "each row sums to 1.")),
        Stage("output", "likeliest tokens", "B T", chances.argmax(-1),
              ("What the model would write after each prefix.",
               "In training, the loss compares it with the target.")),
    ]  # fmt: skip


def _encoder_stages(model, ids, mask):
    layer = model.encoder_layers[0]
    embedded = model.src_embedding(ids) * model.config.d_model**0.5
    x = model.embed(ids, model.src_embedding)
    h = layer.residual_1.norm(x)
    q = layer.self_attention.project_query(h)
    k, v = layer.self_attention.project_key_value(h, h)
    context, weights = scaled_dot_product_attention(q, k, v, mask)
    merged, _ = layer.self_attention(h, h, h, mask)
    added = x + merged
    normed = layer.residual_2.norm(added)
    wide = layer.feed_forward.activation(layer.feed_forward.linear_1(normed))
    return [
        Stage("encoder", "source ids", "B S", ids,
              ("The sentence as numbers: the ids of its", "tokens in the vocabulary.")),
        Stage("encoder", "embeddings × √D", "B S D", embedded,
              ("A learned vector per token, scaled up", "to about the size of the positions.")),
        Stage("encoder", "plus positions", "B S D", x,
              ("The sinusoids are added.", "From here on, the vectors contain the order.")),
        Stage("encoder", "queries, layer 1", "B H S K", q,
              ("What each word is looking for, per head.", "D is split into H heads of K.")),
        Stage("encoder", "keys, layer 1", "B H S K", k,
              ("What each word can be matched on.", "The same size as the queries.")),
        Stage("encoder", "values, layer 1", "B H S K", v,
              ("What each word passes on", "to those that attend to it.")),
        Stage("encoder", "weights, layer 1", "B H S S", weights,
              ("Softmax of Q Kᵀ / √K, one row per query.", "Every row sums to 1.")),
        Stage("encoder", "contexts of the heads", "B H S K", context,
              ("One mixture of the values per head.", "The heads haven't been mixed yet.")),
        Stage("encoder", "joined, through W_O", "B S D", merged,
              ("The heads side by side, H × K = D again,", "and one matrix that mixes them.")),
        Stage("encoder", "plus residual", "B S D", added,
              ("Added to the sublayer's input.", "That's why both need the same width.")),
        Stage("encoder", "feed-forward, inside", "B S F", wide,
              ("Linear, then ReLU:", "no entry is below zero.")),
        Stage("encoder", "layer 1, output", "B S D", layer(x, mask),
              ("Back to width D, and added again.", "It can go into the next layer as it is.")),
        Stage("encoder", "memory", "B S D", model.encode(ids),
              ("After all layers and a last LayerNorm.", "Every decoder layer reads this.")),
    ]  # fmt: skip


def _decoder_stages(model, ids, memory, memory_mask):
    layer = model.decoder_layers[0]
    mask = padding_mask(ids, model.config.pad_id) & causal_mask(ids.shape[1])
    x = model.embed(ids, model.tgt_embedding)
    h = layer.residual_1.norm(x)
    own, own_weights = layer.self_attention(h, h, h, mask, need_weights=True)
    after_own = x + own
    h = layer.residual_2.norm(after_own)
    q = layer.cross_attention.project_query(h)
    k, v = layer.cross_attention.project_key_value(memory, memory)
    across, weights = layer.cross_attention(h, memory, memory, memory_mask, need_weights=True)
    after_cross = after_own + across
    normed = layer.residual_3.norm(after_cross)
    wide = layer.feed_forward.activation(layer.feed_forward.linear_1(normed))
    return [
        Stage("decoder", "target ids, shifted", "B T", ids,
              ("The translation, shifted right by one:", "it begins with <bos>.")),
        Stage("decoder", "plus positions", "B T D", x,
              ("Embeddings × √D, and the same sinusoids", "as in the encoder.")),
        Stage("decoder", "own weights, layer 1", "B H T T", own_weights,
              ("Above the diagonal all weights are 0.", "Nothing attends to a later position.")),
        Stage("decoder", "plus residual", "B T D", after_own,
              ("What came from the earlier words,", "added to the sublayer's input.")),
        Stage("decoder", "cross queries, layer 1", "B H T K", q,
              ("From the decoder: T of them,", "one for each target position.")),
        Stage("decoder", "cross keys, layer 1", "B H S K", k,
              ("From the memory: S of them.", "Each layer projects its own.")),
        Stage("decoder", "cross values, layer 1", "B H S K", v,
              ("From the memory too.", "Computed once for the whole translation.")),
        Stage("decoder", "cross weights, layer 1", "B H T S", weights,
              ("From each target to each source word.", "It doesn't have to be square.")),
        Stage("decoder", "plus residual", "B T D", after_cross,
              ("Now the vectors depend on the source.", "The shape is still the target's.")),
        Stage("decoder", "feed-forward, inside", "B T F", wide,
              ("As in the encoder:", "linear, ReLU, linear, at each position alone.")),
        Stage("decoder", "layer 1, output", "B T D", layer(x, memory, mask, memory_mask),
              ("Three sublayers done.", "On to the next layer.")),
        Stage("decoder", "after the last layer", "B T D", model.decode(ids, memory, memory_mask),
              ("After all layers and a last LayerNorm:", "ready for the output matrix.")),
    ]  # fmt: skip


class ShapeTracer(TranslatedSentence):
    """Step through every tensor that a sentence becomes on its way through the translator.

    Parameters
    ----------
    translator : Translator
    sentence : str, default="Une femme en robe bleue danse sur une scène."
        French, at most 24 pieces.
    **state : traits
        `step`: which tensor, from 1 to 28.

    Raises
    ------
    ValueError
        If the sentence cannot be translated or is too long to draw.
    """

    step = traitlets.Int(1, min=1, max=N_STAGES).tag(state=True)
    still = {"step": 7}

    def __init__(self, translator, sentence=SENTENCE, **state):
        super().__init__(translator, sentence, **state)

    def build(self):
        """Make the controls."""
        self.words("sentence", "Sentence", wide=True)
        self.play("step", "Tensor", interval=1800)
        self.button("Start again", self.reset)

    def compute(self):
        """Follow the sentence, if it is a new one, and choose the tensor."""
        sentence, found = self._known
        if sentence != self.sentence:
            tokenizer, model = self._translator.tokenizer, self._translator.model
            src_ids = self._translator.encode([self.sentence])
            translation = self._translator.translate(self.sentence)
            tgt_ids = torch.tensor([tokenizer.encode(translation, bos=True)])
            found = {
                "translation": translation,
                "S": readable(tokenizer.tokens(src_ids[0].tolist())),
                "T": readable(tokenizer.tokens(tgt_ids[0].tolist())),
                "stages": stages(model, src_ids, tgt_ids),
            }
            self._known = self.sentence, found
        return {**found, "stage": found["stages"][self.step - 1]}

    def describe(self):
        """Say in words what the picture shows."""
        stage = self.numbers["stage"]
        return (
            f"“{self.sentence}” on its way to “{self.numbers['translation']}”. Tensor {self.step} "
            f"of {N_STAGES}, {stage.part}: {stage.name}, shape {stage.letters}, "
            f"{tuple(stage.tensor.shape)}. {' '.join(stage.meaning)}"
        )

    def draw(self):
        """Draw the list of all tensors, to be clicked, and the chosen one beside it."""
        chosen = Sheet(400, 400)
        self._draw_shape(chosen)
        self._draw_tensor(chosen, 0, 186)
        return [self._draw_list(), chosen]

    def _draw_list(self):
        sheet = Sheet(401, 400)
        for x, words in ((0, "encoder"), (203, "decoder"), (304, "output")):
            sheet.text(x, 18, words, COLOURS[words], bold=True)
        for i, stage in enumerate(self.numbers["stages"]):
            x, row = (0, i) if i < HALF else (203, i - HALF)
            y, now, colour = 26 + ROW * row, i == self.step - 1, COLOURS[stage.part]
            sheet.rect(x, y, 198, ROW - 2, colour if now else "none", opacity=0.18, round=4)
            sheet.rect(x, y, 5, ROW - 2, colour)
            name = SHORT.get(stage.name, stage.name.removesuffix(", layer 1"))
            sheet.text(x + 11, y + 17, name, INK, bold=now)
            letters = stage.letters.replace(" ", "")
            sheet.text(x + 196, y + 17, letters, colour, anchor="end", bold=now)
            label = f"Tensor {i + 1}, {stage.part}: {stage.name}, {stage.letters}"
            sheet.target(x, y, 198, ROW - 2, label, step=i + 1)
        return sheet

    def _draw_shape(self, sheet):
        stage = self.numbers["stage"]
        colour = COLOURS[stage.part]
        sheet.text(0, 18, f"{self.step}  {stage.name}", colour, bold=True)
        sizes = zip(stage.letters.split(), stage.tensor.shape, strict=True)
        for i, (letter, n) in enumerate(sizes):
            left = 92 * i
            sheet.rect(left, 30, 84, 58, colour, round=6, opacity=0.12)
            sheet.text(left + 42, 58, n, INK, 24, "middle", bold=True)
            sheet.text(left + 42, 80, letter, colour, 16, "middle", bold=True)
        for i, line in enumerate(stage.meaning):
            sheet.text(0, 114 + 23 * i, line)

    def _draw_tensor(self, sheet, x, y):
        """Draw the numbers of the last two axes, with the tokens beside the rows."""
        stage = self.numbers["stage"]
        tensor = stage.tensor[0]
        letters = stage.letters.split()[1:]
        if tensor.dim() == 1:
            return self._draw_ids(sheet, x, y, tensor, letters[0])
        values = tensor[0] if tensor.dim() == 3 else tensor
        row_letter, column_letter = letters[-2:]
        tokens = self.numbers[row_letter]
        row = min(20, 170 / len(tokens))
        width, left = 300, x + 96
        parts = column_letter in "ST" or stage.name == "probabilities"
        span = 1.0 if parts else max(values.abs().max().item(), 1e-6)
        picture = values[:, :512]
        sheet.pixels(left, y + 6, width, row * len(tokens), picture, WEIGHTS if parts else SIGNED,
                     0 if parts else -span, span)  # fmt: skip
        sheet.rect(left, y + 6, width, row * len(tokens), stroke=GREY, line=1)
        every = math.ceil(17 / row)
        for i in range(0, len(tokens), every):
            at = y + 6 + row * (i + 0.5) + 6
            sheet.text(left - 8, at, tokens[i][:9], GREY, anchor="end")
        shown = f"{row_letter} down, {column_letter} across"
        shown += f" (the first {picture.shape[1]})" if picture.shape[1] < values.shape[1] else ""
        shown += "; head 1" if tensor.dim() == 3 else ""
        sheet.text(left, y - 6, shown, GREY)
        self._draw_key(sheet, left, y + row * len(tokens) + 22, span, parts)

    def _draw_ids(self, sheet, x, y, ids, letter):
        """Write the ids and their pieces."""
        pieces = readable(self._translator.tokenizer.tokens(ids.tolist()))
        sheet.text(x, y - 6, f"{letter} down", GREY)
        step = min(24, 190 / len(pieces))
        every = math.ceil(17 / step)
        for i in range(0, len(pieces), every):
            at = y + 18 + step * i
            sheet.text(x + 70, at, ids[i].item(), GREY, anchor="end")
            sheet.text(x + 90, at, pieces[i], INK)

    def _draw_key(self, sheet, x, y, span, parts):
        low = 0 if parts else -span
        colours = WEIGHTS if parts else SIGNED
        sheet.text(x, y + 14, number(low, 1), GREY)
        for i in range(12):
            sheet.rect(x + 52 + 12 * i, y, 12.5, 16, to_hex(colours(i / 11)))
        sheet.text(x + 206, y + 14, number(span, 1), GREY)
