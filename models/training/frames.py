"""Frames: the costlier measurements, taken at log-spaced steps on a fixed subset and on the held-out set."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
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
from models.spec.plan import has_dropout, uses_batch_statistics
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.trace import Frame
from models.training.dead import count_dead_units, dead_shares
from models.training.loss import cross_entropy
from models.training.modes import dropout_masks, dropout_modules, eval_mode, preserve_buffers
from models.training.sample_paths import PathSampler

COSINE_TOKENS = 128  # tokens of the fixed subset
MAX_TRAIN_MODE_BATCHES = 32  # of held-out samples


class SubsetMeasures(NamedTuple):
    """Measurements on each run's fixed subset, as in `Frame`: (K, S), (K, depth) and (K, 3)."""

    sample_cosine: np.ndarray
    dead_units: np.ndarray
    head_input: np.ndarray


class FrameTaker:
    """Takes a frame at each of `steps` without changing the run's random numbers or running statistics.

    `matrices` holds the weight matrices of each block.
    """

    def __init__(
        self, cfg: RunConfig, model: Net, task: TaskData, matrices: list[list[Tensor]], steps: Iterable[int]
    ) -> None:
        self._cfg = cfg
        self.model = model
        self.task = task
        self.matrices = matrices
        self.steps = set(steps)
        self._samples = max(2, COSINE_TOKENS // cfg.tokens)
        # The subset is measured in train mode. Without batch norm, one pass in eval mode gives the same numbers.
        self._is_by_batch = uses_batch_statistics(cfg)
        self._modes_differ = self._is_by_batch or has_dropout(cfg)
        self._dropouts = dropout_modules(model)
        self._weights_before: list[list[Tensor]] = []  # of the update, per block

    @cached_property
    def _path_sampler(self) -> PathSampler:
        return PathSampler(self._cfg, self.task)

    def before_update(self, step: int) -> list[Frame]:
        """One frame per run, still without its update-to-weight ratio; empty if `step` takes none."""
        if step not in self.steps:
            return []
        self._weights_before = [[p.detach().clone() for p in block] for block in self.matrices]
        return self._frames(step)

    def after_update(self, frames: list[Frame]) -> list[Frame]:
        """The frames with the ratio |weight change| / |weights| of each block."""
        ratios = self._update_to_weight()
        self._weights_before = []
        return [replace(frame, update_to_weight=ratio) for frame, ratio in zip(frames, ratios, strict=True)]

    def at_end(self, step: int) -> list[Frame]:
        """One frame per run after the last update; empty if `step` takes none."""
        return self._frames(step) if step in self.steps else []

    def fixed_subset(self) -> SubsetMeasures:
        """Measurements on the fixed subset in train mode."""
        with torch.no_grad(), preserve_buffers(self.model):
            measures, _ = self._pass(self.task.held_out[0][: self._samples])
        return measures

    def first_picture(self) -> dict[str, Any]:
        """The picture before training, and the paths of sample tokens."""
        with self._eval_mode(), torch.no_grad():
            picture = self.task.first_picture(self.model)
        return picture | self._path_sampler.measure(self.model)

    def _eval_mode(self) -> AbstractContextManager[None]:
        """Eval mode where it changes anything: dropout acts in `dropout_masks` alone."""
        return eval_mode(self.model) if self._is_by_batch else nullcontext()

    def _frames(self, step: int) -> list[Frame]:
        x, y = self.task.held_out
        with self._eval_mode(), torch.no_grad():
            measures, logits = self._pass(x)
            has_loss = y != NO_LOSS
            loss = F.cross_entropy(logits[has_loss], y[has_loss]).item()
            accuracy = (logits.argmax(-1) == y)[has_loss].float().mean().item()
            picture = self.task.picture(lambda inputs: logits if inputs is x else self.model(inputs))
        picture |= self._path_sampler.measure(self.model)
        train_mode_loss = np.nan
        if self._is_by_batch:
            measures = self.fixed_subset()
        if self._modes_differ:
            train_mode_loss = cross_entropy(*self._in_train_mode(x, y, self._cfg.batch, self._cfg.seed)).item()
        return [
            Frame(
                step,
                sample_cosine=measures.sample_cosine[0],
                update_to_weight=self._no_update(),
                held_out_loss=loss,
                held_out_accuracy=accuracy,
                picture=picture,
                dead_units=measures.dead_units[0],
                head_input=measures.head_input[0],
                train_mode_loss=train_mode_loss,
            )
        ]

    @torch.no_grad()
    def _in_train_mode(
        self, x: Tensor, y: Tensor, size: int, seed: int | tuple[int, ...], axis: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Train-mode logits of whole batches of `size` along `axis`, and their targets.

        Without batch norm, all samples are one batch. Dropout draws the masks of `seed` for steps that no run reaches,
        the same in every frame.
        """
        size = size if self._is_by_batch else x.shape[axis]
        count = min(MAX_TRAIN_MODE_BATCHES, max(1, x.shape[axis] // size))
        logits = []
        with preserve_buffers(self.model):
            for at, batch in enumerate(x.split(size, axis)[:count]):
                with dropout_masks(self._dropouts, -1 - at, seed):
                    logits.append(self.model(batch))
        joined = torch.cat(logits, axis)
        return joined, y.narrow(axis, 0, joined.shape[axis])

    def _update_to_weight(self) -> Iterable[np.ndarray]:
        """|weight change| / |weights| of each block since `before_update`, one array (depth,) per run."""
        ratios = []
        for block, before in zip(self.matrices, self._weights_before, strict=True):
            changes = [(new.detach() - old).norm() for new, old in zip(block, before, strict=True)]
            sizes = [old.norm() for old in before]
            ratios.append(_norm_of_norms(changes) / _norm_of_norms(sizes))
        return [torch.stack(ratios).cpu().numpy()]

    def _no_update(self) -> np.ndarray:
        return np.full(len(self.matrices), np.nan, dtype=np.float32)

    def _pass(self, x: Tensor) -> tuple[SubsetMeasures, Tensor]:
        """Measurements on each run's fixed subset, and the logits of all of x."""
        with (
            probe_outputs([*self.model.stream.stream_taps, self.model.final_norm], gradients=False) as probe,
            count_dead_units(self.model, self._subset) as dead_units,
        ):
            logits = self.model(x)
            *stream, head_input = [self._subset(tensor) for tensor in probe.tensors()]
        cosine = torch.stack([mean_cosines(tensor) for tensor in stream], dim=1).float()
        dead = dead_shares(dead_units, self.model) if dead_units else torch.empty(len(cosine), 0)
        measures = cosine, dead, _head_input_measures(head_input)
        return SubsetMeasures(*(tensor.cpu().numpy() for tensor in measures)), logits

    def _subset(self, tensor: Tensor) -> Tensor:
        """The vectors of each run's fixed subset, (K, N, D)."""
        return tensor[: self._samples].flatten(0, -2)[None]


def _norm_of_norms(norms: list[Tensor]) -> Tensor:
    return torch.stack(norms or [torch.tensor(0.0)]).norm()


def _head_input_measures(x_KND: Tensor) -> Tensor:
    """RMS of N vectors, RMS of their differences from the mean, and the differences' directions, (K, 3).

    The directions are the participation ratio (tr C)^2 / tr C^2 of the covariance C.
    """
    x = x_KND.to(accumulate_dtype(x_KND.device))
    centred = x - x.mean(1, keepdim=True)
    covariance = centred.transpose(1, 2) @ centred
    trace = covariance.diagonal(dim1=1, dim2=2).sum(1)
    directions = trace.square() / covariance.square().sum((1, 2))
    return torch.stack([x.square().mean((1, 2)).sqrt(), centred.square().mean((1, 2)).sqrt(), directions], 1).float()
