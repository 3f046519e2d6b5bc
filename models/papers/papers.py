"""Results of papers, each with the set-up that repeats it in small, as `content/en/papers/` has them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from models.content import Content, Document
from models.experiment import Experiment, all_is_said, links, parts, stated, topic_of
from models.maps.prepared import CHECKS_KEY, PREPARED
from models.papers import numbers, results, updates  # noqa: F401 (they hold numbers and judges)
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.spec import RunConfig

TOPICS = ("depth", "initialisation", "norms", "placement", "attention", "training")
FUNCTIONS: dict[str, Callable[[], dict[str, Any]]] = {name: getattr(numbers, name) for name in numbers.__all__}


@dataclass(frozen=True, kw_only=True)
class Paper(Experiment):
    """A published result (its title) and a toy set-up of it (its question).

    `paper`: authors and year. `result`: what it says, with its place in the paper; `cannot`: what the toy cannot show.
    `opens`: the names of the nets that the link opens. `map`: the map that shows it too, by its key in the address of
    the page Maps; empty if there is none. `recorded`: whether its numbers are a recording.
    """

    paper: str
    topic: str
    result: str
    cannot: str
    opens: tuple[str, ...]
    map: str
    recorded: bool

    @property
    def opened(self) -> list[RunConfig]:
        """The nets that the link opens."""
        return [self.nets[name] for name in self.opens]


def paper(text: Document) -> Paper:
    """A paper from its file, or a fault."""
    stated(text, FUNCTIONS)
    made = Paper(
        question=text.section("Set-up"),
        paper=text.take("paper", str),
        topic=topic_of(text, TOPICS),
        result=text.section("The paper says"),
        cannot=text.section("What the toy cannot show"),
        opens=tuple(text.take("opens", list, [])),
        map=text.take("map", str, ""),
        recorded=text.take("recorded", bool, False),
        **parts(text, (HOLDS, PARTLY, NOT_HERE), says="What is measured", condition="Because", functions=FUNCTIONS),
    )
    text.end()
    for name in made.opens:
        if name not in made.nets:
            raise text.fault(f"there is no net “{name}”", name)
    if made.map not in {"", CHECKS_KEY, *PREPARED}:
        raise text.fault(f"there is no map “{made.map}”", made.map)
    links(text, made.question, made.result, made.cannot)
    return made


def _papers(texts: list[Document]) -> dict[str, Paper]:
    papers = {text.key: paper(text) for text in texts}
    all_is_said(papers.values())
    return papers


PAPERS: Content[Paper] = Content("papers/*.md", _papers)


def by_number(number: str) -> Paper | None:
    """The first card about the paper of this number at arXiv."""
    return next((one for one in PAPERS.values() if f"https://arxiv.org/abs/{number}" in one.papers.values()), None)


def on(topic: str = "") -> list[Paper]:
    """The papers on a topic, or all."""
    return [one for one in PAPERS.values() if topic in ("", one.topic)]
