"""A gradient that is checked: against numpy, against differences taken otherwise, and caught where it is spoilt."""

import numpy as np
import pytest
import torch

from components.instruments.panel import Measured
from exhibits.instruments.check.measure import DIFFERENCE_STEPS, check
from exhibits.instruments.check.numbers import check_sentence, relative_error, rounding_error
from exhibits.instruments.check.page import error_chart, log_rows
from models.spec import RunConfig
from models.training import Replays, Run, result_of
from tests.arrangements import PAIRS, in_turn
from tests.drawn import drawn
from tests.instruments.nets import DIVERGES, NETS

TINY = {"depth": 2, "width": 8, "batch": 4, "steps": 10, "device": "cpu"}
OTHERS = [
    {"norm": "batch norm"},
    {"norm": "dynamic tanh"},
    {"norm": "none", "residual": False},
    {"layers_per_branch": 1, "activation": "tanh"},
]


def named(cfg):
    return "-".join(map(str, cfg.to_query().values()))


CASES = in_turn([RunConfig.arranged(name, **TINY, **NETS[net]) for name, net in PAIRS], called=named)
CASES += [RunConfig(**TINY | other) for other in OTHERS]


def snapshot(cfg, step=3):
    return result_of(Replays().snapshot(cfg, step))


def chosen(found, key):
    return getattr(found, key)[np.arange(len(found.target)), found.chosen]


def sentence_of(found):
    picked = {key: chosen(found, key) for key in ("difference", "kinks")}
    rounding = rounding_error(found.loss, chosen(found, "step"))
    return check_sentence(target=found.target, analytic=found.analytic, rounding=rounding, **picked)


@pytest.mark.parametrize("cfg", CASES, ids=named)
def test_every_arrangement_agrees_with_differences_and_with_its_log(cfg):
    run = Run(cfg)
    run.advance(4)
    found = result_of(check(snapshot(cfg), block=2))
    assert found.target == ("weights", "weights", "stream", "stream")
    error = np.abs(found.analytic - chosen(found, "difference"))
    smooth = chosen(found, "kinks") == 0
    assert (error <= 1e-5 * np.abs(found.analytic) + 20 * rounding_error(found.loss, chosen(found, "step")))[
        smooth
    ].all()
    assert smooth.any()
    trace = run.trace()
    assert found.loss == pytest.approx(trace.loss[3], rel=1e-4)
    assert found.rms["weights"] == pytest.approx(trace.weight_grad_rms[3, 1], rel=2e-3, abs=1e-12)
    assert found.rms["stream"] == pytest.approx(trace.grad_rms[3, -1], rel=2e-3)
    table = log_rows(Measured(found, cfg, 3, {"block": 2}), trace)
    assert all("apart" in text for text in table["difference"])


def test_the_slopes_are_those_of_a_linear_net_written_out_with_numpy():
    cfg = RunConfig(
        **TINY | {"placement": "none", "norm": "none", "layers_per_branch": 1, "activation": "identity", "depth": 1}
    )
    own = snapshot(cfg, 0)
    parts = {name: value.detach().double().numpy() for name, value in own.model.state_dict().items()}
    x, y = (part.numpy() for part in own.batch())
    start = x.reshape(len(x), -1).astype(float) @ parts["embed.weight"].T + parts["embed.bias"]
    w = parts["stream.blocks.b01.mlp.function.w.weight"]
    end = start + start @ w.T + parts["stream.blocks.b01.mlp.function.w.bias"]
    logits = end @ parts["head.weight"].T + parts["head.bias"]
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    error = (shares - np.eye(logits.shape[1])[y.reshape(-1)]) / len(x)
    at_stream = error @ parts["head.weight"]
    found = result_of(check(own, block=1))
    assert found.analytic[0] == pytest.approx(np.linalg.norm(at_stream.T @ start))
    assert found.analytic[2] == pytest.approx(np.linalg.norm(at_stream))
    np.testing.assert_allclose(chosen(found, "difference"), found.analytic, rtol=1e-6, atol=1e-10)
    assert found.rms["stream"] == pytest.approx(np.sqrt((at_stream**2).mean()))
    assert "They agree" in sentence_of(found)


def test_the_error_falls_with_the_square_of_the_step_until_rounding():
    cfg = RunConfig(**TINY | {"activation": "tanh"})
    found = result_of(check(snapshot(cfg), block=1))
    errors = relative_error(found.analytic[:, None], found.difference)[0]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.3)
    assert chosen(found, "step")[0] == pytest.approx(
        found.step[0][0] * DIFFERENCE_STEPS[found.chosen[0]] / DIFFERENCE_STEPS[0]
    )
    assert found.kinks.sum() == 0


def test_a_wrong_gradient_is_caught(monkeypatch):
    own = snapshot(RunConfig(**TINY | {"activation": "tanh"}))
    wrong = torch.autograd.grad
    monkeypatch.setattr(torch.autograd, "grad", lambda *given, **more: [1.001 * grad for grad in wrong(*given, **more)])
    assert "the relative error between gradient and finite difference is 0.001" in sentence_of(
        result_of(check(own, block=1))
    )


def test_kinks_of_relu_are_counted_at_large_steps():
    found = result_of(check(snapshot(RunConfig(**TINY | {"batch": 64, "depth": 4})), block=1))
    assert found.kinks[0, 0] > 0
    assert (np.diff(found.kinks, axis=1) <= 0).all()


def test_a_block_without_weights_has_a_stream_only_and_an_absent_block_is_refused():
    cfg = RunConfig(**TINY, overrides=((1, "identity", True),))
    found = result_of(check(snapshot(cfg), block=1))
    assert found.target == ("stream", "stream")
    assert list(found.rms) == ["stream"]
    with pytest.raises(ValueError, match="block is 3; legal is a whole number from 1 to 2"):
        result_of(check(snapshot(cfg), block=3))


def test_a_run_that_diverged_has_nothing_to_check():
    cfg = RunConfig(**TINY | DIVERGES)
    own = snapshot(cfg, 40)
    assert own.step < 40
    found = result_of(check(own, block=8))
    assert "nothing to check" in sentence_of(found)
    drawn(error_chart(found))


def test_a_step_after_the_last_update_has_no_row():
    cfg = RunConfig(**TINY)
    run = Run(cfg)
    run.advance(10)
    found = result_of(check(snapshot(cfg, 10), block=1))
    assert log_rows(Measured(found, cfg, 10, {"block": 1}), run.trace())["log"] == ["no row of the log"] * 2
