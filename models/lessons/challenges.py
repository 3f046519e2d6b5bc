"""Challenges, and checks of an attempt: its configuration and the trace of its finished run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.insight.outcome import RECENT_ROWS, final_cosine, recent_losses
from models.insight.words import change_in_words, number
from models.spec import RunConfig, knobs
from models.spec.overrides import display_value
from models.spec.pairings import differing_fields
from models.trace import Trace


@dataclass(frozen=True)
class Goal:
    """A condition on a finished trace: its text, and a function that checks a trace and words the measured value."""

    text: str
    check: Callable[[Trace], tuple[bool, str]]


@dataclass(frozen=True)
class Challenge:
    """Goals to reach from `base` by changing only `fields`; `limits` are (field, minimum, maximum)."""

    text: str
    base: RunConfig
    fields: tuple[str, ...]
    goals: tuple[Goal, ...]
    limits: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Check:
    """Whether a challenge is passed, sentences on missed and reached goals, and a hint after a miss."""

    passed: bool
    missing: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    hint: str = ""


def check(challenge: Challenge, cfg: RunConfig, trace: Trace | None) -> Check:
    """Checks an attempt: first its fields, then whether the run is finished, then the goals."""
    violations = rule_violations(challenge, cfg)
    if violations:
        return Check(False, violations)
    if trace is None or (len(trace) < cfg.steps and trace.divergence is None):
        return Check(False, (f"The run has {0 if trace is None else len(trace)} of its {cfg.steps} steps.",))
    if trace.divergence is not None:
        return Check(False, (trace.divergence.sentence(),), hint=outcome_in_words(trace))
    missing, reached = [], []
    for goal in challenge.goals:
        is_met, measured = goal.check(trace)
        if is_met:
            reached.append(f"Reached: {goal.text}; {measured}.")
        else:
            missing.append(f"Not reached: {goal.text}; {measured}.")
    hint = outcome_in_words(trace) if missing else ""
    return Check(not missing, tuple(missing), tuple(reached), hint)


def outcome_in_words(trace: Trace) -> str:
    """Change of signal and gradient before training, and of the loss: the hint after a miss."""
    stream = change_in_words("the signal", trace.act_rms[0], "over depth")
    gradient = change_in_words("the gradient", trace.grad_rms[0, ::-1], "on its way back")
    finite = trace.loss[np.isfinite(trace.loss)]
    loss = f" The loss went from {number(finite[0])} to {number(finite[-1])}." if len(finite) else ""
    return f"What happened: before training {stream}, and {gradient}.{loss}"


def rule_violations(challenge: Challenge, cfg: RunConfig) -> tuple[str, ...]:
    """Sentences on fields that the attempt must not change or that exceed their limits."""
    lines = [
        f"{knobs()[name][1].label} is {display_value(getattr(cfg, name))}; this challenge leaves it at "
        f"{display_value(getattr(challenge.base, name))}."
        for name in differing_fields((challenge.base, cfg))
        if name not in challenge.fields
    ]
    for name, low, high in challenge.limits:
        value = getattr(cfg, name)
        if isinstance(value, str) or not low <= value <= high:
            lines.append(
                f"{knobs()[name][1].label} is {display_value(value)}; this challenge allows {low:g} to {high:g}."
            )
    return tuple(lines)


def loss_within(target: float, steps: int) -> Goal:
    """Goal: a mean training loss over RECENT_ROWS batches of at most `target` before step `steps`."""

    def check_trace(trace: Trace) -> tuple[bool, str]:
        recent = recent_losses(trace.loss[:steps])
        if not len(recent) or not np.isfinite(recent).any():
            return False, "no loss was measured"
        best = int(np.nanargmin(recent))
        below = np.flatnonzero(recent <= target)
        if len(below):
            return True, f"it is {number(recent[below[0]])} at step {below[0] + RECENT_ROWS - 1}"
        return False, f"the lowest was {number(recent[best])}, at step {best + RECENT_ROWS - 1}"

    return Goal(f"a loss of {target:g} (mean of {RECENT_ROWS} batches) within {steps} steps", check_trace)


def first_loss_at_most(bound: float) -> Goal:
    """Goal: a loss of at most `bound` before training."""

    def check_trace(trace: Trace) -> tuple[bool, str]:
        return bool(trace.loss[0] <= bound), f"it is {number(trace.loss[0])}"

    return Goal(f"a loss of at most {bound:g} before training", check_trace)


def accuracy_at_least(share: float) -> Goal:
    """Goal: a held-out accuracy of at least `share` after the last step."""

    def check_trace(trace: Trace) -> tuple[bool, str]:
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        return bool(accuracy >= share), f"it is {accuracy:.1%}"

    return Goal(f"a held-out accuracy of {share:.0%} after the last step", check_trace)


def stream_within(factor: float) -> Goal:
    """Goal: before training, an RMS at the end of the stream within a factor of that at the input."""

    def check_trace(trace: Trace) -> tuple[bool, str]:
        ratio = float(trace.act_rms[0, -1] / trace.act_rms[0, 0])
        return bool(1 / factor <= ratio <= factor), f"it changes by a factor of {number(ratio)}"

    return Goal(
        f"before training, a stream whose RMS at the end is within a factor of {factor:g} of the input's", check_trace
    )


def cosine_at_most(cosine: float) -> Goal:
    """Goal: before training, a mean cosine between samples of at most `cosine` at the end of the stream."""

    def check_trace(trace: Trace) -> tuple[bool, str]:
        return final_cosine(trace) <= cosine, f"it is {final_cosine(trace):.2f}"

    return Goal(f"before training, a sample cosine of at most {cosine:g} at the end of the stream", check_trace)


GOALS: dict[str, Callable[..., Goal]] = {
    goal.__name__: goal for goal in (loss_within, first_loss_at_most, accuracy_at_least, stream_within, cosine_at_most)
}
