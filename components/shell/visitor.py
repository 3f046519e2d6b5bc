"""The owner of a request to the trainer: a visitor's session and address, and the part of the page that asks."""

import streamlit as st

from components.server.address import FORWARDED, LOOPBACK, client_address
from components.shell.address import HERE
from components.shell.streamlits_own import session_id
from models.service.client import Requester, log_key
from models.spec import RunConfig
from models.spec.limits import LIMITS


def visitor() -> str:
    """The id of this visitor's session; empty outside of a page."""
    return session_id()


def owner(part: str, *runs: RunConfig, seeds: int = 1) -> Requester:
    """This visitor, with a part of the current page and the runs that it shows."""
    logs = frozenset(log_key(cfg, seeds) for cfg in runs)
    return Requester(visitor(), HERE.get(), part, logs, address())


def address() -> str:
    """This visitor's address on a page, as `components.server.address` counts it; empty outside of a page."""
    if not visitor():
        return ""
    return client_address(st.context.ip_address or LOOPBACK, st.context.headers.get_all(FORWARDED), LIMITS.proxies)


def cookie(name: str) -> str:
    """A cookie of this visitor's browser; empty where it has none of this name."""
    value: object = st.context.cookies.get(name) if visitor() else ""
    return value if isinstance(value, str) else ""
