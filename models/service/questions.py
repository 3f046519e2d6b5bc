"""Questions that neither logs nor instruments answer: each is a function and a line in QUESTIONS."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from models.answers import TorchNormed
from models.instruments.facts import FACTS, measure_fact
from models.spec import RunConfig


def layer_norm(_cfg: RunConfig, args: dict[str, Any]) -> TorchNormed:
    """torch's layer norm of one `row` in float64, with every weight set to `gain` and every bias to `bias`.

    ValueError unless the row has 2 to 400 numbers.
    """
    row = torch.tensor(args["row"], dtype=torch.float64)
    if row.ndim != 1 or not 1 < len(row) <= 400:
        raise ValueError(f"a row has 2 to 400 numbers, not the shape {tuple(row.shape)}")
    weight = torch.full_like(row, float(args.get("gain", 1)))
    bias = torch.full_like(row, float(args.get("bias", 0)))
    return TorchNormed(F.layer_norm(row, row.shape, weight, bias, eps=float(args["eps"])).numpy())


def _fact(name: str, _cfg: RunConfig, _args: dict[str, Any]) -> Any:
    return measure_fact(name)


# Each takes the configuration and the caller's arguments, and returns the class that its question names.
QUESTIONS: dict[str, Callable[[RunConfig, dict[str, Any]], Any]] = {
    "layer norm": layer_norm,
    **{name: partial(_fact, name) for name in FACTS},
}
