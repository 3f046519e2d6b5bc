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
    sample_cosine: np.ndarray  # (S,); NaN if no frame has been recorded


def is_comparable(cfg: RunConfig, reference: RunConfig) -> bool:
    """Whether both have the same net and task, so that their profiles have the same meaning."""
    return (cfg.net, cfg.task) == (reference.net, reference.task)


def row_profile(view: View) -> RowProfile:
    """The profiles of the row shown."""
    trace, row, frame = view.trace, view.row, view.frame
    return RowProfile(
        cfg=view.cfg,
        label=f"{name_of(view.cfg)}, step {row}".removeprefix(", "),  # the name is empty if a link hides its fields
        act_rms=trace.act_rms[row],
        grad_rms=trace.grad_rms[row],
        weight_grad_rms=trace.weight_grad_rms[row],
        sample_cosine=frame.sample_cosine if frame else np.full(len(trace.sites), np.nan),
    )
