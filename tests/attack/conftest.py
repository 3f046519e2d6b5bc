"""A server to be attacked: one for all tests that need no other, and do it harm or measure it."""

from collections.abc import Iterator

import pytest

from tests.load.server import Server, serving


@pytest.fixture(scope="package")
def attacked() -> Iterator[Server]:
    with serving() as running:
        running.wait_for(b'"ready"')
        yield running
