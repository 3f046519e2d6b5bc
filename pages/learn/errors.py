"""Common errors: claims that are often made, what is true, and a set-up that shows each claim hold or fail."""

import streamlit as st

from components.claims import page

st.title("Common errors", anchor=False)
st.markdown(
    "Choose a sentence that is often said, say whether it is true, and press Run: numbers measured here, of the signal "
    "(residual stream), the gradient and the loss, show whether it holds."
)
card = page.chosen()
if card is None:
    page.grid()
else:
    page.draw(card)
