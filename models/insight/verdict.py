"""Verdicts on one step of a run, in sentences computed from its profiles.

A verdict combines stream gradient, weight gradient and sample cosine. A net can have level gradients and still turn all
inputs into nearly one direction; a plain net's stream gradient can fall over depth while its weight gradients stay
level. A verdict judges what branches and head read, because behind a norm the stream may have any size. The thresholds
rest on counts of how nets with each verdict trained (`similar_nets`, `python -m benchmarks verdicts`).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from addnorm import findings
from models.content import Texts
from models.insight.baseline import (
    BETTER_BELOW,
    LEARNED_BELOW,
    beats_guessing,
    guess_spread,
    loss_of_guessing,
    name_of_guessing,
)
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
    total_drop,
    update_reach,
)
from models.insight.path_outcome import DIRECTIONS, MERGE, SIMILAR, direction_outcome
from models.insight.similar_nets import slow_sentence
from models.insight.theory import he_factor_sentence
from models.insight.words import (
    UNCHANGED_DECADES,
    change_in_words,
    count_in_words,
    decades,
    factor,
    number,
    relative_size,
    times,
    times_larger,
    two_places,
    vectors,
)
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import activations_of, has_dropout, norms_of, uses_batch_statistics
from models.spec.tasks import needs_attention, predicts_every_token
from models.spec.vocabulary import ONE_STREAM
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
BORDERLINE_DECADES = 1.2  # change of the gradient on its way back
MIN_BARE_SUBLAYERS = 8  # sublayers without a residual
MIN_NORMS_PASSED = 24  # norms on the residual path
OVERSHOOT_RATIO = 1.5  # decrease of the loss by the first gradient step, to first order, over the loss
MIN_TOTAL_DROP = 5.0  # the same for all steps of a run, below which they hardly get anywhere
MIN_SPIRAL_DROP = 30.0  # the same for the spiral, which is learned last
MIN_REACH = 1.2  # |change| / |weights| that Adam's steps can reach where branches have to bend
MIN_SPIRAL_REACH = 3.0
MIN_UNITS = 16  # hidden units of all branches that bend points

SEEKING_STEPS = 1000  # fewer are few for attention to find the places of answers
MIN_ADDED = 0.05  # root of the summed squares of branch over stream, below which a net bends little
MAX_DROPOUT_NOISE = 1.5  # mean square over that of the stream
MIN_ROWS_TO_LEARN = 50  # and half of a run, after which a net should have begun to learn
MIN_ANSWERS = 8  # answers that a step sees, below which its gradient is mostly noise
# Spreads of the constant guess that logits must move.
SPREADS_OF_ADAM = 2.0  # one to reach it, one to better it
SPREADS_OF_GRADIENTS = 0.8  # most answers are less rare than the one that is moved

COLLAPSED = findings.ALIKE  # mean cosine between samples at the end of the stream, above which they look the same
# Number of directions in which samples differ where the head reads them.
ONE_DIRECTION = 1.5  # below it, samples differ in hardly more than one direction
FEW_DIRECTIONS = 1.8  # below it, a net is borderline
FEW_DIRECTIONS_PER_TOKEN = 3.5  # the same for tasks that ask each token for one of many answers
LARGE_UPDATE = 0.3  # |change| / |weights| of a block in one step
LAST_ROWS = 20  # rows over which the loss is averaged, because a single batch says little
MEAN_ERRORS = 3.0  # standard errors by which their mean must be below guessing where held-out samples do not confirm it
WORSE_ABOVE = 1.1  # times the loss of guessing; a loss above it is worse than guessing
LEARNS, BEGINS_TO_LEARN, BETTER_IN = "it learns", "it begins to learn", "better than that in"
DEAD_SHARE = 0.5  # share of a block's ReLU units that output 0 for every token of the test set
INERT_RATIO = 1e-3  # branch over what it is added to; if none reaches it, the branches add nothing yet
MAX_INERT_SUM = 1e-2  # of these ratios, because what many blocks add may add up
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
    """A kind of verdict, the sentence that justifies it, and in brief: the same in at most twelve words.

    Kinds: diverged, exploding, vanishing, collapsed, borderline, inert, dead, large updates, healthy.
    """

    kind: str
    sentence: str
    brief: str


def activation_sentence(sites: tuple[str, ...], act_rms: np.ndarray) -> str:
    """Change of the signal from the first to the last site of the stream, or where it is not finite."""
    not_finite = _not_finite("signal", sites, act_rms)
    if not_finite:
        return not_finite
    path = f"from {site_in_words(sites[0])} to {site_in_words(sites[-1])}"
    return _capital(change_in_words("the signal", act_rms, path))


def gradient_sentence(sites: tuple[str, ...], grad_rms: np.ndarray) -> str:
    """Change of the gradient from the last site of the stream back to the first, or where it is not finite."""
    not_finite = _not_finite("gradient", sites[::-1], grad_rms[::-1])
    if not_finite:
        return not_finite
    path = f"from {site_in_words(sites[-1])} back to {site_in_words(sites[0])}"
    return _capital(change_in_words("the gradient", grad_rms[::-1], path))


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
    return DIRECTIONS[direction_outcome(cosine)]


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
    accuracy = ""
    if frame is not None and math.isfinite(frame.held_out_accuracy):
        accuracy = f", held-out accuracy {frame.held_out_accuracy:.0%}{_of_step(frame, row)}"
    comparison = _comparison_with_guessing(trace, row, task)
    return f"Step {row}: loss {number(loss)}{accuracy}; {guess}: {comparison}."


def modes_sentence(cfg: RunConfig, frame: Frame | None, row: int) -> str:
    """Held-out loss in train and eval mode of a net with batch norm or dropout; empty for other nets."""
    if frame is None or math.isnan(frame.train_mode_loss):
        return ""
    train, running = frame.train_mode_loss, frame.held_out_loss
    drops = has_dropout(cfg)
    both = drops and uses_batch_statistics(cfg)
    modes = "modes of both" if both else "modes of dropout" if drops else "modes of batch norm"
    sentence = TEXTS(modes, own=_loss_text(train), running=_loss_text(running), of_step=_of_step(frame, row))
    is_worse = running > max(EVAL_LOSS_FACTOR * train, train + EVAL_LOSS_MARGIN) or math.isnan(running)
    if not (is_worse and train < BETTER_BELOW * loss_of_guessing(cfg.task)):
        return f" {sentence}"
    of_drops = "bad at inference with both" if both else "bad at inference with dropout"
    bad = of_drops if drops else "bad at inference with batch norm"
    return f" {sentence} {TEXTS(bad)}"


def _loss_text(loss: float) -> str:
    return number(loss) if math.isfinite(loss) else TEXTS("not finite")


def _comparison_with_guessing(trace: Trace, row: int, task: str) -> str:
    """How the mean of the last training losses, the held-out samples and the first loss compare with guessing.

    The mean is of up to LAST_ROWS rows until `row`, all from the later half of the run so far.
    """
    guessing, frame = loss_of_guessing(task), trace.frame_at(row)
    losses = trace.loss[row - min(LAST_ROWS - 1, row // 2) : row + 1].astype(np.float64)
    recent, first = float(losses.mean()), float(trace.loss[0])
    tested = frame if frame and frame.step > 0 and not math.isnan(frame.held_out_loss) else None
    is_better = tested is not None and beats_guessing(task, tested.held_out_loss, tested.held_out_accuracy)
    if tested and is_better and recent <= WORSE_ABOVE * guessing:
        recent = min(recent, tested.held_out_loss)  # training losses of small batches are mostly noise
    is_sure = is_better or recent + _error_of_mean(losses) < guessing or not (tested or len(losses) > 1)
    if recent < LEARNED_BELOW * guessing and is_sure:
        if tested and not is_better:
            by_mode = tested.train_mode_loss < BETTER_BELOW * guessing
            where = "train mode, not in eval mode" if by_mode else "training, not on held-out samples"
            return f"{BETTER_IN} {where} (held-out loss {number(tested.held_out_loss)}{_of_step(tested, row)})"
        return LEARNS if recent < 0.5 * guessing else BEGINS_TO_LEARN
    if recent < BETTER_BELOW * guessing and is_sure and (is_better or not tested):
        return "slightly better than that"
    if recent <= WORSE_ABOVE * guessing:
        return "no better than that"
    return "not yet as good as that" if recent < first else "worse than that"


def _error_of_mean(losses: np.ndarray) -> float:
    """MEAN_ERRORS standard errors of a mean of losses; infinite for a single one."""
    return MEAN_ERRORS * float(losses.std(ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.inf


def verdict(cfg: RunConfig, trace: Trace, row: int) -> Verdict:
    """The most important verdict on one row of a log."""
    return verdicts(cfg, trace, row)[0]


def verdicts(cfg: RunConfig, trace: Trace, row: int) -> list[Verdict]:
    """Every verdict on one row of a log, worst first; "healthy" alone if nothing is wrong.

    An exploding untrained net (row 0) also gets the reason if He initialisation is to blame.
    """
    state = NetState(cfg, trace, row)
    if not state.finite:
        sentence = "Not finite: some numbers have left the range of the machine."
        return [Verdict("diverged", sentence, sentence)]
    faults = [fault for fault in (_depth_fault(state), _large_update(state), _dead_units(state)) if fault]
    inert = _inert(state)
    if inert and (not faults or faults[0].kind == "borderline"):
        return [inert, *faults]
    return faults or [
        Verdict("healthy", f"Healthy: {state.changes}{state.end}.", f"Healthy: {state.factors}{state.fate}.")
    ]


class NetState:
    """Quantities of one row on which verdicts rest; changes over depth are in decades."""

    def __init__(self, cfg: RunConfig, trace: Trace, row: int) -> None:
        self.cfg, self.trace, self.row = cfg, trace, row
        self.vectors = vectors(cfg)
        act, grad = self.act, self.grad = trace.act_rms[row], trace.grad_rms[row]
        self.branch = trace.branch_rms[row]
        self.weight_grad = trace.weight_grad_rms[row]
        self.finite = all(np.isfinite(series).all() for series in (act, grad, self.branch, self.weight_grad))
        self.max_stream = float(act.max())
        skips = {sublayer.site: abs(sublayer.skip) for sublayer in plan(cfg).sublayers}
        with np.errstate(invalid="ignore"):  # a stream that has overflowed, where nothing carries it on
            skipped = np.array([skips[site] for site in trace.branches]) * act[:-1]
        # What each branch adds, over what it is added to; infinite where nothing else is left.
        self.shares = np.divide(self.branch, skipped, out=np.where(self.branch > 0, np.inf, 0.0), where=skipped > 0)
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
        compared = _comparison_with_guessing(trace, row, cfg.task) if row else ""
        self.learned = compared.startswith((LEARNS, BEGINS_TO_LEARN, BETTER_IN))

    def _measure_head_input(self, stream_end: float) -> None:
        """Sets size and number of directions of what the head reads, cosines by site, and whether samples are alike.

        `stream_end`: RMS of the stream at its end.
        """
        size = difference = self.directions = math.nan
        self.cosine = np.full(len(self.trace.sites), np.nan)
        if self.frame:
            size, difference, self.directions = map(float, self.frame.head_input)
            self.cosine = self.frame.sample_cosine
        reads_stream = self.cfg.stack in ONE_STREAM and plan(self.cfg).final_norm == "none"
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
            f"{change_in_words(name, self.act, 'over depth')}{through}, "
            f"{change_in_words('its gradient', self.grad[::-1], 'on the way back')}"
        )

    @property
    def end(self) -> str:
        """Directions of samples at the end of the stream, in words; empty where they have none."""
        last = float(self.cosine[-1])
        if not math.isfinite(last):
            return ""
        but = ", but the head can tell them apart" if direction_outcome(last) == MERGE and not self.alike else ""
        return f", and {self.vectors} end up {directions(last)} (mean cosine {last:.2f}{self.of_step}){but}"

    @property
    def factors(self) -> str:
        """The same as factors: "signal ×4, gradient ÷28"."""
        return f"signal {times(self.stream_change)}, gradient {times(self.gradient_change)}"

    @property
    def fate(self) -> str:
        """Directions of samples at the end of the stream, in a few words; empty where they have none."""
        last = float(self.cosine[-1])
        if not math.isfinite(last):
            return ""
        outcome = direction_outcome(last)
        separable = "" if self.alike else ", yet separable"
        words = {MERGE: f"merge{separable}", SIMILAR: "similar, still distinct"}.get(outcome, outcome)
        step = f" (step {self.frame.step})" if self.frame and self.frame.step != self.row else ""
        return f", {self.shown} {words}{step}"

    @property
    def shown(self) -> str:
        """What the vectors are on the picture: "digits", or else `vectors`."""
        return "digits" if self.cfg.task == "digits" and self.cfg.tokens == 1 else self.vectors

    def first_clause(self, text: str) -> str:
        """A text up to its first comma, bracket or "where", of whole blocks, with the vectors as `shown`."""
        clause = re.split(r", | \(| where ", text)[0].replace(self.vectors, self.shown)
        return re.sub(r"by the .+ of block", "by block", clause)

    def borderline(self, risk: str, changes: str = "") -> Verdict:
        """The verdict that a net is borderline, of which the first clause of a risk is the brief."""
        more = f"; {changes}" if changes else ""
        return Verdict("borderline", f"Borderline: {risk}{more}.", f"Borderline: {self.first_clause(risk)}.")

    @property
    def of_step(self) -> str:
        return _of_step(self.frame, self.row) if self.frame else ""


def _depth_fault(state: NetState) -> Verdict | None:
    """The verdict on signal and gradient over depth; None if nothing is wrong with them.

    A net that has learned is judged only by the statistics of its batch norm.
    """
    if state.learned:
        noise = _batch_norm_noise(state)
        return state.borderline(noise, f"{state.changes}{state.end}") if noise else None
    too_large = state.head_size > state.max_size
    if too_large or (state.gradient_growth > math.log10(LOUD_GRADIENT) and not state.fully_normed):
        cause = "the head reads a signal that is far too large" if too_large else "the gradient grows"
        reason = "" if state.row else he_factor_sentence(state.cfg)
        sentence = f"Exploding: {cause}; {state.changes}. {reason}".rstrip()
        return Verdict("exploding", sentence, f"Exploding: {state.factors}.")
    if state.head_size < state.min_size:
        return _no_signal(state)
    gradient_vanishes = state.gradient_change < math.log10(state.min_size)
    few = state.directions < ONE_DIRECTION and TASKS[state.cfg.task].classes > 2  # two answers need only one direction
    if state.alike or (few and state.head_normed):
        # Adam's steps do not shrink with the difference, and one answer for a whole sample needs little of it.
        adam_may_undo = state.cfg.optimizer in ADAM_LIKE and not (
            gradient_vanishes or predicts_every_token(state.cfg.task)
        )
        kind, undone = ("Borderline", ", which Adam may undo") if adam_may_undo else ("Collapsed", "")
        also = ", and its gradient vanishes" if gradient_vanishes else ""
        clause = _collapse_clause(state)
        return Verdict(
            kind.lower(),
            f"{kind}{also}: {clause}{undone}; {state.changes}.",
            f"{kind}: {state.first_clause(clause)}.",
        )
    if gradient_vanishes and not state.fully_normed:
        remark = _level_weights_remark(state)
        sentence = f"Vanishing: hardly any gradient comes back; {state.changes}{remark}."
        return Verdict("vanishing", sentence, f"Vanishing: {state.factors}.")
    risk = next(_risks(state), "")
    return state.borderline(risk, state.changes) if risk else None


def _no_signal(state: NetState) -> Verdict:
    """The verdict on a head that reads nothing, which training may change."""
    if state.head_size == 0 and not state.row and _opens(state.cfg):
        return state.borderline("no signal reaches the head, until training opens the branch that is 0")
    return Verdict(
        "vanishing",
        f"Vanishing: hardly any signal reaches the head, so it answers every one of the {state.vectors} alike; "
        f"{state.changes}{_level_weights_remark(state)}.",
        f"Vanishing: {state.factors}.",
    )


def _opens(cfg: RunConfig) -> bool:
    """Whether a single branch without a skip starts at 0; two block each other's gradient."""
    closed = [sub for sub in plan(cfg).sublayers if not (sub.skip or sub.identity)]
    return len(closed) == 1 and (closed[0].gate == "zero gate" or cfg.init == "zero last")


