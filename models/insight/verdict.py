"""Verdicts: what a step's profiles say, in sentences computed from the data.

Stream gradient, weight gradient and sample cosine are read together: a net can have level gradients and still turn all
inputs into nearly one direction, and a plain net's stream gradient can fall over depth while its weight gradients stay
level. What counts is what branches and head read: behind a norm the stream may have any size. `python -m benchmarks
verdicts` counts what became of nets by their verdict before training (`starts`), on which the thresholds rest.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from addnorm import findings
from models.content import Texts
from models.insight.baseline import BETTER, LEARNT, guess_spread, loss_of_guessing, name_of_guessing
from models.insight.reads import (
    ADAM,
    BOUNDING,
    all_normed,
    first_drop,
    first_update,
    head_normed,
    logit_reach,
    one_token,
    score_spread,
    update_reach,
)
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
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import normed_over_batch
from models.spec.scales import GATES
from models.spec.tasks import asks_each_token
from models.trace import Frame, Trace, site_in_words

# The factor by which the signal that the head reads is larger or smaller than at its start. Adam's steps do not grow
# and fall with the gradient, until that is as small as the eps that Adam divides by, 1e-8.
EXPLODING, VANISHING = 30.0, 1e3
ADAM_EXPLODING, ADAM_VANISHING = 1e5, 1e8
LOUD_GRADIENT = 1e4  # by which the gradient grows on its way back, beyond what the signal grows
LARGE, SMALL = 10.0, 5.0  # the same, from which a start is borderline
BORDERLINE = 1.5  # decades by which the gradient changes on its way back, from which a start is borderline
DEEP = 8  # sublayers without a residual, from which a start is borderline
NORMS_PASSED = 32  # norms on the residual path, from which it is
OVERSHOT = 1.5  # times the loss, by which a first gradient step would lower it, from which it is
ASKED = 2.0  # times the spread of the constant guess: as far as logits must move for it, and as far again to better it
COLLAPSED = findings.ALIKE  # mean cosine between different samples at the end of the stream
APART = 0.7  # of the same, below which samples have different directions
ONE_DIRECTION, FEW_DIRECTIONS = 1.5, 1.8  # in which samples differ, where the head reads them
FEW_FOR_LETTERS = 3.5  # the same, where each token has one of many answers
LARGE_UPDATE = 0.3  # of a block's weights in one step
LAST = 20  # rows whose mean loss counts: a single batch says less
DEAD = 0.5  # share of a block's ReLU units that output 0 for every token of the subset
INERT = 1e-3  # largest branch over largest stream, below which the branches add nothing yet
FEW_TOKENS = 8  # of a batch, below which the statistics of batch norm are mostly noise
MODES_APART, MODES_MARGIN = 1.5, 0.1  # from which the held-out loss is worse in eval mode: times, and nats

TEXTS = Texts(
    "verdict",
    exploding=EXPLODING,
    adam_exploding=ADAM_EXPLODING,
    loud_gradient=LOUD_GRADIENT,
    vanishing=VANISHING,
    adam_vanishing=ADAM_VANISHING,
    collapsed=COLLAPSED,
    one_direction=ONE_DIRECTION,
    inert=INERT,
    large_update=LARGE_UPDATE,
    dead=DEAD,
    few_tokens=FEW_TOKENS,
)


def thresholds() -> str:
    """What the verdicts mean, with their thresholds."""
    return TEXTS("thresholds")


@dataclass(frozen=True)
class Verdict:
    """A verdict and the sentence that says why.

    Kinds: diverged, exploding, vanishing, collapsed, borderline, inert, dead, large updates, healthy.
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


def clip_sentence(trace: Trace, row: int) -> str:
    """From which norm to which a row's whole gradient was clipped; empty where it was not."""
    norm, factor = float(trace.grad_norm[row]), float(trace.clip_factor[row])
    return f" Clipping cuts its norm from {number(norm, 2)} to {number(norm * factor, 2)}." if factor < 1 else ""


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
    return "in nearly the same direction" if cosine > COLLAPSED else "similar, but still distinct"


