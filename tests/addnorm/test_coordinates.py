"""`addnorm.coordinates` on models of one's own, beside the coordinate check of the package `mup`."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import addnorm

WIDTHS = [32, 64, 128, 256]
Built = tuple[nn.Module, torch.optim.Optimizer]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.w1, self.w2 = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.w2(torch.relu(self.w1(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width: int, depth: int = 2, head: Callable[[int, int], nn.Module] = nn.Linear) -> None:
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = head(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batch() -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(4)
    return torch.randn(16, 8, generator=source), torch.randint(5, (16,), generator=source)


def standard(width: int) -> Built:
    model = Model(width)
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def check(build: Callable[[int], Any], **given: Any) -> addnorm.Coordinates:
    return addnorm.coordinates(build, given.pop("widths", WIDTHS), batch(), loss=nn.functional.cross_entropy, **given)


def test_sizes_are_those_of_a_loop_by_hand_and_a_standard_net_drifts() -> None:
    before = torch.get_rng_state()
    found = check(standard, steps=3, seeds=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert found.sites == ("embed", "blocks.0", "blocks.1", "output")
    x, y = batch()
    torch.manual_seed(1)
    model, optimizer = standard(64)
    for of_step in found.size[1][1]:
        stream = [model.embed(x)]  # type: ignore[operator]
        for block in model.blocks:  # type: ignore[union-attr]
            stream.append(block(stream[-1]))
        logits = model(x)
        assert of_step == pytest.approx([one.square().mean().sqrt().item() for one in (*stream, logits)], rel=1e-5)
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, y).backward()
        optimizer.step()
    assert not found.flat
    assert "Drifts: after 3 steps" in str(found)
    assert found.slope(3, "blocks.1") > 0.2


def test_it_reads_what_the_coordinate_check_of_mup_reads() -> None:
    mup = pytest.importorskip("mup", reason="the package mup is not installed")
    from mup.coord_check import get_coord_data

    def made(width: int) -> nn.Module:
        torch.manual_seed(0)
        model = Model(width, head=mup.MuReadout)
        base, delta = Model(32, head=mup.MuReadout), Model(48, head=mup.MuReadout)
        return mup.set_base_shapes(model, base, delta=delta)

    def built(width: int) -> Built:
        model = made(width)
        return model, mup.MuAdam(model.parameters(), lr=0.01)

    found = check(built, seeds=1)
    lazy = {width: lambda width=width: made(width) for width in WIDTHS}
    how: dict[str, Any] = {"cuda": False, "show_progress": False, "nseeds": 1, "nsteps": 5, "lr": 0.01}
    theirs = get_coord_data(lazy, [batch()] * 5, "adam", output_fdict={"l2": "l2"}, **how)
    for site in found.sites:
        own = theirs[theirs["module"] == ("head" if site == "output" else site)]
        for at, width in enumerate(WIDTHS):
            sizes = own[own["width"] == width].sort_values("t")["l2"].tolist()
            assert sizes == pytest.approx([of_step[found.sites.index(site)] for of_step in found.size[at][0]], rel=1e-4)
    assert abs(found.slope(4, "blocks.1")) < abs(check(standard, seeds=1).slope(4, "blocks.1")) / 2


def test_a_model_that_is_flat_by_construction_is_called_flat() -> None:
    class Same(nn.Module):
        """A stream that training does not move, and a head that reads the mean of it."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.start = nn.Parameter(torch.ones(width), requires_grad=False)
            self.head = nn.Parameter(torch.ones(5))

        def forward(self, x: Tensor) -> Tensor:
            return (self.start * x.abs().mean(-1, keepdim=True)).mean(-1, keepdim=True) * self.head

    def build(width: int) -> Built:
        model = Same(width)
        return model, torch.optim.SGD([model.head], lr=0.1)

    found = check(build)
    assert found.flat
    assert found.verdict.startswith("Flat: after 4 steps")
    assert all(abs(found.slope(step, "output")) < 1e-5 for step in range(5))


def heads(width: int) -> Built:
    nn.MultiheadAttention(width, 16)
    return standard(width)


def deeper(width: int) -> Built:
    model = Model(width, depth=2 if width == 32 else 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


@pytest.mark.parametrize(
    ("build", "given", "sentence"),
    [
        (standard, {"widths": [32]}, r"widths is \[32\]; legal are 2 to 24 different"),
        (standard, {"widths": [32, 32]}, "legal are 2 to 24 different"),
        (standard, {"widths": [32, -1]}, "whole numbers above 0"),
        (standard, {"widths": [32, 64.0]}, "whole numbers above 0"),
        (standard, {"steps": 0}, "steps is 0; legal is a whole number from 1 to 100"),
        (standard, {"seeds": 1e300}, "seeds is 1e"),
        (heads, {"widths": [32, 40]}, r"build\(40\) failed: .*embed_dim must be divisible by num_heads"),
        (deeper, {}, r"build\(32\) and build\(64\) differ in their parameters: the models may differ only in width"),
        (Model, {}, r"build\(32\) returns Model; legal is a model and its optimizer"),
    ],
)
def test_bad_input_gets_one_sentence(build: Callable[[int], Any], given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check(build, **given)


def test_an_output_of_zeros_has_no_slope() -> None:
    def build(width: int) -> Built:
        model = Model(width)
        nn.init.zeros_(model.head.weight)
        nn.init.zeros_(model.head.bias)
        return model, torch.optim.SGD(model.parameters(), lr=0.1)

    found = check(build, widths=[16, 32], seeds=1)
    assert math.isnan(found.slope(0, "output"))
    assert math.isfinite(found.slope(4, "output"))
