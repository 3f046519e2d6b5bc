"""The training loop, which one run and several batched runs share."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.nets import Net, count_parameters
from models.nets.sublayer import Dropout
from models.spec import RunConfig
from models.trace import Columns, Divergence, Frame, Trace, trace_of
from models.training.device import resolve_device
from models.training.divergence import first_divergence
from models.training.frames import FrameTaker
from models.training.modes import dropout_modules, preserve_buffers
from models.training.optimizers import Rates
from models.training.rows import RowWriter

CHECK_EVERY = 16  # steps between checks for non-finite numbers: each check waits for the device


class Loop(ABC):
    """Trains one or several runs by any number of steps, in any slices, with the same rows.

    Row k and the frame of step k are measured before update k. `step` counts the updates so far; `divergences` has one
    entry per run, `frames_by_run` its frames so far. Raises ValueError for a device that this machine lacks.
    """

    model: Net
    _writer: RowWriter
    _taker: FrameTaker
    _rates: Rates

    def __init__(self, cfg: RunConfig, runs: int) -> None:
        self.cfg = cfg
        self.step = 0
        self.divergences: list[Divergence | None] = [None] * runs
        self._device = resolve_device(cfg.device)
        self.frames_by_run: list[list[Frame]] = [[] for _ in range(runs)]
        self._checked, self._closed = 0, False

    @abstractmethod
    def _measure(self, k: int) -> None:
        """Writes row k: forward and backward on batch k, then clipping."""

    @property
    def done(self) -> bool:
        """Whether no further step will ever be taken."""
        return self.step >= self.cfg.steps or all(self.divergences)

    @property
    def length(self) -> int:
        """Rows measured: one per step, and the closing row."""
        return self.step + self._closed

    @property
    def device(self) -> str:
        """Where it runs: cpu, cuda or mps."""
        return self._device.type

    @property
    def parameters(self) -> int:
        """How many numbers training changes, in all runs together."""
        return count_parameters(self.model)

    @property
    def columns(self) -> Columns:
        """The layout of one run's row."""
        return self._writer.columns

    @cached_property
    def _dropouts(self) -> dict[str, Dropout]:
        return dropout_modules(self.model)

    def advance(self, n: int, seconds: float | None = None) -> int:
        """Trains up to n steps, or for `seconds` (at least one step); returns how many rows were added."""
        start, goal = self.step, min(self.step + n, self.cfg.steps)
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.step < goal and not self.done:
            self._advance_one()
            late = deadline is not None and time.monotonic() >= deadline
            if late or self.step == goal or self.step % CHECK_EVERY == 0:
                self._check()
            if late:
                break
        return self.step - start

    def close(self) -> None:
        """Measures the closing row N of a finished run of N steps: batch N, in the net after the last update.

        Trains nothing. A row that is not finite is a divergence at step N. Does nothing if the run is not finished,
        has diverged, or is closed already.
        """
        if self._closed or self.step < self.cfg.steps or all(self.divergences):
            return
        with preserve_buffers(self.model):
            self._measure(self.step)
        self._closed = True
        self._check()

    def rows(self, since: int = 0) -> np.ndarray:
        """Rows `since` ... length as (k, runs * columns.width) float32, the runs side by side."""
        return self._writer.rows[since : self.length].flatten(1).cpu().numpy().copy()

    def traces(self) -> list[Trace]:
        """Everything measured so far, one trace per run."""
        rows = self._by_run(0).cpu().numpy()
        ends = [self.length if outcome is None else outcome.step + 1 for outcome in self.divergences]
        return [
            trace_of(self.columns, rows[:end, at].copy(), self.frames_by_run[at], self.divergences[at])
            for at, end in enumerate(ends)
        ]

    def _advance_one(self) -> None:
        k = self.step
        frames = self._taker.before_update(k)
        self._measure(k)
        self._rates.step(k)
        if frames:
            self._keep(self._taker.after_update(frames))
        self.step += 1
        if self.step == self.cfg.steps:
            self._keep(self._taker.at_end(self.step))

    def _clip(self, grad_norm: Tensor) -> Tensor:
        """Shortens each run's gradient to `clip` where it is longer; returns the factors, shaped as the norms."""
        if not self.cfg.clip:
            return torch.ones_like(grad_norm)
        factor = (self.cfg.clip / (grad_norm + 1e-6)).clamp(max=1.0)
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        by_run = [factor.to(grad.dtype).view(-1, *[1] * (grad.ndim - 1)) for grad in grads]
        torch._foreach_mul_(grads, by_run if factor.ndim else factor.to(grads[0].dtype))
        return factor

    def _keep(self, frames: Sequence[Frame]) -> None:
        for at, frame in enumerate(frames):
            if self.divergences[at] is None:
                self.frames_by_run[at].append(frame)

    def _by_run(self, since: int) -> Tensor:
        """Rows `since` ... length as (k, runs, columns.width), on the device."""
        return self._writer.rows[since : self.length].view(-1, len(self.divergences), self.columns.width)

    def _check(self) -> None:
        """Ends each run at its first row that is not finite, and drops what was computed after it."""
        rows = self._by_run(self._checked)
        bad = (~torch.isfinite(rows)).any(dim=2).cpu().numpy()
        for at in np.flatnonzero(bad.any(axis=0)):
            if self.divergences[at] is None:
                row = int(bad[:, at].argmax())
                k = self._checked + row
                self.divergences[at] = first_divergence(k, rows[row, at].cpu().numpy(), self.columns)
                self.frames_by_run[at] = [frame for frame in self.frames_by_run[at] if frame.step <= k]
        self._checked = self.length
        ends = [outcome.step + 1 for outcome in self.divergences if outcome]
        if len(ends) == len(self.divergences):
            self.step = min(max(ends), self.cfg.steps)  # the closing row is no step
