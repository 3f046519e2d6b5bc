"""Post-mortem of a diverged run: the evidence in its log, and the changes to try first. Only trials can show a cause.

The first rule of RULES that fits gives the evidence, in figures.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from addnorm.findings import vanished_since, vanishing_sentence
from models.insight.estimates import is_fully_normed
from models.insight.outcome import gradient_change, stream_change
from models.insight.theory import he_factor_sentence
from models.insight.verdict import EXPLODING, LARGE_UPDATE
from models.insight.words import change_in_words, decades, factor, relative_size, times_larger
from models.spec import RunConfig
from models.trace import Trace

FIRST_UPDATES = 3  # number of updates that count as the first ones
GROWN = 10.0  # least factor by which the end of the stream must have grown in training


@dataclass(frozen=True)
class PostMortem:
    """The evidence in a log, and the last good and first bad step by site, (S,) each, -1 where there is none.

    `remedies`: the changes that the evidence suggests, by their names in `remedy.ORDER`.
    """

    kind: str
    sentence: str
    remedies: tuple[str, ...]
    good_activation: np.ndarray
    bad_activation: np.ndarray
    good_gradient: np.ndarray
    bad_gradient: np.ndarray


@dataclass(frozen=True)
class DivergenceRule:
    """A kind of divergence: its evidence as a sentence, empty if the rule does not fit, and the remedies to try."""

    kind: str
    evidence: Callable[[RunConfig, Trace], str]
    remedies: tuple[str, ...]


def postmortem(cfg: RunConfig, trace: Trace) -> PostMortem:
    """The post-mortem of a run that diverged, whose log ends with its first row that is not finite."""
    assert trace.divergence is not None
    evidence = ((rule, rule.evidence(cfg, trace)) for rule in (*RULES, UNEXPLAINED))
    rule, sentence = next((rule, sentence) for rule, sentence in evidence if sentence)
    return PostMortem(
        rule.kind,
        sentence,
        rule.remedies,
        *_last_good_first_bad(trace.act_rms),
        *_last_good_first_bad(trace.grad_rms),
    )


def gradient_loss_sentence(trace: Trace) -> str:
    """The step from which the gradient vanishes on its way back until the end of a log; empty if it does not."""
    ends = trace.grad_rms[:, [-1, 0]].astype(float)
    start = vanished_since(*ends.T.tolist())
    return "" if start is None else vanishing_sentence(int(trace.step[start]), "the input")


def _last_good_first_bad(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Last finite and first non-finite row of every column; -1 where there is none."""
    finite = np.isfinite(values)
    rows = np.arange(len(values))[:, None]
    last_good = np.where(finite, rows, -1).max(0)
    first_bad = np.where(finite, len(values), rows).min(0)
    return last_good, np.where(first_bad == len(values), -1, first_bad)


# --- the rules ---


def _initial_overflow(_cfg: RunConfig, trace: Trace) -> str:
    if len(trace) > 1:
        return ""
    finite = trace.act_rms[0][np.isfinite(trace.act_rms[0])]
    count = min(len(finite), len(trace.sites) - 1)  # sublayers up to the first site that is not finite, else all
    if count < 2:
        return "Before any update, the first sublayer leaves the range of float32. No learning rate helps."
    return (
        f"Before any update, each sublayer multiplies the stream by {_per_sublayer(finite)}, and {count} in a row "
        "leave the range of float32. No learning rate helps."
    )


def _exploding_stream(cfg: RunConfig, trace: Trace) -> str:
    if stream_change(trace) < math.log10(EXPLODING) or is_fully_normed(cfg):
        return ""
    sentence = (
        f"Before training {change_in_words('the stream', trace.act_rms[0], 'over depth')}, and "
        f"{change_in_words('its gradient', trace.grad_rms[0, ::-1], 'on the way back')}{_update_clause(cfg, trace)}."
    )
    return f"{sentence} {he_factor_sentence(cfg)}".rstrip()


def _exploding_gradient(cfg: RunConfig, trace: Trace) -> str:
    stream, gradient = stream_change(trace), gradient_change(trace)
    # With norms before the branches, a gradient that shrinks as the stream grows does no harm.
    if gradient < math.log10(EXPLODING) or (is_fully_normed(cfg) and stream > gradient / 2):
        return ""
    return (
        f"Before training {change_in_words('the stream', trace.act_rms[0], 'over depth')}, but "
        f"{change_in_words('its gradient', trace.grad_rms[0, ::-1], 'on the way back')}{_update_clause(cfg, trace)}. "
        f"Each sublayer multiplies the gradient by about {_per_sublayer(trace.grad_rms[0][::-1])}."
    )


def _large_update(_cfg: RunConfig, trace: Trace) -> str:
    """Which of the first updates was largest; empty if that one was not large."""
    measured = [
        (float(size), frame.step, block)
        for frame in trace.frames
        if frame.step < FIRST_UPDATES
        for block, size in enumerate(frame.update_to_weight, start=1)
        if np.isfinite(size)
    ]
    size, step, block = max(measured, key=itemgetter(0), default=(0.0, 0, 0))
    if size < LARGE_UPDATE:
        return ""
    return f"Update {step} changed the weights of block {block} by {relative_size(size)}."


def _growing_stream(_cfg: RunConfig, trace: Trace) -> str:
    if len(trace) < 3:
        return ""
    growth = decades(trace.act_rms[0, -1], trace.act_rms[-2, -1])
    if growth < math.log10(GROWN):
        return ""
    doubled = int(np.argmax(trace.act_rms[:-1, -1] > 2 * trace.act_rms[0, -1]))
    largest = trace.grad_rms[:-1].max(1)
    gradient = times_larger(decades(largest[0], largest.max())) if largest.max() > 2 * largest[0] > 0 else "no larger"
    return (
        f"The steps were moderate at first, but the end of the stream became {times_larger(growth)} in training, "
        f"twice as large by step {doubled}; its largest gradient became {gradient} on the way."
    )


def _per_sublayer(profile: np.ndarray) -> str:
    """Mean factor from one point of the stream to the next, in words."""
    return factor(decades(profile[0], profile[-1]) / (len(profile) - 1))


def _update_clause(cfg: RunConfig, trace: Trace) -> str:
    """The evidence of `_large_update` as a clause that continues a sentence."""
    sentence = _large_update(cfg, trace)
    return f"; {sentence[0].lower()}{sentence[1:]}".removesuffix(".") if sentence else ""


RULES: tuple[DivergenceRule, ...] = (
    DivergenceRule(
        "overflow at initialisation",
        _initial_overflow,
        ("init_gain", "skip_scale", "residual", "norm", "placement", "branch_scale", "init"),
    ),
    DivergenceRule(
        "stream explodes over depth",
        _exploding_stream,
        ("residual", "norm", "placement", "branch_scale", "skip_scale", "init", "lr", "warmup"),
    ),
    DivergenceRule(
        "gradient explodes over depth",
        _exploding_gradient,
        ("residual", "norm", "placement", "branch_scale", "lr", "warmup"),
    ),
    DivergenceRule("updates too large", _large_update, ("lr", "warmup", "clip")),
    DivergenceRule(
        "stream grows in training", _growing_stream, ("lr", "branch_scale", "norm", "residual", "warmup", "clip")
    ),
)
UNEXPLAINED = DivergenceRule(
    "unexplained", lambda cfg, trace: "Nothing in the log was unusual before.", ("lr", "warmup", "clip")
)
