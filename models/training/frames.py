"""The costlier look at a run, at log-spaced steps, on data that never changes: fixed samples and the held-out split."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from addnorm.probe import watching
from models.nets import Net
from models.nets.norms import TokenBatchNorm
from models.spec import RunConfig
from models.tasks import TaskData
from models.trace import Frame
from models.training.dead import counting_dead, shares

COSINE_TOKENS = 128  # vectors whose directions are compared


class FrameTaker:
    """Takes a frame at each of `steps`. It draws no random number
    of the run's and leaves running statistics as they were.
    """

    def __init__(self, cfg: RunConfig, model: Net, task: TaskData, steps: set[int]) -> None:
        self.model, self.task, self.steps = model, task, steps
        self.matrices = [[p for p in block.parameters() if p.ndim > 1] for block in model.stream.blocks.values()]
        self._samples = max(2, COSINE_TOKENS // cfg.tokens)
        # Only batch norm answers differently in train mode, in which the cosine is taken; else one pass serves both.
        self._moded = any(isinstance(module, TokenBatchNorm) for module in model.modules())
        self._before: list[list[Tensor]] = []

    def before_update(self, step: int) -> Frame | None:
        """The frame of a step without its update-to-weight ratio,
        which the update is still to show; None between frames.
        """
        if step not in self.steps:
            return None
        self._before = [[p.detach().clone() for p in block] for block in self.matrices]
        return self._look(step)

    def after_update(self, frame: Frame) -> Frame:
        """The frame with |change of the weights| / |weights| by block."""
        ratios = []
        for block, before in zip(self.matrices, self._before, strict=True):
            change = torch.stack(
                [(new.detach() - old).norm() for new, old in zip(block, before, strict=True)] or [torch.tensor(0.0)]
            )
            size = torch.stack([old.norm() for old in before] or [torch.tensor(0.0)])
            ratios.append(change.norm() / size.norm())
        self._before = []
        return replace(frame, update_to_weight=torch.stack(ratios).cpu().numpy())

    def at_end(self, step: int) -> list[Frame]:
        """The frame after the last update, if frames are taken at all."""
        return [self._look(step)] if step in self.steps else []

    def fixed_subset(self) -> tuple[np.ndarray, np.ndarray]:
        """At every point of the stream the mean cosine between different tokens of a fixed subset, (S,); the share of
        each block's ReLU units that are 0 for all of it, empty without ReLUs.
        """
        with torch.no_grad(), statistics_kept(self.model):
            return self._pass(self.task.held_out[0][: self._samples])[:2]

    def first_picture(self) -> dict[str, Any]:
        """What is shown of the task before training."""
        with evaluating(self.model), torch.no_grad():
            return self.task.first_picture(self.model)

    def _look(self, step: int) -> Frame:
        x, y = self.task.held_out
        with evaluating(self.model), torch.no_grad():
            cosine, dead, logits = self._pass(x)
            taken = y != -100
            loss = F.cross_entropy(logits[taken], y[taken]).item()
            accuracy = (logits.argmax(-1) == y)[taken].float().mean().item()
            picture = self.task.picture(lambda asked: logits if asked is x else self.model(asked))
        if self._moded:
            cosine, dead = self.fixed_subset()
        blank = np.full(len(self.matrices), np.nan, dtype=np.float32)
        return Frame(step, cosine, blank, loss, accuracy, picture, dead)

    def _pass(self, x: Tensor) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """Sample cosine by site and dead units by block over the first samples of x, and the logits of all of x."""
        with (
            watching(self.model.stream.stream_taps, gradients=False) as probe,
            counting_dead(self.model, lambda output: output[: self._samples], 0) as counted,
        ):
            logits = self.model(x)
            seen = [tensor[: self._samples] for tensor in probe.tensors()]
        cosine = torch.stack([mean_cosine(tensor) for tensor in seen])
        return cosine.cpu().numpy(), shares(counted, self.model).cpu().numpy(), logits


def mean_cosine(x: Tensor) -> Tensor:
    """Mean cosine between different vectors of (..., D); zero
    vectors have no direction and are left out; NaN below two.
    """
    return mean_cosines(x.flatten(0, -2)[None])[0]


def mean_cosines(x_KND: Tensor) -> Tensor:
    """The mean cosine within each of K sets of N vectors, (K,)."""
    x = x_KND.to(torch.float64 if x_KND.device.type != "mps" else torch.float32)
    length = x.norm(dim=-1, keepdim=True)
    alive = (length > 0) & length.isfinite()
    directions = torch.where(alive, x / length, 0.0)
    count = alive.sum((-2, -1))
    pairs = count * (count - 1)
    return torch.where(pairs > 0, (directions.sum(-2).square().sum(-1) - count) / pairs, torch.nan).float()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The net in eval mode for the length of a block."""
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextmanager
def statistics_kept(model: nn.Module) -> Iterator[None]:
    """Puts the buffers of a net (running statistics) back after a block that ran in train mode."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
