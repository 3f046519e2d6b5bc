"""Messages over a pipe: one JSON line, then the raw bytes of the arrays in it. No pickle, no socket.

Pickle would import torch into the web process: even `torch.__version__` is a class of torch.
"""

import json
import math
from typing import Any, BinaryIO

import numpy as np

KINDS = "biuf"
LONGEST_LINE = 64 * 2**20
LARGEST_ARRAY = 2**31

Message = dict[str, Any]


def send(stream: BinaryIO, message: Message) -> None:
    """Writes a message of dicts, lists, strings, numbers and numpy arrays.

    ValueError, with nothing written, for anything else and for what would be too long to be received.
    """
    arrays: list[np.ndarray] = []
    body = _packed(message, arrays)
    header = {"body": body, "arrays": [[array.dtype.str, list(array.shape)] for array in arrays]}
    line = json.dumps(header).encode() + b"\n"
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a message of {len(line):,} bytes beside its arrays; legal are at most {LONGEST_LINE:,}")
    stream.write(b"".join([line, *(array.tobytes() for array in arrays)]))
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """The next message, or None at the end. EOFError if the stream ends inside one, ValueError if it is no message."""
    line = stream.readline(LONGEST_LINE)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended inside a header")
    header = json.loads(line)
    if not (
        isinstance(header, dict) and isinstance(header.get("body"), dict) and isinstance(header.get("arrays"), list)
    ):
        raise ValueError("a header is an object with a body and a list of arrays")
    arrays = [_array(stream, described) for described in header["arrays"]]
    return _unpacked(header["body"], arrays)


def size(value: Any) -> int:
    """The approximate bytes of a message, or of a part of one."""
    if isinstance(value, np.ndarray):
        return value.nbytes + 100
    if isinstance(value, dict):
        return sum(len(key) + size(part) for key, part in value.items()) + 100
    if isinstance(value, list | tuple):
        return sum(map(size, value)) + 60
    return len(value) + 50 if isinstance(value, str) else 30


def _packed(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise ValueError(f"an array of {value.dtype} cannot be sent; legal are booleans, integers and floats")
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key != "$array" for key in value):
            raise ValueError("the keys of a message are strings other than $array")
        return {key: _packed(part, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(part, arrays) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"a {type(value).__name__} cannot be sent; legal are dicts, lists, strings, numbers and arrays")


def _unpacked(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, dict):
        if "$array" in value:
            at = value["$array"]
            if not (isinstance(at, int) and 0 <= at < len(arrays)):
                raise ValueError(f"array {at!r} is not among the {len(arrays)} of this message")
            return arrays[at]
        return {key: _unpacked(part, arrays) for key, part in value.items()}
    return [_unpacked(part, arrays) for part in value] if isinstance(value, list) else value


def _array(stream: BinaryIO, described: Any) -> np.ndarray:
    """The next array, read-only. ValueError unless it is described as a plain array of a sane size."""
    try:
        name, shape = described
        dtype = np.dtype(str(name))
        count = math.prod(shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{described!r} does not describe an array") from error
    legal = all(isinstance(extent, int) and extent >= 0 for extent in shape)
    if dtype.kind not in KINDS or not legal or count * dtype.itemsize > LARGEST_ARRAY:
        raise ValueError(f"{described!r} does not describe an array that may be sent")
    data = stream.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise EOFError("the stream ended inside an array")
    return np.frombuffer(data, dtype).reshape(shape)
