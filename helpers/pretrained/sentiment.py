"""Tell whether a review is positive: MiniLM with an adapter trained on film reviews."""

import torch

from helpers.models.bert import TextClassifier
from helpers.models.lora import add_lora
from helpers.pretrained.adapters import load_adapted
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.loaded import Loaded
from helpers.transformer.layers import inference

SENTIMENT = WEIGHTS / "sentiment.safetensors"
RANK, ALPHA = 16, 32.0


class Sentiment(Loaded):
    """A TextClassifier, the `model`, with MiniLM's tokenizer: 1 = positive, 0 = negative.

    The `card`, a dict, says what is known of the training; `minilm` is there for its tokenizer.
    """

    def __init__(self, model, minilm, card=None):
        super().__init__(model, card)
        self.minilm = minilm

    def probabilities(self, texts, batch_size=32):
        """Compute how likely each text is positive.

        Parameters
        ----------
        texts : list of str
            A text's words beyond the model's 512 positions are left out.
        batch_size : int, default=32
            Texts read together.

        Returns
        -------
        positive : Tensor of shape (n_texts,)

        Raises
        ------
        ValueError
            If `texts` is not a list of texts, or one is empty.
        """
        ids = self.minilm.encode(texts)[:, : self.model.encoder.config.max_len]
        lengths = (ids != self.model.encoder.config.pad_id).sum(1)
        positive = torch.zeros(len(ids))
        with inference(self.model):  # texts of one length side by side: less padding
            for rows in lengths.argsort().split(batch_size):
                logits = self.model(ids[rows, : lengths[rows].max()].to(self.device))
                positive[rows] = logits.softmax(-1)[:, 1].cpu()
        return positive

    def classify(self, texts, batch_size=32):
        """Sort `texts` into positive and negative ones; arguments as in `probabilities`.

        Each gets 1 (positive) or 0 (negative), and the probability of that label.
        """
        positive = self.probabilities(texts, batch_size).tolist()
        return [(int(p >= 0.5), max(p, 1 - p)) for p in positive]


def build_sentiment(minilm):
    """Put a new classification head and fresh LoRA layers around a `minilm`'s encoder."""
    encoder = add_lora(minilm.model, RANK, ALPHA)
    return TextClassifier(encoder, n_classes=2, pooling="mean")


def load_sentiment() -> Sentiment:
    """Load the bundled judge of reviews.

    Raises
    ------
    ValueError
        If the file is damaged, or trained on another base than MiniLM.
    """
    minilm, model, card = load_adapted(build_sentiment, SENTIMENT)
    return Sentiment(model, minilm, card)
