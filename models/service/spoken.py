"""The nets of the autoregression lab, and what the one that it opens with says once it is trained: recorded. No torch.

`python -m models.service.record` writes the file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from models.answers import Continuation
from models.service.messages import config_from, unpacked
from models.service.wire import receive
from models.spec import RunConfig

FILE = Path(__file__).with_name("spoken.bin")
# Trained so, each task is learned in less than a minute of one processor core: depth, steps, how places are told apart.
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
PROMPT = "Call me Ish"
SETTINGS: dict[str, Any] = {"count": 20, "temperature": 0.0, "seed": 0}


def configuration(task: str, arrangement: str, depth: int, steps: int) -> RunConfig:
    """A net of the lab; all of them are as wide and learn with the same optimiser."""
    return RunConfig.arranged(
        arrangement, **SIZE | {"task": task, "depth": depth, "steps": steps, "position": NETS[task][2]}
    )


def opening() -> RunConfig:
    """The net that the lab opens with."""
    return configuration("book", "pre-norm", *NETS["book"][:2])


@dataclass(frozen=True)
class Spoken:
    """What a net said after PROMPT under SETTINGS: the answer to "continuation" at its last step; its losses, (T,)."""

    cfg: RunConfig
    value: Continuation
    loss: np.ndarray


@cache
def spoken() -> Spoken | None:
    """The recording; None where the file is missing or of another format."""
    try:
        with FILE.open("rb") as stream:
            message = receive(stream) or {}
        return Spoken(config_from(message["query"]), unpacked(Continuation, message["value"]), message["loss"])
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None
