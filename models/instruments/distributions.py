"""How values are distributed at a step: in the stream, and after the activation functions inside the branches."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Distributions, Film
from models.instruments.stream import rms
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import frame_steps
from models.training import Replays, Still, Work, statistics_kept, watching

BIN = 0.25  # width of a bin, in units of the RMS of what is binned: shapes of all sizes fit one axis
FURTHEST = 24  # bins on either side of the one at 0; the outermost are open, so that no value is lost
SATURATED_TANH = 0.97  # |tanh| above which a unit has less than 6% of its slope left (Karpathy, makemore 3)
SATURATED_SIGMOID = 0.05  # slope of a sigmoid, a fifth of its largest, below which a unit is saturated


class Histogram(NamedTuple):
    """Of one site: shares (bins,), the RMS that they are in units of, and the share of values that is not finite."""

    shares: np.ndarray
    rms: float
    lost: float


def distributions(still: Still) -> Work[Distributions]:
    """On the step's batch: the stream's values by site, and the units inside the branches that have an activation."""
    net, sites = still.model.stream, plan(still.cfg).sites
    inside = [at for at, sublayer in enumerate(net.sublayers, 1) if _activation(sublayer) is not None]
    seen = watched(still, [*net.stream_taps, *(_place(still.model, at, inside=True) for at in inside)])
    points, activations = seen[: len(sites)], seen[len(sites) :]
    histograms, tails = [], []
    for x in points:
        histograms.append(histogram(x))
        tails.append(kurtosis(x))
        yield len(tails) / len(points)
    units = [shares_of_units(a, still.cfg.activation) for a in activations]
    dead, always_on, saturated = (
        np.array([one[key] for one in units if key in one], np.float32) for key in ("dead", "always_on", "saturated")
    )
    return Distributions(
        **_stacked(histograms),
        tokens=points[0].shape[:-1].numel(),
        kurtosis=np.array([mean for mean, _ in tails], np.float32),
        kurtosis_max=np.array([largest for _, largest in tails], np.float32),
        inside=tuple(sites[at] for at in inside),
        dead=dead,
        always_on=always_on,
        saturated=saturated,
    )


def layer_film(replays: Replays, cfg: RunConfig, *, step: int, site: str, inside: bool = False) -> Work[Film]:
    """The histograms of one site at the frames up to `step`, each on its own batch.

    `inside` looks after the activation function of the site's branch.
    ValueError for a site, or an activation, that is not there.
    """
    arranged = plan(cfg)
    if site not in arranged.sites:
        raise ValueError(f"site is {site!r}; legal is one of {', '.join(arranged.sites)}")
    active = [one.site for one in arranged.sublayers if one.kind != "attn" and not one.identity]
    if inside and site not in active:
        raise ValueError(f"site is {site!r}, whose branch has no activation; legal is one of {', '.join(active)}")
    at = arranged.sites.index(site)
    steps = [frame for frame in frame_steps(cfg.steps) if frame <= max(0, int(step))]
    found = yield from replays.film(
        cfg, steps, lambda still: histogram(watched(still, [_place(still.model, at, inside=inside)])[0])
    )
    return Film(**_stacked(found), steps=np.array(steps[: len(found)]))


def watched(still: Still, places: list[nn.Module]) -> list[Tensor]:
    """What passes some modules on the step's batch, in float64 where there is one."""
    x, _ = still.batch()
    with torch.no_grad(), statistics_kept(still.model), watching(places, gradients=False) as probe:
        still.model(x)
        return [seen.to(torch.float32 if x.device.type == "mps" else torch.float64) for seen in probe.tensors()]


def centres() -> np.ndarray:
    """The middles of the bins in units of the RMS, symmetric about 0; the first and the last bin are open."""
    return BIN * np.arange(-FURTHEST, FURTHEST + 1, dtype=np.float32)


def histogram(x: Tensor) -> Histogram:
    """Shares of the finite values by bin, which sum to 1 (NaN without any); their RMS; the share not finite."""
    finite = x[x.isfinite()]
    size = rms(finite)
    places = (finite / size / BIN).round().clamp(-FURTHEST, FURTHEST) if size > 0 else torch.zeros_like(finite)
    counts = torch.bincount(places.long() + FURTHEST, minlength=2 * FURTHEST + 1)
    shares = counts / len(finite) if len(finite) else counts * torch.nan
    return Histogram(shares.cpu().numpy(), size.item(), 1 - finite.numel() / x.numel())


def kurtosis(x: Tensor) -> tuple[float, float]:
    """E(x - mean)^4 / variance^2 across the features of a token, its mean and its largest over tokens (..., D).

    NaN where no token has a variance.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1)
    there = (variance > 0) & variance.isfinite()
    if not there.any():
        return float("nan"), float("nan")
    found = centred[there].pow(4).mean(-1) / variance[there].square()
    return found.mean().item(), found.max().item()


def shares_of_units(a: Tensor, activation: str) -> dict[str, float]:
    """What can be said of units (..., D) after this activation; NaN where some number is not finite."""
    tokens = a.flatten(0, -2)
    if activation == "relu":
        found = {"dead": (tokens == 0).all(0), "always_on": (tokens > 0).all(0)}
    elif activation == "tanh":
        found = {"saturated": tokens.abs() > SATURATED_TANH}
    elif activation == "sigmoid":
        found = {"saturated": tokens * (1 - tokens) < SATURATED_SIGMOID}
    else:
        return {}
    sound = bool(tokens.isfinite().all())
    return {key: share.double().mean().item() if sound else float("nan") for key, share in found.items()}


def _activation(sublayer: nn.Module) -> nn.Module | None:
    """The activation function inside a branch; attention and a sublayer that was taken out have none."""
    found: nn.Module | None = getattr(getattr(sublayer, "function", None), "activation", None)
    return found


def _place(net: Net, at: int, *, inside: bool) -> nn.Module:
    """Where site `at` can be watched: the stream itself, or its branch after the activation."""
    found = _activation(net.stream.sublayers[at - 1]) if inside else net.stream.stream_taps[at]
    assert found is not None
    return found


def _stacked(found: list[Histogram]) -> dict[str, np.ndarray]:
    """The fields of `Histograms`."""
    columns = (np.array(values, np.float32) for values in zip(*found, strict=True))
    return {"centres": centres(), **dict(zip(Histogram._fields, columns, strict=True))}
