"""Whether the recorder and other tools find bugs put into healthy loops, and find nothing in the healthy ones."""

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
from benchmarks.bugs import ARCHITECTURES, BUGS, HEALTHY, Case, Training, run_case
from benchmarks.report import Figure

SEEDS = 5
MIN_HITS = 0.95  # the goal: share of bugs found
MAX_FALSE_ALARMS = 0.0  # the goal: share of healthy loops with a finding

OnLoss = Callable[[Any], object]  # takes the loss of a step
Tool = Callable[[Training, set[str]], Any]  # a context in which the training runs; adds its alarms to the set


@contextmanager
def watch_with_addnorm(training: Training, alarms: set[str]) -> Iterator[OnLoss]:
    """Records the training, and adds the ids of the findings at the last row to `alarms`."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with record(training.model, Path(folder) / "run.jsonl", optimizer=training.optimizer) as recorder:
            yield recorder.loss
        alarms.update(finding.id for finding in read(recorder.path).findings)


@contextmanager
def watch_with_torchmortem(training: Training, alarms: set[str]) -> Iterator[OnLoss]:
    """Runs `Autopsy`, and adds the categories of its findings of severity "warning" or "critical" to `alarms`."""
    library: Any = import_module("torchmortem")
    autopsy: Any = library.Autopsy(training.model, optimizer=training.optimizer, sampling="thorough")
    with autopsy:
        yield lambda loss: autopsy.step(loss=loss.item())
    report = autopsy.analyze() if hasattr(autopsy, "analyze") else autopsy._report
    severe = [finding for finding in report.findings if finding.severity.name in {"WARNING", "CRITICAL"}]
    alarms.update(finding.category for finding in severe)
    autopsy._report_generated = True


@contextmanager
def watch_with_torch_audit(training: Training, alarms: set[str]) -> Iterator[OnLoss]:
    """Runs `autopatch` at every step, and adds the rules of its findings of severity "warn" or higher to `alarms`."""
    library: Any = import_module("torch_audit")
    auditor: Any = library.autopatch(
        training.model, optimizer=training.optimizer, every_n_steps=1, reporters=[], fail_level="FATAL"
    )
    try:
        yield lambda loss: None
    finally:
        result = auditor.finish(report=False)
        auditor.unpatch()
    severe = [finding for finding in result.findings if finding.severity.name in {"WARN", "ERROR", "FATAL"}]
    alarms.update(finding.rule_id for finding in severe)


TOOLS: dict[str, Tool] = {
    "ours": watch_with_addnorm,
    "torchmortem": watch_with_torchmortem,
    "torch_audit": watch_with_torch_audit,
}


def findings(
    bugs: Mapping[str, tuple[Case, tuple[str, ...]]] = BUGS,
    healthy: Mapping[str, Case] = HEALTHY,
    architectures: Iterable[str] = tuple(ARCHITECTURES),
    seeds: int = SEEDS,
) -> Iterator[Figure]:
    """The share of bugs that each tool finds, and the share of healthy loops in which it finds something.

    The recorder must find a bug by its id. For other tools any alarm counts, unless the healthy loop raises it too.
    """
    setups = [(architecture, seed) for architecture in architectures for seed in range(seeds)]
    for tool, watch in TOOLS.items():
        is_ours = tool == "ours"
        if not is_ours and find_spec(tool) is None:
            yield Figure(f"bugs found, {tool}", None, note=f"{tool} is not installed")
            continue
        healthy_alarms: dict[tuple[str, int], set[str]] = {}  # of the plain healthy loop, by setup
        false_alarms: list[str] = []
        for name, case in healthy.items():
            for setup in setups:
                alarms = _alarms(case, setup, watch)
                if case is healthy.get("Adam"):
                    healthy_alarms[setup] = alarms
                if alarms:
                    false_alarms.append(f"{name}, {setup[0]}: {', '.join(sorted(alarms))}")
        missed: list[str] = []
        for name, (case, ids) in bugs.items():
            for setup in setups:
                alarms = _alarms(case, setup, watch)
                hits = alarms & set(ids) if is_ours else alarms - healthy_alarms.get(setup, set())
                if not hits:
                    missed.append(f"{name}, {setup[0]}")
        count = len(bugs) * len(setups)
        loops = len(healthy) * len(setups)
        yield Figure(
            f"bugs found, {tool}",
            1 - len(missed) / max(1, count),
            at_least=MIN_HITS if is_ours else None,
            note=f"{count - len(missed)} of {count}{_examples('missed', missed)}",
        )
        yield Figure(
            f"healthy loops with a finding, {tool}",
            len(false_alarms) / max(1, loops),
            at_most=MAX_FALSE_ALARMS if is_ours else None,
            note=f"{len(false_alarms)} of {loops}{_examples('such as', false_alarms)}",
        )


def _alarms(case: Case, setup: tuple[str, int], watch: Tool) -> set[str]:
    """The alarms of a tool in a case, for an architecture and a seed."""
    alarms: set[str] = set()
    run_case(case, *setup, lambda training: watch(training, alarms))
    return alarms


def _examples(label: str, cases: list[str]) -> str:
    return f"; {label} {' | '.join(dict.fromkeys(cases[:6]))}" if cases else ""
