"""What the charts say in sentences: computed from the numbers, all profiles read together, and true of real nets."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from models.export import findings
from models.insight.baseline import DATA, guess_spread, loss_of_guessing
from models.insight.estimates import (
    first_drop,
    first_update,
    freezing_spread,
    logit_reach,
    score_spread,
    total_drop,
    update_reach,
)
from models.insight.outcome import LEARNS, STAYS, outcome
from models.insight.verdict import (
    LARGE_UPDATE,
    Verdict,
    activation_sentence,
    clip_sentence,
    cosine_sentence,
    gradient_sentence,
    loss_sentence,
    modes_sentence,
    thresholds,
    verdict,
    verdicts,
    weight_sentence,
)
from models.insight.words import decades, factor, number, relative_size
from models.lessons.lessons import LESSONS
from models.spec import RunConfig
from models.spec.pairings import DEEP_PLACEMENTS, PAIRINGS
from models.trace import Columns, Frame, trace_of
from models.training import Run, cross_entropy, profile_at_init
from tests.traces import finished

SHORT = {"steps": 40, "device": "cpu"}
SITES = ("x0", "b01", "b02", "b03")
BARE, NORMED = RunConfig(depth=3, norm="none"), RunConfig(depth=3)
SAME = {"cosine": (0.1, 0.5, 0.96, 0.99), "head": (1.0, 0.1, 3.0)}  # samples become one over depth


def trained(loss, frames=(), held_out=1.0):
    """A log with these losses; the held-out accuracy of frame k is k % over a half, its loss `held_out`."""
    columns = Columns(SITES, SITES[1:], 3)
    rows = np.ones((len(loss), columns.width), np.float32)
    rows[:, 0] = loss
    blank = np.full(3, np.nan)
    return trace_of(columns, rows, [Frame(step, np.full(4, 0.1), blank, held_out, 0.5 + step / 100) for step in frames])


def all_judged(
    *,
    act=(1, 1, 1, 1),
    grad=(1, 1, 1, 1),
    branch=(0.5, 0.5, 0.5),
    weight=(1, 1, 1),
    cosine=(0.1, 0.2, 0.3, 0.4),
    head=(1.0, 0.8, 9.0),
    update=(),
    dead=(),
    loss=2.3,
    held_out=9.0,
    cfg=BARE,
) -> list[Verdict]:
    """The verdicts on row 1 of a log with this row, this update before it, and this frame; of a net without norms."""
    columns = Columns(SITES, SITES[1:], 3)
    rows = np.array([[loss, 1, 1, 1, *act, *grad, *branch, *weight]] * 2, np.float32)
    blank, dead_units = np.full(4, np.nan), np.array(dead)
    frames = [
        Frame(0, blank, np.array(update), held_out, 0.5),
        Frame(1, np.array(cosine), blank, held_out, 0.5, dead_units=dead_units, head_input=np.array(head)),
    ]
    return verdicts(cfg, trace_of(columns, rows, frames), 1)


def headline(**profiles) -> Verdict:
    return all_judged(**profiles)[0]


# --- changes in words ---


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (1, 1000, 3),
        (1000, 1, -3),
        (1e-30, 1e30, 60),
        (2, 2, 0),
        (0, 0, 0),
        (1, 0, -math.inf),
        (1, math.inf, math.inf),
        (math.nan, 1, math.inf),
    ],
)
def test_a_change_is_counted_in_decades(start, end, expected):
    assert decades(start, end) == pytest.approx(expected)


def test_the_activation_is_read_forward_and_the_gradient_backward():
    rising = np.array([1.0, 10.0, 100.0, 1000.0])
    assert activation_sentence(SITES, rising) == "The signal becomes 1,000 times larger from the input to block 3."
    assert (
        gradient_sentence(SITES, rising) == "The gradient becomes 1,000 times smaller from block 3 back to the input."
    )
    assert (
        gradient_sentence(SITES, rising[::-1])
        == "The gradient becomes 1,000 times larger from block 3 back to the input."
    )


@pytest.mark.parametrize(
    ("signal", "words"),
    [
        ([1.0, 1.02, 0.99, 1.0], "stays the same size {path}"),
        ([1.0, 1.8, 1.0, 1.2], "stays within a factor of 1.8 {path}"),
        ([6.5, 0.7, 2.0, 5.5], "varies by a factor of 9.3 {path} and ends 1.2 times smaller"),
        ([1.0, 0.5, 4.0, 1.0], "varies by a factor of 8 {path} and ends as large as it began"),
        ([1.0, 1.0, 2.5, 1.9], "varies by a factor of 2.5 {path} and ends 1.9 times larger"),
        ([1.0, 40.0, 0.1, 3.0], "becomes 3 times larger {path}"),
        ([1.0, 0.0, 0.0, 1.0], "reaches exactly 0 {path}"),
    ],
)
def test_a_range_is_largest_over_smallest(signal, words):
    there, back = words.format(path="from the input to block 3"), words.format(path="from block 3 back to the input")
    assert activation_sentence(SITES, np.array(signal)) == f"The signal {there}."
    assert gradient_sentence(SITES, np.array(signal[::-1])) == f"The gradient {back}."
    overall = headline(act=signal, grad=signal[::-1]).sentence
    assert f"the batch's signal {words.format(path='over depth')}, its gradient" in overall
    assert f"its gradient {words.format(path='on the way back')}" in overall


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1.04, "1"),
        (1.5, "1.5"),
        (9.96, "10"),
        (12.4, "12"),
        (249, "250"),
        (63096, "63,000"),
        (994_000, "990,000"),
        (999_000, "1.0·10⁶"),
        (2.99e7, "3.0·10⁷"),
        (3.36e7, "3.4·10⁷"),
        (9.96e7, "1.0·10⁸"),
    ],
)
def test_a_factor_has_two_digits_and_is_the_same_up_and_down(size, words):
    assert factor(math.log10(size)) == factor(-math.log10(size)) == words


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ([1.0, 1.5, 1.9], "The blocks' weight gradients are within a factor of two of each other."),
        ([1e-8, 1.0, 1.0], "The largest of the blocks' weight gradients is 1.0·10⁸ times larger than the smallest."),
        (
            [0.0, 1.0, 1.0],
            "The blocks' weight gradients are within a factor of two of each other; 1 block receives none.",
        ),
        ([0.0, 0.0, 0.0], "No block's weights receive a gradient."),
    ],
)
def test_weight_gradients_are_compared_across_blocks(weight, expected):
    assert weight_sentence(np.array(weight)) == expected


def test_what_is_not_finite_is_said_to_be_so_and_where_it_began():
    lost = np.array([1.0, 2.0, np.inf, np.nan])
    assert (
        activation_sentence(SITES, lost) == "The signal is not finite at 2 of 4 points of the stream, first at block 2."
    )
    assert (
        gradient_sentence(SITES, lost) == "The gradient is not finite at 2 of 4 points of the stream, first at block 3."
    )
    assert weight_sentence(np.array([1.0, np.nan, np.inf])) == "The weight gradients of 2 of 3 blocks are not finite."
    assert weight_sentence(np.full(1, np.nan)) == "The weight gradients of the block are not finite."


def test_diverged_runs_numbers_are_not_taken_for_zero():
    run = Run(RunConfig.arranged("residual only", depth=32, width=32, batch=32, steps=20))
    run.advance(20)
    said = "\n".join(findings(run.cfg, run.trace()))
    assert "The weight gradients of 32 of 32 blocks are not finite." in said
    assert "receive a gradient" not in said
    assert "infinity" not in said


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (0.99, "in nearly the same direction"),
        (0.88, "similar, but still distinct"),
        (0.71, "similar, but still distinct"),
        (0.69, "in different directions"),
    ],
)
def test_cosine_and_headline_say_the_same_of_where_samples_end(last, words):
    assert cosine_sentence(RunConfig(), np.array([0.0, last])).endswith(f"{last:.2f} at the end: {words}.")
    assert f"samples end up {words} (mean cosine {last:.2f})" in headline(cosine=(0.0, last)).sentence


def test_a_stream_that_is_lost_has_no_direction_and_the_headline_names_none():
    assert "no direction left" in cosine_sentence(RunConfig(), np.array([0.0, math.nan]))
    assert "samples" not in headline(cosine=(0.0, math.nan)).sentence


def test_of_a_transformer_before_training_cosine_and_headline_agree():
    """Its tokens end with a mean cosine between the two thresholds."""
    cfg = RunConfig(net="transformer", device="cpu")
    trace = profile_at_init(cfg)
    first, *_, last = trace.frames[0].sample_cosine
    assert 0.7 < last < 0.95
    said = f"at the input and {last:.2f} at the end: similar, but still distinct."
    assert (
        cosine_sentence(cfg, trace.frames[0].sample_cosine)
        == f"Different tokens have a mean cosine of {first:.2f} {said}"
    )
    assert f"tokens end up similar, but still distinct (mean cosine {last:.2f})" in verdict(cfg, trace, 0).sentence


@pytest.mark.parametrize(
    ("fields", "what"), [({}, "samples"), ({"net": "transformer"}, "tokens"), ({"task": "book"}, "tokens")]
)
def test_the_cosine_is_between_tokens_where_a_sample_has_several(fields, what):
    """Tokens of the book are alike from the start: 0.38 of the
    cosine is there at the input, of one sample or of several.
    """
    cfg = RunConfig(depth=2, width=16, batch=8, lr=0.05, device="cpu", **fields)
    trace = profile_at_init(cfg)
    assert f"Different {what} have" in cosine_sentence(cfg, trace.frames[0].sample_cosine)
    x = Run(cfg).task.held_out[0]
    assert (x.shape[1] > 1) == (what == "tokens")
    assert (f"and {what} " in verdicts(cfg, trace, 0)[0].sentence) or f"all {what} " in verdicts(cfg, trace, 0)[
        0
    ].sentence


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (0.1, "it learns"),
        (1.5, "it begins to learn"),
        (2.2, "slightly better than that"),
        (2.3, "no better than that"),
        (2.5, "no better than that"),
        (9.0, "worse than that"),
        (2.9, "not yet as good as that"),
    ],
)
def test_the_loss_is_set_against_a_guess(last, words):
    said = loss_sentence(trained([3.0, last], frames=(1,), held_out=last), 1, "digits")
    assert said == f"Step 1: loss {last:.3g}, held-out accuracy 51%; chance is 2.30: {words}."


def test_a_threshold_is_not_chance_and_what_lies_between_is_slightly_better():
    """A tenth below guessing is where learning is said to begin; the sentences once called all above it chance."""
    for share in (0.91, 0.94, 0.97):
        said = loss_sentence(trained([5.0, share * 3.066], frames=(1,), held_out=2.95), 1, "book")
        assert said.endswith("; the best constant guess is 3.07: slightly better than that.")


@pytest.mark.parametrize(("train", "held_out"), [(0.4, 2.46), (2.05, 2.31)])
def test_a_net_that_knows_only_its_batches_has_not_begun_to_learn(train, held_out):
    trace = trained([3.0] + [train] * 40, frames=(40,), held_out=held_out)
    said = loss_sentence(trace, 40, "digits")
    assert said.endswith(f": better than that in training, not on held-out samples (held-out loss {held_out:.3g}).")
    assert outcome(trace, math.log(10)) == STAYS
    assert outcome(trained([3.0] + [train] * 40, frames=(40,), held_out=2.2), math.log(10)) == LEARNS


@pytest.mark.full
def test_one_lucky_batch_of_a_dead_net_is_no_beginning():
    """Post-norm of 48 blocks: single batches of the book dip below nine tenths of guessing, the mean does not."""
    cfg = PAIRINGS[DEEP_PLACEMENTS].make()[1]
    guessing = loss_of_guessing(cfg.task)
    trace = finished(cfg, 120)
    said = [loss_sentence(trace, row, cfg.task).rpartition(": ")[2] for row in range(35, 90)]
    assert set(said) == {"no better than that."}
    lucky = replace(trace, loss=np.where(np.arange(len(trace)) == 60, 0.85 * guessing, trace.loss))
    assert loss_sentence(lucky, 60, cfg.task).endswith("no better than that.")


def test_the_last_sentence_about_the_loss_and_the_outcome_are_of_one_definition():
    for share, word, became in ((0.8, "it begins to learn.", LEARNS), (0.95, "no better than that.", STAYS)):
        losses = [3.0] * 30 + [2.3 * (share + 0.2 * (-1) ** k) for k in range(20)]
        trace = trained(losses)
        assert loss_sentence(trace, len(losses) - 1, "digits").endswith(word)
        assert outcome(trace, 2.3) == became


def test_a_loss_that_is_not_there_or_not_finite_is_said_too():
    assert loss_sentence(None, 0, "digits") == "Not trained yet. Chance is 2.30."
    assert loss_sentence(trained([]), 0, "book") == "Not trained yet. The best constant guess is 3.07."
    assert loss_sentence(trained([2.3, math.nan]), 1, "digits") == "The loss is not finite at step 1."


def test_step_0_reads_the_same_whether_or_not_somebody_has_trained_the_log():
    """What update 0 will do is computed from the row, whether or not it has been made."""
    cfg = RunConfig(**SHORT, lr=3.0)
    run = Run(cfg)
    run.advance(5)
    assert verdicts(cfg, run.trace(), 0) == verdicts(cfg, profile_at_init(cfg), 0)
    assert loss_sentence(run.trace(), 0, "digits") == loss_sentence(profile_at_init(cfg), 0, "digits")
    assert run.frames[0].update_to_weight.max() > LARGE_UPDATE, "else the two would be equal anyhow"
    assert all("large updates" in [one.kind for one in verdicts(cfg, run.trace(), row)] for row in (0, 1))


@pytest.mark.parametrize("fields", [{}, {"clip": 0.5}, {"optimizer": "sgd", "norm": "none"}])
def test_the_first_drop_is_the_one_that_a_small_step_makes(fields):
    """Against a difference of losses on the same batch: a step a thousand times smaller, a thousand times its drop."""
    cfg = RunConfig(**{"depth": 4, "width": 32, "batch": 16, "lr": 1e-4, "steps": 2, "device": "cpu"} | fields)
    run = Run(cfg, frames=False)
    x, y = run.next_batch()
    run.advance(1)
    with torch.no_grad():
        after = float(cross_entropy(run.model(x), y))
    before = float(run.trace().loss[0])
    assert first_drop(cfg, profile_at_init(cfg)) == pytest.approx((before - after) / before, rel=0.05)


@pytest.mark.parametrize(
    "fields",
    [
        {"lr": 0.1},
        {"lr": 0.1, "clip": 0.5, "optimizer": "sgd"},
        {"optimizer": "adam", "lr": 0.003},
        {"net": "transformer", "task": "book", "optimizer": "adamw", "lr": 0.001, "expansion": 2},
        {"norm": "none", "init": "torch", "layers_per_branch": 1},
        {"init": "gpt2", "init_gain": 2.0},
        {"init": "zero last", "placement": "sandwich"},
        {"warmup": 10, "lr": 1.0},
    ],
)
def test_the_first_update_is_the_one_that_will_be_made(fields):
    cfg = RunConfig(**{"depth": 6, "width": 32, "batch": 16, "steps": 2, "device": "cpu"} | fields)
    run = Run(cfg)
    run.advance(1)
    made = run.frames[0].update_to_weight
    np.testing.assert_allclose(first_update(cfg, profile_at_init(cfg)), made, rtol=0.45)


BOOK = {"net": "transformer", "task": "book", "depth": 2, "width": 16, "heads": 2, "batch": 8, "optimizer": "adam"}


@pytest.mark.parametrize("fields", [{}, {"init_gain": 3.0}, {"norm": "none", "init": "xavier"}, {"qk_norm": True}])
def test_the_spread_of_scores_is_that_of_the_untrained_attention(fields):
    cfg = RunConfig(**{**BOOK, "width": 64, "depth": 1, "lr": 0.001, "device": "cpu"} | fields)
    run = Run(cfg, frames=False)
    x, _ = run.next_batch()
    attn = run.model.stream.blocks["b01"]["attn"]
    read = []
    attn.function.register_forward_pre_hook(lambda _module, args: read.append(args[0]))
    with torch.no_grad():
        run.model(x)
        q, k = (
            each(weights(read[0]).unflatten(-1, (cfg.heads, -1)))
            for each, weights in (
                (attn.function.norm_q, attn.function.w_q),
                (attn.function.norm_k, attn.function.w_k),
            )
        )
        scores = torch.einsum("bthk,bshk->bhts", q, k) / (cfg.width // cfg.heads) ** 0.5
    assert score_spread(cfg, profile_at_init(cfg)) == pytest.approx(float(scores.std()), rel=0.35)


def test_a_softmax_rests_on_few_tokens_where_scores_spread_by_more_than_the_bound():
    cfg = RunConfig(**BOOK)
    scores = np.random.default_rng(0).standard_normal((2000, cfg.tokens))
    largest = [(np.exp(s * scores) / np.exp(s * scores).sum(1, keepdims=True)).max(1).mean() for s in (1, 4)]
    assert freezing_spread(cfg) == pytest.approx(2.63, abs=0.01)
    assert largest[0] < 0.25
    assert largest[1] > 0.5


def test_adam_moves_a_logit_no_further_than_it_can_reach():
    cfg = RunConfig(**BOOK | {"lr": 0.001, "steps": 30, "device": "cpu"})
    run = Run(cfg, frames=False)
    before = run.model.head.weight.detach().clone()
    run.advance(30)
    read = torch.randn(1000, cfg.width)
    read /= read.square().mean(1, keepdim=True).sqrt()
    moved = (read @ (run.model.head.weight.detach() - before).T).abs().max()
    assert float(moved) <= logit_reach(cfg, run.trace(), 1.0) == pytest.approx(30 * 0.001 * 16)
    assert logit_reach(cfg, run.trace(), 0.5) == logit_reach(cfg, run.trace(), 1.0) / 2


def test_gradient_steps_move_a_rare_answers_logit_so_far():
    """All 75 answers start alike; the weights of one that never comes are pushed back by its probability."""
    cfg = RunConfig(**BOOK | {"optimizer": "momentum", "lr": 0.01, "steps": 2000, "clip": 0.5, "device": "cpu"})
    trace = profile_at_init(cfg)
    read, weights, speed = np.ones(cfg.width), np.zeros(cfg.width), np.zeros(cfg.width)
    for _ in range(cfg.steps):
        speed = 0.9 * speed + float(trace.clip_factor[0]) * np.exp(weights @ read) / 75 * read
        weights -= cfg.lr * speed
    assert -weights @ read == pytest.approx(logit_reach(cfg, trace, 1.0), rel=0.03)


def test_a_run_cannot_fall_by_more_than_all_its_first_steps():
    cfg = RunConfig(depth=2, width=16, batch=64, lr=1e-4, steps=100, warmup=10, clip=0.1, device="cpu")
    run = Run(cfg, frames=False)
    run.advance(100)
    trace = run.trace()
    fallen = (float(trace.loss[:3].mean()) - float(trace.loss[-10:].mean())) / float(trace.loss[0])
    assert fallen < total_drop(cfg, profile_at_init(cfg)) < 0.05
    assert total_drop(replace(cfg, optimizer="adam"), trace) == math.inf


def test_the_best_constant_guess_spreads_logits_by_what_the_letters_frequencies_do():
    counts = np.unique(list((DATA / "moby_dick.txt").read_text(encoding="ascii")), return_counts=True)[1]
    logits = np.log(counts)
    frequencies = np.exp(logits) / np.exp(logits).sum()
    assert guess_spread("book") == pytest.approx(np.average(logits, weights=frequencies) - logits.mean())
    assert guess_spread("digits") == 0


def test_the_reach_of_updates_is_that_of_equal_steps():
    cfg = RunConfig(**BOOK | {"lr": 0.001, "steps": 200})
    trace = profile_at_init(cfg)
    assert update_reach(cfg, trace) == pytest.approx(200 * np.median(first_update(cfg, trace)))


@pytest.mark.parametrize(
    ("fields", "kind", "says"),
    [
        ({"lr": 0.001}, "borderline", "in 300 steps at this learning rate Adam moves a logit by at most 4.8"),
        ({"lr": 0.004}, "healthy", ""),
        ({"lr": 0.004, "steps": 50}, "borderline", "in 50 steps at this learning rate"),
        ({"lr": 0.001, "width": 32, "init_gain": 3.0}, "borderline", "attention reads hardly more than one token"),
    ],
)
def test_steps_too_small_for_the_book_are_borderline(fields, kind, says):
    cfg = RunConfig(**BOOK | {"steps": 300, "device": "cpu"} | fields)
    found = verdicts(cfg, profile_at_init(cfg), 0)[0]
    assert (found.kind, says in found.sentence) == (kind, True)


def test_alike_samples_are_no_verdict_with_adam_where_a_sample_has_one_answer():
    """Of 80 such nets drawn at random 42 learned digits or spiral, and none of 44 the book."""
    adam = RunConfig(optimizer="adam")
    found = headline(**SAME, cfg=adam)
    assert found.kind == "borderline"
    assert ", which Adam may undo; " in found.sentence
    assert headline(**SAME, loss=9.0, cfg=replace(adam, task="copy")).kind == "collapsed"


def test_he_weights_in_both_matrices_of_a_branch_are_named_as_what_doubles_the_signal():
    assert list(LESSONS).index("init") + 1 == 8
    plain = RunConfig.arranged("plain", init="he")
    said = verdicts(plain, profile_at_init(plain), 0)[0].sentence
    assert "multiplies the mean square by 2 (see lesson 8)" in said
    hidden = torch.randn(100_000, 64, generator=torch.Generator().manual_seed(0)).relu().square().mean().item()
    he = 2.0  # times 1/inputs: the mean square after W1, ReLU and W2 of an input of mean square 1
    assert he * (he * hidden) == pytest.approx(2, rel=0.01)
    louder = replace(plain, init_gain=2.0, depth=8)
    said = verdicts(louder, profile_at_init(louder), 0)[0].sentence
    assert said.endswith("multiplies the mean square by 2 (see lesson 8); the init gain of 2 by another 16.")
    gained = he * 2**2  # the gain stands in each matrix, and the mean square is a square
    assert gained * (gained * hidden) == pytest.approx(2 * 16, rel=0.01)
    for other in (
        {"layers_per_branch": 1},
        {"norm": "layer norm", "placement": "pre-norm"},
        {"init_gain": 2.0, "init": "fan-in"},
    ):
        cfg = replace(plain, **other)
        assert "lesson" not in verdicts(cfg, profile_at_init(cfg), 0)[0].sentence


# --- the headline ---


@pytest.mark.parametrize(
    ("profiles", "kind", "words"),
    [
        ({}, "healthy", "samples end up in different directions (mean cosine 0.40)"),
        ({"act": (1, 10, 100, 1000)}, "exploding", "the batch's signal becomes 1,000 times larger over depth"),
        ({"grad": (2e4, 100, 10, 1)}, "exploding", "its gradient becomes 20,000 times larger on the way back"),
        ({"grad": (1000, 100, 10, 1)}, "borderline", "the gradient grows on its way back"),
        ({"cfg": RunConfig(depth=8, residual=False)}, "borderline", "no residual carries the signal past 8 sublayers"),
        ({"cfg": RunConfig(placement="post-norm")}, "borderline", "the residual runs through 32 norms"),
        ({"act": (1, 0.1, 0.01, 9e-4)}, "vanishing", "the batch's signal becomes 1,100 times smaller over depth"),
        ({"grad": (9e-4, 0.01, 0.1, 1)}, "vanishing", "its gradient becomes 1,100 times smaller on the way back"),
        ({"act": (1, 1, 0, 0), "grad": (0, 0, 1, 1)}, "vanishing", "the batch's signal reaches exactly 0"),
        (
            SAME,
            "collapsed",
            "all samples look the same by block 2, so the head cannot tell them apart (mean cosine 0.99)",
        ),
        (SAME | {"grad": (1e-5, 1, 1, 1)}, "collapsed", "Collapsed, and its gradient vanishes: all samples"),
        ({"head": (1.0, 0.6, 1.2), "cfg": NORMED}, "collapsed", "samples differ in hardly more than one direction"),
        ({"head": (1.0, 0.6, 1.7), "cfg": NORMED}, "borderline", "samples differ in hardly more than one direction"),
        ({"act": (1, 2, 4, 17)}, "borderline", "the head reads a signal of size 17, where 1 is usual"),
        ({"act": (1, 0.5, 0.1, 0.05)}, "borderline", "the head reads a signal of size 0.05, where 1 is usual"),
        ({"grad": (0.02, 1, 1, 1)}, "borderline", "little gradient comes back to the first blocks"),
        ({"branch": (0, 0, 0)}, "inert", "no block adds anything noticeable to the stream"),
        (
            {"branch": (1e-5,) * 3, "cfg": replace(BARE, init="zero last")},
            "inert",
            "the net is linear in effect, and training has not switched them on so far.",
        ),
        ({"branch": (0, 0, 0), "cfg": replace(BARE, branch_scale=0.0)}, "inert", "linear in effect so far."),
        (
            {"branch": (0, 0, 0), "cfg": replace(NORMED, branch_scale=0.0)},
            "inert",
            "only norms bend what the net computes",
        ),
        (
            {"branch": (0, 0, 0), "loss": 1.0, "held_out": 1.0},
            "inert",
            "linear in effect, and it has learned all the same.",
        ),
        ({"act": (1, math.inf, math.inf, math.nan)}, "diverged", "Not finite"),
        ({"grad": (math.nan, 1, 1, 1)}, "diverged", "Not finite"),
        ({"weight": (1, math.inf, 1)}, "diverged", "Not finite"),
    ],
)
def test_a_headline_names_the_kind_and_the_numbers_that_make_it(profiles, kind, words):
    found = headline(**profiles)
    assert found.kind == kind
    assert words in found.sentence
    assert found.sentence.endswith(".")


def test_level_gradients_do_not_hide_that_all_samples_have_become_one():
    """Read off one chart, this net would be healthy (reference sheet D32)."""
    assert headline(**SAME).kind == "collapsed"
    assert headline(cosine=(0.97,) * 4, head=(1.0, 0.1, 3.0)).kind == "healthy", "they were alike from the start"


def test_what_the_head_reads_counts_not_the_stream_behind_a_norm():
    """A large or small stream, and the gradient at it, is nobody's trouble where norms stand on all that is read."""
    loud = {"act": (1, 10, 100, 1000), "grad": (1000, 100, 10, 1), "branch": (9, 90, 900)}
    found = headline(**loud, cfg=NORMED)
    assert found.kind == "healthy"
    assert "the batch's signal becomes 1,000 times larger over depth, read through norms" in found.sentence
    assert headline(**loud).kind == "exploding"
    apart = headline(cosine=(0.1, 0.9, 0.99, 1.0), head=(16.0, 1.0, 7.0), act=(1, 4, 8, 9.5))
    assert apart.kind == "healthy"
    assert "but the head can tell them apart" in apart.sentence


