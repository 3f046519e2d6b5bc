"""The story: what depth does to a digit, and what add and norm do about it, in five scenes."""

import streamlit as st

from components.story import page

st.title("The story", anchor=False)
page.draw()
