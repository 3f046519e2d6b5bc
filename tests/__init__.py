"""The tests. A package, so that plain `pytest` finds `models` and the tests find `tests.hand`."""