def test_adam_copes_with_more():
    for profile in ({"act": (1, 10, 100, 200)}, {"act": (1, 0.1, 1e-2, 1e-4)}, {"grad": (1e-4, 1, 1, 1)}):
        kinds_of = [headline(**profile, cfg=replace(BARE, optimizer=one)).kind for one in ("momentum", "adam")]
        assert kinds_of[0] in ("exploding", "vanishing")
        assert kinds_of[1] == "borderline"


def test_a_net_that_has_learned_is_neither_exploding_nor_vanishing_nor_collapsed():
    for profile in ({"act": (1, 10, 100, 1000), "branch": (9, 90, 900)}, {"grad": (1e-5, 1, 1, 1)}, SAME):
        assert headline(**profile, loss=2.0, held_out=2.0).kind == "healthy"
        assert headline(**profile, loss=2.2).kind != "healthy"
        assert headline(**profile, loss=2.2, held_out=2.0).kind == "healthy"  # a small batch's loss is noise


@pytest.mark.parametrize("batch", [2, 4, 8, 16])
def test_the_statistics_of_a_few_samples_are_not_healthy(batch):
    cfg = RunConfig(norm="batch norm", depth=8, batch=batch, width=32, device="cpu")
    found = verdict(cfg, profile_at_init(cfg), 0)
    assert found.kind == ("healthy" if batch >= 8 else "borderline")
    assert (f"each step sees {batch} answers" in found.sentence) == (batch < 8)


