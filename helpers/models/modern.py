"""Two parts that today's models have in place of the paper's: RMSNorm and SwiGLU.

Rotary positions are in `helpers.transformer.positions`, grouped heads and everything else in
`helpers.models.gpt`.
D model width, F feed-forward width.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square; a LayerNorm without the mean and the bias.

    The numbers are those of ``nn.RMSNorm``.

    Parameters
    ----------
    d_model : int
    eps : float, default=1e-5
        Added to the mean square inside the root.

    Source
    ------
    Zhang and Sennrich (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467, eq. (4).
    """

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        mean_square = x.square().mean(-1, keepdim=True)  # (..., D) -> (..., 1)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


class SwiGLU(nn.Module):
    """A feed-forward network with a gate: the hidden layer is multiplied by a second one.

    Three matrices, so at 2/3 of the width it has as many parameters as the paper's two.

    Parameters
    ----------
    d_model, d_ff : int
        Width of the input and output, and of the hidden layer.

    Source
    ------
    Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202, eq. (6).
    """

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)  # W in the paper
        self.linear_1 = nn.Linear(d_model, d_ff, bias=False)  # V
        self.linear_2 = nn.Linear(d_ff, d_model, bias=False)  # W_2

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        hidden = F.silu(self.gate(x)) * self.linear_1(x)  # (..., D) -> (..., F)
        return self.linear_2(hidden)


def llama_state(model):
    """Name a GPT's weights as Hugging Face's `LlamaForCausalLM` does.

    Parameters
    ----------
    model : GPT
        With rotary positions, RMSNorm in pre-norm and SwiGLU.

    Returns
    -------
    state : dict of str to Tensor
        For ``LlamaForCausalLM.load_state_dict``, with ``attention_bias=True`` in its configuration.
    """
    state = {
        "model.embed_tokens.weight": model.embedding.weight,
        "lm_head.weight": model.output_proj.weight,
        "model.norm.weight": model.norm.weight,
    }
    for i, layer in enumerate(model.layers):
        attention, network, name = layer.self_attention, layer.feed_forward, f"model.layers.{i}"
        n_heads, n_kv_heads = attention.n_heads, attention.n_kv_heads
        for kind in ("weight", "bias"):
            query, key, value, out = (
                getattr(linear, kind)
                for linear in (
                    attention.query_proj,
                    attention.key_proj,
                    attention.value_proj,
                    attention.out_proj,
                )
            )
            state[f"{name}.self_attn.q_proj.{kind}"] = _halves_paired(query, n_heads)
            state[f"{name}.self_attn.k_proj.{kind}"] = _halves_paired(key, n_kv_heads)
            state[f"{name}.self_attn.v_proj.{kind}"] = value
            state[f"{name}.self_attn.o_proj.{kind}"] = out
        state[f"{name}.mlp.gate_proj.weight"] = network.gate.weight
        state[f"{name}.mlp.up_proj.weight"] = network.linear_1.weight
        state[f"{name}.mlp.down_proj.weight"] = network.linear_2.weight
        state[f"{name}.input_layernorm.weight"] = layer.residual_1.norm.weight
        state[f"{name}.post_attention_layernorm.weight"] = layer.residual_2.norm.weight
    return state


def _halves_paired(rows, n_heads):
    """Reorder each head's rows: RoFormer rotates features 2i and 2i+1, Llama i and i + K/2."""
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)
