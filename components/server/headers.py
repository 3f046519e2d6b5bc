"""The headers of every answer, and the policy of every page.

A page may load and ask this server alone. Streamlit sets styles in attributes and hands a component's script to the
browser as a blob. The policy does not say who may frame a page: a Space does, and so does a course.
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
    """The Content-Security-Policy of a page, which names the scripts in its HTML by their content."""
    scripts = [sha256(script).digest() for script in re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)]
    return POLICY.format(scripts=" ".join(f"'sha256-{b64encode(one).decode()}'" for one in scripts))


def with_headers(send: Send) -> Send:
    """Sends HEADERS with an answer."""

    async def complete(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return complete
