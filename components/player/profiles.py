"""The profiles of a row, kept for comparison."""

from dataclasses import dataclass

import numpy as np

from components.player.view import View
from components.shell.naming import name_of
from models.spec import RunConfig


@dataclass(frozen=True)
class RowProfile:
    """The profiles over depth of a row of a configuration: (S,), (S,), (depth,), (S,)."""

    cfg: RunConfig
    label: str
    act_rms: np.ndarray
    grad_rms: np.ndarray
    weight_grad_rms: np.ndarray
    sample_cosine: np.ndarray

    def beside(self, cfg: RunConfig) -> bool:
        """Whether it can be compared with a configuration: only if net and task are the same."""
        return (self.cfg.net, self.cfg.task) == (cfg.net, cfg.task)


def profile_of(view: View) -> RowProfile:
    """The profiles of the row shown."""
    trace, row, frame = view.trace, view.row, view.frame
    cosine = frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
    label = f"{name_of(view.cfg)}, step {row}".removeprefix(", ")
    return RowProfile(view.cfg, label, trace.act_rms[row], trace.grad_rms[row], trace.weight_grad_rms[row], cosine)
