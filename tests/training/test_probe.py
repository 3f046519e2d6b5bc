"""What is watched is what happened: rows against autograd by hand, nothing waits for the device, nothing is disturbed."""

import copy
import math
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from addnorm.cosine import mean_cosines
from addnorm.probe import MAX_STACKED_NUMBERS
from addnorm.probe import norms_in as norms
from models.nets import build_model
from models.spec import ARRANGEMENTS, OPTIMIZERS, RunConfig
from models.training import Run
from models.training.rows import group_norms

SMALL = {"depth": 3, "width": 16, "batch": 8, "steps": 24}
TRANSFORMER = {"net": "transformer", "task": "copy", "optimizer": "adam", "lr": 1e-3}
both_nets = pytest.mark.parametrize("net", [{}, TRANSFORMER], ids=["mlp", "transformer"])


# --- watching changes nothing ---


@both_nets
@pytest.mark.parametrize("clip", [0.0, 0.1], ids=["no clip", "clip"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_probe_on_and_off_give_equal_losses_and_weights_bit_for_bit(optimizer, clip, net):
    cfg = RunConfig(**(SMALL | net | {"optimizer": optimizer, "clip": clip, "steps": 6}))
    watched, bare = Run(cfg), Run(cfg, probe=False, frames=False)
    watched.advance(6)
    bare.advance(6)
    assert watched.trace().loss.tobytes() == bare.trace().loss.tobytes()
    for name, value in watched.model.state_dict().items():
        assert torch.equal(value, bare.model.state_dict()[name]), name


def test_a_probe_that_is_off_watches_nothing():
    run = Run(RunConfig(**SMALL), probe=False)
    run.advance(2)
    assert (run.trace().act_rms == 0).all()
    assert not any(getattr(module, "listener", None) for module in run.model.modules())


# --- rows against autograd by hand ---


def rms(*tensors: torch.Tensor) -> float:
    """The root mean square over all numbers of some tensors."""
    squares = sum(t.detach().double().square().sum().item() for t in tensors)
    return math.sqrt(squares / sum(t.numel() for t in tensors))


def row_by_hand(run: Run) -> dict[str, np.ndarray]:
    """What the next row must hold: a forward pass site by site on a copy of the net, then `torch.autograd.grad`."""
    model = copy.deepcopy(run.model)
    x, y = run.next_batch()
    stream = model.position(model.embed(x))
    sites, branches = [stream], []
    for sublayer in model.stream.sublayers:
        branches.append(sublayer.branch(stream))
        stream = sublayer.add(stream, branches[-1])
        sites.append(stream)
    logits = model.read_out(stream).flatten(0, 1)
    counted = y.flatten() != -100
    chosen = logits.log_softmax(-1)[counted].gather(1, y.flatten()[counted][:, None])
    loss = -chosen.mean()
    matrices = [[p for p in block.parameters() if p.ndim > 1] for block in model.stream.blocks.values()]
    grads = torch.autograd.grad(loss, [*sites, *(p for block in matrices for p in block), *model.parameters()])
    at_sites, rest = grads[: len(sites)], list(grads[len(sites) :])
    by_block = [[rest.pop(0) for _ in block] for block in matrices]
    return {
        "loss": np.array(loss.item()),
        "grad_norm": np.array(math.sqrt(sum(g.double().square().sum().item() for g in rest))),
        "act_rms": np.array([rms(t) for t in sites]),
        "grad_rms": np.array([rms(g) for g in at_sites]),
        "branch_rms": np.array([rms(t) for t in branches]),
        "weight_grad_rms": np.array([rms(*block) for block in by_block]),
    }


SINGLE_STREAM = [name for name in ARRANGEMENTS if RunConfig.arranged(name).stack == "single"]


@both_nets
@pytest.mark.parametrize("name", SINGLE_STREAM)
def test_a_row_holds_the_rms_that_autograd_gives_by_hand(name, net):
    run = Run(RunConfig.arranged(name, **(SMALL | net | {"lr": 1e-3})))
    run.advance(3)
    expected = row_by_hand(run)
    run.advance(1)
    for series, numbers in expected.items():
        np.testing.assert_allclose(getattr(run.trace(), series)[3], numbers, rtol=2e-5, err_msg=series)


@pytest.mark.parametrize("width", [16, 96])
def test_rows_are_the_same_numbers_whether_tensors_are_stacked_or_not(width):
    """Small tensors are stacked before their norm is taken, large ones are not: width 96 and batch 256 are large."""
    run = Run(RunConfig(depth=2, width=width, expansion=2, batch=256, steps=1))
    assert (256 * width > MAX_STACKED_NUMBERS) == (width == 96)
    expected = row_by_hand(run)
    run.advance(1)
    for series, numbers in expected.items():
        np.testing.assert_allclose(getattr(run.trace(), series)[0], numbers, rtol=2e-5, err_msg=series)


def test_gradients_are_recorded_before_clipping_and_the_factor_beside_them():
    raw, clipped = (Run(RunConfig(**SMALL, clip=clip)) for clip in (0.0, 0.01))
    raw.advance(1)
    clipped.advance(1)
    for series in ("grad_norm", "grad_rms", "weight_grad_rms"):
        assert getattr(raw.trace(), series).tobytes() == getattr(clipped.trace(), series).tobytes()
    assert raw.trace().clip_factor[0] == 1
    assert clipped.trace().clip_factor[0] == pytest.approx(0.01 / raw.trace().grad_norm[0], rel=1e-4)
    moved = [
        rms(*(new - old for new, old in zip(run.model.parameters(), build_model(run.cfg).parameters(), strict=True)))
        for run in (raw, clipped)
    ]
    assert moved[1] / moved[0] == pytest.approx(clipped.trace().clip_factor[0], rel=1e-3)


def test_a_gradient_shorter_than_the_clip_is_left_alone():
    run = Run(RunConfig(**SMALL, clip=1000.0))
    run.advance(3)
    assert (run.trace().clip_factor == 1).all()


def test_a_block_without_weights_has_no_weight_gradient_and_the_others_keep_their_places():
    run = Run(RunConfig(**SMALL, overrides=((2, "identity", True),)), frames=False)
    run.advance(1)
    trace = run.trace()
    assert (trace.weight_grad_rms[0] > 0).tolist() == [True, False, True]
    assert trace.branch_rms[0, 1] == 0
    assert trace.act_rms[0, 1] == trace.act_rms[0, 2]
    assert trace.grad_rms[0, 1] == trace.grad_rms[0, 2]
    middle = [p for p in run.model.stream.blocks["b03"].parameters() if p.ndim > 1]
    assert trace.weight_grad_rms[0, 2] == pytest.approx(rms(*(p.grad for p in middle)), rel=1e-4)


# --- the range of numbers ---


@pytest.mark.parametrize("size", [1e-35, 1e-25, 1.0, 1e25, 1e37])
@pytest.mark.parametrize("numel", [64, MAX_STACKED_NUMBERS + 1])
def test_norms_do_not_leave_the_range_where_their_squares_would(size, numel):
    """Squares of 1e-25 and 1e25 are 0 and infinity in float32."""
    tensors = [torch.full((numel,), size), torch.full((numel,), -2 * size)]
    expected = [size * math.sqrt(numel), 2 * size * math.sqrt(numel)]
    np.testing.assert_allclose(norms(tensors, torch.float64), expected, rtol=1e-5)
    np.testing.assert_allclose(group_norms(tensors, [2], torch.float64), [math.hypot(*expected)], rtol=1e-5)


@pytest.mark.parametrize(("gain", "far"), [(0.03, -20), (9.0, 20)], ids=["tiny", "huge"])
def test_tiny_and_huge_activations_and_gradients_are_recorded_as_they_are(gain, far):
    """A plain net of twelve blocks takes the stream twenty decades down or up, and the gradient on its way back."""
    cfg = RunConfig.arranged("plain", depth=12, width=64, init_gain=gain, steps=1, batch=8)
    run = Run(cfg)
    in_float64 = copy.deepcopy(run)
    in_float64.model.double()
    x, y = run.next_batch()
    stream = in_float64.model.embed(x.double())
    sites = [stream]
    for sublayer in in_float64.model.stream.sublayers:
        sites.append(sublayer(sites[-1]))
    loss = torch.nn.functional.cross_entropy(in_float64.model.read_out(sites[-1])[:, 0], y[:, 0])
    grads = torch.autograd.grad(loss, sites)
    run.advance(1)
    trace = run.trace()
    assert run.divergence is None
    np.testing.assert_allclose(trace.act_rms[0], [rms(t) for t in sites], rtol=1e-3)
    np.testing.assert_allclose(trace.grad_rms[0], [rms(g) for g in grads], rtol=1e-3)
    assert math.log10(trace.act_rms[0, -1]) / far > 1
    assert math.log10(trace.grad_rms[0, 0] / trace.grad_rms[0, -1]) / far > 1


# --- frames ---


@both_nets
@pytest.mark.parametrize("step", [0, 4])
def test_update_to_weight_is_the_length_of_the_change_over_the_length_of_the_weights(step, net):
    run = Run(RunConfig(**(SMALL | net)))
    run.advance(step)
    before = copy.deepcopy(run.model)
    run.advance(1)
    expected = []
    for name, block in run.model.stream.blocks.items():
        pairs = [
            (old, new)
            for old, new in zip(before.stream.blocks[name].parameters(), block.parameters(), strict=True)
            if old.ndim > 1
        ]
        expected.append(rms(*(new - old for old, new in pairs)) / rms(*(old for old, _ in pairs)))
    (frame,) = [frame for frame in run.frames if frame.step == step]
    np.testing.assert_allclose(frame.update_to_weight, expected, rtol=1e-3)


def cosine_by_numpy(vectors: np.ndarray) -> float:
    """The mean over all pairs of different vectors (N, D), one after the other."""
    found = [
        np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)
        for i, a in enumerate(vectors)
        for j, b in enumerate(vectors)
        if i != j and np.linalg.norm(a) > 0 and np.linalg.norm(b) > 0
    ]
    return float(np.mean(found))


@both_nets
def test_sample_cosine_is_the_mean_cosine_between_different_tokens_at_every_site(net):
    run = Run(RunConfig(**(SMALL | net)))
    run.advance(4)
    model = copy.deepcopy(run.model)
    x = run.task.held_out[0][: 128 // run.cfg.tokens]
    with torch.no_grad():
        stream = model.position(model.embed(x))
        sites = [stream]
        for sublayer in model.stream.sublayers:
            sites.append(sublayer(sites[-1]))
    run.advance(1)
    (frame,) = [frame for frame in run.frames if frame.step == 4]
    expected = [cosine_by_numpy(site.flatten(0, 1).double().numpy()) for site in sites]
    np.testing.assert_allclose(frame.sample_cosine, expected, rtol=1e-4, atol=1e-6)


@both_nets
def test_dead_units_are_those_that_give_0_for_every_token_of_the_fixed_subset(net):
    cfg = RunConfig(**(SMALL | net | {"depth": 3, "overrides": ((2, "identity", True),)}))
    run = Run(cfg)
    run.advance(4)
    with torch.no_grad():
        (first,) = [part.w1 for part in run.model.stream.blocks["b03"].modules() if hasattr(part, "w1")]
        first.bias[:5] = -1e3
    model = copy.deepcopy(run.model)
    shares = {}

    def hidden(name):
        return lambda _module, inputs, _output: shares.update(
            {name: (inputs[0].clamp(min=0).flatten(0, -2) == 0).all(0).double().mean().item()}
        )

    for name, block in model.stream.blocks.items():
        for part in block.modules():
            if isinstance(part, torch.nn.ReLU):
                part.register_forward_hook(hidden(name))
    with torch.no_grad():
        model(run.task.held_out[0][: 128 // cfg.tokens])
    run.advance(1)
    (frame,) = [frame for frame in run.frames if frame.step == 4]
    np.testing.assert_allclose(frame.dead_units, [shares["b01"], np.nan, shares["b03"]], rtol=1e-6)
    assert 5 / len(first.bias) <= frame.dead_units[2] < 1


def test_one_vector_has_no_cosine_whatever_its_length_rounds_to():
    vectors = torch.randn(50, 1, 8, generator=torch.Generator().manual_seed(1))
    assert torch.isnan(mean_cosines(vectors)).all()


def test_mean_cosine_leaves_out_vectors_without_a_direction_and_knows_no_size():
    source = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 8, generator=source)
    for size in (1e-30, 1.0, 1e30):
        assert mean_cosines((size * x).flatten(0, 1)[None]).item() == pytest.approx(
            cosine_by_numpy(x.flatten(0, 1).double().numpy()), rel=1e-4
        )
    dead = x.clone()
    dead[1, 2] = 0
    assert mean_cosines(dead.flatten(0, 1)[None]).item() == pytest.approx(
        cosine_by_numpy(dead.flatten(0, 1).double().numpy()), rel=1e-4
    )
    assert mean_cosines(torch.ones(1, 6, 8)).item() == pytest.approx(1.0)
    assert math.isnan(mean_cosines(torch.zeros(1, 6, 8)).item())


# --- nothing waits for the device ---

# What torch must know on the host before it can go on, as operations and as calls.
OPERATIONS = (
    "_local_scalar_dense",
    "item",
    "nonzero",
    "equal",
    "is_nonzero",
    "masked_select",
    "_unique2",
    "unique_dim",
)
CALLS = ("item", "tolist", "numpy", "cpu", "__array__", "__bool__", "__float__", "__int__", "__index__")


class WaitingError(AssertionError):
    """Something read a number back from the device."""


class NoOperationWaits(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.__name__.partition(".")[0]
        within = [at for part in args if isinstance(part, list | tuple) for at in part if isinstance(at, torch.Tensor)]
        by_mask = name in ("index", "index_put_") and any(at.dtype == torch.bool for at in within)
        if name in OPERATIONS or by_mask:
            raise WaitingError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


class NoCallWaits(TorchFunctionMode):
    """On the CPU `tolist` and `numpy` read memory without any operation that the other guard would see."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in CALLS:
            raise WaitingError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


@contextmanager
def nothing_waits():
    """Fails at the first thing that would make the host wait for a GPU."""
    with NoCallWaits(), NoOperationWaits():
        yield


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: float(x.max()),
        lambda x: int(x.max()),
        lambda x: bool((x > 0).all()),
        lambda x: "positive" if x.sum() > 0 else "",
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x.tolist(),
        lambda x: x.cpu().numpy(),
        lambda x: list(range(x.max().long())),
        lambda x: math.sqrt(x.sum()),
    ],
    ids=["item", "float", "int", "bool", "if", "mask", "nonzero", "tolist", "numpy", "index", "math"],
)
def test_the_guard_catches_what_waits(read):
    x = torch.arange(4.0)
    read(x)
    with pytest.raises(WaitingError), nothing_waits():
        read(x)


@both_nets
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_nothing_in_a_training_step_waits_for_the_device(optimizer, net):
    run = Run(RunConfig(**(SMALL | net | {"optimizer": optimizer, "clip": 0.5, "weight_decay": 0.1})))
    run.advance(5)
    assert 5 not in [frame.step for frame in run.frames]
    with nothing_waits():
        run._train_step()
    assert run.step == 6


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_no_arrangement_waits_for_the_device(name):
    run = Run(RunConfig.arranged(name, **(SMALL | TRANSFORMER)), frames=False)
    run.advance(1)
    with nothing_waits():
        run._train_step()


@pytest.mark.parametrize("task", ["digits", "book", "spiral", "recall", "sort"])
@pytest.mark.parametrize("norm", ["batch norm", "dynamic tanh", "none"])
def test_no_task_and_no_norm_waits_for_the_device(task, norm):
    run = Run(RunConfig(**SMALL, task=task, norm=norm, lr=1e-3), frames=False)
    run.advance(1)
    with nothing_waits():
        run._train_step()
