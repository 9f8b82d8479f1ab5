"""What the assistants reach, measured on instructions, facts and sums that no training had.

``python -m recipes.assistant_scores`` measures all bundled adapters and stores
the results for the lesson; with names, such as ``sums``, only those.
"""

import argparse

from helpers.data.instructions import KINDS, facts, instructions, read_prompt, story_points
from helpers.data.sums import final_number, large_sums, sums
from helpers.models.assistant import answer_with_tools, majority
from helpers.models.retrieval import bm25
from helpers.pretrained.assistant import ADAPTERS, Assistant, load_assistant
from helpers.pretrained.measured import so_far, store
from helpers.pretrained.storyteller import load_storyteller
from recipes.assistant import drift_of

TERMS = (3, 4, 5)  # how many numbers of up to 49 the sums have that are sampled
FRESH = 17  # a seed on which nothing was chosen


class PlainTeller(Assistant):
    """The story model as it is: it continues the prompt's text, up to the next paragraph."""

    def prompt_ids(self, messages):
        """Encode the prompt as a paragraph; a list of ids."""
        return self.teller.encode(f"\n{messages}\n").tolist()

    def replies(self, conversations, *settings, **more):
        """Continue every prompt; arguments and results as in `Assistant.replies`."""
        answers = super().replies(conversations, *settings, **more)
        return [answer.split("\n")[0] for answer in answers]


class WithoutEnd(Assistant):
    """An assistant whose template forgets the end piece behind the user's message."""

    def prompt_ids(self, messages):
        """Put `messages` into the wrong template; a list of ids."""
        *ids, _, assistant = super().prompt_ids(messages)
        return [*ids, assistant]


def share(values):
    """Compute the mean of `values`, numbers or truth values, rounded."""
    values = list(values)
    return round(sum(values) / len(values), 4)


def followed(assistant, asked, max_tokens=60) -> dict[str, float]:
    """Measure what share of the instructions `asked` is followed: per kind, and ``all``."""
    texts = assistant.replies([one.prompt for one in asked], max_tokens=max_tokens)
    right = [one.followed_by(text) for one, text in zip(asked, texts, strict=True)]
    shares = {
        kind: share(ok for one, ok in zip(asked, right, strict=True) if one.kind == kind)
        for kind in KINDS
    }
    return shares | {"all": share(right)}


def score_instructed():
    """Measure the instructed adapter: kinds, the template, facts with and without a finder."""
    assistant, teller = load_assistant("instructed"), load_storyteller()
    unseen = instructions("unseen", 1400, seed=FRESH)
    seen = instructions("train", 700, seed=FRESH)
    endless = WithoutEnd(assistant.model, assistant.teller)
    return {
        "followed": followed(assistant, unseen),
        "followed_seen": followed(assistant, seen),
        "story_model_alone": followed(PlainTeller(teller.model, teller), unseen[:140]),
        "story_model_in_template": followed(Assistant(teller.model, teller), unseen[:140]),
        "template_without_end": followed(endless, unseen[:140]),
        "facts": score_facts(assistant),
    }


def score_facts(assistant):
    """Ask an `assistant` about made-up texts: alone, with the text found, right or wrong ones."""
    known = facts("unseen", 100)
    texts = [text for text, _ in known]
    questions = [asked.prompt for _, asked in known]
    found = bm25(questions, texts).argmax(-1).tolist()
    shown = {
        "alone": questions,
        "with_finder": [read_prompt(texts[i], q) for i, q in zip(found, questions, strict=True)],
        "with_right_text": [read_prompt(t, q) for t, q in zip(texts, questions, strict=True)],
        "with_wrong_text": [read_prompt(texts[i - 1], q) for i, q in enumerate(questions)],
    }
    scores = {"finder": share(i == j for i, j in enumerate(found)), "n": len(known)}
    for name, prompts in shown.items():
        answers = assistant.replies(prompts, max_tokens=30)
        pairs = list(zip(known, answers, strict=True))
        right = [fact.asked.followed_by(text) for fact, text in pairs]
        scores[name] = {"right": share(right), "examples": answers[:3]}
    return scores


