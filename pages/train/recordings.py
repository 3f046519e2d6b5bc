"""Your model: what `addnorm.watch` has recorded of any PyTorch model, layer by layer, while it trains."""

import streamlit as st

from components.recordings import page

st.title("Your model", anchor=False)
st.markdown(
    "Record any PyTorch model with five lines, and see activation and gradient at each of its layers here, while it "
    "trains: drop the file below or choose one of the folder's."
)
page.draw()
