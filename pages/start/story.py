"""The story."""

import streamlit as st

st.title("The story", anchor=False)
