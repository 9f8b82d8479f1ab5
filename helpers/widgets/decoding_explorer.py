"""Decoding token by token: candidates, dials, the beam's tree, what the model attends to."""

import math
from textwrap import wrap

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, WEIGHTS
from helpers.pretrained.translator import with_beginning
from helpers.transformer import decoding
from helpers.widgets.readable import JOINED, odd_ones, readable
from helpers.widgets.sentence_explorer import MOST_PIECES, TranslatedSentence
from helpers.widgets.svg import BAD, PALE, RULE, Sheet, flow, ink_on, number, shade, share

SHOWN = 8  # candidates
CLOSE = 0.25  # probability of a second token that is worth a try
STRANGE = 0.001  # and of a token that is marked if the dice gave it
COLUMNS = 4  # steps of the beam's tree that are drawn
TREE, NODE = 34, 52  # pixels: top of the tree, and at most from one node to the next
PIECE, GAP = 84, 22  # pixels: a node's width, and its edges'
HEIGHT = 384  # pixels: eight nodes of two lines each fit below one another
METHODS = ("greedy", "sample", "beam")


def dialled(logits, temperature, top_k, top_p):
    """Compute the probabilities, shaped as the `logits` (..., V), that sampling draws from.

    A `top_k` of 0 leaves all tokens, and so does a `top_p` of 1; the `temperature` comes first.
    """
    logits = logits / temperature
    if top_k:
        logits = decoding.top_k_filter(logits, top_k)
    return decoding.top_p_filter(logits, top_p).softmax(-1)


def _chance(part):
    """Write a probability, a small one as 1 in so many: the dials change that, too."""
    return share(part) if part >= 0.01 else f"1 in {float(f'{1 / part:.1e}'):,.0f}"


