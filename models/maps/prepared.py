"""Prepared maps: their questions, their specifications, and the runs that `python -m models.maps.record` recorded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from models.maps.cells import Outcome
from models.maps.spec import Axis, MapSpec

FOLDER = Path(__file__).with_name("recorded")
COMMAND = "python -m models.maps.record"


@dataclass(frozen=True)
class Prepared:
    """A map with the question that it answers."""

    title: str
    question: str
    spec: MapSpec


@dataclass(frozen=True)
class RecordedMap:
    """The recorded runs of a prepared map, with the versions and the day of the recording."""

    outcomes: Sequence[Outcome]
    torch: str
    python: str
    day: str


_DIGITS = (("batch", 32), ("steps", 120), ("width", 32))
PREPARED: dict[str, Prepared] = {
    "residual x norm": Prepared(
        "Residual x norm over depth",
        "How deep can a net be with a residual, with a norm, with both, with neither, and how far off can its "
        "initialisation be?",
        MapSpec(
            Axis("depth", (2, 4, 8, 16, 32, 64)),
            Axis("init_gain", (0.5, 0.7, 1.0, 1.4, 2.0)),
            ("plain", "plain + norm", "residual only", "pre-norm"),
            _DIGITS,
            seeds=2,
        ),
    ),
    "arrangements": Prepared(
        "Six arrangements over depth and learning rate",
        "Which arrangement trains at which depth, and how wide is the range of learning rates in which it does?",
        MapSpec(
            Axis("lr", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)),
            Axis("depth", (4, 8, 16, 32, 64)),
            ("plain", "residual only", "post-norm", "pre-norm", "sandwich", "DeepNorm"),
            _DIGITS,
            seeds=2,
        ),
    ),
    "warm-up": Prepared(
        "Warm-up and the learning rate in a transformer",
        "Post-norm is said to need a warm-up and pre-norm not (Xiong 2020, 2002.04745). Does it show when six blocks "
        "learn to copy sixteen symbols?",
        MapSpec(
            Axis("lr", (0.001, 0.003, 0.01)),
            Axis("warmup", (0, 40, 120)),
            ("post-norm", "pre-norm", "DeepNorm"),
            (("batch", 16), ("depth", 6), ("net", "transformer"), ("steps", 800), ("task", "copy"), ("width", 32)),
            seeds=2,
            target=1.0,
        ),
    ),
}


@cache
def recording(key: str) -> RecordedMap | None:
    """The recording of a prepared map; None if the file is missing or belongs to another specification."""
    try:
        stored = json.loads(file_of(key).read_text(encoding="utf-8"))
        if stored["digest"] != PREPARED[key].spec.digest:
            return None
        runs = tuple(Outcome.unpacked(run) for run in stored["runs"])
        return RecordedMap(runs, str(stored["torch"]), str(stored["python"]), str(stored["day"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_of(key: str) -> Path:
    """The file of a prepared map's recording."""
    return FOLDER / f"{key.replace(' ', '_')}.json"
