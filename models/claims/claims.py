"""Common claims, each with the experiment that tests it, as `content/en/claims/` has them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from models.claims import depth, layers, numbers, runs  # noqa: F401 (they hold the judges)
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.content import Content, Document
from models.experiment import Experiment, all_is_said, links, parts, stated, topic_of

TOPICS = ("norms", "batch norm", "placement", "residual", "initialisation", "attention", "training", "reading charts")
FUNCTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    name: one
    for name, one in vars(numbers).items()
    if callable(one) and getattr(one, "__module__", "") == numbers.__name__
}


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment):
    """A claim (its title) and the experiment that tests it (its question).

    `badge`: measured, or formula where neither a net nor random numbers are involved.
    """

    topic: str
    badge: str


def claim(text: Document) -> Claim:
    """A claim from its file, or a fault."""
    stated(text, FUNCTIONS)
    made = Claim(
        question=text.section("Experiment"),
        topic=topic_of(text, TOPICS),
        badge=text.take("badge", str, "measured"),
        **parts(text, (HOLDS, FAILS, PARTLY), says="What is measured", condition="True only", functions=FUNCTIONS),
    )
    text.end()
    links(text, made.question)
    return made


def _claims(texts: list[Document]) -> dict[str, Claim]:
    claims = {text.key: claim(text) for text in texts}
    all_is_said(claims.values())
    return claims


CLAIMS: Content[Claim] = Content("claims/*.md", _claims)


def matching(text: str = "", topic: str = "") -> list[Claim]:
    """The claims that contain all words of a text, case ignored; of one topic if one is given."""
    words = text.casefold().split()
    return [
        claim_
        for claim_ in CLAIMS.values()
        if topic in ("", claim_.topic)
        and all(word in f"{claim_.title} {claim_.why} {claim_.topic}".casefold() for word in words)
    ]
