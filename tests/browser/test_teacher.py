"""Teacher mode in a browser: keys and large type on a projector,
the same on a phone, and a class that guesses in other tabs.
"""

import pytest
from playwright.sync_api import expect

from components.shell.qr import qr_code
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


@pytest.mark.parametrize("path", [link(seed=56) + LARGE, "/lessons?lesson=placement&view=projector&class=nobody"])
def test_what_a_projector_shows_fits_a_phone(visitors, path):
    page = visitors(path, viewport=PHONE, color_scheme="dark")
    page.get_by_role("heading", level=1).wait_for()
    page.locator("[data-testid=stMainBlockContainer] :is([data-testid=stWidgetLabel], .stage-speed)").first.wait_for()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.get_by_role("alert").count() == 0


def opened(visitors, code):
    """A teacher's page with a class of this code, and the path of the lesson's link that it shows."""
    teacher = visitors("/teacher")
    field = teacher.get_by_role("textbox", name="Class code")
    field.fill(code)
    field.press("Enter")
    settled(teacher).get_by_role("button", name="Open the class").click()
    teacher.get_by_text("no guess yet").wait_for()
    return teacher, path_of(teacher, teacher.get_by_test_id("stCode").first.inner_text().strip())


def path_of(page, address):
    """What stands after the server's name in an address."""
    origin = page.evaluate("location.origin")
    assert address.startswith(origin)
    return address.removeprefix(origin)


def guess(page, at):
    page.get_by_test_id("stRadioGroup").locator("label").nth(at).click()
    settle = page.get_by_role("button", name="This is my guess")
    expect(settle).to_be_enabled()
    settle.click()


def test_the_board_on_a_projector_moves_while_the_nets_stand_still_and_does_not_count_the_projectors_guess(visitors):
    _, link_ = opened(visitors, "browser-2")
    projector = visitors(f"{link_}&view=projector")
    guess(projector, 1)
    button(projector, "Train").wait_for()
    projector.get_by_text("no guess yet").wait_for()
    guess(visitors(link_), 0)
    projector.get_by_text("1 guess, 1 for").wait_for()
    bars = projector.get_by_role("progressbar")
    assert [float(one.get_attribute("aria-valuenow")) for one in bars.all()][:2] == [25, 0]


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_a_projector_shows_the_way_to_join_on_its_first_screen_until_the_nets_are_shown(visitors, size):
    _, path = opened(visitors, f"browser-{size[1]}")
    page = visitors(f"{path}&view=projector", viewport=dict(zip(("width", "height"), size, strict=True)))
    code = page.get_by_role("img", name="QR code of the link to hand out")
    box = code.bounding_box()
    assert box["y"] + box["height"] <= size[1]
    assert box["height"] >= 0.3 * size[1]
    link_ = f"{page.evaluate('location.origin')}/lessons?hide=answers,lessons&class=browser-{size[1]}"
    assert qr_code(link_, "").partition("src=")[2] == f'"{code.get_attribute("src")}">'
    page.get_by_text(link_.partition("//")[2].replace(":", ":\u2060")).wait_for()
    label = page.get_by_test_id("stProgress").locator("p").first
    text = page.get_by_test_id("stRadioGroup").locator("label p").first
    sizes = [one.evaluate("el => parseFloat(getComputedStyle(el).fontSize)") for one in (label, text)]
    assert sizes[0] >= sizes[1]
    guess(page, 0)
    expect(code).to_have_count(0)


def test_a_class_that_is_closed_in_one_tab_is_not_made_again_by_the_poll_of_another(visitors):
    teacher, _ = opened(visitors, "browser-3")
    other = visitors(path_of(teacher, teacher.url))
    other.get_by_text("no guess yet").wait_for()
    teacher.get_by_role("button", name="Close the class").click()
    other.get_by_text("Class browser-3 is not open").wait_for()
    expect(other.get_by_role("textbox", name="Class code")).to_have_value("browser-3")
