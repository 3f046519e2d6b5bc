"""Whose connection it is: the peer's address, or the one that a trusted proxy has written."""

import pytest
from streamlit.runtime.context import ContextProxy, StreamlitHeaders
from streamlit.testing.v1 import AppTest

from components.server.address import LOOPBACK, UNDECLARED, address_of, client_address

COUNTED = {
    "a peer": ("203.0.113.7", [], 0, "203.0.113.7"),
    "a peer over a socket for both": ("::ffff:203.0.113.7", [], 0, "203.0.113.7"),
    "this machine": ("::1", [], 0, LOOPBACK),
    "this machine over both": ("::ffff:127.0.0.1", [], 0, LOOPBACK),
    "a subscriber's first": ("2001:db8:1:2::1", [], 0, "2001:db8:1:2::"),
    "a subscriber's other": ("2001:db8:1:2:ffff:ffff:ffff:ffff", [], 0, "2001:db8:1:2::"),
    "another subscriber": ("2001:db8:1:3::1", [], 0, "2001:db8:1:3::"),
    "a header nobody has asked for": ("10.0.0.1", ["203.0.113.7"], 0, UNDECLARED),
    "another such": ("198.51.100.4", ["203.0.113.8"], 0, UNDECLARED),
    "a proxy's entry": (LOOPBACK, ["203.0.113.7"], 1, "203.0.113.7"),
    "a client that forges": (LOOPBACK, ["198.51.100.4, 203.0.113.7"], 1, "203.0.113.7"),
    "a header of its own before the proxy's": (LOOPBACK, ["198.51.100.4", "203.0.113.7"], 1, "203.0.113.7"),
    "two proxies": ("10.0.0.1", ["198.51.100.4, 203.0.113.7, 10.0.0.2"], 2, "203.0.113.7"),
    "past one of two proxies": ("10.0.0.1", ["203.0.113.7"], 2, UNDECLARED),
    "past the proxy": ("203.0.113.7", [], 1, "203.0.113.7"),
    "an entry with a port": (LOOPBACK, ["203.0.113.7:4321"], 1, "203.0.113.7"),
    "an entry in brackets": (LOOPBACK, ["[2001:db8:1:2::1]:4321"], 1, "2001:db8:1:2::"),
    "an entry that is none": (LOOPBACK, ["unknown"], 1, UNDECLARED),
}


@pytest.mark.parametrize(("peer", "forwarded", "proxies", "address"), COUNTED.values(), ids=list(COUNTED))
def test_a_client_counts_by_its_address_and_cannot_choose_one(peer, forwarded, proxies, address):
    assert client_address(peer, forwarded, proxies) == address


def test_a_connection_has_the_address_of_its_scope():
    scope = {"type": "websocket", "client": ("203.0.113.7", 4321), "headers": []}
    assert address_of(scope) == "203.0.113.7"
    assert address_of(scope | {"client": None}) == LOOPBACK
    assert address_of(scope | {"headers": [(b"x-forwarded-for", b"198.51.100.4")]}) == UNDECLARED


def page() -> None:
    import streamlit as st

    from components.shell.visitor import owner

    st.text(repr(owner("part").address))


@pytest.mark.parametrize(("peer", "address"), [(None, LOOPBACK), ("203.0.113.7", "203.0.113.7")])
def test_a_pages_owner_has_the_address_that_its_connection_has(peer, address, monkeypatch):
    """For this machine Streamlit says None."""
    monkeypatch.setattr(ContextProxy, "ip_address", peer)
    assert AppTest.from_function(page).run().text[0].value == repr(address)


def test_a_header_of_a_page_is_found_as_a_proxy_writes_it(monkeypatch):
    monkeypatch.setattr(ContextProxy, "headers", StreamlitHeaders([("X-Forwarded-For", "198.51.100.4")]))
    assert AppTest.from_function(page).run().text[0].value == repr(UNDECLARED)
