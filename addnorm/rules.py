"""The criteria of all findings by id: severity, threshold, remedy and source."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from addnorm.format import NON_FINITE, encode_number

SEVERITIES = ("note", "warning", "error")
MAX_TEXT_CHARS = 5000  # of each text of a finding in a file
MAX_NUMBERS = 32  # of a finding in a file


@dataclass(frozen=True)
class Criterion:
    """When a finding is reported. `threshold`: a bound on a measured number; docs/recorder.md has its unit."""

    severity: str
    threshold: float
    remedy: str
    reference: str


# By finding id, in order of urgency.
RULES = {
    # A number of the row is not finite.
    "AN-N1": Criterion(
        "error", 0, "`recorder.on` and `profile` name the operation; lower the learning rate, or use bfloat16 or "
        "float32 in place of float16",
        "Micikevicius 2018, 1710.03740",
    ),
    # The model was given an input that is not finite.
    "AN-N2": Criterion(
        "error", 0, "clean the data: the model is not to blame",
        "Goldberg 1991, What Every Computer Scientist Should Know About Floating-Point",
    ),
    # Gradients of the previous step are not cleared.
    "AN-G3": Criterion(
        "error", 3, "call `optimizer.zero_grad()` in every step",
        "Qian 1999, On the momentum term in gradient descent",
    ),
    # zero_grad between the small batches of a step throws gradients away.
    "AN-G4": Criterion(
        "error", 10, "call `zero_grad` once per update, before its first small batch", "Goyal 2017, 1706.02677",
    ),
    # The loss is computed from probabilities where it expects logits.
    "AN-L2": Criterion(
        "error", 0, "give the loss the logits: it applies softmax or sigmoid itself",
        "Bridle 1990, NIPS 2, pp. 211-217",
    ),
    # The graph is cut: no matrix before the cut receives a gradient.
    "AN-G2": Criterion(
        "warning", 0, "remove it; to keep parts fixed, call `requires_grad_(False)` on them",
        "Bengio 2013, 1308.3432",
    ),
    # The learning rate is and stays 0.
    "AN-R1": Criterion(
        "error", 20, "check the rate and its schedule: `scheduler.step()` comes after `optimizer.step()`",
        "Loshchilov 2017, 1608.03983",
    ),
    # Updates are larger than the weights.
    "AN-U2": Criterion(
        "error", 2, "lower the learning rate tenfold, and raise it slowly over the first steps",
        "You 2017, 1708.03888; Goyal 2017, 1706.02677",
    ),
    # Matrices receive gradients that no update uses.
    "AN-W3": Criterion(
        "warning", 20, "give the optimizer all of `model.parameters()`, and build it after the model is complete; to "
        "keep parts fixed, call `requires_grad_(False)` on them", "Howard 2018, 1801.06146",
    ),
    # A block lacks the skip that its peers have.
    "AN-B1": Criterion(
        "warning", 2, "add the block's input to its output, as its peers do: `x = x + block(x)`", "He 2016, 1603.05027",
    ),
    # Trained matrices receive no gradient.
    "AN-W1": Criterion(
        "warning", 20, "call the modules that are never called; balance the router; reinitialise dead units",
        "Shazeer 2017, 1701.06538",
    ),
    # Two matrices start with equal numbers.
    "AN-I1": Criterion(
        "warning", 0, "initialise each layer anew (`reset_parameters`): `nn.TransformerEncoder` copies the one that it "
        "is given", "Goodfellow 2016, Deep Learning, 8.4",
    ),
    # The first loss is far above that of guessing.
    "AN-L3": Criterion(
        "warning", 2, "start with small logits: initialise the last matrix, or an embedding tied to it, with a "
        "standard deviation of 0.02, or put a norm before it",
        "Radford 2019, Language Models are Unsupervised Multitask Learners, 2.3",
    ),
    # The gradient before clipping has grown.
    "AN-C2": Criterion(
        "warning", 100, "look at the batches and at the loss of that step; clipping alone hides it",
        "Pascanu 2013, 1211.5063",
    ),
    # Clipping shrinks every gradient by a large factor.
    "AN-C1": Criterion(
        "warning", 30, "raise the limit, or lower the learning rate: every update has the same length",
        "Zhang 2020, 1905.11881",
    ),
    # Gradients of small batches add up to a sum of means.
    "AN-G5": Criterion(
        "warning", 3, "divide each small batch's loss by their number before `backward`", "Goyal 2017, 1706.02677",
    ),
    # The input stays the same while the targets change.
    "AN-D1": Criterion(
        "warning", 5, "look at what feeds the model: a batch that is drawn once, or a buffer that is never filled",
        "Sculley 2015, Hidden Technical Debt in Machine Learning Systems",
    ),
    # Low precision rounds updates away.
    "AN-U3": Criterion(
        "warning", 0.9, "keep the weights in float32 and compute in bfloat16 under `torch.autocast`, or round "
        "stochastically", "Micikevicius 2018, 1710.03740; Zamirai 2020, 2010.06192",
    ),
    # The loss rises, or has never fallen.
    "AN-L1": Criterion(
        "warning", 0.02, "lower the learning rate if it rises; if it never fell, check that the labels match the "
        "inputs, and try another rate", "Prechelt 1998, Early Stopping - But When?",
    ),
    # An update hardly changes a block.
    "AN-U1": Criterion(
        "warning", 1e-5, "look for a frozen block, a lost gradient, a rate that is too small", "You 2017, 1708.03888",
    ),
    # The gradient vanishes on its way back.
    "AN-G1": Criterion(
        "warning", 30, "add a skip around every block, or move the norm into the branch",
        "Bengio 1994; Pascanu 2013, 1211.5063",
    ),
    # Different inputs end in nearly one direction.
    "AN-S1": Criterion(
        "warning", 0.95, "add a skip around every block", "Poole 2016, 1606.05340; Dong 2021, 2103.03404",
    ),
    # A few numbers of the signal dwarf all others.
    "AN-S3": Criterion(
        "note", 100, "in float16 and int8 they cost precision: keep that site in float32, or add a norm before it",
        "Dettmers 2022, 2208.07339; Sun 2024, 2402.17762",
    ),
    # Matrices frozen at the start receive a gradient.
    "AN-W2": Criterion(
        "note", 0, "nothing, if that is intended; call `watch` again after that step to have them among the blocks",
        "Howard 2018, 1801.06146",
    ),
    # A module is called another number of times than in the first pass.
    "AN-S2": Criterion("note", 1, "take its sites to be those of the first calls", "Bai 2019, 1909.01377"),
}  # fmt: skip


@dataclass(frozen=True)
class Diagnostic:
    """A finding: its id, the step when it began, its sentence with the measured numbers, and its criterion.

    `place`: the module or operation where it was seen, empty where it is the loop's. `remedy`: what to do.
    """

    id: str
    since: int
    sentence: str
    numbers: Mapping[str, float | str]
    severity: str
    threshold: float
    reference: str
    remedy: str
    place: str = ""

    @classmethod
    def from_rule(
        cls, rule_id: str, since: int, sentence: str, *, place: str = "", **numbers: float | str
    ) -> Diagnostic:
        rule = RULES[rule_id]
        return cls(rule_id, since, sentence, numbers, rule.severity, rule.threshold, rule.reference, rule.remedy, place)

    @property
    def advice(self) -> str:
        """The remedy as a sentence."""
        return f"What to do: {self.remedy}." if self.remedy else ""

    def as_json(self) -> dict[str, Any]:
        """The finding's entry in a file, without its id."""
        numbers = {
            name: value if isinstance(value, str) else encode_number(value) for name, value in self.numbers.items()
        }
        return {
            "severity": self.severity,
            "since": self.since,
            "sentence": self.sentence,
            "place": self.place,
            "remedy": self.remedy,
            "numbers": numbers,
            "threshold": self.threshold,
            "reference": self.reference,
        }


