"""Sequence tasks, drawn anew for every batch: copy, reverse, sort and recall need attention, successor does not."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig
from models.spec.tasks import SYMBOLS
from models.tasks.base import HELD_OUT_SEED, NO_LOSS, Picture, Predict, TaskData, to_device

PAIRS = 8  # key-value pairs of `recall`
HELD_OUT = 64  # sequences
SHOWN = 4  # sequences in the picture

# (count, generator) -> (x, y), both (count, MAX_TOKENS)
Draw = Callable[[int, torch.Generator], tuple[Tensor, Tensor]]


def draw_copy(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then a copy of them."""
    question = _symbols(count, source)
    return _question_and_answer(question, question)


def draw_reverse(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same in reverse order."""
    question = _symbols(count, source)
    return _question_and_answer(question, question.flip(1))


def draw_sort(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same in ascending order."""
    question = _symbols(count, source)
    return _question_and_answer(question, question.sort(dim=1).values)


def draw_successor(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Thirty-two symbols s; the target of each is (s + 1) mod SYMBOLS."""
    x = torch.cat((_symbols(count, source), _symbols(count, source)), dim=1)
    return x, (x + 1) % SYMBOLS


def draw_recall(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Associative recall: eight distinct keys, each followed by its value, then the same pairs in another order.

    Keys are symbols 0 to 15, values 16 to 31. The second occurrence of a key has a loss; its class is value - 16.
    """
    key = _permutations(count, SYMBOLS, source)[:, :PAIRS]
    value = torch.randint(SYMBOLS, (count, PAIRS), generator=source)
    order = _permutations(count, PAIRS, source)
    repeated = torch.stack((key.gather(1, order), value.gather(1, order)), dim=2)
    pairs = torch.cat((torch.stack((key, value), dim=2), repeated), dim=1)
    y = torch.full((count, 4 * PAIRS), NO_LOSS)
    y[:, 2 * PAIRS :: 2] = repeated[..., 1]
    return (pairs + torch.tensor([0, SYMBOLS])).flatten(1), y


def _symbols(count: int, source: torch.Generator) -> Tensor:
    return torch.randint(SYMBOLS, (count, SYMBOLS), generator=source)


def _permutations(count: int, size: int, source: torch.Generator) -> Tensor:
    """`count` random permutations of 0 ... size - 1, (count, size)."""
    return torch.rand(count, size, generator=source).argsort(dim=1)


def _question_and_answer(question: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
    """Question and answer as one sequence; from the last symbol of the question on, the target is the next symbol."""
    x = torch.cat((question, answer), dim=1)
    y = torch.full_like(x, NO_LOSS)
    y[:, question.shape[1] - 1 : -1] = answer
    return x, y


class Sequences(TaskData):
    """Sequences of one of the tasks above."""

    def __init__(self, draw_sequences: Draw, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.draw_sequences = draw_sequences

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        x, y = self.draw_sequences(count, source)
        return to_device(x, self.device), to_device(y, self.device)

    @cached_property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.draw(HELD_OUT, generator(HELD_OUT_SEED, "held out", self.cfg.task))

    def picture(self, predict: Predict) -> Picture:
        """The first SHOWN held-out sequences: `input`, `target` and `guess`, (SHOWN, T), -1 where there is no loss."""
        x, y = (held_out[:SHOWN] for held_out in self.held_out)
        guess, target = predict(x).argmax(-1).cpu().numpy(), y.cpu().numpy()
        has_loss = target != NO_LOSS
        return {
            "kind": "sequence",
            "input": x.cpu().numpy().astype(np.int8),
            "target": np.where(has_loss, target, -1).astype(np.int8),
            "guess": np.where(has_loss, guess, -1).astype(np.int8),
        }

    def first_picture(self, predict: Predict) -> Picture:
        return self.picture(predict)
