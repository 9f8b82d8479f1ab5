# %% [markdown]
# # From GPT to assistant
#
# *Say wolf three times.*
#
# Below you can see how the story model of lesson 14 continues this sentence. That isn't a misunderstanding. The model wasn't trained to understand requests. It was trained to continue books, and in a book, a sentence like this one is
# followed by more of the book.
#
# Every chat assistant starts out as such a model. Today you'll turn this one into a very small assistant. The steps are of the same kinds as for a large one, and at each step you'll see what usually goes wrong. It will still be a toy with 3.5
# million parameters, and section 6 compares it with the real thing in numbers.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import random

from IPython.display import display
import torch
import torch.nn.functional as F
from matplotlib import pyplot
from tqdm.auto import tqdm

from helpers import exercises, plots
from helpers.models import assistant
from helpers.transformer import decoding
from helpers.data.instructions import instructions
from helpers.data.stories import stories
from helpers.training.language_modelling import bits_per_byte, nats_of_text
from helpers.pretrained.assistant import adapt, load_assistant, preference_pairs
from helpers.pretrained.measured import measured
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.trace import trace_gpt
from helpers.widgets.chat_box import TEMPLATES, ChatBox
from helpers.widgets.model_map import model_map

story = load_storyteller()
helper = load_assistant("instructed")
results = measured("assistant")


# %% [markdown] tags=["notes"]
# **48 minutes.** Hook and warm-up 4 · 1 the template 7 · 2 learning from answers 13 · 3 learning from comparisons 17
# · 4 another reward 2 · 5 what it doesn't know, what it can't do 3 · 6 how far from the real thing, map and summary
# 2.
#
# **Say first**: nothing in the model changes today. It's the same Transformer with the same loss for most of the
# lesson, and what changes is the text that it's trained on.
#
# **Show**: type a message of the class's choice into the box in section 1, and switch through the five templates.
# Before each switch, let the class guess what the assistant will do.
#
# **Ask**: "Where is the model's memory of what I said two messages ago?" (only in the prompt, which gets longer) ·
# "Who writes the end token?" (in the prompt we do, in the reply the model does) · "Why not just train on the better
# answers and forget the worse ones?" (you can, and it's a good first step; the pair also says what to avoid).
#
# **If you're running late**: skip the find-the-bug exercise in section 3 (six minutes), and set section 5 as homework
# (three).
#
# **Answers to expect**: "the assistant understands now" (it writes answers of the kinds that it was trained on; try
# another kind) · "the reward is what we want" (it is what we measure). The answers to the predictions are discussed
# in the cells that reveal them.

# %% tags=["hide-input", "nbval-ignore-output"]
for request in ("Say wolf three times.", "Tell me in one sentence about the fox."):
    print("You:          ", request)
    print("Story model:  ", story.generate(request, 25, seed=1)[len(request) :].split("\n")[0], "…")
    print("Our assistant:", helper.reply(request), "\n")

# %%
exercises.warm_up(18)

# %% [markdown]
# ## 1. Whose turn is it?
#
# A language model sees a single row of tokens. A chat has two speakers who take turns, so we need a way to write a
# chat as one row. We use three tokens that no typed text can contain. One opens a turn of the user, one opens a
# turn of the assistant, and one ends a turn. This fixed form is called a **chat template**. Every chat model has one,
# and each family of models has its own.

# %%
ids = assistant.chat_prompt("Say wolf three times.", helper.encode)
print(story.tokens(ids))

# %% [markdown]
# Look at the last token. The prompt stops right after it has opened the assistant's turn, so the most plausible
# continuation is a reply.
#
# ### Your turn (3 min)
#
# A chat of several turns has the same form. The model has no memory besides these tokens, so the whole chat is put
# into the prompt again for each reply.

# %% tags=["hide-input"]
exercises.heading("chat_prompt")


# %%
def chat_prompt(turns, user_id, assistant_id, end_id):
    """[("user", ids), ("assistant", ids), …], three ids -> one list of ids"""
    prompt = []
    for speaker, ids in turns:
        role_id = user_id if speaker == "user" else assistant_id
        prompt += [role_id] + ids + ...  # ← fill the gap: what closes a turn
    return prompt + ...  # ← and what opens the reply


# %% tags=["hide-input"]
exercises.check("chat_prompt", chat_prompt)

# %% [markdown]
# The template is a convention, and nothing checks that you keep to it. If you send a different one, you get no error
# message, just different answers. Let's try that with our assistant, which was trained on the template above. It gets
# the same 24 instructions five times, each time in a different form, and a rule checks the replies. The instructions
# are about words that no training prompt contained.

# %%
exercises.predict("most_harmful_template")

# %% tags=["hide-input", "nbval-ignore-output"]
asked = instructions("unseen", 48, seed=5)


def continued(model, prompts, most=48):
    """Let a model go on greedily after each list of ids, up to an end token."""
    written = [None] * len(prompts)
    for length in {len(ids) for ids in prompts}:  # prompts of one length are continued together
        rows = [i for i, ids in enumerate(prompts) if len(ids) == length]
        step = model.decoder_step(torch.tensor([prompts[i] for i in rows]))
        marks = assistant.MARKS
        found = decoding.greedy(step, len(rows), marks.assistant, marks.end, most)
        for i, ids in zip(rows, found):
            written[i] = ids
    return written


forms = {
    name: [change(helper.prompt_ids(one.prompt)) for one in asked[:24]]
    for name, change in TEMPLATES.items()
}
written = iter(continued(helper.model, sum(forms.values(), [])))  # all five forms together
followed = {}
for name, prompts in forms.items():
    replies = [
        story.decode([i for i in next(written) if i != assistant.MARKS.end]) for _ in prompts
    ]
    right = [one.followed_by(reply) for one, reply in zip(asked, replies)]
    followed[name] = sum(right) / len(right)
