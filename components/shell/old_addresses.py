"""Redirects from old addresses to current ones."""

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Route

from components.shell.assets import base_path

PAGES = {"errors": "claims"}
KEYS = {"error": "claim"}  # in an address's query


def routes() -> list[BaseRoute]:
    """A route for each old page, below the server's base path."""
    return [Route(f"{base_path()}/{old}", partial(_redirect, page=page)) for old, page in PAGES.items()]


async def _redirect(request: Request, page: str) -> RedirectResponse:
    query = urlencode([(KEYS.get(name, name), text) for name, text in request.query_params.multi_items()])
    return RedirectResponse(f"{page}?{query}" if query else page)
