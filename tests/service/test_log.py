"""The server's log: one line per event, whatever happens, and nothing in it of who came and what they typed."""

import asyncio
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit import config

from models import log
from tests.load.server import serving
from tests.load.viewer import PAGE, Viewer
from tests.service.test_faults import forged

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (INFO|WARNING|ERROR) [\w.]+ \S.*")
CODE = "Mrs-Smith-4b"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """What this process has logged, a line each; logging is as it was afterwards."""
    for name in ("handlers", "level", "propagate"):
        monkeypatch.setattr(log.LOG, name, getattr(log.LOG, name))
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    factory, stream = logging.getLogRecordFactory(), io.StringIO()
    log.configure_logging()
    log.LOG.handlers[0].setStream(stream)  # type: ignore[attr-defined]
    library = logging.getLogger("some.library")
    library.addHandler(handler := logging.StreamHandler(stream))
    yield lambda: stream.getvalue().splitlines()
    library.removeHandler(handler)
    logging.captureWarnings(False)
    logging.setLogRecordFactory(factory)


def test_an_event_is_one_line_with_its_facts(lines) -> None:
    log.event("trainer_ready", pid=7, seconds=0.123456, how="by SIGKILL", text="a\nb")
    (line,) = lines()
    assert LINE.fullmatch(line)
    assert line.endswith('INFO playground trainer_ready pid=7 seconds=0.123 how="by SIGKILL" text="a\\nb"')


@given(fact=st.text())
def test_whatever_a_fact_holds_it_is_one_word_or_quoted(fact: str) -> None:
    said = log._plain(fact)
    assert said.isprintable()
    assert re.fullmatch(r'[^\s"=]+|"(?:[^"\\]|\\.)*"', said)


def failing(typed: str) -> None:
    """An error whose words repeat what somebody typed."""
    int(typed)


def test_a_librarys_error_is_one_line_without_words(lines) -> None:
    try:
        failing("my secret")
    except ValueError as error:
        logging.getLogger("some.library").exception("Uncaught\nin two lines")
        log.event("failed", **log.error_facts(error))
    first, second = lines()
    place = rf"error=ValueError at=\"test_log.py:{failing.__code__.co_firstlineno + 2} < test_log.py:\d+\""
    assert re.fullmatch(rf"Uncaught in two lines {place}", first)
    assert re.search(rf"INFO playground failed {place}$", second)


def test_alike_lines_are_limited_and_counted(lines, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(log.time, "monotonic", lambda: clock)
    library = logging.getLogger("some.library")
    for at in range(3 * log.MAX_ALIKE_LINES):
        library.error("out of resources %d", at)
    library.error("something else")
    for minute in (0.0, log.WINDOW_SECONDS + 1):
        clock = minute
        for _ in range(log.MAX_ALIKE_LINES + 1):
            log.event("visitor_came")
    log.event("visitor_left")
    library.handle(library.makeRecord("some.library", logging.ERROR, "a.py", 1, "of another place", (), None))
    said = lines()
    assert [sum(words in line for line in said) for words in ("out of resources", "something else")] == [100, 1]
    came = [line for line in said if "visitor_came" in line]
    assert len(came) == 2 * log.MAX_ALIKE_LINES
    assert [line.endswith("alike_left_out=1") for line in came].index(True) == log.MAX_ALIKE_LINES
    assert sum("visitor_left" in line or "of another place" in line for line in said) == 2


def test_a_thread_that_fails_is_one_line(lines) -> None:
    thread = threading.Thread(target=failing, args=("my secret",))
    thread.start()
    thread.join()
    (line,) = lines()
    assert "ERROR playground thread_failed error=ValueError" in line
    assert "secret" not in line


@pytest.mark.full
def test_a_server_logs_what_happens_in_lines_and_says_nothing_of_its_visitors(tmp_path: Path) -> None:
    written = tmp_path / "log"

    async def visit(url: str) -> str:
        async with Viewer(
            url, PAGE, f"depth=4&width=16&batch=16&steps=60&class={CODE}&init={quote('<my name>')}"
        ) as viewer:
            await viewer.ready()
            viewer.train()
            await viewer.until(lambda: viewer.step == 60, "the end")
            await viewer.forge(*list(forged(viewer))[-4:])
            await viewer.settled()
            return viewer.session

    def events() -> list[str]:
        return re.findall(r"playground (\w+)", written.read_text("utf-8"))

    with serving(log=written, PLAYGROUND_PLACES="8") as server:
        server.wait_for(b'"ready"')
        session = asyncio.run(visit(server.url))
    text = written.read_text("utf-8")
    said = events()
    expected = ["server_started", "trainer_ready", "visitor_came", "run_begun", "run_over"]
    assert [one for one in said if one in expected] == expected
    assert said[-1] == "server_stopped"
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    assert "limits=" in text
    assert "PLAYGROUND_PLACES=8" in text
    for personal in (session, CODE, "my name", "127.0.0.1", "::1"):
        assert personal not in text


def test_every_event_is_in_the_servers_document_and_no_other() -> None:
    rooms = ("models", "components", "exhibits")
    sources = [log.ROOT / "app.py", *(path for room in rooms for path in (log.ROOT / room).rglob("*.py"))]
    code = " ".join(path.read_text("utf-8") for path in sources)
    noted = set(re.findall(r'\bevent\(\s*"(\w+)"', code)) | {"refused", "failed"}  # of which one is chosen
    section = (log.ROOT / "docs" / "server.md").read_text("utf-8").partition("## Log")[2].partition("\n## ")[0]
    named = set(re.findall(r"playground (\w+)", section)) | set(re.findall(r"`(\w+)`", section.rpartition("```")[2]))
    assert named == noted


def test_streamlit_knows_every_option_that_is_documented_and_shows_no_details_in_public() -> None:
    for name in ("docs/server.md", "Dockerfile"):
        text = (log.ROOT / name).read_text("utf-8")
        flags = dict(re.findall(r"--(\w+\.\w+)=([\w./]+)", text))
        assert flags["client.showErrorDetails"] == "none"
        for option in flags:
            config.get_option(option)  # an error where there is none of that name
