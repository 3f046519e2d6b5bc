"""Remedies: changes that may help a run that diverged or learned nothing. `instruments.trial` tries them out."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.answers import TrialResult
from models.insight.baseline import BETTER_BELOW, LEARNED_BELOW, loss_of_guessing
from models.insight.outcome import has_learned
from models.spec import NORMS, RunConfig, knobs, plan
from models.spec.arrangements import architecture_fields
from models.spec.overrides import display_value
from models.trace import Trace

TRIAL_STEPS = 30  # of a trial, counted after its warm-up and after the step at which the run diverged
LONGER_TRIAL_STEPS = 120  # steps of a trial whose loss still falls, or is down at the loss of guessing
LONGEST_TRIAL_STEPS = 300  # steps of the best trials if none has learned sooner; at most those of the run
NEAR_GUESSING = 1.05  # times the loss of guessing; a trial below it may be about to learn
USUAL_RATES = {"sgd": 0.1, "momentum": 0.01, "adam": 1e-3, "adamw": 1e-3}
WARMUP_STEPS = 30  # steps of the warm-up that is offered
# The order of changes if no cause is suspected: stabilise the architecture, then smaller steps, then smaller weights.
ORDER = ("residual", "norm", "placement", "skip_scale", "branch_scale", "init_gain", "lr", "init", "warmup", "clip")


@dataclass(frozen=True)
class Remedy:
    """A change of a configuration: its label ("layer norm, pre-norm") and the fields it sets."""

    label: str
    fields: dict[str, Any]
    is_combined: bool = False  # whether it combines several changes of ORDER


def candidates(cfg: RunConfig, first: Iterable[str] = (), fixed: Iterable[str] = ()) -> tuple[Remedy, ...]:
    """Every legal change that would alter this configuration, single changes before combined ones.

    `first` names changes of ORDER to put in front, `fixed` the fields that must not change.
    """
    single, fixed_fields = _changes(cfg), set(fixed)
    changes = [single[name] for name in dict.fromkeys((*first, *ORDER))]
    architecture = architecture_fields("pre-norm", cfg.depth) | single["init_gain"]
    remedies: dict[str, Remedy] = {}
    for index, change in enumerate([*changes, architecture, architecture | single["lr"]]):
        fields = {name: value for name, value in change.items() if value != getattr(cfg, name)}
        if fields and not fixed_fields & set(fields) and _is_legal(cfg, fields):
            label = ", ".join(_in_words(name, value) for name, value in fields.items())
            remedies.setdefault(label, Remedy(label, fields, is_combined=index >= len(changes)))
    return tuple(remedies.values())


def judge_trial(
    *, steps: int, start: float, before: float, end: float, held_out: float, diverged: int, guessing: float
) -> TrialResult:
    """The result of a trial from its losses in nats.

    `end` is the mean of its last losses, `before` the mean of as many losses before those, `diverged` a step or -1.
    """

    def is_below(share: float, held_out_share: float = math.inf) -> bool:
        return diverged < 0 and end < min(start, share * guessing) and held_out < held_out_share * guessing

    return TrialResult(
        steps=steps,
        start=start,
        end=end,
        held_out=held_out,
        diverged=diverged,
        learns=is_below(LEARNED_BELOW, 1.0),
        better=is_below(BETTER_BELOW, BETTER_BELOW),
        steady=is_below(NEAR_GUESSING),
        falling=diverged < 0 and end < BETTER_BELOW * before,
    )


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


def has_failed(cfg: RunConfig, trace: Trace, row: int) -> bool:
    """Whether a run has diverged by this row, or ends at it without having learned."""
    if trace.divergence is not None:
        return row >= trace.divergence.step
    return row == cfg.steps and not has_learned(trace, loss_of_guessing(cfg.task))


def _changes(cfg: RunConfig) -> dict[str, dict[str, Any]]:
    """The fields that each change of ORDER sets; empty for a change that could not help."""
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
