"""Teacher: a link that hides parts of a page, the projector view, and the board of a class."""

import streamlit as st

from components.teacher import page

st.title("Teacher", anchor=False)
st.markdown("Make a link that opens a lesson or a network for your class, and see its guesses here.")
page.draw()