exercises.reveal("most_harmful_template", measured=min(list(TEMPLATES)[1:], key=followed.get))
notebook.table(
    [[name, f"{share:.0%}"] for name, share in followed.items()], ["template", "followed"]
)
best, *broken = followed.values()
notebook.tell(
    f"""
    The words of the prompt are the same each time, and no error message appears. Only one to three tokens differ, and
    they make the difference between {best:.0%} and {min(broken):.0%}. Where two shares are close, 24 instructions are
    too few to rank them. Such mistakes happen in practice: somebody uses the
    template of another family of models, or loses a token on the way, and a good model looks like a bad one. That's
    why libraries keep the template together with the tokenizer.
    """
)
assert followed["the whole template"] > max(list(followed.values())[1:])

# %% [markdown]
# A large model has read dialogues in many forms, so a wrong template often makes its answers only slightly worse.
# That makes the mistake harder to notice.
#
# Try it yourself: type a message and choose a template. Our assistant and the story model read the same tokens, and
# each adds the likeliest next token until it writes the end token or has written 24.

# %% tags=["nbval-ignore-output"]
writers = {
    "our assistant": lambda ids: continued(helper.model, [ids], 24)[0],
    "story model": lambda ids: continued(story.model, [ids], 24)[0],
}
ChatBox(writers, helper.encode, story.decode, "Say wolf three times.")

# %% [markdown]
# ## 2. What does it learn from?
#
# Our assistant has been trained on about half a million instructions with their answers. A small program made them
# all, from the words and sentences of the fairy tales and from short texts about invented villages. Nearly all of
# them were of the seven kinds below. At the very end it was also trained on some 14,000 of its own answers, which a
# rule had marked as right.

# %% tags=["hide-input"]
examples = {one.kind: one for one in instructions("train", 64)}
notebook.table(
    [[kind, one.prompt, one.answer[:70] + ("…" if len(one.answer) > 70 else "")]
     for kind, one in examples.items()],
    ["kind", "instruction", "answer"],
)  # fmt: skip

# %% [markdown]
# We write each pair into the template and train as in lesson 14, by predicting every next token. This is called
# **instruction tuning** or supervised fine-tuning. As with padding in lesson 09, some positions don't count. An
# assistant never has to write the user's turn, so the predictions inside the prompt are usually left out of the loss.
# To do that, we set their targets to −100, the number that PyTorch's `cross_entropy` skips.
#
# ### Your turn (4 min)

# %% tags=["hide-input"]
exercises.heading("masked_targets")


# %%
def masked_targets(prompt_ids, answer_ids, end_id):
    """(P,), (A,), one id -> inputs (P + A,), targets (P + A,)"""
    ...


# %% tags=["hide-input"]
exercises.check("masked_targets", masked_targets)

# %%
exercises.quiz("how_many_targets")

# %% [markdown]
# Now let's train an assistant ourselves, which we'll call the **student**. It's the story model, frozen, with LoRA
# adapters of rank 16 as in lesson 12, so only 9% of its parameters are trained. In Llama 3 8B, adapters of the same
# rank would be about half a percent. The student learns from 20 batches of 16 pairs of similar length.

# %% tags=["hide-input"]
taught = instructions("train", 320, seed=1)


def adapters(model):
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def in_batches(pairs):
    """Batches (ids, targets) of 16 pairs of about the same length, so that there's little padding."""
    pairs = sorted(pairs, key=lambda pair: len(pair[0]))
    return [assistant.pad_pairs(pairs[i : i + 16]) for i in range(0, len(pairs), 16)]


def batches_of_pairs(student, mask_prompt=True):
    """Twenty batches (ids, targets) of 16 pairs, shuffled."""
    batches = in_batches([student.pair(one.prompt, one.answer, mask_prompt) for one in taught])
    random.Random(1).shuffle(batches)
    return batches


def loss_on_answers(student, unseen):
    """Nats per token of the answers, as `assistant.answer_loss` counts them."""
    batches = in_batches([student.pair(one.prompt, one.answer) for one in unseen])
    n_tokens = sum((targets != assistant.IGNORE).sum() for _, targets in batches)
    with torch.no_grad():
        log_probs = [assistant.answer_log_probs(student.model, *batch) for batch in batches]
    return (-torch.cat(log_probs).sum() / n_tokens).item()


