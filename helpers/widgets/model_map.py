"""The map: one live picture of a whole model on one sentence, from its tokens to one product.

The drawing is done in the browser (`static/map_*.js`); Python holds the numbers and the state.
"""

import copy
import functools
from collections import Counter
from contextlib import ExitStack

import anywidget
import traitlets

from helpers.pretrained.recurrent_trace import RecurrentTrace
from helpers.pretrained.trace import Trace
from helpers.transformer.attention import heads_off
from helpers.widgets import attention_picture, modules
from helpers.widgets.alive import alive_html
from helpers.widgets.attention_maps import Map
from helpers.widgets.fallback import StaticFallback
from helpers.widgets.loss_words import losses_of, stepped
from helpers.widgets.map_data import pack_recurrent, pack_trace, problem_with, read_whole
from helpers.widgets.map_inside import TEMPERATURES, asked, pack_insides
from helpers.widgets.map_picture import as_html
from helpers.widgets.map_places import is_head, is_patch, is_place, is_token, parts_of
from helpers.widgets.map_tours import BUILT, tour_of
from helpers.widgets.readable import readable
from helpers.widgets.recurrent_tour import telling_step


class ModelMap(StaticFallback, anywidget.AnyWidget):
    """The widget behind `model_map`. Its traits can be set and observed.

    Layers, heads and tokens are counted from 0 here, as everywhere in Python; the map itself
    counts from one, as people do.

    Parameters
    ----------
    trace : Trace
    here : str, default=""
    tour : str or list of str, default="all"
    **state
        First values of the traits `place`, `follow`, `written`, `beat`, `stop`, `everything`,
        `yours` and `temperature`.

    Attributes
    ----------
    sentence : str
        What is shown, where the model can trace another one: set it, or type it into the map.
    reference : str
        With ``here="loss"``, the translation whose tokens are scored; "" for the model's own.
    steps : int
        How many training steps a copy of the model has taken, each on the pair that was shown. It
        reads other sentences, too; 0 brings the model back.
    off : list of str
        Places of heads whose outputs are zeroed before W_O, where a translator can trace its
        sentence again: the map then shows the model without them, for another sentence, too.
    chosen : list of (int, int)
        Target positions at which another token was written, each with that token's rank among the
        candidates there. From each of them the model goes on by itself. In a recurrent pair: steps
        that look at one source position only, each with that position.
    left_out : list of int
        Patches of a picture, counted row by row from 1, that a ViT reads it without.
    """

    _esm = modules.module("map_view.js")
    _css = modules.styles("model_map.css")

    place = traitlets.Unicode("").tag(sync=True)
    follow = traitlets.Unicode("").tag(sync=True)
    written = traitlets.Int(0).tag(sync=True)
    beat = traitlets.Int(-1).tag(sync=True)
    stop = traitlets.Int(-1).tag(sync=True)
    everything = traitlets.Bool(False).tag(sync=True)
    here = traitlets.Unicode("").tag(sync=True)
    yours = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    reference = traitlets.Unicode("").tag(sync=True)
    steps = traitlets.Int(0, min=0).tag(sync=True)
    chosen = traitlets.List().tag(sync=True)
    off = traitlets.List(traitlets.Unicode()).tag(sync=True)
    left_out = traitlets.List(traitlets.Int()).tag(sync=True)
    temperature = traitlets.Float(1.0, min=TEMPERATURES[0], max=TEMPERATURES[-1]).tag(sync=True)
    _refused = traitlets.Unicode("").tag(sync=True)
    _answered = traitlets.Int(0).tag(sync=True)
    _asks = traitlets.Bool(False).tag(sync=True)
    _trace = traitlets.Dict().tag(sync=True)
    _data = traitlets.Bytes().tag(sync=True)
    _inside = traitlets.Dict().tag(sync=True)
    _inside_data = traitlets.Bytes().tag(sync=True)
    _asked = traitlets.Dict().tag(sync=True)
    _asked_data = traitlets.Bytes().tag(sync=True)
    _tour = traitlets.List().tag(sync=True)
    _built = traitlets.Unicode("").tag(sync=True)
    _problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, trace, here="", tour="all", **state):
        unknown = sorted(set(state) - set(self.class_trait_names(sync=True)))
        if unknown:
            raise TypeError(
                f"model_map has no {', '.join(unknown)}. What can be set: here, tour, place, "
                f"follow, written, beat, stop, everything, yours, temperature."
            )
        if not isinstance(trace, Trace | RecurrentTrace):
            raise TypeError(
                f"model_map draws what a model's trace returned, such as "
                f'translator.trace("Un chien noir."); got {type(trace).__name__}.'
            )
        self.trace, self._first, self._untrained, self._of_tour = trace, trace, trace, tour
        self._path, self._taught = [trace], Counter()
        self.recurrent = isinstance(trace, RecurrentTrace)
        problem = problem_with(trace)
        pack = pack_recurrent if self.recurrent else pack_trace
        described, data = ({}, b"") if problem else pack(trace)
        inside, more = ({}, b"") if problem or self.recurrent else pack_insides(trace)
        steps = [] if problem else tour_of(trace, tour)
        state.setdefault("written", _start(trace, here))
        if trace.again and not problem:
            state |= {"_asks": getattr(trace, "image", None) is None, "sentence": _text_of(trace)}
        built = "" if self.recurrent else BUILT.get(here, "")
        state |= {"_inside": inside, "_inside_data": more, "_built": built}
        super().__init__(
            _trace=described, _data=data, _tour=steps, _problem=problem, here=here, **state
        )

    @traitlets.observe("sentence", "reference")
    def _trace_another(self, change):
        """Draw another sentence, or score another reference; keep what's there if that can't be."""
        own, new = _text_of(self._first), change.new
        of_sentence = change.name == "sentence"
        self._refused = ""
        if of_sentence and new == own:
            self._answered += 1
            return
        try:
            if of_sentence and not new.strip():
                raise ValueError("Type a sentence into the field.")
            more = self._heat if of_sentence else [new] if new.strip() else []
            trace = self._untrained.again(new if of_sentence else own, *more)
            if self.steps:  # without a reference, too, what the model itself wrote is scored
                trace = trace.through(self._first.network)
            whole = trace
            if of_sentence and self.off:  # they stay off
                with self._silent():
                    trace = whole.again(new)
            self._refused = problem_with(trace)
        except ValueError as error:
            self._refused = str(error)
        if self._refused:
            return
        with self.hold_sync():
            if of_sentence:
                self.place, self.follow, self.beat, self.stop = "", "", -1, -1
                self._first, self.chosen, self.reference = whole, [], ""
                if not self._heat:  # whoever draws keeps the heat at which it drew
                    self.temperature = 1.0
            else:
                self.off = []
            self.left_out = []
            self._show(trace)
            self.written = _start(trace, self.here)

    @traitlets.observe("steps")
    def _train(self, change):
        """Train a copy of the model on the pair that's shown, or go back to the model itself."""
        more = change.new - change.old
        if more > 0:
            network = self.trace.network
        else:  # from the model itself
            network, more = self._untrained.network, change.new
            self._taught = Counter()
        self._taught[self.sentence or _text_of(self.trace), self.reference] += more
        for _ in range(more):
            network = stepped(self.trace, network)
        vars(self).pop("_double", None)
        self._first = self.trace.through(network)
        self._show(self._first)

    @functools.cached_property
    def _double(self):
        return functools.cache(lambda: copy.deepcopy(self.trace.network).double())

    @traitlets.observe("place", "_trace")
    def _answer(self, _):
        """Send what only an open place needs: a head's matrix, the parts of a score."""
        if not self.recurrent and self.place:
            # A head that is off adds nothing, but W_O is what it was.
            with ExitStack() if "/join/" in self.place else self._silent():
                described, data = asked(self.trace, self.place, self._double)
            if described:
                with self.hold_sync():
                    self._asked, self._asked_data = described, data

    @traitlets.observe("chosen", "off", "left_out")
    def _write_another(self, change):
        """Let the model answer without what is off or left out, and go on from the chosen tokens.

        If that can't be drawn, it says why.
        """
        if change.name == "off":
            self.chosen = []
            vars(self).pop("_double", None)
        path = [self._first]
        if self.recurrent:
            path.append(self._first.again(self.sentence, dict(self.chosen)))
        if self.left_out:
            path = [self._first.again(self._first.text, self.left_out)]
        with self._silent():
            if self.off:
                path = [self._first.again(_text_of(self._first))]
            for k, (row, rank) in enumerate([] if self.recurrent else self.chosen):
                # What an earlier choice led to was drawn at the temperature of its time.
                same = self.chosen[: k + 1] == change.old[: k + 1]
                known = self._path[k + 1 : k + 2] if same else []
                token = path[-1].candidates[row][rank].id
                path += known or [path[-1].onward(row, token, *self._heat)]
        trace = path[-1]
        problem = problem_with(trace)
        if problem:
            self.set_trait(change.name, change.old)
        else:
            self._path = path
            self._show(trace)
        self._refused = problem

    @property
    def _heat(self):
        """What a model that draws is told: the temperature."""
        return [self.temperature] if getattr(self._first, "drawn_at", ()) else []

    def _silent(self):
        """Zero the outputs of the heads that are off inside a ``with`` block."""
        stack = ExitStack()
        for place in self.off:
            name, layer, kind, head = place.split("/")
            module = f"{name}_layers.{layer}.{kind.removeprefix('masked-').replace('-', '_')}"
            stack.enter_context(heads_off(self._first.network.get_submodule(module), [int(head)]))
        return stack

    @traitlets.validate("chosen")
    def _valid_choices(self, proposal):
        """Demand positions in order, each with a candidate of its own."""
        last = -1
        for row, rank in proposal.value:
            if self.recurrent:
                known = self.trace.weights.shape if self._first.again else (0, 0)
            else:
                found = self.trace.candidates if self._first.onward else ()
                known = len(found), len(found[row]) if 0 <= row < len(found) else 0
            if not (last < row < known[0] and 0 <= rank < known[1]):
                raise ValueError(
                    f"token {rank} can't be chosen at position {row}. Choose positions in order, "
                    f"each with the rank of one of its candidates (in a recurrent pair, with a "
                    f"source position), in a map whose model can go on."
                )
            last = row
        return proposal.value

    def _show(self, trace):
        with self.hold_sync():
            self.trace, self._tour = trace, tour_of(trace, self._of_tour, self.off)
            self._answered += 1
            if self.recurrent:
                self._trace, self._data = pack_recurrent(trace, self._first)
                return
            if not is_token(trace, self.follow):
                self.follow = ""
            if not is_place(trace, self.place):
                self.place = "/".join(self.place.split("/")[:4])
            inside, self._inside_data = pack_insides(trace)
            if self.off:  # beside what the whole model wrote, each token with its probability
                shares = [best.probability for best, *_ in self._first.candidates]
                inside["whole"] = list(zip(readable(self._first.written), shares, strict=True))
            if self.left_out:
                inside["entire"] = read_whole(self._first)
            if self.steps:
                lost = losses_of(trace, self._untrained.network)
                inside["untrained"] = [round(one, 4) for one in lost.tolist()]
                inside["taught"] = [[*pair, n] for pair, n in self._taught.items() if n]
                if not self.reference:  # what the copy itself writes
                    inside["own"] = readable(self._first.again(_text_of(trace)).written)
            self._inside = inside
            self._trace, self._data = pack_trace(trace)

    def static_html(self):
        """Return the map for a page without a kernel: alive where scripts run, else a picture."""
        if self._problem:
            return f"<p>{self._problem}</p>"
        draw = _recurrent_html if self.recurrent else as_html
        model = self._trace.get("model", "")  # a recurrent pair is not named
        return alive_html(self, draw(self.trace, self.written), model)

    @traitlets.validate("here", "yours")
    def _valid_parts(self, proposal):
        known = parts_of(self.trace)
        wanted = proposal.value if proposal.trait.name == "yours" else [proposal.value]
        for part in filter(None, wanted):
            if part not in known:
                raise ValueError(f"the map has no part {part!r}; it has: {', '.join(known)}.")
        return proposal.value

    @traitlets.validate("place", "follow", "off", "left_out")
    def _valid_place(self, proposal):
        name, value = proposal.trait.name, proposal.value
        known, what, example = {
            "place": (
                is_place,
                "place",
                "'encoder/0' for a layer, 'encoder/0/self-attention/2' for a head and "
                "'encoder/0/self-attention/2/3,4' for one score",
            ),
            "follow": (
                is_token,
                "token",
                "'encoder:3' for the fourth source token, 'decoder:0' for the first target token",
            ),
            "off": (is_head, "head", "'encoder/0/self-attention/2', in a translator's map"),
            "left_out": (is_patch, "patch", "1 for the first, in a map of one of several pictures"),
        }[name]
        for one in [value] if isinstance(value, str) else value:
            if not known(self.trace, one):
                raise ValueError(
                    f"there is no {what} {one!r} in this model. Write for instance {example}."
                )
        return value


