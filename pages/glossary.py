"""Glossary: every term of the app with its meaning, formula, paper and pages."""

import streamlit as st

from components.glossary import page

st.title("Glossary", anchor=False)
st.markdown("Look up a term: see what it means, its formula, the paper it comes from and the pages where it appears.")
page.draw()
