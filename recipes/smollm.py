"""Measure what lesson 19 shows of SmolLM with bands: examples, a benchmark, a long text.

    python -m recipes.smollm [examples benchmark context]      # about five minutes on two cores

Writes ``helpers/pretrained/results/smollm.json``; what isn't named is kept.
"""

import argparse
import dataclasses
import random

import torch
import torch.nn.functional as F

from helpers.data.reviews import film_reviews
from helpers.data.stories import stories
from helpers.machine.tables import table_beside
from helpers.models.gpt import GPTCache
from helpers.pretrained.measured import so_far, store
from helpers.pretrained.smollm import load_smollm
from helpers.transformer.layers import inference

TASKS = table_beside(__file__)
N_EXAMPLES = (0, 2, 4, 8)
DRAWS = 3
FORMS = (
    "Review: {}\nSentiment (positive or negative):",
    "{}\nDid the reviewer like the film? The review is",
)
N_REVIEWS = 150


@torch.no_grad()
def last_logits(smol, prompts):
    """Return the logits after each prompt, (N, V)."""
    ids = [smol.encode(prompt) for prompt in prompts]
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)  # the mask hides what's behind
    ends = torch.tensor([len(one) - 1 for one in ids])
    return smol.model.output_proj(smol.model.decode(padded)[torch.arange(len(ids)), ends])


def few_shot(smol, task, n, mixed_up, seed, title=""):
    """Return the share of right answers after n examples; mixed up, each has another's answer."""
    pairs, draw, prompts = list(task.items()), random.Random(seed), []
    for i, (asked, _) in enumerate(pairs):
        examples = draw.sample(pairs[:i] + pairs[i + 1 :], n)
        answers = [answer for _, answer in examples]
        answers = answers[1:] + answers[:1] if mixed_up else answers
        lines = [f"{w} -> {a}\n" for (w, _), a in zip(examples, answers, strict=True)]
        prompts.append(title + "".join(lines) + f"{asked} ->")
    said = last_logits(smol, prompts).argmax(-1)
    wanted = torch.tensor([smol.encode(" " + answer)[0] for _, answer in pairs])
    return (said == wanted).float().mean().item()


def measure_examples(smol):
    """Return shares of right answers by task, kind and number of examples, one per draw."""
    found = {}
    for name, task in TASKS.items():
        for n in N_EXAMPLES:
            draws = range(DRAWS if n else 1)
            found[f"{name} right {n}"] = [few_shot(smol, task, n, False, s) for s in draws]
            if n > 2:
                found[f"{name} mixed {n}"] = [few_shot(smol, task, n, True, s) for s in draws]
        found[f"{name} titled 0"] = [few_shot(smol, task, 0, False, 0, "Words\n")]
    return found


def measure_benchmark(smol):
    """Return which of 150 film reviews are judged rightly, with two ways to ask."""
    reviews = film_reviews("test")[:N_REVIEWS]
    words = torch.tensor([smol.encode(word)[0] for word in (" negative", " positive")])
    found = {"labels": [review.label for review in reviews]}
    for form in FORMS:
        judged = []
        for i in range(0, N_REVIEWS, 20):
            prompts = [form.format(review.text) for review in reviews[i : i + 20]]
            judged += last_logits(smol, prompts)[:, words].argmax(-1).tolist()
        found[form] = judged
    return found


def measure_context(smol, length=10_240, step=1024):
    """Return the loss per 1,024 tokens of one long text, also beyond the 8,192 of the training."""
    model = smol.model
    model.config = dataclasses.replace(model.config, max_len=length)
    text = stories("holmes")
    ids, cache, losses = smol.encode(text[: 6 * length])[None, : length + 1], GPTCache(30), []
    assert ids.shape[1] == length + 1, "the text is too short"
    with inference(model):
        for start in range(0, length, step):
            hidden = model.decode(ids[:, : start + step], cache)[0]
            wanted = ids[0, start + 1 : start + step + 1]
            losses.append(F.cross_entropy(model.output_proj(hidden), wanted).item())
    return losses


def main():
    """Measure what was asked for, and store it."""
    kinds = {
        "examples": measure_examples, "benchmark": measure_benchmark, "context": measure_context,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(kinds), choices=list(kinds))
    chosen = parser.parse_args().kinds
    for kind in chosen:
        found = kinds[kind](load_smollm())
        store("smollm", {**so_far("smollm"), kind: found})
        print(kind, "is stored")


if __name__ == "__main__":
    main()