# %% tags=["nbval-ignore-output"]
def train(student, batches):
    optimizer = torch.optim.AdamW(adapters(student.model), lr=3e-3)
    for ids, targets in tqdm(batches):
        loss = assistant.answer_loss(student.model(ids), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


notebook.set_seed(0)
student = adapt(load_storyteller())  # the story model, frozen, with fresh adapters
train(student, batches_of_pairs(student))

# %% [markdown]
# We look at its replies to 48 unseen instructions, and count how many *end* (the student writes the end token within 48 tokens) and how many are *right* by the rule for their kind.

# %%
exercises.predict("form_or_content")


# %% tags=["hide-input", "nbval-ignore-output"]
def ended_and_right(judged, most=48):
    """Count the replies that end by themselves and those that are right; and return all."""
    texts = judged.replies([one.prompt for one in asked], max_tokens=most)
    ended = sum(len(story.encode(text or " ")) < most - 1 for text in texts)
    return ended, sum(one.followed_by(text) for one, text in zip(asked, texts)), texts


ended, right, texts = ended_and_right(student)
ahead = (ended - right) / len(asked)
exercises.reveal(
    "form_or_content",
    measured="form" if ahead > 0.25 else "both" if right > 0.6 * len(asked) else "neither",
)
print(f"replies: {len(asked)}, ended by themselves: {ended}, right: {right}")
some = {one.kind: (one.prompt, text) for one, text in zip(asked, texts, strict=True)}
notebook.table(
    [[kind, prompt[-60:], text] for kind, (prompt, text) in some.items()],
    ["kind", "instruction (its end)", "reply"],
)
notebook.tell(
    f"""
    After 320 pairs, {ended} of the {len(asked)} replies stop by themselves, but only {right}
    {"is" if right == 1 else "are"} right. In large models people have found that the form of an answer takes few
    examples, while the knowledge comes from the pretraining. Zhou et al. (2023) call this the superficial alignment
    hypothesis. Here most of the wrong replies fail at *copying* words from the instruction. A head that finds an
    earlier occurrence of a token and copies what came after it is called an induction head. The story model has none
    (lesson 14, *Going deeper*), so its pretraining has hardly taught it to copy. The bundled assistant had to learn
    it from about 1,500 times as many pairs, and follows {results["instructed"]["followed"]["all"]:.0%} of the unseen
    instructions in the end. Of the instructions that it was trained on, it follows
    {results["instructed"]["followed_seen"]["all"]:.0%}.
    """
)
assert ended > 0.7 * len(asked) and ended > right

# %% [markdown]
# ### Should the prompt count?
#
# You've left the prompt out of the loss, as most people do. Is it worth the trouble? We train a second student on the
# same pairs in the same order, but with the loss on all tokens. Then we measure the loss of both students on 64
# unseen instructions, this time counting only the tokens of the answers.

# %%
exercises.predict("mask_or_not")

# %% tags=["hide-input", "nbval-ignore-output"]
notebook.set_seed(0)
on_all = adapt(load_storyteller())
train(on_all, batches_of_pairs(on_all, mask_prompt=False))
new = instructions("unseen", 64, seed=6)
answer_losses = {
    name: loss_on_answers(one, new) for name, one in {"masked": student, "all": on_all}.items()
}
gap = answer_losses["all"] - answer_losses["masked"]
exercises.reveal(
    "mask_or_not", measured="masked" if gap > 0.03 else "all" if gap < -0.03 else "equal"
)
print("loss on the answers:", *(f"{name} {loss:.2f}" for name, loss in answer_losses.items()))
notebook.tell(
    f"""
    The difference is {abs(gap):.2f} nats per token after one short training run, with one seed and one learning rate.
    The second student has spent part of its training on how instructions are worded, although it will never have to
    write one. Shi et al. (2024) found the opposite in some cases where prompts are long, answers short and pairs few.
    Ours are few as well, and here the
    {"mask has won" if gap > 0.03 else "mask has lost" if gap < -0.03 else "two are equal"}.
    """
)

# %%
exercises.quiz("no_end_in_training")

# %% [markdown]
# ## 3. Which of two answers is better?
#
# For *Tell me a story about the fox* there are many right answers, and some of them are better than others. Writing
# the best answer to every prompt would be expensive, and often nobody could do it. It's much easier to say which of
# two answers is better. So we let our assistant write two answers to the same prompt, and then one of them is marked as the better.
#
# For a real assistant, people or, more and more often, other models do the marking. We use a rule instead, so that we
# can check everything. A story has to mention its subject and come to an end. Beyond that, the shorter one wins, and
# repeated pairs of words cost extra. We don't claim that short stories are good ones.
#
# ### From a pair to a loss
#
# Let's call the model that we train the **policy**, and keep a frozen copy of it from before the training as the
# **reference**. For each answer we ask how much higher its log-probability is under the policy than under the
# reference. This is the answer's gain. The better answer should gain more than the worse one, and the difference between their gains is the **margin**:
#
# $$\text{margin} = \log\frac{\pi(\text{better})}{\pi_0(\text{better})} - \log\frac{\pi(\text{worse})}{\pi_0(\text{worse})}
# \qquad \text{loss} = -\log \sigma(\beta \cdot \text{margin})$$
#
# Here $\pi$ is the policy, $\pi_0$ the reference and $\sigma$ the sigmoid. The larger the margin, the smaller the
# loss, and $\beta$ sets how quickly it falls. This is **direct preference optimisation**, or DPO (Rafailov et al.
# 2023).
#
# **Pencil (2 min).**

# %%
exercises.quiz("dpo_by_pencil")

# %% [markdown]
# ### Your turn (4 min)
#
# The log-probability of an answer is the sum over its tokens. The four tensors below already contain these sums, one
# number per pair.

# %% tags=["hide-input"]
exercises.heading("dpo_loss")


# %%
def dpo_loss(policy_better, policy_worse, reference_better, reference_worse, beta):
    """Four times (B,), one number -> one number"""
    ...


# %% tags=["hide-input"]
exercises.check("dpo_loss", dpo_loss)

# %% [markdown]
# Let's see what this loss does to our assistant. Each pair consists of two stories that the assistant itself told,
# marked by the rule. We take 48 pairs, in batches of 8. The reference's log-probabilities never change, so we compute
# them once, before the training.

# %% tags=["hide-input", "nbval-ignore-output"]
policy = load_assistant("instructed", merged=False)


def batch_of(pairs):
    """(ids, targets) of the better and of the worse answers, from a list of pairs."""
    return [
        assistant.pad_pairs([policy.pair(pair[0], pair[place]) for pair in pairs])
        for place in (1, 2)
    ]


def log_probs_of(batches):
    """Log-probabilities of the better and of the worse answers of every batch."""
    with torch.no_grad():
        return [[assistant.answer_log_probs(policy.model, *half) for half in b] for b in batches]


pairs = [pair for pair in preference_pairs() if len(pair[1]) + len(pair[2]) < 400][:48]
batches = [batch_of(pairs[i : i + 8]) for i in range(0, len(pairs), 8)]
known = log_probs_of(batches)
prompt, better, worse = pairs[0]
print(f"{prompt}\n\nbetter: {better}\n\nworse:  {worse}")

# %% tags=["nbval-ignore-output"]
optimizer = torch.optim.AdamW(adapters(policy.model), lr=5e-4)
losses = []
for (better, worse), (was_better, was_worse) in tqdm(list(zip(batches, known))):
    now_better = assistant.answer_log_probs(policy.model, *better)
    now_worse = assistant.answer_log_probs(policy.model, *worse)
    loss = assistant.dpo_loss(now_better, now_worse, was_better, was_worse, beta=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss:", " ".join(f"{loss:.2f}" for loss in losses))

# %% [markdown]
# The first loss is log 2 ≈ 0.69, because policy and reference are still equal. Each later loss is measured on the
# next eight pairs, just before the model is trained on them, and six such numbers are too few to show a trend. So
# let's go through all 48 pairs once more and look at the two kinds of answers separately.

# %%
exercises.predict("is_the_better_likelier")

# %% tags=["hide-input", "nbval-ignore-output"]
now = log_probs_of(batches)
gain_better, gain_worse = (
    torch.cat([new[i] - old[i] for new, old in zip(now, known, strict=True)]).mean().item()
    for i in (0, 1)
)
exercises.reveal(
    "is_the_better_likelier",
    measured="rises" if gain_better > 0.3 else "falls" if gain_better < -0.3 else "stays",
)
print(
    f"mean gain of the better answers: {gain_better:+.1f} nats, of the worse ones {gain_worse:+.1f}"
)
notebook.tell(
    f"""
    On the pairs that the model was trained on, the better answers have {"gained" if gain_better > 0 else "lost"}, and
    the worse ones have {"gained" if gain_worse > 0 else "lost"}. Nothing in the loss demands that. If both gains had
    been 20 nats lower, the loss would have been the same, because only their difference counts. In longer training
    runs, and where the two answers are much alike, the better answers often become less likely than they were (Pal et
    al. 2024). So people who train with DPO watch both log-probabilities and not just the loss.
    """
)
assert gain_better > gain_worse + 1 and abs(losses[0] - 0.693) < 0.01

# %% [markdown]
# ### Your turn: find the bug (4 min)
#
# To see a whole DPO training run at a glance, take a policy with only four possible answers, so that it consists of
# just four logits. The derivative of the loss says that each step raises the better answer's logit and lowers the
# worse one's by the same amount, rate · β · σ(−β · margin). As the margin grows, the steps should become smaller. The
# code below has two mistakes. Its margins show that something is wrong.

# %% tags=["hide-input"]
exercises.heading("prefer")


# %%
def prefer(start, better, worse, beta, rate, steps):
    """start: logits (K,); better, worse: two places in it. Returns the new logits."""
    policy = start.clone()
    reference = policy
    for _ in range(steps):
        gain = policy - reference
        margin = gain[better] - gain[worse]
        step = rate * beta * torch.sigmoid(beta * margin)
        policy[better] += step
        policy[worse] -= step
    return policy


# %% tags=["hide-input"]
four = torch.tensor([1.0, 0.5, 0.0, -0.5])
for n in (1, 2, 4, 8, 16):
    change = prefer(four, 2, 0, 1.0, 0.5, n) - four
    print(f"after {n:2} steps: margin {change[2] - change[0]:5.2f}")

# %% tags=["hide-input"]
exercises.check("prefer", prefer)

# %% [markdown]
# ### Did it help, and what did it cost?
#
# The bundled adapter *preferred* was trained in the same way, but for longer. We give the same unseen requests to the
# assistant with this adapter and to the one that we started from, and count how often the rule prefers the new
# answer. This is the **win rate**. A second number says how far the model has moved. At each token that it writes,
# the **KL divergence** $\sum_w \pi(w) \log \frac{\pi(w)}{\pi_0(w)}$ compares its distribution with the reference's,
# and is 0 if the two are equal. Its average is the **drift**, in nats per token.

# %%
exercises.predict("length_after_dpo")

# %% tags=["hide-input", "nbval-ignore-output"]
dpo = results["preferred"]
before, after = dpo["words"]
exercises.reveal("length_after_dpo", measured=100 * after / before)
notebook.table(
    [
        ["win rate by the rule", "", f"{dpo['win_rate']:.0%}"],
        ["words per story", f"{before:.0f}", f"{after:.0f}"],
        ["stories that follow their request", *(f"{share:.0%}" for share in dpo["followed"])],
        ["drift, nats per token", "0", f"{dpo['drift']:.2f}"],
    ],
    [f"{dpo['n']} unseen requests", "before DPO", "after"],
)  # fmt: skip
print(dpo["prompts"][0])
print("before:", dpo["examples"][0][0], "\nafter: ", dpo["examples"][0][1])
notebook.tell(
    """
    The rule that made the pairs also counts the wins, so a high win rate says that the training has worked. It
    doesn't say that the stories have become better. That would take somebody who reads them.
    """
)
assert dpo["win_rate"] > 0.6 and after < before

# %% [markdown]
# ## 4. What if we pay for friendly words?
#
# Suppose we want friendly stories, so we pay for friendly words: the reward is the number of words such as *good*,
# *kind* and *beautiful* in the story. A second assistant went through four rounds of DPO with this reward. In each
# round it told new stories, and those with more friendly words were marked as better. Each round's reference was the
# model at the start of that round.

# %%
exercises.predict("paid_for_friendly_words")

# %% tags=["hide-input", "nbval-ignore-output"]
rounds = measured("assistant_gamed")
first, last = rounds[0], rounds[-1]
poorer = first["different_words"] - last["different_words"]
exercises.reveal(
    "paid_for_friendly_words",
    measured="heaps"
    if last["followed"] < 0.5
    else "mixed"
    if poorer > 0.08
    else "friendly"
    if last["reward"] > 1.5 * first["reward"]
    else "same",
)
figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3))
axes[0].plot([r["drift"] for r in rounds], [r["reward"] for r in rounds], "o-", color=plots.ORANGE)
axes[0].set(xlabel="drift (nats per token)", ylabel="friendly words per story", ylim=(0, None))
for key, label, colour in (
    ("followed", "stories about their subject", plots.BLUE),
    ("different_words", "different words in a story", plots.PURPLE),
):
    axes[1].plot([r["drift"] for r in rounds], [100 * r[key] for r in rounds], "o-", color=colour)
    axes[1].text(0, 100 * max(r[key] for r in rounds) + 5, label, color=colour)