def test_a_net_that_learns_from_statistics_of_two_is_not_healthy_either():
    """An estimate of the mean from n samples is off by 1/√n of the spread."""
    said = {}
    for batch in (2, 4, 8):
        said[batch] = headline(loss=1.0, held_out=1.0, cfg=replace(NORMED, norm="batch norm", batch=batch))
        assert said[batch].kind == ("healthy" if batch == 8 else "borderline")
    assert "off by 71% of the spread: of two numbers it passes on only which is larger" in said[2].sentence
    assert "from 4 samples, so the mean is off by 50%" in said[4].sentence
    assert headline(loss=1.0, held_out=1.0, cfg=replace(NORMED, batch=2)).kind == "healthy"


@pytest.mark.parametrize(
    ("own", "running", "bad"),
    [(0.4, 3.2, True), (0.4, math.nan, True), (0.4, 0.45, False), (0.01, 0.09, False), (5.0, 9.0, False)],
)
def test_held_out_losses_of_both_modes_stand_side_by_side(own, running, bad):
    blank = np.full(4, np.nan)
    frame = Frame(8, blank, blank, running, 0.5, train_mode_loss=own)
    said = modes_sentence(replace(NORMED, norm="batch norm"), frame, 8)
    shown = "not finite" if math.isnan(running) else number(running)
    assert f"by batch (train mode) {number(own)}, by running statistics (eval mode) {shown}." in said
    assert ("bad at inference" in said) == bad
    dropped = modes_sentence(replace(NORMED, branch_dropout=0.1), frame, 12)
    assert f"with masks (train mode) {number(own)}, without masks (eval mode) {shown} at step 8." in dropped
    assert ("does not hold without them" in dropped) == bad
    both = replace(NORMED, norm="batch norm", stream_dropout=0.1)
    assert "by batch and with masks (train mode)" in modes_sentence(both, frame, 8)
    assert modes_sentence(NORMED, Frame(8, blank, blank, running, 0.5), 8) == modes_sentence(NORMED, None, 8) == ""


