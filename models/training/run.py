"""A run: a deterministic tape that can be advanced by any number of steps, in any slices, with the same rows."""

import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from models.nets import build_model, count_parameters
from models.spec import RunConfig
from models.tasks import open_task
from models.trace import Columns, Divergence, Frame, Trace, frame_steps, trace_of
from models.training.device import resolve_device
from models.training.divergence import first_bad_row, where
from models.training.frames import FrameTaker, statistics_kept
from models.training.optimizers import build_optimizer
from models.training.rows import RowWriter
from models.training.schedule import learning_rates

CHECK_EVERY = 16  # steps between two looks for non-finite numbers, which wait for the device


def cross_entropy(logits_BTC: Tensor, y_BT: Tensor) -> Tensor:
    """Mean cross-entropy over the targets that are not -100."""
    return F.cross_entropy(logits_BTC.flatten(0, 1), y_BT.flatten(), ignore_index=-100)


class Run:
    """Trains one configuration and keeps its tape. `probe` off trains the same numbers without watching.

    Raises ValueError for a device that this machine lacks.
    """

    def __init__(self, cfg: RunConfig, *, probe: bool = True, frames: bool = True) -> None:
        self.cfg = cfg
        self._device = resolve_device(cfg.device)
        self.model = build_model(cfg).to(self._device)
        self.task = open_task(cfg, self._device)
        self.optimizer = build_optimizer(
            cfg.optimizer, self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay
        )
        self.step = 0
        self.divergence: Divergence | None = None
        self._writer = RowWriter(cfg, self.model, self._device)
        self._taker = FrameTaker(cfg, self.model, self.task, set(frame_steps(cfg.steps)) if frames else set())
        self._frames: list[Frame] = []
        self._rates = learning_rates(cfg)
        self._checked, self._closed = 0, False
        if not probe:
            self._writer.remove()
        self._probing = probe

    @property
    def done(self) -> bool:
        """Whether no further step will ever be taken."""
        return self.divergence is not None or self.step >= self.cfg.steps

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
        """Numbers that training changes."""
        return count_parameters(self.model)

    @property
    def columns(self) -> Columns:
        """What stands where in a row."""
        return self._writer.columns

    @property
    def frames(self) -> list[Frame]:
        """The frames taken so far."""
        return list(self._frames)

    def next_batch(self) -> tuple[Tensor, Tensor]:
        """The batch (x, y) of the next step; asking for it changes nothing."""
        return self.task.batch(self.step)

    def advance(self, n: int, seconds: float | None = None) -> int:
        """Trains up to n steps, or until `seconds` are over (at least one step); returns how many rows were added."""
        start, goal = self.step, min(self.step + n, self.cfg.steps)
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.step < goal and self.divergence is None:
            self._advance_one()
            late = deadline is not None and time.monotonic() >= deadline
            if late or self.step == goal or self.step % CHECK_EVERY == 0:
                self._check()
            if late:
                break
        return self.step - start

    def close(self) -> None:
        """Measures row N of a run that has taken all of its N steps: batch N in the net after the last update.

        Nothing is trained. A row that is not finite is a divergence at step N.
        Nothing happens where the run is not over or has diverged, or a second time.
        """
        if self._closed or self.step < self.cfg.steps or self.divergence is not None:
            return
        with statistics_kept(self.model):
            self._measure(self.step)
        self._closed = True
        self._check()

    def rows(self, since: int = 0) -> np.ndarray:
        """Rows `since` ... length as (k, columns.width) float32; the one place where numbers leave the device."""
        return self._writer.rows[since : self.length].cpu().numpy().copy()

    def trace(self) -> Trace:
        """Everything measured so far."""
        return trace_of(self.columns, self.rows(), self._frames, self.divergence)

    def _advance_one(self) -> None:
        k = self.step
        frame = self._taker.before_update(k)
        self._measure(k)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rates[k]
        self.optimizer.step()
        if frame is not None:
            self._frames.append(self._taker.after_update(frame))
        self.step += 1
        if self.step == self.cfg.steps:
            self._frames += self._taker.at_end(self.step)

    def _measure(self, k: int) -> None:
        """Row k: batch k forward and backward, the raw gradient, then clipping."""
        x, y = self.task.batch(k)
        loss = cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        if self._probing or self.cfg.clip:
            grad_norm, weight_grad_rms = self._writer.gradient_norms()
            factor = self._clip(grad_norm)
            if self._probing:
                self._writer.write(k, loss.detach(), grad_norm, factor, weight_grad_rms)
                self._writer.forget()
        if not self._probing:
            self._writer.rows[k, 0] = loss.detach()

    def _clip(self, grad_norm: Tensor) -> Tensor:
        """Shortens the gradient to `clip` where it is longer; returns the factor."""
        if not self.cfg.clip:
            return torch.ones_like(grad_norm)
        factor = (self.cfg.clip / (grad_norm + 1e-6)).clamp(max=1.0)
        grads: list[Any] = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(grads, factor.to(grads[0].dtype))
        return factor

    def _check(self) -> None:
        """Ends the run at its first row that is not finite, and drops what was computed past it."""
        bad = first_bad_row(self._writer.rows[self._checked : self.length])
        if bad is not None:
            k = self._checked + bad
            self.divergence = where(k, self._writer.rows[k].cpu().numpy(), self.columns)
            self.step = min(k + 1, self.cfg.steps)  # the closing row is no step
            self._frames = [frame for frame in self._frames if frame.step <= k]
        self._checked = self.length


def profile_at_init(cfg: RunConfig) -> Trace:
    """What the page shows before training: row 0 of the tape, and
    frame 0 with little of its picture and no held-out figures.
    """
    run = Run(cfg, frames=False)
    cosine, dead = run._taker.fixed_subset()
    picture = run._taker.first_picture()
    run.advance(1)
    blank = np.full(cfg.depth, np.nan, dtype=np.float32)
    return trace_of(run.columns, run.rows(), [Frame(0, cosine, blank, np.nan, np.nan, picture, dead)], run.divergence)
