"""What matters in a recording: said where it is so, from the right step, and what helps does help."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.course import find_rise
from addnorm.findings import HELPS, start_of_last_run, vanished_since
from addnorm.law import starting_arrangement
from addnorm.recording import Reader, Recording, read
from components.recordings.page import LIKE
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LEARNS, outcome
from models.spec import RunConfig
from models.training import Run
from tests.addnorm.test_read import END, HEADER, ROW, SITE


def told(rows: list[dict[str, Any]], blocks: int = 2, kind: str = "sum") -> Recording:
    """A recording of these rows, with what they lack filled in: two sites, and blocks that are called block 0 and on."""
    sites = [{**SITE, "name": f"site {at}", "kind": kind} for at in range(2)]
    named = [{"name": f"block {at}", "site": at, "parameters": 4} for at in range(blocks)]
    filled = [{**ROW, "weight_grad_rms": [0.1] * blocks, "step": at} | row for at, row in enumerate(rows)]
    reader = Reader()
    for entry in ({**HEADER, "sites": sites, "blocks": named}, *filled, {**END, "rows": len(rows)}):
        reader.feed(json.dumps(entry).encode() + b"\n")
    found = reader.finish()
    assert not found.problem
    return found


@pytest.mark.parametrize("fact", [{"discarded": [2, 3]}, {"undivided": [3, 4]}, {"loss_form": [1, 0, 0]}])
def test_facts_no_recorder_writes_are_no_error(fact: dict[str, Any]) -> None:
    rows = [{"loss": 1.0, "update_to_weight": [0.01, 0.01], "loss_form": [1, 4, 0]} | fact for _ in range(120)]
    assert "AN-L2" not in {finding.id for finding in told(rows).findings}


def course(length: int, height: Callable[[float], float], noise: float = 0.02) -> list[float]:
    """Noisy losses over relative time from 0 to 1."""
    draw = random.Random(0)
    return [height(at / length) * (1 + draw.gauss(0, noise)) for at in range(length)]


RISES = {
    "down and up again": course(240, lambda time: 1 + 4 * abs(time - 0.5)),
    "down and up again in 80 steps": course(80, lambda time: 1 + 4 * abs(time - 0.5)),
    "from 2 to 4": course(100, lambda time: 2 + 2 * time),
    "beyond the root of the largest float": course(240, lambda time: 1e160 * (1 + 4 * abs(time - 0.5))),
}
FALLS = {
    "a power law over 100,000 rows": course(100_000, lambda time: 3 * (1 + 1e5 * time) ** -0.05, 0.1),
    "late in a long run": course(3000, lambda time: 2.9 - 0.002 * time, 0.05),
    "60 steps": course(60, lambda time: 2.3 - 0.02 * time, 0.05),
    "80 steps to a plateau": course(80, lambda time: 1 + 2 * math.exp(-20 * time), 0.1),
    "solved": course(400, lambda time: 3 * math.exp(-60 * time) + 1e-9, 0.5),
    "exactly 0": [1.0] + [0.0] * 200,
    "a spike at the end": course(300, lambda time: 1 + 2 * math.exp(-20 * time) + 9 * (time > 0.98)),
    "batches of one": [random.Random(at).expovariate(1) for at in range(2000)],
}


@pytest.mark.parametrize("name", RISES)
def test_a_rise_is_said_with_its_losses(name: str) -> None:
    losses = RISES[name]
    (finding,) = told([{"loss": loss} for loss in losses]).findings
    assert finding.id == "AN-L1"
    assert finding.numbers["loss_now"] == pytest.approx(median(losses[-len(losses) // 5 :]), rel=0.15)
    lowest = min(range(len(losses) - 10), key=lambda at: sum(losses[at : at + 10]))
    assert abs(finding.since - lowest) < 30
    assert told([{"loss": loss} for loss in losses[: lowest + 10]]).findings == []


@pytest.mark.parametrize("name", FALLS)
def test_a_loss_that_does_not_rise_is_left_alone(name: str) -> None:
    losses = FALLS[name]
    assert find_rise(losses) is None
    if len(losses) < 1000:
        assert told([{"loss": loss} for loss in losses]).findings == []


@pytest.mark.parametrize(
    ("form", "targets", "is_fault"), [([1, 10, 0], 1, True), ([2, 0, 0], 1, True), ([2, 0, 0], 3, False), ([0, 0, 0], 1, False)]
)  # fmt: skip
def test_a_rise_of_other_losses_is_no_fault(form: list[int], targets: float, is_fault: bool) -> None:
    rows: list[dict[str, Any]] = [{"loss": loss} for loss in RISES["from 2 to 4"]]
    rows[0] |= {"loss_form": form, "target": 1.0}
    rows[64] |= {"target": targets}
    assert bool(told(rows).findings) is is_fault


def test_blocks_that_stand_still_are_named_with_the_step_unless_the_rate_is_zero() -> None:
    rows = [{"update_to_weight": [1e-3, 1e-3 if at < 8 else 2e-6]} for at in range(16)]
    sentence = "No update measured since step 8 changed block 1 by 0.001% of its size."
    assert told(rows).findings_at(15)[0].sentence == sentence
    assert told(rows).sentence("findings", 15).startswith(f"{sentence} What to do: look for ")
    assert told(rows).sentence("findings", 7) == ""
    both = [{"update_to_weight": [1e-6, 1e-6]} for _ in range(4)]
    assert told(both).findings_at(3)[0].sentence == (
        "No update measured since step 0 changed block 0 by 0.001% of its size; 2 of 2 blocks stand still now."
    )
    assert told([{**row, "lr": 0.0} for row in both]).sentence("findings", 3) == ""
    assert told([{**row, "skipped": True} for row in both]).sentence("findings", 3) == ""
    assert told([{**row, "update_to_weight": [None, "NaN"]} for row in both]).sentence("findings", 3) == ""


def test_a_lost_gradient_is_said_with_the_step() -> None:
    rows = [{"grad_rms": [1.0 if at < 3 else 0.01, 1.0]} for at in range(6)]
    rows = [{"loss": 1.0} | row for row in rows]
    (finding,) = told(rows).findings
    assert finding.sentence == "From step 3 on less than 1/30 of the gradient comes back to site 0."
    assert told(rows[3:]).sentence("findings", 2).startswith("From the start less than 1/30 of the gradient ")
    assert told(rows).sentence("findings", 2) == ""
    assert vanished_since([1.0, math.inf], [0.01, 0.01]) is None
    assert [start_of_last_run(holds) for holds in ([], [False], [True, False], [False, True], [True, True])] == [
        None,
        None,
        None,
        1,
        0,
    ]


def test_inputs_that_become_alike_over_depth_are_said_with_the_step() -> None:
    rows = [{"sample_cosine": [0.25, 0.5 if at < 4 else 0.971]} if at % 2 == 0 else {} for at in range(8)]
    assert told(rows).findings == [], "every net with skips passes through such a state"
    plain = partial(told, kind="output")
    assert plain(rows).findings_at(7)[0].sentence == (
        "From step 4 on inputs become alike over depth: the mean cosine between different ones is 0.25 at site 0 and "
        "0.971 at site 1."
    )
    assert plain(rows).sentence("findings", 3) == ""
    assert plain(rows[4:]).sentence("findings", 3).startswith("From the start inputs become alike over depth: ")
    for other in ([0.96, 0.97], [None, "NaN"], [0.25, 0.95]):
        assert plain([*rows, {"sample_cosine": other}]).sentence("findings", 8) == ""
    learning = [{"loss": 1.0 if at < 8 else 0.5} | row for at, row in enumerate(6 * rows)]
    assert plain(learning).findings == []


def test_a_net_whose_inputs_become_alike_is_told_from_one_whose_do_not(tmp_path: Path) -> None:
    said = {}
    for name, residual in (("plain", False), ("residual", True)):
        torch.manual_seed(0)
        model = Stack(24, residual)
        x = torch.randn(64, 32)
        with watch(model, tmp_path / f"{name}.jsonl", sites=["layers.*"]) as recorder:
            loss = model(x).square().mean()
            loss.backward()
            recorder.step(loss=loss)
        said[name] = read(recorder.path).sentence("findings", 0)
    assert "From the start inputs become alike over depth" in said["plain"]
    assert "alike" not in said["residual"]


class Stack(nn.Module):
    """ReLU layers with He's weights, with or without a skip and a norm."""

    def __init__(self, depth: int, residual: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(residual) for _ in range(depth)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Layer(nn.Module):
    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.linear, self.residual = nn.Linear(32, 32, bias=False), residual
        nn.init.kaiming_normal_(self.linear.weight, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        return x + 0.1 * self.linear(x).relu() if self.residual else self.linear(x).relu()


# By likeness: a net that starts so and does not learn, and the changes that HELPS names.
FAILING: dict[str, tuple[RunConfig, list[dict[str, Any]]]] = {
    "plain": (
        RunConfig.arranged("plain", depth=24, width=32, batch=32, steps=150, device="cpu"),
        [{"residual": True, "norm": "layer norm", "placement": "pre-norm"}],
    ),
    "plain + norm": (
        RunConfig.arranged(
            "plain + norm",
            depth=48,
            width=32,
            batch=32,
            steps=150,
            device="cpu",
            activation="tanh",
            layers_per_branch=1,
        ),
        [{"residual": True}],
    ),
    "residual only": (
        RunConfig.arranged("residual only", depth=32, width=32, batch=32, steps=150, device="cpu"),
        [{"norm": "layer norm", "placement": "pre-norm"}, {"init": "zero last"}],
    ),
    "post-norm": (
        RunConfig.arranged("post-norm", depth=64, width=32, batch=32, steps=150, device="cpu"),
        [{"placement": "pre-norm"}],
    ),
}


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("like", HELPS)
def test_what_is_said_to_help_helps_a_net_that_starts_so(like: str, tmp_path: Path) -> None:
    assert like in LIKE
    failing, changes = FAILING[like]
    run = Run(failing)
    sites = "auto" if failing.residual else ["stream.blocks.*.stream_tap"]
    with watch(run.model, tmp_path / "run.jsonl", sites=sites) as recorder:
        x, y = run.task.batch(0)
        loss = nn.functional.cross_entropy(run.model(x).flatten(0, -2), y.flatten())
        loss.backward()
        recorder.step(loss=loss)
    assert starting_arrangement(read(recorder.path)) == like
    assert became(failing) != LEARNS
    assert [became(replace(failing, **change)) for change in changes] == [LEARNS] * len(changes)


def became(cfg: RunConfig) -> str:
    run = Run(cfg, frames=False)
    run.advance(cfg.steps)
    return outcome(run.trace(), loss_of_guessing(cfg.task))
