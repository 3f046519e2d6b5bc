"""Mixing and depth attention, against numpy on the weights and streams of the same pass."""

from functools import reduce

import numpy as np
import pytest
import torch

from exhibits.instruments.connections.measure import connections
from exhibits.instruments.connections.numbers import HEAD, attention_sentence, mixing_sentence, readers, sources
from exhibits.instruments.connections.page import attention_map
from models.nets.hooks import forward_hooks
from models.spec import RunConfig, plan
from models.spec.vocabulary import MANY_STREAMS
from tests import hand
from tests.app_page import charts, words
from tests.drawn import drawn
from tests.instruments.nets import NETS, opened, still_at

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TINY = {"depth": 3, "width": 16, "batch": 8, "steps": 20, "lr": 0.1, "device": "cpu"}
both_nets = pytest.mark.parametrize("net", NETS)


def measured(step=0, **fields):
    cfg = RunConfig(**TINY | fields)
    return cfg, connections(still_at(cfg, step))


def read_by(cfg, step, kind):
    """Modules of a kind in forward order with what each read, by name of its parameters, in numpy."""
    snapshot, found = still_at(cfg, step), []
    parts = [part for part in snapshot.model.modules() if hasattr(part, kind)]
    with torch.no_grad(), forward_hooks((part, lambda m, args, _: found.append((m, args[0]))) for part in parts):
        snapshot.model(snapshot.batch()[0])
    return [
        ({name: p.detach().double().numpy() for name, p in part.named_parameters()}, read.double().numpy())
        for part, read in found
    ]


def gains(products):
    """Largest row sum and largest column sum of absolute entries: the norms of order infinity and 1."""
    return [np.mean([np.linalg.norm(product, order) for product in products]) for order in (np.inf, 1)]


