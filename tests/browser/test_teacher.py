"""Teacher mode in a browser: keys and large type on a projector, the same on a phone, and a class that is led."""

import re
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from components.shell.qr import qr_code_html
from models.lessons.lessons import LESSONS
from tests.browser.page import (
    PROFILES,
    address,
    button,
    chart,
    drawn,
    laid_out,
    link,
    listens,
    press,
    row,
    settled,
    until,
    until_row,
)
from tests.load.server import serving
from tests.service.test_proxies import BASE, NGINX, nginx, replicas  # noqa: F401

LARGE = "&view=projector"
PHONE = {"width": 390, "height": 844}
SLOW = {"depth": 24, "width": 64, "batch": 64, "steps": 1500}  # a run that is not over while a key is pressed


def type_size(page):
    return page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")


def until_exactly(page, step):
    until(page, lambda: row(page) == step, f"exactly step {step} on the scrubber")


@pytest.mark.parametrize(("width", "height", "least"), [(1280, 720, 16), (1920, 1080, 20)])
def test_player_and_charts_stand_on_a_projector_without_scrolling_and_in_large_type(visitors, width, height, least):
    """`least`: pixels of the type of a chart."""
    page = drawn(visitors(link(depth=16, seed=51) + LARGE, viewport={"width": width, "height": height}))
    settled(page)
    laid_out(page, button(page, "Train"), *(chart(page, name) for name in (*PROFILES, "Loss")))
    main, size = page.get_by_test_id("stMain"), "el => parseFloat(getComputedStyle(el).fontSize)"
    until(page, lambda: main.evaluate("el => el.scrollHeight - el.clientHeight") == 0, "a page without scrolling")
    until(page, lambda: type_size(page) >= 18, "large type")
    tick, table = chart(page, "Loss").locator(".xtick text").first, page.get_by_role("button", name="Table of Loss")
    until(page, lambda: tick.evaluate(size) >= least, "large ticks")
    until(page, lambda: table.evaluate(size) >= 15, "a large button")
    page.get_by_role("link", name="Start").click()
    until(page, lambda: type_size(page) == 16, "the usual type on another page")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_the_open_block_of_a_transformer_lies_over_nothing_on_a_projector(visitors, width, height):
    how = {"viewport": {"width": width, "height": height}}
    page = drawn(visitors(link(net="transformer", view="projector"), **how), *PROFILES)
    page.locator(".player-headline:not(:empty)").first.wait_for()
    page.get_by_role("button", name="block 1", exact=True).click()
    title, block, verdict = (page.locator(one).first for one in ("h1", ".player-opened svg", ".player-headline"))
    padding = title.evaluate("el => parseFloat(getComputedStyle(el).paddingBottom)")
    above = title.bounding_box()
    assert above["y"] + above["height"] - padding <= block.bounding_box()["y"] + 1
    laid_out(page, block, verdict)


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
    page.locator("[data-testid=stMainBlockContainer] :is([data-testid=stWidgetLabel], .player-speed)").first.wait_for()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.get_by_role("alert").count() == 0


def path_of(page, address):
    """What stands after the server's name in an address."""
    origin = page.evaluate("location.origin")
    assert address.startswith(origin)
    return address.removeprefix(origin)


def opened(visitors, plan):
    """A teacher's page with an open class, and the class's code."""
    teacher = visitors(f"/teacher?plan={plan}")
    teacher.get_by_role("button", name="Open a class").click()
    teacher.get_by_role("button", name="Reveal").wait_for()
    until(teacher, lambda: "key=" in teacher.url, "the key in the address")
    return teacher, parse_qs(urlsplit(teacher.url).query)["class"][0]


def projector_of(visitors, teacher):
    return visitors(path_of(teacher, teacher.get_by_role("link", name="Open the projector").get_attribute("href")))


