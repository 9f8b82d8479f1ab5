"""Probes of what concerns training: dropout, gradients, sharing, outputs, targets, the cache."""

import copy
import inspect
import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules import module as every_module

from .recorder import (
    ATTENDS,
    BATCH,
    DIFFERS,
    DROPOUTS,
    Recorder,
    Watch,
    along,
    differs,
    first_float,
    plain,
    seed_all,
    without_dropout,
)  # fmt: skip


def probe_dropout(e):
    """The same input twice must give the same output once the model is in evaluation mode."""
    first, second = e.run(seed=0), e.run(seed=1)
    if torch.equal(first.output.nan_to_num(), second.output.nan_to_num()):
        return
    call = e.first_guilty(e.effect_of([second], first), differs)
    apart = (first.output - second.output).abs().max().item()
    e.find(
        "dropout in evaluation", call.path,
        "After model.eval(), the same input gives another output each time.",
        f"two runs differ by up to {apart:.2g}",
        ("pass training=self.training to F.dropout",
         "dropout_p=self.p if self.training else 0.0 in F.scaled_dot_product_attention",
         "something else in there is drawn at random"),
        e.line(call, *DROPOUTS, "scaled_dot_product_attention", "bernoulli", "rand", "randn"),
    )  # fmt: skip


def probe_training(e):
    """With dropout switched off, training mode must compute what evaluation mode does."""
    quiet = e.run(change=without_dropout)
    modules = [*e.model.modules(), *dict(e.strays)]
    kept = [(m, m.p) for m in modules if isinstance(getattr(m, "p", None), float)]
    try:
        for m, _ in kept:
            m.p = 0.0
        e.mode(True)
        first, second = (e.run(change=without_dropout, seed=seed) for seed in (0, 1))
    except Exception as error:  # a model that can't be run in training mode without its targets
        e.unsure(f"training mode: the model raised {type(error).__name__}")
        return
    finally:
        e.mode(False)
        for m, p in kept:
            m.p = p
    a, b = quiet.output, first.output
    apart = ((a - b).abs().max() / a.abs().max()).item() if a.shape == b.shape else 1
    if apart <= DIFFERS:
        return
    if a.shape == b.shape and (b - second.output).abs().max() > DIFFERS * a.abs().max():
        e.unsure("training mode: something besides dropout is drawn at random there")
        return
    call = e.first_guilty(e.effect_of([first], quiet), lambda changes: any(
        c is None or not isinstance(c, int) and bool((c > DIFFERS / 10).any())
        for c in changes))  # fmt: skip
    e.find("training differs from inference", call.path,
           "With dropout off, training mode still computes something else than evaluation mode.",
           f"up to {apart:.2g} of the largest output",
           ("something asks self.training: a mask, a shortcut",
            "a batch norm: in training it uses the batch, padding included"),
           e.line(call, *ATTENDS, "batch_norm"))  # fmt: skip


def probe_gradient(e):
    """What the output depends on has to get a gradient, and be known to the optimiser."""
    ran = {id(call.module) for call in e.calls.values()}
    lost = [(m, path) for m, path in e.strays if id(m) in ran and any(True for _ in m.parameters())]
    if lost:
        above, _, last = lost[0][1].rpartition(".")
        top = above if last.isdigit() else lost[0][1]
        n = sum(p.numel() for m, _ in lost for p in m.parameters(recurse=False))
        e.find("no gradient", top, "These layers run, but model.parameters() doesn't know them.",
               f"{n:,} weights in {len(lost)} modules that no optimiser gets, no state_dict saves",
               ("put them into nn.ModuleList instead of a plain list",))  # fmt: skip
        return
    named = [(name, p) for name, p in e.model.named_parameters() if p.requires_grad]
    if not named:
        return
    run = e.run(grad=True)
    grads = [None] * len(named)
    if run.output.requires_grad:
        weights = torch.randn(run.output.shape, generator=torch.Generator().manual_seed(0))
        total = (run.output * weights.to(run.output)).sum()
        grads = torch.autograd.grad(total, [p for _, p in named], allow_unused=True)
    dead = [(n, p) for (n, p), g in zip(named, grads, strict=True) if g is None or not g.any()]
    felt = [n for n, p in dead if influences(e, p)]
    if felt:
        steps = zip(*(name.split(".")[:-1] for name in felt), strict=False)
        where = ".".join(step[0] for step in itertools.takewhile(lambda s: len(set(s)) == 1, steps))
        e.find("no gradient", where,
               "The output depends on these weights, but no gradient reaches them.",
               f"{len(felt)} of {len(named)} parameters, first {felt[0]}",
               ("detach(), .data, torch.no_grad() or numpy on the way",
                "a new tensor is made from numbers: torch.tensor(x)"),
               e.line(e.root(), "detach", "detach_", "numpy", "tolist"))  # fmt: skip


