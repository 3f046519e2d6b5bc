"""Dashboards that are told a few numbers of each row: TensorBoard's `SummaryWriter`, a run of W&B or Trackio."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from addnorm.recording import Recording
from addnorm.words import measured_by_site

GROUP = "addnorm"


class Sinks:
    """Some dashboards by what they can do; ValueError for one that can do nothing. Called by the writer's thread."""

    def __init__(self, sinks: Iterable[Any]) -> None:
        self._sinks = list(sinks)
        self._defined = False
        self._verdict = ""
        self.problems: list[str] = []
        for sink in self._sinks:
            if not (hasattr(sink, "add_scalar") or hasattr(sink, "log")):
                raise ValueError(f"to: {type(sink).__name__} has neither add_scalar, as TensorBoard's writer, nor log")

    def tell(self, row: Recording, said: Mapping[str, Sequence[tuple[int, str]]]) -> None:
        """Passes on a row and what is new to be said with it. A dashboard that fails hears no more."""
        if not self._sinks:
            return
        if not self._defined:
            self._defined = True
            self._each(_define)
        for _, self._verdict in said.get("verdict", ()):
            pass
        numbers = numbers_of(row)
        verdict = self._verdict if any(row.known["sample_cosine"]) else ""
        self._each(lambda sink: _log(sink, row.steps[0], numbers, verdict))

    def _each(self, work: Callable[[Any], None]) -> None:
        for sink in tuple(self._sinks):
            try:
                work(sink)
            except Exception as error:
                self._sinks.remove(sink)
                self.problems.append(f"{type(sink).__name__} hears no more of the recording: {error}")


def numbers_of(row: Recording) -> dict[str, float]:
    """What a dashboard is told of a row: both ends, growth over depth, the gradient's on its way back, the update."""
    act, grad = ([value for _, value in measured_by_site(row, name, 0)] for name in ("act_rms", "grad_rms"))
    numbers: dict[str, float] = {}
    if act:
        numbers |= {"first_site": act[0], "last_site": act[-1], "growth_over_depth": _ratio(act[-1], act[0])}
    if grad:
        numbers["gradient_growth"] = _ratio(grad[0], grad[-1])
    if updates := [value for value in row.at("update_to_weight", 0) if value is not None]:
        numbers["largest_update"] = max(updates)
    return numbers


def _ratio(end: float, start: float) -> float:
    return end / start if start else math.nan if end == 0 else math.inf


def _define(sink: Any) -> None:
    """Gives a run of W&B a step of its own, for it counts its own logs."""
    if hasattr(sink, "define_metric"):
        sink.define_metric(f"{GROUP}/step")
        sink.define_metric(f"{GROUP}/*", step_metric=f"{GROUP}/step")


def _log(sink: Any, step: int, numbers: Mapping[str, float], verdict: str) -> None:
    if hasattr(sink, "add_scalar"):
        for name, value in numbers.items():
            sink.add_scalar(f"{GROUP}/{name}", value, step)
        if verdict and hasattr(sink, "add_text"):
            sink.add_text(f"{GROUP}/verdict", verdict, step)
        return
    texts = {f"{GROUP}/verdict": verdict} if verdict else {}
    told = {f"{GROUP}/step": step, **{f"{GROUP}/{name}": value for name, value in numbers.items()}, **texts}
    if hasattr(sink, "define_metric") or "step" not in signature(sink.log).parameters:
        sink.log(told)
    else:  # Trackio takes steps in any order, and counts logs where it is told none
        sink.log(told, step=step)
