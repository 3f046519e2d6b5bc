"""A run is a deterministic log: equal configurations give equal numbers, however they are advanced and watched."""

import copy
import itertools
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.nets import build_model
from models.nets.sublayer import Dropout
from models.service.worker_process import ROOT
from models.spec import NORMS, OPTIMIZERS, RunConfig
from models.tasks import alphabet, open_task
from models.trace import SCALARS, Columns, frame_steps, trace_of
from models.training import Run, cross_entropy, profile_at_init
from models.training.muon import Muon

SMALL = {"depth": 3, "width": 16, "batch": 8, "steps": 20}
CONFIGS = {
    "mlp": RunConfig(**SMALL),
    "transformer": RunConfig(net="transformer", task="copy", optimizer="adam", lr=1e-3, clip=0.5, **SMALL),
    "batch norm": RunConfig(norm="batch norm", task="spiral", optimizer="adamw", weight_decay=0.1, **SMALL),
    "book": RunConfig(
        net="transformer", task="book", stack="dlcl", schedule="cosine", warmup=5, **(SMALL | {"depth": 1})
    ),
}
every_config = pytest.mark.parametrize("cfg", CONFIGS.values(), ids=CONFIGS)


def trained(cfg: RunConfig, *slices: int, **how) -> Run:
    run = Run(cfg, **how)
    for n in slices or (cfg.steps,):
        run.advance(n)
    return run


