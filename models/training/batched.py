"""Several runs of nets of one shape trained as one batched computation, behind the interface of Run."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.nets import Net, build_model, stacked
from models.spec import RunConfig
from models.spec.pairings import differing
from models.tasks import open_task
from models.tasks.base import NO_LOSS
from models.trace import SCALARS, Columns, Divergence, Frame, Trace, frame_steps, trace_of
from models.training.batched_frames import SeedFrameTaker
from models.training.batched_rows import SeedRowWriter
from models.training.device import resolve_device
from models.training.divergence import where
from models.training.frames import statistics_kept
from models.training.optimizers import OPTIMIZERS, Groups
from models.training.run import CHECK_EVERY
from models.training.schedule import learning_rates


def losses_by_seed(logits_KNC: Tensor, y_KN: Tensor) -> Tensor:
    """Each seed's mean cross-entropy over its targets that are not -100, (K,)."""
    each = F.cross_entropy(logits_KNC.flatten(0, 1), y_KN.flatten(), ignore_index=NO_LOSS, reduction="none")
    return each.view(y_KN.shape).sum(1) / (y_KN != NO_LOSS).sum(1)


MAY_DIFFER = (
    "seed",
    "lr",
    "warmup",
    "schedule",
    "init",
    "init_gain",
)  # fields that do not touch a net's shape or its step


class Batched:
    """Trains configurations that differ in MAY_DIFFER only, each as Run would: its weights, its batches, its rates.

    Every kind of net is batched. Rows equal those of the separate runs up to the order of float32 sums; one that
    diverges ends its own trace and leaves the others as they are. Frames carry no picture; `frames` says at which steps
    they are taken, True at those of Run. Raises ValueError for no configurations, for such as differ in another field,
    and for a device that this machine lacks.
    """

    def __init__(self, configs: Sequence[RunConfig], *, frames: bool | Sequence[int] = True) -> None:
        if not configs:
            raise ValueError("configs is empty; legal is one configuration or more")
        cfg = configs[0]
        if astray := [name for name in differing(configs) if name not in MAY_DIFFER]:
            raise ValueError(f"configs differ in {', '.join(astray)}; legal are differences in {', '.join(MAY_DIFFER)}")
        self.cfg, self.seeds = cfg, tuple(one.seed for one in configs)
        self._device = resolve_device(cfg.device)
        nets = [build_model(one) for one in configs]
        self.model = stacked(nets, cfg.tokens).to(self._device)
        self.tasks = [open_task(one, self._device) for one in configs]
        self.step = 0
        self.divergences: list[Divergence | None] = [None] * len(self.seeds)
        by_name = dict(self.model.named_parameters())
        matrix_names = {name for name, p in nets[0].named_parameters() if p.ndim > 1}
        matrices = _block_matrices(self.model, {id(by_name[name]) for name in matrix_names})
        self.optimizer = _optimizer(cfg, by_name, matrix_names)
        self._writer = SeedRowWriter(cfg, self.model, matrices, len(self.seeds), self._device)
        steps = set(frame_steps(cfg.steps)) if frames is True else set(frames or ())
        self._taker = SeedFrameTaker(cfg, self.model, self.tasks[0], matrices, seeds=len(self.seeds), steps=steps)
        self._frames: list[list[Frame]] = [[] for _ in self.seeds]
        self._rates = Rates([learning_rates(one) for one in configs], self.optimizer, self._device)
        self._writer.rows[: cfg.steps, :, SCALARS.index("lr")] = self._rates.table_TK
        self._checked, self._closed = 0, False

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
    def frames(self) -> list[list[Frame]]:
        """The frames taken so far, by seed."""
        return [list(kept) for kept in self._frames]

    @property
    def parameters(self) -> int:
        """Numbers that training changes, of all seeds together."""
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def columns(self) -> Columns:
        """What stands where in a row."""
        return self._writer.columns

    def advance(self, n: int, seconds: float | None = None) -> int:
        """Trains up to n steps, or until `seconds` are over (at least one step); returns how many rows were added."""
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
        """Measures row N of N steps, as Run does; nothing where there is a step to take or every seed has diverged."""
        if self._closed or self.step < self.cfg.steps or all(self.divergences):
            return
        with statistics_kept(self.model):
            self._measure(self.step)
        self._closed = True
        self._check()

    def rows(self, since: int = 0) -> np.ndarray:
        """Rows `since` ... length as (k, seeds * columns.width) float32, the seeds side by side."""
        return self._writer.rows[since : self.length].flatten(1).cpu().numpy().copy()

    def traces(self) -> list[Trace]:
        """Everything measured so far, one trace per seed in their order."""
        rows = self._writer.rows[: self.length].cpu().numpy()
        found = []
        for at, divergence in enumerate(self.divergences):
            end = self.length if divergence is None else divergence.step + 1
            found.append(trace_of(self.columns, rows[:end, at].copy(), self._frames[at], divergence))
        return found

    def _advance_one(self) -> None:
        k = self.step
        frames = self._taker.before_update(k)
        self._measure(k)
        self._rates.step(k)
        if frames:
            self._keep(self._taker.after_update(frames))
        self.step += 1
        if self.step == self.cfg.steps and (frames := self._taker.at_end(self.step)):
            self._keep(frames)

    def _measure(self, k: int) -> None:
        """Row k: batch k forward and backward, the raw gradients, then clipping."""
        batches = [task.batch(k) for task in self.tasks]
        x, y = (torch.stack(part).flatten(1, 2) for part in zip(*batches, strict=True))
        losses = losses_by_seed(self.model(x), y)
        self.optimizer.zero_grad()
        losses.sum().backward()  # no seed's loss depends on another's weights, so the gradients do not mix
        grad_norm, weight_grad_rms = self._writer.gradient_norms()
        self._writer.write(k, losses.detach(), grad_norm, self._clip(grad_norm), weight_grad_rms)

    def _clip(self, grad_norm: Tensor) -> Tensor:
        """Shortens the gradient of each seed to `clip` where it is longer; returns the factors (K,)."""
        if not self.cfg.clip:
            return torch.ones_like(grad_norm)
        factor = (self.cfg.clip / (grad_norm + 1e-6)).clamp(max=1.0)
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(grads, [factor.to(grad.dtype).view(-1, *[1] * (grad.ndim - 1)) for grad in grads])
        return factor

    def _keep(self, frames: Sequence[Frame]) -> None:
        for kept, frame, divergence in zip(self._frames, frames, self.divergences, strict=True):
            if divergence is None:
                kept.append(frame)

    def _check(self) -> None:
        """Ends each seed at its first row that is not finite, and drops what was computed past it."""
        rows = self._writer.rows[self._checked : self.length]
        bad = (~torch.isfinite(rows)).any(dim=2).cpu().numpy()
        for at in np.flatnonzero(bad.any(axis=0)):
            if self.divergences[at] is None:
                k = self._checked + int(bad[:, at].argmax())
                self.divergences[at] = where(k, self._writer.rows[k, at].cpu().numpy(), self.columns)
                self._frames[at] = [frame for frame in self._frames[at] if frame.step <= k]
        self._checked = self.length
        ends = [divergence.step + 1 for divergence in self.divergences if divergence]
        if len(ends) == len(self.seeds):
            self.step = min(max(ends), self.cfg.steps)  # the closing row is no step


