"""One pass, measured: its numbers, what it leaves as it was, and what it says of a number that is not finite."""

import copy
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import addnorm
from tests.addnorm.loops import Block, Restless, batch, net, recorded

SITES = ["0", "1", "2", "3"]


def cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    return nn.functional.cross_entropy(output, target)


def test_it_has_the_numbers_of_the_first_row_of_a_recording(tmp_path: Path) -> None:
    first = recorded(net(), tmp_path, steps=1)
    found = addnorm.profile(net(), batch(0), cross_entropy)
    assert found.sites == [site.name for site in first.sites] == SITES
    assert found.signal == list(first.row("act_rms", 0))
    assert found.gradient == list(first.row("grad_rms", 0))
    assert list(found.recording.row("weight_grad_rms", 0)) == list(first.row("weight_grad_rms", 0))
    assert found.loss == first.scalars["loss"][0]
    assert found.recording.scalars["grad_norm"][0] == first.scalars["grad_norm"][0]
    assert found.cause == ""
    assert found.verdict in str(found)
    assert "srcdoc" in found._repr_mimebundle_()["text/html"]
    assert repr(found) == "<Profile of Sequential, 4 sites>"


@pytest.mark.parametrize("training", [True, False])
def test_it_leaves_the_model_and_all_random_states_as_they_were(training: bool) -> None:
    torch.manual_seed(0)
    model = Restless().train(training)
    model.block.down.eval()
    model(batch(1)[0]).sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    before, modes = copy.deepcopy(model.state_dict()), [module.training for module in model.modules()]
    values = {name: grad.clone() for name, grad in grads.items() if grad is not None}
    calls, hooks = model.calls, [len(module._forward_hooks) for module in model.modules()]
    x = batch(0)[0].requires_grad_()
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    addnorm.profile(model, x)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states[1:]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.calls is calls
    assert all(p.grad is grads[name] for name, p in model.named_parameters())
    assert all(torch.equal(p.grad, values[name]) for name, p in model.named_parameters() if p.grad is not None)
    assert [module.training for module in model.modules()] == modes
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert x.grad is None
    assert not x._backward_hooks


def test_it_is_told_in_one_sentence_what_cannot_be_measured() -> None:
    model, (x, y) = net(), batch(0)
    for off in (torch.no_grad, torch.inference_mode):
        with off(), pytest.raises(RuntimeError, match=r"^profile measures gradients, which are switched off here"):
            addnorm.profile(model, (x, y), cross_entropy)
    with pytest.raises(ValueError, match="not one number"):
        addnorm.profile(model, x, lambda output: output)
    with pytest.raises(ValueError, match="without a shape yet"):
        addnorm.profile(nn.LazyLinear(3), x)
    with pytest.raises(TypeError):
        addnorm.profile(model, (x, y))  # the model takes one argument
    assert all(p.grad is None for p in model.parameters())


