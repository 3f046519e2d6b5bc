"""Sends scripts compressed.

Streamlit 1.67 sends its scripts uncompressed. This middleware compresses them and the player's once, for all visitors.
"""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.shell.streamlits_own import SCRIPTS

THIS_MACHINE = {"localhost", "127.0.0.1", "[::1]"}
GZIP_LEVEL = 5  # 6 takes 20% longer and saves 1%
PIECE_BYTES = 2**16
CACHE_FOREVER = "public, immutable, max-age=31536000"  # for files whose address holds a hash of their content


def base_path() -> str:
    """The server's base path with a leading slash; empty without one."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}" if base else ""


def streamlit_scripts(folder: Path = SCRIPTS) -> dict[str, Path | bytes]:
    """Streamlit's scripts by their addresses below the server's path."""
    return {f"static/js/{file.name}": file for file in folder.glob("*.js")}


class CompressedScripts:
    """Middleware that compresses `files` or their bytes, by address."""

    def __init__(self, inner: ASGIApp, files: Mapping[str, Path | bytes]) -> None:
        self.inner = inner
        self._files = files
        self._compressions: dict[str, asyncio.Task[bytes]] = {}  # by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a compressed script, or the app's answer with added headers."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        name = _address(scope["path"])
        is_script = name in self._files
        if is_script and scope["method"] in {"GET", "HEAD"} and _should_compress(Headers(scope=scope)):
            body = await self._compressed(name)
            if body is not None:
                headers = {"content-encoding": "gzip", "content-length": str(len(body)), "cache-control": CACHE_FOREVER}
                headers["vary"] = "Accept-Encoding"
                script_response = StreamingResponse(_pieces(body), headers=headers, media_type="text/javascript")
                await script_response(scope, receive, send)
                return

        async def send_with_vary(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).add_vary_header("Accept-Encoding")
            await send(message)

        await self.inner(scope, receive, send_with_vary if is_script else send)

    async def _compressed(self, name: str) -> bytes | None:
        """A script, compressed in a thread at the first request for it; None if that fails."""
        if name not in self._compressions:
            self._compressions[name] = asyncio.create_task(asyncio.to_thread(_compress, self._files[name]))
        try:
            return await asyncio.shield(self._compressions[name])  # one client's disconnect must not cancel it
        except (OSError, RuntimeError):  # no such file, or no more threads
            self._compressions.pop(name, None)
            return None


def _address(path: str) -> str:
    """The address of a path below the server's base path; empty for any other path."""
    base = f"{base_path()}/"
    return path.removeprefix(base) if path.startswith(base) else ""


def _should_compress(headers: Headers) -> bool:
    """Whether to compress the answer to a request; on the same machine the plain file is faster."""
    host = re.sub(r":\d+$", "", headers.get("host", ""))
    return host not in THIS_MACHINE and "gzip" in headers.get("accept-encoding", "") and "range" not in headers


def _compress(file: Path | bytes) -> bytes:
    return gzip.compress(file if isinstance(file, bytes) else file.read_bytes(), GZIP_LEVEL, mtime=0)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body in pieces, so that the server's buffers do not hold a whole copy for a slow browser."""
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]
