"""The recording of the default network before training, which pages show while the trainer loads torch. No torch.

`python -m models.service.record` writes the file; a test compares it with a fresh computation.
"""

from functools import cache
from pathlib import Path

from models.service.messages import config_from, unpacked
from models.service.wire import receive
from models.spec import RunConfig
from models.trace import Trace

FILE = Path(__file__).with_name("recorded.bin")


@cache
def _recording() -> tuple[RunConfig, Trace] | None:
    """The recorded configuration and its trace of one row; None if the file is missing or has another format."""
    try:
        with FILE.open("rb") as stream:
            message = receive(stream) or {}
        return config_from(message["query"]), unpacked(Trace, message["trace"])
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def recorded(cfg: RunConfig) -> Trace | None:
    """The recorded row 0 and frame 0 of this configuration's tape; None for all but the default network."""
    recording = _recording()
    return recording[1] if recording is not None and recording[0] == cfg else None
