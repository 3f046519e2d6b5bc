"""What a page needs to train its runs in the browser: the engine's script and kernels, settings, digits, pictures."""

import gzip
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import addnorm
from addnorm.findings import ALIKE
from addnorm.player import joined, sources_of
from components.charts.tasks import decision_map, digit_mistakes
from models.insight import path_outcome as paths
from models.spec import TASKS
from models.spec.schema import schema

FOLDER = Path(addnorm.__file__).parent / "engine"
DIGITS = Path(__file__).parents[2] / "models" / "tasks" / "data" / "digits.csv.gz"
COMMENT = re.compile(r"^ *//.*\n|^ *\*.*\n|^ */\*\*.*\n", re.MULTILINE)  # a third of what a file carries
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
def engine() -> dict[str, Any]:
    """The worker's `script`, its `kernels` as base64, and what the worker is given with the links of the runs."""
    return {
        "script": COMMENT.sub("", joined(sources_of(FOLDER))) + "worker_js.serve(self)\n",
        "kernels": b64encode((FOLDER / "kernels.wasm").read_bytes()).decode(),
        "schema": schema(),
        "digits": gzip.decompress(DIGITS.read_bytes()).decode("ascii"),
        "pictures": {name: {"figures": figures_of(name), "paths": PATH_WORDS} for name in TASKS},
    }


def figures_of(task: str) -> list[dict[str, Any]]:
    """The figures of a task's pictures without their numbers: of an image by the number of mistakes."""
    if TASKS[task].kind == "image":
        return [_mistakes(count) for count in range(MAX_MISTAKES + 1)]
    if TASKS[task].kind != "points":
        return []
    classes = np.arange(TASKS[task].classes)
    plane = {"grid": np.zeros((1, 1), int), "confidence": np.zeros((1, 1)), "axis": np.zeros(1)}
    points = {"points": np.zeros((len(classes), 2)), "labels": classes, "extent": [0, 1]}
    return [decision_map(plane | points)]


def _mistakes(count: int) -> dict[str, Any]:
    return digit_mistakes({"mistakes": np.zeros((count, 1, 1)), "truth": [0] * count, "guess": [0] * count})
