"""How the grader and a submission's process talk: one JSON object per line, and no pickles.

What comes from a submission is data and stays data: reading it can't run anything.
"""

import base64
import json

import torch

LONGEST_LINE = 64_000_000  # bytes; an exercise's results have a few hundred numbers
# A JSON object says by its one key what it stands for.
TENSOR, TUPLE, DICT, FUNCTION, OTHER = "tensor", "tuple", "dict", "function", "other"


class Wire:
    """Send and receive messages over a pair of binary files."""

    def __init__(self, incoming, outgoing):
        self.incoming, self.outgoing = incoming, outgoing
        self.functions = {}  # those that were sent, by number

    def send(self, kind, *values):
        """Send a message of a `kind` with its values."""
        line = json.dumps([kind, [self._encode(value) for value in values]])
        self.outgoing.write(line.encode() + b"\n")
        self.outgoing.flush()

    def receive(self) -> tuple[str, list]:
        """Wait for a message: its kind and its values.

        If the other side has gone, or sends what is no message, an EOFError is raised.
        """
        line = self.incoming.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise EOFError("the other process has ended, or answers without end")
        try:
            kind, values = json.loads(line)
            return kind, [self._decode(value) for value in values]
        except (ValueError, TypeError, KeyError, RuntimeError, RecursionError) as error:
            raise EOFError(
                f"the other process sent something else than a message: {error}"
            ) from None

    def call(self, kind, *values):
        """Send a message and wait for the result, answering calls back in between.

        If the other side raised, a RemoteError is.
        """
        self.send(kind, *values)
        while True:
            said, values = self.receive()
            if said == "result":
                return values
            if said == "raised":
                raise RemoteError(*map(str, values[:2]))
            if said != "back":
                raise EOFError(f"expected a result; got {said!r}")
            self.answer(lambda number, args: self.functions[number](*args), values)

    def answer(self, function, values):
        """Call a function on what was received, and send its result or what it raised."""
        try:
            result = function(*values)
        except (EOFError, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.send("raised", type(error).__name__, _text(error))
        else:
            self.send("result", result)

    def _encode(self, value):
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, torch.Tensor):
            flat = value.detach().cpu().contiguous()
            raw = flat.reshape(-1).view(torch.uint8).numpy().tobytes()
            dtype = str(flat.dtype).removeprefix("torch.")
            return {TENSOR: [dtype, list(flat.shape), base64.b64encode(raw).decode()]}
        if isinstance(value, list):
            return [self._encode(part) for part in value]
        if isinstance(value, tuple):
            return {TUPLE: [self._encode(part) for part in value]}
        if isinstance(value, dict):
            return {DICT: [[self._encode(k), self._encode(v)] for k, v in value.items()]}
        if callable(value):
            number = len(self.functions)
            self.functions[number] = value
            return {FUNCTION: number}
        return {OTHER: type(value).__name__}

    def _decode(self, value):
        if isinstance(value, list):
            return [self._decode(part) for part in value]
        if not isinstance(value, dict):
            return value
        ((kind, inside),) = value.items()
        if kind == TENSOR:
            return _tensor(*inside)
        if kind == TUPLE:
            return tuple(self._decode(part) for part in inside)
        if kind == DICT:
            return {self._decode(k): self._decode(v) for k, v in inside}
        if kind == FUNCTION:
            return lambda *args: self.call("back", inside, args)[0]
        return Unreadable(str(inside))


class RemoteError(Exception):
    """What the other side raised, in words."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


class Unreadable:
    """A result that is no tensor, number, text, list, tuple or dictionary; of which `kind`."""

    def __init__(self, kind):
        self.kind = kind


def _tensor(dtype, shape, encoded):
    kind = getattr(torch, dtype)
    if not isinstance(kind, torch.dtype):
        raise ValueError(f"{dtype} is no type of numbers")
    raw = bytearray(base64.b64decode(encoded))
    empty = torch.empty(0, dtype=kind)
    return (torch.frombuffer(raw, dtype=kind) if raw else empty).reshape([int(n) for n in shape])


def _text(error):
    try:
        return str(error)[:2000]
    except Exception:
        return "(it can't be printed)"
