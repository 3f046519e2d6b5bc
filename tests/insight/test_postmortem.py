"""Why a run failed: every rule on a run that triggers it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from models.insight.postmortem import RULES, candidates, postmortem
from models.insight.verdict import EXPLODING, LARGE_UPDATE, verdict
from models.insight.words import decades, factor, times_larger
from models.spec import RunConfig
from models.trace import Columns, Divergence, trace_of
from models.training import Run
from tests.traces import finished

SATURATED = RunConfig.arranged(
    "residual only", activation="tanh", init="he", depth=64, width=32, batch=32, lr=1.0, steps=60, device="cpu"
)
SHORT = {"depth": 16, "width": 32, "batch": 32, "steps": 60, "device": "cpu"}
DEEP = SHORT | {"depth": 32}
TRIGGERS = {
    "Before any update, ": [
        RunConfig.arranged("plain", init_gain=10.0, **DEEP),
        RunConfig(skip_scale=256.0, **SHORT),
    ],
    "Before training the batch's signal becomes ": [
        RunConfig.arranged("residual only", **DEEP),
        RunConfig.arranged("plain", init="he", **DEEP),
    ],
    " Each sublayer multiplies the gradient by about ": [
        RunConfig(
            residual=False, placement="post-norm", norm="batch norm", lr=10.0, **(SHORT | {"depth": 64, "steps": 20})
        ),
        SATURATED,
    ],
    "Update ": [
        RunConfig(lr=10.0, **SHORT),
        RunConfig(net="transformer", task="copy", optimizer="sgd", lr=10.0, **(SHORT | {"depth": 3, "batch": 8})),
    ],
    "The steps were moderate at first, ": [
        RunConfig.arranged("ReZero", lr=0.3, **SHORT),
        RunConfig.arranged("plain", lr=0.3, **(SHORT | {"depth": 4})),
    ],
}


def trained(cfg: RunConfig, *, frames: bool = True) -> Run:
    run = Run(cfg, frames=frames)
    run.advance(cfg.steps)
    return run


@pytest.mark.parametrize(
    ("suspects", "words", "cfg"),
    [
        (suspects, words, cfg)
        for (_, suspects), (words, triggers) in zip(RULES[:-1], TRIGGERS.items(), strict=True)
        for cfg in triggers
    ],
)
def test_a_run_that_triggers_a_rule_is_explained_by_it(suspects, words, cfg):
    found = postmortem(cfg, finished(cfg, cfg.steps))
    assert words in found.sentence
    assert found.suspects == suspects
    single = [remedy for remedy in candidates(cfg, suspects) if not remedy.is_combined]
    assert set(single[0].fields) <= set(suspects)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_how_large_the_first_updates_were_is_measured_not_taken_from_the_gradient(optimizer):
    """Adam's first step is as large as the learning rate, however large the gradient is."""
    cfg = RunConfig.arranged("residual only", **DEEP, optimizer=optimizer)
    run = trained(cfg)
    early = max(float(frame.update_to_weight.max()) for frame in run.frames[:3] if frame.step < 3)
    if run.divergence:
        assert ("changed the weights of block" in postmortem(cfg, run.trace()).sentence) == (early > LARGE_UPDATE)
    assert (early > LARGE_UPDATE) == (optimizer == "momentum")


def test_a_stream_that_shrank_is_not_said_to_have_kept_its_size():
    trace = rows(([1, 0.1, 0.01], [1e4, 1e2, 1]), ([1, np.nan, 1], [1, 1, 1]))
    said = postmortem(RunConfig(depth=2, norm="none"), trace).sentence
    assert "the batch's signal becomes 100 times smaller over depth, its gradient becomes 10,000 times larger" in said
    assert said.endswith("Each sublayer multiplies the gradient by about 100.")


@pytest.mark.parametrize(
    ("stream", "gradient", "said"),
    [
        ([1, 1e20, np.inf], [1, 1, 1], "each sublayer multiplies the stream by 1.0·10²⁰, and 2 in a row leave"),
        ([1, np.inf, np.inf], [np.nan] * 3, "the first sublayer leaves"),
        ([1, 1, 1], [np.inf, 1e20, 1], "each sublayer multiplies the gradient by 1.0·10²⁰, and 2 in a row leave"),
        ([1, 1, 1], [np.nan, np.inf, 1], "the last sublayer leaves"),
        ([1, 1, 1], [1, 1, 1], "numbers leave"),
        ([1, 1, 1], [np.nan] * 3, "numbers leave"),
    ],
)
def test_an_overflow_is_laid_to_what_overflows(stream, gradient, said):
    found = postmortem(RunConfig(depth=2, norm="none"), rows((stream, gradient)))
    assert f"Before any update, {said} the range of float32." in found.sentence


