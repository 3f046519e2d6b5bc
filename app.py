"""The server: Streamlit's main script is `pages/navigation.py`; here stand its life cycle and its health.

`streamlit run app.py` finds `app`. Imports no torch: that is loaded in the trainer's own process.
"""

import runpy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit.runtime.scriptrunner import get_script_run_ctx

from models.service.client import close_trainer, trainer

MAIN = Path(__file__).parent / "pages" / "navigation.py"


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Starts the trainer with the server, so that torch loads while the first page is drawn, and ends it with it."""
    trainer()
    yield
    close_trainer()


async def health(_request: Request) -> JSONResponse:
    """200 while the trainer can be used or is on its way; 503 once it has given up."""
    status = trainer().status()
    return JSONResponse(
        {"trainer": status.state, "sentence": status.sentence, "training": status.queue},
        status_code=503 if status.state == "failed" else 200,
    )


app = st.App(MAIN, lifespan=lifespan, routes=[Route("/healthz", health)])

# A test that runs this file as a script (AppTest) is given the main script itself.
if get_script_run_ctx(suppress_warning=True):
    runpy.run_path(str(MAIN))
