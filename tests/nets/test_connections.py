"""Streams joined by connections, and attention over depth, against the papers' formulas written as sums over streams."""

import numpy as np
import pytest
import torch

from addnorm.probe import probe_outputs
from models.nets import build_model
from models.nets.connections import DynamicHyperConnection, ManifoldConnection, sinkhorn
from models.spec import RunConfig
from models.spec.vocabulary import MANY_STREAMS
from models.training import Run
from tests import hand

MLP = {"net": "mlp", "width": 8, "eps": hand.EPS, "expansion": 2, "depth": 3}
NETS = {"mlp": MLP, "transformer": MLP | {"net": "transformer", "heads": 2}}
both_nets = pytest.mark.parametrize("net", NETS)


def stack(name: str, net: str = "mlp", **fields):
    """The stack of an arrangement with all its numbers far from their start."""
    model = hand.randomise(build_model(RunConfig.arranged(name, **(NETS[net] | fields))))
    source = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith(("to_alpha", "to_beta", "phi")):
                parameter.copy_(torch.randn(parameter.shape, generator=source, dtype=torch.float64))
    return model.stream


def branch(x, module):
    kind = "attention" if hasattr(module.function, "w_o") else "two layers"
    return hand.sublayer(x, module, kind, placement="pre-norm", norm="layer norm", residual=False)


def static(connection, h):
    """Weights of the read (n), the mixing by the stream that it makes (n, n), and the write (n): (B, T, 1) each."""
    n = len(h)
    rows = connection.alpha.reshape(1 + n, n)
    return list(rows[0]), [list(row) for row in rows[1:]], list(connection.beta)


def dynamic(connection, h):
    read, mix, write = static(connection, h)
    for s, one in enumerate(h):
        mean = one.mean(-1, keepdim=True)
        normed = (one - mean) / (((one - mean) ** 2).mean(-1, keepdim=True) + hand.EPS) ** 0.5
        shifts = connection.alpha_scale * hand.tanh(normed @ connection.to_alpha)
        read[s] = read[s] + shifts[..., :1]
        for t in range(len(h)):
            mix[t][s] = mix[t][s] + shifts[..., 1 + t, None]
        write[s] = write[s] + connection.beta_scale * hand.tanh(normed @ connection.to_beta)
    return read, mix, write


def manifold(connection, h):
    n, flat = len(h), torch.cat(h, -1)
    numbers = (flat / ((flat**2).mean(-1, keepdim=True) + hand.EPS) ** 0.5) @ connection.phi
    a, b = connection.gate, connection.offset
    p = [a[0] * numbers[..., s, None] + b[s] for s in range(n)]
    q = [a[1] * numbers[..., n + s, None] + b[n + s] for s in range(n)]
    r = [[a[2] * numbers[..., 2 * n + t * n + s, None] + b[2 * n + t * n + s] for s in range(n)] for t in range(n)]
    mix = [[torch.exp(one) for one in row] for row in r]
    for _ in range(connection.iterations):
        columns = [sum(mix[t][s] for t in range(n)) for s in range(n)]
        mix = [[mix[t][s] / columns[s] for s in range(n)] for t in range(n)]
        mix = [[one / sum(row) for one in row] for row in mix]
    return [hand.sigmoid(one) for one in p], mix, [2 * hand.sigmoid(one) for one in q]


WEIGHTS = {"hyper-connections": static, "dynamic hyper-connections": dynamic, "mHC": manifold}


def connected(h, module, weights):
    """Every stream after a sublayer, from those before it."""
    read, mix, write = weights(module.connection, h)
    out = branch(sum(w * one for w, one in zip(read, h, strict=True)), module)
    return [
        sum(w * one for w, one in zip(row, h, strict=True)) + beta * out for row, beta in zip(mix, write, strict=True)
    ]


@both_nets
@pytest.mark.parametrize("streams", [2, 4])
@pytest.mark.parametrize("name", WEIGHTS)
def test_every_sublayer_reads_mixes_and_writes_the_streams(name, streams, net):
    net = stack(name, net, streams=streams, sinkhorn=3)
    h = [hand.stream_of()] * streams
    for module in net.sublayers:
        h = connected(h, module, WEIGHTS[name])
    hand.assert_close(net(hand.stream_of()), sum(h))


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_site_is_the_streams_mean_with_their_summed_gradient(name):
    net, x = stack(name), hand.stream_of().requires_grad_()
    with probe_outputs(net.stream_taps, gradients=True) as probe:
        net(x).square().sum().backward()
        points, grads = probe.tensors(), probe.grads()
    h, sites = [x] * 4, []
    for module in net.sublayers:
        h = connected(h, module, WEIGHTS[name])
        for one in h:
            one.retain_grad()
        sites.append(h)
    sum(h).square().sum().backward()
    for point, grad, streams in zip(points[1:], grads[1:], sites, strict=True):
        hand.assert_close(point, sum(streams) / 4)
        hand.assert_close(grad, sum(one.grad for one in streams))


@both_nets
@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_sublayer_attends_over_earlier_sums(size, net):
    """2603.15031, equations 2 to 6; a sum of one branch is the full form."""
    net = stack("attention residuals", net, depth=3, depth_block=size)
    x = hand.stream_of()
    branches, start = [], x
    for module, read in zip(net.sublayers, net.reads, strict=True):
        branches.append(branch(x, module))
        outputs = [start, *(sum(branches[at : at + size]) for at in range(0, len(branches), size))]
        keys = [v / ((v**2).mean(-1, keepdim=True) + hand.EPS) ** 0.5 for v in outputs]
        weights = [torch.exp((key * read.query).sum(-1, keepdim=True)) for key in keys]
        x = sum(weight * v for weight, v in zip(weights, outputs, strict=True)) / sum(weights)
    hand.assert_close(net(hand.stream_of()), x)