def test_dropout_is_blamed_on_its_mode_not_samples():
    losses = [3.0] + [0.4] * 40
    trace = trained(losses, frames=(40,), held_out=2.9)
    assert "in training, not on held-out samples (held-out loss 2.9)" in loss_sentence(trace, 40, "digits")
    trace = replace(trace, frames=(replace(trace.frames[0], train_mode_loss=0.4),))
    assert "in train mode, not in eval mode (held-out loss 2.9)" in loss_sentence(trace, 40, "digits")


@pytest.mark.parametrize(("right", "begins"), [(153, False), (176, False), (186, True)])
def test_half_right_of_two_classes_is_no_beginning(right, begins):
    """The tail of 300 fair tosses, counted by Pascal's triangle."""
    counts = [1]
    for _ in range(300):
        counts = [a + b for a, b in pairwise([0, *counts, 0])]
    assert (sum(counts[right:]) / 2**300 < 1e-3) == begins
    trace = trained([0.8] + [0.6] * 40, frames=(40,), held_out=0.6)
    trace = replace(trace, frames=(replace(trace.frames[0], held_out_accuracy=right / 300),))
    assert loss_sentence(trace, 40, "circles").endswith("it begins to learn.") == begins


def test_lucky_batches_of_two_are_no_beginning():
    """Forty fair tosses with a mean of .55 nats lie within three standard errors of chance, .69."""
    lucky = [0.1, 1.0] * 20
    blank = trained([0.8, *lucky])
    tested = trained([0.8, *lucky], frames=(32,), held_out=0.69)
    for trace in (blank, tested):
        assert loss_sentence(trace, 40, "circles").endswith(": no better than that.")
    assert loss_sentence(trained([0.8, *lucky], frames=(32,), held_out=0.3), 40, "linear").endswith(": it learns.")


