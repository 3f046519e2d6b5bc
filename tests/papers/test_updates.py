"""Steps of descent: changes, sharpness and noise by another computation, and contrary numbers for each verdict."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.answers import EdgeOfStability, Smoothness, Update
from models.instruments import INSTRUMENTS
from models.instruments.descent import SAMPLES, SHARPNESS_STEPS, gradient_change, noise_behind_norms
from models.instruments.samples import FullBatch
from models.nets import build_model
from models.nets.norms import TokenBatchNorm
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.numbers import coordinate_checks
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.tasks import open_task
from models.trace import Trace
from models.training import Replays, Run, SeedRuns, cross_entropy, result_of

SMALL = RunConfig.arranged(
    "DeepNorm", net="transformer", task="book", depth=2, width=16, heads=2, batch=4, optimizer="sgd", lr=0.1, steps=2
)
PLAIN = RunConfig(
    residual=False, norm="none", task="spiral", depth=2, width=8, layers_per_branch=1, activation="tanh", steps=60
)


def test_an_update_is_that_of_torchs_own_sgd_on_the_same_parameters() -> None:
    found = result_of(INSTRUMENTS["update"](Replays(), SMALL, step=0))
    x, y = open_task(SMALL, torch.device("cpu")).batch(0)
    for everything, of in ((False, found.matrices), (True, found.everything)):
        model = build_model(SMALL).double()
        before = model(x)
        inner = [p for name, p in model.named_parameters() if ".blocks." in name and name.endswith("weight")]
        own = [p for p in inner if p.ndim == 2]
        cross_entropy(before, y).backward()
        last = model.get_parameter("stream.blocks.b02.ffn.function.w2.weight").grad
        assert last is not None
        assert found.last_gradient == pytest.approx(last.norm().item(), rel=1e-6)
        torch.optim.SGD(model.parameters() if everything else own, lr=0.1).step()
        assert of == pytest.approx((model(x) - before).square().mean().sqrt().item(), rel=1e-6)


def test_the_bound_of_deepnorm_counts_matrices_alone() -> None:
    """By hand: a bias of a branch takes part in 1/alpha^2 = M^-1/2, so M of them grow as the root of M."""
    rows = [
        [
            result_of(INSTRUMENTS["update"](Replays(), RunConfig.arranged("DeepNorm", net="transformer", task="book",
                depth=depth, width=32, batch=8, optimizer="sgd", lr=0.001, steps=1, seed=seed), step=0))
            for depth in (4, 32)
        ]
        for seed in range(3)
    ]  # fmt: skip
    matrices, everything = (
        np.mean([np.log(getattr(deep, what) / getattr(shallow, what)) for shallow, deep in rows]) / np.log(8)
        for what in ("matrices", "everything")
    )
    assert abs(matrices) < 0.15
    assert everything == pytest.approx(0.5, abs=0.15)


def test_for_a_short_step_the_change_of_the_gradient_is_that_of_the_hessian() -> None:
    run = Run(replace(PLAIN, lr=1e-4, optimizer="sgd", batch=16), probe=False, frames=False)
    run.model.double()
    x, y = run.next_batch()
    run.next_batch = lambda: (x.double(), y)  # type: ignore[method-assign]
    parameters = list(run.model.parameters())
    g = torch.autograd.grad(cross_entropy(run.model(x.double()), y), parameters, create_graph=True)
    still = [part.detach() for part in g]
    hg = torch.autograd.grad(sum((a * b).sum() for a, b in zip(g, still, strict=True)), parameters)  # type: ignore[arg-type]
    length, curved = (float(torch.cat([p.flatten() for p in parts]).norm()) for parts in (still, hg))
    before = [p.detach().clone() for p in parameters]
    assert gradient_change(run) == pytest.approx(4 * 1e-4 * curved / length, rel=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(before, parameters, strict=True))


def test_noise_moves_the_features_of_a_norm_at_every_pass_and_leaves_with_its_block() -> None:
    norm = TokenBatchNorm(400)
    model, x = nn.Sequential(norm), torch.randn(64, 400)
    quiet = model(x)
    with noise_behind_norms(model, 3):
        first, second = model(x), model(x)
    for out in (first, second):
        mean, factor = (out - quiet).detach().mean(0), out.detach().std(0) / quiet.detach().std(0)
        assert mean.abs().max() < 0.51
        assert float(mean.std()) == pytest.approx(1 / 12**0.5, rel=0.1), "uniform from -1/2 to 1/2"
        assert 0.999 < float(factor.min()) < 1.02
        assert 1.23 < float(factor.max()) < 1.251
    assert not torch.allclose(first, second)
    assert torch.equal(model(x), quiet)


def test_sharpness_under_full_batch_descent_is_the_largest_eigenvalue_along_a_loop_by_hand() -> None:
    cfg = replace(PLAIN, optimizer="sgd", lr=0.2)
    found = result_of(INSTRUMENTS["edge of stability"](Replays(), cfg, step=SHARPNESS_STEPS))
    assert found.steps.tolist() == [0, SHARPNESS_STEPS]
    x, y = FullBatch(open_task(cfg, torch.device("cpu")), SAMPLES).batch(0)
    model = build_model(cfg)
    descent = torch.optim.SGD(model.parameters(), lr=0.2)
    for step in range(SHARPNESS_STEPS + 1):
        loss = cross_entropy(model(x), y)
        if step in (0, SHARPNESS_STEPS):
            assert found.sharpness[step // SHARPNESS_STEPS] == pytest.approx(largest(model, x, y), rel=0.03)
        if step < SHARPNESS_STEPS:
            assert found.loss[step] == pytest.approx(loss.item(), rel=1e-4)
        descent.zero_grad()
        loss.backward()
        descent.step()


def largest(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The largest eigenvalue of the whole Hessian."""
    names, values = zip(*model.named_parameters(), strict=True)
    sizes = [value.numel() for value in values]

    def loss(flat: torch.Tensor) -> torch.Tensor:
        parts = [part.view_as(value) for part, value in zip(flat.split(sizes), values, strict=True)]
        return cross_entropy(torch.func.functional_call(model, dict(zip(names, parts, strict=True)), (x,)), y)

    flat = torch.cat([value.detach().flatten() for value in values])
    return float(torch.linalg.eigvalsh(torch.func.hessian(loss)(flat))[-1])


