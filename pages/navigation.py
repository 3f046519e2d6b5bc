"""Streamlit's main script: what every page shares, and the list of pages."""

from pathlib import Path

import streamlit as st

from components.shell import address, hide
from components.shell.copy_link import copy_link
from components.shell.drawer import close_drawer
from components.shell.style import style

HERE = Path(__file__).parent
NAME = "Add & Norm Playground"

# Before the navigation, whose icon of the page the browser would else fetch from another host.
st.set_page_config(page_title=NAME, page_icon=str(HERE / "icon.png"), layout="wide", initial_sidebar_state="auto")

page = st.navigation(
    {
        "": [
            st.Page(
                HERE / "start" / "start.py",
                title="Start",
                icon=":material/home:",
                default=True,
                help="Four nets, with and without skip and norm, trained side by side.",
            ),
            st.Page(
                HERE / "start" / "story.py",
                title="The story",
                icon=":material/auto_stories:",
                url_path="story",
                help="Five scenes: what 32 blocks do to a digit, and what add and norm do about it.",
            ),
            st.Page(
                HERE / "train" / "playground.py",
                title="Playground",
                icon=":material/tune:",
                url_path="playground",
                help="Set depth, residual and norm, train live, watch every layer.",
            ),
            st.Page(
                HERE / "train" / "compare.py",
                title="Compare",
                icon=":material/compare_arrows:",
                url_path="compare",
                help="Two to four configurations, same seed, one player, shared axes.",
            ),
            st.Page(
                HERE / "train" / "recordings.py",
                title="Your model",
                icon=":material/monitor_heart:",
                url_path="recordings",
                help="Any PyTorch model, recorded while it trains: activation and gradient at each of its layers.",
            ),
            st.Page(
                HERE / "explore" / "anatomy.py",
                title="Anatomy",
                icon=":material/account_tree:",
                url_path="anatomy",
                help="The block as equation, diagram and code; change one block and see where the signal breaks.",
            ),
            st.Page(
                HERE / "explore" / "maps.py",
                title="Maps",
                icon=":material/grid_on:",
                url_path="maps",
                help="Which arrangement trains at which depth and learning rate: many runs, a cell each.",
            ),
        ],
        "Labs": [
            st.Page(
                HERE / "labs" / "normalization.py",
                title="Normalisation",
                icon=":material/table_chart:",
                url_path="normalization",
                help="Every norm on a table of tokens that you edit.",
            ),
            st.Page(
                HERE / "labs" / "attention.py",
                title="Attention",
                icon=":material/center_focus_strong:",
                url_path="attention",
                help="One head on tables that you edit, why scores are scaled, and how tokens learn where they stand.",
            ),
            st.Page(
                HERE / "labs" / "gradients.py",
                title="Gradients",
                icon=":material/trending_down:",
                url_path="gradients",
                help="A gradient's way back, factor by factor, and the same measured on a real network.",
            ),
            st.Page(
                HERE / "labs" / "residual.py",
                title="Residual",
                icon=":material/add:",
                url_path="residual",
                help="Add and norm on one token step by step, the stream as a memory, and layers that stand aside.",
            ),
            st.Page(
                HERE / "labs" / "autoregression.py",
                title="Autoregression",
                icon=":material/keyboard_tab:",
                url_path="autoregression",
                help="A small transformer, trained here, continues your prompt one token at a time.",
            ),
        ],
        "Learn": [
            st.Page(
                HERE / "learn" / "lessons.py",
                title="Lessons",
                icon=":material/school:",
                url_path="lessons",
                help="Guess, train, see what happened and why, solve the challenge.",
            ),
            st.Page(
                HERE / "learn" / "errors.py",
                title="Common errors",
                icon=":material/fact_check:",
                url_path="errors",
                help="Claims that are often made, each with a set-up that shows it hold or fail.",
            ),
            st.Page(
                HERE / "learn" / "glossary.py",
                title="Glossary",
                icon=":material/dictionary:",
                url_path="glossary",
                help="Every word of the app: meaning, formula, paper, and where it is met.",
            ),
            st.Page(
                HERE / "learn" / "teacher.py",
                title="Teacher",
                icon=":material/co_present:",
                url_path="teacher",
                help="A link with things hidden, a view for the projector, and what a class has guessed.",
            ),
        ],
    },
    position="top",
)
title = NAME if page.title == "Start" else f"{page.title} · {NAME}"
st.set_page_config(page_title=title)
st.logo(str(HERE / "wordmark.svg"))
address.arrive(page.url_path, hide.query())
style()
copy_link()
close_drawer(page.url_path)
page.run()
address.settle()
