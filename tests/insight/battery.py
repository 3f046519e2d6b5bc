"""Every sentence of drawn runs against what the runs do: `python -m tests.insight.battery --seeds 1 2 --count 300`.

A run is drawn over nearly all fields, trained, and judged at every row. Printed are the shares of wrong words, with
intervals, and the sentences of one run that contradict each other.
"""

import argparse
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from benchmarks.report import Figure, heading, show
from models.insight.baseline import BETTER_BELOW, LUCK, accuracy_of_guessing, loss_of_guessing
from models.insight.outcome import LEARNS, OUTCOMES, final_loss, outcome
from models.insight.sentences import sentences_at
from models.insight.verdict import verdicts
from models.papers.judging import interval
from models.spec import ARRANGEMENTS, TASKS, RunConfig, knobs
from models.spec.arrangements import arranged_fields
from models.spec.budget import step_seconds
from models.spec.overrides import OVERRIDE_KEYS
from models.spec.rules import all_repairs
from models.trace import Frame, Trace
from models.training import Run
from tests.insight.verdicts import FAILING, MAX_WRONG

STEPS = 300
MAX_SECONDS = 9.0  # of a run, as estimated for one core
# Decades around a usual rate from which the learning rate is drawn.
RATE_DECADES = (-1.0, 0.7)
USUAL = {"sgd": 0.1, "momentum": 0.02, "adam": 3e-3, "adamw": 3e-3}
TASKS_OF = {
    "mlp": (*("digits", "spiral") * 3, *("circles", "xor") * 2, "linear", "successor", "book", "copy"),
    "transformer": ("digits", "book", "book", "copy", "reverse", "sort", "successor", "recall"),
}
MOST_WORDS = 12  # of the short line
SHORT_DIRECTIONS = {
    "stay distinct": "in different directions",
    "similar, still distinct": "similar, but still distinct",
    " merge": "in nearly the same direction",
}
DIGITS = str.maketrans({**dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)), "∞": "inf"})


@dataclass(frozen=True)
class Judged:
    """A drawn run: its link, its words before training and after the last step, its outcome, and its contradictions.

    `losses` are of guessing, at the end (mean of the last rows), and held out. `is_linear`: whether its words
    say that it is linear in effect; `beyond_linear`: whether it is right clearly more often than a linear net.
    """

    link: dict[str, str]
    kinds: tuple[str, ...]
    first: str
    last: str
    outcome: str
    losses: tuple[float, float, float]
    accuracy: float
    is_linear: bool
    beyond_linear: bool
    contradictions: tuple[str, ...]


def drawn(seed: int, count: int, *, steps: int = STEPS, max_seconds: float = MAX_SECONDS) -> Iterator[RunConfig]:
    """Yields `count` runs over nearly all fields."""
    dice = Random(seed)
    while count:
        cfg = _draw(dice, steps)
        if step_seconds(cfg) * steps <= max_seconds:
            yield cfg
            count -= 1


