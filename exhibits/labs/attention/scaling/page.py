"""Why scores are divided by √d_k: random queries and keys of many sizes, measured."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import Figure, numbers
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, line_chart, number_cells
from components.shell.text import named_table, number
from exhibits.labs.attention.scaling.numbers import FACES, dice_draws, dice_probabilities
from models.content import Texts
from models.labs.attention import DRAWS, KEYS, ScoreStatistics, score_draws, statistics_by_divisor
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/scaling")
KEY = "attention_scaling"
KEY_SIZES = (1, 4, 16, 64, 256, 1024)
D_MODEL = 512
DIVISORS: dict[str, Callable[[int], float]] = {
    "as they are": lambda _: 1.0,
    "divided by √d_k": lambda d_k: d_k**0.5,
    "divided by d_k": float,
    f"divided by √d_model = √{D_MODEL}": lambda _: D_MODEL**0.5,
}
CENTRED_FORMULA = r"\mathbb{E}[q\cdot k]=0,\qquad \mathrm{Var}(q\cdot k)=\sum_{i=1}^{d_k}\mathrm{Var}(q_i k_i)=d_k"
MEAN_FORMULA = r"\mathbb{E}[q\cdot k]=m^2d_k,\qquad \mathrm{Var}(q\cdot k)=(1+2m^2)\,d_k"
COLUMNS = {  # of the table, by field of ScoreStatistics
    "mean": "mean",
    "variance": "variance",
    "entropy": "entropy, nats",
    "largest": "largest weight",
    "slope": "p(1 - p) of the largest",
}
DRAWN_KINDS = ("scores", "dice")
DICE_COUNTS = (1, 2, 5, 10, 100)
MAX_BINS = 41  # of the histogram
ROLES = ("other", "now", "initial", "previous")


@dataclass(frozen=True)
class KeyDraws(Settings):
    columns = (3,)

    size: Annotated[int, Knob("Key size d_k", choices=dict.fromkeys(KEY_SIZES), link="d_k", control="steps")] = 64
    seed: Annotated[int, Knob("Seed of the draws", high=999, link="draws")] = 0
    mean: Annotated[float, Knob("Mean of the entries", 0.0, 1.0, 0.1, link="mean", control="slider")] = 0.0


@dataclass(frozen=True)
class Drawn(Settings):
    columns = (2,)

    drawn: Annotated[str, Knob("Drawn", choices=dict.fromkeys(DRAWN_KINDS), link="drawn", control="segments")] = (
        DRAWN_KINDS[0]
    )
    dice: Annotated[int, Knob("Dice", choices=dict.fromkeys(DICE_COUNTS), link="dice", control="steps")] = 2


def draw() -> None:
    st.subheader("Why √d_k", anchor=False)
    formula = st.container()
    settings = form.draw(KeyDraws, KEY)
    size, seed, mean = settings.size, settings.seed, settings.mean
    formula.latex(MEAN_FORMULA if mean else CENTRED_FORMULA)
    samples = experiment(seed, mean)
    at_size = {name: by_size[KEY_SIZES.index(size)] for name, by_size in samples.items()}
    draw_finding(variance_sentence(at_size["as they are"], at_size["divided by √d_k"], mean), "measured")
    draw_charts(KEY, variance_chart(samples, mean), entropy_chart(samples))
    st.markdown(TEXTS("divided by the size", entropy=at_size["divided by d_k"].entropy, most=np.log(KEYS)))
    statistics = {label: [getattr(draws, field) for draws in at_size.values()] for field, label in COLUMNS.items()}
    cells = {label: number_cells(values, 3) for label, values in statistics.items()}
    named_table("Random scores", {"scores": list(at_size)} | cells)
    st.caption(TEXTS("random scores", draws=DRAWS, keys=KEYS, d_model=D_MODEL))
    _draw_histogram(size, seed, mean)


def _draw_histogram(size: int, seed: int, mean: float) -> None:
    """Draws a histogram of random scores, or of the totals of dice."""
    st.subheader("The draws", anchor=False)
    kind = form.draw(Drawn, KEY, only=["drawn"]).drawn
    if kind == DRAWN_KINDS[0]:
        draws = score_draws(size, seed=seed, mean=mean)
        draw_charts(KEY, histogram(draws, f"q·k with d_k = {size}"))
        inside = float((np.abs(draws - draws.mean()) < draws.std()).mean())
        draw_finding(TEXTS("histogram of scores", spread=draws.std(), inside=inside, d_k=size), "measured")
        return
    count = form.draw(Drawn, KEY, only=["dice"]).dice
    totals = dice_draws(count, seed=seed)
    draw_charts(KEY, histogram(totals, "total", range(count, FACES * count + 1)))
    draw_finding(dice_sentence(totals, count), "measured")


@lru_cache(maxsize=64)
def experiment(seed: int, mean: float = 0.0) -> dict[str, list[ScoreStatistics]]:
    """Statistics by divisor, of the same draws: one entry for each of KEY_SIZES."""
    by_size = [
        statistics_by_divisor(d_k, [divisor(d_k) for divisor in DIVISORS.values()], seed=seed, mean=mean)
        for d_k in KEY_SIZES
    ]
    return {name: [draws[i] for draws in by_size] for i, name in enumerate(DIVISORS)}


def dice_sentence(totals: np.ndarray, count: int) -> str:
    """The spread of the totals of `count` dice, and how rare the smallest and the largest total are."""
    shares = dice_probabilities(count)
    ends = float(np.isin(totals, (count, FACES * count)).mean())
    measured = {"draws": len(totals), "spread": totals.std(), "ends": ends, "right": shares[0] + shares[-1]}
    return TEXTS("histogram of dice", dice="one die" if count == 1 else f"{count} dice", **measured)


def variance_sentence(raw: ScoreStatistics, scaled: ScoreStatistics, mean: float = 0.0) -> str:
    """Mean and variance of a score, which are often confused, for entries with this mean."""
    if mean:
        expected = {"expected_mean": mean**2 * raw.d_k, "expected_variance": (1 + 2 * mean**2) * raw.d_k}
        both = {"raw_mean": raw.mean, "variance": raw.variance, "scaled_mean": scaled.mean, "scaled": scaled.variance}
        return TEXTS("entries with a mean", entries=mean, **both, **expected)
    measured = {"mean": raw.mean, "variance": raw.variance, "scaled": scaled.variance}
    return TEXTS("variance of a score", draws=raw.draws, d_k=raw.d_k, root=raw.d_k**0.5, **measured)


def histogram(values: np.ndarray, x: str, totals: range | None = None) -> Figure:
    """The shares of draws by bin; `totals` is the range of integer draws, several to a bin if there are many."""
    if totals is None:
        edges = np.histogram_bin_edges(values, MAX_BINS)
    else:
        width = max(1, -(-len(totals) // MAX_BINS))
        edges = np.arange(totals.start, totals.stop + 1, width) - 0.5
        if edges[-1] < totals.stop - 0.5:
            edges = np.append(edges, edges[-1] + width)
    counts, _ = np.histogram(values, edges)
    bars: dict[str, Any] = {
        "type": "bar",
        "name": "draws",
        "x": numbers((edges[1:] + edges[:-1]) / 2),
        "y": numbers(counts / len(values)),
        "width": float(edges[1] - edges[0]),
        "hue": SIGNAL,
        "hovertemplate": "%{x}: %{y:.3g}<extra></extra>",
    }
    return figure_of([bars], layout_of("Histogram of the draws", x=x, y="share", legend=False, hue=SIGNAL))


def variance_chart(samples: dict[str, list[ScoreStatistics]], mean: float = 0.0) -> Figure:
    """Variance over d_k, on a log axis, and the formula."""
    lines = {name: [draws.variance for draws in by_size] for name, by_size in samples.items()}
    factor = 1 + 2 * mean**2
    lines[f"formula: {number(factor)} d_k" if mean else "formula: d_k"] = [factor * size for size in KEY_SIZES]
    roles = (*ROLES, "formula")
    return line_chart("Variance of the scores", KEY_SIZES, lines, roles, x="d_k", unit="variance", hue=SIGNAL)


def entropy_chart(samples: dict[str, list[ScoreStatistics]]) -> Figure:
    """Mean entropy of the weights over d_k, below that of equal weights."""
    lines = {name: [draws.entropy for draws in by_size] for name, by_size in samples.items()}
    guides, x = (0.0, float(np.log(KEYS))), f"d_k; dotted: {KEYS} equal weights"
    axes: dict[str, Any] = {"axis": "linear", "x": x, "unit": "nats", "hue": SIGNAL, "guides": guides}
    return line_chart("Entropy of the weights", KEY_SIZES, lines, ROLES, **axes)