Change = tuple[int, Diagnostic | None]  # step, and the finding from this step on; None if it ended at this step


def parse_finding_changes(entry: Any, last_step: int) -> dict[str, list[Change]]:
    """The changes of findings in a line, by id, up to the last step. Anything malformed is left out."""
    changes_by_id: dict[str, list[Change]] = {}
    for rule_id, step, finding_entry in _change_entries(entry):
        if not _is_step(step) or step > last_step:
            continue
        finding = _parse_finding(rule_id, finding_entry)
        if finding is not None or finding_entry is None:
            changes_by_id.setdefault(rule_id, []).append((int(step), finding))
    return changes_by_id


def _change_entries(entry: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Id, step and finding of each change in a line's entry, not yet checked; lists of another form are left out."""
    if not isinstance(entry, dict):
        return
    for rule_id, changes in entry.items():
        if not isinstance(changes, list):
            continue
        for change in changes:
            if isinstance(change, list) and len(change) == 2:
                yield rule_id, *change


def sorted_by_severity(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings with the errors first, those of one severity in the order of RULES."""
    order = {rule_id: index for index, rule_id in enumerate(RULES)}

    def key(finding: Diagnostic) -> tuple[int, int, str]:
        return -SEVERITIES.index(finding.severity), order.get(finding.id, len(order)), finding.id

    return sorted(findings, key=key)


def unknown_rules_message(ids: Iterable[str]) -> str:
    """Error message naming the ids that no finding has; empty if there are none."""
    unknown = [rule_id for rule_id in ids if rule_id not in RULES]
    return f"{', '.join(map(str, unknown))} is not a finding; there are {', '.join(RULES)}" if unknown else ""


def _is_step(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 and value == int(value)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARS


def _parse_finding(rule_id: str, entry: Any) -> Diagnostic | None:
    """A finding from its entry in a file; None for anything else."""
    if not isinstance(entry, dict) or not _is_text(rule_id) or entry.get("severity") not in SEVERITIES:
        return None
    sentence, reference, numbers = entry.get("sentence"), entry.get("reference"), entry.get("numbers")
    threshold, since = entry.get("threshold"), entry.get("since")
    if not _is_text(sentence) or not _is_text(reference) or not _is_step(since) or not _is_number(threshold):
        return None
    if not isinstance(numbers, dict) or len(numbers) > MAX_NUMBERS:
        return None
    values: dict[str, float | str] = {}
    for name, value in numbers.items():
        if _is_text(value):
            values[name] = NON_FINITE.get(value, value)
        elif _is_number(value):
            values[name] = float(value)
    remedy, place = (text if _is_text(text := entry.get(key)) else "" for key in ("remedy", "place"))
    return Diagnostic(
        rule_id, int(since), sentence, values, entry["severity"], float(threshold), reference, remedy, place
    )
