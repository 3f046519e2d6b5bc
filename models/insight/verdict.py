"""What a set of charts says, in sentences computed from the data. Stream gradient, weight gradient and sample cosine

are read together: a net can have level gradients and never learn because all inputs have become the same direction,
and a plain net's stream gradient can fall by decades while its weight gradients stay level.
"""

import math
from dataclasses import dataclass

import numpy as np

from models.spec import RunConfig
from models.trace import Frame, Trace

EXPLODING = 2.0  # decades by which stream or gradient grow over depth
VANISHING = -1.5  # decades by which they fall
COLLAPSED = 0.95  # cosine between different samples at the end of the stream
LARGE_UPDATE = 1e-2  # of a block's weights in one step, above which an update is large; 1e-3 is usual (Karpathy)
DEAD = 0.5  # share of a block's ReLU units that give 0 for every sample, above which most of the block is dead
INERT = 1e-3  # branch over stream, below which a branch adds nothing yet
LEVEL = 0.3  # decades that count as no change: a factor of two

THRESHOLDS = (
    f"Exploding: stream or gradient grow more than {EXPLODING:g} decades over depth. Vanishing: one falls more than "
    f"{-VANISHING:g}. Collapsed: different samples end with a cosine above {COLLAPSED:g}. Inert: no branch reaches {INERT:g} "
    f"of the stream. Large updates: a block changes by more than {LARGE_UPDATE:.0%} in a step. Dead: more than {DEAD:.0%} of a "
    f"block's ReLU units give 0 for every sample. Stream gradient, weight gradient and sample cosine are read together."
)


@dataclass(frozen=True)
class Verdict:
    """A kind (diverged, exploding, vanishing, collapsed, inert, dead, large updates, healthy) and the sentence that says why."""

    kind: str
    sentence: str


def decades(start: float, end: float) -> float:
    """log10(end / start); infinite where one of them is zero or not finite."""
    if not (math.isfinite(start) and math.isfinite(end)):
        return math.inf
    if start == 0 or end == 0:
        return 0.0 if start == end else math.copysign(math.inf, end - start)
    return math.log10(end) - math.log10(start)


def change_in_words(name: str, change: float, path: str) -> str:
    """A change over depth as a sentence without its full stop."""
    if math.isinf(change):
        return f"{name} reaches {'infinity' if change > 0 else 'exactly 0'} {path}"
    if abs(change) < LEVEL:
        return f"{name} stays within a factor of {10 ** abs(change):.2g} {path}"
    verb = "grows" if change > 0 else "falls"
    size = f"{abs(change):.1f} decades" if abs(change) >= 1 else f"by a factor of {10 ** abs(change):.2g}"
    return f"{name} {verb} {size} {path}"


def activation_sentence(sites: tuple[str, ...], act_rms: np.ndarray) -> str:
    """What the activation does from the first to the last point of the stream, or where it is not finite."""
    if lost := _not_finite("activation", sites, act_rms):
        return lost
    return _capital(change_in_words("the activation", decades(act_rms[0], act_rms[-1]), f"from {sites[0]} to {sites[-1]}"))


def gradient_sentence(sites: tuple[str, ...], grad_rms: np.ndarray) -> str:
    """What the gradient does on its way back from the last point of the stream to the first, or where it is not finite."""
    if lost := _not_finite("gradient", sites[::-1], grad_rms[::-1]):
        return lost
    return _capital(change_in_words("the gradient", decades(grad_rms[-1], grad_rms[0]), f"from {sites[-1]} back to {sites[0]}"))


def weight_sentence(weight_grad_rms: np.ndarray) -> str:
    """How far apart the blocks' weight gradients are."""
    lost = np.count_nonzero(~np.isfinite(weight_grad_rms))
    if lost:
        which = "the block" if lost == len(weight_grad_rms) == 1 else f"{lost} of {len(weight_grad_rms)} blocks"
        return f"The weight gradients of {which} are not finite."
    alive = weight_grad_rms[weight_grad_rms > 0]
    if len(alive) == 0:
        return "No block's weights receive a gradient."
    spread, still = math.log10(alive.max() / alive.min()), len(weight_grad_rms) - len(alive)
    far = "within a factor of two of each other" if spread < LEVEL else f"up to {spread:.1f} decades apart"
    return f"The blocks' weight gradients are {far}" + (f"; {still} blocks receive none." if still else ".")


def cosine_sentence(sample_cosine: np.ndarray) -> str:
    """Whether different samples still point in different directions at the end of the stream."""
    first, last = float(sample_cosine[0]), float(sample_cosine[-1])
    if not math.isfinite(last):
        return "At the end of the stream there is no direction left to compare."
    fate = "they can hardly be told apart" if last > COLLAPSED else "they can be told apart"
    return f"Different samples have cosine {first:.2f} at x0 and {last:.2f} at the end: {fate}."


def loss_sentence(trace: Trace | None, row: int, chance: float) -> str:
    """Where the training loss at one row of a tape, if there is one, stands against a guess at random."""
    if trace is None or len(trace) == 0:
        return f"Not trained yet. Guessing at random costs {chance:.2f}."
    loss, frame = float(trace.loss[row]), trace.frame_at(row)
    if not math.isfinite(loss):
        return f"The loss is not finite at step {row}."
    if row == 0:
        return f"Step 0: not trained yet, loss {loss:.3g}; guessing at random costs {chance:.2f}."
    if loss < 0.5 * chance:
        relation = "it learns"
    elif loss < 0.9 * chance:
        relation = "it begins to learn"
    elif loss <= 1.1 * chance:
        relation = "no better than guessing"
    else:
        relation = "worse than guessing"
    accuracy = ""
    if frame is not None and math.isfinite(frame.held_out_accuracy):
        accuracy = f", held-out accuracy {frame.held_out_accuracy:.0%}{_of_step(frame, row)}"
    return f"Step {row}: loss {loss:.3g}{accuracy}; guessing costs {chance:.2f}: {relation}."


