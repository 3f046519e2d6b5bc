"""Links for sources: from a paper's arXiv number to arXiv, and to the card that runs its result here."""

import re

from models.content import Texts
from models.papers.papers import paper_by_arxiv_number

TEXTS = Texts("papers")
NUMBER = re.compile(r"\b(\d{4}\.\d{4,5})\b")


def with_links(source: str) -> str:
    """A source as Markdown, with its arXiv numbers as links."""
    return NUMBER.sub(_link, source)


def _link(number: re.Match[str]) -> str:
    card = paper_by_arxiv_number(number[1])
    card_link = f", [{TEXTS('run here')}](papers?paper={card.key})" if card else ""
    return f"[{number[1]}](https://arxiv.org/abs/{number[1]}){card_link}"