def _collapse_clause(state: NetState) -> str:
    """That samples have become alike, and by which block."""
    if not state.alike:
        return f"{state.vectors} differ in hardly more than one direction, so the head can hardly tell them apart"
    collapsed_sites = np.flatnonzero(state.cosine > COLLAPSED)
    by = f" by {site_in_words(state.trace.sites[collapsed_sites[0]])}" if len(collapsed_sites) else ""
    last = f"mean cosine {float(state.cosine[-1]):.2f}{state.of_step}"
    return f"all {state.vectors} look the same{by}, so the head cannot tell them apart ({last})"


def _risks(state: NetState) -> Iterator[str]:
    """Reasons why a net is borderline, the most important first."""
    yield from _head_input_risks(state)
    if state.gradient_change < -BORDERLINE_DECADES:
        yield "little gradient comes back to the first blocks"
    if state.gradient_growth > BORDERLINE_DECADES and not state.fully_normed:
        yield "the gradient grows on its way back"
    cfg = state.cfg
    sublayers = plan(cfg).sublayers if cfg.stack in ONE_STREAM else ()
    active = [sublayer for sublayer in sublayers if not sublayer.identity]
    bare = sum(not sublayer.skip for sublayer in active)
    if bare >= MIN_BARE_SUBLAYERS:
        yield f"no residual carries the signal past {bare} sublayers"
    norms_passed = sum(sublayer.norm_add in SIZE_FIXING_NORMS for sublayer in active if sublayer.skip)
    if norms_passed >= MIN_NORMS_PASSED:
        yield f"the residual runs through {norms_passed} norms"
    yield from _task_risks(state)
    yield from _optimizer_risks(state)
    noise = _batch_norm_noise(state)
    if noise:
        yield noise


