"""A lab's page in AppTest, opened by its file."""

from streamlit.testing.v1 import AppTest

from tests.app_page import APP, PATIENCE, sound


def lab(name: str, folder: str = "labs") -> AppTest:
    """The page of that name as a visitor finds it."""
    page = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    page.switch_page(f"pages/{folder}/{name}.py")
    return sound(page.run())
