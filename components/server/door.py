"""Middleware that admits requests and websockets by host, origin, address and method."""

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

from components.server.address import LOOPBACK, UNDECLARED, address_of, normalized
from components.server.connection import REFUSED
from components.server.headers import with_headers
from components.server.sockets import limit_message_size
from models.spec import bounds
from models.spec.limits import LIMITS

METRICS = "/_stcore/metrics"  # tells anybody the number of visitors, and is expensive to compute
READ_METHODS = ("GET", "HEAD", "OPTIONS")
UNKNOWN_HOST = (
    "This server does not answer to this name. Its operator can allow it: server.allowedHosts, or PLAYGROUND_PROXIES "
    "if it is behind a proxy.\n"
)


class Door:
    """Refuses foreign hosts and origins, crowds and uploads; adds headers to every answer."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner
        self._websockets: Counter[str] = Counter()  # open ones by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request or websocket on, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            await self.inner(scope, receive, send)
            return
        is_allowed = is_host_allowed(scope)
        if scope["type"] == "websocket":
            scope_with_origin = _with_own_origin(scope) if is_allowed else None
            if scope_with_origin is None:
                await _refuse(receive, send)
            else:
                await self._serve_websocket(scope_with_origin, receive, send)
            return
        answer = self.inner
        if not is_allowed:
            answer = PlainTextResponse(UNKNOWN_HOST, 421)
        elif scope["path"].rstrip("/").endswith(METRICS):
            answer = PlainTextResponse("Not found.", 404)
        elif scope["method"] not in READ_METHODS:  # before its body is read: visitors' input comes by websocket
            answer = PlainTextResponse("This server takes no uploads.", 405, {"allow": ", ".join(READ_METHODS)})
        await answer(scope, receive, with_headers(send))

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        is_address_full = self._websockets[address] >= bounds.MAX_WEBSOCKETS_PER_ADDRESS
        if is_address_full or self._websockets.total() >= bounds.MAX_WEBSOCKETS:
            await _refuse(receive, send)
            return
        limit_message_size(receive)
        self._websockets[address] += 1
        try:
            await self.inner(scope, receive, send)
        finally:
            self._websockets -= Counter([address])


def is_host_allowed(scope: Scope) -> bool:
    """Whether the Host header is acceptable: listed in `server.allowedHosts` or, without that option, no DNS rebinding.

    In a rebinding attack the attacker's own name resolves to this machine, so that a browser here lets the attacker's
    page read our answers. A local connection without a proxy must therefore name this machine, or give an IP address.
    """
    parts = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:/?#@\[\]]+)(:\d{1,5})?", Headers(scope=scope).get("host", ""))
    host = parts[1].lower().rstrip(".") if parts else ""
    allowed: Sequence[str] = st.get_option("server.allowedHosts")
    if allowed:
        return any(_matches(host, pattern.strip().lower().rstrip(".")) for pattern in allowed)
    if LIMITS.proxies or not _is_local(scope):
        return True
    is_ip_address = normalized(host) != UNDECLARED  # which needs no DNS, and so cannot be rebound
    return is_ip_address or host in _own_names()


def _is_local(scope: Scope) -> bool:
    """Whether a connection comes from this machine, whatever its headers say."""
    server, peer = scope.get("server"), scope.get("client")
    if not server or not server[1]:
        return False
    return normalized(server[0]) == LOOPBACK or (peer is not None and peer[0] == server[0])


@cache
def _own_names() -> frozenset[str]:
    name = platform.node().lower()
    bound = str(st.get_option("server.address") or "").lower()
    return frozenset({"localhost", name, name.partition(".")[0], f"{name.partition('.')[0]}.local", bound} - {""})


def _matches(host: str, pattern: str) -> bool:
    """Whether a host matches a pattern of `server.allowedHosts`."""
    return bool(host) and (pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:])))


def _with_own_origin(scope: Scope) -> Scope | None:
    """The scope with its Origin header rewritten to match Host; None if the origin is not allowed.

    If the two differ, Streamlit looks up the server's public address over the network, which blocks the event loop.
    """
    headers = Headers(scope=scope)
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None or urlsplit(origin).netloc == host:
        return scope
    allowed = {name.strip() for name in st.get_option("server.corsAllowedOrigins")}
    if origin not in allowed and st.get_option("server.enableCORS"):
        return None
    rewritten_origin = (b"origin", f"{scope['scheme'].replace('ws', 'http')}://{host}".encode())
    return {**scope, "headers": [*(pair for pair in scope["headers"] if pair[0] != b"origin"), rewritten_origin]}


async def _refuse(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": REFUSED})