def test_slopes_of_the_recorded_sizes_are_those_of_numpy() -> None:
    said = PAPERS["mup"].judge({"numbers": coordinate_checks()})
    for field, site in (("width", -1), ("depth", -2)):
        for name, power in said.numbers[field].items():
            one = coordinate_checks()[field, name]
            assert len(one.size[0]) == 8
            sizes = [np.log([seed[4][site] for seed in of]).mean() for of in one.size]
            assert power == pytest.approx(np.polyfit(np.log(one.values), sizes, 1)[0])


@pytest.mark.full
def test_at_a_low_rate_a_shallow_net_trains_faster_without_batch_norm() -> None:
    for seed in range(3):
        cfg = RunConfig(residual=False, placement="mid-norm", layers_per_branch=1, depth=8, width=32, init="he",
            optimizer="sgd", lr=0.05, steps=300, seed=seed)  # fmt: skip
        losses = []
        for norm in ("none", "batch norm"):
            run = SeedRuns(replace(cfg, norm=norm), [seed])
            run.advance(300)
            losses.append(run.traces()[0].loss[280:300].mean())
        assert losses[0] < losses[1]


# --- contrary numbers ---


def verdict(key: str, values: dict[str, Any]) -> str:
    assert set(values) == set(PAPERS[key].sources)
    said = PAPERS[key].finding(values)
    assert (said.condition == "") == (said.answer == HOLDS)
    return said.answer


def of_updates(**powers: float) -> str:
    """The verdict on changes that are these powers of depth, by net, and with biases and gains."""
    *of_kinds, everything = powers.values()
    kinds = dict(zip(("DeepNorm", "post-LN", "pre-LN"), of_kinds, strict=True))
    values = {}
    for name in PAPERS["bounded-update"].sources:
        kind, depth, _ = name.split(", ")
        values[name] = Update(float(depth) ** kinds[kind], float(depth) ** everything, 1.0)
    return verdict("bounded-update", values)


def test_an_update_is_judged_by_its_power_of_depth() -> None:
    assert of_updates(deep=0.0, post=1.5, pre=0.6, everything=0.5) == HOLDS
    assert of_updates(deep=0.2, post=1.5, pre=0.6, everything=0.5) == PARTLY
    assert of_updates(deep=0.0, post=1.5, pre=0.1, everything=0.5) == PARTLY
    assert of_updates(deep=0.0, post=1.5, pre=0.6, everything=0.1) == PARTLY
    assert of_updates(deep=1.0, post=0.1, pre=0.1, everything=1.0) == NOT_HERE


