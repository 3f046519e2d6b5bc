"""Messages as lines of JSON, over the trainer's pipe and in a run's log. Arrays travel as base64. No pickle, no socket.

Pickle would import torch into the web process: even `torch.__version__` is a class of torch.
"""

import base64
import json
from typing import Any, BinaryIO

import numpy as np

ARRAY_DTYPE_KINDS = "biuf"  # booleans, integers and floats
MAX_LINE_BYTES = 64 * 2**20
ARRAY_KEY = "$array"

Message = dict[str, Any]


def send(stream: BinaryIO, message: Message) -> None:
    """Writes a message. ValueError, before anything is written, if `line_of` refuses it."""
    stream.write(line_of(message))
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """The next message, or None at the end. EOFError if the stream ends inside a line, ValueError for other text."""
    line = stream.readline(MAX_LINE_BYTES)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended inside a message")
    return message_of(line)


def line_of(message: Message) -> bytes:
    """A message of dicts, lists, strings, numbers and numpy arrays as a line of JSON.

    ValueError for other types and for a line of more than MAX_LINE_BYTES bytes, which `receive` could not read.
    """
    line = json.dumps(message, default=_plain, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a message of {len(line):,} bytes; legal are at most {MAX_LINE_BYTES:,}")
    return line


def message_of(line: bytes) -> Message:
    """The message in a line; its arrays are read-only. ValueError if the line holds none."""
    try:
        message = json.loads(line, object_hook=_array)
    except RecursionError as error:
        raise ValueError("a message nested too deep") from error
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message


def size(value: Any) -> int:
    """Approximate memory of a message or a part of one, in bytes."""
    if isinstance(value, np.ndarray):
        return value.nbytes + 100
    if isinstance(value, dict):
        return sum(len(key) + size(part) for key, part in value.items()) + 100
    if isinstance(value, list | tuple):
        return sum(map(size, value)) + 60
    return len(value) + 50 if isinstance(value, str) else 30


def _plain(value: Any) -> Any:
    """Arrays and numpy's numbers as JSON values."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in ARRAY_DTYPE_KINDS:
        return {ARRAY_KEY: [value.dtype.str, value.shape, base64.b64encode(value.tobytes()).decode("ascii")]}
    raise ValueError(f"a {type(value).__name__} cannot be sent; legal are dicts, lists, strings, numbers and arrays")


def _array(value: dict[str, Any]) -> Any:
    """The array that an object describes; any other object unchanged. ValueError unless the data fill the shape."""
    if ARRAY_KEY not in value:
        return value
    try:
        name, shape, data = value[ARRAY_KEY]
        dtype = np.dtype(str(name))
        if dtype.kind not in ARRAY_DTYPE_KINDS or not all(type(extent) is int and extent >= 0 for extent in shape):
            raise ValueError("neither booleans, integers nor floats of a shape")
        return np.frombuffer(base64.b64decode(data, validate=True), dtype).reshape(shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"not an array: {error}") from error