@both_nets
@pytest.mark.parametrize("streams", [2, 4])
def test_static_mixing_and_its_gains_are_numpys(streams, net):
    cfg, found = measured(4, stack="hyper-connections", streams=streams, mixing_noise=0.3, **NETS[net])
    matrices = [parts["alpha"].reshape(1 + streams, streams)[1:] for parts, _ in read_by(cfg, 4, "alpha")]
    assert len(matrices) == cfg.sublayers
    np.testing.assert_allclose(found.mixing, matrices, rtol=1e-6)
    for row in range(cfg.sublayers):
        product = reduce(lambda product, matrix: matrix @ product, matrices[: row + 1])
        np.testing.assert_allclose(found.product[row], product, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose((found.forward[row], found.backward[row]), gains([product]), rtol=1e-6)


def test_dynamic_gains_are_means_over_tokens():
    cfg, found = measured(9, stack="dynamic hyper-connections", streams=2, mixing_noise=0.3, **NETS["transformer"])
    products = 1.0
    for row, (parts, h) in enumerate(read_by(cfg, 9, "alpha")):
        normed = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + cfg.eps)
        shifts = parts["alpha_scale"] * np.tanh(normed @ parts["to_alpha"])  # (B, T, n, 1 + n)
        mixing = parts["alpha"].reshape(3, 2)[1:] + np.swapaxes(shifts[..., 1:], -1, -2)
        products = mixing.reshape(-1, 2, 2) @ products if row else mixing.reshape(-1, 2, 2)
        np.testing.assert_allclose(found.mixing[row], mixing.mean((0, 1)), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.product[row], products.mean(0), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose((found.forward[row], found.backward[row]), gains(products), rtol=1e-4)
    assert np.ptp(products, 0).max() > 0, "the tokens mix alike: their mean shows nothing"


@both_nets
def test_product_of_mhc_keeps_a_gain_of_one(net):
    snapshot = still_at(RunConfig(**TINY | {"stack": "mHC", "depth": 12, "sinkhorn": 40} | NETS[net]))
    hand.randomise(snapshot.model).float()
    found = connections(snapshot)
    assert (found.mixing > 0).all()
    assert np.abs(found.mixing - np.eye(4)).max() > 0.1
    for matrices, axis in ((found.mixing, 1), (found.product, 1), (found.product, 2)):
        np.testing.assert_allclose(matrices.sum(axis), 1, atol=1e-3)
    np.testing.assert_allclose((found.forward, found.backward), 1, atol=1e-3)


@pytest.mark.parametrize("streams", [2, 3, 4])
@pytest.mark.parametrize("stack", MANY_STREAMS)
def test_every_mixing_starts_as_the_identity(stack, streams):
    cfg, found = measured(stack=stack, streams=streams)
    np.testing.assert_allclose(found.mixing, [np.eye(streams)] * 3, atol=2e-3)
    np.testing.assert_allclose((found.forward, found.backward), 1, atol=1e-2)
    sentence = mixing_sentence(plan(cfg).branches, found.product, found.forward, found.backward)
    assert ("neither grows" if stack == "mHC" else "No sublayer mixes the streams") in sentence
    assert not found.attention.size


def test_a_block_taken_out_mixes_nothing():
    _, found = measured(stack="hyper-connections", mixing_noise=0.3, overrides=((2, "identity", True),))
    assert (found.mixing[1] == np.eye(4)).all()
    assert (found.product[1] == found.product[0]).all()
    _, without = measured(stack="mHC", overrides=tuple((block, "identity", True) for block in (1, 2, 3)))
    assert (without.product == np.eye(4)).all()


@both_nets
def test_shares_are_numpys_softmax_and_sum_to_one(net):
    cfg, found = measured(9, stack="attention residuals", **NETS[net])
    read = read_by(cfg, 9, "query")
    assert len(read) == len(found.attention) == cfg.sublayers
    for row, (parts, v) in enumerate(read):
        keys = v / np.sqrt((v**2).mean(-1, keepdims=True) + cfg.eps)
        weights = np.exp((keys * parts["query"]).sum(-1))
        shares = (weights / weights.sum(0)).mean((1, 2))
        np.testing.assert_allclose(found.attention[row, : row + 2], shares, rtol=1e-4)
        assert not found.attention[row, row + 2 :].any()
    np.testing.assert_allclose(found.attention.sum(1), 1, rtol=1e-5)
    assert not found.mixing.size


def test_depth_attention_starts_as_a_mean():
    cfg, found = measured(stack="attention residuals")
    np.testing.assert_allclose(found.attention, np.tri(3, 4, 1) / np.arange(2, 5)[:, None], rtol=1e-6)
    assert "equal shares" in attention_sentence(cfg, found.attention)


def test_sums_are_read_as_one_output():
    cfg, found = measured(9, stack="attention residuals", depth_block=2)
    assert list(sources(cfg)) == ["the input", "block 1 to block 2", "block 3"]
    assert found.attention.shape == (3, 3)
    np.testing.assert_allclose(found.attention.sum(1), 1, rtol=1e-5)
    (shade,) = drawn(attention_map(cfg, found.attention))["data"]
    assert [row.count(None) for row in shade["z"]] == [1, 1, 0]


def test_what_was_taken_out_is_not_read():
    fields = {"stack": "attention residuals", "overrides": ((2, "identity", True),)}
    cfg, found = measured(9, **fields)
    assert (list(sources(cfg)), list(readers(cfg))) == (["the input", "block 1", "block 3"], ["block 3", HEAD])
    np.testing.assert_allclose(found.attention.sum(1), 1, rtol=1e-5)
    empty, found = measured(**fields | {"overrides": tuple((block, "identity", True) for block in (1, 2, 3))})
    assert "nothing attends" in attention_sentence(empty, found.attention)
    assert not readers(empty)


@pytest.mark.parametrize(("gain", "outcome"), [((1, 1), "neither"), ((2, 1), "signal of a"), ((1, 2), "gradient of a")])
def test_what_grows_is_said_by_its_gain(gain, outcome):
    product = np.full((1, 2, 2), 0.5)
    sentence = mixing_sentence(("b01",), product, np.array([gain[0]]), np.array([gain[1]]))
    assert sentence.startswith(f"From the input to block 1 the mixing of the streams has a gain of {gain[0]}")
    assert outcome in sentence
    assert "not finite" in mixing_sentence(("b01",), product, np.array([np.nan]), np.ones(1))


def test_least_even_reader_and_head_are_named():
    cfg = RunConfig(**TINY | {"stack": "attention residuals"})
    shares = np.array([[0.5, 0.5, 0, 0], [0.1, 0.8, 0.1, 0], [0.2, 0.2, 0.2, 0.4]])
    assert attention_sentence(cfg, shares) == (
        "The shares are least even for block 3: 80% is block 1, and an equal share would be 33%. Of what the head reads, "
        "40% is block 3, and 20% the input."
    )
    assert "not finite" in attention_sentence(cfg, shares * np.nan)


@pytest.mark.parametrize("stack", ["hyper-connections", "mHC"])
def test_the_panel_of_streams_draws_matrices_and_gains(stack):
    page = opened("Streams and depth attention", stack=stack, streams="2", mixing_noise="0.3")
    assert "From the input to block 4 the mixing of the streams has a gain of" in words(page)
    found = charts(page)
    assert {"Mixing of the streams by depth", "Gain of the product by depth"} <= found.keys()
    for name in ("Mixing", "Product from the input on"):
        assert len(drawn(found[name])["data"][0]["z"]) == 2
    assert len(drawn(found["Mixing of the streams by depth"])["data"][0]["z"]) == 4


def test_the_panel_of_depth_attention_draws_a_map():
    page = opened("Streams and depth attention", stack="attention residuals")
    assert "equal shares of all earlier outputs" in words(page)
    (shade,) = drawn(charts(page)["Attention over depth"])["data"]
    assert [row.count(None) for row in shade["z"]] == [3, 2, 1, 0]


def test_a_single_stream_is_told_which_nets_fit():
    assert "This is for nets with several streams" in words(opened("Streams and depth attention"))
