"""The address by which a client's connections and requests are counted."""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

from models.spec.bounds import IPV6_NETWORK_BITS
from models.spec.limits import LIMITS

FORWARDED = "x-forwarded-for"
UNDECLARED = "undeclared"  # the common address of all requests through proxies that the operator has not declared
LOOPBACK = "127.0.0.1"


def address_of(scope: Scope) -> str:
    peer = scope.get("client")
    return client_address(peer[0] if peer else LOOPBACK, Headers(scope=scope).getlist(FORWARDED), LIMITS.proxies)


def client_address(peer: str, forwarded: Sequence[str], proxies: int) -> str:
    """The peer's address, or the one that the first of the trusted proxies has appended to X-Forwarded-For.

    The proxy next to the server appends the last entry; a client can forge all entries left of the trusted ones.
    Uvicorn replaces the peer if a header came over loopback, so without trusted proxies a peer with a header is
    UNDECLARED.
    """
    entries = [entry.strip() for line in forwarded for entry in line.split(",")]
    if proxies and len(entries) >= proxies:
        return normalized(entries[-proxies])
    return UNDECLARED if entries else normalized(peer)


def normalized(text: str) -> str:
    """A numeric address without its port, IPv6 cut to its network; UNDECLARED for any other text."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text)
    except ValueError:
        return UNDECLARED
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    if parsed.is_loopback:
        return LOOPBACK
    host_bits = 0 if parsed.version == 4 else 128 - IPV6_NETWORK_BITS
    return str(type(parsed)(int(parsed) >> host_bits << host_bits))
