"""Frames of a stacked net: held-out figures, sample cosine and update-to-weight ratio by run, without pictures."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.nets import Net
from models.spec import RunConfig
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.trace import Frame
from models.training.batched_rows import block_norms
from models.training.frames import FrameTaker
from models.training.loss import cross_entropies
from models.training.modes import eval_mode, preserve_buffers


class BatchedFrameTaker(FrameTaker):
    """Takes one frame per run at each of `steps`; all runs share the held-out set."""

    def __init__(
        self, cfg: RunConfig, model: Net, tasks: Sequence[TaskData], matrices: list[list[Tensor]], steps: Iterable[int]
    ) -> None:
        super().__init__(cfg, model, tasks[0], matrices, steps)
        self.runs = len(tasks)
        self._tokens = cfg.tokens * self._samples

    def _frames(self, step: int) -> list[Frame]:
        train_mode = [np.nan] * self.runs
        x, y = (part.expand(self.runs, *part.shape).flatten(1, 2) for part in self.task.held_out)
        with torch.no_grad():
            with eval_mode(self.model):
                seen, logits = self._pass(x)
            if self._modes_differ:
                with preserve_buffers(self.model):
                    seen, _ = self._pass(x[:, : self._tokens])
                by_batch, of_batches = self._in_train_mode(x, y, self._cfg.batch * self._cfg.tokens, axis=1)
                train_mode = cross_entropies(by_batch, of_batches).tolist()
        counted = y != NO_LOSS
        loss = cross_entropies(logits, y).tolist()
        accuracy = (((logits.argmax(-1) == y) & counted).sum(1) / counted.sum(1)).tolist()
        return [
            Frame(step, cosine, self._no_update(), loss[run], accuracy[run], {}, dead, head, train_mode[run])
            for run, (cosine, dead, head) in enumerate(zip(*seen, strict=True))
        ]

    def _update_to_weight(self) -> Iterable[np.ndarray]:
        pairs = [
            list(zip(block, before, strict=True)) for block, before in zip(self.matrices, self._before, strict=True)
        ]
        empty, dtype = torch.zeros(self.runs, 1, device=self.task.device), accumulate_dtype(self.task.device)
        change = block_norms([[new.detach() - old for new, old in block] for block in pairs], empty, dtype)
        return (change / block_norms(self._before, empty, dtype)).float().cpu().numpy()

    def _subset(self, tensor: Tensor) -> Tensor:
        return tensor[:, : self._tokens]
