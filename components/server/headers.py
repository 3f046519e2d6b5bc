"""The headers of every answer, among them its Content-Security-Policy.

A page may load from and connect to this server alone, and be framed by those whom the operator allows. The policy
allows inline styles and blob scripts, which Streamlit uses.
"""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from models.spec.limits import FRAME_ANCESTORS

HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
POLICY = (
    "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' blob: data:; "
    "connect-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors {ancestors}"
)


def policy(page: bytes = b"") -> str:
    """The Content-Security-Policy of a page, which allows the scripts in its HTML by their hashes."""
    hashes = [sha256(script).digest() for script in re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)]
    scripts = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in hashes)
    return POLICY.format(scripts=scripts, ancestors=FRAME_ANCESTORS)


def with_headers(send: Send) -> Send:
    """A `send` that adds HEADERS, and a policy without scripts of its own where there is none, to the answer."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("content-security-policy", policy())
        await send(message)

    return send_with_headers
