"""Claims' numbers: as they are gathered, once more by hand or by the stand-alone script, and changed."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.experiment import Finding, Trained
from models.generator import generator
from models.nets import build_model
from models.spec import TASKS, RunConfig
from models.spec.budget import step_seconds
from models.training import Run
from tests import hand
from tests.experiments import last_loss, value

Rows = Mapping[str, Any]
SAID = {"learns"}  # a word that follows from the loss beside it
SEEN = ["LayerNorm(D)", "LayerNorm([T, D])", "BatchNorm1d on (B, D, T)"]

# Claims whose nets train for longer than a test should: judged on made-up logs, and run in the full suite.
LONG = [
    key
    for key, claim in CLAIMS.items()
    if sum(step_seconds(one.cfg) * one.cfg.steps for one in claim.sources.values() if isinstance(one, Trained)) > 1
]


@cache
def gathered(key: str) -> dict[str, Any]:
    return {name: value(source) for name, source in CLAIMS[key].sources.items()}


def outcome(key: str, change: Callable[[dict[str, Any]], None] = lambda values: None) -> Finding:
    """What is judged of the numbers, or of the numbers after a change to a copy of them."""
    values = {name: dict(one) if isinstance(one, dict) else one for name, one in gathered(key).items()}
    change(values)
    return CLAIMS[key].finding(values)


def rows_agree(key: str, again: Rows, **near: float) -> None:
    """Compares the numbers of a claim's table with those of another computation; by default to a thousandth."""
    for name, column in outcome(key).table.items():
        if name in SAID or (all(isinstance(one, str) for one in column) and name not in again):
            continue
        assert name in again, f"nothing computes the column {name!r} once more"
        for one, other in zip(column, again[name], strict=True):
            if other is None:  # torch's own sentence
                continue
            if isinstance(one, str):
                assert one == other
            else:
                assert float(one) == pytest.approx(float(other), **{"rel": 1e-3, "abs": 2e-6, **near}), (
                    f"{name}: {one}, not {other}"
                )


def upheld_by(key: str, change: Callable[[dict[str, Any]], None]) -> None:
    """What is measured contradicts a claim, and the numbers after a change would uphold it."""
    said = outcome(key)
    assert said.answer in (FAILS, PARTLY), said.sentence
    assert said.answer != PARTLY or said.condition
    assert len({len(column) for column in said.table.values()}) == 1
    assert set(CLAIMS[key].judge.numbers) <= set(CLAIMS[key].judge.function(gathered(key)).numbers)
    other = outcome(key, change)
    assert other.answer == HOLDS
    assert other.sentence != said.sentence