def ending(*losses: float) -> list[Trace]:
    runs = SeedRuns(RunConfig(depth=1, width=8, batch=8, steps=40), [0])
    runs.advance(40)
    trace: Trace = runs.traces()[0]
    return [replace(trace, loss=np.full_like(trace.loss, loss)) for loss in losses]


def of_norms(layer: float, tanh: float, none: float) -> str:
    losses = (layer, tanh, none, 1.0, 2.3)
    traces = [ending(*[one] * 10) for one in losses]
    return verdict("dynamic-tanh", dict(zip(PAPERS["dynamic-tanh"].sources, traces, strict=True)))


def test_dynamic_tanh_is_judged_by_the_losses_with_layer_norm_and_with_no_norm() -> None:
    assert of_norms(2.40, 2.44, 2.6) == HOLDS
    assert of_norms(2.40, 2.50, 2.6) == PARTLY
    assert of_norms(2.40, 2.42, 2.3) == PARTLY
    assert of_norms(2.40, 2.70, 2.6) == NOT_HERE


def of_rates(normed: float, bare: float, logit: float) -> str:
    """The verdict on losses that are so far above the best at all rates but one, and on the largest logit."""
    values: dict[str, Any] = {}
    for name in PAPERS["qk-norm"].sources:
        above = normed if name.startswith("QK") else bare
        if ", logits" in name:
            size = 10.0 if name.startswith("QK") else logit
            values[name] = Logits(np.full(2, size))
        else:
            values[name] = starting_at(4.3, ending(*[2.0 + above * (not name.endswith(" 0.01"))] * 10))
    return verdict("qk-norm", values)


def starting_at(loss: float, traces: list[Trace]) -> list[Trace]:
    return [replace(one, loss=np.concatenate([[loss], one.loss[1:]])) for one in traces]


class Logits:
    def __init__(self, max_logit: np.ndarray) -> None:
        self.max_logit = max_logit


def test_qk_norm_is_judged_by_the_sensitivity_and_by_the_largest_logit() -> None:
    assert of_rates(0.1, 0.3, 1000.0) == HOLDS
    assert of_rates(9.0, 3.0, 1000.0) == HOLDS, "no loss counts as more than that before training"
    assert of_rates(0.3, 0.1, 1000.0) == PARTLY
    assert of_rates(0.1, 0.3, 20.0) == PARTLY
    assert of_rates(0.4, 0.3, 10.0) == NOT_HERE


def of_landscape(change: float, bare: float, noise: float) -> str:
    """The verdict where batch norm has a change of 2 and a loss of 0.2."""
    each = {"batch norm": (2.0, 0.2), "no norm": (change, bare), "batch norm and noise": (2.0, noise)}
    return verdict(
        "smoother",
        {
            f"{name}, seed {seed}": Smoothness(np.arange(11), np.full(11, moved), np.full(40, loss))
            for name, (moved, loss) in each.items()
            for seed in range(10)
        },
    )


def test_smoothness_is_judged_by_the_gradients_change_and_by_the_losses() -> None:
    assert of_landscape(10.0, 1.3, 0.3) == HOLDS
    assert of_landscape(2.5, 1.3, 0.3) == PARTLY
    assert of_landscape(10.0, 1.3, 1.5) == PARTLY
    assert of_landscape(2.5, 0.1, 0.3) == NOT_HERE
    assert of_landscape(10.0, np.nan, 0.3) == HOLDS, "a net that diverges has learnt nothing"


def of_sharpness(start: float, plateau: float, *, rises: bool = True, end: float = 0.01) -> str:
    """The verdict on a sharpness in shares of 2/rate."""
    values = {}
    for name in PAPERS["edge-of-stability"].sources:
        rate = float(name.split(", ")[0].removeprefix("rate "))
        row = 2 / rate * np.array([start, *[plateau] * 8, 0.3])
        loss = np.geomspace(1, end, 100)
        loss[50:80:5] *= 2 if rises else 1
        values[name] = EdgeOfStability(np.arange(10) * 25, row, loss, rate)
    return verdict("edge-of-stability", values)


def test_the_edge_of_stability_is_judged_by_where_the_sharpness_hovers_and_by_the_loss() -> None:
    assert of_sharpness(0.2, 1.1) == HOLDS
    assert of_sharpness(0.2, 2.0) == PARTLY
    assert of_sharpness(0.2, 0.5) == PARTLY, "it never comes near"
    assert of_sharpness(0.9, 1.1) == PARTLY
    assert of_sharpness(0.2, 1.1, rises=False) == PARTLY
    assert of_sharpness(0.9, 2.0, rises=False, end=0.9) == NOT_HERE
