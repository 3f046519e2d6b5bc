"""The rules of style and of the history stand in every page's own HTML, and nowhere else."""

from base64 import b64encode
from hashlib import sha256

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from components.shell.style import CSS, PLOTLY_PRELOAD, SCRIPTS, HtmlInjector
from tests.shell.test_assets import answer

PAGE = "<html><head><style>its own</style></head><body>" + "a page " * 200 + "</body></html>"
BROWSER = {"accept": "text/html,*/*", "accept_encoding": "gzip"}


async def _inside(request: Request) -> Response:
    if request.url.path != "/page":
        return PlainTextResponse("</body>")
    known = "if-none-match" in request.headers
    return Response(status_code=304) if known else HTMLResponse(PAGE, headers={"etag": '"old"'})


ROUTES = [Route("/{path:path}", _inside)]
APP = HtmlInjector(Starlette(routes=ROUTES, middleware=[Middleware(GZipMiddleware)]))


def test_a_page_has_the_rules_after_its_own() -> None:
    headers, body = answer(APP, "/page", **BROWSER)
    scripts = "".join(f"<script>{script}</script>" for script in SCRIPTS)
    assert body.decode() == PAGE.replace("</body>", f"<style>{CSS}</style>{scripts}</body>")
    assert int(headers["content-length"]) == len(body)
    assert "content-encoding" not in headers


def test_a_page_loads_the_players_script_at_once() -> None:
    body = answer(HtmlInjector(Starlette(routes=ROUTES), script="player/1/player.js"), "/page", **BROWSER)[1]
    assert b'<link rel="modulepreload" href="./player/1/player.js"><style>' in body


@pytest.mark.parametrize(
    ("path", "early"), [("/page", True), ("/class/page", True), ("/", False), ("/class/story", False)]
)
def test_only_a_page_with_charts_fetches_and_runs_plotly(path: str, early: bool) -> None:
    pages = Starlette(routes=[Route("/{path:path}", lambda _: HTMLResponse(PAGE))])
    headers, body = answer(HtmlInjector(pages, plotly="player/1/plotly.js"), path, **BROWSER)
    script = PLOTLY_PRELOAD.format("player/1/plotly.js").encode()
    assert (body.count(b"<script>" + script + b"</script>") == 1) is early
    assert ('<./player/1/plotly.js>; rel="prefetch"' in headers.get("link", "")) is early
    named = f"'sha256-{b64encode(sha256(script).digest()).decode()}'"
    assert (named in headers["content-security-policy"]) is early


def test_a_browser_that_has_the_page_without_them_gets_it_again() -> None:
    headers, body = answer(APP, "/page", **BROWSER, if_none_match='"old"')
    assert CSS.encode() in body
    assert "etag" not in headers


def test_a_page_that_is_downloaded_is_as_it_was() -> None:
    pages = Starlette(routes=[Route("/{path:path}", lambda _: HTMLResponse(PAGE))])
    assert answer(HtmlInjector(pages, plotly="player/1/plotly.js"), "/media/1.html", **BROWSER)[1] == PAGE.encode()


def test_everything_else_is_as_it_was() -> None:
    assert answer(APP, "/words.txt", **BROWSER)[1] == b"</body>"
    assert answer(APP, "/page", "HEAD", accept="text/html")[1] == PAGE.encode()
    assert answer(APP, "/page", accept="application/json")[1] == PAGE.encode()
