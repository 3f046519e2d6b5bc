"""Verdicts on one step of a run, in sentences computed from its profiles.

A verdict combines stream gradient, weight gradient and sample cosine. A net can have level gradients and still turn all
inputs into nearly one direction; a plain net's stream gradient can fall over depth while its weight gradients stay
level. A verdict judges what branches and head read, because behind a norm the stream may have any size. The thresholds
rest on counts of how nets with each verdict trained (`similar_nets`, `python -m benchmarks verdicts`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from addnorm import findings
from models.content import Texts
from models.insight.baseline import BETTER_BELOW, LEARNED_BELOW, guess_spread, loss_of_guessing, name_of_guessing
from models.insight.estimates import (
    ADAM_LIKE,
    SIZE_FIXING_NORMS,
    first_drop,
    first_update,
    freezing_spread,
    is_fully_normed,
    is_head_normed,
    logit_reach,
    score_spread,
    update_reach,
)
from models.insight.theory import he_factor_sentence
from models.insight.words import (
    UNCHANGED_DECADES,
    change_in_words,
    count_in_words,
    decades,
    factor,
    number,
    relative_size,
    times_larger,
    two_places,
    vectors,
)
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import uses_batch_statistics
from models.spec.scales import GATES
from models.spec.tasks import predicts_every_token
from models.trace import Frame, Trace, site_in_words

# Factors by which the signal that the head reads is larger or smaller than at its start. With Adam they are wider: its
# steps do not depend on the size of the gradient until that nears Adam's eps of 1e-8.
EXPLODING = 30.0
VANISHING = 1e3
ADAM_EXPLODING = 1e5
ADAM_VANISHING = 1e8
LOUD_GRADIENT = 1e4  # factor by which the gradient grows on its way back, beyond the growth of the signal

# From these on, a net is borderline.
LARGE_FACTOR = 10.0  # by which the signal that the head reads is larger than at its start
SMALL_FACTOR = 5.0  # by which it is smaller
BORDERLINE_DECADES = 1.5  # change of the gradient on its way back
MIN_BARE_SUBLAYERS = 8  # sublayers without a residual
MIN_NORMS_PASSED = 32  # norms on the residual path
OVERSHOOT_RATIO = 1.5  # decrease of the loss by the first gradient step, to first order, over the loss
SPREADS_TO_LEARN = 2.0  # spreads of the constant guess that logits must move: one to reach it, one to better it

COLLAPSED = findings.ALIKE  # mean cosine between samples at the end of the stream, above which they look the same
DISTINCT_COSINE = 0.7  # mean cosine below which samples have different directions
# Number of directions in which samples differ where the head reads them.
ONE_DIRECTION = 1.5  # below it, samples differ in hardly more than one direction
FEW_DIRECTIONS = 1.8  # below it, a net is borderline
FEW_DIRECTIONS_PER_TOKEN = 3.5  # the same for tasks that ask each token for one of many answers
LARGE_UPDATE = 0.3  # |change| / |weights| of a block in one step
LAST_ROWS = 20  # rows over which the loss is averaged, because a single batch says little
DEAD_SHARE = 0.5  # share of a block's ReLU units that output 0 for every token of the test set
INERT_RATIO = 1e-3  # largest branch over largest stream, below which the branches add nothing yet
MIN_NORM_TOKENS = 8  # tokens of a batch, below which the statistics of batch norm are mostly noise
# Beyond both, the loss is worse in eval mode than in train mode.
EVAL_LOSS_FACTOR = 1.5
EVAL_LOSS_MARGIN = 0.1  # nats

TEXTS = Texts(
    "verdict",
    exploding=EXPLODING,
    adam_exploding=ADAM_EXPLODING,
    loud_gradient=LOUD_GRADIENT,
    vanishing=VANISHING,
    adam_vanishing=ADAM_VANISHING,
    collapsed=COLLAPSED,
    one_direction=ONE_DIRECTION,
    inert=INERT_RATIO,
    large_update=LARGE_UPDATE,
    dead=DEAD_SHARE,
    few_tokens=MIN_NORM_TOKENS,
)


def thresholds() -> str:
    """Explanation of the verdicts with their thresholds."""
    return TEXTS("thresholds")


@dataclass(frozen=True)
class Verdict:
    """A kind of verdict and the sentence that justifies it.

    Kinds: diverged, exploding, vanishing, collapsed, borderline, inert, dead, large updates, healthy.
    """

    kind: str
    sentence: str


def activation_sentence(sites: tuple[str, ...], act_rms: np.ndarray) -> str:
    """Change of the signal from the first to the last site of the stream, or where it is not finite."""
    not_finite = _not_finite("signal", sites, act_rms)
    if not_finite:
        return not_finite
    path = f"from {site_in_words(sites[0])} to {site_in_words(sites[-1])}"
    return _capital(change_in_words("the signal", decades(act_rms[0], act_rms[-1]), path))


def gradient_sentence(sites: tuple[str, ...], grad_rms: np.ndarray) -> str:
    """Change of the gradient from the last site of the stream back to the first, or where it is not finite."""
    not_finite = _not_finite("gradient", sites[::-1], grad_rms[::-1])
    if not_finite:
        return not_finite
    path = f"from {site_in_words(sites[-1])} back to {site_in_words(sites[0])}"
    return _capital(change_in_words("the gradient", decades(grad_rms[-1], grad_rms[0]), path))


def clip_sentence(trace: Trace, row: int) -> str:
    """Norm of a row's whole gradient before and after clipping; empty where it was not clipped."""
    norm, factor = float(trace.grad_norm[row]), float(trace.clip_factor[row])
    return f" Clipping cuts its norm from {number(norm, 2)} to {number(norm * factor, 2)}." if factor < 1 else ""


