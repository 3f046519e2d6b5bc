"""Maps: which arrangement trains at which depth and learning rate, answered by many runs."""

import streamlit as st

from components.maps import page

st.title("Maps: where does it train?", anchor=False)
st.markdown(
    "Choose a recorded map or compute your own: each cell is one network, trained with each seed; its colour shows "
    "whether it learned, and a click selects it."
)
page.draw()
