"""Glossary: the words of the app, each with its meaning, formula, paper and place."""

import streamlit as st

from components.glossary import page

st.title("Glossary", anchor=False)
st.markdown(
    "Look up a word of the app: you see what it means, its formula, the paper it comes from and where you meet it."
)
page.draw()
