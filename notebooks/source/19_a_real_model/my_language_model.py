"""SmolLM in your own code: ``python my_language_model.py "What is the capital of France?"``.

Attention comes from my_transformer.py, which stands beside this file; the four parts of today are
below. Needs PyTorch, safetensors and tokenizers, and nothing of the course.
"""

import sys

import torch
import torch.nn.functional as F
from my_transformer import causal_mask, merge_heads, scaled_dot_product_attention, split_heads
from safetensors import safe_open
from tokenizers import Tokenizer

WEIGHTS = "smollm2.safetensors"  # where the converted weights are
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
START, END = "<|im_start|>", "<|im_end|>"


def rms_norm(x, gain, eps=1e-5):
    mean_square = (x**2).mean(-1, keepdim=True)
    return x / (mean_square + eps).sqrt() * gain


def swiglu(x, w_gate, w_up, w_down):
    return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def rotate(x, base=10000.0):
    length, width = x.shape[-2:]
    speeds = base ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * speeds
    cos, sin, even, odd = angles.cos(), angles.sin(), x[..., 0::2], x[..., 1::2]
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


def share_heads(x, n_heads):
    return x.repeat_interleave(n_heads // x.shape[1], dim=1)


class LanguageModel:
    """SmolLM2-135M-Instruct: 30 layers, 9 heads of queries, 3 of keys and values."""

    def __init__(self, file):
        with safe_open(file, "pt") as opened:
            names = opened.keys()
            self.weights = {name: opened.get_tensor(name) for name in names}
            self.tokenizer = Tokenizer.from_str(opened.metadata()["tokenizer"])

    def attention(self, h, layer):
        """(1, T, 576) -> (1, T, 576)"""
        w = {name: self.weights[f"blk.{layer}.attn_{name}.weight"] for name in "qkv"}
        q = rotate(split_heads(h @ w["q"].T, 9), 100_000.0)
        k = rotate(split_heads(h @ w["k"].T, 3), 100_000.0)
        k, v = share_heads(k, 9), share_heads(split_heads(h @ w["v"].T, 3), 9)
        context, _ = scaled_dot_product_attention(q, k, v, causal_mask(h.shape[1]))
        return merge_heads(context) @ self.weights[f"blk.{layer}.attn_output.weight"].T

    def read(self, ids):
        """ids (1, T) -> logits of the next token (V,)"""
        weights, x = self.weights, self.weights["token_embd.weight"][ids]
        for i in range(30):
            x = x + self.attention(rms_norm(x, weights[f"blk.{i}.attn_norm.weight"]), i)
            h = rms_norm(x, weights[f"blk.{i}.ffn_norm.weight"])
            gate, up, down = (
                weights[f"blk.{i}.ffn_{name}.weight"] for name in ("gate", "up", "down")
            )
            x = x + swiglu(h, gate, up, down)
        return rms_norm(x[0, -1], weights["output_norm.weight"]) @ weights["token_embd.weight"].T

    @torch.no_grad()
    def answer(self, question, most=100):
        """Yield the answer piece by piece, always the likeliest token."""
        chat = f"{START}system\n{SYSTEM}{END}\n{START}user\n{question}{END}\n{START}assistant\n"
        ids, said = self.tokenizer.encode(chat).ids, []
        for _ in range(most):
            said.append(int(self.read(torch.tensor([ids + said])).argmax()))
            if said[-1] in (0, 2):  # the end of a text, or of a message
                return
            yield self.tokenizer.decode(said[-1:])


if __name__ == "__main__":
    model = LanguageModel(WEIGHTS)
    for piece in model.answer(" ".join(sys.argv[1:]) or "What is the capital of France?"):
        print(piece, end="", flush=True)
    print()
