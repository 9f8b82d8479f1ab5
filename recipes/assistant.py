"""The recipe of the assistants: three adapters for the story model.

``python -m recipes.assistant`` makes all three, measures them and stores what the
lesson shows. With names, such as ``instructed sums``, it makes only these. The preferred one goes
on from the instructed one.
"""

import argparse
import copy
import itertools
import random
import time
from pathlib import Path

import torch
from torch import nn

from helpers.data.instructions import KINDS, NO_STORY, instructions, story_points
from helpers.data.sums import large_sums, sums
from helpers.models.assistant import IGNORE, answer_log_probs, dpo_loss, drift, pad_pairs
from helpers.models.lora import trainable_state
from helpers.pretrained.adapters import save_adapter
from helpers.pretrained.assistant import ADAPTERS, adapt, adapter_path, load_assistant
from helpers.pretrained.measured import store
from helpers.pretrained.storyteller import load_storyteller
from helpers.training.optimizers import take_step

BETA = 0.1
# Of the preferred one: how many requests, and which answers are paired. First what is a story about
# its subject with what isn't; then the shortest with the longest.
PREFERRED_ROUNDS = ((480, {"best": 4, "most": NO_STORY}), (320, {"best": 2}))


def arguments(argv=None):
    """Read the command line `argv`; the defaults made the bundled adapters."""
    parser = argparse.ArgumentParser(prog="python -m recipes.assistant", description=__doc__)
    add = parser.add_argument
    add("adapters", nargs="*", help=f"some of {', '.join(ADAPTERS)}; default: all")
    add("--instructions", type=int, default=300_000, help="how many; each is seen once")
    add("--kinds", default=",".join(KINDS), help="of instructions; a kind named twice comes twice")
    add("--start", nargs="*", default=(), help="adapters whose mean the instructed one starts from")
    add("--shares", nargs="*", type=float, default=(), help="of these in the mean; default: equal")
    add("--own", type=int, default=0, help="prompts whose own answers are learned from at the end")
    add("--own-rate", type=float, default=7e-4)
    add("--sum-passes", type=int, default=3)
    add("--examples", type=int, default=None, help="fewer, to try it out")
    add("--rate", type=float, default=4e-3)
    add("--dpo-rate", type=float, default=2e-4)
    add("--seed", type=int, default=1)
    add("--name", default="", help="put behind the files' names, to keep the bundled ones")
    return parser.parse_args(argv)


def batches(pairs, passes, seed, tokens=2048):
    """Sort training examples of similar length into batches, anew in every pass.

    `pairs` of ids and targets are as `supervised_pair` makes them, and so are the batches: integer
    Tensors of shape (B, T), of at most so many `tokens`, filling included.
    """
    draw, made = random.Random(seed), []
    for _ in range(passes):
        # Almost sorted, so that other examples meet in every pass.
        ordered = sorted(pairs, key=lambda pair: len(pair[0]) + draw.uniform(0, 6))
        batch, some = [], []
        for pair in ordered:
            longest = max(len(ids) for ids, _ in [*batch, pair])
            if longest * (len(batch) + 1) > tokens:
                some.append(pad_pairs(batch))
                batch = []
            batch.append(pair)
        some.append(pad_pairs(batch))
        draw.shuffle(some)
        made += some
    return made


