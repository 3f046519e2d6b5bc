"""Papers: published results, each run here in small, with a verdict computed from its numbers."""

import streamlit as st

from components.papers import page

st.title("Papers", anchor=False)
st.markdown(
    "Published results, each run here at small scale: choose one, run it, compare your numbers with the paper's."
)
paper = page.DECK.chosen()
if paper is None:
    page.draw_grid()
else:
    page.draw(paper)
