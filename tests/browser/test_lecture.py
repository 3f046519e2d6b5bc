"""A lecture from a page added by one press to homework: teacher, wall, laptop and phone, each a browser of its own."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.page import address, drawn, listens, settled, until
from tests.browser.person import BEGUN_AGAIN

PHONE = {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=document.title='taken'> **Which?**"


def goes(page: Any, name: str) -> None:
    settled(page).get_by_role("navigation", name="App pages").get_by_role("link", name=name, exact=True).click()


def test_a_page_added_by_a_press_is_shown_to_everybody(visitors):
    teacher = visitors("/teacher?plan=start")
    teacher.get_by_role("button", name="Open a class").click()
    teacher.get_by_role("button", name="Reveal").wait_for()
    until(teacher, lambda: "key=" in teacher.url, "the key in the address")
    (code,) = parse_qs(urlsplit(teacher.url).query)["class"]
    projector = teacher.get_by_role("link", name="Open the projector").get_attribute("href")
    wall = visitors("/" + projector.partition("://")[2].partition("/")[2], viewport={"width": 1920, "height": 1080})
    phone = visitors(f"/join?c={code}", viewport=PHONE)
    laptop = visitors(f"/join?c={code}", viewport={"width": 1366, "height": 768})
    numbers = teacher.locator(".class-numbers")
    expect(numbers).to_have_text("0 of 2 answered question 1, 0 question 2")
    goes(teacher, "Compare")
    drawn(teacher, "Loss")
    settled(teacher).evaluate(BEGUN_AGAIN)
    teacher.get_by_role("button", name="Add to the plan").click()
    teacher.wait_for_function("() => window.begunAgain")
    settled(teacher).go_back()
    plan = teacher.get_by_role("textbox", name="Plan of the lesson")
    until(teacher, lambda: "compare?a=" in plan.input_value(), "the page in the plan")
    settled(teacher).get_by_role("button", name="Next").click()
    for page in (wall, phone, laptop):
        drawn(page, "Loss")
        until(page, lambda page=page: address(page).startswith("/compare?"), "the page that was added")
    plan.fill("start\nnowhere\nskip, 5 min\n> Say why.")
    plan.press("Control+Enter")
    teacher.get_by_text("“nowhere” is no page, lesson or question; it is left out.").wait_for()
    file = {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"# Mine\r\n\r\nskip\r\n? One?\r\n- a\r\n* b\r\n"}
    settled(teacher).locator(".text-file input").first.set_input_files(file)
    until(teacher, lambda: plan.input_value() == "# Mine\n\nskip\n\n? One?\n- a\n* b", "the plan in the file")
    teacher.get_by_text("A question of your own").click()
    teacher.get_by_role("textbox", name="Question", exact=True).fill(HOSTILE)
    teacher.get_by_role("textbox", name="Options").fill("<b>one</b>\n* two")
    teacher.get_by_role("textbox", name="Options").press("Control+Enter")
    settled(teacher).get_by_role("button", name="Ask it now").click()
    for page in (wall, phone, laptop):
        page.get_by_role("heading", name="Which?").wait_for()
        assert page.evaluate("[document.title, document.querySelectorAll('h1 img, h1 strong').length]")[1] == 0
    settled(phone).get_by_role("button", name="two").click()
    phone.get_by_text("Your guess is in: two").wait_for()
    expect(numbers).to_have_text("1 of 2 answered")
    expect(teacher.locator(".class-bars li")).to_have_text(["<b>one</b>: 0", "two: 1"])
    phone.close()
    expect(numbers).to_have_text("0 of 1 answered, 1 answered and left")
    settled(laptop).get_by_role("button", name="one").click()
    expect(numbers).to_have_text("1 of 1 answered, 1 answered and left")
    listens(wall).keyboard.press("v")
    for page in (wall, laptop):
        expect(page.locator(".class-bars li")).to_have_text([re.compile("^<b>one</b>: 1"), re.compile("^✓ two: 1")])
    assert "taken" not in [page.title() for page in (teacher, wall, laptop)]


def test_an_edited_address_does_not_show_what_homework_hides(visitors):
    teacher = visitors("/teacher", viewport={"width": 1280, "height": 800})
    teacher.get_by_text("A link without a class, and homework").click()
    link = teacher.get_by_text(re.compile(r"/homework\?t="))
    token = link.inner_text().partition("?t=")[2].strip()
    code = teacher.get_by_text(re.compile("Code that shows them")).locator("strong").inner_text()
    student = visitors(f"/homework?t={token}", viewport=PHONE)
    student.get_by_role("heading", name="Homework", exact=True).wait_for()
    for path in ("/lessons?lesson=vanishing", "/lessons?lesson=vanishing&hide=", "/lessons?homework=none"):
        student.goto(student.evaluate("location.origin") + path)
        settled(student).get_by_role("heading", name="Homework", exact=True).wait_for()
        assert student.get_by_role("combobox", name="Lesson").count() == 0
    student.get_by_role("radio").first.check(force=True)
    settled(student).get_by_role("button", name="This is my guess").click()
    student.get_by_text("Your guess:").wait_for()
    student.get_by_role("textbox", name="Name, or a nickname").fill("Ada")
    student.get_by_role("textbox", name="Name, or a nickname").press("Enter")
    text = student.locator("pre").filter(has_text="Signature: ")
    text.wait_for()
    teacher.get_by_text("Check what was handed in").click()
    teacher.get_by_role("textbox", name="Or paste them").fill(text.inner_text())
    teacher.get_by_role("textbox", name="Or paste them").press("Control+Enter")
    teacher.get_by_test_id("stDataFrame").wait_for()
    student.get_by_role("textbox", name=re.compile("^Your teacher's code")).fill(code)
    student.get_by_role("textbox", name=re.compile("^Your teacher's code")).press("Enter")
    with student.context.expect_page() as left:
        settled(student).get_by_role("link", name="Leave the homework").click()
    free = left.value
    until(free, lambda: "homework" not in address(free), "an address without homework")
    free.get_by_role("combobox", name="Lesson").wait_for()
    assert settled(free).get_by_role("heading", name="Homework", exact=True).count() == 0
    free.close()