axes[1].set(xlabel="drift (nats per token)", ylabel="%", ylim=(0, 110))
for number in (0, len(rounds) // 2, len(rounds) - 1):
    print(f"round {number}: {rounds[number]['example']}\n")
assert last["reward"] > 1.5 * first["reward"]
display(
    notebook.figure(
        figure,
        alt="Left: the reward, friendly words per story, rises with the drift. Right: the share of "
        "stories about their subject falls nearly to zero, and that of different words falls, too, though "
        "by less.",
        width=800,
    )
)
notebook.tell(
    f"""
    In the last round a story contains {last["reward"]:.0f} friendly words on average, and {last["followed"]:.0%} of
    the stories are about what was asked for, down from {first["followed"]:.0%}. No step did anything wrong. DPO made
    answers with a higher score likelier, and the score never asked for a story. The score even rises with a story's
    length. The figure shows two things that help in practice. One is to measure something that isn't part of the
    reward and to stop when it falls. The other is to watch the drift, because the further a model is from its start,
    the less you know about it.
    """
)

# %% [markdown]
# ## 5. What it doesn't know and what it can't do
#
# *Who is the knight of Birchton?* An assistant can answer that only if the answer was in its training data or is in
# its prompt. So a program can look for the right text first, as in lesson 13, and put it in front of the question.
# This is called **retrieval-augmented generation**. We have 100 short texts about 100 villages, with a question about
# each, and let BM25 find the text. The villages and all the names are new to the assistant.

# %%
exercises.predict("with_the_text")

# %% tags=["hide-input", "nbval-ignore-output"]
known_facts = results["instructed"]["facts"]
exercises.reveal("with_the_text", measured=100 * known_facts["with_finder"]["right"])
conditions = {
    "alone": "the question alone",
    "with_finder": "the text that BM25 found, and the question",
    "with_right_text": "the right text, and the question",
    "with_wrong_text": "the text of another village, and the question",
}
notebook.table(
    [
        [said, f"{known_facts[name]['right']:.0%}", *known_facts[name]["examples"][:2]]
        for name, said in conditions.items()
    ],
    ["prompt", "right", "first reply", "second reply"],
)
notebook.tell(
    f"""
    BM25 finds the right text for {known_facts["finder"]:.0%} of the questions, because each question contains the
    village's name. So the remaining mistakes are the generator's. Look at the first row, too. Without the text
    there's nothing to copy, so the reply is made up. Early in its training *I do not know* was sometimes the right
    answer, but the model hardly learned to give it, and later there were no such texts. With the text of another
    village it answers just as confidently, so the reply alone doesn't tell you which case you're in.
    """
)
assert known_facts["with_finder"]["right"] > 2 * known_facts["alone"]["right"] + 0.3

# %% [markdown]
# <details><summary>What is different in a large model</summary>
#
# Our questions name the village, so the right text is found nearly every time. In a large collection, retrieval is
# often the weakest part. And our assistant knows nothing that could contradict the text. A large model has read about
# many things, so it sometimes answers from memory and ignores the text. It may admit that the text has no answer, but you can't rely on that.
#
# </details>
#
# Our assistant can't add large numbers either. Another adapter, trained on sums, has learned to write a
# **tool call**, a line of text that asks for a function. The program around the model looks for such a line, runs the
# function, and puts the result into the chat as the next message. With large models it works in the same way, except
# that the prompt lists many tools with a description of each, and the model has to choose one. Here's the program.

# %% tags=["hide-input"]
notebook.show_source(assistant.answer_with_tools)

# %% tags=["nbval-ignore-output"]
adder = load_assistant("sums")
tools = {"add": lambda a, b: a + b}
for message in assistant.answer_with_tools(adder.reply, tools, "What is 485+337?"):
    print(f"{message['role']:>9}: {message['content']}")

# %% [markdown]
# ## 6. How far is this from the real thing?
#
# The losses and the steps that you've seen are the real ones. Almost everything else is smaller or simpler than in an
# assistant that people use. Let's put some published numbers beside ours.

# %% tags=["hide-input", "nbval-ignore-output"]
n_pairs = load_assistant("preferred").card["pairs"]
notebook.table(
    [
        ["parameters", "3.5 million", "8 to 405 billion (Llama 3)"],
        ["pretraining", "10.6 million tokens, 1.8 million different ones", "15,000 billion tokens (Llama 3)"],
        ["instructions with answers", "about 480,000, made by a program", "about 13,000 (InstructGPT), 27,540 (Llama 2)"],
        ["comparisons", f"{n_pairs:,}, by a rule", "33,000 prompts ranked by people (InstructGPT), 1.4 million pairs (Llama 2)"],
        ["judged by", "the rule that made the data", "people, and tests that the training doesn't know"],
        ["window", "512 tokens", "128,000 (Llama 3.1)"],
    ],
    ["", "ours", "published"],
)  # fmt: skip
for request in ("Why is the sky blue?", "Write a poem.", "Translate cat into French."):
    print(f"{request:28} {helper.reply(request, max_tokens=40)}")

# %% [markdown]
# Ask our assistant for anything outside its seven kinds, and the reply won't be what you asked for. A large model
# answers requests that nobody thought of during instruction tuning, because it has read about nearly everything before.
#
# <details><summary>What is missing</summary>
#
# Our experiments show how the mechanisms work, but not how well they work at scale. Much is missing. For example, we
# don't train the assistant to be harmless or truthful, and we have no reward model learned from people's judgements,
# such as the one that InstructGPT was trained with before DPO existed. Nor is there any reinforcement learning on
# tasks whose answers can be checked.
#
# </details>
#
# Here's the assistant with a prompt and its reply. The map is the same as in lesson 14, because instruction tuning
# adds no part to the model.

# %% tags=["nbval-ignore-output"]
prompt = helper.prompt_ids("Say wolf three times.")
ids = torch.tensor(prompt + writers["our assistant"](prompt))
model_map(trace_gpt(helper.model, ids, len(prompt), story.tokens, "our assistant"), tour="")

# %% [markdown]
# ### What to take away
#
# - A chat is one row of tokens. The template marks whose turn it is, and a model has to be used with its own template.
# - Instruction tuning is next-token prediction on answers. The targets inside the prompt are masked, but the end
#   token is a target.
# - A few hundred examples teach a model to stop. To be right it needs far more, if pretraining hasn't taught it the
#   skill, as here.
# - DPO compares how much likelier a better and a worse answer have become since the start. The reference stays frozen.
# - Training improves what the reward measures, so also measure something else, and how far the model has drifted.
# - What isn't in the weights can be put into the prompt, by retrieval or by a tool.
#
# $$\mathcal L_{\text{DPO}} = -\log \sigma\Big(\beta \log\frac{\pi(y_+ \mid x)}{\pi_0(y_+ \mid x)} - \beta \log\frac{\pi(y_- \mid x)}{\pi_0(y_- \mid x)}\Big)$$
#
# Here $x$ is the prompt, $y_+$ the better and $y_-$ the worse answer. It's the loss of section 3, written out.
#
# [What changed since 2017](95_what_changed.ipynb) compares the block that you know with today's, and lesson 19 builds
# those changes into a language model that people use.

# %% [markdown]
# # Practice
#
# About 35 minutes, easiest first.

# %%
exercises.quiz("who_runs_the_tool")

# %%
exercises.quiz("steps_to_an_assistant")

# %%
exercises.quiz("why_a_reference")

# %%
exercises.quiz("stuck_at_log_two")

# %%
exercises.quiz("paid_by_length")

# %% [markdown]
# ## What if we let it try more than once?
#
# The assistant with the tool has also learned to add numbers up to 49 without it. If you write *Add 37+48+25.*, it
# replies with each step, `37+48 is 85;85+25 is 110`, and the last number is its answer. If you write *Add 37+48+25 at
# once.*, it replies with the answer alone.

# %%
exercises.predict("with_its_working")

# %% tags=["hide-input", "nbval-ignore-output"]
by_terms = results["sums"]["by_samples"]
terms = list(by_terms)[1]
six = by_terms[terms]
lead = six["greedy"] - six["at_once"]
exercises.reveal(
    "with_its_working",
    measured="working" if lead > 0.1 else "at once" if lead < -0.1 else "equal",
)
notebook.table(
    [[terms, f"{one['at_once']:.0%}", f"{one['greedy']:.0%}"] for terms, one in by_terms.items()],
    ["numbers to add", "right at once", "right with the working"],
)
notebook.tell(
    """
    The model is the same in both columns. With the working it writes more tokens before it answers, and each of them
    is another pass through its six layers. Every step is a sum that it has seen often, and the results so far are in
    the text, where attention can read them. Nye et al. (2021) trained models in this way. Getting such steps from a
    large model by prompting alone is called *chain of thought* (Wei et al. 2022). But the comparison isn't quite
    fair. The training data had 9,000 sums with their working and only 1,500 without, and when it answers at once, the
    model does no better than if it always gave the commonest total. So you see that working can be learned from these
    examples, but not how much of the gain comes from the extra passes.
    """
)
assert all(one["greedy"] > one["at_once"] for one in by_terms.values())
assert all(one["at_once"] <= one["always_the_commonest"] for one in by_terms.values())

# %% [markdown]
# Instead of asking once, we can sample several answers at a temperature of 1 and decide between them. There are two
# ways to decide. We can take the answer that occurs most often. That's called **self-consistency** (Wang et al.
# 2023), and it needs nothing but the answers. Or we can take the sample that a checker scores highest, which is
# **best of n**. Write both.

# %% tags=["hide-input"]
exercises.heading("majority")


# %%
def majority(answers):
    """A list of whole numbers, −1 for none -> one number"""
    ...


# %% tags=["hide-input"]
exercises.check("majority", majority)

# %% tags=["hide-input"]
exercises.heading("best_of_n")


# %%
def best_of_n(write, score, n):
    """write(seed) -> sample, score(sample) -> number, how many -> the best sample"""
    ...


# %% tags=["hide-input"]
exercises.check("best_of_n", best_of_n)

# %% [markdown]
# **Pencil (2 min).**

# %%
exercises.quiz("votes_by_pencil")

# %% [markdown]
# Our checker scores each sample by the share of its steps that are right.

# %%
exercises.predict("vote_or_checker")

# %% tags=["hide-input", "nbval-ignore-output"]
lead = six["checker"][-1] - six["vote"][-1]
exercises.reveal(
    "vote_or_checker",
    measured="checker" if lead > 0.03 else "vote" if lead < -0.03 else "equal",
)
_, axes = pyplot.subplots(figsize=(8.4, 3.2))
for key, label, colour in (
    ("any", "at least one is right", plots.GREY),
    ("checker", "best of n, by the checker", plots.GREEN),
    ("vote", "majority", plots.BLUE),
    ("likeliest", "the likeliest of n", plots.ORANGE),
):
    axes.plot(six["samples"], [100 * share for share in six[key]], "o-", color=colour, label=label)
label = "one answer without sampling"
axes.axhline(100 * six["greedy"], color=plots.INK, linestyle="--", linewidth=1, label=label)
axes.set_xscale("log", base=2)
axes.set_xticks(six["samples"], six["samples"])
axes.set(xlabel="samples per sum", ylabel="% right", ylim=(0, 105))
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.02, 1.0))
assert six["any"][-1] > six["checker"][-1] > six["greedy"] > six["vote"][-1] > six["vote"][0]
display(
    notebook.figure(
        axes,
        alt="Share of right answers against the number of samples, from 1 to 16, for four ways to "
        "choose among them. A dashed line marks a single answer without sampling.",
        width=760,
    )
)
notebook.tell(
    f"""
    With {six["samples"][-1]} samples, at least one is right for {six["any"][-1]:.0%} of the {six["n"]} sums. The
    checker finds most of these. It has been given the solution, which hardly any real checker has, and still it
    misses samples with a right total and a wrong step. The vote has no such help, and reaches {six["vote"][-1]:.0%},
    up from {six["vote"][0]:.0%} for a single sample. But look at the dashed line. A single answer without any
    sampling is right for {six["greedy"]:.0%}. At a temperature of 1, {six["samples"][-1]} votes don't make up for
    what sampling costs this model. Taking the likeliest of the samples gets {six["likeliest"][-1]:.0%} right without
    any checker (the orange line). Wang et al. sampled at lower temperatures and found that voting did beat the greedy
    answer. {six["samples"][-1]} samples are {six["samples"][-1]} times as many tokens, although in one batch they
    don't take {six["samples"][-1]} times as long.
    """
)

