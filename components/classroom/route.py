"""The ways into a class: `/join`, a short address that leads to what it is shown, and `/class`, over which pages hear.

A connection is a page's that has a ticket for it. It says one thing, and hears whenever its class is shown something
else. A projector and the Teacher page also hear how many are here and how many have answered; the Teacher page alone
hears what they have guessed.
"""

import asyncio
import json
import secrets
from collections import defaultdict
from html import escape
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from components.classroom.board import answered
from components.classroom.following import DESK, KEY, KEY_COOKIE, MEMBER_COOKIE, PART, PUPIL
from components.player.news import News
from components.server.address import address_of
from components.server.connection import REFUSED, Crowd, PageConnection, serve
from components.server.tickets import TICKETS
from components.shell import projector
from components.shell.assets import base_path
from models.lessons.board import GONE, Board, board, code_from, valid_key, valid_member
from models.lessons.stops import START, page_of, questions_of
from models.spec import bounds

TICK_SECONDS = 20.0  # between two looks without news
PAUSE_SECONDS = 0.2  # between two messages of a connection

CROWD = Crowd()  # of its own, with the bounds of the player's
_here: dict[str, set["ClassConnection"]] = defaultdict(set)
_news: dict[asyncio.AbstractEventLoop, tuple[Board, News]] = {}

FORM = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Join a class</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; font: 20px system-ui, sans-serif }}
body {{ display: grid; place-content: center; min-height: 80vh; margin: 1rem; gap: 1rem }}
form {{ display: flex; flex-wrap: wrap; gap: .5rem; align-items: end }}
input, button {{ font: inherit; height: 3rem; border-radius: .5rem; border: 1px solid; padding: 0 .8rem }}
input {{ width: 7rem; letter-spacing: .2em; text-transform: uppercase }}
label {{ display: grid; gap: .3rem }}
</style></head><body><form action="{action}"><label>Code of your class
<input name="c" required maxlength="8" autocomplete="off" autocapitalize="characters" autofocus value="{asked}"></label>
<button>Join</button></form><p role="alert">{problem}</p></body></html>"""


def routes() -> list[BaseRoute]:
    """The routes, below the server's base path."""
    base = base_path()
    return [Route(f"{base}/join", join), WebSocketRoute(f"{base}/class", channel)]


async def join(request: Request) -> Response:
    """Leads to what a class is shown, as its projector with the class's key; asks for a code where none is open."""
    asked = request.query_params.get("c", "")
    code, base = code_from(asked), base_path()
    if code and asked != code:  # a proxy that seats a class together knows one way of writing its code
        return RedirectResponse(f"{base}/join?c={code}", 303)
    refusal = board().admit(code, address_of(request.scope)) if code else GONE if asked else ""
    now = board().now(code) if code and not refusal else None
    if now is None:
        problem = f"{GONE} Look at the projector again." if refusal == GONE else refusal
        page = FORM.format(action=f"{base}/join", asked=escape(asked[:8], quote=True), problem=problem)
        return HTMLResponse(page, 404 if asked and not code else 200)
    page, query = page_of(now.stop)
    key = request.query_params.get("key", "")
    leads = valid_key(key) and board().look_after(code, key)
    query |= {KEY: code} | ({projector.KEY: projector.VALUE} if leads else {})
    answer = RedirectResponse(f"{base}/{'' if page == START else page}?{urlencode(query)}", 303)
    cookies = {KEY_COOKIE: f"{code}.{key}"} if leads else {}
    if not valid_member(request.cookies.get(MEMBER_COOKIE, "")):
        cookies[MEMBER_COOKIE] = secrets.token_hex(8)
    for name, value in cookies.items():
        secure = request.url.scheme == "https"
        answer.set_cookie(name, value, path=f"{base}/", secure=secure, httponly=True, samesite="lax")
    return answer


async def channel(websocket: WebSocket) -> None:
    """Serves a page's connection until it ends."""
    await serve(websocket, CROWD, ClassConnection)


def here(code: str) -> int:
    """How many students of a class are connected, each counted once however many tabs they have."""
    return len({one.session for one in _here.get(code, ()) if one.who == PUPIL})


class ClassConnection(PageConnection):
    """The connection of a page of a class."""

    def __init__(self, websocket: WebSocket) -> None:
        super().__init__(websocket)
        self.session, self.who, self.code = "", "", ""
        self.news = _news_of(asyncio.get_running_loop(), board())

    async def run(self) -> None:
        """Runs until the browser leaves, says anything but its hello, or its place is needed."""
        if not await self._greeted():
            await self.websocket.close(REFUSED, "no ticket for this class")
            return
        CROWD.limit_ticket(self)
        _here[self.code].add(self)
        if self.who == PUPIL:
            board().joined(self.code)
        self.news.follow(self.wake, [self.code])
        self.news.announce(self.code)
        try:
            await self.run_until_first_ends(self._tell(), self._silence())
        finally:
            self.news.follow(self.wake, ())
            _here[self.code].discard(self)
            if not _here[self.code]:
                del _here[self.code]
                board().left(self.code)
            self.news.announce(self.code)

    async def _greeted(self) -> bool:
        """Whether it has said its class and a ticket that holds."""
        try:
            async with asyncio.timeout(bounds.HELLO_SECONDS):
                text = await self.websocket.receive_text()
            said = json.loads(text) if len(text) <= bounds.MAX_CLASS_CHARS else {}
            self.code, self.ticket = code_from(str(said["class"])), str(said["ticket"])
        except (TimeoutError, WebSocketDisconnect, ValueError, KeyError, TypeError, RecursionError):
            return False
        owner = TICKETS.owner(self.ticket)
        if owner is None or owner.screen != PART or owner.runs != {self.code}:
            self.ticket = ""
            return False
        self.session, self.who = owner.session, owner.part
        return True

    async def _silence(self) -> None:
        """Ends when the browser leaves or says anything more."""
        await self.websocket.receive()

    async def _tell(self) -> None:
        last: dict[str, Any] = {}
        while True:
            self.wake.clear()
            now = board().now(self.code)
            if self.who == DESK:
                board().seen(self.code)
            told: dict[str, Any] = {"version": now.version if now else 0}
            if self.who != PUPIL:
                told |= {"here": here(self.code), "said": answered(here(self.code), now.answered if now else ())}
            if self.who == DESK and now is not None:
                told["guesses"] = {
                    question: list((board().counts(self.code, question) or {}).values())
                    for question in questions_of(now.stop)
                }
            if told != last:
                last = told
                await self.send(told)
            await asyncio.sleep(PAUSE_SECONDS)
            await self.wait_for_news(TICK_SECONDS)


def _news_of(loop: asyncio.AbstractEventLoop, of: Board) -> News:
    """What wakes the connections of a loop when a class of a board changes."""
    known = _news.get(loop)
    if known is None or known[0] is not of:
        known = _news[loop] = of, News(loop)
        of.listen(known[1].announce)
    return known[1]