def assert_same(a, b) -> None:
    """Equality bit for bit through frames, dicts, lists and arrays; NaN equals NaN."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "__dataclass_fields__"):
        assert_same(vars(a), vars(b))
    else:
        assert a == b or (np.isnan(a) and np.isnan(b))


@every_config
def test_equal_configurations_give_equal_logs_bit_for_bit(cfg):
    again = RunConfig.from_query(cfg.to_query())[0]
    one, other = trained(cfg), trained(again)
    assert_same(one.trace(), other.trace())
    for name, parameter in one.model.state_dict().items():
        assert torch.equal(parameter, other.model.state_dict()[name]), name
    assert len(one.trace().frames) == len(frame_steps(cfg.steps))


@every_config
def test_advancing_by_1_and_7_and_12_equals_advancing_by_20(cfg):
    assert_same(trained(cfg, 1, 7, 12).trace(), trained(cfg, 20).trace())


def test_advancing_by_time_takes_at_least_one_step_and_gives_the_same_rows():
    run = Run(CONFIGS["mlp"])
    assert run.advance(20, seconds=0) == 1
    assert run.step == 1
    assert run.advance(20, seconds=1e9) == 19
    assert_same(run.trace(), trained(CONFIGS["mlp"]).trace())


@every_config
def test_asking_for_the_next_batch_changes_nothing(cfg):
    run = Run(cfg)
    while not run.done:
        first, second = run.next_batch(), run.next_batch()
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
        run.advance(3)
    assert_same(run.trace(), trained(cfg).trace())


@every_config
def test_the_profile_at_initialisation_is_row_0_of_the_log(cfg):
    profile, log = profile_at_init(cfg), trained(cfg, 2).trace()
    assert len(profile) == 1
    for series in (*SCALARS, "act_rms", "grad_rms", "branch_rms", "weight_grad_rms"):
        assert_same(getattr(profile, series)[0].copy(), getattr(log, series)[0].copy())
    # The log takes its cosine out of one pass over the whole
    # held-out set, whose sums a matrix library may order otherwise.
    np.testing.assert_array_equal(profile.frames[0].dead_units, log.frames[0].dead_units)
    np.testing.assert_allclose(profile.frames[0].sample_cosine, log.frames[0].sample_cosine, rtol=1e-4, atol=1e-6)
    assert profile.sites == log.sites


@every_config
def test_frames_change_neither_rows_nor_weights_nor_running_statistics_nor_random_states(cfg):
    bare, watched = trained(cfg, frames=False), Run(cfg)
    state = torch.get_rng_state()
    watched.advance(cfg.steps)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(watched.trace().frames) > 0
    assert bare.trace().frames == ()
    assert_same(watched.rows(), bare.rows())
    for name, value in watched.model.state_dict().items():
        assert torch.equal(value, bare.model.state_dict()[name]), name
    assert watched.model.training


@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_the_text_of_a_frame_is_written_by_the_net_of_its_step(net):
    cfg = RunConfig(net=net, task="book", **SMALL | {"depth": 1, "lr": 0.1})
    texts = {frame.step: frame.picture for frame in trained(cfg).frames}
    assert list(texts) == frame_steps(cfg.steps)
    assert texts[0]["sample"] != texts[20]["sample"]
    bare = trained(cfg, 8, frames=False)
    codes = [alphabet().index(character) for character in texts[8]["prompt"] + texts[8]["sample"]]
    with torch.no_grad():
        for at, p in enumerate(texts[8]["p"], start=len(texts[8]["prompt"])):
            read = torch.tensor([codes[max(0, at - 32) : at]])  # the 32 characters before it
            own = bare.model.eval()(read)[0, -1].softmax(-1)
            assert own[codes[at]].item() == pytest.approx(p, rel=1e-4)
    assert profile_at_init(cfg).frames[0].picture["sample"] == texts[0]["sample"][:12]


def test_batch_norms_running_statistics_are_used_for_held_out_figures():
    """Else the guard above would hold statistics that nothing reads."""
    run = trained(CONFIGS["batch norm"])
    x, y = run.task.held_out
    logits = copy.deepcopy(run.model).eval()(x)
    assert run.frames[-1].held_out_loss == pytest.approx(cross_entropy(logits, y).item(), rel=1e-5)
    assert run.frames[-1].held_out_accuracy == pytest.approx((logits.argmax(-1) == y).float().mean().item())
    assert abs(run.frames[-1].held_out_loss - cross_entropy(run.model(x), y).item()) > 1e-4


@pytest.mark.parametrize("batch", [2, 64, 512])
def test_the_held_out_loss_in_train_mode_is_that_of_batches_as_in_training(batch):
    run = trained(replace(CONFIGS["batch norm"], batch=batch, steps=4))
    before = [buffer.clone() for buffer in run.model.buffers()]
    x, y = run.task.held_out
    count = min(32, max(1, len(x) // batch))
    losses, counts = [], []
    for at in range(count):
        part = slice(at * batch, min((at + 1) * batch, len(x)))
        losses.append(cross_entropy(copy.deepcopy(run.model).train()(x[part]), y[part]).item())
        counts.append(int((y[part] != -100).sum()))
    assert run.frames[-1].train_mode_loss == pytest.approx(np.average(losses, weights=counts), rel=1e-4)
    taken = run._taker.at_end(run.step)[0]
    assert taken.train_mode_loss == run.frames[-1].train_mode_loss
    assert all(torch.equal(old, new) for old, new in zip(before, run.model.buffers(), strict=True))
    assert np.isnan(trained(CONFIGS["transformer"], 1).frames[0].train_mode_loss)


@pytest.mark.parametrize("fields", [{"branch_dropout": 0.5}, {"stream_dropout": 0.2}])
def test_dropout_has_its_train_mode_loss_too(fields):
    """Against torch's own dropout, whose masks are others: the mean of 100 passes."""
    run = trained(RunConfig(depth=4, width=16, batch=16, steps=20, device="cpu", **fields))
    frame = run.frames[-1]
    x, y = run.task.held_out
    net = copy.deepcopy(run.model).train()
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Dropout):
                setattr(module, name, torch.nn.Dropout(child.rate))
    torch.manual_seed(0)
    with torch.no_grad():
        losses = torch.stack([cross_entropy(net(x), y) for _ in range(100)])
    assert abs(frame.train_mode_loss - losses.mean()) < 4 * losses.std()
    assert frame.held_out_loss == pytest.approx(cross_entropy(net.eval()(x), y).item(), rel=1e-5)
    assert abs(frame.train_mode_loss - frame.held_out_loss) > 4 * losses.std()
    assert run._taker.at_end(run.step)[0].train_mode_loss == frame.train_mode_loss


def test_held_out_figures_of_a_sequence_leave_out_the_tokens_without_a_target():
    run = trained(CONFIGS["transformer"], 1)
    x, y = run.task.held_out
    with torch.no_grad():
        fresh = build_model(run.cfg)(x)
    assert (y == -100).any()
    right = (fresh.argmax(-1) == y).double()[y != -100]
    assert run.frames[0].held_out_loss == pytest.approx(cross_entropy(fresh, y).item(), rel=1e-5)
    assert run.frames[0].held_out_accuracy == pytest.approx(right.mean().item())


@pytest.mark.parametrize("steps", [1, 2, 20, 300, 5000])
def test_frames_come_at_log_spaced_steps_and_at_the_end(steps):
    """From the first step to the last, never further apart than the step's own number, some twenty in a long run."""
    found = frame_steps(steps)
    assert found[:2] == [0, 1]
    assert found[-1] == steps
    assert all(one < other <= 2 * max(one, 1) for one, other in itertools.pairwise(found))
    assert len(found) <= 3 + 2 * math.log2(steps)


def test_a_run_has_its_frames_when_it_passes_them():
    assert [frame.step for frame in trained(CONFIGS["mlp"]).frames] == frame_steps(20)
    assert [frame.step for frame in trained(CONFIGS["mlp"], 7).frames] == [step for step in frame_steps(20) if step < 7]


