"""Challenges and their checks: conditions on a configuration and on the trace of its finished run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.insight.outcome import LATELY, gradient_change, likeness, recent_losses, stream_change
from models.insight.words import change_in_words
from models.spec import RunConfig, knobs
from models.spec.pairings import differing
from models.trace import Trace


@dataclass(frozen=True)
class Goal:
    """A condition on a finished trace: its text, and a check that also says what was measured."""

    text: str
    met: Callable[[Trace], tuple[bool, str]]


@dataclass(frozen=True)
class Challenge:
    """A task for the learner: reach all goals from `base`, changing only `fields`.

    `limits`: fields with their least and greatest value.
    """

    text: str
    base: RunConfig
    fields: tuple[str, ...]
    goals: tuple[Goal, ...]
    limits: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Check:
    """Whether a challenge is passed, and sentences on what is missing, what was reached, and why it failed."""

    passed: bool
    missing: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    hint: str = ""


def check(challenge: Challenge, cfg: RunConfig, trace: Trace | None) -> Check:
    """The verdict on one attempt: first on its fields, then whether the run is over, then on the goals."""
    astray = out_of_bounds(challenge, cfg)
    if astray:
        return Check(False, astray)
    if trace is None or (len(trace) < cfg.steps and trace.divergence is None):
        return Check(False, (f"The run has {0 if trace is None else len(trace)} of its {cfg.steps} steps.",))
    if trace.divergence is not None:
        return Check(False, (trace.divergence.sentence(),), hint=did(trace))
    results = [(*goal.met(trace), goal.text) for goal in challenge.goals]
    missing = tuple(f"Missing: {text}; {measured}." for met, measured, text in results if not met)
    reached = tuple(f"Reached: {text}; {measured}." for met, measured, text in results if met)
    return Check(not missing, missing, reached, did(trace) if missing else "")


def did(trace: Trace) -> str:
    """A hint after a miss: what signal and gradient did before training, and where the loss went."""
    stream = change_in_words("the signal", stream_change(trace), "over depth")
    gradient = change_in_words("the gradient", gradient_change(trace), "on its way back")
    finite = trace.loss[np.isfinite(trace.loss)]
    loss = (
        f" The loss went from {finite[0]:.3g} to {finite[-1]:.3g}, its least was {finite.min():.3g}."
        if len(finite)
        else ""
    )
    return f"What the numbers did: before training {stream}, and {gradient}.{loss}"


def out_of_bounds(challenge: Challenge, cfg: RunConfig) -> tuple[str, ...]:
    """Sentences on fields that an attempt may not change, or moved past their limits."""
    sentences = [
        f"{knobs()[name][1].label} is {_word(getattr(cfg, name))}; this challenge leaves it at "
        f"{_word(getattr(challenge.base, name))}."
        for name in differing((challenge.base, cfg))
        if name not in challenge.fields
    ]
    for name, low, high in challenge.limits:
        value = getattr(cfg, name)
        if isinstance(value, str) or not low <= value <= high:
            sentences.append(f"{knobs()[name][1].label} is {_word(value)}; this challenge allows {low:g} to {high:g}.")
    return tuple(sentences)


def loss_within(target: float, steps: int) -> Goal:
    """The goal of a mean training loss over LATELY batches of at most `target` within `steps` steps."""

    def met(trace: Trace) -> tuple[bool, str]:
        lately = recent_losses(trace.loss[:steps])
        if not len(lately) or not np.isfinite(lately).any():
            return False, "no loss was measured"
        best = int(np.nanargmin(lately))
        below = np.flatnonzero(lately <= target)
        if len(below):
            return True, f"it is {lately[below[0]]:.3g} at step {below[0] + LATELY - 1}"
        return False, f"the least is {lately[best]:.3g}, at step {best + LATELY - 1}"

    return Goal(f"a loss of {target:g} (mean of {LATELY} batches) within {steps} steps", met)


def first_loss_at_most(bound: float) -> Goal:
    """The goal of an untrained loss of at most `bound`."""

    def met(trace: Trace) -> tuple[bool, str]:
        return bool(trace.loss[0] <= bound), f"it is {trace.loss[0]:.3g}"

    return Goal(f"a loss of at most {bound:g} before training", met)


def accuracy_at_least(share: float) -> Goal:
    """The goal of a held-out accuracy of at least `share` after the last step."""

    def met(trace: Trace) -> tuple[bool, str]:
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        return bool(accuracy >= share), f"it is {accuracy:.1%}"

    return Goal(f"a held-out accuracy of {share:.0%} after the last step", met)


def stream_within(factor: float) -> Goal:
    """The goal of an untrained stream whose RMS at the end is within a factor of that at the input."""

    def met(trace: Trace) -> tuple[bool, str]:
        ratio = float(trace.act_rms[0, -1] / trace.act_rms[0, 0])
        return bool(1 / factor <= ratio <= factor), f"it changes by a factor of {ratio:.3g}"

    return Goal(f"before training, a stream whose RMS at the end is within a factor of {factor:g} of the input's", met)


def cosine_at_most(cosine: float) -> Goal:
    """The goal of an untrained sample cosine of at most `cosine` at the end of the stream."""

    def met(trace: Trace) -> tuple[bool, str]:
        return likeness(trace) <= cosine, f"it is {likeness(trace):.2f}"

    return Goal(f"before training, a sample cosine of at most {cosine:g} at the end of the stream", met)


def _word(value: object) -> str:
    """A field's value as the page writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else "set" if isinstance(value, tuple) else str(value)
