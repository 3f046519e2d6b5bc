"""Streamlit's scripts on their way to a browser: compressed
once, cached as Streamlit says.
"""

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from components.shell import assets
from components.shell.assets import CompressedScripts, streamlit_scripts

CODE = "export const answer = 42\n" * 100_000  # several pieces
AFAR = {"host": "class.example:8501", "accept-encoding": "gzip, br"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.def.js").write_text(CODE)
    (tmp_path.parent / "secret.js").write_text("secret")
    return tmp_path


async def _inside(request: Any) -> Response:
    return HTMLResponse("a page") if "page" in request.url.path else PlainTextResponse("as it is")


def app(folder: Path) -> CompressedScripts:
    return CompressedScripts(
        Starlette(routes=[Route("/{path:path}", _inside, methods=["GET", "HEAD", "POST"])]),
        streamlit_scripts(folder),
    )


async def ask(served: ASGIApp, path: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body of an answer."""
    sent: list[dict[str, Any]] = []
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": raw,
        "server": ("here", 80),
    }

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # the browser stays
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    await served(scope | {"scheme": "http", "root_path": "", "http_version": "1.1"}, receive, send)
    return {k.decode(): v.decode() for k, v in sent[0]["headers"]}, b"".join(part.get("body", b"") for part in sent[1:])


def answer(served: ASGIApp, path: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    return asyncio.run(ask(served, path, method, **headers))


@pytest.mark.parametrize(
    ("path", "base"), [("/static/js/index.def.js", ""), ("/class/room/static/js/index.def.js", "/class/room/")]
)
def test_a_script_is_sent_compressed_and_may_be_kept(
    folder: Path, path: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": base}.get)
    headers, body = answer(app(folder), path, **AFAR)
    assert headers["content-encoding"] == "gzip"
    assert headers["content-type"].startswith("text/javascript")
    assert (headers["vary"], headers["cache-control"]) == ("Accept-Encoding", assets.CACHE_FOREVER)
    assert answer(app(folder), path, "HEAD", **AFAR)[0] == headers
    assert int(headers["content-length"]) == len(body) < len(CODE) / 10
    assert gzip.decompress(body).decode() == CODE


def test_a_class_that_comes_at_once_has_it_compressed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, honest = [], assets._compress
    monkeypatch.setattr(assets, "_compress", lambda file: packed.append(file.name) or honest(file))

    async def arrive() -> list[tuple[dict[str, str], bytes]]:
        served = app(folder)
        return await asyncio.gather(*(ask(served, "/static/js/index.def.js", **AFAR) for _ in range(30)))

    bodies = {body for _, body in asyncio.run(arrive())}
    assert [gzip.decompress(body).decode() for body in bodies] == [CODE]
    assert packed == ["index.def.js"]


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/static/js/index.def.js", "POST", AFAR),
        ("/static/js/index.def.js", "GET", AFAR | {"host": "[::1]"}),
        ("/elsewhere/static/js/index.def.js", "GET", AFAR),
        ("/static/js/index.def.js", "GET", {"host": "class.example"}),
        ("/static/js/index.def.js", "GET", AFAR | {"accept-encoding": "br"}),
        ("/static/js/index.def.js", "GET", AFAR | {"range": "bytes=0-9"}),
        ("/static/js/index.def.js", "GET", AFAR | {"host": "localhost:8501"}),
        ("/static/js/index.def.js", "GET", AFAR | {"host": "127.0.0.1"}),
        ("/static/js/unknown.js", "GET", AFAR),
        ("/static/js/../secret.js", "GET", AFAR),
        ("/index.def.js", "GET", AFAR),
    ],
)
def test_everything_else_is_streamlits_to_answer(folder: Path, path: str, method: str, headers: dict[str, str]) -> None:
    told, body = answer(app(folder), path, method, **headers)
    assert "content-encoding" not in told
    assert body == b"as it is"


def test_a_script_that_cannot_be_read_is_streamlits_to_answer_until_it_can(folder: Path) -> None:
    async def ask_twice() -> tuple[bytes, bytes]:
        served, path = app(folder), "/static/js/index.def.js"
        away = (folder / "index.def.js").rename(folder / "away")
        first = (await ask(served, path, **AFAR))[1]
        away.rename(folder / "index.def.js")
        return first, gzip.decompress((await ask(served, path, **AFAR))[1])

    assert asyncio.run(ask_twice()) == (b"as it is", CODE.encode())


def test_a_shared_cache_is_told_that_there_are_two_kinds_of_each_script(folder: Path) -> None:
    assert answer(app(folder), "/static/js/index.def.js", host="class.example")[0]["vary"] == "Accept-Encoding"


def test_scripts_are_kept_as_long_as_streamlit_says() -> None:
    from streamlit.web.server.starlette import starlette_static_routes as streamlit

    assert f"public, immutable, max-age={streamlit.STATIC_ASSET_CACHE_MAX_AGE_SECONDS}" == assets.CACHE_FOREVER
