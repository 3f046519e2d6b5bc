"""What is part of every page's HTML: CSS that Streamlit's theme options lack, the rule of the browser's history, and
the rule that plain links keep the language of a visit.

Sent by the page's script, they would come after Streamlit's first paint, which the CSS would move, and after a first
click. The player's modules are named there too: found by their imports, they would come one after the other.
"""

from collections.abc import Iterable
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.server.headers import policy
from components.shell.assets import is_download

BADGES = {"measured": "blue", "formula": "green", "recorded": "gray"}  # the colours of where a number comes from
CSS = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
SCRIPTS = [(Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("history.js", "links.js")]
# Plotly is compiled and run while the browser waits for the page's first elements, not when the first chart needs it.
EARLY = 'addEventListener("load", () => import("./{}"))'
WITHOUT_CHARTS = ("/", "/story", "/glossary", "/teacher", "/join")
UNASKED = {b"accept-encoding", b"if-none-match", b"if-modified-since"}  # Streamlit's page is not the one that is sent
END = b"</body>"  # after Streamlit's own styles, over which these win


class Styled:
    """Puts CSS and SCRIPTS into every page, and has it load `modules` and `plotly` by their addresses."""

    def __init__(self, inner: ASGIApp, modules: Iterable[str] = (), plotly: str = "") -> None:
        self.inner = inner
        links = "".join(f'<link rel="modulepreload" href="./{address}">' for address in modules)
        scripts = "".join(f"<script>{script}</script>" for script in SCRIPTS)
        self._added = f"{links}<style>{CSS}</style>{scripts}".encode()
        self._plotly = f"<script>{EARLY.format(plotly)}</script>".encode() if plotly else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a page with them in it, and everything else as it is."""
        page = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and "text/html" in Headers(scope=scope).get("accept", "")
            and not is_download(scope["path"])
        )
        if not page:
            await self.inner(scope, receive, send)
            return
        start: list[Message] = []
        parts: list[bytes] = []

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                if Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                    start.append(message)
                    return
            elif start and message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                early = b"" if scope["path"].endswith(WITHOUT_CHARTS) else self._plotly
                body = b"".join(parts).replace(END, self._added + early + END)
                headers = MutableHeaders(scope=start[0])
                headers["content-length"] = str(len(body))
                headers["content-security-policy"] = policy(body)
                del headers["etag"], headers["last-modified"]
                await send(start[0])
                message = {"type": "http.response.body", "body": body}
            await send(message)

        headers = [pair for pair in scope["headers"] if pair[0] not in UNASKED]
        await self.inner({**scope, "headers": headers}, receive, complete)
