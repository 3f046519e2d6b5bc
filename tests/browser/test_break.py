"""The net of Start and of the playground: its drawing is pressed, dragged, touched and reached by keys, and shows what
was measured."""

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from models.spec import RunConfig
from models.training import profile_at_init
from tests.browser.page import PHONE, address, finger, settled, until
from tests.browser.person import Person

PLACES = pytest.mark.parametrize("path", ["/?part=break", "/playground"], ids=["start", "playground"])
NEITHER = RunConfig(residual=False, norm="none")
TRAIN = "Train this net"
VANISHES = "Vanishing: signal ÷62,000, gradient ÷64,000."


def control(page: Any, role: str, name: str) -> Any:
    return page.locator(".player-stack.breaks").get_by_role(role, name=name, exact=isinstance(name, str))


def block(page: Any, number: int) -> Any:
    return control(page, "button", re.compile(f"^block {number}:"))


def said(page: Any) -> Any:
    return page.locator(".player-said")


def numbers(page: Any, number: int) -> list[float]:
    """Signal and gradient of a block, as the drawing names them."""
    label = block(page, number).get_attribute("aria-label")
    found = re.search(r"signal ([\d.,·⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+), gradient ([\d.,·⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+),", label)
    plain = [text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", ",")) for text in found.groups()]
    return [float(text.replace("·10", "e")) for text in plain]


def shows(page: Any, cfg: RunConfig) -> None:
    """Waits until the drawing shows a net, and checks its numbers against a measurement of its own."""
    expect(control(page, "switch", "residual")).to_have_attribute("aria-checked", str(cfg.residual).lower())
    expect(control(page, "switch", "norm")).to_have_attribute("aria-checked", str(cfg.norm != "none").lower())
    expect(control(page, "slider", "Depth")).to_have_attribute("aria-valuenow", str(cfg.depth))
    profile = profile_at_init(cfg)
    for number in (1, cfg.depth // 2, cfg.depth):
        measured = [float(profile.act_rms[0, number]), float(profile.grad_rms[0, number])]
        until(page, lambda n=number, m=measured: numbers(page, n) == pytest.approx(m, rel=0.006), f"block {number}")


@pytest.mark.first
def test_a_visitor_breaks_a_net_and_finds_it_again(visitors):
    visitor = Person(visitors("/")).arrives("Start", "Break it yourself")
    page = visitor.tab
    shows(page, RunConfig())
    control(page, "switch", "norm").click()
    shows(page, RunConfig(norm="none"))
    control(page, "switch", "residual").click()
    shows(page, NEITHER)
    expect(said(page)).to_have_text(VANISHES)
    until(page, lambda: "residual=false&norm=none" in visitor.address, "the net in the address")
    visitor.goes_back("Start")
    shows(page, RunConfig(norm="none"))
    control(page, "switch", "residual").click()
    shows(page, NEITHER)
    visitor.presses(TRAIN)
    stuck = re.compile(r"^Stuck: after 300 steps, \d+% of unseen digits are right\.$")
    expect(said(page)).to_have_text(stuck)
    digits = page.get_by_role("img", name=re.compile(r"^A \d, read as \d"))
    expect(digits).to_have_count(10)
    visitor.goes("Glossary").goes("Start")
    expect(said(page)).to_have_text(stuck)
    expect(page.get_by_role("heading", name="Break it yourself")).to_be_in_viewport()
    page.reload()
    visitor.arrives("Start")
    shows(page, NEITHER)
    other = visitors(visitor.address, viewport={"width": 1280, "height": 800})
    shows(other, NEITHER)
    expect(said(other), "what others have trained is not told").to_have_text(VANISHES)
    visitor.follows("Open in the playground", "Playground", "residual")
    assert visitor.address == "/playground?residual=false&norm=none"


# Path and query of another page, which Streamlit tells a browser apart from each other.
ARRIVES = """() => {
    history.pushState(null, "", "/glossary")
    history.pushState(null, "", "/")
    history.replaceState(null, "", "/?part=break")
}"""


def test_a_part_is_scrolled_to_whenever_it_is_named(visitors):
    page = settled(visitors("/"))
    heading = page.get_by_role("heading", name="Break it yourself")
    expect(heading).not_to_be_in_viewport()
    page.evaluate(ARRIVES)
    expect(heading).to_be_in_viewport()


@PLACES
def test_a_block_is_taken_out_and_put_back(visitors, path):
    page = visitors(path)
    block(page, 5).click()
    shows(page, RunConfig(overrides=((5, "identity", True),)))
    until(page, lambda: "overrides=5.identity.true" in address(page), "the block in the address")
    expect(block(page, 5)).to_have_attribute("aria-label", re.compile("taken out; put it back$"))
    block(page, 5).click()
    shows(page, RunConfig())
    expect(block(page, 5)).to_have_attribute("aria-label", re.compile("take it out$"))


@PLACES
def test_a_press_is_measured_while_the_page_is_busy(visitors, path):
    page, told, held = visitors.tab(), [], []

    def through(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda message: told.append((server, message)) if held else server.send(message))

    page.route_web_socket(re.compile("/_stcore/stream$"), through)
    page.goto(visitors.server.url + path)
    shows(settled(page), RunConfig())
    held.append(page)
    control(page, "switch", "norm").click()
    block(page, 7).click()
    broken = RunConfig(norm="none", overrides=((7, "identity", True),))
    shows(page, broken)
    expect(block(page, 7)).to_have_attribute("aria-label", re.compile("taken out"))
    assert "norm" not in address(page)
    held.clear()
    for server, message in told:
        server.send(message)
    until(page, lambda: "norm=none" in address(page) and "overrides" in address(page), "the net in the address")
    shows(settled(page), broken)
    control(page, "switch", "norm").click()
    shows(page, replace(broken, norm="layer norm"))


@PLACES
def test_two_quick_presses_are_both_heard(visitors, path):
    page = settled(visitors(path))
    shows(page, RunConfig())
    page.evaluate("""() => {
        for (const line of document.querySelectorAll(".player-line")) line.click()
        for (const index of [2, 3]) document.querySelectorAll(".breaks .player-blocks button")[index].click()
    }""")
    out = tuple((number, "identity", True) for number in (3, 4))
    shows(page, RunConfig(residual=False, norm="none", overrides=out))


@PLACES
def test_the_right_edge_is_dragged_to_the_depth(visitors, path):
    page = settled(visitors(path))
    edge = control(page, "slider", "Depth")
    box, last = edge.bounding_box(), block(page, 32).bounding_box()
    x, y = box["x"] + 4, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 20 * last["width"], y, steps=8)
    page.mouse.up()
    shows(page, RunConfig(depth=12))
    assert edge.bounding_box()["x"] == pytest.approx(block(page, 12).bounding_box()["x"] + last["width"], abs=4)


@PLACES
def test_keys_alone_break_a_net_and_keep_the_focus(visitors, path):
    page = settled(visitors(path, reduced_motion="reduce"))
    shows(page, RunConfig())
    control(page, "switch", "residual").focus()
    page.keyboard.press("Space")
    shows(page, RunConfig(residual=False))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shows(page, NEITHER)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    out = {"residual": False, "norm": "none", "overrides": ((2, "identity", True),)}
    shows(page, RunConfig(**out))
    assert page.evaluate("document.activeElement.ariaLabel").startswith("block 2:")
    page.keyboard.press("Tab")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowRight")
    shows(page, RunConfig(depth=29, **out))


@PLACES
def test_a_finger_breaks_a_net_on_a_phone(visitors, path):
    page = settled(visitors(path, **PHONE))
    shows(page, RunConfig())
    targets = [control(page, "switch", name) for name in ("residual", "norm")]
    targets += [control(page, "slider", "Depth"), block(page, 1), block(page, 32)]
    for target in targets:
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["viewport"]["width"]
    control(page, "switch", "norm").tap()
    shows(page, RunConfig(norm="none"))
    block(page, 3).tap()
    out = ((3, "identity", True),)
    shows(page, RunConfig(norm="none", overrides=out))
    edge, to = (one.bounding_box() for one in (control(page, "slider", "Depth"), block(page, 21)))
    starts, ends = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (edge, to))
    finger(page, [tuple(a + (b - a) * at / 10 for a, b in zip(starts, ends, strict=True)) for at in range(11)])
    shows(page, RunConfig(depth=20, norm="none", overrides=out))


