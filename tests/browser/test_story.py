"""The story in a real browser: it is scrolled, linked to, walked by keyboard, and its last net is the reader's."""

import re

from tests.browser.page import PHONE, address, settled, until


def scene(page) -> str:
    """The number of the scene that is shown."""
    return page.locator('.stage-places [aria-current="step"]').inner_text()


def picture(page) -> str:
    """How many blocks the living stack has, and with or without skip."""
    blocks = page.locator(".stage-blocks button")
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
        lambda: "read as 3 ✓" in page.locator(".stage-digit").inner_text(),
        "a net that has learned to read the digit",
    )
    for number, shown in (("2", "32 without residual"), ("3", "32 with residual")):
        scroll(page, number)
        until(page, lambda shown=shown: picture(page) == shown, f"the net of scene {number}")
        fate = {"2": "they vanish", "3": "they fly out"}[number]
        page.get_by_role("img", name=re.compile(f"10 unseen samples .* after block 32 of 32; .*{fate}")).wait_for()
        top = page.locator(".stage-picture").evaluate("el => el.getBoundingClientRect().top")
        assert 0 < top < 200
    assert address(page) == "/story"
    until(
        page,
        lambda: "at step 2 the numbers overflow" in page.get_by_role("main").inner_text(),
        "what its training shows",
    )


def test_a_link_opens_a_scene_and_the_keyboard_goes_on_to_the_reader_s_own_net(visitors):
    page = visitors("/story?scene=3", reduced_motion="reduce")
    until(page, lambda: scene(page) == "3" and picture(page) == "32 with residual", "the scene of the link")
    page.get_by_role("navigation", name="Scenes").get_by_role("link", name="6").press("Enter")
    until(page, lambda: picture(page) == "24 with residual", "the reader's net")
    page.wait_for_url("**scene=6")
    depth = page.get_by_role("slider", name="Depth")
    depth.focus()
    for _ in range(3):
        depth.press("ArrowRight")
    until(page, lambda: picture(page) == "27 with residual", "27 blocks")
    page.wait_for_url("**depth=27**")
    page.get_by_role("checkbox", name="Residual").press("Space")
    until(page, lambda: picture(page) == "27 without residual", "no skip")
    assert scene(settled(page)) == "6"
    page.reload()
    until(page, lambda: scene(page) == "6" and picture(page) == "27 without residual", "the same net")


def test_on_a_phone_the_picture_leaves_the_lower_half_to_a_scene_s_words_and_controls(visitors):
    page = visitors("/story?scene=6", **PHONE)
    until(page, lambda: scene(page) == "6" and picture(page) == "24 with residual", "the scene of the link")
    foot = settled(page).locator(".stage-picture").evaluate("el => el.getBoundingClientRect().bottom")
    assert foot < 422
    heading, control = (
        page.get_by_role("heading", name="Break it yourself"),
        page.get_by_role("checkbox", name="Residual"),
    )
    until(page, lambda: foot - 1 <= heading.bounding_box()["y"], "its heading below the picture")
    until(page, lambda: control.bounding_box()["y"] < 844, "the reader's net on the same screen")