def test_an_overflowing_gradient_blames_no_stream():
    """A dynamic tanh after every add holds the stream, and multiplies the gradient."""
    cfg = RunConfig(
        placement="post-norm", norm="dynamic tanh", init_gain=8.0, depth=128, width=64, batch=8, steps=1, device="cpu"
    )
    trace = finished(cfg, 1)
    assert np.isfinite(trace.act_rms).all()
    back = trace.grad_rms[0, ::-1].astype(float)
    count = int(np.isfinite(back).sum())
    rate = factor(math.log10(back[count - 1] / back[0]) / (count - 1))
    said = f"each sublayer multiplies the gradient by {rate}, and {count} in a row leave the range of float32."
    assert said in postmortem(cfg, trace).sentence


@pytest.mark.parametrize("arrangement", ["pre-norm", "ReZero"])
def test_what_the_gradient_did_while_the_stream_grew_is_measured(arrangement):
    """Larger streams need not give larger gradients: a final norm divides by the stream. So the log decides."""
    cfg = RunConfig.arranged(arrangement, lr=1.0 if arrangement == "pre-norm" else 0.3, **SHORT)
    trace = trained(cfg).trace()
    found = postmortem(cfg, trace)
    assert found.sentence.startswith("The steps were moderate at first")
    largest = trace.grad_rms[:-1].max(1)
    said = times_larger(float(np.log10(largest.max() / largest[0])))
    assert f"its largest gradient became {said} on the way." in found.sentence


def test_a_start_that_is_called_healthy_is_not_blamed():
    """One threshold for both: what the verdict lets pass before training is not brought up after it."""
    for cfg, read_bare in ((RunConfig(depth=2, norm="none"), True), (RunConfig(depth=2), False)):
        for growth in (0.9 * EXPLODING, 1.1 * EXPLODING):
            trace = rows(([1, 1, growth], [1, 1, 1]), ([1, 1, growth], [1, 1, 1]), ([1, np.nan, 1], [1, 1, 1]))
            exploding = verdict(cfg, trace, 0).kind == "exploding"
            assert exploding == (growth > EXPLODING and read_bare)
            assert ("Before training" in postmortem(cfg, trace).sentence) == exploding


def test_a_stream_behind_norms_is_not_blamed_where_the_learning_rate_ends_the_run():
    """Three blocks with an init gain of 10 learn at 0.01; at 3 they diverge, as with a gain of 1."""
    cfg = RunConfig(depth=3, init_gain=10.0, lr=3.0, width=32, batch=32, steps=60, device="cpu")
    trace = trained(cfg).trace()
    assert trace.divergence is not None
    assert decades(*trace.act_rms[0, [0, -1]]) > np.log10(EXPLODING)
    found = postmortem(cfg, trace)
    assert "Before training" not in found.sentence
    assert found.suspects[0] == "lr"
    good = trained(replace(cfg, lr=0.01)).trace()
    assert good.divergence is None
    assert good.loss[-20:].mean() < 1.0


def rows(*profiles: tuple[list[float], list[float]]):
    """A log of two blocks that diverged at its last row, from (activation, gradient) by site."""
    columns = Columns(("x0", "b01", "b02"), ("b01", "b02"), 2)
    table = np.ones((len(profiles), columns.width), np.float32)
    for row, (act, grad) in zip(table, profiles, strict=True):
        row[columns.slices["act_rms"]], row[columns.slices["grad_rms"]] = act, grad
    return trace_of(columns, table, (), Divergence(len(profiles) - 1, "activation", "b02", 2))


def test_the_step_from_which_the_gradient_vanishes_is_read_off_the_log():
    run = Run(RunConfig.arranged("post-norm", net="transformer", task="copy", depth=24, width=16, batch=4, lr=0.01))
    run.advance(40)
    trace = run.trace()
    back = trace.grad_rms[:, 0].astype(float) / trace.grad_rms[:, -1]
    first = max(at for at, share in enumerate(back) if share >= 1 / 30) + 1
    assert 0 < first < 40
    said = f"From step {first} on less than 1/30 of the gradient comes back to the input."
    assert postmortem(run.cfg, trace).sentence == said
    plain = Run(RunConfig.arranged("plain", depth=48, width=16, batch=8))
    plain.advance(3)
    assert postmortem(plain.cfg, plain.trace()).sentence.startswith("From the start less than")
    normed = Run(RunConfig.arranged("pre-norm", depth=8, width=16, batch=8))
    normed.advance(3)
    assert postmortem(normed.cfg, normed.trace()).sentence == ""
