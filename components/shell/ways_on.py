"""Links that open nets on another page."""

from collections.abc import Sequence

import streamlit as st

from components.shell import compare_link
from components.shell.link import COMPARE, PLAYGROUND
from models.content import phrase
from models.spec import RunConfig


def to_playground(cfg: RunConfig, label: str = "Open in the playground", **more: str) -> None:
    """A link that opens a net in the playground; `more` is added to its address."""
    st.page_link(PLAYGROUND, label=phrase(label), icon=":material/tune:", query_params=cfg.to_query() | more)


def to_compare(nets: Sequence[RunConfig], label: str = "Open these nets in Compare", seeds: int = 1) -> None:
    """A link that opens nets side by side."""
    query = compare_link.to_query(list(nets), seeds)
    st.page_link(COMPARE, label=phrase(label), icon=":material/compare_arrows:", query_params=query)
