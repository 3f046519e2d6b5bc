"""The profiles of a row over depth, stored for comparison."""

from dataclasses import dataclass

import numpy as np

from components.player.view import View
from components.shell.naming import name_of
from models.spec import RunConfig


@dataclass(frozen=True)
class RowProfile:
    """The profiles over depth of one row of a run, for S sites and `depth` blocks."""

    cfg: RunConfig
    label: str
    act_rms: np.ndarray  # (S,)
    grad_rms: np.ndarray  # (S,)
    weight_grad_rms: np.ndarray  # (depth,)
    sample_cosine: np.ndarray  # (S,)

    def is_comparable(self, cfg: RunConfig) -> bool:
        """Whether a configuration has the same net and task, so that the profiles have the same meaning."""
        return (self.cfg.net, self.cfg.task) == (cfg.net, cfg.task)


def row_profile(view: View) -> RowProfile:
    """The profiles of the row shown."""
    trace, row, frame = view.trace, view.row, view.frame
    cosine = frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
    label = f"{name_of(view.cfg)}, step {row}".removeprefix(", ")
    return RowProfile(view.cfg, label, trace.act_rms[row], trace.grad_rms[row], trace.weight_grad_rms[row], cosine)
