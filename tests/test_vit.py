"""The Vision Transformer: patches, equality with Hugging Face's, rollout, errors."""

import itertools

import pytest
import torch
from samples import refuses

from helpers.models.vit import VisionTransformer, VitConfig, attention_rollout, patchify, unpatchify

SIZES = {
    "image_size": 12, "patch_size": 4, "n_channels": 2, "n_classes": 5, "d_model": 8,
    "n_heads": 2, "n_layers": 2, "d_ff": 16,
}  # fmt: skip


def small(**changes):
    return VisionTransformer(VitConfig(**(SIZES | changes))).double().eval()


def pictures(n=3):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, 2, 12, 12, dtype=torch.float64, generator=generator)


def test_patchify_cuts_row_by_row_like_a_loop():
    images = torch.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
    corners = list(itertools.product(range(0, 4, 2), range(0, 6, 2)))
    loop = [[one[:, y : y + 2, x : x + 2].flatten() for y, x in corners] for one in images]
    patches = patchify(images, 2)
    assert torch.equal(patches, torch.stack([torch.stack(row) for row in loop]))
    assert torch.equal(unpatchify(patches, 2, n_rows=2), images)


def twin(ours, attention):
    """Hugging Face's ViTModel with our weights; its "eager" attention rounds to float32."""
    # Imported here: it takes seconds.
    from transformers import ViTConfig, ViTModel

    c = ours.config
    theirs = ViTModel(
        ViTConfig(
            image_size=c.image_size, patch_size=c.patch_size, num_channels=c.n_channels,
            hidden_size=c.d_model, num_hidden_layers=c.n_layers, num_attention_heads=c.n_heads,
            intermediate_size=c.d_ff, hidden_act="gelu", layer_norm_eps=c.norm_eps,
            attn_implementation=attention,
        ),
        add_pooling_layer=False,
    ).double().eval()  # fmt: skip
    state = {
        "embeddings.cls_token": ours.class_token[None, None],
        "embeddings.position_embeddings": ours.positions.table[None],
        "embeddings.patch_embeddings.projection.weight": ours.patch_proj.weight.unflatten(
            1, (c.n_channels, c.patch_size, c.patch_size)
        ),
        "embeddings.patch_embeddings.projection.bias": ours.patch_proj.bias,
        "layernorm.weight": ours.norm.weight,
        "layernorm.bias": ours.norm.bias,
    }
    for i, layer in enumerate(ours.layers):
        parts = {
            "attention.q_proj": layer.self_attention.query_proj,
            "attention.k_proj": layer.self_attention.key_proj,
            "attention.v_proj": layer.self_attention.value_proj,
            "attention.o_proj": layer.self_attention.out_proj,
            "mlp.fc1": layer.feed_forward.linear_1,
            "mlp.fc2": layer.feed_forward.linear_2,
            "layernorm_before": layer.residual_1.norm,
            "layernorm_after": layer.residual_2.norm,
        }
        for name, part in parts.items():
            state[f"layers.{i}.{name}.weight"] = part.weight
            state[f"layers.{i}.{name}.bias"] = part.bias
    theirs.load_state_dict({name: tensor.detach() for name, tensor in state.items()})
    return theirs


@pytest.mark.slow
def test_equals_hugging_face_s_vit_on_the_same_random_weights():
    ours = small(norm_eps=0.1)
    for parameter in ours.parameters():  # norms and biases too
        parameter.data.normal_()
    found = twin(ours, "sdpa")(pictures())
    torch.testing.assert_close(ours.encode(pictures()), found.last_hidden_state, atol=1e-10, rtol=0)
    found = twin(ours, "eager")(pictures(), output_attentions=True)
    maps = ours.attention_maps(pictures())
    torch.testing.assert_close(maps, torch.stack(found.attentions, 1), atol=1e-5, rtol=0)


def test_the_default_is_vit_base_with_its_86_million_parameters():
    with torch.device("meta"):
        model = VisionTransformer(VitConfig())
    assert sum(p.numel() for p in model.parameters()) == 86_567_656  # table 1: 86 million


def test_rollout_of_one_layer_is_half_the_mean_of_its_heads_and_half_the_identity():
    weights = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]])
    torch.testing.assert_close(attention_rollout(weights), torch.tensor([[3, 1], [1, 3]]) / 4)


def test_rollout_follows_a_path_through_the_layers_in_their_order():
    # Layer 1 moves token 0 to position 1; layer 2 moves position 1 to position 2.
    weights = torch.eye(3).repeat(2, 1, 1, 1)
    weights[0, 0, 1] = torch.tensor([1.0, 0, 0])
    weights[1, 0, 2] = torch.tensor([0, 1.0, 0])
    rollout = attention_rollout(weights)
    torch.testing.assert_close(rollout[2], torch.tensor([0.25, 0.25, 0.5]))
    torch.testing.assert_close(rollout.sum(-1), torch.ones(3))


def test_rollout_takes_a_batch():
    maps = small().attention_maps(pictures())
    torch.testing.assert_close(attention_rollout(maps)[1], attention_rollout(maps[1]))


def test_errors_are_clear():
    refuses("patch_size must divide image_size", VitConfig, image_size=28, patch_size=5)
    refuses("don't fill a picture of 12 × 12", patchify, pictures(), 5)
    refuses(r"expected pictures of shape \(B, 2, 12, 12\); got", small(), torch.zeros(1, 1, 12, 12))
