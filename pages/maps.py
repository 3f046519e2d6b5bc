"""Maps: which arrangement trains at which depth and learning rate, answered by many runs."""

import streamlit as st

from components.maps import page

st.title("Maps: where does it train?", anchor=False)
st.markdown("Choose a map and click a cell: each is one network, trained with every seed.")
page.draw()
