"""The player of runs: ES modules that a browser loads without a build, their style, and plotly's cartesian bundle.

`declare` builds the data of a player, `player_html` a page that needs no server. `plotly/` holds the bundle of one
release with its licence and checksums; `make plotly` fetches another release.
"""

import base64
import gzip
import json
import re
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from addnorm.player.charts import panels_of
from addnorm.player.declare import declaration

FOLDER = Path(__file__).parent
PLOTLY = FOLDER / "plotly" / "plotly-cartesian.min.js"

# The page fetches nothing: its scripts are inline, the player's modules as data URLs in the import map.
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
<script type="importmap">{imports}</script></head><body>
<h1>{title}</h1>
<main>{player}</main>
<div id="still">{still}</div>
{below}
<script type="application/json">{parts}</script>
<script type="application/gzip">{messages}</script>
<script type="application/gzip">{plotly}</script>
<script type="module">import {{ play }} from "player/file.js"; play(document.querySelector("main"))</script>
</body></html>
"""


# Precedes every binary message: index of the run, first row or byte, number of rows or bytes, turn of the hello.
PIECE_HEAD = struct.Struct("<IIII")


def json_messages(messages: Iterable[str | bytes]) -> list[Any]:
    """The messages as JSON values: binary ones as base64 text, the others parsed."""
    return [
        base64.b64encode(message).decode() if isinstance(message, bytes) else json.loads(message)
        for message in messages
    ]


def recordings_html(title: str, recordings: Mapping[str, bytes], *, facts: Sequence[str] = (), still: str = "") -> str:
    """A self-contained HTML page that plays up to eight recordings: the bytes of each by its name.

    `facts` are more entries for the status line. `still` is HTML that stays where a browser runs no modules.
    """
    runs = [{"link": f"recording={name}", "recording": name} for name in recordings]
    panels = panels_of([None] * len(runs), list(recordings))
    player = declaration(runs, panels, verb="Play", facts=list(facts)) | {"name": "file", "ticket": ""}
    messages: list[str | bytes] = []
    for number, data in enumerate(recordings.values()):
        announcement = {"kind": "file", "run": number, "file": "", "start": 0, "sentence": "", "read": time.time()}
        messages += [json.dumps(announcement), PIECE_HEAD.pack(number, 0, len(data), 0) + data]
    return player_html(title, [player], messages, still=still)


def player_html(
    title: str, parts: list[dict[str, Any]], messages: Iterable[str | bytes], below: str = "", *, still: str = ""
) -> str:
    """A self-contained HTML page with a player, which works offline.

    `parts` are the declarations of the player and its parts, from top to bottom. `messages` are those that a connection
    would send about the runs, in order. The caller escapes `below`, HTML after the player, and `still`, HTML that stays
    until the player runs.
    """
    return PAGE.format(
        policy=POLICY,
        title=escape(title),
        style="".join((FOLDER / name).read_text(encoding="utf-8") for name in ("player.css", "file.css")),
        imports=_json({"imports": {f"player/{name}": address for name, address in _module_urls()}}),
        plotly=_gzip_base64(PLOTLY.read_bytes()),
        player=(FOLDER / "player.html").read_text(encoding="utf-8"),
        still=still,
        below=below,
        parts=_json(parts),
        messages=_gzip_base64(_json(json_messages(messages)).encode()),
    )


def _module_urls() -> Iterable[tuple[str, str]]:
    """File name and data URL of each module; their imports become names of the import map."""
    for file in sorted(FOLDER.glob("*.js")):
        script = re.sub(r'(from |import )"\./', r'\1"player/', file.read_text(encoding="utf-8"))
        yield file.name, f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _gzip_base64(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _json(value: Any) -> str:
    """JSON for a script element: no text in it can close the element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
