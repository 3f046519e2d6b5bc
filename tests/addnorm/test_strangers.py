"""Training loops as strangers write them: each row holds the passes that its update was made of, and nothing else.

What is expected is computed by plain autograd on the same net, without hooks of ours.
"""

import copy
import io
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap

import addnorm.recorder
from addnorm import watch
from addnorm.recording import Recording, read
from tests.addnorm.loops import batch, net, rms, train

ROOT = Path(__file__).parents[2]
Row = tuple[list[float], list[float]]


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 0.1)


def loss_of(model: nn.Module, k: int) -> Tensor:
    x, y = batch(k)
    return nn.functional.cross_entropy(model(x), y)


class Stream:
    """The stream of `net` in every forward pass of a step, and its gradients as autograd itself gives them."""

    def __init__(self, model: nn.Module) -> None:
        self.passes: list[list[Tensor]] = []
        self.grads: dict[int, Tensor] = {}  # by tensor
        parts = list(model)[:-1]  # type: ignore[call-overload]
        self.handles = [part.register_forward_hook(self._keep) for part in parts]
        self.first = parts[0]

    def _keep(self, part: nn.Module, _given: Any, output: Tensor) -> None:
        if part is self.first:
            self.passes.append([])
        self.passes[-1].append(output)

    def counts(self, loss: Tensor) -> Tensor:
        """The loss, whose gradient is part of the update."""
        tensors = [tensor for one in self.passes for tensor in one if tensor.requires_grad]
        found = torch.autograd.grad(loss, tensors, retain_graph=True, allow_unused=True)
        for tensor, gradient in zip(tensors, found, strict=True):
            if gradient is not None:
                self.grads[id(tensor)] = self.grads.get(id(tensor), torch.zeros(())) + gradient
        return loss

    def row(self, passes: Sequence[int]) -> Row:
        """Signal and gradient over some of the passes, as of one large batch."""
        sites = list(zip(*(self.passes[at] for at in passes), strict=True))
        return (
            [rms(torch.cat(tensors)) for tensors in sites],
            [rms(torch.cat([self.grads[id(tensor)] for tensor in tensors])) for tensors in sites],
        )


Counts = Callable[[Tensor], Tensor]
Step = Callable[[nn.Module, torch.optim.Optimizer, int, Counts], Any]


def assert_rows(recording: Recording, rows: Sequence[Row]) -> None:
    assert len(recording) == len(rows)
    for at, (act, gradient) in enumerate(rows):
        assert list(recording.row("act_rms", at)) == pytest.approx(act, rel=1e-5)
        assert list(recording.row("grad_rms", at)) == pytest.approx(gradient, rel=1e-5)


def by_hand(step: Step, passes: Sequence[int], steps: int = 3, make: Callable[..., Any] = sgd) -> list[Row]:
    """The rows of a loop, each of some of the step's forward passes."""
    model = net()
    optimizer, found = make(model), []
    for k in range(steps):
        stream = Stream(model)
        step(model, optimizer, k, stream.counts)
        found.append(stream.row(passes))
        for handle in stream.handles:
            handle.remove()
    return found


