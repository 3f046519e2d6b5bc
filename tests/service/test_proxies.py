"""The app behind what stands between it and its visitors: a path, a proxy that loses connections, nginx as documented."""

import asyncio
import re
import shutil
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from models.service.worker_process import ROOT
from tests.load.server import Server, free_port, serving
from tests.load.viewer import PAGE, Viewer
from tests.service.test_faults import as_computed, played
from tests.waiting import PATIENCE, until

BASE = "playground"
SMALL = "depth=4&width=16&batch=16&steps=300"
LONG = "depth=8&width=32&batch=32&steps=900"
CUT_SECONDS = 2.0
NGINX = shutil.which("nginx")


@pytest.fixture(scope="module")
def replicas() -> Iterator[list[Server]]:
    """Two servers below a path, behind a proxy."""
    told = {"STREAMLIT_SERVER_BASE_URL_PATH": BASE, "PLAYGROUND_PROXIES": "1"}
    with serving(**told) as first, serving(**told) as second:
        for one in (first, second):
            one.wait_for(b'"ready"')
        yield [first, second]


async def learns(viewer: Viewer) -> None:
    """Trains to the end: every row has come, as it was computed."""
    await viewer.ready()
    viewer.train()
    await viewer.until(lambda: viewer.player.runs[0].done and not viewer.playing, "the end", PATIENCE)
    assert len(viewer.losses) == viewer.player.last + 1
    assert as_computed(viewer)
    await viewer.rested()
    assert viewer.exceptions == []


@asynccontextmanager
async def cutting(server: Server) -> AsyncIterator[str]:
    """The address of a proxy that ends every connection after a few seconds, without a goodbye."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside, out = await asyncio.open_connection("127.0.0.1", urlsplit(server.url).port)
        with suppress(OSError):  # TimeoutError is one
            async with asyncio.timeout(CUT_SECONDS):
                await asyncio.gather(pump(reader, out), pump(inside, writer))
        for one in (writer, out):
            one.transport.abort()

    proxy = await asyncio.start_server(pass_on, "127.0.0.1")
    async with proxy:
        yield f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"


def test_through_a_proxy_that_cuts_every_connection_after_seconds_a_whole_run_comes(replicas: list[Server]) -> None:
    async def visit() -> None:
        async with cutting(replicas[0]) as url, Viewer(f"{url}/{BASE}", PAGE, f"{LONG}&seed=2") as viewer:
            await viewer.ready()
            visit = viewer.session
            await learns(viewer)
            await viewer.until(lambda: viewer.player.connections > 2, "the third connection", PATIENCE)
            assert viewer.session == visit

    played(visit())


@contextmanager
def nginx(folder: Path, replicas: list[Server]) -> Iterator[str]:
    """nginx with the configuration of the server's document,
    on a port of this machine, before two servers; its address.
    """
    (block,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "server.md").read_text("utf-8"), re.DOTALL)
    port = free_port()
    ours = {"listen 80;": f"listen 127.0.0.1:{port};"}
    ours |= {f"127.0.0.1:{8501 + at}": str(urlsplit(one.url).netloc) for at, one in enumerate(replicas)}
    for theirs, own in ours.items():
        assert theirs in block
        block = block.replace(theirs, own)
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{part}_temp_path {folder / part};" for part in parts)
    (folder / "nginx.conf").write_text(f"daemon off; pid {folder / 'pid'}; events {{}} http {{ {paths}\n{block} }}")
    command = [str(NGINX), "-p", str(folder), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command)
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/{BASE}/") or process.poll() is not None, "nginx")
        assert process.poll() is None, (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}/{BASE}"
    finally:
        process.terminate()
        process.wait(10)


def answers(url: str) -> bool:
    with suppress(OSError):
        urllib.request.urlopen(url, timeout=10).close()
        return True
    return False


def seat(url: str, query: str) -> str:
    """The cookie with which a page comes."""
    with urllib.request.urlopen(f"{url}/{PAGE}?{query}", timeout=30) as page:
        return str(page.headers["Set-Cookie"]).partition(";")[0]


@pytest.mark.skipif(NGINX is None, reason="no nginx here")
def test_behind_nginx_as_documented_every_visitors_log_comes_from_the_replica_of_the_page(
    tmp_path: Path, replicas: list[Server]
) -> None:
    async def visit(url: str, query: str) -> None:
        async with Viewer(url, PAGE, query, {"Cookie": seat(url, query)}) as viewer:
            await learns(viewer)
            await viewer.until(lambda: viewer.player.trainer.get("ticket") is True, "a ticket that holds there")
            assert viewer.player.connections == 1

    async def visits(url: str) -> None:
        await asyncio.gather(
            *(visit(url, f"{SMALL}&seed={seed}") for seed in range(10, 16)), visit(url, f"{SMALL}&class=c1")
        )

    with nginx(tmp_path, replicas) as url:
        played(visits(url))


@pytest.mark.skipif(NGINX is None, reason="no nginx here")
def test_behind_nginx_a_class_is_opened_where_its_students_are_seated(tmp_path: Path, replicas: list[Server]) -> None:
    """Several codes, of which some belong to either replica; students type them in small letters."""

    async def opens(url: str, code: str) -> None:
        query = f"class={code}"
        told = f"{url}/teacher?{query}"
        with urllib.request.urlopen(told, timeout=30) as page:
            seat = str(page.headers["Set-Cookie"]).partition(";")[0]
        async with Viewer(url, "teacher", query, {"Cookie": seat}) as teacher:
            await teacher.settled()
            await teacher.press("Open a class")
            await teacher.settled()
            assert f"with the code <b>{code}</b>" in teacher.text
        student = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        student.open(f"{url}/join", timeout=30).close()  # has a seat elsewhere, maybe
        with student.open(f"{url}/join?c={code.lower()}", timeout=30) as page:
            assert page.url == f"{url}/?class={code}"

    async def classes(url: str) -> None:
        for code in ("ABCD", "BCDE", "CDEF", "DEFG"):
            await opens(url, code)

    with nginx(tmp_path, replicas) as url:
        played(classes(url))
