"""What a recording can be found to have: of each finding its id, severity, threshold and source.

docs/recorder.md says what to do about each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from addnorm.format import NON_FINITE, encoded

SEVERITIES = ("note", "warning", "error")
MAX_TEXT_CHARS, MAX_VALUES = 5000, 32  # of a finding in a file


@dataclass(frozen=True)
class Criterion:
    """When a finding is made. `threshold`: the number that what was measured has passed; the manual gives its unit."""

    severity: str
    threshold: float
    reference: str


RULES = {
    "AN-N1": Criterion("error", 0, "Micikevicius 2018, 1710.03740"),
    "AN-N2": Criterion("error", 0, "Goldberg 1991, What Every Computer Scientist Should Know About Floating-Point"),
    "AN-G3": Criterion("error", 3, "Qian 1999, On the momentum term in gradient descent"),
    "AN-G2": Criterion("warning", 0, "Bengio 2013, 1308.3432"),
    "AN-W1": Criterion("warning", 20, "Shazeer 2017, 1701.06538"),
    "AN-I1": Criterion("warning", 0, "Goodfellow 2016, Deep Learning, 8.4"),
    "AN-C2": Criterion("warning", 100, "Pascanu 2013, 1211.5063"),
    "AN-C1": Criterion("warning", 30, "Zhang 2020, 1905.11881"),
    "AN-L1": Criterion("warning", 0.02, "Prechelt 1998, Early Stopping - But When?"),
    "AN-U1": Criterion("warning", 1e-5, "You 2017, 1708.03888"),
    "AN-G1": Criterion("warning", 30, "Bengio 1994; Pascanu 2013, 1211.5063"),
    "AN-S1": Criterion("warning", 0.95, "Poole 2016, 1606.05340; Dong 2021, 2103.03404"),
    "AN-W2": Criterion("note", 0, "Howard 2018, 1801.06146"),
    "AN-S2": Criterion("note", 1, "Bai 2019, 1909.01377"),
}


@dataclass(frozen=True)
class Diagnostic:
    """What has been found, since which step, and the numbers that were measured when its sentence was formed."""

    id: str
    since: int
    sentence: str
    numbers: Mapping[str, float | str]
    severity: str
    threshold: float
    reference: str

    @classmethod
    def of(cls, rule: str, since: int, sentence: str, **numbers: float | str) -> Diagnostic:
        """A finding by one of RULES."""
        made = RULES[rule]
        return cls(rule, since, sentence, numbers, made.severity, made.threshold, made.reference)

    def as_json(self) -> dict[str, Any]:
        """A finding as a file holds it below its id."""
        numbers = {name: one if isinstance(one, str) else encoded(one) for name, one in self.numbers.items()}
        return {
            "severity": self.severity,
            "since": self.since,
            "sentence": self.sentence,
            "numbers": numbers,
            "threshold": self.threshold,
            "reference": self.reference,
        }


Change = tuple[int, Diagnostic | None]  # the step from which a finding holds, or from which it does not


def changes_of(value: Any, last: int) -> dict[str, list[Change]]:
    """The findings of a line, by id, up to the last step; what is no finding is left out."""
    found: dict[str, list[Change]] = {}
    for rule, changes in value.items() if isinstance(value, dict) else ():
        for change in changes if isinstance(changes, list) else ():
            if isinstance(change, list) and len(change) == 2 and _is_step(change[0]) and change[0] <= last:
                entry = _finding_of(rule, change[1])
                if entry is not None or change[1] is None:
                    found.setdefault(rule, []).append((int(change[0]), entry))
    return found


def worst_first(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings with the errors first, otherwise in the order of RULES."""
    order = {rule: at for at, rule in enumerate(RULES)}
    return sorted(findings, key=lambda one: (-SEVERITIES.index(one.severity), order.get(one.id, len(order)), one.id))


def unknown_rules(ids: Iterable[str]) -> str:
    """Which of some ids no finding has, in a sentence; empty where all are known."""
    unknown = [one for one in ids if one not in RULES]
    return f"{', '.join(map(str, unknown))} is no finding; there are {', '.join(RULES)}" if unknown else ""


def _is_step(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 and value == int(value)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _finding_of(rule: str, entry: Any) -> Diagnostic | None:
    """A finding as a file holds it; None for anything else."""
    if not isinstance(entry, dict) or len(rule) > MAX_TEXT_CHARS or entry.get("severity") not in SEVERITIES:
        return None
    texts = [entry.get(key) for key in ("sentence", "reference")]
    numbers, threshold, since = entry.get("numbers"), entry.get("threshold"), entry.get("since")
    if not all(isinstance(one, str) and len(one) <= MAX_TEXT_CHARS for one in texts) or not _is_step(since):
        return None
    if not isinstance(numbers, dict) or len(numbers) > MAX_VALUES or not _is_number(threshold):
        return None
    values: dict[str, float | str] = {}
    for name, one in numbers.items():
        if isinstance(one, str) and len(one) <= MAX_TEXT_CHARS:
            values[name] = NON_FINITE.get(one, one)
        elif _is_number(one):
            values[name] = float(one)
    return Diagnostic(rule, int(since), str(texts[0]), values, entry["severity"], float(threshold), str(texts[1]))
