"""Likeness, rank and attention, against numpy, scipy, the module's own attention and cases worked out by hand."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn.functional import cross_entropy

from addnorm.cosine import mean_cosines
from exhibits.instruments.collapse.measure import attention_numbers, collapse, site_numbers
from exhibits.instruments.collapse.numbers import attention_sentence, collapse_sentence
from exhibits.instruments.collapse.page import rank_chart
from models.instruments.attention import attention_parts
from models.nets.branches import Attention
from models.spec import RunConfig, plan
from models.training import Run, result_of
from tests.app_page import charts, words
from tests.arrangements import every_pair
from tests.drawn import drawn
from tests.instruments.nets import DIVERGES, NETS, PARTS, opened, still_at

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TINY = {"depth": 2, "width": 16, "batch": 8, "steps": 10, "device": "cpu"}
ROWS = NETS["transformer"]


def measured(cfg, step=0):
    return result_of(collapse(still_at(cfg, step)))


def by_numpy(x_GND):
    """Every number of a site, set by set and pair by pair."""
    found = {"cosine": [], "spread": [], "rank": [], "participation": []}
    for x in x_GND:
        count = len(x)
        pairs = [
            x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j])
            for i, j in product(range(count), repeat=2)
            if i != j
        ]
        s = np.sqrt(np.clip(np.linalg.eigvalsh(x @ x.T), 0, None))
        found["cosine"].append(np.mean(pairs))
        found["spread"].append(np.linalg.norm(x - x.mean(0)) / np.linalg.norm(x))
        found["rank"].append(np.exp(stats.entropy(s)))
        found["participation"].append((s**2).sum() ** 2 / (s**4).sum())
    return {key: np.mean(values) for key, values in found.items()}


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_every_number_of_a_site_is_that_of_numpy_and_scipy():
    x = random(3, 5, 7) + 0.4
    assert site_numbers(x) == pytest.approx(by_numpy(x.numpy()), rel=1e-6)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_no_number_depends_on_the_size_of_the_stream(size):
    x = random(2, 4, 6)
    assert site_numbers(size * x) == pytest.approx(site_numbers(x), rel=1e-9)


def test_vectors_without_a_direction_are_left_out_and_what_is_not_finite_has_no_numbers():
    x = torch.tensor([[[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]], dtype=torch.float64)
    assert mean_cosines(x).item() == pytest.approx(2**-0.5)
    for nothing in (torch.zeros(2, 3, 4), torch.full((2, 3, 4), torch.nan), torch.full((1, 3, 4), torch.inf)):
        assert all(math.isnan(value) for value in site_numbers(nothing).values())


@pytest.mark.parametrize("net", NETS)
def test_a_site_is_one_samples_or_the_batchs(net):
    cfg = RunConfig.arranged("post-norm", **TINY, **NETS[net])
    found, run = measured(cfg), Run(cfg)
    points = []
    handles = [
        tap.register_forward_hook(lambda m, i, o: points.append(o.detach().double().numpy()))
        for tap in run.model.stream.stream_taps
    ]
    run.model(run.next_batch()[0])
    for handle in handles:
        handle.remove()
    for at, x in enumerate(points):
        expected = by_numpy(x if net == "transformer" else x.reshape(1, -1, cfg.width))
        for key, value in expected.items():
            assert getattr(found, key)[at] == pytest.approx(value, rel=1e-3, abs=1e-5), (key, at)
    assert (found.within, found.sets, found.vectors) == ((1, 8, 8) if net == "transformer" else (0, 1, 8))


def attention_modules(model):
    return [part for part in model.modules() if isinstance(part, Attention)]


VARIANTS = [
    {},
    {"mask": "none"},
    {"qk_norm": True},
    {"position": "rotary"},
    {"placement": "mid-norm"},
    {"heads": 4, "position": "rotary", "qk_norm": True, "mask": "none"},
]


@pytest.mark.parametrize("other", VARIANTS, ids=str)
def test_the_explicit_attention_is_the_one_of_the_module(other):
    model = still_at(RunConfig(**TINY | ROWS | other), 3).model
    module, x = attention_modules(model)[1], 2 * random(3, 8, 16).float()
    with torch.no_grad():
        _, p, v = attention_parts(module, x)
        mixed = module.w_o(module.norm_mid((p @ v).transpose(1, 2).flatten(2)))
        torch.testing.assert_close(mixed, module(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(p.sum(-1), torch.ones(p.shape[:-1]))
    assert (p.triu(1) == 0).all() == (other.get("mask") != "none")


@pytest.mark.parametrize("mask", ["causal", "none"])
def test_entropy_and_logits_are_those_of_numpy_row_by_row(mask):
    module, x = (
        attention_modules(still_at(RunConfig(**TINY | ROWS | {"mask": mask}), 3).model)[0],
        3 * random(2, 8, 16).float(),
    )
    w = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    q, k = (x.double().numpy() @ w[f"w_{one}.weight"].T + w[f"w_{one}.bias"] for one in "qk")
    entropy, largest = {0: [], 1: []}, -np.inf
    for sample, head, row in product(range(2), range(2), range(8)):
        own, last = slice(8 * head, 8 * head + 8), row + 1 if mask == "causal" else 8
        logits = np.array([q[sample, row, own] @ k[sample, at, own] / np.sqrt(8) for at in range(last)])
        largest = max(largest, logits.max())
        if last > 1:
            entropy[head].append(stats.entropy(np.exp(logits)) / np.log(last))
    found = attention_numbers(module, x)
    assert found["entropy"] == pytest.approx(np.mean([entropy[0], entropy[1]]), rel=1e-4)
    assert found["sharpest"] == pytest.approx(min(np.mean(entropy[0]), np.mean(entropy[1])), rel=1e-4)
    assert found["max_logit"] == pytest.approx(largest, rel=1e-4)


def test_the_share_of_queries_and_keys_is_that_of_the_gradient_of_the_step():
    cfg = RunConfig.arranged("pre-norm", **TINY, **ROWS)
    found, snapshot = measured(cfg, 3), still_at(cfg, 3)
    x, y = snapshot.batch()
    cross_entropy(snapshot.model(x)[y != -100], y[y != -100]).backward()
    for at, module in enumerate(attention_modules(snapshot.model)):
        q, k, v = ((one.weight.grad.double().numpy() ** 2).sum() for one in (module.w_q, module.w_k, module.w_v))
        assert found.query_key_share[at] == pytest.approx((q + k) / (q + k + v), rel=1e-4)


@every_pair
def test_every_arrangement_of_both_nets_stays_within_the_bounds(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    found, sites = measured(cfg, 1), plan(cfg).sites
    for key in ("cosine", "spread", "rank", "participation"):
        assert getattr(found, key).shape == (len(sites),)
        assert np.isfinite(getattr(found, key)).all()
    assert (np.abs(found.cosine) <= 1.0001).all()
    assert ((found.spread >= 0) & (found.spread <= 1.0001)).all()
    assert (found.participation >= 0.9999).all()
    assert (found.rank >= found.participation * 0.9999).all()  # entropy orders 1 of s, 2 of its squares
    assert (found.rank <= 8.0001).all()
    blocks = 2 if net == "transformer" else 0
    assert found.entropy.shape == found.query_key_share.shape == (blocks,)
    assert ((found.sharpest >= 0) & (found.sharpest <= found.entropy) & (found.entropy <= 1.0001)).all()
    drawn(rank_chart("t", sites, found.rank, found.participation))


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("other", PARTS, ids=str)
def test_other_parts_are_measured_too_and_batch_norm_keeps_its_statistics(net, other):
    snapshot = still_at(RunConfig(**TINY | NETS[net] | other), 2)
    before = {name: value.clone() for name, value in snapshot.model.state_dict().items()}
    found = result_of(collapse(snapshot))
    assert all(torch.equal(before[name], value) for name, value in snapshot.model.state_dict().items())
    assert np.isfinite(found.cosine).all()
    if net == "transformer":
        assert np.isnan(found.entropy).tolist() == ["overrides" in other, False]
        assert np.isnan(found.query_key_share).tolist() == ["overrides" in other, False]
    if "overrides" in other:
        assert found.cosine[0] == found.cosine[1]


def test_one_vector_is_compared_with_none_and_one_token_attends_to_nothing():
    alone = measured(RunConfig(**TINY | {"batch": 1}))
    assert np.isnan(alone.cosine).all()
    np.testing.assert_allclose(alone.rank, 1, rtol=1e-6)
    points = measured(RunConfig(**TINY | {"net": "transformer", "task": "spiral", "heads": 2}))
    assert (points.within, points.vectors) == (0, 8)
    assert len(points.entropy) == 0


@pytest.mark.parametrize("net", NETS)
def test_a_run_that_diverged_has_no_numbers_and_says_so(net):
    cfg = RunConfig(**TINY | NETS[net] | DIVERGES)
    snapshot = still_at(cfg, 40)
    assert snapshot.step < 40
    found = result_of(collapse(snapshot))
    assert np.isnan(found.cosine[-1])
    assert "no cosine" in collapse_sentence(plan(cfg).sites, "Vectors", 8, found.cosine, found.rank)


def test_the_sentences_judge_by_their_numbers():
    sites = ("x0", "b01")
    assert "nearly the same direction" in collapse_sentence(
        sites, "Vectors", 8, np.array([0.1, 0.99]), np.array([7.0, 1.1])
    )
    apart = collapse_sentence(sites, "The batch's tokens", 8, np.array([np.nan, 0.5]), np.array([7.0, 3.0]))
    assert apart == (
        "The batch's tokens have a mean cosine of 0.50 at block 1: in different directions; they use 3 of at most 8 "
        "directions there."
    )
    assert "similar, but still distinct" in collapse_sentence(
        sites, "Vectors", 8, np.array([0.1, 0.8]), np.array([7.0, 3.0])
    )
    well = attention_sentence(np.array([np.nan, 0.6, 0.9]), np.array([np.nan, 0.5, 0.4]))
    assert (
        well
        == "Attention is sharpest in block 2, with 60% of the largest entropy: no block has collapsed onto single tokens."
    )
    bad = attention_sentence(np.array([0.05]), np.array([0.01]))
    assert "has collapsed onto single tokens." in bad
    assert torch.softmax(torch.full((4,), 80.0), 0).tolist() == [0.25] * 4, "a logit alone saturates nothing"
    assert "block 1 get only 1.0%" in bad
    assert "no gradient that can be compared" in attention_sentence(np.array([0.5]), np.array([np.nan]))
    assert "No block" in attention_sentence(np.array([np.nan]), np.array([np.nan]))


def test_the_panel_of_a_transformer_shows_attention():
    page = opened("Collapse", net="transformer", heads="2", optimizer="adam", lr="0.001", overrides="")
    assert "Tokens of one sample have a mean cosine" in words(page)
    assert "Attention is sharpest in block" in words(page)
    assert {
        "Cosine of tokens by depth",
        "Rank by depth",
        "Attention entropy by block",
        "Largest attention logit by block",
    } <= charts(page).keys()