def influences(e, parameter):
    """Tell whether the output depends on a parameter."""
    kept = parameter.detach().clone()
    try:
        with torch.no_grad():
            parameter.add_(torch.randn_like(parameter) * (parameter.std(correction=0) + 0.1))
        return bool((e.output() - e.out).abs().max() > 1e-4 * e.out.abs().max())
    finally:
        with torch.no_grad():
            parameter.copy_(kept)


MEANT = "if that's meant, as in ALBERT, pass shared_layers=True"


def probe_sharing(e):
    """Layers that stand in different places have weights of their own."""
    if e.shared_layers:
        return
    number, owners, fed = {}, {}, {}
    for call in e.calls.values():
        parent = call.parent
        linear = any(isinstance(m, nn.Linear) for m in call.module.modules())
        if parent is None or not linear or not e.is_whole(call):
            continue
        if e.attends(call) or not e.attends(parent):
            continue
        if fed.setdefault(id(call.module), parent.module) is not parent.module:
            found = "The same feed-forward weights are used in more than one layer."
            evidence = f"{call.path} runs in different layers"
            e.find("layers shared", call.path, found, evidence, ("make one per layer", MEANT))
            return
    for call, _ in e.attentions:
        number[call.path] = number.get(call.path, 0) + 1
        matrices = {p.data_ptr() for p in call.module.parameters() if p.dim() > 1}
        same = [path for path, theirs in owners.items() if matrices and theirs == matrices]
        owners.setdefault(call.path, matrices)
        if number[call.path] < 2 and not same:
            continue
        place = call.path if number[call.path] > 1 else same[0]
        above = place.rpartition(".")[0]
        layer = above if above.rpartition(".")[2].isdigit() else place
        n = sum(other.path == call.path for other, _ in e.attentions)
        e.find("layers shared", layer, "The same weights are used for more than one layer.",
               f"{place} runs {n} times per pass" if n > 1 else
               f"{call.path} has the weights of {same[0]}",
               ("[layer] * n repeats one layer: [Layer(...) for _ in range(n)] makes n of them",
                MEANT))  # fmt: skip
        return


def probe_output(e):
    """Logits are no probabilities, and before training none is much likelier than another."""
    if e.kind not in ("decoder", "encoder-decoder") or e.out.shape[-1] < 2:
        return
    out = e.out.double()
    last = next((c for c in reversed(e.calls.values()) if c.parent is not None), e.root())
    if (out >= 0).all() and ((out.sum(-1) - 1).abs() < 1e-3).all():
        e.find("probabilities instead of logits", "", "The model returns probabilities.",
               "every output is at least 0 and every row sums to 1",
               ("return the logits: F.cross_entropy applies the softmax itself",),
               e.line(e.root(), "softmax", last=True))  # fmt: skip
        return
    if e.is_fresh() is None:
        e.unsure("the loss at the start: nothing shows whether the model is untrained")
    if not e.is_fresh():
        return
    v = out.shape[-1]
    targets = torch.randint(v, out.shape[:2], generator=torch.Generator().manual_seed(0))
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten().to(out.device)).item()
    if loss > math.log(v) + 2:
        e.find("loss at the start", last.path,
               "Before any training the model is already sure, and wrong.",
               f"{loss:.1f} nats on random targets; knowing nothing costs ln {v} = "
               f"{math.log(v):.1f}. Logits have a spread of {out.std():.1f}; 1 or less is usual",
               ("the output matrix is too large: nn.Embedding starts with a spread of 1; if the "
                "output is tied to it, nn.init.normal_(weight, std=0.02)",))  # fmt: skip


