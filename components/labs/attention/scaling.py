"""Why scores are divided by √d_k: random queries and keys of many sizes, measured."""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, frame_of
from components.charts.colour import SIGNAL
from components.charts.depth import Series, by_name, depth_profile, linear_profile
from components.charts.parts import Figure, numbers
from components.controls import form
from components.labs.parts import charts, say
from components.shell.text import named_table, number
from models.content import Texts
from models.labs.attention import DRAWS, FACES, KEYS, Sampled, dice_draws, dice_shares, sampled_over, score_draws
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_scaling"
SIZES = (1, 4, 16, 64, 256, 1024)
D_MODEL = 512
DIVIDED: dict[str, Callable[[int], float]] = {
    "as they are": lambda _: 1.0,
    "divided by √d_k": lambda d_k: d_k**0.5,
    "divided by d_k": float,
    f"divided by √d_model = √{D_MODEL}": lambda _: D_MODEL**0.5,
}
CENTRED = r"\mathbb{E}[q\cdot k]=0,\qquad \mathrm{Var}(q\cdot k)=\sum_{i=1}^{d_k}\mathrm{Var}(q_i k_i)=d_k"
MOMENTS = r"\mathbb{E}[q\cdot k]=m^2d_k,\qquad \mathrm{Var}(q\cdot k)=(1+2m^2)\,d_k"
DRAWN = ("scores", "dice")
DICE = (1, 2, 5, 10, 100)
BINS = 41
ROLES = ("other", "now", "initial", "previous")


@lru_cache(maxsize=64)
def experiment(seed: int, mean: float = 0.0) -> dict[str, list[Sampled]]:
    """The same draws with every divisor (a key of DIVIDED), for each key size."""
    sizes = [sampled_over(d_k, [by(d_k) for by in DIVIDED.values()], seed=seed, mean=mean) for d_k in SIZES]
    return {name: [draws[at] for draws in sizes] for at, name in enumerate(DIVIDED)}


@dataclass(frozen=True)
class KeyDraws(Settings):
    columns = (3,)

    size: Annotated[int, Knob("Key size d_k", choices=dict.fromkeys(SIZES), link="d_k", control="steps")] = 64
    seed: Annotated[int, Knob("Seed of the draws", high=999, link="draws")] = 0
    mean: Annotated[float, Knob("Mean of the entries", 0.0, 1.0, 0.1, link="mean", control="slider")] = 0.0


@dataclass(frozen=True)
class Drawn(Settings):
    columns = (2,)

    drawn: Annotated[str, Knob("Drawn", choices=dict.fromkeys(DRAWN), link="drawn", control="segments")] = DRAWN[0]
    dice: Annotated[int, Knob("Dice", choices=dict.fromkeys(DICE), link="dice", control="steps")] = 2


def draw() -> None:
    st.subheader("Why √d_k", anchor=False)
    formula = st.container()
    size, seed, mean = astuple(form.draw(KeyDraws, KEY))
    formula.latex(MOMENTS if mean else CENTRED)
    rows = experiment(seed, mean)
    at = {name: row[SIZES.index(size)] for name, row in rows.items()}
    say(variance_sentence(at["as they are"], at["divided by √d_k"], mean), "measured")
    charts(KEY, variance_chart(rows, mean), entropy_chart(rows))
    st.markdown(TEXTS("divided by the size", entropy=at["divided by d_k"].entropy, most=np.log(KEYS)))
    columns = ("mean", "variance", "entropy, nats", "largest weight", "p(1 - p) of the largest")
    measured = zip(*(astuple(draws)[2:] for draws in at.values()), strict=True)
    cells = {name: [number(value, 3) for value in row] for name, row in zip(columns, measured, strict=True)}
    named_table("Random scores", {"scores": list(at)} | cells)
    st.caption(TEXTS("random scores", draws=DRAWS, keys=KEYS, d_model=D_MODEL))
    _histogram(size, seed, mean)


