"""What a page needs to train its runs in the browser: the engine's script and kernels, settings, data, pictures."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

import addnorm
from addnorm.findings import ALIKE
from addnorm.player import joined, sources_of
from components.charts.tasks import decision_map, digit_mistakes, sequence_table
from components.shell.assets import CACHE_FOREVER
from components.shell.player_files import version_of
from models.content import Texts
from models.insight import path_outcome as paths
from models.spec import TASKS, RunConfig
from models.spec.schema import browser_refusal, schema
from models.spec.tasks import MAX_TOKENS

TEXTS = Texts("in_browser")
MEANING = "glossary?word=trained+in+this+browser"  # address of what it means that a run was
FOLDER = Path(addnorm.__file__).parent / "engine"
DATA = Path(__file__).parents[2] / "models" / "tasks" / "data"
UNREAD = re.compile(r"^ *(?://|/?\*).*\n| // .*$|^ +", re.MULTILINE)  # comments and indentation: a third of a script
MAX_MISTAKES = 8
PATH_WORDS = {
    "least": paths.MIN_VISIBLE_GROWTH,
    "most": paths.MAX_VISIBLE_GROWTH,
    "distinct": paths.DISTINCT_COSINE,
    "alike": ALIKE,
    "vanish": paths.VANISH,
    "fly": paths.FLY,
    "merge": paths.MERGE,
    "similar": paths.SIMILAR,
    "apart": paths.APART,
    "directions": paths.DIRECTIONS,
}


@cache
def engine(*tasks: str) -> dict[str, Any]:
    """The worker's `script`, its `kernels` as base64, and what the worker is given with links of `tasks`."""
    return {
        "script": UNREAD.sub("", joined(sources_of(FOLDER))) + "worker_js.serve(self)\n",
        "kernels": b64encode((FOLDER / "kernels.wasm").read_bytes()).decode(),
        "schema": schema(),
        "data": {name: text for name in tasks if (text := text_of(name))},
        "pictures": {name: {"figures": figures_of(name), "paths": PATH_WORDS} for name in tasks},
    }


def offer(runs: Sequence[RunConfig], *, seeds: int = 1, always: bool) -> dict[str, Any]:
    """The `here` of a player's declaration: how a browser trains its runs, or why it does not. See `Playing`."""
    refusal = TEXTS("several seeds") if seeds > 1 else next(filter(None, map(browser_refusal, runs)), "")
    more = "?book" if any(run.task == "book" for run in runs) else ""
    return {
        "engine": f"player/{_version()}/engine.json{more}",
        "meaning": MEANING,
        "refusal": refusal,
        "always": always,
    }


def always(meaning: str) -> dict[str, Any]:
    """The `here` of a page that has the engine in itself. `meaning`: address of what it means."""
    return {"engine": "", "meaning": meaning, "refusal": "", "always": True}


async def serve_engine(request: Request) -> Response:
    """Serves what an offer promises, to whoever reads gzip, as every browser does. An old page gets it uncached."""
    is_newest = request.path_params["version"] == _version()
    headers = {"cache-control": CACHE_FOREVER if is_newest else "no-cache", "content-encoding": "gzip"}
    return Response(_body("book" in request.query_params), media_type="application/json", headers=headers)


@cache
def _version() -> str:
    return version_of(_body(True))


@cache
def _body(has_book: bool) -> bytes:
    tasks = (task for task in TASKS if has_book or task != "book")
    return gzip.compress(json.dumps(engine(*tasks), allow_nan=False, separators=(",", ":")).encode(), mtime=0)


def text_of(task: str) -> str:
    """The text from which a task's data are drawn; empty for data that are made on the spot."""
    if task == "digits":
        return gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii")
    return (DATA / "moby_dick.txt").read_text(encoding="ascii") if task == "book" else ""


def figures_of(task: str) -> list[dict[str, Any]]:
    """The figures of a task's pictures without their numbers: of an image by the number of mistakes."""
    if TASKS[task].kind == "image":
        return [_mistakes(count) for count in range(MAX_MISTAKES + 1)]
    if TASKS[task].kind == "sequence":
        return [sequence_table(dict.fromkeys(("input", "target", "guess"), np.zeros((4, MAX_TOKENS), int)))]
    if TASKS[task].kind != "points":
        return []
    classes = np.arange(TASKS[task].classes)
    plane = {"grid": np.zeros((1, 1), int), "confidence": np.zeros((1, 1)), "axis": np.zeros(1)}
    points = {"points": np.zeros((len(classes), 2)), "labels": classes, "extent": [0, 1]}
    return [decision_map(plane | points)]


def _mistakes(count: int) -> dict[str, Any]:
    return digit_mistakes({"mistakes": np.zeros((count, 1, 1)), "truth": [0] * count, "guess": [0] * count})
