"""What is recorded equals what plain hooks see, what the
playground's own log holds, and the training knows nothing of it.
"""

import math
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from addnorm import watch
from addnorm.cosine import cosines_of
from addnorm.probe import norms
from addnorm.recording import read
from models.spec import RunConfig
from models.training import Run, cross_entropy
from tests.addnorm.loops import Block, batch, looking, net, recorded, rms, train
from tests.addnorm.other_peoples import CASES
from tests.training.bare_loop import BareLoop
from tests.training.test_probe import nothing_waits


def outcome(output: Any) -> Tensor:
    """A loss of whatever a model gives."""
    given = (
        list(output.values())
        if isinstance(output, Mapping)
        else output
        if isinstance(output, tuple | list)
        else [output]
    )
    tensors = [tensor.float() for tensor in given if isinstance(tensor, Tensor) and tensor.requires_grad]
    return torch.stack([(t * torch.linspace(-1, 1, t.numel()).reshape(t.shape)).sum() for t in tensors]).sum()


@pytest.mark.parametrize("name", CASES)
def test_activation_and_gradient_are_those_of_plain_hooks_and_the_losses_stay_what_they_are(
    name: str, tmp_path: Path
) -> None:
    def losses(watched: bool) -> list[float]:
        torch.manual_seed(0)
        model, inputs = CASES[name].build()
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        recorder = watch(model, tmp_path / "run.jsonl", optimizer=optimizer) if watched else None
        found = []
        for k in range(3):
            torch.manual_seed(k)
            if recorder is None or k == 0:
                loss = outcome(model(**inputs))
                loss.backward()
            else:
                with looking(recorder.sites) as look:
                    loss = outcome(model(**inputs))
                    loss.backward()
                    seen.append(look())
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.item())
        if recorder is not None:
            recorder.close()
        return found

    seen: list[tuple[list[float], list[float]]] = []
    assert losses(watched=True) == losses(watched=False)
    recording = read(tmp_path / "run.jsonl")
    assert (recording.is_complete, recording.problem, len(recording)) == (True, "", 3)
    for row, (act, grad) in enumerate(seen, start=1):
        assert recording.row("act_rms", row) == pytest.approx(act, rel=1e-5)
        assert recording.row("grad_rms", row) == pytest.approx(grad, rel=1e-5)
    assert all((*recording.measured("act_rms", 0), *recording.measured("grad_rms", 0)))
    assert all(
        math.isfinite(value) and value > 0 for value in (*recording.row("act_rms", 0), *recording.row("grad_rms", 0))
    )


def mean_cosine(vectors: Tensor) -> float:
    """Over all pairs of different rows, one by one."""
    rows = vectors.detach().double()
    return float(
        torch.stack([torch.cosine_similarity(one, other, dim=0) for one, other in combinations(rows, 2)]).mean()
    )


def kept_at(model: nn.Module, path: Path, x: Tensor) -> tuple[dict[str, Tensor], dict[str, float]]:
    """The outputs of a model's parts in a first pass, kept by hooks of our own, and the cosines that are recorded."""
    kept: dict[str, Tensor] = {}
    for name, part in model.named_children():
        part.register_forward_hook(
            lambda _part, _given, output, name=name: kept.update({name: output.detach().clone()})
        )
    with watch(model, path, sites=["*"]) as recorder:
        loss = model(x).square().mean()
        loss.backward()
        recorder.step(loss=loss)
    recording = read(path)
    assert not recording.problem
    found = zip(recording.sites, recording.row("sample_cosine", 0), strict=True)
    return kept, {site.name: cosine for site, cosine in found}


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4), (5, 4, 6, 6)])
def test_the_sample_cosine_is_that_of_all_pairs_of_tokens_or_samples(shape: tuple[int, ...], tmp_path: Path) -> None:
    torch.manual_seed(0)
    first, last = (nn.Conv2d(4, 3, 3), nn.ReLU()) if len(shape) == 4 else (nn.Linear(4, 8), nn.ReLU())
    kept, found = kept_at(nn.Sequential(first, last), tmp_path / "run.jsonl", torch.randn(shape))
    assert len(found) == 2
    for name, tensor in kept.items():
        vectors = tensor.flatten(0, -2) if len(shape) == 3 else tensor.flatten(1)
        assert found[name] == pytest.approx(mean_cosine(vectors), rel=1e-6)


