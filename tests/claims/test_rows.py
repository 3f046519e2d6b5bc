"""Every row of every claim and the losses of every lesson and of cells of the prepared maps, once more.

By numpy, by forward passes written out in `tests/hand.py`, and, where a net is trained, by the stand-alone script,
which has a training loop of its own. Only draws are shared: weights, batches, random numbers.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from models.claims.claims import CLAIMS
from models.generator import generator
from models.lessons.lessons import LESSONS
from models.maps.prepared import PREPARED, recording
from models.nets import build_model
from models.spec import TASKS, RunConfig
from models.training import Run
from tests import hand
from tests.claims.test_claims import LONG, outcome
from tests.export.test_script import numbers, printed_here
from tests.instruments.test_covariate import by_own_loop
from tests.traces import finished

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
Rows = Mapping[str, Any]
LAST = 20  # steps whose mean is a final loss
TRAINED = {"rel": 0.1, "abs": 0.02}  # training makes more of the last digit, in which two programs may differ


# --- nets by hand ---


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


def growths(key: str) -> dict[str, float]:
    return {name: float(np.divide(*geometric(untrained(cfg)[0])[[-1, 0]])) for name, cfg in nets(key).items()}


def first_batch(cfg: RunConfig) -> tuple[Any, Tensor, Tensor]:
    """The untrained net with the first batch, embedded, and its labels."""
    run = Run(cfg, probe=False, frames=False)
    x, y = run.next_batch()
    run.close()
    return run.model, run.model.position(run.model.embed(x)), y


def rms(x: Tensor) -> float:
    return (x.double() ** 2).mean().item() ** 0.5


@cache
def trained(cfg: RunConfig) -> dict[str, Any]:
    """What the stand-alone script prints at every step."""
    return numbers(printed_here(cfg))


def last_loss(cfg: RunConfig) -> float:
    losses = trained(cfg)["loss"]
    return float(losses[-LAST:].astype(float).mean()) if np.isfinite(losses).all() else math.inf


def mean_cosine(rows: np.ndarray) -> float:
    """Over all pairs of different rows."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = unit @ unit.T
    return float((pairs.sum() - np.trace(pairs)) / (len(rows) * (len(rows) - 1)))


# --- norms, in numpy ---