def test_a_held_out_loss_names_its_step():
    trace = trained([3.0] + [0.4] * 40, frames=(32,), held_out=2.9)
    assert loss_sentence(trace, 40, "digits").endswith("not on held-out samples (held-out loss 2.9 at step 32).")


def test_a_branch_is_measured_against_its_own_stream():
    """The stream doubles sixteen times; the first branch is as large as what it is added to."""
    cfg = RunConfig(
        task="circles", placement="res-post-norm", skip_scale=2.0, depth=16, width=16, batch=8, steps=1, device="cpu"
    )
    run = Run(cfg)
    sublayer = run.model.stream.blocks["b01"]["mlp"]
    read = []
    sublayer.register_forward_pre_hook(lambda _module, args: read.append(args[0]))
    x, _ = run.next_batch()
    with torch.no_grad():
        run.model(x)
        share = sublayer.branch(read[0]).norm() / (2 * read[0]).norm()
    assert share > 0.3
    trace = profile_at_init(cfg)
    assert trace.branch_rms[0].max() < 1e-3 * trace.act_rms[0].max(), "else the old comparison would do"
    assert "inert" not in [found.kind for found in verdicts(cfg, trace, 0)]


def test_what_training_can_open_is_said_once_it_has_not():
    cfg = RunConfig.arranged("residual only", branch_scale="layer scale", depth=33, width=16, batch=8, steps=3, lr=1e-6)
    run = Run(cfg)
    run.advance(3)
    said = [verdicts(cfg, run.trace(), row)[0].sentence for row in (0, 2)]
    assert said[0].endswith("to the stream yet; training can switch them on.")
    assert said[1].endswith("and training has not switched them on so far.")


