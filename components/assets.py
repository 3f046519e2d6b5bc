"""How a browser gets Streamlit's scripts: compressed, once for everybody, and plotly before the first chart asks for it.

Streamlit 1.67 sends its scripts as they are, since compressing them for every visitor anew would cost more than it saves,
and a browser learns from the first chart that it needs plotly, the largest of them.
"""

import asyncio
import gzip
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"
ROUTE = "/static/js/"
HERE = {"localhost", "127.0.0.1", "[::1]"}  # what a browser calls the machine that it runs on
LEVEL = 5  # of gzip: 6 takes a fifth longer for one hundredth less
KEPT = "public, immutable, max-age=31536000"  # as Streamlit says it of these files, whose names hold a hash of what is in them


@cache
def plotly_chunk(folder: Path = SCRIPTS) -> str:
    """The file name of Streamlit's own plotly; empty unless there is exactly one."""
    found = list(folder.glob("PlotlyChart.*.js"))
    return found[0].name if len(found) == 1 else ""


class Scripts:
    """Answers requests for scripts with gzip, and has every page's first answer name plotly, for when the browser has time.

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
        name, asked = scope["path"].rpartition(ROUTE)[2], Headers(scope=scope)
        if scope["method"] == "GET" and name in self._files and _worth_packing(asked):
            told = {"content-encoding": "gzip", "vary": "accept-encoding", "cache-control": KEPT}
            await Response(await self._pack(name), headers=told, media_type="text/javascript")(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and self._link:
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("link", self._link)
            await send(message)

        await self.inner(scope, receive, sent)

    async def _pack(self, name: str) -> bytes:
        """A script, compressed beside the server's loop when the first asks for it."""
        if name not in self._packed:
            self._packed[name] = asyncio.create_task(asyncio.to_thread(_packed, self._files[name]))
        return await asyncio.shield(self._packed[name])  # shielded: whoever leaves takes it from nobody


def _worth_packing(asked: Headers) -> bool:
    """Whether a script goes over a network to a browser that unpacks it; one on this machine is sooner there as it is."""
    host = asked.get("host", "")
    return (host.rpartition(":")[0] or host) not in HERE and "gzip" in asked.get("accept-encoding", "") and "range" not in asked


def _packed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), LEVEL, mtime=0)
