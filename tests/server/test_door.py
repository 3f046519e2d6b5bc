"""Whom the server lets in: hosts, origins, crowds; and the headers of what it answers."""

import asyncio
from typing import Any

import pytest
import streamlit as st

from components.server import door
from components.server.connection import REFUSED
from components.server.door import Door, is_host_allowed
from components.server.headers import policy
from models.spec import bounds
from models.spec.limits import LIMITS, frame_ancestors

HERE, ELSEWHERE = ("127.0.0.1", 4321), ("203.0.113.7", 4321)


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Streamlit's options, as an operator sets them."""
    said: dict[str, Any] = {}
    monkeypatch.setattr(st, "get_option", lambda name, get=st.get_option: said.get(name, get(name)))
    return said


def scope(kind: str = "http", path: str = "/", *, client=HERE, server=("127.0.0.1", 8501), **headers: str) -> Any:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": kind, "scheme": "http" if kind == "http" else "ws", "path": path, "method": "GET"} | {
        "client": client, "server": server, "headers": named
    }  # fmt: skip


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """An app behind the door, which says what origin it heard of."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})
    else:
        heard = dict(scope["headers"]).get(b"origin", b"none").decode()
        await send({"type": "websocket.accept", "subprotocol": heard})
        await receive()


def answered(asked: Any, one: Door | None = None) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    asyncio.run((one or Door(inner))(asked, receive, send))
    return said


FROM_HERE = {
    "localhost:8501": True,
    "LOCALHOST:8501": True,
    "127.0.0.1:8501": True,
    "127.1.2.3": True,
    "[::1]:8501": True,
    "192.168.1.5:8501": True,
    "evil.example:8501": False,
    "evil.example": False,
    "localhost.evil.example": False,
    "127.0.0.1.evil.example": False,
    "evil.example:8501@localhost": False,
    "": False,
}


@pytest.mark.parametrize(("host", "known"), FROM_HERE.items())
def test_whoever_comes_from_this_machine_names_this_machine(host: str, known: bool) -> None:
    assert is_host_allowed(scope(host=host)) is known
    assert is_host_allowed(scope(host=host, x_forwarded_for="203.0.113.7")) is known
    lan = "192.168.1.5", 4321
    assert is_host_allowed(scope(host=host, client=lan, server=("192.168.1.5", 8501))) is known
    assert is_host_allowed(scope(host=host, client=("::ffff:127.0.0.1", 1), server=("::ffff:127.0.0.1", 8501))) is known


def test_whoever_comes_from_elsewhere_or_by_a_declared_proxy_may_name_the_server_as_it_likes(monkeypatch) -> None:
    assert is_host_allowed(scope(host="example.org", client=ELSEWHERE, server=("192.168.1.5", 8501)))
    monkeypatch.setattr(door, "LIMITS", LIMITS.__class__(**{**vars(LIMITS), "proxies": 1}))
    assert is_host_allowed(scope(host="example.org"))


def test_the_operators_hosts_are_the_only_ones(options) -> None:
    options["server.allowedHosts"] = ["example.org", "*.example.com"]
    hosts = {
        "example.org": True,
        "EXAMPLE.org:80": True,
        "a.example.com": True,
        "example.com": False,
        "localhost": False,
    }
    assert {host: is_host_allowed(scope(host=host, client=ELSEWHERE)) for host in hosts} == hosts


def test_a_foreign_host_is_told_why_and_a_foreign_websocket_is_not_opened() -> None:
    start, body = answered(scope(host="evil.example"))
    assert (start["status"], body["body"]) == (421, door.UNKNOWN_HOST.encode())
    assert answered(scope("websocket", host="evil.example", origin="http://evil.example")) == [
        {"type": "websocket.close", "code": REFUSED}
    ]


@pytest.mark.parametrize("path", ["/log", "/_stcore/stream"])
def test_a_websocket_of_a_page_of_another_origin_is_not_opened(path, options) -> None:
    options["server.corsAllowedOrigins"] = ["https://course.example"]
    host = "localhost:8501"
    heard = {
        "http://localhost:8501": "http://localhost:8501",
        "https://localhost:8501": "https://localhost:8501",
        "https://course.example": "http://localhost:8501",  # or Streamlit would ask the internet for its own address
        "http://course.example": None,
        "https://evil.example": None,
        "http://localhost:3000": None,
        "null": None,
    }
    for origin, expected in heard.items():
        (first, *_) = answered(scope("websocket", path, host=host, origin=origin))
        assert first.get("subprotocol") == expected, origin
    assert answered(scope("websocket", path, host=host))[0]["subprotocol"] == "none"


def test_an_operator_who_lets_all_origins_in_is_obeyed(options) -> None:
    options["server.enableCORS"] = False
    (first,) = answered(scope("websocket", "/log", host="localhost", origin="https://evil.example"))
    assert first["subprotocol"] == "http://localhost"


def test_websockets_are_counted_by_address_and_leave_their_place(monkeypatch) -> None:
    monkeypatch.setattr(bounds, "MAX_WEBSOCKETS_PER_ADDRESS", 2)
    one, closing = Door(inner), {"type": "websocket.close", "code": REFUSED}
    one._websockets["127.0.0.1"] = 2
    asked = scope("websocket", host="localhost")
    assert answered(asked, one) == [closing]
    other = scope("websocket", host="localhost", client=ELSEWHERE, server=("192.168.1.5", 8501))
    assert answered(other, one)[0]["type"] == "websocket.accept"
    assert dict(one._websockets) == {"127.0.0.1": 2}
    monkeypatch.setattr(bounds, "MAX_WEBSOCKETS", 2)
    assert answered(other, one) == [closing]


def test_every_answer_has_its_headers_and_how_many_visitors_there_are_is_not_told() -> None:
    (start, _) = answered(scope(host="localhost"))
    headers = dict(start["headers"])
    policy_said = headers.pop(b"content-security-policy").decode()
    assert headers == {b"x-content-type-options": b"nosniff", b"referrer-policy": b"same-origin"}
    assert policy_said == policy()
    for path in ("/_stcore/metrics", "/_stcore/metrics/"):
        assert answered(scope(path=path, host="localhost"))[0]["status"] == 404


def test_who_may_frame_is_the_operators_to_widen() -> None:
    assert policy().endswith("frame-ancestors 'self'")
    assert frame_ancestors({}) == "'self'"
    said = "https://moodle.example.org https://*.example.edu:8443"
    assert frame_ancestors({"PLAYGROUND_FRAMES": f" {said} "}) == f"'self' {said}"
    for wrong in (
        "moodle.example.org",
        "https://a.example;script-src",
        "'none'",
        "javascript:",
        "https://a.example/path",
    ):
        with pytest.raises(ValueError, match="PLAYGROUND_FRAMES has"):
            frame_ancestors({"PLAYGROUND_FRAMES": wrong})


def test_a_pages_policy_names_the_scripts_in_it_and_no_others() -> None:
    said = policy(b"<script>window.x = 1\n</script><script src='a.js'></script><script>2</script>")
    assert said.count("'sha256-") == 2
    assert "'unsafe-inline'" not in said.partition("style-src")[0]
    assert "'unsafe-eval'" not in said
