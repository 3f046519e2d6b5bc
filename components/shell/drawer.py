"""Streamlit's navigation, and the drawer over a narrow page, in which it stands above the page's settings.

The component closes it when another page is shown. Streamlit does so only in browsers that identify as a phone, not on
a tablet or in a narrow window, and an open drawer would also cover the first page of the next visit.
"""

import secrets

import streamlit as st

from components.shell.component import component
from components.shell.session import Key

_component = component(__file__)

SETTINGS = Key("settings_asked", "")  # the last request to open the drawer at the settings


def drawer(page: str, current: list[str]) -> None:
    """Closes the drawer once for every page that is opened; opens it for `settings_button`.

    `current`: the entries of the navigation that are lit beside the page's own: its menu, and what an unlisted page
    belongs to.
    """
    data = {"page": page, "current": current, "settings": SETTINGS.get(), "menu": "Menu"}
    _component(key="drawer", data=data, height=0)


def settings_button() -> None:
    """A button, on a narrow page only, that opens the drawer at the page's settings."""
    st.button("Settings", key="settings", icon=":material/tune:", on_click=_request)


def _request() -> None:
    SETTINGS.put(secrets.token_hex(8))
