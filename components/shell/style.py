"""Additions to every page's HTML: CSS that Streamlit's theme lacks, and four scripts.

If the page's script sent them, the CSS would shift Streamlit's first paint, and the scripts would miss a first click.
The HTML also preloads the player's script, which the page would otherwise ask for with its first component.
"""

from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.server.headers import policy
from components.shell.assets import base_path

BADGES = {"measured": "blue", "formula": "green", "recorded": "gray"}  # colour by origin of a number
CSS = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
SCRIPTS = [
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("history.js", "parts.js", "print.js")
]
# A header: plotly is there when the page runs it. `modulepreload` would also compile it, and delay the controls.
PREFETCH = '<./{}>; rel="prefetch"; as="script"; crossorigin="anonymous"'
# Compiles and runs plotly while the browser waits for the page's first elements, not when the first chart needs it.
PLOTLY_PRELOAD = 'addEventListener("load", () => import("./{}"))'
PATHS_WITHOUT_CHARTS = ("/", "/story", "/glossary", "/teacher", "/join")
# Request headers that are dropped, because the page sent differs from Streamlit's.
DROPPED_HEADERS = {b"accept-encoding", b"if-none-match", b"if-modified-since"}
END = b"</body>"  # the additions come after Streamlit's own styles, and so override them


class HtmlInjector:
    """Middleware that adds CSS and SCRIPTS to every page, and loads `script` and `plotly` by their addresses."""

    def __init__(self, inner: ASGIApp, script: str = "", plotly: str = "") -> None:
        self.inner = inner
        link = f'<link rel="modulepreload" href="./{script}">' if script else ""
        scripts = "".join(f"<script>{source}</script>" for source in SCRIPTS)
        self._additions = f"{link}<style>{CSS}</style>{scripts}".encode()
        self._plotly = plotly

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends pages with the additions, and everything else unchanged."""
        is_page_request = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and "text/html" in Headers(scope=scope).get("accept", "")
            and not scope["path"].startswith(f"{base_path()}/media/")  # a file to download stands alone
        )
        if not is_page_request:
            await self.inner(scope, receive, send)
            return
        start: list[Message] = []
        parts: list[bytes] = []

        async def send_with_additions(message: Message) -> None:
            if message["type"] == "http.response.start":
                if Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                    start.append(message)
                    return
            elif start and message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                headers, run = MutableHeaders(scope=start[0]), ""
                if self._plotly and not scope["path"].endswith(PATHS_WITHOUT_CHARTS):
                    headers.append("link", PREFETCH.format(self._plotly))
                    run = f"<script>{PLOTLY_PRELOAD.format(self._plotly)}</script>"
                body = b"".join(parts).replace(END, self._additions + run.encode() + END)
                headers["content-length"] = str(len(body))
                headers["content-security-policy"] = policy(body)
                del headers["etag"], headers["last-modified"]
                await send(start[0])
                message = {"type": "http.response.body", "body": body}
            await send(message)

        headers = [(name, value) for name, value in scope["headers"] if name not in DROPPED_HEADERS]
        await self.inner({**scope, "headers": headers}, receive, send_with_additions)
