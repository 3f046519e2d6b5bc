"""One unit of a map's work: its runs trained as one computation. What a worker process runs, here or on a cluster."""

import time
from typing import Any

from models.maps.cells import outcome, units
from models.maps.spec import MapSpec


def run_unit(specification: str, at: int) -> dict[str, Any]:
    """Trains unit `at` of a specification (its JSON): {"unit", "seconds", "runs": packed outcomes}."""
    import torch

    from models.training.seeds import Batched

    torch.set_num_threads(1)
    began = time.perf_counter()
    spec = MapSpec.from_json(specification)
    unit = units(spec)[at]
    runs = Batched([cfg for _, cfg in unit], frames=(unit[0][1].steps,))
    runs.advance(unit[0][1].steps)
    found = [outcome(cell, cfg, trace, spec.target) for (cell, cfg), trace in zip(unit, runs.traces(), strict=True)]
    return {"unit": at, "seconds": time.perf_counter() - began, "runs": [one.packed() for one in found]}
