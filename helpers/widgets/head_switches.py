"""Heads of the bundled translator on and off: what becomes of the loss and of the translation."""

from contextlib import ExitStack

import ipywidgets
import torch
import torch.nn.functional as F
import traitlets
from matplotlib.colors import to_hex

from helpers.attention import heads_off
from helpers.plots import GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Sheet, number

KINDS = ("encoder", "decoder", "cross")
TOP, ROW = 92, 40  # pixels: top of the map of heads, and from one of its rows to the next
MOST_LETTERS = 56  # of a translation in one line


def attention_layers(model):
    """List every attention of a Transformer, with the name it has in the picture.

    Parameters
    ----------
    model : Transformer

    Returns
    -------
    layers : dict of str to MultiHeadAttention
        "encoder 1", …, "decoder 1", …, "cross 1", …
    """
    places = (
        [layer.self_attention for layer in model.encoder_layers],
        [layer.self_attention for layer in model.decoder_layers],
        [layer.cross_attention for layer in model.decoder_layers],
    )
    return {
        f"{kind} {i}": layer
        for kind, layers in zip(KINDS, places, strict=True)
        for i, layer in enumerate(layers, 1)
    }


@torch.no_grad()
def pairs_loss(translator, src_ids, tgt_ids):
    """Compute the cross-entropy of given translations.

    Parameters
    ----------
    translator : Translator
    src_ids, tgt_ids : integer Tensor of shape (B, S) and (B, T)
        The target begins with the begin-of-sentence token.

    Returns
    -------
    loss : float
        Nats per token, padding left out.
    """
    logits = translator.model(src_ids, tgt_ids[:, :-1])
    wanted, pad_id = tgt_ids[:, 1:], translator.model.config.pad_id
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=pad_id).item()


