"""What all probes share: how to call the model, what was seen of it, one module alone."""

import copy
import itertools

import torch

from .recorder import (
    BATCH,
    MASKS,
    Recorder,
    Watch,
    along,
    change_between,
    first_float,
    is_attention,
    plain,
    rebuild,
    seed_all,
    three,
    unregistered,
)  # fmt: skip
from .report import Finding, Report


class Examination:
    """Everything that the probes share: how to call the model, and what was seen so far."""

    def __init__(self, model, kind, options):
        self.model, self.kind = model, kind
        for name, value in options.items():
            setattr(self, name, value)
        self.report = Report()
        self.strays = list(unregistered(model))
        self.names = {id(m): path for m, path in self.strays}
        self.names |= {id(m): path for path, m in model.named_modules()}
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        self.large = sum(p.numel() for p in model.parameters()) > 5e7
        self.explained = set()
        self.effects, self.expected, self.whole, self.nan = {}, {}, {}, False

    # ---- running the model

    def mode(self, training):
        """Switch to training or evaluation, parts that the model doesn't know included."""
        for module in (self.model, *dict(self.strays)):
            module.train(training)

    def prepare(self):
        """Find lengths with which the model runs, and run it once."""
        most = self.max_len or 64
        t, s = (min(6, most), min(7, most)) if self.large else (min(11, most), min(13, most))
        if t == s:
            t = max(2, s - 2)
        if self.kind == "vision":
            t = s = (self.image_size // self.patch_size) ** 2  # as many as patches
        lengths = [(t, s)] + [(n, n) for n in (t, min(most, 64)) if (n, n) != (t, s)]
        error = None
        for (t, s), call in itertools.product(lengths, self.calls_to_try):
            self.t, self.s, self.call = t, s, call
            self.ids = self.draw()
            try:
                self.base = self.run(trace=True)
                break
            except Exception as raised:  # whatever a stranger's model raises
                error = error or raised
        else:
            raise ValueError(
                f"the model couldn't be run as a {self.kind}: {type(error).__name__}: {error}. "
                "Say how it is called: call=lambda model, ids: model(ids, my_mask)"
            ) from error
        self.out = self.base.output
        self.rows = self.t if "target" in self.ids or self.kind == "attention" else self.s
        self.check_output()
        self.lengths = sorted(self.lengths_(), reverse=True)
        self.calls = self.base.calls
        self.attentions = self.find_attentions()

    def check_output(self):
        """Bring in order what came out, or say what was expected."""
        if self.out.dim() == 2 and self.kind in ("encoder", "vision"):
            self.out = self.out[:, None]  # one vector per sentence
        if self.out.dim() != 3 or self.out.shape[0] != BATCH:
            raise ValueError(
                f"expected an output of shape ({BATCH}, length, size), got {tuple(self.out.shape)}."
                " If the batch is the second axis, pass batch_first=False."
            )
        if self.kind not in ("encoder", "vision") and self.out.shape[1] != self.rows:
            raise ValueError(
                f"expected one output per position, {self.rows}, got {self.out.shape[1]}. Let the "
                "model return all of them: call=lambda model, ids: model(ids, ids)[0], for instance"
            )

    def draw(self, seed=0):
        """Draw token ids for each side, none of them padding or twice in a sentence if possible."""
        generator = torch.Generator().manual_seed(seed)
        if self.kind == "attention":
            self.vectors = [torch.randn(BATCH, n, self.d_model, generator=generator).to(self.device)
                            for n in (self.t, self.s, self.s)]  # fmt: skip
            return {}
        sides = {"encoder-decoder": "source target", "decoder": "target"}.get(self.kind, "source")
        ids = {}
        for side in sides.split():
            length = self.s if side == "source" else self.t
            pool = torch.tensor([i for i in range(self.vocab_size) if i != self.pad_id])
            lots = torch.rand(BATCH, max(len(pool), length), generator=generator).argsort(-1)
            ids[side] = pool[lots[:, :length] % len(pool)].to(self.device)
        return ids

    def to_pictures(self, ids):
        """Make pictures whose patches are the "tokens" of (B, patches)."""
        size, n = self.patch_size, self.image_size // self.patch_size
        generator = torch.Generator().manual_seed(1)
        book = torch.randn(self.vocab_size, self.n_channels, size, size, generator=generator)
        x = book.to(ids.device)[ids].view(len(ids), n, n, self.n_channels, size, size)
        return x.permute(0, 3, 1, 4, 2, 5).reshape(len(ids), self.n_channels, n * size, n * size)

    def forward(self, ids):
        """Call the model on ids by side and return its main output, batch first."""
        if self.kind == "attention":
            return first_float(self.call(self.model, *self.vectors, ids.get("mask")))
        inputs = [ids[side] for side in ("source", "target") if side in ids]
        if self.kind == "vision":
            inputs = [self.to_pictures(inputs[0])]
        if not self.batch_first:
            inputs = [x.transpose(0, 1) for x in inputs]
        output = first_float(self.call(self.model, *inputs))
        return output if self.batch_first else output.transpose(0, 1)

    def run(self, ids=None, trace=False, change=plain, seed=0, grad=False):
        """Run the model once, recorded; dropout, if there is any, draws the same each time."""
        seed_all(seed)
        recorder = Recorder(self.names, trace)
        change = recorder.watch if trace else change
        with recorder, torch.set_grad_enabled(grad), Watch(change):
            output = self.forward(self.ids if ids is None else ids)
        recorder.output = output if grad else output.detach()
        return recorder

    def output(self, ids=None, change=plain, seed=0):
        """Return only the output, of shape (B, length, size)."""
        seed_all(seed)
        with torch.no_grad(), Watch(change):
            out = self.forward(self.ids if ids is None else ids)
        return out[:, None] if out.dim() == 2 else out

    def jolt(self, j):
        """Run an attention layer with key and value j of the first sentence changed."""
        kept, noise = self.vectors, torch.Generator().manual_seed(j)
        self.vectors = [kept[0], *(x.clone() for x in kept[1:])]
        for x in self.vectors[1:]:
            x[0, j] = torch.randn(self.d_model, generator=noise).to(x)
        try:
            return self.output()
        finally:
            self.vectors = kept

    # ---- what depends on what

    def effect_of(self, runs, base=None):
        """Compare runs with the base, call by call.

        Returns a dict from call to (inputs, output); each is a list over runs of what
        `change_between` returns, with an input that moves beyond understanding as None.
        """
        base = self.base if base is None else base
        effect = {}
        for key, call in base.calls.items():
            others = [run.calls.get(key) for run in runs]
            if call.output is None or any(o is None or o.output is None for o in others):
                continue
            inputs = [
                [change_between(x, o.inputs[i], self.lengths) if i < len(o.inputs) else None
                 for o in others]
                for i, x in enumerate(call.inputs)
            ]  # fmt: skip
            outputs = [change_between(call.output, o.output, self.lengths) for o in others]
            effect[key] = inputs, outputs
        return effect

    def change_tokens(self, side, seed=0):
        """Change the first sentence's tokens one by one; return the runs."""
        runs = []
        ids = self.ids if seed == 0 else self.draw(seed)
        for j in range(ids[side].shape[1]):
            changed = {name: x.clone() for name, x in ids.items()}
            free = (i for i in range(self.vocab_size - 1, -1, -1)
                    if i != self.pad_id and i not in ids[side][0])  # fmt: skip
            changed[side][0, j] = next(free, int(ids[side][0, j - 1]))
            runs.append(changed)
        return ids, runs

    def look(self):
        """Find out what every module's output depends on, for each side."""
        for side in self.ids:
            _, changed = self.change_tokens(side)
            runs = [self.run(ids) for ids in changed]
            self.effects[side] = self.effect_of(runs)
            self.expected[side] = self.may(side)
            shown = {}
            for (path, number), (_, outputs) in self.effects[side].items():
                if number == 1:
                    shown[path] = matrix(outputs, self.calls[path, 1].output, self.lengths)
            whole = [change_between(self.out, three(run.output), self.lengths) for run in runs]
            shown[""] = matrix(whole, self.out, self.lengths)
            if shown[""] is None:  # one vector per sentence
                changes = [(self.out - three(run.output)).abs()[0].amax(-1) for run in runs]
                largest = self.out.abs().max() + 1e-12
                shown[""] = (torch.stack(changes, 1) / largest).float().cpu()
            self.whole[side] = shown[""], whole
            self.report.dependence[side] = {p: m for p, m in shown.items() if m is not None}
            self.report.expected[side] = self.expected[side]

    def may(self, side):
        """Say which outputs may depend on which tokens of a side."""
        length = self.ids[side].shape[1]
        may = torch.ones(self.out.shape[1], length, dtype=torch.bool)
        if side == "target" and self.causal:
            may = may.tril()
            may[: self.prefix, : self.prefix] = True
        return may

    def must(self, side):
        """Say which outputs have to depend on which tokens: a window's only for sure."""
        may = self.may(side)
        if self.window and side == "target":
            may &= ~torch.ones_like(may).tril(-self.window)
        return may

    def first_guilty(self, effect, bad):
        """Find the first call, innermost first, with innocent inputs and a bad output."""
        for key, (inputs, outputs) in effect.items():
            if any(change is None for changes in inputs for change in changes):
                continue
            if any(bad(changes) for changes in inputs) or not bad(outputs):
                continue
            return self.calls[key]
        return self.root()

    def again(self, side):
        """Ask anew, with other tokens and in double precision: independence has to stay."""
        seen = self.whole[side][0].clone()
        model = self.model
        try:
            self.model = model if self.large else copy.deepcopy(model).double()
            for seed in (1, 2):
                ids, changed = self.change_tokens(side, seed)
                base = self.output(ids)
                for j, run in enumerate(changed):
                    seen[:, j] += (base - self.output(run)).abs()[0].amax(-1).float().cpu()
        except Exception:  # it can't be copied, or makes float32 numbers of its own
            return seen
        finally:
            self.model = model
        return seen

    def is_fresh(self):
        """Tell whether the weights are untrained: True, False, or None if nothing tells it."""
        norms = [m for m in self.model.modules() if all(p.dim() == 1 for p in m.parameters(False))]
        gains = [p for m in norms for p in m.parameters(False) if p.numel() > 1]
        if gains:
            return all(bool((p == p[0]).all()) for p in gains)
        named = self.model.named_parameters()
        shifts = [p for name, p in named if p.dim() == 1 and name.endswith("bias")]
        return True if shifts and all(bool((p == p[0]).all()) for p in shifts) else None

    def root(self):
        """Return the call of the model itself."""
        return self.calls[next(reversed(self.calls))]

    def excused(self, call):
        """Tell whether a finding at this call, around it or within it explains what was seen."""
        place = call.path + "."
        return any(
            p == "" or place.startswith(p + ".") or p.startswith(place) for p in self.explained
        )

    # ---- one module alone

    def replay(self, call, change_input=None, change=plain):
        """Run one call's module again, its inputs changed by a function of (number, tensor).

        None if it can't be run alone.
        """
        numbers = iter(range(10**6))

        def changed(x):
            number = next(numbers)
            return x if change_input is None else change_input(number, x)

        args, kwargs = rebuild((call.args, call.kwargs), changed)
        seed_all(0)
        try:
            with torch.no_grad(), Watch(change):
                return first_float(call.module(*args, **kwargs))
        except Exception:  # whatever a stranger's module raises
            return None

    def local(self, call, places: int, chosen=None, change=plain):
        """Change one place of a call's inputs at a time: which of its outputs move?

        `places` is the length of the axis to change, `chosen` the numbers of the input tensors to
        change; all that have the axis if None. A matrix (outputs, places), or None if it can't be
        run or told.
        """
        movable = [i for i, x in enumerate(call.inputs) if x.is_floating_point() and x.dim() > 2
                   and along(x, places) is not None]  # fmt: skip
        movable = [i for i in movable if chosen is None or i in chosen]
        if not movable:
            return None
        base, columns = self.replay(call, change=change), []
        for j in range(places):
            generator = torch.Generator().manual_seed(j)
            moved = self.replay(call, moving(movable, places, j, generator), change)
            if base is None or moved is None:
                return None
            columns.append(change_between(base, moved, self.lengths))
        return matrix(columns, base, self.lengths)

    def find_attentions(self):
        """Find the calls in which attention happens, each with its innermost softmax."""
        found = {}
        sizes = {self.t, self.s, self.out.shape[1] if self.kind != "attention" else self.t}
        for call in self.calls.values():
            for op in call.ops:
                if not is_attention(op, sizes):
                    continue
                outer = call
                while outer.parent is not None and not self.is_whole(outer):
                    outer = outer.parent
                found.setdefault(id(outer), (outer, []))[1].append(op)
        return list(found.values())

    def attends(self, call):
        """Tell whether attention happens within a call."""
        return any(outer.inside(call) for outer, _ in self.attentions)

    def is_whole(self, call):
        """Tell whether a call maps vectors per position to vectors per position."""
        there = [x for x in call.inputs if x.is_floating_point() and x.dim() == 3]
        ok = call.output is not None and call.output.dim() == 3 and there
        return bool(ok) and any(along(call.output, n) is not None for n in self.lengths_())

    def lengths_(self):
        class_token = {self.s + 1} if self.kind == "vision" else set()
        return {self.t, self.s, self.out.shape[1]} | class_token

    def ops_of(self, call):
        """Return all functions called in a call, its parts' included, in order of the calls."""
        return [op for other in self.calls.values() if other.inside(call) for op in other.ops]

    def line(self, call, *names, last=False):
        """Return the line of a call's first (or last) function of these names, or ""."""
        lines = [op.line for op in self.ops_of(call) if op.name in names]
        return lines[-1 if last else 0] if lines else ""

    def masking_line(self, call):
        """Return the line where an attention's scores are masked, else of its softmax, else ""."""
        ops = next((ops for outer, ops in self.attentions if call.inside(outer)), None)
        if ops is None:
            return ""
        line = ops[-1].line
        for op in self.ops_of(call):
            if op is ops[-1]:
                break
            scores = getattr(op.result, "shape", 0) == getattr(ops[-1].result, "shape", None)
            if scores and op.name in (*MASKS, "add", "sub"):
                line = op.line
        return line

    def guilty_line(self, call, side, bad):
        """Return the line of a call's first function whose result moves as `bad` says, or ""."""
        number = next((n for n, c in enumerate(self.whole[side][1]) if bad([0] * n + [c])), 0)
        other = self.run(self.change_tokens(side)[1][number], trace=True)
        there = other.calls.get(call.key)
        pairs = zip(call.ops, there.ops if there else [], strict=False)
        for op, moved in pairs:
            a, b = op.result, moved.result
            if isinstance(a, torch.Tensor) and a.is_floating_point() and a.dim() > 2:
                change = change_between(a, b, self.lengths)
                if change is not None and bad([0] * number + [change]):
                    return op.line
        return ""

    def find(self, name, where, what, evidence, likely, line=""):
        """Add a finding, once per name."""
        if all(finding.name != name for finding in self.report.findings):
            trail, call = [], next((c for c in self.base.calls.values() if c.path == where), None)
            while call is not None and call.line:
                trail, call = [*trail, call.line], call.parent
            trail = tuple(dict.fromkeys(trail))
            self.report.findings.append(
                Finding(name, where, what, evidence, tuple(likely), line, trail)
            )

    def unsure(self, sentence):
        """Add a sentence on what can't be decided, once."""
        if sentence not in self.report.undecided:
            self.report.undecided.append(sentence)


def matrix(columns, output, lengths):
    """Put changes of the first sentence side by side: (outputs, inputs), or None."""
    if any(change is None for change in columns):
        return None
    laid = next((x for n in lengths if (x := along(output, n)) is not None), None)
    if laid is None:
        return None
    zeros = torch.zeros(laid.shape[1])
    return torch.stack([zeros if isinstance(c, int) else c[0] for c in columns], 1)


def moving(chosen, places, j, generator):
    """Return a function that adds noise to place j of the first sentence in the chosen inputs."""

    def change(number, x):
        if number not in chosen:
            return x
        x = x.clone()
        batch = next((a for a in (0, 1) if x.shape[a] == BATCH), None)
        place = next(a for a in range(x.dim()) if a != batch and x.shape[a] == places)
        index = [j if a == place else 0 if a == batch else slice(None) for a in range(x.dim())]
        noise = torch.randn(x.shape, generator=generator).to(x) * (x.std() + 1e-3)
        x[tuple(index)] += noise[tuple(index)]
        return x

    return change
