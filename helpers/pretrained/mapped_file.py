"""A file of weights in the order that we choose, mapped as one tensor.

It is a safetensors file, which anybody can read with that library. But the library sorts by name
when it writes, and when it reads, each weight is a tensor of its own. Here neighbours in the file
are neighbours in memory, so `transformer.one_row.products` can take several matrices for one.

Source: the format's description, github.com/huggingface/safetensors.
"""

import json
import struct

import torch

KINDS = {"F32": torch.float32, "BF16": torch.bfloat16}


def save_weights(weights, about, path):
    """Write weights one after the other, in the order of the dict.

    Parameters
    ----------
    weights : dict of str to Tensor
        In 32 bits or bfloat16.
    about : dict of str to str
        What else to keep in the file.
    path : path
    """
    header, end, kinds = {"__metadata__": about}, 0, {dtype: kind for kind, dtype in KINDS.items()}
    for name, tensor in weights.items():
        start, end = end, end + tensor.nbytes
        kind, shape = kinds[tensor.dtype], [*tensor.shape]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)  # the numbers begin with a line of the processor's cache
    with open(path, "wb") as opened:
        opened.write(struct.pack("<Q", len(text)) + text)
        for tensor in weights.values():
            opened.write(tensor.contiguous().view(torch.uint8).numpy())


def map_weights(path):
    """Map a file's weights into memory, as views of one tensor.

    Parameters
    ----------
    path : Path

    Returns
    -------
    about : dict of str to str
    weights : dict of str to Tensor

    Raises
    ------
    ValueError
        If the file is cut off or isn't such a file.
    """
    with open(path, "rb") as opened:
        start = opened.read(8)
        length = int.from_bytes(start, "little")
        if not 0 < length < path.stat().st_size:
            raise ValueError(f"{path} is cut off inside its header, or is no safetensors file.")
        header = json.loads(opened.read(length))  # what isn't JSON is a ValueError, too
    about = header.pop("__metadata__", {})
    numbers = torch.from_file(str(path), size=path.stat().st_size, dtype=torch.uint8)[8 + length :]
    if max(one["data_offsets"][1] for one in header.values()) != len(numbers):
        raise ValueError(f"{path} is cut off: its numbers don't fill the places in its header.")
    weights = {
        name: numbers[slice(*one["data_offsets"])].view(KINDS[one["dtype"]]).view(one["shape"])
        for name, one in header.items()
    }
    return about, weights