def normed(x: np.ndarray, axis: Any = -1, eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def seeded() -> None:
    torch.manual_seed(0)


def by_hand() -> Rows:
    return {"too short, measured": [1 - math.sqrt((d - 1) / d) for d in (4, 8, 64, 512)]} | {
        "1 - sqrt((d - 1) / d)": [1 - math.sqrt((d - 1) / d) for d in (4, 8, 64, 512)],
        "features": [4, 8, 64, 512],
    }


def spread_of_one() -> Rows:
    biased = [s / math.sqrt(s**2 + 1e-5) for s in (1.0, 0.03, 0.003)]
    token = np.random.default_rng(2).standard_normal(64)
    return {
        "deviation after layer norm": [
            *biased,
            2 * token.std() / math.sqrt(token.var() + 1e-5),
            normed(token[:4]).std() * math.sqrt(4 / 3),
        ]
    }


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


def over_the_batch() -> Rows:
    return dict(zip(("last token changed", "other sample changed"), seen(), strict=True))


def rms_norm() -> Rows:
    token = np.random.default_rng(14).standard_normal(8) + 2
    apart = []
    for x in (token, token - token.mean()):
        apart.append(np.abs((x - x.mean()) / x.std() - x / np.sqrt((x**2).mean())).max())
    seeded()
    return {"number": [*apart, *(1e-4 / math.sqrt(1e-8 + eps) for eps in (2.0**-23, 1e-5))]}


def one_feature() -> Rows:
    token = np.random.default_rng(30).standard_normal(64)
    rows = []
    for times in (1.0, 10.0, 1000.0):
        x = token.copy()
        x[0] = times
        rows.append(normed(x))
    return {
        "times larger": [1, 10, 1000],
        "that feature after layer norm": [row[0] for row in rows],
        "its share of the squares": [row[0] ** 2 / (row**2).sum() for row in rows],
    }


# --- batch norm ---


def momentum() -> Rows:
    seeded()
    x = (3 + 2 * torch.randn(8, 4)).numpy().astype(float)
    mean, variance = 0.9 * 1 + 0.1 * x.mean(0), 0.9 + 0.1 * x.var(0, ddof=1)
    used = np.abs((x - mean) / np.sqrt(variance + 1e-5) - normed(x, 0)).max()
    pair = np.abs(normed(x[:2], 0)).mean()
    return {"found": ["0.9000", "yes", None, f"±{pair:.4f}", f"{used:.4g}"]}


def per_token() -> Rows:
    return dict(zip(("last token changed", "other sequence changed"), seen(), strict=True))


def covariate_shift() -> Rows:
    seen = np.random.default_rng(31).standard_normal((256, 8))
    used = seen + 3 * np.eye(8)[0]
    mean, variance = (1 - 0.9**100) * seen[:, 0].mean(), 0.9**100 + (1 - 0.9**100) * seen[:, 0].var(ddof=1)
    left = ((used[:, 0] - mean) / np.sqrt(variance + 1e-5)).mean() - (
        (seen[:, 0] - mean) / np.sqrt(variance + 1e-5)
    ).mean()
    layer = abs(normed(used)[:, 0].mean() - normed(seen)[:, 0].mean())
    (cfg,) = CLAIMS["covariate-shift"].nets.values()
    return {"shift left": [left, layer, 0.0, *(moved_by(cfg, norm) / moved_by(cfg, "none") for norm in TRAINED_NORMS)]}


TRAINED_NORMS = ("layer norm", "batch norm")


def moved_by(cfg: RunConfig, norm: str) -> float:
    """The median move of the means of block 4, in units of their spread, by the loop of another test."""
    means, spreads, _ = by_own_loop(cfg, norm, 0, 4, tuple(range(0, cfg.steps + 1, 10)))
    return float(np.median(np.linalg.norm(np.diff(means, axis=0), axis=1) / np.linalg.norm(spreads[:-1], axis=1)))


# --- placement and skip ---


def pre_norm_stable() -> Rows:
    before, after = (source.cfg for source in CLAIMS["pre-norm-stable"].sources.values())
    squares = geometric(untrained(before)[0])
    finite = np.isfinite(trained(after)["loss"]) & np.isfinite(trained(after)["act_rms"]).all(1)
    return {"found": [squares[-1] / squares[0], int(np.flatnonzero(~finite)[0])]}


def torchs_layer(x: Tensor, layer: Any) -> Tensor:
    """x + attention(LN(x)), then + the feed-forward net of LN, of one of torch's pre-norm layers without a mask."""
    one = hand.layer_norm(x, layer.norm1, layer.norm1.eps)
    q, k, v = (one @ layer.self_attn.in_proj_weight.T + layer.self_attn.in_proj_bias).chunk(3, -1)
    size, mixed = 8, []
    for head in range(4):
        own = slice(head * size, (head + 1) * size)
        scores = (q[..., own] @ k[..., own].transpose(1, 2) / math.sqrt(size)).exp()
        mixed.append(scores / scores.sum(-1, keepdim=True) @ v[..., own])
    x = x + hand.linear(torch.cat(mixed, -1), layer.self_attn.out_proj)
    two = hand.linear(hand.layer_norm(x, layer.norm2, layer.norm2.eps), layer.linear1)
    return x + hand.linear(two * (two > 0), layer.linear2)


def final_norm() -> Rows:
    def layer() -> Any:
        return nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=True)

    def size(x: Tensor) -> float:
        return (x**2).mean(-1).sqrt().mean().item()

    seeded()
    given, rows = torch.randn(4, 8, 32), []
    for depth in (2, 6, 12):
        layer()  # the one that torch would copy
        x = given
        for _ in range(depth):
            x = torchs_layer(x, layer())
        end = x - x.mean(-1, keepdim=True)
        rows.append((size(x), size(end / (end.square().mean(-1, keepdim=True) + 1e-5).sqrt())))
    bare, after = zip(*rows, strict=True)
    return {"layers": [2, 6, 12], "RMS by default": bare, "RMS with a final norm": after}


