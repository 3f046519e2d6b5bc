"""Results of papers, each with the set-up that reproduces it at toy scale, loaded from `content/en/papers/`."""

from dataclasses import dataclass
from functools import partial

from models.content import Content, Document
from models.experiment import (
    Experiment,
    check_links,
    check_stated_numbers,
    experiment_fields,
    experiments_from,
    functions_of,
    take_topic,
)
from models.maps.prepared import CHECKS_KEY, PREPARED
from models.papers import numbers, results, updates  # noqa: F401 (registers the judges)
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.spec import RunConfig

TOPICS = ("depth", "initialisation", "norms", "placement", "attention", "training")
FUNCTIONS = functions_of(numbers)


@dataclass(frozen=True, kw_only=True)
class Paper(Experiment):
    """A published result (its title) and a toy set-up of it (its question).

    `paper`: authors and year. `result`: the paper's statement and where it stands. `cannot`: what the toy cannot show.
    `opens`: names of the nets that the link opens. `map`: key of a map on the page Maps that shows the same, or empty.
    `recorded`: whether the numbers are a recording.
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
    """Loads a paper from its file; raises ContentError."""
    check_stated_numbers(text, FUNCTIONS)
    loaded = Paper(
        question=text.section("Set-up"),
        paper=text.take("paper", str),
        topic=take_topic(text, TOPICS),
        result=text.section("The paper says"),
        cannot=text.section("What the toy cannot show"),
        opens=tuple(text.take("opens", list, [])),
        map=text.take("map", str, ""),
        recorded=text.take("recorded", bool, False),
        **experiment_fields(
            text,
            (HOLDS, PARTLY, NOT_HERE),
            result_heading="What is measured",
            condition_heading="Because",
            functions=FUNCTIONS,
        ),
    )
    text.require_all_taken()
    for name in loaded.opens:
        if name not in loaded.nets:
            raise text.fault(f"there is no net “{name}”", name)
    if loaded.map not in {"", CHECKS_KEY, *PREPARED}:
        raise text.fault(f"there is no map “{loaded.map}”", loaded.map)
    check_links(text, loaded.question, loaded.result, loaded.cannot)
    return loaded


PAPERS: Content[Paper] = Content("papers/*.md", partial(experiments_from, paper))


def paper_by_arxiv_number(number: str) -> Paper | None:
    """First card about the paper with this arXiv number; None without one."""
    address = f"https://arxiv.org/abs/{number}"
    return next((card for card in PAPERS.values() if address in card.papers.values()), None)


def papers_on(topic: str = "") -> list[Paper]:
    """All cards on a topic, or on any without one."""
    return [card for card in PAPERS.values() if topic in ("", card.topic)]