def weight_sentence(weight_grad_rms: np.ndarray) -> str:
    """Ratio of the largest to the smallest weight gradient of the blocks, (depth,)."""
    blocks = len(weight_grad_rms)
    not_finite = np.count_nonzero(~np.isfinite(weight_grad_rms))
    if not_finite:
        subject = "the block" if not_finite == blocks == 1 else f"{not_finite} of {blocks} blocks"
        return f"The weight gradients of {subject} are not finite."
    nonzero = weight_grad_rms[weight_grad_rms > 0]
    if len(nonzero) == 0:
        return "No block's weights receive a gradient."
    spread = decades(nonzero.min(), nonzero.max())
    zeros = blocks - len(nonzero)
    if spread < UNCHANGED_DECADES:
        comparison = "The blocks' weight gradients are within a factor of two of each other"
    else:
        comparison = f"The largest of the blocks' weight gradients is {times_larger(spread)} than the smallest"
    remark = ""
    if zeros:
        verb = "receives" if zeros == 1 else "receive"
        remark = f"; {count_in_words(zeros, 'block')} {verb} none"
    return f"{comparison}{remark}."


def cosine_sentence(cfg: RunConfig, sample_cosine: np.ndarray) -> str:
    """Mean cosine between different samples, or tokens if samples have several, at both ends of the stream."""
    first, last = float(sample_cosine[0]), float(sample_cosine[-1])
    if not math.isfinite(last):
        return "At the end of the stream there is no direction left to compare."
    return (
        f"Different {vectors(cfg)} have a mean cosine of {two_places(first)} at the input and {two_places(last)} at "
        f"the end: {directions(last)}."
    )


def directions(cosine: float) -> str:
    """How similar the directions of vectors with this mean cosine are."""
    if cosine < DISTINCT_COSINE:
        return "in different directions"
    return "in nearly the same direction" if cosine > COLLAPSED else "similar, but still distinct"


