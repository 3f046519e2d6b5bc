"""Common claims, each with the experiment that tests it, loaded from `exhibits/claims/`."""

from dataclasses import dataclass
from functools import partial

from models.claims.judging import FAILS, HOLDS, PARTLY, UNDECIDED
from models.content import Content, Document
from models.experiment import (
    Experiment,
    check_links,
    experiment_fields,
    experiments_from,
    take_topic,
)

TOPICS = ("norms", "batch norm", "placement", "residual", "initialisation", "attention", "training", "reading charts")


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment):
    """A claim (its title) and the experiment that tests it (its question).

    `badge`: "measured", or "formula" if neither a net nor random numbers are involved.
    """

    topic: str
    badge: str

    undecided = UNDECIDED


def claim(text: Document) -> Claim:
    """Loads a claim from its file; raises ContentError."""
    loaded = Claim(
        question=text.section("Experiment"),
        topic=take_topic(text, TOPICS),
        badge=text.take("badge", str, "measured"),
        **experiment_fields(
            text,
            (HOLDS, FAILS, PARTLY),
            result_heading="What is measured",
            condition_heading="True only",
        ),
    )
    text.require_all_taken()
    check_links(text, loaded.question)
    return loaded


CLAIMS: Content[Claim] = Content("claims/*.md", partial(experiments_from, claim))


def search_claims(text: str = "", topic: str = "") -> list[Claim]:
    """Claims that contain all words of a text, case-insensitively; all topics if `topic` is empty."""
    words = text.casefold().split()
    return [
        candidate
        for candidate in CLAIMS.values()
        if topic in ("", candidate.topic)
        and all(word in f"{candidate.title} {candidate.why} {candidate.topic}".casefold() for word in words)
    ]
