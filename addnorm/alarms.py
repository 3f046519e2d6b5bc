"""Alarms while a model trains: a jump between neighbouring sites, a non-finite number, a loss that rises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from addnorm.course import WINDOW_ROWS, find_rise
from addnorm.findings import rise_sentence
from addnorm.recording import Recording
from addnorm.words import capitalised, first_non_finite, jump_clause, largest_jump, non_finite_sentence

FACTOR = 100.0  # between neighbouring sites; a larger change is a jump


@dataclass(frozen=True)
class Alarm:
    """An event. `kind`: "signal", "gradient", "not finite" or "loss"; `operation`: the one that made the number."""

    kind: str
    step: int
    site: str
    sentence: str
    operation: str = ""


class Alarms:
    """Checks rows as they come, and raises each kind and direction of alarm once."""

    def __init__(self, callback: Callable[[Alarm], object], factor: float) -> None:
        if not factor > 1:
            raise ValueError(f"factor: {factor} is not above 1")
        self._callback = callback
        self._factor = factor
        self._raised: set[str] = set()
        self._pending: list[Alarm] = []
        self._losses: list[float] = []
        self._steps: list[int] = []

    def check_row(self, row: Recording, find_operation: Callable[[str], str]) -> None:
        """Checks a recording of one row. `find_operation` names the origin of a non-finite quantity."""
        step = row.steps[0]
        if (non_finite := first_non_finite(row, 0)) is not None:
            if not row.skipped and "not finite" not in self._raised:
                operation = find_operation(non_finite.quantity)
                end = f"; {operation} made it." if operation else "."
                sentence = non_finite_sentence(row, 0).removesuffix(".") + end
                self._add("not finite", Alarm("not finite", step, non_finite.place, sentence, operation))
            return
        for name, kind in (("act_rms", "signal"), ("grad_rms", "gradient")):
            jump = largest_jump(row, name, 0)
            if max(jump.start, jump.end) > self._factor * min(jump.start, jump.end):
                sentence = f"{capitalised(jump_clause(name, jump))}, in step {step}."
                direction = "grows" if jump.end > jump.start else "falls"
                self._add(f"{kind} {direction}", Alarm(kind, step, jump.site, sentence))

    def check_loss(self, step: int, loss: float) -> None:
        """Checks the loss of a step, which may come after its row."""
        if not math.isfinite(loss):
            sentence = f"The first number that is not finite is the loss of step {step}."
            self._add("not finite", Alarm("not finite", step, "", sentence))
            return
        self._losses.append(loss)
        self._steps.append(step)
        if "loss" in self._raised or len(self._losses) % WINDOW_ROWS:
            return
        if (rise := find_rise(self._losses)) is not None:
            self._add("loss", Alarm("loss", step, "", rise_sentence(self._steps[rise.row], rise)))

    def notify(self) -> None:
        """Calls the callback for each new alarm. Its exceptions reach the training loop."""
        while self._pending:
            self._callback(self._pending.pop(0))

    def _add(self, cause: str, alarm: Alarm) -> None:
        if cause not in self._raised:
            self._raised.add(cause)
            self._pending.append(alarm)