def _draw(dice: Random, steps: int) -> RunConfig:
    """A legal run; rare settings are rare, so that most runs have few of them."""
    net = dice.choice(("mlp", "mlp", "transformer"))
    is_mlp = net == "mlp"
    optimizer = dice.choice(("momentum", "momentum", "sgd", "adam", "adamw"))
    values: dict[str, Any] = {
        "net": net,
        "task": dice.choice(TASKS_OF[net]),
        "depth": round(2 ** dice.uniform(0, 5.6 if is_mlp else 4.3)),
        "width": dice.choice((8, 16, 24, 32, 48, 64)),
        "heads": dice.choice((1, 2, 4)),
        "optimizer": optimizer,
        "lr": USUAL[optimizer] * 10 ** dice.uniform(*RATE_DECADES),
        "batch": dice.choice((2, 4, 8, 16, 32, 64) if is_mlp else (4, 8, 16, 32)),
        "seed": dice.randrange(10_000),
        "steps": steps,
        "device": "cpu",
    }
    rare = {
        "expansion": lambda: dice.choice((2, 4)),
        "init": lambda: dice.choice(list(knobs()["init"][1].choices or ())),
        "init_gain": lambda: round(2 ** dice.uniform(-1.5, 1.5), 3),
        "branch_dropout": lambda: dice.choice((0.1, 0.2, 0.3, 0.5)),
        "stream_dropout": lambda: dice.choice((0.05, 0.1, 0.2)),
        "parametrization": lambda: dice.choice(("muP", "muP + 1/depth")),
        "warmup": lambda: dice.choice((10, 50, 100)),
        "schedule": lambda: dice.choice(list(knobs()["schedule"][1].choices or ())),
        "clip": lambda: dice.choice((0.1, 1.0, 10.0)),
        "weight_decay": lambda: dice.choice((0.01, 0.1)),
        "position": lambda: dice.choice(list(knobs()["position"][1].choices or ())),
        "qk_norm": lambda: True,
        "affine": lambda: False,
    }
    values |= {name: value() for name, value in rare.items() if dice.random() < 0.15}
    if dice.random() < 1 / 3:
        return RunConfig(**_legal(arranged_fields(dice.choice(list(ARRANGEMENTS)), values)))
    values |= {
        "residual": dice.random() < 0.8,
        "placement": dice.choice(list(knobs()["placement"][1].choices or ())),
        "norm": dice.choice(list(knobs()["norm"][1].choices or ())),
        "activation": dice.choice(("relu", "relu", *(knobs()["activation"][1].choices or ()))),
        "layers_per_branch": dice.choice((1, 2, 2)),
    }
    odd = {
        "skip_scale": lambda: dice.choice((0.5, 0.8, 1.5, 2.0, "1/sqrt(2)", "deepnorm", "depth")),
        "branch_scale": lambda: dice.choice(
            (0.0, 1e-4, 0.01, 0.1, 2.0, "1/sqrt(depth)", "1/sqrt(2)", "zero gate", "layer scale")
        ),
        "input_scale": lambda: "1/sqrt(block)",
        "stack": lambda: dice.choice(list(knobs()["stack"][1].choices or ())),
        "skip_repeats": lambda: 2,
        "overrides": lambda: tuple(
            (dice.randint(1, values["depth"]), key, dice.choice(OVERRIDE_KEYS[key]))
            for key in dice.sample(list(OVERRIDE_KEYS), 1)
        ),
    }
    values |= {name: value() for name, value in odd.items() if dice.random() < 0.2}
    return RunConfig(**_legal(values))


def _legal(values: dict[str, Any]) -> dict[str, Any]:
    """The values after the rules' own repairs."""
    defaults = {name: getattr(RunConfig, name) for name in knobs()}
    return values | all_repairs(defaults | values)


def trained(cfg: RunConfig) -> Trace:
    """The finished run."""
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    return run.trace()


def judged(cfg: RunConfig) -> Judged:
    """A run, trained in this process on one thread, and judged at every row."""
    torch.set_num_threads(1)
    trace = trained(cfg)
    texts_by_row = [sentences_at(cfg, trace, row) for row in range(len(trace))]
    starts = verdicts(cfg, trace, 0)
    guessing, end = loss_of_guessing(cfg.task), trace.frames[-1]
    is_linear = "linear in effect" in texts_by_row[0]["verdict"]
    return Judged(
        link=cfg.to_query(),
        kinds=tuple(verdict.kind for verdict in starts),
        first=f"{texts_by_row[0]['loss']} {texts_by_row[0]['verdict']}",
        last=f"{texts_by_row[-1]['loss']} {texts_by_row[-1]['verdict']}",
        outcome=outcome(trace, guessing),
        losses=(guessing, final_loss(trace), end.held_out_loss),
        accuracy=end.held_out_accuracy,
        is_linear=is_linear,
        beyond_linear=is_linear and end.held_out_accuracy > clearly_above(linear_accuracy(cfg.task, cfg.net), cfg.task),
        contradictions=tuple(contradictions(cfg, trace, texts_by_row)),
    )


