"""The rules of all findings by id: severity, threshold and source. docs/recorder.md lists the remedies."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from addnorm.format import NON_FINITE, encode_number

SEVERITIES = ("note", "warning", "error")
MAX_TEXT_CHARS = 5000  # of each text of a finding in a file
MAX_VALUES = 32  # numbers of a finding in a file


@dataclass(frozen=True)
class Criterion:
    """The rule of a finding. `threshold`: a bound on a measured number; docs/recorder.md has its unit."""

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
    """A finding, the step when it began, and the numbers measured when its sentence was formed."""

    id: str
    since: int
    sentence: str
    numbers: Mapping[str, float | str]
    severity: str
    threshold: float
    reference: str

    @classmethod
    def from_rule(cls, rule: str, since: int, sentence: str, **numbers: float | str) -> Diagnostic:
        criterion = RULES[rule]
        return cls(rule, since, sentence, numbers, criterion.severity, criterion.threshold, criterion.reference)

    def as_json(self) -> dict[str, Any]:
        """The finding's entry in a file, without its id."""
        numbers = {
            name: value if isinstance(value, str) else encode_number(value) for name, value in self.numbers.items()
        }
        return {
            "severity": self.severity,
            "since": self.since,
            "sentence": self.sentence,
            "numbers": numbers,
            "threshold": self.threshold,
            "reference": self.reference,
        }


Change = tuple[int, Diagnostic | None]  # the step from which a finding holds; None: from which it no longer does


def parse_finding_changes(entry: Any, last_step: int) -> dict[str, list[Change]]:
    """The changes of findings in a line, by id, up to the last step. Anything malformed is left out."""
    by_rule: dict[str, list[Change]] = {}
    for rule, changes in entry.items() if isinstance(entry, dict) else ():
        for change in changes if isinstance(changes, list) else ():
            if not isinstance(change, list) or len(change) != 2:
                continue
            step, finding_entry = change
            if _is_step(step) and step <= last_step:
                finding = _parse_finding(rule, finding_entry)
                if finding is not None or finding_entry is None:
                    by_rule.setdefault(rule, []).append((int(step), finding))
    return by_rule


def sorted_by_severity(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings with the errors first, those of one severity in the order of RULES."""
    order = {rule: index for index, rule in enumerate(RULES)}

    def key(finding: Diagnostic) -> tuple[int, int, str]:
        return -SEVERITIES.index(finding.severity), order.get(finding.id, len(order)), finding.id

    return sorted(findings, key=key)


def unknown_rules_message(ids: Iterable[str]) -> str:
    """A sentence on the ids that no finding has; empty if there are none."""
    unknown = [rule for rule in ids if rule not in RULES]
    return f"{', '.join(map(str, unknown))} is no finding; there are {', '.join(RULES)}" if unknown else ""


def _is_step(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 and value == int(value)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARS


def _parse_finding(rule: str, entry: Any) -> Diagnostic | None:
    """A finding from its entry in a file; None for anything else."""
    if not isinstance(entry, dict) or not _is_text(rule) or entry.get("severity") not in SEVERITIES:
        return None
    sentence, reference, numbers = entry.get("sentence"), entry.get("reference"), entry.get("numbers")
    threshold, since = entry.get("threshold"), entry.get("since")
    if not _is_text(sentence) or not _is_text(reference) or not _is_step(since) or not _is_number(threshold):
        return None
    if not isinstance(numbers, dict) or len(numbers) > MAX_VALUES:
        return None
    values: dict[str, float | str] = {}
    for name, value in numbers.items():
        if _is_text(value):
            values[name] = NON_FINITE.get(value, value)
        elif _is_number(value):
            values[name] = float(value)
    return Diagnostic(rule, int(since), sentence, values, entry["severity"], float(threshold), reference)
