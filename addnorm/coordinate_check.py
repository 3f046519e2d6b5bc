"""Coordinate check: whether a few training steps move activations equally at every width (Yang 2022, 2203.03466)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

FLAT = 0.05  # a size counts as flat up to this slope on log-log axes (decades per decade)
OUTPUT = "output"  # name of the last site
MAX_WIDTHS = 24
MAX_STEPS = 100
MAX_SEEDS = 32


@dataclass(frozen=True)
class Coordinates:
    """The RMS of each site on one batch, `size[value][seed][step][site]`, for models of several widths or depths.

    `values` are the widths or depths, `over` says which. Step 0 is before training. The last site is the output.
    """

    values: tuple[int, ...]
    sites: tuple[str, ...]
    size: tuple[Any, ...]
    over: str = "width"

    @property
    def steps(self) -> int:
        """Number of updates before the last measurement."""
        return len(self.size[0][0]) - 1

    def mean(self, step: int, site: str) -> list[float]:
        """The geometric mean over the seeds, shape (values,); NaN where a size is 0 or not finite."""
        index = self.sites.index(site)
        return [
            _geometric_mean([sizes_by_step[step][index] for sizes_by_step in sizes_by_seed])
            for sizes_by_seed in self.size
        ]

    def slope(self, step: int, site: str) -> float:
        """The slope of a site's size on log-log axes, by least squares: 0 is flat. NaN if a size is not positive."""
        return slope(self.values, self.mean(step, site))

    def steepest(self, step: int = -1) -> tuple[str, float]:
        """The site with the steepest slope, and the slope. NaN counts as steepest."""
        slopes = [(site, self.slope(step, site)) for site in self.sites]
        return max(slopes, key=lambda pair: math.inf if math.isnan(pair[1]) else abs(pair[1]))

    @property
    def flat(self) -> bool:
        """Whether all slopes after the last step are within FLAT."""
        return abs(self.steepest()[1]) <= FLAT

    @property
    def verdict(self) -> str:
        """One sentence on the steepest slope after the last step."""
        site, steepest = self.steepest()
        after = f"after {self.steps} step{'s' * (self.steps != 1)}"
        if math.isnan(steepest):
            return f"No slope: {after} the size at {site} is 0 or not finite at some {self.over}."
        power = f"{self.over}^{steepest:.2f}"
        if self.flat:
            return f"Flat: {after} every size stays within {self.over}^±{FLAT:g}; the steepest is {site}, as {power}."
        verb = "grows" if steepest > 0 else "shrinks"
        return f"Drifts: {after} the size at {site} {verb} as {power}; up to ±{FLAT:g} would count as flat."

    def rows(self) -> Iterator[tuple[int, int, int, str, float]]:
        """Every size with its value, seed, step and site."""
        for value, seeds in zip(self.values, self.size, strict=True):
            for seed, steps in enumerate(seeds):
                for step, sizes in enumerate(steps):
                    for site, size in zip(self.sites, sizes, strict=True):
                        yield value, seed, step, site, size

    def __str__(self) -> str:
        """A table of slopes with a line per site and a column per step, and the verdict."""
        title = f"slope over {self.over} {self.values[0]} to {self.values[-1]}"
        name_width = max(map(len, self.sites))
        steps = range(self.steps + 1)
        lines = [" " * name_width + "".join(f"step {step}".rjust(9) for step in steps)]
        for site in self.sites:
            slopes = "".join(f"{self.slope(step, site):>9.3f}" for step in steps)
            lines.append(site.ljust(name_width) + slopes)
        return "\n".join([title, *lines, self.verdict])


def slope(values: Sequence[float], sizes: Sequence[float]) -> float:
    """The slope of the least-squares line on log-log axes; NaN for sizes that are not positive, or fewer than two."""
    if len(values) < 2 or any(not math.isfinite(size) or size <= 0 for size in sizes):
        return math.nan
    xs = [math.log10(value) for value in values]
    ys = [math.log10(size) for size in sizes]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - mean_x) ** 2 for x in xs)


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

    `build(width)` returns a new model and its optimizer; torch's seed is set before each call. The sites, `batch` and
    `loss` are those of `profile`. torch's random state is restored. Raises ValueError for widths, steps or seeds out of
    range, for a width at which `build` fails, and for models that differ in more than their width.
    """
    import torch

    _check_arguments(widths, steps, seeds)
    sizes: list[Any] = []
    reference: tuple[list[tuple[str, int]], list[str]] | None = None  # parameters and sites of the first model
    with torch.random.fork_rng():
        for width in widths:
            sizes_by_seed = []
            for seed in range(seeds):
                torch.manual_seed(seed)
                model, optimizer = _build(build, width)
                parameters = [(name, p.ndim) for name, p in model.named_parameters()]
                sites, sizes_by_step = _train(model, optimizer, batch, loss, steps)
                if reference is None:
                    reference = parameters, sites
                if (parameters, sites) != reference:
                    counts = f"sites ({len(reference[1])} and {len(sites)})"
                    difference = counts if parameters == reference[0] else "parameters"
                    raise ValueError(
                        f"build({widths[0]}) and build({width}) differ in their {difference}: the models may "
                        "differ only in width."
                    )
                sizes_by_seed.append(sizes_by_step)
            sizes.append(tuple(sizes_by_seed))
    return Coordinates(tuple(widths), tuple(sites), tuple(sizes))


def _check_arguments(widths: Sequence[int], steps: int, seeds: int) -> None:
    is_distinct = len(set(widths)) == len(widths)
    is_positive = all(isinstance(width, int) and width > 0 for width in widths)
    if not is_distinct or not is_positive or not 2 <= len(widths) <= MAX_WIDTHS:
        raise ValueError(f"widths is {widths!r}; legal are 2 to {MAX_WIDTHS} different whole numbers above 0.")
    for name, value, maximum in (("steps", steps, MAX_STEPS), ("seeds", seeds, MAX_SEEDS)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
            raise ValueError(f"{name} is {value!r}; legal is a whole number from 1 to {maximum}.")


def _build(build: Callable[[int], Any], width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    """The model and the optimizer of a width. Raises ValueError if `build` fails or returns anything else."""
    try:
        pair = build(width)
    except Exception as error:
        raise ValueError(f"build({width}) failed: {type(error).__name__}: {error}") from error
    if not isinstance(pair, tuple) or len(pair) != 2 or not hasattr(pair[1], "zero_grad"):
        raise ValueError(f"build({width}) returns {type(pair).__name__}; legal is a model and its optimizer.")
    return pair


def _train(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Any, loss: Any, steps: int
) -> tuple[list[str], tuple[tuple[float, ...], ...]]:
    """The names of the sites, and their sizes before training and after each step, shape (steps + 1, sites)."""
    from addnorm.profiling import loss_on, profile

    names, sizes = [], []
    for step in range(steps + 1):
        current = profile(model, batch, loss)
        names = [*current.sites, OUTPUT]
        sizes.append((*current.signal, float(current.recording.scalars["output"][0])))
        if step < steps:
            optimizer.zero_grad()
            loss_on(model, batch, loss).backward()
            optimizer.step()
    return names, tuple(sizes)


def _geometric_mean(sizes: Sequence[float]) -> float:
    if any(not math.isfinite(size) or size <= 0 for size in sizes):
        return math.nan
    return math.exp(sum(map(math.log, sizes)) / len(sizes))
