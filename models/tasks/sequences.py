"""`copy`, `reverse`, `sort`, `recall` need attention, `successor` does not: sequences drawn afresh for every batch."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig
from models.spec.tasks import SYMBOLS
from models.tasks.base import HELD_OUT_SEED, NO_LOSS, Picture, Predict, TaskData, to_device

PAIRS = 8
HELD_OUT = 64
SHOWN = 4

# (count, generator) -> x, y, both (count, 32)
Draw = Callable[[int, torch.Generator], tuple[Tensor, Tensor]]


def draw_copy(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same again."""
    first = _symbols(count, source)
    return _answered(first, first)


def draw_reverse(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same backwards."""
    first = _symbols(count, source)
    return _answered(first, first.flip(1))


def draw_sort(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same in ascending order."""
    first = _symbols(count, source)
    return _answered(first, first.sort(dim=1).values)


def draw_successor(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Thirty-two symbols; the class of each is the symbol after its own, of the last the first."""
    x = torch.cat((_symbols(count, source), _symbols(count, source)), dim=1)
    return x, (x + 1) % SYMBOLS


def draw_recall(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Eight different keys, each followed by its value, then the same pairs in another order.

    Keys are symbols 0 to 15, values 16 to 31. The loss is taken where a key appears again; the class is value - 16.
    """
    key = _shuffled(count, SYMBOLS, source)[:, :PAIRS]
    value = torch.randint(SYMBOLS, (count, PAIRS), generator=source)
    order = _shuffled(count, PAIRS, source)
    asked = torch.stack((key.gather(1, order), value.gather(1, order)), dim=2)
    pairs = torch.cat((torch.stack((key, value), dim=2), asked), dim=1)
    y = torch.full((count, 4 * PAIRS), NO_LOSS)
    y[:, 2 * PAIRS :: 2] = asked[..., 1]
    return (pairs + torch.tensor([0, SYMBOLS])).flatten(1), y


def _symbols(count: int, source: torch.Generator) -> Tensor:
    return torch.randint(SYMBOLS, (count, SYMBOLS), generator=source)


def _shuffled(count: int, size: int, source: torch.Generator) -> Tensor:
    """`count` random orders of 0 ... size - 1."""
    return torch.rand(count, size, generator=source).argsort(dim=1)


def _answered(question: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
    """Question and answer as one sequence; the target is the next symbol, from the last of the question on."""
    x = torch.cat((question, answer), dim=1)
    y = torch.full_like(x, NO_LOSS)
    y[:, question.shape[1] - 1 : -1] = answer
    return x, y


class Sequences(TaskData):
    """Sequences by one of the rules above."""

    def __init__(self, rule: Draw, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.rule = rule

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        x, y = self.rule(count, source)
        return to_device(x, self.device), to_device(y, self.device)

    @cached_property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.draw(HELD_OUT, generator(HELD_OUT_SEED, "held out", self.cfg.task))

    def picture(self, predict: Predict) -> Picture:
        """SHOWN held-out sequences: `input`, `target` and `guess` (SHOWN, 32), with -1 where no loss is taken."""
        x, y = (held_out[:SHOWN] for held_out in self.held_out)
        guess, target = predict(x).argmax(-1).cpu().numpy(), y.cpu().numpy()
        taken = target != NO_LOSS
        return {
            "kind": "sequence",
            "input": x.cpu().numpy().astype(np.int8),
            "target": np.where(taken, target, -1).astype(np.int8),
            "guess": np.where(taken, guess, -1).astype(np.int8),
        }