# %%
exercises.quiz("when_voting_hurts")

# %% [markdown]
# ## How far has a model moved?

# %% tags=["hide-input"]
exercises.heading("drift")


# %%
def drift(policy_logits, reference_logits, counted):
    """(B, T, V), (B, T, V), (B, T) bool -> nats per counted token"""
    ...


# %% tags=["hide-input"]
exercises.check("drift", drift)

# %%
exercises.quiz("which_kl")

# %% [markdown]
# To discuss in pairs:

# %%
exercises.quiz("your_own_reward")

# %% [markdown]
# # Going deeper
#
# Optional, about 20 minutes. Nothing later depends on it.
#
# ## What is DPO aiming at?
#
# The older way of learning from preferences is to give each answer a reward $r$ and to maximise its mean minus a price
# for drifting away, $\mathbb E[r] - \beta\,\mathrm{KL}(\pi\,\|\,\pi_0)$. The policy that does this best is known in
# closed form. It multiplies each answer's probability under the reference by $e^{r/\beta}$ and normalises:
#
# $$\pi^*(y) = \tfrac1Z\, \pi_0(y)\, e^{r(y)/\beta}$$
#
# Solve this for $r$, and you get $\beta \log(\pi^*/\pi_0)$ plus a constant that is the same for all answers to a
# prompt. So DPO's gain, times β, *is* a reward, and the constant disappears in the margin. That's how DPO manages
# without a reward model. We can check the closed form with four answers and plain gradient ascent.

