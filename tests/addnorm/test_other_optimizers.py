"""Loops with several models, optimizers and threads: every update is a row, and the training stays what it was."""

import copy
import threading
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.recording import Recording, read
from tests.addnorm.loops import Block, batch, net, rms

STEPS = 20


class Truth:
    """What plain hooks see: the last signal of each block in passes with gradients, and the gradients at an update."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.signals: list[Tensor] = []
        self.rows: list[tuple[list[float], float, float]] = []
        for block in model.modules():
            if isinstance(block, Block):
                block.register_forward_hook(lambda _block, _given, output: self.signals.append(output.detach().clone()))

    def update(self, loss: Tensor, passes: int = 1, skipped: int = 0) -> None:
        """Call it before each update of the watched model, which is made of the first `passes` after the skipped."""
        blocks = sum(isinstance(block, Block) for block in self.model.modules())
        chosen = self.signals[skipped * blocks : (skipped + passes) * blocks]
        sites = [rms(torch.cat(chosen[at::blocks])) for at in range(blocks)]
        grads = torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None])
        self.rows.append((sites, grads.norm().item(), loss.item()))

    def forget(self) -> None:
        self.signals = []


def sgd(*models: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD([p for model in models for p in model.parameters()], 0.05)


Start = Callable[..., Any]  # (model, optimizer) -> recorder or None
Loop = Callable[[Start], tuple[list[float], list[Truth], Any]]


def tell(recorder: Any, loss: Tensor | float) -> None:
    if recorder is not None:
        recorder.loss(loss)


def nets() -> tuple[nn.Module, nn.Module]:
    """A net from 4 numbers to 4 and one from 4 to 3, each of three blocks."""
    first = nn.Sequential(*net(), nn.Linear(3, 4))
    torch.manual_seed(1)
    return first, net()


def one_fake_batch(start: Start, watched: str = "generator", told: str = "after") -> Any:
    """A GAN whose generator makes one batch for both updates."""
    generator, critic = nets()
    of_generator, of_critic = sgd(generator), sgd(critic)
    model, optimizer = (generator, of_generator) if watched == "generator" else (critic, of_critic)
    truth = Truth(model)
    recorder = start(model, optimizer)
    losses = []
    for k in range(STEPS):
        truth.forget()
        x, _ = batch(k)
        fake = generator(x)
        of_critic.zero_grad()
        loss = critic(x).square().mean() - critic(fake.detach()).square().mean().clamp(max=2)
        loss.backward()
        if watched == "critic":
            truth.update(loss, 2)
            if told == "before":
                tell(recorder, loss)
        of_critic.step()
        of_generator.zero_grad()
        other = critic(fake).square().mean()
        other.backward()
        if watched == "generator":
            truth.update(other)
            if told == "before":
                tell(recorder, other)
        of_generator.step()
        if told == "after":
            tell(recorder, other if watched == "generator" else loss)
        losses.append(loss.item())
    return losses, [truth], recorder


def actor_and_critic(start: Start, watched: str = "critic") -> Any:
    """The value is computed before the actor's update, and used after it."""
    actor, critic = nets()
    of_actor, of_critic = sgd(actor), sgd(critic)
    model, optimizer = (actor, of_actor) if watched == "actor" else (critic, of_critic)
    truth = Truth(model)
    recorder = start(model, optimizer)
    losses = []
    for k in range(STEPS):
        truth.forget()
        x, y = batch(k)
        value, policy = critic(x), actor(x)
        gain = (y[:, None] - value).detach().mean(1)
        of_actor_loss = -(policy.log_softmax(1)[:, 0] * gain).mean()
        of_critic_loss = (y[:, None] - value).square().mean()
        of_actor.zero_grad()
        of_actor_loss.backward()
        if watched == "actor":
            truth.update(of_actor_loss)
        of_actor.step()
        of_critic.zero_grad()
        of_critic_loss.backward()
        if watched == "critic":
            truth.update(of_critic_loss)
        of_critic.step()
        loss = of_critic_loss if watched == "critic" else of_actor_loss
        tell(recorder, loss.detach() if k % 2 else loss)
        losses.append(loss.item())
    return losses, [truth], recorder


