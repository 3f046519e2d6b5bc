"""CSS that Streamlit's theme options lack: readable text in both themes, and no motion for those who want none.

It is part of every page's HTML: sent by the page's script, it would come after Streamlit's first paint and move that.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BADGES = {"measured": "blue", "formula": "green", "recorded": "gray"}  # the colours of where a number comes from

# Streamlit's contrast is too low: captions have 60 % opacity (3.9:1, a badge inside 2.8:1), code has 2.6:1 to 3.8:1 on
# white, and buttons have white text on a primary colour that is light enough to be read on the dark page.
CSS = """
[data-testid="stCaptionContainer"] { opacity: 1; color: color-mix(in srgb, currentColor 85%, transparent); }
button[kind="primary"], [data-tag-index] * { color: light-dark(#ffffff, #0b1622); }
[data-testid="stCode"] .token:is(.number, .string) { color: light-dark(#11705f, #29b09d); }
[data-testid="stCode"] .token.keyword { color: light-dark(#0b5cad, #5aa9f0); }
[data-testid="stCode"] .token.operator { color: light-dark(#a84300, #f08a4b); }
[data-testid="stCode"] .token:is(.punctuation, .comment) { color: light-dark(#5d6270, #a3a8b4); }
@media (max-width: 1400px) { /* Words without signs, so that Labs and Learn have room beside the sidebar. */
  [data-testid="stTopNavLink"] > span:has(> span > [data-testid="stIconMaterial"]) { display: none; }
}
.st-key-drawer, .st-key-history, .st-key-copy_link { position: absolute; }
:is(.st-key-drawer, .st-key-history, .st-key-copy_link) [data-testid="stSkeleton"] { display: none; }
/* Start's four nets, and the playground's stack, player and charts, stand in the first screen. */
.stMainBlockContainer { max-width: none; padding-top: 4.25rem; }
.stMainBlockContainer h1 { padding: 0.25rem 0 0.5rem; }
@media (min-width: 768px) {
  .st-key-preset [data-testid="stButtonGroup"] { display: flex; flex-direction: row; gap: 0.5rem; align-items: center; }
}
@media (min-width: 768px) and (max-width: 1400px) {
  .stMainBlockContainer { padding-left: 2rem; padding-right: 2rem; }
}
.st-key-top h1 { padding: 0; }
.st-key-start_words { display: grid; }
.st-key-start_words > * { grid-area: 1 / 1; }
.st-key-start_words:has(> :nth-child(2)) > :first-child * { visibility: hidden; }
@media (min-width: 768px) {
  .stElementContainer.st-key-settings { display: none; }
  /* Streamlit keeps an empty sidebar on the next page where one of its lists was opened before. */
  [data-test-script-state="notRunning"] [data-testid="stSidebar"]:not(
    :has([data-testid="stSidebarUserContent"] .stElementContainer)
  ) { display: none; }
}
@media (max-width: 767px) { /* The drawer's closing button stays in sight, with nothing over it. */
  [data-testid="stApp"]:has([data-testid="stSidebar"]):not(:has([data-testid="stExpandSidebarButton"])) .copy-link {
    visibility: hidden;
  }
  [data-testid="stSidebarContent"], [data-testid="stSidebarHeader"] { background: inherit; }
  [data-testid="stSidebarHeader"] { position: sticky; z-index: 1; top: 0; flex-shrink: 0; }
  [data-testid="stSidebarUserContent"] { scroll-margin-top: 60px; }
}
.st-key-preset [data-testid="stButtonGroup"] > div { flex-wrap: wrap; }
@media (min-width: 768px) { /* Room for the sentence of a preset and the verdict on it, so that Train stays. */
  .st-key-reading p { min-height: 2lh; }
  .st-key-stage_playground_over .stage-headline { min-height: 3lh; }
}
.stVerticalBlock:has(> * > .st-key-top, > .st-key-stage_playground) { gap: 0.5rem; }
/* What is not there yet keeps its room, so that nothing moves when it comes; an empty page, which the sidebar moves, is
   hidden. */
[data-testid="stAppViewContainer"] > div:not(:has(
  .stMain .stElementContainer:not(.st-key-drawer, .st-key-history, .st-key-copy_link)
)) { visibility: hidden; }
[data-testid="stHeader"] { visibility: visible; }
[data-testid="stSidebar"] [data-testid="stSkeleton"] { height: 4.25rem; }
[data-testid="stSidebar"] .st-key-residual [data-testid="stSkeleton"] { height: 1.5rem; }
:is(.st-key-start_links, .st-key-preset) [data-testid="stSkeleton"] { height: 2rem; }
.st-key-stage_four:not(:has(.stage-panel)) { min-height: 31.5rem; }
.st-key-stage_story:not(:has(.stage-panel)) { min-height: 100vh; }
.st-key-stage_playground_over:not(:has(.stage-panel)) { min-height: 13.5rem; }
.st-key-stage_playground:not(:has(.stage-panel)) { min-height: 8.4rem; }
.st-key-stage_playground_charts:not(:has(.stage-panel)) { min-height: 31rem; }
@media (max-width: 767px) {
  .st-key-preset:has([data-testid="stSkeleton"]) { flex: 1 0 100%; min-height: 6rem; }
  .st-key-stage_four:not(:has(.stage-panel)) { min-height: 100vh; }
  .st-key-stage_playground_over:not(:has(.stage-panel)) { min-height: 18.4rem; }
  .st-key-stage_playground:not(:has(.stage-panel)) { min-height: 14rem; }
  .st-key-stage_playground_charts:not(:has(.stage-panel)) { min-height: 62rem; }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after {
    animation-duration: 0.01ms !important;
    animation-iteration-count: 1 !important;
    transition: none !important; /* however short: what is inherited would go down the page a frame at each level */
    scroll-behavior: auto !important;
  }
  /* Streamlit hides the button to copy a code for the moment in which Tab moves from the code to it. */
  [data-testid="stCode"] :has([data-testid="stElementToolbarButton"]) { transition: visibility 0s 0.1s !important; }
}
"""


UNASKED = {b"accept-encoding", b"if-none-match", b"if-modified-since"}  # Streamlit's page is not the one that is sent
END = b"</body>"  # after Streamlit's own styles, over which these win


class Styled:
    """Middleware that puts the rules into every page."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner
        self._style = f"<style>{CSS}</style>".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a page with the rules in it, and everything else as it is."""
        page = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and "text/html" in Headers(scope=scope).get("accept", "")
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
                body = b"".join(parts).replace(END, self._style + END)
                headers = MutableHeaders(scope=start[0])
                headers["content-length"] = str(len(body))
                del headers["etag"], headers["last-modified"]
                await send(start[0])
                message = {"type": "http.response.body", "body": body}
            await send(message)

        headers = [pair for pair in scope["headers"] if pair[0] not in UNASKED]
        await self.inner({**scope, "headers": headers}, receive, complete)