def large_and_small_again(wall):
    large = wall.locator(".class-over img")
    listens(wall).keyboard.press("q")
    until(wall, lambda: large.is_visible() and large.bounding_box()["height"] >= 0.6 * 720, "the code, large again")
    listens(wall).keyboard.press("q")
    large.wait_for(state="hidden")


def diagrams_are_whole(page, count):
    """Each as wide as its place at most, and nothing of it is scrolled to."""
    expect(page.locator(".block-diagram")).to_have_count(count)
    place = page.locator(".diagram-place")
    assert place.evaluate("el => el.scrollWidth <= el.clientWidth")
    expect(place).to_be_in_viewport(ratio=0.99)


def test_a_class_of_three_phones_goes_where_its_teacher_and_the_projectors_keys_lead(visitors):
    """Nobody touches a phone but to guess: what is led, revealed or let go comes to it by itself."""
    teacher, code = opened(visitors, "start,vanishing")
    wall = projector_of(visitors, teacher)
    code_drawn = wall.locator(".class-join img")
    expect(wall.locator(".class-numbers")).to_have_text("Nobody is here yet")
    until(wall, lambda: code_drawn.bounding_box()["height"] >= 0.4 * 720, "a code that can be scanned from far away")
    expect(code_drawn).to_be_in_viewport(ratio=0.99)
    phones = [visitors(f"/join?c={code}", viewport=PHONE) for _ in range(2)]
    late = visitors("/join", viewport=PHONE | {"height": 850})  # a browser of its own; the other two tabs share one
    late.get_by_label("Code of your class").fill(code.lower())
    late.get_by_role("button", name="Join").click()
    pages = (*phones, late)
    for page in pages:
        option = page.get_by_role("button", name="merge").last
        option.wait_for()
        assert option.bounding_box()["height"] >= 44
        expect(option).to_be_in_viewport(ratio=0.99)
        for way in ("stTopNav", "stExpandSidebarButton"):
            assert not page.get_by_test_id(way).is_visible(), "it would lead nowhere"
    settled(phones[0]).get_by_role("button", name="merge").last.click()
    phones[0].get_by_text("Your guess is in: merge").wait_for()
    for page in (teacher, wall):
        expect(page.locator(".class-numbers")).to_have_text("0 of 2 answered question 1, 1 question 2")
    expect(teacher.locator(".class-bars li").filter(has_text="merge: 1")).to_have_count(1)
    assert wall.locator(".class-bars").count() == 0, "the guesses are the teacher's alone"
    until(wall, lambda: code_drawn.bounding_box()["height"] <= 0.25 * 720, "a small code, once students have joined")
    large_and_small_again(wall)
    assert teacher.locator(".player").count() == 0
    for page in (wall, *pages):
        assert page.locator(".player-curve").count() == 0, "nothing that answers"
        expect(page.locator(".sample-paths-net .player-heading")).to_have_text(["Neither", "Residual and norm"])
    listens(wall).keyboard.press("v")
    for page in (wall, *pages):
        said = page.get_by_text("The class guessed", exact=True)
        said.wait_for()
        assert said.bounding_box()["y"] < 300
        page.locator(".player-curve").first.wait_for()
        expect(page.locator(".class-bars .right")).to_have_text(
            [re.compile("^✓ fly out: 0"), re.compile("^✓ merge: 1")]
        )
    phones[0].get_by_text("merge: 1 (your guess)").wait_for()
    listens(wall).keyboard.press("PageDown")
    for page in (wall, *pages):
        page.get_by_role("heading", name=LESSONS["vanishing"].title).wait_for()
        diagrams_are_whole(page, 2)
    settled(phones[1]).get_by_role("button", name="10 to 1,000").click()
    phones[1].get_by_text("Your guess is in: 10 to 1,000").wait_for()
    phones[1].reload()
    phones[1].get_by_text("Your guess is in: 10 to 1,000").wait_for()
    settled(teacher).get_by_role("button", name="Let students explore").click()
    late.get_by_text("explore by yourself").wait_for()
    settled(late).get_by_role("button", name="This is my guess").wait_for()
    teacher.get_by_role("button", name="Call back").click()
    late.get_by_text("What is your guess?").wait_for()


