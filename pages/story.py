"""The story: what depth does to a digit, and what add and norm do about it, in six scenes."""

import streamlit as st

from components.shell import projector
from components.story import page

if projector.on():
    projector.enlarge()
st.title("The story", anchor=False)
if not projector.on():
    st.markdown("Scroll through six scenes; the last is yours.")
page.draw()
