"""Whole nets: identity at the start, causality, gradients, embeddings; and every arrangement trains with both nets."""

import pytest
import torch
from torch import Tensor

from models.nets import ACTIVATIONS, INITS, NORMS, STACKS, build_model, count_parameters
from models.spec import ARRANGEMENTS, NETS, POSITIONS, TASKS, RunConfig
from models.spec import vocabulary as words
from models.tasks import DATASETS, open_task
from models.training import OPTIMIZERS, Run, cross_entropy
from tests import hand

both_nets = pytest.mark.parametrize("net", NETS)
every_arrangement = pytest.mark.parametrize("name", ARRANGEMENTS)


def test_every_word_has_its_module_and_every_module_its_word():
    for described, built in (
        (words.NORMS, NORMS),
        (words.ACTIVATIONS, ACTIVATIONS),
        (words.INITS, INITS),
        (words.OPTIMIZERS, OPTIMIZERS),
        (words.STACKS, STACKS),
        (TASKS, DATASETS),
    ):
        assert list(described) == list(built)


@both_nets
@every_arrangement
def test_every_arrangement_builds_and_trains(name, net):
    run = Run(RunConfig.arranged(name, net=net, depth=4, width=16, steps=3, batch=8, lr=1e-3), frames=False)
    before = {key: p.detach().clone() for key, p in run.model.named_parameters()}
    assert run.advance(3) == 3
    assert run.divergence is None
    trace = run.trace()
    assert all(getattr(trace, series).all() for series in ("loss", "act_rms", "grad_rms"))
    # A key's bias shifts all scores of a row alike: softmax forgets it, and its gradient is rounding.
    still = [
        key for key, p in run.model.named_parameters() if torch.equal(p, before[key]) and not key.endswith("w_k.bias")
    ]
    assert still == []


# --- identity at the start ---


@both_nets
@pytest.mark.parametrize(
    "fields",
    [
        {"norm": "none", "branch_scale": "zero gate"},
        {"norm": "layer norm", "placement": "pre-norm", "branch_scale": "zero gate"},
        {"norm": "none", "init": "zero last"},
        {"norm": "layer norm", "placement": "pre-norm", "init": "zero last"},
    ],
    ids=["ReZero", "pre-norm with a zero gate", "zero last", "pre-norm, zero last"],
)
def test_a_net_whose_branches_start_at_zero_is_the_identity_bit_for_bit(fields, net):
    stream = build_model(RunConfig(net=net, depth=6, width=16, **fields)).stream
    x = hand.stream_of(width=16).float()
    assert torch.equal(stream(x), x)


def test_with_a_zero_gate_only_the_gates_learn_at_step_0():
    """No branch weight receives a gradient yet (reference sheet D17); the gates, the embedding and the head do."""
    model = build_model(RunConfig.arranged("ReZero", depth=3, width=16))
    x, y = open_task(RunConfig(depth=3, width=16), "cpu").batch(0)
    cross_entropy(model(x), y).backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad.abs().max() > 0) == (".function." not in name), name


# --- causality ---


def gradient_at_tokens(cfg: RunConfig, token: int) -> Tensor:
    """The largest gradient (T,) that the loss of one token sends to each position of the stream's start."""
    model = hand.randomise(build_model(cfg))
    x = hand.stream_of(batch=2, tokens=6, width=cfg.width).requires_grad_()
    logits = model.read_out(model.stream(x))[:, token]
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 3])).backward()
    return x.grad.abs().amax((0, 2))


def small_transformer(name: str, **fields) -> RunConfig:
    return RunConfig.arranged(
        name, net="transformer", depth=2, width=8, heads=2, expansion=2, activation="gelu", **fields
    )


@every_arrangement
@pytest.mark.parametrize("token", [0, 3])
def test_one_tokens_loss_sends_exactly_nothing_to_later_tokens(name, token):
    reach = gradient_at_tokens(small_transformer(name), token)
    assert (reach[: token + 1] > 0).all()
    assert (reach[token + 1 :] == 0).all()


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm != "batch norm"])
@pytest.mark.parametrize("position", POSITIONS)
def test_neither_norm_nor_position_lets_the_future_in(norm, position):
    reach = gradient_at_tokens(small_transformer("sandwich", norm=norm, position=position, qk_norm=True), 3)
    assert (reach[:4] > 0).all()
    assert (reach[4:] == 0).all()


def test_without_a_mask_and_with_batch_norm_the_future_does_come_in():
    """So the two tests above can fail; the page warns of both."""
    for fields in ({"mask": "none"}, {"norm": "batch norm"}):
        assert (gradient_at_tokens(small_transformer("pre-norm", **fields), 3) > 0).all()


def test_an_mlp_looks_at_no_other_token_at_all():
    reach = gradient_at_tokens(RunConfig(depth=2, width=8), 3)
    assert reach[3] > 0
    assert reach.count_nonzero() == 1


