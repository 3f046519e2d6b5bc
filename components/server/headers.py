"""The headers of every answer, and the Content-Security-Policy of every page.

A page may load from and connect to this server alone. The policy allows inline styles and blob scripts, which
Streamlit uses, and does not restrict frames, because Spaces and courses embed the app.
"""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
POLICY = (
    "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' blob: data:; "
    "connect-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'"
)


def policy(page: bytes) -> str:
    """The Content-Security-Policy of a page, which allows the scripts in its HTML by their hashes."""
    hashes = [sha256(script).digest() for script in re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)]
    return POLICY.format(scripts=" ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in hashes))


def with_headers(send: Send) -> Send:
    """A `send` that adds HEADERS to the answer."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return send_with_headers
