"""The trace: everything that a run has measured, as plain numpy. Free of torch, so that pages can import it.

Row k measures batch k in the net after k updates. `Run.close` adds row N to a finished run of N steps, for the net
after the last update. Frames hold the costlier measurements, taken at log-spaced steps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from models.spec.overrides import PARTS

SCALARS = ("loss", "lr", "grad_norm", "clip_factor")


def site_in_words(site: str) -> str:
    """A site in words: "the input" for x0, "block 7" for b07, "the attention of block 7" for b07.attn."""
    block, _, sublayer = site.partition(".")
    if site == "x0":
        return "the input"
    if not re.fullmatch(r"b\d+", block):
        return site
    number = f"block {int(block[1:])}"
    return f"the {PARTS[sublayer]} of {number}" if sublayer else number


@dataclass(frozen=True)
class Columns:
    """Layout of a row of numbers, for S sites, M branches and `depth` blocks."""

    sites: tuple[str, ...]
    branches: tuple[str, ...]
    depth: int

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Columns of each vector series; the scalars precede them, one column each."""
        sizes = {
            "act_rms": len(self.sites),
            "grad_rms": len(self.sites),
            "branch_rms": len(self.branches),
            "weight_grad_rms": self.depth,
        }
        slices, start = {}, len(SCALARS)
        for name, size in sizes.items():
            slices[name] = slice(start, start + size)
            start += size
        return slices

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.slices["weight_grad_rms"].stop


@dataclass(frozen=True)
class Divergence:
    """The first non-finite number of a run: its step, its quantity, and its place in the net."""

    step: int
    quantity: str
    site: str = ""
    block: int = 0

    def sentence(self) -> str:
        """Step, quantity and place of the divergence, in words."""
        place = f" of {site_in_words(self.site)}" if self.site and self.quantity != "loss" else ""
        return f"{self.brief()[:-1]}{place}."

    def brief(self) -> str:
        """The same without the place, in at most twelve words."""
        return f"Diverged at step {self.step}: the numbers overflow first in the {self.quantity}."


@dataclass(frozen=True, eq=False)  # hashed by identity
class Frame:
    """The costlier measurements of one step, on fixed data, before that step's update.

    sample_cosine (S,); update_to_weight (depth,). dead_units (depth,): share of a block's ReLU units that are 0 on all
    of a fixed subset; empty without ReLUs. head_input (3,): RMS of the head's input on that subset, RMS of its
    deviation from the mean over the subset, and participation ratio of that deviation. train_mode_loss: held-out loss
    with batch statistics, at the batch size of training, and with dropout's masks; NaN without either. picture: data of
    the task's picture.
    """

    step: int
    sample_cosine: np.ndarray
    update_to_weight: np.ndarray
    held_out_loss: float
    held_out_accuracy: float
    picture: dict[str, Any] = field(default_factory=dict)
    dead_units: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))
    head_input: np.ndarray = field(default_factory=lambda: np.full(3, np.nan, np.float32))
    train_mode_loss: float = np.nan


@dataclass(frozen=True)
class Trace:
    """All rows of a run so far, read-only, float32. Gradients are before clipping.

    step, loss, lr, grad_norm and clip_factor (T,); act_rms and grad_rms (T, S); branch_rms (T, M); weight_grad_rms
    (T, depth).
    """

    sites: tuple[str, ...]
    branches: tuple[str, ...]
    step: np.ndarray
    loss: np.ndarray
    lr: np.ndarray
    grad_norm: np.ndarray
    clip_factor: np.ndarray
    act_rms: np.ndarray
    grad_rms: np.ndarray
    branch_rms: np.ndarray
    weight_grad_rms: np.ndarray
    frames: tuple[Frame, ...] = ()
    divergence: Divergence | None = None

    def __len__(self) -> int:
        return len(self.step)

    def first(self, rows: int) -> "Trace":
        """The first `rows` rows, with all frames."""
        series: dict[str, Any] = {
            name: values[:rows] for name, values in vars(self).items() if isinstance(values, np.ndarray)
        }
        return replace(self, **series)

    def frame_at(self, step: int) -> Frame | None:
        """The last frame at or before a step."""
        earlier = [frame for frame in self.frames if frame.step <= step]
        return earlier[-1] if earlier else None


def trace_of(
    columns: Columns, rows: np.ndarray, frames: Sequence[Frame] = (), divergence: Divergence | None = None
) -> Trace:
    """Trace over a matrix of rows (T, columns.width), which becomes read-only and is not copied."""
    rows = rows.view()
    rows.flags.writeable = False
    scalars = {name: rows[:, column] for column, name in enumerate(SCALARS)}
    vectors = {name: rows[:, part] for name, part in columns.slices.items()}
    step = np.arange(len(rows))
    step.flags.writeable = False
    return Trace(
        columns.sites, columns.branches, step, **scalars, **vectors, frames=tuple(frames), divergence=divergence
    )


def frame_steps(steps: int) -> list[int]:
    """Steps at which a run of `steps` records a frame: 0, 1, 2, 4, 8, 12, 16, 24, ... and the end."""
    candidates = {0, steps}
    power = 1
    while power <= steps:
        candidates.add(power)
        if power >= 8:
            candidates.add(power * 3 // 2)
        power *= 2
    return sorted(step for step in candidates if step <= steps)
