"""A server to be attacked: one for the tests of a file."""

from collections.abc import Iterator

import pytest

from tests.load.server import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        running.wait_for(b'"ready"')
        yield running
