"""How a browser gets Streamlit's scripts: compressed, once
for everybody, and plotly before the first chart asks for it.

Streamlit 1.67 sends its scripts as they are, since compressing them for every visitor anew would cost more than it
saves, and a browser learns from the first chart that it needs plotly, the largest of them.
"""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"
ROUTE = "/static/js/"
HERE = {"localhost", "127.0.0.1", "[::1]"}  # what a browser calls the machine that it runs on
LEVEL = 5  # of gzip: 6 takes a fifth longer for one hundredth less
PIECE = 2**16
# as Streamlit says it of these files, whose names hold a hash of what is in them
KEPT = "public, immutable, max-age=31536000"


@cache
def plotly_chunk(folder: Path = SCRIPTS) -> str:
    """The file name of Streamlit's own plotly; empty unless there is exactly one."""
    found = list(folder.glob("PlotlyChart.*.js"))
    return found[0].name if len(found) == 1 else ""


class Scripts:
    """Answers requests for scripts with gzip, and has every page's
    first answer name plotly, for when the browser has time.

    Not `rel="modulepreload"`: that one compiles it at once, and the controls come about a second later.
    """

    def __init__(self, inner: ASGIApp, folder: Path = SCRIPTS) -> None:
        self.inner = inner
        self._files = {file.name: file for file in folder.glob("*.js")}
        self._packed: dict[str, asyncio.Task[bytes]] = {}
        chunk = plotly_chunk(folder)
        self._link = f'<.{ROUTE}{chunk}>; rel="prefetch"; as="script"; crossorigin="anonymous"' if chunk else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a script itself; everything else as the app inside answers it, pages with the link."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        name = _script(scope["path"])
        script = name in self._files
        if script and scope["method"] in {"GET", "HEAD"} and _worth_packing(Headers(scope=scope)):
            body = await self._pack(name)
            if body is not None:
                told = {"content-encoding": "gzip", "content-length": str(len(body)), "cache-control": KEPT}
                answer = StreamingResponse(
                    _pieces(body), headers=told | {"vary": "Accept-Encoding"}, media_type="text/javascript"
                )
                await answer(scope, receive, send)
                return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if script:
                    headers.add_vary_header("Accept-Encoding")
                elif self._link and headers.get("content-type", "").startswith("text/html"):
                    headers.append("link", self._link)
            await send(message)

        await self.inner(scope, receive, sent)

    async def _pack(self, name: str) -> bytes | None:
        """A script, compressed beside the server's loop when the
        first asks for it; None where that cannot be done now.
        """
        if name not in self._packed:
            self._packed[name] = asyncio.create_task(asyncio.to_thread(_packed, self._files[name]))
        try:
            return await asyncio.shield(self._packed[name])  # shielded: whoever leaves takes it from nobody
        except (OSError, RuntimeError):  # the file, or a thread for it, cannot be had
            self._packed.pop(name, None)
            return None


def _script(path: str) -> str:
    """The name of the script that a path asks for; empty where it asks for something else."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    route = f"/{base}{ROUTE}" if base else ROUTE
    return path.removeprefix(route) if path.startswith(route) else ""


def _worth_packing(asked: Headers) -> bool:
    """Whether a script goes over a network to a browser that
    unpacks it; one on this machine is sooner there as it is.
    """
    host = re.sub(r":\d+$", "", asked.get("host", ""))
    return host not in HERE and "gzip" in asked.get("accept-encoding", "") and "range" not in asked


def _packed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), LEVEL, mtime=0)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body bit by bit, so that a slow browser keeps no copy of it in the server."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
