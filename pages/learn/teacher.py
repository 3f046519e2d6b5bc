"""Teacher: a class that is led from here, and links that hide parts of a page."""

import streamlit as st

from components.teacher import page

st.title(
    "Teacher",
    anchor=False,
    help="Open a class: its screens show what you show, and its guesses wait until you reveal the answer.",
)
page.draw()