# %%
beta, reward = 0.5, torch.tensor([0.0, 1.0, -1.0, 0.3])
reference = torch.tensor([1.0, 0.0, 0.5, -0.5]).log_softmax(-1)
logits = torch.zeros(4, requires_grad=True)
for _ in range(2000):
    policy = logits.log_softmax(-1)
    goal = (policy.exp() * (reward - beta * (policy - reference))).sum()
    (gradient,) = torch.autograd.grad(goal, logits)
    logits = (logits + 0.5 * gradient).detach().requires_grad_()
print("by gradient ascent:", logits.detach().softmax(-1))
print("closed form:       ", (reference + reward / beta).softmax(-1))

# %% tags=["hide-input"]
assert torch.allclose(logits.softmax(-1), (reference + reward / beta).softmax(-1), atol=1e-3)

# %% [markdown]
# ## Does it still tell stories?
#
# Fine-tuning can affect what the model was already able to do. We measure bits per byte, as in lesson 14, on fairy tales
# that none of the models was trained on.

# %%
exercises.predict("still_a_storyteller")

# %% tags=["hide-input", "nbval-ignore-output"]
unseen = stories("validation")[:3000]
bits = {"story model": story.bits_per_byte(unseen)}
ids = torch.cat([story.encode("\n"), story.encode(unseen)])
for name in ("instructed", "preferred", "gamed"):
    model = load_assistant(name).model
    bits[name] = bits_per_byte(nats_of_text(model, ids, model.config.max_len), unseen)
