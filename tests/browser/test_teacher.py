"""Teacher mode in a browser: keys and large type on a projector, the same on a phone, and a class that is led."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from models.lessons.lessons import LESSONS
from tests.browser.page import PROFILES, button, chart, drawn, link, press, row, settled, until, until_row

LARGE = "&view=projector"
PHONE = {"width": 390, "height": 844}
SLOW = {"depth": 24, "width": 64, "batch": 64, "steps": 1500}  # a run that is not over while a key is pressed


def type_size(page):
    return page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")


def until_exactly(page, step):
    until(page, lambda: row(page) == step, f"exactly step {step} on the scrubber")


def test_player_and_charts_stand_on_a_projector_without_scrolling_and_in_large_type(visitors):
    page = drawn(visitors(link(depth=16, seed=51) + LARGE))
    settled(page)
    until(page, lambda: all(bottom(page, name) <= 720 for name in (*PROFILES, "Loss")), "charts within the screen")
    assert button(page, "Train").bounding_box()["y"] > 0
    assert page.get_by_test_id("stMain").evaluate("el => el.scrollHeight - el.clientHeight") == 0
    assert type_size(page) >= 18
    label = chart(page, "Loss").locator(".xtick text").first
    assert label.evaluate("el => parseFloat(getComputedStyle(el).fontSize)") >= 16
    page.get_by_role("link", name="Start").click()
    until(page, lambda: type_size(page) == 16, "the usual type on another page")


def bottom(page, name):
    box = chart(page, name).bounding_box()
    return box["y"] + box["height"]


def test_keys_do_nothing_while_the_focus_is_in_a_field(visitors):
    page = drawn(visitors(link(seed=53) + LARGE))
    page.get_by_role("combobox", name="Speed").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        settled(page).keyboard.press(key)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    until_row(page, 1)
    until_exactly(page, 1)  # a key of before would have counted


def test_space_presses_a_button_that_was_reached_by_keyboard_and_plays_after_one_that_was_clicked(visitors):
    page = drawn(visitors(link(**SLOW, seed=54) + LARGE))
    button(page, "Step").focus()
    settled(page).keyboard.press("Space")
    until_exactly(page, 1)
    press(settled(page), "Step")
    until_exactly(page, 2)
    settled(page).keyboard.press("Space")
    button(page, "Pause").wait_for()
    until_row(page, 3)


@pytest.mark.parametrize("path", [link(seed=56) + LARGE, "/lessons?lesson=placement&view=projector"])
def test_what_a_projector_shows_fits_a_phone(visitors, path):
    page = visitors(path, viewport=PHONE, color_scheme="dark")
    page.get_by_role("heading", level=1).wait_for()
    page.locator("[data-testid=stMainBlockContainer] :is([data-testid=stWidgetLabel], .stage-speed)").first.wait_for()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.get_by_role("alert").count() == 0


def path_of(page, address):
    """What stands after the server's name in an address."""
    origin = page.evaluate("location.origin")
    assert address.startswith(origin)
    return address.removeprefix(origin)


@pytest.mark.first
def test_a_class_of_three_phones_goes_where_its_teacher_and_the_projectors_keys_lead(visitors):
    """Nobody touches a phone but to guess: what is led, revealed or let go comes to it by itself."""
    teacher = visitors("/teacher?plan=start,vanishing")
    teacher.get_by_role("button", name="Open a class").click()
    teacher.get_by_role("button", name="Reveal").wait_for()
    until(teacher, lambda: "key=" in teacher.url, "the key in the address")
    code = parse_qs(urlsplit(teacher.url).query)["class"][0]
    wall = visitors(path_of(teacher, teacher.get_by_role("link", name="Open the projector").get_attribute("href")))
    qr = wall.get_by_role("img", name="QR code of the link to hand out").bounding_box()
    assert qr["height"] >= 0.3 * 720
    assert qr["y"] + qr["height"] <= 720
    phones = [visitors(f"/join?c={code}", viewport=PHONE) for _ in range(2)]
    late = visitors("/join", viewport=PHONE | {"height": 850})  # a browser of its own; the other two tabs share one
    late.get_by_label("Code of your class").fill(code.lower())
    late.get_by_role("button", name="Join").click()
    pages = (*phones, late)
    for page in pages:
        option = page.get_by_role("button", name="merge").last
        option.wait_for()
        assert option.bounding_box()["height"] >= 44
        assert option.bounding_box()["y"] + 44 <= PHONE["height"], "both questions are on the first screen"
    settled(phones[0]).get_by_role("button", name="merge").last.click()
    phones[0].get_by_text("Your guess is in: merge").wait_for()
    for page in (teacher, wall):
        expect(page.locator(".class-numbers")).to_have_text("3 here · 1 guessed")
    for page in (teacher, wall, *pages):
        assert page.locator(".stage, .stage-chart").count() == 0, "nothing that answers"
    wall.keyboard.press("v")
    for page in (wall, *pages):
        said = page.get_by_text("The class guessed", exact=True)
        said.wait_for()
        assert said.bounding_box()["y"] < 300
        page.locator(".stage-stack").first.wait_for()
    phones[0].get_by_text("you: merge").wait_for()
    wall.keyboard.press("PageDown")
    for page in (wall, *pages):
        page.get_by_role("heading", name=LESSONS["vanishing"].title).wait_for()
    settled(phones[1]).get_by_role("button", name="10 to 1,000").click()
    phones[1].get_by_text("Your guess is in: 10 to 1,000").wait_for()
    phones[1].reload()
    phones[1].get_by_text("Your guess is in: 10 to 1,000").wait_for()
    settled(teacher).get_by_role("button", name="On your own now").click()
    late.get_by_text("on your own now").wait_for()
    settled(late).get_by_role("button", name="This is my guess").wait_for()
    teacher.get_by_role("button", name="Call back").click()
    late.get_by_text("What is your guess?").wait_for()
    settled(teacher).get_by_role("button", name="Close the class").click()
    teacher.get_by_role("button", name="Close it").click()
    late.get_by_text(f"Class {code} is over").wait_for()
