"""`app.py` with a clock: `streamlit run tests/load/clocked.py` also answers /computed with the time of every row.

Its trainer is `python -m tests.load.clocked models.service.worker`, the worker with the time (`time.monotonic`, which
all processes of a machine share) in its messages.
"""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import app as whole
from components.player.route import routes
from models.service import client, wire, worker
from models.service.client import Trainer
from models.service.wire import Message

SCRIPT = Path(__file__)
COMMAND = (sys.executable, "-m", "tests.load.clocked", "models.service.worker")  # by that last word it is found

_computed: dict[str, list[tuple[float, float, int, int]]] = {}


def _clocked(start_delay: float) -> Trainer:
    """A trainer that notes every slice: when its first row was begun and its last one done, and their numbers."""
    trainer = Trainer(COMMAND, start_delay=start_delay)
    results = trainer._results
    file: Callable[[Message], None] = results.handle_message

    def noted(message: Message) -> None:
        if message["kind"] == "progress":
            slices, end = _computed.setdefault(message["key"], []), message["clock"]
            known = slices[-1][3] if slices else 0
            if message["length"] > known:
                slices.append((end - message["seconds"], end, known, message["length"]))
        file(message)

    results.handle_message = noted  # type: ignore[method-assign]
    return trainer


async def computed(_request: Request) -> JSONResponse:
    """By run, its slices: when begun, when over, the first row, and the one after the last."""
    return JSONResponse(_computed)


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """The app's own life cycle, with a trainer that notes the time."""
    client.Trainer = _clocked  # type: ignore[assignment,misc]
    async with whole.lifespan(app):
        yield


app = st.App(
    whole.MAIN,
    lifespan=lifespan,
    routes=[Route("/healthz", whole.health), Route("/computed", computed), *routes()],
    middleware=[whole.compressed],
)

if __name__ == "__main__":
    send = wire.send
    wire.send = lambda stream, message: send(stream, message | {"clock": time.monotonic()})
    worker.main()