def test_a_vanishing_stream_gradient_says_when_the_weight_gradients_are_level():
    falling = {"grad": (1e-5, 1e-3, 0.1, 1)}
    assert (
        "level across blocks, about 10⁻⁷ and within a factor of 2 of each other: late blocks get as much"
        in headline(**falling, weight=(1e-7, 2e-7, 1e-7)).sentence
    )
    assert "level" not in headline(**falling, weight=(1e-7, 1e-4, 1e-1)).sentence
    assert "level" not in headline(**falling, weight=(0, 1, 1)).sentence


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "healthy"),
        ({"placement": "post-norm"}, "borderline"),
        ({"placement": "post-norm", "depth": 16}, "healthy"),
        ({"norm": "none", "depth": 8, "lr": 0.1}, "borderline"),
        ({"norm": "none", "depth": 8, "lr": 0.001}, "healthy"),
        ({"norm": "none"}, "exploding"),
        ({"norm": "none", "residual": False}, "vanishing"),
        ({"placement": "mid-norm", "residual": False}, "collapsed"),
        ({"norm": "none", "branch_scale": "zero gate"}, "inert"),
        ({"norm": "none", "residual": False, "init": "he"}, "exploding"),
        ({"norm": "none", "residual": False, "activation": "sigmoid"}, "collapsed"),
        ({"norm": "none", "residual": False, "init_gain": 10.0}, "diverged"),
    ],
)
def test_the_default_net_and_its_relatives_are_what_the_theory_says(fields, kind):
    cfg = RunConfig(**fields)
    assert verdict(cfg, profile_at_init(cfg), 0).kind == kind