def test_of_a_large_batch_sixteen_vectors_stand_for_all_and_not_one_position_of_the_sequences(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(32, 32, 8)
    x[:, 0] = x[:, -1] = 1.0  # the first and the last token are the same in every sequence
    kept, found = kept_at(nn.Sequential(nn.Linear(8, 64)), tmp_path / "run.jsonl", x)
    assert found["0"] == pytest.approx(mean_cosine(kept["0"][:, ::5].flatten(0, 1)[::2]), abs=0.1)
    assert found["0"] < 0.5


def test_a_single_vector_has_no_cosine_and_vectors_of_zeros_are_left_out(tmp_path: Path) -> None:
    def recorded_of(x: Tensor, name: str) -> tuple[float, list[int]]:
        model = nn.Sequential(nn.Identity(), nn.Linear(4, 4))
        with watch(model, tmp_path / name, sites=["0"]) as recorder:
            recorder.step(loss=model(x).sum())
        recording = read(recorder.path)
        return recording.row("sample_cosine", 0)[0], list(recording.measured("sample_cosine", 0))

    assert recorded_of(torch.ones(1, 4), "one.jsonl")[1] == [0]
    opposite = torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0], [-2.0, 0, 0, 0]])
    assert recorded_of(opposite, "zeros.jsonl") == (-1.0, [1])
    nothing, measured = recorded_of(torch.zeros(3, 4), "nothing.jsonl")
    assert math.isnan(nothing)
    assert measured == [1]


def test_cosines_wait_for_no_device() -> None:
    measured = [(0, torch.randn(40, 4)), (1, torch.randn(2, 30, 4)), (2, torch.zeros(40, 4))]
    with nothing_waits():
        cosines_of(measured)


def test_the_sample_cosine_of_several_small_batches_is_their_mean_and_only_full_rows_have_one(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    optimizer, seen = torch.optim.SGD(model.parameters(), 0.0), []
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, sites=["1"]) as recorder:
        for _ in range(6):
            parts = [torch.randn(6, 4), torch.randn(6, 4)]
            for part in parts:
                model(part).mean().backward()
            optimizer.step()
            expected = [mean_cosine(model[1](model[0](part))) for part in parts]
            seen.append(sum(expected) / 2)
    recording = read(recorder.path)
    full = [row for row in range(6) if any(recording.measured("sample_cosine", row))]
    assert full == [row for row in range(6) if any(recording.measured("update_to_weight", row))] == [0, 1, 2, 4]
    for row in full:
        assert recording.row("sample_cosine", row)[0] == pytest.approx(seen[row], rel=1e-5)


@pytest.mark.parametrize("arrangement", ["pre-norm", "post-norm", "DeepNorm", "residual only", "sandwich"])
@pytest.mark.parametrize("kind", ["mlp", "transformer"])
def test_our_own_nets_give_the_rows_of_their_own_log(arrangement: str, kind: str, tmp_path: Path) -> None:
    task = "book" if kind == "transformer" else "digits"
    cfg = RunConfig.arranged(
        arrangement, depth=3, width=16, batch=8, net=kind, task=task, device="cpu", steps=5, clip=0.0
    )
    run, loop = Run(cfg, frames=False), BareLoop(cfg)
    run.advance(5)
    with watch(loop.model, tmp_path / "run.jsonl") as recorder:
        for k in range(5):
            x, y = loop.task.batch(k)
            loss = cross_entropy(loop.model(x), y)
            loop.optimizer.zero_grad()
            loss.backward()
            recorder.step(loss.detach())
            loop.optimizer.step()
    recording, trace = read(recorder.path), run.trace()
    for k in range(5):
        assert recording.row("act_rms", k) == pytest.approx(trace.act_rms[k], rel=1e-5)
        assert recording.row("grad_rms", k) == pytest.approx(trace.grad_rms[k], rel=1e-5)
    assert recording.scalars["loss"] == pytest.approx(trace.loss, rel=1e-7)
    assert recording.scalars["grad_norm"] == pytest.approx(trace.grad_norm, rel=1e-5)


