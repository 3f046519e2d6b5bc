"""Coordinate checks: sizes over width or depth after the first updates, computed by joblib or a Dask cluster."""

import argparse
import csv as csv_files
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from addnorm.coordinate_check import Coordinates
from models.maps.unit import run_check_value
from models.maps.work import SCHEDULER, compute_units
from models.spec import RunConfig, knobs, plan
from models.spec.budget import budget_refusal

STEPS = 4  # updates before the last measurement
FIELDS = ("width", "depth")
MAX_VALUES = 24
MAX_SEEDS = 8
STREAM = ("x0", "middle", "end")  # the sites that nets of all depths share


@dataclass(frozen=True)
class CoordinateCheck:
    """A configuration, the field that varies and its values; `seeds` runs of each, from the configuration's seed on.

    ValueError with a sentence for anything out of range, or a value that makes the configuration illegal.
    """

    cfg: RunConfig
    field: str
    values: tuple[int, ...]
    seeds: int = 3

    def __post_init__(self) -> None:
        if self.field not in FIELDS:
            raise ValueError(f"field is {self.field!r}; legal is one of {', '.join(FIELDS)}")
        has_repeats = len(set(self.values)) < len(self.values)
        if has_repeats or not 2 <= len(self.values) <= MAX_VALUES:
            raise ValueError(
                f"{self.field} has {len(self.values)} values; legal are 2 to {MAX_VALUES} different values"
            )
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise ValueError(f"seeds is {self.seeds}; legal is 1 to {MAX_SEEDS}")
        for value in self.values:
            self.config(value, 0)

    def config(self, value: int, seed: int) -> RunConfig:
        """Configuration of one run."""
        changed: dict[str, Any] = {self.field: value, "seed": self.cfg.seed + seed}
        return replace(self.cfg, **changed, steps=max(STEPS, self.cfg.steps))

    @property
    def sites(self) -> tuple[str, ...]:
        """Measured sites: all of the stream if the depth is fixed, else start, middle and end; and the logits."""
        return (*(plan(self.cfg).sites if self.field == "width" else STREAM), "logits")

    @property
    def refusal_reason(self) -> str:
        """Why the largest net is over budget, in a sentence; empty if it is not."""
        return budget_refusal(self.config(max(self.values), 0)) or ""

    def to_json(self) -> str:
        return json.dumps({"query": self.cfg.to_query(), **self._settings()})

    def _settings(self) -> dict[str, Any]:
        return {"field": self.field, "values": self.values, "seeds": self.seeds}

    @staticmethod
    def from_json(text: str) -> "CoordinateCheck":
        """The inverse of `to_json`."""
        content = json.loads(text)
        cfg, _ = RunConfig.from_query(content["query"])
        return CoordinateCheck(cfg, content["field"], tuple(content["values"]), content["seeds"])


def measure(check: CoordinateCheck, *, scheduler: str | None = None, jobs: int = 0) -> Coordinates:
    """Computes a check on a Dask scheduler (by default $MAPS_SCHEDULER) or, without one, on this machine."""
    if scheduler is None:
        scheduler = os.environ.get(SCHEDULER, "")
    units = compute_units(check.to_json(), range(len(check.values)), run_check_value, scheduler=scheduler, jobs=jobs)
    size = {unit["unit"]: unit["size"] for unit in units}
    return coordinates_of(check, [size[index] for index in range(len(check.values))])


def coordinates_of(check: CoordinateCheck, size: Sequence[Any]) -> Coordinates:
    """Coordinates of a check from its sizes, [value][seed][step][site]."""
    return Coordinates(check.values, check.sites, tuple(size), check.field)


def csv(checks: Sequence[Coordinates]) -> str:
    """CSV of the sizes, one row per field, value, seed, step and site."""
    out = io.StringIO()
    rows = csv_files.writer(out, lineterminator="\n")
    rows.writerow(("over", "value", "seed", "step", "site", "rms"))
    rows.writerows((check.over, *row) for check in checks for row in check.rows())
    return out.getvalue()


# --- the command line ---


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for field in FIELDS:
        parser.add_argument(f"--{field}", metavar="A..B", help=f"{field}s, doubled from A to B, or several with commas")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each (default 3)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: cores less one)")
    parser.add_argument("--csv", metavar="PATH", help="write one row per value, seed, step and site")


def checks_from_arguments(args: argparse.Namespace, cfg: RunConfig) -> list[CoordinateCheck]:
    """The checks that the command line requests. ValueError with a sentence."""
    if not 0 <= args.jobs <= 256:
        raise ValueError(f"--jobs is {args.jobs}; legal is 1 to 256")
    texts = {field: getattr(args, field) for field in FIELDS if getattr(args, field) is not None}
    if not texts:
        raise ValueError("a coordinate check needs --width 16..512 or --depth 2..128")
    checks = [CoordinateCheck(cfg, field, tuple(_values(field, text)), args.seeds) for field, text in texts.items()]
    for check in checks:
        if not args.force and check.refusal_reason:
            raise ValueError(f"{check.refusal_reason} --force runs it anyway.")
    return checks


def _values(field: str, text: str) -> Iterator[int]:
    """Values of "16..512", doubling, or of "16,24,40"."""
    knob = knobs()[field][1]
    if not re.fullmatch(r"\d{1,4}(\.\.\d{1,4}|(,\d{1,4})+)", text):
        raise ValueError(f"--{field} is {text[:40]}; legal is as 16..512, which doubles, or as 16,24,40")
    if ".." not in text:
        yield from map(int, text.split(","))
        return
    value, last = map(int, text.split(".."))
    if not knob.low <= value < last <= knob.high:
        raise ValueError(f"--{field} is {text}; legal is a range within {knob.low:g} to {knob.high:g}")
    while value <= last:
        yield value
        value *= 2
