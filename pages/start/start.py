"""Start: what this is, in plain words, and the four cells residual x norm after one button."""

import streamlit as st

from components.start import cells

st.title("Why do deep networks need Add & Norm?", anchor=False)
st.markdown(
    "Four copies of one network of 32 blocks learn to read handwritten digits: same first weights, same images in the same "
    "order. Two things differ: whether a **residual** path carries the signal past every block (*add*), and whether a layer "
    "**norm** keeps its size in hand. Guess first: which of them learn? Then press the button."
)
cells.draw()
st.markdown(
    "Every number here is measured while you watch. In the **Playground** you move the norm, the skip and everything else."
)
