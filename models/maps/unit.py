"""Units of work of maps and coordinate checks, as a worker process computes them, here or on a cluster."""

import time
from typing import Any

from models.maps.cells import outcome, units
from models.maps.spec import MapSpec


def run_unit(specification: str, index: int) -> dict[str, Any]:
    """Result of a unit of a specification (JSON): {"unit", "seconds", "runs": outcomes as dicts}."""
    import torch

    from models.training.batched import Batched

    torch.set_num_threads(1)
    began = time.perf_counter()
    spec = MapSpec.from_json(specification)
    unit = units(spec)[index]
    configs = unit.configs(spec)
    runs = Batched(configs, frames=(unit.steps,))
    runs.advance(unit.steps)
    finished = zip(unit.runs, configs, runs.traces(), strict=True)
    outcomes = [outcome(cell, cfg, trace, spec.target) for (cell, _), cfg, trace in finished]
    return {"unit": index, "seconds": time.perf_counter() - began, "runs": [run.to_dict() for run in outcomes]}


def run_check_value(specification: str, index: int) -> dict[str, Any]:
    """Result at one value of a check (JSON): {"unit", "seconds", "size": by seed, step and site}."""
    import torch

    from models.maps.coordinates import STEPS, CoordinateCheck
    from models.training.coordinates import site_rms

    torch.set_num_threads(1)
    began = time.perf_counter()
    check = CoordinateCheck.from_json(specification)
    size = [site_rms(check.config(check.values[index], seed), STEPS) for seed in range(check.seeds)]
    if check.field == "depth":
        size = [[_shared_sites(row) for row in rows] for rows in size]
    return {"unit": index, "seconds": time.perf_counter() - began, "size": size}


def _shared_sites(row: list[float]) -> list[float]:
    """Sizes at the sites that nets of all depths share: start, middle and end of the stream, and the logits."""
    *stream, logits = row
    return [stream[0], stream[(len(stream) - 1) // 2], stream[-1], logits]