class DecodingExplorer(TranslatedSentence):
    """Watch the bundled translator choose its tokens, and change how it chooses.

    Parameters
    ----------
    translator : Translator
    sentence : str, default="Un homme âgé vend des fleurs au marché."
        French, at most 24 pieces.
    **state : traits
        `method`: "greedy", "sample" or "beam". `step`, from 1. For samples `temperature`, `top_k`
        (0: all), `top_p` (1: all) and `seed`; for beams `beam_size` and `length_penalty`.
        `forced`: token ids that the translation has to begin with, as after a click on one.

    Raises
    ------
    ValueError
        If the sentence cannot be translated or is too long to draw.
    """

    method = traitlets.Enum(METHODS, "greedy").tag(state=True)
    step = traitlets.Int(4, min=1, max=MOST_PIECES).tag(state=True)
    temperature = traitlets.Float(1.0, min=0.1, max=3.0).tag(state=True)
    top_k = traitlets.Int(0, min=0, max=20).tag(state=True)
    top_p = traitlets.Float(1.0, min=0.1, max=1.0).tag(state=True)
    seed = traitlets.Int(1, min=1, max=50).tag(state=True)
    beam_size = traitlets.Int(4, min=1, max=6).tag(state=True)
    length_penalty = traitlets.Float(1.4, min=0.0, max=3.0).tag(state=True)
    forced = traitlets.Tuple().tag(state=True)

    def __init__(self, translator, sentence="Un homme âgé vend des fleurs au marché.", **state):
        self._bos_id, self._eos_id = translator.tokenizer.encode("", bos=True, eos=True)
        super().__init__(translator, sentence, **state)

    def build(self):
        self.words("sentence", "Sentence", wide=True)
        self.play("step", "Step", interval=1500)
        self.choice("method", "Method", [(m, m) for m in METHODS])
        self.button("Undo choices", self._release, "Let the model choose every token again")
        self._dials = {
            "sample": [
                self.slider("temperature", "Temperature", 0.1, digits=1),
                self.slider("top_k", "Top-k (0: all)"),
                self.slider("top_p", "Top-p (1: all)"),
                self.slider("seed", "Seed"),
            ],
            "beam": [
                self.slider("beam_size", "Beams"),
                self.slider("length_penalty", "Length penalty", 0.1, digits=1),
            ],
        }
        for dial in sum(self._dials.values(), []):
            dial.second = True
        self.observe(self._release, names="sentence")

    def _release(self, *_):
        self.forced = ()

    def compute(self):
        """Translate with this method, and find what it could choose from at this step."""
        for method, dials in self._dials.items():
            for dial in dials:
                dial.hidden = method != self.method
        self.controls["Undo choices"].disabled = not self.forced
        dials = {**self.state, "step": None}
        known, found = self._known
        if known != dials:
            found = self._decode(self.forced)
            found["by hand"], own = [], self._decode(()) if self.forced else found
            found["own"] = own["translation"]
            for i, token_id in enumerate(self.forced):
                if own["ids"][i : i + 1] != [token_id]:  # not what it would have gone on with
                    found["by hand"].append(i)
                    own = self._decode(self.forced[: i + 1])
            self._known = dials, found
            self.limit("step", len(found["ids"]))  # a beam that searches on is no first sight
        self.limit("step", max(len(found["columns"]), len(found["ids"])))
        t = min(self.step, len(found["ids"])) - 1
        logits = found["logits"][t].double()  # a low temperature alone leaves no chance at 0
        dialled_to = chances = logits.softmax(-1)
        if self.method == "sample":
            dialled_to = dialled(logits, self.temperature, self.top_k, self.top_p)
        shown = chances.topk(SHOWN).indices.tolist()
        if found["ids"][t] not in shown:  # a sample may be an unlikely one
            shown[-1] = found["ids"][t]
        found["candidates"] = [
            (i, self._piece(i), chances[i].item(), dialled_to[i].item()) for i in shown
        ]
        kept, drawn = int((dialled_to > 0).sum()), dialled_to[found["ids"][t]].item()
        return {**found, "t": t, "kept": kept, "drawn": drawn}

    @torch.no_grad()
    def _decode(self, forced):
        """Translate, `forced` first; then read it all once more for logits and attention."""
        model, tokenizer = self._translator.model, self._translator.tokenizer
        src_ids = self._translator.encode([self.sentence])
        columns, finished, greedy = [], [], []

        def request():
            step = with_beginning(forced, model.decoder_step(src_ids))
            return step, 1, self._bos_id, self._eos_id, MOST_PIECES

        if self.method == "sample":
            generator = torch.Generator().manual_seed(self.seed)
            ids = decoding.sample(
                *request(), self.temperature, self.top_k or None, self.top_p, generator
            )[0]
        else:
            ids = greedy = decoding.greedy(*request())[0]
        if self.method == "beam":
            given = torch.tensor([forced], dtype=torch.long)
            prefix = torch.cat([torch.tensor([[self._bos_id]]), given], 1)
            steps = model(src_ids, prefix)[:, :-1].log_softmax(-1).gather(2, given[..., None])
            sums = [0.0, *steps.flatten().cumsum(0).tolist()]  # the model's own, of what is forced
            finished = decoding.beam(
                *request(), self.beam_size, self.length_penalty, columns, start=sums[-1]
            )[0]
            ids = finished[0].ids
            for t, total in enumerate(sums[1:]):
                columns[t] = [(*one, p + total - sums[-1]) for *one, p in columns[t]]
        prefix = torch.tensor([[self._bos_id, *ids[:-1]]])
        cross = model.attention_maps(src_ids, prefix).cross[0, -1].mean(0)  # last layer, (T, S)
        logits = model(src_ids, prefix)[0]
        sure = logits.softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()
        words = [readable(tokenizer.tokens(each)) for each in (src_ids[0].tolist(), ids)]
        return {"ids": ids, "logits": logits, "sure": sure, "cross": cross, "source": words[0],
                "target": words[1], "translation": tokenizer.decode(ids), "columns": columns,
                "finished": finished, "greedy": greedy}  # fmt: skip

    def _piece(self, token_id):
        # After another word, so that what goes on with a word is marked as such.
        tokens = self._translator.tokenizer.tokens([token_id])
        return readable(["▁a", *tokens])[1]

    def describe(self):
        found = self.numbers
        best = ", ".join(f"{piece} {share(p)}" for _, piece, p, _ in found["candidates"][:3])
        return (
            f"“{self.sentence}” decoded by {self.method}: “{found['translation']}”. Step "
            f"{found['t'] + 1}: likeliest are {best}. It attends most to "
            f"“{found['source'][found['cross'][found['t']].argmax()]}”."
        )

    def tell(self):
        """Say how sure the model is at this step, and what the method makes of that."""
        found, t = self.numbers, self.numbers["t"]
        word, sure = found["target"][t], share(found["sure"][t])
        other = next(one for one in found["candidates"] if one[0] != found["ids"][t])
        rival = f"“{other[1]}” {share(other[2])}"
        if found["columns"]:
            headline = f"Step {self.step}: {self._tell_search()}."
        elif t >= len(self.forced) and found["ids"][t] != found["candidates"][0][0]:  # a sample's
            drawn, own = _chance(found["drawn"]), _chance(found["sure"][t])
            before = f" ({own} before the dials)" if drawn != own else ""
            headline = f"Step {self.step}: the dice gave “{word}”, a chance of {drawn}{before}."
        else:
            headline = f"Step {self.step}: the model gives “{word}” {sure} and {rival}."
        if self.forced:
            if found["own"] == found["translation"]:
                return headline, "The text is the same without your token. Force another one."
            return headline, f"Without your token it would be: {found['own']}"
        if self.step > len(found["ids"]):  # a beam's
            if self.step == MOST_PIECES:
                return headline, f"A translation has {MOST_PIECES} tokens at most."
            can = "No other can" if self.step == len(found["columns"]) else "Another could still"
            return headline, f"{can} finish among the best {self.beam_size}."
        if found["columns"]:
            return headline, self._ask_of_search()
        least = found["sure"].index(min(found["sure"]))
        if self.method == "sample" and self.temperature > 1 and self.top_p == 1 and not self.top_k:
            warm = number(self.temperature, 1)
            asked = f"At temperature {warm}, unlikely tokens are drawn. Lower it, or lower top-p."
        elif found["kept"] == 1:
            asked = "The dials leave only the likeliest token, which greedy takes too."
        elif other[2] >= CLOSE or t == least:
            asked = f"Press “{other[1]}” in the list. How does the sentence go on then?"
        else:
            unsure = f"“{found['target'][least]}”, at step {least + 1}"
            asked = f"The model is least sure of {unsure}: go there and force another token."
        return headline, asked

    def _ask_of_search(self):
        """Compare the beam's winner with what greedy decoding and plain sums would choose."""
        found, decode = self.numbers, self._translator.tokenizer.decode
        both = enumerate(zip(found["ids"], found["greedy"], strict=False))
        parts = next((i for i, (own, greedy) in both if own != greedy), None)
        best = max(found["finished"], key=lambda one: one.log_prob)
        if self.beam_size == 1:
            return "One beam is greedy decoding. Try 4."
        if parts == found["t"]:
            greedy = f"“{self._piece(found['greedy'][parts])}”"
            return f"Greedy takes {greedy} here, and writes: {decode(found['greedy'])}"
        if best is not found["finished"][0]:
            return f"The length penalty decides: without it, “{decode(best.ids)}” would win."
        if found["t"] == len(found["ids"]) - 1 and self.length_penalty:
            return "Without the length penalty, the same text wins. Force a token that is kept."
        if parts is not None:
            return f"Greedy leaves the winner’s path at step {parts + 1}. What does it take there?"
        return "Greedy writes the same. Press a token that is kept: how does that sentence end?"

    def _tell_search(self):
        """Say where the beam's winner stands at this step, or why the search went on."""
        found, t = self.numbers, self.step - 1
        if t > found["t"]:
            stops = self.step == len(found["columns"])
            then = "here the search stops" if stops else "the search goes on"
            return f"the winner ended at step {found['t'] + 1}, and {then}"
        row, kept = self._winner()[t], [number(log_prob) for *_, log_prob in found["columns"][t]]
        going = len(self._standing(found["columns"][t]))
        ends, one = len(kept) - going, going == 1
        then = f"go{'es' * one} on" if self.step < len(found["columns"]) else "dropped"
        split = f" ({ends} end{'s' * (ends == 1)}, {going} {then})" * (ends > 0)
        sums = f"{kept[row]} against {kept[0]}"
        if kept[row] == kept[0]:
            sums = f"log-probability {kept[row]}"
        return f"the eventual winner is number {row + 1} of {len(kept)}{split}, {sums}"

    def draw(self):
        left = Sheet(396, HEIGHT)
        y = self._draw_source(left)
        y = self._draw_written(left, y + 30) + 6
        columns = self.numbers["columns"]
        if columns:
            y = self._draw_finished(left, y + 14)
        else:
            for line in wrap(self.numbers["translation"], 36):
                y += 24
                left.text(0, y, line, PURPLE, bold=True)
        # Long ones are rare: else the page stays as it is. A phone has no room to give away.
        left.height = max(HEIGHT if columns else 0, y + 4)
        return [left, self._draw_tree() if columns else self._draw_candidates()]

    def _draw_source(self, sheet):
        """Write the source, each word as dark as the weight it gets at this step."""
        found = self.numbers
        weights = found["cross"][found["t"]].tolist()
        sheet.text(0, 18, "Attends to", INK, bold=True)
        ended = self.step > len(found["ids"])
        note = "at its last token" if ended else "last layer, mean of heads"
        sheet.text(396, 18, note, GREY, anchor="end")
        places = list(flow(found["source"], 28))
        for (x, y, wide), word, weight in zip(places, found["source"], weights, strict=True):
            sheet.rect(x, y, wide, 30, shade(WEIGHTS, weight), RULE, round=4)
            sheet.text(x + wide / 2, y + 21, word, ink_on(weight), anchor="middle")
        return places[-1][1] + 30

    def _draw_written(self, sheet, y):
        """Write the translation, each token in a box as full as the model was sure."""
        found = self.numbers
        sheet.text(0, y, "Writes", PURPLE, bold=True)
        sampling = self.method == "sample"
        odd = [i for i, sure in enumerate(found["sure"]) if sampling and sure < STRANGE]
        note = ("red: less than 1 in 1,000", BAD) if odd else ("the fuller, the surer", GREY)
        note = ("⚑ chosen by you", ORANGE) if found["by hand"] else note
        sheet.text(396, y, *note, anchor="end")
        places = list(flow(found["target"], y + 10))
        for i, ((x, top, wide), word) in enumerate(zip(places, found["target"], strict=True)):
            there, now = i <= found["t"], i == self.step - 1
            colour = ORANGE if i in found["by hand"] else PURPLE
            ink, frame, fill = (INK, colour, colour) if there else (GREY, RULE, GREY)
            frame = BAD if i in odd and i not in found["by hand"] else frame
            sure = 28 * found["sure"][i]  # as in a glass: a wide word compares with a short one
            sheet.rect(x, top, wide, 28, PALE, round=4)
            sheet.rect(x, top + 28 - sure, wide, sure, fill, opacity=0.4)
            sheet.rect(x, top, wide, 28, stroke=frame, line=3.5 if now else 1.5, round=4)
            sheet.text(x + wide / 2, top + 20, word, ink, anchor="middle", bold=now)
            label = f"Go to step {i + 1}, probability {share(found['sure'][i])}"
            sheet.target(x, top, wide, 30, label, step=i + 1)
        return places[-1][1] + 30

    def _draw_candidates(self):
        """Draw bars for the likeliest tokens, before and after the dials; a click forces one."""
        sheet = Sheet(350, HEIGHT, least=24 / 34)
        found, sampling = self.numbers, self.method == "sample"
        chosen = found["ids"][found["t"]]
        title = "Press to force" if sampling else f"Step {self.step}: press a token to force it"
        sheet.text(0, 18, title, bold=True)
        sheet.text(350, 18, "before → after dials" * sampling, GREY, anchor="end")
        for i, (token_id, piece, chance, after) in enumerate(found["candidates"]):
            y, now = 30 + 35 * i, token_id == chosen
            sheet.text(96, y + 20, piece[:10], PURPLE if now else INK, anchor="end", bold=now)
            colour = PURPLE if now else BLUE
            if sampling:
                sheet.rect(106, y + 1, 124 * chance, 12, GREY, opacity=0.55)
                sheet.rect(106, y + 14, 124 * after, 13, colour)
                words = f"{share(chance)} → {share(after) if after else 0}"
            else:
                sheet.bar(106, y + 3, 170, 22, chance, colour)
                words = share(chance, 3)
            sheet.text(350, y + 20, words, GREY, anchor="end")
            forced = [*found["ids"][: found["t"]], token_id]
            sheet.target(0, y - 2, 350, 34, f"Force {piece} at step {self.step}", forced=forced)
        if sampling:
            words = f"{found['kept']:,} of {found['logits'].shape[1]:,} tokens can be drawn"
            sheet.text(0, HEIGHT - 10, words, GREY)
        else:
            self._explain(sheet, [piece for _, piece, _, _ in found["candidates"]])
        return sheet

    def _draw_tree(self):
        """Draw what the beam kept at the last few steps; the winner's path stands out."""
        sheet, found = Sheet(406, HEIGHT), self.numbers
        pitch = min(NODE, (HEIGHT - TREE - 30) / max(map(len, found["columns"])))
        tall, last = pitch - 4, self.step
        roomy = tall >= 35
        first = max(0, last - COLUMNS if roomy else last - COLUMNS + 1)
        best, prefixes = self._winner(), self._prefixes()
        steps = f"steps {first + 1} to {last}" if last > 1 else "step 1"
        sheet.text(0, 18, f"Kept at {steps}: press to force", bold=True)
        shown = [self._piece(one) for step in found["columns"][first:last] for _, one, _ in step]
        self._explain(sheet, shown)
        for t in range(first, last):
            x = (PIECE + GAP) * (t - first)
            for row, (parent, token_id, log_prob) in enumerate(found["columns"][t]):
                if log_prob == -math.inf:
                    continue  # a place in the beam that forced tokens leave empty
                y = TREE + pitch * row
                wins, ends = best.get(t) == row, token_id == self._eos_id
                if t > first:
                    before = self._standing(found["columns"][t - 1])[parent]
                    sheet.line(x - GAP, TREE + pitch * before + tall / 2, x, y + tall / 2,
                               PURPLE if wins else GREY, 3 if wins else 1.2)  # fmt: skip
                colour = PURPLE if wins else GREEN if ends else INK
                fill, line = (PALE, 2.5) if wins else ("white", 1)
                sheet.rect(x, y, PIECE, tall, fill, colour, line, round=4)
                piece, sums = self._piece(token_id), number(log_prob)
                at = y + (0.43 * tall if roomy else tall / 2 + 6)
                piece = piece if len(piece) < 9 else f"{piece[:7]}…"
                sheet.text(x + PIECE / 2, at, piece, colour, anchor="middle", bold=wins)
                if roomy:
                    sheet.text(x + PIECE / 2, y + 0.9 * tall, sums, GREY, anchor="middle")
                elif t == last - 1:  # beside it: a step fewer is drawn
                    sheet.text(x + PIECE + 8, at, sums, GREY)
                label = f"Force {piece} at step {t + 1}; log-probability {sums}"
                after = t + 1 if ends else t + 2  # where it isn't the only one that is kept
                sheet.target(
                    x, y - 2, PIECE, pitch, label, forced=list(prefixes[t][row]), step=after
                )
        return sheet

    def _prefixes(self):
        """List, for each step, what has been written up to each of its rows."""
        found, every, before = self.numbers, [], [()]
        for column in found["columns"]:
            every.append([(*before[parent], token_id) for parent, token_id, _ in column])
            before = [every[-1][row] for row in self._standing(column)]
        return every

    def _winner(self):
        """Find where the winning sentence stands at each step: {step: row}."""
        ids, every = tuple(self.numbers["ids"]), self._prefixes()
        own = [ids[: t + 1] for t in range(len(every))]
        return {t: every[t].index(own[t]) for t in range(len(every)) if own[t] in every[t]}

    def _standing(self, column):
        """List the rows of a column that go on: what ends is finished and has no children."""
        return [row for row, (_, token_id, _) in enumerate(column) if token_id != self._eos_id]

    def _draw_finished(self, sheet, y):
        """Write the finished sentences with their scores, the best first."""
        sheet.text(0, y, "Finished", INK, bold=True)
        ranked, columns = self.numbers["finished"], self.numbers["columns"]
        likeliest = max(ranked, key=lambda one: one.log_prob)  # `tell` names it
        norms = [decoding.length_norm(len(one.ids), self.length_penalty) for one in ranked]
        power = f"((5 + {len(ranked[0].ids)} tokens)/6)^{number(self.length_penalty, 1)}"
        sheet.text(396, y, f"{power} = {number(norms[0], 3)}", GREY, anchor="end")
        listed, tokenizer, before = [], self._translator.tokenizer, {}
        for one, norm in zip(ranked, norms, strict=True):
            text, pieces = tokenizer.decode(one.ids), readable(tokenizer.tokens(one.ids))
            if text in before:  # cut into other tokens
                new = zip(pieces, odd_ones(before[text], pieces)[1], strict=True)
                text = f"The same text from other tokens: {' '.join(p for p, odd in new if odd)}"
            before.setdefault(text, pieces)
            lines = wrap(text, 46) or ["(nothing)"]
            sums = f"{number(one.log_prob, 3)}/{number(norm, 3)} = {number(one.score, 3)}"
            listed.append((one, lines, f"{len(one.ids)} tokens: {sums}"))
        n = sum(token_id == self._eos_id for each in columns for _, token_id, _ in each)
        n += sum(one.ids[-1] != self._eos_id for one in ranked)  # too long to end
        room = HEIGHT - y - 22
        while len(listed) > 2 and sum(24 + 22 * len(each[1]) for each in listed) > room:
            del listed[-1 if listed[-1][0] is not likeliest else -2]
        for i, (_, lines, sums) in enumerate(listed):
            for line in lines:
                y += 22
                sheet.text(0, y, line, INK if i else PURPLE)
            y += 24
            sheet.text(396, y - 2, sums, GREY, anchor="end")
        if n > len(listed):
            y += 22
            sheet.text(0, y, f"and {n - len(listed)} more", GREY)
        return y

    def _explain(self, sheet, pieces):
        """Say at the bottom what the marks in some pieces' names mean."""
        beams = f"green: finished, not among the {self.beam_size}"
        words = [beams if self.method == "beam" else "<eos>: finished"] * ("<eos>" in pieces)
        words += ["␣: a space"] * ("␣" in pieces)
        words += [f"{piece}: continues a word" for piece in pieces if piece[:1] == JOINED][:1]
        while len(" · ".join(words)) > 44:
            words.pop()
        sheet.text(0, HEIGHT - 10, " · ".join(words), GREY)
