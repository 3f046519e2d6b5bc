"""The address on which a client's connections and requests are counted."""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

from models.spec.bounds import IPV6_NETWORK_BITS
from models.spec.limits import LIMITS

FORWARDED = "x-forwarded-for"
UNDECLARED = "undeclared"  # whoever names a proxy that the operator has not: one address, whatever the header says
LOOPBACK = "127.0.0.1"


def address_of(scope: Scope) -> str:
    """A client's address, from an ASGI scope."""
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
        return network(entries[-proxies])
    return UNDECLARED if entries else network(peer)


def network(text: str) -> str:
    """An address in numbers, without its port; of IPv6 its network. UNDECLARED for any other text."""
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