def soft_actor_critic(start: Start) -> Any:
    """The actor's gradient goes through the critic that is watched, after the critic's own update."""
    actor, critic = nets()
    of_actor, of_critic = sgd(actor), sgd(critic)
    truth = Truth(critic)
    recorder = start(critic, of_critic)
    losses = []
    for k in range(STEPS):
        truth.forget()
        x, y = batch(k)
        of_critic.zero_grad()
        loss = nn.functional.cross_entropy(critic(x), y)
        loss.backward()
        truth.update(loss)
        of_critic.step()
        of_actor.zero_grad()
        if k % 2:  # some freeze the critic meanwhile
            critic.requires_grad_(False)
        critic(actor(x)).mean().backward()
        critic.requires_grad_(True)
        of_actor.step()
        tell(recorder, loss.item())
        losses.append(loss.item())
    return losses, [truth], recorder


SHAPES = {
    "a GAN's generator": one_fake_batch,
    "a GAN's generator, told before": lambda start: one_fake_batch(start, "generator", "before"),
    "a GAN's critic": lambda start: one_fake_batch(start, "critic"),
    "a GAN's critic, told before": lambda start: one_fake_batch(start, "critic", "before"),
    "a critic": actor_and_critic,
    "an actor": lambda start: actor_and_critic(start, "actor"),
    "a soft actor-critic": soft_actor_critic,
}


def run(shape: Loop | Any, path: Path | None, **asked: Any) -> tuple[Any, Any, Recording]:
    """The losses of a loop, what plain hooks see of it, and its recording, made without a warning."""

    def start(model: nn.Module, optimizer: Any) -> Any:
        return watch(model, path, optimizer=optimizer, **asked) if path is not None else None

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses, truths, recorder = shape(start)
        if recorder is not None:
            recorder.close()
    return losses, truths, read(recorder.path) if recorder is not None else Recording()


def assert_is_recorded(recording: Recording, truth: Truth) -> None:
    assert (list(recording.steps), recording.problem) == (list(range(len(truth.rows))), "")
    for row, (sites, grad_norm, loss) in enumerate(truth.rows):
        assert list(recording.row("act_rms", row))[-len(sites) :] == pytest.approx(sites, rel=1e-4), row
        assert recording.scalars["grad_norm"][row] == pytest.approx(grad_norm, rel=1e-4), row
        assert recording.scalars["loss"][row] == pytest.approx(loss, rel=1e-5), row
    assert all(recording.masks["grad_rms"])
    assert recording.findings == []


@pytest.mark.parametrize("name", SHAPES)
def test_no_row_vanishes_when_others_step(name: str, tmp_path: Path) -> None:
    bare, _, _ = run(SHAPES[name], None)
    losses, (truth,), recording = run(SHAPES[name], tmp_path / "run.jsonl")
    assert losses == bare
    assert_is_recorded(recording, truth)


