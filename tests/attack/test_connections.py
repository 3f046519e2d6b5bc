"""Whoever only opens connections stops nobody: places, memory, descriptors and the log have bounds."""

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from components.server.connection import REFUSED
from tests.attack import connections
from tests.attack.attack import Attack, carried_out, first_row
from tests.attack.connections import LOG, STREAM, Origin, hello, socket_to
from tests.load.server import Server, serving


def done(attack: Callable[[Server], Awaitable[Any]], server: Server) -> Any:
    """What an attack tells, after a newcomer has had a row meanwhile."""
    told: list[Any] = []

    async def carry_out(server: Server) -> None:
        told.append(await attack(server))

    async def story() -> None:
        attacking = asyncio.create_task(carried_out(Attack(0, "", carry_out), server))
        await first_row(server)
        await attacking

    asyncio.run(story())
    assert told, "the attack was not carried out to its end"
    return told[0]


def answers(server: Server, path: str = "/healthz", **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=60)


@pytest.mark.first
def test_a_link_that_no_page_writes_ends_its_connection_and_the_longest_legal_ones_are_borne(server: Server) -> None:
    codes = done(lambda server: connections.endless_blocks(server, 2), server)
    assert codes == [REFUSED] * 2 + [0] * 2


def test_silent_sockets_leave_a_place_for_a_newcomer(attacked: Server) -> None:
    done(connections.silent_sockets, attacked)


@pytest.fixture(scope="module")
def few_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server that may open few files, and may not ask for more; and its log."""
    log = tmp_path_factory.mktemp("log") / "log"
    with serving(before=("sh", "-c", 'ulimit -n 200; exec "$@"', "sh"), log=log) as running:
        running.wait_for(b'"ready"')
        yield running, log


def test_idle_connections_beyond_the_descriptors_leave_the_log_short(few_files: tuple[Server, Path]) -> None:
    server, log = few_files

    async def story() -> None:
        await connections.idle_connections(server, 300)
        await first_row(server)

    asyncio.run(story())
    assert log.stat().st_size < 200_000


def test_a_server_asks_for_as_many_descriptors_as_it_may_have() -> None:
    with serving(before=("sh", "-c", 'ulimit -Sn 200; exec "$@"', "sh")) as running:
        running.wait_for(b'"ready"')
        done(lambda server: connections.idle_connections(server, 300), running)


def test_a_page_of_another_origin_gets_no_websocket_and_the_server_asks_nobody_for_its_address() -> None:
    asked: list[bytes] = []

    async def story() -> list[int]:
        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.readline())
            writer.close()

        async with await asyncio.start_server(proxy, "127.0.0.1") as listening:
            port = listening.sockets[0].getsockname()[1]
            ways = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), f"http://127.0.0.1:{port}")
            with serving(**ways, NO_PROXY="", no_proxy="") as server:
                await asyncio.to_thread(server.wait_for, b'"ready"')
                before = len(asked)  # Streamlit looks for its address once, to print it
                found = await connections.foreign_origins(server)
                assert asked[before:] == []
                return found

    assert set(asyncio.run(story())) == {403}


def test_messages_that_never_end_are_cut_off_and_what_a_page_says_is_not(attacked: Server) -> None:
    codes = done(connections.unfinished_messages, attacked)
    assert set(codes) <= {1006, 1009}
    assert len(codes) == 20


def test_a_foreign_name_for_this_machine_reads_nothing_that_is_here(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text("{}\n")
    with serving(PLAYGROUND_RECORDINGS=str(tmp_path)) as running:
        running.wait_for(b'"ready"')
        found = asyncio.run(connections.rebinding(running, "secret.jsonl"))
    assert found == [421, 421, 421, 403, 403]


def test_a_page_says_what_it_may_load_and_nobody_hears_how_many_visitors_there_are(attacked: Server) -> None:
    assert set(done(connections.metrics, attacked)) == {404}
    for path in ("/", "/healthz", "/playground", "/join", "/join?c=ABCD", "/_stcore/host-config"):
        with answers(attacked, path, Accept="text/html") as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "same-origin"
            said = answer.headers["Content-Security-Policy"]
            assert "script-src 'self'" in said
            assert said.endswith("frame-ancestors 'self'")
    with answers(attacked, "/_stcore/host-config") as answer:
        assert json.load(answer)["allowedOrigins"] == []


def test_sixty_pages_of_one_address_stay_connected_to_both_websockets(attacked: Server) -> None:
    async def story() -> None:
        async with connections.AsyncExitStack() as stack:
            own = Origin(f"http://{urlsplit(attacked.url).netloc}")
            ways = [socket_to(attacked, path, origin=own) for path in (LOG, STREAM) for _ in range(60)]
            pages = await connections.all_opened(stack, ways)
            for page in pages[:60]:
                await page.send(hello(""))
            heard = [str(await asyncio.wait_for(page.recv(), 60)) for page in pages[:60]]
            assert all(heard)
            assert [page.close_code for page in pages] == [None] * 120

    asyncio.run(story())
