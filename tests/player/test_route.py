"""The player's connection with a real trainer behind it: rows as
they are computed, requests, tickets, and whoever behaves badly.
"""

import asyncio
import base64
import gzip
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import streamlit as st
import uvicorn
from hypothesis import given
from hypothesis import strategies as some
from starlette.applications import Starlette
from starlette.websockets import WebSocketState
from websockets.exceptions import ConnectionClosed

from components.player import engine, recordings, route
from components.player.browser_messages import Ask, Hello, Request, decode, parse
from components.server.connection import REFUSED
from components.server.tickets import TICKETS, Tickets
from models.service import client
from models.service.client import Requester, key_of, log_key
from models.spec import RunConfig, bounds
from models.training import Run
from tests.player.browserless import Browser
from tests.waiting import PATIENCE, until

SMALL = RunConfig(depth=2, width=16, batch=16, steps=30, seed=3, device="cpu")
LONG = RunConfig(depth=2, width=16, batch=16, steps=5000, device="cpu")
ALL = 10**6


def other(seed: int, of: RunConfig = SMALL) -> RunConfig:
    return RunConfig(**{**vars(of), "seed": seed})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the route alone, in this process, so that a test can look at its trainer."""
    with socket.socket() as asked_for:
        asked_for.bind(("127.0.0.1", 0))
        port = asked_for.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=route.routes()), host="127.0.0.1", port=port, log_level="error")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started, "the server")
    until(lambda: client.trainer().status().state == "ready", "the trainer")
    yield f"ws://127.0.0.1:{port}/log"
    server.should_exit = True
    thread.join()
    client.close_trainer()


sessions = iter(range(10**6))


def ticket(*cfgs: RunConfig, seeds: int = 1) -> str:
    """One that a page of a session of its own would hand out for these runs."""
    return TICKETS.issue(
        Requester(f"s{next(sessions)}", "here", "part", frozenset(log_key(cfg, seeds) for cfg in cfgs))
    )


def computed(cfg: RunConfig) -> np.ndarray:
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    return run.rows(0)


def test_the_rows_that_come_are_those_that_a_run_computes_bit_for_bit(url: str) -> None:
    with Browser(url) as page:
        came = page.hello(SMALL, ticket=ticket(SMALL), want=ALL).until_done().runs[0]
    assert np.array_equal(came.matrix(), computed(SMALL))
    tracks = {track["name"]: (track["start"], track["width"]) for track in came.header["tracks"]}
    assert (tracks["loss"], tracks["act_rms"], tracks["grad_rms"]) == ((0, 1), (4, 3), (7, 3))
    assert (came.header["sites"], came.header["depth"]) == (["x0", "b01", "b02"], 2)
    assert came.header["width"] == came.matrix().shape[1]
    assert came.header["last"] == max(came.rows)
    assert came.state["parameters"] > 0
    assert [frame["step"] for frame in came.frames][:4] == [0, 1, 2, 4]
    assert came.frames[0]["picture"]["data"]  # as a figure


def test_whoever_comes_back_gets_the_rows_that_are_missing(url: str) -> None:
    with Browser(url) as page:
        whole = page.hello(SMALL, ticket=ticket(SMALL), want=ALL).until_done().runs[0]
        rest = page.hello(SMALL, have=20).until_done().runs[0]
    assert sorted(rest.rows) == sorted(whole.rows)[20:]
    assert all(np.array_equal(rest.rows[at], whole.rows[at]) for at in rest.rows)
    assert rest.said == {
        kind: late for kind, said in whole.said.items() if (late := [change for change in said if change[0] >= 20])
    }
    assert [frame["step"] for frame in rest.frames] == [frame["step"] for frame in whole.frames if frame["step"] >= 19]


def test_before_training_a_page_gets_row_0_with_its_sentences_and_trains_nothing(url: str) -> None:
    cfg = other(51)
    with Browser(url) as page:
        page.hello(cfg, ticket=ticket(cfg))
        came = page.until_rows(1).runs[0]
    assert np.array_equal(came.matrix(), computed(cfg)[:1])
    assert came.sentence("loss", 0).startswith("Step 0: not trained yet, loss ")
    assert [frame["step"] for frame in came.frames] == [0]
    assert client.trainer().log(cfg).length == 1


def test_seeds_of_one_run_come_side_by_side(url: str) -> None:
    with Browser(url) as page:
        came = page.hello(SMALL, ticket=ticket(SMALL, seeds=2), want=ALL, seeds=2).until_done().runs[0]
    assert came.header["seeds"] == 2
    assert came.matrix().shape[1] == 2 * came.header["width"]
    assert len(came.state["outcomes"]) == 2


def test_several_runs_come_on_one_connection_and_a_new_hello_replaces_them(url: str) -> None:
    first, second, third = other(61), other(62), other(63)
    with Browser(url) as page:
        page.hello(first, second, ticket=ticket(first, second), want=ALL).until_done()
        matrices = [came.matrix() for came in page.runs]
        page.hello(third, ticket=ticket(third), want=ALL).until_done()
    assert [np.array_equal(got, computed(cfg)) for got, cfg in zip(matrices, (first, second), strict=True)] == [
        True,
        True,
    ]
    assert np.array_equal(page.runs[0].matrix(), computed(third))


# --- nets that a drawing asks for ---


def ask(count: int, **net: Any) -> dict[str, Any]:
    """The question of a drawing for a net like SMALL, but for some fields."""
    whole = {"depth": 2, "residual": True, "norm": True, "out": [], "own": [], "kind": "layer norm"}
    return {"kind": "ask", "net": {"asked": count, **whole, **net}}


def answered(page: Browser) -> dict[str, Any]:
    """The next answer to such a question."""
    while True:
        message = page.socket.recv(timeout=PATIENCE)
        if isinstance(message, str) and (answer := json.loads(message))["kind"] == "net":
            return dict(answer)


def test_a_net_that_is_asked_for_comes_measured(url: str) -> None:
    cfg = other(71)
    wanted = replace(cfg, depth=3, residual=False, overrides=((2, "identity", True),))
    with Browser(url) as page:
        page.hello(cfg, ticket=ticket(cfg)).until_rows(1)
        page.say(ask(7, depth=3, residual=False, out=[2]))
        answer = answered(page)
    assert (answer["asked"], answer["link"], answer["last"]) == (7, key_of(wanted), wanted.steps)
    assert [block["out"] for block in answer["blocks"]] == [False, True, False]
    (row,) = (base64.b64decode(message)[16:] for message in answer["messages"] if isinstance(message, str))
    assert np.array_equal(np.frombuffer(row, "<f4"), computed(wanted)[0])
    assert client.trainer().log(wanted).length == 1, "nothing is trained"


@pytest.mark.parametrize(
    "net",
    [
        {"depth": 0},
        {"depth": 10**9},
        {"depth": "2"},
        {"norm": True, "kind": ["x"]},
        {"out": 5},
        {"out": [9]},
        {"own": [[1, 2]]},
        {"residual": "no"},
    ],
    ids=str,
)
def test_what_is_no_net_is_not_measured(url: str, net: dict[str, Any]) -> None:
    cfg = other(72, of=replace(SMALL, norm="none"))
    with Browser(url) as page:
        page.hello(cfg, ticket=ticket(cfg)).until_rows(1)
        page.say(ask(1, **net))
        page.say(ask(2, norm=False))
        assert answered(page)["asked"] == 2


def test_a_stranger_has_nothing_measured(url: str) -> None:
    cfg = other(73)
    with Browser(url) as page:
        page.hello(cfg).say(ask(1, depth=4))
        page.hello(SMALL, ticket=ticket(SMALL)).until_rows(1)
        page.say(ask(2))
        answered(page)
    assert client.trainer().log(replace(cfg, depth=4)).length == 0


def test_many_drags_at_once_leave_threads_to_others(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_free = threading.Event()

    def slow(cfg: RunConfig, net: dict[str, Any]) -> dict[str, Any]:
        is_free.wait(PATIENCE)
        return {"kind": "net", "asked": net["asked"]}

    monkeypatch.setattr(route, "measured", slow)
    cfg, own = other(74), replace(SMALL, overrides=((1, "norm", "none"),))  # whose hello is decoded in a thread
    with ExitStack() as stack:
        pages = [stack.enter_context(Browser(url)) for _ in range(33)]  # more than asyncio ever has threads
        for page in pages:
            page.hello(cfg, ticket=ticket(cfg)).until_rows(1)
            page.say(ask(1))
        try:
            stack.enter_context(Browser(url)).hello(own, ticket=ticket(own)).until_rows(1)
        finally:
            is_free.set()
        for page in pages:
            assert answered(page)["asked"] == 1


def test_an_offer_leads_to_what_trains_in_a_browser(url: str) -> None:
    offer, root = engine.offer([SMALL], always=False), url.replace("ws:", "http:").removesuffix("log")
    assert (offer["refusal"], offer["always"]) == ("", False)
    book = engine.offer([replace(SMALL, net="transformer", task="book")], always=False)["engine"]
    for address, cached, task in (
        (offer["engine"], "immutable", "digits"),
        (book, "immutable", "book"),
        ("player/old/engine.json", "no-cache", "digits"),
    ):
        with urlopen(root + address) as answer:
            body = gzip.decompress(answer.read()).decode()
            assert cached in answer.headers["cache-control"]
            assert json.loads(body).keys() >= {"script", "kernels", "schema", "pictures"}
            assert json.loads(body)["data"][task] == engine.text_of(task)
    for cfg, seeds, said in ((replace(SMALL, optimizer="muon"), 1, "muon"), (SMALL, 2, "Several seeds")):
        assert said in engine.offer([SMALL, cfg], seeds=seeds, always=True)["refusal"]


# --- requests ---


def test_a_run_trains_as_far_as_wanted(url: str) -> None:
    cfg = other(71, LONG)
    with Browser(url) as page:
        page.hello(cfg, ticket=ticket(cfg), want=5).until_rows(5)
        until(lambda: not client.trainer().log(cfg).is_requested, "the end of the request")
        page.request(40)
        page.until_rows(40)


def test_a_pause_ends_the_wish_at_once_though_the_page_is_gone(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "REQUEST_SECONDS", 10_000.0)
    cfg = other(72, LONG)
    with Browser(url) as page:
        page.hello(cfg, ticket=ticket(cfg), want=ALL).until_rows(5)
        page.request(0)
    until(lambda: client.trainer().run_counts() == (0, 0), "the end of the work")
    assert not client.trainer().log(cfg).done


def test_a_closed_connection_ends_its_wish_after_a_grace_within_which_a_reload_goes_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "REQUEST_SECONDS", 2.5)
    cfg = other(73, LONG)
    mine = ticket(cfg)
    with Browser(url) as page:
        page.hello(cfg, ticket=mine, want=ALL).until_rows(5)
    log = client.trainer().log(cfg)
    seen = log.length
    assert log.is_requested
    with Browser(url) as page:
        page.hello(cfg, ticket=mine, want=ALL, have=seen).until_rows(1)
    assert min(page.runs[0].rows) >= seen
    until(lambda: client.trainer().run_counts() == (0, 0), "the end of the work")
    assert not log.done


def test_a_session_that_looks_at_other_runs_wants_the_ones_before_no_longer(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "REQUEST_SECONDS", 10_000.0)
    before, after = other(74, LONG), other(75, LONG)
    with Browser(url) as page:
        mine = TICKETS.issue(Requester("moves", "here", "part", frozenset({log_key(before)})))
        page.hello(before, ticket=mine, want=ALL).until_rows(5)
        TICKETS.issue(Requester("moves", "here", "part", frozenset({log_key(after)})))
        page.hello(after, ticket=mine)
        until(lambda: not client.trainer().log(before).is_requested, "the end of the work")


# --- tickets ---


@pytest.mark.parametrize("name", ["", "forged", "x" * 10_000])
def test_without_a_ticket_nothing_is_trained_and_what_is_there_comes(url: str, name: str) -> None:
    known, unknown = SMALL, other(81)
    with Browser(url) as page:
        page.hello(known, ticket=ticket(known), want=ALL).until_done()
        page.hello(known, unknown, ticket=name, want=ALL).until_done(0)
        while page.trainer.get("ticket") is not False:
            page.take()
    assert client.trainer().log(unknown).length == 0
    assert not client.trainer().log(unknown).is_requested


def test_a_ticket_trains_the_runs_of_its_page_and_no_others(url: str) -> None:
    mine, foreign = other(82), other(83)
    with Browser(url) as page:
        page.hello(foreign, mine, ticket=ticket(mine), want=ALL).until_done(1)
    assert client.trainer().log(foreign).length == 0


def test_a_pages_ticket_stays_and_covers_what_shows() -> None:
    tickets = Tickets()
    first = tickets.issue(Requester("a", "page", "part", frozenset({"x"})))
    assert tickets.issue(Requester("a", "page", "part", frozenset({"y"}))) == first
    assert tickets.owner(first) == Requester("a", "page", "part", frozenset({"y"}))
    assert tickets.issue(Requester("b", "page", "part", frozenset({"y"}))) != first


# --- whoever behaves badly ---

LINK = client.key_of(SMALL)
BLOCKS = "depth=128&overrides=" + "1-128.norm.none," * 600
BAD = {
    "no JSON": "{",
    "a number": "7",
    "a list": "[]",
    "nothing known": {"kind": "train"},
    "early": {"kind": "request", "wants": [4]},
    "no runs": {"kind": "hello", "ticket": "", "runs": []},
    "too many runs": {"kind": "hello", "ticket": "", "runs": [{"link": LINK}] * 9},
    "runs that are none": {"kind": "hello", "ticket": "", "runs": "all"},
    "no link": {"kind": "hello", "ticket": "", "runs": [{}]},
    "another link": {"kind": "hello", "ticket": "", "runs": [{"link": "depth=9999"}]},
    "an unknown setting": {"kind": "hello", "ticket": "", "runs": [{"link": "evil=1"}]},
    "a link that no page writes": {"kind": "hello", "ticket": "", "runs": [{"link": f"{LINK}&net=mlp"}]},
    "a longer link than any": {"kind": "hello", "ticket": "", "runs": [{"link": "seed=" + "9" * 2**14}]},
    "blocks without end": {"kind": "hello", "ticket": "", "runs": [{"link": BLOCKS}] * 8},
    "many settings": {"kind": "hello", "ticket": "", "runs": [{"link": "&".join(f"k{at}=1" for at in range(5000))}]},
    "a ticket of lists": {"kind": "hello", "ticket": [[]], "runs": [{"link": LINK}]},
    "rows below none": {"kind": "hello", "ticket": "", "runs": [{"link": LINK, "have": -1}]},
    "half a row": {"kind": "hello", "ticket": "", "runs": [{"link": LINK, "want": 0.5}]},
    "true seeds": {"kind": "hello", "ticket": "", "runs": [{"link": LINK, "seeds": True}]},
    "many seeds": {"kind": "hello", "ticket": "", "runs": [{"link": LINK, "seeds": 11}]},
    "deep": "[" * 5000,
    "bytes": b"\x00\x01",
    "huge": "x" * (bounds.MAX_LOG_CHARS + 1),
}


def take_all(page: Browser) -> None:
    while True:
        page.take()


def end_of(page: Browser) -> ConnectionClosed:
    """How a connection ends."""
    with pytest.raises(ConnectionClosed) as ended:
        take_all(page)
    return ended.value


@pytest.mark.parametrize("message", list(BAD.values()), ids=list(BAD))
def test_a_message_that_makes_no_sense_ends_its_connection_with_a_reason(url: str, message: Any) -> None:
    with Browser(url) as page:
        page.say(message)
        ended = end_of(page)
    assert ended.rcvd is not None
    assert ended.rcvd.code == REFUSED
    assert ended.rcvd.reason


def test_a_wish_for_other_runs_than_those_of_the_page_is_refused(url: str) -> None:
    with Browser(url) as page:
        page.hello(SMALL)
        page.request(1, 2)
        ended = end_of(page)
    assert ended.rcvd is not None
    assert "other runs" in ended.rcvd.reason


def test_whoever_talks_too_much_is_let_go_and_others_go_on(url: str) -> None:
    cfg = other(91)
    with Browser(url) as quiet, Browser(url) as loud:
        quiet.hello(cfg, ticket=ticket(cfg), want=ALL)
        loud.hello(SMALL)
        with suppress(ConnectionClosed):
            for _ in range(10**5):
                loud.request(0)
        ended = end_of(loud)
        assert ended.rcvd is not None
        assert "too many" in ended.rcvd.reason
        assert len(quiet.until_done().runs[0].rows) == len(computed(cfg))


words = some.sampled_from(
    ["kind", "runs", "wants", "ticket", "turn", "link", "net", "hello", "request", "ask"]
) | some.text(max_size=9)
trees = some.recursive(
    some.none() | some.booleans() | some.integers() | words,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(words, inner, max_size=5),
    max_leaves=9,
)


@given(some.text(max_size=200) | trees.map(json.dumps))
def test_whatever_is_said_is_a_message_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(decode(parse(text)), Hello | Request | Ask)


class Deaf:
    """A websocket whose other side says hello and then reads nothing: what is sent never arrives."""

    application_state = WebSocketState.CONNECTED
    scope = {"type": "websocket", "client": ("127.0.0.1", 1), "headers": []}  # noqa: RUF012

    def __init__(self, hello: str) -> None:
        self.said = [{"type": "websocket.receive", "text": hello}]
        self.attempts = 0

    async def receive(self) -> Any:
        if self.said:
            return self.said.pop()
        await asyncio.Event().wait()
        return None

    async def send_text(self, text: str) -> None:
        self.attempts += 1
        await asyncio.Event().wait()

    send_bytes = send_json = send_text  # type: ignore[assignment]


def test_a_reader_that_does_not_read_is_let_go_with_nothing_kept_for_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SEND_SECONDS", 0.05)
    with Browser(url) as page:
        page.hello(SMALL, ticket=ticket(SMALL), want=ALL).until_done()
    hello = {"kind": "hello", "ticket": "", "runs": [{"link": LINK}]}
    deaf = Deaf(json.dumps(hello))

    async def served() -> None:
        await route.Connection(deaf).run()  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(served(), 60))
    assert deaf.attempts == 1


def test_strangers_do_not_slow_what_guests_are_sent(url: str) -> None:
    until(lambda: not route._open, "the end of all others")
    with Browser(url) as guest, Browser(url), Browser(url) as stranger:
        guest.hello(SMALL, ticket=ticket(SMALL), want=ALL).until_done()
        stranger.hello(SMALL, ticket="forged").until_done()
        assert sorted(one._clients() for one in route._open) == [1, 3, 3]


# --- what goes wrong on the way ---


def test_a_folder_that_does_not_answer_stalls_nobody_else_and_is_read_when_it_does(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "far.jsonl").write_text("{}\n")
    monkeypatch.setenv(recordings.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(bounds, "READ_SECONDS", 0.2)
    answers, openat = threading.Event(), os.open

    def hangs(path: Any, *how: Any) -> int:
        if str(path).endswith("far.jsonl"):
            answers.wait()
        return openat(path, *how)

    monkeypatch.setattr(recordings.os, "open", hangs)
    cfg = other(98)
    with Browser(url) as far, Browser(url) as near:
        far.say({"kind": "hello", "turn": 1, "ticket": "", "runs": [{"recording": "far.jsonl"}]})
        while "does not answer" not in (said := str(far.socket.recv(timeout=60))):
            pass
        near.hello(cfg, ticket=ticket(cfg), want=ALL).until_done()
        assert json.loads(said)["file"] == ""
        answers.set()
        while isinstance(came := far.socket.recv(timeout=60), str):
            pass
    assert came.endswith(b"{}\n")


@pytest.mark.parametrize(("base", "below"), [("", ""), ("class", "/class"), ("/class/room/", "/class/room")])
@pytest.mark.full
def test_the_routes_stand_below_the_servers_base_path(monkeypatch: pytest.MonkeyPatch, base: str, below: str) -> None:
    monkeypatch.setattr(st, "get_option", lambda name: base if name == "server.baseUrlPath" else None)
    paths = [one.path for one in route.routes()]  # type: ignore[attr-defined]
    scripts = f"{below}/player/{{version}}"
    assert paths == [f"{below}/log", f"{scripts}/engine.json", f"{scripts}/{{name}}"]
