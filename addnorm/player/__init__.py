"""The player of runs: modules that a browser loads as they are, their style, and plotly's cartesian bundle.

`declare` has what a player is told, `file_that_plays` makes a page that needs no server. `plotly/` holds the
bundle of one release with its licence and checksums; `make plotly` fetches another one.
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

# Nothing is fetched: scripts stand in the file, the player's as data that its import map names.
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


# Before every piece of a run: its number, the place where the piece begins, its length, and the turn of the question.
HEAD = struct.Struct("<IIII")


def in_json(messages: Iterable[str | bytes]) -> list[Any]:
    """Messages as a list within JSON: those of bytes as text in base64, the others as what they say."""
    return [base64.b64encode(one).decode() if isinstance(one, bytes) else json.loads(one) for one in messages]


def recordings_that_play(
    title: str, recordings: Mapping[str, bytes], *, facts: Sequence[str] = (), still: str = ""
) -> str:
    """A page that plays up to eight recordings, by their names, as they are by now.

    `facts`: more words for the line of status. `still`: HTML that stands there where no module may run.
    """
    runs = [{"link": f"recording={name}", "recording": name} for name in recordings]
    panels = panels_of([None] * len(runs), list(recordings))
    player = declaration(runs, panels, verb="Play", facts=list(facts)) | {"name": "file", "ticket": ""}
    messages: list[str | bytes] = []
    for number, data in enumerate(recordings.values()):
        follows = {"kind": "file", "run": number, "file": "", "start": 0, "sentence": "", "read": time.time()}
        messages += [json.dumps(follows), HEAD.pack(number, 0, len(data), 0) + data]
    return file_that_plays(title, [player], messages, still=still)


def file_that_plays(
    title: str, parts: list[dict[str, Any]], messages: Iterable[str | bytes], below: str = "", *, still: str = ""
) -> str:
    """One self-contained HTML page with the player: charts, tables and logs work offline, from a double click.

    `parts`: what a player and its parts declare, from top to bottom; `messages`: what a connection would send about its
    runs, in order; `below`: HTML after the player, `still`: HTML until the player runs, both escaped by the caller.
    """
    return PAGE.format(
        policy=POLICY,
        title=escape(title),
        style="".join((FOLDER / name).read_text(encoding="utf-8") for name in ("player.css", "file.css")),
        imports=_json({"imports": {f"player/{name}": address for name, address in _modules()}}),
        plotly=_packed(PLOTLY.read_bytes()),
        player=(FOLDER / "player.html").read_text(encoding="utf-8"),
        still=still,
        below=below,
        parts=_json(parts),
        messages=_packed(_json(in_json(messages)).encode()),
    )


def _modules() -> Iterable[tuple[str, str]]:
    """The player's modules as data, which import each other by the names of an import map."""
    for file in sorted(FOLDER.glob("*.js")):
        script = re.sub(r'(from |import )"\./', r'\1"player/', file.read_text(encoding="utf-8"))
        yield file.name, f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _packed(data: bytes) -> str:
    """Compressed, in letters that are no markup."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _json(value: Any) -> str:
    """JSON within a script element: no text in it can close the element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