def score_preferred():
    """Measure the preferred adapter against the instructed one: wins, words, drift."""
    policy, reference = load_assistant("preferred"), load_assistant("instructed")
    asked = instructions("unseen", 256, kinds=["story"], seed=FRESH)
    prompts = [one.prompt for one in asked]
    texts, theirs = (
        one.replies(prompts, temperature=1.0, max_tokens=90, seed=seed)
        for seed, one in enumerate((policy, reference))
    )
    wins = []
    for one, ours, other in zip(asked, texts, theirs, strict=True):
        a, b = (story_points(text, one.facts["word"]) for text in (ours, other))
        wins.append(0.5 if a == b else float(a > b))
    return {
        "win_rate": share(wins),
        "n": len(wins),
        "drift": round(drift_of(policy, reference, asked, texts), 4),
        "words": [share(len(text.split()) for text in some) for some in (theirs, texts)],
        "followed": [
            share(one.followed_by(text) for one, text in zip(asked, some, strict=True))
            for some in (theirs, texts)
        ],
        "instructions_followed": followed(policy, instructions("unseen", 700, seed=FRESH))["all"],
        "prompts": prompts[:4],
        "examples": list(zip(theirs[:4], texts[:4], strict=True)),
    }


def score_sums():
    """Measure the adding adapter: with its working, at once, and with a tool."""
    assistant = load_assistant("sums")
    return {
        "by_terms": {str(terms): accuracy_with_working(assistant, terms) for terms in TERMS},
        "tool": score_tool(assistant),
    }


def accuracy_with_working(assistant, terms, n=40):
    """Measure shares of right totals on `n` sums of so many `terms`: with working, and at once."""
    asked = sums("unseen", n, terms=(terms,), largest=(49,))
    greedy = assistant.replies([one.prompt for one in asked], max_tokens=14 * terms)
    at_once = assistant.replies([one.at_once for one in asked], max_tokens=8)
    right = {
        name: share(final_number(t) == one.total for t, one in zip(texts, asked, strict=True))
        for name, texts in (("greedy", greedy), ("at_once", at_once))
    }
    totals = [one.total for one in asked]
    return {"n": n, **right, "always_the_commonest": share(t == majority(totals) for t in totals)}


def score_tool(assistant, n=60):
    """Ask an `assistant` for `n` sums of three-digit numbers: at once, and with a tool to call."""
    asked = large_sums("unseen", n)
    at_once = assistant.replies([f"Add {one.a}+{one.b} at once." for one in asked], max_tokens=8)
    calls = assistant.replies([one.prompt for one in asked], max_tokens=30)
    talks = [
        answer_with_tools(assistant.reply, {"add": lambda a, b: a + b}, one.prompt)
        for one in asked[:30]
    ]
    spoken = [final_number(talk[-1]["content"]) for talk in talks]
    return {
        "at_once": share(final_number(t) == o.total for t, o in zip(at_once, asked, strict=True)),
        "calls_right": share(t == one.call for t, one in zip(calls, asked, strict=True)),
        "with_tool": share(n == one.total for n, one in zip(spoken, asked[:30], strict=True)),
        "example": talks[0],
    }


MEASURES = {"instructed": score_instructed, "preferred": score_preferred, "sums": score_sums}


def main(argv: list[str] | None = None):
    """Measure and store."""
    parser = argparse.ArgumentParser(prog="python -m recipes.assistant_scores", description=__doc__)
    parser.add_argument("adapters", nargs="*", help=f"some of {', '.join(ADAPTERS)}; default: all")
    results = so_far("assistant")
    for name in parser.parse_args(argv).adapters or MEASURES:
        results[name] = MEASURES[name]()
        print(name, results[name], flush=True)
        store("assistant", results)


if __name__ == "__main__":
    main()