# --- what training does ---


def kinds(cfg: RunConfig, row: int) -> list[str]:
    run = Run(cfg)
    run.advance(row + 1)
    return [found.kind for found in verdicts(cfg, run.trace(), row)]


def test_a_moderate_run_is_healthy_while_it_trains():
    assert kinds(RunConfig(**SHORT), 12) == ["healthy"]


def test_a_learning_rate_that_is_too_large_is_said_with_the_size_of_its_updates():
    cfg = RunConfig(**SHORT, lr=3.0)
    run = Run(cfg)
    run.advance(2)
    size = max(run.frames[0].update_to_weight)
    assert f"by {relative_size(float(size))}." in verdicts(cfg, run.trace(), 1)[1].sentence


def test_adams_usual_updates_are_no_headline():
    """They are as large as the learning rate, not as the weights: more than 1 % of those, and the net learns."""
    cfg = RunConfig(depth=8, width=32, batch=32, optimizer="adam", lr=3e-3, steps=100, device="cpu")
    run = Run(cfg)
    run.advance(100)
    trace = run.trace()
    assert max(frame.update_to_weight.max() for frame in run.frames[:4]) > 0.01
    assert trace.loss[-20:].mean() < 0.5 * math.log(10)
    assert {verdict(cfg, trace, row).kind for row in (1, 2, 4, 8)} == {"healthy"}


