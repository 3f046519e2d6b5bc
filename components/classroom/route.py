"""A class's routes: `/join`, a short address that opens what it is shown, and `/class`, the connection of its pages.

A page opens the connection with a ticket for its class, and hears whenever the class is shown something else.
Projector and Teacher page also hear how many are present and have answered; the Teacher page alone hears the guesses.
"""

import asyncio
import json
import secrets
from collections import defaultdict
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from components.classroom.board import attendance
from components.classroom.following import CLASS_SCREEN, KEY, MEMBER_COOKIE, STUDENT, TEACHER, key_cookie
from components.classroom.homework import KEY as HOMEWORK_KEY
from components.player.news import News
from components.server.connection import REFUSED, PageConnection
from components.server.tickets import TICKETS
from components.shell import projector
from components.shell.assets import base_path
from models.lessons.board import NO_SUCH_CLASS, Board, board, code_from, is_valid_key, is_valid_member
from models.lessons.homework import homework_from
from models.lessons.stops import START, page_of
from models.spec import bounds

TICK_SECONDS = 20.0  # the longest wait between two checks of the class
PAUSE_SECONDS = 0.2  # the shortest time between two messages of a connection

_connections: dict[str, set["ClassConnection"]] = defaultdict(set)  # by class
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
<input name="c" required maxlength="8" autocomplete="off" autocapitalize="characters" autofocus value="{typed}"></label>
<button>Join</button></form><p role="alert">{problem}</p></body></html>"""


def routes() -> list[BaseRoute]:
    base = base_path()
    return [Route(f"{base}/join", join), Route(f"{base}/homework", homework), WebSocketRoute(f"{base}/class", channel)]


async def join(request: Request) -> Response:
    """Opens what a class is shown, with the class's key as its projector; without an open class, asks for a code."""
    typed = request.query_params.get("c", "")
    code, base = code_from(typed), base_path()
    if code and typed != code:  # a proxy that routes a class to one replica knows only one spelling of its code
        return RedirectResponse(f"{base}/join?c={code}", 303)
    member = request.cookies.get(MEMBER_COOKIE, "")
    cookies = {} if is_valid_member(member) else {MEMBER_COOKIE: secrets.token_hex(8)}
    refusal = board().admit(code, "" if cookies else member) if code else ""
    if typed and not code:
        refusal = NO_SUCH_CLASS
    state = board().state_of(code) if code and not refusal else None
    if state is None:
        form = _code_form(typed, refusal, 404 if typed and not code else 200)
        return _with_cookies(request, form, cookies if code else {})
    page, query = page_of(state.stop)
    key = request.query_params.get("key", "")
    is_teacher = is_valid_key(key) and board().keep_alive(code, key)
    query |= {KEY: code} | ({projector.KEY: projector.VALUE} if is_teacher else {})
    cookies |= {key_cookie(code): key} if is_teacher else {}
    to = f"{base}/{'' if page == START else page}?{urlencode(query)}"
    stop = RedirectResponse(f"{to}#{code}.{key}" if is_teacher else to, 303)  # the key, where cookies are blocked
    return _with_cookies(request, stop, cookies)


async def homework(request: Request) -> Response:
    """Opens the page of a homework link, which a cookie keeps; with the teacher's code the cookie goes."""
    base, token = base_path(), request.query_params.get("t", "")
    assigned = homework_from(token)
    if assigned is None:
        return PlainTextResponse("This link was not made by this server, or is incomplete.", 404)
    page, query = page_of(assigned.stop)
    to = f"{base}/{'' if page == START else page}"
    if assigned.opens(request.query_params.get("code", "")):
        response = RedirectResponse(f"{to}?{urlencode(query)}", 303)
        response.delete_cookie(HOMEWORK_KEY, path=f"{base}/")
        return response
    member = request.cookies.get(MEMBER_COOKIE, "")
    cookies = {HOMEWORK_KEY: token} | ({} if is_valid_member(member) else {MEMBER_COOKIE: secrets.token_hex(8)})
    return _with_cookies(request, RedirectResponse(f"{to}?{urlencode(query | {HOMEWORK_KEY: token})}", 303), cookies)