def test_the_frame_of_a_step_is_the_last_one_taken():
    trace = trained(CONFIGS["mlp"]).trace()
    taken = frame_steps(20)
    for step in (0, 5, 8, 15, 20, 400):
        assert trace.frame_at(step).step == max(earlier for earlier in taken if earlier <= step)
    assert trace.frame_at(-1) is None


# --- the shape of a log ---


def test_a_trace_cannot_be_written_to():
    trace = trained(CONFIGS["mlp"], 2).trace()
    for name in ("step", "loss", "act_rms", "weight_grad_rms"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(trace, name)[0] = 1
    with pytest.raises(AttributeError):
        trace.loss = None


def test_rows_since_a_step_are_the_end_of_all_rows_and_a_copy():
    run = trained(CONFIGS["mlp"], 9)
    assert run.rows().shape == (9, run.columns.width)
    assert_same(run.rows(since=6), run.rows()[6:].copy())
    before = run.rows()
    before[:] = -1
    assert (run.rows() != -1).any()


def test_every_column_of_a_row_has_its_own_series():
    columns = Columns(("x0", "b01", "b02"), ("b01", "b02"), 2)
    trace = trace_of(columns, np.arange(2 * columns.width, dtype=np.float32).reshape(2, -1))
    in_order = [
        np.atleast_1d(getattr(trace, name)[0])
        for name in (*SCALARS, "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
    ]
    assert np.concatenate(in_order).tolist() == list(range(columns.width))


def test_a_run_ends_after_its_steps():
    run = trained(CONFIGS["mlp"], 19)
    assert not run.done
    assert run.advance(5) == 1
    assert run.done
    assert run.advance(5) == 0
    assert len(run.trace()) == 20


@every_config
def test_the_closing_row_is_the_next_batch_in_the_trained_net_and_changes_nothing(cfg):
    run = trained(cfg)
    x, y = run.next_batch()
    loss = cross_entropy(copy.deepcopy(run.model)(x), y).item()
    before, weights = run.trace(), copy.deepcopy(run.model.state_dict())
    run.close()
    run.close()
    closed = run.trace()
    assert (len(before), len(closed), run.step, run.done) == (cfg.steps, cfg.steps + 1, cfg.steps, True)
    assert closed.step[-1] == closed.frames[-1].step == cfg.steps
    assert_same(vars(closed.first(cfg.steps)), vars(before))
    assert (closed.loss[-1], closed.lr[-1]) == (np.float32(loss), 0)
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, weights[name]), name


def test_the_closing_row_is_the_row_that_a_longer_run_goes_on_with():
    run, longer = trained(CONFIGS["mlp"]), trained(replace(CONFIGS["mlp"], steps=21))
    run.close()
    rate = SCALARS.index("lr")
    assert_same(np.delete(run.rows(), rate, axis=1), np.delete(longer.rows(), rate, axis=1))


def test_a_run_that_goes_on_or_has_diverged_has_no_closing_row():
    part, wild = (
        trained(CONFIGS["mlp"], 7),
        trained(RunConfig(**(SMALL | {"depth": 20}), norm="none", init_gain=10.0, lr=10.0)),
    )
    assert wild.divergence is not None
    for run in (part, wild):
        rows = len(run.trace())
        run.close()
        assert len(run.trace()) == rows


def test_a_closing_row_that_is_not_finite_is_a_divergence_after_the_last_update():
    run = trained(CONFIGS["mlp"])
    with torch.no_grad():
        next(run.model.parameters()).fill_(math.inf)
    run.close()
    assert (run.divergence.step, len(run.trace()), run.step) == (20, 21, 20)


# --- schedule, clipping, optimisers ---


def test_the_learning_rate_rises_linearly_then_falls_along_half_a_cosine():
    cfg = RunConfig(**SMALL, lr=0.1, warmup=4, schedule="cosine")
    expected = [0.025, 0.05, 0.075, 0.1] + [0.05 * (1 + math.cos(math.pi * k / 16)) for k in range(16)]
    np.testing.assert_allclose(trained(cfg).trace().lr, expected, rtol=1e-6)


def test_without_a_schedule_the_learning_rate_stays_and_the_optimiser_uses_it():
    np.testing.assert_allclose(trained(RunConfig(**SMALL, lr=0.03)).trace().lr, 0.03, rtol=1e-6)
    run = trained(RunConfig(**SMALL, lr=0.1, warmup=10), 5)
    assert run.optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def sgd(w, g, lr, state):
    return w - lr * g


def momentum(w, g, lr, state):
    state["m"] = 0.9 * state.get("m", 0) + g
    return w - lr * state["m"]


def adam(w, g, lr, state):
    state["t"] = state.get("t", 0) + 1
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
    m, v = state["m"] / (1 - 0.9 ** state["t"]), state["v"] / (1 - 0.999 ** state["t"])
    return w - lr * m / (v.sqrt() + 1e-8)


def muon(w, g, lr, state):
    """Five times p(s) = 3.4445 s - 4.7750 s^3 + 2.0315 s^5 on the singular values, by their decomposition."""
    state["m"] = 0.95 * state.get("m", 0) + 0.05 * g
    u, s, vt = torch.linalg.svd(g + 0.95 * (state["m"] - g), full_matrices=False)
    s = s / (s.square().sum().sqrt() + 1e-7)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return w - lr * max(1, len(w) / w.shape[1]) ** 0.5 * u @ s.diag() @ vt


RULES = {"sgd": sgd, "momentum": momentum, "adam": adam, "adamw": adam, "muon": muon}


@pytest.mark.parametrize("clip", [0.0, 0.05], ids=["no clip", "clip"])
@pytest.mark.parametrize("decay", [0.0, 0.3], ids=["no decay", "decay"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_three_steps_of_an_optimiser_are_its_formula(optimizer, decay, clip):
    """Decay pulls matrices only: added to the gradient, or taken off the weight. Clipping comes first.

    Muon takes the blocks' matrices, and leaves the rest to AdamW at 3e-4 for its own 0.02.
    """
    cfg = RunConfig(**SMALL, expansion=3, optimizer=optimizer, weight_decay=decay, clip=clip, lr=0.01)
    run, model, task = trained(cfg, 3), build_model(cfg).double(), open_task(cfg, "cpu")
    named = dict(model.named_parameters())
    states = {name: {} for name in named}
    for k in range(3):
        x, y = task.batch(k)
        gradients = torch.autograd.grad(cross_entropy(model(x.double()), y), named.values())
        length = math.sqrt(sum(g.square().sum().item() for g in gradients))
        factor = min(1.0, clip / length) if clip else 1.0
        assert run.trace().grad_norm[k] == pytest.approx(length, rel=1e-4)
        assert run.trace().clip_factor[k] == pytest.approx(factor, rel=1e-4)
        with torch.no_grad():
            for (name, w), g in zip(named.items(), gradients, strict=True):
                pulled = decay if w.ndim > 1 else 0.0
                rule, rate = RULES[optimizer], cfg.lr
                if optimizer == "muon" and not (name.startswith("stream.blocks.") and w.ndim > 1):
                    rule, rate = adam, cfg.lr * 3e-4 / 0.02
                start = w * (1 - rate * pulled) if optimizer in ("adamw", "muon") else w
                raw = factor * g + (pulled * w if optimizer not in ("adamw", "muon") else 0)
                w.copy_(rule(start, raw, rate, states[name]))
    assert not clip or (run.trace().clip_factor < 1).all()
    for name, parameter in run.model.named_parameters():
        torch.testing.assert_close(
            parameter.double(), named[name], rtol=1e-3, atol=2e-5, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (8, 8)])
def test_muon_steps_as_torchs_own_up_to_bfloat16(shape):
    source = torch.Generator().manual_seed(0)
    ours, theirs = (torch.nn.Parameter(torch.zeros(shape)) for _ in range(2))
    other = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
    optimizers = Muon([ours], other, lr=1.0, weight_decay=0.1), torch.optim.Muon([theirs], lr=1.0, weight_decay=0.1)
    for _ in range(3):
        ours.grad = torch.randn(shape, generator=source)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.05)


@pytest.mark.full
def test_training_loads_nothing_of_what_compiles_nets():
    """torch._dynamo and sympy take as long to import as torch, and as much memory as a run."""
    trains = """
import sys
from dataclasses import replace
from models.spec import OPTIMIZERS, RunConfig
from models.training import Run
from models.training.batched import Batched
for optimizer in OPTIMIZERS:
    cfg = RunConfig(depth=1, width=8, batch=8, steps=2, optimizer=optimizer, weight_decay=0.1, clip=0.5)
    Run(cfg).advance(2)
Batched([cfg, replace(cfg, seed=1)]).advance(2)
print({"torch", "torch._dynamo", "sympy"} & set(sys.modules))
"""
    found = subprocess.run([sys.executable, "-c", trains], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "{'torch'}"


@pytest.mark.parametrize("norm", NORMS)
def test_frozen_gains_never_move(norm):
    run = trained(RunConfig(**SMALL, norm=norm, affine=False, weight_decay=0.1), 5)
    for name, parameter in run.model.named_parameters():
        assert parameter.requires_grad or (parameter == (0 if name.endswith("bias") else 1)).all()
