"""The loop that the recipes of the fine-tuned models share."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from helpers.machine.atomic_writes import atomic_write
from helpers.models.lora import trainable_state
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import take_step
from helpers.training.training import learning_rate


@dataclass(frozen=True, kw_only=True)
class Example:
    """A tokenised text with what the model should say about it.

    The `target` is a class, or the positions of an answer's first and last token.
    """

    ids: list
    segments: list
    target: tuple


def batches(examples: list[Example], tokens: int, seed: int, multiple=16):
    """Sort examples of similar length into batches of few shapes, and shuffle the batches.

    A batch has at most so many `tokens`, padding included: ids (B, S), segments (B, S) and targets
    (B, n). Lengths are padded to a `multiple`.
    """
    draw = random.Random(seed)
    padded = {}
    for example in draw.sample(examples, len(examples)):
        padded.setdefault(-(-len(example.ids) // multiple) * multiple, []).append(example)
    found = []
    for length, group in padded.items():
        size = max(tokens // length, 1)
        for start in range(0, len(group), size):
            found.append(_batch(group[start : start + size], length))
    draw.shuffle(found)
    return found


def _batch(group, length):
    ids, segments = torch.zeros(2, len(group), length, dtype=torch.long)
    for row, example in enumerate(group):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        segments[row, : len(example.ids)] = torch.tensor(example.segments)
    return ids, segments, torch.tensor([example.target for example in group])


def fine_tune(model, loss_of, epochs: list, score, settings, checkpoint) -> dict:
    """Train what is trainable in a model; the weights with the best score win.

    `loss_of` takes model, ids, segments and targets. Each of `epochs` is a function that makes the
    same batches whenever it is called; after it, `score` measures the model. Of the `settings`, the
    rates, warm-up, clipping, weight decay, precision and seed are used. The file `checkpoint` is
    written after every epoch; one that is there is gone on from. Scores after every epoch and
    seconds in all.
    """
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=0.0, weight_decay=settings.weight_decay)
    total = sum(len(make()) for make in epochs)
    state = {"step": 0, "epoch": 0, "scores": [], "seconds": 0.0, "best": None}
    checkpoint = Path(checkpoint)
    torch.manual_seed(settings.seed)
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state.pop("now"), strict=False)
        optimizer.load_state_dict(state.pop("optimizer"))
        torch.set_rng_state(state.pop("random"))
    with StopBetweenSteps() as stop:
        for make in epochs[state["epoch"] :]:
            start = time.perf_counter()
            model.train()
            for batch in make():
                state["step"] += 1
                rate = learning_rate(state["step"], settings, total)
                with torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "bf16"):
                    loss = loss_of(model, *batch)
                loss = take_step(loss, [optimizer], rate, state["step"], settings.clip_norm)
                if state["step"] % 50 == 0:
                    print(f"step {state['step']} of {total}: loss {loss:.3f}", flush=True)
                if stop.asked:
                    raise SystemExit(f"stopped; {checkpoint} holds the last whole epoch")
            state["epoch"] += 1
            state["scores"].append(score(model.eval()))
            state["seconds"] += time.perf_counter() - start
            if state["scores"][-1] >= max(state["scores"]):
                state["best"] = {n: t.clone() for n, t in trainable_state(model).items()}
            rest = {
                "now": trainable_state(model),
                "optimizer": optimizer.state_dict(),
                "random": torch.get_rng_state(),
            }
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(checkpoint) as partial:
                torch.save(state | rest, partial)
            print(f"epoch {state['epoch']}: {state['scores'][-1]:.4f}", flush=True)
    model.load_state_dict(state["best"], strict=False)
    return {"scores": state["scores"], "seconds": round(state["seconds"])}
