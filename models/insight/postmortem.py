"""Post-mortem of a run that failed: why, by its log, and the changes that may help, the most promising first.

The first rule of RULES that fits gives both. Only trials, of `instruments.trial`, can show a cause or a remedy.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from addnorm.findings import vanished_since, vanishing_sentence
from models.answers import TrialResult
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import has_learned
from models.insight.theory import he_factor_sentence
from models.insight.verdict import EXPLODING, LARGE_UPDATE, NetState
from models.insight.words import decades, factor, relative_size, times_larger
from models.spec import NORMS, RunConfig, knobs, plan
from models.spec.arrangements import architecture_fields
from models.spec.overrides import display_value
from models.trace import Trace

FIRST_UPDATES = 3  # number of updates that count as the first ones
GROWN = 10.0  # least factor by which the end of the stream must have grown in training
TRIAL_STEPS = 30  # of a trial, counted after its warm-up and after the step at which the run diverged
LONGER_TRIAL_STEPS = 120  # steps of a trial whose loss still falls, or is down at the loss of guessing
LONGEST_TRIAL_STEPS = 300  # steps of the best trials if none has learned sooner; at most those of the run
USUAL_RATES = {"sgd": 0.1, "momentum": 0.01, "adam": 1e-3, "adamw": 1e-3, "muon": 0.02}
WARMUP_STEPS = 30  # steps of the warm-up that is offered


class PostMortem(NamedTuple):
    """Why a run failed, as a sentence, which may be empty, and the changes of `candidates` to try first."""

    sentence: str
    suspects: tuple[str, ...]


@dataclass(frozen=True)
class Remedy:
    """A change of a configuration: its label ("layer norm, pre-norm") and the fields it sets."""

    label: str
    fields: dict[str, Any]
    is_combined: bool = False  # whether it combines several changes


def has_failed(cfg: RunConfig, trace: Trace, row: int) -> bool:
    """Whether a run has diverged by this row, or ends at it without having learned."""
    if trace.divergence is not None:
        return row >= trace.divergence.step
    return row == cfg.steps and not has_learned(trace, loss_of_guessing(cfg.task))


def postmortem(cfg: RunConfig, trace: Trace) -> PostMortem:
    """The post-mortem of a run that has failed; its log ends with its first row that is not finite, if any."""
    if trace.divergence is None:
        return PostMortem(_gradient_loss(trace), ())
    start = NetState(cfg, trace, 0)
    evidence = ((rule(start), suspects) for rule, suspects in RULES)
    return next(PostMortem(sentence, suspects) for sentence, suspects in evidence if sentence)


def candidates(cfg: RunConfig, first: Iterable[str] = (), fixed: Iterable[str] = ()) -> tuple[Remedy, ...]:
    """Every legal change that would alter this configuration, single changes before combined ones.

    `first` names changes to put in front, `fixed` the fields that must not change.
    """
    single, fixed_fields = _changes(cfg), set(fixed)
    changes = [single[name] for name in dict.fromkeys((*first, *single))]
    architecture = architecture_fields("pre-norm", cfg.depth) | single["init_gain"]
    remedies: dict[str, Remedy] = {}
    for index, change in enumerate([*changes, architecture, architecture | single["lr"]]):
        fields = {name: value for name, value in change.items() if value != getattr(cfg, name)}
        if fields and not fixed_fields & set(fields) and _is_legal(cfg, fields):
            label = ", ".join(_in_words(name, value) for name, value in fields.items())
            remedies.setdefault(label, Remedy(label, fields, is_combined=index >= len(changes)))
    return tuple(remedies.values())


def rank_helpful(remedies: Sequence[Remedy], results: Sequence[TrialResult], *, diverged: bool) -> list[int]:
    """Indices of the remedies that helped in their trials: single changes before combined ones, then by loss.

    These are the remedies that learn. If there are none, they are those slightly better than guessing. If there are
    none either and the run had `diverged`, they are those that come down to guessing: some tasks take longer to learn
    than a trial lasts.
    """
    learning = [at for at, result in enumerate(results) if result.learns]
    better = [at for at, result in enumerate(results) if result.better]
    steady = [at for at, result in enumerate(results) if result.steady and diverged]
    return sorted(learning or better or steady, key=lambda at: (remedies[at].is_combined, results[at].end))


# --- the rules: the evidence as a sentence, empty if the rule does not fit ---


def _gradient_loss(trace: Trace) -> str:
    """The step from which the gradient vanishes on its way back until the end of a log."""
    ends = trace.grad_rms[:, [-1, 0]].astype(float)
    start = vanished_since(*ends.T.tolist())
    return "" if start is None else vanishing_sentence(int(trace.step[start]), "the input")


def _initial_overflow(start: NetState) -> str:
    if len(start.trace) > 1:
        return ""
    way = "back" if np.isfinite(start.act).all() else ""
    profile = start.grad[::-1] if way else start.act
    finite = profile[np.isfinite(profile)]
    if len(finite) in (0, len(profile)):
        cause = "numbers leave"
    elif len(finite) == 1:
        cause = f"the {'last' if way else 'first'} sublayer leaves"
    else:
        name = "gradient" if way else "stream"
        cause = f"each sublayer multiplies the {name} by {_per_sublayer(finite)}, and {len(finite)} in a row leave"
    return f"Before any update, {cause} the range of float32. No learning rate helps."


def _exploding_stream(start: NetState) -> str:
    if start.stream_change < math.log10(EXPLODING) or start.fully_normed:
        return ""
    return f"{_start_sentence(start)} {he_factor_sentence(start.cfg)}".rstrip()


def _exploding_gradient(start: NetState) -> str:
    change = start.gradient_change
    # With norms before the branches, a gradient that shrinks as the stream grows does no harm.
    harmless = start.fully_normed and start.stream_change > change / 2
    if not math.log10(EXPLODING) <= change < math.inf or harmless:
        return ""
    return f"{_start_sentence(start)} Each sublayer multiplies the gradient by about {_per_sublayer(start.grad[::-1])}."


def _start_sentence(start: NetState) -> str:
    update = _large_update(start)
    clause = f"; {update[0].lower()}{update[1:]}" if update else "."
    return f"Before training {start.changes}{clause}"


def _large_update(start: NetState) -> str:
    """Which of the first updates was largest; empty if that one was not large."""
    measured = [
        (float(size), frame.step, block)
        for frame in start.trace.frames
        if frame.step < FIRST_UPDATES
        for block, size in enumerate(frame.update_to_weight, start=1)
        if np.isfinite(size)
    ]
    size, step, block = max(measured, key=itemgetter(0), default=(0.0, 0, 0))
    if size < LARGE_UPDATE:
        return ""
    return f"Update {step} changed the weights of block {block} by {relative_size(size)}."


def _growing_stream(start: NetState) -> str:
    sizes, largest = start.trace.act_rms[:-1, -1], start.trace.grad_rms[:-1].max(1)
    growth = decades(sizes[0], sizes[-1])
    if not math.log10(GROWN) <= growth < math.inf:
        return ""
    doubled = int(np.argmax(sizes > 2 * sizes[0]))
    gradient = times_larger(decades(largest[0], largest.max())) if largest.max() > 2 * largest[0] > 0 else "no larger"
    return (
        f"The steps were moderate at first, but the end of the stream became {times_larger(growth)} in training, "
        f"twice as large by step {doubled}; its largest gradient became {gradient} on the way."
    )


def _per_sublayer(profile: np.ndarray) -> str:
    """Mean factor from one point of the stream to the next, in words."""
    return factor(decades(profile[0], profile[-1]) / (len(profile) - 1))


RULES: tuple[tuple[Callable[[NetState], str], tuple[str, ...]], ...] = (
    (_initial_overflow, ("init_gain", "skip_scale", "residual", "norm", "placement", "branch_scale", "init")),
    (_exploding_stream, ("residual", "norm", "placement", "branch_scale", "skip_scale", "init", "lr", "warmup")),
    (_exploding_gradient, ("residual", "norm", "placement", "branch_scale", "lr", "warmup")),
    (_large_update, ("lr", "warmup", "clip")),
    (_growing_stream, ("lr", "branch_scale", "norm", "residual", "warmup", "clip")),
    (lambda _start: "Nothing in the log was unusual before.", ("lr", "warmup", "clip")),
)


# --- the changes ---


def _changes(cfg: RunConfig) -> dict[str, dict[str, Any]]:
    """The fields that each change sets, empty for one that could not help, in the order of trials if none is suspected.

    First what stabilises the architecture, then smaller steps, then smaller weights.
    """
    has_placement, has_norm = cfg.placement != "none", cfg.norm != "none"
    amplifying_skip = any(sublayer.skip > 1 and sublayer.norm_add == "none" for sublayer in plan(cfg).sublayers)
    norm: dict[str, Any] = {"norm": "layer norm"}
    if has_placement and has_norm and NORMS[cfg.norm].over == "token":
        norm = {}
    elif not has_placement:
        norm = {"norm": cfg.norm if has_norm else "layer norm", "placement": "pre-norm"}
    return {
        "residual": {"residual": True},
        "norm": norm,
        "placement": {"placement": "pre-norm"} if has_norm else {},
        "skip_scale": {"skip_scale": 1.0} if amplifying_skip else {},
        "branch_scale": {"branch_scale": "1/sqrt(depth)"} if cfg.residual else {},
        "init_gain": {"init_gain": 1.0} if cfg.init_gain > 1 else {},
        "lr": {"lr": max(1e-6, min(cfg.lr / 10, USUAL_RATES[cfg.optimizer]))},
        "init": {"init": "zero last" if cfg.residual else "fan-in"},
        "warmup": {"warmup": WARMUP_STEPS} if cfg.warmup < WARMUP_STEPS < cfg.steps else {},
        "clip": {"clip": 1.0} if not cfg.clip or cfg.clip > 1 else {},
    }


def _in_words(name: str, value: object) -> str:
    if name in {"norm", "placement"}:
        return str(value)
    return "a residual" if name == "residual" else f"{knobs()[name][1].label.lower()} {display_value(value, 3)}"


def _is_legal(cfg: RunConfig, fields: dict[str, Any]) -> bool:
    try:
        replace(cfg, **fields)
    except ValueError:
        return False
    return True