class Named(nn.Module):
    """Takes its arguments by name, and has its loss in its output."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        logits = self.net(x)
        return {"loss": cross_entropy(logits, y), "logits": logits}


def test_a_batch_may_be_tensor_tuple_or_mapping() -> None:
    x, y = batch(0)
    given = addnorm.profile(net(), (x, y), cross_entropy)
    own = addnorm.profile(Named(), {"x": x, "y": y})
    assert (own.gradient, own.loss) == (given.gradient, given.loss)
    assert addnorm.profile(Named(), (x, y)).loss == given.loss
    alone = addnorm.profile(net(), x)
    assert alone.signal == given.signal
    assert "No loss was given: the gradient is that of a fixed random projection of the output." in str(alone)
    assert math.isnan(alone.loss)
    assert alone.gradient == addnorm.profile(net(), x).gradient
    frozen = addnorm.profile(net().requires_grad_(False), x)
    assert "so there are no gradients" in str(frozen)
    assert frozen.signal == given.signal


class Classifier(nn.Module):
    """The backbone of a post-norm encoder, with a head or without."""

    def __init__(self, *, head: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 6), nn.Linear(32, 10) if head else None

    def forward(self, x: Tensor) -> Tensor:
        x = self.encoder(x)
        return x if self.head is None else self.head(x.mean(1))


def test_a_missing_loss_is_a_random_projection() -> None:
    """A mean square of the output would be constant behind the norm."""
    torch.manual_seed(1)
    x, y = torch.randn(8, 10, 32), torch.randint(10, (8,))
    factors = []
    for head in (False, True):
        model = Classifier(head=head)
        found = addnorm.profile(model, (x, y) if head else x, cross_entropy if head else None)
        kept: list[Tensor] = []
        for layer in model.encoder.layers:
            layer.register_forward_hook(lambda _layer, _given, output, kept=kept: kept.append(output))
        output = model(x)
        if head:
            loss = cross_entropy(output, y)
        else:
            fixed = torch.randn(output.shape, generator=torch.Generator().manual_seed(0))
            loss = (output * fixed).mean()
        by_layer = [grad.square().mean().sqrt().item() for grad in torch.autograd.grad(loss, kept)]
        ends = [found.gradient[found.sites.index(f"encoder.layers.{at}")] for at in range(6)]
        assert ends == pytest.approx(by_layer, rel=1e-4)
        factors.append(by_layer[-1] / by_layer[0])
        assert "its gradient stays within a factor of 1." in found.verdict
        assert "Small nets that start like it" not in str(found)
    assert all(0.5 < factor < 2 for factor in factors)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("loss", [lambda output: output.square().mean(), torch.sum])
def test_no_verdict_is_given_on_a_gradient_that_lies_within_rounding(
    loss: Callable[..., Tensor], norm_first: bool
) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=norm_first)
    norm = nn.LayerNorm(32) if norm_first else None
    model = nn.Sequential(nn.Linear(32, 32), nn.TransformerEncoder(layer, 6, norm, enable_nested_tensor=False))
    found = addnorm.profile(model, torch.randn(8, 10, 32), loss)
    before = "the model's output" if norm_first else "1.layers.5"
    assert f"Before {before} the gradient is no larger than rounding errors and is left out" in str(found)
    assert sum(map(math.isfinite, found.gradient)) == (not norm_first)
    assert "its gradient" not in found.verdict
    assert "of the gradient comes back" not in str(found)


def test_a_gradient_that_really_vanishes_is_not_taken_for_rounding() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(32, 32, bias=False) for _ in range(6)))
    for part in model:
        nn.init.normal_(part.weight, std=1e-6)
    found = addnorm.profile(model, torch.randn(8, 32))
    assert all(map(math.isfinite, found.gradient))
    assert "within rounding" not in str(found)


class Checkpointed(nn.Module):
    """A net whose blocks are computed again on the way back; `reentrant`: the old way, which autograd.grad refuses."""

    def __init__(self, *, reentrant: bool) -> None:
        super().__init__()
        self.net, self.reentrant = net(), reentrant

    def forward(self, x: Tensor) -> Tensor:
        for block in self.net:
            x = checkpoint(block, x, use_reentrant=self.reentrant) if isinstance(block, Block) else block(x)
        return x


def test_checkpoints_are_measured_as_far_as_they_can_be_and_leave_no_gradient() -> None:
    plain = addnorm.profile(net(), batch(0), cross_entropy)
    new = addnorm.profile(Checkpointed(reentrant=False), batch(0), cross_entropy)
    assert (new.signal, new.gradient) == (plain.signal, plain.gradient)
    model = Checkpointed(reentrant=True)
    old = addnorm.profile(model, batch(0), cross_entropy)
    assert old.signal == plain.signal
    assert old.recording.scalars["grad_norm"] == plain.recording.scalars["grad_norm"]
    assert "Inside reentrant checkpoints no gradients were measured" in str(old)
    assert all(p.grad is None for p in model.parameters())


def test_a_recording_of_the_same_model_does_not_notice(tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with addnorm.watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(3):
            x, y = batch(k)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            addnorm.profile(model, (x, y), cross_entropy)
            optimizer.step()
    plain = recorded(net(), tmp_path / "plain")
    again = addnorm.read(recorder.path)
    assert [list(again.row("act_rms", at)) for at in range(3)] == [list(plain.row("act_rms", at)) for at in range(3)]
    assert [list(again.row("grad_rms", at)) for at in range(3)] == [list(plain.row("grad_rms", at)) for at in range(3)]


class Broken(nn.Module):
    """Makes a number that is not finite where it is asked to; masks with minus infinity, as attention does."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.start, self.block, self.head = where, nn.Linear(4, 8), Block(), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.start(x)
        scores = torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1).bool(), -torch.inf)
        x = x + scores.softmax(-1) @ x * 0.1
        if self.where == "forward":
            x = x / (x - x)
        x = self.block(x)
        if self.where == "backward":
            x = x + (x - x).sqrt()  # 0 has an infinite slope there
        return self.head(x)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("", ""),
        ("forward", "The first tensor that is not finite is made by div in the model."),
        ("backward", "The first gradient that is not finite is made on the way back through sqrt in the model."),
        ("parameter", "The first tensor that is not finite is the parameter block.up.bias."),
        ("loss", "The first tensor that is not finite is made by log in the loss."),
    ],
)
def test_what_made_the_first_number_that_is_not_finite_is_named(where: str, sentence: str) -> None:
    torch.manual_seed(0)
    model = Broken(where)
    if where == "parameter":
        with torch.no_grad():
            model.block.up.bias[0] = torch.nan
    loss: Callable[..., Any] = (lambda output: (output * 0).log().sum()) if where == "loss" else torch.sum
    found = addnorm.profile(model, batch(0)[0], loss)
    assert found.cause == sentence
    assert sentence in str(found)
    assert ("Not finite" in found.verdict) is bool(sentence)