def probe_loss(e):
    """Give a training function logits of ours; the gradient tells which token it wants where."""
    if e.loss is None:
        return
    ids = e.draw(3)
    picked, used = wanted_tokens(e, ids)
    if picked is not None:
        target, length = ids["target"], picked.shape[1]
        gaps = {gap: agreement(picked, used, target, gap, length) for gap in (-1, 0, 1, 2)}
        gap = max(gaps, key=gaps.get)
        fits = e.kind == "decoder" or length == target.shape[1] - 1
        if fits and gap != 1 and gaps[gap] > 0.9:
            told = {-1: "the token before", 0: "the token it has just been given"}
            e.find("targets not shifted", "training function", "At each position the loss asks for "
                   f"{told.get(gap, f'the token {gap} places on')}.",
                   f"{100 * gaps[gap]:.0f}% of the targets are the input {gap} places on, "
                   f"{100 * gaps[1]:.0f}% the next token",
                   ("model(ids[:, :-1]) is compared with ids[:, 1:]",
                    "a library that shifts inside wants labels as they are"))  # fmt: skip
            return
    if not any(finding.name == "sees the future" for finding in e.report.findings):
        probe_noise(e)


def wanted_tokens(e, ids):
    """Return which token a training function wants at each position (B, T), and where it cares."""
    made, asked = [], []

    def replace(module, args, output):
        logits = first_float(output)
        if module is not e.model or logits is None or logits.dim() != 3:
            return None
        made.append(torch.zeros_like(logits, requires_grad=True))
        return made[-1] if output is logits else swap(output, logits, made[-1])

    def watch(name, function, args, kwargs):
        if name in ("cross_entropy", "nll_loss"):  # inside the model, where no gradient shows it
            asked.append(args[1] if len(args) > 1 else kwargs["target"])
        return function(*args, **kwargs)

    handle = every_module.register_module_forward_hook(replace)
    try:
        with Watch(watch):
            loss = training_loss(e, ids)
            wanted = None
            if made and loss.requires_grad:
                (wanted,) = torch.autograd.grad(loss, made[-1], allow_unused=True)
    finally:
        handle.remove()
    if wanted is not None:
        return wanted.argmin(-1), wanted.abs().sum(-1) > 0
    if asked and asked[-1].dtype == torch.long and asked[-1].numel() % BATCH == 0:
        picked = asked[-1].reshape(BATCH, -1)
        return picked, (picked >= 0) & (picked != e.pad_id)
    return None, None


def training_loss(e, ids):
    """Call the training function on ids by side."""
    given = [ids[side] for side in ("source", "target") if side in ids]
    alone = len(inspect.signature(e.loss).parameters) == len(given)
    return e.loss(*given) if alone else e.loss(e.model, *given)


N_NOISE, STEPS = 8, 60  # different tokens, updates


