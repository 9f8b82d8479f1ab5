"""The recipe of lesson 18's rewards: an adder that is often wrong, and four ways to better sums.

``python -m recipes.reward`` trains the adder, lets it learn from its own answers by GRPO, by
rejection sampling and by GRPO with a reward that has a gap, from several seeds, and measures voting
beside them. It takes about five minutes on one core.
"""

import copy
import random
from collections import Counter

import torch

from helpers.data import two_digits as sums
from helpers.pretrained.adder import ADDER, STEPS_DONE, UNDER_WAY, build_adder, load_adder
from helpers.pretrained.measured import store
from helpers.pretrained.weight_files import save_weights
from helpers.training import reward
from helpers.training.optimizers import take_step

RULES = {"grpo": sums.is_right, "rejection": sums.is_right, "gamed": sums.is_mentioned}
RATE = 3e-4
PROMPTS, GROUP = 64, 16
RUN_TO_GO_ON = ("grpo", 1)  # from its step STEPS_DONE on, in lesson 18
TEMPERATURES = (0.3, 0.6, 1.0)
STEPS, EVERY, SEEDS = 20, 10, (1, 2, 3)
FEW = {"n": 200, "samples": 4}  # for the curves


def start(steps=600, seed=0):
    """Train the adder on answers as people write them, and stop early: it's meant to be wrong."""
    torch.manual_seed(seed)
    model, draw, pairs = build_adder(), random.Random(seed), sums.two_digit_sums("train")
    optimiser = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.0)
    for step in range(1, steps + 1):
        some = pairs[torch.randint(len(pairs), (128,))]
        written, counted = sums.answers_of(some, draw)
        loss = -reward.log_probs_of(model, sums.prompts_of(some), written)[counted].mean()
        take_step(loss, [optimiser], 2e-3, step)
    return model


def rounds(model, way, steps, seed):
    """Let a GPT learn from its own answers, and yield what each step saw; it is changed in place.

    The `way` is one of `RULES`. Yielded are mean reward and drift in nats per token, before each
    update.
    """
    first, pairs = copy.deepcopy(model), sums.two_digit_sums("train")
    optimiser = torch.optim.AdamW(model.parameters(), RATE, (0.9, 0.99), weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(1, step / 5)
        some = pairs[torch.randint(len(pairs), (PROMPTS,), generator=generator)]
        some = some.repeat_interleave(GROUP, 0)
        prompts = sums.prompts_of(some)
        written, counted = reward.write(model, prompts, sums.END, sums.LONGEST, generator)
        rewards = sums.rewards_of(written, some, RULES[way]).view(-1, GROUP)
        drift = 0.0
        if way == "rejection":
            reward.rejection_step(model, optimiser, prompts, written, counted, rewards)
        else:
            drift = reward.policy_step(
                model, first, optimiser, prompts, written, counted, reward.group_advantages(rewards)
            )
        yield {"step": step, "reward": rewards.mean().item(), "drift": drift}


@torch.no_grad()
def score(model, n=400, samples=16, temperature=1.0):
    """Measure a `model` on `n` unseen sums: shares of right answers, and the answers' length."""
    pairs = sums.two_digit_sums("unseen")[:n]
    greedy, _ = reward.write(model, sums.prompts_of(pairs), sums.END, sums.LONGEST)
    every = pairs.repeat_interleave(samples, 0)
    generator = torch.Generator().manual_seed(1)
    written, counted = reward.write(
        model, sums.prompts_of(every), sums.END, sums.LONGEST, generator, temperature
    )
    right = sums.rewards_of(written, every, sums.is_right).view(n, samples)
    last = [text.rpartition(",")[2] for text in sums.texts_of(written)]
    votes = [Counter(last[i * samples : (i + 1) * samples]).most_common(1)[0][0] for i in range(n)]
    return {
        "greedy": round(sums.rewards_of(greedy, pairs, sums.is_right).mean().item(), 4),
        "one": round(right.mean().item(), 4),
        "vote": round(
            sum(v == str(t) for v, t in zip(votes, pairs.sum(1).tolist(), strict=True)) / n, 4
        ),
        "any": round(right.amax(1).mean().item(), 4),
        "tokens": round(counted.sum(1).float().mean().item(), 2),
        "examples": sums.texts_of(written[::samples])[:4],
    }


def learn(way, seed):
    """Start from the bundled adder, learn in one `way`, and score every so many steps."""
    model, rewards = load_adder(), []
    curve = [{"step": 0, **score(model, **FEW)}]
    for seen in rounds(model, way, STEPS, seed):
        rewards.append(round(seen["reward"], 4))
        if seen["step"] == STEPS_DONE:
            kept = copy.deepcopy(model.state_dict())
        if seen["step"] % EVERY == 0:
            curve.append({**seen, **score(model, **FEW)})
            print(way, seed, curve[-1], flush=True)
    if (way, seed) == RUN_TO_GO_ON:
        save_weights(UNDER_WAY, kept, rewards=rewards)
    return curve


def main():
    """Train the adder, let it learn, store."""
    torch.set_num_threads(1)
    save_weights(ADDER, start().state_dict())
    found = {"seeds": list(SEEDS), "steps": STEPS, "answers_per_step": PROMPTS * GROUP}
    found["voting"] = {str(t): score(load_adder(), temperature=t) for t in TEMPERATURES}
    for way in RULES:
        found[way] = [learn(way, seed) for seed in SEEDS]
        store("reward", found)


if __name__ == "__main__":
    main()