change = 100 * (bits["instructed"] / bits["story model"] - 1)
exercises.reveal("still_a_storyteller", measured=change)
notebook.table([[name, f"{value:.2f}"] for name, value in bits.items()], ["model", "bits per byte"])
notebook.tell(
    """
    Each stage of training has cost the model some of what it could do before, although that was never the aim.
    InstructGPT had the same problem and called it an *alignment tax*. It helped to mix ordinary text into the training
    (Ouyang et al. 2022), and ours had none.
    """
)
assert bits["story model"] < min(value for name, value in bits.items() if name != "story model")

# %% [markdown]
# ## Tokens that had never been trained
#
# The story model's tokenizer came with four spare tokens, three for the template and one for padding, but the stories
# contain none of them. Let's see what pretraining has done to their embeddings, and which other tokens have a
# similar vector.

# %%
vectors = F.normalize(load_storyteller().model.embedding.weight.detach(), dim=-1)  # (V, D)
spare = vectors[: len(assistant.MARKS)]
closeness = vectors @ F.normalize(spare.mean(0), dim=0)  # (V,)
similar = [story.decode([i]) for i in (closeness > 0.9).nonzero().flatten()]
print(f"cosines of the four with each other: at least {(spare @ spare.T).min():.3f}")
print(f"{len(similar)} of {len(vectors):,} tokens are this similar to them, among them:")
print(*[token for token in similar if token.isprintable() and "�" not in token], sep="   ")

