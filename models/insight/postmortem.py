"""Why a run diverged: what its tape shows, the likeliest cause, and which changes it suggests to try first.

The rules are read from top to bottom; the first that fits is the likeliest cause. Each names the figures it rests on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.insight.verdict import decades
from models.spec import RunConfig
from models.trace import Trace

LOUD = 1.0  # decades by which stream or gradient grow over depth before training, above which depth itself is the cause
FIERCE = 0.03  # of a block's weights in the first updates, above which the updates are the cause; 1e-3 is usual
FIRST_UPDATES = 3  # updates that count as the first ones
GROWN = 1.0  # decades by which the end of the stream has grown since the first step


@dataclass(frozen=True)
class PostMortem:
    """The last good and the first bad step by site, (S,) each for activation and gradient (-1: none), and the cause.

    `first`: the changes that the cause suggests, names of `remedy.ORDER`.
    """

    kind: str
    sentence: str
    first: tuple[str, ...]
    good_activation: np.ndarray
    bad_activation: np.ndarray
    good_gradient: np.ndarray
    bad_gradient: np.ndarray


@dataclass(frozen=True)
class Rule:
    """A cause: its name, the figure it rests on in words where it fits (else empty), and what to try first."""

    kind: str
    evidence: Callable[[RunConfig, Trace], str]
    first: tuple[str, ...]


def postmortem(cfg: RunConfig, trace: Trace) -> PostMortem:
    """What ended a run that diverged. Its tape ends with the first row that is not finite."""
    assert trace.divergence is not None
    rule, sentence = next((rule, found) for rule in (*RULES, UNEXPLAINED) if (found := rule.evidence(cfg, trace)))
    return PostMortem(
        rule.kind,
        sentence,
        rule.first,
        *_last_and_first(trace.act_rms),
        *_last_and_first(trace.grad_rms),
    )


def _last_and_first(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last finite and the first non-finite row of every column, -1 where there is none."""
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
    rate = decades(good[0], good[-1]) / max(1, len(good) - 1) if len(good) > 1 else np.nan
    return (
        f"Before any update: the stream grows {rate:.2g} decades per sublayer, and {len(good) - 1} sublayers are enough to "
        f"leave the range of float32. The initialisation is the cause, no learning rate helps."
    )


def _loud_stream(cfg: RunConfig, trace: Trace) -> str:
    growth = decades(trace.act_rms[0, 0], trace.act_rms[0, -1])
    if growth < LOUD:
        return ""
    return (
        f"The stream grew {growth:.1f} decades over depth before training, and its gradient {_gradient(trace):.1f} on the way "
        f"back{_so(cfg, ': every update is that much too large')}. Depth without anything that holds the stream is the cause."
    )


def _loud_gradient(cfg: RunConfig, trace: Trace) -> str:
    growth = _gradient(trace)
    if growth < LOUD:
        return ""
    return (
        f"The stream kept its size, but its gradient grew {growth:.1f} decades on the way back before "
        f"training{_so(cfg, ': the first blocks got updates that much larger than the last')}. A norm that "
        "multiplies every gradient, without a skip, is the cause."
    )


def _fierce(_cfg: RunConfig, trace: Trace) -> str:
    early = [frame for frame in trace.frames if frame.step < FIRST_UPDATES and np.isfinite(frame.update_to_weight).any()]
    if not early:
        return ""
    worst = max(early, key=lambda frame: float(np.nanmax(frame.update_to_weight)))
    size, block = float(np.nanmax(worst.update_to_weight)), int(np.nanargmax(worst.update_to_weight)) + 1
    if size < FIERCE:
        return ""
    return (
        f"Update {worst.step} changed the weights of block {block} by {size:.0%} of their size, where 0.1% is usual: the steps "
        f"were too large from the start."
    )


def _grown(_cfg: RunConfig, trace: Trace) -> str:
    if len(trace) < 3:
        return ""
    growth = decades(trace.act_rms[0, -1], trace.act_rms[-2, -1])
    if growth < GROWN:
        return ""
    start = int(np.argmax(trace.act_rms[:-1, -1] > 2 * trace.act_rms[0, -1]))
    return (
        f"The steps were moderate at first, but the end of the stream grew {growth:.1f} decades in training, doubled by step "
        f"{start}: larger streams give larger gradients, which make the stream larger still."
    )


def _so(cfg: RunConfig, said: str) -> str:
    """What follows where an update is as long as its gradient, which Adam's are not."""
    return said if cfg.optimizer in {"sgd", "momentum"} else ""


def _gradient(trace: Trace) -> float:
    return decades(trace.grad_rms[0, -1], trace.grad_rms[0, 0])


RULES: tuple[Rule, ...] = (
    Rule("overflow at initialisation", _overflow, ("init_gain", "skip_scale", "init", "norm", "placement", "branch_scale")),
    Rule("stream explodes over depth", _loud_stream, ("norm", "placement", "branch_scale", "skip_scale", "init")),
    Rule("gradient explodes over depth", _loud_gradient, ("residual", "norm", "lr")),
    Rule("updates too large", _fierce, ("lr", "clip")),
    Rule("stream grows in training", _grown, ("lr", "clip", "norm")),
)
UNEXPLAINED = Rule("unexplained", lambda cfg, trace: "No rule here explains it; smaller steps may help.", ("lr", "clip"))
