"""The course's assistants: the story model, each with an adapter that taught it one thing more."""

import random

import torch

from helpers.models.assistant import MARKS, chat_prompt, supervised_pair
from helpers.models.lora import add_lora
from helpers.pretrained.adapters import load_adapted_teller
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.loaded import Loaded
from helpers.pretrained.measured import measured
from helpers.pretrained.storyteller import load_storyteller
from helpers.transformer import decoding

ADAPTERS = ("instructed", "preferred", "sums")
RANK, ALPHA = 16, 32.0
RECIPE = "python -m recipes.assistant"


class Assistant(Loaded):
    """A GPT that answers: a question or a conversation in, a text out.

    Beside the `model` it needs its `teller`, a Storyteller, for the tokenizer. The `card`, a dict,
    says what is known of the training.
    """

    def __init__(self, model, teller, card=None):
        super().__init__(model, card)
        self.teller, self.tokenizer = teller, teller.tokenizer

    def prompt_ids(self, messages):
        """Put `messages`, a text or a conversation, into the template; a list of ids."""
        return chat_prompt(messages, self.encode)

    def encode(self, text):
        """Turn a message's `text` into ids of shape (T,), a space first.

        Most of the vocabulary's words begin with a space. With one, a word at the beginning of an
        answer is the same piece as inside the question, so that it can be copied.
        """
        return self.teller.encode(f" {text}")

    def pair(self, messages, answer):
        """Make a training example of a conversation and its answer; see `supervised_pair`."""
        answer_ids = self.encode(answer).tolist() if answer else []
        return supervised_pair(self.prompt_ids(messages), answer_ids)

    def reply(self, messages, temperature=0.0, max_tokens=100, seed=None) -> str:
        """Answer one question or continue one conversation.

        Parameters
        ----------
        messages : str or list of dict
            As in `helpers.models.assistant.chat_prompt`.
        temperature : float, default=0.0
            0 chooses the likeliest piece every time.
        max_tokens : int, default=100
            An answer that doesn't end by itself is cut here.
        seed : int, default=None
            The same seed gives the same answer.

        Raises
        ------
        ValueError
            If the conversation is malformed or leaves no room for the answer.
        """
        return self.replies([messages], temperature, max_tokens, seed)[0]

    def replies(self, conversations, temperature=0.0, max_tokens=100, seed=None) -> list[str]:
        """Answer many `conversations` as in `reply`; those of one length together."""
        prompts = [self.prompt_ids(messages) for messages in conversations]
        answers = [None] * len(prompts)
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        by_length = {}
        for i, ids in enumerate(prompts):
            by_length.setdefault(len(ids), []).append(i)
        for length, rows in sorted(by_length.items()):
            room = self.model.config.max_len
            if length + max_tokens > room:
                raise ValueError(
                    f"the prompt of {length} tokens and an answer of up to {max_tokens} don't fit "
                    f"into the model's {room}. Shorten the conversation or lower max_tokens."
                )
            for start in range(0, len(rows), 32):
                some = rows[start : start + 32]
                ids = torch.tensor([prompts[i] for i in some], device=self.device)
                found = self._generate(ids, temperature, max_tokens, generator)
                for i, answer in zip(some, found, strict=True):
                    answers[i] = answer
        return answers

    def _generate(self, ids, temperature, max_tokens, generator):
        step = self.model.decoder_step(ids)
        settings = (len(ids), MARKS.assistant, MARKS.end, max_tokens)
        if temperature == 0:
            answers = decoding.greedy(step, *settings)
        else:
            answers = decoding.sample(step, *settings, temperature, generator=generator)
        return [
            self.teller.decode(answer[:-1] if answer[-1] == MARKS.end else answer).strip()
            for answer in answers
        ]


@torch.no_grad()
def separate_marks(model):
    """Give the four reserved pieces of a story `model` vectors of their own, in place.

    No story contains them. So the training only ever pushed their vectors away from what was
    likely, all four the same way, and they ended up nearly equal (cosine 0.996). As rows of random
    signs they can be told apart.
    """
    draw = random.Random(18)
    for mark in MARKS:
        signs = [draw.choice((-0.08, 0.08)) for _ in range(model.config.d_model)]
        model.embedding.weight[mark] = torch.tensor(signs)
    return model


def adapt(teller) -> Assistant:
    """Prepare a story model for fine-tuning: marks that differ, and fresh LoRA layers.

    The model of the `teller`, a Storyteller, is changed in place. Only LoRA layers are trainable
    afterwards.
    """
    return Assistant(add_lora(separate_marks(teller.model), RANK, ALPHA), teller)


def adapter_path(adapter):
    """Say where the file of a bundled `adapter` is."""
    return WEIGHTS / f"assistant_{adapter}.safetensors"


def preference_pairs():
    """Read the pairs on which the preferred adapter was trained, as many as were kept.

    Returns
    -------
    pairs : list of (prompt, better, worse)
        Two of the instructed assistant's own answers to a request for a story, ranked by
        `helpers.data.instructions.story_points`.
    """
    return [tuple(pair) for pair in measured("assistant_pairs")]


def load_assistant(adapter="instructed", merged=True) -> Assistant:
    """Load the story model with one of the bundled adapters.

    Parameters
    ----------
    adapter : {"instructed", "preferred", "sums"} or path, default="instructed"
        Taught to follow instructions; to prefer short answers; to add.
    merged : bool, default=True
        Merge the corrections into the weights. False leaves them trainable.

    Raises
    ------
    ValueError
        If there is no such adapter, its file is damaged, or it was trained on another base.
    FileNotFoundError
        If there is no such file.
    """
    if isinstance(adapter, str) and adapter not in ADAPTERS:
        raise ValueError(f"the adapters are {', '.join(ADAPTERS)}; got {adapter!r}.")
    path = adapter_path(adapter) if isinstance(adapter, str) else adapter
    return load_adapted_teller(lambda: adapt(load_storyteller()), path, RECIPE, merged)