def test_the_weights_of_a_block_are_those_that_come_in_before_its_site(tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        x, y = batch(0)
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        nn.functional.cross_entropy(model(x), y).backward()
        grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
    recording = read(recorder.path)
    assert [(block.name, block.site) for block in recording.blocks] == [
        ("0", 0),
        ("1", 1),
        ("2", 2),
        ("3", 3),
        ("4", 4),
    ]
    both = [("0.weight",), *((f"{at}.up.weight", f"{at}.down.weight") for at in (1, 2, 3)), ("4.weight",)]
    for at, names in enumerate(both):
        whole = torch.cat([grads[name].flatten() for name in names])
        old = torch.cat([before[name].flatten() for name in names])
        assert recording.row("weight_grad_rms", 0)[at] == pytest.approx(rms(whole), rel=1e-5)
        assert recording.row("update_to_weight", 0)[at] == pytest.approx(
            0.1 * whole.norm().item() / old.norm().item(), rel=1e-4
        )
    whole = torch.cat([grad.flatten() for grad in grads.values()])
    assert recording.scalars["grad_norm"][0] == pytest.approx(whole.norm().item(), rel=1e-5)
    assert recording.scalars["lr"][0] == 0.1


def test_an_update_of_a_large_matrix_is_measured_on_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("addnorm.weights.MAX_SAMPLE_NUMBERS", 16)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, weight_decay=0.5)
    for p in model.parameters():
        p.register_hook(lambda grad: grad * 0)  # the update is 0.05 of every weight, whichever are looked at
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 1)
    assert read(recorder.path).row("update_to_weight", 0) == pytest.approx([0.05] * 5, rel=1e-5)


@pytest.mark.parametrize("told_unscaled", [False, True])
@pytest.mark.parametrize("given", [("optimizer", "scaler"), ("optimizer",), ()])
def test_the_scale_of_amp_is_divided_out(given: tuple[str, ...], told_unscaled: bool, tmp_path: Path) -> None:
    def series(scaled: bool) -> dict[str, list[float]]:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1, enabled=scaled)
        asked: dict[str, Any] = {"optimizer": optimizer, "scaler": scaler}
        with watch(model, tmp_path / "run.jsonl", **{name: asked[name] for name in given}) as recorder:
            for k in range(3):
                x, y = batch(k)
                loss = nn.functional.cross_entropy(model(x), y)
                scaler.scale(loss).backward()
                if told_unscaled:
                    scaler.unscale_(optimizer)
                if not given:
                    recorder.step()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        found = read(recorder.path)
        return {
            "grad": list(found.series["grad_rms"]),
            "weight": list(found.series["weight_grad_rms"]),
            "norm": list(found.scalars["grad_norm"]),
        }

    scaled, plain = series(True), series(False)
    assert all(scaled[name] == pytest.approx(plain[name], rel=1e-4) for name in plain)


