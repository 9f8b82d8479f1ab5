"""Several processes that train one model together, as ``torchrun`` starts them."""

import torch
import torch.distributed as dist
from torch import nn


class Processes:
    """Know the other processes; without any, every method does nothing and costs nothing.

    Each process takes every world-th sentence of a batch and divides its loss by all processes'
    tokens, so that the averaged gradient is the one a single process would have found.

    Parameters
    ----------
    device : torch.device
        Where this process trains.
    """

    def __init__(self, device):
        self.device = device
        self.rank, self.world = 0, 1
        if dist.is_available() and dist.is_initialized():
            self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def wrap(self, model):
        """Let the backward pass of a `model` average the gradients over the processes."""
        return nn.parallel.DistributedDataParallel(model) if self.world > 1 else model

    def share(self, src_ids, tgt_ids, pad_id):
        """Take this process's sentences out of a batch.

        Parameters
        ----------
        src_ids, tgt_ids : integer Tensors of shape (B, S) and (B, T + 1)
        pad_id : int

        Returns
        -------
        src_ids, tgt_ids : Tensors with fewer rows
        """
        if self.world == 1:
            return src_ids, tgt_ids
        share = torch.arange(len(src_ids)) % self.world == self.rank
        if not share.any():  # fewer sentences than processes: take one, count no token of it
            share[0], tgt_ids = True, tgt_ids.clone()
            tgt_ids[0, 1:] = pad_id
        return src_ids[share], tgt_ids[share]

    def mean(self, value):
        """Average a scalar tensor `value` over the processes; returns a float."""
        if self.world > 1:
            dist.all_reduce(value)
            value /= self.world
        return value.item()

    def any(self, flag):
        """Tell whether `flag` is true in at least one process; all get the same answer."""
        if self.world == 1:
            return flag
        flag = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(flag)
        return flag.item() > 0

    def from_first(self, make):
        """Return what `make` () returns in the first process; it isn't called in the others."""
        made = [make() if self.rank == 0 else None]
        if self.world > 1:
            dist.broadcast_object_list(made)
        return made[0]
