"""Why scores are divided by √d_k: random queries and keys of many sizes, measured."""

from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, by_name, depth_profile, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.labs.attention import DRAWS, KEYS, Sampled, divisor, sampled
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_scaling"
SIZES = (1, 4, 16, 64, 256)
D_MODEL = 512
DIVIDED = {"as they are": "none", "divided by √d_k": "√d_k", f"divided by √d_model = √{D_MODEL}": "√d_model"}
ROLES = ("other", "now", "ghost")


@lru_cache(maxsize=64)
def experiment(seed: int) -> dict[str, list[Sampled]]:
    """The same draws with every divisor (a key of DIVIDED), for each key size."""
    return {
        name: [sampled(d_k, by=divisor(scaling, d_k, D_MODEL), seed=seed) for d_k in SIZES]
        for name, scaling in DIVIDED.items()
    }


@dataclass(frozen=True)
class KeyDraws(Settings):
    """The size of the keys that is written out, and the draws."""

    columns = (2,)

    size: Annotated[int, Knob("Key size d_k", choices=dict.fromkeys(SIZES), link="d_k", control="steps")] = 64
    seed: Annotated[int, Knob("Seed of the draws", high=999, link="draws")] = 0


def draw() -> None:
    """The formula, the experiment, and its results."""
    st.latex(r"\mathbb{E}[q\cdot k]=0,\qquad \mathrm{Var}(q\cdot k)=\sum_{i=1}^{d_k}\mathrm{Var}(q_i k_i)=d_k")
    size, seed = astuple(form.draw(KeyDraws, KEY))
    found = experiment(seed)
    at = SIZES.index(size)
    st.markdown(f"**{said(found['as they are'][at], found['divided by √d_k'][at])}** {badge('measured')}")
    one, two = st.columns(2)
    with one:
        static_chart(variance_chart(found), "Variance of the scores", f"{KEY}_variance")
    with two:
        static_chart(entropy_chart(found), "Entropy of the weights", f"{KEY}_entropy")
    named_table(
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
        "their scores. p(1 - p) is the slope of the softmax: where one weight is nearly 1, hardly any gradient "
        f"passes. Divided by √d_model = √{D_MODEL} instead, scores come out too small whenever d_k is smaller, and "
        "the head attends more evenly than it should. The right divisor is the square root of one head's key size "
        "(Vaswani 2017, 1706.03762)."
    )


def said(raw: Sampled, scaled: Sampled) -> str:
    """Mean and variance of a score, which are often confused."""
    return (
        f"It is often said that the dot product grows to d_k. But its mean is 0 ({number(raw.mean, 2)} in "
        f"{raw.draws:,} draws); it is its variance that is d_k = {raw.d_k} ({number(raw.variance, 3)}), so a score is "
        f"typically √{raw.d_k} = {number(raw.d_k**0.5)} away from 0. Divided by √d_k the variance is 1 "
        f"({number(scaled.variance, 3)})."
    )


def variance_chart(found: dict[str, list[Sampled]]) -> Figure:
    """Variance over d_k, on a log axis, and the formula."""
    series = by_name({name: [one.variance for one in some] for name, some in found.items()}, ROLES)
    series.append(Series("formula: d_k", np.array(SIZES, float), "formula"))
    title = "Variance of the scores"
    return depth_profile(title=title, x="d_k", sites=SIZES, unit="variance", hue=SIGNAL, series=series)


def entropy_chart(found: dict[str, list[Sampled]]) -> Figure:
    """Mean entropy of the weights over d_k, below that of weights that are all alike."""
    series = by_name({name: [one.entropy for one in some] for name, some in found.items()}, ROLES)
    title, top = "Entropy of the weights", float(np.log(KEYS))
    return linear_profile(
        title=title,
        x=f"d_k; dotted: {KEYS} equal weights",
        sites=SIZES,
        unit="nats",
        hue=SIGNAL,
        series=series,
        guides=(0.0, top),
    )