def test_on_the_wall_what_trains_is_in_sight_and_what_is_deleted_comes_back(visitors):
    teacher, code = opened(visitors, "start,vanishing")
    wall, phone = projector_of(visitors, teacher), visitors(f"/join?c={code}", viewport=PHONE)
    wall.locator(".class-join img").wait_for()
    listens(wall).keyboard.press("v")
    loss, slider = wall.get_by_label(re.compile("^Loss, neither")), wall.locator(".sample-paths-bar")
    loss.wait_for()
    for height, width in ((1080, 1920), (720, 1280)):
        wall.set_viewport_size({"width": width, "height": height})
        expect(slider).to_be_in_viewport(ratio=1)
    expect(loss).not_to_be_in_viewport(ratio=0.99)
    settled(wall).keyboard.press("Space")
    expect(loss).to_be_in_viewport(ratio=0.99)  # without a hand that scrolls
    assert loss.bounding_box()["height"] >= 720 / 5
    wall.keyboard.press("Space")
    listens(wall).keyboard.press("n")
    settled(phone).get_by_role("button", name="10 to 1,000").click()
    guess = phone.get_by_text("Your guess is in: 10 to 1,000")
    guess.wait_for()
    settled(teacher).get_by_role("button", name="Clear the board").click()
    teacher.get_by_role("button", name="Delete them").click()
    phone.get_by_text("What is your guess?").wait_for()
    teacher.get_by_role("button", name="Delete them").wait_for(state="hidden")
    teacher.get_by_role("button", name="Undo").click()
    guess.wait_for()
    settled(teacher).get_by_role("button", name="Close the class").click()
    teacher.get_by_role("button", name="Close it").click()
    phone.get_by_text(f"Class {code} has ended").wait_for()
    teacher.get_by_role("button", name="Undo").click()
    guess.wait_for()


@pytest.mark.parametrize("base", ["playground", "labs", "ml-labs"])
def test_below_a_page_name_starts_code_leads_in(visitors, base):
    with serving(STREAMLIT_SERVER_BASE_URL_PATH=base) as server:
        server.wait_for(b'"trainer"', f"/{base}/healthz")
        teacher = visitors(f"/{base}/teacher?plan=start", server=server.url)
        button(teacher, "Open a class").click()
        wall = visitors.tab()
        wall.goto(teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
        wall.locator(".class-join img").wait_for()
        code = parse_qs(urlsplit(wall.url).query)["class"][0]
        join = f"{server.url}/{base}/join?c={code}"
        assert wall.locator(".class-join img").get_attribute("src") in qr_code_html(join)
        expect(wall.locator(".class-join")).to_contain_text(f"{urlsplit(join).netloc}/{base}/join with the code {code}")
        with urlopen(join) as page:
            assert page.url == f"{server.url}/{base}/?class={code}"
        for tab in (wall, teacher):
            tab.close()
            visitors.tabs.remove(tab)


@pytest.mark.skipif(NGINX is None, reason="no nginx here")
def test_one_press_opens_a_class_behind_nginx(visitors, tmp_path, replicas):  # noqa: F811
    with nginx(tmp_path, replicas) as url:
        teacher = visitors("/teacher?plan=start", server=url)
        button(teacher, "Open a class").click()
        button(teacher, "Reveal").wait_for()
        until(teacher, lambda: "key=" in address(teacher), "the key in the address")
        code = parse_qs(urlsplit(address(teacher)).query)["class"][0]
        phone = visitors(f"/join?c={code}", server=url, viewport=PHONE)
        phone.get_by_role("button", name="merge").last.wait_for()
        with urlopen(f"{url}/healthz") as health:
            assert b'"trainer"' in health.read()
        for tab in (phone, teacher):
            tab.close()
            visitors.tabs.remove(tab)
