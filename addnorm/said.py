"""What is said of a recording along its rows: sentences, each from the row from which it holds.

The recorder's writer makes them, row by row; whoever shows a recording takes them from the file. A sentence that
changes at every row, but only in its step or its loss, is a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from addnorm.findings import HELPS, Findings
from addnorm.law import law_at, law_in_words, likeness
from addnorm.rules import Change, Diagnostic, worst_first
from addnorm.words import LOSS, STEP, jumps, lost_at, updates, verdict, weights

if TYPE_CHECKING:
    from addnorm.recording import Recording

KINDS = (
    "findings", "helps", "ids", "jumps", "kind", "law", "like", "loss", "lost", "update", "verdict", "weight",
)  # fmt: skip


Said = dict[str, list[tuple[int, str]]]  # by kind, the steps from which sentences hold
HELPED = {"AN-N1", "AN-L1", "AN-U1", "AN-G1", "AN-S1"}  # findings of nets that HELPS may help


class Teller:
    """Hears the rows of one recording in order, and tells what is new at each.

    `heard`: how many; `findings`: what has been found up to the last.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.findings: tuple[Diagnostic, ...] = ()
        self._like = ""
        self._findings = Findings()
        self._last = dict.fromkeys(KINDS, "")

    def hear(self, recording: Recording, at: int) -> tuple[Said, dict[str, list[Change]]]:
        """What is new with a row: sentences by kind, and findings by id, each with the step from which it holds.

        `recording`: in which that row is; it need not hold those before, but for the first.
        """
        if not self.heard:
            self._like = likeness(recording)
        step, ignored = recording.steps[at], recording.header.get("ignored", ())
        before = {finding.id: finding for finding in self.findings}
        self.findings = tuple(found for found in self._findings.hear(recording, at) if found.id not in ignored)
        now = {finding.id: finding for finding in self.findings}
        news: dict[str, list[Change]] = {
            rule: [(step, now.get(rule))]
            for rule in sorted({**before, **now})
            if rule not in now or rule not in before or before[rule].sentence != now[rule].sentence
        }
        lost = now["AN-N1"].sentence if "AN-N1" in now else ""
        first = lost and "AN-N1" not in before
        helps = f"Small nets that start like it learn with {HELPS[self._like]}." if self._like in HELPS else ""
        sentences = {
            "findings": " ".join(finding.sentence for finding in self.findings if finding.id != "AN-N1"),
            "helps": helps if HELPED & now.keys() else "",
            "ids": _ids(self.findings),
            "jumps": jumps(recording, at),
            "kind": "diverged" if lost_at(recording, at) else "",
            "law": law_in_words(law_at(recording, at), self._like, later=self.heard > 0),
            "like": self._like,
            "loss": _loss(recording, at),
            "lost": lost,
            "update": updates(recording, at) or self._last["update"],
            "verdict": verdict(recording, at),
            "weight": weights(recording, at),
        }
        self.heard += 1
        changes = changed(self._last, sentences, step)
        if first:  # whoever looks at an earlier row is told it too
            changes |= {kind: [(0, sentences[kind])] for kind in ("helps", "lost") if sentences[kind]}
        return changes, news


def changed(last: dict[str, str], sentences: Mapping[str, str], step: int) -> dict[str, list[tuple[int, str]]]:
    """The sentences that differ from the last ones, which they become."""
    changes = {kind: [(step, sentence)] for kind, sentence in sentences.items() if sentence != last.get(kind)}
    last |= sentences
    return changes


def _loss(recording: Recording, at: int) -> str:
    if not recording.measured("loss", at)[0]:
        return ""
    told = f", the sum of the {recording.summed[at]} told" if at in recording.summed else ""
    return f"Step {STEP}: loss {LOSS}{told}."


def _ids(findings: tuple[Diagnostic, ...]) -> str:
    """The ids of findings, by which they are looked up and switched off."""
    return f"({', '.join(f'{one.id} {one.severity}' for one in worst_first(findings))})" if findings else ""
