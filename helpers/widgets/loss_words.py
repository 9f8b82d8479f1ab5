"""What the map's tour says of a translation's losses: the costliest row, and one training step."""

import copy
import math

import torch
from torch.nn import functional as F

from helpers.widgets.readable import percent, readable_next

RATE = 0.03  # how many times the gradient is subtracted from each learned number


def loss_words(trace) -> dict:
    """Name the token of a `trace` that costs most, what was likelier, and both gradients."""
    pairs = zip(trace.candidates, trace.written, strict=True)
    found = [next(one for one in best if one.token == token) for best, token in pairs]
    row = min(range(len(found)), key=lambda row: found[row].probability)
    own, (best, other) = found[row], trace.candidates[row][:2]
    rival = other if best == own else best
    names = readable_next(trace.decoder.tokens[: row + 1], [own.token, rival.token])
    costliest, rival_name = (name if len(name) < 15 else f"{name[:13]}…" for name in names)
    least = own.probability
    expected = f"The model expected “{rival_name}” ({percent(rival.probability)})."
    return {
        "expected": "What would a wrong word cost?" if best == own else expected,
        "costliest": costliest,
        "probability": f"{least:.{max(3, 2 - math.floor(math.log10(least)))}f}",
        "costs": f"{-math.log(least):.2f}",
        "push": f"{least - 1:.2f}".replace("-", "−"),
        "rival": rival_name,
        "rival_share": f"{rival.probability:.2f}",
    }


def losses_of(trace, network):
    """Compute what a `network` loses on each target token of a `trace`, in nats."""
    # A trace is made in inference mode, of which autograd takes no tensor.
    source, target = trace.source_ids.clone()[None], trace.target_ids.clone()[None]
    last = next(one.id for one in trace.candidates[-1] if one.token == trace.written[-1])
    wanted = torch.cat([target[0, 1:], target.new_tensor([last])])
    return F.cross_entropy(network(source, target)[0], wanted, reduction="none")


def stepped(trace, network):
    """Copy a `network` and take one step of gradient descent on the loss of a `trace`."""
    network = copy.deepcopy(network).eval()
    with torch.enable_grad():
        numbers = list(network.requires_grad_().parameters())
        gradients = torch.autograd.grad(losses_of(trace, network).mean(), numbers)
    with torch.no_grad():
        for number, gradient in zip(numbers, gradients, strict=True):
            number -= RATE * gradient
    return network.requires_grad_(False)


def one_step(trace) -> dict:
    """Tell what one step of gradient descent on a `trace`, with a copy of its model, does."""
    networks = trace.network, stepped(trace, trace.network)
    with torch.no_grad():
        before, after = (losses_of(trace, network) for network in networks)
    costs = [round(one, 4) for one in [*after.tolist(), after.mean().item()]]
    before = f"{before.mean():.2f}"
    return {"rate": RATE, "before": before, "after": f"{costs[-1]:.2f}", "back": costs}