def _with_cookies(request: Request, response: Response, cookies: dict[str, str]) -> Response:
    for name, value in cookies.items():
        secure = request.url.scheme == "https"
        response.set_cookie(name, value, path=f"{base_path()}/", secure=secure, httponly=True, samesite="lax")
    return response


def _code_form(typed: str, refusal: str, status: int) -> HTMLResponse:
    """The form that asks for a code, with the code typed before and why it was refused."""
    problem = f"{NO_SUCH_CLASS} Look at the projector again." if refusal == NO_SUCH_CLASS else refusal
    form = FORM.format(action=f"{base_path()}/join", typed=escape(typed[:8], quote=True), problem=problem)
    return HTMLResponse(form, status)


def hello_of(text: str) -> tuple[str, str]:
    """The class and the ticket of a connection's first message; ValueError unless it has both."""
    try:
        hello = json.loads(text) if len(text) <= bounds.MAX_CLASS_CHARS else {}
        return code_from(str(hello["class"])), str(hello["ticket"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("no hello") from error


async def channel(websocket: WebSocket) -> None:
    await websocket.accept()
    await ClassConnection(websocket).run()


class ClassConnection(PageConnection):
    """The connection of a page of a class."""

    def __init__(self, websocket: WebSocket) -> None:
        super().__init__(websocket)
        self.session = ""
        self.member = ""  # of a student
        self.listener = ""  # STUDENT, PROJECTOR or TEACHER
        self.code = ""
        self.news = _news_of(asyncio.get_running_loop(), board())

    async def run(self) -> None:
        """Runs until the browser leaves or sends anything after its hello."""
        if not await self._receive_hello():
            with suppress(WebSocketDisconnect):  # it may have left before its hello
                await self.websocket.close(REFUSED, "no ticket for this class")
            return
        _connections[self.code].add(self)
        is_student = self.listener == STUDENT
        board().joined(self.code, self.session, is_student=is_student, member=self.member)
        self.news.follow(self.wake, [self.code])
        self.news.announce(self.code)
        try:
            await self.run_until_first_ends(self._send_changes(), self._wait_for_end())
        finally:
            self.news.follow(self.wake, ())
            _connections[self.code].discard(self)
            if not _connections[self.code]:
                del _connections[self.code]
            board().left(self.code, self.session)
            self.news.announce(self.code)

    async def _receive_hello(self) -> bool:
        """Receives class and ticket. Returns whether the ticket is valid for the class."""
        try:
            self.code, self.ticket = hello_of(await self.websocket.receive_text())
        except (WebSocketDisconnect, ValueError, KeyError):  # KeyError: of bytes
            return False
        owner = TICKETS.owner(self.ticket)
        if owner is None or owner.screen != CLASS_SCREEN or owner.runs != {self.code}:
            self.ticket = ""
            return False
        self.session, (self.listener, _, self.member) = owner.session, owner.part.partition(" ")
        return True

    async def _wait_for_end(self) -> None:
        """Ends when the browser leaves or sends anything more."""
        await self.websocket.receive()

    async def _send_changes(self) -> None:
        last_message: dict[str, Any] = {}
        while True:
            self.wake.clear()
            message = self._message()
            if self.listener == TEACHER:
                board().seen(self.code)
            if message != last_message:
                last_message = message
                await self.send(message)
            await asyncio.sleep(PAUSE_SECONDS)
            await self.wait_for_news(TICK_SECONDS)

    def _message(self) -> dict[str, Any]:
        """The state of the class, as much of it as this listener may see."""
        state = board().state_of(self.code)
        message: dict[str, Any] = {"version": state.version if state else 0}
        if self.listener != STUDENT:
            here, text = (state.here, attendance(state)) if state else (0, "")
            message |= {"here": here, "attendance": text}
        if self.listener == TEACHER and state is not None:
            message["guesses"] = [
                [*(board().counts(self.code, question) or {}).items()] for question in state.open_questions
            ]
        return message


def _news_of(loop: asyncio.AbstractEventLoop, class_board: Board) -> News:
    """The news of a loop, which wakes its connections when a class of the board changes."""
    followed_board, news = _news.get(loop, (None, None))
    if news is None or followed_board is not class_board:
        news = News(loop)
        _news[loop] = class_board, news
        class_board.add_listener(news.announce)
    return news
