"""Runs the tests of the player's pure modules, and of a script of every page, in Node."""

import subprocess
from pathlib import Path

import pytest

from tests.drawn import NODE


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_the_pure_modules_of_the_player_pass_their_own_tests() -> None:
    node = subprocess.run(
        [str(NODE), "--test", *map(str, Path(__file__).parent.glob("*.test.mjs"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert node.returncode == 0, node.stdout
