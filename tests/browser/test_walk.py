"""A short fixed walk of somebody who presses anything; `python
-m tests.walk` goes further, and elsewhere each time.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.load.server import Server, serving
from tests.walk.tabs import Manner
from tests.walk.visitor import Visitor


@pytest.fixture(scope="module")
def walked(browser: Any) -> Iterator[Server]:
    """A server of its own: what a visitor leaves behind keeps no other test waiting."""
    with serving() as server:
        server.wait_for(b'"ready"')
        yield server


@pytest.mark.parametrize(
    ("seed", "deeds", "begin", "manner"),
    [
        (1, 8, "/", Manner(tabs=True)),
        (2, 7, "/playground?depth=4&width=16", Manner(phone=True, dark=True)),
        (3, 7, "/normalization", Manner(keyboard=True)),
    ],
)
def test_a_visitor_who_presses_anything_finds_nothing_broken(*, browser, walked, seed, deeds, begin, manner):
    visitor = Visitor(browser, walked.url, Random(seed), manner, kill=walked.kill_worker)
    visitor.walk(lambda done: done < deeds, begin)
    assert not visitor.findings, str(visitor)
    assert visitor.missed < deeds
