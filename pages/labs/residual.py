"""Residual lab: add & norm on one token with its numbers, the stream as a memory, other skips, layers that stand aside."""

import streamlit as st

from components.labs.residual import memory as residual_memory
from components.labs.residual import token as residual_token
from components.labs.residual import trained as residual_trained
from components.labs.residual import variants as residual_variants

st.title("Residual", anchor=False)
st.markdown(
    "Change a token and what the branches say, and follow the signal (residual stream) through add & norm, sublayer by "
    "sublayer; then train three nets and see whether their layers stand aside."
)
values = residual_token.draw()
residual_memory.draw()
residual_variants.draw(values)
residual_trained.draw()
