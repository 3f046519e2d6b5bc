"""Prepared maps: their specifications, and the runs that `python -m models.maps.record` recorded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from addnorm.coordinate_check import Coordinates
from models.content import Texts
from models.maps.cells import Outcome
from models.maps.coordinates import MAX_SEEDS, CoordinateCheck, coordinates_of
from models.maps.spec import Axis, MapSpec
from models.spec import PARAMETRIZATIONS, RunConfig

TEXTS = Texts("maps")  # has the question of each map under its key
FOLDER = Path(__file__).with_name("recorded")
COMMAND = "python -m models.maps.record"


@dataclass(frozen=True)
class Prepared:
    """A map with its title."""

    title: str
    spec: MapSpec


@dataclass(frozen=True)
class RecordedMap:
    """Recorded runs of a prepared map, with versions and date of the recording."""

    outcomes: Sequence[Outcome]
    torch: str
    python: str
    day: str


@dataclass(frozen=True)
class RecordedCheck:
    """Recorded sizes of a coordinate check, with versions and date of the recording."""

    coordinates: Coordinates
    torch: str
    python: str
    day: str


_DIGITS = (("batch", 32), ("steps", 120), ("width", 32))


def _over_width(parametrization: str) -> MapSpec:
    return MapSpec(
        Axis("lr", (0.000125, 0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)),
        Axis("width", (32, 64, 128, 256, 512)),
        ("pre-norm",),
        (("batch", 32), ("depth", 4), ("optimizer", "adam"), ("parametrization", parametrization), ("steps", 60)),
        seeds=3,
    )


PREPARED: dict[str, Prepared] = {
    "residual x norm": Prepared(
        "Residual x norm over depth",
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
        MapSpec(
            Axis("lr", (0.001, 0.003, 0.01)),
            Axis("warmup", (0, 40, 120)),
            ("post-norm", "pre-norm", "DeepNorm"),
            (("batch", 16), ("depth", 6), ("net", "transformer"), ("steps", 800), ("task", "copy"), ("width", 32)),
            seeds=2,
            target=1.0,
        ),
    ),
    "rate over width": Prepared(
        "The best learning rate over width",
        _over_width("standard"),
    ),
    "rate over width under muP": Prepared(
        "The best learning rate over width, under muP",
        _over_width("muP"),
    ),
}
CHECKS = {
    (check.field, check.cfg.parametrization): check
    for name in PARAMETRIZATIONS
    for check in (
        CoordinateCheck(
            RunConfig(depth=4, optimizer="adam", lr=0.01, batch=32, parametrization=name, seed=100),
            "width",
            (16, 32, 64, 128, 256, 512),
            seeds=MAX_SEEDS,
        ),
        CoordinateCheck(
            RunConfig(optimizer="adam", lr=0.003, batch=32, parametrization=name, seed=100),
            "depth",
            (8, 16, 32, 64, 128),
            seeds=MAX_SEEDS,
        ),
    )
}
CHECKS_KEY = "coordinates"  # key of the file with all recorded checks


def question(key: str) -> str:
    return TEXTS(key)


@cache
def recording(key: str) -> RecordedMap | None:
    """Recording of a prepared map; None if its file is missing or belongs to another specification."""
    try:
        stored = json.loads(file_of(key).read_text(encoding="utf-8"))
        if stored["digest"] != PREPARED[key].spec.digest:
            return None
        runs = tuple(Outcome.from_dict(run) for run in stored["runs"])
        return RecordedMap(runs, str(stored["torch"]), str(stored["python"]), str(stored["day"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@cache
def recorded_check(check: CoordinateCheck) -> RecordedCheck | None:
    """Recording of a prepared check; None if the file is missing or lacks it."""
    try:
        stored = json.loads(file_of(CHECKS_KEY).read_text(encoding="utf-8"))
        check_sizes = coordinates_of(check, stored["checks"][check.to_json()])
        return RecordedCheck(check_sizes, str(stored["torch"]), str(stored["python"]), str(stored["day"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_of(key: str) -> Path:
    return FOLDER / f"{key.replace(' ', '_')}.json"
