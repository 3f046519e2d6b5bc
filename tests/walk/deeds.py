"""What a visitor may do: how often, to what, how, and what may come of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from components.labs.entrance import BOXES
from tests.walk.checks import Done

MOMENT = 3_000  # milliseconds that a person tries to press something
TWICE = 0.05  # of the presses, a double click
# Buttons and lists that lead to another page, part, lesson, example or instrument, and the boxes of the labs' picture;
# an icon may be a word before.
WAYS = re.compile(
    r"^\W*(?:(?:home|[a-z]+_[a-z_]+)\s+)?"
    r"(next|previous|compare|open\b|part\b|look closer|instruments|lesson|error$|topic|search|see also|term$|map$"
    r"|begin|start over|load|try|show it|navigate to home|examples?$|prepared comparison|bring|set up"
    rf"|(?:{'|'.join(map(re.escape, BOXES))})$)",
    re.IGNORECASE,
)
NUMBERS = ("0", "1", "-3", "2.5", "999999999", "1e-9", "1e9", "-", "")
WORDS = (
    "",
    "warm",
    "norm",
    "Call me Ishmael",
    "1, 2, 3",
    "0.1; 4",
    "<b>bold</b> $x$ `code` :red[x]",
    "½ 😀 ﷽",
    "?depth=8&norm=rms",
    "{",
    "x" * 5000,
)
MAIN, SIDE = "[data-testid=stMain]", "[data-testid=stSidebar][aria-expanded=true]"
# What is open above the page (a popover, a dialog) is outside of both, and so are lists.
ABOVE = "[data-testid=stPopoverBody]"
# Whether a thing is what is pressed at its place, once it is scrolled to: under an open drawer or list, nothing is.
REACHED = """(e) => {
  e.scrollIntoView({ block: "nearest" })
  const box = e.getBoundingClientRect()
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
  return !!top && (e.contains(top) || top.contains(e))
}"""

NAME = """(e) => {
  const words = e.querySelector("[data-testid=stMarkdownContainer]") ?? e
  const group = e.closest("[role=radiogroup]")?.ariaLabel ?? ""
  return `${group} ${e.ariaLabel || e.closest(".player-chart")?.ariaLabel || words.innerText || ""}`
}"""


class OutOfReachError(Exception):
    """Something else lies over what was to be pressed."""


def _there(where: str) -> str:
    """A selector within what belongs to the app, not to Streamlit's own header; only what can be seen."""
    return ", ".join(f"{room} :is({where}):visible" for room in (MAIN, SIDE, ABOVE))


@dataclass
class Hand:
    """What a visitor moves a tab with: dice, and a finger or a mouse."""

    tab: Any
    dice: Random
    touch: bool = False

    def press(self, one: Any, **where: Any) -> None:
        """A tap, a click, or now and then two; OutOfReachError where it is covered."""
        if not one.evaluate(REACHED, timeout=MOMENT):
            raise OutOfReachError
        if self.touch:
            one.tap(timeout=MOMENT, **where)
        else:
            one.click(timeout=MOMENT, click_count=2 if self.dice.random() < TWICE else 1, **where)

    def key(self, *names: str) -> str:
        """Presses one of some keys; which."""
        name = self.dice.choice(names)
        self.tab.keyboard.press(name)
        return name

    def type(self, *texts: str) -> str:
        """Puts one of some texts where the focus is, in the place of what is there, as if pasted; its beginning."""
        text = self.dice.choice(texts)
        self.tab.keyboard.press("Control+A")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.insert_text(text)
        self.tab.keyboard.press(self.dice.choice(("Enter", "Tab", "Control+Enter")))
        return text[:30]


def name_of(one: Any) -> str:
    """What a person would call a thing: its name, or its words
    without their icon; a choice with what it is a choice of.
    """
    return " ".join(one.evaluate(NAME, timeout=MOMENT).split())[:60]


def press(hand: Hand, one: Any) -> str:
    """Presses it."""
    hand.press(one)
    return ""


def slide(hand: Hand, one: Any) -> str:
    """Moves a slider by keys."""
    one.focus()
    return " ".join(
        hand.key("ArrowRight", "ArrowLeft", "PageUp", "Home", "End") for _ in range(hand.dice.randint(1, 4))
    )


def turn(hand: Hand, one: Any) -> str:
    """Counts up or down, or types a number."""
    one.focus(timeout=MOMENT)
    if hand.dice.random() < 0.5:
        return hand.key("ArrowUp", "ArrowDown") + hand.key("Enter", "Tab")
    return hand.type(*NUMBERS)


def write(hand: Hand, one: Any) -> str:
    """Writes into a field: something sensible, nothing, nonsense, or far too much."""
    one.focus(timeout=MOMENT)
    return hand.type(*WORDS)


def choose(hand: Hand, one: Any) -> str:
    """Opens a list and takes one of its lines."""
    hand.press(one)
    hand.tab.locator("[role=option]:visible").first.wait_for(timeout=MOMENT)
    option = hand.dice.choice(hand.tab.locator("[role=option]:visible").all())
    name: str = option.text_content(timeout=MOMENT)
    hand.press(option)
    return name.strip()


def edit(hand: Hand, one: Any) -> str:
    """Goes to a cell of a table and types over it; a table to read hears nothing of it."""
    box = one.bounding_box() or {"width": 1, "height": 1}
    place = {
        "x": box["width"] * (0.2 + 0.6 * hand.dice.random()),
        "y": box["height"] * (0.3 + 0.6 * hand.dice.random()),
    }
    hand.press(one, position=place)
    return over(hand)


