"""The growth law, read off recordings of nets whose law is known, and off sizes that are computed by hand."""

import math
import random
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.law import law_in_words, law_of, law_of_stream, likeness
from addnorm.read import Recording, read
from models.nets import build_model
from models.spec import ARRANGEMENTS, RunConfig
from models.tasks import open_task

WIDTH = 64


class Block(nn.Module):
    """One block of an arrangement, with weights that keep the size of what they are given (He 2015)."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.norm = kind, nn.LayerNorm(WIDTH)
        self.up, self.down, self.one = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for layer in (self.up, self.down, self.one):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def branch(self, x: Tensor) -> Tensor:
        return self.down(self.up(x).relu())

    def forward(self, x: Tensor) -> Tensor:
        return {
            "pre-norm": lambda: x + self.branch(self.norm(x)),
            "post-norm": lambda: self.norm(x + self.branch(x)),
            "residual only": lambda: x + self.branch(x),
            "ReZero": lambda: x + 1e-4 * self.branch(x),
            "plain": lambda: 0.7 * self.one(x).relu(),
            "plain + norm": lambda: self.one(self.norm(x)).relu(),
        }[self.kind]()


def recorded(kind: str, depth: int, folder: Path) -> Recording:
    torch.manual_seed(depth)
    model = nn.Sequential(nn.Linear(16, WIDTH), *(Block(kind) for _ in range(depth)), nn.Linear(WIDTH, 4))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with watch(model, folder / "run.jsonl", optimizer=optimizer) as tape:
        loss = nn.functional.cross_entropy(model(torch.randn(32, 16)), torch.randint(4, (32,)))
        loss.backward()
        optimizer.step()
    return read(tape.path)


@pytest.mark.filterwarnings("ignore:addnorm. No residual additions")
@pytest.mark.parametrize("depth", [8, 24])
@pytest.mark.parametrize("kind", ["pre-norm", "post-norm", "residual only", "ReZero", "plain", "plain + norm"])
def test_a_net_of_a_known_arrangement_is_recognised_by_its_growth(kind: str, depth: int, tmp_path: Path) -> None:
    found = recorded(kind, depth, tmp_path)
    assert likeness(found) == kind
    assert f"Your net starts like “{kind}”: " in law_in_words(found, 0)
    assert kind in ARRANGEMENTS


@pytest.mark.parametrize(
    ("arrangement", "net"),
    [
        *((name, net) for name in ("pre-norm", "post-norm", "ReZero") for net in ("mlp", "transformer")),
        ("residual only", "mlp"),  # attention without a norm saturates: its gradient has other factors than the stream
    ],
)
def test_the_toy_that_is_offered_grows_as_the_net_does(arrangement: str, net: str, tmp_path: Path) -> None:
    task = "book" if net == "transformer" else "digits"
    cfg = RunConfig.arranged(arrangement, net=net, task=task, depth=12, width=32, batch=16, device="cpu")
    model = build_model(cfg)
    opened = open_task(cfg, torch.device("cpu"))
    with watch(model, tmp_path / "run.jsonl") as tape:
        x, y = opened.batch(0)
        loss = nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        tape.step(loss=loss)
    assert likeness(read(tape.path)) == arrangement


def test_the_laws_of_sizes_that_are_exact() -> None:
    roots = [math.sqrt(2 + 3 * at) for at in range(20)]
    assert law_of(roots).kind == "root"
    assert law_of([1e200 * size for size in roots]).kind == "root"
    grown = law_of([0.5 * 1.3**at for at in range(20)])
    assert (grown.kind, grown.rate) == ("exponential", pytest.approx(1.3))
    assert law_of([1 + 0.3 * at for at in range(15)]).kind == "linear"
    assert law_of([2.0] * 9).kind == "constant"
    assert law_of([1 + 0.01 * at for at in range(15)]).kind == "slight"
    staircase = [math.sqrt(0.2 + 3 * (at // 2)) for at in range(16)]
    assert law_of(staircase).kind == "none"
    assert law_of_stream(staircase).kind == "root"


@pytest.mark.parametrize(
    "sizes", [[1.0, 2.0, 3.0], [], [1.0, 2.0, 0.0, 4.0], [1.0, 2.0, math.nan, 4.0], [1.0, 2.0, math.inf, 4.0]]
)
def test_too_few_sizes_and_sizes_without_a_logarithm_have_no_law(sizes: list[float]) -> None:
    assert law_of(sizes).kind == ""


def test_sizes_without_a_law_are_said_to_have_none() -> None:
    bumps = [1.0 + 4 * math.sin(at) ** 2 for at in range(20)]
    assert law_of_stream(bumps).kind == "none"
    assert law_of_stream([math.exp(at**2 / 40) for at in range(20)]).kind == "none"
    draw = random.Random(0)
    scattered = [[math.exp(draw.gauss(0, 1)) for _ in range(16)] for _ in range(200)]
    assert {law_of_stream(sizes).kind for sizes in scattered} == {"none"}
