"""Playground: set a network, see its signal and gradient at initialisation, train it and watch every layer."""

import streamlit as st

from components.controls import drive, panel, shown_config
from components.playground import page
from components.playground.presets import draw_presets
from components.shell import link, projector
from components.shell.drawer import settings_button
from components.shell.naming import name_of

page.follow()
notes = link.adopt()
if projector.is_on():
    requested, problem = panel.assemble()
    cfg = shown_config.config_to_show(requested)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(name_of(cfg) or "Playground", anchor=False, width="content")
        drive.draw_on_projector()
else:
    top = st.container(horizontal=True, vertical_alignment="center", key="top")
    with st.sidebar:
        requested, problem = panel.draw()
    cfg = shown_config.config_to_show(requested)
link.write(requested or cfg)
shown_config.draw_messages(cfg, notes, problem)
if not projector.is_on():
    top.title(
        "Playground",
        anchor=False,
        width="content",
        help="Set a network and press Train: watch signal, gradient and loss, block by block.",
    )
    with top:
        settings_button()
        draw_presets()
page.draw()
if not projector.is_on():
    page.draw_details(cfg)