def _head_input_risks(state: NetState) -> Iterator[str]:
    """Reasons that lie in what the head reads."""
    task = state.cfg.task
    if state.directions < FEW_DIRECTIONS:
        yield f"{state.vectors} differ in hardly more than one direction where the head reads them"
    if predicts_every_token(task) and state.directions < FEW_DIRECTIONS_PER_TOKEN:
        yield (
            f"{state.vectors} differ in {number(state.directions, 2)} directions where the head reads them, few for "
            f"the {TASKS[task].classes} answers"
        )
    saturating = sorted(norm for norm in norms_of(state.cfg) if norm not in SIZE_FIXING_NORMS)
    if saturating and state.max_stream > LARGE_FACTOR:
        yield f"{saturating[0]} saturates on a stream of size {number(state.max_stream, 2)}"
    if state.head_size < 1 / SMALL_FACTOR or state.head_size > LARGE_FACTOR:
        yield f"the head reads a signal of size {number(state.head_size, 2)}, where 1 is usual"


def _task_risks(state: NetState) -> Iterator[str]:
    """Reasons that lie in what the task asks of the net."""
    cfg = state.cfg
    if state.row >= max(MIN_ROWS_TO_LEARN, cfg.steps / 2):
        yield f"after {state.row} steps it has not learned"
    if needs_attention(cfg.task) and cfg.net == "mlp":
        yield "the answers are in other tokens, and an MLP reads each token by itself"
    if cfg.net == "transformer" and needs_attention(cfg.task) and cfg.steps < SEEKING_STEPS:
        yield f"attention has to find the place of each answer, which takes small nets more than {cfg.steps} steps"
    if TASKS[cfg.task].kind == "points" and cfg.task != "linear":
        yield from _bending_risks(state)
    noise = _dropout_noise(state)
    if noise > MAX_DROPOUT_NOISE:
        yield f"dropout adds noise of {number(noise, 2)} times the signal's mean square, by all masks over depth"
    if not predicts_every_token(cfg.task) and cfg.batch < MIN_ANSWERS:
        yield f"each step sees {count_in_words(cfg.batch, 'answer')}, so it is mostly noise"


