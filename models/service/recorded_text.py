"""The nets of the autoregression lab, and a recording of the text its first net writes after training. No torch.

`python -m models.service.record` writes the file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models.service.messages import config_from, unpacked
from models.service.wire import message_of
from models.spec import RunConfig
from models.trace import Frame

FILE = Path(__file__).with_name("recorded_text.json")


class TaskNet(NamedTuple):
    """The fields with which a net of the lab learns its task within a minute on one CPU core."""

    depth: int
    steps: int
    position: str = "sinusoidal"


NETS = {
    "book": TaskNet(depth=4, steps=600),
    "copy": TaskNet(depth=2, steps=600),
    "reverse": TaskNet(depth=2, steps=400),
    "sort": TaskNet(depth=2, steps=600),
    "recall": TaskNet(depth=2, steps=1500, position="rotary"),
}
SHARED_FIELDS: dict[str, object] = {
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
    fields = {"task": task, "depth": depth, "steps": steps, "position": NETS[task].position}
    return RunConfig.arranged(arrangement, **SHARED_FIELDS, **fields)


def first_config() -> RunConfig:
    """The net with which the lab opens."""
    net = NETS["book"]
    return configuration("book", "pre-norm", net.depth, net.steps)


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
