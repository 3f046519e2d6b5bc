"""Maps: which arrangement trains at which depth and learning rate, answered with many runs."""

import streamlit as st

from components.maps import page

st.title("Maps: where does it train?", anchor=False)
st.markdown(
    "Choose a recorded map or compute one of your own: every cell is a training run, its colour shows whether the net "
    "learned, and a press opens it."
)
page.draw()
