"""Frames of a stacked net: held-out metrics, sample cosine and update-to-weight ratio per run, without pictures."""

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
    """Takes one frame per run at each of `steps`. All runs share the held-out set."""

    def __init__(
        self, cfg: RunConfig, model: Net, tasks: Sequence[TaskData], matrices: list[list[Tensor]], steps: Iterable[int]
    ) -> None:
        super().__init__(cfg, model, tasks[0], matrices, steps)
        self.runs = len(tasks)
        self._seeds = tuple(task.cfg.seed for task in tasks)
        self._subset_tokens = cfg.tokens * self._samples

    def _frames(self, step: int) -> list[Frame]:
        train_mode_loss = [np.nan] * self.runs
        x, y = (tensor.expand(self.runs, *tensor.shape).flatten(1, 2) for tensor in self.task.held_out)
        with torch.no_grad():
            with eval_mode(self.model):
                measures, logits = self._pass(x)
            if self._is_by_batch:
                with preserve_buffers(self.model):
                    measures, _ = self._pass(x[:, : self._subset_tokens])
            if self._modes_differ:
                train_mode = self._in_train_mode(x, y, self._cfg.batch * self._cfg.tokens, self._seeds, axis=1)
                train_mode_loss = cross_entropies(*train_mode).tolist()
        has_loss = y != NO_LOSS
        loss = cross_entropies(logits, y).tolist()
        accuracy = (((logits.argmax(-1) == y) & has_loss).sum(1) / has_loss.sum(1)).tolist()
        return [
            Frame(
                step,
                sample_cosine=measures.sample_cosine[run],
                update_to_weight=self._no_update(),
                held_out_loss=loss[run],
                held_out_accuracy=accuracy[run],
                dead_units=measures.dead_units[run],
                head_input=measures.head_input[run],
                train_mode_loss=train_mode_loss[run],
            )
            for run in range(self.runs)
        ]

    def _update_to_weight(self) -> Iterable[np.ndarray]:
        empty = torch.zeros(self.runs, 1, device=self.task.device)
        dtype = accumulate_dtype(self.task.device)
        changes = [
            [new.detach() - old for new, old in zip(block, before, strict=True)]
            for block, before in zip(self.matrices, self._weights_before, strict=True)
        ]
        ratios = block_norms(changes, empty, dtype) / block_norms(self._weights_before, empty, dtype)
        return ratios.float().cpu().numpy()

    def _subset(self, tensor: Tensor) -> Tensor:
        return tensor[:, : self._subset_tokens]
