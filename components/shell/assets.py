"""Sends scripts compressed, and has browsers prefetch plotly.

Streamlit 1.67 sends its scripts uncompressed. Here each, and each of the player's, is compressed once, for all
visitors. Without the prefetch a browser would ask for plotly only at the first chart.
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
GZIP_LEVEL = 5  # of gzip: 6 takes 20% longer and saves 1%
PIECE = 2**16
KEPT = "public, immutable, max-age=31536000"  # for files whose address holds a hash of their content


def base_path() -> str:
    """The server's base path with a leading slash; empty without one."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}" if base else ""


def is_download(path: str) -> bool:
    """Whether a path is a file to download: a page among these stands alone, and needs no script of the app."""
    return path.startswith(f"{base_path()}/media/")


def streamlits(folder: Path = SCRIPTS) -> dict[str, Path]:
    """Streamlit's scripts by their addresses below the server's path."""
    return {f"static/js/{file.name}": file for file in folder.glob("*.js")}


class Scripts:
    """Middleware that answers requests for `files`, by address, with gzip, and names `prefetch` to every page.

    Not `modulepreload`, which compiles the script at once and delays the controls.
    """

    def __init__(self, inner: ASGIApp, files: Mapping[str, Path], prefetch: str) -> None:
        self.inner = inner
        self._files = files
        self._packed: dict[str, asyncio.Task[bytes]] = {}
        self._link = f'<./{prefetch}>; rel="prefetch"; as="script"; crossorigin="anonymous"'

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a compressed script, or the app's own answer with its headers completed."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        name = _address(scope["path"])
        script = name in self._files
        if script and scope["method"] in {"GET", "HEAD"} and _worth_packing(Headers(scope=scope)):
            body = await self._pack(name)
            if body is not None:
                headers = {"content-encoding": "gzip", "content-length": str(len(body)), "cache-control": KEPT}
                headers["vary"] = "Accept-Encoding"
                script_response = StreamingResponse(_pieces(body), headers=headers, media_type="text/javascript")
                await script_response(scope, receive, send)
                return

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if script:
                    headers.add_vary_header("Accept-Encoding")
                elif headers.get("content-type", "").startswith("text/html") and not is_download(scope["path"]):
                    headers.append("link", self._link)
            await send(message)

        await self.inner(scope, receive, complete)

    async def _pack(self, name: str) -> bytes | None:
        """A script, compressed in a thread at the first request for it; None if that fails."""
        if name not in self._packed:
            self._packed[name] = asyncio.create_task(asyncio.to_thread(_packed, self._files[name]))
        try:
            return await asyncio.shield(self._packed[name])  # one client's disconnect must not cancel it for others
        except (OSError, RuntimeError):  # no such file, or no more threads
            self._packed.pop(name, None)
            return None


def _address(path: str) -> str:
    """A path below the server's own; empty for any other path."""
    base = f"{base_path()}/"
    return path.removeprefix(base) if path.startswith(base) else ""


def _worth_packing(asked: Headers) -> bool:
    """Whether to compress for this request; on this machine the plain file is faster."""
    host = re.sub(r":\d+$", "", asked.get("host", ""))
    return host not in THIS_MACHINE and "gzip" in asked.get("accept-encoding", "") and "range" not in asked


def _packed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), GZIP_LEVEL, mtime=0)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body in pieces, so that a slow browser does not keep a whole copy in the server's buffers."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
