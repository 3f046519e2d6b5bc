"""Links that open nets in the playground or side by side in Compare."""

from collections.abc import Sequence

import streamlit as st

from components.shell import compare_link
from components.shell.link import COMPARE, PLAYGROUND
from models.spec import RunConfig


def link_to_playground(cfg: RunConfig, label: str = "Open in the playground", **query: str) -> None:
    """Draws a link that opens a net in the playground; `query` is added to its address."""
    st.page_link(PLAYGROUND, label=label, icon=":material/tune:", query_params=cfg.to_query() | query)


def link_to_compare(nets: Sequence[RunConfig], label: str = "Open these nets in Compare", seeds: int = 1) -> None:
    query = compare_link.to_query(list(nets), seeds)
    st.page_link(COMPARE, label=label, icon=":material/compare_arrows:", query_params=query)
