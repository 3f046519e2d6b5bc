"""Maps: which arrangement trains at which depth and learning rate, answered by many runs."""

import streamlit as st

from components.maps import page

st.title("Maps: where does it train?", anchor=False)
page.draw()
