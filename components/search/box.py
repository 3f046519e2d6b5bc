"""The box that asks the index: a button in the header of every page, and the key `/`. A result opens in this page.

The browser asks the route `/search`, not the page's script, so that no letter typed runs a page again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from urllib.parse import parse_qsl

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from components.search import index
from components.shell import address, session
from components.shell.assets import base_path
from components.shell.component import component
from components.shell.link import PAGES
from components.shell.session import Key
from models.lessons.glossary import PAGES as PAGE_NAMES
from models.spec.bounds import MAX_LINK_CHARS
from models.spec.query import MAX_LINK_KEYS

NAME = "search"
# A longer text would make an address that no server takes.
HTML = f"""<button type="button" class="search-open" aria-haspopup="dialog">
  <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10" cy="10" r="6"/><path d="m15 15 6 6"/></svg>
</button>
<dialog class="search-box">
  <div>
    <input type="search" maxlength="{index.MAX_CHARS + 1}" autocomplete="off" spellcheck="false">
    <button type="button">×</button>
  </div>
  <p role="status"></p>
  <ol></ol>
</dialog>"""
# The name of button and field, what the field shows while it is empty, and the names of a remedy's link and of ×.
WORDS = ("Search", "A word, a question, what goes wrong", "Beside its remedy", "Close")
GO = Key("search_go", "")  # the address that was pressed, relative to the app's

_component = component(__file__, HTML)


def routes() -> list[BaseRoute]:
    return [Route(f"{base_path()}/search", serve)]


async def serve(request: Request) -> JSONResponse:
    """What is found for `q`; in a thread, because the first search builds the index."""
    results = await asyncio.to_thread(index.answer, request.query_params.get(address.SEARCH_KEY, ""))
    shown = [{**asdict(entry), "other_words": "", "words": ""} for entry in results.entries]
    return JSONResponse({"sentence": results.sentence, "entries": shown})


def follow() -> None:
    """Once per script run, before the page: opens the result that the visitor has pressed."""
    page, _, query = GO.pop().partition("?")
    if page in PAGE_NAMES - {"navigation"}:
        fields = dict(parse_qsl(query, keep_blank_values=True)[:MAX_LINK_KEYS])
        st.switch_page(PAGES / f"{page}.py", query_params=address.with_last("" if page == "start" else page, fields))


def draw(pages: Sequence[index.PageWords]) -> None:
    """Draws the button, and the box as long as it is open. `pages`: of the navigation."""
    index.pages[:] = pages

    def receive() -> None:
        GO.put(str(getattr(session.widget_value(NAME), "go", "") or "")[:MAX_LINK_CHARS])

    _component(key=NAME, data={"words": WORDS}, on_go_change=receive)
