"""muP and its form over depth against the papers' tables, written out by hand."""

import math
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest
import torch

from models.nets import build_model
from models.spec import RunConfig, plan
from models.spec.equation import equation
from models.tasks import open_task
from models.training import Run, cross_entropy
from tests import hand

WIDTH, DEPTH = 256, 6
SMALL = {"width": WIDTH, "depth": DEPTH, "batch": 4, "steps": 3, "weight_decay": 0.3}
# Every parameter of these nets by hand: the end of a name, and the row of the tables.
KINDS = {
    "function.w*.weight": "block hidden",
    "function.w*.bias": "block vector",
    "norm_in.[wb]*": "block vector",
    "norm_[qk].weight": "block vector",
    "norm_in.alpha": "block fixed",
    "relative.bias": "block fixed",
    "scale.gate": "block fixed",
    "embed.*": "input",
    "position.table_TD": "input",
    "final_norm.[wb]*": "input",
    "final_norm.alpha": "fixed",
    "head.weight": "output",
    "head.bias": "fixed",
}
NETS = {
    "mlp": {"norm": "dynamic tanh", "branch_scale": "zero gate", "parametrization": "muP"},
    "transformer, relative bias": {"net": "transformer", "position": "relative bias", "qk_norm": True},
    "transformer, learned positions": {"net": "transformer", "position": "learned", "task": "copy"},
}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(
    "optimizer",
    ["sgd", pytest.param("momentum", marks=pytest.mark.full), pytest.param("adam", marks=pytest.mark.full), "adamw"],
)
@pytest.mark.parametrize("parametrization", ["muP", "muP + 1/depth"])
def test_every_parameter_has_the_rate_decay_and_epsilon_of_the_papers_tables(net, optimizer, parametrization):
    cfg = RunConfig(**{**SMALL, "parametrization": parametrization, "optimizer": optimizer} | NETS[net])
    over_depth = DEPTH / 2 if cfg.parametrization == "muP + 1/depth" else 1
    run = Run(cfg)
    run.advance(1)
    groups = {p: group for group in run.optimizer.param_groups for p in group["params"]}
    seen = set()
    for name, p in run.model.named_parameters():
        kind = next(kind for part, kind in KINDS.items() if fnmatch(name, f"*{part}"))
        seen.add(kind)
        family = "adam" if optimizer.startswith("adam") else "sgd"
        rate, decay, eps = hand.MUP[family, kind](WIDTH / 64, over_depth)
        assert groups[p]["lr"] == pytest.approx(cfg.lr * rate), name
        assert groups[p]["weight_decay"] == pytest.approx(0.3 * decay if p.ndim > 1 else 0), name
        if eps:
            assert groups[p]["eps"] == pytest.approx(1e-8 * eps), name
    assert {"block hidden", "block vector", "input", "output", "fixed"} <= seen


@pytest.mark.parametrize("fields", [{}, {"net": "transformer", "optimizer": "adamw", "lr": 0.001}])
def test_at_the_base_every_parametrization_is_the_standard_one(fields):
    usual = RunConfig(width=64, depth=2, batch=4, steps=3, weight_decay=0.1, **fields)
    traces = []
    for parametrization in ("standard", "muP", "muP + 1/depth"):
        run = Run(replace(usual, parametrization=parametrization))
        run.advance(3)
        traces.append(run.trace())
    for trace in traces[1:]:
        np.testing.assert_array_equal(trace.loss, traces[0].loss)
        np.testing.assert_array_equal(trace.act_rms, traces[0].act_rms)


@pytest.mark.parametrize("init", ["fan-in", "normal 0.02"])
def test_hidden_weights_vary_as_one_over_the_width_and_the_heads_as_in_the_base_net(init):
    model = build_model(RunConfig(width=WIDTH, depth=4, parametrization="muP", init=init))
    hidden = torch.cat([block["mlp"].function.w1.weight.flatten() for block in model.stream.blocks.values()])
    at_base = {"fan-in": 64**-0.5, "normal 0.02": 0.02}[init]
    assert hidden.std().item() == pytest.approx(at_base * (WIDTH / 64) ** -0.5, rel=0.01)
    assert model.head.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    x = hand.stream_of(width=WIDTH)
    by_hand = hand.linear(hand.layer_norm(x, model.double().final_norm, 1e-5) * 64 / WIDTH, model.head)
    hand.assert_close(model.read_out(x), by_hand, 1e-6)


def test_with_branches_over_depth_every_branch_is_divided_by_it():
    cfg = RunConfig(depth=DEPTH, parametrization="muP + 1/depth", branch_scale=0.5)
    assert {sublayer.scale for sublayer in plan(cfg).sublayers} == {0.5 * 2 / DEPTH}
    assert r"x + \tfrac{2}{6}\,0.5\,F" in equation(cfg)
    wide = equation(RunConfig(net="transformer", width=WIDTH, parametrization="muP"))
    assert r"\tfrac{64}{256}\,W\," in wide
    assert r"k^\top\sqrt{16}/d_k" in wide


def test_the_output_multiplier_and_the_heads_rate_are_the_papers_other_table():
    """Table 3 has no multiplier: the head starts at variance 1/width^2, and SGD's rate for it falls as 1/width."""
    cfg = RunConfig(width=WIDTH, depth=2, batch=8, steps=4, optimizer="sgd", lr=0.05, parametrization="muP")
    run = Run(cfg, probe=False, frames=False)
    other = build_model(replace(cfg, parametrization="standard"))
    other.load_state_dict(build_model(cfg).state_dict())
    with torch.no_grad():
        other.head.weight.mul_(64 / WIDTH)
    task, losses = open_task(cfg, torch.device("cpu")), []
    for k in range(cfg.steps):
        x, y = task.batch(k)
        loss = cross_entropy(other(x), y)
        losses.append(loss.item())
        other.zero_grad()
        loss.backward()
        with torch.no_grad():
            for name, p in other.named_parameters():
                hidden = ".function.w" in name and name.endswith("weight")
                rate = 64 / WIDTH if name == "head.weight" else 1 if hidden or name == "head.bias" else WIDTH / 64
                p.sub_(cfg.lr * rate * p.grad)
    run.advance(cfg.steps)
    np.testing.assert_allclose(run.trace().loss, losses, rtol=1e-4)
    assert losses[-1] < losses[0]


def test_a_learned_gate_leaves_the_depth_no_say():
    with pytest.raises(ValueError, match="branch scale zero gate is learned"):
        RunConfig(parametrization="muP + 1/depth", branch_scale="zero gate")
    cfg, notes = RunConfig.from_query({"parametrization": "muP + 1/depth", "branch_scale": "zero gate"})
    assert cfg.parametrization == "muP"
    assert "became muP" in notes[0]
    assert math.isfinite(plan(cfg).sublayers[0].scale)
