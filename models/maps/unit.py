"""One unit of a map's work, trained as one computation by a worker process, here or on a cluster."""

import hashlib
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from models.maps.cells import outcome, units
from models.maps.spec import MapSpec


def run_unit(specification: str, at: int) -> dict[str, Any]:
    """The result of unit `at` of a specification (its JSON): {"unit", "seconds", "runs": packed outcomes}."""
    import torch

    from models.training.batched import Batched

    torch.set_num_threads(1)
    began = time.perf_counter()
    spec = MapSpec.from_json(specification)
    unit = units(spec)[at]
    configs = unit.configs(spec)
    runs = Batched(configs, frames=(unit.steps,))
    runs.advance(unit.steps)
    each = zip(unit.runs, configs, runs.traces(), strict=True)
    outcomes = [outcome(cell, cfg, trace, spec.target) for (cell, _), cfg, trace in each]
    return {"unit": at, "seconds": time.perf_counter() - began, "runs": [run.packed() for run in outcomes]}


def fingerprint() -> dict[str, str]:
    """What decides a unit's numbers: the version of torch (without its build) and a digest of this package."""
    package = Path(__file__).parents[1]
    code = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return {"torch": version("torch").partition("+")[0], "project": code.hexdigest()[:8]}
