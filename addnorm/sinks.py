"""Dashboards that receive a few numbers of each row: TensorBoard's `SummaryWriter`, runs of W&B and Trackio."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from addnorm.recording import Recording
from addnorm.words import site_values

GROUP = "addnorm"


class Sinks:
    """Dashboards, recognised by their methods. Raises ValueError for an object that is none."""

    def __init__(self, sinks: Iterable[Any]) -> None:
        self._sinks = list(sinks)
        self._is_defined = False
        self._verdict = ""
        self.problems: list[str] = []
        for sink in self._sinks:
            if not (hasattr(sink, "add_scalar") or hasattr(sink, "log")):
                raise ValueError(f"to: {type(sink).__name__} has neither add_scalar, as TensorBoard's writer, nor log")

    def log_row(self, row: Recording, sentences: Mapping[str, Sequence[tuple[int, str]]]) -> None:
        """Logs a row and its verdict; called by the writer's thread. A dashboard that fails receives no more."""
        if not self._sinks:
            return
        if not self._is_defined:
            self._is_defined = True
            self._for_each(_define_step_metric)
        if verdicts := sentences.get("verdict"):
            _, self._verdict = verdicts[-1]
        numbers = dashboard_numbers(row)
        verdict = self._verdict if any(row.measured("sample_cosine", 0)) else ""
        self._for_each(lambda sink: _log(sink, row.steps[0], numbers, verdict))

    def _for_each(self, action: Callable[[Any], None]) -> None:
        for sink in tuple(self._sinks):
            try:
                action(sink)
            except Exception as error:
                self._sinks.remove(sink)
                self.problems.append(f"{type(sink).__name__} hears no more of the recording: {error}")


def dashboard_numbers(row: Recording) -> dict[str, float]:
    """Numbers of a row for dashboards, by name: signal at both ends, growth over depth, largest update."""
    act = [value for _, value in site_values(row, "act_rms", 0)]
    grad = [value for _, value in site_values(row, "grad_rms", 0)]
    updates = [value for value in row.values_at("update_to_weight", 0) if value is not None]
    numbers: dict[str, float] = {}
    if act:
        numbers |= {"first_site": act[0], "last_site": act[-1], "growth_over_depth": _ratio(act[-1], act[0])}
    if grad:
        numbers["gradient_growth"] = _ratio(grad[0], grad[-1])
    if updates:
        numbers["largest_update"] = max(updates)
    return numbers


def _ratio(end: float, start: float) -> float:
    if not start:
        return math.nan if end == 0 else math.inf
    return end / start


def _define_step_metric(sink: Any) -> None:
    """Gives our metrics an x axis of their own in W&B, whose default axis counts all logs."""
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
    entries: dict[str, Any] = {f"{GROUP}/step": step}
    entries |= {f"{GROUP}/{name}": value for name, value in numbers.items()}
    if verdict:
        entries[f"{GROUP}/verdict"] = verdict
    if hasattr(sink, "define_metric") or "step" not in signature(sink.log).parameters:
        sink.log(entries)
    else:  # Trackio takes steps in any order, and counts its own logs without one
        sink.log(entries, step=step)