def watched(step: Step, folder: Path, steps: int = 3, make: Callable[..., Any] = sgd) -> Recording:
    """What is recorded of a loop, without a warning."""
    model = net()
    optimizer = make(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for of_torch in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", of_torch)
        warnings.filterwarnings("ignore", "Using backward\\(\\) with create_graph=True")
        with watch(model, folder / "run.jsonl", optimizer=optimizer) as recorder:
            for k in range(steps):
                step(model, optimizer, k, lambda loss: loss)
    recording = read(recorder.path)
    assert (recording.end or {}).get("end") == "done"
    return recording


# --- what asks for gradients between a forward pass and its update ---


def penalty(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """The gradient penalty of WGAN-GP: the loss holds a gradient of the output."""
    x, y = batch(k)
    x.requires_grad_()
    output = model(x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    optimizer.zero_grad()
    counts(nn.functional.cross_entropy(output, y) + 0.01 * (slope.norm(dim=1) - 1).square().mean()).backward()
    optimizer.step()


def saliency(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """A map of the input's gradient, drawn before the update."""
    x, y = batch(k)
    x.requires_grad_()
    loss = nn.functional.cross_entropy(model(x), y)
    torch.autograd.grad(100 * loss, x, retain_graph=True)
    optimizer.zero_grad()
    counts(loss).backward()
    optimizer.step()


def hutchinson(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """An estimate of the Hessian's diagonal from the gradients of a backward pass, as AdaHessian makes it."""
    optimizer.zero_grad()
    counts(loss_of(model, k)).backward(create_graph=True)
    grads = [p.grad for p in model.parameters()]
    torch.autograd.grad(grads, list(model.parameters()), [torch.ones_like(p) for p in model.parameters()])
    for p in model.parameters():
        p.grad = p.grad.detach()  # type: ignore[union-attr]
    optimizer.step()


def attack(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """Training on a batch that a step along the input's gradient has made harder."""
    x, y = batch(k)
    x.requires_grad_()
    (slope,) = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), x)
    optimizer.zero_grad()
    counts(nn.functional.cross_entropy(model((x + slope.sign()).detach()), y)).backward()
    optimizer.step()


def attack_by_backward(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """The same, written with `backward`, whose gradients of the weights `zero_grad` throws away."""
    x, y = batch(k)
    x.requires_grad_()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.zero_grad()
    counts(nn.functional.cross_entropy(model((x + x.grad.sign()).detach()), y)).backward()  # type: ignore[union-attr]
    optimizer.step()


def attack_with_zeros(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """The same, with gradients that are set to zero in place."""
    optimizer.zero_grad(set_to_none=False)
    (100 * loss_of(model, 100 + k)).backward()
    optimizer.zero_grad(set_to_none=False)
    counts(loss_of(model, k)).backward()
    optimizer.step()


def target(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """What the net says of the next state is the goal for this one, as in deep Q-learning."""
    goal = model(batch(100 + k)[0] * 10).detach()
    optimizer.zero_grad()
    counts((model(batch(k)[0]) - goal).square().mean()).backward()
    optimizer.step()


def two_parts(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """A discriminator's real and fake batch, each with a backward pass of its own."""
    optimizer.zero_grad()
    counts(loss_of(model, k)).backward()
    counts(loss_of(model, 100 + k)).backward()
    optimizer.step()


def two_at_once(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """Two forward passes before one backward pass."""
    optimizer.zero_grad()
    counts(loss_of(model, k) + loss_of(model, 100 + k)).backward()
    optimizer.step()


def asked_for(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """Gradients that `autograd.grad` gives and the loop stores itself."""
    grads = torch.autograd.grad(counts(loss_of(model, k)), list(model.parameters()))
    for p, one in zip(model.parameters(), grads, strict=True):
        p.grad = one
    optimizer.step()


def norm_of_the_gradient(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """A penalty on the weights' gradient, with `autograd.grad` throughout."""
    loss = loss_of(model, k)
    grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    whole = loss + 0.1 * torch.stack([one.square().sum() for one in grads]).sum()
    for p, one in zip(model.parameters(), torch.autograd.grad(counts(whole), list(model.parameters())), strict=True):
        p.grad = one
    optimizer.step()


def two_tasks(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """A backward pass for each of two tasks on one forward pass, whose gradients the loop puts together (PCGrad)."""
    x, y = batch(k)
    output, found = model(x), []
    for loss in (nn.functional.cross_entropy(output, y), output.square().mean()):
        optimizer.zero_grad()
        counts(loss).backward(retain_graph=True)
        found.append([p.grad.clone() for p in model.parameters()])  # type: ignore[union-attr]
    for p, *grads in zip(model.parameters(), *found, strict=True):
        p.grad = grads[0] + grads[1]
    optimizer.step()


def two_batches(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """The gradients of two batches, kept apart to compare them, and then put together."""
    found = []
    for at in (k, 100 + k):
        optimizer.zero_grad()
        counts(loss_of(model, at)).backward()
        found.append([p.grad.clone() for p in model.parameters()])  # type: ignore[union-attr]
    for p, *grads in zip(model.parameters(), *found, strict=True):
        p.grad = grads[0] + grads[1]
    optimizer.step()


def looked_at(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    """A backward pass on one part of the loss, to log its gradient, and then the one that counts."""
    x, y = batch(k)
    output = model(x)
    one, other = nn.functional.cross_entropy(output, y), output.square().mean()
    optimizer.zero_grad()
    other.backward(retain_graph=True)
    optimizer.zero_grad()
    counts(one + other).backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("step", "passes"),
    [
        (penalty, [0]), (saliency, [0]), (hutchinson, [0]), (attack, [1]), (attack_by_backward, [1]), (attack_with_zeros, [1]),
        (target, [1]), (two_parts, [0, 1]), (two_at_once, [0, 1]), (asked_for, [0]), (norm_of_the_gradient, [0]),
        (two_tasks, [0]), (two_batches, [0, 1]), (looked_at, [0]),
    ],
)  # fmt: skip
def test_a_row_holds_the_passes_that_its_update_was_made_of(step: Step, passes: list[int], tmp_path: Path) -> None:
    assert_rows(watched(step, tmp_path), by_hand(step, passes))


class Sharp(torch.optim.Optimizer):
    """Sharpness-aware minimisation: an update with the gradient at a point that the first gradient leads to."""

    def __init__(self, parameters: Any) -> None:
        self.inner: torch.optim.Optimizer
        super().__init__(parameters, {})
        self.inner = torch.optim.SGD(self.param_groups, 0.1)
        self.param_groups = self.inner.param_groups

    @torch.no_grad()
    def first(self) -> None:
        self.moved = [0.05 * p.grad / p.grad.norm() for group in self.param_groups for p in group["params"]]
        for p, way in zip(self.param_groups[0]["params"], self.moved, strict=True):
            p.add_(way)
        self.zero_grad()

    @torch.no_grad()
    def second(self) -> None:
        for p, way in zip(self.param_groups[0]["params"], self.moved, strict=True):
            p.sub_(way)
        self.inner.step()

    def step(self, closure: Any = None) -> None:
        self.first()
        with torch.enable_grad():
            closure()
        self.second()


def sharp(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    optimizer.zero_grad()
    loss_of(model, k).backward()
    assert isinstance(optimizer, Sharp)
    optimizer.first()
    counts(loss_of(model, k)).backward()
    optimizer.second()


def sharp_with_a_closure(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
    optimizer.zero_grad()
    loss_of(model, k).backward()
    optimizer.step(lambda: counts(loss_of(model, k)).backward())  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("step", [sharp, sharp_with_a_closure])
def test_of_two_gradients_to_an_update_the_row_holds_the_one_that_is_stepped_on(step: Step, tmp_path: Path) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return Sharp(model.parameters())

    recording = watched(step, tmp_path, make=make)
    assert_rows(recording, by_hand(step, [1], make=make))
    assert list(recording.steps) == [0, 1, 2]


def test_a_closure_that_is_evaluated_many_times_is_the_row_of_its_first_time(tmp_path: Path) -> None:
    """At the weights that the row's update starts from."""
    losses: list[Tensor] = []
    norms: list[float] = []

    def searched(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
        first = True

        def closure() -> Tensor:
            nonlocal first
            optimizer.zero_grad()
            loss = loss_of(model, k)
            (counts(loss) if first else loss).backward()
            if first:
                norms.append(rms(torch.cat([p.grad.flatten() for p in model.parameters()])))  # type: ignore[union-attr]
            first = False
            if (recorder := addnorm.recorder._watched.get(model)) is not None:
                recorder.loss(loss)
            return loss

        losses.append(optimizer.step(closure).detach())  # type: ignore[arg-type, union-attr, call-overload, attr-defined]

    def make(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.LBFGS(model.parameters(), 0.1, max_iter=4)

    rows = by_hand(searched, [0], make=make)
    recording = watched(searched, tmp_path, make=make)
    assert_rows(recording, rows)
    assert losses[:3] == losses[3:]
    assert list(recording.scalars["loss"]) == pytest.approx([loss.item() for loss in losses[:3]])
    size = sum(p.numel() for p in net().parameters()) ** 0.5
    assert list(recording.scalars["grad_norm"]) == pytest.approx([size * norm for norm in norms[:3]], rel=1e-5)


# --- transforms of torch.func ---


def transforms(model: nn.Module) -> list[Any]:
    """What people ask of a model between two updates: gradients by sample, Jacobians, Hessians, directional slopes."""
    weights = {name: p.detach() for name, p in model.named_parameters()}
    x, y = batch(7)

    def loss(weights: dict[str, Tensor], one: Tensor, label: Tensor) -> Tensor:
        return nn.functional.cross_entropy(functional_call(model, weights, (one[None],)), label[None])

    twins = [net() for _ in range(2)]
    return [
        vmap(grad(loss), (None, 0, 0))(weights, x, y)["0.weight"],
        vmap(jacrev(model))(x),
        hessian(lambda one: model(one).sum())(x[0]),
        jvp(model, (x,), (torch.ones_like(x),))[1],
        vmap(lambda weights: functional_call(model, weights, (x,)))(stack_module_state(twins)[0]),
        torch.autograd.functional.jacobian(model, x, vectorize=True),
        torch.autograd.functional.hessian(lambda one: model(one).sum(), x[0]),
    ]


def test_transforms_of_a_watched_model_are_left_out_and_recording_goes_on(tmp_path: Path) -> None:
    def step(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
        found.append(transforms(model))
        optimizer.zero_grad()
        loss = counts(loss_of(model, k))
        found.append(transforms(model))
        loss.backward()
        optimizer.step()

    def plain(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
        optimizer.zero_grad()
        counts(loss_of(model, k)).backward()
        optimizer.step()

    found: list[Any] = []
    recording = watched(step, tmp_path)
    assert_rows(recording, by_hand(plain, [0]))
    assert [site.name for site in recording.sites] == ["0", "1", "2", "3"]
    torch.testing.assert_close(found[0], transforms(net()))


def test_a_model_that_uses_transforms_itself_is_recorded(tmp_path: Path) -> None:
    class Field(nn.Module):
        """The slope of an energy, as models of forces are made."""

        def __init__(self, *, transformed: bool) -> None:
            super().__init__()
            self.net, self.transformed = net(), transformed

        def forward(self, x: Tensor) -> Tensor:
            if self.transformed:
                return self.net(x) + vmap(grad(lambda one: self.net(one).sum()))(x)[:, :3]
            x = x.detach().requires_grad_()
            energy = self.net(x)
            return energy + torch.autograd.grad(energy.sum(), x, create_graph=True)[0][:, :3]

    rows = []
    for transformed in (True, False):
        model = Field(transformed=transformed)
        optimizer = sgd(model)
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
            train(model, optimizer, recorder)
        recording = read(recorder.path)
        assert (len(recording), [site.name for site in recording.sites][-1]) == (3, "net.3")
        rows.append(recording)
    assert rows[0].series["act_rms"] == pytest.approx(rows[1].series["act_rms"], rel=1e-5)
    assert rows[0].scalars["grad_norm"] == pytest.approx(rows[1].scalars["grad_norm"], rel=1e-5)


def test_meta_learning_records_the_gradient_that_the_outer_update_is_made_of(tmp_path: Path) -> None:
    """Model-agnostic meta-learning: an inner step on weights that are not the model's own."""

    def step(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
        own = dict(model.named_parameters())
        (x, y), (x2, y2) = batch(k), batch(100 + k)
        inner = nn.functional.cross_entropy(functional_call(model, own, (x,)), y)
        slopes = torch.autograd.grad(inner, list(own.values()), create_graph=True)
        fast = {name: p - 0.1 * slope for (name, p), slope in zip(own.items(), slopes, strict=True)}
        optimizer.zero_grad()
        counts(nn.functional.cross_entropy(functional_call(model, fast, (x2,)), y2)).backward()
        optimizer.step()

    def backwards(model: nn.Module, optimizer: torch.optim.Optimizer, k: int, counts: Counts) -> None:
        """The first pass that is traced runs on other weights too."""
        functional_call(model, {name: 2 * p for name, p in model.named_parameters()}, (batch(k)[0],)).sum()
        step(model, optimizer, k, counts)

    assert_rows(watched(step, tmp_path), by_hand(step, [0, 1]))
    recording = watched(backwards, tmp_path)
    assert_rows(recording, by_hand(backwards, [1, 2]))
    assert all(recording.masks["weight_grad_rms"])


# --- copies and files ---


def test_what_is_saved_or_copied_while_a_model_is_watched_is_as_if_it_were_not(tmp_path: Path) -> None:
    """It loads where addnorm is not installed, in a process of its own."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.Linear(4, 8), layer, nn.Linear(8, 3))
    optimizer = sgd(model)
    handle = model[1].register_forward_hook(print)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    clean = {name: pickle.dumps(one) for name, one in (("model", model), ("optimizer", optimizer), ("scaler", scaler))}
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, scaler=scaler, detail="heads"):
        for at in range(2):
            saved = {
                "model": model,
                "optimizer": optimizer,
                "scaler": scaler,
                "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1),
            }
            for name, one in saved.items():
                buffer = io.BytesIO()
                torch.save(one, buffer)
                assert b"addnorm" not in buffer.getvalue() + pickle.dumps(one), (name, at)
                (tmp_path / f"{name}.pt").write_bytes(buffer.getvalue())
            twin, shallow = copy.deepcopy(model), copy.copy(model)
            for one in (twin, shallow):
                assert not one._forward_hooks
                assert not one._forward_pre_hooks
            kept = [hook for part in twin.modules() for hook in part._forward_hooks.values()]
            assert kept == ([] if at else [print])
            assert not twin._forward_pre_hooks_with_kwargs
            assert not twin._forward_hooks_always_called
            model.share_memory()
            handle.remove()
            scaler.scale(model(torch.ones(2, 3, 4)).square().mean()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    assert len(read(tmp_path / "run.jsonl")) == 2
    assert "__reduce_ex__" not in vars(nn.Module)
    assert len(pickle.loads(clean["model"])) == len(model)
    loading = f"""
        import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules["addnorm"] = None
        import torch
        for name in ("model", "optimizer", "scaler", "scheduler"):
            found = torch.load({str(tmp_path)!r} + f"/{{name}}.pt", weights_only=False)
        model = torch.load({str(tmp_path)!r} + "/model.pt", weights_only=False)
        print(model(torch.ones(2, 3, 4)).shape)
    """
    said = subprocess.run([sys.executable, "-c", textwrap.dedent(loading)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


def answer(model: nn.Module, into: Any) -> None:
    """Run in a process of its own."""
    into.put(("addnorm.recorder" in sys.modules, model(torch.ones(2, 4)).sum().item()))


def in_another_process(how: str, path: str) -> None:
    """Trains, lets another process run the watched model, and trains on. The main program of a process of its own."""
    from torch import multiprocessing

    torch.set_num_threads(1)  # a fork has none of the others, for which it would wait
    model = net()
    optimizer = sgd(model)
    with watch(model, path, optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 1)
        model.share_memory()
        context = multiprocessing.get_context(how)
        answers = context.SimpleQueue()
        process = context.Process(target=answer, args=(model, answers))
        process.start()
        assert answers.get()[1] == pytest.approx(model(torch.ones(2, 4)).sum().item())
        process.join()
        train(model, optimizer, recorder, 1)


@pytest.mark.full
@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_a_watched_model_goes_to_another_process(how: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    # Not from this process, whose main module a page of another test may have taken: what is spawned would run it.
    main = f"from tests.addnorm.test_strangers import in_another_process as go; go({how!r}, {str(path)!r})"
    subprocess.run([sys.executable, "-c", main], check=True, timeout=120, cwd=Path(__file__).parents[2])
    assert len(read(path)) == 2


# --- losses of small batches ---


@pytest.mark.parametrize("told", ["shares", "losses"])
@pytest.mark.parametrize(
    ("as_number", "scaled", "before"),
    [(False, False, False), (True, True, False), (True, False, True), (False, True, True)],
)  # every pair of the three
def test_the_loss_of_small_batches_is_right_in_both_habits_of_telling_it(
    told: str, as_number: bool, scaled: bool, before: bool, tmp_path: Path
) -> None:
    model = net()
    optimizer, expected = sgd(model), []
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for step in range(3):
            losses = []
            for part in range(4):
                loss = loss_of(model, 4 * step + part)
                say = loss / 4 if told == "shares" else loss
                if before:
                    recorder.loss(say.item() if as_number else say)
                scaler.scale(loss / 4).backward()
                if not before:
                    recorder.loss(say.item() if as_number else say)
                losses.append(loss.item())
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            expected.append(sum(losses) / 4)
    recording = read(recorder.path)
    assert list(recording.scalars["loss"]) == pytest.approx(expected, rel=1e-6)
    assert recording.loss_shares == ({0: 4, 1: 4, 2: 4} if told == "shares" else {})
    assert ("the sum of the 4 told" in str(recording)) is (told == "shares")


def test_losses_of_small_batches_that_only_nearly_are_what_was_stepped_on_are_told_apart(tmp_path: Path) -> None:
    """The loop tells the cross-entropy, and steps on that and a little more."""
    for told in (1.0, 0.25):
        model = net()
        optimizer = sgd(model)
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
            losses = [loss_of(model, k) for k in range(4)]
            for loss in losses:
                ((loss + 0.1 * model[0].weight.square().sum()) / 4).backward()
                recorder.loss(told * loss)
            optimizer.step()
        mean = sum(loss.item() for loss in losses) / 4
        assert read(recorder.path).scalars["loss"][0] == pytest.approx(mean, rel=1e-6)


def test_of_losses_that_are_told_beside_one_backward_pass_the_mean_counts_as_ever(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        real, fake = loss_of(model, 0), loss_of(model, 1)
        (real + fake).backward()
        recorder.loss(real)
        recorder.loss(fake)
        optimizer.step()
    assert read(recorder.path).scalars["loss"][0] == pytest.approx((real.item() + fake.item()) / 2, rel=1e-6)


def test_an_optimizer_that_no_hook_hears_is_said_and_step_closes_the_rows(tmp_path: Path) -> None:
    class Foreign:
        """Updates weights and is no optimiser of torch's."""

        param_groups: tuple[()] = ()

    with pytest.warns(UserWarning, match="call recorder.step\\(\\) before every update"):
        recorder = watch(model := net(), tmp_path / "run.jsonl", optimizer=Foreign())  # type: ignore[arg-type]
    with recorder:
        loss_of(model, 0).backward()
        recorder.step()
    assert len(read(recorder.path)) == 1
