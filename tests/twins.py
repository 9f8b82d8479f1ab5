"""Give PyTorch's modules the weights of ours, so that the two can be compared."""

import torch

from helpers.models.llama import llama_state


class Third:
    """W_Q, W_K or W_V in PyTorch's matrix that holds all three below each other."""

    def __init__(self, parameter, place):
        self.parameter, self.place = parameter, place

    def copy_(self, ours):
        self.parameter.chunk(3)[self.place].copy_(ours)

    @property
    def grad(self):
        return self.parameter.grad.chunk(3)[self.place]


def both(theirs, ours):
    """Two layers' weights, and their biases."""
    return [(theirs.weight, ours.weight), (theirs.bias, ours.bias)]


def attention_pairs(theirs, ours):
    """nn.MultiheadAttention and our MultiHeadAttention."""
    pairs = both(theirs.out_proj, ours.out_proj)
    for i, linear in enumerate((ours.query_proj, ours.key_proj, ours.value_proj)):
        pairs.append((Third(theirs.in_proj_weight, i), linear.weight))
        pairs.append((Third(theirs.in_proj_bias, i), linear.bias))
    return pairs


def layer_pairs(theirs, ours, n_residuals):
    """An encoder layer (2 residuals) or a decoder layer (3)."""
    pairs = attention_pairs(theirs.self_attn, ours.self_attention)
    if n_residuals == 3:
        pairs += attention_pairs(theirs.multihead_attn, ours.cross_attention)
    for i in (1, 2):
        pairs += both(getattr(theirs, f"linear{i}"), getattr(ours.feed_forward, f"linear_{i}"))
    for i in range(1, n_residuals + 1):
        pairs += both(getattr(theirs, f"norm{i}"), getattr(ours, f"residual_{i}").norm)
    return pairs


def stack_pairs(theirs, ours):
    """nn.Transformer and our Transformer, but for the embeddings."""
    pairs = []
    for theirs_layer, our_layer in zip(theirs.encoder.layers, ours.encoder_layers, strict=True):
        pairs += layer_pairs(theirs_layer, our_layer, 2)
    for theirs_layer, our_layer in zip(theirs.decoder.layers, ours.decoder_layers, strict=True):
        pairs += layer_pairs(theirs_layer, our_layer, 3)
    if ours.config.norm_first:
        for side in ("encoder", "decoder"):
            pairs += both(getattr(theirs, side).norm, getattr(ours, f"{side}_norm"))
    return pairs


def copy_weights(pairs):
    """Copy ours into theirs and return the pairs, whose gradients can then be compared."""
    with torch.no_grad():
        for theirs, ours in pairs:
            theirs.copy_(ours)
    return pairs


def assert_gradients_equal(pairs, theirs, ours):
    """Demand that two equal outputs send the same gradient to every pair of parameters."""
    direction = torch.randn_like(ours)
    (ours * direction).sum().backward()
    (theirs * direction).sum().backward()
    for one, other in pairs:
        torch.testing.assert_close(one.grad, other.grad, atol=1e-10, rtol=0)


def llama_twin(model):
    """Make Hugging Face's LlamaForCausalLM with the sizes, weights and precision of our Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    c = model.config
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=c.vocab_size, hidden_size=c.d_model,
            intermediate_size=model.layers[0].feed_forward.linear_1.out_features,
            num_hidden_layers=c.n_layers, num_attention_heads=c.n_heads,
            num_key_value_heads=c.n_kv_heads, max_position_embeddings=c.max_len,
            rms_norm_eps=c.norm_eps, attention_bias=c.attention_bias,
            tie_word_embeddings=c.tie_embeddings, bos_token_id=None, eos_token_id=None,
            rope_parameters={"rope_type": "default", "rope_theta": c.rotary_base},
        )
    ).to(model.embedding.weight.dtype)  # fmt: skip
    theirs.load_state_dict(llama_state(model))
    return theirs.eval()
