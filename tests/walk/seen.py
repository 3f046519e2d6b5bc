"""What a visitor sees of a page, read in one go."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

# Controls that say which part, lesson, example or instrument is shown.
PLACES = ("Part", "Look closer", "Instruments", "Lesson", "Claim", "Term", "Map")
SHOWN = 2  # headings from the top that say where one is; further down they come and go with what is folded

READ = """() => {
  const id = (name) => `[data-testid=${name}]`
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  const all = (where, root = document) => [...root.querySelectorAll(where)].filter(seen)
  const failed = (e) => e.closest(id("stException"))
  const texts = (where) => all(where).filter((e) => !failed(e)).map((e) => e.innerText.trim())
  const main = document.querySelector(id("stMain")), side = document.querySelector(id("stSidebar"))
  const value = (e) => ({
    range: () => e.ariaValueText ?? e.value,
    checkbox: () => (e.checked ? "on" : "off"),
  })[e.type]?.() ?? e.value
  const controls = (root) => {
    const found = [...(root?.querySelectorAll("input[aria-label], textarea[aria-label]") ?? [])]
    const groups = [...(root?.querySelectorAll("[role=radiogroup][aria-label]") ?? [])]
    const chosen = (group) => group.querySelector("[aria-checked=true], input:checked")
    return [
      ...found.filter((e) => e.type !== "radio").map((e) => [e.ariaLabel, value(e)]),
      ...groups.map((e) => [e.ariaLabel, (chosen(e)?.closest("label") ?? chosen(e))?.innerText.trim() ?? ""]),
    ]
  }
  const charts = all(".player-chart").map((e) => ({
    name: e.ariaLabel ?? "a chart without a name",
    traces: e.data?.length ?? 0,
    reason: e.layout?.annotations?.find((note) => note.xref === "paper" && note.x === 0.5)?.text ?? e.firstChild?.data ?? "",
  }))
  const links = all("a[href]", main ?? document).map((e) => ({
    name: e.innerText.trim(), href: e.getAttribute("href"), whole: e.href,
    lands: !e.hash || e.pathname !== location.pathname || !!document.getElementById(decodeURIComponent(e.hash.slice(1))),
  }))
  return {
    address: location.href,
    headings: all("h1, h2, h3", main ?? document).filter((e) => !e.closest("figure, .player")).map((e) => e.innerText.split("\\n")[0].trim()),
    texts: [
      ...texts(`${id("stMarkdownContainer")}, ${id("stAlertContainer")}, ${id("stDialog")}`),
      ...all("text.gtitle, .annotation-text, .legendtext, .xtitle, .ytitle").map((e) => e.textContent),
      ...[...document.querySelectorAll("canvas[data-testid=data-grid-canvas] td")].map((e) => e.textContent),
    ],
    exceptions: all(id("stException")).map((e) => e.innerText.split("\\n")[0].trim()),
    refusals: texts(id("stAlertContentError")),
    troubles: texts(".player-error"),
    main: controls(main),
    side: controls(side),
    charts, links,
    dialogs: texts(id("stDialog")),
    wide: Math.max(...[main, document.documentElement].map((e) => (e ? e.scrollWidth - e.clientWidth : 0))),
    pausable: all("button").some((e) => /(^|\\s)Pause$/.test(e.innerText.trim())),
  }
}"""


@dataclass(frozen=True)
class Chart:
    """A chart's accessible name, how many traces it has, and what is written in its place where there are none."""

    name: str
    traces: int
    reason: str = ""


@dataclass(frozen=True)
class Link:
    """A link's words, where it goes as written and as a whole address, and whether its fragment is on the page."""

    name: str
    href: str
    whole: str
    lands: bool = True


@dataclass(frozen=True)
class Seen:
    """A page at one moment. `wide`: pixels that it is wider than the window. `plays`: whether there is a Pause button.

    `main` and `side` hold what the controls of the page and of its sidebar say; a name that comes twice has a number.
    """

    address: str
    headings: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    main: dict[str, str] = field(default_factory=dict)
    side: dict[str, str] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    links: tuple[Link, ...] = ()
    dialogs: tuple[str, ...] = ()
    wide: int = 0
    plays: bool = False

    @property
    def path(self) -> str:
        """The page."""
        return urlsplit(self.address).path

    @property
    def place(self) -> dict[str, str]:
        """Where one is: the page, its first headings, and the part, lesson, example or instrument that is chosen."""
        heads = {f"heading {at + 1}": text.partition(":")[0] for at, text in enumerate(self.headings[:SHOWN])}
        return {"page": self.path} | heads | {name: self.main[name] for name in PLACES if name in self.main}


def read(page: Any) -> Seen:
    """What a tab shows now."""
    found = page.evaluate(READ)
    words = ("headings", "texts", "exceptions", "refusals", "troubles", "dialogs")
    return Seen(
        address=found["address"],
        **{name: tuple(found[name]) for name in words},
        main=_named(found["main"]),
        side=_named(found["side"]),
        charts=tuple(Chart(**one) for one in found["charts"]),
        links=tuple(Link(**one) for one in found["links"]),
        wide=found["wide"],
        plays=found["pausable"],
    )


def _named(controls: list[tuple[str, str]]) -> dict[str, str]:
    """Controls by their names, in the order of the page."""
    found: dict[str, str] = {}
    for name, value in controls:
        same = sum(1 for other in found if other.split(" #")[0] == name)
        found[f"{name} #{same + 1}" if same else name] = value
    return found
