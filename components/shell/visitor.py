"""The owner of a request to the trainer: a visitor's session and address, and the part of the page that asks.

What many want is shared by session first and by address second, because an address is not a person: a lecture hall
comes from one, and so does everybody behind a proxy that the operator has not declared, and everybody on this machine.
So a cap per address leaves room for a class of sixty with several tabs each, and a class that is alone has all of it.
"""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import Scope

from components.shell.address import HERE
from components.shell.streamlits_own import session_id
from models.service.client import Requester, tape_key
from models.spec import RunConfig
from models.spec.limits import LIMITS

FORWARDED = "x-forwarded-for"
UNDECLARED = "undeclared"  # whoever names a proxy that the operator has not: one address, whatever the header says
LOOPBACK = "127.0.0.1"
SUBSCRIBER = 64  # bits of an IPv6 address that a provider gives to one customer, who chooses the others at will


def visitor() -> str:
    """The id of this visitor's session; empty outside of a page."""
    return session_id()


def owner(part: str, *runs: RunConfig, seeds: int = 1) -> Requester:
    """This visitor, with a part of the current page and the runs that it shows."""
    tapes = frozenset(tape_key(cfg, seeds) for cfg in runs)
    return Requester(visitor(), HERE.get(), part, tapes, address())


def address() -> str:
    """This visitor's address on a page, as `address_of` has it; empty outside of a page."""
    if not visitor():
        return ""
    return counted(st.context.ip_address or LOOPBACK, st.context.headers.get_all(FORWARDED), LIMITS.proxies)


def cookie(name: str) -> str:
    """A cookie of this visitor's browser; empty where it has none of this name."""
    found: object = st.context.cookies.get(name) if visitor() else ""
    return found if isinstance(found, str) else ""


def address_of(scope: Scope) -> str:
    """A client's address by which its connections and requests are counted, from an ASGI scope."""
    peer = scope.get("client")
    return counted(peer[0] if peer else LOOPBACK, Headers(scope=scope).getlist(FORWARDED), LIMITS.proxies)


def counted(peer: str, forwarded: Sequence[str], proxies: int) -> str:
    """The peer's address, or the one that the first of so many trusted proxies has appended to X-Forwarded-For.

    The last entry is that of the proxy next to the server; to the left of the trusted ones, a client writes what it
    likes. Uvicorn has replaced the peer where a header came over loopback, so without proxies no peer is believed
    that has one.
    """
    entries = [entry.strip() for line in forwarded for entry in line.split(",")]
    if proxies and len(entries) >= proxies:
        return _network(entries[-proxies])
    return UNDECLARED if entries else _network(peer)


def _network(text: str) -> str:
    """An address, without its port, as text; the network of an IPv6 address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return UNDECLARED
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return LOOPBACK
    return str(found) if found.version == 4 else str(IPv6Address(int(found) >> SUBSCRIBER << SUBSCRIBER))