def rank_collapse() -> Rows:
    tokens, layers = [], []
    for name in ("pre-norm", "post-norm"):
        cfg = CLAIMS["rank-collapse"].sources[f"{name}, tokens"].cfg
        model, x, _ = first_batch(cfg)
        sites = [one.detach().double().numpy() for one in stream_by_hand(cfg, model, x)]
        tokens.append(np.mean([mean_cosine(sample) for sample in sites[-1]]))
        alike = [
            np.mean((one * two).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(two, axis=-1))
            for one, two in pairwise(sites)
        ]
        layers.append(np.mean(alike))
    return {"tokens alike": tokens, "sublayers alike": layers}


def exponential() -> Rows:
    squares = geometric(untrained(nets("pre-norm-exponential")["pre-norm"])[0])
    return {"blocks": [0, 32, 64], "mean square": squares[[0, 32, 64]]}


def reads_unnormalised_stream() -> Rows:
    inner = [geometric(untrained(cfg)[0])[1:-1] for cfg in nets("post-norm-reads-raw").values()]
    return {"least": [one.min() for one in inner], "most": [one.max() for one in inner]}


def deepnorm() -> Rows:
    shares = []
    for name, cfg in nets("deepnorm-is-alpha").items():
        model, x, _ = first_batch(cfg)
        skip = 1.0 if name == "post-norm" else cfg.depth**0.25
        sites = stream_by_hand(cfg, model, x, skip)
        branches = [
            hand.sublayer(one, module, "two layers", placement="none", norm="none", residual=False)
            for one, module in zip(sites, model.stream.sublayers, strict=False)
        ]
        shares.append(np.mean([rms(branch) / rms(one) for branch, one in zip(branches, sites, strict=False)]))
    return {"branch over stream, mean over blocks": shares}


def doubles() -> Rows:
    factors, gains = [], []
    for cfg in nets("doubles").values():
        factors.append(per_block(geometric(untrained(cfg)[0])))
        x = torch.randn(128, 1, cfg.width, generator=generator(cfg.seed, "gains"))
        x = x / rms(x)
        gains.append(
            np.mean([
                rms(hand.sublayer(x, module, "two layers", placement="none", norm="none", residual=False)) ** 2
                for seed in range(6)
                for module in build_model(replace(cfg, seed=seed)).stream.sublayers
            ])
        )  # fmt: skip
    return {"v of a branch": gains, "factor per block": factors}


def zero_gates() -> Rows:
    parts = ("embedding", "gate", "first matrix", "last matrix", "head")
    found: dict[str, dict[str, float]] = {}
    small = {"depth": 8, "width": 32, "batch": 32}
    closed = {"ReZero": RunConfig.arranged("ReZero", **small), "zero last": RunConfig(init="zero last", **small)}
    for name, cfg in closed.items():
        model, x, y = first_batch(cfg)
        pieces = {"embedding": "embed.", "gate": ".gate", "first matrix": ".w1.weight", "last matrix": ".w2.weight"}
        pieces["head"] = "head."
        own = dict(model.named_parameters())
        loss = loss_by_hand(cfg, model, stream_by_hand(cfg, model, x)[-1], y)
        grads = dict(zip(own, torch.autograd.grad(loss, list(own.values()), allow_unused=True), strict=True))
        found[name] = {}
        for part, piece in pieces.items():
            flat = [grad.flatten() for one, grad in grads.items() if piece in one and grad is not None]
            if flat:
                found[name][part] = rms(torch.cat(flat))
    names = outcome("zero-gates").table["RMS of the first gradient of"]
    assert set(names) == set(parts)
    return {name: [found[name].get(part, "-") for part in names] for name in closed}


def losses(key: str) -> Rows:
    return {"loss": [last_loss(cfg) for cfg in nets(key).values()]}


