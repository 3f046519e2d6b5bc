"""The nets of the autoregression lab, and a recording of what its first net writes after training. No torch.

`python -m models.service.record` writes the file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from models.service.messages import config_from, unpacked
from models.service.wire import message_of
from models.spec import RunConfig
from models.trace import Frame

FILE = Path(__file__).with_name("spoken.json")
# Depth, steps and position with which each task is learned within a minute of one CPU core.
NETS: dict[str, tuple[int, int, str]] = {
    "book": (4, 600, "sinusoidal"),
    "copy": (2, 600, "sinusoidal"),
    "reverse": (2, 400, "sinusoidal"),
    "sort": (2, 600, "sinusoidal"),
    "recall": (2, 1500, "rotary"),
}
SIZE: dict[str, object] = {
    "net": "transformer",
    "width": 64,
    "heads": 4,
    "batch": 32,
    "lr": 0.003,
    "warmup": 50,
    "seed": 0,
}


def configuration(task: str, arrangement: str, depth: int, steps: int) -> RunConfig:
    """A net of the lab; all have the same width and optimiser."""
    return RunConfig.arranged(
        arrangement, **SIZE | {"task": task, "depth": depth, "steps": steps, "position": NETS[task][2]}
    )


def opening() -> RunConfig:
    """The first net of the lab."""
    return configuration("book", "pre-norm", *NETS["book"][:2])


@dataclass(frozen=True)
class Spoken:
    """The last frame of a net's run, and its losses (T,)."""

    cfg: RunConfig
    frame: Frame
    loss: np.ndarray


@cache
def spoken() -> Spoken | None:
    """The recording; None if the file is missing or has another format."""
    try:
        m = message_of(FILE.read_bytes())
        return Spoken(config_from(m["query"]), unpacked(Frame, m["frame"]), m["loss"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
