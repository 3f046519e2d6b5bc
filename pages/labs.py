"""The entrance of the labs: a map of the transformer, whose parts lead to them."""

import streamlit as st

from components.labs import entrance
from components.search import notes

st.title("Labs", anchor=False)
st.markdown("Touch a part of the transformer: read what it does, then take it apart in its lab.")
entrance.draw()
notes.draw()
