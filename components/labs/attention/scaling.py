"""Why scores are divided by the root of d_k: random queries and keys of many sizes, drawn and measured."""

from functools import lru_cache

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series
from components.charts.parts import Figure
from components.labs.attention.charts import lines
from components.shell.address import kept
from components.shell.text import badge, drawn, listed, number
from models.labs.attention import DRAWS, KEYS, Sampled, divisor, sampled

KEY = "attention_scaling"
SIZES = (1, 4, 16, 64, 256)
D_MODEL = 512
SEEDS = (0, 999)
DIVIDED = {"as they are": "none", "divided by √d_k": "√d_k", f"divided by √d_model = √{D_MODEL}": "√d_model"}
ROLES = ("other", "now", "ghost")


@lru_cache(maxsize=64)
def experiment(seed: int) -> dict[str, list[Sampled]]:
    """The same draws under every divisor (a key of DIVIDED), a size of keys each."""
    return {
        name: [sampled(d_k, by=divisor(scaling, d_k, D_MODEL), seed=seed) for d_k in SIZES]
        for name, scaling in DIVIDED.items()
    }


def draw() -> None:
    """The argument, the experiment, and what each size gives."""
    st.latex(r"\mathbb{E}[q\cdot k]=0,\qquad \mathrm{Var}(q\cdot k)=\sum_{i=1}^{d_k}\mathrm{Var}(q_i k_i)=d_k")
    left, right = st.columns(2)
    size = int(left.select_slider("Size of the keys d_k", SIZES, **kept(f"{KEY}_size", 64, name="d_k", among=SIZES)))
    choice = kept(f"{KEY}_seed", 0, name="draws", bounds=SEEDS)
    seed = int(right.number_input("Other random draws", *SEEDS, **choice))
    found = experiment(seed)
    at = SIZES.index(size)
    st.markdown(f"**{said(found['as they are'][at], found['divided by √d_k'][at])}** {badge('measured')}")
    one, two = st.columns(2)
    with one:
        drawn(variance_chart(found), "Variance of the scores", f"{KEY}_variance")
    with two:
        drawn(entropy_chart(found), "Entropy of the weights", f"{KEY}_entropy")
    listed(
        "Random scores",
        {
            "scores": list(found),
            "mean": [number(some[at].mean, 3) for some in found.values()],
            "variance": [number(some[at].variance, 3) for some in found.values()],
            "entropy, nats": [number(some[at].entropy, 3) for some in found.values()],
            "largest weight": [number(some[at].largest, 3) for some in found.values()],
            "p(1 - p) of the largest": [number(some[at].slope, 3) for some in found.values()],
        },
    )
    st.caption(
        f"{DRAWS:,} pairs with independent Gaussian entries of mean 0 and variance 1; each softmax takes {KEYS} of "
        "their scores. p(1 - p) is the softmax's own slope: where one weight is nearly 1 hardly any gradient passes. "
        f"Divided by the root of d_model = {D_MODEL} instead, scores of a head that is smaller than the whole token "
        "come out too small, and it looks everywhere alike. The root is of the size of one head's keys (Vaswani 2017, "
        "1706.03762)."
    )


def said(raw: Sampled, scaled: Sampled) -> str:
    """Mean and variance of a score, which are often mixed up."""
    return (
        f"It is often said that the dot product sums to d_k. Its mean is 0 ({number(raw.mean, 2)} in {raw.draws:,} "
        f"draws); it is its variance that is d_k = {raw.d_k} ({number(raw.variance, 3)}), so a score is typically "
        f"√{raw.d_k} = {number(raw.d_k**0.5)} away from 0. Divided by that root the variance is 1 "
        f"({number(scaled.variance, 3)})."
    )


def variance_chart(found: dict[str, list[Sampled]]) -> Figure:
    """Variance over d_k, on a log axis, and the formula."""
    series = [
        Series(name, np.array([one.variance for one in some]), role)
        for (name, some), role in zip(found.items(), ROLES, strict=True)
    ]
    series.append(Series("formula: d_k", np.array(SIZES, float), "formula"))
    return lines("Variance of the scores", over="d_k", at=SIZES, unit="variance", hue=SIGNAL, series=series, log=True)


def entropy_chart(found: dict[str, list[Sampled]]) -> Figure:
    """Mean entropy of the weights over d_k, below that of weights that are all alike."""
    series = [
        Series(name, np.array([one.entropy for one in some]), role)
        for (name, some), role in zip(found.items(), ROLES, strict=True)
    ]
    title, top = "Entropy of the weights", float(np.log(KEYS))
    return lines(
        title,
        over=f"d_k; dotted: {KEYS} equal weights",
        at=SIZES,
        unit="nats",
        hue=SIGNAL,
        series=series,
        guides=(0.0, top),
    )
