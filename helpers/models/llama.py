"""Llama: a GPT with the parts of today, and how its weights are called elsewhere.

The parts have their own files: `RMSNorm` and `SwiGLU` in `modern`, rotary positions and grouped
queries in `gpt`. What is here sets the switches. D model width, F feed-forward width.
"""

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from helpers.models.gpt import GPT, GPTConfig
from helpers.transformer.one_row import OneRowLinear

# Where our decoder keeps a layer's tensor, and its name in a GGUF file and at Hugging Face.
NAMES = (
    ("residual_1.norm", "attn_norm", "input_layernorm"),
    ("self_attention.query_proj", "attn_q", "self_attn.q_proj"),
    ("self_attention.key_proj", "attn_k", "self_attn.k_proj"),
    ("self_attention.value_proj", "attn_v", "self_attn.v_proj"),
    ("self_attention.out_proj", "attn_output", "self_attn.o_proj"),
    ("residual_2.norm", "ffn_norm", "post_attention_layernorm"),
    ("feed_forward.gate", "ffn_gate", "mlp.gate_proj"),
    ("feed_forward.linear_1", "ffn_up", "mlp.up_proj"),
    ("feed_forward.linear_2", "ffn_down", "mlp.down_proj"),
)


class Llama(GPT):
    """RMSNorm before every sublayer, rotary positions, grouped queries, SwiGLU; no biases.

    Parameters
    ----------
    tie_embeddings : bool, default=False
    **sizes
        vocab_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, max_len, rotary_base and
        norm_eps, as in `GPTConfig`.

    Source
    ------
    Touvron et al. (2023), "LLaMA", arXiv:2302.13971, section 2.2; Grattafiori et al. (2024), "The
    Llama 3 Herd of Models", arXiv:2407.21783, section 3.2, for grouped queries.
    """

    def __init__(self, *, tie_embeddings=False, **sizes):
        own = {
            "positions": "rotary",
            "norm": "rms",
            "activation": "swiglu",
            "attention_bias": False,
        }
        super().__init__(GPTConfig(**sizes, **own, dropout=0.0, tie_embeddings=tie_embeddings))
        for parent in list(self.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(parent, name, OneRowLinear.like(child))


class _Unfilled(TorchFunctionMode):
    """Don't draw numbers: without data there's nothing to fill, and it would take two seconds."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in (nn.init.normal_, torch.Tensor.normal_):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


def build_llama(facts, weights):
    """Make a Llama of a GGUF file's facts and weights, without copying the weights.

    llama.cpp rotates neighbouring features, as lesson 05 and our code do, so nothing has to be
    reordered. (Hugging Face's code rotates feature i with i + K/2; see `llama_state`.)

    Parameters
    ----------
    facts : dict
        The header's, as `pretrained.gguf.GGUF` reads it.
    weights : dict of str to Tensor
        By the names in the file.

    Returns
    -------
    model : Llama
        For inference: its parameters are the given tensors and take no gradient.
    """
    sizes = {name.partition(".")[2]: value for name, value in facts.items()}
    n_layers = sizes["block_count"]
    state = {
        "embedding.weight": weights["token_embd.weight"],
        "norm.weight": weights["output_norm.weight"],
        "output_proj.weight": weights.get("output.weight", weights["token_embd.weight"]),
    }
    for i in range(n_layers):
        for ours, theirs, _ in NAMES:
            state[f"layers.{i}.{ours}.weight"] = weights[f"blk.{i}.{theirs}.weight"]
    with torch.device("meta"), _Unfilled():  # only shapes; the weights come next
        model = Llama(
            vocab_size=len(state["embedding.weight"]),
            d_model=sizes["embedding_length"],
            n_heads=sizes["attention.head_count"],
            n_kv_heads=sizes["attention.head_count_kv"],
            n_layers=n_layers,
            d_ff=sizes["feed_forward_length"],
            max_len=sizes["context_length"],
            rotary_base=sizes["rope.freq_base"],
            norm_eps=sizes["attention.layer_norm_rms_epsilon"],
            tie_embeddings="output.weight" not in weights,
        )
    model.load_state_dict(state, assign=True)
    if model.config.tie_embeddings:
        model.output_proj.weight = model.embedding.weight
    return model.requires_grad_(False).eval()


def llama_state(model):
    """Name a GPT's weights as Hugging Face's `LlamaForCausalLM` does.

    Parameters
    ----------
    model : GPT
        With rotary positions, RMSNorm in pre-norm and SwiGLU.

    Returns
    -------
    state : dict of str to Tensor
        For ``LlamaForCausalLM.load_state_dict``.
    """
    state = {
        "model.embed_tokens.weight": model.embedding.weight,
        "lm_head.weight": model.output_proj.weight,
        "model.norm.weight": model.norm.weight,
    }
    for i, layer in enumerate(model.layers):
        attention = layer.self_attention
        rotated = {"attn_q": attention.n_heads, "attn_k": attention.n_kv_heads}
        for ours, gguf, theirs in NAMES:
            for kind, rows in layer.get_submodule(ours).named_parameters():
                rows = _halves_paired(rows, rotated[gguf]) if gguf in rotated else rows
                state[f"model.layers.{i}.{theirs}.{kind}"] = rows
    return state


def _halves_paired(rows, n_heads):
    """Reorder each head's rows: RoFormer rotates features 2i and 2i+1, Llama i and i + K/2."""
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)