# 2 streams of 3 features and 2 tokens through f(x) = 2x + 1, by the code of mhc-lite (github.com/FFTYYY/mhc-lite,
# which has both), its RMSNorm exchanged for a layer norm in the first, its residual logits at 0 in the second.
PUBLISHED = {
    "DHC": "1.20160332 .98051043 .77583584 -.27598773 -.64175024 .22889588 -.47243928 -2.26223818 -.54151741 -.30306685 "
    "-.90080478 -.35647778",
    "mHC": ".07970565 -.08156657 .14974076 .89701736 .52365481 1.09358331 .37759332 .12151422 .20750042 .94840861 "
    ".12839213 .6956522",
}


@pytest.mark.parametrize("name", PUBLISHED)
@torch.no_grad()
def test_a_published_implementation_gives_the_same_numbers(name):
    h = torch.arange(1.0, 13, dtype=torch.float64).sin().reshape(1, 2, 2, 3)
    numbers = torch.arange(48.0, dtype=torch.float64).cos()
    if name == "DHC":
        connection = DynamicHyperConnection(2, 1, 3, 1e-5).double()
        weights = numbers[:12].reshape(3, 4)
        values = {"to_alpha": weights[:, :3], "to_beta": weights[:, 3:], "alpha_scale": 0.5, "beta_scale": 0.7}
    else:
        connection = ManifoldConnection(2, 1, 3, 0.0, 40).double()
        offset = torch.tensor([-1.0, 1, -1, 1, 0, 0, 0, 0])
        values = {"phi": numbers.reshape(6, 8), "gate": torch.tensor([0.5, 0.7, 0.9]), "offset": offset}
    for parameter, value in values.items():
        getattr(connection, parameter).copy_(torch.as_tensor(value, dtype=torch.float64))
    x, mixed, beta = connection(h)
    found = mixed + beta * (2 * x + 1).unsqueeze(-2)
    expected = torch.tensor([float(number) for number in PUBLISHED[name].split()], dtype=torch.float64)
    hand.assert_close(found.flatten(), expected, tolerance=1e-7)


def first_row(**fields):
    run = Run(RunConfig(depth=8, width=32, steps=1, device="cpu", **fields), frames=False)
    run.advance(1)
    trace = run.trace()
    return [getattr(trace, name)[0] for name in ("loss", "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")]


@pytest.mark.parametrize("streams", [2, 3, 4])
@pytest.mark.parametrize("name", MANY_STREAMS)
def test_streams_start_as_the_pre_norm_net(name, streams):
    for found, expected in zip(first_row(stack=name, streams=streams), first_row(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_attention_over_depth_starts_as_the_mean():
    net = build_model(RunConfig.arranged("attention residuals", **MLP)).stream.double()
    x = hand.stream_of()
    outputs = [x]
    for module in net.sublayers:
        outputs.append(branch(sum(outputs) / len(outputs), module))
    hand.assert_close(net(x), sum(outputs) / len(outputs))


def test_sinkhorn_of_two_streams_has_a_closed_form():
    (a, b), (c, d) = logits = torch.tensor([[0.3, -1.2], [2.0, 0.7]], dtype=torch.float64)
    kept = torch.exp((a + d) / 2) / (torch.exp((a + d) / 2) + torch.exp((b + c) / 2))
    expected = torch.stack((torch.stack((kept, 1 - kept)), torch.stack((1 - kept, kept))))
    hand.assert_close(sinkhorn(logits, 40), expected)


def test_only_sinkhorn_keeps_a_product_of_mixings_at_one():
    gains = {}
    for name, iterations in (("hyper-connections", 20), ("mHC", 0), ("mHC", 20)):
        fields = {"depth": 64, "mixing_noise": 0.3, "sinkhorn": iterations}
        net = build_model(RunConfig(stack=name, width=8, **fields)).stream
        product, h = torch.eye(4), torch.randn(1, 1, 4, 8)
        for module in net.sublayers:
            product = module.connection.weights(h)[0][..., 1:, :].reshape(4, 4) @ product
        gains[name, iterations] = product.abs().sum(1).max().item()
    assert gains["mHC", 20] == pytest.approx(1, abs=1e-5)
    assert gains["mHC", 0] > 10
    assert gains["hyper-connections", 20] > 10


def test_noise_moves_the_mixing_and_nothing_else():
    quiet, noisy = (build_model(RunConfig(stack="mHC", **MLP, mixing_noise=noise)) for noise in (0.0, 0.3))
    moved = noisy.state_dict()
    for name, before in quiet.state_dict().items():
        change = (moved[name] - before).abs()
        if name.endswith("offset"):
            assert change[:8].max() == 0
            assert 0.1 < change[8:].square().mean().sqrt() < 0.6
        else:
            assert change.max() == 0, name


def test_weight_decay_leaves_static_connections_alone():
    connections = [
        p
        for name, p in build_model(RunConfig(stack="hyper-connections", **MLP)).named_parameters()
        if "connection" in name
    ]
    assert {p.ndim for p in connections} == {1}
