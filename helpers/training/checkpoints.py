"""Checkpoints: the file from which a training goes on."""

import shutil
from dataclasses import asdict
from pathlib import Path

import torch

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

PARTS = {
    "marks", "model", "optimizer", "average", "best", "step", "epoch", "batch", "total",
    "epoch_pairs", "bf16", "history", "random",
}  # fmt: skip


class Checkpoint:
    """A file at `path` that knows its training: the `settings` and the ids in `train_pairs`."""

    def __init__(self, path, settings, train_pairs):
        self.path = Path(path)
        self.marks = {"settings": asdict(settings), "pairs": fingerprint(repr(train_pairs))}

    def write(self, state):
        """Write the `state`, a dictionary of all `PARTS` except the marks.

        If it can't be written, an OSError, an earlier checkpoint is still there, whole.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as partial:
                torch.save(state | {"marks": self.marks}, partial)
        except (OSError, RuntimeError) as error:  # PyTorch reports a full disk as a RuntimeError
            reason = f" ({error.strerror})" if getattr(error, "strerror", None) else ""
            free = shutil.disk_usage(self.path.parent).free / 1e6
            raise OSError(
                f"could not write the checkpoint {self.path}{reason}; its disk has {free:,.0f} MB "
                f"left. The model holds its best weights so far, and an earlier checkpoint is "
                f"still whole. Free some space, or choose another folder, and train again."
            ) from error

    def read(self, model, device) -> dict | None:
        """Read the state that belongs to a `model` onto a `device`, without changing the model.

        If there is no file, it is None; if the file is damaged, of another model or of another
        training, a ValueError.
        """
        if not self.path.exists():
            return None
        try:
            state = torch.load(self.path, weights_only=True, map_location=device)
            if lacking := sorted(PARTS - set(state)):
                raise ValueError(f"it lacks {', '.join(lacking)}")
            both = state["model"], model.state_dict()
            for name in sorted(both[0].keys() | both[1].keys()):
                its, ours = (tuple(one[name].shape) if name in one else None for one in both)
                if its != ours:
                    raise ValueError(f"its {name} has shape {its}, the model's has {ours}")
        except Exception as error:
            raise ValueError(
                f"{self.path} is no checkpoint of this model ({error}). Move it away to start "
                f"afresh, or build the model it belongs to."
            ) from error
        if state["marks"] != self.marks:
            old, new = state["marks"]["settings"], self.marks["settings"]
            changed = [f"{k} was {old.get(k)}, is {v}" for k, v in new.items() if old.get(k) != v]
            raise ValueError(
                f"{self.path} comes from another training: {', '.join(changed) or 'on other pairs'}"
                f". Move it away to start afresh, or train as it was begun."
            )
        return state


def random_states(device):
    """Note PyTorch's random states, on the CPU and on the `device` if it is another one."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device).get_rng_state()
    return states


def set_random_states(states, device):
    """Go back to the random `states` that `random_states` noted, of the CPU and the `device`."""
    torch.set_rng_state(states["cpu"].cpu())
    if device.type in states and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[device.type].cpu())
