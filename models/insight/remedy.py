"""Remedies: changes that may help a run that diverged or learned nothing. `instruments.trial` finds those that do."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.answers import Tried
from models.insight.baseline import BETTER, LEARNT, loss_of_guessing
from models.insight.outcome import learned
from models.spec import NORMS, RunConfig, knobs, plan
from models.spec.arrangements import architecture_fields
from models.spec.overrides import value_in_words
from models.trace import Trace

STEPS = 30  # of a trial, besides a warm-up, and past the step at which the run diverged
LONGER = 120  # where the loss still falls, or has come down to guessing and may be about to pass it
LONGEST = 300  # where no change learns sooner: as long as the run, but no longer than this
NEARLY = 1.05  # times the loss of guessing, below which a trial may be about to learn
USUAL_RATES = {"sgd": 0.1, "momentum": 0.01, "adam": 1e-3, "adamw": 1e-3}
WARMUP = 30  # steps of the warm-up that is offered
# The order to try without a known cause: what steadies a deep net, then smaller steps, then smaller weights.
ORDER = ("residual", "norm", "placement", "skip_scale", "branch_scale", "init_gain", "lr", "init", "warmup", "clip")


@dataclass(frozen=True)
class Remedy:
    """A change: in words, "norm layer norm, placement pre-norm", the fields it sets, and whether it is several."""

    label: str
    fields: dict[str, Any]
    several: bool = False


def candidates(cfg: RunConfig, first: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[Remedy, ...]:
    """Every legal change that this configuration leaves room for, likeliest first, several at once last.

    `first` names the changes that the cause suggests (of ORDER), `without` fields that must stay as they are.
    """
    single, unchanged = _changes(cfg), set(without)
    changes = [single[name] for name in dict.fromkeys((*first, *ORDER))]
    whole = architecture_fields("pre-norm", cfg.depth) | single["init_gain"]
    offered: dict[str, Remedy] = {}
    for at, change in enumerate([*changes, whole, whole | single["lr"]]):
        fields = {name: value for name, value in change.items() if value != getattr(cfg, name)}
        if fields and not unchanged & set(fields) and _legal(cfg, fields):
            label = ", ".join(
                f"{knobs()[name][1].label.lower()} {value_in_words(value, 3)}" for name, value in fields.items()
            )
            offered.setdefault(label, Remedy(label, fields, at >= len(changes)))
    return tuple(offered.values())


def judged(
    *, steps: int, start: float, before: float, end: float, held_out: float, diverged: int, guessing: float
) -> Tried:
    """A trial by its losses; `before`: the mean of as many steps before the last."""

    def below(share: float, unseen: float = math.inf) -> bool:
        return diverged < 0 and end < min(start, share * guessing) and held_out < unseen * guessing

    learns, better, steady = below(LEARNT, 1.0), below(BETTER, BETTER), below(NEARLY)
    falling = diverged < 0 and end < BETTER * before
    return Tried(steps, start, end, held_out, diverged, learns, better, steady, falling)


def ranked(remedies: Sequence[Remedy], tried: Sequence[Tried], *, diverged: bool) -> list[int]:
    """The indices of the remedies that helped in a trial: single changes before several, then by loss.

    If none learns, those that are slightly better than guessing; if there is none either, a run that `diverged` is
    helped by any that comes down to guessing: some tasks take longer than a trial.
    """
    learning = [at for at, trial in enumerate(tried) if trial.learns]
    better = [at for at, trial in enumerate(tried) if trial.better]
    steady = [at for at, trial in enumerate(tried) if trial.steady]
    return sorted(learning or better or steady * diverged, key=lambda at: (remedies[at].several, tried[at].end))


def failed(cfg: RunConfig, trace: Trace, row: int) -> bool:
    """Whether a run diverges after this row, or has, or ends here without having learned."""
    if trace.divergence is not None:
        return row >= trace.divergence.rest
    return row == cfg.steps and not learned(trace, loss_of_guessing(cfg.task))


def _changes(cfg: RunConfig) -> dict[str, dict[str, Any]]:
    """The fields that each change of ORDER sets; none if it could not help."""
    placed, normed = cfg.placement != "none", cfg.norm != "none"
    bounding = normed and placed and NORMS[cfg.norm].over == "token"
    heavy = any(sublayer.skip > 1 and sublayer.norm_add == "none" for sublayer in plan(cfg).sublayers)
    return {
        "residual": {"residual": True},
        "norm": {}
        if bounding
        else {"norm": cfg.norm if normed and not placed else "layer norm"}
        | ({} if placed else {"placement": "pre-norm"}),
        "placement": {"placement": "pre-norm"} if normed else {},
        "skip_scale": {"skip_scale": 1.0} if heavy else {},
        "branch_scale": {"branch_scale": "1/sqrt(depth)"} if cfg.residual else {},
        "init_gain": {"init_gain": 1.0} if cfg.init_gain > 1 else {},
        "lr": {"lr": max(1e-6, min(cfg.lr / 10, USUAL_RATES[cfg.optimizer]))},
        "init": {"init": "zero last" if cfg.residual else "fan-in"},
        "warmup": {"warmup": WARMUP} if cfg.warmup < WARMUP < cfg.steps else {},
        "clip": {"clip": 1.0} if not cfg.clip or cfg.clip > 1 else {},
    }


def _legal(cfg: RunConfig, fields: dict[str, Any]) -> bool:
    try:
        replace(cfg, **fields)
    except ValueError:
        return False
    return True
