"""The player of runs: modules that a browser loads as they are, their style, and plotly's cartesian bundle.

`plotly/` holds the bundle of one release with its licence and checksums; `make plotly` fetches another one.
"""

import base64
import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PLOTLY = FOLDER / "plotly" / "plotly-cartesian.min.js"

# Nothing is fetched: scripts stand in the file, the player's as data that its import map names.
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
<script type="importmap">{imports}</script>
<script>{plotly}</script></head><body>
<h1>{title}</h1>
<main>{stage}</main>
{below}
<script type="application/json">{parts}</script>
<script type="application/json">{messages}</script>
<script type="module">import {{ play }} from "player/file.js"; play(document.querySelector("main"))</script>
</body></html>
"""


def file_that_plays(title: str, parts: list[dict[str, Any]], messages: Iterable[str | bytes], below: str = "") -> str:
    """One self-contained HTML page with the player: charts, tables and tapes work offline, from a double click.

    `parts`: what a stage and its parts declare, from top to bottom; `messages`: what a connection would send about its
    runs, in order; `below`: HTML after the player, escaped by the caller.
    """
    sent = [base64.b64encode(one).decode() if isinstance(one, bytes) else json.loads(one) for one in messages]
    return PAGE.format(
        policy=POLICY,
        title=escape(title),
        style="".join((FOLDER / name).read_text(encoding="utf-8") for name in ("stage.css", "file.css")),
        imports=_json({"imports": {f"player/{name}": address for name, address in _modules()}}),
        plotly=PLOTLY.read_text(encoding="utf-8"),
        stage=(FOLDER / "stage.html").read_text(encoding="utf-8"),
        below=below,
        parts=_json(parts),
        messages=_json(sent),
    )


def _modules() -> Iterable[tuple[str, str]]:
    """The player's modules as data, which import each other by the names of an import map."""
    for file in sorted(FOLDER.glob("*.js")):
        script = re.sub(r'(from |import )"\./', r'\1"player/', file.read_text(encoding="utf-8"))
        yield file.name, f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _json(value: Any) -> str:
    """JSON within a script element: no text in it can close the element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
