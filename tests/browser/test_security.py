"""The server as somebody meets it who means harm: other people's
sessions, paths, bodies, sockets, and words that are markup.
"""

import asyncio
import http.client
import json
import re
import uuid
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.page import SMALL
from tests.load.server import Server, family
from tests.load.viewer import Viewer


@dataclass
class Watched(Viewer):
    """A viewer that remembers everything it was sent."""

    heard: list[bytes] = field(default_factory=list)

    def _on_new_session(self, message: ForwardMsg) -> None:
        super()._on_new_session(message)
        self.heard.append(message.SerializeToString())

    def _on_delta(self, message: ForwardMsg) -> None:
        super()._on_delta(message)
        self.heard.append(message.SerializeToString())


def run(story: Coroutine[Any, Any, None]) -> None:
    """Plays a story in a thread of its own: the browser's driver has the loop of this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, story).result()


def stream(server: Server) -> str:
    """The address of the server's websocket."""
    return server.url.replace("http", "ws", 1) + "/_stcore/stream"


def watched(server: Server, seed: int) -> Watched:
    return Watched(server.url, "playground", f"{SMALL}&seed={seed}")


async def to_step(viewer: Viewer, step: int) -> None:
    """Has a run trained to a step, and its page told."""
    await viewer.ready()
    viewer.seek(step)
    await viewer.until(lambda: viewer.step == step, f"step {step}")
    await viewer.rested()


@pytest.mark.first
def test_two_sessions_on_one_log_cannot_read_or_steer_each_other(server):
    async def meet() -> None:
        async with watched(server, 81) as anna, watched(server, 81) as ben:
            await to_step(anna, 3)
            await to_step(ben, 0)
            # The names of widgets are the same for everybody: what Ben sends with them moves his own page.
            assert anna.component().element.bidi_component.id == ben.component().element.bidi_component.id
            for step in (1, 2, 0):
                await to_step(ben, step)
            await anna.forge()
            await anna.settled()
            assert (anna.step, anna.player.told) == (3, (3, False))
            assert not anna.exceptions + ben.exceptions
            for hers, his in ((anna.session, ben.session), (anna.player.data["ticket"], ben.player.data["ticket"])):
                assert hers != his
                assert not any(hers.encode() in message for message in ben.heard)

    run(meet())


def test_the_name_of_a_session_is_random_and_an_invented_one_opens_nobodys(server):
    """Streamlit hands a session to whoever names it, so that a tab may come back: the name is the key."""

    async def meet() -> None:
        async with watched(server, 82) as anna:
            await to_step(anna, 1)
            assert uuid.UUID(anna.session).version == 4
            near = anna.session[:-1] + ("0" if anna.session[-1] != "0" else "1")
            thief = watched(server, 82)
            thief.session = near
            async with thief:
                await to_step(thief, 0)
                assert thief.session not in ("", near, anna.session)
                assert (anna.step, anna.player.connections) == (1, 1)
                await to_step(anna, 2)

    run(meet())


def asked(server: Server, method: str, path: str, **more: Any) -> tuple[int, bytes]:
    """An answer to a request whose path is sent as it is, not tidied up."""
    with closing(http.client.HTTPConnection(str(urlsplit(server.url).netloc), timeout=30)) as connection:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in more.get("headers", {}).items():
            connection.putheader(name, value)
        connection.endheaders(more.get("body"))
        answer = connection.getresponse()
        return answer.status, answer.read()


CLIMBS = (
    "../../..",
    "%2e%2e/%2e%2e/%2e%2e",
    "..%2f..%2f..",
    "..%5c..%5c..",
    "%252e%252e/%252e%252e",
    "....//....//....",
    "/",
)
ROOMS = (
    "/",
    "/static/",
    "/media/",
    "/app/static/",
    "/component/x/",
    "/_stcore/bidi-components/player/",
    "/playground/",
)


