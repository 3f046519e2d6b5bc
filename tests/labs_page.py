"""A lab's page in AppTest, opened by its file."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.app_page import APP, PATIENCE, sound


def lab(name: str, folder: str = "labs") -> AppTest:
    """The page of that name as a visitor finds it."""
    page = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    page.switch_page(f"pages/{folder}/{name}.py")
    return sound(page.run())


def until(page: AppTest, true: Callable[[], bool], looks: int = 60) -> None:
    """Runs the page again, as its browser would, until something is true of it."""
    for _ in range(looks):
        if true():
            return
        sound(page.run())
    assert true()
