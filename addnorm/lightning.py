"""A callback for (PyTorch) Lightning: `Trainer(..., callbacks=[LightningCallback("run.jsonl")])`. Needs `lightning`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from addnorm.extras import optional
from addnorm.recorder import Recorder

if TYPE_CHECKING:
    Callback = object
else:
    _old = find_spec("pytorch_lightning") and not find_spec("lightning")
    Callback = optional("pytorch_lightning" if _old else "lightning.pytorch", "lightning", "LightningCallback").Callback


class LightningCallback(Callback):
    """Records training by `Trainer`. Takes the arguments of `watch`, except model, optimiser and scaler.

    Of several optimisers that step in turns, the rows are the updates of the first that steps, or of the one at index
    `optimizer`. A forward pass lasts from the start of a batch to `backward`, because a training step may call parts of
    the module instead of the module itself.
    """

    def __init__(self, path: str | os.PathLike[str], *, optimizer: int | None = None, **arguments: Any) -> None:
        super().__init__()
        self._optimizer = optimizer
        self.recorder: Recorder | None = None
        self._path = path
        self._arguments = arguments
        self._losses: list[Any] = []  # since the last update of any optimiser

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Starts recording, in the first of several processes."""
        if trainer.is_global_zero:
            scaler = getattr(trainer.precision_plugin, "scaler", None)
            optimizers = trainer.optimizers if self._optimizer is None else [trainer.optimizers[self._optimizer]]
            self.recorder = Recorder(
                module, self._path, optimizer=optimizers, scaler=scaler, called=False, **self._arguments
            )

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        if self.recorder is not None:
            self.recorder.begin_pass()

    def on_before_backward(self, trainer: Any, module: Any, loss: Any) -> None:
        """Ends the pass. Undoes Lightning's division of the loss by the number of accumulated batches."""
        if self.recorder is not None:
            self.recorder.end_pass()
            self._losses.append(loss.detach() * trainer.accumulate_grad_batches)

    def on_after_backward(self, trainer: Any, module: Any) -> None:
        """Begins a pass in a step with manual optimisation, which may make several."""
        if self.recorder is not None and not module.automatic_optimization:
            self.recorder.begin_pass()

    def on_before_optimizer_step(self, trainer: Any, module: Any, optimizer: Any) -> None:
        if self.recorder is not None:
            self.recorder.step_of(optimizer, self._losses)
        self._losses = []

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        if self.recorder is not None:
            self.recorder.__exit__(type(exception), exception, None)

    def on_fit_end(self, trainer: Any, module: Any) -> None:
        if self.recorder is not None:
            self.recorder.close()