@both_nets
def test_positions_tell_the_tokens_apart_only_where_there_are_positions(net):
    for position in POSITIONS:
        cfg = RunConfig(net=net, task="copy", depth=1, width=16, position=position, mask="none", heads=2)
        model = hand.randomise(build_model(cfg))
        same = torch.full((1, 8), 3)
        logits = model(same)[0]
        alike = torch.allclose(logits, logits[:1].expand_as(logits))
        # What attention alone knows of chooses among tokens; where all tokens are alike there is nothing to tell apart.
        assert alike == (net == "mlp" or position not in ("sinusoidal", "learned")), position


def test_positions_inside_attention_tell_an_order_from_its_reverse():
    told = {}
    for position in ("none", "rotary", "relative bias", "alibi"):
        cfg = RunConfig(net="transformer", task="copy", depth=1, width=16, position=position, mask="none", heads=2)
        model = hand.randomise(build_model(cfg))
        order = torch.tensor([[1, 2, 3, 4, 5, 6]])
        told[position] = not torch.allclose(model(order)[0], model(order.flip(1))[0].flip(0))
    # Without a mask ALiBi's distance is the same on both sides.
    assert told == {"none": False, "rotary": True, "relative bias": True, "alibi": False}


# --- gradients ---

DIFFERENTIABLE = {
    "sandwich": {},
    "post-norm": {"skip_scale": 1.3, "norm": "rms norm"},
    "pre-norm": {"norm": "batch norm", "input_scale": "1/sqrt(block)"},
    "res-post-norm": {"norm": "dynamic tanh", "qk_norm": True, "position": "rotary"},
    "ReZero": {"position": "alibi"},
    "LayerScale": {"mask": "none", "position": "relative bias"},
    "plain + norm": {},
    "ResiDual": {},
    "DLCL": {},
    "hyper-connections": {"streams": 2},
    "dynamic hyper-connections": {"streams": 3},
    "mHC": {"sinkhorn": 2},
    "attention residuals": {"depth_block": 2},
    "recursive skip": {},
}


@both_nets
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_finite_differences(name, net):
    """In float64, along three random directions through all parameters and the input at once."""
    cfg = RunConfig.arranged(
        name,
        net=net,
        task="copy",
        **({"depth": 2, "width": 8, "heads": 2, "activation": "tanh"} | DIFFERENTIABLE[name]),
    )
    model = hand.randomise(build_model(cfg))
    x = hand.stream_of(batch=2, tokens=4).requires_grad_()
    y = torch.tensor([[0, 5, 9, 15], [1, 2, 2, 3]])
    points = [x, *model.stream.parameters(), *model.final_norm.parameters(), *model.head.parameters()]

    def loss() -> Tensor:
        return cross_entropy(model.read_out(model.stream(x)), y)

    gradients = torch.autograd.grad(loss(), points)
    for seed in range(3):
        source = torch.Generator().manual_seed(seed)
        directions = [torch.randn(p.shape, generator=source, dtype=torch.float64) for p in points]
        slope = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True)).item()
        step, ends = 1e-5, []
        for sign in (1, -1):
            with torch.no_grad():
                moved = [p.add_(sign * step * d) for p, d in zip(points, directions, strict=True)]
                ends.append(loss().item())
                for p, d in zip(moved, directions, strict=True):
                    p.sub_(sign * step * d)
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-8)


# --- from the task to the stream ---


@both_nets
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("task", TASKS)
def test_every_task_starts_as_a_stream_of_unit_mean_square(task, position, net):
    cfg = RunConfig(net=net, task=task, depth=1, position=position, batch=256)
    model = build_model(cfg)
    x, y = open_task(cfg, "cpu").batch(0)
    stream = model.position(model.embed(x))
    assert stream.shape == (256, cfg.tokens, cfg.width)
    assert stream.square().mean().item() == pytest.approx(1.0, rel=0.1)
    assert model(x).shape == (*y.shape, TASKS[task].classes)


@both_nets
@pytest.mark.parametrize("task", TASKS)
def test_every_net_takes_every_task_and_starts_near_the_cost_of_guessing(task, net):
    run = Run(RunConfig(net=net, task=task, depth=2, width=16, steps=3), frames=False)
    run.advance(3)
    guessing = torch.tensor(float(TASKS[task].classes)).log().item()
    assert run.divergence is None
    assert 0.5 * guessing < run.trace().loss[0] < 2 * guessing + 0.5


def test_the_loss_is_taken_over_the_targets_that_count():
    logits = hand.stream_of(batch=2, tokens=3, width=4)
    y = torch.tensor([[-100, 1, 2], [-100, -100, 0]])
    shares = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    expected = -(shares[0, 1, 1].log() + shares[0, 2, 2].log() + shares[1, 2, 0].log()) / 3
    hand.assert_close(cross_entropy(logits, y), expected)


def test_parameters_are_counted_by_hand():
    d, h = 8, 24
    block = 2 * d * h + h + d + 2 * d  # two matrices, their biases, one layer norm
    cfg = RunConfig(depth=3, width=d, expansion=3)
    assert count_parameters(build_model(cfg)) == (64 * d + d) + 3 * block + 2 * d + (10 * d + 10)
    bare = RunConfig(depth=3, width=d, expansion=3, affine=False)
    assert count_parameters(build_model(bare)) == count_parameters(build_model(cfg)) - 4 * 2 * d