def loss_sentence(trace: Trace | None, row: int, task: str) -> str:
    """Training loss at one row of a log, and how the mean of the last rows compares with guessing."""
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
    comparison = _comparison_with_guessing(_recent_loss(trace, row), held_out, float(trace.loss[0]), guessing)
    return f"Step {row}: loss {number(loss)}{accuracy}; {guess}: {comparison}."


def modes_sentence(frame: Frame | None, row: int) -> str:
    """Held-out loss in train and eval mode of a net with batch norm; empty for other nets."""
    if frame is None or not math.isfinite(frame.train_mode_loss):
        return ""
    train, running = frame.train_mode_loss, frame.held_out_loss
    is_worse = running > max(EVAL_LOSS_FACTOR * train, train + EVAL_LOSS_MARGIN)
    sentence = TEXTS("modes", own=number(train), running=number(running), of_step=_of_step(frame, row))
    return f" {sentence} {TEXTS('bad at inference')}" if is_worse else f" {sentence}"


def _recent_loss(trace: Trace, row: int) -> float:
    """Mean training loss of up to LAST_ROWS rows until `row`, all from the later half of the run so far."""
    start = row - min(LAST_ROWS - 1, row // 2)
    return float(np.mean(trace.loss[start : row + 1], dtype=np.float64))


def _comparison_with_guessing(recent: float, held_out: float, first: float, guessing: float) -> str:
    """How recent, held-out (NaN if not measured) and first loss compare with the loss of guessing."""
    if recent < LEARNED_BELOW * guessing and held_out >= guessing:
        return f"better than that in training, not on held-out samples ({number(held_out)})"
    if recent < 0.5 * guessing:
        return "it learns"
    if recent < LEARNED_BELOW * guessing:
        return "it begins to learn"
    if recent < BETTER_BELOW * guessing and held_out < BETTER_BELOW * guessing:
        return "slightly better than that"
    if recent <= 1.1 * guessing:
        return "no better than that"
    return "not yet as good as that" if recent < first else "worse than that"


def verdict(cfg: RunConfig, trace: Trace, row: int) -> Verdict:
    """The most important verdict on one row of a log."""
    return verdicts(cfg, trace, row)[0]


def verdicts(cfg: RunConfig, trace: Trace, row: int) -> list[Verdict]:
    """Every verdict on one row of a log, worst first; "healthy" or "inert" alone if nothing is wrong.

    An exploding untrained net (row 0) also gets the reason if He initialisation is to blame.
    """
    state = _NetState(cfg, trace, row)
    if not state.finite:
        return [Verdict("diverged", "Not finite: some numbers have left the range of the machine.")]
    faults = [fault for fault in (_depth_fault(state), _large_update(state), _dead_units(state)) if fault]
    return faults or [_inert(state) or Verdict("healthy", f"Healthy: {state.changes}{state.end}.")]


class _NetState:
    """Quantities of one row on which verdicts rest; changes over depth are in decades."""

    def __init__(self, cfg: RunConfig, trace: Trace, row: int) -> None:
        self.cfg, self.trace, self.row = cfg, trace, row
        self.vectors = vectors(cfg)
        act, grad = trace.act_rms[row], trace.grad_rms[row]
        self.branch = trace.branch_rms[row]
        self.weight_grad = trace.weight_grad_rms[row]
        self.finite = all(np.isfinite(series).all() for series in (act, grad, self.branch, self.weight_grad))
        self.max_stream = float(act.max())
        self.stream_change = decades(act[0], act[-1])
        self.gradient_change = decades(grad[-1], grad[0])
        self.gradient_growth = self.gradient_change - max(self.stream_change, 0.0)  # beyond the growth of the signal
        self.fully_normed = is_fully_normed(cfg)
        self.head_normed = is_head_normed(cfg)
        self.frame = trace.frame_at(row)
        self._measure_head_input(float(act[-1]))
        self.max_size, self.min_size = EXPLODING, 1 / VANISHING
        if cfg.optimizer in ADAM_LIKE:
            self.max_size, self.min_size = ADAM_EXPLODING, 1 / ADAM_VANISHING
        # The held-out loss counts too, because the training loss of a batch of two is mostly noise.
        held_out = self.frame.held_out_loss if self.frame and self.frame.step else math.nan
        loss = min(_recent_loss(trace, row), held_out)
        self.learned = row > 0 and loss < LEARNED_BELOW * loss_of_guessing(cfg.task)

    def _measure_head_input(self, stream_end: float) -> None:
        """Sets size and number of directions of what the head reads, cosines by site, and whether samples are alike.

        `stream_end`: RMS of the stream at its end.
        """
        size = difference = self.directions = math.nan
        self.cosine = np.full(len(self.trace.sites), np.nan)
        if self.frame:
            size, difference, self.directions = map(float, self.frame.head_input)
            self.cosine = self.frame.sample_cosine
        reads_stream = self.cfg.stack == "single" and plan(self.cfg).final_norm == "none"
        self.head_size = stream_end if reads_stream else size  # every row has the stream, only frames have `size`
        # Vectors with a mean cosine of COLLAPSED differ by this share of their size.
        min_difference = math.sqrt(1 - COLLAPSED) * min(self.head_size, 1.0)
        is_small = self.head_size < 1 / SMALL_FACTOR
        self.alike = difference < min_difference and not is_small and not self.cosine[0] > COLLAPSED

    @property
    def changes(self) -> str:
        """Changes of signal and gradient over depth, in words."""
        name = "the batch's signal"  # as opposed to the signal of the ten sample paths in the picture
        through = ", read through norms" if self.fully_normed and self.stream_change > math.log10(EXPLODING) else ""
        return (
            f"{change_in_words(name, self.stream_change, 'over depth')}{through}, "
            f"{change_in_words('its gradient', self.gradient_change, 'on the way back')}"
        )

    @property
    def end(self) -> str:
        """Directions of samples at the end of the stream, in words; empty where they have none."""
        last = float(self.cosine[-1])
        if not math.isfinite(last):
            return ""
        but = ", but the head can tell them apart" if last > COLLAPSED and not self.alike else ""
        return f", and {self.vectors} end up {directions(last)} (mean cosine {last:.2f}{self.of_step}){but}"

    @property
    def of_step(self) -> str:
        return _of_step(self.frame, self.row) if self.frame else ""


def _depth_fault(state: _NetState) -> Verdict | None:
    """The verdict on signal and gradient over depth; None if nothing is wrong with them.

    A net that has learned is judged only by the statistics of its batch norm.
    """
    if state.learned:
        noise = _batch_norm_noise(state)
        return Verdict("borderline", f"Borderline: {noise}; {state.changes}{state.end}.") if noise else None
    too_large = state.head_size > state.max_size
    if too_large or (state.gradient_growth > math.log10(LOUD_GRADIENT) and not state.fully_normed):
        cause = "the head reads a signal that is far too large" if too_large else "the gradient grows"
        reason = "" if state.row else he_factor_sentence(state.cfg)
        return Verdict("exploding", f"Exploding: {cause}; {state.changes}. {reason}".rstrip())
    if state.head_size < state.min_size:
        return Verdict(
            "vanishing",
            f"Vanishing: hardly any signal reaches the head, so it answers every one of the {state.vectors} alike; "
            f"{state.changes}{_level_weights_remark(state)}.",
        )
    gradient_vanishes = state.gradient_change < math.log10(state.min_size)
    if state.alike or (state.directions < ONE_DIRECTION and state.head_normed):
        # Adam's steps do not shrink with the difference, and one answer for a whole sample needs little of it.
        adam_may_undo = state.cfg.optimizer in ADAM_LIKE and not (
            gradient_vanishes or predicts_every_token(state.cfg.task)
        )
        kind, undone = ("borderline", ", which Adam may undo") if adam_may_undo else ("collapsed", "")
        also = ", and its gradient vanishes" if gradient_vanishes else ""
        return Verdict(kind, f"{kind.capitalize()}{also}: {_collapse_clause(state)}{undone}; {state.changes}.")
    if gradient_vanishes and not state.fully_normed:
        remark = _level_weights_remark(state)
        return Verdict("vanishing", f"Vanishing: hardly any gradient comes back; {state.changes}{remark}.")
    risk = next(_risks(state), "")
    return Verdict("borderline", f"Borderline: {risk}; {state.changes}.") if risk else None


def _collapse_clause(state: _NetState) -> str:
    """That samples have become alike, and by which block."""
    if not state.alike:
        return f"{state.vectors} differ in hardly more than one direction, so the head can hardly tell them apart"
    collapsed_sites = np.flatnonzero(state.cosine > COLLAPSED)
    by = f" by {site_in_words(state.trace.sites[collapsed_sites[0]])}" if len(collapsed_sites) else ""
    last = f"mean cosine {float(state.cosine[-1]):.2f}{state.of_step}"
    return f"all {state.vectors} look the same{by}, so the head cannot tell them apart ({last})"


def _risks(state: _NetState) -> Iterator[str]:
    """Reasons why a net is borderline, the most important first."""
    yield from _head_input_risks(state)
    if state.gradient_change < -BORDERLINE_DECADES:
        yield "little gradient comes back to the first blocks"
    if state.gradient_growth > BORDERLINE_DECADES and not state.fully_normed:
        yield "the gradient grows on its way back"
    cfg = state.cfg
    sublayers = plan(cfg).sublayers if cfg.stack == "single" else ()
    active = [sublayer for sublayer in sublayers if not sublayer.identity]
    bare = sum(not sublayer.skip for sublayer in active)
    if bare >= MIN_BARE_SUBLAYERS:
        yield f"no residual carries the signal past {bare} sublayers"
    norms_passed = sum(sublayer.norm_add in SIZE_FIXING_NORMS for sublayer in active if sublayer.skip)
    if norms_passed >= MIN_NORMS_PASSED:
        yield f"the residual runs through {norms_passed} norms"
    yield from _optimizer_risks(state)
    noise = _batch_norm_noise(state)
    if noise:
        yield noise


def _head_input_risks(state: _NetState) -> Iterator[str]:
    """Reasons that lie in what the head reads."""
    task = state.cfg.task
    if state.directions < FEW_DIRECTIONS:
        yield f"{state.vectors} differ in hardly more than one direction where the head reads them"
    if predicts_every_token(task) and state.directions < FEW_DIRECTIONS_PER_TOKEN:
        yield (
            f"{state.vectors} differ in {number(state.directions, 2)} directions where the head reads them, few for "
            f"the {TASKS[task].classes} answers"
        )
    if not 1 / SMALL_FACTOR <= state.head_size <= LARGE_FACTOR:
        yield f"the head reads a signal of size {number(state.head_size, 2)}, where 1 is usual"


def _optimizer_risks(state: _NetState) -> Iterator[str]:
    """Reasons that lie in the steps that the optimiser takes."""
    cfg = state.cfg
    if state.row == 0:
        drop = first_drop(cfg, state.trace)
        if drop > OVERSHOOT_RATIO:
            yield f"the first step overshoots, to first order by {number(drop, 2)} times the loss"
    reach = logit_reach(cfg, state.head_size)
    spread = guess_spread(cfg.task)
    if reach < SPREADS_TO_LEARN * spread:
        yield (
            f"in {cfg.steps} steps at this learning rate Adam moves a logit by at most {number(reach, 2)}, and the "
            f"best constant guess alone spreads them by {number(spread, 2)}"
        )
    scores = score_spread(cfg, state.trace)
    if scores > freezing_spread(cfg):
        share = update_reach(cfg, state.trace)
        if share < 1:
            yield (
                f"attention reads hardly more than one token (scores spread by {number(scores, 2)}), and {cfg.steps} "
                f"steps change its weights by at most {share:.0%} of their size"
            )
    if cfg.net == "transformer" and not state.fully_normed and cfg.optimizer not in ADAM_LIKE:
        yield f"without norms, {cfg.optimizer} hardly trains a transformer"


def _batch_norm_noise(state: _NetState) -> str:
    """How noisy the statistics of a batch norm over a few tokens are; empty for other nets."""
    tokens = state.cfg.batch * state.cfg.tokens
    if tokens >= MIN_NORM_TOKENS or not uses_batch_statistics(state.cfg):
        return ""
    key = "statistics of two" if tokens == 2 else "statistics of few"
    return TEXTS(key, tokens=tokens, what=state.vectors, off=tokens**-0.5)


def _inert(state: _NetState) -> Verdict | None:
    """The verdict that no branch adds anything yet, and whether training can change that."""
    if state.branch.max() >= INERT_RATIO * state.max_stream:
        return None
    can_open = state.cfg.branch_scale in GATES or state.cfg.init == "zero last"
    outlook = "training switches them on" if can_open else "the net is linear in effect so far"
    return Verdict("inert", f"Inert branches: no block adds anything noticeable to the stream yet; {outlook}.")


def _large_update(state: _NetState) -> Verdict | None:
    """The verdict that an update changes much of a block's weights: the predicted first, or the last measured one."""
    if state.row == 0:
        sizes, verb = first_update(state.cfg, state.trace), "the first one will change"
    else:
        verb = "the last one that was measured changed"
        measured = (frame.update_to_weight for frame in reversed(state.trace.frames) if frame.step < state.row)
        sizes = next((sizes for sizes in measured if np.isfinite(sizes).any()), np.empty(0))
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    if sizes.max(initial=0.0) <= LARGE_UPDATE:
        return None
    block, size = int(sizes.argmax()) + 1, float(sizes.max())
    return Verdict("large updates", f"Large updates: {verb} the weights of block {block} by {relative_size(size)}.")


def _dead_units(state: _NetState) -> Verdict | None:
    """The verdict that most units of a block are dead; None if no block has that many."""
    dead = state.frame.dead_units if state.frame else np.empty(0)
    if not (dead > DEAD_SHARE).any():
        return None
    block, share = int(np.nanargmax(dead)) + 1, float(np.nanmax(dead))
    vector = state.vectors.removesuffix("s")
    return Verdict(
        "dead",
        f"Dead units: {share:.0%} of block {block}'s units output 0 for every {vector} in a fixed test set"
        f"{state.of_step}, so they learn nothing from them.",
    )


def _of_step(frame: Frame, row: int) -> str:
    """The step of a frame in words; empty if it is the row's."""
    return f" at step {frame.step}" if frame.step != row else ""


def _level_weights_remark(state: _NetState) -> str:
    """The remark that weight gradients are level although the stream gradient falls; empty if they are not level."""
    if state.weight_grad.min() <= 0:
        return ""
    spread = decades(state.weight_grad.min(), state.weight_grad.max())
    if spread >= 1:
        return ""
    size = number(float(np.median(state.weight_grad)), 1)
    both_fall = max(state.stream_change, state.gradient_change) < -1
    if both_fall and abs(state.stream_change - state.gradient_change) < 1:
        # A weight's gradient is the product of the branch's input and the gradient of its output.
        return f"; weight gradients are level, about {size}: where a block's input is large, its gradient is small"
    return (
        f"; the weight gradients are level across blocks, within a factor of {factor(spread)} around {size}: late "
        "blocks get as much or as little as early ones"
    )


def _not_finite(name: str, sites: tuple[str, ...], values: np.ndarray) -> str:
    """Number of sites whose value is not finite, and the first of them in the order of `sites`; empty if all are."""
    finite = np.isfinite(values)
    if finite.all():
        return ""
    bad = np.flatnonzero(~finite)
    first = site_in_words(sites[bad[0]])
    return f"The {name} is not finite at {len(bad)} of {len(sites)} points of the stream, first at {first}."


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] + "."