def _text_of(trace):
    """Put a sentence together again from the tokens of a trace."""
    if isinstance(trace, RecurrentTrace):
        return " ".join(trace.source[:-1])
    pieces = "".join(trace.stacks[0].tokens).replace("<eos>", "")
    return trace.text or pieces.replace("▁", " ").strip()


def _recurrent_html(trace, step):
    """Draw the weights of all steps, the open one framed."""
    one = Map("", trace.weights[None, None].numpy(), trace.written, trace.source)
    return attention_picture.as_html(one, 0, 0, step)


def _start(trace, here):
    """Choose what is written at first: up to the last whole word that is sure of its source.

    Of a recurrent pair, up to a step that tells something.
    """
    if isinstance(trace, RecurrentTrace):
        return telling_step(trace)
    if trace.kind == "GPT" or here == "loss":  # it never ends; in training all rows are read
        return len(trace.written) - 1
    written = [*trace.written, ""]
    words = [row for row, one in enumerate(written) if any(map(str.isalnum, one.strip("<eos>")))]
    if not words or not trace.decoder:
        return 0
    shares = trace.decoder.layers[-1][1].heads.weights.mean(0).amax(-1)
    whole = [row for row in words if written[row][0] == "▁" and not written[row + 1][:1].isalpha()]
    return next((row for row in reversed(whole) if shares[row] > 0.5), words[-1])