def _bending_risks(state: NetState) -> Iterator[str]:
    """Reasons why branches may not bend points apart that no line parts."""
    cfg = state.cfg
    if activations_of(cfg) == {"identity"}:
        yield "without an activation only norms bend what the net computes"
    added = math.hypot(*np.minimum(state.shares, 1.0))
    if not state.row and added < MIN_ADDED:
        yield f"all branches together add {number(added, 2)} times what they are added to"
    units = cfg.depth * cfg.width * (1 if cfg.layers_per_branch == 1 else cfg.expansion)
    if units < MIN_UNITS:
        yield f"only {count_in_words(units, 'unit')} bend the plane"
    reach = update_reach(cfg, state.trace)
    if cfg.optimizer in ADAM_LIKE and reach < (MIN_SPIRAL_REACH if cfg.task == "spiral" else MIN_REACH):
        yield f"weights change by at most {reach:.0%} of their size, in {cfg.steps} steps at this learning rate"


def _dropout_noise(state: NetState) -> float:
    """Mean square of all masks' noise over that of the stream; a mask of rate p adds p / (1 - p) of what it covers."""
    branch, stream = (rate / (1 - rate) for rate in (state.cfg.branch_dropout, state.cfg.stream_dropout))
    return branch * float(np.minimum(state.shares, 1.0) @ np.minimum(state.shares, 1.0)) + stream * len(state.shares)


