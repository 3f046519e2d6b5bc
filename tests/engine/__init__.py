"""Runs of the engine in JavaScript, by Node, as the app's own logs have them."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest

from components.player.engine import engine
from models.runlog import LogHead, RunLog, engine_fingerprint
from models.spec import TASKS, RunConfig, plan
from models.spec.schema import schema
from models.trace import Columns, Trace
from tests.drawn import NODE

ENGINE = Path(__file__).parents[2] / "addnorm" / "engine"
PATIENCE = 120  # seconds for an answer
# Answers one request a line. Numbers that JSON lacks travel as text.
LISTENER = """
import { createInterface } from "node:readline"
import { readFileSync } from "node:fs"
import * as config from "ENGINE/config.js"
import { Run } from "ENGINE/run.js"
import { frameMessage, headerOf, stateOf } from "ENGINE/feed.js"
import { numbers, useKernels } from "ENGINE/products.js"
const kernels = readFileSync(new URL("ENGINE/kernels.wasm"))
const runOf = (link, choice = "plain") => {
  useKernels(choice === "plain" ? null : kernels)
  if (choice === "full") numbers(2 ** 27 - 2 ** 16) // leaves 127 kB of the kernels' memory
  return new Run(link, schema, data)
}
let schema, data
const said = (_, value) => {
  if (ArrayBuffer.isView(value)) return [...value].map((entry) => said("", entry))
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value
}
const number = (_, value) => (["NaN", "Infinity", "-Infinity"].includes(value) ? Number(value) : value)
const answers = {
  open: (given) => ({ schema, data } = given, null),
  settings: ({ link, known = schema }) => config.configOf(link, known),
  batch: ({ link, k }) => { const run = runOf(link); return { ...run.batch(k), held: run.task.heldOut } },
  frame: ({ frame, pictures }) => frameMessage(JSON.parse(JSON.stringify(frame), number), pictures),
  ends: ({ link }) => {
    const run = runOf(link)
    const header = headerOf(run)
    while (!run.done) run.advance()
    return { header, state: stateOf(run, "cpu", 0) }
  },
  train: ({ link, products: choice }) => {
    const run = runOf(link, choice)
    const opening = run.open()
    const told = []
    while (!run.done) told.push(run.advance())
    const { parameters, columns } = run
    return { opening, told, parameters, columns }
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const { what, ...given } = JSON.parse(line)
  let answer
  try { answer = { said: answers[what](given) } }
  catch (error) { answer = error instanceof config.Refusal ? { refused: [error.field, error.message] } : { error: error.stack } }
  console.log(JSON.stringify(answer, said))
}
"""


@cache
def _node() -> "subprocess.Popen[str]":
    assert NODE is not None
    script = LISTENER.replace("ENGINE", ENGINE.as_uri())
    pipe = subprocess.PIPE
    node = subprocess.Popen([NODE, "--input-type=module", "-e", script], stdin=pipe, stdout=pipe, text=True)
    _ask(node, "open", schema=schema(), data=engine(*TASKS)["data"])
    return node


def _ask(node: "subprocess.Popen[str]", what: str, **given: Any) -> Any:
    assert node.stdin is not None
    assert node.stdout is not None
    patience = Timer(PATIENCE, node.kill)
    patience.start()
    node.stdin.write(json.dumps({"what": what, **given}) + "\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    patience.cancel()
    assert "error" not in answer, answer["error"]
    return answer


def answered(what: str, **given: Any) -> dict[str, Any]:
    """What the engine said, or the setting that it refused and its sentence."""
    if NODE is None:
        pytest.skip("no node on this machine")
    answer: dict[str, Any] = _ask(_node(), what, **given)
    return answer


def ask(what: str, **given: Any) -> Any:
    return answered(what, **given)["said"]


def _arrays(value: Any) -> Any:
    """Lists of numbers as arrays, texts of numbers as numbers."""
    if isinstance(value, dict):
        return {key: _arrays(entry) for key, entry in value.items()}
    if isinstance(value, list):
        is_text = any(isinstance(entry, str) and entry not in ("NaN", "Infinity", "-Infinity") for entry in value)
        if is_text or any(isinstance(entry, dict) for entry in value):
            return value
        return np.array(value, dtype=float)
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


@dataclass(frozen=True)
class BrowserRun:
    """A finished run of the engine: its rows, and the trace that the app reads from its rows and events."""

    rows: np.ndarray
    trace: Trace
    opening: np.ndarray


def train(cfg: RunConfig, into: Path, products: str = "compiled") -> BrowserRun:
    """The engine's run of a configuration, written to a log in a folder and read from there."""
    told = ask("train", link=cfg.to_query(), products=products)
    columns = Columns(tuple(told["columns"]["sites"]), tuple(told["columns"]["branches"]), told["columns"]["depth"])
    assert columns == Columns(plan(cfg).sites, plan(cfg).branches, cfg.depth)
    log = RunLog(into)
    log.begin(LogHead(cfg.to_query(), 1, columns, told["parameters"], "cpu", engine_fingerprint()))
    for one in told["told"]:
        log.append(np.array([one["row"]], dtype="f4"), [event_of(event) for event in one["events"]])
    read = RunLog(into)
    trace = read.trace()
    assert trace is not None
    assert read.done
    return BrowserRun(read.rows(), trace, np.array(told["opening"]["row"], dtype="f4"))


def event_of(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the app's process writes it, with arrays."""
    return (
        {"frame": _arrays(event["frame"]), **{key: value for key, value in event.items() if key != "frame"}}
        if "frame" in event
        else event
    )
