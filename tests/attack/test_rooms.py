"""Maps and classes belong to those who began them, whatever a stranger asks for."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from models.maps import MapStore
from models.maps.cells import units
from models.spec.bounds import MAX_CLASSES_PER_ADDRESS, MAX_WRONG_CODES
from tests.attack import rooms
from tests.attack.rooms import SMALL, STRANGER, TEACHER, at, own
from tests.load.server import Server, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("maps")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.txt"


@pytest.fixture(scope="module")
def server(folder: Path, log: Path) -> Iterator[Server]:
    """A server whose maps lie in a folder of their own, behind a proxy that says whose address is whose."""
    with serving(log=log, **rooms.ENVIRONMENT | {"MAPS_FOLDER": str(folder)}) as running:
        running.wait_for(b'"ready"')
        yield running


def test_maps_of_too_many_runs_are_refused_and_nothing_of_them_is_kept(server: Server, folder: Path) -> None:
    before = server.memory()
    for said in asyncio.run(rooms.largest_maps(server)):
        assert "This map has 27,648 runs" in said
    assert server.memory() - before < 100e6, "a map of so many runs took 48 MB"
    assert not list(folder.iterdir())


def test_a_text_that_no_map_needs_is_not_read(server: Server) -> None:
    said = asyncio.run(rooms.endless_text(server))
    assert "20000 characters long" in said, said


@pytest.mark.parametrize(("code", "address"), [("ABCD", TEACHER), ("ABCE", STRANGER)], ids=["elsewhere", "same school"])
def test_one_pupil_leaves_room_for_a_teachers_class(server: Server, code: str, address: dict[str, str]) -> None:
    async def story() -> tuple[list[str], str]:
        tabs = await rooms.take_classes(server, MAX_CLASSES_PER_ADDRESS)
        async with at(server, "teacher", {"class": code}, address) as teacher:
            await teacher.press("Open a class")
            await teacher.settled()
            said = [tab.text for tab in tabs], teacher.text
            await teacher.press("Close it")
            await teacher.settled()
        for tab in tabs:
            if tab.shows("Close it"):
                await tab.press("Close it")
                await tab.settled()
            await tab.__aexit__(None, None, None)
        return said

    pupil, teacher = asyncio.run(story())
    assert all("Shown now" in said for said in pupil)
    assert f"with the code <b>{code}</b>" in teacher


def test_a_pupils_wrong_codes_and_guesses_leave_classmates_in(server: Server) -> None:
    async def story() -> tuple[list[str], list[str]]:
        teacher = await rooms.class_that_is_asked(server, "CLAS")
        wrong = await asyncio.to_thread(rooms.wrong_codes, server, MAX_WRONG_CODES + 30)
        await rooms.guesses(server, "CLAS", rooms.FORGED)
        classmates = await rooms.guesses(server, "CLAS", 5)
        joined = await asyncio.to_thread(rooms.join, server, "CLAS")
        await teacher.press("Close it")
        await teacher.settled()
        await teacher.__aexit__(None, None, None)
        return [*wrong, joined], classmates

    (*wrong, joined), classmates = asyncio.run(story())
    assert set(wrong) == {""}
    assert "class=CLAS" in joined
    assert all("Your guess is in" in said for said in classmates), classmates


def test_a_key_that_a_stranger_has_put_into_a_link_opens_nothing(server: Server) -> None:
    async def story() -> tuple[str, str, bool, str]:
        teacher, stranger = await rooms.known_key(server)
        told = teacher.text, stranger.text, stranger.shows("Close it"), teacher.query
        await teacher.press("Close it")
        await teacher.settled()
        for tab in (teacher, stranger):
            await tab.__aexit__(None, None, None)
        return told

    teacher, stranger, closes, query = asyncio.run(story())
    assert "with the code <b>WXYZ</b>" in teacher
    assert "key=known" not in query
    assert "key=" in query
    assert "Class WXYZ has ended" in stranger  # what is said of a code that no class has
    assert not closes


def test_a_map_that_cannot_be_written_is_begun_once_and_says_why(server: Server, folder: Path, log: Path) -> None:
    rooms.unwritable(folder, SMALL)

    async def story() -> str:
        viewer = await rooms.full_folder(server)
        await viewer.until(lambda: "cannot be written" in viewer.text, "what has happened")
        for _ in range(5):
            await viewer.forge()
            await viewer.settled()
        said = viewer.text
        assert viewer.shows("Compute it here")
        await viewer.__aexit__(None, None, None)
        return said

    assert "cannot be written" in asyncio.run(story())
    assert log.read_text().count(f"map_begun map={SMALL.digest}") == 1


def test_what_somebody_has_computed_is_not_a_strangers_to_delete(server: Server, folder: Path) -> None:
    spec = replace(SMALL, seeds=2, target=0.2)
    rooms.begun(folder, spec, units=len(units(spec)) - 1)
    before = (folder / spec.digest / "units.jsonl").read_bytes()
    assert asyncio.run(rooms.others_map(server, spec)) == {"Continue"}
    assert (folder / spec.digest / "units.jsonl").read_bytes().startswith(before)


def test_a_small_map_does_not_wait_for_the_end_of_a_long_one(server: Server, folder: Path) -> None:
    spec = replace(SMALL, arrangements=("plain",), target=0.3)

    async def story() -> None:
        stranger = await rooms.long_map(server)
        async with at(server, "maps", own(spec), TEACHER) as viewer:
            await viewer.press("Compute it here")
            await viewer.until(lambda: "finished" in viewer.progress, "the small map", 180)
        await stranger.press("Pause")
        await stranger.settled()
        await stranger.__aexit__(None, None, None)

    asyncio.run(story())
    assert not MapStore(spec, folder).missing()
    assert MapStore(rooms.LONG, folder).missing()