@pytest.mark.parametrize("told", [True, False])
def test_an_update_that_amp_leaves_out_is_a_row_that_says_so(told: bool, tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    methods = torch.amp.GradScaler.scale, torch.amp.GradScaler.step
    asked = {"scaler": scaler} if told else {}
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, **asked) as recorder:
        for k in range(3):
            x, y = batch(k)
            loss = nn.functional.cross_entropy(model(x), y) * (math.inf if k in (0, 1) else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    recording = read(recorder.path)
    assert (list(recording.steps), recording.skipped) == ([0, 1, 2], {0, 1})
    assert methods == (torch.amp.GradScaler.scale, torch.amp.GradScaler.step)
    assert not any(map(math.isfinite, recording.row("grad_rms", 1)))
    assert all(map(math.isfinite, recording.row("grad_rms", 2)))
    assert "step" not in vars(scaler)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_changes_no_number_of_a_recording(reentrant: bool, tmp_path: Path) -> None:
    class Checkpointed(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    plain = recorded(net(), tmp_path)
    model = net()
    for at in (1, 2, 3):
        model[at] = Checkpointed(model[at])
    found = recorded(model, tmp_path)
    assert [site.name for site in found.sites] == ["0", "1.inner", "2.inner", "3.inner"]
    assert found.series["act_rms"] == pytest.approx(plain.series["act_rms"], rel=1e-6)
    assert found.series["grad_rms"] == pytest.approx(plain.series["grad_rms"], rel=1e-6)
    assert all(found.masks["grad_rms"])


def test_a_module_used_twice_has_two_sites_with_numbers_of_their_own(tmp_path: Path) -> None:
    torch.manual_seed(0)
    block = Block()
    model = nn.Sequential(nn.Linear(4, 8), block, block, nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 1)
        with looking(recorder.sites) as look:
            x, y = batch(1)
            nn.functional.cross_entropy(model(x), y).backward()
            act, grad = look()
        optimizer.step()
    recording = read(recorder.path)
    assert [site.name for site in recording.sites] == ["0", "1", "1 #2"]
    assert recording.row("act_rms", 1) == pytest.approx(act, rel=1e-6)
    assert recording.row("grad_rms", 1)[1:] == pytest.approx(grad[1:], rel=1e-6)
    assert len(set(recording.row("grad_rms", 1))) == 3


class InPlace(nn.Module):
    """A block whose output is overwritten by whoever comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.act = nn.Linear(8, 8), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.f(x)
        y += x
        return y


class Model(nn.Module):
    def __init__(self, *, in_place: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.start, self.blocks, self.head = nn.Linear(4, 8), nn.ModuleList([InPlace(), InPlace()]), nn.Linear(8, 3)
        self.in_place = in_place

    def forward(self, x: Tensor) -> Tensor:
        x = self.start(x)
        for block in self.blocks:
            x = block(x)
            if self.in_place:
                x.mul_(2.0)
            else:
                x = x * 2.0
        return self.head(x)


def test_a_tensor_is_measured_before_it_is_overwritten(tmp_path: Path) -> None:
    asked = {"blocks.0": "blocks.0", "blocks.1": "blocks.1"}
    found = []
    for in_place in (True, False):
        model = Model(in_place=in_place)
        found.append(recorded(model, tmp_path, sites={name: model.get_submodule(path) for name, path in asked.items()}))
    assert found[0].series["act_rms"] == pytest.approx(found[1].series["act_rms"], rel=1e-6)
    assert found[0].series["grad_rms"] == pytest.approx(found[1].series["grad_rms"], rel=1e-6)


def test_every_nth_step_and_passes_without_gradients_are_left_alone(tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    whole = recorded(net(), tmp_path, steps=7)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, every=3) as recorder:
        for k in range(7):
            with torch.no_grad():
                model(batch(99)[0])
            x, y = batch(k)
            loss = nn.functional.cross_entropy(model(x), y)
            with torch.no_grad():
                model(batch(98)[0])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.loss(loss)
    recording = read(recorder.path)
    assert list(recording.steps) == [0, 3, 6]
    for row, step in enumerate(recording.steps):
        assert list(recording.row("act_rms", row)) == list(whole.row("act_rms", step))
        assert list(recording.row("grad_rms", row)) == list(whole.row("grad_rms", step))
        assert recording.scalars["loss"][row] == whole.scalars["loss"][step]


def test_norms_hold_what_float32_cannot_square() -> None:
    tensors = [torch.full((50,), size) for size in (1e-30, 1e-22, 1.0, 1e22, 1e30, 0.0)] + [torch.full((5000,), 1e25)]
    expected = [size * 50**0.5 for size in (1e-30, 1e-22, 1.0, 1e22, 1e30, 0.0)] + [1e25 * 5000**0.5]
    assert norms(tensors).tolist() == pytest.approx(expected, rel=1e-6)
    assert norms([torch.tensor([3.0 + 4.0j])]).tolist() == pytest.approx([5.0])
    assert norms([torch.tensor([1.0, math.inf])]).tolist() == [math.inf]
    assert norms([torch.tensor(-2.0), torch.tensor(3.0)]).tolist() == [2.0, 3.0]
    assert norms([torch.empty(0, 3)]).tolist() == [0.0]


def test_losses_are_averaged_over_a_step_and_may_come_before_or_after_it(tmp_path: Path) -> None:
    model = net()
    with watch(model, tmp_path / "run.jsonl") as recorder:
        for told in ([1.0, 3.0], [torch.tensor(5.0)], []):
            model(batch(0)[0]).sum().backward()
            recorder.step()
            for loss in told:
                recorder.loss(loss)
        model(batch(0)[0]).sum().backward()
        recorder.step(loss=math.nan)
    recording = read(recorder.path)
    assert list(recording.scalars["loss"])[:2] == [2.0, 5.0]
    assert list(recording.masks["loss"]) == [1, 1, 0, 1]
    assert math.isnan(recording.scalars["loss"][3])
    assert all(a < b for a, b in pairwise(recording.steps))