def level_gradient_predicts_learning() -> Rows:
    found: list[list[float]] = []
    for cfg in nets("one-chart").values():
        model, x, y = first_batch(cfg)
        sites = stream_by_hand(cfg, model, x)
        loss = loss_by_hand(cfg, model, sites[-1], y)
        grads = torch.autograd.grad(loss, sites, retain_graph=True)
        blocks = []
        for module in model.stream.sublayers:
            matrices = [module.function.w1.weight, module.function.w2.weight]
            blocks.append(
                rms(torch.cat([one.flatten() for one in torch.autograd.grad(loss, matrices, retain_graph=True)]))
            )
        run = Run(cfg, probe=False, frames=False)
        held_out = run.task.held_out[0][:128]
        run.close()
        end = stream_by_hand(cfg, model, model.position(model.embed(held_out)))[-1].detach().double().flatten(0, -2)
        found.append(
            [rms(grads[0]) / rms(grads[-1]), max(blocks) / min(blocks), mean_cosine(end.numpy()), last_loss(cfg)]
        )
    names = (
        "stream gradient, start over end",
        "weight gradients, largest over least",
        "sample cosine at the end",
        "mean loss of the last 20 steps",
    )
    return dict(zip(names, np.transpose(found), strict=True))


# --- initialisation and attention ---


def quarter() -> Rows:
    return {"factor per layer": [1 / per_block(geometric(untrained(cfg)[1])) for cfg in nets("quarter").values()]}


def layers_start_different() -> Rows:
    def layer() -> Any:
        return nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=True)

    seeded()
    layer()
    first, *others = [layer().linear1.weight for _ in range(6)]
    return {"difference": [0.0, min(rms(first - other) for other in others)]}


def he_keeps() -> Rows:
    rows = [untrained(cfg)[0] for cfg in nets("he-keeps").values()]
    ratios = [one[:, -1] / one[:, 0] for one in rows]
    return {name: [of(one) for one in ratios] for name, of in (("least", min), ("mean", np.mean), ("most", max))}


def dying() -> Rows:
    shares = []
    for cfg in nets("dying-relu").values():
        run = Run(cfg, probe=False, frames=False)
        run.advance(cfg.steps if cfg.steps > 1 else 0)
        model, x = run.model, run.task.held_out[0][:128]
        sites = stream_by_hand(cfg, model, model.position(model.embed(x)))
        dead = []
        for one, module in zip(sites, model.stream.sublayers, strict=False):
            read = hand.layer_norm(one, module.norm_in, cfg.eps) if cfg.norm != "none" else one
            dead.append((hand.linear(read, module.function.w1) <= 0).flatten(0, -2).all(0).double().mean().item())
        shares.append(dead)
    return {"dead, mean over blocks": [np.mean(one) for one in shares], "most": [max(one) for one in shares]}


def root_of_d() -> Rows:
    embedding = np.random.default_rng(22).standard_normal((512, 64)) / 8
    angle = np.arange(32)[:, None] / 10000 ** (np.arange(0, 64, 2) / 64)
    size = math.sqrt((embedding**2).mean())
    position = math.sqrt(((np.sin(angle) ** 2).mean() + (np.cos(angle) ** 2).mean()) / 2)
    return {"found": [16, 0.25, 1, size, 8 * size, position]}  # variances of 20,000 draws: within their own spread


