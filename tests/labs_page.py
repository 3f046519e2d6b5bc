"""A lab's page in AppTest, opened by its file."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.app_page import by_link, sound


def lab(name: str) -> AppTest:
    """The page of that name as a visitor finds it."""
    return by_link(f"{name}.py")


def until(page: AppTest, true: Callable[[], bool], looks: int = 60) -> None:
    """Runs the page again, as its browser would, until something is true of it."""
    for _ in range(looks):
        if true():
            return
        sound(page.run())
    assert true()
