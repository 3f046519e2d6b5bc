"""Questions about torch's own layers and the tasks, answered at once: a function each, or an exhibit's `measure.py`."""

from collections.abc import Callable
from typing import Any

import torch

from models.answers import TASK_EXAMPLES, WHO_IS_SEEN, Question
from models.exhibits import part, questions
from models.instruments.facts import who_is_seen
from models.instruments.task_examples import task_examples
from models.spec import RunConfig

Measure = Callable[..., Any]


def _answer(measure: Callable[[], Measure]) -> Callable[[RunConfig, dict[str, Any]], Any]:
    """Answers by a measurement, found when it is asked for, with a fixed seed."""

    def answer(_cfg: RunConfig, args: dict[str, Any]) -> Any:
        # torch's layers draw from the global generator, so its state is saved and restored.
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return measure()(**args)

    return answer


def _of_exhibit(question: Question[Any], kind: str, name: str) -> Callable[[], Measure]:
    return lambda: part(kind, name, "measure").MEASURES[question]


# Each takes the configuration and the caller's arguments, and returns the class that its question names.
QUESTIONS = {
    WHO_IS_SEEN.name: _answer(lambda: who_is_seen),
    TASK_EXAMPLES.name: _answer(lambda: task_examples),
} | {
    question.name: _answer(_of_exhibit(question, *exhibit))
    for question, exhibit in questions().items()
    if question.of_torch
}
