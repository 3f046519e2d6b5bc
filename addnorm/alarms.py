"""Alarms while a model trains: a jump between neighbouring sites, a number that is not finite, a loss that stalls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from addnorm.findings import LAST, stalled, stalled_in_words
from addnorm.recording import Recording
from addnorm.words import jump_in_words, largest_jump, lost_at, not_finite

FACTOR = 100.0  # between neighbouring sites, from which a change is a jump


@dataclass(frozen=True)
class Alarm:
    """What has happened. `kind`: "signal", "gradient", "not finite" or "loss"; `operation`: what made the number."""

    kind: str
    step: int
    site: str
    sentence: str
    operation: str = ""


class Alarms:
    """Looks at rows as they come, and rings once for each kind and direction."""

    def __init__(self, ring: Callable[[Alarm], object], factor: float) -> None:
        if not factor > 1:
            raise ValueError(f"factor: {factor} is not above 1")
        self._ring, self._factor = ring, factor
        self._rung: set[str] = set()
        self._waiting: list[Alarm] = []
        self._losses: list[float] = []
        self._steps: list[int] = []

    def look(self, row: Recording, operation: Callable[[str, str], str]) -> None:
        """Looks at a recording of one row. `operation`: what made the number that is lost, of a site."""
        step = row.steps[0]
        if (lost := lost_at(row, 0)) is not None:
            if not row.skipped and "not finite" not in self._rung:
                made = operation(*lost)
                words = not_finite(row, 0).removesuffix(".") + (f"; {made} made it." if made else ".")
                self._add("not finite", Alarm("not finite", step, lost[1], words, made))
            return
        for name, kind in (("act_rms", "signal"), ("grad_rms", "gradient")):
            site, start, end = largest_jump(row, name, 0)
            if max(start, end) > self._factor * min(start, end):
                words = jump_in_words(name, site, start, end)
                sentence = f"{words[0].upper()}{words[1:]}, in step {step}."
                self._add(f"{kind} {'grows' if end > start else 'falls'}", Alarm(kind, step, site, sentence))

    def hear(self, step: int, loss: float) -> None:
        """Takes the loss of a step, which may be told after its row."""
        if not math.isfinite(loss):
            sentence = f"The first number that is not finite is the loss of step {step}."
            self._add("not finite", Alarm("not finite", step, "", sentence))
            return
        self._losses.append(loss)
        self._steps.append(step)
        if "loss" in self._rung or len(self._losses) % LAST or (stall := stalled(self._losses)) is None:
            return
        place, then, now = stall
        self._add("loss", Alarm("loss", step, "", stalled_in_words(self._steps[place], then, now)))

    def ring(self) -> None:
        """Calls whoever asked, with what has been found. What the call raises goes on to the training."""
        while self._waiting:
            self._ring(self._waiting.pop(0))

    def _add(self, cause: str, alarm: Alarm) -> None:
        if cause not in self._rung:
            self._rung.add(cause)
            self._waiting.append(alarm)
