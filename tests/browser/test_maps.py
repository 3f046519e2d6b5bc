"""The map page in a real browser: a click chooses a cell, and a map of one's own is computed while one looks."""

import re

from playwright.sync_api import expect

from tests.browser.page import address, settled, until


def test_a_click_in_a_panel_chooses_its_cell(visitors):
    page = settled(visitors("/maps"))
    chart = page.get_by_role("figure", name="Map of residual only, final loss, chart")
    chart.scroll_into_view_if_needed()
    plot = chart.locator(".nsewdrag.drag").first
    plot.wait_for()
    box = plot.bounding_box()
    # Six depths to the right, five gains upwards: the fourth column, the second row from below.
    page.mouse.move(box["x"] + box["width"] * 3.5 / 6, box["y"] + box["height"] * 3.5 / 5)
    page.mouse.down()
    page.mouse.up()
    link = page.get_by_role("link", name="Open this run in the playground")
    page.wait_for_function(
        "() => [...document.querySelectorAll('a')].some(a => a.href.includes('depth=16') && "
        "a.href.includes('init_gain=0.7'))"
    )
    assert "norm=none" in link.get_attribute("href")


def test_a_coordinate_check_drifts_and_under_mup_is_flat(visitors):
    page = settled(visitors("/maps?map=coordinates"))
    page.get_by_text("Drifts: after 4 steps").wait_for()
    for title in ("before training", *(f"after {step} step{'s' * (step > 1)}" for step in (1, 2, 3, 4))):
        page.get_by_role("figure", name=f"Sizes over the width {title}, chart").wait_for()
    page.get_by_role("radio", name="muP", exact=True).click()
    page.get_by_text("Flat: after 4 steps").wait_for()
    page.get_by_role("radio", name="the depth").click()
    page.get_by_text("grows as depth^").wait_for()
    page.get_by_role("radio", name="muP + 1/depth").click()
    page.get_by_text("Flat: after 4 steps").wait_for()
    until(page, lambda: "parametrization=mup-1-depth" in address(page), "the choice in the address")
    link = page.get_by_role("link", name="Open the largest of these nets in the playground")
    expect(link).to_have_attribute("href", re.compile("parametrization=muP"))


def test_a_map_of_ones_own_is_computed_while_one_looks_and_can_be_forgotten(visitors):
    page = visitors("/maps?map=your+own")
    for axis, values, said in (("x", "0.003, 0.03", "12 cells, 12 runs"), ("y", "8, 16", "8 cells, 8 runs")):
        page.locator(f".st-key-map_{axis}_values input").fill(values)
        page.keyboard.press("Enter")
        page.get_by_text(said).wait_for()
    page.get_by_role("button", name="Compute it here").click()
    page.get_by_text("8 of 8 runs").wait_for(timeout=120_000)
    page.get_by_text("· finished ·").wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Compute it here").wait_for()
