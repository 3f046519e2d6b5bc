"""The cards of papers on seeds that nobody tuned on: as shown, with each seed trained alone, and at another depth.

`python -m benchmarks papers` prints the table; `python -m benchmarks.papers KEY` also writes what its card shows of it.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.report import Figure, show
from models.exhibits import FOLDER
from models.experiment import Answered, Computed, Finding, Source, Trained
from models.instruments import INSTRUMENTS
from models.papers.papers import PAPERS
from models.spec.budget import step_seconds
from models.trace import Trace
from models.training import Replays, Run, SeedRuns, result_of

HERE, ALONE, ELSEWHERE = "here", "one seed at a time", "at another depth"
Key = tuple[str, str, str]  # card, set of sources, source


def value(source: Source) -> Any:
    """The value of a source, without frames."""
    if isinstance(source, Computed):
        return source.numbers()
    if isinstance(source, Answered):
        return result_of(INSTRUMENTS[source.question.name](Replays(), source.cfg, **source.args))
    seeds = range(source.cfg.seed, source.cfg.seed + source.seeds)
    runs = SeedRuns(source.cfg, seeds, frames=False)
    runs.advance(source.cfg.steps)
    runs.close()
    return runs.traces()


def value_alone(source: Trained) -> list[Trace]:
    """The traces of a source whose seeds are trained one at a time."""
    traces = []
    for seed in range(source.cfg.seed, source.cfg.seed + source.seeds):
        run = Run(replace(source.cfg, seed=seed), frames=False)
        run.advance(source.cfg.steps)
        run.close()
        traces.append(run.trace())
    return traces


def _tasks(keys: list[str]) -> dict[Key, tuple[Any, ...]]:
    """Functions with their arguments, the slowest first."""
    tasks: dict[Key, tuple[Any, ...]] = {}
    costs: dict[Key, float] = {}
    for key in keys:
        card = PAPERS[key]
        for part, sources in ((HERE, card.sources), (ELSEWHERE, card.sources_elsewhere())):
            for name, source in sources.items():
                tasks[key, part, name] = value, source
                costs[key, part, name] = 0.0 if isinstance(source, Computed) else _cost(source)
        for name, source in card.sources.items():
            if isinstance(source, Trained):
                tasks[key, ALONE, name] = value_alone, source
                costs[key, ALONE, name] = 2 * _cost(source)
    return {key: tasks[key] for key in sorted(tasks, key=lambda task: -costs[task])}


def _cost(source: Answered | Trained) -> float:
    return step_seconds(source.cfg) * source.cfg.steps * (source.seeds if isinstance(source, Trained) else 1)


def findings(keys: list[str], jobs: int = 0) -> dict[str, dict[str, Finding]]:
    """Findings by card and set of sources, computed in `jobs` processes, by default one for each core."""
    tasks = _tasks(keys)
    values: dict[Key, Any] = {}
    context = get_context("spawn")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # of the processes
    with ProcessPoolExecutor(jobs or os.cpu_count() or 1, context, torch.set_num_threads, (1,)) as pool:
        running = {pool.submit(*task): key for key, task in tasks.items()}
        for count, done in enumerate(as_completed(running), start=1):
            values[running[done]] = done.result()
            print(f"{count} of {len(tasks)}: {', '.join(running[done])}", file=sys.stderr, flush=True)
    by_card: dict[str, dict[str, Finding]] = {}
    for key in keys:
        card = PAPERS[key]
        parts = {part: {name: values[key, part, name] for name in card.sources if (key, part, name) in tasks}
                 for part in (HERE, ALONE, ELSEWHERE)}  # fmt: skip
        if parts[ALONE]:
            parts[ALONE] = parts[HERE] | parts[ALONE]
        by_card[key] = {part: card.finding(of) for part, of in parts.items() if of}
    return by_card


def papers(keys: list[str] | None = None, jobs: int = 0) -> Iterator[Figure]:
    """Each statement of each card: its number over ten seeds with its 95 % interval, and what follows."""
    for key, parts in findings(keys or list(PAPERS), jobs).items():
        yield from _figures(key, parts)


def _figures(key: str, parts: Mapping[str, Finding]) -> Iterator[Figure]:
    tests = parts[HERE].tests
    for index, statement in enumerate(tests["statement"]):
        intervals = [f"{part} {_interval_in_words(finding.tests, index)}" for part, finding in parts.items()]
        note = f"{tests['number'][index]}: {tests['bound'][index]}; {'; '.join(intervals)}"
        yield Figure(f"{key}: {statement}", tests["mean"][index], note=note)
    yield Figure(key, None, note="; ".join(f"{part}: {finding.answer}" for part, finding in parts.items()))


def _interval_in_words(tests: Mapping[str, Any], index: int) -> str:
    low, high = tests["95%, from"][index], tests["to"][index]
    return f"{tests['mean'][index]:.3g} [{low:.3g}, {high:.3g}] {tests['result'][index]}"


def record(key: str, parts: Mapping[str, Finding]) -> None:
    """Writes the means, intervals and verdicts that a card does not compute itself into its folder."""
    tests = {
        part: [
            [float(f"{finding.tests[name][index]:.4g}") for name in ("mean", "95%, from", "to")]
            + [finding.tests["result"][index]]
            for index in range(len(finding.tests["statement"]))
        ]
        for part, finding in parts.items()
        if part != HERE
    }
    if tests:
        lines = ",\n".join(f"{json.dumps(part)}: {json.dumps(rows)}" for part, rows in tests.items())
        head = f'"torch": "{version("torch")}",\n"day": "{date.today().isoformat()}"'
        text = "{\n" + head + ',\n"tests": {\n' + lines + "\n}}\n"
        (FOLDER / "papers" / key.replace("-", "_") / "tested.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for card_key, its_parts in findings(sys.argv[1:] or list(PAPERS)).items():
        for figure in _figures(card_key, its_parts):
            print(show("papers", figure), flush=True)
        record(card_key, its_parts)