def test_two_threads_record_all_their_rows(tmp_path: Path) -> None:
    barrier, found = threading.Barrier(2), {}

    def train(name: str) -> None:
        torch.set_num_threads(1)
        model = net()
        optimizer, truth = sgd(model), Truth(model)
        with watch(model, tmp_path / f"{name}.jsonl", optimizer=optimizer) as recorder:
            for k in range(STEPS):
                truth.forget()
                barrier.wait()
                x, y = batch(k)
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                barrier.wait()
                loss.backward()
                truth.update(loss)
                optimizer.step()
                recorder.loss(loss)
        found[name] = truth

    torch.manual_seed(0)
    threads = [threading.Thread(target=train, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, truth in found.items():
        assert_is_recorded(read(tmp_path / f"{name}.jsonl"), truth)


# --- several optimizers of one model ---


class Orthogonal(torch.optim.Optimizer):
    """Muon's update in small: the gradient's direction with all singular values 1."""

    def __init__(self, parameters: Any, lr: float = 0.02) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                u, _, v = torch.linalg.svd(p.grad, full_matrices=False)
                p.sub_(self.param_groups[0]["lr"] * u @ v)


@pytest.mark.parametrize("given", ["both", "reversed", "one", "a stranger too"])
def test_several_optimizers_make_one_update(given: str, tmp_path: Path) -> None:
    model: Any = net()
    muon = Orthogonal([p for p in model[1:4].parameters() if p.ndim > 1])
    adam = torch.optim.AdamW([p for p in model.parameters() if not any(p is q for q in muon.param_groups[0]["params"])])
    chosen: Any = {"both": [muon, adam], "reversed": (adam, muon), "one": muon, "a stranger too": [muon, "adam", None]}
    moved: list[list[float]] = []
    with (
        pytest.warns(UserWarning, match="optimizer: .* str, NoneType") if "stranger" in given else nullcontext(),
        watch(model, tmp_path / "run.jsonl", optimizer=chosen[given]) as recorder,
    ):
        for k in range(30):
            x, y = batch(k)
            loss = nn.functional.cross_entropy(model(x), y)
            before = [torch.cat([p.detach().flatten() for p in part.parameters() if p.ndim > 1]) for part in model]
            for optimizer in (muon, adam):
                optimizer.zero_grad()
            loss.backward()
            for optimizer in (adam, muon):
                optimizer.step()
            after = [torch.cat([p.detach().flatten() for p in part.parameters() if p.ndim > 1]) for part in model]
            moved.append([((b - a).norm() / a.norm()).item() for a, b in zip(before, after, strict=True)])
            recorder.loss(loss)
    found = read(recorder.path)
    assert len(found) == 30
    assert found.findings == []
    held = [True] * 5 if given in ("both", "reversed") else [False, True, True, True, False]
    for row in (0, 1, 2, 4, 8, 16):
        measured = found.measured("update_to_weight", row)
        assert list(map(bool, measured)) == held
        updates = [one for one, there in zip(found.row("update_to_weight", row), held, strict=True) if there]
        assert updates == pytest.approx([one for one, there in zip(moved[row], held, strict=True) if there], rel=1e-3)
    notes = " ".join(found.header["notes"])
    assert ("0, 4" in notes) is (held[0] is False)
    names = [one["name"] for one in found.header.get("optimizers", ())]
    assert set(names) == ({"Orthogonal", "AdamW"} if held[0] else set())


def test_optimizers_in_turns_are_one_series(tmp_path: Path) -> None:
    """A list of a GAN's two optimizers: the rows are those of the first that steps, and the file says so."""

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator, self.critic = nets()

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.critic(self.generator(x))
            return out

    model = Both()
    of_critic, of_generator = sgd(model.critic), sgd(model.generator)

    def loop() -> None:
        with watch(model, tmp_path / "run.jsonl", optimizer=[of_generator, of_critic]):
            for k in range(8):
                for optimizer, sign in ((of_critic, 1), (of_generator, -1)):
                    optimizer.zero_grad()
                    (sign * model(batch(k)[0]).square().mean()).backward()
                    optimizer.step()

    with pytest.warns(UserWarning, match="in turns"):
        loop()
    found = read(tmp_path / "run.jsonl")
    assert list(found.steps) == list(range(8))
    assert any("in turns" in note for note in found.header["notes"])
    for row in (0, 1, 2, 4):
        for block, is_measured in zip(found.blocks, found.measured("update_to_weight", row), strict=True):
            assert bool(is_measured) is ("critic" in block.name), block.name


def test_matrices_that_no_optimizer_holds_are_named(tmp_path: Path) -> None:
    model: Any = net()
    optimizer = sgd(model[:4])
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(3):
            x, y = batch(k)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    found = read(recorder.path)
    assert [found.matrices[at] for at in found.fact("unheld", 2)] == ["4.weight"]
    assert not found.measured("update_to_weight", 2)[-1]
    assert any("4" in note and "in none of the optimizers" in note for note in found.header["notes"])


# --- updates inside the backward pass, and compiled ones ---


@contextmanager
def updates_in_backward(model: nn.Module) -> Any:
    """Each parameter has an optimizer, which steps as soon as the gradient is there."""
    optimizers = {p: torch.optim.SGD([p], 0.05) for p in model.parameters()}
    norms: list[float] = []

    def hook(p: Tensor) -> None:
        norms.append(p.grad.norm().item())  # type: ignore[union-attr]
        optimizers[p].step()  # type: ignore[index]
        optimizers[p].zero_grad()  # type: ignore[index]

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(hook)
    yield list(optimizers.values()), norms


@pytest.mark.parametrize("given", ["the list", "step", "step, hooked after watch"])
def test_updates_inside_the_backward_pass_are_measured(given: str, tmp_path: Path) -> None:
    def losses(path: Path | None) -> tuple[list[float], list[float], list[list[float]]]:
        model: Any = net()
        norms, moved, found = [], [], []
        late = given.endswith("watch") and path is not None
        recorder = watch(model, path) if late else None
        with updates_in_backward(model) as (optimizers, seen):
            if path is not None and not late:
                by_name = dict(enumerate(optimizers))
                recorder = watch(model, path, optimizer=by_name.values() if given == "the list" else None)  # type: ignore[arg-type]
            for k in range(40):
                x, y = batch(k)
                loss = nn.functional.cross_entropy(model(x), y)
                before = [torch.cat([p.detach().flatten() for p in part.parameters() if p.ndim > 1]) for part in model]
                seen.clear()
                loss.backward()
                norms.append(sum(norm**2 for norm in seen) ** 0.5)
                after = [torch.cat([p.detach().flatten() for p in part.parameters() if p.ndim > 1]) for part in model]
                moved.append([((b - a).norm() / a.norm()).item() for a, b in zip(before, after, strict=True)])
                if recorder is not None:
                    recorder.loss(loss)
                    if given != "the list":
                        recorder.step()
                found.append(loss.item())
        if recorder is not None:
            recorder.close()
        return found, norms, moved

    bare, norms, moved = losses(None)
    assert losses(tmp_path / "run.jsonl")[0] == bare
    found = read(tmp_path / "run.jsonl")
    assert len(found) == 40
    assert list(found.scalars["loss"]) == pytest.approx(bare, rel=1e-5)
    assert list(found.scalars["grad_norm"]) == pytest.approx(norms, rel=1e-4)
    for row in (0, 1, 2, 4, 8, 16, 32):
        assert list(found.row("update_to_weight", row)) == pytest.approx(moved[row], rel=1e-3)
    assert found.findings == []


def test_gradients_that_are_gone_are_not_claimed_missing(tmp_path: Path) -> None:
    """`recorder.step()` comes after `zero_grad`."""
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl") as recorder:
        for k in range(30):
            x, y = batch(k)
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
    found = read(recorder.path)
    assert (len(found), found.findings) == (30, [])


@pytest.mark.parametrize("every", [1, 3])
def test_a_compiled_optimizer_is_recorded_and_said(every: int, tmp_path: Path) -> None:
    import torch._dynamo

    def losses(path: Path | None) -> tuple[list[float], list[float], list[list[float]], int]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model: Any = net()
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        recorder = watch(model, path, optimizer=optimizer, every=every) if path is not None else None
        step = torch.compile(optimizer.step, backend="eager")
        found, norms, moved = [], [], []
        for k in range(16):
            x, y = batch(k)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())
            before = model[1].down.weight.detach().clone()
            step()
            moved.append((model[1].down.weight.detach() - before).norm().item())
            tell(recorder, loss)
            found.append(loss.item())
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        if recorder is not None:
            recorder.close()
        return found, norms, moved, graphs

    bare, norms, _, graphs = losses(None)
    with pytest.warns(UserWarning, match="optimizer's step is compiled") as said:
        watched, *_, graphs_watched = losses(tmp_path / "run.jsonl")
    assert sum("addnorm" in str(one.message) for one in said) == 1
    assert (watched, graphs_watched) == (bare, graphs)
    found = read(tmp_path / "run.jsonl")
    assert list(found.steps) == list(range(0, 16, every))
    assert list(found.scalars["loss"]) == pytest.approx(bare[::every], rel=1e-5)
    assert list(found.scalars["grad_norm"]) == pytest.approx(norms[::every], rel=1e-4)
    assert any("compiled" in note for note in found.header["notes"])
    assert all(found.measured("update_to_weight", 1))
    assert found.findings == []


def test_a_compiled_step_of_another_optimizer_is_not_traced(tmp_path: Path) -> None:
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model, other = net(), nn.Linear(4, 4)
    optimizer, of_other = sgd(model), torch.optim.Adam(other.parameters())
    step = torch.compile(of_other.step, backend="eager")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "addnorm")
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
            for k in range(16):
                x, y = batch(k)
                of_other.zero_grad()
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(other(x)), y).backward()
                step()
                optimizer.step()
    assert len(read(tmp_path / "run.jsonl")) == 16
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


