"""One token after the other or all at once: who waits for whom in a recurrent cell and in attention."""

import numpy as np
import pandas as pd
import streamlit as st

from components.labs.attention.charts import waiting_graph
from components.shell.address import kept
from components.shell.text import badge, listed
from components.stage.still import still_chart
from models.labs.attention import reach

KEY = "attention_recurrence"
COUNTS = (2, 12)
TITLES = {True: "Recurrent cell", False: "Causal attention"}


def draw() -> None:
    """Both graphs, and the steps in which every token gets to every place."""
    count = int(st.slider("Tokens", *COUNTS, **kept(f"{KEY}_count", 7, name="length", bounds=COUNTS)))
    found = {recurrent: reach(count, recurrent=recurrent) for recurrent in TITLES}
    st.markdown(f"**{said(found[True], found[False])}** {badge('formula')}")
    st.latex(r"h_t=f(h_{t-1},x_t)\qquad\text{or}\qquad\mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d_k}}\right)V")
    for column, (recurrent, steps) in zip(st.columns(2), found.items(), strict=True):
        with column:
            title = TITLES[recurrent]
            still_chart(
                waiting_graph(title, steps, recurrent=recurrent),
                key=f"{KEY}_{recurrent}",
                alt=f"{title}, chart",
                height=260,
            )
            with st.popover("Numbers", key=f"{KEY}_{recurrent}_numbers", icon=":material/table:"):
                listed(f"{title}: steps from token to place", table(steps))
    st.caption(
        "Squares are tokens, circles what is computed of them; a line says that the circle needs what is at its left "
        "or lower end. Over a circle: after how many steps, one waiting for the other, it is known."
    )
    st.markdown(
        "Attention pays for it with work: every pair of tokens is scored. And the advantage is of reading, hence of "
        "training: when a net writes, it too says one token after the other, for each needs the one before."
    )


def said(recurrent: np.ndarray, attention: np.ndarray) -> str:
    """How many steps each needs, read off the tables."""
    count = len(recurrent)
    pairs = int((attention > 0).sum())
    return (
        f"A recurrent cell needs {recurrent.max()} steps for {count} tokens, and the first token gets to the last "
        f"place through {recurrent[-1, 0]} of them; attention takes all {pairs} pairs at once, in two matrix products "
        f"with a softmax between them, and every token is {attention.max()} step away."
    )


def table(steps: np.ndarray) -> pd.DataFrame:
    """Steps from token (column) to place (row); a dash where it never gets."""
    names = [str(at + 1) for at in range(len(steps))]
    cells = [["-" if step < 0 else str(step) for step in row] for row in steps.tolist()]
    frame = pd.DataFrame(cells, columns=[f"token {name}" for name in names])
    frame.insert(0, "place", names)
    return frame
