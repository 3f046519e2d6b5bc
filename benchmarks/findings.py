"""Whether the recorder finds the bugs that are put into healthy loops, and nothing in those, beside other tools."""

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from addnorm import read
from addnorm import watch as record
from benchmarks.bugs import ARCHITECTURES, BUGS, HEALTHY, Case, Training, trained
from benchmarks.report import Figure

SEEDS = 5
HITS, FALSE_ALARMS = 0.95, 0.0  # the goals

Watched = Callable[[Training], Any]
Tell = Callable[[Any], object]


def ours(training: Training, found: set[str]) -> Any:
    """`addnorm.watch`: the ids of its findings at the last row."""

    @contextmanager
    def watched() -> Iterator[Tell]:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with record(training.model, Path(folder) / "run.jsonl", optimizer=training.optimizer) as recorder:
                yield recorder.loss
            found.update(finding.id for finding in read(recorder.path).findings)

    return watched()


def torchmortem(training: Training, found: set[str]) -> Any:
    """Its `Autopsy`: what it calls a warning or critical."""
    other: Any = import_module("torchmortem")

    @contextmanager
    def watched() -> Iterator[Tell]:
        autopsy: Any = other.Autopsy(training.model, optimizer=training.optimizer, sampling="thorough")
        with autopsy:
            yield lambda loss: autopsy.step(loss=loss.item())
        report = autopsy.analyze() if hasattr(autopsy, "analyze") else autopsy._report
        found.update(one.category for one in report.findings if one.severity.name in {"WARNING", "CRITICAL"})
        autopsy._report_generated = True

    return watched()


def torch_audit(training: Training, found: set[str]) -> Any:
    """Its `autopatch`, at every step: what it calls a warning, an error or fatal."""
    other: Any = import_module("torch_audit")

    @contextmanager
    def watched() -> Iterator[Tell]:
        auditor: Any = other.autopatch(
            training.model, optimizer=training.optimizer, every_n_steps=1, reporters=[], fail_level="FATAL"
        )
        try:
            yield lambda loss: None
        finally:
            result = auditor.finish(report=False)
            auditor.unpatch()
        found.update(one.rule_id for one in result.findings if one.severity.name in {"WARN", "ERROR", "FATAL"})

    return watched()


CONTENDERS: dict[str, Callable[[Training, set[str]], Any]] = {
    "ours": ours, "torchmortem": torchmortem, "torch_audit": torch_audit,
}  # fmt: skip


def findings(
    bugs: Mapping[str, tuple[Case, tuple[str, ...]]] = BUGS,
    healthy: Mapping[str, Case] = HEALTHY,
    architectures: Iterable[str] = tuple(ARCHITECTURES),
    seeds: int = SEEDS,
) -> Iterator[Figure]:
    """The share of bugs that each tool finds, and of healthy loops that it finds something in.

    Ours has to find the bug by its id. Anything that another tool says of a bug counts as finding it, unless it says
    the same of the healthy loop.
    """
    places = [(architecture, seed) for architecture in architectures for seed in range(seeds)]
    plain = {place: {} for place in places}  # type: dict[tuple[str, int], dict[str, set[str]]]
    for tool, watch in CONTENDERS.items():
        if tool != "ours" and find_spec(tool) is None:
            yield Figure(f"bugs found, {tool}", None, note=f"{tool} is not installed")
            continue
        false: list[str] = []
        for name, case in healthy.items():
            for place in places:
                said = _said(case, place, watch)
                if case is healthy.get("Adam"):
                    plain[place][tool] = said
                false += [f"{name}, {place[0]}: {', '.join(sorted(said))}"] if said else []
        missed: list[str] = []
        for name, (case, ids) in bugs.items():
            for place in places:
                said = _said(case, place, watch)
                hit = said & set(ids) if tool == "ours" else said - plain[place].get(tool, set())
                missed += [] if hit else [f"{name}, {place[0]}"]
        count, loops = len(bugs) * len(places), len(healthy) * len(places)
        goals = (HITS, FALSE_ALARMS) if tool == "ours" else (None, None)
        yield Figure(
            f"bugs found, {tool}", 1 - len(missed) / max(1, count), at_least=goals[0],
            note=f"{count - len(missed)} of {count}{_some('missed', missed)}",
        )  # fmt: skip
        yield Figure(
            f"healthy loops with a finding, {tool}", len(false) / max(1, loops), at_most=goals[1],
            note=f"{len(false)} of {loops}{_some('such as', false)}",
        )  # fmt: skip


def _said(case: Case, place: tuple[str, int], watch: Callable[[Training, set[str]], Any]) -> set[str]:
    """What a tool says of a case; nothing where it ends the training."""
    found: set[str] = set()
    trained(case, *place, lambda training: watch(training, found))
    return found


def _some(what: str, cases: list[str]) -> str:
    return f"; {what} {' | '.join(dict.fromkeys(cases[:6]))}" if cases else ""
