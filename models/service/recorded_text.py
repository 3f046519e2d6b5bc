"""The nets of the autoregression lab, and a recording of the text its first net writes after training. No torch.

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

FILE = Path(__file__).with_name("recorded_text.json")
# Depth, steps and position encoding with which a net learns each task within a minute on one CPU core.
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
    _, _, position = NETS[task]
    return RunConfig.arranged(
        arrangement, **(SIZE | {"task": task, "depth": depth, "steps": steps, "position": position})
    )


def first_config() -> RunConfig:
    """The net with which the lab opens."""
    depth, steps, _ = NETS["book"]
    return configuration("book", "pre-norm", depth, steps)


@dataclass(frozen=True)
class RecordedText:
    """The last frame of a net's run, which holds its text, and the losses of the run, (T,)."""

    cfg: RunConfig
    frame: Frame
    loss: np.ndarray


@cache
def recorded_text() -> RecordedText | None:
    """The recording; None if the file is missing or has another format."""
    try:
        message = message_of(FILE.read_bytes())
        return RecordedText(config_from(message["query"]), unpacked(Frame, message["frame"]), message["loss"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
