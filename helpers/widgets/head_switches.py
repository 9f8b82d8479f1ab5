"""Heads of the bundled translator on and off: what becomes of the loss and of the translation."""

import math
from collections import Counter
from contextlib import ExitStack
from textwrap import wrap

import torch
import torch.nn.functional as F
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.pretrained.measured import measured
from helpers.transformer.attention import heads_off
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import odd_ones
from helpers.widgets.svg import Sheet, ink_on, number, shade

KINDS = ("encoder", "decoder", "cross")
TOP, ROW = 54, 36  # pixels: top of the map of heads, and from one of its rows to the next
CELL, LINE = 68, 20  # pixels: a head's width, a line of text
WIDE, MOST_LETTERS, BOLD_LETTERS = 356, 40, 34  # of the sentences, on a phone too: pixels, letters
MOST_LINES = 2  # of what a translation has become
SPREAD = 0.3  # of a head's weight: if no place gets as much, it has no favourite
NOISE = 0.1  # nats: a smaller difference on a few sentences can be chance


def attention_layers(model):
    """List every attention of a `model` by its name: "encoder 1", …, "cross 1", …"""
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
        self._pairs = [list(pair) for pair in pairs]
        self._sentences = [source for source, _ in pairs]
        rows = [translator.tokenizer.encode(target, bos=True, eos=True) for _, target in pairs]
        longest, pad_id = max(map(len, rows)), translator.model.config.pad_id
        self._tgt_ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
        self._src_ids = translator.encode(self._sentences)
        # With one head silent; on so many other sentences.
        self._costs, self._others, self._n_others = None, {}, 0
        self._whole = self._measure(())
        super().__init__(**state)

    def names(self):
        """Return the names of all heads, "encoder 1.1" first."""
        heads = range(1, self._n_heads + 1)
        return [f"{layer}.{head}" for layer in self._layers for head in heads]

    @traitlets.validate("silent")
    def _check_silent(self, proposal):
        known = self.names()
        if unknown := [name for name in proposal.value if name not in known]:
            raise traitlets.TraitError(
                f"there is no head {unknown[0]!r}; the heads are {known[0]!r} to {known[-1]!r}."
            )
        return tuple(name for name in known if name in proposal.value)

    def build(self):
        cross = [name for name in self.names() if name.startswith("cross")]
        own = [name for name in self.names() if name not in cross]
        self._parts = {"All on": [], "No cross-attention": cross, "No self-attention": own}
        for label, names in self._parts.items():
            self.button(label, lambda _, names=names: self.take({"silent": names}))
        self.switch("alone", "Cost of each head alone")

    def forget(self):
        self._before, self._latest = set(), None  # what was silent, and what was silenced last
        self._best = 0  # heads that were silent at once, with every translation as it was
        self._harmless, self._written = False, self._whole[1]  # the last press, and what came of it

    def take(self, changes):
        """Make `changes`; a head's name alone switches that head, so no quick press is lost."""
        if isinstance(head := changes.get("silent"), str):
            changes = {**changes, "silent": [*{*self.silent} ^ {head}]}
        super().take(changes)

    def _muted(self, silent):
        """Switch some heads off inside a with block."""
        stack = ExitStack()
        for layer, head in (name.rsplit(".", 1) for name in silent):
            stack.enter_context(heads_off(self._layers[layer], [int(head) - 1]))
        return stack

    @torch.no_grad()
    def _loss(self):
        """Compute the cross-entropy of the pairs' translations, in nats per token."""
        model = self._translator.model
        logits = model(self._src_ids, self._tgt_ids[:, :-1]).flatten(0, 1)
        wanted = self._tgt_ids[:, 1:].flatten()
        return F.cross_entropy(logits, wanted, ignore_index=model.config.pad_id).item()

    def _measure(self, silent):
        """Return the loss and the translations with some heads silent."""
        with self._muted(silent):
            return self._loss(), self._translator.translate(self._sentences)

    @torch.no_grad()
    def look(self, name):
        """Say what gets most of a head's weight, on average from a sentence's third token on."""
        kind, layer, head = name.replace(".", " ").split()
        shares = Counter()
        for source, target in self._pairs:
            tgt_ids = torch.tensor([self._translator.tokenizer.encode(target, bos=True)])
            maps = self._translator.model.attention_maps(self._translator.encode([source]), tgt_ids)
            weights = getattr(maps, kind)[0, int(layer) - 1, int(head) - 1, 2:]
            places = {"one French token per English token": weights.amax(-1)}
            if kind != "cross":
                places = {"": weights.amax(-1), "the first token": weights[:, 0]}
                for i, place in enumerate(("before", "itself", "after"), 1):
                    places[f"the token {place}"] = weights.diagonal(i)
            for place, share in places.items():
                shares[place] += share.mean().item() / len(self._pairs)
        largest = shares.pop("", 1.0)
        (place, share), *_ = shares.most_common(1)
        if share < SPREAD:
            return f"{name} spreads its weight: the largest share is {largest:.0%}, on average."
        return f"On average, {name} gives {share:.0%} of its weight to {place}."

    def costs(self):
        """Say by how much the loss rises when one head alone is silent, in nats per token.

        For the pairs of `recipes.head_costs` that is stored, because it takes seconds.
        """
        if self._costs is None:
            stored = measured("head_costs")
            same = math.isclose(stored["loss"], self._whole[0], abs_tol=1e-3)
            known = same and stored["pairs"] == self._pairs
            self._costs = stored["costs"] if known else self.measure_costs()
            self._others, self._n_others = stored["others"] if known else {}, stored["n others"]
        return self._costs

    def measure_costs(self):
        """Measure what `costs` says."""
        costs = {}
        for name in self.names():
            with self._muted([name]):
                costs[name] = self._loss() - self._whole[0]
        return costs

    def compute(self):
        loss, translations = self._measure(self.silent)
        whole, before = self._whole
        changed = sum(map(str.__ne__, before, translations))
        if added := {*self.silent} - self._before:
            self._latest = added.pop() if len(added) == 1 else None
        if self._before != {*self.silent}:
            self._harmless = {*self.silent} > self._before and translations == self._written
            self._written = translations
        self._before = {*self.silent}
        if not changed:
            self._best = max(self._best, len(self.silent))
        more = round(round(loss, 2) - round(whole, 2), 2)  # of the numbers as they're printed
        return {"loss": loss, "whole": whole, "translations": translations, "before": before,
                "changed": changed, "more": more,
                "costs": self.costs() if self.alone else None}  # fmt: skip

    def describe(self):
        loss, whole = (number(self.numbers[name]) for name in ("loss", "whole"))
        names = ", ".join(self.silent) or "none"
        return f"Silent: {names}. {self.tell()[0]} Loss {loss} nats per token, {whole} with all on."

    def tell(self):
        """Say what is silent and what that changed, and what to try."""
        found, n, of = self.numbers, len(self.silent), len(self._sentences)
        best = f" Your best with all {of} unchanged: {self._best}." * (self._best > 0)
        asked = "How many can you silence before a translation changes?"
        if not n:
            return f"All {len(self.names())} heads are on.{best}", f"Press a head. {asked}"
        if found["changed"]:
            asked = "Switch the last one back on, and try another."
            if self._harmless:
                asked = "The last one changed no translation: leave it off, and try another."
        more, little = found["more"], f"On {of} sentences a gap below {NOISE} means little."
        cross, own = [*self._parts.values()][1:]
        if {*cross} <= {*self.silent} and len(set(found["translations"])) == 1:
            asked = "All are alike: the decoder no longer sees the French. Without self-attention?"
        elif {*own} == {*self.silent}:
            asked = f"The loss rises by {number(more)}. And with no cross-attention?"
        elif more < 0 and (n == 1 or not found["changed"]):
            asked = f"The loss fell. {little}"
            if more <= -NOISE:
                asked = "The loss fell: on these sentences the model does better without them."
        elif n > 1 and found["costs"]:  # costs don't add up
            alone = sum(round(found["costs"][name], 2) for name in self.silent)  # as printed
            apart = round(abs(more - alone), 2) >= NOISE
            hint = "So they probably depend on one another." if apart else little
            if apart or not found["changed"]:
                asked = f"One by one they cost {number(alone)}, together {number(more)}. {hint}"
        heads, same = "head is" if n == 1 else "heads are", of - found["changed"]
        return f"{n} {heads} silent, {same} of {of} translations unchanged.{best}", asked

    def draw(self):
        sheet, y = Sheet(WIDE, 0), 118
        self._draw_loss(sheet)
        for i in range(len(self._sentences)):
            y = self._draw_sentence(sheet, i, y) + 6
        sheet.height = y - 16
        return [self._draw_map(), sheet]

    def _draw_loss(self, sheet):
        loss, whole, gap = (self.numbers[name] for name in ("loss", "whole", "more"))
        more = f" ({'+' * (gap > 0)}{number(gap)})" if loss != whole else ""
        sheet.text(0, 18, f"Loss: {number(loss)} nats per token{more}", INK, bold=True)
        on = f"on these {len(self._sentences)} sentences; line: {number(whole)}, all on"
        sheet.text(0, 92, on, GREY)
        drawn = 0, 0.5, 2, 8, loss, whole
        scale = {nats: sheet.width * min(nats / 8, 1) ** 0.5 for nats in drawn}
        for nats in (0, 0.5, 2, 8):  # a guess among 4,000 tokens costs 8.3; one head, a hundredth
            anchor = {0: "start", 8: "end"}.get(nats, "middle")
            sheet.text(scale[nats], 70, nats, GREY, anchor=anchor)
        sheet.text((scale[2] + scale[8]) / 2, 70, "√ scale", GREY, anchor="middle")
        sheet.bar(0, 30, sheet.width, 22, scale[loss] / sheet.width, PURPLE, round=4)
        sheet.line(scale[whole], 26, scale[whole], 56, INK, 2.5)

    def _draw_map(self):
        costs, wide = self.numbers["costs"], 104 + CELL * self._n_heads
        sheet = Sheet(wide, TOP + ROW * len(self._layers) + 98)
        top = max(costs.values()) if costs else 1.0
        sheet.text(0, 18, "Press a head to switch it off", INK, bold=True)
        sheet.text(96, 46, "head", GREY, anchor="end")
        for head in range(self._n_heads):
            sheet.text(103 + CELL * (head + 0.5), 46, head + 1, GREY, anchor="middle")
        for i, layer in enumerate(self._layers):
            y = TOP + ROW * i
            sheet.text(96, y + 24, layer, INK, anchor="end")
            for head in range(self._n_heads):
                self._draw_head(sheet, f"{layer}.{head + 1}", 104 + CELL * head, y, top)
        y = sheet.height - 76
        sheet.text(0, y, "number: the loss’s rise without it" if costs else "■ on", BLUE)
        sheet.text(sheet.width - 4, y, "□ off", ORANGE, anchor="end", bold=True)
        told, other = "", self._others.get(self._latest) if costs else None
        if self._latest in self.silent:
            told = self.look(self._latest)
            if other is not None:
                told += f" Cost on {self._n_others} other captions: {number(other)}."
        for i, line in enumerate(wrap(told, MOST_LETTERS)):
            sheet.text(0, y + 26 + LINE * i, line)
        return sheet

    def _draw_head(self, sheet, name, x, y, top):
        off, costs = name in self.silent, self.numbers["costs"]
        cost = round(costs[name], 2) if costs else 0.0
        share = max(cost, 0) / top  # as it's printed
        if off:
            sheet.rect(x + 2, y + 3, CELL - 6, ROW - 8, "white", ORANGE, 3, round=4)
        else:
            fill = shade(WEIGHTS, share) if costs else BLUE
            sheet.rect(x, y + 1, CELL - 2, ROW - 4, fill, round=4)
        written = number(cost) if costs else "off" if off else ""
        colour = ORANGE if off else GREEN if cost < 0 else ink_on(share) if cost else GREY
        sheet.text(x + CELL - 10, y + 24, written, colour, anchor="end")
        label = f"{name}: {'off, switch it on' if off else 'on, switch it off'}"
        sheet.target(x, y, CELL - 2, ROW - 2, label, silent=name)

    def _draw_sentence(self, sheet, i, y):
        """Write a sentence, its translation, and what that has become; return the end."""
        before, now = self.numbers["before"][i], self.numbers["translations"][i] or "(nothing)"
        # A word is the same with a full stop and without.
        gone, new = odd_ones(*([word.strip(".,") for word in one.split()] for one in (before, now)))
        for line in wrap(self._sentences[i], MOST_LETTERS):
            sheet.text(0, y, line, GREY)
            y += LINE
        texts = [(before, gone, "line-through", None)]
        if now != before:
            texts.append((f"→ {now}", [False, *new], "underline", MOST_LINES))
        letters = BOLD_LETTERS if now != before else MOST_LETTERS
        for words, odd, how, most in texts:
            lines, odd = wrap(words, letters, max_lines=most, placeholder=" …"), iter(odd)
            for line in lines:
                sheet.marked(0, y, [(word, next(odd, False)) for word in line.split()], how, ORANGE)
                y += LINE
        return y
