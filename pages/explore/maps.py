"""Maps: which arrangement trains at which depth and learning rate, answered with many runs."""

import streamlit as st

from components.maps import page

st.title("Maps: where does it train?", anchor=False)
st.markdown("Every cell is a training run. Read a recorded map, compute one of your own, and open any cell.")
page.draw()
