"""One token after another or all at once: sequential dependencies in a recurrent cell and in attention."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.controls import form
from components.labs.attention.charts import waiting_graph
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table
from models.labs.attention import reach
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_recurrence"
TITLES = {True: "Recurrent cell", False: "Causal attention"}


@dataclass(frozen=True)
class ReadTokens(Settings):
    """How long the sequence is."""

    count: Annotated[int, Knob("Tokens", low=2, high=12, link="length", control="slider")] = 7


def draw() -> None:
    """Both graphs, and the steps from every token to every position."""
    count = form.draw(ReadTokens, KEY).count
    found = {recurrent: reach(count, recurrent=recurrent) for recurrent in TITLES}
    st.markdown(f"**{said(found[True], found[False])}** {badge('formula')}")
    st.latex(r"h_t=f(h_{t-1},x_t)\qquad\text{or}\qquad\mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d_k}}\right)V")
    for column, (recurrent, steps) in zip(st.columns(2), found.items(), strict=True):
        with column:
            title = TITLES[recurrent]
            static_chart(waiting_graph(title, steps, recurrent=recurrent), title, f"{KEY}_{recurrent}", height=260)
            with st.popover("Numbers", key=f"{KEY}_{recurrent}_numbers", icon=":material/table:"):
                named_table(f"{title}: steps from token to position", table(steps))
    st.caption(
        "Squares are tokens, circles what is computed from them. Each circle needs what its lines lead to, to its left "
        "or below. Above a circle: the number of sequential steps until it is known."
    )
    st.markdown(
        "The price is computation: attention scores every pair of tokens. And the advantage holds for reading, and so "
        "for training. Generating is sequential for both, because each token depends on the one before."
    )


def said(recurrent: np.ndarray, attention: np.ndarray) -> str:
    """How many sequential steps each needs."""
    count = len(recurrent)
    pairs = int((attention > 0).sum())
    return (
        f"A recurrent cell needs {recurrent.max()} steps for {count} tokens, and the first token reaches the last "
        f"position after {recurrent[-1, 0]} of them; attention handles all {pairs} pairs at once, in two matrix "
        f"products with a softmax between them, and every token is {attention.max()} step away."
    )


def table(steps: np.ndarray) -> pd.DataFrame:
    """Steps from token (column) to position (row); a dash where there is no way."""
    names = [str(at + 1) for at in range(len(steps))]
    cells = [["-" if step < 0 else str(step) for step in row] for row in steps.tolist()]
    frame = pd.DataFrame(cells, columns=[f"token {name}" for name in names])
    frame.insert(0, "position", names)
    return frame
