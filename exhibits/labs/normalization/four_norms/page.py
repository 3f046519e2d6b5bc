"""How far each token moves when one number grows, under four norms."""

import numpy as np
import pandas as pd
import streamlit as st

from components.labs.normed_table import LabTable
from components.labs.parts import draw_note
from models.content import Texts
from models.labs.normalization_laws import changes_by_token

TEXTS = Texts("labs/normalization/four_norms")


def draw(lab: LabTable) -> None:
    """Draws how far each token's result moves when one number of the chosen token changes, for four norms."""
    st.subheader(TEXTS("four norms"), anchor=False)
    st.markdown(TEXTS("a number grows", token=lab.names[lab.row]))
    moves: dict[str, np.ndarray] = {}
    for method in ("layer norm", "rms norm", "batch norm", "joint layer norm"):
        try:
            moves[method] = changes_by_token(lab.values, method, lab.row, eps=lab.eps)
        except ValueError as problem:
            st.caption(f"{method.capitalize()}: {problem}")
    st.dataframe(pd.DataFrame(moves, index=lab.names).T, alt="How far each token moves, table")
    lines = [
        f"**{method}** moves {int((distances > 0).sum())} of {len(lab.names)} tokens"
        for method, distances in moves.items()
    ]
    st.markdown("  \n".join(lines))
    draw_note(TEXTS("which tokens"))
