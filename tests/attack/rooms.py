"""Attacks on what pages keep for everybody: maps and classes. A hostile recording harms its own tab only, and is tried
in `tests/browser/test_recordings.py`.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from streamlit.proto.WidgetStates_pb2 import WidgetState

from models.lessons.lessons import LESSONS
from models.maps import Axis, MapSpec
from models.maps.spec import MAX_PANELS, MAX_SEEDS_OF_MAP, MAX_VALUES_OF_AXIS
from models.spec import ARRANGEMENTS
from tests.attack.attack import Attack
from tests.load.server import Server
from tests.load.viewer import Viewer

STRANGER = {"X-Forwarded-For": "203.0.113.9"}  # as a proxy that the operator has declared appends it
TEACHER = {"X-Forwarded-For": "198.51.100.4"}
ENVIRONMENT = {"PLAYGROUND_PROXIES": "1", "MAPS_FOLDER": str(Path(tempfile.gettempdir()) / "attacked-maps")}

_MANY = range(1, MAX_VALUES_OF_AXIS + 1)
LARGEST = MapSpec(
    Axis("width", tuple(8 * k for k in _MANY)),
    Axis("depth", tuple(_MANY)),
    tuple(ARRANGEMENTS)[:MAX_PANELS],
    seeds=MAX_SEEDS_OF_MAP,
)
BASE = (("batch", 8), ("steps", 20), ("task", "circles"), ("width", 16))
SMALL = MapSpec(Axis("lr", (0.003, 0.03)), Axis("depth", (2, 3)), ("plain", "pre-norm"), BASE)
LONG = MapSpec(  # of about half an hour
    Axis("batch", tuple(range(8, 32))), Axis("depth", (16, 24)), ("pre-norm",), (("steps", 5000), ("width", 32))
)
CLASSES = 25  # that the stranger asks for
GUESSED = "vanishing"  # the lesson that a class is asked about
FORGED = 130  # guesses of one pupil's sessions
AT_ONCE = 10  # of these sessions


@asynccontextmanager
async def at(
    server: Server, page: str, query: dict[str, str], headers: dict[str, str] = STRANGER
) -> AsyncIterator[Viewer]:
    """Somebody's tab on a page, when nothing runs in it."""
    async with Viewer(server.url, page, urlencode(query), headers=headers) as viewer:
        await viewer.settled()
        yield viewer


def own(spec: MapSpec) -> dict[str, str]:
    """The address of a map."""
    return {"map": "your-own", "spec": spec.to_json(compact=True)}


async def largest_maps(server: Server) -> list[str]:
    """Eight tabs, each with another map of 27,648 runs; what each page says."""

    async def one(target: float) -> str:
        async with at(server, "maps", own(replace(LARGEST, target=target))) as viewer:
            return viewer.text

    return list(await asyncio.gather(*(one(1.0 + k) for k in range(8))))


async def endless_text(server: Server) -> str:
    """A map's text of 20,000 characters in the address; what the page says."""
    async with at(server, "maps", {"map": "your-own", "spec": "[" * 20_000}) as viewer:
        return viewer.text


async def take_classes(server: Server, count: int = CLASSES) -> list[Viewer]:
    """One client opens class after class, and keeps its tabs; returns them, to be left by whoever asked."""
    tabs = []
    for _ in range(count):
        viewer = await Viewer(server.url, "teacher", "", headers=STRANGER).__aenter__()
        tabs.append(viewer)
        await viewer.settled()
        await viewer.press("Open a class")
        await viewer.settled()
    return tabs


async def class_that_is_asked(server: Server, code: str) -> Viewer:
    """A teacher's tab, whose class is asked about the lesson GUESSED."""
    query = urlencode({"class": code, "plan": GUESSED})
    teacher = await Viewer(server.url, "teacher", query, headers=STRANGER).__aenter__()
    await teacher.settled()
    await teacher.press("Open a class")
    await teacher.settled()
    return teacher


async def guesses(server: Server, code: str, count: int) -> list[str]:
    """So many sessions guess and leave; what each page says."""

    async def one() -> str:
        async with at(server, "lessons", {"class": code, "lesson": GUESSED}) as viewer:
            await viewer.press(LESSONS[GUESSED].options[0])
            await viewer.settled()
            return viewer.text

    said = []
    for first in range(0, count, AT_ONCE):
        said += await asyncio.gather(*(one() for _ in range(min(AT_ONCE, count - first))))
    return said


def join(server: Server, code: str) -> str:
    """Where the short address leads a browser that has never been here; empty if it asks for the code again."""
    address = urlsplit(server.url)
    with closing(HTTPConnection(str(address.hostname), address.port, timeout=60)) as connection:
        connection.request("GET", f"/join?c={code}", headers=STRANGER)
        return connection.getresponse().headers.get("location", "")


