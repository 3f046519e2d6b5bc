"""Somebody at a tab, who knows no more than a person does: names,
visible words, the address. The app's few words stand here.

At every step a person notices a red box, words of a programmer,
an address of another page. Waits for content, never for time.
"""

import re
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Error, expect

from tests.browser.page import address, arrange, by_menu, settled, until

# Where a page lies and what stands over it, by its name; the second is the menu, or the page, by which it is entered.
PAGES = {
    "Start": ("/", "", "Why do deep networks need Add & Norm?"),
    "The story": ("/story", "", "The story"),
    "Playground": ("/playground", "", "Playground"),
    "Compare": ("/compare", "", "Compare"),
    "Labs": ("/labs", "", "Labs"),
    "Normalisation": ("/normalization", "Labs", "Normalisation"),
    "Attention": ("/attention", "Labs", "Attention"),
    "Gradients": ("/gradients", "Labs", "Gradients"),
    "Residual": ("/residual", "Labs", "Residual"),
    "Autoregression": ("/autoregression", "Labs", "Autoregression"),
    "Lessons": ("/lessons", "Learn", "Lessons"),
    "Common claims": ("/claims", "Learn", "Common claims"),
    "Papers": ("/papers", "Learn", "Papers"),
    "Glossary": ("/glossary", "Learn", "Glossary"),
    "Anatomy": ("/anatomy", "More", "Anatomy of a block"),
    "Maps": ("/maps", "More", "Maps: where does it train?"),
    "Your model": ("/recordings", "More", "Your model"),
    "Teacher": ("/teacher", "More", "Teacher"),
}
MOMENT = 2000  # milliseconds
ANSWER = 10_000  # milliseconds within which a busy server begins the script again for what was chosen
# Notes that the script is run again: what is pressed sooner is pressed on the page from before.
BEGUN_AGAIN = """() => {
    const app = document.querySelector('[data-testid="stApp"]')
    window.begunAgain = false
    new MutationObserver((_, seen) => {
        if (app.dataset.testScriptState !== "running") return
        window.begunAgain = true
        seen.disconnect()
    }).observe(app, { attributeFilter: ["data-test-script-state"] })
}"""
TRAIN, PAUSE, SCRUBBER = "Train", "Pause", "Step shown"
PROGRAMMERS = re.compile(r"Traceback|\bNone is\b|\bundefined\b|\bnan\b|Page not found")
# What a page says of its choices. No address keeps where a player stands, nor which tried net lies over the run.
UNKEPT = re.compile(r'(Step|Block) shown|step \d+" \[pressed\]')
CHOSEN = re.compile(r'heading "|combobox "|\[checked\]|\[pressed\]|slider "|spinbutton "|textbox "')


