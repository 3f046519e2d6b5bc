"""A callback for Hugging Face: `Trainer(..., callbacks=[HuggingFaceCallback("run.jsonl")])`. Needs `transformers`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from addnorm.extras import optional
from addnorm.recorder import Recorder

if TYPE_CHECKING:
    TrainerCallback = object
else:
    TrainerCallback = optional("transformers", "huggingface", "HuggingFaceCallback").TrainerCallback


class HuggingFaceCallback(TrainerCallback):
    """Records a training by `Trainer`, which provides model, optimiser and AMP's scaler.

    Takes the path and the remaining arguments of `watch`.
    """

    def __init__(self, path: str | os.PathLike[str], **arguments: Any) -> None:
        self.recorder: Recorder | None = None
        self._path = path
        self._arguments = arguments

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Starts recording; in distributed training, only in the main process."""
        if not state.is_world_process_zero:
            return
        optimizer = objects.get("optimizer")
        # Accelerate's optimiser wrapper carries AMP's GradScaler.
        scaler = getattr(optimizer, "scaler", None)
        self.recorder = Recorder(objects["model"], self._path, optimizer=optimizer, scaler=scaler, **self._arguments)

    def on_train_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Closes the recording."""
        if self.recorder is not None:
            self.recorder.close()
