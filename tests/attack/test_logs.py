"""Run logs on a disk that is damaged, full or crowded: nobody's page breaks, and every number is the run's."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.runlog import EVENTS_FILE, HEAD_FILE, ROWS_FILE
from tests.load.server import Server, serving
from tests.load.viewer import PAGE, Viewer

SHORT = "depth=4&width=16&batch=16&steps=24&seed={}"
LONG = "depth=24&width=16&batch=16&steps=40&seed={}"  # of more bytes than FULL lets through
FULL = ("sh", "-c", 'ulimit -f 64; exec "$@"', "sh")  # no file beyond 32 kB, as on a disk that is full


async def trained(server: Server, query: str, steps: int) -> list[float]:
    """The losses of a run that somebody trains to its end."""
    async with Viewer(server.url, PAGE, query) as viewer:
        await viewer.ready()
        viewer.train()
        await viewer.until(lambda: viewer.step >= steps, "the end of the run")
        await viewer.rested()
        assert viewer.exceptions == []
        return viewer.losses


def zeroed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def turned(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    (HEAD_FILE, lambda path: path.write_bytes(b"")),
    (EVENTS_FILE, turned),
    (ROWS_FILE, cut),
    (ROWS_FILE, zeroed),
]


@pytest.mark.first
def test_damaged_logs_are_put_aside_and_computed_again(tmp_path: Path) -> None:
    queries = [SHORT.format(seed) for seed in range(len(DAMAGES))]

    def losses(name: str) -> list[list[float]]:
        async def story(server: Server) -> list[list[float]]:
            return [await trained(server, query, 24) for query in queries]

        with serving(log=tmp_path / name, PLAYGROUND_RUNS=str(tmp_path / "runs")) as server:
            server.wait_for(b'"ready"')
            found = asyncio.run(story(server))
            assert server.health()["damaged_logs"] == (0 if name == "first" else len(DAMAGES))
        return found

    before = losses("first")
    logs = sorted(path.parent for path in (tmp_path / "runs").glob(f"*/{HEAD_FILE}"))
    trained_logs = [log for log in logs if (log / ROWS_FILE).stat().st_size > 1000]
    assert len(trained_logs) == len(DAMAGES)
    for log, (file, damage) in zip(trained_logs, DAMAGES, strict=True):
        damage(log / file)
    np.testing.assert_array_equal(losses("second"), before)
    said = (tmp_path / "second").read_text()
    assert all(f"log_damaged log={log.name}" in said for log in trained_logs)
    assert all(log.with_name(f"{log.name}.damaged").is_dir() for log in trained_logs)


def test_on_a_full_disk_everybodys_run_ends(tmp_path: Path) -> None:
    async def story(server: Server) -> list[list[float]]:
        runs = [trained(server, LONG.format(seed), 40) for seed in (1, 2) for _ in range(2)]
        return list(await asyncio.gather(*runs))

    # A module of more bytes would be cut off, and could not be imported any more.
    with serving(before=FULL, log=tmp_path / "log", PYTHONDONTWRITEBYTECODE="1") as server:
        server.wait_for(b'"ready"')
        found = asyncio.run(story(server))
    assert [len(losses) for losses in found] == [41] * 4
    assert (tmp_path / "log").read_text().count("runs_in_memory") == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
def test_no_run_holds_a_file_open(tmp_path: Path) -> None:
    async def story(server: Server) -> None:
        for seed in range(4):
            await trained(server, SHORT.format(seed), 24)

    with serving(PLAYGROUND_RUNS=str(tmp_path)) as server:
        server.wait_for(b'"ready"')
        asyncio.run(story(server))
        held = [
            os.readlink(descriptor)
            for process in (server.process.pid, server.worker())
            for descriptor in Path(f"/proc/{process}/fd").iterdir()
            if descriptor.is_symlink()
        ]
    assert {name for name in held if name.startswith(str(tmp_path))} == {str(tmp_path / ".lock")}
    assert len(list(tmp_path.glob(f"*/{ROWS_FILE}"))) == 4