@cache
def linear_accuracy(task: str, net: str) -> float:
    """The highest held-out accuracy of a net whose one block is cut out, trained with Adam: what a linear map reaches.

    Not its loss, which on separable samples falls with the mere size of the logits.
    """
    run = Run(
        RunConfig(
            net=net,
            task=task,
            depth=1,
            norm="none",
            placement="none",
            overrides=((1, "identity", True),),
            optimizer="adam",
            lr=0.01,
            steps=600,
            device="cpu",
        )
    )
    run.advance(600)
    return max(frame.held_out_accuracy for frame in run.frames)


def clearly_above(accuracy: float, task: str) -> float:
    """Three standard errors of the task's held-out answers above an accuracy."""
    return accuracy + 3 * math.sqrt(accuracy * (1 - accuracy) / TASKS[task].answers)


def contradictions(cfg: RunConfig, trace: Trace, texts_by_row: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yields sentences of one row, or of a row and the numbers, that cannot both be true; each kind once."""
    for at, sentences in dict(_contradictions(cfg, trace, texts_by_row)).items():
        yield f"{at}: {sentences}"


def _contradictions(
    cfg: RunConfig, trace: Trace, texts_by_row: Sequence[Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    guessing = loss_of_guessing(cfg.task)
    for row, texts in enumerate(texts_by_row):
        loss, verdict, frame = texts["loss"], texts["verdict"], trace.frame_at(row)
        both = f"step {row}: {loss} | {verdict} | {texts['brief']}"
        yield from ((fault, both) for fault in brief_faults(trace, row, texts["brief"], verdict))
        learns = bool(re.search(r": it (learns|begins to learn)\.", loss))
        if learns and "Inert" in verdict and "has learned all the same" not in verdict:
            yield "inert beside learning", both
        if learns and re.search(r"\b(Exploding|Vanishing|Collapsed)\b", verdict):
            yield "failing beside learning", both
        if learns and frame and not _beats_chance(cfg, frame):
            yield "learning at chance", both
        if "no better than that" in loss and "Healthy" in verdict and row == len(trace) - 1:
            yield "healthy at the end beside a guess", both
        if row and "can switch them on" in verdict:
            yield "a promise after the start", both
        dated = re.findall(r"[Hh]eld-out (?:loss|accuracy) |mean cosine |in a fixed test set", f"{loss} {verdict}")
        if frame and frame.step != row and both.count(f" at step {frame.step}") < len(dated):
            yield "a number of another step", both
        if frame and "not on held-out samples" in loss and frame.train_mode_loss < BETTER_BELOW * guessing:
            yield "samples blamed for a mode", both
        if " nan" in f"{loss} {verdict}":
            yield "a number that is none", both


def brief_faults(trace: Trace, row: int, brief: str, verdict: str) -> Iterator[str]:
    """Yields what is wrong with the short line of a row, by the text behind it and by the numbers."""
    if not 0 < len(brief.split()) <= MOST_WORDS:
        yield "a short line of no words or too many"
    long = verdict.partition(" · ")[2] or verdict
    if re.match(r"[\w ]+", brief)[0] != re.match(r"[\w ]+", long)[0]:  # type: ignore[index]
        yield "a short line of another kind"
    for name, sign, size in re.findall(r"(signal|gradient) ([×÷])([^\s]+?)[,.](?= |$)", brief):
        profile = trace.act_rms[row] if name == "signal" else trace.grad_rms[row, ::-1]
        change = np.float64(profile[-1]) / np.float64(profile[0]) if profile.any() else 1.0  # 0 stays 0
        said = float(size.translate(DIGITS).replace(",", "").replace("·10", "e"))
        if not math.isclose(change if sign == "×" else 1 / change, said, rel_tol=0.06):
            yield "a short line of other sizes"
    for short, words in SHORT_DIRECTIONS.items():
        if short in brief and words not in verdict:
            yield "a short line of other directions"
    if any(
        figure not in verdict for figure in re.findall(r"block \d+|\d+%|\d+ steps|\(?step \d+", brief.replace("(", ""))
    ):
        yield "a figure that the text behind has not"
    frame, has_end = trace.frame_at(row), any(short in brief for short in SHORT_DIRECTIONS)
    if has_end and frame and (f"(step {frame.step})" in brief) != (frame.step != row):
        yield "a short line of another step"


def _beats_chance(cfg: RunConfig, frame: Frame) -> bool:
    """Whether as many held-out answers are right as guesses reach once in a thousand, counted by torch's binomial."""
    answers, share = TASKS[cfg.task].answers, accuracy_of_guessing(cfg.task)
    draws = torch.distributions.Binomial(answers, torch.tensor(share)).log_prob(torch.arange(answers + 1.0)).exp()
    return float(draws[round(frame.held_out_accuracy * answers) :].sum()) < LUCK * 1.01


def figures(runs: Sequence[Judged]) -> Iterator[Figure]:
    """The table of words and outcomes, and the shares of wrong words with their 95 % intervals (Wilson)."""
    table: dict[str, Counter[str]] = {}
    for run in runs:
        table.setdefault(run.kinds[0], Counter())[run.outcome] += 1
    for kind, ends in sorted(table.items()):
        note = ", ".join(f"{end} {ends[end]}" for end in OUTCOMES)
        yield Figure(f"{kind}: learn, of {ends.total()}", ends[LEARNS] / ends.total(), note=note)
    healthy = [run for run in runs if run.kinds[0] == "healthy"]
    failing = [run for run in runs if run.kinds[0] in FAILING]
    linear = [run for run in runs if run.is_linear]
    yield share("healthy, and does not learn", [run.outcome != LEARNS for run in healthy])
    yield share("exploding, vanishing, collapsed or diverged, and learns", [run.outcome == LEARNS for run in failing])
    yield share(
        "called linear in effect, and learns what no linear net can", [run.beyond_linear for run in linear], goal=0.0
    )
    yield share("contradict themselves", [bool(run.contradictions) for run in runs], goal=0.0)


def share(name: str, wrong: Sequence[bool], goal: float = MAX_WRONG) -> Figure:
    """A share of wrong words beside its goal."""
    value, low, high = interval(np.array(wrong, bool)) if wrong else (0.0, 0.0, 1.0)
    note = f"{sum(wrong)} of {len(wrong)}, {low:.1%} to {high:.1%}"
    return Figure(name, value, at_most=goal, note=note)


def main(arguments: Sequence[str]) -> int:
    """Draws, trains and judges; prints a table for each seed and writes every run with its words and outcome."""
    parser = argparse.ArgumentParser(description="Puts the words of drawn runs beside what these do.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--count", type=int, default=300, help="runs for each seed")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="file for every run with words and outcome")
    options = parser.parse_args(arguments)
    draws = [(seed, cfg) for seed in options.seeds for cfg in drawn(seed, options.count, steps=options.steps)]
    draws.sort(key=lambda draw: -step_seconds(draw[1]))  # the longest first, so that no process is last with one
    configs = [cfg for _, cfg in draws]
    if options.processes == 1:
        results = list(map(judged, configs))
    else:
        with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
            results = list(pool.map(judged, configs))
    by_seed: dict[int, list[Judged]] = {seed: [] for seed in options.seeds}
    for (seed, _), run in zip(draws, results, strict=True):
        by_seed[seed].append(run)
    print(heading())
    for seed, runs in by_seed.items():
        for figure in figures(runs):
            print(show(f"seed {seed}", figure))
    for run in results:
        for contradiction in run.contradictions:
            print(contradiction)
    if options.json:
        options.json.write_text(json.dumps({seed: [asdict(run) for run in runs] for seed, runs in by_seed.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
