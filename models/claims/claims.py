"""Common claims, each with the experiment that tests it, loaded from `exhibits/claims/`."""

from dataclasses import dataclass
from functools import partial

from models.claims import judging
from models.claims.judging import FAILS, HOLDS, PARTLY, UNDECIDED
from models.content import Content, Document
from models.experiment import (
    Experiment,
    experiment_fields,
    experiments_from,
)

TOPICS = ("norms", "batch norm", "placement", "residual", "initialisation", "attention", "training", "reading charts")


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment):
    """A claim (its title) and the experiment that tests it (its question).

    `badge`: "measured", or "formula" if neither a net nor random numbers are involved.
    """

    badge: str

    undecided = UNDECIDED


def claim(text: Document) -> Claim:
    """Loads a claim from its file; raises ContentError."""
    loaded = Claim(
        badge=text.take("badge", str, "measured"),
        **experiment_fields(
            text,
            (HOLDS, FAILS, PARTLY),
            judging,
            topics=TOPICS,
            question_heading="Experiment",
            condition_heading="True only",
        ),
    )
    text.require_all_taken()
    return loaded


CLAIMS: Content[Claim] = Content("claims/*.md", partial(experiments_from, claim))
