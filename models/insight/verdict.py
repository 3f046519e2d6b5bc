"""Verdicts: what a step's profiles say, in sentences computed from the data.

Stream gradient, weight gradient and sample cosine are read together: a net can have level gradients and still turn all
inputs into nearly one direction, and a plain net's stream gradient can fall over depth while its weight gradients stay
level. `python -m benchmarks verdicts` counts what became of nets by their verdict before training (`starts`), on which
the thresholds rest.
"""

import math
from dataclasses import dataclass

import numpy as np

from addnorm import findings
from models.insight.baseline import LEARNT
from models.insight.theory import he_twice
from models.insight.words import (
    UNCHANGED_DECADES,
    change_in_words,
    counted,
    decades,
    factor,
    number,
    of_their_size,
    times_larger,
    two_places,
    vectors,
)
from models.spec import RunConfig
from models.trace import Frame, Trace, site_in_words

EXPLODING = 100.0  # factor by which the signal grows over depth, or the gradient on its way back
VANISHING = findings.VANISHING  # factor by which one of them falls
COLLAPSED = findings.ALIKE  # mean cosine between different samples at the end of the stream
APART = 0.7  # of the same, below which samples have different directions
LARGE_UPDATE = 0.3  # of a block's weights in one step (`starts.UPDATES`)
LAST = 20  # rows whose mean loss counts: a single batch says less
DEAD = 0.5  # share of a block's ReLU units that output 0 for every token of the subset
INERT = 1e-3  # largest branch over largest stream, below which the branches add nothing yet

THRESHOLDS = (
    f"Exploding: the signal over depth, or the gradient on its way back, becomes more than {EXPLODING:g} times larger. "
    f"Vanishing: one of them becomes more than {VANISHING:g} times smaller. Collapsed: different samples end with a "
    f"mean cosine above {COLLAPSED:g}. Inert: no branch reaches {INERT:g} of the stream. Large updates: a block "
    f"changes by more than {LARGE_UPDATE:.0%} in a step. Dead: more than {DEAD:.0%} of a block's ReLU units give 0 for "
    "all of a fixed set of about 128 samples or tokens. Stream gradient, weight gradient and cosine are read together."
)


@dataclass(frozen=True)
class Verdict:
    """A verdict and the sentence that says why.

    Kinds: diverged, exploding, vanishing, collapsed, inert, dead, large updates, healthy.
    """

    kind: str
    sentence: str


def activation_sentence(sites: tuple[str, ...], act_rms: np.ndarray) -> str:
    """How the signal changes from the first to the last point of the stream, or where it is not finite."""
    if lost := _not_finite("signal", sites, act_rms):
        return lost
    path = f"from {site_in_words(sites[0])} to {site_in_words(sites[-1])}"
    return _capital(change_in_words("the signal", decades(act_rms[0], act_rms[-1]), path))


def gradient_sentence(sites: tuple[str, ...], grad_rms: np.ndarray) -> str:
    """How the gradient changes from the last point of the stream back to the first, or where it is not finite."""
    if lost := _not_finite("gradient", sites[::-1], grad_rms[::-1]):
        return lost
    path = f"from {site_in_words(sites[-1])} back to {site_in_words(sites[0])}"
    return _capital(change_in_words("the gradient", decades(grad_rms[-1], grad_rms[0]), path))


def weight_sentence(weight_grad_rms: np.ndarray) -> str:
    """How far apart the weight gradients of the blocks are."""
    lost = np.count_nonzero(~np.isfinite(weight_grad_rms))
    if lost:
        which = "the block" if lost == len(weight_grad_rms) == 1 else f"{lost} of {len(weight_grad_rms)} blocks"
        return f"The weight gradients of {which} are not finite."
    alive = weight_grad_rms[weight_grad_rms > 0]
    if len(alive) == 0:
        return "No block's weights receive a gradient."
    spread, still = decades(alive.min(), alive.max()), len(weight_grad_rms) - len(alive)
    if spread < UNCHANGED_DECADES:
        far = "The blocks' weight gradients are within a factor of two of each other"
    else:
        far = f"The largest of the blocks' weight gradients is {times_larger(spread)} than the smallest"
    none = f"{counted(still, 'block')} receive{'s' * (still == 1)} none"
    return f"{far}; {none}." if still else f"{far}."


