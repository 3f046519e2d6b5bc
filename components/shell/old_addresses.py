"""Addresses of before, which lead on to those of now."""

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Route

from components.shell.assets import base_path

PAGES = {"errors": "claims"}
KEYS = {"error": "claim"}  # of an address's query


def routes() -> list[BaseRoute]:
    """A route for each page of before, below the server's base path."""
    return [Route(f"{base_path()}/{old}", partial(_lead_on, page=page)) for old, page in PAGES.items()]


async def _lead_on(request: Request, page: str) -> RedirectResponse:
    query = urlencode([(KEYS.get(name, name), text) for name, text in request.query_params.multi_items()])
    return RedirectResponse(f"{page}?{query}" if query else page)
