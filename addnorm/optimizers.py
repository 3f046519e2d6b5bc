"""The optimizers of a training loop: those that `watch` was given, the one whose updates are rows, and all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch import Tensor

from addnorm.weights import Sample


class Optimizers:
    """`choice`: an optimizer, several, or None. `strangers` names what has no hooks, and is left out.

    Of several, the first that steps leads: its updates are the rows. Others that step on the same gradients make one
    update with it, those with passes of their own are left to recordings of their own.
    """

    def __init__(self, choice: Any) -> None:
        values = choice.values() if isinstance(choice, Mapping) else choice
        several = list(values) if isinstance(values, Iterable) and not hasattr(choice, "param_groups") else [choice]
        unwrapped = [_unwrap(optimizer) for optimizer in several]
        self.watched = tuple(dict.fromkeys(optimizer for optimizer in unwrapped if optimizer is not None))
        pairs = zip(several, unwrapped, strict=True)
        strangers = [type(member).__name__ for member, optimizer in pairs if optimizer is None]
        self.strangers = strangers if choice is not None else []
        self.lead = self.watched[0] if len(self.watched) == 1 else None
        self.joint: list[torch.optim.Optimizer] = []  # those of one update with the lead
        self.in_turns: list[torch.optim.Optimizer] = []  # those with passes of their own
        self.others: WeakSet[torch.optim.Optimizer] = WeakSet()  # that have stepped and were not given
        self.closer: torch.optim.Optimizer | None = None  # whose step closes the row
        self.stepped: list[torch.optim.Optimizer] = []  # since the last row
        self._moved: list[torch.optim.Optimizer] = []
        self._is_same: WeakKeyDictionary[torch.optim.Optimizer, bool] = WeakKeyDictionary()
        self._parameters: dict[tuple[int, ...], list[Tensor]] = {}

    @property
    def first(self) -> torch.optim.Optimizer | None:
        return self.lead or next(iter(self.watched), None)

    @property
    def recorded(self) -> tuple[torch.optim.Optimizer, ...]:
        """Those whose updates are rows."""
        return self.watched if self.lead is None else (self.lead, *self.joint)

    def begins_row(self, optimizer: torch.optim.Optimizer, *, has_passes: bool) -> bool:
        """Whether the row ends at a step of a given optimizer. `has_passes`: since the last row."""
        if self.lead is None and has_passes:
            self.lead = optimizer
        if optimizer is self.lead:
            self.closer = optimizer
            return True
        self.note_step(optimizer)
        group = self.in_turns if has_passes else self.joint
        if self.lead is not None and optimizer not in (*self.in_turns, *self.joint):
            group.append(optimizer)
        return False

    def note_step(self, optimizer: torch.optim.Optimizer) -> None:
        if optimizer not in self.stepped:
            self.stepped.append(optimizer)

    def begin_row(self) -> None:
        """Begins a row: of the optimizers that have stepped, the one that closed the last row counts."""
        self._moved = [] if self.closer is None else [self.closer]
        self.closer = None
        self.stepped = []

    @property
    def is_alone(self) -> bool:
        """Whether one optimizer makes each update."""
        return len(self.watched) == 1

    def moved(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples of the matrices that the optimizers of the last update hold; all if they hold none of them."""
        ids = ids_of([*self._moved, *self.stepped])
        return [sample for sample in samples if id(sample.matrix) in ids] or list(samples)

    def resting(self) -> set[int]:
        """The ids of the parameters of optimizers whose parameters are all frozen at present: a GAN's rest in turns."""
        return ids_of(member for member in self.watched if not any(p.requires_grad for p in parameters_of(member)))

    def parameters(self) -> list[Tensor]:
        """The tensors that the recorded updates change."""
        key = tuple(len(group["params"]) for member in self.recorded for group in member.param_groups)
        if key not in self._parameters:
            self._parameters = {key: [p for member in self.recorded for p in parameters_of(member)]}
        return self._parameters[key]

    def is_same_update(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether an optimizer has the parameters of a given one: it is wrapped around that, or inside it."""
        if optimizer not in self._is_same:
            ids = ids_of([optimizer])
            self._is_same[optimizer] = any(ids == ids_of([member]) for member in self.watched)
        return self._is_same[optimizer]


def parameters_of(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


def ids_of(optimizers: Iterable[torch.optim.Optimizer]) -> set[int]:
    """The ids of all their parameters."""
    return {id(p) for optimizer in optimizers for p in parameters_of(optimizer)}


def _unwrap(optimizer: Any) -> torch.optim.Optimizer | None:
    """The optimizer inside wrappers such as accelerate's and Lightning's; None if it has no hooks."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = inner
    return optimizer if hasattr(optimizer, "_optimizer_step_pre_hooks") else None
