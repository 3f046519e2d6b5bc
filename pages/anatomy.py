"""Anatomy: the block as equation, diagram and code, and one block of the stack changed at a time."""

import streamlit as st

from components.anatomy import page
from components.controls import panel, shown_config
from components.shell import link
from components.shell.drawer import settings_button
from components.shell.page_links import link_to_playground
from components.shell.waiting import poll_while

st.title("Anatomy of a block", anchor=False)
st.markdown(
    "Choose one block of the playground's net and change what is in it: the charts show what becomes of signal and "
    "gradient."
)
settings_button()
notes = link.adopt()
with st.sidebar:
    requested, problem = panel.draw()
cfg = shown_config.config_to_show(requested)
link.write(requested or cfg)
shown_config.draw_messages(cfg, notes, problem)
st.subheader("Choose a block, and change it", anchor=False)
block = page.draw_block_controls(cfg)
page.draw_views(cfg, block)
page.draw_history(cfg)
st.subheader("What becomes of signal and gradient", anchor=False)
poll_while("anatomy", lambda: page.draw_player(cfg))
link_to_playground(cfg, "Train it in the playground")
