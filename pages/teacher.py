"""Teacher: a class that is led from here, and links that hide parts of a page."""

import streamlit as st

from components.teacher import page

st.title("Teacher", anchor=False)
st.markdown("Lead a class: every screen shows what you choose, and answers stay hidden until you press Reveal.")
page.draw()
