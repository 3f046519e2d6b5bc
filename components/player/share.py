"""Downloads of a page, whose files are made on demand, and the link to it."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from components.player.file import TOO_LARGE, fits_in_file
from components.shell import address
from models.export import Comparison
from models.service.client import trainer
from models.spec import RunConfig


def download_button(label: str, name: str, mime: str, make: Callable[[], str]) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(label, make, name, mime, on_click="ignore", key=f"take_{name}")


def player_download(name: str, make: Callable[[], str], runs: Sequence[RunConfig], seeds: int = 1) -> None:
    """The download button of a file that plays, or a caption if the file would be too large."""
    if fits_in_file(runs, seeds):
        download_button("Playable HTML file", name, "text/html", make)
    else:
        st.caption(TOO_LARGE)


def show_link(query: Mapping[str, str], description: str) -> None:
    """Draws the link of a query, to copy; `description` follows its title."""
    st.markdown(f"**Link**{description}")
    st.code(f"{address.app_url()}/{address.CURRENT_PAGE.get()}?{urlencode(query)}", language=None, wrap_lines=True)


def show_comparison(comparison: Comparison, subject: str = "") -> None:
    """Draws a sentence, after `subject`, on whether the numbers here agree with the digest in a link."""
    draw_box = {True: st.success, False: st.warning, None: st.info}[comparison.same]
    draw_box(f"{subject}{comparison.sentence}")


def torch_version() -> str | None:
    """The version of torch in the trainer; None until the trainer is ready."""
    return trainer().status().versions.get("torch")