def verdict(cfg: RunConfig, trace: Trace, row: int) -> Verdict:
    """The headline over all that is known of one row of a tape."""
    return verdicts(cfg, trace, row)[0]


def verdicts(cfg: RunConfig, trace: Trace, row: int) -> list[Verdict]:
    """All that is wrong at one row of a tape, the worst first; that it is healthy where nothing is.

    `cfg` is the run's; what is found rests on the tape alone.
    """
    frame = trace.frame_at(row)
    updated = [seen.update_to_weight for seen in trace.frames if seen.step < row and np.isfinite(seen.update_to_weight).any()]
    return judged(
        act_rms=trace.act_rms[row],
        grad_rms=trace.grad_rms[row],
        branch_rms=trace.branch_rms[row],
        weight_grad_rms=trace.weight_grad_rms[row],
        sample_cosine=frame.sample_cosine if frame else np.full(len(trace.sites), np.nan),
        update_to_weight=updated[-1] if updated else np.empty(0),
        dead_units=frame.dead_units if frame else np.empty(0),
        of_step=_of_step(frame, row) if frame else "",
    )


def judged(
    *,
    act_rms: np.ndarray,
    grad_rms: np.ndarray,
    branch_rms: np.ndarray,
    weight_grad_rms: np.ndarray,
    sample_cosine: np.ndarray,
    update_to_weight: np.ndarray,
    dead_units: np.ndarray,
    of_step: str = "",
) -> list[Verdict]:
    """The verdicts over all profiles of one step; arrays (S,), (S,), (M,), (depth,), (S,), and (depth,) or empty twice.

    `of_step` says behind cosine and dead units of which step they are, where that is another one.
    """
    if not all(np.isfinite(series).all() for series in (act_rms, grad_rms, branch_rms, weight_grad_rms)):
        return [Verdict("diverged", "Not finite: some numbers have left the range of the machine.")]
    stream, gradient = decades(act_rms[0], act_rms[-1]), decades(grad_rms[-1], grad_rms[0])
    cosine = f"{sample_cosine[-1]:.2f}{of_step}"
    found: list[Verdict] = []
    collapsed = float(sample_cosine[-1]) > COLLAPSED >= float(sample_cosine[0])
    if max(stream, gradient) > EXPLODING:
        found.append(Verdict("exploding", f"Exploding: {_both(stream, gradient)}."))
    elif min(stream, gradient) < VANISHING:
        also = f", and all samples end in nearly one direction (cosine {cosine})" if collapsed else ""
        found.append(Verdict("vanishing", f"Vanishing: {_both(stream, gradient)}{_yet_level(weight_grad_rms)}{also}."))
    elif collapsed:
        found.append(
            Verdict(
                "collapsed",
                f"Collapsed: sizes look fine ({_both(stream, gradient)}), but all samples end in nearly one direction "
                f"(cosine {cosine}): the net can hardly tell them apart.",
            )
        )
    elif branch_rms.max() < INERT * act_rms.max():
        found.append(
            Verdict("inert", "Inert branches: every block is nearly the identity now; training has to switch the branches on.")
        )
    found += _large_updates(update_to_weight) + _dead_units(dead_units, of_step)
    return found or [Verdict("healthy", f"Healthy: {_both(stream, gradient)}, and samples stay apart (cosine {cosine}).")]


def _large_updates(update_to_weight: np.ndarray) -> list[Verdict]:
    """That an update changed much of a block's weights, if one did."""
    if not np.isfinite(update_to_weight).any() or np.nanmax(update_to_weight) <= LARGE_UPDATE:
        return []
    block, size = int(np.nanargmax(update_to_weight)) + 1, float(np.nanmax(update_to_weight))
    return [
        Verdict(
            "large updates",
            f"Large updates: the last one that was measured changed the weights of block {block} by {size:.1%} of their size; "
            f"0.1% is usual.",
        )
    ]


def _dead_units(dead_units: np.ndarray, of_step: str) -> list[Verdict]:
    """That most units of some block are dead, if they are."""
    if not (dead_units > DEAD).any():
        return []
    block, share = int(np.nanargmax(dead_units)) + 1, float(np.nanmax(dead_units))
    silent = f"{share:.0%} of the units of block {block} give 0 for every sample{of_step}"
    return [Verdict("dead", f"Dead units: {silent}, and learn nothing.")]


def _of_step(frame: Frame, row: int) -> str:
    """Of which step a frame is, where a row has an earlier one."""
    return f" at step {frame.step}" if frame.step != row else ""


def _both(stream: float, gradient: float) -> str:
    return (
        f"{change_in_words('the stream', stream, 'over depth')}, {change_in_words('its gradient', gradient, 'on the way back')}"
    )


def _yet_level(weight_grad_rms: np.ndarray) -> str:
    """The warning that a falling stream gradient may leave the weight gradients level, all tiny alike or all fine."""
    alive = weight_grad_rms[weight_grad_rms > 0]
    if len(alive) < len(weight_grad_rms):
        return ""
    spread = math.log10(alive.max() / alive.min())
    return f"; the weight gradients are level across blocks, at about {np.median(alive):.0e}" if spread < 1 else ""


def _not_finite(what: str, sites: tuple[str, ...], values: np.ndarray) -> str:
    """How many points of the stream have no number, and which is the first in the order in which they were computed."""
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost) == 0:
        return ""
    return f"The {what} is not finite at {len(lost)} of {len(sites)} points of the stream, first at {sites[lost[0]]}."


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] + "."
