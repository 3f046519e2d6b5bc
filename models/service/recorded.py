"""The recordings of the default network before training, with and without residual and norm. No torch.

Pages show them while the trainer loads torch.

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

RECORDED = tuple(
    RunConfig(residual=residual, norm=norm) for norm in (RunConfig().norm, "none") for residual in (True, False)
)
FILE = Path(__file__).with_name("recorded.bin")


def read_recording(file: Path, unpack: Callable[[Message], Recording]) -> Recording | None:
    """What `unpack` makes of the message in a file; None if the file is missing or has another format."""
    try:
        with file.open("rb") as stream:
            return unpack(receive(stream) or {})
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


@cache
def _recordings() -> dict[RunConfig, Trace]:
    def unpack(m: Message) -> dict[RunConfig, Trace]:
        return {config_from(one["query"]): unpacked(Trace, one["trace"]) for one in m["runs"]}

    return read_recording(FILE, unpack) or {}


def recorded(cfg: RunConfig) -> Trace | None:
    """The recorded row 0 and frame 0 of this configuration's tape; None for all but RECORDED."""
    return _recordings().get(cfg)
