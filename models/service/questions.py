"""What a page may ask about a configuration besides its tape and instruments: each a function and a line in QUESTIONS."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from models.answers import Profiles
from models.instruments.facts import fact
from models.spec import RunConfig
from models.trace import Trace
from models.training import SeedRuns, profile_at_init


def profile(cfg: RunConfig, _args: dict[str, Any]) -> Trace:
    """Row 0 and frame 0 of the tape, before any training: a trace of one row."""
    return profile_at_init(cfg)


def profiles(cfg: RunConfig, args: dict[str, Any]) -> Profiles:
    """Row 0 of the tapes of `seeds` seeds from the configuration's own upwards, computed together."""
    run = SeedRuns(cfg, range(cfg.seed, cfg.seed + int(args["seeds"])), frames=False)
    run.advance(1)
    return Profiles(tuple(run.traces()))


def layer_norm(_cfg: RunConfig, args: dict[str, Any]) -> dict[str, Any]:
    """torch's own layer norm of one `row` of numbers, in float64: {"row": (D,)}. ValueError beyond 400 numbers."""
    row = torch.tensor(args["row"], dtype=torch.float64)
    if row.ndim != 1 or not 1 < len(row) <= 400:
        raise ValueError(f"a row has 2 to 400 numbers, not the shape {tuple(row.shape)}")
    return {"row": F.layer_norm(row, row.shape, eps=float(args["eps"])).numpy()}


def fact_of_torch(_cfg: RunConfig, args: dict[str, Any]) -> dict[str, Any]:
    """What torch's own layers do: the numbers of one of `models.instruments.facts.FACTS`, by its `name`."""
    return fact(str(args["name"]))


# Each takes the configuration and the caller's arguments, and returns the class that `models.answers` says.
QUESTIONS: dict[str, Callable[[RunConfig, dict[str, Any]], Any]] = {
    "profile": profile,
    "profiles": profiles,
    "layer_norm": layer_norm,
    "fact": fact_of_torch,
}
WITHOUT_NET = {"layer_norm", "fact"}  # these build none, so the configuration's cost is not theirs