def over(hand: Hand) -> str:
    """Goes to the next cell of the table that has the focus, and types over it."""
    way = hand.key("ArrowRight", "ArrowDown", "ArrowLeft")
    text = hand.dice.choice((*NUMBERS, "abc"))
    hand.tab.keyboard.type(text)
    return f"{way} {text} {hand.key('Enter', 'Tab', 'Escape', 'Delete')}"


def point(hand: Hand, one: Any) -> str:
    """Presses somewhere in a chart."""
    box = one.bounding_box() or {"width": 1, "height": 1}
    place = {
        "x": box["width"] * (0.15 + 0.7 * hand.dice.random()),
        "y": box["height"] * (0.2 + 0.6 * hand.dice.random()),
    }
    hand.press(one, position=place)
    return f"at {place['x']:.0f}, {place['y']:.0f}"


@dataclass(frozen=True)
class Deed:
    """One kind of deed: what it is called, how often it is drawn, what it is done to, and how."""

    name: str
    weight: int
    where: str
    do: Callable[[Hand, Any], str]
    leads: bool = False  # whatever it is called, it is a way, and nothing that may be refused

    def done(self, name: str, detail: str, path: str) -> Done:
        """What was done to the thing of that name."""
        return Done(
            f"{path}: {self.name} {name!r} {detail}".strip(),
            moves=self.leads or bool(WAYS.search(name) or WAYS.search(detail)),
            refusable=not self.leads,
        )


# Links to other hosts lead away, and the buttons of a table are Streamlit's own.
BUTTON = "button[data-testid^=stBaseButton]:not([data-testid$=elementToolbar]):enabled, .player button"
MENU = "[data-testid=stTopNavSection]:visible"
DEEDS = (
    Deed("press", 16, _there(BUTTON), press),
    Deed("follow", 8, _there("a[href]:not([href*='//']), a[href*='//127.0.0.1']"), press, leads=True),
    Deed("switch", 6, _there("[data-testid=stCheckbox] label"), press),
    Deed(
        "take",
        10,
        _there("[role=radio]:enabled, [data-testid=stRadioOption], [data-testid=stButtonGroup] button:enabled"),
        press,
    ),
    Deed("slide", 10, _there("input[type=range]"), slide),
    Deed("choose", 12, _there("input[role=combobox]:enabled"), choose),
    Deed("pick", 6, _there("select"), slide),
    Deed("turn", 6, _there("input[type=number]"), turn),
    Deed("write", 5, _there("input[type=text]:not([role=combobox]), textarea"), write),
    Deed("unfold", 5, _there("summary, [data-testid=stPopoverButton]"), press),
    Deed("edit", 5, _there("canvas[data-testid=data-grid-canvas]"), edit),
    Deed("point at", 4, _there(".player-chart .nsewdrag"), point),
    Deed(
        "go to",
        14,
        f"[data-testid=stTopNavLink]:visible, {SIDE} [data-testid=stSidebarNavLink]:visible",
        press,
        leads=True,
    ),
    Deed(
        "open",
        10,
        f"{MENU}, [data-testid=stExpandSidebarButton]:visible, [data-testid=stSidebarCollapseButton] button",
        press,
    ),
    Deed(
        "go to",
        30,
        "[data-testid=stTopNavDropdownLink]:visible, [data-testid=stTopNavPopover] a:visible",
        press,
        leads=True,
    ),
)

FOCUS = """() => {
  const e = document.activeElement
  const own = e && e.closest("[data-testid=stMain], [data-testid=stSidebar], [data-testid=stTopNav], [data-testid=stPopoverBody]")
  if (!own) return null
  const group = e.closest("[role=radiogroup]")?.ariaLabel ?? ""
  const kind = e.role || { A: "link", BUTTON: "button", SUMMARY: "summary", TEXTAREA: "text" }[e.tagName] || e.type || e.tagName
  const away = e.tagName === "A" && e.host !== location.host
  const streamlits = !!e.closest("[data-testid=stElementToolbar]")
  return away || streamlits ? null : { kind, name: (e.ariaLabel || e.innerText || "").trim().slice(0, 60), group }
}"""
ARROWS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
KEYS = {
    "link": ("Enter",),
    "button": ("Enter", "Space"),
    "summary": ("Enter", "Space"),
    "switch": ("Space",),
    "checkbox": ("Space",),
    "radio": ("Space", *ARROWS),
    "range": (*ARROWS, "Home", "End", "PageUp"),
    "combobox": ("ArrowDown", "ArrowUp"),
    "number": ("ArrowUp", "ArrowDown"),
}


def by_keys(hand: Hand, path: str) -> Done:
    """Goes on with Tab, some way, and presses what a keyboard can there."""
    there = None
    for _ in range(hand.dice.randint(1, 15)):
        hand.tab.keyboard.press("Shift+Tab" if hand.dice.random() < 0.15 else "Tab")
    there = hand.tab.evaluate(FOCUS)
    if there is None:
        return Done(f"{path}: Tab to what is not the app's", moves=False, refusable=False)
    kind, name = there["kind"], there["name"].replace("\n", " ")
    if kind in ("text", "textbox", "search"):
        pressed = hand.type(*WORDS)
    elif kind == "CANVAS":
        pressed = over(hand)
    elif kind == "number":
        pressed = turn(hand, hand.tab.locator(":focus"))
    else:
        pressed = hand.key(*KEYS.get(kind, (*ARROWS, "Escape")))
        if kind == "combobox":
            pressed += " " + hand.key("ArrowDown", "ArrowUp", "End") + " " + hand.key("Enter", "Escape")
    moves = kind == "link" or bool(WAYS.search(name) or WAYS.search(there["group"]))
    return Done(f"{path}: Tab to {kind} {name!r}, {pressed}", moves=moves, refusable=kind != "link")