def wrong_codes(server: Server, count: int) -> list[str]:
    """Where the short address leads whoever tries so many codes that no class has."""
    letters = "ABCDEFGHJKLM"
    return [join(server, f"ZZ{letters[at // 12]}{letters[at % 12]}") for at in range(count)]


async def known_key(server: Server) -> tuple[Viewer, Viewer]:
    """A teacher opens the class of a link that a stranger has made; then the stranger opens it. Both tabs."""
    link = urlencode({"class": "WXYZ", "key": "known"})
    teacher = await Viewer(server.url, "teacher", link, headers=TEACHER).__aenter__()
    await teacher.settled()
    await teacher.press("Open a class")
    await teacher.settled()
    stranger = await Viewer(server.url, "teacher", link, headers=STRANGER).__aenter__()
    await stranger.settled()
    return teacher, stranger


async def full_folder(server: Server) -> Viewer:
    """Begins a map whose results cannot be written, and goes on looking at it; the tab."""
    viewer = await Viewer(server.url, "maps", urlencode(own(SMALL)), headers=STRANGER).__aenter__()
    await viewer.settled()
    await viewer.press("Compute it here")
    return viewer


async def long_map(server: Server) -> Viewer:
    """Begins a map of half an hour; the tab."""
    viewer = await Viewer(server.url, "maps", urlencode(own(LONG)), headers=STRANGER).__aenter__()
    await viewer.settled()
    await viewer.press("Compute it here")
    await viewer.until(lambda: viewer.shows("Pause"), "the map's beginning")
    return viewer


async def others_map(server: Server, spec: MapSpec) -> set[str]:
    """Goes on with somebody else's map, pauses it, and claims to press Delete; the buttons there were."""
    async with at(server, "maps", own(replace(SMALL, target=0.123))) as mine:
        await mine.press("Compute it here")
        await mine.until(lambda: "finished" in mine.progress, "a map of the stranger's own")
        await mine.until(lambda: mine.shows("Delete"), "its button")
        delete = mine.widget("button", "Delete").id
    async with at(server, "maps", own(spec)) as viewer:
        seen = {label for label in ("Compute it here", "Continue", "Delete") if viewer.shows(label)}
        await viewer.press("Continue")
        await viewer.until(lambda: viewer.shows("Pause"), "the map that goes on")
        await viewer.press("Pause")
        await viewer.until(lambda: viewer.shows("Continue"), "the map that is paused")
        seen |= {"Delete"} if viewer.shows("Delete") else set()
        await viewer.forge(WidgetState(id=delete, trigger_value=True))
        await viewer.settled()
        return seen


async def _left(tabs: list[Viewer]) -> None:
    for viewer in tabs:
        await viewer.__aexit__(None, None, None)


async def _seven(server: Server) -> None:
    await asyncio.gather(largest_maps(server), endless_text(server))


async def _nine(server: Server) -> None:
    await _left(await take_classes(server))


async def _eleven(server: Server) -> None:
    folder = Path(ENVIRONMENT["MAPS_FOLDER"])
    unwritable(folder, SMALL)
    viewer = await full_folder(server)
    await asyncio.sleep(10)
    await _left([viewer])


async def _twelve(server: Server) -> None:
    viewer = await long_map(server)
    await asyncio.sleep(10)
    await _left([viewer])


async def _fifteen(server: Server) -> None:
    await _left(list(await known_key(server)))


def unwritable(folder: Path, spec: MapSpec) -> None:
    """Makes the results of a map fail to be written, for root, too: a folder stands in the place of their file."""
    (folder / spec.digest / "units.jsonl").mkdir(parents=True, exist_ok=True)


def begun(folder: Path, spec: MapSpec, units: int) -> None:
    """Somebody has computed the first units of a map."""
    runs = [
        {"arrangement": "plain", "x": 0.003, "y": 2.0, "seed": 0, "final_loss": 1.0, "accuracy": 0.5}
        | {"steps_to_target": None, "gradient_ratio": 0.0, "diverged": None, "site": ""}
    ]
    (folder / spec.digest).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"unit": at, "seconds": 1.0, "runs": runs}) for at in range(units)]
    (folder / spec.digest / "units.jsonl").write_text("\n".join(lines) + "\n")


ATTACKS: tuple[Attack, ...] = (
    Attack(7, "eight maps of 27,648 runs", _seven, ENVIRONMENT),
    Attack(9, f"{CLASSES} classes from one client", _nine, ENVIRONMENT),
    Attack(11, "a map that cannot be written", _eleven, ENVIRONMENT),
    Attack(12, "a map of half an hour", _twelve, ENVIRONMENT),
    Attack(15, "a class's key that is known", _fifteen, ENVIRONMENT),
)