class HeadSwitches(Explorer):
    """Switch heads off and watch the translations and the loss.

    Parameters
    ----------
    translator : Translator
    pairs : sequence of (str, str)
        Two to six sentences with a right translation each; the loss is computed on these.
    **state : traits
        `silent`: a tuple of names such as "cross 3.1" (attention, layer, head from 1); `alone`
        (bool): show what each head costs when it alone is silent.

    Raises
    ------
    ValueError
        If there are not two to six pairs.
    traitlets.TraitError
        If `silent` holds a name of no head.

    Source
    ------
    Michel et al. (2019), "Are Sixteen Heads Really Better than One?", section 3.
    """

    silent = traitlets.Tuple().tag(state=True)
    alone = traitlets.Bool(False).tag(state=True)

    def __init__(self, translator, pairs, **state):
        if not 2 <= len(pairs) <= 6:
            raise ValueError(f"two to six sentence pairs fit; got {len(pairs)}.")
        self._translator = translator
        self._layers = attention_layers(translator.model)
        self._n_heads = translator.model.config.n_heads
        self._sentences = [source for source, _ in pairs]
        rows = [translator.tokenizer.encode(target, bos=True, eos=True) for _, target in pairs]
        longest, pad_id = max(map(len, rows)), translator.model.config.pad_id
        self._tgt_ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
        self._src_ids = translator.encode(self._sentences)
        self._costs = None
        self._whole = self._measure(())
        super().__init__(**state)

    def names(self):
        """Return the names of all heads, "encoder 1.1" first."""
        heads = range(1, self._n_heads + 1)
        return [f"{layer}.{head}" for layer in self._layers for head in heads]

    @traitlets.validate("silent")
    def _check_silent(self, proposal):
        known = self.names()
        unknown = [name for name in proposal.value if name not in known]
        if unknown:
            raise traitlets.TraitError(
                f"there is no head {unknown[0]!r}; the heads are {known[0]!r} to {known[-1]!r}."
            )
        return tuple(name for name in known if name in proposal.value)

    def build(self):
        """Make a button for every head, in the order of the map, and three for all of them."""
        layout = ipywidgets.Layout(width="46px", height="34px")
        self._buttons = {}
        for name in self.names():
            # Its short label is read beside its row; what assistive technology hears is whole.
            button = ipywidgets.ToggleButton(
                value=True, description=name.rsplit(".", 1)[1], tooltip=name, layout=layout
            )
            button.observe(self._follow_buttons, names="value")
            self._buttons[name] = button
        self.observe(self._follow_state, names="silent")
        self._follow_state()
        self.button("All on", self._all_on)
        self.button("Whole cross-attention off", self._cross_off)
        self.switch("alone", "Show what each head costs alone")

    def rows(self):
        """Return the buttons, a row for each kind of attention, and the rest below."""
        lines = []
        for kind in KINDS:
            for layer in (name for name in self._layers if name.startswith(kind)):
                word = ipywidgets.Label(layer, layout={"width": "84px"})
                heads = [b for name, b in self._buttons.items() if name.startswith(layer)]
                lines.append(ipywidgets.HBox([word, *heads]))
        n = len(lines) // len(KINDS)
        columns = [ipywidgets.VBox(lines[i : i + n]) for i in range(0, len(lines), n)]
        return [ipywidgets.HBox(columns, layout={"width": "100%"}), *self.controls.values()]

    def _follow_buttons(self, change):
        self.silent = tuple(name for name, button in self._buttons.items() if not button.value)

    def _follow_state(self, change=None):
        for name, button in self._buttons.items():
            button.unobserve(self._follow_buttons, names="value")
            button.value = name not in self.silent
            button.button_style = "info" if button.value else ""
            button.observe(self._follow_buttons, names="value")

    def _all_on(self, button):
        self.silent = ()

    def _cross_off(self, button):
        self.silent = tuple(name for name in self.names() if name.startswith("cross"))

    def _measure(self, silent):
        """Return the loss and the translations with some heads silent."""
        with ExitStack() as stack:
            self._mute(stack, silent)
            loss = pairs_loss(self._translator, self._src_ids, self._tgt_ids)
            return loss, self._translator.translate(self._sentences)

    def _mute(self, stack, silent):
        for layer, module in self._layers.items():
            heads = [int(n.rsplit(".", 1)[1]) - 1 for n in silent if n.rsplit(".", 1)[0] == layer]
            stack.enter_context(heads_off(module, heads))

    def costs(self):
        """Measure, once, by how much the loss rises when one head alone is silent.

        Returns
        -------
        costs : dict of str to float
            Nats per token.
        """
        if self._costs is None:
            self._costs = {}
            for name in self.names():
                with ExitStack() as stack:
                    self._mute(stack, [name])
                    loss = pairs_loss(self._translator, self._src_ids, self._tgt_ids)
                self._costs[name] = loss - self._whole[0]
        return self._costs

    def compute(self):
        """Measure with the heads that are silent now."""
        loss, translations = self._measure(self.silent)
        return {
            "loss": loss,
            "whole": self._whole[0],
            "translations": translations,
            "before": self._whole[1],
            "costs": self.costs() if self.alone else None,
        }

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        names = ", ".join(self.silent) if self.silent else "none"
        changed = sum(a != b for a, b in zip(found["before"], found["translations"], strict=True))
        return (
            f"Heads of the translator on and off. Silent: {names}. Loss {number(found['loss'])} "
            f"nats a token, {number(found['whole'])} with all heads; {changed} of "
            f"{len(self._sentences)} translations changed."
        )

    def draw(self):
        """Draw the loss, the map of heads at the left, the sentences at the right."""
        height = max(TOP + ROW * len(self._layers) + 48, 130 + 104 * len(self._sentences))
        sheet = Sheet(920, height)
        self._draw_loss(sheet)
        self._draw_map(sheet)
        for i in range(len(self._sentences)):
            self._draw_sentence(sheet, i, 116 + 104 * i)
        return sheet

    def _draw_loss(self, sheet):
        loss, whole = self.numbers["loss"], self.numbers["whole"]
        sheet.text(24, 38, "Loss", INK, bold=True)
        scale = 560 / 8  # nats; a guess among all 4,000 pieces costs 8.3
        sheet.rect(84, 20, 560, 26, "#f3f5f7", round=4)
        sheet.rect(84, 20, min(loss * scale, 560), 26, PURPLE, round=4)
        sheet.line(84 + whole * scale, 14, 84 + whole * scale, 52, INK, 2.5)
        words = f"{number(loss)} nats a token"
        more = f" (+{number(loss - whole)})" if loss > whole else ""
        more = f" ({number(loss - whole)})" if loss < whole else more
        sheet.text(656, 38, words + more, INK, bold=True)
        sheet.line(24, 64, 896, 64, RULE)

    def _draw_map(self, sheet):
        costs = self.numbers["costs"]
        top = max(costs.values()) if costs else 1.0
        sheet.text(24, 86, "Heads" + (": cost alone, nats" if costs else ""), GREY)
        for i, layer in enumerate(self._layers):
            y = TOP + ROW * i
            sheet.text(104, y + 26, layer, INK, anchor="end")
            for head in range(self._n_heads):
                name, x = f"{layer}.{head + 1}", 116 + 57 * head
                off = name in self.silent
                share = max(costs[name], 0) / top if costs else 0.45
                fill = "white" if off else to_hex(WEIGHTS(share))
                sheet.rect(x, y + 2, 55, ROW - 4, fill, RULE, round=4)
                if off:
                    sheet.line(x + 8, y + 8, x + 47, y + ROW - 8, ORANGE, 2.5)
                    sheet.line(x + 8, y + ROW - 8, x + 47, y + 8, ORANGE, 2.5)
                elif costs:
                    dark = "white" if share > 0.5 else INK
                    sheet.text(x + 27, y + 26, number(costs[name]), dark, anchor="middle")
        y = TOP + ROW * len(self._layers) + 26
        for head in range(self._n_heads):
            sheet.text(143 + 57 * head, y - 6, head + 1, GREY, anchor="middle")
        sheet.text(104, y - 6, "head", GREY, anchor="end")

    def _draw_sentence(self, sheet, i, y):
        before, now = self.numbers["before"][i], self.numbers["translations"][i]
        x = 372
        sheet.text(x, y, _shorten(self._sentences[i]), GREY)
        sheet.text(x, y + 28, _shorten(before), INK)
        if now == before:
            sheet.text(x, y + 56, "unchanged", GREY)
        else:
            sheet.text(x, y + 56, _shorten(now or "(nothing)"), ORANGE, bold=True)
        sheet.line(x, y + 74, 896, y + 74, RULE)


def _shorten(words):
    return words if len(words) <= MOST_LETTERS else words[: MOST_LETTERS - 1] + "…"
