"""Forms the sentences and findings of a recording row by row, and returns those that change.

The recorder's writer calls it; readers take the sentences from the file. A sentence that would change at every row only
in its step or its loss is a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from addnorm.findings import HELPS, Findings
from addnorm.law import law_of_stream, law_sentence, starting_arrangement, stream_of
from addnorm.rules import MAX_TEXT_CHARS, Change, Diagnostic, sorted_by_severity
from addnorm.words import LOSS, STEP, first_non_finite, jump_sentence, update_sentence, verdict, weight_sentence

if TYPE_CHECKING:
    from addnorm.recording import Recording

KINDS = (
    "findings", "helps", "ids", "jumps", "kind", "law", "like", "loss", "lost", "update", "verdict", "weight",
)  # fmt: skip
IDS_WITH_REMEDY = {"AN-N1", "AN-L1", "AN-U1", "AN-G1", "AN-S1"}  # ids of findings for which HELPS has a remedy

SentenceChanges = dict[str, list[tuple[int, str]]]  # by kind: the step from which a sentence holds, and the sentence
FindingChanges = dict[str, list[Change]]  # by id


class Narrator:
    """Forms the sentences and findings of a recording, row by row.

    `rows` is the number of rows so far, `findings` has the findings up to the last of them.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.findings: tuple[Diagnostic, ...] = ()
        self._arrangement = ""
        self._stream: list[int] = []  # indices of the sites over which the signal's law is inferred
        self._checks = Findings()
        self._last = dict.fromkeys(KINDS, "")

    def add_row(self, recording: Recording, row: int) -> tuple[SentenceChanges, FindingChanges]:
        """The sentences and findings that change with the next row of a recording.

        `recording` may consist of that row alone.
        """
        if not self.rows:
            self._arrangement = starting_arrangement(recording)
            self._stream = stream_of(recording.sites)
        step = recording.steps[row]
        ignored = recording.header.get("ignored", ())
        previous = {finding.id: finding for finding in self.findings}
        self.findings = tuple(finding for finding in self._checks.check(recording, row) if finding.id not in ignored)
        current = {finding.id: finding for finding in self.findings}
        sentences = self._sentences(recording, row, current)
        self.rows += 1
        changes = update_sentences(self._last, sentences, step)
        if "AN-N1" in current and "AN-N1" not in previous:  # its sentences hold from the first row
            changes |= {kind: [(0, sentences[kind])] for kind in ("helps", "lost") if sentences[kind]}
        return changes, finding_changes(previous, current, step)

    def _sentences(self, recording: Recording, row: int, findings: Mapping[str, Diagnostic]) -> dict[str, str]:
        helps = ""
        if self._arrangement in HELPS and IDS_WITH_REMEDY & findings.keys():
            helps = f"Small nets that start like it learn with {HELPS[self._arrangement]}."
        signal = recording.row("act_rms", row)
        law = law_of_stream([signal[site] for site in self._stream])
        return {
            "findings": " ".join(text for finding in findings.values() for text in _texts(finding))[:MAX_TEXT_CHARS],
            "helps": helps,
            "ids": _id_list(findings.values()),
            "jumps": jump_sentence(recording, row),
            "kind": "diverged" if first_non_finite(recording, row) else "",
            "law": law_sentence(law, self._arrangement, is_later=self.rows > 0),
            "like": self._arrangement,
            "loss": _loss_template(recording, row),
            "lost": findings["AN-N1"].sentence if "AN-N1" in findings else "",
            "update": update_sentence(recording, row) or self._last["update"],
            "verdict": verdict(recording, row),
            "weight": weight_sentence(recording, row),
        }


def update_sentences(last: dict[str, str], sentences: Mapping[str, str], step: int) -> SentenceChanges:
    """Stores the sentences of a row in `last`, and returns those that have changed."""
    changes = {kind: [(step, sentence)] for kind, sentence in sentences.items() if sentence != last.get(kind)}
    last |= sentences
    return changes


def finding_changes(previous: Mapping[str, Diagnostic], current: Mapping[str, Diagnostic], step: int) -> FindingChanges:
    """The findings, by id, that are new, have another sentence or no longer hold."""
    changes: FindingChanges = {}
    for rule in sorted({**previous, **current}):
        is_same = rule in previous and rule in current and previous[rule].sentence == current[rule].sentence
        if not is_same:
            changes[rule] = [(step, current.get(rule))]
    return changes


def _loss_template(recording: Recording, row: int) -> str:
    if not recording.measured("loss", row)[0]:
        return ""
    return f"Step {STEP}: loss {LOSS}{recording.shares_note(row)}."


def _texts(finding: Diagnostic) -> tuple[str, ...]:
    """A finding's sentence and its remedy. The sentence `lost` is that of AN-N1, and holds at earlier rows too."""
    return (finding.advice,) if finding.id == "AN-N1" else (finding.sentence, finding.advice)


def _id_list(findings: Iterable[Diagnostic]) -> str:
    listed = ", ".join(f"{finding.id} {finding.severity}" for finding in sorted_by_severity(findings))
    return f"({listed})" if listed else ""
