"""The other pages in a real browser: the comparison trains on shared axes, a click on a block opens it."""

from urllib.parse import quote

from tests.browser.page import button, drawn, line, press, until

SMALL = "depth=3&width=16&batch=16&steps=40"


def test_two_columns_train_on_shared_axes_and_the_table_says_what_differs(visitors):
    page = visitors(f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&residual=false')}")
    drawn(page)
    page.get_by_role("cell", name="Residual").wait_for()
    press(page, "Train all")
    until(page, lambda: len(line(page, "Loss")) == len(line(page, "Loss", "dash")) == 40, "two losses to the end")
    button(page, "Train all").wait_for()
    first, second = line(page, "Loss"), line(page, "Loss", "dash")
    assert first != second


def test_a_click_on_a_block_opens_it_and_its_skip_can_be_cut_there(visitors):
    page = visitors(f"/anatomy?{SMALL}")
    drawn(page, "Activation by depth")
    whole = line(page, "Activation by depth")
    page.get_by_role("button", name="Block 2: skip, norm").click()
    page.get_by_role("button", name="Block 2: skip, norm", pressed=True).wait_for()
    page.get_by_text("Residual here").click()
    page.get_by_role("button", name="Block 2: no skip, norm").wait_for()
    page.wait_for_function("() => location.search.includes('overrides=2.residual.false')")
    page.wait_for_function(
        "whole => { const el = document.querySelector('[aria-label^=\"Activation by depth\"]');"
        " const now = el?.data?.find((t) => t.name === 'as set'); return now && now.y[2] !== whole[2] }",
        arg=whole,
    )
    assert line(page, "Activation by depth", "dot") == whole


def test_the_start_page_trains_four_nets_after_one_button(visitors):
    page = visitors("/")
    button(page, "Train all four").wait_for()
    press(page, "Train all four")
    page.get_by_text("Diverged at step").wait_for()
    button(page, "Pause").wait_for()
    assert page.get_by_role("heading", level=1).count() == 1
    press(page, "Pause")
    button(page, "Train all four").wait_for()
