"""Teacher: a link that opens a lesson or the playground with things hidden, the projector view, and the board of a class."""

import streamlit as st

from components.teacher import page

st.title("Teacher", anchor=False)
st.markdown("Make a link for your class, and see what it guesses.")
page.draw()
