"""The server's entry point: life cycle, health check and middleware. Streamlit's main script is `pages/navigation.py`.

`streamlit run app.py` finds `app`. Nothing here imports torch: the trainer loads it in a process of its own.
"""

import os
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from components.classroom import route as classroom
from components.player.route import routes
from components.search import box
from components.server.door import Door
from components.server.sockets import raise_file_limit
from components.shell.assets import CompressedScripts, base_path, streamlit_scripts
from components.shell.player_files import ADDRESS, PLOTLY_ADDRESS, SCRIPTS
from components.shell.streamlits_own import hear_every_press, send_to_current_connections
from components.shell.style import HtmlInjector
from models import log
from models.lessons.board import board, classes_file
from models.lessons.homework import use_secret_of
from models.service.client import close_trainer, trainer
from models.spec.limits import environment_settings

MAIN = Path(__file__).parent / "pages" / "navigation.py"


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Starts the trainer, which loads torch after the first page is drawn or when it is needed; stops it at shutdown.

    Pandas and most components are imported before the server answers, so that the first visitor need not wait for them.
    """
    log.configure_logging()
    files = raise_file_limit()
    limits = " ".join(f"{name}={value}" for name, value in environment_settings(os.environ).items())
    log.event(
        "server_started",
        streamlit=st.__version__,
        python=platform.python_version(),
        limits=limits or "default",
        files=files,
    )
    send_to_current_connections()
    hear_every_press()
    file = classes_file(int(st.get_option("server.port")))
    board().persist_to(file)
    use_secret_of(file.parent)
    from components.playground import page  # noqa: F401
    from components.start import cells  # noqa: F401

    trainer()  # last: its delay is for the first page, which the server answers from now on
    yield
    close_trainer()
    board().save()
    log.event("server_stopped")


async def health(_request: Request) -> JSONResponse:
    """200 while the trainer is ready or starting; 503 once it has given up. A request starts the trainer at once."""
    trainer().begin()
    status = trainer().status()
    training, waiting = trainer().run_counts()
    return JSONResponse(
        {
            "trainer": status.state,
            "sentence": status.sentence,
            "training": training,
            "waiting": waiting,
            "damaged_logs": trainer().damaged_logs(),
        },
        status_code=503 if status.state == "failed" else 200,
    )


compressed = Middleware(CompressedScripts, files=streamlit_scripts() | SCRIPTS)
app = st.App(
    MAIN,
    lifespan=lifespan,
    routes=[
        *(Route(f"{base}/healthz", health) for base in {"", base_path()}),
        *routes(),
        *classroom.routes(),
        *box.routes(),
    ],
    middleware=[Middleware(Door), compressed, Middleware(HtmlInjector, script=ADDRESS, plotly=PLOTLY_ADDRESS)],
)