def _histogram(size: int, seed: int, mean: float) -> None:
    """The draws one by one, of scores or of dice."""
    st.subheader("The draws", anchor=False)
    kind = form.draw(Drawn, KEY, only=["drawn"]).drawn
    if kind == DRAWN[0]:
        draws = score_draws(size, seed=seed, mean=mean)
        charts(KEY, histogram(draws, f"q·k with d_k = {size}"))
        inside = float((np.abs(draws - draws.mean()) < draws.std()).mean())
        say(TEXTS("histogram of scores", spread=draws.std(), inside=inside, d_k=size), "measured")
        return
    count = form.draw(Drawn, KEY, only=["dice"]).dice
    totals = dice_draws(count, seed=seed)
    charts(KEY, histogram(totals, "total", range(count, FACES * count + 1)))
    say(dice_sentence(totals, count), "measured")


def dice_sentence(totals: np.ndarray, count: int) -> str:
    """How far totals spread, and how rare the smallest and the largest are."""
    shares = dice_shares(count)
    ends = float(np.isin(totals, (count, FACES * count)).mean())
    measured = {"draws": len(totals), "spread": totals.std(), "ends": ends, "right": shares[0] + shares[-1]}
    return TEXTS("histogram of dice", dice="one die" if count == 1 else f"{count} dice", **measured)


def histogram(values: np.ndarray, x: str, whole: range | None = None) -> Figure:
    """The shares of draws by bin; `whole`: all totals that there are, of which many share a bin."""
    if whole is None:
        edges = np.histogram_bin_edges(values, BINS)
    else:
        edges = np.arange(whole.start, whole.stop + 1, max(1, -(-len(whole) // BINS))) - 0.5
        edges = np.append(edges, edges[-1] + (edges[1] - edges[0])) if edges[-1] < whole.stop - 0.5 else edges
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
    return figure_of([bars], frame_of("Histogram of the draws", x=x, y="share", legend=False, hue=SIGNAL))


def variance_sentence(raw: Sampled, scaled: Sampled, mean: float = 0.0) -> str:
    """Mean and variance of a score, which are often confused; of entries with this mean."""
    if mean:
        expected = {"expected_mean": mean**2 * raw.d_k, "expected_variance": (1 + 2 * mean**2) * raw.d_k}
        both = {"raw_mean": raw.mean, "variance": raw.variance, "scaled_mean": scaled.mean, "scaled": scaled.variance}
        return TEXTS("entries with a mean", entries=mean, **both, **expected)
    measured = {"mean": raw.mean, "variance": raw.variance, "scaled": scaled.variance}
    return TEXTS("variance of a score", draws=raw.draws, d_k=raw.d_k, root=raw.d_k**0.5, **measured)


def variance_chart(rows: dict[str, list[Sampled]], mean: float = 0.0) -> Figure:
    """Variance over d_k, on a log axis, and the formula."""
    series = by_name({name: [draws.variance for draws in row] for name, row in rows.items()}, ROLES)
    name = f"formula: {number(1 + 2 * mean**2)} d_k" if mean else "formula: d_k"
    series.append(Series(name, np.array(SIZES, float) * (1 + 2 * mean**2), "formula"))
    title = "Variance of the scores"
    return depth_profile(title=title, x="d_k", sites=SIZES, unit="variance", hue=SIGNAL, series=series)


def entropy_chart(rows: dict[str, list[Sampled]]) -> Figure:
    """Mean entropy of the weights over d_k, below that of weights that are all alike."""
    series = by_name({name: [draws.entropy for draws in row] for name, row in rows.items()}, ROLES)
    how: dict[str, Any] = {"sites": SIZES, "series": series, "guides": (0.0, float(np.log(KEYS)))}
    x = f"d_k; dotted: {KEYS} equal weights"
    return linear_profile(title="Entropy of the weights", x=x, unit="nats", hue=SIGNAL, **how)