class SeedRuns(Batched):
    """One configuration under every seed of `seeds`. ValueError for no seeds."""

    def __init__(self, cfg: RunConfig, seeds: Sequence[int], *, frames: bool = True) -> None:
        if not seeds:
            raise ValueError("seeds is empty; legal is one seed or more")
        super().__init__([replace(cfg, seed=seed) for seed in seeds], frames=frames)


class Rates:
    """The learning rates of K runs, table_TK (steps, K), and the step of the optimiser that they share.

    A torch optimiser knows one rate. What it does in a step is linear in the rate, so where runs have different ones it
    steps at a rate of 1 and each run keeps its own share of the way.
    """

    def __init__(
        self, rates: Sequence[Sequence[float]], optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        self.table_TK = torch.tensor(rates, device=device).T
        self.optimizer = optimizer
        self._alike = list(rates[0]) if all(list(one) == list(rates[0]) for one in rates) else None
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def step(self, k: int) -> None:
        """Update k."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._alike[k] if self._alike else 1.0
        if self._alike:
            self.optimizer.step()
            return
        before = [p.detach().clone() for p in self._parameters]
        self.optimizer.step()
        with torch.no_grad():
            for p, old in zip(self._parameters, before, strict=True):
                p.copy_(torch.lerp(old, p, self.table_TK[k].view(-1, *[1] * (p.ndim - 1))))


def _block_matrices(model: Net, matrices: set[int]) -> list[list[Tensor]]:
    """Every block's weight matrices, which a stacked net no longer tells by their dimensions."""
    return [[p for p in block.parameters() if id(p) in matrices] for block in model.stream.blocks.values()]


def _optimizer(cfg: RunConfig, parameters: dict[str, nn.Parameter], matrices: set[str]) -> torch.optim.Optimizer:
    """As for one net: weight decay pulls matrices only."""
    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    groups: Groups = [
        {"params": [p for name, p in trained.items() if name in matrices], "weight_decay": cfg.weight_decay},
        {"params": [p for name, p in trained.items() if name not in matrices], "weight_decay": 0.0},
    ]
    return OPTIMIZERS[cfg.optimizer]([group for group in groups if group["params"]], lr=cfg.lr, weight_decay=0.0)


def seed_traces(cfg: RunConfig, seeds: Sequence[int], steps: int | None = None) -> list[Trace]:
    """The traces of a configuration under several seeds after `steps`, or after all of its steps."""
    runs = SeedRuns(cfg, seeds)
    runs.advance(cfg.steps if steps is None else steps)
    return runs.traces()
