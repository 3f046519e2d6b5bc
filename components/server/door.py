"""Middleware that lets requests and websockets in by host, origin, address and method."""

import platform
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from components.server.address import LOOPBACK, UNDECLARED, address_of, network
from components.server.connection import CROWDED, REFUSED
from components.server.headers import with_headers
from components.server.sockets import Watch, short_messages
from models.spec import bounds
from models.spec.limits import LIMITS

METRICS = "/_stcore/metrics"  # says how many visitors there are, and computes what each of them holds
READS = ("GET", "HEAD", "OPTIONS")
UNKNOWN_HOST = (
    "This server does not answer to this name. Its operator can allow it: server.allowedHosts, or PLAYGROUND_PROXIES "
    "where a proxy stands before it.\n"
)


class Door:
    """Refuses hosts, origins, crowds and uploads; watches all sockets; adds headers to every answer."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner
        self._open: Counter[str] = Counter()  # websockets by address
        self._watch = Watch()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request or websocket in, or answers it."""
        if scope["type"] not in ("http", "websocket"):
            await self.inner(scope, receive, send)
            return
        self._watch.begin(receive)
        known = host_known(scope)
        if scope["type"] == "websocket":
            own = _as_own_origin(scope) if known else None
            if own is None:
                await _refuse(receive, send, REFUSED)
            else:
                await self._hold(own, receive, send)
            return
        answer = self.inner
        if not known:
            answer = PlainTextResponse(UNKNOWN_HOST, 421)
        elif scope["path"].rstrip("/").endswith(METRICS):
            answer = PlainTextResponse("Not found.", 404)
        elif scope["method"] not in READS:  # before its body is read: what visitors type arrives by websocket
            answer = PlainTextResponse("This server takes no uploads.", 405, {"allow": ", ".join(READS)})
        await answer(scope, receive, with_headers(send))

    async def _hold(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        of_address, in_all = self._open[address], self._open.total()
        if of_address >= bounds.MAX_WEBSOCKETS_PER_ADDRESS or in_all >= bounds.MAX_WEBSOCKETS:
            await _refuse(receive, send, CROWDED)
            return
        short_messages(receive)
        self._open[address] += 1
        try:
            await self.inner(scope, receive, send)
        finally:
            self._open -= Counter([address])


def host_known(scope: Scope) -> bool:
    """Whether the Host is one of `server.allowedHosts`; where there are none, whether it may be asked for from here.

    A browser on this machine could be led here by a page of a foreign name that resolves to this machine: it would
    take what it reads for that page's own. So whoever comes from this machine, and by no proxy, names this machine.
    """
    parts = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:/?#@\[\]]+)(:\d{1,5})?", Headers(scope=scope).get("host", ""))
    host = parts[1].lower().rstrip(".") if parts else ""
    allowed: Sequence[str] = st.get_option("server.allowedHosts")
    if allowed:
        return any(_matches(host, pattern.strip().lower().rstrip(".")) for pattern in allowed)
    in_numbers = network(host) != UNDECLARED  # no foreign name can be made to stand for them
    return bool(LIMITS.proxies) or not _from_here(scope) or host in _own_names() or in_numbers


def _from_here(scope: Scope) -> bool:
    """Whether a connection comes from this machine; a peer that a header names is not looked at."""
    here, peer = scope.get("server"), scope.get("client")
    if not here or not here[1]:
        return False
    return network(here[0]) == LOOPBACK or (peer is not None and peer[0] == here[0])


@cache
def _own_names() -> frozenset[str]:
    name = platform.node().lower()
    bound = str(st.get_option("server.address") or "").lower()
    return frozenset({"localhost", name, name.partition(".")[0], f"{name.partition('.')[0]}.local", bound} - {""})


def _matches(host: str, pattern: str) -> bool:
    """Whether a host is a pattern as `server.allowedHosts` has them."""
    return bool(host) and (pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:])))


def _as_own_origin(scope: Scope) -> Scope | None:
    """A websocket's scope with an origin that is its host's; None if its page is of an origin that is not allowed.

    Where the two differ, Streamlit would ask the internet for the server's own address, on the event loop.
    """
    headers = Headers(scope=scope)
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None or urlsplit(origin).netloc == host:
        return scope
    allowed = {name.strip() for name in st.get_option("server.corsAllowedOrigins")}
    if origin not in allowed and st.get_option("server.enableCORS"):
        return None
    own = (b"origin", f"{scope['scheme'].replace('ws', 'http')}://{host}".encode())
    return {**scope, "headers": [*(pair for pair in scope["headers"] if pair[0] != b"origin"), own]}


async def _refuse(receive: Receive, send: Send, code: int) -> None:
    """Refuses a websocket before it is opened."""
    await receive()
    await send({"type": "websocket.close", "code": code})
