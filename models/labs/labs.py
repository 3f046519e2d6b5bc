"""The labs in order as their words announce them, loaded from `exhibits/labs/`."""

from dataclasses import dataclass

from models.content import Content, Document
from models.spec.pairings import PAIRINGS


@dataclass(frozen=True)
class Lab:
    """A lab: place among the labs, title, and what its page says first.

    `topics`: of the claims that can be tried there. `compares`: prepared comparisons that it leads to. `one_part`:
    whether its page shows one part at a time, not tabs.
    """

    order: int
    title: str
    lead: str
    icon: str
    topics: tuple[str, ...]
    compares: tuple[str, ...]
    one_part: bool


def _lab(text: Document) -> Lab:
    loaded = Lab(
        text.take("order", int),
        text.title,
        text.section("lead"),
        text.take("icon", str),
        tuple(text.take("topics", list)),
        tuple(text.take("compares", list, [])),
        text.take("one_part", bool, False),
    )
    text.require_all_taken()
    for name in set(loaded.compares) - set(PAIRINGS):
        raise text.fault(f"there is no prepared comparison “{name}”", name)
    return loaded


def _by_address(texts: list[Document]) -> dict[str, Lab]:
    labs = {text.key: _lab(text) for text in texts}
    return dict(sorted(labs.items(), key=lambda entry: entry[1].order))


LABS = Content("labs/*.md", _by_address)  # by address
