"""The nets that instruments are tried on, and an instrument on a page."""

from typing import Any

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
DIVERGES = {"lr": 10.0, "placement": "none", "init_gain": 10.0, "depth": 8, "steps": 40}


def still_at(cfg: RunConfig, step: int = 0) -> Snapshot:
    """The net of a run at a step."""
    return result_of(Replays().snapshot(cfg, step))


def opened(instrument: str, **query: str) -> AppTest:
    """The playground with an instrument open."""
    page = playground(**SMALL | query)
    page.session_state["instrument"] = instrument
    return sound(page.run())
