"""Whether the recorder and other tools find bugs put into healthy loops, and find nothing in the healthy ones."""

import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch

from addnorm import read
from addnorm import watch as record
from benchmarks.report import Figure
from tests.addnorm.bugs import ARCHITECTURES, BUGS, HEALTHY, Case, run_case
from tests.addnorm.shapes import SHAPES, Shape

SEEDS = 5
MIN_HITS = 0.95  # the goal: share of bugs found
MAX_FALSE_ALARMS = 0.0  # the goal: share of healthy loops with a finding

OnLoss = Callable[[Any], object]  # takes the loss of a step
Tool = Callable[[Any, set[str]], Any]  # a context in which a training runs; adds its alarms to the set


class Loop(NamedTuple):
    """A loop of the benchmark: a bug or a healthy one in an architecture, or with none a shape; and its seed."""

    kind: str  # "bug", "healthy" or "shape"
    name: str
    architecture: str
    seed: int


@contextmanager
def watch_with_addnorm(training: Any, alarms: set[str]) -> Iterator[OnLoss]:
    """Records the training, and adds the ids of the findings at the last row to `alarms`."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with record(training.model, Path(folder) / "run.jsonl", optimizer=training.optimizer) as recorder:
            yield recorder.step if training.optimizer is None else recorder.loss
        alarms.update(finding.id for finding in read(recorder.path).findings)


@contextmanager
def watch_with_torchmortem(training: Any, alarms: set[str]) -> Iterator[OnLoss]:
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
def watch_with_torch_audit(training: Any, alarms: set[str]) -> Iterator[OnLoss]:
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
    shapes: Mapping[str, Shape] = SHAPES,
    architectures: Iterable[str] = tuple(ARCHITECTURES),
    seeds: int = SEEDS,
) -> Iterator[Figure]:
    """The share of bugs that each tool finds, and the share of healthy loops in which it finds something.

    The recorder must find a bug by its id. For other tools any alarm counts, unless the healthy loop raises it too.
    """
    pairs = [(architecture, seed) for architecture in architectures for seed in range(seeds)]
    faulty = [Loop("bug", name, *pair) for name in bugs for pair in pairs]
    sound = [Loop("healthy", name, *pair) for name in healthy for pair in pairs]
    sound += [Loop("shape", name, "", seed) for name in shapes for seed in range(seeds)]
    for tool in TOOLS:
        is_ours = tool == "ours"
        if not is_ours and find_spec(tool) is None:
            yield Figure(f"bugs found, {tool}", None, note=f"{tool} is not installed")
            continue
        alarms = _alarms_of_all(tool, [*sound, *faulty])
        false_alarms = [
            f"{loop.name}{f', {loop.architecture}' if loop.architecture else ''}: {', '.join(sorted(alarms[loop]))}"
            for loop in sound
            if alarms[loop]
        ]
        missed = []
        for loop in faulty:
            usual = alarms.get(loop._replace(kind="healthy", name="Adam"), set())
            hits = alarms[loop] & set(bugs[loop.name][1]) if is_ours else alarms[loop] - usual
            if not hits:
                missed.append(f"{loop.name}, {loop.architecture}")
        yield Figure(
            f"bugs found, {tool}",
            1 - len(missed) / max(1, len(faulty)),
            at_least=MIN_HITS if is_ours else None,
            note=f"{len(faulty) - len(missed)} of {len(faulty)}{_examples('missed', missed)}",
        )
        yield Figure(
            f"healthy loops with a finding, {tool}",
            len(false_alarms) / max(1, len(sound)),
            at_most=MAX_FALSE_ALARMS if is_ours else None,
            note=f"{len(false_alarms)} of {len(sound)}{_examples('such as', false_alarms)}",
        )


def _alarms_of_all(tool: str, loops: list[Loop]) -> dict[Loop, set[str]]:
    """The alarms of a tool by loop; on several cores, in as many processes."""
    processes = min(os.cpu_count() or 1, len(loops))
    if processes < 2:
        return {loop: alarms_of(tool, loop) for loop in loops}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, torch.set_num_threads, (1,)) as pool:
        return dict(zip(loops, pool.map(alarms_of, [tool] * len(loops), loops, chunksize=4), strict=True))


def alarms_of(tool: str, loop: Loop) -> set[str]:
    """The alarms of a tool in a loop; none where the loop cannot be given to it, or where it fails."""
    alarms: set[str] = set()

    def watch(training: Any) -> Any:
        return TOOLS[tool](training, alarms)

    try:
        if loop.kind == "shape":
            SHAPES[loop.name](loop.seed, watch)
        else:
            case = BUGS[loop.name][0] if loop.kind == "bug" else HEALTHY[loop.name]
            run_case(case, loop.architecture, loop.seed, watch)
    except Exception:
        if tool == "ours":
            raise
    return alarms


def _examples(label: str, cases: list[str]) -> str:
    return f"; {label} {' | '.join(dict.fromkeys(cases[:6]))}" if cases else ""