def cosine_sentence(cfg: RunConfig, sample_cosine: np.ndarray) -> str:
    """Whether different samples (tokens, where a sample has several) still differ at the end of the stream."""
    first, last = float(sample_cosine[0]), float(sample_cosine[-1])
    if not math.isfinite(last):
        return "At the end of the stream there is no direction left to compare."
    return (
        f"Different {vectors(cfg)} have a mean cosine of {two_places(first)} at the input and {two_places(last)} at "
        f"the end: {directions(last)}."
    )


def directions(cosine: float) -> str:
    """How far vectors of this mean cosine point the same way."""
    if cosine < APART:
        return "in different directions"
    return "in nearly one direction" if cosine > COLLAPSED else "much alike, but not in one direction"


def loss_sentence(trace: Trace | None, row: int, guessing: float) -> str:
    """The training loss at one row of a tape, if there is one; that of the last rows compared with guessing."""
    if trace is None or len(trace) == 0:
        return f"Not trained yet. Chance is {guessing:.2f}."
    loss, frame = float(trace.loss[row]), trace.frame_at(row)
    if not math.isfinite(loss):
        return f"The loss is not finite at step {row}."
    if row == 0:
        return f"Step 0: not trained yet, loss {number(loss)}; chance is {guessing:.2f}."
    # A single batch says little. Up to LAST rows, of the later half of the run so far.
    lately = float(np.mean(trace.loss[row - min(LAST - 1, row // 2) : row + 1], dtype=np.float64))
    if lately < 0.5 * guessing:
        relation = "it learns"
    elif lately < LEARNT * guessing:
        relation = "it begins to learn"
    elif lately <= 1.1 * guessing:
        relation = "no better than chance"
    elif lately < float(trace.loss[0]):
        relation = "not yet as good as chance"
    else:
        relation = "worse than chance"
    accuracy = ""
    if frame is not None and math.isfinite(frame.held_out_accuracy):
        accuracy = f", held-out accuracy {frame.held_out_accuracy:.0%}{_of_step(frame, row)}"
    return f"Step {row}: loss {number(loss)}{accuracy}; chance is {guessing:.2f}: {relation}."


def verdict(cfg: RunConfig, trace: Trace, row: int) -> Verdict:
    """The most important verdict on one row of a tape."""
    return verdicts(cfg, trace, row)[0]


def verdicts(cfg: RunConfig, trace: Trace, row: int) -> list[Verdict]:
    """The verdicts on one row of a tape, worst first; healthy if nothing is wrong.

    On row 0, the untrained net, the first also says why it starts like this, where He's weights are the reason.
    """
    frame, what = trace.frame_at(row), vectors(cfg)
    act_rms, grad_rms, branch_rms, weight_grad_rms = (
        series[row] for series in (trace.act_rms, trace.grad_rms, trace.branch_rms, trace.weight_grad_rms)
    )
    if not all(np.isfinite(series).all() for series in (act_rms, grad_rms, branch_rms, weight_grad_rms)):
        return [Verdict("diverged", "Not finite: some numbers have left the range of the machine.")]
    sample_cosine = frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
    of_step = _of_step(frame, row) if frame else ""
    stream, gradient = decades(act_rms[0], act_rms[-1]), decades(grad_rms[-1], grad_rms[0])
    cosine = f"{sample_cosine[-1]:.2f}{of_step}"
    wrong: list[Verdict] = []
    collapsed = float(sample_cosine[-1]) > COLLAPSED >= float(sample_cosine[0])
    one_direction = f"all {what} end in nearly one direction (mean cosine {cosine})"
    if max(stream, gradient) > math.log10(EXPLODING):
        why = "" if row else he_twice(cfg)
        wrong.append(Verdict("exploding", f"Exploding: {_both(stream, gradient)}. {why}".rstrip()))
    elif min(stream, gradient) < -math.log10(VANISHING):
        also = f", and {one_direction}" if collapsed else ""
        wrong.append(
            Verdict(
                "vanishing",
                f"Vanishing: {_both(stream, gradient)}{_yet_level(weight_grad_rms, stream, gradient)}{also}.",
            )
        )
    elif collapsed:
        wrong.append(
            Verdict("collapsed", f"Collapsed: sizes look fine ({_both(stream, gradient)}), but {one_direction}.")
        )
    elif branch_rms.max() < INERT * act_rms.max():
        wrong.append(
            Verdict(
                "inert",
                "Inert branches: no block adds anything noticeable to the stream; training has to switch the branches "
                "on.",
            )
        )
    updated = [
        past.update_to_weight for past in trace.frames if past.step < row and np.isfinite(past.update_to_weight).any()
    ]
    wrong += _large_updates(updated[-1] if updated else np.empty(0))
    wrong += _dead_units(frame.dead_units if frame else np.empty(0), of_step, what)
    last = float(sample_cosine[-1])
    end = f", and {what} end {directions(last)} (mean cosine {cosine})" if math.isfinite(last) else ""
    return wrong or [Verdict("healthy", f"Healthy: {_both(stream, gradient)}{end}.")]


def _large_updates(update_to_weight: np.ndarray) -> list[Verdict]:
    """The verdict that an update changed much of a block's weights, if one did."""
    finite = np.where(np.isfinite(update_to_weight), update_to_weight, 0.0)
    if finite.max(initial=0.0) <= LARGE_UPDATE:
        return []
    block, size = int(finite.argmax()) + 1, float(finite.max())
    return [
        Verdict(
            "large updates",
            f"Large updates: the last one that was measured changed the weights of block {block} by "
            f"{of_their_size(size)}.",
        )
    ]


def _dead_units(dead_units: np.ndarray, of_step: str, what: str) -> list[Verdict]:
    """The verdict that most units of some block are dead, if they are."""
    if not (dead_units > DEAD).any():
        return []
    block, share = int(np.nanargmax(dead_units)) + 1, float(np.nanmax(dead_units))
    silent = f"{share:.0%} of the units of block {block} give 0 for all {what} of a fixed set{of_step}"
    return [Verdict("dead", f"Dead units: {silent}; from such {what} they learn nothing.")]


def _of_step(frame: Frame, row: int) -> str:
    """The step of a frame in words, if it is not that of the row."""
    return f" at step {frame.step}" if frame.step != row else ""


def _both(stream: float, gradient: float) -> str:
    return (
        f"{change_in_words('the signal', stream, 'over depth')}, "
        f"{change_in_words('its gradient', gradient, 'on the way back')}"
    )


def _yet_level(weight_grad_rms: np.ndarray, stream: float, gradient: float) -> str:
    """The remark that the weight gradients are level although the stream gradient falls, if they are, and why."""
    if weight_grad_rms.min() <= 0:
        return ""
    spread = decades(weight_grad_rms.min(), weight_grad_rms.max())
    if spread >= 1:
        return ""
    size = number(float(np.median(weight_grad_rms)), 1)
    if max(stream, gradient) < -1 and abs(stream - gradient) < 1:  # a weight's gradient is input times gradient
        return f"; weight gradients are level, about {size}: where a block's input is large, its gradient is small"
    return (
        f"; the weight gradients are level across blocks, within a factor of {factor(spread)} around {size}: late "
        "blocks get as much or as little as early ones"
    )


def _not_finite(what: str, sites: tuple[str, ...], values: np.ndarray) -> str:
    """How many points of the stream are not finite, and the first of them in the order of computation; else empty."""
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost) == 0:
        return ""
    first = site_in_words(sites[lost[0]])
    return f"The {what} is not finite at {len(lost)} of {len(sites)} points of the stream, first at {first}."


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] + "."
