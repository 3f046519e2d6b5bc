"""The nets that instruments are tried on, and an instrument on a page."""

from itertools import product
from typing import Any

import numpy as np
from scipy import special
from streamlit.testing.v1 import AppTest

from models.spec import RunConfig
from models.training import Replays, Snapshot, result_of
from tests.app_page import SMALL, playground, sound

NETS: dict[str, dict[str, Any]] = {
    "mlp": {"net": "mlp"},
    "transformer": {"net": "transformer", "task": "digits", "heads": 2},
}
PARTS: list[dict[str, Any]] = [  # of which arrangements have none
    {"norm": "batch norm"},
    {"norm": "dynamic tanh"},
    {"norm": "none"},
    {"residual": False},
    {"overrides": ((1, "identity", True),)},
]
TINY: dict[str, Any] = {
    "net": "transformer",
    "task": "book",
    "depth": 2,
    "width": 8,
    "heads": 2,
    "batch": 4,
    "steps": 10,
    "device": "cpu",
}
DIVERGES = {"lr": 10.0, "placement": "none", "init_gain": 10.0, "depth": 8, "steps": 40}


def still_at(cfg: RunConfig, step: int = 0) -> Snapshot:
    """The net of a run at a step."""
    return result_of(Replays().snapshot(cfg, step))


def opened(instrument: str, **query: str) -> AppTest:
    """The playground with an instrument open."""
    page = playground(**SMALL | query)
    page.session_state["instrument"] = instrument
    return sound(page.run())


def looked(x, attention):
    """Rows of attention, head by head and row by row in numpy, (H, T, T)."""
    x = x[0].detach().numpy()
    q, k = (x @ w.weight.detach().numpy().T + w.bias.detach().numpy() for w in (attention.w_q, attention.w_k))
    found = np.zeros((2, len(x), len(x)))
    for head, row in product(range(2), range(len(x))):
        own = slice(4 * head, 4 * head + 4)
        found[head, row, : row + 1] = special.softmax([q[row, own] @ k[at, own] / 2 for at in range(row + 1)])
    return found
