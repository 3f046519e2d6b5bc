"""What the others notice while a stranger attacks the server: its health, a newcomer's first row, memory kept."""

import asyncio
import shutil
import sys
from collections.abc import Iterator

from benchmarks.__main__ import main
from benchmarks.report import Figure
from tests.attack import connections, questions, rooms
from tests.attack.attack import AFTERWARDS, Attack, harm
from tests.load.server import serving

ATTACKS: tuple[Attack, ...] = (*connections.ATTACKS, *questions.ATTACKS, *rooms.ATTACKS)


def attack() -> Iterator[Figure]:
    """Three figures for each attack, on a server of its own."""
    for one in sorted(ATTACKS, key=lambda one: one.number):
        shutil.rmtree(rooms.ENVIRONMENT["MAPS_FOLDER"], ignore_errors=True)  # the maps of an earlier attack
        with serving(before=one.before, log=None, **one.environment) as server:
            server.wait_for(b'"ready"')
            done = asyncio.run(harm(one, server))
        what = f"{one.number} {one.what}"
        yield Figure(f"{what}: worst /healthz", done.health, "s", at_most=0.5)
        yield Figure(f"{what}: newcomer's first row", done.first_row, "s", at_most=1.0)
        yield Figure(f"{what}: kept after {AFTERWARDS:g} s", done.kept / 1e6, "MB", at_most=20.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["attack"], {"attack": attack}))
