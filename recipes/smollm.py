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
from helpers.models.gpt import GPTCache
from helpers.pretrained.measured import so_far, store
from helpers.pretrained.smollm import load_smollm
from helpers.transformer.layers import inference

OPPOSITES = """hot cold  big small  fast slow  up down  open closed  rich poor  happy sad
    dark light  early late  strong weak  full empty  wet dry
    new old  high low  long short  hard soft
    good bad  near far  young old  thick thin  left right  true false  win lose  buy sell"""
CAPITALS = """France Paris  Italy Rome  Japan Tokyo  Spain Madrid  Germany Berlin  Egypt Cairo
    Russia Moscow  China Beijing  Greece Athens  Austria Vienna  Portugal Lisbon  Cuba Havana
    Poland Warsaw  Norway Oslo  Sweden Stockholm  Finland Helsinki  Ireland Dublin  Peru Lima
    Kenya Nairobi  Iran Tehran  Turkey Ankara  Hungary Budapest  India Delhi  Canada Ottawa"""
# Not picked by what comes out: more states in and around Europe, in the order of the alphabet.
STATES = """Albania Tirana  Armenia Yerevan  Azerbaijan Baku  Belarus Minsk  Belgium Brussels
    Bulgaria Sofia  Croatia Zagreb  Cyprus Nicosia  Denmark Copenhagen  Estonia Tallinn
    Georgia Tbilisi  Iceland Reykjavik  Latvia Riga  Lithuania Vilnius  Malta Valletta
    Moldova Chisinau  Montenegro Podgorica  Netherlands Amsterdam  Romania Bucharest
    Serbia Belgrade  Slovakia Bratislava  Slovenia Ljubljana  Switzerland Bern  Ukraine Kyiv"""
LANGUAGES = """France French  Germany German  Italy Italian  Spain Spanish  Japan Japanese
    Russia Russian  Portugal Portuguese  Greece Greek  Turkey Turkish  Poland Polish
    Sweden Swedish  Norway Norwegian  Denmark Danish  Finland Finnish  Hungary Hungarian
    Thailand Thai  Vietnam Vietnamese  Korea Korean  China Chinese  Iran Persian
    Romania Romanian  Bulgaria Bulgarian  Ukraine Ukrainian  Iceland Icelandic"""
TASKS = {"opposites": OPPOSITES, "capitals": CAPITALS, "states": STATES, "languages": LANGUAGES}
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


def few_shot(smol, words, n, mixed_up, seed, title=""):
    """Return the share of right answers after n examples; mixed up, each has another's answer."""
    words = words.split()
    pairs, draw, prompts = list(zip(words[::2], words[1::2], strict=True)), random.Random(seed), []
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
    for task, words in TASKS.items():
        for n in N_EXAMPLES:
            draws = range(DRAWS if n else 1)
            found[f"{task} right {n}"] = [few_shot(smol, words, n, False, s) for s in draws]
            if n > 2:
                found[f"{task} mixed {n}"] = [few_shot(smol, words, n, True, s) for s in draws]
        found[f"{task} titled 0"] = [few_shot(smol, words, 0, False, 0, "Words\n")]
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
