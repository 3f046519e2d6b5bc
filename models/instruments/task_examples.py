"""Samples of every task, for the small pictures by which a page offers them."""

import numpy as np

from models.answers import TaskExamples
from models.spec import TASKS, RunConfig
from models.tasks import alphabet, open_task
from models.tasks.base import NO_LOSS
from models.tasks.digits import HELD_OUT, SIDE, first_of_each_digit, images

POINTS, DIGITS, TOKENS = 45, 9, 16  # of each task


def task_examples() -> TaskExamples:
    """The first held-out samples: points of the plane and their classes, images, or tokens and their answers."""
    inputs: dict[str, np.ndarray] = {}
    answers: dict[str, np.ndarray] = {}
    for name, task in TASKS.items():
        x, y = (held_out.numpy() for held_out in open_task(RunConfig(task=name), "cpu").held_out)
        if task.kind == "points":
            inputs[name], answers[name] = x[:POINTS, 0], y[:POINTS, 0]
        elif task.kind == "image":
            shown = first_of_each_digit()[:DIGITS]
            inputs[name], answers[name] = images()[0][-HELD_OUT:][shown].reshape(-1, SIDE, SIDE), y[shown, -1]
        else:
            inputs[name], answers[name] = x[0, :TOKENS], y[0, y[0] != NO_LOSS][:TOKENS]
    return TaskExamples(inputs, answers, alphabet())
