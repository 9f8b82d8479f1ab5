"""Right models, usual and unusual, in which the clinic has to find nothing."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn


class PyTorchTranslator(nn.Module):
    """nn.Transformer as one has to call it."""

    def __init__(self, norm_first=False, batch_first=True):
        super().__init__()
        self.src, self.tgt = nn.Embedding(50, 24), nn.Embedding(50, 24)
        self.where = nn.Embedding(64, 24)
        self.body = nn.Transformer(24, 4, 2, 2, 48, batch_first=batch_first, norm_first=norm_first)
        self.out = nn.Linear(24, 50)
        self.batch_first = batch_first

    def forward(self, src, tgt):
        axis = 1 if self.batch_first else 0
        t = tgt.shape[axis]
        place = [torch.arange(x.shape[axis]).unsqueeze(1 - axis) for x in (src, tgt)]
        pad = (src == 0) if self.batch_first else (src == 0).T
        hidden = self.body(
            self.src(src) + self.where(place[0]), self.tgt(tgt) + self.where(place[1]),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(t), tgt_is_causal=True,
            src_key_padding_mask=pad, memory_key_padding_mask=pad,
        )  # fmt: skip
        return self.out(hidden)


class Unusual(nn.Module):
    """A decoder with one unusual and right part, chosen by name."""

    def __init__(self, part, depth=2, width=24, heads=4):
        super().__init__()
        self.part, self.heads = part, heads
        self.embed = nn.Embedding(50, width)
        self.place = nn.Embedding(64, width) if part not in ("alibi", "no positions") else None
        groups = 2 if part == "grouped" else heads
        make = functools.partial(nn.Linear, width)
        n = 1 if part == "shared" else depth
        self.qkv = nn.ModuleList([make(width + 2 * groups * (width // heads)) for _ in range(n)])
        self.o = nn.ModuleList([make(width) for _ in range(n)])
        self.mlp = nn.ModuleList(
            [nn.Sequential(make(48), nn.GELU(), nn.Linear(48, width)) for _ in range(n)]
        )
        self.norm = nn.ModuleList([nn.LayerNorm(width) for _ in range(depth)])
        self.blocks = nn.ModuleList([Body(self, i % n) for i in range(n)])
        self.depth = depth
        self.head = nn.Linear(width, 50)

    def forward(self, ids):
        x = self.embed(ids)
        if self.place is not None:
            x = x + self.place(torch.arange(ids.shape[1]))
        for i in range(self.depth):
            x = self.blocks[i % len(self.blocks)](x, self.norm[i])
        return self.head(x)


class Body(nn.Module):
    """One layer of `Unusual`, which owns its weights."""

    def __init__(self, owner, i):
        super().__init__()
        self.part, self.heads = owner.part, owner.heads
        self.qkv, self.o, self.mlp = owner.qkv[i], owner.o[i], owner.mlp[i]

    def forward(self, x, norm):
        if self.part == "parallel":
            h = norm(x)
            return x + self.attend(h) + self.mlp(h)
        x = x + self.attend(norm(x))
        return x + self.mlp(norm(x))

    def attend(self, x):
        b, t, d = x.shape
        k_width = d // self.heads
        groups = (self.qkv.out_features - d) // (2 * k_width)
        q, k, v = self.qkv(x).split([d, groups * k_width, groups * k_width], -1)
        q = q.view(b, t, self.heads, k_width).transpose(1, 2)
        k, v = (y.view(b, t, groups, k_width).transpose(1, 2) for y in (k, v))
        out = getattr(self, self.part.replace(" ", "_"), self.usual)(q, k, v, t)
        return self.o(out.transpose(1, 2).flatten(2))

    def usual(self, q, k, v, t):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def grouped(self, q, k, v, t):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def masked(self, q, k, v, mask, bias=0.0):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + bias
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    def window(self, q, k, v, t):
        full = torch.ones(t, t, dtype=torch.bool)
        return self.masked(q, k, v, full.tril() & full.triu(-3))

    def prefix(self, q, k, v, t):
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        mask[:4, :4] = True
        return self.masked(q, k, v, mask)

    def alibi(self, q, k, v, t):
        far = (torch.arange(t) - torch.arange(t)[:, None]).clamp(max=0)
        slopes = 2.0 ** -torch.arange(1, self.heads + 1)
        return self.masked(q, k, v, torch.ones(t, t).tril().bool(), slopes[:, None, None] * far)

    def columns(self, q, k, v, t):
        scores = k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])  # keys in rows
        scores = scores.masked_fill(~torch.ones(t, t).triu().bool(), -1e9)
        return scores.softmax(-2).transpose(-2, -1) @ v

    def linear(self, q, k, v, t):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        states = torch.einsum("bhtk,bhtv->bhtkv", k, v).cumsum(2)
        return (
            torch.einsum("bhtk,bhtkv->bhtv", q, states)
            / (torch.einsum("bhtk,bhtk->bht", q, k.cumsum(2))[..., None])
        )

    def late_mask(self, q, k, v, t):
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1).tril()
        return weights / weights.sum(-1, keepdim=True) @ v


UNUSUAL = {
    "usual": {}, "grouped": {}, "parallel": {}, "alibi": {}, "columns": {}, "linear": {},
    "late mask": {},
    "window": {"window": 4}, "prefix": {"prefix": 4}, "shared": {"shared_layers": True},
    "no positions": {"positions": False},
}  # fmt: skip
TEXT = {"vocab_size": 50, "pad_id": 0, "max_len": 32}


def hugging_face(name):
    """Build a tiny random model of Hugging Face's and say how it is to be examined."""
    import transformers as t

    common = {"vocab_size": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 48}  # fmt: skip
    two = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
           "max_position_embeddings": 64, "decoder_start_token_id": 1,
           "forced_eos_token_id": None}  # fmt: skip
    width = {"max_position_embeddings": 64}
    gpt = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    t5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
          "decoder_start_token_id": 0}  # fmt: skip
    two_groups = {"num_key_value_heads": 2}
    makers = {
        "GPT-2": ("decoder", t.GPT2LMHeadModel, t.GPT2Config, gpt),
        "Llama": ("decoder", t.LlamaForCausalLM, t.LlamaConfig, small | width | two_groups),
        "BERT": ("encoder", t.BertModel, t.BertConfig, small | width),
        "BART": ("encoder-decoder", t.BartForConditionalGeneration, t.BartConfig, two),
        "T5": ("encoder-decoder", t.T5ForConditionalGeneration, t.T5Config, t5),
        "ViT": ("vision", t.ViTModel, t.ViTConfig, small | {"image_size": 16, "patch_size": 4}),
    }  # fmt: skip
    torch.manual_seed(0)
    kind, model, config, sizes = makers[name]
    model = model(config(**({} if kind == "vision" else common), **sizes))
    options = {"image_size": 16, "patch_size": 4} if kind == "vision" else TEXT
    return model, {"kind": kind, **options}


HUGGING_FACE = ("GPT-2", "Llama", "BERT", "BART", "T5", "ViT")
