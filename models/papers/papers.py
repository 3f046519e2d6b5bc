"""Results of papers, each with the set-up that reproduces it at toy scale, loaded from `exhibits/papers/`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from models.content import Content, Document
from models.experiment import (
    Computed,
    Experiment,
    Finding,
    Source,
    check_links,
    experiment_fields,
    experiments_from,
)
from models.insight.words import number
from models.maps.prepared import CHECKS_KEY, PREPARED
from models.papers import judging
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, UNDECIDED
from models.spec import RunConfig

TOPICS = ("depth", "initialisation", "norms", "placement", "attention", "training")


@dataclass(frozen=True, kw_only=True)
class Paper(Experiment):
    """A published result (its title) and a toy set-up of it (its question).

    `paper`: authors and year. `result`: what the paper says, and where. `cannot`: what the toy cannot show.
    `opens`: names of the nets that the link opens. `map`: key of a map on the page Maps that shows the same, or empty.
    `recorded`: whether the numbers are a recording. `other`: `depth`, a factor of the layers with which the statements
    are tested once more, and what else differs there.
    `tested`: mean, interval and verdict of each statement by set of sources, as recorded (`benchmarks/papers.py`).
    """

    paper: str
    result: str
    cannot: str
    opens: tuple[str, ...]
    map: str
    recorded: bool
    other: Mapping[str, Any]
    tested: Mapping[str, list[tuple[float, float, float, str]]]

    @property
    def opened(self) -> dict[str, RunConfig]:
        return {name: self.nets[name] for name in self.opens}

    undecided = UNDECIDED

    def statements(self, finding: Finding, *, verdicts: bool = True) -> dict[str, list[str]]:
        """Table of the statements: bound, number with its 95 % interval and verdict here, and as recorded elsewhere."""
        tests = finding.tests
        here = zip(tests["mean"], tests["95%, from"], tests["to"], tests["result"], strict=True)
        columns = {"here": here} | {f"{part}, recorded": of for part, of in self.tested.items()}
        table = {name: list(tests[name]) for name in ("statement", "number", "bound")}
        for column, rows in columns.items():
            table[column] = [
                in_words(mean, low, high, verdict if verdicts else "") for mean, low, high, verdict in rows
            ]
        return table

    def sources_elsewhere(self) -> dict[str, Source]:
        """The sources at the other depth; empty if the card has none."""
        return {name: self._elsewhere(source) for name, source in self.sources.items()} if self.other else {}

    def _elsewhere(self, source: Source) -> Source:
        if isinstance(source, Computed):
            return Computed(partial(source.numbers, self.other["depth"]))
        query = source.cfg.to_query() | {"depth": str(round(source.cfg.depth * self.other["depth"]))}
        query |= {name: value for name, value in self.other.items() if name in query and name != "depth"}
        cfg, notes = RunConfig.from_query(query)
        if notes:
            raise ValueError(f"{self.key} at another depth: {notes[0]}")
        return replace(source, cfg=cfg)


def in_words(mean: float, low: float, high: float, verdict: str) -> str:
    """A mean with its interval, and its verdict if that is not empty."""
    words = "not finite" if math.isnan(high - low) else f"{number(mean)} [{number(low)}, {number(high)}]"
    return words + (f": {verdict}" if verdict else "")


def paper(text: Document) -> Paper:
    """Loads a paper from its file; raises ContentError."""
    tested = text.path.with_name("tested.json")
    loaded = Paper(
        paper=text.take("paper", str),
        result=text.section("The paper says"),
        cannot=text.section("What the toy cannot show"),
        opens=tuple(text.take("opens", list, [])),
        map=text.take("map", str, ""),
        recorded=text.take("recorded", bool, False),
        other=text.take("other", dict, {}),
        tested=json.loads(tested.read_text(encoding="utf-8"))["tests"] if tested.exists() else {},
        **experiment_fields(
            text,
            (HOLDS, PARTLY, NOT_HERE),
            judging,
            topics=TOPICS,
            question_heading="Set-up",
            condition_heading="Because",
        ),
    )
    text.require_all_taken()
    for name in loaded.opens:
        if name not in loaded.nets:
            raise text.fault(f"there is no net “{name}”", name)
    if loaded.map not in {"", CHECKS_KEY, *PREPARED}:
        raise text.fault(f"there is no map “{loaded.map}”", loaded.map)
    check_links(text, loaded.result, loaded.cannot)
    return loaded


PAPERS: Content[Paper] = Content("papers/*.md", partial(experiments_from, paper))


def paper_by_arxiv_number(number: str) -> Paper | None:
    """First card about the paper with this arXiv number; None without one."""
    address = f"https://arxiv.org/abs/{number}"
    return next((card for card in PAPERS.values() if address in card.papers.values()), None)
