"""The visitor of a page: session, address and cookies, and the owner of its requests to the trainer."""

import streamlit as st

from components.server.address import FORWARDED, LOOPBACK, client_address
from components.shell.address import CURRENT_PAGE
from components.shell.session import Key
from components.shell.streamlits_own import session_id
from models.service.client import Requester, log_key, trainer
from models.spec import RunConfig
from models.spec.limits import LIMITS

SHOWN: Key[tuple[str, str]] = Key("visitor_shown", ("", ""))  # page and stop of the last run


def visitor_id() -> str:
    """The id of this visitor's session; empty outside of a page."""
    return session_id()


def begin_run(page: str, stop: str) -> None:
    """Ends what the page wanted of the trainer, if it shows another page or another stop of a class from now on."""
    before, now = SHOWN.get(), (page, stop)
    SHOWN.put(now)
    if before not in (now, ("", "")):
        trainer().leave(visitor_id())


def owner(part: str, *runs: RunConfig, seeds: int = 1) -> Requester:
    """This visitor as a requester, with a part of the current page and the runs that it shows."""
    logs = frozenset(log_key(cfg, seeds) for cfg in runs)
    return Requester(visitor_id(), CURRENT_PAGE.get(), part, logs, address())


def address() -> str:
    """This visitor's address, as `components.server.address` counts it; empty outside of a page."""
    if not visitor_id():
        return ""
    return client_address(st.context.ip_address or LOOPBACK, st.context.headers.get_all(FORWARDED), LIMITS.proxies)


def cookies(prefix: str) -> dict[str, str]:
    """The cookies of this visitor's browser whose names begin so, by the rest of the name."""
    cookies_of_browser = st.context.cookies.to_dict() if visitor_id() else {}
    return {name.removeprefix(prefix): value for name, value in cookies_of_browser.items() if name.startswith(prefix)}


def cookie(name: str) -> str:
    """A cookie of this visitor's browser; empty if it has none of this name."""
    value: object = st.context.cookies.get(name) if visitor_id() else ""
    return value if isinstance(value, str) else ""