def level(rows: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Rows (K, S) that grow by this factor a site."""
    return np.broadcast_to(float(factor) ** np.arange(np.shape(rows)[1]), np.shape(rows)).copy()


def put(name: str, **numbers: Any) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        values[name] = values[name] | numbers if isinstance(values[name], dict) else replace(values[name], **numbers)

    return change


def signals(**factors: float) -> Callable[[dict[str, Any]], None]:
    """All signals with rows that change by these factors a site."""

    def change(values: dict[str, Any]) -> None:
        for name, one in values.items():
            values[name] = replace(one, **{kind: level(getattr(one, kind), factor) for kind, factor in factors.items()})

    return change


@cache
def short(arrangement: str) -> Any:
    run = Run(RunConfig.arranged(arrangement, depth=4, width=16, batch=16, steps=25))
    run.advance(25)
    return run.trace()


def ending(loss: float, arrangement: str = "pre-norm") -> Any:
    trace = short(arrangement)
    return replace(trace, loss=np.full_like(trace.loss, loss))


def judged(key: str, *losses: float) -> str:
    claim = CLAIMS[key]
    return claim.finding(dict(zip(claim.sources, map(ending, losses), strict=True))).answer


def kind_of(module: nn.Module) -> str:
    function = module.function
    return "attention" if hasattr(function, "w_o") else "two layers" if hasattr(function, "w1") else "one layer"


def stream_by_hand(cfg: RunConfig, model: Any, x: Tensor, skip: float = 1.0) -> list[Tensor]:
    """The stream (S, ...) from its input on; gates and branch scales as the net has them."""
    sites = [x]
    for module in model.stream.sublayers:
        branch = module.scale.gate if hasattr(module.scale, "gate") else 1.0
        x = hand.sublayer(
            x,
            module,
            kind_of(module),
            placement="none" if cfg.norm == "none" else cfg.placement,
            norm=cfg.norm,
            activation=cfg.activation,
            residual=cfg.residual,
            skip=skip,
            branch=branch,
            eps=cfg.eps,
            **({"heads": cfg.heads, "causal": cfg.mask == "causal"} if kind_of(module) == "attention" else {}),
        )
        sites.append(x)
    return sites


def loss_by_hand(cfg: RunConfig, model: Any, end: Tensor, labels: Tensor) -> Tensor:
    """Minus the mean log-probability of the labels; labels below 0 do not count."""
    ends_in_norm = not isinstance(model.final_norm, nn.Identity)
    normed = hand.NORMS[cfg.norm](end, model.final_norm, cfg.eps) if ends_in_norm else end
    logits = hand.linear(normed, model.head).flatten(0, -2)
    shifted = logits - logits.max(-1, keepdim=True).values
    logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
    counted = labels.flatten() >= 0
    return -logs[counted].gather(1, labels.flatten()[counted][:, None]).mean()


@cache
def untrained(cfg: RunConfig) -> tuple[np.ndarray, np.ndarray]:
    """Mean square and length of the gradient at every site, (6, S) each, of six seeds on Gaussian input."""
    squares, lengths = [], []
    for seed in range(6):
        model = build_model(replace(cfg, seed=seed))
        source, tokens = generator(seed, "signal"), 32 if cfg.net == "transformer" else 1
        x = torch.randn(128 // tokens, tokens, cfg.width, generator=source)
        labels = torch.randint(TASKS[cfg.task].classes, x.shape[:2], generator=source)
        sites = stream_by_hand(cfg, model, (x / (x**2).mean() ** 0.5).requires_grad_())
        grads = torch.autograd.grad(loss_by_hand(cfg, model, sites[-1], labels), sites)
        squares.append([(one.double() ** 2).mean().item() for one in sites])
        lengths.append([(one.double() ** 2).sum().item() ** 0.5 for one in grads])
    return np.array(squares), np.array(lengths)


def geometric(rows: np.ndarray) -> np.ndarray:
    return np.prod(rows ** (1 / len(rows)), axis=0)


def per_block(profile: np.ndarray) -> float:
    """exp of the slope of the least-squares line through the logarithms, by the normal equations."""
    at, logs = np.arange(len(profile)) - (len(profile) - 1) / 2, np.log(profile)
    return float(np.exp((at * logs).sum() / (at**2).sum()))


def nets(key: str) -> dict[str, RunConfig]:
    return {name: source.cfg for name, source in CLAIMS[key].sources.items() if hasattr(source, "cfg")}


def gradients(key: str) -> dict[str, float]:
    return {name: float(np.divide(*geometric(untrained(cfg)[1])[[0, -1]])) for name, cfg in nets(key).items()}


def first_batch(cfg: RunConfig) -> tuple[Any, Tensor, Tensor]:
    """The untrained net with the first batch, embedded, and its labels."""
    run = Run(cfg, probe=False, frames=False)
    x, y = run.next_batch()
    run.close()
    return run.model, run.model.position(run.model.embed(x)), y


def rms(x: Tensor) -> float:
    return (x.double() ** 2).mean().item() ** 0.5


def mean_cosine(rows: np.ndarray) -> float:
    """Over all pairs of different rows."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = unit @ unit.T
    return float((pairs.sum() - np.trace(pairs)) / (len(rows) * (len(rows) - 1)))


def normed(x: np.ndarray, axis: Any = -1, eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def seeded() -> None:
    torch.manual_seed(0)


def seen() -> tuple[list[float], list[float]]:
    seeded()
    x = torch.randn(2, 8, 32).numpy().astype(float)
    ways: list[Callable[[np.ndarray], np.ndarray]] = [
        normed,
        lambda x: normed(x, (-2, -1)),
        lambda x: normed(x, (0, 1)),
    ]
    found = []
    for sample in (0, 1):
        moved = x.copy()
        moved[sample, -1, 0] += 5
        found.append([np.abs((way(moved) - way(x))[0, 0]).max() for way in ways])
    return found[0], found[1]


def losses(key: str) -> Rows:
    return {"loss": [last_loss(cfg) for cfg in nets(key).values()]}


def heads_of(source: np.random.Generator, count: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    inputs = list(source.standard_normal((count, 5, 8))) if count > 1 else [source.standard_normal((5, 8))]
    return inputs, [source.standard_normal((8, 4)) / math.sqrt(8) for _ in range(3)]


def weights_of(x: np.ndarray, w: list[np.ndarray]) -> np.ndarray:
    scores = np.exp(x @ w[0] @ (x @ w[1]).T / 2)
    return np.asarray(scores / scores.sum(1, keepdims=True))
