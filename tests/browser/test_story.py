"""The story in a real browser: it is scrolled, linked to and walked by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.page import PHONE, laid_out, settled, until


def scene(page) -> str:
    """The number of the scene that is shown."""
    return page.locator('.player-places [aria-current="step"]').inner_text()


def picture(page) -> str:
    """How many blocks the stack has, and with or without skip."""
    blocks = page.locator(".player-blocks button")
    return f"{blocks.count()} {(blocks.first.get_attribute('aria-label') or '').rsplit(', ', 1)[-1]}"


def scroll(page, to: str) -> None:
    page.mouse.move(300, 500)

    def there() -> bool:
        page.mouse.wheel(0, 150)
        return scene(page) == to

    until(page, there, f"scene {to}")


def test_scrolling_leads_through_the_scenes_and_the_picture_stays(visitors):
    page = visitors("/story")
    until(page, lambda: picture(page) == "2 without residual", "the shallow net")
    until(
        page,
        lambda: "read as 3 ✓" in page.locator(".player-digit").inner_text(),
        "a net that has learned to read the digit",
    )
    for number, shown in (("2", "32 without residual"), ("3", "32 with residual")):
        scroll(page, number)
        until(page, lambda shown=shown: picture(page) == shown, f"the net of scene {number}")
        page.get_by_text("block 1 of 32: RMS over a batch").wait_for()
        outcome = {"2": "they vanish", "3": "they fly out"}[number]
        page.get_by_role("img", name=re.compile(f"10 unseen samples .* after block 32 of 32; .*{outcome}")).wait_for()
        top = page.locator(".player-picture").evaluate("el => el.getBoundingClientRect().top")
        assert 0 < top < 200
    page.wait_for_url("**/story?scene=3")
    until(
        page,
        lambda: "at step 2 the numbers overflow" in page.get_by_role("main").inner_text(),
        "what its training shows",
    )
    page.reload()
    until(page, lambda: scene(page) == "3" and picture(page) == "32 with residual", "the scene after a reload")


def test_on_a_projector_keys_lead_through_the_scenes_without_a_click_and_the_words_are_large(visitors):
    page = visitors("/story?view=projector")
    until(page, lambda: picture(page) == "2 without residual", "the first scene")
    page.get_by_text("→, N or Page Down goes on").wait_for()
    for key, to in (
        ("PageDown", "2"),
        ("n", "3"),
        ("ArrowRight", "4"),
        ("ArrowDown", "5"),
        ("PageUp", "4"),
        ("b", "3"),
    ):
        page.keyboard.press(key)
        until(page, lambda to=to: scene(page) == to, f"scene {to} by {key}")
    page.wait_for_url("**scene=3")
    page.get_by_role("heading", name="Add alone").click()
    page.keyboard.press("ArrowLeft")
    until(page, lambda: scene(page) == "2", "scene 2 after a click")
    assert page.get_by_test_id("stMain").evaluate("el => getComputedStyle(el, '::before').boxShadow") == "none"
    drawing = page.locator(".player-block.large svg")
    scale = drawing.bounding_box()["width"] / float(drawing.get_attribute("viewBox").split()[2])
    assert 12 * scale >= 20, "the words of the block"
    until(page, lambda: type_of(page.locator(".player-curve text").first) >= 15, "a chart in large type")
    laid_out(page, page.get_by_role("button", name=re.compile("through the depth|Pause")).last)


def type_of(text):
    return text.evaluate("el => parseFloat(getComputedStyle(el).fontSize)")


# How many pixels of each scene's words can be read below the picture, and which scene is shown.
READABLE = """() => {
    const foot = document.querySelector(".player-picture").getBoundingClientRect().bottom
    const read = [...document.querySelectorAll(".player-scene")].map((scene) =>
        [...scene.querySelectorAll("h2, p")].reduce((sum, el) => {
            const { top, bottom } = el.getBoundingClientRect()
            return sum + Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, foot))
        }, 0))
    return [read, Number(document.querySelector('.player-places [aria-current="step"]').textContent) - 1]
}"""


@pytest.mark.parametrize("how", [PHONE, {"viewport": {"width": 700, "height": 800}}], ids=["phone", "narrow"])
def test_copying_a_link_covers_no_scene_button(visitors, how):
    page = visitors("/story?scene=3", **how)
    until(page, lambda: scene(page) == "3", "the scene of the link")
    page.get_by_role("button", name="Copy link").click()
    box = page.locator(".copy-box")
    expect(box).to_be_visible()
    laid_out(page, box, *page.locator(".player-places a").all())


def test_on_a_phone_the_words_that_can_be_read_are_those_of_the_picture(visitors):
    page = visitors("/story?scene=2", **PHONE, reduced_motion="reduce")
    until(page, lambda: scene(page) == "2" and picture(page) == "32 without residual", "the scene of the link")
    settled(page).wait_for_timeout(1100)  # in which a link's scene stays, whatever is scrolled
    pane, seen = page.get_by_test_id("stMain"), []
    while scene(page) != "5":
        pane.evaluate("el => el.scrollBy(0, 25)")
        page.wait_for_timeout(60)
        seen.append(page.evaluate(READABLE))
        assert len(seen) < 200, "the end of the story"
    belongs = [read[shown] >= max(read) for read, shown in seen]
    assert sum(belongs) / len(belongs) > 0.9
