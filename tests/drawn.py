"""What the browser makes of declared figures: its own scripts, run by Node, and plotly's schema as the judge."""

import json
import subprocess
from functools import cache
from pathlib import Path
from shutil import which
from threading import Timer
from typing import Any

import plotly.graph_objects as go
import pytest

from addnorm.player.colour import HUES
from components.charts.parts import Figure

NODE = which("node")
PLAYER = Path(__file__).parents[1] / "addnorm" / "player"
MODULES = (
    "bind",
    "label",
    "style",
    "playhead",
    "number",
    "names",
    "runlog",
    "lines",
    "describe",
    "stack",
    "sample_paths",
)
STILL = {"logs": [], "position": 0, "shown": 0, "furthest": 0, "playing": False}
OURS = ("names", "declared")  # of places and of a line that is left out: for the table and the legend, not for plotly


# One Node for all that a process of tests asks: to start one takes longer than most answers.
LISTENER = """import { createInterface } from "node:readline"
import { readFileSync } from "node:fs"
for await (const line of createInterface({ input: process.stdin })) {
    const { code, given } = JSON.parse(line)
    try {
        const known = { ...PLAYER, readFileSync, ...given }
        const asked = new Function(...Object.keys(known), `return (() => { ${code} })()`)
        console.log(JSON.stringify({ said: asked(...Object.values(known)) }))
    } catch (error) { console.log(JSON.stringify({ error: error.stack })) }
}"""


@cache
def _node() -> "subprocess.Popen[str]":
    imports = "".join(f'import * as {name} from "{(PLAYER / f"{name}.js").as_uri()}"\n' for name in MODULES)
    script = (
        f"{imports}Object.assign(style.hues, {json.dumps(HUES)})\nconst PLAYER = {{ {', '.join(MODULES)} }}\n{LISTENER}"
    )
    assert NODE is not None
    pipe = subprocess.PIPE
    return subprocess.Popen([NODE, "--input-type=module", "-e", script], stdin=pipe, stdout=pipe, text=True)


def run(code: str, **given: Any) -> Any:
    """What a piece of JavaScript returns, given some values; the player's modules are at hand by their names."""
    if NODE is None:
        pytest.skip("no node on this machine")
    node = _node()
    assert node.stdin is not None
    assert node.stdout is not None
    patience = Timer(60, node.kill)
    patience.start()
    node.stdin.write(json.dumps({"code": code, "given": given | {"STILL": STILL}}) + "\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    patience.cancel()
    assert "error" not in answer, answer["error"]
    return answer["said"]


def drawn(figure: Figure, *, dark: bool = False) -> Figure:
    """What is drawn of a figure that stands still, on a light page or a dark one, accepted by plotly."""
    return all_drawn([figure], dark=dark)[0]


def all_drawn(figures: list[Figure], *, dark: bool = False) -> list[Figure]:
    """As `drawn`, of several figures at once."""
    code = "return figures.map((figure) => bind.fillFigure(figure, { ...STILL, dark }, {}))"
    found: list[Figure] = run(code, figures=figures, dark=dark)
    for figure in found:
        traces = [{key: value for key, value in trace.items() if key not in OURS} for trace in figure["data"]]
        go.Figure({**figure, "data": traces})
    return found


def looks(figures: list[Figure]) -> list[list[dict[str, Any]]]:
    """The traces of figures in their looks, without the numbers of a log."""
    code = "return figures.map(({ data, layout }) => data.map((trace) => style.styledTrace(trace, layout.bind?.hue)))"
    found: list[list[dict[str, Any]]] = run(code, figures=figures)
    return found
