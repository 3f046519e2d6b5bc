"""The player on pages of its own, as a server: `streamlit run tests/player/demo.py`. Tests and benchmarks look at these."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))

from starlette.routing import Route

import app as whole
from components.player.route import routes
from models.service.client import close_trainer, trainer


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Starts the trainer with the server and ends it with it."""
    trainer()
    yield
    close_trainer()


PAGE = Path(__file__).with_name("demo_page.py")
app = st.App(
    PAGE, lifespan=lifespan, routes=[Route("/healthz", whole.health), *routes()], middleware=[whole.compressed]
)
