"""What is taken from a page: files that are made when they are asked for, and a link that checks itself."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from components.player.file import TOO_LARGE, fits
from models.export import Comparison
from models.service.client import trainer
from models.spec import RunConfig


def file(label: str, name: str, mime: str, make: Callable[[], str]) -> None:
    """A button that makes a file when it is pressed."""
    st.download_button(label, make, name, mime, on_click="ignore", key=f"take_{name}")


def player_html(name: str, make: Callable[[], str], runs: Sequence[RunConfig], seeds: int = 1) -> None:
    """The button of a file that plays, or why there is none."""
    if fits(runs, seeds):
        file("File that plays (HTML)", name, "text/html", make)
    else:
        st.caption(TOO_LARGE)


def link(query: Mapping[str, str], also: str) -> None:
    """The link to what is shown; `also`: what it does besides."""
    st.markdown(f"**Link**{also}")
    st.code(f"{(st.context.url or '').partition('?')[0]}?{urlencode(query)}", language=None, wrap_lines=True)


def say(found: Comparison, of: str = "") -> None:
    """Whether what is here came out as a link's digest says; `of`: what it is of."""
    show = {True: st.success, False: st.warning, None: st.info}[found.same]
    show(f"{of}{found.sentence}")


def torch_version() -> str | None:
    """The version of torch in the trainer; None while it is not known."""
    return trainer().status().versions.get("torch")