def train(model: nn.Module, steps: list, loss_of, rate: float, precision="bf16") -> list[float]:
    """Train what is trainable in a model, without dropout; the losses.

    `steps` has one batch per step, handed to `loss_of`. The learning rate rises to its peak `rate`
    over a tenth of the steps, at most 30; from there a straight line leads to zero.
    """
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, rate, betas=(0.9, 0.98), weight_decay=0.0)
    losses, start = [], time.perf_counter()
    warmup = min(30, len(steps) // 10 + 1)
    for step, batch in enumerate(steps, 1):
        now = rate * min(step / warmup, (len(steps) - step + 1) / len(steps))
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(batch)
        losses.append(take_step(loss, [optimizer], now, step))
        if step % 50 == 0 or step == len(steps):
            seconds = time.perf_counter() - start
            recent = sum(losses[-50:]) / len(losses[-50:])
            print(f"step {step} of {len(steps)}: {recent:.3f}, {seconds:.0f} s", flush=True)
    return losses


def instruct(args):
    """Teach the story model to follow instructions, with the settings `args`."""
    some = [load_assistant(Path(path), merged=False) for path in args.start]
    shares = args.shares or [1 / len(some) for _ in some]
    assistant = mix(some, shares) if some else adapt(load_storyteller())
    n = args.examples or args.instructions
    made = instructions("train", n, kinds=args.kinds.split(","), seed=args.seed) if n else []
    pairs = [assistant.pair(one.prompt, one.answer) for one in made]
    losses = learn(assistant, pairs, args.rate, args.seed)
    if args.own:
        asked = instructions("train", args.own, kinds=args.kinds.split(","), seed=args.seed)
        pairs = []  # of the sampled answers to each instruction, one that follows it
        for one, texts in several(assistant, asked, 4, args.seed, temperature=0.7, max_tokens=50):
            right = filter(one.followed_by, texts)
            pairs += [assistant.pair(one.prompt, text) for text in itertools.islice(right, 1)]
        losses += learn(assistant, pairs, args.own_rate, args.seed)
    return assistant, losses, {}


def learn(assistant, pairs, rate, seed, passes=1):
    """Train an assistant on `pairs` of ids and targets: `rate`, `seed`, `passes`; the losses."""
    if not pairs:
        return []
    model = assistant.model

    def loss_of(batch):  # `answer_loss`, but only the scored positions get logits
        ids, targets = batch
        scored = targets != IGNORE
        logits = model.output_proj(model.decode(ids)[scored])
        return nn.functional.cross_entropy(logits.float(), targets[scored])

    return train(model, batches(pairs, passes, seed), loss_of, rate)


@torch.no_grad()
def mix(some, shares):
    """Give the first of `some` assistants the mean of all their adapters; `shares` sum to 1."""
    first, *others = [trainable_state(one.model) for one in some]
    for name, weight in first.items():
        weight.mul_(shares[0])
        for share, other in zip(shares[1:], others, strict=True):
            weight.add_(share * other[name])
    return some[0]


def several(assistant, asked, samples, seed, **how):
    """Sample several answers to each of `asked`: `samples`, `seed`, and `how` as in `replies`."""
    prompts = [one.prompt for one in asked for _ in range(samples)]
    texts = assistant.replies(prompts, seed=seed, **how)
    return [(one, texts[i * samples : (i + 1) * samples]) for i, one in enumerate(asked)]


def teach_sums(args):
    """Teach the story model to add, with the settings `args`: in steps, at once, with a tool."""
    assistant = adapt(load_storyteller())
    pairs = []
    for one in sums("train", args.examples, seed=args.seed):
        pairs.append(assistant.pair(one.prompt, one.working))
    for one in sums("train", args.examples and args.examples // 4 or 1500, seed=args.seed + 1):
        pairs.append(assistant.pair(one.at_once, str(one.total)))
    for one in large_sums("train", args.examples and args.examples // 8 or 750, seed=args.seed):
        pairs.append(assistant.pair(one.prompt, one.call))
        pairs.append(assistant.pair(one.messages, str(one.total)))
    return assistant, learn(assistant, pairs, args.rate, args.seed, args.sum_passes), {}


def rank_pairs(
    assistant, asked, score, samples, seed, temperature=0.8, best=4, least=None, most=None
):
    """Sample several answers to every request and pair high scores with low ones.

    `score` takes a text and an Instruction. So many of the samples are paired, the `best` one with
    the worst one and so on. The better one's score has to be higher than `least`, the worse one's
    at most `most`. The pairs are (prompt, better answer, worse answer).
    """
    pairs = []
    for one, texts in several(
        assistant, asked, samples, seed, temperature=temperature, max_tokens=90
    ):
        scored = [(score(text, one), text) for text in texts]
        scored.sort(key=lambda pair: pair[0], reverse=True)
        for (good, better), (bad, worse) in zip(scored[:best], reversed(scored), strict=False):
            fit = (least is None or good > least) and (most is None or bad <= most)
            if good > bad and fit:
                pairs.append((one.prompt, better, worse))
    return pairs


def prefer(assistant, reference, pairs, rate, seed, size=16) -> list[float]:
    """Train an assistant with DPO on (prompt, better, worse); the `reference` stays as it is.

    A step takes `size` pairs.
    """
    examples = []
    for prompt, better, worse in pairs:
        both = pad_pairs([assistant.pair(prompt, better), assistant.pair(prompt, worse)])
        with torch.no_grad():
            examples.append((*both, answer_log_probs(reference.model, *both)))
    random.Random(seed).shuffle(examples)
    steps = [examples[i : i + size] for i in range(0, len(examples), size)]

    def loss_of(batch):
        rows = [row for ids, targets, _ in batch for row in zip(ids, targets, strict=True)]
        policy = answer_log_probs(assistant.model, *pad_pairs(rows)).view(-1, 2)
        theirs = torch.stack([known for _, _, known in batch])
        return dpo_loss(*policy.T, *theirs.T, beta=BETA)

    return train(assistant.model, steps, loss_of, rate, precision="fp32")


def drift_of(assistant, reference, asked, texts) -> float:
    """Measure `drift` over many answers, in nats per token.

    `texts` are the assistant's own answers to `asked`, sampled at temperature 1.
    """
    pairs = [assistant.pair(one.prompt, text) for one, text in zip(asked, texts, strict=True)]
    total = tokens = 0
    with torch.no_grad():
        for i in range(0, len(pairs), 16):
            ids, targets = pad_pairs(pairs[i : i + 16])
            n = (targets != IGNORE).sum().item()
            total += n * drift(assistant.model, reference.model, ids, targets).item()
            tokens += n
    return total / tokens


def teach_preference(args):
    """Teach the instructed assistant short stories, by DPO on its samples; `args`: settings."""
    assistant = load_assistant(adapter_path("instructed" + args.name), merged=False)
    first, losses, n_pairs = [], [], 0

    def points(text, one):
        return story_points(text, one.facts["word"])

    for number, (n, how) in enumerate(PREFERRED_ROUNDS):
        seed = args.seed + number
        asked = instructions("train", args.examples or n, kinds=["story"], seed=seed)
        pairs = rank_pairs(assistant, asked, points, 8, seed, 1.0, least=NO_STORY, **how)
        start = copy.deepcopy(assistant)
        losses += prefer(assistant, start, pairs, args.dpo_rate, seed)
        first, n_pairs = first or pairs, n_pairs + len(pairs)
    mix([assistant, start], [0.9, 0.1])  # one step back: the drift rises fastest at the end
    store("assistant_pairs", first[:400])
    return assistant, losses, {"pairs": n_pairs}


MAKERS = {"instructed": instruct, "preferred": teach_preference, "sums": teach_sums}


def main(argv: list[str] | None = None):
    """Make the adapters."""
    args = arguments(argv)
    for name in args.adapters or ADAPTERS:
        torch.manual_seed(args.seed)
        start = time.perf_counter()
        assistant, losses, card = MAKERS[name](args)
        card |= {
            "seed": args.seed,
            "seconds": round(time.perf_counter() - start),
            "losses": [round(loss, 3) for loss in losses[:: max(len(losses) // 100, 1)]],
        }
        save_adapter(assistant.model, adapter_path(name + args.name), card)
        print(f"{name}: {len(losses)} steps, {card['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