def test_dead_units_and_the_cosine_are_of_a_fixed_set_of_about_128_tokens():
    """Not of every sample: the sentence says so, and the set is that large for both nets. Images are not tokens."""
    for cfg in (RunConfig(depth=2, width=16), RunConfig(net="transformer", task="book", depth=1, width=16)):
        run = Run(replace(cfg, device="cpu"))
        assert run._taker._samples * cfg.tokens == 128
    assert "for every sample in a fixed test set" in all_judged(dead=(0.75, 0, 0))[0].sentence
    assert "about 128" in thresholds()


def test_level_weight_gradients_are_level_at_both_ends_of_a_plain_net():
    """A weight's gradient is an input times a gradient, and the one falls forward as the other falls back."""
    cfg = RunConfig(residual=False, norm="none", device="cpu")
    trace = profile_at_init(cfg)
    weights = trace.weight_grad_rms[0]
    assert trace.grad_rms[0, -1] > 1000 * trace.grad_rms[0, 0]
    assert weights[:4].mean() == pytest.approx(weights[-4:].mean(), rel=0.7)
    into, back = trace.act_rms[0, [0, -2]], trace.grad_rms[0, [1, -1]]  # of the first and of the last block
    assert min(into[0] / into[1], back[1] / back[0]) > 1000
    assert (into * back)[0] == pytest.approx((into * back)[1], rel=0.7)
    tenths = int(np.floor(np.log10(np.median(weights))))
    size = f"{np.median(weights) / 10.0**tenths:.0f}·10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[-tenths]}"
    said = f"level, about {size}: where a block's input is large, its gradient is small"
    assert said in verdict(cfg, trace, 0).sentence


def test_nearly_one_direction_does_not_mean_that_nothing_can_be_learned():
    """Pre-norm on the book passes through a cosine of 0.95 in training and learns on: what the head reads differs."""
    assert headline(cosine=(0.1, 0.5, 0.9, 0.99)).kind == "healthy"


def test_units_that_a_large_step_has_killed_are_said():
    assert kinds(RunConfig(**SHORT, lr=1.0), 12)[-2:] == ["large updates", "dead"]


def test_what_was_not_measured_decides_nothing():
    assert headline(head=(math.nan,) * 3, cosine=(math.nan,) * 4, cfg=NORMED).kind == "healthy"
    trace = trained([3.0] + [2.2] * 40)
    assert loss_sentence(trace, 40, "digits").endswith(": slightly better than that.")
    assert outcome(trained([3.0] + [2.0] * 40, frames=(40,), held_out=math.nan), math.log(10)) == LEARNS


def test_a_net_without_relus_has_no_dead_units():
    found = Run(RunConfig(**SHORT, activation="tanh", lr=1.0))
    found.advance(13)
    assert all(frame.dead_units.size == 0 for frame in found.frames)


def test_updates_and_dead_units_are_said_beside_what_else_is_wrong():
    found = all_judged(act=(1, 10, 100, 1000), update=(0.001, 0.4, np.nan), dead=(0.2, np.nan, 0.75))
    assert [one.kind for one in found] == ["exploding", "large updates", "dead"]
    assert "block 2 by 40% of their size" in found[1].sentence
    assert "75% of block 3's units" in found[2].sentence
    assert [one.kind for one in all_judged(update=(0.001, 0.29), dead=(0.5, 0.1))] == ["healthy"]


def test_clipping_is_told_by_the_norms_that_the_parameters_gradients_have():
    norms = []
    for clip in (0.0, 0.05):
        run = Run(RunConfig(depth=2, width=8, batch=4, steps=1, clip=clip))
        run.advance(1)
        grads = torch.cat([p.grad.flatten().double() for p in run.model.parameters()])
        norms.append(number(float(grads.norm()), 2))
        sentence = clip_sentence(run.trace(), 0)
    assert norms[1] == "0.05"
    assert sentence == f" Clipping cuts its norm from {norms[0]} to 0.05."
    unclipped = Run(RunConfig(depth=2, width=8, batch=4, steps=1, clip=1e3))
    unclipped.advance(1)
    assert clip_sentence(unclipped.trace(), 0) == ""
