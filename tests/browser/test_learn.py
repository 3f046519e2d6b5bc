"""The learning pages in a real browser: a lesson by keyboard from guess to verdict, and every page on a phone in the dark."""

import pytest

PAGES = {"lessons": "Lessons", "errors": "Common errors", "glossary": "Glossary"}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_and_fits_a_phone_in_the_dark(visitors, path):
    page = visitors(f"/{path}", viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.get_by_role("heading", level=1, name=PAGES[path]).wait_for()
    page.locator("[data-testid=stMainBlockContainer] [data-testid=stWidgetLabel]").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_role("alert").count() == 0


def test_a_lesson_is_done_by_keyboard_from_the_guess_to_the_verdict(visitors):
    page = visitors("/lessons?lesson=final")
    page.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle = page.get_by_role("button", name="This is my guess")
    settle.and_(page.locator(":enabled")).wait_for()
    settle.focus()
    page.keyboard.press("Enter")
    train = page.get_by_role("button", name="Train both")
    train.wait_for()
    train.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What happened").wait_for(timeout=90_000)
    page.get_by_text("Your guess was right").wait_for()
    page.get_by_role("heading", name="Challenge").wait_for()
    page.get_by_text("class Net(nn.Module)").wait_for()
    assert page.get_by_role("alert").count() == 0
