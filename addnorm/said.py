"""What is said of a recording along its rows: sentences, each from the row from which it holds.

The recorder's writer makes them, row by row; whoever shows a recording takes them from the file. A sentence that
changes at every row, but only in its step or its loss, is a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from addnorm.findings import HELPS, Findings
from addnorm.law import law_at, law_in_words, likeness
from addnorm.words import LOSS, STEP, jumps, lost_at, not_finite, updates, verdict, weights

if TYPE_CHECKING:
    from addnorm.recording import Recording

KINDS = (
    "findings", "helps", "jumps", "kind", "law", "like", "loss", "lost", "update", "verdict", "weight",
)  # fmt: skip


class Teller:
    """Hears the rows of one recording in order, and tells what is new at each. `heard`: how many."""

    def __init__(self) -> None:
        self.heard = 0
        self._like = ""
        self._findings = Findings()
        self._last = dict.fromkeys(KINDS, "")

    def hear(self, recording: Recording, at: int) -> dict[str, list[tuple[int, str]]]:
        """The sentences that are new with a row, by kind, each with the step from which it holds.

        `recording`: in which that row is; it need not hold those before, but for the first.
        """
        if not self.heard:
            self._like = likeness(recording)
        helps = f"Small nets that start like it learn with {HELPS[self._like]}." if self._like in HELPS else ""
        findings = self._findings.hear(recording, at)
        first = "" if self._last["lost"] else not_finite(recording, at)
        lost = first or self._last["lost"]
        sentences = {
            "findings": findings,
            "helps": helps if findings or lost else "",
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
        changes = changed(self._last, sentences, recording.steps[at])
        if first:  # whoever looks at an earlier row is told it too
            changes |= {kind: [(0, sentences[kind])] for kind in ("helps", "lost") if sentences[kind]}
        return changes


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
