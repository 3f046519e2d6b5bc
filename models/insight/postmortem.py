"""How a run diverged: what its log shows, and the changes to try first. Only these trials can show a cause.

Rules are tried from top to bottom; the first that fits says what it saw, in figures.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from addnorm.findings import vanished_since, vanishing_sentence
from models.insight.outcome import gradient_change, stream_change
from models.insight.reads import all_normed
from models.insight.theory import he_twice
from models.insight.verdict import EXPLODING, LARGE_UPDATE
from models.insight.words import change_in_words, decades, factor, of_their_size, times_larger
from models.spec import RunConfig
from models.trace import Trace

FIRST_UPDATES = 3  # updates that count as the first
GROWN = 10.0  # factor by which the end of the stream must have grown in training


@dataclass(frozen=True)
class PostMortem:
    """What the log shows, and the last good and first bad step by site, (S,) each, or -1 if there is none.

    `first`: the changes that this suggests, by their names in `remedy.ORDER`.
    """

    kind: str
    sentence: str
    first: tuple[str, ...]
    good_activation: np.ndarray
    bad_activation: np.ndarray
    good_gradient: np.ndarray
    bad_gradient: np.ndarray


@dataclass(frozen=True)
class Trail:
    """A rule: its name, what it saw in words (empty if it does not fit), and what to try first."""

    kind: str
    evidence: Callable[[RunConfig, Trace], str]
    first: tuple[str, ...]


def postmortem(cfg: RunConfig, trace: Trace) -> PostMortem:
    """What ended a run that diverged; its log ends with the first row that is not finite."""
    assert trace.divergence is not None
    rule, sentence = next((rule, said) for rule in (*RULES, UNEXPLAINED) if (said := rule.evidence(cfg, trace)))
    return PostMortem(
        rule.kind,
        sentence,
        rule.first,
        *_last_and_first(trace.act_rms),
        *_last_and_first(trace.grad_rms),
    )


def vanished_from(trace: Trace) -> str:
    """From which step on the gradient vanishes on its way back until the end of a log; empty where it does not."""
    ends = trace.grad_rms[:, [-1, 0]].astype(float)
    start = vanished_since(*ends.T.tolist())
    return "" if start is None else vanishing_sentence(int(trace.step[start]), "the input")


def _last_and_first(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last finite and the first non-finite row of every column, or -1."""
    finite = np.isfinite(values)
    rows = np.arange(len(values))[:, None]
    last = np.where(finite, rows, -1).max(0)
    first = np.where(finite, len(values), rows).min(0)
    return last, np.where(first == len(values), -1, first)


# --- the rules ---


def _overflow(_cfg: RunConfig, trace: Trace) -> str:
    if len(trace) > 1:
        return ""
    good = trace.act_rms[0][np.isfinite(trace.act_rms[0])]
    grown = f"multiplies the stream by {_per_sublayer(good)}" if len(good) > 1 else "leaves it"
    return (
        f"Before any update: each sublayer {grown}, and {max(1, len(good) - 1)} are enough to leave the range of "
        "float32. No learning rate helps."
    )


def _loud_stream(cfg: RunConfig, trace: Trace) -> str:
    stream, gradient = stream_change(trace), gradient_change(trace)
    if stream < math.log10(EXPLODING) or all_normed(cfg):
        return ""
    return (
        f"Before training {change_in_words('the stream', stream, 'over depth')}, and "
        f"{change_in_words('its gradient', gradient, 'on the way back')}{_first_update(trace)}. {he_twice(cfg)}"
    ).rstrip()


def _loud_gradient(cfg: RunConfig, trace: Trace) -> str:
    stream, gradient = stream_change(trace), gradient_change(trace)
    # Behind norms a gradient that is smaller where the stream is larger harms nobody.
    if gradient < math.log10(EXPLODING) or (all_normed(cfg) and stream > gradient / 2):
        return ""
    return (
        f"Before training {change_in_words('the stream', stream, 'over depth')}, but "
        f"{change_in_words('its gradient', gradient, 'on the way back')}{_first_update(trace)}. Each sublayer "
        f"multiplies the gradient by about {_per_sublayer(trace.grad_rms[0][::-1])}."
    )


def _fierce(_cfg: RunConfig, trace: Trace) -> str:
    worst = _largest_update(trace)
    if worst is None or worst[2] < LARGE_UPDATE:
        return ""
    step, block, size = worst
    return f"Update {step} changed the weights of block {block} by {of_their_size(size)}."


def _grown(_cfg: RunConfig, trace: Trace) -> str:
    if len(trace) < 3:
        return ""
    growth = decades(trace.act_rms[0, -1], trace.act_rms[-2, -1])
    if growth < math.log10(GROWN):
        return ""
    start = int(np.argmax(trace.act_rms[:-1, -1] > 2 * trace.act_rms[0, -1]))
    largest = trace.grad_rms[:-1].max(1)
    gradient = times_larger(decades(largest[0], largest.max())) if largest.max() > 2 * largest[0] > 0 else "no larger"
    return (
        f"The steps were moderate at first, but the end of the stream became {times_larger(growth)} in training, "
        f"twice as large by step {start}; its largest gradient became {gradient} on the way."
    )


def _per_sublayer(profile: np.ndarray) -> str:
    """The mean factor from one point of the stream to the next."""
    return factor(decades(profile[0], profile[-1]) / (len(profile) - 1))


def _first_update(trace: Trace) -> str:
    """What the largest of the first updates did, if it was large."""
    worst = _largest_update(trace)
    if worst is None or worst[2] < LARGE_UPDATE:
        return ""
    step, block, size = worst
    return f"; update {step} changed the weights of block {block} by {of_their_size(size)}"


def _largest_update(trace: Trace) -> tuple[int, int, float] | None:
    """The step, block and |change| / |weights| of the largest measured update among the first."""
    measured = [
        (frame.step, block, float(size))
        for frame in trace.frames
        if frame.step < FIRST_UPDATES
        for block, size in enumerate(frame.update_to_weight, start=1)
        if np.isfinite(size)
    ]
    return max(measured, key=lambda update: update[2], default=None)


RULES: tuple[Trail, ...] = (
    Trail(
        "overflow at initialisation",
        _overflow,
        ("init_gain", "skip_scale", "residual", "norm", "placement", "branch_scale", "init"),
    ),
    Trail(
        "stream explodes over depth",
        _loud_stream,
        ("residual", "norm", "placement", "branch_scale", "skip_scale", "init", "lr", "warmup"),
    ),
    Trail(
        "gradient explodes over depth",
        _loud_gradient,
        ("residual", "norm", "placement", "branch_scale", "lr", "warmup"),
    ),
    Trail("updates too large", _fierce, ("lr", "warmup", "clip")),
    Trail("stream grows in training", _grown, ("lr", "branch_scale", "norm", "residual", "warmup", "clip")),
)
UNEXPLAINED = Trail(
    "unexplained", lambda cfg, trace: "Nothing in the log was unusual before.", ("lr", "warmup", "clip")
)
