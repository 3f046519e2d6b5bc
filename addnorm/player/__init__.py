"""The player of runs: ES modules that a browser loads as one script, their style, and plotly's cartesian bundle.

`declare` builds the data of a player, `script` joins the modules, `player_html` makes a page that needs no server.
`plotly/` holds the bundle of one release with its licence and checksums; `make plotly` fetches another release.
"""

import base64
import gzip
import json
import re
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from hashlib import sha256
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from addnorm.player.charts import panels_of
from addnorm.player.declare import declaration

FOLDER = Path(__file__).parent
PLOTLY = FOLDER / "plotly" / "plotly-cartesian.min.js"

# The page fetches nothing: its scripts are inline, and known by their digests. `more` is what an engine needs.
POLICY = "default-src 'none'; script-src {scripts}{more}; style-src 'unsafe-inline'; img-src data: blob:"
FOR_ENGINE = " 'wasm-unsafe-eval'; worker-src blob:"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style></head><body>
{above}
<main>{player}</main>
<div id="still">{still}</div>
{below}
<script type="application/json">{parts}</script>
<script type="application/gzip">{messages}</script>
<script type="application/gzip">{plotly}</script>
{engine}<script type="module">{script}</script>
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
    messages: list[str | bytes] = []
    for number, data in enumerate(recordings.values()):
        messages += [_announcement(number, read=time.time()), PIECE_HEAD.pack(number, 0, len(data), 0) + data]
    return player_html(title, [_player(list(recordings), facts=list(facts))], messages, still=still)


def growing_html() -> str:
    """A self-contained HTML page that plays a recording whose bytes the page around it posts, as `widget.js` does."""
    return player_html("A recording that grows", [_player([""]) | {"grows": True}], [_announcement(0)])


def _player(names: list[str], **options: Any) -> dict[str, Any]:
    """The declaration of a player of recordings."""
    runs = [{"link": f"recording={name}", "recording": name} for name in names]
    panels = panels_of([None] * len(runs), names)
    return declaration(runs, panels, verb="Play", **options) | {"name": "file", "ticket": ""}


def _announcement(number: int, **facts: Any) -> str:
    """The message that says that the bytes of a recording will follow."""
    return json.dumps({"kind": "file", "run": number, "file": "", "start": 0, "sentence": "", **facts})


def player_html(
    title: str,
    parts: list[dict[str, Any]],
    messages: Iterable[str | bytes],
    below: str = "",
    *,
    still: str = "",
    engine: Mapping[str, Any] | None = None,
    above: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
    play: str = "file_js.play",
    style: str = "",
) -> str:
    """A self-contained HTML page with a player, which works offline.

    `parts` are the declarations of the player and its parts, from top to bottom. `messages` are those that a connection
    would send about the runs, in order. The caller escapes `below`, HTML after the player, and `still`, HTML that stays
    until the player runs. `engine`: what trains the runs in the browser; its `script` is that of a worker.
    `above`: HTML in place of the title as a heading. `more`: modules by name beside the player's. `play`: the function
    of a module that opens the page. `style`: more CSS.
    """
    module = f'{script(more)}{play}(document.querySelector("main"))'.replace("</script", "<\\/script")
    plotly = PLOTLY.read_bytes()
    scripts = " ".join(f"'sha256-{_base64(sha256(code).digest())}'" for code in (module.encode(), plotly))
    return PAGE.format(
        policy=POLICY.format(scripts=scripts, more=FOR_ENGINE if engine else ""),
        title=escape(title),
        style="".join((FOLDER / name).read_text(encoding="utf-8") for name in ("player.css", "file.css")) + style,
        above=above or f"<h1>{escape(title)}</h1>",
        script=module,
        plotly=_gzip_base64(plotly),
        engine=f'<script type="application/gzip">{_gzip_base64(_json(engine).encode())}</script>\n' if engine else "",
        player=(FOLDER / "player.html").read_text(encoding="utf-8"),
        still=still,
        below=below,
        parts=_json(parts),
        messages=_gzip_base64(_json(json_messages(messages)).encode()),
    )


def script(more: Mapping[str, str] = MappingProxyType({})) -> str:
    """The player's modules, and `more` by name, as one that exports every module under its name."""
    sources = sources_of(FOLDER) | dict(more)
    del sources["loader"], sources["widget"]  # which stand alone: one imports this script, one frames a page
    return joined(sources) + f"export {{ {', '.join(f'{name}_js as {name}' for name in sources)} }}\n"


def sources_of(folder: Path) -> dict[str, str]:
    """The modules of a folder by name."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.js"))}


def joined(sources: Mapping[str, str]) -> str:
    """Modules as one: each in a scope of its own, line by line as in its file, after those that it imports.

    graphlib.CycleError if modules import each other.
    """
    imports = {name: re.findall(r'^import .*"[./\w]*\b(\w+)\.js"', source, re.M) for name, source in sources.items()}
    return "".join(_scope(name, sources[name]) for name in TopologicalSorter(imports).static_order())


def _scope(name: str, source: str) -> str:
    """A module as a constant that holds its exports."""
    exports = re.findall(r"^export (?:const|class) (\w+)", source, re.M)
    local = re.sub(r"^export (?=const|class)", "", source, flags=re.M)
    local = re.sub(r'^import (.*) from "[./\w]*\b(\w+)\.js"', r"const \1 = \2_js", local, flags=re.M)
    return f"const {name}_js = (() => {{\n{local}return {{ {', '.join(exports)} }}\n}})()\n"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _gzip_base64(data: bytes) -> str:
    return _base64(gzip.compress(data, mtime=0))


def _json(value: Any) -> str:
    """JSON for a script element: no text in it can close the element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
