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
from models.training.update import adjust_gradients

CHECK_EVERY = 16  # steps between checks for non-finite numbers: each check waits for the device


class Loop(ABC):
    """Trains one or several runs step by step; rows do not depend on how the steps are sliced.

    Row k and the frame of step k are measured before update k. `step` is the number of updates so far. `divergences`
    and `frames_by_run` have one entry per run. Raises ValueError for a device that this machine lacks.
    """

    model: Net
    _writer: RowWriter
    _taker: FrameTaker
    _rates: Rates

    def __init__(self, cfg: RunConfig, runs: int) -> None:
        self.cfg = cfg
        self.step = 0
        self.divergences: list[Divergence | None] = [None] * runs
        self.frames_by_run: list[list[Frame]] = [[] for _ in range(runs)]
        self._device = resolve_device(cfg.device)
        self._checked_rows = 0  # rows that were checked for non-finite numbers
        self._closed = False

    @abstractmethod
    def _measure(self, k: int) -> None:
        """Computes loss and gradients on batch k, clips them, and writes row k."""

    @property
    def done(self) -> bool:
        return self.step >= self.cfg.steps or all(self.divergences)

    @property
    def length(self) -> int:
        """Number of rows: one per step, plus the closing row."""
        return self.step + 1 if self._closed else self.step

    @property
    def device(self) -> str:
        return self._device.type

    @property
    def parameters(self) -> int:
        """Number of trainable parameters of all runs together."""
        return count_parameters(self.model)

    @property
    def columns(self) -> Columns:
        return self._writer.columns

    @cached_property
    def _dropouts(self) -> dict[str, Dropout]:
        return dropout_modules(self.model)

    def advance(self, n: int, seconds: float | None = None) -> int:
        """Trains up to n steps, or for `seconds` and at least one step. Returns the number of rows added."""
        start = self.step
        end = min(start + n, self.cfg.steps)
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.step < end and not self.done:
            self._train_step()
            is_late = deadline is not None and time.monotonic() >= deadline
            if is_late or self.step == end or self.step % CHECK_EVERY == 0:
                self._end_diverged_runs()
            if is_late:
                break
        return self.step - start

    def close(self) -> None:
        """Measures the closing row N of a finished run of N steps: batch N in the net after the last update.

        Changes no weight. A non-finite row is a divergence at step N. Does nothing for a run that is unfinished, has
        diverged, or is closed already.
        """
        if self._closed or self.step < self.cfg.steps or all(self.divergences):
            return
        with preserve_buffers(self.model):
            self._measure(self.step)
        self._closed = True
        self._end_diverged_runs()

    def rows(self, since: int = 0) -> np.ndarray:
        """Rows from `since` on, (rows, runs * columns.width) float32, the runs side by side."""
        return self._writer.rows[since : self.length].flatten(1).cpu().numpy().copy()

    def first_trace(self) -> Trace:
        """The first run's trace, over the rows themselves where they are in the processor's memory."""
        divergence = self.divergences[0]
        end = self.length if divergence is None else divergence.step + 1
        rows = self._rows_by_run(0)[:end, 0].cpu().numpy()
        return trace_of(self.columns, rows, self.frames_by_run[0], divergence)

    def traces(self) -> list[Trace]:
        """Everything measured so far, one trace per run."""
        rows = self._rows_by_run(0).cpu().numpy()
        ends = [self.length if divergence is None else divergence.step + 1 for divergence in self.divergences]
        return [
            trace_of(self.columns, rows[:end, run].copy(), self.frames_by_run[run], self.divergences[run])
            for run, end in enumerate(ends)
        ]

    def _train_step(self) -> None:
        k = self.step
        frames = self._taker.before_update(k)
        self._measure(k)
        self._rates.step(k)
        if frames:
            self._store_frames(self._taker.after_update(frames))
        self.step += 1
        if self.step == self.cfg.steps:
            self._store_frames(self._taker.at_end(self.step))

    def _adjust_gradients(self, grad_norm: Tensor) -> Tensor:
        """All that is done to the gradients before the optimiser's step; returns the clip factors."""
        grads = (p.grad for p in self.model.parameters() if p.grad is not None)  # read only where it clips
        return adjust_gradients(grads, grad_norm, self.cfg.clip)

    def _store_frames(self, frames: Sequence[Frame]) -> None:
        for run, frame in enumerate(frames):
            if self.divergences[run] is None:
                self.frames_by_run[run].append(frame)

    def _rows_by_run(self, since: int) -> Tensor:
        """Rows from `since` on, (rows, runs, columns.width), on the device."""
        return self._writer.rows[since : self.length].view(-1, len(self.divergences), self.columns.width)

    def _end_diverged_runs(self) -> None:
        """Ends each run at its first non-finite row and drops what was computed after it."""
        rows = self._rows_by_run(self._checked_rows)
        non_finite = (~torch.isfinite(rows)).any(dim=2).cpu().numpy()
        for run in np.flatnonzero(non_finite.any(axis=0)):
            if self.divergences[run] is None:
                row = int(non_finite[:, run].argmax())
                k = self._checked_rows + row
                self.divergences[run] = first_divergence(k, rows[row, run].cpu().numpy(), self.columns)
                self.frames_by_run[run] = [frame for frame in self.frames_by_run[run] if frame.step <= k]
        self._checked_rows = self.length
        ends = [divergence.step + 1 for divergence in self.divergences if divergence]
        if len(ends) == len(self.divergences):
            self.step = min(max(ends), self.cfg.steps)  # the closing row is not a step
