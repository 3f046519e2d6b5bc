"""Distributions of values at one step: in the stream, and after the activation functions inside branches."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from exhibits.instruments.distributions.answer import DISTRIBUTIONS, LAYER_FILM, Distributions, Film
from models.instruments import on_snapshot
from models.instruments.stream import module_outputs, rms
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import frame_steps
from models.training import Replays, Snapshot, Work

BIN_WIDTH = 0.25  # in units of the RMS, so that distributions of all sizes share one axis
BINS_PER_SIDE = 24  # on either side of the bin at 0; the outermost are open, so that every value falls into a bin
SATURATED_TANH = 0.97  # |tanh| above which less than 6% of the slope is left (Karpathy, makemore 3)
SATURATED_SIGMOID = 0.05  # slope of a sigmoid, a fifth of its largest, below which a unit is saturated


class Histogram(NamedTuple):
    """Shares by bin (bins,), the RMS that is the unit of the bins, and the share of non-finite values."""

    shares: np.ndarray
    rms: float
    nonfinite: float


def distributions(snapshot: Snapshot) -> Work[Distributions]:
    """Values of the stream by site, and of the units in branches that have an activation, on the step's batch."""
    net, sites = snapshot.model.stream, plan(snapshot.cfg).sites
    inside = [site for site, sublayer in enumerate(net.sublayers, 1) if _activation(sublayer) is not None]
    modules = [*net.stream_taps, *(_module_at(snapshot.model, site, inside=True) for site in inside)]
    tensors = module_outputs(snapshot, modules)
    points, activations = tensors[: len(sites)], tensors[len(sites) :]
    histograms, tails = [], []
    for x in points:
        histograms.append(histogram(x))
        tails.append(kurtosis(x))
        yield len(tails) / len(points)
    kinds = [plan(snapshot.cfg).sublayers[site - 1].activation for site in inside]
    units = [unit_shares(a, kind) for a, kind in zip(activations, kinds, strict=True)]
    columns: dict[str, np.ndarray] = {}
    for key in ("dead", "always_on", "saturated"):
        is_defined = any(key in shares for shares in units)
        columns[key] = np.array([shares.get(key, np.nan) for shares in units] if is_defined else [], np.float32)
    return Distributions(
        **_histogram_fields(histograms),
        **columns,
        tokens=points[0].shape[:-1].numel(),
        kurtosis=np.array([mean for mean, _ in tails], np.float32),
        kurtosis_max=np.array([largest for _, largest in tails], np.float32),
        inside=tuple(sites[site] for site in inside),
    )


def layer_film(replays: Replays, cfg: RunConfig, *, step: int, site: str, inside: bool = False) -> Work[Film]:
    """Histograms of one site at the frames up to `step`, each on its own batch.

    `inside` selects the values after the activation function of the site's branch. ValueError for a site that the net
    does not have, or whose branch has no activation.
    """
    arranged = plan(cfg)
    if site not in arranged.sites:
        raise ValueError(f"site is {site!r}; legal is one of {', '.join(arranged.sites)}")
    active = [sub.site for sub in arranged.sublayers if sub.kind != "attn" and not sub.identity]
    if inside and site not in active:
        raise ValueError(f"site is {site!r}, whose branch has no activation; legal is one of {', '.join(active)}")
    index = arranged.sites.index(site)
    steps = [frame for frame in frame_steps(cfg.steps) if frame <= max(0, int(step))]

    def measure(snapshot: Snapshot) -> Histogram:
        return histogram(module_outputs(snapshot, [_module_at(snapshot.model, index, inside=inside)])[0])

    histograms = yield from replays.map_steps(cfg, steps, measure)
    return Film(**_histogram_fields(histograms), steps=np.array(steps[: len(histograms)]))


def bin_centres() -> np.ndarray:
    """Centres of the bins in units of the RMS, symmetric about 0; the first and the last bin are open."""
    return BIN_WIDTH * np.arange(-BINS_PER_SIDE, BINS_PER_SIDE + 1, dtype=np.float32)


def histogram(x: Tensor) -> Histogram:
    """Histogram of a tensor; shares of the finite values sum to 1, and are NaN if there are none."""
    finite = x[x.isfinite()]
    size = rms(finite)
    bins = (finite / size / BIN_WIDTH).round() if size > 0 else torch.zeros_like(finite)
    indices = bins.clamp(-BINS_PER_SIDE, BINS_PER_SIDE).long() + BINS_PER_SIDE
    counts = torch.bincount(indices, minlength=2 * BINS_PER_SIDE + 1)
    shares = counts / len(finite) if len(finite) else counts * torch.nan
    return Histogram(shares.cpu().numpy(), size.item(), 1 - finite.numel() / x.numel())


def kurtosis(x: Tensor) -> tuple[float, float]:
    """Mean and maximum over tokens (..., D) of the kurtosis E(x - mean)^4 / variance^2 over a token's features.

    NaN where no token has a variance.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1)
    defined = (variance > 0) & variance.isfinite()
    if not defined.any():
        return float("nan"), float("nan")
    ratios = centred[defined].pow(4).mean(-1) / variance[defined].square()
    return ratios.mean().item(), ratios.max().item()


def unit_shares(a: Tensor, activation: str) -> dict[str, float]:
    """The shares of `Distributions` defined for this activation, of units (..., D); NaN if a value is not finite."""
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


def _module_at(net: Net, site: int, *, inside: bool) -> nn.Module:
    """The module that outputs the stream at a site, or the site's branch after its activation."""
    module = _activation(net.stream.sublayers[site - 1]) if inside else net.stream.stream_taps[site]
    assert module is not None
    return module


def _histogram_fields(histograms: list[Histogram]) -> dict[str, np.ndarray]:
    """The fields of `Histograms`."""
    columns = (np.array(values, np.float32) for values in zip(*histograms, strict=True))
    return {"centres": bin_centres(), **dict(zip(Histogram._fields, columns, strict=True))}


MEASURES = {DISTRIBUTIONS: on_snapshot(distributions), LAYER_FILM: layer_film}
EXAMPLES = {LAYER_FILM: {"site": "x0"}}  # arguments of a question that needs some