def model_map(trace, here="", tour="all", **state):
    """Show a whole model at work on one sentence; every number in it can be reached.

    Four depths, by click or Enter: the model, a layer, a head, one number. Beside them, a layer's
    norms and neurons, a head's projections, the next token's logits at any temperature, and why a
    score is what it is, and not another key's. Escape goes back. A click on a token follows it
    through the model. *Play* lets the data flow, step by step. While the kernel runs, translators
    and GPTs have a field for another text, and a ViT other pictures to press and patches to leave
    out; another next token can be chosen, a translator's heads compared and switched off, a copy
    of it trained on the pair that is shown (``here="loss"``), and a recurrent decoder made to look
    at one state alone.

    How a lesson uses it::

        trace = translator.trace("Un chien noir court dans la neige.")
        model_map(trace, here="cross-attention", tour="07")

    Parameters
    ----------
    trace : Trace or RecurrentTrace
        What ``translator.trace("…")``, ``minilm.trace("…")``, ``storyteller.trace("…")``,
        ``wardrobe.trace(image)`` or a toy translator's ``trace("…")`` returned. The recurrent pair
        of lesson 02 gives a smaller map, with a tour of its own: states, scores, weights, context.
    here : str, default=""
        What the lesson builds: it is lit, and the rest is dimmed until the learner lights it. One
        of "embeddings", "positions", "encoder", "self-attention", "head", "multi-head",
        "feed-forward", "add-and-norm", "decoder", "masked-self-attention", "cross-attention",
        "output", "decoding", "loss", "training".
    tour : str or list of str, default="all"
        A lesson's number ("00", "03" to "09", "14" and "15" have a tour), "all", "" for none, or
        names of steps from ``map_tours.toml``.
    **state
        What to open: `place` ("encoder/0" is a layer, "encoder/0/self-attention/2" a head,
        "encoder/0/self-attention/2/3,4" the score of query 3 and key 4; also "encoder/embedding"
        and "decoder/output"; `map_places.is_place` lists the rest), `follow` ("encoder:3" or
        "decoder:0"), `written` (how many target tokens are there, beside the first), `stop` (a step
        of the tour), `beat` (a step of playing), `temperature`, `off` (places of a translator's
        heads that are switched off), `reference` (of ``here="loss"``) and `yours` (parts that the
        learner wrote, named as in `here`: they get a tick; lesson 10 adds to the list).

    Returns
    -------
    map : ModelMap
        Last in a cell, it shows itself. Its traits can be set and observed. A trace that cannot be
        drawn gives a sentence instead of a picture.

    Raises
    ------
    TypeError, ValueError
        If `here`, `tour` or a place is not there.
    """
    return ModelMap(trace, here, tour, **state)