def _optimizer_risks(state: NetState) -> Iterator[str]:
    """Reasons that lie in the steps that the optimiser takes."""
    cfg = state.cfg
    if state.row == 0:
        drop = first_drop(cfg, state.trace)
        if drop > OVERSHOOT_RATIO:
            yield f"the first step overshoots, to first order by {number(drop, 2)} times the loss"
    total = total_drop(cfg, state.trace)
    if total < (MIN_SPIRAL_DROP if cfg.task == "spiral" else MIN_TOTAL_DROP):
        fall = f"{number(total, 2)} times itself, to first order"
        yield f"the steps are too small, {cfg.steps} steps like the first lower the loss by only {fall}"
    spread, reach = guess_spread(cfg.task), logit_reach(cfg, state.trace, state.head_size)
    is_adam = cfg.optimizer in ADAM_LIKE
    to_undo = max(0.0, float(state.trace.loss[0]) - loss_of_guessing(cfg.task)) if spread and is_adam else 0.0
    if reach < spread * (SPREADS_OF_ADAM if is_adam else SPREADS_OF_GRADIENTS) + to_undo:
        moves = "Adam moves a logit by at most" if is_adam else "a rare answer's logit moves by about"
        yield (
            f"the steps are too small, in {cfg.steps} steps at this learning rate {moves} {number(reach, 2)}, and the "
            f"best constant guess alone spreads logits by {number(spread, 2)}"
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
        yield f"{cfg.optimizer} hardly trains a transformer without norms"
    if slow_sentence(cfg):
        yield "its learning rates are small for this task"


def _batch_norm_noise(state: NetState) -> str:
    """How noisy the statistics of a batch norm over a few tokens are; empty for other nets."""
    tokens = state.cfg.batch * state.cfg.tokens
    if tokens >= MIN_NORM_TOKENS or not uses_batch_statistics(state.cfg):
        return ""
    key = "statistics of two" if tokens == 2 else "statistics of few"
    return TEXTS(key, tokens=tokens, what=state.vectors, off=tokens**-0.5)


def _inert(state: NetState) -> Verdict | None:
    """The verdict that no branch adds anything yet, what the net is without them, and if training can open them."""
    if state.shares.max() >= INERT_RATIO or state.shares.sum() >= MAX_INERT_SUM:
        return None
    seen = "Inert branches: no block adds anything noticeable to the stream"
    sublayers = [sublayer for sublayer in plan(state.cfg).sublayers if not sublayer.identity]
    can_open = any(sub.gate or sub.scale >= INERT_RATIO * abs(sub.skip) for sub in sublayers)
    if can_open and not state.row:
        return Verdict("inert", f"{seen} yet; training can switch them on.", f"{seen} yet.")
    norms = {plan(state.cfg).final_norm, *(sublayer.norm_add for sublayer in sublayers)}
    is_linear = state.cfg.stack in ONE_STREAM and norms == {"none"}
    effect = "the net is linear in effect" if is_linear else "only norms bend what the net computes"
    outlook = " so far"
    if state.learned:
        outlook = ", and it has learned all the same"
    elif can_open:
        outlook = ", and training has not switched them on so far"
    return Verdict("inert", f"{seen}; {effect}{outlook}.", f"{seen}.")


def _large_update(state: NetState) -> Verdict | None:
    """The verdict that an update changes much of a block's weights: the predicted first, or the last measured one."""
    if state.row == 0:
        sizes, verb, brief = first_update(state.cfg, state.trace), "the first one will change", "will change"
    else:
        verb, brief = "the last one that was measured changed", "changed"
        measured = (frame.update_to_weight for frame in reversed(state.trace.frames) if frame.step < state.row)
        sizes = next((sizes for sizes in measured if np.isfinite(sizes).any()), np.empty(0))
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    if sizes.max(initial=0.0) <= LARGE_UPDATE:
        return None
    block, size = int(sizes.argmax()) + 1, relative_size(float(sizes.max()))
    return Verdict(
        "large updates",
        f"Large updates: {verb} the weights of block {block} by {size}.",
        f"Large updates: block {block}'s weights {brief} by {size}.",
    )


def _dead_units(state: NetState) -> Verdict | None:
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
        f"Dead units: {share:.0%} of block {block}'s units output 0{state.of_step}.",
    )


def _of_step(frame: Frame, row: int) -> str:
    """The step of a frame in words; empty if it is the row's."""
    return f" at step {frame.step}" if frame.step != row else ""


def _level_weights_remark(state: NetState) -> str:
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
        f"; the weight gradients are level across blocks, about {size} and within a factor of {factor(spread)} of each "
        "other: late blocks get as much or as little as early ones"
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
