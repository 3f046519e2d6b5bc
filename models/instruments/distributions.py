"""Distributions of values at a step: in the stream, and after the activation functions inside the branches."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Distributions, Film
from models.instruments.stream import rms, watched
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import frame_steps
from models.training import Replays, Snapshot, Work

BIN = 0.25  # width of a bin, in units of the RMS: distributions of all sizes then share one axis
FURTHEST = 24  # bins on either side of the one at 0; the outermost are open, so that no value is lost
SATURATED_TANH = 0.97  # |tanh| above which a unit has less than 6% of its slope left (Karpathy, makemore 3)
SATURATED_SIGMOID = 0.05  # slope of a sigmoid, a fifth of its largest, below which a unit is saturated


class Histogram(NamedTuple):
    """One site's shares (bins,), the RMS in whose units the bins are, and the share of values that is not finite."""

    shares: np.ndarray
    rms: float
    lost: float


def distributions(snapshot: Snapshot) -> Work[Distributions]:
    """The stream's values by site on the step's batch, and the units of the branches that have an activation."""
    net, sites = snapshot.model.stream, plan(snapshot.cfg).sites
    inside = [at for at, sublayer in enumerate(net.sublayers, 1) if _activation(sublayer) is not None]
    tensors = watched(snapshot, [*net.stream_taps, *(_place(snapshot.model, at, inside=True) for at in inside)])
    points, activations = tensors[: len(sites)], tensors[len(sites) :]
    histograms, tails = [], []
    for x in points:
        histograms.append(histogram(x))
        tails.append(kurtosis(x))
        yield len(tails) / len(points)
    kinds = [plan(snapshot.cfg).sublayers[at - 1].activation for at in inside]
    units = [shares_of_units(a, kind) for a, kind in zip(activations, kinds, strict=True)]
    dead, always_on, saturated = (
        np.array([shares.get(key, np.nan) for shares in units] if any(key in one for one in units) else [], np.float32)
        for key in ("dead", "always_on", "saturated")
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

    `inside` measures after the activation function of the site's branch. ValueError for a site that the net does not
    have, or whose branch has no activation.
    """
    arranged = plan(cfg)
    if site not in arranged.sites:
        raise ValueError(f"site is {site!r}; legal is one of {', '.join(arranged.sites)}")
    active = [sub.site for sub in arranged.sublayers if sub.kind != "attn" and not sub.identity]
    if inside and site not in active:
        raise ValueError(f"site is {site!r}, whose branch has no activation; legal is one of {', '.join(active)}")
    at = arranged.sites.index(site)
    steps = [frame for frame in frame_steps(cfg.steps) if frame <= max(0, int(step))]
    histograms = yield from replays.film(
        cfg, steps, lambda snapshot: histogram(watched(snapshot, [_place(snapshot.model, at, inside=inside)])[0])
    )
    return Film(**_stacked(histograms), steps=np.array(steps[: len(histograms)]))


def centres() -> np.ndarray:
    """The middles of the bins in units of the RMS, symmetric about 0; the first and the last bin are open."""
    return BIN * np.arange(-FURTHEST, FURTHEST + 1, dtype=np.float32)


def histogram(x: Tensor) -> Histogram:
    """The histogram of a tensor: shares of the finite values, which sum to 1, or NaN without any."""
    finite = x[x.isfinite()]
    size = rms(finite)
    places = (finite / size / BIN).round().clamp(-FURTHEST, FURTHEST) if size > 0 else torch.zeros_like(finite)
    counts = torch.bincount(places.long() + FURTHEST, minlength=2 * FURTHEST + 1)
    shares = counts / len(finite) if len(finite) else counts * torch.nan
    return Histogram(shares.cpu().numpy(), size.item(), 1 - finite.numel() / x.numel())


def kurtosis(x: Tensor) -> tuple[float, float]:
    """Kurtosis E(x - mean)^4 / variance^2 over a token's features: its mean and maximum over tokens (..., D).

    NaN where no token has a variance.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1)
    defined = (variance > 0) & variance.isfinite()
    if not defined.any():
        return float("nan"), float("nan")
    ratios = centred[defined].pow(4).mean(-1) / variance[defined].square()
    return ratios.mean().item(), ratios.max().item()


def shares_of_units(a: Tensor, activation: str) -> dict[str, float]:
    """The shares of `Distributions` that this activation has, of units (..., D); NaN where a number is not finite."""
    tokens = a.flatten(0, -2)
    if activation == "relu":
        shares = {"dead": (tokens == 0).all(0), "always_on": (tokens > 0).all(0)}
    elif activation == "tanh":
        shares = {"saturated": tokens.abs() > SATURATED_TANH}
    elif activation == "sigmoid":
        shares = {"saturated": tokens * (1 - tokens) < SATURATED_SIGMOID}
    else:
        return {}
    finite = bool(tokens.isfinite().all())
    return {key: share.double().mean().item() if finite else float("nan") for key, share in shares.items()}


def _activation(sublayer: nn.Module) -> nn.Module | None:
    """The activation function inside a branch; None for attention and for a sublayer that was taken out."""
    activation: nn.Module | None = getattr(getattr(sublayer, "function", None), "activation", None)
    return activation


def _place(net: Net, at: int, *, inside: bool) -> nn.Module:
    """The module whose output is the stream at site `at`, or its branch after the activation."""
    module = _activation(net.stream.sublayers[at - 1]) if inside else net.stream.stream_taps[at]
    assert module is not None
    return module


def _stacked(histograms: list[Histogram]) -> dict[str, np.ndarray]:
    """The fields of `Histograms`."""
    columns = (np.array(values, np.float32) for values in zip(*histograms, strict=True))
    return {"centres": centres(), **dict(zip(Histogram._fields, columns, strict=True))}
