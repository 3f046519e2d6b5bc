"""Whoever asks too much of the trainer, or asks for too many, takes it from nobody else."""

import asyncio

import pytest

from exhibits.instruments.lens.page import MAX_TEXT_CHARS
from tests.attack.attack import first_row
from tests.attack.questions import LONG, TAKEN, many_comparisons, many_configurations, many_refused_texts, types, typist
from tests.load.server import Server

KEPT = 20e6  # bytes that an attack may leave behind


@pytest.mark.first
def test_a_text_longer_than_its_field_is_cut_and_the_trainer_lives_on(server: Server) -> None:
    async def attack() -> None:
        worker = server.worker()
        async with typist(server) as viewer:
            await types(viewer, "\x01" * TAKEN)
            await viewer.settled()
            await viewer.until(lambda: f"{MAX_TEXT_CHARS} tokens" in viewer.text, "why it is refused")
            before = viewer.cuts
            await types(viewer, "\x01" * LONG)
            await viewer.until(lambda: viewer.cuts > before, "the end of the connection")
            assert viewer.exceptions == []
        assert await first_row(server, seed=101)
        assert (server.worker(), server.health()["trainer"]) == (worker, "ready")

    asyncio.run(attack())


def test_refused_questions_leave_nothing_behind(attacked: Server) -> None:
    async def attack() -> None:
        worker = attacked.worker()
        await first_row(attacked, seed=102)
        before = attacked.memory()
        await many_refused_texts(attacked)
        assert await first_row(attacked, seed=103)
        assert attacked.memory() < before + 2 * KEPT
        assert (attacked.worker(), attacked.health()["trainer"]) == (worker, "ready")

    asyncio.run(attack())


def test_configurations_without_a_ticket_leave_nothing_behind(attacked: Server) -> None:
    async def attack() -> None:
        await first_row(attacked, seed=104)
        before = attacked.memory()
        await many_configurations(attacked)
        assert attacked.memory() < before + KEPT
        assert await first_row(attacked, seed=105)

    asyncio.run(attack())


def test_whoever_comes_when_comparisons_fill_all_places_gets_rows_while_these_wait(attacked: Server) -> None:
    async def attack() -> None:
        async with many_comparisons(attacked) as viewers:
            while not attacked.health()["waiting"]:
                await asyncio.sleep(0.1)
            assert await first_row(attacked, seed=106)
            assert attacked.health()["waiting"] > 0
            assert [viewer.exceptions for viewer in viewers] == [[]] * len(viewers)

    asyncio.run(attack())
