"""One attention head in charts and tables: map of weights, matrices, effect of scaling, test of linearity."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.tokens import token_map
from components.labs.examples import numbered
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.labs.attention import Head, entropy, straightness, variance

KEY = "attention_head"
WRITTEN_IN = 8  # tokens up to which the map's cells show their weights


def weights_map(head: Head, words: Sequence[str]) -> None:
    """The weights as a map, masked cells empty; hovering names the tokens, by their words if they are such."""
    names = list(words) or [str(at + 1) for at in range(len(head.q))]
    texts = None
    if len(names) <= WRITTEN_IN:
        pairs = zip(head.weights.tolist(), head.seen.tolist(), strict=True)
        texts = [[f"{value:.2f}" if there else "" for value, there in zip(*row, strict=True)] for row in pairs]
    title = "Attention weights"
    figure = token_map(
        title=title,
        tokens=names,
        rows=names,
        values=head.weights,
        unit="share",
        y="query token",
        hidden=~head.seen,
        texts=texts,
    )
    if words:
        hover = [[f"“{own}” looks at “{other}”" for other in words] for own in words]
        figure["layout"]["xaxis"] |= {"tickvals": list(range(1, len(words) + 1)), "ticktext": list(words)}
        figure["data"][0] |= {"hovertext": hover, "hovertemplate": "%{hovertext}: %{customdata:.2f}<extra></extra>"}
    static_chart(figure, title, f"{KEY}_map", height=360)


def matrices(head: Head) -> None:
    """All matrices of the computation, with shapes."""
    found = {
        "Q": head.q,
        "K": head.k,
        "V": head.v,
        "Scores QKᵀ": head.scores,
        "Weights": head.weights,
        "Output": head.output,
    }
    for row in (list(found.items())[:3], list(found.items())[3:]):
        for column, (name, values) in zip(st.columns(3), row, strict=True):
            with column:
                st.markdown(f"**{name}** {values.shape}")
                frame = pd.DataFrame(values, index=numbered("token", len(values)))
                frame.columns = [str(at + 1) for at in range(values.shape[1])]
                st.dataframe(frame.map(number), alt=f"{name}, table", height="content" if len(values) <= 8 else 260)


def scaling(with_it: Head, without: Head) -> None:
    """What the division does to the spread of scores and weights."""
    st.markdown(f"**What the division by √d_k does** {badge('formula')}")
    alive = with_it.seen.any(1)
    if not alive.any():
        st.caption("No token sees anything, so there is nothing to compare.")
        return
    rows = {f"divided by √{with_it.k.shape[1]}": with_it, "as they are": without}
    most = with_it.seen.sum(1)[alive]
    named_table(
        "What the division does",
        {
            "scores": list(rows),
            "variance": [number(variance(head.scores / head.divisor, head.seen)) for head in rows.values()],
            "entropy of the weights, nats (mean)": [
                number(entropy(head.weights)[alive].mean()) for head in rows.values()
            ],
            "maximum (all equal)": [number(np.log(most).mean())] * 2,
            "largest weight (mean)": [number(head.weights.max(1)[alive].mean()) for head in rows.values()],
        },
    )


def linear(x: np.ndarray, weights: tuple[np.ndarray, np.ndarray, np.ndarray], by: float) -> None:
    """Whether attention is linear in its input, tested on the table."""
    held, own = straightness(x, x[::-1] * 0.5, weights, by)
    st.markdown(f"**Is attention linear?** {linear_said(held, own)} {badge('formula')}")


def linear_said(held: float, own: float) -> str:
    """How far attention is from linear on the table, with weights held fixed and with each input's own."""
    why = (
        "Attention is linear only while its weights are fixed."
        if own > max(1e-9, 10 * held)
        else "Here the weights are the same for every input, so attention is linear: its scores do not differ."
    )
    return (
        f"With the weights of X held fixed, A(X + Y) - A(X) - A(Y) is at most {number(held, 2)}, which is rounding; "
        f"with weights that follow the input it is {number(own, 3)}. {why} (Y is half of X with its rows reversed; no "
        "mask, scores divided by √d_k.)"
    )