class Person:
    """A person at a tab. `fears`: what may stand in a warning or a red box without being a fault."""

    before: Any = None  # the tab that somebody looked at last

    def __init__(self, tab: Any, fears: str = "") -> None:
        self._tab, self.fears, self.at = tab, fears, ""

    @property
    def tab(self) -> Any:
        """The tab, in front of all others: what is done in one behind them is answered seconds later."""
        if Person.before is not self._tab:
            self._tab.bring_to_front()
            Person.before = self._tab
        return self._tab

    @property
    def main(self) -> Any:
        """The page without its navigation."""
        return self.tab.get_by_role("main")

    def arrives(self, name: str, *words: str) -> "Person":
        """Waits for a page and for words on it; from now on its address is the one that must stand in the bar."""
        self.at, _, heading = PAGES[name]
        expect(self.tab.get_by_role("heading", level=1, name=heading, exact=True)).to_be_visible()
        until(self.tab, lambda: self.path == self.at, f"the address of {name}, not {self.path}")
        return self.reads(*words)

    def reads(self, *words: str) -> "Person":
        """Waits until words stand on the page, and looks whether anything is wrong with it."""
        for said in words:
            expect(self.main).to_contain_text(said)
        self.is_content()
        return self

    def is_content(self) -> None:
        """Fails where the page, once it is at rest, shows what no person should see or says that it is another one."""
        settled(self.tab)
        found = [box.inner_text() for box in self.tab.get_by_role("alert").all() if box.is_visible()]
        assert not [said for said in found if not (self.fears and re.search(self.fears, said))]
        assert not PROGRAMMERS.search(self.says)
        assert self.path == self.at

    @property
    def says(self) -> str:
        """All words of the page's main part."""
        return str(self.main.inner_text())

    @property
    def address(self) -> str:
        """Path and query of the address bar."""
        return address(self.tab)

    @property
    def path(self) -> str:
        """The path of the address bar."""
        return urlsplit(self.address).path

    def goes(self, name: str, *words: str) -> "Person":
        """By the navigation to a page; to a lab by the page Labs."""
        if PAGES[name][1] == "Labs":
            return self.goes("Labs").follows(name, name, *words)
        drawer, menu = self.tab.get_by_role("button", name="Expand sidebar"), PAGES[name][1]
        bar = self.tab.get_by_role("navigation", name="App pages")
        if drawer.is_visible():
            drawer.tap()
            bar.get_by_role("link", name=name, exact=True).tap()
        elif menu:
            by_menu(self.tab, menu, name)
        else:
            bar.get_by_role("link", name=name, exact=True).click()
        return self.arrives(name, *words)

    def follows(self, link: str, name: str, *words: str) -> "Person":
        """By a link on the page to another one. The first of several that are named alike."""
        self.main.get_by_role("link", name=re.compile(f"^{re.escape(link)}")).first.click()
        return self.arrives(name, *words)

    def goes_back(self, name: str, *words: str) -> "Person":
        """By the browser's Back to a page."""
        self.tab.evaluate("history.back()")
        return self.arrives(name, *words)

    def presses(self, button: str | re.Pattern[str], *words: str) -> "Person":
        """Presses a button and waits for words."""
        self.main.get_by_role("button", name=button, exact=True).click()
        return self.reads(*words)

    def keys(self, *names: str) -> None:
        """Presses keys, wherever the focus is."""
        for name in names:
            settled(self.tab).keyboard.press(name)

    def turns(self, switch: str) -> None:
        """Turns a switch, in the page or beside it."""
        self.tab.get_by_role("switch", name=switch, exact=True).press("Space")
        settled(self.tab)

    def picks(self, choice: str) -> None:
        """Picks one of several that stand side by side."""
        found = self.tab.get_by_role("radio", name=choice, exact=True)
        found.press("Space")
        settled(self.tab)

    def chooses(self, select: str, option: str) -> None:
        """Picks an option of a list, the one whose words begin so;
        a list that closed again while it opened is opened anew.
        """
        offered = self.tab.get_by_role("option", name=re.compile(f"^{re.escape(option)}")).first

        def opened() -> bool:
            try:
                self.combobox(select).scroll_into_view_if_needed()
                self.combobox(select).click()
                offered.wait_for(timeout=MOMENT)
                self.tab.evaluate(BEGUN_AGAIN)
                offered.click(timeout=MOMENT)
            except Error:  # it was drawn anew at that moment, or closed again
                self.tab.keyboard.press("Escape")
                return False
            return True

        until(self.tab, opened, f"{option} of {select}")
        self._is_answered()

    def _is_answered(self) -> None:
        """Waits for the script that is begun again for what was chosen."""
        with suppress(Error):  # what was chosen already is no news
            self.tab.wait_for_function("() => window.begunAgain", timeout=ANSWER)
        settled(self.tab)

    def types(self, field: str, value: str) -> None:
        """Types into a field, or into a list that takes other words than its own, and presses Enter."""
        kinds = [self.tab.get_by_role(role, name=field, exact=True) for role in ("spinbutton", "textbox", "combobox")]
        found = kinds[0].or_(kinds[1]).or_(kinds[2])
        found.fill(value)
        self.tab.evaluate(BEGUN_AGAIN)
        found.press("Enter")
        self._is_answered()

    def unfolds(self, name: str) -> None:
        """Opens a part of the page that is folded."""
        self.tab.get_by_role("group").get_by_text(name, exact=True).click()
        settled(self.tab)

    def arranges(self, name: str) -> None:
        """Picks an arrangement of the menu."""
        arrange(self.tab, name)
        self._is_answered()

    def folds(self, group: str) -> "Person":
        """Unfolds a group of controls, or folds it."""
        self.tab.get_by_test_id("stExpander").get_by_text(group, exact=True).click()
        settled(self.tab)
        return self

    def combobox(self, name: str) -> Any:
        """A list to choose from."""
        return self.tab.get_by_role("combobox", name=name, exact=True)

    def slider(self, name: str) -> Any:
        """The thumb of a slider."""
        return self.tab.get_by_role("group", name=name, exact=True).get_by_role("slider")

    @property
    def step(self) -> int:
        """The step shown."""
        return int(self.slider(SCRUBBER).input_value())

    def trains(self, button: str = TRAIN, *, last: int) -> "Person":
        """Presses Train and watches until the run is over, whose last step has this number."""
        self.presses(button)
        until(self.tab, lambda: self.step == last, f"step {last}")
        return self.rests(button)

    def rests(self, button: str = TRAIN) -> "Person":
        """Waits until nothing plays any more."""
        self.main.get_by_role("button", name=button, exact=True).wait_for()
        return self.reads()

    def scrubs(self, key: str) -> int:
        """Moves the slider over the steps by a key; the step that is shown then."""
        before = self.step
        self.slider(SCRUBBER).press(key)
        until(self.tab, lambda: self.step != before, f"another step after {key}")
        settled(self.tab)
        return self.step

    def scrubs_to_the_middle(self) -> int:
        """Points at the middle of the slider over the steps; the step that is shown then."""
        before, group = self.step, self.tab.get_by_role("group", name=SCRUBBER, exact=True)
        group.scroll_into_view_if_needed()
        box, thumb = group.bounding_box(), self.slider(SCRUBBER).locator("xpath=..").bounding_box()
        self.tab.mouse.click(box["x"] + box["width"] / 2, thumb["y"] + thumb["height"] / 2)
        until(self.tab, lambda: self.step != before, "another step")
        settled(self.tab)
        return self.step

    def _chosen(self) -> list[str]:
        """Headings and what is chosen at this moment, as somebody hears them who cannot see the page."""
        lines = self.tab.locator("body").aria_snapshot().splitlines()
        return [line.strip(" -:") for line in lines if CHOSEN.search(line) and not UNKEPT.search(line)]

    @property
    def choices(self) -> list[str]:
        """Headings and what is chosen, once two looks at a page at rest, half a second apart, find the same: its parts
        come one after the other, and a script that is begun again rests for a moment in the middle of them.
        """
        settled(self.tab)
        seen: list[list[str]] = [self._chosen()]

        def same() -> bool:
            self.tab.wait_for_timeout(500)
            settled(self.tab)
            seen.append(self._chosen())
            return seen[-1] == seen[-2]

        until(self.tab, same, "a page at rest")
        return seen[-1]

    def has_chosen(self, choices: list[str]) -> None:
        """Waits until headings and choices are these; where they never are, says which differ."""
        try:
            until(self.tab, lambda: self._chosen() == choices, "the same choices")
        except AssertionError:
            assert self._chosen() == choices

    def reloads(self, *words: str) -> "Person":
        """Loads the page anew, which must show the same address, headings and choices."""
        before, kept = self.choices, self.address
        self.tab.reload()
        self.main.wait_for()
        self.has_chosen(before)
        assert self.address == kept
        return self.reads(*words)
