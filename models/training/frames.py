"""Frames: the costlier measurements, taken at log-spaced steps on fixed samples and on the held-out split."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.cosine import mean_cosines
from addnorm.probe import accumulate_dtype, probe_outputs
from models.nets import Net
from models.spec import RunConfig
from models.spec.plan import uses_batch_statistics
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.trace import Frame
from models.training.dead import count_dead_units, dead_shares
from models.training.loss import cross_entropy
from models.training.modes import eval_mode, preserve_buffers
from models.training.sample_paths import SamplePaths

COSINE_TOKENS = 128  # vectors whose directions are compared
MAX_TRAIN_MODE_BATCHES = 32  # of held-out samples


class SubsetMeasures(NamedTuple):
    """What a pass shows of each run's fixed subset, as in `Frame`: (K, S), (K, depth) and (K, 3)."""

    sample_cosine: np.ndarray
    dead_units: np.ndarray
    head_input: np.ndarray


class FrameTaker:
    """Takes a frame at each of `steps`, without drawing from the run's random numbers or changing its statistics.

    `matrices`: the weight matrices by block.
    """

    def __init__(
        self, cfg: RunConfig, model: Net, task: TaskData, matrices: list[list[Tensor]], steps: Iterable[int]
    ) -> None:
        self._cfg, self.model, self.task, self.matrices, self.steps = cfg, model, task, matrices, set(steps)
        self._samples = max(2, COSINE_TOKENS // cfg.tokens)
        # The cosine is that of train mode. Unless a batch norm tells the modes apart, one pass in eval mode serves all.
        self._modes_differ = uses_batch_statistics(cfg)
        self._before: list[list[Tensor]] = []

    @cached_property
    def _ten(self) -> SamplePaths:
        return SamplePaths(self._cfg, self.task)

    def before_update(self, step: int) -> list[Frame]:
        """The frame of a step without its update-to-weight ratio, one per run; none between frames."""
        if step not in self.steps:
            return []
        self._before = [[p.detach().clone() for p in block] for block in self.matrices]
        return self._frames(step)

    def after_update(self, frames: list[Frame]) -> list[Frame]:
        """The frames with |change of the weights| / |weights| by block."""
        ratios = self._update_to_weight()
        self._before = []
        return [replace(frame, update_to_weight=ratio) for frame, ratio in zip(frames, ratios, strict=True)]

    def at_end(self, step: int) -> list[Frame]:
        """The frame after the last update, one per run, if frames are taken at all."""
        return self._frames(step) if step in self.steps else []

    def fixed_subset(self) -> SubsetMeasures:
        """What a pass in train mode shows of the fixed subset."""
        with torch.no_grad(), preserve_buffers(self.model):
            seen, _ = self._pass(self.task.held_out[0][: self._samples])
        return seen

    def first_picture(self) -> dict[str, Any]:
        """The part of the task's picture that is shown before training, and the way of ten samples."""
        with eval_mode(self.model), torch.no_grad():
            picture = self.task.first_picture(self.model)
        return picture | self._ten.measure(self.model)

    def _frames(self, step: int) -> list[Frame]:
        x, y = self.task.held_out
        with eval_mode(self.model), torch.no_grad():
            seen, logits = self._pass(x)
            counted = y != NO_LOSS
            loss = F.cross_entropy(logits[counted], y[counted]).item()
            accuracy = (logits.argmax(-1) == y)[counted].float().mean().item()
            picture = self.task.picture(lambda inputs: logits if inputs is x else self.model(inputs))
        picture |= self._ten.measure(self.model)
        train_mode = np.nan
        if self._modes_differ:
            seen = self.fixed_subset()
            by_batch, of_batches = self._in_train_mode(x, y, self._cfg.batch)
            train_mode = cross_entropy(by_batch, of_batches).item()
        (cosine,), (dead,), (head,) = seen
        return [Frame(step, cosine, self._no_update(), loss, accuracy, picture, dead, head, train_mode)]

    @torch.no_grad()
    def _in_train_mode(self, x: Tensor, y: Tensor, size: int, axis: int = 0) -> tuple[Tensor, Tensor]:
        """The logits in train mode of whole batches of `size` along an axis, and their targets."""
        count = min(MAX_TRAIN_MODE_BATCHES, max(1, x.shape[axis] // size))
        with preserve_buffers(self.model):
            logits = torch.cat([self.model(batch) for batch in x.split(size, axis)[:count]], axis)
        return logits, y.narrow(axis, 0, logits.shape[axis])

    def _update_to_weight(self) -> Iterable[np.ndarray]:
        """|change| / |weights| by block since `before_update`, one array per run."""
        ratios = []
        for block, before in zip(self.matrices, self._before, strict=True):
            change = torch.stack(
                [(new.detach() - old).norm() for new, old in zip(block, before, strict=True)] or [torch.tensor(0.0)]
            )
            size = torch.stack([old.norm() for old in before] or [torch.tensor(0.0)])
            ratios.append(change.norm() / size.norm())
        return [torch.stack(ratios).cpu().numpy()]

    def _no_update(self) -> np.ndarray:
        return np.full(len(self.matrices), np.nan, dtype=np.float32)

    def _pass(self, x: Tensor) -> tuple[SubsetMeasures, Tensor]:
        """What is seen of each run's fixed subset, and the logits of all of x."""
        with (
            probe_outputs([*self.model.stream.stream_taps, self.model.final_norm], gradients=False) as probe,
            counting_dead(self.model, self._subset) as counted,
        ):
            logits = self.model(x)
            *stream, read = [self._subset(tensor) for tensor in probe.tensors()]
        cosine = torch.stack([mean_cosines(tensor) for tensor in stream], dim=1).float()
        dead = dead_shares(counted, self.model) if counted else torch.empty(len(cosine), 0)
        return SubsetMeasures(*(part.cpu().numpy() for part in (cosine, dead, _sizes(read)))), logits

    def _subset(self, tensor: Tensor) -> Tensor:
        """The vectors of the fixed subset by run, (K, N, D)."""
        return tensor[: self._samples].flatten(0, -2)[None]


def _sizes(x_KND: Tensor) -> Tensor:
    """RMS of each of K sets of N vectors, RMS of the differences from their mean, and their directions: (K, 3)."""
    x = x_KND.to(accumulate_dtype(x_KND.device))
    apart = x - x.mean(1, keepdim=True)
    squares = apart.transpose(1, 2) @ apart
    total = squares.diagonal(dim1=1, dim2=2).sum(1)
    directions = total.square() / squares.square().sum((1, 2))
    return torch.stack([x.square().mean((1, 2)).sqrt(), apart.square().mean((1, 2)).sqrt(), directions], 1).float()
