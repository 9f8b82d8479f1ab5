"""Which optimiser takes which weights."""

import torch

NAMES = ("adamw", "muon")


def optimizers(model, name, rate, weight_decay):
    """Divide a model's weights among optimisers.

    Only matrices decay. Norms, biases and other vectors keep their size.

    Parameters
    ----------
    model : nn.Module
    name : {"adamw", "muon"}
        AdamW for everything, or Muon for the matrices inside the layers and AdamW for the rest.
        Muon makes every update a nearly orthogonal matrix, and here it needed about half the steps
        of AdamW.
    rate : float
        Learning rate; Muon's is scaled so that its updates are as large as AdamW's.
    weight_decay : float

    Returns
    -------
    optimizers : list of torch.optim.Optimizer

    Raises
    ------
    ValueError
        If there is no such optimiser.

    Source
    ------
    Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization", arXiv:1711.05101; Jordan
    et al. (2024), "Muon: An optimizer for hidden layers in neural networks"; Liu et al. (2025),
    "Muon is Scalable for LLM Training", arXiv:2502.16982, section 2.2, for the scale.
    """
    if name not in NAMES:
        raise ValueError(f"optimizer must be one of {NAMES}; got {name!r}.")
    named = {key: p for key, p in model.named_parameters() if p.requires_grad}
    made = []
    inside = sorted(key for key, p in named.items() if p.dim() == 2 and "layers" in key)
    if name == "muon" and inside:
        matrices = [named.pop(key) for key in inside]
        scale = {"adjust_lr_fn": "match_rms_adamw"}
        made.append(torch.optim.Muon(matrices, rate, weight_decay=weight_decay, **scale))
    groups = [
        {"params": [p for p in named.values() if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in named.values() if p.dim() == 1], "weight_decay": 0.0},
    ]
    return [*made, torch.optim.AdamW(groups, rate, betas=(0.9, 0.98), fused=True)]
