"""Teacher: a link that opens a lesson or the playground with
things hidden, the projector view, and the board of a class.
"""

import streamlit as st

from components.teacher import page

st.title("Teacher", anchor=False)
st.markdown("Make a link that opens a lesson or a network for your class, and see here what the class guesses.")
page.draw()
