"""Challenges and their checks: rules on a configuration and the trace of its finished run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.insight.outcome import LATELY, final_cosine, gradient_change, recent_losses, stream_change
from models.insight.words import change_in_words, number
from models.spec import RunConfig, knobs
from models.spec.overrides import display_value
from models.spec.pairings import differing_fields
from models.trace import Trace


@dataclass(frozen=True)
class Goal:
    """A condition on a finished trace: its text, and whether it is met, with the measured value."""

    text: str
    met: Callable[[Trace], tuple[bool, str]]


@dataclass(frozen=True)
class Challenge:
    """Reach all goals from `base`, changing only `fields`; `limits` are (field, minimum, maximum)."""

    text: str
    base: RunConfig
    fields: tuple[str, ...]
    goals: tuple[Goal, ...]
    limits: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Check:
    """Whether a challenge is passed, with sentences on missed and reached goals and, after a miss, a hint."""

    passed: bool
    missing: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    hint: str = ""


def check(challenge: Challenge, cfg: RunConfig, trace: Trace | None) -> Check:
    """The verdict on an attempt: checks its fields, then whether the run is finished, then the goals."""
    astray = out_of_bounds(challenge, cfg)
    if astray:
        return Check(False, astray)
    if trace is None or (len(trace) < cfg.steps and trace.divergence is None):
        return Check(False, (f"The run has {0 if trace is None else len(trace)} of its {cfg.steps} steps.",))
    if trace.divergence is not None:
        return Check(False, (trace.divergence.sentence(),), hint=did(trace))
    results = [(*goal.met(trace), goal.text) for goal in challenge.goals]
    missing = tuple(f"Not reached: {text}; {measured}." for met, measured, text in results if not met)
    reached = tuple(f"Reached: {text}; {measured}." for met, measured, text in results if met)
    return Check(not missing, missing, reached, did(trace) if missing else "")


def did(trace: Trace) -> str:
    """What signal and gradient did before training, and where the loss went: a hint after a miss."""
    stream = change_in_words("the signal", stream_change(trace), "over depth")
    gradient = change_in_words("the gradient", gradient_change(trace), "on its way back")
    finite = trace.loss[np.isfinite(trace.loss)]
    loss = f" The loss went from {number(finite[0])} to {number(finite[-1])}." if len(finite) else ""
    return f"What happened: before training {stream}, and {gradient}.{loss}"


def out_of_bounds(challenge: Challenge, cfg: RunConfig) -> tuple[str, ...]:
    """Sentences on fields that an attempt must not change or has moved beyond their limits."""
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
    """A mean training loss over LATELY batches of at most `target`, at some step before `steps`."""

    def met(trace: Trace) -> tuple[bool, str]:
        lately = recent_losses(trace.loss[:steps])
        if not len(lately) or not np.isfinite(lately).any():
            return False, "no loss was measured"
        best = int(np.nanargmin(lately))
        below = np.flatnonzero(lately <= target)
        if len(below):
            return True, f"it is {number(lately[below[0]])} at step {below[0] + LATELY - 1}"
        return False, f"the lowest was {number(lately[best])}, at step {best + LATELY - 1}"

    return Goal(f"a loss of {target:g} (mean of {LATELY} batches) within {steps} steps", met)


def first_loss_at_most(bound: float) -> Goal:
    """A loss of the untrained net of at most `bound`."""

    def met(trace: Trace) -> tuple[bool, str]:
        return bool(trace.loss[0] <= bound), f"it is {number(trace.loss[0])}"

    return Goal(f"a loss of at most {bound:g} before training", met)


def accuracy_at_least(share: float) -> Goal:
    """A held-out accuracy of at least `share` after the last step."""

    def met(trace: Trace) -> tuple[bool, str]:
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        return bool(accuracy >= share), f"it is {accuracy:.1%}"

    return Goal(f"a held-out accuracy of {share:.0%} after the last step", met)


def stream_within(factor: float) -> Goal:
    """Before training, a stream whose RMS at the end is within a factor of that at the input."""

    def met(trace: Trace) -> tuple[bool, str]:
        ratio = float(trace.act_rms[0, -1] / trace.act_rms[0, 0])
        return bool(1 / factor <= ratio <= factor), f"it changes by a factor of {number(ratio)}"

    return Goal(f"before training, a stream whose RMS at the end is within a factor of {factor:g} of the input's", met)


def cosine_at_most(cosine: float) -> Goal:
    """Before training, different samples whose cosine at the end of the stream is at most this."""

    def met(trace: Trace) -> tuple[bool, str]:
        return final_cosine(trace) <= cosine, f"it is {final_cosine(trace):.2f}"

    return Goal(f"before training, a sample cosine of at most {cosine:g} at the end of the stream", met)


GOALS: dict[str, Callable[..., Goal]] = {
    goal.__name__: goal for goal in (loss_within, first_loss_at_most, accuracy_at_least, stream_within, cosine_at_most)
}
