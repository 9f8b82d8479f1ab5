"""What everything that continues a text can do: encode, write, score, show its attention."""

import itertools

import torch

from helpers.pretrained.attentions import Attention
from helpers.pretrained.loaded import Loaded
from helpers.text.byte_alphabet import BYTE_OF
from helpers.training.language_modelling import bits_per_byte, nats_of_text
from helpers.transformer import decoding
from helpers.transformer.layers import inference

NEVER = -1  # no token has this id, so nothing ends a text but its length


class Writer(Loaded):
    """A decoder and its byte-level tokenizer: a beginning in, a continuation out.

    The `model` is a GPT, the `tokenizer` a tokenizers.Tokenizer, and the `card`, a dict, says what
    is known of the training.
    """

    def __init__(self, model, tokenizer, card=None):
        super().__init__(model, card, f", {model.config.vocab_size:,} pieces")
        self.tokenizer = tokenizer
        # Whoever types <|end|> means seven characters, not the end of a conversation.
        tokenizer.encode_special_tokens = True

    def encode(self, text):
        """Turn a text into ids of shape (T,); an empty one, or no string, is a ValueError."""
        if not isinstance(text, str) or not text:
            raise ValueError(
                f"there has to be a beginning: a text of at least one letter, not {text!r}."
            )
        return torch.tensor(self.tokenizer.encode(text).ids, device=self.device)

    def decode(self, ids):
        """Turn ids of shape (T,) back into text."""
        return self.tokenizer.decode([int(i) for i in ids], skip_special_tokens=False)

    def tokens(self, ids):
        """Show each piece of ids (T,) as text; part of a character as its bytes, like ``⟨E2⟩``."""
        return [self._token(int(i)) for i in ids]

    def _token(self, token_id):
        text, letters = self.decode([token_id]), self.tokenizer.id_to_token(token_id)
        return "".join(f"⟨{BYTE_OF[c]:02X}⟩" for c in letters) if "�" in text else text

    def generate(
        self, prompt, n_tokens=100, temperature=0.8, top_k=None, top_p=0.95, seed=None, cached=True
    ):
        """Continue a text.

        Parameters
        ----------
        prompt : str
        n_tokens : int, default=100
            Pieces to append; the text may outgrow the model's context.
        temperature : float, default=0.8
            0 chooses the likeliest piece every time; see `decoding.sample`.
        top_k, top_p : int and float, default=None and 0.95
            See `decoding.top_k_filter` and `decoding.top_p_filter`.
        seed : int, default=None
            The same seed gives the same text.
        cached : bool, default=True
            Keep keys and values, which changes nothing but the time.

        Returns
        -------
        text : str
            Prompt and continuation.

        Raises
        ------
        ValueError
            If the prompt is empty or a setting is out of range.
        """
        ids = self.encode(prompt)
        chosen = self.choose(ids, temperature, top_k, top_p, seed, cached)
        return self.decode([*ids, *itertools.islice(chosen, n_tokens)])

    def stream(self, prompt, temperature=0.8, top_k=None, top_p=0.95, seed=None, cached=True):
        """Continue a text without end, for a loop that stops when it likes; yields texts.

        The arguments are as in `generate`, which writes the same text with the same seed. Each text
        is what one more piece adds. A letter that takes several pieces comes with its last one.
        """
        chosen = self.choose(self.encode(prompt), temperature, top_k, top_p, seed, cached)
        yield from self.texts_of(chosen)

    def texts_of(self, chosen):
        """Yield what each of the ids `chosen` adds; a letter of several pieces, with its last."""
        pending = []
        for token_id in chosen:
            pending.append(token_id)
            text = self.decode(pending)
            if not text.endswith("�"):
                pending = []
                yield text
        if pending:
            yield self.decode(pending)

    def choose(self, ids, temperature=0.8, top_k=None, top_p=0.95, seed=None, cached=True):
        """Choose one next token after the other, and yield their ids.

        `ids` (T,) are there already; the other arguments are as in `generate`.
        """
        read = ids[None, -self.model.config.max_len :].to(self.device)
        step = self.model.decoder_step(read, cached)
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        prefix = torch.tensor([[NEVER]])

        def newest(_, rows=None):
            return step(prefix, rows)

        while True:
            if temperature == 0:
                (chosen,) = decoding.greedy(newest, 1, NEVER, NEVER, 1)
            else:
                dials = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
                (chosen,) = decoding.sample(
                    newest, 1, NEVER, NEVER, 1, **dials, generator=generator
                )
            prefix = torch.cat([prefix, torch.tensor([chosen])], dim=1)
            yield chosen[0]

    def next_tokens(self, prompt: str, k: int = 5):
        """List the `k` likeliest next pieces after a `prompt`, each a text and its probability."""
        best = self._log_probs(self.encode(prompt))[-1].exp().topk(k)
        return list(zip(self.tokens(best.indices), best.values.tolist(), strict=True))

    def log_probability(self, prompt, continuation):
        """Compute how likely the model finds a continuation, whatever its length.

        `prompt` and `continuation` are each cut into pieces by themselves. The result is the
        natural logarithm of the probability that exactly these pieces come next.
        """
        before, after = self.encode(prompt), self.encode(continuation)
        log_probs = self._log_probs(torch.cat([before, after[:-1]]))
        return log_probs[len(before) - 1 :].gather(1, after[:, None]).sum().item()

    def _log_probs(self, ids):
        """Compute the log-probabilities of every next token, (T,) -> (T, V)."""
        with inference(self.model):
            return self.model(ids[None])[0].log_softmax(-1)

    def attend(self, text):
        """Read a text and show where every head of every layer looked; an `Attention`."""
        ids = self.encode(text)
        tokens = self.tokens(ids)
        maps = {"decoder": (self.model.attention_maps(ids[None])[0].cpu(), tokens, tokens)}
        return Attention(maps, [], tokens)

    def bits_per_byte(self, text: str):
        """Measure how surprising a `text` is to the model, in bits per byte; lower is better.

        A model that knows nothing needs about 8.
        """
        # The text stands at the beginning of a paragraph, so a line break comes before it.
        ids = torch.cat([self.encode("\n"), self.encode(text)])
        return bits_per_byte(nats_of_text(self.model, ids, self.model.config.max_len), text)
