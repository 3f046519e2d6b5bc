"""The server's door: whom it lets in, before Streamlit hears of it, and the headers of everything that it answers.

Streamlit would ask the internet for the server's own address, on the event loop, where an origin is not its host's.
"""

import platform
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.shell.assets import base_path
from components.shell.sockets import short_messages
from components.shell.visitor import address_of
from models.spec.limits import LIMITS

MOST_SOCKETS = 1200  # websockets in all; a page has two
MOST_SOCKETS_OF_ADDRESS = 900  # a class of sixty behind one address has several tabs each
REFUSED, CROWDED = 1008, 1013  # websocket close codes
CLOSED = "_stcore/metrics"  # says how many visitors there are, and computes what each of them holds
READS = ("GET", "HEAD", "OPTIONS")
SENT = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}


class Door:
    """Middleware, before all other: refuses hosts, origins, crowds and uploads, and adds headers to every answer."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner
        self._open: Counter[str] = Counter()  # websockets by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request or websocket in, or answers it."""
        if scope["type"] not in ("http", "websocket"):
            await self.inner(scope, receive, send)
            return
        asked = Headers(scope=scope)
        known, socket_ = host_known(scope), scope["type"] == "websocket"
        if socket_ and known and (within := _as_own_origin(scope, asked)) is not None:
            await self._hold(within, receive, send)
        elif socket_:
            await _refuse(receive, send, REFUSED)
        else:
            answer = self.inner
            if not known:
                answer = PlainTextResponse(UNKNOWN_HOST, 421)
            elif scope["path"].rstrip("/") == f"{base_path()}/{CLOSED}":
                answer = PlainTextResponse("Not found.", 404)
            elif scope["method"] not in READS:  # before its body is read: what visitors type arrives by websocket
                answer = PlainTextResponse("This server takes no uploads.", 405, {"allow": ", ".join(READS)})
            await answer(scope, receive, _with_headers(send))

    async def _hold(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        if self._open[address] >= MOST_SOCKETS_OF_ADDRESS or self._open.total() >= MOST_SOCKETS:
            await _refuse(receive, send, CROWDED)
            return
        short_messages(receive)
        self._open[address] += 1
        try:
            await self.inner(scope, receive, send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


UNKNOWN_HOST = (
    "This server does not answer to this name. Its operator can allow it: server.allowedHosts, or PLAYGROUND_PROXIES "
    "where a proxy stands before it.\n"
)


def host_known(scope: Scope) -> bool:
    """Whether the Host is one of `server.allowedHosts`; where there are none, whether it may be asked for from here.

    A browser on this machine could be led here by a page of a foreign name that resolves to this machine: it would
    take what it reads for that page's own. So whoever comes from this machine, and by no proxy, names this machine.
    """
    host = _name_of(Headers(scope=scope).get("host", ""))
    allowed: Sequence[str] = st.get_option("server.allowedHosts")
    if allowed:
        return any(_matches(host, one.strip().lower().rstrip(".")) for one in allowed)
    return bool(LIMITS.proxies) or not _from_here(scope) or host in _own_names() or _is_number(host)


def _from_here(scope: Scope) -> bool:
    """Whether a connection comes from this machine; a peer that a header names is not looked at."""
    here, peer = scope.get("server"), scope.get("client")
    if not here or not here[1]:
        return False
    return _loopback(here[0]) or (peer is not None and peer[0] == here[0])


def _loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@cache
def _own_names() -> frozenset[str]:
    name = platform.node().lower()
    bound = str(st.get_option("server.address") or "").lower()
    return frozenset({"localhost", name, name.partition(".")[0], f"{name.partition('.')[0]}.local", bound} - {""})


def _name_of(host: str) -> str:
    """The host without its port, lower-case; empty if it is none."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:/?#@\[\]]+)(:\d{1,5})?", host)
    return found[1].lower().rstrip(".") if found else ""


def _is_number(host: str) -> bool:
    """Whether a host is an address in numbers, which no foreign name can be made to stand for."""
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


def _matches(host: str, pattern: str) -> bool:
    """Whether a host is a pattern as `server.allowedHosts` has them."""
    return bool(host) and (pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:])))


def _as_own_origin(scope: Scope, asked: Headers) -> Scope | None:
    """A websocket's scope with an origin that is its host's; None if its page is of an origin that is not allowed."""
    origin, host = asked.get("origin"), asked.get("host", "")
    if origin is None or urlsplit(origin).netloc == host:
        return scope
    allowed = {one.strip() for one in st.get_option("server.corsAllowedOrigins")}
    if origin not in allowed and st.get_option("server.enableCORS"):
        return None
    headers = [pair for pair in scope["headers"] if pair[0] != b"origin"]
    return {**scope, "headers": [*headers, (b"origin", f"{scope['scheme'].replace('ws', 'http')}://{host}".encode())]}


async def _refuse(receive: Receive, send: Send, code: int) -> None:
    """Refuses a websocket before it is opened."""
    await receive()
    await send({"type": "websocket.close", "code": code})


def _with_headers(send: Send) -> Send:
    async def complete(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SENT.items():
                headers[name] = value
        await send(message)

    return complete