@pytest.mark.first
@pytest.mark.parametrize("room", ROOMS)
def test_no_path_leads_to_a_file_outside_of_the_page(server, room):
    for climb in CLIMBS:
        for file in (
            "etc/passwd",
            "app.py",
            "models/service/wire.py",
            ".git/config",
            ".streamlit/config.toml",
            "app.py%00.js",
        ):
            status, body = asked(server, "GET", f"{room}{climb}/{file}")
            assert status < 500, (room, climb, file)
            for text in (b"root:", b"lifespan", b"MAX_LINE", b"repositoryformatversion", b"maxMessageSize"):
                assert text not in body, (room, climb, file)


def test_a_request_with_a_body_is_refused_before_the_body_is_read(server):
    async def in_a_session() -> None:
        async with watched(server, 83) as anna:
            await anna.settled()
            upload = f"/_stcore/upload_file/{anna.session}/{uuid.uuid4()}"
            for method, path in (
                ("PUT", upload),
                ("DELETE", upload),
                ("POST", "/"),
                ("POST", "/healthz"),
                ("PUT", "/playground"),
            ):
                huge = {"Content-Length": str(10**9), "Content-Type": "multipart/form-data; boundary=x"}
                status, body = await asyncio.to_thread(asked, server, method, path, headers=huge)
                assert (status, body) == (405, b"This server takes no uploads."), (method, path)

    run(in_a_session())


def test_what_is_no_message_of_streamlits_harms_nobody_else(server):
    async def noise() -> None:
        async with watched(server, 85) as anna:
            await anna.ready()
            for data in (b"", b"\xff" * 100, b"\x80\x04\x95", b"{}"):
                async with websockets.connect(
                    stream(server), subprotocols=[websockets.Subprotocol("streamlit")]
                ) as socket:
                    await socket.send(data)
            await to_step(anna, 1)

    run(noise())


def test_health_says_nothing_about_visitors(server):
    status, body = asked(server, "GET", "/healthz")
    assert status == 200
    assert {"trainer", "sentence", "training"} <= set(json.loads(body))
    assert not re.search(rb"[0-9a-f]{8}-[0-9a-f]{4}|seed|depth|127\.0\.0\.1", body)


# --- sockets (Linux) ---


def sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets."""
    links = [
        Path(f"/proc/{pid}/fd/{one.name}").readlink() for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()
    ]
    return {found[1] for link in links if (found := re.match(r"socket:\[(\d+)\]", str(link)))}


def listening(pid: int) -> set[int]:
    """The TCP ports that a process listens on."""
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in sockets(pid)}


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the table of sockets is Linux's")
def test_the_worker_has_no_socket_and_the_server_listens_on_its_one_port(server):
    server.wait_for(b'"ready"')
    workers = {
        pid
        for pid in family(server.process.pid)
        if b"models.service.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }
    assert len(workers) == 1
    assert [sockets(pid) for pid in workers] == [set()]
    assert set.union(*(listening(pid) for pid in family(server.process.pid))) == {urlsplit(server.url).port}


# --- words that are markup ---


def test_markup_that_is_typed_or_linked_is_shown_and_not_obeyed(visitors):
    attack = '<img src=x onerror="window.stolen=1">![x](http://evil.example/x.png)'
    pages = [visitors(f"/{path}{quote(attack)}") for path in ("lessons?lesson=", "compare?a=norm%3D")]
    page = visitors("/residual")
    page.get_by_role("button", name="Paste a table").first.click()
    page.get_by_role("textbox", name="Numbers, one row per line").first.fill("<b>x</b> 2")
    page.get_by_role("button", name="Use it").first.press("Enter")  # it may hang over the window's edge
    page.get_by_text("is not a number").wait_for()
    for one in [*pages, page]:
        one.get_by_test_id("stAlert").first.wait_for()
        assert one.evaluate("window.stolen") is None
        assert one.locator("img[src=x], img[src*=evil], [data-testid=stAlert] :is(a, b, img)").count() == 0
