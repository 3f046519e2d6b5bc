"""Frames of a stacked net: held-out figures, sample cosine and update-to-weight ratio by seed, no pictures."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.probe import accumulate_dtype, watching
from models.nets import Net
from models.nets.stacked import StackedBatchNorm
from models.spec import RunConfig
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.trace import Frame
from models.training.batched_rows import block_norms
from models.training.dead import counting_dead, shares
from models.training.frames import COSINE_TOKENS, evaluating, mean_cosines, statistics_kept


class SeedFrameTaker:
    """Takes one frame per seed at each of `steps`, as FrameTaker does for one net. The held-out set is everybody's."""

    def __init__(
        self, cfg: RunConfig, model: Net, task: TaskData, matrices: list[list[Tensor]], *, seeds: int, steps: set[int]
    ) -> None:
        self.model, self.task, self.matrices, self.seeds, self.steps = model, task, matrices, seeds, steps
        self._tokens = cfg.tokens * max(2, COSINE_TOKENS // cfg.tokens)
        self._moded = any(isinstance(module, StackedBatchNorm) for module in model.modules())
        self._before: list[list[Tensor]] = []

    def before_update(self, step: int) -> list[Frame]:
        """The frames of a step without their update-to-weight ratios; none between frames."""
        if step not in self.steps:
            return []
        self._before = [[p.detach().clone() for p in block] for block in self.matrices]
        return self._look(step)

    def after_update(self, frames: list[Frame]) -> list[Frame]:
        """The frames with |change of the weights| / |weights| by block."""
        pairs = [
            list(zip(block, before, strict=True)) for block, before in zip(self.matrices, self._before, strict=True)
        ]
        empty, dtype = torch.zeros(self.seeds, 1, device=self.task.device), accumulate_dtype(self.task.device)
        change = block_norms([[new.detach() - old for new, old in block] for block in pairs], empty, dtype)
        ratio = (change / block_norms(self._before, empty, dtype)).float().cpu().numpy()
        self._before = []
        return [replace(frame, update_to_weight=ratio[at]) for at, frame in enumerate(frames)]

    def at_end(self, step: int) -> list[Frame]:
        """The frames after the last update, if frames are taken at all."""
        return self._look(step) if step in self.steps else []

    def _look(self, step: int) -> list[Frame]:
        x, y = (part.expand(self.seeds, *part.shape).flatten(1, 2) for part in self.task.held_out)
        with torch.no_grad():
            with evaluating(self.model):
                cosine, dead, logits = self._pass(x)
            if self._moded:
                with statistics_kept(self.model):
                    cosine, dead, _ = self._pass(x[:, : self._tokens])
        taken = y != NO_LOSS
        each = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=NO_LOSS, reduction="none")
        loss = each.view(y.shape).sum(1) / taken.sum(1)
        accuracy = ((logits.argmax(-1) == y) & taken).sum(1) / taken.sum(1)
        blank = np.full(len(self.matrices), np.nan, dtype=np.float32)
        figures = zip(cosine, loss.tolist(), accuracy.tolist(), dead, strict=True)
        return [Frame(step, by_site, blank, held_out, right, {}, still) for by_site, held_out, right, still in figures]

    def _pass(self, x: Tensor) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """Sample cosine (K, S) and dead units (K, blocks) over the first samples of x, and the logits of all of x."""
        with (
            watching(self.model.stream.stream_taps, gradients=False) as probe,
            counting_dead(self.model, lambda output: output[:, : self._tokens], 1) as counted,
        ):
            logits = self.model(x)
            seen = [tensor[:, : self._tokens] for tensor in probe.tensors()]
        cosine = torch.stack([mean_cosines(tensor) for tensor in seen], dim=1)
        dead = shares(counted, self.model) if counted else torch.empty(self.seeds, 0)
        return cosine.cpu().numpy(), dead.cpu().numpy(), logits