def loss_sentence(trace: Trace | None, row: int, task: str) -> str:
    """The training loss at one row of a log, if there is one; that of the last rows compared with guessing."""
    guessing, name = loss_of_guessing(task), name_of_guessing(task)
    guess = f"{name} is {guessing:.2f}"
    if trace is None or len(trace) == 0:
        return f"Not trained yet. {guess[0].upper()}{guess[1:]}."
    loss, frame = float(trace.loss[row]), trace.frame_at(row)
    if not math.isfinite(loss):
        return f"The loss is not finite at step {row}."
    if row == 0:
        return f"Step 0: not trained yet, loss {number(loss)}; {guess}."
    accuracy, held_out = "", math.nan
    if frame is not None and math.isfinite(frame.held_out_accuracy):
        held_out = frame.held_out_loss
        accuracy = f", held-out accuracy {frame.held_out_accuracy:.0%}{_of_step(frame, row)}"
    # A single batch says little. Up to LAST rows, of the later half of the run so far.
    lately = float(np.mean(trace.loss[row - min(LAST - 1, row // 2) : row + 1], dtype=np.float64))
    standing = _standing(lately, held_out, float(trace.loss[0]), guessing)
    return f"Step {row}: loss {number(loss)}{accuracy}; {guess}: {standing}."


def modes_sentence(frame: Frame | None, row: int) -> str:
    """The held-out loss of a net with a batch norm in both modes; empty for any other."""
    if frame is None or not math.isfinite(frame.train_mode_loss):
        return ""
    own, running = frame.train_mode_loss, frame.held_out_loss
    worse = f" {TEXTS('bad at inference')}" if running > max(MODES_APART * own, own + MODES_MARGIN) else ""
    return f" {TEXTS('modes', own=number(own), running=number(running), of_step=_of_step(frame, row))}{worse}"


def _standing(lately: float, held_out: float, first: float, guessing: float) -> str:
    """How a mean training loss stands against guessing, and the last held-out loss (NaN: not measured)."""
    if lately < LEARNT * guessing and held_out >= guessing:
        return f"better than that in training, not on held-out samples ({number(held_out)})"
    if lately < 0.5 * guessing:
        return "it learns"
    if lately < LEARNT * guessing:
        return "it begins to learn"
    if lately < BETTER * guessing and held_out < BETTER * guessing:
        return "slightly better than that"
    if lately <= 1.1 * guessing:
        return "no better than that"
    return "not yet as good as that" if lately < first else "worse than that"


def verdict(cfg: RunConfig, trace: Trace, row: int) -> Verdict:
    """The most important verdict on one row of a log."""
    return verdicts(cfg, trace, row)[0]


def verdicts(cfg: RunConfig, trace: Trace, row: int) -> list[Verdict]:
    """The verdicts on one row of a log, worst first; healthy if nothing is wrong.

    On row 0, the untrained net, the first also says why it starts like this, where He's weights are the reason.
    """
    seen = _Seen(cfg, trace, row)
    if not seen.finite:
        return [Verdict("diverged", "Not finite: some numbers have left the range of the machine.")]
    wrong = [one for one in (_signal(seen), *_updates(seen), _dead_units(seen)) if one]
    return wrong or [_inert(seen) or Verdict("healthy", f"Healthy: {seen.sizes}{seen.end}.")]


class _Seen:
    """What a row shows of a net: sizes in decades, and what its head reads."""

    def __init__(self, cfg: RunConfig, trace: Trace, row: int) -> None:
        self.cfg, self.trace, self.row, self.what = cfg, trace, row, vectors(cfg)
        act, grad, self.branch, self.weight = (
            series[row] for series in (trace.act_rms, trace.grad_rms, trace.branch_rms, trace.weight_grad_rms)
        )
        self.finite = all(np.isfinite(series).all() for series in (act, grad, self.branch, self.weight))
        self.largest = float(act.max())
        self.stream, self.gradient = decades(act[0], act[-1]), decades(grad[-1], grad[0])
        self.growth = self.gradient - max(self.stream, 0.0)  # of the gradient, beyond what the signal grows
        self.frame = trace.frame_at(row)
        self.cosine = self.frame.sample_cosine if self.frame else np.full(len(trace.sites), np.nan)
        size, apart, directions = map(float, self.frame.head_input) if self.frame else (math.nan,) * 3
        self.normed, self.head_normed = all_normed(cfg), head_normed(cfg)
        reads_stream = cfg.stack == "single" and plan(cfg).final_norm == "none"
        self.size = float(act[-1]) if reads_stream else size  # the first is measured in every row
        self.directions = directions
        # Of all that the head reads, the part that differs between samples; a cosine of COLLAPSED has this much.
        least = math.sqrt(1 - COLLAPSED)
        small = self.size < 1 / SMALL
        self.alike = apart < least * min(self.size, 1.0) and not small and not self.cosine[0] > COLLAPSED
        lately = float(np.mean(trace.loss[row - min(LAST - 1, row // 2) : row + 1], dtype=np.float64))
        adam = cfg.optimizer in ADAM
        self.most, self.least = (ADAM_EXPLODING, 1 / ADAM_VANISHING) if adam else (EXPLODING, 1 / VANISHING)
        held_out = self.frame.held_out_loss if self.frame and self.frame.step else math.nan
        # The held-out loss too: that of a batch of two is mostly noise.
        self.learned = row > 0 and min(lately, held_out) < LEARNT * loss_of_guessing(cfg.task)

    @property
    def sizes(self) -> str:
        """How signal and gradient change over depth, in words."""
        name = "the batch's signal"  # apart from that of the ten samples, which are drawn
        through = ", read through norms" if self.normed and self.stream > math.log10(EXPLODING) else ""
        return (
            f"{change_in_words(name, self.stream, 'over depth')}{through}, "
            f"{change_in_words('its gradient', self.gradient, 'on the way back')}"
        )

    @property
    def end(self) -> str:
        """Where samples end, in words; empty where they have no direction."""
        last = float(self.cosine[-1])
        if not math.isfinite(last):
            return ""
        yet = ", but the head can tell them apart" if last > COLLAPSED and not self.alike else ""
        return f", and {self.what} end up {directions(last)} (mean cosine {last:.2f}{self.of_step}){yet}"

    @property
    def of_step(self) -> str:
        """The step of the frame in words, if it is not that of the row."""
        return _of_step(self.frame, self.row) if self.frame else ""


def _signal(seen: _Seen) -> Verdict | None:
    """The verdict on signal and gradient over depth, if something is wrong with them; of a net that has learned, on the
    statistics of its batch norm alone.
    """
    if seen.learned:
        noise = _noise(seen)
        return Verdict("borderline", f"Borderline: {noise}; {seen.sizes}{seen.end}.") if noise else None
    lost = seen.gradient < math.log10(seen.least)
    if seen.size > seen.most or (seen.growth > math.log10(LOUD_GRADIENT) and not seen.normed):
        culprit = "the head reads a signal that is far too large" if seen.size > seen.most else "the gradient grows"
        why = "" if seen.row else he_twice(seen.cfg)
        return Verdict("exploding", f"Exploding: {culprit}; {seen.sizes}. {why}".rstrip())
    if seen.size < seen.least:
        return Verdict(
            "vanishing",
            f"Vanishing: hardly any signal reaches the head, so it answers every one of the {seen.what} alike; "
            f"{seen.sizes}{_yet_level(seen)}.",
        )
    if seen.alike or (seen.directions < ONE_DIRECTION and seen.head_normed):
        # Adam's steps do not fall with the difference; one answer for a whole sample takes little of it.
        may_undo = seen.cfg.optimizer in ADAM and not (lost or asks_each_token(seen.cfg.task))
        kind, yet = ("borderline", ", which Adam may undo") if may_undo else ("collapsed", "")
        also = ", and its gradient vanishes" if lost else ""
        return Verdict(kind, f"{kind.capitalize()}{also}: {_alike(seen)}{yet}; {seen.sizes}.")
    if lost and not seen.normed:
        return Verdict("vanishing", f"Vanishing: hardly any gradient comes back; {seen.sizes}{_yet_level(seen)}.")
    near = next(_borderline(seen), "")
    return Verdict("borderline", f"Borderline: {near}; {seen.sizes}.") if near else None


def _alike(seen: _Seen) -> str:
    """That samples have become alike, and by which block."""
    if not seen.alike:
        return f"{seen.what} differ in hardly more than one direction, so the head can hardly tell them apart"
    first = np.flatnonzero(seen.cosine > COLLAPSED)
    last = f"mean cosine {float(seen.cosine[-1]):.2f}{seen.of_step}"
    by = f" by {site_in_words(seen.trace.sites[first[0]])}" if len(first) else ""
    return f"all {seen.what} look the same{by}, so the head cannot tell them apart ({last})"


def _borderline(seen: _Seen) -> Iterator[str]:
    """What brings a net near a verdict."""
    cfg = seen.cfg
    if seen.directions < FEW_DIRECTIONS:
        yield f"{seen.what} differ in hardly more than one direction where the head reads them"
    if asks_each_token(cfg.task) and seen.directions < FEW_FOR_LETTERS:
        yield (
            f"{seen.what} differ in {number(seen.directions, 2)} directions where the head reads them, few for the "
            f"{TASKS[cfg.task].classes} answers"
        )
    if not 1 / SMALL <= seen.size <= LARGE:
        yield f"the head reads a signal of size {number(seen.size, 2)}, where 1 is usual"
    if seen.gradient < -BORDERLINE:
        yield "little gradient comes back to the first blocks"
    if seen.growth > BORDERLINE and not seen.normed:
        yield "the gradient grows on its way back"
    live = [one for one in plan(cfg).sublayers if not one.identity] if cfg.stack == "single" else []
    if (bare := sum(not one.skip for one in live)) >= DEEP:
        yield f"no residual carries the signal past {bare} sublayers"
    if (passed := sum(one.norm_add in BOUNDING for one in live if one.skip)) >= NORMS_PASSED:
        yield f"the residual runs through {passed} norms"
    if not seen.row and (drop := first_drop(cfg, seen.trace)) > OVERSHOT:
        yield f"the first step overshoots, to first order by {number(drop, 2)} times the loss"
    if (moved := logit_reach(cfg, seen.size)) < ASKED * (spread := guess_spread(cfg.task)):
        yield (
            f"in {cfg.steps} steps at this learning rate Adam moves a logit by at most {number(moved, 2)}, and the "
            f"best constant guess alone spreads them by {number(spread, 2)}"
        )
    if (scores := score_spread(cfg, seen.trace)) > one_token(cfg) and (reach := update_reach(cfg, seen.trace)) < 1:
        yield (
            f"attention reads hardly more than one token (scores spread by {number(scores, 2)}), and {cfg.steps} steps "
            f"change its weights by at most {reach:.0%} of their size"
        )
    if cfg.net == "transformer" and not seen.normed and cfg.optimizer not in ADAM:
        yield f"without norms, {cfg.optimizer} hardly trains a transformer"
    if noise := _noise(seen):
        yield noise


def _noise(seen: _Seen) -> str:
    """What the statistics of a batch norm over a few samples are worth; empty for any other net."""
    tokens = seen.cfg.batch * seen.cfg.tokens
    if tokens >= FEW_TOKENS or not normed_over_batch(seen.cfg):
        return ""
    return TEXTS(
        "statistics of two" if tokens == 2 else "statistics of few", tokens=tokens, what=seen.what, off=tokens**-0.5
    )


def _inert(seen: _Seen) -> Verdict | None:
    """The verdict that no branch adds anything yet, and whether training can change that."""
    if seen.branch.max() >= INERT * seen.largest:
        return None
    learned = seen.cfg.branch_scale in GATES or seen.cfg.init == "zero last"
    then = "training switches them on" if learned else "the net is linear in effect so far"
    return Verdict("inert", f"Inert branches: no block adds anything noticeable to the stream yet; {then}.")


def _updates(seen: _Seen) -> list[Verdict]:
    """The verdict that an update changes much of a block's weights: the first, later the last that was measured."""
    if seen.row == 0:
        sizes, verb = first_update(seen.cfg, seen.trace), "the first one will change"
    else:
        verb = "the last one that was measured changed"
        earlier = (past.update_to_weight for past in reversed(seen.trace.frames) if past.step < seen.row)
        sizes = next((sizes for sizes in earlier if np.isfinite(sizes).any()), np.empty(0))
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    if sizes.max(initial=0.0) <= LARGE_UPDATE:
        return []
    block, size = int(sizes.argmax()) + 1, float(sizes.max())
    return [Verdict("large updates", f"Large updates: {verb} the weights of block {block} by {of_their_size(size)}.")]


def _dead_units(seen: _Seen) -> Verdict | None:
    """The verdict that most units of some block are dead, if they are."""
    dead = seen.frame.dead_units if seen.frame else np.empty(0)
    if not (dead > DEAD).any():
        return None
    block, share = int(np.nanargmax(dead)) + 1, float(np.nanmax(dead))
    one = seen.what.removesuffix("s")
    return Verdict(
        "dead",
        f"Dead units: {share:.0%} of block {block}'s units output 0 for every {one} in a fixed test set{seen.of_step}, "
        "so they learn nothing from them.",
    )


def _of_step(frame: Frame, row: int) -> str:
    """The step of a frame in words, if it is not that of the row."""
    return f" at step {frame.step}" if frame.step != row else ""


def _yet_level(seen: _Seen) -> str:
    """The remark that the weight gradients are level although the stream gradient falls, if they are, and why."""
    if seen.weight.min() <= 0:
        return ""
    spread = decades(seen.weight.min(), seen.weight.max())
    if spread >= 1:
        return ""
    size = number(float(np.median(seen.weight)), 1)
    if max(seen.stream, seen.gradient) < -1 and abs(seen.stream - seen.gradient) < 1:
        # A weight's gradient is input times gradient.
        return f"; weight gradients are level, about {size}: where a block's input is large, its gradient is small"
    return (
        f"; the weight gradients are level across blocks, within a factor of {factor(spread)} around {size}: late "
        "blocks get as much or as little as early ones"
    )


def _not_finite(what: str, sites: tuple[str, ...], values: np.ndarray) -> str:
    """How many points of the stream are not finite, and the first of them in the order of computation; else empty."""
    finite = np.isfinite(values)
    if finite.all():
        return ""
    lost = np.flatnonzero(~finite)
    first = site_in_words(sites[lost[0]])
    return f"The {what} is not finite at {len(lost)} of {len(sites)} points of the stream, first at {first}."


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] + "."
