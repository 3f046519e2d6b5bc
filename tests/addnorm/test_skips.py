"""Residual additions in the many forms in which people write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.recording import read
from tests.addnorm.loops import rms

Sum = Callable[[Tensor, Tensor, Any], Tensor]  # of a stream, a branch and the block
EVEN = torch.arange(6) % 2 == 0
LEFT = (slice(None), slice(4))


def changed(x: Tensor, change: Callable[[Tensor], object]) -> Tensor:
    """A copy of a tensor, changed in place."""
    y = x.clone()
    change(y)
    return y


SUMS: dict[str, Sum] = {
    "x - f": lambda x, f, _: x - f,
    "f - x": lambda x, f, _: f - x,
    "rsub": lambda x, f, _: torch.rsub(x, f),
    "x.sub_": lambda x, f, _: x.clone().sub_(f),
    "lerp": lambda x, f, _: torch.lerp(x, f, 0.3),
    "lerp with a trained weight": lambda x, f, block: x.lerp(f, block.gain),
    "addcmul with a layer scale": lambda x, f, block: torch.addcmul(x, block.gain, f),
    "addcmul with a gate of the input": lambda x, f, block: torch.addcmul(x, block.gate(x), f, value=0.5),
    "addmm": lambda x, f, block: torch.addmm(x, f, block.matrix),
    "baddbmm": lambda x, f, block: torch.baddbmm(x[None], f[None], block.matrix[None])[0],
    "stack and sum": lambda x, f, _: torch.stack([x, f]).sum(0),
    "stack and mean": lambda x, f, _: torch.mean(torch.stack((x, f), dim=-1), dim=-1),
    "a sum of three": lambda x, f, block: torch.stack([f, block.gate(f), x]).sum(dim=0),
    "cat and sum": lambda x, f, _: torch.cat([x[None], f[None]]).sum(0),
    "index_add": lambda x, f, _: x.index_add(0, torch.arange(0, len(x), 2), f[::2]),
    "index_put": lambda x, f, _: x.index_put((torch.arange(len(x)),), f, accumulate=True),
    "scatter_add": lambda x, f, _: x.scatter_add(0, torch.arange(len(x))[:, None].expand(-1, 8), f),
    "x[0] += f": lambda x, f, _: changed(x, lambda y: y.__setitem__(0, y[0].__iadd__(f[0]))),
    "x[:, :4] = x[:, :4] + f": lambda x, f, _: changed(x, lambda y: y.__setitem__(LEFT, y[LEFT] + f[LEFT])),
    "x[:, :4] = f + g + x[:, :4]": lambda x, f, _: changed(x, lambda y: y.__setitem__(LEFT, f[LEFT] + 1 + y[LEFT])),
    "x[mask] -= f": lambda x, f, _: changed(x, lambda y: y.__setitem__(EVEN, y[EVEN].__isub__(f[EVEN]))),
    "x[:, :4].add_(f)": lambda x, f, _: changed(x, lambda y: y[LEFT].add_(f[LEFT])),
    "where(mask, x + f, x)": lambda x, f, _: torch.where(EVEN[:, None], x + f, x),
    "x.where(mask, f + x)": lambda x, f, _: x.where(EVEN[:, None], f + x),
    "where(mask, x + f, x + g)": lambda x, f, block: torch.where(EVEN[:, None], x + f, x + block.gate(f)),
}


class Skip(nn.Module):
    def __init__(self, add: Sum) -> None:
        super().__init__()
        self.branch = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.gain, self.matrix = nn.Parameter(torch.full((8,), 0.5)), nn.Parameter(torch.randn(8, 8) / 8)
        self.gate, self.add = nn.Linear(8, 8), add

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, self.branch(x), self)


@pytest.mark.parametrize("name", SUMS)
def test_a_skip_is_found_however_it_is_written(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(4, 8), *(Skip(SUMS[name]) for _ in range(3)), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    sizes: list[float] = []
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for step in range(2):
            x = torch.randn(6, 4)
            with torch.no_grad():
                sizes = [rms(model[: at + 1](x)) for at in range(4)]
            model(x).square().mean().backward()
            optimizer.step()
            assert [site.name for site in recorder.sites] == ["0", "1", "2", "3"], step
    found = read(recorder.path)
    assert [site.kind for site in found.sites] == ["start", "sum", "sum", "sum"]
    assert list(found.row("act_rms", 1)) == pytest.approx(sizes, rel=1e-5)


def test_an_error_inside_a_model_is_no_skip() -> None:
    """The differences that a loss is made of, and a deviation from a mean."""

    class Autoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(5)])

        def forward(self, x: Tensor) -> Tensor:
            y = x - x.mean(1, keepdim=True)
            for block in self.blocks:
                y = torch.tanh(block(y))
            return (x - y).square().mean() + (y - x).abs().mean()

    model = Autoencoder()
    with watch(model, to=[Quiet()]) as recorder:
        recorder.step(model(torch.randn(6, 4)))
    assert {site.kind for site in recorder.sites} == {"output"}


def test_what_experts_add_to_zeros_is_no_skip() -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

        def forward(self, x: Tensor) -> Tensor:
            out = torch.zeros_like(x)
            for index, expert in enumerate(self.experts):
                chosen = torch.arange(len(x)) % 4 == index
                if index % 2:
                    out = out.index_add(0, chosen.nonzero()[:, 0], expert(x[chosen]))
                else:
                    out[chosen] += expert(x[chosen])
            return out.where(EVEN[:, None], expert(out))

    model = nn.Sequential(Experts(), Experts(), nn.Linear(8, 3))
    with watch(model, to=[Quiet()]) as recorder:
        recorder.step(model(torch.randn(6, 8)))
    assert {site.kind for site in recorder.sites} == {"output"}


class Quiet:
    def log(self, numbers: Any) -> None:
        """A dashboard that keeps nothing."""


@pytest.mark.parametrize("how", ["cat", "product", "module"])
def test_a_recurrent_state_has_a_site_a_step(how: str, tmp_path: Path) -> None:
    """h = h + f(h, e), where no module is given h alone."""

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.cell, self.head = nn.Linear(4, 8), nn.Linear(16 if how == "cat" else 8, 8), nn.Linear(8, 3)

        def f(self, h: Tensor, e: Tensor) -> Tensor:
            if how == "cat":
                return torch.tanh(self.cell(torch.cat([h, e], -1)))
            return torch.tanh(self.cell(h * e if how == "product" else h)) + (e if how == "module" else 0)

        def forward(self, x: Tensor) -> Tensor:
            e = self.read(x)
            h = e
            self.kept = []
            for _ in range(4):
                h = h + self.f(h, e)
                if h.requires_grad:
                    h.retain_grad()
                self.kept.append(h)
            out: Tensor = self.head(h)
            return out

    torch.manual_seed(0)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(6, 4)).square().mean().backward()
            signal, gradient = [rms(h) for h in model.kept], [rms(h.grad) for h in model.kept]
            optimizer.step()
    found = read(tmp_path / "run.jsonl")
    assert [site.kind for site in found.sites] == ["start", "sum", "sum", "sum", "sum"]
    assert list(found.row("act_rms", 2))[1:] == pytest.approx(signal, rel=1e-5)
    assert list(found.row("grad_rms", 2))[1:] == pytest.approx(gradient, rel=1e-4)