# %% tags=["hide-input"]
assert (spare @ spare.T).min() > 0.98 and "=" in similar and closeness.median() < 0.5

# %% [markdown]
# The four vectors are practically equal. The reason is that the output layer shares its matrix with the embedding. At
# every position, training pulled the vector of the token that came next towards the last layer's vector, and pushed
# the vectors of all other tokens away from it. These four tokens never came next, so they were pushed away every time.
# The same happened to about 200 others. Some of them are bytes that no fairy tale needs, such as the equals sign.
# Others, such as *underst*, are pieces that the tokenizer built on its way to a longer one and then hardly ever used.
#
# This matters in practice. A model that can't tell its role tokens apart can't learn a template with small adapters,
# so we gave the four rows random vectors before the training. The untrained equals sign is also why our assistant
# writes *37+48 is 85*, with a word in the middle. In large models, such tokens cause odd behaviour when somebody does
# use one, and they can be found in the same way as here (Land and Bartolo 2024).

# %% [markdown]
# ## Myth or fact?
#
# **"Instruction tuning teaches a model facts."** Mostly a myth. It teaches the model which of the things that it
# could write are wanted. It's a poor way to add new facts, and training on facts that the model doesn't know makes it
# more likely to invent others (Gekhman et al. 2024).
#
# **"DPO makes the better answers likelier."** It can, but it needn't. The loss only asks for a margin, and in longer
# training runs both answers often become less likely (Pal et al. 2024).
#
# **"A chat model remembers the conversation."** A myth. The whole chat is put into the prompt again each time.
#
# **References**
#
# - Ouyang et al. (2022), "Training language models to follow instructions with human feedback", arXiv:2203.02155:
#   InstructGPT; sizes of the data in table 6.
# - Wei et al. (2021), "Finetuned Language Models Are Zero-Shot Learners", arXiv:2109.01652.
# - Zhou et al. (2023), "LIMA: Less Is More for Alignment", arXiv:2305.11206.
# - Shi et al. (2024), "Instruction Tuning With Loss Over Instructions", arXiv:2405.14394: when the prompt should count.
# - Rafailov et al. (2023), "Direct Preference Optimization", arXiv:2305.18290; Pal et al. (2024), "Smaug",
#   arXiv:2402.13228.
# - Christiano et al. (2017), "Deep reinforcement learning from human preferences", arXiv:1706.03741; Stiennon et al.
#   (2020), "Learning to summarize from human feedback", arXiv:2009.01325.
# - Gao, Schulman, Hilton (2022), "Scaling Laws for Reward Model Overoptimization", arXiv:2210.10760; Singhal et al.
#   (2023), "A Long Way to Go: Investigating Length Correlations in RLHF", arXiv:2310.03716.
# - Lewis et al. (2020), "Retrieval-Augmented Generation", arXiv:2005.11401.
# - Schick et al. (2023), "Toolformer", arXiv:2302.04761.
# - Nye et al. (2021), "Show Your Work", arXiv:2112.00114; Wei et al. (2022), "Chain-of-Thought Prompting",
#   arXiv:2201.11903; Wang et al. (2023), "Self-Consistency",
#   arXiv:2203.11171; Cobbe et al. (2021), "Training Verifiers to Solve Math Word Problems", arXiv:2110.14168; Brown et
#   al. (2024), "Large Language Monkeys", arXiv:2407.21787.
# - Touvron et al. (2023), "Llama 2", arXiv:2307.09288; Llama Team (2024), "The Llama 3 Herd of Models",
#   arXiv:2407.21783: numbers in section 6.
# - Gekhman et al. (2024), "Does Fine-Tuning LLMs on New Knowledge Encourage Hallucinations?", arXiv:2405.05904; Land,
#   Bartolo (2024), "Fishing for Magikarp", arXiv:2405.05417.
