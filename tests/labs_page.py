"""A lab's page in AppTest, opened by its file."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.app_page import by_link, sound, words


def lab(name: str) -> AppTest:
    """The page of that name as a visitor finds it."""
    return by_link(f"{name}.py")


def chosen(page: AppTest, name: str, method: str | None = None) -> AppTest:
    """Normalisation with an example table, and with another method than its own."""
    page.selectbox(key="normalization_preset").set_value(name)
    sound(page.run())
    if method:
        page.selectbox(key="normalization_method").set_value(method)
        sound(page.run())
    return page


def said(page: AppTest) -> str:
    """Its words and its formulas."""
    return words(page) + "\n".join(part.value for part in page.latex)


def until(page: AppTest, true: Callable[[], bool], looks: int = 60) -> None:
    """Runs the page again, as its browser would, until something is true of it."""
    for _ in range(looks):
        if true():
            return
        sound(page.run())
    assert true()
