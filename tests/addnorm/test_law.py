"""The growth law, read off recordings of nets whose law is known, and off sizes that are computed by hand."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.law import arrangement_of, law_of, law_of_stream, starting_arrangement, stream_of
from addnorm.recording import Recording, read
from components.recordings.page import LIKE
from models.insight.theory import law
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
            "ReZero": lambda: x + 0 * self.branch(x),
            "little": lambda: x + 1e-4 * self.branch(x),
            "plain": lambda: 0.7 * self.one(x).relu(),
            "plain + norm": lambda: self.one(self.norm(x)).relu(),
        }[self.kind]()


def recorded(kind: str, depth: int, folder: Path) -> Recording:
    torch.manual_seed(depth)
    model = nn.Sequential(nn.Linear(16, WIDTH), *(Block(kind) for _ in range(depth)), nn.Linear(WIDTH, 4))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with watch(model, folder / "run.jsonl", optimizer=optimizer) as recorder:
        loss = nn.functional.cross_entropy(model(torch.randn(32, 16)), torch.randint(4, (32,)))
        loss.backward()
        optimizer.step()
    return read(recorder.path)


@pytest.mark.filterwarnings("ignore:addnorm. No residual additions")
@pytest.mark.parametrize("depth", [9, 24])
@pytest.mark.parametrize("kind", ["post-norm", "residual only", "ReZero", "plain", "plain + norm"])
def test_a_net_of_a_known_arrangement_is_recognised_by_its_growth(kind: str, depth: int, tmp_path: Path) -> None:
    found = recorded(kind, depth, tmp_path)
    assert starting_arrangement(found) == kind
    assert f"Your net starts like “{kind}”: " in found.sentence("law", 0)
    assert kind in ARRANGEMENTS


def test_branches_that_add_little_are_not_taken_for_branches_that_add_nothing(tmp_path: Path) -> None:
    found = recorded("little", 12, tmp_path)
    assert starting_arrangement(found) == "little"
    said = found.sentence("law", 0)
    assert "Your net starts with a signal and a gradient that hardly change: the branches add little, or " in said
    assert "ReZero" not in said


# The names that each family's recordings may be given, and the share that must be given one. A family is unnamed where
# its growth is told by no law clearly best, or its gradient does not agree. Sandwich and res-post-norm add as pre-norm
# does; DeepNorm and the scaled skip are post-norm.
FAMILIES: dict[str, tuple[set[str], float]] = {
    "pre-norm": ({"pre-norm"}, 0.2),
    "sandwich": ({"pre-norm"}, 0.4),
    "res-post-norm": ({"pre-norm"}, 0.0),
    "LayerNorm scaling": ({"little"}, 0.0),
    "pre-norm + GPT-2 init": ({"little"}, 0.3),
    "residual only": ({"residual only"}, 0.2),
    "post-norm": ({"post-norm", "little"}, 1.0),
    "scaled skip": ({"post-norm", "little"}, 1.0),
    "DeepNorm": ({"little"}, 1.0),
    "Keel": ({"little"}, 1.0),
    "LayerScale": ({"little"}, 1.0),
    "ReZero": ({"ReZero"}, 1.0),
    "plain": ({"plain"}, 0.2),
    "plain + norm": ({"plain + norm"}, 0.0),
}
IN_SHORT = ("residual only",)  # what is most often taken for another
SHAPES = [(depth, layers, activation) for depth in (7, 24) for layers in (1, 2) for activation in ("relu", "tanh")]


def net(arrangement: str, **fields: Any) -> RunConfig:
    return RunConfig.arranged(arrangement, **{"width": 64, "batch": 16, "device": "cpu"} | fields)


def profile(cfg: RunConfig, tmp_path: Path) -> tuple[list[float], list[float], bool]:
    """Stream and gradient over the sites of a recorded net of `models.nets` before any update, and whether it sums."""
    model, (x, y) = build_model(cfg), open_task(cfg, torch.device("cpu")).batch(0)
    sites = "auto" if cfg.residual else ["stream.blocks.*.stream_tap"]
    with watch(model, tmp_path / "run.jsonl", sites=sites) as recorder:
        loss = nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        recorder.step(loss=loss)
    found = read(recorder.path)
    places = stream_of(found.sites)
    act, grad = ([found.row(name, 0)[place] for place in places] for name in ("act_rms", "grad_rms"))
    assert arrangement_of(act, grad, has_sums=cfg.residual) == starting_arrangement(found)
    return act, grad, cfg.residual


@pytest.mark.parametrize("like", LIKE)
def test_the_small_net_that_is_offered_starts_as_the_recorded_one(like: str, tmp_path: Path) -> None:
    act, grad, summed = profile(replace(LIKE[like], device="cpu"), tmp_path)
    assert arrangement_of(act, grad, has_sums=summed) == like


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in IN_SHORT else pytest.mark.full) for name in FAMILIES]
)
def test_no_family_of_nets_is_given_the_name_of_another(family: str, tmp_path: Path) -> None:
    """Nets of 6 to 96 sites, one and two layers per branch, tanh and ReLU; and each with 2 % of noise on every size."""
    configs = [
        net(family, depth=depth, layers_per_branch=layers, activation=activation)
        for depth, layers, activation in SHAPES
    ]
    configs.append(net(family, depth=96, activation="tanh"))
    if configs[0].residual:
        configs.append(net(family, depth=6, net="transformer", task="book", width=32))
    nets = [profile(cfg, tmp_path) for cfg in configs]
    allowed, least = FAMILIES[family]
    given = [arrangement_of(*net[:2], has_sums=net[2]) for net in nets]
    assert {*given} <= {*allowed, ""}
    assert sum(map(bool, given)) >= least * len(given)
    draw = random.Random(0)
    noisy = [
        arrangement_of(
            *([size * math.exp(draw.gauss(0, 0.02)) for size in sizes] for sizes in net[:2]), has_sums=net[2]
        )
        for net in nets
    ]
    assert {*noisy} <= {*allowed, "", "little"}, "noise makes post-norm of what is level, at most"


def test_a_residual_net_of_tanh_without_a_norm_is_not_taken_for_pre_norm(tmp_path: Path) -> None:
    """Its stream grows like the square root of depth, its gradient twelvefold."""
    act, grad, _ = profile(net("residual only", depth=48, activation="tanh", layers_per_branch=1), tmp_path)
    assert law_of(act).kind == "root"
    assert grad[0] / grad[-1] > 10
    assert arrangement_of(act, grad, has_sums=True) == ""


def test_pre_norm_of_one_layer_is_not_said_to_grow_exponentially(tmp_path: Path) -> None:
    """The mean of its ReLUs adds up in one direction: linear in the end, and over few blocks like an exponential."""
    nets = [net("pre-norm", depth=depth, layers_per_branch=1) for depth in (12, 48)]
    laws = [law_of(profile(cfg, tmp_path)[0]).kind for cfg in nets]
    assert laws[0] in {"linear", "none"}
    assert laws[1] == "linear"


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("depth", [7, 10, 16, 24])
@pytest.mark.parametrize("activation", ["relu", "gelu", "sigmoid"])
def test_branches_with_a_mean_are_never_called_exponential(activation: str, depth: int, gain: float) -> None:
    """By the mean-field law, not by a net: spreads add up in squares, means in proportion."""
    for scale in (1.0, 0.3):
        cfg = net("pre-norm", depth=depth, layers_per_branch=1, activation=activation)
        sizes = np.sqrt(law(replace(cfg, init_gain=gain, branch_scale=scale)).mean_square)[1:]
        for either_way in (sizes, sizes[::-1]):
            assert law_of_stream(either_way.tolist()).kind != "exponential"


@pytest.mark.parametrize("sites", [6, 12, 24, 48, 96])
def test_a_law_between_two_that_have_names_is_neither(sites: int) -> None:
    for power in (1 / 3, 0.75, 1.5):
        grown = [(1 + 2 * at) ** power for at in range(sites)]
        assert law_of(grown).kind == "none"
    falling = [(1 + 0.5 * at) ** -0.5 for at in range(sites)]
    assert law_of(falling).kind == "none", "as tanh shrinks what it is fed"


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


def test_of_a_net_without_a_clear_law_or_arrangement_nothing_is_said() -> None:
    """A finding or nothing: as of the examples that come with the app."""
    for name in ("digits", "x-transformer"):
        found = read(Path(__file__).parents[2] / "examples" / "recordings" / f"{name}.jsonl")
        assert found.sentence("law", len(found) - 1) == ""


def test_sizes_without_a_law_have_none() -> None:
    bumps = [1.0 + 4 * math.sin(at) ** 2 for at in range(20)]
    assert law_of_stream(bumps).kind == "none"
    assert law_of_stream([math.exp(at**2 / 40) for at in range(20)]).kind == "none"
    assert law_of_stream(bumps).predicate() == ""
    draw = random.Random(0)
    scattered = [[math.exp(draw.gauss(0, 1)) for _ in range(16)] for _ in range(200)]
    assert {law_of_stream(sizes).kind for sizes in scattered} == {"none"}
