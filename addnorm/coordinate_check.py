"""Coordinate check: does a few steps of training move activations as much at every width? (Yang 2022, 2203.03466)"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

FLAT = 0.05  # slope on log-log axes, in decades per decade, up to which a size counts as flat
OUTPUT = "output"  # the site of what the model returns
MAX_WIDTHS, MAX_STEPS, MAX_SEEDS = 24, 100, 32


@dataclass(frozen=True)
class Coordinates:
    """Root mean squares, size[value][seed][step][site], of one batch at some widths (or depths: `over`).

    Row 0 of the steps is before training. The last site is the output.
    """

    values: tuple[int, ...]
    sites: tuple[str, ...]
    size: tuple[Any, ...]
    over: str = "width"

    @property
    def steps(self) -> int:
        """Updates after which it was measured last."""
        return len(self.size[0][0]) - 1

    def mean(self, step: int, site: str) -> list[float]:
        """The geometric mean over the seeds, by value; NaN where a size is 0 or not finite."""
        at = self.sites.index(site)
        return [_geometric_mean([of_seed[step][at] for of_seed in of_value]) for of_value in self.size]

    def slope(self, step: int, site: str) -> float:
        """The slope of a site's size on log-log axes, by least squares: 0 is flat. NaN where a size is not positive."""
        return slope(self.values, self.mean(step, site))

    def steepest(self, step: int = -1) -> tuple[str, float]:
        """The site whose size depends on the width most, and its slope; NaN first."""
        slopes = [(site, self.slope(step, site)) for site in self.sites]
        return max(slopes, key=lambda pair: math.inf if math.isnan(pair[1]) else abs(pair[1]))

    @property
    def flat(self) -> bool:
        """Whether after the last step no size depends on the width, up to FLAT."""
        return abs(self.steepest()[1]) <= FLAT

    @property
    def verdict(self) -> str:
        """Whether the sizes stay, in one sentence."""
        site, steepest = self.steepest()
        after = f"after {self.steps} step{'s' * (self.steps != 1)}"
        if math.isnan(steepest):
            return f"No slope: {after} the size at {site} is 0 or not finite at some {self.over}."
        power = f"{self.over}^{steepest:.2f}"
        if self.flat:
            return f"Flat: {after} every size stays within {self.over}^±{FLAT:g}; the steepest is {site}, as {power}."
        word = "grows" if steepest > 0 else "shrinks"
        return f"Drifts: {after} the size at {site} {word} as {power}; up to ±{FLAT:g} would count as flat."

    def rows(self) -> Iterator[tuple[int, int, int, str, float]]:
        """Every size with its value, seed, step and site."""
        for value, of_value in zip(self.values, self.size, strict=True):
            for seed, of_seed in enumerate(of_value):
                for step, of_step in enumerate(of_seed):
                    yield from ((value, seed, step, site, size) for site, size in zip(self.sites, of_step, strict=True))

    def __str__(self) -> str:
        """The slopes as a table, a line per site and a column per step, and the verdict."""
        width = max(map(len, self.sites))
        head = f"{'':<{width}}" + "".join(f"{f'step {step}':>9}" for step in range(self.steps + 1))
        lines = [
            f"{site:<{width}}" + "".join(f"{self.slope(step, site):>9.3f}" for step in range(self.steps + 1))
            for site in self.sites
        ]
        return "\n".join([f"slope over {self.over} {self.values[0]} to {self.values[-1]}", head, *lines, self.verdict])


def slope(values: Sequence[float], sizes: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms; NaN where one of them has none."""
    if len(values) < 2 or any(not math.isfinite(size) or size <= 0 for size in sizes):
        return math.nan
    x, y = [math.log10(value) for value in values], [math.log10(size) for size in sizes]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - mean_x) ** 2 for one in x)
    return sum((one - mean_x) * (other - mean_y) for one, other in zip(x, y, strict=True)) / spread


def coordinates(
    build: Callable[[int], tuple[nn.Module, torch.optim.Optimizer]],
    widths: Sequence[int],
    batch: Any,
    *,
    loss: Callable[..., torch.Tensor] | None = None,
    steps: int = 4,
    seeds: int = 3,
) -> Coordinates:
    """Measures every site and the output of a model at each width, before and after each of a few steps on one batch.

    `build(width)` returns a new model and its optimizer; torch's seed is set before each call. The sites are those of
    `profile`, as are `batch` and `loss`. torch's random state is as before. ValueError, in one sentence, for widths,
    steps or seeds out of range, a width at which `build` fails, and models that differ in more than their width.
    """
    import torch

    _check(widths, steps, seeds)
    sizes: list[Any] = []
    first: tuple[int, Any, list[str]] | None = None
    with torch.random.fork_rng():
        for width in widths:
            of_width = []
            for seed in range(seeds):
                torch.manual_seed(seed)
                model, optimizer = _built(build, width)
                form = [(name, p.ndim) for name, p in model.named_parameters()]
                sites, of_seed = _trained(model, optimizer, batch, loss, steps)
                if first is None:
                    first = width, form, sites
                if (form, sites) != first[1:]:
                    raise ValueError(_differs(first[0], width, form == first[1], len(first[2]), len(sites)))
                of_width.append(of_seed)
            sizes.append(tuple(of_width))
    assert first is not None
    return Coordinates(tuple(widths), tuple(first[2]), tuple(sizes))


def _check(widths: Sequence[int], steps: int, seeds: int) -> None:
    if not 2 <= len(set(widths)) == len(widths) <= MAX_WIDTHS or not all(isinstance(w, int) and w > 0 for w in widths):
        raise ValueError(f"widths is {widths!r}; legal are 2 to {MAX_WIDTHS} different whole numbers above 0.")
    for name, value, most in (("steps", steps, MAX_STEPS), ("seeds", seeds, MAX_SEEDS)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{name} is {value!r}; legal is a whole number from 1 to {most}.")


def _built(build: Callable[[int], Any], width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    try:
        built = build(width)
    except Exception as error:
        raise ValueError(f"build({width}) failed: {type(error).__name__}: {error}") from error
    if not isinstance(built, tuple) or len(built) != 2 or not hasattr(built[1], "zero_grad"):
        raise ValueError(f"build({width}) returns {type(built).__name__}; legal is a model and its optimizer.")
    return built


def _differs(first: int, width: int, same_parameters: bool, sites: int, other_sites: int) -> str:
    """Why two models are no coordinate check, in a sentence."""
    what = f"sites ({sites} and {other_sites})" if same_parameters else "parameters"
    return f"build({first}) and build({width}) have other {what}: the models must differ in their width alone."


def _trained(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Any, loss: Any, steps: int
) -> tuple[list[str], tuple[tuple[float, ...], ...]]:
    """The names of the sites, and their sizes before and after each step."""
    from addnorm.profiling import loss_on, profile

    names, sizes = [], []
    for step in range(steps + 1):
        seen = profile(model, batch, loss)
        names = [*seen.sites, OUTPUT]
        sizes.append((*seen.signal, float(seen.recording.scalars["output"][0])))
        if step < steps:
            optimizer.zero_grad()
            loss_on(model, batch, loss).backward()
            optimizer.step()
    return names, tuple(sizes)


def _geometric_mean(sizes: Sequence[float]) -> float:
    if any(not math.isfinite(size) or size <= 0 for size in sizes):
        return math.nan
    return math.exp(sum(map(math.log, sizes)) / len(sizes))