def probe_noise(e):
    """Train on fresh random tokens: nothing predicts them but a look at the answer."""
    weights = [p for p in e.model.parameters() if p.requires_grad]
    if not weights or sum(p.numel() for p in weights) > 5e6 or e.vocab_size < N_NOISE + 2:
        return
    kept, losses = [(p, p.detach().clone(), p.grad) for p in weights], []
    tokens = torch.tensor([i for i in range(N_NOISE + 1) if i != e.pad_id][:N_NOISE])
    optimizer, generator = torch.optim.Adam(weights, 3e-3), torch.Generator().manual_seed(0)
    try:
        for _ in range(STEPS):
            ids = {side: tokens[torch.randint(N_NOISE, (16, x.shape[1]), generator=generator)]
                   .to(e.device) for side, x in e.ids.items()}  # fmt: skip
            loss = training_loss(e, ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    except Exception as error:  # whatever a stranger's training function raises
        e.unsure(f"the training function: it raised {type(error).__name__}: {error}")
        return
    finally:
        with torch.no_grad():
            for p, value, grad in kept:
                p.copy_(value)
                p.grad = grad
    least = sum(losses[-5:]) / 5
    if least < 0.85 * math.log(N_NOISE):
        e.find("targets not shifted", "training function", "It learns to predict random tokens, so "
               "the model is shown what it is asked for.",
               f"after {STEPS} steps on fresh random tokens the loss is {least:.2f} nats; their "
               f"entropy is ln {N_NOISE} = {math.log(N_NOISE):.2f}",
               ("the targets, or something made of them, are among the model's inputs",
                "model(ids[:, :-1]) is compared with ids[:, 1:]"))  # fmt: skip


def swap(output, old, new):
    """Put another tensor into a model's nested output."""
    if isinstance(output, tuple | list):
        return type(output)(new if x is old else x for x in output)
    output = copy.copy(output)
    for name, value in list(output.items() if hasattr(output, "items") else vars(output).items()):
        if value is old:
            output[name] = new
    return output


def agreement(picked, used, ids, gap, length):
    """Return at what share of the places the target is the input `gap` places on."""
    first, n = max(0, -gap), min(length, ids.shape[1] - gap)
    cared = used[:, first:n]
    right = (picked[:, first:n] == ids[:, first + gap : n + gap]) & cared
    return (right.sum() / cared.sum().clamp(min=1)).item()


def probe_cache(e):
    """Step by step with a cache has to give what one pass gives."""
    step = e.cached or hugging_face_steps(e)
    if step is None:
        return
    inputs = [e.ids[side] for side in ("source", "target") if side in e.ids]
    recorder = Recorder(e.names)
    seed_all(0)
    with recorder, torch.no_grad(), Watch(plain):
        out = step(e.model, *inputs)
    if out.shape != e.out.shape:
        raise ValueError(
            f"cached has to return logits of shape {tuple(e.out.shape)}; got {tuple(out.shape)}."
        )
    apart = (out - e.out).abs().amax((0, 2)) / e.out.abs().max()
    if apart.max() < DIFFERS:
        return
    start = int((apart > DIFFERS).nonzero()[0])
    where = first_disagreement(e, recorder, start)
    causes = ("positions start from 0 again at every step: add the length of the cache",
              "a key or value is lost, comes before the old ones, or is rotated for another place",
              "the mask for one new row lets it see all earlier keys")  # fmt: skip
    embeds = isinstance(dict(e.model.named_modules())[where], nn.Embedding)
    e.find("cache disagrees", where, "One token at a time gives other logits than all at once.",
           "difference per position: " + " ".join(f"{x:.1g}" for x in apart.tolist()),
           causes if embeds else (*causes[1:], causes[0]))  # fmt: skip


def first_disagreement(e, recorder, start):
    """Find the first module that gives another row, at the first wrong step, than in one pass."""
    for (path, number), call in recorder.calls.items():
        whole = e.calls.get((path, 1))
        if number != start + 1 or whole is None or whole.output is None or call.output is None:
            continue
        full = along(whole.output, e.t)
        row = call.output.reshape(BATCH, -1) if call.output.numel() % BATCH == 0 else None
        if full is None or len(full) != BATCH:
            full = whole.output.reshape(1, e.t, -1) if whole.output.shape[0] == e.t else None
            row = call.output.reshape(1, -1)
        if full is None or row is None or row.shape[1] != full.shape[2]:
            continue
        if (full[:, start] - row).abs().max() > DIFFERS * full.abs().max():
            return path
    return ""


def hugging_face_steps(e):
    """Return a step-by-step pass for models with Hugging Face's cache, else None."""
    config = getattr(e.model, "config", None)
    accepts = "past_key_values" in inspect.signature(e.model.forward).parameters
    if e.kind != "decoder" or config is None or not accepts or not e.known:
        return None

    def steps(model, ids):
        past, rows = None, []
        for i in range(ids.shape[1]):
            out = model(input_ids=ids[:, i : i + 1], past_key_values=past, use_cache=True)
            past = out.past_key_values
            rows.append(out.logits)
        return torch.cat(rows, 1)

    return steps
