"""The nets that instruments are tried on, and an instrument on a page."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy import special
from streamlit.testing.v1 import AppTest

from models.nets import build_model
from models.spec import TASKS, RunConfig
from models.tasks import open_task
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


def scored(model, cfg):
    """Held-out loss and accuracy of a net by numpy, in eval mode."""
    x, y = (part for part in open_task(cfg, "cpu").held_out)
    model.eval()
    logits, y = model(x).detach().double().numpy().reshape(-1, TASKS[cfg.task].classes), y.flatten().numpy()
    logits, y = logits[y >= 0], y[y >= 0]
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -log_p[np.arange(len(y)), y].mean(), (logits.argmax(-1) == y).mean()


def built_without(cfg, blocks, trained, what=True):
    """The net that is built with a part of some blocks taken
    out, with the weights of the trained one in all other places.
    """
    model = build_model(replace(cfg, overrides=(*cfg.overrides, *((block, "identity", what) for block in blocks))))
    own = model.state_dict()
    model.load_state_dict({name: value for name, value in trained.state_dict().items() if name in own})
    return model
