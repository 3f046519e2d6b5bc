"""The data of every task, as tensors. Shapes and sources are in `models.spec.TASKS`, under the same keys."""

from collections.abc import Callable
from functools import partial

import torch

from models.spec import RunConfig
from models.tasks.base import Predict, TaskData
from models.tasks.book import Book, alphabet
from models.tasks.digits import Digits
from models.tasks.points import CIRCLES, LINEAR, SPIRAL, XOR, Points
from models.tasks.sequences import Sequences, draw_copy, draw_recall, draw_reverse, draw_sort, draw_successor

__all__ = ["DATASETS", "Predict", "TaskData", "alphabet", "open_task"]

DATASETS: dict[str, Callable[[RunConfig, torch.device], TaskData]] = {
    "digits": Digits,
    "book": Book,
    "spiral": partial(Points, SPIRAL),
    "circles": partial(Points, CIRCLES),
    "xor": partial(Points, XOR),
    "linear": partial(Points, LINEAR),
    "copy": partial(Sequences, draw_copy),
    "reverse": partial(Sequences, draw_reverse),
    "sort": partial(Sequences, draw_sort),
    "successor": partial(Sequences, draw_successor),
    "recall": partial(Sequences, draw_recall),
}


def open_task(cfg: RunConfig, device: torch.device | str) -> TaskData:
    """The data of a configuration's task, on a device."""
    return DATASETS[cfg.task](cfg, torch.device(device))