def heads_of(source: np.random.Generator, count: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    inputs = list(source.standard_normal((count, 5, 8))) if count > 1 else [source.standard_normal((5, 8))]
    return inputs, [source.standard_normal((8, 4)) / math.sqrt(8) for _ in range(3)]


def weights_of(x: np.ndarray, w: list[np.ndarray]) -> np.ndarray:
    scores = np.exp(x @ w[0] @ (x @ w[1]).T / 2)
    return np.asarray(scores / scores.sum(1, keepdims=True))


def linear() -> Rows:
    (x, y), w = heads_of(np.random.default_rng(29), 2)
    own = [weights_of(one, w) @ one @ w[2] for one in (x, y, x + y)]
    return {"largest difference": [0.0, np.abs(own[2] - own[0] - own[1]).max()]}


def rows_of_x() -> Rows:
    (x,), w = heads_of(np.random.default_rng(33), 1)
    other = x.copy()
    other[1] += 1
    moved = weights_of(other, w) @ other @ w[2] - weights_of(x, w) @ x @ w[2]
    return {"output 1 moves by": [np.abs(moved[0]).max(), 0.0]}


# --- reading charts ---


def gradient_norms() -> Rows:
    seeded()
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = torch.randn(64, 64).double(), torch.randint(10, (64,))
    w1, b1, w2, b2 = (one.detach().double() for one in net.parameters())
    z = x @ w1.T + b1
    h = z * (z > 0)
    logits = h @ w2.T + b2
    error = (torch.softmax(logits, 1) - nn.functional.one_hot(y, 10)) / 64  # back-propagation written out
    below = error @ w2 * (z > 0)
    grads = [below.T @ x, below.sum(0), error.T @ h, error.sum(0)]
    return {
        "numbers": [one.numel() for one in grads],
        "length": [rms(one) * one.numel() ** 0.5 for one in grads],
        "RMS": [rms(one) for one in grads],
    }


def log_normal() -> Rows:
    source = np.random.default_rng(24)
    starts = source.standard_normal((400, 16))
    ends = starts.copy()
    for _ in range(32):
        weights = source.standard_normal((400, 16, 16)) * math.sqrt(2 / 16)
        ends = np.stack([np.maximum(own @ one, 0) for own, one in zip(weights, ends, strict=True)])
    gains = (ends**2).sum(1) / (starts**2).sum(1)
    alive = gains[gains > 0]
    return {"gain": [gains.mean(), np.median(gains), np.exp(np.log(alive).mean()), gains.max()]}


def autograd_through(step: Callable[[Tensor], Tensor], start: Tensor, gradient: Tensor) -> float:
    start.requires_grad_()
    state = start
    for _ in range(32):
        state = step(state)
    (back,) = torch.autograd.grad((state[:64] * gradient).sum(), start)
    return float(back[:64].norm() / gradient.norm())


def shortcuts() -> Rows:
    source = np.random.default_rng(35)
    w, w_t, w_i, w_o = (torch.tensor(source.standard_normal((64, 64)) / 16) for _ in range(4))
    x, gradient = (torch.tensor(source.standard_normal(64)) for _ in range(2))

    def lstm(state: Tensor) -> Tensor:
        c, h = state.chunk(2)
        c = c + torch.sigmoid(w_i @ h) * torch.tanh(w @ h)
        return torch.cat([c, torch.sigmoid(w_o @ h) * torch.tanh(c)])

    def highway(x: Tensor) -> Tensor:
        return torch.lerp(x, torch.tanh(w @ x), torch.sigmoid(w_t @ x - 3))

    steps = [lstm, highway, lambda x: x + torch.tanh(w @ x), lambda x: torch.tanh(w @ x)]
    starts = [torch.cat([x, torch.zeros(64)]), x, x, x]
    found = [autograd_through(step, start.clone(), gradient) for step, start in zip(steps, starts, strict=True)]
    return {"year": ["1997", "2015", "2015", "1986"], "gradient returned": found}


def depth_without_activation() -> Rows:
    ends = [trained(cfg)["held_out"][1] for cfg in nets("depth-without-activation").values()]
    return losses("depth-without-activation") | {"accuracy": ends}


ROWS: dict[str, Callable[[], Rows]] = {
    "by-hand": by_hand,
    "spread-of-one": spread_of_one,
    "over-the-batch": over_the_batch,
    "rms-norm": rms_norm,
    "one-feature": one_feature,
    "batch-norm-cures": lambda: {"gradient, start over end": list(gradients("batch-norm-cures").values())},
    "batch-norm-momentum": momentum,
    "batch-norm-per-token": per_token,
    "covariate-shift": covariate_shift,
    "pre-norm-stable": pre_norm_stable,
    "post-norm-vanishes": lambda: {"gradient, start over end": list(gradients("post-norm-vanishes").values())},
    "final-norm": final_norm,
    "sandwich-is-post-norm": lambda: {"mean square, end over start": list(growths("sandwich-is-post-norm").values())},
    "rank-collapse": rank_collapse,
    "pre-norm-exponential": exponential,
    "post-norm-reads-raw": reads_unnormalised_stream,
    "deepnorm-is-alpha": deepnorm,
    "unchanged": lambda: {"gradient, start over end": list(gradients("unchanged").values())},
    "norm-alone": lambda: losses("norm-alone"),
    "doubles": doubles,
    "zero-gates": zero_gates,
    "one-chart": level_gradient_predicts_learning,
    "quarter": quarter,
    "copies": layers_start_different,
    "he-keeps": he_keeps,
    "dying-relu": dying,
    "root-of-d": root_of_d,
    "linear-attention": linear,
    "n-is-the-batch": rows_of_x,
    "one-learning-rate": lambda: losses("one-learning-rate"),
    "warm-up": lambda: losses("warm-up"),
    "gradient-norms": gradient_norms,
    "log-normal": log_normal,
    "weights-below-one": lambda: {"gradient, start over end": list(gradients("weights-below-one").values())},
    "residuals-in-2016": shortcuts,
    "depth-without-activation": depth_without_activation,
}
SAID = {"learns"}  # a word that follows from the loss beside it
# By how much a number may differ: eps, draws that are not shared, float32 over many layers.
NEAR = {
    "by-hand": 1e-2,
    "batch-norm-cures": 1e-2,
    "covariate-shift": 0.3,  # nets near divergence make much of the last digit
    "root-of-d": 0.03,
    "he-keeps": 2e-2,
    "post-norm-vanishes": 5e-3,
}  # else a thousandth


@pytest.mark.parametrize("key", [pytest.param(key, marks=pytest.mark.full if key in LONG else ()) for key in CLAIMS])
def test_every_row_of_a_claim_comes_out_the_same_by_another_computation(key: str) -> None:
    table, again = outcome(key).table, ROWS[key]()
    for name, column in table.items():
        if name in SAID or (all(isinstance(one, str) for one in column) and name not in again):
            continue
        assert name in again, f"nothing computes the column {name!r} once more"
        for one, other in zip(column, again[name], strict=True):
            if other is None:  # torch's own sentence
                continue
            if isinstance(one, str):
                assert one == other
            else:
                near = TRAINED if key in LONG else {"rel": NEAR.get(key, 1e-3), "abs": 2e-6}
                assert float(one) == pytest.approx(float(other), **near), name


@pytest.mark.full
def test_what_the_claim_on_the_learning_rate_says_of_its_nets_and_of_plain_is_so() -> None:
    nets = CLAIMS["one-learning-rate"].sources
    ends = {name: last_loss(source.cfg) for name, source in nets.items()}
    plain = last_loss(RunConfig.from_query({"arrangement": "plain", **nets["pre-norm, 0.001"].cfg.to_query()})[0])
    assert ends["pre-norm, 0.001"] == pytest.approx(ends["post-norm, 0.001"], abs=0.03)
    assert ends["post-norm, 0.01"] > 5 * ends["pre-norm, 0.01"]
    assert plain > 5 * ends["pre-norm, 0.001"]


@pytest.mark.full
@pytest.mark.parametrize("key", LESSONS)
def test_the_losses_that_a_lesson_tells_are_those_of_the_stand_alone_script(key: str) -> None:
    lesson = LESSONS[key]
    told = lesson.finding({name: finished(cfg) for name, cfg in lesson.nets.items()}).sentence
    for name, cfg in lesson.nets.items():
        said = re.search(rf"(?:; |steps: ){re.escape(name)}: ([\d.]+\d)", told)
        if said is None:
            assert f"“{name}” diverged" in told
            assert not math.isfinite(last_loss(cfg))
        else:
            assert float(said[1]) == pytest.approx(last_loss(cfg), **TRAINED)


@pytest.mark.full
@pytest.mark.parametrize("key", PREPARED)
def test_cells_of_a_prepared_map_are_those_of_the_stand_alone_script(key: str) -> None:
    """Of each arrangement the first cell: 120 to 800 steps. All runs of a map would take hours."""
    spec, kept = PREPARED[key].spec, recording(key)
    assert kept is not None
    for name in spec.arrangements:
        x, y = spec.x.values[0], spec.y.values[0]
        recorded = next(one for one in kept.outcomes if (one.arrangement, one.x, one.y, one.seed) == (name, x, y, 0))
        cfg = spec.config(name, x, y)
        grads = trained(cfg)["grad_rms"][0]
        assert recorded.gradient_ratio == pytest.approx(math.log10(grads[0] / grads[-1]), abs=1e-3)
        if recorded.final_loss is not None:
            low = 0.2 * math.log(TASKS[cfg.task].classes)  # below it the digits of a loss on its way down are chance
            learned = recorded.final_loss < low and last_loss(cfg) < low
            assert learned or recorded.final_loss == pytest.approx(last_loss(cfg), **TRAINED)
