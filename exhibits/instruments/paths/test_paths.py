"""Where the gradient came from, against autograd through the whole net, products written out, and sums over all paths."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from exhibits.instruments.paths import measure as module
from exhibits.instruments.paths.measure import gradient_shares, path_lengths
from exhibits.instruments.paths.numbers import lengths_sentence, path_counts, shares_sentence
from exhibits.instruments.paths.page import length_chart, share_chart
from models.spec import RunConfig, plan
from models.spec.vocabulary import CONNECTED
from models.training import Replays, Run, result_of
from tests.arrangements import PAIRS, in_turn
from tests.drawn import drawn
from tests.instruments.nets import DIVERGES, NETS

TINY = {"depth": 2, "width": 16, "batch": 6, "steps": 10, "device": "cpu"}
OTHERS = [
    {"norm": "batch norm"},
    {"norm": "batch norm", "placement": "post-norm"},
    {"norm": "dynamic tanh", "placement": "mid-norm"},
    {"norm": "none"},
    {"residual": False},
    {"layers_per_branch": 1},
    {"overrides": ((1, "identity", True),)},
    {"overrides": ((2, "residual", False),)},
    {"overrides": ((1, "identity", True),), "placement": "post-norm", "stack": "residual"},
    {"overrides": ((2, "identity", True),), "stack": "dlcl"},
    {"skip_scale": "1/sqrt(2)", "branch_scale": 0.5},
    {"overrides": ((1, "identity", True),), "stack": "learned scalars", "lr": 0.1},
    {"net": "transformer", "task": "copy", "depth": 3, "heads": 2, "value_residual": True},
]


def named(cfg):
    return "-".join(map(str, cfg.to_query().values()))


SPLIT = [(name, net) for name, net in PAIRS if RunConfig.arranged(name).stack not in CONNECTED]
CASES = [RunConfig.arranged(name, **TINY, **NETS[net]) for name, net in SPLIT]
CASES += [RunConfig(**TINY | other) for other in OTHERS]
IN_TURN = [*in_turn(CASES[: len(SPLIT)], called=named), *CASES[len(SPLIT) :]]


def snapshot(cfg, step=3):
    return result_of(Replays().snapshot(cfg, step))


def gradient_at_x0(cfg, step=3):
    """By autograd through the net in one piece, in float64, at what the stack is given."""
    own = snapshot(cfg, step)
    net = own.model.double()
    x, y = own.batch()
    start = net.position(net.embed(x.double() if x.is_floating_point() else x)).detach().requires_grad_()
    logits = net.read_out(net.stream(start))
    F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100).backward()
    return start.grad


@pytest.mark.parametrize("cfg", IN_TURN, ids=named)
def test_all_that_came_by_any_number_of_branches_is_the_gradient_at_x0(cfg):
    """With as many numbers of branches as there are branches: none is counted twice and none is lost."""
    _, grad = result_of(module._walk_back(snapshot(cfg), samples=cfg.batch, by_count=True))
    expected = gradient_at_x0(cfg)
    scale = expected.abs().max()
    assert (grad.sum(0) - expected).abs().max() < 1e-12 * scale
    alive = sum(not one.identity for one in plan(cfg).sublayers)
    assert len(grad) == alive + 1
    found = result_of(path_lengths(snapshot(cfg)))
    assert found.projection.sum() == pytest.approx(1)
    assert found.share.sum() == pytest.approx(1)
    assert found.whole == pytest.approx(expected.norm().item())


@pytest.mark.parametrize("cfg", CASES, ids=named)
def test_skip_and_branch_make_up_the_whole_at_every_add(cfg):
    found = result_of(gradient_shares(snapshot(cfg)))
    assert {len(one) for one in vars(found).values() if isinstance(one, np.ndarray)} == {cfg.sublayers}
    np.testing.assert_allclose(found.skip_projection + found.branch_projection, 1, rtol=1e-12)
    for at, one in enumerate(plan(cfg).sublayers):
        if one.identity:
            assert (found.skip_projection[at], found.branch_rms[at]) == (1, 0)
        elif one.skip == 0:
            assert (found.branch_projection[at], found.skip_rms[at]) == (1, 0)


@pytest.mark.parametrize("cfg", [c for c in CASES if c.stack == "single"][::5], ids=named)
def test_their_sum_is_the_gradient_that_the_log_shows_before_the_sublayer(cfg):
    run = Run(cfg)
    run.advance(4)
    found = result_of(gradient_shares(snapshot(cfg)))
    np.testing.assert_allclose(found.sum_rms, run.trace().grad_rms[3][:-1], rtol=2e-3)


@pytest.mark.parametrize("stack", CONNECTED)
def test_a_stack_without_one_add_is_refused_by_name(stack):
    with pytest.raises(ValueError, match=stack):
        result_of(gradient_shares(snapshot(RunConfig(stack=stack, **TINY))))


def linear_net(depth):
    """A net whose branch is one matrix: skip and branch can be written out."""
    cfg = RunConfig(
        depth=depth,
        width=8,
        batch=5,
        steps=5,
        placement="none",
        norm="none",
        layers_per_branch=1,
        activation="identity",
        device="cpu",
    )
    own = snapshot(cfg, 0)
    matrices = [block["mlp"].function.w.weight.detach().double() for block in own.model.stream.blocks.values()]
    net = own.model.double()
    end = net.stream(net.position(net.embed(own.batch()[0].double()))).detach().requires_grad_()
    F.cross_entropy(net.read_out(end).flatten(0, 1), own.batch()[1].flatten()).backward()
    return cfg, matrices, end.grad


def test_a_linear_net_splits_into_the_products_over_all_paths():
    """Row vectors: through a branch g becomes g W, through a skip it stays. G_k sums over all choices of k matrices."""
    cfg, matrices, g = linear_net(4)
    lengths = []
    for k in range(5):
        total = torch.zeros_like(g)
        for chosen in combinations(range(4), k):
            path = g
            for at in reversed(chosen):
                path = path @ matrices[at]
            total = total + path
        lengths.append(total.norm().item())
    found = result_of(path_lengths(snapshot(cfg, 0)))
    np.testing.assert_allclose(found.length, lengths, rtol=1e-10)
    np.testing.assert_allclose(found.share, np.array(lengths) / sum(lengths), rtol=1e-10)
    assert found.whole < sum(lengths)


def test_the_parts_at_each_add_of_a_linear_net_are_g_and_g_times_the_matrix():
    cfg, matrices, g = linear_net(3)
    found = result_of(gradient_shares(snapshot(cfg, 0)))
    for at in reversed(range(3)):
        through, both = g @ matrices[at], g + g @ matrices[at]
        assert found.skip_rms[at] == pytest.approx(g.square().mean().sqrt().item())
        assert found.branch_rms[at] == pytest.approx(through.square().mean().sqrt().item())
        assert found.branch_projection[at] == pytest.approx(((through * both).sum() / both.square().sum()).item())
        g = both


def test_fewer_samples_have_the_gradient_that_they_have_in_the_whole_batch(monkeypatch):
    cfg = RunConfig(**TINY)
    _, whole = result_of(module._walk_back(snapshot(cfg), samples=cfg.batch, by_count=True))
    _, some = result_of(module._walk_back(snapshot(cfg), samples=2, by_count=True))
    torch.testing.assert_close(some, whole[:, :2], rtol=1e-12, atol=1e-15)
    monkeypatch.setattr(module, "MAX_WORK", 1.0)
    assert result_of(path_lengths(snapshot(cfg))).samples == 1
    assert result_of(gradient_shares(snapshot(cfg))).samples == 1


def test_a_slice_takes_few_gradients_and_changes_no_number(monkeypatch):
    cfg = RunConfig(**TINY | {"depth": 4})
    whole = result_of(path_lengths(snapshot(cfg)))
    monkeypatch.setattr(module, "MAX_SLICE_WORK", 1.0)
    shares = list(path_lengths(snapshot(cfg)))
    assert len(shares) > 20
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    np.testing.assert_allclose(result_of(path_lengths(snapshot(cfg))).length, whole.length, rtol=1e-12)


def test_attention_outside_is_not_touched_while_a_walk_rests():
    """Live runs are trained between two slices, and another kernel would change their last bits."""
    before = torch.backends.cuda.flash_sdp_enabled()
    walk = path_lengths(snapshot(CASES[1]))
    next(walk)
    assert torch.backends.cuda.flash_sdp_enabled() == before
    assert before


def test_branches_that_start_at_zero_pass_nothing_on():
    found = result_of(path_lengths(snapshot(RunConfig.arranged("ReZero", **TINY), 0)))
    np.testing.assert_array_equal(found.share, [1, 0, 0])


def test_a_run_that_diverged_has_no_share_and_the_sentences_say_so():
    cfg = RunConfig(**TINY | DIVERGES)
    own = snapshot(cfg, 40)
    assert own.step < 40
    shares, lengths = result_of(gradient_shares(own)), result_of(path_lengths(own))
    assert np.isnan(shares.skip_projection).all()
    assert "not finite" in shares_sentence(plan(cfg).branches, shares.skip_projection)
    assert "not finite" in lengths_sentence(lengths.share)
    drawn(share_chart(plan(cfg).branches, shares.skip_projection, shares.branch_projection))
    drawn(length_chart(lengths.share, lengths.projection, path_counts(cfg)))


def test_the_paths_are_counted_where_every_branch_can_be_passed_or_not():
    cfg = RunConfig(depth=6)
    np.testing.assert_allclose(path_counts(cfg), [comb(6, k) / 64 for k in range(7)])
    shut = replace(cfg, overrides=((2, "identity", True), (3, "residual", False)))
    np.testing.assert_allclose(path_counts(shut), [0, *(comb(4, k) / 16 for k in range(5))])
    assert path_counts(replace(cfg, residual=False)) is None
    for name in ("ResiDual", "DLCL", "recursive skip"):
        assert path_counts(RunConfig.arranged(name, depth=6)) is None
