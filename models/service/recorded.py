"""The recording of the default network before training, which pages show while the trainer loads torch. No torch.

`python -m models.service.record` writes the file; a test compares it with a fresh computation.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from models.service.messages import config_from, unpacked
from models.service.wire import Message, receive
from models.spec import RunConfig
from models.trace import Trace

Recording = TypeVar("Recording")

FILE = Path(__file__).with_name("recorded.bin")


def read_recording(file: Path, unpack: Callable[[Message], Recording]) -> Recording | None:
    """What `unpack` makes of the message in a file; None if the file is missing or has another format."""
    try:
        with file.open("rb") as stream:
            return unpack(receive(stream) or {})
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


@cache
def _recording() -> tuple[RunConfig, Trace] | None:
    return read_recording(FILE, lambda m: (config_from(m["query"]), unpacked(Trace, m["trace"])))


def recorded(cfg: RunConfig) -> Trace | None:
    """The recorded row 0 and frame 0 of this configuration's tape; None for all but the default network."""
    recording = _recording()
    return recording[1] if recording is not None and recording[0] == cfg else None
