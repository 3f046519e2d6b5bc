"""Dashboards that receive a few numbers of each row, and every finding: TensorBoard, W&B, Trackio, a webhook."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any
from urllib.request import Request, urlopen

from addnorm.recording import Recording
from addnorm.rules import Change, Diagnostic
from addnorm.words import comparable_values

GROUP = "addnorm"
WEBHOOK_SECONDS = 5.0  # for which a webhook is waited for, in the writer's thread


class Webhook:
    """An address that is sent each finding as JSON, with a `text` that chats show."""

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"to: {address} is not a webhook's address, which begins with https://")
        self._address = address

    def send(self, step: int, finding: Diagnostic) -> None:
        content = {"text": alert_text(finding), "step": step, "id": finding.id, **finding.as_json()}
        headers = {"Content-Type": "application/json"}
        request = Request(self._address, json.dumps(content).encode(), headers)
        with urlopen(request, timeout=WEBHOOK_SECONDS):
            pass


def alert_text(finding: Diagnostic) -> str:
    """A finding as one text: what is so, where, and what to do."""
    place = f" At {finding.place}." if finding.place else ""
    return f"{finding.id} {finding.severity}: {finding.sentence}{place} {finding.advice}"


class Sinks:
    """Dashboards, recognised by their methods. Raises ValueError for an object that is none."""

    def __init__(self, sinks: Iterable[Any]) -> None:
        self._sinks = [Webhook(sink) if isinstance(sink, str) else sink for sink in sinks]
        self._alerted: set[str] = set()  # ids of the findings that were sent: each is sent once
        self._is_defined = False
        self._verdict = ""
        self.problems: list[str] = []
        for sink in self._sinks:
            if not (isinstance(sink, Webhook) or hasattr(sink, "add_scalar") or hasattr(sink, "log")):
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

    def alert(self, step: int, findings: Mapping[str, Sequence[Change]]) -> None:
        """Sends the findings that are new; called by the writer's thread."""
        for rule_id, changes in findings.items():
            finding = changes[-1][1]
            if finding is not None and rule_id not in self._alerted:
                self._alerted.add(rule_id)
                self._for_each(partial(_alert, step=step, finding=finding))

    def _for_each(self, action: Callable[[Any], None]) -> None:
        for sink in tuple(self._sinks):
            try:
                action(sink)
            except Exception as error:
                self._sinks.remove(sink)
                self.problems.append(f"{type(sink).__name__} gets no more of the recording: {error}")


def dashboard_numbers(row: Recording) -> dict[str, float]:
    """Numbers of a row for dashboards, by name: signal at both ends, growth over depth, largest update."""
    act = [value for _, value in comparable_values(row, "act_rms", 0)]
    grad = [value for _, value in comparable_values(row, "grad_rms", 0)]
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


def _alert(sink: Any, *, step: int, finding: Diagnostic) -> None:
    """An alert of W&B or Trackio, a text of TensorBoard, a message to a webhook."""
    if isinstance(sink, Webhook):
        sink.send(step, finding)
    elif hasattr(sink, "alert"):
        levels = {"note": "INFO", "warning": "WARN", "error": "ERROR"}
        parameters = signature(sink.alert).parameters
        level = {"level": levels[finding.severity]} if "level" in parameters else {}
        sink.alert(title=f"{finding.id} {finding.severity}", text=alert_text(finding), **level)
    elif hasattr(sink, "add_text"):
        sink.add_text(f"{GROUP}/{finding.id}", alert_text(finding), step)


def _log(sink: Any, step: int, numbers: Mapping[str, float], verdict: str) -> None:
    if isinstance(sink, Webhook):
        return
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