@pytest.mark.parametrize("how", [{}, PHONE], ids=["laptop", "phone"])
def test_nothing_moves_when_a_net_is_broken_and_trained(visitors, how):
    page = settled(visitors("/?part=break&depth=4", **how))
    shows(page, RunConfig(depth=4))
    parts = [".player-said", ".breaks canvas", ".player-digits", "[data-kind=curve]"]
    places = "(parts) => parts.map((one) => JSON.stringify(document.querySelector(`.st-key-player_net ${one}`).getBoundingClientRect()))"
    before = page.evaluate(places, parts)
    control(page, "switch", "residual").click()
    shows(page, RunConfig(depth=4, residual=False))
    assert page.evaluate(places, parts) == before
    page.get_by_role("button", name=TRAIN).click()
    expect(said(page)).to_have_text(re.compile("^Learned"))
    assert page.evaluate(places, parts) == before


def test_an_old_link_of_the_story_leads_to_its_net(visitors):
    page = visitors("/story?scene=6&depth=7&residual=true&norm=false")
    page.wait_for_url("**/?*part=break*")
    shows(page, RunConfig(depth=7, norm="none"))


def test_the_story_ends_at_the_net(visitors):
    page = settled(visitors("/story?scene=5"))
    page.get_by_role("button", name="Break one yourself").click()
    expect(page.get_by_role("heading", name="Break it yourself")).to_be_in_viewport()