# --- passes that no hook sees ---


def transformed(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    def loss_of(weights: dict[str, Tensor]) -> Tensor:
        return nn.functional.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)

    own = dict(model.named_parameters())
    grads, loss = torch.func.grad_and_value(loss_of)({name: p.detach() for name, p in own.items()})
    for name, p in own.items():
        p.grad = grads[name]
    return loss


def as_a_copy(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    twin = copy.deepcopy(model)
    loss = nn.functional.cross_entropy(twin(x), y)
    for p, grad in zip(model.parameters(), torch.autograd.grad(loss, list(twin.parameters())), strict=True):
        p.grad = grad
    return loss


def in_a_compiled_loss(model: nn.Module) -> Any:
    @torch.compile(backend="eager")
    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.cross_entropy(model(x), y)

    def step(_model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        for p in model.parameters():
            p.grad = None
        loss: Tensor = loss_of(x, y)
        loss.backward()
        return loss

    return step


@pytest.mark.parametrize("told", ["before", "after"])
@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (transformed, "inside a transform of torch.func"),
        (as_a_copy, "as a copy"),
        ("compiled", "torch.compile has compiled"),
    ],
)
def test_where_no_hook_runs_weights_are_recorded(step: Any, sentence: str, told: str, tmp_path: Path) -> None:
    import torch._dynamo

    torch._dynamo.reset()
    model = net()
    optimizer = sgd(model)
    take = in_a_compiled_loss(model) if step == "compiled" else step
    norms, losses = [], []

    def loop() -> None:
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
            for k in range(6):
                loss = take(model, *batch(k))
                losses.append(loss.item())
                norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())  # type: ignore[union-attr]
                if told == "before":
                    recorder.loss(loss)
                optimizer.step()
                if told == "after":
                    recorder.loss(loss)

    with pytest.warns(UserWarning, match=sentence):
        loop()
    found = read(tmp_path / "run.jsonl")
    missing = found.steps[0]
    assert missing == (1 if step is as_a_copy else 0)
    assert list(found.steps) == list(range(missing, 6))
    assert list(found.scalars["grad_norm"]) == pytest.approx(norms[missing:], rel=1e-4)
    assert list(found.scalars["loss"]) == pytest.approx(losses[missing:], rel=1e-5)
    assert any(sentence in note for note in found.header["notes"])