def test_the_controls_address_and_back_follow_the_drawing(visitors):
    page = settled(visitors("/playground"))
    shows(page, RunConfig())
    norm = page.get_by_role("combobox", name="Norm", exact=True)
    sidebar = page.get_by_test_id("stSidebar")
    control(page, "switch", "norm").click()
    control(page, "switch", "residual").click()
    shows(page, NEITHER)
    until(page, lambda: address(page) == "/playground?residual=false&norm=none", "the net in the address")
    expect(norm).to_have_value("none")
    expect(sidebar.get_by_role("switch", name="Residual")).not_to_be_checked()
    sidebar.get_by_text("Residual").click()
    shows(page, RunConfig(norm="none"))
    page.go_back()
    shows(page, NEITHER)
    page.reload()
    shows(page, NEITHER)


def test_an_opened_block_has_its_own_residual(visitors):
    page = settled(visitors("/playground?depth=8"))
    shows(page, RunConfig(depth=8))
    opener = control(page, "button", "block 1")
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Block diagram: mlp, pre-norm")).to_be_in_viewport(ratio=0.99)
    block(page, 5).hover()
    control(page, "switch", "residual of block 5").click()
    shows(page, RunConfig(depth=8, overrides=((5, "residual", False),)))
    expect(block(page, 5)).to_have_attribute("aria-label", re.compile("without residual"))
    control(page, "switch", "residual of block 5").click()
    shows(page, RunConfig(depth=8))


def test_what_a_rule_refuses_is_said_and_drawn_back(visitors):
    page = settled(visitors("/playground?depth=8&stack=residual&placement=post-norm"))
    control(page, "switch", "residual").click()
    expect(page.locator(".player-readout.refused")).to_contain_text("residual is off")
    expect(control(page, "switch", "residual")).to_have_attribute("aria-checked", "true")
    control(page, "switch", "norm").click()
    expect(page.locator(".player-readout.refused")).to_have_count(0)
